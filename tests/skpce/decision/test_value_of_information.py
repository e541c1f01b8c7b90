"""Members: what is read, what is refused, bounds, tests, words and pictures."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import trapezoid
from scipy.special import softmax
from sklearn.pipeline import make_pipeline

from skpce import DependentInputsWarning, PolynomialChaosRegressor
from skpce.decision import (
    InputBelief,
    ThompsonPolicy,
    measure_next,
    value_of_information,
)
from skpce.decision._value.bound import bounds_of_rows
from skpce.decision._value.decision_problem import read_problem
from skpce.decision._value.expected_value import value_of_inputs
from skpce.embedding import PLSTransformer
from tests.shared import refuses, ridge_pce, ridge_surrogate
from tests.skpce.decision.decision_problems import (
    gain_of_normal,
)

QUICK = {"n_resamples": 20, "n_samples": 1024, "random_state": 0}


def draw(size, seed=0, noise=0.3):
    """Only x1 decides; x0 moves both actions alike."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 3))
    utility = np.column_stack([5.0 * X[:, 0], 5.0 * X[:, 0] + X[:, 1] - 0.2])
    return X, utility + noise * rng.normal(size=utility.shape)


@pytest.fixture(scope="module")
def members():
    return draw(120)


@pytest.fixture(scope="module")
def found(members):
    return value_of_information(ridge_pce(1), *members, **QUICK)


def test_what_decides_is_found(found):
    assert found.supported == (False, True, False, True)
    assert np.isnan(found.value[[0, 2]]).all()
    assert found.value[1] == found.plug_in[1]
    assert found.plug_in[1] == pytest.approx(gain_of_normal(-0.2, 1.0), abs=0.1)
    assert found.variance_share[0] > 0.9
    assert found.low[1] < found.plug_in[1] < found.high[1]
    assert 0 < found.lower_bound[1] < found.plug_in[1]
    assert found.best_action == "action0"
    assert found.n_members == 120
    assert "not shown to depend" in found["x0"].reasons[0]


ROWS = np.random.default_rng(0).permutation(120)
SAME = {
    "a common shift": (lambda X, u: (X, u + 100.0 * X[:, :1] + 7.0), 1.0),
    "other units": (lambda X, u: (X, 1000.0 * u), 1000.0),
    "another order of actions": (lambda X, u: (X, u[:, [2, 0, 1]]), 1.0),
    "another order of members": (lambda X, u: (X[ROWS], u[ROWS]), 1.0),
    "once more": (lambda X, u: (X, u), 1.0),
}


@pytest.mark.parametrize("case", SAME)
def test_what_changes_nothing(case, members):
    """Neither bounds nor p-values; values have the unit of the utility."""
    X, utility = members
    utility = np.column_stack([utility, utility[:, 0] + X[:, 2]])
    change, unit = SAME[case]
    one, other = (
        value_of_information(ridge_pce(2), *given, **QUICK)
        for given in ((X, utility), change(X, utility))
    )
    for name in ("plug_in", "lower_bound", "cross_fitted", "low", "standard_error"):
        values = unit * getattr(one, name)
        if not (name in ("low", "standard_error") and "order" in case):  # are drawn
            assert_allclose(getattr(other, name), values, rtol=1e-9, atol=1e-9 * unit)
    assert_allclose(other.p_value, one.p_value, rtol=1e-9, atol=1e-9)
    if case == "once more":
        for name in one.columns:
            assert_array_equal(one.columns[name], other.columns[name])
    if case == "a common shift":
        assert other.variance_share[0] > one.variance_share[0]


def test_a_shift_alone_is_worth_exactly_nothing(members):
    X, _ = members
    utility = X[:, :1] ** 2 + np.array([0.0, 0.25, -1.0])
    found = value_of_information(ridge_pce(2), X, utility, **QUICK)
    assert found.plug_in.tolist() == [0.0] * 4
    assert found.variance_share[0] == pytest.approx(1.0, abs=1e-3)
    assert not any(found.supported)
    assert "same utility" not in found.reasons[0][0]


