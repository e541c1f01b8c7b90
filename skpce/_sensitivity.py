"""Sobol indices of every order and Shapley effects, as methods of an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ._basis.basis import PolynomialBasis
from ._checks import FloatArray, IndexArray, check_integer, input_names
from ._conditional import checked_features
from ._sensitivity_frame import sensitivity_frame
from ._shapley import AggregatedIndices, aggregated_indices, shapley_effects
from ._sobol import (
    InteractionIndices,
    closed_index,
    interaction_index,
    interaction_indices,
    total_index,
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
