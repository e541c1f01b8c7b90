"""Log-ratio coordinates of compositions, step by step, and their transformer.

Masked parts take no part in any of them, and a step with one possible part has no
coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    BoolArray,
    Fitted,
    FloatArray,
    IndexArray,
    Mask,
    Steps,
    as_floats,
    check_option,
    check_real,
    fail,
    input_names,
    method_of,
    one_table,
    refuse_class_labels,
    refuse_extremes,
    refuse_nan,
    refuse_not_finite,
    validated,
)
from .._version import DOC_LINK_TEMPLATE
from .steps import (
    StepLayout,
    close_compositions,
    refuse_failed_in_part,
    refuse_masked,
    replace_zeros,
    resolve_layout,
    resolve_mask,
)

LOG_RATIOS = ("alr", "clr", "ilr")


def transformer_of(estimator: Any) -> LogRatioTransformer:
    """Return how an estimator takes log-ratios: by its ``log_ratio``."""
    given = estimator.log_ratio
    if not isinstance(given, LogRatioTransformer):
        return LogRatioTransformer(given)
    has_mask = not (isinstance(given.mask, str) and given.mask == "infer")
    if given.steps is not None or has_mask:
        expected = (
            "a LogRatioTransformer without steps and mask, given to the estimator"
        )
        raise fail(type(estimator).__name__, "log_ratio", expected, given)
    return given


def read_geometry(
    y: Any,  # may have names of columns
    values: FloatArray,  # shape: (n_members, n_parts)
    steps: Steps,
    mask: Mask,
    owner: str,
    name: str,
    how: LogRatioTransformer | None = None,  # whose coordinates; None: centred ones
) -> LogRatioGeometry:
    """Read the steps and the mask of a table of numbers."""
    layout = resolve_layout(y, steps, values.shape[1], owner, name=name)
    if not np.isfinite(values).all():
        refuse_failed_in_part(values, layout, name)
        count = (~layout.failed(values)).sum(axis=0)
        if count.min() < 2:
            step = layout.step_names[int(count.argmin())]
            raise ValueError(
                f"{count.min()} of {len(values)} members have step {step!r} of {name}, "
                "which is NaN for the others; expected two or more. Leave the step out."
            )
    flags = resolve_mask(mask, values, layout, owner, name)
    if how is None:
        return LogRatioGeometry(layout, flags, "clr", -1)
    how._check_parameters(owner, layout)
    return LogRatioGeometry(layout, flags, how.log_ratio, int(how.reference))


def inverse_transform(geometry: LogRatioGeometry, X: ArrayLike) -> FloatArray:
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
    coordinates = as_floats(X, "X")
    refuse_not_finite(coordinates, "X")
    refuse_extremes(coordinates, "X")
    if coordinates.ndim != 2 or coordinates.shape[1] != geometry.n_coordinates:
        raise ValueError(
            f"X has shape {coordinates.shape}; expected (n_members, "
            f"{geometry.n_coordinates}) {geometry.log_ratio} coordinates."
        )
    return geometry.compositions(geometry.from_coordinates(coordinates))


def get_feature_names_out(
    self: Any, input_features: ArrayLike | None = None
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


class LogRatioTransformer(TransformerMixin, BaseEstimator):
    r"""Log-ratio coordinates of probabilities, step by step.

    Each step is a block of columns that sums to one. Rows are closed, zeros are
    replaced, and every step is mapped to unconstrained coordinates: additive
    (``"alr"``), centred (``"clr"``) or isometric (``"ilr"``) log-ratios. All are linear
    images of :math:`\mathrm{clr}_k = \log p_k - K^{-1} \sum_l \log p_l` [1]_: alr is
    :math:`\mathrm{clr}_k - \mathrm{clr}_r` for a reference part :math:`r`, and ilr
    :math:`H\,\mathrm{clr}` with the Helmert matrix :math:`H`, an isometry [2]_.

    In exact arithmetic, and but for zeros that are replaced, coordinates (clr that sum
    to zero) and probabilities are inverse, masks included; the variances of all
    coordinates of a step sum to the same in every isometry, and to this and :math:`K`
    times that of the reference in alr; and logits whose differences have the range r
    have probabilities that are at most :math:`2\tanh(r/4)` apart in the sum of absolute
    values. Checked in ``lean/Core``: ``softmax_simplex``, ``softmax_of_log_ratio``,
    ``log_ratio_of_softmax``, ``softmax_eq_iff``, ``masked_softmax``, ``ilr_inverse``,
    ``ilr_total``, ``alr_total``, ``softmax_lipschitz``.

    Parameters
    ----------
    log_ratio : {"alr", "clr", "ilr"}, default="ilr"
        Kind of the coordinates. ilr is an isometry: distances do not depend on the
        order of the parts. alr values and variances depend on the reference.
    steps : sequence, dict, or None, default=None
        The blocks of columns, as in :class:`CompositionalPCESurrogate`.
    reference : int, default=-1
        Position of the reference part of alr in each step. Where it is masked, the
        last possible part takes its place.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 for
        every member; give the mask itself when columns may vanish by chance (in
        cross-validation) or by underflow.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part.

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
    .. [2] J. J. Egozcue, V. Pawlowsky-Glahn, G. Mateu-Figueras and C. Barceló-Vidal,
       "Isometric logratio transformations for compositional data analysis",
       Mathematical Geology 35 (2003).

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

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        log_ratio: str = "ilr",
        *,
        steps: Steps = None,
        reference: int = -1,
        mask: Mask = "infer",
        zero_replacement: float = 1e-12,
    ) -> None:
        self.log_ratio = log_ratio
        self.steps = steps
        self.reference = reference
        self.mask = mask
        self.zero_replacement = zero_replacement

    def _check_parameters(self, owner: str, layout: StepLayout | None = None) -> None:
        """Raise ``ValueError`` for a bad parameter, of ``owner`` in words."""
        check_option(owner, "log_ratio", self.log_ratio, LOG_RATIOS)
        reference = self.reference
        is_integer = isinstance(reference, (int, np.integer))
        if not is_integer or isinstance(reference, bool):
            expected = "an int: the position of the reference part in each step"
            raise fail(owner, "reference", expected, reference)
        check_real(owner, "zero_replacement", self.zero_replacement, low=0, high=1)
        if layout is None:
            return
        narrowest, widest = min(layout.widths), max(layout.widths)
        if not -narrowest <= reference < narrowest:
            expected = f"in [-{narrowest}, {narrowest}), a part of the narrowest step"
            raise fail(owner, "reference", expected, reference)
        if self.zero_replacement * widest >= 1:
            expected = (
                f"below 1/{widest}, so that a step with zeros retains a positive part"
            )
            raise fail(owner, "zero_replacement", expected, self.zero_replacement)

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
        self._check_parameters(owner)
        X = one_table(X, "X")
        values = validated(self, X)
        geometry = read_geometry(X, values, self.steps, self.mask, owner, "X", self)
        log_ratios_of(values, geometry, self, "X", zero_rows_to=geometry.mask)
        self.geometry_: LogRatioGeometry = geometry
        self._n_features_out = geometry.n_coordinates
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
        values = validated(self, one_table(X, "X"), reset=False)
        clr = log_ratios_of(values, self.geometry_, self, "X", zero_rows_to=self.mask_)
        return self.geometry_.to_coordinates(clr)

    get_feature_names_out = get_feature_names_out
    inverse_transform = method_of("geometry_", inverse_transform, inputs=None)

    steps_: Fitted[tuple[int, ...]] = Fitted("geometry_", lambda g: g.layout.widths)
    step_names_: Fitted[tuple[str, ...]] = Fitted(
        "geometry_", lambda g: g.layout.step_names
    )
    part_names_: Fitted[tuple[str, ...]] = Fitted(
        "geometry_", lambda g: g.layout.part_names
    )
    mask_: Fitted[BoolArray] = Fitted("geometry_", lambda g: g.mask)
    coordinate_steps_: Fitted[IndexArray] = Fitted(
        "geometry_", lambda g: g.step_of_coordinate
    )


