r"""Second moments of the gradient of an expansion, in closed form.

The derivative of an orthonormal polynomial is a combination of those of lower degree,
:math:`\psi_k' = \sum_{l < k} D_{kl}\,\psi_l` with :math:`D_{kl} = E[\psi_k' \psi_l]`
by Gauss quadrature. So every partial derivative is an expansion in the same basis, and
:math:`E[\partial_a f\, \partial_b f]` is the product of their coefficients [1]_.

References
----------
.. [1] P. G. Constantine, "Active Subspaces: Emerging Ideas for Dimension Reduction in
   Parameter Studies", SIAM, 2015, section 1.2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._checks import FloatArray, IndexArray
from .._input_laws import InputLaw


def gradient_moments(
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_inputs)
    laws: Sequence[InputLaw],
) -> FloatArray:  # shape: (n_targets, n_inputs, n_inputs)
    """Return ``E[grad f grad f^T]`` in the units of the inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce._input_laws import NormalLaw
    >>> from skpce.inspection._gradient_moments import gradient_moments
    >>> multi_indices = np.array([[0, 0], [1, 0], [0, 1]])
    >>> laws = [NormalLaw(0.0, 1.0), NormalLaw(0.0, 2.0)]
    >>> gradient_moments(np.array([[9.0, 3.0, 4.0]]), multi_indices, laws)[0].tolist()
    [[9.0, 6.0], [6.0, 4.0]]
    """
    positions: dict[bytes, int] = {}
    for row in multi_indices:
        positions.setdefault(np.ascontiguousarray(row).tobytes(), len(positions))
    parts = []
    for a, law in enumerate(laws):
        lower = _lower_degrees(law, int(multi_indices[:, a].max(initial=0)))
        for term in np.flatnonzero(multi_indices[:, a]):
            row = multi_indices[term].copy()
            for degree in range(multi_indices[term, a]):
                row[a] = degree
                target = positions.setdefault(row.tobytes(), len(positions))
                slope = lower[multi_indices[term, a], degree]
                parts.append((a, target, term, slope))
    derivatives = np.zeros((len(laws), len(positions), len(coefficients)))
    for a, target, term, slope in parts:
        derivatives[a, target] += slope * coefficients[:, term]
    return np.einsum("akt,bkt->tab", derivatives, derivatives)


def _lower_degrees(law: InputLaw, degree: int) -> FloatArray:
    """Return ``D`` with ``D[k, l]`` the part of ``psi_l`` in ``psi_k'``."""
    if not law.is_polynomial:
        raise ValueError(
            f"{type(law).__name__} is a law without derivatives; the derivative-based "
            "measure needs inputs that are numbers."
        )
    nodes, weights = law.quadrature(degree + 1)
    slopes = law.differentiate(nodes, degree)
    return (slopes * weights) @ law.evaluate(nodes, degree).T