def test_names_of_inputs_and_actions_are_kept(members):
    X, utility = members
    names = ["price", "dose", "age"]
    frame = pd.DataFrame(X, columns=names)
    actions = pd.DataFrame(utility, columns=["wait", "treat"])
    both = {"both": ["price", "dose"]}
    found = value_of_information(ridge_pce(1), frame, actions, groups=both, **QUICK)
    assert found.input_names == (*names, "both", "all inputs")
    assert found.actions == ("wait", "treat")
    assert found.best_action == "wait"
    # a fit knows its inputs by position, members are given by name
    fitted = ridge_pce(1).fit(frame, utility)
    words = r"X has the inputs \['age', 'dose', 'price'"
    refuses(
        words, value_of_information, fitted, frame[["age", "dose", "price"]], utility
    )


def test_a_fit_to_the_utilities_is_used_itself(members):
    X, utility = members
    fitted = ridge_pce(1, alphas=[1e3]).fit(X, utility)
    found = value_of_information(fitted, X, utility, **QUICK)
    known = fitted.expansion_
    for place in range(3):
        worth = value_of_inputs(known.basis, known.coefficients, [place], 1024, 0)
        assert found.plug_in[place] == pytest.approx(worth.value, abs=1e-12)


def test_an_embedding_that_saw_the_utilities_is_refused(members):
    X, utility = members
    pipeline = make_pipeline(PLSTransformer(2), ridge_pce(1))
    found = value_of_information(pipeline, X, utility, **QUICK)
    assert not any(found.supported)
    assert "fitted to y" in found.reasons[0][0]


def test_a_surrogate_of_policies_and_a_callable(rng):
    X = rng.normal(size=(80, 2))
    policies = softmax(np.column_stack([2 * X[:, 0], 0 * X[:, 0]]), axis=1)
    surrogate = ridge_surrogate(2, steps={"a": 2}).fit(X, policies)

    def utility(probabilities, inputs):
        assert len(probabilities) == len(inputs) == 80
        return np.column_stack([probabilities[:, 0], 0.5 + 0.0 * inputs[:, 0]])

    found = value_of_information(surrogate, X, utility, **QUICK)
    assert found.supported == (True, False, True)
    exact = softmax(np.column_stack([2 * X[:, 0], 0 * X[:, 0]]), axis=1)[:, 0] - 0.5
    expected = np.maximum(exact, 0).mean() - max(exact.mean(), 0)
    assert found.plug_in[0] == pytest.approx(expected, abs=0.03)
    with pytest.raises(ValueError, match="fitted"):
        value_of_information(ridge_surrogate(2, steps={"a": 2}), X, utility)


def test_dependent_inputs_warn_and_are_regressed(rng):
    """The copy of an input tells as much as the input itself."""
    x = rng.normal(size=300)
    X = np.column_stack([x, x + 0.3 * rng.normal(size=300)])
    utility = np.column_stack([0 * x, x])
    with pytest.warns(DependentInputsWarning, match="form='regression'"):
        marginal = value_of_information(ridge_pce(1), X, utility, **QUICK)
    assert marginal.plug_in[1] < 0.05
    found = value_of_information(ridge_pce(1), X, utility, form="regression", **QUICK)
    rho = 1.0 / np.hypot(1.0, 0.3)
    assert found.plug_in[1] == pytest.approx(rho * stats.norm.pdf(0), abs=0.03)
    assert found.plug_in[0] == pytest.approx(stats.norm.pdf(0), abs=0.03)
    assert found.supported == (True, True, True)


def test_the_bound_is_below_the_truth():
    """In 95 % of ensembles or more; here at least 33 of 40."""
    below = 0
    truth = gain_of_normal(-0.2, 1.0)
    model = ridge_pce(1)
    for seed in range(40):
        problem = read_problem(model, *draw(40, seed, noise=1.0))
        lower = bounds_of_rows(problem, np.arange(40), [[1]])[2, 0]
        below += lower <= truth
    assert below >= 33


@pytest.mark.slow
def test_the_test_holds_its_level():
    """Of 20 null ensembles at most three have anything supported (level 5 %)."""
    flagged = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, utility = rng.normal(size=(40, 2)), rng.normal(size=(40, 3))
        few = {"n_resamples": 0, "n_samples": 1024, "random_state": seed}
        found = value_of_information(ridge_pce(2), X, utility + 3.0 * X[:, :1], **few)
        flagged += any(found.supported)
    assert flagged <= 3


