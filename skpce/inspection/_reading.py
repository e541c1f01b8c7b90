"""Read a fitted pipeline: its expansion, what stands before it, and any model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._basis.basis import checked_inputs
from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    OutputGroups,
    alone,
    as_floats,
    check_rows,
    label_codes,
    names_of_inputs,
    numbered_names,
    refuse_extremes,
    refuse_other_names,
    renamed,
    take,
    validated_array,
    with_codes,
)
from .._compositions.fitted import FittedCompositions
from .._compositions.outputs import Outputs
from .._expansion.expansion import (
    Expansion,
    checked_features,
    groups_of_outputs,
)
from .._expansion.problem import FittedProblem
from .._regressor import PolynomialChaosRegressor
from .._result import too_little
from .._surrogate import CompositionalPCESurrogate

# Estimators that have an expansion once they are fitted.
_EXPANSIONS = (PolynomialChaosRegressor, CompositionalPCESurrogate)

_LEAST_Q2 = 0.25  # leave-one-out, of an expansion that supports what is read off it
_ASKED_TWICE = 20  # rows whose predictions are compared


class NoExpansionError(ValueError):
    """A pipeline ends in no polynomial expansion."""


class OutsideDomainError(ValueError):
    """Rows for which a step before the expansion has no finite value."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What a fitted pipeline consists of."""

    expansion: Expansion  # its inputs have the names that the pipeline gives
    estimator: Any  # the last one; the expansion itself where one was given
    steps: tuple[tuple[str, Any], ...]  # before it, in their order
    problem: FittedProblem | None  # None for an expansion that was given
    compositions: FittedCompositions | None  # None for other expansions
    X: Any = None  # rows before the steps, as they were given

    @property
    def is_sampled(self) -> bool:
        """Whether it expands another regressor's predictions at draws of its inputs."""
        return self.compositions is not None and self.compositions.from_models

    @cached_property
    def inputs(self) -> Any:
        """What the expansion gets for X, as the steps return it."""
        table = transformed(self.steps, self.X)
        return with_codes(self.estimator, table, reset=False)

    @property
    def table(self) -> FloatArray | None:
        """Inputs of the expansion for X, else of the fit of a surrogate; else None."""
        is_alone = not self.steps and hasattr(self.estimator, "n_features_in_")
        if self.X is not None and is_alone:  # steps check their inputs themselves
            return checked_inputs(self.estimator, self.X)
        if self.X is not None:
            return np.asarray(self.inputs, dtype=np.float64)
        return None if self.compositions is None else self.compositions.members.inputs

    # The pipeline as a function of numeric rows of X.

    @cached_property
    def rows(self) -> Inputs:
        """X as numbers; columns other than those of the fit are refused."""
        first = self.steps[0][1] if self.steps else self.estimator
        rows = read_inputs(self.X, smallest=3, fitted=first)
        if not isinstance(first, ColumnTransformer):  # which takes columns by name
            seen = getattr(first, "feature_names_in_", None)
            refuse_other_names("X", rows.names, seen)
        return rows

    def latent(self, values: FloatArray) -> FloatArray:  # shape: (n_samples, n_inputs)
        """Return what the expansion gets for rows; it must be finite."""
        if not self.steps:
            return values
        table = transformed(self.steps, self.rows.like(values))
        latent = np.asarray(table, dtype=np.float64)
        lost = int((~np.isfinite(latent).all(axis=1)).sum())
        if lost:
            raise OutsideDomainError(
                f"The steps before the expansion give NaN or infinity for {lost} of "
                f"{len(latent)} rows that were drawn or moved, as the logarithm of a "
                "negative number does; expected finite values. Transform X before the "
                "pipeline, or give a distribution with the support of the columns."
            )
        return latent

    def at_latent(self, Z: FloatArray) -> FloatArray:  # shape: (n_samples, n_outputs)
        """Evaluate the expansion."""
        return self.expansion.basis.combine(Z, self.expansion.coefficients)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Evaluate the expansion at rows of X; (n_samples, n_outputs)."""
        return self.at_latent(self.latent(values))


def expansion_of(
    pipeline: Any,
    X: Any = None,
    input_features: Sequence[str] | None = None,
    *,
    outputs: OutputGroups = None,
    verdict: Any = None,
) -> Reading:
    """Read a fitted estimator, alone, at the end of pipelines, or found by a search.

    Real outputs have the groups of columns that are given, else those of a verdict.
    """
    if X is not None:
        check_rows("The reading of a pipeline", "X", X, dense=False)
    steps, last, names = _taken_apart(pipeline, None)
    if isinstance(last, _EXPANSIONS):
        check_is_fitted(last)
    expansion = getattr(last, "expansion_", last)
    if not isinstance(expansion, Expansion):
        raise NoExpansionError(
            f"The pipeline or estimator ends in {_kind(last)}; expected a fitted "
            "PolynomialChaosRegressor or CompositionalPCESurrogate, alone, as the last "
            "step of a Pipeline, or as the best estimator of a search. The last step "
            f"is {type(last).__name__}: for any other model use "
            "skpce.inspection.sobol_indices(pipeline, X)."
        )
    compositions = getattr(last, "_fitted", None)
    problem = getattr(last, "_problem", None)
    if compositions is not None:
        problem = compositions
    names = list(expansion.input_names) if names is None else names
    renamed_to = tuple(renamed("input_features", input_features, names))
    if renamed_to != expansion.input_names:
        expansion = replace(expansion, input_names=renamed_to)
    if compositions is None:
        expansion = _in_groups(expansion, outputs, verdict)
    elif outputs is not None:
        raise ValueError(
            f"outputs={outputs!r} groups real outputs; this surrogate is of "
            "compositions, whose groups are its steps. Expected None."
        )
    return Reading(expansion, last, tuple(steps), problem, compositions, X)


def _in_groups(expansion: Expansion, outputs: OutputGroups, verdict: Any) -> Expansion:
    """Group the outputs as they are given, else as a verdict has judged them."""
    if outputs is not None:
        return expansion.grouped(*groups_of_outputs(outputs, expansion.output_names))
    judged = getattr(verdict, "figures", {}).get("measured_as")
    if not isinstance(judged, Outputs) or judged.n_columns != expansion.n_outputs:
        return expansion
    groups = np.arange(expansion.n_outputs)
    groups = groups if expansion.groups is None else expansion.groups
    is_same = np.array_equal(groups, judged.group_of_coordinate)
    names = expansion.group_names if is_same else judged.names
    if judged.is_scaled and len(judged.scales) > judged.n_groups:
        # Each column in units of its own; Q² of groups follows from grouping.
        scales, variance = judged.scales, expansion.target_variance
        error = expansion.loo_error
        expansion = replace(
            expansion,
            coefficients=expansion.coefficients / scales[:, np.newaxis],
            q2=np.full(expansion.n_groups, np.nan),
            target_variance=None if variance is None else variance / scales**2,
            loo_error=None if error is None else error / scales**2,
        )
    elif is_same:
        return expansion
    return expansion.grouped(judged.group_of_coordinate, names)


def _kind(last: Any) -> str:
    return repr(last) if hasattr(last, "get_params") else f"a {type(last).__name__}"


def compositions_of(
    pipeline: Any, *, instead: str = ""
) -> tuple[Reading, FittedCompositions]:
    """Read a surrogate of compositions; refuse others, and say what to use instead."""
    _, last, _ = _taken_apart(pipeline, None)
    fitted = getattr(last, "_fitted", None)
    if isinstance(fitted, FittedCompositions):
        return expansion_of(pipeline), fitted
    if isinstance(last, CompositionalPCESurrogate):
        check_is_fitted(last)
    raise ValueError(
        f"The pipeline, estimator or surrogate ends in {_kind(last)}; expected a "
        "fitted CompositionalPCESurrogate, alone or as the last step of a Pipeline."
        f"{instead and f' For real outputs use {instead}.'}"
    )


def _taken_apart(
    pipeline: Any, names: list[str] | None
) -> tuple[list[tuple[str, Any]], Any, list[str] | None]:
    """Return the steps before the last estimator, this, and the names of its inputs."""
    pipeline = getattr(pipeline, "best_estimator_", pipeline)  # of a search
    if not isinstance(pipeline, Pipeline):
        return [], pipeline, names
    if len(pipeline) > 1:
        try:
            found = pipeline[:-1].get_feature_names_out(names)
            names = None if found is None else [str(name) for name in found]
        except AttributeError:
            names = None
    before = [
        (name, step)
        for name, step in pipeline.steps[:-1]
        if step is not None and not (isinstance(step, str) and step == "passthrough")
    ]
    steps, last, names = _taken_apart(pipeline[-1], names)
    return before + steps, last, names


def transformed(steps: Sequence[tuple[str, Any]], X: Any) -> Any:
    """Return what comes out of fitted transformers for X."""
    for _, step in steps:
        X = step.transform(X)
    return X


def steps_before(pipeline: Any) -> list[Any]:
    """Return the steps before the last estimator of a fit, however deep it stands."""
    steps, _, _ = _taken_apart(pipeline, None)
    return [step for _, step in steps]


def looks_at_y(steps: Sequence[Any], X: Any, y: Any) -> bool:
    """Whether a step before the last one has looked at y, or may have done so.

    It has not where it says so in its tags, and gives the same outputs with y, without
    it and with y of other members.
    """
    if not steps:
        return False
    # One that is frozen is fitted again: nothing else tells what it has seen.
    free = [s.estimator if isinstance(s, FrozenEstimator) else s for s in steps]
    if any(get_tags(step).target_tags.required for step in free):
        return True
    before, every, outputs = make_pipeline(*free), np.arange(len(X)), []
    for given in (y, None, take(y, every[::-1])):
        try:
            outputs.append(np.asarray(clone(before).fit(X, given).transform(X)))
        except (AttributeError, TypeError, ValueError):
            return True  # it cannot do without y
    return not all(np.array_equal(outputs[0], one) for one in outputs[1:])


def last_and_inputs(pipeline: Any, X: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return the last estimator of a fit, any model, what it gets, and their names."""
    steps, last, names = _taken_apart(pipeline, None)
    inputs = transformed(steps, X)
    expansion = getattr(last, "expansion_", None)
    if names is None and isinstance(expansion, Expansion):
        names = list(expansion.input_names)
    return last, inputs, column_names(inputs, names)


