"""Figures of an expansion in closed form: moments, indices of sets, derivatives.

Functions of an expansion, ``self``, which :class:`~skpce.Expansion` has as methods and
estimators hand on to their expansion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from .._checks import (
    FloatArray,
    IndexArray,
    as_floats,
    check_draws,
    check_integer,
    make_generator,
)
from .._checks.numbers import LARGEST_NUMBER
from .._learned.kernel_basis import Basis, KernelBasis
from . import indices as kernels
from .indices import (
    DerivativeSensitivity,
    InteractionIndices,
    SobolIndices,
    checked_features,
    sensitivity_frame,
)
from .moments import ExpansionMoments, basis_of_inputs, expansion_moments
from .moments import main_effects as input_effects


class ExpansionLike(Protocol):
    """What the figures need of an expansion."""

    @property
    def basis(self) -> Basis: ...
    @property
    def coefficients(self) -> FloatArray: ...  # shape: (n_outputs, n_terms)
    @property
    def multi_indices(self) -> IndexArray: ...  # shape: (n_terms, n_inputs)
    @property
    def groups(self) -> IndexArray | None: ...  # shape: (n_outputs,)
    @property
    def input_names(self) -> tuple[str, ...]: ...
    @property
    def group_names(self) -> tuple[str, ...]: ...
    @property
    def term_norms(self) -> FloatArray: ...  # shape: (n_groups, n_terms)
    @property
    def unexplained_share(self) -> FloatArray: ...  # shape: (n_groups,)
    @property
    def scalar(self) -> bool: ...
    def checked_inputs(
        self, X: ArrayLike, features: Sequence[int] | None = None
    ) -> FloatArray: ...  # shape: (n_samples, n_chosen)
    def gradient(self, X: ArrayLike) -> FloatArray: ...
    def sobol_indices(self) -> SobolIndices: ...


def conditional_expectation(
    self: ExpansionLike, X: ArrayLike, features: Any
) -> FloatArray:
    r"""Return the mean of the outputs given some of the inputs.

    :math:`E[y \mid x_u]` has the terms without other inputs (Sudret, 2008, as cited in
    :class:`Expansion`).

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


def main_effects(self: ExpansionLike, X: ArrayLike) -> FloatArray:
    r"""Return what each input changes on its own.

    :math:`E[y \mid x_i] - E[y]` for every input. The mean plus the main effects is the
    additive part of the expansion; the variance of a main effect is the first-order
    index times ``total_variance_``.

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
    self: ExpansionLike,
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


def moments(self: ExpansionLike) -> ExpansionMoments:
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
        :func:`scipy.stats.kurtosis`. Skewness and kurtosis are NaN for a target
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


def derivative_sensitivity(self: ExpansionLike) -> DerivativeSensitivity:
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


def sobol_index(self: ExpansionLike, features: Any) -> FloatArray:
    r"""Return the Sobol index of exactly one set of inputs.

    The share :math:`S_u = D^{-1} \sum_{j_i > 0 \iff i \in u} c_j^2` of what the inputs
    of the set explain together and no smaller set does (Sudret, 2008, eq. 38, as cited
    in :class:`Expansion`). For one input this is the first-order index, for several it
    is their interaction.

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
    >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, X[:, 0] * (1 + X[:, 1]))
    >>> pce.sobol_index([0, 1]).round(1)
    array([0.4])
    """
    chosen = checked_features(features, self.input_names)
    return kernels.share_of_set(self, "exact", chosen)


def closed_sobol_index(self: ExpansionLike, features: Any) -> FloatArray:
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


def total_sobol_index(self: ExpansionLike, features: Any) -> FloatArray:
    r"""Return what a group of inputs explains alone or with others.

    :math:`E[\mathrm{Var}(y \mid x_{-u})] / D`, the sum over every term that holds an
    input of the group: 1 minus the closed index of the other inputs (eq. 3 of the
    source of :meth:`closed_sobol_index`).

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
    >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, X[:, 0] * (1 + X[:, 1]))
    >>> pce.total_sobol_index([0]).round(1)
    array([1.])
    """
    chosen = checked_features(features, self.input_names)
    return kernels.share_of_set(self, "total", chosen)


def interaction_indices(self: ExpansionLike, max_order: int = 2) -> InteractionIndices:
    r"""Return the Sobol indices of all small sets of inputs.

    Parameters
    ----------
    max_order : int, default=2
        Largest number of inputs in a set, at least 1.

    Returns
    -------
    indices : InteractionIndices
        ``subsets``, the sets by position; ``values``, the share of exactly this set,
        and ``superset_values``, that of all sets that contain it, both of shape
        (n_targets, n_subsets). A set without a term of its own is left out: its index
        is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce import PolynomialChaosRegressor
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, X[:, 0] * (1 + X[:, 1]))
    >>> found = pce.interaction_indices()
    >>> found.subsets, found.values.round(1) + 0.0
    (((0,), (1,), (0, 1)), array([[0.6, 0. , 0.4]]))
    """
    check_integer("interaction_indices", "max_order", max_order, low=1)
    if max_order == 1 and isinstance(self.basis, KernelBasis):
        of_inputs = self.sobol_indices()
        every = tuple((i,) for i in range(len(self.input_names)))
        return InteractionIndices(every, of_inputs.first_order, of_inputs.total_order)
    return kernels.interaction_indices(self.term_norms, self.multi_indices, max_order)


def shapley_effects(self: ExpansionLike) -> FloatArray:
    r"""Return the Shapley effects, which add up to 1.

    :math:`\mathrm{Sh}_i = D^{-1} \sum_{u \ni i} D_u / |u|`: each interaction is shared
    equally between its inputs ([1]_, section 3). The effect lies between the
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
    >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, X[:, 0] * (1 + X[:, 1]))
    >>> pce.shapley_effects().round(1)
    array([[0.8, 0.2]])
    """
    return self.sobol_indices().shapley


def aggregated_sobol_indices(
    self: ExpansionLike, weights: ArrayLike | None = None
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
        given = np.ones(n_groups) if weights is None else as_floats(weights, "weights")
    except (TypeError, ValueError):
        given = np.full(1, np.nan)  # refused with the others
    if given.shape != (n_groups,) or not np.all(
        (given <= LARGEST_NUMBER) & (given >= 0)
    ):
        raise ValueError(
            f"weights must be {n_groups} finite numbers of 0 or more, one per target. "
            f"Got {weights!r}."
        )
    return kernels.aggregated_shares(kernels.variances_of(self), given)


def sobol_frame(self: ExpansionLike, order: int = 1) -> Any:
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
        interaction_indices(self, order),
        self.sobol_indices().shapley,
        self.group_names,
        self.input_names,
        self.unexplained_share,
        of=self,
    )


def explicit(self: ExpansionLike) -> Any:
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


def coefficients_of_terms(self: ExpansionLike) -> FloatArray:
    """Return the coefficients; refuse those of terms that are not listed."""
    n_terms = self.basis.with_terms.n_terms
    return self.coefficients[:, :n_terms]
