"""Maps of state spaces: what is drawn, where, and in which colour."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from numpy.testing import assert_allclose

from gflownet_envs import (
    SequentialSelectionEnvironment,
    WholeSpace,
    solve_exact,
)
from gflownet_envs.experiments import analysis
from gflownet_envs.experiments.analysis import find_reasons, has_choice
from gflownet_envs.experiments.figures import space_map
from skpce.plotting._style import color
from tests.shared import refuses


def space_of(env, n_members=4):
    rng = np.random.default_rng(0)
    solution = solve_exact(env, 2 * rng.normal(size=(n_members, env.n_objects)))
    return WholeSpace.from_policies(solution.graph, solution)


@pytest.fixture(scope="module")
def tree():
    levels = {"a": ["x", "y"], "b": ["p", "q", "r"], "c": ["u", "v"]}
    return space_of(SequentialSelectionEnvironment(levels))


def test_boxes_are_as_wide_as_visits_and_lie_within_their_parents(tree):
    graph = tree.graph
    figure = space_map(tree, ["a"] * graph.n_states)
    boxes = [p for p in figure.axes[0].patches if isinstance(p, Rectangle)]
    visits = tree.visits.mean(axis=0)
    assert_allclose([box.get_width() for box in boxes], visits)
    for state, child in ((s, int(c)) for s in range(3) for c in graph.children[s]):
        if 0 <= child < graph.n_states:
            inner, outer = boxes[child], boxes[state]
            assert inner.get_x() >= outer.get_x() - 1e-12
            right = outer.get_x() + outer.get_width()
            assert inner.get_x() + inner.get_width() <= right + 1e-12
            assert inner.get_y() > outer.get_y()


def test_a_tree_has_names_shares_and_one_reason_a_state(tree):
    figure = space_map(tree, [""] * 9, title="T")
    assert {"all walks", "x", "y"} <= {t.get_text() for t in figure.axes[0].texts}
    shares = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert [share.splitlines()[0] for share in shares] == ["a", "b", "c"]
    total = sum(float(share.splitlines()[1].split("%")[0]) for share in shares)
    assert total == pytest.approx(100, abs=1.5)
    refuses("reasons must be 9, one a state, got 1", space_map, tree, ["a"])
    words = "settled must be 9, one a state, got 2"
    refuses(words, space_map, tree, ["a"] * 9, settled=[True, False])


def test_a_run_maps_what_it_solved(tiny):
    folder, results = tiny
    space, reasons = results.space
    parts = set(results.study.named_parts[0].parts)
    choice = has_choice(space)
    assert {reasons.parts[s] for s in np.flatnonzero(choice)} <= parts | {""}
    assert not any(reasons.parts[s] for s in np.flatnonzero(~choice))
    assert (folder / "figures" / "space.png").exists()


def test_what_a_map_cannot_show_is_left_out(tiny, monkeypatch):
    study, policies = tiny[1].study, tiny[1].policies
    settings = {"n_draws": 4, "seed": 0}
    assert find_reasons(study, replace(policies, solution=None), **settings) is None
    assert find_reasons(replace(study, named_parts=()), policies, **settings) is None
    monkeypatch.setattr(analysis, "_MOST_EDGES", 3)
    assert find_reasons(study, policies, **settings) is None


def test_reasons_have_the_colours_of_other_pictures_and_are_pale_if_not_settled(tree):
    settled = np.arange(9) != 1
    reasons = ["a"] * 3 + ["b"] * 6
    figure = space_map(tree, reasons, settled=settled, order=["z", "b", "a"])
    legend = figure.subfigs[1].legends[0]
    found = {
        text.get_text().split()[0]: to_hex(patch.get_facecolor()).upper()
        for text, patch in zip(legend.texts, legend.get_patches(), strict=True)
    }
    assert [found["a"], found["b"]] == [color(2), color(1)]
    boxes = [p for p in figure.axes[2].patches if isinstance(p, Rectangle)]
    assert min(boxes[1].get_facecolor()[:3]) > min(boxes[2].get_facecolor()[:3])
