"""An expansion in orthonormal polynomials: what every fit ends in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import (
    FloatArray,
    IndexArray,
    as_floats,
    check_boolean,
    check_draws,
    check_integer,
    fail,
    finite_floats,
    make_generator,
    refuse_extremes,
    refuse_not_finite,
    refuse_other_names,
    state_of_fields,
)
from .._checks.frames import make_frame, remember_frames
from .._checks.numbers import LARGEST_NUMBER
from .._input_laws.columns import warn_outside
from .._learned.kernel_basis import Basis, KernelBasis
from .._solvers.problem import sum_rows
from . import indices as kernels
from .indices import (
    DerivativeSensitivity,
    InteractionIndices,
    SobolIndices,
    checked_features,
    sensitivity_frame,
    shares,
    variances_of,
)
from .moments import ExpansionMoments, basis_of_inputs, expansion_moments
from .moments import main_effects as input_effects
from .targets import (
    checked_coefficients,
    checked_groups,
    checked_names,
    groups_of_outputs,
    one_per_output,
    q2_of_groups,
)

# Rows of the printed text.
_PRINTED_GROUPS, _PRINTED_INPUTS = 12, 5


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Expansion:
    r"""Outputs expanded in orthonormal polynomials of independent inputs.

    :math:`f_k(x) = \sum_j c_{kj} \psi_j(x)`: a basis, one row of coefficients for each
    output, and which outputs belong together. Every fitted estimator has one as
    ``expansion_``; it is to the estimator what
    :class:`numpy.polynomial.Polynomial` is to a fit. Everything here follows from the
    coefficients and assumes independent inputs with the distributions of the basis
    [1]_.

    Variances and indices are those of *groups* of outputs, whose partial variances are
    added [2]_. Without ``groups`` each output stands alone. The expansion of a
    surrogate of compositions has one output for each possible action, its centred
    log-ratio, and one group for each step, so that its indices are those of the
    Aitchison variance of the step.

    Parameters
    ----------
    basis : PolynomialBasis
        Distributions of the inputs and index set, such as ``basis_`` of an estimator.
    coefficients : ndarray of shape (n_outputs, n_terms)
        Column 0 is the mean.
    input_names : sequence of str or None, default=None
        One name per input; None means ``x0, x1, ...``.
    output_names : sequence of str or None, default=None
        One name per output; None means ``y`` or ``y0, y1, ...``.
    groups : array-like of int of shape (n_outputs,) or None, default=None
        Group of each output, numbered from 0; None puts each into its own.
    group_names : sequence of str or None, default=None
        One name per group; None means the names of the outputs, or ``group0, ...``.
    q2 : array-like of shape (n_groups,) or None, default=None
        Leave-one-out Q² of each group, where it is known: the share of the variance
        of what was expanded that the expansion predicts. None takes it from the two
        arrays below; NaN where it is not known.
    scalar : bool, default=False
        Whether the only output was one-dimensional; its values have no second axis.
    target_variance, loo_error : array-like of shape (n_outputs,) or None, default=None
        Variance of what was expanded, and mean squared leave-one-out residual. Both
        are added up over the outputs of a group.

    Attributes
    ----------
    multi_indices : ndarray of shape (n_terms, n_inputs)
        Exponent of each input in each term; row 0 is the constant.

    Raises
    ------
    ValueError
        If shapes or numbers of names do not agree.

    See Also
    --------
    PolynomialChaosRegressor : Fits an expansion to data.
    CompositionalPCESurrogate : Fits one to the log-ratios of probabilities.

    References
    ----------
    .. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos
       expansions", Reliability Engineering and System Safety 93 (2008).
    .. [2] F. Gamboa, A. Janon, T. Klein and A. Lagnoux, "Sensitivity analysis for
       multidimensional and functional outputs", Electronic Journal of Statistics 8
       (2014), section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosRegressor
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> y = 1 + X[:, 0] + X[:, 0] * X[:, 1]
    >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
    >>> expansion = pce.fit(X, y).expansion_
    >>> print(expansion)
    Expansion of 1 output in 2 inputs: 6 terms of degree up to 2.
    - y: variance 2, x0 1.00, x1 0.50 (total indices), unexplained 0%
    >>> expansion([[3.0, 2.0]]).round(6)
    array([10.])
    >>> expansion.sobol_indices().first_order.round(3) + 0.0
    array([[0.5, 0. ]])
    """

    basis: Basis
    coefficients: FloatArray
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    groups: IndexArray | None
    group_names: tuple[str, ...]
    q2: FloatArray
    scalar: bool
    target_variance: FloatArray | None = None
    loo_error: FloatArray | None = None

    __getstate__ = state_of_fields

    def __init__(
        self,
        basis: Basis,
        coefficients: ArrayLike,
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
        *,
        groups: ArrayLike | None = None,
        group_names: Sequence[str] | None = None,
        q2: ArrayLike | None = None,
        scalar: bool = False,
        target_variance: ArrayLike | None = None,
        loo_error: ArrayLike | None = None,
    ) -> None:
        if not isinstance(basis, Basis):
            raise TypeError(
                "basis must be the basis_ of a fitted estimator. Got "
                f"{type(basis).__name__} instead."
            )
        check_boolean("Expansion", "scalar", scalar)
        n_inputs = len(basis.laws)
        values = checked_coefficients(coefficients, basis.n_functions)
        outputs = checked_names("output_names", output_names, "y", len(values))
        positions = None
        if groups is None:
            group_names = outputs if group_names is None else group_names
            n_groups = len(values)
        else:
            positions = checked_groups(groups, group_names, len(values))
            n_groups = int(positions.max(initial=-1)) + 1
            n_groups = n_groups if group_names is None else len(group_names)
        variance = one_per_output("target_variance", target_variance, len(values))
        error = one_per_output("loo_error", loo_error, len(values))
        if q2 is None:
            q2 = q2_of_groups(error, variance, positions, n_groups)
        known = as_floats(q2, "q2")
        if known.shape != (n_groups,):
            raise ValueError(
                f"q2 has shape {known.shape}; expected ({n_groups},), one per group."
            )
        vars(self).update(
            basis=basis,
            coefficients=values,
            input_names=checked_names("input_names", input_names, "x", n_inputs),
            output_names=outputs,
            groups=positions,
            group_names=checked_names("group_names", group_names, "group", n_groups),
            q2=known,
            scalar=bool(scalar),
            target_variance=variance,
            loo_error=error,
        )

    @property
    def multi_indices(self) -> IndexArray:
        """Exponents of the terms; shape (n_terms, n_inputs)."""
        return self.basis.multi_indices

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return len(self.basis.laws)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.coefficients)

    @property
    def n_groups(self) -> int:
        """Number of groups of outputs."""
        return len(self.group_names)

    @property
    def mean(self) -> FloatArray:
        """Mean of each output; shape (n_outputs,)."""
        return self.coefficients[:, 0]

    @property
    def total_variance(self) -> FloatArray:
        """Variance of each group; shape (n_groups,)."""
        return self._indices.total_variance

    @property
    def unexplained_share(self) -> FloatArray:
        """``1 - q2`` within [0, 1]; shape (n_groups,).

        The share of the variance of what was expanded about which the indices say
        nothing; NaN where it is not known.
        """
        return np.clip(1.0 - self.q2, 0.0, 1.0)

    @property
    def term_names(self) -> list[str]:
        """Names of the terms, such as ``He2(x0)*He1(x1)``."""
        return self.basis.names(self.input_names)

    def __call__(self, X: ArrayLike) -> FloatArray:
        """Evaluate the expansion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_inputs)
            Inputs.

        Returns
        -------
        values : ndarray of shape (n_samples, n_outputs) or (n_samples,)
            The second shape when the expansion is ``scalar``.

        Raises
        ------
        ValueError
            If X has another number of columns, other names, or is not finite.

        Warns
        -----
        InputOutsideSupportWarning
            For values outside the support of their distribution.
        """
        inputs = self.checked_inputs(X)
        values = self.basis.combine(inputs, self.coefficients)
        return values[:, 0] if self.scalar else values

    # Groups and linear images

    def grouped(
        self, groups: Any, group_names: Sequence[str] | None = None
    ) -> Expansion:
        """Return the same expansion with other groups of outputs.

        Parameters
        ----------
        groups : dict, array-like of int of shape (n_outputs,) or None
            Names of the groups with the number of outputs of each, or with their
            outputs, such as ``{"accuracy": 1, "logits": 10}``; or the group of each
            output. None puts each into its own.
        group_names : sequence of str or None, default=None
            One name per group; a dict has them.

        Returns
        -------
        expansion : Expansion
            Variances, and where they are known leave-one-out errors, of the outputs of
            a group are added up, so that its indices are means weighted by variance.
            ``q2`` is not known without ``target_variance`` and ``loo_error``.

        Raises
        ------
        ValueError
            If an output is in no group, or in two.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> expansion = PolynomialChaosRegressor(1).fit(X, X * [3.0, 1.0]).expansion_
        >>> expansion.grouped({"both": 2}).sobol_indices().first_order.round(1)
        array([[0.9, 0.1]])
        """
        if isinstance(groups, Mapping):
            groups, group_names = groups_of_outputs(groups, self.output_names, "groups")
        same_groups = groups is None and self.groups is None
        return self._with(
            groups=groups,
            group_names=group_names,
            q2=self.q2 if same_groups else None,
            target_variance=self.target_variance,
            loo_error=self.loo_error,
        )

    def mapped(
        self,
        matrix: ArrayLike,
        output_names: Sequence[str] | None = None,
        *,
        groups: ArrayLike | None = None,
        group_names: Sequence[str] | None = None,
    ) -> Expansion:
        """Return the expansion of linear combinations of the outputs.

        Parameters
        ----------
        matrix : array-like of shape (n_new_outputs, n_outputs)
            Weights of the combinations.
        output_names, groups, group_names
            Of the combinations, as in :class:`Expansion`.

        Returns
        -------
        expansion : Expansion
            In the same basis.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> pce = PolynomialChaosRegressor(1, solver="ols", distribution="normal")
        >>> expansion = pce.fit(X, X).expansion_
        >>> expansion.mapped([[1.0, -1.0]], ["difference"])([[3.0, 2.0]]).round(6)
        array([[1.]])
        """
        expected = f"finite numbers of shape (n_new_outputs, {self.n_outputs})"
        combined = finite_floats("mapped", "matrix", matrix, expected)
        if combined.ndim != 2 or combined.shape[1] != self.n_outputs:
            raise fail("mapped", "matrix", expected, matrix)
        refuse_extremes(combined, "matrix")
        return self._with(
            coefficients=combined @ self.coefficients,
            output_names=output_names,
            groups=groups,
            group_names=group_names,
            scalar=False,
        )

    def marginal(self, features: Any) -> Expansion:
        """Return the expansion in some of the inputs alone.

        It is the conditional expectation given these inputs: the other inputs are
        averaged out, not fixed. The inputs stay in their order.

        Parameters
        ----------
        features : int, str or sequence of these
            The inputs to retain, by position or by name.

        Returns
        -------
        expansion : Expansion
            With ``n_inputs = len(features)``. Its ``q2`` is not known: it belongs to
            the whole expansion.

        Raises
        ------
        ValueError
            If an input is unknown or comes twice, or there is none.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).marginal([0])([[3.0]]).round(6)
        array([4.])
        """
        chosen = checked_features(features, self.input_names)
        basis, rows = basis_of_inputs(self.basis, chosen)
        names = self.input_names
        return self._with(
            basis=basis,
            coefficients=self.coefficients[:, rows],
            input_names=[names[i] for i in chosen],
        )

    # Values

    def gradient(self, X: ArrayLike) -> FloatArray:
        r"""Return the gradient of the expansion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        gradient : ndarray (n_samples, n_features) or (n_samples, n_targets, n_features)
            :math:`\partial \hat y / \partial x_i`, in units of y per unit of x; three
            dimensions when y had two.

        Raises
        ------
        ValueError
            If an input is categorical: it has no derivative.

        Notes
        -----
        The three-term recurrence of each family is differentiated term by term.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).gradient([[3.0, 2.0]]).round(6)
        array([[1., 4.]])
        """
        inputs = self.checked_inputs(X)
        slopes = np.empty((len(inputs), self.n_outputs, self.n_inputs))
        for i in range(self.n_inputs):
            design = self.basis.differentiate(inputs, i)
            slopes[:, :, i] = design @ self.coefficients.T
        return slopes[:, 0] if self.scalar else slopes

    # Moments and indices

    def sobol_indices(self) -> SobolIndices:
        r"""Return first-order and total indices and Shapley effects of each group.

        Returns
        -------
        indices : SobolIndices
            ``first_order``, ``total_order`` and ``shapley`` of shape
            (n_groups, n_inputs), and ``total_variance`` of shape (n_groups,). 0 for a
            group without variance.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 0] * X[:, 1]
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).expansion_.sobol_indices().total_order.round(3)
        array([[1. , 0.5]])
        """
        return self._indices

    def conditional_expectation(self, X: ArrayLike, features: Any) -> FloatArray:
        r"""Return the mean of the outputs given some of the inputs.

        :math:`E[y \mid x_u]` has the terms without other inputs (Sudret, 2008, as cited
        in :class:`Expansion`).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. Only the chosen columns are used; the others may hold anything,
            NaN included.
        features : int, str or sequence of these
            The inputs that are known, by position or by name.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            In the shape of the y seen in ``fit``.

        Raises
        ------
        ValueError
            If an input is unknown or comes twice, if there is none, or if a chosen
            column is not finite.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).conditional_expectation([[3.0, np.nan]], 0).round(6)
        array([4.])
        """
        chosen = checked_features(features, self.input_names)
        inputs = self.checked_inputs(X, chosen)
        basis, rows = basis_of_inputs(self.basis, chosen)
        values = basis.combine(inputs, self.coefficients[:, rows])
        return values[..., 0] if self.scalar else values

    def main_effects(self, X: ArrayLike) -> FloatArray:
        r"""Return what each input changes on its own.

        :math:`E[y \mid x_i] - E[y]` for every input. The mean plus the main effects is
        the additive part of the expansion; the variance of a main effect is the
        first-order index times ``total_variance_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        effects : ndarray (n_samples, n_features) or (n_samples, n_features, n_targets)
            In units of y; three dimensions when y had two.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> pce = PolynomialChaosRegressor(1, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, 2 * X[:, 0] + X[:, 1]).main_effects([[3.0, 2.0]]).round(6)
        array([[6., 2.]])
        """
        inputs = self.checked_inputs(X)
        values = input_effects(self.basis, self.coefficients, inputs)
        return values[..., 0] if self.scalar else values

    def lipschitz_estimate(
        self,
        *,
        n_samples: int = 1000,
        random_state: Any = None,
        X: ArrayLike | None = None,
    ) -> FloatArray:
        r"""Return the largest gradient norm over a set of points.

        This is a *lower* bound of the Lipschitz constant over the support of the
        inputs. Where the support is unbounded, as for normal inputs, an expansion of
        degree 2 or more has no finite constant, and the estimate grows with
        ``n_samples``.

        Parameters
        ----------
        n_samples : int, default=1000
            Number of points drawn from the distributions; unused when X is given.
        random_state : int, RandomState instance or None, default=None
            Randomness of the points.
        X : array-like of shape (n_points, n_features) or None, default=None
            Points to use in place of drawn ones.

        Returns
        -------
        constant : ndarray of shape (n_targets,)
            Largest Euclidean norm of the gradient, in units of y per unit of x.

        Raises
        ------
        ValueError
            If an input is categorical, or ``n_samples`` is not a positive integer.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import uniform
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(50, 2))
        >>> inputs = uniform(-1, 2)
        >>> pce = PolynomialChaosRegressor(1, distribution=inputs, solver="ols")
        >>> pce.fit(X, 3 * X[:, 0] + 4 * X[:, 1])
        PolynomialChaosRegressor(...)
        >>> pce.lipschitz_estimate(random_state=0).round(6)
        array([5.])
        """
        points: Any = X
        if X is None:
            each = len(self.input_names) * max(len(self.coefficients), 1)
            check_draws("lipschitz_estimate", "n_samples", n_samples, each=each)
            generator = make_generator(random_state)
            points = self.basis.sample(int(n_samples), generator)
        shape = (-1, len(self.coefficients), len(self.input_names))
        slopes = self.gradient(points).reshape(shape)
        return np.linalg.norm(slopes, axis=2).max(axis=0)

    def moments(self) -> ExpansionMoments:
        r"""Return mean, variance, skewness and kurtosis of the expansion.

        With the squared centred expansion
        :math:`g^2 = \sum_m b_m \psi_m`, whose coefficients come from products of the
        univariate functions, :math:`E g^3 = \sum_m b_m c_m` and
        :math:`E g^4 = \sum_m b_m^2` [1]_. The result is exact.

        Returns
        -------
        moments : ExpansionMoments
            ``mean``, ``variance``, ``skewness`` and ``kurtosis``, each of shape
            (n_targets,). The kurtosis is the excess over a normal distribution, as in
            :func:`scipy.stats.kurtosis`. They are those of the polynomials, also
            beyond the samples, where a fit without a solver holds those of high degree
            in ``predict``: with tails they may be much larger. NaN for a target
            without variance, and for all targets if the distribution of an input, with
            its heavy tails, does not carry twice the degree.

        References
        ----------
        .. [1] B. J. Debusschere et al., "Numerical challenges in the use of
           polynomial chaos representations for stochastic processes", SIAM Journal
           on Scientific Computing 26 (2004), section 2.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 1))
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> moments = pce.fit(X, X[:, 0] ** 2).moments()  # chi-squared
        >>> moments.variance.round(6), moments.kurtosis.round(6)
        (array([2.]), array([12.]))
        """
        return expansion_moments(self.basis.laws, self.coefficients, self.multi_indices)

    def derivative_sensitivity(self) -> DerivativeSensitivity:
        r"""Return derivative-based sensitivity measures in closed form.

        :math:`\nu_i = E[(\partial f / \partial x_i)^2]`, and the upper bound
        :math:`C_i \nu_i / D` of the total Sobol index, with the Poincaré constant
        :math:`C_i` of the distribution [1]_: :math:`\sigma^2` for a normal input,
        :math:`(b - a)^2 / \pi^2` for a uniform one, :math:`4\,\mathrm{scale}^2` for an
        exponential one.

        Returns
        -------
        sensitivity : DerivativeSensitivity
            ``mean_square`` and ``total_order_bound`` of shape
            (n_targets, n_features) and ``poincare_constant`` of shape (n_features,).
            Bounds are NaN for other distributions, and all is NaN for a categorical
            input.

        References
        ----------
        .. [1] S. Kucherenko and B. Iooss, "Derivative-based global sensitivity
           measures", in Handbook of Uncertainty Quantification, Springer (2017),
           section 4.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).derivative_sensitivity().mean_square.round(6)
        array([[1., 4.]])
        """
        return kernels.derivative_sensitivity(
            self.basis.laws, self.coefficients, self.multi_indices
        )

    def sobol_index(self, features: Any) -> FloatArray:
        r"""Return the Sobol index of exactly one set of inputs.

        The share :math:`S_u = D^{-1} \sum_{j_i > 0 \iff i \in u} c_j^2` of what the
        inputs of the set explain together and no smaller set does (Sudret, 2008, eq.
        38, as cited in :class:`Expansion`). For one input this is the first-order
        index, for several it is their interaction.

        Parameters
        ----------
        features : int, str or sequence of these
            Inputs, by position or by name.

        Returns
        -------
        index : ndarray of shape (n_targets,)
            Share of the variance of the expansion.

        Raises
        ------
        ValueError
            If an input is unknown or comes twice, or there is none.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] * (1 + X[:, 1])
        >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, y)
        >>> pce.sobol_index([0, 1]).round(1)
        array([0.4])
        """
        chosen = checked_features(features, self.input_names)
        return kernels.share_of_set(self, "exact", chosen)

    def closed_sobol_index(self, features: Any) -> FloatArray:
        r"""Return what a group of inputs explains without the others.

        :math:`\mathrm{Var}(E[y \mid x_u]) / D`, the indices of all subsets of the group
        added up ([1]_, eq. 2). The closed index of all inputs is 1.

        Parameters
        ----------
        features : int, str or sequence of these
            Inputs, by position or by name, as in :meth:`sobol_index`.

        Returns
        -------
        index : ndarray of shape (n_targets,)
            Share of the variance of the expansion.

        References
        ----------
        .. [1] A. B. Owen, "Better estimation of small Sobol' sensitivity indices", ACM
           Transactions on Modeling and Computer Simulation 23 (2013).

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> y = X[:, 0] + X[:, 0] * X[:, 1] + X[:, 2]
        >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, y)
        >>> pce.closed_sobol_index([0, 1]).round(1)
        array([0.8])
        """
        chosen = checked_features(features, self.input_names)
        return kernels.share_of_set(self, "closed", chosen)

    def total_sobol_index(self, features: Any) -> FloatArray:
        r"""Return what a group of inputs explains alone or with others.

        :math:`E[\mathrm{Var}(y \mid x_{-u})] / D`, the sum over every term that holds
        an input of the group: 1 minus the closed index of the other inputs (eq. 3 of
        the source of :meth:`closed_sobol_index`).

        Parameters
        ----------
        features : int, str or sequence of these
            Inputs, by position or by name, as in :meth:`sobol_index`.

        Returns
        -------
        index : ndarray of shape (n_targets,)
            Share of the variance of the expansion.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] * (1 + X[:, 1])
        >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, y)
        >>> pce.total_sobol_index([0]).round(1)
        array([1.])
        """
        chosen = checked_features(features, self.input_names)
        return kernels.share_of_set(self, "total", chosen)

    def interaction_indices(self, max_order: int = 2) -> InteractionIndices:
        r"""Return the Sobol indices of all small sets of inputs.

        Parameters
        ----------
        max_order : int, default=2
            Largest number of inputs in a set, at least 1.

        Returns
        -------
        indices : InteractionIndices
            ``subsets``, the sets by position; ``values``, the share of exactly this
            set, and ``superset_values``, that of all sets that contain it, both of
            shape (n_targets, n_subsets). A set without a term of its own is left out:
            its index is 0.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] * (1 + X[:, 1])
        >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, y)
        >>> found = pce.interaction_indices()
        >>> found.subsets, found.values.round(1) + 0.0
        (((0,), (1,), (0, 1)), array([[0.6, 0. , 0.4]]))
        """
        check_integer("interaction_indices", "max_order", max_order, low=1)
        if max_order == 1 and isinstance(self.basis, KernelBasis):
            of_inputs = self.sobol_indices()
            every = tuple((i,) for i in range(len(self.input_names)))
            return InteractionIndices(
                every, of_inputs.first_order, of_inputs.total_order
            )
        return kernels.interaction_indices(
            self.term_norms, self.multi_indices, max_order
        )

    def shapley_effects(self) -> FloatArray:
        r"""Return the Shapley effects, which add up to 1.

        :math:`\mathrm{Sh}_i = D^{-1} \sum_{u \ni i} D_u / |u|`: each interaction is
        shared equally between its inputs ([1]_, section 3). The effect lies between the
        first-order and the total index. The formula holds for independent inputs.

        Returns
        -------
        effects : ndarray of shape (n_targets, n_features)
            Shares of the variance of the expansion.

        References
        ----------
        .. [1] A. B. Owen, "Sobol' indices and Shapley value", SIAM/ASA Journal on
           Uncertainty Quantification 2 (2014).

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] * (1 + X[:, 1])
        >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, y)
        >>> pce.shapley_effects().round(1)
        array([[0.8, 0.2]])
        """
        return self.sobol_indices().shapley

    def aggregated_sobol_indices(
        self, weights: ArrayLike | None = None
    ) -> SobolIndices:
        r"""Return the indices of all groups together.

        The partial variances of the targets are added, each with its weight, and
        divided by the sum of the variances (Gamboa et al., 2014, as cited in
        :class:`Expansion`). Targets of large variance count more; weights
        ``1 / total_variance_`` make them equal.

        Parameters
        ----------
        weights : array-like of shape (n_targets,) or None, default=None
            Weights that are not negative; None means 1 for each target.

        Returns
        -------
        indices : SobolIndices
            ``first_order``, ``total_order`` and ``shapley`` of shape (n_features,),
            and ``total_variance``, a number.

        Raises
        ------
        ValueError
            If the weights have another shape, are negative or not finite.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> pce = PolynomialChaosRegressor(1, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, X * [3.0, 1.0]).aggregated_sobol_indices().total_order.round(6)
        array([0.9, 0.1])
        """
        n_groups = len(self.group_names)
        try:
            given = (
                np.ones(n_groups) if weights is None else as_floats(weights, "weights")
            )
        except (TypeError, ValueError):
            given = np.full(1, np.nan)  # refused with the others
        if given.shape != (n_groups,) or not np.all(
            (given <= LARGEST_NUMBER) & (given >= 0)
        ):
            raise ValueError(
                f"weights must be {n_groups} finite numbers of 0 or more, one per "
                f"target. Got {weights!r}."
            )
        return kernels.aggregated_shares(kernels.variances_of(self), given)

    # Tables and text

    def sobol_frame(self, order: int = 1) -> Any:
        """Return the indices as a tidy table.

        Parameters
        ----------
        order : int, default=1
            Largest number of inputs in a set; 2 adds one row per pair and group.

        Returns
        -------
        frame : data frame of pandas or polars
            One row per group and set of inputs, with the columns of
            :meth:`PolynomialChaosRegressor.sobol_frame` and the name of the group in
            place of its number.

        Raises
        ------
        ValueError
            If ``order`` is not a positive integer.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> frame = PolynomialChaosRegressor(1).fit(X, X).expansion_.sobol_frame()
        >>> frame["target"].tolist()
        ['y0', 'y0', 'y1', 'y1']
        """
        check_integer("sobol_frame", "order", order, low=1)
        return sensitivity_frame(
            self.interaction_indices(order),
            self.sobol_indices().shapley,
            self.group_names,
            self.input_names,
            self.unexplained_share,
            of=self,
        )

    def explicit(self) -> Any:
        """Return the same expansion with its terms listed.

        An expansion of a fit without settings is a sum over terms that are not listed,
        where more than 5,000 of them matter. What needs the terms (moments beyond the
        variance, gradients, interactions of pairs, ``to_frame``) is to be asked of this
        one.

        Returns
        -------
        expansion : Expansion
            The expansion itself, where its terms are listed already.

        Raises
        ------
        ValueError
            If there are more than 200,000 terms; take :meth:`marginal` of fewer inputs.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 30))
        >>> pce = PolynomialChaosRegressor(distribution=(-1, 1))
        >>> pce = pce.fit(X, X.sum(axis=1) ** 2)
        >>> pce.coefficients_
        Traceback (most recent call last):
        ...
        skpce._learned.kernel_basis.NoTermsError: This expansion is a sum over ...
        >>> alone = pce.marginal([0, 1])
        >>> bool(np.allclose(alone.explicit().total_variance, alone.total_variance))
        True
        """
        if not isinstance(self.basis, KernelBasis):
            return self
        basis, coefficients = self.basis.listed(self.coefficients)
        listed: Any = self
        return replace(listed, basis=basis, coefficients=coefficients)

    def to_frame(self) -> Any:
        """Return the coefficients as a table.

        Returns
        -------
        frame : data frame of pandas or polars
            One row per term and one column per output; the index, or the first
            column in polars, holds the names of the terms.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 1))
        >>> pce = PolynomialChaosRegressor(1, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, 3 + 2 * X[:, 0]).expansion_.to_frame().round(6)
                   y
        1        3.0
        He1(x0)  2.0
        """
        terms = ("", self.term_names)
        return make_frame(self.output_names, self.coefficients, of=self, index=terms)

    def __repr__(self) -> str:
        return (
            f"Expansion(n_outputs={self.n_outputs}, n_inputs={self.n_inputs}, "
            f"n_terms={self.basis.n_terms}, n_groups={self.n_groups})"
        )

    def __str__(self) -> str:
        lines = [self._headline()]
        shown = min(self.n_groups, _PRINTED_GROUPS)
        lines += [f"- {self._line(group)}" for group in range(shown)]
        if shown < self.n_groups:
            lines.append(f"- ({self.n_groups - shown} more)")
        return "\n".join(lines)

    def _headline(self) -> str:
        return (
            f"Expansion of {_counted(self.n_outputs, 'output')} in "
            f"{_counted(self.n_inputs, 'input')}: "
            f"{_counted(self.basis.n_terms, 'term')} of degree up to "
            f"{self.basis.total_degree}."
        )

    def _line(self, group: int) -> str:
        """Say the variance of a group and its leading inputs."""
        indices = self._indices
        names = self.input_names
        total = indices.total_order[group]
        leading = np.argsort(-total, kind="stable")[:_PRINTED_INPUTS]
        shares = ", ".join(f"{names[i]} {total[i]:z.2f}" for i in leading)
        more = ", ..." if len(total) > len(leading) else ""
        text = (
            f"{self.group_names[group]}: variance "
            f"{indices.total_variance[group]:.3g}, {shares}{more} (total indices)"
        )
        if np.isfinite(self.q2[group]):
            return f"{text}, unexplained {self.unexplained_share[group]:z.0%}"
        return text

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<li>{escape(self._line(group))}</li>"
            for group in range(min(self.n_groups, _PRINTED_GROUPS))
        )
        return f"<p>{escape(self._headline())}</p><ul>{rows}</ul>"

    # What the methods share

    @cached_property
    def _indices(self) -> SobolIndices:
        return shares(*variances_of(self))

    @cached_property
    def term_norms(self) -> FloatArray:
        """Length of the coefficients of each term in each group.

        Of shape (n_groups, n_terms). Its squares are the partial variances of a group,
        term by term, so that the formulas for one output hold for a group.
        """
        _ = self.multi_indices  # an expansion without a list of terms has none
        if self.groups is None:
            return self.coefficients
        squares = np.square(self.coefficients)
        return np.sqrt(sum_rows(squares, self.groups, self.n_groups))

    def _with(self, **changes: Any) -> Expansion:
        """Return another expansion, whose Q² is not known."""
        same = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        unknown = dict.fromkeys(("q2", "target_variance", "loo_error"))
        other = Expansion(**(same | unknown | changes))
        remember_frames(other, self)
        return other

    def checked_inputs(
        self, X: ArrayLike, features: Sequence[int] | None = None
    ) -> FloatArray:
        """Return the chosen columns of X, all of them for None, checked.

        Raises ``ValueError`` for another number of columns, other names, or values that
        are not finite; warns of values outside the support of their distribution.
        """
        refuse_other_names("X", getattr(X, "columns", None), self.input_names)
        values = as_floats(X, "X")
        if values.ndim != 2 or values.shape[1] != self.n_inputs:
            raise ValueError(
                f"X has shape {values.shape}; expected {self.n_inputs} features, those "
                f"of the expansion: {', '.join(self.input_names[:5])}."
            )
        own = list(range(self.n_inputs) if features is None else features)
        refuse_not_finite(chosen := values[:, own], "X")
        names = [self.input_names[i] for i in own]
        warn_outside([self.basis.laws[i] for i in own], chosen, names)
        return chosen


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def coefficients_of_terms(expansion: Expansion) -> FloatArray:
    """Return the coefficients; refuse those of terms that are not listed."""
    n_terms = expansion.basis.with_terms.n_terms
    return expansion.coefficients[:, :n_terms]
