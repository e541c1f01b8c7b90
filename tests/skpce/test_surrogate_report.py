"""The report: verdict first, nothing from elsewhere, the numbers of the estimators."""

import re
from functools import partial
from html import escape

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from skpce import CompositionalPCESurrogate, report
from skpce._checks import format_cell
from skpce._report import FitReport, with_ends
from skpce.inspection import verdict
from skpce.inspection._reading import expansion_of
from skpce.metrics import coverage_interval, policy_fragility
from skpce.plotting import SobolDisplay
from tests.shared import OLS, cases, clr, refuses, ridge_pce, ridge_surrogate

plt = pytest.importorskip("matplotlib.pyplot")

ENDS = ("", "_low", "_high")
STEPS = {"first": 3, "second": 2, "third": 4, "stop": 1}
EVIL = "<script>alert(\"1\")</script> & 'x' $y_{$"


@pytest.fixture(autouse=True)
def _no_figure_stays():
    yield
    assert plt.get_fignums() == []


@pytest.fixture(scope="module")
def data(simulate):
    X, y = simulate(n_members=90)
    return X, np.hstack([y, np.ones((len(y), 1))])


@pytest.fixture(scope="module")
def pipeline(data):
    X, y = data
    surrogate = ridge_surrogate(2, steps=STEPS, random_state=0)
    return make_pipeline(PCA(2, whiten=True), surrogate).fit(X[:60], y[:60])


@pytest.fixture(scope="module")
def found(pipeline, data):
    X, y = data
    return verdict(pipeline, X[:60], y[:60])


@pytest.fixture(scope="module")
def page(pipeline, data, found):
    X, y = data
    return report(pipeline, X[60:], y[60:], verdict=found, title="A run")


def table_of(page, first_columns):
    """Return the rows of the table whose header begins so."""
    for text in re.findall("<table>.*?</table>", page, re.S):
        header = re.findall("<th>(.*?)</th>", text)
        if header[: len(first_columns)] == first_columns:
            rows = re.findall("<tr>(<td>.*?)</tr>", text)
            rows = [re.sub("</?span[^>]*>", "", row) for row in rows]
            return [re.findall("<td>(.*?)</td>", row) for row in rows]
    raise AssertionError(first_columns)


@pytest.mark.slow
def test_the_verdict_comes_first(page, found):
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert headings[:2] == ["Answer", "Verdict"]
    assert escape("\n".join(found.evidence)) in page
    for sentence in found.sentences:
        assert escape(sentence) in page
    assert page.index('class="answer"') < page.index("<img") < page.index("<table>")
    assert page.index("<table>") < page.index("<details>") < page.index("<pre>")
    assert page.count("<details>") == len(headings) - 1 == page.count("<li>") - 1


@pytest.mark.slow
def test_without_a_verdict_the_page_says_so(X, y, pipeline):
    page = report(pipeline, X[60:], y[60:])
    assert "No verdict was given. All figures below are conditional" in page
    answers = [row[-1] for row in table_of(page, ["decision", "actions"])]
    assert answers == ["not judged"] * 3 + ["no choice"]


@pytest.mark.slow
def test_same_arguments_same_bytes(X, y, page, pipeline, found, tmp_path):
    path = tmp_path / "report.html"
    again = report(pipeline, X[60:], y[60:], verdict=found, title="A run", path=path)
    assert again == page
    assert path.read_bytes().decode("utf-8") == page
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
    assert "date" not in [row[0] for row in table_of(page, ["what"])]
    dated = report(pipeline, X[60:], y[60:], date="2031-02-03")
    assert ["date", "2031-02-03"] in table_of(dated, ["what"])


