r"""Do the utilities of actions differ by what is known?

Knowing :math:`x_S` is worth something only if the expected difference of two actions
depends on :math:`x_S`. The test is that of :func:`skpce.explain`, of the contrasts of
the utilities as one output and of the inputs :math:`x_S` alone: what other inputs add
is noise to whoever does not know them. All of :math:`x_S` at once is one hypothesis;
each of its inputs given the others, which sees products, is one more. Their p-values
are adjusted by Holm's method within the row, then over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._basis.basis import categorical_inputs
from ..._checks import FEWEST_MEMBERS, FloatArray, IndexArray
from ...drivers import Design
from ...drivers._design import find_constraint, first_of, mean_of
from ...drivers._exchange import Inputs, Problem, holm
from ...drivers._findings import canonical_order
from .decision_problem import Members


def p_values_of_rows(
    members: Members,
    setting: IndexArray,  # shape: (n_members,)
    rows: Sequence[list[int]],
) -> FloatArray:  # shape: (n_rows,), NaN where members are too few
    """Return a p-value of each set of inputs, adjusted over all of them.

    Members of equal inputs count once, by the mean of their utilities.
    """
    X = members.inputs[first_of(setting)]
    if len(X) < FEWEST_MEMBERS:
        return np.full(len(rows), np.nan)
    values = mean_of(members.contrasts, setting)
    values = values[:, np.ptp(values, axis=0) > 0]
    order = canonical_order(X, values)
    X, values = X[order], values[order]
    n_tests = sum(len(_sets_of(row)) for row in rows)
    found = [_p_value(members, X[:, row], values, row, n_tests) for row in rows]
    return holm(np.array(found))


def _sets_of(row: Sequence[int]) -> list[tuple[int, ...]]:
    """Return positions within a row that are tested: all at once, and each."""
    every = tuple(range(len(row)))
    return [every] if len(row) == 1 else [every, *((place,) for place in every)]


def _p_value(
    members: Members,
    X: FloatArray,  # shape: (n_settings, n_known)
    values: FloatArray,  # shape: (n_settings, n_contrasts)
    row: Sequence[int],
    n_tests: int,
) -> float:
    """Test whether the contrasts depend on some of the inputs of a row."""
    if not values.shape[1]:
        return 1.0
    laws = [members.problem.basis.laws[i] for i in row]
    inputs = Inputs.of(X, categorical_inputs(laws), laws)
    sets, one = _sets_of(row), np.zeros(values.shape[1], dtype=np.int64)
    problem = Problem(inputs, values, one, Design.of(X), tuple(sets), 2 * n_tests)
    tied = find_constraint(X)
    p_values = []
    for place, own in enumerate(sets):
        (found,) = problem.test(place)
        told_apart = len(own) == X.shape[1] or not (
            found.tied_to or np.isin(own, tied).any()
        )
        p_values.append(found.location if told_apart else 1.0)
    return float(holm(np.array(p_values)).min())
