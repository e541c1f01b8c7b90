"""Laws whose recurrence is computed from a table of points and masses."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._checks import FloatArray
from ._base import InputLaw
from ._measure import FiniteMeasure

# Largest deviation from orthonormality that passes.
TOLERANCE = 1e-8


class UnresolvedError(ValueError):
    """The table of a law cannot be made for a degree."""


@dataclass(frozen=True)
class TabulatedLaw(InputLaw):
    """A law known by a table, made for the degree that is asked.

    Recurrences are kept by degree, so that they do not depend on what was asked
    before. Two threads may at worst compute the same one twice.
    """

    @abstractmethod
    def _tabulate(self, degree: int) -> tuple[FiniteMeasure, FiniteMeasure]:
        """Return the germ's table, and one to check the result on.

        Raises
        ------
        UnresolvedError
            With the reason as its message.
        """

    @abstractmethod
    def _describe(self) -> str:
        """Return what the law is, for messages."""

    @abstractmethod
    def _advice(self) -> str:
        """Return what to do about a degree that is too high, as a sentence."""

    @cached_property
    def _recurrences(self) -> dict[int, tuple[FloatArray, FloatArray, float]]:
        return {}

    def _solve(self, degree: int) -> tuple[FloatArray, FloatArray, float]:
        """Return the recurrence and how far it is from orthonormal."""
        if degree not in self._recurrences:
            table, check = self._tabulate(degree)
            if degree > len(table):
                raise UnresolvedError(f"it has {len(table)} values that matter")
            a, b = table.recurrence(degree)
            last = int(min(degree, self.largest_degree))
            defect = check.defect(a[:last], b[:last])
            for array in (a, b):
                array.flags.writeable = False
            self._recurrences[degree] = a, b, defect
        return self._recurrences[degree]

    def recurrence(self, degree: int) -> tuple[FloatArray, FloatArray]:
        try:
            a, b, _ = self._solve(degree)
        except UnresolvedError as error:
            raise ValueError(
                f"There is no recurrence of degree {degree} for {self._describe()}: "
                f"{error}."
            ) from error
        return a, b

    def check_degree(self, owner: str, name: str, degree: int) -> None:
        degree = int(min(degree, self.largest_degree))
        if degree < 1:
            return
        try:
            _, _, defect = self._solve(degree)
        except UnresolvedError as error:
            reason = str(error)
        else:
            if defect <= TOLERANCE:
                return
            reason = (
                f"its polynomials are orthonormal only up to {defect:.1e}, and "
                f"{TOLERANCE:.0e} is asked"
                if np.isfinite(defect)
                else "its polynomials cannot be computed"
            )
        raise ValueError(
            f"The 'distribution' parameter of {owner} gives {name} "
            f"{self._describe()}, which does not carry degree {degree}: {reason}. "
            f"{self._advice()}"
        )
