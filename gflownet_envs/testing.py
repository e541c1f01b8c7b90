"""The contract that every environment must pass.

`check_environment` runs everything; `environment_checks` gives the checks one by one,
for ``pytest.mark.parametrize``. A check raises AssertionError with a message that
names the broken rule. Later environments, yours included, run the same checks.
"""

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gflownet_envs.environments.base import (
    Environment,
    SampledTrajectories,
    StateGraph,
    sample_uniformly,
)
from gflownet_envs.exact.solve import solve_exact, terminating_distribution

__all__ = ["check_environment", "environment_checks", "sample_uniformly"]

Check = Callable[[Environment, SampledTrajectories], None]

_MAX_GRAPH_OBJECTS = 1_000_000


def check_environment(
    environment: Environment, n_trajectories: int = 64, seed: int = 0
) -> None:
    """Raise AssertionError if an environment breaks a rule of the contract.

    Random trajectories are checked, and all states where they can be listed.

    Parameters
    ----------
    environment : Environment
    n_trajectories : int, default=64
        Uniformly random trajectories that the checks use.
    seed : int, default=0

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> check_environment(GridEnvironment(size=3, max_moves=3))
    """
    with _breaking("attributes"):
        _attributes(environment)
    with _breaking("answers"):
        _answers(environment)
    with _breaking("uniform walks"):
        sample = sample_uniformly(environment, n_trajectories, seed)
    for name, check in environment_checks(environment):
        with _breaking(name):
            check(environment, sample)


@contextmanager
def _breaking(name: str) -> Iterator[None]:
    """Let whatever goes wrong in a check be a broken rule with the name of the check.

    An environment may fail anywhere in torch; what it raises there says little.
    """
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(
            f"the check {name!r} ended in {type(error).__name__}: {error}"
        ) from error


def environment_checks(
    environment: Environment | None = None,
) -> Iterator[tuple[str, Check]]:
    """Yield (name, check); those of the state graph only where it can be built.

    That is, where states can be listed and there are at most a million objects.
    Without an environment all of them are named. A check is called with the
    environment and trajectories of it.

    Examples
    --------
    >>> from gflownet_envs.environments import GridEnvironment
    >>> from gflownet_envs.testing import sample_uniformly
    >>> environment = GridEnvironment(size=3, max_moves=3)
    >>> sample = sample_uniformly(environment, 64)
    >>> for name, check in environment_checks(environment):
    ...     check(environment, sample)
    """
    yield from _CHECKS.items()
    if environment is not None:
        n_objects = environment.n_objects
        is_small = n_objects is not None and n_objects <= _MAX_GRAPH_OBJECTS
        if not (environment.is_enumerable and is_small):
            return
    yield from _GRAPH_CHECKS.items()


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_names(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(name, str) for name in value)


#: What an environment has to set in ``__init__``, and its type.
_ATTRIBUTES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "name": ("a str", lambda value: isinstance(value, str)),
    "n_objects": ("an int or None", lambda value: value is None or _is_int(value)),
    **dict.fromkeys(("action_names", "step_names"), ("a tuple of str", _are_names)),
    **dict.fromkeys(
        ("n_backward_actions", "state_size", "encoding_size"), ("an int", _is_int)
    ),
}


def _attributes(environment: Environment) -> None:
    """Every attribute is there, of its type."""
    for name, (expected, is_right) in _ATTRIBUTES.items():
        missing = f"{name} is missing; set it to {expected} in __init__"
        assert hasattr(environment, name), missing
        value = getattr(environment, name)
        assert is_right(value), f"{name} must be {expected}, got {value!r}"
    names = environment.action_names
    assert len(set(names)) == len(names), f"action_names must differ, got {names}"


