"""Which embedding, of how many inputs, with which degree behind it?"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from .._checks import (
    FloatArray,
    IndexArray,
    check_boolean,
    check_integer,
    fail,
    import_pandas,
    make_generator,
)
from .._compositions.log_ratio import LogRatioGeometry, clr_of
from .._surrogate import CompositionalPCESurrogate
from ._cross_fit import (
    CrossFit,
    Permutations,
    Split,
    _stopping,
    bootstrap_q2,
    final_estimator,
    step_q2,
    take,
    with_parameters,
)
from ._input_tests import input_tests, smallest_p_value
from ._reading import last_and_inputs
from ._result import Result
from ._reward_groups import make_splits
from ._verdict import (
    _as_table,
    _check_arguments,
    _make_cross_fit,
    _training_noise,
    failed_conditions,
    holm,
    table_of_steps,
    verdict,
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
    fixed: Result,
    nested: Result,
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


OWNER = "compare_embeddings"

#: Stands for the choice among all candidates, in tables.
BEST_OF_ALL = "best of all"


@dataclass(frozen=True)
class EmbeddingSetting:
    """What is chosen: an embedding, its dimension, the degree behind it.

    Parameters
    ----------
    candidate : str
        Name of the embedding.
    dimension : int or None
        Number of inputs that was asked for; None for an embedding that is taken as it
        is.
    degree : int or None
        Degree of the surrogate; None for a surrogate that is taken as it is.
    """

    candidate: str
    dimension: int | None
    degree: int | None

    def __str__(self) -> str:
        parts = [self.candidate]
        if self.dimension is not None:
            parts.append(f"dimension {self.dimension}")
        if self.degree is not None:
            parts.append(f"degree {self.degree}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Candidate:
    """One embedding with its grid, and the surrogate behind it.

    Parameters
    ----------
    name : str
        Name of the embedding.
    embedding : transformer or "passthrough"
        Not fitted; cloned.
    dimension_parameter : str or None
        Its parameter that takes the dimension; None leaves the embedding as it is.
    dimensions : tuple of int or (None,)
        What that parameter may be.
    surrogate : estimator
        Not fitted; cloned.
    degree_parameter : str or None
        Its parameter that takes the degree.
    degrees : tuple of int or (None,)
        What that parameter may be.
    """

    name: str
    embedding: Any
    dimension_parameter: str | None
    dimensions: tuple[int | None, ...]
    surrogate: Any
    degree_parameter: str | None
    degrees: tuple[int | None, ...]

    @property
    def settings(self) -> tuple[EmbeddingSetting, ...]:
        """The grid, the degree running fastest, as in scikit-learn's ParameterGrid."""
        return tuple(
            EmbeddingSetting(self.name, dimension, degree)
            for dimension in self.dimensions
            for degree in self.degrees
        )

    def embedding_step(self, dimension: int | None) -> Pipeline:
        """Return the embedding alone, as a pipeline of one step."""
        step = self.embedding
        if not isinstance(step, str):
            step = clone(step)
            if dimension is not None and self.dimension_parameter is not None:
                step.set_params(**{self.dimension_parameter: dimension})
        return Pipeline([("embedding", step)])

    def surrogate_of(self, degree: int | None) -> Any:
        """Return the surrogate of this degree."""
        surrogate = clone(self.surrogate)
        if degree is not None and self.degree_parameter is not None:
            surrogate.set_params(**{self.degree_parameter: degree})
        return surrogate

    def pipeline(self, setting: EmbeddingSetting) -> Pipeline:
        """Return the pipeline of a setting, not fitted."""
        return behind(
            self.embedding_step(setting.dimension), self.surrogate_of(setting.degree)
        )


def behind(embedding: Pipeline, surrogate: Any) -> Pipeline:
    """Put a surrogate behind an embedding; both may be fitted."""
    return Pipeline([*embedding.steps, ("surrogate", surrogate)])


