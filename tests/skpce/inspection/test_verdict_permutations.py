"""Permutations of a verdict: processes, progress, and stopping half-way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline

from skpce import CompositionalPCESurrogate
from skpce._checks.workers import collected
from skpce.inspection import verdict

WIDTHS = (3, 2, 4)


class Tally(TransformerMixin, BaseEstimator):
    """The identity, which adds a byte to a file in every fit of any process."""

    def __init__(self, path):
        self.path = path

    def fit(self, X, y=None):
        with open(self.path, "a") as file:
            file.write(".")
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X


def surrogate():
    return CompositionalPCESurrogate(
        1, steps=WIDTHS, solver="ridge", distribution="normal"
    )


@pytest.fixture(scope="module")
def replicates(simulate):
    """12 rewards of 3 members, then without one of them."""
    X, y = simulate(n_members=12)
    reward = np.repeat(np.arange(12), 3)
    noise = np.random.default_rng(0).uniform(0.9, 1.1, size=(36, y.shape[1]))
    y = y[reward] * noise
    blocks = [b / b.sum(axis=1, keepdims=True) for b in np.split(y, [3, 5], axis=1)]
    return X[reward], np.hstack(blocks), reward


def paths(ensemble, replicates):
    """Closed form; refits that move policies; refits that move inputs."""
    X, y = ensemble
    rows = slice(1, None)
    unequal = tuple(values[rows] for values in replicates)
    return {
        "closed form": ((X, y), {}, True),
        "policies": ((X, y), {"closed_form": False}, False),
        "rewards": (replicates, {"closed_form": False}, False),
        "inputs": (unequal, {}, False),
    }


@pytest.mark.parametrize("path", ["closed form", "policies", "rewards", "inputs"])
def test_processes_and_progress(ensemble, replicates, path):
    data, options, is_closed = paths(ensemble, replicates)[path]
    options |= {"n_permutations": 20, "random_state": 0}
    found = {}
    for n_jobs in (None, 2):
        calls = []
        found[n_jobs] = verdict(
            surrogate(),
            *data,
            n_jobs=n_jobs,
            progress=lambda done, total, calls=calls: calls.append((done, total)),
            **options,
        )
        done = [pair[0] for pair in calls]
        assert done == sorted(set(done)), "counts up"
        assert calls[-1] == (20, 20)
        assert {pair[1] for pair in calls} == {20}
        assert found[n_jobs].closed_form == is_closed
        assert found[n_jobs].cpu_seconds > 0
        if not is_closed:
            assert len(calls) > 1, "more often than at the end"
    assert repr(found[None]) == repr(found[2])


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_interrupt_stops_the_refits(ensemble, tmp_path, n_jobs):
    """Nothing is refitted after it, even while its traceback is held."""
    X, y = ensemble
    path = tmp_path / "fits"
    pipeline = make_pipeline(Tally(str(path)), surrogate())
    options = {"closed_form": False, "random_state": 0, "n_jobs": n_jobs, "cv": 3}

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        verdict(pipeline, X, y, n_permutations=200, progress=stop, **options)
    stopped = fits(path)
    assert stopped < 200 * 3
    verdict(pipeline, X, y, n_permutations=24, **options)
    # The cross-fit, each permutation, the degree-1 baseline, and one for cautions.
    assert fits(path) - stopped == 3 * (1 + 24 + 1) + 1
    assert caught.tb is not None


def fits(path: Path) -> int:
    return path.stat().st_size


def test_a_generator_is_closed_although_a_traceback_holds_it():
    closed = []

    def results():
        try:
            yield from range(9)
        finally:
            closed.append(True)

    def stop(result):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        collected(results(), stop)
    assert closed == [True]
    assert caught.tb is not None


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"n_jobs": 0}, "'n_jobs' .* an int other than 0 or None. Got 0"),
        ({"n_jobs": 1.5}, "'n_jobs' .* Got 1.5"),
        ({"n_jobs": True}, "'n_jobs' .* Got True"),
        ({"progress": 3}, "'progress' .* callable or None. Got 3"),
        ({"closed_form": "no"}, "'closed_form' .* a bool. Got 'no'"),
    ],
)
def test_bad_arguments_before_any_fit(ensemble, monkeypatch, kwargs, message):
    def fail(*_, **__):
        raise AssertionError("fitted before the check")

    monkeypatch.setattr(CompositionalPCESurrogate, "fit", fail)
    with pytest.raises(ValueError, match=message):
        verdict(surrogate(), *ensemble, **kwargs)
