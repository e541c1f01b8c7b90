"""Choose settings by inner folds, and judge the choice by outer folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import check_scoring
from threadpoolctl import threadpool_limits

from .._checks import FloatArray, fail
from .._compositions.log_ratio import LogRatioGeometry, clr_of
from ._compare_embeddings_candidates import OWNER, Candidate, EmbeddingSetting, behind
from ._cross_fit import Split, step_q2, take
from ._permuted_fits import Permutations
from ._verdict_folds import make_splits
from ._verdict_permutations import _stopping


@dataclass(frozen=True)
class NestedFolds:
    """Outer folds, and folds inside each training set, as rows of all members.

    Parameters
    ----------
    outer : sequence of (train, test)
        Where a choice is judged.
    inner : tuple of sequence of (train, test)
        Where it is made, for each outer fold: parts of its training rows.
    whole : sequence of (train, test)
        Where the choice with all members is made.
    """

    outer: Sequence[Split]
    inner: tuple[Sequence[Split], ...]
    whole: Sequence[Split]

    @classmethod
    def draw(
        cls,
        outer: Sequence[Split],
        inner_cv: Any,
        X: Any,
        reward: Any,
        generator: np.random.Generator,
    ) -> NestedFolds:
        """Divide each training set; members of one reward stay together.

        Raises
        ------
        ValueError
            If ``inner_cv`` is no int and no splitter, or a training set is too small.
        """
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


def _check_inner(inner_cv: Any, trains: Sequence[Any], reward: Any) -> None:
    is_integer = isinstance(inner_cv, (int, np.integer)) and inner_cv is not True
    if not is_integer and not hasattr(inner_cv, "split"):
        raise fail(
            OWNER, "inner_cv", "an int or a splitter, as it divides many sets", inner_cv
        )
    units = [
        len(train) if reward is None else len(np.unique(np.asarray(reward)[train]))
        for train in trains
    ]
    if is_integer and not 2 <= inner_cv <= min(units):
        kind = "members" if reward is None else "rewards"
        raise ValueError(
            f"inner_cv must be an int in the range [2, {min(units)}], the number of "
            f"{kind} in the smallest training set of an outer fold, or a splitter. "
            f"Got {inner_cv!r} instead."
        )


@dataclass(frozen=True)
class Choice:
    """What one candidate is at its best on a set of members.

    Parameters
    ----------
    setting : EmbeddingSetting
        Of the highest mean score over the inner folds; the first of equals.
    score : float
        That mean.
    scores : ndarray of shape (n_settings, n_inner_folds)
        All of them, in the order of the candidate's settings.
    """

    setting: EmbeddingSetting
    score: float
    scores: FloatArray


@dataclass(frozen=True)
class NestedErrors:
    """Errors of held-out members where each fold makes its own choice.

    The last entry along the first axis is the best of all candidates.

    Parameters
    ----------
    errors : ndarray of shape (n_candidates + 1, n_members, n_active)
        Squared, in clr coordinates; NaN where a member is never held out.
    choices : tuple of tuple of EmbeddingSetting
        What each outer fold chose.
    """

    errors: FloatArray
    choices: tuple[tuple[EmbeddingSetting, ...], ...]


@dataclass(frozen=True)
class NestedSearch:
    """Candidates, data and folds.

    Parameters
    ----------
    candidates : tuple of Candidate
        What is compared.
    X, y : array or data frame
        Inputs and compositions of all members.
    folds : NestedFolds
        Outer and inner.
    scoring : str, callable or None
        As in scikit-learn.
    geometry : LogRatioGeometry
        Steps and mask, read from all of y.
    zero_replacement : float
        For predictions and observations alike.
    """

    candidates: tuple[Candidate, ...]
    X: Any
    y: Any
    folds: NestedFolds
    scoring: Any
    geometry: LogRatioGeometry
    zero_replacement: float

    def choices(
        self, n_jobs: int | None = None, done: Callable[[], None] = lambda: None
    ) -> list[Choice]:
        """Return the choice of each candidate on all members."""
        tasks = (
            delayed(choose)(candidate, self.X, self.y, self.folds.whole, self.scoring)
            for candidate in self.candidates
        )
        return list(_run(tasks, n_jobs, done))

    def nested_errors(
        self,
        n_jobs: int | None = None,
        done: Callable[[], None] = lambda: None,
        *,
        order: Any = None,
        inputs: Any = None,
    ) -> NestedErrors:
        """Choose in each training set and predict those who are held out.

        ``order`` gives the members the policies of others, ``inputs`` their inputs.
        """
        X = self.X if inputs is None else take(self.X, inputs)
        y = self.y if order is None else take(self.y, order)
        n_folds = len(self.folds.outer)
        tasks = (
            delayed(_choose_and_predict)(self, candidate, fold, X, y)
            for candidate in self.candidates
            for fold in range(n_folds)
        )
        found = list(_run(tasks, n_jobs, done))
        observed = clr_of(y, self.geometry, self.zero_replacement, "y")
        n_candidates = len(self.candidates)
        errors = np.full((n_candidates + 1, *observed.shape), np.nan)
        chosen: list[list[EmbeddingSetting]] = [[] for _ in range(n_candidates + 1)]
        for fold, (_, test) in enumerate(self.folds.outer):
            here = found[fold::n_folds]
            best = int(np.argmax([choice.score for choice, _ in here]))
            for row, (choice, clr) in enumerate([*here, here[best]]):
                errors[row, test] = np.square(observed[test] - clr)
                chosen[row].append(choice.setting)
        return NestedErrors(errors, tuple(map(tuple, chosen)))

    def permuted_q2(
        self,
        permutations: Permutations,
        deviations: FloatArray,
        n_jobs: int | None,
        done: Callable[[], None],
    ) -> FloatArray:  # shape: (n_permutations, n_candidates + 1, n_steps)
        """Repeat all choices and fits for each permutation."""
        tasks = (
            delayed(_q2_of_order)(self, order, permutations.moves_policies, deviations)
            for order in permutations.orders
        )
        return np.array(list(_run(tasks, n_jobs, done)))


def choose(
    candidate: Candidate, X: Any, y: Any, splits: Sequence[Split], scoring: Any
) -> Choice:
    """Return the setting of a candidate with the highest mean score.

    The choice of :class:`sklearn.model_selection.GridSearchCV`, but an embedding is
    fitted once for all degrees.
    """
    columns = [_scores_of_split(candidate, X, y, split, scoring) for split in splits]
    scores = np.array(columns).T
    means = scores.mean(axis=1)
    best = int(np.argmax(means))
    return Choice(candidate.settings[best], float(means[best]), scores)


def _scores_of_split(
    candidate: Candidate, X: Any, y: Any, split: Split, scoring: Any
) -> list[float]:
    """Return the score of each setting."""
    train, test = split
    known, policies = take(X, train), take(y, train)
    scores = []
    for dimension in candidate.dimensions:
        embedding = candidate.embedding_step(dimension)
        setting = EmbeddingSetting(candidate.name, dimension, None)
        try:
            Z = embedding.fit_transform(known, policies)
            for degree in candidate.degrees:
                setting = EmbeddingSetting(candidate.name, dimension, degree)
                surrogate = candidate.surrogate_of(degree).fit(Z, policies)
                model = behind(embedding, surrogate)
                scorer = check_scoring(model, scoring)
                scores.append(float(scorer(model, take(X, test), take(y, test))))
                if not np.isfinite(scores[-1]):
                    raise ValueError(f"its score is {scores[-1]}")
        except ValueError as error:
            raise ValueError(
                f"Candidate {setting} failed on {len(train)} training members of an "
                f"inner fold: {error}"
            ) from error
    return scores


def _choose_and_predict(
    search: NestedSearch, candidate: Candidate, fold: int, X: Any, y: Any
) -> tuple[Choice, FloatArray]:
    """Return the choice in an outer fold, and clr predictions of its test rows."""
    train, test = search.folds.outer[fold]
    choice = choose(candidate, X, y, search.folds.inner[fold], search.scoring)
    model = candidate.pipeline(choice.setting).fit(take(X, train), take(y, train))
    predicted = np.asarray(model.predict(take(X, test)), dtype=np.float64)
    clr = clr_of(predicted, search.geometry, search.zero_replacement, "prediction")
    return choice, clr


def _q2_of_order(
    search: NestedSearch, order: Any, moves_policies: bool, deviations: FloatArray
) -> list[FloatArray]:
    """Return Q² of each candidate and of the best of all for one permutation."""
    if moves_policies:
        found = search.nested_errors(order=order)
        deviations = deviations[order]
    else:
        found = search.nested_errors(inputs=order)
    return [step_q2(errors, deviations, search.geometry) for errors in found.errors]


def _run(
    tasks: Iterator[Any], n_jobs: int | None, done: Callable[[], None]
) -> Iterator[Any]:
    """Yield the results of tasks in their order, and tell of each.

    One thread, as more lose time on fits this small; joblib sees to other processes.
    """
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    with threadpool_limits(1), _stopping(parallel(tasks)) as results:
        for result in results:
            done()
            yield result
