"""What weakens an answer: for each code a check of what was seen, and its words.

A caution is added by a function with the decorator :func:`caution`, which yields the
figures of each time that it holds. One that is found elsewhere has its words alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._checks import BoolArray, FloatArray, IndexArray
from .._compositions.outputs import Outputs
from .._input_laws import correlated_pairs
from ._dependence import copied_input
from ._design import Design, first_of
from ._exchange import Tested
from ._shares import Shares

Figures = Mapping[str, Any]

# Up to so many names are listed in a sentence.
_MOST_NAMES = 12

# Runs that are few, and the level of a lack of fit over all outputs.
_FEW_RUNS, _LACK = 30, 0.01


@dataclass(frozen=True)
class Caution:
    """Something that weakens an answer: a code, and the figures of its sentence.

    Three figures keep their meaning: ``input`` is the name of an input and ``inputs``
    are several, which other names may replace, and ``members`` are rows of the runs,
    which become those of the source.
    """

    code: str
    figures: Figures

    def __str__(self) -> str:
        words = WORDS[self.code]
        return words(self.figures) if callable(words) else words.format(**self.figures)

    def with_names(self, names: Mapping[str, str]) -> Caution:
        """Return the same with other names of inputs."""
        changed = dict(self.figures)
        if "input" in changed:
            changed["input"] = names.get(changed["input"], changed["input"])
        if "inputs" in changed:
            changed["inputs"] = tuple(names.get(n, n) for n in changed["inputs"])
        return replace(self, figures=changed)

    def of_rows(self, rows: IndexArray) -> Caution:
        """Return the same with the members' places among all rows of the source."""
        if "members" not in self.figures:
            return self
        members = sorted(rows[list(self.figures["members"])].tolist())
        return replace(self, figures={**self.figures, "members": tuple(members)})


@dataclass(frozen=True, eq=False)
class Seen:
    """What a caution may look at: the runs, their tests and shares.

    Neither the order in which inputs were given nor the sign of a coordinate is known
    here: ``members`` says which columns of X belong to each of ``names``, and
    coordinates are turned so that their longer tail is above.
    """

    X: FloatArray  # shape: (n_rows, n_inputs)
    # Of y: log-ratios of compositions, then real outputs over ``outputs.scales``, NaN
    # where a run failed; ``outputs.group_of_coordinate`` is the output of each, the
    # first ``outputs.n_steps`` of ``outputs.names`` are compositions.
    coordinates: FloatArray  # shape: (n_rows, n_coordinates)
    outputs: Outputs
    design: Design
    names: Sequence[str]  # of the rows of the answer
    members: Sequence[tuple[int, ...]]  # the inputs of each
    tied: IndexArray  # inputs of a linear equation
    n_copies: int
    tested: Tested
    shares: Shares
    drives: BoolArray  # by output and row
    alike: Sequence[tuple[int, int, int]] = ()  # output and two rows: one drives


Words = str | Callable[[Figures], str]

#: How each caution is said, and which are looked for, in their order.
WORDS: dict[str, Words] = {
    "adaptive": "the settings were chosen by earlier results ({sampler}): regions that "
    "looked bad have few runs, and neither shares nor the error rate of tests are as "
    "certain as those of settings drawn beforehand",
    "zeros": "{n} zeros, in {of} of the runs, have no logarithm: a number that is far "
    "smaller stands for them, and shares of log-ratios hang on it. Put about half of "
    "the smallest probability that could be seen in their place",
    "distribution": "{input} does not have its stated distribution (p = "
    "{p_value:.2g}): the shares are those under the stated one",
    "embedding chosen": "the embedding was chosen among {n} by the outputs: p-values "
    "are those of one, times {n}",
    "embedding saw y": lambda f: (
        "a step before the last one has looked at the outputs, which cannot test what "
        "it made of them: "
        + (
            "the columns of X are tested instead"
            if f["tested"]
            else "nothing is tested; take an embedding that does not, such as PCA"
        )
    ),
    "pipeline predicts less": "of {output} in runs left out the pipeline predicts "
    "{pipeline:.0%} of the variance, and a fit without settings, of which the shares "
    "are, {fit:.0%}: much of what the inputs do the pipeline does not know",
    "not converged": lambda f: (
        f"{_far_members(f)} the target of the training, in total variation: some of "
        "what differs may be the training"
    ),
    "noise bound": lambda f: (
        f"training noise is at most {listed(list(map(_at_most, f['at_most'].items())))}"
        ", in the variance of the probabilities, by the bounds of the distances"
    ),
    "note": "{words}",
}
_NOTES = ("note", "noise bound")  # which weaken nothing
CHECKS: list[tuple[str, Callable[[Seen], Iterable[Figures]]]] = []


