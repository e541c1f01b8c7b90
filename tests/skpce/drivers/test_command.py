"""``python -m skpce``: the same words, errors of one line, nothing half-written."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from skpce import explain
from skpce.__main__ import main
from tests.shared import cases

N = 24


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    rate = 10 ** rng.uniform(-3, 0, size=N // 2).repeat(2)
    units = rng.integers(4, 64, size=N // 2).repeat(2)
    kind = rng.choice(["adam", "sgd, slow"], size=N // 2).repeat(2)
    table = {"rate": rate, "units": units, "kind": kind, "seed": [0, 1] * (N // 2)}
    accuracy = np.log10(rate) + (kind == "adam") + 0.1 * rng.normal(size=N)
    table |= {"accuracy": accuracy, "loss": -2 * accuracy}
    pd.DataFrame(table).to_csv(tmp_path / "runs.csv", index=False)
    return str(tmp_path / "runs.csv")


@pytest.fixture(autouse=True)
def _warnings(monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)


def refused(capsys, *arguments):
    """Return the one line of an error."""
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("skpce: error: ")
    assert said.err.count("\n") == 1
    return said.err


def test_it_says_what_print_says(file, capsys):
    given = "--output accuracy --replicate seed --log=rate"
    assert main([file, *given.split()]) == 0
    expected = explain(file, outputs="accuracy", replicate="seed", log=["rate"])
    assert capsys.readouterr().out == f"{expected}\n"
    assert "rate drives" in expected.sentences[0]


def test_options_reach_explain(file, monkeypatch, capsys):
    found = {}

    def told(**given):
        found.update(given)
        return "answer"

    monkeypatch.setattr("skpce.__main__.explain", told)
    given = "--output accuracy,loss --input rate --input kind --blocks seed"
    given += " --together both=rate,units --order none --negligible 0.1"
    assert main([file, *given.split()]) == 0
    assert capsys.readouterr().out == "answer\n"
    assert list(found.pop("data"))[:2] == ["rate", "units"]
    assert found == {
        **dict.fromkeys(("steps", "replicate", "groups")),
        **{
            "outputs": ["accuracy", "loss"],
            "inputs": {"rate": None, "kind": None},
            "log": [],
        },
        **{"blocks": "seed", "order": False, "negligible": 0.1},
        "together": {"both": ["rate", "units"]},
    }


def test_a_page_and_a_picture_are_written(file, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    page, picture = tmp_path / "report.html", tmp_path / "answer.png"
    given = ["--output=accuracy", "--input=rate", "--order=none"]
    assert main([file, *given, f"--report={page}", f"--plot={picture}"]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    first = capsys.readouterr().out.splitlines()[0]
    assert first in page.read_text(encoding="utf-8")


@cases(
    ("given", "said"),
    ("", "Perhaps 'accuracy' or 'loss'"),
    ("--output acc", "outputs has 'acc', which is no column of data; expected one of"),
    ("--outputs accuracy", "unrecognized arguments: --outputs accuracy"),
    ("--output loss --together rate", "as in --together name=a,b"),
    ("--output=loss --together=g=rate --together=g=kind", "two groups 'g'"),
    ("--output=loss --report no/folder/a.html", "must be in a folder that exists"),
    ("--output=loss --plot a.xyz", "--plot 'a.xyz' must end in "),
)
def test_errors_are_one_line_about_the_options(file, capsys, given, said):
    pytest.importorskip("matplotlib")
    assert said in refused(capsys, file, *given.split())


def test_errors_about_files(capsys):
    none = "none.csv", "--output", "loss"
    assert "No such file or directory: none.csv" in refused(capsys, *none)
    assert "required: file" in refused(capsys)


def test_pictures_are_refused_before_any_work(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = refused(capsys, file, "--output=loss", "--plot", str(tmp_path / "a.png"))
    assert 'pip install ".[plot]"' in said
    assert [one.name for one in tmp_path.iterdir()] == ["runs.csv"]


def test_a_distribution_is_said_to_an_option(tmp_path, capsys, rng):
    width, path = rng.permutation(40), str(tmp_path / "runs.csv")
    table = {"the width": width, "kind": rng.choice([1, 2], 40)}
    table["loss"] = width + rng.normal(size=40)
    pd.DataFrame(table).to_csv(path, index=False)
    message = refused(capsys, path, "--output=loss")
    assert "if it is a setting: inputs={'the width': 'empirical'}" in message
    assert message.endswith("(inputs= is --input here, and outputs= is --output)\n")
    given = "--input", "the width=empirical,kind=categorical", "--order", "False"
    assert main([path, "--output=loss", *given]) == 0
    assert capsys.readouterr().out.startswith("the width drives")
