"""Coefficient solvers: one small class each, chosen by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._parameters import check_alphas, check_option
from ._base import CoefficientSolver, LinearFit, solve_path
from ._decomposition import DesignDecomposition
from ._paper import PAPER_ALPHAS, PaperSolver
from ._ridge import DEFAULT_ALPHAS, LeastSquaresSolver, RidgeSolver

__all__ = [
    "DEFAULT_ALPHAS",
    "PAPER_ALPHAS",
    "SOLVER_NAMES",
    "CoefficientSolver",
    "DesignDecomposition",
    "LinearFit",
    "make_solver",
    "solve_path",
]

#: Names accepted by ``solver=``.
SOLVER_NAMES = ("ridge", "ols", "paper")


def make_solver(owner: str, name: Any, alphas: Any) -> CoefficientSolver:
    """Check ``solver`` and ``alphas`` and return the solver.

    Raises
    ------
    ValueError
        If the name is unknown, the penalties are not positive and finite, or
        penalties are given to a solver that takes none.
    """
    check_option(owner, "solver", name, SOLVER_NAMES)
    check_alphas(owner, alphas)
    if alphas is not None and name != "ridge":
        raise ValueError(
            f"The 'alphas' parameter of {owner} must be None with solver={name!r}, "
            f"which chooses no penalty from a list. Got {alphas!r} instead."
        )
    if name == "ridge":
        values = DEFAULT_ALPHAS if alphas is None else np.asarray(alphas, dtype=float)
        return RidgeSolver(np.sort(values))
    if name == "ols":
        return LeastSquaresSolver()
    return PaperSolver()
