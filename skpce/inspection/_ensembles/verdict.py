"""Which inputs of a pipeline drive which output, and how well it predicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from ..._basis.basis import PolynomialBasis, categorical_inputs
from ..._checks import (
    FEWEST_MEMBERS,
    FloatArray,
    IndexArray,
    OutputGroups,
    Steps,
    check_boolean,
    one_thread_for,
    refuse_other_rows,
    with_codes,
)
from ..._compositions.outputs import Outputs
from ..._input_laws import choose_laws
from ..._result import Result
from ...drivers import Answer, Caution, Design
from ...drivers._answer import make_answer
from ...drivers._design import deal_folds, numbers_of, q2_with_interval, units_by_inputs
from ...drivers._findings import find_drivers, percent
from ...drivers._roles import positions, refuse_other_inputs
from ...ensembles import Ensemble
from .._input_tests import numeric
from .._reading import (
    column_names,
    final_estimator,
    last_and_inputs,
    looks_at_y,
    steps_before,
)
from .members import (
    CrossFit,
    given_shares,
    labels_of,
    make_splits,
    quiet_fit,
    read_members,
    splits_of_folds,
    with_amalgamated,
    without_draws,
)

# Numbers of y (members times columns) up to which folds are dealt several times.
_SMALL, _TIMES = 200_000, 3

# Level at which an input is said not to have its stated distribution.
_DEPARTS = 0.01

# Part of the variance of runs left out that the pipeline predicts less of than the fit
# behind the shares, above which that is said.
_MUCH_LESS = 0.2

# An input below this share of the variance does not matter.
_NEGLIGIBLE = 0.05


def verdict(
    pipeline: Any,
    X: ArrayLike | Ensemble,
    y: ArrayLike | None = None,
    *,
    steps: Steps = None,
    outputs: OutputGroups = None,
    standardize: bool = False,
    replicate: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    order: ArrayLike | Literal[False] | None = None,
    noise_share: ArrayLike | Result | None = None,
    cv: Any = 5,
) -> Answer:
    """Say which input of a pipeline drives which output, and how well it predicts.

    The same answer as that of :func:`skpce.explain`, for those who bring a pipeline,
    such as an embedding before a surrogate of probabilities. What is tested are the
    inputs of its last step. The pipeline decides Q²: it is refitted whole in every
    fold, so that an embedding never sees the members that are held out.

    Parameters
    ----------
    pipeline : estimator
        Predicts y from X; usually a :class:`skpce.PolynomialChaosRegressor`, for
        compositions a :class:`skpce.CompositionalPCESurrogate`, alone or at the end of
        a Pipeline. Any other regressor will do. A search is refitted whole (nested
        cross-validation). Not changed.
    X : array-like of shape (n_members, n_features), or Ensemble
        What differs between the members, before any embedding. An
        :class:`skpce.ensembles.Ensemble` gives y and its settings too.
    y : array-like of shape (n_members,) or (n_members, n_columns), or data frame
        Real outputs, or policies with their steps side by side. A member that failed
        in an output, or in a step, has NaN in all of its columns; it counts in the
        others. None with an Ensemble.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step; None takes the parameter of the last estimator, then the
        columns of y. Which parts are possible is read from all members, unless the
        last estimator has a ``mask``.
    outputs : dict of str to int, sequence, or None, default=None
        Number of columns of each real output, or its columns; a group of columns is
        judged as a whole. With ``steps`` these are the columns after the compositions.
        None reads two-level columns of a data frame; else each column is an output,
        unless the rows of y are probabilities.
    standardize : bool, default=False
        Measure real columns in units of their standard deviation, so that each column
        of a group counts alike.
    replicate : array-like of shape (n_members,) or None, default=None
        Label of the setting of each member: members of one label have equal rows of X
        and stay in one fold. Equal rows are replicates without it.
    blocks, groups, order
        As in :func:`skpce.explain`: nuisance strata, members that belong together, and
        positions in a series.
    noise_share : array-like of shape (n_steps,) or Result, default=None
        Share of training noise of each step where it is known from elsewhere: from
        :func:`variance_decomposition`; NaN where not.
        None takes that between replicates.
    cv : int or cross-validation splitter, default=5
        An int deals members (settings, groups) into that many folds, sorted by their
        outputs, so that the result depends on no order and no random state; of small
        tables three times.

    Returns
    -------
    verdict : Answer
        As that of :func:`skpce.explain`; ``print`` gives it in words. Its ``q2`` is
        that of the pipeline, its shares are those of a fit that learns its own degree,
        and ``model`` is the pipeline, fitted to all members.

    Raises
    ------
    ValueError
        For bad arguments, values of y that are no numbers or infinite, rows that are
        no compositions where they should be, or fewer than eight members that have an
        output, before any fit.

    See Also
    --------
    skpce.explain : The same from a table, a study or arrays, without a pipeline.
    variance_decomposition : The share of training noise, with an interval.

    Notes
    -----
    Q² is :math:`1 - \\sum_i \\lVert z_i - \\hat z_i \\rVert^2 / \\sum_i \\lVert z_i -
    \\bar z \\rVert^2` over the members held out. Of real outputs :math:`z` is the
    columns of the output, as given or standardised; of policies it is the centred
    log-ratios, in Aitchison geometry: free of any reference action.

    Inputs that an embedding made without looking at y, such as principal components,
    are functions of X alone, and are tested like columns of X. Where a step before the
    last one has looked at y (partial least squares), its outputs cannot be tested by
    the same y: the columns of X are tested instead, and where X has more columns than
    members nothing is. Where a search has chosen among k embeddings by y, p-values are
    multiplied by k.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from skpce import CompositionalPCESurrogate
    >>> from skpce.inspection import verdict
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(60, 3)) * [3, 2, 1]
    >>> explained = softmax(np.c_[X[:, 0], np.zeros((60, 2))], axis=1)
    >>> noise = softmax(rng.normal(size=(60, 3)), axis=1)
    >>> surrogate = CompositionalPCESurrogate(2, steps=(3, 3), solver="ridge")
    >>> model = make_pipeline(PCA(2, whiten=True), surrogate)
    >>> found = verdict(model, X, np.hstack([explained, noise]))
    >>> found.attributable
    (True, False)

    Scores and losses need no compositions:

    >>> from skpce import PolynomialChaosRegressor
    >>> scores = X[:, 0] + 0.5 * rng.normal(size=60)
    >>> losses = rng.lognormal(size=(60, 4))
    >>> y = np.c_[scores, losses]
    >>> outputs = {"score": 1, "losses": 4}
    >>> found = verdict(PolynomialChaosRegressor(), X, y, outputs=outputs)
    >>> dict(zip(found.output_names, found.attributable))
    {'score': True, 'losses': False}
    """
    if isinstance(X, Ensemble) and y is None:
        replicate = X.setting if replicate is None else replicate
        order = X.order if order is None else order
        y, X = X.y, X.X
    check_boolean("verdict", "standardize", standardize)
    refuse_other_rows(X=X, y=y, order=order)
    pipeline, y, steps, mask = with_amalgamated(pipeline, y, steps)
    table, y, read, steps = read_members(
        pipeline,
        *(X, y),
        steps=steps,
        outputs=outputs,
        mask=mask,
        standardize=standardize,
    )
    roles = {"replicate": replicate, "blocks": blocks, "groups": groups}
    labels: dict[str, Any] = {
        name: labels_of(name, given, y) for name, given in roles.items()
    }
    if order is not None and order is not False:
        order = positions(order, np.ones(len(table), dtype=bool))
    if labels["replicate"] is not None:
        refuse_other_inputs(np.asarray(table), labels["replicate"])
    shares = given_shares(noise_share, read)
    values = numeric(table)
    if values is None:  # equal numbers for equal rows of text
        values = numbers_of(np.asarray(table).astype(str)).astype(float)[:, np.newaxis]
    design = Design.of(values, order=order, **labels)
    fit = CrossFit(without_draws(pipeline, read, steps), table, y, read)
    _check_folds(fit, design, cv)
    # To all members, or to those with the most outputs.
    most = fit.of_block(*max(read.blocks(y), key=lambda one: len(one[0])))
    fitted = quiet_fit(most.pipeline, most.X, most.y)
    (inputs, names, is_category, laws), cautions = _tested_inputs(fit, fitted)
    of_columns = any(one.code == "embedding saw y" for one in cautions)
    n_choices = 1 if of_columns else _n_embeddings(fitted)
    if n_choices > 1:
        cautions = *cautions, Caution("embedding chosen", {"n": n_choices})
    with one_thread_for(len(table)):
        findings = find_drivers(
            *(inputs, is_category, laws, read.member_coordinates(y), read, design),
            [(i,) for i in range(len(names))],
            *(names, _NEGLIGIBLE, n_choices),
            may_be_copies=not steps_before(fitted),
        )
    q2 = _cross_fitted(fit, inputs, findings.design, cv)
    predicted = np.maximum([findings.shares.q2[0], q2[0]], 0.0)
    less = np.nan_to_num(predicted[0] - predicted[1])
    if less.max() > _MUCH_LESS:
        worst = int(np.argmax(less))
        by_fit, by_pipeline = predicted[:, worst].tolist()
        figures = {"output": str(read.names[worst]), "fit": by_fit}
        figures["pipeline"] = by_pipeline
        cautions = *cautions, Caution("pipeline predicts less", figures)
    known = ~np.isnan(shares)
    if known.any():
        noise = np.where(known, shares, findings.shares.noise)
        both = replace(findings.shares, noise=noise, noise_name="training noise")
        findings = replace(findings, shares=both)
        cautions = *cautions, *_noise_that_is_predicted(shares, both.explained, read)
    return make_answer(
        *(findings, names, read, _Fitted(fitted)),
        negligible=_NEGLIGIBLE,
        cautions=cautions,
        q2=q2,
    )


@dataclass(frozen=True)
class _Fitted:
    """A pipeline that is fitted already: the source of an answer."""

    pipeline: Any

    def fit(self, blocks: IndexArray | None = None) -> Any:
        """Return it."""
        return self.pipeline

    def inputs_of(self, settings: Any) -> Any:
        """Return settings as they are."""
        return settings


def _check_folds(fit: CrossFit, design: Design, cv: Any) -> None:
    """Refuse folds that cannot be made, before any fit."""
    for rows, own in fit.outputs.blocks(fit.y):
        part, unit = fit.of_block(rows, own), design.of_rows(rows).units
        if not is_integer(cv):
            make_splits(cv, part.X, unit)
            continue
        n_units = int(unit.max()) + 1
        if not 2 <= cv <= n_units:
            raise ValueError(
                f"cv must be an int in the range [2, {n_units}], the number of units "
                f"of the design in X, or a splitter. Got {cv!r} instead."
            )


def is_integer(cv: Any) -> bool:
    """Whether folds are given by their number."""
    return isinstance(cv, (int, np.integer)) and not isinstance(cv, bool)


def _cross_fitted(
    fit: CrossFit,
    inputs: FloatArray,  # shape: (n_members, n_inputs), by which folds are dealt
    design: Design,
    cv: Any,
) -> FloatArray:  # shape: (3, n_groups)
    """Return Q² of the pipeline with its interval."""
    q2 = np.full((3, fit.outputs.n_groups), np.nan)
    for rows, own in fit.outputs.blocks(fit.y):
        part, unit = fit.of_block(rows, own), design.of_rows(rows).units
        errors = np.zeros((len(rows), len(own)))
        order = units_by_inputs(inputs[rows], part.observed, unit)
        if is_integer(cv):  # dealt several times
            n_folds = min(int(cv), len(order))
            once = part.observed.size > _SMALL or n_folds == len(order)
            seeds = range(1 if once else _TIMES)
            folds = [deal_folds(order, unit, n_folds, seed) for seed in seeds]
            dealt = [splits_of_folds(fold) for fold in folds]
        else:
            dealt = [make_splits(cv, part.X, unit)]
        for splits in dealt:
            missed = part.squared_errors(splits)
            errors += part.outputs.sum_by_group(missed) / len(dealt)
        deviations = part.outputs.sum_by_group(part.squared_deviations())
        q2[:, own] = q2_with_interval(errors, deviations, order, unit)
    return q2


def _noise_that_is_predicted(
    noise: FloatArray,  # shape: (n_groups,), shares as given, NaN where unknown
    explained: FloatArray,  # shape: (n_groups,)
    outputs: Outputs,
) -> list[Caution]:
    """Say where more is given as noise of the training than is left unexplained."""
    excess = np.nan_to_num(np.minimum(noise, 1.0) - (1.0 - explained))
    each = [
        f"{percent(noise[k])} of the variance of {outputs.names[k]}, of which inputs "
        f"predict {percent(explained[k])}"
        for k in np.flatnonzero(excess > _MUCH_LESS).tolist()
    ]
    words = f"training noise is given as {'; '.join(each)}: errors of the training "
    words += "depend on the inputs, and what drives may be these"
    return [Caution("note", {"words": words})] if each else []


def _tested_inputs(fit: CrossFit, fitted: Any) -> tuple[Any, tuple[Caution, ...]]:
    """Return what the last estimator gets, or X where an embedding has looked at y.

    Values of inputs, their names, which are categories, and their distributions, None
    where these are chosen; cautions.
    """
    last, inputs, names = last_and_inputs(fitted, fit.X)
    coded = with_codes(last, inputs, reset=False)
    if looks_at_y(steps_before(fitted), fit.X, fit.y):
        names, values = column_names(fit.X), numeric(fit.X)
        if values is None or values.shape[1] > len(values) - FEWEST_MEMBERS:
            names, values = (), np.zeros((len(fit.X), 0))
        caution = Caution("embedding saw y", {"tested": bool(names)})
        flags = np.zeros(len(names), dtype=bool)
        return (values, names, flags, None), (caution,)
    values = numeric(coded)
    if values is None:
        raise ValueError(
            f"{type(last).__name__} gets text or values that are not finite; expected "
            "numbers. Encode them before the last step, or take skpce.explain, which "
            "reads text as categories."
        )
    basis = getattr(last, "basis_", None)
    if not isinstance(basis, PolynomialBasis):
        return _with_categories(values, names), ()
    is_category = categorical_inputs(basis.laws)
    laws = [
        own if category or not own.learned else chosen
        for own, category, chosen in zip(
            basis.laws,
            is_category.tolist(),
            choose_laws(values, np.ones(len(values))),
            strict=True,
        )
    ]
    tested = values, names, is_category, laws
    if not is_category.any() and all(law.learned for law in basis.laws):
        tested = _with_categories(values, names)
    stated = np.array([not law.learned for law in basis.laws])
    p_values = np.where(stated, basis.p_values(values), np.nan)
    p_values = np.where(np.isnan(p_values), np.inf, p_values)
    worst = int(np.argmin(p_values))
    if p_values[worst] * max(stated.sum(), 1) >= _DEPARTS:
        return tested, ()
    figures = {"input": names[worst], "p_value": float(p_values[worst])}
    return tested, (Caution("distribution", figures),)


def _with_categories(
    values: FloatArray,  # shape: (n_members, n_columns)
    names: tuple[str, ...],
) -> Any:
    """Return neighbouring indicators of which each member has one as a category."""
    columns: dict[str, FloatArray] = {}
    flags: list[bool] = []
    is_flag = np.asarray(np.isin(values, (0.0, 1.0)).all(axis=0))
    start, n_columns = 0, values.shape[1]
    while start < n_columns:
        stop, whole = start, np.zeros(len(values))
        while stop < n_columns and is_flag[stop] and whole.min() < 1 >= whole.max():
            whole = whole + values[:, stop]
            stop += 1
        seen = np.count_nonzero(values[:, start:stop].any(axis=0))
        one_hot = bool(seen > 1 and (whole == 1).all())
        stop = stop if one_hot else start + 1
        parts = zip(*(name.split("_") for name in names[start:stop]), strict=False)
        common = takewhile(lambda part: len(set(part)) == 1, parts)
        name = "_".join(part[0] for part in common) or names[start]
        own = values[:, start:stop]
        kept = own.argmax(axis=1).astype(np.float64) if one_hot else own[:, 0]
        is_taken = name in columns or name in names[:start] + names[stop:]
        columns[names[start] if is_taken else name] = kept
        flags.append(one_hot)
        start = stop
    if not any(flags):
        return values, names, np.zeros(n_columns, dtype=bool), None
    table = np.column_stack(list(columns.values()))
    return table, tuple(columns), np.array(flags), None


def _n_embeddings(fitted: Any) -> int:
    """Return among how many settings of steps before the last one a search chose."""
    best = getattr(fitted, "best_estimator_", fitted)
    if not isinstance(best, Pipeline):
        return 1
    last, _ = final_estimator(best)
    tried = getattr(fitted, "cv_results_", {}).get("params", [{}])
    before = (
        sorted((k, repr(v)) for k, v in own.items() if not f"{k}__".startswith(last))
        for own in tried
    )
    return len(set(map(repr, before))) * _n_embeddings(best.steps[-1][1])
