"""Pictures, effects and the report of an answer."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from skpce import explain
from skpce.drivers._effects import effects_of
from skpce.drivers._findings import parts_of
from tests.shared import refuses
from tests.skpce.pictures import assert_legible

plt = pytest.importorskip("matplotlib.pyplot")

N = 24


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    rate, kind = 10 ** rng.uniform(-4, 0, size=N), np.array(["adam", "sgd"] * (N // 2))
    frame = pd.DataFrame({"rate": rate, "kind": kind, "other": rng.uniform(size=N)})
    return frame.assign(
        accuracy=np.log10(rate) + (kind == "sgd") + 0.1 * rng.normal(size=N)
    )


@pytest.fixture(scope="module")
def answer(table):
    return explain(table, outputs="accuracy", log=["rate"])


def texts(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_bars_are_the_shares_of_the_table(answer):
    ax = answer.plot()
    names = texts(ax)
    parts = parts_of(answer.findings, 0)
    assert names[:2] == ["rate", "kind"]
    assert names[3:] == [name for name, _ in parts]
    drawn = [bar.get_width() / 100 for bar in ax.patches]
    by_total = np.argsort(-answer.drivers.total[0])
    shares = np.column_stack([answer.drivers.total[0], answer.drivers.first[0]])
    expected = [*shares[by_total].ravel(), *(share for _, share in parts)]
    assert_allclose(drawn, expected)
    ends = [line.get_xdata() for line in ax.lines[: 2 * len(by_total) : 2]]
    low, high = answer.drivers.total_low[0], answer.drivers.total_high[0]
    assert_allclose(np.array(ends) / 100, np.c_[low, high][by_total])


def test_drivers_are_coloured_and_others_grey(answer):
    ax = answer.plot()
    states = answer.drivers.state[0][np.argsort(-answer.drivers.total[0])]
    assert states.tolist()[:2] == ["drives", "drives"]
    colors = [bar.get_facecolor() for bar in ax.patches[: 2 * len(states)]]
    is_grey = [color[0] == color[1] == color[2] for color in colors]
    assert is_grey == [False] * 4 + [True] * 2


def test_axes_are_taken_or_refused(answer):
    _, ax = plt.subplots()
    assert answer.plot(ax) is ax
    refuses("ax must be", answer.plot, "here")


def test_outputs_have_panels_the_first_four(rng):
    X = rng.uniform(size=(16, 1))
    y = X + 0.1 * rng.normal(size=(16, 5))
    answer = explain(X, np.c_[np.ones(16), y])
    panels = answer.plot()
    assert [ax.get_title(loc="left") for ax in panels] == ["y1", "y2", "y3", "y4"]
    assert panels[-1].get_xlabel().endswith("(the first 4 of 5 outputs)")
    assert answer.plot_effects().axes[0].get_ylabel() == "y1"


def test_many_inputs_and_long_names_stay_legible(rng):
    names = ["learning_rate_of_the_encoder", *(f"$x_{k}$" for k in range(13))]
    X = pd.DataFrame(rng.uniform(size=(16, 14)), columns=names)
    answer = explain(X, 3 * X.iloc[:, 0] + 0.1 * rng.normal(size=16))
    ax = answer.plot()
    assert len(ax.get_yticks()) <= 12 + 1 + 3
    assert "(2 more inputs)" in texts(ax)
    assert max(len(line) for name in texts(ax) for line in name.split("\n")) <= 20
    ax.figure.canvas.draw()  # no name is read as a formula
    height, width = ax.figure.get_size_inches()[::-1]
    assert width <= 5.5
    assert height < 8


def test_effects_have_the_runs_behind_them_on_the_scale_of_the_input(answer, table):
    rate, kind, *_ = effects_of(answer)
    assert (rate.input, rate.is_log, rate.levels) == ("rate", True, ())
    assert_allclose(np.sort(rate.x), np.sort(table.rate))
    assert_allclose(np.sort(rate.y[:, 0]), np.sort(table.accuracy))
    assert rate.means[-1, 0] - rate.means[0, 0] == pytest.approx(4, abs=0.8)
    assert (kind.input, kind.is_log, kind.levels) == ("kind", False, ("adam", "sgd"))
    assert kind.means[1, 0] - kind.means[0, 0] == pytest.approx(1, abs=0.3)
    figure = answer.plot_effects()
    assert_legible(figure)
    first, second = figure.axes[:2]
    assert first.get_xscale() == "log"
    assert first.get_xlabel() == "rate (log scale)"
    assert [t.get_text() for t in second.get_xticklabels()] == ["adam", "sgd"]


def test_effects_of_probabilities_are_probabilities(rng):
    X = rng.normal(size=(N, 2))
    odds = np.exp(np.c_[X[:, 0], -X[:, 0], 0.1 * rng.normal(size=N)])
    answer = explain(X, odds / odds.sum(axis=1, keepdims=True), steps={"bottle": 3})
    (effect, *_) = effects_of(answer)
    assert_allclose(effect.means.sum(axis=1), 1.0)
    assert len(effect.columns) == 3


@pytest.mark.slow
def test_the_report_is_one_page_that_begins_with_the_sentences(answer, tmp_path):
    path = tmp_path / "report.html"
    answer.report(path)
    page = path.read_text(encoding="utf-8")
    body = page[page.index("</h1>") :]
    assert body.index(answer.sentences[0]) < body.index("<img") < body.index("<table")
    for words in ("Drivers", "Effects", "Evidence", "How it was made", "Logarithms"):
        assert words in page
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
    answer.report(path)
    assert page == path.read_text(encoding="utf-8")  # the same bytes
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_notebooks_begin_with_the_sentences(answer):
    html = answer._repr_html_()
    assert html.index(answer.sentences[0].split("(")[0]) < html.index("<table")
