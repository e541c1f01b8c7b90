"""
Few samples: the fit without settings beside solvers
====================================================

With more terms than samples what is assumed of the coefficients decides most of them.
Two kinds of functions suit two kinds of solver.

*Few large coefficients*: the Ishigami function. A sparse solver finds the terms.

*Many coefficients that decay with the degree*: a smooth function of many inputs. A
ridge does well, and better still with prior variances that fall with the degree.

Without a solver these variances are learned for each input, which suits both.
"""

# %%
# Two functions of uniform inputs.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import uniform

from skpce import MoreTermsThanRowsWarning, PolynomialChaosRegressor


def ishigami(X):
    x1, x2, x3 = np.pi * X[:, :3].T
    return np.sin(x1) + 7 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1)


def smooth(X):
    weights = 0.75 ** np.arange(X.shape[1])
    return np.exp(0.7 * X @ weights)


problems = {
    "Ishigami, degree 10 (286 terms)": (ishigami, 3, 10),
    "smooth, 8 inputs, degree 3 (165 terms)": (smooth, 8, 3),
}

# %%
# The error on new points, over the variance: the median of five random designs. Each
# fit warns of more terms than samples, which is what is studied here.

warnings.simplefilter("ignore", MoreTermsThanRowsWarning)
solvers = {
    "ridge": ("#888888", "o"),
    "subspace_pursuit": ("#E69F00", "^"),
    None: ("#000000", "x"),
}
sizes = (30, 50, 80, 120, 200)
inputs = uniform(-1, 2)


def median_error(function, n_inputs, degree, solver, size):
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, size=(size, n_inputs))
        new = rng.uniform(-1, 1, size=(5000, n_inputs))
        model = PolynomialChaosRegressor(degree, distribution=inputs, solver=solver)
        residual = function(new) - model.fit(X, function(X)).predict(new)
        errors.append(np.mean(residual**2) / np.var(function(new)))
    return np.median(errors)


fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, (title, problem) in zip(axes, problems.items(), strict=True):
    for solver, (color, marker) in solvers.items():
        errors = [median_error(*problem, solver, size) for size in sizes]
        ax.loglog(sizes, errors, color=color, marker=marker, label=solver or "learned")
    ax.set_title(title, fontsize=10)
    ax.set_xlabel("samples")
    ax.set_xticks(sizes, labels=sizes)
    ax.minorticks_off()
axes[0].set_ylabel("mean squared error / variance")
axes[0].legend(frameon=False)
plt.show()
