"""What an expansion says about some of its inputs.

With independent inputs, averaging over the inputs outside a set :math:`u` keeps
exactly the terms without them [1]_:

.. math:: E[y \\mid x_u] = \\sum_{j\\,:\\, j_i = 0 \\text{ for } i \\notin u}
          c_j \\psi_j(x_u).

The result is an expansion again, on the inputs of the set alone.

References
----------
.. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos expansions",
   Reliability Engineering and System Safety 93 (2008), section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ._basis.basis import PolynomialBasis
from ._checks import FloatArray, IndexArray


def checked_features(features: Any, names: Sequence[str]) -> list[int]:
    """Return the positions of chosen inputs, in the order of the inputs.

    Parameters
    ----------
    features : int, str or sequence of these
        Inputs, by position or by name.
    names : sequence of str
        Names of all inputs.

    Raises
    ------
    ValueError
        If there is none, if one is unknown or if one comes twice.

    Examples
    --------
    >>> from skpce._conditional import checked_features
    >>> checked_features(["c", 0], ["a", "b", "c"])
    [0, 2]
    """
    if isinstance(features, (str, Integral)):
        features = [features]
    if not isinstance(features, Iterable):
        raise ValueError(
            "features must be one or more inputs, by position or by name. "
            f"Got {features!r}."
        )
    chosen = [_position(feature, names) for feature in features]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"features must be one or more inputs, each of them once. Got {features!r}."
        )
    return sorted(chosen)


def _position(feature: Any, names: Sequence[str]) -> int:
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    is_integer = isinstance(feature, Integral) and not isinstance(feature, bool)
    if is_integer and 0 <= feature < len(names):
        return int(feature)
    shown = ", ".join(map(str, names[:5])) + (", ..." if len(names) > 5 else "")
    raise ValueError(
        f"features must hold names of inputs ({shown}) or positions from 0 to "
        f"{len(names) - 1}. Got {feature!r}."
    )


def marginal_basis(
    basis: PolynomialBasis, features: Sequence[int]
) -> tuple[PolynomialBasis, IndexArray]:
    """Return the basis on these inputs alone, and its rows in the whole basis."""
    rows: Any = basis.terms_within(features)
    laws = [basis.laws[i] for i in features]
    return PolynomialBasis(laws, basis.multi_indices[np.ix_(rows, features)]), rows


def conditional_expectation(
    basis: PolynomialBasis,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    X: FloatArray,  # shape: (n_samples, n_chosen)
    features: Sequence[int],  # which inputs the columns of X are
) -> FloatArray:  # shape: (n_samples, n_targets)
    """Evaluate the mean of each target, given some of the inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._basis.basis import PolynomialBasis
    >>> from skpce._conditional import conditional_expectation
    >>> from skpce._input_laws import NormalLaw
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> basis = PolynomialBasis([NormalLaw(0.0, 1.0)] * 2, multi_indices)
    >>> coefficients = np.array([[7.0, 2.0, 1.0, 1.0]])
    >>> conditional_expectation(basis, coefficients, np.array([[3.0]]), [0])
    array([[13.]])
    """
    smaller, rows = marginal_basis(basis, features)
    return smaller.combine(X, coefficients[:, rows])


def main_effects(
    basis: PolynomialBasis,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    X: FloatArray,  # shape: (n_samples, n_features)
) -> FloatArray:  # shape: (n_samples, n_features, n_targets)
    """Evaluate what each input changes on its own, :math:`E[y \\mid x_i] - E[y]`.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._basis.basis import PolynomialBasis
    >>> from skpce._conditional import main_effects
    >>> from skpce._input_laws import NormalLaw
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> basis = PolynomialBasis([NormalLaw(0.0, 1.0)] * 2, multi_indices)
    >>> coefficients = np.array([[7.0, 2.0, 1.0, 1.0]])
    >>> main_effects(basis, coefficients, np.array([[3.0, 5.0]]))[..., 0]
    array([[6., 5.]])
    """
    effects = np.empty((len(X), X.shape[1], len(coefficients)))
    for i, law in enumerate(basis.laws):
        rows = basis.terms_within([i])[1:]
        degrees = basis.multi_indices[rows, i]
        univariate = law.evaluate(X[:, i], int(degrees.max(initial=0)))
        effects[:, i] = univariate[degrees].T @ coefficients[:, rows].T
    return effects
