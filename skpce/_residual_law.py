"""The law of what the expansion does not explain.

The predictive law of a policy is the push-forward of the inputs *plus* the residual
law. The push-forward alone (as in the paper) is too narrow by the unexplained share of
the variance. Residuals are leave-one-out ones, so that the error of the coefficients
is in them. They are scaled by leverage: a residual of member :math:`i`, left out, has
the variance :math:`\\sigma^2 / (1 - h_i)`, and a prediction at :math:`x` the variance
:math:`\\sigma^2 (1 + h(x))` [1]_. One row holds all steps of a member, so that the
dependence between actions and steps is kept.

References
----------
.. [1] R. D. Cook and S. Weisberg, "Residuals and Influence in Regression", Chapman
   and Hall, 1982, section 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ._checks import FloatArray
from ._log_ratio_geometry import LogRatioGeometry
from ._solvers import LinearFit

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
