"""Candidate embeddings, and grid searches of them inside the folds of a cross-fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from joblib import delayed
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from ..._checks import FloatArray, IndexArray, check_integer, fail, listed
from ..._checks.frames import take
from .._reading import final_estimator
from .cross_fit import (
    CrossFit,
    Permutations,
    Split,
    group_q2,
    quiet,
    run_in_order,
)
from .members import make_splits

OWNER = "compare_embeddings"

BEST_OF_ALL = "best of all"  # stands for the choice among all candidates, in tables


@dataclass(frozen=True)
class EmbeddingSetting:
    """What is chosen: an embedding, its dimension, the degree behind it.

    Parameters
    ----------
    candidate : str
        Name of the embedding.
    dimension : int or None
        Number of inputs requested; None for an embedding that is taken as it is.
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
    """One embedding with its grid, and the surrogate behind it; nothing is fitted."""

    name: str
    embedding: Any  # transformer or "passthrough"
    dimension_parameter: str | None
    dimensions: tuple[int | None, ...]  # (None,) takes the embedding as it is
    surrogate: Any
    degree_parameter: str | None
    degrees: tuple[int | None, ...]  # (None,) takes the surrogate as it is

    @property
    def settings(self) -> tuple[EmbeddingSetting, ...]:
        """The grid, the degree running fastest, as in scikit-learn's ParameterGrid."""
        return tuple(
            EmbeddingSetting(self.name, dimension, degree)
            for dimension, degree in product(self.dimensions, self.degrees)
        )

    def pipeline(self, setting: EmbeddingSetting) -> Pipeline:
        """Return the pipeline of a setting."""
        embedding = _copy(self.embedding, self.dimension_parameter, setting.dimension)
        surrogate = _copy(self.surrogate, self.degree_parameter, setting.degree)
        return Pipeline([("embedding", embedding), ("surrogate", surrogate)])


def _copy(estimator: Any, parameter: str | None, value: int | None) -> Any:
    """Clone an estimator and set a parameter of it; None leaves it as it is."""
    if isinstance(estimator, str):  # "passthrough"
        return estimator
    same = clone(estimator)
    if parameter is not None and value is not None:
        same.set_params(**{parameter: value})
    return same


def read_candidates(
    candidates: Any,
    dimensions: Any,
    degrees: Any,
    surrogate: Any,
    generator: np.random.Generator,
) -> tuple[Candidate, ...]:
    """Check the candidates and their grids; give those that are random a seed."""
    if not isinstance(candidates, Mapping) or not candidates:
        raise fail(OWNER, "candidates", "a dict of name to transformer", candidates)
    if not isinstance(dimensions, Mapping):
        dimensions = _integers("dimensions", dimensions, low=1)
    elif unknown := [name for name in dimensions if name not in candidates]:
        raise ValueError(
            f"dimensions names {unknown[0]!r}, which is no candidate; expected names "
            "of "
            f"candidates: {', '.join(map(repr, candidates))}."
        )
    prefix, last = final_estimator(surrogate)
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
        own = _own_dimensions(name, embedding, parameter, dimensions)
        embedding = _seeded(embedding, generator)
        found.append(
            Candidate(
                name, embedding, parameter, own, surrogate, degree_parameter, degrees
            )
        )
    return tuple(found)


def _integers(name: str, values: Any, low: int) -> tuple[int, ...]:
    expected = f"a sequence of different ints in the range [{low}, inf)"
    found = tuple(listed(values, name, expected))
    for value in found:
        check_integer(OWNER, name, value, low=low)
    if not found or len(set(found)) < len(found):
        raise fail(OWNER, name, expected, values)
    return tuple(int(value) for value in found)


def _own_dimensions(
    name: str, embedding: Any, parameter: str | None, dimensions: Any
) -> tuple[int | None, ...]:
    """Return the dimensions of one candidate; (None,) to take it as it is."""
    if not isinstance(dimensions, Mapping):
        return (None,) if parameter is None else dimensions
    if dimensions.get(name) is None:
        return (None,)
    if parameter is None:
        raise ValueError(
            f"dimensions names {name!r}, but {embedding!r} has no n_components; give "
            "the candidate as (transformer, name of the parameter)."
        )
    return _integers(f"dimensions[{name!r}]", dimensions[name], low=1)


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
            f"candidates has {name!r}: {embedding!r}; expected a transformer or "
            "'passthrough'."
        )
    if not parameter:  # n_components of the last step, if it has one
        prefix, last = final_estimator(embedding)
        known = last.get_params(deep=False) if hasattr(last, "get_params") else {}
        return embedding, f"{prefix}n_components" if "n_components" in known else None
    if parameter not in embedding.get_params():
        raise ValueError(
            f"candidates has {name!r} without a parameter {parameter!r}; expected one "
            "of "
            f"{', '.join(sorted(embedding.get_params()))}."
        )
    return embedding, parameter


