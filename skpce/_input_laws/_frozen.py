"""What is read from a frozen ``scipy.stats`` law."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import stats


def is_frozen(specification: Any) -> bool:
    """Whether this is a frozen univariate law of ``scipy.stats``."""
    family = getattr(specification, "dist", None)
    return isinstance(family, (stats.rv_continuous, stats.rv_discrete))


def family_name(specification: Any) -> str | None:
    """Return the name of the family of a frozen law, None for anything else."""
    if not is_frozen(specification):
        return None
    family = specification.dist
    # scipy calls a law of no name, such as a histogram, "Distribution".
    named = family.name not in (None, "Distribution")
    return family.name if named else type(family).__name__


def parameters(frozen: Any) -> dict[str, Any]:
    """Return shapes, ``loc`` and, for a continuous law, ``scale`` by name."""
    shapes = [name.strip() for name in (frozen.dist.shapes or "").split(",")]
    names = [name for name in shapes if name] + ["loc", "scale"]
    given = dict(zip(names, frozen.args, strict=False)) | dict(frozen.kwds)
    given.setdefault("loc", 0.0)
    if isinstance(frozen.dist, stats.rv_continuous):
        given.setdefault("scale", 1.0)
    return given


def describe(frozen: Any) -> str:
    """Return the law as one would write it, such as ``scipy.stats.t(df=3)``."""
    defaults = {"loc": 0.0, "scale": 1.0}
    shown = ", ".join(
        f"{name}={value:.6g}"
        for name, value in parameters(frozen).items()
        if value != defaults.get(name)
    )
    return f"scipy.stats.{family_name(frozen)}({shown})"


def at_the_origin(frozen: Any) -> tuple[Any, float, float]:
    """Return the law with ``loc=0`` and ``scale=1``, then its loc and scale.

    Near a bound at 0 floating point resolves far smaller steps than near another
    one, which a density that is infinite at its bound needs.
    """
    shapes = parameters(frozen)
    loc, scale = float(shapes.pop("loc")), float(shapes.pop("scale"))
    return frozen.dist(**shapes), loc, scale


def check_frozen(owner: str, frozen: Any) -> None:
    """Refuse a frozen law whose parameters are arrays, not finite or not a law."""
    mean, sd = moments(frozen)
    if mean.ndim or sd.ndim or not np.isfinite(mean + sd) or sd <= 0:
        raise ValueError(
            f"The 'distribution' parameter of {owner} has a frozen "
            f"scipy.stats.{family_name(frozen)} of mean {mean.tolist()!r} and "
            f"standard deviation {sd.tolist()!r}; expected finite numbers, and a "
            "positive scale. An input without mean or variance can be mapped to a "
            "normal one before, for example by sklearn.preprocessing."
            "QuantileTransformer(output_distribution='normal')."
        )


def moments(frozen: Any) -> tuple[Any, Any]:
    """Return mean and standard deviation; those that do not exist are not finite."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # scipy integrates where it has no formula, and warns where that fails.
        warnings.simplefilter("ignore")
        mean, variance = frozen.stats(moments="mv")
        return np.asarray(mean), np.sqrt(np.asarray(variance))
