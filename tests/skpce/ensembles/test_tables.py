"""Tables of runs as ensembles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from skpce import PolynomialChaosRegressor
from skpce.ensembles import from_frame


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    n = 40
    return pd.DataFrame(
        {
            "learner": rng.choice(["svm", "tree", "knn"], n),
            "rate": 10.0 ** rng.uniform(-4, 0, n),
            "depth": rng.integers(1, 9, n),
            "seed": np.arange(n) % 4,
            "accuracy": rng.uniform(size=n),
            "time": rng.uniform(size=n),
        }
    )


def test_inputs_become_numbers_with_the_names_that_were_given(table):
    runs = from_frame(table, ["learner", "rate", "depth"], "accuracy", log=["rate"])
    assert list(runs.X.columns) == ["learner", "rate", "depth"]
    np.testing.assert_allclose(runs.X["rate"], np.log10(table["rate"]))
    assert runs.levels == {"learner": ("knn", "svm", "tree")}
    decoded = [runs.levels["learner"][int(code)] for code in runs.X["learner"]]
    assert decoded == table["learner"].tolist()
    assert runs.distribution == ("categorical", "empirical", "empirical")
    assert runs.notes == ()


def test_an_estimator_takes_what_is_read(table):
    runs = from_frame(table, ["learner", "rate"], ["accuracy", "time"])
    pce = PolynomialChaosRegressor(2, distribution=runs.distribution)
    pce.fit(runs.X, runs.y)
    assert pce.feature_names_in_.tolist() == ["learner", "rate"]
    assert pce.sobol_indices_.shape == (2, 2)


def test_polars_is_read_as_pandas_is(table):
    columns = ["learner", "depth"], ["accuracy", "time"]
    one = from_frame(table, *columns, replicate="seed")
    two = from_frame(pl.DataFrame(table.to_dict("list")), *columns, replicate="seed")
    for ours, theirs in ((one.X, two.X), (one.y, two.y)):
        assert isinstance(theirs, pl.DataFrame)
        pd.testing.assert_frame_equal(
            ours, pd.DataFrame(theirs.to_dict(as_series=False))
        )
    np.testing.assert_array_equal(one.setting, two.setting)


def test_settings_are_rows_of_equal_inputs(table):
    runs = from_frame(table, ["learner", "depth"], "accuracy", replicate="seed")
    keys = list(zip(table["learner"], table["depth"], strict=True))
    for i, one in enumerate(keys):
        for j, two in enumerate(keys):
            assert (runs.setting[i] == runs.setting[j]) == (one == two)


def test_replicates_that_do_not_repeat_are_refused(table):
    with pytest.raises(ValueError, match="No two of 40 runs have equal inputs"):
        from_frame(table, ["rate"], "accuracy", replicate="seed")


def test_distributions_can_be_given(table):
    law = stats.randint(1, 9)
    runs = from_frame(table, {"depth": law, "rate": None}, "accuracy")
    assert runs.distribution == (law, "empirical")


def test_groups_of_outputs_have_two_levels(table):
    runs = from_frame(table, ["depth"], {"quality": ["accuracy"], "cost": "time"})
    assert runs.y.columns.tolist() == [("quality", "accuracy"), ("cost", "time")]


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
    assert "2 of 40" in str(runs)


def test_an_input_that_does_not_vary_is_left_out(table):
    runs = from_frame(table.assign(rate=1.0), ["rate", "depth"], "accuracy")
    assert list(runs.X.columns) == ["depth"]
    assert runs.notes == ("The input rate is 1.0 in all runs and is left out.",)


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, (["nope"], "accuracy"), "no column 'nope'; it has 'learner', 'rate'"),
        ({}, (["rate"], "rate"), "'rate' is given for two purposes"),
        ({}, ([], "accuracy"), "at least one input"),
        ({}, (["rate"], []), "at least one input and one output"),
        ({}, (["rate"], {}), "at least one input and one output"),
        ({"accuracy": "good"}, (["rate"], "accuracy"), "no numbers, such as 'good'"),
        ({"accuracy": np.inf}, (["rate"], "accuracy"), "infinite in 40 rows"),
        ({"accuracy": 1.0}, (["rate"], "accuracy"), "is 1.0 in all runs"),
        ({"accuracy": np.nan}, (["rate"], "accuracy"), "0 runs have an output"),
        ({"rate": np.nan}, (["rate"], "accuracy"), "'rate' is missing in 40 of 40"),
        ({"rate": 1.0}, (["rate"], "accuracy"), "No input varies in the 40 runs"),
        ({}, ({"rate": "gaussian"}, "accuracy"), "'rate' must be None.*'gaussian'"),
        ({}, ({"learner": "normal"}, "accuracy"), "no numbers, such as"),
    ],
)
def test_bad_tables_are_refused(table, change, arguments, message):
    with pytest.raises(ValueError, match=message):
        from_frame(table.assign(**change), *arguments)


def test_logarithms_of_other_columns_and_values_are_refused(table):
    with pytest.raises(ValueError, match="log has 'time', which is no input"):
        from_frame(table, ["rate"], "accuracy", log=["time"])
    with pytest.raises(ValueError, match="'rate', which has the value 0"):
        from_frame(table.assign(rate=range(40)), ["rate"], "accuracy", log=["rate"])
    with pytest.raises(ValueError, match="Got list"):
        from_frame([1, 2], ["rate"], "accuracy")


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


def test_columns_may_have_names_that_are_no_text(table):
    runs = from_frame(table.rename(columns={"depth": 0, "accuracy": 1}), [0], 1)
    assert runs.X.columns.tolist() == [0]
    assert runs.y.columns.tolist() == [1]


@pytest.mark.parametrize(
    "values",
    [
        pd.Timestamp("2020-01-01") + pd.to_timedelta(range(40), "D"),
        np.arange(40) + 1j,
        [[1]] * 40,
    ],
)
def test_dates_complex_numbers_and_lists_are_no_outputs(table, values):
    with pytest.raises(ValueError, match="values that are no numbers, such as"):
        from_frame(table.assign(accuracy=list(values)), ["depth"], "accuracy")


def test_lists_and_logarithms_of_labels_are_no_inputs(table):
    with pytest.raises(ValueError, match=r"values such as \[1\]; expected numbers or"):
        from_frame(table.assign(depth=[[1]] * 40), ["depth"], "accuracy")
    with pytest.raises(ValueError, match="'learner', which is categorical"):
        from_frame(table, ["learner"], "accuracy", log=["learner"])


def test_an_empty_output_is_refused(table):
    with pytest.raises(ValueError, match="with a column for 'cost'"):
        from_frame(table, ["depth"], {"quality": ["accuracy"], "cost": []})
