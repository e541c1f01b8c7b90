"""The page of the ablation: the paper's table, ours beside it, and all rows."""

from __future__ import annotations

import textwrap

import numpy as np

from .reactions import markdown_table

Figures = dict[str, float]
Results = dict[tuple[str, str, str], Figures]  # (rewards, policies, embedding)

#: Supplementary table of the paper: variance explained or R², largest correlation,
#: all inputs normal, coverage at 95 %, closed form "exact".
PAPER = {
    "PCA": (0.450, 0.000, False, 0.995, False),
    "kernel PCA": (np.nan, 0.000, False, 0.994, False),
    "β-VAE": (0.996, 0.133, True, 0.981, True),
    "PCA + flow": (0.450, 0.312, True, 0.995, False),
}

#: What counts as agreement: of R² and of a correlation; of a coverage.
TOLERANCE, COVERAGE_TOLERANCE = 0.05, 0.02

#: Least Q² that is shown as a number.
LEAST = -100

RANDOM = "five random numbers"
RELEVANT = "policy-relevant, without those of the additive"

_PAGE = """<!-- Written by benchmarks.embedding.ablation; do not edit. -->

# The paper's ablation of embeddings

The paper compares four embeddings of the Buchwald–Hartwig rewards by what they retain,
how independent and normal their inputs are, and the coverage of the surrogate behind
them. It finds the β-VAE best, and the coverage the same for all. This is that table
again, on the members of the fit and on others, with the figure that it lacks: what the
surrogate predicts of members that it has not seen.

30 members to fit, 50 to test; 500 predicted yields, drawn at random (the paper does not
say which), while policies choose among all 4,608 reactions; 5 inputs, degree 3, the
paper's estimator. Medians over {n_seeds} seeds. *Fit* and *test* say which members a
figure is of. "To the end" trains all epochs; without it, a fifth of the thirty members
judge the epochs, and the best one is used. *Rewards* are predicted by networks of the
paper's recipe (full batch) or of this package's default one.

## Beside the paper

With the paper's recipe. Cells have the paper's figure, ours on the members of the fit,
and ours on the test members; coverage, on test members, for policies trained with the
paper's settings and for exact ones. *Normal*: all five inputs pass Shapiro–Wilk at 5 %,
in so many seeds. *Closed form*: the paper's rule for exact indices, all normal and no
correlation of 0.15 or more. *Differs*: R² or ρ on the fit by more than {near}, coverage
with trained policies by more than {close}, or another answer in most seeds.

{beside}
{findings}
{early}
## What the inputs are

*R²* is of the reconstruction of what the embedding sees: 500 reactions, or all. Inputs
of PLS are those for exact policies. The modes of a Gaussian process are of other
rewards, drawn from a posterior that saw the same share of the data as each network.

{inputs}
## Coverage, and Q² with the paper's estimator

*Push-forward*: coverage at 95 % of the distribution of the inputs through the
surrogate, as in the paper. *Residuals*: of the interval given the inputs, with the
residual distribution, ridge, degree 1. Both are means over the four steps. *The members
alone* are the quantiles of the thirty policies, without any input; of one more
exchangeable member they hold 29 of 31, 0.935.

*Q²*, on the fifty test members, in clr coordinates: 1 is perfect, 0 as good as their
mean. Policy-relevant features of the additive *are* the log-ratios of that step; read
the row without them.

{policies}
## Q² with this package's ridge

Penalty by leave-one-out, pooled over a step; degree 1 per step and on average, degree 3
on average.

{ridge}
Command: `OMP_NUM_THREADS=1 python -m benchmarks.embedding.ablation --blocks FOLDER
--write docs/downloads/embeddings_ablation.txt`, with the data at hand;
{seconds:.0f} CPU seconds with trained networks in the folder.
"""


def ablation_page(
    results: Results, steps: tuple[str, ...], n_seeds: int, seconds: float
) -> str:
    """Return the whole page."""
    return _PAGE.format(
        n_seeds=n_seeds,
        seconds=seconds,
        near=TOLERANCE,
        close=COVERAGE_TOLERANCE,
        beside=beside_the_paper(results, n_seeds),
        findings=findings(results, n_seeds),
        early=early_table(results, steps[:-1]),
        inputs=inputs_table(results, n_seeds),
        policies=policies_table(results, steps),
        ridge=ridge_table(results, steps),
    )


