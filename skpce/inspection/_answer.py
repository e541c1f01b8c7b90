"""A verdict in words: what explains which output, whether to trust it, and figures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._checks import FloatArray
from .._compositions.outputs import Outputs
from .._result import Result, cautions_in_words
from ._input_tests import without_sign
from ._reading import NoExpansionError, expansion_of

# An input with less of the variance than this is not named, but for the first.
_LEAST_SHARE = 0.1
# Outputs whose shares differ by more have sentences of their own.
_LARGEST_RANGE = 0.2
# Longer lists of names are counted.
_MOST_NAMES = 4
# Q² of degree one that is better by less is not worth a word.
_BETTER = 0.005

#: What a group of columns is called in sentences, by its key.
NOUNS = {"step": "decision", "output": "output"}


def shares_of(
    fitted: Any, outputs: Outputs
) -> tuple[FloatArray, tuple[str, ...]] | None:
    """Return first-order indices (n_groups, n_inputs) and the names of the inputs.

    None for a model without an expansion, or with one of other groups.
    """
    judged = SimpleNamespace(figures={"measured_as": outputs})
    try:
        expansion = expansion_of(fitted, verdict=judged).expansion
    except (NoExpansionError, ValueError):
        return None
    if expansion.n_groups != outputs.n_groups:
        return None
    return expansion.sobol_indices().first_order, expansion.input_names


def with_input_names(text: str, verdict: Result, names: Sequence[str]) -> str:
    """Return a text of a verdict with other names of its inputs, if as many."""
    old = tuple(map(str, verdict.figures.get("share_inputs", ())))
    if len(old) != len(names) or old == tuple(names):
        return text
    new = dict(zip(old, names, strict=True))
    longest = sorted(old, key=len, reverse=True)
    pattern = rf"(?<!\w)({'|'.join(map(re.escape, longest))})(?!\w)"
    return re.sub(pattern, lambda found: str(new[found[1]]), text)


def verdict_table(
    names: Sequence[str],
    columns: dict[str, FloatArray],
    reasons: Sequence[tuple[str, ...]],
    figures: dict[str, Any],
) -> Result:
    """Return a verdict: a group of columns without reasons is attributable."""
    measured = figures.get("measured_as")
    is_real = measured is not None and not measured.are_compositions
    key = "step" if measured is None else measured.noun
    good = [name for name, failed in zip(names, reasons, strict=True) if not failed]
    sentences = _sentences(names, columns, reasons, figures, NOUNS[key])
    members = f"with {figures['n_members']} members."
    title = f"Attribution is not supported for any {NOUNS[key]}, {members}"
    if len(names) == 1:
        answer = "supported" if good else "not supported"
        title = f"Attribution is {answer} for the {NOUNS[key]} ({names[0]}), {members}"
    elif good:
        title = (
            f"Attribution is supported for {len(good)} of {len(names)} {NOUNS[key]}s "
            f"({', '.join(good)}), {members}"
        )
    notes = (*_degree_note(names, columns), *cautions_in_words(figures["cautions"]))
    if figures.get("inputs") is not None:
        notes = (f"Inputs: {figures['inputs']}.", *notes)
    if figures.get("n_terms") is not None and figures.get("n_training") is not None:
        size = (
            f"Size: {figures['n_terms']} terms, fitted to {figures['n_training']} "
            "members or more in each fold."
        )
        notes = (size, *notes)
    if is_real:
        notes = (f"Outputs: {measured}.", *notes)
    if "members" in columns:
        failed = ", ".join(
            f"{name} has {count}"
            for name, count in zip(names, columns["members"], strict=True)
            if count < figures["n_members"]
        )
        notes = (
            f"Failed members: {failed} of {figures['n_members']}. A member that failed "
            "in one output counts in the others.",
            *notes,
        )
    return Result(
        {key: tuple(names)},
        columns,
        supported=tuple(not failed for failed in reasons),
        reasons=tuple(reasons),
        facts=tuple(_facts(columns, step) for step in range(len(names))),
        title="\n".join([*sentences, title]),
        notes=notes,
        figures=figures | {"step_names": tuple(names), "sentences": tuple(sentences)},
        answer="attributable",
        framed=(key, "attributable", *columns, "reasons"),
    )


def _facts(columns: dict[str, FloatArray], step: int) -> str:
    """Return the figures of a step in words; none for a step without choice."""
    row = {name: values[step] for name, values in columns.items()}
    if np.isnan(row["q2"]):
        return ""
    rounded = (without_sign(row[name]) for name in ("q2", "q2_low", "q2_high"))
    facts = "Q² = {} [{}, {}], p = ".format(*rounded) + f"{row['p_value']:.3g}"
    if not np.isnan(row["noise_share"]):
        noise = row["noise_share"]
        facts += f", training noise {'<1%' if 0 < noise < 0.005 else f'{noise:.0%}'}"
    if not np.isnan(row["noise_share_low"]):
        facts += " [{noise_share_low:.0%}, {noise_share_high:.0%}]".format(**row)
    return facts


def _sentences(
    names: Sequence[str],
    columns: Mapping[str, FloatArray],
    reasons: Sequence[tuple[str, ...]],
    figures: Mapping[str, Any],
    noun: str,
) -> list[str]:
    """Return what a reader can repeat: an answer for the groups that have one."""
    good = [i for i, failed in enumerate(reasons) if not failed]
    found: list[str] = []
    for inputs, places in _by_inputs(good, columns["q2"], figures.get("shares")):
        whole = len(places) == len(names)
        subject = which([names[i] for i in places], noun, len(names) if whole else None)
        found.append(_explained(inputs, places, subject, columns, figures))
    if good:
        found.append(_why_trust(good, columns, figures, noun))
    bad = [i for i, failed in enumerate(reasons) if failed]
    if bad:
        subject = which([names[i] for i in bad], noun, None if good else len(names))
        found.append(
            f"For {subject} nothing is attributed; the reasons stand below."
            if good or len(bad) > 1
            else f"For {subject} nothing is attributed: {'; '.join(reasons[bad[0]])}."
        )
    return found


def _by_inputs(
    places: Sequence[int], q2: FloatArray, shares: FloatArray | None
) -> list[tuple[tuple[int, ...], list[int]]]:
    """Group outputs by the inputs that explain them, the most important first."""
    if shares is None:
        return [((), list(places))] if places else []
    groups: dict[tuple[int, ...], list[int]] = {}
    for place in places:
        own = np.nan_to_num(shares[place]) * max(float(q2[place]), 0.0)
        order = np.argsort(-own, kind="stable")[:3]
        leading = [
            int(i) for n, i in enumerate(order) if not n or own[i] > _LEAST_SHARE
        ]
        groups.setdefault(tuple(leading), []).append(place)
    found: list[tuple[tuple[int, ...], list[int]]] = []
    for inputs, alike in groups.items():
        own = shares[alike, inputs[0]] * q2[alike]
        apart = max(np.ptp(own), np.ptp(q2[alike])) > _LARGEST_RANGE
        if apart and len(alike) <= _MOST_NAMES:
            found += [(inputs, [place]) for place in alike]
        else:
            found.append((inputs, alike))
    return found


def which(names: Sequence[str], noun: str, of_all: int | None = None) -> str:
    """Name outputs: all of them, a few by name, or many by their number."""
    listed = names[0]
    if len(names) > 1:
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
    if of_all is not None and of_all > 1:
        counted = "both" if of_all == 2 else f"all {of_all}"
        known = f" ({', '.join(names)})" if len(names) <= _MOST_NAMES else ""
        return f"{counted} {noun}s{known}"
    if len(names) <= _MOST_NAMES:
        return listed
    return f"{len(names)} {noun}s ({', '.join(names[:_MOST_NAMES])}, ...)"


def _explained(
    inputs: Sequence[int],
    places: Sequence[int],
    subject: str,
    columns: Mapping[str, FloatArray],
    figures: Mapping[str, Any],
) -> str:
    """Say what explains some outputs, and what of them is explained by nothing."""
    q2 = np.clip(columns["q2"][places], 0.0, 1.0)
    unexplained = percents(1.0 - q2)
    rest = (
        f" {unexplained[0].upper()}{unexplained[1:]} is explained by none of the inputs"
    )
    noise = columns["noise_share"][places]
    if not np.isnan(noise).any():
        rest += f"; {percents(noise)} is training noise"
    if not inputs:
        return f"The inputs explain {percents(q2)} of the variance of {subject}.{rest}."
    names = figures["share_inputs"]
    shares = figures["shares"][places] * q2[:, np.newaxis]
    parts = [f"{names[i]} explains {percents(shares[:, i])}" for i in inputs[:1]]
    parts += [f"{names[i]} {percents(shares[:, i])}" for i in inputs[1:]]
    text = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    text = f"{text} of the variance of {subject}."
    together = q2 - shares.sum(axis=1)
    if together.min() >= _LEAST_SHARE:
        text += f" {percents(together)} is explained by several inputs together only."
    return f"{text}{rest}."


def percents(values: FloatArray) -> str:
    """Return a share, or the range of several, in percent."""
    low, high = (round(100 * float(end(values))) + 0 for end in (np.min, np.max))
    if high == 0 and low == 0:
        return "less than 1 %"
    return f"{low} %" if low == high else f"{low}–{high} %"


def _why_trust(
    places: Sequence[int],
    columns: Mapping[str, FloatArray],
    figures: Mapping[str, Any],
    noun: str,
) -> str:
    """Say what the answer rests on."""
    p_values = columns["p_value"][places]
    n_permutations = figures.get("n_permutations")
    corrected = corrected_for(columns["p_value"], noun)
    chance = f"p ≤ {p_values.max():.2g}{corrected}"
    if n_permutations:
        tested = int(np.sum(~np.isnan(columns["p_value"])))
        floor = tested / (n_permutations + 1)
        if p_values.max() <= floor * (1 + 1e-9):
            chance = (
                f"none of {n_permutations} permutations did so well (p = {floor:.2g}"
                f"{corrected}, the smallest possible)"
            )
    weak = " with care, see the cautions" if _is_weak(figures) else ""
    return (
        f"Trust it{weak}: members that took no part in the fit are predicted this "
        f"well, and {chance}."
    )


def corrected_for(p_values: FloatArray, noun: str) -> str:
    """Say for how many outputs p-values are adjusted (Holm); nothing for one."""
    tested = int(np.sum(~np.isnan(p_values)))
    return f" after correction for {tested} {noun}s" if tested > 1 else ""


def _is_weak(figures: Mapping[str, Any]) -> bool:
    """Whether a caution says more than that training noise is not known."""
    cautions = figures["cautions"]
    return any("noise is not known" not in caution for caution in cautions)


def _degree_note(
    names: Sequence[str], columns: Mapping[str, FloatArray]
) -> tuple[str, ...]:
    """Say where an expansion of degree one predicts better."""
    linear = columns.get("degree_one_q2")
    if linear is None:
        return ()
    q2 = columns["q2"]
    better = np.flatnonzero((linear > q2 + _BETTER) & (linear > 0))
    if not better.size:
        return ()
    shown = [
        f"{names[i]} (Q² = {without_sign(linear[i])} instead of {without_sign(q2[i])})"
        for i in better[:_MOST_NAMES]
    ]
    more = ", ..." if better.size > _MOST_NAMES else ""
    return (
        f"Degree: degree 1 predicts {', '.join(shown)}{more} better than this degree; "
        "lower it.",
    )
