"""Test functions with known inputs and known Sobol indices.

Every function is a frozen specification: the distributions of its inputs (frozen laws
of scipy) and the function itself. The indices of ``SUITE`` stand in ``indices.json``: a
scrambled Sobol sequence of 2^17 points, eight times, with the largest standard error of
a mean of the eight. It is made by ``python -m benchmarks.pce.functions``.

The first eight have uniform inputs on [-1, 1]; the others have published inputs in
their own units. ``KEPT_BACK`` are looked at only when a fit is finished.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import (
    gumbel_r,
    lognorm,
    loguniform,
    norm,
    qmc,
    rv_continuous,
    triang,
    truncnorm,
    uniform,
)

from .additive_kernel import elementary_sums

FloatArray = NDArray[np.float64]
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Indices:
    """Sobol indices of every input, and the variance they are shares of."""

    variance: float
    first: FloatArray
    total: FloatArray


@dataclass(frozen=True)
class BenchmarkFunction:
    """A function of independent inputs with known laws."""

    name: str
    laws: tuple[Any, ...]
    evaluate: Callable[[FloatArray], FloatArray]

    def sample(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Draw a Monte-Carlo design of shape (n_samples, n_features)."""
        return np.column_stack(
            [law.rvs(size=n_samples, random_state=rng) for law in self.laws]
        )

    def data(self, n_samples: int, seed: int) -> tuple[FloatArray, FloatArray]:
        """Draw a design and the values of the function, without noise."""
        X = self.sample(n_samples, np.random.default_rng(seed))
        return X, self.evaluate(X)

    @property
    def indices(self) -> Indices:
        """The indices that ``indices.json`` has of a function of ``SUITE``."""
        found = _table()[self.name]
        first, total = np.array(found["first"]), np.array(found["total"])
        return Indices(found["variance"], first, total)


@cache
def _table() -> dict[str, Any]:
    return json.loads((HERE / "indices.json").read_text(encoding="utf-8"))


def pick_freeze(
    evaluate: Callable[[FloatArray], FloatArray],
    laws: Sequence[Any],
    log2_points: int,
    seed: int = 0,
) -> Indices:
    """Estimate indices by exchanging one column of two designs, both ways.

    The symmetric formulas of Azzini, Mara and Rosati (2021): their errors are those of
    Jansen's for totals, and vanish with the index for first orders.
    """
    n_inputs = len(laws)
    points = qmc.Sobol(2 * n_inputs, seed=np.random.default_rng(seed))
    u = np.clip(points.random_base2(log2_points), 1e-9, 1 - 1e-9)
    X = np.column_stack([laws[i % n_inputs].ppf(u[:, i]) for i in range(2 * n_inputs)])
    one, two = X[:, :n_inputs], X[:, n_inputs:]
    at_one, at_two = evaluate(one), evaluate(two)
    first, total = np.zeros((2, n_inputs))
    for i in range(n_inputs):
        changed = []
        for kept, other in ((one, two), (two, one)):
            mixed = kept.copy()
            mixed[:, i] = other[:, i]
            changed.append(evaluate(mixed))
        scale = np.sum((at_one - at_two) ** 2 + (changed[0] - changed[1]) ** 2)
        if scale <= 1e-14 * np.sum(at_one**2):
            continue
        joint = (changed[1] - at_two) * (at_one - changed[0])
        alone = (at_two - changed[1]) ** 2 + (at_one - changed[0]) ** 2
        first[i], total[i] = 2 * np.sum(joint) / scale, np.sum(alone) / scale
    return Indices(float(np.var(np.r_[at_one, at_two])), first, total)


def between(low: float, high: float) -> Any:
    """Return the uniform law on [low, high]."""
    return uniform(low, high - low)


def lognormal(mean: float, variation: float) -> Any:
    """Return the lognormal law with a mean and a coefficient of variation."""
    spread = np.sqrt(np.log1p(variation**2))
    return lognorm(spread, scale=mean * np.exp(-(spread**2) / 2))


def triangle(low: float, mode: float, high: float) -> Any:
    """Return the triangular law."""
    return triang((mode - low) / (high - low), low, high - low)


