"""The contracts of the experiments: what a task is, and what a run of it found.

A task turns a preset into a study, a run turns the study into policies, analyses and
results. Who reads results imports this file alone, which imports no other experiment.
"""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import numpy as np
from sklearn.pipeline import Pipeline

from gflownet_envs.block_store import Store
from gflownet_envs.environments.base import Environment, require_environment
from gflownet_envs.exact.solve import ExactSolution
from gflownet_envs.exact.trajectories import PolicySource, Trajectory, WholeSpace
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.rewards.source import RewardSource
from gflownet_envs.training.certificate import DistanceBound
from gflownet_envs.training.ensemble import MAX_DISTANCE, TrainedEnsemble
from gflownet_envs.training.spec import PAPER_TRAINING, TrainingSpec
from skpce import CompositionalPCESurrogate
from skpce._result import ResultRow
from skpce.drivers import Answer
from skpce.inspection import Result

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
        stand beside it. It is settled here: a degree chosen by its Q² would
        flatter it.
    solver : str
        Of the surrogate.
    proxy : object or None
        Settings of tasks whose reward is trained, in the task's own terms.
    n_control : int
        GFlowNets trained on the mean reward, unless a run says otherwise. For tasks
        without exact policies it is what shows the training noise.
    variant : str
        Which of several rewards, in the task's own terms.
    n_part_draws : int
        Pairs of recombined members behind the effects of named parts; see
        `skpce.inspection.part_effects`.
    n_reward_features : int or None
        How many of the reward features, drawn at random, the principal components are
        found in; None for all. Of tasks whose features are values at objects.
    """

    n_train: int
    n_test: int
    training: TrainingSpec
    n_components: int | None
    degrees: tuple[int, ...]
    solver: str = "ridge"
    proxy: Any = None
    n_control: int = 0
    variant: str = ""
    n_part_draws: int = 256
    n_reward_features: int | None = None


@cache
def record_of(task: str) -> dict[str, Any]:
    """Return what ``tasks.toml`` says of a task of the paper, or of the readings."""
    text = Path(__file__).with_name("tasks.toml").read_text(encoding="utf-8")
    record: dict[str, Any] = tomllib.loads(text)[task]
    return record


def words_of(task: str) -> tuple[str, str]:
    """Return the title of a task of the paper, and what it is about."""
    return record_of(task)["title"], record_of(task)["summary"]


def presets_of(
    task: str, proxy: Any = None, papers_proxy: Any = None
) -> dict[str, Preset]:
    """Return the presets of a task of the paper.

    Parameters
    ----------
    task : str
    proxy, papers_proxy : object, optional
        `Preset.proxy` from which presets start, and that of the preset ``paper`` where
        that is another.
    """
    plain = Preset(0, 0, TrainingSpec(), None, (), proxy=proxy)
    paper = replace(
        plain,
        training=PAPER_TRAINING,
        degrees=(5, 1),
        solver="paper",
        proxy=papers_proxy or proxy,
    )
    return {
        name: changed(paper if name == "paper" else plain, changes)
        for name, changes in record_of(task)["presets"].items()
    }


def changed(record: Any, changes: Mapping[str, Any]) -> Any:
    """Return a record with other fields, and fields of the records that it holds."""
    fields = {
        name: changed(getattr(record, name), value)
        if isinstance(value, dict)
        else tuple(value)
        if isinstance(value, list)
        else value
        for name, value in changes.items()
    }
    return replace(record, **fields)


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

    @classmethod
    def of_rows(
        cls, caption: str, rows: Sequence[Mapping[str, Any]], missing: str = ""
    ) -> Table:
        """Make a table of rows by the names of columns."""
        columns = tuple(dict.fromkeys(name for row in rows for name in row))
        cells = [[row.get(name, missing) for name in columns] for row in rows]
        return cls(caption, columns, tuple(map(tuple, cells)))


def facts(caption: str, rows: Mapping[str, Any]) -> Table:
    """Return a table of values by what they are."""
    return Table(caption, ("what", "value"), tuple(rows.items()))


@dataclass(frozen=True)
class PartEntries:
    """What a part is made of and a reader can point at: reactions, edges, fragments.

    Attributes
    ----------
    noun : str
        What an entry is, in the plural.
    names : tuple of str
    labels : ndarray of int
        Of the shape of one member's part: the number of the entry that each element
        belongs to, and −1 for elements of none.
    """

    noun: str
    names: tuple[str, ...]
    labels: np.ndarray


@dataclass(frozen=True)
class NamedParts:
    """One way to split the rewards into parts with names that a reader knows.

    Attributes
    ----------
    title : str
        What is split, and how.
    parts : mapping of str to ndarray of shape (n_members, ...)
        What each part is for each member, in the order of the members of the study;
        the last members may be left out.
    reward : callable
        Maps parts of several members, which need not belong to one, to their rewards.
    phrases : mapping of str to str
        What stands for a part in a sentence; its name where it has none.
    entries : mapping of str to PartEntries
        What a part is made of, where that can be pointed at.
    n_verified : int
        Leading entries of each choice that are verified by solving again; 0 for none.
    n_verifying : int or None
        Members that are solved again for it; None for all.
    batch_size : int
        Rewards that are solved at once.
    freezes : bool
        Whether each part is also frozen at its mean, and varied alone: two solutions
        for each member and part.
    """

    title: str
    parts: Mapping[str, np.ndarray]
    reward: Callable[[Mapping[str, np.ndarray]], RewardSource]
    phrases: Mapping[str, str] = field(default_factory=dict)
    entries: Mapping[str, PartEntries] = field(default_factory=dict)
    n_verified: int = 10
    n_verifying: int | None = None
    batch_size: int = 256
    freezes: bool = True


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
    exact_solver : callable or None
        Solves rewards exactly in spaces too large for `~gflownet_envs.solve_exact`.
    named_parts : tuple of NamedParts
        Ways to split the rewards into named parts; the first is the one that the
        report leads with.
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
    exact_solver: Callable[[Any], PolicySource] | None = None
    named_parts: tuple[NamedParts, ...] = ()

    def __post_init__(self) -> None:
        require_environment(self.environment)
        for name, kind, made in (
            ("reward", RewardSource, "RewardTable(environment, log_reward)"),
            ("trajectory", Trajectory, "trajectory_of_actions(environment, actions)"),
        ):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise ValueError(
                    f"{name} of a study must be a {kind.__name__}, such as {made}; "
                    f"got {type(value).__name__}."
                )
        object.__setattr__(self, "reward_features", np.asarray(self.reward_features))
        lengths = {
            "reward": self.reward.n_members,
            "reward_features": len(self.reward_features),
            "members": len(self.members),
        }
        if len(set(lengths.values())) > 1:
            raise ValueError(f"A study has {lengths} members; expected one number.")


@dataclass(frozen=True)
class Policies:
    """The policies of a study along its trajectory."""

    cpu_seconds: dict[str, float]
    exact: PolicyDataset | None = None  # of all members; None where they are not known
    solution: ExactSolution | None = None
    # of the members that were trained; None when they are only solved
    trained: PolicyDataset | None = None
    ensemble: TrainedEnsemble | None = None
    # shape: (n_trained,), ½ Σ |P_T − R/Z| over the objects, per trained member
    distance: np.ndarray | None = None
    # shape: (n_control, ΣK), policies of members that were all trained on the mean
    # reward: they differ by training noise alone
    control: np.ndarray | None = None
    # of the trained members, where their distance is not known
    bound: DistanceBound | None = None

    @property
    def mean_and_worst_distance(self) -> dict[str, float] | None:
        """The distance of trained from exact policies; None where it is not known."""
        if self.distance is None:
            return None
        return {
            "mean": float(self.distance.mean()),
            "worst": float(self.distance.max()),
        }

    @property
    def not_converged(self) -> list[int]:
        """Numbers of the trained members that are far from their target."""
        if self.ensemble is None:
            return []
        if self.distance is None:
            return self._numbers_of(~self.ensemble.diagnostics.converged)
        return self._numbers_of(self.distance > MAX_DISTANCE)

    @property
    def not_certified(self) -> list[int]:
        """Numbers of the trained members that no bound shows to be near their target.

        Some of them may be: a bound is larger than the distance.
        """
        if self.bound is None:
            return []
        return self._numbers_of(self.bound.bound > MAX_DISTANCE)

    def _numbers_of(self, chosen: np.ndarray) -> list[int]:
        assert self.ensemble is not None
        return [self.ensemble.members[row] for row in np.flatnonzero(chosen)]


@dataclass(frozen=True)
class NoiseAgainstExact:
    """Trained against exact policies of the same members, per step.

    Log-ratios weigh every action alike, however rare: a policy that is close in total
    variation can be far in its log-ratios. NaN for a step without choice.
    """

    # shape: (n_steps,), variance of the difference of the centred log-ratios over the
    # variance of the trained ones. It exceeds one where trained policies vary less
    # between members than they miss the exact ones by: no share then, and all the more
    # noise
    log_ratio_share: np.ndarray
    probability_share: np.ndarray  # shape: (n_steps,), the same for the probabilities
    # shape: (n_steps,), squared mean difference of the centred log-ratios over the same
    # variance; not noise, and no part of the share
    log_ratio_bias: np.ndarray
    total_variation: np.ndarray  # shape: (n_steps,), mean total variation distance


@dataclass(frozen=True)
class TrainingNoise:
    """Training noise from up to three sources; None where a source is missing.

    Attributes
    ----------
    exact : NoiseAgainstExact or None
        From the exact policies of the same members.
    replicates : ResultRow or None
        Of the log-ratios, from the replicates alone.
    control : ResultRow or None
        The same from members that were all trained on one reward.
    """

    exact: NoiseAgainstExact | None = None
    replicates: ResultRow | None = None
    control: ResultRow | None = None

    @property
    def log_ratio_share(self) -> np.ndarray | None:  # shape: (n_steps,)
        """The share of the log-ratios' variance from the best source there is.

        Exact policies, then replicates, then the control: what the verdict uses.
        """
        if self.exact is not None:
            return self.exact.log_ratio_share
        split = self.replicates if self.replicates is not None else self.control
        return None if split is None else split.noise_share


#: Nominal levels of the intervals.
LEVELS = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class Calibration:
    """How one kind of interval does on held-out members, per step.

    Attributes
    ----------
    coverage, joint_coverage, width : ndarray of shape (n_levels, n_steps)
        At ``LEVELS``; NaN for steps without choice.
    crps : ndarray of shape (n_steps,)
    """

    coverage: np.ndarray
    joint_coverage: np.ndarray
    width: np.ndarray
    crps: np.ndarray


@dataclass(frozen=True)
class Analysis:
    """One surrogate of one data set.

    Attributes
    ----------
    degree : int
    pipeline : Pipeline
        Fitted on the training members.
    input_features : tuple of str or None
        Names of the inputs, where they are the reward features themselves.
    verdict : Answer
        Which input drives which step, of the training members.
    held_out_q2 : ndarray of shape (n_steps,)
        Aitchison Q² on the test members; NaN without choice.
    expansion_alr_sum : ndarray of shape (n_steps,)
        The paper's D: sum over the additive log-ratios (to the last possible action)
        of the variance of the *expansion*, Σ c² without the constant.
    calibration : dict of str to Calibration
        On the test members.
    fit_cpu_seconds, verdict_cpu_seconds : float
    """

    degree: int
    pipeline: Pipeline
    input_features: tuple[str, ...] | None
    verdict: Answer
    held_out_q2: np.ndarray
    expansion_alr_sum: np.ndarray
    calibration: dict[str, Calibration]
    fit_cpu_seconds: float
    verdict_cpu_seconds: float

    @property
    def surrogate(self) -> CompositionalPCESurrogate:
        """The last step of the pipeline."""
        return self.pipeline[-1]

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs of the surrogate."""
        if self.input_features is not None:
            return self.input_features
        return tuple(self.pipeline[:-1].get_feature_names_out())


