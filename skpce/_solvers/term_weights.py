"""Weights of terms by their order and degree, and the samples of one fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .._basis.symmetric_sums import Cells, SymmetricSums
from .._checks import FloatArray, IndexArray
from .kernel_ridge import RELATIVE_ALPHAS, KernelData, KernelDecomposition

# What is tried: weights of orders in units of the one below, and decays by degree.
ORDER_RATIOS: tuple[float, ...] = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
DEGREE_DECAYS: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)

#: Place of the decay among the numbers of a shape; the ratios are from 0 on.
DECAY = -1


@dataclass(frozen=True)
class Shape:
    """How the weight of a term depends on its order and degree."""

    order_ratios: tuple[float, ...]  # of each order from 2 on to the one below
    decay: float  # from one degree to the next, at the same order

    def weights(
        self,
        cells: Cells,
        counts: FloatArray | None = None,  # shape: (n_cells,), weighted terms
    ) -> FloatArray:  # shape: (n_cells,)
        """Return the weights of cells; with counts, of a whole cell, adding up to 1."""
        of_orders = np.cumprod([1.0, 1.0, *self.order_ratios])
        weights = of_orders[cells.orders] * self.decay ** (cells.degrees - cells.orders)
        weights[0] = 0.0
        if counts is None:
            return weights
        weights = np.divide(
            weights, counts, out=np.zeros_like(weights), where=counts > 0
        )
        total = weights @ counts
        return weights / total if total > 0 else weights

    def at(self, place: int, value: float) -> Shape:
        """Return the shape with another ratio, or decay."""
        if place == DECAY:
            return replace(self, decay=value)
        ratios = list(self.order_ratios)
        ratios[place] = value
        return replace(self, order_ratios=tuple(ratios))

    def improved(self, place: int, error: Callable[[Shape], float]) -> Shape:
        """Go along a grid as long as the error falls."""
        grid = DEGREE_DECAYS if place == DECAY else ORDER_RATIOS
        now = self.decay if place == DECAY else self.order_ratios[place]
        step = int(np.argmin(np.abs(np.asarray(grid) - now)))
        while True:
            near = [k for k in (step - 1, step, step + 1) if 0 <= k < len(grid)]
            errors = [error(self.at(place, grid[k])) for k in near]
            best = near[int(np.argmin(errors))]
            if best == step:
                return self.at(place, grid[step])
            step = best


@dataclass
class Part:
    """Samples that learn, those that are held out, and the weights learned so far."""

    train: IndexArray
    test: IndexArray
    input_weights: FloatArray  # shape: (n_inputs,)
    sums: SymmetricSums = field(init=False)
    counts: FloatArray = field(init=False)

    def has_weights(self, input_weights: FloatArray) -> bool:
        """Whether the weights learned so far are these."""
        return np.array_equal(self.input_weights, input_weights)

    def press(
        self, data: KernelData, cell_weights: FloatArray, alphas: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:  # (n_alphas, n_targets), (n_alphas,)
        """Return the sums of squared errors of held-out samples, and the penalties."""
        decomposition, held_out = self.decomposed(data, cell_weights)
        mean, loadings = decomposition.loadings(data.targets[self.train])
        penalties = RELATIVE_ALPHAS * decomposition.scale if alphas is None else alphas
        errors = data.targets[self.test] - mean
        weights, values = data.weights[self.test], decomposition.values[:, np.newaxis]
        found = [
            weights @ np.square(errors - held_out @ (loadings / (values + penalty)))
            for penalty in penalties
        ]
        return np.array(found), penalties

    def decomposed(
        self, data: KernelData, cell_weights: FloatArray
    ) -> tuple[KernelDecomposition, FloatArray]:  # and (n_test, rank)
        """Factorise the kernel; return the eigenfunctions at held-out samples."""
        kernel = np.tensordot(cell_weights, self.sums.every, 1)
        own = kernel[np.ix_(self.train, self.train)]
        weights = data.weights[self.train]
        decomposition = KernelDecomposition.of(own, weights)
        across = kernel[np.ix_(self.test, self.train)] - decomposition.mean
        half = np.sqrt(weights)[:, np.newaxis] * decomposition.vectors
        return decomposition, across @ half

    def evidence(
        self,
        data: KernelData,
        cell_weights: FloatArray,
        choice: IndexArray,
        given: bool,
    ) -> FloatArray:  # shape: (2, n_samples, n_samples)
        """Return the matrices of both sides of the fixed point, for all targets."""
        decomposition, _ = self.decomposed(data, cell_weights)
        path = data.alphas if given else RELATIVE_ALPHAS * decomposition.scale
        alpha = np.asarray(path)[choice]
        _, loadings = decomposition.loadings(data.targets[self.train])
        dual = decomposition.dual(loadings, alpha)
        freedom = decomposition.freedom(alpha)
        values = decomposition.values[:, np.newaxis]
        length = (values * np.square(loadings / (values + alpha))).sum(axis=0)
        used = (length > 0) & (freedom > 1e-6)
        matrices = np.zeros((2, *[len(data.weights)] * 2))
        own = np.ix_(self.train, self.train)
        scaled = dual[:, used] * np.sqrt(freedom[used] / length[used])
        matrices[0][own] = scaled @ scaled.T
        for penalty, times in zip(
            *np.unique(alpha[used], return_counts=True), strict=True
        ):
            matrices[1][own] += times * decomposition.inverse(penalty)
        return matrices
