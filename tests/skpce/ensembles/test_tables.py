"""Tables of runs as ensembles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

from skpce.ensembles import from_frame
from tests.shared import cases, refuses


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 40
    columns = {"learner": rng.choice(["svm", "tree", "knn"], n)}
    columns |= {"rate": 10.0 ** rng.uniform(-4, 0, n), "depth": rng.integers(1, 9, n)}
    columns |= {"seed": np.arange(n) % 4, "accuracy": rng.uniform(size=n)}
    return pd.DataFrame(columns | {"time": rng.uniform(size=n)})


def test_inputs_become_numbers_with_the_names_that_were_given(table):
    runs = from_frame(table, ["learner", "rate", "depth"], "accuracy", log=["rate"])
    assert list(runs.X.columns) == ["learner", "rate", "depth"]
    assert_allclose(runs.X["rate"], np.log10(table["rate"]))
    assert runs.levels == {"learner": ("knn", "svm", "tree")}
    decoded = [runs.levels["learner"][int(code)] for code in runs.X["learner"]]
    assert decoded == table["learner"].tolist()
    assert runs.distribution == ("categorical", "empirical", "empirical")
    assert runs.notes == ()


def test_failed_runs_are_counted_not_imputed(table):
    table.loc[[3, 7], ["accuracy", "time"]] = np.nan
    table.loc[9, "time"] = np.nan
    runs = from_frame(table, ["depth", "rate"], ["accuracy", "time"])
    assert len(runs) == 38
    assert np.isnan(runs.y.to_numpy()).sum() == 1
    assert runs.notes == (
        "2 of 40 runs have no output and are left out.",
        "1 of 38 runs failed in some output and count in the others.",
    )


def test_inputs_that_decide_which_runs_fail_are_noted(table):
    table.loc[(table["learner"] == "svm") | (table["rate"] > 0.1), "accuracy"] = np.nan
    runs = from_frame(table, ["learner", "rate", "depth"], "accuracy")
    told = "Runs without an output have other values of 'learner', 'rate': an"
    assert runs.notes[1].startswith(told)


def test_numbers_of_identifiers_that_recur_are_labels(table):
    items = table.assign(item_id=np.arange(40) % 10 * 7)
    runs = from_frame(items, ["item_id", "rate"], "accuracy")
    assert runs.distribution == ("categorical", "empirical")
    stated = from_frame(items, {"item_id": "empirical"}, "accuracy")
    assert stated.distribution == ("empirical",)


def test_an_input_that_does_not_vary_is_left_out(table):
    runs = from_frame(table.assign(rate=1.0), ["rate", "depth"], "accuracy")
    assert list(runs.X.columns) == ["depth"]
    assert runs.notes == ("The input rate is 1.0 in all runs and is left out.",)


RATE, DATES = (["rate"], "accuracy"), pd.date_range("2025-01-01", periods=40)


@cases(
    ("change", "given", "message"),
    (
        {},
        (["nope"], "accuracy"),
        "no column of frame; expected one of 'learner', 'rate'",
    ),
    ({}, (["rate"], "rate"), "'rate' is given for two purposes"),
    ({}, ([], "accuracy"), "inputs is empty; expected at least one"),
    ({}, (["rate"], {"a": ["accuracy"], "cost": []}), r"outputs\['cost'\] is empty"),
    ({"accuracy": "good"}, RATE, "no numbers, such as 'good'"),
    ({"accuracy": np.inf}, RATE, "infinite in 40 rows"),
    ({"accuracy": 1.0}, RATE, "is 1.0 in all runs"),
    ({"accuracy": [1.0, 2, 3, 4, 5] + [np.nan] * 35}, RATE, "5 of 40 runs have an"),
    ({"rate": np.nan}, RATE, "'rate' is missing in 40 of 40"),
    ({"rate": DATES}, RATE, "'rate' has a label of its own"),
    ({}, ({"rate": "gaussian"}, "accuracy"), "'rate' must be None.*'gaussian'"),
    ({}, ({"learner": "normal"}, "accuracy"), "no numbers, such as"),
)
def test_bad_tables_are_refused(table, change, given, message):
    refuses(message, from_frame, table.assign(**change), *given)


def test_bad_logarithms_and_replicates_are_refused(table):
    refuses("log has 'time', which is no input", from_frame, table, *RATE, log=["time"])
    zero = table.assign(rate=range(40))
    refuses("'rate', which has the value 0", from_frame, zero, *RATE, log=["rate"])
    labels = ["learner"], "accuracy"
    refuses("'learner', which is cate", from_frame, table, *labels, log=["learner"])
    single = {"replicate": "seed"}
    refuses("No two of 40 runs have equal inputs", from_frame, table, *RATE, **single)
    refuses("Got list", from_frame, [1, 2], *RATE)


def test_missing_values_of_nullable_types_are_missing(table):
    table["score"] = pd.array(table["accuracy"], dtype="Float64")
    table.loc[3, "score"] = pd.NA
    table["good"] = pd.array(table["accuracy"] > 0.5, dtype="boolean")
    table.loc[4, "good"] = pd.NA
    runs = from_frame(table, ["depth"], ["accuracy", "score", "good"])
    assert runs.y.isna().sum().tolist() == [0, 1, 1]
    table["learner"] = pd.array(table["learner"], dtype="string")
    table.loc[5, "learner"] = pd.NA
    with pytest.raises(ValueError, match="'learner' is missing in 1 of 40 runs"):
        from_frame(table, ["learner"], "accuracy")


def frame_of(library, columns):
    if library == "pandas":
        return pd.DataFrame(columns)
    columns = {name: np.asarray(values).tolist() for name, values in columns.items()}
    return pl.DataFrame(columns, strict=False)


LIBRARIES = pytest.mark.parametrize("library", ["pandas", "polars"])


@LIBRARIES
@cases(
    "texts",
    ("007", "010"),
    ("0,1", "0,2"),
    ("\uff11", "\uff12"),  # digits that programs do not write
    ("auto", "0.1"),
    ("nan", "None"),
)
def test_text_that_is_no_number_is_labels(library, texts):
    table = {"c": texts * 6, "score": np.arange(12.0)}
    runs = from_frame(frame_of(library, table), ["c"], "score")
    assert runs.levels == {"c": tuple(sorted(texts))}
    assert runs.notes == ()
    with pytest.raises(ValueError, match="no numbers, such as"):
        from_frame(frame_of(library, table), {"c": "normal"}, "score")


@cases(
    "write",
    lambda i: "auto" if i % 5 == 0 else str(0.01 * i),
    lambda i: f"{0.01 * i:.2f}".replace(".", ","),
    lambda i: f"{1000 * i:,}",
    lambda i: f"{i}\xa0000",
)
def test_many_values_that_nearly_read_as_numbers_are_refused(write):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"lr": [write(i) for i in range(1, 41)], "score": range(40)})
    refuses(r"'lr' is text: .* look like numbers", from_frame, table, ["lr"], "score")


@LIBRARIES
@cases("texts", ("-1", "+2.5"), ("1e-3", ".5E+2"), (" 3 ", "4."), ("1", 2), ("0", "1"))
def test_text_as_programs_write_numbers_is_numbers(library, texts):
    table = {"c": np.array(texts * 6, dtype=object), "score": np.arange(12.0)}
    runs = from_frame(frame_of(library, table), ["c"], "score")
    assert runs.X["c"].to_list() == [float(text) for text in texts] * 6
    assert runs.distribution == ("empirical",)
    assert "'c'" in runs.notes[0]


@LIBRARIES
def test_text_that_is_said_to_be_categorical_stays_so(library):
    table = frame_of(library, {"c": ["1", "2", "None"] * 4, "score": np.arange(12.0)})
    runs = from_frame(table, {"c": "categorical"}, "score")
    assert runs.levels == {"c": ("1", "2", "None")}
    assert runs.notes == ()


@LIBRARIES
@pytest.mark.parametrize("gap", ["", "None", "nan", "NULL", " <NA> "])
def test_gaps_in_text_that_is_numbers(library, gap):
    texts = [gap, *map(str, range(11))]
    table = frame_of(library, {"c": texts, "x": ["1", "2"] * 6})
    with pytest.raises(ValueError, match=r"'c' is '.*' in 1 of 12 runs.*'categorical'"):
        from_frame(table, ["c"], "x")
    runs = from_frame(table, ["x"], "c")  # as an output: a run that failed
    assert len(runs) == 11
    assert runs.notes[-1] == "Text that reads as numbers is numbers: 'c', 'x'."
    infinite = frame_of(library, {"c": ["inf", *texts[1:]], "x": ["1", "2"] * 6})
    for columns in (("c", "x"), ("x", "c")):
        refuses(r"'c' (has|is) infinite", from_frame, infinite, columns[:1], columns[1])


@LIBRARIES
def test_dicts_of_weights_and_biases_are_columns(library, rng):
    rows = [
        {"lr": 0.001 * (1 + i % 7), "optimizer": {"name": "ab"[i % 2], "betas": [1, 2]}}
        for i in range(20)
    ]
    score = rng.normal(size=20)
    summary = [{"loss": value} for value in score]
    summary[3] = {"loss": None}
    columns = {"config": rows, "summary": summary, "name": [f"r{i}" for i in range(20)]}
    table = pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns)
    inputs = ["config.lr", "config.optimizer.name"]
    runs = from_frame(table, inputs, "summary.loss")
    assert list(runs.X.columns) == inputs
    assert runs.levels == {"config.optimizer.name": ("a", "b")}
    assert_allclose(runs.y["summary.loss"], np.delete(score, 3))
    meant = r"has 'lr', which is no column of frame \(perhaps 'config\.lr'\)"
    refuses(meant, from_frame, table, ["lr"], "summary.loss")


def sized(library, **options):
    sizes = ["small", "tiny", "large"] * 4
    order = ["tiny", "small", "large"]
    if library == "polars":
        column = pl.Series("size", sizes, dtype=pl.Enum(order))
        return pl.DataFrame([column, pl.Series("loss", np.arange(12.0))])
    column = pd.Categorical(sizes, order, ordered=True)
    return pd.DataFrame({"size": column, "loss": np.arange(12.0)})


@LIBRARIES
def test_ordered_categories_keep_their_order(library):
    table = sized(library)
    runs = from_frame(table, ["size"], "loss")
    assert runs.levels == {"size": ("tiny", "small", "large")}
    assert runs.distribution == ("categorical",)
    assert runs.X["size"].to_list() == [1, 0, 2] * 4
    ranks = from_frame(table, {"size": "empirical"}, "loss")
    assert ranks.X["size"].to_list() == [1, 0, 2] * 4
    assert ranks.levels == {}
    assert ranks.notes == (
        "The input size is the rank of its category, from 0 (tiny) to 2 (large).",
    )


def test_categories_without_an_order_stay_labels():
    columns = {
        "digits": pd.Categorical(["1", "10", "2"] * 4),
        "numbers": pd.Categorical([1, 10, 2] * 4),
        "names": pd.Categorical(["b", "a", "c"] * 4, ["c", "b", "a"]),
        "loss": np.arange(12.0),
    }
    runs = from_frame(pd.DataFrame(columns), ["digits", "numbers", "names"], "loss")
    assert set(runs.distribution) == {"categorical"}
    assert runs.levels == {
        "digits": ("1", "10", "2"),
        "numbers": (1, 2, 10),
        "names": ("a", "b", "c"),
    }
    assert runs.notes == ()


@LIBRARIES
@cases(
    ("name", "values", "message"),
    ("name", [f"run-{i}" for i in range(20)], "a label of its own in each of 20"),
    ("Unnamed: 0", range(20), "a whole number of its own .* from 0 to 19"),
    ("trial", [str(i) for i in range(20)], "a whole number of its own"),
    ("run_id", [7 * i * i for i in range(20)], "a whole number .* from 0 to 2527"),
)
def test_names_and_numbers_of_runs_are_no_inputs(library, name, values, message):
    table = frame_of(library, {name: list(values), "loss": np.arange(20.0) ** 2})
    with pytest.raises(ValueError, match=f"The input '{name}' .*{message}.* Leave it"):
        from_frame(table, [name], "loss")
    if "number" in message:
        assert len(from_frame(table, {name: "empirical"}, "loss")) == 20


def test_truth_as_text_is_a_number(table):
    table["good"] = (table["accuracy"] > 0.5).astype(str)
    assert set(from_frame(table, ["depth"], "good").y["good"]) == {0.0, 1.0}


def test_whole_numbers_that_differ_may_be_settings(table):
    table["units"] = np.random.default_rng(0).permutation(1000)[:40]
    assert from_frame(table, ["units"], "accuracy").distribution == ("empirical",)
    table["steps"] = 2 ** np.arange(40)
    assert from_frame(table, ["steps"], "accuracy", log=["steps"]).notes == ()
