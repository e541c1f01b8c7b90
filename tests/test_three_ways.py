"""The three ways in run as they stand, without a warning, and stay short."""

import os
import re
from pathlib import Path

import pytest

from tests.shared import printed_by

EXAMPLES = Path(__file__).parents[1] / "examples"


def printed_by_example(name, tmp_path):
    """Run an example; every warning is an error."""
    environment = os.environ | {"MPLBACKEND": "Agg", "TMPDIR": str(tmp_path)}
    return printed_by("-W", "error", str(EXAMPLES / name), env=environment)


def code_of(lines):
    """Return the lines that are code."""
    return [line for line in lines if line.strip() and line.strip()[0] not in '#"']


@pytest.mark.slow
def test_a_table_of_a_simulator(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    found = printed_by_example("way_1_simulator.py", tmp_path)
    assert re.search(r"^tilt: 0\.\d\d \[0\.\d\d, 0\.\d\d\]$", found, re.MULTILINE)
    assert "{'degree': " in found
    assert re.search(r"\btilt drives \d+ %", found)
    assert len(list(tmp_path.rglob("report.html"))) == 1


@pytest.mark.slow
def test_raw_arrays_of_models(tmp_path):
    pytest.importorskip("pandas")
    found = printed_by_example("way_2_models.py", tmp_path)
    assert re.search(r"log weight drives \d+ % of the variance of bottle", found)
    assert "log smoothing drives" in found
    text = (EXAMPLES / "way_2_models.py").read_text()
    for block in re.findall(r"four lines\.\n(.*?)(?=# %%|\Z)", text, re.DOTALL):
        assert len(code_of(block.splitlines())) <= 8


@pytest.mark.slow
def test_from_an_environment_to_a_report(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    found = printed_by_example("way_3_environment.py", tmp_path)
    assert found.count(" drives ") >= 2
    assert len(list(tmp_path.rglob("report.html"))) == 1
    text = (EXAMPLES / "way_3_environment.py").read_text()
    lines = text[text.index("class Pick") :].splitlines()
    assert len(code_of(lines)) <= 45
