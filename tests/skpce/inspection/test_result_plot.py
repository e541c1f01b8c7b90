"""Every result can be drawn: sorted bars with their errors."""

import numpy as np
import pytest

from skpce.inspection import Result, sobol_indices
from tests.shared import ridge_pce

plt = pytest.importorskip("matplotlib.pyplot")


def labels_of(ax):
    return [tick.get_text() for tick in ax.get_yticklabels()]


def test_indices_have_a_panel_for_each_target(rng):
    X = rng.normal(size=(60, 3))
    model = ridge_pce(2).fit(X, np.c_[X[:, 0], X[:, 1] + X[:, 2]])
    axes = sobol_indices(model, X, random_state=0, n_samples=50).plot()
    assert len(axes) == 2
    assert labels_of(axes[0])[0] == "x0"
    _, given = plt.subplots(1, 2)
    assert sobol_indices(model, X, random_state=0, n_samples=50).plot(given)
    with pytest.raises(ValueError, match="ax must be None or 2 axes of matplotlib"):
        sobol_indices(model, X, random_state=0, n_samples=50).plot(given[0])


def test_standard_errors_are_drawn_and_rows_are_few():
    n = 30
    found = Result(
        {"step": tuple(range(n))},
        {"share": np.linspace(0, 1, n), "share_standard_error": np.full(n, 0.1)},
    )
    ax = found.plot()
    assert len(ax.patches) == 12
    assert labels_of(ax)[0] == "29"
    assert len(ax.collections) == 1
    with pytest.raises(ValueError, match="no column of numbers"):
        Result({"step": ("a",)}, {"text": np.array(["x"])}).plot()
