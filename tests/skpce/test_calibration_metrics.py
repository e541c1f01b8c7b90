"""Coverage error, PIT, energy score and Kolmogorov-Smirnov fraction."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binomtest, ks_2samp, kstest, norm

from skpce.metrics import (
    coverage_interval,
    crps_score,
    energy_score,
    ks_indistinguishable_fraction,
    pit_uniformity,
)

STEPS = {"choice": 3, "single": 1, "masked": 3}
MASK = np.array([True, True, True, True, True, False, True])
POSSIBLE = [0, 1, 2, 4, 6]


def draw_policies(rng, size, spread=1.0):
    """Three parts; one; two of three."""
    one = softmax(spread * rng.normal(size=(*size, 3)), axis=-1)
    pair = softmax(spread * rng.normal(size=(*size, 2)), axis=-1)
    zero = np.zeros((*size, 1))
    blocks = [one, np.ones((*size, 1)), pair[..., :1], zero, pair[..., 1:]]
    return np.concatenate(blocks, axis=-1)


@pytest.fixture(scope="module")
def forecasts():
    rng = np.random.default_rng(0)
    return draw_policies(rng, (200,)), draw_policies(rng, (3000, 1))


def pairs(first):
    return np.stack([first, 1.0 - first], axis=-1)


@pytest.mark.parametrize("n_inside", [0, 1, 7, 19, 20])
@pytest.mark.parametrize("kind", ["marginal", "joint"])
def test_the_binomial_interval_is_that_of_scipy(n_inside, kind):
    # Two parts are inside together or not at all: both coverages are binomial.
    y = pairs(np.where(np.arange(20) < n_inside, 0.5, 0.9))
    found = coverage_interval(
        y,
        [[0.4, 0.4]],
        [[0.6, 0.6]],
        kind=kind,
        confidence_level=0.8,
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
            np.testing.assert_array_equal(np.isnan(bound), [False, True, False])
        assert np.all((found.lower < found.coverage)[[0, 2]])
        assert np.all((found.coverage < found.upper)[[0, 2]])


def test_the_interval_of_marginal_coverage_is_on_the_safe_side():
    rng = np.random.default_rng(0)
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


def test_the_pit_is_the_distribution_function():
    y = pairs(np.array([0.35, 0.4, 0.47]))
    n_draws = 20_000
    atoms = norm.ppf((np.arange(n_draws) + 0.5) / n_draws, 0.4, 0.05)
    found = pit_uniformity(y, pairs(atoms)[:, np.newaxis], random_state=0).values
    expected = norm.cdf(y[:, 0], 0.4, 0.05)
    np.testing.assert_allclose(found[:, 0], expected, atol=2 / n_draws)
    np.testing.assert_allclose(found[:, 1], 1 - expected, atol=2 / n_draws)


def test_the_pit_of_few_draws_and_of_ties_is_still_uniform():
    # Three draws of a law with two atoms: most ranks are ties.
    rng = np.random.default_rng(0)
    y = pairs(rng.choice([0.2, 0.7], size=4000))
    draws = pairs(rng.choice([0.2, 0.7], size=(3, 4000)))
    found = pit_uniformity(y, draws, random_state=0).values
    assert kstest(found[:, 0], "uniform").pvalue > 0.01
    assert found.min() > 0
    assert found.max() < 1


def test_the_pit_of_a_perfect_model_is_uniform_and_of_others_is_not(forecasts):
    y, draws = forecasts
    shape = {"steps": STEPS, "mask": MASK, "random_state": 0}
    good = pit_uniformity(y, draws, **shape)
    middle = np.where(draws > 0, draws.mean(axis=0), 0)
    narrow = pit_uniformity(y, (draws + middle) / 2, **shape)
    wide = pit_uniformity((y + middle[0]) / 2, draws, **shape)
    for found in (good, narrow, wide):
        for values in (found.step_p_values, found.step_dispersion):
            np.testing.assert_array_equal(np.isnan(values), [False, True, False])
        for values in (found.mean, found.dispersion, found.statistic, found.p_values):
            assert np.isfinite(values[POSSIBLE]).all()
            assert np.isnan(values[[3, 5]]).all()
    assert np.all(good.step_p_values[[0, 2]] > 0.05)
    np.testing.assert_allclose(good.step_dispersion[[0, 2]], 1, atol=0.2)
    np.testing.assert_allclose(good.mean[POSSIBLE], 0.5, atol=0.1)
    assert np.all(narrow.step_p_values[[0, 2]] < 1e-4)
    assert np.all(narrow.step_dispersion[[0, 2]] > 1.4)
    assert np.all(wide.step_p_values[[0, 2]] < 1e-4)
    assert np.all(wide.step_dispersion[[0, 2]] < 0.7)


def test_the_mean_pit_shows_bias(forecasts):
    y, draws = forecasts
    tilted = draws[..., :3] * [1.0, 1.0, 4.0]
    tilted /= tilted.sum(axis=-1, keepdims=True)
    found = pit_uniformity(y[:, :3], tilted, random_state=0)
    assert found.mean[2] < 0.3
    assert np.all(found.mean[:2] > 0.55)
    assert found.step_p_values[0] < 1e-6


def test_uniformity_is_assessed_part_by_part(forecasts):
    y, draws = forecasts
    shape = {"steps": STEPS, "mask": MASK, "random_state": 0}
    found = pit_uniformity(y, draws, **shape)
    pit = found.values
    np.testing.assert_array_equal(
        np.isnan(pit),
        np.tile(~MASK, (200, 1)) | [[False, False, False, True, False, True, False]],
    )
    tests = [kstest(pit[:, part], "uniform") for part in POSSIBLE]
    expected = [test.pvalue for test in tests]
    np.testing.assert_allclose(found.p_values[POSSIBLE], expected)
    np.testing.assert_allclose(found.statistic[POSSIBLE], [t.statistic for t in tests])
    steps = [min(1, 3 * min(expected[:3])), min(1, 2 * min(expected[3:]))]
    np.testing.assert_allclose(found.step_p_values[[0, 2]], steps)


def test_the_energy_score_of_two_parts_is_the_crps(forecasts):
    y, draws = forecasts
    y, draws = y[:40, [4, 6]], draws[:300][..., [4, 6]]
    # A difference d of one probability is a distance of d times the root of two.
    found = energy_score(y, draws, space="probability")
    np.testing.assert_allclose(found, np.sqrt(2) * crps_score(y, draws), rtol=1e-10)
    # In Aitchison geometry: the CRPS of log(p / (1 - p)), over the root of two.
    logit = np.log(y[:, 0] / y[:, 1])
    drawn = np.log(draws[:, 0, 0] / draws[:, 0, 1])
    far = np.abs(drawn - logit[:, np.newaxis]).mean()
    near = np.abs(drawn - drawn[:, np.newaxis]).mean()
    expected = (far - near / 2) / np.sqrt(2)
    np.testing.assert_allclose(energy_score(y, draws), [expected], rtol=1e-10)


@pytest.mark.parametrize("space", ["aitchison", "probability"])
@pytest.mark.parametrize("n_drawn", [1, 5])
def test_the_energy_score_is_the_double_sum(space, n_drawn, monkeypatch):
    monkeypatch.setattr("skpce.metrics._scores._BLOCK_ENTRIES", 20)
    rng = np.random.default_rng(1)
    y, draws = draw_policies(rng, (5,)), draw_policies(rng, (9, n_drawn))
    found = energy_score(y, draws, steps=STEPS, mask=MASK, space=space)
    for step, columns in ((0, [0, 1, 2]), (2, [4, 6])):
        points, truth = draws[..., columns], y[:, columns]
        if space == "aitchison":
            points, truth = np.log(points), np.log(truth)
            points = points - points.mean(axis=-1, keepdims=True)
            truth = truth - truth.mean(axis=-1, keepdims=True)
        far = np.linalg.norm(points - truth, axis=-1).mean()
        near = np.linalg.norm(points[:, np.newaxis] - points, axis=-1).mean()
        assert found[step] == pytest.approx(far - near / 2, rel=1e-10)
    assert np.isnan(found[1])


@pytest.mark.parametrize("space", ["aitchison", "probability"])
def test_the_energy_score_is_least_for_the_truth(space):
    rng = np.random.default_rng(0)
    y, draws = draw_policies(rng, (1500,)), draw_policies(rng, (1500, 1))
    shape = {"steps": STEPS, "mask": MASK, "space": space}
    honest = energy_score(y, draws, **shape)[[0, 2]]
    tilt = draws * np.array([1, 1, 2.5, 1, 1, 1, 2.5])
    for step in (slice(0, 3), slice(4, 7)):
        tilt[..., step] /= tilt[..., step].sum(axis=-1, keepdims=True)
    middle = np.where(draws > 0, draws.mean(axis=0), 0)
    for wrong in (
        tilt,
        draw_policies(rng, (1500, 1), spread=0.3),
        draw_policies(rng, (1500, 1), spread=2.5),
        np.broadcast_to(middle, draws.shape),
    ):
        assert np.all(energy_score(y, wrong, **shape)[[0, 2]] > honest)
    certain = np.repeat(y[np.newaxis], 2, axis=0)
    score = energy_score(y, certain, **shape)
    np.testing.assert_allclose(score, [0, np.nan, 0], atol=1e-12)


@pytest.mark.parametrize("space", ["aitchison", "probability"])
def test_relabelling_actions_does_not_change_the_energy_score(forecasts, space):
    y, draws = forecasts
    y, draws = y[:20, :3], draws[:50, :, :3]
    found = energy_score(y, draws, space=space)
    order = [2, 0, 1]
    relabelled = energy_score(y[:, order], draws[..., order], space=space)
    np.testing.assert_allclose(relabelled, found)


def test_the_energy_score_detects_wrong_dependence_and_the_crps_does_not(forecasts):
    rng = np.random.default_rng(2)
    y, draws = draw_policies(rng, (800,))[:, :3], draw_policies(rng, (800, 1))[..., :3]
    # Shuffle each action by itself: the same marginals. Not on the simplex, which
    # the score in probability does not need.
    shuffled = np.stack([rng.permutation(column) for column in draws[:, 0].T], axis=1)
    shuffled = shuffled[:, np.newaxis]
    np.testing.assert_allclose(crps_score(y, shuffled), crps_score(y, draws))
    honest = energy_score(y, draws, space="probability")
    assert energy_score(y, shuffled, space="probability") > honest


def test_equal_laws_are_indistinguishable_and_half_the_spread_is_not():
    rng = np.random.default_rng(0)
    shape = {"steps": STEPS, "mask": MASK}
    fractions, narrow = [], []
    for _ in range(30):
        y, draws = draw_policies(rng, (100,)), draw_policies(rng, (2000,))
        fractions.append(ks_indistinguishable_fraction(y, draws, **shape).fraction)
        half = draw_policies(rng, (2000,), spread=0.5)
        narrow.append(ks_indistinguishable_fraction(y, half, **shape).fraction)
    # Any rejection at all: at most 5 % of the time.
    assert np.mean(np.array(fractions) < 1) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 30)
    assert np.mean(fractions) > 0.95
    assert np.mean(narrow) < 0.4


def test_the_tests_are_those_of_scipy_over_pairs_with_a_choice(forecasts):
    y, draws = forecasts
    found = ks_indistinguishable_fraction(y, draws[:, 0], steps=STEPS, mask=MASK)
    assert found.n_pairs == 5
    for part in POSSIBLE:
        expected = ks_2samp(y[:, part], draws[:, 0, part])
        assert found.p_values[part] == pytest.approx(expected.pvalue)
        assert found.statistics[part] == pytest.approx(expected.statistic)
    assert np.isnan(found.p_values[[3, 5]]).all()
    assert not found.indistinguishable[[3, 5]].any()
    assert found.indistinguishable[POSSIBLE].mean() == found.fraction
    np.testing.assert_array_equal(np.isnan(found.step_fractions), [False, True, False])


@pytest.mark.parametrize(("factor", "rejected"), [(1.001, 1), (0.999, 0)])
def test_bonferroni_is_over_all_pairs(factor, rejected):
    rng = np.random.default_rng(0)
    y = draw_policies(rng, (100,))
    draws = draw_policies(rng, (500,), spread=0.7)
    shape = {"steps": STEPS, "mask": MASK}
    p_values = ks_indistinguishable_fraction(y, draws, **shape).p_values
    alpha = 5 * np.nanmin(p_values) * factor
    found = ks_indistinguishable_fraction(y, draws, **shape, alpha=alpha)
    assert (~found.indistinguishable[POSSIBLE]).sum() == rejected
    assert found.fraction == 1 - rejected / 5


def test_without_a_choice_nothing_is_tested():
    found = ks_indistinguishable_fraction(np.ones((4, 1)), np.ones((9, 1)))
    assert np.isnan(found.fraction)
    assert found.n_pairs == 0
    assert np.isnan(pit_uniformity(np.ones((4, 1)), np.ones((9, 1, 1))).step_p_values)
    assert np.isnan(energy_score(np.ones((4, 1)), np.ones((9, 1, 1))))


def test_a_part_that_only_one_side_takes_is_not_masked():
    y = np.array([[1.0, 0.0], [1.0, 0.0]])
    draws = np.tile([[0.6, 0.4]], (50, 1))
    found = ks_indistinguishable_fraction(y, draws)
    assert found.n_pairs == 2
    assert ks_indistinguishable_fraction(draws, y).n_pairs == 2
    assert np.isfinite(energy_score(y, draws[:, np.newaxis])).all()
    with pytest.raises(ValueError, match=r"draws has 0\.4 in row 0, .* masked"):
        pit_uniformity(y, draws[:, np.newaxis], mask=[True, False])


@pytest.mark.parametrize("seed", [0, 7])
def test_the_pit_repeats_with_its_seed(forecasts, seed):
    y, draws = forecasts
    first, again, other = (
        pit_uniformity(y, draws[:20], steps=STEPS, random_state=state).values
        for state in (seed, seed, seed + 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other, equal_nan=True)


Y = np.full((4, 3), 1 / 3)
DRAWS = np.full((6, 1, 3), 1 / 3)


@pytest.mark.parametrize("score", [pit_uniformity, energy_score])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Y, DRAWS[:, 0]), r"draws has shape \(6, 3\); expected \(n_draws, 4, 3\)"),
        ((Y, np.ones((6, 2, 3))), r"draws has shape \(6, 2, 3\)"),
        ((Y, DRAWS[..., :2]), r"draws has shape \(6, 1, 2\)"),
        ((Y, DRAWS[:0]), "is empty"),
        ((Y, DRAWS * np.nan), "draws has NaN"),
        ((Y, DRAWS - 0.5), r"draws has -0\.16"),
        ((Y - 0.5, DRAWS), r"y_true has -0\.16"),
        ((Y[0], DRAWS), "must be 2-D"),
    ],
)
def test_bad_draws_are_named(score, arguments, message):
    with pytest.raises(ValueError, match=message):
        score(*arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ks_indistinguishable_fraction(Y, DRAWS),
            r"y_samples has shape \(6, 1, 3\); .* draw without X",
        ),
        (
            lambda: ks_indistinguishable_fraction(Y, Y[:, :2]),
            r"y_samples has shape \(4, 2\)",
        ),
        (lambda: ks_indistinguishable_fraction(Y, Y, alpha=1), "'alpha' .* Got 1"),
        (lambda: coverage_interval(Y, Y, Y, kind="all"), "'kind' .* Got 'all'"),
        (
            lambda: coverage_interval(Y, Y, Y, confidence_level=95),
            "'confidence_level' .* Got 95",
        ),
        (lambda: coverage_interval(Y, Y[:2], Y), r"lower has shape \(2, 3\)"),
        (lambda: energy_score(Y, DRAWS, space="alr"), "'space' .* Got 'alr'"),
        (lambda: energy_score(Y, DRAWS, zero_replacement=1), "Got 1 instead"),
        (lambda: pit_uniformity(Y[:1], DRAWS), "y_true has 1 member"),
    ],
)
def test_bad_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_negative_samples_are_refused_by_their_name():
    members = np.full((4, 2), 0.5)
    with pytest.raises(ValueError, match=r"y_samples has -1\.0 in row 0"):
        ks_indistinguishable_fraction(members, members * [-2.0, 4.0])
