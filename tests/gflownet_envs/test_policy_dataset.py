"""The data set that goes from the experiments to the surrogate."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import safetensors.numpy
from numpy.testing import assert_allclose, assert_array_equal

import skpce
from gflownet_envs.policy_dataset import PolicyDataset
from gflownet_envs.storage import read_arrays, write_arrays
from tests.shared import cases, refuses

STEPS = (3, 2)
MASK = np.array([True, False, True, True, True])
ARRAYS = ("X", "y", "mask", "members", "rewards", "seeds", "is_test")


def make_arguments(n_members=4, n_reward_features=6):
    rng = np.random.default_rng(0)
    weights = rng.random((n_members, 5)) * MASK
    blocks = weights[:, :3], weights[:, 3:]
    y = np.hstack([block / block.sum(axis=1, keepdims=True) for block in blocks])
    return {
        "X": rng.normal(size=(n_members, n_reward_features)),
        "y": y,
        "steps": STEPS,
        "mask": MASK,
        "step_names": ("base", "halide"),
        "action_names": ("a", "b", "c", "a", "b"),
        "feature_names": tuple(f"r{i}" for i in range(n_reward_features)),
        "members": np.arange(n_members) + 10,
        "rewards": np.arange(n_members) // 2,
        "seeds": np.arange(n_members),
        "is_test": np.arange(n_members) >= n_members - 1,
        "trajectory": ["c", "a"],
        "source": "trained",
        "metadata": {"task": "toy", "tau": 4.0},
    }


def make_dataset(**changes):
    return PolicyDataset(**(make_arguments() | changes))


def assert_same(found, expected):
    for name in ARRAYS:
        assert_array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == getattr(expected, name).dtype
    names = ("steps", "step_names", "action_names", "feature_names")
    for name in (*names, "trajectory", "source", "metadata"):
        assert getattr(found, name) == getattr(expected, name)


@cases(
    "dataset",
    make_dataset(),
    PolicyDataset(**make_arguments(n_reward_features=4608)),
    make_dataset(seeds=np.array([2**64 - 1, 0, 1, 2], dtype=np.uint64)),
    make_dataset(is_test=np.zeros(4, dtype=bool)).test,
    ids=["usual", "wide reward", "large seeds", "empty part"],
)
def test_saved_and_loaded_are_the_same(tmp_path, dataset):
    dataset.save(tmp_path / "dataset.safetensors")
    assert_same(PolicyDataset.load(tmp_path / "dataset.safetensors"), dataset)


def test_the_documented_schema_is_what_is_written(tmp_path):
    make_dataset().save(tmp_path / "d")
    arrays = safetensors.numpy.load_file(tmp_path / "d")
    assert set(arrays) == {*ARRAYS, "steps"}
    assert arrays["X"].dtype == arrays["y"].dtype == np.float64
    record = read_arrays(tmp_path / "d")[1]
    assert set(record) == {
        *("format", "format_version", "step_names", "action_names", "feature_names"),
        *("trajectory", "source", "metadata"),
    }
    for name in (*arrays, *record):
        assert f"``{name}``" in PolicyDataset.__doc__


def test_loading_needs_no_torch(tmp_path):
    make_dataset().save(tmp_path / "d")
    code = (
        "import sys; from gflownet_envs.policy_dataset import PolicyDataset as P;"
        "P.load(sys.argv[1]); assert 'torch' not in sys.modules;"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "d")], check=True)


def test_other_files_and_versions_are_refused(tmp_path):
    make_dataset().save(tmp_path / "d")
    arrays, record = read_arrays(tmp_path / "d")
    write_arrays(tmp_path / "e", arrays, record | {"format_version": 99})
    load = partial(PolicyDataset.load, tmp_path / "e")
    refuses("/e has format version 99; this version", load)
    write_arrays(tmp_path / "e", arrays, {})
    refuses("/e is not a policy data set.*None", load)
    write_arrays(tmp_path / "e", {"X": arrays["X"]}, record)
    refuses(r"/e has the arrays \['X'\]; expected \[", load)
    del record["trajectory"]
    write_arrays(tmp_path / "e", arrays, record)
    refuses("/e has other metadata .* `trajectory`", load)


@cases(
    ("change", "message"),
    ({"metadata": [1]}, r"Expected `object`, got `array` - at `\$.metadata`"),
    ({"action_names": [[1]] * 8}, r"Expected `str`, got `array`"),
    ({"source": "guessed"}, r"Invalid enum value 'guessed' - at `\$.source`"),
    ({"trajectory": []}, "/e holds no data set: trajectory has length 0"),
)
def test_a_right_checksum_does_not_make_a_data_set(tmp_path, change, message):
    make_dataset().save(tmp_path / "d")
    arrays, record = read_arrays(tmp_path / "d")
    write_arrays(tmp_path / "e", arrays, record | change)
    refuses(message, PolicyDataset.load, tmp_path / "e")


@pytest.mark.parametrize("name", ["X", "y", "mask", "is_test", "steps", "members"])
def test_other_arrays_under_the_names_are_refused(tmp_path, name):
    make_dataset().save(tmp_path / "d")
    arrays, record = read_arrays(tmp_path / "d")
    wrong = np.zeros(()), np.zeros((0, 0)), np.zeros(3, bool), np.full((4, 8), np.nan)
    for array in wrong:
        write_arrays(tmp_path / "e", arrays | {name: array}, record)
        refuses("/e holds no data set: ", PolicyDataset.load, tmp_path / "e")


def test_train_and_test_share_out_the_members():
    dataset = make_dataset()
    assert dataset.train.members.tolist() == [10, 11, 12]
    assert dataset.test.members.tolist() == [13]
    assert_array_equal(dataset.train.X, dataset.X[:3])
    assert_array_equal(dataset.test.y, dataset.y[3:])
    assert dataset.train.metadata == dataset.metadata
    assert dataset.train.test.n_members == 0
    assert dataset.select([2, 0]).members.tolist() == [12, 10]
    refuses("members contains 10 twice", dataset.select, [0, 0])
    refuses(r"rows has shape .* and dtype float64", dataset.select, [0.5])
    refuses("rows has length 2; expected 4", dataset.select, np.array([True, False]))


def test_the_frame_has_steps_and_actions(monkeypatch):
    pytest.importorskip("pandas")
    dataset = make_dataset()
    frame = dataset.to_frame()
    assert frame.columns.names == ["step", "action"]
    assert list(frame.columns)[2:4] == [("base", "c"), ("halide", "a")]
    assert frame.index.tolist() == dataset.members.tolist()
    assert_array_equal(frame.to_numpy(), dataset.y)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        dataset.to_frame()


def test_numbers_are_brought_to_float64_and_names_to_tuples():
    arguments = make_arguments()
    changes = {name: arguments[name].astype(np.float32) for name in ("X", "y")}
    changes |= {"members": np.arange(4, dtype="i2"), "steps": list(STEPS)}
    changes["feature_names"] = np.array(arguments["feature_names"])
    dataset = make_dataset(**changes)
    assert dataset.X.dtype == dataset.y.dtype == np.float64
    assert dataset.members.dtype == np.int64
    assert dataset.steps == STEPS
    assert type(dataset.feature_names[0]) is str
    assert dataset.trajectory == ("c", "a")
    assert dataset.step_slices == (slice(0, 3), slice(3, 5))
    with pytest.raises(AttributeError, match="cannot assign to field 'X'"):
        dataset.X = np.ones(1)


def changed_y(row, column, value):
    y = make_arguments()["y"].copy()
    y[row, column] = value
    return y


@cases(
    ("name", "value", "message"),
    ("X", np.ones(4), r"X has shape \(4,\) and dtype float64; expected a two-d"),
    ("X", np.ones((3, 6)), r"X has length 3; expected 4, as y has shape \(4, 5\)"),
    ("X", np.full((4, 6), np.nan), "X is nan in row 0, column 0; expected finite"),
    ("y", changed_y(1, 3, np.inf), "y is inf in row 1, column 3"),
    ("y", changed_y(2, 0, -0.1), "y is -0.1 at member 12, step 'base', action 'a'"),
    ("y", changed_y(3, 1, 1e-9), "y is 1e-09 at member 13, step 'base', action 'b"),
    ("y", changed_y(3, 4, 1.5), "over step 'halide' for member 13; expected 1 wit"),
    ("steps", (3, 3), "steps sums to 6; expected 5"),
    ("steps", (5, 0), r"steps is \(5, 0\); expected positive integers"),
    ("mask", np.ones(5), "mask has dtype float64; expected bool"),
    ("step_names", ("one", "one"), "step_names contains 'one' twice"),
    ("step_names", "ab", "step_names is 'ab'; expected a sequence of strings"),
    ("action_names", (0, 1, 2, 3, 4), r"action_names\[0\] is 0; expected a string"),
    ("action_names", ("a", "c", "c", "a", "b"), "of step 'base' contains 'c' twice"),
    ("members", np.zeros(4, dtype=int), "members contains 0 twice"),
    ("seeds", np.zeros((4, 1), dtype=int), r"seeds has shape \(4, 1\); expected"),
    ("trajectory", ("b", "a"), r"takes 'b' at step 'base'; .* actions \['a', 'c'\]"),
    ("source", "guessed", r"source is 'guessed'; expected one of \('exact', 'tr"),
    ("metadata", None, "metadata is None; expected a dict"),
)
def test_what_does_not_fit_is_refused(name, value, message):
    refuses(message, make_dataset, **{name: value})


def test_metadata_that_json_cannot_hold_write_nothing(tmp_path):
    with pytest.raises(ValueError, match=r"\['model'\] is <object"):
        make_dataset(metadata={"model": object()}).save(tmp_path / "d")
    assert list(tmp_path.iterdir()) == []


def test_policies_of_any_origin():
    """Functions of a state give what the exact solution gives along a trajectory."""
    envs = pytest.importorskip("gflownet_envs.exact")
    from gflownet_envs import GridEnvironment

    environment = GridEnvironment(size=3, max_moves=3)
    X = np.random.default_rng(0).normal(size=(4, environment.n_objects))
    solution = envs.solve_exact(environment, X)
    policies = [
        lambda state, m=member: solution.log_policy(state).exp()[m].numpy()
        for member in range(4)
    ]
    is_test = np.arange(4) == 3
    dataset = PolicyDataset.from_policies(environment, policies, X, is_test=is_test)
    path = envs.greedy_trajectory(environment, envs.mean_policy(solution))
    along = envs.policies_along(environment, solution, path)
    assert_allclose(dataset.y, along.y, atol=1e-15)
    assert_array_equal(dataset.mask, along.mask)
    names = environment.action_names
    assert dataset.trajectory == tuple(names[a] for a in path.actions)
    assert dataset.feature_names[:2] == ("x0", "x1")
    assert dataset.source == "trained"
    frame = pytest.importorskip("pandas").DataFrame(X).add_prefix("cell ")
    for actions in ([3, 4], ["right", "stop"]):
        given = {"X": frame, "trajectory": actions}
        given = PolicyDataset.from_policies(environment, policies, **given)
        assert given.trajectory == ("right", "stop")
        assert given.feature_names[:2] == ("cell 0", "cell 1")


@cases(
    ("policy", "message"),
    ([0.5, 0.5], r"member 1 in state \[0, 0, 0, 0\] must have shape \(5,\)"),
    ([0.0, 1.5, 0.0, -0.5, 0.0], "must be probabilities that sum to 1"),
    ([0.5, 0.5, 0.0, 0.0, 0.0], "0 where an action is not allowed"),
)
def test_what_is_no_policy_is_refused(policy, message):
    pytest.importorskip("torch")
    from gflownet_envs import GridEnvironment

    environment = GridEnvironment(size=2, max_moves=1)
    policies = [lambda state: [0.0, 0.0, 0.0, 0.0, 1.0], lambda state: policy]
    make = partial(PolicyDataset.from_policies, environment)
    X = np.array([[0.0], [1.0]])
    refuses(message, make, policies, X, trajectory=[4])
    refuses("policies has 2 members and X 3 rows", make, policies, np.zeros((3, 1)))
    refuses("all actions; that of member 1 is 2", make, [policies[0], 2], X)
    words = "action 'up' at step 0 is not allowed in state"
    refuses(words, make, policies, X, trajectory=["up"])


def test_zeros_of_policies_stay_zeros():
    """Whoever reads the data set is to be warned of them."""
    pytest.importorskip("torch")
    from gflownet_envs import SequentialSelectionEnvironment

    environment = SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q"]})

    def policy(state, share):
        own = [share, 1.0 - share]
        return [*own, 0.0, 0.0] if state[0] < 0 else [0.0, 0.0, *own]

    policies = [partial(policy, share=share) for share in (1.0, 0.5, 0.25)]
    found = PolicyDataset.from_policies(environment, policies, np.eye(3))
    assert found.y[:, :2].tolist() == [[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]]


def test_it_is_explained_in_one_call():
    """Its names are those of the answer; members of one reward are repeats."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 2)), 2, axis=0)
    first = 1 / (1 + np.exp(-2 * X[:, :1] + 0.1 * rng.normal(size=(80, 1))))
    y = np.hstack([first, 0 * first, 1 - first, np.full((80, 2), 0.5)])
    arguments = make_arguments(80, 2) | {"X": X, "y": y}
    answer = skpce.explain(PolicyDataset(**arguments))
    assert answer.drivers.input_names == ("r0", "r1")
    assert [step.step for step in answer.steps] == ["base", "halide"]
    assert answer.drivers.state[0].tolist() == ["drives", "does not matter"]
    assert "40 settings, 2 runs each" in str(answer.design)
    given = {"inputs": ["r0", "r1"], "steps": {"base": 3, "halide": 2}}
    again = skpce.explain(X, y, replicate=arguments["rewards"], **given)
    assert str(again) == str(answer)
    # Names choose inputs and steps, in any order.
    some = skpce.explain(
        PolicyDataset(**arguments), inputs=["r1", "r0"], outputs="base"
    )
    assert dict(zip(some.input_names, some.drivers.state[0], strict=True)) == {
        "r0": "drives",
        "r1": "does not matter",
    }
    words = "expected steps= to be left out"
    refuses(words, skpce.explain, PolicyDataset(**arguments), steps={"a": 5})
