"""Draw the picture of the front page: an answer with named inputs.

Run: ``python -m benchmarks.answer_picture`` from the root of the repository; writes
``docs/images/answer.png``. ``examples/runs.csv`` has 180 trainings of a network.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

from skpce import PolynomialChaosRegressor
from skpce.ensembles import from_frame
from skpce.inspection import verdict

matplotlib.use("Agg")

ROOT = Path(__file__).parents[1]
INPUTS = {
    "rate": "rate (learning rate)",
    "solver": "solver (optimiser)",
    "units": "units (hidden units)",
    "penalty": "penalty",
}
COLORS = ("#0072B2", "#E69F00")


def main() -> None:
    """Draw shares with intervals, and say what they mean above them."""
    import matplotlib.pyplot as plt

    table = pd.read_csv(ROOT / "examples" / "runs.csv")
    runs = from_frame(
        table,
        ["solver", "rate", "units", "penalty"],
        ["accuracy", "loss"],
        replicate="seed",
        log=["rate", "penalty"],
    )
    model = PolynomialChaosRegressor(2, distribution=runs.distribution, solver="ridge")
    found = verdict(model, runs.X, runs.y, groups=runs.setting, random_state=0)
    model.fit(runs.X, runs.y)
    interval = model.sobol_interval(random_state=0).first_order
    shares, q2 = found.shares, np.asarray(found.q2)
    rows = [found.share_inputs.index(name) for name in INPUTS]
    figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
    labels = [*INPUTS.values(), "several together", "training noise", "other"]
    for k, output in enumerate(found.output_names):
        own = shares[k, rows] * q2[k]
        ends = interval[:, k][:, rows] * q2[k]
        noise = found.noise_share[k]
        values = [*own, q2[k] - own.sum(), noise, max(1 - q2[k] - noise, 0)]
        at = np.arange(len(values)) + 0.38 * (k - 0.5)
        ax.barh(at, 100 * np.array(values), 0.36, color=COLORS[k], label=output)
        error = 100 * np.clip([own - ends[0], ends[1] - own], 0, None)
        ax.errorbar(
            100 * own,
            at[: len(own)],
            xerr=error,
            fmt="none",
            ecolor="#333333",
            capsize=2,
        )
    ax.set_yticks(np.arange(len(labels)), labels)
    ax.invert_yaxis()
    ax.set_xlabel("share of the variance between runs, in percent")
    ax.legend(frameon=False, loc="lower right")
    ax.spines[["top", "right"]].set_visible(False)
    low, high = sorted(round(100 * v) for v in shares[:, rows[0]] * q2)
    ax.set_title(
        f"The learning rate explains {low}–{high} % of what differs between the runs.",
        loc="left",
        fontsize=12,
    )
    figure.savefig(ROOT / "docs" / "images" / "answer.png", dpi=120)


if __name__ == "__main__":
    main()
