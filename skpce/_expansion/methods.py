"""Methods and attributes that an estimator hands on to what it has fitted."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

P = ParamSpec("P")
R = TypeVar("R")


def method_of(
    attribute: str,
    function: Callable[Concatenate[Any, P], R],
    *,
    inputs: str | None = "X",
) -> Callable[Concatenate[Any, P], R]:
    """Return a method that calls a function of an attribute of a fitted estimator.

    The method has the name, the signature and the documentation of the function. The
    argument named ``inputs`` is first checked for the number and the names of its
    features; what is missing or infinite in it is left to the function.
    """
    signature = inspect.signature(function)
    first, *others = signature.parameters.values()
    names = [parameter.name for parameter in others]
    place = names.index(inputs) if inputs in names else None

    def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_is_fitted(self)
        if place is None:
            return function(getattr(self, attribute), *args, **kwargs)
        given, named = _with_checked_inputs(self, names[place], place, args, kwargs)
        return function(getattr(self, attribute), *given, **named)

    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(method, name, getattr(function, name, None))
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[first.replace(name="self"), *others]
    )
    return method


def _with_checked_inputs(
    estimator: Any, name: str, place: int, args: Any, kwargs: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Check one argument for the number and the names of its features."""

    def checked(X: Any) -> Any:
        if X is None:
            return None
        return validate_data(
            estimator, X, dtype=np.float64, reset=False, ensure_all_finite=False
        )

    if len(args) > place:
        args = (*args[:place], checked(args[place]), *args[place + 1 :])
    elif name in kwargs:
        kwargs = {**kwargs, name: checked(kwargs[name])}
    return args, kwargs


def attribute_of(attribute: str, read: Callable[[Any], Any]) -> property:
    """Return a fitted attribute that is read off another one.

    Before ``fit`` the other one is missing, and so is this one.
    """
    return property(lambda self: read(getattr(self, attribute)))
