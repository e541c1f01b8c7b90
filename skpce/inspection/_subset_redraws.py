r"""Variances that sets of dependent inputs leave, by drawing the set again.

For a set :math:`w`, let :math:`x'` be :math:`x` with the inputs of :math:`w` drawn
again given the others. Then [1]_

.. math:: c(w) = E\,\mathrm{Var}(f \mid x_{-w}) = \tfrac12 E\{f(x) - f(x')\}^2 .

:math:`c(\{i\})` is the total effect of an input, :math:`\mathrm{Var} f - c(-i)` the
first-order one, and the game :math:`c` has the Shapley values of the game
:math:`\mathrm{Var}\, E[f \mid x_u]` [2]_.

References
----------
.. [1] S. Kucherenko, S. Tarantola and P. Annoni, "Estimation of global sensitivity
   indices for models with dependent variables", Computer Physics Communications 183
   (2012), equations 5.3 and 5.7.
.. [2] E. Song, B. L. Nelson and J. Staum, "Shapley effects for global sensitivity
   analysis: theory and computation", SIAM/ASA Journal on Uncertainty Quantification 4
   (2016), theorem 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from .._checks import FloatArray
from .._dependence.maps import IsoprobabilisticTransformer
from ._subset_values import subset_shapley

#: Scrambled point sets; they give the standard error.
BATCHES = 16

#: With more players than this, orders are drawn at random.
LARGEST_WHOLE_GAME = 8

# Orders of a batch where none are asked for; each comes with its reverse.
_ORDERS = 4


class Redraw(NamedTuple):
    """Means over a batch, per row of the expansion.

    Parameters
    ----------
    cost : ndarray of shape (n_rows,)
        c(w).
    variance : ndarray of shape (n_rows,)
        Of f at both points together.
    """

    cost: FloatArray
    variance: FloatArray


class Estimates(NamedTuple):
    """Shares of the variance, with standard errors of the same shape.

    Parameters
    ----------
    first_order, total_order, shapley : ndarray of shape (n_targets, n_players)
        The three kinds of indices.
    variance : ndarray of shape (n_targets, 1)
        Of the expansion under the law.
    """

    first_order: FloatArray
    total_order: FloatArray
    shapley: FloatArray
    variance: FloatArray


@dataclass(frozen=True)
class Redraws:
    """Draws of the inputs, and of sets of them given the others.

    Parameters
    ----------
    values : callable
        Rows of X to rows of the expansion.
    law : IsoprobabilisticTransformer
        Fitted.
    players : sequence of list of int
        Columns that are drawn together.
    group : ndarray of shape (n_targets, n_rows)
        Rows of the expansion that a target adds up.
    n_points : int
        Points of a batch, a power of two.
    n_permutations : int or None
        Orders of a batch; None lets the number of players decide.
    seeds : sequence of int
        One per batch.
    """

    values: Callable[[FloatArray], FloatArray]
    law: IsoprobabilisticTransformer
    players: Sequence[list[int]]
    group: FloatArray
    n_points: int
    n_permutations: int | None
    seeds: Sequence[int]

    def estimate(self) -> tuple[Estimates, Estimates]:
        """Return the shares and their standard errors, by the jackknife."""
        sums = np.array([self._batch(seed) for seed in self.seeds])
        whole = _shares(sums.mean(axis=0))
        n = len(sums)
        left = [
            _shares((sums.sum(axis=0) - sums[batch]) / (n - 1)) for batch in range(n)
        ]
        errors = []
        for k in range(len(whole)):
            parts = np.array([one[k] for one in left])
            errors.append(np.sqrt((n - 1) * parts.var(axis=0)))
        return whole, Estimates(*errors)

    def _batch(self, seed: int) -> FloatArray:  # shape: (6, n_targets, n_players)
        """Return what the shares of one batch are made of."""
        batch = _Batch.draw(self, np.random.default_rng(seed))
        n_players = len(self.players)
        everyone = frozenset(range(n_players))
        alone = [batch.redraw(frozenset([i])) for i in range(n_players)]
        others = [batch.redraw(everyone - {i}) for i in range(n_players)]
        tables = [
            [one.cost for one in alone],
            [one.variance for one in alone],
            [one.cost for one in others],
            [one.variance for one in others],
        ]
        parts = [self.group @ np.array(table).T for table in tables]
        variance = self.group @ batch.variance
        parts.append(self._shapley(batch, variance))
        parts.append(np.tile(variance[:, np.newaxis], n_players))
        return np.array(parts)

    def _shapley(self, batch: _Batch, variance: FloatArray) -> FloatArray:
        n_players = len(self.players)
        everyone = frozenset(range(n_players))

        def cost(players: frozenset[int]) -> FloatArray:
            if not players:
                return np.zeros_like(variance)
            if players == everyone:
                return variance
            return self.group @ batch.redraw(players).cost

        if self.n_permutations is None and n_players <= LARGEST_WHOLE_GAME:
            values = [
                cost(frozenset(i for i in everyone if position >> i & 1))
                for position in range(2**n_players)
            ]
            return subset_shapley(np.array(values).T, n_players) * variance[:, None]
        n_orders = _ORDERS if self.n_permutations is None else self.n_permutations
        gains = np.zeros((len(variance), n_players))
        for _ in range(n_orders):
            order = batch.generator.permutation(n_players)
            for direction in (order, order[::-1]):
                before = cost(frozenset())
                for size, player in enumerate(direction, start=1):
                    after = cost(frozenset(direction[:size].tolist()))
                    gains[:, player] += after - before
                    before = after
        return gains / (2 * n_orders)


@dataclass(frozen=True)
class _Batch:
    """One scrambled point set: draws of the inputs, and noise for the redraws."""

    setting: Redraws
    scores: FloatArray
    noise: FloatArray
    values: FloatArray
    generator: np.random.Generator
    known: dict[frozenset[int], Redraw] = field(default_factory=dict)

    @classmethod
    def draw(cls, setting: Redraws, generator: np.random.Generator) -> _Batch:
        n_noise = setting.law.law_.n_noise
        points = qmc.Sobol(2 * n_noise, scramble=True, seed=generator)
        n_bits = int(setting.n_points).bit_length() - 1
        uniforms = np.clip(points.random_base2(n_bits), 2.0**-40, 1.0 - 2.0**-40)
        normals = ndtri(uniforms)
        empty = np.zeros((len(normals), len(setting.law.maps_)))
        scores = setting.law.law_.redraw(empty, [], normals[:, :n_noise])
        values = setting.values(setting.law.from_scores(scores))
        return cls(setting, scores, normals[:, n_noise:], values, generator)

    @property
    def variance(self) -> FloatArray:  # shape: (n_rows,)
        return self.values.var(axis=0)

    def redraw(self, players: frozenset[int]) -> Redraw:
        """Draw the columns of some players again, given the others."""
        if players not in self.known:
            self.known[players] = self._compare(players)
        return self.known[players]

    def _compare(self, players: frozenset[int]) -> Redraw:
        setting = self.setting
        if not players:
            return Redraw(np.zeros_like(self.variance), self.variance)
        kept = [
            column
            for i, columns in enumerate(setting.players)
            if i not in players
            for column in columns
        ]
        scores = setting.law.law_.redraw(self.scores, sorted(kept), self.noise)
        again = setting.values(setting.law.from_scores(scores))
        cost = 0.5 * np.square(self.values - again).mean(axis=0)
        together = np.concatenate([self.values, again])
        return Redraw(cost, together.var(axis=0))


def _shares(sums: FloatArray) -> Estimates:
    """Divide by variances; 0 where there is none."""
    alone, alone_variance, others, others_variance, shapley, variance = sums
    return Estimates(
        first_order=np.where(
            others_variance > 0, 1.0 - _ratio(others, others_variance), 0.0
        ),
        total_order=_ratio(alone, alone_variance),
        shapley=_ratio(shapley, variance),
        variance=variance[:, :1],
    )


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    return part / np.where(whole > 0, whole, 1.0)
