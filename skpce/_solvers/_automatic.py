"""Choose the solver of each group of targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ._base import CoefficientSolver, LinearFit, LinearProblem
from ._fixed import GeneralizedRidgeSolver
from ._sparse import fit_of_targets, join_fits


class AutomaticSolver(GeneralizedRidgeSolver):
    """Fit with several solvers and keep, for each group, the best by its criterion.

    The criterion is the mean squared leave-one-out error, for sparse solvers with the
    price of their search. No solver wins everywhere [1]_: a few large coefficients
    suit subspace pursuit, many that decay with the degree suit degree weights.

    Parameters
    ----------
    candidates : mapping of str to CoefficientSolver
        Solvers by name; the first wins a tie.

    References
    ----------
    .. [1] N. Luthen, S. Marelli and B. Sudret, "Sparse polynomial chaos expansions:
       literature survey and benchmark", SIAM/ASA Journal on Uncertainty
       Quantification 9 (2021), section 5.
    """

    def __init__(self, candidates: Mapping[str, CoefficientSolver]) -> None:
        self.candidates = candidates

    def fit(self, problem: LinearProblem) -> LinearFit:
        fits = [solver.fit(problem) for solver in self.candidates.values()]
        labels, group_of = np.unique(problem.groups, return_inverse=True)
        pooled = np.array(
            [np.bincount(group_of, fit.criterion, len(labels)) for fit in fits]
        )
        winner = np.argmin(pooled, axis=0)[group_of]
        positions = [np.flatnonzero(winner == k) for k in range(len(fits))]
        kept = [k for k, targets in enumerate(positions) if len(targets)]
        joined = join_fits(
            [fit_of_targets(fits[k], positions[k]) for k in kept],
            [positions[k] for k in kept],
        )
        names = tuple(self.candidates)
        return replace(joined, solver_names=tuple(names[k] for k in winner))