@dataclass(frozen=True)
class SourceResults:
    """What was found on one data set: exact or trained policies."""

    dataset: PolicyDataset
    # one per degree of the preset; the first is reported
    analyses: tuple[Analysis, ...]
    fragility: Result  # of the training members
    excess: Result  # of them, beside members with equal noise
    # of the step indices of the main analysis, by the method: "bootstrap", "residual"
    intervals: dict[str, Any]
    # shape: (n_steps,), see `analysis.level_shares`, with the main analysis
    level_shares: dict[str, dict[str, np.ndarray]]

    @property
    def main(self) -> Analysis:
        """The analysis of the degree that the preset reports."""
        return self.analyses[0]


@dataclass(frozen=True)
class PartFindings:
    """Which named part of the reward explains which choice.

    Attributes
    ----------
    named : NamedParts
    effects : Result
        Of `skpce.inspection.part_effects`: one row per step and part.
    noise_share : ndarray of shape (n_steps,) or None
        Share of training noise in the variance of the trained policies, against exact
        ones; 1 where it exceeds that variance. None where nothing was trained.
    noise_error : ndarray of shape (n_steps,) or None
        Standard error of ``noise_share``.
    entries : Result or None
        Of `skpce.inspection.part_entries`: what matters most in the leading part of
        each step; None where that has no entries.
    """

    named: NamedParts
    effects: Result
    noise_share: np.ndarray | None
    noise_error: np.ndarray | None
    entries: Result | None


