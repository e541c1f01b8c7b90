"""The multi-index set of an estimator: its parameters joined with its input laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    check_integer,
    check_option,
    check_real,
)
from .._input_laws import InputLaw
from .index_sets import (
    basis_advice,
    build_multi_indices,
    check_design_fits,
    count_terms,
    sort_graded,
    terms_that_fit,
)

TRUNCATIONS = ("total_degree", "hyperbolic")


def check_truncation(
    owner: str, degree: Any, truncation: Any, q: Any, interaction_order: Any
) -> None:
    """Raise ``ValueError`` for parameters of a truncation that do not fit together."""
    check_integer(owner, "degree", degree)
    check_option(owner, "truncation", truncation, TRUNCATIONS)
    check_real(owner, "q", q, low=0, high=1, closed="right")
    check_integer(
        owner, "interaction_order", interaction_order, low=1, none_allowed=True
    )
    if truncation == "total_degree" and q != 1.0:
        raise ValueError(
            f"The 'q' parameter of {owner} is {q!r} but has an effect only with "
            "truncation='hyperbolic'; 'total_degree' means q=1.0."
        )


def check_multi_indices(
    owner: str, multi_indices: Any, n_features: int
) -> IndexArray | None:
    """Return an explicit set as integers, in the given order; None for None."""
    if multi_indices is None:
        return None
    name = f"The 'multi_indices' parameter of {owner}"
    rows = _as_numbers(name, multi_indices)
    if rows.ndim != 2 or rows.shape[0] == 0:
        raise ValueError(
            f"{name} must be None or an array-like of shape (n_terms, n_features) "
            f"with at least one row. Got shape {rows.shape} instead."
        )
    if rows.shape[1] != n_features:
        raise ValueError(
            f"{name} has {rows.shape[1]} columns but X has {n_features} features."
        )
    bad = ~((rows >= 0) & (rows == np.floor(rows)) & (rows < 2**31))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{name} must be non-negative ints. Got {rows[row, column]:g} in row "
            f"{row}, column {column} instead."
        )
    distinct, times = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) < len(rows):
        repeated = distinct[np.argmax(times > 1)].astype(np.int64).tolist()
        raise ValueError(f"{name} has the row {repeated} more than once.")
    return rows.astype(np.int64)


def _as_numbers(name: str, value: Any) -> FloatArray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be None or an array-like of non-negative ints of shape "
            f"(n_terms, n_features). Got {value!r} instead."
        ) from None


def explicit_multi_indices(
    owner: str,
    rows: IndexArray,  # shape: (n_terms, n_features), checked
    laws: Sequence[InputLaw],
    names: Sequence[str],
    n_samples: int,
) -> IndexArray:  # shape: (n_terms, n_features)
    """Add the constant where it is missing, and sort as the built sets are sorted."""
    for law, needed, name in zip(laws, rows.max(axis=0).tolist(), names, strict=True):
        if needed > law.largest_degree:
            raise ValueError(
                f"The 'multi_indices' parameter of {owner} has the entry {needed} "
                f"for {name}, whose distribution has functions up to "
                f"{law.largest_degree:g} only."
            )
    if rows.any(axis=1).all():
        rows = np.vstack([np.zeros((1, rows.shape[1]), dtype=np.int64), rows])
    check_design_fits(owner, n_samples, len(rows), "Give fewer 'multi_indices'.")
    return sort_graded(rows, categorical_inputs(laws))


def truncated_multi_indices(
    owner: str,
    laws: Sequence[InputLaw],
    n_samples: int,
    *,
    degree: int,
    q: float,
    interaction_order: int | None,
    anisotropy: Any,
    advice: str | None = None,
) -> IndexArray:  # shape: (n_terms, n_features)
    """Build the set, or raise ``ValueError`` for one that exceeds the memory."""
    n_features = len(laws)
    truncation = {
        "q": q,
        "interaction_order": interaction_order,
        "anisotropy": anisotropy,
        "largest": [law.largest_degree for law in laws],
        "categorical": categorical_inputs(laws),
    }
    n_rows = max(n_samples, n_features)
    n_terms = count_terms(
        n_features, degree, **truncation, stop_above=terms_that_fit(n_rows)
    )
    advice = basis_advice(anisotropy=True) if advice is None else advice
    check_design_fits(owner, n_rows, n_terms, advice)
    return build_multi_indices(n_features, degree, **truncation)


def categorical_inputs(laws: Sequence[InputLaw]) -> BoolArray:
    """Return which inputs have functions that all count as of degree one."""
    return np.array([not law.is_polynomial for law in laws], dtype=bool)
