r"""Multi-index sets: which products of univariate functions enter the expansion.

A truncation set consists of the multi-indices :math:`j` with

.. math:: \lVert j \rVert_{q, w} = \Bigl(\sum_i (w_i j_i)^q\Bigr)^{1/q} \le p

[1]_ and at most ``interaction_order`` positive entries. With :math:`q = 1` and weights
:math:`w_i = 1` this is the total-degree set; :math:`q < 1` thins the interactions (the
hyperbolic set), :math:`w_i = 2` halves the degree of input :math:`i` (the anisotropic
set).

The entry of a categorical input is the number of a contrast, not a degree: each
contrast counts as of degree one. So the function :math:`j_i` of input :math:`i` costs
:math:`(w_i j_i)^q`, a contrast :math:`w_i^q`, a term costs what its functions cost
together, and it is in the set when that is at most :math:`p^q`.

References
----------
.. [1] G. Blatman and B. Sudret, "Adaptive sparse polynomial chaos expansion based
   on least angle regression", Journal of Computational Physics 230 (2011), eqs. (14)
   and (16).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    as_floats,
    check_integer,
    check_positive_weights,
    check_real,
    memory,
)

# Distinct costs in a first, coarse count.
_COARSE_STEPS = 1000

#: Sets of up to so many exponents are kept, to be listed once: a verdict or a search
#: asks for the same one in every fit.
LARGEST_KEPT = 20_000


def count_terms(
    n_features: int,
    degree: int,
    *,
    q: float = 1.0,
    interaction_order: int | None = None,
    anisotropy: ArrayLike | None = None,
    largest: ArrayLike | None = None,
    categorical: ArrayLike | None = None,
    stop_above: float = math.inf,
) -> int:
    """Count the terms of a truncation set without building it.

    Parameters
    ----------
    n_features, degree : int
        As in :func:`build_multi_indices`, like the next five.
    q, interaction_order, anisotropy, largest, categorical : optional
        Which terms are in the set.
    stop_above : float, optional
        Counting stops early, with a lower bound, once it exceeds this number.

    Returns
    -------
    n_terms : int
        The count. Far beyond every memory (1e15 terms, or 1e8 functions of single
        inputs) a lower bound or rounded.

    Raises
    ------
    ValueError
        For a bad parameter.

    See Also
    --------
    build_multi_indices : The set itself.

    Examples
    --------
    >>> from skpce import count_terms
    >>> count_terms(5, 3), count_terms(10, 4), count_terms(10, 4, interaction_order=2)
    (56, 1001, 311)
    >>> count_terms(10, 4, anisotropy=[1] * 3 + [2] * 7)
    133
    """
    check_real("count_terms", "stop_above", stop_above, low=1, closed="both")
    options = (q, interaction_order, anisotropy, largest, categorical)
    cut = Truncation.checked("count_terms", n_features, degree, *options)
    return cut.count(stop_above)


def build_multi_indices(
    n_features: int,
    degree: int,
    *,
    q: float = 1.0,
    interaction_order: int | None = None,
    anisotropy: ArrayLike | None = None,
    largest: ArrayLike | None = None,
    categorical: ArrayLike | None = None,
) -> IndexArray:
    """Build a truncation set in graded order.

    Parameters
    ----------
    n_features : int
        Number of inputs.
    degree : int
        Largest weighted q-norm of a multi-index.
    q : float, default=1.0
        Exponent of the q-norm, in (0, 1].
    interaction_order : int or None, default=None
        Largest number of inputs in one term.
    anisotropy : array-like of shape (n_features,) or None, default=None
        Positive weight of each input; a weight of 2 halves its degree.
    largest : array-like of shape (n_features,) or None, default=None
        Number of functions that each input has beside the constant; ``inf`` for no
        end.
    categorical : array-like of bool of shape (n_features,) or None, default=None
        Inputs whose functions all count as of degree one; their ``largest`` must be
        finite.

    Returns
    -------
    multi_indices : ndarray of shape (n_terms, n_features)
        Row 0 is zero; rows are sorted by total degree, then as
        :class:`sklearn.preprocessing.PolynomialFeatures` sorts them.

    Raises
    ------
    ValueError
        For a bad parameter, or a set too large for memory.

    See Also
    --------
    count_terms : The number of rows, without building them.

    Examples
    --------
    >>> from skpce import build_multi_indices
    >>> build_multi_indices(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]

    A second input that gets half the degree, or is a category of three levels:

    >>> build_multi_indices(2, 2, anisotropy=[1, 2]).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0]]
    >>> build_multi_indices(2, 1, largest=[9, 2], categorical=[False, True]).tolist()
    [[0, 0], [1, 0], [0, 1], [0, 2]]
    """
    owner = "build_multi_indices"
    options = (q, interaction_order, anisotropy, largest, categorical)
    cut = Truncation.checked(owner, n_features, degree, *options)
    n_terms = cut.count(terms_that_fit(n_features))
    table = f"a table of them for n_features={n_features}"
    check_design_fits(owner, n_features, n_terms, basis_advice(anisotropy=True), table)
    check_degrees(owner, "degree", cut.function_numbers())
    return cut.listed(n_terms)


def sort_graded(
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    categorical: BoolArray,  # shape: (n_features,)
) -> IndexArray:  # shape: (n_terms, n_features)
    """Sort a set as :func:`build_multi_indices` does."""
    terms, features = np.nonzero(multi_indices)
    slot = np.arange(len(terms)) - np.searchsorted(terms, terms)
    shape = len(multi_indices), slot.max(initial=-1) + 1
    active, exponents = np.full(shape, -1), np.zeros(shape, dtype=np.int64)
    active[terms, slot] = features
    exponents[terms, slot] = multi_indices[terms, features]
    return _dense(active, exponents, categorical)


def _dense(
    active: IndexArray,  # shape: (n_terms, widest), the inputs, padded with -1
    exponents: IndexArray,  # shape: (n_terms, widest), padded with 0
    categorical: BoolArray,  # shape: (n_features,)
) -> IndexArray:  # shape: (n_terms, n_features)
    """Sort by total degree, then by first input, its exponent, second input, ...

    Larger exponents come first, as in scikit-learn: x0*x0*x1 before x0*x1*x1. The
    contrasts of a category come in their own order. There are as many sort keys as
    inputs in the largest term, not as features.
    """
    contrast = categorical[active] & (exponents > 0)
    degree = np.where(contrast, 1, exponents).sum(axis=1)
    keys = np.stack([active, np.where(contrast, exponents, -exponents)], axis=-1)
    order = np.lexsort((*keys.reshape(len(keys), -1).T[::-1], degree))
    active, exponents = active[order], exponents[order]
    rows = np.zeros((len(order), len(categorical)), dtype=np.int64)
    terms, slot = np.nonzero(exponents)
    rows[terms, active[terms, slot]] = exponents[terms, slot]
    return rows


def check_truncation(owner: str, degree: Any, q: Any, interaction_order: Any) -> None:
    """Raise ``ValueError`` for parameters of a truncation out of their range."""
    check_integer(owner, "degree", degree)
    check_real(owner, "q", q, low=0, high=1, closed="right")
    check_integer(
        owner, "interaction_order", interaction_order, low=1, none_allowed=True
    )


def check_multi_indices(
    owner: str, multi_indices: Any, n_features: int
) -> IndexArray | None:
    """Return an explicit set as integers, in the given order; None for None."""
    if multi_indices is None:
        return None
    name = f"The 'multi_indices' parameter of {owner}"
    try:
        rows = np.asarray(multi_indices, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be None or an array-like of non-negative ints of shape "
            f"(n_terms, n_features). Got {multi_indices!r} instead."
        ) from None
    if rows.ndim != 2 or rows.shape[0] == 0:
        raise ValueError(
            f"{name} must be None or an array-like of shape (n_terms, n_features) "
            f"with at least one row. Got shape {rows.shape} instead."
        )
    if rows.shape[1] != n_features:
        raise ValueError(
            f"{name} must have a column for each of the {n_features} features of X. "
            f"Got {rows.shape[1]} columns instead."
        )
    bad = ~((rows >= 0) & (rows == np.floor(rows)) & (rows < 2**31))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{name} must be non-negative ints. Got {rows[row, column]:g} in row "
            f"{row}, column {column} instead."
        )
    distinct, times = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) < len(rows):
        repeated = distinct[np.argmax(times > 1)].astype(np.int64).tolist()
        raise ValueError(
            f"{name} has the row {repeated} more than once; expected each row once."
        )
    return rows.astype(np.int64)


class Truncation(NamedTuple):
    """Which terms are in a set."""

    degree: int
    q: float
    order: int  # at most the number of inputs
    weights: FloatArray  # shape: (n_features,)
    largest: FloatArray  # shape: (n_features,), functions beside the constant
    categorical: BoolArray  # shape: (n_features,)

    @classmethod
    def checked(
        cls,
        owner: str,
        n_features: int,
        degree: int,
        q: float,
        interaction_order: int | None,
        anisotropy: ArrayLike | None,
        largest: ArrayLike | None,
        categorical: ArrayLike | None,
    ) -> Truncation:
        check_integer(owner, "n_features", n_features, low=1)
        check_truncation(owner, degree, q, interaction_order)
        weights = check_positive_weights(owner, "anisotropy", anisotropy, n_features)
        ends = as_floats(np.inf if largest is None else largest, "largest")
        kinds = np.asarray(False if categorical is None else categorical, dtype=bool)
        for name, values in (("largest", ends), ("categorical", kinds)):
            if values.ndim and values.shape != (n_features,):
                raise ValueError(
                    f"The {name!r} parameter of {owner} has shape {values.shape}; "
                    f"expected ({n_features},), one entry per feature."
                )
        ends = np.broadcast_to(ends, n_features)
        kinds = np.broadcast_to(kinds, n_features)
        if np.any(np.isnan(ends) | (ends < 0) | (kinds & np.isinf(ends))):
            raise ValueError(
                f"The 'largest' parameter of {owner} must be numbers in [0, inf], and "
                f"finite for categorical inputs. Got {largest!r} instead."
            )
        order = n_features if interaction_order is None else interaction_order
        return cls(degree, q, min(order, n_features), weights, ends, kinds)

    @property
    def budget(self) -> float:
        """The largest sum of the costs of a term."""
        return float(self.degree) ** self.q * (1.0 + _TOLERANCE)

    def count(self, stop_above: float) -> int:
        """Count the terms, or return a lower bound above ``stop_above``."""
        alike = np.all(self.weights == 1.0) and np.all(self.largest >= self.degree)
        if alike and not self.categorical.any():
            return _count_isotropic(self, stop_above)
        univariate = float(self.function_numbers().sum())
        if univariate > min(stop_above, _LARGEST_UNIVARIATE):
            return int(min(univariate, _LARGEST_COUNT))
        costs, limit, order = self.univariate_costs(), self.budget, self.order
        if math.isfinite(stop_above):
            coarse = _round_up(costs, limit, _COARSE_STEPS)
            lower_bound = _count_affordable(coarse, limit, order, stop_above)
            if lower_bound > stop_above:
                return lower_bound
        return _count_affordable(costs, limit, order, stop_above)

    def listed(self, n_terms: int) -> IndexArray:  # shape: (n_terms, n_features)
        """Return the terms, sorted; those of a small set are listed once."""
        if n_terms * len(self.weights) > LARGEST_KEPT:
            return self.made()
        arrays = self.weights, self.largest, self.categorical
        return _kept(*self[:3], *(values.tobytes() for values in arrays)).copy()

    def made(self) -> IndexArray:  # shape: (n_terms, n_features)
        """List and sort the terms."""
        costs = self.univariate_costs()
        active, exponents = _list_affordable(costs, self.budget, self.order)
        return _dense(active, exponents, self.categorical)

    def function_numbers(self) -> FloatArray:
        """Return an upper bound of the number of functions of each input alone."""
        with np.errstate(over="ignore"):
            affordable = np.floor(self.degree * (1.0 + _TOLERANCE) / self.weights)
        contrasts = np.where(affordable >= 1, self.largest, 0.0)
        polynomials = np.minimum(affordable, self.largest)
        return np.where(self.categorical, contrasts, polynomials)

    def univariate_costs(self) -> list[FloatArray]:
        """Return, for each input, the costs of its functions that fit alone."""
        inputs = zip(
            self.weights, self.function_numbers(), self.categorical, strict=True
        )
        costs = []
        for weight, number, kind in inputs:
            degrees = np.arange(1.0, number + 1.0)
            cost = (weight * (np.ones_like(degrees) if kind else degrees)) ** self.q
            costs.append(cost[cost <= self.budget])
        return costs


@lru_cache(maxsize=32)
def _kept(
    degree: int,
    q: float,
    order: int,
    weights: bytes,
    largest: bytes,
    categorical: bytes,
) -> IndexArray:  # shape: (n_terms, n_features)
    """List the terms of a small set once; the arrays are given by their bytes."""
    numbers = np.frombuffer(weights), np.frombuffer(largest)
    return Truncation(
        degree, q, order, *numbers, np.frombuffer(categorical, dtype=bool)
    ).made()


# Distinct costs of terms, sorted, and how many terms have each.
State = tuple[FloatArray, FloatArray]

# Rounding in the q-norm, relative to degree**q: 2**0.75 + 2**0.75 is not exact.
_TOLERANCE = 1e-9

# Sums of the same costs in another order differ by less, relative to degree**q.
_SAME_COST = 1e-13

# More functions of single inputs than this are counted as a lower bound.
_LARGEST_UNIVARIATE = 1e8

# Counts up to here are exact where there is a closed form.
_LARGEST_COUNT = 1e18


def _count_isotropic(cut: Truncation, stop_above: float) -> int:
    """Count by the number of active inputs; partitions when q < 1."""
    n_features, degree, q = len(cut.weights), cut.degree, cut.q
    largest = min(degree, cut.order)
    total = 1
    if q == 1.0:
        for size in range(1, largest + 1):
            total += math.comb(n_features, size) * math.comb(degree, size)
            if total > max(stop_above, _LARGEST_COUNT):
                break
        return total
    if n_features * degree > min(stop_above, _LARGEST_UNIVARIATE):
        return n_features * degree
    powers = [float(k) ** q for k in range(1, degree + 1)]
    total += n_features * degree if largest else 0
    for exponents, left in _partitions(degree, cut.budget, powers, largest - 1):
        total += _count_extensions(exponents, bisect_right(powers, left), n_features)
        if total > stop_above:
            break
    return total


def _count_extensions(exponents: tuple[int, ...], most: int, n_features: int) -> int:
    """Count the terms of a partition and one more part, up to its last and ``most``."""
    arrangements = math.factorial(len(exponents) + 1)
    times = Counter(exponents)
    for multiplicity in times.values():
        arrangements //= math.factorial(multiplicity)
    last = exponents[-1]
    count = min(most, last - 1) * arrangements
    if most >= last:
        count += arrangements // (times[last] + 1)
    return math.comb(n_features, len(exponents) + 1) * count


def _partitions(
    largest: int, limit: float, powers: Sequence[float], n_parts: int
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield the non-increasing positive tuples whose q-powers fit, and what is left.

    Tuples that leave no room for another part are left out.
    """
    if n_parts <= 0:
        return
    for first in range(1, largest + 1):
        left = limit - powers[first - 1]
        if left < 1.0:
            break
        yield (first,), left
        for others, rest in _partitions(first, left, powers, n_parts - 1):
            yield (first, *others), rest