@dataclass(frozen=True, eq=False)
class Reasons:
    """The leading part of each state, and its share of the variance there."""

    parts: list[str]  # empty where there is none
    shares: np.ndarray  # shape: (n_states,)
    settled: np.ndarray  # shape: (n_states,), bool


@dataclass(frozen=True)
class RunResults:
    """Everything that a run found.

    Attributes
    ----------
    task : Task
    preset_name : str
    preset : Preset
    seed : int
    n_replicates, n_control : int
        GFlowNets trained on each reward, and on the mean reward.
    study : Study
    policies : Policies
    noise : TrainingNoise or None
        Of the training members.
    sources : dict of str to SourceResults
        ``"trained"`` (when the members were trained) and ``"exact"`` (when the space
        can be enumerated).
    parts : tuple of PartFindings
        One for each way to split the rewards into named parts.
    space : tuple of WholeSpace and Reasons, or None
        Where the members go by exact policies, where they disagree, and why.
    beside_the_paper : tuple of dict of str to str
        What the paper claims, its figure, and ours of the first draw of the members by
        the kind of policies. Empty for presets with other settings, whose figures
        neither confirm nor refute the paper's.
    cpu_seconds : dict of str to float
        Proxies, training, exact solution, surrogate, verdict, and
        what else preparing the study ("rest of the study"), the findings of the task
        ("findings") and calibration, fragility and shares ("calibration") took. Not
        the writing of the files.
    wall_seconds : float
    peak_memory : int
        Largest resident size of this process so far, in bytes.
    """

    task: Task
    preset_name: str
    preset: Preset
    seed: int
    n_replicates: int
    n_control: int
    study: Study
    policies: Policies
    noise: TrainingNoise | None
    sources: dict[str, SourceResults]
    parts: tuple[PartFindings, ...]
    space: tuple[WholeSpace, Reasons] | None
    beside_the_paper: tuple[dict[str, str], ...]
    cpu_seconds: dict[str, float]
    wall_seconds: float
    peak_memory: int

    @property
    def headline(self) -> SourceResults:
        """Trained policies where there are some: they are what one would use."""
        return next(iter(self.sources.values()))


