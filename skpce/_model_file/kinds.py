"""What a fitted estimator consists of: tags, fields, and what they may hold.

The fields of a dataclass are those that it declares, and may hold what its annotations
say; the lines here add its tag and the axes of its arrays. To rename a class or a field
of this package, change it here and nowhere else: tags and names of fields stay. A field
that a noun gains needs another version of the format (see ``files``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from .._basis.basis import PolynomialBasis
from .._basis.representers import RepresenterBasis
from .._checks import FloatArray, IndexArray, Samples
from .._compositions.amalgamation import Amalgamation
from .._compositions.fitted import (
    FittedCompositions,
    InputModelFit,
    InputModels,
    InputModelSolver,
)
from .._compositions.log_ratio import LOG_RATIOS, LogRatioGeometry
from .._compositions.steps import StepLayout
from .._expansion.expansion import Expansion
from .._expansion.intervals import SobolInterval
from .._expansion.problem import FittedProblem
from .._input_laws import NAMED_LAWS, ContinuousLaw, DiscreteLaw, EmpiricalLaw, scores
from .._input_laws.families import is_frozen
from .._input_laws.maps import IsoprobabilisticMap
from .._input_laws.measures import FiniteMeasure
from .._solvers import CRITERIA, SOLVERS, DesignMoments, LinearFit
from .._solvers.dual_ridge import DualFit, DualRidgeSolver
from .._solvers.external import AutomaticSolver, ExternalSolver
from .._solvers.problem import Leverage, LeverageFactor
from .state import Field, Kind, check_value, register, shown

#: Axes, and the fields that have them in all nouns but where a line below says others.
_AXES = {
    "inputs": "laws input_names names columns n_features_in_ feature_names_in_ mean_ "
    "scale_ min_ center_ variances_ _x_mean _x_std",
    "inputs inputs": "correlation root correlation_",
    "terms": "mean",
    "terms inputs": "multi_indices",
    "terms terms": "gram",
    "terms targets": "cross",
    "targets": "alpha criterion factor_of_target groups residual_variance solver_names "
    "spread target_mean target_square alpha_ solver_ intercept_ _y_mean _y_std",
    "targets inputs": "coef_",
    "targets terms": "coefficients scales",
    "samples": "weights",
    "samples inputs": "inputs",
    "samples targets": "targets loo_residuals scaled_residuals",
    "steps": "widths step_names loo_q2 permutation_p_values",
    "parts": "part_names mask",
    "outputs": "output_names",
    "groups": "group_names q2",
    "bounds rows inputs": "first_order total_order shapley",
    "bounds steps inputs": "step_sobol_interval_ step_total_sobol_interval_",
    "draws inputs": "draws held_out",
    "rows inputs": "rows",
    "points": "points masses",
    "alphas": "alphas",
    "values": "values scores",
    "components": "explained_variance_",
    "components inputs": "components_",
    "inputs components": "x_rotations_ x_loadings_",
    "given": "given_names possible place",
    "quantiles": "references_",
    "quantiles inputs": "quantiles_",
    "centres": "center",
    "used": "used scale",
    "rank": "singular_values",
    "rank used": "right",
}
_AXES_OF = {name: axes for axes, names in _AXES.items() for name in names.split()}

#: Attributes whose field has another name, beside an underscore in front.
_NAMES = {
    "laws": "distributions",
    "layout": "steps",
    "geometry": "coordinates",
    "geometry_": "coordinates",
    "fitted_geometry": "fitted_coordinates",
    "frozen": "scipy",
    "expansion_": "expansion",
    "_fitted": "compositions",
    "_labels_of_y": "names_of_columns",
}

#: Attributes that some fits do not have.
_MAY_LACK = (
    "feature_names_in_",
    "step_sobol_interval_",
    "step_total_sobol_interval_",
    "_predict_1d",
    "levels_",
    "target_variance",
    "loo_error",
    "diagnostics_",
)

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def _fields(axes: Mapping[str, str] = _NOTHING, /, **holds: Any) -> dict[str, Field]:
    """Return the fields of attributes that hold what annotations say."""
    return {
        _NAMES.get(name, name.removeprefix("_")): Field(
            name, hint, axes.get(name, _AXES_OF.get(name, "")), name in _MAY_LACK
        )
        for name, hint in holds.items()
    }


def _noun(
    tag: str,
    noun: Any,
    *,
    axes: Mapping[str, str] = _NOTHING,
    rules: Mapping[str, Callable[[Any], bool]] = _NOTHING,
    make: Callable[..., Any] | None = None,
    read: Callable[[Any], dict[str, Any]] = lambda value: {},
    **others: Any,  # fields that are not declared, or hold less than declared
) -> None:
    """Register a class whose fields are its attributes."""
    hints = get_type_hints(noun)
    declared = fields(noun) if is_dataclass(noun) else ()
    holds = {entry.name: hints[entry.name] for entry in declared} | others
    made = partial(make or _with_attributes, noun)
    register(Kind(tag, _fields(axes, **holds), made, read, rules=rules), noun)


def _with_attributes(noun: Any, **attributes: Any) -> Any:
    """Return an object that has these attributes."""
    made = noun.__new__(noun)
    vars(made).update(attributes)
    return made


# Distributions of scipy.stats


def _scipy_distribution(
    family: str, arguments: Sequence[Any], keywords: dict[str, Any], table: Any
) -> Any:
    """Freeze a distribution of ``scipy.stats``, given by its name."""
    found = getattr(stats, family, None)
    if table is not None and family == "rv_discrete":
        found = stats.rv_discrete(values=(table[0], table[1]))
    elif table is not None and family == "rv_histogram":
        found = stats.rv_histogram((table[0], table[1]), density=table[2])
    if not isinstance(found, (stats.rv_continuous, stats.rv_discrete)):
        raise ValueError(f"scipy.stats has no distribution {shown(family)}")
    for value in (*arguments, *keywords.values()):
        if not isinstance(value, (int, float, np.number, np.ndarray)):
            raise ValueError(f"a parameter of {family} is {shown(value)}")
    return found(*arguments, **keywords)


#: Class of a discrete distribution that was made from a table.
_TABLE = type(stats.rv_discrete(values=([0.0], [1.0])))


def _parts_of_scipy(frozen: Any) -> dict[str, Any]:
    """Return the name and parameters of a distribution, and its table if it has one."""
    family = frozen.dist
    name, table = family.name, None
    if type(family) is stats.rv_histogram:
        name, table = "rv_histogram", (*family._histogram, family._density)
    elif type(family) is _TABLE:
        name, table = "rv_discrete", (family.xk, family.pk)
    parts = {"arguments": frozen.args, "keywords": frozen.kwds}
    return {"family": name, **parts, "table": table}


def _is_of_scipy(frozen: Any) -> bool:
    """Return whether ``scipy.stats`` has the distribution by its name."""
    parts, family = _parts_of_scipy(frozen), frozen.dist
    if parts["table"] is not None:
        return True
    known = getattr(stats, str(parts["family"]), None)
    return type(known) is type(family) and all(
        getattr(known, name) == getattr(family, name) for name in ("a", "b", "shapes")
    )


register(
    Kind(
        "scipy distribution",
        _fields(
            family=str,
            arguments=tuple[Any, ...],
            keywords=dict,
            table=tuple[Any, ...] | None,
        ),
        _scipy_distribution,
        _parts_of_scipy,
        accepts=_is_of_scipy,
    ),
    type(stats.norm()),
    type(stats.bernoulli(0.5)),
)


# Distributions of the inputs


def _check_frozen(value: Any) -> None:
    if not is_frozen(value):
        raise ValueError(f"must be a frozen distribution. Got {shown(value)}")


def _with_recurrences(noun: Any, recurrences: Any, **attributes: Any) -> Any:
    """Return a distribution with the recurrences that were computed for it."""
    made = _with_attributes(noun, **attributes)
    for degree, a, b, defect in recurrences:
        shapes = [getattr(part, "shape", None) for part in (a, b)]
        if shapes != [(degree,), (degree,)]:
            raise ValueError(f"a recurrence of degree {degree} has shapes {shapes}")
        for part in (a, b):
            part.flags.writeable = False
        made._recurrences[degree] = a, b, float(defect)
    return made


def _recurrences_of(law: Any) -> dict[str, Any]:
    known = sorted(law._recurrences.items())
    return {"recurrences": tuple((degree, *found) for degree, found in known)}


_noun("finite measure", FiniteMeasure)
for _name, _law in NAMED_LAWS.items():
    if _law is not EmpiricalLaw:
        _noun(f"{_name} distribution", _law)
_tabulated = partial(
    _noun,
    make=_with_recurrences,
    read=_recurrences_of,
    # The degree, ``a_0 ...``, ``b_1 ...`` and the distance from orthonormality.
    recurrences=tuple[tuple[int, Any, Any, float], ...],
)
_tabulated("empirical distribution", EmpiricalLaw)
_tabulated("continuous distribution", ContinuousLaw, frozen=_check_frozen)
_tabulated("discrete distribution", DiscreteLaw, frozen=_check_frozen)


# Solvers, under the names of the parameter ``solver``

_NAME_OF_SOLVER = {
    type(make(np.ones(1), CRITERIA[0])): name for name, make in SOLVERS.items()
}


def _parts_of_solver(solver: Any) -> dict[str, Any]:
    ridge = solver
    if isinstance(solver, AutomaticSolver):  # both candidates have the same
        ridge = next(iter(solver.candidates.values()))
    return {
        "name": _NAME_OF_SOLVER[type(solver)],
        "alphas": getattr(ridge, "alphas", np.ones(1)),
        "criterion": getattr(ridge, "criterion", CRITERIA[0]),
    }


register(
    Kind(
        "solver",
        _fields(name=tuple(SOLVERS), alphas=FloatArray, criterion=tuple(CRITERIA)),
        lambda name, alphas, criterion: SOLVERS[name](alphas, criterion),
        _parts_of_solver,
    ),
    *_NAME_OF_SOLVER,
)


# Fits, and what they consist of

_noun(
    "basis",
    PolynomialBasis,
    rules={
        "row 0 of the multi-indices of a 'basis' must be zero": lambda basis: (
            len(basis.multi_indices) > 0 and not basis.multi_indices[0].any()
        )
    },
)
_noun(
    "expansion",
    Expansion,
    axes={
        "coefficients": "outputs terms",
        **dict.fromkeys(("groups", "target_variance", "loo_error"), "outputs"),
    },
)
_noun(
    "basis of representers",
    RepresenterBasis,
    axes={
        "inputs": "representers inputs",
        "input_weights": "kernels inputs",
        "cell_weights": "kernels cells",
    },
)
_noun(
    "ridge on all terms",
    DualRidgeSolver,
    axes={"input_weights": "inputs", "input_groups": "inputs"},
    template=RepresenterBasis,
    input_weights=FloatArray | None,
    input_groups=IndexArray | None,
    order_weights=FloatArray | None,
    degree_decay=float | None,
    alphas=FloatArray | None,
    n_folds=int,
    shared=bool,
)
_noun("regressor of the basis", ExternalSolver, regressor=Any)
_noun(
    "regressor of the inputs",
    InputModelSolver,
    regressor=Any,
    basis=PolynomialBasis,
    draws=FloatArray,
    held_out=FloatArray,
)
_noun("leverage factor", LeverageFactor)
_noun(
    "leverage",
    Leverage,
    rules={
        "a target of a 'leverage' has no factor": lambda leverage: bool(
            (leverage.factor_of_target < len(leverage.factors)).all()
        )
    },
)
_fit = partial(
    _noun, loo_residuals=FloatArray | None, scaled_residuals=FloatArray | None
)
_fit("linear fit", LinearFit)
_fit("fit to models of the inputs", InputModelFit, models=InputModels)
_fit("fit to representers", DualFit)
_noun("models of the inputs", InputModels)
_noun("samples", Samples)
_noun("sums over the samples", DesignMoments)
_noun("fitted problem", FittedProblem)
_noun("intervals of indices", SobolInterval)


# Compositions

_noun(
    "steps",
    StepLayout,
    rules={
        "the widths of 'steps' are not those of their parts": lambda steps: (
            min(steps.widths, default=0) > 0 and steps.n_parts == len(steps.part_names)
        )
    },
)
_noun(
    "amalgamation",
    Amalgamation,
    axes={"step_names": "", "given_widths": ""},
    rules={
        "an 'amalgamation' has columns beyond its steps": lambda made: (
            sum(made.given_widths) == len(made.place) and made.place.min() >= 0
        )
    },
)
_noun("log-ratio coordinates", LogRatioGeometry, log_ratio=tuple(LOG_RATIOS))
_noun(
    "compositions",
    FittedCompositions,
    rules={
        "'compositions' have an expansion of other parts than theirs": lambda fitted: (
            fitted.expansion.n_outputs == fitted.geometry.active_parts.size
        ),
        "'compositions' have a fit of other coordinates than theirs": lambda fitted: (
            len(fitted.fit.coefficients) == fitted.fitted_geometry.n_coordinates
        ),
    },
)
_noun("diagnostics", scores.SurrogateDiagnostics)


# Maps of dependent inputs

_noun("constant column", scores.ConstantMap)
_noun("normal column", scores.NormalMap)
_noun("column of a distribution", scores.DistributionMap, frozen=_check_frozen)
_noun("empirical column", scores.EmpiricalMap)
_noun("normal scores", scores.GaussianScores)
_noun("scores by kernels", scores.KernelScores, axes={"weights": "rows"})
_noun("isoprobabilistic map", IsoprobabilisticMap)


# Random states, of which a pickle may share one between several estimators


def _random_state(**parts: Any) -> np.random.RandomState:
    state = np.random.RandomState()
    state.set_state(("MT19937", *(parts[name] for name in _OF_STATE)))
    return state


def _check_key(value: Any) -> None:
    check_value(value, NDArray[np.uint32])
    if value.shape != (624,) or value.dtype != np.uint32:
        raise ValueError(f"must be 624 words of 32 bits. Got {shown(value)}")


_OF_STATE = _fields(
    key=_check_key, position=tuple(range(625)), has_gauss=(0, 1), gauss=float
)
register(
    Kind(
        "random state",
        _OF_STATE,
        _random_state,
        lambda state: dict(zip(_OF_STATE, state.get_state()[1:], strict=True)),
        accepts=lambda state: (
            state.get_state(legacy=False)["bit_generator"] == "MT19937"
        ),
        in_pickles=False,
    ),
    np.random.RandomState,
)


# Estimators, by the names under which their packages show them


def check_estimator(value: Any, path: str | None = None) -> None:
    """Raise ``ValueError`` unless a value is an estimator, or that of a path."""
    found = public_path(type(value))
    if found is None or path not in (None, found):
        raise ValueError(f"must be {path or 'an estimator'}. Got {shown(value)}")


def _check_transformer(value: Any) -> None:
    if value is not None:
        check_estimator(value)


def _fitted(
    arrays: str = "", axes: Mapping[str, str] = _NOTHING, **others: Any
) -> dict[str, Field]:
    """Return fitted attributes, with the features that every fit has."""
    features = {"n_features_in_": int, "feature_names_in_": NDArray[np.object_]}
    return _fields(
        axes, **dict.fromkeys(arrays.split(), FloatArray), **others, **features
    )


_map_of_inputs = partial(
    _fitted, "correlation_", shrinkage_=float, _map=IsoprobabilisticMap
)

OURS: Mapping[str, Mapping[str, Field]] = {
    "skpce.PolynomialChaosFeatures": _fitted(basis_=PolynomialBasis, levels_=dict),
    "skpce.PolynomialChaosRegressor": _fitted(
        "alpha_",
        _problem=FittedProblem,
        expansion_=Expansion,
        solver_=NDArray[np.str_],
        _is_scalar=bool,
        levels_=dict,
    )
    | {"names_of_columns": Field("_labels_of_y", tuple[Sequence[str], ...], "", True)},
    "skpce.PolynomialChaosKernelRegressor": _fitted(
        "alpha_",
        _problem=FittedProblem,
        expansion_=Expansion,
        _is_scalar=bool,
        levels_=dict,
    )
    | {"names_of_columns": Field("_labels_of_y", tuple[Sequence[str], ...], "", True)},
    "skpce.PolynomialChaosRegressorCV": _fitted(
        best_estimator_=partial(check_estimator, path="skpce.PolynomialChaosRegressor"),
        degree_=int,
        q_=float,
        chosen_solver_=str,
        cv_results_=dict,
    ),
    "skpce.CompositionalPCESurrogate": _fitted(
        "step_sobol_interval_ step_total_sobol_interval_",
        _fitted=FittedCompositions,
        diagnostics_=scores.SurrogateDiagnostics,
        _labels_of_y=tuple[Sequence[str], ...],
        _n_features_out=int,
        levels_=dict,
    )
    | {"amalgamation": Field("_amalgamation", Amalgamation | None, "", True)},
    "skpce.LogRatioTransformer": _fitted(
        axes={"n_features_in_": "parts", "feature_names_in_": "parts"},
        geometry_=LogRatioGeometry,
        _n_features_out=int,
    ),
    "skpce.NatafTransformer": _map_of_inputs(),
    "skpce.RosenblattTransformer": _map_of_inputs(bandwidth_=float),
    "skpce.embedding.PLSTransformer": _fitted(
        pls_=partial(check_estimator, path="sklearn.cross_decomposition.PLSRegression"),
        target_transformer_=_check_transformer,
        n_iter_=int,
    ),
}

_LINEAR_MODELS = (
    "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars LarsCV "
    "Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC LinearRegression "
    "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV Ridge RidgeCV"
)

#: Of these every public fitted attribute is written; those listed here are what their
#: ``transform`` or ``predict`` reads.
OF_SCIKIT_LEARN: Mapping[str, Mapping[str, Field]] = {
    "sklearn.pipeline.Pipeline": {},
    "sklearn.preprocessing.StandardScaler": _fitted(
        mean_=FloatArray | None, scale_=FloatArray | None
    ),
    "sklearn.preprocessing.MinMaxScaler": _fitted("min_ scale_"),
    "sklearn.preprocessing.MaxAbsScaler": _fitted("scale_"),
    "sklearn.preprocessing.RobustScaler": _fitted(
        center_=FloatArray | None, scale_=FloatArray | None
    ),
    "sklearn.preprocessing.QuantileTransformer": _fitted("quantiles_ references_"),
    "sklearn.decomposition.PCA": _fitted("components_ mean_ explained_variance_"),
    "sklearn.decomposition.TruncatedSVD": _fitted("components_"),
    "sklearn.feature_selection.VarianceThreshold": _fitted("variances_"),
    "sklearn.cross_decomposition.PLSRegression": _fitted(
        "x_rotations_ x_loadings_ coef_ intercept_ _x_mean _x_std _y_mean _y_std",
        _predict_1d=Any,
    ),
    **{
        f"sklearn.linear_model.{name}": _fitted(
            axes={"coef_": "", "intercept_": ""}, coef_=Any, intercept_=Any
        )
        for name in _LINEAR_MODELS.split()
    },
}

ESTIMATORS = {**OURS, **OF_SCIKIT_LEARN}


def public_path(estimator_class: type) -> str | None:
    """Return the public name of a class that a model file can hold, else None."""
    for path in ESTIMATORS:
        if path.endswith(f".{estimator_class.__name__}"):
            return path if class_of(path) is estimator_class else None
    return None


def class_of(path: str) -> Any:
    """Return the class of a public name."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
