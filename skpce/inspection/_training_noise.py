"""How much of the variance between members is noise of their training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray, check_real
from .._compositions.log_ratio import clr_of, composition_geometry, sum_by_step
from .._goodness import LOG_RATIO_FLOOR, weighted_spread
from ._variance_decomposition import variance_decomposition


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
        (one-way random effects), as :func:`variance_decomposition` gives it with an
        interval.
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

    See Also
    --------
    variance_decomposition : The share with an interval, and for fragility.

    Notes
    -----
    The two definitions differ where training has a bias that depends on the reward:
    ``exact`` counts its variance as noise, replicates share it and show it as an effect
    of the reward. Only ``exact`` can see it.

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
    check_real(
        "training_noise_share", "zero_replacement", zero_replacement, low=0, high=1
    )
    if exact is None:
        return variance_decomposition(
            y,
            reward,
            control=control,
            steps=steps,
            mask=mask,
            zero_replacement=zero_replacement,
        ).noise_share
    geometry = composition_geometry(y, steps, mask, "training_noise_share")
    trained = clr_of(y, geometry, zero_replacement, "y")
    if len(trained) < 2:
        raise ValueError(f"y has {len(trained)} member; a variance needs two.")
    reference = clr_of(exact, geometry, zero_replacement, "exact")
    if reference.shape != trained.shape:
        raise ValueError(
            f"exact has {len(reference)} members but y has {len(trained)}."
        )
    spread = weighted_spread(trained, np.ones(len(trained)), LOG_RATIO_FLOOR)
    total = sum_by_step(spread / (len(trained) - 1), geometry)
    noise = sum_by_step((trained - reference).var(axis=0, ddof=1), geometry)
    return noise / np.where(total > 0, total, np.nan)
