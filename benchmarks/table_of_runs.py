"""Write ``examples/runs.csv``, the table of runs in the README and the user guide.

180 networks on the handwritten digits of scikit-learn: 60 settings, three seeds each. A
seed draws the split of the data, the initial weights and the batches. In half a minute:

    python -m benchmarks.table_of_runs
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import randint, uniform
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from skpce.ensembles import sample_inputs

TABLE = Path(__file__).parents[1] / "examples" / "runs.csv"
N_SETTINGS, N_SEEDS = 60, 3
LAWS = {
    "solver": ["adam", "sgd"],
    "rate": uniform(-4, 3),  # of its logarithm to base 10
    "units": randint(8, 65),
    "penalty": uniform(-6, 4),  # of its logarithm to base 10
}


def train(run: dict[str, Any]) -> dict[str, Any]:
    """Train one network, and return its row of the table."""
    digits, number = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        digits / 16, number, test_size=0.3, random_state=run["seed"], stratify=number
    )
    model = MLPClassifier(
        run["units"],
        solver=run["solver"],
        learning_rate_init=run["rate"],
        alpha=run["penalty"],
        max_iter=20,
        random_state=run["seed"],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X_train, y_train)
    loss = log_loss(y_test, model.predict_proba(X_test))
    return run | {"accuracy": model.score(X_test, y_test), "loss": loss}


def main() -> None:
    """Train all networks and write the table."""
    settings = sample_inputs(LAWS, N_SETTINGS, "lhs", random_state=0)
    settings[["rate", "penalty"]] = 10 ** settings[["rate", "penalty"]]
    settings["units"] = settings["units"].astype(int)
    runs = [
        row | {"seed": N_SEEDS * number + seed}
        for number, row in enumerate(settings.to_dict("records"))
        for seed in range(N_SEEDS)
    ]
    table = pd.DataFrame(Parallel(n_jobs=2)(delayed(train)(run) for run in runs))
    table = table.iloc[np.random.default_rng(0).permutation(len(table))]
    table.to_csv(TABLE, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
