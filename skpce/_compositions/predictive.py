r"""Draws, intervals and bands of the predictive distribution of policies.

Bands that hold a whole policy with a given probability.

Marginal intervals hold each probability apart; all parts of a step lie inside together
less often. A *simultaneous* band scales the distances of all parts from their centres
by one number: with the logit :math:`z_k` of each part, its median :math:`m_k` and its
spread :math:`s_k` on either side,

.. math:: M = \max_k \frac{|z_k - m_k|}{s_k}, \qquad
          [\,m_k - c\,s_k^-,\; m_k + c\,s_k^+\,], \qquad P(M \le c) = \gamma,

and :math:`c` is the quantile of :math:`M` over the draws [1]_. It is one quantile of
one number, so that few draws suffice where the extremes of each part would not.

Median and spread of few residuals are close to each of them, and :math:`M` is then too
small. So the distance of a draw is measured from the median of the *other* draws, in
units of their spread, as that of a new member will be.

References
----------
.. [1] J. L. Montiel Olea and M. Plagborg-Moller, "Simultaneous confidence bands:
   theory, implementation, and an application to SVARs", Journal of Applied
   Econometrics 34 (2019), section 2 (the sup-t band).

The law of what the expansion does not explain.

The predictive law of a policy is the push-forward of the inputs *plus* the residual
law. The push-forward alone (as in the paper) is too narrow by the unexplained share of
the variance. Residuals are leave-one-out ones, so that the error of the coefficients
is in them. They are scaled by leverage: a residual of member :math:`i`, left out, has
the variance :math:`\sigma^2 / (1 - h_i)`, and a prediction at :math:`x` the variance
:math:`\sigma^2 (1 + h(x))` [1]_. One row holds all steps of a member, so that the
dependence between actions and steps is kept.

References
----------
.. [1] R. D. Cook and S. Weisberg, "Residuals and Influence in Regression", Chapman
   and Hall, 1982, section 2.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtr
from sklearn.utils.validation import check_is_fitted, validate_data

from .._basis.basis import PolynomialBasis
from .._checks import (
    FloatArray,
    IndexArray,
    check_integer,
    check_real,
    fail,
    input_names,
    make_generator,
)
from .._dependence.tests import SurrogateDiagnostics
from .._input_laws import check_distribution, learn_input_laws
from .._input_laws.families import is_frozen
from .._solvers import LinearFit
from .log_ratio import LogRatioGeometry

# Probabilities held at once while quantiles are taken: 64 MiB.
_CHUNK_ENTRIES = 8_388_608

#: What a joint band holds together.
JOINT = ("step", "trajectory")


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


def _check_predictive(owner: str, n_samples: Any, residual: Any) -> None:
    """Raise ``ValueError`` for a bad number of draws or residual law."""
    check_integer(owner, "n_samples", n_samples, low=1)
    if residual is not None and residual not in RESIDUAL_LAWS:
        listed = ", ".join(repr(name) for name in RESIDUAL_LAWS)
        raise ValueError(
            f"The 'residual' parameter of {owner} must be one of {listed} or None. "
            f"Got {residual!r} instead."
        )


def _check_joint(owner: str, joint: Any) -> None:
    if joint is not None and joint not in JOINT:
        raise fail(owner, "joint", "None, 'step' or 'trajectory'", joint)


def _refuse_both(owner: str, X: Any, inputs: Any) -> None:
    if X is not None and inputs is not None:
        raise ValueError(
            f"{owner} takes X, inputs of members that are known, or inputs=, a law of "
            "unknown ones, not both."
        )


class PredictiveLawMixin:
    """``sample`` and ``predict_interval`` of a fitted surrogate."""

    basis_: PolynomialBasis
    geometry_: LogRatioGeometry
    diagnostics_: SurrogateDiagnostics
    random_state: Any
    _residual_law: ResidualLaw
    _clr_at: Callable[[FloatArray], FloatArray]

    def sample(
        self,
        n_samples: int = 1,
        X: ArrayLike | None = None,
        *,
        inputs: Any = None,
        residual: str | None = "resampled",
        random_state: Any = None,
    ) -> FloatArray:
        """Draw policies from the predictive law.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws.
        X : array-like of shape (n_members, n_features) or None, default=None
            Draw conditional on these inputs. None draws the inputs from their laws:
            one draw of the inputs for the whole trajectory.
        inputs : law, list of laws, array-like of rows, or None, default=None
            Draw the inputs from elsewhere, without refitting: what if the
            uncertainty were another one? Laws as in ``distribution=`` (named ones
            are learned from the members of the fit), or rows of inputs, drawn with
            replacement, which keeps their dependence. None means the laws of the fit.
        residual : {"resampled", "gaussian"} or None, default="resampled"
            Law of what the expansion does not explain: a normal law with the second
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
        check_is_fitted(self)
        owner = f"{type(self).__name__}.sample"
        _check_predictive(owner, n_samples, residual)
        _refuse_both(owner, X, inputs)
        draw = self._input_sampler(owner, inputs)
        generator = self._draw_generator(random_state)
        rows = self._residual_law.draw(n_samples, residual, generator)
        if X is None:
            clr = self._draw_marginal(rows, draw(n_samples, generator))
        else:
            values = self._checked_inputs(X)
            clr = self._residual_law.deviations(rows, self.basis_.evaluate(values))
            clr += self._clr_at(values)
        return self.geometry_.compositions(clr)

    def _draw_marginal(self, rows: FloatArray, X: FloatArray) -> FloatArray:
        """Add one row of residuals to each input; return clr (n_rows, n_active)."""
        law = self._residual_law
        scale = law.fit.prediction_scale(self.basis_.evaluate(X))
        return self._clr_at(X) + law.geometry.from_coordinates(rows * scale)

    def predict_interval(
        self,
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
            Law of the unknown inputs, as in :meth:`sample`.
        confidence_level : float, default=0.95
            Probability that a part of a new member lies inside, part by part; with
            ``joint`` that all of them do.
        joint : {"step", "trajectory"} or None, default=None
            Parts that lie inside together: those of each step, or those of all
            steps. None gives marginal intervals.
        residual : {"resampled", "gaussian"} or None, default="resampled"
            As in :meth:`sample`.
        n_samples : int, default=2000
            Draws from which the quantiles are taken.
        random_state : int, RandomState instance or None, default=None
            None uses the parameter of the estimator.

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
        A joint band scales the distances of all logits from their medians, in units
        of their spread, by the quantile of the largest one [1]_. Each residual is
        measured from the others.

        References
        ----------
        .. [1] J. L. Montiel Olea and M. Plagborg-Moller, "Simultaneous confidence
           bands", Journal of Applied Econometrics 34 (2019), section 2.

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
        check_is_fitted(self)
        owner = f"{type(self).__name__}.predict_interval"
        _check_predictive(owner, n_samples, residual)
        check_real(owner, "confidence_level", confidence_level, low=0, high=1)
        _check_joint(owner, joint)
        _refuse_both(owner, X, inputs)
        draw = self._input_sampler(owner, inputs)
        generator = self._draw_generator(random_state)
        if X is None:
            rows = self._residual_law.draw(n_samples, residual, generator)
            clr = self._draw_marginal(rows, draw(n_samples, generator))
            bounds = self._bounds(clr[:, np.newaxis], confidence_level, joint)
            return PredictionInterval(*bounds)
        values = self._checked_inputs(X)
        rows = self._residual_law.atoms(n_samples, residual, generator)
        bounds = np.empty((2, len(values), self.geometry_.layout.n_parts))
        chunk = max(1, _CHUNK_ENTRIES // (len(rows) * bounds.shape[2]))
        for start in range(0, len(values), chunk):
            block = values[start : start + chunk]
            clr = self._residual_law.deviations(rows, self.basis_.evaluate(block))
            clr += self._clr_at(block)
            bounds[:, start : start + chunk] = self._bounds(
                clr, confidence_level, joint
            )
        return PredictionInterval(bounds[0], bounds[1])

    def _bounds(
        self,
        clr: FloatArray,  # shape: (n_draws, n_members, n_active)
        confidence_level: float,
        joint: str | None,
    ) -> FloatArray:  # shape: (2, n_members, n_parts)
        """Take the quantiles of draws of each member, or joint bands."""
        draws = self.geometry_.compositions(clr)
        if joint is None:
            tails = [(1.0 - confidence_level) / 2.0, (1.0 + confidence_level) / 2.0]
            return np.quantile(draws, tails, axis=0, method=QUANTILE)
        bounds = np.stack([draws[0], draws[0]])  # parts that do not vary
        active = self.geometry_.active_parts
        if active.size:
            groups = self.geometry_.step_of_active
            if joint == "trajectory":
                groups = np.zeros_like(groups)
            bounds[:, :, active] = simultaneous_bands(
                draws[:, :, active], groups, confidence_level
            )
        return bounds

    def _checked_inputs(self, X: ArrayLike) -> FloatArray:
        """Return inputs as an array; warn of those outside their laws."""
        check_is_fitted(self)
        values = validate_data(self, X, dtype=np.float64, reset=False)
        self.basis_.warn_outside(values, input_names(self))
        return values

    def _input_sampler(self, owner: str, inputs: Any) -> InputSampler:
        if hasattr(inputs, "columns"):  # their names must be those of the fit
            validate_data(self, inputs, reset=False, skip_check_array=True)
        return make_input_sampler(
            owner,
            inputs,
            self.basis_,
            self.diagnostics_.inputs,
            self._residual_law.weights,
            input_names(self),
        )

    def _draw_generator(self, random_state: Any) -> np.random.Generator:
        given = self.random_state if random_state is None else random_state
        return make_generator(given)


# Quantiles whose distance from the median is the spread: one standard deviation.
_LEVELS = (float(ndtr(-1.0)), 0.5, float(ndtr(1.0)))

# Smallest probability that has a logit; the largest is one rounding below 1.
_SMALLEST = 1e-300


def simultaneous_bands(
    draws: FloatArray,  # shape: (n_draws, n_members, n_parts), probabilities
    groups: IndexArray,  # shape: (n_parts,), parts to be held together
    confidence_level: float,
) -> tuple[FloatArray, FloatArray]:  # each shape: (n_members, n_parts)
    """Return lower and upper bounds; parts that do not vary have no width.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._compositions.predictive import simultaneous_bands
    >>> draws = np.random.default_rng(0).dirichlet([2, 3, 4], size=(1000, 1))
    >>> low, high = simultaneous_bands(draws, np.zeros(3, int), 0.9)
    >>> inside = np.all((low <= draws) & (draws <= high), axis=2)
    >>> float(inside.mean().round(2))
    0.9
    """
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

    Without a draw at or below the order statistic :math:`j` the next one takes its
    place. A single draw has no others and stands for them.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._compositions.predictive import _quantiles_of_others
    >>> low, centre, high = _quantiles_of_others(np.array([1.0, 2.0, 4.0, 8.0]))
    >>> centre
    array([4., 4., 2., 2.])
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


RESIDUAL_LAWS = ("resampled", "gaussian")

# Quantiles of few residuals. Positions i/(n + 1) ("weibull") hold a new member already
# if nothing is fitted; the factor sqrt(1 + h) widens them once more. "hazen" is too
# narrow in spite of it.
QUANTILE: Final = "median_unbiased"


@dataclass(frozen=True)
class ResidualLaw:
    """Leave-one-out residuals of an ensemble.

    Parameters
    ----------
    fit : LinearFit
        Of the log-ratio coordinates.
    weights : ndarray of shape (n_members,)
        Frequency of each member.
    geometry : LogRatioGeometry
        Of the fitted coordinates.
    """

    fit: LinearFit
    weights: FloatArray
    geometry: LogRatioGeometry

    def draw(
        self, size: int, kind: str | None, generator: np.random.Generator
    ) -> FloatArray:
        """Draw scaled residuals of shape (size, n_fitted).

        ``"gaussian"`` has their second moments and mean zero; ``"resampled"`` draws
        whole rows; None gives zeros, the push-forward alone.

        Raises
        ------
        ValueError
            If a leave-one-out residual is not defined.
        """
        residuals = self.fit.scaled_residuals
        if kind is None:
            return np.zeros((size, residuals.shape[1]))
        self._refuse_undefined()
        share = self.weights / self.weights.sum()
        if kind == "resampled":
            return residuals[generator.choice(len(share), size=size, p=share)]
        # R'R are the second moments; R has a row for each coordinate at most.
        root = np.linalg.qr(np.sqrt(share)[:, np.newaxis] * residuals, mode="r")
        return generator.standard_normal(size=(size, len(root))) @ root

    def atoms(
        self, size: int, kind: str | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return rows whose quantiles are wanted: every residual once if one may.

        With equal weights the resampled law has one atom a member; taking each once
        spares the noise of drawing. None has one atom, zero.
        """
        if kind is None:
            return np.zeros((1, self.fit.scaled_residuals.shape[1]))
        if kind == "resampled" and np.ptp(self.weights) == 0:
            self._refuse_undefined()
            return self.fit.scaled_residuals
        return self.draw(size, kind, generator)

    def deviations(
        self,
        rows: FloatArray,  # shape: (n_draws, n_fitted), scaled residuals
        design: FloatArray,  # shape: (n_members, n_terms)
    ) -> FloatArray:  # shape: (n_draws, n_members, n_active)
        """Return the clr deviations that the rows stand for at new inputs."""
        scale = self.fit.prediction_scale(design)
        return self.geometry.from_coordinates(rows[:, np.newaxis] * scale)

    def _refuse_undefined(self) -> None:
        if np.isnan(self.fit.scaled_residuals).any():
            raise ValueError(
                "The residual law is not defined: with as many terms as members a "
                "least-squares fit has no leave-one-out residuals. Use "
                "solver='ridge', a lower degree, or residual=None (the push-forward "
                "alone, which is too narrow)."
            )


#: Draws inputs: (number, generator) -> (number, n_features).
InputSampler = Callable[[int, np.random.Generator], FloatArray]


def make_input_sampler(
    owner: str,
    inputs: Any,
    basis: PolynomialBasis,
    X: FloatArray,  # shape: (n_members, n_features), of the fit
    weights: FloatArray,  # shape: (n_members,)
    names: Sequence[str],
) -> InputSampler:
    """Return what draws the inputs.

    Parameters
    ----------
    owner : str
        For messages.
    inputs : None, a law or a list of laws as in ``distribution=``, or array-like
        None means the laws of the fit. Rows of an array are drawn with replacement;
        named laws are learned from the members of the fit.
    basis : PolynomialBasis
        With the laws of the fit.
    X, weights : ndarray
        Members of the fit.
    names : sequence of str
        Of the inputs.

    Raises
    ------
    ValueError
        If there is no row, or its length is not the number of features, a value is
        not finite, or a law is not known.

    Warns
    -----
    InputOutsideSupportWarning
        When draws lie outside the laws of the fit: the expansion extrapolates.
    """
    if inputs is None:
        return basis.sample
    if _are_laws(inputs):
        laws = learn_input_laws(
            check_distribution(owner, inputs, len(names)), X, weights
        )
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
    """Whether this is a law, or a list with one in it."""
    if isinstance(inputs, str) or is_frozen(inputs):
        return True
    is_list = isinstance(inputs, Sequence)
    return is_list and any(isinstance(law, str) or is_frozen(law) for law in inputs)


def _checked_rows(owner: str, inputs: Any, n_features: int) -> FloatArray:
    try:
        rows = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"The 'inputs' parameter of {owner} must be None, a law or a list of laws "
            f"as in distribution=, or rows of inputs. Got {inputs!r} instead."
        ) from None
    if rows.ndim != 2 or not len(rows) or rows.shape[1] != n_features:
        raise ValueError(
            f"The 'inputs' parameter of {owner} has shape {rows.shape}; expected "
            f"(n_rows, {n_features}) with at least one row."
        )
    if not np.all(np.isfinite(rows)):
        raise ValueError(f"The 'inputs' parameter of {owner} contains NaN or infinity.")
    return rows
