"""Value of information for the rewards of three tasks, in the sample and held out.

Members are those of the tasks' default presets (``benchmarks/studies/rewards.py``): one
of a hundred reactions, cells or molecules is chosen. Inputs are five principal
components, as in the paper, or the two leading components of each named part of the
rewards. Expansions are of degree one.

The last table has what the release calls the value of information: first-order indices
of the expected measured yield of each member's policy ``softmax(yield / 4 percent)``
over all measured reactions, in six components, with an expansion of degree two. Its
residual is that of the members it is fitted to, and of the others.

Run: ``OMP_NUM_THREADS=1 python -m benchmarks.studies.worth_of_rewards
--blocks runs/studies --write docs/studies/worth_of_rewards_tables.md``
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from benchmarks.studies.bayesian_optimization import r_squared
from benchmarks.studies.rewards import UNITS, RewardEnsemble, reward_ensemble
from benchmarks.studies.tables import numbers, publish, study_parser, table
from gflownet_envs.experiments.tasks.buchwald_hartwig import TEMPERATURE
from skpce import PolynomialChaosRegressor
from skpce.decision import DependentInputsWarning, value_of_information
from skpce.inspection import verdict

COMMAND = (
    "OMP_NUM_THREADS=1 python -m benchmarks.studies.worth_of_rewards "
    "--blocks runs/studies"
)
N_COMPONENTS, N_OF_A_PART, N_OF_THE_VALUE = 5, 2, 6
#: Published: first-order indices of the value of reactions, and residuals.
RELEASE_SHARES = (0.722, 0.188, 0.049, 0.0, 0.0, 0.0)
RELEASE_RESIDUALS = ("0.227", "0.336")


def worth(
    inputs: np.ndarray,
    utility: np.ndarray,
    groups: dict[str, list[int]] | None = None,
    *,
    form: str = "marginal",
    n_permutations: int = 999,
) -> Any:
    """Return the table of values of information of degree one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DependentInputsWarning)
        return value_of_information(
            *(PolynomialChaosRegressor(1), inputs, utility, groups),
            form=form,
            n_permutations=n_permutations,
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
    model = PolynomialChaosRegressor(degree).fit(inputs[train], targets[train])
    return tuple(
        r_squared(targets[part], model.predict(inputs[part])) for part in (train, test)
    )


def rows_of(found: Any, names: list[str], places: list[int]) -> list[list[str]]:
    """Return the rows of some inputs."""
    rows = []
    for name, i in zip(names, places, strict=True):
        spread = found.standard_error[i] if found.standard_error[i] > 1e-9 else 0.0
        p_value = found.p_value[i]
        rows.append(
            [
                name,
                f"{found.variance_share[i]:.2f}",
                f"{found.plug_in[i]:.3g} ± {spread:.2g}",
                f"{found.plug_in[i] / found.evpi:.2f}",
                f"{found.flip_probability[i]:.2f}",
                f"{found.cross_fitted[i]:.3g}",
                f"{found.lower_bound[i]:.3g}",
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


def component_section(
    name: str, ensemble: RewardEnsemble, n_permutations: int = 999
) -> str:
    """Values of principal components."""
    inputs = ensemble.components(N_COMPONENTS)
    found = worth(inputs, ensemble.utilities(), n_permutations=n_permutations)
    inside, outside = held_out_r2(ensemble, inputs)
    n_inputs = inputs.shape[1]
    names = [f"component {i + 1}" for i in range(n_inputs)] + ["all"]
    n_members, n_objects = ensemble.predictions.shape
    title = (
        f"### {name}: components\n\n{n_members} members, {ensemble.n_train} of them to "
        f"learn the components of {n_objects} rewards; worth in {ensemble.unit}. R² of "
        f"the utilities (less their mean over actions) by an expansion fitted to these "
        f"{ensemble.n_train}: {inside:.2f} on them, **{outside:.2f} held out**."
    )
    rows = rows_of(found, names, list(range(n_inputs + 1)))
    return f"{title}\n\n{table(COLUMNS, rows)}"


def part_section(name: str, ensemble: RewardEnsemble, n_permutations: int = 999) -> str:
    """Values of named parts."""
    inputs, groups = ensemble.part_components(N_OF_A_PART)
    n_inputs = inputs.shape[1]
    single = all(len(own) == 1 for own in groups.values())
    found = worth(
        *(inputs, ensemble.utilities(), None if single else groups),
        form="regression",
        n_permutations=n_permutations,
    )
    inside, outside = held_out_r2(ensemble, inputs)
    start = 0 if single else n_inputs
    places = [start + i for i in range(len(groups))] + [start + len(groups)]
    of_parts = f"{'One component' if single else 'Two components'} of each part"
    how = "" if single else " (regression form)"
    title = (
        f"### {name}: named parts\n\n{of_parts}, known together{how}; "
        f"worth in {ensemble.unit}. R² of the utilities: {inside:.2f} fitted, "
        f"**{outside:.2f} held out**."
    )
    rows = rows_of(found, [*groups, "all"], places)
    return f"{title}\n\n{table(COLUMNS, rows)}"


def policy_values(ensemble: RewardEnsemble) -> np.ndarray:  # shape: (n_members,)
    """Return the expected measured yield of each member's policy."""
    assert ensemble.measured is not None
    known = np.isfinite(ensemble.measured)
    policies = softmax(ensemble.predictions[:, known] / TEMPERATURE, axis=1)
    return policies @ ensemble.measured[known]


def value_section(ensemble: RewardEnsemble, n_permutations: int = 999) -> str:
    """The release's value of information of reactions, in the sample and held out."""
    values = policy_values(ensemble)[:, np.newaxis]
    inputs = ensemble.components(N_OF_THE_VALUE)
    rows = []
    for label, n_train in (
        (f"{ensemble.n_train} members", ensemble.n_train),
        (f"{2 * len(values) // 3} members", 2 * len(values) // 3),
    ):
        model = PolynomialChaosRegressor(2).fit(inputs[:n_train], values[:n_train])
        inside, outside = fitted_and_held_out(inputs, values, n_train, 2)
        found = verdict(
            *(PolynomialChaosRegressor(2), inputs[:n_train], values[:n_train]),
            n_permutations=n_permutations,
            random_state=0,
        )
        rows.append(
            [
                f"ours, {label}",
                numbers(model.sobol_indices_[0]),
                f"{1 - inside:.3f}",
                f"{1 - outside:.3f}",
                f"{outside:.2f}",
                f"{found.answer[0]} (Q² {found.q2[0]:.2f}, p {found.p_value[0]:.3f})",
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
        *("residual, held out", "R², held out", "verdict"),
    ]
    title = (
        "### buchwald-hartwig: indices of the value of a policy\n\nStandard deviation "
        f"of the value over members: {values.std():.2f} percent (published: 2.35)."
    )
    return f"{title}\n\n{table(columns, rows)}"


def main() -> None:
    parser = study_parser(__doc__, 1)
    parser.add_argument("--blocks", type=Path, help="folder of trained networks")
    parser.add_argument("--tasks", nargs="+", choices=UNITS, default=list(UNITS))
    arguments = parser.parse_args()
    sections = []
    for name in arguments.tasks:
        ensemble = reward_ensemble(name, arguments.blocks)
        sections.append(component_section(name, ensemble))
        if ensemble.parts:
            sections.append(part_section(name, ensemble))
        if ensemble.measured is not None:
            sections.append(value_section(ensemble))
    publish(sections, COMMAND, arguments.write)


if __name__ == "__main__":
    main()
