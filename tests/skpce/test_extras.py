"""Where an optional library is missing the message names the extra that installs it.

Displays are in test_displays.py.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module

import numpy as np
import pytest

from skpce._checks import import_extra
from tests.shared import ridge_surrogate


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.exp(np.column_stack([X[:, 0], X[:, 1] * X[:, 2], 0 * X[:, 0]]))
    y /= y.sum(axis=1, keepdims=True)
    return ridge_surrogate(1).fit(X, y), X


def test_frames_without_pandas(fitted, monkeypatch):
    def refuse(name):
        if name in ("pandas", "polars"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return import_module(name)

    monkeypatch.setattr("skpce._checks.import_module", refuse)
    monkeypatch.setattr("skpce._checks.find_spec", lambda name: None)
    expected = r'a data frame needs pandas: pip install "\.\[frames\]", in a copy of'
    surrogate, X = fitted
    for call in (surrogate.sobol_frame, partial(surrogate.predict_frame, X)):
        with pytest.raises(ImportError, match=expected):
            call()


def test_what_a_library_itself_misses_is_not_taken_for_it(monkeypatch, tmp_path):
    (tmp_path / "installed.py").write_text("import of_nobody", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'of_nobody'"):
        import_extra("installed", "frames", "this")
