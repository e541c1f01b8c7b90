r"""Ridge through the kernel matrix of the samples.

With the kernel matrix K, centred and weighted to
:math:`A = S (K - 1\bar k^T - \bar k 1^T + m) S`, :math:`S^2 = \mathrm{diag}(w)`, the
dual coefficients are :math:`\beta = S (A + \lambda)^{-1} S (y - \bar y)` ([1]_, section
2.3). They add up to zero, so the intercept is free.

References
----------
.. [1] B. Schölkopf and A. J. Smola, "Learning with Kernels", MIT Press, 2002.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._basis.symmetric_sums import Block
from .._checks import FloatArray, IndexArray
from .problem import DesignDecomposition, LeverageFactor, LinearProblem

#: Penalties tried by default, in units of the mean eigenvalue of the kernel matrix.
#: Below, squared rounding errors of the kernel would show in the coefficients.
RELATIVE_ALPHAS = np.logspace(-7, 3, 21)


@dataclass(frozen=True)
class KernelDecomposition:
    """The centred and weighted kernel matrix of some samples, factorised."""

    weights: FloatArray  # shape: (n_samples,), positive
    mean: FloatArray  # shape: (n_samples,), weighted mean of the columns of the kernel
    values: FloatArray  # shape: (rank,), eigenvalues above rounding
    vectors: FloatArray  # shape: (n_samples, rank)
    scale: float  # mean eigenvalue, the unit of penalties

    @classmethod
    def of(cls, kernel: FloatArray, weights: FloatArray) -> KernelDecomposition:
        """Factorise the kernel matrix."""
        total, root = weights.sum(), np.sqrt(weights)
        mean = kernel @ weights / total
        centred = kernel - mean - mean[:, np.newaxis] + mean @ weights / total
        squares, vectors = eigh(root[:, np.newaxis] * centred * root)
        # Of samples that are all equal the centred kernel is rounding.
        whole = max(squares[-1], float(np.abs(kernel).max(initial=0.0)) * weights.max())
        largest = 10 * len(squares) * np.finfo(float).eps * whole
        used = squares > max(largest, np.finfo(float).tiny)
        scale = float(squares[used].sum()) / len(squares)
        return cls(weights, mean, squares[used], vectors[:, used], scale or 1.0)

    @cached_property
    def left(self) -> FloatArray:  # shape: (n_samples, rank)
        """Eigenvectors over the root of the weights."""
        return self.vectors / np.sqrt(self.weights)[:, np.newaxis]

    def as_design(self) -> DesignDecomposition:
        """Return the same as the decomposition of a design, without its terms."""
        nothing = np.zeros(0)
        base = 1.0 / float(self.weights.sum())
        factor = LeverageFactor.of_constant(1, base)
        factor = replace(factor, singular_values=np.sqrt(self.values), center=nothing)
        return DesignDecomposition(self.left, factor, self.weights)

    def loadings(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weighted means, and the loadings of the centred targets."""
        mean = self.weights @ targets / self.weights.sum()
        weighted = self.weights[:, np.newaxis] * (targets - mean)
        return mean, self.left.T @ weighted

    def dual(
        self, loadings: FloatArray, alpha: FloatArray
    ) -> FloatArray:  # shape: (n_samples, n_targets)
        """Return the dual coefficients; one penalty per target."""
        shrunk = loadings / (self.values[:, np.newaxis] + alpha)
        return np.sqrt(self.weights)[:, np.newaxis] * (self.vectors @ shrunk)

    def coefficients(
        self, targets: FloatArray, alpha: FloatArray
    ) -> FloatArray:  # shape: (n_targets, 1 + n_samples)
        """Return the mean of the expansion and the dual coefficients."""
        mean, loadings = self.loadings(targets)
        dual = self.dual(loadings, alpha)
        return np.column_stack([mean - self.mean @ dual, dual.T])

    def freedom(self, alpha: FloatArray) -> FloatArray:  # shape: (n_targets,)
        """Return the degrees of freedom beside the intercept."""
        return (self.values[:, np.newaxis] / (self.values[:, np.newaxis] + alpha)).sum(
            axis=0
        )

    def inverse(self, alpha: float) -> FloatArray:  # shape: (n_samples, n_samples)
        """Return ``S (A + alpha)^-1 S`` on the space of the kernel."""
        half = np.sqrt(self.weights)[:, np.newaxis] * self.vectors
        return (half / (self.values + alpha)) @ half.T


