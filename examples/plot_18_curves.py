"""
When an input begins to matter: curves along an axis
====================================================

A model that is boosted tree by tree has a score after each of them. Which settings of
the training drive it, and from how many trees on? Each of the points could be explained
by itself, and each with an error of its own; here they are tested at once, so that the
probability of any wrong claim, of any input at any point, is at most 5 %.
"""

# %%
# 60 trainings with random settings, and their scores on rows left out after 1 to 128
# trees. One input does nothing: it is a random number.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

import skpce

X, y = load_diabetes(return_X_y=True)
rng = np.random.default_rng(0)
trees = [1, 2, 4, 8, 16, 32, 64, 128]
runs = []
for _ in range(60):
    run = {
        "learning_rate": 10 ** rng.uniform(-2.5, -0.3),
        "max_depth": int(rng.integers(1, 6)),
        "min_samples_leaf": int(rng.integers(1, 30)),
    }
    model = GradientBoostingRegressor(n_estimators=trees[-1], random_state=0, **run)
    model.fit(X[:220], y[:220])
    scores = [
        1 - np.mean((y[220:] - p) ** 2) / np.var(y[220:])
        for p in model.staged_predict(X[220:])
    ]
    run["nothing"] = rng.uniform()
    runs.append(run | {f"r2_tree_{n}": scores[n - 1] for n in trees})

# %%
# One output for each point of the curve; their names hold the positions. ``over`` also
# takes them, ``over(trees, name="tree")``.

answer = skpce.explain(
    runs, outputs=[f"r2_tree_{n}" for n in trees], log=["learning_rate"]
)
curves = answer.over()
print(curves)

# %%
# Shares in all with bands that hold for all inputs and points together with 90 %. A dot
# is where an input begins to be shown to matter.

curves.plot()
plt.show()

# %%
# All figures, one row for each input and point.

frame = curves.to_frame()
print(frame[["input", "tree", "p_value", "total", "total_low", "total_high"]].head(8))

# %%
# *Begins to matter* is where it is shown, which is not before it does, and later where
# the effect is small or runs are few. It is no statement that the input does nothing
# before: there the upper end of the band says how much it may do.
