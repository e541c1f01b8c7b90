"""What the page draws and compares of one data set: small, and ready for JSON."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from timeit import repeat
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from gflownet_envs.experiments.analysis import (
    expansion_alr_sum,
    fragility,
    held_out_q2,
    make_pipeline,
    pairs_passed,
    possible_columns,
    steps_with_choice,
)
from gflownet_envs.experiments.figures import spread
from gflownet_envs.experiments.task import LEVELS, Preset
from gflownet_envs.policy_dataset import PolicyDataset
from skpce import LogRatioTransformer
from skpce.inspection import modes_test
from skpce.metrics import coverage_interval

# Draws of the preset "full"; "quick" has half of them.
N_DRAWS = 200  # of the members to fit: a share of them moves by 3 points
N_LARGE_DRAWS = 60  # of tasks that take half a second each
N_EMBEDDING_DRAWS = 40  # of the table of embeddings
N_STUDY_DRAWS = 20  # of Table 1 and figure S7
N_FEW_DRAWS = 20  # of other readings, of random inputs
N_TIMED_DRAWS = 10  # in which fits and predictions are timed
N_SAMPLES = 10_000  # the paper's number of samples
_N_TESTED = 2000  # of them behind intervals and tests
_N_SHOWN = 3  # steps of a panel of policies
_MOST_ACTIONS = 8  # of such a panel
_MOST_PAIRS = 150  # that are tested: the paper tests none of larger systems
_FEW_ACTIONS = 5  # up to so many, all steps are shown, and indices of each log-ratio
EXTREMES_AND_MEDIAN = (np.min, np.median, np.max)
_END = "EOS"
_OF_PICTURES = ("d_members", "mean_total", "mean_total_of_steps", "by_action")
# What depends on the inputs, and is measured with random ones too.
_OF_THE_INPUTS = (
    "d_expansion",
    "q2",
    "coverage",
    "total",
    "mean_first",
    "ks_passed",
    "ks_pairs",
    "bimodal",
    "theorem_a",
)


def n_draws_of_preset(of_full: int, *, quick: bool) -> int:
    """Return how many draws a preset has where ``"full"`` has so many."""
    return of_full // 2 if quick else of_full


def measure(
    dataset: PolicyDataset,
    preset: Preset,
    seed: int,
    shown: Sequence[int] = (),
    *,
    draws: Sequence[int] = range(N_DRAWS),
    whole: bool = True,
) -> dict[str, Any]:
    """Fit the preset's surrogate of its first degree in every draw, and measure it.

    Parameters
    ----------
    dataset : PolicyDataset
    preset : Preset
    seed : int
        Of samples and tests.
    shown : sequence of int, default=()
        Numbers, from 1, of the steps whose policies are drawn; those that there are.
        Empty: as `_panels` chooses.
    draws : sequence of int, default=range(N_DRAWS)
        Seeds of the draws; see `drawn`.
    whole : bool, default=True
        Whether what pictures show, and a control of twenty draws, are measured too.

    Returns
    -------
    measures : dict
        What is the same in all draws; ``draws``: lists with one entry a draw, by name;
        ``control``: the same of a surrogate whose inputs are random numbers;
        ``pictured``: smallest, median and largest over the draws of what only pictures
        show. Lists of steps have None for a step without choice.
    """
    found: list[dict[str, Any]] = []
    control: list[dict[str, Any]] = []
    n_inputs = preset.n_components or dataset.X.shape[1]
    with threadpool_limits(1):
        for number in draws:
            some = drawn(dataset, preset, number)
            timed = len(found) < N_TIMED_DRAWS
            found.append(_of_draw(some, preset, seed, timed=timed))
            if whole and len(control) < N_FEW_DRAWS:
                rng = np.random.default_rng([number, 1])
                names = tuple(f"random {i + 1}" for i in range(n_inputs))
                X = rng.normal(size=(some.n_members, n_inputs))
                blind = replace(some, X=X, feature_names=names)
                control.append(_of_draw(blind, preset, seed, timed=False))
        some = drawn(dataset, preset, draws[0])
        constant: dict[str, Any] = {
            "steps": list(some.step_names),
            "widths": list(some.steps),
            "trajectory": list(some.trajectory),
            "n_train": some.train.n_members,
            "n_test": some.test.n_members,
            "n_possible": fragility(some).n_possible,
        }
        if whole:
            constant |= _of_pictures(some, preset, seed, shown)
    keys = [key for key in found[0] if key not in _OF_PICTURES]
    columns = {"draws": columns_of(found, keys)}
    if whole:
        columns["control"] = columns_of(control, _OF_THE_INPUTS)
        constant["pictured"] = pictured(columns_of(rounded(found), _OF_PICTURES))
    return rounded(constant | columns)


def pictured(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the smallest, the median and the largest of each figure of the draws."""
    return {
        key: [across(column, reduce) for reduce in EXTREMES_AND_MEDIAN]
        for key, column in columns.items()
    }


