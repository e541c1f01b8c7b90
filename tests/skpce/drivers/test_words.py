"""The words of an answer, from values that are set by hand."""

from __future__ import annotations

import numpy as np
import pytest

import skpce
from skpce.drivers import Caution, State
from skpce.drivers._answer import sentences_of
from skpce.drivers._cautions import cautions_in_words
from skpce.drivers._findings import (
    parts_of,
)
from tests.skpce.verdicts import findings

D, S, N, O = State.DRIVES, State.SPREAD, State.NOTHING, State.OPEN  # noqa: E741
NAMES = ("rate", "units", "drop", "kind")


def words(found, outputs=("accuracy",), names=NAMES):
    return sentences_of(found, names, outputs, 0.05)


def test_drivers_are_listed_by_total_with_intervals_and_all_of_the_variance():
    found = findings([D, D, N, O], [0.2, 0.6, 0.01, 0.03], more=[[*[np.nan] * 3, 40]])
    assert words(found) == (
        "units drives 60 % of the variance of accuracy (55 to 65 %) and rate 20 % (15 "
        "to 25 %). drop does not matter (below 5 %). kind is not settled (about 40 "
        "more runs would settle it). 6 % the model gives to several inputs together "
        "and 10 % is not predicted by this model.",
    )


def test_noise_is_apart_from_what_is_not_predicted():
    found = findings([D, N, N, N], [0.9, 0, 0, 0], q2=0.9, noise=0.1)
    (text,) = words(found)
    assert text.endswith(
        "units, drop and kind do not matter (below 5 % each). Less than 1 % is not "
        "predicted by this model and 10 % is noise between repeats."
    )
    assert [name for name, _ in parts_of(found, 0)][1:] == ["noise between repeats"]
    assert sum(share for _, share in parts_of(found, 0)) == pytest.approx(0.1)


def test_the_scope_of_a_test_is_said():
    found = findings([D, D, N, N], [0.5, 0.3, 0, 0])
    found.tested.scope[:] = "tried"
    assert "This is shown at the settings tried, not beyond them." in words(found)[0]
    found.tested.scope[0, 0] = "beyond"
    assert "What units does is shown at the settings tried" in words(found)[0]
    assert "settings tried" not in words(findings([D, N, N, N], [0.9, 0, 0, 0]))[0]


def test_nothing_is_said_of_shares_that_no_test_has_let_through():
    (text,) = words(findings([O, O, N, N], [0.5, 0.4, 0, 0], q2=0.1))
    assert text == (
        "No input is shown to drive accuracy. drop and kind do not matter (below 5 % "
        "each). rate and units are not settled."
    )
    (text,) = words(findings([O, O, N, N], [0.5, 0.4, 0, 0], q2=0.92))
    assert text.endswith(
        "The model predicts 92 % of the variance of runs left out, but the test cannot "
        "say by which input."
    )
    (text,) = words(findings([O, O, O, O], [0.1] * 4, q2=0.0, noise=0.8))
    assert text.endswith("80 % is noise between repeats.")


def test_an_input_that_acts_on_the_spread_drives_nothing():
    (text,) = words(findings([S, N, N, N], [0.0] * 4, q2=0.0))
    assert text.startswith(
        "No input is shown to drive accuracy. rate acts on the spread of accuracy."
    )


def test_inputs_that_cannot_be_told_apart_are_named_once():
    cautions = [
        Caution("constraint", {"inputs": ("rate", "units", "drop"), "sum": 1.0}),
        Caution("alike", {"inputs": ("rate", "units", "drop")}),
        Caution("not exchanged", {"inputs": ("kind",), "why": "too few"}),
    ]
    found = findings([O, O, O, O], [0.3, 0.3, 0.3, 0], q2=0.9, cautions=cautions)
    (text,) = words(found)
    assert (
        "rate, units and drop cannot be told apart: they add up to 1 in every run. "
        "kind cannot be tested: too few."
    ) in text
    assert "not settled" not in text
    shown = cautions_in_words(cautions)
    assert [line.partition(":")[0] for line in shown] == ["Caution"] * 2
    assert shown[0].endswith("or name them as a group by together=.")


def test_many_outputs_are_summarised_by_their_drivers():
    total = [[0.5 + k / 100, 0.3, 0, 0] for k in range(8)]
    states = [[D, O, N, N]] * 6 + [[O, O, N, N]] * 2
    names = [f"task {k}" for k in range(8)]
    found = findings(states, total)
    first, second = words(found, names)
    assert first == (
        "rate drives 50 to 55 % of the variance of task 0, task 1, task 2, task 3 and "
        "2 more (intervals within 45 to 60 %). drop and kind do not matter (below 5 % "
        "each). units is not settled. 10 % is not predicted by this model."
    )
    assert second.startswith("No input is shown to drive task 6 and task 7.")
    found.shares.q2[0, [1, 3]] = -0.1, 0.2
    assert words(found, names)[0].endswith(
        "this model. Of runs left out, fits to the others predict 0 to 20 % of task 1 "
        "and task 3: the shares may change with more runs."
    )


def test_many_inputs_are_counted():
    names = [f"x{k}" for k in range(20)]
    (text,) = words(findings([D] + [N] * 19, [0.9] + [0] * 19), names=names)
    assert "The other 19 inputs do not matter (below 5 % each)." in text
    (text,) = words(findings([O] * 20, [0.0] * 20, q2=0.0), names=names)
    assert "x0, x1, x2, x3 and 16 more are not settled." in text


def test_inputs_with_small_shares_in_much_noise_are_told_of_repeats(rng):
    X = rng.uniform(size=(300, 3))
    (text,) = skpce.explain(X, X[:, 0] + 0.4 * rng.normal(size=300)).sentences
    assert "not settled: below 5 % as far as the model sees, which leaves" in text
    assert "Repeats of settings would tell" in text
    assert "more runs" not in text
