"""Random Hermite expansions: truths that lie in the basis that is fitted.

How "coefficient scale 0.45^|j| · 0.75^(index of the input)" is read: the coefficient
of the term j = (j_0, j_1, ...) is normal with mean 0 and standard deviation

    prod over the inputs i = 0, 1, ... of (0.45 · 0.75^i)^(j_i),

so an input counts once for every unit of its exponent, and input 0 is the most
important. The mean of an output is normal with a standard deviation of ``MEAN_SCALE``
standard deviations of that output. The noise of an output is normal with 2 % of its
standard deviation. Accuracies are against the truth without noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from .recurrences import evaluate, total_degree_indices

FloatArray = NDArray[np.float64]

DEGREE_DECAY = 0.45
INPUT_DECAY = 0.75
MEAN_SCALE = 2.0
NOISE = 0.02
STANDARD_NORMAL = norm(0, 1)


@dataclass(frozen=True)
class RandomExpansion:
    """Independent standard normal inputs, several outputs, full total degree."""

    n_features: int
    degree: int
    n_targets: int
    seed: int = 1

    @property
    def laws(self) -> tuple:
        """One standard normal law for each input."""
        return (STANDARD_NORMAL,) * self.n_features

    def coefficients(self) -> FloatArray:
        """The coefficients of the truth; shape (n_targets, n_terms)."""
        rng = np.random.default_rng(self.seed)
        indices = total_degree_indices(self.n_features, self.degree)
        decay = DEGREE_DECAY * INPUT_DECAY ** np.arange(self.n_features)
        scale = np.prod(decay**indices, axis=1)
        drawn = rng.normal(size=(self.n_targets, len(indices))) * scale
        spread = np.sqrt(np.sum(drawn[:, 1:] ** 2, axis=1))
        drawn[:, 0] = MEAN_SCALE * spread * rng.normal(size=self.n_targets)
        return drawn

    def data(
        self, n_samples: int, seed: int, noise: float = NOISE
    ) -> tuple[FloatArray, FloatArray]:
        """Draw inputs and outputs; no noise with ``noise=0``."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n_samples, self.n_features))
        coefficients = self.coefficients()
        Y = evaluate(X, self.laws, self.degree, coefficients)
        if noise > 0:
            spread = np.sqrt(np.sum(coefficients[:, 1:] ** 2, axis=1))
            Y += noise * spread * rng.normal(size=Y.shape)
        return X, Y
