r"""The upper envelope of polynomials of one input, and its mean: exact.

Of actions whose expected utilities given an input are the polynomials :math:`p_k`, the
best one changes at roots of differences. Between them the mean of the best one is a sum
of coefficients times means over pieces, so that

.. math:: E \max_k p_k(x) - \max_k E\, p_k(x)
          = \sum_{\text{pieces}} E[(p_{k(\text{piece})} - p_*)(x); \text{piece}]

with the action :math:`*` that is best without knowing the input. Of degree one and a
normal input it is the correlated knowledge gradient ([1]_, equation 14). The envelope
is found from the roots of all pairs, which are eigenvalues of the comrade matrix [2]_.
An error of a root enters the value with its square, because there the two polynomials
are equal.

References
----------
.. [1] P. Frazier, W. Powell and S. Dayanik, "The knowledge-gradient policy for
   correlated normal beliefs", INFORMS Journal on Computing 21 (2009).
.. [2] S. Barnett, "A companion matrix analogue for orthogonal polynomials", Linear
   Algebra and its Applications 12 (1975).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._checks import FloatArray, IndexArray
from ..._input_laws.families import InputLaw, evaluate_recurrence
from ..._input_laws.pieces import means_of_pieces

# Coefficients of a difference that are this small next to the largest are 0: they
# change a mean by no more than this share.
_NEGLIGIBLE = 1e-13
# Differences of coefficients that are rounding, in units of the machine's precision.
_ROUNDING = 8.0 * np.finfo(float).eps
# Of so many actions all pairs are compared at once.
_CHUNK = 32


class Worth(NamedTuple):
    """What it is worth to know something before deciding."""

    value: float  # in units of the utility, not negative
    flip_probability: float  # that another action is taken than without knowing
    standard_error: float = 0.0  # of the integration


class Envelope(NamedTuple):
    """Which polynomial is largest where."""

    edges: FloatArray  # (n_pieces - 1,), standardised, increasing
    owners: IndexArray  # (n_pieces,), no two neighbours alike


def gains(
    coefficients: FloatArray,  # shape: (n_actions, n_terms), column 0 the means
) -> tuple[FloatArray, int]:  # the first of the same shape
    """Return coefficients less those of the action of the largest mean, and this."""
    # What all actions share leaves no trace: what is left of it is rounding.
    best = int(np.argmax(coefficients[:, 0]))
    found = coefficients - coefficients[best]
    size = np.abs(coefficients).max(initial=0.0)
    return np.where(np.abs(found) <= _ROUNDING * size, 0.0, found), best


def value_of_input(
    law: InputLaw,
    coefficients: FloatArray,  # shape: (n_actions, degree + 1)
) -> Worth:
    """Return the value of knowing one input."""
    gain, best = gains(coefficients)
    degree = gain.shape[1] - 1
    if not gain[:, 1:].any():
        return Worth(0.0, 0.0)
    atoms = law.atoms(degree)
    if atoms is not None:
        points, masses = atoms
        return of_points(gain @ law.evaluate(points, degree), masses, gain[:, 0])
    found = upper_envelope(law, gain, best)
    pieces = means_of_pieces(law, law.in_units(found.edges), degree)
    flip = float(pieces[found.owners != best, 0].sum())
    value = float(np.sum(gain[found.owners] * pieces))
    return Worth(max(value, 0.0), min(max(flip, 0.0), 1.0))


def gained(
    values: FloatArray,  # shape: (n_actions, ...)
    means: FloatArray,  # shape: (n_actions, ...), broadcast against the values
) -> FloatArray:  # shape: (...)
    """Return what is gained at each point by knowing it; its mean is the value."""
    best = means.argmax(axis=0)[np.newaxis]
    return np.asarray(values.max(axis=0) - np.take_along_axis(values, best, 0)[0])


def of_points(
    gain: FloatArray,  # shape: (n_actions, n_points)
    masses: FloatArray,  # shape: (n_points,)
    means: FloatArray,  # shape: (n_actions,), largest for what is best unknown
) -> Worth:
    """Return the value of knowing which of some points it is."""
    best = int(np.argmax(means))
    gain = gain - gain[best]
    value = float(masses @ gain.max(axis=0))
    return Worth(max(value, 0.0), min(float(masses @ (gain > 0).any(axis=0)), 1.0))


def upper_envelope(
    law: InputLaw,
    coefficients: FloatArray,  # shape: (n_actions, degree + 1)
    first: int = 0,  # owns where several are equal
) -> Envelope:
    """Return the upper envelope over the support of a distribution with a density."""
    order = np.r_[first, np.delete(np.arange(len(coefficients)), first)]
    used = np.flatnonzero(np.abs(coefficients).max(axis=0) > 0)
    table = coefficients[order, : int(used.max(initial=0)) + 1]
    width = table.shape[1]
    a, b = law.recurrence(width - 1)
    root = np.sqrt(b)
    low, high = law.standardize(np.array(law.support)).tolist()

    def envelope(chosen: IndexArray) -> Envelope:
        """Return the envelope of some, by all crossings of two and points beside."""
        i, j = np.triu_indices(len(chosen), k=1)
        difference = table[chosen[i]] - table[chosen[j]]
        size = np.abs(difference).max(axis=1, keepdims=True)
        matters = np.abs(difference) > _NEGLIGIBLE * size
        degree = np.where(matters, np.arange(width), 0).max(axis=1)
        found = [
            comrade_roots(difference[degree == m, : m + 1], a, root)
            for m in range(1, width)
        ]
        points = np.unique(np.concatenate([np.empty(0), *found]))
        points = points[(points > low) & (points < high)]
        # A point in each interval between these and the ends says who is largest.
        inside = points if len(points) else np.clip([0.0], low, high)
        reach = 2.0 + 2.0 * np.abs(inside[[0, -1]])
        start = low if np.isfinite(low) else inside[0] - reach[0]
        stop = high if np.isfinite(high) else inside[-1] + reach[1]
        edges = np.concatenate([[start], points, [stop]])
        values = evaluate_recurrence((edges[1:] + edges[:-1]) / 2.0, a, root)
        owners = chosen[np.argmax(table[chosen] @ values, axis=0)]
        changes = np.flatnonzero(np.diff(owners))
        return Envelope(points[changes], owners[np.r_[changes, len(owners) - 1]])

    chosen = np.arange(len(table))
    while len(chosen) > _CHUNK:  # only those on the envelope of a part may be on it
        parts = np.array_split(chosen, -(-len(chosen) // _CHUNK))
        left = np.concatenate([np.unique(envelope(part).owners) for part in parts])
        few, chosen = len(left) <= 0.8 * len(chosen), np.sort(left)
        if not few:
            break
    found = envelope(chosen)
    return Envelope(found.edges, order[found.owners])


def comrade_roots(
    coefficients: FloatArray,  # shape: (n, degree + 1), the last column not 0
    a: FloatArray,  # of the recurrence
    root: FloatArray,
) -> FloatArray:  # shape: (n * degree,)
    """Return the real parts of the roots of combinations of orthonormal polynomials."""
    # A root that is almost real is a pair that rounding has parted. The real part of
    # any other is a point where nothing changes.
    n, degree = len(coefficients), coefficients.shape[1] - 1
    ratio = coefficients[:, :-1] / coefficients[:, -1:]
    if degree == 1:
        return np.asarray(a[0] - root[0] * ratio[:, 0])
    matrices = np.zeros((n, degree, degree))
    place = np.arange(degree)
    matrices[:, place, place] = a[:degree]
    matrices[:, place[1:], place[:-1]] = root[: degree - 1]
    matrices[:, place[:-1], place[1:]] = root[: degree - 1]
    matrices[:, -1] -= root[degree - 1] * ratio
    return np.asarray(np.linalg.eigvals(matrices).real.ravel())