def _cheapest_later(costs: list[FloatArray]) -> FloatArray:
    """Return the smallest cost of the inputs that come after each input."""
    cheapest = np.array([cost.min(initial=np.inf) for cost in costs] + [np.inf])
    return np.minimum.accumulate(cheapest[::-1])[::-1][1:]


def _count_affordable(
    costs: list[FloatArray], limit: float, order: int, stop_above: float
) -> int:
    """Count by a dynamic programme over (active inputs, cost), one input at a time.

    ``states[m]`` is about the terms of m inputs that can still grow, and ``states[0]``
    about all of them where the interaction order cannot bind.
    """
    cheapest = min((cost.min() for cost in costs if cost.size), default=np.inf)
    step = int(order < len(costs) and order * cheapest < limit)
    states = {0: (np.zeros(1), np.ones(1))}
    total = 1.0
    for cost, later in zip(costs, _cheapest_later(costs), strict=True):
        if not cost.size:
            continue
        values, multiplicity = np.unique(cost, return_counts=True)
        for state_costs, counts in states.values():
            below = np.concatenate([[0.0], np.cumsum(counts)])
            fits = np.searchsorted(state_costs, limit - values, side="right")
            total += float(multiplicity @ below[fits])
        if total > stop_above:
            break
        grown: dict[int, list[State]] = {}
        for active, (state_costs, counts) in states.items():
            grown.setdefault(active, []).append((state_costs, counts))
            if active + step < order:
                grown.setdefault(active + step, []).extend(
                    (state_costs + value, counts * times)
                    for value, times in zip(values, multiplicity, strict=True)
                )
        states = {m: _merge(parts, limit - later, limit) for m, parts in grown.items()}
    return int(min(total, _LARGEST_COUNT))


