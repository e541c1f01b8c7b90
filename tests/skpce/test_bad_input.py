"""Every mistake of the issue's list: a clear error, before any work."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from skpce import ClosureWarning, LogRatioTransformer
from skpce.inspection import verdict
from tests.shared import cases, refuses, ridge_surrogate

WIDTHS = (3, 2, 4)
SURROGATE = ridge_surrogate(2, steps=WIDTHS)


@pytest.fixture
def no_work(monkeypatch):
    """Make any evaluation of a basis fail."""

    def fail(*_):
        raise AssertionError("work was done before the check")

    monkeypatch.setattr("skpce._basis.basis.PolynomialBasis.evaluate", fail)


def with_value(y, row, column, value):
    changed = y.copy()
    changed[row, column] = value
    return changed


@pytest.mark.usefixtures("no_work")
class TestFit:
    def test_width_of_y(self, X, y):
        with pytest.raises(
            ValueError, match=r"'steps' .* sums to 9 columns .3 . 2 . 4.; expected 8"
        ):
            clone(SURROGATE).fit(X, y[:, :8])

    @pytest.mark.parametrize("container", [list, tuple, dict])
    def test_one_array_per_step(self, X, y, container):
        parts = np.split(y, [3, 5], axis=1)
        bad = dict(zip("abc", parts, strict=True)) if container is dict else parts
        message = "y is a (dict|list of 3 arrays).*pack_steps"
        refuses(message, clone(SURROGATE).fit, X, container(bad))

    def test_padded_array(self, X):
        with pytest.raises(ValueError, match=r"y has 4 dimensions.*pack_steps"):
            clone(SURROGATE).fit(X, np.full((len(X), 3, 4, 1), 0.25))

    def test_nan(self, X, y):
        with pytest.raises(
            ValueError, match=r"Input y contains NaN: nan in row 3, .*pack_steps"
        ):
            clone(SURROGATE).fit(X, with_value(y, 3, 2, np.nan))
        with pytest.raises(ValueError, match="Input X contains NaN"):
            clone(SURROGATE).fit(with_value(X, 3, 2, np.nan), y)
        refuses("infinity", clone(SURROGATE).fit, X, with_value(y, 3, 2, np.inf))

    def test_negative_probability(self, X, y):
        with pytest.raises(
            ValueError,
            match=r"Negative .* -0\.25 in row 7, part '1' of step 'step1'; prob",
        ):
            clone(SURROGATE).fit(X, with_value(y, 7, 4, -0.25))

    def test_logits(self, X, y):
        for use in (clone(SURROGATE).fit, partial(verdict, clone(SURROGATE))):
            refuses(r"Negative.*softmax of each step.*Log", use, X, np.log(y) - 1.0)
        bad = with_value(y, 7, slice(3, 5), [-0.25, 1.25])  # sums to one: no logits
        refuses(r"must be non-negative\.$", clone(SURROGATE).fit, X, bad)

    @pytest.mark.parametrize("kind", [list, np.array, "category"])
    def test_labels_of_classes(self, X, kind):
        labels = ["setosa", "virginica"] * 30
        if kind == "category":
            pandas = pytest.importorskip("pandas")
            labels = pandas.Series(labels, dtype="category")
        else:
            labels = kind(labels)
        with pytest.raises(
            ValueError, match=r"y holds text such as 'setosa'.*predict_"
        ):
            ridge_surrogate(1).fit(X, labels)

    def test_steps_that_nobody_named(self, X, y):
        strict = ridge_surrogate(1, log_ratio=LogRatioTransformer(closure="strict"))
        refuses(r"sums to 3, .* 3 steps side by side\. Give steps=", strict.fit, X, y)

    @pytest.mark.parametrize("closure", ["strict", "renormalize"])
    def test_row_of_zeros(self, X, y, closure):
        bad = with_value(y, 5, slice(3, 5), 0.0)
        surrogate = clone(SURROGATE)
        surrogate.set_params(log_ratio=LogRatioTransformer(closure=closure))
        refuses(r"Row 5 of step 'step1' of y is all zero", surrogate.fit, X, bad)

    def test_unnormalised_under_strict(self, X, y):
        surrogate = clone(SURROGATE)
        surrogate.set_params(log_ratio=LogRatioTransformer(closure="strict"))
        with pytest.raises(
            ValueError,
            match=r"Row 5 of step 'step2' of y sums to 1\.[0-9]+; .* expects 1",
        ):
            surrogate.fit(X, with_value(y, 5, 5, y[5, 5] + 0.01))

    @pytest.mark.parametrize("log_ratio", ["logit", None, 3, ["alr"]])
    def test_log_ratio(self, ensemble, log_ratio):
        surrogate = clone(SURROGATE).set_params(log_ratio=log_ratio)
        refuses(r"one of 'alr', 'clr', 'ilr'\. Got", surrogate.fit, *ensemble)

    @cases(
        ("parameter", "value"),
        ("degree", -1),
        ("degree", 2.5),
        ("distribution", "cauchy"),
        ("q", 0.5),
    )
    def test_basis(self, ensemble, parameter, value):
        with pytest.raises(ValueError, match=f"'{parameter}' parameter .*{value}"):
            clone(SURROGATE).set_params(**{parameter: value}).fit(*ensemble)

    def test_positive_on_a_masked_part(self, X, y):
        mask = np.ones(9, dtype=bool)
        mask[7] = False
        with pytest.raises(ValueError, match=r"row 0, part '2' of step 'step2', which"):
            clone(SURROGATE).set_params(mask=mask).fit(X, y)

    def test_masks_that_differ(self, X, y):
        mask = np.ones((len(X), 9), dtype=bool)
        mask[3, 7] = False
        with pytest.raises(
            ValueError, match=r"differs between members; expected.*Fit them separately"
        ):
            clone(SURROGATE).set_params(mask=mask).fit(X, y)

    def test_lengths(self, X, y):
        refuses("inconsistent numbers of samples", clone(SURROGATE).fit, X, y[:-1])


def test_renormalize_warns_above_a_thousandth(X, y):
    with pytest.warns(ClosureWarning) as caught:
        scaled = clone(SURROGATE).fit(X, 2 * y)
    assert len(caught) == 1  # of the step that is furthest from one
    assert "of y sums to 2, not to 1" in str(caught[0].message)
    plain = clone(SURROGATE).fit(X, y)
    assert_allclose(scaled.predict(X), plain.predict(X), atol=1e-12)
    clone(SURROGATE).fit(X, y * 1.0005)  # silent


def test_several_steps_in_one(X, y):
    refuses(r"sums to 3, .* 3 steps side by side\. Give", ridge_surrogate(1).fit, X, y)
    # Weights, and percentages.
    for other in (y * np.linspace(1, 2, len(y))[:, np.newaxis], 100 * y / 3):
        with pytest.warns(ClosureWarning, match=r"not to 1; rows were .* their sum\.$"):
            ridge_surrogate(1).fit(X, other)


def test_float32_policies_pass_the_strict_closure(X, y):
    strict = LogRatioTransformer(closure="strict")
    clone(SURROGATE).set_params(log_ratio=strict).fit(X, y.astype(np.float32))


@pytest.fixture(scope="module")
def padded(ensemble):
    """The ensemble with one more part, which is masked."""
    X, y = ensemble
    return np.hstack([y, np.zeros((len(X), 1))])


@pytest.fixture(scope="module")
def fitted(ensemble, padded):
    return ridge_surrogate(2, steps=(3, 2, 5)).fit(ensemble[0], padded)


class TestFitted:
    @pytest.mark.parametrize("method", ["predict", "transform", "predict_interval"])
    def test_width_of_x(self, fitted, method):
        with pytest.raises(ValueError, match=r"X has 4 features.*expecting 3 features"):
            getattr(fitted, method)(np.zeros((2, 4)))

    def test_sample_checks_x(self, fitted):
        refuses("X has 4 features", fitted.sample, 2, np.zeros((2, 4)))

    def test_width_of_y_in_score(self, fitted, ensemble, padded):
        with pytest.raises(ValueError, match=r"\(60, 9\); expected \(60, 10\)"):
            fitted.score(ensemble[0], padded[:, :9])

    def test_a_table_of_the_right_size_but_another_shape(
        self, fitted, ensemble, padded
    ):
        with pytest.raises(ValueError, match=r"\(120, 5\); expected \(60, 10\)"):
            fitted.score(ensemble[0], padded.reshape(120, 5))

    def test_length_of_y_in_score(self, fitted, ensemble, padded):
        with pytest.raises(ValueError, match=r"\(20, 10\); expected \(60, 10\)"):
            fitted.score(ensemble[0], padded[:20])

    def test_masked_part_in_score(self, fitted, ensemble, padded):
        bad = with_value(padded, 4, 9, 0.125)
        with pytest.raises(
            ValueError, match=r"0\.125 in row 4, part '4' of step 'step2', which is mas"
        ):
            fitted.score(ensemble[0], bad)

    def test_steps_apart_in_score(self, fitted, ensemble, padded):
        with pytest.raises(ValueError, match="pack_steps"):
            fitted.score(ensemble[0], np.split(padded, [3, 5], axis=1))

    def test_coordinates(self, fitted):
        with pytest.raises(ValueError, match=r"expected \(n_members, 6\) ilr coord"):
            fitted.inverse_transform(np.zeros((2, 7)))


@cases("bad", {"a": np.ones((2, 2))}, [np.ones((2, 2))] * 2, np.ones((2, 2, 2, 2)))
def test_transformer_names_pack_steps(bad):
    refuses("pack_steps", LogRatioTransformer().fit, bad)
