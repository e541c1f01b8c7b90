"""What input laws refuse, and of what they warn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from skpce import InputOutsideSupportWarning, PolynomialChaosFeatures
from skpce._input_laws.families import warn_outside
from skpce._input_laws.tabulated import ContinuousLaw
from tests.shared import cases, refuses
from tests.skpce.laws import law_of


@cases(
    ("frozen", "degree", "message"),
    (stats.t(3), 2, "moment of order 4 .*Lower the degree, map.*QuantileTransf"),
    (stats.pareto(5, scale=2), 3, r"pareto\(b=5, scale=2\).*logarithm of the inp"),
    (stats.lognorm(1.0), 20, r"lognorm\(s=1\).*degree 20.*take the logarithm"),
    (stats.poisson(0.1), 15, r"poisson\(mu=0.1\).*orthonormal only up to"),
)
def test_degrees_that_a_law_does_not_carry(frozen, degree, message):
    law = law_of(frozen)
    with pytest.raises(ValueError, match=f"'distribution' parameter of PCE.*{message}"):
        law.check_degree("PCE", "x0", degree)


def test_a_recurrence_without_moments_is_refused():
    refuses("moment of order 4 is not finite", law_of(stats.t(3)).recurrence, 2)


def test_a_density_of_another_mass_is_refused():
    class Half(stats.rv_continuous):
        def _pdf(self, x):
            return 0.5 + 0 * x

        def _cdf(self, x):
            return x

    law = ContinuousLaw(0.5, 0.3, learned=False, frozen=Half(a=0, b=1, name="half")())
    refuses(r"density integrates to 0\.5", law.check_degree, "PCE", "x0", 2)


def test_clustered_values_carry_few_degrees(rng):
    column = np.concatenate([rng.normal(m, 1e-7, size=20) for m in (0, 1, 2)])
    law = law_of("empirical", column)
    law.check_degree("PCE", "x0", 2)
    message = r"empirical distribution of 60 distinct.*tight groups"
    refuses(message, law.check_degree, "PCE", "x0", 30)


@pytest.mark.parametrize("frozen", [stats.cauchy(), stats.pareto(1.5), stats.t(2)])
def test_laws_without_variance_are_refused(frozen):
    with pytest.raises(ValueError, match=r"standard deviation (nan|inf).*Quantile"):
        PolynomialChaosFeatures(distribution=frozen).fit(np.eye(3, 2))


@cases(
    ("specification", "inside", "outside", "described"),
    (stats.expon(1), [1.0, 50.0], [0.5], r"\[1, inf\]"),
    (stats.binom(3, 0.5), [0.0, 3.0], [-1.0, 1.5, 4.0], r"\{0, 1, 2, 3\}"),
    (stats.randint(0, 50), [49.0], [50.0], r"\{0, 1, 2, ..., 49\}"),
    (stats.poisson(2), [0.0, 400.0], [-1.0, 2.5], r"the whole steps of \[0, inf\]"),
)
def test_values_off_the_support_warn(specification, inside, outside, described):
    law = law_of(specification)
    with warnings.catch_warnings(action="error"):
        warn_outside([law], np.array(inside)[:, np.newaxis], ["x0"])
    n_outside = len(outside)
    message = f"{n_outside} of {n_outside} values of x0 lie outside {described}"
    with pytest.warns(InputOutsideSupportWarning, match=message):
        warn_outside([law], np.array(outside)[:, np.newaxis], ["x0"])
