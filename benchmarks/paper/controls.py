"""Ablations and controls of the surrogate, on exact and on trained policies.

One fit is varied in one thing at a time: members (fewer than terms, too), degree,
components, solver, the distribution of the inputs, the embedding. Controls
destroy what the surrogate is to find: inputs of other members, policies of other
members, random inputs; or break an assumption: correlated inputs, wrong distributions,
a fit with as many terms as members; or have nothing to find: one reward for all
members.

Per variant: MAE, Q² and 95 % coverage on held-out members (means over three draws of
the members to fit), how far total indices move from those of the basis (mean absolute
difference, where the inputs are the same), and the number of steps that the verdict
calls attributable, on the first draw.

Run: ``python -m benchmarks.paper.controls --runs RUNS [--tasks ...]``; what is finished
is not repeated. ``--page docs/downloads/paper_controls.txt`` writes the tables.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.decomposition import PCA, KernelPCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_limits

from benchmarks.measuring import load, options, publish, save, study_of, table
from gflownet_envs import policies_along, train_ensemble
from gflownet_envs.experiments.paper.measures import rounded
from gflownet_envs.experiments.paper.studies.ablation import CORRELATION
from gflownet_envs.experiments.paper.studies.surrogates import Split, policy_errors
from gflownet_envs.experiments.task import Preset
from gflownet_envs.experiments.tasks import TASKS
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.rewards.source import mean_reward
from skpce import CompositionalPCESurrogate, LogRatioTransformer
from skpce.embedding import PLSTransformer
from skpce.inspection import variance_decomposition, verdict
from skpce.metrics import coverage_interval

RESULTS = Path(__file__).parent / "results"
#: Tasks whose members are trained once more on one reward, and how many.
FIXED_REWARD = {"grid": 30, "continuous-grid": 30, "buchwald-hartwig": 20}
MEMBERS = (6, 10, 20, 30, 50, 100)
DEGREE, N_DRAWS, LEVEL = 2, 3, 0.95


@dataclass(frozen=True, eq=False)
class Variant:
    """One fit: what differs from the basis.

    Attributes
    ----------
    options : dict
        Parameters of the surrogate.
    n_fit : int or None
        Members to fit.
    n_components : int or None
        None: as in the basis.
    embed : callable or None
        From a number of inputs and a split's shape to a transformer.
    destroy : callable or None
        From X, y and a generator to others, for the fitted members.
    same_inputs : bool
        Whether indices can be compared with those of the basis.
    """

    options: dict[str, Any]
    n_fit: int | None = None
    n_components: int | None = None
    embed: Callable[[int, dict[str, Any]], Any] | None = None
    destroy: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None
    same_inputs: bool = True


def variants(preset: Preset, degree: int) -> dict[str, Variant]:
    """Return the variants of a task by their names; the basis first."""
    base = {"degree": degree, "solver": "ridge", "distribution": "normal"}
    found = {"basis": Variant(base)}
    found |= {f"{n} members": Variant(base, n_fit=n) for n in MEMBERS}
    found |= {f"degree {p}": Variant({**base, "degree": p}) for p in (1, 2, 3, 5)}
    if preset.n_components is not None:
        found |= {
            f"{k} components": Variant(base, n_components=k, same_inputs=False)
            for k in (1, 2, 5, 10)
        }
        found |= {
            "kernel PCA": Variant(base, embed=_kernel, same_inputs=False),
            "PLS": Variant(base, embed=_pls, same_inputs=False),
            "random inputs": Variant(base, embed=_random, same_inputs=False),
        }
    found |= {
        f"solver {name}": Variant({**base, "solver": name})
        for name in ("paper", "subspace_pursuit")
    }
    found["without settings"] = Variant({})
    found |= {
        "arbitrary chaos (empirical)": Variant({**base, "distribution": "empirical"}),
        "wrong distribution: uniform": Variant({**base, "distribution": "uniform"}),
        "wrong distribution: twice as wide": Variant(
            {**base, "distribution": norm(0, 2)}
        ),
        "wrong distribution: shifted by one": Variant(
            {**base, "distribution": norm(1, 1)}
        ),
        "inputs of other members": Variant(base, destroy=_other_inputs),
        "policies of other members": Variant(base, destroy=_other_policies),
        "correlation 0.8 of two inputs": Variant(base, destroy=_correlated),
        "over-fitted: degree 5, paper's solver": Variant(
            {**base, "degree": 5, "solver": "paper"}
        ),
    }
    return found


def _kernel(n_inputs: int, shape: dict[str, Any]) -> Any:
    return KernelPCA(n_inputs, kernel="rbf")


def _pls(n_inputs: int, shape: dict[str, Any]) -> Any:
    log_ratios = LogRatioTransformer("ilr", **shape)
    return PLSTransformer(n_inputs, target_transformer=log_ratios)


def _random(n_inputs: int, shape: dict[str, Any]) -> Any:
    rng = np.random.default_rng(0)
    return FunctionTransformer(lambda X: rng.normal(size=(len(X), n_inputs)))


def _other_inputs(
    X: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    return X[rng.permutation(len(X))], y


def _other_policies(
    X: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    return X, y[rng.permutation(len(y))]


def _correlated(
    X: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Let the second input follow the first, in the inputs' own units."""
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    scaled[:, 1] = (
        CORRELATION * scaled[:, 0] + np.sqrt(1 - CORRELATION**2) * scaled[:, 1]
    )
    return scaled * X.std(axis=0) + X.mean(axis=0), y


