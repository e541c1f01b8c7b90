"""What explain has read: inputs and outputs as numbers, and the roles of the runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from .._checks import BoolArray, FloatArray, IndexArray
from .._checks.frames import make_frame
from .._compositions.outputs import Outputs
from .._expansion.targets import ConstantTargetWarning
from .._input_laws import check_distribution, learn_input_laws
from .._regressor import PolynomialChaosRegressor
from .._surrogate import CompositionalPCESurrogate
from ._answer import Caution
from ._design import COUNTERS, Design, find_counter


@dataclass(frozen=True, eq=False)
class Data:
    """Inputs as numbers, outputs, and what is known of them.

    Parameters
    ----------
    X : ndarray of shape (n_runs, n_inputs)
        Inputs: categories as numbers of their levels, ``logarithms`` to base 10.
    names : tuple of str
        Names of the inputs.
    is_category : ndarray of bool of shape (n_inputs,)
        Which inputs are labels.
    levels : dict of str to tuple
        Labels of each category, in the order of their numbers.
    logarithms : tuple of str
        Inputs of which the logarithm is taken.
    distribution : tuple or None
        Distribution of each input; None where none was stated.
    y : ndarray of shape (n_runs, n_columns)
        Outputs, NaN where a run failed.
    read : Outputs
        Which columns of ``y`` belong together, and how they are measured.
    like : data frame or None, default=None
        The table that the inputs came from, if they did.
    """

    X: FloatArray
    names: tuple[str, ...]
    is_category: BoolArray
    levels: Mapping[str, tuple[Any, ...]]
    logarithms: tuple[str, ...]
    distribution: tuple[Any, ...] | None
    y: FloatArray
    read: Outputs
    like: Any = None

    @property
    def laws(self) -> Any:
        """Distributions of the inputs; None where they are chosen."""
        if self.distribution is None:
            return None
        given = check_distribution("explain", self.distribution, list(self.names))
        return learn_input_laws(given, self.X, np.ones(len(self.X)))

    @property
    def coordinates(self) -> FloatArray:
        """Log-ratios and real columns, NaN where a run failed."""
        missing = np.isnan(self.y)
        if not missing.any():
            return self.read.coordinates(self.y)
        groups = self.read.group_of_coordinate
        found = np.full((len(self.y), len(groups)), np.nan)
        for rows, own in self.read.blocks(self.y):
            some, columns = self.read.of_groups(own)
            at = np.flatnonzero(np.isin(groups, own))
            values = some.coordinates(self.y[np.ix_(rows, columns)])
            found[np.ix_(rows, at)] = values
        return found

    def order_of_inputs(self) -> IndexArray:
        """Sort inputs by what no order of the columns, and no unit, changes."""
        X = _in_deviations(self.X)
        y = _in_deviations(np.nan_to_num(self.y))
        shape = [np.abs(np.mean(X**power, axis=0)).round(8) for power in (3, 4)]
        strength = np.abs(X.T @ y / len(X)).sum(axis=1).round(8)
        levels = np.array([len(np.unique(column)) for column in self.X.T])
        return np.lexsort((np.array(self.names), *shape, strength, levels))

    def of_inputs(self, places: Sequence[int] | IndexArray) -> Data:
        """Return some of the inputs, in this order."""
        keep = np.asarray(places, dtype=np.int64)
        distribution = self.distribution
        if distribution is not None:
            distribution = tuple(distribution[k] for k in keep)
        return replace(
            self,
            X=self.X[:, keep],
            names=tuple(self.names[k] for k in keep),
            is_category=self.is_category[keep],
            distribution=distribution,
        )

    def without(self, names: Iterable[str]) -> Data:
        """Leave inputs out."""
        left_out = set(names)
        return self.of_inputs(
            [k for k, n in enumerate(self.names) if n not in left_out]
        )

    def fit(self) -> Any:
        """Return the estimator, fitted: to a data frame where the runs were in one."""
        distribution = self.distribution
        if distribution is None and self.is_category.any():
            distribution = tuple(
                "categorical" if c else "auto" for c in self.is_category
            )
        given: dict[str, Any] = {}
        if distribution is not None:
            given["distribution"] = distribution
        if self.read.are_compositions:
            assert self.read.geometry is not None
            layout = self.read.geometry.layout
            steps = dict(zip(layout.step_names, layout.widths, strict=True))
            mask = self.read.geometry.mask
            model: Any = CompositionalPCESurrogate(steps=steps, mask=mask, **given)
        else:
            model = PolynomialChaosRegressor(**given)
        with warnings.catch_warnings():  # the answer says which outputs do not vary
            warnings.simplefilter("ignore", ConstantTargetWarning)
            return model.fit(self.table_of(self.X), self._targets())

    def _targets(self) -> Any:
        if self.read.are_compositions:
            return self.y
        if self.y.shape[1] == 1:
            return self.y[:, 0]
        if self.like is None or len(self.read.names) < self.y.shape[1]:
            return self.y
        return make_frame(self.read.names, self.y.T, like=self._kind)

    def table_of(self, X: FloatArray) -> Any:
        """Return inputs as what the estimator was fitted to."""
        if self.like is None:
            return X
        return make_frame(self.names, X.T, like=self._kind)

    @property
    def _kind(self) -> Any:
        """A frame of the library of the runs that has no labels of rows."""
        return None if hasattr(self.like, "iloc") else self.like


def _in_deviations(values: FloatArray) -> FloatArray:
    """Return columns about their means, in units of their deviations."""
    centred = values - values.mean(axis=0)
    scale = centred.std(axis=0)
    return np.asarray(centred / np.where(scale > 0, scale, 1.0))


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs that were read, with their roles."""

    data: Data
    setting: IndexArray | None = None  # of repeats that were declared
    blocks: IndexArray | None = None
    groups: IndexArray | None = None
    order: FloatArray | Literal[False] | None = None
    counter: str = ""  # an input that was found to count the repeats
    cautions: tuple[Caution, ...] = field(default=())

    @property
    def design(self) -> Design:
        """What may be exchanged with what."""
        return Design.of(
            self.data.X,
            replicate=self.setting,
            blocks=self.blocks,
            groups=self.groups,
            order=self.order,
            counter=self.counter,
        )

    def without_counter(self) -> Runs:
        """Leave out an input that only counts repeats, where nobody declared these."""
        if self.setting is not None or self.groups is not None:
            return self
        place = find_counter(self.data.X, self.data.names)
        if place is None:
            return self
        name = self.data.names[place]
        is_named = COUNTERS.search(name.lower()) is not None
        if not is_named and len(self.data.names) < 3:
            return self  # of two factors each counts the levels of the other
        return replace(self, data=self.data.without([name]), counter=name)
