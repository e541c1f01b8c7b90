"""An environment of one's own: choose some of several items, in any order."""

from itertools import combinations

import torch

from gflownet_envs import Environment, ObjectTable


class SubsetEnvironment(Environment):
    """Subsets of a fixed size; the order of the choices does not matter.

    A state is a vector of 0 and 1, one entry an item. Every state with k items has k
    parents, so the space is no tree and the backward policy counts.

    Examples
    --------
    >>> from gflownet_envs import check_environment, solve_exact
    >>> environment = SubsetEnvironment(("a", "b", "c", "d"), size=2)
    >>> check_environment(environment)
    >>> solution = solve_exact(environment, torch.zeros(1, environment.n_objects))
    >>> round(solution.log_z.exp().item(), 6)
    6.0
    """

    def __init__(self, items, size):
        if not 1 <= size <= len(items):
            raise ValueError(f"size must be in [1, {len(items)}], got {size}")
        self.name = f"subset-{len(items)}-{size}"
        self.action_names = tuple(items)
        self.step_names = tuple(f"pick {t + 1}" for t in range(size))
        self.n_backward_actions = self.state_size = self.encoding_size = len(items)
        self.size = size
        self.subsets = tuple(combinations(range(len(items)), size))
        self.n_objects = len(self.subsets)
        members = torch.zeros(self.n_objects, len(items), dtype=torch.int64)
        self._objects = ObjectTable(members.scatter(1, torch.tensor(self.subsets), 1))

    def initial_state(self, batch_shape=(), device=None):
        shape = (*batch_shape, self.state_size)
        return torch.zeros(shape, dtype=torch.int64, device=device)

    def is_terminal(self, states):
        return states.sum(dim=-1) == self.size

    def valid_mask(self, states):
        return (states == 0) & ~self.is_terminal(states)[..., None]

    def step(self, states, actions):
        picked = states.scatter(-1, actions[..., None], 1)
        return torch.where(self.is_terminal(states)[..., None], states, picked)

    def backward_mask(self, states):
        return states == 1

    def backward_action(self, states, actions):
        return actions  # put back what was picked

    def backward(self, states, backward_actions):
        return states.scatter(-1, backward_actions[..., None], 0)

    def encode(self, states):
        return states.to(torch.float32)

    def object_index(self, states):
        return self._objects.index(states)

    def object_name(self, index):
        return " + ".join(self.action_names[item] for item in self.subsets[index])


class OrderedSubsetEnvironment(SubsetEnvironment):
    """The same subsets, picked in the order of the items: a tree.

    Each later state has one parent, which lacks the last item.

    Examples
    --------
    >>> from gflownet_envs import check_environment
    >>> environment = OrderedSubsetEnvironment(("a", "b", "c", "d"), size=2)
    >>> check_environment(environment)
    >>> environment.action_history(torch.tensor([0, 1, 0, 1]))
    tensor([1, 3])
    """

    is_tree = True

    def __init__(self, items, size):
        super().__init__(items, size)
        self.name = f"ordered-{self.name}"

    def valid_mask(self, states):
        later = states.flip(-1).cumsum(dim=-1).flip(-1) == 0
        left = torch.arange(self.state_size, 0, -1)  # with the item itself
        enough = left + states.sum(dim=-1, keepdim=True) >= self.size
        return later & enough & super().valid_mask(states)

    def backward_mask(self, states):
        later = states.flip(-1).cumsum(dim=-1).flip(-1)
        return (states == 1) & (later == 1)

    def action_history(self, states):
        items = torch.arange(self.state_size)
        picked = torch.where(states == 1, items, self.state_size).sort(dim=-1).values
        picked = picked[..., : self.max_steps]
        return torch.where(picked < self.state_size, picked, -1)
