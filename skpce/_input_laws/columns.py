"""What a column must have for the distribution that was learned from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._checks import FloatArray, at_least_one_copy, warn_outside_folds
from .families import InputLaw, InputOutsideSupportWarning
from .tabulated import CategoricalLaw

# More levels of a category than this are warned of.
_MANY_LEVELS = 50
# Inputs that a warning names.
_MOST_NAMED = 3

# The tail of a stated distribution that holds no quarter of the values; it is asked
# for beyond so many scales.
_SMALLEST_TAIL, _FAR = 1e-6, 3.0

# Deviations below this share of the scale may be rounding.
_SMALLEST_SHARE = 1e-9


def check_columns(
    owner: str,
    laws: Sequence[InputLaw],
    X: FloatArray,  # shape: (n_samples, n_features)
    weights: FloatArray,  # shape: (n_samples,)
    names: Sequence[str],
) -> None:
    """Refuse columns about which a learned distribution would say nothing."""
    scales = np.array([law.scale if law.learned else 0.0 for law in laws])
    if not scales.any():
        return
    # Half of the values hardly leave a faint column.
    spread = np.median(np.abs(X - np.median(X, axis=0)), axis=0)
    faint = (scales > 0) & (spread <= _SMALLEST_SHARE * scales)
    for law, name, column, is_faint in zip(laws, names, X.T, faint, strict=True):
        if isinstance(law, CategoricalLaw):
            _check_levels(owner, name, column, weights)
        elif is_faint:
            _check_resolution(owner, law, name, column)


def warn_outside(
    laws: Sequence[InputLaw],
    X: FloatArray,  # shape: (n_samples, n_features)
    names: Sequence[str],
    reach: FloatArray | None = None,  # shape: (2, n_features), where functions end
) -> None:
    """Warn once of values outside the supports, except in a cross-validation.

    There the row with the largest value of an input is held out once, and lies
    outside a range that was learned without it. Without a support, of values that are
    beyond the reach of the functions by more than half of it.
    """
    found = []
    for i, (law, column, name) in enumerate(zip(laws, X.T, names, strict=True)):
        text = law.outside_in_words(column, name)
        if not text and reach is not None and law.is_polynomial:
            low, high = reach[:, i].tolist()
            beyond = np.maximum(low - column, column - high) > 0.5 * (high - low)
            if beyond.any():
                text = (
                    f"{int(beyond.sum())} of {len(column)} values of {name} lie far "
                    f"outside [{low:.6g}, {high:.6g}], where its functions end; they "
                    "are evaluated at these ends."
                )
        if text:
            found.append(text)
    if found:
        _warn(found)


def warn_of_narrow(
    laws: Sequence[InputLaw],
    X: FloatArray,  # shape: (n_samples, n_features)
    names: Sequence[str],
) -> None:
    """Warn once of inputs whose stated distribution is narrower than their data.

    Either some values are outside of its support, or a quarter of them is where it has
    no more than a millionth.
    """
    found = []
    for law, column, name in zip(laws, X.T, names, strict=True):
        if law.learned:
            continue
        ends = np.array([column.min(), column.max()])
        data = f"{name} ({ends[0]:.3g} to {ends[1]:.3g})"
        text = law.outside_in_words(column, data)
        if not text and _are_far(law, ends):
            lower, upper = quartiles = np.quantile(column, [0.25, 0.75])
            stated = law.to_scipy() if _are_far(law, quartiles) else None
            if stated and min(stated.cdf(lower), stated.sf(upper)) < _SMALLEST_TAIL:
                text = (
                    f"A quarter of the values of {data} lie where the distribution "
                    f"that was given, {law.describe()}, has less than "
                    f"{_SMALLEST_TAIL:g} of its probability."
                )
        if text:
            found.append(text)
    if found:
        remedy = " The indices hold for the stated distributions. State wider ones, "
        remedy += "such as bounds (low, high) that contain the data, or leave these "
        _warn(found, f"{remedy}rows out.")


def _are_far(law: InputLaw, values: FloatArray) -> bool:
    return bool(np.abs(law.standardize(values)).max() > _FAR)


def _warn(found: Sequence[str], remedy: str = "") -> None:
    """Warn of some inputs by name, and of the number of others."""
    text = " ".join(found[:_MOST_NAMED])
    if len(found) > _MOST_NAMED:
        text += f" So it is for {len(found) - _MOST_NAMED} more inputs."
    warn_outside_folds(text + remedy, InputOutsideSupportWarning)


def _check_levels(
    owner: str, name: str, column: FloatArray, weights: FloatArray
) -> None:
    """Refuse categories of which none is seen twice; warn of many."""
    levels, level_of = np.unique(column, return_inverse=True)
    seen = np.bincount(level_of.ravel(), weights=at_least_one_copy(weights))
    if len(levels) > 2 and seen.max() < 1.5:
        raise ValueError(
            f"The 'distribution' parameter of {owner} is 'categorical' for {name}, of "
            f"which all {len(levels)} values differ; expected codes of categories, "
            "which repeat. For a continuous input take 'empirical' or another "
            "distribution."
        )
    if len(levels) > _MANY_LEVELS:
        warn_outside_folds(
            f"{name} is 'categorical' with {len(levels)} levels in {len(column)} "
            "samples: the basis has a function for each of them, and one for each "
            "product with other inputs.",
            UserWarning,
        )


def _check_resolution(owner: str, law: InputLaw, name: str, column: FloatArray) -> None:
    """Refuse a column in which a few values hide the differences of all others."""
    standardised = 1.0 + law.standardize(column)  # differences beside the scale
    if 2 * len(np.unique(standardised)) <= len(np.unique(column)):
        value = column[np.argmax(np.abs(column - np.median(column)))]
        raise ValueError(
            f"X has {value!r} in {name}, beside which its other values do not differ "
            f"in double precision, so that {owner} would see a constant; expected "
            "values of comparable size among the rows whose sample_weight is positive. "
            "Leave the row out, or transform the input."
        )
