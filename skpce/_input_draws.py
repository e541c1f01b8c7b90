"""Draws of the inputs of a fitted estimator: of its own laws, or of other ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._basis import PolynomialBasis
from ._checks import FloatArray
from ._input_laws import check_distribution, learn_input_laws
from ._input_laws.families import is_frozen

#: Draws inputs: (number, generator) -> (number, n_features).
InputSampler = Callable[[int, np.random.Generator], FloatArray]


def make_input_sampler(
    owner: str,
    inputs: Any,
    basis: PolynomialBasis,
    X: FloatArray,  # shape: (n_members, n_features), of the fit
    weights: FloatArray,  # shape: (n_members,)
    names: Sequence[str],
) -> InputSampler:
    """Return what draws the inputs.

    Parameters
    ----------
    owner : str
        For messages.
    inputs : None, a law or a list of laws as in ``distribution=``, or array-like
        None means the laws of the fit. Rows of an array are drawn with replacement;
        named laws are learned from the members of the fit.
    basis : PolynomialBasis
        With the laws of the fit.
    X, weights : ndarray
        Members of the fit.
    names : sequence of str
        Of the inputs.

    Raises
    ------
    ValueError
        If there is no row, or its length is not the number of features, a value is
        not finite, or a law is not known.

    Warns
    -----
    InputOutsideSupportWarning
        When draws lie outside the laws of the fit: the expansion extrapolates.
    """
    if inputs is None:
        return basis.sample
    if _are_laws(inputs):
        laws = learn_input_laws(
            check_distribution(owner, inputs, len(names)), X, weights
        )
        draw = PolynomialBasis(laws, basis.multi_indices).sample
    else:
        rows = _checked_rows(owner, inputs, len(names))

        def draw(size: int, generator: np.random.Generator) -> FloatArray:
            return rows[generator.integers(len(rows), size=size)]

    def draw_and_warn(size: int, generator: np.random.Generator) -> FloatArray:
        drawn = draw(size, generator)
        basis.warn_outside(drawn, names)
        return drawn

    return draw_and_warn


def _are_laws(inputs: Any) -> bool:
    """Whether this is a law, or a list with one in it."""
    if isinstance(inputs, str) or is_frozen(inputs):
        return True
    is_list = isinstance(inputs, Sequence)
    return is_list and any(isinstance(law, str) or is_frozen(law) for law in inputs)


def _checked_rows(owner: str, inputs: Any, n_features: int) -> FloatArray:
    try:
        rows = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"The 'inputs' parameter of {owner} must be None, a law or a list of laws "
            f"as in distribution=, or rows of inputs. Got {inputs!r} instead."
        ) from None
    if rows.ndim != 2 or not len(rows) or rows.shape[1] != n_features:
        raise ValueError(
            f"The 'inputs' parameter of {owner} has shape {rows.shape}; expected "
            f"(n_rows, {n_features}) with at least one row."
        )
    if not np.all(np.isfinite(rows)):
        raise ValueError(f"The 'inputs' parameter of {owner} contains NaN or infinity.")
    return rows
