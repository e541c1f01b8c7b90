"""torchgfn: one member at a time.

The tree of the reactions is given by look-up tables, which is quicker than anything
that computes; the hypergrid is the library's own with our table of rewards. Checks are
off, samples keep their log-probabilities so that nothing is evaluated twice, and Adam
is fused.
"""

from __future__ import annotations

import time

import torch
from gfn.env import DiscreteEnv
from gfn.estimators import DiscretePolicyEstimator
from gfn.gflownet import LogPartitionVarianceGFlowNet, TBGFlowNet
from gfn.gflownet.base import TrajectoryBasedGFlowNet
from gfn.gym import HyperGrid
from gfn.preprocessors import KHotPreprocessor, Preprocessor
from gfn.samplers import Sampler
from gfn.states import DiscreteStates
from gfn.utils.modules import MLP
from torch import Tensor

from .base import Answer, Settings, Task, log_softmax

N_WARM_UP = 20


class TreeEnvironment(DiscreteEnv):
    """A tree by tables: node s < N is a state, N + x an object, which can only exit."""

    def __init__(self, task: Task, log_reward: Tensor) -> None:
        n_objects, n_actions = log_reward.numel(), task.mask.shape[1]
        self.children = torch.from_numpy(task.children)
        self.table = log_reward
        self.n_inner = task.n_states
        may_exit = torch.zeros((task.n_states + n_objects, n_actions + 1)).bool()
        may_exit[: task.n_states, :-1] = torch.from_numpy(task.mask)
        may_exit[task.n_states :, -1] = True
        self.masks = may_exit
        super().__init__(
            n_actions=n_actions + 1,
            s0=torch.zeros(1, dtype=torch.long),
            sf=torch.full((1,), -1),
            state_shape=(1,),
        )

    def make_states_class(self) -> type[DiscreteStates]:
        """Return the states of this tree."""
        env = self

        class TreeStates(DiscreteStates):
            state_shape = env.state_shape
            s0 = env.s0
            sf = env.sf
            make_random_states = env.make_random_states
            n_actions = env.n_actions

            def _compute_forward_masks(self) -> Tensor:
                return env.masks[self.tensor[..., 0]]

            def _compute_backward_masks(self) -> Tensor:
                raise NotImplementedError("a tree has one parent")

        return TreeStates

    def step(self, states, actions):
        """Follow the edges."""
        node = self.children[states.tensor[..., 0], actions.tensor[..., 0]]
        return self.States(node[..., None])

    def backward_step(self, states, actions):
        """Not needed: the backward policy of a tree is one."""
        raise NotImplementedError("a tree has one parent")

    def log_reward(self, states) -> Tensor:
        """Look up log R."""
        return self.table[states.tensor[..., 0] - self.n_inner]


class TreePreprocessor(Preprocessor):
    """The encodings of a task; objects are zeros."""

    def __init__(self, task: Task) -> None:
        n_objects = task.log_reward.shape[1]
        encodings = torch.from_numpy(task.encodings)
        self.rows = torch.nn.functional.pad(encodings, (0, 0, 0, n_objects))
        super().__init__(output_dim=encodings.shape[1])

    def preprocess(self, states) -> Tensor:
        """Look up the encodings."""
        return self.rows[states.tensor[..., 0]]


class TableHyperGrid(HyperGrid):
    """The library's hypergrid with a table of log-rewards."""

    def __init__(self, side: int, log_reward: Tensor) -> None:
        super().__init__(ndim=2, height=side, validate_modes=False)
        self.table = log_reward

    def log_reward(self, states) -> Tensor:
        """Look up log R."""
        return self.table[states.tensor[..., 0] * self.height + states.tensor[..., 1]]


def train(
    task: Task, settings: Settings, members: tuple[int, ...], seed: int
) -> Answer:
    """Train one member."""
    (member,) = members
    torch.set_num_threads(1)
    torch.distributions.Distribution.set_default_validate_args(False)
    log_reward = torch.from_numpy(task.log_reward[member]).float()
    torch.manual_seed(seed)
    _Run(task, log_reward, settings).advance(N_WARM_UP)
    torch.manual_seed(seed + member)
    started = time.process_time()
    run = _Run(task, log_reward, settings)
    run.advance(settings.n_iterations)
    seconds = time.process_time() - started
    return Answer(seconds, log_softmax(run.logits(), task.mask)[None])


class _Run:
    """The library's objects for one member."""

    def __init__(self, task: Task, log_reward: Tensor, settings: Settings) -> None:
        self.settings = settings
        if task.side:
            self.env = TableHyperGrid(task.side, log_reward)
            preprocessor = KHotPreprocessor(height=task.side, ndim=2)
        else:
            self.env = TreeEnvironment(task, log_reward)
            preprocessor = TreePreprocessor(task)
        self.states = torch.from_numpy(task.states[:, :2]) if task.side else None
        self.n_states, self.n_actions = task.mask.shape
        network = MLP(
            input_dim=preprocessor.output_dim,
            output_dim=self.env.n_actions,
            hidden_dim=settings.hidden,
            n_hidden_layers=2,
        )
        self.pf = DiscretePolicyEstimator(network, self.env.n_actions, preprocessor)
        pb = None
        if task.side:
            pb = DiscretePolicyEstimator.uniform(self.env.n_actions, preprocessor)
        self.sampler = Sampler(self.pf)
        self.gflownet = self._gflownet(pb)
        groups = [{"params": network.parameters(), "lr": settings.learning_rate}]
        if settings.objective == "trajectory_balance":
            self._start_log_z()
            rate = settings.log_z_learning_rate
            groups.append({"params": [self.gflownet.logZ], "lr": rate})
        self.optimizer = torch.optim.Adam(groups, fused=True)
        self.rates = [group["lr"] for group in groups]

    def _gflownet(self, pb: DiscretePolicyEstimator | None) -> TrajectoryBasedGFlowNet:
        is_tree = pb is None
        if self.settings.objective == "vargrad":
            return LogPartitionVarianceGFlowNet(self.pf, pb, constant_pb=is_tree)
        return TBGFlowNet(self.pf, pb, constant_pb=is_tree)

    def _sample(self):
        return self.sampler.sample_trajectories(
            self.env, n=self.settings.batch_size, save_logprobs=True
        )

    @torch.no_grad()
    def _start_log_z(self) -> None:
        scores = self.gflownet.get_scores(
            self._sample(), recalculate_all_logprobs=False
        )
        self.gflownet.logZ.fill_(-scores.mean())

    def advance(self, n_iterations: int) -> None:
        """Train."""
        for iteration in range(n_iterations):
            factor = self.settings.rate_factor(iteration / n_iterations)
            for group, rate in zip(
                self.optimizer.param_groups, self.rates, strict=True
            ):
                group["lr"] = rate * factor
            loss = self.gflownet.loss(
                self.env, self._sample(), recalculate_all_logprobs=False
            )
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def logits(self):
        """Return the outputs of the network in all states of the task."""
        tensor = torch.arange(self.n_states)[:, None]
        states = self.env.states_from_tensor(
            tensor if self.states is None else self.states
        )
        return self.pf(states)[:, : self.n_actions].numpy()
