"""Chains of fragments, one position after another."""

from collections.abc import Sequence

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.environments.sequential_selection import (
    SequentialSelectionEnvironment,
)


def fragment_chain_environment(
    fragments: Sequence[str],
    positions: int | Sequence[str] = 5,
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
