r"""Shapley effects of dependent inputs: of any fitted model, and by drawing sets again.

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
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import norm, qmc

from .._checks import FloatArray, IndexArray, check_option, make_generator
from .._dependence.maps import IsoprobabilisticTransformer
from .._dependence.scores import outside_reason, outside_share
from .._expansion.expansion import Expansion
from .._expansion.marginals import subset_variances, symmetric_tensors, tensors_fit
from ._model import (
    OUTSIDE_POINTS,
    ExpansionOptions,
    ModelExpansion,
    expand_model,
    fidelity_words,
    indices_of,
)
from ._reading import FittedModel, fitted_model, group_matrix
from ._result import Result, table_of_targets
from ._reward_groups import jackknife_error

_LARGEST_GAME = 12  # subsets of more features than this are too many


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
        What to call, as in :func:`sobol_indices`.
    distribution : str, frozen law, or list, default="empirical"
        The law of each column; only with ``dependence="independent"``.
    degree, n_samples, n_held_out, truncation, q, interaction_order, solver
        How the model is expanded, as in :func:`sobol_indices`.
    min_fidelity, max_outside : float
        Limits of a supported share, as in :func:`sobol_indices`.
    max_correlation : float, default=0.3
        Largest correlation of two columns; only with ``dependence="independent"``.
    random_state : int, RandomState instance or None, default=None
        Randomness of the design.

    Returns
    -------
    effects : Result
        A table of targets and features. Its attributes, beside ``dependence``:

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
    independent = dependence == "independent"
    options = ExpansionOptions(
        degree, n_samples, n_held_out, distribution if independent else norm(0, 1),
        truncation, q, interaction_order, solver, min_fidelity,
        max_correlation if independent else 1.0, max_outside,
    )  # fmt: skip
    generator = make_generator(random_state)
    if independent:
        found = indices_of(owner, estimator, X, response, options, generator)
        effects, reasons = found.shapley, found.reasons
        targets, features = found.target_names, found.feature_names
        figures = found.total_variance, found.fidelity, found.fidelity_standard_error
    else:
        options.check(owner)
        model = fitted_model(owner, estimator, X, response)
        effects, reasons, expanded = _normal_effects(
            NormalDesign(model, generator), options
        )
        targets, features = model.target_names(len(reasons)), model.inputs.names
        variance = expanded.expansion.total_variance
        figures = variance, expanded.fidelity, expanded.standard_error
    variance, fidelity, error = figures
    return table_of_targets(
        targets,
        features,
        {"shapley": effects, "fidelity": fidelity},
        reasons,
        [f"{dependence} columns, {words}" for words in fidelity_words(fidelity, error)],
        printed=("shapley",),
        effects=effects,
        dependence=dependence,
        total_variance=variance,
        fidelity_standard_error=error,
    )


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
        retained = singular > 1e-6 * singular.max(initial=0.0)
        axes = axes[retained].T * singular[retained] / np.sqrt(len(values))
        return scale[:, np.newaxis] * axes

    def draw(self, size: int) -> tuple[FloatArray, FloatArray]:
        """Return principal axes and predictions."""
        axes = self.generator.normal(size=(size, self.loading.shape[1]))
        return axes, self.model(self.rows(axes))

    def rows(self, axes: FloatArray) -> FloatArray:
        """Map principal axes to rows of X."""
        return self.model.inputs.values.mean(axis=0) + axes @ self.loading.T


def _normal_effects(
    design: NormalDesign, options: ExpansionOptions
) -> tuple[FloatArray, tuple[tuple[str, ...], ...], ModelExpansion]:
    """Expand a model in principal axes; return its effects and what speaks against."""
    loading = design.loading
    varying = np.flatnonzero(np.abs(loading).max(axis=1, initial=0.0) > 0)
    if not 1 <= len(varying) <= _LARGEST_GAME:
        raise ValueError(
            f"X has {len(varying)} columns that vary; dependence='gaussian' needs 1 to "
            f"{_LARGEST_GAME}, because it visits every subset."
        )
    rank = loading.shape[1]
    if options.degree is not None and not tensors_fit(rank, int(options.degree), 1):
        raise ValueError(
            f"degree={options.degree} is too high for {rank} dependent columns; "
            "expected a smaller one, or None."
        )
    expanded = expand_model(
        design.draw,
        options,
        np.zeros((1, rank)),
        lambda degree: tensors_fit(rank, degree, 1),
    )
    effects = normal_shapley(expanded.expansion, loading, loading @ loading.T, varying)
    assert effects is not None  # the sizes were checked above
    axes = design.generator.normal(size=(OUTSIDE_POINTS, rank))
    outside = outside_share(design.model.inputs.values, design.rows(axes))
    common = outside_reason(outside, options.max_outside)
    return effects, expanded.reasons(options.min_fidelity, *common), expanded


def normal_shapley(
    expansion: Expansion,
    loading: FloatArray,  # shape: (n_features, n_inputs)
    covariance: FloatArray,  # shape: (n_features, n_features)
    varying: IndexArray,
) -> FloatArray | None:  # shape: (n_groups, n_features)
    """Return effects of normal columns ``loading @ t`` + noise; None if too costly."""
    degree = int(expansion.multi_indices.sum(axis=1).max(initial=0))
    fits = tensors_fit(expansion.n_inputs, degree, 1)
    if not 1 <= len(varying) <= _LARGEST_GAME or not fits:
        return None
    some = loading[varying].T, covariance[np.ix_(varying, varying)]
    tensors = [
        symmetric_tensors(row[np.newaxis], expansion.multi_indices)
        for row in expansion.coefficients
    ]
    values = np.vstack([subset_variances(one, *some) for one in tensors])
    group = group_matrix(expansion)
    effects = np.zeros((len(group), len(loading)))
    effects[:, varying] = subset_shapley(group @ values, len(varying))
    return effects


BATCHES = 16  # scrambled point sets; they give the standard error
_LARGEST_WHOLE_GAME = 8  # with more players than this, orders are drawn at random

# Orders of a batch where their number is not given; each comes with its reverse.
_ORDERS = 4

#: Shares of the variance by name, and the variance; each (n_targets, n_players or 1).
Shares = dict[str, FloatArray]


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

    def estimate(self) -> tuple[Shares, Shares]:
        """Return the shares and their standard errors, by the jackknife."""
        sums = np.array([self._batch(seed) for seed in self.seeds])
        left = [_shares((sums.sum(axis=0) - one) / (len(sums) - 1)) for one in sums]
        whole = _shares(sums.mean(axis=0))
        errors = {
            name: jackknife_error(np.array([one[name] for one in left]))
            for name in whole
        }
        return whole, errors

    def _batch(self, seed: int) -> FloatArray:  # shape: (6, n_targets, n_players)
        """Return what the shares of one batch are made of."""
        batch = _Batch.draw(self, np.random.default_rng(seed))
        everyone = frozenset(range(len(self.players)))
        sets = [frozenset([i]) for i in range(len(self.players))]
        alone = np.array([batch.redraw(one) for one in sets])
        others = np.array([batch.redraw(everyone - one) for one in sets])
        parts = [self.group @ one[:, k].T for one in (alone, others) for k in (0, 1)]
        variance = self.group @ batch.variance
        parts.append(self._shapley(batch, variance))
        parts.append(np.tile(variance[:, np.newaxis], len(sets)))
        return np.array(parts)

    def _shapley(self, batch: _Batch, variance: FloatArray) -> FloatArray:
        n_players = len(self.players)
        everyone = frozenset(range(n_players))

        def cost(players: frozenset[int]) -> FloatArray:
            if not players:
                return np.zeros_like(variance)
            if players == everyone:
                return variance
            return self.group @ batch.redraw(players)[0]

        if self.n_permutations is None and n_players <= _LARGEST_WHOLE_GAME:
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
    known: dict[frozenset[int], FloatArray] = field(default_factory=dict)

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

    def redraw(self, players: frozenset[int]) -> FloatArray:  # shape: (2, n_rows)
        """Return c(w) of some players, and the variance of f at both points."""
        if players not in self.known:
            self.known[players] = self._compare(players)
        return self.known[players]

    def _compare(self, players: frozenset[int]) -> FloatArray:
        """Draw the columns of some players again, given the others."""
        if not players:
            return np.array([np.zeros_like(self.variance), self.variance])
        setting = self.setting
        drawn = [i for player in players for i in setting.players[player]]
        given = sorted(set(range(self.scores.shape[1])) - set(drawn))
        scores = setting.law.law_.redraw(self.scores, given, self.noise)
        again = setting.values(setting.law.from_scores(scores))
        cost = 0.5 * np.square(self.values - again).mean(axis=0)
        return np.array([cost, np.concatenate([self.values, again]).var(axis=0)])


def _shares(sums: FloatArray) -> Shares:
    """Divide by variances; 0 where there is none."""
    alone, alone_variance, others, others_variance, shapley, variance = sums
    rest = _ratio(others, others_variance)
    return {
        "first_order": np.where(others_variance > 0, 1.0 - rest, 0.0),
        "total_order": _ratio(alone, alone_variance),
        "shapley": _ratio(shapley, variance),
        "variance": variance[:, :1],
    }


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
    return _ratio(effects, values[:, -1:])
