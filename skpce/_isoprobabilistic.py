"""Isoprobabilistic maps: dependent inputs of any law to independent normal ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from ._checks import FloatArray, check_option, check_real
from ._isoprobabilistic_base import IsoprobabilisticTransformer
from ._kernel_scores import KernelScores, leave_one_out_log_likelihood
from ._score_correlation import correlation_root
from ._score_laws import GaussianScores, ScoreLaw

ROOTS = ("cholesky", "symmetric")

#: Bandwidths among which the likelihood chooses; 1 is the Gaussian copula.
BANDWIDTHS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class NatafTransformer(IsoprobabilisticTransformer):
    r"""Independent standard normal inputs, under a Gaussian copula (Nataf's map).

    Each column is mapped to normal scores by its own law, and the scores are made
    independent with a root of their correlation [1]_ [2]_:

    .. math:: z_i = \Phi^{-1}(F_i(x_i)), \qquad u = A^{-1} z, \qquad A A^\top = R.

    Parameters
    ----------
    distribution : str, frozen law, or list, default="empirical"
        The law of each column, as in :class:`PolynomialChaosRegressor`. Discrete and
        categorical laws are refused. ``"empirical"`` interpolates the normal scores
        of the data and continues with normal tails.
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
    law_ : GaussianScores
        Joint law of the scores.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has string names.

    See Also
    --------
    RosenblattTransformer : Without the assumption of a Gaussian copula.
    skpce.inspection.dependent_sobol_indices : Indices under this law.

    Notes
    -----
    A Gaussian copula has no tail dependence and no dependence beyond pairs: inputs
    on a circle are uncorrelated scores, and are taken for independent.

    With marginal laws and R given, nothing is learned. R is *not* the correlation of
    the inputs, which is smaller in size for other marginals than normal ones [2]_.

    A value at or near a finite end of a learned support gets the score that half a row
    of the data lies beyond; the map back stops short of the end.

    A column of few distinct values is spread out between them, and varies more than
    it does in the data.

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

    def _check_parameters(self, owner: str, n_features: int) -> None:
        super()._check_parameters(owner, n_features)
        check_option(owner, "root", self.root, ROOTS)
        if self.correlation is None:
            return
        given = check_array(
            self.correlation, dtype=np.float64, input_name="correlation"
        )
        square = given.shape == (n_features, n_features)
        if (
            not square
            or not np.allclose(given, given.T, atol=1e-10)
            or not np.allclose(np.diag(given), 1.0, atol=1e-10)
        ):
            raise ValueError(
                f"The 'correlation' parameter of {owner} has shape {given.shape} and "
                f"diagonal {np.diag(given).tolist()!r}; expected a symmetric matrix of "
                f"shape ({n_features}, {n_features}) with ones on its diagonal."
            )

    def _correlation(self, scores: FloatArray, weights: FloatArray) -> FloatArray:
        if self.correlation is None:
            return super()._correlation(scores, weights)
        self.shrinkage_: float = 0.0
        return np.array(self.correlation, dtype=np.float64)

    def _learn_law(self, scores: FloatArray, weights: FloatArray) -> GaussianScores:
        return GaussianScores(
            self.correlation_, correlation_root(self.correlation_, self.root)
        )

    @property
    def _is_sequential(self) -> bool:
        return self.root == "cholesky"


class RosenblattTransformer(IsoprobabilisticTransformer):
    r"""Independent standard normal inputs, by conditional distribution functions.

    Rosenblatt's map [1]_ goes column after column:
    :math:`u_i = \Phi^{-1}\{F(z_i \mid z_1, \dots, z_{i-1})\}`. The joint law of the
    normal scores :math:`z` is the kernel estimate that keeps the mean and the
    correlation of the rows [2]_: the mixture of
    :math:`N(\sqrt{1 - h^2}\, z^{(k)}, h^2 R)` over the rows. All its conditionals are
    mixtures of normals too, in closed form.

    Parameters
    ----------
    distribution : str, frozen law, or list, default="empirical"
        The law of each column, as in :class:`NatafTransformer`.
    bandwidth : float in (0, 1] or "likelihood", default="likelihood"
        h. At 1 the kernel estimate *is* the Gaussian copula, and the map that of
        :class:`NatafTransformer`. ``"likelihood"`` takes the leave-one-out
        likelihood of eleven values, 1 among them.
    shrinkage : float or "auto", default="auto"
        Of R, as in :class:`NatafTransformer`.

    Attributes
    ----------
    bandwidth_ : float
        h.
    correlation_ : ndarray of shape (n_features, n_features)
        R, of the scores.
    shrinkage_ : float
        Of R.
    maps_ : tuple of MarginalMap
        Of each column to its scores and back.
    law_ : GaussianScores or KernelScores
        Joint law of the scores.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has string names.

    See Also
    --------
    NatafTransformer : Under a Gaussian copula; exact conditionals, any order.

    Notes
    -----
    The map depends on the order of the columns. The marginals are those of the kernel
    estimate, between the stated law (h = 1) and the data (h near 0).

    *Limits.* A kernel estimate needs many rows: its error falls as
    :math:`n^{-2/(4 + d)}`. With more than about five columns, or fewer than some
    hundreds of rows, the likelihood usually chooses h = 1 or nearly so. Data on a
    manifold (fewer sources than columns) have no density: use a PCA before. Columns
    of few distinct values have none either, and make the bandwidth too small. One
    evaluation costs n d operations a row, of the inverse some ten times that.

    References
    ----------
    .. [1] M. Rosenblatt, "Remarks on a multivariate transformation", The Annals of
       Mathematical Statistics 23 (1952).
    .. [2] M. West, "Approximating posterior distributions by mixtures", Journal of
       the Royal Statistical Society B 55 (1993), section 2.

    Examples
    --------
    Inputs on a parabola are uncorrelated and dependent.

    >>> import numpy as np
    >>> from skpce import NatafTransformer, RosenblattTransformer
    >>> from skpce.inspection import input_tests
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> X = np.c_[x, x**2 + 0.3 * rng.normal(size=300)]
    >>> rosenblatt = RosenblattTransformer().fit(X)
    >>> rosenblatt.bandwidth_
    0.15
    >>> maps = NatafTransformer(), rosenblatt
    >>> [
    ...     input_tests(one.fit_transform(X)).smallest_dependence_p_value < 1e-6
    ...     for one in maps
    ... ]
    [True, False]
    """

    bandwidth_: float

    def __init__(
        self,
        distribution: Any = "empirical",
        *,
        bandwidth: float | str = "likelihood",
        shrinkage: float | str = "auto",
    ) -> None:
        self.distribution = distribution
        self.bandwidth = bandwidth
        self.shrinkage = shrinkage

    def _check_parameters(self, owner: str, n_features: int) -> None:
        super()._check_parameters(owner, n_features)
        if isinstance(self.bandwidth, str):
            check_option(owner, "bandwidth", self.bandwidth, ("likelihood",))
        else:
            check_real(
                owner, "bandwidth", self.bandwidth, low=0, high=1, closed="right"
            )

    def _learn_law(self, scores: FloatArray, weights: FloatArray) -> ScoreLaw:
        self.bandwidth_ = self._chosen_bandwidth(scores, weights)
        if self.bandwidth_ == 1.0:
            root = correlation_root(self.correlation_, "cholesky")
            return GaussianScores(self.correlation_, root)
        return KernelScores(scores, weights, self.bandwidth_, self.correlation_)

    def _chosen_bandwidth(self, rows: FloatArray, weights: FloatArray) -> float:
        if not isinstance(self.bandwidth, str):
            return float(self.bandwidth)
        varies = np.flatnonzero(np.ptp(rows, axis=0) > 0)  # a constant wants h = 0
        rows, correlation = rows[:, varies], self.correlation_[np.ix_(varies, varies)]
        if weights.sum() <= len(varies) + 1:  # too few rows to leave one out
            return 1.0
        found = [
            leave_one_out_log_likelihood(rows, weights, h, correlation)
            for h in BANDWIDTHS
        ]
        return BANDWIDTHS[int(np.argmax(found))]
