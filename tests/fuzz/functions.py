"""Calls of every public function, and of the classes that are no estimators."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np

import skpce
from skpce import ensembles, metrics, sample_size
from tests.fuzz import invariants as true
from tests.fuzz import values as draw
from tests.fuzz.decisions import DECISIONS
from tests.fuzz.displays import DISPLAYS
from tests.fuzz.inspections import INSPECTIONS
from tests.fuzz.models import (
    Drawn,
    Generator,
    a_seed,
    fitted_model,
    normal_regression,
    policies,
    size,
)
from tests.shared import ridge_surrogate

# Basis and steps


def _pack(rng: Generator) -> Drawn:
    _, y, steps = policies(rng)
    blocks = np.split(y, np.cumsum(steps)[:-1], axis=1)
    return skpce.pack_steps, {"policies": blocks}, lambda f: true.finite("y", f[0])


# Files and the report


def _saved(rng: Generator) -> Drawn:
    fitted, X, _ = fitted_model(rng)
    folder = tempfile.mkdtemp()

    def save(estimator: Any, path: Any) -> Any:
        if isinstance(path, (str, bytes)):
            path = type(path)()
        skpce.save_model(estimator, path)
        return skpce.load_model(path)

    def faults(loaded: Any) -> true.Faults:
        if not np.array_equal(fitted.predict(X), loaded.predict(X)):
            yield "a reloaded model predicts something else"

    fitted = fitted[-1] if hasattr(fitted, "named_steps") else fitted
    X = X[:, : fitted.n_features_in_]
    return save, {"estimator": fitted, "path": Path(folder) / "model"}, faults


def _explained(rng: Generator) -> Drawn:
    X, y = normal_regression(rng)
    given: dict[str, Any] = {"data": X, "y": y}
    if rng.random() < 0.3:
        given["groups"] = np.arange(len(X)) // 3
    if rng.random() < 0.3:
        given["order"] = draw.one_of(rng, [False, np.arange(len(X))])

    def faults(answer: Any) -> true.Faults:
        table = answer.drivers
        for name in ("first", "total"):
            ends = ("_low", "", "_high")
            low, value, high = (table.columns[f"{name}{end}"] for end in ends)
            if ((low > value + 1e-12) | (value > high + 1e-12)).any():
                yield f"{name} lies outside its interval"
        yield from true.between("p_value", table.p_value, high=1.0)

    return skpce.explain, given, faults


def _reported(rng: Generator) -> Drawn:
    fitted, X, y = fitted_model(rng)

    def faults(page: Any) -> true.Faults:
        if "<html" not in page:
            yield "no page"

    given = {"pipeline": fitted, "X_test": X, "y_test": y, "title": "<b>&"}
    return skpce.report, given, faults


# Metrics


def _tables(rng: Generator) -> tuple[Any, Any, tuple[int, ...]]:
    X = rng.normal(size=(size(rng), 2))
    y, steps = draw.compositions(rng, X)
    sums = np.add.reduceat(y, np.cumsum([0, *steps[:-1]]), axis=1)
    y = y / np.repeat(sums, steps, axis=1)
    other = 0.9 * y + 0.1 / np.repeat(steps, steps)
    return y, other, steps


def _distance(rng: Generator) -> Drawn:
    y, other, steps = _tables(rng)
    given = {"p": y, "q": other, "steps": steps}
    return metrics.total_variation_distance, given, partial(true.between, "distance")


def _covered(rng: Generator) -> Drawn:
    y, other, steps = _tables(rng)
    width = rng.uniform(0, 0.2)
    given = {"y_true": y, "lower": other - width, "upper": other + width}

    def faults(found: Any) -> true.Faults:
        yield from true.between("coverage", found.coverage, nan=True)
        yield from true.ordered("coverage", found.lower, found.upper, nan=True)

    return metrics.coverage_interval, given | {"steps": steps}, faults


def _scored(rng: Generator) -> Drawn:
    y, other, steps = _tables(rng)
    draws = np.stack([other, other[rng.permutation(len(other))], other])
    given = {"y_true": y, "draws": draws, "steps": steps}
    positive = partial(true.between, "score", low=0.0, high=np.inf, nan=True)
    return metrics.crps_score, given, positive


def _fragile(rng: Generator) -> Drawn:
    y, _, steps = _tables(rng)

    def faults(found: Any) -> true.Faults:
        yield from true.between("total variation", found.total_variation, nan=True)

    return metrics.policy_fragility, {"y": y, "steps": steps}, faults


def _blocks(rng: Generator) -> Drawn:
    X, y = normal_regression(rng)
    given = {"X": X, "y": y, "n_rows": draw.one_of(rng, [None, 1, 7, 1000])}

    def blocks(**given: Any) -> list[Any]:
        return list(ensembles.member_blocks(**given))

    def faults(found: Any) -> true.Faults:
        if sum(len(block[0]) for block in found) != given["X"].shape[0]:
            yield "the blocks hold another number of members"

    return wraps(ensembles.member_blocks)(blocks), given, faults


def _excess(rng: Generator) -> Drawn:
    _, y, steps = policies(rng)
    given = {"y": y, "steps": steps, "n_draws": 64, "random_state": a_seed(rng)}
    if rng.random() < 0.3:
        given["noise_scale"] = draw.one_of(rng, [0.1, 1.0, 10.0, 1e-6, 1e3])
    if rng.random() < 0.3:
        given["sample_weight"] = draw.weights(rng, len(y))

    def faults(found: Any) -> true.Faults:
        for name, values in vars(found).items():
            if isinstance(values, np.ndarray) and values.dtype.kind == "f":
                yield from true.between(name, values, 0.0, np.inf, nan=True)
        found.to_frame()

    return metrics.excess_fragility, given, faults


def _scorer(rng: Generator) -> Drawn:
    X, y, steps = policies(rng)
    model = ridge_surrogate(1, steps=steps)
    fitted = model.fit(X, y)

    def score(steps: Any, zero_replacement: float) -> Any:
        scorer = metrics.aitchison_scorer(steps, zero_replacement=zero_replacement)
        values = [scorer(fitted, X, y), metrics.neg_kl_divergence_scorer(fitted, X, y)]
        return np.array(values)

    given = {"steps": steps, "zero_replacement": 1e-12}
    return score, given, partial(true.between, "score", low=-np.inf, high=0.0)


# Sample size


def _components(rng: Generator) -> Drawn:
    item, prompt = np.divmod(np.arange(60), 5)
    y = rng.normal(size=12)[item] * rng.integers(2) + rng.normal(size=60)
    table = {"item": item, "prompt": prompt, "score": y}
    kept = rng.random(60) < rng.uniform(0.6, 1.0)
    given = {"score": "score", "random": ["item", "prompt"], "fixed": []}
    given["table"] = {name: values[kept] for name, values in table.items()}
    given["confidence_level"] = float(rng.uniform(0.6, 0.99))

    def faults(found: Any) -> true.Faults:
        yield from true.between("variance", found.variance, 0.0, np.inf)
        yield from true.between("share", found.share, 0.0, 1.0)
        yield from true.between("p-values", found.p_value, 0.0, 1.0, nan=True)
        if (found.variance_low > found.variance + 1e-12).any():
            yield "an interval begins above its estimate"

    return skpce.variance_components, given, faults


def _required(rng: Generator) -> Drawn:
    fitted, _, _ = fitted_model(rng)
    given = {"estimator": fitted, "tolerance": 0.1}

    def faults(found: Any) -> true.Faults:
        yield from true.between("bound", found.bound, nan=True)
        yield from true.between("needed", found.n_required, 1, np.inf, nan=True)

    return sample_size.required_ensemble_size, given, faults


def _expansion(rng: Generator) -> Drawn:
    X, _ = normal_regression(rng)
    basis = skpce.PolynomialChaosFeatures(2, distribution="normal").fit(X).basis_
    n_outputs = int(rng.integers(1, 4))
    coefficients = rng.normal(size=(n_outputs, len(basis.multi_indices)))
    given = {"basis": basis, "coefficients": coefficients}

    def faults(found: Any) -> true.Faults:
        indices = found.sobol_indices()
        yield from true.shares("indices", indices.first_order, indices.total_order)
        yield from true.closed("shapley", found.shapley_effects())

    return skpce.Expansion, given, faults


#: Every public function by name, with what draws its arguments.
FUNCTIONS: Mapping[str, Callable[[Generator], Drawn]] = {
    **INSPECTIONS,
    **DECISIONS,
    **DISPLAYS,
    "skpce.Expansion": _expansion,
    "skpce.explain": _explained,
    "skpce.load_model": _saved,
    "skpce.pack_steps": _pack,
    "skpce.report": _reported,
    "skpce.save_model": _saved,
    "skpce.variance_components": _components,
    "skpce.metrics.aitchison_scorer": _scorer,
    "skpce.metrics.coverage_interval": _covered,
    "skpce.metrics.crps_score": _scored,
    "skpce.metrics.neg_kl_divergence_scorer": _scorer,
    "skpce.ensembles.member_blocks": _blocks,
    "skpce.metrics.policy_fragility": _fragile,
    "skpce.metrics.excess_fragility": _excess,
    "skpce.metrics.total_variation_distance": _distance,
    "skpce.sample_size.required_ensemble_size": _required,
}

#: Public names that no scene calls, and why.
EXEMPT: Mapping[str, str] = {
    "skpce.show_versions": "takes no argument of ours",
    "skpce.ensembles.DriverImportanceEvaluator": "asks explain about a study, no more",
    "skpce.ensembles.Ensemble": "a result, made by the calls",
    "skpce.embedding.BetaVAE": "needs torch; the contract of estimators holds it",
    "skpce.embedding.NormalizingFlow": "as the other network",
}
