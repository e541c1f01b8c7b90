"""Find which named part of the rewards explains which choice, by solving again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gflownet_envs.exact.solve import solve_exact
from gflownet_envs.exact.trajectories import PolicySource, policies_along
from gflownet_envs.experiments.analysis import (
    noise_share_and_targets,
    steps_with_choice,
)
from gflownet_envs.experiments.task import (
    NamedParts,
    PartFindings,
    Policies,
    Progress,
    Study,
    stage,
)
from skpce.inspection import (
    Result,
    part_effects,
    part_entries,
)
from skpce.inspection._ensembles.training_noise import jackknife_error

# Groups of rewards that are left out for the standard error of training noise.
_N_NOISE_GROUPS = 10


def find_part_effects(
    study: Study,
    policies: Policies,
    *,
    n_draws: int,
    seed: int,
    progress: Progress,
) -> tuple[PartFindings, ...]:
    """Return the effects of the parts of every split.

    Parts are exchanged and solved again; nothing is found where that is not possible.
    """
    solve = study.exact_solver
    if policies.solution is not None:
        solve = partial(solve_exact, policies.solution.graph)
    if solve is None:
        return ()
    exact = policies.exact
    assert exact is not None  # there is what solves
    noise_share, noise_error = noise_beside_exact(policies) or (None, None)
    found = []
    for named in study.named_parts:
        known: dict[str, Any] = {
            "model": partial(policies_of_parts, named, study, solve),
            "combine": dict,
            "batch_size": named.batch_size,
            "steps": dict(zip(exact.step_names, exact.steps, strict=True)),
            "mask": exact.mask,
        }
        with threadpool_limits(1):
            effects = part_effects(
                parts=named.parts,
                n_draws=n_draws,
                dependent=named.freezes,
                random_state=seed,
                progress=stage(progress, f"parts: {named.title}"),
                **known,
            )
            own = stage(progress, f"entries: {named.title}")
            entries = leading_entries(named, effects, progress=own, **known)
        found.append(PartFindings(named, effects, noise_share, noise_error, entries))
    return tuple(found)


def policies_of_parts(
    named: NamedParts,
    study: Study,
    solve: Callable[[Any], PolicySource],
    parts: Mapping[str, np.ndarray],
) -> np.ndarray:  # shape: (n, ΣK)
    """Solve the rewards of recombined parts along the trajectory of a study."""
    solved = solve(named.reward(parts))
    return policies_along(study.environment, solved, study.trajectory).y


def leading_entries(named: NamedParts, effects: Result, **known: Any) -> Result | None:
    """Verify what matters most in the leading part of each supported step."""
    if named.n_verified == 0:
        return None
    names = effects.part_names
    part_of = {
        step.step: names[int(np.argmax(step.first))]
        for step in effects.steps
        if step.supported
    }
    part_of = {step: part for step, part in part_of.items() if part in named.entries}
    if not part_of:
        return None
    return part_entries(
        parts=named.parts,
        part=part_of,
        labels={
            # the last name is that of the number −1
            name: np.array([*own.names, ""], dtype=object)[np.asarray(own.labels)]
            for name, own in named.entries.items()
            if name in part_of.values()
        },
        n_best=named.n_verified,
        n_verifying=named.n_verifying,
        **known,
    )


def noise_beside_exact(
    policies: Policies,
) -> tuple[np.ndarray, np.ndarray] | None:  # shapes: (n_steps,) each
    """Return the share of training noise against exact policies, 1 at most.

    All of the variance is noise where trained policies vary less than they miss the
    exact ones by, or not at all. The second array has standard errors: one of ten
    groups of rewards is left out after the other (delete-a-group jackknife). That of a
    share of 1 goes down to one standard error below what is more than 1.
    """
    if policies.trained is None or policies.exact is None:
        return None
    both = policies.trained.train, policies.exact.train
    found, *left_out = (  # (-1 leaves out nothing)
        noise_share_and_targets(
            *(d.select(d.rewards % _N_NOISE_GROUPS != g) for d in both)
        )[0]
        for g in (-1, *np.unique(both[0].rewards % _N_NOISE_GROUPS))
    )
    share = np.minimum(found, 1.0)
    error = np.maximum(share - found + jackknife_error(np.array(left_out)), 0.0)
    steps = steps_with_choice(both[0])
    share[steps] = np.nan_to_num(share[steps], nan=1.0)
    error[steps] = np.nan_to_num(error[steps])
    return share, error
