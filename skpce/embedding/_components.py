"""Components of X: principal ones mapped by a normalising flow, and those of PLS."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    FloatArray,
    RandomState,
    check_integer,
    checked_random_state,
    import_extra,
    refuse_extremes,
    refuse_other_rows,
    validated,
)
from .._version import DOC_LINK_TEMPLATE
from ._training import (
    check_training_parameters,
    checked_inputs,
    descend,
    explained_share,
    one_torch_thread,
    split_rows,
)

# Singular values below this share of the largest are rounding.
_ROUNDING = 1e-12

# Coupling layers of a flow.
_N_TRANSFORMS = 4


class NormalizingFlow(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Whitened principal components, mapped to normal inputs by RealNVP.

    PCA chooses the subspace; the flow f, a stack of affine coupling layers [1]_ of
    zuko, maps it so that the inputs become independent standard normals. It maximises
    the log-likelihood of the whitened scores u,

    .. math:: \log p(u) = \log \phi(f(u)) + \log |\det \partial f / \partial u|,

    with :math:`\phi` the density of N(0, I). A coupling layer is inverted in closed
    form, so that only the components that PCA drops are lost.

    Parameters
    ----------
    n_components : int, default=2
        Number of principal components and of inputs. With one, the flow can only shift
        and scale it.
    hidden_layer_sizes : tuple of int, default=(32, 32)
        Widths of the networks in a layer.
    learning_rate, batch_size, max_epochs, validation_fraction, patience, random_state
        As in :class:`BetaVAE`; epochs are assessed by the log-likelihood of the
        held-out rows.

    Attributes
    ----------
    pca_ : PCA
        Fitted to all rows, also to those that are held out from the flow.
    flow_ : torch module
        Of zuko.
    n_epochs_ : int
        The epoch whose parameters are retained; 0 where no epoch was better on the
        held-out rows than no flow at all.
    held_out_log_likelihood_ : float
        Mean over the held-out rows; NaN without such.
    held_out_log_likelihood_without_flow_ : float
        The same for independent standard normal scores, where training starts.
    reconstruction_r2_ : float
        R² of the reconstruction of the rows of ``fit``; that of PCA.
    stopped_early_, n_features_in_, feature_names_in_
        As in :class:`BetaVAE`.

    See Also
    --------
    BetaVAE : Learns the subspace too.
    sklearn.preprocessing.QuantileTransformer : Normal marginals, one at a time.

    Notes
    -----
    Before training, the flow is the identity. With the few members of an ensemble
    little beyond that may be learned: compare both log-likelihoods. A flow that trains
    to the end (``validation_fraction=None``) makes its training rows look normal,
    which shows nothing about others.

    References
    ----------
    .. [1] L. Dinh, J. Sohl-Dickstein and S. Bengio, "Density estimation using Real
       NVP", ICLR 2017, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.embedding import NormalizingFlow
    >>> rng = np.random.default_rng(0)
    >>> X = rng.exponential(size=(50, 2)) @ rng.normal(size=(2, 100))
    >>> embedding = NormalizingFlow(2, max_epochs=20, random_state=0).fit(X)
    >>> Z = embedding.transform(X)
    >>> Z.shape, bool(np.allclose(embedding.inverse_transform(Z), X))
    ((50, 2), True)
    """

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden_layer_sizes: tuple[int, ...] = (32, 32),
        learning_rate: float = 0.003,
        batch_size: int = 128,
        max_epochs: int = 500,
        validation_fraction: float | None = 0.2,
        patience: int = 50,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.hidden_layer_sizes = hidden_layer_sizes
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> NormalizingFlow:
        """Fit PCA and train the flow on its scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training members; at least two, and more than the ``n_components``
            directions in which they vary.
        y : None
            Not used.

        Returns
        -------
        self : NormalizingFlow
            The fitted transformer.
        """
        owner = type(self).__name__
        check_training_parameters(self)
        torch = import_extra("torch", "flow", owner)
        zuko = import_extra("zuko", "flow", owner)
        values = validated(self, X, ensure_min_samples=2)
        rng = checked_random_state(self.random_state)
        self.pca_: PCA = PCA(self.n_components, whiten=True, svd_solver="full")
        # scikit-learn's global output setting must not reach the scores
        self.pca_.set_output(transform="default")
        with np.errstate(invalid="ignore"):  # constant columns are refused below
            scores = self.pca_.fit_transform(values)
        sizes = self.pca_.singular_values_
        rank = int((sizes > _ROUNDING * sizes[0]).sum())
        if rank < self.n_components:  # whitening would make inputs of rounding errors
            raise ValueError(
                f"n_components={self.n_components} must be at most the number of "
                f"directions in which X varies, {rank}, of n_samples={len(values)} "
                "members."
            )
        train, held_out = split_rows(len(values), self.validation_fraction, rng)
        with one_torch_thread(torch):
            self.flow_: Any = self._initial_flow(torch, zuko, rng)
            self._train(torch, scores[train], scores[held_out], rng)
        back = self.pca_.inverse_transform(scores)
        self.reconstruction_r2_: float = explained_share(values, back, self.pca_.mean_)
        return self

    def _initial_flow(self, torch: Any, zuko: Any, rng: np.random.RandomState) -> Any:
        """Return a flow that is the identity, without use of torch's own stream."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.randint(2**31)))
            flow = zuko.flows.RealNVP(
                self.n_components,
                transforms=_N_TRANSFORMS,
                hidden_features=tuple(self.hidden_layer_sizes),
            ).double()
        for layer in flow.transform.transforms:
            is_coupling = hasattr(layer, "hyper")
            last = layer.hyper[-1].parameters() if is_coupling else layer.parameters()
            for parameter in last:
                torch.nn.init.zeros_(parameter)
        return flow

    def _train(
        self, torch: Any, scores: FloatArray, held_out: FloatArray, rng: Any
    ) -> None:
        """Maximise the log-likelihood by Adam."""
        flow = self.flow_
        rows, assessed = torch.from_numpy(scores), torch.from_numpy(held_out)

        def loss(values: Any) -> Any:
            return -flow().log_prob(values).mean()

        with torch.no_grad():
            first = float(loss(assessed)) if len(held_out) else math.nan
        best = descend(
            self,
            torch,
            list(flow.parameters()),
            lambda batch: loss(rows[batch]),
            (lambda: loss(assessed)) if len(held_out) else None,
            lambda: copy.deepcopy(flow.state_dict()),
            len(scores),
            rng,
        )
        flow.load_state_dict(best.parameters)
        flow.requires_grad_(False)
        self.held_out_log_likelihood_: float = -best.loss if len(held_out) else math.nan
        self.held_out_log_likelihood_without_flow_: float = -first

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the inputs, ndarray of shape (n_samples, n_components).

        They are about N(0, I) if X, of shape (n_samples, n_features), is like the rows
        of ``fit``.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        return self._through_flow(self.pca_.transform(X), inverse=False)

    def inverse_transform(self, Z: ArrayLike) -> FloatArray:
        """Return the members (n_samples, n_features) of given inputs, as PCA sees them.

        Z has shape (n_samples, n_components); another width is a ``ValueError``.
        """
        check_is_fitted(self)
        scores = self._through_flow(checked_inputs(self, Z), inverse=True)
        return self.pca_.inverse_transform(scores)

    def _through_flow(self, values: FloatArray, *, inverse: bool) -> FloatArray:
        torch = import_extra("torch", "torch", type(self).__name__)
        with torch.no_grad(), one_torch_thread(torch):
            flow = self.flow_().transform
            return (flow.inv if inverse else flow)(torch.tensor(values)).numpy()

    @property
    def _n_features_out(self) -> int:
        return self.pca_.n_components_


class PLSTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Scores of X in partial least squares: the directions of X that covary with y.

    :class:`sklearn.cross_decomposition.PLSRegression` does the work. By itself it
    does not work in a Pipeline: its ``fit_transform(X, y)`` returns the scores of X and
    of y, a tuple.

    Parameters
    ----------
    n_components : int, default=2
        Number of inputs, at most the smaller of the numbers of rows and features.
    scale : bool, default=True
        Whether features and targets are divided by their standard deviations.
    max_iter : int, default=500
        Largest number of iterations for one component.
    tol : float, default=1e-6
        Tolerance at which they end.
    target_transformer : transformer or None, default=None
        Applied to y first. For policies a :class:`skpce.LogRatioTransformer`: PLS on
        the probabilities themselves would depend mostly on the likely actions.

    Attributes
    ----------
    pls_ : PLSRegression
        With weights, loadings and coefficients.
    target_transformer_ : transformer or None
        The fitted one.
    n_iter_ : int
        Largest number of iterations of a component.
    n_features_in_, feature_names_in_
        As in :class:`BetaVAE`.

    See Also
    --------
    skpce.inspection.verdict : Refits this step in every fold, as it depends on y.

    Notes
    -----
    Leave-one-out diagnostics of a surrogate behind this step are too good, as the
    scores already depend on the member that is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.embedding import PLSTransformer
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = np.exp(0.3 * X[:, :3].sum(axis=1))
    >>> pipeline = make_pipeline(PLSTransformer(1), PolynomialChaosRegressor(3))
    >>> round(pipeline.fit(X[:150], y[:150]).score(X[150:], y[150:]), 1)
    0.9
    """

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        n_components: int = 2,
        *,
        scale: bool = True,
        max_iter: int = 500,
        tol: float = 1e-6,
        target_transformer: Any = None,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.target_transformer = target_transformer

    def fit(self, X: ArrayLike, y: ArrayLike) -> PLSTransformer:
        """Find the directions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training members.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            What their scores should go with.

        Returns
        -------
        self : PLSTransformer
            The fitted transformer.
        """
        check_integer(type(self).__name__, "n_components", self.n_components, low=1)
        refuse_other_rows(X=X, y=y)
        inputs, targets = validated(self, X, y, y_numeric=True, multi_output=True)
        self.target_transformer_: Any = None
        if self.target_transformer is not None:
            self.target_transformer_ = clone(self.target_transformer)
            # as it was given: the columns of a data frame may name steps
            table = y if np.ndim(y) == 2 else targets.reshape(-1, 1)
            targets = np.asarray(self.target_transformer_.fit_transform(table))
        pls = PLSRegression(
            self.n_components, scale=self.scale, max_iter=self.max_iter, tol=self.tol
        )
        # scikit-learn's global output setting must not reach the scores
        targets = targets.astype(np.float64)
        refuse_extremes(targets, "y", varying=True)
        refuse_extremes(inputs, "X", varying=True)
        try:
            with np.errstate(all="ignore"):
                pls = pls.set_output(transform="default").fit(inputs, targets)
            found = pls.x_rotations_, pls.x_loadings_
            defined = all(bool(np.isfinite(part).all()) for part in found)
        except ValueError as error:
            # older versions of scipy say "illegal value" of what is not finite
            if "NaN" not in str(error) and "illegal value" not in str(error):
                raise
            defined = False
        if not defined:
            raise ValueError(
                "X has no direction that goes with y: the scores are not finite. "
                "Expected columns whose deviations are of comparable size, and fewer "
                "components where few columns vary."
            )
        self.pls_: PLSRegression = pls
        self.n_iter_: int = max(self.pls_.n_iter_, default=0)  # of a constant y
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> FloatArray:
        """Find the directions and return the scores of X alone; as ``fit``."""
        return self.fit(X, y).transform(X)

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return the scores (n_samples, n_components) of X (n_samples, n_features).

        They are uncorrelated on the rows of ``fit``.
        """
        check_is_fitted(self)
        return self.pls_.transform(validated(self, X, reset=False))

    def inverse_transform(self, Z: ArrayLike) -> FloatArray:
        """Return the members (n_samples, n_features) of given scores, by the loadings.

        Z has shape (n_samples, n_components); another width is a ``ValueError``.
        """
        check_is_fitted(self)
        return self.pls_.inverse_transform(checked_inputs(self, Z))

    @property
    def _n_features_out(self) -> int:
        return self.pls_.x_rotations_.shape[1]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
