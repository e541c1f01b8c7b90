"""The contracts of the experiments: what a task is, and what a run of it found.

With the ways in which several tasks split their rewards into parts with names.

A task turns a preset into a study, a run turns the study into policies, analyses and
results. Who reads results imports this file alone, which imports no other experiment.
"""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import numpy as np
from sklearn.pipeline import Pipeline

from gflownet_envs.environments.base import Environment, require_environment
from gflownet_envs.environments.sequences import (
    SequentialSelectionEnvironment,
    TokenSequenceEnvironment,
)
from gflownet_envs.exact.solve import (
    ExactSolution,
    PolicySource,
    Trajectory,
    WholeSpace,
)
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.rewards.source import RewardSource, RewardTable
from gflownet_envs.storage import Store
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
        if self.n_train + self.n_test > len(self.members):
            raise ValueError(
                f"A study with n_train={self.n_train} and n_test={self.n_test} has "
                f"{len(self.members)} members; expected as many as these, or more."
            )


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

    @property
    def path(self) -> str:
        """What ``gflownet-envs run`` finds the task by: its name, or a path."""
        kind = type(self)
        if kind.__module__.startswith("gflownet_envs."):
            return self.name
        return f"{kind.__module__}:{kind.__qualname__}"

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


REST = "the rest"
# Parts of sequences that are no positions.
LENGTH, OTHER_PAIRS, KINDS = "length", "other pairs", "equations"


def columns_of_levels(
    rows: np.ndarray,  # shape: (n, n_factors), int
    factors: Mapping[str, Sequence[str]],
) -> dict[str, dict[str, np.ndarray]]:
    """Return, per factor and level, the numbers of the rows that have it."""
    return {
        factor: {
            level: np.flatnonzero(column == number)
            for number, level in enumerate(levels)
        }
        for (factor, levels), column in zip(factors.items(), rows.T, strict=True)
    }


def phrases_of_factors(factors: Iterable[str], *, one: str, two: str) -> dict[str, str]:
    """Put factors and pairs of them into words, from templates with ``{}``."""
    names = [name.replace("_", " ") for name in factors]
    pairs = {f"{a} × {b}": two.format(a, b) for a, b in combinations(names, 2)}
    return {name: one.format(name) for name in names} | pairs


def grouped_parts(
    environment: Environment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    groups: Mapping[str, Sequence[np.ndarray]],
    *,
    title: str,
    phrases: Mapping[str, str],
    entries: Mapping[str, PartEntries],
    rest: str | None = REST,
    **settings: Any,
) -> NamedParts:
    """Split log R by means over groups of objects, one part after another, and a rest.

    ``groups`` has one array or more for each part: the group of each object, counted
    from 0, and −1 for none. The part has the means over these groups of what the parts
    before leave of log R. Where the objects are all combinations of some levels this
    is functional analysis of variance. The mean over all objects is left out: it
    changes no policy. ``rest=None`` says that the parts leave nothing.
    """
    sizes = {
        name: [np.bincount(labels + 1)[1:] for labels in labelled]
        for name, labelled in groups.items()
    }
    parts = {
        name: np.empty((len(log_reward), sum(map(len, own))))
        for name, own in sizes.items()
    }
    if rest is not None:
        parts[rest] = np.empty_like(log_reward)
    for row, own in enumerate(log_reward):
        left = own - own.mean(dtype=np.float64)
        for name, labelled in groups.items():
            means = []
            for labels, size in zip(labelled, sizes[name], strict=True):
                means.append(np.bincount(labels + 1, left)[1:] / size)
                left -= np.append(means[-1], 0.0)[labels]  # 0 where the label is −1
            parts[name][row] = np.concatenate(means)
        if rest is not None:
            parts[rest][row] = left

    def reward(chosen: Mapping[str, np.ndarray]) -> RewardSource:
        n_members = len(next(iter(chosen.values())))
        total = np.zeros((n_members, log_reward.shape[1]))
        if rest is not None:
            total += chosen[rest]
        for name, labelled in groups.items():
            start = 0
            for labels, size in zip(labelled, sizes[name], strict=True):
                means = chosen[name][:, start : start + len(size)]
                total += np.pad(means, ((0, 0), (0, 1))).take(labels, axis=1)
                start += len(size)
        return RewardTable(environment, total)

    return NamedParts(title, parts, reward, phrases, entries, **settings)


