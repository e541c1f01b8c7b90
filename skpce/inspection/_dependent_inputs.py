"""Indices of an expansion whose inputs are dependent."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone

from .._checks import (
    FloatArray,
    RandomState,
    check_draws,
    make_generator,
)
from .._expansion.expansion import refuse_categories
from .._input_laws.maps import NatafTransformer
from .._input_laws.pieces import sobol_points
from .._input_laws.scores import LinearMap
from .._result import Result, cautions_in_words, table_of_targets
from ._ensembles.training_noise import jackknife_error
from ._input_tests import independence_tests
from ._reading import (
    Reading,
    column_groups,
    expansion_of,
    group_matrix,
    has_variance,
    q2_reasons,
)

_KINDS = ("first_order", "total_order", "shapley")

# Draws that are enough to say how many leave the distributions of the expansion.
_OUTSIDE_DRAWS = 1000

_BATCHES = 16  # scrambled point sets; they give the standard error
# With more players than this, orders are drawn at random: so many of a batch, each of
# which comes with its reverse.
_LARGEST_WHOLE_GAME, _ORDERS = 8, 4
_MOST_DRAWS = 1e10  # rows drawn from conditional distributions, which take hours
_SMALLEST_REDRAW = 1000  # a redraw takes at least as long as one of so many rows


def dependent_sobol_indices(
    estimator: Any,
    X: Any,
    *,
    distribution: Any = None,
    groups: Mapping[str, Any] | None = None,
    n_samples: int = 16384,
    n_resamples: int = 0,
    random_state: RandomState = None,
) -> Result:
    r"""Decompose the variance of a fitted expansion under dependent inputs.

    Parameters
    ----------
    estimator : fitted estimator
        As the pipeline of :func:`back_to_reward`, or the last estimator alone.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows before the Pipeline, usually those of ``fit``.
    distribution : NatafTransformer or None, default=None
        The joint distribution of the columns, cloned and fitted on X. None is
        ``NatafTransformer()``: the data's marginals and a Gaussian copula.
    groups : mapping of str to columns, or None, default=None
        Columns, by position or by name, that count as one input. Groups do not
        overlap; columns in none stand alone.
    n_samples : int, default=16384
        Points, rounded up to 16 times a power of two; each redraw takes as many.
    n_resamples : int, default=0
        Bootstrap resamples of the rows of X, for the error of the distribution.
    random_state : int, RandomState instance or None, default=None
        Randomness of the points.

    Returns
    -------
    indices : Result
        A table of targets and features (columns of X or groups of them). Its
        attributes, beside ``cautions`` (what weakens the reading):

        first_order, total_order, shapley : ndarray of shape (n_targets, n_features)
            Shares of the variance of the expansion under the joint distribution.
        first_order_standard_error, and so on : ndarray of shape (n_targets, n_features)
            Sampling error, the distribution and the expansion taken as given.
        first_order_distribution_error, and so on : ndarray
            Standard deviation over resampled rows of X; NaN without ``n_resamples``.
        closed_form_first_order, closed_form_total_order : ndarray
            Indices from the coefficients alone, for independent inputs; NaN behind
            transformers.
        total_variance, variance_standard_error : ndarray of shape (n_targets,)
            Variance of the expansion under that distribution; its sampling error.
        closed_form_variance : ndarray of shape (n_targets,)
            Variance for independent inputs.
        distribution : object
            The fitted transformer whose joint distribution was used.
        independence : str
            Whether X shows dependence, and how far the closed form is off.

    Raises
    ------
    ValueError
        For bad arguments, an estimator that does not end in an expansion, a
        distribution that cannot be learned from X, or more than 1e10 rows to draw.
    NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    shapley_effects : Of any model, for jointly normal columns.
    back_to_reward : Of thousands of columns behind an embedding.
    input_tests : Whether the inputs are dependent.

    Notes
    -----
    Kucherenko's indices [1]_ of an input, or a group, are

    .. math:: S_i = \frac{\mathrm{Var}\,E[f \mid x_i]}{\mathrm{Var} f}, \qquad
        T_i = \frac{E\,\mathrm{Var}(f \mid x_{-i})}{\mathrm{Var} f},

    with the conditional distributions of the joint distribution. For independent inputs
    they are the Sobol indices. :math:`T_i` is what an input holds that no other one
    does; it may be smaller than :math:`S_i`, and is 0 where the others determine it.
    Shapley effects [2]_ [3]_ share the variance; they add up to one.

    Each conditional distribution is drawn from exactly, in the space of the normal
    scores: a normal distribution for Nataf's map, a mixture of normals for
    Rosenblatt's. With :math:`x'` drawn again in :math:`w` given the rest, :math:`c(w) =
    E\,\mathrm{Var}(f \mid x_{-w}) = \tfrac12 E\{f(x) - f(x')\}^2` ([1]_, equations 5.3
    and 5.7), whose Shapley values are those of :math:`\mathrm{Var}\, E[f \mid x_u]`
    ([3]_, theorem 1). The points are 16 scrambled Sobol' sequences; the standard errors
    are the jackknife over them. They do not hold the error of the expansion (see
    ``reasons``), nor, without ``n_resamples``, that of the distribution, which for some
    tens of rows is the larger one: a correlation has the standard error :math:`(1 -
    \rho^2) / \sqrt{n}`. Where the correlations are learned and :math:`1 / \sqrt{n}` is
    more than 0.25 (fewer than 16 rows) indices are not supported; where it is more than
    0.1 (fewer than 100) and there is no ``n_resamples``, there is a caution.

    References
    ----------
    .. [1] S. Kucherenko, S. Tarantola and P. Annoni, "Estimation of global sensitivity
       indices for models with dependent variables", Computer Physics Communications
       183 (2012).
    .. [2] A. B. Owen and C. Prieur, "On Shapley value for measuring importance of
       dependent inputs", SIAM/ASA Journal on Uncertainty Quantification 5 (2017).
    .. [3] E. Song, B. L. Nelson and J. Staum, "Shapley effects for global sensitivity
       analysis: theory and computation", SIAM/ASA Journal on Uncertainty
       Quantification 4 (2016).

    Examples
    --------
    The second input is a noisy copy of the first, and the model uses only that.

    >>> import numpy as np
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.inspection import dependent_sobol_indices
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=2000)
    >>> pce = PolynomialChaosRegressor(1).fit(X, X[:, 0])
    >>> found = dependent_sobol_indices(pce, X, random_state=0)
    >>> found.first_order.round(2), found.total_order.round(2) + 0.0
    (array([[1.  , 0.64]]), array([[0.36, 0.  ]]))
    >>> found.shapley.round(2)
    array([[0.68, 0.32]])
    >>> print(found.independence)
    x0 and x1 are dependent (correlation 0.81, p = ...), and the closed form assumes
    that they are not; it differs most for x0 in y: total index 1.00 in closed form,
    0.36 under the joint distribution, Shapley effect 0.68
    """
    owner = "dependent_sobol_indices"
    check_draws(owner, "n_samples", n_samples, low=_BATCHES * 64)
    check_draws(owner, "n_resamples", n_resamples, low=0)
    distribution = NatafTransformer() if distribution is None else distribution
    if not isinstance(distribution, NatafTransformer):
        raise ValueError(
            f"The 'distribution' parameter of {owner} must be a NatafTransformer "
            f"or None. Got {distribution!r} instead."
        )
    reading = expansion_of(estimator, X)
    expansion = reading.expansion
    refuse_categories(expansion)
    players = column_groups(groups, reading.rows.names)
    n_points = int(2 ** np.ceil(np.log2(int(n_samples) / _BATCHES)))
    n_sets = 2.0 * _ORDERS * (len(players) - 1)
    n_sets = 2.0 ** len(players) if len(players) <= _LARGEST_WHOLE_GAME else n_sets
    n_sets += 2 * len(players)
    n_rows = float(max(n_points, _SMALLEST_REDRAW))
    needed = (1.0 + n_resamples) * _BATCHES * n_sets * n_rows
    if needed > _MOST_DRAWS:
        raise ValueError(
            f"{owner} would draw about {needed:.2g} rows from the distribution, which "
            f"takes days: {_BATCHES} batches of {n_rows:.0f} rows for each of "
            f"{n_sets:.3g} sets of {len(players)} inputs, once and for each "
            f"resample (n_samples={n_samples}, n_resamples={n_resamples}). Expected at "
            f"most {_MOST_DRAWS:.0e} rows: lower one of these, or give larger 'groups'."
        )
    generator = make_generator(random_state)
    law = clone(distribution)
    law.fit(reading.rows.values)
    redraws = Redraws(
        reading,
        law,
        list(players.values()),
        group_matrix(expansion),
        n_points,
        generator.integers(2**31, size=_BATCHES).tolist(),
    )
    found, errors = redraws.estimate()
    X, again = reading.rows.values, []  # distributions of resampled rows
    for _ in range(int(n_resamples)):
        counts = np.bincount(generator.integers(len(X), size=len(X)), minlength=len(X))
        own = clone(law).fit(X, sample_weight=counts.astype(np.float64))
        again.append(replace(redraws, law=own).estimate()[0])
    law_errors = np.full_like(found, np.nan)
    if again:
        law_errors = np.std(again, axis=0, ddof=min(len(again) - 1, 1))
    varies = has_variance(expansion)[:, np.newaxis]
    found, errors, law_errors = np.where(varies, [found, errors, law_errors], 0.0)
    columns = {}
    for name, *figures in zip(_KINDS, found, errors, law_errors, strict=False):
        columns[name] = figures[0]
        columns[f"{name}_standard_error"] = figures[1]
        columns[f"{name}_distribution_error"] = figures[2]
    indices = expansion.closed_sobol_index, expansion.total_sobol_index
    for name, index_of in zip(_KINDS, indices, strict=False):
        closed = np.full((expansion.n_groups, len(players)), np.nan)
        if not reading.steps:  # there is no closed form behind transformers
            closed = np.column_stack([index_of(own) for own in players.values()])
        columns[f"closed_form_{name}"] = closed
    variance, variance_error = found[-1, :, 0], errors[-1, :, 0]
    largest_error = errors[:-1].max(axis=(0, 2))
    draws = law.sample(_OUTSIDE_DRAWS, random_state=int(generator.integers(2**31)))
    few, unsure = _of_few_rows(law, len(reading.rows.values), int(n_resamples))
    cautions = (*unsure, *_law_cautions(reading, law, draws))
    reasons = [(*own, *few) for own in q2_reasons(expansion)]
    independence = _independence_words(reading, tuple(players), columns)
    return table_of_targets(
        expansion.group_names,
        tuple(players),
        columns,
        reasons,
        [
            f"{type(law).__name__}, variance {own:.3g} against {closed:.3g} for "
            f"independent inputs, largest standard error of sampling {error:.2g}"
            for own, closed, error in zip(
                variance, expansion.total_variance, largest_error, strict=True
            )
        ],
        printed=("shapley", "first_order", "total_order"),
        notes=(
            f"Independence: {independence}.",
            *cautions_in_words(cautions),
            "Note: with dependent inputs first-order indices may add up to more than "
            "one, and a total index may be below the first-order one. Shapley effects "
            "add up to one.",
        ),
        total_variance=variance,
        variance_standard_error=variance_error,
        closed_form_variance=expansion.total_variance,
        distribution=law,
        independence=independence,
        cautions=cautions,
    )


_LEVEL = 0.01  # level below which dependence is not put down to chance
_MOST_ROWS = 1000  # rows and columns of the tests, whose cost is their square
_MOST_COLUMNS = 30

# Quantiles of a marginal, and excess of its standard deviation worth a caution.
_GRID = 2000
_TIED_EXCESS = 0.1

# Share of the draws beyond the support of a distribution that is worth a caution.
_OUTSIDE_SHARE = 0.01


def dependence_seen(
    X: FloatArray, names: Sequence[str], categories: Sequence[int] = ()
) -> str | None:
    """Describe the clearest dependence of two columns; None when none is visible."""
    stride = -(-len(X) // _MOST_ROWS)
    some = X[::stride, :_MOST_COLUMNS]
    labels = [i for i in categories if i < _MOST_COLUMNS]
    tests = independence_tests(some, np.arange(some.shape[1]), labels)
    if not tests.smallest_dependence_p_value < _LEVEL:
        return None
    p_values = np.where(np.tri(len(tests.pearson)) > 0, np.nan, 1.0)
    p_values *= tests.dependence_p_values
    strength = np.nan_to_num(tests.distance) + np.abs(np.nan_to_num(tests.pearson))
    clearest = np.where(p_values <= np.nanmin(p_values), strength, -1.0)
    first, second = map(int, np.unravel_index(np.argmax(clearest), clearest.shape))
    pearson, distance = tests.pearson[first, second], tests.distance[first, second]
    how = [] if np.isnan(pearson) else [f"correlation {pearson:z.2f}"]
    if not abs(pearson) >= 0.5 * distance:
        how.append(f"distance correlation {distance:.2f}")
    how.append(f"p = {tests.smallest_dependence_p_value:.2g}")
    return f"{names[first]} and {names[second]} are dependent ({', '.join(how)})"


def _independence_words(
    reading: Reading,
    players: Sequence[str],
    columns: Mapping[str, FloatArray],  # each of shape (n_targets, n_players)
) -> str:
    """Say what X shows, and where the closed form is farthest off."""
    inputs = reading.rows
    seen = dependence_seen(inputs.values, inputs.names)
    if seen is None:
        n_columns = len(inputs.names)
        tested = f"the first {_MOST_COLUMNS} of {n_columns} columns of X"
        tested = tested if n_columns > _MOST_COLUMNS else "X"
        head = f"no dependence of two columns is visible in {tested}"
    else:
        head = f"{seen}, and the closed form assumes that they are not"
    closed_total, total = columns["closed_form_total_order"], columns["total_order"]
    if np.isnan(closed_total).any():
        return f"{head}; there is none for the columns before an embedding"
    difference = np.abs(closed_total - total)
    place = np.unravel_index(np.argmax(difference), difference.shape)
    target, player = map(int, place)
    return (
        f"{head}; it differs most for {players[player]} in "
        f"{reading.expansion.group_names[target]}: total index "
        f"{closed_total[target, player]:z.2f} in closed form, "
        f"{total[target, player]:z.2f} under the joint distribution, Shapley effect "
        f"{columns['shapley'][target, player]:z.2f}"
    )


# Standard errors of a correlation that is 0, above which indices are not supported,
# or worth a caution.
_UNKNOWN, _UNSURE = 0.25, 0.1


def _of_few_rows(
    law: NatafTransformer, n_rows: int, n_resamples: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a reason, or a caution, where few rows say how columns depend."""
    error = 1.0 / np.sqrt(n_rows)
    stated = law.correlation is not None or len(law.maps_) < 2
    if stated or error <= _UNSURE or (n_resamples and error <= _UNKNOWN):
        return (), ()
    words = f"a correlation learned from {n_rows} rows has a standard error of "
    words += f"up to {error:.2f}"
    if error > _UNKNOWN:
        return (f"{words}, more than {_UNKNOWN:g}",), ()
    remedy = "the standard errors leave it out; n_resamples=20 gives its effect"
    return (), (f"{words}: {remedy}",)


