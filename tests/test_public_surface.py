"""What is public stays: names, signatures, attributes of classes and of fits.

The recording is ``tests/golden/public_surface.json``, which
``python -m tests.golden.record surface`` rewrites. Annotations do not count. Names may
be added to a class; names added to ``__all__`` are listed in ``ADDED``, what was
removed or has another signature in ``CHANGED``, and modules that moved in ``MOVED``.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from tests.golden.ensembles import FITTED, NEEDS
from tests.golden.surface import surface_of

ADDED: set[str] = {
    "skpce.variance_components",
    "gflownet_envs.WholeSpace",
    "gflownet_envs.exact.WholeSpace",
    "gflownet_envs.ListedEnvironment",
    "gflownet_envs.ObjectTable",
    "gflownet_envs.from_torchgfn",
    "gflownet_envs.to_gymnasium",
    "gflownet_envs.to_torchgfn",
    "gflownet_envs.torchgfn_policy",
    "gflownet_envs.policy_relevant_features.exact_outcome_distributions",
    "gflownet_envs.policy_relevant_features.sampled_outcome_distributions",
    "gflownet_envs.environments.ObjectTable",
    "gflownet_envs.training.DivergedWarning",
    "gflownet_envs.training.TrainedEnsemble",
    "gflownet_envs.datasets.fetch_learning_curves",
    "gflownet_envs.fetch_learning_curves",
    "gflownet_envs.fetch_shakespeare",
    "gflownet_envs.datasets.fetch_shakespeare",
    "gflownet_envs.training.NotConvergedWarning",
    "gflownet_envs.training.TrainingDiagnostics",
    "skpce.EdgeOfFamilyWarning",
    "skpce.explain",
    "skpce.Expansion",
    "skpce.FailedSamplesWarning",
    "skpce.MoreTermsThanRowsWarning",
    "skpce.DependentInputsWarning",
    "skpce.ensembles.DriverImportanceEvaluator",
    "skpce.ensembles.member_blocks",
    "skpce.decision.measure_next",
    "skpce.decision.value_of_information",
    "skpce.inspection.Result",
    "skpce.inspection.part_effects",
    "skpce.inspection.part_entries",
    "skpce.inspection.parts_of_table",
    "skpce.inspection.modes_test",
    "skpce.load_model",
    "skpce.metrics.excess_fragility",
    "skpce.plotting.PartEffectsDisplay",
    "skpce.plotting.ValueOfInformationDisplay",
    "skpce.save_model",
}
"""New names in ``__all__``, with their package: ``"skpce.Expansion"``."""

CHANGED: set[str] = {
    # options that nothing used
    "gflownet_envs.draw_molecules",
    "gflownet_envs.gaussian_process_modes",
    "gflownet_envs.molecule_log_reward",
    "gflownet_envs.quadrant_shift_rewards",
    "gflownet_envs.rewards.molecule_log_reward",
    "gflownet_envs.rewards.quadrant_shift_rewards",
    # counted for the paper's tables alone
    "skpce.metrics.ks_indistinguishable_fraction",
    "skpce.sample_size.paper_ensemble_size",
    "skpce.decision.ThompsonPolicy",  # update without log_likelihood
    # numbers that nobody chose are constants
    "skpce.embedding.NormalizingFlow",
    "skpce.inspection.original_space_indices",
    "skpce.sample_size.RequiredEnsembleSize.is_sufficient",
    "skpce.sample_size.coefficient_error_bound",
    # skpce.inspection.modes_test tests the members themselves
    "skpce.PredictedModes",
    # members that diverged are named
    "gflownet_envs.TrainedEnsemble",
    "gflownet_envs.objectives.Objective",  # score_gradient
    "gflownet_envs.policies.Walker",  # a function of states and actions
    "gflownet_envs.policies.Walker.advance",
    "gflownet_envs.policies.Walker.outputs",
    "gflownet_envs.policies.Walker.outputs_now",
    "gflownet_envs.train_ensemble",  # logger
    "gflownet_envs.training.train_ensemble",
    # real outputs, and columns of y that belong together
    "skpce.report",
    "skpce.inspection.back_to_reward",
    "skpce.plotting.ConvergenceDisplay.from_estimator",
    "skpce.plotting.CoverageDisplay",
    "skpce.plotting.EmbeddingDisplay",  # features, distribution_quantiles
    "skpce.plotting.InteractionDisplay.from_estimator",
    "skpce.plotting.MainEffectsDisplay.from_estimator",
    "skpce.plotting.PolicyDistributionDisplay.from_estimator",  # max_parts
    "skpce.plotting.PolicyDistributionDisplay.from_samples",
    "skpce.plotting.RewardEffectsDisplay.from_estimator",
    "skpce.plotting.SobolDisplay.from_estimator",
    "skpce.plotting.SobolDisplay.from_fit",
    "skpce.plotting.StepVarianceDisplay.from_estimator",
    "skpce.plotting.StepVarianceDisplay.from_predictions",
    "skpce.sample_size.required_ensemble_size",
    # one class for indices of targets, of groups and of all together
    "skpce.AggregatedIndices",
    "skpce.SobolIndices",
    # one class for what inspections return
    "skpce.inspection.ComparedEmbedding",
    "skpce.inspection.DependentSobolIndices",
    "skpce.inspection.EmbeddingSetting",  # dimension, degree in the rows
    "skpce.inspection.EmbeddingComparison",
    "skpce.inspection.HeldOutInputs",
    "skpce.inspection.InputTests",
    "skpce.inspection.ModelSobolIndices",
    "skpce.inspection.OriginalSpaceIndices",
    "skpce.inspection.RewardEffects",
    "skpce.inspection.ShapleyEffects",
    "skpce.inspection.StepVerdict",
    "skpce.inspection.VarianceDecomposition",
    "skpce.inspection.VarianceSplit",
    "skpce.inspection.Verdict",
    # any real outputs: outputs= and standardize=
    "skpce.inspection.compare_embeddings",
    "skpce.inspection.training_noise_share",
    "skpce.inspection.variance_decomposition",
    "skpce.inspection.verdict",
    # their indices are properties
    "skpce.NoiseCorrectedIndices",
    # gone: the learned fit and its intervals take their place
    "skpce.CompositionalPCESurrogate.noise_corrected_sobol_indices",
    "skpce.PolynomialChaosRegressor.derivative_sensitivity",
    "skpce.PolynomialChaosRegressor.lipschitz_estimate",
    "skpce.PolynomialChaosRegressor.noise_corrected_sobol_indices",
    "skpce.ProbabilitySobolIndices",
    # PolynomialChaosRegressor() learns its terms
    "skpce.PolynomialChaosRegressorCV",
    # degree=None, solver=None, distribution="auto"
    "skpce.PolynomialChaosRegressor",
    # a set of terms is what PolynomialChaosFeatures makes
    "skpce.build_multi_indices",
    "skpce.unpack_steps",
    "skpce.count_terms",
    "skpce.PolynomialChaosFeatures",
    # the same, and amalgamate=
    "skpce.CompositionalPCESurrogate",
    # noise=, and conformal intervals
    "skpce.CompositionalPCESurrogate.predict_interval",
    "skpce.CompositionalPCESurrogate.sample",
    "skpce.CompositionalPCESurrogate.sobol_interval",  # method=
    # distribution= and distributions in place of law= and laws
    "skpce.ensembles.from_study",
    "skpce.ensembles.Ensemble",  # order
    "skpce.ensembles.sample_inputs",
    "skpce.inspection.dependent_sobol_indices",
    # "distribution" in place of "law" in names
    "gflownet_envs.policy_relevant_features.exact_outcome_laws",
    "gflownet_envs.policy_relevant_features.sampled_outcome_laws",
    "skpce.SurrogateDiagnostics",
    "skpce.decision.InputBelief",
    "skpce.inspection.input_tests",
    "NatafTransformer: law_",
    "skpce.RosenblattTransformer",
    # total indices and intervals as error bars
    "skpce.plotting.InteractionDisplay",
    "skpce.plotting.SobolDisplay",
    # Q² alone; parts are rows; three measures
    "skpce.plotting.ConvergenceDisplay",
    "skpce.plotting.PolicyDistributionDisplay",
    "skpce.plotting.StepVarianceDisplay.plot",
    "skpce.plotting.PrismDisplay",
    # what methods return has no public name; tables in place of classes of metrics
    *(
        f"skpce.{name}"
        for name in (
            *("DerivativeSensitivity", "ExpansionMoments", "InteractionIndices"),
            *("PredictionInterval", "SobolInterval"),
            *("decision.Decision", "decision.DegenerateBeliefWarning"),
            *("sample_size.RequiredEnsembleSize", "sample_size.VacuousBoundWarning"),
            *("sample_size.coefficient_error_bound", "sample_size.sobol_error_bound"),
            *("sample_size.sobol_error_interval", "sample_size.smallest_eigenvalue"),
        )
    ),
    *(
        f"skpce.metrics.{name}"
        for name in (
            *("CoverageInterval", "KSComparison", "PITUniformity", "PolicyFragility"),
            *("aitchison_loss", "coverage_interval", "jensen_shannon_divergence"),
            *("joint_coverage_score", "kl_divergence_loss", "marginal_coverage_score"),
            *("neg_policy_mae_scorer", "pit_values", "policy_mean_absolute_error"),
            *("aitchison_distance", "energy_score", "pit_uniformity"),
            "interval_width_score",
        )
    ),
    # at most twelve parameters
    "skpce.inspection.shapley_effects",
    "skpce.inspection.sobol_indices",
    # a marginal is an Expansion
    *(
        f"marginal of PolynomialChaosRegressor: {name}_"
        for name in (
            *("alpha", "basis", "coefficients", "feature_importances", "loo_error"),
            *("multi_indices", "n_features_in", "q2", "sobol_indices", "solver"),
            *("total_sobol_indices", "total_variance", "unexplained_share"),
        )
    ),
}
"""Names that left or look different; of a class it covers the members too.

A learned attribute is listed behind the name in ``FITTED``:
``"LogRatioTransformer: geometry_"``.
"""

MOVED: dict[str, str] = {}
"""Public modules with another address now: old to new. Their names must be there."""

RECORDED = json.loads(
    (Path(__file__).parent / "golden" / "public_surface.json").read_text("utf-8")
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


@pytest.mark.parametrize("package", RECORDED["names"])
def test_new_public_names_are_listed(package):
    if is_listed(package):
        pytest.skip("the package is in CHANGED")
    names = importlib.import_module(MOVED.get(package, package)).__all__
    known = RECORDED["names"][package]
    added = {f"{package}.{name}" for name in names} - set(known)
    assert added == {name for name in ADDED if name.rpartition(".")[0] == package}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITTED)
def test_a_fit_learns_what_it_learned(name):
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
    left = CHANGED - learned - set(RECORDED["names"])
    for package, names in RECORDED["names"].items():
        if is_listed(package):
            continue
        found = current_surface(package)
        for name in left & set(names):
            members = [key for key in names if f"{key}.".startswith(f"{name}.")]
            assert any(not matches(names[key], found.get(key)) for key in members), name
        left = left - set(names)
    assert left == set()
