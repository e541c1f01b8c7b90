"""The smallest eigenvalue of designs of other sizes, by simulation."""

from __future__ import annotations

import math

import numpy as np

from .._basis import PolynomialBasis
from .._checks import FloatArray

# Sizes grow by this factor; between them the eigenvalue is interpolated.
_GROWTH = math.sqrt(2.0)

# Work for all designs: multiplications of Gram matrices, and values of basis functions.
_MOST_MULTIPLICATIONS = 5e9
_MOST_VALUES = 1e8

# An eigenvalue this near its limit 1 needs no larger designs.
_NEAR_ONE = 0.98


class SimulatedDesigns:
    r"""Several nested random designs, and the smallest eigenvalue of all of them.

    :math:`\lambda_{\min}(\Psi^\top\Psi)` of a design cannot shrink when rows are
    added, so with nested designs a bound that divides by it falls with the size.

    Parameters
    ----------
    basis : PolynomialBasis
        Its laws give the inputs.
    n_designs : int
        Number of designs.
    generator : Generator
        Of the inputs.
    """

    def __init__(
        self, basis: PolynomialBasis, n_designs: int, generator: np.random.Generator
    ) -> None:
        n_terms = len(basis.multi_indices)
        self._basis = basis
        self._generators = generator.spawn(n_designs)
        self._grams = np.zeros((n_designs, n_terms, n_terms))
        work = min(
            _MOST_MULTIPLICATIONS / (n_designs * n_terms**2),
            _MOST_VALUES / (n_designs * n_terms),
        )
        self._largest = max(int(work), 4 * n_terms)
        self.sizes: list[int] = []
        self.totals: list[float] = []  # smallest eigenvalue of the sum of squares
        self.grow()

    @property
    def can_grow(self) -> bool:
        """Whether larger designs are affordable and would still tell something."""
        size, total = self.sizes[-1], self.totals[-1]
        return size * _GROWTH <= self._largest and total < _NEAR_ONE * size

    def grow(self) -> None:
        """Add rows to every design."""
        size = len(self._basis.multi_indices) + 1
        if self.sizes:
            size = math.ceil(self.sizes[-1] * _GROWTH)
        more = size - (self.sizes[-1] if self.sizes else 0)
        for gram, generator in zip(self._grams, self._generators, strict=True):
            inputs = self._basis.sample(more, generator)
            for _, design in self._basis.blocks(inputs):
                gram += design.T @ design
        self.sizes.append(size)
        self.totals.append(min(smallest_of_gram(gram) for gram in self._grams))

    def eigenvalue(self, n_members: int) -> float:
        """Return the smallest eigenvalue of the Gram matrix at a size.

        Linear in the size between simulated ones; constant beyond them, which is
        cautious: the smallest eigenvalue of a sum is at least the sum of those of its
        parts. 0 below the smallest size.
        """
        if n_members < self.sizes[0]:
            return 0.0
        if n_members >= self.sizes[-1]:
            return self.totals[-1] / self.sizes[-1]
        return float(np.interp(n_members, self.sizes, self.totals)) / n_members


def smallest_of_gram(gram: FloatArray) -> float:
    """Return the smallest eigenvalue of a sum of squares; 0 where it is rounding."""
    values = np.linalg.eigvalsh(gram)
    rounding = len(gram) * np.finfo(np.float64).eps * values[-1]
    return float(values[0]) if values[0] > rounding else 0.0