def column_names(X: Any, names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return as many names as there are columns: given ones, else their own."""
    names = list(getattr(X, "columns", ())) if names is None else names
    width = np.shape(X)[1]
    return tuple(map(str, names if len(names) == width else numbered_names(width)))


def final_estimator(pipeline: Any) -> tuple[str, Any]:
    """Return the prefix of the parameters of the innermost last estimator, and this."""
    if isinstance(pipeline, Pipeline):
        name, last = pipeline.steps[-1]
        prefix, inner = final_estimator(last)
        return f"{name}__{prefix}", inner
    has_params = hasattr(pipeline, "get_params") and not isinstance(pipeline, type)
    known = pipeline.get_params(deep=False) if has_params else {}
    if "degree" in known or "steps" in known:  # an expansion, on any regressor
        return "", pipeline
    for name in ("estimator", "regressor"):
        wrapped = known.get(name)
        if hasattr(wrapped, "fit") and hasattr(wrapped, "get_params"):
            prefix, inner = final_estimator(wrapped)
            return f"{name}__{prefix}", inner
    return "", pipeline


def refuse_expansion(reading: Reading) -> None:
    """Raise ``ValueError`` for an expansion that was given in place of a fit."""
    if reading.problem is None:
        raise ValueError(
            f"Got {reading.estimator!r}; expected a fitted estimator: an expansion "
            "alone has no residuals and no intervals."
        )


def group_matrix(expansion: Expansion) -> FloatArray:  # shape: (n_groups, n_outputs)
    """Return zeros and ones: which outputs a group adds up."""
    n_outputs = expansion.n_outputs
    groups = np.arange(n_outputs) if expansion.groups is None else expansion.groups
    return (np.arange(expansion.n_groups)[:, np.newaxis] == groups).astype(np.float64)


def has_variance(expansion: Expansion) -> BoolArray:  # shape: (n_groups,)
    """Return which targets vary; next to the constant term rounding is no variance."""
    constant = np.square(expansion.term_norms[:, 0])
    return np.asarray(expansion.total_variance > 1e-24 * constant)


def q2_reasons(expansion: Expansion) -> tuple[tuple[str, ...], ...]:
    """Say, target by target, why the expansion does not predict."""
    reasons = []
    for q2, varies in zip(expansion.q2, has_variance(expansion), strict=True):
        found = too_little(q2, _LEAST_Q2, "of the variance of y (leave-one-out)")
        reason = f"the expansion predicts {found}"
        if np.isnan(q2) or not varies:
            reason = "the expansion has no variance"
        reasons.append(() if q2 >= _LEAST_Q2 and varies else (reason,))
    return tuple(reasons)


@dataclass(frozen=True)
class Inputs:
    """A table of numbers, codes for labels, that remembers its container."""

    values: FloatArray
    columns: tuple[Any, ...]  # of the data frame, else x0, x1, ...
    container: Any  # class of the data frame; None for arrays
    labels: Mapping[int, Any]  # by column, the label of each code

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns; x0, x1, ... where these are no text."""
        return tuple(names_of_inputs(self.columns))

    def like(self, values: FloatArray) -> Any:
        """Put other rows into the same container."""
        if self.container is None:
            return values
        columns: dict[Any, Any] = dict(zip(self.columns, values.T, strict=True))
        for i, labels in self.labels.items():
            columns[self.columns[i]] = labels[values[:, i].astype(np.int64)]
        return self.container(columns)

    def with_indicators(self, values: FloatArray) -> tuple[FloatArray, IndexArray]:
        """Return rows with an indicator of each label, and the input of each column."""
        if not self.labels:
            return values, np.arange(values.shape[1])
        parts = [
            values[:, [i]] == np.arange(len(self.labels[i]))
            if i in self.labels
            else values[:, [i]]
            for i in range(values.shape[1])
        ]
        widths = [part.shape[1] for part in parts]
        return np.hstack(parts).astype(np.float64), np.arange(len(parts)).repeat(widths)


def read_inputs(
    X: Any, *, smallest: int = 2, fitted: Any = None, labels: bool = False
) -> Inputs:
    """Check that X is a finite table of numbers, and labels where they are allowed."""
    columns: Any = getattr(X, "columns", None)
    table, label_of = label_codes(X) if labels else (X, {})
    values = validated_array(table, "X", ensure_min_samples=smallest)
    n_features, expected = values.shape[1], getattr(fitted, "n_features_in_", None)
    if expected is not None and expected != n_features:
        raise ValueError(
            f"X has {n_features} features; expected {expected}, on which the estimator "
            "was fitted."
        )
    are_text = columns is not None and all(isinstance(name, str) for name in columns)
    if not (are_text or label_of):
        return Inputs(values, tuple(numbered_names(n_features)), None, {})
    if len(set(columns)) < len(columns):
        raise ValueError(
            f"X has columns of one name: {list(columns)}; expected other names."
        )
    return Inputs(values, tuple(columns), type(X), label_of)


@dataclass(frozen=True)
class FittedModel:
    """A function of rows of X with named targets."""

    call: Callable[[Any], Any]  # takes a table, returns predictions
    inputs: Inputs
    names: tuple[str, ...] | None  # of the targets, where the model knows them
    second: bool  # whether the second of two columns is the target: of two classes

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the predictions; (n_samples, n_targets)."""
        output = self.call(self.inputs.like(values))
        if isinstance(output, list):
            raise ValueError(
                f"The estimator returns a list of {len(output)} arrays; expected "
                "one array. Give a callable that returns one."
            )
        try:
            predictions = as_floats(output, "The prediction")
        except (TypeError, ValueError):
            raise ValueError(
                "The estimator predicts values that are not numbers, such as "
                f"{np.ravel(np.asarray(output))[0]!r}; expected numbers. For a "
                "classifier give its method predict_proba."
            ) from None
        if predictions.ndim not in (1, 2) or len(predictions) != len(values):
            raise ValueError(
                f"The estimator returns shape {predictions.shape} for "
                f"{len(values)} rows; expected ({len(values)},) or "
                f"({len(values)}, n_targets)."
            )
        if not np.all(np.isfinite(predictions)):
            raise ValueError("The estimator predicts NaN or infinity; expected finite.")
        predictions = predictions.reshape(len(values), -1)
        refuse_extremes(predictions, "The prediction of the estimator", varying=True)
        return predictions[:, -1:] if self.second else predictions

    def twice(self, values: FloatArray) -> FloatArray:
        """Return the predictions, and refuse a model that draws at random."""
        found = self(values)
        change = np.abs(self(values[:_ASKED_TWICE]) - found[:_ASKED_TWICE])
        if (change > 1e-3 * np.ptp(found, axis=0)).any():
            raise ValueError(
                "The estimator predicts other values for the same rows, and its noise "
                "would count as an effect of every column; expected a model without "
                "randomness, such as the mean of many draws, or "
                "PolynomialChaosRegressor fitted to some of them."
            )
        return found

    def target_names(self, n_targets: int) -> tuple[str, ...]:
        """Name the columns: classes, outputs, ``y``, or ``y0, y1, ...``."""
        if self.names is not None and len(self.names) == n_targets:
            return self.names
        return ("y",) if n_targets == 1 else tuple(f"y{k}" for k in range(n_targets))


def fitted_model(owner: str, estimator: Any, X: Any) -> FittedModel:
    """Check an estimator and its inputs, and make it callable."""
    if isinstance(estimator, type):
        raise ValueError(
            f"The estimator of {owner} is the class {estimator.__name__}; expected an "
            "instance that is fitted, or a function of rows of X."
        )
    call, classes = estimator, None
    if hasattr(estimator, "fit") or not callable(estimator):
        has_tags = hasattr(estimator, "__sklearn_tags__")
        if has_tags:
            check_is_fitted(estimator)
        classifies = has_tags and is_classifier(estimator)
        method = "predict_proba" if classifies else "predict"
        call = getattr(estimator, method, None)
        if not callable(call):
            raise ValueError(
                f"{type(estimator).__name__} has no {method!r}; expected by {owner}: a "
                "fitted estimator, or a callable such as its method decision_function."
            )
        classes = getattr(estimator, "classes_", None) if classifies else None
    names = None if classes is None else tuple(map(str, classes))
    second = names is not None and len(names) == 2
    if names is not None and second:
        names = names[-1:]
    _, last, _ = _taken_apart(estimator, None)
    expansion = getattr(last, "expansion_", last)
    if isinstance(expansion, Expansion) and not hasattr(last, "_fitted"):
        names = expansion.output_names
    inputs = read_inputs(X, fitted=estimator, labels=True)
    return FittedModel(call, inputs, names, second)


def column_groups(
    groups: Any, names: Sequence[str], *, overlapping: bool = False
) -> dict[str, list[int]]:
    """Return the positions of each group; columns in no disjoint group stand alone."""
    if groups is None:
        return {name: [i] for i, name in enumerate(names)}
    if not isinstance(groups, Mapping) or not groups:
        raise ValueError(
            "groups must be None or a mapping of names to columns, such as "
            f"{{'size': ['a', 'b']}}. Got {groups!r}."
        )
    found: dict[str, list[int]] = {}
    for name, columns in groups.items():
        try:
            found[str(name)] = checked_features(columns, names)
        except ValueError as error:
            raise ValueError(
                f"The group {name!r} of groups must be a set of columns of X: {error}"
            ) from error
    if overlapping:
        return found
    return found | alone("groups", found, names)
