"""From the inputs of an expansion back to the entries of the reward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import FloatArray, OutputGroups
from .._compositions.indices import ratio_of_means
from .._expansion.expansion import refuse_categories
from .._expansion.moments import variance_along
from .._input_laws import largest_correlation
from .._input_laws.families import NormalLaw
from .._result import Result, cautions_in_words, table_of_targets
from ._reading import (
    OutsideDomainError,
    Reading,
    column_groups,
    expansion_of,
    group_matrix,
    has_variance,
    q2_reasons,
)

# Correlation of embedded inputs that is rounding, or nearly: components of a PCA.
_UNCORRELATED = 0.05

_RETAINED = 0.5  # part of its own move below which a feature is worth a caution

# Departure from an affine map that is rounding, relative to the spread of the output.
_TOLERANCE = 1e-6
_LARGEST_TABLE = 2**22  # entries of a table of moved rows


def back_to_reward(
    pipeline: Any,
    X: Any,
    *,
    groups: Mapping[str, Any] | None = None,
    outputs: OutputGroups = None,
) -> Result:
    r"""Say on which entries of the reward an expansion of embedded inputs depends.

    The inputs of the expansion are components; what a reader knows are the yields of
    reactions, fragments or problems. Their columns are moved before the embedding.

    Parameters
    ----------
    pipeline : fitted estimator
        A Pipeline of any transformers and :class:`skpce.PolynomialChaosRegressor` or
        :class:`skpce.CompositionalPCESurrogate` (whose steps are the targets), or a
        fitted search over one. Not changed.
    X : array-like or data frame of shape (n_samples, n_features)
        Rewards before the embedding, one row a member: usually those of ``fit``. More
        draws of the same distribution make the figures sharper.
    groups : mapping of str to columns, or None, default=None
        Columns, by position or by name, that move together, such as all reactions of
        one catalyst. Groups may overlap and leave columns out. None: each column.
    outputs : dict or None, default=None
        Columns of real outputs that belong together, such as
        ``{"accuracy": 1, "logits": 10}``; None takes those of the names of y in
        ``fit``.

    Returns
    -------
    effects : Result
        A table of targets and features (columns of X or groups of them).
        ``effect_frame()`` is one of the signed changes, with one row per action (or
        output) and feature. Its attributes, beside ``cautions`` (what weakens the
        reading):

        share, share_standard_error : ndarray of shape (n_targets, n_features)
            Covariance of the part of a column with the prediction, over the variance
            of the prediction, and its sampling error, for X is a sample of rewards.
            Signed; with an expansion of degree 1 and every column in one group, the
            shares add up to one.
        variance_share, variance_share_standard_error : ndarray
            Variance of the prediction when the column varies as in X and all others
            stay at their mean, over the variance of the prediction.
        explained_alone : ndarray of shape (n_targets, n_features) or None
            Share of the variance of the prediction that the column alone explains,
            by itself and by what goes with it. None for groups.
        effect_size : ndarray of shape (n_targets, n_features)
            Length of the change of the log-ratios of a step (or of an output) when
            the column rises by one standard deviation; NaN where the embedding has no
            value for the rows so moved.
        effect : ndarray of shape (n_rows, n_features)
            The same change, signed, of each centred log-ratio or output; the names of
            the rows are ``row_names``, such as ``catalyst:L1``, and their targets
            ``row_targets``.
        retained : ndarray of shape (n_features,)
            Part of a move of the column alone that the embedding retains, in [0, 1]
            for a PCA; NaN where it is not affine.
        predicted_variance : ndarray of shape (n_targets,)
            Variance of the prediction over the rows of X.
        unexplained : ndarray of shape (n_targets,)
            One minus the leave-one-out Q²: what no column explains.
        linear : bool
            Whether the embedding is affine, so that loadings gave the figures.

    Raises
    ------
    ValueError
        If the estimator does not end in an expansion, or X or the groups are bad.
    NotFittedError
        If the pipeline is not fitted.

    See Also
    --------
    dependent_sobol_indices : Kucherenko indices and Shapley effects of groups.
    skpce.plotting.RewardEffectsDisplay : Draws them.

    Notes
    -----
    With the prediction :math:`f`, the mean row :math:`\bar x` and the move
    :math:`f_g(x) = f(\bar x_{-g}, x_g)` of a group of columns,

    .. math:: \text{variance share}_g = \frac{\mathrm{Var} f_g}{\mathrm{Var} f},
        \qquad \text{share}_g = \frac{\mathrm{Cov}(f_g, f)}{\mathrm{Var} f},

    over the rows of X. Entries of a reward rise and fall together, so that each of
    thousands can have a variance share near zero; ``share`` gives each its part of the
    whole, as in the covariance decomposition [1]_. It is negative where the rest of the
    reward makes up for the group. What a partition lacks of one is interaction.

    ``explained_alone`` is the first-order index in X: for uncorrelated normal inputs
    behind an affine embedding in closed form, with what the embedding drops as noise,
    else the fit of a cubic to the rows.

    The effect of a group is the mean of :math:`\{f(x + s_g) - f(x - s_g)\} / 2`, with
    :math:`s_g` one standard deviation of each of its columns. An affine embedding is
    moved by its loadings; any other one transforms the moved rows.

    A few components of thousands of entries retain next to nothing of one entry alone,
    however well they predict: the entry then stands for what rises and falls with it,
    and solving again with that one entry changed is another question.

    All figures describe the *prediction*; times Q² they are shares of the variance
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
    >>> linear = PolynomialChaosRegressor(1, solver="ridge", distribution="normal")
    >>> pipeline = make_pipeline(PCA(2), linear)
    >>> found = back_to_reward(pipeline.fit(X, source[:, 0]), X)
    >>> found.share.round(2) + 0.0
    array([[0.33, 0.33, 0.33, 0.  ]])
    >>> found.variance_share.round(2), found.effect.round(2) + 0.0
    (array([[0.11, 0.11, 0.11, 0.  ]]), array([[0.32, 0.32, 0.32, 0.  ]]))
    >>> parts = {"first": [0, 1, 2], "second": 3}
    >>> back_to_reward(pipeline, X, groups=parts).share.round(2) + 0.0
    array([[1., 0.]])
    """
    return effects_of(expansion_of(pipeline, X, outputs=outputs), groups)


def effects_of(reading: Reading, groups: Any) -> Result:
    """Return the effects of the columns of X on the outputs of a fit."""
    refuse_categories(reading.expansion)
    expansion = reading.expansion
    names = reading.rows.names
    players = column_groups(groups, names, overlapping=True)
    moved = MovedColumns(reading)
    shares = _shares(moved, list(players.values()))
    effect = np.column_stack([moved.raised(columns) for columns in players.values()])
    retained = np.array([moved.retained(columns) for columns in players.values()])
    group = group_matrix(expansion)
    cautions = _cautions(retained, effect, list(players))
    unexplained = 1.0 - np.clip(expansion.q2, 0.0, 1.0)
    how = "by moving columns" if moved.slopes is None else "by loadings"
    table = table_of_targets(
        expansion.group_names,
        tuple(players),
        {
            **shares,
            "effect_size": np.sqrt(group @ np.square(effect)),
            "retained": retained[np.newaxis],
            "explained_alone": moved.explained_alone() if groups is None else None,
        },
        q2_reasons(expansion),
        [f"{how}, leave-one-out Q² = {1.0 - rest:.2f}" for rest in unexplained],
        printed=("share", "share_standard_error", "variance_share", "effect_size"),
        notes=cautions_in_words(cautions),
        retained=retained,
        effect=effect,
        row_names=expansion.output_names,
        row_targets=group.argmax(axis=0),
        predicted_variance=group @ moved.values.var(axis=0) * has_variance(expansion),
        unexplained=unexplained,
        linear=moved.slopes is not None,
        cautions=cautions,
    )
    signed = Result(
        {"row": table.row_names, "feature": table.feature_names},
        {
            "target": np.array(table.target_names, dtype=object)[table.row_targets],
            "effect": effect,
        },
        supported=tuple(np.array(table.supported)[table.row_targets].tolist()),
        framed=("target", "row", "feature", "effect", "supported"),
    )
    return replace(table, tables={"effect": signed})


def _cautions(
    retained: FloatArray,  # shape: (n_features,)
    effect: FloatArray,  # shape: (n_rows, n_features)
    names: list[str],
) -> tuple[str, ...]:
    """Say of which features the embedding does not see what they do alone."""
    found = []
    faint = np.flatnonzero(retained < _RETAINED)
    if faint.size:
        found.append(
            f"the embedding retains less than half of a move of {faint.size} of "
            f"{len(names)} features on their own ({_first(faint, names)}): their "
            "figures follow what goes with them, and a policy solved again with such "
            "a move can differ"
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
    shown = ", ".join(names[i] for i in chosen[:3])
    return f"{shown}, ..." if chosen.size > 3 else shown


def _shares(moved: MovedColumns, players: list[list[int]]) -> dict[str, FloatArray]:
    """Return both shares of each group, with the standard errors of the ratios."""
    group = group_matrix(moved.reading.expansion)
    varies = has_variance(moved.reading.expansion)
    centred = moved.values - moved.values.mean(axis=0)
    whole = np.where(varies, np.square(centred) @ group.T, 0.0)
    found: dict[str, list[FloatArray]] = {}
    for columns in players:
        part = moved.alone(columns)
        part = part - part.mean(axis=0)
        for name, product in (("share", part * centred), ("variance_share", part**2)):
            ratio, error = ratio_of_means(product @ group.T, whole)
            found.setdefault(name, []).append(ratio)
            found.setdefault(f"{name}_standard_error", []).append(error)
    return {name: np.column_stack(values) for name, values in found.items()}


_CURVE_DEGREE = 3  # degree of the curve of the prediction against one column


@dataclass(frozen=True)
class MovedColumns:
    """Predictions at rows of X of which some columns moved."""

    reading: Reading

    @cached_property
    def slopes(self) -> FloatArray | None:  # shape: (n_features, n_inputs)
        """Slopes of the embedding; None where it is not affine on the rows of X."""
        X, Z = self.reading.rows.values, self.latent
        if len(X) < Z.shape[1] + 2:
            return None
        moves = np.where(self.scale > 0, self.scale, 1.0)
        size = max(1, _LARGEST_TABLE // len(moves) - 1)
        found = []
        try:
            centre = self.reading.latent(self.mean[np.newaxis])
            for start in range(0, len(moves), size):
                own = np.arange(start, min(start + size, len(moves)))
                rows = np.tile(self.mean, (len(own), 1))
                rows[np.arange(len(own)), own] += moves[own]
                change = self.reading.latent(rows) - centre
                found.append(change / moves[own, np.newaxis])
        except ValueError:  # of a step that takes no such rows: no failure here
            return None
        slopes = np.vstack(found)
        rounding = _TOLERANCE * np.abs(Z - centre).max(axis=0)
        rounding += 1e-12 * np.abs(Z).max(axis=0)
        error = np.abs(Z - centre - (X - self.mean) @ slopes).max(axis=0)
        return None if np.any(error > rounding) else slopes

    @cached_property
    def mean(self) -> FloatArray:  # shape: (n_features,)
        """Mean of each column of X."""
        return self.reading.rows.values.mean(axis=0)

    @cached_property
    def scale(self) -> FloatArray:  # shape: (n_features,)
        """Standard deviation of each column of X."""
        return self.reading.rows.values.std(axis=0)

    @cached_property
    def latent(self) -> FloatArray:  # shape: (n_samples, n_inputs)
        """Embedded rows of X."""
        return self.reading.latent(self.reading.rows.values)

    @cached_property
    def values(self) -> FloatArray:  # shape: (n_samples, n_rows)
        """Predictions at the rows of X."""
        return self.reading.at_latent(self.latent)

    def alone(self, columns: list[int]) -> FloatArray:  # shape: (n_samples, n_rows)
        """Predict where these columns are those of X, and all others their mean."""
        X = self.reading.rows.values
        if self.slopes is not None:
            moved = (X[:, columns] - self.mean[columns]) @ self.slopes[columns]
            return self.reading.at_latent(self.latent.mean(axis=0) + moved)
        rows = np.tile(self.mean, (len(X), 1))
        rows[:, columns] = X[:, columns]
        return self.reading(rows)

    def raised(self, columns: list[int]) -> FloatArray:  # shape: (n_rows,)
        """Return half the mean change from one deviation below to one above."""
        if self.slopes is not None:
            step = self.scale[columns] @ self.slopes[columns]
            high, low = (self.latent + sign * step for sign in (1.0, -1.0))
            change = self.reading.at_latent(high) - self.reading.at_latent(low)
        else:
            step = np.zeros_like(self.mean)
            step[columns] = self.scale[columns]
            X = self.reading.rows.values
            try:
                change = self.reading(X + step) - self.reading(X - step)
            except OutsideDomainError:
                return np.full(self.values.shape[1], np.nan)
        return 0.5 * change.mean(axis=0)

    @cached_property
    def back(self) -> FloatArray:  # shape: (n_inputs, n_features)
        """Least-squares slopes of the columns of X on the embedded inputs."""
        Z, spread = self.latent, self.latent.std(axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        standard = (Z - Z.mean(axis=0)) / spread
        rows = self.reading.rows.values - self.mean
        found = np.linalg.lstsq(standard, rows, rcond=1e-10)[0]
        return found / spread[:, np.newaxis]

    def retained(self, columns: list[int]) -> float:
        """Return the part of the move s of columns that is seen: (s W) A s / s s."""
        step = self.scale[columns]
        whole = float(step @ step)
        if self.slopes is None or whole == 0.0:
            return float("nan")
        return float(step @ self.slopes[columns] @ self.back[:, columns] @ step) / whole

    def explained_alone(self) -> FloatArray:  # shape: (n_groups, n_features)
        """Return the first-order indices of the columns: closed, else of a cubic."""
        expansion = self.reading.expansion
        group, varies = group_matrix(expansion), has_variance(expansion)
        normal = all(isinstance(law, NormalLaw) for law in expansion.basis.laws)
        uncorrelated = not largest_correlation(self.latent) > _UNCORRELATED
        if self.slopes is not None and normal and uncorrelated:
            listed = expansion.basis.with_terms
            basis, coefficients = listed.without_waves(expansion.coefficients)
            X, Z = self.reading.rows.values, self.latent
            cross = (X - self.mean).T @ (Z - Z.mean(axis=0)) / len(X)
            scale = np.outer(self.scale, Z.std(axis=0))
            correlations = cross / np.where(scale > 0, scale, 1.0)
            terms = coefficients, basis.multi_indices
            parts = variance_along(*terms, correlations)
            whole = expansion.total_variance * varies
        else:  # the variance that a cubic in one column explains, less chance
            X, values = self.reading.rows.values, self.values
            parts = np.zeros((values.shape[1], X.shape[1]))
            for i in np.flatnonzero(self.scale > 0):
                column = (X[:, i] - self.mean[i]) / self.scale[i]
                degree = min(_CURVE_DEGREE, len(np.unique(column)) - 1)
                if len(X) <= degree + 2:
                    continue
                frame, _ = np.linalg.qr(column[:, np.newaxis] ** np.arange(degree + 1))
                left = np.square(values - frame @ (frame.T @ values)).sum(axis=0)
                noise = left / (len(X) - degree - 1)
                parts[:, i] = values.var(axis=0, ddof=1) - noise
            whole = group @ self.values.var(axis=0, ddof=1) * varies
        return group @ parts / np.where(whole > 0, whole, np.inf)[:, np.newaxis]
