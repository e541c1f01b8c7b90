"""The orthonormal polynomial basis: input laws joined with a multi-index set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from ._feature_names import input_names
from ._input_laws import (
    InputLaw,
    check_distribution,
    learn_input_laws,
)
from ._multi_index import check_truncation, checked_multi_indices

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]


@dataclass(frozen=True)
class PolynomialBasis:
    """Products of univariate orthonormal polynomials.

    Parameters
    ----------
    laws : sequence of InputLaw
        One per feature.
    multi_indices : ndarray of shape (n_terms, n_features)
        Row 0 is zero; every row minus its last positive entry is a row too.
    """

    laws: Sequence[InputLaw]
    multi_indices: IndexArray

    @cached_property
    def _factors(self) -> list[tuple[int, int, int]]:
        """For each term but the first: (parent term, feature, exponent).

        The parent is the term without its last feature, so every column of the
        design matrix is one product.
        """
        terms, features = np.nonzero(self.multi_indices)
        exponents = self.multi_indices[terms, features]
        ends = np.searchsorted(terms, np.arange(1, len(self.multi_indices)), "right")
        position: dict[tuple[tuple[int, int], ...], int] = {(): 0}
        factors = []
        start = 0
        for term, end in enumerate(ends.tolist(), start=1):
            key = tuple(
                zip(
                    features[start:end].tolist(),
                    exponents[start:end].tolist(),
                    strict=True,
                )
            )
            position[key] = term
            factors.append((position[key[:-1]], *key[-1]))
            start = end
        return factors

    def evaluate(self, X: FloatArray) -> FloatArray:
        """Return the design matrix of shape (n_samples, n_terms)."""
        largest = self.multi_indices.max(axis=0, initial=0)
        univariate = [
            law.evaluate(X[:, i], int(largest[i])) for i, law in enumerate(self.laws)
        ]
        columns = np.empty((self.multi_indices.shape[0], X.shape[0]))
        columns[0] = 1.0
        for term, (parent, feature, exponent) in enumerate(self._factors, start=1):
            np.multiply(
                columns[parent], univariate[feature][exponent], out=columns[term]
            )
        return columns.T

    def warn_outside(self, X: FloatArray, names: Sequence[str]) -> None:
        """Warn about values outside the support of their law."""
        for i, law in enumerate(self.laws):
            law.warn_outside(X[:, i], names[i])

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        """Draw independent inputs; shape (size, n_features)."""
        return np.column_stack([law.sample(size, generator) for law in self.laws])

    def names(self, input_names: Sequence[str]) -> list[str]:
        """Return one name per term, such as ``He2(x0)*He1(x1)``."""
        return [self._name(row, input_names) for row in self.multi_indices]

    def _name(self, row: IndexArray, input_names: Sequence[str]) -> str:
        parts = [
            f"{self.laws[i].polynomial}{row[i]}({input_names[i]})"
            for i in np.flatnonzero(row)
        ]
        return "*".join(parts) or "1"


class BasisMixin:
    """What estimators on a polynomial basis share: its parameters and evaluation."""

    degree: Any
    distribution: Any
    truncation: Any
    q: Any
    interaction_order: Any
    basis_: PolynomialBasis
    multi_indices_: IndexArray

    def _check_basis(self, n_features: int) -> list[Any]:
        """Check the parameters of the basis; return one law per feature."""
        owner = type(self).__name__
        check_truncation(
            owner, self.degree, self.truncation, self.q, self.interaction_order
        )
        return check_distribution(owner, self.distribution, n_features)

    def _fit_basis(self, X: FloatArray, weights: FloatArray) -> None:
        """Learn the input laws and build the index set."""
        specifications = self._check_basis(X.shape[1])
        self.multi_indices_ = checked_multi_indices(
            type(self).__name__,
            *X.shape,
            degree=int(self.degree),
            q=float(self.q),
            interaction_order=self.interaction_order,
        )
        laws = learn_input_laws(specifications, X, weights)
        self.basis_ = PolynomialBasis(laws, self.multi_indices_)

    def _evaluate_basis(self, X: ArrayLike) -> FloatArray:
        """Return the design matrix of new inputs; shape (n_samples, n_terms)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        self.basis_.warn_outside(X, input_names(self))
        return self.basis_.evaluate(X)
