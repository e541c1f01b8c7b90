r"""
Closed-form Sobol indices: the Ishigami function
================================================

The Ishigami function has three uniform inputs on :math:`[-\pi, \pi]` and Sobol indices
that are known exactly. A polynomial chaos expansion gives them from its coefficients,
without sampling beyond the data of the fit.

Their error depends on the degree, and on whether the distribution of the inputs is
*frozen* (known) or *learned* from the data.
"""

# %%
# The function and its exact indices.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import uniform

from skpce import PolynomialChaosRegressor


def ishigami(X):
    return (
        np.sin(X[:, 0])
        + 7 * np.sin(X[:, 1]) ** 2
        + 0.1 * X[:, 2] ** 4 * np.sin(X[:, 0])
    )


variance_1 = 0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2
variance_2 = 7**2 / 8
variance_13 = 0.1**2 * np.pi**8 * (1 / 18 - 1 / 50)
total = variance_1 + variance_2 + variance_13
exact = np.array([variance_1 + variance_13, variance_2, variance_13]) / total

# %%
# One fit on 1,000 samples. ``uniform(-np.pi, 2 * np.pi)`` is a frozen distribution of
# ``scipy.stats``: no parameter is learned from the data.

X = np.random.default_rng(0).uniform(-np.pi, np.pi, size=(1000, 3))
y = ishigami(X)
frozen = uniform(-np.pi, 2 * np.pi)
model = PolynomialChaosRegressor(12, distribution=frozen, solver="ols").fit(X, y)
print("terms      ", len(model.multi_indices_))
print("Q² (loo)   ", model.q2_.round(6))
print("first order", model.sobol_indices_[0].round(4))
print("total order", model.total_sobol_indices_[0].round(4))
print("exact      ", exact.round(4))

# %%
# With a frozen distribution the error decreases fast with the degree. With bounds
# learned from the data it is limited by the error of these bounds.

degrees = range(2, 14, 2)
errors = {"frozen": [], "learned": []}
for degree in degrees:
    for name, distribution in (("frozen", frozen), ("learned", "uniform")):
        fit = PolynomialChaosRegressor(degree, distribution=distribution, solver="ols")
        found = fit.fit(X, y).total_sobol_indices_[0]
        errors[name].append(np.abs(found - exact).max())

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
positions = np.arange(3)
left.bar(positions - 0.2, exact, width=0.4, label="exact", color="#DDDDDD")
left.bar(
    positions + 0.2,
    model.total_sobol_indices_[0],
    width=0.4,
    label="degree 12",
    color="#0072B2",
)
left.set_xticks(positions, ["x0", "x1", "x2"])
left.set_ylabel("total Sobol index")
left.legend(frameon=False)
styles = {"frozen": ("o", "#0072B2"), "learned": ("s", "#E69F00")}
for name, (marker, color) in styles.items():
    label = f"{name} distribution"
    right.semilogy(degrees, errors[name], marker=marker, color=color, label=label)
right.set_xlabel("degree")
right.set_ylabel("largest error of a total index")
right.legend(frameon=False)
