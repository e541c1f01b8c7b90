r"""Prior variances of the coefficients, learned from the samples.

The coefficient of a term has the prior variance

.. math:: v_j = c_{|j|_0} \prod_{i: j_i > 0} s_i\, w_i(j_i), \qquad
   w_i(a) \propto \exp\bigl(-(-(a - 1) \log \rho_i)^\kappa\bigr), \qquad
   \textstyle\sum_a w_i(a) = 1

with a weight :math:`s_i` and a decay :math:`\rho_i` of each input, one exponent
:math:`\kappa` for all (1 is a geometric decay, 2 one that is slow first and then fast)
and a weight :math:`c_k` of each order of interaction (:math:`c_1 = 1`), in units of the
variance of the targets. The contrasts of a category have equal weights,
:math:`\rho_i = 1`.
Weights, decays and the variance of the noise maximise the marginal likelihood of the
targets times weak priors, by the gradient in closed form ([1]_, section 5.4.1).

The sum over all terms of up to three inputs follows from the kernels of the single
inputs by Newton's identities [2]_: the number of terms costs nothing.

References
----------
.. [1] C. E. Rasmussen and C. K. I. Williams, "Gaussian Processes for Machine
   Learning", MIT Press (2006).
.. [2] D. Duvenaud, H. Nickisch and C. E. Rasmussen, "Additive Gaussian processes",
   NeurIPS (2011).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize
from scipy.special import chdtrc, expit

from .._basis.basis import longer_sets
from .._checks import BoolArray, FloatArray, IndexArray, one_thread_if_small

#: Drivers take a fit for noise alone below this log evidence for more:
#: one in ten ensembles of noise has so much (30 or 60 samples of eight inputs), and
#: nearly all have in which half of the variance of 60 samples is not noise.
LEAST_EVIDENCE = 2.7

# A fit is shrunk towards noise alone as James and Stein shrink a mean: by this over the
# evidence where it is weak, by less than that beyond the second number.
_SHRINKAGE, _MUCH_EVIDENCE = 1.5, 15.0

#: Largest number of inputs in one term.
LARGEST_ORDER = 3

# Means and deviations of the priors. Logarithms of the weights of the inputs have a
# common mean, unknown with the second deviation; so have the logits of the decays.
_WEIGHT_SPREAD = (1.5, 2.0)
_DECAY_MEAN, _DECAY_SPREAD = -0.5, (0.7, 1.5)
_EXPONENT_MEAN, _EXPONENT_SPREAD = np.array([0.2]), np.array([0.4])  # of its logarithm
_ORDER_MEAN, _ORDER_SPREAD = -1.0, 0.5  # for each input beyond the first

# The variance of the noise is exponential with this mean. Under a normal prior of its
# logarithm few samples have ends of little noise that are likely and predict worse.
_NOISE_MEAN = 0.5

# Bounds of the logarithms of weights, exponent and noise, and of the logits of decays.
_WEIGHT_BOUNDS, _DECAY_BOUNDS, _EXPONENT_BOUNDS = (-12.0, 3.0), (-7.0, 3.0), (-0.5, 1.2)
_ORDER_BOUNDS, _NOISE_BOUNDS = (-8.0, 3.0), (-18.0, 2.0)

# Where the search begins: the logarithm of the noise, and that of the weight of an
# order for each input beyond the first. Begun with small weights of high orders, or
# with much noise, it ends before strong interactions (``benchmarks.exact_truth``).
_FIRST_NOISE, _FIRST_ORDER = -1.5, 1.0

# Where it ends with so much noise it begins once more, with decays of this logit: a
# high frequency has no slope to be found by from low degrees.
MUCH_NOISE, _SLOW_DECAY = 0.5, 2.0

# What inputs do only together has no slope to be found by where the prior has next to
# nothing of it. Where score tests, each order at this level, say that the targets hold
# more of a product, the search begins again with it, at most so many times. Tested are
# products of so many first functions of two inputs and of three, as far as they cost no
# more operations than this.
_PRODUCT_LEVEL, _MOST_AGAIN, _FIRST_FUNCTIONS = 0.05, 3, (2, 1)
_MOST_OPERATIONS, _PRODUCTS_AT_ONCE = 1e9, 2048
_LEAST_ORDER_WEIGHT = 0.1  # where it begins again

#: Prior variance of the mean: it is free.
INTERCEPT = 100.0

#: Steps of the search, and the share of the objective that the last gains. Beside those
# of other parameters the second derivatives by the logarithms of exponent and noise are
# about so large, that of the noise for each row: the search begins with them.
MOST_STEPS, _LEAST_GAIN = 60, 1e-4
_EXPONENT_CURVATURE, _NOISE_CURVATURE = 6.0, 0.03

# A share of the weight of an input that no sum feels.
_SMALLEST_SHARE = 1e-12

# Entries of all kernels of single inputs that are kept for the slopes: 64 MiB.
_MOST_KEPT = 8_388_608

# Entries of a block of kernels of single inputs: 256 KiB, which stays in the cache.
_BLOCK_ENTRIES = 32_768
_FEW_INPUTS = 16


@dataclass(frozen=True)
class TermPrior:
    """Prior variances of terms by their inputs, degrees and order."""

    weights: FloatArray  # shape: (n_inputs,)
    decays: FloatArray  # shape: (n_inputs,), 1 for contrasts
    exponent: float
    order_weights: FloatArray  # shape: (n_orders,); 1 for one input
    n_functions: IndexArray  # shape: (n_inputs,), beside the constant
    noise: float  # variance, like all of these in units of that of the targets
    log_evidence: float = np.nan  # over that of noise alone

    @cached_property
    def by_degree(self) -> FloatArray:  # shape: (n_inputs, n_functions)
        """Weight of each function of each input; 0 beyond its last."""
        return self.weights[:, np.newaxis] * self.shares

    @cached_property
    def shares(self) -> FloatArray:  # shape: (n_inputs, n_functions)
        """Share of each function in the weight of its input."""
        n_functions = self.n_functions
        degrees = np.arange(n_functions.max(initial=0))
        steps = np.outer(-np.log(self.decays), degrees)
        powers = np.exp(-np.power(steps, self.exponent))
        powers[degrees >= n_functions[:, np.newaxis]] = 0.0
        sums = powers.sum(axis=1, keepdims=True)
        return np.asarray(powers / np.maximum(sums, 1e-300))

    def variances(
        self, multi_indices: IndexArray
    ) -> FloatArray:  # shape: (n_terms,); 0 for the constant
        """Return the prior variances of listed terms."""
        padded = np.hstack([np.ones((len(self.weights), 1)), self.by_degree])
        order = np.count_nonzero(multi_indices, axis=1)
        by_order = np.zeros(multi_indices.shape[1] + 1)
        by_order[1 : len(self.order_weights) + 1] = self.order_weights
        found = by_order[order]
        for i in np.flatnonzero(multi_indices.any(axis=0)):
            found *= padded[i, multi_indices[:, i]]
        return found

    def kernel(
        self,
        first: FloatArray,  # shape: (n_inputs, n_functions, n_rows), see ``tables_of``
        second: FloatArray,  # shape: (n_inputs, n_functions, n_others)
    ) -> FloatArray:  # shape: (n_rows, n_others)
        """Return the prior covariance between rows, of all terms but the constant."""
        felt = _felt(self.by_degree)
        weighted = first[:, :felt] * self.by_degree[:, :felt, np.newaxis]
        return self.sum_orders(elementary_sums(power_sums(weighted, second[:, :felt])))

    def variance_at(
        self,
        tables: FloatArray,  # shape: (n_inputs, n_functions, n_rows)
    ) -> FloatArray:  # shape: (n_rows,)
        """Return the prior variance at rows, the diagonal of the kernel."""
        own = np.einsum("iar,ia,iar->ir", tables, self.by_degree, tables)
        sums = np.stack([own.sum(axis=0), (own**2).sum(axis=0), (own**3).sum(axis=0)])
        return self.sum_orders(elementary_sums(sums))

    def of_inputs(self, features: Sequence[int]) -> TermPrior:
        """Leave out the terms with any other input."""
        chosen = list(features)
        return replace(
            self,
            weights=self.weights[chosen],
            decays=self.decays[chosen],
            n_functions=self.n_functions[chosen],
            order_weights=self.order_weights[: len(chosen)],
        )

    def squared(self) -> TermPrior:
        """Return the prior whose variances are the squares of these."""
        sums = np.square(self.shares).sum(axis=1)
        return replace(
            self,
            weights=np.square(self.weights) * sums,
            decays=np.power(self.decays, 2.0 ** (1.0 / self.exponent)),
            order_weights=np.square(self.order_weights),
        )

    def listed(
        self, most: int, dropped: float, tolerated: float
    ) -> IndexArray | None:  # shape: (n_terms, n_inputs)
        """List the constant and the terms of largest variance.

        All but those whose variances add up to ``dropped``. Where they would be more
        than ``most``, so many if those left out add up to ``tolerated``; else None.
        """
        factors = self.by_degree
        inputs, degrees = np.nonzero(factors)
        order = np.argsort(-factors[inputs, degrees], kind="stable")
        inputs, degrees = inputs[order], degrees[order]
        values, total = factors[inputs, degrees], self.total()
        if not (total > 0.0 and len(values)):
            return np.zeros((1, len(self.weights)), dtype=np.int64)
        enough, most_of = None, None  # the fewest that leave out little, and the most
        low, high = total * 1e-16, total  # of the smallest variance that is listed
        while high > 1.2 * low:
            least = np.sqrt(low * high)
            terms = _products_above(self, inputs, values, least, 4 * most)
            if terms is None or len(terms[1]) > most:
                low = least
            elif total - terms[1].sum() <= dropped:
                enough, low = terms, least
            else:
                most_of, high = terms, least
        found = most_of if enough is None else enough
        if found is None or total - found[1].sum() > max(dropped, tolerated):
            return None
        places = found[0]
        rows = np.zeros((1 + len(places), len(self.weights)), dtype=np.int64)
        which, column = np.nonzero(places >= 0)
        factor = places[which, column]
        rows[1 + which, inputs[factor]] = degrees[factor] + 1
        return rows

    def or_nothing(self) -> TermPrior:
        """Return no variance at all, where the evidence does not speak for any."""
        if not self.log_evidence < LEAST_EVIDENCE:
            return self
        return replace(self, weights=np.zeros_like(self.weights), noise=1.0)

    def shrunk(self) -> TermPrior:
        """Return the prior of a fit, with more noise the weaker the evidence is."""
        much = min(self.log_evidence / _MUCH_EVIDENCE, 700.0)  # more is no number
        gain = _MUCH_EVIDENCE * np.expm1(much)
        share = 1.0 - _SHRINKAGE / max(gain, 1e-300)
        if not share > 0.0:
            return replace(self, weights=np.zeros_like(self.weights), noise=1.0)
        noise = 1.0 - share * (1.0 - self.noise)
        weights = share * self.weights
        orders = self.order_weights / share ** np.arange(len(self.order_weights))
        return replace(self, weights=weights, order_weights=orders, noise=noise)

    def total(self) -> float:
        """Return the sum of the variances of all terms."""
        powers = np.array([(self.weights**k).sum() for k in (1, 2, 3)])
        return float(self.sum_orders(elementary_sums(powers)))

    def sum_orders(self, elementary: FloatArray) -> FloatArray:
        """Weigh sums over sets of one, two and three inputs, and add them up."""
        n_orders = len(self.order_weights)
        return np.tensordot(self.order_weights, elementary[:n_orders], 1)


def _products_above(
    prior: TermPrior,
    inputs: IndexArray,  # shape: (n_factors,)
    values: FloatArray,  # shape: (n_factors,), descending
    least: float,
    most: int,
) -> tuple[IndexArray, FloatArray] | None:  # (n_terms, n_orders), (n_terms,)
    """Return products of factors of distinct inputs above a variance."""
    n_orders = len(prior.order_weights)
    places: Any = np.arange(len(values))[:, np.newaxis]
    products: Any = values
    found, variances = [], []
    for order, weight in enumerate(prior.order_weights.tolist(), start=1):
        own = weight * products > least
        if own.sum() > most:
            return None
        padded = np.full((int(own.sum()), n_orders), -1, dtype=np.int64)
        padded[:, :order] = places[own]
        found.append(padded)
        variances.append(weight * products[own])
        if order == n_orders:
            break
        # Factors descend: those that follow are at most as large as the last one.
        gain = max(
            (after * values[0] ** number)
            for number, after in enumerate(prior.order_weights[order:].tolist())
        )
        reach = np.searchsorted(-values, -least / np.maximum(products * gain, 1e-300))
        if np.maximum(reach - places[:, -1] - 1, 0).sum() > 50 * most:
            return None
        which, factor = longer_sets(places, reach, inputs)
        places = np.column_stack([places[which], factor])
        products = products[which] * values[factor]
    return np.concatenate(found), np.concatenate(variances)


def power_sums(
    weighted: FloatArray,  # shape: (n_inputs, n_functions, n_rows)
    functions: FloatArray,  # shape: (n_inputs, n_functions, n_others)
    kept: list[FloatArray] | None = None,  # kernels of single inputs are added to it
) -> FloatArray:  # shape: (3, n_rows, n_others)
    """Add up the kernels of single inputs, their squares and their cubes."""
    n_inputs, _, n_rows = weighted.shape
    shape = n_rows, functions.shape[2]
    sums = np.zeros((3, *shape))
    for some in input_blocks(n_inputs, n_rows * functions.shape[2]):
        kernels = np.matmul(weighted[some].transpose(0, 2, 1), functions[some])
        sums[0] += np.add.reduce(kernels, axis=0)
        power = np.square(kernels)
        sums[1] += np.add.reduce(power, axis=0)
        power *= kernels
        sums[2] += np.add.reduce(power, axis=0)
        if kept is not None:
            kept.append(kernels)
    return sums


def elementary_sums(sums: FloatArray) -> FloatArray:
    """Return sums of products over sets of one, two and three inputs."""
    p1, p2, p3 = sums
    square = p1 * p1
    two = 0.5 * (square - p2)
    square -= 3.0 * p2
    square *= p1
    p3 += p3
    square += p3
    square /= 6.0
    return np.stack([p1, two, square])


def input_blocks(n_inputs: int, n_entries: int) -> list[slice]:
    """Return blocks of inputs whose kernels fit into the cache."""
    step = max(_BLOCK_ENTRIES // max(n_entries, 1), 1)
    return [slice(start, start + step) for start in range(0, n_inputs, step)]


def _felt(weights: FloatArray) -> int:
    """Return the number of functions whose weights are not rounding."""
    felt = (weights > _SMALLEST_SHARE * weights.sum(axis=1, keepdims=True)).any(axis=0)
    return int(np.flatnonzero(felt)[-1]) + 1 if felt.any() else 0


@dataclass(frozen=True)
class AllTerms:
    """All products of functions of up to three inputs."""

    tables: FloatArray  # shape: (n_inputs, n_functions, n_rows)
    largest_order: int | None = None  # None: three

    @property
    def n_orders(self) -> int:
        """Largest number of inputs in a term."""
        order = LARGEST_ORDER if self.largest_order is None else self.largest_order
        return min(LARGEST_ORDER, order, len(self.tables))

    @cached_property
    def _blocks(self) -> list[slice]:
        """Blocks of rows; a block has the columns up to its last row."""
        n_inputs, _, n_rows = self.tables.shape
        step = _BLOCK_ENTRIES // (min(n_inputs, _FEW_INPUTS) * n_rows)
        step = min(max(step, 8), n_rows)
        starts = range(0, n_rows, step)
        return [slice(start, min(start + step, n_rows)) for start in starts]

    def forward(self, prior: TermPrior) -> tuple[FloatArray, Any]:
        """Return the kernel, (n_rows, n_rows), and what the slopes need."""
        n_inputs, _, n_rows = self.tables.shape
        felt = _felt(prior.by_degree)
        functions = self.tables[:, :felt]
        weighted = functions * prior.by_degree[:, :felt, np.newaxis]
        keep = n_inputs * n_rows**2 <= 2 * _MOST_KEPT
        kernel, state = np.zeros((n_rows, n_rows)), []
        for rows in self._blocks:
            kept: list[FloatArray] | None = [] if keep else None
            until = slice(rows.stop)
            sums = power_sums(weighted[:, :, rows], functions[:, :, until], kept)
            elementary = elementary_sums(sums)
            kernel[rows, until] = prior.sum_orders(elementary)
            state.append((elementary, kept))
        return kernel, (felt, weighted, state)

    def backward(
        self, prior: TermPrior, state: Any, slope: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return slopes by the logarithms of function weights and order weights.

        Given are those by the entries of the kernel.
        """
        felt, weighted, blocks = state
        functions = self.tables[:, :felt]
        orders, found = np.zeros(3), np.zeros(prior.by_degree.shape)
        c2, c3 = (*prior.order_weights[1:], 0.0, 0.0)[:2]
        for rows, (elementary, kept) in zip(self._blocks, blocks, strict=True):
            until = slice(rows.stop)
            doubled = 2.0 * slope[rows, until]
            square = doubled[:, rows]
            square[...] = np.tril(square)
            np.einsum("ii->i", square)[...] *= 0.5
            p1, e2, e3 = elementary
            orders += np.vdot(doubled, p1), np.vdot(doubled, e2), np.vdot(doubled, e3)
            # The sum of all terms is of degree one in the kernel K of an input; its
            # slope by K is 1 + c2 (p1 - K) + c3 (e2 - K p1 + K^2).
            constant = doubled * (1.0 + c2 * p1 + c3 * e2)
            linear = doubled * (-c2 - c3 * p1)
            doubled *= c3
            for number, some in enumerate(input_blocks(len(functions), p1.size)):
                if kept is not None:
                    kernels = kept[number]
                else:
                    left = weighted[some, :, rows].transpose(0, 2, 1)
                    kernels = np.matmul(left, functions[some, :, until])
                inner = kernels * doubled
                inner += linear
                inner *= kernels
                inner += constant
                images = np.matmul(functions[some, :, rows], inner)
                images *= functions[some, :, until]
                found[some, :felt] += np.add.reduce(images, axis=2)
        n_orders = len(prior.order_weights)
        return found * prior.by_degree, orders[:n_orders] * prior.order_weights

    def products(
        self, n_functions: IndexArray
    ) -> Iterator[
        tuple[FloatArray, IndexArray]
    ]:  # (n_some, n_rows), (n_some, n_inputs)
        """Yield products of the first functions of inputs, and their multi-indices."""
        n_inputs, _, n_rows = self.tables.shape
        for order in range(2, self.n_orders + 1):
            number = _FIRST_FUNCTIONS[order - 2]
            while comb(number * n_inputs, order) * n_rows**2 > _MOST_OPERATIONS:
                number -= 1
            inputs, degrees = np.nonzero(np.arange(number) < n_functions[:, np.newaxis])
            sets = np.array(list(combinations(range(len(inputs)), order)), np.int64)
            sets = sets.reshape(-1, order)
            sets = sets[(np.diff(inputs[sets], axis=1) > 0).all(axis=1)]
            functions = self.tables[inputs, degrees]
            for start in range(0, len(sets), _PRODUCTS_AT_ONCE):
                some = sets[start : start + _PRODUCTS_AT_ONCE]
                multi_indices = np.zeros((len(some), n_inputs), dtype=np.int64)
                np.put_along_axis(multi_indices, inputs[some], degrees[some] + 1, 1)
                yield functions[some].prod(axis=1), multi_indices


