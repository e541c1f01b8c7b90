"""How to train, as data."""

from dataclasses import dataclass

from gflownet_envs.objectives import OBJECTIVES
from gflownet_envs.policies.mlp import INITIALIZATIONS


@dataclass(frozen=True)
class TrainingSpec:
    """How to train; the same for every member.

    Attributes
    ----------
    objective : str, default="vargrad"
        A name in `OBJECTIVES`.
    n_iterations : int, default=3000
    batch_size : int, default=64
        Trajectories an iteration and member.
    learning_rate : float, default=3e-3
        Of Adam.
    final_learning_rate_fraction : float, default=0.01
        The learning rates fall along a half cosine to this fraction of their start;
        1 keeps them constant.
    adam_betas : tuple of float, default=(0.9, 0.99)
        Losses fall by orders of magnitude, so the second moment forgets faster than
        Adam's usual 0.999.
    initialization : {"he", "linear"}, default="he"
        See `StackedMLP`.
    log_z_learning_rate : float, default=0.1
        For objectives that learn log Z.
    log_z_init : float or None, default=None
        Where log Z starts; None takes the estimate of the first batch.
    hidden : tuple of int, default=(64, 64)
    exploration_epsilon : float, default=0.05
        Share of uniformly random actions while sampling. On-policy training never
        learns the log-ratios of rare actions: without exploration most of the
        variance of the log-ratios is training noise although the policies are close
        to exact in total variation (`docs/results.md`).
    block_size : int, default=50
        Members trained together. Results do not depend on it, up to rounding.
    dtype : {"float32", "float64"}, default="float32"
    max_table_states : int, default=50_000
        Enumerable spaces of at most so many states are sampled by table look-ups; 0
        never does so.

    Examples
    --------
    >>> TrainingSpec(objective="trajectory_balance").log_z_learning_rate
    0.1
    """

    objective: str = "vargrad"
    n_iterations: int = 3000
    batch_size: int = 64
    learning_rate: float = 3e-3
    final_learning_rate_fraction: float = 0.01
    adam_betas: tuple[float, float] = (0.9, 0.99)
    initialization: str = "he"
    log_z_learning_rate: float = 0.1
    log_z_init: float | None = None
    hidden: tuple[int, ...] = (64, 64)
    exploration_epsilon: float = 0.05
    block_size: int = 50
    dtype: str = "float32"
    max_table_states: int = 50_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        object.__setattr__(self, "adam_betas", tuple(self.adam_betas))
        if self.objective not in OBJECTIVES:
            raise ValueError(
                f"objective must be one of {sorted(OBJECTIVES)}, got {self.objective!r}"
            )
        smallest = OBJECTIVES[self.objective].min_batch_size
        if self.batch_size < smallest:
            raise ValueError(
                f"batch_size must be at least {smallest} for {self.objective}, "
                f"got {self.batch_size}"
            )
        for name in ("n_iterations", "block_size"):
            _require(getattr(self, name) >= 1, self, name, "at least 1")
        for name in ("learning_rate", "log_z_learning_rate"):
            _require(getattr(self, name) > 0, self, name, "positive")
        for name in ("exploration_epsilon", "final_learning_rate_fraction"):
            _require(0 <= getattr(self, name) <= 1, self, name, "in [0, 1]")
        betas_ok = len(self.adam_betas) == 2 and all(
            0 <= b < 1 for b in self.adam_betas
        )
        _require(betas_ok, self, "adam_betas", "two numbers in [0, 1)")
        known = self.initialization in INITIALIZATIONS
        _require(known, self, "initialization", f"one of {INITIALIZATIONS}")
        widths_ok = all(width >= 1 for width in self.hidden)
        _require(widths_ok, self, "hidden", "a tuple of positive widths")
        known = self.dtype in ("float32", "float64")
        _require(known, self, "dtype", "'float32' or 'float64'")
        _require(self.max_table_states >= 0, self, "max_table_states", "at least 0")


def _require(condition: bool, spec: TrainingSpec, name: str, expected: str) -> None:
    if not condition:
        raise ValueError(f"{name} must be {expected}, got {getattr(spec, name)!r}")


PAPER_TRAINING = TrainingSpec(
    objective="trajectory_balance",
    log_z_init=5.0,
    batch_size=32,
    exploration_epsilon=0.0,
    learning_rate=1e-3,
    log_z_learning_rate=1e-3,
    final_learning_rate_fraction=1.0,
    adam_betas=(0.9, 0.999),
    initialization="linear",
)
"""The paper's settings: log Z starts at 5 and learns as slowly as the network."""
