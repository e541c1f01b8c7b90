"""Arrays that pass as they are, and those that scikit-learn is asked about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_equal
from sklearn.base import BaseEstimator
from sklearn.utils import validation

from skpce._checks import validated
from tests.shared import cases

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6.0)
OPTIONS = {"multi_output": True, "y_numeric": True}


class Plain(BaseEstimator):
    """An estimator that only knows what was checked."""


def knowing(**attributes):
    found = Plain()
    vars(found).update(attributes)
    return found


def outcome(check, estimator, *arrays, **options):
    """What a check returns, raises or warns of, and what the estimator knows then."""
    try:
        found = check(estimator, *arrays, **options)
    except (ValueError, UserWarning) as error:  # warnings are errors here
        return type(error), str(error), vars(estimator)
    return found, vars(estimator)


ARRAYS = {
    "plain": (X, Y),
    "two targets": (X, np.column_stack([Y, Y])),
    "one column": (X, Y[:, np.newaxis]),
    "by columns": (np.asfortranarray(X), Y),
    "every other row": (np.repeat(X, 2, axis=0)[::2], Y),
    "single precision": (X.astype(np.float32), Y),
    "integers": (X, Y.astype(int)),
    "big-endian": (X.astype(">f8"), Y),
    "frame": (pd.DataFrame(X, columns=["a", "b"]), Y),
    "list": (X.tolist(), Y.tolist()),
    "NaN": (np.where(X == 3, np.nan, X), Y),
    "infinite": (np.where(X == 3, np.inf, X), Y),
    "infinite of both signs": (X, np.where(Y > 3, np.inf, -np.inf)),
    "sums that overflow": (X, np.full(6, 1.7e308)),
    "other length": (X, Y[:-1]),
    "one-dimensional": (X[:, 0], Y),
    "three-dimensional": (X, np.zeros((6, 2, 2))),
    "no rows": (X[:0], Y[:0]),
    "no columns": (X[:, :0], Y),
    "no targets": (X, np.zeros((6, 0))),
}


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("name", ARRAYS)
def test_what_passes_and_what_is_said_are_those_of_scikit_learn(
    name, reset, monkeypatch
):
    given = [{}, {"n_features_in_": 2}, {"n_features_in_": 3}]
    given += [{"n_features_in_": 2, "feature_names_in_": np.array(["a", "b"], object)}]
    # Larger numbers than the limit are refused after this check.
    monkeypatch.setattr("skpce._checks.refuse_extremes", lambda *_, **__: None)
    for attributes in given if reset else given[1:]:
        one, other = knowing(**attributes), knowing(**attributes)
        with np.errstate(over="ignore", invalid="ignore"):
            expected = outcome(
                validation.validate_data,
                one,
                *ARRAYS[name],
                dtype=np.float64,
                reset=reset,
                **OPTIONS,
            )
        found = outcome(validated, other, *ARRAYS[name], reset=reset, **OPTIONS)
        assert_equal(found, expected)


def test_plain_arrays_are_not_copied_and_not_checked_twice(monkeypatch):
    def no_check(*_, **__):
        raise AssertionError("scikit-learn was asked")

    monkeypatch.setattr("skpce._checks.validate_data", no_check)
    estimator = knowing(feature_names_in_=np.array(["a", "b"], object), levels_={})
    inputs, targets = validated(estimator, X, Y, **OPTIONS)
    assert inputs is X
    assert targets is Y
    assert vars(estimator) == {"n_features_in_": 2}
    assert validated(estimator, X, reset=False) is X


@cases("arrays", (X.view(np.matrix), Y), (np.ma.masked_equal(X, 3.0), Y))
def test_kinds_of_arrays_are_left_to_the_other_checks(arrays):
    with pytest.raises((TypeError, ValueError), match=r"matrix|masked"):
        validated(Plain(), *arrays, **OPTIONS)
