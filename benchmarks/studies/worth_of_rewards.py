"""Value of information for the rewards of three tasks, in the sample and held out.

Members are those of the tasks' default presets (``benchmarks/studies/rewards.py``): one
of the thirty best reactions, cells or molecules is chosen. Inputs are five principal
components, as in the paper, or the leading component of each named part of the rewards.
Expansions are of degree one.

The last table has what the release calls the value of information: first-order indices
of the expected measured yield of each member's policy ``softmax(yield / 4 percent)``
over all measured reactions, in six components, with an expansion of degree two. Its
residual is that of the members it is fitted to, and of the others.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.studies.worth_of_rewards
--blocks runs/studies --write docs/downloads/worth_of_rewards.txt``
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import (
    numbers,
    options,
    publish,
    stored_sections,
    study_page,
    table,
)
from benchmarks.studies.bayesian_optimization import r_squared
from benchmarks.studies.rewards import ENSEMBLES, RewardEnsemble, reward_ensemble
from skpce import DependentInputsWarning, PolynomialChaosRegressor
from skpce.decision import value_of_information
from skpce.inspection import verdict

COMMAND = (
    "OMP_NUM_THREADS=1 python -m benchmarks.studies.worth_of_rewards "
    "--blocks runs/studies"
)
N_COMPONENTS, N_OF_A_PART, N_OF_THE_VALUE = 5, 1, 6
#: Published: first-order indices of the value of reactions, and residuals.
RELEASE_SHARES = (0.722, 0.188, 0.049, 0.0, 0.0, 0.0)
RELEASE_RESIDUALS = ("0.227", "0.336")


def worth(
    inputs: np.ndarray,
    utility: np.ndarray,
    *,
    form: str = "marginal",
) -> Any:
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


def held_out_r2(ensemble: RewardEnsemble, inputs: np.ndarray) -> tuple[float, float]:
    """Return R² of the contrasts of the utilities, of training and of other members."""
    utility = ensemble.utilities()
    contrasts = utility - utility.mean(axis=1, keepdims=True)
    return fitted_and_held_out(inputs, contrasts, ensemble.n_train, 1)


def fitted_and_held_out(
    inputs: np.ndarray, targets: np.ndarray, n_train: int, degree: int
) -> tuple[float, float]:
    """Return R² of the members that an expansion is fitted to, and of the others."""
    train, test = slice(n_train), slice(n_train, None)
    model = PolynomialChaosRegressor(degree, solver="ridge", distribution="normal").fit(
        inputs[train], targets[train]
    )
    return tuple(
        r_squared(targets[part], model.predict(inputs[part])) for part in (train, test)
    )


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
    found = worth(
        *(inputs, ensemble.utilities()),
        form="regression",
    )
    inside, outside = held_out_r2(ensemble, inputs)
    title = (
        f"### {name}: named parts\n\nThe leading component of each part, regression "
        f"form; worth in {ensemble.unit}. R² of the utilities: {inside:.2f} fitted, "
        f"**{outside:.2f} held out**."
    )
    rows = rows_of(found, [*groups, "all"], list(range(len(groups) + 1)))
    return f"{title}\n\n{table(COLUMNS, rows)}"


def value_section(name: str, ensemble: RewardEnsemble) -> str:
    """The release's value of information of reactions, in the sample and held out."""
    values = ensemble.policy_values()[:, np.newaxis]
    inputs = ensemble.components(N_OF_THE_VALUE)
    rows = []
    for label, n_train in (
        (f"{ensemble.n_train} members", ensemble.n_train),
        (f"{2 * len(values) // 3} members", 2 * len(values) // 3),
    ):
        model = PolynomialChaosRegressor(2, solver="ridge", distribution="normal").fit(
            inputs[:n_train], values[:n_train]
        )
        inside, outside = fitted_and_held_out(inputs, values, n_train, 2)
        found = verdict(
            *(
                PolynomialChaosRegressor(2, solver="ridge", distribution="normal"),
                inputs[:n_train],
                values[:n_train],
            ),
        )
        rows.append(
            [
                f"ours, {label}",
                numbers(model.sobol_indices_[0]),
                f"{1 - inside:.3f}",
                f"{1 - outside:.3f}",
                f"{outside:.2f}",
                "yes" if found.supported[0] else "no",
            ]
        )
    rows.append(
        [
            "published",
            numbers(RELEASE_SHARES),
            *RELEASE_RESIDUALS,
            f"{1 - float(RELEASE_RESIDUALS[1]):.2f}",
            "",
        ]
    )
    columns = [
        *("fitted to", "first-order indices of the value", "residual, fitted"),
        *("residual, held out", "R², held out", "supported by the verdict"),
    ]
    title = (
        f"### {name}: indices of the value of a policy\n\nStandard deviation "
        f"of the value over members: {values.std():.2f} percent (published: 2.35)."
    )
    return f"{title}\n\n{table(columns, rows)}"


def sections_of(name: str, blocks: Path | None) -> str:
    """Return all tables of an ensemble."""
    ensemble = reward_ensemble(name, blocks)
    sections = [component_section(name, ensemble)]
    if ensemble.parts:
        sections.append(part_section(name, ensemble))
    if ensemble.measured is not None:
        sections.append(value_section(name, ensemble))
    return "\n".join(sections)


def main() -> None:
    arguments = options(__doc__, blocks=Path, write=Path)
    sections, spent = stored_sections(
        "worth_of_rewards",
        {name: partial(sections_of, name, arguments.blocks) for name in ENSEMBLES},
        arguments.blocks,
    )
    publish(study_page(sections, COMMAND, spent), arguments.write)


if __name__ == "__main__":
    main()
