r"""Means of the polynomials of an input over pieces of its range.

The polynomials of a classical family with the standardised density :math:`w` solve
:math:`(\sigma w \psi_k')' = -\lambda_k w \psi_k`, so that the mean over a piece needs
no quadrature [1]_:

.. math:: E[\psi_k; a < t \le b] = \frac{1}{\lambda_k}
          \left[\sigma w \psi_k'\right]_b^a, \qquad k \ge 1.

For a normal input of degree one this is :math:`\varphi(a) - \varphi(b)`. Any other
density becomes a composite Gauss-Legendre rule whose panels end where the pieces do.

References
----------
.. [1] W. Gautschi, "Orthogonal Polynomials: Computation and Approximation", Oxford
   University Press, 2004, section 1.5.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import qmc

from .._checks import FloatArray
from .families import InputLaw, at_the_origin
from .tabulated import adapt, start_points


def sobol_points(
    n_dimensions: int, size: int, generator: np.random.Generator
) -> FloatArray:  # shape: (size, n_dimensions), within (0, 1)
    """Return scrambled Sobol' points; the size is a power of two."""
    points = qmc.Sobol(n_dimensions, scramble=True, seed=generator)
    drawn = points.random_base2(int(size).bit_length() - 1)
    return np.clip(drawn, 2.0**-40, 1.0 - 2.0**-40)


# Nodes of a panel beyond the degree.
_SPARE_NODES = 16


@lru_cache(maxsize=256)
def _frozen(law: InputLaw) -> Any:
    """Return the distribution as one of scipy.stats, which takes long to make one."""
    return law.to_scipy()


def means_of_pieces(
    law: InputLaw,
    edges: FloatArray,  # shape: (n_pieces - 1,), increasing, within the support
    degree: int,
) -> FloatArray:  # shape: (n_pieces, degree + 1)
    """Return ``E[psi_k(x); x in the piece]`` of each piece of the whole range."""
    t = law.standardize(edges)
    classical = law.pearson(t, np.arange(1.0, degree + 1.0))
    if classical is None:
        return _means_by_rule(law, edges, degree)
    frozen = _frozen(law)
    sigma, eigenvalues = classical
    density = sigma * frozen.pdf(edges) * law.scale
    slopes = law.differentiate(edges, degree)[1:].T * law.scale
    at_edges = np.zeros((len(edges) + 2, degree))
    at_edges[1:-1] = density[:, np.newaxis] * slopes / eigenvalues
    below = np.concatenate([[0.0], frozen.cdf(edges), [1.0]])
    above = np.concatenate([[1.0], frozen.sf(edges), [0.0]])
    # The difference of the smaller tail areas has all its digits on both sides.
    masses = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
    return np.column_stack([masses, -np.diff(at_edges, axis=0)])


def _means_by_rule(
    law: InputLaw, edges: FloatArray, degree: int
) -> FloatArray:  # shape: (n_pieces, degree + 1)
    points, masses = rule_of_pieces(law, edges, degree)
    values = law.evaluate(points, degree) * masses
    found = np.zeros((len(edges) + 1, degree + 1))
    np.add.at(found, np.searchsorted(edges, points), values.T)
    return found


def rule_of_pieces(
    law: InputLaw,
    edges: FloatArray,  # shape: (n_edges,), increasing
    degree: int,
    parts: int = 1,
) -> tuple[FloatArray, FloatArray]:  # shape of each: (n_points,)
    """Return points and masses that integrate smooth functions between the edges.

    Each panel is cut into ``parts`` equal ones, which serve functions that are less
    smooth than polynomials of the degree. Single values are returned as they are.
    """
    found = law.atoms(max(degree, 1))
    if found is not None:
        return found
    frozen = _frozen(law)
    unit, loc, scale = at_the_origin(frozen)
    sd = float(frozen.std()) / scale
    start = start_points(unit, sd, max(degree, 1))
    inside = (edges - loc) / scale
    inside = inside[(inside > start[0]) & (inside < start[-1])]
    n_nodes = degree + _SPARE_NODES
    panels = adapt(unit, np.union1d(start, inside), sd, n_nodes)
    measure = panels.measure(unit.pdf, n_nodes, parts)
    return loc + scale * measure.points, measure.masses / measure.masses.sum()


def quantiles(
    law: InputLaw,
    probabilities: FloatArray,  # shape: (n_points,), within (0, 1)
    degree: int,
) -> FloatArray:  # shape: (n_points,)
    """Return the values of an input at given probabilities."""
    found = law.atoms(max(degree, 1))
    if found is None:
        return np.asarray(_frozen(law).ppf(probabilities))
    points, masses = found
    place = np.searchsorted(np.cumsum(masses), probabilities)
    return points[np.minimum(place, len(points) - 1)]
