"""What the answers say of ensembles of which the truth is known."""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

import skpce
from skpce.drivers import _findings
from skpce.drivers._shares import Shares

from .ensembles import Case, base


def generator_of(name: str, seed: int) -> np.random.Generator:
    """Return a generator that no other kind and seed has."""
    return np.random.default_rng([zlib.crc32(name.encode()), seed])


def answer_of(case: Case) -> Any:
    """Return the answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return skpce.explain(case.X, case.y, **case.options)


def without_shares(call: Callable[[], Any]) -> Any:
    """Call with unknown shares: *drives* does not rest on them, and takes a third."""

    def nothing(problem: Any, unit: Any) -> Shares:
        n_outputs, n_rows = problem.n_outputs, len(problem.members)
        unknown = np.stack([np.zeros((n_outputs, n_rows))] * 2)
        bounds = np.concatenate([unknown, np.ones((1, n_outputs, n_rows))])
        found = Shares.nothing(n_outputs, n_rows)
        return replace(
            found,
            first=bounds,
            total=bounds.copy(),
            explained=np.zeros(n_outputs),
            q2=np.zeros((3, n_outputs)),
        )

    with mock.patch.object(_findings, "shares_of", nothing):
        return call()


def measure(case: Case, shares: bool = True) -> dict[str, Any]:
    """Return what was said, rightly and wrongly, and the CPU-seconds."""
    start = time.process_time()
    answer = answer_of(case) if shares else without_shares(lambda: answer_of(case))
    seconds = time.process_time() - start
    drivers = answer.drivers
    state = drivers.state.astype(str)
    names = [str(name) for name in drivers.input_names]
    known = {f"x{i}" for i in case.drivers}
    null = np.array([name not in known for name in names])
    pairs = zip(answer.pairs.first_input, answer.pairs.second_input, strict=True)
    found: dict[str, Any] = {
        "drives": [
            name
            for name, column in zip(names, state.T, strict=True)
            if (column == "drives").any()
        ],
        "wrong": bool((state[:, null] == "drives").any()),
        "wrong pair": False,
        "pairs": [],
        "nothing": [
            name
            for name, column in zip(names, state.T, strict=True)
            if (column == "does not matter").all()
        ],
        "seconds": seconds,
    }
    for first, second in pairs:
        found["pairs"].append([str(first), str(second)])
        found["wrong pair"] |= not {str(first), str(second)} <= known
    if shares and case.total:
        found |= _coverage(drivers, case)
    return found


def _coverage(drivers: Any, case: Case) -> dict[str, Any]:
    """Return whether all intervals of the answer hold together, and their widths."""
    inside, width = [], []
    for kind in ("first", "total"):
        low, high = (getattr(drivers, f"{kind}_{end}")[0] for end in ("low", "high"))
        true = np.array(getattr(case, kind))
        inside.append((low - 1e-9 <= true) & (true <= high + 1e-9))
        width.append(high - low)
    return {
        "covered": bool(np.all(inside)),
        "inside": np.array(inside).astype(int).tolist(),
        "width": np.round(width, 4).tolist(),
    }


def answers_of_shuffles(seed: int, n_shuffles: int = 12) -> int:
    """Return how many answers a base ensemble has over rows, columns and units."""
    case = base(60, np.random.default_rng([1, seed]))
    generator = np.random.default_rng([2, seed])
    names = np.array([f"x{i}" for i in range(case.X.shape[1])])

    def states_of(answer: Any) -> tuple[str, ...]:
        inputs = map(str, answer.drivers.input_names)
        known = dict(zip(inputs, answer.drivers.state[0], strict=True))
        return tuple(str(known[name]) for name in names)

    found = {states_of(answer_of(case))}
    for _ in range(n_shuffles - 1):
        rows, columns = map(generator.permutation, case.X.shape)
        units = 10.0 ** generator.integers(-3, 4, size=len(columns))
        X = (case.X * units + generator.normal(size=len(columns)))[rows][:, columns]
        answer = skpce.explain(X, 10.0 * case.y[rows], inputs=names[columns].tolist())
        found.add(states_of(answer))
    return len(found)
