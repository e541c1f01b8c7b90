"""Draws and intervals of the predictive law: push-forward plus residual law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from ._basis import PolynomialBasis
from ._checks import (
    FloatArray,
    check_integer,
    check_real,
    fail,
    input_names,
    make_generator,
)
from ._diagnostics import SurrogateDiagnostics
from ._input_draws import InputSampler, make_input_sampler
from ._joint_bands import simultaneous_bands
from ._log_ratio_geometry import LogRatioGeometry
from ._residual_law import QUANTILE, RESIDUAL_LAWS, ResidualLaw

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
