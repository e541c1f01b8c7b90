"""The command: files, tables, and one line for what went wrong."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from gflownet_envs.datasets import _buchwald_hartwig
from gflownet_envs.experiments import command_line, files
from gflownet_envs.experiments.files import paper_tables
from gflownet_envs.experiments.task import Table
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.experiments.tasks.grid import GridTask
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.storage import read_arrays
from tests.gflownet_envs.datasets.serving import real_file
from tests.gflownet_envs.experiments.conftest import invoke, named_figures, never
from tests.shared import cases

pytest.importorskip("click.testing")

RECORD = (
    '{"task": "grid", "preset": "smoke", "seed": 0, "policies": {"exact": {}},'
    ' "beside_the_paper": []}'
)
FIGURES = {f"{n}.png" for n in named_figures(SimpleNamespace(parts=[0], space=0))}


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """Folder of one run of the smoke preset through the command."""
    out = tmp_path_factory.mktemp("smoke") / "deep" / "out"
    result = invoke("run", "grid", "--preset", "smoke", "--out", out)
    assert result.exit_code == 0, result.output
    return out


def check_files(out, figures=FIGURES):
    names = {path.name for path in out.iterdir()}
    assert names == {
        *("blocks", "figures", "report.html", "results.json", "run_record.json"),
        *("dataset.safetensors", "dataset_exact.safetensors", "ensemble.safetensors"),
    }
    assert {path.name for path in (out / "figures").iterdir()} == figures
    for path in (out / "figures").iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png") == len(figures)
    first, second = (page.index(h) for h in ("<h2>Which part", "<h2>Verdict on"))
    assert first < second
    json.loads((out / "results.json").read_text(encoding="utf-8"))
    read_arrays(out / "ensemble.safetensors")


def test_list_names_the_tasks_and_presets():
    result = invoke("list")
    assert result.exit_code == 0
    for task in TASKS.values():
        assert task.name in result.stdout
        assert set(task.presets) >= {"smoke", "default", "paper"}


@pytest.mark.slow
def test_the_data_set_has_what_others_need(smoke):
    dataset = PolicyDataset.load(smoke / "dataset.safetensors")
    assert dataset.source == "trained"
    assert dataset.X.shape == (30, 19)
    assert dataset.y.shape == (30, sum(dataset.steps)) == (30, 30)
    assert dataset.step_names == (*(f"move {i}" for i in range(1, 6)), "stop")
    # The walker starts in a corner: two moves lead off the board.
    assert dataset.mask[:5].sum() == 3
    assert dataset.is_test.sum() == 10
    exact = PolicyDataset.load(smoke / "dataset_exact.safetensors")
    assert exact.source == "exact"
    assert exact.n_members == 625


@pytest.mark.slow
def test_the_command_itself_gives_the_same_bytes(smoke, tmp_path):
    command = [Path(sys.executable).parent / "gflownet-envs"]
    if not command[0].exists():
        command = [sys.executable, "-m", "gflownet_envs"]
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "check": False}
    options["env"] = os.environ | {"PYTHONWARNINGS": "error"}
    given = ["run", "grid", "--preset", "smoke", "--out", "out"]
    result = subprocess.run([*command, *given], **options)
    assert result.returncode == 0, result.stderr
    out = tmp_path / "out"
    check_files(out)
    assert str(Path("out") / "report.html") in result.stdout.replace("\n", "")
    assert "what drives it (share in all)" in " ".join(result.stdout.split())
    assert "training GFlowNets" not in result.stdout  # progress is on standard error
    expected = (smoke / "results.json").read_bytes()
    assert (out / "results.json").read_bytes() == expected


@pytest.mark.slow
def test_buchwald_hartwig_on_the_real_data(tmp_path):
    real_file("buchwald_hartwig.csv")
    result = invoke("run", "buchwald-hartwig", "--preset", "smoke", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    check_files(tmp_path, FIGURES | {"parts_2.png", "parts_3.png"})
    dataset = PolicyDataset.load(tmp_path / "dataset.safetensors")
    assert dataset.steps == (4, 3, 16, 24)
    assert dataset.X.shape == (24, 4608)
    assert "R² on the rows never seen" in result.stdout
    record = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    degrees = [a["degree"] for a in record["policies"]["trained"]["analyses"]]
    assert degrees == [1, 2]
    shares = record["policies"]["exact"]["level_shares"]
    widths = {component: len(levels) for component, levels in shares.items()}
    assert sorted(widths.values()) == [3, 4, 16, 24]


# Errors.


@cases(
    ("arguments", "message"),
    (["gird"], "There is no task 'gird'; the tasks are"),
    (["grid", "--seed", "-1"], "Invalid value for '--seed': -1"),
    (["grid", "--jobs", "0"], "Invalid value for '--jobs': 0"),
    (["grid", "--control", "1"], "n_control is 1, but one member has no spread"),
    (["grid", "--out", ""], "expected the name of a folder, got ''"),
    (["grid", "--out", "a\ud800"], "'a\\ud800' can be no name of a folder"),
    (["../x:Y"], "The task '../x:Y' is no name of a module and a class"),
    (["grid", "--out", "file"], "Directory 'file' is a file"),
)
def test_bad_arguments_give_one_line(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    result = invoke("run", *arguments)
    assert result.exit_code != 0
    assert message in result.stderr
    errors = [line for line in result.stderr.splitlines() if "Error" in line]
    assert len(errors) == 1
    assert "Traceback" not in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
def test_no_data_and_no_network(tmp_path, monkeypatch):
    pytest.importorskip("pooch")
    source, url = _buchwald_hartwig.SOURCE, "http://127.0.0.1:9/data_table.csv"
    monkeypatch.setattr(_buchwald_hartwig, "SOURCE", replace(source, raw_url=url))
    monkeypatch.delenv("SKPCE_DATA", raising=False)
    home, out = tmp_path / "home", tmp_path / "out"
    home.mkdir()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    command = ["run", "buchwald-hartwig", "--preset", "smoke", "--out", out]
    result = invoke(*command, "--data-home", home)
    assert result.exit_code == 1
    assert "could not download http://127.0.0.1:9/" in result.stderr
    assert "Traceback" not in result.output
    lines = [line for line in result.stderr.splitlines() if line.startswith("Error")]
    assert len(lines) == 1
    assert not out.exists()
    assert list(home.iterdir()) == []


@pytest.mark.slow
def test_an_interruption_says_how_to_go_on(tmp_path, monkeypatch, tiny):
    from gflownet_envs.experiments import run

    def interrupt(*args, store, **kwargs):
        if blocks:
            store.folder.mkdir()
            (store.folder / "one").touch()
        raise KeyboardInterrupt

    monkeypatch.setitem(GridTask.presets, "tiny", tiny[1].preset)
    monkeypatch.setattr(run, "make_policies", interrupt)
    none = "Interrupted before anything was finished."
    some = "the same command goes on from there"
    for blocks, said in ((False, none), (True, some)):
        result = invoke("run", "grid", "--preset", "tiny", "--out", tmp_path / "out")
        assert result.exit_code == 130
        assert said in " ".join(result.stdout.split())
        assert (tmp_path / "out").exists() == blocks


# Tables.


def test_tables_fit_a_terminal_of_80_columns(tiny, capsys):
    console = Console(width=80, force_terminal=True, color_system=None)
    command_line.print_results(console, tiny[1], Path("out"))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    # One line per step, source and degree, also of a task with the longest names.
    worst = ("aryl_halide", "trained", 3, "pca0 100%, pca1 100%", "0.00012")
    row = (*worst, "-0.31 [-0.45, -0.12]", "-0.23", "100%", "9%")
    table = replace(files.verdict_table(tiny[1]), rows=(row,))
    command_line.print_table(Console(width=80), table)
    (line,) = [x for x in capsys.readouterr().out.splitlines() if "-0.31" in x]
    assert len(line) <= 80


def test_cells_are_not_read_as_markup(capsys):
    table = Table("A [bold]caption[/bold]", ("what", "x"), (("[red]a", "[0.1, 0.2]"),))
    command_line.print_table(Console(width=80), table)
    out = capsys.readouterr().out
    assert "A [bold]caption[/bold]" in out
    assert "[red]a" in out
    assert "[0.1, 0.2]" in out


@pytest.mark.slow
@pytest.mark.usefixtures("no_pictures")
def test_a_report_is_made_again_without_training(smoke, tmp_path, monkeypatch):
    out = tmp_path / "copy"
    shutil.copytree(smoke, out)
    before = (out / "results.json").read_bytes()
    (out / "report.html").unlink()

    monkeypatch.setattr("gflownet_envs.training.block.train_block", never)
    result = invoke("report", out)
    assert result.exit_code == 0, result.output
    assert "<h2>Verdict on" in (out / "report.html").read_text(encoding="utf-8")
    assert (out / "results.json").read_bytes() == before


@pytest.fixture
def compared(smoke, tmp_path):
    """Folders of two runs with the paper's settings, and their claims."""
    record = json.loads((smoke / "results.json").read_text(encoding="utf-8"))
    record["preset"] = "paper"
    claims = [{"claim": "a", "paper": "1", "exact": "one", "trained": "none"}]
    claims += [{"claim": "b", "paper": "2", "exact": "two", "trained": "none"}]
    folders = [tmp_path / "one" / "run-paper", tmp_path / "other"]
    for folder, shown in zip(folders, (claims, claims[1:]), strict=True):
        folder.mkdir(parents=True)
        content = json.dumps(record | {"beside_the_paper": shown})
        (folder / "results.json").write_text(content, encoding="utf-8")
    return folders


