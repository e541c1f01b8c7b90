"""Tables as pandas data frames; pandas is needed only here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ._feature_names import input_names
from ._parameters import check_option
from ._steps import StepLayout

FloatArray = NDArray[np.float64]


def import_pandas() -> Any:
    """Return the pandas module.

    Raises
    ------
    ImportError
        With the command that installs it.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "Data frames need pandas: python -m pip install pandas"
        ) from error
    return pandas


def composition_frame(values: FloatArray, layout: StepLayout) -> Any:
    """Label a table of compositions with two column levels (step, part)."""
    pandas = import_pandas()
    steps = [layout.step_names[step] for step in layout.step_of_part]
    columns = pandas.MultiIndex.from_arrays(
        [steps, layout.part_names], names=["step", "part"]
    )
    return pandas.DataFrame(values, columns=columns)


def _sobol_frame(surrogate: Any, level: str, names: Sequence[str]) -> Any:
    """Build the table of ``CompositionalPCESurrogate.sobol_frame``."""
    check_option("sobol_frame", "level", level, ("step", "coordinate"))
    pandas = import_pandas()
    layout = surrogate.geometry_.layout
    if level == "step":
        step = np.arange(layout.n_steps)
        first = surrogate.step_sobol_indices_
        total = surrogate.step_total_sobol_indices_
    else:
        step = surrogate.coordinate_steps_
        first = surrogate.sobol_indices_
        total = surrogate.total_sobol_indices_
    unexplained = surrogate.step_unexplained_share_[step][:, np.newaxis]
    unexplained = np.broadcast_to(unexplained, first.shape)
    columns = {"step": np.repeat(np.array(layout.step_names)[step], len(names))}
    if level == "coordinate":
        coordinates = np.array(surrogate.geometry_.coordinate_names)
        columns["coordinate"] = np.repeat(coordinates, len(names))
    columns |= {
        "input": np.tile(np.array(names, dtype=object), len(step)),
        "first_order": first.ravel(),
        "total_order": total.ravel(),
        "first_order_share": (first * (1.0 - unexplained)).ravel(),
        "total_order_share": (total * (1.0 - unexplained)).ravel(),
        "unexplained_share": unexplained.ravel(),
    }
    return pandas.DataFrame(columns)


class FramesMixin:
    """Results of a surrogate as labelled data frames."""

    def predict_frame(self, X: ArrayLike) -> Any:
        """Predict the probabilities as a data frame with columns (step, part).

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs.

        Returns
        -------
        frame : pandas.DataFrame of shape (n_members, n_parts)
            Needs pandas.
        """
        return composition_frame(self.predict(X), self.geometry_.layout)

    def sobol_frame(
        self, level: str = "step", input_features: Sequence[str] | None = None
    ) -> Any:
        """Return the indices as a tidy table, with the unexplained share.

        Parameters
        ----------
        level : {"step", "coordinate"}, default="step"
            One row per step and input, or per coordinate and input.
        input_features : sequence of str or None, default=None
            Names of the inputs, for example ``pipeline[:-1].get_feature_names_out()``.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``step``, ``coordinate`` (at that level), ``input``,
            ``first_order``, ``total_order`` (shares of the variance of the
            expansion), ``first_order_share``, ``total_order_share`` (shares of the
            total variance: times the leave-one-out Q² of the step, at least 0) and
            ``unexplained_share``. Needs pandas.
        """
        check_is_fitted(self)
        return _sobol_frame(self, level, input_names(self, input_features))
