"""What a task is: an environment, rewards that are uncertain, and presets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gflownet_envs.blocks import Store
from gflownet_envs.environments.base import Environment
from gflownet_envs.experiments.paper import PaperClaim
from gflownet_envs.rewards.source import RewardSource
from gflownet_envs.training_spec import TrainingSpec
from gflownet_envs.trajectories import PolicySource, Trajectory

if TYPE_CHECKING:
    from gflownet_envs.experiments.policies import Policies
    from gflownet_envs.experiments.run import RunResults

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Preset:
    """Sizes and settings of one run of a task.

    Attributes
    ----------
    n_train, n_test : int
        Members on which the surrogate is fitted, and held-out members.
    training : TrainingSpec
        Of the GFlowNets.
    n_components : int or None
        Principal components of the reward features that become inputs. None where the
        reward is a formula of independent standard normal numbers: they are the
        inputs as they are.
    degrees : tuple of int
        Degrees of the surrogates; the first is the one that is reported, the others
        stand beside it. It is settled here: a degree chosen by its verdict would
        flatter the verdict.
    solver : str
        Of the surrogate.
    n_permutations : int
        Behind the p-values of the verdict.
    proxy : object or None
        Settings of tasks whose reward is trained, in the task's own terms.
    n_control : int
        GFlowNets trained on the mean reward, unless a run says otherwise. For tasks
        without exact policies it is what tells the training noise.
    variant : str
        Which of several rewards, in the task's own terms.
    """

    n_train: int
    n_test: int
    training: TrainingSpec
    n_components: int | None
    degrees: tuple[int, ...]
    solver: str = "ridge"
    n_permutations: int = 999
    proxy: Any = None
    n_control: int = 0
    variant: str = ""


@dataclass(frozen=True)
class Table:
    """A small table of facts for the report.

    Attributes
    ----------
    caption : str
    columns : tuple of str
    rows : tuple of tuple
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Study:
    """A task made concrete: the rewards of all members are known.

    The first ``n_train`` members fit the surrogate, the next ``n_test`` are held out
    and trained too; any further ones are held out and only solved exactly.

    Attributes
    ----------
    environment : Environment
    reward : RewardSource
        Of all members.
    reward_features : ndarray of shape (n_members, n_features)
        What differs between the rewards: the X of the data set.
    feature_names : tuple of str
    n_train, n_test : int
    members : ndarray of shape (n_members,), int
        Numbers of the members, which name their random streams.
    trajectory : Trajectory
        Where the policies are read.
    levels : mapping of str to mapping of str to ndarray of int
        Original coordinates: per component of the object, the reward features of
        each of its levels. Empty where the features are the inputs themselves.
    feature_unit : str
        Of the reward features.
    tables : tuple of Table
        Facts found on the way, such as the held-out R² of the proxies.
    cpu_seconds : dict
        CPU time of the stages so far.
    exact_policies : PolicySource or None
        Exact policies of all members in spaces too large for `solve_exact`.
    """

    environment: Environment
    reward: RewardSource
    reward_features: np.ndarray
    feature_names: tuple[str, ...]
    n_train: int
    n_test: int
    members: np.ndarray
    trajectory: Trajectory
    levels: Mapping[str, Mapping[str, np.ndarray]]
    feature_unit: str
    tables: tuple[Table, ...] = ()
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    exact_policies: PolicySource | None = None


class Task(ABC):
    """One system of the paper.

    A new task is a new file with a subclass and one row in the registry.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    paper_claims: ClassVar[tuple[PaperClaim, ...]] = ()
    presets: ClassVar[Mapping[str, Preset]]

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw what the task is about on matplotlib axes: panel a of its figure.

        Here: the steps of the reference trajectory, one a line.

        Parameters
        ----------
        results : RunResults
        ax : matplotlib.axes.Axes
        """
        dataset = results.headline.dataset
        lines = [
            f"{step}: {action}"
            for step, action in zip(dataset.step_names, dataset.trajectory, strict=True)
        ]
        ax.text(0.02, 0.98, "\n".join(lines), va="top", transform=ax.transAxes)
        ax.set_axis_off()

    def claims(self, preset: Preset) -> tuple[PaperClaim, ...]:
        """Return the paper's claims that a preset can speak about. Here: all."""
        return self.paper_claims

    def extra_figures(self, results: RunResults) -> dict[str, tuple[Any, str]]:
        """Return figures beside those of every task, as `make_figures` does.

        Here: none.
        """
        return {}

    def findings(self, study: Study, policies: Policies) -> tuple[Table, ...]:
        """Return tables about the policies, beside those of every task. Here: none.

        Parameters
        ----------
        study : Study
        policies : Policies
        """
        return ()

    @abstractmethod
    def prepare(
        self,
        preset: Preset,
        *,
        seed: int,
        store: Store | None,
        progress: Progress,
        options: Mapping[str, Any],
    ) -> Study:
        """Draw or train the rewards of all members and choose the trajectory.

        Parameters
        ----------
        preset : Preset
        seed : int
        store : Store or None
            Finished blocks of proxies are kept there.
        progress : callable
            Called as ``progress(stage, done, total)``.
        options : mapping
            ``data_home`` for tasks with data.
        """


def stage(progress: Progress, name: str) -> Callable[[int, int], None]:
    """Bind the name of a stage to a progress callback."""
    return lambda done, total: progress(name, done, total)


def part_names(environment: Environment, actions: Sequence[str]) -> tuple[str, ...]:
    """Drop the ``component: `` prefix of actions; the step says it already."""
    prefixes = tuple(f"{step}: " for step in environment.step_names)
    return tuple(
        next((a.removeprefix(p) for p in prefixes if a.startswith(p)), a)
        for a in actions
    )
