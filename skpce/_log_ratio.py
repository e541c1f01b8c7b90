"""Log-ratio coordinates as a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ._checks import BoolArray, FloatArray, check_option, check_real, input_names
from ._composition import (
    CLOSURES,
    close_compositions,
    refuse_masked,
    refuse_negative,
    replace_zeros,
    resolve_mask,
)
from ._log_ratio_geometry import LOG_RATIOS, LogRatioGeometry
from ._steps import StepLayout, refuse_ragged, resolve_layout


def check_log_ratio_parameters(
    owner: str,
    *,
    log_ratio: Any,
    reference: Any,
    zero_replacement: Any,
    closure: Any,
    layout: StepLayout | None = None,
) -> None:
    """Raise ``ValueError`` for a bad parameter of the log-ratio transform."""
    check_option(owner, "log_ratio", log_ratio, LOG_RATIOS)
    check_option(owner, "closure", closure, CLOSURES)
    is_integer = isinstance(reference, (int, np.integer))
    if not is_integer or isinstance(reference, bool):
        raise ValueError(
            f"The 'reference' parameter of {owner} must be an int: the position of "
            f"the reference part in each step. Got {reference!r} instead."
        )
    check_real(owner, "zero_replacement", zero_replacement, low=0, high=1)
    if layout is None:
        return
    narrowest, widest = min(layout.widths), max(layout.widths)
    if not -narrowest <= reference < narrowest:
        raise ValueError(
            f"The 'reference' parameter of {owner} must be in [-{narrowest}, "
            f"{narrowest}), a part of the narrowest step. Got {reference!r} instead."
        )
    if zero_replacement * widest >= 1:
        raise ValueError(
            f"The 'zero_replacement' parameter of {owner} must be below 1/{widest}, "
            f"so that a step with zeros keeps a positive part. Got "
            f"{zero_replacement!r} instead."
        )


class LogRatioCoordinatesMixin:
    """What estimators with log-ratio coordinates share."""

    log_ratio: Any
    reference: Any
    zero_replacement: Any
    closure: Any
    geometry_: LogRatioGeometry

    def _log_ratio_parameters(self) -> dict[str, Any]:
        return {
            "log_ratio": self.log_ratio,
            "reference": self.reference,
            "zero_replacement": self.zero_replacement,
            "closure": self.closure,
        }

    def inverse_transform(self, X: ArrayLike) -> FloatArray:
        """Map coordinates back to probabilities.

        Parameters
        ----------
        X : array-like of shape (n_members, n_coordinates)
            Log-ratio coordinates; any real values.

        Returns
        -------
        y : ndarray of shape (n_members, n_parts)
            Each step on its simplex; masked parts exactly 0.

        Raises
        ------
        ValueError
            If the number of columns is not the number of coordinates.
        """
        check_is_fitted(self)
        coordinates = checked_coordinates(X, self.geometry_)
        return self.geometry_.compositions(self.geometry_.from_coordinates(coordinates))

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> NDArray[np.object_]:
        """Return names such as ``catalyst:L1/L4``.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Only checked against the names seen in ``fit``.

        Returns
        -------
        names : ndarray of str of shape (n_coordinates,)
            One per coordinate.
        """
        check_is_fitted(self)
        input_names(self, input_features)
        return np.asarray(self.geometry_.coordinate_names, dtype=object)


class LogRatioTransformer(LogRatioCoordinatesMixin, TransformerMixin, BaseEstimator):
    r"""Log-ratio coordinates of probabilities, step by step.

    Each step is a block of columns that sums to one. Rows are closed, zeros are
    replaced, and every step is mapped to unconstrained coordinates: additive
    (``"alr"``), centred (``"clr"``) or isometric (``"ilr"``) log-ratios [1]_ [2]_.

    Parameters
    ----------
    log_ratio : {"alr", "clr", "ilr"}, default="ilr"
        Kind of the coordinates. ilr is an isometry: distances do not depend on the
        order of the parts. alr values and variances depend on the reference.
    steps : sequence, dict, or None, default=None
        Width of each step, or its columns (positions, or names in a data frame); a
        dict gives names too. None reads two-level columns or
        names such as ``step__action`` of a data frame, else one step.
    reference : int, default=-1
        Position of the reference part of alr in each step. Where it is masked, the
        last possible part takes its place.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 for
        every member; give the mask itself when columns may vanish by chance (in
        cross-validation) or by underflow.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part.
    closure : {"renormalize", "strict"}, default="renormalize"
        Divide each row of each step by its sum (with a :class:`ClosureWarning`
        above 1e-3; a row of zeros becomes uniform), or refuse rows further than
        1e-6 from one.

    Attributes
    ----------
    steps_ : tuple of int
        Width of each step.
    step_names_, part_names_ : tuple of str
        One name per step and per column.
    mask_ : ndarray of bool of shape (n_parts,)
        True where a part is possible.
    coordinate_steps_ : ndarray of int of shape (n_coordinates,)
        Step of each coordinate.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, when all of them are strings.

    See Also
    --------
    CompositionalPCESurrogate : Predicts such probabilities from inputs.

    References
    ----------
    .. [1] J. Aitchison, "The Statistical Analysis of Compositional Data", Journal
       of the Royal Statistical Society B 44 (1982).
    .. [2] J. J. Egozcue et al., "Isometric logratio transformations for
       compositional data analysis", Mathematical Geology 35 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce import LogRatioTransformer
    >>> y = np.array([[0.5, 0.25, 0.25, 0.9, 0.1], [0.2, 0.2, 0.6, 0.5, 0.5]])
    >>> alr = LogRatioTransformer("alr", steps=(3, 2)).fit(y)
    >>> alr.transform(y).round(3) + 0.0
    array([[ 0.693,  0.   ,  2.197],
           [-1.099, -1.099,  0.   ]])
    >>> np.allclose(alr.inverse_transform(alr.transform(y)), y)
    True
    """

    def __init__(
        self,
        log_ratio: str = "ilr",
        *,
        steps: Any = None,
        reference: int = -1,
        mask: Any = "infer",
        zero_replacement: float = 1e-12,
        closure: str = "renormalize",
    ) -> None:
        self.log_ratio = log_ratio
        self.steps = steps
        self.reference = reference
        self.mask = mask
        self.zero_replacement = zero_replacement
        self.closure = closure

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> LogRatioTransformer:
        """Learn the layout of the steps and the mask.

        Parameters
        ----------
        X : array-like of shape (n_members, n_parts)
            Probabilities, the steps side by side.
        y : None
            Ignored.

        Returns
        -------
        self : LogRatioTransformer
            The fitted transformer.

        Raises
        ------
        ValueError
            For a bad parameter, or rows that are no compositions.
        """
        owner = type(self).__name__
        check_log_ratio_parameters(owner, **self._log_ratio_parameters())
        refuse_ragged(X, "X")
        values = validate_data(self, X, dtype=np.float64)
        layout = resolve_layout(X, self.steps, values.shape[1], owner)
        check_log_ratio_parameters(owner, **self._log_ratio_parameters(), layout=layout)
        refuse_negative(values, layout, "X")
        mask = resolve_mask(self.mask, values, layout, owner)
        close_compositions(values, layout, self.closure, "X", zero_rows_to=mask)
        refuse_masked(values, mask, layout, "X")
        self.geometry_: LogRatioGeometry = LogRatioGeometry(
            layout, mask, self.log_ratio, int(self.reference)
        )
        self.steps_: tuple[int, ...] = layout.widths
        self.step_names_: tuple[str, ...] = layout.step_names
        self.part_names_: tuple[str, ...] = layout.part_names
        self.mask_ = mask
        self.coordinate_steps_: NDArray[np.int64] = self.geometry_.step_of_coordinate
        self._n_features_out = self.geometry_.n_coordinates
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Return log-ratio coordinates.

        Parameters
        ----------
        X : array-like of shape (n_members, n_parts)
            Probabilities.

        Returns
        -------
        coordinates : ndarray of shape (n_members, n_coordinates)
            The steps side by side.
        """
        check_is_fitted(self)
        refuse_ragged(X, "X")
        values = validate_data(self, X, dtype=np.float64, reset=False)
        clr = log_ratios_of(
            values,
            self.geometry_,
            closure=self.closure,
            zero_replacement=self.zero_replacement,
            name="X",
            zero_rows_to=self.mask_,
        )
        return self.geometry_.to_coordinates(clr)


def log_ratios_of(
    values: FloatArray,  # shape: (n_members, n_parts)
    geometry: LogRatioGeometry,
    *,
    closure: str,
    zero_replacement: float,
    name: str,
    zero_rows_to: BoolArray | None = None,
) -> FloatArray:  # shape: (n_members, n_active)
    """Close, refuse masked parts, replace zeros, and take centred log-ratios."""
    closed = close_compositions(
        values, geometry.layout, closure, name, zero_rows_to=zero_rows_to
    )
    refuse_masked(closed, geometry.mask, geometry.layout, name)
    positive = replace_zeros(closed, geometry.mask, geometry.layout, zero_replacement)
    return geometry.clr(positive)


def checked_coordinates(X: ArrayLike, geometry: LogRatioGeometry) -> FloatArray:
    """Return coordinates as an array of the right width."""
    coordinates = np.asarray(X, dtype=np.float64)
    if coordinates.ndim != 2 or coordinates.shape[1] != geometry.n_coordinates:
        raise ValueError(
            f"X has shape {coordinates.shape}; expected (n_members, "
            f"{geometry.n_coordinates}) {geometry.log_ratio} coordinates."
        )
    return coordinates