def _merge(parts: list[State], largest: float, limit: float) -> State:
    """Join costs that are equal up to rounding; drop those above ``largest``."""
    costs = np.concatenate([part[0] for part in parts])
    counts = np.concatenate([part[1] for part in parts])
    small = costs <= largest
    costs, counts = costs[small], counts[small]
    keys = np.rint(costs / (_SAME_COST * limit))
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    numbers: Any = np.bincount(where, weights=counts, minlength=len(first))
    return costs[first], numbers


def _list_affordable(
    costs: list[FloatArray], limit: float, order: int
) -> tuple[IndexArray, IndexArray]:  # shape: (n_terms, widest), padded with -1, 0
    """List the active inputs and exponents of all terms whose costs fit, unsorted.

    Only the terms that a later input can still extend are visited again.
    """
    n_terms = 1
    blocks: list[tuple[IndexArray, int, int]] = []  # parent terms, input, exponent
    ids, spent, active = np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int64)
    widest = 0
    for feature, (cost, later) in enumerate(
        zip(costs, _cheapest_later(costs), strict=True)
    ):
        open_terms = [(ids, spent, active)]
        for exponent, value in enumerate(cost, start=1):
            fits = spent + value <= limit
            parents = ids[fits]
            new_ids = np.arange(n_terms, n_terms + len(parents))
            open_terms.append((new_ids, spent[fits] + value, active[fits] + 1))
            blocks.append((parents, feature, exponent))
            n_terms += len(parents)
        parts = zip(*open_terms, strict=True)
        ids, spent, active = (np.concatenate(part) for part in parts)
        widest = max(widest, int(active.max(initial=0)))
        still = (spent + later <= limit) & (active < order)
        ids, spent, active = ids[still], spent[still], active[still]
    return _write_out(n_terms, widest, blocks)


