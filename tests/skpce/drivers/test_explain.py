"""One call from every kind of data: what is read, and what is refused before work."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import skpce
from skpce import explain
from skpce.drivers._runs import Asked, read_runs
from skpce.ensembles import from_cv_results, from_frame
from skpce.ensembles._files import read_file
from tests.shared import cases, refuses

N = 24


def read(data, y=None, **asked):
    return read_runs(data, y, Asked(**asked))


@pytest.fixture(scope="module", name="X")
def inputs():
    return np.random.default_rng(0).uniform(0.1, 1.0, size=(N, 3))


@pytest.fixture(scope="module")
def y(X):
    return 3 * X[:, 0] + X[:, 1] + 0.1 * np.random.default_rng(1).normal(size=N)


@pytest.fixture(scope="module")
def table(X, y):
    frame = pd.DataFrame(X, columns=["rate", "units", "drop"])
    return frame.assign(kind=["a", "b"] * (N // 2), accuracy=y)


INPUTS = ["rate", "units", "drop", "kind"]


def written(table, folder):
    path = folder / "runs.csv"
    table.to_csv(path, index=False)
    return path


TABLES = {
    "pandas": lambda table, folder: table,
    "polars": lambda table, folder: pl.DataFrame(table.to_dict("list")),
    "dict": lambda table, folder: table.to_dict("list"),
    "records": lambda table, folder: table.to_dict("records"),
    "csv": written,
    "text": lambda table, folder: table.astype(str),
    "ensemble": lambda table, folder: from_frame(table, INPUTS, "accuracy"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_kind_are_read_alike(kind, table, tmp_path):
    expected = read(table, inputs=INPUTS, outputs="accuracy").data
    given = TABLES[kind](table, tmp_path)
    for runs in (
        read(given, outputs="accuracy"),
        read(given, inputs=INPUTS, outputs=["accuracy"]),
    ):
        assert runs.data.names == expected.names == tuple(INPUTS)
        assert_allclose(runs.data.X, expected.X)
        assert_allclose(runs.data.y, expected.y)
        assert runs.data.is_category.tolist() == [False, False, False, True]
        assert runs.data.levels == {"kind": ("a", "b")}
        assert runs.data.read.names == ("accuracy",)


def named(X):
    return pd.DataFrame(X, columns=list("abc"))


ARRAYS = {
    "arrays": (lambda X, y: (X, y), "y"),
    "lists": (lambda X, y: (X.tolist(), y.tolist()), "y"),
    "column": (lambda X, y: (X, y.reshape(-1, 1)), "y0"),
    "text": (lambda X, y: (X.astype(str), y.astype(str)), "y"),
    "frames": (lambda X, y: (named(X), pd.DataFrame({"s": y})), "s"),
    "series": (lambda X, y: (named(X), pd.Series(y, name="s")), "s"),
    "polars": (lambda X, y: (pl.DataFrame(named(X)), pl.Series("s", y)), "s"),
    "dict": (lambda X, y: (named(X).to_dict("list"), pd.Series(y, name="s")), "s"),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_of_every_kind_are_read_alike(kind, X, y):
    make, output = ARRAYS[kind]
    found = read(*make(X, y)).data
    assert_allclose(found.X, X)
    assert_allclose(found.y[:, 0], y)
    assert found.names == (("a", "b", "c") if output == "s" else ("x0", "x1", "x2"))
    assert len(found.read.names) == 1
    if output in ("s", "y"):
        assert found.read.names == (output,)


def test_names_and_roles_beside_arrays(X, y):
    found = read(X, np.c_[y, -y], inputs=["p", "q", "r"], outputs=["acc", "loss"]).data
    assert (found.names, found.read.names) == (("p", "q", "r"), ("acc", "loss"))
    outputs = pd.DataFrame({"u": y, "v": -y})
    found = read(named(X), outputs, inputs=["c", "a"], outputs=["v"]).data
    assert (found.names, found.read.names) == (("c", "a"), ("v",))
    assert_allclose(found.y[:, 0], -y)
    day = np.arange(N) // 4
    runs = read(named(X).assign(day=day), y, blocks="day")
    assert runs.data.names == ("a", "b", "c")
    assert runs.design.blocks.tolist() == day.tolist()
    assert read(X, y, blocks=np.ones(N)).design.blocks is None  # one block says nothing


def test_groups_of_columns_and_steps_of_a_table(table):
    first = np.linspace(0.1, 0.7, N)
    wide = table.assign(p=first, q=0.2, r=0.8 - first, loss=-table.accuracy)
    steps = {"bottle": ["p", "q", "r"]}
    runs = read(wide, inputs=["rate"], steps=steps, outputs="loss")
    assert runs.data.read.names == ("bottle", "loss")
    assert runs.data.read.n_steps == 1
    assert runs.data.y.shape == (N, 4)
    both = read(wide, inputs=["rate"], outputs={"both": ["accuracy", "loss"]})
    assert both.data.read.names == ("both",)


def test_columns_that_no_setting_has_are_left_out_with_a_note(table):
    wide = table.assign(
        run_id=range(N),
        path=[f"/runs/{k}" for k in range(N)],
        started=pd.date_range("2024-01-01", periods=N),
        day=[f"2024-01-{k % 20 + 1:02d}" for k in range(N)],
        loss=-table.accuracy,
        empty=None,
        ok=[True, False, True] * (N // 3),
    )
    runs = read(wide, outputs="accuracy")
    assert runs.data.names == (*INPUTS, "ok")
    notes = " ".join(one.figures["words"] for one in runs.cautions)
    for words in (
        "'run_id' numbers the runs",
        "'path' names the runs",
        "'started' and 'day' hold dates",
        "'loss' looks like a result",
        "'empty' is empty",
    ):
        assert words in notes
    with_loss = read(wide, inputs=["rate", "loss"], outputs="accuracy")
    assert with_loss.data.names == ("rate", "loss")


def test_columns_of_parameters_are_the_inputs_where_there_are_some(table):
    logged = {"run_id": [f"r{k}" for k in range(N)], "metrics.acc": table.accuracy}
    logged |= {"params.rate": table.rate.astype(str), "params.kind": table.kind}
    logged = pd.DataFrame(logged | {"tags.user": ["me", "you"] * (N // 2)})
    names = ("params.rate", "params.kind")
    assert read(logged, outputs="metrics.acc").data.names == names
    refuses(r"Perhaps outputs='metrics\.acc'", explain, logged)


@pytest.mark.parametrize("name", ["params.seed", "params.random_state"])
def test_seeds_of_their_own_among_parameters_are_no_input(name, rng):
    rate = rng.uniform(size=40)
    table = {"params.rate": rate, name: np.arange(40), "loss": rate}
    answer = skpce.explain(table, outputs="loss")
    assert answer.input_names == ("params.rate",)
    assert any(f"'{name}' is left out" in line for line in answer.evidence)


def test_small_values_of_decades_are_no_copies():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rate = 10 ** rng.uniform(-6, -1, 60)
        kind = rng.choice(list("abc"), 60)
        loss = (np.log10(rate) + 2.5) ** 2 + 0.3 * rng.normal(size=60)
        table = {"rate": rate, "kind": kind, "loss": loss}
        assert skpce.explain(table, outputs="loss").design.n_settings == 60


def test_failed_runs_are_left_out_with_their_labels(X, y):
    failed = y.copy()
    failed[[2, 5]] = np.nan
    runs = read(X, failed, blocks=np.arange(N) // 4)
    assert len(runs.data.X) == len(runs.design.blocks) == N - 2
    assert "2 of 24 runs have no output" in runs.cautions[0].figures["words"]


def test_repeats_by_name_by_label_and_found(X, y):
    table = pd.DataFrame(np.repeat(X[:8], 3, axis=0), columns=list("abc"))
    table = table.assign(seed=np.arange(N) % 3, acc=y)
    named = read(table, outputs="acc", replicate="seed")
    labels = read(table[list("abc")], y, replicate=np.arange(N) // 3)
    found = read(table, outputs="acc")
    assert found.design.counter == "seed"
    for runs in (named, labels, found):
        assert runs.data.names == ("a", "b", "c")
        assert runs.design.n_settings == 8


def test_groups_with_equal_inputs_are_told_of_replicate(X, y):
    runs = read(np.repeat(X[:8], 3, axis=0), y, groups=np.arange(N) // 3)
    assert "replicate=" in runs.cautions[-1].figures["words"]
    assert read(X, y, groups=np.arange(N) // 3).cautions == ()


def test_order_is_numbers_dates_or_nothing(X, y):
    dates = pd.date_range("2024-01-01", periods=N)[::-1]
    for order in (np.arange(N)[::-1], dates, dates.astype(str)):
        assert read(X, y, order=order).design.order.tolist() == list(range(N))[::-1]
    assert read(X, y, order=False).design.order is None
    assert read(X, y, order=False).design.order_told


GRID = {"alpha": [0.01, 0.1, 1, 10, 100, 1000], "fit_intercept": [True, False]}


@pytest.fixture(scope="module")
def search():
    from sklearn.datasets import load_diabetes

    data, target = load_diabetes(return_X_y=True)
    scoring = ["r2", "neg_mean_absolute_error"]
    fitted = GridSearchCV(Ridge(), GRID, cv=3, scoring=scoring, refit=False)
    return fitted.fit(data, target)


def test_searches_and_their_results_are_read_alike(search):
    given = {"log": ("alpha",), "outputs": "r2"}
    expected = read(search, **given).data
    assert expected.names == ("alpha", "fit_intercept")
    assert expected.logarithms == ("alpha",)
    assert expected.read.names == ("r2",)
    for results in (search.cv_results_, pd.DataFrame(search.cv_results_)):
        found = read(results, **given).data
        assert_array_equal(found.X, expected.X)
        assert_array_equal(found.y, expected.y)
    splits = from_cv_results(search, splits="replicates", log=["alpha"])
    assert read(splits).design.n_settings == 12
    assert read(search, inputs=["alpha"], log=("alpha",)).data.names == ("alpha",)


def test_a_real_study_with_pruned_and_failed_trials():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial):
        rate = trial.suggest_float("rate", 1e-4, 1, log=True)
        kind = trial.suggest_categorical("kind", ["a", "b", None])
        if trial.number == 3:
            raise optuna.TrialPruned
        if trial.number == 4:
            return float("nan")
        return np.log10(rate) ** 2 + (kind == "a")

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=20)
    runs = read(study)
    refuses("search space says", explain, study, log=["rate"])
    assert len(runs.data.X) == 18
    assert [one.code for one in runs.cautions] == ["note", "note", "adaptive"]
    frame = study.trials_dataframe()
    frame["params_kind"] = frame["params_kind"].fillna("none")
    found = read(frame, outputs="value", log=("params_rate",)).data
    assert set(found.names) == {"params_rate", "params_kind"}


ACC = {"outputs": "accuracy"}


@pytest.fixture
def no_work(monkeypatch):
    def work(*_args, **_kwargs):
        raise AssertionError("refused after the work")

    monkeypatch.setattr("skpce.drivers._answer.find_drivers", work)


FEW = np.arange(N) < 5
DAYS = pd.date_range("2024-01-01", periods=N)


@cases(
    ("options", "message"),
    ({"replicate": np.arange(N) // 2}, "other inputs.*groups="),
    ({"inputs": ["a"]}, "1 names; expected 3"),
    ({"log": ["rate"]}, "log has 'rate'"),
    ({"groups": [1, 2]}, r"groups has shape \(2,\)"),
    ({"blocks": np.arange(N)}, "a label of its own for each of 24 runs"),
    ({"blocks": [None] * N}, "missing in 24 of 24"),
    ({"order": [f"r{k}" for k in range(N)]}, "'r0'; expected a number or a date"),
    ({"together": {"g": ["x0", "zz"]}}, r"together\['g'\] has 'zz', which is no input"),
    ({"together": {"g": ["x0"], "h": ["x0"]}}, "each input in one group"),
    ({"together": ["x0"]}, "together must be a dict"),
)
def test_settings_of_arrays_are_refused_by_name(options, message, X, y, no_work):
    refuses(message, explain, X, y, **options)


@cases(
    ("options", "message"),
    ({"inputs": ["lr"]}, "inputs has 'lr'"),
    ({"outputs": "acc"}, "outputs has 'acc', which is no column of data"),
    ({"replicate": ["kind", "seed"]}, "replicate has 'seed'"),
    ({"replicate": "kind"}, "No two of 24 runs have equal inputs"),
    ({"blocks": "accuracy"}, "blocks='accuracy' is an output too"),
)
def test_settings_of_tables_are_refused_by_name(options, message, table, no_work):
    refuses(message, explain, table, **ACC | options)


@cases(
    ("given", "message"),
    (lambda t, X, y: (t,), r"outputs=.*'rate'.*Perhaps outputs='accuracy'"),
    (lambda t, X, y: (t.assign(loss=0.5 * y),), "Perhaps 'accuracy' or 'loss'"),
    (lambda t, X, y: (t, "accuracy"), "named by outputs='accuracy'"),
    (lambda t, X, y: (X,), r"explain\(X, y\)"),
    (lambda t, X, y: (y, X), "swapped"),
    (lambda t, X, y: (X[:, 0], y), r"X\.reshape\(-1, 1\)"),
    (lambda t, X, y: (X, y[1:]), "24 runs and y has 23"),
    (lambda t, X, y: (X, iter(y)), "'y' .* a table with a row for each member"),
    (lambda t, X, y: (X[:6], y[:6]), "6 of 6 runs have an output; expected at least 8"),
    (lambda t, X, y: (X, np.where(FEW, y, np.nan)), "5 of 24 runs have an output"),
    (lambda t, X, y: (np.where(X > 0.9, np.nan, X), y), "missing in .* of 24 runs"),
    (lambda t, X, y: (named(X).set_axis(["a", "a", "b"], axis=1), y), "2 columns 'a'"),
    (lambda t, X, y: (pd.DataFrame({"d": DAYS}), y), "'d' holds dates"),
    (lambda t, X, y: (Ridge(), X), r"skpce\.inspection\.verdict"),
    (lambda t, X, y: ("runs.csv", y), "y to be left out"),
)
def test_data_are_refused_with_the_remedy(given, message, table, X, y, no_work):
    refuses(message, explain, *given(table, X, y))


HALF = np.full((N, 6), 0.5)
LARGE = "has .*e.%s in row 0, column .; expected numbers up to"


def test_what_is_asked_of_data_is_refused_with_the_remedy(table, X, y, no_work):
    refuses("expected positive", explain, X - 0.5, y, log=["x0"])
    refuses("sums to 5 columns", explain, X, HALF, steps=[3, 2])
    refuses("lengths", explain, {"a": [1, 2], "b": [1]}, outputs="a")
    refuses("lengths {'a': None}; expected one", explain, {"a": 1}, y)
    rows = {"a": np.repeat(X[:12, 0], 2), "t": X[:, 1], "s": [0, 1] * 12, "acc": y}
    asked = {"inputs": ["a", "t"], "outputs": "acc", "replicate": "s"}
    refuses("Without 't' all settings repeat", explain, rows, **asked)
    refuses("y " + LARGE % 150, explain, table.assign(accuracy=1e150 * y), **ACC)
    refuses("X " + LARGE % 300, explain, table.assign(size=1e300 * y), **ACC)


def test_numbers_of_runs_in_a_file_are_no_setting(X, y, tmp_path):
    """As in a data frame: a library of frames reads the column as whole numbers."""
    table = pd.DataFrame(X, columns=list("abc")).assign(job=np.arange(N), acc=y)
    for given in (table, written(table, tmp_path)):
        refuses("'job' is a whole number of its own", explain, given, outputs="acc")


def test_settings_in_the_labels_of_rows_are_told(table):
    runs = read(table.set_index("units"), outputs="accuracy")
    assert "units" not in runs.data.names
    assert "'units' labels the rows" in runs.cautions[0].figures["words"]
    with pytest.raises(ValueError, match="'rate' and 'units' label the rows"):
        read(table.set_index(["rate", "units"])[["accuracy"]], outputs="accuracy")


def test_results_of_a_search_in_a_file_have_its_parameters(X, y, tmp_path):
    table = pd.DataFrame(X, columns=["param_C", "param_gamma", "mean_fit_time"])
    table = table.assign(split0_test_score=np.round(y, 1), mean_test_score=y)
    runs = read(written(table, tmp_path), outputs="mean_test_score")
    assert runs.data.names == ("param_C", "param_gamma")


def test_breaks_of_lines_inside_an_entry_are_kept(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_bytes(b'a,note\r\n1,"x\ny"\r\n2,"x\x0cy"\r\n')
    assert read_file(path)["note"].tolist() == ["x\ny", "x\x0cy"]


def test_files_that_are_no_tables(tmp_path):
    def refused(text, message):
        path = tmp_path / "runs.csv"
        path.write_bytes(text)
        refuses(message, explain, path, outputs="a")

    refused(b"a,b\n", "has no rows")
    refused(b"", "has no rows")
    refused(b"a,b\n1,2\n1\n", "Row 3 of .* has 1 entries; expected 2")
    refused(b"a,a\n1,2\n", "2 columns 'a'")
    refused(b"\xff\xfe\x00", "UTF-8")
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        explain(tmp_path / "none.csv", outputs="a")


def test_one_of_two_factors_is_no_counter(X, y):
    """Each level of one factor has each level of the other once, as seeds have."""
    table = {"rate": np.repeat(X[:12, 0], 2), "units": [4, 8] * 12, "acc": y}
    assert read(table, outputs="acc").data.names == ("rate", "units")
    table["random_state"] = table.pop("units")
    assert read(table, outputs="acc").design.counter == "random_state"


def test_members_are_rows_of_the_table_beside_runs_that_failed(rng):
    X, y = rng.normal(size=(60, 3)), 0.2 * rng.normal(size=60)
    X[[20, 40], 0], y[[20, 40]] = [4.0, 5.0], y[[20, 40]] + [3.0, 4.0]
    y[:10] = np.nan
    rests = [c for c in explain(X, y).cautions if c.code == "rests on members"]
    assert {row for one in rests for row in one.figures["members"]} == {20}
    assert str(rests[0]).endswith("rests on member 20 alone, which lies far out")


def test_nothing_rests_on_members_without_which_it_is_found():
    rng = np.random.default_rng(1003)
    age = rng.uniform(size=300)
    table = {"age": age, "group": np.floor(4 * age), "z": rng.normal(size=300)}
    late = np.maximum(age - 0.6, 0)
    table["y"] = late / late.std() + 0.1 * rng.normal(size=300)
    found = explain(table, outputs="y")
    assert found.drivers.state[0].tolist()[0] == "not settled"  # nor told from group
    assert "rests on members" not in [one.code for one in found.cautions]


def test_a_score_is_explained_as_the_loss_that_it_is_minus_of(X, y):
    loss = np.where(np.arange(len(y)) % 7 == 3, np.nan, y)
    answers = [skpce.explain(X, np.column_stack([y, sign * loss])) for sign in (1, -1)]
    assert str(answers[0]) == str(answers[1])
    for name in ("p_value", "first", "total_high", "more_runs"):
        of_loss, of_score = (getattr(one.drivers, name) for one in answers)
        assert_array_equal(of_loss, of_score)


def test_the_model_knows_names_logarithms_and_levels(table):
    answer = explain(table, inputs=["rate", "kind"], outputs="accuracy", log=["rate"])
    assert answer.model.feature_names_in_.tolist() == ["rate", "kind"]
    assert answer.source.levels == answer.model.levels_ == {"kind": ("a", "b")}
    assert_allclose(answer.source.X[:, 0], np.log10(table["rate"]))
    predicted = answer.predict(table)
    assert np.corrcoef(predicted, table.accuracy)[0, 1] > 0.8
    columns = table[["rate", "kind"]]
    for same in (
        columns.to_numpy(),
        columns.to_dict("list"),
        columns.to_dict("records"),
    ):
        assert_allclose(answer.predict(same), predicted)
    assert_allclose(answer.predict(dict(columns.iloc[0])), predicted[:1])


@cases(
    ("settings", "match"),
    ({"rate": [0.1]}, "no column 'kind'; expected.*'rate', 'kind'"),
    ({"rate": [0.1], "kind": ["c"]}, "'c' as 'kind', which no run had.*'a', 'b'"),
    ({"rate": [0.0], "kind": ["a"]}, "the value 0 of 'rate', whose logarithm"),
    ({"rate": ["fast"], "kind": ["a"]}, "values of 'rate' that are no finite numbers"),
    ([[0.1, 0.2, 0.3]], r"the shape \(1, 3\); expected a table with the columns"),
)
def test_predicted_settings_have_the_inputs_of_the_runs(table, settings, match):
    answer = explain(table, inputs=["rate", "kind"], outputs="accuracy", log=["rate"])
    with pytest.raises(ValueError, match=match):
        answer.predict(settings)


@pytest.mark.parametrize("orient", ["columns", "list"])
def test_json_of_columns_is_read_as_its_rows(tmp_path, orient):
    x = np.random.default_rng(0).uniform(size=40).round(6)
    table = {"rate": x, "loss": np.sqrt(x)}
    if orient == "list":
        found = {name: column.tolist() for name, column in table.items()}
    else:
        found = {n: {str(k): v for k, v in enumerate(c)} for n, c in table.items()}
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    assert_array_equal(read(path, outputs="loss").data.X[:, 0], x)


def test_decimal_commas_beside_semicolons_are_points(tmp_path):
    x = np.random.default_rng(0).uniform(size=40).round(6)
    rows = [f"{a};{a**2:.3e};n{k % 2}" for k, a in enumerate(x)]
    path = tmp_path / "runs.csv"
    text = "\n".join(["rate;loss;kind", *rows]).replace(".", ",")
    path.write_text(text, encoding="utf-8")
    found = read(path, outputs="loss")
    assert_array_equal(found.data.X[:, 0], x)
    assert found.data.levels["kind"] == ("n0", "n1")


def test_inputs_that_are_one_group_may_add_up_to_one():
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 3, 80)
    table = {"rate": rng.uniform(size=80)}
    table |= {name: 1.0 * (kind == k) for k, name in enumerate("ABC")}
    table["y"] = table["rate"] + table["A"] + 0.1 * rng.normal(size=80)
    found = skpce.explain(table, outputs="y", together={"kind": ["A", "B", "C"]})
    assert not [c for c in found.cautions if c.code == "constraint"]


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_where_nothing_is_predicted_no_input_does_not_matter(seed):
    """Repeats say that all is noise, but nothing of runs left out is predicted."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(32, 2)), 2, axis=0)
    answer = skpce.explain(X, rng.normal(size=64))
    assert answer.q2[0] <= 0
    assert (answer.drivers.total_high == 1).all()
    assert (answer.drivers.state == "not settled").all()


