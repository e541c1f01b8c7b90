"""Coverage, width and CRPS against closed forms and against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from scipy.stats import binomtest, norm

from skpce.metrics import coverage_interval, crps_score
from tests.shared import cases, refuses

STEPS = {"choice": 3, "single": 1, "masked": 3}
MASK = np.array([True, True, True, True, True, False, True])
LEVELS = (0.5, 0.8, 0.95)


def marginal(*bounds, **shape):
    return coverage_interval(*bounds, **shape).coverage


def joint(*bounds, **shape):
    return coverage_interval(*bounds, kind="joint", **shape).coverage


def as_policies(first: np.ndarray) -> np.ndarray:
    """Two parts: values as the first, whatever their sum needs as the second."""
    return np.stack([first, 1.0 - first], axis=-1)


def draw_policies(rng, size):
    """Three parts; one; two of three."""
    one = softmax(rng.normal(size=(*size, 3)), axis=-1)
    pair = softmax(rng.normal(size=(*size, 2)), axis=-1)
    blocks = [one, np.ones((*size, 1)), pair[..., :1], np.zeros((*size, 1))]
    return np.concatenate([*blocks, pair[..., 1:]], axis=-1)


@pytest.fixture
def forecasts(rng):
    """Policies of 400 members with three steps, and draws of the same law."""
    return draw_policies(rng, (400,)), draw_policies(rng, (4000, 1))


def quantiles(draws, level):
    return np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)


def test_crps_of_a_normal_law_has_its_closed_form():
    # Gneiting and Raftery (2007), eq. (20)-(21), with the sign of a loss.
    y, mean, spread = 0.45, 0.4, 0.05
    z = (y - mean) / spread
    closed = spread * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - np.pi**-0.5)
    n_draws = 20_000
    atoms = norm.ppf((np.arange(n_draws) + 0.5) / n_draws, mean, spread)
    found = crps_score(as_policies(np.array([y])), as_policies(atoms)[:, np.newaxis])
    assert_allclose(found, [closed], rtol=1e-3)


@pytest.mark.parametrize("level", LEVELS)
def test_exact_quantiles_cover_as_often_as_they_claim(forecasts, level):
    y, draws = forecasts
    lower, upper = quantiles(draws, level)
    shape = {"steps": STEPS, "mask": MASK}
    each = marginal(y, lower, upper, **shape)
    error = 4 * np.sqrt(level * (1 - level) / len(y))
    assert_allclose(each[[0, 2]], level, atol=error)
    narrow = marginal(y, *quantiles(draws, level / 2), **shape)
    assert np.all(np.abs(narrow[[0, 2]] - level) > error)
    whole = joint(y, lower, upper, **shape)
    assert np.all(whole[[0, 2]] <= each[[0, 2]])
    # Two parts are inside together or not at all.
    assert whole[2] == pytest.approx(each[2])
    assert whole[0] < each[0]


def test_bounds_are_inclusive():
    y = np.array([[0.25, 0.75]])
    assert marginal(y, [[0.25, 0.8]], [[0.25, 0.9]]) == 0.5
    assert joint(y, [[0.25, 0.8]], [[0.25, 0.9]]) == 0


@pytest.mark.parametrize("n_inside", [0, 1, 7, 19, 20])
@pytest.mark.parametrize("kind", ["marginal", "joint"])
def test_the_binomial_interval_is_that_of_scipy(n_inside, kind):
    # Two parts are inside together or not at all: both coverages are binomial.
    y = as_policies(np.where(np.arange(20) < n_inside, 0.5, 0.9))
    found = coverage_interval(y, [[0.4, 0.4]], [[0.6, 0.6]], kind=kind)
    expected = binomtest(n_inside, 20).proportion_ci(0.95, method="wilson")
    assert found.coverage[0] == pytest.approx(n_inside / 20)
    assert found.lower[0] == pytest.approx(expected.low, abs=1e-9)
    assert found.upper[0] == pytest.approx(expected.high, abs=1e-9)
    assert found.n_members == 20


def test_the_interval_of_marginal_coverage_is_on_the_safe_side(rng):
    low, high = np.quantile(draw_policies(rng, (20_000, 1)), [0.1, 0.9], axis=0)
    shape = {"steps": STEPS, "mask": MASK}
    hits = []
    for _ in range(200):
        y = draw_policies(rng, (60,))
        found = coverage_interval(y, low, high, **shape)
        hits.append((found.lower <= 0.8) & (found.upper >= 0.8))
    share = np.mean(hits, axis=0)
    assert share[0] >= 0.95
    assert share[2] >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 200)


Y = np.full((4, 3), 1 / 3)


AS_IN_Y = r"lower has shape \(3, 3\); expected \(4, 3\) as in y_true, or \(1, 3\)"


@cases(
    ("score", "given", "message"),
    (marginal, (Y, Y[:3], Y), AS_IN_Y),
    (joint, (Y, Y, Y[:, :2]), r"upper has shape \(4, 2\); expected"),
    # What sample() gives without X: its draws must not pass for members.
    (crps_score, (Y, Y), r"draws has shape \(4, 3\); expected \(n_draws, 4, 3\)"),
    (crps_score, (Y, np.ones((0, 1, 3))), r"draws of shape \(0, 1, 3\) is empty"),
    (marginal, (Y[0], Y, Y), "y_true must be 2-D"),
)
def test_bad_shapes_are_named(score, given, message):
    refuses(message, score, *given)
