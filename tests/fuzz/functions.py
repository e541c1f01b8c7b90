"""Calls of every public function, and of the classes that are no estimators."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import skpce
from skpce import decision, ensembles, inspection, metrics, sample_size
from tests.fuzz import invariants as true
from tests.fuzz import values as draw
from tests.fuzz.estimators import LAWS, SEEDS, named
from tests.fuzz.judge import Case, Outcome, judge

Generator = np.random.Generator
Drawn = tuple[Any, dict[str, Any], Callable[[Any], Any]]  # callable, arguments, faults

#: Parameters that are never given a wrong value: they only cost time.
_COSTS = frozenset({"n_jobs", "progress", "batch_size"})
#: Parameters that are functions of the caller.
_CALLED = frozenset({"model", "combine", "outcome", "utility"})


def scene_of_function(rng: Generator, valid: bool) -> Iterator[Outcome]:
    """Call one function, with one spoiled argument or none."""
    name = draw.one_of(rng, sorted(FUNCTIONS))
    function, given, faults = FUNCTIONS[name](rng)
    parameters = sorted(named(function) - _COSTS)
    spoiled = "nothing" if valid else draw.one_of(rng, parameters)
    if spoiled != "nothing":
        before = given.get(spoiled)
        table = isinstance(before, np.ndarray) and before.dtype.kind == "f"
        if table and rng.random() < 0.8:
            given[spoiled] = draw.corrupted(rng, before)
        else:
            given[spoiled] = draw.one_of(rng, draw.BAD_VALUES)
            # A callable of the caller may raise what it likes.
            if callable(given[spoiled]) and spoiled in _CALLED:
                given[spoiled] = 1
    shown = {key: _short(value) for key, value in given.items()}
    yield judge(
        Case(
            name,
            lambda: function(**given),
            faults,
            frozenset(parameters) | named(skpce.CompositionalPCESurrogate),
            f"{name}({shown}); spoiled: {spoiled}",
        )
    )


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of {value.dtype} {value.shape}"
    return repr(value)[:80]


# Models and ensembles


def _size(rng: Generator) -> int:
    return int(draw.one_of(rng, [4, 6, 10, 20, 30]))


def _regression(rng: Generator) -> tuple[Any, Any]:
    X = draw.inputs(rng, _size(rng))
    return X, draw.targets(rng, X, may_lack=False)


def _policies(rng: Generator) -> tuple[Any, Any, tuple[int, ...]]:
    X = rng.normal(size=(_size(rng), int(rng.integers(1, 4))))
    return X, *draw.compositions(rng, X)


def _normal_regression(rng: Generator) -> tuple[Any, Any]:
    X = rng.normal(size=(_size(rng), int(rng.integers(1, 4))))
    return X, draw.targets(rng, X, may_lack=False)


def _fitted(rng: Generator) -> tuple[Any, Any, Any]:
    """Return a fitted regressor or surrogate, perhaps in a pipeline, and its data."""
    if rng.random() < 0.5:
        X, y, steps = _policies(rng)
        last: Any = skpce.CompositionalPCESurrogate(2, steps=steps)
    else:
        X, y = _normal_regression(rng)
        last = skpce.PolynomialChaosRegressor(2)
    if X.shape[1] > 1 and rng.random() < 0.4:
        last = make_pipeline(PCA(1, whiten=True), last)
    return last.fit(X, y), X, y


def _unfitted(rng: Generator) -> tuple[Any, Any, Any, dict[str, Any]]:
    if rng.random() < 0.5:
        X, y, steps = _policies(rng)
        return skpce.CompositionalPCESurrogate(1, steps=steps), X, y, {}
    X, y = _normal_regression(rng)
    return skpce.PolynomialChaosRegressor(1), X, y, {}


# Basis and steps


def _count(rng: Generator) -> Drawn:
    return (
        skpce.count_terms,
        _truncation(rng),
        lambda n: true.between("n", n, 1, np.inf),
    )


def _build(rng: Generator) -> Drawn:
    given = _truncation(rng)

    def faults(rows: Any) -> true.Faults:
        if len(rows) != skpce.count_terms(**given):
            yield "another number of terms than counted"
        if rows[0].any() or len(np.unique(rows, axis=0)) < len(rows):
            yield "no constant in front, or terms twice"

    return skpce.build_multi_indices, given, faults


def _truncation(rng: Generator) -> dict[str, Any]:
    d = int(rng.integers(1, 6))
    given: dict[str, Any] = {"n_features": d, "degree": int(rng.integers(0, 7))}
    options = {
        "q": draw.one_of(rng, [1.0, 0.9, 0.5, 0.1, 1e-6]),
        "interaction_order": draw.one_of(rng, [None, 1, 2, 9]),
        "anisotropy": rng.uniform(0.3, 3.0, size=d),
        "largest": rng.integers(0, 5, size=d).astype(float),
    }
    return given | {k: v for k, v in options.items() if rng.random() < 0.4}


def _pack(rng: Generator) -> Drawn:
    _, y, steps = _policies(rng)
    blocks = np.split(y, np.cumsum(steps)[:-1], axis=1)
    return skpce.pack_steps, {"policies": blocks}, lambda f: true.finite("y", f[0])


def _unpack(rng: Generator) -> Drawn:
    _, y, steps = _policies(rng)

    def faults(found: Any) -> true.Faults:
        if not np.array_equal(np.hstack(found), given["y"], equal_nan=True):
            yield "the steps are not the columns of y"

    given = {"y": y, "steps": steps}
    return skpce.unpack_steps, given, faults


# Files and the report


def _saved(rng: Generator) -> Drawn:
    fitted, X, _ = _fitted(rng)
    folder = tempfile.mkdtemp()

    def save(estimator: Any, path: Any) -> Any:
        if isinstance(path, (str, bytes)):
            path = type(path)()
        skpce.save_model(estimator, path)
        return skpce.load_model(path)

    def faults(loaded: Any) -> true.Faults:
        if not np.array_equal(fitted.predict(X), loaded.predict(X)):
            yield "a reloaded model predicts something else"

    fitted = (
        fitted[-1]
        if hasattr(fitted, "steps") and hasattr(fitted, "named_steps")
        else fitted
    )
    X = X[:, : fitted.n_features_in_]
    return save, {"estimator": fitted, "path": Path(folder) / "model"}, faults


def _reported(rng: Generator) -> Drawn:
    fitted, X, y = _fitted(rng)

    def faults(page: Any) -> true.Faults:
        if "<html" not in page:
            yield "no page"

    given = {"pipeline": fitted, "X_test": X, "y_test": y, "title": "<b>&"}
    return skpce.report, given, faults


# Metrics


def _tables(rng: Generator) -> tuple[Any, Any, tuple[int, ...]]:
    X = rng.normal(size=(_size(rng), 2))
    y, steps = draw.compositions(rng, X)
    y = y / np.repeat(
        np.stack([b.sum(axis=1) for b in np.split(y, np.cumsum(steps)[:-1], 1)], 1),
        steps,
        axis=1,
    )
    other = 0.9 * y + 0.1 / np.repeat(steps, steps)
    return y, other, steps


def _pair(name: str, low: float, high: float) -> Callable[[Generator], Drawn]:
    def make(rng: Generator) -> Drawn:
        y, other, steps = _tables(rng)
        function = getattr(metrics, name)
        first, second = ("p", "q") if "p" in named(function) else ("y_true", "y_pred")
        given: dict[str, Any] = {first: y, second: other}
        if "steps" in named(function):
            given["steps"] = steps
        if "mask" in named(function):
            given["mask"] = np.ones(y.shape[1], dtype=bool)
        if "sample_weight" in named(function):
            given["sample_weight"] = rng.uniform(0.1, 2.0, size=len(y))
        return function, given, partial(true.between, name, low=low, high=high)

    return make


def _covered(name: str) -> Callable[[Generator], Drawn]:
    def make(rng: Generator) -> Drawn:
        y, other, steps = _tables(rng)
        width = rng.uniform(0, 0.2)
        given = {"lower": other - width, "upper": other + width, "steps": steps}
        function = getattr(metrics, name)
        if "y_true" in named(function):
            given["y_true"] = y

        def faults(found: Any) -> true.Faults:
            values = getattr(found, "coverage", found)
            high = np.inf if name == "interval_width_score" else 1.0
            yield from true.between(name, values, 0.0, high, nan=True)
            if hasattr(found, "coverage"):
                yield from true.ordered(name, found.lower, found.upper, nan=True)

        return function, given, faults

    return make


def _drawn(name: str) -> Callable[[Generator], Drawn]:
    def make(rng: Generator) -> Drawn:
        y, other, steps = _tables(rng)
        draws = np.stack([other, other[rng.permutation(len(other))], other])
        function = getattr(metrics, name)
        given = {"y_true": y, "draws": draws, "steps": steps}
        if "random_state" in named(function):
            given["random_state"] = draw.one_of(rng, SEEDS)

        def faults(found: Any) -> true.Faults:
            values = getattr(found, "p_values", found)
            unbounded = name in ("energy_score", "crps_score")
            high = np.inf if unbounded else 1.0
            yield from true.between(name, values, 0.0, high, nan=True)

        return function, given, faults

    return make


def _ks(rng: Generator) -> Drawn:
    y, other, steps = _tables(rng)
    given = {"y_true": y, "y_samples": other, "steps": steps}
    return (
        metrics.ks_indistinguishable_fraction,
        given,
        lambda found: true.between("p", found.p_values, nan=True),
    )


def _fragile(rng: Generator) -> Drawn:
    y, _, steps = _tables(rng)

    def faults(found: Any) -> true.Faults:
        yield from true.between("total variation", found.total_variation, nan=True)

    return metrics.policy_fragility, {"y": y, "steps": steps}, faults


def _scorer(rng: Generator) -> Drawn:
    X, y, steps = _policies(rng)
    model = skpce.CompositionalPCESurrogate(1, steps=steps)
    fitted = model.fit(X, y)

    def score(steps: Any, zero_replacement: float) -> Any:
        scorer = metrics.aitchison_scorer(steps, zero_replacement=zero_replacement)
        values = [
            scorer(fitted, X, y),
            metrics.neg_kl_divergence_scorer(fitted, X, y),
            metrics.neg_policy_mae_scorer(fitted, X, y),
        ]
        return np.array(values)

    given = {"steps": steps, "zero_replacement": 1e-12}
    return score, given, partial(true.between, "score", low=-np.inf, high=0.0)


# Sample size


def _bound(rng: Generator) -> Drawn:
    given = {
        "noise_variance": float(rng.uniform(0, 3)),
        "n_members": int(rng.integers(5, 300)),
        "n_terms": int(rng.integers(1, 5)),
        "smallest_eigenvalue": float(rng.uniform(0.01, 1.0)),
        "confidence_level": draw.one_of(rng, [0.5, 0.95, 0.999]),
        "method": draw.one_of(rng, ["chi2", "markov", "f"]),
        "isotropic": bool(rng.random() < 0.3),
    }
    function = sample_size.coefficient_error_bound
    return function, given, partial(true.between, "bound", low=0.0, high=np.inf)


def _paper_size(rng: Generator) -> Drawn:
    given = {
        "n_terms": int(rng.integers(1, 30)),
        "noise_variance": float(rng.uniform(0.01, 3)),
        "signal_variance": float(rng.uniform(0.01, 3)),
        "n_features": int(rng.integers(1, 9)),
        "n_actions": int(rng.integers(2, 9)),
    }
    function = sample_size.paper_ensemble_size
    return function, given, partial(true.between, "size", low=0.0, high=np.inf)


def _required(rng: Generator) -> Drawn:
    fitted, _, _ = _fitted(rng)
    given = {"estimator": fitted, "n_designs": 3, "tolerance": 0.1}

    def faults(found: Any) -> true.Faults:
        yield from true.between("bound", found.bound, nan=True)
        yield from true.between("needed", found.n_required, 1, np.inf, nan=True)

    return sample_size.required_ensemble_size, given, faults


def _eigenvalue(rng: Generator) -> Drawn:
    design = rng.normal(size=(_size(rng), int(rng.integers(1, 4))))
    function = sample_size.smallest_eigenvalue
    return (
        function,
        {"design": design},
        partial(true.between, "eigenvalue", low=0.0, high=np.inf),
    )


def _error_bound(rng: Generator) -> Drawn:
    given = {
        "squared_error": rng.uniform(0, 2, 4),
        "total_variance": rng.uniform(0, 2, 4),
    }
    return sample_size.sobol_error_bound, given, partial(true.between, "bound")


def _error_interval(rng: Generator) -> Drawn:
    given = {
        "index": rng.uniform(0, 1, 4),
        "squared_error": rng.uniform(0, 2, 4),
        "total_variance": rng.uniform(0, 2, 4),
    }

    def faults(found: Any) -> true.Faults:
        yield from true.intervals("interval", *found)
        yield from true.between("interval", found)

    return sample_size.sobol_error_interval, given, faults


# Inspection


def _result(found: Any) -> true.Faults:
    str(found)
    for name, values in found.columns.items():
        array = np.asarray(values)
        if name == "p_value":
            yield from true.between(name, array, nan=True)
        elif name == "q2":
            yield from true.q2(name, array)
        elif array.dtype.kind == "f" and np.isinf(array).any() and "q2" not in name:
            yield f"{name} is infinite"


def _shares_of(found: Any) -> true.Faults:
    yield from _result(found)
    columns = found.columns
    if {"first_order", "total_order"} <= set(columns):
        first, total = columns["first_order"], columns["total_order"]
        yield from true.shares("indices", first, total, nan=True)


def _verdict(rng: Generator) -> Drawn:
    model, X, y, given = _unfitted(rng)
    given |= {"pipeline": model, "X": X, "y": y, "n_permutations": 19, "cv": 3}
    given["random_state"] = draw.one_of(rng, SEEDS)
    if rng.random() < 0.3:
        half = (len(X) + 1) // 2
        given["X"] = np.repeat(X[:half], 2, axis=0)[: len(X)]
        given["reward"] = np.repeat(np.arange(half), 2)[: len(X)]
    return inspection.verdict, given, _result


def _embeddings(rng: Generator) -> Drawn:
    X = rng.normal(size=(24, 4))
    y = draw.signal_of(rng, X)
    given = {
        "candidates": {"pca": PCA(whiten=True)},
        "X": X,
        "y": y,
        "dimensions": (1, 2),
        "degrees": (1,),
        "surrogate": skpce.PolynomialChaosRegressor(1),
        "cv": 3,
        "inner_cv": 3,
        "n_permutations": 19,
        "random_state": 0,
    }
    return inspection.compare_embeddings, given, _result


def _input_tests(rng: Generator) -> Drawn:
    return inspection.input_tests, {"X": draw.inputs(rng)}, true.nothing


def _noise_test(rng: Generator) -> Drawn:
    fitted, _, _ = _fitted(rng)
    given = {"pipeline": fitted, "n_permutations": 19, "random_state": 0}
    return inspection.noise_test, given, _result


def _back(rng: Generator) -> Drawn:
    fitted, X, _ = _fitted(rng)
    return inspection.back_to_reward, {"pipeline": fitted, "X": X}, _result


def _original(rng: Generator) -> Drawn:
    fitted, X, _ = _fitted(rng)
    given = {"pipeline": fitted, "X": X, "n_samples": 4096, "random_state": 0}
    return inspection.original_space_indices, given, _result


def _dependent(rng: Generator) -> Drawn:
    fitted, X, _ = _fitted(rng)
    given = {"estimator": fitted, "X": X, "n_samples": 1024, "random_state": 0}
    return inspection.dependent_sobol_indices, given, _result


def _any_model(name: str) -> Callable[[Generator], Drawn]:
    def make(rng: Generator) -> Drawn:
        X, y = _normal_regression(rng)
        given = {
            "estimator": LinearRegression().fit(X, y),
            "X": X,
            "distribution": draw.one_of(rng, ["empirical", "normal", "uniform"]),
            "degree": draw.one_of(rng, [None, 1, 2]),
            "n_samples": 60,
            "n_held_out": 20,
            "random_state": 0,
        }
        return getattr(inspection, name), given, _shares_of

    return make


def _noise_share(rng: Generator) -> Drawn:
    _, y, steps = _policies(rng)
    reward = np.repeat(np.arange((len(y) + 1) // 2), 2)[: len(y)]
    given = {"y": y, "steps": steps, "reward": reward}
    function = inspection.training_noise_share
    return function, given, partial(true.between, "share", high=np.inf, nan=True)


def _decomposition(rng: Generator) -> Drawn:
    _, given, _ = _noise_share(rng)
    return inspection.variance_decomposition, given, _result


def _parts(rng: Generator) -> Drawn:
    n = int(rng.integers(4, 30))
    shape = (n, *draw.one_of(rng, [(), (2,), (2, 3)]))
    parts = {"a": rng.normal(size=shape), "b": rng.normal(size=shape)}
    if rng.random() < 0.3:
        parts["c"] = draw.one_of(rng, [0.0, 1.0, 1e60]) * rng.normal(size=shape)
    given = {
        "model": lambda z: np.tanh(z).reshape(len(z), -1).sum(axis=1),
        "parts": parts,
        "n_draws": 16,
        "random_state": 0,
        "shapley": bool(rng.random() < 0.3),
        "sets": draw.one_of(rng, [None, None, {"both": ["a", "b"]}]),
    }

    def faults(found: Any) -> true.Faults:
        yield from _result(found)
        for name in ("first", "total", "interaction"):
            yield from true.finite(name, found.columns[name])

    return inspection.part_effects, given, faults


def _entries(rng: Generator) -> Drawn:
    n = int(rng.integers(4, 30))
    parts = {"a": rng.normal(size=(n, 3)), "b": rng.normal(size=(n, 3))}
    given = {
        "model": lambda z: np.asarray(z).reshape(len(z), -1) @ np.ones(3),
        "parts": parts,
        "part": draw.one_of(rng, ["a", "b"]),
        "n_best": int(rng.integers(1, 5)),
    }
    return inspection.part_entries, given, _result


def _parts_of_members(rng: Generator) -> Drawn:
    n = int(draw.one_of(rng, [12, 20, 30]))
    parts = {"a": rng.normal(size=n), "b": rng.normal(size=(n, 2))}
    y = parts["a"] + rng.normal(size=n) * draw.one_of(rng, [0.0, 0.1, 1.0])
    given = {
        "parts": parts,
        "y": y,
        "n_components": 1,
        "cv": 3,
        "n_permutations": 19,
        "random_state": 0,
    }
    return inspection.part_effects_from_members, given, _result


def _table_parts(rng: Generator) -> Drawn:
    table = rng.normal(size=(5, 2, 3, 2))
    given = {"table": table, "factors": ["f", "g", "h"], "order": 2}

    def faults(found: Any) -> true.Faults:
        if not np.allclose(sum(found.values()), given["table"]):
            yield "the parts do not add up to the table"

    return inspection.parts_of_table, given, faults


# Ensembles and decisions


def _frame(rng: Generator) -> Drawn:
    X, y = _regression(rng)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    frame["y"] = y if y.ndim == 1 else y[:, 0]
    inputs = [name for name in frame if name != "y"]
    given = {"frame": frame, "inputs": inputs, "outputs": ["y"]}
    return ensembles.from_frame, given, true.nothing


def _search(rng: Generator) -> Drawn:
    n = _size(rng)
    results = {
        "params": [{"a": float(v), "b": int(k)} for k, v in enumerate(rng.random(n))],
        "param_a": rng.random(n),
        "param_b": np.arange(n),
        "mean_test_score": rng.random(n),
        "split0_test_score": rng.random(n),
        "split1_test_score": rng.random(n),
    }
    results["param_a"] = np.array([p["a"] for p in results["params"]])
    return ensembles.from_cv_results, {"cv_results": results}, true.nothing


def _study(rng: Generator) -> Drawn:
    trials = [
        SimpleNamespace(
            params={"a": float(v)},
            distributions={
                "a": SimpleNamespace(low=0.0, high=1.0, log=False, step=None)
            },
            state=SimpleNamespace(name="COMPLETE"),
            values=[float(v)],
            number=i,
        )
        for i, v in enumerate(rng.random(_size(rng)))
    ]
    study = SimpleNamespace(trials=trials, directions=[None], metric_names=None)
    given = {"study": study, "law": draw.one_of(rng, ["space", "tried"])}
    return ensembles.from_study, given, true.nothing


def _sampled(rng: Generator) -> Drawn:
    laws = {
        f"x{i}": draw.one_of(rng, LAWS[-6:]) for i in range(int(rng.integers(1, 4)))
    }
    given = {"laws": laws, "n": int(rng.integers(1, 40)), "random_state": 0}
    given["method"] = draw.one_of(rng, ["sobol", "lhs", "random"])

    def faults(found: Any) -> true.Faults:
        yield from true.finite("inputs", np.asarray(found))

    return ensembles.sample_inputs, given, faults


def _sliced(rng: Generator) -> Drawn:
    given = {
        "n_members": int(rng.integers(1, 40)),
        "n_slices": int(rng.integers(1, 6)),
        "rate": float(rng.uniform(0.1, 0.9)),
        "random_state": 0,
    }
    return ensembles.slice_design, given, true.nothing


def _belief(rng: Generator) -> Drawn:
    given = {
        "particles": rng.normal(size=(_size(rng), 2)),
        "names": ("a", "b"),
    }

    def faults(found: Any) -> true.Faults:
        yield from true.finite("mean", found.mean)
        yield from true.between("weights", np.sum(found.weights), 1.0, 1.0)
        yield from true.between("size", found.effective_sample_size, 1.0, np.inf)

    return decision.InputBelief, given, faults


def _thompson(rng: Generator) -> Drawn:
    X, y, steps = _policies(rng)
    surrogate = skpce.CompositionalPCESurrogate(1, steps=steps).fit(X, y)

    def choose(
        surrogate: Any, rule: str, greedy: bool, n_particles: int, n_draws: int
    ) -> Any:
        policy = decision.ThompsonPolicy(
            surrogate,
            rule=rule,
            greedy=greedy,
            n_particles=n_particles,
            n_draws=n_draws,
            random_state=0,
        )
        return policy.fit().choose()

    def faults(found: Any) -> true.Faults:
        for block in found.policy:
            yield from true.simplex("policy", np.atleast_2d(block), (len(block),))

    given = {
        "surrogate": surrogate,
        "rule": draw.one_of(rng, ["draw", "average"]),
        "greedy": bool(rng.random() < 0.5),
        "n_particles": 20,
        "n_draws": 5,
    }
    return choose, given, faults


def _known(rng: Generator) -> Drawn:
    X = rng.normal(size=(_size(rng) + 6, 2))
    slopes = rng.normal(size=(2, int(rng.integers(2, 5))))
    given = {
        "surrogate": skpce.PolynomialChaosRegressor(
            int(rng.integers(1, 3)),
            distribution=draw.one_of(rng, ["normal", "uniform"]),
        ),
        "X": X,
        "utility": X @ slopes + rng.normal(size=(len(X), slopes.shape[1])),
        "decision": draw.one_of(rng, ["argmax", "softmax"]),
        "form": draw.one_of(rng, ["marginal", "regression"]),
        "n_observations": draw.one_of(rng, [None, 3]),
        "noise_sd": 0.5,
        "costs": draw.one_of(rng, [None, 0.1]),
        "n_permutations": 19,
        "n_resamples": 3,
        "n_samples": 128,
        "random_state": 0,
    }

    def faults(found: Any) -> true.Faults:
        yield from true.finite("plug_in", found.plug_in)
        yield from true.between("plug_in", found.plug_in, 0.0, np.inf)
        yield from true.between("flips", found.flip_probability, 0.0, 1.0)
        yield from true.between("shares", found.variance_share, 0.0, 1.0 + 1e-9)

    return decision.value_of_information, given, faults


def _gradient(rng: Generator) -> Drawn:
    root = rng.normal(size=(3, 3))
    given = {
        "mean": rng.normal(size=3),
        "covariance": root @ root.T,
        "noise_sd": float(rng.uniform(0.0, 2.0)),
        "measurements": draw.one_of(rng, [None, rng.normal(size=(4, 3))]),
    }

    def faults(found: Any) -> true.Faults:
        yield from true.finite("gradient", found)
        yield from true.between("gradient", found, 0.0, np.inf)

    return decision.knowledge_gradient, given, faults


def _measured(rng: Generator) -> Drawn:
    slopes = rng.normal(size=(2, 3))
    given = {
        "belief": decision.InputBelief(rng.normal(size=(_size(rng), 2))),
        "by": draw.one_of(rng, ["knowledge_gradient", "evppi", "variance"]),
        "outcome": lambda x: x @ slopes,
        "noise_sd": float(rng.uniform(0.1, 2.0)),
    }

    def faults(found: Any) -> true.Faults:
        yield from true.finite("worth", found.worth)
        yield from true.between("worth", found.worth, 0.0, np.inf)

    return decision.measure_next, given, faults


def _expansion(rng: Generator) -> Drawn:
    X, _ = _normal_regression(rng)
    basis = skpce.PolynomialChaosFeatures(2).fit(X).basis_
    n_outputs = int(rng.integers(1, 4))
    given = {
        "basis": basis,
        "coefficients": rng.normal(size=(n_outputs, len(basis.multi_indices))),
    }

    def faults(found: Any) -> true.Faults:
        indices = found.sobol_indices()
        yield from true.shares("indices", indices.first_order, indices.total_order)
        yield from true.closed("shapley", found.shapley_effects())

    return skpce.Expansion, given, faults


#: Every public function by name, with what draws its arguments.
FUNCTIONS: Mapping[str, Callable[[Generator], Drawn]] = {
    "skpce.Expansion": _expansion,
    "skpce.build_multi_indices": _build,
    "skpce.count_terms": _count,
    "skpce.load_model": _saved,
    "skpce.pack_steps": _pack,
    "skpce.report": _reported,
    "skpce.save_model": _saved,
    "skpce.unpack_steps": _unpack,
    "skpce.decision.InputBelief": _belief,
    "skpce.decision.ThompsonPolicy": _thompson,
    "skpce.decision.knowledge_gradient": _gradient,
    "skpce.decision.measure_next": _measured,
    "skpce.decision.value_of_information": _known,
    "skpce.ensembles.from_cv_results": _search,
    "skpce.ensembles.from_frame": _frame,
    "skpce.ensembles.from_study": _study,
    "skpce.ensembles.sample_inputs": _sampled,
    "skpce.ensembles.slice_design": _sliced,
    "skpce.inspection.back_to_reward": _back,
    "skpce.inspection.compare_embeddings": _embeddings,
    "skpce.inspection.dependent_sobol_indices": _dependent,
    "skpce.inspection.input_tests": _input_tests,
    "skpce.inspection.noise_test": _noise_test,
    "skpce.inspection.original_space_indices": _original,
    "skpce.inspection.part_effects": _parts,
    "skpce.inspection.part_entries": _entries,
    "skpce.inspection.part_effects_from_members": _parts_of_members,
    "skpce.inspection.parts_of_table": _table_parts,
    "skpce.inspection.shapley_effects": _any_model("shapley_effects"),
    "skpce.inspection.sobol_indices": _any_model("sobol_indices"),
    "skpce.inspection.training_noise_share": _noise_share,
    "skpce.inspection.variance_decomposition": _decomposition,
    "skpce.inspection.verdict": _verdict,
    "skpce.metrics.aitchison_distance": _pair("aitchison_distance", 0.0, np.inf),
    "skpce.metrics.aitchison_loss": _pair("aitchison_loss", 0.0, np.inf),
    "skpce.metrics.aitchison_scorer": _scorer,
    "skpce.metrics.coverage_interval": _covered("coverage_interval"),
    "skpce.metrics.crps_score": _drawn("crps_score"),
    "skpce.metrics.energy_score": _drawn("energy_score"),
    "skpce.metrics.interval_width_score": _covered("interval_width_score"),
    "skpce.metrics.jensen_shannon_divergence": _pair(
        "jensen_shannon_divergence", 0.0, 1.0
    ),
    "skpce.metrics.joint_coverage_score": _covered("joint_coverage_score"),
    "skpce.metrics.kl_divergence_loss": _pair("kl_divergence_loss", 0.0, np.inf),
    "skpce.metrics.ks_indistinguishable_fraction": _ks,
    "skpce.metrics.marginal_coverage_score": _covered("marginal_coverage_score"),
    "skpce.metrics.neg_kl_divergence_scorer": _scorer,
    "skpce.metrics.neg_policy_mae_scorer": _scorer,
    "skpce.metrics.pit_uniformity": _drawn("pit_uniformity"),
    "skpce.metrics.pit_values": _drawn("pit_values"),
    "skpce.metrics.policy_fragility": _fragile,
    "skpce.metrics.policy_mean_absolute_error": _pair(
        "policy_mean_absolute_error", 0.0, np.inf
    ),
    "skpce.metrics.total_variation_distance": _pair(
        "total_variation_distance", 0.0, 1.0
    ),
    "skpce.sample_size.coefficient_error_bound": _bound,
    "skpce.sample_size.paper_ensemble_size": _paper_size,
    "skpce.sample_size.required_ensemble_size": _required,
    "skpce.sample_size.smallest_eigenvalue": _eigenvalue,
    "skpce.sample_size.sobol_error_bound": _error_bound,
    "skpce.sample_size.sobol_error_interval": _error_interval,
}

#: Public names that no scene calls, and why.
EXEMPT: Mapping[str, str] = {
    **dict.fromkeys(
        ["skpce.show_versions", "skpce.inspection.Verdict"], "takes no argument of ours"
    ),
    **dict.fromkeys(
        [
            *("skpce.DerivativeSensitivity", "skpce.ExpansionMoments"),
            *("skpce.InteractionIndices", "skpce.NoiseCorrectedIndices"),
            *("skpce.PredictedModes", "skpce.PredictionInterval"),
            *("skpce.ProbabilitySobolIndices", "skpce.SobolIndices"),
            *("skpce.SobolInterval", "skpce.SurrogateDiagnostics"),
            *("skpce.decision.Decision", "skpce.ensembles.Ensemble"),
            *("skpce.inspection.EmbeddingSetting", "skpce.inspection.Result"),
            *("skpce.inspection.ResultRow", "skpce.metrics.CoverageInterval"),
            *("skpce.metrics.PITUniformity", "skpce.metrics.PolicyFragility"),
            *("skpce.metrics.KSComparison", "skpce.sample_size.RequiredEnsembleSize"),
        ],
        "a result, made by the calls and read by their invariants",
    ),
    **dict.fromkeys(
        ["skpce.embedding.BetaVAE", "skpce.embedding.NormalizingFlow"],
        "trains a network; its arguments are in tests/skpce/test_embedding_common.py",
    ),
}
