r"""Effects of named parts of an input, by recombining members.

Where a model can be solved again for any input, no expansion is needed: members lend
their parts to one another. Two recombinations :math:`A` and :math:`B` draw the member
of each part anew, and :math:`A_B^p` is :math:`A` with the part :math:`p` of :math:`B`.
With :math:`V = \tfrac12 E \lVert f(A) - f(B) \rVert^2`, the variance of the output,

.. math::

    T_p = \frac{E \lVert f(A) - f(A_B^p) \rVert^2}{2 V}, \qquad
    S_p = 1 - \frac{E \lVert f(A_B^p) - f(B) \rVert^2}{2 V}, \qquad
    T_{pq} = \frac{E \lVert f(A_B^p) - f(A_B^q) \rVert^2}{2 V}

are the total and the first-order index of a part [1]_ and the total index of a pair,
from :math:`k + 2` solutions for each draw and :math:`k` parts.

References
----------
.. [1] M. J. W. Jansen, "Analysis of variance designs for model output", Computer
   Physics Communications 117 (1999), pp. 35-43.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial.distance import pdist, squareform

from .._checks import FloatArray, IndexArray, check_boolean, check_integer, make_generator
from .._compositions.outputs import Outputs, read_outputs
from ._result import Result

OWNER = "part_effects"


@dataclass(frozen=True)
class Recombination:
    """A model of inputs that are put together from parts of members."""

    model: Callable[[Any], Any]
    parts: Mapping[str, NDArray[Any]]  # each of shape (n_members, ...)
    combine: Callable[[Mapping[str, NDArray[Any]]], Any]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts."""
        return tuple(self.parts)

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(next(iter(self.parts.values())))

    def of_members(self, members: IndexArray) -> Any:
        """Solve for rows of members, one column for each part; shape (n_rows, ...)."""
        columns = zip(self.parts.items(), members.T, strict=True)
        chosen = {name: values[rows] for (name, values), rows in columns}
        return self.of_parts(chosen)

    def of_parts(self, chosen: Mapping[str, NDArray[Any]]) -> Any:
        """Solve for given parts."""
        return self.model(self.combine(chosen))


def part_effects(
    model: Callable[[Any], Any],
    parts: Mapping[str, Any],
    *,
    combine: Callable[[Mapping[str, NDArray[Any]]], Any] | None = None,
    n_draws: int = 256,
    steps: Any = None,
    outputs: Any = None,
    mask: Any = "infer",
    zero_replacement: float = 1e-12,
    standardize: bool = False,
    frozen: bool = True,
    batch_size: int = 1024,
    random_state: Any = None,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    ...


def _sum_of_parts(chosen: Mapping[str, NDArray[Any]]) -> Any:
    """Add up the parts."""
    return np.sum(list(chosen.values()), axis=0)


def draw_pairs(
    n_members: int, n_parts: int, n_draws: int, generator: np.random.Generator
) -> tuple[IndexArray, IndexArray]:  # each of shape (n_draws, n_parts)
    """Draw two different members for each part, each member about equally often."""
    first = np.empty((n_draws, n_parts), dtype=np.int64)
    second = np.empty_like(first)
    for part in range(n_parts):
        first[:, part] = _evenly(n_members, n_draws, generator)
        shift = 1 + _evenly(n_members - 1, n_draws, generator)
        second[:, part] = (first[:, part] + shift) % n_members
    return first, second


def _evenly(size: int, n_draws: int, generator: np.random.Generator) -> IndexArray:
    """Return numbers below ``size`` in random order, each about equally often."""
    rounds = -(-n_draws // size)
    return np.concatenate([generator.permutation(size) for _ in range(rounds)])[:n_draws]


@dataclass(frozen=True)
class Contributions:
    """Half squared distances of each draw, of which all effects are means."""

    whole: FloatArray  # (n_draws, n_groups): A to B
    total: FloatArray  # (n_parts, n_draws, n_groups): A to A with a part of B
    rest: FloatArray  # (n_parts, n_draws, n_groups): A with a part of B to B
    pairs: FloatArray  # (n_pairs, n_draws, n_groups): between two of these
    members: IndexArray  # (2, n_draws, n_parts): those of A and of B

    def ratio(
        self, values: FloatArray  # shape: (n_draws, n_groups)
    ) -> tuple[FloatArray, FloatArray]:  # each of shape (n_groups,)
        """Return a mean as a share of the variance, with its standard error."""
        variance = self.whole.mean(axis=0)
        safe = np.where(variance > 0, variance, np.nan)
        share = values.mean(axis=0) / safe
        influence = (values - share * self.whole) / safe
        return share, self.standard_error(influence)

    def standard_error(
        self,
        values: FloatArray,  # shape: (n_draws, n_groups)
    ) -> FloatArray:  # shape: (n_groups,)
        r"""Return the standard error of the mean over draws that share members.

        Each draw depends on two members for each part. With :math:`\zeta_p` the
        variance of its expectation given one of them (Hoeffding's first projection),
        a mean over :math:`m` draws from :math:`n` members has the variance
        :math:`\sum_p 4 \zeta_p / n + (\sigma^2 - \sum_p 2 \zeta_p) / m`.
        """
        n_draws, n_parts = self.members.shape[1:]
        n_members = int(self.members.max()) + 1
        centred = values - values.mean(axis=0)
        sigma = np.square(centred).sum(axis=0) / (n_draws - 1)
        projections = np.zeros_like(sigma)
        twice = np.concatenate([centred, centred])
        for part in range(n_parts):
            member = self.members[:, :, part].ravel()
            counts = np.bincount(member, minlength=n_members).astype(np.float64)
            sums = np.zeros((n_members, values.shape[1]))
            np.add.at(sums, member, twice)
            used = counts > 0
            n_used, total = used.sum(), counts.sum()
            between = (np.square(sums[used]) / counts[used, np.newaxis]).sum(axis=0)
            within = np.square(twice).sum(axis=0) - between
            if total <= n_used:
                continue
            size = (total - np.square(counts).sum() / total) / (n_used - 1)
            mean_within = within / (total - n_used)
            projections += (between / (n_used - 1) - mean_within) / size
        projections = np.clip(projections, 0.0, sigma / 2.0)
        variance = 4.0 * projections / n_members
        variance += (sigma - 2.0 * projections) / n_draws
        return np.sqrt(variance)
