"""Rare parts added up to a rest: as if the table had been amalgamated by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from skpce import CompositionalPCESurrogate
from skpce.inspection import compare_embeddings, verdict
from skpce.metrics import coverage_interval
from tests.shared import agree, refuses, ridge_surrogate

STEPS = {"first": 6, "second": 3}
THRESHOLD = 0.02


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    logits = X @ rng.normal(size=(2, 9)) * 0.4 + 0.3 * rng.normal(size=(60, 9))
    logits[:, [1, 3, 4]] -= 9.0  # rare parts of the first step
    logits[:, 4] -= 900.0  # and one that underflows to 0
    blocks = [softmax(logits[:, :6], axis=1), softmax(logits[:, 6:], axis=1)]
    return X, np.hstack(blocks)


def by_hand(y):
    return np.column_stack([y[:, [0, 2, 5]], y[:, [1, 3, 4]].sum(axis=1), y[:, 6:]])


def made(steps=STEPS, **options):
    return ridge_surrogate(2, steps=steps, random_state=0, **options)


@pytest.fixture(scope="module")
def pair(data):
    X, y = data
    plain = made({"first": 4, "second": 3}).fit(X, by_hand(y))
    return made(amalgamate=THRESHOLD).fit(X, y), plain


def test_everything_is_that_of_a_table_amalgamated_by_hand(X, y, pair):
    surrogate, plain = pair
    names = "coefficients_", "step_total_sobol_indices_", "mask_"
    agree(surrogate, plain, *names, rtol=1e-12, atol=1e-14)
    for call in (
        lambda model: model.predict(X),
        lambda model: model.transform(X),
        lambda model: model.sample(5, X[:3]),
        lambda model: model.predict_interval(X),
        lambda model: model.predict_interval(X, joint="step"),
        lambda model: model.predict_interval(X, method="conformal"),
        lambda model: model.probability_sobol_indices(256).total_order,
    ):
        ours, theirs = call(surrogate), call(plain)
        assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)
    expected = plain.score(X, by_hand(y))
    assert surrogate.score(X, y) == pytest.approx(expected, rel=1e-12)
    assert surrogate.score(X, by_hand(y)) == pytest.approx(expected, rel=1e-12)


def test_a_table_in_the_columns_of_predict(X, y, pair):
    surrogate, _ = pair
    table = surrogate.amalgamate_parts(y)
    assert_allclose(table, by_hand(y), rtol=1e-12)
    assert_allclose(surrogate.amalgamate_parts(table), table, rtol=1e-12)
    bounds = surrogate.predict_interval(X)
    assert 0.85 < coverage_interval(table, *bounds).coverage <= 1.0
    how = {"method": "conformal", "calibration": (X + 1e-3, y)}
    assert surrogate.predict_interval(X, **how).lower.shape == (60, 7)
    refuses(r"\(60, 9\) or \(60, 7\)", surrogate.score, X, y[:, :8])
    with pytest.raises(NotFittedError):
        ridge_surrogate(amalgamate=0.1).amalgamate_parts(y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:y has 59 zeros")
def test_a_verdict_adds_up_once(X, y, pair):
    surrogate, plain = pair
    options = {"cv": 3}
    ours = verdict(surrogate, X, y, **options)
    theirs = verdict(plain, X, by_hand(y), **options)
    assert ours.step_names == ("first", "second")
    agree(ours, theirs, "q2", "p_value", "q2_low")
    # In a fold the rest may be another one: a part that only one member uses.
    few = y.copy()
    few[0, :6] = 0.5, 0.1, 0.1, 0.1, 0.1, 0.1
    with pytest.warns(UserWarning, match="59 zeros, in 59 of 60 members"):
        found = verdict(surrogate, X, few, **options)
    assert np.isfinite(found.q2).all()


def test_embeddings_are_compared(X, y, pair):
    how = {"surrogate": pair[0], "cv": 3, "inner_cv": 2}
    tried = {"dimensions": (1, 2), "degrees": (1,)}
    found = compare_embeddings({"pca": PCA(whiten=True)}, X, y, **how, **tried)
    assert np.isfinite(found.best.verdict.q2).all()


def test_masked_parts(X, y):
    mask = np.ones(9, dtype=bool)
    mask[4] = False
    y = y.copy()
    y[:, 4] = 0.0
    options = {"steps": STEPS, "mask": mask, "amalgamate": THRESHOLD}
    model = CompositionalPCESurrogate(1, **options).fit(X, y)
    assert model.rest_["first"] == ("1", "3", "4")
    assert model.mask_.all()
    wrong = y.copy()
    wrong[0, 4] = 0.1
    refuses("masked", model.score, X, wrong)
    refuses("masked", CompositionalPCESurrogate(1, **options).fit, X, wrong)


def test_a_name_that_is_taken_and_a_single_rare_part():
    X = np.arange(5.0)[:, np.newaxis]
    y = np.tile([0.5, 0.49, 0.01], (5, 1))
    model = ridge_surrogate(1, amalgamate=0.1).fit(X, y)
    assert model.rest_ == {}
    assert model.part_names_ == ("0", "1", "2")
    pandas = pytest.importorskip("pandas")
    y = np.tile([0.9, 0.05, 0.05], (5, 1))
    table = pandas.DataFrame(y, columns=["a__rest", "a__b", "a__c"])
    model = ridge_surrogate(1, amalgamate=0.1).fit(X, table)
    assert model.part_names_ == ("rest", "rest of a")


@pytest.mark.parametrize("bad", [0, 1, -0.1, "rare", np.nan, True])
def test_bad_thresholds(X, y, bad):
    refuses("'amalgamate'", made(amalgamate=bad).fit, X, y)
    message = "no part of step 'first' has a larger"
    refuses(message, made(amalgamate=0.999).fit, X, y)
