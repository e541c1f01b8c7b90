"""What is to be listed of a fit in kernel form is refused, by name of the remedy."""

import numpy as np
import pytest

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from tests.shared import cases, refuses

X = np.random.default_rng(0).uniform(-1, 1, size=(60, 30))
SQUARE = X.sum(axis=1) ** 2


@cases(
    "read",
    lambda pce: pce.coefficients_,
    lambda pce: pce.multi_indices_,
    lambda pce: pce.transform(X),
)
def test_terms_of_a_regressor(read):
    pce = PolynomialChaosRegressor(distribution=(-1, 1)).fit(X, SQUARE)
    refuses(r"not listed.*give 'degree'", read, pce)
    assert read(pce.set_params(degree=2).fit(X, SQUARE)).shape[1] > 30 - 1


def test_coefficients_of_a_surrogate():
    share = 1 / (1 + np.exp(-SQUARE / 10))
    pce = CompositionalPCESurrogate(distribution=(-1, 1))
    pce.fit(X, np.column_stack([share, 1 - share]))
    with pytest.raises(ValueError, match=r"not listed.*give 'degree'"):
        assert pce.coefficients_ is None
