"""Which embedding, of how many inputs, with which degree behind it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import Pipeline

from ..._checks import (
    IndexArray,
    OutputGroups,
    check_integer,
    fail,
    listed,
)
from ..._compositions.outputs import read_outputs
from ..._regressor import PolynomialChaosRegressor
from ..._result import Result
from ..._surrogate import CompositionalPCESurrogate
from ...drivers import Answer
from ...drivers._design import deal_folds, numbers_of, sorted_units
from .._reading import final_estimator, last_and_inputs
from .members import (
    Split,
    has_methods,
    labels_of,
    read_members,
    seeded,
    splits_of_folds,
    with_amalgamated,
)
from .training_noise import refuse_failed
from .verdict import is_integer, verdict

OWNER = "compare_embeddings"

BEST_OF_ALL = "best of all"  # stands for the choice among all candidates, in tables


def compare_embeddings(
    candidates: dict[str, Any],
    X: ArrayLike,
    y: ArrayLike,
    *,
    dimensions: Any = (2, 5, 10),
    degrees: Any = (1, 2),
    surrogate: Any = None,
    scoring: Any = None,
    cv: Any = 5,
    inner_cv: Any = 5,
    outputs: OutputGroups = None,
    groups: ArrayLike | None = None,
) -> Result:
    r"""Choose among embeddings, dimensions and degrees; say what the choice is worth.

    Verdicts of grid searches, side by side: each candidate is a
    :class:`sklearn.model_selection.GridSearchCV` over dimension and degree of the
    Pipeline of embedding and surrogate, given to :func:`verdict`, which repeats the
    whole search in every outer fold. The best of all is one search over all candidates.

    Parameters
    ----------
    candidates : dict of str to transformer
        What stands before the surrogate. Its dimension is ``n_components``, of the
        last step for a Pipeline. A transformer without one is taken as it is, as is
        ``"passthrough"``. None is changed; a random one whose ``random_state`` is None
        gets a seed.
    X : array-like of shape (n_members, n_features)
        What differs between the members, before any embedding.
    y : array-like of shape (n_members, n_parts) or data frame
        Policies, the steps side by side, or real outputs.
    dimensions : sequence of int, default=(2, 5, 10)
        Numbers of inputs to choose from.
    degrees : sequence of int or None, default=(1, 2)
        Degrees of the surrogate to choose from; None takes it as it is.
    surrogate : estimator or None, default=None
        Predicts the outputs from the embedding. None is a
        :class:`skpce.CompositionalPCESurrogate`, whose ``steps`` and ``mask`` say what
        the columns of y are, or for real outputs a
        :class:`skpce.PolynomialChaosRegressor`; both a ridge of fixed degree.
    scoring : str, callable or None, default=None
        What the inner folds maximise, as in scikit-learn. None takes the pipeline's
        ``score``: D² of the Kullback-Leibler deviance. It is one number for all
        steps, which the steps of most variance decide.
        :func:`skpce.metrics.aitchison_scorer` chooses by the error that Q² counts.
    cv, inner_cv : int or cross-validation splitter, default=5
        Outer folds, as in :func:`verdict`, and inner folds. An int deals members into
        so many, sorted by their outputs: no random state and no order of rows matters.
    outputs, groups
        As in :func:`verdict`. Members of one group, and members of equal rows of X,
        stay in one fold, outer and inner.

    Returns
    -------
    comparison : Result
        A table of candidates and steps; the best of all comes last. ``print`` gives it
        in words, ``to_frame`` as a table. Beside ``n_members``:

        candidates : tuple of ResultRow
            In the order given; ``comparison[name]`` is the one of a name.
        best : ResultRow
            The candidate with the highest score on all members; the first of equals.
        best_of_all : ResultRow
            The choice among all candidates and settings as a procedure: its Q² is of
            outer folds that each made this choice anew. This, and not the largest Q²
            of the candidates, is what the choice is worth on other members. Its
            dimension, degree and pipeline are those of ``best``.

        A row has:

        candidate : str
            Its name; ``"best of all"`` for the choice among all of them.
        dimension, degree : int or float
            Chosen with all members; NaN where taken as they are.
        score : float
            Mean score of that setting over the inner folds of all members:
            optimistic, as it made the choice.
        q2, q2_low, q2_high, noise_share : ndarray of shape (n_steps,)
            Of each step, from the verdict. Q² is nested: in every outer fold dimension
            and degree were chosen, and everything fitted, without the members that are
            held out.
        p_value, attributable, reasons : ndarray of shape (n_steps,)
            Those of the verdict, which count the choice: see Notes.
        n_inputs : int
            Inputs of the last estimator.
        verdict : Answer
            Of the search; its ``model`` is the search, fitted to all members, with the
            scores of all settings in ``cv_results_``.
        pipeline : Pipeline
            Of the chosen setting, fitted to all members.

    Raises
    ------
    ValueError
        For bad arguments or rows of y that are no compositions, before any fit; for a
        setting that cannot be fitted to the members of an inner fold, or has no finite
        score there, naming it.

    See Also
    --------
    verdict : On one pipeline.

    Notes
    -----
    The largest Q² of many candidates is too good (the winner's curse), and so is that
    of a setting that was chosen on the members that judge it. Q² here is nested [1]_,
    [2]_. That of a candidate is still picked among several when it is the largest; that
    of ``best_of_all`` is not.

    A verdict tests the inputs of the setting that was chosen with all members, which is
    a choice among as many sets of inputs as there were dimensions, of the best of all
    among those of all candidates. Their number multiplies the p-values (Bonferroni),
    but where columns of X are tested in place of an embedding that has seen y.

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
    >>> from skpce import LogRatioTransformer
    >>> from skpce.embedding import PLSTransformer
    >>> from skpce.inspection import compare_embeddings
    >>> X = np.random.default_rng(0).normal(size=(60, 12)) * np.r_[[3] * 10, 1, 1]
    >>> y = softmax(np.c_[X[:, 10:], np.zeros(60)], axis=1)
    >>> pls = PLSTransformer(target_transformer=LogRatioTransformer())
    >>> grid = {"dimensions": (1, 2), "degrees": (1,), "cv": 3, "inner_cv": 3}
    >>> found = compare_embeddings({"PCA": PCA(), "PLS": pls}, X, y, **grid)
    >>> found.best.candidate, found.best.dimension, found.best.degree
    ('PLS', 2, 1)
    >>> bool(found["PCA"].q2[0] < 0.1), bool(found.best_of_all.q2[0] > 0.6)
    (True, True)
    """
    if surrogate is None:
        read = read_outputs(y, OWNER, outputs=outputs)
        of_policies = read.are_compositions
        kind = CompositionalPCESurrogate if of_policies else PolynomialChaosRegressor
        surrogate = kind(solver="ridge", distribution="normal")
    if not has_methods(surrogate, "fit", "predict", "get_params"):
        raise fail(OWNER, "surrogate", "an estimator that predicts, or None", surrogate)
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise fail(OWNER, "scoring", "a str, a callable or None", scoring)
    grids = _grids_of(candidates, dimensions, degrees, surrogate)
    surrogate, y, _, _ = with_amalgamated(surrogate, y)
    table, y, read, _ = read_members(surrogate, X, y, outputs=outputs, owner=OWNER)
    groups = labels_of("groups", groups, y)
    refuse_failed(read.coordinates(y), "y")
    members = np.asarray(table)
    if bool((members[:1] == members).all()):
        raise ValueError("X has no column that varies; expected at least one.")
    if isinstance(inner_cv, (str, bytes)) or not (
        is_integer(inner_cv) or hasattr(inner_cv, "split")
    ):
        expected = "an int or a splitter, as it divides many sets"
        raise fail(OWNER, "inner_cv", expected, inner_cv)
    known = {"cv": cv, "outputs": outputs, "groups": groups}
    search = GridSearchCV(
        Pipeline([("embedding", "passthrough"), ("surrogate", surrogate)]),
        {},
        scoring=scoring,
        cv=_InnerFolds(inner_cv, table, groups) if is_integer(inner_cv) else inner_cv,
        error_score="raise",
    )

    def judged(name: str, some: Sequence[_Grid]) -> tuple[_Grid, Answer]:
        """Return the candidate that a search over some has chosen, and its verdict."""
        search.set_params(param_grid=[dict(grid.parameters) for grid in some])
        try:
            answer = verdict(search, table, y, **known)
        except ValueError as error:
            raise ValueError(f"{OWNER} of {name!r} failed: {error}") from error
        fitted = answer.model
        if not np.isfinite(fitted.best_score_):
            raise ValueError(
                f"{OWNER} of {name!r}: no setting has a finite score; expected "
                f"scoring that returns one. Got {fitted.best_score_}."
            )
        # Settings are in the order of the candidates.
        each = [grid for grid in some for _ in ParameterGrid(grid.parameters)]
        return each[fitted.best_index_], answer

    found = [judged(grid.name, [grid]) for grid in grids]
    # On all members the choice among all is that of the candidate with the best score.
    best = found[0] if len(grids) == 1 else judged(BEST_OF_ALL, grids)
    return _table([*found, best], grids, table)


class _Grid(NamedTuple):
    """One candidate: what a search of it chooses from."""

    name: str
    parameters: Mapping[str, Sequence[Any]]  # of the Pipeline


class _InnerFolds:
    """Folds inside of any training members, with units that stay together."""

    def __init__(self, n_folds: int, X: Any, groups: Any) -> None:
        unit: IndexArray = numbers_of(_keys(X) if groups is None else groups)
        high = int(unit.max()) + 1
        check_integer(OWNER, "inner_cv", n_folds, low=2, high=high)
        self.n_folds = int(n_folds)
        self.unit_of = dict(zip(_keys(X), unit.tolist(), strict=True))

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[Split]:
        """Deal members by their outputs."""
        unit = numbers_of([self.unit_of[key] for key in _keys(X)])
        if unit.max() + 1 < self.n_folds:
            raise ValueError(
                f"inner_cv must be an int in the range [2, {unit.max() + 1}], the "
                "number of units of the design in the training members of an outer "
                f"fold, or a splitter. Got {self.n_folds} instead."
            )
        values = np.asarray(y, dtype=np.float64).reshape(len(unit), -1)
        fold = deal_folds(sorted_units(values, unit), unit, self.n_folds)
        yield from splits_of_folds(fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_folds


def _keys(X: Any) -> list[Any]:
    """Return what names each row of a table: equal for equal rows."""
    rows = np.asarray(X)
    if rows.dtype.kind in "fiub":
        return [row.tobytes() for row in rows.astype(np.float64) + 0.0]
    return [repr(row) for row in rows.tolist()]


# Candidates and their grids


def _grids_of(
    candidates: Any, dimensions: Any, degrees: Any, surrogate: Any
) -> tuple[_Grid, ...]:
    """Check the candidates and their grids; give those that are random a seed."""
    if not isinstance(candidates, Mapping) or not candidates:
        raise fail(OWNER, "candidates", "a dict of name to transformer", candidates)
    dimensions = _integers("dimensions", dimensions, low=1)
    prefix, last = final_estimator(surrogate)
    degree = None
    if degrees is not None:
        if "degree" not in last.get_params(deep=False):
            raise ValueError(
                f"degrees={degrees!r}, but {type(surrogate).__name__} has no degree; "
                "give degrees=None to take the surrogate as it is."
            )
        degree = f"surrogate__{prefix}degree"
        degrees = _integers("degrees", degrees, low=0)
    found = []
    for name, embedding in candidates.items():
        if not isinstance(name, str) or name == BEST_OF_ALL:
            raise ValueError(
                f"A candidate is named {name!r}; expected a text other than "
                f"{BEST_OF_ALL!r}."
            )
        dimension = None  # the parameter of the Pipeline that sets it
        if not (isinstance(embedding, str) and embedding == "passthrough"):
            if not has_methods(embedding, "fit", "transform", "get_params"):
                raise ValueError(
                    f"candidates has {name!r}: {embedding!r}; expected a transformer "
                    "or 'passthrough'."
                )
            own, inner = final_estimator(embedding)
            known = inner.get_params(deep=False) if hasattr(inner, "get_params") else {}
            if "n_components" in known:
                dimension = f"embedding__{own}n_components"
        grid: dict[str, Sequence[Any]] = {"embedding": [seeded(embedding)]}
        if dimension is not None:
            grid[dimension] = dimensions
        if degree is not None:
            grid[degree] = degrees
        found.append(_Grid(name, grid))
    return tuple(found)


def _integers(name: str, values: Any, low: int) -> tuple[int, ...]:
    expected = f"a sequence of different ints in the range [{low}, inf)"
    found = tuple(listed(values, name, expected))
    for value in found:
        check_integer(OWNER, name, value, low=low)
    if not found or len(set(found)) < len(found):
        raise fail(OWNER, name, expected, values)
    return tuple(int(value) for value in found)


# The table


def _table(
    judged: Sequence[tuple[_Grid, Answer]], grids: Sequence[_Grid], X: Any
) -> Result:
    """Put the candidates side by side."""
    chosen, answers = zip(*judged, strict=True)
    searches = [answer.model for answer in answers]
    pipelines = [one.best_estimator_ for one in searches]
    in_words, columns = [grid.name for grid in chosen], dict[str, Any]()
    for name, step in (("dimension", "embedding__"), ("degree", "surrogate__")):
        values = []  # NaN where taken as they are
        for place, search in enumerate(searches):
            own = search.best_params_.items()
            known = [value for key, value in own if key.startswith(step)]
            values += known[:1] or [np.nan]
            in_words[place] += f", {name} {known[0]}" if known else ""
        column = np.array(values)
        is_whole = column.dtype.kind == "i"
        columns[name] = column if is_whole else column.astype(np.float64)
    columns["n_inputs"] = np.array(
        [np.shape(last_and_inputs(one, X)[1])[1] for one in pipelines]
    )
    columns["score"] = np.array([one.best_score_ for one in searches])
    judged_by = ("q2", "q2_low", "q2_high", "noise_share", "p_value", "attributable")
    columns |= {n: np.array([getattr(one, n) for one in answers]) for n in judged_by}
    reasons = [["; ".join(own) for own in one.reasons] for one in answers]
    columns["reasons"] = np.array(reasons, dtype=object)
    columns |= {"verdict": answers, "pipeline": pipelines}
    names, steps = [grid.name for grid in grids], tuple(answers[0].step_names)
    best, n_members = names.index(chosen[-1].name), answers[0].n_members
    table = Result(
        {"candidate": (*names, BEST_OF_ALL), "step": steps},
        columns,
        title=f"{in_words[-1]} has the best score, with {n_members} members.",
        notes=(
            "The best of all, chosen anew in each outer fold: "
            f"{_in_words(steps, columns, -1)}",
            *(
                f"- {setting}: {_in_words(steps, columns, place)}"
                for place, setting in enumerate(in_words[:-1])
            ),
        ),
        framed=("candidate", *list(columns)[:4], "step", *list(columns)[4:-2]),
    )
    rows = table.rows
    return replace(
        table,
        figures={
            "candidates": rows[:-1],
            "best": rows[best],
            "best_of_all": rows[-1],
            "n_members": n_members,
        },
    )


def _in_words(steps: Sequence[str], columns: Mapping[str, Any], place: int) -> str:
    """Say what a candidate, or the best of all, is worth."""
    figures = [columns[name][place] for name in ("q2", "q2_low", "q2_high")]
    q2 = ", ".join(
        f"{step} {value:z.2f} [{low:z.2f}, {high:z.2f}]"
        for step, value, low, high in zip(steps, *figures, strict=True)
    )
    supported = zip(steps, columns["attributable"][place], strict=True)
    good = [step for step, one in supported if one]
    return f"Q² {q2}; attributable: {', '.join(good) or 'no step'}."
