"""How often the verdict is wrong on ensembles whose truth is known.

Two populations of ensembles of 50 members, 3 inputs, two steps of 4 and 6 actions:

- *noise*: the policies do not depend on the inputs; any step called attributable is
  an error (nominal: at most 5 %);
- *signal*: log-ratios are polynomials of degree 2 of the inputs plus a residual,
  with a population Q² of 0.8; a step not called attributable is a miss.

Run: ``python benchmarks/verdict/error_rates.py --ensembles 200 --permutations 99``
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from joblib import Parallel, delayed
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from skpce import CompositionalPCESurrogate, PolynomialChaosFeatures
from skpce.inspection import verdict

WIDTHS = (4, 6)
N_INPUTS = 3


def simulate(q2: float, n_members: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw inputs and policies whose population Q² is ``q2`` in every step."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_members, N_INPUTS))
    basis = PolynomialChaosFeatures(2, distribution=_standard_normals()).fit(X)
    design = basis.transform(X)[:, 1:]
    blocks = []
    for width in WIDTHS:
        coefficients = rng.normal(size=(width, design.shape[1]))
        coefficients -= coefficients.mean(axis=0)
        coefficients /= np.linalg.norm(coefficients)
        residual = rng.normal(size=(n_members, width)) / np.sqrt(width - 1)
        logits = np.sqrt(q2) * design @ coefficients.T + np.sqrt(1 - q2) * residual
        blocks.append(softmax(rng.normal(size=width) + logits, axis=1))
    return X, np.hstack(blocks)


def _standard_normals() -> list:
    from scipy.stats import norm

    return [norm(0, 1)] * N_INPUTS


def judge(q2: float, seed: int, n_members: int, n_permutations: int) -> np.ndarray:
    """Return which steps are called attributable."""
    X, y = simulate(q2, n_members, seed)
    pipeline = make_pipeline(
        PCA(N_INPUTS, whiten=True), CompositionalPCESurrogate(2, steps=WIDTHS)
    )
    found = verdict(pipeline, X, y, n_permutations=n_permutations, random_state=seed)
    return np.array([*found.attributable, *(step.p_value for step in found.steps)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ensembles", type=int, default=200)
    parser.add_argument("--members", type=int, default=50)
    parser.add_argument("--permutations", type=int, default=99)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    for name, q2 in (("noise", 0.0), ("signal", 0.8)):
        start = time.perf_counter()
        found = np.array(
            Parallel(n_jobs=arguments.jobs)(
                delayed(judge)(q2, seed, arguments.members, arguments.permutations)
                for seed in range(arguments.ensembles)
            )
        )
        called, p_values = np.split(found, 2, axis=1)
        called = called.astype(bool)
        print(
            f"{name} (Q² = {q2}): {arguments.ensembles} ensembles of "
            f"{arguments.members} members; attributable: any step "
            f"{called.any(axis=1).mean():.1%}, every step "
            f"{called.all(axis=1).mean():.1%}; Holm p <= 0.05 in any step "
            f"{(p_values <= 0.05).any(axis=1).mean():.1%}; "
            f"{time.perf_counter() - start:.0f} s"
        )


if __name__ == "__main__":
    main()
