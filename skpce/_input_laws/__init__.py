"""The distribution of each input, chosen by name or as a frozen one of scipy.stats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import stats

from .._checks import FloatArray
from .families import (
    BETA_FAMILIES,
    GAMMA_FAMILIES,
    MAP_TO_NORMAL,
    BetaLaw,
    ExponentialLaw,
    GammaLaw,
    InputLaw,
    InputOutsideSupportWarning,
    NormalLaw,
    UniformLaw,
    check_frozen,
    family_name,
    is_frozen,
)
from .tabulated import CategoricalLaw, ContinuousLaw, DiscreteLaw, EmpiricalLaw

__all__ = [
    "NAMED_LAWS",
    "ContinuousLaw",
    "DiscreteLaw",
    "EmpiricalLaw",
    "InputLaw",
    "InputOutsideSupportWarning",
    "NormalLaw",
    "UniformLaw",
    "check_distribution",
    "learn_input_laws",
]

#: Names accepted by ``distribution=``.
NAMED_LAWS: Mapping[str, type[InputLaw]] = MappingProxyType(
    {
        "beta": BetaLaw,
        "categorical": CategoricalLaw,
        "empirical": EmpiricalLaw,
        "exponential": ExponentialLaw,
        "gamma": GammaLaw,
        "normal": NormalLaw,
        "uniform": UniformLaw,
    }
)

#: Families of ``scipy.stats`` whose polynomials are classical. For the others the
#: recurrence is computed from the density or from the probabilities.
FROZEN_LAWS: Mapping[str, type[InputLaw]] = MappingProxyType(
    {
        "norm": NormalLaw,
        "uniform": UniformLaw,
        **GAMMA_FAMILIES,
        **dict.fromkeys(BETA_FAMILIES, BetaLaw),
    }
)


def check_distribution(owner: str, distribution: Any, n_features: int) -> list[Any]:
    """Return one checked specification per feature."""
    listed = isinstance(distribution, (Sequence, np.ndarray))
    listed = listed and getattr(distribution, "ndim", 1) > 0
    if listed and not isinstance(distribution, str):
        specifications = list(distribution)
        if len(specifications) != n_features:
            raise ValueError(
                f"The 'distribution' parameter of {owner} has {len(specifications)} "
                f"entries but X has {n_features} features. Give one distribution for "
                "all or one per feature."
            )
    else:
        specifications = [distribution] * n_features
    for specification in _distinct(specifications):
        _check_specification(owner, specification)
    return specifications


def _distinct(specifications: Sequence[Any]) -> list[Any]:
    """Return each object once, because scipy takes long to evaluate a frozen one."""
    return list({id(given): given for given in specifications}.values())


def _check_specification(owner: str, specification: Any) -> None:
    if is_frozen(specification):
        check_frozen(owner, specification)
    elif not isinstance(specification, str) or specification not in NAMED_LAWS:
        named = ", ".join(repr(name) for name in sorted(NAMED_LAWS))
        raise ValueError(
            f"The 'distribution' parameter of {owner} must be one of {named}, a "
            "frozen law of scipy.stats such as scipy.stats.norm(0, 1), or a list of "
            f"these, one per feature. Got {specification!r} instead. An input of "
            "unknown distribution can be 'empirical', or be mapped to a normal one, "
            f"{MAP_TO_NORMAL}"
        )


def learn_input_laws(
    specifications: Sequence[Any],  # one per feature, checked
    X: FloatArray,  # shape: (n_samples, n_features)
    weights: FloatArray,  # shape: (n_samples,)
) -> list[InputLaw]:
    """Return the law of each column: frozen ones as they are, named ones learned."""
    frozen = {
        id(given): _family_of(given).from_frozen(given)
        for given in _distinct(specifications)
        if not isinstance(given, str)
    }
    return [
        NAMED_LAWS[given].learn(column, weights)
        if isinstance(given, str)
        else frozen[id(given)]
        for given, column in zip(specifications, X.T, strict=True)
    ]


def _family_of(frozen: Any) -> type[InputLaw]:
    """Return the classical family of a frozen law, or else a general one."""
    discrete = isinstance(frozen.dist, stats.rv_discrete)
    general = DiscreteLaw if discrete else ContinuousLaw
    return FROZEN_LAWS.get(family_name(frozen) or "", general)
