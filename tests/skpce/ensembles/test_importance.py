"""Drivers as importances of Optuna, on real studies."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import skpce
from skpce.ensembles import DriverImportanceEvaluator
from tests.shared import cases, refuses

optuna = pytest.importorskip("optuna")
optuna.logging.set_verbosity(optuna.logging.ERROR)


def study_of(objective, n_trials=60, seed=0, **given):
    """A study whose settings are drawn at random."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed), **given)
    study.optimize(objective, n_trials=n_trials, catch=(ArithmeticError,))
    return study


def plain(trial):
    """Two parameters that matter, one that does nothing, one constant."""
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    depth = trial.suggest_int("depth", 1, 9)
    trial.suggest_categorical("cache", [True, False])
    trial.suggest_float("momentum", 0.9, 0.9)
    return np.log10(rate) + 0.2 * depth


def importances(study, **given):
    """What Optuna returns, without its scaling to a sum of one."""
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        return optuna.importance.get_param_importances(
            study, evaluator=DriverImportanceEvaluator(), normalize=False, **given
        )


def test_importances_are_shares_in_all_of_what_is_shown_to_drive():
    found = importances(study_of(plain))
    # variances of a uniform number on [-4, 0], and of 0.2 times 1, ..., 9
    rate, depth = 16 / 12, 0.04 * (81 - 1) / 12
    assert found == pytest.approx(
        {"rate": rate / (rate + depth), "depth": depth / (rate + depth)}
        | {"cache": 0.0, "momentum": 0.0},
        abs=0.06,
    )
    assert found["cache"] == found["momentum"] == 0.0
    assert list(found) == sorted(found, key=found.get, reverse=True)


def branches(trial):
    """Two learners, each with a parameter of its own."""
    rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
    if trial.suggest_categorical("kind", ["svm", "tree"]) == "svm":
        penalty = trial.suggest_float("penalty", 1e-2, 1e2, log=True)
        return abs(np.log10(penalty)) + 0.1 * np.log10(rate)
    return trial.suggest_int("depth", 1, 9) / 4


def test_parameters_of_a_branch_have_their_share_of_all_of_the_variance():
    study = study_of(branches, 80)
    # variances of a uniform number on [0, 2], of 1/4, ..., 9/4, and of the rate's part
    penalty, depth, rate = 1 / 3, 80 / 12 / 16, 16 / 1200
    gap = 1.25 - 0.8  # of the means of both learners
    whole = (penalty + depth + rate) / 2 + gap**2 / 4
    # the squared difference of two independent draws of both learners, over four
    kind = (gap**2 + penalty + depth + rate) / 4
    truth = {"kind": kind, "penalty": penalty / 2, "depth": depth / 2, "rate": rate / 2}
    truth = {name: share / whole for name, share in truth.items()}
    found = importances(study)
    assert found == pytest.approx(truth, abs=0.06)
    assert importances(study, params=["depth", "kind"]) == {
        name: found[name] for name in ("kind", "depth")
    }
    drivers = skpce.explain(study).drivers
    totals = dict(zip(drivers.input_names, drivers.total[0], strict=True))
    assert {name: totals[name] for name in found} == found


def test_a_target_takes_the_place_of_the_objective():
    def objective(trial):
        value = plain(trial)
        return value, trial.params["depth"]

    study = study_of(objective, directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="2 objectives; expected target="):
        DriverImportanceEvaluator().evaluate(study)
    found = importances(study, target=lambda trial: trial.values[1])
    assert found == pytest.approx(
        {"depth": 1.0, "rate": 0.0, "cache": 0.0, "momentum": 0.0}, abs=0.01
    )
    found = importances(study, target=lambda trial: trial.params["rate"] > 0.01)
    assert found["rate"] > 0.9


NOISE = np.random.default_rng(3).normal(size=30)


@cases(
    ("objective", "n_trials", "why"),
    (lambda t: plain(t) * 0 + NOISE[t.number], 30, "No parameter is shown to"),
    (lambda t: plain(t) * 0, 30, "The output 'objective' is .* in all trials"),
    (plain, 7, "7 of 7 trials have an output; expected at least 8"),
    (
        lambda t: t.suggest_float("rate", 1.0, 1.0) * NOISE[t.number],
        30,
        "No input varies in the 30 trials",
    ),
    ids=["noise", "constant", "few", "no parameter"],
)
def test_nothing_to_name_is_zeros_and_a_warning(objective, n_trials, why):
    study = study_of(objective, n_trials)
    with pytest.warns(UserWarning, match=rf"{why}.*: all importances are 0"):
        found = DriverImportanceEvaluator().evaluate(study)
    assert set(found) == set(study.trials[0].params)
    assert set(found.values()) == {0.0}


def test_bad_parameters_are_refused():
    study = study_of(plain, 10)
    evaluator = DriverImportanceEvaluator()
    assert evaluator.evaluate(study, []) == {}
    with pytest.raises(ValueError, match="params has 'lr', which is no parameter"):
        evaluator.evaluate(study, ["lr"])
    refuses("params must be None or a list of names", evaluator.evaluate, study, "lr")


def test_without_optuna_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna.importance", None)
    with pytest.raises(ImportError, match="pip install optuna"):
        DriverImportanceEvaluator()
