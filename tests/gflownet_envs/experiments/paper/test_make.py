"""The page as a whole: made, resumed, refused, interrupted."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.paper.other_draws import chances, of_many
from gflownet_envs.experiments.paper import make, systems
from gflownet_envs.experiments.paper.claims.answers import claim_list
from gflownet_envs.experiments.paper.make import jobs_of, make_paper
from gflownet_envs.experiments.paper.measures import (
    N_DRAWS,
    N_FEW_DRAWS,
    N_LARGE_DRAWS,
    measure,
)
from gflownet_envs.experiments.paper.page import page as page_module
from gflownet_envs.experiments.paper.page.page import page_files
from gflownet_envs.experiments.paper.systems import (
    READINGS,
    Systems,
    preset_of,
    read_run,
    settings_checksum,
    sources_of,
)
from gflownet_envs.experiments.task import record_of
from gflownet_envs.experiments.tasks.grid import GridTask
from gflownet_envs.training import ensemble as training
from tests.gflownet_envs.experiments.conftest import TINY as GRID_TINY
from tests.gflownet_envs.experiments.conftest import invoke, never
from tests.shared import cases, refuses

ROOT = Path(__file__).parents[4]
PIECES = ROOT / "benchmarks" / "paper" / "pieces"
PAPER_PAGE = ROOT / "docs" / "paper.md"

TINY = replace(GRID_TINY, degrees=(2,), solver="paper")


@pytest.fixture
def tiny_grid(monkeypatch):
    """A paper of one small task, whose page only says what it was given."""
    monkeypatch.setitem(GridTask.presets, "paper", TINY)
    tasks = {"grid": systems.TASKS["grid"]}
    monkeypatch.setattr(make, "TASKS", tasks)
    monkeypatch.setattr(make, "N_DRAWS", 4)
    monkeypatch.setattr(make, "N_FEW_DRAWS", 2)
    monkeypatch.setitem(record_of("grid")["page"], "readings", ["episodes"])
    made = {}

    def page_of(found, preset, seed):
        made.update(found)
        return {"paper.html": b"page", "figures/a.png": b"png"}, {"agrees": 1}

    monkeypatch.setattr(make, "page_files", page_of)
    return made


def test_the_page_is_made_and_a_second_call_reads_it(tiny_grid, tmp_path, monkeypatch):
    counts = make_paper(tmp_path / "out", preset="quick")
    page = tmp_path / "out" / "paper.html"
    assert counts == {"page": page, "preset": "quick", "agrees": 1}
    assert (tmp_path / "out" / "figures" / "a.png").read_bytes() == b"png"
    assert set(tiny_grid) == {"grid-paper", "grid-episodes"}
    piece = tiny_grid["grid-paper"]
    assert set(piece["sources"]) == {"exact", "trained"}
    assert len(piece["sources"]["trained"]["draws"]["q2"]) == 2
    assert json.loads(json.dumps(piece)) == piece
    monkeypatch.setattr(systems.Systems, "find", never)
    tiny_grid.clear()
    make_paper(tmp_path / "out", preset="quick")
    assert tiny_grid["grid-paper"] == piece
    tiny_grid.clear()
    make_paper(tmp_path / "new", preset="quick", runs=[tmp_path / "out"])
    assert tiny_grid["grid-paper"] == piece


@pytest.mark.slow
def test_the_preset_is_that_of_the_finished_pieces(tmp_path, monkeypatch):
    """Those of the repository are of the full preset."""
    monkeypatch.setattr(page_module, "png", lambda figure: b"png")
    arguments = ["paper", "--finished", "--from", PIECES]
    result = invoke(*arguments, "--out", tmp_path / "page")
    assert "preset: full" in result.output
    compared = re.search(r"cannot be compared: (\d+)", result.output)
    assert int(compared[1]) < 65  # 146 where none of the pieces is taken
    counts = dict(re.findall(r"^([a-z ]+): (\d+)$", result.output, re.M))
    words = ("agrees", "does not", "undecided")
    assert sum(int(counts[word]) for word in words) == int(counts["informative"])
    pieces = tmp_path / "page" / "pieces"
    assert len(list(pieces.iterdir())) == len(list(PIECES.iterdir()))


def test_finished_pieces_of_another_call_or_none_are_named(tmp_path):
    finish = partial(make_paper, tmp_path / "out", finished=True)
    words = r"none of the \d+ .* one of \[\"preset='full', seed=0\"\]"
    refuses(words, finish, runs=[PIECES], preset="quick")
    refuses("no finished pieces in '.*pieces'", finish)
    refuses("preset must be one of .*'smoke'", finish, preset="smoke")
    refuses("runs must be folders that exist, got 'nowhere'", finish, runs=["nowhere"])
    assert not (tmp_path / "out").exists()


def test_training_is_kept_where_a_piece_is_not(tiny_grid, tmp_path, monkeypatch):
    make_paper(tmp_path, preset="quick")
    wanted = without_times(tiny_grid["grid-paper"])
    (tmp_path / "pieces" / "grid-paper.json").unlink()
    monkeypatch.setattr(training, "train_block", never)
    make_paper(tmp_path, preset="quick")
    assert without_times(tiny_grid["grid-paper"]) == wanted


def stored(name):
    """A finished piece of the repository, with its key."""
    return json.loads((PIECES / f"{name}.json").read_text(encoding="utf-8"))


def without_times(value):
    """Leave out what differs between two calls."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if "seconds" not in k}
    return value


