"""The verdict on a choice, from the members that took no part in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._checks import FloatArray
from ._compare_embeddings_search import NestedErrors, NestedSearch
from ._conditions import failed_conditions, holm
from ._cross_fit import bootstrap_q2, step_q2
from ._permuted_fits import Permutations
from ._verdict_result import StepVerdict, Verdict

_FIXED_CAUTION = (
    "the p-values keep the setting fixed that was chosen among several with all "
    "policies: they are somewhat too small; permute_choice=True repeats the choice"
)
_UNTESTED = "the choice was not permuted; permute_choice=True does so"


@dataclass(frozen=True)
class NestedJudge:
    """Nested Q² of each candidate and, last, of the best of all.

    Parameters
    ----------
    q2 : ndarray of shape (n_candidates + 1, n_steps)
        Over the members held out.
    intervals : ndarray of shape (n_candidates + 1, 2, n_steps)
        Of the bootstrap, with the same resamples for all.
    p_values : ndarray of shape (n_candidates + 1, n_steps) or None
        Of permutations that repeat the whole choice, Holm over the steps; None where
        there were none.
    n_settings : tuple of int
        Among which each row chooses. With a single one nothing is chosen, and
        permutations that keep it are valid.
    limits : tuple of float
        Smallest Q², level, largest share of training noise.
    """

    q2: FloatArray
    intervals: FloatArray
    p_values: FloatArray | None
    n_settings: tuple[int, ...]
    limits: tuple[float, float, float]

    @classmethod
    def of(
        cls,
        search: NestedSearch,
        nested: NestedErrors,
        deviations: FloatArray,
        reward: Any,
        confidence_level: float,
        limits: tuple[float, float, float],
        seed: int,
    ) -> NestedJudge:
        """Measure nested errors against the deviations from the mean policy."""
        q2, intervals = [], []
        for errors in nested.errors:
            q2.append(step_q2(errors, deviations, search.geometry))
            intervals.append(
                bootstrap_q2(
                    errors,
                    deviations,
                    search.geometry,
                    confidence_level,
                    np.random.default_rng(seed),
                    reward,
                )
            )
        n_settings = [len(candidate.settings) for candidate in search.candidates]
        return cls(
            np.array(q2),
            np.array(intervals),
            None,
            (*n_settings, sum(n_settings)),
            limits,
        )

    def with_permuted_choice(
        self,
        search: NestedSearch,
        deviations: FloatArray,
        reward: Any,
        n_permutations: int,
        seed: int,
        n_jobs: int | None,
        done: Callable[[], None],
    ) -> NestedJudge:
        """Add p-values of permutations that choose anew."""
        permutations = Permutations.draw(
            len(search.X), reward, n_permutations, np.random.default_rng(seed)
        )
        permuted = search.permuted_q2(permutations, deviations, n_jobs, done)
        exceed = np.sum(permuted >= self.q2, axis=0)
        p_values = (1 + exceed) / (1 + n_permutations)
        p_values = np.where(np.isnan(self.q2), np.nan, p_values)
        return replace(self, p_values=np.array([holm(row) for row in p_values]))

    def verdict_of(self, row: int, fixed: Verdict) -> Verdict:
        """Put nested figures into the verdict on the setting held fixed."""
        chosen = self.p_values is None and self.n_settings[row] > 1
        best_of_all = row == len(self.q2) - 1
        steps = []
        for step, given in enumerate(fixed.steps):
            p_value = given.p_value
            if self.p_values is not None:
                p_value = float(self.p_values[row, step])
            elif chosen and best_of_all:
                p_value = float("nan")
            steps.append(self._step(given, row, step, p_value))
        notes = (_FIXED_CAUTION,) if chosen and not best_of_all else ()
        return replace(fixed, steps=tuple(steps), cautions=(*fixed.cautions, *notes))

    def _step(
        self, given: StepVerdict, row: int, step: int, p_value: float
    ) -> StepVerdict:
        q2 = float(self.q2[row, step])
        reasons = failed_conditions(q2, p_value, given.noise_share, self.limits)
        if np.isnan(p_value) and not np.isnan(q2):
            reasons = (*reasons, _UNTESTED)
        low, high = self.intervals[row, :, step]
        return replace(
            given,
            attributable=not reasons,
            q2=q2,
            q2_low=float(low),
            q2_high=float(high),
            p_value=p_value,
            reasons=reasons,
        )
