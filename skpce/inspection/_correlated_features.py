"""Indices of correlated features: behind a linear embedding, or of any model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._basis.basis import Truncation
from .._checks import (
    FloatArray,
    RandomState,
    check_draws,
    check_option,
    make_generator,
    remembers_frames,
)
from .._expansion.expansion import Expansion, gradient_moments
from .._expansion.moments import (
    explained_share,
    subset_variances,
    symmetric_tensors,
    tensors_fit,
    variance_along,
)
from .._input_laws.correlations import correlation_reason
from .._input_laws.families import InputLaw, NormalLaw
from .._input_laws.pieces import deviation_of
from .._input_laws.scores import fidelity_reason, outside_reason, outside_share
from .._result import Result, cautions_in_words, table_of_targets
from ._affine_map import AffineMap, affine_map
from ._model import (
    OUTSIDE_POINTS,
    IndependentColumns,
    expand,
    fidelity_of,
    fidelity_words,
)
from ._reading import (
    FittedModel,
    fitted_model,
    group_matrix,
    numeric_expansion_of,
    q2_reasons,
)

_BATCHES = 16  # batches of the sampled indices; they give the standard error
_CAUTION_LEVEL = 0.01  # below this an embedded input does not have its stated law

_LARGEST_GAME = 12  # subsets of more features than this are too many

# A feature of which the embedding retains less than this is worth a caution.
_RETAINED = 0.5
_ROUNDING = 1e-12  # share of the variance of a feature that is rounding


@remembers_frames
def original_space_indices(
    pipeline: Any,
    X: Any,
    *,
    n_samples: int = 65536,
    min_q2: float = 0.25,
    random_state: RandomState = None,
) -> Result:
    r"""Carry the indices of an expansion back through a linear embedding.

    For a pipeline such as StandardScaler, PCA, PolynomialChaosRegressor: the inputs of
    the expansion are principal components, and the original features are asked for.

    Parameters
    ----------
    pipeline : fitted Pipeline, or a search over one
        Affine steps, then :class:`skpce.PolynomialChaosRegressor` or
        :class:`skpce.CompositionalPCESurrogate` (whose steps are the targets, in
        Aitchison geometry). Not changed.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows before the embedding, usually those of ``fit``. They show that the steps
        are affine and give the loading and what the embedding drops.
    n_samples : int, default=65536
        Samples where no closed form exists (an input whose distribution is not normal).
    min_q2 : float, default=0.25
        Smallest leave-one-out Q² of the expansion.
    random_state : int, RandomState instance or None, default=None
        Randomness of the samples.

    Returns
    -------
    indices : Result
        A table of targets and features. Its attributes, beside ``cautions`` (what
        weakens the reading):

        first_order : ndarray of shape (n_targets, n_features)
            Share of the variance that a feature explains alone, under the distribution
            of the embedding: X lies exactly on the embedded subspace.
        first_order_with_residual : ndarray of shape (n_targets, n_features)
            The same when the part of the feature that the embedding drops counts as
            independent noise, as large as in X.
        first_order_standard_error : ndarray of shape (n_targets, n_features)
            Sampling error of both; 0 for closed forms.
        retained_variance : ndarray of shape (n_features,)
            Share of the variance of a feature that the embedding retains.
        derivative_measure : ndarray of shape (n_targets, n_features)
            Mean squared derivative of the prediction (log-ratios for a surrogate of
            compositions) in the feature, the others held fixed; per squared unit.
        activity_share : ndarray of shape (n_targets, n_features)
            The same times the variance of the feature in X, scaled to add up to one.
        shapley : ndarray of shape (n_targets, n_features) or None
            Shapley effects when X is jointly normal; they add up to one. None with
            other distributions, more than 12 features, or too high a degree.
        total_variance : ndarray of shape (n_targets,)
            Variance of the expansion.
        sampled : bool
            Whether first-order indices were sampled.

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
    The embedded inputs :math:`z` are independent with the distributions of the
    expansion. The loading :math:`A` is the least-squares map :math:`x = m + A z + e` on
    the rows of X (for PCA on the rows of its fit, the components).

    *First order.* Under the distribution of the embedding, :math:`x_i = m_i + a_i \cdot
    z`. For normal distributions with standard deviations :math:`\sigma`, put
    :math:`u = a_i \sigma / |a_i \sigma|`. By the projection of Hermite polynomials on a
    direction, :math:`E[\psi_j \mid u \cdot t] = \sqrt{k! / j!}\, u^j \psi_k(u \cdot t)`
    with :math:`k = |j|`, so

    .. math:: \frac{\mathrm{Var}\,E[f \mid x_i]}{\mathrm{Var} f}
        = D^{-1} \sum_{k \ge 1} \Big\{ \sum_{|j| = k} c_j \sqrt{k! / j!}\,
          u^j \Big\}^2 .

    A feature with a small loading can have a large index: on the subspace even a faint
    copy of :math:`z_1` determines it. With the dropped part :math:`e_i` as noise
    the term of degree k is multiplied by :math:`r_i^{2k}`, where :math:`r_i^2` is the
    retained variance; this is ``first_order_with_residual``, and for a feature of
    which little is retained it is the one to read. With other distributions both are
    sampled: a cubic in each of 16 bins, 16 batches, residuals resampled from X.

    *Derivatives.* With :math:`z = W x + b`,
    :math:`\nu_i = E[(\partial f / \partial x_i)^2] = (W^\top C W)_{ii}` and
    :math:`C = E[\nabla_z f \nabla_z f^\top]` in closed form [1]_. It says how the
    *prediction* changes with one feature alone, a move that may leave the data.

    *No total index.* The other features determine a feature (on the subspace, or nearly
    so in X); what it adds last is zero or noise. First-order shares of dependent
    features overlap. Shapley effects [2]_ add up to one.

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
    check_draws(owner, "n_samples", n_samples, low=_BATCHES * 256)
    reading = numeric_expansion_of(owner, pipeline, X, min_q2)
    expansion = reading.expansion
    embedding = affine_map(reading.steps, X)
    if embedding.matrix.shape[0] != expansion.n_inputs:
        raise ValueError(
            f"X gives {embedding.matrix.shape[0]} embedded inputs; expected "
            f"{expansion.n_inputs}, on which the expansion was fitted."
        )
    laws = expansion.basis.laws
    parts = NormalParts.of(embedding, laws)
    normal = all(isinstance(law, NormalLaw) for law in laws)
    if normal:
        first = parts.first_order(expansion, noise=False)
        with_residual = parts.first_order(expansion, noise=True)
        error = np.zeros_like(first)
    else:
        first, with_residual, error = _sampled_first_order(
            expansion, embedding, parts, int(n_samples), make_generator(random_state)
        )
    moments = gradient_moments(expansion)
    W = embedding.matrix
    measure = np.einsum("ai,tab,bi->ti", W, moments, W)
    measure = group_matrix(expansion) @ measure
    activity = measure * embedding.inputs.values.var(axis=0)
    whole = activity.sum(axis=1, keepdims=True)
    names = [f"embedded input {i}" for i in range(embedding.outputs.shape[1])]
    common = correlation_reason(embedding.outputs, names)
    reasons = [(*own, *common) for own in q2_reasons(expansion, min_q2)]
    cautions = _cautions(expansion, embedding, parts)
    how = "closed form" if normal else "sampled"
    return table_of_targets(
        expansion.group_names,
        embedding.inputs.names,
        {
            "first_order": first,
            "first_order_with_residual": with_residual,
            "first_order_standard_error": error,
            "retained_variance": parts.retained[np.newaxis],
            "derivative_measure": measure,
            "activity_share": activity / np.where(whole > 0, whole, 1.0),
            "shapley": parts.shapley(expansion) if normal else None,
        },
        reasons,
        [f"{how}, variance {variance:.3g}" for variance in expansion.total_variance],
        printed=(
            "first_order_with_residual",
            "first_order",
            "activity_share",
            "shapley",
        ),
        notes=(
            *cautions_in_words(cautions),
            "Note: the features are dependent, so first-order shares do not add up to "
            "one, and there is no total index: the other features determine a feature.",
        ),
        retained_variance=parts.retained,
        total_variance=expansion.total_variance,
        sampled=not normal,
        cautions=cautions,
    )


