"""Rewards of chains of fragments: a toy with descriptors, and scores of molecules."""

import math
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from gflownet_envs.chemistry import numbers_of_chains
from gflownet_envs.environments.sequences import SequentialSelectionEnvironment
from gflownet_envs.rewards.proxies import FeatureProxies, NetworkReward
from gflownet_envs.storage import array_digest

DESCRIPTORS = ("molecular weight", "logP", "donors", "acceptors", "aromatic rings")
POSITIONS = ("scaffold 1", "scaffold 2", "linker", "decoration 1", "decoration 2")

#: SMILES and descriptors of each fragment.
TOY_FRAGMENTS: Mapping[str, tuple[str, tuple[float, float, int, int, int]]] = (
    MappingProxyType(
        {
            name: (smiles, tuple(descriptors))
            for name, (smiles, *descriptors) in tomllib.loads(
                files(__package__).joinpath("toy_fragments.toml").read_text("utf-8")
            ).items()
        }
    )
)


def toy_descriptors() -> np.ndarray:  # shape: (20, 5)
    """Return the descriptors of the toy fragments, standardised over the 20.

    Examples
    --------
    >>> toy_descriptors().shape
    (20, 5)
    """
    raw = _raw_descriptors()
    return (raw - raw.mean(axis=0)) / raw.std(axis=0)


def _raw_descriptors() -> np.ndarray:  # shape: (20, 5)
    return np.array([values for _, values in TOY_FRAGMENTS.values()])


def descriptor_score(
    chains: ArrayLike,  # shape: (n, n_positions), int
) -> np.ndarray:  # shape: (n,)
    r"""Return the drug-likeness of chains of toy fragments, between 0 and 1.

    .. math::
        s = \tfrac14 \Big(
        e^{-(L - 2)^2 / 2} + e^{-(W - 400)_+ / 100}
        + e^{-((D - 3)_+ + (A - 6)_+) / 2} + \frac{u - 1}{T - 1} \Big)

    with the sums of logP, L, weight, W, donors, D, and acceptors, A, over the T
    positions, and u different fragments. The paper's Methods ("Molecular design") give
    the four terms, the centre 2 of the Gaussian, the number of fragments and the names
    of their five descriptors. Chosen here, because the paper is silent: the fragments
    (``TOY_FRAGMENTS``, six aromatic, five saturated, five polar, four aliphatic), the
    width 1, the limits 400, 3 and 6 (stricter than Lipinski's 500, 5 and 10, which
    five such fragments seldom reach), the scales, and the plain mean.

    The score is the same for every order of the fragments. Whatever differs between
    positions therefore comes from the order of the choices and from the proxies: there
    is no geometry of a linker in it.

    Parameters
    ----------
    chains : array of int of shape (n, n_positions)
        Numbers of fragments from 0 to 19, at least two positions.

    Examples
    --------
    >>> names = list(TOY_FRAGMENTS)
    >>> chain = [names.index(n) for n in ("benzene", "pyridine", "formamide", "ethane")]
    >>> descriptor_score([chain, chain[:1] * 4]).round(3).tolist()
    [0.917, 0.5]
    """
    rows = numbers_of_chains(chains, len(TOY_FRAGMENTS))
    if rows.shape[1] < 2:
        raise ValueError(f"chains must have 2 positions or more, got {rows.shape[1]}")
    sums = _raw_descriptors()[rows].sum(axis=1)
    weight, log_p, donors, acceptors = sums[:, :4].T
    distinct = 1 + (np.diff(np.sort(rows, axis=1), axis=1) != 0).sum(axis=1)
    excess_bonds = np.maximum(donors - 3, 0) + np.maximum(acceptors - 6, 0)
    terms = (
        np.exp(-0.5 * (log_p - 2) ** 2),
        np.exp(-np.maximum(weight - 400, 0) / 100),
        np.exp(-0.5 * excess_bonds),
        (distinct - 1) / (rows.shape[1] - 1),
    )
    return np.mean(terms, axis=0)