def drawn(dataset: PolicyDataset, preset: Preset, number: int) -> PolicyDataset:
    """Draw the members to fit, and those held out, from all that there are."""
    order = np.random.default_rng(number).permutation(dataset.n_members)
    kept = dataset.select(order[: preset.n_train + preset.n_test])
    return replace(kept, is_test=np.arange(kept.n_members) >= preset.n_train)


def columns_of(
    rows: Sequence[Mapping[str, Any]], keys: Sequence[str] | None = None
) -> dict[str, list[Any]]:
    """Return the figures of some draws by name; default: those of the first."""
    return {key: [row[key] for row in rows] for key in keys or rows[0]}


def _of_pictures(
    dataset: PolicyDataset, preset: Preset, seed: int, shown: Sequence[int]
) -> dict[str, Any]:
    """Return what pictures show of one draw."""
    train, test = dataset.train, dataset.test
    pipeline = make_pipeline(dataset, preset, preset.degrees[0], seed)
    pipeline.fit(train.X, train.y)
    samples = pipeline[-1].sample(_N_TESTED, residual=None, random_state=seed)
    inputs = pipeline[:-1].transform(test.X)  # of intervals given them, with residuals
    bands = [
        pipeline[-1].predict_interval(inputs, confidence_level=level, random_state=seed)
        for level in LEVELS
    ]
    return {
        "actions": [
            [dataset.action_names[column] for column in columns]
            for columns in possible_columns(dataset)
        ],
        "feature_sd": train.X.std(axis=0) if train.X.shape[1] <= 60 else None,
        "coverage_given": _covered(test, bands),
        "panels": _panels(dataset, samples, shown),
    }


def _of_draw(
    dataset: PolicyDataset, preset: Preset, seed: int, *, timed: bool
) -> dict[str, Any]:
    """Fit the members of one draw, and measure the rest."""
    train, test = dataset.train, dataset.test
    pipeline = make_pipeline(dataset, preset, preset.degrees[0], seed)
    pipeline.fit(train.X, train.y)
    inputs = pipeline[:-1].transform(train.X)
    fit_seconds = None
    if timed:
        fit = partial(pipeline[-1].fit, inputs, train.y)
        fit_seconds = min(repeat(fit, timer=time.process_time, repeat=3, number=1))
    started = time.process_time()
    samples = pipeline[-1].sample(
        N_SAMPLES if timed else _N_TESTED, residual=None, random_state=seed
    )
    sample_seconds = time.process_time() - started if timed else None
    samples = samples[:_N_TESTED]
    disagreement = fragility(train)
    # the pairs that a two-sample test cannot distinguish, per step
    passed, tested = None, None
    if test.mask.sum() <= _MOST_PAIRS:
        passed, tested = pairs_passed(test, samples)
    return {
        "d_expansion": expansion_alr_sum(pipeline, train),
        "d_members": disagreement.alr_sum,
        "total_variation": disagreement.total_variation,
        "q2": held_out_q2(pipeline, test),
        "fit_seconds": fit_seconds,
        "sample_seconds": sample_seconds,
        "coverage": _coverage(samples, test),
        **_indices(pipeline),
        **_inputs(pipeline, train, inputs),
        "ks_passed": passed,
        "ks_pairs": tested,
        "bimodal": _bimodal(dataset, pipeline),
        "by_action": _indices_by_action(dataset, pipeline),
        "theorem_a": _theorem_a(pipeline, train),
    }


def summary(
    measures: Mapping[str, Any], reduce: Callable[[Any], Any] = np.median
) -> dict[str, Any]:
    """Return the measures of a data set with one figure for all draws."""
    parts = ("draws", "control", "pictured")
    found = {k: v for k, v in measures.items() if k not in parts}
    place = EXTREMES_AND_MEDIAN.index(reduce)
    found |= {k: ends[place] for k, ends in measures.get("pictured", {}).items()}
    return found | {k: across(v, reduce) for k, v in measures["draws"].items()}


def across(rows: Sequence[Any], reduce: Callable[[Any], Any]) -> Any:
    """Return a figure, or lists of figures, reduced over the draws; None for none."""
    first = next((row for row in rows if row is not None), None)
    if isinstance(first, dict):
        return {key: across([row[key] for row in rows], reduce) for key in first}
    if isinstance(first, list):
        known = [row for row in rows if row is not None]
        return [across(column, reduce) for column in zip(*known, strict=True)]
    figures = [row for row in rows if isinstance(row, int | float)]
    return float(reduce(figures)) if figures else None


