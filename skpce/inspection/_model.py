"""Sobol indices of any fitted model, with the fidelity that stands behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from .._basis.basis import BasisParameters
from .._basis.features import PolynomialChaosFeatures
from .._checks import (
    FloatArray,
    IndexArray,
    RandomState,
    Samples,
    check_draws,
    make_generator,
    numbered_names,
    remembers_frames,
)
from .._compositions.probability_indices import ratio_of_means
from .._expansion.expansion import Expansion
from .._expansion.problem import solve_samples, solve_sums, sum_blocks
from .._input_laws import check_distribution
from .._input_laws.correlations import correlation_reason, largest_correlation
from .._input_laws.scores import (
    fidelity_reason,
    outside_reason,
    outside_share,
)
from .._regressor import LARGEST_WHOLE_DESIGN
from .._result import Result, table_of_targets
from .._solvers import FROM_MOMENTS, make_solver
from .._solvers.problem import q2_from_sums, weighted_spread
from ._reading import FittedModel, fitted_model

#: Design points that are enough to say how many lie outside the data.
OUTSIDE_POINTS = 1000

#: What speaks against each target.
Reasons = tuple[tuple[str, ...], ...]


@remembers_frames
def sobol_indices(
    estimator: Any,
    X: Any,
    *,
    distribution: Any = "empirical",
    degree: int | None = None,
    n_samples: int = 1000,
    solver: str = "ridge",
    random_state: RandomState = None,
) -> Result:
    r"""Decompose the variance of the predictions of any fitted model.

    The model predicts rows whose columns are drawn *independently* from the
    distributions of the columns of X. A polynomial chaos expansion of the predictions
    gives the indices in closed form, as in :class:`skpce.Expansion`. Held-out rows of
    the same design say how faithful the expansion is.

    Parameters
    ----------
    estimator : fitted estimator or callable
        Anything with ``predict`` (a pipeline, a forest, a network), whose
        ``predict_proba`` is taken where it classifies (of two classes, the second), or
        a function of a table of rows, such as ``model.decision_function``. Not changed.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that the model is meant for, usually its training data, in the container
        that it takes.
    distribution : str, frozen distribution, or list, default="empirical"
        The distribution of each column; a name is learned from X.
    degree : int or None, default=None
        None tries degrees from 1 as long as there are at most half as many terms as
        design points, and takes the best leave-one-out Q².
    n_samples : int, default=1000
        Design points of the fit; 500 others say how faithful it is.
    solver : str, default="ridge"
        As in :class:`skpce.PolynomialChaosRegressor`.
    random_state : int, RandomState instance or None, default=None
        Randomness of the design.

    Returns
    -------
    indices : Result
        A table of targets and features. Its attributes:

        first_order, total_order, shapley : ndarray of shape (n_targets, n_features)
            Shares of the variance of the expansion. Shapley effects add up to one.
        first_order_bounds, total_order_bounds : ndarray (2, n_targets, n_features)
            Where the indices of the *model* can lie, given its distance to the
            expansion on the held-out design points (a sample estimate).
        total_variance, model_variance : ndarray of shape (n_targets,)
            Of the expansion, and of the model under the design.
        fidelity, fidelity_standard_error : ndarray of shape (n_targets,)
            Q² of the expansion on held-out design points; NaN without variance.
        degree, n_terms : int
            Of the expansion.
        largest_correlation : float
            Largest absolute correlation of two columns of X as given.
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
    original_space_indices : For a pipeline of PCA and polynomial chaos.
    shapley_effects : With dependent normal columns.
    sklearn.inspection.permutation_importance : Loss of score, on data with targets.

    Notes
    -----
    The indices speak about the *model*: one that predicts nothing has indices too. They
    are conditional on the distributions and on independence.

    With the model :math:`f`, the expansion :math:`g` and the mean squared difference
    :math:`e^2` on held-out points, the bounds of an index :math:`S` are
    :math:`(\sqrt{S_g \mathrm{Var} g} \mp e)^2 / \mathrm{Var} f`, because the numerator
    of a first-order or total index is the squared norm of an orthogonal projection and
    projections do not lengthen. They are wide: a fidelity of 0.99 leaves an index of
    0.4 between 0.28 and 0.54.

    An expansion with more than 1.25 times the variance that the model shows at the
    design points is not supported either, unless its fidelity is at least 0.999: high
    degrees can grow in tails where no point has been.

    Columns of X that do not vary are held fixed, unless their distribution is frozen.

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
    options = ExpansionOptions(degree, n_samples, distribution, solver)
    model, options = options.of_model("sobol_indices", estimator, X)
    data, names = model.inputs.values, model.inputs.names
    expanded, varying, outside, reasons = of_independent_columns(
        model, options, make_generator(random_state)
    )
    indices = expanded.expansion.sobol_indices()
    shares = np.zeros((3, len(reasons), len(names)))
    shares[:, :, varying] = indices.total_order, indices.first_order, indices.shapley
    total, first, shapley = shares
    first_bounds, total_bounds = map(expanded.bounds, (first, total))
    n_terms = len(expanded.expansion.multi_indices)
    return table_of_targets(
        model.target_names(len(reasons)),
        names,
        {
            "total_order": total,
            "total_order_low": total_bounds[0],
            "total_order_high": total_bounds[1],
            "first_order": first,
            "first_order_low": first_bounds[0],
            "first_order_high": first_bounds[1],
            "shapley": shapley,
            "fidelity": expanded.fidelity,
        },
        reasons,
        [
            f"{fidelity}, degree {expanded.degree}, {n_terms} terms"
            for fidelity in fidelity_words(expanded.fidelity, expanded.standard_error)
        ],
        printed=("total_order", "first_order", "shapley"),
        first_order_bounds=first_bounds,
        total_order_bounds=total_bounds,
        total_variance=indices.total_variance,
        model_variance=expanded.model_variance,
        fidelity_standard_error=expanded.standard_error,
        degree=expanded.degree,
        n_terms=n_terms,
        largest_correlation=largest_correlation(data),
        outside_share=outside,
    )