def log_ratios_of(
    values: FloatArray,  # shape: (n_members, n_parts)
    geometry: LogRatioGeometry,
    how: LogRatioTransformer,
    name: str,
    *,
    zero_rows_to: BoolArray | None = None,
) -> FloatArray:  # shape: (n_members, n_active)
    """Close, refuse masked parts, replace zeros, and take centred log-ratios."""
    layout = geometry.layout
    closed = close_compositions(values, layout, name, zero_rows_to=zero_rows_to)
    refuse_masked(closed, geometry.mask, layout, name)
    positive = replace_zeros(closed, geometry.mask, layout, how.zero_replacement)
    return geometry.clr(positive)


def composition_geometry(
    y: Any,
    steps: Steps,
    mask: Mask,
    owner: str,
    name: str = "y",
    *,
    may_fail: bool = False,  # whether members may have NaN in a whole step
) -> LogRatioGeometry:
    """Read the steps and the mask of a table of compositions."""
    y = one_table(y, name)
    if not may_fail:
        refuse_nan(y, name)
    values = as_floats(y, name)
    refuse_class_labels(values, name)
    if values.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, (n_members, n_parts): the probabilities of each "
            f"member, its steps side by side. Got shape {values.shape}. If these are "
            "class labels, give the predict_proba of each member; if they are the "
            "probabilities of one of two classes, np.column_stack([1 - y, y])."
        )
    refuse_extremes(np.where(np.isfinite(values), values, 0.0), name)
    return read_geometry(y, values, steps, mask, owner, name)


