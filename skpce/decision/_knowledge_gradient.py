"""The value of one measurement among correlated alternatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray, check_real, fail, finite_floats, refuse_extremes
from .._input_laws import NormalLaw
from ._value.envelope import value_of_input

OWNER = "knowledge_gradient"


def knowledge_gradient(
    mean: ArrayLike,
    covariance: ArrayLike,
    noise_sd: Any,
    *,
    measurements: ArrayLike | None = None,
) -> FloatArray:
    r"""Return what each candidate measurement is worth to a choice that follows it.

    The utilities of the alternatives are jointly normal. A measurement shows a linear
    combination :math:`a^\top u` with normal noise; then the alternative with the
    largest posterior mean is taken. Posterior means are :math:`m + \tilde\sigma z`
    with a standard normal :math:`z` and

    .. math:: \tilde\sigma = \frac{\Sigma a}{\sqrt{a^\top \Sigma a + r}},

    so that the value is :math:`E \max_k (m_k + \tilde\sigma_k z) - \max_k m_k`, exact
    by the upper envelope of lines [1]_: the kernel of :func:`value_of_information`.

    Parameters
    ----------
    mean : array-like of shape (n_alternatives,)
        Expected utilities.
    covariance : array-like of shape (n_alternatives, n_alternatives)
        Their covariance; symmetric and not negative.
    noise_sd : float or array-like of shape (n_measurements,)
        Standard deviation of the noise of each measurement; 0 for none.
    measurements : array-like (n_measurements, n_alternatives) or None, default=None
        Weights :math:`a` of each candidate; None measures each alternative itself.

    Returns
    -------
    gradient : ndarray of shape (n_measurements,)
        Values in units of the utility, not negative.

    Raises
    ------
    ValueError
        If shapes do not agree, or the covariance is not symmetric or has a negative
        variance.

    See Also
    --------
    value_of_information : The value of knowing, or observing, an input.

    References
    ----------
    .. [1] P. Frazier, W. Powell and S. Dayanik, "The knowledge-gradient policy for
       correlated normal beliefs", INFORMS Journal on Computing 21 (2009), equations 8
       and 14.

    Examples
    --------
    Two independent standard normal alternatives, one of them measured without noise:
    the value is :math:`E \max(z, 0) = 0.399`.

    >>> import numpy as np
    >>> from skpce.decision import knowledge_gradient
    >>> knowledge_gradient([0.0, 0.0], np.eye(2), 0.0).round(3)
    array([0.399, 0.399])
    """
    means = finite_floats(OWNER, "mean", mean, "a list of finite numbers")
    if means.ndim != 1:
        raise fail(OWNER, "mean", "a list of finite numbers", mean)
    size = len(means)
    expected = f"a symmetric table of shape ({size}, {size}), not negative"
    spread = finite_floats(OWNER, "covariance", covariance, expected)
    if spread.shape != (size, size):
        raise ValueError(
            f"The 'mean' and 'covariance' parameters of {OWNER} do not agree: {size} "
            f"alternatives and shape {spread.shape}; expected {(size, size)}."
        )
    for name, values in (("mean", means), ("covariance", spread)):
        refuse_extremes(values, f"{OWNER}: {name}")
    if np.diag(spread).min() < 0:
        raise fail(OWNER, "covariance", expected, covariance)
    if not np.allclose(spread, spread.T, rtol=1e-8, atol=1e-12 * np.abs(spread).max()):
        raise fail(OWNER, "covariance", expected, covariance)
    root = np.sqrt(np.diag(spread))
    if np.any(np.abs(spread) > (1.0 + 1e-8) * np.outer(root, root)):
        expected = "a covariance whose correlations are between -1 and 1"
        raise fail(OWNER, "covariance", expected, covariance)
    weights = np.eye(size)
    if measurements is not None:
        expected = f"a table of shape (n_measurements, {size})"
        weights = finite_floats(OWNER, "measurements", measurements, expected)
        if weights.ndim != 2 or weights.shape[1] != size:
            raise fail(OWNER, "measurements", expected, measurements)
        refuse_extremes(weights, f"{OWNER}: measurements")
    noise = _noise(noise_sd, len(weights))
    changes = weights @ spread
    variances = np.einsum("mk,mk->m", changes, weights)
    if variances.min() < -1e-9 * np.abs(spread).max():
        raise fail(OWNER, "covariance", "not negative", covariance)
    total = np.hypot(np.sqrt(np.maximum(variances, 0.0)), noise)
    slopes = changes / np.where(total > 0, total, 1.0)[:, np.newaxis]
    law = NormalLaw(0.0, 1.0)
    lines = (np.column_stack([means, slope]) for slope in slopes)
    return np.array([value_of_input(law, line).value for line in lines])


def _noise(noise_sd: Any, n_measurements: int) -> FloatArray:
    if not np.iterable(noise_sd):
        check_real(OWNER, "noise_sd", noise_sd, low=0.0, closed="left")
        return np.full(n_measurements, float(noise_sd))
    expected = f"a float, or {n_measurements} of them, not negative"
    noise = finite_floats(OWNER, "noise_sd", noise_sd, expected)
    if noise.shape != (n_measurements,) or noise.min() < 0:
        raise fail(OWNER, "noise_sd", expected, noise_sd)
    return noise
