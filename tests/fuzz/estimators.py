"""Fits of every estimator, and calls of the methods of the fits."""

from __future__ import annotations

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
from tests.fuzz.judge import ACCEPTED, Outcome, judge
from tests.fuzz.models import Drawn, Generator, a_seed, case_of, named, of_keywords

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
            skpce.LogRatioTransformer(zero_replacement=1e-100),
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
    },
    "NatafTransformer": {
        "distribution": LAWS,
        "root": ("cholesky", "symmetric"),
        "shrinkage": ("auto", 0.0, 0.5, 1.0),
        "correlation": (None, None, None, np.eye(2)),
    },
    "PLSTransformer": {"n_components": (1, 1, 2), "scale": (True, False)},
}


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


CLASSES: Mapping[str, Any] = {
    **{name: getattr(skpce, name) for name in PARAMETERS if name != "PLSTransformer"},
    "PLSTransformer": PLSTransformer,
}


_NAMES = (
    *["PolynomialChaosRegressor"] * 8,
    *["CompositionalPCESurrogate"] * 4,
    *["PolynomialChaosFeatures", "LogRatioTransformer", "NatafTransformer"],
    "PLSTransformer",
)


class Fit(NamedTuple):
    """A fit and what it was fitted to."""

    fitted: Any
    rng: Generator
    X: Any
    y: Any


Method = tuple[str, Drawn]


def scene_of_estimator(rng: Generator, valid: bool) -> Iterator[Outcome]:
    """Fit an estimator and call some of its methods; spoil one argument or none."""
    name = draw.one_of(rng, _NAMES)
    kind = CLASSES[name]
    given = some_parameters(rng, name)
    X = draw.inputs(rng)
    if "steps" in named(kind):
        y, steps = draw.compositions(rng, X)
        by_name = {f"s{i}": width for i, width in enumerate(steps)}
        given["steps"] = draw.one_of(rng, [steps, steps, by_name])
    else:
        y = draw.targets(rng, X, may_lack=name == "PolynomialChaosRegressor")
    data = {"X": y if name == "LogRatioTransformer" else X, "y": y}
    if valid:
        data = {key: draw.container(rng, table, key) for key, table in data.items()}
    if "sample_weight" in named(kind.fit):
        data["sample_weight"] = draw.weights(rng, len(X))
    fitted: list[Any] = []

    def fit(**given: Any) -> Any:
        of_fit = {key: given.pop(key) for key in data}
        fitted.append(kind(**given).fit(**of_fit))
        return fitted[-1]

    faults = _FAULTS_OF_FITS.get(name, true.nothing)
    drawn = of_keywords(fit, named(kind) | set(data)), given | data, faults
    known = named(skpce.PolynomialChaosRegressor)
    of_methods = not valid and rng.random() < 0.3  # one of their arguments is spoiled
    case = case_of(rng, f"{name}.fit", drawn, valid or of_methods, known, is_fit=True)
    outcome = judge(case)
    yield outcome
    if outcome.kind != ACCEPTED:
        return
    methods = METHODS[name](Fit(fitted[-1], rng, X, y))
    for position in rng.permutation(len(methods))[:3]:
        method, drawn = methods[position]
        owners = (kind, skpce.Expansion)
        functions = [getattr(owner, method, None) for owner in owners]
        method_or_fit = functions[0] or functions[1] or kind.fit
        known = named(kind) | named(kind.fit) | named(method_or_fit)
        of = f" of {case.described}"
        yield judge(
            case_of(rng, f"{name}.{method}", drawn, not of_methods, known, of=of)
        )


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


def _of_sets(fitted: Any, features: Any) -> Any:
    """Return the indices of a set of inputs, and the total index of the others."""
    names = ("sobol_index", "closed_sobol_index", "total_sobol_index")
    found = [getattr(fitted, name)(features) for name in names]
    inside = np.atleast_1d(features).tolist()
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


def _interactions(found: Any) -> true.Faults:
    values = np.asarray(found.values)
    yield from true.between("interaction values", values)
    yield from true.ordered("interactions", values, found.superset_values)
    yield from true.between("sum of interactions", values.sum(axis=-1))


def _shares(found: Any) -> true.Faults:
    return true.shares("indices", found.first_order, found.total_order)