def rounded(value: Any) -> Any:
    """Return plain JSON values with four significant digits."""
    if isinstance(value, dict):
        return {str(key): rounded(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.4g}") if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def _coverage(samples: np.ndarray, test: PolicyDataset) -> np.ndarray:
    """Return the coverage of the push-forward's intervals, (n_levels, n_steps)."""
    ends = [((1 - level) / 2, (1 + level) / 2) for level in LEVELS]
    bands = np.quantile(samples, ends, axis=0)[:, :, np.newaxis]
    return _covered(test, bands)


def _covered(test: PolicyDataset, bands: Iterable[Any]) -> np.ndarray:
    shape: dict[str, Any] = {"steps": test.steps, "mask": test.mask}
    return np.array(
        [coverage_interval(test.y, *band, **shape).coverage for band in bands]
    )


def _indices(pipeline: Pipeline) -> dict[str, Any]:
    """Return indices of steps, and the paper's means over additive log-ratios."""
    surrogate = pipeline[-1]
    first, total = surrogate.sobol_indices_, surrogate.total_sobol_indices_
    steps = surrogate.coordinate_steps_
    n_steps = len(surrogate.step_sobol_indices_)
    means = np.full((2, n_steps, first.shape[1]), np.nan)
    for step in np.unique(steps):
        means[:, step] = first[steps == step].mean(0), total[steps == step].mean(0)
    return {
        "total": surrogate.step_total_sobol_indices_,
        "mean_first": means[0],
        "mean_total": means[1],
        "mean_total_of_steps": np.nanmean(means[1], axis=0),
    }


def _indices_by_action(dataset: PolicyDataset, pipeline: Pipeline) -> Any:
    """Return first-order indices of each log-ratio where there are few actions."""
    if max(dataset.steps) > _FEW_ACTIONS:
        return None
    alr = clone(pipeline[-1]).set_params(log_ratio="alr")
    alr.fit(pipeline[:-1].transform(dataset.train.X), dataset.train.y)
    return [
        alr.sobol_indices_[alr.coordinate_steps_ == step].tolist()
        for step in range(dataset.n_steps)
    ]


def _theorem_a(pipeline: Pipeline, train: PolicyDataset) -> dict[str, Any]:
    """Return what the formula of Theorem A takes, from a fit of degree 1."""
    line = clone(pipeline[-1]).set_params(degree=1, log_ratio="alr", solver="ridge")
    inputs = pipeline[:-1].transform(train.X)
    alr = LogRatioTransformer("alr", steps=train.steps, mask=train.mask)
    missed = alr.fit_transform(train.y) - line.fit(inputs, train.y).transform(inputs)
    surrogate = pipeline[-1]
    return {
        "n_terms": len(surrogate.multi_indices_),
        "n_inputs": inputs.shape[1],
        "noise": float(missed.var(axis=0).mean()),
        "signal": float(line.total_variance_.min()),
    }


def _inputs(
    pipeline: Pipeline,
    train: PolicyDataset,
    inputs: np.ndarray,  # shape: (n_members, n_inputs)
) -> dict[str, Any]:
    """Return what the inputs keep of the rewards, and whether they are correlated."""
    correlation = np.corrcoef(inputs.T) - np.eye(inputs.shape[1])
    found: dict[str, Any] = {"max_rho": float(np.abs(correlation).max())}
    if isinstance(pipeline[0], str) or not hasattr(pipeline[0], "components_"):
        return found | {"explained": None, "pc1_uniform": None}
    loadings = pipeline[0].components_[0]
    cosine = abs(loadings.mean()) * np.sqrt(len(loadings)) / np.linalg.norm(loadings)
    n_components = min(10, *train.X.shape)
    ratios = PCA(n_components, svd_solver="full").fit(train.X).explained_variance_ratio_
    return found | {"explained": ratios, "pc1_uniform": float(cosine)}


def _bimodal(dataset: PolicyDataset, pipeline: Pipeline) -> list[bool] | None:
    """Return where, step by step, the probability of ending has two modes."""
    names = dataset.action_names[dataset.step_slices[0]]
    if _END not in names:
        return None
    found = modes_test(pipeline, action=names.index(_END)).rows
    two = {row.step for row in found if row.bimodal}
    return [step in two for step in dataset.step_names]


def _panels(
    dataset: PolicyDataset, draws: np.ndarray, wanted: Sequence[int]
) -> list[dict[str, Any]]:
    """Return means and standard deviations of the policies of some steps.

    Those that are wanted; else all steps where there are few actions, and the first,
    the middle and the last one with a choice elsewhere; always the likeliest actions.
    """
    choices = steps_with_choice(dataset)
    shown = [step for step in choices if step + 1 in wanted] or choices
    if shown == choices and max(dataset.steps) > _FEW_ACTIONS:
        shown = spread(choices, _N_SHOWN)
    possible = possible_columns(dataset)
    panels = []
    for step in shown:
        columns = possible[step]
        mean = dataset.test.y[:, columns].mean(axis=0)
        columns = columns[np.sort(np.argsort(-mean, kind="stable")[:_MOST_ACTIONS])]
        panels.append(
            {
                "step": dataset.step_names[step],
                "actions": [dataset.action_names[column] for column in columns],
                "members": _centre(dataset.test.y[:, columns]),
                "surrogate": _centre(draws[:, columns]),
            }
        )
    return panels


def _centre(values: np.ndarray) -> list[list[float]]:
    return [values.mean(axis=0).tolist(), values.std(axis=0).tolist()]
