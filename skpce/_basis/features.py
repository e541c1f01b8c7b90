"""The orthonormal polynomial basis as a transformer."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin

from .._checks import IndexArray, checked_sample_weight, input_names, validated
from .._version import DOC_LINK_TEMPLATE
from .basis import BasisParameters, get_feature_names_out, transform


class PolynomialChaosFeatures(TransformerMixin, BaseEstimator):
    r"""Orthonormal polynomials of the inputs, as features.

    In the manner of :class:`sklearn.preprocessing.PolynomialFeatures`, but the
    columns are orthonormal under the distribution of the inputs: Hermite polynomials
    for normal inputs, Legendre polynomials for uniform ones [1]_.

    Parameters
    ----------
    degree : int, default=2
        Largest degree of a term.
    distribution : str, frozen distribution, bounds, list or dict, default="auto"
        The distribution of each input. A name learns its parameters in ``fit``:
        ``"normal"`` (weighted mean and standard deviation with ``ddof=0``),
        ``"uniform"`` (smallest and largest value of positive weight),
        ``"lognormal"`` and ``"loguniform"`` (polynomials of the logarithm),
        ``"exponential"``, ``"gamma"``, ``"beta"``, ``"empirical"`` (the data
        themselves), ``"smoothed"`` (the same without steps, for heavy tails and any
        shape), ``"ordinal"`` (levels at equal steps) or ``"categorical"`` (codes of
        categories; columns of text and categories of a data frame are always
        categorical). ``"auto"`` chooses the family of each column from the data. A
        frozen distribution of ``scipy.stats``, continuous or discrete, learns nothing,
        nor do the bounds ``(low, high)`` of a uniform one, a distribution of OpenTURNS
        or chaospy, or a problem of SALib. A list gives one per feature, a dict one by
        the name of each column. See the user guide on input distributions.
    truncation, q, interaction_order
        As in :class:`PolynomialChaosRegressor`.

    Attributes
    ----------
    multi_indices_ : ndarray of shape (n_terms, n_features)
        Exponent of each input in each term, in graded order; row 0 is the constant.
        For a categorical input the number of the contrast.
    basis_, n_features_in_, feature_names_in_
        As in :class:`PolynomialChaosRegressor`.

    See Also
    --------
    PolynomialChaosRegressor : Least squares or ridge on this basis.

    Notes
    -----
    The columns are orthonormal when the inputs are independent and have the stated
    distributions. The sample mean of their products approaches the identity at the rate
    :math:`n^{-1/2}`.

    An input of finitely many values has fewer functions than values, which bounds its
    exponents. Each contrast of a categorical input counts as of degree one.

    References
    ----------
    .. [1] D. Xiu and G. E. Karniadakis, "The Wiener-Askey polynomial chaos for
       stochastic differential equations", SIAM Journal on Scientific Computing 24
       (2002), table 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosFeatures
    >>> X = np.array([[0.0, 1.0], [2.0, 0.0]])
    >>> features = PolynomialChaosFeatures(degree=2, distribution=norm(0, 1)).fit(X)
    >>> features.get_feature_names_out().tolist()
    ['1', 'He1(x0)', 'He1(x1)', 'He2(x0)', 'He1(x0)*He1(x1)', 'He2(x1)']
    >>> features.transform(X).round(3).tolist()
    [[1.0, 0.0, 1.0, -0.707, 0.0, 0.0], [1.0, 2.0, 0.0, 2.121, 0.0, -0.707]]
    """

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        degree: int = 2,
        *,
        distribution: Any = "auto",
        truncation: str = "total_degree",
        q: float = 1.0,
        interaction_order: int | None = None,
    ) -> None:
        self.degree = degree
        self.distribution = distribution
        self.truncation = truncation
        self.q = q
        self.interaction_order = interaction_order

    def fit(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> PolynomialChaosFeatures:
        """Learn the input distributions and build the index set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Frequency of each row.

        Returns
        -------
        self : PolynomialChaosFeatures
            The fitted transformer.

        Raises
        ------
        ValueError
            For a bad parameter, a distribution that cannot carry the degree, or a basis
            too large for memory.
        """
        values = validated(self, X)
        weights = checked_sample_weight(sample_weight, values)
        names = input_names(self)
        self.basis_ = BasisParameters.of(self).learn(values, weights, names)
        return self

    @property
    def multi_indices_(self) -> IndexArray:
        """Exponents of the terms; shape (n_terms, n_features)."""
        return self.basis_.multi_indices

    transform = transform
    get_feature_names_out = get_feature_names_out
