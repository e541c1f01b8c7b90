"""``python -m skpce``: the same words, errors of one line, nothing half-written."""

from __future__ import annotations

import os
import sys
import warnings

import numpy as np
import pytest

from skpce import explain
from skpce.__main__ import main
from skpce.ensembles._table import Columns

N = 24


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    rate = 10 ** rng.uniform(-3, 0, size=N // 2).repeat(2)
    units = rng.integers(4, 64, size=N // 2).repeat(2)
    kind = rng.choice(["adam", "sgd, slow"], size=N // 2).repeat(2)
    accuracy = np.log10(rate) + (kind == "adam") + 0.1 * rng.normal(size=N)
    lines = ["rate,units,kind,seed,accuracy,loss"]
    lines += [
        f'{r!r},{u},"{k}",{s},{a!r},{-2 * a!r}'
        for r, u, k, s, a in zip(
            rate.tolist(),
            units.tolist(),
            kind.tolist(),
            [0, 1] * (N // 2),
            accuracy.tolist(),
            strict=True,
        )
    ]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


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
    assert (
        main([file, "--output", "accuracy", "--replicate", "seed", "--log=rate"]) == 0
    )
    expected = explain(file, outputs="accuracy", replicate="seed", log=["rate"])
    words = str(expected).replace("unless inputs= has it", "unless --input has it")
    assert capsys.readouterr().out == f"{words}\n"
    assert "rate drives" in expected.sentences[0]


def test_options_reach_explain(file, monkeypatch, capsys):
    found = {}

    def told(**given):
        found.update(given)
        return "answer"

    monkeypatch.setattr("skpce.__main__.explain", told)
    arguments = [
        file,
        "--output",
        "accuracy,loss",
        "--input",
        "rate",
        "--input",
        "kind",
    ]
    arguments += ["--together", "both=rate,units", "--order", "none"]
    arguments += ["--blocks", "seed", "--negligible", "0.1"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "answer\n"
    assert found.pop("data").columns[:2] == ["rate", "units"]
    assert found == {
        "outputs": ["accuracy", "loss"],
        "inputs": ["rate", "kind"],
        "steps": None,
        "log": [],
        "replicate": None,
        "blocks": "seed",
        "groups": None,
        "order": False,
        "together": {"both": ["rate", "units"]},
        "negligible": 0.1,
    }


def test_a_page_and_a_picture_are_written(file, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    page, picture = tmp_path / "report.html", tmp_path / "answer.png"
    given = ["--output=accuracy", "--input=rate", "--order=none"]
    assert main([file, *given, f"--report={page}", f"--plot={picture}"]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    first = capsys.readouterr().out.splitlines()[0]
    assert first in page.read_text(encoding="utf-8")


def test_errors_are_one_line_about_the_options(file, tmp_path, capsys):
    assert "Perhaps 'accuracy' or 'loss'" in refused(capsys, file)
    said = refused(capsys, file, "--output", "acc")
    assert (
        "--output has 'acc', which is no column of data; expected one of 'rate'" in said
    )
    assert "--replicate has 'run'" in refused(
        capsys, file, "--output", "loss", "--replicate", "run"
    )
    assert "No such file or directory: none.csv" in refused(
        capsys, "none.csv", "--output", "loss"
    )
    assert "required: file" in refused(capsys)
    assert "unrecognized arguments: --bogus" in refused(capsys, file, "--bogus")
    assert "did you mean --output?" in refused(capsys, file, "--outputs", "accuracy")
    assert "as in --together name=a,b" in refused(
        capsys, file, "--output", "loss", "--together", "rate"
    )
    assert "two groups 'g'" in refused(
        capsys, file, "--output=loss", "--together=g=rate", "--together=g=kind"
    )
    assert "folder that does not exist" in refused(
        capsys, file, "--output=loss", "--report", str(tmp_path / "no" / "a.html")
    )


def test_pictures_are_refused_before_any_work(file, tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    target = str(tmp_path / "a.xyz")
    assert "no kind of picture" in refused(
        capsys, file, "--output=loss", "--plot", target
    )
    assert "is a folder" in refused(
        capsys, file, "--output=loss", "--plot", str(tmp_path)
    )
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = refused(capsys, file, "--output=loss", "--plot", str(tmp_path / "a.png"))
    assert 'pip install ".[plot]"' in said
    assert [one.name for one in tmp_path.iterdir()] == ["runs.csv"]


def test_notes_name_options(tmp_path, capsys, rng):
    rows = [
        f"{i},{x},{x + 0.01 * z}" for i, (x, z) in enumerate(rng.normal(size=(40, 2)))
    ]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["run_id,rate,loss", *rows]), encoding="utf-8")
    assert main([str(path), "--output", "loss"]) == 0
    assert "is no input unless --input has it." in capsys.readouterr().out


def test_a_reader_that_stops_early_is_no_error(tmp_path, monkeypatch):
    class Closed:
        def write(self, text):
            raise BrokenPipeError

        def fileno(self):
            return os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)

    monkeypatch.setattr("skpce.__main__.sys.stdout", Closed())
    monkeypatch.setattr("skpce.__main__.explain", lambda **given: "answer")
    monkeypatch.setattr("skpce.__main__.read_file", lambda path: Columns())
    assert main(["runs.csv", "--output", "loss"]) == 0


def test_seeds_of_their_own_are_no_input_and_truth_is_a_number(tmp_path, capsys, rng):
    rows = ["rate,seed,ok"]
    for seed, rate in enumerate(rng.uniform(size=60)):
        rows.append(f"{rate},{seed},{rate + 0.2 * rng.normal() > 0.5}")
    file = tmp_path / "runs.csv"
    file.write_text("\n".join(rows))
    assert main([str(file), "--output", "ok"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("rate drives")
    assert "'seed' numbers the runs" in shown
