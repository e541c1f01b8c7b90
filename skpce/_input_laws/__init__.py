"""The distribution of each input, chosen by name or as a frozen one of scipy.stats."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import stats

from .._checks import LARGEST_NUMBER, FloatArray
from .choice import choose_laws
from .families import (
    BETA_FAMILIES,
    MAP_TO_NORMAL,
    BetaLaw,
    ExponentialLaw,
    GammaLaw,
    InputLaw,
    LogNormalLaw,
    LogUniformLaw,
    NormalLaw,
    UniformLaw,
    check_frozen,
    family_name,
    is_frozen,
)
from .other_libraries import all_in_scipy
from .smoothed import SmoothedLaw
from .tabulated import (
    CategoricalLaw,
    ContinuousLaw,
    DiscreteLaw,
    EmpiricalLaw,
    OrdinalLaw,
)

#: The name by which the family of each column is chosen from the data.
AUTO = "auto"

#: Families that ``distribution=`` takes by name.
NAMED_LAWS: Mapping[str, type[InputLaw]] = MappingProxyType(
    {
        "beta": BetaLaw,
        "categorical": CategoricalLaw,
        "empirical": EmpiricalLaw,
        "exponential": ExponentialLaw,
        "gamma": GammaLaw,
        "lognormal": LogNormalLaw,
        "loguniform": LogUniformLaw,
        "normal": NormalLaw,
        "ordinal": OrdinalLaw,
        "smoothed": SmoothedLaw,
        "uniform": UniformLaw,
    }
)

#: Names accepted by ``distribution=``.
NAMES = tuple(sorted([AUTO, *NAMED_LAWS]))

#: Families of ``scipy.stats`` whose polynomials are classical. For the others the
#: recurrence is computed from the density or from the probabilities.
FROZEN_LAWS: Mapping[str, type[InputLaw]] = MappingProxyType(
    {
        "norm": NormalLaw,
        "uniform": UniformLaw,
        "expon": ExponentialLaw,
        **dict.fromkeys(("gamma", "erlang", "chi2"), GammaLaw),
        **dict.fromkeys(BETA_FAMILIES, BetaLaw),
    }
)


def check_distribution(
    owner: str, distribution: Any, names: Sequence[str], labels: Collection[str] = ()
) -> list[Any]:
    """Return one checked specification per input: a name, or a frozen distribution.

    A mapping is by the names of the inputs; a pair of numbers is the bounds of a
    uniform distribution. Inputs that were given as labels are categorical. Those of
    other libraries become frozen ones.
    """
    n_features = len(names)
    if not isinstance(distribution, str):
        distribution = all_in_scipy(distribution, names)
    if isinstance(distribution, str):
        specifications = [distribution] * n_features
    elif isinstance(distribution, Mapping):
        specifications = _in_order(owner, distribution, names)
    elif _is_listed(distribution) and not _are_bounds(distribution):
        specifications = list(distribution)
        if len(specifications) != n_features:
            raise ValueError(
                f"The 'distribution' parameter of {owner} has {len(specifications)} "
                f"entries but X has {n_features} features. Give one distribution for "
                "all or one per feature."
            )
    else:
        specifications = [distribution] * n_features
    found = [_read_specification(owner, given) for given in specifications]
    one_for_all = isinstance(distribution, str)
    for i, name in enumerate(names):
        if name not in labels:
            continue
        if not one_for_all and found[i] not in (AUTO, "categorical"):
            raise ValueError(
                f"The 'distribution' parameter of {owner} is {specifications[i]!r} for "
                f"{name}, whose column of X holds labels; expected 'categorical', or "
                "numbers."
            )
        found[i] = "categorical"
    return found


def _is_listed(distribution: Any) -> bool:
    listed = isinstance(distribution, (Sequence, np.ndarray))
    listed = listed and getattr(distribution, "ndim", 1) > 0
    return listed and not isinstance(distribution, str)


def _are_bounds(given: Any) -> bool:
    """Return whether this is a pair of numbers."""
    return (
        _is_listed(given)
        and len(given) == 2
        and all(isinstance(v, Real) and not isinstance(v, bool) for v in given)
    )


def _in_order(
    owner: str, distribution: Mapping[Any, Any], names: Sequence[str]
) -> list[Any]:
    """Return the distributions of a mapping in the order of the inputs."""
    unknown = [name for name in distribution if name not in names]
    missing = [name for name in names if name not in distribution]
    if unknown or missing:
        wrong = f"names {unknown}, which X does not have" if unknown else ""
        wrong += ", and " if unknown and missing else ""
        wrong += f"lacks {missing}" if missing else ""
        raise ValueError(
            f"The 'distribution' parameter of {owner} {wrong}; expected one "
            f"distribution for each of {list(names)}."
        )
    return [distribution[name] for name in names]


def _read_specification(owner: str, specification: Any) -> Any:
    """Return a name or a frozen distribution; bounds become a uniform one."""
    if isinstance(specification, str) and specification in NAMES:
        return specification
    if _are_bounds(specification):
        low, high = (
            float(bound) if abs(bound) <= LARGEST_NUMBER else np.inf
            for bound in specification
        )
        if not (np.isfinite([low, high]).all() and low < high):
            raise ValueError(
                f"The 'distribution' parameter of {owner} has the bounds "
                f"{tuple(specification)!r}; expected two finite numbers, the lower one "
                "first."
            )
        return _uniform_between(low, high)
    if isinstance(specification, stats.rv_histogram) or hasattr(specification, "xk"):
        return specification()  # of a table, which has all parameters
    if is_frozen(specification):
        check_frozen(owner, specification)
    elif isinstance(specification, (stats.rv_continuous, stats.rv_discrete)):
        raise ValueError(
            f"The 'distribution' parameter of {owner} is scipy.stats."
            f"{specification.name} without its parameters; expected the frozen "
            f"distribution, {_call_of(specification)}."
        )
    else:
        named = ", ".join(repr(name) for name in NAMES)
        raise ValueError(
            f"The 'distribution' parameter of {owner} must be one of {named}, bounds "
            "(low, high) of a uniform distribution, a frozen distribution of "
            "scipy.stats such as scipy.stats.norm(0, 1), one of OpenTURNS or chaospy, "
            "or a list of these, one per feature, or a dict of them by the names of "
            f"the columns. Got {specification!r} instead. An input of "
            "unknown distribution can be 'empirical', or be mapped to a normal one, "
            f"{MAP_TO_NORMAL}"
        )
    return specification


@lru_cache(maxsize=64)
def _uniform_between(low: float, high: float) -> Any:
    return stats.uniform(low, high - low)


def _call_of(family: Any) -> str:
    """Return the call that freezes a family of ``scipy.stats``."""
    names = [*(family.shapes or "").replace(",", " ").split(), "loc"]
    if isinstance(family, stats.rv_continuous):
        names.append("scale")
    call = f"scipy.stats.{family.name}({'=..., '.join(names)}=...)"
    return f"{call}, or the bounds (low, high)" if family.name == "uniform" else call


def learn_input_laws(
    given_laws: Sequence[Any],  # one per feature, checked
    X: FloatArray,  # shape: (n_samples, n_features)
    weights: FloatArray,  # shape: (n_samples,)
) -> list[InputLaw]:
    """Return the distribution of each column: frozen as it is, or learned by name."""
    auto = np.array([isinstance(given, str) and given == AUTO for given in given_laws])
    chosen = iter(choose_laws(X[:, auto], weights) if auto.any() else ())
    laws: list[InputLaw] = []
    for i, (given, column) in enumerate(zip(given_laws, X.T, strict=True)):
        if auto[i]:
            laws.append(next(chosen))
        elif isinstance(given, str):
            least = column[weights > 0].min()
            if given in ("lognormal", "loguniform") and least <= 0:
                raise ValueError(
                    f"distribution is {given!r} for column {i} of X, which has the "
                    f"value {least:g}; expected positive values."
                )
            laws.append(NAMED_LAWS[given].learn(column, weights))
        else:
            laws.append(_law_of(given))
    return laws


@lru_cache(maxsize=64)
def _law_of(frozen: Any) -> InputLaw:
    """Return a frozen distribution with its polynomials, which take long to make."""
    is_discrete = isinstance(frozen.dist, stats.rv_discrete)
    other = DiscreteLaw if is_discrete else ContinuousLaw
    return FROZEN_LAWS.get(family_name(frozen), other).from_frozen(frozen)