def _seeded(embedding: Any, generator: np.random.Generator) -> Any:
    """Return a clone whose open random states are ints: all refits are then alike."""
    if isinstance(embedding, str):
        return embedding
    same = clone(embedding)
    seeds = {
        name: int(generator.integers(2**31 - 1))
        for name, value in sorted(same.get_params().items())
        if name.split("__")[-1] == "random_state" and value is None
    }
    return same.set_params(**seeds)


@dataclass(frozen=True)
class NestedFolds:
    """Outer folds, and folds inside each training set, as rows of all members."""

    outer: Sequence[Split]  # where a choice is judged
    inner: tuple[Sequence[Split], ...]  # where it is made, for each outer fold
    whole: Sequence[Split]  # where the choice with all members is made

    @classmethod
    def draw(
        cls,
        outer: Sequence[Split],
        inner_cv: Any,
        X: Any,
        reward: Any,
        generator: np.random.Generator,
    ) -> NestedFolds:
        """Divide each training set; members of one reward stay together."""
        trains = [train for train, _ in outer]
        _check_inner(inner_cv, trains, reward)
        inner = []
        for train in trains:
            labels = None if reward is None else np.asarray(reward)[train]
            splits = make_splits(inner_cv, take(X, train), labels, generator)
            inner.append([(train[one], train[other]) for one, other in splits])
        whole = make_splits(inner_cv, X, reward, generator)
        return cls(outer, tuple(inner), whole)

    @property
    def smallest_training(self) -> int:
        """Members of the smallest training set of an inner fold."""
        return min(
            len(train) for splits in (*self.inner, self.whole) for train, _ in splits
        )


def check_dimensions(candidates: Sequence[Candidate], n_training: int) -> None:
    """Refuse more inputs than members that an inner fold trains on."""
    for candidate in candidates:
        for dimension in candidate.dimensions:
            if dimension is not None and dimension > n_training:
                raise ValueError(
                    f"Candidate {candidate.name!r} is to have {dimension} inputs, and "
                    f"the smallest training set of an inner fold has {n_training} "
                    "members; expected smaller dimensions, or more folds (inner_cv)."
                )


def _check_inner(inner_cv: Any, trains: Sequence[Any], reward: Any) -> None:
    is_integer = isinstance(inner_cv, (int, np.integer)) and inner_cv is not True
    if not is_integer and (
        isinstance(inner_cv, (str, bytes)) or not hasattr(inner_cv, "split")
    ):
        raise fail(
            OWNER, "inner_cv", "an int or a splitter, as it divides many sets", inner_cv
        )
    units = [
        len(train) if reward is None else len(np.unique(np.asarray(reward)[train]))
        for train in trains
    ]
    if is_integer and not 2 <= inner_cv <= min(units):
        kind = "members" if reward is None else "groups"
        raise ValueError(
            f"inner_cv must be an int in the range [2, {min(units)}], the number of "
            f"{kind} in the smallest training set of an outer fold, or a splitter. "
            f"Got {inner_cv!r} instead."
        )


class Trial(BaseEstimator):
    """A candidate at one setting, fitted to rows; its errors name the setting."""

    def __init__(
        self,
        candidate: Candidate,
        members: CrossFit,
        scoring: Any,
        embeddings: dict[Any, Any],
        setting: Any = None,
    ) -> None:
        self.candidate = candidate
        self.members = members
        self.scoring = scoring
        self.embeddings = embeddings  # by dimension and rows: once for all degrees
        self.setting = setting

    def __sklearn_clone__(self) -> Trial:  # clones share the data and the embeddings
        return copy(self)

    def fit(self, rows: IndexArray) -> Trial:
        """Fit the embedding, unless it is there, and the surrogate behind it."""
        X, y = take(self.members.X, rows), take(self.members.y, rows)
        self.n_training_ = len(rows)
        pipeline = self.candidate.pipeline(self.setting)
        key = (self.setting.dimension, rows.tobytes())
        if key not in self.embeddings:
            with self._naming(replace(self.setting, degree=None)):
                inputs = pipeline[:1].fit_transform(X, y)
            self.embeddings[key] = pipeline.steps[0], inputs
        pipeline.steps[0], inputs = self.embeddings[key]
        with self._naming(self.setting), quiet():
            pipeline[-1].fit(inputs, y)
        self.pipeline_ = pipeline
        return self

    def score(self, rows: IndexArray) -> float:
        """Score the pipeline; a search cannot choose by what is not finite."""
        X, y = take(self.members.X, rows), take(self.members.y, rows)
        with self._naming(self.setting):
            if isinstance(self.scoring, type):
                raise ValueError(f"scoring is the class {self.scoring.__name__}")
            scorer = check_scoring(self.pipeline_, self.scoring)
            try:
                score = float(scorer(self.pipeline_, X, y))
            except TypeError as error:
                raise ValueError(
                    f"scoring={self.scoring!r} must return a number for (estimator, X, "
                    f"y): {error}"
                ) from error
            if not np.isfinite(score):
                raise ValueError(f"its score is {score}")
        return score

    @contextmanager
    def _naming(self, setting: EmbeddingSetting) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise ValueError(
                f"Candidate {setting} failed on {self.n_training_} training members of "
                "an inner fold; expected candidates, degrees and dimensions that X "
                f"and y of so many members allow. It says: {error}"
            ) from error


