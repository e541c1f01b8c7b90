"""Candidates of a comparison: embeddings, their dimensions, the degrees behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .._checks import check_integer, fail
from ._cross_fit import final_estimator

OWNER = "compare_embeddings"

#: Stands for the choice among all candidates, in tables.
BEST_OF_ALL = "best of all"


@dataclass(frozen=True)
class EmbeddingSetting:
    """What is chosen: an embedding, its dimension, the degree behind it.

    Parameters
    ----------
    candidate : str
        Name of the embedding.
    dimension : int or None
        Number of inputs that was asked for; None for an embedding that is taken as it
        is.
    degree : int or None
        Degree of the surrogate; None for a surrogate that is taken as it is.
    """

    candidate: str
    dimension: int | None
    degree: int | None

    def __str__(self) -> str:
        parts = [self.candidate]
        if self.dimension is not None:
            parts.append(f"dimension {self.dimension}")
        if self.degree is not None:
            parts.append(f"degree {self.degree}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Candidate:
    """One embedding with its grid, and the surrogate behind it.

    Parameters
    ----------
    name : str
        Name of the embedding.
    embedding : transformer or "passthrough"
        Not fitted; cloned.
    dimension_parameter : str or None
        Its parameter that takes the dimension; None leaves the embedding as it is.
    dimensions : tuple of int or (None,)
        What that parameter may be.
    surrogate : estimator
        Not fitted; cloned.
    degree_parameter : str or None
        Its parameter that takes the degree.
    degrees : tuple of int or (None,)
        What that parameter may be.
    """

    name: str
    embedding: Any
    dimension_parameter: str | None
    dimensions: tuple[int | None, ...]
    surrogate: Any
    degree_parameter: str | None
    degrees: tuple[int | None, ...]

    @property
    def settings(self) -> tuple[EmbeddingSetting, ...]:
        """The grid, the degree running fastest, as in scikit-learn's ParameterGrid."""
        return tuple(
            EmbeddingSetting(self.name, dimension, degree)
            for dimension in self.dimensions
            for degree in self.degrees
        )

    def embedding_step(self, dimension: int | None) -> Pipeline:
        """Return the embedding alone, as a pipeline of one step."""
        step = self.embedding
        if not isinstance(step, str):
            step = clone(step)
            if dimension is not None and self.dimension_parameter is not None:
                step.set_params(**{self.dimension_parameter: dimension})
        return Pipeline([("embedding", step)])

    def surrogate_of(self, degree: int | None) -> Any:
        """Return the surrogate of this degree."""
        surrogate = clone(self.surrogate)
        if degree is not None and self.degree_parameter is not None:
            surrogate.set_params(**{self.degree_parameter: degree})
        return surrogate

    def pipeline(self, setting: EmbeddingSetting) -> Pipeline:
        """Return the pipeline of a setting, not fitted."""
        return behind(
            self.embedding_step(setting.dimension), self.surrogate_of(setting.degree)
        )


def behind(embedding: Pipeline, surrogate: Any) -> Pipeline:
    """Put a surrogate behind an embedding; both may be fitted."""
    return Pipeline([*embedding.steps, ("surrogate", surrogate)])


def innermost(surrogate: Any) -> tuple[str, Any]:
    """Return the parameter prefix and the estimator that has degree, steps and mask.

    What has a degree itself is not looked into: a surrogate may hold a regressor.
    """
    if "degree" in surrogate.get_params(deep=False):
        return "", surrogate
    return final_estimator(surrogate)


