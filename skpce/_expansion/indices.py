r"""Sobol indices and Shapley effects from the coefficients of an expansion.

Sobol indices from the coefficients of an orthonormal expansion.

All functions are pure. With coefficients :math:`c_j` of an expansion that is
orthonormal under independent inputs, the variance is
:math:`D = \sum_{j \ne 0} c_j^2`, the first-order index of input :math:`i` is
:math:`S_i = D^{-1} \sum_{j_i > 0,\, j_{-i} = 0} c_j^2` and the total index
:math:`S_{T_i} = D^{-1} \sum_{j_i > 0} c_j^2` [1]_ (the paper's eq. 5).

A set :math:`u` of inputs has three: the interaction index (terms whose inputs are
exactly :math:`u`), the closed index (terms with no input outside :math:`u`) and the
total index (terms with an input in :math:`u`).

A target without variance has no attribution: its indices are 0.

References
----------
.. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos expansions",
   Reliability Engineering and System Safety 93 (2008), eqs. (36)-(39).

Shapley effects, and indices of all targets together.

The Shapley effect shares each interaction equally between its inputs. With
independent inputs it needs no permutations: for the partial variances :math:`D_u` of
the sets :math:`u`,

.. math:: \mathrm{Sh}_i = \frac1D \sum_{u \ni i} \frac{D_u}{|u|},

which lies between the first-order and the total index and adds up to 1 [1]_ [2]_.

References
----------
.. [1] A. B. Owen, "Sobol' indices and Shapley value", SIAM/ASA Journal on Uncertainty
   Quantification 2 (2014), section 3.
.. [2] E. Song, B. L. Nelson and J. Staum, "Shapley effects for global sensitivity
   analysis: theory and computation", SIAM/ASA Journal on Uncertainty Quantification 4
   (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._basis.basis import PolynomialBasis
from .._checks import FloatArray, IndexArray, check_integer, import_pandas, input_names
from .marginals import checked_features


@dataclass(frozen=True)
class SobolIndices:
    """Sobol indices of several targets.

    Parameters
    ----------
    first_order : ndarray of shape (n_targets, n_features)
        Share of the variance that an input explains alone.
    total_order : ndarray of shape (n_targets, n_features)
        The same with every interaction in which the input takes part.
    total_variance : ndarray of shape (n_targets,)
        Variance of the expansion, in squared units of the target.
    """

    first_order: FloatArray
    total_order: FloatArray
    total_variance: FloatArray


def partial_variances(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return first-order and total partial variances and the variance.

    Shapes: (..., n_targets, n_features) twice, then (..., n_targets).
    """
    squares = np.square(coefficients[..., 1:])
    active = multi_indices[1:] > 0
    alone = active & (active.sum(axis=1, keepdims=True) == 1)
    return squares @ alone, squares @ active, squares.sum(axis=-1)


def normalize_partial_variances(
    first: FloatArray,  # shape: (..., n_targets, n_features)
    total: FloatArray,  # shape: (..., n_targets, n_features)
    variance: FloatArray,  # shape: (..., n_targets)
) -> SobolIndices:
    """Divide by the variance; 0 where there is none."""
    safe = np.where(variance > 0, variance, 1.0)[..., np.newaxis]
    return SobolIndices(first / safe, total / safe, variance)


def sobol_indices(coefficients: FloatArray, multi_indices: IndexArray) -> SobolIndices:
    """Compute first-order and total Sobol indices.

    Parameters
    ----------
    coefficients : ndarray of shape (n_targets, n_terms)
        Coefficients of an orthonormal basis; column 0 is the constant.
    multi_indices : ndarray of shape (n_terms, n_features)
        Exponent of each input in each term; row 0 is zero.

    Returns
    -------
    indices : SobolIndices
        ``first_order``, ``total_order`` and ``total_variance``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import sobol_indices
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> indices = sobol_indices(np.array([[7.0, 2.0, 1.0, 1.0]]), multi_indices)
    >>> indices.first_order.round(3).tolist(), indices.total_order.round(3).tolist()
    ([[0.667, 0.167]], [[0.833, 0.333]])
    """
    return normalize_partial_variances(*partial_variances(coefficients, multi_indices))


