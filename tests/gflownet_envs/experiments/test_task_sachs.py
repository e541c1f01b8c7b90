"""The Sachs task: rewards, exact policies, reference trajectory, claims."""

import json

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import Bunch

from benchmarks.gflownet.sachs_interventions import interventional_scores
from gflownet_envs.datasets import make_linear_gaussian_data
from gflownet_envs.datasets._sachs import CONSENSUS_EDGES, FEATURE_NAMES
from gflownet_envs.exact.dag import GraphFlows
from gflownet_envs.experiments.tasks import sachs
from gflownet_envs.experiments.tasks.graphs import (
    edges_of_trajectory,
)
from gflownet_envs.experiments.tasks.sachs import SachsTask
from gflownet_envs.rewards.graph_scores import (
    bge_scores,
    log_marginal_likelihoods,
    subsample_rows,
)
from tests.gflownet_envs.datasets.serving import real_file
from tests.gflownet_envs.experiments.conftest import SILENT


def simulated_cells(**_):
    """Stand in for the cells: logarithms from the published network."""
    network = {
        name: tuple(i for i, j in CONSENSUS_EDGES if j == name)
        for name in FEATURE_NAMES
    }
    rows = make_linear_gaussian_data(network, 300).data
    return Bunch(data=np.exp(rows), feature_names=list(FEATURE_NAMES))


@pytest.fixture(scope="module")
def run(smoke_runs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sachs, "fetch_sachs", simulated_cells)
        return smoke_runs("sachs")


def test_a_run_knows_exact_policies_without_a_list_of_graphs(run):
    results, out = run
    record = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert set(record["policies"]) == {"trained", "exact"}
    assert record["sizes"]["n_objects"] is None
    assert record["distance_to_exact"] is None  # of the whole law, which has no list
    noise = record["training_noise"]["exact"]["total_variation"]
    assert min(noise) > 0.1  # four iterations train nothing
    exact = results.sources["exact"].dataset
    flows = GraphFlows(results.study.reward.select(slice(5, 6)))
    for step, state in enumerate(results.study.trajectory.states[:-1]):
        expected = flows.log_policy(state)[0].exp()
        found = exact.y[5, exact.step_slices[step]]
        assert_allclose(found, expected, atol=1e-12)
    # the reference is the greedy path of the first member
    for columns, action in zip(exact.step_slices, exact.trajectory, strict=True):
        names = exact.action_names[columns]
        assert names[int(exact.y[0, columns].argmax())] == action


def test_rewards_are_sums_of_scores_of_families(run):
    """log R = Σ log p(family) − log p(parents), less that of no edges."""
    study = run[0].study
    names = study.environment.node_names
    columns = [FEATURE_NAMES.index(name) for name in names]
    rows = simulated_cells().data[:, columns]
    samples = subsample_rows(rows, 200, members=study.members)
    log_p = log_marginal_likelihoods(samples)
    expected = np.zeros(len(samples))
    parents = dict.fromkeys(range(6), 0)
    for source, target in edges_of_trajectory(study.environment, study.trajectory):
        parents[names.index(target)] |= 1 << names.index(source)
    for node, its_parents in parents.items():
        expected += log_p[:, its_parents | 1 << node] - log_p[:, its_parents]
        expected -= log_p[:, 1 << node]
    final = study.trajectory.states[-1].expand(len(samples), 1, -1)
    assert_allclose(study.reward.of_states(final)[:, 0], expected)


def test_sampled_marginals_come_from_the_policies(run):
    """A policy that stops at once has no edges; the other always adds the first."""
    ensemble = run[0].policies.ensemble.subset(run[0].policies.ensemble.members[:2])
    with torch.no_grad():
        for weight in ensemble.network.weights:
            weight.zero_()
        last = ensemble.network.biases[-1]
        last[0, 0, -1] = 100.0
        last[1, 0, 0] = 100.0
        last[1, 0, -1] = 50.0
    found = sachs._sampled_marginals(ensemble)
    assert (found[0] == 0).all()
    expected = torch.zeros(6, 6, dtype=torch.float64)
    expected[0, 1] = 1.0
    assert torch.equal(found[1], expected)


def test_the_picture_marks_published_edges(run):
    axes = Figure().subplots()
    SachsTask().draw_system(run[0], axes)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[0] == "published"
    arrows = [text for text in axes.texts if getattr(text, "arrow_patch", None)]
    environment, trajectory = run[0].study.environment, run[0].study.trajectory
    drawn = {frozenset(e) for e in edges_of_trajectory(environment, trajectory)}
    published = {frozenset(e) for e in SachsTask().known_edges(environment)}
    assert len(arrows) == len(drawn | published)


# The real cells.


def test_the_real_cells():
    real_file("sachs_observational.csv")
    task = SachsTask()
    preset = task.presets["default"]
    study = task.prepare(preset, **SILENT)
    assert study.environment.node_names == FEATURE_NAMES
    assert (study.environment.n_actions, study.environment.max_edges) == (111, 18)
    assert study.reward_features.shape == (80, 121)
    facts = dict(study.tables[0].rows)
    shares = [facts[f"share of the covariances in PC{i}"] for i in (1, 2)]
    assert 0.8 < sum(shares) < 0.95
    assert facts["standardised by"] == "all cells, before they are drawn"


def test_interventions_decide_the_direction_of_an_edge(rng):
    """The cause of a perturbed protein does not explain it; that of others does."""
    cause = rng.normal(size=(2, 200))
    effect = cause + 0.3 * rng.normal(size=(2, 200))
    targets = np.repeat([-1, 1], 100)
    effect[:, targets == 1] = rng.normal(size=(2, 100))
    samples = np.stack((cause, effect), axis=2)
    nowhere = np.full(200, -1)
    assert_array_equal(interventional_scores(samples, nowhere), bge_scores(samples))
    scores = interventional_scores(samples, targets)
    forth = scores[:, 0, 0b00] + scores[:, 1, 0b01]
    back = scores[:, 1, 0b00] + scores[:, 0, 0b10]
    assert np.all(forth > back + 10)
    assert_array_equal(scores[:, 0], bge_scores(samples)[:, 0])
    assert_array_equal(scores[:, 1], bge_scores(samples[:, :100])[:, 1])