def _write_out(
    n_terms: int, widest: int, blocks: list[tuple[IndexArray, int, int]]
) -> tuple[IndexArray, IndexArray]:
    """Write out terms that are a parent term with one more input."""
    inputs = np.full((n_terms, widest), -1, dtype=np.int64)
    exponents = np.zeros((n_terms, widest), dtype=np.int64)
    size = np.zeros(n_terms, dtype=np.int64)
    start = 1
    for parents, feature, exponent in blocks:
        rows = np.arange(start, start + len(parents))
        inputs[rows], exponents[rows] = inputs[parents], exponents[parents]
        inputs[rows, size[parents]] = feature
        exponents[rows, size[parents]] = exponent
        size[rows] = size[parents] + 1
        start += len(parents)
    return inputs, exponents


def _round_up(costs: list[FloatArray], limit: float, n_steps: int) -> list[FloatArray]:
    """Round costs up to few distinct ones, whose count is a quick lower bound."""
    grid = limit / n_steps
    rounded = [np.ceil(cost / grid * (1.0 - _TOLERANCE)) * grid for cost in costs]
    return [cost[cost <= limit] for cost in rounded]


# More functions of one input than this are refused; no number of samples tells them
# apart.
_MOST_FUNCTIONS = 10_000


def check_degrees(owner: str, name: str, degrees: Any) -> None:
    """Refuse more functions of one input than any number of samples can distinguish."""
    if np.max(degrees, initial=0) > _MOST_FUNCTIONS:
        raise ValueError(
            f"The {name!r} parameter of {owner} asks for degree {np.max(degrees):.0f} "
            f"in one input; expected at most {_MOST_FUNCTIONS}."
        )


