"""How much of the variance between members is noise of their training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._composition import resolve_mask
from .._goodness import LOG_RATIO_FLOOR, weighted_spread
from .._log_ratio import log_ratios_of
from .._log_ratio_geometry import LogRatioGeometry
from .._resampling import sum_by_step
from .._steps import refuse_nan, refuse_ragged, resolve_layout
from ._variance_components import ConvexSums, reward_groups

FloatArray = NDArray[np.float64]


def composition_geometry(y: Any, steps: Any, mask: Any, owner: str) -> LogRatioGeometry:
    """Read the steps and the mask of a table of compositions."""
    refuse_ragged(y)
    refuse_nan(y)
    values = np.asarray(y, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"y must be 2-D, got shape {values.shape}.")
    layout = resolve_layout(y, steps, values.shape[1], owner)
    return LogRatioGeometry(
        layout, resolve_mask(mask, values, layout, owner), "clr", -1
    )


def clr_of(
    y: Any, geometry: LogRatioGeometry, zero_replacement: float, name: str
) -> FloatArray:
    """Return the centred log-ratios of a table of compositions.

    Raises
    ------
    ValueError
        If the table has another width, or rows that are no compositions.
    """
    values = np.asarray(y, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != geometry.layout.n_parts:
        raise ValueError(
            f"{name} has shape {values.shape}; expected (n_members, "
            f"{geometry.layout.n_parts})."
        )
    return log_ratios_of(
        values,
        geometry,
        closure="renormalize",
        zero_replacement=zero_replacement,
        name=name,
    )


def training_noise_share(
    y: ArrayLike,
    *,
    exact: ArrayLike | None = None,
    reward: ArrayLike | None = None,
    control: ArrayLike | None = None,
    steps: Any = None,
    mask: Any = "infer",
    zero_replacement: float = 1e-12,
) -> FloatArray:
    """Return the share of the variance of y that is noise of the training, per step.

    Variances are Aitchison (total) variances of the centred log-ratios. Exactly one
    source of knowledge is given.

    Parameters
    ----------
    y : array-like of shape (n_members, n_parts) or data frame
        Policies of the trained members, the steps side by side.
    exact : array-like of shape (n_members, n_parts) or None, default=None
        What the same members would be without training noise:
        ``Var(trained - exact) / Var(trained)``. A constant bias does not count.
    reward : array-like of shape (n_members,) or None, default=None
        Label of the reward of each member; members of one reward are replicates:
        variance within rewards over the sum of the variances within and between
        (one-way random effects).
    control : array-like of shape (n_control, n_parts) or None, default=None
        Members trained on ONE fixed reward: ``Var(control) / Var(trained)``.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part.

    Returns
    -------
    share : ndarray of shape (n_steps,)
        0 is no noise; about 1 is nothing but noise (sampling can push it above 1).
        NaN for a step without choice or without variance.

    Raises
    ------
    ValueError
        If not exactly one of ``exact``, ``reward`` and ``control`` is given, or
        there are no replicates, or fewer than two members.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce.inspection import training_noise_share
    >>> rng = np.random.default_rng(0)
    >>> signal, noise = rng.normal(size=(2, 500, 3))
    >>> trained = softmax(signal + noise, axis=1)
    >>> training_noise_share(trained, exact=softmax(signal, axis=1)).round(1)
    array([0.5])
    """
    given = [exact is not None, reward is not None, control is not None]
    if sum(given) != 1:
        raise ValueError(
            "Give exactly one of exact=, reward= and control=; got "
            f"{sum(given)} of them."
        )
    geometry = composition_geometry(y, steps, mask, "training_noise_share")
    trained = clr_of(y, geometry, zero_replacement, "y")
    if len(trained) < 2:
        raise ValueError(f"y has {len(trained)} member; a variance needs two.")
    spread = weighted_spread(trained, np.ones(len(trained)), LOG_RATIO_FLOOR)
    total = spread / (len(trained) - 1)
    if exact is not None:
        reference = clr_of(exact, geometry, zero_replacement, "exact")
        if reference.shape != trained.shape:
            raise ValueError(
                f"exact has {len(reference)} members but y has {len(trained)}."
            )
        noise = (trained - reference).var(axis=0, ddof=1)
    elif control is not None:
        fixed = clr_of(control, geometry, zero_replacement, "control")
        if len(fixed) < 2:
            raise ValueError(f"control has {len(fixed)} member; a variance needs two.")
        noise = fixed.var(axis=0, ddof=1)
    else:
        return _share_within(trained, reward, sum_by_step(spread, geometry), geometry)
    noise_by_step = sum_by_step(noise, geometry)
    total_by_step = sum_by_step(total, geometry)
    safe = np.where(total_by_step > 0, total_by_step, np.nan)
    return noise_by_step / safe


def _share_within(
    clr: FloatArray, reward: Any, spread: FloatArray, geometry: LogRatioGeometry
) -> FloatArray:
    """Return the share of the variance that lies within rewards.

    One-way random effects by analysis of variance, for unequal group sizes; a
    negative estimate of the variance between rewards is 0.
    """

    def square(values: FloatArray) -> FloatArray:
        sums = np.zeros((*values.shape[:-1], geometry.layout.n_steps))
        np.add.at(sums.T, geometry.step_of_active, np.square(values).T)
        return sums

    group = reward_groups(reward, len(clr))
    sums = ConvexSums.of(square, clr - clr.mean(axis=0), group, np.ones(len(clr)))
    found = sums.components()
    total = found.within + np.maximum(found.between, 0.0)
    return np.where(spread > 0, found.within / np.where(total > 0, total, 1), np.nan)
