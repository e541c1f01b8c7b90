"""The map of a state space: where members go, where they disagree, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gflownet_envs.environments import GridEnvironment
from gflownet_envs.environments.state_graph import StateGraph
from gflownet_envs.exact.solve import solve_exact
from gflownet_envs.exact.trajectories import policies_everywhere
from gflownet_envs.exact.whole_space import WholeSpace
from gflownet_envs.experiments.task import NamedParts, Policies, Reasons, Study
from skpce.inspection import Result, part_effects
from skpce.plotting._style import UNEXPLAINED_COLOR, color, ink_on

#: Fragility that has a reason; below it members agree up to rounding.
_LEAST_FRAGILITY = 1e-6

#: Edges of a space that is mapped in a run, at most.
_MOST_EDGES = 10_000
#: Of states without a choice.
_NO_CHOICE_COLOR = "#F7F7F7"
#: Reasons with a colour of their own; the others share one grey.
_N_COLORED = 6
_OTHER, _OTHER_COLOR = "other reasons", "#999999"
#: How much is left of the colour of a reason that is not sure.
_PALE = 0.4
#: A state that a smaller share of the walks passes has no name on the map.
_LEAST_NAMED = 0.012


def find_reasons(
    study: Study, policies: Policies, *, n_draws: int, seed: int
) -> tuple[WholeSpace, Reasons] | None:
    """Follow exact policies everywhere, and find what explains most in each state.

    None without named parts, for spaces that are too large, and for those that a map
    cannot show: neither trees nor grids.
    """
    solution = policies.solution
    if solution is None or not study.named_parts:
        return None
    graph, named = solution.graph, study.named_parts[0]
    is_shown = graph.environment.is_tree or isinstance(
        graph.environment, GridEnvironment
    )
    if not is_shown or int(graph.mask.sum()) > _MOST_EDGES:
        return None
    space = WholeSpace.from_policies(graph, solution)
    effects = effects_everywhere(named, graph, n_draws=n_draws, seed=seed)
    return space, reasons_of(space, effects, list(named.parts))


def effects_everywhere(
    named: NamedParts, graph: StateGraph, *, n_draws: int, seed: int = 0
) -> Result:
    """Exchange the named parts of members, and solve for all states again."""

    def policies(parts: Mapping[str, np.ndarray]) -> Any:
        return policies_everywhere(graph, solve_exact(graph, named.reward(parts)))

    known = policies({name: values[:1] for name, values in named.parts.items()})
    with threadpool_limits(1):
        return part_effects(
            lambda parts: policies(parts).y,
            named.parts,
            combine=dict,
            n_draws=n_draws,
            dependent=False,
            steps=known.steps,
            mask=known.mask,
            batch_size=32,
            random_state=seed,
        )


def reasons_of(space: WholeSpace, effects: Result, names: Sequence[str]) -> Reasons:
    """Return what explains most in each state, of parts with these names."""
    n_states = space.graph.n_states
    found = Reasons([""] * n_states, np.zeros(n_states), np.zeros(n_states, dtype=bool))
    for row, state in enumerate(np.flatnonzero(has_choice(space))):
        first, errors = effects.first[row], effects.first_error[row]
        best, second = np.argsort(-first)[:2]
        apart = first[best] - first[second] > 2 * np.hypot(errors[best], errors[second])
        if space.fragility[state] < _LEAST_FRAGILITY:
            continue
        found.parts[state] = names[best]
        found.shares[state] = first[best]
        found.settled[state] = apart and effects.supported[row]
    return found


def names_of_states(graph: StateGraph) -> list[str]:
    """Return the last action of each state of a tree, without its component."""
    env, found = graph.environment, []
    for state in graph.states:
        history = [a for a in env.action_history(state).tolist() if a >= 0]
        name = env.action_names[history[-1]] if history else "all walks"
        found.append(name.split(": ", maxsplit=1)[-1])
    return found


def map_of_states(
    space: WholeSpace, reasons: Reasons, title: str, order: Sequence[str] = ()
) -> Any:  # matplotlib.figure.Figure
    """Draw the map of a tree, or of a grid."""
    graph = space.graph
    is_grid = isinstance(graph.environment, GridEnvironment)
    return space_map(
        space,
        reasons.parts,
        settled=reasons.settled.tolist(),
        names=None if is_grid else names_of_states(graph),
        positions=graph.states[:, :2].numpy() if is_grid else None,
        title=title,
        order=order,
    )


def space_map(
    space: WholeSpace,
    reasons: Sequence[str],
    *,
    settled: Sequence[bool] | None = None,
    names: Sequence[str] | None = None,
    positions: np.ndarray | None = None,
    title: str = "",
    order: Sequence[str] = (),
) -> Any:
    """Draw all states twice: by their fragility, and by its reason.

    Each row of boxes is a decision; a box is a state, as wide as the share of the
    members' walks that pass it. In trees the box lies below that of its parent. With
    ``positions`` each decision is a board, a state a disc on it, and the area of the
    disc the share of the walks.

    Parameters
    ----------
    space : WholeSpace
    reasons : sequence of str of length n_states
        Such as the leading named part of the reward; empty where there is none.
    settled : sequence of bool of length n_states, optional
        Where the reason is sure; it is pale elsewhere. None says everywhere.
    names : sequence of str of length n_states, optional
        Written into wide boxes.
    positions : ndarray of shape (n_states, 2), optional
        Row and column of each state on the board.
    title : str
    order : sequence of str, optional
        Reasons that have their colours in this order, as in other pictures; default:
        the most frequent ones first.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If there is not one reason, name or position a state.
    """
    n_states = space.graph.n_states
    per_state = {"settled": settled, "names": names, "positions": positions}
    for what, given in {"reasons": reasons, **per_state}.items():
        if given is not None and len(given) != n_states:
            raise ValueError(
                f"{what} must be {n_states}, one a state, got {len(given)}"
            )
    from matplotlib.figure import Figure

    n_layers = space.graph.n_layers
    size = (10.0, 2.6 + 1.3 * n_layers)
    if positions is not None:
        size = (max(7.0, 1.75 * n_layers + 1.6), 5.4)
    figure = Figure(figsize=size, layout="constrained")
    parts: Any = figure.subfigures(2, 1)
    drawn = _Map(space, names, None if positions is None else np.asarray(positions))
    drawn.draw_fragility(parts[0], title)
    sure = np.ones(n_states, dtype=bool) if settled is None else np.asarray(settled)
    drawn.draw_reasons(parts[1], reasons, sure, order)
    return figure


def has_choice(space: WholeSpace) -> np.ndarray:  # shape: (n_states,), bool
    """Say in which states more than one action is possible."""
    return np.asarray((space.graph.mask.sum(dim=1) > 1).numpy())


def shares_of_steps(space: WholeSpace) -> list[float]:
    """Return the share of all contributions that each decision has."""
    sums = np.bincount(space.graph.steps.numpy(), space.contribution)
    found: list[float] = (sums / (sums.sum() or 1.0)).tolist()
    return found


@dataclass(frozen=True, eq=False)
class _Map:
    """All states of a space, as boxes of a tree or as discs on boards."""

    space: WholeSpace
    names: Sequence[str] | None  # of the states
    positions: np.ndarray | None  # shape: (n_states, 2), where there are boards

    def draw_fragility(self, part: Any, title: str) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        values, choice = self.space.fragility, has_choice(self.space)
        scale = ScalarMappable(Normalize(0.0, float(values.max()) or 1.0), "viridis_r")
        colors = [
            scale.to_rgba(value) if own else _NO_CHOICE_COLOR
            for value, own in zip(values, choice, strict=True)
        ]
        shares = shares_of_steps(self.space)
        titles = [
            f"{title}\n{share:.0%} of it"
            for title, share in zip(self._titles(), shares, strict=True)
        ]
        self._draw(part, colors, titles, scale)
        if title:
            part.suptitle(f"{title}: how far apart visitors are", fontsize=11)

    def draw_reasons(
        self,
        part: Any,
        reasons: Sequence[str],
        sure: np.ndarray,  # shape: (n_states,), bool
        order: Sequence[str],
    ) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import to_rgb
        from matplotlib.patches import Patch

        space = self.space
        weight = {
            name: float(space.contribution[np.array(reasons) == name].sum())
            for name in dict.fromkeys(reasons)
            if name
        }
        leading = sorted(weight, key=lambda name: -weight[name])
        known = dict.fromkeys([*order, *leading[:_N_COLORED]])
        color_of = {name: color(place) for place, name in enumerate(known)}
        color_of |= dict.fromkeys(leading[_N_COLORED:], _OTHER_COLOR)
        colors: list[Any] = []
        for reason, own, is_sure in zip(reasons, has_choice(space), sure, strict=True):
            none = UNEXPLAINED_COLOR if own else _NO_CHOICE_COLOR
            rgb = np.array(to_rgb(color_of.get(reason, none)))
            is_pale = reason and not is_sure
            colors.append(tuple(1 - _PALE * (1 - rgb) if is_pale else rgb))
        bar = self._draw(part, colors, self._titles(), ScalarMappable())
        bar.ax.set_visible(False)  # the same width
        total = float(space.contribution.sum()) or 1.0
        others = sum(weight[name] for name in leading[_N_COLORED:])
        left = 1.0 - sum(weight.values()) / total
        shown = [(n, color_of[n], weight[n] / total) for n in leading[:_N_COLORED]]
        if others:
            shown.append((_OTHER, _OTHER_COLOR, others / total))
        if left > 0.005:
            shown.append(("nothing named", UNEXPLAINED_COLOR, left))
        part.legend(
            handles=[
                Patch(facecolor=look, label=f"{name} ({share:.0%})")
                for name, look, share in shown
            ],
            loc="outside lower center",
            ncols=min(4, len(shown)),
            frameon=False,
            fontsize=8,
        )
        pale = "" if bool(sure.all()) else "; pale where it is not settled"
        part.suptitle(f"what explains most of it (share of all){pale}", fontsize=11)

    def _titles(self) -> list[str]:
        """Name the decisions."""
        graph = self.space.graph
        names = graph.environment.step_names[: graph.n_layers]
        return [name.replace("_", " ") for name in names]

    def _draw(
        self, part: Any, colors: Sequence[Any], titles: Sequence[str], scale: Any
    ) -> Any:
        """Draw the states with a bar of a scale of colours; return the bar."""
        is_board = self.positions is not None
        axes = (self._draw_boards if is_board else self._draw_boxes)(
            part, colors, titles
        )
        bar = part.colorbar(scale, ax=axes, fraction=0.03, pad=0.01)
        bar.set_label("total variation", fontsize=8)
        bar.ax.tick_params(labelsize=8)
        return bar

    def _draw_boxes(
        self, part: Any, colors: Sequence[Any], titles: Sequence[str]
    ) -> Any:
        """Draw a row of boxes a decision, as wide as the share of walks through it."""
        from matplotlib.colors import to_rgb

        graph, ax = self.space.graph, part.subplots()
        left, width = _places(self.space)
        middle = graph.steps.numpy() + 0.5
        lines = np.where(width > 0.004, 0.5, 0.0)
        box = {"color": colors, "edgecolor": "white", "linewidth": lines}
        ax.barh(middle, width, 0.88, left=left, **box)
        for i, name in enumerate(self.names or ()):
            if width[i] < _LEAST_NAMED:
                continue
            wide = width[i] > 0.12
            limit = int(110 * width[i]) if wide else 13
            ax.text(
                left[i] + width[i] / 2,
                middle[i],
                name if len(name) <= limit else name[: max(limit - 1, 1)] + "…",
                rotation=0 if wide else 90,
                ha="center",
                va="center",
                fontsize=7 if wide else 6,
                clip_on=True,
                color=ink_on(to_rgb(colors[i])),
            )
        ax.set_yticks(np.arange(len(titles)) + 0.5, titles, fontsize=8)
        ax.set(xlim=(0, 1), ylim=(graph.n_layers, 0))
        ax.set_xlabel("share of the walks of all members", fontsize=8)
        ax.tick_params(axis="x", labelsize=8)
        ax.tick_params(axis="y", length=0)
        ax.spines[:].set_visible(False)
        return ax

    def _draw_boards(
        self, part: Any, colors: Sequence[Any], titles: Sequence[str]
    ) -> Any:
        """Draw a board a decision, a disc a state."""
        graph, visits = self.space.graph, self.space.visits.mean(axis=0)
        rows, columns = np.asarray(self.positions).T
        shape = rows.max() + 1, columns.max() + 1
        axes = part.subplots(1, graph.n_layers, sharex=True, sharey=True)
        for step, ax in enumerate(np.atleast_1d(axes)):
            places = np.indices(shape)[::-1]
            ax.plot(*places, ".", color="0.85", markersize=2, zorder=0)
            own = graph.layer(step)
            ax.scatter(
                columns[own],
                rows[own],
                np.square(3.0 + 22.0 * np.sqrt(visits[own])),
                colors[own],
                edgecolors="0.4",
                linewidths=0.4,
            )
            ax.set_title(titles[step], fontsize=9)
            ax.set(xlim=(-0.9, shape[1] - 0.1), ylim=(shape[0] - 0.1, -0.9))
            ax.set(xticks=[], yticks=[], aspect="equal")
        return axes


def _places(space: WholeSpace) -> tuple[np.ndarray, np.ndarray]:
    # shapes: -> (n_states,), (n_states,)
    """Return left ends and widths of the boxes, the most visited on the left."""
    graph, width = space.graph, space.visits.mean(axis=0)
    left = np.zeros(graph.n_states)
    parents, actions = (
        (graph.children >= 0) & (graph.children < graph.n_states)
    ).nonzero(as_tuple=True)
    children = graph.children[parents, actions].numpy()
    parent = np.zeros(graph.n_states, dtype=int)
    parent[children] = parents.numpy()
    free: dict[int, float] = {}
    for step in range(1, graph.n_layers):
        layer = np.arange(graph.n_states)[graph.layer(step)]
        for i in layer[np.argsort(-width[layer], kind="stable")]:
            above = int(parent[i]) if graph.environment.is_tree else -step
            start = left[above] if above >= 0 else 0.0
            left[i] = free.get(above, start)
            free[above] = left[i] + width[i]
    return left, width
