r"""
Which feature? Indices behind a PCA
===================================

An expansion after a PCA has indices of principal components, while indices of the
original features are of interest. These are dependent, so three measures that coincide
for independent inputs differ:

- the share of the variance that the feature explains (first order);
- the change of the prediction when this feature alone changes;
- shares of the variance that add up to one (covariances).

Permutation importance is a fourth one: the loss of the score on rows whose feature was
permuted.
"""

# %%
# Ten features of 442 patients. Two blood measurements (``s1``, ``s2``) have a
# correlation of 0.9. Degree 2 predicts no better here (cross-validated R² 0.47), so the
# expansion is linear.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.inspection import permutation_importance
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpce import PolynomialChaosRegressor
from skpce.inspection import back_to_reward, sobol_indices

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
pipeline = make_pipeline(
    StandardScaler(),
    PCA(5),
    PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
)
pipeline.fit(X_train, y_train)
print("correlation of s1 and s2", X["s1"].corr(X["s2"]).round(2))
print("R², cross-validated     ", cross_val_score(pipeline, X, y).mean().round(2))
print("R², held-out rows       ", round(pipeline.score(X_test, y_test), 2))

# %%
# Sobol indices of the pipeline in its ten features assume that these are independent.
# They are not, and the result has a reason that names the correlation.

independent = sobol_indices(pipeline, X_train, random_state=0)
print(independent)

# %%
# From the components back to the features: their columns are moved before the
# embedding, as far as they vary.

behind = back_to_reward(pipeline, X_train)
print(behind)

# %%
# Permutation importance of the same pipeline, on held-out rows.

permuted = permutation_importance(
    pipeline, X_test, y_test, n_repeats=50, random_state=0
).importances_mean

# %%
# The four measures differ. ``sex`` alone explains nothing of the prediction, yet the
# prediction depends on it: its effect is hidden by correlated features, and both
# changes and permutations find it. ``s4`` is the opposite: it explains a third by its
# correlations, and changing it changes little. First-order shares overlap: they add up
# to almost three. Covariances add up to one; they are negative where the other features
# make up for one.

measures = {
    "first order,\nwith what PCA drops": behind.explained_alone[0],
    "share\n(of the covariance)": behind.share[0],
    "change for one\nstandard deviation": behind.effect_size[0],
    "permutation importance\n(loss of R²)": permuted,
}
for name, values in measures.items():
    print(f"{name.replace(chr(10), ' '):36s} sum {values.sum():.2f}")

order = np.argsort(-behind.share[0])
figure, axes = plt.subplots(1, 4, figsize=(10, 3.9), sharey=True, layout="constrained")
colors = ["#0072B2", "#E69F00", "#009E73", "#999999"]
for ax, color, (name, values) in zip(axes, colors, measures.items(), strict=True):
    ax.barh(X.columns[order], values[order], color=color)
    ax.set_title(name, fontsize=9)
    ax.axvline(0, color="black", linewidth=0.5)
axes[0].invert_yaxis()
