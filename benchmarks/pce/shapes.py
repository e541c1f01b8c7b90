"""The shapes of the comparison: frozen specifications, each with its data and target.

Every shape gives training data from one seed and test data without noise from another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .functions import BOREHOLE, ISHIGAMI, BenchmarkFunction
from .truths import RandomExpansion

FloatArray = NDArray[np.float64]

N_TEST = 10_000
TRAINING_SEED = 0
TEST_SEED = 987_654


@dataclass(frozen=True)
class Target:
    """Targets of time and accuracy; ``None`` where there is none.

    ``as_accurate_as`` names a peer: its error in the same run times 1.1 is the limit.
    """

    text: str
    max_seconds: float | None = None
    min_q2: float | None = None
    max_over_floor: float | None = None
    max_megabytes: float | None = None
    as_accurate_as: str | None = None


@dataclass(frozen=True)
class Shape:
    """One row of the comparison.

    ``work`` is what is timed: "fit", "predict", "sobol" or "bootstrap". ``solvers``
    are ours that take part.
    """

    name: str
    work: str
    truth: RandomExpansion | BenchmarkFunction
    degree: int
    n_samples: int
    solvers: tuple[str, ...]
    target: Target
    n_predicted: int = 0
    n_resamples: int = 0

    def training_data(self) -> tuple[FloatArray, FloatArray]:
        """Inputs and outputs of shapes (n_samples, ·)."""
        X, Y = self.truth.data(self.n_samples, TRAINING_SEED)
        return X, Y.reshape(len(X), -1)

    def test_data(self) -> tuple[FloatArray, FloatArray]:
        """Fresh inputs and the truth there."""
        if isinstance(self.truth, RandomExpansion):
            return self.truth.data(N_TEST, TEST_SEED, noise=0)
        X, y = self.truth.data(N_TEST, TEST_SEED)
        return X, y[:, None]

    def points(self) -> FloatArray:
        """Inputs at which "predict" is timed."""
        rng = np.random.default_rng(TEST_SEED)
        return np.column_stack(
            [law.rvs(size=self.n_predicted, random_state=rng) for law in self.laws]
        )

    def resamples(self) -> NDArray[np.int64]:
        """Rows of every bootstrap resample; shape (n_resamples, n_samples)."""
        rng = np.random.default_rng(TEST_SEED)
        return rng.integers(self.n_samples, size=(self.n_resamples, self.n_samples))

    @property
    def laws(self) -> tuple:
        """The laws of the inputs."""
        return self.truth.laws

    @property
    def total_indices(self) -> tuple[float, ...] | None:
        """Total indices in closed form, where there is one."""
        return getattr(self.truth, "total_indices", None)


BH = RandomExpansion(n_features=5, degree=3, n_targets=43)
SACHS = RandomExpansion(n_features=2, degree=5, n_targets=1320)
BIG = RandomExpansion(n_features=10, degree=4, n_targets=20)
MANY = RandomExpansion(n_features=5, degree=3, n_targets=1000)

SMALL_FITS = ("learned", "ridge", "paper")
SPARSE_FITS = ("learned", "lars", "subspace_pursuit")

SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape(
            "fit BH",
            "fit",
            BH,
            degree=3,
            n_samples=50,
            solvers=(*SMALL_FITS, "ols"),
            target=Target("Q² ≥ 0.93 in ≤ 10 ms", max_seconds=0.010, min_q2=0.93),
        ),
        Shape(
            "fit Sachs",
            "fit",
            SACHS,
            degree=5,
            n_samples=30,
            solvers=SMALL_FITS,
            target=Target("Q² ≥ 0.95 in ≤ 40 ms", max_seconds=0.040, min_q2=0.95),
        ),
        Shape(
            "fit Ishigami",
            "fit",
            ISHIGAMI,
            degree=12,
            n_samples=1000,
            solvers=(*SPARSE_FITS, "ridge", "ols"),
            target=Target(
                "total indices of OpenTURNS LARS in < 0.1 s",
                max_seconds=0.1,
                as_accurate_as="OpenTURNS LARS",
            ),
        ),
        Shape(
            "fit borehole",
            "fit",
            BOREHOLE,
            degree=3,
            n_samples=500,
            solvers=(*SPARSE_FITS, "ridge", "ols"),
            target=Target(
                "Q² of OpenTURNS LARS in 60 ms",
                max_seconds=0.060,
                as_accurate_as="OpenTURNS LARS",
            ),
        ),
        Shape(
            "fit big, n=10k",
            "fit",
            BIG,
            degree=4,
            n_samples=10_000,
            solvers=("learned", "ridge", "ols"),
            target=Target("≤ 1.3 × floor", max_over_floor=1.3),
        ),
        Shape(
            "fit big, n=100k",
            "fit",
            BIG,
            degree=4,
            n_samples=100_000,
            solvers=("learned", "ridge"),
            target=Target(
                "≤ 1.3 × floor, ≤ 0.6 GB", max_over_floor=1.3, max_megabytes=600
            ),
        ),
        Shape(
            "fit 1000 outputs",
            "fit",
            MANY,
            degree=3,
            n_samples=5000,
            solvers=("learned", "ridge"),
            target=Target("< 1 s", max_seconds=1.0),
        ),
        Shape(
            "predict 1M, BH",
            "predict",
            BH,
            degree=3,
            n_samples=50,
            solvers=("ridge",),
            target=Target(
                "≤ 1.5 × floor, ≤ 0.6 GB", max_over_floor=1.5, max_megabytes=600
            ),
            n_predicted=1_000_000,
        ),
        Shape(
            "Sobol of 1320 outputs",
            "sobol",
            SACHS,
            degree=5,
            n_samples=30,
            solvers=("ridge",),
            target=Target("≤ 1 ms", max_seconds=0.001),
        ),
        Shape(
            "bootstrap 200, BH",
            "bootstrap",
            BH,
            degree=3,
            n_samples=50,
            solvers=("learned", "ridge"),
            target=Target("≤ 2 × batched floor", max_over_floor=2.0),
            n_resamples=200,
        ),
    )
}