def caution(
    code: str, words: Words | None = None
) -> Callable[[Callable[[Seen], Iterable[Figures]]], Any]:
    """Let a function look for a caution, which has these words; None has some."""

    def add(check: Callable[[Seen], Iterable[Figures]]) -> Any:
        if words is not None:
            WORDS[code] = words
        CHECKS.append((code, check))
        return check

    return add


def find_cautions(seen: Seen) -> tuple[Caution, ...]:
    """Return what weakens the answer, as values."""
    found: list[Caution] = []
    for code, check in CHECKS:
        found += [Caution(code, figures) for figures in check(seen)]
    return tuple(found)


def listed(names: Sequence[str], most: int = 4) -> str:
    """Return names in one phrase, the last of many as their number."""
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} more"]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def said(names: Sequence[str], one: str, several: str, most: int = 4) -> str:
    """Return names with what is said of one, or of several."""
    return f"{listed(names, most)} {one if len(names) == 1 else several}"


def _at_most(of_output: tuple[str, float]) -> str:
    return f"{np.ceil(1e3 * of_output[1]) / 10:g} % of {of_output[0]}"


def _far_members(figures: Figures) -> str:
    """Say which members are far, or not shown to be near."""
    n_members, limit = figures["n_members"], figures["limit"]
    members = [str(member) for member in figures["members"]]
    shown = listed(members, _MOST_NAMES)
    subject = f"members {shown} of {n_members} are"
    if len(members) == 1:
        subject = f"member {shown} of {n_members} is"
    if figures["by"] == "bound":
        if len(members) == n_members:
            return f"none of the {n_members} members is shown to be within {limit} of"
        return f"{subject} not shown to be within {limit} of"
    if len(members) == n_members:
        subject = f"all {n_members} members are"
    return f"{subject} farther than {limit} from"


def tie_of(figures: Figures) -> str:
    """Say how inputs are tied."""
    if figures["sum"] == figures["sum"]:
        return f"add up to {figures['sum']:.6g}"
    return "are tied by a linear equation"


@caution(
    "copies",
    lambda f: (
        f"{f['n']} runs are nearly copies of others and were taken as their repeats"
        if not f["exact"]
        else f"{f['n']} {'run repeats' if f['n'] == 1 else 'runs repeat'} others with "
        "equal outputs: copies, or runs without noise, say nothing of the noise"
    ),
)
def _copies(seen: Seen) -> Iterator[Figures]:
    design, exact = seen.design, _are_equal(seen)
    if seen.n_copies or exact:
        yield {"n": design.n_rows - design.n_settings, "exact": exact}


def _are_equal(seen: Seen) -> bool:
    """Whether repeats have equal outputs, and say nothing of the noise."""
    first = first_of(seen.design.setting)[seen.design.setting]
    own = seen.coordinates
    return seen.design.has_repeats and np.array_equal(own, own[first], equal_nan=True)


@caution(
    "circular",
    "{input} is a linear function of the outputs with hardly any noise: if it was "
    "computed from them, the answer is circular",
)
def _circular(seen: Seen) -> Iterator[Figures]:
    copied = copied_input(seen.X, seen.coordinates)
    if copied is not None:
        yield from ({"input": name} for name in _names_of(seen, [copied])[:1])


