"""What a verdict says first: sentences that can be repeated."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce.inspection import training_noise_share, variance_decomposition, verdict
from skpce.inspection._answer import corrected_for, percents, which
from skpce.inspection._ensembles.conditions import failed_conditions
from skpce.inspection._input_tests import without_sign
from tests.skpce.verdicts import verdict_by_hand

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.uniform(size=(60, 3)), columns=["rate", "size", "depth"])
NOISE = RNG.normal(size=60)
MODEL = PolynomialChaosRegressor(2, distribution=(0, 1), solver="ridge")


def said(y, model=MODEL, **options):
    return verdict(model, X, y, random_state=0, **options)


def test_the_first_sentence_names_the_input_and_its_share():
    y = pd.DataFrame({"loss": X["rate"] + 0.05 * NOISE, "score": np.exp(X["rate"])})
    lines = str(said(y)).splitlines()
    assert lines[0].startswith("rate explains 9")
    assert " % of the variance of both outputs (loss, score). " in lines[0]
    assert lines[0].endswith("is explained by none of the inputs.")
    assert lines[1] == (
        "Trust it: members that took no part in the fit are predicted this well, and "
        "none of 999 permutations did so well (p = 0.002 after correction for 2 "
        "outputs, the smallest possible)."
    )
    assert said(y).sentences[0] == lines[0]


def test_two_inputs_and_their_interaction():
    y = 12 * (X["rate"] - 0.5) * (X["size"] - 0.5) + X["rate"] + X["size"]
    first = str(said(y)).splitlines()[0]
    assert "% is explained by several inputs together only." in first


def test_what_is_not_attributed_is_said_with_its_reason():
    found = said(NOISE)
    assert found.sentences[0].startswith("For y nothing is attributed: the inputs pred")
    y = pd.DataFrame({"signal": np.exp(X["rate"]), "noise": NOISE})
    found = said(y)
    assert found.sentences[-1] == (
        "For noise nothing is attributed; the reasons stand below."
    )
    assert found.sentences[0].startswith(
        "rate explains 100 % of the variance of signal."
    )


def test_equal_runs_are_named_by_groups():
    rows, labels = X.iloc[np.repeat(np.arange(20), 3)], np.repeat(np.arange(20), 3)
    y = rows["rate"].to_numpy() + 0.05 * NOISE
    found = verdict(MODEL, rows, y, groups=labels, random_state=0)
    assert "is training noise." in found.sentences[0]
    assert str(found) == str(verdict(MODEL, rows, y, labels, random_state=0))
    with pytest.raises(ValueError, match="both reward= and groups=; expected one"):
        verdict(MODEL, rows, y, labels, groups=labels)
    share = training_noise_share(y, groups=labels)
    assert share == variance_decomposition(y, groups=labels).noise_share


def test_a_lower_degree_that_is_better_is_said():
    y = X["rate"] + 0.15 * NOISE
    model = PolynomialChaosRegressor(4, distribution=(0, 1), solver="ols")
    assert "\nDegree: degree 1 predicts y (Q² = 0." in str(said(y.to_numpy(), model))
    assert "Degree" not in str(said(X["rate"] ** 2))


def test_a_model_without_an_expansion_has_an_answer():
    model = RandomForestRegressor(20, random_state=0)
    found = said(X["rate"].to_numpy(), model, n_permutations=19)
    assert found.sentences[0].startswith("The inputs explain 9")
    assert "normality p" in str(found)


def test_compositions_are_called_decisions():
    logits = np.column_stack([5 * X["rate"], 0 * X["rate"]])
    y = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = verdict(
        CompositionalPCESurrogate(
            1, steps={"first": 2}, distribution=(0, 1), solver="ridge"
        ),
        X,
        y,
        random_state=0,
    )
    assert "Attribution is supported for the decision (first)" in str(found)
    # The inputs are said to be uniform: whether they are normal does not matter.
    assert "normality" not in str(found)
    assert "reward" not in str(found)


def test_words_for_figures():
    assert without_sign(-0.001) == "0.00"
    assert percents(np.array([0.441, 0.512])) == "44–51 %"
    assert percents(np.array([0.441])) == "44 %"
    assert which(["a"], "output") == "a"
    assert which(["a", "b"], "output", 2) == "both outputs (a, b)"
    assert which(["a", "b", "c"], "output") == "a, b and c"
    assert which(list("abcdef"), "output") == "6 outputs (a, b, c, d, ...)"
    assert which(list("abcdef"), "decision", 6) == "all 6 decisions"
    limits = 0.25, 0.05, 0.5
    (reason,) = failed_conditions(0.2461, 0.01, np.nan, limits)
    assert reason == (
        "the inputs predict 24.6% of the variance of held-out members, less than 25%"
    )
    (reason,) = failed_conditions(0.9, 0.01, 1.54, limits)
    assert reason.startswith("training noise exceeds what the inputs could explain")


def test_a_verdict_of_figures_alone_has_an_answer():
    found = verdict_by_hand(["a", "b"], [True, False])
    assert found.sentences[0].startswith(
        "The inputs explain 50 % of the variance of a."
    )
    assert "Trust it: members" in found.sentences[1]
    weak = verdict_by_hand(["a"], [True], cautions=("two inputs are correlated",))
    assert weak.sentences[1].startswith("Trust it with care, see the cautions: ")


def test_a_share_that_rounds_to_zero_is_less_than_one_percent():
    assert percents(np.array([0.001])) == "less than 1 %"
    assert percents(np.array([0.001, 0.2])) == "0–20 %"
    first = str(said(X["rate"] + X["size"])).splitlines()[0]
    assert first.endswith("Less than 1 % is explained by none of the inputs.")


@pytest.mark.filterwarnings("error")
def test_refits_do_not_repeat_that_an_output_has_no_variance():
    found = said(np.c_[X["rate"], np.ones(60)], n_permutations=19)
    assert found.attributable[0]
    assert "y1: no choice, or no variance between members" in str(found)


def test_no_share_of_zero_percent_is_needed_or_predicted():
    limits = 0.25, 0.05, 0.5
    (reason,) = failed_conditions(-0.04, 0.01, np.nan, limits)
    assert reason == (
        "the inputs predict less than 1% of the variance of held-out members, and "
        "25% is needed"
    )
    (reason,) = failed_conditions(-0.04, 0.01, np.nan, (0.0, 0.05, 0.5))
    assert reason.endswith("predict less than 1% of the variance of held-out members")
    (reason,) = failed_conditions(0.9, 0.2, 0.0, limits, corrected_for([0.2, 0.1], "x"))
    assert (
        reason == "the permutation p-value after correction for 2 xs is 0.2, above 0.05"
    )
    assert corrected_for(np.array([0.2, np.nan]), "output") == ""


def test_one_output_is_not_one_of_one():
    found = said(pd.DataFrame({"loss": X["rate"] + 0.05 * NOISE}))
    assert "Attribution is supported for the output (loss), with 60 members." in str(
        found
    )
    assert "(p = 0.001, the smallest possible)" in found.sentences[1]
    assert "not supported for the output (y), with" in str(said(NOISE))
