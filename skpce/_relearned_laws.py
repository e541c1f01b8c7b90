r"""Laws of the inputs that every resample learns anew.

A law that was learned from the members, such as a normal law with their mean and
standard deviation, is an estimate too: indices of the expansion change with it. A
resample of the members has laws of its own, and its indices are those of its fit under
them. The fit stays a polynomial, so it need not be made again: with
:math:`\psi_l = \sum_{k \le l} m_{kl}\, \tilde\psi_k`, where
:math:`m_{kl} = \tilde E[\tilde\psi_k \psi_l]` by Gauss quadrature, the coefficients in
the functions of the new laws are

.. math:: \tilde c_j = \sum_l c_l \prod_i m^{(i)}_{j_i l_i},

one input after another. The index set holds every term below one of its own (it is
downward closed), so nothing is lost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._basis import PolynomialBasis
from ._input_laws import InputLaw
from ._solvers import CoefficientSolver, LinearFit, LinearProblem

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int64]


class RelearningSolver(CoefficientSolver):
    """A solver whose resamples have coefficients under input laws of their own.

    Parameters
    ----------
    solver : CoefficientSolver
        Fits and refits.
    basis : PolynomialBasis
        Of the fit; its index set is downward closed.
    X : ndarray of shape (n_members, n_features)
        Inputs of the members.
    """

    def __init__(
        self, solver: CoefficientSolver, basis: PolynomialBasis, X: FloatArray
    ) -> None:
        self.solver = solver
        self.basis = basis
        self.X = X

    def fit(self, problem: LinearProblem) -> LinearFit:
        return self.solver.fit(problem)

    def refit(self, problem: LinearProblem, fit: LinearFit) -> FloatArray:
        return self.solver.refit(problem, fit)

    def resample(
        self, problem: LinearProblem, fit: LinearFit, counts: IndexArray
    ) -> FloatArray:
        """Refit, and learn the laws anew; shape (n_resamples, n_targets, n_terms)."""
        coefficients = self.solver.resample(problem, fit, counts)
        for feature in np.flatnonzero(relearnable(self.basis)):
            column = self.X[:, feature]
            matrices = change_of_basis(
                self.basis.laws[feature],
                column,
                counts,
                int(self.basis.multi_indices[:, feature].max()),
            )
            coefficients = _change_one_input(
                coefficients, matrices, self.basis.multi_indices, feature
            )
        return coefficients


def relearnable(basis: PolynomialBasis) -> NDArray[np.bool_]:
    """Which inputs have polynomials of a law that was learned; shape (n_features,).

    Contrasts of categories stay: a resample may lack a category.
    """
    return np.array([law.learned and law.is_polynomial for law in basis.laws])


def change_of_basis(
    law: InputLaw,
    column: FloatArray,  # shape: (n_members,)
    counts: IndexArray,  # shape: (n_resamples, n_members)
    degree: int,
) -> FloatArray:  # shape: (n_resamples, degree + 1, degree + 1)
    """Return ``m_kl`` of each resample; the identity where its law has too few values.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._input_laws import NormalLaw
    >>> from skpce._relearned_laws import change_of_basis
    >>> column, counts = np.array([-1.0, 1.0, 3.0]), np.array([[1, 1, 0], [0, 1, 1]])
    >>> law = NormalLaw(0.0, 1.0)  # of the fit; the resamples have means 0 and 2
    >>> change_of_basis(law, column, counts, 1)
    array([[[1., 0.],
            [0., 1.]],
    <BLANKLINE>
           [[1., 2.],
            [0., 1.]]])
    """
    matrices = np.repeat(np.eye(degree + 1)[np.newaxis], len(counts), axis=0)
    if degree == 0:
        return matrices
    nodes, weights = law.quadrature(degree + 1)
    germ, values = law.standardize(nodes), law.evaluate(nodes, degree)
    recurrence = np.concatenate(law.recurrence(degree))
    for matrix, row in zip(matrices, counts, strict=True):
        drawn = row > 0
        new = type(law).learn(column[drawn], row[drawn].astype(np.float64))
        if new.largest_degree < degree:
            continue
        at, share, functions = new.location + new.scale * germ, weights, values
        if not np.array_equal(np.concatenate(new.recurrence(degree)), recurrence):
            at, share = new.quadrature(degree + 1)
            functions = new.evaluate(at, degree)
        matrix[...] = (functions * share) @ law.evaluate(at, degree).T
    return np.triu(matrices)


def _change_one_input(
    coefficients: FloatArray,  # shape: (n_resamples, n_targets, n_terms)
    matrices: FloatArray,  # shape: (n_resamples, degree + 1, degree + 1)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    feature: int,
) -> FloatArray:  # shape: (n_resamples, n_targets, n_terms)
    """Add up the terms that differ from each term in one exponent alone."""
    position = {tuple(row): k for k, row in enumerate(multi_indices.tolist())}
    changed = np.zeros_like(coefficients)
    for steps in range(matrices.shape[1]):
        above = multi_indices[multi_indices[:, feature] >= steps]
        below = above.copy()
        below[:, feature] -= steps
        sources = [position[tuple(row)] for row in above.tolist()]
        targets = [position[tuple(row)] for row in below.tolist()]
        factors = matrices[:, below[:, feature], above[:, feature]]
        changed[:, :, targets] += factors[:, np.newaxis] * coefficients[:, :, sources]
    return changed