def _law_cautions(
    reading: Reading,
    law: NatafTransformer,
    draws: FloatArray,  # shape: (n_draws, n_features)
) -> tuple[str, ...]:
    """Say where the joint distribution does not fit X or the expansion."""
    found = []
    inputs = reading.rows
    names = [str(name) for name in law.get_feature_names_out(inputs.names)]
    left = dependence_seen(law.transform(inputs.values), names)
    if left is not None:
        found.append(
            "the joint distribution, a Gaussian copula, leaves dependence in X that it "
            f"should take out: {left}"
        )
    scores = ndtri((np.arange(_GRID) + 0.5) / _GRID)
    for name, column, one in zip(inputs.names, inputs.values.T, law.maps_, strict=True):
        n_values = len(one.values) if isinstance(one, LinearMap) else 0
        if not 1 < n_values <= len(column) / 2:
            continue
        excess = one.from_normal(scores).std() / column.std() - 1.0
        if abs(excess) > _TIED_EXCESS:
            found.append(
                f"the joint distribution draws between the {n_values} distinct "
                f"values of {name}, whose standard deviation becomes {1 + excess:.2f} "
                "times that of X; its share of the variance is too large"
            )
    Z, laws = reading.latent(draws), reading.expansion.basis.laws
    outside = np.any([one.outside(z) for one, z in zip(laws, Z.T, strict=True)], axis=0)
    share = float(np.mean(outside))
    if share > _OUTSIDE_SHARE:
        found.append(
            f"{share:.0%} of the draws lie outside the supports of the distributions "
            "of the expansion, which extrapolates there"
        )
    return tuple(found)


