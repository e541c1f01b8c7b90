"""The answer of a run in words: which named part of the reward drives which choice."""

from __future__ import annotations

import numpy as np

from gflownet_envs.experiments.tables import noise_cell
from gflownet_envs.experiments.task import PartFindings, RunResults, Table
from skpce._report import percent_with_error
from skpce._result import ResultRow, error_in_percent

# A part with less of the variance is not named in a sentence, but for the largest.
_LEAST_SHARE = 0.1
_MOST_PARTS = 3
# Two parts of a sentence with such a distance correlation are said to be dependent.
_DEPENDENT = 0.8
# A trained policy is said to be noisy from this share on.
_NOISY = 0.1


def answers(results: RunResults) -> list[str]:
    """Return a sentence or two for each step, and what they rest on."""
    if not results.parts:
        return [_why_none(results)]
    steps = results.parts[0].effects.step_names
    sentences = [_answer(results.parts, place) for place in range(len(steps))]
    return [*sentences, _basis(results.parts)]


def _answer(findings: tuple[PartFindings, ...], place: int) -> str:
    """Answer for one step from the first split that supports it."""
    row = findings[0].effects.steps[place]
    if np.isnan(row.first).any():
        return f"{_shown(row.step)}: no choice, or no variance between members."
    supported = [f for f in findings if f.effects.steps[place].supported]
    if not supported:
        return f"{_shown(row.step)}: no answer. {_not_supported(findings[0], row)}"
    chosen = supported[0]
    found = chosen.effects.steps[place]
    sentence = f"{_shown(row.step)}: {_shares(chosen, found)}"
    if chosen is not findings[0]:
        sentence += (
            f" (split: {chosen.named.title}; the first split gives no answer here: "
            f"{', '.join(row.reasons)})"
        )
    return f"{sentence}.{_noise(chosen, place)}"


def answer_table(found: PartFindings) -> Table:
    """Return one row for each decision: the part that explains most of it."""
    rows = []
    for place, row in enumerate(found.effects.steps):
        cells = {"decision": _shown(row.step)}
        if np.isnan(row.first).any():
            rows.append(cells | {"attribution": "no choice"})
            continue
        part = int(np.argmax(row.first))
        first = percent_with_error(row.first[part], row.first_error[part])
        total = percent_with_error(row.total[part], row.total_error[part])
        cells |= {
            "attribution": "supported" if row.supported else "not supported",
            "leading part": found.effects.part_names[part],
            "alone": first,
            "with interactions": total,
            "training noise": noise_cell(found, place),
        }
        rows.append(cells)
    return Table.of_rows(
        f"The leading part of each decision ({found.named.title}): its share of the "
        "variance, ± standard error",
        rows,
    )


def _shown(name: str) -> str:
    return name.replace("_", " ")


def _shares(found: PartFindings, row: ResultRow) -> str:
    """List the leading parts of a step with their shares."""
    names, phrases = found.effects.part_names, found.named.phrases
    order = np.argsort(-row.first, kind="stable")[:_MOST_PARTS]
    named = [i for n, i in enumerate(order) if n == 0 or row.first[i] >= _LEAST_SHARE]
    parts = [
        f"{share_in_words(row.first[i], row.first_error[i])} from "
        f"{phrases.get(names[i], names[i])}"
        for i in named
    ]
    together = 1.0 - float(row.first.sum())
    parts[0] = parts[0].replace(
        " from ", " of the variance between members comes from ", 1
    )
    if together >= _LEAST_SHARE:
        error = float(np.sqrt(np.square(row.first_error).sum()))
        share = share_in_words(together, error)
        parts.append(f"{share} from interactions of several parts")
    text = ", ".join(parts)
    text += _dependent(found, [names[i] for i in named])
    if "left" in row.result.columns:
        fall = max(1.0 - float(row.left[named[0]]), 0.0)
        text += f"; fixing the first at its mean takes away {fall:.0%}"
    return text


def _dependent(found: PartFindings, named: list[str]) -> str:
    """Say which of the named parts members do not have independently."""
    dependence = found.effects.dependence
    for pair, correlation in zip(
        dependence.keys["pair"], dependence.distance_correlation, strict=True
    ):
        one, _, other = pair.partition(" and ")
        if correlation >= _DEPENDENT and one in named and other in named:
            return (
                f" (but members do not have {_shown(one)} and {_shown(other)} "
                f"independently: their distance correlation is {correlation:.2f})"
            )
    return ""


def share_in_words(share: float, error: float) -> str:
    """Return a share with its standard error in percent."""
    return f"{max(share, 0.0):.0%} (± {error_in_percent(error)})"


def _noise(found: PartFindings, place: int) -> str:
    """Say how much of the trained policies' variance training noise makes up."""
    if (
        found.noise_share is None
        or found.noise_error is None
        or np.isnan(found.noise_share[place])
    ):
        return ""
    share = float(found.noise_share[place])
    if share < _NOISY:
        return ""
    error = float(found.noise_error[place])
    noisy = share_in_words(share, error) if error > 0 else f"{share:.0%}"
    if share < 0.495:  # below what is shown as one half
        return f" Of the trained policies, {noisy} is training noise."
    return (
        f" Of the trained policies, {noisy} is training noise: to train longer "
        "reduces more of the uncertainty than to learn more about the reward."
    )


def _not_supported(found: PartFindings, row: ResultRow) -> str:
    text = f"{row.reasons[0][0].upper()}{row.reasons[0][1:]}."
    if "left" not in found.effects.columns:
        return text
    largest = int(np.argmin(row.left))
    return (
        f"{text} Without that assumption: fixing {found.effects.part_names[largest]} "
        f"at its mean lowers the variance by {1.0 - row.left[largest]:.0%}, the most "
        "of all parts."
    )


def _basis(findings: tuple[PartFindings, ...]) -> str:
    first = findings[0].effects
    noise = any(found.noise_share is not None for found in findings)
    return (
        f"Members exchanged parts ({findings[0].named.title}) and every exchange was "
        f"solved again exactly: {first.n_draws} draws of {first.n_members} members, "
        f"{first.n_solutions:,} solutions. Shares are estimates with standard errors "
        "in brackets, and need not add up to 100 %. They hold for independent parts. "
        f"{first.notes[-1]}"
        + (" Shares refer to exact policies; training noise is extra." if noise else "")
    )


def _why_none(results: RunResults) -> str:
    """Say in a sentence why no part is named."""
    if results.study.named_parts:
        return (
            "No part of the reward is named: its policies cannot be solved again for "
            "members that exchange parts. `skpce.explain(..., together=)` takes parts "
            "of trained members as groups of inputs."
        )
    return (
        f"No part of the reward is named in the preset {results.preset_name!r} of "
        f"{results.task.name}."
    )
