"""What results print, frame and draw."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import softmax

import skpce
from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce.ensembles import from_frame
from skpce.sample_size import required_ensemble_size
from tests.shared import OLS


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def model(table):
    y = pd.DataFrame({"u": table.a + table.b * table.c, "v": 2 * table.b})
    return PolynomialChaosRegressor(2, **OLS).fit(table, y)


@pytest.fixture(scope="module")
def surrogate(table):
    weights = np.random.default_rng(1).normal(size=(3, 5))
    logits = table.to_numpy() @ weights
    y = np.hstack([softmax(part, axis=1) for part in np.split(logits, [3], axis=1)])
    return CompositionalPCESurrogate(1, steps={"s": 3, "t": 2}).fit(table, y)


SHOWN = {
    "Sobol indices": lambda m, s: m.expansion_.sobol_indices(),
    "all outputs together": lambda m, s: m.aggregated_sobol_indices(),
    "interactions": lambda m, s: m.interaction_indices(),
    "moments": lambda m, s: m.moments(),
    "intervals": lambda m, s: m.sobol_interval(n_resamples=20),
    "predictions": lambda m, s: m.predict_interval(m.table[:2]),
    "probabilities": lambda m, s: s.probability_sobol_indices(64),
    "diagnostics": lambda m, s: s.diagnostics_,
    "required size": lambda m, s: required_ensemble_size(m),
    "expansion": lambda m, s: m.expansion_,
    "ensemble": lambda m, s: from_frame(m.table.assign(y=m.table.a), ["a", "b"], "y"),
}


@pytest.mark.parametrize("kind", SHOWN)
@pytest.mark.filterwarnings("ignore:.*residual:UserWarning")
def test_results_are_read_in_words_frames_and_notebooks(kind, model, surrogate, table):
    model.table = table
    found = SHOWN[kind](model, surrogate)
    text, frame, page = str(found), found.to_frame(), found._repr_html_()
    assert "array(" not in text
    assert not text.startswith(type(found).__name__ + "(")
    assert len(frame) > 0
    assert page.startswith(("<p>", "<table>"))
    if hasattr(found, "plot"):
        pytest.importorskip("matplotlib")
        axes = np.ravel(found.plot())
        assert all(axis.patches for axis in axes)


def test_tables_have_the_names_of_the_fit(model, surrogate):
    indices = model.expansion_.sobol_indices()
    frame = indices.to_frame().set_index(["target", "input"])
    assert frame.loc[("v", "b"), "first_order"] == pytest.approx(1.0)
    place = model.expansion_.input_names.index("c")
    assert frame.loc[("u", "c"), "total_order"] == indices.total_order[0, place]
    pairs = model.interaction_indices().to_frame()
    assert "b × c" in pairs["inputs"].tolist()
    assert model.moments().to_frame()["target"].tolist() == ["u", "v"]
    parts = surrogate.probability_sobol_indices(64).to_frame()
    names = ["s: 0", "s: 1", "s: 2", "t: 0", "t: 1", "s", "t"]
    assert list(dict.fromkeys(parts["probability"])) == names


def test_an_ensemble_shows_its_categories_by_name(table):
    runs = table.assign(kind=["x", "y", "z"] * 20)
    found = from_frame(runs, ["a", "kind"], {"g": ["b"], "h": ["c"]})
    frame = found.to_frame()
    assert frame.columns.tolist() == ["a", "kind", "g: b", "h: c"]
    assert frame["kind"].tolist() == runs["kind"].tolist()
    assert "<td>z</td>" in found._repr_html_()
    other = from_frame(pl.DataFrame(runs.to_dict("list")), ["a", "kind"], "b")
    assert isinstance(other.to_frame(), pl.DataFrame)


def test_what_results_are_made_of_is_read_in_words(model, surrogate, table):
    answer = skpce.explain(table, table.a + 0.1 * table.b**2)
    assert answer.design._repr_html_() == "<p>60 runs; runs are exchanged.</p>"
    for part in (model.basis_, surrogate.geometry_, answer.source, answer.findings):
        assert "array(" not in str(part)