@dataclass(frozen=True)
class InteractionIndices:
    """Sobol indices of sets of inputs.

    Parameters
    ----------
    subsets : tuple of tuple of int
        Sets of inputs, by size and then in the order of the inputs. Sets that share
        no term of the expansion are left out: their indices are 0.
    values : ndarray of shape (n_targets, n_subsets)
        Share of the variance that belongs to exactly this set. Over all sets of the
        expansion the shares add up to 1.
    superset_values : ndarray of shape (n_targets, n_subsets)
        Share of all sets that contain this one [3]_. For a single input this is its
        total index.

    References
    ----------
    .. [3] R. Liu and A. B. Owen, "Estimating mean dimensionality of analysis of
       variance decompositions", Journal of the American Statistical Association 101
       (2006), section 2.3.
    """

    subsets: tuple[tuple[int, ...], ...]
    values: FloatArray
    superset_values: FloatArray


def _share_of_terms(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    chosen: NDArray[np.bool_],  # shape: (n_terms,) or (n_terms, n_sets)
) -> FloatArray:  # shape: (..., n_targets) or (..., n_targets, n_sets)
    """Return the share of the variance of the chosen terms; 0 without variance."""
    squares = np.square(coefficients[..., 1:])
    variance = squares.sum(axis=-1)
    safe = np.where(variance > 0, variance, 1.0)
    part = squares @ chosen[1:].astype(np.float64)
    return part / (safe if chosen.ndim == 1 else safe[..., np.newaxis])


