"""Objects that take one level of each component in turn."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.environments.sequences import PrefixEnvironment


class SequentialSelectionEnvironment(PrefixEnvironment):
    """Choose one level of each component in a fixed order: a tree.

    Actions lie on one flat axis over the levels of all components, and the mask opens
    the block of the component whose turn it is. A linear head over that axis is
    therefore exactly one separate linear head a step.

    A state holds the chosen level of each component, −1 where none is chosen yet. Its
    encoding is the one-hot vectors of the chosen levels beside a one-hot step. Objects
    are numbered with the last component running fastest (C order).

    Parameters
    ----------
    levels : mapping of str to sequence of str
        The names of the levels of each component, in the order of the choices.
    name : str, optional
        By default ``"selection-"`` and the numbers of levels.

    Examples
    --------
    >>> env = SequentialSelectionEnvironment(
    ...     {"solvent": ["water", "toluene"], "base": ["K3PO4", "MTBD", "none"]}
    ... )
    >>> env.n_actions, env.n_objects, env.max_steps
    (5, 6, 2)
    >>> env.step_actions(1)
    (2, 3, 4)
    >>> env.object_name(4)
    'toluene | MTBD'
    """

    def __init__(
        self, levels: Mapping[str, Sequence[str]], name: str | None = None
    ) -> None:
        if not isinstance(levels, Mapping):
            raise ValueError(
                f"levels must map each component to its level names, got {levels!r}"
            )
        if len(levels) == 0:
            raise ValueError("levels must name at least one component, got none")
        for component, its_levels in levels.items():
            if isinstance(its_levels, str) or len(its_levels) == 0:
                raise ValueError(
                    f"levels[{component!r}] must be a non-empty sequence of names, "
                    f"got {its_levels!r}"
                )
            names = tuple(its_levels)
            if not all(isinstance(name, str) for name in names):
                raise ValueError(
                    f"levels[{component!r}] must be names (str), got {names!r}"
                )
            if len(set(names)) < len(names):
                raise ValueError(
                    f"levels[{component!r}] must be distinct names, got {names!r}"
                )
        self.levels = {key: tuple(value) for key, value in levels.items()}
        self.sizes = tuple(len(value) for value in self.levels.values())
        self.offsets = tuple(sum(self.sizes[:t]) for t in range(len(self.sizes)))
        super().__init__(self.offsets)
        default_name = "selection-" + "x".join(str(size) for size in self.sizes)
        self.name = default_name if name is None else name
        self.action_names = tuple(
            f"{component}: {level}"
            for component, its_levels in self.levels.items()
            for level in its_levels
        )
        self.step_names = tuple(self.levels)
        self.encoding_size = sum(self.sizes) + len(self.sizes)
        self.n_objects = math.prod(self.sizes)
        self._step_of_action = torch.repeat_interleave(
            torch.arange(len(self.sizes)), torch.tensor(self.sizes)
        )
        self._level_of_action = torch.cat([torch.arange(size) for size in self.sizes])

    def is_terminal(self, states: Tensor) -> Tensor:
        return states[..., -1] >= 0

    def valid_mask(self, states: Tensor) -> Tensor:
        turn = self._step_of_action.to(states.device)
        return turn == self._steps(states)[..., None]

    def encode(self, states: Tensor) -> Tensor:
        chosen = states[..., self._step_of_action.to(states.device)]
        one_hot = chosen == self._level_of_action.to(states.device)
        step = self._one_hot_step(states)
        return torch.cat((one_hot, step), dim=-1).to(torch.float32)

    def object_index(self, states: Tensor) -> Tensor:
        index = torch.zeros_like(states[..., 0])
        for component, size in enumerate(self.sizes):
            index = index * size + states[..., component]
        return index

    def object_levels(self) -> Tensor:  # shape: (n_objects, n_components)
        """Return the levels of every object, in the order of the reward table."""
        grids = [torch.arange(size) for size in self.sizes]
        return torch.cartesian_prod(*grids).reshape(-1, self.state_size)

    def object_name(self, index: int) -> str:
        self._require_object(index)
        levels = np.unravel_index(index, self.sizes)
        names = zip(self.levels.values(), levels, strict=True)
        return " | ".join(its_levels[level] for its_levels, level in names)

    def step_actions(self, step: int) -> tuple[int, ...]:
        super().step_actions(step)  # checks the range
        start = self.offsets[step]
        return tuple(range(start, start + self.sizes[step]))


def fragment_chain_environment(
    fragments: Sequence[str], positions: int | Sequence[str] = 5
) -> SequentialSelectionEnvironment:
    """Return the tree of chains in which any fragment may stand at any position.

    Objects are chains, ``len(fragments) ** n_positions`` of them. Different chains may
    be the same molecule, which then has the sum of their probabilities.

    Parameters
    ----------
    fragments : sequence of str
        Names or SMILES.
    positions : int or sequence of str, default=5
        How many, or their names; a number gives "fragment 1", "fragment 2" and so on.

    Examples
    --------
    >>> env = fragment_chain_environment(["C=C", "CO", "CN"], positions=2)
    >>> env.n_objects, env.action_names[4], env.object_name(5)
    (9, 'fragment 2: CO', 'CO | CN')
    """
    if isinstance(positions, str):
        raise ValueError(f"positions must be a number or names, got {positions!r}")
    if not isinstance(positions, Sequence):
        require_at_least("positions", positions, 1)
        positions = [f"fragment {t + 1}" for t in range(positions)]
    if len(set(positions)) < len(positions):
        raise ValueError(f"positions must have distinct names, got {positions!r}")
    name = f"chains-{len(fragments)}^{len(positions)}"
    return SequentialSelectionEnvironment(dict.fromkeys(positions, fragments), name)
