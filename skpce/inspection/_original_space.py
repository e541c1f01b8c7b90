"""Indices of the original features behind a linear embedding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import FloatArray, check_integer, check_real, make_generator
from .._dependence.scores import correlation_reason
from .._expansion.expansion import Expansion
from .._expansion.marginals import (
    explained_share,
    gradient_moments,
    variance_along,
)
from .._input_laws import InputLaw, NormalLaw
from ._dependent_shapley import normal_shapley
from ._reading import (
    Inputs,
    group_matrix,
    group_shares,
    numeric_expansion_of,
    q2_reasons,
    read_inputs,
)
from ._result import Result, cautions_in_words, table_of_targets

_BATCHES = 16  # batches of the sampled indices; they give the standard error
_CAUTION_LEVEL = 0.01  # below this an embedded input does not have its stated law

# A feature of which the embedding retains less than this is worth a caution.
_RETAINED = 0.5

_ROUNDING = 1e-12  # share of the variance of a feature that is rounding


def original_space_indices(
    pipeline: Any,
    X: Any,
    *,
    n_samples: int = 65536,
    min_q2: float = 0.25,
    max_correlation: float = 0.3,
    random_state: Any = None,
) -> Result:
    r"""Carry the indices of an expansion back through a linear embedding.

    For a pipeline such as StandardScaler, PCA, PolynomialChaosRegressor: the expansion
    speaks of principal components, its reader of the original features.

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
    indices : Result
        A table of targets and features. Its attributes, beside ``cautions`` (what
        weakens the reading):

        first_order : ndarray of shape (n_targets, n_features)
            Share of the variance that a feature explains alone, under the law of the
            embedding: X lies exactly on the embedded subspace.
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
            other laws, more than 12 features, or too high a degree.
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
    copy of :math:`z_1` determines it. With the dropped part :math:`e_i` as noise
    the term of degree k is multiplied by :math:`r_i^{2k}`, where :math:`r_i^2` is the
    retained variance; this is ``first_order_with_residual``, and for a feature of
    which little is retained it is the one to read. With other laws both are sampled:
    a cubic in each of 16 bins, 16 batches, residuals resampled from X.

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
    check_integer(owner, "n_samples", n_samples, low=_BATCHES * 256)
    check_real(owner, "max_correlation", max_correlation, low=0, high=1, closed="both")
    reading = numeric_expansion_of(owner, pipeline, X, min_q2)
    expansion = reading.expansion
    embedding = affine_map(reading.steps, X)
    if embedding.matrix.shape[0] != expansion.n_inputs:
        raise ValueError(
            f"X gives {embedding.matrix.shape[0]} embedded inputs but the expansion "
            f"was fitted on {expansion.n_inputs}."
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
    measure = _derivative_measure(expansion, embedding)
    activity = measure * embedding.inputs.values.var(axis=0)
    whole = activity.sum(axis=1, keepdims=True)
    names = [f"embedded input {i}" for i in range(embedding.outputs.shape[1])]
    common = correlation_reason(embedding.outputs, max_correlation, names)
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
        """Read them off the data and the laws."""
        loading = embedding.loading * np.array([_standard_deviation(w) for w in laws])
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
        coefficients, multi_indices = expansion.coefficients, expansion.multi_indices
        return group_shares(
            expansion, variance_along(coefficients, multi_indices, along)
        )

    def shapley(self, expansion: Expansion) -> FloatArray | None:
        """Shapley effects when X is jointly normal; None where they cost too much."""
        rest = self.residual_covariance
        varying = np.flatnonzero((self.retained > 0) | (np.diag(rest) > 0))
        covariance = self.loading @ self.loading.T + rest
        return normal_shapley(expansion, self.loading, covariance, varying)


def _standard_deviation(law: InputLaw) -> float:
    nodes, weights = law.quadrature(2)
    mean = weights @ nodes
    return float(np.sqrt(weights @ np.square(nodes - mean)))


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


def _derivative_measure(expansion: Expansion, embedding: AffineMap) -> FloatArray:
    moments = gradient_moments(
        expansion.coefficients, expansion.multi_indices, expansion.basis.laws
    )
    W = embedding.matrix
    return group_matrix(expansion) @ np.einsum("ai,tab,bi->ti", W, moments, W)


def _cautions(
    expansion: Expansion, embedding: AffineMap, parts: NormalParts
) -> tuple[str, ...]:
    found = []
    columns = zip(expansion.basis.laws, embedding.outputs.T, strict=True)
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
            f"the embedding retains less than half of the variance of {shown}: read "
            "first_order_with_residual there"
        )
    return tuple(found)