class _Truncated(rv_continuous):
    """A law between two bounds."""

    def __init__(self, law: Any, low: float, high: float) -> None:
        self.law, self.ends = law, (low, high)
        self.below, self.above = law.cdf([low, high])
        super().__init__(a=low, b=high)

    def _updated_ctor_param(self) -> dict[str, Any]:
        return dict(zip(("law", "low", "high"), (self.law, *self.ends), strict=True))

    def _pdf(self, x: FloatArray) -> FloatArray:
        return self.law.pdf(x) / (self.above - self.below)

    def _cdf(self, x: FloatArray) -> FloatArray:
        return (self.law.cdf(x) - self.below) / (self.above - self.below)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self.law.ppf(self.below + q * (self.above - self.below))


def ishigami(X: FloatArray, a: float = 7.0, b: float = 0.1) -> FloatArray:
    """Sin x1 + a sin² x2 + b x3⁴ sin x1."""
    return np.sin(X[:, 0]) * (1 + b * X[:, 2] ** 4) + a * np.sin(X[:, 1]) ** 2


G_WEIGHTS = np.array([0.0, 1.0, 4.5, 9.0, 99.0, 99.0])


def sobol_g(X: FloatArray) -> FloatArray:
    """Product of (|4 x - 2| + a) / (1 + a) over the inputs."""
    return np.prod((np.abs(4 * X - 2) + G_WEIGHTS) / (1 + G_WEIGHTS), axis=1)


LOG_RADIUS = (7.71, 1.0056)


def borehole(X: FloatArray) -> FloatArray:
    """Water flow through a borehole; column 1 is the standardised input of r."""
    radius = np.exp(LOG_RADIUS[0] + LOG_RADIUS[1] * X[:, 1])
    return _flow(X, radius)


def _flow(X: FloatArray, radius: FloatArray) -> FloatArray:
    rw, _, t_upper, h_upper, t_lower, h_lower, length, conductivity = X.T
    log_ratio = np.log(radius / rw)
    leakage = 2 * length * t_upper / (log_ratio * rw**2 * conductivity)
    flow = 2 * np.pi * t_upper * (h_upper - h_lower)
    return flow / (log_ratio * (1 + leakage + t_upper / t_lower))


def plateau(X: FloatArray) -> FloatArray:
    """Level, slope and fall in one input, with two small others."""
    rise = -np.log1p(np.exp(-6 * (X[:, 0] + 0.4)))
    fall = 6 * np.maximum(X[:, 0] - 0.5, 0) ** 2
    return rise - fall + 0.15 * X[:, 1] + 0.1 * X[:, 0] * X[:, 2]


def step(X: FloatArray) -> FloatArray:
    """A step, a second one above it, and a line."""
    above = X[:, 0] > 0.2
    return above * (1 + 0.3 * (X[:, 1] > -0.3)) + 0.1 * X[:, 2]


def robot_arm(X: FloatArray) -> FloatArray:
    """Distance of the end of an arm of four links (An and Owen 2001)."""
    angle, length = np.cumsum(np.pi * (X[:, :4] + 1), axis=1), (X[:, 4:] + 1) / 2
    return np.hypot((length * np.cos(angle)).sum(1), (length * np.sin(angle)).sum(1))


def friedman(X: FloatArray) -> FloatArray:
    """Friedman (1991), with three inputs that do nothing."""
    x = (X.T + 1) / 2
    curved = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2
    return curved + 10 * x[3] + 5 * x[4]


def damped(X: FloatArray) -> FloatArray:
    """A damped wave in two inputs, and a line."""
    wave = np.exp(-1.5 * (X[:, 0] + 1)) * np.cos(4 * (X[:, 1] + 1))
    return wave + 0.2 * X[:, 2]


def tanh_sum(X: FloatArray) -> FloatArray:
    """Six saturating inputs that matter less and less."""
    return np.tanh(2 * X[:, :6]) @ (1 / np.arange(1, 7))


