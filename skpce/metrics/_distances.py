"""Distances between policies, member by member and step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from .._checks import FloatArray, check_boolean
from .._compositions.composition import refuse_masked, replace_zeros, resolve_mask
from .._compositions.log_ratio import LogRatioGeometry, check_log_ratio_parameters
from .._compositions.steps import StepLayout
from ._tables import read_pair


def sum_steps(
    values: NDArray[Any],  # shape: (..., n_parts)
    layout: StepLayout,
) -> NDArray[Any]:  # shape: (..., n_steps)
    """Add up the columns of each step."""
    starts = [columns.start for columns in layout.slices]
    return np.add.reduceat(values, starts, axis=-1)


def js_by_step(p: FloatArray, q: FloatArray, layout: StepLayout) -> FloatArray:
    """Return the Jensen-Shannon divergence of closed rows; (n_members, n_steps)."""
    middle = 0.5 * (p + q)
    terms = 0.5 * (rel_entr(p, middle) + rel_entr(q, middle))
    return np.maximum(sum_steps(terms, layout), 0.0)


def total_variation_distance(
    p: ArrayLike, q: ArrayLike, *, steps: Any = None
) -> FloatArray:
    r"""Return the total variation distance of two policies, per member and step.

    :math:`\mathrm{TV}(p, q) = \tfrac12 \sum_k |p_k - q_k|`: the largest difference of
    the probability of any set of actions [1]_. 0 for equal policies, 1 for policies
    without a common action.

    Parameters
    ----------
    p, q : array-like of shape (n_members, n_parts) or (1, n_parts)
        Policies, the steps side by side. One row is compared with every row of the
        other.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.

    Returns
    -------
    distance : ndarray of shape (n_members, n_steps)
        Between 0 and 1; 0 for a step without choice.

    Raises
    ------
    ValueError
        If the shapes do not agree, or a table has negative entries or NaN.

    See Also
    --------
    policy_fragility : How much the members of an ensemble disagree.

    References
    ----------
    .. [1] D. A. Levin and Y. Peres, "Markov Chains and Mixing Times", 2nd ed.,
       American Mathematical Society, 2017, proposition 4.2.

    Examples
    --------
    >>> from skpce.metrics import total_variation_distance
    >>> p, q = [[0.5, 0.5, 1.0, 0.0]], [[0.75, 0.25, 0.0, 1.0]]
    >>> total_variation_distance(p, q, steps=(2, 2))
    array([[0.25, 1.  ]])
    """
    layout, first, second = read_pair(
        p, q, ("p", "q"), steps, "total_variation_distance"
    )
    return 0.5 * sum_steps(np.abs(first - second), layout)


def jensen_shannon_divergence(
    p: ArrayLike, q: ArrayLike, *, steps: Any = None, square_root: bool = False
) -> FloatArray:
    r"""Return the Jensen-Shannon divergence of two policies, per member and step.

    :math:`\mathrm{JS}(p, q) = \tfrac12 \mathrm{KL}(p \| m) + \tfrac12
    \mathrm{KL}(q \| m)` with :math:`m = (p + q) / 2`, in nats [1]_. It is finite when
    an action has probability 0, and at most :math:`\log 2`. Its square root is a
    metric [2]_.

    Parameters
    ----------
    p, q : array-like of shape (n_members, n_parts) or (1, n_parts)
        Policies, the steps side by side. One row is compared with every row of the
        other.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.
    square_root : bool, default=False
        Return the metric :math:`\sqrt{\mathrm{JS}}`.

    Returns
    -------
    divergence : ndarray of shape (n_members, n_steps)
        0 for a step without choice.

    Raises
    ------
    ValueError
        If the shapes do not agree, or a table has negative entries or NaN.

    References
    ----------
    .. [1] J. Lin, "Divergence measures based on the Shannon entropy", IEEE
       Transactions on Information Theory 37 (1991), section IV.
    .. [2] D. M. Endres and J. E. Schindelin, "A new metric for probability
       distributions", IEEE Transactions on Information Theory 49 (2003).

    Examples
    --------
    >>> from skpce.metrics import jensen_shannon_divergence
    >>> jensen_shannon_divergence([[1.0, 0.0]], [[0.0, 1.0]]).round(4)
    array([[0.6931]])
    """
    owner = "jensen_shannon_divergence"
    check_boolean(owner, "square_root", square_root)
    layout, first, second = read_pair(p, q, ("p", "q"), steps, owner)
    divergence = js_by_step(first, second, layout)
    return np.sqrt(divergence) if square_root else divergence


def aitchison_distance(
    p: ArrayLike,
    q: ArrayLike,
    *,
    steps: Any = None,
    mask: Any = "infer",
    zero_replacement: float = 1e-12,
) -> FloatArray:
    r"""Return the Aitchison distance of two policies, per member and step.

    :math:`d(p, q) = \lVert \mathrm{clr}\,p - \mathrm{clr}\,q \rVert_2` over the
    possible parts [1]_: the Euclidean distance in which the surrogate is fitted, the
    same in any ilr basis. It has no upper bound: a probability that is replaced by
    ``zero_replacement`` weighs heavily.

    Parameters
    ----------
    p, q : array-like of shape (n_members, n_parts) or (1, n_parts)
        Policies, the steps side by side. One row is compared with every row of the
        other.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 in
        both tables.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part.

    Returns
    -------
    distance : ndarray of shape (n_members, n_steps)
        0 for a step without choice.

    Raises
    ------
    ValueError
        If the shapes do not agree, or a table has negative entries, NaN, or positive
        entries on a masked part.

    References
    ----------
    .. [1] J. Aitchison, "On criteria for measures of compositional difference",
       Mathematical Geology 24 (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import aitchison_distance
    >>> aitchison_distance([[0.5, 0.5]], [[0.8, 0.2]]).round(4)
    array([[0.9803]])
    >>> (np.log(0.8 / 0.2) / np.sqrt(2)).round(4).item()
    0.9803
    """
    squared = squared_aitchison(
        p,
        q,
        names=("p", "q"),
        steps=steps,
        mask=mask,
        zero_replacement=zero_replacement,
        owner="aitchison_distance",
    )
    return np.sqrt(squared)


def squared_aitchison(
    p: Any,
    q: Any,
    *,
    names: tuple[str, str],
    steps: Any,
    mask: Any,
    zero_replacement: Any,
    owner: str,
) -> FloatArray:  # shape: (n_members, n_steps)
    """Return squared Aitchison distances; ``names`` are for messages."""
    layout, first, second = read_pair(p, q, names, steps, owner)
    check_log_ratio_parameters(
        owner,
        log_ratio="clr",
        reference=-1,
        zero_replacement=zero_replacement,
        closure="renormalize",
        layout=layout,
    )
    possible = resolve_mask(mask, np.vstack([first, second]), layout, owner)
    geometry = LogRatioGeometry(layout, possible, "clr", -1)
    clr = []
    for table, name in zip((first, second), names, strict=True):
        refuse_masked(table, possible, layout, name)
        clr.append(
            geometry.clr(replace_zeros(table, possible, layout, zero_replacement))
        )
    squares = np.zeros(first.shape)
    squares[:, geometry.active_parts] = np.square(clr[0] - clr[1])
    return sum_steps(squares, layout)
