"""Losses of the scorers against scipy and scikit-learn."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import log_loss

from skpce import LogRatioTransformer
from skpce.metrics import aitchison_scorer, neg_kl_divergence_scorer
from tests.shared import cases, refuses


class Given(RegressorMixin, BaseEstimator):
    """Predicts what it was given."""

    def __init__(self, predicted):
        self.predicted = predicted

    def predict(self, X):
        return self.predicted


def kl(y, predicted, **weights):
    return -neg_kl_divergence_scorer(
        Given(predicted), np.zeros((len(y), 1)), y, **weights
    )


def aitchison(y, predicted, steps=None, mask="infer", **weights):
    scorer = aitchison_scorer(steps, mask=mask)
    return -scorer(Given(predicted), np.zeros((len(y), 1)), y, **weights)


LOSSES = (kl, aitchison)


def policies(n_members=8, n_parts=4, seed=0):
    rng = np.random.default_rng(seed)
    return softmax(rng.normal(size=(n_members, n_parts)), axis=1)


def test_the_kl_loss_is_the_relative_entropy_summed_over_steps():
    y, predicted = policies(), policies(seed=1)
    by_member = entropy(y, predicted, axis=1)
    assert kl(y, predicted) == pytest.approx(by_member.mean())
    both = kl(np.hstack([y, predicted]), np.hstack([predicted, y]))
    swapped = entropy(predicted, y, axis=1).mean()
    assert both == pytest.approx(by_member.mean() + swapped)


def test_the_kl_loss_of_one_hot_members_is_the_log_loss():
    labels = np.array([0, 2, 1, 3, 3, 0, 1, 2])
    predicted = policies()
    expected = log_loss(labels, predicted)
    assert kl(np.eye(4)[labels], predicted) == pytest.approx(expected)


def test_the_kl_loss_is_proper():
    # Its mean is least for the mean policy, also among unnormalised predictions.
    y = policies(200, 3)
    mean = y.mean(axis=0)
    best = kl(y, np.tile(mean, (200, 1)))
    rng = np.random.default_rng(1)
    for _ in range(50):
        other = mean * np.exp(0.2 * rng.normal(size=3))
        assert kl(y, np.tile(other, (200, 1))) > best
        other /= other.sum()
        assert kl(y, np.tile(other, (200, 1))) > best


def test_a_prediction_below_the_floor_counts_as_the_floor():
    expected = 0.5 * np.log(0.5 / 1e-300) + 0.5 * np.log(0.5)
    for bad in (0.0, -1.0):
        found = kl([[0.5, 0.5]], [[1.0, bad]])
        assert found == pytest.approx(expected, rel=1e-9)


def test_the_aitchison_is_the_squared_error_of_isometric_log_ratios():
    y = np.hstack([policies(), policies(n_parts=3)])
    predicted = np.hstack([policies(seed=1), policies(n_parts=3, seed=1)])
    ilr = LogRatioTransformer("ilr", steps=(4, 3)).fit(y)
    errors = np.square(ilr.transform(y) - ilr.transform(predicted)).sum(axis=1)
    found = aitchison(y, predicted, steps=(4, 3))
    assert found == pytest.approx(errors.mean())


def test_the_aitchison_leaves_masked_parts_out():
    y, predicted = policies(), policies(seed=1)
    expected = aitchison(y, predicted)
    zero = np.zeros((8, 1))
    padded = np.hstack([y, zero]), np.hstack([predicted, zero])
    assert aitchison(*padded) == pytest.approx(expected)
    mask = np.array([True] * 4 + [False])
    assert aitchison(*padded, mask=mask) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"y_pred has .* masked"):
        aitchison(padded[0], np.full((8, 5), 0.2), mask=mask)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_obey_their_laws(loss):
    y, predicted = policies(), policies(seed=1)
    assert loss(y, y) == 0
    assert loss(y, predicted) > 0
    order = [2, 0, 3, 1]
    relabelled = loss(y[:, order], predicted[:, order])
    assert relabelled == pytest.approx(loss(y, predicted))
    counts = np.array([0, 1, 2, 0, 3, 1, 1, 2])
    repeated = loss(np.repeat(y, counts, axis=0), np.repeat(predicted, counts, axis=0))
    weighted = loss(y, predicted, sample_weight=counts)
    assert weighted == pytest.approx(repeated)
    closer = 0.5 * (y + predicted)
    assert loss(y, closer) < loss(y, predicted)
    assert isinstance(weighted, float)


Y = np.full((4, 3), 1 / 3)


@pytest.mark.parametrize("loss", LOSSES)
@cases(
    ("arguments", "message"),
    ((Y, Y[:3]), r"y_true has shape \(4, 3\) and y_pred \(3, 3\)"),
    ((Y, Y[:, :2]), r"y_pred \(4, 2\); expected the same shape"),
    ((Y[:0], Y[:0]), "not empty"),
    ((Y * np.nan, Y), "y_true contains NaN"),
    ((Y, Y * np.inf), "y_pred has infinite entries"),
)
def test_bad_tables_are_named(loss, arguments, message):
    refuses(message, loss, *arguments)
