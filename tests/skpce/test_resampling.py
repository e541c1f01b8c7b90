"""Bootstrap intervals and conditional p-values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax
from scipy.stats import norm

from skpce import CompositionalPCESurrogate, PolynomialChaosFeatures

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
                2,
                distribution=law,
                solver="ols",
                n_resamples=60,
                confidence_level=0.95,
                random_state=seed,
            )
            .fit(X, y)
            .step_total_sobol_interval_[:, 0]
        )
        hits.append((low <= truth) & (truth <= high))
    assert np.mean(hits) > 0.8


def test_intervals_are_ordered_nested_and_repeatable(ensemble):
    X, y = ensemble

    def intervals(level, n_jobs=None):
        surrogate = CompositionalPCESurrogate(
            2,
            steps=WIDTHS,
            n_resamples=40,
            confidence_level=level,
            random_state=0,
            n_jobs=n_jobs,
            solver="ridge",
            distribution="normal",
        )
        return surrogate.fit(X, y).step_total_sobol_interval_

    wide, narrow = intervals(0.95), intervals(0.5)
    assert wide.shape == (2, 3, 3)
    assert np.all(wide[0] <= narrow[0])
    assert np.all(narrow[0] <= narrow[1])
    assert np.all(narrow[1] <= wide[1])
    np.testing.assert_array_equal(wide, intervals(0.95))


def test_no_intervals_by_default(ensemble):
    fitted = CompositionalPCESurrogate(
        steps=WIDTHS, solver="ridge", distribution="normal"
    ).fit(*ensemble)
    assert not hasattr(fitted, "step_sobol_interval_")
    assert fitted.diagnostics_.permutation_p_values is None


@pytest.mark.slow
def test_p_values_are_uniform_under_the_null():
    p_values = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(25, 2))
        y = softmax(rng.normal(size=(25, 3)), axis=1)
        surrogate = CompositionalPCESurrogate(
            1,
            n_permutations=39,
            random_state=seed,
            solver="ridge",
            distribution="normal",
        )
        p_values.append(surrogate.fit(X, y).diagnostics_.permutation_p_values[0])
    assert min(p_values) >= 1 / 40
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    assert np.mean(np.array(p_values) <= 0.05) < 0.11


def test_a_signal_has_the_smallest_p_value(ensemble):
    X, y = ensemble
    surrogate = CompositionalPCESurrogate(
        2,
        steps=WIDTHS,
        n_permutations=19,
        random_state=0,
        solver="ridge",
        distribution="normal",
    )
    found = surrogate.fit(X, y).diagnostics_.permutation_p_values
    np.testing.assert_allclose(found, 1 / 20)


def test_an_undefined_error_is_not_significant(simulate):
    X, y = simulate(n_members=12)
    surrogate = CompositionalPCESurrogate(
        3,
        steps=WIDTHS,
        solver="ols",
        n_permutations=19,
        random_state=0,
        distribution="normal",
    )
    assert np.isnan(surrogate.fit(X, y).diagnostics_.permutation_p_values).all()


def test_normalised_weights_are_no_frequencies(ensemble):
    X, y = ensemble
    surrogate = CompositionalPCESurrogate(
        steps=WIDTHS, n_resamples=5, solver="ridge", distribution="normal"
    )
    with pytest.raises(ValueError, match=r"sums to 1 copies; with n_resamples=5"):
        surrogate.fit(X, y, sample_weight=np.full(len(X), 1 / len(X)))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_resamples": -1}, r"'n_resamples' .* \[0, inf\). Got -1"),
        ({"n_permutations": 1.5}, "'n_permutations' .* Got 1.5"),
        ({"confidence_level": 0.0}, r"'confidence_level' .* \(0, 1\). Got 0.0"),
        ({"alpha_per_target": 1}, "'alpha_per_target' .* a bool. Got 1"),
    ],
)
def test_bad_parameters(ensemble, parameters, message):
    with pytest.raises(ValueError, match=message):
        CompositionalPCESurrogate(steps=WIDTHS, **parameters).fit(*ensemble)