@dataclass(frozen=True)
class NormalParts:
    """Covariances of inputs and features: x = m + L t + e, with t of unit variance."""

    loading: FloatArray  # (n_features, n_inputs): L
    residual_covariance: FloatArray  # of e

    @classmethod
    def of(cls, embedding: AffineMap, laws: Sequence[InputLaw]) -> NormalParts:
        """Read them off the data and the distributions."""
        loading = embedding.loading * [deviation_of(*law.quadrature(2)) for law in laws]
        residuals = embedding.residuals
        covariance = residuals.T @ residuals / len(residuals)
        whole = np.square(loading).sum(axis=1) + np.diag(covariance)
        rounding = np.square(loading).sum(axis=1) <= _ROUNDING * whole
        return cls(np.where(rounding[:, np.newaxis], 0.0, loading), covariance)

    @property
    def retained(self) -> FloatArray:
        """Share of the variance of each feature that the embedding retains."""
        retained = np.square(self.loading).sum(axis=1)
        whole = retained + np.diag(self.residual_covariance)
        return retained / np.where(retained > 0, whole, 1.0)

    def first_order(self, expansion: Expansion, *, noise: bool) -> FloatArray:
        """Return closed first-order indices; what is dropped is noise, or is not."""
        length = np.sqrt(np.square(self.loading).sum(axis=1, keepdims=True))
        along = self.loading / np.where(length > 0, length, 1.0)
        if noise:
            along *= np.sqrt(self.retained)[:, np.newaxis]
        parts = variance_along(expansion.coefficients, expansion.multi_indices, along)
        variance = expansion.total_variance
        safe = np.where(variance > 0, variance, 1.0)
        return (group_matrix(expansion) @ parts) / safe[:, np.newaxis]

    def shapley(self, expansion: Expansion) -> FloatArray | None:
        """Shapley effects when X is jointly normal; None where they cost too much."""
        rest = self.residual_covariance
        varying = np.flatnonzero((self.retained > 0) | (np.diag(rest) > 0))
        degree = int(expansion.multi_indices.sum(axis=1).max(initial=0))
        fits = tensors_fit(expansion.n_inputs, degree)
        if not 1 <= len(varying) <= _LARGEST_GAME or not fits:
            return None
        covariance = self.loading @ self.loading.T + rest
        some = self.loading[varying].T, covariance[np.ix_(varying, varying)]
        values = np.zeros((len(expansion.coefficients), 2 ** len(varying)))
        for k, row in enumerate(expansion.coefficients):
            tensors = symmetric_tensors(row[np.newaxis], expansion.multi_indices)
            values[k] = subset_variances(tensors, *some)[0]
        group = group_matrix(expansion)
        effects = np.zeros((len(group), len(self.loading)))
        effects[:, varying] = subset_shapley(group @ values, len(varying))
        return effects


