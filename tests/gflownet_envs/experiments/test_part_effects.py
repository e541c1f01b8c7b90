"""Effects of named parts in a run, against an enumeration of all recombinations."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from scipy.stats import t

from gflownet_envs import solve_exact
from gflownet_envs.environments import SequentialSelectionEnvironment
from gflownet_envs.exact.solve import policies_along, trajectory_of_actions
from gflownet_envs.experiments import files
from gflownet_envs.experiments.analysis import (
    find_part_effects,
    leading_entries,
    make_policies,
    noise_beside_exact,
)
from gflownet_envs.experiments.files import answer_table, answers, share_in_words
from gflownet_envs.experiments.run import find_task
from gflownet_envs.experiments.task import (
    REST,
    Policies,
    factorial_parts,
    level_parts,
)
from skpce import LogRatioTransformer
from skpce._report import percent_with_error
from skpce.inspection import part_effects
from tests.gflownet_envs.experiments.conftest import SILENT, exact_dataset

FACTORS = {"base": ("a", "b"), "ligand": ("p", "q", "r")}


@pytest.fixture(scope="module")
def space():
    return SequentialSelectionEnvironment(FACTORS)


@pytest.fixture(scope="module")
def log_reward():
    return np.random.default_rng(0).normal(size=(30, 6))


@pytest.fixture(scope="module")
def grid():
    """All 625 rewards of the grid, solved, and the effects of its quadrants."""
    task, preset = find_task("grid", "default")
    study = task.prepare(preset, **SILENT)
    silent = {name: SILENT[name] for name in ("seed", "progress")}
    policies = make_policies(study, preset.training, train=False, store=None, **silent)
    (found,) = find_part_effects(study, policies, n_draws=1024, **silent)
    return study, policies, found


def indices_of_factorial(values):
    """Return first-order, total and pairs' indices by summing over a whole factorial.

    shapes: values (5, 5, 5, 5, n_columns) -> (4,), (4,), (6,)
    """
    n_parts = values.ndim - 1
    axes = range(n_parts)
    centred = values - values.mean(axis=tuple(axes))
    variance = np.square(centred).sum(axis=-1).mean()

    def closed(part):
        others = tuple(axis for axis in axes if axis not in part)
        return np.square(centred.mean(axis=others)).sum(axis=-1).mean() / variance

    first = [closed({p}) for p in axes]
    total = [1.0 - closed(set(axes) - {p}) for p in axes]
    pairs = [
        total[p] + total[q] - (1.0 - closed(set(axes) - {p, q}))
        for p, q in combinations(axes, 2)
    ]
    return np.array(first), np.array(total), np.array(pairs)


def test_the_grid_against_all_its_rewards(grid):
    study, policies, found = grid
    dataset = policies.exact
    clr = LogRatioTransformer("clr", steps=dataset.steps, mask=dataset.mask)
    coordinates = clr.fit_transform(dataset.y)
    order = np.argsort(study.members)  # the last quadrant runs fastest
    for place in range(5):
        own = coordinates[order][:, clr.coordinate_steps_ == place]
        first, total, pairs = indices_of_factorial(own.reshape(5, 5, 5, 5, -1))
        row, pair = found.effects.steps[place], found.effects.pairs.rows[place]
        assert (np.abs(row.first - first) <= 3.0 * row.first_error + 1e-9).all()
        assert (np.abs(row.total - total) <= 3.0 * row.total_error + 1e-9).all()
        apart = np.abs(pair.interaction - pairs)
        assert (apart <= 3.0 * pair.interaction_error + 1e-9).all()
        assert row.supported
    for step, name, text in files.pairs_table(found).rows:
        row = found.effects.pairs[step]
        place = found.effects.pairs.pair_names.index(name)
        share, error = row.interaction[place], row.interaction_error[place]
        assert share > 2.0 * error
        assert text == percent_with_error(share, error)


def test_parts_of_factors_and_levels_add_up_but_for_a_constant(space, log_reward):
    named = factorial_parts(space, log_reward, FACTORS, phrases={}, order=1)
    assert list(named.parts) == ["base", "ligand", REST]
    again = named.reward(named.parts).log_reward.numpy()
    difference = log_reward - again
    assert_allclose(difference, difference[:, :1].repeat(6, axis=1))
    labels = named.entries["ligand"].labels
    assert [named.entries["ligand"].names[i] for i in labels] == ["p", "q", "r"]
    assert named.entries[REST].names[-1] == "b | r"
    named = level_parts(space, log_reward, FACTORS, "ligand")
    assert list(named.parts) == ["all levels of ligand alike", "p", "q", "r"]
    difference = log_reward - named.reward(named.parts).log_reward.numpy()
    assert_allclose(difference, difference[:, :1].repeat(6, axis=1))
    # what differs between the ligands moves no base on average over its members
    assert named.parts["p"].shape == (30, 2, 1)


def test_entries_of_the_leading_part_are_solved_again(space, log_reward):
    """The variance that is left, recomputed by hand for the first of them."""
    named = factorial_parts(space, log_reward, FACTORS, phrases={})
    trajectory = trajectory_of_actions(space, [0, 2])

    def policies(parts):
        solution = solve_exact(space, named.reward(parts))
        return policies_along(space, solution, trajectory).y

    known = {"combine": dict, "steps": {"base": 2, "ligand": 3}}
    effects = part_effects(policies, named.parts, random_state=0, **known)
    found = leading_entries(named, effects, model=policies, **known)["ligand"]
    assert found.part[0] == effects.part_names[effects["ligand"].first.argmax()]
    parts = {name: np.array(values) for name, values in named.parts.items()}
    entries = named.entries[found.part[0]]
    own = entries.labels == entries.names.index(found.entry[0])
    parts[found.part[0]][:, own] = parts[found.part[0]][:, own].mean(axis=0)
    clr = LogRatioTransformer("clr", steps=(2, 3)).fit(policies(named.parts))
    before, after = (
        clr.transform(policies(p))[:, clr.coordinate_steps_ == 1].var(axis=0).sum()
        for p in (named.parts, parts)
    )
    assert found.left[0] == pytest.approx(after / before)


def test_inputs_as_parts():
    task, preset = find_task("continuous-grid", "smoke")
    run = {"seed": 0, "store": None, "progress": lambda *done: None, "options": {}}
    study = task.prepare(preset, **run)
    (named,) = study.named_parts
    assert list(named.parts) == ["upper bump", "left bump", "right bump"]
    found = named.reward(named.parts).log_reward
    assert_allclose(found, study.reward.log_reward)


def test_a_run_answers_first(tiny):
    """Words, record and tables come from the same effects."""
    out, results = tiny
    (found,) = results.parts
    words = answers(results)
    first = found.effects.steps[0]
    leading = found.effects.part_names[int(np.argmax(first.first))]
    assert words[0].startswith(f"move 1: {first.first.max():.0%}")
    assert f"the level of “{leading}”" in words[0]
    assert "solved again exactly" in words[-1]
    record = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert record["answers"] == words
    (parts,) = record["named_parts"]
    assert_allclose(parts["effects"]["first"][0], first.first)
    assert results.cpu_seconds["named parts"] > 0
    assert files.parts_table(found).rows[0][:2] == ("move 1", leading)
    # One row for each decision is in view; the other tables of the section are folded.
    table = answer_table(found)
    assert [row[0] for row in table.rows] == list(found.effects.step_names)
    assert table.rows[0][2] == leading
    assert table.rows[0][3].startswith(f"{first.first.max():.0%} ± ")
    assert table.rows[-1][:2] == ("stop", "no choice")
    page = (out / "report.html").read_text(encoding="utf-8")
    section = page[page.index("<h2>Which part") : page.index("<nav>")]
    opened = section[: section.index("<details>")]
    assert opened.count("<tr>") == 1 + len(table.rows)
    assert 'class="badge supported"' in opened


def test_no_share_is_shown_with_an_error_of_zero():
    assert percent_with_error(0.97, 0.004) == "97% ± <1%"
    assert percent_with_error(0.002, 0.001) == "<1%"
    assert percent_with_error(0.0, 0.0) == "0% ± 0%"
    assert share_in_words(0.97, 0.004) == "97% (± <1%)"


def test_dependent_parts_get_no_answer_but_what_needs_no_independence(tiny):
    _, results = tiny
    (found,) = results.parts
    effects = found.effects
    columns = {**effects.columns, "variance_ratio": np.full(6, 1.6)}
    reasons = (("recombined members have 1.60 times the variance",),) * 6
    dependent = replace(effects, supported=(False,) * 6, reasons=reasons)
    dependent = replace(dependent, columns=columns)
    changed = replace(results, parts=(replace(found, effects=dependent),))
    text = answers(changed)[0]
    assert text.startswith("move 1: no answer. Recombined members")
    largest = int(np.argmin(effects.steps[0].left))
    assert effects.part_names[largest] in text
    # another split may have the answer
    both = replace(results, parts=(*changed.parts, found))
    assert "split: levels of the quadrants" in answers(both)[0]


def test_training_noise_is_the_share_of_the_verdict_with_its_jackknife(tiny):
    """N over the variance of the trained policies, 1 at most."""
    _, results = tiny
    share, error = noise_beside_exact(results.policies)
    assert_allclose(share, np.minimum(results.noise.log_ratio_share, 1.0))
    trained = results.policies.trained.train
    exact = results.policies.exact.y[: trained.n_members]
    clr = LogRatioTransformer("clr", steps=trained.steps, mask=trained.mask)
    own = clr.fit_transform(trained.y)
    of_exact = clr.transform(exact)
    groups = trained.rewards % 10
    for place in range(5):
        columns = clr.coordinate_steps_ == place
        found = []
        for group in [-1, *np.unique(groups)]:  # (-1 leaves out nothing)
            rows = np.flatnonzero(groups != group)
            noise = (own - of_exact)[rows][:, columns].var(axis=0).sum()
            found.append(noise / own[rows][:, columns].var(axis=0).sum())
        squares = np.square(np.subtract(found[1:], np.mean(found[1:]))).sum()
        n_groups = len(found) - 1
        low = found[0] - np.sqrt((n_groups - 1) / n_groups * squares)
        assert error[place] == pytest.approx(max(share[place] - low, 0.0))
    noise = {"noise_share": np.ones(6), "noise_error": np.zeros(6)}
    noisy = replace(results.parts[0], **noise)
    text = answers(replace(results, parts=(noisy,)))[0]
    assert "Of the trained policies, 100% is training noise" in text


@pytest.mark.parametrize(
    ("slope", "spread", "truth"),
    [(1, 1 / 3, 0.1), (1, 1, 0.5), (1, 3, 0.9), (0, 1, 1), (0, 1e-3, 1), (0, 0, 1)],
)
def test_a_known_share_of_training_noise_is_in_its_interval(slope, spread, truth):
    """Members that learned nothing, constant ones among them, are all noise."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(100):
        of_reward, noise = rng.normal(size=(2, 20, 4))
        exact, trained = (
            exact_dataset(of_reward, softmax(logits, axis=1), (4,))
            for logits in (of_reward, slope * of_reward + spread * noise)
        )
        policies = Policies({}, exact, trained=trained)
        share, error = noise_beside_exact(policies)
        missed += not abs(share[0] - truth) <= t.ppf(0.95, 9) * error[0] + 1e-9
    assert missed <= 17  # 10 are expected, ± 3


def test_policies_that_cannot_be_solved_have_no_effects_of_parts(grid, tiny):
    """Of a study that forgets how it was solved."""
    study, policies, _ = grid
    unsolved = replace(policies, solution=None)
    known = {"n_draws": 16, "seed": 0, "progress": lambda *_: None}
    assert find_part_effects(study, unsolved, **known) == ()
    _, results = tiny
    (sentence,) = answers(replace(results, parts=()))
    assert "cannot be solved again" in sentence
    bare = replace(results, parts=(), study=replace(results.study, named_parts=()))
    (sentence,) = answers(bare)
    assert sentence == "No part of the reward is named in the preset 'tiny' of grid."