def innermost(surrogate: Any) -> tuple[str, Any]:
    """Return the parameter prefix and the estimator that has degree, steps and mask.

    What has a degree itself is not looked into: a surrogate may hold a regressor.
    """
    if "degree" in surrogate.get_params(deep=False):
        return "", surrogate
    return final_estimator(surrogate)


def read_candidates(
    candidates: Any,
    dimensions: Any,
    degrees: Any,
    surrogate: Any,
    generator: np.random.Generator,
) -> tuple[Candidate, ...]:
    """Check the candidates, and give those that are random a seed.

    Raises
    ------
    ValueError
        Naming the candidate, the dimension or the degree that is no such.
    """
    if not isinstance(candidates, Mapping) or not candidates:
        raise fail(OWNER, "candidates", "a dict of name to transformer", candidates)
    by_name = isinstance(dimensions, Mapping)
    if by_name:
        _check_names(dimensions, candidates)
    else:
        dimensions = _integers("dimensions", dimensions, low=1)
    prefix, last = innermost(surrogate)
    degree_parameter = None
    if degrees is None:
        degrees = (None,)
    elif "degree" in last.get_params(deep=False):
        degree_parameter = f"{prefix}degree"
        degrees = _integers("degrees", degrees, low=0)
    else:
        raise ValueError(
            f"degrees={degrees!r}, but {type(surrogate).__name__} has no degree; give "
            "degrees=None to take the surrogate as it is."
        )
    found = []
    for name, given in candidates.items():
        embedding, parameter = _read_embedding(name, given)
        asked = dimensions.get(name) if by_name else dimensions
        if by_name and asked is not None:
            if parameter is None:
                raise _no_dimension(name, embedding)
            asked = _integers(f"dimensions[{name!r}]", asked, low=1)
        grid = (None,) if asked is None or parameter is None else asked
        found.append(
            Candidate(
                name=name,
                embedding=_seeded(embedding, generator),
                dimension_parameter=parameter,
                dimensions=grid,
                surrogate=surrogate,
                degree_parameter=degree_parameter,
                degrees=degrees,
            )
        )
    return tuple(found)


def _check_names(dimensions: Mapping[Any, Any], candidates: Mapping[Any, Any]) -> None:
    unknown = [name for name in dimensions if name not in candidates]
    if unknown:
        raise ValueError(
            f"dimensions names {unknown[0]!r}, which is no candidate; the candidates "
            f"are {', '.join(map(repr, candidates))}."
        )


def _integers(name: str, values: Any, low: int) -> tuple[int, ...]:
    expected = f"a sequence of different ints in the range [{low}, inf)"
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise fail(OWNER, name, expected, values)
    found = tuple(values)
    for value in found:
        check_integer(OWNER, name, value, low=low)
    if not found or len(set(found)) < len(found):
        raise fail(OWNER, name, expected, values)
    return tuple(int(value) for value in found)


def _read_embedding(name: Any, given: Any) -> tuple[Any, str | None]:
    """Return the embedding and the parameter that takes its dimension."""
    if not isinstance(name, str) or name == BEST_OF_ALL:
        raise ValueError(
            f"A candidate is named {name!r}; expected a text other than "
            f"{BEST_OF_ALL!r}."
        )
    embedding, parameter = given, ""
    if isinstance(given, tuple):
        if len(given) != 2 or not isinstance(given[1], str):
            raise ValueError(
                f"Candidate {name!r} is {given!r}; expected a transformer, or "
                "(transformer, name of the parameter that takes the dimension)."
            )
        embedding, parameter = given
    if isinstance(embedding, str) and embedding == "passthrough" and not parameter:
        return embedding, None
    if isinstance(embedding, type) or not all(
        hasattr(embedding, method) for method in ("fit", "transform", "get_params")
    ):
        raise ValueError(
            f"Candidate {name!r} is {embedding!r}; expected a transformer or "
            "'passthrough'."
        )
    if not parameter:
        return embedding, _parameter_of_dimension(embedding)
    if parameter not in embedding.get_params():
        raise ValueError(
            f"Candidate {name!r} has no parameter {parameter!r}; it has "
            f"{', '.join(sorted(embedding.get_params()))}."
        )
    return embedding, parameter


