"""A task of one's own: as an object, by its path, and on the command line."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from gflownet_envs.environments import GridEnvironment
from gflownet_envs.exact.solve import trajectory_of_actions
from gflownet_envs.experiments.files import answers
from gflownet_envs.experiments.run import find_task, load_task, run_task
from gflownet_envs.experiments.task import Study, Task
from gflownet_envs.rewards.source import RewardTable
from tests.gflownet_envs.experiments.conftest import invoke
from tests.shared import cases, refuses

FOLDER = Path(__file__).parents[3] / "docs" / "user_guide"


@pytest.fixture
def in_folder(monkeypatch):
    monkeypatch.chdir(FOLDER)
    yield FOLDER
    sys.modules.pop("level_task", None)


@pytest.mark.slow
def test_it_runs_as_an_object_and_by_its_path(in_folder, tmp_path):
    before = list(sys.path)
    task = load_task("level_task:LevelTask")
    found = run_task(task, preset="smoke", solver="exact", out=tmp_path / "object")
    command = ["run", "level_task:LevelTask", "--preset", "smoke", "--solver", "exact"]
    out = tmp_path / "path"
    result = invoke(*command, "--out", out)
    assert result.exit_code == 0, result.output
    assert "Which part of the reward drives which choice" in result.output
    record = json.loads((out / "results.json").read_text())
    assert record["task"] == "level_task:LevelTask"
    assert record["answers"] == answers(found)
    assert found.task is task
    again = invoke("report", out, "--import-task")
    assert again.exit_code == 0, again.output
    assert sys.path == before


@pytest.mark.slow
@pytest.mark.parametrize("task", ["trap:Task", "trap"])
def test_no_command_on_a_folder_imports_the_module_that_it_names(
    tmp_path, monkeypatch, task
):
    (tmp_path / "trap.py").write_text("open('sprung', 'w').close()")
    record = {"task": task, "preset": "smoke", "seed": 0, "policies": {"exact": {}}}
    content = json.dumps(record | {"beside_the_paper": []})
    (tmp_path / "results.json").write_text(content)
    monkeypatch.chdir(tmp_path)
    refused = invoke("report", ".")
    assert refused.exit_code == 1
    said = " ".join(refused.output.split())
    assert f"results.json names the task {task!r}, which is none of grid, " in said
    assert said.endswith("If you trust it, add --import-task.")
    compared = invoke("compare", ".")
    assert compared.exit_code == 0, compared.output
    invoke("paper", "--out", "page", "--from", ".", "--finished")
    assert not (tmp_path / "sprung").exists()
    assert "trap" not in sys.modules


@cases(
    ("path", "message"),
    ("no_such:Task", "There is no module 'no_such' for the task 'no_such:Task'; "),
    ("json:loads", "The module 'json' has no task 'loads'; expected a subclass"),
    ("nothing", "There is no task 'nothing'; .* one of your own is module:Class"),
)
def test_a_path_that_leads_nowhere(path, message):
    refuses(message, find_task, path, "smoke")


def study(**changed):
    environment = GridEnvironment(size=2, max_moves=1)
    log_reward = np.zeros((4, environment.n_objects))
    given = {"environment": environment, "members": np.arange(4)}
    given["reward"] = RewardTable(environment, log_reward)
    given["reward_features"] = log_reward
    given["trajectory"] = trajectory_of_actions(environment, ["right", "stop"])
    names = {"feature_names": ("a", "b", "c"), "levels": {}, "feature_unit": ""}
    return Study(**given | names | {"n_train": 3, "n_test": 1} | changed)


@cases(
    ("name", "value", "message"),
    ("environment", "grid", "environment must be an Environment"),
    ("reward", np.zeros((4, 3)), "must be a RewardSource, such as RewardT.*; got nda"),
    ("trajectory", [0, 2], r"must be a Trajectory, such as .*; got list\."),
    ("members", np.arange(3), "'members': 3} members; expected one number"),
    ("n_test", 2, "n_train=3 and n_test=2 has 4 members; expected as many as these"),
)
def test_a_study_of_other_kinds(name, value, message):
    refuses(message, study, **{name: value})
    assert isinstance(study(reward_features=[[0.0]] * 4).reward_features, np.ndarray)


def test_what_is_no_task_and_no_preset():
    class Mine(Task):
        name, title, summary = "mine", "Mine", "."
        presets = {"smoke": {"n_train": 3}}  # noqa: RUF012

        def prepare(self, preset, **run):
            raise NotImplementedError

    refuses(r"or a Task, such as MyTask\(\); got <class", find_task, Mine, "smoke")
    refuses("the task 'mine' must be a Preset, got dict", find_task, Mine(), "smoke")