@dataclass(frozen=True)
class KernelData:
    """Distinct samples with their copies, in an order of their own.

    Targets are about their means, in units of the spread of their group.
    """

    blocks: Iterable[Block]  # functions of the inputs
    targets: FloatArray  # shape: (n_samples, n_targets)
    weights: FloatArray  # shape: (n_samples,)
    groups: IndexArray  # shape: (n_targets,)
    alphas: FloatArray | None
    mean: FloatArray  # shape: (n_targets,)
    unit: FloatArray  # shape: (n_targets,)
    started: list[Any]  # the part that all groups of targets start from, once known

    @classmethod
    def of(
        cls,
        blocks: Iterable[Block],
        targets: FloatArray,
        weights: FloatArray,
        groups: IndexArray,
        alphas: FloatArray | None,
    ) -> KernelData:
        """Centre and scale the targets."""
        mean = weights @ targets / weights.sum()
        labels, group = np.unique(groups, return_inverse=True)
        squares = weights @ np.square(targets - mean)
        unit = np.sqrt(np.bincount(group, squares, len(labels)))[group]
        unit = np.where(unit > 0, unit, 1.0)
        scaled = (targets - mean) / unit
        return cls(blocks, scaled, weights, groups, alphas, mean, unit, [])

    def of_targets(self, columns: IndexArray) -> KernelData:
        """Select targets."""
        some = {name: getattr(self, name)[columns] for name in ("groups", "mean")}
        some |= {"targets": self.targets[:, columns], "unit": self.unit[columns]}
        return replace(self, **some)


def share_of_rounding(
    kernel: FloatArray,  # shape: (n_samples, n_samples)
    dual: FloatArray,  # shape: (n_targets, n_samples)
) -> float:
    """Bound the share of rounding in the squared norm of a function, at worst.

    The dual coefficients add up to zero, so that what is large in the kernel and equal
    for all samples has no effect but that of its rounding.
    """
    norm = np.einsum("tl,lm,tm->t", dual, kernel, dual, optimize=True)
    sizes = np.abs(dual)
    size = np.einsum("tl,lm,tm->t", sizes, np.abs(kernel), sizes, optimize=True)
    share = np.divide(size, norm, out=np.full(len(norm), np.inf), where=norm > 0)
    rounding = np.finfo(float).eps * np.where(size > 0, share, 0.0)
    return float(rounding.max(initial=0.0))


def left_out_press(
    decomposition: KernelDecomposition,
    data: KernelData,
    alphas: FloatArray | None,
) -> tuple[FloatArray, FloatArray]:  # (n_alphas, n_targets), (n_alphas,)
    """Return sums of squared leave-one-out residuals, and the penalties."""
    path = RELATIVE_ALPHAS * decomposition.scale if alphas is None else alphas
    press = np.empty((len(path), data.targets.shape[1]))
    for row, penalty in enumerate(path):
        penalties = np.full(data.targets.shape[1], penalty)
        residuals = left_out_residuals(decomposition, data, penalties)
        press[row] = data.weights @ np.square(residuals)
    return press, path


def left_out_residuals(
    decomposition: KernelDecomposition, data: KernelData, alpha: FloatArray
) -> FloatArray:  # shape: (n_samples, n_targets)
    """Return the residuals of leaving one copy out; NaN where it alone decides."""
    design = decomposition.as_design()
    mean, loadings = decomposition.loadings(data.targets)
    centred = data.targets - mean
    penalties, which = np.unique(alpha, return_inverse=True)
    complement = design.path_complement(penalties)
    residuals = np.empty_like(centred)
    for place, penalty in enumerate(penalties):
        mine = np.flatnonzero(which.ravel() == place)
        left = design.residuals(centred[:, mine], loadings[:, mine], float(penalty))
        safe = np.where(complement[:, place] > 0, complement[:, place], np.nan)
        residuals[:, mine] = left / safe[:, np.newaxis]
    return residuals


def distinct_samples(
    problem: LinearProblem,
) -> tuple[FloatArray, FloatArray, FloatArray, IndexArray]:
    """Return inputs, targets and weights of distinct samples, and which each one is.

    Copies are one sample of their joint weight, and the order does not depend on the
    one given: folds are then the same for the same samples.
    """
    rows = np.ascontiguousarray(np.hstack([problem.design, problem.targets]) + 0.0)
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, own_row = np.unique(keys, return_index=True, return_inverse=True)
    own_row = own_row.ravel()
    weights = np.zeros(len(first))
    np.add.at(weights, own_row, problem.weights)
    return problem.design[first], problem.targets[first], weights, own_row


def folds(n_samples: int, n_folds: int) -> list[IndexArray]:
    """Return the held-out samples of random folds, the same each time."""
    order = np.random.default_rng(0).permutation(n_samples)
    return [np.sort(part) for part in np.array_split(order, min(n_folds, n_samples))]
