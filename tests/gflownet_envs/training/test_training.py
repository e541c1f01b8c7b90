"""Training: independence of members, agreement of paths, convergence, resuming."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from gflownet_envs import (
    OBJECTIVES,
    PAPER_TRAINING,
    GridEnvironment,
    SequentialSelectionEnvironment,
    StateGraph,
    TokenSequenceEnvironment,
    TrainingSpec,
    distance_to_exact,
    terminating_distribution,
    train_ensemble,
)
from gflownet_envs.sampling import PlainSampler, TableSampler
from gflownet_envs.storage import BlockStore, read_arrays
from gflownet_envs.training import DivergedWarning
from tests.gflownet_envs.spaces import (
    GRID,
    SELECTION,
    assert_same_parameters,
    random_log_reward,
)
from tests.shared import cases, names_in, refuses

SHORT = TrainingSpec(n_iterations=20, hidden=(16,), batch_size=8, dtype="float64")


@pytest.mark.parametrize("env", [GRID, SELECTION], ids=["grid", "selection"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_member_three_of_five_is_member_three_alone(env, objective):
    train = partial(train_ensemble, env, spec=replace(SHORT, objective=objective))
    log_reward = random_log_reward(env, 5)
    together, alone = train(log_reward), train(log_reward[3:4], members=[3])
    assert_same_parameters(together.subset([3]), alone, tolerance=1e-10)
    found, expected = together.diagnostics.log_z[3], alone.diagnostics.log_z[0]
    assert_allclose(found, expected, atol=1e-10)


def test_same_seed_same_numbers_and_another_others():
    train = partial(train_ensemble, GRID, random_log_reward(GRID, 2), SHORT)
    one, again, other = train(seed=0), train(seed=0), train(seed=1)
    assert_same_parameters(one, again)
    assert (one.parameters["weight_0"] != other.parameters["weight_0"]).all()


def test_common_random_numbers_make_equal_rewards_equal():
    log_reward = np.tile(random_log_reward(GRID), (2, 1))
    shared = train_ensemble(
        GRID, log_reward, SHORT, n_replicates=2, common_random_numbers=True
    )
    for name, array in shared.parameters.items():
        assert_allclose(array[:2], array[2:], rtol=0, atol=1e-10)
        assert (array[0] != array[1]).any(), name
    apart = train_ensemble(GRID, log_reward, SHORT)
    assert (apart.parameters["weight_0"][0] != apart.parameters["weight_0"][1]).all()


@pytest.mark.parametrize("env", [GRID, SELECTION], ids=["grid", "selection"])
@pytest.mark.parametrize("batch_size", [2, 64], ids=["sampled", "shared"])
@pytest.mark.parametrize("objective", ["vargrad", "detailed_balance"])
@pytest.mark.parametrize("exploration", [(0.0, 1.0), (0.3, 1.5)])
def test_tables_agree_with_the_environment(env, batch_size, objective, exploration):
    names = ("exploration_epsilon", "exploration_temperature")
    spec = replace(SHORT, **dict(zip(names, exploration, strict=True)))
    spec = replace(spec, batch_size=batch_size, objective=objective)
    log_reward = random_log_reward(env, 3)
    tables = train_ensemble(env, log_reward, spec)
    plain = train_ensemble(env, log_reward, replace(spec, max_table_states=0))
    # Adam divides by gradients that may be tiny, which enlarges rounding
    assert_same_parameters(tables, plain, tolerance=1e-8)
    few = train_ensemble(env, log_reward, replace(spec, max_table_states=2))
    assert_same_parameters(few, plain)


def test_samplers_draw_from_the_policy():
    ensemble = train_ensemble(GRID, random_log_reward(GRID), SHORT)
    graph = StateGraph.from_environment(GRID)
    uniforms = torch.from_numpy(np.random.default_rng(0).random((1, 20_000, 4)))
    law = terminating_distribution(graph, ensemble.log_policy_table(graph))[0]
    plain = PlainSampler(GRID)(ensemble.network, uniforms)
    table = TableSampler(graph, 20_000, torch.float64)(ensemble.network, uniforms)
    for objects in (GRID.object_index(plain.final_states), table.objects):
        frequency = torch.bincount(objects[0], minlength=GRID.n_objects) / 20_000
        # five standard errors
        assert (frequency - law).abs().max() < 5 * 0.5 / 20_000**0.5


@pytest.mark.slow
@pytest.mark.parametrize("env", [GRID, SELECTION], ids=["grid", "selection"])
@cases(
    "change",
    {},
    *({"objective": objective} for objective in OBJECTIVES if objective != "vargrad"),
    {"exploration_epsilon": 0.1},
    {"exploration_temperature": 2.0},
    {"replay_fraction": 0.5},
    {"learn_backward_policy": True},
    ids=str,
)
def test_convergence_to_the_exact_law(env, change):
    spec = TrainingSpec(n_iterations=300, hidden=(32, 32), **change)
    log_reward = random_log_reward(env, 3)
    ensemble = train_ensemble(env, log_reward, spec)
    graph = StateGraph.from_environment(env)
    distance = distance_to_exact(graph, ensemble.log_policy_table(graph), log_reward)
    assert distance.max() < 0.01
    log_z = torch.logsumexp(torch.from_numpy(log_reward), dim=1).numpy()
    assert_allclose(ensemble.diagnostics.log_z, log_z, atol=0.02)


@cases(
    ("spec", "start", "tolerance"),
    (replace(PAPER_TRAINING, n_iterations=10), 5.0, 0.02),  # five, and slow
    (replace(SHORT, objective="trajectory_balance", log_z_init=0.0), 0.0, 0.0),
    ids=["paper", "given"],
)
def test_where_log_z_starts(spec, start, tolerance):
    spec = spec if tolerance else replace(spec, n_iterations=1)
    ensemble = train_ensemble(GRID, random_log_reward(GRID), spec)
    assert ensemble.diagnostics.log_z[0] == pytest.approx(start, abs=tolerance)


def test_an_interrupted_run_resumes(tmp_path):
    """From its blocks, which change no number."""
    spec = replace(SHORT, block_size=2)
    log_reward = random_log_reward(GRID, 5)
    reported = []

    def interrupt(done, total):
        if done == 41:  # in the third of four blocks
            raise KeyboardInterrupt

    settings = {"store": BlockStore(tmp_path)}
    with pytest.raises(KeyboardInterrupt):
        train_ensemble(GRID, log_reward, spec, progress=interrupt, **settings)
    assert len(names_in(tmp_path)) == 2
    settings["progress"] = lambda *done: reported.append(done)
    resumed = train_ensemble(GRID, log_reward, spec, **settings)
    # two blocks are loaded and two are trained
    trained = [(done, 80) for start in (40, 60) for done in range(start, start + 21)]
    trained.remove((60, 80))  # reported once as done
    assert reported == [(20, 80), (40, 80), *sorted([*trained, (60, 80)])]
    assert_same_parameters(resumed, train_ensemble(GRID, log_reward, spec))
    whole = train_ensemble(GRID, log_reward, SHORT)
    assert_same_parameters(resumed, whole, tolerance=1e-10)


@cases(
    "change",
    {"seed": 1},
    {"members": [1, 0]},
    {"spec": replace(SHORT, learning_rate=0.1)},
    {"log_reward": random_log_reward(GRID, 2, seed=1)},
    {"common_random_numbers": True},
    ids=lambda change: next(iter(change)),
)
def test_other_runs_are_not_taken_from_the_store(change, tmp_path):
    arguments = {"log_reward": random_log_reward(GRID, 2), "spec": SHORT}
    for given in (arguments, arguments | change):
        train_ensemble(GRID, **given, store=BlockStore(tmp_path))
    assert len(names_in(tmp_path)) == 2


def test_spaces_of_one_name_have_different_keys_in_the_store(tmp_path):
    tokens = ["a", "b", "c"]
    for end in ("a", "c"):
        env = TokenSequenceEnvironment(tokens, max_length=2, end_token=end)
        assert env.name == "tokens-3x2-end"
        train_ensemble(env, random_log_reward(env), SHORT, store=BlockStore(tmp_path))
    assert len(names_in(tmp_path)) == 2


def test_specifications_of_numpy_numbers_are_those_of_python_numbers(tmp_path):
    pytest.importorskip("safetensors")
    spec = replace(SHORT, n_iterations=np.int64(20), hidden=(np.int32(16),))
    spec = replace(spec, learning_rate=np.float64(0.01))
    assert spec == SHORT
    assert type(spec.n_iterations) is int
    rewards = random_log_reward(GRID)
    train_ensemble(GRID, rewards, spec, store=BlockStore(tmp_path))
    train_ensemble(GRID, rewards, SHORT, store=BlockStore(tmp_path))
    (block,) = tmp_path.iterdir()
    assert read_arrays(block)[1]["versions"]["torch"] == torch.__version__


def test_divergence_names_members_that_share_a_stream():
    rewards = np.zeros((2, GRID.n_objects))
    rewards[1] = 1e25
    spec = replace(SHORT, dtype="float32", objective="trajectory_balance", log_z_init=0)
    with pytest.warns(DivergedWarning, match=r"of the members \[9\] is not finite"):
        ensemble = train_ensemble(
            GRID, rewards, spec, members=[4, 9], common_random_numbers=True
        )
    assert ensemble.members == (4,)
    assert ensemble.diverged == {9: 0}


@pytest.mark.parametrize("policy", ["mlp", "gru"])
@pytest.mark.parametrize("norm", [None, 1.0])
def test_a_member_that_diverges_changes_no_other(tmp_path, policy, norm):
    env = TokenSequenceEnvironment(list("ab"), 3)
    rewards = random_log_reward(env, 3)
    rewards[1] = 1e25
    spec = replace(SHORT, policy=policy, dtype="float32", max_gradient_norm=norm)
    spec = replace(spec, objective="trajectory_balance", log_z_init=0.0)
    store = BlockStore(tmp_path)
    with pytest.warns(DivergedWarning, match="1 of 3 members diverged and are left"):
        together = train_ensemble(env, rewards, spec, store=store)
    tame = rewards.copy()
    tame[1] = 0.0
    expected = train_ensemble(env, tame, spec).subset([0, 2])
    assert_same_parameters(together, expected)
    assert together.rewards == (0, 2)
    assert np.isfinite(together.diagnostics.log_z_estimate).all()
    with pytest.warns(DivergedWarning, match=r"the members \[1\]"):
        again = train_ensemble(env, rewards, spec, store=store)
    assert_same_parameters(together, again)
    assert again.diverged == together.diverged


def test_a_member_spoilt_by_its_last_step_is_left_out():
    env = GridEnvironment(size=2, max_moves=1)
    spec = TrainingSpec(n_iterations=1, hidden=(8,), learning_rate=1e38)
    spec = replace(spec, adam_betas=(0.0, 0.0))
    rewards = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    with pytest.warns(DivergedWarning, match=r"members \[1\] .* iteration 1 or later"):
        ensemble = train_ensemble(env, rewards, spec)
    assert ensemble.members == (0,)


def test_batches_and_spaces_of_one():
    before = torch.get_num_threads()
    spec = replace(SHORT, objective="trajectory_balance", batch_size=1)
    ensemble = train_ensemble(GRID, random_log_reward(GRID), spec)
    assert np.isfinite(ensemble.diagnostics.final_loss).all()
    env = SequentialSelectionEnvironment({"a": ["x"], "b": ["p"]})
    ensemble = train_ensemble(env, [[3.0]], SHORT)
    assert ensemble.diagnostics.log_z[0] == pytest.approx(3.0)
    assert ensemble.diagnostics.final_loss[0] == pytest.approx(0.0)
    assert torch.get_num_threads() == before


@cases(
    ("arguments", "message"),
    ({"objective": "mse"}, "objective must be one of .* got 'mse'"),
    ({"batch_size": 1}, "batch_size must be an int of at least 2 for vargrad, got 1"),
    ({"n_iterations": 0}, "n_iterations must be an int of at least 1, got 0"),
    ({"learning_rate": 0.0}, "learning_rate must be positive and finite, got 0.0"),
    ({"max_gradient_norm": 0}, "max_gradient_norm must be None or a positive"),
    ({"max_gradient_norm": True}, "max_gradient_norm must be None or a positive"),
    ({"exploration_epsilon": 1.5}, r"exploration_epsilon must be in \[0, 1\]"),
    ({"hidden": (64, 0)}, "hidden must be a tuple of positive ints"),
    ({"adam_betas": (0.9, 1.0)}, r"adam_betas must be two numbers in \[0, 1\)"),
    ({"initialization": "zero"}, "initialization must be one of"),
    ({"dtype": "float16"}, "dtype must be 'float32' or 'float64'"),
    ({"replay_fraction": 0.999}, "replay_fraction must be 0 or leave new and old"),
)
def test_bad_specifications(arguments, message):
    refuses(message, TrainingSpec, **arguments)


def test_subset_names_members_by_their_numbers():
    log_reward = random_log_reward(GRID, 3)
    ensemble = train_ensemble(GRID, log_reward, SHORT, members=[4, 9, 2])
    states = GRID.initial_state((3, 4))
    found = ensemble.subset([2, 4]).log_policy(states)
    torch.testing.assert_close(found, ensemble.log_policy(states)[[2, 0]])
    refuses(r"members \[0\] are not in this ensemble", ensemble.subset, [0])


@pytest.mark.parametrize("learning_rate", [1e25, 1e30])
def test_divergence_is_said_with_the_members(learning_rate):
    env = GridEnvironment(size=2, max_moves=1)
    spec = TrainingSpec(learning_rate=learning_rate, n_iterations=100, hidden=(8,))
    words = r"diverged: the loss of the members \[4.*\] is not finite"
    refuses(words, train_ensemble, env, torch.eye(3)[:2], spec, members=[4, 7])


@cases(
    ("arguments", "message"),
    ({"members": [0]}, "each of the 2 rows"),
    ({"members": [1, 1]}, "members must be distinct"),
    ({"members": [0.5, 1]}, r"members must be ints, got 0\.5"),
    ({"seed": 1.5}, r"seed must be in \[0, 2\*\*64\) and an int, got 1\.5"),
    ({"spec": "x"}, "spec must be a TrainingSpec or None, got 'x'"),
)
def test_bad_arguments(arguments, message):
    env = GridEnvironment(size=2, max_moves=1)
    refuses(message, train_ensemble, env, torch.eye(3)[:2], **arguments)
