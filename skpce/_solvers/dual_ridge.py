r"""Ridge on all terms of a basis through their kernel, with learned weights.

The weights of the inputs follow from the evidence. With the prior variance
:math:`\tau^2 w_j` of each coefficient, its derivative by the logarithm of the weight of
an input vanishes where

.. math:: \frac{1}{\tau^2} \sum_{j \ni i} \frac{c_j^2}{w_j}
   = \mathrm{tr}\bigl(S (A + \lambda)^{-1} S K_{\ni i}\bigr),

and each step multiplies the weight by the left side over the right one (MacKay's fixed
point [2]_, for groups of terms). Both sides are sums over the terms that hold an input.

Weights that were learned from a sample have seen it: its leave-one-out residual is then
far too small. So every fold learns weights of its own. Penalties, the weights of orders
and degrees and the number of steps are those of the smallest error on held-out samples.

References
----------
.. [1] D. J. C. MacKay, "Bayesian interpolation", Neural Computation 4 (1992), section
   5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np

from .._basis.representers import RepresenterBasis
from .._basis.symmetric_sums import SymmetricSums
from .._checks import FloatArray, IndexArray
from .kernel_ridge import (
    RELATIVE_ALPHAS,
    KernelData,
    KernelDecomposition,
    distinct_samples,
    folds,
    left_out_press,
    left_out_residuals,
    share_of_rounding,
)
from .problem import (
    CoefficientSolver,
    Leverage,
    LeverageFactor,
    LinearFit,
    LinearProblem,
    best_penalties,
    sum_rows,
)
from .term_weights import DECAY, Part, Shape

#: Most steps of the weights of the inputs, and steps without a gain before the end.
_MOST_STEPS = 10
_PATIENCE = 3
# A step counts as a gain where it lowers the error by more than this share.
_LEAST_GAIN = 0.01

# Eight digits of what is found are right.
_MOST_ROUNDING = 1e-8

_START = (0.1, 0.1)
_SWEEPS = 2

# After the first step inputs beyond this many, or below this weight, are left out.
_MOST_INPUTS = 2000
_SMALLEST_WEIGHT = 1e-6


@dataclass(frozen=True)
class DualFit(LinearFit):
    """A fit whose coefficients are those of the constant and of the samples."""

    basis: RepresenterBasis = field(kw_only=True)  # with the learned weights


@dataclass(frozen=True)
class _Level:
    """What was best with the weights of one step."""

    shape: Shape
    choice: IndexArray  # shape: (n_targets,), positions of the penalties
    press: FloatArray  # shape: (n_targets,), of the choice
    input_weights: tuple[FloatArray, ...]  # of each part


@dataclass(frozen=True)
class _GroupFit:
    """The fit of targets that share their weights."""

    coefficients: FloatArray  # shape: (n_targets, 1 + n_samples)
    alpha: FloatArray  # shape: (n_targets,)
    residuals: FloatArray  # shape: (n_samples, n_targets), of held-out samples
    input_weights: FloatArray  # shape: (n_inputs,)
    cell_weights: FloatArray  # shape: (n_cells,)


class DualRidgeSolver(CoefficientSolver):
    """Choose weights of orders, degrees and inputs, and penalties; then fit.

    The design of its problems is the inputs themselves.
    """

    def __init__(
        self,
        template: RepresenterBasis,  # laws, degree and order; its weights do not count
        *,
        input_weights: FloatArray | None = None,  # None: they are learned
        input_groups: IndexArray | None = None,  # shape: (n_inputs,); share a weight
        order_weights: Sequence[float] | None = None,
        degree_decay: float | None = None,
        alphas: FloatArray | None = None,
        n_folds: int = 5,
        shared: bool = False,  # whether all groups of targets share their weights
    ) -> None:
        self.shared = shared
        self.template = template
        self.input_weights = input_weights
        self.input_groups = input_groups
        self.order_weights = order_weights
        self.degree_decay = degree_decay
        self.alphas = alphas
        self.n_folds = n_folds

    # Fits

    def fit(self, problem: LinearProblem) -> DualFit:
        inputs, targets, weights, own_row = distinct_samples(problem)
        data = KernelData.of(
            self.template.functions.held(inputs),
            targets,
            weights,
            problem.groups,
            self.alphas,
        )
        together = np.zeros_like(problem.groups) if self.shared else problem.groups
        members = [np.flatnonzero(together == group) for group in np.unique(together)]
        found = [self._fit_group(data.of_targets(columns)) for columns in members]
        return self._joined(problem, found, members, (inputs, own_row))

    def _fit_group(self, data: KernelData) -> _GroupFit:
        """Choose the weights of targets that share them, and fit these."""
        learns = self.input_weights is None and len(data.weights) >= 3
        if learns and len(self.template.laws) > 1:
            level, parts = self._in_folds(data)
        else:
            level, parts = self._left_out(data)
        return self._finished(data, level, parts)

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        self._refuse_resampling()
        return fit.coefficients

    def resample(
        self, problem: LinearProblem, fit: LinearFit, counts: IndexArray
    ) -> FloatArray:
        self._refuse_resampling()
        return fit.coefficients[np.newaxis]

    def _refuse_resampling(self) -> None:
        raise ValueError(
            "An expansion whose terms are not listed has no resamples, so no "
            "intervals of indices and no noise correction; expected a "
            "PolynomialChaosRegressor on fewer inputs, or the verdict, which refits "
            "the whole pipeline."
        )

    # Choices

    def _start(self, n_inputs: int) -> FloatArray:
        if self.input_weights is None:
            return np.ones(n_inputs)
        return np.asarray(self.input_weights, dtype=np.float64)

    def _left_out(self, data: KernelData) -> tuple[_Level, list[Part]]:
        """Choose by leave-one-out in closed form, with given weights of the inputs."""
        everyone = np.arange(len(data.weights))
        whole = Part(everyone, everyone[:0], self._start(len(self.template.laws)))
        self._sum([whole], data)

        def press(shape: Shape) -> FloatArray:
            cell_weights = self._cell_weights(shape, whole)
            kernel = np.tensordot(cell_weights, whole.sums.every, 1)
            decomposition = KernelDecomposition.of(kernel, data.weights)
            return left_out_press(decomposition, data, self.alphas)[0]

        shape, scores = self._best_shape(press, self._first_shape(), data.groups)
        return self._level(data, shape, scores, [whole]), [whole]

    def _in_folds(self, data: KernelData) -> tuple[_Level, list[Part]]:
        """Learn weights of the inputs in every fold, step by step."""
        everyone = np.arange(len(data.weights))
        start = self._start(len(self.template.laws))
        parts = [
            Part(np.setdiff1d(everyone, rows), rows, start)
            for rows in folds(len(everyone), self.n_folds)
        ]
        parts.append(Part(everyone, everyone[:0], start))
        levels: list[_Level] = []
        shape, best = self._first_shape(), 0
        for step in range(_MOST_STEPS + 1):
            if step:
                self._learn(parts, data, levels[-1])
            self._sum(parts, data)

            def press(shape: Shape) -> FloatArray:
                of_parts = [
                    part.press(data, self._cell_weights(shape, part), self.alphas)[0]
                    for part in parts[:-1]
                ]
                return np.sum(of_parts, axis=0)

            shape, scores = self._best_shape(press, shape, data.groups)
            levels.append(self._level(data, shape, scores, parts))
            least = (1.0 - _LEAST_GAIN) * levels[best].press.sum()
            if levels[-1].press.sum() < least:
                best = step
            if step - best >= _PATIENCE:
                break
        chosen = levels[best]
        if best != len(levels) - 1:
            for part, weights in zip(parts, chosen.input_weights, strict=True):
                part.input_weights = weights
            self._sum(parts, data)
        return chosen, parts

    def _level(
        self, data: KernelData, shape: Shape, scores: FloatArray, parts: list[Part]
    ) -> _Level:
        choice, press = best_penalties(scores, data.groups)
        weights = tuple(part.input_weights for part in parts)
        return _Level(shape, choice, press, weights)

    def _first_shape(self) -> Shape:
        ratio, decay = _START
        ratios = (ratio,) * (self.template.order - 1)
        if self.order_weights is not None:
            given = np.asarray(self.order_weights, dtype=np.float64)
            ratios = tuple((given[1:] / given[:-1]).tolist())
        return Shape(ratios, decay if self.degree_decay is None else self.degree_decay)

    def _cell_weights(self, shape: Shape, part: Part) -> FloatArray:
        is_given = self.order_weights is not None and self.degree_decay is not None
        weights = shape.weights(self.template.cells, None if is_given else part.counts)
        if self.order_weights is not None and is_given:
            weights *= float(np.asarray(self.order_weights)[0])
        return weights

    def _best_shape(
        self,
        press: Callable[[Shape], FloatArray],
        shape: Shape,
        groups: IndexArray,  # shape: (n_targets,)
    ) -> tuple[Shape, FloatArray]:
        """Search ratios and decay, one after another, for the smallest error."""
        known: dict[Shape, FloatArray] = {}

        def error(candidate: Shape) -> float:
            if candidate not in known:
                known[candidate] = press(candidate)
            return float(best_penalties(known[candidate], groups)[1].sum())

        places: list[int] = []
        if self.order_weights is None:
            places += range(self.template.order - 1)
        if self.degree_decay is None and self.template.degree > 1:
            places.append(DECAY)
        error(shape)
        for _ in range(_SWEEPS):
            before = shape
            for place in places:
                shape = shape.improved(place, error)
            if shape == before:
                break
        return shape, known[shape]

    # Sums and steps

    def _sum(self, parts: list[Part], data: KernelData) -> None:
        """Make the symmetric sums of the parts; equal weights have the same ones."""
        n_functions = self.template.functions.counts
        made = data.started  # with the weights of the start, for all groups of targets
        for part in parts:
            same = [other for other in made if other.has_weights(part.input_weights)]
            if same:
                part.sums, part.counts = same[0].sums, same[0].counts
                continue
            weighted = part.input_weights[:, np.newaxis] * n_functions
            part.counts = self.template.cells.counts(weighted)
            part.sums = SymmetricSums(
                self.template.cells, part.input_weights, lambda: data.blocks
            )
            if not made:
                made.append(copy(part))

    def _learn(self, parts: list[Part], data: KernelData, level: _Level) -> None:
        """Take one step of the weights of the inputs in every part."""
        given = self.alphas is not None
        sides: dict[int, list[tuple[Part, FloatArray, FloatArray]]] = {}
        for part in parts:
            cell_weights = self._cell_weights(level.shape, part)
            matrices = part.evidence(data, cell_weights, level.choice, given)
            sides.setdefault(id(part.sums), []).append((part, cell_weights, matrices))
        for together in sides.values():  # parts of the same sums
            stacked = np.concatenate([matrices for _, _, matrices in together])
            sums = together[0][0].sums
            found = sums.holding_each(together[0][1][np.newaxis], stacked)[0]
            for part, (fitted, freedom) in zip(
                [part for part, _, _ in together],
                found.reshape(len(together), 2, -1),
                strict=True,
            ):
                part.input_weights = self._stepped(part.input_weights, fitted, freedom)

    def _stepped(
        self, weights: FloatArray, fitted: FloatArray, freedom: FloatArray
    ) -> FloatArray:  # each of shape (n_inputs,)
        """Multiply the weights by the ratio of both sides of the fixed point."""
        if self.input_groups is not None:
            n_groups = int(self.input_groups.max()) + 1
            both = np.column_stack([fitted, freedom])
            both = sum_rows(both, self.input_groups, n_groups)
            fitted, freedom = both[self.input_groups].T
        rounding = 1e-9 * freedom.max(initial=0.0)
        ratio = np.divide(
            np.maximum(fitted, 0.0),
            freedom,
            out=np.zeros_like(freedom),
            where=freedom > max(rounding, 0.0),
        )
        new = weights * ratio
        largest = new.max(initial=0.0)
        if largest <= 0:
            return weights
        new /= largest
        smallest = _SMALLEST_WEIGHT
        if len(new) > _MOST_INPUTS and self.input_groups is None:
            smallest = max(
                smallest, float(np.partition(new, -_MOST_INPUTS)[-_MOST_INPUTS])
            )
        return np.where(new >= smallest, new, 0.0)

    def _refuse_rounding(
        self, kernel: FloatArray, dual: FloatArray, data: KernelData
    ) -> None:
        """Refuse inputs far outside their distributions, where digits are lost."""
        rounding = share_of_rounding(kernel, dual)
        if rounding <= _MOST_ROUNDING:
            return
        farthest = (0.0, 0)
        for positions, values in data.blocks:
            if len(positions) == values[0].shape[1]:  # no contrasts of categories
                means = np.abs(values[0].mean(axis=0))
                at = int(means.argmax())
                farthest = max(farthest, (float(means[at]), int(positions[at])))
        raise ValueError(
            f"Column {farthest[1]} of X is on average {farthest[0]:.3g} standard "
            "deviations from the mean of its distribution, so far that rounding makes "
            f"up {rounding:.1g} of the kernel's solution; expected values inside the "
            "distribution, or one that is learned, such as distribution='normal'."
        )

    # What comes out

    def _finished(
        self, data: KernelData, level: _Level, parts: list[Part]
    ) -> _GroupFit:
        whole = parts[-1]
        cell_weights = self._cell_weights(level.shape, whole)
        kernel = np.tensordot(cell_weights, whole.sums.every, 1)
        decomposition = KernelDecomposition.of(kernel, data.weights)
        alpha = self._path(decomposition)[level.choice]
        if len(parts) == 1:
            residuals = left_out_residuals(decomposition, data, alpha)
        else:
            residuals = np.empty_like(data.targets)
            for part in parts[:-1]:
                residuals[part.test] = self._held_out(part, data, level)
        coefficients = decomposition.coefficients(data.targets, alpha)
        self._refuse_rounding(kernel, coefficients[:, 1:], data)
        coefficients *= data.unit[:, np.newaxis]
        coefficients[:, 0] += data.mean
        return _GroupFit(
            coefficients,
            alpha,
            residuals * data.unit,
            whole.input_weights,
            cell_weights,
        )

    def _joined(
        self,
        problem: LinearProblem,
        found: list[_GroupFit],
        members: list[IndexArray],  # the targets of each
        samples: tuple[FloatArray, IndexArray],  # distinct inputs, and which each is
    ) -> DualFit:
        """Put the groups side by side, each with a kernel of its own."""
        inputs, own_row = samples
        basis = replace(
            self.template,
            inputs=inputs,
            input_weights=np.array([group.input_weights for group in found]),
            cell_weights=np.array([group.cell_weights for group in found]),
        )
        n_samples, n_targets = len(inputs), problem.targets.shape[1]
        coefficients = np.zeros((n_targets, basis.n_functions))
        alpha = np.empty(n_targets)
        residuals = np.empty_like(problem.targets)
        for number, (group, columns) in enumerate(zip(found, members, strict=True)):
            start = 1 + number * n_samples
            own = slice(start, start + n_samples)
            coefficients[columns, 0] = group.coefficients[:, 0]
            coefficients[columns, own] = group.coefficients[:, 1:]
            alpha[columns] = group.alpha
            residuals[:, columns] = group.residuals[own_row]
        total = problem.weights.sum()
        mean_square = problem.weights @ np.square(residuals) / total
        factor = LeverageFactor.of_constant(basis.n_functions, 1.0 / total)
        return DualFit(
            coefficients,
            alpha,
            np.ones_like(coefficients),
            Leverage.shared(factor, alpha),
            np.where(np.isnan(mean_square), np.inf, mean_square),
            residuals,
            residuals,
            mean_square,
            basis=basis,
        )

    def _path(self, decomposition: KernelDecomposition) -> FloatArray:
        if self.alphas is not None:
            return self.alphas
        return RELATIVE_ALPHAS * decomposition.scale

    def _held_out(self, part: Part, data: KernelData, level: _Level) -> FloatArray:
        """Return the residuals of the held-out samples of a fold."""
        decomposition, functions = part.decomposed(
            data, self._cell_weights(level.shape, part)
        )
        mean, loadings = decomposition.loadings(data.targets[part.train])
        alpha = self._path(decomposition)[level.choice]
        shrunk = loadings / (decomposition.values[:, np.newaxis] + alpha)
        return data.targets[part.test] - mean - functions @ shrunk
