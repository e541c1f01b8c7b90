"""Coefficient solvers: one small class each, chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from .._checks import FloatArray, check_alphas, check_option
from .external import ExternalSolver, check_regressor
from .problem import (
    CRITERIA,
    DEFAULT_ALPHAS,
    CoefficientSolver,
    LeastSquaresSolver,
    PaperSolver,
    RidgePathSolver,
)
from .sparse import LeastAngleSolver
from .subspace_pursuit import SubspacePursuitSolver

#: Solvers by name; each is made from the penalties and the criterion for them.
SOLVERS: Mapping[str, Callable[[FloatArray, str], CoefficientSolver]] = (
    MappingProxyType(
        {
            "ridge": RidgePathSolver,
            "ols": lambda alphas, criterion: LeastSquaresSolver(),
            "lars": lambda alphas, criterion: LeastAngleSolver(),
            "subspace_pursuit": lambda alphas, criterion: SubspacePursuitSolver(),
            "paper": lambda alphas, criterion: PaperSolver(),
        }
    )
)

_MADE = {name: make(DEFAULT_ALPHAS, CRITERIA[0]) for name, make in SOLVERS.items()}

#: Solvers that can fit from sums over the samples, without a design matrix.
FROM_MOMENTS = frozenset(name for name, made in _MADE.items() if made.fits_moments)


def make_solver(
    owner: str, name: Any, alphas: Any, *, criterion: str = "loo", regressor: Any = None
) -> CoefficientSolver:
    """Check ``solver``, ``alphas`` and ``regressor`` and return the solver."""
    check_option(owner, "solver", name, SOLVERS)
    if alphas is not None:
        check_alphas(owner, alphas)
    if regressor is not None:
        check_regressor(owner, regressor)
    if alphas is not None and (regressor is not None or not _MADE[name].takes_alphas):
        shown = f"solver={name!r}" if regressor is None else f"regressor={regressor!r}"
        raise ValueError(
            f"The 'alphas' parameter of {owner} must be None with {shown}, "
            f"which chooses no penalty from a list. Got {alphas!r} instead."
        )
    if regressor is not None:
        return ExternalSolver(regressor)
    values = DEFAULT_ALPHAS if alphas is None else np.asarray(alphas, dtype=float)
    return SOLVERS[name](np.sort(values), criterion)