def _sampled_first_order(
    expansion: Expansion,
    embedding: AffineMap,
    parts: NormalParts,
    n_samples: int,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return both first-order indices and the larger of their standard errors."""
    loading, residuals = embedding.loading, embedding.residuals
    group = group_matrix(expansion)
    found = np.zeros((_BATCHES, 2, len(group), len(loading)))
    if not expansion.n_outputs:  # no step has a choice
        return found[0, 0], found[0, 1], found[0, 0]
    for batch in range(_BATCHES):
        Z = expansion.basis.sample(n_samples // _BATCHES, generator)
        values = expansion.basis.evaluate(Z) @ expansion.coefficients.T
        noise = residuals[generator.integers(len(residuals), size=len(Z))]
        on_subspace = Z @ loading.T
        for i in np.flatnonzero(parts.retained > 0):
            for kind, x in enumerate((on_subspace, on_subspace + noise)):
                found[batch, kind, :, i] = explained_share(x[:, i], values, group)
    mean = found.mean(axis=0)
    error = found.std(axis=0, ddof=1).max(axis=0) / np.sqrt(_BATCHES)
    return mean[0], mean[1], error


def _cautions(
    expansion: Expansion, embedding: AffineMap, parts: NormalParts
) -> tuple[str, ...]:
    found = []
    p_values = expansion.basis.p_values(embedding.outputs)
    smallest = np.nanmin(np.append(p_values, 1.0))
    if smallest * len(p_values) < _CAUTION_LEVEL:
        found.append(
            "an embedded input does not have its stated distribution (smallest p-value "
            f"{smallest:.2g}): the shares are approximate"
        )
    names = embedding.inputs.names
    varies = np.ptp(embedding.inputs.values, axis=0) > 0
    faint = [names[i] for i in np.flatnonzero(varies & (parts.retained < _RETAINED))]
    if faint:
        shown = ", ".join(faint[:5]) + (", ..." if len(faint) > 5 else "")
        found.append(
            f"the embedding retains less than half of the variance of {shown}: read "
            "first_order_with_residual there"
        )
    return tuple(found)


@remembers_frames
def shapley_effects(
    estimator: Any,
    X: Any,
    *,
    dependence: str = "independent",
    distribution: Any = "empirical",
    n_samples: int = 500,
    random_state: RandomState = None,
) -> Result:
    r"""Share the variance of a model among its columns, so that the shares add up.

    Parameters
    ----------
    estimator : fitted estimator or callable
        As in :func:`sobol_indices`.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows that the model is meant for.
    dependence : {"independent", "gaussian"}, default="independent"
        The joint distribution of the columns. ``"gaussian"``: jointly normal with the
        mean and the covariance of X; at most 12 columns that vary. The covariance may
        be singular.
    distribution : str, frozen distribution, or list, default="empirical"
        The distribution of each column; only with ``dependence="independent"``.
    n_samples : int, default=500
        Rows to which the expansion is fitted. It needs no degree.
    random_state : int, RandomState instance or None, default=None
        Randomness of the design.

    Returns
    -------
    effects : Result
        A table of targets and features. Its attributes, beside ``dependence``:

        effects : ndarray of shape (n_targets, n_features)
            Shares of the variance; they add up to one. Also ``shapley``.
        total_variance : ndarray of shape (n_targets,)
            Variance of the model; with normal columns, of the expansion.
        fidelity, fidelity_standard_error : ndarray of shape (n_targets,)
            Q² of the expansion on held-out design points; NaN without variance.

    Raises
    ------
    ValueError
        For bad arguments.
    NotFittedError
        If the estimator is not fitted.

    Notes
    -----
    With :math:`v(u) = \mathrm{Var}\,E[f(x) \mid x_u]`, the effect of column :math:`i`
    is the mean gain :math:`v(u \cup i) - v(u)` over the orders in which columns can be
    added, as a share of :math:`v` of all [1]_. The effects are not negative and add up
    to one, also for dependent columns [2]_, where first-order and total indices do not.
    A column that the model does not use gets a share when it is correlated with one
    that the model uses.

    With independent columns they are those of :func:`sobol_indices`. With normal ones
    the expansion is in the principal axes, and every :math:`v(u)` is a closed form in
    its Hermite coefficients: nothing is sampled beyond the design.

    References
    ----------
    .. [1] A. B. Owen, "Sobol' indices and Shapley value", SIAM/ASA Journal on
       Uncertainty Quantification 2 (2014).
    .. [2] E. Song, B. L. Nelson and J. Staum, "Shapley effects for global sensitivity
       analysis: theory and computation", SIAM/ASA Journal on Uncertainty
       Quantification 4 (2016).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import shapley_effects
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=500)
    >>> found = shapley_effects(
    ...     lambda X: X[:, 0], X, dependence="gaussian", random_state=0
    ... )
    >>> found.effects.round(2)
    array([[0.68, 0.32]])
    """
    owner = "shapley_effects"
    check_option(owner, "dependence", dependence, ("independent", "gaussian"))
    generator = make_generator(random_state)
    given = owner, estimator, X
    if dependence == "independent":
        design = IndependentColumns.of(*given, distribution, n_samples, generator)
        model = design.model
        found, reasons = design.compared(int(n_samples))
        effects, variance = found.shapley, found.variance
        fidelity, error = found.fidelity, found.standard_error
    else:
        check_draws(owner, "n_samples", n_samples, low=10)
        model = fitted_model(*given, labels=False)
        normal = _normal_effects(model, int(n_samples), generator)
        effects, variance, fidelity, error, outside = normal
        reasons = [(*fidelity_reason(q2), *outside) for q2 in fidelity]
    return table_of_targets(
        model.target_names(len(reasons)),
        model.inputs.names,
        {"shapley": effects, "fidelity": fidelity},
        reasons,
        [f"{dependence} columns, {words}" for words in fidelity_words(fidelity, error)],
        printed=("shapley",),
        effects=effects,
        dependence=dependence,
        total_variance=variance,
        fidelity_standard_error=error,
    )


# Rows that say how faithful an expansion is.
_HELD_OUT = 500


def _principal_loading(values: FloatArray) -> FloatArray:  # shape: (n_features, rank)
    """Map standard normal principal axes to deviations of X from its mean."""
    scale = values.std(axis=0)
    scale = np.where(np.ptp(values, axis=0) > 0, scale, 0.0)
    standard = (values - values.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    _, singular, axes = np.linalg.svd(standard * (scale > 0), full_matrices=False)
    retained = singular > 1e-6 * singular.max(initial=0.0)
    axes = axes[retained].T * singular[retained] / np.sqrt(len(values))
    return scale[:, np.newaxis] * axes


# Degrees in principal axes, and terms of them.
_LARGEST_DEGREE, _MOST_TERMS = 12, 1000


def _normal_effects(
    model: FittedModel, n_samples: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, tuple[str, ...]]:
    """Expand a model of normal columns in its principal axes."""
    values = model.inputs.values
    loading = _principal_loading(values)
    rank = loading.shape[1]
    varying = np.flatnonzero(np.abs(loading).max(axis=1, initial=0.0) > 0)
    if not 1 <= len(varying) <= _LARGEST_GAME:
        raise ValueError(
            f"X has {len(varying)} columns that vary; dependence='gaussian' needs 1 to "
            f"{_LARGEST_GAME}, because it visits every subset."
        )

    def drawn(size: int) -> tuple[FloatArray, FloatArray]:
        axes = generator.normal(size=(size, rank))
        return axes, values.mean(axis=0) + axes @ loading.T

    degree = max(
        d
        for d in range(1, _LARGEST_DEGREE + 1)
        if tensors_fit(rank, d) and math.comb(rank + d, d) <= _MOST_TERMS
    )
    axes, rows = drawn(n_samples)
    listed = Truncation.of_degree(rank, degree).listed()
    expansion = expand(axes, model.twice(rows), [NormalLaw(0.0, 1.0)] * rank, listed)
    parts = NormalParts(loading, np.zeros((len(loading), len(loading))))
    effects = parts.shapley(expansion)
    assert effects is not None  # the sizes were checked above
    axes, rows = drawn(_HELD_OUT)
    fidelity = fidelity_of(expansion(axes), model(rows))
    outside = outside_reason(outside_share(values, drawn(OUTSIDE_POINTS)[1]))
    return effects, expansion.total_variance, *fidelity, outside


def subset_shapley(
    values: FloatArray,  # shape: (n_targets, 2**n_features)
    n_features: int,
) -> FloatArray:  # shape: (n_targets, n_features)
    """Return Shapley values, as shares, from the value of every subset."""
    positions = np.arange(2**n_features)
    size = np.array([int(u).bit_count() for u in positions])
    effects = np.empty((len(values), n_features))
    for i in range(n_features):
        without = positions[(positions >> i) & 1 == 0]
        weight = np.array(
            [1.0 / (n_features * math.comb(n_features - 1, s)) for s in size[without]]
        )
        gains = values[:, without | (1 << i)] - values[:, without]
        effects[:, i] = gains @ weight
    whole = values[:, -1:]
    return effects / np.where(whole > 0, whole, 1.0)
