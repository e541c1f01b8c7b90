"""Two modes of a predicted probability, and the inputs that separate them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score
from sklearn.mixture import GaussianMixture
from sklearn.tree import DecisionTreeClassifier

from .._checks import FloatArray, IndexArray, binary_scales, check_real, fail
from .._expansion.prediction import check_predictive
from .fitted import FittedCompositions
from .log_ratio import LogRatioGeometry
from .predictive import predictive_of
from .steps import StepLayout

#: Ashman's D above which two components are separated.
SMALLEST_SEPARATION = 2.0

# A deeper tree is preferred when it is right this much more often.
_WORTH_A_LEVEL = 0.03
_DEEPEST = 2

# Fewest draws that are tested.
_FEWEST_DRAWS = 50

# Logits whose standard deviation is below this do not vary.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PredictedModes:
    """Modes of a predicted probability.

    Parameters
    ----------
    bimodal : bool
        Whether all three tests agree on two modes.
    dip, dip_p_value : float
        Hartigan's dip of the logits and its p-value.
    bic_gain : float
        BIC of one normal component less BIC of two; positive favours two.
    separation : float
        Ashman's D of the two components.
    probabilities : ndarray of shape (2,)
        Centre of the lower and of the upper component.
    weights : ndarray of shape (2,)
        Share of the draws in each.
    rule : str
        Where the upper component is, such as ``"x0 > 0.31"``; empty without two
        components.
    rule_accuracy : float
        Mean of the shares of both components that the rule classifies correctly, on
        draws that were not used for it; 0.5 is chance.
    features : ndarray of int
        Inputs in the rule.
    """

    bimodal: bool
    dip: float
    dip_p_value: float
    bic_gain: float
    separation: float
    probabilities: FloatArray
    weights: FloatArray
    rule: str
    rule_accuracy: float
    features: IndexArray


def predicted_modes(
    fitted: FittedCompositions,
    step: int | str,
    action: int | str,
    *,
    inputs: Any = None,
    residual: str | None = "resampled",
    n_samples: int = 2000,
    significance_level: float = 0.05,
    random_state: Any = None,
) -> PredictedModes:
    r"""Test whether a probability has two modes, and describe what separates them.

    Parameters
    ----------
    step : int or str
        Position or name of the step.
    action : int or str
        Position in the step, or name, of the part.
    inputs, residual, random_state
        As in :meth:`sample`; ``residual=None`` tests the push-forward alone.
    n_samples : int, default=2000
        Draws; at least 50.
    significance_level : float, default=0.05
        Largest p-value of the dip that counts as bimodal.

    Returns
    -------
    modes : PredictedModes
        The three tests, the components and the rule in words.

    Raises
    ------
    ValueError
        For an unknown step or action, an action without choice, or another bad
        argument.

    Notes
    -----
    Bimodal means that three tests of the logit of the probability agree:

    - Hartigan's dip test [1]_ rejects one mode. Its reference is the uniform
      distribution, the hardest of the unimodal ones in the limit. With
      ``residual="resampled"`` the p-value counts members, not draws: more draws of
      the same residuals are no more evidence.
    - Two normal components have a lower BIC [2]_ than one.
    - They are separated: Ashman's
      :math:`D = \sqrt2\,|\mu_1 - \mu_2| / \sqrt{\sigma_1^2 + \sigma_2^2}` is above
      2 [3]_.

    The rule is a tree on the inputs of depth 1, or of depth 2 where that is right more
    often by 0.03.

    References
    ----------
    .. [1] J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality",
       Annals of Statistics 13 (1985).
    .. [2] G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6
       (1978).
    .. [3] K. M. Ashman, C. M. Bird and S. E. Zepf, "Detecting bimodality in
       astronomical datasets", Astronomical Journal 108 (1994), eq. (6).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from scipy.stats import uniform
    >>> from skpce import CompositionalPCESurrogate
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> y = softmax(np.c_[3 * np.tanh(9 * X[:, 0]), 0 * X[:, 0]], axis=1)
    >>> surrogate = CompositionalPCESurrogate(
    ...     7, interaction_order=1, distribution=uniform(-1, 2), random_state=0
    ... )
    >>> modes = surrogate.fit(X, y).predicted_modes(0, 0)
    >>> modes.bimodal, modes.features.tolist(), modes.probabilities.round(1)
    (True, [0], array([0.1, 0.9]))
    """
    owner = f"{fitted.owner}.predicted_modes"
    check_predictive(owner, n_samples, residual)
    if n_samples < _FEWEST_DRAWS:
        raise fail(owner, "n_samples", f"at least {_FEWEST_DRAWS}", n_samples)
    check_real(owner, "significance_level", significance_level, low=0, high=1)
    column = _column_of(owner, fitted.geometry, step, action)
    predictive = predictive_of(fitted)
    draw = predictive.input_sampler(owner, inputs)
    generator = predictive.generator(random_state)
    rows = predictive.residual_law(None, owner).draw(n_samples, residual, generator)
    X = draw(n_samples, generator)
    logits = _logits_of(predictive.draw_around(rows, X), fitted.geometry, column)
    n_known = n_samples
    if residual == "resampled":  # so many different residuals
        n_known = min(n_samples, int(np.count_nonzero(fitted.weights)))
    names = fitted.expansion.input_names
    return find_modes(logits, X, names, significance_level, generator, n_known)


def find_modes(
    logits: FloatArray,  # shape: (n_draws,)
    X: FloatArray,  # shape: (n_draws, n_features)
    names: Sequence[str],
    significance_level: float,
    generator: np.random.Generator,
    n_known: int | None = None,  # fewer than the draws where these repeat residuals
) -> PredictedModes:
    """Test draws of a logit for two modes; X are the inputs behind them."""
    nothing = np.full(2, np.nan)
    if logits.std() <= _ROUNDING:
        centre, nan = np.full(2, expit(logits.mean())), float("nan")
        empty = np.zeros(0, dtype=np.int64)
        return PredictedModes(
            False, 0.0, 1.0, nan, nan, centre, nothing, "", nan, empty
        )
    dip = dip_statistic(logits)
    p_value = dip_p_value(dip, len(logits) if n_known is None else n_known)
    gain, mixture = _two_components(logits, int(generator.integers(2**31)))
    order = np.argsort(mixture.means_.ravel())
    centres = mixture.means_.ravel()[order]
    variances = mixture.covariances_.ravel()
    separation = np.sqrt(2.0) * (centres[1] - centres[0]) / np.sqrt(variances.sum())
    upper = mixture.predict(logits[:, np.newaxis]) == order[1]
    rule, accuracy, features = separating_rule(X, upper, names)
    agree = p_value <= significance_level and gain > 0.0
    return PredictedModes(
        bool(agree and separation > SMALLEST_SEPARATION),
        dip,
        p_value,
        gain,
        float(separation),
        expit(centres),
        mixture.weights_[order],
        rule,
        accuracy,
        features,
    )


def _two_components(logits: FloatArray, seed: int) -> tuple[float, GaussianMixture]:
    """Return the gain in BIC of two components, and the fit of them."""
    column = logits[:, np.newaxis]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one, two = (
            GaussianMixture(k, n_init=2, max_iter=300, random_state=seed).fit(column)
            for k in (1, 2)
        )
    return float(one.bic(column) - two.bic(column)), two


def separating_rule(
    X: FloatArray,  # shape: (n_draws, n_features)
    upper: NDArray[np.bool_],  # shape: (n_draws,)
    names: Sequence[str],
) -> tuple[str, float, IndexArray]:
    """Describe where the upper component is, and how often that is right."""
    nothing = np.zeros(0, dtype=np.int64)
    train = np.arange(len(X)) % 2 == 0  # the other half assesses the rule
    if min(len(np.unique(upper[train])), len(np.unique(upper[~train]))) < 2:
        return "", float("nan"), nothing
    best: Any = None
    best_accuracy = -np.inf
    # Trees read their inputs in single precision; powers of two change no digit.
    scales = binary_scales(X)
    X = X / scales
    for depth in range(1, _DEEPEST + 1):
        tree = DecisionTreeClassifier(
            max_depth=depth,
            min_samples_leaf=0.05,
            class_weight="balanced",
            random_state=0,
        ).fit(X[train], upper[train])
        accuracy = balanced_accuracy_score(upper[~train], tree.predict(X[~train]))
        if best is None or accuracy > best_accuracy + _WORTH_A_LEVEL:
            best, best_accuracy = tree, float(accuracy)
    used = best.tree_.feature[best.tree_.feature >= 0]
    return _in_words(best.tree_, names, scales), best_accuracy, np.unique(used)


def _in_words(tree: Any, names: Sequence[str], scales: FloatArray) -> str:
    """Join the conditions of the leaves in which the upper component prevails."""
    clauses = []

    def descend(node: int, conditions: list[str]) -> None:
        if tree.children_left[node] < 0:
            if np.argmax(tree.value[node, 0]) == 1:
                clauses.append(" and ".join(conditions))
            return
        feature = tree.feature[node]
        name = names[feature]
        threshold = f"{tree.threshold[node] * scales[feature]:.3g}"
        threshold = "0" if float(threshold) == 0.0 else threshold
        descend(tree.children_left[node], [*conditions, f"{name} <= {threshold}"])
        descend(tree.children_right[node], [*conditions, f"{name} > {threshold}"])

    descend(0, [])
    return " or ".join(clauses)


def _logits_of(
    clr: FloatArray,  # shape: (n_draws, n_active)
    geometry: LogRatioGeometry,
    column: int,
) -> FloatArray:  # shape: (n_draws,)
    """Return ``log p / (1 - p)`` of one part, without rounding near 0 and 1."""
    mine = int(np.flatnonzero(geometry.active_parts == column)[0])
    step = geometry.step_of_active[mine]
    others = np.flatnonzero(geometry.step_of_active == step)
    others = others[others != mine]
    return clr[:, mine] - np.logaddexp.reduce(clr[:, others], axis=1)


def _column_of(
    owner: str, geometry: LogRatioGeometry, step: int | str, action: int | str
) -> int:
    """Return the column of a part that has a choice."""
    layout: StepLayout = geometry.layout
    number = _position(owner, "step", step, layout.step_names)
    columns = layout.slices[number]
    labels = layout.part_names[columns]
    column = columns.start + _position(owner, "action", action, labels)
    if column not in geometry.active_parts:
        raise ValueError(
            f"{owner} expects a step and an action whose probability varies; "
            f"{layout.describe_column(column)} is masked or without choice."
        )
    return column


def _position(owner: str, name: str, given: Any, labels: Sequence[str]) -> int:
    if isinstance(given, str) and given in labels:
        return list(labels).index(given)
    is_integer = isinstance(given, Integral) and not isinstance(given, bool)
    if is_integer and -len(labels) <= given < len(labels):
        return int(given) % len(labels)
    raise fail(owner, name, f"one of {list(labels)} or its position", given)


# Quantiles of sqrt(n) times the dip of 4000 uniform samples of n = 1000 (generator 0),
# and the shares above them. They grow slowly with n: 0.511, 0.523, 0.534 at the share
# 0.05 for n = 100, 300, 1000. A test draws them again.
_NULL_QUANTILES = (0.2, 0.267, 0.286, 0.324, 0.372, 0.434, 0.494, 0.534, 0.589, 0.625,
                   0.657, 0.740)  # fmt: skip
_NULL_P_VALUES = (1.0, 0.95, 0.9, 0.75, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)


def dip_statistic(values: FloatArray) -> float:  # shape: (n_values,)
    """Return the dip, between ``1 / (2 n)`` and 1/4; 0 for equal values.

    It is the smallest distance, in the largest difference of distribution functions,
    from the empirical distribution to a unimodal one, which is convex below a mode and
    concave above it. A modal interval is narrowed until the largest gap between the
    convex minorant and the concave majorant inside it is no larger than the deviations
    outside it (Hartigan and Hartigan 1985, section 4).
    """
    x, counts = np.unique(values, return_counts=True)
    if len(x) < 2:
        return 0.0
    n = counts.sum()
    above = np.cumsum(counts) / n  # F at each value
    below = above - counts / n  # F just before it
    low, high = 0, len(x) - 1
    dip = 1.0 / (2.0 * n)
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
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return np.array(hull)


def dip_p_value(dip: float, n_values: int) -> float:
    """Return the p-value of a dip against the uniform distribution, in [0.001, 1]."""
    scaled = np.sqrt(n_values) * dip
    logs = np.interp(scaled, _NULL_QUANTILES, np.log(_NULL_P_VALUES))
    return float(np.exp(logs))
