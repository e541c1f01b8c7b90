"""
Which input drives which output
===============================

Forty-eight trainings of a gradient boosting model, at 24 settings drawn at random with
two seeds each. :func:`skpce.explain` says which hyper-parameter drives the accuracy,
and which the size of the model, with an error rate for all that it says.
"""

# %%
# The runs
# --------
# One row for each run. The number of leaves is drawn, and does nothing that the depth
# does not do already: with a depth of at most four, there are never more than 16.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier

import skpce

images, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(images))
train, valid = order[:300], order[300:1300]

runs = []
for _ in range(24):
    setting = {
        "learning_rate": 10 ** rng.uniform(-2.5, 0.0),
        "max_depth": int(rng.integers(1, 5)),
        "max_leaf_nodes": int(rng.integers(17, 65)),
        "subsample": rng.uniform(0.5, 1.0),
    }
    for seed in (0, 1):
        model = GradientBoostingClassifier(
            n_estimators=8, random_state=seed, **setting
        ).fit(images[train], digits[train])
        nodes = sum(tree.tree_.node_count for tree in model.estimators_.ravel())
        accuracy = model.score(images[valid], digits[valid])
        runs.append(setting | {"seed": seed, "accuracy": accuracy, "nodes": nodes})

# %%
# The answer
# ----------
# ``replicate`` names the column that counts repeats, and ``log`` inputs of which the
# logarithm is taken. The other columns are inputs.

answer = skpce.explain(
    runs, outputs=["accuracy", "nodes"], replicate="seed", log=["learning_rate"]
)
print(answer)

# %%
# The picture: what each input explains alone (dark) and with others (light), with
# intervals that hold for all of them at once.

answer.plot()
plt.show()

# %%
# What the drivers do, with the runs behind it.

answer.plot_effects()
plt.show()

# %%
# Noise
# -----
# The same inputs, and an output that is a random number. Nothing is said to drive it;
# with 24 settings little can be said not to matter, either. The error rate is 5 %: of
# twenty such outputs, each asked about alone, one may be said to have a driver.

random_numbers = np.random.default_rng(1)
for run in runs:
    run["noise"] = random_numbers.normal()
inputs = ["learning_rate", "max_depth", "max_leaf_nodes", "subsample"]
nothing = skpce.explain(
    runs, inputs=inputs, outputs="noise", replicate="seed", log=["learning_rate"]
)
print("\n".join(nothing.sentences))

# %%
# ``answer.report("report.html")`` writes one page with all of this.
