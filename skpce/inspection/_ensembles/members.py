"""Members as they are given: checked, read, put into folds, and fitted in them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from ..._basis.basis import MoreTermsThanRowsWarning
from ..._checks import (
    FEWEST_MEMBERS,
    FloatArray,
    IndexArray,
    ItemTable,
    Mask,
    OutputGroups,
    Steps,
    as_floats,
    as_table,
    fail,
    floats_with_nan,
    is_table,
    make_frame,
    one_table,
    refuse_extremes,
    refuse_no_inputs,
    refuse_no_numbers,
    refuse_other_rows,
    refuse_swapped,
    take,
    take_columns,
    without_callbacks,
)
from ..._compositions.amalgamation import learn_amalgamation
from ..._compositions.log_ratio import close_compositions, transformer_of
from ..._compositions.outputs import (
    Outputs,
    ZeroReplacedWarning,
    read_outputs,
    warn_of_zeros,
)
from ..._expansion.expansion import ConstantTargetWarning
from ..._input_laws.families import InputOutsideSupportWarning
from ..._result import Result
from ...drivers._roles import numbered
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

    def squared_deviations(self) -> FloatArray:
        """Return squared deviations from the mean of all members; 0 where rounding."""
        spread = self.outputs.spread(self.observed)
        squares = np.square(self.observed - self.observed.mean(axis=0))
        return np.where(spread > 0, squares, 0.0)


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


def read_members(
    pipeline: Any,
    X: Any,
    y: Any,
    *,
    steps: Steps = None,
    outputs: OutputGroups = None,
    mask: Mask = "infer",
    standardize: bool = False,
    owner: str = "verdict",
) -> tuple[Any, Any, Outputs, Any]:
    """Check the data, and read what the columns of y are; also return the steps."""
    if not has_methods(pipeline, "get_params", "predict"):
        expected = "an estimator or a Pipeline that predicts"
        raise fail(owner, "pipeline", expected, pipeline)
    for table, name in ((X, "X"), (y, "y")):
        if not hasattr(table, "__len__"):
            raise ValueError(
                f"{name} of {owner} is {table!r}; expected a table of members."
            )
    refuse_swapped(X, y)
    refuse_other_rows(X=X, y=y)
    y = one_table(y)
    refuse_no_inputs(X)
    refuse_no_numbers(y, "y")
    X = as_table(X)
    if np.ndim(X) != 2:
        raise ValueError(f"X must be 2-D, got {np.ndim(X)} dimensions.")
    values = np.asarray(X)
    if values.dtype.kind in "fiu":
        refuse_extremes(values.astype(np.float64), "X", varying=True)
    if len(X) != len(y):
        raise ValueError(
            f"X has {len(X)} members and y has {len(y)}; expected as many."
        )
    if hasattr(y, "iloc") and np.asarray(y).dtype.kind == "O":  # NA of pandas is NaN
        values = floats_with_nan(np.asarray(y))
        names = {"name": y.name} if values.ndim == 1 else {"columns": y.columns}
        y = type(y)(values, index=y.index, **names)
    _, last = final_estimator(pipeline)
    known = last.get_params(deep=False) if hasattr(last, "get_params") else {}
    zero_replacement = 1e-12
    if "log_ratio" in known:
        zero_replacement = transformer_of(last).zero_replacement
    if outputs is not None and "steps" in known:
        raise ValueError(
            f"outputs= names columns of real numbers, but {type(last).__name__} "
            "predicts probabilities; its columns are grouped by steps=. Give a "
            "regressor such as skpce.PolynomialChaosRegressor. Got "
            f"outputs={outputs!r}."
        )
    if steps is None:
        steps = getattr(last, "steps", None)
    if steps is None and outputs is None and isinstance(y, ItemTable):
        steps = y.steps if "steps" in known else None
    if isinstance(mask, str):
        given = getattr(last, "mask", mask)
        mask = mask if given is None else given
    read = read_outputs(
        y,
        owner,
        steps=steps,
        outputs=outputs,
        mask=mask,
        zero_replacement=zero_replacement,
        standardize=standardize,
        of_compositions="steps" in known,
        may_fail=True,
    )
    if read.are_compositions:
        y = _closed(y, read, zero_replacement)
    if not is_table(y):
        y = np.asarray(y, dtype=np.float64)
    if len(X) < FEWEST_MEMBERS:
        raise ValueError(
            f"X has {len(X)} members, too few to tell anything by; a verdict needs at "
            f"least {FEWEST_MEMBERS}. Make more runs."
        )
    return X, y, read, steps


def with_amalgamated(
    pipeline: Any, y: Any, steps: Steps = None
) -> tuple[Any, Any, Any, Any]:
    """Add up rare parts once, as all members give them, and fix steps and mask by it.

    Without amalgamation everything is returned as it is.
    """
    _, last = final_estimator(pipeline)
    if getattr(last, "amalgamate", None) is None or y is None:
        return pipeline, y, steps, "infer"
    y = one_table(y)
    values = as_floats(y, "y")
    if values.ndim != 2:
        raise ValueError(f"y must be 2-D, got shape {values.shape}.")
    found, values, geometry = learn_amalgamation(last, y, values, steps)
    widths = dict(zip(found.layout.step_names, found.layout.widths, strict=True))
    fixed: Any = {"steps": widths, "mask": geometry.mask, "amalgamate": None}
    return with_parameters(pipeline, **fixed), values, widths, geometry.mask


# Rows further than this from one are closed before any fold, with one warning.
_CLOSED = 1e-3


def _closed(y: Any, read: Outputs, zero_replacement: float) -> Any:
    """Return compositions that add up to one; warn once of zeros of some members."""
    assert read.geometry is not None
    layout = read.geometry.layout
    values = np.asarray(y, dtype=np.float64)
    closed = close_compositions(values, layout)
    warn_of_zeros(closed, read.geometry, zero_replacement)
    sums = np.stack([values[:, columns].sum(axis=1) for columns in layout.slices])
    if np.fmax.reduce(np.abs(sums - 1.0), axis=None, initial=0.0) <= _CLOSED:
        return y
    if hasattr(y, "iloc"):
        return type(y)(closed, index=y.index, columns=y.columns)
    return make_frame(list(y.columns), closed.T, like=y) if is_table(y) else closed


def given_shares(noise_share: Any, outputs: Outputs) -> FloatArray:
    """Return given shares of training noise, NaN where not known; (n_groups,)."""
    if noise_share is None:
        return np.full(outputs.n_groups, np.nan)
    if isinstance(noise_share, Result) and "measure" in noise_share.keys:
        names, expected = list(noise_share.step_names), list(outputs.names)
        positions = [f"step{i}" for i in range(len(names))]  # without names
        has_others = names != expected and positions not in (names, expected)
        if has_others and len(names) == len(expected):  # else refused for its length
            raise ValueError(
                f"noise_share is of the steps {names}; expected {expected}, in this "
                "order."
            )
        noise_share = noise_share.rows[0].noise_share
    try:
        share = as_floats(noise_share, "noise_share")
    except (TypeError, ValueError):
        raise ValueError(
            f"noise_share must be {outputs.n_groups} numbers, got {noise_share!r}."
        ) from None
    if share.shape != (outputs.n_groups,):
        raise ValueError(
            f"noise_share has shape {share.shape}; expected ({outputs.n_groups},), one "
            "value per step (NaN where not known)."
        )
    if np.any(share < 0) or np.any(np.isinf(share)):
        raise ValueError(
            f"noise_share must be finite and not negative (NaN where not known), "
            f"got {share.tolist()}."
        )
    return share


def labels_of(name: str, labels: Any, y: Any) -> IndexArray | None:
    """Return labels of members as numbers; None stays None."""
    refuse_other_rows(y=y, **{name: labels})
    return None if labels is None else numbered(name, labels, np.ones(len(y), bool))


def make_splits(cv: Any, X: Any, unit: IndexArray) -> list[Split]:
    """Return the folds of a splitter, or as they are given.

    Those that divide members of one setting, or group, are refused.
    """
    expected = (
        "cv must be an int, a splitter that needs no labels, or pairs of the members "
        f"for training and for testing. Got {cv!r} instead."
    )
    if isinstance(cv, (bool, np.bool_)):
        raise ValueError(expected)
    try:
        labels = unit if len(np.unique(unit)) < len(unit) else None
        with warnings.catch_warnings():  # what the folds share is looked at below
            warnings.filterwarnings("ignore", "The groups parameter is ignored")
            splits = list(check_cv(cv).split(X, groups=labels))
        every = np.arange(len(X))  # negative positions and masks become members
        splits = [(every[train], every[test]) for train, test in splits]
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(f"{expected} It says: {error}") from error
    if not splits:
        raise ValueError(f"cv must give at least one split. Got {cv!r} instead.")
    for train, test in splits:
        shared = np.intersect1d(unit[train], unit[test])
        if shared.size:
            raise ValueError(
                f"cv puts the members {np.flatnonzero(unit == shared[0])[:2].tolist()} "
                "of one setting, or group, into training and into test; use a splitter "
                "that respects groups, such as sklearn.model_selection.GroupKFold, or "
                "an int."
            )
    return splits
