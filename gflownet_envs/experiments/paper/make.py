"""From policies to the page: what is measured, in which order, and what is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gflownet_envs.experiments.paper.claims.rules import ARTEFACTS
from gflownet_envs.experiments.paper.measures import (
    N_DRAWS,
    N_EMBEDDING_DRAWS,
    N_FEW_DRAWS,
    N_LARGE_DRAWS,
    N_STUDY_DRAWS,
    N_TIMED_DRAWS,
    columns_of,
    drawn,
    measure,
    rounded,
)
from gflownet_envs.experiments.paper.page.page import page_files
from gflownet_envs.experiments.paper.studies.ablation import ablate
from gflownet_envs.experiments.paper.studies.embeddings import compare_embeddings_of
from gflownet_envs.experiments.paper.studies.surrogates import (
    errors_and_times,
    split_of,
)
from gflownet_envs.experiments.paper.systems import (
    FIRST,
    Systems,
    preset_of,
    readings_of,
    settings_checksum,
)
from gflownet_envs.experiments.run import require_seed, writable_folder
from gflownet_envs.experiments.task import Progress, record_of, silent
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.extras import OF_A_RUN, require_extras
from gflownet_envs.records import PieceRecord, read_record
from gflownet_envs.storage import (
    canonical_json,
    plain_json,
    write_bytes,
    write_together,
)

PRESETS = ("quick", "full")

#: Tasks of the paper's Table 1, and its methods.
_COMPARED_TASKS = ("buchwald-hartwig", "sachs")
_COMPARED_METHODS = ("mean", "paper", "mlp", "gp")

_Job = Callable[[Systems], dict[str, Any]]


def make_paper(
    out: str | Path,
    *,
    preset: str | None = None,
    runs: Sequence[str | Path] = (),
    finished: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    n_jobs: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the page of the whole paper: figures, tables and claims beside ours.

    Parameters
    ----------
    out : str or Path
        Folder of the page, its pictures, and what was finished on the way: the same
        call goes on from there.
    preset : {"quick", "full"} or None, default=None
        ``"full"`` has the paper's sizes and settings. ``"quick"`` has fewer members
        and readings, half the draws, of Sachs exact policies and of molecules trained
        ones. None takes
        that of the first finished piece in ``out`` or ``runs``, and ``"quick"`` where
        there is none.
    runs : sequence of str or Path, default=()
        Folders to take from: finished runs in folders ``TASK-paper``, or the pieces
        of an earlier page.
    finished : bool, default=False
        Make the page of the pieces that are finished, and compute nothing.
    seed : int, default=0
        Of rewards, training and samples.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.
    n_jobs : int, optional
        Processes for training.
    options : mapping, optional
        ``data_home`` for tasks with data.

    Returns
    -------
    summary : dict
        ``page`` (its path), ``preset``, and how many rows there are of each word and
        of each kind.

    Raises
    ------
    ValueError
        For an unknown preset, a bad seed, a folder of runs that is not there, or
        finished pieces that are all of another preset or seed.
    OSError
        When the folder cannot be written or data cannot be had.
    """
    require_extras(OF_A_RUN, "make_paper")
    if preset is not None and preset not in PRESETS:
        raise ValueError(f"preset must be one of {PRESETS}, got {preset!r}.")
    require_seed(seed)
    places = tuple(Path(place) for place in runs)
    for place in places:
        if not place.is_dir():
            raise ValueError(f"runs must be folders that exist, got {str(place)!r}.")
    keys = Pieces(Path(out) / "pieces", places, {}).keys()
    if preset is None:
        known = (key.get("preset") for key in keys)
        preset = next((name for name in known if name in PRESETS), "quick")
    asked = {"preset": preset, "seed": seed}
    if finished and keys and not any(asked.items() <= key.items() for key in keys):
        there = {f"preset={k.get('preset')!r}, seed={k.get('seed')}" for k in keys}
        raise ValueError(
            f"none of the {len(keys)} finished pieces is of preset={preset!r}, "
            f"seed={seed}; expected one of {sorted(there)}, or a call without "
            "finished, which makes the pieces."
        )
    if finished and not keys:
        raise ValueError(
            f"there are no finished pieces in {os.fspath(Path(out) / 'pieces')!r}"
            f"{f' or {[os.fspath(place) for place in places]}' if places else ''}; "
            "expected a call without finished, which makes them."
        )
    report = progress if progress is not None else silent
    with writable_folder(Path(out)) as folder:
        pieces = Pieces(folder / "pieces", places, asked)
        systems = Systems(
            quick=preset == "quick",
            folder=folder / "policies",
            runs=next(filter(_has_runs, places), None),
            seed=seed,
            n_jobs=n_jobs,
            progress=report,
            options=options or {},
        )
        found = _all_pieces(pieces, systems, finished=finished)
        report("writing the page", 0, 1)
        files, counts = page_files(found, preset, seed)
        (folder / "figures").mkdir(exist_ok=True)
        write_together(
            {folder / name: payload for name, payload in files.items()},
            last=folder / "paper.html",
        )
        report("writing the page", 1, 1)
    return {"page": folder / "paper.html", "preset": preset, **counts}


