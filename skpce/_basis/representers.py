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

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._checks import FloatArray, IndexArray
from .._input_laws import InputLaw
from .basis import PolynomialBasis, categorical_inputs
from .index_sets import build_multi_indices, check_design_fits
from .symmetric_sums import Cells, SymmetricSums
from .univariate import UnivariateFunctions

# Entries of a block of kernel values with the sums by cell that make it.
_BLOCK_ENTRIES = 2**23

#: Inputs, and terms, up to which the terms of an expansion are listed on request.
MOST_LISTED = 200_000


class NoTermsError(ValueError):
    """An expansion that lists no terms was asked for them."""


@dataclass(frozen=True)
class RepresenterBasis:
    """The constant and one function for each sample, ``K(., sample)``.

    It stands in an expansion where a ``PolynomialBasis`` does otherwise. Its functions
    are not orthonormal.
    """

    laws: Sequence[InputLaw]  # one per feature
    inputs: FloatArray  # shape: (n_samples, n_features), of the fit
    input_weights: FloatArray  # shape: (n_features,), not negative
    cell_weights: FloatArray  # shape: (n_cells,); 0 for the constant
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
        return 1 + len(self.inputs)

    @property
    def order_weights(self) -> FloatArray:
        """Weight of a term of one, two, ... inputs of degree one, over the first."""
        places = [self.cells.number[r, r] for r in range(1, self.order + 1)]
        weights = self.cell_weights[places]
        first = weights[0] if len(weights) and weights[0] > 0 else 1.0
        return np.asarray(weights / first)

    @property
    def degree_decay(self) -> float:
        """Weight of degree two in one input over that of degree one; 1 without it."""
        if (1, 2) not in self.cells.number:
            return 1.0
        first, second = (self.cell_weights[self.cells.number[1, k]] for k in (1, 2))
        return float(second / first) if first > 0 else 1.0

    @property
    def multi_indices(self) -> IndexArray:
        """Not listed: raises :class:`NoTermsError`."""
        raise NoTermsError(
            f"This expansion is a sum over {self.n_terms:.6g} terms that are not "
            "listed; expected one with its terms. expansion.explicit() lists them if "
            "they are few, expansion.marginal(inputs).explicit() those of some inputs."
        )

    exponents = multi_indices
    degrees = multi_indices

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

    def kernel(self, X: FloatArray) -> FloatArray:  # shape: (n_rows, n_samples)
        """Evaluate the kernel between rows and the samples."""
        sums = SymmetricSums(
            self.cells,
            self.input_weights,
            lambda: self.functions.at(X),
            lambda: self.functions.at(self.inputs),
        )
        return np.tensordot(self.cell_weights, sums.every, 1)

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
        each = len(self.inputs) * (len(self.cells.pairs) + 2)
        size = max(max_entries // max(each, 1), 64)
        for start in range(0, len(X), size):
            rows = slice(start, min(start + size, len(X)))
            kernel = self.kernel(X[rows])
            yield rows, np.hstack([np.ones((len(kernel), 1)), kernel])

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

    warn_outside = PolynomialBasis.warn_outside
    p_values = PolynomialBasis.p_values
    sample = PolynomialBasis.sample

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
            input_weights=self.input_weights[chosen],
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
        weights = self.weights_of(basis)
        found = (coefficients[:, 1:] @ basis.evaluate(self.inputs)) * weights
        found[:, 0] = coefficients[:, 0]
        return basis, found

    def weights_of(self, basis: PolynomialBasis) -> FloatArray:  # shape: (n_terms,)
        """Return the weights of listed terms; 0 for the constant."""
        active = basis.multi_indices > 0
        weights = np.where(active, self.input_weights, 1.0).prod(axis=1)
        pairs = zip(active.sum(axis=1).tolist(), basis.degrees.tolist(), strict=True)
        places = [self.cells.number[pair] for pair in pairs]
        return weights * self.cell_weights[places]

    # Partial variances, each of shape (n_groups,) or (n_groups, n_features)

    @cached_property
    def _squared(self) -> SymmetricSums:
        """Symmetric sums between the samples, with squared weights."""
        blocks = self.functions.held(self.inputs)
        return SymmetricSums(self.cells, np.square(self.input_weights), lambda: blocks)

    def partial_variances(
        self,
        coefficients: FloatArray,  # shape: (n_targets, 1 + n_samples)
        groups: IndexArray,  # shape: (n_targets,)
        n_groups: int,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return first-order, total and Shapley partial variances and the variance."""
        sums, squares = self._squared, np.square(self.cell_weights)
        sets = np.array([squares, squares / np.maximum(self.cells.orders, 1)])
        kernel = np.tensordot(squares, sums.every, 1)
        dual, n_inputs = coefficients[:, 1:], len(self.laws)
        found = np.empty((2, n_groups, n_inputs))
        variance = np.empty(n_groups)
        for chosen, products in products_of_groups(dual, groups, n_groups):
            found[:, chosen] = sums.holding_each(sets, products)
            variance[chosen] = np.einsum("glk,lk->g", products, kernel)
        alone = np.where(self.cells.orders == 1, squares, 0.0)
        first = self._first_order(dual, groups, n_groups, alone)
        # Rounding, which is of the size of the whole, makes no share negative.
        total, shapley = np.maximum(found, first)
        return first, total, shapley, np.maximum(variance, 0.0)

    def _first_order(
        self,
        dual: FloatArray,  # shape: (n_targets, n_samples)
        groups: IndexArray,
        n_groups: int,
        cell_weights: FloatArray,  # shape: (n_cells,), squared, of single inputs
    ) -> FloatArray:  # shape: (n_groups, n_features)
        """Add up the squared coefficients of the functions of each input."""
        found = np.zeros((n_groups, len(self.laws)))
        for positions, values in self._squared.blocks():
            weights = np.square(self.input_weights[positions])
            for k, functions in enumerate(values, start=1):
                weight = cell_weights[self.cells.number[1, k]]
                squares = np.square(dual @ functions) * weight
                if len(positions) != squares.shape[1]:  # contrasts of one input
                    squares = squares.sum(axis=1, keepdims=True)
                np.add.at(found, (groups[:, np.newaxis], positions), squares * weights)
        return found

    def main_effects(
        self,
        coefficients: FloatArray,  # shape: (n_targets, 1 + n_samples)
        X: FloatArray,  # shape: (n_rows, n_features)
    ) -> FloatArray:  # shape: (n_rows, n_features, n_targets)
        """Evaluate the effect of each input alone."""
        effects = np.zeros((len(X), X.shape[1], len(coefficients)))
        pairs = zip(self.functions.at(X), self._squared.blocks(), strict=True)
        for (positions, values), (_, own) in pairs:
            for k, (here, there) in enumerate(zip(values, own, strict=True), start=1):
                weight = self.cell_weights[self.cells.number[1, k]]
                slopes = weight * (coefficients[:, 1:] @ there)
                each = here[:, :, np.newaxis] * slopes.T
                if len(positions) != each.shape[1]:  # contrasts of one input
                    each = each.sum(axis=1, keepdims=True)
                weights = self.input_weights[positions, np.newaxis]
                effects[:, positions] += each * weights
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
        inside = self.of_inputs(features)._squared
        every = inside.every.copy()
        if kind == "exact":
            every = inside.of_all_inputs
        every[0] = 0.0
        if kind == "total":
            rest = np.setdiff1d(np.arange(len(self.laws)), list(features))
            if len(rest):
                outside = self.of_inputs(rest.tolist())._squared.every
                every = self.cells.product(every, outside)
        kernel = np.tensordot(np.square(self.cell_weights), every, 1)
        variance = np.empty(n_groups)
        for chosen, products in products_of_groups(
            coefficients[:, 1:], groups, n_groups
        ):
            variance[chosen] = np.einsum("glk,lk->g", products, kernel)
        return np.maximum(variance, 0.0)


def products_of_groups(
    dual: FloatArray,  # shape: (n_targets, n_samples)
    groups: IndexArray,  # shape: (n_targets,)
    n_groups: int,
) -> Iterator[tuple[slice, FloatArray]]:  # (n_some, n_samples, n_samples)
    """Yield products of dual coefficients, added up over each group, in blocks."""
    n_samples = dual.shape[1]
    size = max(_BLOCK_ENTRIES // max(n_samples**2, 1), 1)
    for start in range(0, n_groups, size):
        chosen = slice(start, min(start + size, n_groups))
        products = np.empty((chosen.stop - start, n_samples, n_samples))
        for place, group in enumerate(range(start, chosen.stop)):
            own = dual[groups == group]
            products[place] = own.T @ own
        yield chosen, products


#: What an expansion may be expanded in.
Basis = PolynomialBasis | RepresenterBasis
