"""What a fitted estimator consists of: tags, fields, and what they may hold.

The tables of the model file. To rename a class or a module of this package, change it
here and nowhere else: tags and names of fields stay. A new noun gets a line here; a
field that a noun gains needs another version of the format (see ``files``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from .._basis.basis import PolynomialBasis
from .._checks import Samples
from .._compositions.fitted import (
    FittedCompositions,
    InputModelFit,
    InputModels,
    InputModelSolver,
)
from .._compositions.log_ratio import LOG_RATIOS, LogRatioGeometry
from .._compositions.steps import StepLayout
from .._dependence.maps import IsoprobabilisticMap
from .._dependence.scores import (
    ConstantMap,
    DistributionMap,
    EmpiricalMap,
    GaussianScores,
    KernelScores,
    MarginalMap,
    NormalMap,
    ScoreLaw,
)
from .._dependence.tests import SurrogateDiagnostics
from .._expansion.expansion import Expansion
from .._expansion.intervals import SobolInterval
from .._expansion.problem import FittedProblem
from .._input_laws import (
    NAMED_LAWS,
    ContinuousLaw,
    DiscreteLaw,
    EmpiricalLaw,
    InputLaw,
)
from .._input_laws.families import is_frozen
from .._input_laws.measures import FiniteMeasure
from .._solvers import (
    CRITERIA,
    SOLVERS,
    CoefficientSolver,
    DesignMoments,
    LinearFit,
)
from .._solvers.external import AutomaticSolver, ExternalSolver
from .._solvers.problem import Leverage, LeverageFactor
from .state import (
    Check,
    Kind,
    Sizes,
    anything,
    array,
    flag,
    mapping,
    one_of,
    option,
    optional,
    real,
    register,
    several,
    shown,
    text,
    whole,
)


def _noun(tag: str, made: type, fields: Mapping[str, Check], **options: Any) -> None:
    """Register a class whose fields are its attributes and its arguments."""
    register(Kind(tag, made, fields, **options), made)


# Distributions of scipy.stats


def _scipy_distribution(
    family: str, arguments: tuple[Any, ...], keywords: dict[str, Any], table: Any
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


def _family_and_table(family: Any) -> tuple[str, Any]:
    """Return the name of a distribution and the table that it was made from."""
    if type(family) is stats.rv_histogram:
        counts, edges = family._histogram
        return "rv_histogram", (counts, edges, family._density)
    if type(family) is _TABLE:
        return "rv_discrete", (family.xk, family.pk)
    return family.name, None


def _is_of_scipy(frozen: Any) -> bool:
    """Whether ``scipy.stats`` has the distribution by its name."""
    family = frozen.dist
    name, table = _family_and_table(family)
    if table is not None:
        return True
    known = getattr(stats, str(name), None)
    return type(known) is type(family) and all(
        getattr(known, name) == getattr(family, name) for name in ("a", "b", "shapes")
    )


def _parts_of_scipy(frozen: Any) -> dict[str, Any]:
    family, table = _family_and_table(frozen.dist)
    return {
        "family": family,
        "arguments": frozen.args,
        "keywords": frozen.kwds,
        "table": table,
    }


def _frozen(value: Any, sizes: Sizes) -> None:
    """Raise ``ValueError`` unless a value is a frozen distribution."""
    if not is_frozen(value):
        raise ValueError(f"must be a frozen distribution. Got {shown(value)}")


register(
    Kind(
        "scipy distribution",
        _scipy_distribution,
        {
            "family": text,
            "arguments": several(anything),
            "keywords": mapping,
            "table": optional(several(anything)),
        },
        read=_parts_of_scipy,
        accepts=_is_of_scipy,
    ),
    type(stats.norm()),
    type(stats.bernoulli(0.5)),
)


# Distributions of the inputs


def _check_measure(measure: FiniteMeasure) -> None:
    if not len(measure.points):
        raise ValueError("a 'finite measure' has no points")


_noun(
    "finite measure",
    FiniteMeasure,
    {"points": array("f", "points"), "masses": array("f", "points")},
    check=_check_measure,
    local=["points"],
)


def _pair(value: Any, sizes: Sizes) -> None:
    several(real)(value, sizes)
    if len(value) != 2:
        raise ValueError(f"must be two floats. Got {shown(value)}")


_LAW: dict[str, Check] = {"location": real, "scale": real, "learned": flag}
_EXTRA: Mapping[str, dict[str, Check]] = {
    "exponential": {"shape": real},
    "gamma": {"shape": real},
    "beta": {"shapes": _pair},
    "categorical": {"table": one_of(FiniteMeasure)},
}
for _name, _law in NAMED_LAWS.items():
    if _name != "empirical":
        _noun(f"{_name} distribution", _law, {**_LAW, **_EXTRA.get(_name, {})})


def _tabulated(tag: str, law: Any, fields: dict[str, Check]) -> None:
    """Register a distribution with the recurrences that were computed from its table.

    A recurrence is the degree, ``a_0 ...``, ``b_1 ...`` and the distance of its
    polynomials from orthonormal ones.
    """

    def make(recurrences: Any, **fields: Any) -> Any:
        made = law(**fields)
        for degree, a, b, defect in recurrences:
            made._recurrences[degree] = _checked_recurrence(degree, a, b, defect)
        return made

    def read(value: Any) -> dict[str, Any]:
        known = sorted(value._recurrences.items())
        return {"recurrences": tuple((degree, *found) for degree, found in known)}

    every = {**_LAW, **fields, "recurrences": several(several(anything))}
    register(Kind(tag, make, every, {"scipy": "frozen"}, read=read), law)


def _checked_recurrence(degree: Any, a: Any, b: Any, defect: Any) -> Any:
    shapes = [getattr(part, "shape", None) for part in (a, b)]
    if type(degree) is not int or shapes != [(degree,), (degree,)]:
        raise ValueError(f"a recurrence of degree {shown(degree)} has shapes {shapes}")
    for part in (a, b):
        part.flags.writeable = False
    return a, b, float(defect)


_tabulated("empirical distribution", EmpiricalLaw, {"table": one_of(FiniteMeasure)})
_tabulated("continuous distribution", ContinuousLaw, {"scipy": _frozen})
_tabulated("discrete distribution", DiscreteLaw, {"scipy": _frozen})


# Basis and expansion


def _check_basis(basis: PolynomialBasis) -> None:
    rows = basis.multi_indices
    if not len(rows) or rows[0].any() or (rows < 0).any():
        raise ValueError(
            "the multi-indices of a 'basis' must not be negative, and row 0 be zero"
        )


_noun(
    "basis",
    PolynomialBasis,
    {
        "distributions": several(one_of(InputLaw), "inputs"),
        "multi_indices": array("i", "terms inputs"),
    },
    sources={"distributions": "laws"},
    check=_check_basis,
)
_noun(
    "expansion",
    Expansion,
    {
        "basis": one_of(PolynomialBasis),
        "coefficients": array("f", "outputs terms"),
        "input_names": several(text, "inputs"),
        "output_names": several(text, "outputs"),
        "groups": optional(array("i", "outputs")),
        "group_names": several(text, "groups"),
        "q2": array("f", "groups"),
        "scalar": flag,
    },
    local=["outputs", "groups"],
)


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


def _named_solver(name: str, alphas: Any, criterion: str) -> CoefficientSolver:
    return SOLVERS[name](alphas, criterion)


register(
    Kind(
        "solver",
        _named_solver,
        {
            "name": option(*SOLVERS),
            "alphas": array("f", "alphas"),
            "criterion": option(*CRITERIA),
        },
        read=_parts_of_solver,
        local=["alphas"],
    ),
    *_NAME_OF_SOLVER,
)
_noun("regressor of the basis", ExternalSolver, {"regressor": anything})


def _regressor_of_inputs(
    regressor: Any, basis: PolynomialBasis, draws: Any, held_out: Any
) -> InputModelSolver:
    solver = InputModelSolver.__new__(InputModelSolver)
    vars(solver).update(
        regressor=regressor, basis=basis, draws=draws, held_out=held_out
    )
    return solver


register(
    Kind(
        "regressor of the inputs",
        _regressor_of_inputs,
        {
            "regressor": anything,
            "basis": one_of(PolynomialBasis),
            "draws": array("f", "draws inputs"),
            "held_out": array("f", "draws inputs"),
        },
        local=["draws"],
    ),
    InputModelSolver,
)


# Fits

_FIT: dict[str, Check] = {
    "coefficients": array("f", "targets terms"),
    "alpha": array("f", "targets"),
    "scales": array("f", "targets terms"),
    "leverage": one_of(Leverage),
    "criterion": array("f", "targets"),
    "loo_residuals": optional(array("f", "samples targets")),
    "scaled_residuals": optional(array("f", "samples targets")),
    "residual_variance": array("f", "targets"),
    "solver_names": optional(several(text, "targets")),
}


def _check_fit(fit: LinearFit) -> None:
    n_terms = fit.coefficients.shape[1]
    for factor in fit.leverage.factors:
        if not ((factor.used >= 0) & (factor.used < n_terms)).all():
            raise ValueError("a 'leverage factor' uses terms that are none")


def _check_factor(factor: LeverageFactor) -> None:
    if factor.used.max(initial=-1) >= len(factor.center):
        raise ValueError("a 'leverage factor' uses terms without a centre")


def _check_leverage(leverage: Leverage) -> None:
    numbers = leverage.factor_of_target
    if not ((numbers >= 0) & (numbers < len(leverage.factors))).all():
        raise ValueError("a target of a 'leverage' has no factor")


_noun(
    "leverage factor",
    LeverageFactor,
    {
        "right": array("f", "rank used"),
        "singular_values": array("f", "rank"),
        "center": array("f", "centres"),
        "used": array("i", "used"),
        "scale": array("f", "used"),
        "base": real,
    },
    check=_check_factor,
    local=["rank", "used", "centres"],
)
_noun(
    "leverage",
    Leverage,
    {
        "factors": several(one_of(LeverageFactor)),
        "factor_of_target": array("i", "targets"),
        "alpha": array("f", "targets"),
    },
    check=_check_leverage,
)
_noun("linear fit", LinearFit, _FIT, check=_check_fit)
_noun(
    "models of the inputs",
    InputModels,
    {"parts": several(several(anything)), "n_fitted": whole},
)
_noun(
    "fit to models of the inputs",
    InputModelFit,
    {**_FIT, "models": one_of(InputModels)},
    check=_check_fit,
)
_noun(
    "samples",
    Samples,
    {
        "inputs": array("f", "samples inputs"),
        "targets": array("f", "samples targets"),
        "weights": array("f", "samples"),
    },
)
_noun(
    "sums over the samples",
    DesignMoments,
    {
        "total_weight": real,
        "mean": array("f", "terms"),
        "target_mean": array("f", "targets"),
        "gram": array("f", "terms terms"),
        "cross": array("f", "terms targets"),
        "target_square": array("f", "targets"),
    },
)


def _check_problem(problem: FittedProblem) -> None:
    if problem.samples is None and problem.sums is None:
        raise ValueError("a 'fitted problem' has neither samples nor their sums")


_noun(
    "fitted problem",
    FittedProblem,
    {
        "basis": one_of(PolynomialBasis),
        "solver": one_of(CoefficientSolver),
        "fit": one_of(LinearFit),
        "spread": array("f", "targets"),
        "groups": array("i", "targets"),
        "samples": optional(one_of(Samples)),
        "sums": optional(one_of(DesignMoments)),
        "on_inputs": flag,
    },
    check=_check_problem,
)
_noun(
    "intervals of indices",
    SobolInterval,
    {
        name: array("f", "bounds rows inputs")
        for name in ("first_order", "total_order", "shapley")
    }
    | {"confidence_level": real, "method": text},
    local=["bounds", "rows"],
)


# Compositions


def _check_layout(layout: StepLayout) -> None:
    if min(layout.widths, default=0) < 1 or layout.n_parts != len(layout.part_names):
        raise ValueError("the widths of 'steps' are not those of their parts")


_noun(
    "steps",
    StepLayout,
    {
        "widths": several(whole, "steps"),
        "step_names": several(text, "steps"),
        "part_names": several(text, "parts"),
    },
    check=_check_layout,
)
_noun(
    "log-ratio coordinates",
    LogRatioGeometry,
    {
        "steps": one_of(StepLayout),
        "mask": array("b", "parts"),
        "log_ratio": option(*LOG_RATIOS),
        "reference": whole,
    },
    sources={"steps": "layout"},
)


def _check_compositions(fitted: FittedCompositions) -> None:
    if fitted.problem.samples is None:
        raise ValueError("the problem of 'compositions' has no samples")
    if fitted.expansion.n_outputs != fitted.geometry.active_parts.size:
        raise ValueError("'compositions' have an expansion of other parts than theirs")
    geometry = fitted.fitted_geometry
    n_fitted = geometry.active_parts.size
    if geometry.log_ratio != "clr":  # each step with a choice has one part less
        n_fitted -= int(geometry.has_choice.sum())
    if len(fitted.fit.coefficients) != n_fitted:
        raise ValueError("'compositions' have a fit of other coordinates than theirs")


_noun(
    "compositions",
    FittedCompositions,
    {
        "expansion": one_of(Expansion),
        "problem": one_of(FittedProblem),
        "coordinates": one_of(LogRatioGeometry),
        "fitted_coordinates": one_of(LogRatioGeometry),
        "models": optional(one_of(InputModels)),
        "step_interval": optional(one_of(SobolInterval)),
        "owner": text,
        "random_state": anything,
        "n_jobs": anything,
        "pooled": flag,
        "scalar": flag,
    },
    sources={"coordinates": "geometry", "fitted_coordinates": "fitted_geometry"},
    check=_check_compositions,
)
_noun(
    "diagnostics",
    SurrogateDiagnostics,
    {
        "loo_q2": array("f", "steps"),
        "n_members": whole,
        "n_terms": whole,
        "permutation_p_values": optional(array("f", "steps")),
        "inputs": array("f", "samples inputs"),
        "basis": one_of(PolynomialBasis),
    },
)


# Maps of dependent inputs

_noun("constant column", ConstantMap, {"value": real})
_noun("normal column", NormalMap, {"location": real, "scale": real})
_noun(
    "column of a distribution",
    DistributionMap,
    {"scipy": _frozen, "lowest": real, "highest": real},
    sources={"scipy": "frozen"},
)
_noun(
    "empirical column",
    EmpiricalMap,
    {"values": array("f", "values"), "scores": array("f", "values"), "slope": real},
    local=["values"],
)
_noun(
    "normal scores",
    GaussianScores,
    {
        "correlation": array("f", "inputs inputs"),
        "root": array("f", "inputs inputs"),
    },
)
_noun(
    "scores by kernels",
    KernelScores,
    {
        "rows": array("f", "rows inputs"),
        "weights": array("f", "rows"),
        "bandwidth": real,
        "correlation": array("f", "inputs inputs"),
    },
    local=["rows"],
)
_noun(
    "isoprobabilistic map",
    IsoprobabilisticMap,
    {
        "owner": text,
        "names": several(text, "inputs"),
        "distributions": several(one_of(InputLaw), "inputs"),
        "columns": several(one_of(MarginalMap), "inputs"),
        "scores": one_of(ScoreLaw),
        "sequential": flag,
    },
    sources={"distributions": "laws"},
)
