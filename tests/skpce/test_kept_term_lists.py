"""Small sets of terms are listed once; whoever changes a list changes no other."""

import numpy as np
import pytest
from scipy.stats import uniform

from skpce import PolynomialChaosRegressor, build_multi_indices

SETS = [
    {},
    {"q": 0.75},
    {"interaction_order": 1},
    {"anisotropy": [1, 2, 1]},
    {"largest": [np.inf, 2, np.inf], "categorical": [False, True, False]},
    {"largest": [np.inf, 2, np.inf]},
]


@pytest.mark.parametrize("first", range(len(SETS)))
def test_a_list_that_was_changed_is_listed_as_before(first):
    expected = [build_multi_indices(3, 3, **options).copy() for options in SETS]
    build_multi_indices(3, 3, **SETS[first])[:] = 7
    for options, rows in zip(SETS, expected, strict=True):
        np.testing.assert_array_equal(build_multi_indices(3, 3, **options), rows)


def test_every_option_makes_a_list_of_its_own():
    lists = [build_multi_indices(3, 3, **options).tolist() for options in SETS]
    assert all(one != two for i, one in enumerate(lists) for two in lists[:i])


def test_designs_of_equal_terms_and_other_distributions_differ():
    X = np.random.default_rng(0).uniform(-1, 1, size=(30, 2))
    y = X[:, 0] * X[:, 1]
    normal = PolynomialChaosRegressor(2, solver="ridge", distribution="normal").fit(
        X, y
    )
    legendre = PolynomialChaosRegressor(
        2, distribution=uniform(-1, 2), solver="ridge"
    ).fit(X, y)
    expected = 3 * X[:, 0] * X[:, 1]  # sqrt(3) x times sqrt(3) x
    assert legendre.get_feature_names_out()[4] == "P1(x0)*P1(x1)"
    np.testing.assert_allclose(legendre.transform(X)[:, 4], expected, rtol=1e-13)
    assert np.abs(normal.transform(X) - legendre.transform(X)).max() > 0.1