def clr_of(
    y: Any, geometry: LogRatioGeometry, zero_replacement: float, name: str
) -> FloatArray:
    """Return the centred log-ratios of a table of compositions."""
    values = as_floats(one_table(y, name), name)
    if values.ndim != 2 or values.shape[1] != geometry.layout.n_parts:
        raise ValueError(
            f"{name} has shape {values.shape}; expected (n_members, "
            f"{geometry.layout.n_parts})."
        )
    how = LogRatioTransformer(zero_replacement=zero_replacement)
    return log_ratios_of(values, geometry, how, name)


def sum_by_step(per_active: FloatArray, geometry: LogRatioGeometry) -> FloatArray:
    """Add up values of active parts; NaN for a step without choice."""
    n_steps = geometry.layout.n_steps
    sums = np.bincount(geometry.step_of_active, per_active, n_steps)
    return np.where(geometry.has_choice, sums, np.nan)


_SHOWN = 12  # steps that are printed


@dataclass(frozen=True)
class LogRatioGeometry:
    """The coordinates of one kind for a layout of steps.

    ``reference`` is the reference part of alr within each step; where it is masked, the
    last possible part takes its place. Both maps are inverse for every matrix of
    orthonormal contrasts: ``ilr_inverse``, checked in ``lean/Core``.
    """

    layout: StepLayout
    mask: BoolArray  # shape: (n_parts,), True where a part is possible
    log_ratio: str  # one of ``LOG_RATIOS``
    reference: int

    def __str__(self) -> str:
        pairs = zip(self.layout.step_names, self.layout.widths, strict=True)
        steps = [f"{name} ({width})" for name, width in pairs]
        more = ["..."] if len(steps) > _SHOWN else []
        shown = ", ".join([*steps[:_SHOWN], *more])
        return f"{self.log_ratio} coordinates of the steps {shown}."

    def of_steps(self, steps: IndexArray) -> LogRatioGeometry:
        """Return some of the steps, which are ascending."""
        mask = self.mask[np.isin(self.layout.step_of_part, steps)]
        return replace(self, layout=self.layout.of_steps(steps), mask=mask)

    @cached_property
    def has_choice(self) -> BoolArray:
        """Whether a step has at least two possible parts; shape (n_steps,)."""
        steps, n_steps = self.layout.step_of_part, self.layout.n_steps
        return np.asarray(np.bincount(steps[self.mask], minlength=n_steps) > 1)

    @cached_property
    def active_parts(self) -> IndexArray:
        """Columns that enter a log-ratio; shape (n_active,)."""
        return np.flatnonzero(self.mask & self.has_choice[self.layout.step_of_part])

    @cached_property
    def step_of_active(self) -> IndexArray:
        """Step of each active part; shape (n_active,)."""
        return self.layout.step_of_part[self.active_parts]

    @cached_property
    def step_of_coordinate(self) -> IndexArray:
        """Step of each coordinate; shape (n_coordinates,)."""
        steps = self.step_of_active
        if self.log_ratio == "clr":
            return steps
        return steps[1:][steps[1:] == steps[:-1]]  # one less than the parts of a step

    @cached_property
    def _maps(self) -> list[tuple[slice, slice, int]]:
        """Of each step with a choice its active parts, coordinates, and reference."""
        maps, n_active, n_coordinates = [], 0, 0
        for step in np.flatnonzero(self.has_choice).tolist():
            size = int(np.sum(self.step_of_active == step))
            active = slice(n_active, n_active + size)
            size = int(np.sum(self.step_of_coordinate == step))
            own = slice(n_coordinates, n_coordinates + size)
            columns = self.layout.slices[step]
            wanted = columns.stop if self.reference < 0 else columns.start
            same = self.active_parts[active] == wanted + self.reference
            place = int(same.argmax()) if same.any() else len(same) - 1
            maps.append((active, own, place))
            n_active, n_coordinates = active.stop, own.stop
        return maps

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates over all steps."""
        return len(self.step_of_coordinate)

    def clr(self, compositions: FloatArray) -> FloatArray:
        """Return centred log-ratios; shape (n_members, n_active)."""
        are_all = self.active_parts.size == compositions.shape[1]
        some = compositions if are_all else compositions[:, self.active_parts]
        logs = np.log(some, order="C")  # also of a frame: the same sums
        for columns, _, _ in self._maps:
            logs[:, columns] -= logs[:, columns].mean(axis=1, keepdims=True)
        return logs

    @property
    def active_slices(self) -> list[slice]:
        """Columns of the active parts of each step that has a choice."""
        return [active for active, _, _ in self._maps]

    def to_coordinates(self, clr: FloatArray) -> FloatArray:
        """Map clr values (..., n_active) to coordinates (..., n_coordinates).

        The isometric coordinates are those of a Helmert matrix: each part against the
        geometric mean of those before it. Cumulative sums need no matrix.
        """
        if self.log_ratio == "clr":
            return clr
        found = np.empty((*clr.shape[:-1], self.n_coordinates))
        for active, own, place in self._maps:
            values = clr[..., active]
            if self.log_ratio == "alr":
                against = values - values[..., place, np.newaxis]
                found[..., own] = np.delete(against, place, axis=-1)
                continue
            k = np.arange(1.0, values.shape[-1])
            before = np.cumsum(values[..., :-1], axis=-1)
            found[..., own] = (before - k * values[..., 1:]) / np.sqrt(k * (k + 1.0))
        return found

    def from_coordinates(self, coordinates: FloatArray) -> FloatArray:
        """Map coordinates (..., n_coordinates) to clr values (..., n_active)."""
        shape = self.active_parts.size, *coordinates.shape[:-1]
        found = np.moveaxis(np.zeros(shape), 0, -1)
        for active, own, place in self._maps:
            values, clr = coordinates[..., own], found[..., active]
            if self.log_ratio == "ilr":
                k = np.arange(1.0, values.shape[-1] + 1.0)
                scaled = values / np.sqrt(k * (k + 1.0))
                np.cumsum(scaled[..., ::-1], axis=-1, out=clr[..., -2::-1])
                clr[..., 1:] -= k * scaled
                continue
            if self.log_ratio == "alr":
                values = np.insert(values, place, 0.0, axis=-1)
            np.subtract(values, values.mean(axis=-1, keepdims=True), out=clr)
        return found

    def compositions(self, clr: FloatArray) -> FloatArray:
        """Return the softmax of clr values (..., n_active); shape (..., n_parts).

        Masked parts are exactly 0, the only part of a step exactly 1.
        """
        by_part = np.zeros((self.mask.size, *clr.shape[:-1]))  # a sum over rows is fast
        by_part[self.mask] = 1.0
        log_ratios = clr.transpose(-1, *range(clr.ndim - 1))
        for columns, _, _ in self._maps:
            parts = self.active_parts[columns]
            by_part[parts] = softmax(log_ratios[columns], axis=0)
        return np.ascontiguousarray(by_part.transpose(*range(1, clr.ndim), 0))

    @cached_property
    def active_names(self) -> list[str]:
        """Names of the active parts, such as ``catalyst:L1``."""
        steps, parts = self.layout.step_names, self.layout.part_names
        pairs = zip(self.step_of_active, self.active_parts, strict=True)
        return [f"{steps[step]}:{parts[part]}" for step, part in pairs]

    @cached_property
    def coordinate_names(self) -> list[str]:
        """Names such as ``catalyst:L1/L4``, ``catalyst:L1`` or ``catalyst:ilr0``."""
        names: list[str] = []
        for active, own, place in self._maps:
            parts = self.active_parts[active]
            prefix = self.layout.step_names[self.layout.step_of_part[parts[0]]]
            tails = [self.layout.part_names[part] for part in parts]
            if self.log_ratio == "ilr":
                tails = [f"ilr{i}" for i in range(own.stop - own.start)]
            elif self.log_ratio == "alr":
                reference = tails.pop(place)
                tails = [f"{tail}/{reference}" for tail in tails]
            names += [f"{prefix}:{tail}" for tail in tails]
        return names
