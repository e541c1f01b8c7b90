"""Expected log R behind each choice: against differences of exact policies."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from gflownet_envs import (
    DagEnvironment,
    SequentialSelectionEnvironment,
    StateGraph,
    TokenSequenceEnvironment,
    greedy_trajectory,
    policies_along,
    solve_exact,
    trajectory_of_actions,
)
from gflownet_envs.policy_relevant_features import (
    PolicyRelevantFeatures,
    exact_outcome_distributions,
)
from tests.gflownet_envs.spaces import GRID, all_paths
from tests.shared import cases, refuses

SELECTION = SequentialSelectionEnvironment(
    {"a": ["x", "y", "z"], "b": ["p", "q"], "c": ["u", "v", "w"]}
)
SPACES = {
    "tree": (SELECTION, [1, 3, 7]),
    "grid": (GRID, [3, 1, 4]),
    "sequences": (TokenSequenceEnvironment(["s", "end", "t"], 3, "end"), None),
    "graphs": (DagEnvironment(3), None),
}


def log_rewards(env, n_members=12, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    mean = 2 * rng.normal(size=env.n_objects)
    return mean + spread * rng.normal(size=(n_members, env.n_objects))


def features_of(name, **settings):
    env, actions = SPACES[name]
    features = PolicyRelevantFeatures(env, trajectory=actions, **settings)
    return features.fit(log_rewards(env))


def log_policy_at(env, log_reward, fitted):
    """Exact log-policies of members at the features of a fitted transformer."""
    solution = solve_exact(env, log_reward)
    states = fitted.trajectory_.states[fitted.feature_steps_]
    table = solution.log_policy(states).numpy()
    return table[:, np.arange(len(states)), fitted.feature_actions_]


@pytest.mark.parametrize("name", SPACES)
def test_they_are_the_first_order_change_of_the_log_policy(name):
    env, _ = SPACES[name]
    fitted = features_of(name, relative=True, scale=False)
    direction = np.random.default_rng(1).normal(size=(5, env.n_objects))
    step = 1e-4
    ahead, behind = (
        log_policy_at(env, fitted.mean_ + sign * step * direction, fitted)
        for sign in (1, -1)
    )
    found = fitted.transform(fitted.mean_ + direction)
    assert_allclose(found, (ahead - behind) / (2 * step), atol=1e-6)


def test_changes_far_beyond_rounding_stay_finite():
    fitted = features_of("tree", scale=False)
    X = np.tile(fitted.mean_, (3, 1))
    X[0, 0] += 3000.0  # after a=x: no choice of the trajectory but the first
    X[1, 0] -= 3000.0
    X[2, :6] -= 3000.0
    found = fitted.log_policy_change(X)
    assert_array_equal(found[:2, fitted.feature_steps_ > 0], 0)
    base = log_policy_at(SELECTION, fitted.mean_[None], fitted)
    expected = log_policy_at(SELECTION, X, fitted) - base
    assert_allclose(found, expected, rtol=1e-12, atol=1e-9)
    exact = exact_policies(SELECTION, X, fitted).y
    found = fitted.predict_policy(X)
    assert_allclose(found, exact, rtol=1e-9)
    assert found.min() == np.exp(-700.0)


def exact_policies(env, log_reward, fitted):
    return policies_along(env, solve_exact(env, log_reward), fitted.trajectory_)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("name", SPACES)
def test_changes_and_policies_of_all_orders_are_those_solved_again(name, relative):
    env, actions = SPACES[name]
    X = log_rewards(env, spread=4.0)
    fitted = PolicyRelevantFeatures(env, trajectory=actions, relative=relative).fit(X)
    pilot = log_policy_at(env, fitted.mean_[None], fitted)
    found = fitted.log_policy_change(X)
    assert_allclose(found, log_policy_at(env, X, fitted) - pilot, atol=1e-9)
    assert np.abs(found).max() > 4
    exact = exact_policies(env, X, fitted)
    found = fitted.predict_policy(X)
    assert_allclose(found, exact.y, rtol=0, atol=1e-10)
    assert (found[:, ~exact.mask] == 0).all()
    assert (found[:, exact.mask] > 0).all()
    assert name not in ("grid", "graphs") or not exact.mask.all()


@pytest.mark.parametrize(("order", "rate"), [(1, 2), (2, 3)])
@pytest.mark.parametrize("name", SPACES)
def test_an_order_errs_by_the_next_power_and_policies_add_up_to_one(name, order, rate):
    env, _ = SPACES[name]
    fitted = features_of(name)
    direction = np.random.default_rng(1).normal(size=(1, env.n_objects))
    steps = np.array([0.1, 0.05, 0.025, 0.0125])
    X = fitted.mean_ + steps[:, np.newaxis] * direction
    exact = exact_policies(env, X, fitted)
    found = fitted.predict_policy(X, order=order)
    sums = np.add.reduceat(found, np.cumsum([0, *exact.steps.values()])[:-1], axis=1)
    assert_allclose(sums, 1, atol=1e-12)
    base = log_policy_at(env, fitted.mean_[None], fitted)
    change = log_policy_at(env, X, fitted) - base
    changes = fitted.log_policy_change(X, order=order) - change
    for error, tolerance in ((changes, 0.15), (found - exact.y, 0.2)):
        errors = np.abs(error).max(axis=1)
        slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
        assert slope == pytest.approx(rate, abs=tolerance)


@pytest.mark.parametrize("name", ["grid", "graphs", "sequences"])
def test_laws_of_outcomes_against_all_paths(name):
    env, _ = SPACES[name]
    solution = solve_exact(env, log_rewards(env, 1))
    graph = solution.graph
    starts = torch.tensor([0, 1, graph.n_states - 1, graph.n_states + 2])
    laws = exact_outcome_distributions(graph, solution.log_policy_table[0], starts)
    for start, law in zip(starts[:3], laws, strict=False):
        expected = torch.zeros(env.n_objects, dtype=torch.float64)
        for edges, end in all_paths(env, graph.states[start]):
            logs = [solution.log_policy(state)[0, action] for state, action in edges]
            expected[env.object_index(end)] += torch.stack(logs).sum().exp()
        torch.testing.assert_close(law, expected, rtol=0, atol=1e-12)
    assert laws[3].nonzero().tolist() == [[2]]


def test_laws_in_small_parts_are_the_same(monkeypatch):
    module = "gflownet_envs.policy_relevant_features._VALUES_AT_ONCE"
    env, _ = SPACES["grid"]
    solution = solve_exact(env, log_rewards(env, 1))
    arguments = solution.graph, solution.log_policy_table[0], torch.arange(5)
    whole = exact_outcome_distributions(*arguments)
    monkeypatch.setattr(module, 1)
    assert torch.equal(exact_outcome_distributions(*arguments), whole)


def test_names_scales_and_excluded_steps():
    X = log_rewards(SELECTION)
    fitted = features_of("tree")
    names = " ".join(fitted.get_feature_names_out())
    assert names == "a=x a=y a=z b=p b=q c=u c=v c=w"
    features = fitted.transform(X)
    assert_allclose(features.mean(axis=0), 0, atol=1e-12)
    for step in range(3):
        block = features[:, fitted.feature_steps_ == step]
        assert block.var(axis=0).sum() == pytest.approx(1)
        rows = fitted.components_[fitted.feature_steps_ == step]
        assert_allclose(rows.sum(axis=1), 1 / fitted.step_scales_[step])
    for excluded in (("b",), (1,)):
        less = clone(fitted).set_params(exclude_steps=excluded).fit(X)
        kept = fitted.feature_steps_ != 1
        assert_array_equal(less.components_, fitted.components_[kept])
        assert np.isnan(less.step_scales_).tolist() == [False, True, False]
        for order in (1, 2, None):
            change = fitted.log_policy_change(X, order=order)[:, kept]
            assert_array_equal(less.log_policy_change(X, order=order), change)


def test_steps_without_a_choice_or_left_out_have_no_features():
    env, X = GRID, log_rewards(GRID)
    walk = trajectory_of_actions(env, [3, 1, 3, 4])  # after three moves only stop
    fitted = PolicyRelevantFeatures(env, trajectory=walk).fit(X)
    assert set(fitted.feature_steps_) == {0, 1, 2}
    assert fitted.get_feature_names_out()[0] == f"{env.step_names[0]}=down"
    exact = exact_policies(env, X, fitted)
    found = fitted.predict_policy(X)
    assert_allclose(found, exact.y, rtol=0, atol=1e-10)
    less = clone(fitted).set_params(exclude_steps=env.step_names[1:2]).fit(X)
    first, second = list(exact.steps.values())[:2]
    left = np.delete(found, np.arange(first, first + second), axis=1)
    assert_array_equal(less.predict_policy(X), left)
    none = clone(fitted).set_params(exclude_steps=(0, 1, 2))
    refuses("no step of the trajectory leaves a choice", none.fit, X)
    # the likeliest trajectory may end before a step that is left out
    stops = PolicyRelevantFeatures(env, exclude_steps=env.step_names[1:])
    assert set(stops.fit(50.0 * np.eye(env.n_objects)[:1]).feature_steps_) == {0}
    assert len(stops.trajectory_) == 1


def test_the_inverse_has_the_features_and_leaves_the_rest_at_the_mean():
    X = log_rewards(SELECTION)
    fitted = features_of("tree")
    features = fitted.transform(X)
    back = fitted.inverse_transform(features)
    assert_allclose(fitted.transform(back), features, atol=1e-10)
    unseen = back - fitted.mean_
    residual = X - back
    assert_allclose(residual @ fitted.components_.T, 0, atol=1e-10)
    assert np.abs(unseen @ residual.T).max() < 1e-9 * np.abs(X).max()
    words = "features has 2 columns, but .* 8"
    refuses(words, fitted.inverse_transform, np.zeros((1, 2)))


def test_without_a_trajectory_the_pilot_goes_its_likeliest_way():
    X = log_rewards(GRID)
    solution = solve_exact(GRID, X.mean(axis=0, keepdims=True))
    expected = greedy_trajectory(GRID, solution.log_policy).actions
    found = PolicyRelevantFeatures(GRID).fit(X).trajectory_.actions
    assert_array_equal(found, expected)


def test_a_given_pilot_or_graph_is_used():
    env, actions = SPACES["grid"]
    X = log_rewards(env)
    graph = StateGraph.from_environment(env)
    plain = PolicyRelevantFeatures(env, trajectory=actions).fit(X)
    listed = PolicyRelevantFeatures(graph, trajectory=actions).fit(X)
    assert_array_equal(listed.components_, plain.components_)
    uniform = solve_exact(graph, np.zeros((1, env.n_objects)))
    settings = {"trajectory": actions, "pilot": uniform, "scale": False}
    given = PolicyRelevantFeatures(graph, **settings)
    starts = graph.children[0, [1, 3, 4]]
    laws = exact_outcome_distributions(graph, uniform.log_policy_table[0], starts)
    assert_array_equal(given.fit(X).components_[:3], laws.numpy())
    given.set_params(pilot=solve_exact(env, X))
    refuses("pilot must have one member, got one with 12", given.fit, X)


@cases(
    ("parameters", "message"),
    ({"environment": "grid"}, "environment must be an Environment or a State"),
    ({"environment": DagEnvironment(6)}, "the objects of dag-6-15 are not numbered"),
    ({"exclude_steps": "b"}, r"must be a sequence, got 'b'; write \('b',\)"),
    ({"exclude_steps": ("d",)}, r"among \['a', 'b', 'c'\].* got 'd'"),
    ({"relative": 1}, "relative must be a bool, got 1"),
    ({"pilot": "greedy"}, "pilot must be 'exact' or a policy source, got 'greedy'"),
    ({"pilot": 3}, "pilot must be 'exact' or a policy source, got 3"),
    ({"trajectory": [0]}, "actions must end in a terminal state"),
)
def test_bad_parameters(parameters, message):
    features = PolicyRelevantFeatures(SELECTION, trajectory=[1, 3, 7])
    refuses(message, features.set_params(**parameters).fit, log_rewards(SELECTION))


def test_bad_rewards_and_changes():
    features = PolicyRelevantFeatures(SELECTION, trajectory=[1, 3, 7])
    with pytest.raises(NotFittedError):
        features.log_policy_change(log_rewards(SELECTION))
    refuses(r"one column per object of .*, 18, got 5", features.fit, np.zeros((3, 5)))
    refuses("NaN", features.fit, np.full((3, 18), np.nan))
    features.fit(log_rewards(SELECTION))
    X, words = log_rewards(SELECTION), r"order must be one of \(1, 2, None\), got 3"
    refuses(words, features.predict_policy, X, order=3)
    refuses("X has 5 features", features.log_policy_change, np.zeros((1, 5)))


def test_bad_laws():
    solution = solve_exact(SELECTION, np.zeros((1, 18)))
    graph, table = solution.graph, solution.log_policy_table[0]
    exact, start = exact_outcome_distributions, torch.tensor([0])
    words = r"log_policy must have shape \(10, 8\)"
    refuses(words, exact, graph, table[:3], start)
    refuses(r"starts must be in \[0, 28\), got 28", exact, graph, table, start + 28)
