"""Entries of a part: against closed forms, brute force and solving by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from skpce.inspection import part_entries, parts_of_table
from tests.shared import cases, clr, refuses

N_MEMBERS = 60


def yields_and_costs(seed=0, scales=(1.0, 3.0, 0.5, 2.0)):
    rng = np.random.default_rng(seed)
    return {
        "yields": rng.normal(size=(N_MEMBERS, len(scales))) * scales,
        "costs": rng.normal(size=(N_MEMBERS, len(scales))),
    }


def weighted_sum(z):
    return z @ [1.0, -2.0, 0.5, 1.0]


def test_entries_of_a_linear_model_are_exact():
    """Its screening and its verification are both the variance of a summand."""
    parts = yields_and_costs()
    found = part_entries(weighted_sum, parts, "yields", n_best=3)
    whole = sum(parts.values()) @ [1.0, -2.0, 0.5, 1.0]
    own = parts["yields"].var(axis=0) * np.square([1.0, -2.0, 0.5, 1.0]) / whole.var()
    assert found.entry[0].tolist() == ["1", "3", "0"]
    assert set(found.part[0]) == {"yields"}
    assert_allclose(found.screened[0], own[[1, 3, 0]])
    assert_allclose(found.alone, found.screened)
    without = parts["yields"].copy()
    without[:, 1] = without[:, 1].mean()
    left = weighted_sum(without + parts["costs"]).var() / whole.var()
    assert_allclose(found.left[0, 0], left)
    assert found.n_solutions == N_MEMBERS + 1 + 4 + 2 * N_MEMBERS * 3


def test_ranks_are_those_of_brute_force_on_a_policy():
    """Of a policy each entry is solved for, one at a time, without the screening."""
    parts = yields_and_costs(1)

    def model(z):
        return softmax(z, axis=1)

    found = part_entries(model, parts, "yields", steps={"choice": 4}, n_best=4)
    mean = {name: values.mean(axis=0) for name, values in parts.items()}
    alone = {}
    for entry in range(4):
        z = np.tile(mean["yields"] + mean["costs"], (N_MEMBERS, 1))
        z[:, entry] += parts["yields"][:, entry] - mean["yields"][entry]
        alone[str(entry)] = clr(model(z)).var(axis=0).sum()
    order = sorted(alone, key=alone.get, reverse=True)
    assert found.entry[0].tolist() == order
    whole = clr(model(sum(parts.values()))).var(axis=0).sum()
    shares = np.array([alone[name] for name in order]) / whole
    assert_allclose(found.alone[0], shares)


def test_levels_of_a_main_effect_are_entries():
    """Elements of one label move together: a main effect is one value a level."""
    rng = np.random.default_rng(2)
    table = 2.0 * rng.normal(size=(40, 3, 1)) + rng.normal(size=(40, 3, 5))
    parts = parts_of_table(table, ["base", "halide"])
    level = np.broadcast_to(np.arange(3)[:, np.newaxis], (3, 5))

    def model(z):
        return z.sum(axis=2)

    labels = np.array(["K", "Na", "Cs"])[level]
    found = part_entries(model, parts, "base", labels=labels, outputs={"sums": 3})
    assert sorted(found.entry[0]) == ["Cs", "K", "Na"]
    sums = parts["base"].sum(axis=2)
    shares = sums.var(axis=0) / table.sum(axis=2).var(axis=0).sum()
    by_name = dict(zip(["K", "Na", "Cs"], shares, strict=True))
    expected = [by_name[name] for name in found.entry[0]]
    assert_allclose(found.screened[0], expected)
    assert_allclose(found.alone[0], expected)


def test_an_entry_moves_along_its_first_principal_direction():
    rng = np.random.default_rng(3)
    score = rng.normal(size=30)
    parts = {
        "a": np.c_[score, -3.0 * score, rng.normal(size=30)],
        "b": rng.normal(size=(30, 3)),
    }
    seen = []

    def model(z):
        seen.append(z)
        return z

    part_entries(model, parts, "a", labels=list("xxz"), outputs={"all": 3})
    move = seen[2][0] - seen[1][0]
    assert move[2] == 0.0
    assert_allclose(np.abs(move[:2]), score.std(ddof=1) * np.r_[1, 3])
    assert move[0] * move[1] < 0.0
    assert move[1] > 0.0


def test_each_output_may_have_its_own_part():
    parts = yields_and_costs(4)

    def model(z):
        return np.c_[z[:, 0], z[:, 1] + 0.5 * z[:, 3], z[:, 2]]

    asked = {"second": "costs", "first": "yields"}
    outputs = {"first": 1, "second": 1, "third": 1}
    labels = {"yields": list("ABCD")}
    found = part_entries(model, parts, asked, outputs=outputs, labels=labels, n_best=2)
    assert found.output_names == ("first", "second")
    assert found.entry[0, 0] == "A"
    assert found.entry[1].tolist() == ["1", "3"]
    assert found.part.tolist() == [["yields"] * 2, ["costs"] * 2]
    assert found.alone[0, 1] == found.screened[0, 1] == 0.0
    assert found.left[0, 1] == pytest.approx(1.0)
    assert found.n_solutions == N_MEMBERS + 1 + 8 + 2 * N_MEMBERS * 4


def test_an_output_without_variance_has_no_entries():
    found = part_entries(
        lambda z: np.c_[z[:, 0], np.ones(len(z))], yields_and_costs(6), "yields"
    )
    assert found.supported == (True, False)
    assert found.entry[1].tolist() == [""] * 4
    assert np.isnan(found.left[1]).all()


@cases(
    ("arguments", "message"),
    ({"part": "prices"}, "one of 'yields', 'costs'"),
    ({"labels": [0, 1]}, r"expected names of shape \(4,\)"),
)
def test_bad_arguments_are_refused(arguments, message):
    given = {"part": "yields"} | arguments
    refuses(message, part_entries, weighted_sum, yields_and_costs(), **given)
