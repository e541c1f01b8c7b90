"""What the names of columns say."""

from __future__ import annotations

from skpce.ensembles._roles import is_named
from tests.shared import cases

SAYING = {
    "parameter": ("params.rate", "params_rate", "param_C", "config/lr"),
    "state": ("state", "Status", "trial_state", "run.status"),
    "identifier": ("id", "run_id", "UUID", "idx"),
    "number": ("Unnamed: 0", " ", "trial", "random_state"),
    "run": ("run", "run_id", "experiment name", "trial_number"),
    "result": ("val/loss", "test_accuracy", "R2", "top-5", "metrics.x"),
    "tracker": ("_timestamp", "pid", "time_total_s"),
    "row of a run": ("_step", "training_iteration", "timesteps_total"),
    "repeat": ("seed", "data_seed", "Fold", "model.random_state"),
    "curve": ("epoch", "train.global_step", "iteration"),
    "budget": ("budget", "hyperband/n_resources"),
}
SILENT = {
    "parameter": ("Params.rate", "reconfig/lr"),
    "state": ("estate", "state_size"),
    "identifier": ("grid", "idea"),
    "number": ("rounds", "seeds"),
    "run": ("runtime", "trials"),
    "result": ("lossless", "scoreboard"),
    "tracker": ("PID", "rapid"),
    "row of a run": ("step", "Training_iteration"),
    "repeat": ("folds", "rep_size"),
    "curve": ("epochs", "step_size"),
    "budget": ("budgets", "fidelity_loss"),
}


@cases("role, names", *SAYING.items())
def test_names_that_say_a_role(role, names):
    assert [name for name in names if not is_named(name, role)] == []


@cases("role, names", *SILENT.items())
def test_names_that_only_look_like_it(role, names):
    assert [name for name in names if is_named(name, role)] == []
