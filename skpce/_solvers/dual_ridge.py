r"""Ridge on all terms of a basis through their kernel, with learned weights.

With the kernel matrix K of the samples, centred and weighted to
:math:`A = S (K - 1\bar k^T - \bar k 1^T + m) S`, :math:`S^2 = \mathrm{diag}(w)`, the
dual coefficients are :math:`\beta = S (A + \lambda)^{-1} S (y - \bar y)` ([1]_, section
2.3). They add up to zero, so the intercept is free.

The weights of the inputs follow from the evidence. With the prior variance
:math:`\tau^2 w_j` of each coefficient, its derivative by the logarithm of the weight of
an input vanishes where

.. math:: \frac{1}{\tau^2} \sum_{j \ni i} \frac{c_j^2}{w_j}
   = \mathrm{tr}\bigl(S (A + \lambda)^{-1} S K_{\ni i}\bigr),

and each step multiplies the weight by the left side over the right one (MacKay's fixed
point [2]_, for groups of terms). Both sides are sums over the terms that hold an input.

Weights that were learned from a sample have seen it: its leave-one-out residual is then
far too small. So every fold learns weights of its own, and its penalties, the weights
of orders and degrees and the number of steps are those of the smallest error on held-out
samples.

References
----------
.. [1] B. Schölkopf and A. J. Smola, "Learning with Kernels", MIT Press, 2002.
.. [2] D. J. C. MacKay, "Bayesian interpolation", Neural Computation 4 (1992), section
   5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from .._basis.representers import RepresenterBasis
from .._basis.symmetric_sums import Block, Cells, SymmetricSums
from .._checks import FloatArray, IndexArray
from .problem import (
    CoefficientSolver,
    DesignDecomposition,
    Leverage,
    LeverageFactor,
    LinearFit,
    LinearProblem,
    best_penalties,
    sum_rows,
)

#: Penalties tried by default, in units of the mean eigenvalue of the kernel matrix.
#: Below, squared rounding errors of the kernel would show in the coefficients.
RELATIVE_ALPHAS = np.logspace(-7, 3, 21)

# Weights of orders, each in units of the one below, and decays by degree that are tried.
_ORDER_RATIOS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_DEGREE_DECAYS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_START = (0.1, 0.1)
_SWEEPS = 2

#: Most steps of the weights of the inputs, and steps without a gain before the end.
_MOST_STEPS = 10
_PATIENCE = 3
# A step counts as a gain where it lowers the error by more than this share.
_LEAST_GAIN = 0.01

# After the first step inputs beyond this many, or below this weight, are left out.
_MOST_INPUTS = 2000
_SMALLEST_WEIGHT = 1e-6


@dataclass(frozen=True)
class DualFit(LinearFit):
    """A fit whose coefficients are those of the constant and of the samples."""

    basis: RepresenterBasis | None = None  # with the learned weights; never None


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
        largest = 10 * len(squares) * np.finfo(float).eps * max(squares[-1], 0.0)
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


@dataclass
class _Part:
    """Samples that learn, those that are held out, and the weights learned so far."""

    train: IndexArray
    test: IndexArray
    input_weights: FloatArray  # shape: (n_inputs,)
    sums: SymmetricSums = field(init=False)
    counts: FloatArray = field(init=False)

    def press(
        self, data: _Data, cell_weights: FloatArray, alphas: FloatArray | None
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
        self, data: _Data, cell_weights: FloatArray
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
        self, data: _Data, cell_weights: FloatArray, choice: IndexArray, given: bool
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


@dataclass(frozen=True)
class _Data:
    """Distinct samples with their copies, in an order of their own."""

    blocks: Iterable[Block]  # functions of the inputs
    targets: FloatArray  # shape: (n_samples, n_targets), in units of their spread
    weights: FloatArray  # shape: (n_samples,)
    groups: IndexArray  # shape: (n_targets,)
    alphas: FloatArray | None


@dataclass(frozen=True)
class _Level:
    """What was best with the weights of one step."""

    shape: Shape
    choice: IndexArray  # shape: (n_targets,), positions of the penalties
    press: FloatArray  # shape: (n_targets,), of the choice
    input_weights: tuple[FloatArray, ...]  # of each part


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
    ) -> None:
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
        unit = np.sqrt(weights @ np.square(targets - weights @ targets / weights.sum()))
        unit = np.where(unit > 0, unit, 1.0)
        data = _Data(
            self.template.functions.held(inputs),
            (targets - weights @ targets / weights.sum()) / unit,
            weights,
            problem.groups,
            self.alphas,
        )
        learns = self.input_weights is None and len(weights) >= 3
        if learns and len(self.template.laws) > 1:
            level, parts = self._in_folds(data)
        else:
            level, parts = self._left_out(data)
        return self._finished(problem, data, level, parts, (inputs, own_row, unit))

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

    def _left_out(self, data: _Data) -> tuple[_Level, list[_Part]]:
        """Choose by leave-one-out in closed form, with given weights of the inputs."""
        everyone = np.arange(len(data.weights))
        whole = _Part(everyone, everyone[:0], self._start(len(self.template.laws)))
        self._sum([whole], data)

        def press(shape: Shape) -> FloatArray:
            cell_weights = self._cell_weights(shape, whole)
            decomposition = self._decomposition(whole, data, cell_weights)
            return left_out_press(decomposition, data, self.alphas)[0]

        shape, scores = self._best_shape(press, self._first_shape())
        return self._level(data, shape, scores, [whole]), [whole]

    def _in_folds(self, data: _Data) -> tuple[_Level, list[_Part]]:
        """Learn weights of the inputs in every fold, step by step."""
        everyone = np.arange(len(data.weights))
        start = self._start(len(self.template.laws))
        parts = [
            _Part(np.setdiff1d(everyone, rows), rows, start)
            for rows in folds(len(everyone), self.n_folds)
        ]
        parts.append(_Part(everyone, everyone[:0], start))
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

            shape, scores = self._best_shape(press, shape)
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
        self, data: _Data, shape: Shape, scores: FloatArray, parts: list[_Part]
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

    def _cell_weights(self, shape: Shape, part: _Part) -> FloatArray:
        is_given = self.order_weights is not None and self.degree_decay is not None
        weights = shape.weights(
            self.template.cells, None if is_given else part.counts
        )
        if self.order_weights is not None and is_given:
            weights *= float(np.asarray(self.order_weights)[0])
        return weights

    def _best_shape(
        self, press: Callable[[Shape], FloatArray], shape: Shape
    ) -> tuple[Shape, FloatArray]:
        """Search ratios and decay, one after another, for the smallest error."""
        known: dict[Shape, FloatArray] = {}

        def error(candidate: Shape) -> float:
            if candidate not in known:
                known[candidate] = press(candidate)
            return float(known[candidate].min(axis=0).sum())

        moves: list[Callable[[Shape, float], Shape]] = []
        grids, positions = [], []
        if self.order_weights is None:
            for place in range(self.template.order - 1):
                moves.append(lambda at, value, place=place: _ratio_at(at, place, value))
                grids.append(_ORDER_RATIOS)
                positions.append(lambda at, place=place: at.order_ratios[place])
        if self.degree_decay is None and self.template.degree > 1:
            moves.append(lambda at, value: replace(at, decay=value))
            grids.append(_DEGREE_DECAYS)
            positions.append(lambda at: at.decay)
        error(shape)
        for _ in range(_SWEEPS):
            before = shape
            for move, grid, position in zip(moves, grids, positions, strict=True):
                shape = _descend(error, move, shape, grid, position(shape))
            if shape == before:
                break
        return shape, known[shape]

    # Sums and steps

    def _sum(self, parts: list[_Part], data: _Data) -> None:
        """Make the symmetric sums of the parts; equal weights have the same ones."""
        n_functions = self.template.functions.counts
        made: list[_Part] = []
        for part in parts:
            same = [
                other
                for other in made
                if np.array_equal(other.input_weights, part.input_weights)
            ]
            if same:
                part.sums, part.counts = same[0].sums, same[0].counts
                continue
            weighted = part.input_weights[:, np.newaxis] * n_functions
            part.counts = self.template.cells.counts(weighted)
            part.sums = SymmetricSums(
                self.template.cells, part.input_weights, lambda: data.blocks
            )
            made.append(part)

    def _learn(self, parts: list[_Part], data: _Data, level: _Level) -> None:
        """Take one step of the weights of the inputs in every part."""
        given = self.alphas is not None
        sides: dict[int, list[tuple[_Part, FloatArray, FloatArray]]] = {}
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
            smallest = max(smallest, float(np.partition(new, -_MOST_INPUTS)[-_MOST_INPUTS]))
        return np.where(new >= smallest, new, 0.0)

    def _decomposition(
        self, whole: _Part, data: _Data, cell_weights: FloatArray
    ) -> KernelDecomposition:
        kernel = np.tensordot(cell_weights, whole.sums.every, 1)
        return KernelDecomposition.of(kernel, data.weights)

    # What comes out

    def _finished(
        self,
        problem: LinearProblem,
        data: _Data,
        level: _Level,
        parts: list[_Part],
        found: tuple[FloatArray, IndexArray, FloatArray],
    ) -> DualFit:
        inputs, own_row, unit = found
        whole = parts[-1]
        cell_weights = self._cell_weights(level.shape, whole)
        decomposition = self._decomposition(whole, data, cell_weights)
        if len(parts) == 1:
            _, path = left_out_press(decomposition, data, self.alphas, only_path=True)
            residuals = left_out_residuals(decomposition, data, path[level.choice])
        else:
            path = self._path(decomposition)
            residuals = np.empty_like(data.targets)
            for part in parts[:-1]:
                residuals[part.test] = self._held_out(part, data, level)
        alpha = path[level.choice]
        targets = data.targets * unit + _means(problem)
        basis = replace(
            self.template,
            inputs=inputs,
            input_weights=whole.input_weights,
            cell_weights=cell_weights,
        )
        coefficients = decomposition.coefficients(targets, alpha)
        residuals = (residuals * unit)[own_row]
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

    def _held_out(self, part: _Part, data: _Data, level: _Level) -> FloatArray:
        """Return the residuals of the held-out samples of a fold."""
        decomposition, functions = part.decomposed(
            data, self._cell_weights(level.shape, part)
        )
        mean, loadings = decomposition.loadings(data.targets[part.train])
        alpha = self._path(decomposition)[level.choice]
        shrunk = loadings / (decomposition.values[:, np.newaxis] + alpha)
        return data.targets[part.test] - mean - functions @ shrunk


def left_out_press(
    decomposition: KernelDecomposition,
    data: _Data,
    alphas: FloatArray | None,
    *,
    only_path: bool = False,
) -> tuple[FloatArray, FloatArray]:  # (n_alphas, n_targets), (n_alphas,)
    """Return sums of squared leave-one-out residuals, and the penalties."""
    path = RELATIVE_ALPHAS * decomposition.scale if alphas is None else alphas
    if only_path:
        return np.zeros((0, 0)), path
    press = np.empty((len(path), data.targets.shape[1]))
    for row, penalty in enumerate(path):
        penalties = np.full(data.targets.shape[1], penalty)
        residuals = left_out_residuals(decomposition, data, penalties)
        press[row] = data.weights @ np.square(residuals)
    return press, path


def left_out_residuals(
    decomposition: KernelDecomposition, data: _Data, alpha: FloatArray
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
    weights = np.bincount(own_row, problem.weights, len(first))
    return problem.design[first], problem.targets[first], weights, own_row


def folds(n_samples: int, n_folds: int) -> list[IndexArray]:
    """Return the held-out samples of random folds, the same each time."""
    order = np.random.default_rng(0).permutation(n_samples)
    return [np.sort(part) for part in np.array_split(order, min(n_folds, n_samples))]


def _means(problem: LinearProblem) -> FloatArray:
    return problem.weights @ problem.targets / problem.weights.sum()


def _ratio_at(shape: Shape, place: int, value: float) -> Shape:
    """Return the shape with another ratio of one order to the one below."""
    ratios = list(shape.order_ratios)
    ratios[place] = value
    return replace(shape, order_ratios=tuple(ratios))


def _descend(
    error: Callable[[Shape], float],
    move: Callable[[Shape, float], Shape],
    shape: Shape,
    grid: Sequence[float],
    now: float,
) -> Shape:
    """Go along a grid as long as the error falls."""
    place = int(np.argmin(np.abs(np.asarray(grid) - now)))
    while True:
        near = [k for k in (place - 1, place, place + 1) if 0 <= k < len(grid)]
        errors = [error(move(shape, grid[k])) for k in near]
        best = near[int(np.argmin(errors))]
        if best == place:
            return move(shape, grid[place])
        place = best
