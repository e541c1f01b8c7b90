"""What columns of a table of runs are, by their names: one table of roles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

_IDENTIFIER = "id|uuid|index|idx|hash"

# What the name of a column says that it is. One column may have several of these names;
# its values decide, in ``skpce/drivers/_roles.py``.
_NAMES = {
    # Parameters: of Optuna, MLflow, scikit-learn, Weights & Biases, Ray.
    "parameter": r"^(?-i:params?_|params[.]|config[./])",
    # How a run ended.
    "state": r"^((trial|run)[_. ])?(state|status)\Z",
    # Names and numbers of runs or rows; the first are those of an index of pandas.
    "identifier": rf"(^|[^a-z])({_IDENTIFIER})$",
    "number": (
        r"^(Unnamed: \d+|\s*)$"
        rf"|(^|[^a-z])({_IDENTIFIER}|run|trial|row|seed|random_state)$"
    ),
    # Numbers that are labels where they recur; an index may be the place of a layer.
    "labels": r"(^|[^a-z])(id|uuid|hash)$",
    "run": r"(^|[^a-z])(run|trial|experiment)([^a-z]?(id|name|number|no))?$",
    # What a run gives.
    "result": (
        r"^metrics?[._]|^(metrics?|eval|val|valid|test)/"
        r"|(^|[^a-z])(accuracy|acc|loss|score|auc|auroc|f1(?!\d)|rmse|mse|mae|r2|error|metric"
        r"|objective|reward|perplexity|bleu|recall|precision|likelihood|elbo|regret"
        r"|yield|result|target|outcome|response|duration|runtime|value|corr|correlation"
        r"|mape|map|ap\d*|iou|dice|mcc|mrr|ndcg|rouge|fid|wer|cer|psnr|ssim|ece|nll"
        r"|exact_match|latency|throughput|(fit|score|train|wall)_time"
        r"|top[-_@]?\d+)s?($|[^a-z])"
    ),
    # What trackers write by themselves (Weights & Biases, Ray), and which row of a run
    # a row is.
    "tracker": (
        r"(?-i:^_(timestamp|runtime|wandb)$|^(pid|hostname|node_ip|timestamp)$"
        r"|^time_(this_iter|total|since_restore)(_s)?$)"
    ),
    "row of a run": (
        r"(?-i:^(_step|training_iteration|episodes_total"
        r"|(iterations|timesteps)_since_restore|timesteps_total)$)"
    ),
    # Repeats of a setting; "folds" is how many there are.
    "repeat": (
        r"(^|[^a-z])(seed|random_state|rep|repeat|replicate|repetition|fold|split|trial"
        r"|run|attempt)$"
    ),
    # Columns along which a run has several rows; budgets are factors where each run has
    # all of their values, as in a grid.
    "curve": r"^(.*[./])?(global|training)?_?(epoch|step|iteration)$",
    "budget": r"^(.*[./])?(budget|fidelity|n_resources)$",
}
_PATTERNS = {role: re.compile(name, re.IGNORECASE) for role, name in _NAMES.items()}


def is_named(name: str, role: str) -> bool:
    """Return whether the name of a column says that it is of a role."""
    return _PATTERNS[role].search(name) is not None


#: What became of a run, by the words of trackers; "" of one that finished.
STATES = {
    **dict.fromkeys(("complete", "completed", "finished", "terminated"), ""),
    **dict.fromkeys(("succeeded", "success", "ok", "done"), ""),
    **dict.fromkeys(("fail", "failed", "error", "crashed", "invalid"), "failed"),
    "pruned": "were pruned",
    "early_stopped": "were stopped early",
    **dict.fromkeys(("killed", "preempted", "preempting"), "were killed"),
    **dict.fromkeys(("canceled", "cancelled", "aborted"), "were cancelled"),
    **dict.fromkeys(("abandoned", "timeout"), "were abandoned"),
    "running": "are still running",
    **dict.fromkeys(("waiting", "pending", "scheduled", "queued"), "are waiting"),
    "paused": "are paused",
}


def states_among(
    table: Mapping[str, NDArray[Any]],
    taken: Collection[str] = (),  # columns that are something else
) -> list[str] | None:
    """Return what became of each run, if a column tells, and some finished."""
    for name, values in table.items():
        if name in taken or not is_named(name, "state"):
            continue
        words = (str(getattr(v, "name", v)) for v in values.tolist())
        found = [STATES.get(w.strip().lower().rpartition(".")[2]) for w in words]
        if "" in found and None not in found:
            return [state or "" for state in found]
    return None


def say_left_out(states: Sequence[str], what: str) -> list[str]:
    """Say how many runs are left out, by what became of them."""
    return [
        f"{count} of {len(states)} {what} {state} and are left out."
        for state, count in Counter(states).items()
        if state
    ]
