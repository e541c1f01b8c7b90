"""Draws, intervals and bands of the predictive distribution of policies.

The distribution is the push-forward of the inputs plus that of the residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtr
from sklearn.utils import assert_all_finite

from .._basis.basis import PolynomialBasis
from .._checks import (
    FloatArray,
    IndexArray,
    check_integer,
    check_real,
    fail,
    refuse_other_names,
)
from .._input_laws import check_distribution, learn_input_laws
from .._input_laws.families import is_frozen
from .fitted import QUANTILE, RESIDUAL_LAWS, FittedCompositions

# Quantiles whose distance from the median is the spread: one standard deviation.
_LEVELS = (float(ndtr(-1.0)), 0.5, float(ndtr(1.0)))

# Smallest probability that has a logit; the largest is one rounding below 1.
_SMALLEST = 1e-300

# Probabilities in memory at a time while quantiles are taken: 64 MiB.
_CHUNK_ENTRIES = 8_388_608

#: Over what a band is joint.
JOINT = ("step", "trajectory")

#: Draws inputs: (number, generator) -> (number, n_features).
InputSampler = Callable[[int, np.random.Generator], FloatArray]


class PredictionInterval(NamedTuple):
    """Lower and upper bounds of probabilities.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_members, n_parts)
        Bounds of each part: marginal ones, or joint over the parts of a step or of
        the trajectory.
    """

    lower: FloatArray
    upper: FloatArray


def check_predictive(
    owner: str, n_samples: Any, residual: Any, X: Any = None, inputs: Any = None
) -> None:
    """Raise ``ValueError`` for bad arguments of draws."""
    check_integer(owner, "n_samples", n_samples, low=1)
    if residual is not None and residual not in RESIDUAL_LAWS:
        listed = ", ".join(repr(name) for name in RESIDUAL_LAWS)
        raise fail(owner, "residual", f"one of {listed} or None", residual)
    if X is not None and inputs is not None:
        raise ValueError(
            f"{owner} takes X, inputs of members that are known, or inputs=, a law of "
            "unknown ones, not both."
        )


def sample(
    fitted: FittedCompositions,
    n_samples: int = 1,
    X: ArrayLike | None = None,
    *,
    inputs: Any = None,
    residual: str | None = "resampled",
    random_state: Any = None,
) -> FloatArray:
    """Draw policies from the predictive distribution.

    Parameters
    ----------
    n_samples : int, default=1
        Number of draws.
    X : array-like of shape (n_members, n_features) or None, default=None
        Draw conditional on these inputs. None draws the inputs from their
        distributions: one draw of the inputs for the whole trajectory.
    inputs : law, list of laws, array-like of rows, or None, default=None
        Draw the inputs from other distributions, without refitting: what if the
        uncertainty were another one? Laws as in ``distribution=`` (named ones
        are learned from the members of the fit), or rows of inputs, drawn with
        replacement, which preserves their dependence. None means the laws of the fit.
    residual : {"resampled", "gaussian"} or None, default="resampled"
        Distribution of what the expansion does not explain: normal with the second
        moments of the leave-one-out residuals, or whole residual rows drawn with
        replacement. None is the push-forward alone (the paper's choice), which
        is too narrow by the unexplained share.
    random_state : int, RandomState instance or None, default=None
        None uses the parameter of the estimator.

    Returns
    -------
    y : ndarray of shape (n_samples, n_parts) or (n_samples, n_members, n_parts)
        The second shape when X is given.

    Raises
    ------
    ValueError
        For a bad argument, or when the residual law is not defined.

    Warns
    -----
    InputOutsideSupportWarning
        When inputs lie outside the laws of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from scipy.stats import norm
    >>> from skpce import CompositionalPCESurrogate
    >>> X = np.random.default_rng(0).normal(size=(60, 1))
    >>> y = softmax(np.c_[X[:, 0], 0 * X[:, 0]], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1, random_state=0).fit(X, y)
    >>> surrogate.sample(1000).std(axis=0).round(1)
    array([0.2, 0.2])
    >>> surrogate.sample(1000, inputs=norm(0, 0.1)).std(axis=0).round(2)
    array([0.03, 0.03])
    """
    owner = f"{fitted.owner}.sample"
    check_predictive(owner, n_samples, residual, X, inputs)
    draw = input_sampler(fitted, owner, inputs)
    generator = fitted.generator(random_state)
    rows = fitted.residual_law.draw(n_samples, residual, generator)
    if X is None:
        clr = draw_around(fitted, rows, draw(n_samples, generator))
    else:
        clr = draw_around(fitted, rows[:, np.newaxis], _checked(fitted, X))
    return fitted.geometry.compositions(clr)


def _checked(fitted: FittedCompositions, X: ArrayLike) -> FloatArray:
    """Return finite inputs; warn of those outside their distributions."""
    values = np.asarray(X, dtype=np.float64)
    assert_all_finite(values, input_name="X")
    fitted.basis.warn_outside(values, fitted.expansion.input_names)
    return values


def draw_around(
    fitted: FittedCompositions,
    rows: FloatArray,  # shape: (n_inputs or (n_rows, 1), n_fitted), scaled residuals
    X: FloatArray,  # shape: (n_inputs, n_features)
) -> FloatArray:  # shape: (n_inputs or (n_rows, n_inputs), n_active)
    """Add one row of residuals, or each of them, to the prediction at each input."""
    scale = fitted.fit.prediction_scale(fitted.basis.evaluate(X))
    clr = fitted.fitted_geometry.from_coordinates(rows * scale)
    clr += fitted.clr_at(X)
    return clr


def predict_interval(
    fitted: FittedCompositions,
    X: ArrayLike | None = None,
    *,
    inputs: Any = None,
    confidence_level: float = 0.95,
    joint: str | None = None,
    residual: str | None = "resampled",
    n_samples: int = 2000,
    random_state: Any = None,
) -> PredictionInterval:
    r"""Return prediction intervals of each probability.

    Parameters
    ----------
    X : array-like of shape (n_members, n_features) or None, default=None
        Intervals conditional on these inputs. None gives one interval per part
        for a member of unknown inputs.
    inputs : law, list of laws, array-like of rows, or None, default=None
        Distribution of the unknown inputs, as in :meth:`sample`.
    confidence_level : float, default=0.95
        Probability that a part of a new member lies inside, part by part; with
        ``joint`` that all of them do.
    joint : {"step", "trajectory"} or None, default=None
        Parts that lie inside together: those of each step, or those of all
        steps. None gives marginal intervals.
    n_samples : int, default=2000
        Draws from which the quantiles are taken.
    residual, random_state
        As in :meth:`sample`.

    Returns
    -------
    interval : PredictionInterval
        ``lower`` and ``upper`` of shape (n_members, n_parts); (1, n_parts) when
        X is None.

    Raises
    ------
    ValueError
        For a bad argument, or when the residual law is not defined.

    Notes
    -----
    Marginal intervals cover each probability separately; all parts of a step lie
    inside together less often. A joint band scales the distances of all parts from
    their centres by one number: with the logit :math:`z_k` of each part, its median
    :math:`m_k` and its spread :math:`s_k` on either side,

    .. math:: M = \max_k \frac{|z_k - m_k|}{s_k}, \qquad
              [\,m_k - c\,s_k^-,\; m_k + c\,s_k^+\,], \qquad P(M \le c) = \gamma,

    and :math:`c` is the quantile of :math:`M` over the draws [1]_: one quantile of one
    number, so that few draws suffice. Median and spread of few residuals are close to
    each of them; the distance of a draw is therefore measured from the median of the
    *other* draws, in units of their spread, as that of a new member will be.

    References
    ----------
    .. [1] J. L. Montiel Olea and M. Plagborg-Moller, "Simultaneous confidence bands:
       theory, implementation, and an application to SVARs", Journal of Applied
       Econometrics 34 (2019), section 2 (the sup-t band).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 1))
    >>> y = softmax(np.c_[X, rng.normal(size=(60, 3))], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1, random_state=0).fit(X, y)
    >>> marginal = surrogate.predict_interval(X[:1])
    >>> joint = surrogate.predict_interval(X[:1], joint="step")
    >>> width = [np.mean(band.upper - band.lower) for band in (marginal, joint)]
    >>> bool(width[0] < width[1])
    True
    """
    owner = f"{fitted.owner}.predict_interval"
    check_predictive(owner, n_samples, residual, X, inputs)
    check_real(owner, "confidence_level", confidence_level, low=0, high=1)
    if joint is not None and joint not in JOINT:
        raise fail(owner, "joint", "None, 'step' or 'trajectory'", joint)
    draw = input_sampler(fitted, owner, inputs)
    generator = fitted.generator(random_state)
    law = fitted.residual_law
    if X is None:
        rows = law.draw(n_samples, residual, generator)
        clr = draw_around(fitted, rows, draw(n_samples, generator))
        bounds = _bounds(fitted, clr[:, np.newaxis], confidence_level, joint)
        return PredictionInterval(*bounds)
    values = _checked(fitted, X)
    rows = law.atoms(n_samples, residual, generator)
    bounds = np.empty((2, len(values), fitted.geometry.mask.size))
    chunk = max(1, _CHUNK_ENTRIES // (len(rows) * bounds.shape[2]))
    for start in range(0, len(values), chunk):
        block = values[start : start + chunk]
        clr = draw_around(fitted, rows[:, np.newaxis], block)
        bounds[:, start : start + chunk] = _bounds(fitted, clr, confidence_level, joint)
    return PredictionInterval(bounds[0], bounds[1])


def _bounds(
    fitted: FittedCompositions,
    clr: FloatArray,  # shape: (n_draws, n_members, n_active)
    confidence_level: float,
    joint: str | None,
) -> FloatArray:  # shape: (2, n_members, n_parts)
    """Take the quantiles of draws of each member, or joint bands."""
    geometry = fitted.geometry
    draws = geometry.compositions(clr)
    if joint is None:
        tails = [(1.0 - confidence_level) / 2.0, (1.0 + confidence_level) / 2.0]
        return np.quantile(draws, tails, axis=0, method=QUANTILE)
    bounds = np.stack([draws[0], draws[0]])  # parts that do not vary
    active = geometry.active_parts
    if active.size:
        groups = geometry.step_of_active
        if joint == "trajectory":
            groups = np.zeros_like(groups)
        bounds[:, :, active] = simultaneous_bands(
            draws[:, :, active], groups, confidence_level
        )
    return bounds


def input_sampler(fitted: FittedCompositions, owner: str, inputs: Any) -> InputSampler:
    """Return what draws the inputs: their distributions, other ones, or given rows."""
    names, basis = fitted.expansion.input_names, fitted.basis
    refuse_other_names(
        "The feature names should match those that were passed during fit: inputs=",
        getattr(inputs, "columns", None),
        names,
    )
    if inputs is None:
        return basis.sample
    if _are_laws(inputs):
        specifications = check_distribution(owner, inputs, len(names))
        laws = learn_input_laws(specifications, fitted.inputs, fitted.weights)
        draw = PolynomialBasis(laws, basis.multi_indices).sample
    else:
        rows = _checked_rows(owner, inputs, len(names))

        def draw(size: int, generator: np.random.Generator) -> FloatArray:
            return rows[generator.integers(len(rows), size=size)]

    def draw_and_warn(size: int, generator: np.random.Generator) -> FloatArray:
        drawn = draw(size, generator)
        basis.warn_outside(drawn, names)
        return drawn

    return draw_and_warn


def _are_laws(inputs: Any) -> bool:
    """Return whether this is a law, or a list with one in it."""
    if isinstance(inputs, str) or is_frozen(inputs):
        return True
    is_list = isinstance(inputs, Sequence)
    return is_list and any(isinstance(law, str) or is_frozen(law) for law in inputs)


def _checked_rows(owner: str, inputs: Any, n_features: int) -> FloatArray:
    try:
        rows = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError):
        expected = (
            "None, a law or a list of laws as in distribution=, or rows of inputs"
        )
        raise fail(owner, "inputs", expected, inputs) from None
    if rows.ndim != 2 or not len(rows) or rows.shape[1] != n_features:
        raise ValueError(
            f"The 'inputs' parameter of {owner} has shape {rows.shape}; expected "
            f"(n_rows, {n_features}) with at least one row."
        )
    if not np.all(np.isfinite(rows)):
        raise ValueError(f"The 'inputs' parameter of {owner} contains NaN or infinity.")
    return rows


def simultaneous_bands(
    draws: FloatArray,  # shape: (n_draws, n_members, n_parts), probabilities
    groups: IndexArray,  # shape: (n_parts,), a band is joint over a group
    confidence_level: float,
) -> tuple[FloatArray, FloatArray]:  # each shape: (n_members, n_parts)
    """Return lower and upper bounds; parts that do not vary have no width."""
    logits = _logit(draws)
    low, centre, high = np.quantile(logits, _LEVELS, axis=0)
    deviation = logits.std(axis=0)
    below = _spread(centre - low, deviation)
    above = _spread(high - centre, deviation)
    distance = _distance_from_others(logits, deviation)
    lower, upper = centre.copy(), centre.copy()
    for group in np.unique(groups):
        parts = groups == group
        largest = distance[:, :, parts].max(axis=2)
        factor = np.quantile(largest, confidence_level, axis=0, method=QUANTILE)
        lower[:, parts] -= factor[:, np.newaxis] * below[:, parts]
        upper[:, parts] += factor[:, np.newaxis] * above[:, parts]
    return _widened(expit(lower), -1), _widened(expit(upper), 1)


def _logit(p: FloatArray) -> FloatArray:
    inside = np.clip(p, _SMALLEST, 1.0 - np.finfo(float).epsneg)
    return np.log(inside) - np.log1p(-inside)


def _distance_from_others(
    logits: FloatArray,  # shape: (n_draws, n_members, n_parts)
    deviation: FloatArray,  # shape: (n_members, n_parts)
) -> FloatArray:  # shape: (n_draws, n_members, n_parts)
    """Measure each draw from the median of the others, in units of their spread."""
    low, centre, high = _quantiles_of_others(logits)
    spread = np.where(logits < centre, centre - low, high - centre)
    return np.abs(logits - centre) / _spread(spread, deviation)


def _quantiles_of_others(values: FloatArray) -> Iterator[FloatArray]:
    """Yield, for each draw, quantiles of the draws without it.

    Without a draw at or below the order statistic :math:`j` the next one replaces it. A
    single draw has no others and replaces them.
    """
    last = len(values) - 1
    positions = [max(last - 1, 0) * level for level in _LEVELS]
    needed = {min(int(at) + k, last) for at in positions for k in range(3)}
    ordered = np.partition(values, sorted(needed), axis=0)
    for at in positions:
        first, second, third = (ordered[min(int(at) + k, last)] for k in range(3))
        left = np.where(values <= first, second, first)
        right = np.where(values <= second, third, second)
        yield left + (at - int(at)) * (right - left)


def _spread(distance: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return distances, with the standard deviation where quantiles coincide."""
    safe = np.where(deviation > 0, deviation, 1.0)
    return np.where(distance > 1e-9 * safe, distance, safe)


def _widened(bounds: FloatArray, sign: int) -> FloatArray:
    """Move by the rounding of logit and back, so that an edge is inside."""
    return np.clip(bounds * (1.0 + sign * 1e-12), 0.0, 1.0)