class ChainProxyReward(NetworkReward):
    """Log R of chains as the prediction of each member's network.

    The network reads the descriptors of the fragments at all positions, one after
    another. Nothing is stored for each object, so that the 3.2 million chains of the
    paper's vocabulary need no table: the reward is also a function of members and
    objects, which `solve_exact` calls.

    Parameters
    ----------
    environment : SequentialSelectionEnvironment
        With the same fragments at every position.
    proxies : FeatureProxies
        Trained on ``chain_features(descriptors, chains)``.
    descriptors : array of shape (n_fragments, F)
        Standardised.
    temperature : float, default=0.1
        Log R is the predicted score over the temperature. The paper gives none for
        this task; with 0.1 scores that differ by 0.1 differ by the factor e in R.

    Raises
    ------
    ValueError
        If sizes do not agree.
    """

    def __init__(
        self,
        environment: SequentialSelectionEnvironment,
        proxies: FeatureProxies,
        descriptors: ArrayLike,
        temperature: float = 0.1,
    ) -> None:
        table = np.asarray(descriptors, dtype=np.float64)
        if table.ndim != 2 or set(environment.sizes) != {len(table)}:
            raise ValueError(
                "descriptors must have one row a fragment and every position as many "
                f"fragments, got shape {table.shape} for {environment.name}"
            )
        n_inputs = proxies.network.weights[0].shape[1]
        if n_inputs != table.shape[1] * len(environment.sizes):
            raise ValueError(
                f"proxies must read {table.shape[1] * len(environment.sizes)} numbers, "
                f"the descriptors at all positions, got {n_inputs}"
            )
        if not 0 < temperature < math.inf:
            raise ValueError(f"temperature must be positive, got {temperature!r}")
        super().__init__(environment, proxies.network, temperature)
        self._sizes = torch.tensor(environment.sizes)
        self._descriptors = torch.from_numpy(table).to(proxies.network.dtype)

    def features_of_states(self, states: Tensor) -> Tensor:
        """Return the descriptors at all positions."""
        return self._descriptors[states].flatten(start_dim=-2)

    def features_of_objects(self, objects: Tensor) -> Tensor:
        """Return the descriptors at all positions."""
        sizes = self._sizes.to(objects.device)
        strides = sizes.flip(0).cumprod(0).flip(0) // sizes
        return self.features_of_states(objects[..., None] // strides % sizes)

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Self:
        """Return a copy with another precision, on another device."""
        made = super().to(device, dtype)
        made._descriptors = self._descriptors.to(device, dtype)
        return made

    def digest(self) -> str:
        """Return a checksum of the networks, the descriptors and the temperature."""
        arrays = (*self.network.to_arrays().values(), self._descriptors.cpu().numpy())
        sums = "".join(array_digest(array) for array in arrays)
        return f"{self.environment.name}:{self.temperature}:{sums}"


def chain_features(
    descriptors: ArrayLike,  # shape: (n_fragments, F)
    chains: ArrayLike,  # shape: (n, n_positions), int
) -> np.ndarray:  # shape: (n, n_positions * F)
    """Return the descriptors of the fragments at all positions, one after another.

    Examples
    --------
    >>> chain_features([[1.0, 2.0], [3.0, 4.0]], [[1, 0]]).tolist()
    [[3.0, 4.0, 1.0, 2.0]]
    """
    rows = np.asarray(chains)
    return np.asarray(descriptors, dtype=np.float64)[rows].reshape(len(rows), -1)


def reference_chains(
    n_chains: int = 500, n_positions: int = 5, seed: int = 0
) -> np.ndarray:  # shape: (n_chains, n_positions)
    """Draw different chains of toy fragments, those that the proxies may see.

    Each proxy sees 30 % of the paper's 500 reference molecules (Methods; the text of
    the results has 30 % of the space, which has 3.2 million chains).

    Examples
    --------
    >>> reference_chains(3).shape
    (3, 5)
    """
    n_fragments = len(TOY_FRAGMENTS)
    n_objects = n_fragments**n_positions
    if not 1 <= n_chains <= n_objects:
        raise ValueError(
            f"n_chains must be from 1 to {n_objects}, the chains, got {n_chains!r}"
        )
    rng = np.random.default_rng(seed)
    numbers = rng.choice(n_objects, size=n_chains, replace=False)
    return np.stack(np.unravel_index(numbers, (n_fragments,) * n_positions), axis=1)


def molecule_log_reward(
    activity: ArrayLike,  # shape: (E, n_objects)
    drug_likeness: ArrayLike,  # shape: (n_objects,)
    *,
    temperature: float = 0.25,
) -> np.ndarray:  # shape: (E, n_objects), float64
    r"""Return log R = predicted activity / temperature + log QED.

    The members differ in the activity (pIC50, `train_feature_proxies` on fingerprints);
    QED is computed, the same for all. The form and both numbers are chosen here: the
    paper has no real molecules. An activity better by one decade is worth the factor
    :math:`e^{1/\text{temperature}}`, and R is proportional to QED.

    Parameters
    ----------
    activity : array of shape (n_members, n_objects)
    drug_likeness : array of shape (n_objects,)
        Positive, as QED is.
    temperature : float, default=0.25
        Chosen after 0.5 had left the exact distribution over chains of three fragments
        nearly flat (13,933 effective chains of 24,389).

    Examples
    --------
    >>> molecule_log_reward([[5.0, 6.0]], [1.0, 1.0])
    array([[20., 24.]])
    """
    predicted = np.asarray(activity, dtype=np.float64)
    quality = np.asarray(drug_likeness, dtype=np.float64)
    if predicted.ndim != 2 or quality.shape != predicted.shape[1:]:
        raise ValueError(
            "activity and drug_likeness must have shapes (n_members, n_objects) and "
            f"(n_objects,), got {predicted.shape} and {quality.shape}"
        )
    if not ((quality > 0) & (quality < np.inf)).all():
        bad = quality[~((quality > 0) & (quality < np.inf))][0]
        raise ValueError(f"drug_likeness must be positive, got {bad}")
    if not 0 < temperature < math.inf:
        raise ValueError(f"temperature must be positive, got {temperature!r}")
    return predicted / temperature + np.log(quality)
