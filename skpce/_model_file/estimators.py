"""Estimators in a model file: which ones, by their public names, and their fields."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._basis.basis import PolynomialBasis
from .._compositions.fitted import FittedCompositions
from .._compositions.log_ratio import LogRatioGeometry
from .._dependence.maps import IsoprobabilisticMap
from .._dependence.scores import SurrogateDiagnostics
from .._expansion.expansion import Expansion
from .._expansion.problem import FittedProblem
from . import nouns as _registered_nouns  # noqa: F401
from .state import (
    Check,
    Kind,
    Reader,
    Sizes,
    Writer,
    anything,
    array,
    check_fields,
    flag,
    mapping,
    one_of,
    option,
    optional,
    real,
    refuse_other_fields,
    register,
    several,
    shown,
    size,
    text,
    whole,
)


@dataclass(frozen=True)
class Estimator:
    """How an estimator is written: its parameters, and these fitted attributes.

    Parameters
    ----------
    fields : mapping of str to Check
        Fitted attributes, all of which a fit sets but for those of ``may_lack``.
    sources : mapping of str to str
        Attributes with another name than their field.
    may_lack : sequence of str
        Fields that some fits do not have.
    """

    fields: Mapping[str, Check] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    may_lack: Sequence[str] = ()

    def with_features(self, axis: str) -> Estimator:
        """Add the features seen in ``fit``, whose number other fields share."""
        features = {"n_features_in_": size(axis), "feature_names_in_": _names(axis)}
        may_lack = (*self.may_lack, "feature_names_in_")
        return Estimator({**self.fields, **features}, self.sources, may_lack)


def _names(axis: str) -> Check:
    def check(value: Any, sizes: Sizes) -> None:
        array("O", axis)(value, sizes)
        several(text)(value.tolist(), sizes)

    return check


def _estimator(path: str) -> Check:
    """Accept a fitted estimator of a public name."""

    def check(value: Any, sizes: Sizes) -> None:
        if public_path(type(value)) != path:
            raise ValueError(f"must be a {path}. Got {shown(value)}")

    return check


def _any_estimator(value: Any, sizes: Sizes) -> None:
    if public_path(type(value)) is None:
        raise ValueError(f"must be an estimator. Got {shown(value)}")


_LINEAR_MODELS = (
    "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars LarsCV "
    "Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC LinearRegression "
    "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV Ridge RidgeCV"
)

_INTERVALS = ("step_sobol_interval_", "step_total_sobol_interval_")
_PER_INPUT = array("f", "inputs")

_MAP: dict[str, Check] = {
    "correlation_": array("f", "inputs inputs"),
    "shrinkage_": real,
    "map": one_of(IsoprobabilisticMap),
}

#: Estimators of this package, by the names under which it shows them.
OURS: Mapping[str, Estimator] = {
    "skpce.PolynomialChaosFeatures": Estimator(
        {"basis_": one_of(PolynomialBasis)}
    ).with_features("inputs"),
    "skpce.PolynomialChaosRegressor": Estimator(
        {
            "problem": one_of(FittedProblem),
            "expansion": one_of(Expansion),
            "alpha_": array("f", "targets"),
            "solver_": array("U", "targets"),
            "is_scalar": flag,
        },
        {"problem": "_problem", "expansion": "expansion_", "is_scalar": "_is_scalar"},
    ).with_features("inputs"),
    "skpce.PolynomialChaosRegressorCV": Estimator(
        {
            "best_estimator_": _estimator("skpce.PolynomialChaosRegressor"),
            "degree_": whole,
            "q_": real,
            "chosen_solver_": text,
            "cv_results_": mapping,
        }
    ).with_features("inputs"),
    "skpce.CompositionalPCESurrogate": Estimator(
        {
            "compositions": one_of(FittedCompositions),
            "diagnostics_": one_of(SurrogateDiagnostics),
            "names_of_columns": several(several(text)),
            "n_features_out": whole,
            **dict.fromkeys(_INTERVALS, array("f", "bounds steps inputs")),
        },
        {
            "compositions": "_fitted",
            "names_of_columns": "_labels_of_y",
            "n_features_out": "_n_features_out",
        },
        _INTERVALS,
    ).with_features("inputs"),
    "skpce.LogRatioTransformer": Estimator(
        {"coordinates": one_of(LogRatioGeometry), "n_features_out": whole},
        {"coordinates": "geometry_", "n_features_out": "_n_features_out"},
    ).with_features("parts"),
    "skpce.NatafTransformer": Estimator(_MAP, {"map": "_map"}).with_features("inputs"),
    "skpce.RosenblattTransformer": Estimator(
        {**_MAP, "bandwidth_": real}, {"map": "_map"}
    ).with_features("inputs"),
    "skpce.embedding.PLSTransformer": Estimator(
        {
            "pls_": _estimator("sklearn.cross_decomposition.PLSRegression"),
            "target_transformer_": optional(_any_estimator),
            "n_iter_": whole,
        }
    ).with_features("inputs"),
}

#: Estimators of scikit-learn. Of these every public fitted attribute is written; those
#: listed here are what their ``transform`` or ``predict`` reads.
OF_SCIKIT_LEARN: Mapping[str, Estimator] = {
    "sklearn.pipeline.Pipeline": Estimator(),
    "sklearn.preprocessing.StandardScaler": Estimator(
        dict.fromkeys(("mean_", "scale_"), optional(_PER_INPUT))
    ).with_features("inputs"),
    "sklearn.preprocessing.MinMaxScaler": Estimator(
        dict.fromkeys(("min_", "scale_"), _PER_INPUT)
    ).with_features("inputs"),
    "sklearn.preprocessing.MaxAbsScaler": Estimator(
        {"scale_": _PER_INPUT}
    ).with_features("inputs"),
    "sklearn.preprocessing.RobustScaler": Estimator(
        dict.fromkeys(("center_", "scale_"), optional(_PER_INPUT))
    ).with_features("inputs"),
    "sklearn.preprocessing.QuantileTransformer": Estimator(
        {
            "quantiles_": array("f", "quantiles inputs"),
            "references_": array("f", "quantiles"),
        }
    ).with_features("inputs"),
    "sklearn.decomposition.PCA": Estimator(
        {
            "components_": array("f", "components inputs"),
            "mean_": _PER_INPUT,
            "explained_variance_": array("f", "components"),
        }
    ).with_features("inputs"),
    "sklearn.decomposition.TruncatedSVD": Estimator(
        {"components_": array("f", "components inputs")}
    ).with_features("inputs"),
    "sklearn.feature_selection.VarianceThreshold": Estimator(
        {"variances_": _PER_INPUT}
    ).with_features("inputs"),
    "sklearn.cross_decomposition.PLSRegression": Estimator(
        {
            "x_rotations_": array("f", "inputs components"),
            "x_loadings_": array("f", "inputs components"),
            "coef_": array("f", "targets inputs"),
            "intercept_": array("f", "targets"),
            "x_mean": _PER_INPUT,
            "x_std": _PER_INPUT,
            "y_mean": array("f", "targets"),
            "y_std": array("f", "targets"),
            "predict_1d": anything,
        },
        {name: f"_{name}" for name in ("x_mean", "x_std", "y_mean", "y_std")}
        | {"predict_1d": "_predict_1d"},
        ("predict_1d",),
    ).with_features("inputs"),
    **{
        f"sklearn.linear_model.{name}": Estimator(
            {"coef_": anything, "intercept_": anything}
        ).with_features("inputs")
        for name in _LINEAR_MODELS.split()
    },
}

_ALL = {**OURS, **OF_SCIKIT_LEARN}


def public_path(estimator_class: type) -> str | None:
    """Return the public name of a class that a model file can hold, else None."""
    for path in _ALL:
        if path.endswith(f".{estimator_class.__name__}"):
            return path if _class_of(path) is estimator_class else None
    return None


def _class_of(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


# Random states, of which a pickle may share one between several estimators


def _random_state(key: Any, position: int, has_gauss: int, gauss: float) -> Any:
    state = np.random.RandomState()
    state.set_state(("MT19937", key, position, has_gauss, gauss))
    return state


def _parts_of_random_state(state: np.random.RandomState) -> dict[str, Any]:
    _, key, position, has_gauss, gauss = state.get_state()
    return {
        "key": key,
        "position": int(position),
        "has_gauss": int(has_gauss),
        "gauss": float(gauss),
    }


def _key(value: Any, sizes: Sizes) -> None:
    array("u", "words")(value, sizes)
    if value.shape != (624,) or value.dtype != np.uint32:
        raise ValueError(f"must be 624 words of 32 bits. Got {shown(value)}")


register(
    Kind(
        "random state",
        _random_state,
        {
            "key": _key,
            "position": option(*range(625)),
            "has_gauss": option(0, 1),
            "gauss": real,
        },
        read=_parts_of_random_state,
        accepts=lambda state: (
            state.get_state(legacy=False)["bit_generator"] == "MT19937"
        ),
        in_pickles=False,
        local=["words"],
    ),
    np.random.RandomState,
)


class FileWriter(Writer):
    """Writes estimators as records, and their arrays apart, by name."""

    def __init__(self) -> None:
        super().__init__(keeps_others=False)
        self.arrays: dict[str, Any] = {}
        self._name_of_array: dict[int, str] = {}

    def array(self, value: Any, where: str) -> Any:
        if value.dtype.kind not in "biufcU" or not value.dtype.isnative:
            raise ValueError(f"{where} is an array of {value.dtype}, which {_REFUSED}")
        if id(value) not in self._name_of_array:
            name = base = where.replace(" ", "_").removeprefix("skpce.")
            number = 1
            while name in self.arrays:
                number += 1
                name = f"{base}-{number}"
            self.arrays[name] = value
            self._name_of_array[id(value)] = name
        return {"array": self._name_of_array[id(value)]}

    def other(self, value: Any, where: str) -> Any:
        path = public_path(type(value))
        if path is not None:
            return {"object": self.record(value, lambda: self._estimator(value, path))}
        if hasattr(value, "dist"):
            raise ValueError(
                f"{where} is {type(value.dist).__name__} {value.dist.name!r}, no "
                "distribution of scipy.stats by its name, from which a model file "
                "could make it again"
            )
        if isinstance(value, BaseEstimator):
            raise ValueError(
                f"{where} is a {type(value).__name__}, which {_REFUSED}. It holds "
                f"{', '.join(_known_names(OURS))} and, of scikit-learn, "
                f"{', '.join(_known_names(OF_SCIKIT_LEARN))}"
            )
        raise ValueError(f"{where} is {shown(value)}, which {_REFUSED}")

    def _estimator(self, estimator: Any, path: str) -> dict[str, Any]:
        kind, owner = _ALL[path], type(estimator).__name__
        parameters = estimator.get_params(deep=False)
        attributes = {k: v for k, v in vars(estimator).items() if k not in parameters}
        if "memory" in parameters:  # of a Pipeline: a folder of this machine
            parameters["memory"] = None
        output = attributes.pop("_sklearn_output_config", {}).get("transform")
        fitted = {
            name: attributes.pop(source)
            for name in kind.fields
            if (source := kind.sources.get(name, name)) in attributes
        }
        if path in OF_SCIKIT_LEARN:
            fitted |= {k: v for k, v in attributes.items() if _is_learned(k)}
            attributes = {k: v for k, v in attributes.items() if k == _ROUTING}
        for name in attributes:
            raise ValueError(
                f"the attribute {name!r} of {owner} is one that {_REFUSED}"
            )
        return {
            "kind": path,
            "parameters": self._named(parameters, owner),
            "fitted": self._named(fitted, owner),
            "output": output,
        }

    def _named(self, values: Mapping[str, Any], owner: str) -> dict[str, Any]:
        return {k: self.plain(value, f"{owner}.{k}") for k, value in values.items()}


_REFUSED = "a model file does not hold"

#: Attribute in which scikit-learn keeps requests of metadata.
_ROUTING = "_metadata_request"


def _known_names(estimators: Iterable[str]) -> list[str]:
    return [path.rpartition(".")[2] for path in estimators]


def _is_learned(name: str) -> bool:
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


class FileReader(Reader):
    """Makes estimators from records.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        By name.
    """

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        super().__init__()
        self.arrays = arrays
        self.used: set[str] = set()

    def array(self, name: Any) -> Any:
        if type(name) is not str or name not in self.arrays:
            raise ValueError(f"it lacks the array {shown(name)}")
        self.used.add(name)
        return self.arrays[name]

    def other(self, record: dict[str, Any], sizes: Sizes) -> Any:
        path = record["kind"]
        if path not in _ALL:
            return super().other(record, sizes)
        if set(record) != {"kind", "parameters", "fitted", "output"}:
            raise ValueError(f"a {path!r} has the entries {shown(sorted(record))}")
        parameters, fitted = (
            self._named(record[name]) for name in ("parameters", "fitted")
        )
        estimator = _unfitted(path, parameters)
        _check_fitted(path, fitted, sizes)
        sources = _ALL[path].sources
        vars(estimator).update(
            {sources.get(name, name): value for name, value in fitted.items()}
        )
        if record["output"] is not None:
            option("default", "pandas", "polars")(record["output"], sizes)
            estimator.set_output(transform=record["output"])
        return estimator

    def _named(self, plain: Any) -> dict[str, Any]:
        if type(plain) is not dict:
            raise ValueError(f"expected named values. Got {shown(plain)}")
        return {name: self.value(value) for name, value in plain.items()}


def _unfitted(path: str, parameters: dict[str, Any]) -> Any:
    made = _class_of(path)
    known = inspect.signature(made).parameters
    for name in parameters:
        if name not in known:
            raise ValueError(f"{path} has no parameter {shown(name)} in this version")
    if path == "sklearn.pipeline.Pipeline":
        _check_pipeline(**parameters)
    return made(**parameters)


def _check_pipeline(steps: Any, memory: Any = None, **others: Any) -> None:
    if memory is not None:
        raise ValueError(f"the memory of a Pipeline must be None. Got {shown(memory)}")
    several(several(anything))(steps, Sizes({}))
    for step in steps:
        if len(step) != 2 or type(step[0]) is not str:
            raise ValueError(f"expected a name and an estimator. Got {shown(step)}")
        if step[1] is not None and not isinstance(step[1], str):
            _any_estimator(step[1], Sizes({}))


def _check_fitted(path: str, fitted: dict[str, Any], sizes: Sizes) -> None:
    kind = _ALL[path]
    checks = dict(kind.fields)
    if path in OF_SCIKIT_LEARN:
        checks |= {k: anything for k in fitted if _is_learned(k) and k not in checks}
    if fitted:
        refuse_other_fields(path, fitted, checks, kind.may_lack)
    check_fields(path, fitted, checks, sizes)
    if path == "skpce.PolynomialChaosRegressor" and fitted:
        found = fitted["expansion"].coefficients.shape
        if found != fitted["problem"].fit.coefficients.shape:
            raise ValueError(
                f"a {path!r} has an expansion of other targets than fitted"
            )
