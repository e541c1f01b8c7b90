"""Tables as pandas data frames; pandas is needed only here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ._checks import FloatArray, check_option, import_pandas, input_names
from ._log_ratio_geometry import LogRatioGeometry
from ._steps import StepLayout


def composition_frame(values: FloatArray, layout: StepLayout) -> Any:
    """Label a table of compositions with two column levels (step, part)."""
    pandas = import_pandas()
    steps = [layout.step_names[step] for step in layout.step_of_part]
    columns = pandas.MultiIndex.from_arrays(
        [steps, layout.part_names], names=["step", "part"]
    )
    return pandas.DataFrame(values, columns=columns)


#: Levels of ``CompositionalPCESurrogate.sobol_frame``.
FRAME_LEVELS = ("step", "action", "coordinate", "trajectory")


def _sobol_frame(
    surrogate: Any,
    level: str,
    names: Sequence[str],
    coordinates: str | None,
    reference: int | None,
    ci: float | None,
) -> Any:
    """Build the table of ``CompositionalPCESurrogate.sobol_frame``."""
    check_option("sobol_frame", "level", level, FRAME_LEVELS)
    pandas = import_pandas()
    chosen = level
    if level == "action":
        chosen = "coordinate"
        coordinates = "clr" if coordinates is None else coordinates
    rows = surrogate._level("sobol_frame", chosen, coordinates, reference)
    found = rows.indices(surrogate._clr_coefficients, surrogate.multi_indices_)
    unexplained = surrogate._unexplained_share(rows.steps)[:, np.newaxis]
    unexplained = np.broadcast_to(unexplained, found.total_order.shape)
    step_names = np.array([*surrogate.step_names_, "trajectory"], dtype=object)
    columns = {"step": np.repeat(step_names[rows.steps], len(names))}
    if chosen == "coordinate":
        labels = np.array(rows.names, dtype=object)
        columns["coordinate"] = np.repeat(labels, len(names))
    columns |= {
        "input": np.tile(np.array(names, dtype=object), len(rows.steps)),
        "first_order": found.first_order.ravel(),
        "total_order": found.total_order.ravel(),
        "shapley": found.shapley.ravel(),
        "first_order_share": (found.first_order * (1.0 - unexplained)).ravel(),
        "total_order_share": (found.total_order * (1.0 - unexplained)).ravel(),
        "unexplained_share": unexplained.ravel(),
    }
    columns |= _interval_columns(surrogate, chosen, coordinates, reference, ci)
    return pandas.DataFrame(columns)


def _interval_columns(
    surrogate: Any,
    level: str,
    coordinates: str | None,
    reference: int | None,
    ci: float | None,
) -> dict[str, FloatArray]:
    """Return bounds asked for, or those of the fit at the level of steps."""
    pairs: tuple[tuple[str, Any], ...] = ()
    if ci is not None:
        interval = surrogate.sobol_interval(
            level, ci, coordinates=coordinates, reference=reference
        )
        pairs = (("", interval.total_order), ("first_", interval.first_order))
    elif level == "step" and hasattr(surrogate, "step_total_sobol_interval_"):
        pairs = (
            ("", surrogate.step_total_sobol_interval_),
            ("first_", surrogate.step_sobol_interval_),
        )
    return {
        prefix + name: bound.ravel()
        for prefix, bounds in pairs
        for name, bound in zip(("low", "high"), bounds, strict=True)
    }


class FramesMixin:
    """Results of a surrogate as labelled data frames."""

    geometry_: LogRatioGeometry
    predict: Callable[[ArrayLike], FloatArray]

    def predict_frame(self, X: ArrayLike) -> Any:
        """Predict the probabilities as a data frame with columns (step, part).

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs.

        Returns
        -------
        frame : pandas.DataFrame of shape (n_members, n_parts)
            With the index of X, when X is a data frame. Needs pandas.

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import CompositionalPCESurrogate
        >>> X = np.arange(6.0)[:, np.newaxis]
        >>> y = np.full((6, 4), 0.5)
        >>> surrogate = CompositionalPCESurrogate(1, steps={"first": 2, "second": 2})
        >>> surrogate.fit(X, y).predict_frame(X[:1])
        step first      second
        part     0    1      0    1
        0      0.5  0.5    0.5  0.5
        """
        predicted = self.predict(X)
        layout = self.geometry_.layout
        frame = composition_frame(predicted.reshape(len(predicted), -1), layout)
        if isinstance(X, import_pandas().DataFrame):
            frame.index = X.index
        return frame

    def sobol_frame(
        self,
        level: str = "step",
        *,
        coordinates: str | None = None,
        reference: int | None = None,
        ci: float | None = None,
        input_features: Sequence[str] | None = None,
    ) -> Any:
        """Return the indices as a tidy table, with the unexplained share.

        Parameters
        ----------
        level : {"step", "action", "coordinate", "trajectory"}, default="step"
            One row per step and input, per coordinate and input, or per input. The
            coordinates of ``"action"`` are clr, one per possible action, those of
            ``"coordinate"`` the kind of ``log_ratio``.
        coordinates : {"alr", "clr", "ilr"} or None, default=None
            Another kind for these two levels; no refit is needed.
        reference : int or None, default=None
            Reference part of alr; None takes the parameter of the estimator.
        ci : float or None, default=None
            Confidence level, such as 0.9, of bootstrap intervals from
            ``sobol_interval``. None gives the intervals of ``fit`` at the level of
            steps, where there are any.
        input_features : sequence of str or None, default=None
            Names of the inputs, for example ``pipeline[:-1].get_feature_names_out()``.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``step``, ``coordinate`` (for actions and coordinates), ``input``,
            ``first_order``, ``total_order``, ``shapley`` (shares of the variance of
            the expansion), ``first_order_share``, ``total_order_share`` (shares of
            the total variance: times the leave-one-out Q² of the step or of the
            trajectory, at least 0), ``unexplained_share``; with intervals ``low``
            and ``high`` of the total index, ``first_low`` and ``first_high``. Needs
            pandas.

        Raises
        ------
        ValueError
            For an unknown level or coordinates, or coordinates at another level.
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.special import softmax
        >>> from skpce import CompositionalPCESurrogate
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> y = softmax(np.c_[X[:, 0], X[:, 1], 0 * X[:, 0]], axis=1)
        >>> surrogate = CompositionalPCESurrogate(1).fit(X, y)
        >>> frame = surrogate.sobol_frame("action", coordinates="alr")
        >>> frame[["coordinate", "input", "total_order"]].round(2)
          coordinate input  total_order
        0  step0:0/2    x0          1.0
        1  step0:0/2    x1          0.0
        2  step0:1/2    x0          0.0
        3  step0:1/2    x1          1.0
        """
        check_is_fitted(self)
        names = input_names(self, input_features)
        return _sobol_frame(self, level, names, coordinates, reference, ci)
