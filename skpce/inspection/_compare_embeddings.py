"""Which embedding, of how many inputs, with which degree behind it?"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .._checks import check_boolean, fail, make_generator
from .._fitted_pipeline import last_and_inputs
from .._surrogate import CompositionalPCESurrogate
from ._compare_embeddings_candidates import (
    BEST_OF_ALL,
    OWNER,
    Candidate,
    EmbeddingSetting,
    innermost,
    read_candidates,
)
from ._compare_embeddings_inputs import fitted_inputs, held_out_inputs
from ._compare_embeddings_result import ComparedEmbedding, EmbeddingComparison
from ._compare_embeddings_search import Choice, NestedFolds, NestedSearch
from ._compare_embeddings_verdict import NestedJudge
from ._cross_fit import CrossFit, with_parameters
from ._variance_decomposition_result import VarianceDecomposition
from ._verdict import (
    _as_table,
    _check_arguments,
    _make_cross_fit,
    _training_noise,
    verdict,
)
from ._verdict_result import Verdict


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
    noise_share: ArrayLike | VarianceDecomposition | None = None,
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
    noise_share : array-like of shape (n_steps,) or VarianceDecomposition, default=None
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
    _check_surrogate(surrogate)
    conditions: dict[str, Any] = {
        "n_permutations": n_permutations,
        "min_q2": min_q2,
        "significance_level": significance_level,
        "max_noise_share": max_noise_share,
        "confidence_level": confidence_level,
        "zero_replacement": getattr(innermost(surrogate)[1], "zero_replacement", 1e-12),
        "n_jobs": n_jobs,
    }
    _check_arguments(closed_form=True, progress=progress, **conditions)
    check_boolean(OWNER, "permute_choice", permute_choice)
    _check_scoring(scoring)
    inputs: Any = X if hasattr(X, "iloc") else np.asarray(X)
    policies: Any = y if hasattr(y, "columns") else _as_table(y)
    if len(inputs) != len(policies):
        raise ValueError(f"X has {len(inputs)} members but y has {len(policies)}.")
    generator = make_generator(random_state)
    asked = read_candidates(candidates, dimensions, degrees, surrogate, generator)
    replacement = conditions["zero_replacement"]
    fit = _folds_and_steps(
        surrogate, inputs, policies, reward, cv, replacement, generator
    )
    _training_noise(fit, reward, noise_share, confidence_level)  # refuses bad shares
    folds = NestedFolds.draw(fit.splits, inner_cv, inputs, reward, generator)
    _check_dimensions(asked, folds.smallest_training)
    search = NestedSearch(
        tuple(replace(candidate, surrogate=fit.pipeline) for candidate in asked),
        inputs,
        policies,
        folds,
        scoring,
        fit.geometry,
        fit.zero_replacement,
    )
    seed = int(generator.integers(2**31 - 1))
    done = _told(
        progress,
        len(asked) * (len(folds.outer) + 2) + permute_choice * n_permutations,
    )
    choices = search.choices(n_jobs, done)
    nested = search.nested_errors(n_jobs, done)
    deviations = fit.squared_deviations()
    limits = (min_q2, significance_level, max_noise_share)
    judge = NestedJudge.of(
        search, nested, deviations, reward, confidence_level, limits, seed
    )
    if permute_choice:
        judge = judge.with_permuted_choice(
            search, deviations, reward, n_permutations, seed, n_jobs, done
        )
    whole = with_parameters(surrogate, mask=fit.geometry.mask)
    rows = []
    for row, choice in enumerate(choices):
        fixed = verdict(
            search.candidates[row].pipeline(choice.setting),
            inputs,
            policies,
            reward,
            steps=_steps_of(surrogate),
            mask=fit.geometry.mask,
            noise_share=noise_share,
            cv=list(folds.outer),
            random_state=seed,
            **conditions,
        )
        rows.append(
            _compared(
                search,
                replace(asked[row], surrogate=whole),
                choice,
                fixed,
                judge.verdict_of(row, fixed),
                nested.choices[row],
                reward,
            )
        )
        done()
    best = rows[int(np.argmax([choice.score for choice in choices]))]
    return EmbeddingComparison(
        candidates=tuple(rows),
        best_of_all=replace(
            best,
            name=BEST_OF_ALL,
            verdict=judge.verdict_of(len(rows), best.fixed),
            choices=nested.choices[-1],
        ),
        settings=tuple(one for candidate in asked for one in candidate.settings),
        scores=np.concatenate([choice.scores for choice in choices]),
        n_members=len(inputs),
        permuted_choice=bool(permute_choice),
    )


def _steps_of(surrogate: Any) -> Any:
    """Return the steps that a surrogate was told; None where y has to tell."""
    last = innermost(surrogate)[1]
    return None if isinstance(last, Pipeline) else getattr(last, "steps", None)


def _folds_and_steps(
    surrogate: Any,
    X: Any,
    y: Any,
    reward: Any,
    cv: Any,
    zero_replacement: float,
    generator: np.random.Generator,
) -> CrossFit:
    """Draw the outer folds, read the steps, and tell them to the surrogate."""
    mask = getattr(innermost(surrogate)[1], "mask", None)
    return _make_cross_fit(
        surrogate,
        X,
        y,
        reward,
        _steps_of(surrogate),
        "infer" if mask is None else mask,
        cv,
        zero_replacement,
        generator,
    )


def _check_surrogate(surrogate: Any) -> None:
    if isinstance(surrogate, type) or not all(
        hasattr(surrogate, method) for method in ("fit", "predict", "get_params")
    ):
        raise fail(OWNER, "surrogate", "an estimator that predicts, or None", surrogate)


def _check_scoring(scoring: Any) -> None:
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise fail(OWNER, "scoring", "a str, a callable or None", scoring)


def _check_dimensions(candidates: tuple[Candidate, ...], n_training: int) -> None:
    """Refuse more inputs than members that an inner fold trains on."""
    for candidate in candidates:
        for dimension in candidate.dimensions:
            if dimension is not None and dimension > n_training:
                raise ValueError(
                    f"Candidate {candidate.name!r} is to have {dimension} inputs, but "
                    f"the smallest training set of an inner fold has {n_training} "
                    "members; give smaller dimensions, or more folds."
                )


def _told(
    progress: Callable[[int, int], None] | None, n_parts: int
) -> Callable[[], None]:
    """Return what counts a part and tells of it."""
    counter = itertools.count(1)

    def done() -> None:
        if progress is not None:
            progress(next(counter), n_parts)

    return done


def _compared(
    search: NestedSearch,
    candidate: Candidate,
    choice: Choice,
    fixed: Verdict,
    nested: Verdict,
    choices: tuple[EmbeddingSetting, ...],
    reward: Any,
) -> ComparedEmbedding:
    """Fit the chosen setting to all members and test its inputs."""
    once = np.arange(len(search.X))
    if reward is not None:
        once = np.unique(np.asarray(reward), return_index=True)[1]
    pipeline = candidate.pipeline(choice.setting)
    model = clone(pipeline).fit(search.X, search.y)
    return ComparedEmbedding(
        name=candidate.name,
        setting=choice.setting,
        score=choice.score,
        verdict=nested,
        fixed=fixed,
        choices=choices,
        inputs=fitted_inputs(model, search.X, once),
        held_out_inputs=held_out_inputs(
            pipeline, search.X, search.y, search.folds.outer, once
        ),
        n_inputs=int(np.shape(last_and_inputs(model, search.X)[1])[1]),
        pipeline=model,
    )
