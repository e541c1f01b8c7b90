"""Figures of runs can be read, and show what the results say."""

import io
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs.experiments import figures
from tests.skpce.test_displays_legible import assert_legible

pytest.importorskip("matplotlib")
backend = pytest.importorskip("matplotlib.backends.backend_agg")
image = pytest.importorskip("PIL.Image")

pytestmark = pytest.mark.slow

TASKS = ["grid", "structure-learning"]


@pytest.fixture
def results(smoke_runs):
    return smoke_runs("grid")[0]


def rows_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


@pytest.mark.parametrize("name", TASKS)
def test_pictures_of_a_run_are_legible_and_have_a_dozen_rows(smoke_runs, name):
    made = figures.make_figures(smoke_runs(name)[0])
    assert {"overview", "policies", "coverage"} <= set(made)
    for figure, description in made.values():
        assert description.endswith(".")
        backend.FigureCanvasAgg(figure)
        assert_legible(figure)
        assert all(len(rows_of(ax)) <= 12 for ax in figure.axes if ax.containers)


def test_the_overview_shows_exact_policies_first(results):
    top, bottom = figures.overview_figure(results).subfigs
    titles = [ax.get_title() for ax in top.axes]
    assert titles[1:] == ["exact policies", "trained policies, degree 1"]
    places = [text.get_position() for text in top.axes[0].texts]
    assert (np.mod(places, 1.0) == 0.5).all()  # between cells, beside the walk
    assert [ax.get_legend() is None for ax in top.axes[1:]] == [True, False]
    assert [ax.get_title() for ax in bottom.axes] == ["move 1", "move 3", "move 5"]
    names = [text.get_text() for text in bottom.legends[0].get_texts()]
    assert names == ["exact", "trained", "surrogate of trained"]
    exact = top.axes[1]
    widths = np.array([[bar.get_width() for bar in c] for c in exact.containers])
    found = results.sources["exact"].main.verdict.not_predicted
    assert_allclose(widths[-1][~np.isnan(found)], found[~np.isnan(found)])
    untrained = replace(results, sources={"exact": results.sources["exact"]})
    top, _ = figures.overview_figure(untrained).subfigs
    assert [ax.get_title() for ax in top.axes[1:]] == ["exact policies, degree 1"]


def test_the_actions_of_a_panel_add_up_to_one(smoke_runs):
    results, _ = smoke_runs("structure-learning")
    samples = figures.policy_samples(results)
    figure = figures.policies_figure(results, samples)
    dataset = results.headline.dataset
    for ax in [ax for ax in figure.axes if ax.containers]:
        for container in ax.containers:
            centres = container.lines[0].get_xdata()
            assert_allclose(sum(centres), 1.0)
        step = dataset.step_names.index(ax.get_title())
        n_actions = dataset.mask[dataset.step_slices[step]].sum()
        rest = n_actions - 11
        if rest > 1:
            assert rows_of(ax)[-1] == f"others ({rest})"


def test_many_steps_are_shown_by_a_dozen(results, monkeypatch):
    source = results.headline
    display = figures.SobolDisplay.from_fit(
        source.main.pipeline, verdict=source.main.verdict
    )
    display.first_order = np.tile(display.first_order[:1], (18, 1))
    display.unexplained = np.linspace(0.1, 0.9, 18)
    display.step_names = [f"edge {i}" for i in range(18)]
    display.supported = [True] * 18
    display.share_bounds = None
    stand_in = SimpleNamespace(from_fit=lambda *_, **__: display)
    monkeypatch.setattr(figures, "SobolDisplay", stand_in)
    ax = figures._figure(8, 6).subplots()
    figures._draw_sobol(source, ax)
    rows = rows_of(ax)
    assert (len(rows), rows[0], rows[-1]) == (12, "edge 0", "edge 17")
    assert "12 of 18 decisions" in ax.get_xlabel()


def test_pictures_are_drawn_as_savefig_draws_them(results):
    figure = figures.coverage_figure(results)
    drawn = np.asarray(image.open(io.BytesIO(figures.png(figure))).convert("RGB"))
    stream = io.BytesIO()
    figures.coverage_figure(results).savefig(stream, format="png", dpi=150)
    saved = np.asarray(image.open(stream).convert("RGB"))
    assert_array_equal(drawn, saved)
