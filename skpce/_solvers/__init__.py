"""Coefficient solvers: one small class each, chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._parameters import check_alphas, check_option
from ._base import CoefficientSolver, LinearFit
from ._decomposition import DesignDecomposition
from ._paper import PAPER_ALPHAS, PaperSolver
from ._ridge import DEFAULT_ALPHAS, LeastSquaresSolver, RidgeSolver
from ._ridge_path import RidgePathSolver, solve_path

__all__ = [
    "DEFAULT_ALPHAS",
    "PAPER_ALPHAS",
    "SOLVERS",
    "CoefficientSolver",
    "DesignDecomposition",
    "LinearFit",
    "RidgePathSolver",
    "make_solver",
    "solve_path",
]

FloatArray = NDArray[np.float64]

#: Solvers by name; each is made from the penalties, those of the user or the default.
SOLVERS: Mapping[str, Callable[[FloatArray], CoefficientSolver]] = MappingProxyType(
    {
        "ridge": RidgeSolver,
        "ols": lambda alphas: LeastSquaresSolver(),
        "paper": lambda alphas: PaperSolver(),
    }
)

#: Solvers that choose among ``alphas``; the others refuse them.
PENALIZED = frozenset({"ridge"})


def make_solver(owner: str, name: Any, alphas: Any) -> CoefficientSolver:
    """Check ``solver`` and ``alphas`` and return the solver.

    Raises
    ------
    ValueError
        If the name is unknown, the penalties are not positive and finite, or
        penalties are given to a solver that takes none.
    """
    check_option(owner, "solver", name, SOLVERS)
    check_alphas(owner, alphas)
    if alphas is not None and name not in PENALIZED:
        raise ValueError(
            f"The 'alphas' parameter of {owner} must be None with solver={name!r}, "
            f"which chooses no penalty from a list. Got {alphas!r} instead."
        )
    values = DEFAULT_ALPHAS if alphas is None else np.asarray(alphas, dtype=float)
    return SOLVERS[name](np.sort(values))
