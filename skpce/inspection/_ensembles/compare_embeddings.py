"""Which embedding, of how many inputs, with which degree behind it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import FloatArray, check_boolean, fail, make_generator
from ..._checks.callbacks import takes_callbacks
from ..._checks.frames import remembers_frames, take
from ..._compositions.outputs import read_outputs
from ..._regressor import PolynomialChaosRegressor
from ..._result import Result
from ..._surrogate import CompositionalPCESurrogate
from .._answer import NOUNS, corrected_for, verdict_table
from .._input_tests import fitted_inputs, held_out_inputs
from .._reading import final_estimator, last_and_inputs
from .conditions import failed_conditions, holm, permutation_p_values
from .cross_fit import (
    CrossFit,
    Permutations,
    bootstrap_q2,
    quiet_fit,
    with_parameters,
)
from .embedding_search import (
    BEST_OF_ALL,
    OWNER,
    Candidate,
    Choice,
    EmbeddingSetting,
    NestedFolds,
    NestedSearch,
    check_dimensions,
    read_candidates,
)
from .members import (
    given_shares,
    labels_of,
    make_cross_fit,
    read_members,
    with_amalgamated,
    without_replicates,
)
from .training_noise import refuse_failed
from .verdict import (
    check_arguments,
    training_noise,
    verdict,
)

_FRAMED = (
    *("candidate", "dimension", "degree", "n_inputs", "score"),
    *("step", "q2", "q2_low", "q2_high", "fixed_q2"),
    *("p_value", "noise_share", "attributable", "reasons"),
    *("correlation", "held_out_correlation", "dependence_p"),
    *("held_out_dependence_p", "normality_p", "held_out_normality_p"),
)


@remembers_frames
@takes_callbacks
def compare_embeddings(
    candidates: dict[str, Any],
    X: ArrayLike,
    y: ArrayLike,
    reward: ArrayLike | None = None,
    *,
    dimensions: Any = (2, 5, 10),
    degrees: Any = (1, 2),
    surrogate: Any = None,
    scoring: Any = None,
    cv: Any = 5,
    inner_cv: Any = 5,
    noise_share: ArrayLike | Result | None = None,
    n_permutations: int = 199,
    permute_choice: bool = False,
    min_q2: float = 0.25,
    significance_level: float = 0.05,
    max_noise_share: float = 0.5,
    confidence_level: float = 0.9,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    outputs: Any = None,
    standardize: bool = False,
    groups: ArrayLike | None = None,
) -> Result:
    r"""Choose among embeddings, dimensions and degrees; say what the choice is worth.

    In every outer fold the inner folds of its training members choose dimension and
    degree of each candidate, and the best of all candidates; the members held out
    judge what was chosen. On all members the choice is that of
    :class:`sklearn.model_selection.GridSearchCV` over the same Pipeline.

    Parameters
    ----------
    candidates : dict of str to transformer
        What stands before the surrogate. Its dimension is ``n_components``, of the
        last step for a Pipeline; ``(transformer, name)`` names another parameter. A
        transformer without one is taken as it is, as is ``"passthrough"``. None is
        changed; a random one whose ``random_state`` is None gets a seed.
    X : array-like of shape (n_members, n_features)
        What differs between the members, before any embedding.
    y : array-like of shape (n_members, n_parts) or data frame
        Policies, the steps side by side.
    reward : array-like of shape (n_members,) or None, default=None
        Another name of ``groups``, for ensembles trained under uncertain rewards.
    dimensions : sequence of int or dict of str to sequence, default=(2, 5, 10)
        Numbers of inputs to choose from. A dict gives them by candidate; one that it
        does not name is taken as it is.
    degrees : sequence of int or None, default=(1, 2)
        Degrees of the surrogate to choose from; None takes it as it is.
    surrogate : estimator or None, default=None
        Predicts compositions from the embedding. None is a
        :class:`skpce.CompositionalPCESurrogate`, whose ``steps`` and ``mask`` say what
        the columns of y are, or for real outputs a
        :class:`skpce.PolynomialChaosRegressor`.
    scoring : str, callable or None, default=None
        What the inner folds maximise, as in scikit-learn. None takes the pipeline's
        ``score``: D² of the Kullback-Leibler deviance. It is one number for all
        steps, which the steps of most variance decide.
        :func:`skpce.metrics.aitchison_scorer` chooses by the error that Q² counts.
    cv, inner_cv : int or cross-validation splitter, default=5
        Outer and inner folds. An int shuffles the members (or the groups) into so
        many.
    noise_share : array-like of shape (n_steps,) or Result, default=None
        As in :func:`verdict`.
    n_permutations : int, default=199
        Permutations behind the p-values; at least 19.
    permute_choice : bool, default=False
        Repeat the whole choice in each permutation, by refits: the p-value is then
        valid, for each candidate and for the best of all. Else permutations hold the
        setting fixed, which has seen all policies where it was chosen: p is somewhat
        too small, and the best of all has none.
    min_q2, significance_level, max_noise_share : float
        Conditions of the verdict; 0.25, 0.05 and 0.5 by default.
    confidence_level : float, default=0.9
        Of the bootstrap intervals of Q² over members (or groups). All candidates
        share the resamples.
    random_state : int, RandomState instance or None, default=None
        Randomness of folds, permutations, the bootstrap, and of candidates that have
        no random state of their own.
    n_jobs : int or None, default=None
        Processes. The result does not depend on it.
    progress : callable, callback or None, default=None
        Called with (parts done, all parts): searches, verdicts and permutations of
        the choice. An exception in it stops all processes. From scikit-learn 1.9 on
        also one of its callbacks, as in :func:`verdict`.
    outputs, standardize
        Of real outputs, as in :func:`verdict`.
    groups : array-like of shape (n_members,) or None, default=None
        Label of each member, as in scikit-learn. Members of one label are replicates:
        they stay in one fold, outer and inner, and give the share of training noise.

    Returns
    -------
    comparison : Result
        A table of candidates and steps; the best of all comes last. ``print`` gives it
        in words, ``to_frame`` as a table, ``settings_frame`` the search on all members
        with ``mean_score`` and ``std_score`` over the inner folds. Beside
        ``n_members`` and ``permuted_choice``:

        candidates : tuple of ResultRow
            In the order given; ``comparison[name]`` is the one of a name.
        best : ResultRow
            The candidate with the highest score on all members; the first of equals.
        best_of_all : ResultRow
            The choice among all candidates and settings as a procedure: its Q² is of
            outer folds that each made this choice anew. This, and not the largest Q²
            of the candidates, is what the choice is worth on other members. Its
            ``setting`` and ``pipeline`` are those of ``best``.
        settings : tuple of EmbeddingSetting
            All candidates × dimensions × degrees.
        scores : ndarray of shape (n_settings, n_inner_folds)
            Scores of the inner folds of all members.

        A row has:

        name : str
            Of the candidate; ``"best of all"`` for the choice among all of them.
        setting : EmbeddingSetting
            Dimension and degree chosen with all members; also ``dimension`` and
            ``degree``, NaN where taken as they are.
        score : float
            Mean score of that setting over the inner folds of all members:
            optimistic, as it made the choice.
        q2, q2_low, q2_high, p_value, noise_share, attributable, reasons : ndarray
            Of each step, from ``verdict``.
        verdict : Result
            Its Q² is nested: in every outer fold dimension and degree were chosen,
            and everything fitted, without the members that are held out.
        fixed, fixed_q2 : Result and ndarray of shape (n_steps,)
            The verdict on the same folds with ``setting`` held fixed, and its Q²:
            optimistic, as the members held out have taken part in its choice.
        choices : tuple of EmbeddingSetting
            What each outer fold chose.
        inputs : Result or None
            :func:`input_tests` of the inputs of the members of the fit; None where
            they are no numbers.
        held_out_inputs : Result or None
            The same for members that the embedding has not seen: matrices
            ``correlation`` and ``dependence_p_values`` (not adjusted over the pairs),
            ``normality_p_values`` of each input, ``n_members`` held out (replicates
            count once), ``largest_correlation``, ``smallest_dependence_p_value`` and
            ``smallest_normality_p_value``. The largest of many noisy correlations is
            to be read with the p-value.
        correlation, dependence_p, normality_p : float
            Largest and smallest figures of ``inputs``; with ``held_out_`` before the
            name those of ``held_out_inputs``.
        n_inputs : int
            Inputs of the last estimator.
        pipeline : Pipeline
            Of ``setting``, fitted to all members.

    Raises
    ------
    ValueError
        For bad arguments or rows of y that are no compositions, before any fit; for a
        setting that cannot be fitted to the members of an inner fold, or has no finite
        score there, naming it.

    See Also
    --------
    verdict : On one pipeline.
    input_tests : Behind dependence and normality.

    Notes
    -----
    The largest Q² of many candidates is too good (the winner's curse), and so is that
    of a setting that was chosen on the members that judge it (``fixed_q2``). Q² here is
    nested [1]_, [2]_. That of a candidate is still picked among several when it is the
    largest; that of ``best_of_all`` is not. Holm's method adjusts p-values over the
    steps, not over the candidates.

    With ``groups=None`` the nested Q² is that of :func:`verdict` of a GridSearchCV with
    the same splitters. An embedding is fitted once for all degrees: (outer folds + 1)
    × inner folds × dimensions fits of each candidate, and one more each fold.

    *Inputs of held-out members.* Each fold has its own embedding, and the directions
    of a PCA may turn round between them. Hence correlations :math:`r_f` are taken
    within the :math:`n_f` members of a fold and pooled without their signs,

    .. math::

        \hat\rho^2 = \frac{\sum_f n_f r_f'^2}{\sum_f n_f}, \qquad
        r_f'^2 = 1 - (1 - r_f^2) \frac{n_f - 1}{n_f - 2},

    at least 0; :math:`r_f'^2` has mean 0 for independent normal inputs. The test is
    :math:`\sum_f (n_f - 3) \operatorname{artanh}^2 r_f \sim \chi^2` with one degree
    of freedom a fold (Fisher's z). For normality (Shapiro-Wilk, all folds together)
    each input is standardised by mean and deviation of the fold's training members, as
    the surrogate does.

    References
    ----------
    .. [1] S. Varma and R. Simon, "Bias in error estimation when using cross-validation
       for model selection", BMC Bioinformatics 7 (2006).
    .. [2] G. C. Cawley and N. L. C. Talbot, "On over-fitting in model selection and
       subsequent selection bias in performance evaluation", Journal of Machine
       Learning Research 11 (2010).

    Examples
    --------
    Ten inputs vary a lot and two a little; the output depends on the two.

    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from sklearn.decomposition import PCA
    >>> from skpce import CompositionalPCESurrogate, LogRatioTransformer
    >>> from skpce.embedding import PLSTransformer
    >>> from skpce.inspection import compare_embeddings
    >>> X = np.random.default_rng(0).normal(size=(60, 12)) * np.r_[[3] * 10, 1, 1]
    >>> y = softmax(np.c_[X[:, 10:], np.zeros(60)], axis=1)
    >>> pls = PLSTransformer(target_transformer=LogRatioTransformer())
    >>> grid = {"dimensions": (1, 2), "degrees": (1,), "cv": 3, "inner_cv": 3}
    >>> found = compare_embeddings(
    ...     {"PCA": PCA(), "PLS": pls}, X, y, n_permutations=19, random_state=0, **grid
    ... )
    >>> print(found.best.setting)
    PLS, dimension 2, degree 1
    >>> bool(found["PCA"].q2[0] < 0.1), bool(found.best_of_all.q2[0] > 0.6)
    (True, True)
    """
    if surrogate is None:
        read = read_outputs(y, OWNER, outputs=outputs)
        of_policies = read.are_compositions
        kind = CompositionalPCESurrogate if of_policies else PolynomialChaosRegressor
        surrogate = kind(solver="ridge", distribution="normal")
    if isinstance(surrogate, type) or not all(
        hasattr(surrogate, method) for method in ("fit", "predict", "get_params")
    ):
        raise fail(OWNER, "surrogate", "an estimator that predicts, or None", surrogate)
    zero_replacement = getattr(final_estimator(surrogate)[1], "zero_replacement", 1e-12)
    conditions: dict[str, Any] = {
        "n_permutations": n_permutations,
        "min_q2": min_q2,
        "significance_level": significance_level,
        "max_noise_share": max_noise_share,
        "confidence_level": confidence_level,
        "zero_replacement": zero_replacement,
        "n_jobs": n_jobs,
    }
    check_arguments(closed_form=True, progress=progress, **conditions)
    check_boolean(OWNER, "permute_choice", permute_choice)
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise fail(OWNER, "scoring", "a str, a callable or None", scoring)
    reward = labels_of(OWNER, reward, groups, y)
    generator = make_generator(random_state)
    given = read_candidates(candidates, dimensions, degrees, surrogate, generator)
    scale: dict[str, Any] = {"outputs": outputs, "standardize": standardize}
    surrogate, y, _, _ = with_amalgamated(surrogate, y)
    table, policies, read, steps = read_members(
        surrogate, X, y, zero_replacement=zero_replacement, owner=OWNER, **scale
    )
    refuse_failed(read.coordinates(policies), "y")
    members = np.asarray(table)
    if bool((members[:1] == members).all()):
        raise ValueError("X has no column that varies; expected at least one.")
    every = np.arange(len(table)), np.arange(read.n_groups)
    fit = make_cross_fit(
        surrogate, table, policies, read, steps, *every, reward, cv, generator
    )
    given_shares(noise_share, read)  # refuses bad shares
    if noise_share is None and reward is not None:
        training_noise(fit, reward, confidence_level)  # refuses bad labels
    folds = NestedFolds.draw(fit.splits, inner_cv, fit.X, reward, generator)
    check_dimensions(given, folds.smallest_training)
    search = NestedSearch(
        tuple(replace(candidate, surrogate=fit.pipeline) for candidate in given),
        fit,
        folds,
        scoring,
    )
    seed = int(generator.integers(2**31 - 1))
    n_parts = len(given) * (len(folds.outer) + 2) + permute_choice * n_permutations
    counter = count(1)

    def done(_: Any = None) -> None:
        if progress is not None:
            progress(next(counter), n_parts)

    choices = search.choices(n_jobs, done)
    nested = search.nested_errors(n_jobs, done)
    deviations = fit.squared_deviations()
    shared = (deviations, fit.outputs, confidence_level)
    figures = np.array(  # shape: (n_candidates + 1, 3, n_steps), of the same resamples
        [
            bootstrap_q2(errors, *shared, np.random.default_rng(seed), reward)
            for errors in nested.errors
        ]
    )
    p_values: Any = [None] * len(figures)  # those of the fixed setting
    if permute_choice:
        orders = Permutations.draw(
            len(fit.X), reward, n_permutations, np.random.default_rng(seed)
        )
        permuted = search.permuted_q2(orders, deviations, n_jobs, done)
        pairs = zip(figures[:, 0], permuted.swapaxes(0, 1), strict=True)
        p_values = [holm(permutation_p_values(*pair)) for pair in pairs]
    elif sum(len(candidate.settings) for candidate in given) > 1:
        p_values[-1] = np.full(figures.shape[2], np.nan)
    limits = (min_q2, significance_level, max_noise_share)
    mask = "infer" if read.geometry is None else read.geometry.mask
    whole = with_parameters(surrogate, mask=mask)
    rows: list[dict[str, Any]] = []
    for row, (candidate, choice) in enumerate(zip(given, choices, strict=True)):
        fixed = verdict(
            search.candidates[row].pipeline(choice.setting),
            *(fit.X, fit.y, reward),
            mask=mask,
            noise_share=noise_share,
            cv=list(folds.outer),
            random_state=seed,
            **(conditions | scale),
        )
        chosen = not permute_choice and len(candidate.settings) > 1
        notes = (_FIXED_SETTING,) if chosen else ()
        judged = _nested_verdict(fixed, figures[row], p_values[row], limits, notes)
        found = _fitted_to_all(replace(candidate, surrogate=whole), choice, fit, reward)
        verdicts = {"verdict": judged, "fixed": fixed, "choices": nested.choices[row]}
        rows.append(found | verdicts)
        done()
    best = int(np.argmax([choice.score for choice in choices]))
    judged = _nested_verdict(rows[best]["fixed"], figures[-1], p_values[-1], limits)
    procedure = {"verdict": judged, "choices": nested.choices[-1]}
    rows.append(rows[best] | {"name": BEST_OF_ALL} | procedure)
    table = _table(rows, rows[best]["setting"], len(fit.X), permute_choice)
    settings = [one for candidate in given for one in candidate.settings]
    scores = np.concatenate([choice.scores for choice in choices])
    return replace(
        table,
        figures={
            "candidates": table.rows[:-1],
            "best": table.rows[best],
            "best_of_all": table.rows[-1],
            "settings": tuple(settings),
            "scores": scores,
            "n_members": len(fit.X),
            "permuted_choice": bool(permute_choice),
        },
        tables={"settings": _table_of_settings(settings, scores)},
    )


_FIXED_SETTING = (
    "the p-values hold the setting fixed that was chosen among several with all "
    "policies: they are somewhat too small; permute_choice=True repeats the choice"
)


def _nested_verdict(
    fixed: Result,
    figures: FloatArray,  # shape: (3, n_steps)
    p_values: FloatArray | None,  # shape: (n_steps,); None takes those of ``fixed``
    limits: tuple[float, float, float],
    notes: tuple[str, ...] = (),
) -> Result:
    """Put nested figures into the verdict on a setting that was held fixed."""
    q2, low, high = figures
    p_values = fixed.p_value if p_values is None else p_values
    reasons = []
    (key,) = fixed.keys
    corrected = corrected_for(p_values, NOUNS[key])
    for each, p_value, noise in zip(q2, p_values, fixed.noise_share, strict=True):
        failed = failed_conditions(each, p_value, noise, limits, corrected)
        if np.isnan(p_value) and not np.isnan(each):
            failed += ("the choice was not permuted; permute_choice=True does so",)
        reasons.append(failed)
    nested = {"q2": q2, "q2_low": low, "q2_high": high, "p_value": p_values}
    return verdict_table(
        fixed.step_names,
        {**fixed.columns, **nested},
        reasons,
        {**fixed.figures, "cautions": (*fixed.cautions, *notes)},
    )


def _fitted_to_all(
    candidate: Candidate, choice: Choice, fit: CrossFit, reward: Any
) -> dict[str, Any]:
    """Fit the chosen setting to all members and test its inputs."""
    once = without_replicates(len(fit.X), reward)
    pipeline = candidate.pipeline(choice.setting)
    model = quiet_fit(pipeline, fit.X, fit.y)
    return {
        "name": candidate.name,
        "setting": choice.setting,
        "score": choice.score,
        "inputs": fitted_inputs(model, take(fit.X, once))[0],
        "held_out_inputs": held_out_inputs(pipeline, fit.X, fit.y, fit.splits, once),
        "n_inputs": int(np.shape(last_and_inputs(model, fit.X)[1])[1]),
        "pipeline": model,
    }


def _table(
    rows: Sequence[dict[str, Any]],  # of the candidates, and of the best of all
    best: EmbeddingSetting,
    n_members: int,
    permuted_choice: bool,
) -> Result:
    """Put the candidates side by side."""
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    verdicts = columns["verdict"]
    for name in ("q2", "q2_low", "q2_high", "p_value", "noise_share", "attributable"):
        columns[name] = np.array([getattr(one, name) for one in verdicts])
    columns["fixed_q2"] = np.array([one.q2 for one in columns["fixed"]])
    columns["reasons"] = np.array(
        [["; ".join(reasons) for reasons in one.reasons] for one in verdicts],
        dtype=object,
    )
    columns |= _columns_of_settings(columns["setting"])
    tested = [_input_figures(row["inputs"], row["held_out_inputs"]) for row in rows]
    columns |= {name: np.array([one[name] for one in tested]) for name in tested[0]}
    *words, words_of_best = map(_in_words, rows, tested)
    chosen = Counter(choice.candidate for choice in columns["choices"][-1])
    votes = ", ".join(f"{name} in {n}" for name, n in chosen.most_common())
    kind = (
        "of the whole choice"
        if permuted_choice
        else "with the settings held fixed; those chosen among several are somewhat "
        "too small"
    )
    return Result(
        {"candidate": tuple(columns["name"]), "step": verdicts[0].step_names},
        columns,
        title=f"{best} has the best score, with {n_members} members.",
        notes=(
            f"The best of all, chosen anew in each of {chosen.total()} outer folds "
            f"({votes}): {words_of_best}",
            *(f"- {candidate}" for candidate in words),
            f"p-values are {kind}.",
        ),
        framed=_FRAMED,
    )


def _input_figures(fit: Result | None, new: Result | None) -> dict[str, float]:
    """Return dependence and normality, of the fit and of held-out members."""
    nan = float("nan")
    figures = {
        "correlation": nan if fit is None else abs(fit.largest("pearson")),
        "held_out_correlation": nan if new is None else new.largest_correlation,
    }
    for kind in ("dependence", "normality"):
        for prefix, tests in (("", fit), ("held_out_", new)):
            name = f"smallest_{kind}_p_value"
            figures[f"{prefix}{kind}_p"] = getattr(tests, name, nan)
    return figures


def _in_words(row: dict[str, Any], tested: dict[str, float]) -> str:
    """Say what a candidate, or the best of all, is worth."""
    found = row["verdict"]
    steps = ", ".join(
        f"{name} {row.q2:z.2f} [{row.q2_low:z.2f}, {row.q2_high:z.2f}]"
        for name, row in zip(found.step_names, found.rows, strict=True)
    )
    good = [
        name
        for name, supported in zip(found.step_names, found.attributable, strict=True)
        if supported
    ]
    worth = f"Q² {steps}; attributable: {', '.join(good) or 'no step'}"
    if row["name"] == BEST_OF_ALL:
        known = not np.isnan(found.p_value).all()
        return f"{worth}." if known else f"Q² {steps}; not tested."
    tests = (
        "largest correlation {correlation:.2f} (held out {held_out_correlation:.2f}, "
        "p = {held_out_dependence_p:.2g}), normality p = {normality_p:.2g} (held out "
        "{held_out_normality_p:.2g})."
    ).format(**tested)
    return f"{row['setting']}: {worth}; {tests}"


def _columns_of_settings(settings: Sequence[EmbeddingSetting]) -> dict[str, Any]:
    """Return dimensions and degrees as numbers; NaN for what is taken as it is."""

    def numbers(values: Iterable[int | None]) -> Any:
        found = np.array(list(values))
        return found if found.dtype.kind == "i" else found.astype(np.float64)

    return {
        "dimension": numbers(setting.dimension for setting in settings),
        "degree": numbers(setting.degree for setting in settings),
    }


def _table_of_settings(
    settings: Sequence[EmbeddingSetting],
    scores: FloatArray,  # shape: (n_settings, n_inner_folds)
) -> Result:
    """Return the search on all members, one row per setting."""
    columns = {
        "candidate": np.array([setting.candidate for setting in settings]),
        **_columns_of_settings(settings),
        "mean_score": scores.mean(axis=1),
        "std_score": scores.std(axis=1),
    }
    return Result({"setting": settings}, columns, framed=tuple(columns))
