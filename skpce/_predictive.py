"""Draws and intervals of the predictive law: push-forward plus residual law."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._basis import PolynomialBasis
from ._log_ratio_geometry import LogRatioGeometry
from ._parameters import check_integer, check_real
from ._residual_law import RESIDUAL_LAWS, ResidualLaw

FloatArray = NDArray[np.float64]

# Probabilities held at once while quantiles are taken: 64 MiB.
_CHUNK_ENTRIES = 8_388_608


class PredictionInterval(NamedTuple):
    """Lower and upper bounds of probabilities.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_members, n_parts)
        Marginal bounds, part by part.
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


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a NumPy generator from scikit-learn's ``random_state``."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return np.random.default_rng(seed)


class PredictiveLawMixin:
    """``sample`` and ``predict_interval`` of a fitted surrogate."""

    basis_: PolynomialBasis
    geometry_: LogRatioGeometry
    random_state: Any
    _clr_coefficients: FloatArray
    _residual_law: ResidualLaw

    def sample(
        self,
        n_samples: int = 1,
        X: ArrayLike | None = None,
        *,
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
        """
        check_is_fitted(self)
        _check_predictive(f"{type(self).__name__}.sample", n_samples, residual)
        generator = self._draw_generator(random_state)
        rows = self._residual_law.draw(n_samples, residual, generator)
        if X is None:
            clr = self._draw_marginal(rows, generator)
        else:
            design = self._evaluate_basis(X)
            clr = self._residual_law.deviations(rows, design)
            clr += design @ self._clr_coefficients.T
        return self.geometry_.compositions(clr)

    def _draw_marginal(
        self, rows: FloatArray, generator: np.random.Generator
    ) -> FloatArray:
        """Draw one input per row of residuals; return clr values (n_rows, n_active)."""
        design = self.basis_.evaluate(self.basis_.sample(len(rows), generator))
        law = self._residual_law
        residual = law.geometry.from_coordinates(
            rows * law.fit.prediction_scale(design)
        )
        return design @ self._clr_coefficients.T + residual

    def predict_interval(
        self,
        X: ArrayLike | None = None,
        *,
        confidence_level: float = 0.95,
        residual: str | None = "resampled",
        n_samples: int = 2000,
        random_state: Any = None,
    ) -> PredictionInterval:
        """Return marginal prediction intervals of each probability.

        Parameters
        ----------
        X : array-like of shape (n_members, n_features) or None, default=None
            Intervals conditional on these inputs. None gives one interval per part
            for a member of unknown inputs.
        confidence_level : float, default=0.95
            Probability that a part of a new member lies inside, part by part.
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
        """
        check_is_fitted(self)
        owner = f"{type(self).__name__}.predict_interval"
        _check_predictive(owner, n_samples, residual)
        check_real(owner, "confidence_level", confidence_level, low=0, high=1)
        generator = self._draw_generator(random_state)
        tail = (1.0 - confidence_level) / 2.0
        levels = [tail, 1.0 - tail]
        if X is None:
            rows = self._residual_law.draw(n_samples, residual, generator)
            draws = self.geometry_.compositions(self._draw_marginal(rows, generator))
            low, high = np.quantile(draws, levels, axis=0, method="hazen")
            return PredictionInterval(low[np.newaxis], high[np.newaxis])
        design = self._evaluate_basis(X)
        rows = self._residual_law.atoms(n_samples, residual, generator)
        bounds = np.empty((2, len(design), self.geometry_.layout.n_parts))
        chunk = max(1, _CHUNK_ENTRIES // (len(rows) * bounds.shape[2]))
        for start in range(0, len(design), chunk):
            block = design[start : start + chunk]
            clr = self._residual_law.deviations(rows, block)
            clr += block @ self._clr_coefficients.T
            bounds[:, start : start + chunk] = np.quantile(
                self.geometry_.compositions(clr), levels, axis=0, method="hazen"
            )
        return PredictionInterval(bounds[0], bounds[1])

    def _draw_generator(self, random_state: Any) -> np.random.Generator:
        given = self.random_state if random_state is None else random_state
        return make_generator(given)
