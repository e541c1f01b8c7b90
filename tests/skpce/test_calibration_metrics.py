"""Coverage with its error."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import binomtest

from skpce.metrics import coverage_interval
from tests.shared import cases, refuses
from tests.skpce.test_metrics import MASK, STEPS, as_policies, draw_policies


@pytest.fixture(scope="module")
def forecasts():
    rng = np.random.default_rng(0)
    return draw_policies(rng, (200,)), draw_policies(rng, (3000, 1))


@pytest.mark.parametrize("n_inside", [0, 1, 7, 19, 20])
@pytest.mark.parametrize("kind", ["marginal", "joint"])
def test_the_binomial_interval_is_that_of_scipy(n_inside, kind):
    # Two parts are inside together or not at all: both coverages are binomial.
    y = as_policies(np.where(np.arange(20) < n_inside, 0.5, 0.9))
    found = coverage_interval(
        y, [[0.4, 0.4]], [[0.6, 0.6]], kind=kind, confidence_level=0.8
    )
    expected = binomtest(n_inside, 20).proportion_ci(0.8, method="wilson")
    assert found.coverage[0] == pytest.approx(n_inside / 20)
    assert found.lower[0] == pytest.approx(expected.low, abs=1e-9)
    assert found.upper[0] == pytest.approx(expected.high, abs=1e-9)
    assert found.n_members == 20


def test_a_coverage_interval_contains_the_coverage_and_is_nan_without_choice(forecasts):
    y, draws = forecasts
    low, high = np.quantile(draws, [0.1, 0.9], axis=0)
    shape = {"steps": STEPS, "mask": MASK}
    for kind in ("marginal", "joint"):
        found = coverage_interval(y, low, high, kind=kind, **shape)
        for bound in (found.lower, found.upper):
            assert_array_equal(np.isnan(bound), [False, True, False])
        assert np.all((found.lower < found.coverage)[[0, 2]])
        assert np.all((found.coverage < found.upper)[[0, 2]])


def test_the_interval_of_marginal_coverage_is_on_the_safe_side(rng):
    low, high = np.quantile(draw_policies(rng, (20_000, 1)), [0.1, 0.9], axis=0)
    shape = {"steps": STEPS, "mask": MASK, "confidence_level": 0.9}
    hits = []
    for _ in range(200):
        y = draw_policies(rng, (60,))
        found = coverage_interval(y, low, high, **shape)
        hits.append((found.lower <= 0.8) & (found.upper >= 0.8))
    share = np.mean(hits, axis=0)
    assert share[0] >= 0.9
    assert share[2] >= 0.9 - 3 * np.sqrt(0.09 / 200)


Y = np.full((4, 3), 1 / 3)


@cases(
    ("call", "message"),
    (lambda: coverage_interval(Y, Y, Y, kind="all"), "'kind' .* Got 'all'"),
    (
        lambda: coverage_interval(Y, Y, Y, confidence_level=95),
        "'confidence_level' .* Got 95",
    ),
    (lambda: coverage_interval(Y, Y[:2], Y), r"lower has shape \(2, 3\)"),
)
def test_bad_parameters_are_named(call, message):
    refuses(message, call)