def _own(
    name: str, function: Any, faults: Callable[[Any], Any], /, **given: Any
) -> Method:
    """Return a call of a function that takes what it is given, to be spoiled."""
    return name, (of_keywords(partial(function), given), given, faults)


def _call(
    fitted: Any, name: str, faults: Callable[[Any], Any], /, **given: Any
) -> Method:
    return _own(name, getattr(fitted, name), faults, **given)


def _common(fitted: Any, X: Any) -> list[Method]:
    """Return calls of what regressors and surrogates have in common."""
    same = partial(_same_predictions, X, fitted)
    return [
        _call(fitted, "get_feature_names_out", true.nothing),
        _own("save_model", partial(_reloaded, fitted), same),
    ]


def _round_trip(fitted: Any, X: Any) -> Any:
    return fitted.inverse_transform(fitted.transform(X))


def _some_rows(rng: Generator, X: Any) -> Any:
    return X[: int(rng.integers(1, len(X) + 1))]


def _subset(rng: Generator, d: int) -> list[int]:
    size = int(rng.integers(1, d + 1))
    return sorted(rng.choice(d, size=size, replace=False).tolist())


def _methods_of_regressor(fit: Fit) -> list[Method]:
    fitted, rng, X, y = fit
    call, at = partial(_call, fitted), _some_rows(rng, X)
    seeded = {"random_state": a_seed(rng)}
    level = {"confidence_level": draw.one_of(rng, [0.5, 0.9, 0.99])}
    method = draw.one_of(rng, ["residual", "bootstrap"])
    interval = {"method": method, "n_resamples": 9, **level, **seeded}
    draws = {"n_samples": int(rng.integers(1, 30)), **seeded}
    draws["residual"] = draw.one_of(rng, ["resampled", "gaussian", None])
    order, subset = int(rng.integers(1, 4)), _subset(rng, X.shape[1])
    finite = partial(true.finite, "result")
    share = partial(true.between, "index")
    closed = partial(true.closed, "shapley")
    methods = [
        call("predict", finite, X=at),
        _own("predict", partial(fitted.predict, return_std=True), _with_std, X=at),
        call("transform", finite, X=at),
        call("sobol_interval", _interval_of_indices, **interval),
        call("predict_interval", _bounds, X=at, **level),
        call("predict_interval", _bounds, X=None, **draws),
        call("sample", finite, X=at, **draws),
        call("sample", finite, **draws),
        call("moments", _moments),
        call("main_effects", finite, X=at),
        call("gradient", finite, X=at),
        call("sobol_index", share, features=subset),
        _own("closed_sobol_index", partial(_of_sets, fitted), _sets, features=subset),
        call("total_sobol_index", share, features=subset),
        call("interaction_indices", _interactions, max_order=order),
        call("shapley_effects", closed),
        call("aggregated_sobol_indices", _shares),
        call("marginal", true.nothing, features=subset),
        call("conditional_expectation", true.nothing, X=at, features=subset),
        call("sobol_frame", true.nothing, order=order),
        *_methods_of_expansion(fitted, rng),
        *_common(fitted, X),
    ]
    n_outputs = y.reshape(len(y), -1).shape[1]
    if not np.isnan(y).any() and fitted.expansion_.n_outputs == n_outputs:
        methods.append(_own("score", partial(fitted.score, X, y), true.nothing))
    if hasattr(fitted, "partial_fit") and len(X) > 1:
        methods.append(
            _own("partial_fit", partial(_partly, fitted, X, y), _of_regressor)
        )
    return methods


def _methods_of_expansion(fitted: Any, rng: Generator) -> list[Method]:
    """Return calls of what makes other expansions, and of weights of targets."""
    expansion = fitted.expansion_
    n_outputs = expansion.n_outputs
    groups = np.sort(rng.integers(0, 2, size=n_outputs))
    weights = rng.uniform(0, 2, size=len(expansion.group_names))

    def shares(found: Any) -> true.Faults:
        return _shares(found.sobol_indices())

    return [
        _call(fitted, "aggregated_sobol_indices", _shares, weights=weights),
        _call(expansion, "grouped", shares, groups=groups),
        _call(expansion, "to_frame", true.nothing),
    ]