@caution(
    "alike",
    lambda f: (
        f"{listed(f['inputs'], _MOST_NAMES)} vary together: these runs cannot tell "
        "them apart. Name them as a group by together="
    ),
)
def _alike(seen: Seen) -> Iterator[Figures]:
    """Two inputs of which one drives, when these data cannot say which."""
    pairs = {(i, j): (seen.names[i], seen.names[j]) for _, i, j in seen.alike}
    yield from ({"inputs": names} for names in pairs.values())


@caution(
    "correlated",
    lambda f: (
        f"{listed(f['inputs'])} are correlated ({f['size']:.2f}): the shares are those "
        "of inputs that vary independently of each other, not of the variance between "
        "these runs, which skpce.inspection.dependent_sobol_indices splits"
    ),
)
def _correlated(seen: Seen) -> Iterator[Figures]:
    """Two inputs that both drive an output, so that their shares overlap."""
    if seen.tied.size:
        return
    row_of = np.full(seen.X.shape[1], -1)
    for row, own in enumerate(seen.members):
        row_of[list(own)] = row
    settings = seen.X[first_of(seen.design.setting)]
    strongest: dict[tuple[str, str], float] = {}
    for size, *columns in sorted(correlated_pairs(settings, row_of)):
        rows = sorted(row_of[columns].tolist())
        if rows[0] >= 0 and seen.drives[:, rows].all(axis=1).any():
            strongest[seen.names[rows[0]], seen.names[rows[1]]] = size
    yield from ({"inputs": pair, "size": size} for pair, size in strongest.items())


@caution(
    "series",
    "{words}: nothing is settled until order= says what the order of the rows means "
    "(False: nothing), or groups= which runs belong together",
)
def _series(seen: Seen) -> Iterator[Figures]:
    if seen.design.series:
        yield {"words": seen.design.series}


@caution(
    "constraint",
    lambda f: (
        f"{listed(f['inputs'], _MOST_NAMES)} {tie_of(f)} in every run: their single "
        "shares are not identified. Leave one of them out, take log-ratios, or name "
        "them as a group by together="
    ),
)
def _constraint(seen: Seen) -> Iterator[Figures]:
    inputs = _names_of(seen, seen.tied)
    if len(inputs) > 1:
        tied = seen.X[:, seen.tied]
        sums = tied.sum(axis=1)
        is_sum = np.var(sums) <= 1e-3 * np.var(tied, axis=0).sum()
        yield {"inputs": inputs, "sum": float(np.median(sums)) if is_sum else np.nan}


def _names_of(seen: Seen, inputs: Sequence[int] | IndexArray) -> tuple[str, ...]:
    """Return the names of the rows that hold some of the inputs."""
    named = zip(seen.names, seen.members, strict=True)
    return tuple(name for name, own in named if not set(inputs).isdisjoint(own))


@caution("alike")
def _tied(seen: Seen) -> Iterator[Figures]:
    for row, name in enumerate(seen.names):
        ties = list(filter(None, seen.tested.tied_to[:, row]))
        if ties and not np.isin(seen.members[row], seen.tied).all():
            others = _names_of(seen, np.setdiff1d(ties[0], seen.members[row]))
            yield {"inputs": (name, *others)}


@caution(
    "not exchanged",
    lambda f: f"{said(f['inputs'], 'is', 'are', _MOST_NAMES)} not tested: {f['why']}",
)
def _not_exchanged(seen: Seen) -> Iterator[Figures]:
    for row, name in enumerate(seen.names):
        for why in sorted(set(seen.tested.why_not[:, row]) - {""}):
            yield {"inputs": (name,), "why": why}


@caution(
    "of blocks",
    lambda f: (
        f"{said(f['inputs'], 'has', 'have', _MOST_NAMES)} one value in each block: "
        "tested between blocks, while shares are of what varies within them"
    ),
)
def _of_blocks(seen: Seen) -> Iterator[Figures]:
    own = seen.design.inputs_of_blocks(seen.X, seen.members)
    if own:
        yield {"inputs": tuple(seen.names[k] for k in own)}


