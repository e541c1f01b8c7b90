r"""A lower bound of a value that holds whatever the fit.

The rule :math:`\delta(x_u)`, the action that is best by a fit to the other folds, is
valued by the utilities of the members that are held out. For every fixed action
:math:`k` and every rule

.. math:: E[u_{\delta(x_u)}] - \max_k E[u_k]
          \le E \max_k E[u_k \mid x_u] - \max_k E[u_k],

so that the smallest over :math:`k` of lower confidence limits of
:math:`E[u_\delta - u_k]` is one of the value: no correction is needed, since only the
limit of the best fixed action has to hold (an intersection-union test [1]_).

References
----------
.. [1] R. L. Berger, "Multiparameter hypothesis testing and acceptance sampling",
   Technometrics 24 (1982).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

from ..._basis.basis import categorical_inputs
from ..._checks import FEWEST_MEMBERS, FloatArray, IndexArray
from ...drivers import Design
from ...drivers._design import (
    deal_folds,
    find_constraint,
    first_of,
    mean_of,
    sorted_units,
    sum_of,
)
from ...drivers._exchange import Inputs, Problem, holm
from ...drivers._findings import canonical_order
from ...inspection._ensembles.members import quiet, splits_of_folds
from .decision_problem import DecisionProblem, quiet_fit

# Of the lower bound, one-sided.
_CONFIDENCE = 0.95


def bounds_of_rows(
    members: DecisionProblem,
    setting: IndexArray,  # shape: (n_members,); members of equal inputs stay together
    rows: Sequence[list[int]],
) -> FloatArray:  # shape: (3, n_rows)
    """Value the rules of inputs on held-out members, whatever the order of these.

    Of each row the gain of the rules over the best fixed action, its standard error,
    and the one-sided confidence limit of the value, not negative. A bound for a choice
    of actions if the limits are: ``held_out_bound``, checked in ``lean/Core``; each
    member counts once.
    """
    y, inputs = members.contrasts, members.inputs
    splits = splits_of_folds(deal_folds(sorted_units(y, setting), setting))
    n_settings = int(setting.max()) + 1
    quantile = student.ppf(_CONFIDENCE, max(n_settings - 1, 1))
    scale = n_settings / max(n_settings - 1, 1)
    found = []
    for row in rows:
        X, predicted = inputs[:, row], np.empty_like(y)
        for train, test in splits:
            with quiet():  # a learned distribution is that of a fold
                fitted = quiet_fit(members.regressor_of(row), X[train], y[train])
                predicted[test] = fitted.predict(X[test]).reshape(len(test), -1)
        best = predicted.argmax(axis=1)[:, np.newaxis]
        gained = np.take_along_axis(y, best, axis=1) - y
        means = gained.mean(axis=0)
        sums = sum_of(gained - means, setting)
        errors = np.sqrt(scale * np.square(sums).sum(axis=0)) / len(gained)
        worst, lower = int(np.argmin(means)), np.min(means - quantile * errors)
        found.append((means[worst], errors[worst], max(lower, 0.0)))
    return np.transpose(found)


# Whether the utilities differ by what is known


def p_values_of_rows(
    members: DecisionProblem,
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
    if not values.shape[1]:
        return np.ones(len(rows))
    # Of the inputs of a row all at once are tested, and each.
    sets = [
        [tuple(range(len(row))), *([(i,) for i in range(len(row))] if row[1:] else [])]
        for row in rows
    ]
    n_tests, one = sum(map(len, sets)), np.zeros(values.shape[1], dtype=np.int64)
    found = []
    for row, own_sets in zip(rows, sets, strict=True):
        laws, known = [members.problem.basis.laws[i] for i in row], X[:, row]
        inputs = Inputs.of(known, categorical_inputs(laws), laws)
        design = Design.of(known)
        problem = Problem(inputs, values, one, design, tuple(own_sets), 2 * n_tests)
        tied = find_constraint(known)
        p_values = []
        for place, own in enumerate(own_sets):
            test = problem.test(place)
            told_apart = len(own) == len(row) or not (
                test.tied_to.item() or np.isin(own, tied).any()
            )
            p_values.append(test.location.item() if told_apart else 1.0)
        found.append(float(holm(np.array(p_values)).min()))
    return holm(np.array(found))
