"""Sobol indices of any fitted model, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._basis.basis import BasisParameters
from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    RandomState,
    Samples,
    check_draws,
    make_generator,
)
from .._compositions.indices import ratio_of_means
from .._expansion.expansion import Expansion
from .._expansion.problem import solve_samples
from .._input_laws import check_distribution, correlation_reason, largest_correlation
from .._input_laws.families import InputLaw
from .._input_laws.scores import fidelity_reason, outside_reason, outside_share
from .._learned.ridge import learn_terms
from .._result import Result, table_of_targets
from .._solvers.problem import q2_from_sums, weighted_spread
from ._reading import FittedModel, fitted_model

# Design points that are enough to say how many lie outside the data.
_OUTSIDE_POINTS = 1000

# Predictions at pairs of rows, about; rows of a table of them at least and at most.
_PREDICTIONS, _FEWEST_ROWS, _MOST_ROWS = 20_000, 100, 1000

# Share of the rows that decide a variance, below which a few of them do.
_FEW = 0.05

_NORMAL_90 = 1.6448536269514722


def sobol_indices(
    estimator: Any,
    X: Any,
    *,
    distribution: Any = "empirical",
    n_samples: int = 500,
    random_state: RandomState = None,
) -> Result:
    r"""Decompose the variance of the predictions of any fitted model.

    The model predicts rows whose columns are drawn *independently* from the
    distributions of the columns of X. A polynomial chaos expansion is fitted to some of
    the predictions. Others, at pairs of rows that share one column or all others,
    correct its indices, so that what is estimated are those of the model.

    Parameters
    ----------
    estimator : fitted estimator or callable
        Anything with ``predict`` (a pipeline, a forest, a network), whose
        ``predict_proba`` is taken where it classifies (of two classes, the second), or
        a function of a table of rows, such as ``model.decision_function``. Not changed.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that the model is meant for, usually its training data, in the container
        that it takes. Columns of a data frame may hold labels.
    distribution : str, frozen distribution, or list, default="empirical"
        The distribution of each column; a name is learned from X. Labels are drawn as
        often as they are seen.
    n_samples : int, default=500
        Rows to which the expansion is fitted. It needs no degree.
    random_state : int, RandomState instance or None, default=None
        Randomness of the rows.

    Returns
    -------
    indices : Result
        A table of targets and features. Its attributes:

        first_order, total_order : ndarray of shape (n_targets, n_features)
            Shares of the variance of the model.
        first_order_interval, total_order_interval : ndarray (2, n_targets, n_features)
            90 % intervals of each of them, for the rows that were drawn.
        shapley : ndarray of shape (n_targets, n_features)
            First-order index, and a part of what features do together. They add up to
            one.
        total_variance : ndarray of shape (n_targets,)
            Of the model under the design.
        fidelity, fidelity_standard_error : ndarray of shape (n_targets,)
            Q² of the expansion on rows that it was not fitted to; NaN without variance.
        largest_correlation : float
            Largest absolute correlation of two columns of X as given, or of indicators
            of their labels.
        outside_share : float
            Share of design points farther from the data than 95 % of the rows of X
            are from each other; near 0.05 for a design like the data.

    Raises
    ------
    ValueError
        For bad arguments.
    NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    dependent_sobol_indices : Of an expansion, for dependent columns.
    sklearn.inspection.permutation_importance : Loss of score, on data with targets.

    Notes
    -----
    The indices speak about the *model*: one that predicts nothing has indices too. They
    are conditional on the distributions and on independence.

    With two independent tables of rows A and B, :math:`A_i` the first with column i of
    the second, and any constant c, the numerators of a first-order and a total index
    are [1]_

    .. math:: E[(f(B) - c)(f(A_i) - f(A))], \quad \tfrac12 E[(f(A) - f(A_i))^2].

    The same means of the expansion are known in closed form, which makes them control
    variates: a mean of the model is corrected by a multiple, chosen by least squares,
    of what that of the expansion is wrong by. The better the expansion, the narrower
    the intervals. One that predicts nothing takes no part.

    Where a few rows have nearly all of the variance (of rare events, or of heavy tails)
    intervals are too narrow, and indices are not supported: the square of the sum of
    squared deviations, over the sum of their squares, is below 5 % of the rows.

    Columns of X that do not vary are held fixed, unless their distribution is frozen.

    References
    ----------
    .. [1] A. Saltelli, P. Annoni, I. Azzini, F. Campolongo, M. Ratto and S. Tarantola,
       "Variance based sensitivity analysis of model output. Design and estimator for
       the total sensitivity index", Computer Physics Communications 181 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVR
    >>> from skpce.inspection import sobol_indices
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> model = SVR(C=10).fit(X, 2 * X[:, 0] + X[:, 1])
    >>> found = sobol_indices(model, X, random_state=0)
    >>> found.supported, found.total_order.round(1)
    ((True,), array([[0.8, 0.2]]))
    """
    given = estimator, X, distribution, n_samples, random_state
    return _indices_of("sobol_indices", *given)


def shapley_effects(
    estimator: Any,
    X: Any,
    *,
    distribution: Any = "empirical",
    n_samples: int = 500,
    random_state: RandomState = None,
) -> Result:
    r"""Share the variance of a model among its columns, so that the shares add up.

    Parameters
    ----------
    estimator : fitted estimator or callable
        As in :func:`sobol_indices`.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that the model is meant for.
    distribution : str, frozen distribution, or list, default="empirical"
        The distribution of each column.
    n_samples : int, default=500
        Rows to which the expansion is fitted. It needs no degree.
    random_state : int, RandomState instance or None, default=None
        Randomness of the design.

    Returns
    -------
    effects : Result
        A table of targets and features. Its attributes:

        effects : ndarray of shape (n_targets, n_features)
            Shares of the variance; they add up to one. Also ``shapley``.
        total_variance : ndarray of shape (n_targets,)
            Variance of the model.
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
    to one. The columns are drawn independently, and the effects are those of
    :func:`sobol_indices`. For dependent columns [2]_ fit a
    :class:`skpce.PolynomialChaosRegressor` to the predictions of the model, and take
    its :func:`dependent_sobol_indices`.

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
    >>> X = rng.uniform(-1, 1, size=(500, 2))
    >>> model = lambda X: X[:, 0] + X[:, 0] * X[:, 1]
    >>> found = shapley_effects(model, X, random_state=0)
    >>> found.effects.round(1)
    array([[0.9, 0.1]])
    """
    given = estimator, X, distribution, n_samples, random_state
    found = _indices_of("shapley_effects", *given)
    known = ("total_variance", "fidelity_standard_error")
    figures = {name: found.figures[name] for name in known}
    return replace(
        found,
        columns={name: found.columns[name] for name in ("shapley", "fidelity")},
        facts=tuple(f"independent columns, {said}" for said in found.facts),
        printed=("shapley",),
        figures={"effects": found.shapley, **figures},
    )


def _indices_of(
    owner: str,
    estimator: Any,
    X: Any,
    distribution: Any,
    n_samples: Any,
    random_state: RandomState,
) -> Result:
    """Estimate indices of a model; means of an expansion are control variates."""
    generator = make_generator(random_state)
    given = owner, estimator, X, distribution, n_samples, generator
    design = IndependentColumns.of(*given)
    varying, expansion = design.varying, design.expansion(int(n_samples))
    n_rows = _PREDICTIONS // (len(varying) + 2)
    n_rows = int(np.clip(n_rows, _FEWEST_ROWS, _MOST_ROWS))

    def both(rows: FloatArray) -> FloatArray:  # shape: (2, n_rows, n_targets)
        return np.stack([design.model(rows), expansion(rows[:, varying])])

    one, other = design.rows(n_rows), design.rows(n_rows)
    at_one, at_other = both(one), both(other)
    exact, whole = expansion.sobol_indices(), expansion.total_variance
    every = np.hstack([at_one, at_other])
    middle = every.mean(axis=1, keepdims=True)
    fidelity, standard_error = fidelity_of(every[1], every[0])
    helps = fidelity > 0
    squares = np.square(at_one - middle) + np.square(at_other - middle)
    variance = _corrected(squares * n_rows / (2 * n_rows - 1), whole, helps)
    # First-order and total indices, and the ends of their intervals.
    shares = np.zeros((2, len(whole), len(design.laws)))
    ends = np.zeros((2, *shares.shape))
    for k, i in enumerate(varying.tolist()):
        mixed = one.copy()
        mixed[:, i] = other[:, i]
        change = both(mixed) - at_one
        parts = (
            ((at_other - middle) * change, exact.first_order),
            (np.square(change) / 2.0, exact.total_order),
        )
        for place, (rows, known) in enumerate(parts):
            part = _corrected(rows, known[:, k] * whole, helps)
            share, error = ratio_of_means(part, variance, ddof=1)
            margin = np.outer([-_NORMAL_90, _NORMAL_90], error)
            shares[place, :, i] = np.clip(share, 0.0, 1.0)
            ends[:, place, :, i] = np.clip(share + margin, 0.0, 1.0)
    shapley = np.zeros_like(shares[0])
    shapley[:, varying] = _shared(expansion, *shares[:, :, varying])
    columns: dict[str, FloatArray] = {}
    for place, name in ((1, "total_order"), (0, "first_order")):
        columns[name] = shares[place]
        columns[f"{name}_low"], columns[f"{name}_high"] = ends[:, place]
    common, figures = _support(design)
    of_targets = fidelity, standard_error, _deciding_share(squares[0])
    each = np.transpose(of_targets).tolist()
    return table_of_targets(
        design.model.target_names(len(whole)),
        design.model.inputs.names,
        columns | {"shapley": shapley, "fidelity": fidelity},
        [(*_reasons(q2, deciding), *common) for q2, _, deciding in each],
        [f"fidelity Q² = {q2:z.3f} ± {error:.3f}" for q2, error, _ in each],
        printed=("total_order", "first_order", "shapley"),
        first_order_interval=ends[:, 0],
        total_order_interval=ends[:, 1],
        total_variance=variance.mean(axis=0),
        fidelity_standard_error=standard_error,
        **figures,
    )


def _deciding_share(squares: FloatArray) -> FloatArray:  # (n_rows, d) -> (d,)
    """Return the share of the rows that have nearly all of a sum."""
    whole = np.square(squares).sum(axis=0) * len(squares)
    return np.asarray(np.square(squares.sum(axis=0)) / np.maximum(whole, 1e-300))


def _support(design: IndependentColumns) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return what speaks against independent columns, and the figures of it."""
    inputs = design.model.inputs
    seen, input_of = inputs.with_indicators(inputs.values)
    drawn, _ = inputs.with_indicators(design.rows(_OUTSIDE_POINTS))
    outside, names = outside_share(seen, drawn), [inputs.names[i] for i in input_of]
    return (
        (*correlation_reason(seen, names, input_of), *outside_reason(outside)),
        {
            "largest_correlation": largest_correlation(seen, input_of),
            "outside_share": outside,
        },
    )


