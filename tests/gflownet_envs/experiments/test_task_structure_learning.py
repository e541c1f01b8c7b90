"""Structure learning on five nodes: rewards, trajectory, marginals, picture."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs.datasets import SIX_EDGE_NETWORK, make_linear_gaussian_data
from gflownet_envs.rewards.graph_scores import subsample_rows
from tests.gflownet_envs.experiments.conftest import SILENT

TRUE = {(i, j) for j, parents in SIX_EDGE_NETWORK.items() for i in parents}


@pytest.fixture(scope="module")
def run(smoke_runs):
    return smoke_runs("structure-learning")


@pytest.fixture(scope="module")
def samples(run):
    """The rows of the members, drawn again."""
    rows = run[0].preset.proxy
    data = make_linear_gaussian_data(n_samples=rows.n_samples).data
    return subsample_rows(data, rows.n_rows, members=run[0].study.members)


def edges_of(name):
    return {tuple(e.split(" → ")) for e in name.split(", ") if " → " in e}


def test_the_trajectory_adds_the_simulated_edges(run):
    results, out = run
    record = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert record["sizes"]["n_objects"] == 29_281
    assert record["trajectory"][-1] == "stop"
    assert edges_of(", ".join(record["trajectory"][:-1])) == TRUE
    assert results.headline.dataset.steps == (21,) * 7


def test_the_order_of_the_edges_is_that_of_the_mean_reward(run):
    """The likeliest first edge of the network, from the list of all graphs."""
    study = run[0].study
    mean = study.reward.log_reward[: study.n_train].mean(dim=0)
    weight = torch.exp(mean - mean.max())
    graphs = [edges_of(name) for name in study.environment.object_names()]
    flow = dict.fromkeys(TRUE, 0.0)
    for w, graph in zip(weight.tolist(), graphs, strict=True):
        for edge in graph & TRUE:  # of 1 / len(graph) of the orders it is the first
            flow[edge] += w / len(graph)
    first = study.environment.action_names[study.trajectory.actions[0]]
    assert tuple(first.split(" → ")) == max(flow, key=flow.get)


def test_inputs_are_the_covariances_of_the_rows(run, samples):
    study = run[0].study
    for member in (0, 13):
        expected = np.cov(samples[member], rowvar=False).ravel()
        assert_allclose(study.reward_features[member], expected)
    column = study.feature_names.index("cov(Mek, Erk)")
    assert column in study.levels["node"]["Mek"]
    assert column in study.levels["node"]["Erk"]
    assert column not in study.levels["node"]["PKA"]
    assert len(study.levels["node"]["PKA"]) == 9
    none = study.environment.object_names().index("no edges")
    assert (study.reward.log_reward[:, none] == 0).all()  # rewards are relative to it


def test_marginals_are_those_of_the_list_of_graphs(run):
    study = run[0].study
    table = next(t for t in study.tables if t.caption.startswith("Probabilities"))
    assert len(table.rows) == 20
    law = torch.softmax(study.reward.log_reward[:16], dim=1)
    graphs = [edges_of(name) for name in study.environment.object_names()]
    for edge, kind, mean, spread, trained, off in table.rows[:4]:
        pair = tuple(edge.split(" → "))
        expected = law[:, [pair in graph for graph in graphs]].sum(dim=1)
        assert mean == pytest.approx(float(expected.mean()))
        assert spread == pytest.approx(float(expected.std()))
        assert 0 <= min(trained, off) <= max(trained, off) <= 1
        assert (kind == "simulated") == (pair in TRUE)


def test_the_gap_lifts_the_worst_graphs_and_moves_the_law_by_less_than_it_says(run):
    results, _ = run
    proxy = replace(results.preset.proxy, n_solved_only=0, max_gap=12.0)
    preset = replace(results.preset, proxy=proxy, n_test=1)
    lifted = results.task.prepare(preset, **SILENT).reward.log_reward
    plain = results.study.reward.log_reward[: len(lifted)]
    gap = lifted.amax(dim=1) - lifted.amin(dim=1)
    torch.testing.assert_close(gap, torch.full_like(gap, 12.0))
    apart = torch.softmax(lifted, dim=1) - torch.softmax(plain, dim=1)
    distance = 0.5 * apart.abs().sum(dim=1)
    assert (distance > 0).all()
    assert (distance < lifted.shape[1] * np.exp(-12.0)).all()
