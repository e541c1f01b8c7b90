"""Has a probability two modes over the members, and which inputs separate them?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.isotonic import isotonic_regression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    binary_scales,
    check_real,
    fail,
    is_position,
)
from .._compositions.fitted import FittedCompositions
from .._compositions.log_ratio import LogRatioGeometry
from .._result import Result
from ..drivers._exchange import holm
from ._reading import compositions_of

# A deeper tree is preferred when it is right this much more often.
_WORTH_A_LEVEL = 0.03
_DEEPEST = 2

# Draws of the inputs at which the expansion is evaluated.
_N_DRAWS = 2000
_LEVEL_OF_DRAWS = 0.001  # of the test whether it has two modes there

# Log-odds that differ by less do not vary.
_ROUNDING = 1e-9

_N_FOLDS = 5  # of the accuracy of a rule

# Digits by which log-odds are equal; levels from which on equal ones are spread, up to
# which share of the members, and from which share of them at an end.
_DECIMALS, _FEWEST_LEVELS, _MOST_LEVELS, _LARGE_END = 9, 3, 0.6, 0.05


def modes_test(
    pipeline: Any, *, action: str | int | None = None, significance_level: float = 0.05
) -> Result:
    r"""Test whether probabilities have two modes over the members.

    Hartigan's dip test [1]_ of the log-odds of the members themselves, whatever the
    expansion predicts. Where they have two modes, the result says which inputs separate
    them and whether the expansion has two modes, too.

    Parameters
    ----------
    pipeline : estimator
        A fitted ``CompositionalPCESurrogate``, alone or at the end of a fitted pipeline
        or search.
    action : str, int or None, default=None
        Test the part of this name, or at this position, in every step and no other:
        with fewer tests, each has more power. None tests all parts.
    significance_level : float, default=0.05
        Largest probability with which any part is called bimodal where all have one
        mode: p-values are adjusted over all tests by Holm's method.

    Returns
    -------
    test : Result
        One row per part that has a choice, named as in ``"step0:EOS"``; ``print`` gives
        it in words. Of a row:

        bimodal : bool
            Whether the p-value is at most ``significance_level``.
        step, action : str
            Names of the step and of the part.
        dip, p_value : float
            Dip of the log-odds and its p-value, at least 1e-5 before it is adjusted;
            NaN for what does not vary.
        lower, upper : float
            Probability at the centre of each mode; this and what follows is NaN or
            empty where ``bimodal`` is False.
        upper_share : float
            Share of the members in the upper mode.
        rule : str
            Where the upper mode is, such as ``"x0 > 0.31"``.
        rule_accuracy : float
            Mean of the shares of both modes that the rule classifies correctly, in
            cross-validation; 0.5 is chance.
        expansion_dip : float
            Dip of the log-odds that the expansion predicts, without residuals.
        shown : bool
            Whether that dip shows two modes, however faint. False means that the
            expansion has one mode where the members have two: its draws, intervals and
            indices do not describe them.

    Raises
    ------
    ValueError
        For an estimator without compositions, a fit from sums over the members, an
        action that no step has or that has no choice, or another bad argument.

    Notes
    -----
    The dip is the largest difference between the distribution function of the members
    and that of the closest distribution with one mode. P-values refer to the uniform
    distribution, the hardest with one mode in the limit: the test is conservative for
    others. Members of different inputs count as independent, those of equal ones, such
    as seeds, as one together. A design with two levels has two modes. Equal log-odds of
    three values or more, as of frequencies of ten trials, are spread half way to the
    next ones.
    Log-odds are tested because normal log-odds of a large variance have two modes as
    probabilities, near 0 and 1, without two kinds of members.

    The modes are separated where the variance within them is smallest. The rule is a
    tree on the inputs of depth 1, or of depth 2 where that is right more often by 0.03.

    A linear expansion in normal inputs is normal, so that it never shows two modes.

    References
    ----------
    .. [1] J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality",
       Annals of Statistics 13 (1985).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> from skpce.inspection import modes_test
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> logit = 4 * np.tanh(3 * X[:, 0])
    >>> y = softmax(np.c_[logit, 0 * logit], axis=1)
    >>> found = modes_test(CompositionalPCESurrogate(1).fit(X, y))
    >>> found["step0:0"].rule, found.upper.round(2)
    ('x0 > -0.0401', array([0.96, 0.97]))
    >>> found.bimodal, found.shown.tolist()  # x0 is normal: a line of it is, too
    ((True, True), [False, False])
    """
    check_real("modes_test", "significance_level", significance_level, low=0, high=1)
    reading, fitted = compositions_of(pipeline)
    geometry, members = fitted.geometry, fitted.members.weights > 0
    steps = np.array(geometry.layout.step_names, dtype=object)
    parts = np.array(geometry.layout.part_names, dtype=object)
    rows = _tested(geometry, action)
    log_odds = _log_odds(fitted.clr[members], geometry)[:, rows]
    inputs = fitted.members.inputs[members]
    dips, p_values = np.full((2, len(rows)), np.nan)
    for k, values in enumerate(log_odds.T):
        has = ~np.isnan(values)  # members that did not fail in the step
        weights = fitted.members.weights[members][has]
        if np.ptp(values[has]) > _ROUNDING:
            n_members = weights.sum() ** 2 / np.square(weights).sum()
            # Members of equal inputs, such as seeds, are no more than one.
            n_settings = len(np.unique(inputs[has], axis=0))
            n_members = min(n_members, n_settings)
            dips[k] = dip_statistic(without_ties(values[has]), weights)
            p_values[k] = dip_p_values(dips[[k]], n_members)[0]
    # By Holm's method; both probabilities of a step of two are one test.
    of_active, n_parts = geometry.step_of_active, np.bincount(geometry.step_of_active)
    first, every = np.searchsorted(of_active, of_active), np.arange(len(of_active))
    test = np.where(n_parts[of_active] == 2, first, every)[rows]
    _, one, test = np.unique(test, return_index=True, return_inverse=True)
    n_tests = int(np.count_nonzero(~np.isnan(p_values[one])))
    p_values = holm(p_values[one])[test]
    bimodal = p_values <= significance_level
    columns = {
        "step": steps[geometry.step_of_active[rows]],
        "action": parts[geometry.active_parts[rows]],
        "dip": dips,
        "p_value": p_values,
        **_described(fitted, rows, bimodal, log_odds, reading.expansion.input_names),
    }
    names = [geometry.active_names[k] for k in rows]
    return _in_words(names, columns, bimodal, n_tests, significance_level)


def _described(
    fitted: FittedCompositions,
    rows: IndexArray,
    bimodal: BoolArray,
    log_odds: FloatArray,  # shape: (n_members, n_rows), NaN for a member that failed
    input_names: Sequence[str],
) -> dict[str, Any]:
    """Return the columns that describe the modes; NaN or empty for other rows."""
    names = ("lower", "upper", "upper_share", "rule", "rule_accuracy", "expansion_dip")
    columns: dict[str, Any] = {name: np.full(len(rows), np.nan) for name in names}
    columns["rule"] = np.full(len(rows), "", dtype=object)
    for k in np.flatnonzero(bimodal):
        has = ~np.isnan(log_odds[:, k])
        members = np.flatnonzero(fitted.members.weights > 0)[has]
        weights = fitted.members.weights[members]
        lower, upper, above = two_groups(log_odds[has, k], weights)
        columns["lower"][k], columns["upper"][k] = expit([lower, upper])
        columns["upper_share"][k] = weights @ above / weights.sum()
        columns["rule"][k], columns["rule_accuracy"][k] = separating_rule(
            fitted.members.inputs[members], above, input_names
        )
    if bimodal.any():
        X = fitted.basis.sample(_N_DRAWS, np.random.default_rng(0))
        predicted = _log_odds(fitted.predicted(X), fitted.geometry)[:, rows[bimodal]]
        columns["expansion_dip"][bimodal] = list(map(dip_statistic, predicted.T))
    p_values = dip_p_values(columns["expansion_dip"], _N_DRAWS)
    return columns | {"shown": p_values <= _LEVEL_OF_DRAWS}


def _in_words(
    names: list[str],
    columns: dict[str, Any],
    bimodal: BoolArray,
    n_tests: int,
    level: float,
) -> Result:
    """Say of each row what was found, and below all what it means."""
    facts: list[str] = []
    reasons: list[tuple[str, ...]] = []
    for k, is_bimodal in enumerate(bimodal):
        row = {name: values[k] for name, values in columns.items()}
        fact = f"dip {row['dip']:.3f}, p = {row['p_value']:.2g}"
        reason: tuple[str, ...] = ()
        if is_bimodal:
            share, low, high = (row[n] for n in ("upper_share", "lower", "upper"))
            fact += f"; {1 - share:.0%} near {low:.2g}, {share:.0%} near {high:.2g}"
            if row["rule"]:
                fact += f", where {row['rule']} (accuracy {row['rule_accuracy']:.2f})"
            modes = "two modes" if row["shown"] else "one mode"
            fact += f"; the expansion has {modes}, dip {row['expansion_dip']:.3f}"
        elif np.isnan(row["p_value"]):
            fact, reason = "", ("the probability does not vary",)
        else:
            reason = (f"the p-value is above {level:g}",)
        facts.append(fact)
        reasons.append(reason)
    tests = f"{n_tests} tests" if n_tests > 1 else "one test"
    notes = [
        "Where every probability has one mode, the probability of calling any of them "
        f"bimodal is at most {level:g} (Holm's method, {tests})."
    ]
    if n_tests * _SMALLEST_P_VALUE > level:
        notes.append(
            f"With so many tests no p-value can reach {level:g}; name an action."
        )
    hidden = [names[k] for k in np.flatnonzero(bimodal & ~columns["shown"])]
    if hidden:
        notes.append(
            f"The members have two modes of {', '.join(hidden)}, and the expansion "
            "does not show them: neither do its draws, intervals and indices."
        )
    return Result(
        {"part": tuple(names)},
        columns,
        supported=tuple(bimodal.tolist()),
        reasons=tuple(reasons),
        facts=tuple(facts),
        title=f"{bimodal.sum()} of {len(names)} probabilities have two modes over the "
        "members.",
        notes=tuple(notes),
        figures={"n_tests": n_tests},
        answer="bimodal",
    )


def _tested(geometry: LogRatioGeometry, action: str | int | None) -> IndexArray:
    """Return the positions, among the active parts, of those that are tested."""
    layout, parts = geometry.layout, geometry.active_parts
    names = np.array(layout.part_names)[parts]
    starts = np.array([columns.start for columns in layout.slices])
    places = parts - starts[geometry.step_of_active]
    if action is None:
        return np.arange(len(parts))
    rows = np.empty(0, dtype=np.int64)
    if isinstance(action, str) or is_position(action, len(parts)):
        rows = np.flatnonzero((names if isinstance(action, str) else places) == action)
    if not rows.size:
        known = list(dict.fromkeys(names.tolist()))
        raise fail(
            "modes_test", "action", f"None, one of {known} or its position", action
        )
    return rows


def _log_odds(
    clr: FloatArray,  # shape: (n_members, n_active)
    geometry: LogRatioGeometry,
) -> FloatArray:  # of the same shape
    """Return ``log p / (1 - p)`` of all active parts, exact near 0 and 1 too."""
    found = np.empty_like(clr)
    for columns in geometry.active_slices:
        for place in range(columns.start, columns.stop):
            others = np.delete(clr[:, columns], place - columns.start, axis=1)
            found[:, place] = clr[:, place] - logsumexp(others, axis=1)
    return found


def without_ties(
    values: FloatArray,  # shape: (n_values,)
) -> FloatArray:  # shape: (n_values,)
    """Spread equal values, as of frequencies of few trials, half way to the next ones.

    Those at an end stand for what lies beyond, and are never denser than those beside.
    Two values are those of a design, and stay.
    """
    rounded = values.round(_DECIMALS)
    levels, level, counts = np.unique(rounded, return_inverse=True, return_counts=True)
    ends = max(counts[0], counts[-1]) > max(_LARGE_END * len(values), 3)
    are_few = len(levels) <= _MOST_LEVELS * len(values)
    if len(levels) < _FEWEST_LEVELS or not (are_few or ends):
        return values
    edges = levels[:-1] + np.diff(levels) / 2
    width = np.diff(edges)  # of all but the ends
    first = max(2 * (edges[0] - levels[0]), width[0] * counts[0] / counts[1])
    last = max(2 * (levels[-1] - edges[-1]), width[-1] * counts[-1] / counts[-2])
    low = np.concatenate([[edges[0] - first], edges])
    width = np.concatenate([[first], width, [last]])
    order = np.argsort(level, kind="stable")
    place = np.empty(len(values))
    place[order] = np.arange(len(values)) - (np.cumsum(counts) - counts)[level[order]]
    found = low[level] + width[level] * (place + 0.5) / counts[level]
    return np.where(counts[level] > 1, found, values)


def two_groups(
    values: FloatArray,  # shape: (n_values,)
    weights: FloatArray,  # shape: (n_values,)
) -> tuple[float, float, BoolArray]:
    """Return two centres, and which values are above, of the smallest variance."""
    order = np.argsort(values, kind="stable")
    ordered, sizes = values[order], weights[order]
    below, sums = np.cumsum(sizes)[:-1], np.cumsum(sizes * ordered)
    lower, upper = sums[:-1] / below, (sums[-1] - sums[:-1]) / (sizes.sum() - below)
    between = below * (sizes.sum() - below) * np.square(upper - lower)
    best = np.argmax(np.where(np.diff(ordered) > 0, between, -1.0))
    return float(lower[best]), float(upper[best]), values > ordered[best]


def separating_rule(
    X: FloatArray,  # shape: (n_members, n_features)
    upper: BoolArray,  # shape: (n_members,)
    names: Sequence[str],
) -> tuple[str, float]:
    """Describe where the upper group is, and how often that is right."""
    smallest = int(min(upper.sum(), (~upper).sum()))
    if smallest < 2:
        return "", float("nan")
    best: Any = None
    best_accuracy = -np.inf
    # Trees read their inputs in single precision; powers of two change no digit.
    scales = binary_scales(X)
    X = X / scales
    folds = StratifiedKFold(min(_N_FOLDS, smallest), shuffle=True, random_state=0)
    for depth in range(1, _DEEPEST + 1):
        tree = DecisionTreeClassifier(
            max_depth=depth,
            min_samples_leaf=0.05,
            class_weight="balanced",
            random_state=0,
        )
        predicted = cross_val_predict(tree, X, upper, cv=folds)
        accuracy = balanced_accuracy_score(upper, predicted)
        if best is None or accuracy > best_accuracy + _WORTH_A_LEVEL:
            best, best_accuracy = tree.fit(X, upper), float(accuracy)
    rule, clauses = best.tree_, []  # of the leaves where the upper group prevails

    def descend(node: int, conditions: list[str]) -> None:
        if rule.children_left[node] < 0:
            if np.argmax(rule.value[node, 0]) == 1:
                clauses.append(" and ".join(conditions))
            return
        feature = rule.feature[node]
        name = names[feature]
        threshold = f"{rule.threshold[node] * scales[feature]:.3g}"
        threshold = "0" if float(threshold) == 0.0 else threshold
        descend(rule.children_left[node], [*conditions, f"{name} <= {threshold}"])
        descend(rule.children_right[node], [*conditions, f"{name} > {threshold}"])

    descend(0, [])
    return " or ".join(clauses), best_accuracy


# Quantiles of sqrt(n) times the dip of n uniform numbers are A - B / sqrt(n) to
# two digits: p-values are right to one part in ten, below 0.001 to one in five, for n
# from 10 to 5000; for less they are too large. Made by
# ``python -m benchmarks.verdict.two_modes --null``.
_NULL_P_VALUES = (1.0, 0.95, 0.75, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002,
                  0.001, 1e-4, 1e-5)  # fmt: skip
_NULL_A = (0.246, 0.272, 0.325, 0.377, 0.437, 0.500, 0.544, 0.596, 0.631, 0.665, 0.708,
           0.740, 0.835, 0.912)  # fmt: skip
_NULL_B = (0.161, 0.150, 0.159, 0.217, 0.244, 0.285, 0.328, 0.377, 0.405, 0.439, 0.489,
           0.535, 0.669, 0.768)  # fmt: skip
_SMALLEST_P_VALUE = _NULL_P_VALUES[-1]
_FEWEST = 10  # values of the null distribution


def dip_statistic(
    values: FloatArray,  # shape: (n_values,)
    weights: FloatArray | None = None,  # shape: (n_values,), positive
) -> float:
    """Return the dip, between ``1 / (2 n)`` and 1/4; 0 for equal values.

    It is the smallest distance, in the largest difference of distribution functions,
    from the empirical distribution to a unimodal one, which is convex below a mode and
    concave above it. A modal interval is narrowed until the largest gap between the
    convex minorant and the concave majorant inside it is no larger than the deviations
    outside it (Hartigan and Hartigan 1985, section 4).
    """
    x, place = np.unique(values, return_inverse=True)
    if len(x) < 2:
        return 0.0
    shares = np.bincount(place, weights)
    shares = shares / shares.sum()
    above = np.cumsum(shares)  # F at each value
    below = above - shares  # F just before it
    low, high = 0, len(x) - 1
    dip = shares.min() / 2.0
    while True:
        inside = slice(low, high + 1)
        knots = x[inside]
        lower_hull = _lower_hull(knots, below[inside])
        upper_hull = _lower_hull(knots, -above[inside])
        minorant = np.interp(knots, knots[lower_hull], below[inside][lower_hull])
        majorant = np.interp(knots, knots[upper_hull], above[inside][upper_hull])
        gap = majorant - minorant
        at_knots = np.union1d(lower_hull, upper_hull)
        widest = at_knots[np.argmax(gap[at_knots])]
        largest = gap[widest]
        left = lower_hull[lower_hull <= widest].max()
        right = upper_hull[upper_hull >= widest].min()
        # The ends of the interval can be the mode, where a distribution may jump.
        outside = max(
            np.max(above[inside][:left] - minorant[:left], initial=0.0),
            np.max((majorant - below[inside])[right + 1 :], initial=0.0),
        )
        if largest <= 2 * dip:
            return float(dip)
        dip = max(dip, outside / 2.0)
        if (left, right) == (0, len(knots) - 1) or largest <= 2 * dip:
            return float(max(dip, 0.0))
        low, high = low + left, low + right


def _lower_hull(x: FloatArray, y: FloatArray) -> IndexArray:
    """Return the positions of the corners of the greatest convex minorant."""
    if len(x) < 2:
        return np.arange(len(x))
    # Its slopes are the isotonic regression of those between neighbours.
    widths = np.diff(x)
    slopes = isotonic_regression(np.diff(y) / widths, sample_weight=widths)
    return np.r_[0, np.flatnonzero(np.diff(slopes)) + 1, len(x) - 1]


def dip_p_values(
    dips: FloatArray,  # shape: (n_tests,)
    n_values: float,
) -> FloatArray:  # shape: (n_tests,)
    """Return p-values against the uniform distribution, at least 1e-5."""
    root = np.sqrt(max(n_values, _FEWEST))
    quantiles = np.array(_NULL_A) - np.array(_NULL_B) / root
    scaled = np.sqrt(n_values) * dips
    return np.exp(np.interp(scaled, quantiles, np.log(_NULL_P_VALUES)))