def test_members_of_equal_inputs_are_held_out_together_and_count_once():
    X, utility = draw(25, noise=1.0)
    rng = np.random.default_rng(1)
    model = ridge_pce(1)
    repeated = np.repeat(utility, 4, axis=0) + 1e-3 * rng.normal(size=(100, 2))
    found = value_of_information(model, np.repeat(X, 4, axis=0), repeated, **QUICK)
    alone = value_of_information(model, X, utility, **QUICK)
    ratio = found.cross_fitted_error[1] / alone.cross_fitted_error[1]
    assert 0.7 < ratio < 2.0  # of 25 members; of 100 it would be half of it
    assert any("25 different rows" in caution for caution in found.cautions)
    assert_allclose(found.p_value, alone.p_value, rtol=0.2)


def test_what_decides_only_together_is_worth_nothing_alone(rng):
    """The sign of a product: neither input says anything without the other."""
    X = rng.normal(size=(150, 2))
    utility = np.c_[X[:, 0] * X[:, 1], np.zeros(150)] + 0.3 * rng.normal(size=(150, 2))
    model = ridge_pce(2)
    found = value_of_information(model, X, utility, **QUICK)
    assert found.supported == (False, False, True)


def test_an_input_that_never_changes_the_decision_is_not_said_to_be_worth_anything(rng):
    X = rng.normal(size=(120, 1))
    utility = np.column_stack([0.5 * X[:, 0] ** 2, np.full(120, -5.0)])
    found = value_of_information(ridge_pce(2), X, utility, **QUICK)
    assert found.supported[0]
    assert found.value[0] == 0
    assert str(found).startswith("Knowing can be worth something for 1 of 1 (x0)")


def test_labels_of_a_data_frame_are_categories(rng):
    codes, x = rng.choice(3, 200, p=[0.5, 0.3, 0.2]), rng.normal(size=200)
    utility = np.c_[0.1 * x, np.array([-1.0, 0.2, 1.0])[codes] + 0.5 * x]
    X = pd.DataFrame({"c": np.array(["u", "v", "w"])[codes], "x": x})
    found = value_of_information(ridge_pce(2), X, utility, **QUICK)
    laws = {"distribution": ["categorical", "normal"]}
    wanted = np.c_[codes, x], utility
    wanted = value_of_information(ridge_pce(2, **laws), *wanted, **QUICK)
    for name in ("value", "p_value", "lower_bound"):
        assert_array_equal(found.columns[name], wanted.columns[name])
    fitted = ridge_pce(2).fit(X, utility)
    again = value_of_information(fitted, X, utility, **QUICK)
    assert_allclose(again.plug_in, found.plug_in)
    X["x"] += codes
    with pytest.warns(DependentInputsWarning, match=r"c and x are .* \(distance corr"):
        value_of_information(fitted, X, utility, **QUICK)


def test_bad_utilities_are_named(members):
    X, utility = members
    pce = ridge_pce(1)
    refuses("one row for each member", value_of_information, pce, X, utility[:50])
    refuses("two or more actions", value_of_information, pce, X, utility[:, :1])
    with pytest.raises(TypeError, match="Got PolynomialChaosRegressor"):
        value_of_information(PolynomialChaosRegressor, X, utility)
    refuses("X has one member", value_of_information, pce, X[:1], utility[:1])
    policies = softmax(np.column_stack([X[:, 0], X[:, 1]]), axis=1)
    surrogate = ridge_surrogate(1).fit(X, policies)
    refuses("2 columns; expected 3", value_of_information, surrogate, X[:, :2], utility)
    refuses("x0", value_of_information, pce, X, utility, groups={"x0": [1]})


# Measurements under a belief


def rewards(x):
    """Those of two actions; one of them is known."""
    return np.column_stack([x[:, 0], 0.0 * x[:, 0]])


