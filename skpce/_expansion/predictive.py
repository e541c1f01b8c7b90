r"""The predictive distribution of a fit: predictions, residuals, and what y can be.

A member of an ensemble is the prediction at its inputs plus a residual. What y can be
(any real value, or probabilities that sum to one) is an ``OutputSpace``: the rest is
the same for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from .._basis.basis import sample_laws
from .._checks import (
    FloatArray,
    IndexArray,
    as_floats,
    fail,
    make_generator,
    refuse_not_finite,
    refuse_other_names,
)
from .._input_laws import check_distribution, learn_input_laws
from .._input_laws.columns import warn_outside
from .._input_laws.families import is_frozen
from .._learned.kernel_basis import Basis
from .problem import FittedProblem
from .residuals import NoiseScale, ResidualLaw, learn_noise_scale

# Quantiles of few residuals. Positions i/(n + 1) ("weibull") cover a new member without
# a fit, and the factor sqrt(1 + h) widens them once more. "hazen" is too narrow in
# spite of it.
QUANTILE: Final = "median_unbiased"

# Values in memory at a time while quantiles are taken: 64 MiB.
CHUNK_ENTRIES: Final = 8_388_608

# Quantiles whose distance from the median is the spread: one standard deviation.
_LEVELS = (float(ndtr(-1.0)), 0.5, float(ndtr(1.0)))

#: Draws inputs: (number, generator) -> (number, n_features).
InputSampler = Callable[[int, np.random.Generator], FloatArray]


class OutputSpace(ABC):
    """What y can be, and how it follows from the targets that were fitted.

    The targets of the fit have a linear *image*, in which residuals are added to
    predictions. *Values* are what y shows; *scores* are those that vary, on a scale
    without bounds, on which distances are measured.
    """

    joint: Sequence[str] = ()  # over what a band may be joint
    columns: str = "targets"  # what samples may lack, in words
    # Whether a value rises with its own residual and depends on no other.
    keeps_order: bool = False

    @property
    @abstractmethod
    def n_values(self) -> int:
        """Number of columns of y."""

    @property
    @abstractmethod
    def noise_groups(self) -> IndexArray:
        """Fitted targets whose residuals share a scale; shape (n_fitted,)."""

    @abstractmethod
    def image(self, fitted: FloatArray) -> FloatArray:
        """Map targets of the fit, (..., n_fitted) -> (..., n_image)."""

    @abstractmethod
    def values(self, image: FloatArray) -> FloatArray:
        """Map (..., n_image) -> (..., n_values)."""

    @abstractmethod
    def scores(self, values: FloatArray) -> FloatArray:
        """Map (..., n_values) -> (..., n_scores)."""

    @abstractmethod
    def bounds(
        self,
        lower: FloatArray,  # shape: (n_members, n_scores)
        upper: FloatArray,
        like: FloatArray,  # shape: (n_members, n_values), for what does not vary
    ) -> FloatArray:  # shape: (2, n_members, n_values)
        """Map bounds of scores to those of values."""

    def quantiles(
        self,
        rows: FloatArray,  # shape: (n_draws, n_fitted), residuals
        scale: FloatArray,  # shape: (n_inputs, n_fitted)
        centre: FloatArray,  # shape: (n_inputs, n_image)
        levels: Sequence[float],
    ) -> FloatArray:  # shape: (n_levels, n_inputs, n_values)
        """Return quantiles over rows, scaled and added to the centre of each input."""
        found = np.empty((len(levels), len(centre), self.n_values))
        some = max(1, CHUNK_ENTRIES // (len(rows) * self.n_values))
        for start in range(0, len(centre), some):
            at = slice(start, start + some)
            image = self.image(rows[:, np.newaxis] * scale[at]) + centre[at]
            values = np.sort(np.moveaxis(self.values(image), 0, -1), axis=-1)
            found[:, at] = sorted_quantiles(values, levels)
        return found

    def quantiles_of_draws(
        self,
        predictive: Predictive,
        rows: FloatArray,  # shape: (n_rows, n_fitted), residuals
        which: IndexArray,  # shape: (n_draws,), the row of each draw
        X: FloatArray,  # shape: (n_draws, n_features)
        noise: NoiseScale | None,
        levels: Sequence[float],
    ) -> FloatArray:  # shape: (n_levels, n_values)
        """Return quantiles over draws that have inputs of their own."""
        values = self.values(predictive.draw_around(rows[which], X, noise))
        ordered = np.sort(np.ascontiguousarray(values.T), axis=-1)
        return sorted_quantiles(ordered, levels)

    @abstractmethod
    def score_scale(self, scale: FloatArray) -> FloatArray:
        """Map scales of targets of the fit, (n, n_fitted) -> (n, n_scores)."""

    @abstractmethod
    def deviation(self, problem: FittedProblem) -> FloatArray:
        """Return the spread of the residuals of each score; shape (n_scores,)."""

    @abstractmethod
    def groups(self, joint: str) -> IndexArray:  # shape: (n_scores,)
        """Return which scores lie in a band together."""


@dataclass(frozen=True)
class RealSpace(OutputSpace):
    """Targets without bounds, which are fitted as they are."""

    n_targets: int

    joint = ("targets",)
    keeps_order = True

    @property
    def n_values(self) -> int:
        return self.n_targets

    @property
    def noise_groups(self) -> IndexArray:
        return np.arange(self.n_targets)

    def image(self, fitted: FloatArray) -> FloatArray:
        return fitted

    def values(self, image: FloatArray) -> FloatArray:
        return image

    def scores(self, values: FloatArray) -> FloatArray:
        return values

    def bounds(
        self, lower: FloatArray, upper: FloatArray, like: FloatArray
    ) -> FloatArray:
        return np.stack([lower, upper])

    def quantiles(
        self,
        rows: FloatArray,
        scale: FloatArray,
        centre: FloatArray,
        levels: Sequence[float],
    ) -> FloatArray:
        # A scale that is not negative keeps the order of the residuals.
        ordered = np.sort(rows.T, axis=-1)
        return sorted_quantiles(ordered, levels, lambda one: centre + scale * one)

    def score_scale(self, scale: FloatArray) -> FloatArray:
        return scale

    def deviation(self, problem: FittedProblem) -> FloatArray:
        return np.sqrt(problem.fit.residual_variance) * problem.optimism

    def groups(self, joint: str) -> IndexArray:
        return np.zeros(self.n_targets, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Predictive:
    """Predictions of a fit and the distribution around them."""

    problem: FittedProblem
    names: Sequence[str]  # of the inputs
    space: OutputSpace
    # (inputs[, columns]) -> (n_members, n_image), or some columns of it
    centre: Callable[..., FloatArray]
    owner: str  # for messages
    random_state: Any = None
    scalar: bool = False  # whether y was one-dimensional
    # The same for a fit to some of the members; checked inputs and values of others.
    refit: Callable[[IndexArray], Predictive] | None = None
    read: Callable[[Any, Any], tuple[FloatArray, FloatArray]] | None = None
    # Of targets that the same samples have, where some lack a target.
    parts: tuple[tuple[Predictive, IndexArray], ...] = ()

    @property
    def basis(self) -> Basis:
        """Distributions of the inputs and index set."""
        return self.problem.basis

    def generator(self, random_state: Any = None) -> np.random.Generator:
        """Return a generator; None takes the parameter of the estimator."""
        given = self.random_state if random_state is None else random_state
        return make_generator(given)

    def checked(self, X: ArrayLike) -> FloatArray:
        """Return finite inputs; warn of those outside their distributions."""
        values = as_floats(X, "X")
        refuse_not_finite(values, "X")
        warn_outside(self.basis.laws, values, self.names)
        return values

    def noise_scale(self, noise: str, owner: str) -> NoiseScale | None:
        """Return how the spread changes with the inputs; None where it does not."""
        if noise == "constant":
            return None
        return learn_noise_scale(self.problem, self.space.noise_groups, owner)

    def residual_law(self, noise: NoiseScale | None, owner: str) -> ResidualLaw:
        """Return the distribution of what the expansion does not explain."""
        weights = self.problem.require_samples(owner).weights
        residuals = self.problem.fit.scaled_residuals * self.problem.optimism
        if noise is not None:
            residuals = residuals / noise.at_members
        return ResidualLaw(residuals, weights)

    def scale_at(
        self, X: FloatArray, noise: NoiseScale | None
    ) -> FloatArray:  # shape: (n_inputs, n_fitted)
        """Return errors of prediction over residuals of equal variance."""
        scale = self.problem.fit.prediction_scale(self.basis.evaluate(X))
        return scale if noise is None else scale * noise.at(X)

    def scale_of(
        self, targets: IndexArray, X: FloatArray, noise: NoiseScale | None
    ) -> FloatArray:  # shape: (n_inputs, n_chosen)
        """Return the same of some targets of the fit."""
        leverage = self.problem.fit.leverage.of_targets(targets)
        scale = np.sqrt(1.0 + leverage.at(self.basis.evaluate(X)))
        if noise is None:
            return scale
        return scale * noise.by_group(X)[:, noise.group_of_target[targets]]

    def draw_around(
        self,
        rows: FloatArray,  # shape: (n_inputs or (n_rows, 1), n_fitted), residuals
        X: FloatArray,  # shape: (n_inputs, n_features)
        noise: NoiseScale | None = None,
    ) -> FloatArray:  # shape: (n_inputs or (n_rows, n_inputs), n_image)
        """Add a row of residuals, or each of them, to the prediction at each input."""
        image = self.space.image(rows * self.scale_at(X, noise))
        return image + self.centre(X)

    def scores_at(self, X: FloatArray) -> FloatArray:  # shape: (n_inputs, n_scores)
        """Return the scores of the predictions."""
        return self.space.scores(self.space.values(self.centre(X)))

    def observed(self, owner: str) -> FloatArray:  # shape: (n_members, n_values)
        """Return the values of the members of the fit."""
        targets = self.problem.require_samples(owner).targets
        return self.space.values(self.space.image(targets))

    def input_sampler(self, owner: str, inputs: Any) -> InputSampler:
        """Return what draws the inputs: distributions of the fit, others, or rows."""
        names, basis = self.names, self.basis
        refuse_other_names(
            "The feature names should match those that were passed during fit: inputs=",
            getattr(inputs, "columns", None),
            names,
        )
        if inputs is None:
            return basis.sample
        if hasattr(inputs, "particles"):  # a belief, with weights
            draw = _checked_belief(owner, inputs, names)
        elif _are_laws(inputs):
            specifications = check_distribution(owner, inputs, names)
            samples = self.problem.require_samples(owner)
            laws = learn_input_laws(specifications, samples.inputs, samples.weights)
            draw = partial(sample_laws, laws)
        else:
            rows = _checked_rows(owner, inputs, len(names))

            def draw(size: int, generator: np.random.Generator) -> FloatArray:
                return rows[generator.integers(len(rows), size=size)]

        def draw_and_warn(size: int, generator: np.random.Generator) -> FloatArray:
            drawn = draw(size, generator)
            warn_outside(basis.laws, drawn, names)
            return drawn

        return draw_and_warn


def _are_laws(inputs: Any) -> bool:
    """Return whether this is a distribution, or a list with one in it."""
    if isinstance(inputs, (str, Mapping)) or is_frozen(inputs):
        return True
    is_list = isinstance(inputs, Sequence)
    return is_list and any(isinstance(law, str) or is_frozen(law) for law in inputs)


def _checked_belief(owner: str, belief: Any, names: Sequence[str]) -> InputSampler:
    """Return what draws whole particles of a belief by their weights."""
    n_given = belief.particles.shape[1]
    if n_given != len(names):
        raise ValueError(
            f"The 'inputs' parameter of {owner} is a belief about {n_given} inputs; "
            f"expected {len(names)}."
        )
    refuse_other_names(f"The belief given to {owner}", belief.names, names)
    draw: InputSampler = belief.sample
    return draw


def _checked_rows(owner: str, inputs: Any, n_features: int) -> FloatArray:
    try:
        rows = np.asarray(inputs, dtype=np.float64)
    except (TypeError, ValueError):
        expected = "None, one or more distributions, or rows of inputs"
        raise fail(owner, "inputs", expected, inputs) from None
    if rows.ndim != 2 or not len(rows) or rows.shape[1] != n_features:
        raise ValueError(
            f"The 'inputs' parameter of {owner} has shape {rows.shape}; expected "
            f"(n_rows, {n_features}) with at least one row."
        )
    if not np.all(np.isfinite(rows)):
        raise ValueError(
            f"The 'inputs' parameter of {owner} contains NaN or infinity; expected "
            "finite numbers."
        )
    return rows


def sorted_quantiles(
    ordered: FloatArray,  # shape: (..., n_draws), ascending
    levels: Sequence[float],
    image: Callable[[FloatArray], FloatArray] | None = None,  # ascending too
) -> FloatArray:  # shape: (n_levels, ...)
    """Return quantiles over the last axis as NumPy does, of the image of the values."""
    # R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", The
    # American Statistician 50 (1996), definition 8: median unbiased.
    last = ordered.shape[-1] - 1
    found = []
    for level in levels:
        place = min(max((last + 1 + 1 / 3) * level + 1 / 3 - 1.0, 0.0), float(last))
        left, right = ordered[..., int(place)], ordered[..., min(int(place) + 1, last)]
        if image is not None:
            left, right = image(left), image(right)
        share, step = place - int(place), right - left
        # From the nearer end: no rounding at either of them.
        near = left + share * step if share < 0.5 else right - (1.0 - share) * step
        found.append(near)
    return np.stack(found)


def simultaneous_bands(
    scores: FloatArray,  # shape: (n_draws, n_members, n_scores), without bounds
    groups: IndexArray,  # shape: (n_scores,), a band is joint over a group
    confidence_level: float,
) -> tuple[FloatArray, FloatArray]:  # each shape: (n_members, n_scores)
    """Return lower and upper bounds; scores that do not vary have no width."""
    low, centre, high = np.quantile(scores, _LEVELS, axis=0)
    deviation = scores.std(axis=0)
    below = _spread(centre - low, deviation)
    above = _spread(high - centre, deviation)
    distance = _distance_from_others(scores, deviation)
    lower, upper = centre.copy(), centre.copy()
    for group in np.unique(groups):
        parts = groups == group
        largest = distance[:, :, parts].max(axis=2)
        factor = np.quantile(largest, confidence_level, axis=0, method=QUANTILE)
        lower[:, parts] -= factor[:, np.newaxis] * below[:, parts]
        upper[:, parts] += factor[:, np.newaxis] * above[:, parts]
    return lower, upper


def _distance_from_others(
    scores: FloatArray,  # shape: (n_draws, n_members, n_scores)
    deviation: FloatArray,  # shape: (n_members, n_scores)
) -> FloatArray:  # shape: (n_draws, n_members, n_scores)
    """Measure each draw from the median of the others, in units of their spread."""
    low, centre, high = quantiles_of_others(scores)
    spread = np.where(scores < centre, centre - low, high - centre)
    return np.abs(scores - centre) / _spread(spread, deviation)


def quantiles_of_others(values: FloatArray) -> Iterator[FloatArray]:
    """Yield, for each draw, quantiles of the draws without it.

    Without a draw at or below the order statistic :math:`j` the next one replaces it. A
    single draw has no others and replaces them.
    """
    last = len(values) - 1
    positions = [max(last - 1, 0) * level for level in _LEVELS]
    needed = {min(int(at) + k, last) for at in positions for k in range(3)}
    ordered = np.partition(values, sorted(needed), axis=0)
    for at in positions:
        first, second, third = (ordered[min(int(at) + k, last)] for k in range(3))
        left = np.where(values <= first, second, first)
        right = np.where(values <= second, third, second)
        yield left + (at - int(at)) * (right - left)


def _spread(distance: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return distances, with the standard deviation where quantiles coincide."""
    safe = np.where(deviation > 0, deviation, 1.0)
    return np.where(distance > 1e-9 * safe, distance, safe)
