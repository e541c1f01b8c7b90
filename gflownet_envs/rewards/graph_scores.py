"""Scores of directed acyclic graphs: sums of local scores, and the BGe score."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.special import gammaln
from torch import Tensor

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.environments.dag import DagEnvironment
from gflownet_envs.random_streams import Purpose, member_streams
from gflownet_envs.rewards.source import MemberNumbers

STANDARDIZATIONS = ("global", "member")
_MAX_NODES = 16  # the table has 2^d columns a node


class LocalScoreReward(MemberNumbers):
    r"""Log R of a directed acyclic graph as a sum over its nodes.

    .. math::
        \log R(G) = \sum_j \mathrm{score}_j(\mathrm{Pa}_G(j))

    The scores of all sets of parents are a table, so that a graph is as many look-ups
    as it has nodes: what is needed for Bayesian scores of networks, whose table has
    :math:`2^d` columns a node.

    Parameters
    ----------
    environment : DagEnvironment
    scores : array-like of shape (n_members, n_nodes, 2 ** n_nodes)
        ``scores[e, j, s]`` is member e's score of node j when its parents are the set
        whose members are the bits of s (bit i: node i). Sets with j itself are never
        looked up.

    Raises
    ------
    ValueError
        If the shape is another, or a score that can be looked up is not finite.

    Examples
    --------
    >>> import torch
    >>> env = DagEnvironment(2)
    >>> scores = torch.zeros(1, 2, 4)
    >>> scores[0, 1, 0b01] = 3.0  # node 0 is the parent of node 1
    >>> reward = LocalScoreReward(env, scores)
    >>> state = env.step(env.initial_state(), torch.tensor(0))
    >>> env.action_names[0], reward.of_states(state[None, None]).item()
    ('0 → 1', 3.0)
    """

    def __init__(
        self,
        environment: DagEnvironment,
        scores: Tensor | ArrayLike,  # shape: (E, d, 2^d)
    ) -> None:
        d = environment.n_nodes
        table = torch.as_tensor(np.asarray(scores, dtype=np.float64))
        if table.ndim != 3 or table.shape[0] < 1 or table.shape[1:] != (d, 2**d):
            raise ValueError(
                f"scores must have shape (n_members, {d}, {2**d}) for "
                f"{environment.name}, got {tuple(table.shape)}"
            )
        sets = torch.arange(2**d)
        own = (sets >> torch.arange(d)[:, None]) & 1 == 1
        bad = ~torch.isfinite(table) & ~own
        if bad.any():
            member, node, parents = bad.nonzero()[0].tolist()
            raise ValueError(
                "scores must be finite, got "
                f"{table[member, node, parents].item()} for member {member}, node "
                f"{node}, parents {parents:#b}"
            )
        super().__init__(table)
        self.environment = environment

    @property
    def scores(self) -> Tensor:
        """The table of scores."""
        return self.numbers

    def of_states(self, states: Tensor) -> Tensor:
        """Return log R of terminal states."""
        parents = self.environment.parent_sets(states)  # (E, B, d)
        by_node = self.scores.gather(2, parents.transpose(1, 2))
        return by_node.sum(dim=1)


def subsample_rows(
    data: ArrayLike,  # shape: (n, d)
    n_rows: int = 200,
    *,
    members: Sequence[int],
    seed: int = 0,
    standardize: str = "global",
) -> np.ndarray:  # shape: (E, n_rows, d)
    """Draw each member's rows without replacement, and standardise.

    The paper standardises to zero mean and unit variance and gives each member 200 of
    853 rows. It does not say which comes first.

    Parameters
    ----------
    data : array-like of shape (n, d)
    n_rows : int, default=200
    members : sequence of int
        Numbers of the members, which name their random streams.
    seed : int, default=0
    standardize : {"global", "member"}, default="global"
        By the mean and standard deviation (ddof 0) of all rows, before drawing: the
        order of the paper's sentences. Or each member by its own rows, whose sample
        covariance is then its correlation matrix: heavy tails no longer show as
        variances that differ between members.

    Examples
    --------
    >>> data = np.random.default_rng(0).normal(size=(60, 3))
    >>> subsample_rows(data, 20, members=range(4)).shape
    (4, 20, 3)
    """
    rows = np.asarray(data, dtype=np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(
            f"data must be a finite array of shape (n, d), got shape {rows.shape}"
        )
    require_at_least("n_rows", n_rows, 2)
    if n_rows > len(rows):
        raise ValueError(f"n_rows must be at most {len(rows)}, the rows, got {n_rows}")
    numbers = tuple(int(member) for member in members)
    if len(numbers) == 0:
        raise ValueError("members must not be empty")
    if standardize not in STANDARDIZATIONS:
        raise ValueError(
            f"standardize must be one of {STANDARDIZATIONS}, got {standardize!r}"
        )
    streams = member_streams(seed, numbers)
    orders = (s.generator(Purpose.ROW_SUBSET).permutation(len(rows)) for s in streams)
    drawn = np.stack([order[:n_rows] for order in orders])
    if standardize == "global":
        return _standardized(rows)[drawn]
    return _standardized(rows[drawn])


def _standardized(rows: np.ndarray) -> np.ndarray:
    # shapes: rows (..., n, d) -> (..., n, d)
    scale = rows.std(axis=-2, keepdims=True)
    if not (scale > 0).all():
        column = int(np.argwhere(scale == 0)[0, -1])
        raise ValueError(f"column {column} of data is constant; expected a spread")
    return (rows - rows.mean(axis=-2, keepdims=True)) / scale


def sample_covariances(
    samples: ArrayLike,  # shape: (E, n, d)
) -> np.ndarray:  # shape: (E, d * d)
    """Return each member's sample covariance (ddof 1), flattened row by row.

    The paper's inputs of the Sachs task before PCA: 121 entries, of which 66 differ.

    Examples
    --------
    >>> sample_covariances([[[0.0, 0.0], [2.0, 4.0]]]).tolist()
    [[2.0, 4.0, 4.0, 8.0]]
    """
    samples = _validated_samples(samples)
    if samples.shape[1] < 2:
        raise ValueError(f"samples must have at least 2 rows, got {samples.shape[1]}")
    centred = samples - samples.mean(axis=1, keepdims=True)
    covariance = centred.transpose(0, 2, 1) @ centred / (samples.shape[1] - 1)
    return covariance.reshape(len(samples), -1)


def bge_scores(
    samples: ArrayLike,  # shape: (E, n, d)
    *,
    alpha_mu: float = 1.0,
    alpha_w: float | None = None,
) -> np.ndarray:  # shape: (E, d, 2^d), float64
    r"""Return the BGe score of every node given every set of parents.

    .. math::
        \mathrm{score}_j(\mathrm{Pa}) = \log p(D_{\{j\} \cup \mathrm{Pa}})
        - \log p(D_{\mathrm{Pa}})

    with the marginal likelihood of the columns Y, l = \|Y\| of d, over n rows

    .. math::
        p(D_Y) = \Big(\frac{\alpha_\mu}{n + \alpha_\mu}\Big)^{l/2}
        \frac{\Gamma_l\big((n + \alpha_w - d + l)/2\big)}
             {\pi^{ln/2}\, \Gamma_l\big((\alpha_w - d + l)/2\big)}
        \frac{|T_{YY}|^{(\alpha_w - d + l)/2}}{|R_{YY}|^{(n + \alpha_w - d + l)/2}},

    :math:`R = T + S + \frac{n \alpha_\mu}{n + \alpha_\mu} \bar x \bar x^\top`, S the
    scatter matrix about the mean: a normal–Wishart prior with mean 0 and
    :math:`T = t I`, :math:`t = \alpha_\mu (\alpha_w - d - 1) / (\alpha_\mu + 1)`.
    This is the score of Geiger and Heckerman as Kuipers, Moffa and Heckerman corrected
    it. Markov equivalent graphs score alike.

    The determinants of all :math:`2^d` blocks of R come from d rounds of Schur
    complements: round k splits each block into one without and one with column k.

    The paper names neither the hyper-parameters nor a reward temperature for this task.
    The defaults are those of Kuipers et al.: α_μ = 1, α_w = d + α_μ + 1, so t = ½. The
    prior mean 0 and T suit standardised columns. For another temperature divide the
    scores. Subtracting ``scores[:, :, :1]`` makes log R relative to the graph without
    edges, which changes no posterior and keeps log Z small.

    Parameters
    ----------
    samples : array-like of shape (n_members, n, d)
        Standardised rows of each member, at most 16 columns.
    alpha_mu : float, default=1.0
        Weight of the prior mean in rows.
    alpha_w : float, optional
        Degrees of freedom of the Wishart, above d + 1. Default: d + alpha_mu + 1.

    Returns
    -------
    scores : ndarray of shape (n_members, d, 2 ** d), float64
        ``scores[e, j, s]``: bit i of s says whether node i is a parent. NaN where s
        holds j itself. What `LocalScoreReward` takes.

    References
    ----------
    D. Geiger, D. Heckerman. Learning Gaussian networks. UAI 1994; Parameter priors for
    directed acyclic graphical models. Annals of Statistics 30 (2002) 1412–1440.
    J. Kuipers, G. Moffa, D. Heckerman. Addendum on the scoring of Gaussian directed
    acyclic graphical models. Annals of Statistics 42 (2014) 1689–1691.

    Examples
    --------
    The second column depends on the first; the edge scores higher than no edge, and
    equally in both directions.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=100)
    >>> scores = bge_scores([np.c_[x, x + rng.normal(size=100)]])
    >>> forth = scores[0, 0, 0b00] + scores[0, 1, 0b01]
    >>> back = scores[0, 1, 0b00] + scores[0, 0, 0b10]
    >>> bool(forth > scores[0, :, 0].sum()), bool(np.isclose(forth, back))
    (True, True)
    """
    marginal = log_marginal_likelihoods(samples, alpha_mu=alpha_mu, alpha_w=alpha_w)
    n_sets = marginal.shape[1]
    n_nodes = n_sets.bit_length() - 1
    sets = np.arange(n_sets)
    own = 1 << np.arange(n_nodes)[:, None]
    scores = marginal[:, sets | own] - marginal[:, None, :]
    return np.where(sets & own, np.nan, scores)


def log_marginal_likelihoods(
    samples: ArrayLike,  # shape: (E, n, d)
    *,
    alpha_mu: float = 1.0,
    alpha_w: float | None = None,
) -> np.ndarray:  # shape: (E, 2^d), float64
    """Return log p of every set of columns; see `~gflownet_envs.bge_scores`.

    Examples
    --------
    >>> log_marginal_likelihoods(np.ones((1, 4, 2))).shape
    (1, 4)
    """
    samples = _validated_samples(samples)
    n_rows, d = samples.shape[1:]
    if not 0 < alpha_mu < math.inf:
        raise ValueError(f"alpha_mu must be positive, got {alpha_mu!r}")
    alpha_w = d + alpha_mu + 1 if alpha_w is None else alpha_w
    if not d + 1 < alpha_w < math.inf:
        raise ValueError(
            f"alpha_w must be greater than n_nodes + 1 = {d + 1}, got {alpha_w!r}"
        )
    t = alpha_mu * (alpha_w - d - 1) / (alpha_mu + 1)
    mean = samples.mean(axis=1)
    centred = samples - mean[:, None, :]
    shrunk = n_rows * alpha_mu / (n_rows + alpha_mu)
    posterior = (
        t * np.eye(d)
        + centred.transpose(0, 2, 1) @ centred
        + shrunk * mean[:, :, None] * mean[:, None, :]
    )
    size = ((np.arange(2**d)[:, None] >> np.arange(d)) & 1).sum(axis=1)
    freedom = alpha_w - d + size
    # log Γ_l(a + n/2) − log Γ_l(a), without the powers of π, which cancel
    steps = np.arange(1, d + 1)
    half = (freedom[:, None] + 1 - steps) / 2
    counted = steps <= size[:, None]
    half = np.where(counted, half, 1.0)
    gammas = np.where(counted, gammaln(half + n_rows / 2) - gammaln(half), 0.0)
    prior = (
        0.5 * size * math.log(alpha_mu / (n_rows + alpha_mu))
        - 0.5 * size * n_rows * math.log(math.pi)
        + gammas.sum(axis=1)
        + 0.5 * freedom * size * math.log(t)
    )
    return prior - 0.5 * (n_rows + freedom) * log_principal_minors(posterior)


def log_principal_minors(
    matrices: ArrayLike,  # shape: (E, d, d)
) -> np.ndarray:  # shape: (E, 2^d)
    """Return log det of every principal block of positive definite matrices.

    Bit i of the place of a block says whether row i is in it; the empty block has 0.

    Examples
    --------
    >>> log_principal_minors([[[1.0, 0.0], [0.0, np.e]]]).tolist()
    [[0.0, 0.0, 1.0, 1.0]]
    """
    left = np.asarray(matrices, dtype=np.float64)[:, None]  # (E, blocks, rows left)
    log_det = np.zeros(left.shape[:2])
    while left.shape[-1] > 0:
        pivot, across = left[..., 0, 0], left[..., 0, 1:]
        rest = left[..., 1:, 1:]
        if not (pivot > 0).all():
            raise ValueError(
                "matrices must be positive definite, got a pivot of "
                f"{pivot.min():.3g} in matrix {int(pivot.min(axis=1).argmin())}"
            )
        scaled = across / pivot[..., None]
        schur = rest - across[..., :, None] * scaled[..., None, :]
        log_det = np.concatenate((log_det, log_det + np.log(pivot)), axis=1)
        left = np.concatenate((rest, schur), axis=1)
    return log_det


def _validated_samples(samples: ArrayLike) -> np.ndarray:  # shape: (E, n, d)
    array = np.asarray(samples, dtype=np.float64)
    if array.ndim != 3 or 0 in array.shape:
        raise ValueError(
            f"samples must have shape (n_members, n, d), got shape {array.shape}"
        )
    if array.shape[2] > _MAX_NODES:
        raise ValueError(
            f"samples must have at most {_MAX_NODES} columns, got {array.shape[2]}"
        )
    if not np.isfinite(array).all():
        member = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise ValueError(f"samples of member {member} must be finite")
    return array
