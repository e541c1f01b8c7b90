"""Continuous inputs of any frozen law: polynomials from the density itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from .._checks import FloatArray
from ._frozen import at_the_origin, describe, family_name, moments
from ._measure import FiniteMeasure
from ._panels import Panels, adapt
from ._tabulated import TOLERANCE, TabulatedLaw, UnresolvedError
from ._tails import tail_cut

# Quantiles that the first panels start from.
_PROBABILITIES = (1e-3, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)

# Nodes of a panel beyond the degree.
_SPARE_NODES = 16

# A law that spreads over many orders of magnitude, such as a lognormal one.
_LOGARITHMIC = frozenset({"lognorm", "fisk", "pareto"})


@dataclass(frozen=True)
class ContinuousLaw(TabulatedLaw):
    r"""A frozen continuous law; polynomials by the discretised Lanczos method [1]_.

    The density becomes a composite Gauss-Legendre rule. Its panels start at quantiles,
    are halved until kinks, jumps and infinite values are resolved, and end where
    :math:`|t|^{2p} f(t)` is negligible. The germ has mean 0 and variance 1.

    A degree passes when the polynomials are orthonormal to 1e-8 under a rule three
    times as fine, the density has mass 1 and moments of order :math:`2p` are finite.

    Parameters
    ----------
    frozen : frozen scipy.stats law
        The law of the input.

    Notes
    -----
    Finite moments of all orders do not make polynomials dense: those of a lognormal
    variable do not come near every function of it [2]_.

    References
    ----------
    .. [1] W. Gautschi, "Orthogonal Polynomials: Computation and Approximation",
       Oxford University Press, 2004, section 2.2.4.
    .. [2] O. G. Ernst, A. Mugler, H.-J. Starkloff and E. Ullmann, "On the convergence
       of generalized polynomial chaos expansions", ESAIM: Mathematical Modelling and
       Numerical Analysis 46 (2012), pp. 317-339.
    """

    frozen: Any = field(kw_only=True)

    polynomial = "A"

    @classmethod
    def learn(cls, column: FloatArray, weights: FloatArray) -> ContinuousLaw:
        raise TypeError("A general law is given frozen.")

    @classmethod
    def from_frozen(cls, frozen: Any) -> ContinuousLaw:
        mean, sd = moments(frozen)
        return cls(float(mean), float(sd), learned=False, frozen=frozen)

    def _tabulate(self, degree: int) -> tuple[FiniteMeasure, FiniteMeasure]:
        unit, loc, scale = at_the_origin(self.frozen)
        n_nodes = degree + _SPARE_NODES
        breakpoints = _breakpoints(unit, self.scale / scale, degree)
        panels = adapt(unit, breakpoints, self.scale / scale, n_nodes)
        tables = [
            _germ(panels, unit, n_nodes, parts, self.location - loc, self.scale, scale)
            for parts in (1, 3)
        ]
        return tables[0], tables[1]

    def _describe(self) -> str:
        return f"the law {describe(self.frozen)}"

    def _advice(self) -> str:
        logarithm = (
            "take the logarithm of the input, or "
            if family_name(self.frozen) in _LOGARITHMIC
            else ""
        )
        return (
            f"Lower the degree, {logarithm}map the input to a normal one, for example "
            "by sklearn.preprocessing.QuantileTransformer("
            "output_distribution='normal')."
        )

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        return np.asarray(self.frozen.rvs(size=size, random_state=generator))

    def goodness_of_fit(self, column: FloatArray) -> float:
        """Kolmogorov-Smirnov against the law."""
        return stats.kstest(column, self.frozen.cdf).pvalue

    @property
    def support(self) -> tuple[float, float]:
        low, high = self.frozen.support()
        return float(low), float(high)


def _breakpoints(unit: Any, sd: float, degree: int) -> FloatArray:
    """Return quantiles, joined to the end of each tail by doubling distances."""
    low, high = unit.support()
    center = float(unit.median())
    if not np.isfinite(low):
        low = tail_cut(unit.logpdf, center, -sd, degree)
    if not np.isfinite(high):
        high = tail_cut(unit.logpdf, center, sd, degree)
    body = unit.ppf(_PROBABILITIES)
    outward = sd * 2.0 ** np.arange(200.0)
    every = np.concatenate([center - outward, body, center + outward])
    inside = every[(every > low) & (every < high)]
    return np.unique(np.concatenate([[low], inside, [high]]))


def _germ(
    panels: Panels,
    unit: Any,
    n_nodes: int,
    parts: int,
    shift: float,  # mean of the input above loc
    sd: float,
    scale: float,
) -> FiniteMeasure:
    """Return the law of the germ on the nodes of the panels."""
    measure = panels.measure(unit.pdf, n_nodes, parts)
    total = float(measure.masses.sum())
    if not abs(total - 1.0) <= TOLERANCE:
        raise UnresolvedError(f"its density integrates to {total:.10g}")
    points = (measure.points * scale - shift) / sd
    return FiniteMeasure(points, measure.masses / total)
