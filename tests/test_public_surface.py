"""What is public stays: names, signatures, attributes of classes and of fits.

The recording is ``tests/golden/public_surface.json``, which
``python -m tests.golden.record surface`` rewrites. Annotations do not count. Names may
be added; those of ``__all__`` have a line in ``docs/api/``. What was removed or has
another signature is listed in ``CHANGED``, and modules that moved in ``MOVED``.
"""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from tests.golden.ensembles import FITTED, NEEDS
from tests.golden.surface import PUBLIC_PACKAGES, surface_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGES_OF_SKPCE = [name for name in PUBLIC_PACKAGES if name.startswith("skpce")]


def of(package: str, names: str) -> set[str]:
    """Return names of a package with its own in front."""
    return {f"{package}.{name}" for name in names.split()}


CHANGED: set[str] = {
    # options that nothing used
    *of("gflownet_envs", "draw_molecules gaussian_process_modes molecule_log_reward"),
    *of("gflownet_envs", "quadrant_shift_rewards PolicyRelevantFeatures"),
    *of("gflownet_envs", "arithmetic_problems strategy_problems"),
    "gflownet_envs.block_store",  # in `gflownet_envs.storage`
    # once, in `gflownet_envs`; and proxies of yields, which are those of features
    "gflownet_envs.rewards",
    *of("gflownet_envs", "YieldProxies train_yield_proxies yield_log_reward"),
    # gone, or of what methods return, which has no public name
    *of("skpce", "DerivativeSensitivity ExpansionMoments InteractionIndices"),
    *of("skpce", "NoiseCorrectedIndices PolynomialChaosRegressorCV PredictedModes"),
    *of("skpce", "PredictionInterval ProbabilitySobolIndices RosenblattTransformer"),
    *of("skpce", "SobolInterval build_multi_indices count_terms unpack_steps"),
    *of("skpce.decision", "Decision DegenerateBeliefWarning"),
    *of("skpce.metrics", "aitchison_distance aitchison_loss energy_score pit_values"),
    *of("skpce.metrics", "interval_width_score jensen_shannon_divergence"),
    *of("skpce.metrics", "joint_coverage_score kl_divergence_loss pit_uniformity"),
    *of("skpce.metrics", "ks_indistinguishable_fraction marginal_coverage_score"),
    *of("skpce.metrics", "neg_policy_mae_scorer policy_mean_absolute_error"),
    *of("skpce.metrics", "CoverageInterval KSComparison PITUniformity PolicyFragility"),
    *of("skpce.sample_size", "RequiredEnsembleSize VacuousBoundWarning"),
    *of("skpce.sample_size", "coefficient_error_bound paper_ensemble_size"),
    *of("skpce.sample_size", "smallest_eigenvalue sobol_error_bound"),
    *of("skpce.sample_size", "sobol_error_interval"),
    # one class for indices, and one for what inspections return
    *of("skpce", "AggregatedIndices SobolIndices"),
    *of("skpce.inspection", "ComparedEmbedding DependentSobolIndices HeldOutInputs"),
    *of("skpce.inspection", "EmbeddingComparison EmbeddingSetting InputTests"),
    *of("skpce.inspection", "ModelSobolIndices OriginalSpaceIndices RewardEffects"),
    *of("skpce.inspection", "ShapleyEffects StepVerdict VarianceDecomposition"),
    *of("skpce.inspection", "VarianceSplit Verdict"),
    # any real outputs, and columns of y that belong together
    *of("skpce.inspection", "back_to_reward compare_embeddings training_noise_share"),
    *of("skpce.inspection", "variance_decomposition verdict"),
    *of("skpce.metrics", "coverage_interval"),
    *of("skpce.sample_size", "required_ensemble_size"),
    *of("skpce.plotting", "ConvergenceDisplay CoverageDisplay EmbeddingDisplay"),
    *of("skpce.plotting", "InteractionDisplay PolicyDistributionDisplay SobolDisplay"),
    *of("skpce.plotting", "MainEffectsDisplay.from_estimator PrismDisplay"),
    *of("skpce.plotting", "RewardEffectsDisplay.from_estimator"),
    *of("skpce.plotting", "StepVarianceDisplay.from_estimator"),
    *of("skpce.plotting", "StepVarianceDisplay.from_predictions"),
    *of("skpce.plotting", "StepVarianceDisplay.plot"),
    "skpce.report",
    # "distribution" in place of "law" in names
    *of("skpce.ensembles", "from_study sample_inputs"),
    *of("skpce.inspection", "dependent_sobol_indices"),
    "gflownet_envs.policy_relevant_features.exact_outcome_laws",
    "gflownet_envs.policy_relevant_features.sampled_outcome_laws",
    # spaces whose states are listed alone
    "gflownet_envs.policy_relevant_features.PolicyRelevantFeatures",
    "PolicyRelevantFeatures: exact_weights_",
    "NatafTransformer: law_",
    # other parameters, and numbers that nobody chose as constants
    *of("skpce", "CompositionalPCESurrogate LogRatioTransformer"),
    *of("skpce", "PolynomialChaosFeatures"),
    *of("skpce", "PolynomialChaosRegressor SurrogateDiagnostics"),
    *of("skpce.decision", "InputBelief ThompsonPolicy"),
    *of("skpce.embedding", "NormalizingFlow"),
    *of("skpce.ensembles", "Ensemble"),
    *of("skpce.inspection", "input_tests original_space_indices shapley_effects"),
    *of("skpce.inspection", "sobol_indices"),
    *of("gflownet_envs", "TrainedEnsemble train_ensemble"),
    "gflownet_envs.objectives.Objective",
    "gflownet_envs.policies.Walker",
    "gflownet_envs.training.train_ensemble",
    # a marginal is an Expansion
    "marginal of PolynomialChaosRegressor",
}
"""Names that left or look different; of a class it covers the members too.

A learned attribute is listed behind the name in ``FITTED``, as is the name itself:
``"LogRatioTransformer: geometry_"``.
"""

