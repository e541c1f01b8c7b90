"""Is the attribution of a fitted pipeline supported by the ensemble?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import (
    MOST_REPEATS,
    FloatArray,
    IndexArray,
    check_boolean,
    check_integer,
    check_real,
    fail,
    make_generator,
)
from ..._checks.callbacks import check_progress, takes_callbacks
from ..._checks.frames import refuse_other_rows, remembers_frames, take
from ..._result import Result
from ...ensembles import Ensemble
from .._answer import NOUNS, corrected_for, shares_of, verdict_table
from .._closed_form.permuted_fits import (
    PermutedFits,
    factorise,
    factorise_like,
    factorise_wide,
)
from .._input_tests import fitted_inputs
from .._noise import spread_caution
from .._reading import final_estimator
from .conditions import (
    failed_conditions,
    holm,
    input_cautions,
    noise_cautions,
    permutation_caution,
    permutation_p_values,
)
from .cross_fit import (
    CrossFit,
    Permutations,
    bootstrap_q2,
    group_q2,
    permuted_q2,
    q2_of_members,
    quiet_fit,
    seeded,
    with_parameters,
)
from .dependent_members import find_member_groups
from .members import (
    check_order,
    copy_caution,
    divides,
    given_shares,
    labels_of,
    make_cross_fit,
    make_splits,
    read_members,
    repetition_caution,
    with_amalgamated,
    without_replicates,
)
from .training_noise import split_variance


@remembers_frames
@takes_callbacks
def verdict(
    pipeline: Any,
    X: ArrayLike | Ensemble,
    y: ArrayLike | None = None,
    reward: ArrayLike | None = None,
    *,
    steps: Any = None,
    mask: Any = "infer",
    noise_share: ArrayLike | Result | None = None,
    cv: Any = 5,
    n_permutations: int = 999,
    min_q2: float = 0.25,
    significance_level: float = 0.05,
    max_noise_share: float = 0.5,
    confidence_level: float = 0.9,
    zero_replacement: float | None = None,
    random_state: Any = None,
    closed_form: bool = True,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    outputs: Any = None,
    standardize: bool = False,
    order: ArrayLike | Literal[False] | None = None,
    groups: ArrayLike | None = None,
) -> Result:
    """Say, output by output, whether an attribution is supported.

    An output is a score, a group of columns such as logits, or one step of a policy.
    The WHOLE pipeline is refitted in every fold and every permutation, so that an
    embedding (PCA, PLS) never sees the member that is held out. An output is
    *attributable* when its cross-fitted Q² is at least ``min_q2``, the permutation
    p-value (Holm over the steps) is at most ``significance_level``, and training
    noise, where it is known, makes up less than ``max_noise_share`` of the variance.

    Parameters
    ----------
    pipeline : estimator
        Predicts y from X; usually a :class:`skpce.PolynomialChaosRegressor`, for
        compositions a :class:`skpce.CompositionalPCESurrogate`, alone or at the end of
        a Pipeline. Any other regressor will do. A search is refitted whole (nested
        cross-validation). Not changed.
    X : array-like of shape (n_members, n_features), or Ensemble
        What differs between the members, before any embedding. An
        :class:`skpce.ensembles.Ensemble` gives y and its replicates too.
    y : array-like of shape (n_members,) or (n_members, n_columns), or data frame
        Real outputs, or policies with their steps side by side. A member that failed
        in an output, or in a step, has NaN in all of its columns; it counts in the
        others. None with an Ensemble.
    reward : array-like of shape (n_members,) or None, default=None
        Another name of ``groups``, for ensembles trained under uncertain rewards.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step; None takes the parameter of the last estimator, then the
        columns of y.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible; read from all members and given to the last
        estimator, so that no fold infers another.
    noise_share : array-like of shape (n_steps,) or Result, default=None
        Share of training noise per step, from :func:`training_noise_share`; NaN
        where not known. From :func:`variance_decomposition` with an interval.
    cv : int or cross-validation splitter, default=5
        An int shuffles the members (or the groups) into that many folds.
    n_permutations : int, default=999
        Permutations of the members' inputs; the smallest possible p-value is
        ``1 / (n_permutations + 1)``.
    min_q2, significance_level, max_noise_share : float
        The conditions; 0.25, 0.05 and 0.5 by default.
    confidence_level : float, default=0.9
        Of the bootstrap intervals of Q² over members, and of those of the share of
        training noise from ``groups``.
    zero_replacement : float or None, default=None
        Probability put in place of a zero, observed or predicted. None takes the
        parameter of the last estimator, else 1e-12.
    random_state : int, RandomState instance or None, default=None
        Randomness of folds, permutations and the bootstrap.
    closed_form : bool, default=True
        Take all permutations of a fold from one factorisation where that is exact:
        an expansion with a ridge solver or ``"ols"``, alone or behind transformers
        that do not look at y. Else every permutation is a refit.
    n_jobs : int or None, default=None
        Processes for the refits of the permutations; the closed form needs none. The
        result does not depend on it.
    progress : callable, callback or None, default=None
        Called with (permutations done, all permutations). An exception in it, such as
        ``KeyboardInterrupt``, stops the refits in all processes. From scikit-learn 1.9
        on also one of its callbacks, such as ``sklearn.callback.ProgressBar()``; those
        of the pipeline do not see the refits.
    outputs : dict of str to int, sequence, or None, default=None
        Number of columns of each real output, or its columns; a group of columns is
        judged as a whole. With ``steps`` these are the columns after the compositions.
        None reads two-level columns of a data frame; else each column is an output,
        unless the rows of y are probabilities.
    standardize : bool, default=False
        Measure real columns in units of their standard deviation, so that each column
        of a group counts alike.
    order : array-like of shape (n_members,), False or None, default=None
        Time, or position in a series, of each member, by which the dependence of
        members on those before them is tested. False says that the order of the rows
        means nothing; None that it is not known, or as an Ensemble says.
    groups : array-like of shape (n_members,) or None, default=None
        Label of each member, as in scikit-learn. Members of one label are
        replicates, with equal rows of X: they stay in one fold, are permuted together,
        and give the share of training noise by :func:`variance_decomposition`. Without
        it, a caution reports equal rows in training and in test.

    Returns
    -------
    verdict : Result
        One row per output, or per step (``rows``; ``steps`` of policies); ``print``
        gives it in words. Of a row:

        attributable : bool
            Whether every condition holds.
        q2, q2_low, q2_high : float
            Cross-fitted Q²: share of the variance (Aitchison variance of policies) of
            held-out members that their inputs predict, with its bootstrap interval
            over members. NaN for an output without variance.
        mean_only_q2 : float
            The same for the mean of the training members (slightly below 0).
        degree_one_q2 : float
            The same for the pipeline at degree 1; NaN where it has no degree.
        p_value : float
            Permutation p-value, Holm-adjusted over the steps.
        noise_share, noise_share_low, noise_share_high : float
            Share of training noise and its interval; NaN where it is not known, the
            interval also where the share was given without one.
        reasons : tuple of str
            Each condition that failed.
        members : int
            Members that have the output; only where some failed.

        Of the whole verdict, beside ``n_members``, ``n_permutations``,
        ``confidence_level`` and ``cpu_seconds`` (of all permutations):

        cautions : tuple of str
            What does not veto but weakens the reading: dependent inputs, inputs that
            do not have the stated distribution, more terms than members, training noise
            that is unknown or not settled, residuals that spread differently with the
            inputs (:func:`noise_test` at level 0.01, without ``groups``).
        inputs : Result or None
            :func:`input_tests` of the inputs of the last estimator, of one fit on all
            members. They inform and never veto.
        n_terms, n_training : int or None
            Terms of the basis (so many members a fit without penalty would need), and
            members of the smallest training set of a fold; None without a basis.
        closed_form : bool
            Whether the permutations came from one factorisation per fold.
        measured_as : object
            What the columns of y are; ``print`` gives it in words.

    Raises
    ------
    ValueError
        For bad arguments, values of y that are no numbers or infinite, rows that are
        no compositions where they should be, or fewer than eight members that have an
        output, before any fit.

    See Also
    --------
    variance_decomposition : The share of training noise, with an interval.
    input_tests : The tests of the inputs behind the cautions.

    Notes
    -----
    Q² is :math:`1 - \\sum_i \\lVert z_i - \\hat z_i \\rVert^2 / \\sum_i \\lVert z_i -
    \\bar z \\rVert^2` over the members held out. Of real outputs :math:`z` is the
    columns of the output, as given or standardised; of policies it is the centred
    log-ratios, in Aitchison geometry: free of any reference action.

    A permutation gives the rows of y to other members (or groups, with ``groups``);
    inputs and folds stay, so that the factorisation of a fold holds for all of them.
    Where groups have unequal numbers of replicates the inputs are permuted instead.

    The share of training noise counts by its estimate. A caution names the steps whose
    interval holds ``max_noise_share``: there the members at hand do not settle it.

    Without ``groups`` members are tested for dependence on one another. *Near-copies*
    are members that are nearer to another one, in their inputs and outputs, than
    independent members would be; *a series* is a set of members whose residuals and
    inputs both depend on those of the members before them (each at level 0.01). Groups
    of near-copies, or blocks of a series in the ``order`` that is given, are held out
    and permuted as a whole, and a caution says so. With fewer than eight groups, or a
    splitter that divides them, nothing is attributable.

    Without ``order`` the rows are searched for a series unless they form a design: by
    inputs with mostly different values that are not sorted, and are no sequence of low
    discrepancy (Sobol, Halton). Where one is found nothing is attributable before
    ``order`` says what the order is.

    With "attributable" the verdict says that the inputs predict the step beyond
    chance. It does not say that the inputs are causes.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from skpce import CompositionalPCESurrogate
    >>> from skpce.inspection import verdict
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3)) * [3, 2, 1]
    >>> explained = softmax(np.c_[X[:, 0], np.zeros((60, 2))], axis=1)
    >>> noise = softmax(rng.normal(size=(60, 3)), axis=1)
    >>> surrogate = CompositionalPCESurrogate(2, steps=(3, 3), solver="ridge")
    >>> model = make_pipeline(PCA(2, whiten=True), surrogate)
    >>> found = verdict(
    ...     model, X, np.hstack([explained, noise]), n_permutations=99, random_state=0
    ... )
    >>> found.attributable
    (True, False)

    Scores and losses need no compositions:

    >>> from skpce import PolynomialChaosRegressor
    >>> scores = X[:, 0] + 0.5 * rng.normal(size=60)
    >>> losses = rng.lognormal(size=(60, 4))
    >>> model = PolynomialChaosRegressor(2, solver="ridge")
    >>> outputs = {"score": 1, "losses": 4}
    >>> y = np.c_[scores, losses]
    >>> found = verdict(model, X, y, outputs=outputs, random_state=0)
    >>> dict(zip(found.output_names, found.attributable))
    {'score': True, 'losses': False}
    """
    if isinstance(X, Ensemble) and y is None:
        groups = X.setting if reward is None and groups is None else groups
        order = X.order if order is None else order
        y, X = X.y, X.X
    if zero_replacement is None:
        _, last = final_estimator(pipeline)
        zero_replacement = getattr(last, "zero_replacement", 1e-12)
    check_arguments(
        n_permutations=n_permutations,
        min_q2=min_q2,
        significance_level=significance_level,
        max_noise_share=max_noise_share,
        confidence_level=confidence_level,
        zero_replacement=zero_replacement,
        closed_form=closed_form,
        n_jobs=n_jobs,
        progress=progress,
    )
    check_boolean("verdict", "standardize", standardize)
    generator = make_generator(random_state)
    refuse_other_rows(X=X, order=order)
    reward = labels_of("verdict", reward, groups, y)
    pipeline, y, steps, mask = with_amalgamated(pipeline, y, steps, mask)
    table, y, read, steps = read_members(
        pipeline,
        *(X, y),
        steps=steps,
        outputs=outputs,
        mask=mask,
        zero_replacement=zero_replacement,
        standardize=standardize,
    )
    pipeline = seeded(pipeline, generator)
    check_order(order, len(table))
    shares = given_shares(noise_share, read)
    found: list[tuple[IndexArray, _Findings]] = []
    blocks = read.blocks(y)
    for rows, groups in blocks:
        fit = make_cross_fit(
            pipeline, table, y, read, steps, rows, groups, reward, cv, generator
        )
        labels = None if reward is None else np.asarray(reward)[rows]
        noise = shares[:, groups]
        # Where failures have left no replicates of an output its noise is not known.
        if noise_share is None and labels is not None:
            some_failed = len(rows) < len(table)
            if not some_failed or len(np.unique(labels)) < len(labels):
                noise = training_noise(fit, labels, confidence_level)
        judged = _measure(
            fit,
            labels,
            cv,
            order=order if order is None or order is False else np.asarray(order)[rows],
            n_permutations=n_permutations,
            confidence_level=confidence_level,
            closed_form=closed_form,
            n_jobs=n_jobs,
            progress=progress,
            generator=generator,
        )
        judged.columns.update(zip(NOISE, noise, strict=True))
        found.append((groups, judged))
    columns = {name: np.full(read.n_groups, np.nan) for name in found[0][1].columns}
    for groups, judged in found:
        for name, values in judged.columns.items():
            columns[name][groups] = values
    columns["p_value"] = holm(columns["p_value"])
    limits = (min_q2, significance_level, max_noise_share)
    corrected = corrected_for(columns["p_value"], NOUNS[read.noun])
    failed = [
        failed_conditions(q2, p_value, noise, limits, corrected)
        for q2, p_value, noise in zip(
            columns["q2"], columns["p_value"], columns["noise_share"], strict=True
        )
    ]
    for groups, judged in found:
        for group in groups if judged.refused else ():
            failed[group] = (*failed[group], judged.refused)
    _, first = found[0]
    figures = {
        "n_members": len(table),
        "n_permutations": n_permutations,
        "confidence_level": confidence_level,
        "cautions": (
            *permutation_caution(
                n_permutations,
                significance_level,
                columns["q2"],
                NOUNS[read.noun],
            ),
            *noise_cautions(read.names, columns, max_noise_share),
            *first.cautions,
            *(caution for _, judged in found for caution in judged.of_outputs),
        ),
        "cpu_seconds": sum(judged.cpu_seconds for _, judged in found),
        "inputs": first.inputs,
        "n_terms": first.n_terms,
        "n_training": min(judged.n_training for _, judged in found),
        "closed_form": all(judged.closed_form for _, judged in found),
        "measured_as": read,
    }
    if all(judged.shares is not None for _, judged in found):
        explained = [judged.shares for _, judged in found if judged.shares is not None]
        names = explained[0][1]
        table_of_shares = np.empty((read.n_groups, len(names)))
        for (groups, _), (values, _) in zip(found, explained, strict=True):
            table_of_shares[groups] = values
        figures |= {"share_inputs": names, "shares": table_of_shares}
    n_present = np.empty(read.n_groups, dtype=np.int64)
    for rows, groups in blocks:
        n_present[groups] = len(rows)
    if n_present.min() < len(table):
        columns["members"] = n_present
    return verdict_table(read.names, columns, failed, figures)


NOISE = ("noise_share", "noise_share_low", "noise_share_high")


@dataclass(frozen=True)
class _Findings:
    """What refits say about groups that the same members have."""

    columns: dict[str, FloatArray]  # each of shape (n_groups,); p-values not adjusted
    cautions: tuple[str, ...]  # about the members and their inputs
    of_outputs: tuple[str, ...]  # about the outputs
    cpu_seconds: float
    inputs: Result | None
    n_terms: int | None
    n_training: int
    closed_form: bool
    shares: tuple[FloatArray, tuple[str, ...]] | None  # of the inputs; their names
    refused: str  # why members that depend on one another cannot be judged; or ""


def _measure(
    fit: CrossFit,
    reward: Any,
    cv: Any,
    *,
    order: Any,
    n_permutations: int,
    confidence_level: float,
    closed_form: bool,
    n_jobs: int | None,
    progress: Callable[[int, int], None] | None,
    generator: np.random.Generator,
) -> _Findings:
    """Refit in all folds and permutations."""
    n_members = len(fit.X)
    fitted = quiet_fit(fit.pipeline, fit.X, fit.y)
    wide = factorise_wide(fit, fitted) if closed_form else None
    residuals = fit.residuals() if wide is None else wide[1]
    groups, units, dependent, refused = None, reward, "", ""
    if reward is None:
        groups = find_member_groups(fit, fitted, residuals, order)
    if groups is not None:
        units, dependent = groups.labels, groups.kind
        refused = groups.reason
        if dependent == "series" and order is None:
            refused = (
                f"{groups.words}, which supports nothing until it is known whether "
                "this order means anything; give order=, the time or place of each "
                "member, or order=False where it means nothing"
            )
        if not refused and isinstance(cv, Integral):
            n_folds = min(int(cv), groups.n_groups)
            splits = make_splits(n_folds, fit.X, units, generator)
            fit = fit.of_same_y(splits=splits)
            wide = factorise_wide(fit, fitted) if closed_form else None
            residuals = fit.residuals() if wide is None else wide[1]
        elif not refused and divides(fit.splits, units):
            refused = f"{groups.words}, and cv divides them"
    errors = np.square(residuals)
    deviations = fit.squared_deviations()
    permutations = Permutations.draw(
        n_members, units, n_permutations, generator, dependent
    )
    exact = closed_form and permutations.moves_policies
    closed = None
    if exact:
        closed = factorise(fit, errors) if wide is None else wide[0]
    observed = group_q2(errors, deviations, fit.outputs)
    permuted, cpu_seconds = permuted_q2(
        fit, permutations, closed, observed, deviations, n_jobs, progress
    )
    q2, low, high = bootstrap_q2(
        errors, deviations, fit.outputs, confidence_level, generator, units
    )
    columns = {
        "q2": q2,
        "q2_low": low,
        "q2_high": high,
        "mean_only_q2": group_q2(fit.mean_only_errors(), deviations, fit.outputs),
        "degree_one_q2": _degree_one_q2(
            fit, deviations, None if wide is None else wide[0]
        ),
        "p_value": permutation_p_values(q2, permuted),
    }
    once = without_replicates(n_members, None if dependent == "series" else units)
    tests, n_terms = fitted_inputs(fitted, take(fit.X, once))
    shares = shares_of(fitted, fit.outputs)
    names = () if shares is None else shares[1]
    return _Findings(
        columns,
        (
            *((groups.caution,) if groups is not None and not refused else ()),
            *repetition_caution(fit.X, units, fit.splits),
            *copy_caution(fit.X, fit.y, fit.outputs, fit.observed),
            *input_cautions(tests, n_terms, n_members, names),
        ),
        spread_caution(fitted, fit.outputs.names) if reward is None else (),
        cpu_seconds,
        tests,
        n_terms,
        min(len(train) for train, _ in fit.splits),
        closed is not None,
        shares,
        refused,
    )


def check_arguments(**values: Any) -> None:
    n_permutations = values["n_permutations"]
    check_integer(
        "verdict", "n_permutations", n_permutations, low=19, high=MOST_REPEATS
    )
    check_real("verdict", "min_q2", values["min_q2"], high=1, closed="right")
    for name in ("significance_level", "confidence_level", "zero_replacement"):
        check_real("verdict", name, values[name], low=0, high=1)
    check_real(
        "verdict", "max_noise_share", values["max_noise_share"], low=0, closed="left"
    )
    check_boolean("verdict", "closed_form", values["closed_form"])
    n_jobs, progress = values["n_jobs"], values["progress"]
    if n_jobs is not None and (
        not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0
    ):
        raise fail("verdict", "n_jobs", "an int other than 0 or None", n_jobs)
    check_progress("verdict", progress)


def training_noise(
    fit: CrossFit, reward: Any, confidence_level: float
) -> FloatArray:  # shape: (3, n_groups)
    """Return the share of training noise of replicates, and its interval."""
    values = np.asarray(fit.y, dtype=np.float64).reshape(len(fit.X), -1)
    once = np.ones(len(values))
    splits, _ = split_variance(
        fit.outputs, values, reward, None, once, confidence_level
    )
    return splits[0, 2:]


def _degree_one_q2(
    fit: CrossFit,
    deviations: FloatArray,
    known: PermutedFits | None,  # of the pipeline at its own degree, where y is wide
) -> FloatArray:
    _, last = final_estimator(fit.pipeline)
    if "degree" not in last.get_params(deep=False):
        return np.full(fit.outputs.n_groups, np.nan)
    linear = fit.of_same_y(pipeline=with_parameters(fit.pipeline, degree=1))
    closed = None if known is None else factorise_like(linear, known)
    if closed is None:
        return group_q2(linear.squared_errors(), deviations, fit.outputs)
    errors = closed.group_errors(np.arange(len(fit.X))[np.newaxis])[0]
    return q2_of_members(errors, fit.outputs.sum_by_group(deviations))
