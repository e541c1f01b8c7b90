"""The energy score: how good is a predictive law of whole policies?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from .._checks import FloatArray, check_option
from .._compositions.log_ratio import (
    LogRatioGeometry,
    check_log_ratio_parameters,
    log_ratios_of,
)
from ._tables import read_draws

# Distances between draws held at once: 32 MiB.
_BLOCK_ENTRIES = 4_194_304


def energy_score(
    y_true: ArrayLike,
    draws: ArrayLike,
    *,
    steps: Any = None,
    mask: Any = "infer",
    space: str = "aitchison",
    zero_replacement: float = 1e-12,
) -> FloatArray:
    r"""Return the mean energy score of predicted policies, per step.

    :math:`\mathrm{ES} = E\lVert Y - y \rVert - \tfrac12 E\lVert Y - Y' \rVert` for
    draws :math:`Y, Y'` of the predictive law [1]_, averaged over members; smaller is
    better, and least on average for the true law. It generalises the CRPS to all
    parts of a step at once, so that it also sees wrong dependence between them.

    Parameters
    ----------
    y_true : array-like of shape (n_members, n_parts)
        Probabilities of held-out members.
    draws : array-like of shape (n_draws, n_members, n_parts) or (n_draws, 1, n_parts)
        From :meth:`skpce.CompositionalPCESurrogate.sample`.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 in
        ``y_true`` and in all draws.
    space : {"aitchison", "probability"}, default="aitchison"
        Euclidean distance of the centred log-ratios, which weighs relative errors of
        rare actions, or of the probabilities.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part, in Aitchison geometry.

    Returns
    -------
    score : ndarray of shape (n_steps,)
        NaN for a step without choice. With two parts and ``"probability"`` it is
        :math:`\sqrt2` times the CRPS.

    Raises
    ------
    ValueError
        If the shapes do not agree, or an entry is NaN, negative, or positive on a
        masked part.

    See Also
    --------
    crps_score : Part by part.

    Notes
    -----
    The expectations are over the draws as an empirical law. The second one costs
    ``n_draws ** 2`` distances per member; once only when the draws are shared.

    References
    ----------
    .. [1] T. Gneiting and A. E. Raftery, "Strictly Proper Scoring Rules, Prediction,
       and Estimation", Journal of the American Statistical Association 102 (2007),
       eq. (22).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import energy_score
    >>> y, draws = [[0.5, 0.5]], [[[0.4, 0.6]], [[0.6, 0.4]]]
    >>> energy_score(y, draws, space="probability").round(4)
    array([0.0707])
    """
    owner = "energy_score"
    check_option(owner, "space", space, ("aitchison", "probability"))
    geometry, observed, drawn = read_draws(owner, y_true, draws, steps, mask)
    check_log_ratio_parameters(
        owner,
        log_ratio="clr",
        reference=-1,
        zero_replacement=zero_replacement,
        closure="renormalize",
        layout=geometry.layout,
    )
    if space == "aitchison":
        observed = _clr(observed, geometry, zero_replacement, "y_true")
        rows = drawn.reshape(-1, drawn.shape[-1])
        clr = _clr(rows, geometry, zero_replacement, "draws")
        drawn = clr.reshape(*drawn.shape[:2], -1)
    else:
        observed = observed[:, geometry.active_parts]
        drawn = drawn[..., geometry.active_parts]
    scores = np.full(geometry.layout.n_steps, np.nan)
    for step in np.flatnonzero(geometry.has_choice):
        its_own = geometry.step_of_active == step
        scores[step] = _score_of_step(observed[:, its_own], drawn[:, :, its_own])
    return scores


def _clr(
    values: FloatArray, geometry: LogRatioGeometry, zero_replacement: float, name: str
) -> FloatArray:
    return log_ratios_of(
        values,
        geometry,
        closure="renormalize",
        zero_replacement=zero_replacement,
        name=name,
    )


def _score_of_step(observed: FloatArray, drawn: FloatArray) -> float:
    """Average the score over members; draws (n_draws, n_members or 1, n_axes)."""
    error = np.mean([np.linalg.norm(d - observed, axis=1).mean() for d in drawn])
    spread = np.mean([_mean_distance(drawn[:, i]) for i in range(drawn.shape[1])])
    return float(error - 0.5 * spread)


def _mean_distance(points: FloatArray) -> float:
    """Return the mean distance of two points drawn with replacement."""
    n_points = len(points)
    block = max(1, _BLOCK_ENTRIES // n_points)
    total = sum(
        cdist(points[start : start + block], points).sum()
        for start in range(0, n_points, block)
    )
    return float(total) / n_points**2
