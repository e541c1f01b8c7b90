r"""The value of knowing some of the inputs of an expansion, before deciding.

Knowing the inputs of a set :math:`u` changes the expected utilities to the marginal
expansions :math:`E[f_k \mid x_u]`, which retain the terms within the set [1]_. Of one
input that matters the value is exact (``envelope``). Other sets take scrambled Sobol'
points, whose batches give a standard error.

References
----------
.. [1] M. Strong, J. E. Oakley and A. Brennan, "Estimating multiparameter partial
   expected value of perfect information from a probabilistic sensitivity analysis
   sample", Medical Decision Making 34 (2014), equation 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._basis.basis import PolynomialBasis
from ..._checks import FloatArray
from ..._input_laws.pieces import quantiles, rule_of_pieces, sobol_points
from .envelope import Worth, gained, gains, value_of_input

N_BATCHES = 16  # scrambled point sets; they give the standard error


def value_of_inputs(
    basis: PolynomialBasis,
    coefficients: FloatArray,  # shape: (n_actions, n_terms)
    features: Sequence[int],
    n_samples: int,
    seed: int,
) -> Worth:
    """Return the value of knowing some inputs, the others averaged out.

    Of several that matter it is the mean over batches of scrambled Sobol' points.
    """
    own, rows = basis.of_inputs(sorted(features))
    gain, _ = gains(coefficients[:, rows])
    matter = np.flatnonzero((own.multi_indices[gain.any(axis=0)] > 0).any(axis=0))
    if not len(matter):
        return Worth(0.0, 0.0)
    own, kept = own.of_inputs(matter.tolist())
    gain = gain[:, kept]
    if len(matter) == 1:
        own, gain = own.without_waves(gain)
        degrees = own.multi_indices[:, 0]
        table = np.zeros((len(gain), int(degrees.max()) + 1))
        table[:, degrees] = gain
        return value_of_input(own.laws[0], table)
    n_bits = max(int(np.ceil(np.log2(n_samples / N_BATCHES))), 3)
    places, means = range(len(matter)), gain[:, :1]
    found = []
    for child in np.random.SeedSequence(seed).spawn(N_BATCHES):
        uniforms = sobol_points(len(places), 2**n_bits, np.random.default_rng(child))
        values = own.combine(_inputs_at(own, places, uniforms), gain).T
        gains_of_points = gained(values, means)
        found.append((gains_of_points.mean(), (gains_of_points > 0).mean()))
    worths, flips = np.transpose(found)
    error = float(worths.std(ddof=1) / np.sqrt(N_BATCHES))
    return Worth(max(float(worths.mean()), 0.0), float(flips.mean()), error)


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
