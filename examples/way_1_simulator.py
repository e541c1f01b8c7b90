"""
From a table of a simulator to indices, a search and a report
=============================================================

The first of three ways in: a CSV file with one row for each run.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV

from skpce import PolynomialChaosRegressor, report
from skpce.inspection import verdict

# %%
# The file: 200 runs of a simulator with three inputs. Yours is there already.

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
runs = pd.DataFrame(
    rng.uniform(-np.pi, np.pi, (200, 3)), columns=["tilt", "load", "wind"]
)
runs["lift"] = np.sin(runs.tilt) + 2 * np.sin(runs.load) ** 2
runs["lift"] += 0.1 * runs.wind**2 * np.sin(runs.tilt) + 0.05 * rng.normal(size=200)
runs.to_csv(folder / "runs.csv", index=False)

# %%
# What explains the lift? Each index has a 90 % interval.

table = pd.read_csv(folder / "runs.csv")
X, y = table[["tilt", "load", "wind"]], table["lift"]
bounds = dict.fromkeys(X, (-np.pi, np.pi))
model = PolynomialChaosRegressor(5, distribution=bounds, solver="ridge").fit(
    X[:160], y[:160]
)
interval = model.sobol_interval(n_resamples=200, random_state=0)
low, high = interval.total_order[:, 0]
for i, name in enumerate(X):
    total = model.total_sobol_indices_[0, i]
    print(f"{name}: {total:.2f} [{low[i]:.2f}, {high[i]:.2f}]")

# %%
# Which degree? A search repeats no warning, also where the range is learned.

search = GridSearchCV(
    PolynomialChaosRegressor(distribution="uniform", solver="ridge"),
    {"degree": [1, 3, 5, 7]},
    cv=5,
)
print(search.fit(X[:160], y[:160]).best_params_)

# %%
# Which input drives it? The report has the answer, pictures and tables in one file.

found = verdict(
    PolynomialChaosRegressor(5, distribution=bounds, solver="ridge"),
    X,
    y,
)
print("\n".join(found.sentences))
report(model, X[160:], y[160:], path=folder / "report.html", verdict=found)