def test_numbers_are_those_of_the_estimators(X, y, page, pipeline, found):
    test, inputs = y[60:], pipeline[:-1].transform(X[60:])
    surrogate = pipeline[-1]
    goodness = table_of(page, ["decision", "actions"])
    assert [row[0] for row in goodness] == list(STEPS)
    loo = surrogate.diagnostics_.loo_q2
    assert [row[2] for row in goodness] == [format_cell(value, 2) for value in loo]
    assert [row[4] for row in goodness] == [format_cell(s.q2, 2) for s in found.steps]
    # Q² of the test data by hand.
    for step, columns in enumerate((slice(0, 3), slice(3, 5), slice(5, 9))):
        both = test, pipeline.predict(X[60:])
        observed, predicted = (clr(table[:, columns]) for table in both)
        press = np.square(observed - predicted).sum()
        spread = np.square(observed - observed.mean(axis=0)).sum()
        assert goodness[step][3] == format_cell(1 - press / spread, 2)
    fragility = policy_fragility(test, steps=STEPS)
    rows = table_of(page, ["decision", "variance, summed"])
    assert len(rows[0]) == len(fragility.columns)
    columns = {
        **{"aitchison_variance": 1, "total_variation": 3, "jensen_shannon": 7},
        **{"normalized_pairwise_total_variation": 6, "mutual_information": 9},
    }
    for name, column in columns.items():
        expected = [format_cell(value, 2) for value in getattr(fragility, name)[:3]]
        assert [row[column] for row in rows[:3]] == expected
    assert rows[3][1:4] == ["0", "–", "0"]
    display = SobolDisplay.from_fit(pipeline, verdict=found)
    rows = table_of(page, ["decision", "pca0", "pca1", "interactions"])
    low, high = display.share_bounds
    for step, (row, expected) in enumerate(zip(rows[:3], display.shares, strict=False)):
        for i, cell in enumerate(row[1:3]):
            bounds = f"[{low[step, i]:.2f},\xa0{high[step, i]:.2f}]"
            assert cell == f"{expected[i]:.2f} {bounds}"
        assert row[3:-1] == [format_cell(value, 2) for value in expected[2:]]
    assert rows[3][1:] == ["–"] * 4 + ["no choice"]
    interval = surrogate.predict_interval(inputs, confidence_level=0.9, random_state=0)
    for kind, column in (("marginal", 2), ("joint", 4)):
        score = coverage_interval(test, *interval, steps=STEPS, kind=kind)
        row = table_of(page, ["decision", "level"])[2]
        assert row[:2] == ["first", "0.9"]
        assert row[column] == format_cell(float(score.coverage[0]), 2)
        bounds = f"[{score.lower[0]:.2f},\xa0{score.upper[0]:.2f}]"
        assert row[column + 1] == bounds


def test_one_quantity_has_one_number(page, found):
    outputs = table_of(page, ["decision", "members", "Q², runs left out"])
    assert [row[0] for row in outputs] == list(STEPS)
    answers = table_of(page, ["decision", "attribution", "drivers, share in all"])
    for row, answer, step in zip(outputs[:3], answers, found.steps, strict=False):
        assert row[2] == format_cell(step.q2, 2)
        rest = f"{100 * step.not_predicted:.0f}\xa0%"
        assert rest == row[4] == answer[3]
        word = "driven" if step.attributable else "not attributable"
        assert row[-1] == word == answer[1]
        assert row[-2] == answer[-1] == format_cell(step.p_value, 2)
    assert outputs[3][2:] == ["–"] * 3 + ["1", "no choice"]
    table = found.drivers
    rows = table_of(page, ["step", "input", "state"])
    assert len(rows) == 6  # a step without choice has none
    cells = {(row[0], row[1]): row for row in rows}
    for o, i in np.ndindex(3, 2):
        row = cells[found.step_names[o], found.input_names[i]]
        assert row[2] == table.state[o, i]
        first, total = (
            with_ends(*(getattr(table, name + end)[o, i] for end in ENDS))
            for name in ("first", "total")
        )
        assert row[5:7] == [first, total]
        drives = table.state[o, i] == "drives"
        assert drives == (f"{found.input_names[i]} {total}" in answers[o][2])
    words = re.sub("<style>.*</style>", "", page, flags=re.S)
    assert "explained by none" not in words
    assert "unexplained" not in words


@pytest.mark.slow
def test_names_of_every_kind_are_escaped(X, y):
    pandas = pytest.importorskip("pandas")
    columns = pandas.MultiIndex.from_arrays(
        [[f"{EVIL} {i}" for i in (0, 0, 0, 1, 1)], [f"{EVIL}{i}" for i in range(5)]]
    )
    frame = pandas.DataFrame(y[:, :5], columns=columns)
    inputs = pandas.DataFrame(X, columns=[f"{EVIL}{i}" for i in range(3)])
    model = ridge_surrogate(1).fit(inputs[:60], frame[:60])
    found = verdict(model, inputs[:60], frame[:60])
    page = report(model, inputs[60:], frame[60:], verdict=found, title=EVIL)
    page, _, script = page.rpartition("<script>")
    assert "<script" not in page
    assert "alert" not in script
    assert "&lt;script&gt;" in page
    for text in re.findall(r'alt="([^"]*)"', page):
        assert "<" not in text