def _parameter_of_dimension(embedding: Any) -> str | None:
    """Return ``n_components`` of the last step, with its prefix; None without one."""
    prefix, last = final_estimator(embedding)
    parameters = last.get_params(deep=False) if hasattr(last, "get_params") else {}
    return f"{prefix}n_components" if "n_components" in parameters else None


def _no_dimension(name: str, embedding: Any) -> ValueError:
    return ValueError(
        f"dimensions asks for those of {name!r}, but {embedding!r} has no "
        "n_components; give the candidate as (transformer, name of the parameter)."
    )


def _seeded(embedding: Any, generator: np.random.Generator) -> Any:
    """Return a clone whose random states that are None are ints.

    All refits are then of the same embedding.
    """
    if isinstance(embedding, str):
        return embedding
    copy = clone(embedding)
    open_states = [
        name
        for name, value in sorted(copy.get_params().items())
        if name.split("__")[-1] == "random_state" and value is None
    ]
    seeds = {name: int(generator.integers(2**31 - 1)) for name in open_states}
    return copy.set_params(**seeds)


# A test of a correlation by Fisher's z needs more than three members.
_SMALLEST_FOLD = 4


@dataclass(frozen=True, eq=False)
class HeldOutInputs:
    r"""Dependence and normality of the inputs of held-out members.

    Parameters
    ----------
    correlation : ndarray of shape (n_inputs, n_inputs)
        Size of Pearson's correlation, pooled over the folds; NaN where it is not
        known.
    dependence_p_values : ndarray of shape (n_inputs, n_inputs)
        Tests that it is 0 in every fold; not adjusted over the pairs.
    normality_p_values : ndarray of shape (n_inputs,)
        Shapiro-Wilk tests of the members of all folds together.
    n_members : int
        Members that were held out; replicates of a reward count once.

    Notes
    -----
    Each fold has its own embedding, and the directions of a PCA may turn round between
    them. Hence correlations :math:`r_f` are taken within the :math:`n_f` members of a
    fold and pooled without their signs,

    .. math::

        \hat\rho^2 = \frac{\sum_f n_f r_f'^2}{\sum_f n_f}, \qquad
        r_f'^2 = 1 - (1 - r_f^2) \frac{n_f - 1}{n_f - 2},

    at least 0; :math:`r_f'^2` has mean 0 for independent normal inputs. The test is
    :math:`\sum_f (n_f - 3) \operatorname{artanh}^2 r_f \sim \chi^2` with one degree of
    freedom a fold (Fisher's z). For normality each input is standardised by mean and
    deviation of the fold's training members, as the surrogate does.
    """

    correlation: FloatArray
    dependence_p_values: FloatArray
    normality_p_values: FloatArray
    n_members: int

    @property
    def largest_correlation(self) -> float:
        """Largest correlation of two inputs; NaN for no pair.

        The largest of many noisy figures: read it with the p-value.
        """
        pairs = self.correlation[np.triu_indices(len(self.correlation), k=1)]
        return float(np.nanmax(pairs)) if np.isfinite(pairs).any() else float("nan")

    @property
    def smallest_dependence_p_value(self) -> float:
        """Smallest of ``dependence_p_values``, times the number of pairs."""
        above = np.triu_indices(len(self.correlation), k=1)
        return smallest_p_value(self.dependence_p_values[above])

    @property
    def smallest_normality_p_value(self) -> float:
        """Smallest of ``normality_p_values``, times their number."""
        return smallest_p_value(self.normality_p_values)


def fitted_inputs(model: Any, X: Any, once: IndexArray) -> Result | None:
    """Test the inputs of the members of the fit; None where they are no numbers.

    ``once`` are rows of which no two have the same reward.
    """
    last, inputs = last_and_inputs(model, take(X, once))
    values = _numbers(inputs)
    diagnostics = getattr(last, "diagnostics_", None)
    laws = None if diagnostics is None else diagnostics.law_p_values
    return None if values is None else input_tests(values, laws)