def otl_circuit(X: FloatArray) -> FloatArray:
    """Midpoint voltage of a push-pull circuit (Ben-Ari and Steinberg 2007)."""
    b1, b2, f, c1, c2, gain = X.T
    strong = gain * (c2 + 9)
    base = 12 * b2 / (b1 + b2) + 0.74
    return (base * strong + 11.35 * f + 0.74 * f * strong / c1) / (strong + f)


def piston(X: FloatArray) -> FloatArray:
    """Cycle time of a piston (Kenett and Zacks 1998)."""
    mass, surface, volume, spring, pressure, ambient, filling = X.T
    gas = spring * pressure * volume * ambient / filling
    force = pressure * surface + 19.62 * mass - spring * volume / surface
    now = surface / (2 * spring) * (np.sqrt(force**2 + 4 * gas) - force)
    stiffness = spring + surface**2 * gas / spring / now**2
    return 2 * np.pi * np.sqrt(mass / stiffness)


def damped_oscillator(X: FloatArray) -> FloatArray:
    """Reserve of a secondary spring (Igusa and Der Kiureghian 1985)."""
    mass_p, mass_s, k_p, k_s, zeta_p, zeta_s, noise, capacity = X.T
    omega_p, omega_s = np.sqrt(k_p / mass_p), np.sqrt(k_s / mass_s)
    omega, zeta = (omega_p + omega_s) / 2, (zeta_p + zeta_s) / 2
    tuning, mass = (omega_p - omega_s) / omega, mass_s / mass_p
    both = zeta_p * zeta_s * (4 * zeta**2 + tuning**2) + mass * zeta**2
    power = (zeta_p * omega_p**3 + zeta_s * omega_s**3) * omega_p
    square = np.pi * noise / (4 * zeta_s * omega_s**3) * zeta * zeta_s / both
    return capacity - 3 * k_s * np.sqrt(square * power / (4 * zeta * omega**4))


def flood(X: FloatArray) -> FloatArray:
    """Height of a river above its dyke (Iooss and Lemaître 2015)."""
    flow, strickler, below, above, dyke, bank, length, width = X.T
    height = (flow / (width * strickler * np.sqrt((above - below) / length))) ** 0.6
    return below + height - dyke - bank


def sulfur(X: FloatArray) -> FloatArray:
    """Forcing by sulfate aerosols: a product (Charlson and others 1992)."""
    return -0.5 * 1361 * 3e12 / 5.1e14 / 365 * np.prod(X, axis=1)


def cantilever(X: FloatArray) -> FloatArray:
    """Displacement of a beam of length 100, by two loads (Dakota's manual)."""
    side, top, modulus, width, thickness = X.T
    bend = np.hypot(top / thickness**2, side / width**2)
    return 4e6 / (modulus * width * thickness) * bend


def sir_peak(X: FloatArray) -> FloatArray:
    """Largest share infected at once, in closed form, with some vaccinated before."""
    contact, days, start, vaccinated = X.T
    susceptible, ratio = 1 - vaccinated - start, contact * days
    grown = np.maximum(ratio * susceptible, 1)
    return start + susceptible - (1 + np.log(grown)) * susceptible / grown


def additive(X: FloatArray) -> FloatArray:
    """Fourteen inputs, each a slope and a bend, equally important."""
    return np.sum(X + 0.3 * (3 * X**2 - 1), axis=1)


def high_frequency(X: FloatArray) -> FloatArray:
    """Six periods in one input, and a line."""
    return np.sin(6 * np.pi * X[:, 0]) + 0.3 * X[:, 1]


def nothing(X: FloatArray) -> FloatArray:
    """Zero: all of y is noise."""
    return np.zeros(len(X))


def wing_weight(X: FloatArray) -> FloatArray:
    """Weight of a wing (Forrester, Sobester and Keane 2008)."""
    area, fuel, aspect, sweep, pressure, taper, thick, load, weight, paint = X.T
    cosine = np.cos(np.radians(sweep))
    shape = (aspect / cosine**2) ** 0.6 * (100 * thick / cosine) ** -0.3
    size = 0.036 * area**0.758 * fuel**0.0035 * pressure**0.006 * taper**0.04
    return size * shape * (load * weight) ** 0.49 + area * paint


