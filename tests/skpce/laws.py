"""One law, and the products of its functions, for the tests of input laws."""

from __future__ import annotations

import numpy as np

from skpce._input_laws import learn_input_laws


def law_of(specification, column=(0.0, 1.0), weights=None):
    column = np.asarray(column, dtype=float)
    weights = np.ones(len(column)) if weights is None else np.asarray(weights, float)
    return learn_input_laws([specification], column[:, np.newaxis], weights)[0]


def gram(law, degree, nodes, weights):
    values = law.evaluate(nodes, degree) * np.sqrt(weights / weights.sum())
    return values @ values.T
