"""Targets that do not vary, and targets that some samples lack."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .expansion import Expansion
from .problem import FittedProblem


class ConstantTargetWarning(UserWarning):
    """A target does not vary: it has no variance to attribute to the inputs."""


class FailedSamplesWarning(UserWarning):
    """Some samples lack a target (NaN) and count in the others only."""


def without_missing(y: Any) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return targets with zeros in place of NaN, and where these were."""
    values = np.asarray(y)
    if values.dtype.kind != "f" or not np.isnan(values).any():
        return y, None
    missing = np.isnan(values)
    count = np.ravel((~missing).sum(axis=0))
    if count.min() < 2:
        raise ValueError(
            f"y has {count.min()} values that are no NaN in column {count.argmin()}; "
            "expected two or more."
        )
    return np.where(missing, 0.0, values), missing


def warn_of_targets(expansion: Expansion, problem: FittedProblem) -> None:
    """Warn of constant targets and of missing ones, from two calls up."""
    constant = np.flatnonzero(problem.spread == 0.0).tolist()
    if constant:
        named = [expansion.output_names[i] for i in constant]
        shown = constant if named == [f"y{i}" for i in constant] else named
        which = "y" if expansion.scalar else f"Of y the targets {shown}"
        warnings.warn(
            f"{which} without variance: the Sobol indices are 0 and q2_ is NaN.",
            ConstantTargetWarning,
            stacklevel=3,
        )
    weights = problem.weight_of_targets
    n_samples = problem.total_weight
    if weights.min() < n_samples:
        lacking = [
            f"{name} has {weight:g}"
            for name, weight in zip(expansion.output_names, weights, strict=True)
            if weight < n_samples
        ]
        listed = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
        warnings.warn(
            f"y has NaN: of {n_samples:g} samples {listed}. A sample that lacks a "
            "target counts in the others.",
            FailedSamplesWarning,
            stacklevel=3,
        )
