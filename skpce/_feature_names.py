"""Names of inputs and of basis functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted


class BasisFeatureNamesMixin:
    """``get_feature_names_out`` for estimators whose output is the basis."""

    basis_: Any

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[np.object_]:
        """Return the names of the basis functions.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the inputs; by default those seen in ``fit``, else
            ``x0, x1, ...``.

        Returns
        -------
        names : ndarray of str of shape (n_terms,)
            Such as ``He2(x0)*He1(x1)``; the constant is ``1``.
        """
        check_is_fitted(self)
        names = input_names(self, input_features)
        return np.asarray(self.basis_.names(names), dtype=object)


def input_names(estimator: Any, input_features: ArrayLike | None = None) -> list[str]:
    """Return the names of the inputs of a fitted estimator.

    Raises
    ------
    ValueError
        If ``input_features`` has another length than X, or differs from the names
        seen in ``fit``.
    """
    seen = getattr(estimator, "feature_names_in_", None)
    if input_features is None:
        if seen is not None:
            return list(seen)
        return _positions(estimator.n_features_in_)
    names = [str(name) for name in np.asarray(input_features, dtype=object)]
    if seen is not None and list(seen) != names:
        raise ValueError("input_features is not equal to feature_names_in_")
    if len(names) != estimator.n_features_in_:
        raise ValueError(
            "input_features should have length equal to number of features "
            f"({estimator.n_features_in_}), got {len(names)}"
        )
    return names


def refuse_other_names(
    what: str, given: Sequence[str] | None, names: Sequence[str] | None
) -> None:
    """Refuse inputs that have other names than expected, or another order.

    Names that are only positions (``x0, x1, ...``) or unknown (None) fit any.

    Raises
    ------
    ValueError
        If both have names and they differ.
    """
    lists = [
        None if some is None else [str(name) for name in some]
        for some in (given, names)
    ]
    if any(some is None or some == _positions(len(some)) for some in lists):
        return
    if lists[0] != lists[1]:
        raise ValueError(
            f"{what} has the inputs {lists[0]}; expected {lists[1]}, in this order."
        )


def _positions(n_features: int) -> list[str]:
    return [f"x{i}" for i in range(n_features)]