def held_out_inputs(
    model: Any, X: Any, y: Any, splits: Sequence[Split], once: IndexArray
) -> HeldOutInputs | None:
    """Fit a pipeline in every fold and test the inputs of those who are held out.

    None where the inputs are no numbers, or their number differs between folds.
    """
    folds = []
    for train, test in splits:
        fitted = clone(model).fit(take(X, train), take(y, train))
        seen, new = (
            _numbers(last_and_inputs(fitted, take(X, np.intersect1d(rows, once)))[1])
            for rows in (train, test)
        )
        if seen is None or new is None:
            return None
        folds.append(_standardised(seen, new))
    if len({fold.shape[1] for fold in folds}) > 1:
        return None
    correlation, p_values = _pooled_correlation(folds)
    rows = np.concatenate(folds)
    return HeldOutInputs(correlation, p_values, _normality(rows), len(rows))


def _numbers(inputs: Any) -> FloatArray | None:
    try:
        values = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError):  # text
        return None
    return values if values.ndim == 2 and np.isfinite(values).all() else None


def _standardised(seen: FloatArray, new: FloatArray) -> FloatArray:
    """Return new rows in units of those seen; NaN for an input that is constant."""
    deviation = seen.std(axis=0)
    unit = np.where(deviation > 0, deviation, np.nan)
    return (new - seen.mean(axis=0)) / unit


def _normality(rows: FloatArray) -> FloatArray:
    """Test each input over the folds in which it varies; NaN for none."""
    found = np.full(rows.shape[1], np.nan)
    for i, column in enumerate(rows.T):
        known = column[~np.isnan(column)]
        if known.size:
            found[i] = input_tests(known[:, np.newaxis]).normality_p_values[0]
    return found


