"""Ensembles from searches for hyper-parameters: Optuna and scikit-learn."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from .._checks import FEWEST_MEMBERS, FloatArray, check_option, fail, listed, opened
from ._table import (
    STATES,
    Ensemble,
    ReadRuns,
    make_ensemble,
    names_in_log,
    names_of,
    refuse_twice,
    say_left_out,
)


def from_study(
    study: Any, parameters: Sequence[str] | None = None, *, distribution: str = "space"
) -> Ensemble:
    """Read an ensemble from a study of Optuna.

    Parameters
    ----------
    study : optuna.study.Study
        With its trials. Optuna itself is not imported.
    parameters : sequence of str or None, default=None
        Parameters that are inputs; None takes all, those of a search space with
        conditions too (see Notes). With a part of them only trials that have all of
        these count: one branch of such a space.
    distribution : {"space", "tried"}, default="space"
        Distribution of a numeric parameter: uniform over the search space (over its
        logarithm where the search had one), or that of the values which were tried. A
        sampler such as TPE tries some regions more often than others.

    Returns
    -------
    ensemble : Ensemble
        Objectives are the outputs, under the names of ``set_metric_names``, else
        ``objective`` or ``objective0, objective1, ...``. Trials that were pruned,
        failed or are still running have no value and are left out, and an infinite
        objective counts as none; ``notes`` counts them.

    Raises
    ------
    ValueError
        For fewer than eight complete trials, an objective that does not vary, or a
        parameter of an unknown kind, or that is a number in some trials and a choice in
        others.
    ImportError
        If no library of data frames is installed.

    See Also
    --------
    from_frame : A table of runs.
    DriverImportanceEvaluator : The drivers, for the plots of Optuna.

    Notes
    -----
    A parameter that some trials do not have, such as the depth of a tree where the
    learner is no tree, does nothing there. Values that it had in the other trials stand
    in for it, evenly and in an order that depends on its name alone. What it then does
    is a part of its interaction with the parameter that switches it on, and its share
    in all is the share of the variance of all trials, those without it included. A
    parameter whose range changed during the study has the distribution of the values
    that were tried. ``notes`` names both.

    Examples
    --------
    A study is read by its attributes:

    >>> from types import SimpleNamespace as Object
    >>> class FloatDistribution:
    ...     low, high, log, step = 1e-3, 1.0, True, None
    >>> trials = [
    ...     Object(
    ...         params={"rate": rate}, distributions={"rate": FloatDistribution()},
    ...         values=[rate**2], state=Object(name="COMPLETE"),
    ...     )
    ...     for rate in (0.001, 0.01, 0.1, 1.0) * 2
    ... ]
    >>> runs = from_study(Object(trials=trials, metric_names=None, directions=[1]))
    >>> runs.X["rate"].round(2).tolist()[:4]
    [-3.0, -2.0, -1.0, 0.0]
    """
    check_option("from_study", "distribution", distribution, ("space", "tried"))
    trials = list(getattr(study, "trials", ()))
    if not trials:
        raise ValueError(
            "study must be a study of Optuna, or what looks like one, with at least "
            f"one trial in trials. Got {study!r} instead."
        )
    complete = [trial for trial in trials if trial.state.name == "COMPLETE"]
    states = [trial.state.name.lower() for trial in trials]
    notes = say_left_out([STATES.get(s, f"are {s}") for s in states], "trials")
    if parameters is not None:
        parameters = listed(parameters, "parameters")
        if not all(isinstance(name, str) for name in parameters):
            raise fail("from_study", "parameters", "None or names", parameters)
        having = [t for t in complete if set(parameters) <= set(t.params)]
        if len(having) < len(complete):
            notes.append(
                f"{len(complete) - len(having)} of {len(complete)} trials lack a "
                "parameter and are left out."
            )
        complete = having
    if not complete:
        raise ValueError(
            f"None of {len(trials)} trials of study is complete with these parameters; "
            f"expected {FEWEST_MEMBERS} or more."
        )
    names = parameters
    if names is None:
        names = list(dict.fromkeys(name for t in complete for name in t.params))
    spaces = {name: _space_of(name, complete, notes) for name in names}
    laws = {name: law for name, (law, _) in spaces.items()}
    if distribution == "tried":
        laws = {n: v if isinstance(v, str) else "empirical" for n, v in laws.items()}
    outputs = np.array(
        [[np.nan if v is None else v for v in trial.values] for trial in complete],
        dtype=np.float64,
    )
    infinite = np.isinf(outputs)
    if infinite.any():
        notes.append(
            f"{infinite.any(axis=1).sum()} of {len(complete)} complete trials have an "
            "infinite objective, which counts as failed."
        )
        outputs[infinite] = np.nan
    metrics = getattr(study, "metric_names", None)
    if metrics is None:
        n = outputs.shape[1]
        metrics = ["objective"] if n == 1 else [f"objective{i}" for i in range(n)]
    refuse_twice(list(metrics), "metric_names of study")
    found = ReadRuns(
        {name: _values(name, complete) for name in names},
        laws,
        dict(zip(metrics, outputs.T, strict=True)),
        log=[name for name, (_, is_log) in spaces.items() if is_log],
        notes=notes,
        what="trials",
    )
    sampler = type(getattr(study, "sampler", None)).__name__
    order: Any = False if sampler in NOT_ADAPTIVE else None
    return make_ensemble(found, metrics, order=order)


#: Samplers of Optuna whose trials do not depend on those before them.
NOT_ADAPTIVE = ("RandomSampler", "GridSampler", "QMCSampler", "BruteForceSampler")


def _space_of(name: str, trials: Sequence[Any], notes: list[str]) -> tuple[Any, bool]:
    """Return the distribution over the search space, and whether it is logarithmic.

    Where a parameter has no single space, there is a note.
    """
    has = np.array([name in trial.params for trial in trials])
    if not has.all():
        notes.append(
            f"The parameter {name} is one of {has.sum()} of {len(has)} complete "
            "trials. It counts as doing nothing in the others, where values that it "
            "had stand in for it."
        )
    spaces = [t.distributions[name] for t in trials if name in t.params]
    first = spaces[0]
    other = next((space for space in spaces if vars(space) != vars(first)), None)
    if other is None:
        return _law_of(name, first), getattr(first, "log", False)
    kinds = {(hasattr(s, "choices"), getattr(s, "log", False)) for s in spaces}
    if len(kinds) > 1:
        raise ValueError(
            f"The search space of the parameter {name!r} changed between trials, from "
            f"{first!r} to {other!r}; expected one kind. Leave the parameter out."
        )
    notes.append(
        f"The search space of the parameter {name} changed between trials, from "
        f"{first!r} to {other!r}: its distribution is that of the values tried."
    )
    ((is_choice, is_log),) = kinds
    return "categorical" if is_choice else "empirical", is_log


_LARGEST_TABLE = 64  # values of a discrete distribution that is written out


def _law_of(name: str, space: Any) -> Any:
    """Return the distribution of a parameter over its search space."""
    if hasattr(space, "choices"):
        return "categorical"
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        raise ValueError(
            f"The parameter {name!r} has a search space of the kind "
            f"{type(space).__name__}; expected one with choices, or with low and high."
        )
    step = space.step
    if low == high:  # does not vary
        return "empirical"
    width = 0.0 if step is None else float(step)
    n_values = round((high - low) / width) + 1 if width else np.inf
    if space.log:  # integers are rounded after the draw
        low, high = np.log10([low - width / 2, high + width / 2])
    elif n_values <= _LARGEST_TABLE:
        values = low + width * np.arange(n_values)
        return stats.rv_discrete(values=(values, np.full(len(values), 1 / n_values)))()
    else:
        low, high = low - width / 2, high + width / 2
    return stats.uniform(low, high - low)


def _values(name: str, trials: Sequence[Any]) -> NDArray[Any]:
    """Return what a parameter was in each trial; None is a choice like others."""
    has = np.array([name in trial.params for trial in trials])
    values = [trial.params[name] for trial in trials if name in trial.params]
    if None in values and "None" in values:
        raise ValueError(
            f"The parameter {name!r} has the choices None and 'None', which have one "
            "name as text; expected names that differ."
        )
    known = np.fromiter(("None" if v is None else v for v in values), object)
    if has.all():
        return known
    # Where there is none stand evenly those of the others, in an order by the name.
    are_numbers = all(isinstance(v, (int, float)) for v in known.tolist())
    ordered = sorted(known.tolist(), key=float if are_numbers else str)
    size = int((~has).sum())
    places = ((np.arange(size) + 0.5) * (len(ordered) / size)).astype(np.int64)
    np.random.default_rng(list(name.encode())).shuffle(places)
    found = np.empty(len(has), dtype=known.dtype)
    found[has] = known
    found[~has] = np.fromiter((ordered[place] for place in places), object)
    return found


def from_cv_results(
    cv_results: Any, *, splits: str = "mean", log: Sequence[str] = ()
) -> Ensemble:
    """Read an ensemble from the results of a search of scikit-learn.

    Parameters
    ----------
    cv_results : fitted search, dict of str to array, or data frame
        A search such as :class:`sklearn.model_selection.RandomizedSearchCV`, its
        ``cv_results_``, or a data frame of these. Of successive halving the first
        round, before candidates are chosen by their scores.
    splits : {"mean", "replicates"}, default="mean"
        What the scores of the splits are: averaged, one member for each candidate, or
        replicates of their candidate, so that what the splits have in common counts as
        noise.
    log : sequence of str, default=()
        Parameters of which the logarithm to base 10 is taken.

    Returns
    -------
    ensemble : Ensemble
        An output for each scorer, ``score`` for a single one. Fits that failed (NaN)
        are left out, those that failed for some scorers stay.

    Raises
    ------
    ValueError
        If there are no parameters or no test scores, a parameter is missing for some
        candidates (as in a list of grids), or scores do not vary.
    ImportError
        If no library of data frames is installed.

    See Also
    --------
    from_study : A study of Optuna.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skpce.ensembles import from_cv_results
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = GridSearchCV(Ridge(), {"alpha": [0.01, 0.1, 1, 10]}, cv=3).fit(X, y)
    >>> print(from_cv_results(search, splits="replicates", log=["alpha"]))
    12 members, 1 input (alpha), 1 output, 4 different settings.
    """
    check_option("from_cv_results", "splits", splits, ("mean", "replicates"))
    cv_results = opened(getattr(cv_results, "cv_results_", cv_results))
    if not names_of(cv_results):
        expected = "a fitted search, or its cv_results_: a dict of names to values"
        raise fail("from_cv_results", "cv_results", expected, cv_results)
    results = {name: cv_results[name] for name in names_of(cv_results)}
    notes = []
    rounds = np.asarray(results.get("iter", 0))
    first = rounds == rounds.min()
    if not first.all():  # successive halving, whose later rounds scores have chosen
        results = {k: np.ma.asarray(values)[first] for k, values in results.items()}
        notes.append(
            f"{first.sum()} candidates of the first round of successive halving; later "
            "rounds have those with the best scores, and other resources."
        )
    columns = {
        name.removeprefix("param_"): _parameter(values)
        for name, values in results.items()
        if name.startswith("param_")
    }
    if not columns:
        raise ValueError(
            "cv_results has no parameters; expected columns param_... among "
            f"{', '.join(map(repr, results))}."
        )
    scores = _scores(results, splits)
    n_splits = len(next(iter(scores.values())))
    columns = {name: np.tile(values, n_splits) for name, values in columns.items()}
    found = ReadRuns(
        columns,
        {  # a search knows which of its parameters are numbers
            name: "empirical" if values.dtype.kind == "f" else "categorical"
            for name, values in columns.items()
        },
        {name: np.concatenate(values) for name, values in scores.items()},
        log=names_in_log(log, columns),
        what="candidates" if splits == "mean" else "fits",
        notes=notes,
    )
    replicated = splits == "replicates"
    return make_ensemble(found, scores, replicated=replicated, order=False)


def _parameter(values: Any) -> NDArray[Any]:
    """Return what a parameter was for each candidate, as numbers or as labels.

    What is masked, and NaN, is missing; None is a choice like others.
    """
    given = np.ma.filled(np.ma.asarray(values).astype(object), np.nan).tolist()
    if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in given):
        return np.asarray(given, dtype=np.float64)
    kept = [isinstance(v, (str, bool)) or v != v for v in given]
    pairs = zip(given, kept, strict=True)
    return np.fromiter((v if k else str(v) for v, k in pairs), object)


def _scores(results: Mapping[str, Any], splits: str) -> dict[str, list[FloatArray]]:
    """Return the test scores of each scorer, an array of candidates for each split."""
    middle, pattern = ("mean", "mean") if splits == "mean" else ("split", r"split\d+")
    found: dict[str, list[FloatArray]] = {}
    for name, values in results.items():
        start, separator, scorer = name.partition("_test_")
        if separator and re.fullmatch(pattern, start):
            found.setdefault(scorer, []).append(np.asarray(values, dtype=np.float64))
    if not found:
        raise ValueError(
            f"cv_results has no test scores; expected columns {middle}..._test_... "
            f"among {', '.join(map(repr, results))}."
        )
    return found
