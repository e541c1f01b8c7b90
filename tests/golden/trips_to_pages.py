"""What a report and a run of the command line write."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import skpce
from skpce import inspection
from tests.golden.ensembles import Results, behind_pca, wide_policies
from tests.golden.numbers import numbers_in


def report_page() -> Results:
    """The numbers of every table and paragraph of a report, in their order."""
    wide, y = wide_policies()
    pipeline = behind_pca(1)
    found = inspection.verdict(pipeline, wide, y)
    pipeline.fit(wide[:30], y[:30])
    page = skpce.report(pipeline, wide[30:], y[30:], verdict=found, date="2000-01-01")
    return numbers_of_page(page)


def numbers_of_page(page: str) -> Results:
    """Return the numbers of the tables and paragraphs of a page; no versions."""
    tables = re.findall(r"<table>(.*?)</table>", page, re.S)
    kept = [table for table in tables if ">python<" not in table]
    found: Results = {}
    for position, table in enumerate(kept):
        cells = re.findall(r"<td>(.*?)</td>", table, re.S)
        found[f"table {position}"] = [n for cell in cells for n in numbers_in(cell)]
    words = " ".join(re.findall(r"<p>(.*?)</p>", page, re.S))
    found["words"] = numbers_in(words)
    return found


def run_of_the_grid() -> Results:
    """``gflownet-envs run grid --preset smoke``: its results and its tables."""
    from click.testing import CliRunner

    from gflownet_envs import PolicyDataset
    from gflownet_envs.experiments.command_line import main

    with tempfile.TemporaryDirectory() as folder:
        command = ["run", "grid", "--preset", "smoke", "--out", folder]
        shown = CliRunner().invoke(main, command, catch_exceptions=False)
        if shown.exit_code != 0:
            raise RuntimeError(shown.output)
        results = json.loads((Path(folder) / "results.json").read_text("utf-8"))
        dataset = PolicyDataset.load(Path(folder) / "dataset.safetensors")
        exact = PolicyDataset.load(Path(folder) / "dataset_exact.safetensors")
        page = (Path(folder) / "report.html").read_text("utf-8")
    printed, _, _ = shown.stdout.partition("\nCost\n")
    printed = re.sub(r".*seconds.*", "", printed)
    return {
        "results": without_prose(results),
        "trained policies": dataset.y,
        "exact policies": exact.y[:30],
        "printed": numbers_in(printed),
        "page": sum(map(len, numbers_of_page(page).values())),
    }


def without_prose(value: Any) -> Any:
    """Leave the words out of a nested dict: texts become the numbers in them."""
    if isinstance(value, dict):
        return {key: without_prose(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [without_prose(entry) for entry in value]
    return numbers_in(value) if isinstance(value, str) else value