@dataclass(frozen=True)
class Choice:
    """The setting of a candidate with the highest mean score, the first of equals."""

    setting: EmbeddingSetting
    score: float
    scores: FloatArray  # shape: (n_settings, n_inner_folds)


@dataclass(frozen=True)
class NestedErrors:
    """Errors of held-out members where each fold chooses; last, the best of all."""

    errors: FloatArray  # shape: (n_candidates + 1, n_members, n_active); squared clr
    choices: tuple[tuple[EmbeddingSetting, ...], ...]  # of each candidate and fold


@dataclass(frozen=True)
class NestedSearch:
    """Grid searches of all candidates inside the folds of a cross-fit."""

    candidates: tuple[Candidate, ...]
    fit: CrossFit  # data, outer folds and geometry
    folds: NestedFolds
    scoring: Any

    def choices(
        self, n_jobs: int | None = None, done: Callable[[Any], None] = lambda _: None
    ) -> list[Choice]:
        """Return the choice of each candidate on all members."""
        tasks = (
            delayed(self._choose)(candidate, self.folds.whole)
            for candidate in self.candidates
        )
        return run_in_order(tasks, n_jobs, done)

    def nested_errors(
        self, n_jobs: int | None = None, done: Callable[[Any], None] = lambda _: None
    ) -> NestedErrors:
        """Choose in each training set and predict those who are held out."""
        n_folds = len(self.folds.outer)
        tasks = (
            delayed(self._choose_and_judge)(candidate, fold)
            for candidate in self.candidates
            for fold in range(n_folds)
        )
        found = run_in_order(tasks, n_jobs, done)
        n_rows = len(self.candidates) + 1
        errors = np.full((n_rows, *found[0][1].shape), np.nan)
        chosen: list[list[EmbeddingSetting]] = [[] for _ in range(n_rows)]
        for fold, (_, test) in enumerate(self.folds.outer):
            here = found[fold::n_folds]
            best = int(np.argmax([choice.score for choice, _ in here]))
            for row, (choice, squared) in enumerate([*here, here[best]]):
                errors[row, test] = squared[test]
                chosen[row].append(choice.setting)
        return NestedErrors(errors, tuple(map(tuple, chosen)))

    def _choose_and_judge(
        self, candidate: Candidate, fold: int
    ) -> tuple[Choice, FloatArray]:
        """Return the choice in an outer fold and the errors of its test rows."""
        choice = self._choose(candidate, self.folds.inner[fold])
        chosen = candidate.pipeline(choice.setting)
        outer = replace(self.fit, pipeline=chosen, splits=[self.folds.outer[fold]])
        return choice, outer.squared_errors()

    def _choose(self, candidate: Candidate, splits: Sequence[Split]) -> Choice:
        """Choose among the settings of a candidate by scikit-learn's grid search."""
        search = GridSearchCV(
            Trial(candidate, self.fit, self.scoring, {}),
            {"setting": candidate.settings},
            cv=splits,
            refit=False,
            error_score="raise",
            n_jobs=1,
        ).fit(np.arange(len(self.fit.X)))
        found = search.cv_results_
        scores = [found[f"split{fold}_test_score"] for fold in range(len(splits))]
        return Choice(
            search.best_params_["setting"], search.best_score_, np.stack(scores, axis=1)
        )

    def permuted_q2(
        self,
        permutations: Permutations,
        deviations: FloatArray,
        n_jobs: int | None,
        done: Callable[[Any], None],
    ) -> FloatArray:  # shape: (n_permutations, n_candidates + 1, n_steps)
        """Repeat all choices and fits for each permutation."""
        searches = (replace(self, fit=fit) for fit in permutations.fits(self.fit))
        pairs = zip(searches, permutations.deviations(deviations), strict=True)
        tasks = (delayed(search._q2)(own) for search, own in pairs)
        return np.array(run_in_order(tasks, n_jobs, done))

    def _q2(self, deviations: FloatArray) -> list[FloatArray]:
        """Return nested Q² of each candidate and of the best of all."""
        errors = self.nested_errors().errors
        return [group_q2(one, deviations, self.fit.outputs) for one in errors]
