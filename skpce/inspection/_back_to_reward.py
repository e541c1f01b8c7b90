"""From the inputs of an expansion back to the entries of the reward."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import FloatArray, check_real
from .._dependence.tests import largest_correlation
from .._fitted_pipeline import last_estimator
from .._input_laws import NormalLaw
from ._back_to_reward_result import RewardEffects
from ._column_groups import column_groups
from ._dependent_inputs import closed_form, has_variance, q2_reasons
from ._moved_columns import MovedColumns
from ._normal_projection import variance_along
from ._original_space import NormalParts
from ._pipeline_expansion import PipelineExpansion, pipeline_expansion

# Correlation of embedded inputs that is rounding, or nearly: components of a PCA.
_UNCORRELATED = 0.05

# Part of its own move below which a feature is worth a caution.
_KEPT = 0.5


def back_to_reward(
    pipeline: Any,
    X: Any,
    *,
    groups: Mapping[str, Any] | None = None,
    min_q2: float = 0.25,
) -> RewardEffects:
    r"""Say which entries of the reward an expansion of embedded inputs answers to.

    The expansion speaks of components; the reader asks which reactions' yields, which
    fragments, which problems. Their columns are moved before the embedding.

    Parameters
    ----------
    pipeline : fitted estimator
        A Pipeline of any transformers and :class:`skpce.PolynomialChaosRegressor` or
        :class:`skpce.CompositionalPCESurrogate` (whose steps are the targets), or a
        fitted search over one. Not changed.
    X : array-like or data frame of shape (n_samples, n_features)
        Rewards before the embedding, one row a member: usually those of ``fit``. More
        draws of the same law make the figures sharper.
    groups : mapping of str to columns, or None, default=None
        Columns, by position or by name, that move together, such as all reactions of
        one catalyst. Groups may overlap and leave columns out. None: each column.
    min_q2 : float, default=0.25
        Smallest leave-one-out Q² of the expansion.

    Returns
    -------
    effects : RewardEffects
        ``print`` says what is supported; ``to_frame``, ``effect_frame`` and
        ``latent_frame`` give tables.

    Raises
    ------
    ValueError
        If the estimator does not end in an expansion, or X or the groups are bad.
    NotFittedError
        If the pipeline is not fitted.

    See Also
    --------
    original_space_indices : Closed forms under the law of an affine embedding.
    dependent_sobol_indices : Kucherenko indices and Shapley effects of groups.
    skpce.plotting.RewardEffectsDisplay : Draws them.

    Notes
    -----
    With the prediction :math:`f`, the mean row :math:`\bar x` and the move
    :math:`f_g(x) = f(\bar x_{-g}, x_g)` of a group of columns,

    .. math:: \text{driven}_g = \frac{\mathrm{Var} f_g}{\mathrm{Var} f}, \qquad
        \text{share}_g = \frac{\mathrm{Cov}(f_g, f)}{\mathrm{Var} f}.

    The variances are over the rows of X. ``driven`` says what the group does on its
    own. Entries of a reward rise and fall together, so that thousands of them can
    each drive next to nothing; ``share`` gives each its part of the whole, as in the
    covariance decomposition [1]_. It is negative where the rest of the reward makes
    up for the group. What the shares of a partition lack of one is interaction.

    ``told`` is the first-order index in X: what one column tells, also by what goes
    with it. For uncorrelated normal inputs behind an affine embedding it is the closed
    form of :func:`original_space_indices` with the dropped part as noise, else the fit
    of a cubic to the rows.

    The effect of a group is the mean of :math:`\{f(x + s_g) - f(x - s_g)\} / 2`, with
    :math:`s_g` one standard deviation of each of its columns. An affine embedding is
    moved by its loadings; any other one transforms the moved rows.

    ``kept`` is the part of that move that an affine embedding sees. A few components
    of thousands of entries keep next to nothing of one entry alone, however well they
    predict: the entry then stands for what rises and falls with it, and solving again
    with that one entry changed is another question.

    All figures speak of the *prediction*; times Q² they are shares of the variance
    between members.

    References
    ----------
    .. [1] G. Li et al., "Global sensitivity analysis for systems with independent
       and/or correlated inputs", The Journal of Physical Chemistry A 114 (2010).

    Examples
    --------
    Three yields make one component, a fourth another; the decision follows the first.

    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from sklearn.pipeline import make_pipeline
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.inspection import back_to_reward
    >>> rng = np.random.default_rng(0)
    >>> source = rng.normal(size=(100, 2))
    >>> X = source @ np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    >>> pipeline = make_pipeline(PCA(2), PolynomialChaosRegressor(1))
    >>> found = back_to_reward(pipeline.fit(X, source[:, 0]), X)
    >>> found.share.round(2) + 0.0
    array([[0.33, 0.33, 0.33, 0.  ]])
    >>> found.driven.round(2), found.effect.round(2) + 0.0
    (array([[0.11, 0.11, 0.11, 0.  ]]), array([[0.32, 0.32, 0.32, 0.  ]]))
    >>> parts = {"first": [0, 1, 2], "second": 3}
    >>> back_to_reward(pipeline, X, groups=parts).share.round(2) + 0.0
    array([[1., 0.]])
    """
    check_real("back_to_reward", "min_q2", min_q2, high=1, closed="right")
    expansion = pipeline_expansion(pipeline, X)
    names = expansion.inputs.names
    players = column_groups(groups, names, overlapping=True)
    moved = MovedColumns(expansion)
    shares = _shares(moved, list(players.values()))
    effect = np.column_stack([moved.raised(columns) for columns in players.values()])
    last = expansion.last
    reasons = q2_reasons(last, float(min_q2))
    kept = np.array([moved.kept(columns) for columns in players.values()])
    latent_names = tuple(last_estimator(pipeline)[1])
    alone = {name: [i] for i, name in enumerate(latent_names)}
    return RewardEffects(
        feature_names=tuple(players),
        target_names=last.target_names,
        **shares,
        told=_told(moved) if groups is None else None,
        effect_size=np.sqrt(last.group @ np.square(effect)),
        effect=effect,
        kept=kept,
        row_names=expansion.row_names,
        row_targets=last.group.argmax(axis=0),
        latent_names=latent_names,
        latent_total_order=closed_form(_behind(expansion), alone)[1],
        loading=moved.loading(),
        column_names=names,
        predicted_variance=last.group @ moved.values.var(axis=0) * has_variance(last),
        unexplained=1.0 - np.clip(last.q2, 0.0, 1.0),
        linear=moved.embedding is not None,
        supported=tuple(not reason for reason in reasons),
        reasons=reasons,
        cautions=_cautions(kept, effect, list(players)),
    )


def _cautions(
    kept: FloatArray,  # shape: (n_features,)
    effect: FloatArray,  # shape: (n_rows, n_features)
    names: list[str],
) -> tuple[str, ...]:
    """Say of which features the embedding does not see what they do alone."""
    found = []
    faint = np.flatnonzero(kept < _KEPT)
    if faint.size:
        found.append(
            f"the embedding keeps less than half of a move of {faint.size} of "
            f"{len(names)} features on their own ({_first(faint, names)}): their "
            "figures follow what goes with them, and a policy solved again with such "
            "a move can answer otherwise"
        )
    outside = np.flatnonzero(np.isnan(effect).any(axis=0))
    if outside.size:
        found.append(
            f"{outside.size} of {len(names)} features ({_first(outside, names)}) have "
            "no effect of one standard deviation: the embedding gives NaN or infinity "
            "for rows that are moved by it"
        )
    return tuple(found)


def _first(chosen: NDArray[np.intp], names: list[str]) -> str:
    return ", ".join(names[i] for i in chosen[:3]) + (
        ", ..." if chosen.size > 3 else ""
    )


def _behind(expansion: PipelineExpansion) -> PipelineExpansion:
    """Return the expansion alone, as a function of its own inputs."""
    return PipelineExpansion([], expansion.last, expansion.inputs, expansion.estimator)


def _shares(moved: MovedColumns, players: list[list[int]]) -> dict[str, FloatArray]:
    """Return both shares of each group, with the standard errors of the ratios."""
    group = moved.expansion.last.group
    varies = has_variance(moved.expansion.last)
    centred = moved.values - moved.values.mean(axis=0)
    whole = np.where(varies, np.square(centred) @ group.T, 0.0)
    shape = (len(group), len(players))
    tables = {
        name: np.zeros(shape)
        for name in ("share", "share_standard_error", "driven", "driven_standard_error")
    }
    for player, columns in enumerate(players):
        part = moved.alone(columns)
        part = part - part.mean(axis=0)
        for name, product in (("share", part * centred), ("driven", part**2)):
            ratio, error = _ratio_of_means(product @ group.T, whole)
            tables[name][:, player] = ratio
            tables[f"{name}_standard_error"][:, player] = error
    return tables


def _ratio_of_means(
    parts: FloatArray,  # shape: (n_samples, n_targets)
    whole: FloatArray,  # shape: (n_samples, n_targets)
) -> tuple[FloatArray, FloatArray]:
    """Return a ratio of means and its standard error, by linearisation; 0 over 0."""
    mean = whole.mean(axis=0)
    safe = np.where(mean > 0, mean, 1.0)
    ratio = np.where(mean > 0, parts.mean(axis=0) / safe, 0.0)
    spread = (parts - ratio * whole).std(axis=0)
    return ratio, np.where(mean > 0, spread / safe / np.sqrt(len(parts)), 0.0)


def _told(moved: MovedColumns) -> FloatArray:
    last, embedding = moved.expansion.last, moved.embedding
    normal = all(isinstance(law, NormalLaw) for law in last.laws)
    uncorrelated = not largest_correlation(moved.latent) > _UNCORRELATED
    if embedding is not None and normal and uncorrelated:
        parts = NormalParts.of(embedding, last.laws)
        faded = parts.directions * np.sqrt(parts.retained)[:, np.newaxis]
        return last.share(variance_along(last.coefficients, last.multi_indices, faded))
    variance = last.group @ moved.values.var(axis=0, ddof=1) * has_variance(last)
    safe = np.where(variance > 0, variance, 1.0)[:, np.newaxis]
    return np.where(variance[:, np.newaxis] > 0, last.group @ moved.told() / safe, 0.0)
