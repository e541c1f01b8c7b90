"""An answer in words, made once from its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ._answer import _SMALL, Caution, Findings, State

_MOST_NAMES = 4


def sentences_of(
    findings: Findings, names: Sequence[str], outputs: Sequence[str], negligible: float
) -> tuple[str, ...]:
    """Say for each output what drives it; outputs with one answer share a sentence."""
    by_text: dict[str, list[int]] = {}
    for output in range(len(outputs)):
        by_text.setdefault(_sentence(findings, names, output, negligible), []).append(
            output
        )
    found = []
    for text, alike in by_text.items():
        subject = _counted([outputs[k] for k in alike], len(outputs))
        found.append(text.replace("\0", subject))
    return tuple(found)


def _counted(names: Sequence[str], n_all: int) -> str:
    if len(names) > _MOST_NAMES:
        every = f"all {n_all}" if len(names) == n_all else f"{len(names)} of {n_all}"
        return f"{every} outputs"
    return _listed(names)


def _listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def percent(share: float) -> str:
    """Return a share in percent."""
    if 0.0 < share < 0.005:
        return "<1 %"
    return f"{100.0 * share:.0f} %"


def _between(low: float, high: float) -> str:
    return f"{100.0 * low:.0f} to {100.0 * high:.0f} %"


def _sentence(
    findings: Findings, names: Sequence[str], output: int, negligible: float
) -> str:
    states, shares = findings.states[output], findings.shares
    if np.isnan(shares.q2[0, output]):
        return "\0 has no choice, or does not vary between the runs."
    total, first = shares.total[:, output], shares.first[:, output]
    order = np.argsort(-total[0], kind="stable").tolist()
    drivers = [i for i in order if states[i] is State.DRIVES]
    parts = []
    if not drivers:
        parts.append("Nothing is shown to drive \0.")
    for place, i in enumerate(drivers):
        small = ", small" if total[2, i] < _SMALL else ""
        figures = f"{percent(total[0, i])} ({_between(total[1, i], total[2, i])}{small}"
        if total[0, i] - first[0, i] >= 0.02:
            figures += f"; {percent(first[0, i])} alone"
        subject = " of the variance of \0" if not place else ""
        verb = "drives" if not place else ""
        parts.append(f"{names[i]} {verb} {figures}){subject}".replace("  ", " "))
    text = parts[0] if not drivers else f"{_listed(parts)}."
    pairs = [key for key in findings.pair_p_values if key[0] == output]
    for _, i, j in sorted(pairs, key=lambda key: -shares.pairs[key]):
        share = shares.pairs[output, i, j]
        text += f" {names[i]} and {names[j]} act together"
        text += f" ({percent(share)} that neither explains alone)." if share else "."
    for state, words in (
        (State.SPREAD, "act{s} on the spread of \0"),
        (State.NOTHING, f"do{{es}} not matter (below {percent(negligible)})"),
        (State.OPEN, "{is} not settled"),
    ):
        some = [names[i] for i in order if states[i] is state]
        if some:
            one = len(some) == 1
            verb = words.replace("{s}", "s" if one else "")
            verb = verb.replace("{es}", "es" if one else "")
            verb = verb.replace("{is}", "is" if one else "are")
            shown = _listed(some)
            if len(some) > _MOST_NAMES and state is State.OPEN:
                shown = f"{len(some)} inputs ({', '.join(some[:_MOST_NAMES])}, ...)"
            text += f" {shown} {verb}{_more(findings, output, state)}."
    return text + _rest(findings, output)


def _more(findings: Findings, output: int, state: State) -> str:
    if state is not State.OPEN:
        return ""
    rows = [k for k, s in enumerate(findings.states[output]) if s is State.OPEN]
    more = findings.more_runs[output, rows]
    known = more[np.isfinite(more)]
    if not known.size:
        return ""
    low, high = int(max(known.min(), 10)), int(max(known.max(), 10))
    number = f"{low}" if low == high else f"{low} to {high}"
    which = "it" if len(rows) == 1 else "most"
    if known.size < more.size:
        which = "some"
    return f" (about {number} more runs would settle {which})"


def _rest(findings: Findings, output: int) -> str:
    shares = findings.shares
    q2, noise = float(shares.q2[0, output]), float(shares.noise[output])
    if np.isnan(q2):
        return ""
    left = 1.0 - min(max(q2, 0.0), 1.0)
    if np.isnan(noise):
        return f" {percent(left)} is not predicted by the fit."
    noise = min(noise, 1.0)
    misfit = max(left - noise, 0.0)
    return (
        f" {percent(noise)} is noise between repeats; {percent(misfit)} more is not "
        "predicted by the fit."
    )


def reason_of(findings: Findings, output: int) -> str:
    """Say why nothing is attributed of an output."""
    if np.isnan(findings.shares.q2[0, output]):
        return "no choice, or no variance between members"
    return "no input is shown to drive it"


_CAUTIONS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "series": lambda f: (
        f"{f['words']}: nothing is settled until order= says what the order of the "
        "rows means (False: nothing), or groups= which runs belong together"
    ),
    "constraint": lambda f: (
        f"{_listed(f['inputs'])} "
        + (
            f"add up to {f['sum']:g} in every run"
            if f["sum"] == f["sum"]
            else "are tied by a linear equation"
        )
        + ": their single shares are not identified. Leave one of them out, take "
        "log-ratios, or name them as a group by together="
    ),
    "alike": lambda f: (
        f"{f['input']} is nearly a function of {_listed(f['others'])}: these data "
        "cannot tell them apart; name them as a group by together="
    ),
    "not exchanged": lambda f: f"{f['input']} is not tested: {f['why']}",
    "rests on members": lambda f: (
        f"what {f['input']} does to {f['output']} rests on the members "
        f"{', '.join(map(str, f['members']))} alone, which lie far out"
    ),
    "lack of fit": lambda f: (
        f"the fit misses {f['output']} by more than the noise between repeats (p = "
        f"{f['p_value']:.2g}): there is more in the inputs than it finds"
    ),
    "few runs": lambda f: (
        f"with {f['n']} runs only inputs that explain most of the variance are found"
    ),
    "no pairs": lambda f: "there are too many inputs and outputs to look for pairs",
    "adaptive": lambda f: (
        f"the {f['sampler']} sampler chose settings by earlier results: shares are of "
        "the stated search space, from fewer runs where it looked less"
    ),
    "copies": lambda f: f"{f['n']} runs are copies of others and count once",
    "note": lambda f: f["words"],
}


def caution_in_words(caution: Caution) -> str:
    """Say what a caution is about; what was only read so is a note."""
    text = _CAUTIONS[caution.code](caution.figures)
    kind = "Note" if caution.code == "note" else "Caution"
    return f"{kind}: {text[0].upper()}{text[1:]}."