def _partly(fitted: Any, X: Any, y: Any) -> Any:
    """Fit two halves one after the other; some solvers cannot, and say so."""
    half = (len(X) + 1) // 2
    new = clone(fitted)
    return new.partial_fit(X[:half], y[:half]).partial_fit(X[half:], y[half:])


def _methods_of_surrogate(fit: Fit) -> list[Method]:
    fitted, rng, X, y = fit
    call, at = partial(_call, fitted), _some_rows(rng, X)
    seeded = {"random_state": a_seed(rng)}
    leveled = {"confidence_level": draw.one_of(rng, [0.5, 0.9]), **seeded}
    level = {"level": draw.one_of(rng, ["coordinate", "step", "trajectory"])}
    steps = fitted.geometry_.layout.widths  # other ones where they were spoiled
    on_simplex = partial(true.simplex, "prediction", widths=steps)
    round_trip = partial(_round_trip, fitted)
    draws = {"n_samples": int(rng.integers(1, 30)), **seeded}

    def in_unit(found: Any) -> true.Faults:
        yield from _bounds(found)
        yield from true.between("interval", [found.lower, found.upper])

    def variance(found: Any) -> true.Faults:
        return true.finite("variance", found.variance)

    return [
        call("predict", on_simplex, X=at),
        _own("transform", round_trip, on_simplex, X=at),
        _own("inverse_transform", round_trip, on_simplex, X=at),
        call("score", partial(true.q2, "score"), X=at, y=y[: len(at)]),
        call("sample", on_simplex, X=at, **draws),
        call("predict_interval", in_unit, X=at, **leveled),
        call("sobol_indices", _shares, **level),
        call("shapley_effects", partial(true.closed, "shapley"), **level),
        call("sobol_interval", _interval_of_indices, n_resamples=5, **leveled),
        call("probability_sobol_indices", variance, n_samples=64, **seeded),
        call("predict_frame", true.nothing, X=at),
        call("amalgamate_parts", on_simplex, y=y),
        call("sobol_frame", true.nothing),
        *_common(fitted, X),
    ]


def _methods_of_features(fit: Fit) -> list[Method]:
    def first(found: Any) -> true.Faults:
        yield from true.between("first column", found[:, 0], 1.0, 1.0)
        yield from true.finite("basis", found)

    return [
        _call(fit.fitted, "transform", first, X=fit.X),
        _call(fit.fitted, "get_feature_names_out", true.nothing),
    ]


def _methods_of_log_ratio(fit: Fit) -> list[Method]:
    fitted, rng = fit.fitted, fit.rng
    steps = fitted.geometry_.layout.widths  # other ones where they were spoiled
    size = len(fitted.get_feature_names_out())
    far = rng.normal(size=(3, size)) * 10.0 ** rng.uniform(-3, 6)
    on_simplex = partial(true.simplex, "policies", widths=steps)
    return [
        _call(fitted, "transform", partial(true.finite, "coordinates"), X=fit.y),
        _call(fitted, "inverse_transform", on_simplex, X=far),
    ]


def _methods_of_map(fit: Fit) -> list[Method]:
    call, finite = partial(_call, fit.fitted), partial(true.finite, "result")
    normals = fit.rng.normal(size=(4, fit.X.shape[1]))
    return [
        call("transform", finite, X=fit.X),
        call("inverse_transform", finite, X=normals),
        call("sample", finite, n_samples=5, random_state=0),
        call("from_scores", finite, scores=normals),
    ]


def _methods_of_pls(fit: Fit) -> list[Method]:
    fitted = fit.fitted
    rows = partial(true.finite, "rows")
    return [
        _call(fitted, "transform", partial(true.finite, "scores"), X=fit.X),
        _own("inverse_transform", partial(_round_trip, fitted), rows, X=fit.X),
    ]


METHODS: Mapping[str, Callable[..., list[Method]]] = {
    "PolynomialChaosRegressor": _methods_of_regressor,
    "CompositionalPCESurrogate": _methods_of_surrogate,
    "PolynomialChaosFeatures": _methods_of_features,
    "LogRatioTransformer": _methods_of_log_ratio,
    "NatafTransformer": _methods_of_map,
    "PLSTransformer": _methods_of_pls,
}