def read_candidates(
    candidates: Any,
    dimensions: Any,
    degrees: Any,
    surrogate: Any,
    generator: np.random.Generator,
) -> tuple[Candidate, ...]:
    """Check the candidates, and give those that are random a seed.

    Raises
    ------
    ValueError
        Naming the candidate, the dimension or the degree that is no such.
    """
    if not isinstance(candidates, Mapping) or not candidates:
        raise fail(OWNER, "candidates", "a dict of name to transformer", candidates)
    by_name = isinstance(dimensions, Mapping)
    if by_name:
        _check_names(dimensions, candidates)
    else:
        dimensions = _integers("dimensions", dimensions, low=1)
    prefix, last = innermost(surrogate)
    degree_parameter = None
    if degrees is None:
        degrees = (None,)
    elif "degree" in last.get_params(deep=False):
        degree_parameter = f"{prefix}degree"
        degrees = _integers("degrees", degrees, low=0)
    else:
        raise ValueError(
            f"degrees={degrees!r}, but {type(surrogate).__name__} has no degree; give "
            "degrees=None to take the surrogate as it is."
        )
    found = []
    for name, given in candidates.items():
        embedding, parameter = _read_embedding(name, given)
        asked = dimensions.get(name) if by_name else dimensions
        if by_name and asked is not None:
            if parameter is None:
                raise _no_dimension(name, embedding)
            asked = _integers(f"dimensions[{name!r}]", asked, low=1)
        grid = (None,) if asked is None or parameter is None else asked
        found.append(
            Candidate(
                name=name,
                embedding=_seeded(embedding, generator),
                dimension_parameter=parameter,
                dimensions=grid,
                surrogate=surrogate,
                degree_parameter=degree_parameter,
                degrees=degrees,
            )
        )
    return tuple(found)


def _check_names(dimensions: Mapping[Any, Any], candidates: Mapping[Any, Any]) -> None:
    unknown = [name for name in dimensions if name not in candidates]
    if unknown:
        raise ValueError(
            f"dimensions names {unknown[0]!r}, which is no candidate; the candidates "
            f"are {', '.join(map(repr, candidates))}."
        )


def _integers(name: str, values: Any, low: int) -> tuple[int, ...]:
    expected = f"a sequence of different ints in the range [{low}, inf)"
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise fail(OWNER, name, expected, values)
    found = tuple(values)
    for value in found:
        check_integer(OWNER, name, value, low=low)
    if not found or len(set(found)) < len(found):
        raise fail(OWNER, name, expected, values)
    return tuple(int(value) for value in found)


def _read_embedding(name: Any, given: Any) -> tuple[Any, str | None]:
    """Return the embedding and the parameter that takes its dimension."""
    if not isinstance(name, str) or name == BEST_OF_ALL:
        raise ValueError(
            f"A candidate is named {name!r}; expected a text other than "
            f"{BEST_OF_ALL!r}."
        )
    embedding, parameter = given, ""
    if isinstance(given, tuple):
        if len(given) != 2 or not isinstance(given[1], str):
            raise ValueError(
                f"Candidate {name!r} is {given!r}; expected a transformer, or "
                "(transformer, name of the parameter that takes the dimension)."
            )
        embedding, parameter = given
    if isinstance(embedding, str) and embedding == "passthrough" and not parameter:
        return embedding, None
    if isinstance(embedding, type) or not all(
        hasattr(embedding, method) for method in ("fit", "transform", "get_params")
    ):
        raise ValueError(
            f"Candidate {name!r} is {embedding!r}; expected a transformer or "
            "'passthrough'."
        )
    if not parameter:
        return embedding, _parameter_of_dimension(embedding)
    if parameter not in embedding.get_params():
        raise ValueError(
            f"Candidate {name!r} has no parameter {parameter!r}; it has "
            f"{', '.join(sorted(embedding.get_params()))}."
        )
    return embedding, parameter


def _parameter_of_dimension(embedding: Any) -> str | None:
    """Return ``n_components`` of the last step, with its prefix; None without one."""
    prefix, last = final_estimator(embedding)
    parameters = last.get_params(deep=False) if hasattr(last, "get_params") else {}
    return f"{prefix}n_components" if "n_components" in parameters else None


def _no_dimension(name: str, embedding: Any) -> ValueError:
    return ValueError(
        f"dimensions asks for those of {name!r}, but {embedding!r} has no "
        "n_components; give the candidate as (transformer, name of the parameter)."
    )


def _seeded(embedding: Any, generator: np.random.Generator) -> Any:
    """Return a clone whose random states that are None are ints.

    All refits are then of the same embedding.
    """
    if isinstance(embedding, str):
        return embedding
    copy = clone(embedding)
    open_states = [
        name
        for name, value in sorted(copy.get_params().items())
        if name.split("__")[-1] == "random_state" and value is None
    ]
    seeds = {name: int(generator.integers(2**31 - 1)) for name in open_states}
    return copy.set_params(**seeds)
