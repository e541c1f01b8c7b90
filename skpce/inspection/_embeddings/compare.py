"""Which embedding, of how many inputs, with which degree behind it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..._checks import (
    FloatArray,
    check_boolean,
    fail,
    import_pandas,
    make_generator,
)
from ..._surrogate import CompositionalPCESurrogate
from .._cross_fit import (
    CrossFit,
    Permutations,
    Split,
    bootstrap_q2,
    step_q2,
    take,
    with_parameters,
)
from .._input_tests import fitted_inputs
from .._reading import final_estimator, last_and_inputs
from .._result import Result
from .._verdict import (
    _as_table,
    _check_arguments,
    _make_cross_fit,
    _training_noise,
    failed_conditions,
    holm,
    table_of_steps,
    verdict,
)
from .held_out import HeldOutInputs, held_out_inputs
from .search import (
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
) -> EmbeddingComparison:
    """Choose among embeddings, dimensions and degrees; say what the choice is worth.

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
        Label of the reward of each member. Members of one reward are replicates: they
        stay in one fold, outer and inner, and give the share of training noise.
    dimensions : sequence of int or dict of str to sequence, default=(2, 5, 10)
        Numbers of inputs to choose from. A dict gives them by candidate; one that it
        does not name is taken as it is.
    degrees : sequence of int or None, default=(1, 2)
        Degrees of the surrogate to choose from; None takes it as it is.
    surrogate : estimator or None, default=None
        Predicts compositions from the embedding. None is a
        :class:`skpce.CompositionalPCESurrogate`. Its ``steps`` and ``mask`` say what
        the columns of y are.
    scoring : str, callable or None, default=None
        What the inner folds maximise, as in scikit-learn. None takes the pipeline's
        ``score``: D² of the Kullback-Leibler deviance. It is one number for all
        steps, which the steps of most variance decide.
        :func:`skpce.metrics.aitchison_scorer` chooses by the error that Q² counts.
    cv, inner_cv : int or cross-validation splitter, default=5
        Outer and inner folds. An int shuffles the members (or the rewards) into so
        many.
    noise_share : array-like of shape (n_steps,) or Result, default=None
        Share of training noise per step, as in :func:`verdict`.
    n_permutations : int, default=199
        Permutations behind the p-values; at least 19.
    permute_choice : bool, default=False
        Repeat the whole choice in each permutation, by refits: the p-value is then
        valid, for each candidate and for the best of all. Else permutations keep the
        setting chosen among several, which has seen all policies: p is somewhat too
        small, and the best of all has none.
    min_q2, significance_level, max_noise_share : float
        Conditions of the verdict; 0.25, 0.05 and 0.5 by default.
    confidence_level : float, default=0.9
        Of the bootstrap intervals of Q² over members (or rewards). All candidates
        share the resamples.
    random_state : int, RandomState instance or None, default=None
        Randomness of folds, permutations, the bootstrap, and of candidates that have
        no random state of their own.
    n_jobs : int or None, default=None
        Processes. The result does not depend on it.
    progress : callable or None, default=None
        Called with (parts done, all parts): searches, verdicts and permutations of
        the choice. An exception in it stops all processes.

    Returns
    -------
    comparison : EmbeddingComparison
        ``print`` gives it in words, ``to_frame`` as a table; ``best`` is the candidate
        chosen with all members, ``best_of_all`` what that choice is worth.

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
    The largest Q² of many candidates is too good, by luck of the members at hand (the
    winner's curse), and so is the Q² of a setting that was chosen on the members that
    judge it (``fixed_q2``). Q² here is nested [1]_, [2]_. That of a candidate is still
    picked among several when it is the largest; that of ``best_of_all`` is not. Nor
    are p-values adjusted over the candidates: Holm's method is over the steps.

    With ``reward=None`` the nested Q² is that of :func:`verdict` of a GridSearchCV with
    the same splitters. An embedding is fitted once for all degrees: (outer folds + 1)
    × inner folds × dimensions fits of each candidate, and one more each fold.

    References
    ----------
    .. [1] S. Varma and R. Simon, "Bias in error estimation when using cross-validation
       for model selection", BMC Bioinformatics 7 (2006).
    .. [2] G. C. Cawley and N. L. C. Talbot, "On over-fitting in model selection and
       subsequent selection bias in performance evaluation", Journal of Machine
       Learning Research 11 (2010).

    Examples
    --------
    Ten entries of a reward vary a lot and two a little; the policy feels these two.

    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from sklearn.decomposition import PCA
    >>> from skpce import CompositionalPCESurrogate, LogRatioTransformer
    >>> from skpce.embedding import PLSTransformer
    >>> from skpce.inspection import compare_embeddings
    >>> X = np.random.default_rng(0).normal(size=(60, 12)) * np.r_[[3] * 10, 1, 1]
    >>> y = softmax(np.c_[X[:, 10:], np.zeros(60)], axis=1)
    >>> pls = PLSTransformer(target_transformer=LogRatioTransformer())
    >>> found = compare_embeddings(
    ...     {"PCA": PCA(), "PLS": pls},
    ...     X,
    ...     y,
    ...     dimensions=(1, 2),
    ...     degrees=(1,),
    ...     cv=3,
    ...     inner_cv=3,
    ...     n_permutations=19,
    ...     random_state=0,
    ... )
    >>> print(found.best.setting)
    PLS, dimension 2, degree 1
    >>> bool(found["PCA"].q2[0] < 0.1), bool(found.best_of_all.q2[0] > 0.6)
    (True, True)
    """
    surrogate = CompositionalPCESurrogate() if surrogate is None else surrogate
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
    _check_arguments(closed_form=True, progress=progress, **conditions)
    check_boolean(OWNER, "permute_choice", permute_choice)
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise fail(OWNER, "scoring", "a str, a callable or None", scoring)
    inputs: Any = X if hasattr(X, "iloc") else np.asarray(X)
    policies: Any = y if hasattr(y, "columns") else _as_table(y)
    if len(inputs) != len(policies):
        raise ValueError(f"X has {len(inputs)} members but y has {len(policies)}.")
    generator = make_generator(random_state)
    given = read_candidates(candidates, dimensions, degrees, surrogate, generator)
    data = (inputs, policies, reward)
    fit = _make_cross_fit(
        surrogate, *data, None, "infer", cv, zero_replacement, generator
    )
    _training_noise(fit, reward, noise_share, confidence_level)  # refuses bad shares
    folds = NestedFolds.draw(fit.splits, inner_cv, inputs, reward, generator)
    check_dimensions(given, folds.smallest_training)
    search = NestedSearch(
        tuple(replace(candidate, surrogate=fit.pipeline) for candidate in given),
        fit,
        folds,
        scoring,
    )
    seed = int(generator.integers(2**31 - 1))
    n_parts = len(given) * (len(folds.outer) + 2) + permute_choice * n_permutations
    done = _reporting(progress, n_parts)
    choices = search.choices(n_jobs, done)
    nested = search.nested_errors(n_jobs, done)
    deviations = fit.squared_deviations()
    figures = [
        _nested_figures(fit, errors, deviations, reward, confidence_level, seed)
        for errors in nested.errors
    ]
    p_values: Any = [None] * len(figures)  # those of the fixed setting
    if permute_choice:
        draws = Permutations.draw(
            len(inputs), reward, n_permutations, np.random.default_rng(seed)
        )
        permuted = search.permuted_q2(draws, deviations, n_jobs, done)
        p_values = _p_values(np.array(figures)[:, 0], permuted)
    elif sum(len(candidate.settings) for candidate in given) > 1:
        p_values[-1] = np.full(len(figures[-1][0]), np.nan)
    limits = (min_q2, significance_level, max_noise_share)
    whole = with_parameters(surrogate, mask=fit.geometry.mask)
    rows = []
    for row, (candidate, choice) in enumerate(zip(given, choices, strict=True)):
        fixed = verdict(
            search.candidates[row].pipeline(choice.setting),
            *data,
            mask=fit.geometry.mask,
            noise_share=noise_share,
            cv=list(folds.outer),
            random_state=seed,
            **conditions,
        )
        flatters = not permute_choice and len(candidate.settings) > 1
        notes = (_FIXED_CAUTION,) if flatters else ()
        judged = _nested_verdict(fixed, figures[row], p_values[row], limits, notes)
        final = replace(candidate, surrogate=whole)
        rows.append(
            _compared(
                final, choice, judged, fixed, nested.choices[row], *data, folds.outer
            )
        )
        done()
    best = rows[int(np.argmax([choice.score for choice in choices]))]
    judged = _nested_verdict(best.fixed, figures[-1], p_values[-1], limits)
    return EmbeddingComparison(
        candidates=tuple(rows),
        best_of_all=replace(
            best, name=BEST_OF_ALL, verdict=judged, choices=nested.choices[-1]
        ),
        settings=tuple(one for candidate in given for one in candidate.settings),
        scores=np.concatenate([choice.scores for choice in choices]),
        n_members=len(inputs),
        permuted_choice=bool(permute_choice),
    )


def _reporting(
    progress: Callable[[int, int], None] | None, n_parts: int
) -> Callable[[], None]:
    """Return what counts the parts that are done and reports them."""
    counter = count(1)

    def done() -> None:
        if progress is not None:
            progress(next(counter), n_parts)

    return done


def _nested_figures(
    fit: CrossFit,
    errors: FloatArray,
    deviations: FloatArray,
    reward: Any,
    confidence_level: float,
    seed: int,
) -> FloatArray:  # shape: (3, n_steps)
    """Return Q² and its interval; all candidates share the resamples."""
    generator = np.random.default_rng(seed)
    interval = bootstrap_q2(
        errors, deviations, fit.geometry, confidence_level, generator, reward
    )
    return np.vstack([step_q2(errors, deviations, fit.geometry), interval])


def _p_values(
    q2: FloatArray,  # shape: (n_candidates + 1, n_steps)
    permuted: FloatArray,  # shape: (n_permutations, n_candidates + 1, n_steps)
) -> FloatArray:  # shape: (n_candidates + 1, n_steps)
    """Return p-values with Holm's adjustment over the steps."""
    found = (1 + np.sum(permuted >= q2, axis=0)) / (1 + len(permuted))
    return np.array([holm(row) for row in np.where(np.isnan(q2), np.nan, found)])


_FIXED_CAUTION = (
    "the p-values keep the setting fixed that was chosen among several with all "
    "policies: they are somewhat too small; permute_choice=True repeats the choice"
)
_UNTESTED = "the choice was not permuted; permute_choice=True does so"


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
    for each, p_value, noise in zip(q2, p_values, fixed.noise_share, strict=True):
        untested = np.isnan(p_value) and not np.isnan(each)
        failed = failed_conditions(each, p_value, noise, limits)
        reasons.append((*failed, _UNTESTED) if untested else failed)
    nested = {"q2": q2, "q2_low": low, "q2_high": high, "p_value": p_values}
    return table_of_steps(
        fixed.step_names,
        {**fixed.columns, **nested},
        reasons,
        {**fixed.figures, "cautions": (*fixed.cautions, *notes)},
    )


def _compared(
    candidate: Candidate,
    choice: Choice,
    judged: Result,
    fixed: Result,
    choices: tuple[EmbeddingSetting, ...],
    X: Any,
    y: Any,
    reward: Any,
    splits: Sequence[Split],
) -> ComparedEmbedding:
    """Fit the chosen setting to all members and test its inputs."""
    once = np.arange(len(X))
    if reward is not None:
        once = np.unique(np.asarray(reward), return_index=True)[1]
    pipeline = candidate.pipeline(choice.setting)
    model = clone(pipeline).fit(X, y)
    return ComparedEmbedding(
        name=candidate.name,
        setting=choice.setting,
        score=choice.score,
        verdict=judged,
        fixed=fixed,
        choices=choices,
        inputs=fitted_inputs(model, take(X, once))[0],
        held_out_inputs=held_out_inputs(pipeline, X, y, splits, once),
        n_inputs=int(np.shape(last_and_inputs(model, X)[1])[1]),
        pipeline=model,
    )


@dataclass(frozen=True, eq=False)
class ComparedEmbedding:
    """One candidate of a comparison; from :func:`compare_embeddings`.

    Parameters
    ----------
    name : str
        Of the candidate; ``"best of all"`` for the choice among all of them.
    setting : EmbeddingSetting
        Dimension and degree chosen with all members.
    score : float
        Mean score of that setting over the inner folds of all members. It made the
        choice, so it flatters.
    verdict : Result
        Its Q² is nested: in every outer fold dimension and degree were chosen, and
        everything fitted, without the members that are held out.
    fixed : Result
        On the same folds with ``setting`` held fixed. The members held out have taken
        part in its choice, so it flatters.
    choices : tuple of EmbeddingSetting
        What each outer fold chose.
    inputs : InputTests or None
        Dependence and laws of the inputs of the members of the fit; None where the
        inputs are no numbers.
    held_out_inputs : HeldOutInputs or None
        The same for members that the embedding has not seen.
    n_inputs : int
        Inputs of the last estimator.
    pipeline : Pipeline
        Of ``setting``, fitted to all members.
    """

    name: str
    setting: EmbeddingSetting
    score: float
    verdict: Result
    fixed: Result = field(repr=False)
    choices: tuple[EmbeddingSetting, ...]
    inputs: Result | None = field(repr=False)
    held_out_inputs: HeldOutInputs | None = field(repr=False)
    n_inputs: int
    pipeline: Any = field(repr=False)

    @property
    def q2(self) -> FloatArray:
        """Nested Q² per step."""
        return np.array([step.q2 for step in self.verdict.steps])

    @property
    def fixed_q2(self) -> FloatArray:
        """Q² per step with the setting held fixed."""
        return np.array([step.q2 for step in self.fixed.steps])

    def _input_figures(self) -> dict[str, float]:
        """Return dependence and normality, of the fit and of held-out members."""
        nan = float("nan")
        fit, new = self.inputs, self.held_out_inputs
        return {
            "correlation": nan if fit is None else abs(fit.largest("pearson")),
            "held_out_correlation": nan if new is None else new.largest_correlation,
            "dependence_p": nan if fit is None else fit.smallest_dependence_p_value,
            "held_out_dependence_p": (
                nan if new is None else new.smallest_dependence_p_value
            ),
            "normality_p": (nan if fit is None else fit.smallest_normality_p_value),
            "held_out_normality_p": (
                nan if new is None else new.smallest_normality_p_value
            ),
        }

    def __str__(self) -> str:
        steps = ", ".join(
            f"{step.step} {step.q2:.2f} [{step.q2_low:.2f}, {step.q2_high:.2f}]"
            for step in self.verdict.steps
        )
        good = [step.step for step in self.verdict.steps if step.attributable]
        if self.name == BEST_OF_ALL:
            if all(np.isnan(step.p_value) for step in self.verdict.steps):
                return f"Q² {steps}; not tested."
            return f"Q² {steps}; attributable: {', '.join(good) or 'no step'}."
        figures = self._input_figures()
        return (
            f"{self.setting}: Q² {steps}; attributable: "
            f"{', '.join(good) or 'no step'}; largest correlation "
            f"{figures['correlation']:.2f} (held out "
            f"{figures['held_out_correlation']:.2f}, p = "
            f"{figures['held_out_dependence_p']:.2g}), normality p = "
            f"{figures['normality_p']:.2g} (held out "
            f"{figures['held_out_normality_p']:.2g})."
        )


@dataclass(frozen=True, eq=False)
class EmbeddingComparison:
    """Candidates side by side; from :func:`compare_embeddings`.

    Parameters
    ----------
    candidates : tuple of ComparedEmbedding
        In the order given.
    best_of_all : ComparedEmbedding
        The choice among all candidates and settings as a procedure: its Q² is of
        outer folds that each made this choice anew. This, and not the largest Q² of
        the candidates, is what the choice is worth on other members. Its ``setting``
        and ``pipeline`` are those of ``best``.
    settings : tuple of EmbeddingSetting
        All candidates × dimensions × degrees.
    scores : ndarray of shape (n_settings, n_inner_folds)
        Scores of the inner folds of all members.
    n_members : int
        Size of the ensemble.
    permuted_choice : bool
        Whether the p-values come from repeating the whole choice.
    """

    candidates: tuple[ComparedEmbedding, ...]
    best_of_all: ComparedEmbedding
    settings: tuple[EmbeddingSetting, ...]
    scores: FloatArray = field(repr=False)
    n_members: int
    permuted_choice: bool

    @property
    def best(self) -> ComparedEmbedding:
        """The candidate with the highest score on all members; the first of equals."""
        return self[self.best_of_all.setting.candidate]

    def __getitem__(self, name: str) -> ComparedEmbedding:
        for candidate in (*self.candidates, self.best_of_all):
            if candidate.name == name:
                return candidate
        known = ", ".join(repr(candidate.name) for candidate in self.candidates)
        raise KeyError(f"{name!r} is no candidate; there are {known}.")

    def __str__(self) -> str:
        chosen = Counter(choice.candidate for choice in self.best_of_all.choices)
        folds = len(self.best_of_all.choices)
        votes = ", ".join(f"{name} in {n}" for name, n in chosen.most_common())
        kind = (
            "of the whole choice"
            if self.permuted_choice
            else "with the settings held fixed; those chosen among several are "
            "somewhat too small"
        )
        lines = [
            f"{self.best.setting} has the best score, with {self.n_members} members.",
            f"The best of all, chosen anew in each of {folds} outer folds ({votes}): "
            f"{self.best_of_all}",
            *(f"- {candidate}" for candidate in self.candidates),
            f"p-values are {kind}.",
        ]
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return one row per candidate and step; the best of all comes last.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``candidate``, ``dimension``, ``degree``, ``n_inputs``, ``score``;
            ``step``, ``q2``, ``q2_low``, ``q2_high`` (nested), ``fixed_q2``,
            ``p_value``, ``noise_share``, ``attributable``, ``reasons``; largest
            ``correlation`` of two inputs, smallest p-values of dependence and
            normality, each also with ``held_out_`` before it. Needs pandas.
        """
        rows = []
        for each in (*self.candidates, self.best_of_all):
            for step, fixed in zip(each.verdict.steps, each.fixed_q2, strict=True):
                rows.append(
                    {
                        "candidate": each.name,
                        "dimension": each.setting.dimension,
                        "degree": each.setting.degree,
                        "n_inputs": each.n_inputs,
                        "score": each.score,
                        "step": step.step,
                        "q2": step.q2,
                        "q2_low": step.q2_low,
                        "q2_high": step.q2_high,
                        "fixed_q2": fixed,
                        "p_value": step.p_value,
                        "noise_share": step.noise_share,
                        "attributable": step.attributable,
                        "reasons": "; ".join(step.reasons),
                        **each._input_figures(),
                    }
                )
        return import_pandas().DataFrame(rows)

    def settings_frame(self) -> Any:
        """Return one row per setting: the search on all members.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``candidate``, ``dimension``, ``degree``, ``mean_score`` and
            ``std_score`` over the inner folds. Needs pandas.
        """
        return import_pandas().DataFrame(
            {
                "candidate": [setting.candidate for setting in self.settings],
                "dimension": [setting.dimension for setting in self.settings],
                "degree": [setting.degree for setting in self.settings],
                "mean_score": self.scores.mean(axis=1),
                "std_score": self.scores.std(axis=1),
            }
        )