def _answers(environment: Environment) -> None:
    """Every method answers for two initial states with the right type and shape."""
    answer = partial(_answer, environment)
    size, n_actions = environment.state_size, environment.n_actions
    states = answer("initial_state", torch.int64, (2, size), (2,), device="cpu")
    answer("is_terminal", torch.bool, (2,), states)
    mask = answer("valid_mask", torch.bool, (2, n_actions), states)
    actions = mask.to(torch.int64).argmax(dim=-1)
    after = answer("step", torch.int64, (2, size), states, actions)
    undo = answer("backward_action", torch.int64, (2,), states, actions)
    shape = (2, environment.n_backward_actions)
    answer("backward_mask", torch.bool, shape, after)
    answer("backward", torch.int64, (2, size), after, undo)
    answer("encode", torch.float32, (2, environment.encoding_size), states)


def _answer(
    environment: Environment,
    method: str,
    dtype: torch.dtype,
    shape: tuple[int, ...],
    *arguments: object,
    **options: object,
) -> Tensor:
    """Call a method, and return its answer if it is a tensor as expected."""
    expected = f"must return a tensor of {dtype} and shape {shape}"
    given = [a.clone() if isinstance(a, Tensor) else a for a in arguments]
    try:
        found = getattr(environment, method)(*arguments, **options)
    except Exception as error:
        raise AssertionError(
            f"{method} {expected} for two states; it raised {type(error).__name__}: "
            f"{error}"
        ) from error
    for before, after in zip(given, arguments, strict=True):
        if isinstance(before, Tensor) and isinstance(after, Tensor):
            unchanged = torch.equal(before, after)
            assert unchanged, f"{method} must not modify its arguments"
    if not isinstance(found, Tensor):
        raise AssertionError(f"{method} {expected}, got {type(found).__name__}")
    assert found.dtype == dtype, f"{method} {expected}, got {found.dtype}"
    assert tuple(found.shape) == shape, (
        f"{method} {expected}, got the shape {tuple(found.shape)}"
    )
    return found


def _pickles(environment: Environment, sample: SampledTrajectories) -> None:
    try:
        copy = pickle.loads(pickle.dumps(environment))
    except Exception as error:
        raise AssertionError(
            "an environment must pickle, so that worker processes have it: define its "
            "class at the top of a module, and let it hold no lambda; "
            f"{type(error).__name__}: {error}"
        ) from error
    same = torch.equal(copy.encode(sample.before), environment.encode(sample.before))
    assert same, "a pickled copy must encode states in the same way"
    stepped = copy.step(sample.before, sample.taken)
    same = torch.equal(stepped, sample.after)
    assert same, "a pickled copy must step in the same way"


def _initial_state(environment: Environment, sample: SampledTrajectories) -> None:
    state = environment.initial_state()
    repeated = environment.initial_state((2, 3))
    assert torch.equal(repeated, state.expand(2, 3, environment.state_size)), (
        "initial_state must repeat one state of shape (state_size,)"
    )
    assert not environment.is_terminal(state), "the initial state must not be terminal"
    no_parent = not environment.backward_mask(state).any()
    assert no_parent, "the initial state must have no parents"
    assert environment.log_backward_policy(state) == 0, "log P_B of the initial state"


def _ends(environment: Environment, sample: SampledTrajectories) -> None:
    """Walks end in time, and finished states stay as they are."""
    ended = environment.is_terminal(sample.final)
    assert ended.all(), (
        f"every trajectory must end within max_steps={environment.max_steps}, "
        f"got {sample.final[~ended][:1].tolist()}"
    )
    mask = environment.valid_mask(sample.final)
    assert not mask.any(), "valid_mask must be all False on terminal states"
    for action in range(environment.n_actions):
        actions = torch.full(sample.final.shape[:1], action)
        after = environment.step(sample.final, actions)
        assert torch.equal(after, sample.final), (
            f"step must leave terminal states as they are (action {action})"
        )


def _backward_undoes(environment: Environment, sample: SampledTrajectories) -> None:
    undo = environment.backward_action(sample.before, sample.taken)
    in_range = (undo >= 0) & (undo < environment.n_backward_actions)
    assert in_range.all(), "backward_action must be in [0, n_backward_actions)"
    allowed = environment.backward_mask(sample.after).gather(1, undo[:, None])
    assert allowed.all(), "the backward action of an allowed action must be allowed"
    back = environment.backward(sample.after, undo)
    assert torch.equal(back, sample.before), "backward must undo step"


