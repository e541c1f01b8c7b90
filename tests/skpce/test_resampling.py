"""Bootstrap intervals and conditional p-values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import softmax
from scipy.stats import norm

from skpce import CompositionalPCESurrogate, PolynomialChaosFeatures
from tests.shared import ridge_surrogate

WIDTHS = (3, 2, 4)


def test_intervals_contain_the_truth_mostly():
    law = norm(0, 1)
    coefficients = np.random.default_rng(3).normal(size=(3, 6))
    centred = coefficients - coefficients.mean(axis=0)
    squares = np.square(centred[:, 1:]).sum(axis=0)
    hits = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(150, 2))
        features = PolynomialChaosFeatures(2, distribution=law).fit(X)
        truth = squares @ (features.multi_indices_[1:] > 0) / squares.sum()
        logits = features.transform(X) @ coefficients.T
        y = softmax(logits + 0.5 * rng.normal(size=logits.shape), axis=1)
        low, high = (
            CompositionalPCESurrogate(
                2, distribution=law, solver="ols", random_state=seed
            )
            .fit(X, y)
            .sobol_interval(n_resamples=60, confidence_level=0.95)
            .total_order[:, 0]
        )
        hits.append((low <= truth) & (truth <= high))
    assert np.mean(hits) > 0.8


def test_intervals_are_ordered_nested_and_repeatable(X, y):
    surrogate = ridge_surrogate(2, steps=WIDTHS, random_state=0).fit(X, y)

    def intervals(level):
        return surrogate.sobol_interval("step", level, n_resamples=40).total_order

    wide, narrow = intervals(0.95), intervals(0.5)
    assert wide.shape == (2, 3, 3)
    assert np.all(wide[0] <= narrow[0])
    assert np.all(narrow[0] <= narrow[1])
    assert np.all(narrow[1] <= wide[1])
    assert_array_equal(wide, intervals(0.95))


def test_normalised_weights_are_no_frequencies(X, y):
    surrogate = ridge_surrogate(steps=WIDTHS).fit(
        X, y, sample_weight=np.full(len(X), 1 / len(X))
    )
    with pytest.raises(ValueError, match=r"sums to 1 copies; with n_resamples=5"):
        surrogate.sobol_interval(n_resamples=5)
