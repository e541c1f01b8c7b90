"""Amalgamation: rare parts of each step added up to one, the rest.

References
----------
J. Aitchison, "The Statistical Analysis of Compositional Data", Chapman and Hall, 1986,
section 2.6: sums of parts are compositions, but no linear functions of log-ratios.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    Steps,
    check_real,
)
from .._solvers.problem import sum_rows
from .log_ratio import (
    LogRatioGeometry,
    StepLayout,
    close_compositions,
    read_geometry,
    refuse_masked,
    transformer_of,
)
from .scoring import checked_policies

#: Name of the part that holds the others.
REST = "rest"


@dataclass(frozen=True, eq=False)
class Amalgamation:
    """Which columns of y are added up."""

    given: StepLayout  # of the columns as they are given
    possible: BoolArray  # shape: (n_given,), False for a part that must be zero
    place: IndexArray  # shape: (n_given,), the part to which a column belongs

    @cached_property
    def layout(self) -> StepLayout:
        """The columns once the rest is added up."""
        sizes = np.bincount(self.place)
        first = np.unique(self.place, return_index=True)[1]
        given = self.given
        step = given.step_of_part[first]
        widths = tuple(np.bincount(step, minlength=given.n_steps).tolist())
        names = [given.part_names[column] for column in first]
        for part in np.flatnonzero(sizes > 1):
            taken = {names[other] for other in np.flatnonzero(step == step[part])}
            own = f"{REST} of {given.step_names[step[part]]}"
            names[part] = own if REST in taken else REST
        return StepLayout(widths, given.step_names, tuple(names))

    def of(
        self,
        values: FloatArray,  # shape: (n_members, n_given)
    ) -> FloatArray:  # shape: (n_members, n_parts)
        """Add up the parts of the rest."""
        sums = sum_rows(values.T, self.place, self.layout.n_parts)
        return np.ascontiguousarray(sums.T)


def learn_amalgamation(
    estimator: Any,
    y: Any,  # may have names of columns
    values: FloatArray,  # shape: (n_members, n_given)
    steps: Steps = None,
) -> tuple[Amalgamation, FloatArray, LogRatioGeometry]:
    """Add up what no member uses above the threshold; also return coordinates."""
    owner = type(estimator).__name__
    check_real(owner, "amalgamate", estimator.amalgamate, low=0, high=1)
    steps = estimator.steps if steps is None else steps
    read = read_geometry(y, values, steps, estimator.mask, owner, "y")
    given, flags = read.layout, read.mask
    is_inferred = isinstance(estimator.mask, str)
    possible = np.ones_like(flags) if is_inferred else flags
    refuse_masked(values, possible, given)
    how = transformer_of(estimator)
    closed = close_compositions(values, given)
    # Parts that stay are numbered, and the rest of a step after them.
    largest, threshold = np.fmax.reduce(closed, axis=0), float(estimator.amalgamate)
    place, n_parts = np.empty(given.n_parts, dtype=np.int64), 0
    for step, columns in enumerate(given.slices):
        rare = largest[columns] < threshold
        if rare.all():
            raise ValueError(
                f"The 'amalgamate' parameter of {owner} is {threshold!r}, and no part "
                f"of step {given.step_names[step]!r} has a larger probability; "
                f"expected at most {largest[columns].max():.3g}, the largest one."
            )
        rare &= rare.sum() > 1  # a single one stays what it is
        n_kept = int((~rare).sum())
        place[columns] = n_parts + np.where(rare, n_kept, np.cumsum(~rare) - 1)
        n_parts += n_kept + int(rare.any())
    found = Amalgamation(given, possible, place)
    how._check_parameters(owner, found.layout)
    mask = np.bincount(place, flags) > 0
    geometry = LogRatioGeometry(found.layout, mask, how.log_ratio, int(how.reference))
    return found, found.of(closed), geometry


def members_of_rest(surrogate: Any) -> dict[str, tuple[str, ...]]:
    """Return the names of the parts in the rest of each step that has one."""
    found: dict[str, tuple[str, ...]] = {}
    made, _ = surrogate._amalgamation, surrogate.geometry_  # refuses without a fit
    if made is None:
        return found
    in_rest = np.bincount(made.place)[made.place] > 1
    given = made.given
    for name, columns in zip(given.step_names, given.slices, strict=True):
        parts = columns.start + np.flatnonzero(in_rest[columns])
        if parts.size:
            found[name] = tuple(given.part_names[part] for part in parts)
    return found


def amalgamate_parts(surrogate: Any, y: ArrayLike) -> FloatArray:
    """Return probabilities in the parts of ``predict``, the rest added up.

    Parameters
    ----------
    y : array-like of shape (n_members, n_columns) or data frame
        Probabilities in the columns that ``fit`` got.

    Returns
    -------
    y : ndarray of shape (n_members, n_parts)
        In the columns of ``predict``. Closed to one; unchanged otherwise where
        nothing is amalgamated.

    Raises
    ------
    ValueError
        If y has another shape or other columns than in ``fit``, or is no composition.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce import CompositionalPCESurrogate
    >>> X = np.arange(4.0)[:, np.newaxis]
    >>> y = np.array([[0.5, 0.48, 0.01, 0.01]] * 4)
    >>> surrogate = CompositionalPCESurrogate(1, amalgamate=0.1).fit(X, y)
    >>> surrogate.part_names_
    ('0', '1', 'rest')
    >>> surrogate.amalgamate_parts(y[:1])
    array([[0.5 , 0.48, 0.02]])
    """
    check_is_fitted(surrogate)
    return checked_policies(y, surrogate)
