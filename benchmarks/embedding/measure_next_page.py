"""The page of the study of what to measure next."""

from __future__ import annotations

import textwrap

import numpy as np
from scipy.stats import ttest_1samp

from .reactions import markdown_table

#: Figures at the choice and on average over states, in this order in every result.
CHOICE, EVERYWHERE = 0, 1

#: Rules without an index that the others are compared with.
BASELINES = ("random", "largest variance", "near, no index", "near, high yields")

_RULES = {
    "random": "any",
    "largest variance": "where predictions of the members vary most",
    "near, no index": "first the choice's own reactions, then those that share two of "
    "its three levels, at random: what is known without an index",
    "near, high yields": "the same, but the highest predicted yields first; added when "
    "the results of the others were known, to see what `variance_share` adds to it",
    "`explained_alone`": "the largest `explained_alone` of `back_to_reward` for the "
    "choice",
    "`explained_alone` in turn": "the largest `explained_alone`, then the largest "
    "given the first, and so on; a measured yield retains a third of its variance, as "
    "about a third of the networks do not train on it",
    "`variance_share`": "the largest `variance_share` for the choice",
}

_FIGURES = {
    "variance": "total variance of the log-ratios over members",
    "TV": "mean total variation of members to the mean policy: rare additives hardly "
    "count",
    "error, mean policy": "total variation of the mean policy to the policy of the "
    "measured yields",
    "error, member": "the same of single members, on average",
}

_PAGE = """<!-- Written by benchmarks.embedding.measure_next; do not edit. -->

# Which reactions to measure next

Most reactions of a plate are not measured yet, and the yields of the others are
predicted. So policies of an ensemble disagree about the additive. Some more reactions
can be measured: which ones make that choice less fragile? Those that indices name,
those with the largest predictive variance, or any?

## Design

{n_repetitions} repetitions. Each draws {measured:.0%} of the measured Buchwald–Hartwig
reactions as known; the others are candidates, {n_candidates} of them. {n_members}
networks predict all yields. Each sees its own random {seen:.0%} of what is known, which
is 30 % of all as in the other studies, and a tenth of that judges its epochs. A rule
picks {picked:.0%} of the candidates ({n_picks}). Their yields become known, and all
networks are trained again. The networks of all rules draw from the same random streams;
a repetition compares rules on the same reactions known before.

*The choice* is that of the additive at the end of the reference trajectory, among 24
reactions. Policies are exact.

{rules}
Indices are those of one pipeline: `PolicyRelevantFeatures` of the reference trajectory,
PCA with {components} components, a surrogate of degree 1. The features include those of
the additive, which are the logits of the choice. That would be no evidence of
prediction; here it only says which entries matter.

{figures}
*Everywhere* is the average over all {n_states} states where an additive is chosen,
though rules by indices look at one; of errors, over the {n_complete} states where all
yields were measured.

## After over before

Mean ratio over repetitions, ± its standard error; in the first row, the figure before.

### At the choice

{at_choice}
### Everywhere

{everywhere}
## Paired differences

Of the ratios at the choice, with 95 % intervals of a t-test. Nothing is corrected for
the number of comparisons.

{differences}
## What the rules pick

Picks by the number of levels that they share with the state of the choice, and their
mean predicted yield before, in percent.

{picks}
Mean `explained_alone` of candidates for the choice, by the same number: {explained}.
With {n_members} members, a column that says nothing has {chance:.3f} on average, one
over members less one.

## What it says

{in_short}

A choice is as fragile as the predictions of its own reactions. Random picks and those
of largest variance are seldom among them; the variance is large elsewhere. Rules that
know the choice pick most of them or all, and the two rules *near* say how much of the
gain that is. What an index adds shows against these alone. At the choice the indices
beat random picks and the largest variance, and add nothing to *near, high yields*,
which needs none: the state of the choice and the predicted yields are enough.

Rules by indices: *less* and *more* where the interval of the difference leaves out 0.

{findings}
## Limits

- One data set and one choice. Intervals are for other draws of the known reactions and
  of other networks, not of other choices.
- A newly measured yield is a row like any other, and a quarter of the networks do not
  see it. Fragility here is partly this resampling; measuring all would not bring it to
  zero.
- All picks are made at once. A laboratory would look at the yields in between.
- Only the reactions behind the choice enter its exact policy. What an index gives to
  any other reaction is what goes with those, learned from {n_members} members. For
  `variance_share` these are mostly reactions of the same catalyst and base with a high
  predicted yield: the features of the aryl halide, which weigh them so, rise and fall
  with the choice. For `explained_alone` see how close its means are to chance.
- Rules, components and what a measured yield retains were chosen on seeds 1000 and
  1001, among some others (fewer components, `share`, covariances tapered by shared
  levels).

## The numbers

`OMP_NUM_THREADS=1 python -m benchmarks.embedding.measure_next --blocks
runs/measure-blocks --write docs/downloads/measure_next.txt`, seeds
{first_seed} to {last_seed}, with the data at hand. Stopped, it goes on where it was.
"""

Results = dict[str, np.ndarray]  # shapes: (n_repetitions, ...)


