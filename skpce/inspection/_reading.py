"""Read a fitted pipeline: its last estimator, its expansion, and calls at new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    FloatArray,
    IndexArray,
    check_option,
    input_names,
    refuse_other_names,
)
from .._expansion.marginals import checked_features
from .._input_laws import InputLaw
from .._regressor import PolynomialChaosRegressor
from .._surrogate import CompositionalPCESurrogate


def is_surrogate(estimator: Any) -> bool:
    """Whether an estimator explains compositions step by step."""
    return hasattr(estimator, "step_sobol_indices_")


def last_estimator(
    pipeline: Any, input_features: Sequence[str] | None = None
) -> tuple[Any, list[str]]:
    """Return the last estimator of a fitted pipeline and the names of its inputs.

    Transformers that give no names leave those of the estimator, ``x0``, ``x1``, ...

    Raises
    ------
    ValueError
        If ``input_features`` has another length than the inputs.
    """
    last, names = _descend(pipeline, None)
    return last, renamed("input_features", input_features, names)


def _descend(pipeline: Any, names: Sequence[str] | None) -> tuple[Any, list[str]]:
    if not hasattr(pipeline, "fit") or isinstance(pipeline, type):
        raise unknown_estimator(pipeline)
    check_is_fitted(pipeline)
    pipeline = unwrapped(pipeline)
    if not isinstance(pipeline, Pipeline):
        if not hasattr(pipeline, "n_features_in_"):
            raise unknown_estimator(pipeline)
        return pipeline, input_names(pipeline) if names is None else list(names)
    if len(pipeline) > 1:
        try:
            found = pipeline[:-1].get_feature_names_out(names)
            names = None if found is None else list(found)
        except AttributeError:
            names = None
    return _descend(pipeline[-1], names)


def unwrapped(estimator: Any) -> Any:
    """Return the best estimator of a fitted search, or the estimator as it is."""
    return getattr(estimator, "best_estimator_", estimator)


def surrogate_of(
    pipeline: Any, input_features: Sequence[str] | None = None
) -> tuple[Any, list[str]]:
    """Return the fitted surrogate of a pipeline and the names of its inputs.

    Raises
    ------
    ValueError
        If the last estimator is no surrogate of compositions.
    """
    last, names = last_estimator(pipeline, input_features)
    if not is_surrogate(last):
        raise ValueError(
            f"The last estimator is {last!r}; expected a fitted "
            "CompositionalPCESurrogate, alone or as the last step of a Pipeline."
        )
    return last, names


def last_and_inputs(pipeline: Any, X: ArrayLike) -> tuple[Any, Any]:
    """Return the last estimator of a fitted pipeline and what it gets for X."""
    pipeline = unwrapped(pipeline)
    if not isinstance(pipeline, Pipeline):
        return pipeline, X
    inner = pipeline[:-1].transform(X) if len(pipeline) > 1 else X
    return last_and_inputs(pipeline[-1], inner)


def surrogate_inputs(pipeline: Any, X: ArrayLike) -> Any:
    """Return what the last estimator of a pipeline gets for X."""
    return last_and_inputs(pipeline, X)[1]


def renamed(name: str, given: Sequence[str] | None, names: list[str]) -> list[str]:
    """Return the given names in place of others; None keeps them.

    Raises
    ------
    ValueError
        If their number is another one.
    """
    if given is None:
        return names
    if isinstance(given, str) or len(given) != len(names):
        raise ValueError(
            f"{name}={given!r} must be {len(names)} names, one for each of "
            f"{', '.join(map(str, names[:5]))}{', ...' if len(names) > 5 else ''}."
        )
    return [str(entry) for entry in given]


def unknown_estimator(estimator: Any) -> ValueError:
    """Return the error for an estimator without an expansion."""
    return ValueError(
        f"Got {estimator!r}; expected a fitted PolynomialChaosRegressor or "
        "CompositionalPCESurrogate, alone, as the last step of a Pipeline, or as the "
        "best estimator of a search."
    )


@dataclass(frozen=True)
class LastStep:
    """The expansion at the end of a pipeline, its rows grouped into targets.

    Parameters
    ----------
    coefficients : ndarray of shape (n_rows, n_terms)
        One row per output, or per log-ratio of a surrogate.
    multi_indices : ndarray of shape (n_terms, n_inputs)
        The index set.
    basis : PolynomialBasis
        Laws of the embedded inputs.
    group : ndarray of shape (n_targets, n_rows)
        Zeros and ones: which rows a target sums.
    target_names : tuple of str
        Outputs, or steps.
    q2 : ndarray of shape (n_targets,)
        Leave-one-out Q².
    """

    coefficients: FloatArray
    multi_indices: IndexArray
    basis: Any
    group: FloatArray
    target_names: tuple[str, ...]
    q2: FloatArray

    @property
    def laws(self) -> Sequence[InputLaw]:
        """Of the embedded inputs."""
        return self.basis.laws

    @property
    def variance(self) -> FloatArray:  # shape: (n_targets,)
        """Variance of the expansion."""
        return self.group @ np.square(self.coefficients[:, 1:]).sum(axis=1)

    def share(self, parts: FloatArray) -> FloatArray:
        """Sum rows into targets and divide by the variance; 0 without variance."""
        safe = np.where(self.variance > 0, self.variance, 1.0)
        return (self.group @ parts) / safe[:, np.newaxis]


def split_pipeline(pipeline: Any) -> tuple[list[tuple[str, Any]], Any]:
    """Return the steps before the expansion, and the expansion.

    Raises
    ------
    ValueError
        If the last step is no expansion.
    """
    if not isinstance(pipeline, Pipeline):
        steps, last = [], pipeline
    else:
        steps, last = pipeline.steps[:-1], pipeline.steps[-1][1]
    if isinstance(last, Pipeline):
        inner, last = split_pipeline(last)
        steps = [*steps, *inner]
    if not isinstance(last, (PolynomialChaosRegressor, CompositionalPCESurrogate)):
        raise ValueError(
            f"The last step is {type(last).__name__}; expected "
            "PolynomialChaosRegressor or CompositionalPCESurrogate. For any other "
            "model use skpce.inspection.sobol_indices(pipeline, X)."
        )
    return list(steps), last


def last_step(estimator: Any) -> LastStep:
    """Read a fitted expansion.

    Raises
    ------
    NotFittedError
        If it is not fitted.
    ValueError
        If an input is categorical.
    """
    check_is_fitted(estimator)
    for i, law in enumerate(estimator.basis_.laws):
        if not law.is_polynomial:
            raise ValueError(
                f"Embedded input {i} has a {type(law).__name__}; expected a law of "
                "numbers: categories have no linear embedding and no derivatives."
            )
    if isinstance(estimator, CompositionalPCESurrogate):
        geometry = estimator.geometry_
        n_steps = geometry.layout.n_steps
        rows = estimator.expansion_.coefficients
        group = np.arange(n_steps)[:, np.newaxis] == geometry.step_of_active
        names = tuple(str(name) for name in geometry.layout.step_names)
        q2 = estimator.diagnostics_.loo_q2
    else:
        rows = estimator.coefficients_
        group, q2 = np.eye(len(rows)), estimator.q2_
        names = ("y",) if len(rows) == 1 else tuple(f"y{k}" for k in range(len(rows)))
    return LastStep(
        rows,
        estimator.multi_indices_,
        estimator.basis_,
        group.astype(np.float64),
        names,
        q2,
    )


class OutsideDomainError(ValueError):
    """Rows for which a step before the expansion has no finite value."""


@dataclass(frozen=True)
class PipelineExpansion:
    """The steps before an expansion, and the expansion.

    Parameters
    ----------
    steps : list of (str, transformer)
        Before the expansion; any transformers.
    last : LastStep
        The expansion; its rows are outputs, or log-ratios of a surrogate.
    inputs : Inputs
        X as given, and its container.
    estimator : object
        The fitted expansion itself.
    """

    steps: list[tuple[str, Any]]
    last: LastStep
    inputs: Inputs
    estimator: Any

    @property
    def is_direct(self) -> bool:
        """Whether the expansion reads the columns of X themselves."""
        return not self.steps

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows: ``step:action`` of a surrogate, outputs of a regressor."""
        if not isinstance(self.estimator, CompositionalPCESurrogate):
            return self.last.target_names
        geometry = self.estimator.geometry_
        layout = geometry.layout
        return tuple(
            f"{layout.step_names[layout.step_of_part[part]]}:{layout.part_names[part]}"
            for part in geometry.active_parts
        )

    def latent(self, values: FloatArray) -> FloatArray:
        """Return what the expansion gets for rows; shape (n_samples, n_inputs).

        Raises
        ------
        OutsideDomainError
            If the steps before it give NaN or infinity.
        """
        if self.is_direct:
            return values
        table = self.inputs.like(values)
        for _, step in self.steps:
            table = step.transform(table)
        latent = np.asarray(table, dtype=np.float64)
        lost = int((~np.isfinite(latent).all(axis=1)).sum())
        if lost:
            raise OutsideDomainError(
                f"The steps before the expansion give NaN or infinity for {lost} of "
                f"{len(latent)} rows that were drawn or moved, as the logarithm of a "
                "negative number does; expected finite values. Transform X before the "
                "pipeline, or give a law with the support of the columns."
            )
        return latent

    def at_latent(self, Z: FloatArray) -> FloatArray:
        """Evaluate the expansion; shape (n_samples, n_rows)."""
        return self.last.basis.combine(Z, self.last.coefficients)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Evaluate the expansion at rows of X; shape (n_samples, n_rows)."""
        return self.at_latent(self.latent(values))


def pipeline_expansion(estimator: Any, X: Any) -> PipelineExpansion:
    """Read a fitted pipeline, a search or an expansion alone, and rows of X.

    Raises
    ------
    ValueError
        If it does not end in an expansion, or X is bad or has other columns, or the
        columns in another order.
    NotFittedError
        If it is not fitted.
    """
    steps, expansion = split_pipeline(unwrapped(estimator))
    last = last_step(expansion)
    inputs = read_inputs(X, smallest=3)
    steps = [
        (name, step)
        for name, step in steps
        if step is not None and not (isinstance(step, str) and step == "passthrough")
    ]
    first = steps[0][1] if steps else expansion
    expected = getattr(first, "n_features_in_", None)
    if expected is not None and expected != inputs.values.shape[1]:
        raise ValueError(
            f"X has {inputs.values.shape[1]} features but the estimator was fitted on "
            f"{expected}."
        )
    if not isinstance(first, ColumnTransformer):  # which takes columns by name
        refuse_other_names("X", inputs.names, getattr(first, "feature_names_in_", None))
    return PipelineExpansion(steps, last, inputs, expansion)


#: What may be asked of an estimator.
RESPONSES = ("auto", "predict", "predict_proba", "decision_function", "transform")


@dataclass(frozen=True)
class Inputs:
    """A table of numbers that remembers its container.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        The numbers.
    names : tuple of str
        Columns of the data frame, else ``x0, x1, ...``.
    container : type or None
        Class of the data frame; None for arrays.
    """

    values: FloatArray
    names: tuple[str, ...]
    container: Any

    def like(self, values: FloatArray) -> Any:
        """Put other rows into the same container."""
        if self.container is None:
            return values
        return self.container(dict(zip(self.names, values.T, strict=True)))


def read_inputs(X: Any, *, smallest: int = 2) -> Inputs:
    """Check X and remember its container and names.

    Raises
    ------
    ValueError
        If X is not a finite numeric table with at least ``smallest`` rows.
    """
    columns = getattr(X, "columns", None)
    values = check_array(X, dtype=np.float64, ensure_min_samples=smallest)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return Inputs(values, tuple(f"x{i}" for i in range(values.shape[1])), None)
    if len(set(columns)) < len(columns):
        raise ValueError(f"X has columns of one name: {list(columns)}.")
    return Inputs(values, tuple(columns), type(X))


@dataclass(frozen=True)
class FittedModel:
    """A function of rows of X with named targets.

    Parameters
    ----------
    call : callable
        Takes a table, returns predictions.
    inputs : Inputs
        The container to use.
    classes : tuple of str or None
        Names of the columns, where the model has classes.
    """

    call: Callable[[Any], Any]
    inputs: Inputs
    classes: tuple[str, ...] | None

    def __call__(self, values: FloatArray) -> FloatArray:
        """Return the predictions; shape (n_samples, n_targets)."""
        answer = self.call(self.inputs.like(values))
        if isinstance(answer, list):
            raise ValueError(
                f"The estimator answers with a list of {len(answer)} arrays; expected "
                "one array. Give a callable that returns one."
            )
        try:
            predictions = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                "The estimator predicts values that are not numbers, such as "
                f"{np.ravel(np.asarray(answer))[0]!r}; expected numbers. For a "
                "classifier use response='predict_proba'."
            ) from None
        if predictions.ndim not in (1, 2) or len(predictions) != len(values):
            raise ValueError(
                f"The estimator answers with shape {predictions.shape} for "
                f"{len(values)} rows; expected ({len(values)},) or "
                f"({len(values)}, n_targets)."
            )
        if not np.all(np.isfinite(predictions)):
            raise ValueError("The estimator predicts NaN or infinity; expected finite.")
        predictions = predictions.reshape(len(values), -1)
        two = self.classes is not None and len(self.classes) == 2
        return predictions[:, -1:] if two else predictions

    def target_names(self, n_targets: int) -> tuple[str, ...]:
        """Name the columns: classes, ``y``, or ``y0, y1, ...``."""
        if self.classes is not None and len(self.classes) == 2 and n_targets == 1:
            return self.classes[-1:]
        if self.classes is not None and len(self.classes) == n_targets:
            return self.classes
        return ("y",) if n_targets == 1 else tuple(f"y{k}" for k in range(n_targets))


def fitted_model(owner: str, estimator: Any, X: Any, response: Any) -> FittedModel:
    """Check an estimator and its inputs, and make it callable.

    Raises
    ------
    ValueError
        If the estimator cannot answer, or X has another number of features.
    NotFittedError
        If the estimator is not fitted.
    """
    check_option(owner, "response", response, RESPONSES)
    call, classes = _answer(owner, estimator, response)
    inputs = read_inputs(X)
    expected = getattr(estimator, "n_features_in_", None)
    if expected is not None and expected != inputs.values.shape[1]:
        raise ValueError(
            f"X has {inputs.values.shape[1]} features but the estimator was fitted on "
            f"{expected}."
        )
    return FittedModel(call, inputs, classes)


def _answer(
    owner: str, estimator: Any, response: str
) -> tuple[Callable[[Any], Any], tuple[str, ...] | None]:
    """Return the function to call and the names of the classes."""
    if not hasattr(estimator, "fit") and callable(estimator):
        return estimator, None
    if hasattr(estimator, "__sklearn_tags__"):
        check_is_fitted(estimator)
    if response == "auto":
        classifies = hasattr(estimator, "__sklearn_tags__") and is_classifier(estimator)
        response = "predict_proba" if classifies else "predict"
    call = getattr(estimator, response, None)
    if not callable(call):
        raise ValueError(
            f"{type(estimator).__name__} has no {response!r}; expected by {owner} with "
            f"response={response!r}. Give a fitted estimator or a callable."
        )
    probabilities = response == "predict_proba"
    classes = getattr(estimator, "classes_", None) if probabilities else None
    names = None if classes is None else tuple(str(name) for name in classes)
    return call, names


def column_groups(
    groups: Any, names: Sequence[str], *, overlapping: bool = False
) -> dict[str, list[int]]:
    """Return the positions of each group, the groups in their order.

    Parameters
    ----------
    groups : mapping of str to columns, or None
        Columns by position or by name. Of disjoint groups, columns in none stand
        alone after them. None: every column stands alone.
    names : sequence of str
        Of all columns.
    overlapping : bool, default=False
        Whether groups may share columns, and leave some out.

    Raises
    ------
    ValueError
        If the groups are no mapping, one is empty or unknown, a name comes twice, or
        groups that must not share a column do.

    Examples
    --------
    >>> from skpce.inspection._reading import column_groups
    >>> column_groups({"size": ["a", "c"]}, ["a", "b", "c"])
    {'size': [0, 2], 'b': [1]}
    """
    if groups is None:
        return {name: [i] for i, name in enumerate(names)}
    if not isinstance(groups, Mapping) or not groups:
        raise ValueError(
            "groups must be None or a mapping of names to columns, such as "
            f"{{'size': ['a', 'b']}}. Got {groups!r}."
        )
    found = {
        str(name): _positions(name, columns, names) for name, columns in groups.items()
    }
    if overlapping:
        return found
    taken: dict[int, str] = {}
    for name, columns in found.items():
        for i in columns:
            if i in taken:
                raise ValueError(
                    f"groups {taken[i]!r} and {name!r} both hold the column "
                    f"{names[i]!r}; expected groups without a common column."
                )
            taken[i] = name
    alone = {names[i]: [i] for i in range(len(names)) if i not in taken}
    twice = sorted(set(found) & set(alone))
    if twice:
        raise ValueError(
            f"groups has the name {twice[0]!r}, which is a column outside the group."
        )
    return found | alone


def _positions(name: Any, columns: Any, names: Sequence[str]) -> list[int]:
    if isinstance(columns, np.ndarray):
        columns = columns.tolist()
    if isinstance(columns, (str, Integral)):
        columns = [columns]
    try:
        return checked_features(columns, names)
    except ValueError as error:
        raise ValueError(f"The group {name!r} is no set of columns: {error}") from error
