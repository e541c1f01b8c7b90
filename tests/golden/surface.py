"""What is public: names, signatures, attributes of classes and of fitted estimators."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from sklearn.base import BaseEstimator

OURS = ("skpce", "gflownet_envs")
PUBLIC_PACKAGES = (
    *("skpce", "skpce.decision", "skpce.embedding", "skpce.ensembles"),
    *("skpce.inspection", "skpce.metrics", "skpce.plotting", "skpce.sample_size"),
    *("gflownet_envs", "gflownet_envs.datasets"),
    *("gflownet_envs.environments", "gflownet_envs.objectives"),
    *("gflownet_envs.policies", "gflownet_envs.policy_dataset"),
    "gflownet_envs.policy_relevant_features",
    *("gflownet_envs.sampling", "gflownet_envs.storage"),
    *("gflownet_envs.testing", "gflownet_envs.training"),
)
"""Every module with ``__all__`` whose name has no leading underscore."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class _Default:
    """The default of a parameter, printed without addresses and module names."""

    def __init__(self, value: Any) -> None:
        self.text = _plain(value)

    def __repr__(self) -> str:
        return self.text


def _plain(value: Any) -> str:
    if inspect.isclass(value) or inspect.isfunction(value):
        return str(value.__qualname__)
    return _ADDRESS.sub("", repr(value))


def signature_text(function: Any) -> str:
    """Names, kinds and defaults of the parameters, without annotations."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return "(...)"  # classes of C, such as warnings
    empty = inspect.Parameter.empty
    parameters = []
    for parameter in signature.parameters.values():
        default = parameter.default
        shown = default if default is empty else _Default(default)
        parameters.append(parameter.replace(annotation=empty, default=shown))
    bare = signature.replace(parameters=parameters, return_annotation=signature.empty)
    return str(bare)


def _is_ours(module: str | None) -> bool:
    return (module or "").split(".")[0] in OURS


def _function_of(member: Any) -> Any:
    """Unwrap what may stand in a class body as a method; None for anything else."""
    if isinstance(member, (staticmethod, classmethod)):
        member = member.__func__
    member = inspect.unwrap(member) if callable(member) else member
    return member if isinstance(member, FunctionType) else None


def describe_class(name: str, cls: type) -> Iterator[tuple[str, str]]:
    """Yield the class, its own methods and attributes, and those of scikit-learn."""
    is_warning = issubclass(cls, Exception)
    yield name, "class" if is_warning else f"class {signature_text(cls)}"
    fields = set(getattr(cls, "_fields", ()))
    if dataclasses.is_dataclass(cls):
        fields |= {field.name for field in dataclasses.fields(cls)}
    for attribute in sorted(fields | set(dir(cls))):
        if attribute.startswith("_"):
            continue
        address = f"{name}.{attribute}"
        member = inspect.getattr_static(cls, attribute, None)
        function = _function_of(member)
        if attribute in fields or isinstance(
            member, (property, functools.cached_property)
        ):
            if attribute in fields or _owner_is_ours(cls, attribute):
                yield address, "attribute"
        elif function is not None and _is_ours(function.__module__):
            yield address, f"method {signature_text(getattr(cls, attribute))}"
        elif _comes_from_sklearn(cls, attribute):
            yield address, "inherited"
        elif (
            _owner_is_ours(cls, attribute)
            and not callable(member)
            and not issubclass(cls, BaseEstimator)  # there, marks of a base class
        ):
            yield address, "attribute"


def _comes_from_sklearn(cls: type, attribute: str) -> bool:
    is_request = attribute.startswith("set_") and attribute.endswith("_request")
    return is_request or _owner(cls, attribute).__module__.startswith("sklearn")


def _owner(cls: type, attribute: str) -> type:
    for base in cls.__mro__:
        if attribute in vars(base):
            return base
    return object


def _owner_is_ours(cls: type, attribute: str) -> bool:
    return _is_ours(_owner(cls, attribute).__module__)


def describe(name: str, member: Any) -> Iterator[tuple[str, str]]:
    """Yield what is known of a public name."""
    if inspect.isclass(member):
        yield from describe_class(name, member)
    elif inspect.isfunction(member):
        yield name, f"function {signature_text(member)}"
    else:
        yield name, "object"


def surface_of(package: str) -> dict[str, str]:
    """Every name in ``__all__`` of a package, and what its members look like."""
    module = importlib.import_module(package)
    found: dict[str, str] = {}
    for name in module.__all__:
        found |= dict(describe(f"{package}.{name}", getattr(module, name)))
    return found


def fitted_names(fitted: Any) -> list[str]:
    """Return the names of the learned attributes that can be read."""
    names = {name for name in vars(fitted) if _is_learned(name)}
    for name in dir(type(fitted)):
        if _is_learned(name) and not callable(getattr(type(fitted), name)):
            try:
                getattr(fitted, name)
            except Exception:  # an attribute that this fit does not have
                continue
            names.add(name)
    return sorted(names)


def _is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")