def _has_runs(place: Path) -> bool:
    """Whether a folder holds finished runs."""
    return any((place / f"{task}-{FIRST}").is_dir() for task in TASKS)


def _all_pieces(pieces: Pieces, systems: Systems, *, finished: bool) -> dict[str, Any]:
    """Return every piece by its name; finished ones are read, others made or not."""
    jobs = jobs_of(systems.quick)
    found = {}
    for number, (name, (task, reading, job)) in enumerate(jobs.items()):
        systems.progress("pieces of the page", number, len(jobs))
        preset, _ = preset_of(task, reading, quick=systems.quick)
        checksum = settings_checksum(preset)
        if finished:
            piece = pieces.find(name, checksum)
        else:
            piece = pieces.get(name, partial(job, systems), checksum)
        if piece is not None:
            found[name] = piece
    if (piece := pieces.find(ARTEFACTS)) is not None:  # of a study of hours
        found[ARTEFACTS] = piece
    systems.progress("pieces of the page", len(jobs), len(jobs))
    return found


def jobs_of(quick: bool) -> dict[str, tuple[str, str, _Job]]:
    """Return what makes each piece, with the task and the reading it depends on."""
    jobs: dict[str, tuple[str, str, _Job]] = {}
    for task in TASKS:
        for reading in readings_of(task, quick=quick):
            job = partial(_task_piece, task=task, reading=reading)
            jobs[f"{task}-{reading}"] = (task, reading, job)
        if task == "buchwald-hartwig":
            jobs["embeddings"] = (task, FIRST, _embeddings)
            jobs["ablation"] = (task, FIRST, _ablation)
        if task in _COMPARED_TASKS:
            job = partial(_surrogates, task=task)
            jobs[f"surrogates-{task}"] = (task, FIRST, job)
    return jobs


def _task_piece(systems: Systems, task: str, reading: str) -> dict[str, Any]:
    """Measure the policies of one reading of a task."""
    system = systems.find(task, reading)
    name = f"{task}: measuring"
    sources = {}
    for number, (source, dataset) in enumerate(system.datasets.items()):
        systems.progress(name, number, len(system.datasets))
        shown = record_of(task)["page"].get("shown_steps", ())
        draws = systems.draws_of(n_draws_of(task) if reading == FIRST else N_FEW_DRAWS)
        sources[source] = measure(
            dataset,
            system.preset,
            systems.seed,
            shown,
            draws=draws,
            whole=reading == FIRST,
        )
    systems.progress(name, len(sources), len(sources))
    return {"record": dict(system.record), "sources": sources}


def n_draws_of(task: str) -> int:
    """Return how often the members of a task are drawn under the first reading."""
    is_large = record_of(task)["page"].get("is_large", False)
    return N_LARGE_DRAWS if is_large else N_DRAWS


