"""Utilities of actions and what they depend on, read from what is given."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..._checks import (
    FloatArray,
    as_floats,
    input_names,
    numbered_names,
    refuse_extremes,
    refuse_no_inputs,
    refuse_no_numbers,
    refuse_other_names,
)
from ..._expansion.expansion import ConstantTargetWarning, Expansion
from ..._expansion.problem import FittedProblem
from ..._input_laws import check_distribution
from ..._regressor import PolynomialChaosRegressor
from ..._surrogate import CompositionalPCESurrogate
from ...inspection._reading import (
    expansion_of,
    final_estimator,
    looks_at_y,
)

OWNER = "value_of_information"

# Parameters that a regressor takes over from a surrogate of compositions.
_SHARED = ("degree", "distribution", "truncation", "q", "interaction_order", "solver")


@dataclass(frozen=True, eq=False)
class DecisionProblem:
    """Utilities of actions as functions of independent inputs, and their members."""

    expansion: Expansion  # of the utilities: one output for each action
    inputs: FloatArray  # (n_members, n_inputs), of the expansion
    contrasts: FloatArray  # (n_members, n_actions), utilities less their mean
    regressor: Any  # not fitted
    problem: FittedProblem  # the fit behind the expansion of the contrasts
    looks_at_y: bool  # whether an embedding has seen the utilities
    weighted: bool  # whether the fit that was given has other weights

    @property
    def coefficients(self) -> FloatArray:  # shape: (n_actions, n_terms)
        """Coefficients of the contrasts, less what all actions share."""
        return centred(self.problem.coefficients)

    def regressor_of(self, features: list[int]) -> Any:
        """Return a regressor with the settings, for some of the inputs alone."""
        known = self.regressor.get_params(deep=False)
        names = numbered_names(self.inputs.shape[1])
        laws = check_distribution(OWNER, known["distribution"], names)
        # A copy of frozen distributions takes longer than a fit.
        changes: dict[str, Any] = {"distribution": [laws[i] for i in features]}
        if known.get("regressor") is not None:
            changes["regressor"] = clone(known["regressor"])
        return type(self.regressor)(**known | changes)


def read_problem(surrogate: Any, X: Any, utility: Any) -> DecisionProblem:
    """Read a surrogate with utilities of members."""
    if not hasattr(surrogate, "get_params") or isinstance(surrogate, type):
        name = surrogate if isinstance(surrogate, type) else type(surrogate)
        raise TypeError(
            f"The 'surrogate' parameter of {OWNER} must be an estimator or a Pipeline. "
            f"Got {name.__name__} instead."
        )
    if X is None or not hasattr(X, "__len__"):
        raise ValueError(f"X of {OWNER} must be a table of members. Got {X!r}.")
    refuse_no_inputs(X)
    if len(X) == 1:
        raise ValueError(
            "X has one member; expected two or more, of which some are held out."
        )
    values, names = _utilities(surrogate, X, utility)
    was_fitted = True
    try:
        check_is_fitted(surrogate)
    except NotFittedError:  # it is fitted to the utilities, not to policies
        if isinstance(final_estimator(surrogate)[1], CompositionalPCESurrogate):
            raise
        was_fitted, surrogate = False, quiet_fit(clone(surrogate), X, values)
    else:
        columns = getattr(X, "columns", None)
        seen = getattr(surrogate, "feature_names_in_", None)
        refuse_other_names("X", columns, seen)
    reading = expansion_of(surrogate, X)
    table = as_floats(reading.inputs, "X")
    n_inputs = len(reading.expansion.input_names)
    if table.shape[1] != n_inputs:
        raise ValueError(
            f"X has {table.shape[1]} columns; expected {n_inputs}, as many as the "
            "surrogate was fitted to."
        )
    regressor = clone(reading.estimator)
    if not isinstance(regressor, PolynomialChaosRegressor):
        settings = regressor.get_params(deep=False)
        regressor = PolynomialChaosRegressor(**{one: settings[one] for one in _SHARED})
    labels = getattr(reading.estimator, "levels_", ())
    names_of_laws = input_names(reading.estimator)
    laws = check_distribution(OWNER, regressor.distribution, names_of_laws, labels)
    regressor.set_params(distribution=laws)
    contrasts = values - values.mean(axis=1, keepdims=True)
    size = np.abs(values).max(axis=1, keepdims=True)
    contrasts[np.abs(contrasts) <= 4.0 * np.finfo(float).eps * size] = 0.0
    expansion, problem = reading.expansion, reading.problem
    weighted = is_same = False
    if problem is not None and problem.samples is not None:
        weighted = bool(np.ptp(problem.samples.weights) > 0)
        targets = problem.samples.targets
        is_same = reading.compositions is None and targets.shape == values.shape
        is_same = is_same and np.allclose(targets, values, 1e-12, 0.0)
    if not was_fitted or weighted or not is_same:
        expansion = quiet_fit(clone(regressor), table, values).expansion_
        problem = quiet_fit(clone(regressor), table, contrasts)._problem
    assert problem is not None  # of a fit
    expansion = replace(
        expansion, input_names=reading.expansion.input_names, output_names=names
    )
    looks = looks_at_y([step for _, step in reading.steps], X, values)
    found = table, contrasts, regressor, problem, looks, weighted
    return DecisionProblem(expansion, *found)


def centred(
    coefficients: FloatArray,  # shape: (..., n_actions, n_terms)
) -> FloatArray:
    """Subtract what all actions share, which decides nothing."""
    return coefficients - coefficients.mean(axis=-2, keepdims=True)


def _utilities(
    surrogate: Any, X: Any, utility: Any
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the utilities of all actions for each member, and the actions' names."""
    if callable(utility):
        try:
            policies = surrogate.predict(X)
        except NotFittedError as error:
            raise ValueError(
                "A utility that is a function of the policies needs a fitted "
                f"surrogate. {error}"
            ) from error
        utility = utility(policies, X)
    if utility is None:
        raise ValueError(
            f"The 'utility' parameter of {OWNER} must be an array of shape "
            "(n_members, n_actions), a data frame, or a callable of the policies and "
            "X. Got None instead."
        )
    refuse_no_numbers(utility, "utility")
    values = as_floats(utility, "utility")
    if values.ndim != 2 or len(values) != len(X):
        raise ValueError(
            f"utility has shape {values.shape}; expected ({len(X)}, n_actions), one "
            "row for each member of X."
        )
    if values.shape[1] < 2:
        raise ValueError(
            f"utility has {values.shape[1]} column; expected one for each of two or "
            "more actions. An action without any effect, such as doing nothing, has "
            "the utility 0."
        )
    if not np.isfinite(values).all():
        raise ValueError("utility has NaN or infinity; expected finite numbers.")
    refuse_extremes(values, "utility")
    columns = getattr(utility, "columns", None)
    if columns is None:
        columns = [f"action{k}" for k in range(values.shape[1])]
    return values, tuple(str(name) for name in columns)


def quiet_fit(regressor: Any, table: Any, targets: FloatArray) -> Any:
    """Fit; an action whose utility does not vary is no reason to warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantTargetWarning)
        return regressor.fit(table, targets)