# Departure from an affine map that is rounding, relative to the spread of the output.
_TOLERANCE = 1e-6

_LARGEST_TABLE = 2**22  # entries of a table of perturbed rows


@dataclass(frozen=True)
class AffineMap:
    """The map z = W (x - m) + b and the data on both sides of it."""

    matrix: FloatArray  # (n_outputs, n_features): W
    inputs: Inputs  # X as given
    outputs: FloatArray  # X after the transformers

    @property
    def loading(self) -> FloatArray:  # shape: (n_features, n_outputs)
        """Coefficients A of least squares: x = m + A (z - mean) + rest."""
        X, Z = self.inputs.values, self.outputs
        scale = Z.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        standard = (Z - Z.mean(axis=0)) / scale
        solution = np.linalg.lstsq(standard, X - X.mean(axis=0), rcond=1e-10)[0]
        return solution.T / scale

    @property
    def residuals(self) -> FloatArray:  # shape: (n_samples, n_features)
        """Part of X that its image does not determine."""
        X, Z = self.inputs.values, self.outputs
        return X - X.mean(axis=0) - (Z - Z.mean(axis=0)) @ self.loading.T


def affine_map(steps: Sequence[tuple[str, Any]], X: Any) -> AffineMap:
    """Compose the steps; refuse one that is not affine on the rows of X."""
    first = inputs = read_inputs(X, smallest=3)
    table = X
    steps = [one for one in steps if one[1] is not None and one[1] != "passthrough"]
    for name, step in steps:
        table, inputs = _checked_step(name, step, table, inputs)
    if steps:
        blocks = _slopes([step for _, step in steps], first)
        matrix = np.hstack([slopes.T for _, slopes in blocks])
    else:
        matrix = np.eye(first.values.shape[1])
    if len(first.values) < inputs.values.shape[1] + 2:
        raise ValueError(
            f"X has {len(first.values)} rows; {inputs.values.shape[1]} embedded inputs "
            f"need at least {inputs.values.shape[1] + 2}."
        )
    return AffineMap(matrix, first, inputs.values)


def _checked_step(
    name: str, step: Any, table: Any, inputs: Inputs
) -> tuple[Any, Inputs]:
    """Transform a table; refuse a step that is not affine on it."""
    X = inputs.values
    table = step.transform(table)
    try:
        outputs = read_inputs(table, smallest=1)
    except (TypeError, ValueError):
        raise _not_affine(
            name, step, "its output is not a finite numeric table"
        ) from None
    centred = X - X.mean(axis=0)
    mean = inputs.like(X.mean(axis=0, keepdims=True))
    base = np.asarray(step.transform(mean), dtype=np.float64)[0]
    expected = np.tile(base, (len(X), 1))
    for columns, slopes in _slopes([step], inputs):
        expected += centred[:, columns] @ slopes
    spread = np.abs(outputs.values - base).max(axis=0)
    rounding = _TOLERANCE * spread + 1e-12 * np.abs(outputs.values).max(axis=0)
    error = np.abs(outputs.values - expected).max(axis=0)
    if np.any(error > rounding):
        worst = float(np.max(error / np.maximum(spread, 1e-300)))
        raise _not_affine(
            name,
            step,
            f"on X it departs from an affine map by {worst:.2g} of its range",
        )
    return table, outputs


def _slopes(
    steps: list[Any], inputs: Inputs
) -> Iterator[tuple[slice, FloatArray]]:  # shapes: (n_columns, n_outputs)
    """Yield the slopes of the steps in each column, some columns at a time."""
    X = inputs.values
    n_features = X.shape[1]
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    size = max(1, _LARGEST_TABLE // n_features - 1)
    for start in range(0, n_features, size):
        columns = slice(start, min(start + size, n_features))
        moves = scale[columns]
        probes = np.tile(mean, (len(moves) + 1, 1))
        probes[np.arange(1, len(probes)), np.arange(start, columns.stop)] += moves
        moved = inputs.like(probes)
        for step in steps:
            moved = step.transform(moved)
        images = np.asarray(moved, dtype=np.float64)
        yield columns, (images[1:] - images[0]) / moves[:, np.newaxis]


def _not_affine(name: str, step: Any, why: str) -> ValueError:
    return ValueError(
        f"The step {name!r} ({type(step).__name__}) is not affine: {why}. Indices in "
        "the original space need affine steps (scaling, PCA, selection of columns). "
        "skpce.inspection.sobol_indices(pipeline, X) takes any pipeline."
    )
