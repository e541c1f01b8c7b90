"""Losses against scipy and scikit-learn; scorers in a search over pipelines."""

import pickle

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.decomposition import PCA
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from skpce import LogRatioTransformer
from skpce.metrics import aitchison_scorer, neg_kl_divergence_scorer
from tests.shared import cases, refuses, ridge_surrogate


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
STEPS = (3, 2, 4)
SCORERS = {"kl": neg_kl_divergence_scorer, "aitchison": aitchison_scorer(STEPS)}


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


def test_a_prediction_that_adds_up_to_more_does_not_gain():
    y = policies()
    assert kl(y, 1.5 * y) > 0
    assert kl(y, np.ones_like(y)) > 0


def test_a_prediction_below_the_floor_counts_as_the_floor():
    expected = 0.5 * np.log(0.5 / 1e-300) + 0.5 * np.log(0.5)
    for bad in (0.0, -1.0):
        found = kl([[0.5, 0.5]], [[1.0, bad]])
        assert found == pytest.approx(expected, rel=1e-9)


def test_zeros_of_the_truth_are_welcome():
    found = kl([[1.0, 0.0, 0.0]], [[0.25, 0.75, 0.0]])
    assert found == pytest.approx(np.log(4))


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


@pytest.fixture(scope="module")
def known():
    """A quadratic softmax of two inputs among five features, three steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)) * [3, 2, 0.1, 0.1, 0.1]
    Z = X[:, :2] / [3, 2]
    blocks = []
    for width in STEPS:
        logits = Z @ rng.normal(size=(2, width)) + Z**2 @ rng.normal(size=(2, width))
        blocks.append(softmax(logits, axis=1))
    return X, np.hstack(blocks)


def make_model(degree=2):
    return make_pipeline(PCA(2, whiten=True), ridge_surrogate(degree, steps=STEPS))


def test_a_search_over_a_pipeline_with_all_scorers(known):
    X, y = known
    search = GridSearchCV(
        make_model(),
        {"compositionalpcesurrogate__degree": [0, 1, 2]},
        scoring=SCORERS,
        refit="kl",
        cv=4,
    ).fit(X, y)
    assert search.best_params_ == {"compositionalpcesurrogate__degree": 2}
    for name in SCORERS:
        scores = search.cv_results_[f"mean_test_{name}"]
        assert np.isfinite(scores).all()
        assert scores[0] < scores[1] < scores[2] <= 0, name
    assert clone(search).fit(X, y).best_score_ == search.best_score_


@pytest.mark.parametrize("name", SCORERS)
def test_scorers_are_pickled(name, known):
    X, y = known
    model = make_model().fit(X, y)
    copy = pickle.loads(pickle.dumps(SCORERS[name]))
    assert copy(model, X, y) == SCORERS[name](model, X, y)
    parallel = cross_val_score(make_model(), X, y, scoring=copy, cv=2, n_jobs=1)
    assert np.all(parallel <= 0)


def test_one_column_may_be_flat():
    assert kl([1.0, 1.0], [[1.0], [1.0]]) == 0


Y = np.full((4, 3), 1 / 3)


@pytest.mark.parametrize("loss", LOSSES)
@cases(
    ("arguments", "message"),
    ((Y, Y[:3]), r"y_true has shape \(4, 3\) and y_pred \(3, 3\)"),
    ((Y, Y[:, :2]), r"y_pred \(4, 2\); expected the same shape"),
    ((Y, Y[0]), r"y_pred \(3, 1\)"),
    ((Y[:0], Y[:0]), "not empty"),
    ((Y * np.nan, Y), "y_true contains NaN"),
    ((Y, Y * np.inf), "y_pred has infinite entries"),
)
def test_bad_tables_are_named(loss, arguments, message):
    refuses(message, loss, *arguments)