def factorial_parts(
    environment: Environment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    factors: Mapping[str, Sequence[str]],
    *,
    phrases: Mapping[str, str],
    order: int = 2,
    rest: str = REST,
) -> NamedParts:
    """Split log R by functional analysis of variance over the factors of the objects.

    The factors, with the names of their levels, are in the order in which the objects
    are numbered, the last running fastest; ``rest`` names what they do not have
    together.
    """
    names = [name.replace("_", " ") for name in factors]
    levels = list(factors.values())
    shape = tuple(map(len, levels))
    places = np.indices(shape).reshape(len(shape), -1)
    every = tuple(range(len(shape)))
    groups, entries = {}, {}
    for size in range(1, order + 1):
        for chosen in combinations(every, size):
            name = " × ".join(names[i] for i in chosen)
            sizes = tuple(shape[i] for i in chosen)
            groups[name] = [np.ravel_multi_index(tuple(places[[*chosen]]), sizes)]
            noun = "combinations of all levels" if chosen == every else name
            entries[name] = _combinations(noun, [levels[i] for i in chosen], " | ")
    has_rest = order < len(shape)
    if has_rest:
        entries[rest] = _combinations("combinations of all levels", levels, " | ")
    return grouped_parts(
        environment,
        log_reward,
        groups,
        title=f"log R by functional analysis of variance over {', '.join(names)}",
        phrases=phrases,
        entries=entries,
        rest=rest if has_rest else None,
    )


def _combinations(
    noun: str, levels: Sequence[Sequence[str]], between: str, n_times: int = 1
) -> PartEntries:
    """Name all combinations of levels, of numbers that a part has so many times."""
    names = tuple(map(between.join, product(*levels)))
    return PartEntries(noun, names, np.tile(np.arange(len(names)), n_times))


def sequence_parts(
    environment: TokenSequenceEnvironment | SequentialSelectionEnvironment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    *,
    nouns: tuple[str, str],
    kinds: Mapping[str, np.ndarray] | None = None,
    **settings: Any,
) -> NamedParts:
    """Split log R by length, position and neighbouring positions.

    Functional analysis of variance of log R, of each length by itself. Its means, main
    effects and pairs are parts, each over all lengths: the main effect of a position
    says which token stands there. ``nouns`` are what a token is and what tokens are.
    ``kinds`` are sets of objects whose means of what is left are a part.
    """
    one_token, many = nouns
    names = environment.step_names
    # what may stand at a position, and the least length
    if isinstance(environment, TokenSequenceEnvironment):
        end = environment.end_token
        tokens = tuple(t for t in environment.action_names if t != end)
        shortest = environment.max_length if end is None else 0
    else:
        alphabets = {tuple(levels) for levels in environment.levels.values()}
        if len(alphabets) > 1:
            raise ValueError(
                "environment must have the same levels everywhere, got "
                f"{environment.name}"
            )
        tokens, shortest = alphabets.pop(), len(environment.levels)
    rows = [
        np.pad(
            np.indices((len(tokens),) * length).reshape(length, len(tokens) ** length),
            ((0, len(names) - length), (0, 0)),
        )
        for length in range(shortest, len(names) + 1)
    ]
    lengths = np.repeat(range(shortest, len(names) + 1), [own.shape[1] for own in rows])
    token = np.concatenate(rows, axis=1)  # (n_positions, n_objects)
    groups: dict[str, list[np.ndarray]] = {}
    phrases: dict[str, str] = {}
    entries: dict[str, PartEntries] = {}

    def add(part: str, phrase: str, *sets: tuple[int, ...]) -> None:
        """Group the objects by length and by their tokens at sets of positions."""
        groups[part], phrases[part] = [], phrase
        for positions in sets:
            first = max(shortest, *(t + 1 for t in positions), 0)
            label = lengths - first
            for t in positions:
                label = len(tokens) * label + token[t]
            label = np.where(lengths >= first, label, -1)
            groups[part].append(label.astype(np.int32))
        if positions and part != OTHER_PAIRS:
            noun = "tokens" if len(positions) == 1 else "pairs of tokens"
            n_lengths = len(names) + 1 - first
            levels = [tokens] * len(positions)
            entries[part] = _combinations(noun, levels, " ", n_lengths)

    if shortest < len(names):  # else it is one number, which changes no policy
        add(LENGTH, "how long the sequence is", ())
        every = [f"{length} tokens" for length in range(shortest, len(names) + 1)]
        entries[LENGTH] = _combinations("lengths", [every], "")
    for t, name in enumerate(names):
        add(name, f"which {one_token} stands at position {t + 1}", (t,))
    for t, pair in enumerate(pairwise(names)):
        phrase = f"which {many} stand at positions {t + 1} and {t + 2}"
        add(" × ".join(pair), phrase, (t, t + 1))
    pairs = combinations(range(len(names)), 2)
    apart = [(one, two) for one, two in pairs if two > one + 1]
    if apart:
        phrase = f"pairs of {many} that do not follow one another"
        add(OTHER_PAIRS, phrase, *apart)
    if kinds:
        groups[KINDS] = [np.full(len(lengths), -1)]
        for number, objects in enumerate(kinds.values()):
            groups[KINDS][0][objects] = number
        phrases[KINDS] = "whether the sequence is an equation, right or wrong"
        entries[KINDS] = _combinations("kinds", [list(kinds)], "")
    phrases[REST] = f"what more than two {many} make together"
    return grouped_parts(
        environment,
        log_reward,
        groups,
        title=f"log R by functional analysis of variance over the positions of {many}",
        phrases=phrases,
        entries=entries,
        **settings,
    )


