"""Indices of the original features behind a linear embedding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import FloatArray, check_integer, check_real, make_generator
from .._dependence.tests import correlation_reason
from .._input_laws import InputLaw, NormalLaw
from ._affine_map import AffineMap, affine_map
from ._dependent_shapley import LARGEST_GAME
from ._explained_by_sampling import explained_share
from ._gradient_moments import gradient_moments
from ._last_expansion import LastStep, last_step, split_pipeline
from ._normal_projection import (
    subset_variances,
    symmetric_tensors,
    tensors_fit,
    variance_along,
)
from ._original_space_result import OriginalSpaceIndices
from ._subset_values import subset_shapley

# Batches of the sampled indices; they give the standard error.
_BATCHES = 16

# Below this an embedded input does not have its stated law.
_CAUTION_LEVEL = 0.01

# A feature of which the embedding keeps less than this is worth a caution.
_RETAINED = 0.5

# Share of the variance of a feature that is rounding.
_ROUNDING = 1e-12


def original_space_indices(
    pipeline: Any,
    X: Any,
    *,
    n_samples: int = 65536,
    min_q2: float = 0.25,
    max_correlation: float = 0.3,
    random_state: Any = None,
) -> OriginalSpaceIndices:
    r"""Carry the indices of an expansion back through a linear embedding.

    For a pipeline such as StandardScaler, PCA, PolynomialChaosRegressor: the expansion
    speaks of principal components, the reader asks for the original features.

    Parameters
    ----------
    pipeline : fitted Pipeline
        Affine steps, then :class:`skpce.PolynomialChaosRegressor` or
        :class:`skpce.CompositionalPCESurrogate` (whose steps are the targets, in
        Aitchison geometry). Not changed.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows before the embedding, usually those of ``fit``. They show that the steps
        are affine and give the loading and what the embedding drops.
    n_samples : int, default=65536
        Samples where no closed form exists (an input whose law is not normal).
    min_q2 : float, default=0.25
        Smallest leave-one-out Q² of the expansion.
    max_correlation : float, default=0.3
        Largest absolute correlation of two *embedded* inputs, where it is beyond
        chance.
    random_state : int, RandomState instance or None, default=None
        Randomness of the samples.

    Returns
    -------
    indices : OriginalSpaceIndices
        ``print`` says what is supported; ``to_frame`` gives a table.

    Raises
    ------
    ValueError
        If a step is not affine (the message names it), the last step is no expansion,
        or X is bad.
    NotFittedError
        If the pipeline is not fitted.

    See Also
    --------
    sobol_indices : For any pipeline, under independent original features.
    shapley_effects : For any model of dependent normal features.

    Notes
    -----
    The embedded inputs :math:`z` are independent with the laws of the expansion. The
    loading :math:`A` is the least-squares map :math:`x = m + A z + e` on the rows of X
    (for PCA on the rows of its fit, the components).

    *First order.* Under the law of the embedding, :math:`x_i = m_i + a_i \cdot z`. For
    normal laws with standard deviations :math:`\sigma`, put
    :math:`u = a_i \sigma / |a_i \sigma|`. By the projection of Hermite polynomials on a
    direction, :math:`E[\psi_j \mid u \cdot t] = \sqrt{k! / j!}\, u^j \psi_k(u \cdot t)`
    with :math:`k = |j|`, so

    .. math:: \frac{\mathrm{Var}\,E[f \mid x_i]}{\mathrm{Var} f}
        = D^{-1} \sum_{k \ge 1} \Big\{ \sum_{|j| = k} c_j \sqrt{k! / j!}\,
          u^j \Big\}^2 .

    A feature with a small loading can have a large index: on the subspace even a faint
    copy of :math:`z_1` tells :math:`z_1`. With the dropped part :math:`e_i` as noise
    the term of degree k is multiplied by :math:`r_i^{2k}`, where :math:`r_i^2` is the
    retained variance; this is ``first_order_with_residual``, and for a feature of
    which little is retained it is the one to read. With other laws both are sampled:
    a cubic in each of 16 bins, 16 batches, residuals resampled from X.

    *Derivatives.* With :math:`z = W x + b`,
    :math:`\nu_i = E[(\partial f / \partial x_i)^2] = (W^\top C W)_{ii}` and
    :math:`C = E[\nabla_z f \nabla_z f^\top]` in closed form [1]_. It says how the
    *prediction* answers to a change of one feature alone, a change that may leave the
    data.

    *No total index.* Given all other features, a feature is determined (on the
    subspace, or nearly so in X); what it adds last is zero or noise. First-order
    shares of dependent features overlap and do not add up to one. The Shapley effects
    [2]_ do; they are closed forms when X is jointly normal.

    References
    ----------
    .. [1] P. G. Constantine, "Active Subspaces: Emerging Ideas for Dimension Reduction
       in Parameter Studies", SIAM, 2015.
    .. [2] A. B. Owen and C. Prieur, "On Shapley value for measuring importance of
       dependent inputs", SIAM/ASA Journal on Uncertainty Quantification 5 (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.inspection import original_space_indices
    >>> rng = np.random.default_rng(0)
    >>> source = rng.normal(size=(300, 2)) * [2, 1]
    >>> X = source @ np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> y = source[:, 0] + source[:, 1]
    >>> pipeline = make_pipeline(PCA(2), PolynomialChaosRegressor(2)).fit(X, y)
    >>> found = original_space_indices(pipeline, X)
    >>> found.first_order.round(1), found.shapley.round(1)
    (array([[0.8, 0.8, 0.2]]), array([[0.4, 0.4, 0.2]]))
    """
    owner = "original_space_indices"
    check_integer(owner, "n_samples", n_samples, low=_BATCHES * 256)
    check_real(owner, "min_q2", min_q2, high=1, closed="right")
    check_real(owner, "max_correlation", max_correlation, low=0, high=1, closed="both")
    steps, estimator = split_pipeline(pipeline)
    last = last_step(estimator)
    embedding = affine_map(steps, X)
    if embedding.matrix.shape[0] != last.multi_indices.shape[1]:
        raise ValueError(
            f"X gives {embedding.matrix.shape[0]} embedded inputs but the expansion "
            f"was fitted on {last.multi_indices.shape[1]}."
        )
    parts = NormalParts.of(embedding, last.laws)
    normal = all(isinstance(law, NormalLaw) for law in last.laws)
    if normal:
        first, with_residual = _closed_first_order(last, parts)
        error = np.zeros_like(first)
    else:
        first, with_residual, error = _sampled_first_order(
            last, embedding, parts, int(n_samples), make_generator(random_state)
        )
    measure = _derivative_measure(last, embedding)
    variance_of_x = embedding.inputs.values.var(axis=0)
    reasons = _reasons(last, embedding, min_q2, max_correlation)
    return OriginalSpaceIndices(
        feature_names=embedding.inputs.names,
        target_names=last.target_names,
        first_order=first,
        first_order_with_residual=with_residual,
        first_order_standard_error=error,
        retained_variance=parts.retained,
        derivative_measure=measure,
        activity_share=_shares(measure * variance_of_x),
        shapley=_normal_shapley(last, parts) if normal else None,
        total_variance=last.variance,
        sampled=not normal,
        supported=tuple(not r for r in reasons),
        reasons=reasons,
        cautions=_cautions(last, embedding, parts),
    )


@dataclass(frozen=True)
class NormalParts:
    """Covariances of germ and features: x = m + L t + e, with t of unit variance.

    Parameters
    ----------
    loading : ndarray of shape (n_features, n_inputs)
        L.
    residual_covariance : ndarray of shape (n_features, n_features)
        Of e.
    """

    loading: FloatArray
    residual_covariance: FloatArray

    @classmethod
    def of(cls, embedding: AffineMap, laws: Sequence[InputLaw]) -> NormalParts:
        """Read them off the data and the laws."""
        loading = embedding.loading * np.array([_standard_deviation(w) for w in laws])
        residuals = embedding.residuals
        covariance = residuals.T @ residuals / len(residuals)
        whole = np.square(loading).sum(axis=1) + np.diag(covariance)
        rounding = np.square(loading).sum(axis=1) <= _ROUNDING * whole
        return cls(np.where(rounding[:, np.newaxis], 0.0, loading), covariance)

    @property
    def retained(self) -> FloatArray:
        """Share of the variance of each feature that the embedding keeps."""
        kept = np.square(self.loading).sum(axis=1)
        whole = kept + np.diag(self.residual_covariance)
        return kept / np.where(kept > 0, whole, 1.0)

    @property
    def directions(self) -> FloatArray:
        """Rows of the loading, of length one (zero where nothing is kept)."""
        length = np.sqrt(np.square(self.loading).sum(axis=1, keepdims=True))
        return self.loading / np.where(length > 0, length, 1.0)


def _standard_deviation(law: InputLaw) -> float:
    nodes, weights = law.quadrature(2)
    mean = weights @ nodes
    return float(np.sqrt(weights @ np.square(nodes - mean)))


def _closed_first_order(
    last: LastStep, parts: NormalParts
) -> tuple[FloatArray, FloatArray]:
    directions = parts.directions
    faded = directions * np.sqrt(parts.retained)[:, np.newaxis]
    first, with_residual = (
        last.share(variance_along(last.coefficients, last.multi_indices, d))
        for d in (directions, faded)
    )
    return first, with_residual


def _sampled_first_order(
    last: LastStep,
    embedding: AffineMap,
    parts: NormalParts,
    n_samples: int,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return both first-order indices and the larger of their standard errors."""
    loading, residuals = embedding.loading, embedding.residuals
    kept = np.flatnonzero(parts.retained > 0)
    shape = (_BATCHES, 2, len(last.group), len(loading))
    found = np.zeros(shape)
    for batch in range(_BATCHES):
        Z = last.basis.sample(n_samples // _BATCHES, generator)
        values = last.basis.evaluate(Z) @ last.coefficients.T
        noise = residuals[generator.integers(len(residuals), size=len(Z))]
        on_subspace = Z @ loading.T
        for i in kept:
            for kind, x in enumerate((on_subspace, on_subspace + noise)):
                found[batch, kind, :, i] = explained_share(x[:, i], values, last.group)
    mean = found.mean(axis=0)
    error = found.std(axis=0, ddof=1).max(axis=0) / np.sqrt(_BATCHES)
    return mean[0], mean[1], error


def _derivative_measure(last: LastStep, embedding: AffineMap) -> FloatArray:
    moments = gradient_moments(last.coefficients, last.multi_indices, last.laws)
    W = embedding.matrix
    return last.group @ np.einsum("ai,tab,bi->ti", W, moments, W)


def _shares(parts: FloatArray) -> FloatArray:
    whole = parts.sum(axis=1, keepdims=True)
    return parts / np.where(whole > 0, whole, 1.0)


def _normal_shapley(last: LastStep, parts: NormalParts) -> FloatArray | None:
    """Shapley effects when X is jointly normal; None where they cost too much."""
    n_inputs = last.multi_indices.shape[1]
    varying = np.flatnonzero(
        (parts.retained > 0) | (np.diag(parts.residual_covariance) > 0)
    )
    degree = int(last.multi_indices.sum(axis=1).max(initial=0))
    if not 1 <= len(varying) <= LARGEST_GAME or not tensors_fit(n_inputs, degree, 1):
        return None
    loading = parts.loading[varying]
    covariance = loading @ loading.T
    covariance += parts.residual_covariance[np.ix_(varying, varying)]
    values = np.array(
        [
            subset_variances(
                symmetric_tensors(row[np.newaxis], last.multi_indices),
                loading.T,
                covariance,
            )[0]
            for row in last.coefficients
        ]
    )
    effects = np.zeros((len(last.group), len(parts.loading)))
    effects[:, varying] = subset_shapley(last.group @ values, len(varying))
    return effects


def _reasons(
    last: LastStep, embedding: AffineMap, min_q2: float, max_correlation: float
) -> tuple[tuple[str, ...], ...]:
    names = [f"embedded input {i}" for i in range(embedding.outputs.shape[1])]
    common = correlation_reason(embedding.outputs, max_correlation, names)
    reasons = []
    for q2, variance in zip(last.q2, last.variance, strict=True):
        if np.isnan(q2) or variance == 0:
            own: tuple[str, ...] = ("the expansion has no variance",)
        elif q2 < min_q2:
            own = (
                f"the expansion predicts {max(q2, 0.0):.0%} of the variance of y "
                f"(leave-one-out), less than {min_q2:.0%}",
            )
        else:
            own = ()
        reasons.append((*own, *common))
    return tuple(reasons)


def _cautions(
    last: LastStep, embedding: AffineMap, parts: NormalParts
) -> tuple[str, ...]:
    found = []
    columns = zip(last.laws, embedding.outputs.T, strict=True)
    p_values = np.array([law.p_value(column) for law, column in columns])
    smallest = np.nanmin(np.append(p_values, 1.0))
    if smallest * len(p_values) < _CAUTION_LEVEL:
        found.append(
            "an embedded input does not have its stated law (smallest p-value "
            f"{smallest:.2g}): the shares are approximate"
        )
    names = embedding.inputs.names
    varies = np.ptp(embedding.inputs.values, axis=0) > 0
    faint = [names[i] for i in np.flatnonzero(varies & (parts.retained < _RETAINED))]
    if faint:
        shown = ", ".join(faint[:5]) + (", ..." if len(faint) > 5 else "")
        found.append(
            f"the embedding keeps less than half of the variance of {shown}: read "
            "first_order_with_residual there"
        )
    return tuple(found)