@dataclass(frozen=True)
class Redraws:
    """Draws of the inputs, and of sets of them given the others."""

    values: Callable[[FloatArray], FloatArray]  # rows of X to rows of the expansion
    law: NatafTransformer
    players: Sequence[list[int]]  # columns that are drawn together
    group: FloatArray  # (n_targets, n_rows): which rows a target adds up
    n_points: int  # of a batch, a power of two
    seeds: Sequence[int]  # one per batch

    def estimate(self) -> tuple[FloatArray, FloatArray]:
        """Return shares and variances, and their standard errors, by the jackknife.

        Each of shape (4, n_targets, n_players): a share of each kind, and the variance.
        """
        sums = np.array([self._batch(seed) for seed in self.seeds])
        left = [_shares((sums.sum(axis=0) - one) / (len(sums) - 1)) for one in sums]
        return _shares(sums.mean(axis=0)), jackknife_error(np.array(left))

    def _batch(self, seed: int) -> FloatArray:  # shape: (6, n_targets, n_players)
        """Return what the shares of one scrambled point set are made of."""
        generator = np.random.default_rng(seed)
        n_columns, n_players = len(self.law.maps_), len(self.players)
        normals = ndtri(sobol_points(2 * n_columns, self.n_points, generator))
        redraw_scores = self.law.distribution_.redraw
        empty, noise = np.zeros((len(normals), n_columns)), normals[:, n_columns:]
        scores = redraw_scores(empty, [], normals[:, :n_columns])
        values = self.values(self.law.from_scores(scores))
        variance = self.group @ values.var(axis=0)

        @cache
        def redraw(players: frozenset[int]) -> FloatArray:  # shape: (2, n_targets)
            """Return c(w) of some players, and the variance of f at both points."""
            if not players:
                return np.array([np.zeros_like(variance), variance])
            drawn = [i for player in players for i in self.players[player]]
            given = sorted(set(range(n_columns)) - set(drawn))
            again = self.values(
                self.law.from_scores(redraw_scores(scores, given, noise))
            )
            cost = 0.5 * np.square(values - again).mean(axis=0)
            both = np.concatenate([values, again]).var(axis=0)
            return np.array([cost, both]) @ self.group.T

        everyone = frozenset(range(n_players))

        def cost(players: frozenset[int]) -> FloatArray:
            return variance if players == everyone else redraw(players)[0]

        alone = [redraw(frozenset([i])) for i in range(n_players)]
        others = [redraw(everyone - {i}) for i in range(n_players)]
        if n_players <= _LARGEST_WHOLE_GAME:
            costs = [
                cost(frozenset(i for i in everyone if position >> i & 1))
                for position in range(2**n_players)
            ]
            effects = subset_shapley(np.array(costs).T, n_players) * variance[:, None]
        else:
            # Mean gains of each player over orders and their reverses.
            effects = np.zeros((len(variance), n_players))
            for order in [generator.permutation(n_players) for _ in range(_ORDERS)]:
                for direction in (order, order[::-1]):
                    before = cost(frozenset())
                    for size, player in enumerate(direction, start=1):
                        after = cost(frozenset(direction[:size].tolist()))
                        effects[:, player] += (after - before) / (2 * _ORDERS)
                        before = after
        whole = np.tile(variance[:, np.newaxis], n_players)
        parts = [np.array(one)[:, k].T for one in (alone, others) for k in (0, 1)]
        return np.array([*parts, effects, whole])


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


def _shares(sums: FloatArray) -> FloatArray:  # shape: (4, n_targets, n_players)
    """Divide by variances; 0 where there is none."""
    parts, wholes = sums[[0, 2, 4]], sums[[1, 3, 5]]
    total, left, shapley = parts / np.where(wholes > 0, wholes, 1.0)
    first = np.where(wholes[1] > 0, 1.0 - left, 0.0)
    return np.array([first, total, shapley, wholes[2]])