def beside_the_paper(results: Results, n_seeds: int) -> str:
    """Return the paper's figures with ours."""
    rows = []
    for name, exact in _of(results, "paper", "exact").items():
        if _method(name) not in PAPER:
            continue
        trained = results["paper", "trained", name]
        variance, correlation, normal, coverage, valid = PAPER[_method(name)]
        differences = {
            "R²": abs(exact["R² fit"] - variance) > TOLERANCE,
            "max ρ": abs(exact["ρ fit"] - correlation) > TOLERANCE,
            "normal": (exact["all normal fit"] > n_seeds / 2) != normal,
            "coverage": abs(trained["coverage"] - coverage) > COVERAGE_TOLERANCE,
            "closed form": (exact["valid fit"] > n_seeds / 2) != valid,
        }
        covered = [found["coverage"] for found in (trained, exact)]
        rows.append(
            [
                name,
                _cell(_number(variance), exact, "R²"),
                _cell(_number(correlation), exact, "ρ"),
                _cell(_yes(normal), exact, "all normal", n_seeds),
                " / ".join(f"{value:.3f}" for value in (coverage, *covered)),
                _cell(_yes(valid), exact, "valid", n_seeds),
                ", ".join(what for what, differs in differences.items() if differs)
                or "–",
            ]
        )
    columns = ["embedding", "R²", "max ρ", "normal", "coverage", "closed form"]
    return markdown_table([*columns, "differs"], rows)


def findings(results: Results, n_seeds: int) -> str:
    """Return what the tables say, with their figures."""
    exact, trained = (_of(results, "paper", kind) for kind in ("exact", "trained"))
    pca, random = exact["PCA"], exact[RANDOM]
    vae, flow = exact["β-VAE, to the end"], exact["PCA + flow, to the end"]
    low, high = _range(trained, "coverage")
    least, most = _range(exact, "coverage")
    best = {
        model: max(
            found[f"Q² {model}"]
            for key, found in results.items()
            if _method(key[2]) in PAPER
        )
        for model in ("paper", "ridge", "line")
    }
    most_trained = max(
        found[f"Q² {model}"]
        for key, found in results.items()
        if key[1] == "trained"
        for model in best
    )
    lines = [
        f"**R².** To the end, the β-VAE has R² {_number(vae['R² fit'])} on its members "
        f"and {_number(vae['R² test'])} on others; PCA {_number(pca['R² fit'])} and "
        f"{_number(pca['R² test'])}. The paper's figures look like those on the "
        "members of the fit. (Its text gives five components 30.1 % of the variance, "
        "its table 45 %.)",
        f"**Closed form.** By the paper's rule PCA passes on its members in "
        f"{pca['valid fit']:.0f} of {n_seeds} seeds and the β-VAE, to the end, in "
        f"{vae['valid fit']:.0f}; on others in {pca['valid test']:.0f} and "
        f"{vae['valid test']:.0f}. But among fifty members the largest correlation of "
        f"five independent inputs is mostly above 0.15 (five random numbers: "
        f"{_number(random['ρ test'])}); a threshold says less than a test. To the end, "
        f"the flow is normal on its members in {flow['all normal fit']:.0f} seeds and "
        f"on others in {flow['all normal test']:.0f}, with a correlation of "
        f"{_number(flow['ρ test'])}.",
        "**Coverage does not distinguish embeddings** from random inputs. "
        f"The paper's four have {low:.3f} to {high:.3f} with trained policies, five "
        f"random numbers {trained[RANDOM]['coverage']:.3f}; with exact policies "
        f"{least:.3f} to {most:.3f} and {random['coverage']:.3f}. 56 terms and thirty "
        "members make the push-forward wide, whatever the inputs are.",
        "**Q².** The largest mean Q² of the paper's four, over recipes and policies, "
        f"is {_number(best['paper'])} with the paper's estimator, "
        f"{_number(best['ridge'])} with ridge of degree 3 and {_number(best['line'])} "
        "of degree 1. Degree 3 has more terms than there are members.",
        "**Trained policies** are predicted by nothing here: the largest mean Q² of "
        f"any embedding, by any of the three, is {_number(most_trained)}. With these "
        "settings members differ by their training more than by their rewards.",
        "**Policy-relevant features** retain next to nothing of the reward (R² "
        f"{_number(exact[RELEVANT]['R² fit'])}). Yet with exact policies and degree 1 "
        "they predict best where they have features. Those of a step are the first "
        "order of its policy; this is what they are for, and no proof that other "
        "entries of the reward do not matter:",
    ]
    wrapped = [
        textwrap.fill(line, 88, initial_indent="- ", subsequent_indent="  ")
        for line in lines
    ]
    return "\n".join(wrapped) + "\n"


