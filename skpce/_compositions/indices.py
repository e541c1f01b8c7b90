"""Sensitivity indices of a surrogate: of a coordinate, a step or the trajectory.

All follow from one set of clr coefficients. A *coordinate* is a linear image of them. A
*step* adds the squares of its parts, which is its Aitchison variance: the same in every
orthonormal basis of the log-ratios, free of a reference. The *trajectory* adds steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .._checks import (
    FloatArray,
    IndexArray,
    RandomState,
    check_draws,
    check_option,
    check_real,
    make_generator,
)
from .._expansion.expansion import (
    Expansion,
    SobolIndices,
    coefficients_of_terms,
)
from .._expansion.intervals import (
    SobolInterval,
    checked_method,
    interval_of_parts,
)
from .._expansion.problem import RowSums, map_rows, spread_of_targets
from .._learned.ridge import KernelBasis
from .._result import Result, Shown
from .._solvers.problem import LOG_RATIO_FLOOR, q2_from_sums, without_slopes
from .fitted import FittedCompositions
from .log_ratio import (
    LOG_RATIOS,
    LogRatioTransformer,
)

#: Levels at which indices are given.
LEVELS = ("coordinate", "step", "trajectory")

#: Levels of ``CompositionalPCESurrogate.sobol_frame``.
FRAME_LEVELS = ("step", "action", "coordinate", "trajectory")

#: Step of a row that belongs to all steps.
ALL_STEPS = -1


@dataclass(frozen=True, kw_only=True)
class IndexLevel(RowSums):
    """How fitted coordinates make up the rows of a level."""

    groups: IndexArray  # shape: (n_images,), row for which an image counts
    spread: FloatArray  # shape: (n_images,), sum of squares; 0 where it is rounding
    steps: IndexArray  # shape: (n_rows,); -1 for all steps
    names: tuple[str, ...]  # one per row

    def expansion(self, fitted: FittedCompositions) -> Expansion:
        """Expand the images, without slopes where there is no spread."""
        values = map_rows(self.image, fitted.coefficients)
        given = fitted.basis, without_slopes(values, self.spread), fitted.input_names
        return Expansion(*given, groups=self.groups, group_names=self.names)


def index_level(
    fitted: FittedCompositions,
    owner: str,
    level: str,
    coordinates: str | None = None,
    reference: int | None = None,
) -> IndexLevel:
    """Check a level and its coordinates, and return its rows."""
    check_option(owner, "level", level, LEVELS)
    geometry = fitted.geometry
    if level == "coordinate":
        wanted = geometry.log_ratio if coordinates is None else coordinates
        part = geometry.reference if reference is None else reference
        check_option(owner, "coordinates", wanted, LOG_RATIOS)
        how = LogRatioTransformer(wanted, reference=part)
        how._check_parameters(owner, geometry.layout)
        geometry = replace(geometry, log_ratio=wanted, reference=int(part))
        steps, names = geometry.step_of_coordinate, tuple(geometry.coordinate_names)
        groups = np.arange(len(steps))
        if fitted.samples is None:  # 0 where that of the step is
            spread = fitted.step_spread[steps]
        else:
            values = geometry.to_coordinates(fitted.clr)
            spread = spread_of_targets(values, fitted.members.weights, LOG_RATIO_FLOOR)
    else:
        given = {"coordinates": coordinates, "reference": reference}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"The {name!r} parameter of {owner} must be left out unless "
                    f"level='coordinate'. Got {value!r} with level={level!r}, whose "
                    "indices do not depend on coordinates."
                )
        geometry = replace(geometry, log_ratio="clr")
        groups = geometry.step_of_coordinate
        spread = fitted.step_spread[groups]
        steps, names = np.arange(geometry.layout.n_steps), geometry.layout.step_names
    own = fitted.fitted_geometry
    row_of_target = np.searchsorted(steps, own.step_of_coordinate)
    if level == "trajectory":
        groups, row_of_target = np.zeros_like(groups), np.zeros_like(row_of_target)
        steps, names = np.array([ALL_STEPS]), ("trajectory",)

    def image(values: FloatArray) -> FloatArray:
        return geometry.to_coordinates(own.from_coordinates(values))

    return IndexLevel(
        image=image,
        groups=groups,
        row_of_target=row_of_target,
        n_rows=len(steps),
        varies=spread > 0,
        # Variances of additive log-ratios are not those of the step.
        adds_variances=own.log_ratio != "alr",
        spread=spread,
        steps=steps,
        names=names,
    )


def sobol_indices(
    fitted: FittedCompositions,
    level: str = "coordinate",
    *,
    coordinates: str | None = None,
    reference: int | None = None,
) -> SobolIndices:
    r"""Return Sobol indices of coordinates, steps or the whole trajectory.

    With clr coefficients :math:`c_{kj}` the total index of input :math:`i` in a
    step :math:`t` is
    :math:`\sum_{k \in t} \sum_{j_i > 0} c_{kj}^2 / \sum_{k \in t} \sum_{j \ne 0}
    c_{kj}^2` (Gamboa et al., 2014, as cited in :class:`Expansion`), and that of the
    trajectory the same with the sum over all steps.

    Parameters
    ----------
    level : {"coordinate", "step", "trajectory"}, default="coordinate"
        What is explained.
    coordinates : {"alr", "clr", "ilr"} or None, default=None
        Coordinates of that level; None takes ``log_ratio``. No refit is needed.
    reference : int or None, default=None
        Reference part of alr; None takes the parameter of the estimator.

    Returns
    -------
    indices : SobolIndices
        ``first_order``, ``total_order`` of shape (n_rows, n_features) and
        ``total_variance`` of shape (n_rows,). 0 for a row without variance.

    Raises
    ------
    ValueError
        For an unknown level, or coordinates at another level.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = softmax(np.c_[X[:, 0], X[:, 1], 0 * X[:, 0]], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1).fit(X, y)
    >>> found = surrogate.sobol_indices(coordinates="alr")
    >>> found.total_order.round(2) + 0.0  # each part against the last
    array([[1., 0.],
           [0., 1.]])
    >>> surrogate.sobol_indices("trajectory").total_order.shape
    (1, 2)
    """
    rows = index_level(fitted, "sobol_indices", level, coordinates, reference)
    return rows.expansion(fitted).sobol_indices()


def shapley_effects(
    fitted: FittedCompositions,
    level: str = "step",
    *,
    coordinates: str | None = None,
    reference: int | None = None,
) -> FloatArray:
    """Return Shapley effects, which add up to 1 in each row.

    Those of :meth:`Expansion.shapley_effects`, with the partial variances of the row.

    Parameters
    ----------
    level : {"coordinate", "step", "trajectory"}, default="step"
        What is explained.
    coordinates, reference : str and int, or None, default=None
        As in :meth:`sobol_indices`.

    Returns
    -------
    effects : ndarray of shape (n_rows, n_features)
        Between first-order and total index; 0 for a row without variance.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from scipy.stats import norm
    >>> from skpce import CompositionalPCESurrogate
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = softmax(np.c_[X[:, 0] * X[:, 1], 0 * X[:, 0]], axis=1)
    >>> surrogate = CompositionalPCESurrogate(2, distribution=norm(0, 1))
    >>> surrogate.fit(X, y).shapley_effects().round(2)
    array([[0.5, 0.5]])
    """
    rows = index_level(fitted, "shapley_effects", level, coordinates, reference)
    return rows.expansion(fitted).shapley_effects()


def sobol_interval(
    fitted: FittedCompositions,
    level: str = "step",
    confidence_level: float = 0.9,
    *,
    method: str | None = None,
    coordinates: str | None = None,
    reference: int | None = None,
    n_resamples: int = 200,
    random_state: RandomState = None,
) -> SobolInterval:
    """Return intervals of the indices, from resamples or from residuals.

    Parameters
    ----------
    level : {"coordinate", "step", "trajectory"}, default="step"
        What is explained.
    confidence_level : float, default=0.9
        Nominal probability, one index at a time.
    method : {"posterior", "bootstrap", "residual"} or None, default=None
        None is for steps and the trajectory as in
        :meth:`PolynomialChaosRegressor.sobol_interval`; ``"bootstrap"`` for coordinates
        and for fits without a coefficient for each term.

        - ``"posterior"``: as in :meth:`PolynomialChaosRegressor.sobol_interval`.
        - ``"bootstrap"``: percentiles over resamples of the members [1]_, with the
          terms and penalties of the fit; learned distributions are learned anew, frozen
          ones stay. **It ignores truncation and shrinkage**: read it beside
          ``step_unexplained_share_``. The lower end of an input that does nothing lies
          above 0.
        - ``"residual"``: from leave-one-out residuals, which contain both, as in
          :meth:`PolynomialChaosRegressor.sobol_interval`; for steps and the
          trajectory. About as wide as the unexplained share or wider.
    coordinates, reference : str and int, or None, default=None
        As in :meth:`sobol_indices`.
    n_resamples : int, default=200
        Number of draws.
    random_state : int, RandomState instance or None, default=None
        None uses the parameter of the estimator.

    Returns
    -------
    interval : SobolInterval
        ``first_order``, ``total_order`` and ``shapley`` of shape
        (2, n_rows, n_features), lower bounds first.

    Raises
    ------
    ValueError
        For a bad argument, or residuals of coordinates or of a ``regressor`` that has
        no coefficients.

    References
    ----------
    .. [1] B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap",
       Chapman and Hall, 1993, section 13.3.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = softmax(np.c_[X[:, 0], rng.normal(size=(60, 2))], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1, random_state=0).fit(X, y)
    >>> low, high = surrogate.sobol_interval("trajectory").total_order
    >>> bool(np.all(low <= high))
    True
    """
    owner = "sobol_interval"
    chosen = owner, level, coordinates, reference
    rows = index_level(fitted, *chosen)
    check_real(owner, "confidence_level", confidence_level, low=0, high=1)
    weights = fitted.require_samples(owner).weights
    check_draws(owner, "n_resamples", n_resamples, each=len(weights))
    if len(weights) > 1 and weights.sum() < 2:
        raise ValueError(
            f"sample_weight of fit sums to {weights.sum():.3g} copies; with "
            f"n_resamples={n_resamples} {owner} needs at least 2. Weights are "
            "frequencies: multiply them up to the number of members."
        )
    has_terms = not (fitted.from_models or isinstance(fitted.basis, KernelBasis))
    default = "residual" if has_terms else "bootstrap"
    if method is None and level == "coordinate":
        method = "bootstrap"
    method = checked_method(owner, method, fitted.solver, default)
    if level == "trajectory" and len(fitted.parts) > 1:
        raise ValueError(
            f"{owner} has level='trajectory' for steps of the same members: y has NaN, "
            "and other members lack other steps. Expected level='step' or 'coordinate'."
        )
    if method != "bootstrap":
        check_option(f"{owner}(method={method!r})", "level", level, LEVELS[1:])
    if method == "residual" and not has_terms:
        raise ValueError(
            f"{owner} has method='residual' for fits with a coefficient for each term. "
            "This one has none: expected method='bootstrap'."
        )
    parts = []  # of the same members
    for part, targets in fitted.parts:
        places = np.isin(rows.steps, [*fitted.steps_of(targets), ALL_STEPS])
        parts.append((part, index_level(part, *chosen), places))
    shape = len(rows.steps), len(fitted.basis.laws)
    draws = n_resamples, confidence_level, make_generator(random_state)
    return interval_of_parts(parts, shape, method, *draws)


def unexplained_share(
    fitted: FittedCompositions,
    steps: IndexArray,  # -1 stands for the trajectory
) -> FloatArray:  # of the shape of ``steps``
    """Return the unexplained share of the variance of steps."""
    by_step = fitted.expansion.unexplained_share
    press, spread = fitted.press_and_spread
    defined = np.isfinite(by_step)
    whole = q2_from_sums(press[defined].sum(), spread[defined].sum())
    return np.append(by_step, np.clip(1.0 - whole, 0.0, 1.0))[steps]


def coordinate_coefficients(fitted: FittedCompositions) -> FloatArray:
    """Return the coefficients of the coordinates; (n_coordinates, n_terms)."""
    rows = index_level(fitted, "coefficients_", "coordinate")
    return coefficients_of_terms(rows.expansion(fitted))


# A variance below this share of the squared mean is rounding.
_ROUNDING = 1e-24


def _parts_and_steps(
    read: Callable[[ProbabilitySobolIndices], FloatArray],
) -> tuple[property, property]:
    """Return properties: rows of the probabilities, and rows of the steps."""
    return (
        property(lambda result: read(result)[: result.n_parts]),
        property(lambda result: read(result)[result.n_parts :]),
    )


@dataclass(frozen=True)
class ProbabilitySobolIndices(Shown):
    """Sobol indices of probabilities, with standard errors.

    Shares are not clipped, and 0 for a probability that does not vary. The standard
    errors are those of sampling, without the error of the surrogate. For all
    probabilities of a step the partial variances are added.

    Parameters
    ----------
    indices : SobolIndices
        One row for each probability, then one for each step.
    standard_errors : SobolIndices
        Of the indices.
    n_parts : int
        Number of probabilities.
    n_samples : int
        Rows of each sample.

    Attributes
    ----------
    first_order, total_order : ndarray of shape (n_parts, n_features)
        First-order and total indices.
    first_order_error, total_order_error : ndarray of shape (n_parts, n_features)
        Their standard errors.
    variance : ndarray of shape (n_parts,)
        Variance under the distributions of the inputs.
    step_first_order, step_total_order : ndarray of shape (n_steps, n_features)
        First-order and total indices of the steps.
    step_first_order_error, step_total_order_error : ndarray (n_steps, n_features)
        Their standard errors.
    step_variance : ndarray of shape (n_steps,)
        Sum of the variances of the probabilities of a step.
    """

    indices: SobolIndices
    standard_errors: SobolIndices
    n_parts: int
    n_samples: int

    first_order, step_first_order = _parts_and_steps(lambda r: r.indices.first_order)
    total_order, step_total_order = _parts_and_steps(lambda r: r.indices.total_order)
    first_order_error, step_first_order_error = _parts_and_steps(
        lambda r: r.standard_errors.first_order
    )
    total_order_error, step_total_order_error = _parts_and_steps(
        lambda r: r.standard_errors.total_order
    )
    variance, step_variance = _parts_and_steps(lambda r: r.indices.total_variance)

    def _table(self) -> Result:
        n_rows, n_inputs = self.indices.first_order.shape
        names, inputs = self._labels(n_rows, n_inputs)
        columns = {
            "first_order": self.indices.first_order,
            "first_order_error": self.standard_errors.first_order,
            "total_order": self.indices.total_order,
            "total_order_error": self.standard_errors.total_order,
        }
        return Result({"probability": names, "input": inputs}, columns)


def probability_sobol_indices(
    fitted: FittedCompositions,
    n_samples: int = 4096,
    *,
    random_state: RandomState = None,
) -> ProbabilitySobolIndices:
    r"""Return Sobol indices of the probabilities, not of their log-ratios.

    A log-ratio of two rare actions can vary much while the policy hardly changes;
    these indices show what changes the probabilities. A probability is no polynomial
    of the inputs, so they are sampled and have a standard error.

    Parameters
    ----------
    n_samples : int, default=4096
        Rows of each of the two samples; the surrogate is evaluated
        ``n_samples * (n_features + 2)`` times.
    random_state : int, RandomState instance or None, default=None
        None uses the parameter of the estimator.

    Returns
    -------
    indices : ProbabilitySobolIndices
        ``first_order``, ``total_order`` (n_parts, n_features) and their standard
        errors, and the same per step with prefix ``step_``.

    Raises
    ------
    ValueError
        If ``n_samples`` is below 2.

    Notes
    -----
    The inputs are independent with the distributions of the fit. Indices are those of
    the prediction, without the unexplained share. Two independent samples :math:`A, B`
    of the inputs, and :math:`A_B^{(i)}` which is A with the column of input :math:`i`
    from B, give the partial variances

    .. math::

       V_i &= \mathrm{Cov}\bigl(f(B), f(A_B^{(i)})\bigr) \quad [1]
            = E\bigl[f(B)\,(f(A_B^{(i)}) - f(A))\bigr] \quad [2], \\
       V_{T_i} &= \tfrac12 E\bigl[(f(A) - f(A_B^{(i)}))^2\bigr] \quad [3].

    The first form of :math:`V_i` [1]_ varies less for large indices, the second [2]_
    for small ones (it is exactly 0 for an input without effect). Both are computed,
    and the one with the smaller standard error is used. Total indices are those of
    [3]_.

    References
    ----------
    .. [1] A. Janon, T. Klein, A. Lagnoux, M. Nodet and C. Prieur, "Asymptotic
       normality and efficiency of two Sobol index estimators", ESAIM:
       Probability and Statistics 18 (2014), eq. (6).
    .. [2] A. Saltelli, P. Annoni, I. Azzini, F. Campolongo, M. Ratto and
       S. Tarantola, "Variance based sensitivity analysis of model output", Computer
       Physics Communications 181 (2010), table 2 (b).
    .. [3] M. J. W. Jansen, "Analysis of variance designs for model output",
       Computer Physics Communications 117 (1999).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = softmax(np.c_[X[:, 0], 4 + X[:, 1], 4 - X[:, 1]], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1, random_state=0).fit(X, y)
    >>> surrogate.step_total_sobol_indices_.round(1)  # of log-ratios
    array([[0.2, 0.8]])
    >>> surrogate.probability_sobol_indices().step_total_order.round(1)
    array([[0., 1.]])
    """
    each = fitted.geometry.layout.n_parts * len(fitted.basis.laws)
    check_draws("probability_sobol_indices", "n_samples", n_samples, low=2, each=each)
    generator = make_generator(random_state)
    first, second = (fitted.basis.sample(n_samples, generator) for _ in range(2))
    layout = fitted.geometry.layout
    by_step = np.arange(layout.n_steps)[:, np.newaxis] == layout.step_of_part
    member = np.vstack([np.eye(layout.n_parts), by_step])
    policies = fitted.policies_at
    at_first, at_second = policies(first), policies(second)
    mean = (at_first.mean(axis=0) + at_second.mean(axis=0)) / 2.0
    at_first, at_second = at_first - mean, at_second - mean
    n_features = first.shape[1]
    shares = np.zeros((2, len(member), n_features))
    errors = np.zeros_like(shares)
    spread = (np.square(at_first) + np.square(at_second)) / 2.0
    rounding = member @ np.square(mean) * _ROUNDING
    for i in range(n_features):
        mixed_inputs = first.copy()
        mixed_inputs[:, i] = second[:, i]
        mixed = policies(mixed_inputs) - mean
        # The three of a row share input i or all but i; pooling them is efficient.
        pooled = (np.square(at_second) + np.square(mixed)) / 2.0
        products = (at_second * mixed, pooled)
        differences = (at_second * (mixed - at_first), spread)
        jansen = (np.square(at_first - mixed) / 2.0, spread)
        one, two, (shares[1, :, i], errors[1, :, i]) = (
            ratio_of_means(above @ member.T, below @ member.T, rounding, ddof=1)
            for above, below in (products, differences, jansen)
        )
        shares[0, :, i], errors[0, :, i] = np.where(one[1] < two[1], one, two)
    variance = spread.mean(axis=0) @ member.T
    steps = np.repeat(layout.step_names, layout.widths)
    parts = [f"{s}: {p}" for s, p in zip(steps, layout.part_names, strict=True)]
    return ProbabilitySobolIndices(
        SobolIndices(shares[0], shares[1], variance),
        SobolIndices(errors[0], errors[1], np.full_like(variance, np.nan)),
        layout.n_parts,
        int(n_samples),
    )._named([*parts, *layout.step_names], fitted.input_names)


def ratio_of_means(
    parts: FloatArray,  # shape: (n_samples, n_targets)
    whole: FloatArray,  # shape: (n_samples, n_targets)
    rounding: FloatArray | float = 0.0,  # means of the whole that are none
    *,
    ddof: int = 0,
) -> tuple[FloatArray, FloatArray]:  # each of shape (n_targets,)
    """Return a ratio of means and its standard error, by linearisation; 0 over 0."""
    mean = whole.mean(axis=0)
    varies = mean > rounding
    safe = np.where(varies, mean, 1.0)
    ratio = np.where(varies, parts.mean(axis=0) / safe, 0.0)
    spread = (parts - ratio * whole).std(axis=0, ddof=ddof)
    return ratio, np.where(varies, spread / safe / np.sqrt(len(parts)), 0.0)