def test_a_fit_without_residual_law_says_so(X, y):
    model = CompositionalPCESurrogate(3, steps=STEPS, **OLS).fit(X[:20], y[:20])
    page = report(model, X[60:], y[60:])
    assert "There are no intervals. The residual distribution is not defined" in page


@pytest.mark.slow
def test_indices_by_sampling_are_flagged(X, y):
    neighbours = {"solver": None, "regressor": KNeighborsRegressor()}
    model = ridge_surrogate(1, steps=STEPS, random_state=0, **neighbours)
    model.fit(X[:60], y[:60])
    page = report(model, X[60:], y[60:])
    assert "The indices are by sampling" in page
    rows = table_of(page, ["decision", "fidelity"])
    assert [row[1] for row in rows] == [format_cell(f, 2) for f in model.fidelity_]
    display = SobolDisplay.from_estimator(model)
    assert "(indices by sampling)" in display.ax_.get_xlabel()
    plt.close(display.figure_)


def test_what_does_not_fit_is_refused(X, y, pipeline, found, tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "report.html"
    refused = partial(refuses, path=path)
    pce = ridge_pce(1).fit(X, y[:, :9])
    refused(r"\(90, 10\).*the outputs that were fitted", report, pce, X, y)
    refused("not fitted", report, make_pipeline(PCA(2), ridge_surrogate(1)), X, y)
    refused(r"y_test has shape \(89, 10\).*\(90, 10\)", report, pipeline, X, y[1:])
    message = "must be what verdict or explain returns"
    refused(message, report, pipeline, X, y, verdict=found.steps)
    other = ridge_surrogate(1, steps=(3, 2, 4, 1)).fit(X, y)
    refused("verdict is about the steps", report, other, X, y, verdict=found)
    frame = pandas.DataFrame(y[:, :3], columns=list("abc"))
    named = ridge_surrogate(1, steps={"first": 3}).fit(X, frame)
    message = "Column 0 of y_test is 'b'; expected 'a'"
    refused(message, report, named, X, frame[["b", "a", "c"]])
    assert not path.exists()


@cases(
    ("arguments", "message"),
    ({"date": 3}, "'date' parameter of report must be a str or None. Got 3"),
    ({"random_state": -1}, r"must be an int in the range \[0, inf\). Got -1"),
    ({"path": 3}, "path=3 must be a str or a path"),
)
def test_bad_arguments_are_refused_before_any_work(arguments, message):
    refuses(message, report, "not even looked at", None, None, **arguments)


def test_places_that_cannot_be_written_are_refused_before_any_work(
    tmp_path, monkeypatch
):
    write = partial(report, "not even looked at", None, None)
    refuses("is a folder; expected that of a file", write, path=tmp_path)
    refuses("must end in .html or .htm", write, path=tmp_path / "a.pdf")
    refuses("no/a.html' must be in a folder", write, path=tmp_path / "no" / "a.html")
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write anywhere
    message = "must be in a folder that can be written"
    refuses(message, write, path=tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_report_of_many_steps_is_small(rng):
    n_steps = 150
    X = rng.normal(size=(40, 2))
    logits = X[:, :1, np.newaxis] * rng.normal(size=(n_steps, 2))
    logits = logits + 0.5 * rng.normal(size=logits.shape)
    y = softmax(logits, axis=-1).reshape(40, -1)
    surrogate = ridge_surrogate(1, steps=(2,) * n_steps, random_state=0)
    surrogate.fit(X[:25], y[:25])
    judged = verdict(surrogate, X[:25], y[:25])
    page = report(surrogate, X[25:], y[25:], verdict=judged)
    assert len(page) < 1_000_000
    assert "There are 150 decisions. Tables list the 60 and figures draw the 12" in page
    assert "... and 145 more." in page
    reading = expansion_of(surrogate, X[25:])
    shown = FitReport("", surrogate, reading, y[25:], judged, 0)
    spread = shown.variance
    assert spread[shown.drawn].min() >= np.delete(spread, shown.drawn).max()
