"""The page as a whole: made, resumed, refused, interrupted."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from gflownet_envs.experiments.command_line import main
from gflownet_envs.experiments.paper import make, systems
from gflownet_envs.experiments.paper.claims.claim_list import claim_list
from gflownet_envs.experiments.paper.make import jobs_of, make_paper
from gflownet_envs.experiments.paper.page import page as page_module
from gflownet_envs.experiments.paper.page.page import page_files
from gflownet_envs.experiments.paper.systems import (
    preset_of,
    read_run,
    settings_checksum,
)
from gflownet_envs.experiments.task import Preset
from gflownet_envs.experiments.tasks.grid import GridTask
from gflownet_envs.training.spec import TrainingSpec

ROOT = Path(__file__).parents[4]
PIECES = ROOT / "benchmarks" / "paper" / "pieces"
PAPER_PAGE = ROOT / "docs" / "paper.md"

TINY = Preset(
    n_train=12,
    n_test=6,
    training=TrainingSpec(n_iterations=4, hidden=(8,), batch_size=8, block_size=9),
    n_components=2,
    degrees=(2,),
    solver="paper",
)


@pytest.fixture
def tiny_grid(monkeypatch):
    """A paper of one small task, whose page only says what it was given."""
    monkeypatch.setitem(GridTask.presets, "paper", TINY)
    tasks = {"grid": systems.TASKS["grid"]}
    monkeypatch.setattr(make, "TASKS", tasks)
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
    piece = tiny_grid["grid-paper"]
    assert set(piece["sources"]) == {"exact", "trained"}
    assert piece["sources"]["trained"]["n_train"] == 12
    assert json.loads(json.dumps(piece)) == piece

    def never(*arguments, **options):
        raise AssertionError("made again")

    monkeypatch.setattr(make, "find_system", never)
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
    arguments = ["paper", "--finished", "--from", str(PIECES)]
    result = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "page")])
    assert "preset: full" in result.output
    compared = re.search(r"cannot be compared: (\d+)", result.output)
    assert int(compared[1]) < 60  # 146 where none of the pieces is taken
    pieces = tmp_path / "page" / "pieces"
    assert len(list(pieces.iterdir())) == len(list(PIECES.iterdir()))


@pytest.mark.parametrize("other", [{"preset": "quick"}, {"seed": 3}])
def test_finished_pieces_of_another_call_are_named(other, tmp_path):
    message = r"none of the 22 .* expected one of \[\"preset='full', seed=0\"\]"
    with pytest.raises(ValueError, match=message):
        make_paper(tmp_path / "out", runs=[PIECES], finished=True, **other)
    assert not (tmp_path / "out").exists()


def test_policies_are_kept_where_a_piece_is_not(tiny_grid, tmp_path, monkeypatch):
    make_paper(tmp_path, preset="quick")
    (tmp_path / "pieces" / "grid-paper.json").unlink()

    def never(*arguments, **options):
        raise AssertionError("trained again")

    monkeypatch.setattr(systems, "make_policies", never)
    make_paper(tmp_path, preset="quick")
    assert (tmp_path / "pieces" / "grid-paper.json").exists()


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
    stops = (len(calls) // 3, len(calls) - 3)

    for stop in stops:
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
    assert read_run("grid", "paper", TINY, tmp_path) is not None
    assert read_run("grid", "paper", replace(TINY, n_test=5), tmp_path) is None


def test_pieces_of_the_repository_are_of_todays_settings():
    for name, (task, settings, _) in jobs_of(quick=False).items():
        path = PIECES / f"{name}.json"
        if path.exists():
            key = json.loads(path.read_text(encoding="utf-8"))["key"]
            preset, _ = preset_of(task, settings, quick=False)
            assert key["settings"] == settings_checksum(preset), name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "smoke"}, "preset must be one of .*'smoke'"),
        ({"seed": -1}, "seed must be an int"),
        ({"seed": True}, "seed must be an int"),
        ({"runs": ["nowhere"]}, "runs must be folders that exist, got 'nowhere'"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        make_paper(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_every_claim_figure_and_table_is_on_the_page(monkeypatch):
    """From the pieces of the full run, which are in the repository."""
    monkeypatch.setattr(page_module, "png", lambda figure: b"png")
    found = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))["piece"]
        for path in PIECES.glob("*.json")
    }
    files, counts = page_files(found, "full", 0)
    text = files["paper.html"].decode()
    listed = claim_list()
    assert [c.id for c in listed.claims if f'id="{c.id}"' not in text] == []
    assert sum(counts.values()) == len(listed.claims)
    for item in (*listed.figures, *listed.tables):
        label = item.label.replace(":", "_").replace("-", "_")
        assert f'id="{label}"' in text
    unfinished = re.search(r"<p>(\d+) of the rows that cannot be compared", text)
    n_unfinished = int(unfinished[1]) if unfinished else 0
    assert text.count("<span class=why>not finished") == n_unfinished
    drawn = [name for name in files if name.endswith("_1.png")]
    assert len(drawn) == len(listed.figures) - text.count("Not drawn")
    assert "http" not in text.replace("http-equiv", "")
    words = (counts[word] for word in ("agrees", "does not", "cannot be compared"))
    sentence = "{} agree, {} do not and {} cannot be compared".format(*words)
    assert sentence in " ".join(PAPER_PAGE.read_text(encoding="utf-8").split())


@pytest.mark.slow
def test_a_page_of_nothing_finished_says_so(tmp_path):
    counts = make_paper(tmp_path, finished=True)
    text = (tmp_path / "paper.html").read_text(encoding="utf-8")
    assert "not finished: buchwald-hartwig-paper" in text
    assert counts["cannot be compared"] > 100
    assert counts["differs"] == 0
    assert not (tmp_path / "pieces").exists()


def test_the_command_names_the_page_and_what_agrees(monkeypatch, tmp_path):
    page = tmp_path / "paper.html"
    monkeypatch.setattr(
        make, "make_paper", lambda out, **options: {"page": page, "agrees": 3}
    )
    result = CliRunner().invoke(main, ["paper", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert "agrees: 3" in result.output
    assert "Page:" in result.output


def test_an_interrupted_command_says_how_to_go_on(monkeypatch, tmp_path):
    def interrupted(out, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(make, "make_paper", interrupted)
    result = CliRunner().invoke(main, ["paper", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert "goes on from" in result.output


def test_the_command_says_what_is_wrong(tmp_path):
    arguments = ["paper", "--out", str(tmp_path / "out"), "--preset", "smoke"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "preset must be one of" in result.output


@pytest.mark.parametrize("quick", [True, False])
def test_surrogates_are_not_compared_on_what_was_trained_for_less_long(
    tmp_path, monkeypatch, quick
):
    monkeypatch.setattr(make, "split_of", lambda *arguments: None)
    monkeypatch.setattr(make, "evaluate", lambda *arguments: {})
    preset, _ = systems.preset_of("sachs", "paper", quick=quick)
    datasets = {"exact": None, "trained": None}
    system = systems.System("sachs", "paper", preset, datasets)
    known = {("sachs", "paper"): system}
    call = make._Call(quick, tmp_path, None, 0, None, make._silent, {}, known)
    found = make._surrogates(call, "sachs")
    assert set(found) == ({"exact"} if quick else {"exact", "trained"})