def _parents_return(environment: Environment, sample: SampledTrajectories) -> None:
    """Every allowed backward action leads to a parent with a way back."""
    visited, undo = environment.backward_mask(sample.after).nonzero(as_tuple=True)
    children = sample.after[visited]
    parents = environment.backward(children, undo)
    finished = environment.is_terminal(parents)
    assert not finished.any(), "a parent must not be terminal"
    tried, actions = environment.valid_mask(parents).nonzero(as_tuple=True)
    is_undone = environment.backward_action(parents[tried], actions) == undo[tried]
    there = environment.step(parents[tried], actions)
    returning = tried[is_undone & (there == children[tried]).all(dim=-1)]
    returns = torch.zeros(len(parents), dtype=torch.bool)
    returns[returning] = True
    assert returns.all(), (
        "every allowed backward action must lead to a parent from which an allowed "
        f"action returns; from {children[~returns][:1].tolist()} it leads to "
        f"{parents[~returns][:1].tolist()}"
    )


def _backward_walks(environment: Environment, sample: SampledTrajectories) -> None:
    """Random ways back take as many steps as the way there: the space is graded."""
    initial = environment.initial_state()
    states, left = sample.before, sample.steps
    generator = torch.Generator().manual_seed(0)
    message = (
        "every way back must end in the initial state after as many actions as led "
        "there (a parent cannot be reached, or the space is not graded)"
    )
    while len(states) > 0:
        is_initial = (states == initial).all(dim=-1)
        assert torch.equal(is_initial, left == 0), message
        states, left = states[~is_initial], left[~is_initial]
        if len(states) > 0:
            mask = environment.backward_mask(states).to(torch.float64)
            assert (mask.sum(dim=-1) > 0).all(), message
            undo = torch.multinomial(mask, 1, generator=generator)[:, 0]
            states, left = environment.backward(states, undo), left - 1


def _log_backward_policy(environment: Environment, sample: SampledTrajectories) -> None:
    n_parents = environment.backward_mask(sample.after).sum(dim=-1)
    total = n_parents * environment.log_backward_policy(sample.after).exp()
    normalised = torch.allclose(total, torch.ones_like(total), rtol=0, atol=1e-12)
    assert normalised, "log_backward_policy must be normalised over parents"


def _encoding(environment: Environment, sample: SampledTrajectories) -> None:
    for states in (sample.before, sample.final):  # the latter pad batches
        finite = torch.isfinite(environment.encode(states)).all()
        assert finite, "encode must be finite, on terminal states too"
    _distinguishes(environment, sample.before)


def _distinguishes(environment: Environment, states: Tensor) -> None:
    n_states = len(torch.unique(states, dim=0))
    n_encodings = len(torch.unique(environment.encode(states), dim=0))
    assert n_states == n_encodings, (
        f"encode must distinguish non-terminal states: {n_states} states have "
        f"{n_encodings} encodings"
    )


def _objects(environment: Environment, sample: SampledTrajectories) -> None:
    has_reason = environment.enumeration_reason != ""
    assert has_reason != environment.is_enumerable, (
        "enumeration_reason must say why where is_enumerable is False, and be empty "
        f"elsewhere, got {environment.enumeration_reason!r}"
    )
    if environment.n_objects is None:
        assert not environment.is_enumerable, (
            "a space without n_objects is not enumerable"
        )
        for name, arguments in (
            ("object_index", (sample.final,)),
            ("object_name", (0,)),
            ("object_names", ()),
        ):
            message = _refusal(getattr(environment, name), *arguments)
            assert environment.enumeration_reason in message, (
                f"{name} must raise ValueError with the enumeration_reason where "
                "n_objects is None"
            )
        return
    index = environment.object_index(sample.final)
    in_range = (index >= 0) & (index < environment.n_objects)
    assert in_range.all(), f"object_index must be in [0, {environment.n_objects})"
    n_finals = len(torch.unique(sample.final, dim=0))
    assert n_finals == len(torch.unique(index)), (
        "terminal states and objects must correspond one to one"
    )
    names = [environment.object_name(int(i)) for i in index.unique()]
    assert len(set(names)) == len(names), "objects must have names of their own"