class RunSettings(TypedDict):
    """What a task is prepared with beside its preset; see `Task.prepare`."""

    seed: int
    store: Store | None
    progress: Progress
    options: Mapping[str, Any]


class Task(ABC):
    """A system whose ensemble a run makes, analyses and reports.

    Those in ``TASKS`` are the tasks of the paper. Any other one is run by its path
    ``module:Class``.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    presets: ClassVar[Mapping[str, Preset]]

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw what the task is about on matplotlib axes: panel a of its figure.

        Here: the steps of the reference trajectory, one a line.

        Parameters
        ----------
        results : RunResults
        ax : matplotlib.axes.Axes
        """
        lines = trajectory_in_lines(results.headline.dataset)
        ax.text(0.02, 0.98, lines, va="top", transform=ax.transAxes)
        ax.set_axis_off()

    def extra_figures(self, results: RunResults) -> dict[str, tuple[Any, str]]:
        """Return figures beside those of every task, as ``make_figures`` does.

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
            Finished blocks of proxies are stored there.
        progress : callable
            Called as ``progress(stage, done, total)``.
        options : mapping
            ``data_home`` for tasks with data.
        """


def mean_and_ends(what: str, values: np.ndarray) -> dict[str, Any]:
    """Return a row of a table: mean, smallest and largest value."""
    ends = {"smallest": float(np.min(values)), "largest": float(np.max(values))}
    return {"what": what, "mean": float(np.mean(values))} | ends


def trajectory_in_lines(dataset: PolicyDataset) -> str:
    """Return the steps of the reference trajectory with their actions, one a line."""
    steps = zip(dataset.step_names, dataset.trajectory, strict=True)
    return "\n".join(f"{step}: {action}" for step, action in steps)


#: Of a trajectory in a table of facts.
GREEDY = "reference trajectory (greedy under the mean reward)"


def walk_in_words(
    environment: Environment, trajectory: Trajectory, between: str = " → "
) -> str:
    """Name the actions of a trajectory."""
    return between.join(environment.action_names[a] for a in trajectory.actions)


def silent(stage: str, done: int, total: int) -> None:
    """Show no progress."""


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
