r"""Draws, intervals and bands of the predictive distribution of policies.

The distribution is the push-forward of the inputs plus that of the residuals. Here is
what compositions add to it: their geometry, and distances between logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import clone

from .._checks import FloatArray, IndexArray, RandomState, refuse_other_rows, validated
from .._expansion import predictive as expansion
from .._expansion.predictive import (
    QUANTILE,
    OutputSpace,
    PredictionInterval,
    Predictive,
    sorted_quantiles,
)
from .._expansion.problem import FittedProblem
from .fitted import FittedCompositions
from .log_ratio import LogRatioGeometry, transformer_of
from .scoring import checked_policies
from .steps import replace_zeros

# Smallest probability that has a logit; the largest is one rounding below 1.
_SMALLEST = 1e-300


@dataclass(frozen=True, eq=False)
class SimplexSpace(OutputSpace):
    """Compositions, fitted as log-ratios; the scores are logits of the active parts."""

    geometry: LogRatioGeometry  # of the results
    fitted_geometry: LogRatioGeometry  # of the fit

    joint = ("step", "trajectory")
    columns = "steps"
    keeps_order = False

    @property
    def noise_groups(self) -> IndexArray:
        return self.fitted_geometry.step_of_coordinate

    def image(self, fitted: FloatArray) -> FloatArray:
        return self.fitted_geometry.from_coordinates(fitted)

    def values(self, image: FloatArray) -> FloatArray:
        return self.geometry.compositions(image)

    def scores(self, values: FloatArray) -> FloatArray:
        return _logit(values[..., self.geometry.active_parts])

    def bounds(
        self, lower: FloatArray, upper: FloatArray, like: FloatArray
    ) -> FloatArray:
        bounds = np.stack([like, like])  # parts that do not vary
        bounds[0][:, self.geometry.active_parts] = _widened(expit(lower), -1)
        bounds[1][:, self.geometry.active_parts] = _widened(expit(upper), 1)
        return bounds

    def quantiles(
        self,
        rows: FloatArray,
        scale: FloatArray,
        centre: FloatArray,
        levels: Sequence[float],
    ) -> FloatArray:
        """Return those of the softmax, unless coordinates of a step differ in scale."""
        steps = self.fitted_geometry.step_of_coordinate
        _, first, step = np.unique(steps, return_index=True, return_inverse=True)
        by_step = scale[:, first]
        if not np.array_equal(by_step[:, step], scale):
            values = self.values(self.image(rows[:, np.newaxis] * scale) + centre)
            return np.asarray(np.quantile(values, levels, axis=0, method=QUANTILE))
        found = np.empty((len(levels), len(centre), self.n_values))
        found[:] = self.geometry.mask  # parts that do not vary
        found[..., self.geometry.active_parts] = softmax_quantiles(
            self.image(rows), by_step, centre, self.geometry.active_slices, levels
        )
        return found

    def score_scale(self, scale: FloatArray) -> FloatArray:
        """Return the root mean square over the coordinates of the step of each part."""
        steps = self.fitted_geometry.step_of_coordinate
        same = steps[:, np.newaxis] == self.geometry.step_of_active
        return np.sqrt(np.square(scale) @ (same / same.sum(axis=0)))

    def deviation(self, problem: FittedProblem) -> FloatArray:
        samples = problem.samples
        assert samples is not None  # a surrogate is fitted to samples
        targets, residuals = samples.targets, problem.fit.loo_residuals
        observed, predicted = (
            self.scores(self.values(self.image(one)))
            for one in (targets, targets - residuals)
        )
        squares = np.square(observed - predicted)
        return np.sqrt(np.average(squares, axis=0, weights=samples.weights))

    def groups(self, joint: str) -> IndexArray:
        steps = self.geometry.step_of_active
        return np.zeros_like(steps) if joint == "trajectory" else steps


def _logit(p: FloatArray) -> FloatArray:
    inside = np.clip(p, _SMALLEST, 1.0 - np.finfo(float).epsneg)
    return np.log(inside) - np.log1p(-inside)


def _widened(bounds: FloatArray, sign: int) -> FloatArray:
    """Move by the rounding of logit and back, so that an edge is inside."""
    return np.clip(bounds * (1.0 + sign * 1e-12), 0.0, 1.0)


def predictive_of(fitted: FittedCompositions) -> Predictive:
    """Return the predictive distribution of fitted compositions."""
    return Predictive(
        fitted.problem,
        fitted.expansion.input_names,
        SimplexSpace(
            fitted.geometry.mask.size, fitted.geometry, fitted.fitted_geometry
        ),
        fitted.clr_at,
        fitted.owner,
        fitted.random_state,
    )


def predictive_of_surrogate(surrogate: Any) -> Predictive:
    """Return the predictive distribution of a surrogate, which can be fitted again."""
    fitted = surrogate._now
    step_of, parts = fitted.geometry.layout.step_of_part, []
    for part, steps in fitted.parts:
        columns = np.flatnonzero(np.isin(step_of, steps))
        parts.append((_of_part(surrogate, part, columns), columns))
    if len(parts) == 1:
        return parts[0][0]
    return replace(predictive_of(fitted), parts=tuple(parts))


def _of_part(
    surrogate: Any, fitted: FittedCompositions, columns: IndexArray
) -> Predictive:
    """Return that of steps that the same members have, in some columns of y."""
    geometry, samples = fitted.geometry, fitted.samples

    def refit(rows: IndexArray) -> Predictive:
        # The layout and the mask are those of all members.
        alone = clone(surrogate).set_params(
            steps=geometry.layout.widths,
            mask=geometry.mask,
            amalgamate=None,
        )
        values = geometry.compositions(fitted.clr[rows])
        alone.fit(samples.inputs[rows], values, sample_weight=samples.weights[rows])
        return predictive_of(alone._fitted)

    def read(X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        refuse_other_rows(X=X, y=y)
        inputs = validated(surrogate, X, reset=False)
        closed = checked_policies(y, surrogate, len(inputs), "y of calibration")
        positive = replace_zeros(
            closed[:, columns],
            geometry.mask,
            geometry.layout,
            transformer_of(surrogate).zero_replacement,
        )
        return inputs, positive

    return replace(predictive_of(fitted), refit=refit, read=read)


def sample(
    predictive: Predictive,
    n_samples: int = 1,
    X: ArrayLike | None = None,
    *,
    inputs: Any = None,
    residual: str | None = "resampled",
    random_state: RandomState = None,
    noise: str = "constant",
) -> FloatArray:
    """Draw policies from the predictive distribution.

    Parameters
    ----------
    n_samples : int, default=1
        Number of draws.
    X : array-like of shape (n_members, n_features) or None, default=None
        Draw conditional on these inputs. None draws the inputs from their
        distributions: one draw of the inputs for the whole trajectory.
    inputs : distribution, list, dict, rows, InputBelief or None, default=None
        Draw the inputs from other distributions, without refitting: what if the
        uncertainty were another one? Distributions as in ``distribution=`` (named ones
        are learned from the members of the fit), or rows of inputs, drawn with
        replacement, which preserves their dependence; rows of a
        :class:`skpce.decision.InputBelief` by their weights. None means the
        distributions of the fit.
    residual : {"resampled", "gaussian"} or None, default="resampled"
        Distribution of what the expansion does not explain: normal with the second
        moments of the leave-one-out residuals, or whole residual rows drawn with
        replacement. None is the push-forward alone (the paper's choice), which
        is too narrow by the unexplained share.
    noise : {"constant", "inputs"}, default="constant"
        Whether the spread of the residuals depends on the inputs, as in
        :meth:`predict_interval`.
    random_state : int, RandomState instance or None, default=None
        None uses the parameter of the estimator.

    Returns
    -------
    y : ndarray of shape (n_samples, n_parts) or (n_samples, n_members, n_parts)
        The second shape when X is given.

    Raises
    ------
    ValueError
        For a bad argument, or when the residual distribution is not defined.

    Warns
    -----
    InputOutsideSupportWarning
        When inputs lie outside the distributions of the fit.

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
    return expansion.sample(
        predictive,
        n_samples,
        X,
        inputs=inputs,
        residual=residual,
        noise=noise,
        random_state=random_state,
    )


def predict_interval(
    predictive: Predictive,
    X: ArrayLike | None = None,
    *,
    inputs: Any = None,
    confidence_level: float = 0.95,
    joint: str | None = None,
    residual: str | None = "resampled",
    n_samples: int = 2000,
    random_state: RandomState = None,
    method: str = "residual",
    noise: str = "constant",
    calibration: Any = None,
    cv: Any = 5,
) -> PredictionInterval:
    r"""Return prediction intervals of each probability.

    Parameters
    ----------
    X : array-like of shape (n_members, n_features) or None, default=None
        Intervals conditional on these inputs. None gives one interval per part
        for a member of unknown inputs.
    inputs : distribution, list, dict, rows, InputBelief or None, default=None
        Distribution of the unknown inputs, as in :meth:`sample`.
    confidence_level : float, default=0.95
        Probability that a part of a new member lies inside, part by part; with
        ``joint`` that all of them do.
    joint : {"step", "trajectory"} or None, default=None
        Parts that lie inside together: those of each step, or those of all
        steps. None gives marginal intervals.
    residual : {"resampled", "gaussian"} or None, default="resampled"
        As in :meth:`sample`; only with ``method="residual"``.
    n_samples : int, default=2000
        Draws from which the quantiles are taken; those of the residuals themselves
        where the members have equal weights and are not more than this.
    random_state : int, RandomState instance or None, default=None
        None uses the parameter of the estimator.
    method : {"residual", "conformal"}, default="residual"
        ``"residual"`` takes quantiles of the leave-one-out residuals, scaled by the
        leverage of the new inputs: it needs one fit. ``"conformal"`` has a guarantee
        in finite samples, see Notes.
    noise : {"constant", "inputs"}, default="constant"
        ``"inputs"`` learns how the spread of the residuals of each step changes with
        the inputs and scales the interval by it.
    calibration : tuple (X, y) or None, default=None
        Members that are not in the fit, for split conformal intervals. None refits in
        folds (CV+).
    cv : int, splitter or iterable, default=5
        Folds of CV+: an int shuffles the members into as many; the test sets of
        others must hold out each member once.

    Returns
    -------
    interval : PredictionInterval
        ``lower`` and ``upper`` of shape (n_members, n_parts); (1, n_parts) when
        X is None.

    Raises
    ------
    ValueError
        For a bad argument, or when the residual distribution is not defined.

    Warns
    -----
    UserWarning
        When there are too few members for a conformal interval of this level. Its
        bounds are then 0 and 1.

    See Also
    --------
    skpce.explain : Which inputs act on the spread?
    PolynomialChaosRegressor.predict_interval : The same for any real y, with the
        formulas and the guarantees of ``method="conformal"``.

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
    return expansion.predict_interval(
        predictive,
        X,
        inputs=inputs,
        confidence_level=confidence_level,
        joint=joint,
        residual=residual,
        method=method,
        noise=noise,
        calibration=calibration,
        cv=cv,
        n_samples=n_samples,
        random_state=random_state,
    )


# Quantiles of the softmax.


# Values held at once, which stay in the second cache: 512 KiB.
_BLOCK = 65_536


def softmax_quantiles(
    rows: FloatArray,  # shape: (n_draws, n_active), residuals as log-ratios
    scale: FloatArray,  # shape: (n_inputs, n_steps), not negative
    centre: FloatArray,  # shape: (n_inputs, n_active)
    steps: Sequence[slice],  # the columns of each step
    levels: Sequence[float],
) -> FloatArray:  # shape: (n_levels, n_inputs, n_active)
    """Return quantiles of ``softmax(centre + scale * rows)`` over the rows.

    The logarithms of probabilities are sorted, so that only those that the quantiles
    need are exponentiated.
    """
    found = np.empty((len(levels), *centre.shape))
    first = 0
    for width, run in groupby(steps, lambda columns: columns.stop - columns.start):
        neighbours = list(run)  # of one width, at once
        n_steps = len(neighbours)
        columns = slice(neighbours[0].start, neighbours[-1].stop)
        own, first = slice(first, first + n_steps), first + n_steps
        shape = n_steps, width, len(rows)
        residuals = np.ascontiguousarray(rows[:, columns].T).reshape(shape)
        some = max(1, _BLOCK // residuals.size)
        for start in range(0, len(centre), some):
            at = slice(start, start + some)
            logs = scale[at, own, np.newaxis, np.newaxis] * residuals
            logs += centre[at, columns].reshape(-1, n_steps, width, 1)
            largest = logs.max(axis=2, keepdims=True)
            values = logs - largest
            np.exp(values, out=values)
            logs -= np.log(values.sum(axis=2, keepdims=True)) + largest
            logs.sort(axis=-1)
            quantiles = sorted_quantiles(logs, levels, np.exp)
            found[:, at, columns] = quantiles.reshape(*quantiles.shape[:2], -1)
    return found
