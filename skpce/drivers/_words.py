"""An answer in words, made once from its values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._cautions import listed, tie_of, without_doubles
from ._findings import _SMALL, Findings, State

# Names in a list, and sentences, before they are summarised.
_MOST_NAMES, _MOST_SENTENCES = 4, 4


def sentences_of(
    findings: Findings, names: Sequence[str], outputs: Sequence[str], negligible: float
) -> tuple[str, ...]:
    """Say for each output what drives it; outputs with one answer share a sentence.

    Of many outputs with answers of their own, those with the same drivers share one,
    with ranges in place of intervals.
    """
    every = range(len(outputs))
    words = [_Words(findings, names, o, negligible).sentence for o in every]
    found = _with_subjects(words, outputs)
    if len(found) <= _MOST_SENTENCES:
        return found
    sets = [tuple(map(str, findings.states[o])) for o in every]
    alike = [[o for o in every if sets[o] == own] for own in dict.fromkeys(sets)]
    return tuple(
        text
        for own in alike
        for text in (
            _with_subjects([words[o] for o in own], [outputs[o] for o in own])
            if len(own) == 1
            else [_range_sentence(findings, names, outputs, own, negligible)]
        )
    )


def _with_subjects(words: Sequence[str], outputs: Sequence[str]) -> tuple[str, ...]:
    """Put the names of outputs into sentences; those of one wording share it."""
    alike: dict[str, list[str]] = {}
    for text, name in zip(words, outputs, strict=True):
        alike.setdefault(text, []).append(name)
    return tuple(
        _with_capitals(text).replace("\0", listed(names))
        for text, names in alike.items()
    )


# Beginnings that are no names of inputs, which keep their letters.
_OWN_WORDS = re.compile(
    r"(^|(?<=[.] ))"
    r"(nothing is|no input is|less than 1 %|this is|there is|what(?= .* is shown))"
)


def _with_capitals(text: str) -> str:
    """Begin sentences with capitals, where they do not begin with a name."""
    return _OWN_WORDS.sub(lambda found: found[2].capitalize(), text)


def percent(share: float) -> str:
    """Return a share in percent, for a table."""
    if 0.0 < share < 0.005:
        return "<1 %"
    return f"{100.0 * share:.0f} %"


def percent_in_words(share: float) -> str:
    """Return a share in percent, for a sentence: none is nothing, and none is all."""
    if share < 0.005:
        return "less than 1 %"
    return f"{100.0 * share:.0f} %"


def between(low: float, high: float) -> str:
    """Return an interval in percent; ends that round to one number have a decimal."""
    if high < 0.005:
        return "<1 %"
    ends = [f"{100.0 * end:.0f}" for end in (low, high)]
    whole = ends[0]
    if ends[0] == ends[1]:
        ends = [f"{100.0 * end:.1f}" for end in (low, high)]
    if ends[0] == ends[1]:
        return f"{whole} %"
    return f"{ends[0]} to {ends[1]} %"


def parts_of(findings: Findings, output: int) -> list[tuple[str, float]]:
    """Return what is left of the variance beside inputs alone, with its names.

    Shares of inputs alone, of several together, what the fit does not predict, and
    the noise between repeats are all of the variance.
    """
    left, noise, together = _rest_of(findings, output)
    parts = []
    if together >= 0.005:
        parts.append(("several together", together))
    parts.append(("not predicted", left))
    if not np.isnan(noise):
        parts.append(("noise of repeats", noise))
    return parts


def _rest_of(findings: Findings, output: int) -> tuple[float, float, float]:
    """Return the shares not predicted, of noise between repeats, and of several."""
    shares = findings.shares
    explained = float(shares.explained[output])
    noise = min(float(shares.noise[output]), 1.0)
    left = 1.0 - explained if np.isnan(noise) else max(1.0 - explained - noise, 0.0)
    alone = float(np.nansum(shares.first[0, output]))
    return left, noise, max(explained - alone, 0.0)


_UNTOLD: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "constraint": lambda f: f"cannot be told apart: they {tie_of(f)} in every run",
    "alike": lambda f: "cannot be told apart: in these runs they vary together",
    "not exchanged": lambda f: f"cannot be tested: {f['why']}",
}


# Share that the fit predicts of runs left out, from which on it is strange that no
# input is found.
_PREDICTS = 0.25

# What is predicted of runs left out less than of all, from which on it is said.
_STILL_OPEN = 0.1


@dataclass(frozen=True, eq=False)
class _Words:
    """The sentence of one output; its name is to take the place of each NUL."""

    findings: Findings
    names: Sequence[str]
    output: int
    negligible: float

    @property
    def sentence(self) -> str:
        if np.isnan(self.findings.shares.q2[0, self.output]):
            return "there is no choice, or no variance between the runs, of \0."
        if not self.names:
            return "no input is tested, so that nothing is attributed of \0."
        if any(one.code == "series" for one in self.findings.cautions):
            return (
                "nothing is settled about \0, because each run resembles those before "
                "it: see the caution."
            )
        parts = [
            self._drivers(),
            self._scope(),
            self._pairs(),
            self._spread(),
            self._nothing(),
            self._tied(),
            self._open(),
            self._rest(),
        ]
        return " ".join(filter(None, parts))

    @property
    def order(self) -> list[int]:
        """Rows by their total share, the largest first."""
        total = self.findings.shares.total[0, self.output]
        return np.argsort(-np.nan_to_num(total), kind="stable").tolist()

    def rows(self, state: State) -> list[int]:
        """Return the rows of a state, the largest total first."""
        states = self.findings.states[self.output]
        return [i for i in self.order if states[i] is state]

    def _drivers(self) -> str:
        drivers = self.rows(State.DRIVES)
        if not drivers:
            return "no input is shown to drive \0."
        first, *others = drivers
        share, figures = self._figures(first)
        parts = [f"{self.names[first]} drives {share} of the variance of \0 {figures}"]
        for i in others:
            share, figures = self._figures(i)
            parts.append(f"{self.names[i]} {share} {figures}")
        return f"{listed(parts, len(parts))}."

    def _figures(self, i: int) -> tuple[str, str]:
        """Return the share of an input, and its interval with what it does alone."""
        shares = self.findings.shares
        total, low, high = shares.total[:, self.output, i].tolist()
        first = float(shares.first[0, self.output, i])
        figures = between(low, high)
        if high < _SMALL:
            figures += ", small"
        if total - first >= 0.02:
            figures += f"; {percent_in_words(first)} alone"
        share = percent_in_words(total)
        if total < 0.005 and high > _SMALL:
            share = "an unknown share"
        return share, f"({figures})"

    def _scope(self) -> str:
        drivers = self.rows(State.DRIVES)
        tested = self.findings.tested[self.output]
        tried = [self.names[i] for i in drivers if tested[i].exchange.scope == "tried"]
        if not tried:
            return ""
        about = "this" if len(tried) == len(drivers) else f"what {listed(tried)} do"
        if len(tried) == 1 < len(drivers):
            about = f"what {tried[0]} does"
        return f"{about} is shown at the settings tried, not beyond them."

    def _pairs(self) -> str:
        shares = self.findings.shares
        pairs = [k for k in self.findings.pair_p_values if k[0] == self.output]
        text = []
        for o, i, j in sorted(pairs, key=lambda key: -shares.pairs[key]):
            share = shares.pairs[o, i, j]
            more = f": {percent(share)} that neither explains alone"
            more = more if share and len(pairs) > 1 else ""
            text.append(f"{self.names[i]} and {self.names[j]} act together{more}.")
        return " ".join(text)

    def _spread(self) -> str:
        some = [self.names[i] for i in self.rows(State.SPREAD)]
        verb = "acts" if len(some) == 1 else "act"
        return f"{listed(some)} {verb} on the spread of \0." if some else ""

    def _nothing(self) -> str:
        some = [self.names[i] for i in self.rows(State.NOTHING)]
        if not some:
            return ""
        below = f"(below {percent(self.negligible)}{' each' if len(some) > 1 else ''})"
        verb = "does" if len(some) == 1 else "do"
        subject = listed(some)
        if len(some) > _MOST_NAMES + 1:
            which = "The other" if len(some) < len(self.names) else "All"
            subject = f"{which} {len(some)} inputs"
            if self.rows(State.OPEN):
                subject = f"{len(some)} inputs"
        return f"{subject} {verb} not matter {below}."

    def _tied(self) -> str:
        """Name inputs that these data cannot tell apart, or that nothing tests."""
        return " ".join(f"{listed(names)} {why}." for names, why in self._untold())

    def _untold(self) -> list[tuple[list[str], str]]:
        is_open = {self.names[i] for i in self.rows(State.OPEN)}
        found: list[tuple[list[str], str]] = []
        told: set[str] = set()
        for one in without_doubles(self.findings.cautions):
            names = list(one.figures.get("inputs", ()))
            if one.code not in _UNTOLD or not set(names) <= is_open - told:
                continue
            told |= set(names)
            found.append((names, _UNTOLD[one.code](one.figures)))
        return found

    def _open(self) -> str:
        untold = {name for names, _ in self._untold() for name in names}
        rows = [i for i in self.rows(State.OPEN) if self.names[i] not in untold]
        if not rows:
            return ""
        some = [self.names[i] for i in rows]
        verb = "is" if len(some) == 1 else "are"
        return f"{listed(some)} {verb} not settled{self._more(rows)}."

    def _more(self, rows: Sequence[int]) -> str:
        more = self.findings.more_runs[self.output, list(rows)]
        known = more[np.isfinite(more)]
        if not known.size:
            return ""
        low, high = int(max(known.min(), 10)), int(max(known.max(), 10))
        number = f"{low}" if low == high else f"{low} to {high}"
        which = "it" if len(rows) == 1 else "them"
        if known.size < more.size:
            which = "some of them"
        return f" (about {number} more runs would settle {which})"

    def _rest(self) -> str:
        """Split all of the variance; without drivers, say what is predicted."""
        left, noise, together = _rest_of(self.findings, self.output)
        parts = []
        if self.rows(State.DRIVES):
            if together >= 0.005:
                parts.append(f"{percent(together)} is what several inputs do together")
            parts.append(f"{percent_in_words(left)} is not predicted by this model")
            if not np.isnan(noise):
                parts.append(f"{percent_in_words(noise)} is noise between repeats")
            return f"{listed(parts)}.{self._still_open()}"
        if not np.isnan(noise) and noise >= 0.005:
            parts.append(f"{percent(noise)} is noise between repeats.")
        q2 = float(self.findings.shares.q2[0, self.output])
        if q2 >= _PREDICTS:
            parts.append(
                f"The model predicts {percent(q2)} of the variance of runs left out, "
                "but the test cannot say by which input."
            )
        return " ".join(parts)

    def _still_open(self) -> str:
        """Say where fits to fewer runs predict much less than the fit to all."""
        shares = self.findings.shares
        q2 = float(shares.q2[0, self.output])
        if shares.explained[self.output] - q2 <= _STILL_OPEN:
            return ""
        return (
            f" Of runs left out, fits to the others predict {percent_in_words(q2)}: "
            "the shares may change with more runs."
        )


def _range_sentence(
    findings: Findings,
    names: Sequence[str],
    outputs: Sequence[str],
    alike: Sequence[int],
    negligible: float,
) -> str:
    """Say what several outputs with the same states have in common."""
    subject = listed([outputs[o] for o in alike])
    rows = list(alike)
    total = findings.shares.total[0][rows]
    order = np.argsort(-total.mean(axis=0), kind="stable").tolist()
    states = findings.states[rows[0]]
    if np.isnan(total).all():
        return f"{subject} have no choice, or do not vary between the runs."
    drivers = [i for i in order if states[i] is State.DRIVES]
    ranges = [f"{between(total[:, i].min(), total[:, i].max())}" for i in drivers]
    parts = [f"{names[i]} {own}" for i, own in zip(drivers, ranges, strict=True)]
    text = f"No input is shown to drive {subject}."
    if drivers:
        head = f"{names[drivers[0]]} drives {ranges[0]} of the variance of {subject}"
        text = f"{listed([head, *parts[1:]], len(parts))}."
    for state, one, several in (
        (State.SPREAD, "acts on their spread", "act on their spread"),
        (
            State.NOTHING,
            f"does not matter (below {percent(negligible)})",
            f"do not matter (below {percent(negligible)} each)",
        ),
        (State.OPEN, "is not settled", "are not settled"),
    ):
        some = [names[i] for i in order if states[i] is state]
        if some:
            text += f" {listed(some)} {one if len(some) == 1 else several}."
    left = [_rest_of(findings, o)[0] for o in rows]
    if drivers:
        text += f" {between(min(left), max(left))} is not predicted by this model."
    return text


def reason_of(findings: Findings, output: int) -> str:
    """Say why nothing is attributed of an output."""
    if np.isnan(findings.shares.q2[0, output]):
        return "no choice, or no variance between members"
    return "no input is shown to drive it"
