"""What it is worth to know an input before deciding: a table with reasons."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..._basis.basis import categorical_inputs
from ..._checks import (
    FEWEST_MEMBERS,
    MOST_REPEATS,
    FloatArray,
    RandomState,
    check_integer,
    check_option,
    make_generator,
    refuse_memory,
)
from ..._expansion.expansion import index_of_set
from ..._expansion.problem import DependentInputsWarning
from ..._result import Result, cautions_in_words
from ...drivers._design import first_of, numbers_of
from ...inspection._dependent_inputs import dependence_seen
from ...inspection._reading import column_groups
from .bound import bounds_of_rows, p_values_of_rows
from .decision_problem import OWNER, DecisionProblem, read_problem
from .expected_value import N_BATCHES
from .plug_in import Row

#: Name of the row of all inputs.
ALL = "all inputs"

_LEVEL = 0.9  # of the intervals of the expansion's value
_SIGNIFICANCE = 0.05  # largest p-value at which a value is supported

# What is said of the columns of a row, where they are known.
_FACTS = {
    "lower_bound": "at least {:.3g}",
    "p_value": "p = {:.3g}",
    "share_of_evpi": "{:.0%} of knowing all",
    "variance_share": "{:.0%} of the variance",
    "flip_probability": "changes the decision with probability {:.2g}",
}


def value_of_information(
    surrogate: Any,
    X: Any,
    utility: Any,
    groups: Mapping[str, Any] | None = None,
    *,
    form: str = "marginal",
    n_resamples: int = 200,
    n_samples: int = 65536,
    random_state: RandomState = None,
) -> Result:
    r"""Say what it is worth to know an input before an action is chosen.

    Of actions with utilities :math:`u_k` that depend on uncertain inputs, the best one
    on average is taken where nothing more is known. Whoever knows some inputs may take
    another one, and gains the *expected value of partial perfect information* (EVPPI).
    A Sobol index says how far an input moves the utilities; this says whether it
    changes the decision, in units of the utility.

    Parameters
    ----------
    surrogate : estimator or Pipeline
        What utilities are expanded with: a :class:`skpce.PolynomialChaosRegressor`,
        fitted to the utilities (then it is used itself), with weights, to anything else
        or not at all (then its settings are used: members count equally); a fitted
        :class:`skpce.CompositionalPCESurrogate`, whose settings are used; or a Pipeline
        that ends in one. Behind a PCA the inputs are the components.
    X : array-like or data frame of shape (n_members, n_features)
        What differs between the members, before any embedding.
    utility : array-like or data frame (n_members, n_actions), or callable
        Utility of each action for each member, one column for each action; or a
        function of the policies that a fitted surrogate predicts at X, and X.
    groups : mapping of str to inputs, or None, default=None
        Inputs that are known together, by name or position, beside each input alone.
    form : {"marginal", "regression"}, default="marginal"
        ``"marginal"`` averages the other inputs out of one expansion, which assumes
        that inputs are independent, and warns where they are not. ``"regression"``
        expands the utilities in the inputs of the row alone: what is known of
        dependent ones counts.
    n_resamples : int, default=200
        Bootstrap resamples of the members behind the standard errors; 0 for none.
    n_samples : int, default=65536
        Quasi-random points for several inputs.
    random_state : int, RandomState instance or None, default=None
        Randomness of resamples and points.

    Returns
    -------
    values : Result
        One row for each input, each group and ``"all inputs"``; ``print`` gives it in
        words. The columns are

        value : float
            The EVPPI of the expansion, NaN where it is not supported.
        plug_in : float
            The same, supported or not. Noise makes it too large, a penalty too small.
        standard_error, low, high : float
            Bootstrap standard error of ``plug_in`` over members, and the 5 % and 95 %
            quantiles of the resamples. They contain neither bias nor truncation.
        integration_error : float
            Standard error of the integration; 0 where it is exact.
        cross_fitted, cross_fitted_error : float
            What rules learned on other folds gain for held-out members, over the best
            fixed action, and its standard error.
        lower_bound : float
            Lower 95 % confidence bound of the EVPPI from held-out members, in five
            folds that depend on no seed and no order of rows.
        p_value : float
            P-value of no value at all, as what actions differ by does not depend on
            the inputs of the row: the test of :func:`skpce.explain` on these inputs
            alone, Holm-adjusted over the rows.
        share_of_evpi : float
            ``value`` over that of all inputs.
        variance_share : float
            Closed Sobol index: the share of the variance of all utilities.
        flip_probability : float
            Probability that another action is taken than without knowing.
        supported : bool
            Whether the test rejects, at 5 %, that knowing is worth nothing.
        reasons : tuple of str
            Why it is not.

        Of the whole ``evpi``, the value of knowing all inputs (not supported
        necessarily), ``best_action`` without knowing, ``actions``, ``n_members`` and
        ``cautions``.

    Raises
    ------
    ValueError
        For bad arguments, utilities that are no finite numbers, fewer than two actions,
        or a surrogate without an expansion.
    TypeError
        If ``surrogate`` is no estimator.

    Warns
    -----
    DependentInputsWarning
        When inputs are dependent and ``form="marginal"``.

    See Also
    --------
    skpce.explain : Which input drives which utility.

    Notes
    -----
    With :math:`x_S` known, expected utilities are the marginal expansions, and

    .. math:: \mathrm{EVPPI}_S = E \max_k E[u_k \mid x_S] - \max_k E\,u_k.

    Of one input it is exact, from the upper envelope of polynomials: of degree one and
    a normal input the correlated knowledge gradient [1]_. What all actions share is
    subtracted before, so that a shift common to all has the value 0. EVPPI by
    regression is due to [2]_.

    The lower bound needs no good fit: rules of other folds are valued by the utilities
    of held-out members, and no rule gains more than the EVPPI. The test says that
    knowing can be worth something, the bound how much at least: an input may move what
    actions differ by and never change the best one. Members of equal inputs
    (replicates) are held out together and count once.

    References
    ----------
    .. [1] P. Frazier, W. Powell and S. Dayanik, "The knowledge-gradient policy for
       correlated normal beliefs", INFORMS Journal on Computing 21 (2009).
    .. [2] M. Strong, J. E. Oakley and A. Brennan, "Estimating multiparameter partial
       expected value of perfect information from a probabilistic sensitivity analysis
       sample: a nonparametric regression approach", Medical Decision Making 34 (2014).

    Examples
    --------
    The first input moves both drugs alike; only the second one decides.

    >>> import numpy as np
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.decision import value_of_information
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> noise = 0.5 * rng.normal(size=(100, 2))
    >>> utility = np.c_[5 * X[:, 0], 5 * X[:, 0] + X[:, 1]] + noise
    >>> model = PolynomialChaosRegressor(1, solver="ridge", distribution="normal")
    >>> found = value_of_information(model, X, utility, random_state=0)
    >>> found.supported
    (False, True, True)
    >>> found.variance_share.round(2)
    array([0.98, 0.02, 1.  ])
    """
    check_option(OWNER, "form", form, ("marginal", "regression"))
    check_integer(OWNER, "n_resamples", n_resamples, high=MOST_REPEATS)
    check_integer(OWNER, "n_samples", n_samples, low=128)
    given = read_problem(surrogate, X, utility)
    inputs = given.expansion.input_names
    players = _players(groups, inputs)
    n_actions, n_terms = given.coefficients.shape
    a_point = 2 * len(inputs) + 2 * n_terms + 7 * n_actions
    needed = 8.0 * a_point * int(n_samples) / N_BATCHES
    refuse_memory(OWNER, needed, f"n_samples={int(n_samples)}")
    generator = make_generator(random_state)
    seed = int(generator.integers(2**31))
    make = Row.marginal if form == "marginal" else Row.regression
    rows = [make(given, features) for features in players.values()]
    worths = [row.worth(int(n_samples), seed) for row in rows]
    value, flip, error = np.transpose(worths)
    columns: dict[str, FloatArray] = {"value": value, "plug_in": value}
    # Standard errors and quantiles over resampled members, the same for all rows.
    spreads, refits, fit = np.full((3, len(rows)), np.nan), None, None
    seed_of_members = int(generator.integers(2**31))
    for place, row in enumerate(rows if n_resamples > 1 else ()):
        if row.problem is not fit:
            fit, resampled = row.problem, np.random.default_rng(seed_of_members)
            refits = row.refitted(int(n_resamples), resampled)
        if refits is not None:
            draws, tail = row.values_of(refits), (1.0 - _LEVEL) / 2.0
            ends = np.quantile(draws, [tail, 1.0 - tail])
            spreads[:, place] = [draws.std(ddof=1), *ends]
    columns |= zip(("standard_error", "low", "high"), spreads, strict=True)
    columns["integration_error"] = error
    held_out, reasons = _held_out(given, players)
    columns |= held_out
    evpi = worths[-1].value
    columns["share_of_evpi"] = columns["plug_in"] / (evpi if evpi > 0 else np.nan)
    # Closed indices of all utilities together.
    known = given.expansion
    norms = np.sqrt(np.square(known.coefficients).sum(axis=0, keepdims=True))
    closed = partial(index_of_set, "closed", norms, known.multi_indices)
    columns["variance_share"] = np.ravel([closed(own) for own in players.values()])
    columns["flip_probability"] = flip
    failed = np.array([bool(reason) for reason in reasons])
    for name in ("value", "share_of_evpi"):
        columns[name] = np.where(failed, np.nan, columns[name])
    cautions = _cautions(given, form)
    return _table(given, tuple(players), columns, reasons, evpi, cautions)


def _players(groups: Any, inputs: Sequence[str]) -> dict[str, list[int]]:
    """Return the inputs of each row: single ones, groups, and all of them."""
    if ALL in inputs:
        raise ValueError(f"An input is named {ALL!r}; expected another name.")
    found = {name: [i] for i, name in enumerate(inputs)}
    if groups is not None:
        given = column_groups(groups, inputs, overlapping=True)
        twice = sorted(set(given) & {*found, ALL})
        if twice:
            raise ValueError(
                f"groups has the name {twice[0]!r}, which is that of an input or of "
                "all inputs; expected another one."
            )
        found |= given
    return found | {ALL: list(range(len(inputs)))}


def _held_out(
    given: DecisionProblem, players: Mapping[str, list[int]]
) -> tuple[dict[str, FloatArray], list[tuple[str, ...]]]:
    """Return what members say, and why rows are not supported."""
    names = ("cross_fitted", "cross_fitted_error", "lower_bound", "p_value")
    found = np.full((4, len(players)), np.nan)
    refused = ""
    if given.looks_at_y:
        refused = "the embedding was fitted to y, so that no member is held out from it"
    elif not given.contrasts.any():
        refused = "all actions have the same utility for every member"
    if not refused:
        rows, setting = list(players.values()), numbers_of(given.inputs)
        found[:3] = bounds_of_rows(given, setting, rows)
        found[3] = p_values_of_rows(given, setting, rows)
    reasons: list[tuple[str, ...]] = []
    for p_value in found[3]:
        reason = refused
        if not refused and np.isnan(p_value):
            reason = f"fewer than {FEWEST_MEMBERS} different members cannot be tested"
        elif not refused and p_value > _SIGNIFICANCE:
            reason = "what the actions differ by is not shown to depend on it "
            reason += f"(p = {p_value:.3g}, more than {_SIGNIFICANCE:g})"
        reasons.append((reason,) if reason else ())
    return dict(zip(names, found, strict=True)), reasons


def _cautions(given: DecisionProblem, form: str) -> tuple[str, ...]:
    """Warn of dependent inputs, and say which members count once."""
    found: tuple[str, ...] = ()
    if given.weighted:
        found = ("the surrogate was fitted with weights; here members count equally",)
    inputs = given.inputs
    settings = inputs[first_of(numbers_of(inputs))]
    if len(settings) < len(inputs):
        found += (
            f"{len(inputs)} members have {len(settings)} different rows of inputs; "
            "equal ones are held out together and count once",
        )
        inputs = settings
    seen = None
    if form == "marginal" and inputs.shape[1] > 1:
        basis, names = given.expansion.basis, given.expansion.input_names
        levels = np.flatnonzero(categorical_inputs(basis.laws))
        seen = dependence_seen(inputs, names, levels.tolist())
    if seen is None:
        return found
    words = (
        f"{seen}, and form='marginal' assumes that inputs are independent; "
        "form='regression' does not"
    )
    warnings.warn(f"{words}.", DependentInputsWarning, stacklevel=3)
    return (*found, words)


def _table(
    given: DecisionProblem,
    names: tuple[str, ...],
    columns: dict[str, FloatArray],
    reasons: Sequence[tuple[str, ...]],
    evpi: float,
    cautions: tuple[str, ...],
) -> Result:
    """Put the values into words."""
    actions = given.expansion.output_names
    best = actions[int(np.argmax(given.coefficients[:, 0]))]
    good = [n for n, r in zip(names[:-1], reasons[:-1], strict=True) if not r]
    title = f"Without knowing more, {best!r} is the best of {len(actions)} actions."
    head = "Knowing an input is not shown to be worth anything"
    if good:
        head = (
            f"Knowing is worth something for {len(good)} of {len(names) - 1} "
            f"({', '.join(good)})"
        )
    title = f"{head}, with {len(given.inputs)} members. {title}"
    facts = []
    for place in range(len(names)):
        row = {name: values[place] for name, values in columns.items()}
        worth = f"worth {row['value']:.3g}"
        if np.isnan(row["value"]):
            worth = f"the expansion says {row['plug_in']:.3g}"
        if not np.isnan(row["standard_error"]):
            worth += f" ± {row['standard_error']:.2g}"
        known = [name for name in _FACTS if not np.isnan(row[name])]
        each = [_FACTS[name].format(row[name]) for name in known]
        facts.append(", ".join([worth, *each]))
    note = "Lower bounds are from held-out members, whatever the fit; p is adjusted "
    note += "over the rows."
    return Result(
        {"input": names},
        columns,
        supported=tuple(not reason for reason in reasons),
        reasons=tuple(reasons),
        facts=tuple(facts),
        title=title,
        notes=(note, *cautions_in_words(cautions)),
        figures={
            "evpi": evpi,
            "best_action": best,
            "actions": actions,
            "n_members": len(given.inputs),
            "cautions": cautions,
        },
        framed=("input", "value", *list(columns)[1:], "supported", "reasons"),
    )
