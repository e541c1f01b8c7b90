"""Value of information for the rewards of three tasks, in the sample and held out.

Members are those of the tasks' default presets (``benchmarks/studies/rewards.py``): one
of the thirty best reactions, cells or molecules is chosen. Inputs are five principal
components, as in the paper, or the leading component of each named part of the rewards.
Expansions are of degree one.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.studies.worth_of_rewards
--blocks runs/studies --write docs/downloads/worth_of_rewards.txt``
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import options, publish, study_page, table
from benchmarks.studies.bayesian_optimization import r_squared
from benchmarks.studies.rewards import ENSEMBLES, RewardEnsemble, reward_ensemble
from skpce import DependentInputsWarning, PolynomialChaosRegressor
from skpce.decision import value_of_information

COMMAND = (
    "OMP_NUM_THREADS=1 python -m benchmarks.studies.worth_of_rewards "
    "--blocks runs/studies"
)
N_COMPONENTS, N_OF_A_PART, N_OF_THE_VALUE = 5, 1, 6


def worth(inputs: np.ndarray, utility: np.ndarray, *, form: str = "marginal") -> Any:
    """Return the table of values of information of degree one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DependentInputsWarning)
        return value_of_information(
            *(
                PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
                inputs,
                utility,
            ),
            form=form,
            n_samples=16384,
            random_state=0,
        )


def held_out_r2(ensemble: RewardEnsemble, inputs: np.ndarray) -> list[float]:
    """Return R² of the contrasts of the utilities, of training and of other members."""
    utility, n_train = ensemble.utilities(), ensemble.n_train
    contrasts = utility - utility.mean(axis=1, keepdims=True)
    model = PolynomialChaosRegressor(1, solver="ridge", distribution="normal")
    model.fit(inputs[:n_train], contrasts[:n_train])
    return [
        r_squared(contrasts[part], model.predict(inputs[part]))
        for part in (slice(n_train), slice(n_train, None))
    ]


def rows_of(found: Any, names: list[str], places: list[int]) -> list[list[str]]:
    """Return the rows of some inputs."""
    rows = []
    for name, i in zip(names, places, strict=True):
        p_value = found.p_value[i]
        rows.append(
            [
                name,
                f"{found.variance_share[i]:.2f}",
                f"{found.plug_in[i]:.3f} ± {found.standard_error[i]:.3f}",
                f"{found.plug_in[i] / found.evpi:.2f}",
                f"{found.flip_probability[i]:.2f}",
                f"{found.cross_fitted[i]:.3f}",
                f"{found.lower_bound[i]:.3f}",
                f"{p_value:.3f}",
                "yes" if found.supported[i] else "no",
            ]
        )
    return rows


COLUMNS = [
    *("known", "share of the variance", "worth, plug-in", "over that of all"),
    *("changes the choice", "gain of held-out members", "lower bound", "p"),
    "supported",
]


def component_section(name: str, ensemble: RewardEnsemble) -> str:
    """Values of principal components."""
    inputs, utility = ensemble.components(N_COMPONENTS), ensemble.utilities()
    inside, outside = held_out_r2(ensemble, inputs)
    n_inputs = inputs.shape[1]
    found = worth(inputs, utility)
    names = [f"component {i + 1}" for i in range(n_inputs)] + ["all"]
    n_members, n_objects = ensemble.predictions.shape
    everything = utility.max(axis=1).mean() - utility.mean(axis=0).max()
    title = (
        f"### {name}: components\n\n{n_members} members, {ensemble.n_train} of them to "
        f"learn the components of {n_objects} rewards; worth in {ensemble.unit}. Who "
        f"knew a member's rewards themselves would gain {everything:.2f}. R² of the "
        f"utilities (less their mean over actions) by an expansion fitted to the "
        f"{ensemble.n_train}: {inside:.2f} on them, **{outside:.2f} held out**."
    )
    rows = rows_of(found, names, list(range(n_inputs + 1)))
    return f"{title}\n\n{table(COLUMNS, rows)}"


def part_section(name: str, ensemble: RewardEnsemble) -> str:
    """Values of named parts."""
    inputs, groups = ensemble.part_components(N_OF_A_PART)
    found = worth(*(inputs, ensemble.utilities()), form="regression")
    inside, outside = held_out_r2(ensemble, inputs)
    title = (
        f"### {name}: named parts\n\nThe leading component of each part, regression "
        f"form; worth in {ensemble.unit}. R² of the utilities: {inside:.2f} fitted, "
        f"**{outside:.2f} held out**."
    )
    rows = rows_of(found, [*groups, "all"], list(range(len(groups) + 1)))
    return f"{title}\n\n{table(COLUMNS, rows)}"


def sections_of(name: str, blocks: Path | None) -> str:
    """Return all tables of an ensemble."""
    ensemble = reward_ensemble(name, blocks)
    sections = [component_section(name, ensemble)]
    if ensemble.parts:
        sections.append(part_section(name, ensemble))
    return "\n".join(sections)


def main() -> None:
    arguments = options(__doc__, blocks=Path, write=Path)
    sections = [sections_of(name, arguments.blocks) for name in ENSEMBLES]
    publish(study_page(sections, COMMAND), arguments.write)


if __name__ == "__main__":
    main()
