"""Draw the picture of the front page: an answer with named inputs.

Run: ``python -m benchmarks.answer_picture`` from the root of the repository; writes
``docs/images/answer.png``. ``examples/runs.csv`` has 180 trainings of a network.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

import skpce

matplotlib.use("Agg")

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Draw the answer of the first example of the README."""
    import matplotlib.pyplot as plt

    answer = skpce.explain(
        ROOT / "examples" / "runs.csv",
        outputs=["accuracy", "loss"],
        replicate="seed",
        log=["rate", "penalty"],
    )
    answer.plot()
    plt.savefig(ROOT / "docs" / "images" / "answer.png", dpi=130)


if __name__ == "__main__":
    main()
