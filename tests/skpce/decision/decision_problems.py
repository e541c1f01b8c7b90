"""Expansions of utilities with known values, and closed forms."""

import numpy as np
from scipy import stats

from skpce import Expansion
from skpce._basis.basis import PolynomialBasis
from skpce._input_laws import NAMED_LAWS, learn_input_laws


def law(frozen):
    return learn_input_laws([frozen], np.zeros((1, 1)), np.ones(1))[0]


def categorical(frequencies):
    codes = np.arange(float(len(frequencies)))
    return NAMED_LAWS["categorical"].learn(codes, np.asarray(frequencies, dtype=float))


def coefficients_of(function, one, degree):
    """Project a polynomial of one input on the functions of its law."""
    nodes, weights = one.quadrature(degree + 1)
    return one.evaluate(nodes, degree) @ (weights * function(nodes))


def expansion_of_lines(laws, means, slopes):
    """Utilities ``mean + slope @ psi_1(x)``, slopes in standard deviations."""
    indices = np.vstack([np.zeros((1, len(laws)), int), np.eye(len(laws), dtype=int)])
    basis = PolynomialBasis(laws, indices)
    return Expansion(basis, np.column_stack([means, slopes]))


def gain_of_normal(mean, deviation):
    """``E max(0, z) - max(0, mean)`` of a normal z."""
    t = mean / deviation
    above = mean * stats.norm.cdf(t) + deviation * stats.norm.pdf(t)
    return above - max(0.0, mean)
