"""Chains of fragments: toy chains and real molecules."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Unpack

import numpy as np
import torch

from gflownet_envs.chemistry import (
    PROPERTIES,
    Fragment,
    assemble_chains,
    drug_likeness_properties,
    morgan_fingerprints,
    nearest_similarities,
    neutral_links,
)
from gflownet_envs.datasets import fetch_fragments, fetch_seh
from gflownet_envs.environments.sequences import (
    fragment_chain_environment,
)
from gflownet_envs.exact.solve import (
    greedy_trajectory,
    solve_exact,
    terminating_distribution,
    trajectory_of_actions,
)
from gflownet_envs.experiments.task import (
    REST,
    NamedParts,
    Policies,
    Preset,
    Progress,
    RunResults,
    RunSettings,
    Study,
    Table,
    Task,
    columns_of_levels,
    factorial_parts,
    facts,
    feature_parts,
    mean_and_ends,
    phrases_of_factors,
    presets_of,
    sequence_parts,
    stage,
    trajectory_in_lines,
    words_of,
)
from gflownet_envs.rewards.molecules import (
    DESCRIPTORS,
    POSITIONS,
    TOY_FRAGMENTS,
    ChainProxyReward,
    chain_features,
    descriptor_score,
    molecule_log_reward,
    reference_chains,
    toy_descriptors,
)
from gflownet_envs.rewards.proxies import (
    PAPER_PROXY,
    FeatureProxies,
    ProxySpec,
    train_feature_proxies,
)
from gflownet_envs.rewards.source import RewardTable, mean_log_reward
from gflownet_envs.storage import Store, array_digest, load_or_run

# Toy chains whose rewards are split into parts.
_MOST_CHAINS = 500_000


@dataclass(frozen=True)
class MoleculeSettings:
    """Sizes of a molecular task, in `Preset.proxy`."""

    proxy: ProxySpec
    n_positions: int  # fragments of a chain
    # toy chains whose score is known, of which a proxy sees a part
    n_reference: int = 500
    # how many of the real fragments are used, the first ones; None is all
    n_fragments: int | None = None
    # what the predictions that become inputs are for, of the toy: the reference
    # "chains", or every fragment at each of the "positions" of the best of them
    inputs: str = "chains"


@dataclass(frozen=True)
class RealMolecules:
    """What is known of every chain of real fragments, whatever the member."""

    smiles: tuple[str, ...]  # canonical; a few molecules are several chains
    drug_likeness: np.ndarray  # shape: (n_objects,), QED
    properties: np.ndarray  # shape: (n_objects, n_properties), `PROPERTIES`


@dataclass(frozen=True)
class RealStudy(Study):
    """A study that knows its molecules."""

    molecules: RealMolecules = field(kw_only=True)


def toy_study(preset: Preset, **run: Unpack[RunSettings]) -> Study:
    """Train proxies of the toy score on parts of the reference chains."""
    settings: MoleculeSettings = preset.proxy
    positions = POSITIONS[: settings.n_positions]
    environment = fragment_chain_environment(tuple(TOY_FRAGMENTS), positions)
    descriptors = toy_descriptors()
    chains = reference_chains(settings.n_reference, len(positions), run["seed"])
    features = chain_features(descriptors, chains)
    scores = descriptor_score(chains)
    members = np.arange(preset.n_train + preset.n_test)
    proxies = train_feature_proxies(
        features,
        scores,
        settings.proxy,
        members=members.tolist(),
        seed=run["seed"],
        progress=stage(run["progress"], "training score proxies"),
        store=run["store"],
    )
    names = list(TOY_FRAGMENTS)
    best = chains[int(np.argmax(scores))]
    shown = feature_chains(settings, run["seed"])
    predicted = proxies.predict(chain_features(descriptors, shown))
    reward = ChainProxyReward(environment, proxies, descriptors)
    n_objects, parts = environment.require_listed_objects(), list[NamedParts]()
    if n_objects <= _MOST_CHAINS:  # the parts of more would take minutes
        log_reward = reward(slice(0, reward.n_members), torch.arange(n_objects)).numpy()
        nouns = ("fragment", "fragments")
        parts.append(sequence_parts(environment, log_reward, nouns=nouns))
        # by sums of descriptors
        parts.append(
            feature_parts(
                environment,
                log_reward,
                descriptors[environment.object_levels().numpy()].sum(axis=1),
                DESCRIPTORS,
                title="log R by descriptors of the chains",
                phrases=_phrases_of_descriptors(DESCRIPTORS),
            )
        )
    return Study(
        environment=environment,
        reward=reward,
        reward_features=predicted,
        feature_names=tuple(" | ".join(names[f] for f in row) for row in shown)
        if settings.inputs == "chains"
        else tuple(f"{position}: {name}" for position in positions for name in names),
        n_train=preset.n_train,
        n_test=preset.n_test,
        members=members,
        trajectory=trajectory_of_actions(
            environment, (np.array(environment.offsets) + best).tolist()
        ),
        levels=columns_of_levels(shown, environment.levels),
        feature_unit="predicted score of chains",
        tables=(
            _proxy_table("Score proxies", "score", proxies, proxies.predict(features)),
            facts(
                "The chains",
                {
                    "chains": environment.n_objects,
                    "reference chains, whose score is known": len(chains),
                    "their score, mean": float(scores.mean()),
                    "their score, standard deviation": float(scores.std()),
                    "reference trajectory (best score of the reference chains)": (
                        " → ".join(names[f] for f in best)
                    ),
                    "its score": float(scores.max()),
                },
            ),
        ),
        cpu_seconds={"proxies": float(proxies.cpu_seconds.sum())},
        named_parts=tuple(parts),
    )


def feature_chains(settings: MoleculeSettings, seed: int) -> np.ndarray:
    # shape: -> (n_features, n_positions), int
    """Return the toy chains whose predicted scores are the reward features.

    Per position they are the chains that differ from the best reference chain by one
    fragment: the outputs of a network that a policy compares along that chain.

    Raises
    ------
    ValueError
        For an unknown kind of inputs.
    """
    chains = reference_chains(settings.n_reference, settings.n_positions, seed)
    if settings.inputs == "chains":
        return chains
    if settings.inputs != "positions":
        raise ValueError(
            f"inputs must be 'chains' or 'positions', got {settings.inputs!r}"
        )
    best = chains[int(np.argmax(descriptor_score(chains)))]
    n_fragments = len(TOY_FRAGMENTS)
    shown = np.tile(best, (settings.n_positions, n_fragments, 1))
    for position, rows in enumerate(shown):
        rows[:, position] = np.arange(n_fragments)
    return shown.reshape(-1, settings.n_positions)


def real_study(preset: Preset, **run: Unpack[RunSettings]) -> RealStudy:
    """Train proxies of measured activity and predict every assembled molecule."""
    settings: MoleculeSettings = preset.proxy
    data_home = run["options"].get("data_home")
    bunch = fetch_fragments(min_attachments=2, data_home=data_home)
    links = neutral_links(bunch.smiles, bunch.attachments)[: settings.n_fragments]
    names = [smiles for smiles, _ in links]
    environment = fragment_chain_environment(names, settings.n_positions)
    chains = environment.object_levels().numpy()
    started = time.process_time()
    known_smiles, activity = fetch_seh(data_home=data_home, return_X_y=True)
    known = morgan_fingerprints(known_smiles)
    molecules, prints = describe_molecules(links, chains, run["store"], run["progress"])
    likeness = nearest_similarities(prints, known)
    described = time.process_time()
    members = np.arange(preset.n_train + preset.n_test)
    proxies = train_feature_proxies(
        known,
        activity,
        settings.proxy,
        members=members.tolist(),
        seed=run["seed"],
        progress=stage(run["progress"], "training activity proxies"),
        store=run["store"],
    )
    trained = time.process_time()
    predicted = proxies.predict(prints)
    predicting = time.process_time() - trained
    log_reward = molecule_log_reward(predicted, molecules.drug_likeness)
    pilot = solve_exact(
        environment, mean_log_reward(log_reward[: preset.n_train], environment)
    )
    trajectory = greedy_trajectory(environment, pilot.log_policy)
    reference = int(environment.object_index(trajectory.states[-1]))
    return RealStudy(
        environment=environment,
        reward=RewardTable(environment, log_reward),
        reward_features=predicted,
        feature_names=environment.object_names(),
        n_train=preset.n_train,
        n_test=preset.n_test,
        members=members,
        trajectory=trajectory,
        levels=columns_of_levels(chains, environment.levels),
        feature_unit="predicted activity (pIC50) of the molecules",
        tables=(
            _proxy_table("Activity proxies", "pIC50", proxies, predicted),
            _molecule_table(molecules, likeness, reference, activity),
        ),
        cpu_seconds={
            "molecules": described - started,
            "proxies": float(proxies.cpu_seconds.sum()) + predicting,
        },
        named_parts=(
            factorial_parts(
                environment,
                log_reward,
                environment.levels,
                phrases=phrases_of_factors(
                    environment.step_names,
                    one="which fragment is {}",
                    two="pairs of {} and {}",
                )
                | {REST: "what whole molecules have beyond pairs of fragments"},
            ),
            feature_parts(
                environment,
                log_reward,
                np.column_stack((molecules.properties, molecules.drug_likeness)),
                (*PROPERTIES, "QED"),
                title="log R by descriptors of the molecules",
                phrases=_phrases_of_descriptors((*PROPERTIES, "QED")),
            ),
        ),
        molecules=molecules,
    )


def _phrases_of_descriptors(names: tuple[str, ...]) -> dict[str, str]:
    """Put the parts of descriptors, each beyond those before it, into words."""
    phrases = {names[0]: f"the {names[0]}"}
    phrases |= {name: f"{name} beyond the descriptors before it" for name in names[1:]}
    return phrases | {REST: "what follows no descriptor"}


def describe_molecules(
    links: tuple[Fragment, ...],
    chains: np.ndarray,  # shape: (n_objects, n_positions)
    store: Store | None,
    progress: Progress,
) -> tuple[RealMolecules, np.ndarray]:  # fingerprints of shape (n_objects, n_bits)
    """Assemble all chains; QED, which takes longest, is stored."""
    smiles = assemble_chains(links, chains)
    progress("describing molecules", 1, 2)
    key = {
        "kind": "drug-likeness and properties",
        "smiles_sha256": array_digest(np.frombuffer("\n".join(smiles).encode(), "u1")),
    }

    def describe() -> dict[str, np.ndarray]:
        quality, properties = drug_likeness_properties(smiles)
        return {"qed": quality, "properties": properties}

    found = load_or_run(store, key, describe)
    prints = morgan_fingerprints(smiles)
    progress("describing molecules", 2, 2)
    return RealMolecules(smiles, found["qed"], found["properties"]), prints


def _proxy_table(
    title: str, unit: str, proxies: FeatureProxies, predicted: np.ndarray
) -> Table:
    spread = float(np.median(predicted.std(axis=0, ddof=1)))
    deviation = float(predicted.mean(axis=0).std())
    return Table.of_rows(
        f"{title} ({len(predicted)} networks)",
        [
            mean_and_ends("R² on the rows never seen", proxies.r2_held_out),
            mean_and_ends(f"mean squared error on them, {unit}²", proxies.mse_held_out),
            mean_and_ends("epochs retained", proxies.n_epochs),
            {
                "what": f"standard deviation between networks (median), {unit}",
                "mean": spread,
            },
            {
                "what": f"standard deviation over objects of the mean, {unit}",
                "mean": deviation,
            },
        ],
    )


def _molecule_table(
    molecules: RealMolecules, likeness: np.ndarray, reference: int, activity: np.ndarray
) -> Table:  # shapes: likeness (n_objects,), activity (n_measured,)
    quality = molecules.drug_likeness
    return facts(
        "The molecules",
        {
            "chains": len(molecules.smiles),
            "different molecules": len(set(molecules.smiles)),
            "QED, mean": float(quality.mean()),
            "QED, standard deviation": float(quality.std()),
            "measured molecules": len(activity),
            "their pIC50, standard deviation": float(activity.std()),
            "Tanimoto similarity to the nearest measured molecule, median": float(
                np.median(likeness)
            ),
            "the same, 95 % quantile": float(np.quantile(likeness, 0.95)),
            "reference trajectory (greedy under the mean reward) gives": (
                molecules.smiles[reference]
            ),
            "its QED": float(quality[reference]),
        },
    )


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
