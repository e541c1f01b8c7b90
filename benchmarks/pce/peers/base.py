"""What every adapter offers, ours and the floor included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class NotSupportedError(Exception):
    """The package lacks the method; the message is printed in the table."""


@dataclass(frozen=True)
class Fitted:
    """A fitted expansion: shapes (n_samples, n_targets) and (n_targets, n_features)."""

    predict: Callable[[FloatArray], FloatArray]
    total_indices: Callable[[], FloatArray] | None = None


Fit = Callable[[FloatArray, FloatArray, Sequence[Any], int], Fitted]
#: From (X, Y, laws, degree, rows of shape (n_resamples, n_samples)) to total indices.
Bootstrap = Callable[[FloatArray, FloatArray, Sequence[Any], int, NDArray], FloatArray]


@dataclass(frozen=True)
class Method:
    """One way to fit: ``role`` is "ours", "peer" or "floor".

    ``make`` imports the package and returns the function that fits. ``bootstrap`` gives
    the total indices of all resamples at once; without it, the fit is repeated.
    """

    name: str
    role: str
    package: str
    make: Callable[[], Fit]
    bootstrap: Bootstrap | None = None

    def is_installed(self) -> bool:
        """Say whether the package can be imported."""
        return find_spec(self.package) is not None


def column_wise(fit_one: Callable[[FloatArray], Fitted], Y: FloatArray) -> Fitted:
    """Fit one output after another, for packages with one output at a time."""
    models = [fit_one(column) for column in Y.T]

    def predict(X: FloatArray) -> FloatArray:
        return np.column_stack([np.ravel(model.predict(X)) for model in models])

    def total_indices() -> FloatArray:
        return np.vstack([np.ravel(model.total_indices()) for model in models])

    known = all(model.total_indices is not None for model in models)
    return Fitted(predict, total_indices if known else None)