def measure_task(
    task: str, runs: Path, found: dict[str, Any], save: Callable[[], None]
) -> None:
    """Measure what is not known yet on exact and trained policies of one task.

    Variants are added to what was found, and saved one by one; the basis, from which
    indices drift, is fitted again.
    """
    preset = TASKS[task].presets["default"]
    for name in ("dataset_exact.safetensors", "dataset.safetensors"):
        dataset = PolicyDataset.load(runs / f"{task}-default" / name)
        base: list[np.ndarray] = []
        rows = found.setdefault(dataset.source, {})
        for variant_name, variant in variants(preset, DEGREE).items():
            if variant_name in rows and base:
                continue
            if len(rows) == len(variants(preset, DEGREE)):
                break
            row = measure_variant(dataset, preset, variant, base)
            rows[variant_name] = rounded(row)  # None: too few members
            save()
        print(task, dataset.source, flush=True)
    if task in FIXED_REWARD and "fixed reward" not in found:
        found["fixed reward"] = rounded(fixed_reward(task, preset))
        save()


def measure_variant(
    dataset: PolicyDataset,
    preset: Preset,
    variant: Variant,
    base: list[np.ndarray],  # total indices of the basis; filled by its own call
) -> dict[str, Any] | None:
    """Fit a variant on three draws; None where there are too few members."""
    n_held_out = min(50, dataset.n_members // 3)
    n_fit = variant.n_fit or preset.n_train
    if n_fit > dataset.n_members - n_held_out:
        if variant.n_fit is not None:
            return None
        n_fit = dataset.n_members - n_held_out
    rows: list[dict[str, Any]] = []
    for draw in range(N_DRAWS):
        rng = np.random.default_rng(draw)
        order = rng.permutation(dataset.n_members)
        held_out, fitted = order[:n_held_out], order[n_held_out:][:n_fit]
        rows.append(_fit(dataset, preset, variant, fitted, held_out, rng, draw))
        if len(base) <= draw:
            base.append(rows[-1]["total"])
    found = {
        key: float(np.mean([row[key] for row in rows]))
        for key in ("mae", "q2", "coverage")
    }
    drifts = [
        float(np.abs(row["total"] - start).mean())
        for row, start in zip(rows, base, strict=True)
        if variant.same_inputs
    ]
    found["drift"] = float(np.mean(drifts)) if drifts else np.nan
    return found | {"verdict": rows[0]["verdict"]}


def _fit(
    dataset: PolicyDataset,
    preset: Preset,
    variant: Variant,
    fitted: np.ndarray,
    held_out: np.ndarray,
    rng: np.random.Generator,
    draw: int,
) -> dict[str, Any]:
    """Fit one draw, and measure it on members that no fit sees."""
    shape: dict[str, Any] = {"steps": dataset.steps, "mask": dataset.mask}
    X, y = dataset.X[fitted], dataset.y[fitted]
    X_test, y_test = dataset.X[held_out], dataset.y[held_out]
    n_inputs = variant.n_components or preset.n_components
    if variant.destroy is _correlated and n_inputs is not None:
        pca = PCA(n_inputs, whiten=True, svd_solver="full").fit(X)
        X, X_test, n_inputs = pca.transform(X), pca.transform(X_test), None
    if variant.destroy is not None:
        X, y = variant.destroy(X, y, rng)
    surrogate = CompositionalPCESurrogate(
        **{"random_state": draw, **shape, **variant.options}
    )
    embedding: Any = "passthrough"
    if variant.embed is not None:
        embedding = variant.embed(preset.n_components or 2, shape)
    elif n_inputs is not None:
        n_inputs = min(n_inputs, len(X) - 1)
        embedding = PCA(n_inputs, whiten=True, svd_solver="full")
    pipeline = Pipeline([("embedding", embedding), ("surrogate", surrogate)])
    with threadpool_limits(1):
        pipeline.fit(X, y)
        predicted = pipeline.predict(X_test)
        band = pipeline[-1].predict_interval(
            pipeline[:-1].transform(X_test),
            confidence_level=LEVEL,
            residual="resampled",
            random_state=draw,
        )
        words = _verdict(pipeline, X, y) if draw == 0 else ""
    split = Split(X, y, X_test, y_test, dataset.steps, dataset.mask)
    truth = replace(split, y=dataset.y[fitted])  # Q² is against the true mean
    covered = coverage_interval(y_test, *band, **shape).coverage
    return policy_errors(predicted, truth) | {
        "coverage": float(np.nanmean(covered)),
        "total": pipeline[-1].step_total_sobol_indices_,
        "verdict": words,
    }


def _verdict(pipeline: Pipeline, X: np.ndarray, y: np.ndarray) -> str:
    if len(X) < 10:
        return "too few members"
    try:
        found = verdict(pipeline, X, y)
    except ValueError as error:
        return f"refused: {str(error)[:60]}"
    judged = [step for step in found.steps if step.q2 == step.q2]
    return f"{sum(step.attributable for step in judged)} of {len(judged)}"


def fixed_reward(task: str, preset: Preset) -> dict[str, Any]:
    """Train members on the mean reward alone: all that varies is training noise.

    Under our settings and under the paper's. The share is the variance of log-ratios
    between such members over that of members with rewards of their own.
    """
    found = {}
    for settings in ("default", "paper"):
        chosen = TASKS[task].presets[settings]
        n_members = FIXED_REWARD[task]
        chosen = replace(chosen, n_train=n_members, n_test=2)
        study = study_of(task, chosen)
        alike = train_ensemble(
            study.environment,
            mean_reward(study.reward.select(slice(0, n_members)), study.environment),
            chosen.training,
            n_replicates=n_members,
            members=list(range(10_000, 10_000 + n_members)),
        )
        own = train_ensemble(
            study.environment,
            study.reward.select(slice(0, n_members)),
            chosen.training,
            members=list(range(n_members)),
        )
        along = [
            policies_along(study.environment, policies, study.trajectory)
            for policies in (alike, own)
        ]
        split = variance_decomposition(
            along[1].y, control=along[0].y, steps=along[1].steps, mask=along[1].mask
        )
        found[settings] = {
            "steps": list(along[1].step_names),
            "share": np.asarray(split.aitchison_variance.noise_share),
        }
    return found


def tables() -> str:
    """Return a table of each task and source, from the stored results."""
    parts = []
    for task in TASKS:
        found = load(RESULTS / f"controls_{task}.json")
        if not found:
            continue
        fixed = found.pop("fixed reward", None)
        head = ["variant"]
        for source in found:
            head += [f"{source}: MAE", "Q²", "coverage", "drift", "verdict"]
        lines = [
            [name, *chain(*(_cells(rows.get(name)) for rows in found.values()))]
            for name in next(iter(found.values()))
        ]
        parts.append(f"## {task}\n\n{table(head, lines)}")
        if fixed is not None:
            parts.append(_fixed_words(fixed))
    return "\n".join(parts)


def _cells(row: dict[str, Any] | None) -> list[str]:
    if row is None:
        return ["–"] * 5
    drift = "–" if row["drift"] is None else f"{row['drift']:.2f}"
    figures = f"{row['mae']:.4f}", f"{row['q2']:.2f}", f"{row['coverage']:.2f}"
    return [*figures, drift, row["verdict"]]


def _fixed_words(fixed: dict[str, Any]) -> str:
    sentences = []
    for settings, found in fixed.items():
        shares = ", ".join(
            f"{step} {share:.0%}"
            for step, share in zip(found["steps"], found["share"], strict=True)
            if share is not None
        )
        sentences.append(f"{settings}: {shares}")
    return (
        "Fixed-reward control, variance between members of one reward over that of "
        f"members with their own: {'; '.join(sentences)}.\n"
    )


def main() -> None:
    arguments = options(__doc__, tasks=TASKS, runs=Path, page=Path)
    warnings.simplefilter("ignore")  # of fits that are meant to be bad
    for task in arguments.tasks if arguments.runs is not None else ():
        path = RESULTS / f"controls_{task}.json"
        found = load(path)
        measure_task(task, arguments.runs, found, partial(save, path, found))
    if arguments.page is not None:
        publish(tables(), arguments.page)


if __name__ == "__main__":
    main()
