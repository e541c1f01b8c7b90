"""How many members would make a proved bound small enough."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from .._basis.basis import PolynomialBasis
from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    OutputGroups,
    RandomState,
    check_real,
    fail,
    finite_floats,
    make_generator,
    one_thread_if_small,
    refuse_memory,
)
from .._compositions.fitted import FittedCompositions
from .._result import Result
from ..inspection._reading import (
    NoExpansionError,
    expansion_of,
    group_matrix,
)
from ._bounds import coefficient_error_bound, sobol_error_bound

# About what a generator of NumPy with its seeds takes.
_BYTES_OF_A_GENERATOR = 4096

# Designs simulated from the input distributions, whose smallest λ_min is used; that of
# a new design is smaller with a probability of about 1/20.
_N_DESIGNS = 19

# More members than this are reported as infinitely many.
_MOST_MEMBERS = 2**40


class VacuousBoundWarning(UserWarning):
    """At the members of a fit the proved bound says nothing about its indices."""


def _sentence(name: str, needed: float, bound: float) -> str:
    if math.isnan(needed):
        return f"- {name}: nothing to attribute."
    number = f"{needed:.0f} members" if math.isfinite(needed) else "no finite number"
    now = "vacuous" if bound >= 1.0 else f"{bound:.2g}"
    return f"- {name}: {number} (the bound is now {now})."


def required_ensemble_size(
    estimator: Any,
    *,
    tolerance: float = 0.1,
    confidence_level: float = 0.95,
    noise_variance: Any = None,
    random_state: RandomState = 0,
    outputs: OutputGroups = None,
) -> Result:
    r"""Return how many members would make a proved bound small enough.

    It informs and vetoes nothing: a bound is a promise for the worst case, and the
    indices of a smaller ensemble are often better than promised. What a fit supports
    is for :func:`skpce.inspection.verdict` to say.

    Parameters
    ----------
    estimator : CompositionalPCESurrogate or PolynomialChaosRegressor
        Fitted; alone, or at the end of a pipeline. The answer has one entry per step,
        or per target.
    tolerance : float, default=0.1
        Largest error of an index, in (0, 1). By Theorem 2 of the user guide it bounds
        :math:`\lVert\hat c - c\rVert/\sqrt D` as well.
    confidence_level : float, default=0.95
        Probability for one step (or target), given the design; all its indices at
        once.
    noise_variance : float, array-like of shape (n_outputs,) or None, default=None
        :math:`\sigma^2`, summed over the coordinates of a step. None takes the
        residual variance of the fit: noise and missing terms together.
    random_state : int, RandomState instance or None, default=0
        Of the simulated designs.
    outputs : dict or None, default=None
        Columns of real outputs that belong together, such as
        ``{"accuracy": 1, "logits": 10}``; None takes those of the names of y in
        ``fit``.

    Returns
    -------
    required : Result
        A table of outputs (steps, or real outputs); prints as words. Its columns are

        n_required : ndarray of shape (n_outputs,)
            Whole numbers; ``inf`` where leave-one-out finds no signal, NaN where there
            is nothing to attribute (a step without choice, a constant target).
        bound : ndarray of shape (n_outputs,)
            The bound on the error of every index with the design of the fit, at most
            1. It is for least squares on the same terms, with the variances below in
            place of the true ones.
        noise_variance, signal_variance : ndarray of shape (n_outputs,)
            What was used, summed over the coordinates of a step.

        Further attributes are ``names`` of the outputs, ``n_available`` (members of the
        fit), ``n_terms`` (with the constant), ``is_vacuous`` (of each output, whether
        the bound says nothing now: it is 1), ``smallest_eigenvalue`` (of the Gram
        matrix of the design of the fit; 0 below full rank), ``tolerance``
        and ``confidence_level``.

    Warns
    -----
    VacuousBoundWarning
        If at the members of the fit the bound says nothing about some output.

    Notes
    -----
    The number is the smallest :math:`L` with
    :math:`B(L)/(L\,\lambda_{\min}(\hat G_L)) \le \varepsilon^2 D`, where :math:`B` is
    that of Theorem 1 of the user guide. The left side falls with :math:`L`, so it
    is found by bisection. The bound is proved for least squares, Gaussian noise
    and no missing terms. The *number* is a plan: it takes
    estimates of :math:`\sigma^2` and :math:`D` for true. Distributions learned from the
    data count as known. See the user guide, "How many members".

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.sample_size import required_ensemble_size
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = X[:, 0] + X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=100)
    >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
    >>> required = required_ensemble_size(pce.fit(X, y), tolerance=0.1)
    >>> required.n_available, required.n_terms
    (100, 6)
    >>> bool(100 < required.n_required[0] < 200)
    True

    Several outputs, of which one has two columns:

    >>> Y = np.column_stack([y, X + 0.1 * rng.normal(size=(100, 2))])
    >>> print(required_ensemble_size(pce.fit(X, Y), outputs={"score": 1, "logits": 2}))
    100 members, 6 terms. For every index within 0.1 with probability 0.95 the bound ...
    - score: 186 members (the bound is now 0.12).
    - logits: 92 members (the bound is now 0.06).
    """
    owner = "required_ensemble_size"
    check_real(owner, "tolerance", tolerance, low=0, high=1)
    check_real(owner, "confidence_level", confidence_level, low=0, high=1)
    facts = fitted_facts(owner, estimator, outputs)
    # A Gram matrix and a generator of each design.
    needed = _N_DESIGNS * (8.0 * facts.n_terms**2 + _BYTES_OF_A_GENERATOR)
    refuse_memory(owner, needed, f"{_N_DESIGNS} designs of {facts.n_terms} terms")
    if noise_variance is not None:
        expected = f"None or {len(facts.names)} non-negative finite floats, one per "
        expected += "output"
        noise = finite_floats(owner, "noise_variance", noise_variance, expected)
        shape = facts.noise_variance.shape
        if np.any(noise < 0.0) or noise.shape not in ((), (1,), shape):
            raise fail(owner, "noise_variance", expected, noise_variance)
        facts = replace(facts, noise_variance=np.broadcast_to(noise, shape).copy())
    bound_at = partial(facts.share_bound, confidence_level=confidence_level)
    with one_thread_if_small(facts.n_terms**2):
        generator = make_generator(random_state)
        designs = SimulatedDesigns(facts.basis, _N_DESIGNS, generator)
        sizes = np.array(_smallest_sizes(facts, bound_at, designs, tolerance))
        eigenvalue = smallest_of_gram(facts.gram) / facts.n_members
    bound = np.array(
        [bound_at(k, facts.n_members, eigenvalue) for k in range(len(facts.names))]
    )
    # The design at hand may be better than those that are simulated.
    enough = np.less_equal(bound, tolerance)
    n_required = np.where(enough, np.minimum(sizes, facts.n_members), sizes)
    n_required = np.where(facts.is_nothing, np.nan, n_required)
    bound = np.where(facts.is_nothing, np.nan, bound)
    names, is_vacuous = facts.names, bound >= 1.0
    found = {
        "names": names,
        "n_available": facts.n_members,
        "n_terms": facts.n_terms,
        "is_vacuous": is_vacuous,
        "smallest_eigenvalue": eigenvalue,
        "tolerance": float(tolerance),
        "confidence_level": float(confidence_level),
    }
    if is_vacuous.any():
        which = ", ".join(np.array(names)[is_vacuous])
        _warn_that_vacuous(which, facts.n_members, facts.n_terms, eigenvalue)
    return Result(
        {"output": names},
        {
            "n_required": n_required,
            "bound": bound,
            "noise_variance": facts.noise_variance,
            "signal_variance": facts.signal_variance,
        },
        title=f"{facts.n_members} members, {facts.n_terms} terms. For every index "
        f"within {tolerance:g} with probability {confidence_level:g} the bound needs:",
        notes=tuple(map(_sentence, names, n_required, bound)),
        figures=found,
    )


def _smallest_sizes(
    facts: FittedFacts,
    bound_at: Callable[[int, int, float], float],
    designs: SimulatedDesigns,
    tolerance: float,
) -> list[float]:
    """Return, for each output, the smallest size at which the bound is small enough."""

    def enough(output: int, size: int) -> bool:
        return bound_at(output, size, designs.eigenvalue(size)) <= tolerance

    known = np.isfinite(facts.noise_variance) & (facts.signal_variance > 0.0)
    wanted = np.flatnonzero(known & ~facts.is_nothing).tolist()
    while designs.can_grow and not all(enough(k, designs.sizes[-1]) for k in wanted):
        designs.grow()
    sizes = range(designs.sizes[0], _MOST_MEMBERS)
    found = [math.inf] * len(facts.names)
    for k in wanted:
        place = bisect_left(sizes, True, key=partial(enough, k))
        if place < len(sizes):
            found[k] = float(sizes[place])
    return found


def _warn_that_vacuous(
    names: str, n_members: int, n_terms: int, eigenvalue: float
) -> None:
    reason = "the noise is large beside the signal that leave-one-out finds"
    if n_members <= n_terms:
        reason = "there are no more members than terms"
    elif eigenvalue == 0.0:
        reason = "the design is not of full rank"
    warnings.warn(
        f"With {n_members} members and {n_terms} terms the bound says nothing about "
        f"{names}: {reason}. The indices may still be right; the bound cannot decide "
        "that.",
        VacuousBoundWarning,
        stacklevel=3,
    )


# Sizes grow by this factor; between them the eigenvalue is interpolated.
_GROWTH = math.sqrt(2.0)

# Work for all designs: multiplications of Gram matrices, and values of basis functions.
_MOST_MULTIPLICATIONS = 5e9
_MOST_VALUES = 1e8

# An eigenvalue this near its limit 1 needs no larger designs.
_NEAR_ONE = 0.98


class SimulatedDesigns:
    """Several nested random designs, and the smallest eigenvalue of all of them."""

    # λ_min(Ψᵀ Ψ) of a design cannot shrink when rows are added, so with nested designs
    # a bound that divides by it falls with the size.

    def __init__(
        self, basis: PolynomialBasis, n_designs: int, generator: np.random.Generator
    ) -> None:
        n_terms = len(basis.multi_indices)
        self._basis = basis
        self._generators = generator.spawn(n_designs)
        self._grams = np.zeros((n_designs, n_terms, n_terms))
        values = n_designs * n_terms
        work = min(_MOST_MULTIPLICATIONS / (values * n_terms), _MOST_VALUES / values)
        self._largest = max(int(work), 4 * n_terms)
        self.sizes: list[int] = []
        self.totals: list[float] = []  # smallest eigenvalue of the sum of squares
        self.grow()

    @property
    def can_grow(self) -> bool:
        """Whether larger designs are affordable and would still be informative."""
        size, total = self.sizes[-1], self.totals[-1]
        return size * _GROWTH <= self._largest and total < _NEAR_ONE * size

    def grow(self) -> None:
        """Add rows to every design."""
        before = self.sizes[-1] if self.sizes else 0
        size = math.ceil(before * _GROWTH) or len(self._basis.multi_indices) + 1
        for gram, generator in zip(self._grams, self._generators, strict=True):
            inputs = self._basis.sample(size - before, generator)
            for _, design in self._basis.blocks(inputs):
                gram += design.T @ design
        self.sizes.append(size)
        self.totals.append(min(smallest_of_gram(gram) for gram in self._grams))

    def eigenvalue(self, n_members: int) -> float:
        """Return the smallest eigenvalue of the Gram matrix at a size, or a bound."""
        # Linear between simulated sizes. Beyond them constant, which is cautious: the
        # smallest eigenvalue of a sum is at least the sum of those of its parts.
        if n_members < self.sizes[0]:
            return 0.0
        if n_members >= self.sizes[-1]:
            return self.totals[-1] / self.sizes[-1]
        return float(np.interp(n_members, self.sizes, self.totals)) / n_members


def smallest_of_gram(gram: FloatArray) -> float:
    """Return the smallest eigenvalue of a sum of squares; 0 where it is rounding."""
    values = np.linalg.eigvalsh(gram)
    rounding = len(gram) * np.finfo(np.float64).eps * values[-1]
    return float(values[0]) if values[0] > rounding else 0.0


@dataclass(frozen=True)
class FittedFacts:
    """Noise and signal of each output (a step or a target)."""

    names: tuple[str, ...]
    noise_variance: FloatArray  # (n_outputs,), summed over the coordinates of each
    signal_variance: FloatArray  # (n_outputs,), as far as leave-one-out confirms it
    is_nothing: BoolArray  # (n_outputs,), no choice or a constant target
    n_coordinates: IndexArray  # (n_outputs,)
    n_members: int  # copies are counted
    gram: FloatArray  # (n_terms, n_terms), sum of squares and products of the design
    basis: PolynomialBasis

    @property
    def n_terms(self) -> int:
        """Number of terms, with the constant."""
        return len(self.basis.multi_indices)

    def share_bound(
        self, output: int, n_members: int, eigenvalue: float, **how: Any
    ) -> float:
        """Bound the error of the indices of one output."""
        noise, signal = self.noise_variance[output], self.signal_variance[output]
        if not (signal > 0.0 and np.isfinite(noise)):
            return 1.0
        sizes = n_members, self.n_terms, int(self.n_coordinates[output])
        squared = coefficient_error_bound(
            noise, *sizes, smallest_eigenvalue=eigenvalue, **how
        )
        return float(sobol_error_bound(squared, signal))


def fitted_facts(
    owner: str, estimator: Any, outputs: OutputGroups = None
) -> FittedFacts:
    """Read what is needed from a fitted surrogate or regressor."""
    try:
        reading = expansion_of(estimator, outputs=outputs)
    except NoExpansionError:
        expected = "a fitted PolynomialChaosRegressor or CompositionalPCESurrogate"
        raise fail(owner, "estimator", expected, estimator) from None
    problem, expansion = reading.problem, reading.expansion
    if problem is None:
        raise ValueError(
            f"{owner} needs the samples of a fit; a marginal expansion has none."
        )
    member, q2 = group_matrix(expansion), expansion.q2
    n_coordinates = member.sum(axis=1).astype(np.int64)
    if reading.compositions is None:
        noise = member @ np.asarray(problem.fit.residual_variance, dtype=np.float64)
        explained = member @ problem.target_variance * q2
    else:
        noise, explained = _of_steps(reading.compositions)
        # Centred log-ratios add up to zero.
        n_coordinates = np.maximum(n_coordinates - 1, 1)
    # Noise in the coefficients adds to the variance of the expansion.
    smaller = np.fmin(expansion.total_variance, np.where(q2 < 1.0, explained, np.inf))
    signal = np.where(q2 > 0.0, np.maximum(smaller, 0.0), 0.0)
    return FittedFacts(
        expansion.group_names,
        noise,
        np.where(np.isnan(q2), np.nan, signal),
        np.isnan(q2),
        n_coordinates,
        max(round(problem.total_weight), 1),
        problem.gram,
        expansion.basis.with_terms,
    )


def _of_steps(fitted: FittedCompositions) -> tuple[FloatArray, FloatArray]:
    """Return noise and explained variance, summed over the coordinates of a step."""
    fit, total, q2 = fitted.fit, fitted.step_weights, fitted.expansion.q2
    noise = fitted.step_press(fit.scaled_residuals) / total
    error = fitted.step_press(fit.loo_residuals) / total
    with np.errstate(divide="ignore", invalid="ignore"):
        return noise, error * q2 / (1.0 - q2)