def early_table(results: Results, steps: tuple[str, ...]) -> str:
    """Return Q² of degree 1, mean over some steps."""

    def mean(found: Figures) -> float:
        return float(np.mean([found[f"Q² line {step}"] for step in steps]))

    others = ("PCA, all reactions", "PLS", RELEVANT)
    rows = []
    for recipe in ("paper", "default"):
        for policies in ("exact", "trained"):
            each = _of(results, recipe, policies)
            best = max(mean(each[name]) for name in each if _method(name) in PAPER)
            figures = [best, *(mean(each[name]) for name in others)]
            rows.append([recipe, policies, *map(_number, figures)])
    columns = ["rewards", "policies", "best of the paper's four", *others]
    table = markdown_table(columns, rows)
    return f"Mean Q² of {', '.join(steps)}, degree 1:\n\n{table}"


def inputs_table(results: Results, n_seeds: int) -> str:
    """Return what every embedding retains and what its inputs look like."""
    rows = []
    for (recipe, policies, name), found in results.items():
        if policies != "exact":
            continue
        cells = [
            _number(found[f"{figure} {part}"])
            for figure in ("R²", "ρ")
            for part in ("fit", "test")
        ]
        counts = [
            f"{found[f'{figure} {part}']:.0f} of {n_seeds}"
            for figure in ("all normal", "valid")
            for part in ("fit", "test")
        ]
        rows.append([recipe, name, *cells, *counts])
    columns = ["R² fit", "R² test", "max ρ fit", "max ρ test", "normal fit"]
    columns += ["normal test", "closed form fit", "closed form test"]
    return markdown_table(["rewards", "embedding", *columns], rows)


def policies_table(results: Results, steps: tuple[str, ...]) -> str:
    """Return coverage, and Q² with the paper's estimator."""
    rows = []
    for (recipe, policies, name), found in results.items():
        coverage = [f"{found[f'coverage{law}']:.3f}" for law in ("", " given")]
        q2 = [_number(found[f"Q² paper {step}"]) for step in steps]
        rows.append(
            [recipe, policies, name, *coverage, *q2, _number(found["Q² paper"])]
        )
        if name == RANDOM:  # the last embedding of these rewards and policies
            alone = f"{found['coverage alone']:.3f}"
            blank = ["–"] * (len(steps) + 2)
            rows.append([recipe, policies, "the members alone", alone, *blank])
    columns = ["push-forward", "residuals", *(f"Q² {step}" for step in steps), "mean"]
    return markdown_table(["rewards", "policies", "embedding", *columns], rows)


def ridge_table(results: Results, steps: tuple[str, ...]) -> str:
    """Return Q² with ridge."""
    rows = []
    for key, found in results.items():
        figures = [f"Q² line {step}" for step in steps] + ["Q² line", "Q² ridge"]
        rows.append([*key, *(_number(found[figure]) for figure in figures)])
    columns = [*steps, "mean", "mean, degree 3"]
    return markdown_table(["rewards", "policies", "embedding", *columns], rows)


def _of(results: Results, recipe: str, policies: str) -> dict[str, Figures]:
    return {k[2]: found for k, found in results.items() if k[:2] == (recipe, policies)}


def _method(name: str) -> str:
    """Return the name in the paper's table, if it is there."""
    return name.removesuffix(", to the end")


def _range(each: dict[str, Figures], figure: str) -> tuple[float, float]:
    """Return smallest and largest value over the paper's embeddings."""
    values = [found[figure] for name, found in each.items() if _method(name) in PAPER]
    return min(values), max(values)


def _cell(paper: str, found: Figures, figure: str, n_seeds: int | None = None) -> str:
    """Return the paper's figure, ours on the fit, ours on the test members."""
    values = [found[f"{figure} {part}"] for part in ("fit", "test")]
    if n_seeds is None:
        return " / ".join([paper, *map(_number, values)])
    return " / ".join([paper, *(f"{value:.0f} of {n_seeds}" for value in values)])


def _number(value: float) -> str:
    if np.isnan(value):
        return "–"
    if value < LEAST:
        return f"below −{-LEAST}"
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"
