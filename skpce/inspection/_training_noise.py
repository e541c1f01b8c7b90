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
        noise, between = _variance_components(trained, np.asarray(reward))
        total = np.where(spread > 0, noise + between, 0.0)
    noise_by_step = sum_by_step(noise, geometry)
    total_by_step = sum_by_step(total, geometry)
    safe = np.where(total_by_step > 0, total_by_step, np.nan)
    return noise_by_step / safe


def _variance_components(
    values: FloatArray, labels: NDArray[Any]
) -> tuple[FloatArray, FloatArray]:
    """Return the variance within and between the groups of equal labels.

    One-way random effects by analysis of variance, for unequal group sizes [1]_; a
    negative estimate of the variance between groups is 0.

    References
    ----------
    .. [1] S. R. Searle, G. Casella and C. E. McCulloch, "Variance Components", Wiley,
       1992, section 3.6.
    """
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("reward has NaN labels; give one label per member.")
    if labels.shape != (len(values),):
        raise ValueError(
            f"reward has shape {labels.shape}; expected ({len(values)},), one label "
            "per member."
        )
    names, group = np.unique(labels, return_inverse=True)
    if len(names) == len(values):
        raise ValueError(
            "reward has no replicates: every member has a label of its own, so the "
            "noise of training cannot be told from the effect of the reward."
        )
    if len(names) < 2:
        raise ValueError(
            f"reward has one label only, {names[0].item()!r}; the share of training "
            "noise needs at least two rewards (or control= for one fixed reward)."
        )
    sums = np.zeros((len(names), values.shape[1]))
    np.add.at(sums, group, values)
    sizes = np.bincount(group)
    means = sums / sizes[:, np.newaxis]
    n_members, n_groups = len(values), len(names)
    within = np.square(values - means[group]).sum(axis=0) / (n_members - n_groups)
    deviations = np.square(means - values.mean(axis=0))
    between_mean_square = sizes @ deviations / (n_groups - 1)
    typical_size = (n_members - np.square(sizes).sum() / n_members) / (n_groups - 1)
    between = (between_mean_square - within) / typical_size
    return within, np.maximum(between, 0.0)
