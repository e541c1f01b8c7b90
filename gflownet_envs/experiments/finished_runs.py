"""What folders of finished runs say, without computing anything again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gflownet_envs.experiments.task import Table


@contextmanager
def _record(folder: Path) -> Iterator[dict[str, Any]]:
    """Give what ``results.json`` of a run holds; what is not there is no run.

    Raises
    ------
    ValueError
        If the folder holds no ``results.json``, or the block finds that it is not the
        record of a run.
    """
    path = folder / "results.json"
    try:
        yield json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(
            f"{folder} holds no results.json: expected the folder of a finished run."
        ) from None
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is no record of a run: {type(error).__name__} {error}"
        ) from error


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the arguments of `run_task` that made the run in a folder.

    Raises
    ------
    ValueError
        If the folder holds no ``results.json`` of a run.
    """
    with _record(folder) as record:
        return {
            "task": record["task"],
            "preset": record["preset"],
            "solver": "train" if "trained" in record["policies"] else "exact",
            "seed": int(record["seed"]),
            "n_replicates": int(record.get("n_replicates", 1)),
            "n_control": int(record.get("n_control", 0)),
        }


def paper_tables(folders: Sequence[Path]) -> list[Table]:
    """Return the paper's figures beside those of finished runs, a table for each task.

    One column for each run and kind of policies; "=" says that a figure agrees with
    the paper's, "≠" that it does not. Runs of another preset may leave claims out.

    Raises
    ------
    ValueError
        If a folder holds no run, or one comes twice.
    """
    if len({folder.resolve() for folder in folders}) < len(folders):
        names = ", ".join(str(folder) for folder in folders)
        raise ValueError(f"folders must be different, got {names}")
    by_task: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for folder in folders:
        with _record(folder) as record:
            claims = {row["claim"]: row for row in record["beside_the_paper"]}
            runs = by_task.setdefault(record["task"], {})
            name = _name(folder, record["preset"])
        runs[str(folder) if name in runs else name] = claims
    return [_paper_table(task, runs) for task, runs in by_task.items()]


def _name(folder: Path, preset: str) -> str:
    """Name a run by its folder, the preset added where the folder does not say it."""
    name = folder.resolve().name
    return name if preset in name else f"{name} ({preset})"


def _paper_table(task: str, runs: dict[str, dict[str, dict[str, Any]]]) -> Table:
    columns = [
        (run, source)
        for run, claims in runs.items()
        for source in ("trained", "exact")
        if any(source in row for row in claims.values())
    ]
    papers = {
        text: row["paper"] for claims in runs.values() for text, row in claims.items()
    }
    rows = [
        (
            text,
            paper,
            *(_figure(runs[run].get(text), source) for run, source in columns),
        )
        for text, paper in papers.items()
    ]
    caption = f"{task}: the paper's figures and ours"
    if not rows:
        caption += " (the paper has none)"
    heads = tuple(f"{run}: {source}" for run, source in columns)
    return Table(caption, ("claim", "paper", *heads), tuple(rows))


def _figure(row: dict[str, Any] | None, source: str) -> str:
    if row is None or source not in row:
        return "–"
    return f"{row[source]} {'=' if row[f'{source} agrees'] else '≠'}"
