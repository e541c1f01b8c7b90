"""The paper's claims about tasks over graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gflownet_envs.experiments.graph_drawing import Edge, edge_kind
from gflownet_envs.experiments.task import TOLERANCE, PaperClaim, SourceResults
from skpce.metrics import policy_mean_absolute_error


def pairs_claim(n_steps: int, n_actions: int) -> PaperClaim:
    """Claim how many pairs of a step and an action a trajectory has."""

    def measure(source: SourceResults) -> tuple[str, bool]:
        steps = source.dataset.steps
        agrees = steps == (n_actions,) * n_steps
        return f"{len(steps)} × {steps[0]} = {sum(steps)}", agrees

    return PaperClaim(
        "steps of the reference trajectory × actions",
        f"{n_steps} × {n_actions} = {n_steps * n_actions}",
        measure,
    )


def alr_range_claim(lowest: float, highest: float) -> PaperClaim:
    """Claim between which values the variance D of all steps that add edges lies.

    Our figures are those of the expansion, with those of the members in brackets.
    """

    def measure(source: SourceResults) -> tuple[str, bool]:
        adds = [action != "stop" for action in source.dataset.trajectory]
        if not any(adds):
            return "no edge on the trajectory", False
        expansion = source.main.expansion_alr_sum[adds]
        members = source.fragility.alr_sum[adds]
        agrees = (1 - TOLERANCE) * lowest <= np.nanmin(expansion) and np.nanmax(
            expansion
        ) <= (1 + TOLERANCE) * highest
        return f"{_range(expansion)} (members {_range(members)})", bool(agrees)

    return PaperClaim(
        "total policy variance D of all steps that add an edge",
        f"{lowest:.1e} to {highest:.1e}",
        measure,
    )


def _range(values: np.ndarray) -> str:
    return f"{np.nanmin(values):.1e} to {np.nanmax(values):.1e}"


def leading_input_claim(
    text: str, edges: Sequence[Edge], leader: int, *, others: bool = False
) -> PaperClaim:
    """Claim which of two inputs leads where some edges, or all others, are added.

    Our figures are total indices of the expansion at these steps, PC1 and PC2. An edge
    counts whichever way it points, since the score does not tell the direction of
    most. Claims about steps that are not supported describe the fit alone: the verdict
    says which are.
    """

    def measure(source: SourceResults) -> tuple[str, bool]:
        indices = source.main.surrogate.step_total_sobol_indices_
        found, agrees = [], []
        for action, index in zip(source.dataset.trajectory, indices, strict=True):
            if action == "stop":
                continue
            is_listed = edge_kind(tuple(action.split(" → ")), edges) != "not known"
            if is_listed != others:
                found.append(f"{action} {index[0]:.2f} and {index[1]:.2f}")
                agrees.append(index[leader] > index[1 - leader])
        if not found:
            return "no such edge on the trajectory", False
        return ", ".join(found), all(agrees)

    names = ", ".join(" → ".join(edge) for edge in edges)
    scope = f"other than {names}" if others else names
    return PaperClaim(f"{text} ({scope})", f"PC{leader + 1} leads", measure)


def mean_error_claim(value: float) -> PaperClaim:
    """Claim the mean absolute error of the surrogate's policies on held-out members.

    The mean runs over all actions, most of which are masked or rare, so that any
    policy has a small one: that of the mean policy of the training members stands in
    brackets.
    """

    def measure(source: SourceResults) -> tuple[str, bool]:
        train, test = source.dataset.train, source.dataset.test
        predicted = source.main.pipeline.predict(test.X)
        mean = np.tile(train.y.mean(axis=0), (test.n_members, 1))
        ours, baseline = (
            float(policy_mean_absolute_error(test.y, y)) for y in (predicted, mean)
        )
        agrees = abs(ours - value) <= TOLERANCE * value
        return f"{ours:.4f} (mean policy {baseline:.4f})", agrees

    return PaperClaim(
        "mean absolute error of policies of held-out members", f"{value:g}", measure
    )
