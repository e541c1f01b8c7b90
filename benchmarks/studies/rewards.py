"""Ensembles of rewards of three tasks: what is chosen, and what differs.

An action is one of the thirty objects (reactions, cells, molecules) with the largest
mean reward of the training members; its utility is the member's prediction. Inputs are
principal components of all predictions, or of the named parts of the rewards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.measuring import study_of
from gflownet_envs.datasets import fetch_buchwald_hartwig
from gflownet_envs.experiments.task import Preset
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.experiments.tasks.buchwald_hartwig import TEMPERATURE
from gflownet_envs.experiments.tasks.molecules import MoleculeSettings
from gflownet_envs.rewards.proxies import PAPER_PROXY

#: Ensembles of the studies: the task, its preset, the unit of the utilities, and what
#: it is of log R. The networks of "paper" are trained as in the paper, and underfit.
ENSEMBLES = {
    "reactions": ("buchwald-hartwig", "default", "percent", TEMPERATURE),
    "reactions, paper": ("buchwald-hartwig", "paper", "percent", TEMPERATURE),
    "grid": ("grid", "default", "log R", 1.0),
    "molecules": ("molecules", "default", "log R", 1.0),
}
N_ACTIONS = 30
#: Of the real molecules, which are the products of three of them: 4096.
N_FRAGMENTS = 16


@dataclass(frozen=True)
class RewardEnsemble:
    """Predictions of all members; the first ``n_train`` are those to fit to.

    Attributes
    ----------
    predictions : ndarray of shape (n_members, n_objects)
        In the unit that is decided in.
    n_train : int
    unit : str
    parts : mapping of str to ndarray of shape (n_members, ...)
        Named parts of the rewards.
    """

    predictions: np.ndarray
    n_train: int
    unit: str
    parts: Mapping[str, np.ndarray] = field(default_factory=dict)

    def actions(self, n_actions: int = N_ACTIONS) -> np.ndarray:  # shape: (n_actions,)
        """Return the objects with the largest mean over training members."""
        mean = self.predictions[: self.n_train].mean(axis=0)
        return np.sort(np.argsort(-mean, kind="stable")[:n_actions])

    def utilities(self, n_actions: int = N_ACTIONS) -> np.ndarray:
        """Return the utilities of the actions, (n_members, n_actions)."""
        return self.predictions[:, self.actions(n_actions)].astype(np.float64)

    def components(self, n_components: int) -> np.ndarray:
        """Return standardised components of all predictions, learned on training."""
        return components_of(self.predictions, self.n_train, n_components)

    def part_components(
        self, n_components: int
    ) -> tuple[np.ndarray, dict[str, list[int]]]:
        """Return the leading components of each part, and which are whose."""
        columns: list[np.ndarray] = []
        groups: dict[str, list[int]] = {}
        for name, part in self.parts.items():
            values = np.reshape(part, (len(part), -1))
            varies = np.ptp(values[: self.n_train], axis=0) > 0
            found = components_of(values[:, varies], self.n_train, n_components)
            start = sum(map(len, groups.values()))
            groups[name] = list(range(start, start + found.shape[1]))
            columns.append(found)
        return np.hstack(columns), groups


def components_of(
    values: np.ndarray,  # shape: (n_members, n_columns)
    n_train: int,
    n_components: int,
) -> np.ndarray:  # shape: (n_members, n_components or fewer)
    """Learn a whitened PCA on the first members, and apply it to all.

    Components without a thousandth of the variance are left out.
    """
    train = np.asarray(values[:n_train], dtype=np.float64)
    n_most = min(n_components, *train.shape)
    pca = PCA(n_most, whiten=True, svd_solver="full").fit(train)
    kept = pca.explained_variance_ratio_ > 1e-3
    return pca.transform(np.asarray(values, dtype=np.float64))[:, kept]


def reward_ensemble(name: str, blocks: Path | None = None) -> RewardEnsemble:
    """Train or solve what a task needs, and return what its members predict."""
    task_name, preset, unit, scale = ENSEMBLES[name]
    task = TASKS[task_name]
    study = study_of(task_name, smaller(task.presets[preset]), blocks)
    named = study.named_parts[0].parts if study.named_parts else {}
    n_members = study.n_train + study.n_test
    predictions = scale * study.reward.log_reward[:n_members].numpy()
    parts = {part: values[:n_members] for part, values in named.items()}
    return RewardEnsemble(predictions, study.n_train, unit, parts)


def smaller(preset: Preset) -> Preset:
    """Train the paper's networks a hundred times, and assemble fewer molecules."""
    if preset.proxy == PAPER_PROXY:
        return replace(preset, n_test=50)
    if isinstance(preset.proxy, MoleculeSettings) and not preset.proxy.n_fragments:
        return replace(preset, proxy=replace(preset.proxy, n_fragments=N_FRAGMENTS))
    return preset


def measured_yields(n_objects: int) -> np.ndarray:  # shape: (n_objects,)
    """Return measured yields in the order of the reward table; NaN without one."""
    data = fetch_buchwald_hartwig()
    yields = np.full(n_objects, np.nan)
    sizes = tuple(len(levels) for levels in data.levels.values())
    yields[np.ravel_multi_index(data.data.T, sizes)] = data.target
    return yields