def of_independent_columns(
    model: FittedModel, options: ExpansionOptions, generator: np.random.Generator
) -> tuple[ModelExpansion, IndexArray, float, Reasons]:
    """Expand a model in the columns that vary.

    Also return these, the share outside the data, and what speaks against each target.
    """
    data, names = model.inputs.values, model.inputs.names
    features = PolynomialChaosFeatures(1, distribution=options.distribution)
    basis = features.fit(data).basis_
    # One value alone has no distribution: such a column is held fixed.
    learned = np.array([law.learned for law in basis.laws])
    varying = np.flatnonzero((np.ptp(data, axis=0) > 0) | ~learned)
    if varying.size == 0:
        raise ValueError("X has no column that varies; expected at least one.")
    fixed = np.setdiff1d(np.arange(len(names)), varying)

    def rows_of(size: int) -> FloatArray:
        drawn = basis.sample(size, generator)
        drawn[:, fixed] = data[0, fixed]
        return drawn

    def draw(size: int) -> tuple[FloatArray, FloatArray]:
        rows = rows_of(size)
        return rows[:, varying], model(rows)

    def accepts(degree: int) -> bool:
        """Whether every distribution carries polynomials of this degree."""
        try:
            for i in varying.tolist():
                basis.laws[i].check_degree("sobol_indices", f"x{i}", degree)
        except ValueError:
            return False
        return True

    expanded = expand_model(
        draw, options.of_columns(varying), data[:, varying], accepts
    )
    outside = outside_share(data, rows_of(OUTSIDE_POINTS))
    common = *correlation_reason(data, names), *outside_reason(outside)
    return expanded, varying, outside, expanded.reasons(*common)


def fidelity_words(fidelity: FloatArray, standard_error: FloatArray) -> list[str]:
    """Return the fidelity of each target with its standard error."""
    pairs = zip(fidelity, standard_error, strict=True)
    return [f"fidelity Q² = {q2:z.3f} ± {error:.3f}" for q2, error in pairs]


# Design points of the fidelity.
_HELD_OUT = 500

# Whose parameters the options are, for messages.
_EXPANDED_BY = "PolynomialChaosRegressor"

_LARGEST_DEGREE = 12  # degrees that are tried when none is given

# An expansion whose variance is more than this many times that of the model at the
# design points owes it to tails that no point has seen, unless it is as good as exact.
_LARGEST_INFLATION = 1.25
_EXACT = 0.999


@dataclass(frozen=True)
class ExpansionOptions:
    """How a model is expanded, and what the expansion must fulfil."""

    degree: Any  # None lets leave-one-out choose
    n_samples: Any  # design points of the fit
    distribution: Any
    solver: Any

    def of_model(
        self, owner: str, estimator: Any, X: Any
    ) -> tuple[FittedModel, ExpansionOptions]:
        """Check all arguments; return distributions in the order of the inputs."""
        check_draws(owner, "n_samples", self.n_samples, low=10)
        degree = 1 if self.degree is None else self.degree
        replace(self, distribution="uniform").parameters(degree).check(("x0",))
        make_solver(_EXPANDED_BY, self.solver, None)
        model = fitted_model(owner, estimator, X)
        laws = check_distribution(owner, self.distribution, model.inputs.names)
        return model, replace(self, distribution=laws)

    def of_columns(self, columns: Iterable[int]) -> ExpansionOptions:
        """Return the options for some of the columns."""
        return replace(self, distribution=[self.distribution[i] for i in columns])

    def parameters(self, degree: int) -> BasisParameters:
        """Return the parameters of the basis of a degree."""
        return BasisParameters(_EXPANDED_BY, degree, self.distribution, None)

    def fit(self, degree: int, design: Samples, law_source: FloatArray) -> Expansion:
        """Fit a basis of known distributions, free of the sampling error."""
        solver = make_solver(_EXPANDED_BY, self.solver, None)
        names = numbered_names(law_source.shape[1])
        adds_up = self.solver in FROM_MOMENTS
        basis = self.parameters(degree).learn(
            law_source, np.ones(len(law_source)), names, in_blocks=adds_up
        )
        n_samples, n_terms = len(design.inputs), len(basis.multi_indices)
        large = n_samples * n_terms > LARGEST_WHOLE_DESIGN and n_samples > n_terms
        if adds_up and large:
            problem = solve_sums(solver, basis, sum_blocks(basis, design))
        else:
            problem = solve_samples(solver, basis, design)
        return Expansion(basis, problem.coefficients, q2=problem.q2)

    def degrees(self, n_features: int, accept: Callable[[int], bool]) -> list[int]:
        """Return the degrees to try: at most half as many terms as design points."""
        if self.degree is not None:
            return [int(self.degree)]

        def fits(degree: int) -> bool:
            n_terms = math.comb(n_features + degree, degree)
            return n_terms <= self.n_samples // 2 and accept(degree)

        return [1, *takewhile(fits, range(2, _LARGEST_DEGREE + 1))]