@pytest.mark.slow
def test_a_call_interrupted_anywhere_goes_on_to_the_same_piece(tiny_grid, tmp_path):
    calls = []
    make_paper(tmp_path / "whole", preset="quick", progress=lambda *c: calls.append(c))
    wanted = without_times(tiny_grid["grid-paper"])
    for stop in (len(calls) // 3, len(calls) - 3):
        left = [stop]

        def interrupting(stage, done, total, left=left):
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt

        out = tmp_path / f"stopped-{stop}"
        with pytest.raises(KeyboardInterrupt):
            make_paper(out, preset="quick", progress=interrupting)
        assert not (out / "paper.html").exists()
        tiny_grid.clear()
        make_paper(out, preset="quick", progress=interrupting)
        assert without_times(tiny_grid["grid-paper"]) == wanted
        assert (out / "paper.html").exists()


@pytest.mark.slow
def test_what_was_made_under_other_settings_is_made_again(
    tiny_grid, tmp_path, monkeypatch
):
    make_paper(tmp_path, preset="quick")
    first = tiny_grid["grid-paper"]
    other = replace(TINY, n_train=10)
    monkeypatch.setitem(GridTask.presets, "paper", other)
    make_paper(tmp_path, preset="quick")
    assert tiny_grid["grid-paper"]["sources"]["trained"]["n_train"] == 10

    monkeypatch.setitem(GridTask.presets, "paper", replace(TINY, n_part_draws=3))
    assert settings_checksum(replace(TINY, n_part_draws=3)) == settings_checksum(TINY)
    make_paper(tmp_path, preset="quick")
    assert without_times(tiny_grid["grid-paper"]) == without_times(first)


def test_runs_of_other_settings_are_not_read(tmp_path):
    written = {"settings": asdict(TINY), "distance_to_exact": None}
    (tmp_path / "results.json").write_text(json.dumps(written))
    (tmp_path / "run_record.json").write_text('{"cpu_seconds": {}}')
    assert read_run(TINY, tmp_path) is not None
    assert read_run(replace(TINY, n_test=5), tmp_path) is None


def test_rows_near_a_limit_are_likely_to_change():
    piece = stored("surrogates-sachs")["piece"]
    for errors in piece.values():  # T1-4 agrees in 17 draws of 20
        errors["paper"]["mae"] = [0.0168] * 17 + [1.0] * 3
        errors["gp"]["mae"] = [1.0] * 20
    found = chances({"surrogates-sachs": piece})
    assert all(0 <= chance <= 1 for chance in found.values())
    near = [name for name, chance in found.items() if chance > 0.3]
    assert 0 < len(near) < len(found)
    assert_allclose(of_many([0.5, 0.5]), [0.25, 0.5, 0.25])


@cases(
    ("reading", "changed", "value"),
    ("episodes", "n_iterations", 3000 // 32),
    ("log-z", "log_z_init", 0.0),
)
def test_a_reading_changes_what_the_paper_leaves_open_and_nothing_else(
    reading, changed, value
):
    first, other = (
        asdict(preset_of("buchwald-hartwig", name, quick=False)[0])
        for name in ("paper", reading)
    )
    assert other["training"][changed] == value
    other["training"][changed] = first["training"][changed]
    assert first == other
    assert READINGS[reading].sources == ["trained"]
    words = "reading must be one of .*'fractions'"
    refuses(words, preset_of, "grid", "fractions", quick=False)


def test_quick_solves_what_would_take_too_long_to_train():
    assert sources_of("sachs", "paper", quick=True) == ("exact",)
    assert sources_of("sachs", "paper", quick=False) == ("exact", "trained")
    assert sources_of("molecules", "paper", quick=True) == ("trained",)
    reduced = preset_of("sachs", "paper", quick=True)[1]
    assert reduced == "n_test 6, exact policies only"
    left_out = {*jobs_of(quick=False)} - {*jobs_of(quick=True)}
    assert {name.rpartition("-")[2] for name in left_out} == {"episodes", "z", "member"}


def test_pieces_of_the_repository_are_of_todays_settings():
    for name, (task, reading, _) in jobs_of(quick=False).items():
        preset, _ = preset_of(task, reading, quick=False)
        assert stored(name)["key"]["settings"] == settings_checksum(preset), name


def test_every_figure_of_the_repository_has_ten_draws_at_least():
    for name in jobs_of(quick=False):
        piece = stored(name)["piece"]
        if "sources" in piece:
            for measures in piece["sources"].values():
                (n_draws,) = {len(column) for column in measures["draws"].values()}
                assert n_draws in (N_DRAWS, N_LARGE_DRAWS, N_FEW_DRAWS), name
                assert n_draws >= 10, name
        elif name == "ablation":
            for curves in piece.values():
                for curve in ("members", "degrees", "components"):
                    assert min(len(row["mae_paper"]) for row in curves[curve]) >= 10
        else:
            for methods in piece.values():
                for row in methods.values():
                    assert min(map(len, row.values())) >= 10, name


def rebuilt(reading, folder):
    """Two draws of the continuous grid, made from nothing, and those of the piece."""
    task = "continuous-grid"
    given = {"quick": False, "folder": folder, "runs": None, "n_jobs": 1}
    given |= {"seed": 0, "progress": lambda *stage: None, "options": {}}
    system = Systems(**given).find(task, reading)
    piece = stored(f"{task}-{reading}")["piece"]
    source = READINGS[reading].sources[0]
    ours = measure(system.datasets[source], system.preset, 0, draws=(0, 1), whole=False)
    return ours, piece["sources"][source]


def assert_alike(ours, kept, keys, rtol):
    assert ours["steps"] == kept["steps"]
    for key in keys:
        both = [np.array(some["draws"][key][:2], float) for some in (ours, kept)]
        assert_allclose(*both, rtol=rtol, atol=rtol, err_msg=key)


def test_an_exact_piece_of_the_repository_is_what_the_code_makes(tmp_path, monkeypatch):
    monkeypatch.setattr(systems, "sources_of", lambda *task, quick: ("exact",))
    ours, kept = rebuilt("paper", tmp_path)
    keys = ("d_expansion", "total_variation", "q2", "coverage", "total", "mean_first")
    assert_alike(ours, kept, (*keys, "max_rho"), rtol=2e-3)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_trained_piece_of_the_repository_is_what_the_code_makes(tmp_path):
    """After few iterations rounding has not grown, whatever the processor."""
    ours, kept = rebuilt("episodes", tmp_path)
    assert_alike(ours, kept, ("total_variation", "coverage", "max_rho"), rtol=2e-2)


@pytest.fixture(scope="module")
def full_page():
    """Files and counts of the pieces of the full run, which are in the repository."""
    found = {path.stem: stored(path.stem)["piece"] for path in PIECES.glob("*.json")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_module, "png", lambda figure: b"png")
        return page_files(found, "full", 0)


def test_every_claim_figure_and_table_is_on_the_page(full_page):
    files, counts = full_page
    text = files["paper.html"].decode()
    listed = claim_list()
    assert [c.id for c in listed.claims if f'id="{c.id}"' not in text] == []
    assert sum(counts.values()) - counts["informative"] == len(listed.claims)
    assert text.count("<b class=withdrawn>") == sum(c.withdrawn for c in listed.claims)
    assert all(page_module.escape(c.release) in text for c in listed.claims)
    for item in (*listed.figures, *listed.tables):
        label = item.label.replace(":", "_").replace("-", "_")
        assert f'id="{label}"' in text
    unfinished = re.search(r"<p>(\d+) of the rows that cannot be compared", text)
    n_unfinished = int(unfinished[1]) if unfinished else 0
    assert text.count("<span class=why>not finished") == n_unfinished
    drawn = [name for name in files if name.endswith("_1.png")]
    assert len(drawn) == len(listed.figures) - text.count("Not drawn")
    assert "http" not in text.replace("http-equiv", "")
    sentence = (
        "Of {informative} informative findings {agrees} agree, {does not} do not and "
        "{undecided} are undecided; {identities} rows are identities, {without power} "
        "have no power and {cannot be compared} cannot be compared"
    ).format(**counts)
    assert sentence in " ".join(PAPER_PAGE.read_text(encoding="utf-8").split())


@cases(
    ("answer", "exit_code", "words"),
    ({"page": Path("paper.html"), "agrees": 3}, 0, ("agrees: 3", "Page:")),
    (KeyboardInterrupt(), 130, ("goes on from",)),
    ids=["made", "interrupted"],
)
def test_what_the_command_says(answer, exit_code, words, monkeypatch, tmp_path):
    def stand_in(out, **options):
        if isinstance(answer, BaseException):
            raise answer
        return answer

    (tmp_path / "pieces").mkdir()
    monkeypatch.setattr(make, "make_paper", stand_in)
    result = invoke("paper", "--out", tmp_path)
    assert result.exit_code == exit_code
    assert all(word in result.output for word in words)
