"""The functions of ``benchmarks/studies``, on problems of a few actions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from benchmarks.studies import best_of_n, closed_loop_tasks
from benchmarks.studies.closed_loop_tasks import ARMS, Problem, campaign, selection
from benchmarks.studies.gaussian_posterior import (
    Posterior,
    by_reference,
    rankings,
    slopes_of,
    synthetic,
)
from benchmarks.studies.rewards import RewardEnsemble, components_of

SIZES = (2, 2, 3)


@pytest.fixture(scope="module")
def posterior():
    return synthetic(0, n_candidates=9)


@pytest.fixture
def few_reactions():
    levels = np.indices(SIZES).reshape(len(SIZES), -1).T
    yields = 20.0 * levels[:, 0] + 10.0 * levels[:, 2] + 5.0 * levels[:, 1]
    yields[3] = np.nan
    return Problem("reactions", selection(SIZES), levels, yields, 6, 2, batch=2)


# Posteriors


def test_draws_have_the_moments_of_the_posterior(posterior):
    _, values = posterior.draw(200_000, np.random.default_rng(0))
    assert_allclose(values.mean(axis=0), posterior.mean, atol=0.01)
    assert_allclose(np.cov(values.T), posterior.covariance, atol=0.02)


def test_the_order_of_the_candidates_decides_by_a_reference_only(posterior):
    order = np.random.default_rng(1).permutation(9)
    shuffled = posterior.covariance[np.ix_(order, order)]
    other = Posterior(posterior.mean[order], shuffled)
    one, same = rankings(posterior, 4), rankings(other, 4)
    for name in one:
        assert_allclose(one[name], same[name], atol=1e-9)
    last = [by_reference(slopes_of(of, 4))[-1] for of in (posterior, other)]
    assert np.abs(last[0] - last[1]).max() > 0.05


def test_the_worth_of_a_mode_is_that_of_its_line(posterior):
    """``E max(m + s z) - max m`` by a fine grid of quantiles."""
    found = rankings(posterior, 2)["worth"]
    variances, modes = posterior.modes()
    z = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    gains = []
    for variance, mode in zip(variances[:2], modes[:2], strict=True):
        lines = posterior.mean + np.sqrt(variance) * np.outer(z, mode)
        gains.append(lines.max(axis=1).mean() - posterior.mean.max())
    assert_allclose(found, np.array(gains) / np.sum(gains), atol=1e-5)


def test_the_index_by_a_reference_is_that_of_the_closed_form(posterior):
    variances, modes = (part[:5] for part in posterior.modes())
    away = modes - modes[:, [2]]
    parts = variances[:, np.newaxis] * away**2
    shares = np.delete(parts, 2, axis=1) / np.delete(parts.sum(axis=0), 2)
    found = by_reference(slopes_of(posterior, 5))
    assert found.shape == (9, 5)
    assert_allclose(found[2], shares.mean(axis=1), atol=1e-9)


# Best of n


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_best_of_n_by_simulation(n):
    rewards = np.array([[0.3, -1.0, 2.0, 0.1]])
    found = best_of_n.best_of(rewards, n)
    drawn = np.random.default_rng(0).integers(4, size=(200_000, n))
    best = drawn[np.arange(len(drawn)), rewards[0][drawn].argmax(axis=1)]
    assert_allclose(found[0], np.bincount(best, minlength=4) / len(best), atol=5e-3)
    assert found.sum() == pytest.approx(1.0)


# Rewards


def test_components_are_learned_on_training_members():
    rng = np.random.default_rng(0)
    parts = {"base": rng.normal(size=(60, 1, 3)), "acid": rng.normal(size=(60, 2, 1))}
    values = 5.0 * sum(parts.values()).reshape(60, -1)
    ensemble = RewardEnsemble(values, 30, "percent", parts)
    found = ensemble.components(3)
    assert_allclose(found[:30].std(axis=0, ddof=1), 1.0)
    values = ensemble.predictions
    assert_allclose(found[:30], components_of(values[:30], 30, 3))
    assert ensemble.components(6).shape == (60, 4)  # no more vary
    inputs, groups = ensemble.part_components(2)
    assert groups == {"base": [0, 1], "acid": [2, 3]}
    assert inputs.shape == (60, 4)


# The closed loop


@pytest.mark.parametrize("name", [*ARMS])
def test_an_arm_measures_each_reaction_once(name, few_reactions, monkeypatch):
    monkeypatch.setattr(closed_loop_tasks.Networks, "n_members", 6)
    monkeypatch.setattr(closed_loop_tasks.Networks, "hidden", (4,))
    seen = []
    original = closed_loop_tasks.Laboratory.measure

    def watched(self, row):
        seen.append(row)
        return original(self, row)

    monkeypatch.setattr(closed_loop_tasks.Laboratory, "measure", watched)
    outcome = campaign(name, few_reactions, 0)
    assert len({*seen, *few_reactions.start(0).measured}) == 10
    assert 3 not in seen  # not measured in the table
    assert 0.0 <= outcome.left <= np.mean(outcome.lost)