def _pooled_correlation(folds: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    n_inputs = folds[0].shape[1]
    squares, weights, statistic, freedom = np.zeros((4, n_inputs, n_inputs))
    for fold in folds:
        n_members = len(fold)
        if n_members < _SMALLEST_FOLD:
            continue
        r = input_tests(np.nan_to_num(fold)).pearson
        known = ~np.isnan(r)
        r = np.where(known, np.clip(r, -1.0 + 1e-12, 1.0 - 1e-12), 0.0)
        adjusted = 1.0 - (1.0 - r**2) * (n_members - 1) / (n_members - 2)
        squares += np.where(known, n_members * adjusted, 0.0)
        weights += n_members * known
        statistic += (n_members - 3) * np.arctanh(r) ** 2
        freedom += known
    some = freedom > 0
    pooled = squares / np.where(some, weights, 1.0)
    p_values = stats.chi2.sf(statistic, np.where(some, freedom, 1.0))
    return (
        np.where(some, np.sqrt(np.maximum(pooled, 0.0)), np.nan),
        np.where(some, p_values, np.nan),
    )


@dataclass(frozen=True)
class NestedFolds:
    """Outer folds, and folds inside each training set, as rows of all members.

    Parameters
    ----------
    outer : sequence of (train, test)
        Where a choice is judged.
    inner : tuple of sequence of (train, test)
        Where it is made, for each outer fold: parts of its training rows.
    whole : sequence of (train, test)
        Where the choice with all members is made.
    """

    outer: Sequence[Split]
    inner: tuple[Sequence[Split], ...]
    whole: Sequence[Split]

    @classmethod
    def draw(
        cls,
        outer: Sequence[Split],
        inner_cv: Any,
        X: Any,
        reward: Any,
        generator: np.random.Generator,
    ) -> NestedFolds:
        """Divide each training set; members of one reward stay together.

        Raises
        ------
        ValueError
            If ``inner_cv`` is no int and no splitter, or a training set is too small.
        """
        trains = [train for train, _ in outer]
        _check_inner(inner_cv, trains, reward)
        inner = []
        for train in trains:
            labels = None if reward is None else np.asarray(reward)[train]
            splits = make_splits(inner_cv, take(X, train), labels, generator)
            inner.append([(train[one], train[other]) for one, other in splits])
        whole = make_splits(inner_cv, X, reward, generator)
        return cls(outer, tuple(inner), whole)

    @property
    def smallest_training(self) -> int:
        """Members of the smallest training set of an inner fold."""
        return min(
            len(train) for splits in (*self.inner, self.whole) for train, _ in splits
        )


def _check_inner(inner_cv: Any, trains: Sequence[Any], reward: Any) -> None:
    is_integer = isinstance(inner_cv, (int, np.integer)) and inner_cv is not True
    if not is_integer and not hasattr(inner_cv, "split"):
        raise fail(
            OWNER, "inner_cv", "an int or a splitter, as it divides many sets", inner_cv
        )
    units = [
        len(train) if reward is None else len(np.unique(np.asarray(reward)[train]))
        for train in trains
    ]
    if is_integer and not 2 <= inner_cv <= min(units):
        kind = "members" if reward is None else "rewards"
        raise ValueError(
            f"inner_cv must be an int in the range [2, {min(units)}], the number of "
            f"{kind} in the smallest training set of an outer fold, or a splitter. "
            f"Got {inner_cv!r} instead."
        )


@dataclass(frozen=True)
class Choice:
    """What one candidate is at its best on a set of members.

    Parameters
    ----------
    setting : EmbeddingSetting
        Of the highest mean score over the inner folds; the first of equals.
    score : float
        That mean.
    scores : ndarray of shape (n_settings, n_inner_folds)
        All of them, in the order of the candidate's settings.
    """

    setting: EmbeddingSetting
    score: float
    scores: FloatArray


@dataclass(frozen=True)
class NestedErrors:
    """Errors of held-out members where each fold makes its own choice.

    The last entry along the first axis is the best of all candidates.

    Parameters
    ----------
    errors : ndarray of shape (n_candidates + 1, n_members, n_active)
        Squared, in clr coordinates; NaN where a member is never held out.
    choices : tuple of tuple of EmbeddingSetting
        What each outer fold chose.
    """

    errors: FloatArray
    choices: tuple[tuple[EmbeddingSetting, ...], ...]


@dataclass(frozen=True)
class NestedSearch:
    """Candidates, data and folds.

    Parameters
    ----------
    candidates : tuple of Candidate
        What is compared.
    X, y : array or data frame
        Inputs and compositions of all members.
    folds : NestedFolds
        Outer and inner.
    scoring : str, callable or None
        As in scikit-learn.
    geometry : LogRatioGeometry
        Steps and mask, read from all of y.
    zero_replacement : float
        For predictions and observations alike.
    """

    candidates: tuple[Candidate, ...]
    X: Any
    y: Any
    folds: NestedFolds
    scoring: Any
    geometry: LogRatioGeometry
    zero_replacement: float

    def choices(
        self, n_jobs: int | None = None, done: Callable[[], None] = lambda: None
    ) -> list[Choice]:
        """Return the choice of each candidate on all members."""
        tasks = (
            delayed(choose)(candidate, self.X, self.y, self.folds.whole, self.scoring)
            for candidate in self.candidates
        )
        return list(_run(tasks, n_jobs, done))

    def nested_errors(
        self,
        n_jobs: int | None = None,
        done: Callable[[], None] = lambda: None,
        *,
        order: Any = None,
        inputs: Any = None,
    ) -> NestedErrors:
        """Choose in each training set and predict those who are held out.

        ``order`` gives the members the policies of others, ``inputs`` their inputs.
        """
        X = self.X if inputs is None else take(self.X, inputs)
        y = self.y if order is None else take(self.y, order)
        n_folds = len(self.folds.outer)
        tasks = (
            delayed(_choose_and_predict)(self, candidate, fold, X, y)
            for candidate in self.candidates
            for fold in range(n_folds)
        )
        found = list(_run(tasks, n_jobs, done))
        observed = clr_of(y, self.geometry, self.zero_replacement, "y")
        n_candidates = len(self.candidates)
        errors = np.full((n_candidates + 1, *observed.shape), np.nan)
        chosen: list[list[EmbeddingSetting]] = [[] for _ in range(n_candidates + 1)]
        for fold, (_, test) in enumerate(self.folds.outer):
            here = found[fold::n_folds]
            best = int(np.argmax([choice.score for choice, _ in here]))
            for row, (choice, clr) in enumerate([*here, here[best]]):
                errors[row, test] = np.square(observed[test] - clr)
                chosen[row].append(choice.setting)
        return NestedErrors(errors, tuple(map(tuple, chosen)))

    def permuted_q2(
        self,
        permutations: Permutations,
        deviations: FloatArray,
        n_jobs: int | None,
        done: Callable[[], None],
    ) -> FloatArray:  # shape: (n_permutations, n_candidates + 1, n_steps)
        """Repeat all choices and fits for each permutation."""
        tasks = (
            delayed(_q2_of_order)(self, order, permutations.moves_policies, deviations)
            for order in permutations.orders
        )
        return np.array(list(_run(tasks, n_jobs, done)))


def choose(
    candidate: Candidate, X: Any, y: Any, splits: Sequence[Split], scoring: Any
) -> Choice:
    """Return the setting of a candidate with the highest mean score.

    The choice of :class:`sklearn.model_selection.GridSearchCV`, but an embedding is
    fitted once for all degrees.
    """
    columns = [_scores_of_split(candidate, X, y, split, scoring) for split in splits]
    scores = np.array(columns).T
    means = scores.mean(axis=1)
    best = int(np.argmax(means))
    return Choice(candidate.settings[best], float(means[best]), scores)


def _scores_of_split(
    candidate: Candidate, X: Any, y: Any, split: Split, scoring: Any
) -> list[float]:
    """Return the score of each setting."""
    train, test = split
    known, policies = take(X, train), take(y, train)
    scores = []
    for dimension in candidate.dimensions:
        embedding = candidate.embedding_step(dimension)
        setting = EmbeddingSetting(candidate.name, dimension, None)
        try:
            Z = embedding.fit_transform(known, policies)
            for degree in candidate.degrees:
                setting = EmbeddingSetting(candidate.name, dimension, degree)
                surrogate = candidate.surrogate_of(degree).fit(Z, policies)
                model = behind(embedding, surrogate)
                scorer = check_scoring(model, scoring)
                scores.append(float(scorer(model, take(X, test), take(y, test))))
                if not np.isfinite(scores[-1]):
                    raise ValueError(f"its score is {scores[-1]}")
        except ValueError as error:
            raise ValueError(
                f"Candidate {setting} failed on {len(train)} training members of an "
                f"inner fold: {error}"
            ) from error
    return scores


def _choose_and_predict(
    search: NestedSearch, candidate: Candidate, fold: int, X: Any, y: Any
) -> tuple[Choice, FloatArray]:
    """Return the choice in an outer fold, and clr predictions of its test rows."""
    train, test = search.folds.outer[fold]
    choice = choose(candidate, X, y, search.folds.inner[fold], search.scoring)
    model = candidate.pipeline(choice.setting).fit(take(X, train), take(y, train))
    predicted = np.asarray(model.predict(take(X, test)), dtype=np.float64)
    clr = clr_of(predicted, search.geometry, search.zero_replacement, "prediction")
    return choice, clr


def _q2_of_order(
    search: NestedSearch, order: Any, moves_policies: bool, deviations: FloatArray
) -> list[FloatArray]:
    """Return Q² of each candidate and of the best of all for one permutation."""
    if moves_policies:
        found = search.nested_errors(order=order)
        deviations = deviations[order]
    else:
        found = search.nested_errors(inputs=order)
    return [step_q2(errors, deviations, search.geometry) for errors in found.errors]


def _run(
    tasks: Iterator[Any], n_jobs: int | None, done: Callable[[], None]
) -> Iterator[Any]:
    """Yield the results of tasks in their order, and tell of each.

    One thread, as more lose time on fits this small; joblib sees to other processes.
    """
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    with threadpool_limits(1), _stopping(parallel(tasks)) as results:
        for result in results:
            done()
            yield result


_FIXED_CAUTION = (
    "the p-values keep the setting fixed that was chosen among several with all "
    "policies: they are somewhat too small; permute_choice=True repeats the choice"
)
_UNTESTED = "the choice was not permuted; permute_choice=True does so"


@dataclass(frozen=True)
class NestedJudge:
    """Nested Q² of each candidate and, last, of the best of all.

    Parameters
    ----------
    q2 : ndarray of shape (n_candidates + 1, n_steps)
        Over the members held out.
    intervals : ndarray of shape (n_candidates + 1, 2, n_steps)
        Of the bootstrap, with the same resamples for all.
    p_values : ndarray of shape (n_candidates + 1, n_steps) or None
        Of permutations that repeat the whole choice, Holm over the steps; None where
        there were none.
    n_settings : tuple of int
        Among which each row chooses. With a single one nothing is chosen, and
        permutations that keep it are valid.
    limits : tuple of float
        Smallest Q², level, largest share of training noise.
    """

    q2: FloatArray
    intervals: FloatArray
    p_values: FloatArray | None
    n_settings: tuple[int, ...]
    limits: tuple[float, float, float]

    @classmethod
    def of(
        cls,
        search: NestedSearch,
        nested: NestedErrors,
        deviations: FloatArray,
        reward: Any,
        confidence_level: float,
        limits: tuple[float, float, float],
        seed: int,
    ) -> NestedJudge:
        """Measure nested errors against the deviations from the mean policy."""
        q2, intervals = [], []
        for errors in nested.errors:
            q2.append(step_q2(errors, deviations, search.geometry))
            intervals.append(
                bootstrap_q2(
                    errors,
                    deviations,
                    search.geometry,
                    confidence_level,
                    np.random.default_rng(seed),
                    reward,
                )
            )
        n_settings = [len(candidate.settings) for candidate in search.candidates]
        return cls(
            np.array(q2),
            np.array(intervals),
            None,
            (*n_settings, sum(n_settings)),
            limits,
        )

    def with_permuted_choice(
        self,
        search: NestedSearch,
        deviations: FloatArray,
        reward: Any,
        n_permutations: int,
        seed: int,
        n_jobs: int | None,
        done: Callable[[], None],
    ) -> NestedJudge:
        """Add p-values of permutations that choose anew."""
        permutations = Permutations.draw(
            len(search.X), reward, n_permutations, np.random.default_rng(seed)
        )
        permuted = search.permuted_q2(permutations, deviations, n_jobs, done)
        exceed = np.sum(permuted >= self.q2, axis=0)
        p_values = (1 + exceed) / (1 + n_permutations)
        p_values = np.where(np.isnan(self.q2), np.nan, p_values)
        return replace(self, p_values=np.array([holm(row) for row in p_values]))

    def verdict_of(self, row: int, fixed: Result) -> Result:
        """Put nested figures into the verdict on the setting held fixed."""
        chosen = self.p_values is None and self.n_settings[row] > 1
        best_of_all = row == len(self.q2) - 1
        p_values = fixed.columns["p_value"]
        if self.p_values is not None:
            p_values = self.p_values[row]
        elif chosen and best_of_all:
            p_values = np.full(len(p_values), np.nan)
        q2, noise = self.q2[row], fixed.columns["noise_share"]
        reasons = [
            (
                *failed_conditions(*figures, self.limits),
                *((_UNTESTED,) if np.isnan(figures[1]) > np.isnan(figures[0]) else ()),
            )
            for figures in zip(q2, p_values, noise, strict=True)
        ]
        low, high = self.intervals[row]
        nested = {"q2": q2, "q2_low": low, "q2_high": high, "p_value": p_values}
        notes = (_FIXED_CAUTION,) if chosen and not best_of_all else ()
        return table_of_steps(
            fixed.step_names,
            {**fixed.columns, **nested},
            reasons,
            {**fixed.figures, "cautions": (*fixed.cautions, *notes)},
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
