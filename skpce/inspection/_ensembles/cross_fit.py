"""Refit a whole pipeline in every fold."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._basis.basis import MoreTermsThanRowsWarning
from ..._checks import (
    FEWEST_MEMBERS,
    FloatArray,
    IndexArray,
    Steps,
    take,
    take_columns,
    without_callbacks,
)
from ..._compositions.outputs import Outputs, ZeroReplacedWarning
from ..._expansion.expansion import ConstantTargetWarning
from ..._input_laws.families import InputOutsideSupportWarning
from .._reading import final_estimator

Split = tuple[IndexArray, IndexArray]


def splits_of_folds(fold: IndexArray) -> list[Split]:
    """Return the members that train, and those that are held out, of each fold."""
    every = range(int(fold.max()) + 1)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in every]


def has_methods(given: Any, *names: str) -> bool:
    """Whether this has some methods, and is no class."""
    return not isinstance(given, type) and all(hasattr(given, one) for one in names)


def with_parameters(pipeline: Any, **parameters: Any) -> Any:
    """Clone a pipeline, without callbacks, and set what its last estimator has."""
    copy = without_callbacks(clone(pipeline))
    prefix, last = final_estimator(copy)
    known = last.get_params(deep=False)
    copy.set_params(
        **{f"{prefix}{name}": v for name, v in parameters.items() if name in known}
    )
    return copy


def without_draws(pipeline: Any, outputs: Outputs, steps: Steps) -> Any:
    """Clone a pipeline with the steps and mask of all y.

    What has no ``random_state`` gets one, so that every fit is the same.
    """
    fixed: dict[str, Any] = {}
    if outputs.geometry is not None:
        fixed = {"steps": steps, "mask": outputs.geometry.mask}
    return seeded(with_parameters(pipeline, **fixed))


def seeded(estimator: Any) -> Any:
    """Clone an estimator with ints for open random states: all refits are alike."""
    if isinstance(estimator, str):  # "passthrough"
        return estimator
    copy = clone(estimator)
    seeds = {
        name: place
        for place, (name, value) in enumerate(sorted(copy.get_params().items()))
        if value is None and name.split("__")[-1] == "random_state"
    }
    return copy.set_params(**seeds)


@dataclass(frozen=True)
class CrossFit:
    """A pipeline, cloned and fitted in every fold, and its data."""

    pipeline: Any
    X: Any  # array or data frame: inputs of all members
    y: Any  # array or data frame
    outputs: Outputs  # what the columns of y are, read from all of y

    def of_block(self, rows: IndexArray, groups: IndexArray) -> CrossFit:
        """Take the members and columns of some groups."""
        if len(rows) == len(self.X) and len(groups) == self.outputs.n_groups:
            return self
        names = ", ".join(self.outputs.names[group] for group in groups)
        if len(rows) < FEWEST_MEMBERS:
            raise ValueError(
                f"{len(rows)} of {len(self.X)} members have {names} (no NaN in y); a "
                f"verdict needs at least {FEWEST_MEMBERS}. Leave the output out."
            )
        outputs, y, pipeline = self.outputs, take(self.y, rows), self.pipeline
        if len(groups) < outputs.n_groups:
            outputs, columns = outputs.of_groups(groups)
            y = take_columns(y, columns)
            if outputs.geometry is not None:
                layout = outputs.geometry.layout
                steps = dict(zip(layout.step_names, layout.widths, strict=True))
                pipeline = without_draws(pipeline, outputs, steps)
        return replace(
            self, pipeline=pipeline, X=take(self.X, rows), y=y, outputs=outputs
        )

    def squared_errors(
        self, splits: Sequence[Split]
    ) -> FloatArray:  # shape: (n_members, n_coordinates)
        """Return squared errors of held-out members; NaN where never held out."""
        errors = np.full_like(self.observed, np.nan)
        for train, test in splits:
            with quiet():
                model = clone(self.pipeline)
                model.fit(take(self.X, train), take(self.y, train))
                found = model.predict(take(self.X, test))
            values = np.asarray(found, dtype=np.float64)
            parts = values.reshape(len(values), -1)[:, : self.outputs.n_parts]
            if parts.size and parts.min() < 0:
                _, last = final_estimator(model)
                raise ValueError(
                    f"{type(last).__name__} predicts the negative probability "
                    f"{parts.min():.3g} of a member that is held out; expected one "
                    "that predicts probabilities, such as "
                    "skpce.CompositionalPCESurrogate. To judge the columns of y as "
                    "real numbers, group them by outputs=."
                )
            expected = self.outputs.coordinates(values, "prediction")
            errors[test] = np.square(self.observed[test] - expected)
        return errors

    @cached_property
    def observed(self) -> FloatArray:  # shape: (n_members, n_coordinates)
        """Return the coordinates of y."""
        return self.outputs.coordinates(self.y)


_CAUTIONED = (
    *(InputOutsideSupportWarning, MoreTermsThanRowsWarning),
    *(ZeroReplacedWarning, ConstantTargetWarning),
)


@contextmanager
def quiet() -> Iterator[None]:
    """Let refits not repeat what the inspection itself cautions of."""
    with warnings.catch_warnings():
        for kind in _CAUTIONED:
            warnings.simplefilter("ignore", kind)
        yield


def quiet_fit(pipeline: Any, X: Any, y: Any) -> Any:
    """Fit a copy, quietly."""
    with quiet():
        return clone(pipeline).fit(X, y)
