"""Shares of levels, and measures of fragility, by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from gflownet_envs.experiments.analysis import fragility, level_shares
from skpce import CompositionalPCESurrogate
from skpce.metrics import policy_fragility
from tests.gflownet_envs.experiments.conftest import exact_dataset
from tests.shared import OLS, clr


@pytest.fixture
def dataset():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    logits = X @ rng.normal(size=(4, 3))
    logits += 0.3 * rng.normal(size=(40, 3))
    pair = softmax(rng.normal(size=(40, 2)), axis=1)
    first, (one, other) = softmax(logits, axis=1), pair.T
    y = np.column_stack([first, one, np.zeros(40), other, np.ones(40)])
    return exact_dataset(X, y, (3, 3, 1), mask=np.arange(7) != 4)


def test_level_shares_of_a_linear_model(dataset):
    surrogate = CompositionalPCESurrogate(
        1, steps=dataset.steps, mask=dataset.mask, **OLS
    )
    columns = {"A": {"low": np.array([0]), "high": np.array([1, 2])}, "B": {}}
    columns["B"]["low"] = np.arange(4)
    found = level_shares(surrogate.fit(dataset.X, dataset.y), dataset, columns)
    centred = dataset.X - dataset.X.mean(axis=0)
    covariance = centred.T @ centred / len(centred)
    expected = {component: {} for component in columns}
    for step in ([0, 1, 2], [3, 5]):
        observed = clr(dataset.y[:, step])
        away = observed - observed.mean(axis=0)
        weights = np.linalg.lstsq(centred, away, rcond=None)[0]
        for component, levels in columns.items():
            for level, chosen in levels.items():
                part = covariance[np.ix_(chosen, chosen)]
                moved = np.trace(weights[chosen].T @ part @ weights[chosen])
                share = moved / observed.var(axis=0).sum()
                expected[component].setdefault(level, []).append(share)
    for component, levels in expected.items():
        for level, shares in levels.items():
            assert_allclose(found[component][level], [*shares, np.nan], rtol=1e-9)


def test_fragility_is_that_of_the_policies_where_there_is_a_choice(dataset):
    found = fragility(dataset)
    shape = {"steps": dataset.steps, "mask": dataset.mask}
    expected = policy_fragility(dataset.y, **shape)
    assert_array_equal(found.n_possible, [3, 2, 1])
    assert found.step_names == dataset.step_names
    assert found.alr_reference.tolist() == ["0-2", "1-2", "2-0"]
    for name in set(found.columns) - {"step", "n_possible", "alr_reference"}:
        values, measured = found.columns[name], expected.columns[name]
        assert_array_equal(np.isnan(values), [False, False, True])
        assert_array_equal(values[:2], measured[:2])