def environmental(X: FloatArray) -> FloatArray:
    """Concentration after two spills at one place and time (Bliznyuk 2008)."""
    mass, rate, place, time = X.T
    s, t = 1.0, 40.0

    def spill(distance: Any, since: Any) -> FloatArray:
        spread = 4 * rate * since
        return mass / np.sqrt(np.pi * spread) * np.exp(-(distance**2) / spread)

    return spill(s, t) + spill(s - place, t - time)


@cache
def _oakley() -> FloatArray:
    return np.loadtxt(HERE / "oakley_ohagan.csv", delimiter=",")


def oakley_ohagan(X: FloatArray) -> FloatArray:
    """Lines, waves and a quadratic form of fifteen inputs (2004)."""
    lines, sines, cosines, *form = _oakley()
    waves = X @ lines + np.sin(X) @ sines + np.cos(X) @ cosines
    return waves + np.sum(X @ np.array(form) * X, axis=1)


def welch(X: FloatArray) -> FloatArray:
    """Twenty inputs, few of them important (Welch and others 1992)."""
    x = X.T
    slopes = np.array(
        [0, 5, 8, 0, 100, -3, 3, 0, -9, -1, -7, 0, 0, -4, 6, 0, -1, -3, -500, 0]
    )
    curved = 5 * x[11] / (1 + x[0]) + 5 * (x[3] - x[19]) ** 2
    return curved + 40 * x[18] ** 3 + 0.25 * x[12] ** 2 + X @ slopes / 100


def morris(X: FloatArray) -> FloatArray:
    """Twenty inputs with interactions of up to four (1991; weak ones alternate)."""
    w = 2 * (X - 0.5)
    for i in (2, 4, 6):
        w[:, i] = 2 * (1.1 * X[:, i] / (X[:, i] + 0.1) - 0.5)
    signs = (-1.0) ** np.arange(1, 21)
    lines = np.where(np.arange(20) < 10, 20.0, signs)
    pairs = np.outer(signs, signs)
    pairs[:6, :6] = -15
    third = elementary_sums(w[:, :5].T)[2]
    fourth = np.prod(w[:, :4], axis=1)
    quadratic = np.sum(w @ np.triu(pairs, 1) * w, axis=1)
    return w @ lines + quadratic - 10 * third + 5 * fourth


def bratley(X: FloatArray) -> FloatArray:
    """Alternating sum of the products of the first one, two, ... inputs (1992)."""
    products = np.cumprod(X, axis=1)
    return products @ (-1.0) ** np.arange(1, X.shape[1] + 1)


def short_column(X: FloatArray) -> FloatArray:
    """Reserve of a column of 5 by 15 (Kuschel and Rackwitz 1997)."""
    stress, moment, force = X.T
    return 1 - 4 * moment / (1125 * stress) - force**2 / (5625 * stress**2)


def dette_pepelyshev(X: FloatArray) -> FloatArray:
    """Highly curved in three inputs, with logarithms of the others (2010)."""
    x = X.T
    curved = 4 * (x[0] - 2 + 8 * x[1] - 8 * x[1] ** 2) ** 2 + (3 - 4 * x[1]) ** 2
    curved += 16 * np.sqrt(x[2] + 1) * (2 * x[2] - 1) ** 2
    sums = np.cumsum(X[:, 2:], axis=1)[:, 1:]
    return curved + np.log1p(sums) @ np.arange(4, 9)


def ebola(X: FloatArray) -> FloatArray:
    """Basic reproduction number (Diaz and others 2018)."""
    b1, b2, b3, hospital, recovery, burial, removal, treated = X.T
    dead = b3 / burial * treated
    return (b1 + b2 * hospital * recovery / removal + dead) / (recovery + treated)