@dataclass(frozen=True)
class ModelExpansion:
    """An expansion of a model, and its fidelity."""

    expansion: Expansion  # in the columns that vary
    degree: int
    fidelity: FloatArray  # (n_targets,): Q² on held-out points; NaN without variance
    standard_error: FloatArray
    squared_distance: FloatArray  # mean square of model less expansion there
    model_variance: FloatArray  # of the model under the design
    inflation: FloatArray  # variance of the expansion over that at all points

    def reasons(self, *common: str) -> Reasons:
        """Say, target by target, why the expansion cannot stand for the model."""
        found = []
        for q2, inflation in zip(self.fidelity, self.inflation, strict=True):
            own = fidelity_reason(q2)
            if inflation > _LARGEST_INFLATION and q2 < _EXACT:
                own += (
                    f"the expansion has {inflation:.2g} times the variance that the "
                    "model shows at the design points: tails that no point has seen "
                    "decide its indices",
                )
            found.append((*own, *common))
        return tuple(found)

    def bounds(self, shares: FloatArray) -> FloatArray:  # (2, n_targets, n_features)
        """Bound the indices of the model: a projection does not lengthen ``f - g``."""
        variance = self.expansion.total_variance[:, np.newaxis]
        norm = np.sqrt(shares * variance)
        distance = np.sqrt(self.squared_distance)[:, np.newaxis]
        edges = np.stack([np.maximum(norm - distance, 0.0), norm + distance])
        whole = np.where(self.model_variance > 0, self.model_variance, np.nan)
        return np.clip(np.square(edges) / whole[:, np.newaxis], 0.0, 1.0)


def expand_model(
    draw: Callable[[int], tuple[FloatArray, FloatArray]],  # inputs and predictions
    options: ExpansionOptions,
    law_source: FloatArray,
    accept: Callable[[int], bool] = lambda degree: True,
) -> ModelExpansion:
    """Fit, with the degree of the best Q² that is not inflated, and measure it."""
    inputs, values = draw(int(options.n_samples))
    design = Samples(inputs, values, np.ones(len(inputs)))
    variance = values.var(axis=0)
    best, best_score = None, (False, -np.inf)
    for degree in options.degrees(inputs.shape[1], accept):
        expansion = options.fit(degree, design, law_source)
        varies = ~np.isnan(expansion.q2)
        q2 = float(expansion.q2[varies].mean()) if varies.any() else 0.0
        inflated = expansion.total_variance > _LARGEST_INFLATION * variance
        score = (not np.any(inflated & (expansion.q2 < _EXACT)), q2)
        if best is None or score > best_score:
            best, best_score = (expansion, degree), score
    assert best is not None  # one degree at least is tried
    return _measured(*best, values, *draw(_HELD_OUT))


def _measured(
    expansion: Expansion,
    degree: int,
    fitted: FloatArray,
    inputs: FloatArray,
    values: FloatArray,
) -> ModelExpansion:
    """Compare an expansion with the model on held-out points."""
    predicted = expansion(inputs)
    residuals = values - predicted
    squares = np.square(residuals)
    spread = weighted_spread(values, np.ones(len(values)))
    varies = spread > 0
    _, error = ratio_of_means(squares, np.square(values - values.mean(axis=0)))
    # Var f = Var g + 2 Cov(g, r) + Var r: the first is exact, and the rest is small
    covariance = np.mean((predicted - predicted.mean(axis=0)) * residuals, axis=0)
    variance = expansion.total_variance
    corrected = variance + 2 * covariance + residuals.var(axis=0)
    corrected = np.where(corrected > 0, corrected, spread / len(values))
    sample = np.vstack([fitted, values]).var(axis=0)
    return ModelExpansion(
        expansion=expansion,
        degree=degree,
        fidelity=q2_from_sums(squares.sum(axis=0), spread),
        standard_error=np.where(varies, error, np.nan),
        squared_distance=squares.mean(axis=0),
        model_variance=np.where(varies, corrected, 0.0),
        inflation=variance / np.where(varies, sample, np.nan),
    )
