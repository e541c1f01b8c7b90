"""The law of what the expansion does not explain.

The predictive law of a policy is the push-forward of the inputs *plus* the residual
law. The push-forward alone (as in the paper) is too narrow by the unexplained share of
the variance. Residuals are leave-one-out ones, so that the error of the coefficients
is in them, and live in clr space, one row per member for all steps together: the
dependence between actions and steps is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

RESIDUAL_LAWS = ("gaussian", "resampled")


@dataclass(frozen=True)
class ResidualLaw:
    """Leave-one-out residuals of an ensemble.

    Parameters
    ----------
    residuals : ndarray of shape (n_members, n_active)
        Centred log-ratio residuals.
    weights : ndarray of shape (n_members,)
        Frequency of each member.
    """

    residuals: FloatArray
    weights: FloatArray

    def sample(
        self, size: int, kind: str | None, generator: np.random.Generator
    ) -> FloatArray:
        """Draw residuals of shape (size, n_active).

        ``"gaussian"`` has the second moments of the residuals and mean zero;
        ``"resampled"`` draws whole rows; None gives zeros, the push-forward alone.

        Raises
        ------
        ValueError
            If a leave-one-out residual is not defined.
        """
        if kind is None:
            return np.zeros((size, self.residuals.shape[1]))
        if np.isnan(self.residuals).any():
            raise ValueError(
                "The residual law is not defined: with as many terms as members a "
                "least-squares fit has no leave-one-out residuals. Use "
                "solver='ridge', a lower degree, or residual=None (the push-forward "
                "alone, which is too narrow)."
            )
        share = self.weights / self.weights.sum()
        if kind == "resampled":
            return self.residuals[generator.choice(len(share), size=size, p=share)]
        # A normal vector times the weighted residuals has their second moments.
        normal = generator.standard_normal(size=(size, len(share)))
        return normal @ (np.sqrt(share)[:, np.newaxis] * self.residuals)
