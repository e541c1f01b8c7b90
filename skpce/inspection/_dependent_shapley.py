r"""Shapley effects of dependent inputs: of any fitted model, and by drawing sets again.

Variances that sets of dependent inputs leave, by drawing the set again.

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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import norm, qmc

from .._checks import FloatArray, check_option, make_generator
from .._dependence.maps import IsoprobabilisticTransformer
from .._dependence.tests import outside_reason, outside_share
from .._expansion.indices import SobolIndices
from .._expansion.marginals import subset_variances, symmetric_tensors, tensors_fit
from ._model import (
    ExpansionOptions,
    ModelExpansion,
    check_limits,
    expand_model,
    fidelity_words,
    sobol_indices,
)
from ._reading import FittedModel, fitted_model
from ._result import Result, table_of_targets

#: Subsets of more features than this are too many.
LARGEST_GAME = 12

# Design points that are enough to say how many lie outside the data.
_OUTSIDE_POINTS = 1000


def shapley_effects(
    estimator: Any,
    X: Any,
    *,
    dependence: str = "independent",
    response: str = "auto",
    distribution: Any = "empirical",
    degree: int | None = None,
    n_samples: int = 1000,
    n_held_out: int = 500,
    truncation: str = "total_degree",
    q: float = 1.0,
    interaction_order: int | None = None,
    solver: str = "ridge",
    min_fidelity: float = 0.9,
    max_correlation: float = 0.3,
    max_outside: float = 0.25,
    random_state: Any = None,
) -> Result:
    r"""Share the variance of a model among its columns, so that the shares add up.

    Parameters
    ----------
    estimator : fitted estimator or callable
        As in :func:`sobol_indices`.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that the model is meant for.
    dependence : {"independent", "gaussian"}, default="independent"
        The joint law of the columns. ``"gaussian"``: jointly normal with the mean and
        the covariance of X; at most 12 columns that vary. The covariance may be
        singular.
    response : str, default="auto"
        What to ask, as in :func:`sobol_indices`.
    distribution : str, frozen law, or list, default="empirical"
        The law of each column; only with ``dependence="independent"``.
    degree : int or None, default=None
        None lets leave-one-out choose.
    n_samples, n_held_out : int
        Design points of the fit (1000) and of the fidelity (500).
    truncation : {"total_degree", "hyperbolic"}, default="total_degree"
        How the index set is cut.
    q : float, default=1.0
        Exponent of the q-norm; only with ``truncation="hyperbolic"``.
    interaction_order : int or None, default=None
        Largest number of inputs in one term.
    solver : str, default="ridge"
        As in :class:`skpce.PolynomialChaosRegressor`.
    min_fidelity : float, default=0.9
        Smallest Q² of the expansion on held-out design points.
    max_correlation : float, default=0.3
        Largest correlation of two columns; only with ``dependence="independent"``.
    max_outside : float, default=0.25
        Largest share of design points that lie outside the data.
    random_state : int, RandomState instance or None, default=None
        Randomness of the design.

    Returns
    -------
    effects : Result
        ``print`` says what is supported, and ``reasons`` what is not; ``to_frame``
        gives a table. Its attributes, beside ``target_names``, ``feature_names`` and
        ``dependence``:

        effects : ndarray of shape (n_targets, n_features)
            Shares of the variance of the expansion; they add up to one. Also
            ``shapley``.
        total_variance : ndarray of shape (n_targets,)
            Variance of the expansion.
        fidelity, fidelity_standard_error : ndarray of shape (n_targets,)
            Q² of the expansion on held-out design points; NaN without variance.

    Raises
    ------
    ValueError
        For bad arguments.
    NotFittedError
        If the estimator is not fitted.

    Notes
    -----
    With :math:`v(u) = \mathrm{Var}\,E[f(x) \mid x_u]`, the effect of column :math:`i`
    is the mean gain :math:`v(u \cup i) - v(u)` over the orders in which columns can be
    added, as a share of :math:`v` of all [1]_. The effects are not negative and add up
    to one, also for dependent columns [2]_, where first-order and total indices do not.
    A column that the model does not use gets a share when it is correlated with one
    that the model uses.

    With independent columns each term of the expansion is shared equally by its
    columns. With normal columns the expansion is in the principal axes, and every
    :math:`v(u)` is a closed form in its Hermite coefficients: nothing is sampled
    beyond the design.

    References
    ----------
    .. [1] A. B. Owen, "Sobol' indices and Shapley value", SIAM/ASA Journal on
       Uncertainty Quantification 2 (2014).
    .. [2] E. Song, B. L. Nelson and J. Staum, "Shapley effects for global sensitivity
       analysis: theory and computation", SIAM/ASA Journal on Uncertainty
       Quantification 4 (2016).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import shapley_effects
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=500)
    >>> found = shapley_effects(
    ...     lambda X: X[:, 0], X, dependence="gaussian", random_state=0
    ... )
    >>> found.effects.round(2)
    array([[0.68, 0.32]])
    """
    owner = "shapley_effects"
    check_option(owner, "dependence", dependence, ("independent", "gaussian"))
    if dependence == "independent":
        found = sobol_indices(
            estimator,
            X,
            response=response,
            distribution=distribution,
            degree=degree,
            n_samples=n_samples,
            n_held_out=n_held_out,
            truncation=truncation,
            q=q,
            interaction_order=interaction_order,
            solver=solver,
            min_fidelity=min_fidelity,
            max_correlation=max_correlation,
            max_outside=max_outside,
            random_state=random_state,
        )
        return _result(
            found.target_names,
            found.feature_names,
            found.shapley,
            found.reasons,
            dependence=dependence,
            total_variance=found.total_variance,
            fidelity=found.fidelity,
            fidelity_standard_error=found.fidelity_standard_error,
        )
    options = ExpansionOptions(
        degree, n_samples, n_held_out, norm(0, 1), truncation, q, interaction_order,
        solver,
    )  # fmt: skip
    options.check(owner)
    check_limits(owner, min_fidelity=min_fidelity, max_outside=max_outside)
    model = fitted_model(owner, estimator, X, response)
    design = NormalDesign(model, make_generator(random_state))
    return _gaussian_effects(design, options, min_fidelity, max_outside)


@dataclass(frozen=True)
class NormalDesign:
    """Rows drawn from a normal law with the mean and the covariance of X."""

    model: FittedModel
    generator: np.random.Generator

    @property
    def loading(self) -> FloatArray:  # shape: (n_features, rank)
        """Map of standard normal principal axes to deviations of X from its mean."""
        values = self.model.inputs.values
        scale = values.std(axis=0)
        scale = np.where(np.ptp(values, axis=0) > 0, scale, 0.0)
        standard = (values - values.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
        _, singular, axes = np.linalg.svd(standard * (scale > 0), full_matrices=False)
        kept = singular > 1e-6 * singular.max(initial=0.0)
        axes = axes[kept].T * singular[kept] / np.sqrt(len(values))
        return scale[:, np.newaxis] * axes

    def draw(self, size: int) -> tuple[FloatArray, FloatArray]:
        """Return principal axes and predictions."""
        axes = self.generator.normal(size=(size, self.loading.shape[1]))
        return axes, self.model(self.rows(axes))

    def rows(self, axes: FloatArray) -> FloatArray:
        """Map principal axes to rows of X."""
        return self.model.inputs.values.mean(axis=0) + axes @ self.loading.T


def _gaussian_effects(
    design: NormalDesign,
    options: ExpansionOptions,
    min_fidelity: float,
    max_outside: float,
) -> Result:
    inputs = design.model.inputs
    loading = design.loading
    varying = np.flatnonzero(np.abs(loading).max(axis=1, initial=0.0) > 0)
    if not 1 <= len(varying) <= LARGEST_GAME:
        raise ValueError(
            f"X has {len(varying)} columns that vary; dependence='gaussian' needs 1 to "
            f"{LARGEST_GAME}, because it visits every subset."
        )
    rank = loading.shape[1]
    if options.degree is not None and not tensors_fit(rank, int(options.degree), 1):
        raise ValueError(
            f"degree={options.degree} is too high for {rank} dependent columns; "
            "expected a smaller one, or None."
        )
    expansion = expand_model(
        design.draw,
        options,
        np.zeros((1, rank)),
        lambda degree: tensors_fit(rank, degree, 1),
    )
    effects = np.zeros((len(expansion.fidelity), len(inputs.names)))
    effects[:, varying] = _normal_effects(expansion, loading[varying])
    axes = design.generator.normal(size=(_OUTSIDE_POINTS, rank))
    outside = outside_share(inputs.values, design.rows(axes))
    common = outside_reason(outside, max_outside)
    reasons = tuple((*own, *common) for own in expansion.reasons(min_fidelity))
    return _result(
        design.model.target_names(len(reasons)),
        inputs.names,
        effects,
        reasons,
        dependence="gaussian",
        total_variance=expansion.expansion.total_variance,
        fidelity=expansion.fidelity,
        fidelity_standard_error=expansion.standard_error,
    )


def _result(
    targets: Sequence[str],
    features: Sequence[str],
    effects: FloatArray,  # shape: (n_targets, n_features)
    reasons: Sequence[tuple[str, ...]],
    **figures: Any,
) -> Result:
    words = fidelity_words(figures["fidelity"], figures["fidelity_standard_error"])
    return table_of_targets(
        targets,
        features,
        {"shapley": effects, "fidelity": figures["fidelity"]},
        reasons,
        [f"{figures['dependence']} columns, {fidelity}" for fidelity in words],
        printed=("shapley",),
        effects=effects,
        **figures,
    )


def _normal_effects(expansion: ModelExpansion, loading: FloatArray) -> FloatArray:
    """Shapley effects of ``loading @ t`` for standard normal ``t``."""
    effects = []
    found = expansion.expansion
    for row in found.coefficients:
        tensors = symmetric_tensors(row[np.newaxis], found.multi_indices)
        values = subset_variances(tensors, loading.T, loading @ loading.T)
        effects.append(subset_shapley(values, len(loading))[0])
    return np.array(effects)


#: Scrambled point sets; they give the standard error.
BATCHES = 16

#: With more players than this, orders are drawn at random.
LARGEST_WHOLE_GAME = 8

# Orders of a batch where none are asked for; each comes with its reverse.
_ORDERS = 4


class Redraw(NamedTuple):
    """Means over a batch, per row of the expansion."""

    cost: FloatArray  # (n_rows,): c(w)
    variance: FloatArray  # (n_rows,): of f at both points together


def combined(
    function: Callable[[FloatArray], FloatArray], tables: Sequence[SobolIndices]
) -> SobolIndices:
    """Apply a function to tables put on top of each other, kind of index by kind."""
    return SobolIndices(
        **{
            kind.name: function(np.array([getattr(one, kind.name) for one in tables]))
            for kind in fields(SobolIndices)
        }
    )


@dataclass(frozen=True)
class Redraws:
    """Draws of the inputs, and of sets of them given the others."""

    values: Callable[[FloatArray], FloatArray]  # rows of X to rows of the expansion
    law: IsoprobabilisticTransformer
    players: Sequence[list[int]]  # columns that are drawn together
    group: FloatArray  # (n_targets, n_rows): which rows a target adds up
    n_points: int  # of a batch, a power of two
    n_permutations: int | None  # of a batch; None lets the number of players decide
    seeds: Sequence[int]  # one per batch

    def estimate(self) -> tuple[SobolIndices, SobolIndices]:
        """Return the indices under the law and their standard errors (jackknife)."""
        sums = np.array([self._batch(seed) for seed in self.seeds])
        whole = _shares(sums.mean(axis=0))
        n = len(sums)
        left = [
            _shares((sums.sum(axis=0) - sums[batch]) / (n - 1)) for batch in range(n)
        ]
        return whole, combined(lambda parts: np.sqrt((n - 1) * parts.var(axis=0)), left)

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


def _shares(sums: FloatArray) -> SobolIndices:
    """Divide by variances; 0 where there is none."""
    alone, alone_variance, others, others_variance, shapley, variance = sums
    return SobolIndices(
        first_order=np.where(
            others_variance > 0, 1.0 - _ratio(others, others_variance), 0.0
        ),
        total_order=_ratio(alone, alone_variance),
        shapley=_ratio(shapley, variance),
        total_variance=variance[:, 0],
    )


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    return part / np.where(whole > 0, whole, 1.0)


def subset_shapley(
    values: FloatArray,  # shape: (n_targets, 2**n_features)
    n_features: int,
) -> FloatArray:  # shape: (n_targets, n_features)
    """Return Shapley values, as shares, from the value of every subset."""
    positions = np.arange(2**n_features)
    size = np.array([int(u).bit_count() for u in positions])
    effects = np.empty((len(values), n_features))
    for i in range(n_features):
        without = positions[(positions >> i) & 1 == 0]
        weight = np.array(
            [1.0 / (n_features * math.comb(n_features - 1, s)) for s in size[without]]
        )
        gains = values[:, without | (1 << i)] - values[:, without]
        effects[:, i] = gains @ weight
    whole = values[:, -1:]
    return effects / np.where(whole > 0, whole, 1.0)