def test_shares_of_one_enormous_run_have_no_lower_end():
    rng = np.random.default_rng(11)
    X = rng.uniform(size=(80, 4))
    y = X[:, 0] + 0.3 * rng.normal(size=80)
    y[:3] = [1e3, -1e4, 1e5]
    found = skpce.explain(X, y)
    assert found.drivers.total_low.max() == 0.0
    assert [c.code for c in found.cautions] == ["few runs differ"]
    assert "not predicted" not in str(found)


@pytest.mark.parametrize("shift", [0, 5])
def test_means_of_blocks_of_a_series_are_taken_out(shift, rng):
    X, day = rng.uniform(size=(60, 3)), np.repeat([0, 1, 2], 20)
    y = 2 * X[:, 0] + 0.3 * rng.normal(size=60) + shift * (day - 1)
    found = skpce.explain(X, y, order=np.arange(60), blocks=day)
    assert found.drivers.state[0].tolist() == ["drives", "not settled", "not settled"]
    assert "means of 3 blocks are taken out" in str(found.design)


def test_inputs_that_are_stated_as_log_uniform_are_taken_in_logarithms(X, y):
    rate = 10 ** (3 * X[:, :1])
    laws = {"rate": stats.loguniform(10**0.3, 1000), "units": stats.lognorm(2, scale=9)}
    data = np.column_stack([rate, np.exp(X[:, 1])])
    found = read(data, y, inputs=laws, log=("rate",)).data
    assert found.logarithms == ("rate", "units")
    assert_allclose(found.X[:, 0], 3 * X[:, 0])
    ends, middle = (found.stated[name] for name in laws)
    assert_allclose(ends.support(), [0.3, 3.0])
    own = np.log10(laws["units"].ppf([0.1, 0.7]))
    assert_allclose(middle.ppf([0.1, 0.7]), own)
    shifted = stats.loguniform(1, 10, loc=2)
    assert read(X[:, :1], y, inputs={"a": shifted}).data.logarithms == ()