def _corrected(
    rows: FloatArray,  # shape: (2, n_rows, n_targets), of the model and the expansion
    known: FloatArray,  # shape: (n_targets,), means of the expansion
    helps: BoolArray,  # shape: (n_targets,), whether it predicts anything
) -> FloatArray:  # shape: (n_rows, n_targets)
    """Correct rows of the model by what the mean of the expansion is wrong by."""
    model, expansion = rows - rows.mean(axis=1, keepdims=True)
    square = np.square(expansion).sum(axis=0)
    slope = (model * expansion).sum(axis=0) / np.where(square > 0, square, 1.0)
    return np.asarray(rows[0] - np.where(helps, slope * (rows[1] - known), 0.0))


def _shared(
    expansion: Expansion,
    first: FloatArray,  # shape: (n_targets, n_inputs)
    total: FloatArray,  # shape: (n_targets, n_inputs)
) -> FloatArray:  # shape: (n_targets, n_inputs)
    """Return Shapley effects: first-order indices, and parts of what is left.

    An input has a half of what two do together, and less of what more do; how much of
    all that it takes part in is read from the expansion.
    """
    indices = expansion.sobol_indices()
    together = np.maximum(indices.total_order - indices.first_order, 0.0)
    part = (indices.shapley - indices.first_order) / np.maximum(together, 1e-9)
    part = np.clip(part, 1.0 / max(first.shape[1], 2), 0.5)
    parts = np.maximum(total - first, 0.0) * part
    sums = parts.sum(axis=1, keepdims=True)
    left = np.maximum(1.0 - first.sum(axis=1, keepdims=True), 0.0)
    effects = first + left * parts / np.where(sums > 0, sums, 1.0)
    whole = effects.sum(axis=1, keepdims=True)
    return np.asarray(effects / np.where(whole > 0, whole, 1.0))


