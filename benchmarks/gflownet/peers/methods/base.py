"""What a worker reads, and what every implementation answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """How to train; the same words for every implementation.

    The learning rates fall along a half cosine to ``final_fraction`` of their start.
    Log Z starts at the estimate of the first batch. Nothing explores.
    ``our_defaults`` takes everything but the number of iterations from
    `gflownet_envs.TrainingSpec`, and is for us alone.
    """

    objective: str = "trajectory_balance"
    n_iterations: int = 3000
    batch_size: int = 32
    learning_rate: float = 1e-3
    final_fraction: float = 1.0
    log_z_learning_rate: float = 0.1
    hidden: int = 64
    our_defaults: bool = False

    def rate_factor(self, share_done: float) -> float:
        """Return the factor of the learning rates after a share of the iterations."""
        wave = 0.5 * (1 + np.cos(np.pi * share_done))
        return self.final_fraction + (1 - self.final_fraction) * wave


@dataclass(frozen=True)
class Task:
    """A shape as arrays: N states, A actions, X objects, E members.

    ``children[s, a]`` is a state below N, or N plus an object, or −1. ``side`` is the
    length of the side of a hypergrid, and 0 for a tree.
    """

    log_reward: FloatArray
    states: NDArray[np.int64]
    encodings: NDArray[np.float32]
    mask: NDArray[np.bool_]
    children: NDArray[np.int64]
    max_steps: int
    side: int

    @classmethod
    def read(cls, path: Path) -> Task:
        """Read what `benchmarks.gflownet.peers.shapes` wrote."""
        with np.load(path) as found:
            arrays = dict(found)
        for name in ("max_steps", "side"):
            arrays[name] = int(arrays[name])
        return cls(**arrays)

    @property
    def n_states(self) -> int:
        """Number of states that are not terminal."""
        return len(self.mask)


@dataclass(frozen=True)
class Answer:
    """What training took and gave.

    ``cpu_seconds`` is the CPU time of training over the number of members, without
    imports, warming up and compilation; ``compile_seconds`` is the latter.
    ``log_policy`` has the shape (E, N, A) and the order of the task.
    """

    cpu_seconds: float
    log_policy: FloatArray
    compile_seconds: float = 0.0


def log_softmax(logits: FloatArray, mask: NDArray[np.bool_]) -> FloatArray:
    """Return log-probabilities over the allowed actions, −inf elsewhere."""
    logits = np.where(mask, np.asarray(logits, dtype=np.float64), -np.inf)
    logits -= logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
