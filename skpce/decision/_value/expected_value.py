r"""The value of knowing some of the inputs of an expansion, before deciding.

Knowing the inputs of a set :math:`u` changes the expected utilities to the marginal
expansions :math:`E[f_k \mid x_u]`, which retain the terms within the set [1]_. Of one
input that matters the value is exact (``envelope``), and so it is for inputs of few
values, and for normal inputs where all differences between actions are functions of
one weighted sum. Other sets take scrambled Sobol' points, whose batches give a standard
error.

References
----------
.. [1] M. Strong, J. E. Oakley and A. Brennan, "Estimating multiparameter partial
   expected value of perfect information from a probabilistic sensitivity analysis
   sample", Medical Decision Making 34 (2014), equation 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from sklearn.utils.extmath import cartesian

from ..._basis.basis import PolynomialBasis
from ..._checks import FloatArray, IndexArray
from ..._expansion.moments import marginal_basis
from ..._input_laws.families import NormalLaw
from ..._input_laws.pieces import quantiles, rule_of_pieces, sobol_points
from .envelope import Worth, gained, gains, of_points, value_of_input

N_BATCHES = 16  # scrambled point sets; they give the standard error

# Combinations of values that are listed instead of drawn.
_MOST_COMBINATIONS = 2**16

# Singular values of slopes below this share of the largest are rounding.
_ROUNDING = 1e-12


def value_of_inputs(
    basis: PolynomialBasis,
    coefficients: FloatArray,  # shape: (n_actions, n_terms)
    features: Sequence[int],
    n_samples: int,
    seed: int,
) -> Worth:
    """Return the value of knowing some inputs, the others averaged out."""
    own, rows = marginal_basis(basis, sorted(features))
    gain, _ = gains(coefficients[:, rows])
    matter = np.flatnonzero((own.multi_indices[gain.any(axis=0)] > 0).any(axis=0))
    if not len(matter):
        return Worth(0.0, 0.0)
    own, kept = marginal_basis(own, matter.tolist())
    own, gain = own.without_waves(gain[:, kept])
    if len(matter) == 1:
        table = by_degree(own.multi_indices[:, 0], gain)
        return value_of_input(own.laws[0], table)
    line = _along_one_sum(own, gain)
    if line is not None:
        return value_of_input(NormalLaw(0.0, 1.0), line)
    listed = _every_combination(own)
    if listed is not None:
        points, masses = listed
        return of_points(own.combine(points, gain).T, masses, gain[:, 0])
    return _worth_by_draws(own, gain, n_samples, seed)


def by_degree(
    degrees: IndexArray,  # shape: (n_terms,), of one input
    coefficients: FloatArray,  # shape: (n_actions, n_terms)
) -> FloatArray:  # shape: (n_actions, largest degree + 1)
    """Put the coefficients of one input in the order of their functions."""
    found = np.zeros((len(coefficients), int(degrees.max(initial=0)) + 1))
    found[:, degrees] = coefficients
    return found


def _along_one_sum(basis: PolynomialBasis, gain: FloatArray) -> FloatArray | None:
    """Return lines of one standard normal variable; None where there is none."""
    used = gain.any(axis=0)
    if not all(isinstance(law, NormalLaw) for law in basis.laws):
        return None
    if basis.multi_indices[used].sum(axis=1).max(initial=0) > 1:
        return None
    slopes = gain[:, used & basis.multi_indices.any(axis=1)]
    left, singular, _ = np.linalg.svd(slopes, full_matrices=False)
    if len(singular) > 1 and singular[1] > _ROUNDING * singular[0]:
        return None
    return np.column_stack([gain[:, 0], left[:, 0] * singular[0]])


def _every_combination(
    basis: PolynomialBasis,
) -> tuple[FloatArray, FloatArray] | None:
    """Return all combinations of inputs of few values, and their masses."""
    largest = basis.multi_indices.max(axis=0)
    degrees = np.maximum(largest, 1).tolist()
    atoms = [law.atoms(m) for law, m in zip(basis.laws, degrees, strict=True)]
    tables = [found for found in atoms if found is not None]
    size = math.prod(len(points) for points, _ in tables)
    if len(tables) < len(atoms) or size > _MOST_COMBINATIONS:
        return None
    points, masses = (cartesian(columns) for columns in zip(*tables, strict=True))
    return points, masses.prod(axis=1)


def rule_of(
    basis: PolynomialBasis, places: Sequence[int], n_points: int, parts: int = 1
) -> tuple[FloatArray, FloatArray]:  # shapes: (n_points, n_places), (n_points,)
    """Return points and masses of some inputs: those of pieces of one, else drawn."""
    if len(places) == 1:
        law, degree = basis.laws[places[0]], basis.multi_indices[:, places[0]].max()
        degree = max(degree, law.waves)
        points, masses = rule_of_pieces(law, np.empty(0), int(degree), parts)
        return points[:, np.newaxis], masses
    uniforms = sobol_points(len(places), n_points, np.random.default_rng(0))
    inputs = _inputs_at(basis, places, uniforms)
    return inputs, np.full(n_points, 1.0 / n_points)


def _inputs_at(
    basis: PolynomialBasis, places: Sequence[int], uniforms: FloatArray
) -> FloatArray:  # shape: (n, n_places)
    """Return quantiles of some inputs."""
    degrees = basis.multi_indices.max(axis=0).tolist()
    return np.column_stack(
        [
            quantiles(basis.laws[place], column, degrees[place])
            for place, column in zip(places, uniforms.T, strict=True)
        ]
    )


def _worth_by_draws(
    basis: PolynomialBasis,
    gain: FloatArray,  # shape: (n_actions, n_terms)
    n_samples: int,
    seed: int,
) -> Worth:
    """Average the payoff of utilities over batches of scrambled Sobol' points."""
    n_bits = max(int(np.ceil(np.log2(n_samples / N_BATCHES))), 3)
    places, means = range(len(basis.laws)), gain[:, :1]
    found = []
    for child in np.random.SeedSequence(seed).spawn(N_BATCHES):
        generator = np.random.default_rng(child)
        uniforms = sobol_points(len(places), 2**n_bits, generator)
        values = basis.combine(_inputs_at(basis, places, uniforms), gain).T
        gains_of_points = gained(values, means)
        found.append((gains_of_points.mean(), (gains_of_points > 0).mean()))
    values, flips = np.transpose(found)
    error = float(values.std(ddof=1) / np.sqrt(N_BATCHES))
    return Worth(max(float(values.mean()), 0.0), float(flips.mean()), error)