def _inside_and_outside(
    multi_indices: IndexArray, features: Sequence[int]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which terms hold an input of the set, and which one outside it."""
    active = multi_indices > 0
    inside = np.zeros(active.shape[1], dtype=bool)
    inside[list(features)] = True
    return np.any(active[:, inside], axis=1), np.any(active[:, ~inside], axis=1)


def interaction_index(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    features: Sequence[int],
) -> FloatArray:  # shape: (..., n_targets)
    """Compute the index of exactly one set of inputs.

    :math:`S_u = D^{-1} \\sum_{j_i > 0 \\iff i \\in u} c_j^2` [1]_: what the inputs of
    the set explain together and no smaller set does.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import interaction_index
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> coefficients = np.array([[7.0, 2.0, 1.0, 1.0]])
    >>> interaction_index(coefficients, multi_indices, [0, 1]).round(3)
    array([0.167])
    """
    every = (multi_indices[:, list(features)] > 0).all(axis=1)
    _, outside = _inside_and_outside(multi_indices, features)
    return _share_of_terms(coefficients, every & ~outside)


def closed_index(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    features: Sequence[int],
) -> FloatArray:  # shape: (..., n_targets)
    """Compute the closed index of a group: what it explains without the others.

    :math:`\\mathrm{Var}(E[y \\mid x_u]) / D`, the indices of all subsets of the group
    added up.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import closed_index
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> coefficients = np.array([[7.0, 2.0, 1.0, 1.0]])
    >>> closed_index(coefficients, multi_indices, [0]).round(3)
    array([0.667])
    """
    inside, outside = _inside_and_outside(multi_indices, features)
    return _share_of_terms(coefficients, inside & ~outside)


def total_index(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    features: Sequence[int],
) -> FloatArray:  # shape: (..., n_targets)
    """Compute the total index of a group: every term that holds one of its inputs.

    :math:`E[\\mathrm{Var}(y \\mid x_{-u})] / D`, which is 1 minus the closed index of
    the other inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import total_index
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> coefficients = np.array([[7.0, 2.0, 1.0, 1.0]])
    >>> total_index(coefficients, multi_indices, [0]).round(3)
    array([0.833])
    """
    inside, _ = _inside_and_outside(multi_indices, features)
    return _share_of_terms(coefficients, inside)


def interaction_indices(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    max_order: int,
) -> InteractionIndices:
    """Compute the indices of all sets of at most ``max_order`` inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import interaction_indices
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> found = interaction_indices(
    ...     np.array([[7.0, 2.0, 1.0, 1.0]]), multi_indices, 2
    ... )
    >>> found.subsets
    ((0,), (1,), (0, 1))
    >>> found.values.round(3).tolist()
    [[0.667, 0.167, 0.167]]
    """
    active = multi_indices > 0
    size = active.sum(axis=1)
    sets = np.unique(active[(size > 0) & (size <= max_order)], axis=0)
    subsets = sorted(
        (tuple(np.flatnonzero(row).tolist()) for row in sets),
        key=lambda subset: (len(subset), subset),
    )
    exact = np.zeros((len(active), len(subsets)), dtype=bool)
    superset = np.zeros_like(exact)
    for column, subset in enumerate(subsets):
        superset[:, column] = active[:, subset].all(axis=1)
        exact[:, column] = superset[:, column] & (size == len(subset))
    return InteractionIndices(
        tuple(subsets),
        _share_of_terms(coefficients, exact),
        _share_of_terms(coefficients, superset),
    )


@dataclass(frozen=True)
class AggregatedIndices:
    """Sensitivity indices of all targets together.

    Parameters
    ----------
    first_order, total_order, shapley : ndarray of shape (n_features,)
        Shares of the summed variance.
    total_variance : float
        Weighted sum of the variances of the targets.
    """

    first_order: FloatArray
    total_order: FloatArray
    shapley: FloatArray
    total_variance: float


def shapley_variances(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> FloatArray:  # shape: (..., n_targets, n_features)
    """Return the part of the variance that each input is given."""
    active = multi_indices[1:] > 0
    share = active / np.maximum(active.sum(axis=1, keepdims=True), 1)
    return np.square(coefficients[..., 1:]) @ share


def shapley_effects(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> FloatArray:  # shape: (..., n_targets, n_features)
    """Compute Shapley effects; 0 for a target without variance.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import shapley_effects
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> shapley_effects(np.array([[7.0, 2.0, 1.0, 1.0]]), multi_indices)
    array([[0.75, 0.25]])
    """
    variance = np.square(coefficients[..., 1:]).sum(axis=-1, keepdims=True)
    safe = np.where(variance > 0, variance, 1.0)
    return shapley_variances(coefficients, multi_indices) / safe


def aggregated_indices(
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    weights: FloatArray,  # shape: (n_targets,), not negative
) -> AggregatedIndices:
    """Compute the generalised indices of several targets.

    Partial variances are summed over the targets, times a weight each, and then
    divided by the sum of the variances [3]_. Without weights the result does not
    change when the targets are rotated.

    References
    ----------
    .. [3] F. Gamboa, A. Janon, T. Klein and A. Lagnoux, "Sensitivity analysis for
       multidimensional and functional outputs", Electronic Journal of Statistics 8
       (2014), section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._expansion.indices import aggregated_indices
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1]])
    >>> coefficients = np.array([[7.0, 3.0, 0.0], [0.0, 0.0, 1.0]])
    >>> aggregated_indices(coefficients, multi_indices, np.ones(2)).total_order
    array([0.9, 0.1])
    """
    first, total, variance = partial_variances(coefficients, multi_indices)
    whole = float(weights @ variance)
    safe = whole if whole > 0 else 1.0
    shapley = shapley_variances(coefficients, multi_indices)
    return AggregatedIndices(
        weights @ first / safe, weights @ total / safe, weights @ shapley / safe, whole
    )


class SensitivityMixin:
    """Attribution of the variance of a fitted expansion to its inputs.

    All numbers are shares of the variance of the expansion under independent inputs.
    A target without variance has indices 0.
    """

    basis_: PolynomialBasis
    multi_indices_: IndexArray
    coefficients_: FloatArray

    def sobol_index(self, features: Any) -> FloatArray:
        r"""Return the Sobol index of exactly one set of inputs.

        The share :math:`S_u = D^{-1} \sum_{j_i > 0 \iff i \in u} c_j^2` [1]_ of what
        the inputs of the set explain together and no smaller set does. For one input
        this is the first-order index, for several it is their interaction.

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

        References
        ----------
        .. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos
           expansions", Reliability Engineering and System Safety 93 (2008), eq. (38).

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 0] * X[:, 1]
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).sobol_index([0, 1]).round(6)
        array([0.5])
        """
        return self._of_set(interaction_index, features)

    def closed_sobol_index(self, features: Any) -> FloatArray:
        r"""Return what a group of inputs explains without the others.

        :math:`\mathrm{Var}(E[y \mid x_u]) / D`, the indices of all subsets of the
        group added up [1]_. The closed index of all inputs is 1.

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

        References
        ----------
        .. [1] A. B. Owen, "Better estimation of small Sobol' sensitivity indices",
           ACM Transactions on Modeling and Computer Simulation 23 (2013), eq. (2).

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> y = X[:, 0] + X[:, 0] * X[:, 1] + X[:, 2]
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).closed_sobol_index([0, 1]).round(3)
        array([0.667])
        """
        return self._of_set(closed_index, features)

    def total_sobol_index(self, features: Any) -> FloatArray:
        r"""Return what a group of inputs explains alone or with others.

        :math:`E[\mathrm{Var}(y \mid x_{-u})] / D`, the sum over every term that holds
        an input of the group [1]_: 1 minus the closed index of the other inputs.

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

        References
        ----------
        .. [1] A. B. Owen, "Better estimation of small Sobol' sensitivity indices",
           ACM Transactions on Modeling and Computer Simulation 23 (2013), eq. (3).

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> y = X[:, 0] + X[:, 0] * X[:, 1] + X[:, 2]
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).total_sobol_index([1, 2]).round(3)
        array([0.667])
        """
        return self._of_set(total_index, features)

    def _of_set(self, index: Any, features: Any) -> FloatArray:
        check_is_fitted(self)
        chosen = checked_features(features, input_names(self))
        return index(self.coefficients_, self.multi_indices_, chosen)

    def interaction_indices(self, max_order: int = 2) -> InteractionIndices:
        r"""Return the Sobol indices of all small sets of inputs.

        Parameters
        ----------
        max_order : int, default=2
            Largest number of inputs in a set.

        Returns
        -------
        indices : InteractionIndices
            ``subsets``, the sets by position; ``values``, the share of exactly this
            set, and ``superset_values``, that of all sets that contain it [1]_, both
            of shape (n_targets, n_subsets). A set without a term of its own is left
            out: its index is 0.

        Raises
        ------
        ValueError
            If ``max_order`` is not a positive integer.

        References
        ----------
        .. [1] R. Liu and A. B. Owen, "Estimating mean dimensionality of analysis of
           variance decompositions", Journal of the American Statistical Association
           101 (2006).

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 0] * X[:, 1]
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> found = pce.fit(X, y).interaction_indices()
        >>> found.subsets, found.values.round(6)
        (((0,), (1,), (0, 1)), array([[0.5, 0. , 0.5]]))
        """
        check_is_fitted(self)
        check_integer("interaction_indices", "max_order", max_order, low=1)
        return interaction_indices(self.coefficients_, self.multi_indices_, max_order)

    def shapley_effects(self) -> FloatArray:
        r"""Return the Shapley effects, which add up to 1.

        :math:`\mathrm{Sh}_i = D^{-1} \sum_{u \ni i} D_u / |u|`: each interaction is
        shared equally between its inputs [1]_ [2]_. The effect lies between the
        first-order and the total index. The formula holds for independent inputs.

        Returns
        -------
        effects : ndarray of shape (n_targets, n_features)
            Shares of the variance of the expansion.

        References
        ----------
        .. [1] A. B. Owen, "Sobol' indices and Shapley value", SIAM/ASA Journal on
           Uncertainty Quantification 2 (2014), section 3.
        .. [2] E. Song, B. L. Nelson and J. Staum, "Shapley effects for global
           sensitivity analysis", SIAM/ASA Journal on Uncertainty Quantification 4
           (2016).

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 0] * X[:, 1]
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).shapley_effects().round(6)
        array([[0.75, 0.25]])
        """
        check_is_fitted(self)
        return shapley_effects(self.coefficients_, self.multi_indices_)

    def aggregated_sobol_indices(
        self, weights: ArrayLike | None = None
    ) -> AggregatedIndices:
        r"""Return the indices of all targets together.

        The partial variances of the targets are added, each with its weight, and
        divided by the sum of the variances [1]_. Targets of large variance count
        more; weights ``1 / total_variance_`` make them equal.

        Parameters
        ----------
        weights : array-like of shape (n_targets,) or None, default=None
            Weights that are not negative; None means 1 for each target.

        Returns
        -------
        indices : AggregatedIndices
            ``first_order``, ``total_order`` and ``shapley`` of shape (n_features,),
            and ``total_variance``.

        Raises
        ------
        ValueError
            If the weights have another shape, are negative or not finite.

        References
        ----------
        .. [1] F. Gamboa, A. Janon, T. Klein and A. Lagnoux, "Sensitivity analysis for
           multidimensional and functional outputs", Electronic Journal of Statistics
           8 (2014), section 2.2.

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
        check_is_fitted(self)
        n_targets = len(self.coefficients_)
        if weights is None:
            weights = np.ones(n_targets)
        try:
            given = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.full(1, np.nan)  # refused with the others
        if given.shape != (n_targets,) or not np.all(np.isfinite(given) & (given >= 0)):
            raise ValueError(
                f"weights must be {n_targets} finite numbers of 0 or more, one per "
                f"target. Got {weights!r}."
            )
        return aggregated_indices(self.coefficients_, self.multi_indices_, given)

    def sobol_frame(self, order: int = 1, ci: float | None = None) -> Any:
        """Return the indices as a tidy table.

        Parameters
        ----------
        order : int, default=1
            Largest number of inputs in a set; 2 adds one row per pair and target.
        ci : float or None, default=None
            Confidence level, such as 0.9, of intervals from ``sobol_interval``.

        Returns
        -------
        frame : pandas.DataFrame
            One row per target and set of inputs. Columns ``target`` (its number),
            ``input`` (names joined with ``*``), ``order`` (inputs in the set),
            ``first_order`` (share of exactly this set), ``total_order`` (share of
            all sets that contain it), ``shapley`` and ``loo_unexplained`` (the
            target's ``unexplained_share_``). With ``ci`` also ``low`` and ``high``
            of the total index and ``first_low`` and ``first_high``. Shapley effects
            and intervals of pairs are NaN. Needs pandas.

        Raises
        ------
        ValueError
            If ``order`` is not a positive integer.
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 0] * X[:, 1]
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> frame = pce.fit(X, y).sobol_frame(order=2).round(3)
        >>> frame["input"].tolist(), frame["total_order"].tolist()
        (['x0', 'x1', 'x0*x1'], [1.0, 0.5, 0.5])
        """
        check_is_fitted(self)
        check_integer("sobol_frame", "order", order, low=1)
        interval = None
        if ci is not None:
            interval = self.sobol_interval(confidence_level=ci)  # type: ignore[attr-defined]
        unexplained = getattr(self, "unexplained_share_", None)
        return sensitivity_frame(
            interaction_indices(self.coefficients_, self.multi_indices_, order),
            shapley_effects(self.coefficients_, self.multi_indices_),
            input_names(self),
            unexplained,
            interval,
        )