def test_what_cannot_be_tested_is_said_of_each_of_several_outputs(rng):
    groups = np.repeat([0, 1], 30)
    X = np.column_stack([rng.normal(size=60), groups])
    y = X[:, :1] + rng.normal(size=(60, 2))
    answer = skpce.explain(X, y, groups=groups)
    assert (answer.drivers.state == "not settled").all()
    assert str(answer).count("x1 cannot be tested: 2 units of the design") == 2


@pytest.mark.slow
def test_memory_of_large_tables_grows_with_their_rows(rng):
    X = rng.uniform(size=(30_000, 2))
    y = X[:, 0] + rng.normal(size=30_000)
    tracemalloc.start()
    try:
        answer = skpce.explain(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.drivers.state[0, 0] == "drives"
    assert peak < 8 * 30_000**2 / 10  # a tenth of a matrix of all runs by all


def test_what_folds_do_to_all_settings_is_taken_out():
    rng = np.random.default_rng(0)
    rate, fold = (column.ravel() for column in np.mgrid[0:5, 0:5])
    shift = 0.1 * rng.normal(size=5)[fold]
    score = 0.02 * rate + shift + 0.005 * rng.normal(size=25)
    answer = skpce.explain(
        {"rate": rate, "fold": fold, "score": score}, outputs="score"
    )
    assert answer.drivers.state.tolist() == [["drives"]]
    assert "Note: fold shifts all settings" in str(answer)
    assert "within 5 blocks" in str(answer.design)
    same = skpce.explain(
        {"rate": rate, "fold": fold, "score": score - shift}, outputs="score"
    )
    assert same.design.blocks is None
    some = np.flatnonzero(rng.uniform(size=25) < 0.85)  # runs are missing
    rows = {"rate": rate[some], "fold": fold[some], "score": score[some]}
    assert "within 5 blocks" in str(skpce.explain(rows, outputs="score").design)


def test_rows_of_one_run_are_exchanged_together(rng):
    run = np.repeat(np.arange(30), 3)
    rows = {"depth": rng.choice([2, 4, 8], 30)[run], "run_id": run}
    rows["metric"] = np.tile(["acc", "f1", "auc"], 30)
    rows["level"] = rng.normal(size=30)[run] + 0.1 * rng.normal(size=90)
    answer = skpce.explain(rows, outputs="level")
    assert answer.source.names == ("depth", "metric")
    assert answer.drivers.state.tolist() == [["not settled", "not settled"]]
    assert answer.design.groups.tolist() == run.tolist()
    assert "Note: 'run_id' names runs of several rows" in str(answer)


def test_labels_that_have_inputs_of_their_own_are_groups(rng):
    model = np.repeat(np.arange(16), 6)
    rows = {"size": rng.choice([1, 7, 70], 16)[model], "task": np.tile(range(6), 16)}
    rows["model"] = [f"model {'abcdefghijklmnop'[k]}" for k in model]
    rows["score"] = rows["task"] + rng.normal(size=16)[model] + rng.normal(size=96) / 5
    asked = {"inputs": ["size", "task"], "outputs": "score"}
    answer = skpce.explain(rows, **asked)
    assert answer.design.groups.tolist() == model.tolist()
    assert answer.drivers.state.tolist() == [["not settled", "drives"]]
    assert "Note: Rows of one 'model' have equal 'size', and belong" in str(answer)
    for other in ({"order": False}, {"blocks": "task"}):
        assert skpce.explain(rows, **{**asked, **other}).design.groups is None
    chance = {**rows, "size": np.where(np.arange(96) == 3, 1, 7)}
    chance["model"] = [f"host {k}" for k in np.arange(96) // 2]
    chance["size"][2] = 1  # hosts of two runs, which agree by chance
    assert skpce.explain(chance, **asked).design.groups is None


def test_inputs_that_change_with_dates_are_noted(rng):
    day = rng.permutation(60)
    rows = {"width": np.where(rng.uniform(size=60) < day / 60, 512, 64)}
    rows |= {
        "rate": rng.uniform(size=60),
        "score": day / 30 + 0.3 * rng.normal(size=60),
    }
    rows["date"] = np.datetime64("2026-01-01") + day
    told = "Note: 'width' changes with 'date', and so do outputs"
    assert told in str(skpce.explain(rows, outputs="score"))
    rows["date"] = [f"{date}T09:00:00.000Z" for date in rows["date"]]
    answer = skpce.explain(rows, outputs="score", order="date")
    assert told not in str(answer)
    assert answer.drivers.state.tolist() == [["not settled", "not settled"]]


@pytest.mark.parametrize("name", ["task", "epoch"])
def test_rows_of_one_run_are_found_by_what_they_have_in_common(rng, name):
    rows = np.stack(np.meshgrid(*map(np.arange, (3, 3, 4, 3)), indexing="ij"))
    rate, width, own, seed = (column.ravel() for column in rows)
    run = np.unique(np.column_stack([rate, width, seed]), axis=0, return_inverse=True)
    loss = rate + rng.normal(size=27)[run[1].ravel()] + 0.1 * rng.normal(size=108)
    table = {"rate": rate, "width": width, name: own, "seed": seed, "loss": loss}
    answer = skpce.explain(table, outputs="loss", replicate="seed")
    assert len(np.unique(answer.design.groups)) == 27
    assert f"Note: {name!r} varies within runs" in str(answer)
    width = answer.input_names.index("width")
    assert answer.drivers.state[0, width] != "drives"


def test_seeds_that_shift_an_ablation_are_taken_out(rng):
    flags = np.vstack([np.ones(5), 1.0 - np.eye(5)]).repeat(5, axis=0)
    seed, shift = np.tile(np.arange(5), 6), 2.0 * rng.normal(size=5)
    table = {f"flag{i}": own for i, own in enumerate(flags.T)} | {"seed": seed}
    table["accuracy"] = 2.0 * flags[:, 0] + shift[seed] + 0.5 * rng.normal(size=30)
    found = skpce.explain(table, outputs="accuracy").drivers
    assert found.state[0, 0] == "drives"
    assert "drives" not in found.state[0, 1:]
    assert found.total_high[0, 0] - found.total_low[0, 0] < 0.6


def test_columns_of_trackers_are_no_inputs(rng):
    rate, step = rng.uniform(size=40), rng.integers(5, 90, 40)
    rows = {"rate": rate, "_step": step, "loss": rate + step}
    assert list(skpce.explain(rows, outputs="loss").source.names) == ["rate"]
    curves = rows | {"rate": np.repeat([1, 2, 3, 4], 10), "_step": np.arange(40) % 10}
    assert len(skpce.explain(curves, outputs="loss").source.names) == 2


@pytest.mark.slow
def test_pairs_of_a_driver_without_noise_name_nothing_else():
    named = []
    for seed in range(60):
        X = np.random.default_rng(seed).normal(size=(40, 3))
        named.append("drives" in skpce.explain(X, X[:, 0]).drivers.state[0, 1:])
    assert sum(named) <= 7  # more of 60 at a level of .05: in one of a hundred


def test_probabilities_that_hardly_vary_are_explained(rng):
    tiny = np.exp(-200.0 + rng.normal(size=40))
    answer = skpce.explain(rng.normal(size=(40, 2)), np.column_stack([tiny, 1 - tiny]))
    assert answer.n_members == 40


def test_widths_in_another_order_than_the_columns_are_refused(rng):
    y = np.hstack([rng.dirichlet(np.ones(k), size=40) for k in (3, 2)])
    X = rng.normal(size=(40, 2))
    words = r"widths \[2, 3\] are in another order than the columns"
    refuses(words, skpce.explain, X, y, steps={"a": 2, "b": 3})


def test_results_beside_the_output_are_no_inputs(rng):
    size = rng.uniform(size=40)
    rows = {"size": size, "mmlu/match": size + 0.1 * rng.normal(size=40)}
    rows |= dict.fromkeys(("arc/match", "eval/x", "mape"), rows["mmlu/match"] ** 2)
    answer = skpce.explain(rows, outputs="mmlu/match")
    assert list(answer.source.names) == ["size"]
    assert "'arc/match', 'eval/x' and 'mape' look like results" in str(answer)


def test_a_word_among_numbers_is_noted(rng):
    rate = rng.choice(["0.1", "0.01", "0.001"], 40).astype(object)
    rate[3] = "0.1?"
    answer = skpce.explain({"rate": rate, "y": rng.normal(size=40)}, outputs="y")
    assert "Note: The input rate is labels: '0.1?' is no number." in str(answer)


def test_labels_that_differ_in_case_alone_are_noted(rng):
    rows = {"gpu": rng.choice(["A100", "a100", "T4"], 40), "y": rng.normal(size=40)}
    words = "Note: Some labels of gpu differ in case alone."
    assert words in str(skpce.explain(rows, outputs="y"))


def test_zeros_among_probabilities_are_a_caution(rng):
    shares = rng.dirichlet(np.ones(3), size=40)
    shares[:3] = [0.0, 0.5, 0.5]
    with pytest.warns(UserWarning, match="y has 3 zeros, in 3 of 40 members"):
        answer = skpce.explain(rng.normal(size=(40, 2)), shares)
    assert "Caution: 3 zeros, in 3 of the runs, have no logarithm" in str(answer)


def test_what_another_input_stands_for_is_not_said_not_to_matter():
    rng = np.random.default_rng(0)
    rate, depth = rng.uniform(-4, -1, 60), rng.choice([2, 4, 6], 60)
    score = -((rate + 2) ** 2) + 0.1 * rng.normal(size=60)
    other = score * 1.4 + 0.02 * rng.normal(size=60)
    answer = skpce.explain(np.column_stack([rate, depth, other]), score)
    assert answer.drivers.state[0][0] == answer.drivers.state[0][2] == "not settled"
    assert "x2 and x0 cannot be told apart" in str(answer)


def test_columns_left_out_that_differ_between_repeats_are_noted(rng):
    model, data, seed = (column.ravel() for column in np.mgrid[0:6, 0:3, 0:2])
    score = data + 0.1 * model + 0.05 * rng.normal(size=36)
    rows = {"model": model, "data": data, "seed": seed, "score": score}
    words = "'data' is no input and differs between runs with equal inputs"
    assert words in str(skpce.explain(rows, outputs="score", inputs=["model"]))
    both = skpce.explain(rows, outputs="score", inputs=["model", "data"])
    assert "is no input and" not in str(both)


@pytest.mark.slow
def test_a_pair_that_the_fit_has_missed_has_no_upper_end():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 30))
    y = X[:, 0] + 0.8 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=80)
    answer = skpce.explain(X, y)
    found = answer.drivers.to_frame().set_index("input").loc[["x1", "x2"]]
    assert (found["state"] == "drives").all()
    assert (found["total_high"] >= 0.37).all()  # what they explain


