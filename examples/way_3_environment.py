"""
From an environment to a report
===============================

The third of three ways in: a new space for GFlowNets, uncertain rewards, exact
policies, a verdict and a report, in 45 lines.
"""

import tempfile
from itertools import combinations

import numpy as np
import pandas as pd
import torch

from gflownet_envs import (
    Environment,
    ObjectTable,
    check_environment,
    policies_along,
    solve_exact,
    trajectory_of_actions,
)
from skpce import CompositionalPCESurrogate, report
from skpce.inspection import verdict


class Pick(Environment):
    """Choose some of several items in any order: a state has a 1 for each."""

    def __init__(self, items, size):
        n_items, self.size = len(items), size
        self.name, self.action_names = f"pick-{size}-of-{n_items}", tuple(items)
        self.step_names = tuple(f"pick {t + 1}" for t in range(size))
        self.n_backward_actions = self.state_size = self.encoding_size = n_items
        self.picks = list(combinations(range(n_items), size))
        self.n_objects = len(self.picks)
        ends = [[int(i in pick) for i in range(n_items)] for pick in self.picks]
        self.objects = ObjectTable(torch.tensor(ends))

    def initial_state(self, batch_shape=(), device=None):
        shape = (*batch_shape, self.state_size)
        return torch.zeros(shape, dtype=torch.int64, device=device)

    def is_terminal(self, states):
        return states.sum(dim=-1) == self.size

    def valid_mask(self, states):
        return (states == 0) & ~self.is_terminal(states)[..., None]

    def step(self, states, actions):
        after = states.scatter(-1, actions[..., None], 1)
        return torch.where(self.is_terminal(states)[..., None], states, after)

    def backward_mask(self, states):
        return states == 1

    def backward_action(self, states, actions):
        return actions

    def backward(self, states, backward_actions):
        return states.scatter(-1, backward_actions[..., None], 0)

    def encode(self, states):
        return states.float()

    def object_index(self, states):
        return self.objects.index(states)

    def object_name(self, index):
        return "+".join(self.action_names[i] for i in self.picks[index])


environment = Pick(["salt", "acid", "base", "water"], size=2)
check_environment(environment)
values = np.random.default_rng(0).normal(size=(120, 4))  # of the items, uncertain
solution = solve_exact(environment, values[:, np.array(environment.picks)].sum(axis=2))
taken = trajectory_of_actions(environment, [0, 1])
along = policies_along(environment, solution, taken)
model = CompositionalPCESurrogate(solver="ridge", steps=along.steps, mask=along.mask)
X = pd.DataFrame(values, columns=environment.action_names)
found = verdict(model, X, along.y)
print(found)
model.fit(X[:80], along.y[:80])
path = tempfile.mkdtemp() + "/report.html"
report(model, X[80:], along.y[80:], path=path, verdict=found)
