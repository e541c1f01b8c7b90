"""Runs as experiment trackers and other tools write them.

``trackers/mlflow.csv`` was written by ``mlflow.search_runs()`` of MLflow 3.17 with 24
runs, of which one failed, ``trackers/ray.csv`` by ``ResultGrid.get_dataframe()`` of Ray
Tune 2.60. ``trackers/wandb.csv`` has runs that wandb 0.31 logged offline, read from its
files into its ``Run`` and written as the guide of Weights & Biases says: a data frame
with columns of dicts, by ``to_csv``. All losses are the square of log10 of the rate
plus a tenth of normal noise.
"""

from __future__ import annotations

import ast
import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import skpce
from skpce.ensembles import from_frame
from tests.shared import cases, refuses

TRACKERS = Path(__file__).parent / "trackers"


def drives_alone(answer, name, *others):
    """Whether the first name drives, and the others, which are all, do not matter."""
    states = dict(zip(answer.input_names, answer.drivers.state[0], strict=True))
    return states == {name: "drives"} | dict.fromkeys(others, "does not matter")


def test_runs_of_mlflow():
    table = pd.read_csv(TRACKERS / "mlflow.csv")
    answer = skpce.explain(table, outputs="metrics.loss", log=["params.rate"])
    others = "params.units", "params.seed", "params.kind"
    assert drives_alone(answer, "params.rate", *others)
    assert "Note: 1 of 24 runs failed and are left out." in str(answer)


def test_results_of_ray_tune():
    answer = skpce.explain(TRACKERS / "ray.csv", outputs="loss", log=["config/lr"])
    assert drives_alone(answer, "config/lr", "config/opt/kind", "config/opt/beta")


def test_an_export_of_weights_and_biases():
    read = dict.fromkeys(("config", "summary"), ast.literal_eval)
    table = pd.read_csv(TRACKERS / "wandb.csv", converters=read)
    inputs = ["config.rate", "config.opt.kind", "config.opt.beta"]
    given = {"inputs": inputs, "outputs": "summary.loss", "log": ["config.rate"]}
    assert drives_alone(skpce.explain(table, **given), *inputs)


def test_a_multirun_folder_of_hydra(tmp_path, rng):
    """Each job has ``.hydra/overrides.yaml``, and what the program wrote."""
    yaml = pytest.importorskip("yaml")
    grid = itertools.product((0.001, 0.01, 0.1, 1), ("adam", "sgd"), range(3))
    for job, (rate, name, seed) in enumerate(grid):
        folder = tmp_path / str(job) / ".hydra"
        folder.mkdir(parents=True)
        overrides = f"- rate={rate}\n- opt={name}\n- seed={seed}\n"
        (folder / "overrides.yaml").write_text(overrides)
        loss = np.log10(rate) ** 2 + 0.1 * rng.normal()
        (folder.parent / "metrics.json").write_text(json.dumps({"loss": loss}))
    runs = [
        dict(text.split("=", 1) for text in yaml.safe_load(path.read_text()))
        | json.loads((path.parents[1] / "metrics.json").read_text())
        for path in tmp_path.glob("*/.hydra/overrides.yaml")
    ]
    answer = skpce.explain(runs, outputs="loss", replicate="seed", log=["rate"])
    assert drives_alone(answer, "rate", "opt")
    assert answer.design.n_settings == 8


@cases(
    ("column", "finished", "other", "said"),
    ("state", "COMPLETE", "PRUNED", "were pruned"),  # of Optuna
    ("status", "FINISHED", "FAILED", "failed"),  # of MLflow
    ("State", "finished", "crashed", "failed"),  # of Weights & Biases
    ("trial_status", "COMPLETED", "EARLY_STOPPED", "were stopped early"),  # of Ax
)
def test_runs_that_did_not_finish_are_no_results(column, finished, other, said, rng):
    rate, units = rng.uniform(size=(2, 60))
    is_done = np.arange(60) % 3 > 0
    loss = np.where(is_done, rate, 100 * units) + 0.1 * rng.normal(size=60)
    table = pd.DataFrame({"rate": rate, "units": units, "loss": loss})
    table[column] = np.where(is_done, finished, other)
    words = f"20 of 60 runs {said} and are left out."
    given = {"inputs": ["rate", "units"]}
    for answer in (
        skpce.explain(table, outputs="loss"),
        skpce.explain(table, table["loss"], **given),
    ):
        assert answer.input_names == ("rate", "units")
        assert answer.drivers.state[0].tolist()[0] == "drives"
        assert answer.drivers.state[0].tolist()[1] != "drives"
        assert f"Note: {words}" in str(answer)
    given["outputs"] = "loss"
    as_polars = pl.DataFrame(table.to_dict("list"))
    assert from_frame(as_polars, **given).notes == (words,)
    refuses("6 of 10 runs finished and have", from_frame, table[:10], **given)
    named = skpce.explain(table, inputs=["rate", column], outputs="loss")
    assert named.design.n_rows == 60


