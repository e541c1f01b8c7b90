"""Fits of every estimator, and calls of the methods of the fits."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import LassoCV, Ridge
from sklearn.neighbors import KNeighborsRegressor

import skpce
from skpce import load_model, save_model
from skpce.embedding import PLSTransformer
from tests.fuzz import invariants as true
from tests.fuzz import values as draw
from tests.fuzz.judge import ACCEPTED, Case, Outcome, judge

Generator = np.random.Generator

LAWS: tuple[Any, ...] = (
    *("auto", "auto", "auto"),
    *("normal", "uniform", "gamma", "exponential", "beta", "empirical", "categorical"),
    *("normal", "uniform", "empirical"),
    *(stats.norm(0, 1), stats.uniform(-1, 2), stats.lognorm(0.3), stats.t(30)),
    *(stats.binom(5, 0.4), stats.triang(0.3)),
)
SOLVERS = (
    *(None, None, None, "ridge", "ridge", "ols", "lars"),
    *("subspace_pursuit", "paper"),
)

BASIS: Mapping[str, tuple[Any, ...]] = {
    "degree": (0, 1, 1, 2, 2, 2, 3, 4, 6),
    "distribution": LAWS,
    "truncation": ("total_degree", "total_degree", "hyperbolic"),
    "q": (1.0, 1.0, 0.75, 0.4),
    "interaction_order": (None, None, 1, 2),
}
PARAMETERS: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "PolynomialChaosFeatures": {**BASIS},
    "PolynomialChaosRegressor": {
        **BASIS,
        "solver": SOLVERS,
        "regressor": (None, None, None, None, None, Ridge(), LassoCV(cv=2)),
        "alphas": (None, None, None, [1.0], (1e-3, 10.0)),
        "criterion": ("auto", "auto", "loo", "gcv"),
    },
    "CompositionalPCESurrogate": {
        **BASIS,
        "amalgamate": (None, None, None, 0.02, 0.3),
        "log_ratio": (
            *("ilr", "alr", "clr"),
            skpce.LogRatioTransformer("alr", reference=0, zero_replacement=1e-3),
            skpce.LogRatioTransformer(closure="strict", zero_replacement=1e-100),
        ),
        "solver": SOLVERS,
        "regressor": (None, None, None, None, None, Ridge(), KNeighborsRegressor(1)),
        "random_state": (0, 1, None),
    },
    "LogRatioTransformer": {
        "log_ratio": ("ilr", "alr", "clr"),
        "reference": (-1, 0),
        "mask": ("infer",),
        "zero_replacement": (1e-12, 1e-3, 1e-300),
        "closure": ("renormalize", "strict"),
    },
    "NatafTransformer": {
        "distribution": LAWS,
        "root": ("cholesky", "symmetric"),
        "shrinkage": ("auto", 0.0, 0.5, 1.0),
        "correlation": (None, None, None, np.eye(2)),
    },
    "PLSTransformer": {"n_components": (1, 1, 2), "scale": (True, False)},
}


def a_seed(rng: Generator) -> Any:
    """Return a random state; what draws from the global one is in ``play``."""
    return draw.one_of(rng, (0, 1, None, np.random.RandomState(3)))


def named(function: Callable[..., Any]) -> set[str]:
    """Return the names of the arguments of a callable."""
    return set(inspect.signature(function).parameters) - {"self", "args", "kwargs"}


def some_parameters(rng: Generator, name: str, share: float = 0.35) -> dict[str, Any]:
    """Draw values of some parameters, and leave the others at their defaults."""
    found = {
        parameter: draw.one_of(rng, values)
        for parameter, values in PARAMETERS[name].items()
        if rng.random() < share
    }
    if found.get("q", 1.0) != 1.0:
        found["truncation"] = "hyperbolic"
    cut = found.get("truncation", "total_degree") != "total_degree"
    if cut:
        found["degree"] = found.get("degree") or 2  # they cut terms at a degree
    if name == "PolynomialChaosRegressor" and rng.random() < 0.1:
        found |= {"distribution": stats.norm(0, 1), "solver": "ridge"}
        found |= {"criterion": "gcv", "regressor": None}  # it has partial_fit
    return found


def a_bad_one(rng: Generator, name: str) -> tuple[str, Any]:
    """Return a parameter and a value that it hardly takes."""
    kind: Any = CLASSES[name]
    parameters = sorted(named(kind))
    chosen = draw.one_of(rng, parameters)
    return chosen, draw.one_of(rng, draw.BAD_VALUES)


CLASSES: Mapping[str, Any] = {
    **{name: getattr(skpce, name) for name in PARAMETERS if name != "PLSTransformer"},
    "PLSTransformer": PLSTransformer,
}


def scene_of_estimator(rng: Generator, valid: bool) -> Iterator[Outcome]:
    """Fit an estimator and call some of its methods; spoil one argument or none."""
    names = (
        *["PolynomialChaosRegressor"] * 5,
        *["CompositionalPCESurrogate"] * 4,
        *["PolynomialChaosFeatures", "LogRatioTransformer", "NatafTransformer"],
        *["PLSTransformer", "PolynomialChaosRegressor"],
        *["PolynomialChaosRegressor"] * 2,
    )
    name = draw.one_of(rng, names)
    X = draw.inputs(rng, d=None)
    steps: tuple[int, ...] = ()
    if name in ("CompositionalPCESurrogate", "LogRatioTransformer"):
        y, steps = draw.compositions(rng, X)
    else:
        y = draw.targets(rng, X, may_lack=name == "PolynomialChaosRegressor")
    weights = draw.weights(rng, len(X))
    given = some_parameters(rng, name)
    if steps:
        named_steps = {f"s{i}": width for i, width in enumerate(steps)}
        given["steps"] = draw.one_of(rng, [steps, steps, named_steps])
    table = draw.container(rng, y if name == "LogRatioTransformer" else X, "x")
    answers = draw.container(rng, y, "y")
    places = ["parameter", "X", "y", "weights", "method"]
    spoiled = "nothing" if valid else draw.one_of(rng, places)
    kind = CLASSES[name]
    if spoiled == "weights" and weights is None:
        weights = np.ones(len(X))
    sound = partial(_fit, kind, given, table, answers, weights)
    wrong = {"weights": "sample_weight"}.get(spoiled, spoiled)
    if spoiled == "parameter":
        wrong, value = a_bad_one(rng, name)
        given = given | {wrong: value}
    elif spoiled == "X":
        table = draw.corrupted(rng, y if name == "LogRatioTransformer" else X)
    elif spoiled == "y":
        answers = draw.corrupted(rng, y)
    elif spoiled == "weights":
        weights = draw.corrupted(rng, weights)
        # other weights, such as none, may leave rows in that were left out before
        sound = partial(_fit_twice, kind, given, table, answers, sound)
    arguments = named(kind) | named(kind.fit) | named(skpce.PolynomialChaosRegressor)
    described = (
        f"{name}({given}).fit(X {draw.shown(table)}, y {draw.shown(answers)}, "
        f"sample_weight {draw.shown(weights)}); spoiled: {spoiled}"
    )
    fitted: list[Any] = []

    def call() -> Any:
        fitted.append(_fit(kind, given, table, answers, weights))
        return fitted[-1]

    faults = _FAULTS_OF_FITS.get(name, true.nothing)
    wrong = "" if spoiled in ("nothing", "method") else wrong
    said = {"is_fit": True, "spoiled": wrong, "sound": sound}
    known = frozenset(arguments)
    outcome = judge(Case(f"{name}.fit", call, faults, known, described, **said))
    yield outcome
    if outcome.kind != ACCEPTED:
        return
    methods = METHODS[name](Fit(fitted[-1], rng, X, y, spoiled == "method"))
    yield from _play_methods(rng, name, arguments, described, methods)


def _fit(kind: Any, given: dict[str, Any], X: Any, y: Any, weights: Any) -> Any:
    estimator = kind(**given)
    if "sample_weight" in named(estimator.fit):
        return estimator.fit(X, y, sample_weight=weights)
    return estimator.fit(X, y)


def _fit_twice(
    kind: Any, given: dict[str, Any], X: Any, y: Any, sound: Callable[[], Any]
) -> None:
    """Fit with weights that are sound, and without weights."""
    sound()
    _fit(kind, given, X, y, None)


Method = tuple[str, Callable[[], Any], Callable[[Any], Any]]


class Fit(NamedTuple):
    """A fit, what it was fitted to, and whether its methods are given what is wrong."""

    fitted: Any
    rng: Generator
    X: Any
    y: Any
    spoil: bool

    def given(self, table: Any) -> Any:
        """Return a table, or what is wrong with it."""
        return draw.corrupted(self.rng, table) if self.spoil else table


def _play_methods(
    rng: Generator, name: str, known: set[str], described: str, methods: list[Method]
) -> Iterator[Outcome]:
    for position in rng.permutation(len(methods))[:3]:
        said, call, faults = methods[position]
        method = said.partition(" ")[0]
        owners = CLASSES[name], skpce.Expansion
        functions = [getattr(owner, method, None) for owner in owners]
        function = functions[0] or functions[1]
        arguments = frozenset(known | (named(function) if function else set()))
        described_call = f"{said} of {described}"
        yield judge(Case(f"{name}.{method}", call, faults, arguments, described_call))


# Invariants of fits


def _of_regressor(fitted: Any) -> true.Faults:
    first, total = fitted.sobol_indices_, fitted.total_sobol_indices_
    yield from true.shares("indices", first, total)
    yield from true.finite("coefficients", fitted.expansion_.coefficients)
    yield from true.finite("total_variance_", fitted.total_variance_)
    yield from true.between("unexplained_share_", fitted.unexplained_share_, nan=True)
    if (np.isnan(fitted.unexplained_share_) & (fitted._problem.spread > 0)).any():
        yield "unexplained_share_ is NaN for a target that varies"
    yield from true.between("feature_importances_", fitted.feature_importances_)
    yield from true.q2("q2_", fitted.q2_)
    varies = fitted._problem.spread > 0
    undefined = np.isnan(fitted.q2_) & varies
    if undefined.any():
        yield "q2_ is NaN for a target that varies"
    if (fitted.loo_error_ < 0).any() or np.isnan(fitted.loo_error_).any():
        yield f"loo_error_ is {fitted.loo_error_}"
    saturated = np.isinf(fitted.loo_error_) != np.isinf(fitted.q2_)
    if saturated[varies].any():
        yield "loo_error_ and q2_ do not say the same of a saturated fit"
    some = fitted.total_variance_ > 0
    if (np.sum(total, axis=1)[some] < 1 - 1e-6).any():
        yield "total indices add up to less than 1"


def _of_surrogate(fitted: Any) -> true.Faults:
    first, total = fitted.step_sobol_indices_, fitted.step_total_sobol_indices_
    yield from true.shares("step indices", first, total)
    yield from true.shares(
        "coordinate indices", fitted.sobol_indices_, fitted.total_sobol_indices_
    )
    yield from true.finite("coefficients", fitted.expansion_.coefficients)
    yield from true.finite("step_total_variance_", fitted.step_total_variance_)
    yield from true.q2("loo_q2", fitted.diagnostics_.loo_q2)
    yield from true.q2("fidelity_", fitted.fidelity_)


#: Of transformers nothing is asked but what their methods return.
_FAULTS_OF_FITS: Mapping[str, Callable[..., true.Faults]] = {
    "PolynomialChaosRegressor": _of_regressor,
    "CompositionalPCESurrogate": _of_surrogate,
}


# Methods of fits


def _reloaded(estimator: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.skpce"
        save_model(estimator, path)
        return load_model(path)


def _same_predictions(X: Any, fitted: Any, loaded: Any) -> true.Faults:
    if not np.array_equal(fitted.predict(X), loaded.predict(X)):
        yield "a reloaded model predicts something else"


def _with_std(found: Any) -> true.Faults:
    yield from true.finite("prediction", found[0])
    yield from true.between("std", found[1], 0.0, np.inf)
    yield from true.finite("std", found[1])


def _interval_of_indices(found: Any) -> true.Faults:
    for name in ("first_order", "total_order", "shapley"):
        low, high = getattr(found, name)
        yield from true.intervals(name, low, high)
        yield from true.between(name, [low, high])


def _bounds(found: Any) -> true.Faults:
    yield from true.intervals("interval", found.lower, found.upper)


def _moments(found: Any) -> true.Faults:
    yield from true.finite("mean", found.mean)
    yield from true.between("variance", found.variance, 0.0, np.inf)
    known = ~np.isnan(found.kurtosis)
    least = np.square(found.skewness) - 2.0
    slack = 1e-6 * (1.0 + np.abs(least))
    if (found.kurtosis < least - slack)[known].any():
        yield "kurtosis below skewness squared minus 2"


def _of_sets(fitted: Any, subset: Any) -> Any:
    """Return the indices of a set of inputs, and the total index of the others."""
    found = (
        fitted.sobol_index(subset),
        fitted.closed_sobol_index(subset),
        fitted.total_sobol_index(subset),
    )
    inside = np.atleast_1d(subset).tolist()
    rest = [i for i in range(fitted.n_features_in_) if i not in inside]
    others = fitted.total_sobol_index(rest) if rest else np.zeros_like(found[0])
    return *found, others, fitted.total_variance_ > 0


def _sets(found: Any) -> true.Faults:
    index, closed, total, others, varies = found
    yield from true.between("index", [index, closed, total, others])
    yield from true.ordered("index and closed index", index, closed)
    yield from true.ordered("closed and total index", closed, total)
    whole = np.ravel(closed + others)[np.ravel(varies)]
    yield from true.between("closed index and total index of the others", whole, 1.0)


def _interactions(complete: bool, found: Any) -> true.Faults:
    values = np.asarray(found.values)
    yield from true.between("interaction values", values)
    yield from true.ordered("interactions", values, found.superset_values)
    yield from true.between("sum of interactions", values.sum(axis=-1))
    if complete:
        yield from true.closed("interaction values", values)


def _shares(found: Any) -> true.Faults:
    return true.shares("indices", found.first_order, found.total_order)


def _call(
    fitted: Any, name: str, faults: Callable[[Any], Any], /, *given: Any, **options: Any
) -> Method:
    return name, lambda: getattr(fitted, name)(*given, **options), faults


def _common(fitted: Any, X: Any) -> list[Method]:
    """Return calls of what regressors and surrogates have in common."""
    same = partial(_same_predictions, X, fitted)
    return [
        _call(fitted, "get_feature_names_out", true.nothing),
        ("save_model", lambda: _reloaded(fitted), same),
    ]


def _round_trip(fitted: Any, at: Any) -> Any:
    return fitted.inverse_transform(fitted.transform(at))


def _subset(rng: Generator, d: int) -> list[int]:
    size = int(rng.integers(1, d + 1))
    return sorted(rng.choice(d, size=size, replace=False).tolist())


def _methods_of_regressor(fit: Fit) -> list[Method]:
    fitted, rng, X, y, spoil = fit
    d = X.shape[1]
    at = X[: int(rng.integers(1, len(X) + 1))]
    level, seed = draw.one_of(rng, [0.5, 0.9, 0.99]), a_seed(rng)
    size, order, subset = int(rng.integers(1, 30)), int(rng.integers(1, 4)), None
    subset = _subset(rng, d)
    method = draw.one_of(rng, ["residual", "bootstrap"])
    residual = draw.one_of(rng, ["resampled", "gaussian", None])
    if spoil:
        bad = partial(draw.one_of, rng, draw.BAD_VALUES)
        what = int(rng.integers(6))
        at = draw.corrupted(rng, at) if what == 0 else at
        level, seed = bad() if what == 1 else level, bad() if what == 2 else seed
        size = bad() if what == 3 else size
        order, subset = bad() if what == 4 else order, bad() if what == 4 else subset
        method = bad() if what == 5 else method
        residual = bad() if what == 5 else residual
    size = 7 if isinstance(size, int) and size > 10**5 else size
    finite = partial(true.finite, "result")
    share = partial(true.between, "index")
    call = partial(_call, fitted)
    seeded = {"random_state": seed}
    interval = {"confidence_level": level, "method": method, "n_resamples": 9}
    draws = {"n_samples": size, "residual": residual}
    whole = isinstance(order, int) and order >= d
    n_outputs = y.reshape(len(y), -1).shape[1]
    scored = not np.isnan(y).any() and fitted.expansion_.n_outputs == n_outputs
    parted = hasattr(fitted, "partial_fit") and len(X) > 1
    return [
        call("predict", finite, at),
        ("predict std", lambda: fitted.predict(at, return_std=True), _with_std),
        call("transform", finite, at),
        call("score", true.nothing, X, y) if scored else call("predict", finite, at),
        call("sobol_interval", _interval_of_indices, **interval, **seeded),
        call("predict_interval", _bounds, at, confidence_level=level),
        call("predict_interval", _bounds, None, **draws, **seeded),
        call("sample", finite, size, at, residual=residual, **seeded),
        call("sample", finite, size, **seeded),
        call("moments", _moments),
        call("main_effects", finite, at),
        call("gradient", finite, at),
        call("sobol_index", share, subset),
        ("closed_sobol_index", lambda: _of_sets(fitted, subset), _sets),
        call("total_sobol_index", share, subset),
        call("interaction_indices", partial(_interactions, whole), order),
        call("shapley_effects", partial(true.closed, "shapley")),
        call("aggregated_sobol_indices", _shares),
        ("partial_fit", lambda: _partly(fitted, X, y), _of_regressor)
        if parted
        else call("transform", finite, at),
        call("marginal", true.nothing, subset),
        call("conditional_expectation", true.nothing, at, subset),
        call("sobol_frame", true.nothing, order),
        *_methods_of_expansion(fitted, rng, spoil),
        *_common(fitted, X),
    ]


def _methods_of_expansion(fitted: Any, rng: Generator, spoil: bool) -> list[Method]:
    """Return calls of what makes other expansions, and of weights of targets."""
    expansion = fitted.expansion_
    n_groups, n_outputs = len(expansion.group_names), expansion.n_outputs
    weights: Any = rng.uniform(0, 2, size=n_groups)
    matrix: Any = rng.normal(size=(int(rng.integers(1, 4)), n_outputs))
    groups: Any = np.sort(rng.integers(0, 2, size=n_outputs))
    if spoil:
        weights = draw.corrupted(rng, weights)
        matrix = draw.corrupted(rng, matrix)
        groups = draw.one_of(rng, draw.BAD_VALUES)

    def shares(found: Any) -> true.Faults:
        return _shares(found.sobol_indices())

    return [
        _call(fitted, "aggregated_sobol_indices", _shares, weights),
        _call(expansion, "mapped", shares, matrix),
        _call(expansion, "grouped", shares, groups),
        _call(expansion, "to_frame", true.nothing),
    ]


def _partly(fitted: Any, X: Any, y: Any) -> Any:
    """Fit two halves one after the other; some solvers cannot, and say so."""
    half = (len(X) + 1) // 2
    new = clone(fitted)
    return new.partial_fit(X[:half], y[:half]).partial_fit(X[half:], y[half:])


def _methods_of_surrogate(fit: Fit) -> list[Method]:
    fitted, rng, X, y, spoil = fit
    at = X[: int(rng.integers(1, len(X) + 1))]
    level, seed = draw.one_of(rng, [0.5, 0.9]), a_seed(rng)
    steps = fitted.geometry_.layout.widths  # other ones where they were spoiled
    size = int(rng.integers(1, 30))
    answers: Any = y[: len(at)]
    level_of = draw.one_of(rng, ["coordinate", "step", "trajectory"])
    if spoil:
        bad = partial(draw.one_of, rng, draw.BAD_VALUES)
        what = int(rng.integers(6))
        at = draw.corrupted(rng, at) if what == 0 else at
        level, seed = bad() if what == 1 else level, bad() if what == 2 else seed
        size = bad() if what == 3 else size
        level_of = bad() if what == 4 else level_of
        answers = draw.corrupted(rng, answers) if what == 5 else answers
    size = 7 if isinstance(size, int) and size > 10**5 else size
    on_simplex = partial(true.simplex, "prediction", widths=steps)
    policies: Any = draw.corrupted(rng, y) if spoil else y

    def in_unit(found: Any) -> true.Faults:
        yield from _bounds(found)
        yield from true.between("interval", [found.lower, found.upper])

    call = partial(_call, fitted)
    seeded = {"random_state": seed}
    leveled = {"confidence_level": level, **seeded}
    round_trip = partial(_round_trip, fitted, at)

    def drawn(found: Any) -> true.Faults:
        return true.simplex("sample", np.asarray(found), steps)

    def variance(found: Any) -> true.Faults:
        return true.finite("variance", found.variance)

    return [
        call("predict", on_simplex, at),
        ("transform", round_trip, on_simplex),
        call("score", partial(true.q2, "score"), at, answers),
        call("sample", drawn, size, at, **seeded),
        call("predict_interval", in_unit, at, **leveled),
        call("sobol_indices", _shares, level_of),
        call("shapley_effects", partial(true.closed, "shapley"), level_of),
        call("sobol_interval", _interval_of_indices, n_resamples=5, **leveled),
        call("probability_sobol_indices", variance, n_samples=64, **seeded),
        call("predict_frame", true.nothing, at),
        call("amalgamate_parts", on_simplex, policies),
        call("sobol_frame", true.nothing),
        ("inverse_transform", round_trip, on_simplex),
        *_common(fitted, X),
    ]


def _methods_of_features(fit: Fit) -> list[Method]:
    fitted, at = fit.fitted, fit.given(fit.X)

    def first(found: Any) -> true.Faults:
        return true.between("first column", found[:, 0], 1.0, 1.0)

    return [
        _call(fitted, "transform", first, at),
        _call(fitted, "transform", partial(true.finite, "basis"), at),
        _call(fitted, "get_feature_names_out", true.nothing),
    ]


def _methods_of_log_ratio(fit: Fit) -> list[Method]:
    fitted, at = fit.fitted, fit.given(fit.y)
    size = len(fitted.get_feature_names_out())
    steps = fitted.geometry_.layout.widths  # other ones where they were spoiled
    far = fit.rng.normal(size=(3, size)) * 10.0 ** fit.rng.uniform(-3, 6)
    far = fit.given(far)
    on_simplex = partial(true.simplex, "policies", widths=steps)
    return [
        _call(fitted, "transform", partial(true.finite, "coordinates"), at),
        _call(fitted, "inverse_transform", on_simplex, far),
    ]


def _methods_of_map(fit: Fit) -> list[Method]:
    fitted, at = fit.fitted, fit.given(fit.X)
    normals = fit.given(fit.rng.normal(size=(4, fit.X.shape[1])))
    finite = partial(true.finite, "result")
    return [
        _call(fitted, "transform", finite, at),
        _call(fitted, "inverse_transform", finite, normals),
        _call(fitted, "sample", finite, 5, random_state=0),
        _call(fitted, "from_scores", finite, normals),
    ]


def _methods_of_pls(fit: Fit) -> list[Method]:
    fitted, at = fit.fitted, fit.given(fit.X)
    round_trip = partial(_round_trip, fitted, at)
    return [
        _call(fitted, "transform", partial(true.finite, "scores"), at),
        ("inverse_transform", round_trip, partial(true.finite, "rows")),
    ]


METHODS: Mapping[str, Callable[..., list[Method]]] = {
    "PolynomialChaosRegressor": _methods_of_regressor,
    "CompositionalPCESurrogate": _methods_of_surrogate,
    "PolynomialChaosFeatures": _methods_of_features,
    "LogRatioTransformer": _methods_of_log_ratio,
    "NatafTransformer": _methods_of_map,
    "PLSTransformer": _methods_of_pls,
}
