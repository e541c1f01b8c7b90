r"""Sums over more terms than can be listed, as kernels between rows.

With the prior variances of :class:`~.prior.TermPrior` an expansion fitted to samples is
:math:`f(x) = c_0 + \sum_l \beta_l k(x, x_l)`, and so are its parts: the part of a set u
of inputs is :math:`\sum_l \beta_l c_{|u|} \prod_{i \in u} k_i(x, x_l)`. Its variance
is a quadratic form in :math:`\beta` with the products of :math:`E[k_i(x, x_l)
k_i(x, x_m)]`, so that Sobol indices of all inputs follow from symmetric sums.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np

from .._basis.basis import (
    Functions,
    PolynomialBasis,
    categorical_inputs,
    sort_graded,
    tables_of,
)
from .._checks import FloatArray, IndexArray, state_of_fields
from .._input_laws.families import InputLaw
from .prior import TermPrior, elementary_sums, power_sums

# Entries of the kernel of a block of rows: 4 MiB.
_BLOCK_ENTRIES = 2**19

#: Terms that ``listed`` lists at most.
MOST_LISTED = 200_000
_MOST_EXPONENTS = 100_000_000  # inputs times terms

# Directions of the kernel below this share of the largest are rounding.
_SMALLEST_SHARE = 1e-13


class NoTermsError(ValueError):
    """An expansion has too many terms for a list."""


@dataclass(frozen=True, eq=False)
class KernelBasis(Functions):
    """Kernels to the rows of a fit, as functions that are orthonormal under a prior.

    Column 0 is the constant. A prior has a column for each direction of its kernel
    between the rows, and one for what no row of the fit has in a direction: it is 0 at
    these, and lengthens the others by what is not known about them.
    """

    laws: Sequence[InputLaw]  # one per input
    inputs: FloatArray  # shape: (n_samples, n_inputs), rows of the fit
    priors: tuple[TermPrior, ...]
    maps: tuple[FloatArray, ...]  # each (n_samples, rank), from kernels to functions
    reach: FloatArray  # shape: (2, n_inputs), see ``evaluate_within``

    __getstate__ = state_of_fields

    @classmethod
    def of(
        cls,
        laws: Sequence[InputLaw],
        inputs: FloatArray,
        priors: Sequence[TermPrior],
        reach: FloatArray,
    ) -> KernelBasis:
        """Take the directions of the kernels between the rows."""
        tables = tables_of(laws, inputs, priors[0].n_functions)
        maps = []
        for prior in priors:
            values, vectors = np.linalg.eigh(prior.kernel(tables, tables))
            large = values > _SMALLEST_SHARE * max(values[-1], 1e-300)
            maps.append(vectors[:, large] / np.sqrt(values[large]))
        return cls(laws, inputs, tuple(priors), tuple(maps), reach)

    @cached_property
    def _tables(self) -> FloatArray:
        return tables_of(self.laws, self.inputs, self._n_functions)

    @property
    def _n_functions(self) -> IndexArray:
        return self.priors[0].n_functions

    @cached_property
    def columns(self) -> list[slice]:
        """Columns of each prior, the last of them what no row has."""
        sizes = [each.shape[1] + 1 for each in self.maps]
        ends = accumulate(sizes, initial=1)
        return [slice(start, stop) for start, stop in pairwise(ends)]

    @property
    def n_functions(self) -> int:
        """Number of coefficients of an output."""
        return int(self.columns[-1].stop)

    @property
    def n_terms(self) -> int:
        """Number of terms of up to three inputs, with the constant."""
        each = self._n_functions.astype(np.float64)
        sums = np.array([(each**power).sum() for power in (1, 2, 3)])[:, np.newaxis]
        orders = elementary_sums(sums[:, :, np.newaxis])
        return 1 + round(float(orders[: len(self.priors[0].order_weights)].sum()))

    @property
    def multi_indices(self) -> IndexArray:
        """Not listed: raises :class:`NoTermsError`."""
        raise NoTermsError(
            f"This expansion is a sum over {self.n_terms:.6g} terms that are not "
            "listed: more than 5000 of them matter. Indices, intervals and predictions "
            "do not need them; for a list give 'degree', such as degree=2."
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
        largest = np.sort(self._n_functions)[::-1]
        return int(largest[: len(self.priors[0].order_weights)].sum())

    def terms_within(self, features: Collection[int]) -> IndexArray:
        """Not listed, like ``multi_indices``."""
        return self.multi_indices

    def differentiate(self, X: FloatArray, feature: int) -> FloatArray:
        """Not available, like ``multi_indices``."""
        return self.multi_indices.astype(np.float64)

    def names(self, input_names: Sequence[str]) -> list[str]:
        """Not available, like ``multi_indices``."""
        return [str(row) for row in self.multi_indices]

    # Values

    def blocks(
        self, X: FloatArray, *, max_entries: int = _BLOCK_ENTRIES
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate over blocks of rows of the values."""
        size = max(max_entries // max(3 * len(self.inputs), 1), 16)
        for start in range(0, len(X), size):
            rows = slice(start, min(start + size, len(X)))
            tables = tables_of(self.laws, X[rows], self._n_functions, self.reach)
            parts = [np.ones((tables.shape[2], 1))]
            for prior, directions in zip(self.priors, self.maps, strict=True):
                known = prior.kernel(tables, self._tables) @ directions
                length = prior.variance_at(tables)
                rest = length - np.square(known).sum(axis=1)
                rest = np.where(rest > 1e-9 * length, rest, 0.0)
                parts += [known, np.sqrt(rest)[:, np.newaxis]]
            yield rows, np.hstack(parts)

    # Parts

    def of_inputs(self, features: Sequence[int]) -> tuple[KernelBasis, IndexArray]:
        """Leave out the terms with any other input; functions are those of samples."""
        chosen = list(features)
        alone = replace(
            self,
            laws=tuple(self.laws[i] for i in chosen),
            inputs=self.inputs[:, chosen],
            priors=tuple(prior.of_inputs(chosen) for prior in self.priors),
            reach=self.reach[:, chosen],
        )
        return alone, np.arange(self.n_functions)

    def listed(
        self,
        coefficients: FloatArray,  # shape: (n_targets, n_functions)
    ) -> tuple[PolynomialBasis, FloatArray]:  # and (n_targets, n_terms)
        """Return the basis with its terms, and their coefficients."""
        rows = []
        for prior in self.priors:
            found = prior.listed(MOST_LISTED, 1e-12 * prior.total(), 0.0)
            if found is None or found.size > _MOST_EXPONENTS:
                raise NoTermsError(
                    f"explicit() would list more than {MOST_LISTED} terms of "
                    f"{len(self.laws)} inputs. Take fewer inputs before, by "
                    "expansion.marginal(inputs)."
                )
            rows.append(found)
        terms = np.unique(np.vstack(rows), axis=0)
        basis = PolynomialBasis(
            self.laws, sort_graded(terms, categorical_inputs(self.laws)), self.reach
        )
        design = basis.evaluate(self.inputs)
        values = np.zeros((len(coefficients), basis.n_terms))
        for prior, dual in zip(self.priors, self._dual(coefficients), strict=True):
            values += (dual @ design) * prior.variances(basis.multi_indices)
        values[:, 0] = coefficients[:, 0]
        return basis, values

    def _dual(
        self, coefficients: FloatArray
    ) -> list[FloatArray]:  # each shape: (n_targets, n_samples)
        """Return the coefficients of the kernels of each prior."""
        return [
            coefficients[:, columns.start : columns.stop - 1] @ directions.T
            for columns, directions in zip(self.columns, self.maps, strict=True)
        ]

    # Partial variances

    def partial_variances(
        self,
        coefficients: FloatArray,  # shape: (n_targets, n_functions)
        groups: IndexArray,  # shape: (n_targets,)
        n_groups: int,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return first-order, total and Shapley partial variances and the variance."""
        found = np.zeros((3, n_groups, len(self.laws)))
        variance = np.zeros(n_groups)
        for prior, dual in zip(self.priors, self._dual(coefficients), strict=True):
            squared = prior.squared()
            weighted = self._tables * squared.by_degree[:, :, np.newaxis]
            for group in np.unique(groups[dual.any(axis=1)]):
                mine = dual[groups == group]
                first, total, shapley, whole = _forms(
                    weighted, self._tables, squared.order_weights, mine
                )
                found[:, group] += first, total, shapley
                variance[group] += whole
        first, total, shapley = found
        variance = np.maximum(variance, first.sum(axis=1))
        total, shapley = np.clip((total, shapley), first, variance[:, np.newaxis])
        return first, total, shapley, variance

    def variance_of_set(
        self,
        kind: str,  # "exact", "closed" or "total"
        features: Sequence[int],
        coefficients: FloatArray,  # shape: (n_targets, n_functions)
        groups: IndexArray,
        n_groups: int,
    ) -> FloatArray:  # shape: (n_groups,)
        """Return the variance of the terms of a set of inputs.

        Those whose inputs are exactly the set, that lie in it, or that meet it.
        """
        chosen = list(features)
        variance = np.zeros(n_groups)
        every = list(range(len(self.laws)))
        for prior, dual in zip(self.priors, self._dual(coefficients), strict=True):
            squared = prior.squared()
            if kind == "total":
                rest = np.setdiff1d(every, chosen).tolist()
                form = self._closed(squared, every) - self._closed(squared, rest)
            elif kind == "closed":
                form = self._closed(squared, chosen)
            else:
                form = self._exact(squared, chosen)
            each = np.einsum("tl,lm,tm->t", dual, form, dual)
            np.add.at(variance, groups, each)
        return np.maximum(variance, 0.0)

    def _closed(self, squared: TermPrior, features: Sequence[int]) -> FloatArray:
        """Return the form of all terms of some inputs alone."""
        if not len(features):
            return np.zeros((len(self.inputs),) * 2)
        tables = self._tables[list(features)]
        return squared.of_inputs(features).kernel(tables, tables)

    def _exact(self, squared: TermPrior, features: Sequence[int]) -> FloatArray:
        """Return the form of the terms that have exactly some inputs."""
        if len(features) > len(squared.order_weights):
            return np.zeros((len(self.inputs),) * 2)
        form: FloatArray = np.array(squared.order_weights[len(features) - 1])
        for i in features:
            weighted = self._tables[i] * squared.by_degree[i][:, np.newaxis]
            form = form * (weighted.T @ self._tables[i])
        return form


def _forms(
    weighted: FloatArray,  # shape: (n_inputs, n_functions, n_samples)
    tables: FloatArray,
    order_weights: FloatArray,  # shape: (n_orders,)
    dual: FloatArray,  # shape: (n_targets, n_samples)
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return partial variances of a group: first-order, total, Shapley, all."""
    p1, e2, e3 = elementary_sums(power_sums(weighted, tables))
    _, c2, c3 = (*order_weights, 0.0, 0.0)[:3]
    product = dual.T @ dual
    found = np.empty((3, len(tables)))
    for i, (left, right) in enumerate(zip(weighted, tables, strict=True)):
        kernel = left.T @ right
        form = kernel * product
        others = p1 - kernel
        first, two = form.sum(), c2 * np.vdot(form, others)
        three = c3 * np.vdot(form, e2 - kernel * others)
        found[:, i] = first, first + two + three, first + two / 2.0 + three / 3.0
    whole = float(np.vdot(product, p1 + c2 * e2 + c3 * e3))
    return found[0], found[1], found[2], whole


#: What an expansion may be expanded in.
Basis = PolynomialBasis | KernelBasis
