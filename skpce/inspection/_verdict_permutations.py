"""Cross-fitted Q² of every permutation, spread over processes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from .._checks import FloatArray
from ._cross_fit import CrossFit, step_q2
from ._permuted_fits import Permutations, PermutedFits

# Enough to pay for sending a task to a process, few enough to show progress.
_PERMUTATIONS_PER_TASK = 8


def permuted_q2(
    fit: CrossFit,
    permutations: Permutations,
    closed: PermutedFits | None,
    deviations: FloatArray,
    n_jobs: int | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[FloatArray, float]:  # shape: (n_permutations, n_steps); CPU seconds
    """Return Q² of every permutation, in their order, and the CPU time of all."""
    orders = permutations.orders
    size = _PERMUTATIONS_PER_TASK if closed is None else closed.permutations_at_once
    tasks = (
        delayed(_q2_of_orders)(
            fit,
            closed,
            deviations,
            Permutations(orders[start : start + size], permutations.moves_policies),
        )
        for start in range(0, len(orders), size)
    )
    if closed is not None:
        n_jobs = 1  # sending the data would take longer than the work
    values: list[FloatArray] = []
    cpu_seconds = 0.0
    with _stopping(Parallel(n_jobs=n_jobs, return_as="generator")(tasks)) as results:
        for q2, seconds in results:
            values.extend(q2)
            cpu_seconds += seconds
            if progress is not None:
                progress(len(values), len(orders))
    return np.asarray(values), cpu_seconds


@contextmanager
def _stopping(
    results: Generator[Any, None, None],
) -> Iterator[Generator[Any, None, None]]:
    """Stop the processes when the block is left early.

    A suspended generator goes on dispatching tasks for as long as a traceback holds
    it. joblib warns of results that nobody takes; here that is what was asked for.
    """
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _q2_of_orders(
    fit: CrossFit,
    closed: PermutedFits | None,
    deviations: FloatArray,
    permutations: Permutations,
) -> tuple[list[FloatArray], float]:
    started = time.process_time()
    errors: Iterable[FloatArray]
    with threadpool_limits(1):  # threads lose time on fits this small
        if closed is not None:
            errors = closed.squared_errors(permutations.orders)
        else:
            name = "order" if permutations.moves_policies else "inputs"
            errors = (
                fit.squared_errors(**{name: order}) for order in permutations.orders
            )
        q2 = [
            step_q2(
                error,
                deviations[order] if permutations.moves_policies else deviations,
                fit.geometry,
            )
            for error, order in zip(errors, permutations.orders, strict=True)
        ]
    return q2, time.process_time() - started
