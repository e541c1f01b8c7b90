"""Does the spread of the residuals depend on the inputs?"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import (
    MOST_REPEATS,
    BoolArray,
    FloatArray,
    IndexArray,
    check_draws,
    check_integer,
    check_real,
    make_generator,
    remembers_frames,
)
from .._expansion.problem import FittedProblem
from .._expansion.residuals import count_columns, learn_noise_scale, permuted_q2
from .._result import Result
from ._reading import NoExpansionError, Reading, expansion_of

# Quantiles of the scale over the members, whose ratio says how much it varies.
_TENTHS = (0.1, 0.9)

# Share of the variance of y below which residuals are rounding, or small penalties.
_ROUNDING = 1e-10

# Entries of the permuted responses in the caution of a verdict, and the fewest
# permutations that are worth one.
_MOST_RESIDUALS = 50_000_000  # of all permutations
_LARGEST_TABLE = 4_194_304
_MOST_PERMUTATIONS = 999
_FEWEST_PERMUTATIONS = 199

# The caution is one of many: a level at which few of them are wrong.
_CAUTION_LEVEL = 0.01


@remembers_frames
def noise_test(
    pipeline: Any,
    *,
    significance_level: float = 0.05,
    n_permutations: int = 999,
    random_state: Any = None,
) -> Result:
    r"""Test whether the spread of the residuals depends on the inputs.

    Where it does, intervals of constant width contain too few members where the spread
    is large and too many where it is small: use ``predict_interval(noise="inputs")``.

    Parameters
    ----------
    pipeline : estimator
        A fitted ``PolynomialChaosRegressor`` or
        ``CompositionalPCESurrogate``, alone or at the end of a fitted pipeline or
        search.
    significance_level : float, default=0.05
        Largest p-value at which a scale that depends on the inputs is needed.
    n_permutations : int, default=999
        Permutations; the smallest p-value is ``1 / (n_permutations + 1)``.
    random_state : int, RandomState instance or None, default=None
        Randomness of the permutations.

    Returns
    -------
    test : Result
        One row per target, or per step of compositions, whose residuals are pooled;
        ``print`` gives it in words. Of a row:

        needed : bool
            Whether the p-value is at most ``significance_level``.
        q2 : float
            Leave-one-out Q² of the scale model: the share of the variance of
            :math:`|r|^{2/3}` that the inputs predict. NaN without residuals.
        p_value : float
            Permutation p-value, adjusted over the rows by the largest Q² of each
            permutation (Westfall and Young [1]_).
        ratio : float
            Scale at the ninth tenth of the members over that at the first tenth.

    Raises
    ------
    ValueError
        For a bad argument, an estimator without an expansion, a fit from sums over the
        samples, or one without leave-one-out residuals.

    See Also
    --------
    skpce.PolynomialChaosRegressor.predict_interval : Uses the scale model.

    Notes
    -----
    The response is :math:`v_i = (\sum_k r_{ik}^2)^{1/3}` of the scaled leave-one-out
    residuals. A ridge expansion of it, additive in the inputs and of degree 2, has its
    penalty chosen by leave-one-out. Each permutation gives the residuals to other
    members, smooths them as the fit does, and chooses the penalty of the scale model
    anew (Freedman and Lane [2]_); one factorisation serves all of them.

    The test sees what the expansion leaves out too: a term that is missing makes the
    residuals large where that term is large. A higher degree may then be the better
    answer. A spread that depends on products of inputs alone is not seen. Members count
    as independent: replicates, which share their inputs, make p-values too small.

    References
    ----------
    .. [1] P. H. Westfall and S. S. Young, "Resampling-Based Multiple Testing", Wiley,
       1993, section 2.3 (the single-step method).
    .. [2] D. Freedman and D. Lane, "A nonstochastic interpretation of reported
       significance levels", Journal of Business and Economic Statistics 1 (1983).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.inspection import noise_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> noise = rng.normal(size=(100, 2))
    >>> y = X[:, :1] + np.c_[noise[:, 0], X[:, 1] * noise[:, 1]]
    >>> found = noise_test(PolynomialChaosRegressor(1).fit(X, y), random_state=0)
    >>> found.needed
    (False, True)
    """
    check_real("noise_test", "significance_level", significance_level, low=0, high=1)
    check_integer(
        "noise_test", "n_permutations", n_permutations, low=19, high=MOST_REPEATS
    )
    check_draws("noise_test", "n_permutations", n_permutations, low=19)
    reading = expansion_of(pipeline)
    if reading.problem is None:
        raise NoExpansionError(reading.estimator)
    names, groups, key = _rows_of(reading)
    generator = make_generator(random_state)
    rows = groups, len(names)
    columns = _tested(reading.problem, rows, n_permutations, generator, "noise_test")
    needed = columns["p_value"] <= significance_level
    facts, reasons = [], []
    for q2, p_value, ratio in zip(*columns.values(), strict=True):
        facts.append(f"Q² of the spread = {q2:z.2f}, p = {p_value:.3g}, {ratio:.2g}:1")
        failed: tuple[str, ...] = ()
        if np.isnan(q2):
            facts[-1], failed = "", ("no residuals that vary",)
        elif p_value > significance_level:
            failed = (f"the p-value is {p_value:.2g}, above {significance_level:g}",)
        reasons.append(failed)
    some = [str(name) for name, flag in zip(names, needed, strict=True) if flag]
    title = "The residuals have no spread that depends on the inputs."
    if some:
        title = (
            f"The residuals of {', '.join(some)} spread differently with the inputs: "
            "use predict_interval(noise='inputs')."
        )
    return Result(
        {key: names},
        columns,
        supported=tuple(needed.tolist()),
        reasons=tuple(reasons),
        facts=tuple(facts),
        title=title,
        figures={"n_permutations": n_permutations},
        answer="needed",
    )


def spread_caution(model: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """Caution that the residuals of a fitted model spread differently with its inputs.

    Nothing is said of models without a linear fit to samples, or of very large ones.
    """
    try:
        reading = expansion_of(model)
    except NoExpansionError:
        return ()
    problem = reading.problem
    if problem is None or problem.samples is None:
        return ()
    if any(not np.isfinite(p.fit.scaled_residuals).all() for p, _ in problem.parts):
        return ()
    labels, groups, _ = _rows_of(reading)
    n_members = len(problem.samples.inputs)
    n_permutations = min(
        _MOST_PERMUTATIONS,
        _LARGEST_TABLE // (n_members * len(labels)),
        _MOST_RESIDUALS // (n_members * max(count_columns(n_members, groups), 1)),
    )
    if n_permutations < _FEWEST_PERMUTATIONS:
        return ()
    generator = np.random.default_rng(0)
    rows = groups, len(labels)
    columns = _tested(problem, rows, n_permutations, generator, "verdict")
    p_values = columns["p_value"]
    flagged = np.flatnonzero(p_values <= _CAUTION_LEVEL)
    if not flagged.size:
        return ()
    known = names if len(names) == len(labels) else labels
    which = ", ".join(str(known[k]) for k in flagged)
    return (
        f"the residuals of {which} spread differently with the inputs "
        f"(p = {p_values[flagged].min():.2g}): predict_interval(noise='inputs') gives "
        "intervals whose width follows",
    )


def _rows_of(reading: Reading) -> tuple[tuple[Any, ...], IndexArray, str]:
    """Return the names of the rows, the row of each fitted target, and the key."""
    expansion, compositions = reading.expansion, reading.compositions
    if compositions is None:
        return expansion.output_names, np.arange(expansion.n_outputs), "target"
    steps = compositions.fitted_geometry.step_of_coordinate
    names = tuple(compositions.geometry.layout.step_names)
    return names, steps, "step"


_COLUMNS = ("q2", "p_value", "ratio")


def _tested(
    problem: FittedProblem,
    rows: tuple[IndexArray, int],  # the row of each fitted target, and their number
    n_permutations: int,
    generator: np.random.Generator,
    owner: str,
) -> dict[str, FloatArray]:  # columns of shape (n_rows,)
    """Return Q², adjusted p-values and ratios; NaN for rows without residuals.

    Targets that other members have are tested apart, and p-values multiplied by the
    number of these parts (Bonferroni).
    """
    row_of_target, n_rows = rows
    columns = {name: np.full(n_rows, np.nan) for name in _COLUMNS}
    for part, targets in problem.parts if len(row_of_target) else ():
        mine = row_of_target[targets]
        scale = learn_noise_scale(part, mine, owner)
        inputs = part.require_samples(owner).inputs
        every = np.tile(np.arange(len(inputs)), (n_permutations, 1))
        orders = generator.permuted(every, axis=1)
        permuted = permuted_q2(scale, part, orders, owner)
        labels = np.unique(mine)
        known = _has_residuals(part, mine == labels[:, np.newaxis])
        known &= ~np.isnan(scale.q2)
        largest = np.max(permuted[:, known], axis=1, initial=-np.inf, keepdims=True)
        exceeded = np.sum(np.nan_to_num(largest, nan=-np.inf) >= scale.q2, axis=0)
        p_values = len(problem.parts) * (1.0 + exceeded) / (1.0 + n_permutations)
        low, high = np.quantile(scale.by_group(inputs), _TENTHS, axis=0)
        found = scale.q2, np.minimum(p_values, 1.0), high / low
        for name, values in zip(_COLUMNS, found, strict=True):
            columns[name][labels[known]] = values[known]
    return columns


def _has_residuals(
    problem: FittedProblem,
    member: BoolArray,  # shape: (n_groups, n_fitted), the targets of each group
) -> BoolArray:  # shape: (n_groups,)
    """Return which groups have residuals that are not rounding."""
    flags = member.astype(np.float64)
    residual = flags @ problem.fit.residual_variance
    return np.asarray(residual > _ROUNDING * (flags @ problem.target_variance))
