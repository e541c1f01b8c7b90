"""Sobol indices of the probabilities themselves, by sampling through the softmax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._checks import FloatArray, RandomState, check_draws, make_generator
from .._expansion.expansion import SobolIndices
from .._result import Result, Shown
from .fitted import FittedCompositions

# A variance below this share of the squared mean is rounding.
_ROUNDING = 1e-24


def _parts_and_steps(
    read: Callable[[ProbabilitySobolIndices], FloatArray],
) -> tuple[property, property]:
    """Return properties: rows of the probabilities, and rows of the steps."""
    return (
        property(lambda result: read(result)[: result.n_parts]),
        property(lambda result: read(result)[result.n_parts :]),
    )


@dataclass(frozen=True)
class ProbabilitySobolIndices(Shown):
    """Sobol indices of probabilities, with standard errors.

    Shares are not clipped, and 0 for a probability that does not vary. The standard
    errors are those of sampling, without the error of the surrogate. For all
    probabilities of a step the partial variances are added.

    Parameters
    ----------
    indices : SobolIndices
        One row for each probability, then one for each step.
    standard_errors : SobolIndices
        Of the indices.
    n_parts : int
        Number of probabilities.
    n_samples : int
        Rows of each sample.

    Attributes
    ----------
    first_order, total_order : ndarray of shape (n_parts, n_features)
        First-order and total indices.
    first_order_error, total_order_error : ndarray of shape (n_parts, n_features)
        Their standard errors.
    variance : ndarray of shape (n_parts,)
        Variance under the distributions of the inputs.
    step_first_order, step_total_order : ndarray of shape (n_steps, n_features)
        First-order and total indices of the steps.
    step_first_order_error, step_total_order_error : ndarray (n_steps, n_features)
        Their standard errors.
    step_variance : ndarray of shape (n_steps,)
        Sum of the variances of the probabilities of a step.
    """

    indices: SobolIndices
    standard_errors: SobolIndices
    n_parts: int
    n_samples: int

    first_order, step_first_order = _parts_and_steps(lambda r: r.indices.first_order)
    total_order, step_total_order = _parts_and_steps(lambda r: r.indices.total_order)
    first_order_error, step_first_order_error = _parts_and_steps(
        lambda r: r.standard_errors.first_order
    )
    total_order_error, step_total_order_error = _parts_and_steps(
        lambda r: r.standard_errors.total_order
    )
    variance, step_variance = _parts_and_steps(lambda r: r.indices.total_variance)

    def _table(self) -> Result:
        n_rows, n_inputs = self.indices.first_order.shape
        names, inputs = self._labels(n_rows, n_inputs)
        columns = {
            "first_order": self.indices.first_order,
            "first_order_error": self.standard_errors.first_order,
            "total_order": self.indices.total_order,
            "total_order_error": self.standard_errors.total_order,
        }
        return Result({"probability": names, "input": inputs}, columns)


def probability_sobol_indices(
    fitted: FittedCompositions,
    n_samples: int = 4096,
    *,
    random_state: RandomState = None,
) -> ProbabilitySobolIndices:
    r"""Return Sobol indices of the probabilities, not of their log-ratios.

    A log-ratio of two rare actions can vary much while the policy hardly changes;
    these indices show what changes the probabilities. A probability is no polynomial
    of the inputs, so they are sampled and have a standard error.

    Parameters
    ----------
    n_samples : int, default=4096
        Rows of each of the two samples; the surrogate is evaluated
        ``n_samples * (n_features + 2)`` times.
    random_state : int, RandomState instance or None, default=None
        None uses the parameter of the estimator.

    Returns
    -------
    indices : ProbabilitySobolIndices
        ``first_order``, ``total_order`` (n_parts, n_features) and their standard
        errors, and the same per step with prefix ``step_``.

    Raises
    ------
    ValueError
        If ``n_samples`` is below 2.

    Notes
    -----
    The inputs are independent with the distributions of the fit. Indices are those of
    the prediction, without the unexplained share. Two independent samples :math:`A, B`
    of the inputs, and :math:`A_B^{(i)}` which is A with the column of input :math:`i`
    from B, give the partial variances

    .. math::

       V_i &= \mathrm{Cov}\bigl(f(B), f(A_B^{(i)})\bigr) \quad [1]
            = E\bigl[f(B)\,(f(A_B^{(i)}) - f(A))\bigr] \quad [2], \\
       V_{T_i} &= \tfrac12 E\bigl[(f(A) - f(A_B^{(i)}))^2\bigr] \quad [3].

    The first form of :math:`V_i` [1]_ varies less for large indices, the second [2]_
    for small ones (it is exactly 0 for an input without effect). Both are computed,
    and the one with the smaller standard error is used. Total indices are those of
    [3]_.

    References
    ----------
    .. [1] A. Janon, T. Klein, A. Lagnoux, M. Nodet and C. Prieur, "Asymptotic
       normality and efficiency of two Sobol index estimators", ESAIM:
       Probability and Statistics 18 (2014), eq. (6).
    .. [2] A. Saltelli, P. Annoni, I. Azzini, F. Campolongo, M. Ratto and
       S. Tarantola, "Variance based sensitivity analysis of model output", Computer
       Physics Communications 181 (2010), table 2 (b).
    .. [3] M. J. W. Jansen, "Analysis of variance designs for model output",
       Computer Physics Communications 117 (1999).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = softmax(np.c_[X[:, 0], 4 + X[:, 1], 4 - X[:, 1]], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1, random_state=0).fit(X, y)
    >>> surrogate.step_total_sobol_indices_.round(1)  # of log-ratios
    array([[0.2, 0.8]])
    >>> surrogate.probability_sobol_indices().step_total_order.round(1)
    array([[0., 1.]])
    """
    each = fitted.geometry.layout.n_parts * len(fitted.basis.laws)
    check_draws("probability_sobol_indices", "n_samples", n_samples, low=2, each=each)
    generator = make_generator(random_state)
    first, second = (fitted.basis.sample(n_samples, generator) for _ in range(2))
    layout = fitted.geometry.layout
    by_step = np.arange(layout.n_steps)[:, np.newaxis] == layout.step_of_part
    member = np.vstack([np.eye(layout.n_parts), by_step])
    policies = fitted.policies_at
    at_first, at_second = policies(first), policies(second)
    mean = (at_first.mean(axis=0) + at_second.mean(axis=0)) / 2.0
    at_first, at_second = at_first - mean, at_second - mean
    n_features = first.shape[1]
    shares = np.zeros((2, len(member), n_features))
    errors = np.zeros_like(shares)
    spread = (np.square(at_first) + np.square(at_second)) / 2.0
    rounding = member @ np.square(mean) * _ROUNDING
    for i in range(n_features):
        mixed_inputs = first.copy()
        mixed_inputs[:, i] = second[:, i]
        mixed = policies(mixed_inputs) - mean
        # The three of a row share input i or all but i; pooling them is efficient.
        pooled = (np.square(at_second) + np.square(mixed)) / 2.0
        products = (at_second * mixed, pooled)
        differences = (at_second * (mixed - at_first), spread)
        jansen = (np.square(at_first - mixed) / 2.0, spread)
        one, two, (shares[1, :, i], errors[1, :, i]) = (
            ratio_of_means(above @ member.T, below @ member.T, rounding, ddof=1)
            for above, below in (products, differences, jansen)
        )
        shares[0, :, i], errors[0, :, i] = np.where(one[1] < two[1], one, two)
    variance = spread.mean(axis=0) @ member.T
    steps = np.repeat(layout.step_names, layout.widths)
    parts = [f"{s}: {p}" for s, p in zip(steps, layout.part_names, strict=True)]
    return ProbabilitySobolIndices(
        SobolIndices(shares[0], shares[1], variance),
        SobolIndices(errors[0], errors[1], np.full_like(variance, np.nan)),
        layout.n_parts,
        int(n_samples),
    )._named([*parts, *layout.step_names], fitted.input_names)


def ratio_of_means(
    parts: FloatArray,  # shape: (n_samples, n_targets)
    whole: FloatArray,  # shape: (n_samples, n_targets)
    rounding: FloatArray | float = 0.0,  # means of the whole that are none
    *,
    ddof: int = 0,
) -> tuple[FloatArray, FloatArray]:  # each of shape (n_targets,)
    """Return a ratio of means and its standard error, by linearisation; 0 over 0."""
    mean = whole.mean(axis=0)
    varies = mean > rounding
    safe = np.where(varies, mean, 1.0)
    ratio = np.where(varies, parts.mean(axis=0) / safe, 0.0)
    spread = (parts - ratio * whole).std(axis=0, ddof=ddof)
    return ratio, np.where(varies, spread / safe / np.sqrt(len(parts)), 0.0)