def test_the_papers_figures_beside_those_of_runs(compared):
    (table,) = paper_tables(compared)
    assert table.columns == (
        *("claim", "paper", "run-paper: trained", "run-paper: exact"),
        *("other (paper): trained", "other (paper): exact"),
    )
    first, second = table.rows
    assert first == ("a", "1", "none", "one", "–", "–")
    assert second == ("b", "2", "none", "two", "none", "two")
    result = invoke("compare", *compared)
    assert result.exit_code == 0, result.output
    assert "two" in result.output


@pytest.mark.slow
def test_runs_with_other_settings_are_not_compared_with_the_paper(smoke):
    record = json.loads((smoke / "results.json").read_text(encoding="utf-8"))
    assert record["beside_the_paper"] == []
    assert "Beside the paper" not in (smoke / "report.html").read_text("utf-8")
    result = invoke("compare", smoke)
    assert result.exit_code == 0, result.output
    assert "no run of the preset 'paper'" in " ".join(result.output.split())
    twice = invoke("compare", smoke, smoke)
    assert twice.exit_code == 1
    assert "must be different" in twice.output


def test_runs_in_folders_of_one_name_stand_side_by_side(compared, tmp_path):
    same = tmp_path / compared[0].name
    same.mkdir()
    shutil.copy(compared[0] / "results.json", same)
    (table,) = paper_tables([compared[0], same])
    assert f"{same}: exact" in table.columns


@pytest.mark.parametrize("command", ["report", "compare"])
@cases(
    "content",
    *("no json", "[]", '{"seed": Infinity}', '{"unknown": ' + "[" * 100_000),
    RECORD.replace('"grid"', '["grid"]'),
    RECORD.replace('"seed": 0', '"seed": -1'),
    RECORD.replace('"exact"', '"guessed"'),
    RECORD.replace('{"exact": {}}', "{}"),
    RECORD.replace("[]", '[{"claim": "c", "paper": "p", "exact": 1}]'),
    ids=range(9),
)
def test_what_is_no_record_is_said_in_one_line(tmp_path, command, content):
    assert "holds no results.json" in " ".join(invoke(command, tmp_path).output.split())
    (tmp_path / "results.json").write_text(content, encoding="utf-8")
    result = invoke(command, tmp_path)
    assert result.exit_code == 1
    assert "is no record of a run" in result.output.replace("\n", " ")
    assert "Traceback" not in result.output
    assert isinstance(result.exception, SystemExit)
