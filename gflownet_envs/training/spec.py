"""How to train, as data."""

import math
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any

from gflownet_envs.environments.base import require_at_least, require_field
from gflownet_envs.objectives import OBJECTIVES
from gflownet_envs.policies.networks import INITIALIZATIONS

POLICIES = ("mlp", "gru")


@dataclass(frozen=True)
class TrainingSpec:
    """How to train; the same for every member.

    Attributes
    ----------
    objective : str, default="vargrad"
        A name in ``OBJECTIVES``.
    n_iterations : int, default=3000
    batch_size : int, default=128
        Trajectories an iteration and member.
    learning_rate : float, default=0.01
        Of Adam.
    final_learning_rate_fraction : float, default=0.01
        The learning rates fall along a half cosine to this fraction of their start;
        1 keeps them constant.
    adam_betas : tuple of float, default=(0.9, 0.99)
        Losses fall by orders of magnitude, so the second moment forgets faster than
        Adam's usual 0.999.
    max_gradient_norm : float or None, default=None
        Longer gradients of a member, all its parameters taken together (log Z too, as
        one vector), are shortened to this Euclidean norm. None leaves them.
    initialization : {"he", "linear"}, default="he"
        See `StackedMLP`.
    log_z_learning_rate : float, default=0.1
        For objectives that learn log Z.
    log_z_init : float or None, default=None
        Where log Z starts; None takes the estimate of the first batch.
    policy : {"mlp", "gru"}, default="mlp"
        What the policies are; ``"gru"`` reads the actions taken so far and needs a
        space where a state has one history.
    hidden : tuple of int, default=(64, 64)
        Widths of the hidden layers; one number for ``"gru"``.
    learn_backward_policy : bool, default=False
        Whether P_B is learned too. It is uniform over parents otherwise, and in
        spaces where a state has one parent.
    sub_trajectory_decay : float, default=0.9
        λ of sub-trajectory balance.
    exploration_epsilon : float, default=0.05
        Share of uniformly random actions while sampling. On-policy training never
        learns the log-ratios of rare actions: without exploration most of the
        variance of the log-ratios is training noise although the policies are close
        to exact in total variation (``docs/results.md``).
    exploration_temperature : float, default=1.0
        Log-policies are divided by it while sampling.
    replay_fraction : float, default=0.0
        Share of a batch that repeats earlier trajectories; see ``ReplayBuffer``.
        Rounded to trajectories it must leave at least one old and one new.
    replay_capacity : int, default=1000
        Trajectories that a member remembers.
    check_every : int, default=500
        Iterations between two looks at the members; 0 looks at the end alone.
    stop_at_distance : float or None, default=None
        A member stops once its distance to exact is at most this, where the space is
        listed.
    stop_at_effective_sample_size : float or None, default=None
        A member stops once its effective sample size, as a share of the samples, is
        at least this. With both, both must hold.
    block_size : int, default=50
        Members trained together, at most; at most 25 where NumPy trains them. Results
        do not depend on it, up to rounding.
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
    batch_size: int = 128
    learning_rate: float = 0.01
    final_learning_rate_fraction: float = 0.01
    adam_betas: tuple[float, float] = (0.9, 0.99)
    max_gradient_norm: float | None = None
    initialization: str = "he"
    log_z_learning_rate: float = 0.1
    log_z_init: float | None = None
    policy: str = "mlp"
    hidden: tuple[int, ...] = (64, 64)
    learn_backward_policy: bool = False
    sub_trajectory_decay: float = 0.9
    exploration_epsilon: float = 0.05
    exploration_temperature: float = 1.0
    replay_fraction: float = 0.0
    replay_capacity: int = 1000
    check_every: int = 500
    stop_at_distance: float | None = None
    stop_at_effective_sample_size: float | None = None
    block_size: int = 50
    dtype: str = "float32"
    max_table_states: int = 50_000

    def __post_init__(self) -> None:
        for name in ("hidden", "adam_betas"):
            value = getattr(self, name)
            require_field(isinstance(value, (tuple, list)), self, name, "a tuple")
            object.__setattr__(self, name, tuple(value))
        if self.objective not in OBJECTIVES:
            raise ValueError(
                f"objective must be one of {sorted(OBJECTIVES)}, got {self.objective!r}"
            )
        smallest = OBJECTIVES[self.objective].min_batch_size
        if not _is_integer(self.batch_size) or self.batch_size < smallest:
            raise ValueError(
                f"batch_size must be an int of at least {smallest} for "
                f"{self.objective}, got {self.batch_size!r}"
            )
        for name, least in (
            ("n_iterations", 1),
            ("block_size", 1),
            ("replay_capacity", 1),
            ("check_every", 0),
            ("max_table_states", 0),
        ):
            require_at_least(name, getattr(self, name), least)
        for name in (
            "learning_rate",
            "log_z_learning_rate",
            "sub_trajectory_decay",
            "exploration_temperature",
        ):
            value = getattr(self, name)
            require_field(
                _is_finite(value) and value > 0, self, name, "positive and finite"
            )
        for name in ("exploration_epsilon", "final_learning_rate_fraction"):
            value = getattr(self, name)
            require_field(
                _is_finite(value) and 0 <= value <= 1, self, name, "in [0, 1]"
            )
        share = self.replay_fraction
        require_field(
            _is_finite(share) and 0 <= share < 1, self, "replay_fraction", "in [0, 1)"
        )
        for name in ("stop_at_distance", "stop_at_effective_sample_size"):
            value = getattr(self, name)
            valid = value is None or (_is_finite(value) and 0 < value <= 1)
            require_field(valid, self, name, "None or a number in (0, 1]")
        norm = self.max_gradient_norm
        valid = norm is None or (_is_finite(norm) and norm > 0)
        require_field(valid, self, "max_gradient_norm", "None or a positive number")
        is_bool = isinstance(self.learn_backward_policy, bool)
        require_field(is_bool, self, "learn_backward_policy", "True or False")
        known = self.log_z_init is None or _is_finite(self.log_z_init)
        require_field(known, self, "log_z_init", "None or a finite number")
        betas_ok = len(self.adam_betas) == 2 and all(
            _is_finite(b) and 0 <= b < 1 for b in self.adam_betas
        )
        require_field(betas_ok, self, "adam_betas", "two numbers in [0, 1)")
        known = self.initialization in INITIALIZATIONS
        require_field(known, self, "initialization", f"one of {INITIALIZATIONS}")
        widths_ok = all(_is_integer(width) and width >= 1 for width in self.hidden)
        require_field(widths_ok, self, "hidden", "a tuple of positive ints")
        require_field(self.policy in POLICIES, self, "policy", f"one of {POLICIES}")
        one_width = self.policy != "gru" or len(self.hidden) == 1
        require_field(one_width, self, "hidden", "one width for policy='gru'")
        known = self.dtype in ("float32", "float64")
        require_field(known, self, "dtype", "'float32' or 'float64'")
        n_replayed = round(self.replay_fraction * self.batch_size)
        shares = self.replay_fraction == 0 or 1 <= n_replayed < self.batch_size
        require_field(
            shares,
            self,
            "replay_fraction",
            "0 or leave new and old trajectories a part",
        )
        self._keep_plain_numbers()

    def _keep_plain_numbers(self) -> None:
        """Keep numbers of other libraries as Python's own, which JSON can hold."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, tuple):
                value = tuple(_plain(item) for item in value)
            object.__setattr__(self, field.name, _plain(value))


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return math.isfinite(value)


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


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