def franke(X: FloatArray) -> FloatArray:
    """Two hills and a dip (1979)."""
    x, y = 9 * X.T
    hill = 0.75 * np.exp(-((x - 2) ** 2 + (y - 2) ** 2) / 4)
    ridge = 0.75 * np.exp(-((x + 1) ** 2) / 49 - (y + 1) / 10)
    peak = 0.5 * np.exp(-((x - 7) ** 2 + (y - 3) ** 2) / 4)
    return hill + ridge + peak - 0.2 * np.exp(-((x - 4) ** 2) - (y - 7) ** 2)


def corner(X: FloatArray) -> FloatArray:
    """A threshold that two inputs have to pass, and one that a third passes."""
    return (X[:, 0] > 0) * (X[:, 1] > -0.5) + 0.4 * (X[:, 2] > 0.3)


def loeppky(X: FloatArray) -> FloatArray:
    """Ten inputs, three of them with interactions (Loeppky and others 2013)."""
    x = X.T
    lines = X @ np.array([6, 4, 5.5, 1, 0.5, 0.2, 0.1, 0, 0, 0])
    return lines + 3 * x[0] * x[1] + 2.2 * x[0] * x[2] + 1.4 * x[1] * x[2]


ISHIGAMI = BenchmarkFunction("Ishigami", (between(-np.pi, np.pi),) * 3, ishigami)
SOBOL_G = BenchmarkFunction("Sobol g", (between(0, 1),) * 6, sobol_g)
BOREHOLE = BenchmarkFunction(
    "borehole",
    (
        norm(0.10, 0.0161812),
        norm(0, 1),
        between(63070, 115600),
        between(990, 1110),
        between(63.1, 116),
        between(700, 820),
        between(1120, 1680),
        between(9855, 12045),
    ),
    borehole,
)

SIGNED, UNIT = between(-1, 1), between(0, 1)
FIRST_EIGHT = (
    replace(ISHIGAMI, laws=(SIGNED,) * 3, evaluate=lambda X: ishigami(np.pi * X)),
    BenchmarkFunction("plateau", (SIGNED,) * 5, plateau),
    BenchmarkFunction("step", (SIGNED,) * 5, step),
    BenchmarkFunction("robot arm", (SIGNED,) * 8, robot_arm),
    replace(SOBOL_G, laws=(SIGNED,) * 6, evaluate=lambda X: sobol_g((X + 1) / 2)),
    BenchmarkFunction("Friedman", (SIGNED,) * 8, friedman),
    BenchmarkFunction("damped", (SIGNED,) * 4, damped),
    BenchmarkFunction("tanh", (SIGNED,) * 8, tanh_sum),
)


def _uniform(
    name: str, evaluate: Callable[[FloatArray], FloatArray], *ends: tuple[float, float]
) -> BenchmarkFunction:
    return BenchmarkFunction(name, tuple(between(*pair) for pair in ends), evaluate)


