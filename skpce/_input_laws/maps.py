"""Isoprobabilistic maps from dependent inputs to independent normal ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    FloatArray,
    RandomState,
    at_least_one_copy,
    check_draws,
    check_option,
    check_real,
    checked_sample_weight,
    input_names,
    make_generator,
    validated,
    validated_array,
)
from .._version import DOC_LINK_TEMPLATE
from . import check_distribution, learn_input_laws
from .families import warn_outside
from .scores import (
    DistributionMap,
    GaussianScores,
    MarginalMap,
    best_shrinkage,
    checked_correlation,
    correlation_root,
    marginal_map,
    standardized,
)

ROOTS = ("cholesky", "symmetric")


def normal_scores(columns: Sequence[MarginalMap], X: FloatArray) -> FloatArray:
    """Map each column to its normal scores; shape (n_samples, n_features)."""
    pairs = zip(columns, X.T, strict=True)
    return np.column_stack([one.to_normal(column) for one, column in pairs])


class NatafTransformer(TransformerMixin, BaseEstimator):
    r"""Independent standard normal inputs, under a Gaussian copula (Nataf's map).

    Each column is mapped to normal scores by its own distribution, and the scores are
    made independent with a root of their correlation [1]_ [2]_:

    .. math:: z_i = \Phi^{-1}(F_i(x_i)), \qquad u = A^{-1} z, \qquad A A^\top = R.

    Parameters
    ----------
    distribution : str, frozen distribution, or list, default="empirical"
        The distribution of each column, as in :class:`PolynomialChaosRegressor`.
        Discrete and categorical distributions are refused. ``"empirical"`` interpolates
        the normal scores of the data and continues with normal tails.
    correlation : array-like of shape (n_features, n_features) or None, default=None
        R, the correlation of the *scores*. None takes that of the scores of X.
    root : {"cholesky", "symmetric"}, default="cholesky"
        A. ``"cholesky"`` goes column after column: output i is what column i holds
        beyond the columns before it, and the order matters. ``"symmetric"`` gives
        the outputs that stay closest to the columns [3]_, whatever the order.
    shrinkage : float or "auto", default="auto"
        A learned R is replaced by (1 - shrinkage) R + shrinkage I. ``"auto"``
        estimates the value of least squared error [4]_: about 1/n for strong
        correlations, near 1 for fewer rows than columns.

    Attributes
    ----------
    correlation_ : ndarray of shape (n_features, n_features)
        R.
    shrinkage_ : float
        Of R.
    maps_ : tuple of MarginalMap
        Of each column to its scores and back.
    distribution_ : GaussianScores
        Joint distribution of the scores.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has string names.

    See Also
    --------
    skpce.inspection.dependent_sobol_indices : Indices under this distribution.

    Notes
    -----
    A Gaussian copula has no tail dependence and no dependence beyond pairs: inputs
    on a circle are uncorrelated scores, and are taken for independent.

    With marginal distributions and R given, nothing is learned. R is *not* the
    correlation of the inputs, which is smaller in size for other marginals than normal
    ones [2]_.

    A value at or near a finite end of a learned support gets the score that half a row
    of the data lies beyond; the map back stops short of the end. A column of
    few distinct values is spread out between them, and varies more than in the data.

    References
    ----------
    .. [1] A. Nataf, "Détermination des distributions dont les marges sont données",
       Comptes Rendus de l'Académie des Sciences 225 (1962).
    .. [2] P.-L. Liu and A. Der Kiureghian, "Multivariate distribution models with
       prescribed marginals and covariances", Probabilistic Engineering Mechanics 1
       (1986).
    .. [3] A. Kessy, A. Lewin and K. Strimmer, "Optimal whitening and decorrelation",
       The American Statistician 72 (2018).
    .. [4] J. Schäfer and K. Strimmer, "A shrinkage approach to large-scale covariance
       matrix estimation and implications for functional genomics", Statistical
       Applications in Genetics and Molecular Biology 4 (2005), section 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce import NatafTransformer
    >>> rng = np.random.default_rng(0)
    >>> X = np.exp(rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=500))
    >>> nataf = NatafTransformer().fit(X)
    >>> nataf.get_feature_names_out().tolist()
    ['x0', 'x1|x0']
    >>> u = nataf.transform(X)
    >>> bool(abs(np.corrcoef(u.T)[0, 1]) < 0.01)
    True
    >>> np.allclose(nataf.inverse_transform(u), X)
    True
    """

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        distribution: Any = "empirical",
        *,
        correlation: ArrayLike | None = None,
        root: str = "cholesky",
        shrinkage: float | str = "auto",
    ) -> None:
        self.distribution = distribution
        self.correlation = correlation
        self.root = root
        self.shrinkage = shrinkage

    def fit(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> NatafTransformer:
        """Learn the distribution of each column, and the joint distribution of the
        normal scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Frequency of each row. Weights that add up to less than the number of rows
            are scaled up to it.

        Returns
        -------
        self : NatafTransformer
            The fitted transformer.

        Raises
        ------
        ValueError
            For a bad parameter, a distribution that is not continuous, or scores with a
            singular correlation.
        """
        values = validated(self, X)
        weights = at_least_one_copy(checked_sample_weight(sample_weight, values))
        owner, names = type(self).__name__, tuple(input_names(self))
        self._check_parameters(owner, values.shape[1])
        specifications = check_distribution(owner, self.distribution, names)
        laws = tuple(learn_input_laws(specifications, values, weights))
        columns = tuple(
            marginal_map(owner, name, law, column, weights)
            for name, law, column in zip(names, laws, values.T, strict=True)
        )
        if self.correlation is None:
            correlation = self._learned(normal_scores(columns, values), weights)
        else:
            correlation = np.array(self.correlation, dtype=np.float64)
            self.shrinkage_ = 0.0
        self.correlation_: FloatArray = checked_correlation(owner, correlation, names)
        root = correlation_root(self.correlation_, self.root)
        self.distribution_ = GaussianScores(self.correlation_, root)
        self.maps_, self._laws = columns, laws
        return self

    def _learned(self, scores: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the shrunken correlation of the scores."""
        standard = standardized(scores, weights)
        correlation = (standard * weights[:, np.newaxis]).T @ standard / weights.sum()
        shrinkage = self.shrinkage
        if isinstance(shrinkage, str):
            shrinkage = best_shrinkage(standard, weights, correlation)
        self.shrinkage_ = float(shrinkage)
        correlation *= 1.0 - self.shrinkage_
        np.fill_diagonal(correlation, 1.0)
        return correlation

    def _check_parameters(self, owner: str, n_features: int) -> None:
        shrinkage = self.shrinkage
        if isinstance(shrinkage, str):
            check_option(owner, "shrinkage", shrinkage, ("auto",))
        else:
            check_real(owner, "shrinkage", shrinkage, low=0, high=1, closed="both")
        check_option(owner, "root", self.root, ROOTS)
        if self.correlation is None:
            return
        given = validated_array(self.correlation, "correlation")
        square = given.shape == (n_features, n_features)
        if (
            not square
            or not np.allclose(given, given.T, atol=1e-10)
            or not np.allclose(np.diag(given), 1.0, atol=1e-10)
        ):
            raise ValueError(
                f"The 'correlation' parameter of {owner} has shape {given.shape} and "
                f"diagonal {np.diag(given).tolist()!r}; expected a symmetric matrix of "
                f"shape ({n_features}, {n_features}), a row for each column of X, with "
                "ones on its diagonal."
            )

    def transform(self, X: ArrayLike) -> FloatArray:
        """Map inputs to independent standard normal ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        normals : ndarray of shape (n_samples, n_features)
            Under the fitted distribution, independent and standard normal.

        Warns
        -----
        InputOutsideSupportWarning
            For values outside the support of a named or frozen distribution; a normal
            or an empirical one goes on.
        """
        check_is_fitted(self)
        values = validated(self, X, reset=False)
        ends = [  # others go on beyond the data
            i for i, one in enumerate(self.maps_) if isinstance(one, DistributionMap)
        ]
        names = [input_names(self)[i] for i in ends]
        warn_outside([self._laws[i] for i in ends], values[:, ends], names)
        return self.distribution_.to_independent(normal_scores(self.maps_, values))

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Map independent standard normals back to inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Independent normals.

        Returns
        -------
        inputs : ndarray of shape (n_samples, n_features)
            With the fitted distribution. A constant column comes back constant.
        """
        normals = self._checked(X, "X")
        return self.from_scores(self.distribution_.from_independent(normals))

    def from_scores(self, scores: FloatArray) -> FloatArray:
        """Map dependent normal scores to inputs, each column by its own distribution.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_features)
            Normal scores, as ``distribution_`` draws them.

        Returns
        -------
        inputs : ndarray of shape (n_samples, n_features)
            In the units of the inputs.
        """
        columns = zip(self.maps_, self._checked(scores, "scores").T, strict=True)
        return np.column_stack([one.from_normal(column) for one, column in columns])

    def _checked(self, values: ArrayLike, name: str) -> FloatArray:
        """Return finite values with a column for each input."""
        check_is_fitted(self)
        checked = validated_array(values, name)
        if checked.shape[1] != len(self.maps_):
            raise ValueError(
                f"{name} has {checked.shape[1]} columns; expected {len(self.maps_)}, "
                "one per input."
            )
        return checked

    def sample(
        self, n_samples: int = 1, *, random_state: RandomState = None
    ) -> FloatArray:
        """Draw inputs from the fitted joint distribution.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Randomness of the draws.

        Returns
        -------
        inputs : ndarray of shape (n_samples, n_features)
            Dependent as in the data.
        """
        check_is_fitted(self)
        owner = f"{type(self).__name__}.sample"
        check_draws(owner, "n_samples", n_samples, each=len(self.maps_))
        shape = int(n_samples), len(self.maps_)
        noise, empty = make_generator(random_state).normal(size=shape), np.zeros(shape)
        return self.from_scores(self.distribution_.redraw(empty, [], noise))

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[np.object_]:
        """Return names such as ``x0``, ``x1|x0``, ``x2|x0..x1``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the inputs; by default those seen in ``fit``, else
            ``x0, x1, ...``.

        Returns
        -------
        names : ndarray of str of shape (n_features,)
            After the bar stand the inputs whose part is taken out. Those of a
            symmetric root are the names of the inputs.
        """
        check_is_fitted(self)
        names = input_names(self, input_features)
        if self.root != "cholesky":
            return np.asarray(names, dtype=object)
        given = ["", f"|{names[0]}"] + [f"|{names[0]}..{name}" for name in names[1:]]
        joined = [name + before for name, before in zip(names, given, strict=False)]
        return np.asarray(joined, dtype=object)