@caution(
    "differs by label",
    lambda f: (
        f"what {said(f['inputs'], 'does', 'do', _MOST_NAMES)} to {f['output']} differs "
        f"between the {f['n']} {f['labels']}, and is not shown to be more than that in "
        f"the mean: more {f['labels']} would tell, and shares are of these"
    ),
)
def _differs_by_label(seen: Seen) -> Iterator[Figures]:
    label, repeat = seen.design.recurring, seen.design.repeat
    for output, own in enumerate(seen.tested.unsteady & ~seen.drives):
        if own.any() and label is not None:
            other = "groups" if seen.design.blocks is None else "blocks"
            yield {
                "inputs": tuple(np.array(seen.names)[own].tolist()),
                "output": seen.outputs.names[output],
                "n": int(label.max()) + 1,
                "labels": "repeats" if label is repeat else other,
            }


@caution(
    "rests on members",
    lambda f: (
        f"what {f['input']} does to {f['output']} rests on "
        + said(
            [f"member {member}" for member in f["members"]],
            *("alone, which lies far out", "alone, which lie far out", _MOST_NAMES),
        )
    ),
)
def _rests_on_members(seen: Seen) -> Iterator[Figures]:
    for output, row in np.argwhere(seen.tested.resting.astype(bool) & ~seen.drives):
        yield {
            "input": seen.names[row],
            "output": seen.outputs.names[output],
            "members": seen.tested.resting[output, row],
        }


@caution(
    "few runs differ",
    "most of the variance of {output} is that of one or two runs: its shares are those "
    "of these, and have no lower end. Of positive outputs that span decades explain "
    "the logarithm",
)
def _few_runs_differ(seen: Seen) -> Iterator[Figures]:
    for output in np.flatnonzero(seen.shares.of_few).tolist():
        yield {"output": seen.outputs.names[output]}


@caution(
    "lack of fit",
    "the fit misses {output} by more than the noise between repeats (p = "
    "{p_value:.2g}): there is more in the inputs than it finds",
)
def _lack_of_fit(seen: Seen) -> Iterator[Figures]:
    p_values = seen.shares.lack_of_fit
    level = 0.0 if _are_equal(seen) else _LACK / max(seen.outputs.n_groups, 1)
    for output in np.flatnonzero(p_values < level).tolist():
        yield {"output": seen.outputs.names[output], "p_value": float(p_values[output])}


@caution(
    "few runs", "with {n} runs only inputs that explain most of the variance are found"
)
def _few_runs(seen: Seen) -> Iterator[Figures]:
    design = seen.design
    if design.n_rows < _FEW_RUNS and not design.has_repeats and design.groups is None:
        yield {"n": design.n_rows}


@caution("no pairs", "there are too many inputs and outputs to look for pairs")
def _no_pairs(seen: Seen) -> Iterator[Figures]:
    if not seen.tested.sees_pairs.all():
        yield {}


def without_doubles(cautions: Iterable[Caution]) -> list[Caution]:
    """Return cautions, one for all inputs that it holds of, by ``"inputs"``.

    Those that are alike are named once, and not where a constraint ties them.
    """
    found: list[Caution] = []
    told: list[set[str]] = []
    reasons: dict[str, list[str]] = {}
    for one in cautions:
        figures = dict(one.figures)
        if one.code == "not exchanged":
            reasons.setdefault(figures["why"], []).extend(figures["inputs"])
            continue
        if one.code in ("alike", "constraint"):
            if any(set(figures["inputs"]) <= known for known in told):
                continue
            told.append(set(figures["inputs"]))
        found.append(Caution(one.code, figures))
    for why, names in reasons.items():
        found.append(Caution("not exchanged", {"inputs": tuple(names), "why": why}))
    return found


def cautions_in_words(cautions: Iterable[Caution]) -> list[str]:
    """Say what cautions are about; what was only read so is a note."""
    return [
        f"{'Note' if one.code in _NOTES else 'Caution'}: {one}."
        for one in without_doubles(cautions)
    ]
