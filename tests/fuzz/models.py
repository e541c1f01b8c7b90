"""Models of the package with their data, and what a scene of a function is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, Signature, signature
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from tests.fuzz import values as draw
from tests.fuzz.judge import Case
from tests.shared import ridge_pce, ridge_surrogate

Generator = np.random.Generator
Drawn = tuple[Any, dict[str, Any], Callable[[Any], Any]]  # callable, arguments, faults


def of_keywords(function: Any, names: Iterable[str]) -> Any:
    """Let a function of any keywords say which it takes: scenes spoil them by name."""
    parameters = [Parameter(name, Parameter.KEYWORD_ONLY) for name in names]
    function.__signature__ = Signature(parameters)
    return function


#: Parameters that are never given a wrong value: they only cost time.
_COSTS = frozenset({"n_jobs", "progress", "batch_size"})
#: Parameters that are functions of the caller, which may raise what they like.
_CALLED = frozenset({"model", "combine", "outcome", "utility"})
#: Numbers of draws, of which a million take minutes.
_DRAWN = frozenset({"n_samples", "n_resamples"})


def named(function: Callable[..., Any]) -> set[str]:
    """Return the names of the arguments of a callable."""
    return set(signature(function).parameters) - {"self", "args", "kwargs"}


def case_of(
    rng: Generator,
    name: str,
    drawn: Drawn,
    valid: bool,
    known: Iterable[str] = (),
    *,
    of: str = "",
    is_fit: bool = False,
) -> Case:
    """Return one call, with one spoiled argument or none; a refusal names the known."""
    function, given, faults = drawn
    sound, spoiled = dict(given), ""
    parameters = sorted(named(function) - _COSTS)
    tables = [key for key in parameters if _is_table(given.get(key))]
    if parameters and not valid:
        few = tables if tables and rng.random() < 0.4 else parameters
        spoiled = draw.one_of(rng, few)
        given = given | {spoiled: _spoiled(rng, spoiled, given.get(spoiled))}

    def call_as_it_was() -> None:
        function(**sound)
        if "sample_weight" in sound:  # without, rows count that were left out
            function(**sound | {"sample_weight": None})

    shown = {key: _short(value) for key, value in given.items()}
    return Case(
        name,
        lambda: function(**given),
        faults,
        frozenset({*parameters, *known, *_of_models(sound)}),
        f"{name}({shown}){of}; spoiled: {spoiled or 'nothing'}",
        is_fit=is_fit,
        spoiled=spoiled,
        sound=call_as_it_was,
    )


def _is_table(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _spoiled(rng: Generator, name: str, before: Any) -> Any:
    if _is_table(before) and rng.random() < 0.8:
        return draw.corrupted(rng, before)
    value = draw.one_of(rng, draw.BAD_VALUES)
    if callable(value) and name in _CALLED:
        return 1
    return 7 if name in _DRAWN and isinstance(value, int) and value > 7 else value


def _of_models(given: Mapping[str, Any]) -> set[str]:
    """Return what a refusal by an estimator that is given may name."""
    models = [value for value in given.values() if hasattr(value, "get_params")]
    names = {name.split("__")[-1] for model in models for name in model.get_params()}
    return names | {"X", "y"} if models else set()


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of {value.dtype} {value.shape}"
    return repr(value)[:80]


def a_seed(rng: Generator) -> Any:
    """Return a random state; what draws from the global one is in ``play``."""
    return draw.one_of(rng, (0, 1, None, np.random.RandomState(3)))


def size(rng: Generator) -> int:
    """Return a number of members."""
    return int(draw.one_of(rng, [4, 6, 10, 20, 30]))


def regression(rng: Generator) -> tuple[Any, Any]:
    """Return inputs of any distribution, and real outputs."""
    X = draw.inputs(rng, size(rng))
    return X, draw.targets(rng, X, may_lack=False)


def policies(rng: Generator) -> tuple[Any, Any, tuple[int, ...]]:
    """Return normal inputs, policies and the widths of the steps."""
    X = rng.normal(size=(size(rng), int(rng.integers(1, 4))))
    return X, *draw.compositions(rng, X)


def normal_regression(rng: Generator) -> tuple[Any, Any]:
    """Return normal inputs and real outputs."""
    X = rng.normal(size=(size(rng), int(rng.integers(1, 4))))
    return X, draw.targets(rng, X, may_lack=False)


def fitted_model(rng: Generator) -> tuple[Any, Any, Any]:
    """Return a fitted regressor or surrogate, perhaps in a pipeline, and its data.

    Data that a fit refuses are drawn anew: scenes of estimators judge the refusals.
    """
    while True:
        try:
            return _fitted_once(rng)
        except ValueError:
            continue


def _fitted_once(rng: Generator) -> tuple[Any, Any, Any]:
    if rng.random() < 0.5:
        X, y, steps = policies(rng)
        last: Any = ridge_surrogate(2, steps=steps)
    else:
        X, y = normal_regression(rng)
        last = ridge_pce(2)
    if X.shape[1] > 1 and rng.random() < 0.4:
        last = make_pipeline(PCA(1, whiten=True), last)
    return last.fit(X, y), X, y


def unfitted_model(rng: Generator) -> tuple[Any, Any, Any]:
    """Return a regressor or surrogate, and its data."""
    if rng.random() < 0.5:
        X, y, steps = policies(rng)
        return ridge_surrogate(1, steps=steps), X, y
    return ridge_pce(1), *normal_regression(rng)
