"""Molecules from fragments: the paper's toy score, and measured activity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np

from gflownet_envs.exact.solve import terminating_distribution
from gflownet_envs.experiments.task import (
    Policies,
    Preset,
    RunResults,
    RunSettings,
    Study,
    Table,
    Task,
    presets_of,
    trajectory_in_lines,
    words_of,
)
from gflownet_envs.experiments.tasks.molecule_studies import (
    MoleculeSettings,
    RealStudy,
    feature_chains,
    real_study,
    toy_study,
)
from gflownet_envs.rewards.molecules import (
    descriptor_score,
)
from gflownet_envs.rewards.proxy_training import PAPER_PROXY, ProxySpec

#: Molecules of the table, and a row of the figure.
_N_LISTED, _N_DRAWN = 10, 4
#: Members with a row of their own in the figure.
_N_MEMBERS = 3
#: A molecule among so many likeliest ones of a member is one of its favourites.
_N_FAVOURITES = 100


@dataclass(frozen=True)
class MoleculeLaws:
    """How likely each member makes each molecule."""

    smiles: np.ndarray  # shape: (n_molecules,)
    chain: np.ndarray  # shape: (n_molecules,), one of the chains that give the molecule
    # shape: (E, n_molecules), a molecule has the sum of the probabilities of its chains
    law: np.ndarray


def molecule_laws(study: RealStudy, policies: Policies) -> MoleculeLaws:
    """Return the distributions of the trained members; else those of the exact ones."""
    solution = policies.solution
    assert solution is not None  # the chains can be listed
    if policies.ensemble is None:
        chains = solution.target_distribution().numpy()
    else:
        table = policies.ensemble.log_policy_table(solution.graph)
        chains = terminating_distribution(solution.graph, table).numpy()
    smiles, chain, molecule = np.unique(
        study.molecules.smiles, return_index=True, return_inverse=True
    )
    law = np.zeros((len(chains), len(smiles)))
    for row, probabilities in zip(law, chains, strict=True):
        np.add.at(row, molecule, probabilities)
    return MoleculeLaws(smiles, chain, law)


def likeliest_molecules_table(
    study: RealStudy, laws: MoleculeLaws, source: str
) -> Table:
    """List the molecules that are likeliest on average, and who agrees."""
    mean = laws.law.mean(axis=0)
    favourites = np.argsort(-laws.law, axis=1)[:, :_N_FAVOURITES]
    rows = []
    for number in np.argsort(-mean)[:_N_LISTED]:
        its_law, chain = laws.law[:, number], laws.chain[number]
        activity = study.reward_features[:, chain]
        is_favourite = (favourites == number).any(axis=1)
        rows.append(
            {
                "molecule": str(laws.smiles[number]),
                "probability": float(mean[number]),
                "smallest": float(its_law.min()),
                "largest": float(its_law.max()),
                "share of members that have it among their "
                f"{_N_FAVOURITES} likeliest": float(is_favourite.mean()),
                "QED": float(study.molecules.drug_likeness[chain]),
                "predicted pIC50": float(activity.mean()),
                "its standard deviation": float(activity.std(ddof=1)),
            }
        )
    return Table.of_rows(
        f"Likeliest molecules ({source} policies, mean over members)", rows
    )


def spread_of_molecules_table(law: np.ndarray, source: str) -> Table:
    # shapes: law (E, n_molecules)
    """Say how many molecules a member makes and how far members are apart."""
    effective = np.exp(-(law * np.log(np.maximum(law, 1e-300))).sum(axis=1))
    apart = 0.5 * np.abs(law - law.mean(axis=0)).sum(axis=1)
    return Table(
        f"Molecules of a member ({source} policies)",
        ("what", "median", "smallest", "largest"),
        tuple(
            (name, float(np.median(v)), float(v.min()), float(v.max()))
            for name, v in (
                ("effective number (exponential of the entropy)", effective),
                ("total variation to the mean over members", apart),
            )
        ),
    )


def molecules_figure(study: RealStudy, policies: Policies) -> Any:
    """Draw the likeliest molecules of all members together, and of some alone."""
    from matplotlib.figure import Figure

    laws = molecule_laws(study, policies)
    mean = laws.law.mean(axis=0)
    rows = {"all members": mean}
    for row in range(min(_N_MEMBERS, len(laws.law))):
        rows[f"member {row + 1}"] = laws.law[row]
    n_drawn = min(_N_DRAWN, len(laws.smiles))
    figure = Figure(figsize=(2.4 * n_drawn, 2.3 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), n_drawn, squeeze=False)
    for (name, law), row_of_axes in zip(rows.items(), axes, strict=True):
        likeliest = np.argsort(-law)[:n_drawn]
        for number, ax in zip(likeliest, row_of_axes, strict=True):
            ax.imshow(molecule_picture(str(laws.smiles[number])))
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_color("0.85")
            quality = study.molecules.drug_likeness[laws.chain[number]]
            text = f"{law[number]:.2%}"
            if law is not mean:
                text += f" (all {mean[number]:.2%})"
            ax.set_xlabel(f"{text}, QED {quality:.2f}", fontsize="small")
        row_of_axes[0].set_ylabel(name)
    return figure


def molecule_picture(smiles: str) -> np.ndarray:
    # shape: -> (height, width, 3)
    """Draw one molecule with RDKit as pixels, for `imshow`."""
    from rdkit.Chem import Draw, MolFromSmiles

    draw: Any = Draw.MolToImage
    return np.asarray(draw(MolFromSmiles(smiles), size=(400, 300)))


def draw_reference_molecule(results: RunResults, study: RealStudy, ax: Any) -> None:
    """Draw the molecule of the reference trajectory and the fragments it is made of."""
    number = int(study.environment.object_index(study.trajectory.states[-1]))
    ax.imshow(molecule_picture(study.molecules.smiles[number]))
    ax.set(xticks=[], yticks=[], title="reference molecule")
    ax.spines[:].set_visible(False)
    ax.set_xlabel(trajectory_in_lines(results.headline.dataset))


def draw_toy_scores(results: RunResults, study: Study, ax: Any) -> None:
    """Draw known scores against what the members predict, with one deviation."""
    scores = descriptor_score(feature_chains(results.preset.proxy, results.seed))
    reference = results.headline.dataset.trajectory
    centre = study.reward_features.mean(axis=0)
    spread = study.reward_features.std(axis=0, ddof=1)
    ax.errorbar(scores, centre, spread, fmt=".", color="C0", ecolor="0.8", lw=0.5)
    ax.axline((0.75, 0.75), slope=1, color="k", lw=0.8)
    ax.set(
        xlabel="score of a chain",
        ylabel="predicted by the members, mean ± deviation",
    )
    ax.set_title("reference: " + ", ".join(reference), fontsize="small")


VARIANTS = ("toy", "real")


class MoleculesTask(Task):
    """Chains of fragments; `Preset.variant` is "toy" or "real"."""

    name = "molecules"
    title, summary = words_of(name)
    presets: ClassVar[Mapping[str, Preset]] = presets_of(
        name, MoleculeSettings(ProxySpec(), 5), MoleculeSettings(PAPER_PROXY, 5)
    )

    def prepare(self, preset: Preset, **run: Unpack[RunSettings]) -> Study:
        if preset.variant == "toy":
            return toy_study(preset, **run)
        if preset.variant == "real":
            return real_study(preset, **run)
        raise ValueError(f"variant must be one of {VARIANTS}, got {preset.variant!r}")

    def findings(self, study: Study, policies: Policies) -> tuple[Table, ...]:
        """List the likeliest real molecules."""
        if not isinstance(study, RealStudy):
            return ()
        laws = molecule_laws(study, policies)
        source = "exact" if policies.ensemble is None else "trained"
        return (
            spread_of_molecules_table(laws.law, source),
            likeliest_molecules_table(study, laws, source),
        )

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw the reference molecule, or what the members predict of toy chains."""
        if isinstance(results.study, RealStudy):
            draw_reference_molecule(results, results.study, ax)
        else:
            draw_toy_scores(results, results.study, ax)

    def extra_figures(self, results: RunResults) -> dict[str, tuple[Any, str]]:
        """Draw the likeliest real molecules."""
        if not isinstance(results.study, RealStudy):
            return {}
        return {
            "molecules": (
                molecules_figure(results.study, results.policies),
                "Likeliest molecules of all members together and of three of them, "
                "with their probabilities and RDKit's QED.",
            )
        }
