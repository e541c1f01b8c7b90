"""Pairs of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._checks import FloatArray
from .._sobol import interaction_indices
from ..inspection import Verdict
from ..inspection._reading import is_surrogate, last_estimator
from ._fitted import (
    attribution_of,
    check_position,
    require_expansion,
    squared_clr_coefficients,
)
from ._style import NO_VARIANCE, NOT_SUPPORTED, draw_heat_map, label, make_axes


class InteractionDisplay:
    """Heat map of what inputs explain alone (diagonal) and in pairs.

    Entries are shares of the *total* variance: Sobol indices of sets of one and two
    inputs times Q². Together with ``higher_order`` and ``unexplained`` they add up
    to 1.

    Parameters
    ----------
    values : array-like of shape (n_features, n_features)
        Share of each input on the diagonal, of each pair below it. Entries above the
        diagonal are not drawn.
    higher_order : float
        Share of all larger sets together.
    unexplained : float
        Share of what nobody explains; NaN for a step without choice or variance.
    input_names : sequence of str
        Labels.
    title : str, default=""
        Which step or target this is about.
    supported : bool, default=True
        Whether the attribution is supported; else the title says so, and the colours
        go up to 1, not to the largest share.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the map is.
    figure_ : matplotlib Figure
        Of these axes.
    image_ : matplotlib AxesImage
        The map.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.plotting import InteractionDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> y = X[:, 0] + X[:, 0] * X[:, 1]
    >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
    >>> display = InteractionDisplay.from_estimator(pce.fit(X, y))
    >>> display.values.round(2) + 0.0
    array([[0.5, 0. ],
           [0.5, 0. ]])
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        values: ArrayLike,
        higher_order: float,
        unexplained: float,
        input_names: Sequence[str],
        *,
        title: str = "",
        supported: bool = True,
    ) -> None:
        self.values: FloatArray = np.asarray(values, dtype=np.float64)
        self.higher_order: float = float(higher_order)
        self.unexplained: float = float(unexplained)
        self.input_names: list[str] = list(input_names)
        self.title = title
        self.supported = supported

    @classmethod
    def from_estimator(
        cls,
        pipeline: Any,
        *,
        step: int = 0,
        verdict: Verdict | None = None,
        input_features: Sequence[str] | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> InteractionDisplay:
        """Draw one step of a surrogate or one target of a regressor.

        Parameters
        ----------
        pipeline : fitted estimator
            A surrogate, a regressor, or a Pipeline that ends in one.
        step : int, default=0
            Which step or target.
        verdict : Verdict or None, default=None
            Gives the unexplained share, and says when the step is not attributable.
            None takes the leave-one-out.
        input_features : sequence of str or None, default=None
            Names of the inputs; None asks the pipeline.
        ax, **kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : InteractionDisplay
            After :meth:`plot`.

        Raises
        ------
        ValueError
            If there is no such step, or no polynomial expansion.
        """
        last, _ = last_estimator(pipeline)
        require_expansion(last)
        found = attribution_of(pipeline, input_features).judged(verdict)
        step = check_position("step", step, len(found.rows))
        if is_surrogate(last):
            coefficients = np.sqrt(squared_clr_coefficients(last)[[step]])
        else:
            coefficients = last.coefficients_[[step]]
        indices = interaction_indices(coefficients, last.multi_indices_, 2)
        unexplained = float(found.unexplained[step])
        explained = 0.0 if np.isnan(unexplained) else 1.0 - unexplained
        shares = explained * indices.values[0]
        values = np.zeros((len(found.inputs),) * 2)
        for subset, share in zip(indices.subsets, shares, strict=True):
            values[subset[-1], subset[0]] = share
        higher = max(explained - float(shares.sum()), 0.0)
        display = cls(
            values,
            0.0 if higher < 1e-12 else higher,
            unexplained,
            found.inputs,
            title=found.rows[step],
            supported=found.supported is None or found.supported[step],
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> InteractionDisplay:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs
            Passed on to ``Axes.imshow``. The colours start at 0.

        Returns
        -------
        display : InteractionDisplay
            With ``ax_``, ``figure_`` and ``image_``.
        """
        size = len(self.input_names)
        each = 0.62 if size <= 12 else 0.4  # too many for numbers in the cells
        ax = make_axes(ax, (max(4.2, 2.8 + each * size), 2.4 + 0.8 * each * size))
        above = np.triu(np.ones((size, size), dtype=bool), k=1)
        shown = np.where(above, np.nan, self.values)
        largest = max(float(np.nanmax(shown)), 0.1) if self.supported else 1.0
        style: dict[str, Any] = {"cmap": "cividis", "vmin": 0.0, "vmax": largest}
        style |= kwargs
        names = self.input_names
        self.image_: Any = draw_heat_map(ax, shown, names, names, **style)
        ax.figure.colorbar(self.image_, ax=ax, label="share of the variance")
        ax.set_title("\n".join(self._heads()), fontsize=10, loc="left")
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self

    def _heads(self) -> list[str]:
        heads = [label(self.title, 32)] if self.title else []
        if np.isnan(self.unexplained):
            return [*heads, NO_VARIANCE]
        if not self.supported:
            heads.append(NOT_SUPPORTED)
        if len(self.input_names) > 2:
            heads.append(f"three or more inputs: {self.higher_order:.2f}")
        return [*heads, f"unexplained: {self.unexplained:.2f}"]
