"""Candidate embeddings side by side: what a comparison found."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..._checks import FloatArray, import_pandas
from .._result import Result
from .held_out import HeldOutInputs
from .search import BEST_OF_ALL, EmbeddingSetting


@dataclass(frozen=True, eq=False)
class ComparedEmbedding:
    """One candidate of a comparison; from :func:`compare_embeddings`.

    Parameters
    ----------
    name : str
        Of the candidate; ``"best of all"`` for the choice among all of them.
    setting : EmbeddingSetting
        Dimension and degree chosen with all members.
    score : float
        Mean score of that setting over the inner folds of all members: optimistic, as
        it made the choice.
    verdict : Result
        Its Q² is nested: in every outer fold dimension and degree were chosen, and
        everything fitted, without the members that are held out.
    fixed : Result
        On the same folds with ``setting`` held fixed: optimistic, as the members held
        out have taken part in its choice.
    choices : tuple of EmbeddingSetting
        What each outer fold chose.
    inputs : Result or None
        Of the inputs of the members of the fit; None where they are no numbers.
    held_out_inputs : HeldOutInputs or None
        The same for members that the embedding has not seen.
    n_inputs : int
        Inputs of the last estimator.
    pipeline : Pipeline
        Of ``setting``, fitted to all members.
    """

    name: str
    setting: EmbeddingSetting
    score: float
    verdict: Result
    fixed: Result = field(repr=False)
    choices: tuple[EmbeddingSetting, ...]
    inputs: Result | None = field(repr=False)
    held_out_inputs: HeldOutInputs | None = field(repr=False)
    n_inputs: int
    pipeline: Any = field(repr=False)

    @property
    def q2(self) -> FloatArray:
        """Nested Q² per step."""
        return np.array(self.verdict.q2)

    @property
    def fixed_q2(self) -> FloatArray:
        """Q² per step with the setting held fixed."""
        return np.array(self.fixed.q2)

    def _input_figures(self) -> dict[str, float]:
        """Return dependence and normality, of the fit and of held-out members."""
        nan, fit, new = float("nan"), self.inputs, self.held_out_inputs
        figures = {
            "correlation": nan if fit is None else abs(fit.largest("pearson")),
            "held_out_correlation": nan if new is None else new.largest_correlation,
        }
        for kind in ("dependence", "normality"):
            for prefix, tests in (("", fit), ("held_out_", new)):
                name = f"smallest_{kind}_p_value"
                figures[f"{prefix}{kind}_p"] = getattr(tests, name, nan)
        return figures

    def __str__(self) -> str:
        steps = ", ".join(
            f"{step.step} {step.q2:.2f} [{step.q2_low:.2f}, {step.q2_high:.2f}]"
            for step in self.verdict.steps
        )
        good = [step.step for step in self.verdict.steps if step.attributable]
        found = f"Q² {steps}; attributable: {', '.join(good) or 'no step'}"
        if self.name == BEST_OF_ALL:
            tested = not np.isnan(self.verdict.p_value).all()
            return f"{found}." if tested else f"Q² {steps}; not tested."
        tests = (
            "largest correlation {correlation:.2f} (held out "
            "{held_out_correlation:.2f}, p = {held_out_dependence_p:.2g}), normality p "
            "= {normality_p:.2g} (held out {held_out_normality_p:.2g})."
        ).format(**self._input_figures())
        return f"{self.setting}: {found}; {tests}"


@dataclass(frozen=True, eq=False)
class EmbeddingComparison:
    """Candidates side by side; from :func:`compare_embeddings`.

    Parameters
    ----------
    candidates : tuple of ComparedEmbedding
        In the order given.
    best_of_all : ComparedEmbedding
        The choice among all candidates and settings as a procedure: its Q² is of
        outer folds that each made this choice anew. This, and not the largest Q² of
        the candidates, is what the choice is worth on other members. Its ``setting``
        and ``pipeline`` are those of ``best``.
    settings : tuple of EmbeddingSetting
        All candidates × dimensions × degrees.
    scores : ndarray of shape (n_settings, n_inner_folds)
        Scores of the inner folds of all members.
    n_members : int
        Size of the ensemble.
    permuted_choice : bool
        Whether the p-values come from repeating the whole choice.
    """

    candidates: tuple[ComparedEmbedding, ...]
    best_of_all: ComparedEmbedding
    settings: tuple[EmbeddingSetting, ...]
    scores: FloatArray = field(repr=False)
    n_members: int
    permuted_choice: bool

    @property
    def best(self) -> ComparedEmbedding:
        """The candidate with the highest score on all members; the first of equals."""
        return self[self.best_of_all.setting.candidate]

    def __getitem__(self, name: str) -> ComparedEmbedding:
        for candidate in (*self.candidates, self.best_of_all):
            if candidate.name == name:
                return candidate
        known = ", ".join(repr(candidate.name) for candidate in self.candidates)
        raise KeyError(f"{name!r} is no candidate; there are {known}.")

    def __str__(self) -> str:
        chosen = Counter(choice.candidate for choice in self.best_of_all.choices)
        folds = len(self.best_of_all.choices)
        votes = ", ".join(f"{name} in {n}" for name, n in chosen.most_common())
        kind = (
            "of the whole choice"
            if self.permuted_choice
            else "with the settings held fixed; those chosen among several are "
            "somewhat too small"
        )
        lines = [
            f"{self.best.setting} has the best score, with {self.n_members} members.",
            f"The best of all, chosen anew in each of {folds} outer folds ({votes}): "
            f"{self.best_of_all}",
            *(f"- {candidate}" for candidate in self.candidates),
            f"p-values are {kind}.",
        ]
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return one row per candidate and step; the best of all comes last.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``candidate``, ``dimension``, ``degree``, ``n_inputs``, ``score``;
            ``step``, ``q2``, ``q2_low``, ``q2_high`` (nested), ``fixed_q2``,
            ``p_value``, ``noise_share``, ``attributable``, ``reasons``; largest
            ``correlation`` of two inputs, smallest p-values of dependence and
            normality, each also with ``held_out_`` before it. Needs pandas.
        """
        rows = []
        for each in (*self.candidates, self.best_of_all):
            for step, fixed in zip(each.verdict.steps, each.fixed_q2, strict=True):
                row = asdict(each.setting) | {"candidate": each.name}
                row |= {"n_inputs": each.n_inputs, "score": each.score}
                for name in ("step", "q2", "q2_low", "q2_high"):
                    row[name] = getattr(step, name)
                row["fixed_q2"] = fixed
                for name in ("p_value", "noise_share", "attributable"):
                    row[name] = getattr(step, name)
                row["reasons"] = "; ".join(step.reasons)
                rows.append(row | each._input_figures())
        return import_pandas().DataFrame(rows)

    def settings_frame(self) -> Any:
        """Return one row per setting: the search on all members.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``candidate``, ``dimension``, ``degree``, ``mean_score`` and
            ``std_score`` over the inner folds. Needs pandas.
        """
        frame = import_pandas().DataFrame([asdict(one) for one in self.settings])
        return frame.assign(
            mean_score=self.scores.mean(axis=1), std_score=self.scores.std(axis=1)
        )
