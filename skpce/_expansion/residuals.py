r"""What an expansion leaves unexplained: the residuals of a fit, and their scale.

The scale model describes how the spread of the residuals changes with the inputs. With
the scaled leave-one-out residuals :math:`r_{ik}` of the targets :math:`k` of a group,

.. math:: v_i = \Bigl(\sum_k r_{ik}^2\Bigr)^{1/3}

is nearly normal where the residuals are (the transformation of Wilson and Hilferty
[1]_), and a ridge expansion of it, additive in the inputs and of degree 2, has its
penalty chosen by leave-one-out. The largest penalties return the mean: a constant scale
where the inputs have no effect on it. The scale is :math:`s(x) = \hat v(x)^{3/2}`, in
units of its root mean square over the members.

References
----------
.. [1] E. B. Wilson and M. M. Hilferty, "The distribution of chi-square", Proceedings
   of the National Academy of Sciences 17 (1931).
.. [2] D. Freedman and D. Lane, "A nonstochastic interpretation of reported significance
   levels", Journal of Business and Economic Statistics 1 (1983).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._basis.basis import PolynomialBasis, Truncation
from .._checks import FloatArray, IndexArray, one_thread_if_small
from .._solvers.problem import (
    DesignDecomposition,
)
from .._solvers.ridge import DEFAULT_ALPHAS, solve_path
from .problem import FittedProblem

#: Distributions of the residuals.
RESIDUAL_LAWS = ("resampled", "gaussian")

#: How the spread of the residuals is described.
NOISES = ("constant", "inputs")

# Smallest and largest response of the scale model, in units of its mean over the
# members, and of the largest of a member: an expansion is not positive by itself.
_SMALLEST_RESPONSE = 0.2
_LARGEST_RESPONSE = 1.5


@dataclass(frozen=True)
class ResidualLaw:
    r"""Leave-one-out residuals of an ensemble, in the fitted coordinates.

    The predictive distribution is the push-forward of the inputs *plus* that of the
    residuals: the push-forward alone (as in the paper) is too narrow by the
    unexplained share of the variance. A residual of member :math:`i`, left out, has the
    variance :math:`\sigma^2 / (1 - h_i)` with the leverage :math:`h_i`, and a
    prediction at :math:`x` has :math:`\sigma^2 (1 + h(x))` [1]_. One row has all
    targets of a member, which preserves the dependence between them.

    References
    ----------
    .. [1] R. D. Cook and S. Weisberg, "Residuals and Influence in Regression", Chapman
       and Hall, 1982, section 2.1.
    """

    residuals: FloatArray  # shape: (n_members, n_fitted), of equal variance
    weights: FloatArray  # shape: (n_members,), frequencies

    def draw(
        self, size: int, kind: str | None, generator: np.random.Generator
    ) -> FloatArray:  # shape: (size, n_fitted)
        """Draw scaled residuals.

        ``"gaussian"`` has their second moments and mean zero; ``"resampled"`` draws
        whole rows; None gives zeros, the push-forward alone.
        """
        if kind is None:
            return np.zeros((size, self.residuals.shape[1]))
        refuse_undefined(self.residuals)
        share = self.weights / self.weights.sum()
        if kind == "resampled":
            return self.residuals[generator.choice(len(share), size=size, p=share)]
        # R'R are the second moments; R has a row for each coordinate at most.
        root = np.linalg.qr(np.sqrt(share)[:, np.newaxis] * self.residuals, mode="r")
        return generator.standard_normal(size=(size, len(root))) @ root

    def atoms(
        self, size: int, kind: str | None, generator: np.random.Generator
    ) -> FloatArray:
        """Return rows for quantiles: each residual as often as its weight says.

        This avoids the noise of drawing. Where weights are no multiples of the smallest
        one, or copies are more than ``size``, so many rows are evenly spread over them.
        None has one atom, zero.
        """
        if kind != "resampled":
            return self.draw(1 if kind is None else size, kind, generator)
        refuse_undefined(self.residuals)
        copies = self.weights / self.weights[self.weights > 0].min()
        number = int(copies.sum().round())
        if np.abs(copies - copies.round()).max() > 1e-9 or number > size:
            number = size
        at = (np.arange(number) + 0.5) * (copies.sum() / number)
        return self.residuals[np.searchsorted(np.cumsum(copies), at)]


def refuse_undefined(residuals: FloatArray) -> None:
    """Raise ``ValueError`` where leaving a member out has no residual."""
    if np.isnan(residuals).any():
        raise ValueError(
            "The residual distribution is not defined: with as many terms as members a "
            "least-squares fit has no leave-one-out residuals. Use "
            "solver='ridge', a lower degree, or residual=None (the push-forward "
            "alone, which is too narrow)."
        )


@dataclass(frozen=True, eq=False)
class NoiseScale:
    """The spread of residuals as a function of the inputs, for groups of targets."""

    basis: PolynomialBasis
    coefficients: FloatArray  # shape: (n_groups, n_terms), of the response
    bounds: FloatArray  # shape: (2, n_groups), of the response
    units: FloatArray  # shape: (n_groups,), root mean square over the members
    group_of_target: IndexArray  # shape: (n_fitted,)
    at_members: FloatArray  # shape: (n_members, n_fitted), each left out of its own

    def at(self, X: FloatArray) -> FloatArray:  # shape: (n_samples, n_fitted)
        """Return the scale of each fitted target."""
        response = self.basis.combine(X, self.coefficients)
        scale = np.clip(response, *self.bounds) ** 1.5 / self.units
        return scale[:, self.group_of_target]


def learn_noise_scale(problem: FittedProblem, owner: str) -> NoiseScale:
    """Regress the spread of the residuals on the inputs."""
    samples = problem.require_samples(owner)
    residuals, weights = problem.fit.scaled_residuals, samples.weights
    refuse_undefined(residuals)
    labels, group_of_target = np.unique(problem.noise_groups, return_inverse=True)
    # Sums of squares over the targets of a group.
    member = group_of_target[:, np.newaxis] == np.arange(len(labels))
    responses = np.cbrt(np.square(residuals) @ member.astype(np.float64))
    # Functions of single inputs, of degree 2; all contrasts of a category.
    laws = problem.basis.laws
    terms = Truncation.of_laws(laws, 2, 1.0, 1).listed()
    basis = PolynomialBasis(laws, terms, problem.basis.reach)
    design = basis.evaluate(samples.inputs)
    with one_thread_if_small(design.size):
        decomposition = DesignDecomposition.from_design(design, weights)
        fit = solve_path(
            decomposition, responses, DEFAULT_ALPHAS, np.arange(len(labels))
        )
    mean = np.average(responses, axis=0, weights=weights)
    safe = np.where(mean > 0, mean, 1.0)  # without residuals the scale is one
    # A member whose spread decides its own scale would look too regular.
    left_out = responses - np.where(mean > 0, fit.loo_residuals, responses - safe)
    left_out = np.where(np.isnan(left_out), safe, left_out)
    bounds = np.stack(
        [_SMALLEST_RESPONSE * safe, _LARGEST_RESPONSE * left_out.max(axis=0)]
    )
    bounds[1] = np.maximum(bounds[1], safe)
    at_members = np.clip(left_out, *bounds) ** 1.5
    units = np.sqrt(np.average(np.square(at_members), axis=0, weights=weights))
    coefficients = fit.coefficients.copy()
    coefficients[mean == 0, 0] = 1.0
    return NoiseScale(
        basis,
        coefficients,
        bounds,
        units,
        group_of_target,
        (at_members / units)[:, group_of_target],
    )