# A fit needs about three arrays of the size of the design matrix, of 8 bytes each.
_BYTES_PER_ENTRY = 3 * 8


def basis_advice(*, anisotropy: bool) -> str:  # True for an estimator that has it
    """Return a sentence on how to make a truncation set smaller."""
    weights = ", give minor inputs an 'anisotropy' above 1" if anisotropy else ""
    return (
        f"Lower 'degree', set 'interaction_order' (2 or 3){weights}, or use "
        "truncation='hyperbolic' with q < 1."
    )


def terms_that_fit(n_samples: int) -> float:
    """Return the largest number of terms that :func:`check_design_fits` accepts."""
    return memory.available_memory() / (_BYTES_PER_ENTRY * max(n_samples, 1))


def rows_held_in_blocks(n_samples: int) -> int:
    """Return the number of rows in memory when the design matrix is never whole."""
    # Sums over blocks are matrices as high as wide: no saving with fewer rows.
    return min(n_samples, math.isqrt(int(memory.available_memory() / _BYTES_PER_ENTRY)))


def check_design_fits(
    owner: str, n_rows: int, n_terms: int, advice: str, fit: str | None = None
) -> None:
    """Raise ``ValueError``, with advice, when a fit exceeds the memory."""
    if n_terms <= terms_that_fit(n_rows):
        return
    fit = f"with {n_rows} samples the fit" if fit is None else fit
    needed = _BYTES_PER_ENTRY * max(n_rows, 1) * n_terms
    raise ValueError(
        f"The basis of {owner} has at least {n_terms} terms; {fit} needs about "
        f"{needed / 2**30:.3g} GiB, more than the "
        f"{memory.available_memory() / 2**30:.3g} GiB that it may use here. {advice}"
    )
