"""Means of the polynomials of an input over pieces of its range, and its quantiles.

A density becomes a composite Gauss-Legendre rule whose panels end where the pieces do.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import qmc

from .._checks import FloatArray
from .families import InputLaw
from .tabulated import Panels


def sobol_points(
    n_dimensions: int, size: int, generator: np.random.Generator
) -> FloatArray:  # shape: (size, n_dimensions), within (0, 1)
    """Return scrambled Sobol' points; the size is a power of two."""
    points = qmc.Sobol(n_dimensions, scramble=True, seed=generator)
    drawn = points.random_base2(int(size).bit_length() - 1)
    return np.clip(drawn, 2.0**-40, 1.0 - 2.0**-40)


@lru_cache(maxsize=256)
def _frozen(law: InputLaw) -> Any:
    """Return the distribution as one of scipy.stats, which takes long to make one."""
    return law.to_scipy()


@lru_cache(maxsize=256)
def _panels(law: InputLaw, degree: int) -> Panels:
    return Panels.of(_frozen(law), degree)


def means_of_pieces(
    law: InputLaw,
    edges: FloatArray,  # shape: (n_pieces - 1,), increasing, within the support
    degree: int,
) -> FloatArray:  # shape: (n_pieces, degree + 1)
    """Return ``E[psi_k(x); x in the piece]`` of each piece of the whole range."""
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
    degree = max(degree, 1)
    found = law.atoms(degree)
    if found is not None:
        return found
    panels = _panels(law, degree)
    measure = panels.measure(parts, edges)
    points = panels.loc + panels.scale * measure.points
    return points, measure.masses / measure.masses.sum()


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