def test_a_state_of_something_else_is_an_input(rng):
    table = {"state": ["running", "stopped"] * 30, "rate": rng.uniform(size=60)}
    table["loss"] = table["rate"] + 0.1 * rng.normal(size=60)
    answer = skpce.explain(table, outputs="loss")
    assert answer.input_names == ("state", "rate")
    assert answer.design.n_rows == 60


@pytest.fixture
def nested():
    """Runs with their configuration in dicts, as Weights & Biases gives them."""
    rng = np.random.default_rng(0)
    runs = []
    for k, rate in enumerate(rng.uniform(size=40).tolist()):
        config = {"opt": {"lr": rate}, "kind": "ab"[rng.integers(2)], "seed": k % 3}
        runs.append({"config": config, "loss": rate + 0.01 * rng.normal()})
    return runs


@pytest.mark.parametrize("kind", ["lines", "list"])
def test_a_file_of_json(nested, kind, tmp_path):
    path = tmp_path / ("runs.jsonl" if kind == "lines" else "runs.json")
    lines = "\n".join(map(json.dumps, nested)) + "\n\n"
    path.write_text(lines if kind == "lines" else json.dumps(nested), "utf-8")
    answer = skpce.explain(path, outputs="loss", blocks="config.seed")
    assert drives_alone(answer, "config.opt.lr", "config.kind")
    wanted = skpce.explain(nested, outputs="loss", blocks="config.seed")
    assert answer.drivers.total.tolist() == wanted.drivers.total.tolist()


def test_bad_json_is_refused(tmp_path):
    path = tmp_path / "runs.json"
    path.write_text('{"a": 1}\n{"a":', "utf-8")
    message = "no list of runs in JSON, and has no run in each line"
    refuses(message, skpce.explain, path, outputs="a")


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=40)
    kind = rng.choice(["a", "b"], 40).tolist()
    return {"x": x, "kind": kind, "loss": x + 0.1 * rng.normal(size=40)}


def test_tables_of_other_libraries_are_read_as_those_of_pandas(columns):
    pyarrow = pytest.importorskip("pyarrow")
    wanted = skpce.explain(columns, outputs="loss")
    arrow, frame = pyarrow.table(columns), pl.DataFrame(columns)
    runs = from_frame(arrow, ["x", "kind"], "loss")
    assert str(runs) == "40 members, 2 inputs (x, kind), 1 output."
    assert isinstance(from_frame(frame.lazy(), ["x"], "loss").X, pl.DataFrame)
    for answer in (
        skpce.explain(arrow, outputs="loss"),
        skpce.explain(runs),
        skpce.explain(arrow.select(["x", "kind"]), columns["loss"]),
        skpce.explain(frame.lazy(), outputs="loss"),
    ):
        assert drives_alone(answer, "x", "kind")
        assert_array_equal(answer.drivers.total, wanted.drivers.total)


def test_datasets_of_xarray(columns, rng):
    xarray = pytest.importorskip("xarray")
    flat = xarray.Dataset({name: ("member", v) for name, v in columns.items()})
    answer = skpce.explain(flat, outputs="loss")
    wanted = skpce.explain(columns, outputs="loss")
    assert answer.input_names == ("x", "kind")
    assert answer.drivers.total.tolist() == wanted.drivers.total.tolist()
    rate, seed = np.linspace(0, 1, 6), np.arange(3)
    loss = rate[:, None, None] ** 2 + 0.1 * rng.normal(size=(6, 2, 3))
    grid = xarray.Dataset(
        {"loss": (("rate", "kind", "seed"), loss)},
        {"rate": rate, "kind": ["a", "b"], "seed": seed},
    )
    answer = skpce.explain(grid, outputs="loss", replicate="seed")
    assert drives_alone(answer, "rate", "kind")
    runs = from_frame(grid, ["rate", "kind"], "loss", replicate="seed")
    assert len(runs) == 36
    assert len(set(runs.setting)) == 12
