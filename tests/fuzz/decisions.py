"""Calls that make ensembles, and that decide with a surrogate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from skpce import decision, ensembles
from tests.fuzz import invariants as true
from tests.fuzz import values as draw
from tests.fuzz.estimators import LAWS
from tests.fuzz.models import Drawn, Generator, of_keywords, policies, regression, size
from tests.shared import ridge_pce, ridge_surrogate


def _frame(rng: Generator) -> Drawn:
    X, y = regression(rng)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    frame["y"] = y if y.ndim == 1 else y[:, 0]
    inputs = [name for name in frame if name != "y"]
    given = {"frame": frame, "inputs": inputs, "outputs": ["y"]}
    return ensembles.from_frame, given, true.nothing


def _search(rng: Generator) -> Drawn:
    n = size(rng) + 4
    a, _, *scores = (rng.random(n) for _ in range(5))
    params = [{"a": float(v), "b": int(k)} for k, v in enumerate(a)]
    results = {"params": params, "param_a": a, "param_b": np.arange(n)}
    names = ("mean_test_score", "split0_test_score", "split1_test_score")
    results |= dict(zip(names, scores, strict=True))
    return ensembles.from_cv_results, {"cv_results": results}, true.nothing


def _study(rng: Generator) -> Drawn:
    space = {"a": SimpleNamespace(low=0.0, high=1.0, log=False, step=None)}
    known = {"distributions": space, "state": SimpleNamespace(name="COMPLETE")}
    trials = [
        SimpleNamespace(params={"a": v}, values=[v], number=i, **known)
        for i, v in enumerate(rng.random(size(rng) + 4).tolist())
    ]
    study = SimpleNamespace(trials=trials, directions=[None], metric_names=None)
    given = {"study": study, "distribution": draw.one_of(rng, ["space", "tried"])}
    return ensembles.from_study, given, true.nothing


def _sampled(rng: Generator) -> Drawn:
    names = [f"x{i}" for i in range(int(rng.integers(1, 4)))]
    given = {"distributions": {name: draw.one_of(rng, LAWS[-6:]) for name in names}}
    given |= {"n": int(rng.integers(1, 40)), "random_state": 0}
    given["method"] = draw.one_of(rng, ["sobol", "lhs", "random"])

    def faults(found: Any) -> true.Faults:
        yield from true.finite("inputs", found)

    return ensembles.sample_inputs, given, faults


def _sliced(rng: Generator) -> Drawn:
    given = {"n_members": int(rng.integers(1, 40)), "random_state": 0}
    given |= {"n_slices": int(rng.integers(1, 6)), "rate": rng.uniform(0.1, 0.9)}
    return ensembles.slice_design, given, true.nothing


def _belief(rng: Generator) -> Drawn:
    given = {
        "particles": rng.normal(size=(size(rng), 2)),
        "names": ("a", "b"),
        "probabilities": rng.uniform(0, 1, size=3),
    }

    def made(
        particles: Any, names: Any, probabilities: Any, weights: Any = None
    ) -> Any:
        found = decision.InputBelief(particles, names=names, weights=weights)
        drawn = found.sample(5, np.random.default_rng(0))
        again = dataclasses.replace(
            found, particles=drawn, weights=None, ancestors=None
        )
        quantiles = found.quantile(probabilities)
        if (quantiles > np.max(found.particles, axis=0)).any():
            raise AssertionError("a quantile beyond the draws")
        again.to_frame(), str(again)
        return found

    def faults(found: Any) -> true.Faults:
        yield from true.finite("mean", found.mean)
        yield from true.between("weights", np.sum(found.weights), 1.0, 1.0)
        yield from true.between("size", found.effective_sample_size, 1.0, np.inf)

    return made, given, faults


def _thompson(rng: Generator) -> Drawn:
    X, y, steps = policies(rng)
    surrogate = ridge_surrogate(1, steps=steps).fit(X, y)

    def choose(observed: Any, noise_sd: Any, steps: Any, **parameters: Any) -> Any:
        policy = decision.ThompsonPolicy(**parameters, random_state=0).fit()
        if observed is not None:
            policy.update(observed, outcome=lambda z: z[:, :1], noise_sd=noise_sd)
        return policy.choose(steps)

    def faults(found: Any) -> true.Faults:
        for block in found.policy:
            yield from true.simplex("policy", np.atleast_2d(block), (len(block),))

    given = {"surrogate": surrogate, "n_particles": 20, "n_draws": 5, "steps": None}
    given["rule"] = draw.one_of(rng, ["draw", "mean", "vote"])
    given["greedy"] = bool(rng.random() < 0.5)
    given |= {"observed": draw.one_of(rng, [None, [0.1]]), "noise_sd": 1.0}
    return of_keywords(choose, given), given, faults


def _known(rng: Generator) -> Drawn:
    X = rng.normal(size=(size(rng) + 6, 2))
    slopes = rng.normal(size=(2, int(rng.integers(2, 5))))
    degree, law = int(rng.integers(1, 3)), draw.one_of(rng, ["normal", "uniform"])
    utility = X @ slopes + rng.normal(size=(len(X), slopes.shape[1]))
    given = {"surrogate": ridge_pce(degree, distribution=law), "X": X}
    given |= {"utility": utility, "form": draw.one_of(rng, ["marginal", "regression"])}
    given |= {"n_resamples": 3, "n_samples": 128, "random_state": 0}

    def faults(found: Any) -> true.Faults:
        yield from true.between("plug_in", found.plug_in, 0.0, np.finfo(float).max)
        yield from true.between("flips", found.flip_probability, 0.0, 1.0)
        yield from true.between("shares", found.variance_share, 0.0, 1.0 + 1e-9)

    return decision.value_of_information, given, faults


def _measured(rng: Generator) -> Drawn:
    slopes = rng.normal(size=(2, 3))
    given = {
        "belief": decision.InputBelief(rng.normal(size=(size(rng), 2))),
        "outcome": lambda x: x @ slopes,
        "noise_sd": draw.one_of(rng, [1e-300, 1e-6, 0.1, 2.0, 1e300]),
    }

    def faults(found: Any) -> true.Faults:
        yield from true.between("worth", found.worth, 0.0, np.finfo(float).max)

    return decision.measure_next, given, faults


#: Functions of ensembles and decisions by name, with what draws their arguments.
DECISIONS: Mapping[str, Callable[[Generator], Drawn]] = {
    "skpce.decision.InputBelief": _belief,
    "skpce.decision.ThompsonPolicy": _thompson,
    "skpce.decision.measure_next": _measured,
    "skpce.decision.value_of_information": _known,
    "skpce.ensembles.from_cv_results": _search,
    "skpce.ensembles.from_frame": _frame,
    "skpce.ensembles.from_study": _study,
    "skpce.ensembles.sample_inputs": _sampled,
    "skpce.ensembles.slice_design": _sliced,
}