def test_the_gradient_of_particles_is_that_of_lines(rng):
    """A normal belief and linear rewards: two ways to one number."""
    belief = InputBelief(rng.normal(size=(20000, 2)))

    def rewards(x):
        return np.column_stack([x[:, 0], 0.1 + x[:, 0] + 0.5 * x[:, 1], 0.0 * x[:, 0]])

    found = measure_next(belief, outcome=rewards, noise_sd=0.5)
    slopes = np.array([1.0, 1.0, 0.0]) / np.hypot(1.0, 0.5)
    z = np.linspace(-10, 10, 400001)
    means = np.array([0.0, 0.1, 0.0])
    best = (means[:, np.newaxis] + slopes[:, np.newaxis] * z).max(axis=0)
    expected = trapezoid(best * stats.norm.pdf(z), z) - 0.1
    assert found.worth[0] == pytest.approx(expected, abs=0.02)
    assert found.worth[2] == pytest.approx(0.0, abs=1e-12)


def test_variance_is_not_worth():
    """The reward that varies most is never the best: nothing to measure there."""
    belief = InputBelief(np.random.default_rng(0).normal(size=(1000, 2)))

    def rewards(x):
        return np.column_stack([x[:, 0], 0 * x[:, 0], 5.0 * x[:, 1] - 50.0])

    settings = {"outcome": rewards, "noise_sd": 0.5}
    found = measure_next(belief, **settings)
    assert found.standard_deviation.argmax() == 2
    assert found.best == 0
    only = measure_next(belief, which=[1, 2], names=list("abc"), **settings)
    assert only.candidate_names == ("b", "c")
    assert only.rank.tolist() in ([1, 2], [2, 1])


def test_nothing_changes_a_belief_from_outside():
    particles = np.arange(6.0).reshape(3, 2)
    belief = InputBelief(particles)
    particles[0] = 99.0
    assert belief.particles[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        measure_next(belief, outcome=lambda x: x.__imul__(2.0), noise_sd=1.0)


def policy_of_a_valve():
    X = np.random.default_rng(0).normal(size=(60, 1))
    y = softmax(np.column_stack([3 * X, 0 * X]), axis=1)
    surrogate = ridge_surrogate(1, steps={"valve": 2}).fit(X, y)
    return surrogate, ThompsonPolicy(surrogate, random_state=0).fit()


def test_a_policy_measures_less_once_it_knows():
    _, policy = policy_of_a_valve()

    before = measure_next(policy.belief_, outcome=rewards, noise_sd=0.2)
    for _ in range(5):
        policy.update(1.5, outcome=lambda x: x[:, 0], noise_sd=0.2)
    after = measure_next(policy.belief_, outcome=rewards, noise_sd=0.2)
    assert before.worth[0] > 0.1
    assert after.worth[0] < 0.01
    assert before.best_action in (0, 1)


def test_a_surrogate_samples_from_a_belief():
    surrogate, policy = policy_of_a_valve()
    policy.update(1.5, outcome=lambda x: x[:, 0], noise_sd=0.1)
    draws = surrogate.sample(2000, inputs=policy.belief_, residual=None, random_state=0)
    expected = softmax([3 * 1.5, 0.0])[0]
    assert draws[:, 0].mean() == pytest.approx(expected, abs=0.01)
    refuses("about 2 inputs", surrogate.sample, 5, inputs=InputBelief(np.zeros((3, 2))))


def test_bad_measurements_are_named():
    given = {"belief": InputBelief(np.eye(2)), "outcome": lambda x: x, "noise_sd": 1.0}
    refuses("which", measure_next, **given, which=[5])
    utility = {"utility": lambda x: x[:, 0]}
    refuses("two or more actions", measure_next, **given | utility)


def test_what_no_member_checks_is_not_claimed():
    """Far out another action is best, where no held-out member is."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 1))
        utility = np.column_stack([X[:, 0] - 4.0, 0.0 * X[:, 0]])
        noisy = utility + 0.3 * rng.normal(size=utility.shape)
        few = {"n_resamples": 0, "random_state": seed}
        model = ridge_pce(1, distribution=stats.norm(0, 1))
        found = value_of_information(model, X, noisy, **few)
        assert found.plug_in[0] > 0
        assert found.lower_bound[0] == 0.0
