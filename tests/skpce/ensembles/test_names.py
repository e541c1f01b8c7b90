"""What the names of columns say, and what they only seem to say."""

from __future__ import annotations

from skpce.ensembles._table import is_named
from tests.shared import cases


@cases(
    "role, names, others",
    ("parameter", ["params.rate", "param_C", "config/lr"], ["Params.x", "reconfig/x"]),
    ("state", ["state", "Status", "trial_state", "run.status"], ["estate", "state_n"]),
    ("identifier", ["id", "run_id", "UUID", "idx"], ["grid", "idea"]),
    ("number", ["Unnamed: 0", " ", "trial", "random_state"], ["rounds", "seeds"]),
    ("run", ["run", "run_id", "experiment name"], ["runtime", "trials"]),
    ("result", ["val/loss", "R2", "top-5", "metrics.x"], ["lossless", "f10"]),
    ("labels", ["item_id", "id", "commit hash"], ["layer_idx", "grid"]),
    ("tracker", ["_timestamp", "pid", "time_total_s"], ["PID", "rapid"]),
    ("row of a run", ["_step", "training_iteration"], ["step", "Training_iteration"]),
    ("repeat", ["seed", "cv_fold", "split", "x.random_state"], ["n_folds", "rep_n"]),
    ("curve", ["epoch", "train.global_step", "iteration"], ["epochs", "step_size"]),
    ("budget", ["budget", "hyperband/n_resources"], ["budgets", "fidelity_loss"]),
)
def test_names_say_roles(role, names, others):
    assert [name for name in (*names, *others) if is_named(name, role)] == names
