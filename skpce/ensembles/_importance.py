"""The drivers of a study as importances, for the plots of Optuna."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from .._checks import listed
from ._table import known_names

# States of an input whose share counts: both are tested.
_TESTED = ("drives", "acts on the spread")


class DriverImportanceEvaluator:
    """Importances of Optuna that are tested: 0 for what is not shown to matter.

    For ``evaluator=`` of ``optuna.importance.get_param_importances`` and
    ``optuna.visualization.plot_param_importances``. The importance of a parameter is
    its share in all of the variance of the objective between the trials (the total
    Sobol index under the search space, times what the fit explains), where
    :func:`skpce.explain` says that it drives the objective, else 0. The probability
    that any importance above 0 is wrong is at most 5 %.

    Attributes
    ----------
    answer_ : skpce.drivers.Answer or None
        What the last study was answered, with intervals, states and cautions; None
        where it could not be asked.

    Raises
    ------
    ImportError
        If Optuna is not installed.

    Warns
    -----
    UserWarning
        If no parameter is shown to drive the objective, or the trials are too few or
        too equal to ask. All importances are then 0, of which Optuna makes equal bars
        unless ``normalize=False``.

    See Also
    --------
    skpce.explain : Reads the study itself, in one line, and says more.
    from_study : The trials as an ensemble.

    Notes
    -----
    Trials that were pruned or failed, and values of the objective that are not finite,
    are left out. Parameters that are constant have the importance 0. Parameters of a
    search space with conditions count as in :func:`from_study`: their share is that of
    the variance of all trials. A sampler that learns, such as Optuna's TPE, tries few
    settings where the objective is bad: ``answer_.cautions`` says so, and a study of
    ``RandomSampler`` or ``QMCSampler`` answers which parameter matters better.

    Examples
    --------
    >>> import optuna
    >>> from skpce.ensembles import DriverImportanceEvaluator
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    >>> def objective(trial):
    ...     rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    ...     cache = trial.suggest_int("cache", 1, 100)
    ...     return abs(rate - 0.01) ** 0.1
    >>> study.optimize(objective, n_trials=40)
    >>> optuna.importance.get_param_importances(
    ...     study, evaluator=DriverImportanceEvaluator()
    ... )
    {'rate': 1.0, 'cache': 0.0}
    """

    def __init__(self) -> None:
        try:
            from optuna.importance import BaseImportanceEvaluator
        except ModuleNotFoundError as error:
            raise ImportError(
                "DriverImportanceEvaluator needs optuna: pip install optuna"
            ) from error
        # Optuna asks for a subclass; its base holds no code, and is imported here only.
        BaseImportanceEvaluator.register(type(self))
        self.answer_: Any = None

    def evaluate(
        self,
        study: Any,
        params: Sequence[str] | None = None,
        *,
        target: Callable[[Any], float] | None = None,
    ) -> dict[str, float]:
        """Return the importance of each parameter; Optuna calls this.

        Parameters
        ----------
        study : optuna.study.Study
            With its trials.
        params : list of str or None, default=None
            Parameters that are returned; None returns all. The others count as inputs
            all the same.
        target : callable or None, default=None
            Maps a trial to the number that is explained; None takes the objective.

        Returns
        -------
        importances : dict of str to float
            From 0 to 1, the largest first, never NaN. Their sum may be above 1, since
            interactions count for each of their parameters.

        Raises
        ------
        ValueError
            For a study of several objectives without ``target``, or a parameter that
            no complete trial has.
        """
        trials = list(study.get_trials(deepcopy=False))
        complete = [t for t in trials if t.state.name == "COMPLETE"]
        names = list(dict.fromkeys(name for t in complete for name in t.params))
        if params is not None:
            params = listed(params, "params", "None or a list of names of parameters")
            noun = "parameter of a complete trial of study"
            names = known_names(params, names, "params", noun) if params else []
        asked = {id(trial): _target_of(trial, target) for trial in complete}
        self.answer_ = None
        found = dict.fromkeys(names, 0.0)
        if not names:
            return found
        from ..drivers._answer import explain

        copies = [  # with what is asked in the place of their objectives
            SimpleNamespace(
                params=trial.params,
                distributions=trial.distributions,
                values=[asked.get(id(trial))],
                state=trial.state,
            )
            for trial in trials
        ]
        known = {"metric_names": None, "sampler": getattr(study, "sampler", None)}
        why = "No parameter is shown to drive the objective"
        try:
            self.answer_ = explain(SimpleNamespace(trials=copies, **known))
        except ValueError as error:
            why = str(error).rstrip(".")
        else:
            drivers = self.answer_.drivers
            for i, name in enumerate(drivers.input_names):
                if name in found and drivers.state[0, i] in _TESTED:
                    found[name] = float(drivers.total[0, i])
        if not any(found.values()):
            warnings.warn(
                f"{why}: all importances are 0, which Optuna shows as equal ones "
                "unless normalize=False. skpce.explain(study) says what is open.",
                stacklevel=3,
            )
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def _target_of(trial: Any, target: Callable[[Any], float] | None) -> float:
    """Return what is explained of a trial; what is not finite is a failure."""
    if target is None and len(trial.values) > 1:
        raise ValueError(
            f"study has {len(trial.values)} objectives; expected target=, such as "
            "target=lambda trial: trial.values[0]. skpce.explain(study) explains all "
            "of them."
        )
    value = trial.values[0] if target is None else target(trial)
    number = math.nan if value is None else float(value)
    return number if math.isfinite(number) else math.nan
