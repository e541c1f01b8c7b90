"""From a study to policies, and what they say.

Policies are exact and trained; named parts of the rewards are exchanged and solved
again; a surrogate is fitted, judged and calibrated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import ks_2samp, norm
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from gflownet_envs.environments import GridEnvironment
from gflownet_envs.environments.base import StateGraph
from gflownet_envs.exact.dag import GraphFlows
from gflownet_envs.exact.solve import (
    PolicySource,
    WholeSpace,
    distance_to_exact,
    policies_along,
    policies_everywhere,
    solve_exact,
)
from gflownet_envs.experiments.task import (
    LEVELS,
    Analysis,
    Calibration,
    NamedParts,
    NoiseAgainstExact,
    PartFindings,
    Policies,
    Preset,
    Progress,
    Reasons,
    Study,
    TrainingNoise,
    part_names,
    stage,
)
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.rewards.source import RewardSource, mean_reward, reward_of_objects
from gflownet_envs.storage import Store
from gflownet_envs.training.ensemble import (
    MAX_DISTANCE,
    TrainedEnsemble,
    train_ensemble,
)
from gflownet_envs.training.spec import TrainingSpec
from skpce import CompositionalPCESurrogate, LogRatioTransformer
from skpce._result import ResultRow
from skpce.drivers import Caution
from skpce.inspection import (
    Result,
    back_to_reward,
    part_effects,
    part_entries,
    variance_decomposition,
    verdict,
)
from skpce.inspection._ensembles.training_noise import jackknife_error
from skpce.metrics import (
    coverage_interval,
    crps_score,
    excess_fragility,
    policy_fragility,
)

#: Kinds of predictive intervals of a held-out member.
INTERVALS: Mapping[str, Mapping[str, Any]] = {
    "given the inputs": {"residual": "resampled", "given_inputs": True},
    "ignoring the inputs": {"residual": "resampled", "given_inputs": False},
    "push-forward alone": {"residual": None, "given_inputs": False},
}
_N_DRAWS = 1000  # behind the CRPS
#: Fragility that has a reason; below it members agree up to rounding.
_LEAST_FRAGILITY = 1e-6

#: Edges of a space that is mapped in a run, at most.
_MOST_EDGES = 10_000


def possible_columns(dataset: PolicyDataset) -> list[np.ndarray]:
    """Return the columns of the actions that are possible at each step."""
    return [np.flatnonzero(dataset.mask[c]) + c.start for c in dataset.step_slices]


def steps_with_choice(dataset: PolicyDataset) -> list[int]:
    """Return the numbers of the steps with more than one possible action."""
    possible = possible_columns(dataset)
    return [step for step, columns in enumerate(possible) if len(columns) > 1]


def fragility(dataset: PolicyDataset) -> Result:
    """Measure the disagreement of the members of a data set.

    Every measure is NaN for a step without choice. The reference of the alr sum is
    the last possible action.
    """
    found = policy_fragility(dataset.y, steps=dataset.steps, mask=dataset.mask)
    has_choice = found.n_possible > 1
    measures = {
        name: np.where(has_choice, values, np.nan)
        for name, values in found.columns.items()
        if name not in ("n_possible", "alr_reference")
    }
    last = [columns[-1] for columns in possible_columns(dataset)]
    references = np.array([dataset.action_names[a] for a in last], dtype=object)
    columns = {**found.columns, **measures, "alr_reference": references}
    return replace(found, keys={"step": dataset.step_names}, columns=columns)


def fragility_beside_equal_noise(dataset: PolicyDataset, seed: int = 0) -> Result:
    """Compare the fragility of the steps with that of members with equal noise."""
    found = excess_fragility(
        dataset.y, steps=dataset.steps, mask=dataset.mask, random_state=seed
    )
    return replace(found, keys={"step": dataset.step_names})


def step_intervals(
    analysis: Analysis, seed: int, n_resamples: int = 200
) -> dict[str, Any]:
    """Return intervals of the step indices of a surrogate, by each method.

    200 resamples and 90 % are the paper's. The embedding stays that of the fit.
    """
    return {
        method: analysis.surrogate.sobol_interval(
            method=method, n_resamples=n_resamples, random_state=seed
        )
        for method in ("bootstrap", "residual")
    }


def has_replicates(dataset: PolicyDataset) -> bool:
    """Whether several members share a reward."""
    return len(np.unique(dataset.rewards)) < dataset.n_members


def training_noise(
    trained: PolicyDataset,
    exact: PolicyDataset | None,
    control: np.ndarray | None = None,  # shape: (n_control, ΣK)
) -> TrainingNoise:
    """Compare the trained members with the exact policies of their rewards.

    Without exact policies, only replicates and the control show the noise.

    Raises
    ------
    ValueError
        If a reward of the trained members was not solved.
    """
    return TrainingNoise(
        exact=None if exact is None else noise_against_exact(trained, exact),
        replicates=_split(trained, replicate=trained.rewards)
        if has_replicates(trained)
        else None,
        control=None if control is None else _split(trained, control=control),
    )


def training_cautions(
    policies: Policies, noise: TrainingNoise | None
) -> tuple[Caution, ...]:
    """Name the members that are far from their targets, and bound unknown noise."""
    ensemble, bound = policies.ensemble, policies.bound
    if ensemble is None or policies.trained is None:
        return ()
    far = policies.not_converged if bound is None else policies.not_certified
    figures = {
        "members": tuple(far),
        "n_members": ensemble.n_members,
        "limit": MAX_DISTANCE,
        "by": "distance" if bound is None else "bound",
    }
    cautions = [Caution("not converged", figures)] if far else []
    unknown = noise is None or noise.log_ratio_share is None
    if bound is not None and unknown and not bound.learned_backward:
        rows = ~policies.trained.is_test
        own = replace(bound, bound=bound.bound[rows])
        shares = own.noise_share(policies.trained.train)
        names = policies.trained.step_names
        at_most = {n: s for n, s in zip(names, shares.tolist(), strict=True) if s < 1}
        cautions += [Caution("noise bound", {"at_most": at_most})] if at_most else []
    return tuple(cautions)


def noise_against_exact(
    trained: PolicyDataset, exact: PolicyDataset
) -> NoiseAgainstExact:
    """Compare each trained member with the exact policy of its reward."""
    share, exact_y = noise_share_and_targets(trained, exact)
    difference = trained.y - exact_y
    clr = LogRatioTransformer("clr", steps=trained.steps, mask=trained.mask)
    values = clr.fit_transform(trained.y)
    bias = (values - clr.transform(exact_y)).mean(axis=0)
    variance = sums_of_steps(values.var(axis=0), clr)
    probability_share, total_variation = np.full((2, trained.n_steps), np.nan)
    for step in np.flatnonzero(~np.isnan(share)):
        columns = trained.step_slices[step]
        y, off = trained.y[:, columns], difference[:, columns]
        probability_share[step] = off.var(axis=0).sum() / y.var(axis=0).sum()
        total_variation[step] = 0.5 * np.abs(off).sum(axis=1).mean()
    return NoiseAgainstExact(
        log_ratio_share=share,
        probability_share=probability_share,
        log_ratio_bias=sums_of_steps(np.square(bias), clr) / variance,
        total_variation=total_variation,
    )


def noise_share_and_targets(
    trained: PolicyDataset, exact: PolicyDataset
) -> tuple[np.ndarray, np.ndarray]:  # shapes: (n_steps,), (n_members, ΣK)
    """Return the share of noise in the log-ratios, and the policies that were meant."""
    missing = np.setdiff1d(trained.rewards, exact.rewards)
    if missing.size:
        raise ValueError(
            f"exact must have all rewards of trained, and lacks {missing.tolist()}"
        )
    place = {int(reward): row for row, reward in enumerate(exact.rewards)}
    targets = exact.y[[place[int(reward)] for reward in trained.rewards]]
    found = variance_decomposition(
        trained.y, exact=targets, steps=trained.steps, mask=trained.mask
    )
    return found.noise_share, targets


def _split(trained: PolicyDataset, **known: Any) -> ResultRow:
    """Split the variance of the log-ratios without looking at exact policies."""
    return variance_decomposition(
        trained.y, steps=trained.steps, mask=trained.mask, **known
    ).aitchison_variance


def sums_of_steps(
    values: np.ndarray,  # shape: (n_coordinates,)
    ratios: LogRatioTransformer,
) -> np.ndarray:  # shape: (n_steps,)
    """Add up what belongs to the coordinates of each step; NaN for one without any."""
    steps, n_steps = ratios.coordinate_steps_, len(ratios.steps_)
    counts = np.bincount(steps, minlength=n_steps)
    sums = np.bincount(steps, values, minlength=n_steps)
    return np.where(counts > 0, sums, np.nan)


def level_shares(
    pipeline: Any,
    dataset: PolicyDataset,
    levels: Mapping[str, Mapping[str, np.ndarray]],
) -> dict[str, dict[str, np.ndarray]]:
    """Return how much of each step's variance follows each level of each component.

    The rewards of the objects that have the level vary as they do between the members;
    all other rewards stay at their mean. The share is the Aitchison variance of the
    *predicted* policies over that of the actual ones. Levels overlap (an object has
    one of every component) and rewards are correlated, so the shares need not add up
    to the Q² of the step.

    Parameters
    ----------
    pipeline : fitted estimator
        Predicts policies from the reward features.
    dataset : PolicyDataset
        The members.
    levels : mapping of str to mapping of str to ndarray of int
        Per component and level, the columns of X of the objects that have it.

    Returns
    -------
    shares : dict of str to dict of str to ndarray of shape (n_steps,)
        NaN for a step without choice.
    """
    shares: dict[str, dict[str, np.ndarray]] = {component: {} for component in levels}
    places = [(component, level) for component in levels for level in levels[component]]
    if not places:
        return shares
    # Levels of two components may have one name.
    groups = {str((c, level)): levels[c][level] for c, level in places}
    effects = back_to_reward(pipeline, dataset.X, groups=groups)
    total = fragility(dataset).aitchison_variance
    to_observed = effects.predicted_variance / np.where(total > 0, total, np.nan)
    for (component, level), share in zip(places, effects.variance_share.T, strict=True):
        shares[component][level] = share * to_observed
    return shares


def make_pipeline(
    dataset: PolicyDataset, preset: Preset, degree: int, seed: int
) -> Pipeline:
    """Return the paper's pipeline: PCA of the rewards, then the surrogate.

    Without a number of components the features are the inputs: independent standard
    normal numbers, whose distribution is known and not learned.
    """
    is_known = preset.n_components is None
    surrogate = CompositionalPCESurrogate(
        degree,
        steps=dict(zip(dataset.step_names, dataset.steps, strict=True)),
        mask=dataset.mask,
        distribution=norm() if is_known else "normal",
        solver=preset.solver,
        random_state=seed,
    )
    if is_known:
        return Pipeline([("inputs", "passthrough"), ("surrogate", surrogate)])
    pca = PCA(preset.n_components, whiten=True, svd_solver="full")
    return Pipeline([("pca", pca), ("surrogate", surrogate)])


def analyse(
    dataset: PolicyDataset,
    preset: Preset,
    degree: int,
    *,
    seed: int,
    noise_share: np.ndarray | None,
    cautions: Sequence[Caution] = (),
    progress: Progress,
) -> Analysis:
    """Fit, judge and calibrate one surrogate."""
    train, test = dataset.train, dataset.test
    pipeline = make_pipeline(dataset, preset, degree, seed)
    started = time.process_time()
    with threadpool_limits(1):
        pipeline.fit(train.X, train.y)
    fitted = time.process_time()
    report = stage(progress, f"verdict, {dataset.source}, degree {degree}")
    report(0, 1)
    with threadpool_limits(1):
        found = verdict(
            pipeline,
            span_coordinates(train.X, train.rewards),
            train.y,
            replicate=train.rewards if has_replicates(train) else None,
            noise_share=noise_share,
        )
    judged = time.process_time()
    report(1, 1)
    if preset.n_components is None:
        found = found.with_names(dataset.feature_names)
    found = found.with_cautions(*cautions)
    return Analysis(
        degree=degree,
        pipeline=pipeline,
        input_features=dataset.feature_names if preset.n_components is None else None,
        verdict=found,
        held_out_q2=held_out_q2(pipeline, test),
        expansion_alr_sum=expansion_alr_sum(pipeline, train),
        calibration=calibrate(pipeline, test, seed),
        fit_cpu_seconds=fitted - started,
        verdict_cpu_seconds=judged - fitted,
    )


def span_coordinates(
    X: np.ndarray,  # shape: (n_members, n_features)
    rewards: np.ndarray | None = None,  # shape: (n_members,)
) -> np.ndarray:  # shape: (n_members, n_dimensions)
    """Return the rows in an orthonormal basis of the space that they span.

    Members of one reward keep equal rows, to the last bit. An isometry: a PCA of the
    result has the scores of a PCA of X, on any subset of the rows. With 50 rows of
    4,608 entries it is about three times as fast, which counts when a pipeline is
    refitted thousands of times.
    """
    if X.shape[1] <= X.shape[0]:
        return X
    if rewards is None:
        rewards = np.arange(len(X))
    _, first, place = np.unique(rewards, return_index=True, return_inverse=True)
    left, values, _ = np.linalg.svd(X[first], full_matrices=False)
    return (left * values)[place]


def expansion_alr_sum(pipeline: Pipeline, train: PolicyDataset) -> np.ndarray:
    """Return the variance of the expansion, summed over the alr coordinates."""
    alr = clone(pipeline).set_params(surrogate__log_ratio="alr")
    surrogate = alr.fit(train.X, train.y)[-1]
    sums = np.zeros(train.n_steps)
    np.add.at(sums, surrogate.coordinate_steps_, surrogate.total_variance_)
    return sums


def held_out_q2(pipeline: Pipeline, test: PolicyDataset) -> np.ndarray:
    """Return ``1 - Σ|clr y - clr ŷ|² / Σ|clr y - mean|²`` per step on test members."""
    clr = LogRatioTransformer("clr", steps=test.steps, mask=test.mask).fit(test.y)
    observed = clr.transform(test.y)
    residual = observed - clr.transform(pipeline.predict(test.X))
    spread = np.square(observed - observed.mean(axis=0)).sum(axis=0)
    missed = np.square(residual).sum(axis=0)
    return np.asarray(1.0 - sums_of_steps(missed, clr) / sums_of_steps(spread, clr))


def theorem_a_size(
    n_terms: int,
    *,
    noise_variance: float,
    signal_variance: float,
    n_features: int,
    n_actions: int,
    tolerance: float = 0.05,
    confidence_level: float = 0.95,
) -> int:
    r"""Return the ensemble size of the paper's Theorem A, as printed.

    :math:`P + 4 P \sigma^2 \log(K_{\mathrm{eff}}\, d/\delta) / (D_{\min}\varepsilon^2)`
    with :math:`K_{\mathrm{eff}} = K - 1`. It is not proved: see the user guide, "How
    many members", and :func:`skpce.sample_size.required_ensemble_size`.
    """
    factor = math.log((n_actions - 1) * n_features / (1.0 - confidence_level))
    needed = 4.0 * n_terms * noise_variance * factor
    return n_terms + math.ceil(needed / (signal_variance * tolerance**2))


def pairs_passed(
    members: PolicyDataset, draws: np.ndarray, alpha: float = 0.05
) -> tuple[list[int], list[int]]:
    r"""Count the pairs of step and action in which draws may be members.

    For each of the :math:`m` pairs a two-sample Kolmogorov-Smirnov test compares the
    probabilities of members with those of draws; a pair passes when
    :math:`p > \alpha / m` (Bonferroni). The counts are those of the paper's
    supplementary tables. With few members every model passes.

    Parameters
    ----------
    members : PolicyDataset
        Held-out members.
    draws : ndarray of shape (n_draws, n_parts)
        Policies drawn with the inputs drawn too.
    alpha : float, default=0.05
        Level of all tests together.

    Returns
    -------
    passed, tested : list of int
        Of each step; none of a step without choice.
    """
    p_values = np.full(members.y.shape[1], np.nan)
    for parts in possible_columns(members):
        if len(parts) > 1:
            test = ks_2samp(members.y[:, parts], draws[:, parts], axis=0)
            p_values[parts] = test.pvalue
    is_tested = np.isfinite(p_values)
    has_passed = p_values > alpha / max(1, int(is_tested.sum()))
    return (
        [int(has_passed[columns].sum()) for columns in members.step_slices],
        [int(is_tested[columns].sum()) for columns in members.step_slices],
    )


def calibrate(
    pipeline: Pipeline, test: PolicyDataset, seed: int
) -> dict[str, Calibration]:
    """Measure each kind of interval on the test members."""
    inputs = pipeline[:-1].transform(test.X)
    surrogate = pipeline[-1]
    shape: dict[str, Any] = {"steps": test.steps, "mask": test.mask}
    results = {}
    for name, kind in INTERVALS.items():
        X = inputs if kind["given_inputs"] else None
        found = []
        for level in LEVELS:
            band = surrogate.predict_interval(
                X, confidence_level=level, residual=kind["residual"], random_state=seed
            )
            marginal = coverage_interval(test.y, *band, **shape)
            joint = coverage_interval(test.y, *band, kind="joint", **shape)
            found.append((marginal.coverage, joint.coverage, marginal.width))
        crps = predictive_crps(surrogate, X, test, kind["residual"], seed)
        covered, jointly, widths = np.stack(found, axis=1)
        results[name] = Calibration(covered, jointly, widths, crps)
    return results


def predictive_crps(
    surrogate: CompositionalPCESurrogate,
    X: np.ndarray | None,  # shape: (n_members, n_inputs)
    test: PolicyDataset,
    residual: str | None,
    seed: int,
) -> np.ndarray:  # shape: (n_steps,)
    """Return the CRPS of draws given the inputs, else of the same for all members."""
    draws = surrogate.sample(_N_DRAWS, X, residual=residual, random_state=seed)
    if X is None:
        draws = draws[:, np.newaxis]
    return crps_score(test.y, draws, steps=test.steps, mask=test.mask)


# Log-probabilities of trained policies in all states that are held at once.
_VALUES_AT_ONCE = 2**23
_N_SAMPLES = 2048  # trajectories of a member behind the bound of its distance


def make_policies(
    study: Study,
    spec: TrainingSpec,
    *,
    train: bool,
    seed: int,
    store: Store | None,
    progress: Progress,
    solve: bool = True,
    n_replicates: int = 1,
    n_control: int = 0,
    n_jobs: int | None = None,
) -> Policies:
    """Solve every member exactly where it can be, and train if requested."""
    started = time.process_time()
    exact, solution = None, None
    solved: PolicySource | None = None
    if solve and study.environment.is_enumerable:
        solved = solution = solve_exact(study.environment, study.reward)
    elif solve and study.exact_solver is not None:
        solved = study.exact_solver(study.reward)
    elif solve and not train:
        raise ValueError(
            f"the policies of {study.environment.name} cannot be solved exactly, since "
            f"{study.environment.enumeration_reason}; they have to be trained"
        )
    if solved is not None:
        exact = _dataset(study, solved, "exact", study.reward.n_members, seed)
        progress("solving exactly", 1, 1)
    cpu_seconds = {"exact": time.process_time() - started}
    if not train:
        return Policies(cpu_seconds, exact, solution)
    n_rewards = study.n_train + study.n_test
    # larger than the numbers of all members; the first replicate of a reward has its
    stride = int(study.members.max()) + 1
    numbers = study.members[:n_rewards, None] + stride * np.arange(n_replicates)
    train_all = partial(
        train_ensemble, study.environment, seed=seed, n_jobs=n_jobs, store=store
    )
    ensemble = train_all(
        study.reward.select(slice(0, n_rewards)),
        spec,
        n_replicates=n_replicates,
        members=numbers.ravel().tolist(),
        progress=stage(progress, "training GFlowNets"),
    )
    cpu_seconds["training"] = float(ensemble.diagnostics.cpu_seconds.sum())
    control = None
    if n_control:
        # numbers beyond those of all other members
        first = (n_replicates + 1) * stride
        alike = train_all(
            mean_reward(
                study.reward.select(slice(0, study.n_train)), study.environment
            ),
            spec,
            n_replicates=n_control,
            members=range(first, first + n_control),
            progress=stage(progress, "training the control"),
        )
        cpu_seconds["control"] = float(alike.diagnostics.cpu_seconds.sum())
        if alike.n_members > 1:  # one alone has no spread; the others diverged
            control = policies_along(study.environment, alike, study.trajectory).y
    distance = None
    if solution is not None:
        started = time.process_time()
        distance = ensemble_distance(solution.graph, study.reward, ensemble)
        cpu_seconds["exact"] += time.process_time() - started
    bound = None
    if solve and solution is None:  # who wants no exact policies wants no bound
        started = time.process_time()
        known = solved.log_z() if isinstance(solved, GraphFlows) else None
        bound = ensemble.distance_bound(
            n_samples=_N_SAMPLES,
            log_z=None if known is None else known[list(ensemble.rewards)].numpy(),
            seed=seed,
        )
        cpu_seconds["bounds of distances"] = time.process_time() - started
    return Policies(
        cpu_seconds,
        exact,
        solution,
        trained=_dataset(study, ensemble, "trained", n_rewards, seed),
        ensemble=ensemble,
        distance=distance,
        control=control,
        bound=bound,
    )


def ensemble_distance(
    graph: StateGraph, reward: RewardSource, ensemble: TrainedEnsemble
) -> np.ndarray:  # shape: (n_trained,)
    """Return the distance of every trained member from its exact distribution."""
    size = max(1, _VALUES_AT_ONCE // graph.mask.numel())
    distance = np.empty(ensemble.n_members)
    for start in range(0, ensemble.n_members, size):
        rows = slice(start, start + size)
        some = ensemble.subset(ensemble.members[rows])
        own = reward_of_objects(reward.select(np.array(some.rewards)), graph)
        table = some.log_policy_table(graph)
        distance[rows] = distance_to_exact(graph, table, own).numpy()
    return distance


def _dataset(
    study: Study,
    policies: PolicySource,
    source: str,
    n_rewards: int,
    seed: int,
) -> PolicyDataset:
    """Return the policies of all rewards, or of the members that were trained."""
    along = policies_along(study.environment, policies, study.trajectory)
    names = study.environment.action_names
    taken = [names[action] for action in study.trajectory.actions]
    reward, members = np.arange(n_rewards), study.members[:n_rewards]
    if isinstance(policies, TrainedEnsemble):  # those that diverged are not in it
        reward, members = np.array(policies.rewards), np.array(policies.members)
    return PolicyDataset(
        study.reward_features[reward],
        along.y,
        steps=tuple(along.steps.values()),
        mask=along.mask,
        step_names=along.step_names,
        action_names=part_names(study.environment, along.action_names),
        feature_names=study.feature_names,
        members=members,
        rewards=study.members[reward],
        seeds=np.full(len(reward), seed),
        is_test=reward >= study.n_train,
        trajectory=part_names(study.environment, taken),
        source=source,
        metadata={"task": study.environment.name, "unit_of_X": study.feature_unit},
    )


# Groups of rewards that are left out for the standard error of training noise.
_N_NOISE_GROUPS = 10


def find_part_effects(
    study: Study,
    policies: Policies,
    *,
    n_draws: int,
    seed: int,
    progress: Progress,
) -> tuple[PartFindings, ...]:
    """Return the effects of the parts of every split.

    Parts are exchanged and solved again; nothing is found where that is not possible.
    """
    solve = study.exact_solver
    if policies.solution is not None:
        solve = partial(solve_exact, policies.solution.graph)
    if solve is None:
        return ()
    exact = policies.exact
    assert exact is not None  # there is what solves
    noise_share, noise_error = noise_beside_exact(policies) or (None, None)
    found = []
    for named in study.named_parts:
        known: dict[str, Any] = {
            "model": partial(policies_of_parts, named, study, solve),
            "combine": dict,
            "batch_size": named.batch_size,
            "steps": dict(zip(exact.step_names, exact.steps, strict=True)),
            "mask": exact.mask,
        }
        with threadpool_limits(1):
            effects = part_effects(
                parts=named.parts,
                n_draws=n_draws,
                dependent=named.freezes,
                random_state=seed,
                progress=stage(progress, f"parts: {named.title}"),
                **known,
            )
            own = stage(progress, f"entries: {named.title}")
            entries = leading_entries(named, effects, progress=own, **known)
        found.append(PartFindings(named, effects, noise_share, noise_error, entries))
    return tuple(found)


def policies_of_parts(
    named: NamedParts,
    study: Study,
    solve: Callable[[Any], PolicySource],
    parts: Mapping[str, np.ndarray],
) -> np.ndarray:  # shape: (n, ΣK)
    """Solve the rewards of recombined parts along the trajectory of a study."""
    solved = solve(named.reward(parts))
    return policies_along(study.environment, solved, study.trajectory).y


def leading_entries(named: NamedParts, effects: Result, **known: Any) -> Result | None:
    """Verify what matters most in the leading part of each supported step."""
    if named.n_verified == 0:
        return None
    names = effects.part_names
    part_of = {
        step.step: names[int(np.argmax(step.first))]
        for step in effects.steps
        if step.supported
    }
    part_of = {step: part for step, part in part_of.items() if part in named.entries}
    if not part_of:
        return None
    return part_entries(
        parts=named.parts,
        part=part_of,
        labels={
            # the last name is that of the number −1
            name: np.array([*own.names, ""], dtype=object)[np.asarray(own.labels)]
            for name, own in named.entries.items()
            if name in part_of.values()
        },
        n_best=named.n_verified,
        n_verifying=named.n_verifying,
        **known,
    )


def noise_beside_exact(
    policies: Policies,
) -> tuple[np.ndarray, np.ndarray] | None:  # shapes: (n_steps,) each
    """Return the share of training noise against exact policies, 1 at most.

    All of the variance is noise where trained policies vary less than they miss the
    exact ones by, or not at all. The second array has standard errors: one of ten
    groups of rewards is left out after the other (delete-a-group jackknife). That of a
    share of 1 goes down to one standard error below what is more than 1.
    """
    if policies.trained is None or policies.exact is None:
        return None
    both = policies.trained.train, policies.exact.train
    found, *left_out = (  # (-1 leaves out nothing)
        noise_share_and_targets(
            *(d.select(d.rewards % _N_NOISE_GROUPS != g) for d in both)
        )[0]
        for g in (-1, *np.unique(both[0].rewards % _N_NOISE_GROUPS))
    )
    share = np.minimum(found, 1.0)
    error = np.maximum(share - found + jackknife_error(np.array(left_out)), 0.0)
    steps = steps_with_choice(both[0])
    share[steps] = np.nan_to_num(share[steps], nan=1.0)
    error[steps] = np.nan_to_num(error[steps])
    return share, error


def find_reasons(
    study: Study, policies: Policies, *, n_draws: int, seed: int
) -> tuple[WholeSpace, Reasons] | None:
    """Follow exact policies everywhere, and find what explains most in each state.

    None without named parts, for spaces that are too large, and for those that a map
    cannot show: neither trees nor grids.
    """
    solution = policies.solution
    if solution is None or not study.named_parts:
        return None
    graph, named = solution.graph, study.named_parts[0]
    is_shown = graph.environment.is_tree or isinstance(
        graph.environment, GridEnvironment
    )
    if not is_shown or int(graph.mask.sum()) > _MOST_EDGES:
        return None
    space = WholeSpace.from_policies(graph, solution)
    effects = effects_everywhere(named, graph, n_draws=n_draws, seed=seed)
    return space, reasons_of(space, effects, list(named.parts))


def effects_everywhere(
    named: NamedParts, graph: StateGraph, *, n_draws: int, seed: int = 0
) -> Result:
    """Exchange the named parts of members, and solve for all states again."""

    def policies(parts: Mapping[str, np.ndarray]) -> Any:
        return policies_everywhere(graph, solve_exact(graph, named.reward(parts)))

    known = policies({name: values[:1] for name, values in named.parts.items()})
    with threadpool_limits(1):
        return part_effects(
            lambda parts: policies(parts).y,
            named.parts,
            combine=dict,
            n_draws=n_draws,
            dependent=False,
            steps=known.steps,
            mask=known.mask,
            batch_size=32,
            random_state=seed,
        )


def reasons_of(space: WholeSpace, effects: Result, names: Sequence[str]) -> Reasons:
    """Return what explains most in each state, of parts with these names."""
    n_states = space.graph.n_states
    found = Reasons([""] * n_states, np.zeros(n_states), np.zeros(n_states, dtype=bool))
    for row, state in enumerate(np.flatnonzero(has_choice(space))):
        first, errors = effects.first[row], effects.first_error[row]
        best, second = np.argsort(-first)[:2]
        apart = first[best] - first[second] > 2 * np.hypot(errors[best], errors[second])
        if space.fragility[state] < _LEAST_FRAGILITY:
            continue
        found.parts[state] = names[best]
        found.shares[state] = first[best]
        found.settled[state] = apart and effects.supported[row]
    return found


def has_choice(space: WholeSpace) -> np.ndarray:  # shape: (n_states,), bool
    """Say in which states more than one action is possible."""
    return np.asarray((space.graph.mask.sum(dim=1) > 1).numpy())
