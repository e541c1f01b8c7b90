"""The law of each input: one file a family, chosen by name or by a frozen law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._base import InputLaw, InputOutsideSupportWarning
from ._normal import NormalLaw
from ._uniform import UniformLaw

__all__ = [
    "FROZEN_LAWS",
    "NAMED_LAWS",
    "InputLaw",
    "InputOutsideSupportWarning",
    "NormalLaw",
    "UniformLaw",
    "check_distribution",
    "learn_input_laws",
]

FloatArray = NDArray[np.float64]

#: Names accepted by ``distribution=``.
NAMED_LAWS: Mapping[str, type[InputLaw]] = MappingProxyType(
    {"normal": NormalLaw, "uniform": UniformLaw}
)

#: Names of ``scipy.stats`` families accepted in frozen form.
FROZEN_LAWS: Mapping[str, type[InputLaw]] = MappingProxyType(
    {"norm": NormalLaw, "uniform": UniformLaw}
)


def check_distribution(owner: str, distribution: Any, n_features: int) -> list[Any]:
    """Return one checked specification per feature.

    Raises
    ------
    ValueError
        If a name is unknown, a frozen law is not supported, or a list has not one
        entry per feature.
    """
    if isinstance(distribution, Sequence) and not isinstance(distribution, str):
        specifications = list(distribution)
        if len(specifications) != n_features:
            raise ValueError(
                f"The 'distribution' parameter of {owner} has {len(specifications)} "
                f"entries but X has {n_features} features. Give one law for all or "
                "one per feature."
            )
    else:
        specifications = [distribution] * n_features
    for specification in specifications:
        _check_specification(owner, specification)
    return specifications


def _check_specification(owner: str, specification: Any) -> None:
    if isinstance(specification, str):
        known = specification in NAMED_LAWS
    else:
        known = _frozen_family(specification) in FROZEN_LAWS
    if not known:
        named = ", ".join(repr(name) for name in sorted(NAMED_LAWS))
        frozen = ", ".join(f"scipy.stats.{name}" for name in sorted(FROZEN_LAWS))
        shown = _frozen_family(specification) or specification
        raise ValueError(
            f"The 'distribution' parameter of {owner} must be one of {named}, a "
            f"frozen law of {frozen}, or a list of these, one per feature. Got "
            f"{shown!r} instead. An input with another law can be mapped to a normal "
            "one before, for example by sklearn.preprocessing.QuantileTransformer("
            "output_distribution='normal')."
        )
    if not isinstance(specification, str):
        _check_frozen(owner, specification)


def _check_frozen(owner: str, frozen: Any) -> None:
    """Refuse a frozen law whose parameters are arrays, not finite or not a law."""
    with np.errstate(all="ignore"):
        moments = np.asarray([frozen.mean(), frozen.std()], dtype=np.float64)
    if moments.shape != (2,) or not np.all(np.isfinite(moments)) or moments[1] <= 0:
        raise ValueError(
            f"The 'distribution' parameter of {owner} has a frozen "
            f"scipy.stats.{_frozen_family(frozen)} of mean {frozen.mean()!r} and "
            f"standard deviation {frozen.std()!r}; expected finite numbers, and a "
            "positive scale."
        )


def _frozen_family(specification: Any) -> str | None:
    family = getattr(getattr(specification, "dist", None), "name", None)
    return family if isinstance(family, str) else None


def learn_input_laws(
    specifications: Sequence[Any],  # one per feature, checked
    X: FloatArray,  # shape: (n_samples, n_features)
    weights: FloatArray,  # shape: (n_samples,)
) -> list[InputLaw]:
    """Return the law of each column: frozen laws as they are, named ones learned."""
    laws: list[InputLaw] = []
    for specification, column in zip(specifications, X.T, strict=True):
        if isinstance(specification, str):
            laws.append(NAMED_LAWS[specification].learn(column, weights))
        else:
            family = FROZEN_LAWS[_frozen_family(specification) or ""]
            laws.append(family.from_frozen(specification))
    return laws