def _surrogates(systems: Systems, task: str) -> dict[str, Any]:
    """Compare surrogates as Table 1 does."""
    system = systems.find(task, FIRST)
    preset, draws = system.preset, systems.draws_of(N_STUDY_DRAWS)
    total, done = len(system.datasets) * len(draws), 0
    found: dict[str, Any] = {}
    for source, dataset in system.datasets.items():
        rows: dict[str, list[Any]] = {m: [] for m in _COMPARED_METHODS}
        for number in draws:
            systems.progress(f"{task}: surrogates", done, total)
            split = split_of(drawn(dataset, preset, number), preset.n_components)
            timed = number - draws.start < N_TIMED_DRAWS
            for method, known in rows.items():
                known.append(
                    errors_and_times(
                        method, split, preset.degrees[0], number, timed=timed
                    )
                )
            done += 1
        found[source] = {method: columns_of(known) for method, known in rows.items()}
    systems.progress(f"{task}: surrogates", total, total)
    plain: dict[str, Any] = rounded(found)
    return plain


def _embeddings(systems: Systems) -> dict[str, Any]:
    """Compare embeddings of the reactions, exact policies and trained ones."""
    return compare_embeddings_of(
        systems.find("buchwald-hartwig", FIRST).datasets,
        systems.draws_of(N_EMBEDDING_DRAWS),
        partial(systems.progress, "embeddings"),
    )


def _ablation(systems: Systems) -> dict[str, Any]:
    """Ablate the surrogate of the reactions."""
    system = systems.find("buchwald-hartwig", FIRST)
    preset = system.preset
    return {
        source: ablate(
            dataset,
            n_components=preset.n_components,
            degree=preset.degrees[0],
            n_fit=preset.n_train,
            seed=systems.seed,
            draws=systems.draws_of(N_STUDY_DRAWS),
            progress=partial(systems.progress, f"ablation, {source}"),
        )
        for source, dataset in system.datasets.items()
    }


#: Rises when what a piece holds changes: pieces of another number are made again.
FORMAT = 4


@dataclass(frozen=True)
class Pieces:
    """Pieces in a folder, and in folders that are only read.

    Attributes
    ----------
    folder : Path
        New pieces are written here.
    others : tuple of Path
        Folders whose finished pieces are taken as they are.
    key : mapping
        What a piece must have been made with: preset and seed.
    """

    folder: Path
    others: tuple[Path, ...]
    key: Mapping[str, Any]

    @property
    def folders(self) -> list[Path]:
        """The folders in which a piece may lie."""
        others = (other / "pieces" for other in self.others)
        return [self.folder, *self.others, *others]

    def keys(self) -> list[dict[str, Any]]:
        """Return the keys of all pieces that are there, folder by folder."""
        places = (path for f in self.folders for path in sorted(f.glob("*.json")))
        return [record.key for path in places if (record := _read(path)) is not None]

    def get(
        self, name: str, make: Callable[[], dict[str, Any]], settings: str = ""
    ) -> dict[str, Any]:
        """Return a piece: a finished one, or a new one, which is written.

        ``settings`` is a checksum of what the piece depends on beside the key.
        """
        found = self.find(name, settings)
        return self._write(name, make(), settings) if found is None else found

    def find(self, name: str, settings: str = "") -> dict[str, Any] | None:
        """Return a finished piece; None where there is none of this key."""
        for folder in self.folders:
            record = _read(folder / f"{name}.json")
            if record is not None and record.key == self._key_of(settings):
                if folder != self.folder:
                    self._write(name, record.piece, settings)
                return record.piece
        return None

    def _key_of(self, settings: str) -> dict[str, Any]:
        return {**self.key, "format": FORMAT, "settings": settings}

    def _write(self, name: str, piece: dict[str, Any], settings: str) -> dict[str, Any]:
        """Write a piece in one line, since pieces are many, and return it."""
        payload = {"key": self._key_of(settings), "piece": piece}
        plain = canonical_json(plain_json(payload, "piece", nan_as_null=True))
        self.folder.mkdir(parents=True, exist_ok=True)
        write_bytes(self.folder / f"{name}.json", f"{plain}\n".encode())
        return piece


def _read(path: Path) -> PieceRecord | None:
    """Return a piece with its key; None where there is none, or half of one."""
    try:
        return read_record(path.read_bytes(), PieceRecord, "no piece")
    except (OSError, ValueError):
        return None  # of something else, or cut off: made again
