"""Designs of runs that are still to be made."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from skpce.ensembles import sample_inputs, slice_design
from tests.shared import cases, refuses

LAWS = {
    "x": stats.norm(1, 2),
    "k": stats.randint(1, 5),
    "c": ["a", "b"],
    "d": [1, 2, 3],
}


@pytest.mark.parametrize("method", ["sobol", "lhs", "random"])
def test_columns_have_their_distributions(method):
    runs = sample_inputs(LAWS, 512, method, random_state=0)
    assert runs.columns.tolist() == list(LAWS)
    assert stats.kstest(runs["x"], LAWS["x"].cdf).pvalue > 0.01
    assert set(runs["k"]) == {1, 2, 3, 4}
    assert abs((runs["c"] == "a").mean() - 0.5) < 0.08
    assert runs["d"].value_counts().min() > 120


def test_a_seed_gives_the_same_runs_and_any_number_of_them():
    one, two = (sample_inputs(LAWS, 50, random_state=3) for _ in range(2))
    assert len(one) == 50
    assert one.equals(two)
    assert np.isfinite(sample_inputs({"x": stats.norm()}, 4096)["x"]).all()


@cases(
    ("laws", "message"),
    ({}, "distributions must be a dict"),
    ({"x": "normal"}, "'x' must have a frozen distribution"),
    ({"x": ["a", "a"]}, "two or more different levels"),
)
def test_bad_inputs_are_refused(laws, message):
    refuses(message, sample_inputs, laws, 8)


def test_bad_numbers_and_methods_are_refused():
    refuses("'method' parameter of sample_inputs", sample_inputs, LAWS, 4, "grid")


def test_slices_are_seen_equally_often_and_independently():
    design = slice_design(2000, 6, 0.3, random_state=0)
    assert_array_equal(design.sum(axis=0), 600)
    assert design.any(axis=1).all()
    off_diagonal = np.corrcoef(design.T)[np.triu_indices(6, 1)]
    assert np.abs(off_diagonal).max() < 0.16  # those without any take one over


@pytest.mark.parametrize("n_slices", [2, 3, 5])
def test_every_member_sees_a_slice_where_few_are_seen(n_slices):
    n_members = n_slices * 10
    design = slice_design(n_members, n_slices, 1 / n_slices, random_state=1)
    assert_array_equal(design.sum(axis=0), 10)
    assert_array_equal(design.sum(axis=1), 1)


def test_designs_that_cannot_be_are_refused():
    refuses("lets 0 of 10 members see", slice_design, 10, 3, 0.01)
    refuses("25 slices in all, fewer than one", slice_design, 50, 1, 0.5)
    refuses("'rate' parameter of slice_design", slice_design, 10, 3, 1.0)


def test_a_pair_of_numbers_is_bounds_and_a_list_levels():
    given = {"rate": (-4, -1), "flag": [0, 1], "size": [(1, 2), (3, 4)]}
    runs = sample_inputs(given, 16, random_state=0)
    assert runs["rate"].between(-4, -1).all()
    assert runs["rate"].nunique() == 16
    assert sorted(runs["flag"].unique()) == [0, 1]
    assert set(runs["size"]) == {(1, 2), (3, 4)}
