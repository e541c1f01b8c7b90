"""Sensitivity indices of a surrogate: coordinate, step, trajectory; their tables.

One set of clr coefficients gives all of them. At the levels ``"step"`` and
``"trajectory"`` they do not depend on the log-ratio coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._checks import (
    FloatArray,
    IndexArray,
    check_integer,
    check_option,
    check_real,
    chosen_names,
    import_pandas,
)
from .._expansion.expansion import Expansion
from .._expansion.indices import SobolIndices
from .._expansion.intervals import SobolInterval
from .._expansion.noise_correction import (
    NoiseCorrectedIndices,
    half_coefficients,
    signed_indices,
)
from .._solvers.problem import q2_from_sums
from .fitted import FittedCompositions
from .levels import LEVELS, IndexLevel, bootstrap_indices, check_copies, make_level
from .log_ratio import LogRatioGeometry, check_log_ratio_parameters
from .steps import StepLayout

#: Levels of ``CompositionalPCESurrogate.sobol_frame``.
FRAME_LEVELS = ("step", "action", "coordinate", "trajectory")

_FEWEST_MEMBERS = 4


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
    c_{kj}^2` [1]_, and that of the trajectory the same with the sum over all
    steps.

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

    References
    ----------
    .. [1] F. Gamboa, A. Janon, T. Klein and A. Lagnoux, "Sensitivity analysis for
       multidimensional and functional outputs", Electronic Journal of Statistics
       8 (2014), section 2.2.

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
    return indices_at(fitted, rows)


def shapley_effects(
    fitted: FittedCompositions,
    level: str = "step",
    *,
    coordinates: str | None = None,
    reference: int | None = None,
) -> FloatArray:
    r"""Return Shapley effects, which add up to 1 in each row.

    :math:`\mathrm{Sh}_i = D^{-1} \sum_{u \ni i} D_u / |u|` with the partial
    variances :math:`D_u` of the row: each interaction is shared equally between
    its inputs [1]_. The formula holds for independent inputs.

    Parameters
    ----------
    level : {"coordinate", "step", "trajectory"}, default="step"
        What is explained.
    coordinates : {"alr", "clr", "ilr"} or None, default=None
        Coordinates of the level ``"coordinate"``; None takes ``log_ratio``.
    reference : int or None, default=None
        Reference part of alr; None takes the parameter of the estimator.

    Returns
    -------
    effects : ndarray of shape (n_rows, n_features)
        Between first-order and total index; 0 for a row without variance.

    Raises
    ------
    ValueError
        For an unknown level, or coordinates at another level.

    References
    ----------
    .. [1] A. B. Owen, "Sobol' indices and Shapley value", SIAM/ASA Journal on
       Uncertainty Quantification 2 (2014), section 3.

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
    return indices_at(fitted, rows).shapley