@dataclass(frozen=True)
class ListedTerms:
    """Terms that are listed."""

    design: FloatArray  # shape: (n_rows, n_terms)
    multi_indices: IndexArray  # shape: (n_terms, n_inputs)

    @cached_property
    def n_orders(self) -> int:
        """Largest number of inputs in a term."""
        return max(int(self._orders.max(initial=0)), 1)

    @cached_property
    def _orders(self) -> IndexArray:
        return np.count_nonzero(self.multi_indices, axis=1)

    def forward(self, prior: TermPrior) -> tuple[FloatArray, Any]:
        variances = prior.variances(self.multi_indices)
        return (self.design * variances) @ self.design.T, variances

    def backward(
        self, prior: TermPrior, state: Any, slope: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        variances = state
        full = np.tril(slope) + np.tril(slope, -1).T
        forms: Any = np.einsum("lj,lj->j", full @ self.design, self.design) * variances
        orders: Any = np.bincount(self._orders, forms, self.n_orders + 1)
        found: Any = np.zeros(prior.by_degree.shape)
        for i in np.flatnonzero(self.multi_indices.any(axis=0)):
            degree = self.multi_indices[:, i]
            sums: Any = np.bincount(degree, forms, found.shape[1] + 1)
            found[i] = sums[1:]
        return found, orders[1:].astype(np.float64)

    def products(
        self, n_functions: IndexArray
    ) -> Iterator[tuple[FloatArray, IndexArray]]:
        """Yield all terms of several inputs."""
        some = np.flatnonzero(self._orders > 1)
        yield self.design[:, some].T, self.multi_indices[some]


#: What sums terms into a kernel, and hands its slopes back to them. Of symmetric
#: matrices the lower triangle is held; what stands above is not read.
Terms = AllTerms | ListedTerms


@dataclass(frozen=True)
class Observations:
    """Targets that share a prior, on the rows that have them."""

    rows: IndexArray  # shape: (n_rows,)
    factor: FloatArray  # shape: (n_rows, rank), of the mean product of the targets
    weights: FloatArray  # shape: (n_rows,), frequencies
    number: float  # effective number of targets
    more: float = 0.0  # copies of rows that say something of the noise, beside these

    @classmethod
    def of(
        cls,
        rows: IndexArray,
        targets: FloatArray,  # shape: (n_rows, n_targets), about their means
        weights: FloatArray,
        counted: bool = False,
    ) -> Observations | None:
        """Join targets by their share of the variance; None without any.

        Targets that vary alike count as one: the effective number is that of equal
        eigenvalues of their covariance. Nothing changes when targets are rotated.
        """
        scaled = targets * np.sqrt(weights / weights.sum())[:, np.newaxis]
        total = float(np.square(scaled).sum())
        if not total > 0.0:
            return None
        factor = targets
        if targets.shape[1] > len(targets):
            left, values, _ = np.linalg.svd(targets, full_matrices=False)
            factor = left * values
        small = min(scaled.shape)
        gram = scaled.T @ scaled if small == scaled.shape[1] else scaled @ scaled.T
        number = total**2 / float(np.square(gram).sum())
        more = float((weights - 1.0).sum()) if counted else 0.0
        return cls(rows, factor / np.sqrt(total), weights, max(number, 1.0), more)

    def solved(
        self, kernel: FloatArray, noise: float
    ) -> tuple[FloatArray, FloatArray, float] | None:
        """Return the inverse of the covariance, and times the targets; None without it.

        Then the logarithm of its root's determinant. Lower triangles are read and held.
        """
        every = len(self.rows) == len(kernel)
        covariance = kernel.copy() if every else kernel[np.ix_(self.rows, self.rows)]
        covariance += INTERCEPT
        np.einsum("ii->i", covariance)[...] += noise / self.weights
        # The lower triangle by rows is the upper one by columns.
        factor, failed = lapack.dpotrf(covariance.T, lower=0, overwrite_a=1)
        if failed:
            return None
        half = float(np.log(np.diag(factor)).sum())
        solved, _ = lapack.dpotrs(factor, self.factor, lower=0)
        return lapack.dpotri(factor, lower=0, overwrite_c=1)[0].T, solved, half

    def evidence(
        self,
        kernel: FloatArray,  # shape: (n_samples, n_samples)
        noise: float,
        slope: FloatArray | None = None,  # shape: (n_samples, n_samples), added to
    ) -> tuple[float, float]:
        """Return minus the log likelihood and its slope by the logarithm of the noise.

        The noise of a row of weight w is a w-th. Copies are alike in y too, and say
        nothing of the noise, but where others of their setting are not.
        """
        every = len(self.rows) == len(kernel)
        shared = noise / self.weights
        found = self.solved(kernel, noise)
        if found is None:
            return np.inf, 0.0
        inverse, solved, half = found
        value = 0.5 * np.vdot(self.factor, solved) + half
        value += 0.5 * self.more * np.log(noise)
        diagonal = np.einsum("ii->i", inverse) - np.square(solved).sum(axis=1)
        by_noise = 0.5 * self.number * (diagonal @ shared + self.more)
        if slope is not None:
            inverse -= solved @ solved.T
            inverse *= 0.5 * self.number
            if every:
                slope += inverse
            else:
                slope[np.ix_(self.rows, self.rows)] += inverse
        return self.number * float(value), float(by_noise)


def observations_of(
    targets: FloatArray,  # shape: (n_rows, n_targets), NaN where missing
    weights: FloatArray,  # shape: (n_rows,)
    counted: bool = False,  # whether weights are numbers of rows that were observed
) -> list[Observations]:
    """Return what is known of targets, by the rows that have them."""
    has = ~np.isnan(targets)
    patterns, part = np.unique(has, axis=1, return_inverse=True)
    found = []
    for number, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(pattern)
        own, mass = targets[rows][:, part.ravel() == number], weights[rows]
        centred = own - np.average(own, axis=0, weights=mass)
        known = Observations.of(rows, centred, mass, counted)
        if known is not None:
            found.append(known)
    return found


def learn_prior(
    terms: Terms,
    n_functions: IndexArray,  # shape: (n_inputs,), beside the constant
    contrasts: BoolArray,  # shape: (n_inputs,), whether functions have no degree
    observations: Sequence[Observations],
    start: TermPrior | None = None,
    n_steps: int = MOST_STEPS,
) -> TermPrior:
    """Return the prior under which the targets are most likely."""
    search = Search(terms, n_functions, contrasts, observations)
    if not observations:  # no target varies
        return replace(search.start(), log_evidence=-np.inf)
    found = search.run(search.start() if start is None else start, n_steps)
    if start is None and found.noise > MUCH_NOISE:
        found = search.better(found)
    return found


class Search:
    """Weights, decays, exponent, orders and noise as one vector, transformed."""

    def __init__(
        self,
        terms: Terms,
        n_functions: IndexArray,
        contrasts: BoolArray,
        observations: Sequence[Observations],
    ) -> None:
        self.terms, self.n_functions = terms, n_functions
        self.observations = observations
        n_inputs = len(n_functions)
        self.decaying = np.flatnonzero((n_functions > 1) & ~contrasts)
        self.sizes = np.cumsum(
            [n_inputs, len(self.decaying), 1, max(terms.n_orders - 1, 0)]
        )
        self.shift = -np.log(max(n_inputs, 2))  # of the logarithms of the weights

    def split(self, theta: FloatArray) -> list[FloatArray]:
        """Return logarithms of weights, logits of decays, logarithms of the others."""
        first, second, third, fourth = self.sizes.tolist()
        return [
            *(theta[:first], theta[first:second], theta[second:third]),
            *(theta[third:fourth], theta[fourth:]),
        ]

    def prior(self, theta: FloatArray) -> TermPrior:
        """Return the prior of a vector."""
        weights, logits, exponent, orders, noise = self.split(theta)
        decays = np.ones(len(weights))
        decays[self.decaying] = expit(logits)
        order_weights = np.exp(np.concatenate([[0.0], orders]))
        return TermPrior(
            np.exp(weights),
            decays,
            float(np.exp(exponent[0])),
            order_weights,
            self.n_functions,
            float(np.exp(noise[0])),
        )

    def vector(self, prior: TermPrior) -> FloatArray:
        """Return the vector of a prior."""
        decays = prior.decays[self.decaying]
        return np.concatenate(
            [
                np.log(prior.weights),
                np.log(decays / (1.0 - decays)),
                [np.log(prior.exponent)],
                np.log(prior.order_weights[1:]),
                [np.log(prior.noise)],
            ]
        )

    def positions(self, inputs: IndexArray) -> IndexArray:
        """Return where the parameters of some inputs are, and those of no input."""
        decays = self.sizes[0] + np.flatnonzero(np.isin(self.decaying, inputs))
        others = np.arange(self.sizes[2], self.sizes[-1] + 1)
        return np.concatenate([np.sort(inputs), decays, others])

    def bounds(self) -> NDArray[np.float64]:
        n_weights, n_decays, _, n_orders = np.diff(self.sizes, prepend=0)
        low, high = _WEIGHT_BOUNDS
        each = [(low + self.shift, high)] * n_weights + [_DECAY_BOUNDS] * n_decays
        each += [_EXPONENT_BOUNDS] + [_ORDER_BOUNDS] * n_orders + [_NOISE_BOUNDS]
        return np.array(each)

    def start(
        self, logit: float = _DECAY_MEAN, order: float = _FIRST_ORDER
    ) -> TermPrior:
        """Return where a search begins."""
        sizes = np.diff(self.sizes, prepend=0)
        weights, logits = np.full(sizes[0], self.shift), np.full(sizes[1], logit)
        orders = order * np.arange(1, sizes[3] + 1)
        parts = [weights, logits, _EXPONENT_MEAN, orders, np.array([_FIRST_NOISE])]
        return self.prior(np.concatenate(parts))

    def run(self, start: TermPrior, n_steps: int) -> TermPrior:
        """Search from a start."""
        # Kernels that overflow have a value of their own in the objective. They have
        # few rows, on which a second thread gains nothing.
        with one_thread_if_small(0), np.errstate(over="ignore", invalid="ignore"):
            units = self.units()
            found = minimize(
                self.objective_in,
                self.vector(start) / units,
                args=(units,),
                jac=True,
                method="L-BFGS-B",
                bounds=self.bounds() / units[:, np.newaxis],
                options={"maxiter": n_steps, "ftol": _LEAST_GAIN},
            )
            gain = float(self.null() - found.fun)
        return replace(self.prior(found.x * units), log_evidence=gain)

    def better(self, found: TermPrior) -> TermPrior:
        """Begin once more with slow decays, and return what is more likely."""
        other = self.run(self.start(_SLOW_DECAY, _ORDER_MEAN), MOST_STEPS)
        return max(found, other, key=lambda prior: prior.log_evidence)

    def complete(self, found: TermPrior) -> TermPrior:
        """Begin again with products that the targets hold beyond the prior."""
        for _ in range(_MOST_AGAIN):
            missed = self.missed(found)
            if not missed:
                break
            other = self.run(_with_terms(found, missed), MOST_STEPS)
            if not other.log_evidence > found.log_evidence:
                break
            found = other
        return found

    def missed(self, prior: TermPrior) -> list[tuple[IndexArray, float]]:
        """Return products that targets hold beyond a prior, the surest first.

        By score tests of their variances. Beside each multi-index stands the variance
        after a step of Fisher's scoring.
        """
        kernel, _ = self.terms.forward(prior)
        known = []
        for each in self.observations:
            solution = each.solved(kernel, prior.noise)
            if solution is None:
                return []
            inverse, solved, _ = solution
            known.append((each, np.tril(inverse) + np.tril(inverse, -1).T, solved))
        number = sum(each.number for each in self.observations)
        counts, found = np.zeros(len(self.n_functions) + 1), []
        for terms, multi_indices in self.terms.products(self.n_functions):
            ratio, spreads = np.zeros((2, len(terms)))
            for each, inverse, solved in known:
                own = terms[:, each.rows]
                spread = np.einsum("jr,jr->j", own @ inverse, own)
                spread = np.maximum(spread, 1e-300)
                squares = np.square(own @ solved).sum(axis=1)
                ratio += each.number * squares / spread
                spreads += each.number * spread
            orders = np.count_nonzero(multi_indices, axis=1)
            counts += np.bincount(orders, minlength=len(counts))
            p_values, variances = chdtrc(number, ratio), (ratio - number) / spreads
            found += [
                (p_values[k], orders[k], multi_indices[k], variances[k])
                for k in np.flatnonzero(p_values <= _PRODUCT_LEVEL)
            ]
        sure = [one for one in found if one[0] * counts[one[1]] <= _PRODUCT_LEVEL]
        return [one[2:] for one in sorted(sure, key=lambda one: (one[0], -one[3]))]

    def units(self) -> FloatArray:
        """Return units of the parameters in which second derivatives are alike."""
        n_rows = max(len(each.rows) for each in self.observations)
        each = [1.0, 1.0, _EXPONENT_CURVATURE, 1.0, 1.0 + _NOISE_CURVATURE * n_rows]
        sizes = np.diff([0, *self.sizes, self.sizes[-1] + 1])
        return 1.0 / np.sqrt(np.repeat(each, sizes))

    def objective_in(
        self, values: FloatArray, units: FloatArray
    ) -> tuple[float, FloatArray]:
        """Return the objective and its gradient at a vector in units."""
        value, slope = self.objective(values * units)
        return value, slope * units

    def null(self) -> float:
        """Return the objective of noise alone."""
        noise = 1.0
        total = 0.0
        for each in self.observations:
            empty = np.zeros((int(each.rows.max()) + 1,) * 2)
            total += each.evidence(empty, noise)[0]
        return total + _noise_prior(np.zeros(1))[0]

    def objective(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log posterior density and its gradient."""
        prior = self.prior(theta)
        kernel, state = self.terms.forward(prior)
        slope = np.zeros_like(kernel)
        value, by_noise = 0.0, 0.0
        for each in self.observations:
            one, by = each.evidence(kernel, prior.noise, slope)
            value, by_noise = value + one, by_noise + by
        if not np.isfinite(value):
            return 1e10, np.zeros_like(theta)
        by_function, by_order = self.terms.backward(prior, state, slope)
        weights, logits, exponent, orders, noise = self.split(theta)
        more = np.arange(1.0, len(orders) + 1.0)  # inputs beyond the first
        by_decay, by_exponent = self._by_decay(prior, by_function)
        parts = [by_function.sum(axis=1), by_decay, np.array([by_exponent])]
        parts += [by_order[1:], np.array([by_noise])]
        for part, given in zip(
            parts,
            (
                _common_mean(weights - self.shift, _WEIGHT_SPREAD),
                _common_mean(logits - _DECAY_MEAN, _DECAY_SPREAD),
                _independent(exponent, _EXPONENT_MEAN, _EXPONENT_SPREAD),
                _independent(orders, _ORDER_MEAN * more, 1.0 + _ORDER_SPREAD * more),
                _noise_prior(noise),
            ),
            strict=True,
        ):
            value += given[0]
            part += given[1]
        return float(value), np.concatenate(parts)

    def _by_decay(
        self, prior: TermPrior, by_function: FloatArray
    ) -> tuple[FloatArray, float]:
        """Return slopes by the logits of decays and the logarithm of the exponent."""
        some = self.decaying
        decays = prior.decays[some]
        shares = prior.shares[some]
        slopes = by_function[some]
        slopes = slopes - shares * slopes.sum(axis=1, keepdims=True)
        rates = -np.log(decays)[:, np.newaxis]
        fall = rates * np.arange(slopes.shape[1])
        powers = prior.exponent * np.power(fall, prior.exponent)
        by_decay = (1.0 - decays) * (slopes * powers / rates).sum(axis=1)
        logs = np.log(np.maximum(fall, 1e-300))
        return by_decay, -float((slopes * powers * logs).sum())


def _with_terms(
    prior: TermPrior, terms: Sequence[tuple[IndexArray, float]]
) -> TermPrior:
    """Raise weights and decays of inputs until terms have at least given variances."""
    weights, decays = prior.weights.copy(), prior.decays.copy()
    orders = prior.order_weights.copy()
    orders[1:] = np.maximum(orders[1:], _LEAST_ORDER_WEIGHT)
    for term, _ in terms:
        inputs = np.flatnonzero(term)
        slow = np.exp(-1.0 / np.maximum(term[inputs] - 1, 1))
        decays[inputs] = np.maximum(decays[inputs], slow)
    begun = replace(prior, decays=decays, order_weights=orders)
    for term, variance in terms:
        inputs = np.flatnonzero(term)
        shares = begun.shares[inputs, term[inputs] - 1].prod()
        product = variance / (orders[len(inputs) - 1] * shares)
        weights[inputs] = _raised(weights[inputs], product)
    return replace(begun, weights=weights)


def _raised(weights: FloatArray, product: float) -> FloatArray:
    """Raise the smallest weights to one level, at which their product is given."""
    ascending = np.sort(weights)
    for number in range(1, len(weights) + 1):
        level = (product / ascending[number:].prod()) ** (1.0 / number)
        if number == len(weights) or level <= ascending[number]:
            break
    return np.asarray(np.maximum(weights, level))


def _common_mean(
    deviations: FloatArray, spread: tuple[float, float]
) -> tuple[float, FloatArray]:
    """Return minus the log density, and slopes, of values with an unknown mean."""
    each, common = spread[0] ** 2, spread[1] ** 2
    share = common / (each + len(deviations) * common)
    slope = (deviations - share * deviations.sum()) / each
    return 0.5 * float(deviations @ slope), slope


def _independent(
    values: FloatArray, mean: FloatArray, spread: FloatArray
) -> tuple[float, FloatArray]:
    """Return the same of independent normal values."""
    standard = (values - mean) / spread
    return 0.5 * float(standard @ standard), standard / spread


def _noise_prior(logarithm: FloatArray) -> tuple[float, FloatArray]:
    """Return the same of the logarithm of the noise."""
    scaled = np.exp(logarithm) / _NOISE_MEAN
    return float((scaled - logarithm).sum()), scaled - 1.0
