"""Dependence and laws of the inputs, against brute force and scipy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from skpce.inspection import _input_tests as tests
from skpce.inspection import input_tests


def distance_correlation_by_definition(x, y):
    """Székely and Rizzo (2014), definition 2."""
    n = len(x)

    def centred(values):
        a = np.abs(np.subtract.outer(values, values))
        rows = a.sum(axis=1) / (n - 2)
        out = a - np.add.outer(rows, rows) + a.sum() / ((n - 1) * (n - 2))
        np.fill_diagonal(out, 0.0)
        return out

    A, B = centred(x), centred(y)
    return (A * B).sum() / np.sqrt((A * A).sum() * (B * B).sum())


@pytest.fixture(name="X", scope="module")
def dependent_inputs():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30)
    return np.stack([x, x**2, np.exp(x + rng.normal(size=30)), rng.normal(size=30)], 1)


@pytest.mark.parametrize("block", [2**21, 500])
def test_correlations(X, block, monkeypatch):
    monkeypatch.setattr(tests, "_LARGEST_BLOCK", block)
    found = input_tests(X)
    for i in range(4):
        for j in range(i):
            pearson = stats.pearsonr(X[:, i], X[:, j])
            spearman = stats.spearmanr(X[:, i], X[:, j])
            ranks = stats.rankdata(X[:, [i, j]], axis=0)
            squared = distance_correlation_by_definition(*ranks.T)
            assert found.pearson[i, j] == pytest.approx(pearson.statistic)
            assert found.spearman[i, j] == pytest.approx(spearman.statistic)
            assert found.distance[i, j] == pytest.approx(np.sqrt(max(squared, 0)))
            expected = stats.chi2.sf(30 * squared + 1, 1)
            assert found.dependence_p_values[i, j] == pytest.approx(expected, abs=1e-12)
        assert found.normality_p_values[i] == pytest.approx(
            stats.shapiro(X[:, i]).pvalue
        )


@pytest.mark.parametrize("law", ["normal", "standard_cauchy", "lognormal"])
def test_independent_inputs_are_seldom_called_dependent(law):
    rng = np.random.default_rng(1)
    p_values = []
    for _ in range(400):
        X = getattr(rng, law)(size=(40, 2)) ** (2 if law == "lognormal" else 1)
        p_values.append(input_tests(X).dependence_p_values[0, 1])
    assert np.mean(np.array(p_values) <= 0.05) < 0.07


def test_constant_inputs_and_few_members():
    X = np.stack([np.arange(9.0), np.ones(9)], axis=1)
    found = input_tests(X)
    assert np.isnan(found.pearson[0, 1])
    assert np.isnan(found.distance[0, 1])
    assert np.isnan(found.largest("spearman"))
    assert np.isnan(found.normality_p_values[1])
    assert np.isnan(input_tests(X[:3]).dependence_p_values).all()
    assert "too few" in str(input_tests(X[:3, :1]))


def test_labels_have_no_correlation_but_a_distance(rng):
    """Whatever their order; a number that depends on a label is seen."""
    label = rng.choice(["a", "b", "c"], size=200)
    X = pd.DataFrame({"c": label, "x": rng.normal(size=200), "y": label == "b"})
    X["y"] += 0.3 * rng.normal(size=200)
    found = input_tests(X)
    assert np.isnan(found.pearson[0]).all()
    assert np.isnan(found.normality_p_values[0])
    assert found.dependence_p_values[0, 1] > 0.05
    assert found.dependence_p_values[0, 2] < 1e-6
    other = input_tests(X.assign(c=pd.Categorical(label, ["c", "a", "b"])))
    assert_array_equal(other.distance, found.distance)