def page(found: Results, rules: list[str], design: dict[str, float]) -> str:
    """Return the page; `design` has the numbers of its first part."""
    ratios = found["after"] / found["before"][:, np.newaxis]
    before = found["before"].mean(axis=0)
    tables = {
        "rules": _described(["rule", "picks"], _RULES),
        "figures": _described(["figure", "what it is"], _FIGURES),
        "at_choice": _ratios(ratios[:, :, CHOICE], before[CHOICE], rules),
        "everywhere": _ratios(ratios[:, :, EVERYWHERE], before[EVERYWHERE], rules),
        "differences": "\n".join(
            _differences(ratios[:, :, CHOICE], rules, baseline)
            for baseline in BASELINES
        ),
        "picks": _picks(found, rules, design["temperature"]),
    }
    explained = found["explained_alone"].mean(axis=0)
    return _PAGE.format(
        **design,
        **tables,
        explained=", ".join(f"{explained[n]:.3f} ({n})" for n in (3, 2, 1, 0)),
        chance=1 / (design["n_members"] - 1),
        in_short=_in_short(ratios[:, :, CHOICE], rules),
        findings=_findings(ratios, rules),
    )


def _described(columns: list[str], texts: dict[str, str]) -> str:
    return markdown_table(columns, [list(row) for row in texts.items()])


def _ratios(
    ratios: np.ndarray,  # shape: (n_repetitions, n_rules, 4)
    before: np.ndarray,  # shape: (4,)
    rules: list[str],
) -> str:
    mean, error = ratios.mean(axis=0), _standard_error(ratios)
    rows = [["*before*", *(f"{value:.3g}" for value in before)]]
    for rule, its_mean, its_error in zip(rules, mean, error, strict=True):
        cells = zip(its_mean, its_error, strict=True)
        rows.append([rule, *(f"{m:.3f} ± {e:.3f}" for m, e in cells)])
    return markdown_table(["rule", *_FIGURES], rows)


def _standard_error(
    values: np.ndarray,  # shape: (n_repetitions, ...)
) -> np.ndarray:  # shape: (...)
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


def _differences(
    ratios: np.ndarray,  # shape: (n_repetitions, n_rules, 4)
    rules: list[str],
    baseline: str,
) -> str:
    base = ratios[:, rules.index(baseline)]
    rows = [
        [rule, *(_with_interval(column) for column in (ratios[:, i] - base).T)]
        for i, rule in enumerate(rules)
        if rule not in BASELINES[: BASELINES.index(baseline) + 1]
    ]
    return markdown_table([f"less *{baseline}*", *_FIGURES], rows)


def _interval(
    differences: np.ndarray,  # shape: (n_repetitions,)
) -> tuple[float, float]:
    interval = ttest_1samp(differences, 0.0).confidence_interval(0.95)
    return float(interval.low), float(interval.high)


def _with_interval(differences: np.ndarray) -> str:
    low, high = _interval(differences)
    return f"{_signed(differences.mean())} ({_signed(low)} to {_signed(high)})"


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _picks(found: Results, rules: list[str], temperature: float) -> str:
    shared = found["shared"].mean(axis=0)[:, ::-1]
    yields = found["log_reward"].mean(axis=0) * temperature
    rows = [
        [rule, *(f"{count:.1f}" for count in counts), f"{percent:.0f}"]
        for rule, counts, percent in zip(rules, shared, yields, strict=True)
    ]
    every = found["shared_by_all"].mean(axis=0)[::-1]
    rows.append(["*all candidates*", *(f"{count:.1f}" for count in every), "–"])
    columns = ["rule", "three: its own", "two", "one", "none", "predicted yield"]
    return markdown_table(columns, rows)


def _in_short(
    ratios: np.ndarray,  # shape: (n_repetitions, n_rules, 4)
    rules: list[str],
) -> str:
    mean = dict(zip(rules, ratios.mean(axis=0), strict=True))
    sentences = []
    for name, words in (
        ("TV", "the mean total variation"),
        ("error, mean policy", "the error of the mean policy"),
    ):
        column = list(_FIGURES).index(name)
        ordered = sorted(rules, key=lambda rule: mean[rule][column])
        parts = [f"{mean[rule][column]:.2f} ({rule})" for rule in ordered]
        sentences.append(
            f"At the choice, after over before of {words} is {', '.join(parts)}."
        )
    return "\n".join(textwrap.fill(sentence, 88) for sentence in sentences)


def _findings(
    ratios: np.ndarray,  # shape: (n_repetitions, n_rules, 2, 4)
    rules: list[str],
) -> str:
    """Say per figure and baseline which rules are distinguished, and how."""
    rows = []
    for place, where in ((CHOICE, "at the choice"), (EVERYWHERE, "everywhere")):
        for column, name in enumerate(_FIGURES):
            values = ratios[:, :, place, column]
            cells = (_distinguished(values, rules, baseline) for baseline in BASELINES)
            rows.append([f"{name}, {where}", *cells])
    columns = [f"against *{baseline}*" for baseline in BASELINES]
    return markdown_table(["figure", *columns], rows)


def _distinguished(
    values: np.ndarray,  # shape: (n_repetitions, n_rules)
    rules: list[str],
    baseline: str,
) -> str:
    base = values[:, rules.index(baseline)]
    groups: dict[str, list[str]] = {"less": [], "unclear": [], "more": []}
    for i, rule in enumerate(rules):
        if rule not in BASELINES:
            low, high = _interval(values[:, i] - base)
            name = "less" if high < 0 else "more" if low > 0 else "unclear"
            groups[name].append(rule)
    return "; ".join(
        f"{name}: {', '.join(members)}" for name, members in groups.items() if members
    )