def level_parts(
    environment: Environment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    factors: Mapping[str, Sequence[str]],
    factor: str,
) -> NamedParts:
    """Split log R by the levels of one factor: their mean, and how each differs."""
    axis = list(factors).index(factor) + 1
    table = np.reshape(log_reward, (-1, *map(len, factors.values())))
    mean = table.mean(axis=axis, keepdims=True)
    shown, levels = factor.replace("_", " "), tuple(factors[factor])
    common = f"all levels of {shown} alike"
    own = np.split(table - mean, len(levels), axis=axis)
    all_objects = tuple(range(1, table.ndim))
    parts = {common: mean - table.mean(axis=all_objects, keepdims=True)}
    parts |= dict(zip(levels, own, strict=True))

    def reward(chosen: Mapping[str, np.ndarray]) -> RewardSource:
        own = np.concatenate([chosen[level] for level in levels], axis=axis)
        total = own + chosen[common]
        return RewardTable(environment, total.reshape(len(total), -1))

    return NamedParts(
        f"log R by the levels of {shown}",
        parts,
        reward,
        {common: f"what all levels of {shown} have in common"},
    )


def feature_parts(
    environment: Environment,
    log_reward: np.ndarray,  # shape: (n_members, n_objects)
    features: np.ndarray,  # shape: (n_objects, n_features)
    names: Sequence[str],
    *,
    title: str,
    phrases: Mapping[str, str],
) -> NamedParts:
    """Split log R by known features of the objects, one after another, and the rest.

    Of each feature that counts which the features before it do not determine
    (Gram–Schmidt); its part is the slope of the member's log R over all objects, for
    one standard deviation. Features that those before determine are left out, as is
    the mean.
    """
    centred = features - features.mean(axis=0)
    scale = np.linalg.norm(centred, axis=0)
    basis, triangle = np.linalg.qr(centred / np.where(scale > 0, scale, 1.0))
    own = np.abs(np.diag(triangle)) > 1e-6
    directions = (basis * np.sign(np.diag(triangle)))[:, own].T
    directions = directions * np.sqrt(len(features))
    rest = log_reward - log_reward.mean(axis=1, keepdims=True)
    slopes = rest @ (directions.T / len(features)).astype(log_reward.dtype)
    known = tuple(name for name, is_own in zip(names, own, strict=True) if is_own)
    for row, slope in zip(rest, slopes, strict=True):
        row -= (slope @ directions).astype(row.dtype)

    def reward(parts: Mapping[str, np.ndarray]) -> RewardSource:
        chosen = np.stack([parts[name] for name in known], axis=1)
        return RewardTable(environment, chosen @ directions + parts[REST])

    parts = dict(zip(known, slopes.T, strict=True)) | {REST: rest}
    return NamedParts(title, parts, reward, phrases)
