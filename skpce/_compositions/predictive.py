r"""Draws, intervals and bands of the predictive distribution of policies.

The distribution is the push-forward of the inputs plus that of the residuals. Here is
what compositions add to it: their geometry, and distances between logits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone

from .._checks import FloatArray, IndexArray, refuse_other_rows, validated
from .._expansion.predictive import OutputSpace, Predictive
from .._expansion.problem import FittedProblem
from .fitted import FittedCompositions
from .log_ratio import LogRatioGeometry, transformer_of
from .scoring import checked_policies
from .steps import replace_zeros

# Smallest probability that has a logit; the largest is one rounding below 1.
_SMALLEST = 1e-300


@dataclass(frozen=True, eq=False)
class SimplexSpace(OutputSpace):
    """Compositions, fitted as log-ratios; the scores are logits of the active parts."""

    geometry: LogRatioGeometry  # of the results
    fitted_geometry: LogRatioGeometry  # of the fit

    joint = ("step", "trajectory")
    columns = "steps"

    @property
    def noise_groups(self) -> IndexArray:
        return self.fitted_geometry.step_of_coordinate

    def image(self, fitted: FloatArray) -> FloatArray:
        return self.fitted_geometry.from_coordinates(fitted)

    def values(self, image: FloatArray) -> FloatArray:
        return self.geometry.compositions(image)

    def scores(self, values: FloatArray) -> FloatArray:
        return _logit(values[..., self.geometry.active_parts])

    def bounds(
        self, lower: FloatArray, upper: FloatArray, like: FloatArray
    ) -> FloatArray:
        bounds = np.stack([like, like])  # parts that do not vary
        bounds[0][:, self.geometry.active_parts] = _widened(expit(lower), -1)
        bounds[1][:, self.geometry.active_parts] = _widened(expit(upper), 1)
        return bounds

    def score_scale(self, scale: FloatArray) -> FloatArray:
        """Return the root mean square over the coordinates of the step of each part."""
        steps = self.fitted_geometry.step_of_coordinate
        same = steps[:, np.newaxis] == self.geometry.step_of_active
        return np.sqrt(np.square(scale) @ (same / same.sum(axis=0)))

    def deviation(self, problem: FittedProblem) -> FloatArray:
        samples = problem.samples
        assert samples is not None  # a surrogate is fitted to samples
        targets, residuals = samples.targets, problem.fit.loo_residuals
        observed, predicted = (
            self.scores(self.values(self.image(one)))
            for one in (targets, targets - residuals)
        )
        squares = np.square(observed - predicted)
        return np.sqrt(np.average(squares, axis=0, weights=samples.weights))

    def groups(self, joint: str) -> IndexArray:
        steps = self.geometry.step_of_active
        return np.zeros_like(steps) if joint == "trajectory" else steps


def _logit(p: FloatArray) -> FloatArray:
    inside = np.clip(p, _SMALLEST, 1.0 - np.finfo(float).epsneg)
    return np.log(inside) - np.log1p(-inside)


def _widened(bounds: FloatArray, sign: int) -> FloatArray:
    """Move by the rounding of logit and back, so that an edge is inside."""
    return np.clip(bounds * (1.0 + sign * 1e-12), 0.0, 1.0)


def predictive_of(
    fitted: FittedCompositions, owner: str = "CompositionalPCESurrogate"
) -> Predictive:
    """Return the predictive distribution of fitted compositions."""
    geometry = fitted.geometry
    space = SimplexSpace(geometry.mask.size, geometry, fitted.fitted_geometry)
    return Predictive(fitted, fitted.input_names, space, fitted.clr_at, owner)


def predictive_of_surrogate(surrogate: Any) -> Predictive:
    """Return the predictive distribution of a surrogate, which can be fitted again."""
    fitted = surrogate._fitted
    step_of, parts = fitted.geometry.layout.step_of_part, []
    for part, targets in fitted.parts:
        columns = np.flatnonzero(np.isin(step_of, fitted.steps_of(targets)))
        parts.append((_of_part(surrogate, part, columns), columns))
    if len(parts) == 1:
        return parts[0][0]
    return replace(predictive_of(fitted), parts=tuple(parts))


def _of_part(
    surrogate: Any, fitted: FittedCompositions, columns: IndexArray
) -> Predictive:
    """Return that of steps that the same members have, in some columns of y."""
    owner, geometry = type(surrogate).__name__, fitted.geometry
    samples = fitted.require_samples(owner)

    def refit(rows: IndexArray) -> Predictive:
        # The layout and the mask are those of all members.
        alone = clone(surrogate).set_params(
            steps=geometry.layout.widths,
            mask=geometry.mask,
            amalgamate=None,
        )
        values = geometry.compositions(fitted.clr[rows])
        alone.fit(samples.inputs[rows], values, sample_weight=samples.weights[rows])
        return predictive_of(alone._fitted)

    def read(X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        refuse_other_rows(X=X, y=y)
        inputs = validated(surrogate, X, reset=False)
        closed = checked_policies(y, surrogate, len(inputs), "y of calibration")
        positive = replace_zeros(
            closed[:, columns],
            geometry.mask,
            geometry.layout,
            transformer_of(surrogate).zero_replacement,
        )
        return inputs, positive

    return replace(predictive_of(fitted, owner), refit=refit, read=read)