def sobol_interval(
    fitted: FittedCompositions,
    level: str = "step",
    confidence_level: float = 0.9,
    *,
    coordinates: str | None = None,
    reference: int | None = None,
    n_resamples: int = 200,
    random_state: Any = None,
) -> SobolInterval:
    """Return bootstrap intervals of the indices.

    Percentiles over resamples of the members, with the terms and penalties of the
    fit. Input laws that were learned are learned anew, frozen ones stay. **They
    ignore truncation and shrinkage**: read them beside
    ``step_unexplained_share_``.

    Parameters
    ----------
    level : {"coordinate", "step", "trajectory"}, default="step"
        What is explained.
    confidence_level : float, default=0.9
        Nominal probability, one index at a time.
    coordinates : {"alr", "clr", "ilr"} or None, default=None
        Coordinates of the level ``"coordinate"``; None takes ``log_ratio``.
    reference : int or None, default=None
        Reference part of alr; None takes the parameter of the estimator.
    n_resamples : int, default=200
        Number of resamples, refitted in batches, ``n_jobs`` at a time.
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
        For a bad argument.

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
    rows = index_level(fitted, owner, level, coordinates, reference)
    check_real(owner, "confidence_level", confidence_level, low=0, high=1)
    check_integer(owner, "n_resamples", n_resamples, low=1)
    check_copies(owner, fitted.weights, n_resamples, "sample_weight of fit")
    generator = fitted.generator(random_state)
    return bootstrap_indices(fitted, rows, n_resamples, confidence_level, generator)


def noise_corrected_sobol_indices(
    fitted: FittedCompositions,
    level: str = "step",
    *,
    n_splits: int = 20,
    random_state: Any = None,
) -> NoiseCorrectedIndices:
    r"""Return step indices without the bias of noise in the coefficients.

    A square :math:`\hat c_{kj}^2` is too large by the variance of
    :math:`\hat c_{kj}`. Here products :math:`\hat c_{kj}^A \hat c_{kj}^B` of
    coefficients from disjoint halves of the members take the place of squares,
    averaged over random splits [1]_, and are added over the parts of a step.

    Parameters
    ----------
    level : {"step", "trajectory"}, default="step"
        What is explained.
    n_splits : int, default=20
        Number of random splits into halves.
    random_state : int, RandomState instance or None, default=None
        None uses the parameter of the estimator.

    Returns
    -------
    indices : NoiseCorrectedIndices
        With one row per step, or one. Not clipped: they may be negative, and are
        NaN where the corrected total variance is not positive.

    Raises
    ------
    ValueError
        For a bad argument, or fewer than four members.

    Notes
    -----
    Penalties stay in proportion to the number of members, and so does shrinkage.
    Terms that were searched for are searched for anew in each half.

    References
    ----------
    .. [1] A. B. Owen, "Better estimation of small Sobol' sensitivity indices",
       ACM Transactions on Modeling and Computer Simulation 23 (2013), for the
       same idea with sampled functions.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = softmax(np.c_[X[:, 0], rng.normal(size=(60, 2))], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1, solver="ols", random_state=0)
    >>> found = surrogate.fit(X, y).noise_corrected_sobol_indices()
    >>> bool(found.total_variance[0] < surrogate.step_total_variance_[0])
    True
    """
    owner = "noise_corrected_sobol_indices"
    check_option(owner, "level", level, LEVELS[1:])
    check_integer(owner, "n_splits", n_splits, low=1)
    n_members = len(fitted.weights)
    if n_members < _FEWEST_MEMBERS:
        raise ValueError(
            f"{owner} needs at least {_FEWEST_MEMBERS} members. Got {n_members}."
        )
    rows = index_level(fitted, owner, level)
    products = _products_of_halves(
        fitted, rows, n_splits, fitted.generator(random_state)
    )
    return signed_indices(rows.member @ products, fitted.basis.multi_indices)


def _products_of_halves(
    fitted: FittedCompositions,
    level: IndexLevel,
    n_splits: int,
    generator: np.random.Generator,
) -> FloatArray:  # shape: (n_active, n_terms)
    """Average products of clr coefficients from disjoint halves of the members."""
    problem, linear = fitted.problem, fitted.problem.linear
    n_members = len(linear.weights)
    products = np.zeros_like(fitted.expansion.coefficients)
    for _ in range(n_splits):
        in_first = np.zeros(n_members, dtype=bool)
        in_first[generator.permutation(n_members)[: n_members // 2]] = True
        halves = half_coefficients(
            problem.solver, linear, problem.fit, np.array([in_first, ~in_first])
        )
        first, second = level.coefficients(fitted.clr_coefficients(halves))
        products += first * second
    return products / n_splits


def unexplained_share(
    fitted: FittedCompositions,
    steps: IndexArray,  # -1 stands for the trajectory
) -> FloatArray:  # of the shape of ``steps``
    """Return the unexplained share of the variance of steps."""
    by_step = fitted.expansion.unexplained_share
    press = fitted.step_press(fitted.fit.loo_residuals)
    mean = np.average(fitted.clr, axis=0, weights=fitted.weights)
    spread = fitted.weights @ np.square(fitted.clr - mean)
    choice = fitted.geometry.has_choice & np.isfinite(by_step)
    whole = q2_from_sums(
        press[choice].sum(), spread[choice[fitted.geometry.step_of_active]].sum()
    )
    return np.append(by_step, np.clip(1.0 - whole, 0.0, 1.0))[steps]


def indices_at(fitted: FittedCompositions, level: IndexLevel) -> SobolIndices:
    """Return the indices of the rows of a level."""
    expansion = Expansion(
        fitted.basis,
        level.coefficients(fitted.expansion.coefficients),
        groups=level.groups,
        group_names=level.names,
    )
    return expansion.sobol_indices()


def coordinate_coefficients(fitted: FittedCompositions) -> FloatArray:
    """Return the coefficients of the coordinates; (n_coordinates, n_terms)."""
    rows = index_level(fitted, "coefficients_", "coordinate")
    return rows.coefficients(fitted.expansion.coefficients)


def index_level(
    fitted: FittedCompositions,
    owner: str,
    level: str,
    coordinates: str | None = None,
    reference: int | None = None,
) -> IndexLevel:
    """Check a level and its coordinates."""
    check_option(owner, "level", level, LEVELS)
    given = {"coordinates": coordinates, "reference": reference}
    if level != "coordinate":
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"The {name!r} parameter of {owner} goes with level='coordinate' "
                    f"only. Got {value!r} with level={level!r}, whose indices do not "
                    "depend on coordinates."
                )
    geometry = _geometry_of(fitted.geometry, owner, coordinates, reference)
    return make_level(level, geometry, fitted.clr, fitted.weights)


def _geometry_of(
    geometry: LogRatioGeometry,
    owner: str,
    coordinates: str | None,
    reference: int | None,
) -> LogRatioGeometry:
    """Return the same layout in other coordinates."""
    if coordinates is None and reference is None:
        return geometry
    wanted = geometry.log_ratio if coordinates is None else coordinates
    part = geometry.reference if reference is None else reference
    check_option(owner, "coordinates", wanted, ("alr", "clr", "ilr"))
    check_log_ratio_parameters(
        owner,
        log_ratio=wanted,
        reference=part,
        zero_replacement=1e-12,
        closure="strict",
        layout=geometry.layout,
    )
    return replace(geometry, log_ratio=wanted, reference=int(part))


def sobol_frame(
    fitted: FittedCompositions,
    level: str = "step",
    *,
    coordinates: str | None = None,
    reference: int | None = None,
    ci: float | None = None,
    input_features: Sequence[str] | None = None,
) -> Any:
    """Return the indices as a tidy table, with the unexplained share.

    Parameters
    ----------
    level : {"step", "action", "coordinate", "trajectory"}, default="step"
        One row per step and input, per coordinate and input, or per input. The
        coordinates of ``"action"`` are clr, one per possible action, those of
        ``"coordinate"`` the kind of ``log_ratio``.
    coordinates : {"alr", "clr", "ilr"} or None, default=None
        Another kind for these two levels; no refit is needed.
    reference : int or None, default=None
        Reference part of alr; None takes the parameter of the estimator.
    ci : float or None, default=None
        Confidence level, such as 0.9, of bootstrap intervals from
        ``sobol_interval``. None gives the intervals of ``fit`` at the level of
        steps, where there are any.
    input_features : sequence of str or None, default=None
        Names of the inputs, for example ``pipeline[:-1].get_feature_names_out()``.

    Returns
    -------
    frame : pandas.DataFrame
        Columns ``step``, ``coordinate`` (for actions and coordinates), ``input``,
        ``first_order``, ``total_order``, ``shapley`` (shares of the variance of
        the expansion), ``first_order_share``, ``total_order_share`` (shares of
        the total variance: times the leave-one-out Q² of the step or of the
        trajectory, at least 0), ``unexplained_share``; with intervals ``low``
        and ``high`` of the total index, ``first_low`` and ``first_high``. Needs
        pandas.

    Raises
    ------
    ValueError
        For an unknown level or coordinates, or coordinates at another level.
    ImportError
        If pandas is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = softmax(np.c_[X[:, 0], X[:, 1], 0 * X[:, 0]], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1).fit(X, y)
    >>> frame = surrogate.sobol_frame("action", coordinates="alr")
    >>> frame[["coordinate", "input", "total_order"]].round(2)
      coordinate input  total_order
    0  step0:0/2    x0          1.0
    1  step0:0/2    x1          0.0
    2  step0:1/2    x0          0.0
    3  step0:1/2    x1          1.0
    """
    check_option("sobol_frame", "level", level, FRAME_LEVELS)
    names = chosen_names(input_features, fitted.expansion.input_names)
    chosen = level
    if level == "action":
        chosen = "coordinate"
        coordinates = "clr" if coordinates is None else coordinates
    rows = index_level(fitted, "sobol_frame", chosen, coordinates, reference)
    found = indices_at(fitted, rows)
    unexplained = unexplained_share(fitted, rows.steps)[:, np.newaxis]
    unexplained = np.broadcast_to(unexplained, found.total_order.shape)
    step_names = np.array([*fitted.geometry.layout.step_names, "trajectory"], object)
    columns = {"step": np.repeat(step_names[rows.steps], len(names))}
    if chosen == "coordinate":
        labels = np.array(rows.names, dtype=object)
        columns["coordinate"] = np.repeat(labels, len(names))
    columns |= {
        "input": np.tile(np.array(names, dtype=object), len(rows.steps)),
        "first_order": found.first_order.ravel(),
        "total_order": found.total_order.ravel(),
        "shapley": found.shapley.ravel(),
        "first_order_share": (found.first_order * (1.0 - unexplained)).ravel(),
        "total_order_share": (found.total_order * (1.0 - unexplained)).ravel(),
        "unexplained_share": unexplained.ravel(),
    }
    interval = fitted.step_interval if level == "step" else None
    if ci is not None:
        interval = sobol_interval(
            fitted, chosen, ci, coordinates=coordinates, reference=reference
        )
    return import_pandas().DataFrame(columns | _interval_columns(interval))


def _interval_columns(interval: SobolInterval | None) -> dict[str, FloatArray]:
    """Return the bounds of the total and of the first-order indices."""
    if interval is None:
        return {}
    pairs = (("", interval.total_order), ("first_", interval.first_order))
    return {
        prefix + name: bound.ravel()
        for prefix, bounds in pairs
        for name, bound in zip(("low", "high"), bounds, strict=True)
    }


def composition_frame(values: FloatArray, layout: StepLayout) -> Any:
    """Label a table of compositions with two column levels (step, part)."""
    pandas = import_pandas()
    steps = [layout.step_names[step] for step in layout.step_of_part]
    columns = pandas.MultiIndex.from_arrays(
        [steps, layout.part_names], names=["step", "part"]
    )
    return pandas.DataFrame(values, columns=columns)
