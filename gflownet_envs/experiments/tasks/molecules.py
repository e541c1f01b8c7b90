"""Molecules from fragments: the paper's toy score, and measured activity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gflownet_envs.blocks import Store
from gflownet_envs.experiments.molecule_drawing import (
    draw_reference_molecule,
    draw_toy_scores,
    likeliest_molecules_table,
    molecules_figure,
    spread_of_molecules_table,
)
from gflownet_envs.experiments.molecule_studies import (
    MoleculeSettings,
    RealStudy,
    real_study,
    toy_study,
)
from gflownet_envs.experiments.paper import (
    alr_sum_claim,
    explained_variance_claim,
    order_claim,
)
from gflownet_envs.experiments.task import (
    TOLERANCE,
    PaperClaim,
    Policies,
    Preset,
    Progress,
    RunResults,
    SourceResults,
    Study,
    Table,
    Task,
)
from gflownet_envs.rewards.proxy_fit import ProxySpec
from gflownet_envs.rewards.toy_fragments import (
    POSITIONS,
    descriptor_score,
    reference_chains,
)
from gflownet_envs.rewards.yield_proxy import PAPER_PROXY
from gflownet_envs.training_spec import PAPER_TRAINING, TrainingSpec

VARIANTS = ("toy", "real")
SCAFFOLDS, LINKER, DECORATIONS = POSITIONS[:2], POSITIONS[2], POSITIONS[3:]

_SMOKE_PROXY = ProxySpec(max_epochs=2, hidden=(16,))
_SMOKE_TRAINING = TrainingSpec(n_iterations=20, hidden=(16,), batch_size=32)


def alr_range_claim(steps: tuple[str, ...], low: float, high: float) -> PaperClaim:
    """Claim that D of the expansion lies in a range at each of some steps."""

    def measure(source: SourceResults) -> tuple[str, bool]:
        names = source.dataset.step_names
        sums = [source.main.expansion_alr_sum[names.index(step)] for step in steps]
        agrees = (
            (1 - TOLERANCE) * low <= min(sums) <= max(sums) <= (1 + TOLERANCE) * high
        )
        return ", ".join(f"{value:.1f}" for value in sums), agrees

    text = f"total policy variance D of the expansion, {' and '.join(steps)}"
    return PaperClaim(text, f"{low:g} to {high:g}", measure)


def alr_ratio_claim(step: str, others: tuple[str, ...], value: float) -> PaperClaim:
    """Claim how many times D of a step is that of others, mean; free of the scale."""

    def measure(source: SourceResults) -> tuple[str, bool]:
        names = source.dataset.step_names
        sums = source.main.expansion_alr_sum
        mean = np.mean([sums[names.index(other)] for other in others])
        ratio = float(sums[names.index(step)] / mean)
        return f"{ratio:.2f}", abs(ratio - value) <= TOLERANCE * value

    return PaperClaim(
        f"D of {step} over that of {' and '.join(others)}", f"{value:g}", measure
    )


def coverage_range_claim(low: float, high: float) -> PaperClaim:
    """Claim the range over steps of the coverage of the push-forward's 95 % intervals.

    Both ends agree within 0.05.
    """

    def measure(source: SourceResults) -> tuple[str, bool]:
        found = source.main.calibration["push-forward alone"].coverage[-1]
        least, most = float(np.nanmin(found)), float(np.nanmax(found))
        agrees = abs(least - low) <= 0.05 and abs(most - high) <= 0.05
        return f"{least:.2f} to {most:.2f}", agrees

    return PaperClaim(
        "coverage of 95 % intervals (push-forward) over the steps",
        f"{low:.2f} to {high:.2f}",
        measure,
    )


_TOY_CLAIMS = (
    alr_sum_claim(LINKER, 28.2),
    alr_range_claim(SCAFFOLDS, 19.1, 19.4),
    alr_range_claim(DECORATIONS, 14.4, 17.6),
    alr_ratio_claim(LINKER, SCAFFOLDS, 1.5),
    alr_ratio_claim(LINKER, DECORATIONS, 2),
    order_claim("the linker is more fragile than scaffold 1", LINKER, SCAFFOLDS[0]),
    order_claim("the linker is more fragile than scaffold 2", LINKER, SCAFFOLDS[1]),
    order_claim(
        "the second scaffold is more fragile than the first decoration",
        SCAFFOLDS[1],
        DECORATIONS[0],
    ),
    order_claim(
        "the linker is more fragile than the last decoration", LINKER, DECORATIONS[1]
    ),
    coverage_range_claim(0.68, 0.98),
    explained_variance_claim(0.479),
)


class MoleculesTask(Task):
    """Chains of fragments; `Preset.variant` is "toy" or "real"."""

    name = "molecules"
    title = "Molecules from fragments under an uncertain property"
    summary = (
        "A policy chooses one fragment after another. The reward depends on a property "
        "that a network predicts after it saw 30 % of the known molecules; each member "
        "has another network. Variant “toy” has the paper's 20 fragments, five "
        "positions and a score of drug-likeness; variant “real” assembles three real "
        "fragments and rewards measured activity (sEH) with RDKit's QED. Which part of "
        "the uncertainty of the predictions drives which choice?"
    )
    presets: Mapping[str, Preset] = {
        "smoke": Preset(
            n_train=12,
            n_test=6,
            training=_SMOKE_TRAINING,
            n_components=2,
            degrees=(1, 2),
            n_permutations=119,
            proxy=MoleculeSettings(_SMOKE_PROXY, n_positions=3, n_reference=100),
            variant="toy",
        ),
        "smoke-real": Preset(
            n_train=12,
            n_test=6,
            training=_SMOKE_TRAINING,
            n_components=2,
            degrees=(1,),
            n_permutations=119,
            proxy=MoleculeSettings(_SMOKE_PROXY, n_positions=2, n_fragments=8),
            variant="real",
        ),
        "default": Preset(
            n_train=50,
            n_test=30,
            training=TrainingSpec(n_iterations=1600, batch_size=256, hidden=(256,)),
            n_components=5,
            degrees=(1, 3),
            proxy=MoleculeSettings(ProxySpec(), n_positions=3),
            variant="real",
        ),
        "toy": Preset(
            n_train=30,
            n_test=20,
            training=TrainingSpec(n_iterations=1000, batch_size=64),
            n_components=2,
            degrees=(1, 3),
            proxy=MoleculeSettings(ProxySpec(hidden=(64, 64)), n_positions=5),
            variant="toy",
        ),
        "paper": Preset(
            n_train=30,
            n_test=50,
            training=replace(PAPER_TRAINING, n_iterations=2000),
            n_components=2,
            degrees=(5, 1),
            solver="paper",
            proxy=MoleculeSettings(
                replace(PAPER_PROXY, hidden=(64, 64)), n_positions=5
            ),
            variant="toy",
        ),
    }

    def claims(self, preset: Preset) -> tuple[PaperClaim, ...]:
        """Return the paper's claims, which are about five toy fragments."""
        is_papers = preset.variant == "toy" and preset.proxy.n_positions == 5
        return _TOY_CLAIMS if is_papers else ()

    def prepare(
        self,
        preset: Preset,
        *,
        seed: int,
        store: Store | None,
        progress: Progress,
        options: Mapping[str, Any],
    ) -> Study:
        arguments = {"seed": seed, "store": store, "progress": progress}
        if preset.variant == "toy":
            return toy_study(preset, **arguments)
        if preset.variant == "real":
            return real_study(preset, options=options, **arguments)
        raise ValueError(f"variant must be one of {VARIANTS}, got {preset.variant!r}")

    def findings(self, study: Study, policies: Policies) -> tuple[Table, ...]:
        """List the likeliest real molecules."""
        if not isinstance(study, RealStudy):
            return ()
        return (
            spread_of_molecules_table(study, policies),
            likeliest_molecules_table(study, policies),
        )

    def draw_system(self, results: RunResults, ax: Any) -> None:
        """Draw the reference molecule, or what the members predict of toy chains."""
        study = results.study
        if isinstance(study, RealStudy):
            draw_reference_molecule(results, study, ax)
            return
        settings = results.preset.proxy
        chains = reference_chains(
            settings.n_reference, settings.n_positions, results.seed
        )
        names = results.headline.dataset.trajectory
        draw_toy_scores(study, descriptor_score(chains), names, ax)

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