MOVED: dict[str, str] = {}
"""Public modules with another address now: old to new. Their names must be there."""

RECORDED = json.loads(
    (ROOT / "tests" / "golden" / "public_surface.json").read_text("utf-8")
)


def is_listed(name: str) -> bool:
    """Whether the name, or the class or package that holds it, is in CHANGED."""
    return any(name == known or name.startswith(f"{known}.") for known in CHANGED)


def matches(recorded: str, found: str | None) -> bool:
    """A method of scikit-learn must be there; of ours, the signature counts."""
    return found is not None if recorded == "inherited" else found == recorded


def current_surface(package: str) -> dict[str, str]:
    """What is public now, under the address at which it was recorded."""
    address = MOVED.get(package, package)
    return {
        package + name.removeprefix(address): text
        for name, text in surface_of(address).items()
    }


@pytest.mark.parametrize("package", RECORDED["names"])
def test_recorded_names_look_the_same(package):
    if package == "skpce.plotting":
        pytest.importorskip("matplotlib")
    if is_listed(package):
        pytest.skip("the package is in CHANGED")
    found = current_surface(package)
    different = {
        name: (text, found.get(name))
        for name, text in RECORDED["names"][package].items()
        if not matches(text, found.get(name)) and not is_listed(name)
    }
    assert different == {}


@pytest.mark.parametrize("package", [*PACKAGES_OF_SKPCE, "gflownet_envs"])
def test_the_pages_of_the_interface_have_every_public_name(package):
    """A name in ``__all__``, but of a constant, has a line in ``docs/api/``."""
    listed = set()
    for page in (ROOT / "docs" / "api").glob("*.rst"):
        for part in page.read_text("utf-8").split(".. currentmodule:: ")[1:]:
            if part.splitlines()[0] == package:
                listed |= set(re.findall(r"^   (?:\w+\.)*(\w+)$", part, re.M))
    names = importlib.import_module(package).__all__
    constants = {name for name in names if name.isupper() or name[0] == "_"}
    assert set(names) - listed - constants == set()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITTED)
def test_a_fit_learns_what_it_learned(name):
    if name in CHANGED:
        pytest.skip("what it learns is in CHANGED")
    for library in NEEDS.get(name, []):
        pytest.importorskip(library)
    fitted = FITTED[name]()
    missing = [
        attribute
        for attribute in RECORDED["fitted"][name]
        if not hasattr(fitted, attribute) and f"{name}: {attribute}" not in CHANGED
    ]
    assert missing == []


def test_lists_of_changes_are_not_stale():
    """What is listed as changed was recorded, and does differ."""
    learned = {
        f"{name}: {attribute}"
        for name, attributes in RECORDED["fitted"].items()
        for attribute in attributes
    }
    left = CHANGED - learned - set(RECORDED["fitted"]) - set(RECORDED["names"])
    for package, names in RECORDED["names"].items():
        if is_listed(package):
            continue
        found = current_surface(package)
        for name in left & set(names):
            members = [key for key in names if f"{key}.".startswith(f"{name}.")]
            assert any(not matches(names[key], found.get(key)) for key in members), name
        left = left - set(names)
    assert left == set()
