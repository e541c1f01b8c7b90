r"""Expansions in all terms up to a degree, held as sums over the samples of their fit.

A ridge penalises :math:`c_j^2 / w_j`, with a weight :math:`w_j` for each term. Its
solution is a sum over the samples, :math:`c_j = w_j \sum_l \beta_l \psi_j(x_l)`, so
that

.. math:: f(x) = c_0 + \sum_l \beta_l K(x, x_l), \qquad
   K(x, x') = \sum_{j \ne 0} w_j \psi_j(x) \psi_j(x').

The weights here are products, of one weight for the order and degree of the term and
one for each of its inputs; the kernel is then a sum of the symmetric sums of
:mod:`.symmetric_sums`, and so is every partial variance
:math:`\sum_j c_j^2 = \sum_{l l'} \beta_l \beta_{l'} \sum_j w_j^2 \psi_j(x_l)
\psi_j(x_{l'})` over a set of terms: the same kernel with squared weights. No term is
ever listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from .._checks import FloatArray, IndexArray
from .._input_laws import InputLaw
from .._input_laws.columns import warn_outside
from .basis import PolynomialBasis, categorical_inputs, sample_laws
from .index_sets import build_multi_indices, check_design_fits
from .symmetric_sums import Block, Cells, SymmetricSums
from .univariate import UnivariateFunctions

# Entries of a block of kernel values with the sums by cell that make it.
_BLOCK_ENTRIES = 2**23

#: Inputs, and terms, up to which the terms of an expansion are listed on request.
MOST_LISTED = 200_000


class NoTermsError(ValueError):
    """An expansion that lists no terms was asked for them."""


@dataclass(frozen=True)
class RepresenterBasis:
    """The constant and, for each kernel and sample, the function ``K(., sample)``.

    It stands in an expansion where a ``PolynomialBasis`` does otherwise. Its functions
    are not orthonormal. Outputs that depend on different inputs have kernels of their
    own.
    """

    laws: Sequence[InputLaw]  # one per feature
    inputs: FloatArray  # shape: (n_samples, n_features), of the fit
    input_weights: FloatArray  # shape: (n_kernels, n_features), not negative
    cell_weights: FloatArray  # shape: (n_kernels, n_cells); 0 for the constant
    degree: int
    order: int

    @cached_property
    def cells(self) -> Cells:
        """Orders and degrees of the terms."""
        return Cells(self.degree, self.order)

    @cached_property
    def functions(self) -> UnivariateFunctions:
        """Orthonormal functions of each input."""
        return UnivariateFunctions(self.laws, self.degree)

    @cached_property
    def n_terms(self) -> int:
        """Number of terms, with the constant."""
        return round(float(self.cells.counts(self.functions.counts).sum()))

    @property
    def n_functions(self) -> int:
        """Number of functions: the constant and the representers."""
        return 1 + self.n_kernels * len(self.inputs)

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""
        return len(self.input_weights)

    @property
    def order_weights(self) -> FloatArray:  # shape: (n_kernels, order)
        """Weight of a term of one, two, ... inputs of degree one, over the first."""
        places = [self.cells.number[r, r] for r in range(1, self.order + 1)]
        weights = self.cell_weights[:, places]
        first = weights[:, :1]
        return np.asarray(weights / np.where(first > 0, first, 1.0))

    @property
    def degree_decay(self) -> FloatArray:  # shape: (n_kernels,)
        """Weight of degree two in one input over that of degree one; 1 without it."""
        if (1, 2) not in self.cells.number:
            return np.ones(self.n_kernels)
        places = [self.cells.number[1, k] for k in (1, 2)]
        first, second = self.cell_weights[:, places].T
        return np.asarray(second / np.where(first > 0, first, 1.0))

    @property
    def multi_indices(self) -> IndexArray:
        """Not listed: raises :class:`NoTermsError`."""
        raise NoTermsError(
            f"This expansion is a sum over {self.n_terms:.6g} terms that are not "
            "listed; expected one with its terms, or 1 for 'order' and 'max_order'. "
            "expansion.explicit() lists them if they are few, "
            "expansion.marginal(inputs).explicit() those of some inputs."
        )

    exponents = multi_indices
    degrees = multi_indices

    @property
    def with_terms(self) -> PolynomialBasis:
        """Not available, like ``multi_indices``."""
        return PolynomialBasis(self.laws, self.multi_indices)

    @property
    def total_degree(self) -> int:
        """Largest total degree of a term."""
        return self.degree

    def terms_within(self, features: Collection[int]) -> IndexArray:
        """Not listed, like ``multi_indices``."""
        return self.multi_indices

    def differentiate(self, X: FloatArray, feature: int) -> FloatArray:
        """Not available, like ``multi_indices``."""
        return self.multi_indices.astype(np.float64)

    # Values

    def kernels(self, X: FloatArray) -> FloatArray:
        """Evaluate the kernels; shape (n_rows, n_kernels * n_samples)."""
        here = list(self.functions.at(X))
        found = []
        for input_weights, cell_weights in self._weights:
            sums = SymmetricSums(
                self.cells, input_weights, lambda: here, lambda: self._own
            )
            found.append(np.tensordot(cell_weights, sums.every, 1))
        return np.hstack(found)

    @cached_property
    def _own(self) -> Iterable[Block]:
        """Functions of the inputs at the samples."""
        return self.functions.held(self.inputs)

    @property
    def _weights(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Weights of the inputs and of the cells, kernel by kernel."""
        return zip(self.input_weights, self.cell_weights, strict=True)

    def _dual(
        self, coefficients: FloatArray
    ) -> FloatArray:  # shape: (n_targets, n_kernels, n_samples)
        """Return the dual coefficients of each kernel."""
        shape = len(coefficients), self.n_kernels, len(self.inputs)
        return coefficients[:, 1:].reshape(shape)

    def evaluate(
        self,
        X: FloatArray,  # shape: (n_rows, n_features)
        slope_of: int | None = None,
        largest_product: float = np.inf,
    ) -> FloatArray:  # shape: (n_rows, 1 + n_samples)
        """Evaluate the functions at rows; other arguments are for listed terms."""
        values = np.empty((len(X), self.n_functions))
        for rows, design in self.blocks(X):
            values[rows] = design
        return values

    def blocks(
        self, X: FloatArray, *, max_entries: int = _BLOCK_ENTRIES
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate over blocks of rows of the values."""
        each = len(self.inputs) * (len(self.cells.pairs) + 2 * self.n_kernels)
        each += len(self.laws) * self.degree
        size = max(max_entries // max(each, 1), 64)
        for start in range(0, len(X), size):
            rows = slice(start, min(start + size, len(X)))
            kernels = self.kernels(X[rows])
            yield rows, np.hstack([np.ones((len(kernels), 1)), kernels])

    def combine(
        self,
        X: FloatArray,  # shape: (n_rows, n_features)
        coefficients: FloatArray,  # shape: (n_targets, 1 + n_samples)
    ) -> FloatArray:  # shape: (n_rows, n_targets)
        """Evaluate expansions."""
        values = np.empty((len(X), len(coefficients)))
        for rows, design in self.blocks(X):
            np.matmul(design, coefficients.T, out=values[rows])
        return values

    def warn_outside(self, X: FloatArray, names: Sequence[str]) -> None:
        """Warn about values outside the support of their distribution."""
        warn_outside(self.laws, X, names)

    def p_values(self, X: FloatArray) -> FloatArray:  # shape: (n_features,)
        """Return the goodness of fit of each input to its distribution."""
        columns = zip(self.laws, X.T, strict=True)
        return np.array([law.p_value(column) for law, column in columns])

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        """Draw independent inputs; shape (size, n_features)."""
        return sample_laws(self.laws, size, generator)

    def names(self, input_names: Sequence[str]) -> list[str]:
        """Not available, like ``multi_indices``."""
        return [str(row) for row in self.multi_indices]

    # Parts

    def of_inputs(self, features: Sequence[int]) -> RepresenterBasis:
        """Leave out the terms with any other input."""
        chosen = list(features)
        return replace(
            self,
            laws=tuple(self.laws[i] for i in chosen),
            inputs=self.inputs[:, chosen],
            input_weights=self.input_weights[:, chosen],
        )

    def listed(
        self,
        coefficients: FloatArray,  # shape: (n_targets, 1 + n_samples)
    ) -> tuple[PolynomialBasis, FloatArray]:  # and (n_targets, n_terms)
        """Return the basis with its terms, and their coefficients."""
        if max(self.n_terms, len(self.laws)) > MOST_LISTED:
            raise NoTermsError(
                f"explicit() would list {self.n_terms:.6g} terms of {len(self.laws)} "
                f"inputs; expected at most {MOST_LISTED}. Take fewer inputs before, by "
                "expansion.marginal(inputs)."
            )
        categorical = categorical_inputs(self.laws)
        multi_indices = build_multi_indices(
            len(self.laws),
            self.degree,
            interaction_order=self.order,
            largest=np.array([law.largest_degree for law in self.laws]),
            categorical=categorical,
        )
        n_rows, n_terms = len(self.inputs), len(multi_indices)
        check_design_fits("explicit", n_rows, n_terms, "Take fewer inputs.")
        basis = PolynomialBasis(self.laws, multi_indices)
        design = basis.evaluate(self.inputs)
        found = np.zeros((len(coefficients), n_terms))
        for dual, weights in zip(
            self._dual(coefficients).transpose(1, 0, 2),
            self.weights_of(basis),
            strict=True,
        ):
            found += (dual @ design) * weights
        found[:, 0] = coefficients[:, 0]
        return basis, found

    def weights_of(
        self, basis: PolynomialBasis
    ) -> FloatArray:  # shape: (n_kernels, n_terms)
        """Return the weights of listed terms; 0 for the constant."""
        active = basis.multi_indices > 0
        pairs = zip(active.sum(axis=1).tolist(), basis.degrees.tolist(), strict=True)
        places = [self.cells.number[pair] for pair in pairs]
        return np.array(
            [
                np.where(active, input_weights, 1.0).prod(axis=1) * cell_weights[places]
                for input_weights, cell_weights in self._weights
            ]
        )

    # Partial variances, each of shape (n_groups,) or (n_groups, n_features)

    def _products(
        self,
        coefficients: FloatArray,  # shape: (n_targets, n_functions)
        groups: IndexArray,  # shape: (n_targets,)
        n_groups: int,
    ) -> Iterator[tuple[tuple[FloatArray, FloatArray], list[int], FloatArray]]:
        """Yield products of weights, groups, and products of dual coefficients.

        For each pair of kernels in which a group has coefficients, so that squares of
        sums over kernels are sums over the pairs. In blocks of groups.
        """
        dual = self._dual(coefficients)
        has = np.zeros((n_groups, self.n_kernels), dtype=bool)
        np.logical_or.at(has, groups, np.any(dual != 0.0, axis=2))
        size = max(_BLOCK_ENTRIES // max(len(self.inputs) ** 2, 1), 1)
        for one, two in combinations_with_replacement(range(self.n_kernels), 2):
            both = np.flatnonzero(has[:, one] & has[:, two]).tolist()
            weights = (
                self.input_weights[one] * self.input_weights[two],
                self.cell_weights[one] * self.cell_weights[two],
            )
            for start in range(0, len(both), size):
                some = both[start : start + size]
                products = []
                for group in some:
                    left, right = dual[groups == group][:, [one, two]].swapaxes(0, 1)
                    product = left.T @ right
                    products.append(product if one == two else product + product.T)
                yield weights, some, np.array(products)

    def _sums(self, weights: FloatArray) -> SymmetricSums:
        """Return symmetric sums between the samples, with weights of the inputs."""
        return SymmetricSums(self.cells, weights, lambda: self._own)

    def partial_variances(
        self,
        coefficients: FloatArray,  # shape: (n_targets, n_functions)
        groups: IndexArray,  # shape: (n_targets,)
        n_groups: int,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return first-order, total and Shapley partial variances and the variance."""
        found = np.zeros((2, n_groups, len(self.laws)))
        variance = np.zeros(n_groups)
        orders = np.maximum(self.cells.orders, 1)
        known: tuple[Any, SymmetricSums | None] = (None, None)
        for (inputs, cells), some, products in self._products(
            coefficients, groups, n_groups
        ):
            if known[1] is None or known[0] is not inputs:
                known = inputs, self._sums(inputs)
            sums = known[1]
            assert sums is not None
            found[:, some] += sums.holding_each(
                np.array([cells, cells / orders]), products
            )
            kernel = np.tensordot(cells, sums.every, 1)
            variance[some] += np.einsum("glk,lk->g", products, kernel)
        first = self._first_order(coefficients, groups, n_groups)
        # Rounding, which is of the size of the kernel, makes no share negative or
        # larger than 1.
        variance = np.maximum(variance, first.sum(axis=1))
        total, shapley = np.clip(found, first, variance[:, np.newaxis])
        return first, total, shapley, variance

    def _first_order(
        self, coefficients: FloatArray, groups: IndexArray, n_groups: int
    ) -> FloatArray:  # shape: (n_groups, n_features)
        """Add up the squared coefficients of the functions of each input."""
        found = np.zeros((n_groups, len(self.laws)))
        for positions, values in self._own:
            for k, functions in enumerate(values, start=1):
                squares = np.square(self._slopes(coefficients, positions, functions, k))
                if len(positions) != squares.shape[1]:  # contrasts of one input
                    squares = squares.sum(axis=1, keepdims=True)
                np.add.at(found, (groups[:, np.newaxis], positions), squares)
        return found

    def _slopes(
        self,
        coefficients: FloatArray,  # shape: (n_targets, n_functions)
        positions: IndexArray,  # shape: (n_inputs,), those of a block
        functions: FloatArray,  # shape: (n_samples, n_functions of the block)
        degree: int,
    ) -> FloatArray:  # shape: (n_targets, n_functions of the block)
        """Return the coefficients of functions of single inputs."""
        weights = self.cell_weights[:, self.cells.number[1, degree], np.newaxis]
        weights = weights * self.input_weights[:, positions]
        images = np.matmul(self._dual(coefficients), functions)
        return np.asarray((images * weights).sum(axis=1))

    def main_effects(
        self,
        coefficients: FloatArray,  # shape: (n_targets, 1 + n_samples)
        X: FloatArray,  # shape: (n_rows, n_features)
    ) -> FloatArray:  # shape: (n_rows, n_features, n_targets)
        """Evaluate the effect of each input alone."""
        effects = np.zeros((len(X), X.shape[1], len(coefficients)))
        pairs = zip(self.functions.at(X), self._own, strict=True)
        for (positions, values), (_, own) in pairs:
            for k, (here, there) in enumerate(zip(values, own, strict=True), start=1):
                slopes = self._slopes(coefficients, positions, there, k)
                each = here[:, :, np.newaxis] * slopes.T
                if len(positions) != each.shape[1]:  # contrasts of one input
                    each = each.sum(axis=1, keepdims=True)
                effects[:, positions] += each
        return effects

    def variance_of_set(
        self,
        kind: str,  # "exact", "closed" or "total"
        features: Sequence[int],
        coefficients: FloatArray,  # shape: (n_targets, 1 + n_samples)
        groups: IndexArray,
        n_groups: int,
    ) -> FloatArray:  # shape: (n_groups,)
        """Return the variance of the terms of a set of inputs.

        Those whose inputs are exactly the set, that lie in it, or that meet it.
        """
        rest = np.setdiff1d(np.arange(len(self.laws)), list(features)).tolist()
        inner, outer = self.of_inputs(features), self.of_inputs(rest)
        variance = np.zeros(n_groups)
        for (inputs, cells), some, products in self._products(
            coefficients, groups, n_groups
        ):
            inside = inner._sums(inputs[list(features)])
            every = (inside.of_all_inputs if kind == "exact" else inside.every).copy()
            every[0] = 0.0
            if kind == "total" and rest:
                outside = outer._sums(inputs[rest]).every
                every = self.cells.product(every, outside)
            kernel = np.tensordot(cells, every, 1)
            variance[some] += np.einsum("glk,lk->g", products, kernel)
        return np.maximum(variance, 0.0)


#: What an expansion may be expanded in.
Basis = PolynomialBasis | RepresenterBasis
