"""Gradients of each member are shortened by themselves."""

from dataclasses import replace

import torch

from gflownet_envs import DagEnvironment, TrainingSpec
from gflownet_envs.random_streams import member_streams
from gflownet_envs.rewards.graph_scores import LocalScoreReward
from gflownet_envs.training.block import BlockJob, _Block


def gradients(max_gradient_norm, monkeypatch):
    """Return the gradients that Adam is given in the first iteration."""
    env = DagEnvironment(6, max_edges=3)
    scores = torch.zeros(3, 6, 64)
    scores[1] = torch.linspace(0, 20, 64)
    spec = TrainingSpec("trajectory_balance", batch_size=4, hidden=(8,))
    spec = replace(spec, log_z_init=5.0, max_gradient_norm=max_gradient_norm)
    streams = member_streams(0, (0, 1, 2))
    reward = LocalScoreReward(env, scores)
    learner = _Block(BlockJob(env, None, reward, streams, spec)).learner
    parameters = [p for g in learner._optimizer.param_groups for p in g["params"]]
    monkeypatch.setattr(learner._optimizer, "step", lambda: None)
    learner.step(0, 1.0)
    return [p.grad.clone() for p in parameters]


def test_each_member_as_torch_clips_one_network(monkeypatch):
    plain = gradients(None, monkeypatch)
    norms = [float(torch.cat([g[e].ravel() for g in plain]).norm()) for e in range(3)]
    largest = sorted(norms)[1] * 0.99  # two members are longer, one is not
    found = gradients(largest, monkeypatch)
    for member, norm in enumerate(norms):
        own = [torch.nn.Parameter(g[member].clone()) for g in plain]
        for parameter in own:
            parameter.grad = parameter.detach().clone()
        torch.nn.utils.clip_grad_norm_(own, largest)
        for parameter, ours in zip(own, found, strict=True):
            torch.testing.assert_close(ours[member], parameter.grad, rtol=1e-5, atol=0)
        changed = not torch.equal(found[0][member], plain[0][member])
        assert changed == (norm > largest)
