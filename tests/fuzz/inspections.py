"""Calls of the inspections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression

from skpce import inspection
from tests.fuzz import invariants as true
from tests.fuzz import values as draw
from tests.fuzz.models import (
    Drawn,
    Generator,
    fitted_model,
    normal_regression,
    policies,
    unfitted_model,
)
from tests.shared import ridge_pce, ridge_surrogate


def _result(found: Any) -> true.Faults:
    str(found)
    found._repr_html_()
    if not len(found.to_frame()) and len(next(iter(found.keys.values()))):
        yield "the frame is empty"
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
    if "first_order_low" in columns:  # estimates, each with its error
        first, total = columns["first_order_low"], columns["total_order_high"]
        yield from true.ordered("first and total", first, total, nan=True)
        for name in ("first_order", "total_order"):
            yield from true.between(name, columns[name], nan=True)


def _verdict(rng: Generator) -> Drawn:
    model, X, y = unfitted_model(rng)
    given: dict[str, Any] = {"pipeline": model, "X": X, "y": y, "cv": 3}
    if rng.random() < 0.3:
        half = (len(X) + 1) // 2
        given["X"] = np.repeat(X[:half], 2, axis=0)[: len(X)]
        given["replicate"] = np.repeat(np.arange(half), 2)[: len(X)]
    options = {
        "order": rng.permutation(len(X)).astype(float),
        "noise_share": np.full(_n_groups(model, y), rng.uniform(0, 1)),
        "standardize": not hasattr(model, "steps"),
    }
    given |= {name: value for name, value in options.items() if rng.random() < 0.2}
    return inspection.verdict, given, _result


def _n_groups(model: Any, y: Any) -> int:
    if hasattr(model, "steps"):
        return len(model.steps)
    return 1 if np.ndim(y) == 1 else int(np.shape(y)[1])


def _largest(rng: Generator) -> Drawn:
    values = rng.normal(size=(2, 3))
    values[rng.random(values.shape) < 0.3] = np.nan
    found = inspection.Result(
        {"target": ("y", "z"), "feature": ("a", "b", "c")}, {"share": values}
    )
    return found.largest, {"column": "share"}, lambda value: true.nothing(value)


def _embeddings(rng: Generator) -> Drawn:
    X = rng.normal(size=(24, 4))
    y = draw.signal_of(rng, X)
    given = {"candidates": {"pca": PCA(whiten=True)}, "X": X, "y": y}
    given |= {"dimensions": (1, 2), "degrees": (1,), "cv": 3, "inner_cv": 3}
    given["surrogate"] = ridge_pce(1)
    return inspection.compare_embeddings, given, _result


def _input_tests(rng: Generator) -> Drawn:
    return inspection.input_tests, {"X": draw.inputs(rng)}, true.nothing


def _modes_test(rng: Generator) -> Drawn:
    X, y, steps = policies(rng)
    fitted = ridge_surrogate(2, steps=steps).fit(X, y)
    return inspection.modes_test, {"pipeline": fitted}, _result


def _back(rng: Generator) -> Drawn:
    fitted, X, _ = fitted_model(rng)
    return inspection.back_to_reward, {"pipeline": fitted, "X": X}, _result


def _dependent(rng: Generator) -> Drawn:
    fitted, X, _ = fitted_model(rng)
    given = {"estimator": fitted, "X": X, "n_samples": 1024, "random_state": 0}
    return inspection.dependent_sobol_indices, given, _result


def _any_model(name: str) -> Callable[[Generator], Drawn]:
    def make(rng: Generator) -> Drawn:
        X, y = normal_regression(rng)
        given = {"estimator": LinearRegression().fit(X, y), "X": X}
        given["distribution"] = draw.one_of(rng, ["empirical", "normal", "uniform"])
        given |= {"n_samples": 60, "random_state": 0}
        return getattr(inspection, name), given, _shares_of

    return make


def _decomposition(rng: Generator) -> Drawn:
    _, y, steps = policies(rng)
    reward = np.repeat(np.arange((len(y) + 1) // 2), 2)[: len(y)]
    given = {"y": y, "steps": steps, "replicate": reward}
    return inspection.variance_decomposition, given, _result


def _parts(rng: Generator) -> Drawn:
    n = int(rng.integers(4, 30))
    shape = (n, *draw.one_of(rng, [(), (2,), (2, 3)]))
    parts = {"a": rng.normal(size=shape), "b": rng.normal(size=shape)}
    if rng.random() < 0.3:
        parts["c"] = draw.one_of(rng, [0.0, 1.0, 1e60]) * rng.normal(size=shape)
    given = {"model": lambda z: np.tanh(z).reshape(len(z), -1).sum(axis=1)}
    given |= {"parts": parts, "n_draws": 16, "random_state": 0}
    given["sets"] = draw.one_of(rng, [None, None, {"both": ["a", "b"]}])

    def faults(found: Any) -> true.Faults:
        yield from _result(found)
        for name in ("first", "total", "interaction"):
            yield from true.finite(name, found.columns[name])

    return inspection.part_effects, given, faults


def _entries(rng: Generator) -> Drawn:
    n = int(rng.integers(4, 30))
    parts = {"a": rng.normal(size=(n, 3)), "b": rng.normal(size=(n, 3))}
    given = {"model": lambda z: np.asarray(z).reshape(len(z), -1) @ np.ones(3)}
    given |= {"parts": parts, "part": draw.one_of(rng, ["a", "b"])}
    given["n_best"] = int(rng.integers(1, 5))
    return inspection.part_entries, given, _result


def _table_parts(rng: Generator) -> Drawn:
    given = {"table": rng.normal(size=(5, 2, 3, 2)), "factors": ["f", "g", "h"]}

    def error(table: Any, factors: Any, order: Any) -> Any:
        parts = inspection.parts_of_table(table, factors, order=order)
        total = sum(parts.values())
        return np.abs(total - table).max() / max(np.abs(table).max(), 1e-300)

    return error, given | {"order": 2}, partial(true.between, "error", high=1e-9)


#: The inspections by name, with what draws their arguments.
INSPECTIONS: Mapping[str, Callable[[Generator], Drawn]] = {
    "skpce.inspection.Result": _largest,
    "skpce.inspection.back_to_reward": _back,
    "skpce.inspection.compare_embeddings": _embeddings,
    "skpce.inspection.dependent_sobol_indices": _dependent,
    "skpce.inspection.input_tests": _input_tests,
    "skpce.inspection.modes_test": _modes_test,
    "skpce.inspection.part_effects": _parts,
    "skpce.inspection.part_entries": _entries,
    "skpce.inspection.parts_of_table": _table_parts,
    "skpce.inspection.shapley_effects": _any_model("shapley_effects"),
    "skpce.inspection.sobol_indices": _any_model("sobol_indices"),
    "skpce.inspection.variance_decomposition": _decomposition,
    "skpce.inspection.verdict": _verdict,
}
