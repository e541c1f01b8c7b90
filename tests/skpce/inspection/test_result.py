"""Results as tables: what is read by name, framed, printed and stored."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skpce.inspection import Result, sobol_indices
from tests.shared import refuses, ridge_pce

SHARE = np.array([[0.1, 0.7, 0.2], [0.0, 0.0, 0.0]])


@pytest.fixture
def found():
    return Result(
        {"target": ("y", "z"), "feature": ("a", "b", "c")},
        {"share": SHARE, "fidelity": np.array([0.9, np.nan]), "kind": SHARE[:1] > 0.15},
        supported=(True, False),
        reasons=((), ("first", "second")),
        facts=("variance 2", "variance 0"),
        notes=("A <note>.",),
        figures={"degree": 2, "fidelity": "of the figures"},
        tables={"further": Result({"part": (1, 2)}, {"size": np.array([3.0, 4.0])})},
        printed=("share",),
    )


def test_columns_figures_labels_and_tables_are_attributes(found):
    assert found.share is SHARE
    assert (found.degree, found.fidelity) == (2, "of the figures")
    assert found.target_names == ("y", "z")
    assert found.feature_names == ("a", "b", "c")
    assert found.supported == (True, False)
    assert found.y.share.tolist() == SHARE[0].tolist()
    assert {"share", "degree", "to_frame"} <= set(dir(found))
    pytest.importorskip("pandas")
    assert found.further_frame()["size"].tolist() == [3.0, 4.0]
    with pytest.raises(AttributeError, match="no 'shares'; it has share, fidelity"):
        _ = found.shares


def test_rows_are_views(found):
    good, bad = found.targets
    assert (good.target, good.supported, good.reasons) == ("y", True, ())
    assert good.fidelity == 0.9
    assert bad.reasons == ("first", "second")
    assert str(bad) == "z: NOT SUPPORTED (variance 0), because first; second."
    assert bad.kind.tolist() == [False, True, True], "the same for every target"
    assert list(good.to_dict()) == [
        *("target", "share", "fidelity", "kind", "supported", "reasons")
    ]
    assert found["z"].place == 1
    with pytest.raises(KeyError, match="'x' is no target; there are 'y', 'z'"):
        found["x"]
    with pytest.raises(AttributeError, match="The row has no 'degree'"):
        _ = good.degree


def test_the_frame_has_one_row_for_each_pair(found):
    pytest.importorskip("pandas")
    frame = found.to_frame()
    assert frame.columns.tolist() == [
        *("target", "feature", "share", "fidelity", "kind", "supported", "reasons")
    ]
    assert frame["target"].tolist() == ["y"] * 3 + ["z"] * 3
    assert frame["feature"].tolist() == ["a", "b", "c"] * 2
    assert frame["share"].tolist() == SHARE.ravel().tolist()
    assert_array_equal(frame["fidelity"], [0.9] * 3 + [np.nan] * 3)
    assert frame["kind"].tolist() == [False, True, True] * 2
    assert frame["reasons"].tolist() == [""] * 3 + ["first; second"] * 3


def test_words(found):
    first, *shares = str(found).splitlines()[:4]
    assert first == "y: SUPPORTED (variance 2)."
    assert shares == ["- b: share 0.700", "- c: share 0.200", "- a: share 0.100"]
    assert found._repr_html_().endswith("<p>A &lt;note&gt;.</p>")


def test_the_largest_value_of_a_column(found):
    assert found.largest("share") == 0.7
    signed = Result({"pair": range(3)}, {"r": np.array([0.2, np.nan, -0.3])})
    assert signed.largest("r") == -0.3
    assert np.isnan(Result({"pair": ()}, {"r": np.array([])}).largest("r"))
    refuses("one of 'share', 'fidelity', 'kind'", found.largest, "q")


def test_printed_numbers_have_their_errors():
    columns = {
        "total": np.array([[0.75, 0.25]]),
        "total_low": np.array([[0.5, 0.125]]),
        "total_high": np.array([[0.875, 0.5]]),
        "first": np.array([[0.5, 0.25]]),
        "first_error": np.array([[0.125, np.nan]]),
    }
    keys = {"output": ("y",), "input": ("a", "b")}
    said = {"supported": (True,), "reasons": ((),), "facts": ("Q² = 1",)}
    found = Result(keys, columns, printed=("total", "first"), **said)
    assert str(found).splitlines()[1:] == [
        "- a: total 0.750 [0.500, 0.875], first 0.500 ± 0.125",
        "- b: total 0.250 [0.125, 0.500], first 0.250",
    ]


def test_indices_have_a_panel_for_each_target(rng):
    plt = pytest.importorskip("matplotlib.pyplot")
    X = rng.normal(size=(60, 3))
    model = ridge_pce(2).fit(X, np.c_[X[:, 0], X[:, 1] + X[:, 2]])
    found = sobol_indices(model, X, random_state=0, n_samples=50)
    assert len(found.plot()) == 2
    _, given = plt.subplots(1, 2)
    assert found.plot(given)
    refuses("ax must be None or 2 axes of matplotlib", found.plot, given[0])


def test_standard_errors_are_drawn_and_rows_are_few():
    pytest.importorskip("matplotlib")
    n = 30
    found = Result(
        {"step": tuple(range(n))},
        {"share": np.linspace(0, 1, n), "share_standard_error": np.full(n, 0.1)},
    )
    ax = found.plot()
    assert len(ax.patches) == 12
    assert ax.get_yticklabels()[0].get_text() == "29"
    assert len(ax.collections) == 1
    with pytest.raises(ValueError, match="no column of numbers"):
        Result({"step": ("a",)}, {"text": np.array(["x"])}).plot()