#: The null: it has no variance, and is scored by the noise that a fit predicts.
NOTHING = BenchmarkFunction("nothing", (SIGNED,) * 8, nothing)
OTHERS = (
    replace(
        BOREHOLE,
        laws=tuple(
            lognorm(LOG_RADIUS[1], scale=np.exp(LOG_RADIUS[0])) if i == 1 else law
            for i, law in enumerate(BOREHOLE.laws)
        ),
        evaluate=lambda X: _flow(X, X[:, 1]),
    ),
    _uniform(
        "OTL circuit",
        otl_circuit,
        *((50, 150), (25, 70), (0.5, 3), (1.2, 2.5), (0.25, 1.2), (50, 300)),
    ),
    _uniform(
        "piston",
        piston,
        *((30, 60), (0.005, 0.02), (0.002, 0.01), (1000, 5000)),
        *((90000, 110000), (290, 296), (340, 360)),
    ),
    BenchmarkFunction(
        "damped oscillator",
        (
            *(lognormal(1.5, 0.1), lognormal(0.01, 0.1), lognormal(1, 0.2)),
            *(lognormal(0.01, 0.2), lognormal(0.05, 0.4), lognormal(0.02, 0.5)),
            *(lognormal(100, 0.1), lognormal(15, 0.1)),
        ),
        damped_oscillator,
    ),
    BenchmarkFunction(
        "flood",
        (
            _Truncated(gumbel_r(1013, 558), 500, 3000)(),
            truncnorm((15 - 30) / 8, np.inf, 30, 8),
            *(triangle(49, 50, 51), triangle(54, 55, 56), between(7, 9)),
            *(triangle(55, 55.5, 56), triangle(4990, 5000, 5010)),
            triangle(295, 300, 305),
        ),
        flood,
    ),
    BenchmarkFunction(
        "Sulfur",
        tuple(
            lognorm(np.log(spread), scale=middle)
            for middle, spread in (
                *((71, 1.15), (0.5, 1.5), (5.5, 1.5), (5, 1.4), (0.3, 1.3)),
                *((1.7, 1.2), (0.58, 1.4), (0.39, 1.1), (0.72, 1.2)),
            )
        ),
        sulfur,
    ),
    BenchmarkFunction(
        "cantilever",
        (
            *(norm(500, 100), norm(1000, 100), norm(2.9e7, 1.45e6)),
            *(between(2, 3), between(3, 4)),
        ),
        cantilever,
    ),
    BenchmarkFunction(
        "SIR",
        (between(0.1, 0.5), between(4, 14), loguniform(1e-4, 1e-2), between(0, 0.4)),
        sir_peak,
    ),
    BenchmarkFunction("additive of 14", (SIGNED,) * 14, additive),
    BenchmarkFunction("high frequency", (SIGNED,) * 4, high_frequency),
    NOTHING,
)
KEPT_BACK = (
    _uniform(
        "wing weight",
        wing_weight,
        *((150, 200), (220, 300), (6, 10), (-10, 10), (16, 45), (0.5, 1)),
        *((0.08, 0.18), (2.5, 6), (1700, 2500), (0.025, 0.08)),
    ),
    _uniform(
        "environmental",
        environmental,
        *((7, 13), (0.02, 0.12), (0.01, 3), (30.01, 30.295)),
    ),
    BenchmarkFunction("Oakley-O'Hagan", (norm(0, 1),) * 15, oakley_ohagan),
    BenchmarkFunction("Welch", (between(-0.5, 0.5),) * 20, welch),
    BenchmarkFunction("Morris", (UNIT,) * 20, morris),
    BenchmarkFunction("Bratley", (UNIT,) * 8, bratley),
    BenchmarkFunction(
        "short column",
        (lognormal(5, 0.1), norm(2000, 400), norm(500, 100)),
        short_column,
    ),
    BenchmarkFunction("Dette-Pepelyshev", (UNIT,) * 8, dette_pepelyshev),
    _uniform(
        "Ebola",
        ebola,
        *((0.1, 0.4), (0.1, 0.4), (0.05, 0.2), (0.41, 1), (0.0276, 0.1702)),
        *((0.081, 0.21), (0.25, 0.5), (0.0833, 0.7)),
    ),
    BenchmarkFunction("Franke", (UNIT,) * 2, franke),
    BenchmarkFunction("corner", (SIGNED,) * 5, corner),
    BenchmarkFunction("Loeppky", (UNIT,) * 10, loeppky),
)
SUITE = {function.name: function for function in FIRST_EIGHT + OTHERS + KEPT_BACK}


def main(log2_points: int = 17, n_repeats: int = 8) -> None:
    """Write the table of indices; a function a line."""
    lines = []
    for name, function in SUITE.items():
        found = [
            pick_freeze(function.evaluate, function.laws, log2_points, seed)
            for seed in range(n_repeats)
        ]
        row = {"variance": float(np.mean([one.variance for one in found]))}
        errors = []
        for part in ("first", "total"):
            values = np.array([getattr(one, part) for one in found])
            row[part] = [round(float(value), 6) for value in values.mean(axis=0)]
            errors.append(values.std(axis=0, ddof=1).max() / np.sqrt(n_repeats))
        row["error"] = float(f"{max(errors):.1g}")
        lines.append(f"{json.dumps(name)}: {json.dumps(row)}")
        print(name, row["error"], flush=True)
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (HERE / "indices.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