def _refusal(call: Callable[..., object], *arguments: object) -> str:
    """Return the message of the ValueError that a call raises; none without one."""
    try:
        call(*arguments)
    except ValueError as error:
        return str(error)
    return ""


def _action_history(environment: Environment, sample: SampledTrajectories) -> None:
    if not environment.is_tree:
        refused = _refusal(environment.action_history, sample.before)
        assert refused, "action_history must raise ValueError where is_tree is False"
        return
    n_parents = environment.backward_mask(sample.after).sum(dim=-1)
    assert (n_parents == 1).all(), "every later state of a tree must have one parent"
    history = environment.action_history(sample.states)
    times = torch.arange(environment.max_steps)
    actions = torch.where(sample.alive, sample.actions, -1)[:, None]
    n_taken = torch.arange(sample.states.shape[1])[:, None]
    expected = torch.where(times < n_taken, actions, -1)
    assert torch.equal(history, expected), (
        "action_history must be the actions that led to each state, then -1"
    )


def _step_actions(environment: Environment, sample: SampledTrajectories) -> None:
    for step in range(environment.max_steps):
        states = sample.states[:, step][sample.alive[:, step]]
        used = environment.valid_mask(states).any(dim=0).nonzero()[:, 0].tolist()
        missing = set(used) - set(environment.step_actions(step))
        assert not missing, f"step_actions({step}) must contain {sorted(missing)}"


def _one_and_many(environment: Environment, sample: SampledTrajectories) -> None:
    """Every method says of one state what it says in a batch, and changes none."""
    states, actions = sample.before[:8], sample.taken[:8]
    after = environment.step(states, actions)
    undo = environment.backward_action(states, actions)
    calls: dict[str, tuple[Tensor, ...]] = {
        "is_terminal": (states,),
        "valid_mask": (states,),
        "step": (states, actions),
        "encode": (states,),
        "backward_mask": (states,),
        "backward": (after, undo),
        "log_backward_policy": (states,),
    }
    if environment.is_tree:
        calls["action_history"] = (states,)
    for name, arguments in calls.items():
        method, given = getattr(environment, name), [a.clone() for a in arguments]
        batched = method(*arguments)
        for i, expected in enumerate(batched):
            one = method(*(argument[i] for argument in arguments))
            agrees = torch.equal(one, expected)
            assert agrees, f"{name} must agree for one state and for a batch"
        unchanged = all(map(torch.equal, arguments, given))
        assert unchanged, f"{name} must not modify its arguments"


def _graph(environment: Environment, sample: SampledTrajectories) -> None:
    """All states can be listed, and `StateGraph` finds nothing to refuse."""
    graph = StateGraph.from_environment(environment)
    _distinguishes(environment, graph.states)


def _exact_distribution(environment: Environment, sample: SampledTrajectories) -> None:
    generator = torch.Generator().manual_seed(0)
    shape = (2, environment.require_listed_objects())
    log_reward = 2 * torch.randn(shape, generator=generator, dtype=torch.float64)
    solution = solve_exact(environment, log_reward)
    law = terminating_distribution(solution.graph, solution.log_policy_table)
    error = (law - solution.target_distribution()).abs().max().item()
    assert error < 1e-10, (
        f"the exact distribution must be ∝ reward, the error is {error:.1e}"
    )


_CHECKS: dict[str, Check] = {
    "attributes": lambda environment, sample: _attributes(environment),
    "answers": lambda environment, sample: _answers(environment),
    "initial state": _initial_state,
    "ends": _ends,
    "backward undoes": _backward_undoes,
    "parents return": _parents_return,
    "backward walks": _backward_walks,
    "backward policy": _log_backward_policy,
    "encoding": _encoding,
    "objects": _objects,
    "action history": _action_history,
    "step actions": _step_actions,
    "one and many": _one_and_many,
    "pickles": _pickles,
}
_GRAPH_CHECKS: dict[str, Check] = {
    "graph tables": _graph,
    "exact distribution": _exact_distribution,
}