def test_repeats_of_two_settings_measure_the_noise(rng):
    variant = np.repeat([0, 1], 50)
    score = 0.02 * variant + 0.01 * rng.normal(size=100)
    answer = skpce.explain({"variant": variant, "score": score}, outputs="score")
    inside = np.mean([score[variant == k].var() for k in (0, 1)])
    assert_allclose(answer.noise_share, inside / score.var())
    assert "is noise between repeats" in str(answer)


def test_predictions_are_those_within_blocks(rng):
    r, day = rng.uniform(size=60), np.arange(60) % 4
    runs = {"r": r, "day": day, "z": r + 3 * day + 0.01 * rng.normal(size=60)}
    answer = skpce.explain(runs, outputs="z", blocks="day")
    assert_allclose(np.diff(answer.predict({"r": [0.1, 0.9]})), 0.8, rtol=0.05)
    every = skpce.explain(runs, outputs="z", inputs=["r"])
    assert not every.attributable[0]


@pytest.mark.parametrize(
    "labels",
    [["1", 1, "x"], [(8,), (8, 8), (1,)], [False, True], ["b", "a", "c"]],
)
def test_labels_of_any_type_are_predicted(labels, rng):
    pandas = pytest.importorskip("pandas")
    r, k = rng.uniform(size=60), rng.integers(0, len(labels), 60)
    column = np.empty(60, dtype=object)
    column[:] = [labels[i] for i in k]
    runs = pandas.DataFrame({"r": r, "m": column, "z": k + r})
    runs["z"] += 0.01 * rng.normal(size=60)
    answer = skpce.explain(runs, outputs="z")
    assert_allclose(answer.predict(runs), runs["z"], atol=0.1)
    if labels[-1] == "c":  # its ranks
        runs["m"] = pandas.Categorical(runs["m"], categories=labels, ordered=True)
        answer = skpce.explain(runs, outputs="z", inputs={"r": None, "m": "empirical"})
        assert_allclose(answer.predict(runs), runs["z"], atol=0.1)
