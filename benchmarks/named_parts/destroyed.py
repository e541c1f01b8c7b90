"""Destroy a part in every member, solve again, and see how much variance is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from gflownet_envs.experiments.part_effects import exact_solver, policies_of_parts
from gflownet_envs.experiments.task import PartFindings, Policies, Study
from skpce import LogRatioTransformer

#: Parts of each choice that are destroyed: those of the largest total index.
N_LARGEST = 3

#: Shuffles of every part between the members.
N_SHUFFLES = 4

#: Members at whose part all others are frozen.
N_FROZEN = 16

#: Columns of the effects that stand beside the fall of the variance.
CLAIMS = ("first", "first_error", "total", "total_error", "left")

Parts = Mapping[str, np.ndarray]


def destroyed(
    study: Study, policies: Policies, findings: tuple[PartFindings, ...], seed: int
) -> list[dict[str, Any]]:
    """Return, per split, choice and part, the claims and the fall of the variance.

    Parts are destroyed in the members, and in members whose parts were shuffled between
    them, where parts are independent; there they are also frozen at those of single
    members.
    """
    solve = exact_solver(study, policies)
    assert solve is not None
    exact = policies.exact
    assert exact is not None
    steps = dict(zip(exact.step_names, exact.steps, strict=True))
    rows = []
    for found in findings:
        parts = found.named.parts
        variance = partial(
            step_variance, partial(policies_of_parts, found.named, study, solve), steps
        )
        rng = np.random.default_rng(seed)
        shuffles = [shuffled(parts, rng) for _ in range(N_SHUFFLES)]
        whole = variance(parts)
        of_shuffles = np.mean([variance(one) for one in shuffles], axis=0)
        for name, places in largest(found).items():
            left = variance(at_mean(parts, name))
            left_of_shuffles = np.mean(
                [variance(at_mean(one, name)) for one in shuffles], axis=0
            )
            at_members = np.mean(
                [
                    variance(at_a_member(shuffles[turn % N_SHUFFLES], name, rng))
                    for turn in range(N_FROZEN)
                ],
                axis=0,
            )
            part = found.effects.part_names.index(name)
            rows += [
                {
                    "split": found.named.title,
                    "step": found.effects.step_names[place],
                    "part": name,
                    **{
                        column: float(getattr(found.effects, column)[place, part])
                        for column in CLAIMS
                    },
                    "supported": bool(found.effects.steps[place].supported),
                    "variance_ratio": float(found.effects.variance_ratio[place]),
                    "fall": float(1.0 - left[place] / whole[place]),
                    "fall_shuffled": float(
                        1.0 - left_of_shuffles[place] / of_shuffles[place]
                    ),
                    "fall_at_members": float(
                        1.0 - at_members[place] / of_shuffles[place]
                    ),
                }
                for place in places
            ]
    return rows


def largest(found: PartFindings) -> dict[str, list[int]]:
    """Return the parts to destroy, each with the choices where it is among the largest.

    By total index; only choices with variance.
    """
    chosen: dict[str, list[int]] = {}
    effects = found.effects
    for place in np.flatnonzero(np.isfinite(effects.variance_ratio)):
        order = np.argsort(-effects.total[place], kind="stable")[:N_LARGEST]
        for part in order:
            chosen.setdefault(effects.part_names[part], []).append(int(place))
    return chosen


def shuffled(parts: Parts, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Give every part of a member to another one, each part to another."""
    return {
        name: values[rng.permutation(len(values))] for name, values in parts.items()
    }


def at_mean(parts: Parts, name: str) -> dict[str, np.ndarray]:
    """Replace one part by its mean over the members, in every member."""
    values = parts[name]
    return {**parts, name: np.broadcast_to(values.mean(axis=0), values.shape)}


def at_a_member(
    parts: Parts, name: str, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Replace one part by that of one member, in every member."""
    values = parts[name]
    one = values[rng.integers(len(values))]
    return {**parts, name: np.broadcast_to(one, values.shape)}


def step_variance(
    model: Callable[[Parts], np.ndarray], steps: Mapping[str, int], parts: Parts
) -> np.ndarray:  # shape: (n_steps,)
    """Return the Aitchison variance of each step, from isometric log-ratios."""
    ratios = LogRatioTransformer("ilr", steps=steps, zero_replacement=1e-12)
    coordinates = ratios.fit_transform(model(parts))
    variance = coordinates.var(axis=0, ddof=1)
    return np.bincount(ratios.coordinate_steps_, variance, minlength=len(steps))