def sensitivity_frame(
    indices: InteractionIndices,
    shapley: FloatArray,  # shape: (n_targets, n_features)
    names: Sequence[str],
    unexplained: FloatArray | None,  # shape: (n_targets,)
    interval: Any = None,  # first_order, total_order: (2, n_targets, n_features)
) -> Any:
    """Return one row per target and set of inputs; NaN where a number is not defined.

    Every input has a row, also one that no term of the expansion holds.
    """
    pandas = import_pandas()
    n_targets, n_features = shapley.shape
    subsets = _with_every_input(indices.subsets, n_features)
    column = {subset: i for i, subset in enumerate(indices.subsets)}
    places = np.array([column.get(subset, -1) for subset in subsets])
    if unexplained is None:
        unexplained = np.full(n_targets, np.nan)
    labels = ["*".join(str(names[i]) for i in subset) for subset in subsets]
    columns: dict[str, Any] = {
        "target": np.repeat(np.arange(n_targets), len(subsets)),
        "input": np.tile(np.array(labels, dtype=object), n_targets),
        "order": np.tile([len(subset) for subset in subsets], n_targets),
        "first_order": _taken(indices.values, places).ravel(),
        "total_order": _taken(indices.superset_values, places).ravel(),
        "shapley": _padded(shapley, len(subsets)).ravel(),
        "loo_unexplained": np.repeat(unexplained, len(subsets)),
    }
    if interval is not None:
        pairs = (("", interval.total_order), ("first_", interval.first_order))
        for prefix, bounds in pairs:
            for name, bound in zip(("low", "high"), bounds, strict=True):
                columns[prefix + name] = _padded(bound, len(subsets)).ravel()
    return pandas.DataFrame(columns)


def _with_every_input(
    subsets: Sequence[tuple[int, ...]], n_features: int
) -> list[tuple[int, ...]]:
    """Put all single inputs first, in order."""
    return [(i,) for i in range(n_features)] + [s for s in subsets if len(s) > 1]


def _taken(values: FloatArray, places: NDArray[np.int64]) -> FloatArray:
    """Take columns by position; 0 where the position is -1."""
    with_zero = np.pad(values, ((0, 0), (0, 1)))
    return with_zero[:, places]


def _padded(values: FloatArray, width: int) -> FloatArray:
    """Widen with NaN to one column per set; single inputs come first."""
    missing = width - values.shape[1]
    return np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)
