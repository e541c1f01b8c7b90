"""What ``back_to_reward`` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks import FloatArray, import_pandas
from ._tidy_result import TidyResult


@dataclass(frozen=True, repr=False)
class RewardEffects(TidyResult):
    """What entries of a reward, or groups of them, do to each decision.

    Parameters
    ----------
    feature_names, target_names : tuple of str
        Columns of X or groups of them, and steps or outputs.
    share : ndarray of shape (n_targets, n_features)
        Covariance of the part of a column with the prediction, over the variance of
        the prediction. Signed; with an expansion of degree 1 and every column in one
        group, the shares add up to one.
    share_standard_error : ndarray of shape (n_targets, n_features)
        Sampling error, for X is a sample of rewards.
    driven : ndarray of shape (n_targets, n_features)
        Variance of the prediction when the column varies as in X and all others stay
        at their mean, over the variance of the prediction.
    driven_standard_error : ndarray of shape (n_targets, n_features)
        Sampling error.
    told : ndarray of shape (n_targets, n_features) or None
        Share of the variance of the prediction that the column alone tells, by what
        it drives and by what goes with it. None for groups.
    effect_size : ndarray of shape (n_targets, n_features)
        Length of the change of the log-ratios of a step (or of an output) when the
        column rises by one standard deviation; NaN where the embedding has no value
        for the rows so moved.
    effect : ndarray of shape (n_rows, n_features)
        The same change, signed, of each centred log-ratio or output.
    kept : ndarray of shape (n_features,)
        Part of a move of the column alone that the embedding sees, in [0, 1] for a
        PCA; NaN where it is not affine.
    row_names : tuple of str
        Of the rows of ``effect``, such as ``catalyst:L1``.
    row_targets : ndarray of int of shape (n_rows,)
        Target of each row.
    latent_names : tuple of str
        Inputs of the expansion.
    latent_total_order : ndarray of shape (n_targets, n_latent)
        Total Sobol index of each input of the expansion.
    loading : ndarray of shape (n_columns, n_latent)
        Correlation of each column of X with each of them.
    column_names : tuple of str
        Columns of X.
    predicted_variance : ndarray of shape (n_targets,)
        Variance of the prediction over the rows of X.
    unexplained : ndarray of shape (n_targets,)
        One minus the leave-one-out Q²: what no column drives.
    linear : bool
        Whether the embedding is affine, so that loadings gave the figures.
    supported : tuple of bool
        One flag per target.
    reasons : tuple of tuple of str
        Each condition that failed, per target.
    cautions : tuple of str
        What weakens the reading.
    """

    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    share: FloatArray
    share_standard_error: FloatArray
    driven: FloatArray
    driven_standard_error: FloatArray
    told: FloatArray | None
    effect_size: FloatArray
    effect: FloatArray
    kept: FloatArray
    row_names: tuple[str, ...]
    row_targets: NDArray[np.int64]
    latent_names: tuple[str, ...]
    latent_total_order: FloatArray
    loading: FloatArray
    column_names: tuple[str, ...]
    predicted_variance: FloatArray
    unexplained: FloatArray
    linear: bool
    supported: tuple[bool, ...]
    reasons: tuple[tuple[str, ...], ...]
    cautions: tuple[str, ...]

    def _columns(self) -> dict[str, FloatArray]:
        columns = {
            "share": self.share,
            "share_standard_error": self.share_standard_error,
            "driven": self.driven,
            "driven_standard_error": self.driven_standard_error,
            "effect_size": self.effect_size,
            "kept": self.kept[np.newaxis],
        }
        if self.told is not None:
            columns["told"] = self.told
        return columns

    def _printed_columns(self) -> dict[str, FloatArray]:
        names = ("share", "share_standard_error", "driven", "effect_size")
        return {name: getattr(self, name) for name in names}

    def _facts(self, target: int) -> str:
        how = "by loadings" if self.linear else "by moving columns"
        return f"{how}, leave-one-out Q² = {1.0 - self.unexplained[target]:.2f}"

    def _notes(self) -> tuple[str, ...]:
        return tuple(f"Caution: {caution}." for caution in self.cautions)

    def effect_frame(self) -> Any:
        """Return one row per action (or output) and feature, with signed changes.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``target``, ``row``, ``feature``, ``effect`` and ``supported``.
            Needs pandas.
        """
        n_features = len(self.feature_names)
        targets = np.array(self.target_names, dtype=object)[self.row_targets]
        flags = np.array(self.supported)[self.row_targets]
        rows = np.array(self.row_names, dtype=object)
        features = np.array(self.feature_names, dtype=object)
        return import_pandas().DataFrame(
            {
                "target": np.repeat(targets, n_features),
                "row": np.repeat(rows, n_features),
                "feature": np.tile(features, len(rows)),
                "effect": self.effect.ravel(),
                "supported": np.repeat(flags, n_features),
            }
        )

    def latent_frame(self) -> Any:
        """Return one row per target, input of the expansion and column of X.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``target``, ``latent``, ``latent_total_order``, ``column`` and
            ``loading``. Needs pandas.
        """
        n_targets, n_latent = self.latent_total_order.shape
        n_columns = len(self.column_names)
        names = np.array(self.target_names, dtype=object)
        latent = np.array(self.latent_names, dtype=object)
        columns = np.array(self.column_names, dtype=object)
        return import_pandas().DataFrame(
            {
                "target": np.repeat(names, n_latent * n_columns),
                "latent": np.tile(np.repeat(latent, n_columns), n_targets),
                "latent_total_order": np.repeat(
                    self.latent_total_order.ravel(), n_columns
                ),
                "column": np.tile(columns, n_targets * n_latent),
                "loading": np.tile(self.loading.T.ravel(), n_targets),
            }
        )
