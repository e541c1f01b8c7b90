"""Sparse solvers: search for a subset of terms, then least squares on it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np

from .._checks import FloatArray, IndexArray
from ._base import LinearFit, LinearProblem
from ._decomposition import DesignDecomposition
from ._dictionary import Dictionary
from ._fixed import GeneralizedRidgeSolver
from ._leverage import join_leverages
from ._ridge_path import fit_penalties


class SparseSolver(GeneralizedRidgeSolver):
    """Choose a subset of the terms for each group of targets.

    While the size of the subset is chosen, a term costs ``2 log P`` (see
    ``Dictionary``). The criterion by which the fit is compared with others asks
    another price (see ``comparison_price``).

    Leave-one-out residuals are those of least squares on the chosen subset: they do
    not know of the search.
    """

    #: Whether the targets of a group are given the same terms.
    shares_terms: ClassVar[bool] = True

    @abstractmethod
    def search(self, dictionary: Dictionary, targets: IndexArray) -> IndexArray:
        """Return a subset of the dictionary."""

    def fit(self, problem: LinearProblem) -> LinearFit:
        dictionary = Dictionary(problem)
        n_terms = problem.design.shape[1]
        parts, positions = [], []
        groups = problem.groups
        if not self.shares_terms:
            groups = np.arange(problem.targets.shape[1])
        for label in np.unique(groups):
            targets = np.flatnonzero(groups == label)
            subset = self.search(dictionary, targets)
            price = dictionary.comparison_price(len(subset))
            scale = dictionary.scale(subset, n_terms)
            positions.append(targets)
            parts.append(_fit_subset(problem, targets, scale, price))
        return join_fits(parts, positions)


def _fit_subset(
    problem: LinearProblem, targets: IndexArray, scale: FloatArray, price: float
) -> LinearFit:
    """Least squares on the terms of positive scale."""
    decomposition = DesignDecomposition.from_design(
        problem.design, problem.weights, scale=scale
    )
    zeros = np.zeros(len(targets))
    fit = fit_penalties(decomposition, problem.targets[:, targets], zeros)
    return fit.with_criterion(price * fit.criterion)


def join_fits(parts: list[LinearFit], positions: list[IndexArray]) -> LinearFit:
    """Put the fits of groups of targets together."""
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate(positions))

    def rows(name: str) -> FloatArray:
        return np.concatenate([getattr(part, name) for part in parts])[order]

    def columns(name: str) -> FloatArray | None:
        values = [getattr(part, name) for part in parts]
        return None if values[0] is None else np.hstack(values)[:, order]

    return replace(
        parts[0],
        coefficients=rows("coefficients"),
        alpha=rows("alpha"),
        scales=rows("scales"),
        leverage=join_leverages(
            [part.leverage for part in parts], positions, len(order)
        ),
        criterion=rows("criterion"),
        loo_residuals=columns("loo_residuals"),
        scaled_residuals=columns("scaled_residuals"),
        residual_variance=rows("residual_variance"),
    )


def fit_of_targets(fit: LinearFit, columns: IndexArray) -> LinearFit:
    """Keep some targets of a fit."""

    def some(values: FloatArray | None) -> FloatArray | None:
        return None if values is None else values[:, columns]

    return replace(
        fit,
        coefficients=fit.coefficients[columns],
        alpha=fit.alpha[columns],
        scales=fit.scales[columns],
        leverage=fit.leverage.of_targets(columns),
        criterion=fit.criterion[columns],
        loo_residuals=some(fit.loo_residuals),
        scaled_residuals=some(fit.scaled_residuals),
        residual_variance=fit.residual_variance[columns],
    )
