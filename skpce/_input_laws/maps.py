"""Isoprobabilistic maps from dependent inputs to independent normal ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from .._checks import (
    FloatArray,
    as_floats,
    at_least_one_copy,
    attribute_of,
    check_draws,
    check_option,
    check_real,
    checked_sample_weight,
    chosen_names,
    input_names,
    make_generator,
    method_of,
    refuse_not_finite,
    validated,
    validated_array,
)
from .._version import DOC_LINK_TEMPLATE
from . import InputLaw, check_distribution, learn_input_laws
from .columns import warn_outside
from .scores import (
    DistributionMap,
    GaussianScores,
    KernelScores,
    MarginalMap,
    ScoreLaw,
    best_shrinkage,
    checked_correlation,
    correlation_root,
    leave_one_out_log_likelihood,
    marginal_map,
    standardized,
)

ROOTS = ("cholesky", "symmetric")

#: Bandwidths among which the likelihood chooses; 1 is the Gaussian copula.
BANDWIDTHS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

#: Kernels narrower than this are points.
SMALLEST_BANDWIDTH = 1e-6


@dataclass(frozen=True, eq=False)
class IsoprobabilisticMap:
    """A map to independent standard normals, and back."""

    owner: str  # for messages
    names: tuple[str, ...]  # of the inputs
    laws: tuple[InputLaw, ...]  # distribution of each column
    columns: tuple[MarginalMap, ...]  # of each column to its normal scores and back
    scores: ScoreLaw  # joint distribution of the scores
    sequential: bool = True  # whether each output takes out the inputs before it

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
        values = as_floats(X, "X")
        refuse_not_finite(values, "X")
        ends = [  # others go on beyond the data
            i for i, one in enumerate(self.columns) if isinstance(one, DistributionMap)
        ]
        names = [self.names[i] for i in ends]
        warn_outside([self.laws[i] for i in ends], values[:, ends], names)
        return self.scores.to_independent(normal_scores(self.columns, values))

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
        normals = validated_array(X, "X")
        if normals.shape[1] != len(self.names):
            raise ValueError(
                f"X has {normals.shape[1]} columns; expected {len(self.names)}, one "
                "per input."
            )
        return self.from_scores(self.scores.from_independent(normals))

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
        scores = validated_array(scores, "scores")
        if scores.shape[1] != len(self.names):
            raise ValueError(
                f"scores has {scores.shape[1]} columns; expected {len(self.names)}, "
                "one per input."
            )
        columns = zip(self.columns, scores.T, strict=True)
        return np.column_stack([one.from_normal(column) for one, column in columns])

    def sample(self, n_samples: int = 1, *, random_state: Any = None) -> FloatArray:
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
        owner = f"{self.owner}.sample"
        check_draws(owner, "n_samples", n_samples, each=len(self.columns))
        noise = make_generator(random_state).normal(
            size=(int(n_samples), self.scores.n_noise)
        )
        empty = np.zeros((len(noise), len(self.columns)))
        return self.from_scores(self.scores.redraw(empty, [], noise))

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
        names = chosen_names(input_features, self.names)
        if not self.sequential:
            return np.asarray(names, dtype=object)
        given = ["", f"|{names[0]}"] + [f"|{names[0]}..{name}" for name in names[1:]]
        joined = [name + before for name, before in zip(names, given, strict=False)]
        return np.asarray(joined, dtype=object)


@dataclass(frozen=True, eq=False)
class MarginalFit:
    """The columns of a table as normal scores."""

    owner: str  # for messages
    names: tuple[str, ...]  # of the columns
    laws: tuple[InputLaw, ...]  # distribution of each column
    columns: tuple[MarginalMap, ...]  # of each column to its scores
    scores: FloatArray  # (n_samples, n_features): normal scores of the rows
    weights: FloatArray  # (n_samples,): frequency of each row

    @classmethod
    def of(
        cls, transformer: Any, X: ArrayLike, sample_weight: ArrayLike | None
    ) -> MarginalFit:
        """Check a table and its weights, and learn the distribution of each column."""
        values = validated(transformer, X)
        weights = at_least_one_copy(checked_sample_weight(sample_weight, values))
        owner, names = type(transformer).__name__, tuple(input_names(transformer))
        transformer._check_parameters(owner, values.shape[1])
        specifications = check_distribution(owner, transformer.distribution, names)
        laws = tuple(learn_input_laws(specifications, values, weights))
        columns = tuple(
            marginal_map(owner, name, law, column, weights)
            for name, law, column in zip(names, laws, values.T, strict=True)
        )
        scores = normal_scores(columns, values)
        return cls(owner, names, laws, columns, scores, weights)

    def correlation(self, shrinkage: float | str) -> tuple[FloatArray, float]:
        """Return the shrunken correlation of the scores, and its shrinkage."""
        standard = standardized(self.scores, self.weights)
        correlation = (standard * self.weights[:, np.newaxis]).T @ standard
        correlation /= self.weights.sum()
        if isinstance(shrinkage, str):
            shrinkage = best_shrinkage(standard, self.weights, correlation)
        shrinkage = float(shrinkage)
        correlation *= 1.0 - shrinkage
        np.fill_diagonal(correlation, 1.0)
        return self.checked(correlation), shrinkage

    def checked(self, correlation: FloatArray) -> FloatArray:
        """Return a correlation that is regular, or raise ``ValueError``."""
        return checked_correlation(self.owner, correlation, self.names)

    def map(self, scores: ScoreLaw, sequential: bool = True) -> IsoprobabilisticMap:
        """Return the map that goes through these columns."""
        columns = self.owner, self.names, self.laws, self.columns
        return IsoprobabilisticMap(*columns, scores, sequential)


def normal_scores(columns: Sequence[MarginalMap], X: FloatArray) -> FloatArray:
    """Map each column to its normal scores; shape (n_samples, n_features)."""
    pairs = zip(columns, X.T, strict=True)
    return np.column_stack([one.to_normal(column) for one, column in pairs])


def check_shrinkage(owner: str, shrinkage: Any) -> None:
    """Raise ``ValueError`` unless ``shrinkage`` is a share or ``"auto"``."""
    if isinstance(shrinkage, str):
        check_option(owner, "shrinkage", shrinkage, ("auto",))
    else:
        check_real(owner, "shrinkage", shrinkage, low=0, high=1, closed="both")


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
    RosenblattTransformer : Without the assumption of a Gaussian copula.
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
        fit = MarginalFit.of(self, X, sample_weight)
        self.correlation_: FloatArray
        if self.correlation is None:
            self.correlation_, self.shrinkage_ = fit.correlation(self.shrinkage)
        else:
            given = np.array(self.correlation, dtype=np.float64)
            self.correlation_, self.shrinkage_ = fit.checked(given), 0.0
        scores = GaussianScores(
            self.correlation_, correlation_root(self.correlation_, self.root)
        )
        self._map = fit.map(scores, self.root == "cholesky")
        return self

    def _check_parameters(self, owner: str, n_features: int) -> None:
        check_shrinkage(owner, self.shrinkage)
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

    maps_ = attribute_of("_map", lambda m: m.columns)
    distribution_ = attribute_of("_map", lambda m: m.scores)

    transform = method_of("_map", IsoprobabilisticMap.transform)
    inverse_transform = method_of(
        "_map", IsoprobabilisticMap.inverse_transform, inputs=None
    )
    from_scores = method_of("_map", IsoprobabilisticMap.from_scores)
    sample = method_of("_map", IsoprobabilisticMap.sample)
    get_feature_names_out = method_of("_map", IsoprobabilisticMap.get_feature_names_out)


class RosenblattTransformer(TransformerMixin, BaseEstimator):
    r"""Independent standard normal inputs, by conditional distribution functions.

    Rosenblatt's map [1]_ goes column after column:
    :math:`u_i = \Phi^{-1}\{F(z_i \mid z_1, \dots, z_{i-1})\}`. The joint distribution
    of the normal scores :math:`z` is the kernel estimate that preserves the mean and
    the correlation of the rows [2]_: the mixture of
    :math:`N(\sqrt{1 - h^2}\, z^{(k)}, h^2 R)` over the rows. All its conditionals are
    mixtures of normals too, in closed form.

    Parameters
    ----------
    distribution : str, frozen distribution, or list, default="empirical"
        The distribution of each column, as in :class:`NatafTransformer`.
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
    distribution_ : GaussianScores or KernelScores
        Joint distribution of the scores.
    correlation_, shrinkage_, maps_, n_features_in_, feature_names_in_
        As in :class:`NatafTransformer`.

    See Also
    --------
    NatafTransformer : Under a Gaussian copula; exact conditionals, any order.

    Notes
    -----
    The map depends on the order of the columns. The marginals are those of the kernel
    estimate, between the stated distribution (h = 1) and the data (h near 0).

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

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

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

    def fit(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> RosenblattTransformer:
        """Learn the distribution of each column, and the joint one of the scores.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`NatafTransformer.fit`.

        Returns
        -------
        self : RosenblattTransformer
            The fitted transformer.
        """
        fit = MarginalFit.of(self, X, sample_weight)
        self.correlation_, self.shrinkage_ = fit.correlation(self.shrinkage)
        used = fit.weights > 0
        self._map = fit.map(self._learn_scores(fit.scores[used], fit.weights[used]))
        return self

    def _check_parameters(self, owner: str, n_features: int) -> None:
        check_shrinkage(owner, self.shrinkage)
        if isinstance(self.bandwidth, str):
            check_option(owner, "bandwidth", self.bandwidth, ("likelihood",))
        else:
            check_real(
                owner,
                "bandwidth",
                self.bandwidth,
                low=SMALLEST_BANDWIDTH,
                high=1,
                closed="both",
            )

    def _learn_scores(self, scores: FloatArray, weights: FloatArray) -> ScoreLaw:
        """Choose the bandwidth and return the joint distribution of the scores."""
        self.bandwidth_: float = self._chosen_bandwidth(scores, weights)
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

    maps_ = attribute_of("_map", lambda m: m.columns)
    distribution_ = attribute_of("_map", lambda m: m.scores)

    transform = method_of("_map", IsoprobabilisticMap.transform)
    inverse_transform = method_of(
        "_map", IsoprobabilisticMap.inverse_transform, inputs=None
    )
    from_scores = method_of("_map", IsoprobabilisticMap.from_scores)
    sample = method_of("_map", IsoprobabilisticMap.sample)
    get_feature_names_out = method_of("_map", IsoprobabilisticMap.get_feature_names_out)


#: Either map.
IsoprobabilisticTransformer = NatafTransformer | RosenblattTransformer