@dataclass(frozen=True)
class IndependentColumns:
    """Rows of a model whose columns are drawn independently; some are held fixed."""

    model: FittedModel
    laws: Sequence[InputLaw]  # of all columns
    varying: IndexArray
    generator: np.random.Generator

    @classmethod
    def of(
        cls,
        owner: str,
        estimator: Any,
        X: Any,
        distribution: Any,
        n_samples: Any,
        generator: np.random.Generator,
    ) -> IndependentColumns:
        """Check all arguments, before the model is called."""
        check_draws(owner, "n_samples", n_samples, low=10)
        model = fitted_model(owner, estimator, X)
        names, data = model.inputs.names, model.inputs.values
        labels = [names[i] for i in model.inputs.labels]
        laws = check_distribution(owner, distribution, names, labels)
        given = BasisParameters(owner, 1, laws, interaction_order=None)
        learned = given.learn(data, np.ones(len(data)), names).laws
        # One value alone has no distribution: such a column is held fixed.
        stated = np.array([not law.learned for law in learned])
        varying = np.flatnonzero((np.ptp(data, axis=0) > 0) | stated)
        if varying.size == 0:
            raise ValueError("X has no column that varies; expected at least one.")
        return cls(model, learned, varying, generator)

    def rows(self, size: int) -> FloatArray:
        """Draw rows."""
        drawn = np.tile(self.model.inputs.values[0], (size, 1))
        for i in self.varying.tolist():
            drawn[:, i] = self.laws[i].sample(size, self.generator)
        return drawn

    def expansion(self, n_samples: int) -> Expansion:
        """Fit an expansion to predictions at rows."""
        rows = self.rows(n_samples)
        laws = [self.laws[i].for_degree(None) for i in self.varying]
        values = self.model.twice(rows)
        samples = Samples(rows[:, self.varying], values, np.ones(n_samples))
        basis, solver = learn_terms(laws, samples, np.arange(values.shape[1]))
        problem = solve_samples(solver, basis, samples)
        # Its functions go on beyond the samples as they are.
        ends = np.outer([-np.inf, np.inf], np.ones(len(laws)))
        basis = replace(basis, reach=ends)
        return Expansion(
            basis,
            problem.coefficients,
            target_variance=problem.target_variance,
            loo_error=problem.loo_error,
        )


def _reasons(fidelity: float, deciding: float) -> tuple[str, ...]:
    if np.isnan(fidelity):
        return fidelity_reason(fidelity)
    if deciding >= _FEW:
        return ()
    return (
        "a few predictions have nearly all of the variance, as if it were that of "
        f"{deciding:.1%} of the rows, less than {_FEW:.0%}: intervals are too narrow",
    )


def fidelity_of(
    predicted: FloatArray,  # shape: (n_rows, n_targets)
    values: FloatArray,  # shape: (n_rows, n_targets)
) -> tuple[FloatArray, FloatArray]:  # shape of each: (n_targets,)
    """Return Q² of an expansion on rows that it has not seen, and its error."""
    squares = np.square(values - predicted)
    spread = weighted_spread(values, np.ones(len(values)))
    _, error = ratio_of_means(squares, np.square(values - values.mean(axis=0)))
    q2 = q2_from_sums(squares.sum(axis=0), spread)
    return q2, np.where(spread > 0, error, np.nan)
