"""
Bagged classifiers: an ensemble without GFlowNets
=================================================

One hundred logistic regressions, each on another bootstrap sample of the wine data,
judge three bottles on which they disagree. What differs between the members is their
sample. Which property of the sample explains which judgement?

The answer depends on the inputs that describe a sample. The verdict compares two
descriptions.
"""

# %%
# Bootstrap samples, classifiers, and the bottles whose predicted class varies most.
# The bottles are part of the data: a bootstrap sample holds each of them 0, 1, 2, ...
# times.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from skpce import CompositionalPCESurrogate
from skpce.inspection import verdict
from skpce.plotting import SobolDisplay

data = load_wine()
features, grape = scale(data.data), data.target
n_members, n_rows = 100, len(grape)

samples = np.random.default_rng(0).integers(n_rows, size=(n_members, n_rows))
models = [LogisticRegression().fit(features[rows], grape[rows]) for rows in samples]
probabilities = np.array([model.predict_proba(features) for model in models])

bottles = np.sort(np.argsort(probabilities.std(axis=0).sum(axis=1))[-3:])
for bottle in bottles:
    mean = probabilities[:, bottle].mean(axis=0).round(2)
    spread = probabilities[:, bottle].std(axis=0).round(2)
    print(f"bottle {bottle}: mean {mean}, standard deviation {spread}")

# %%
# First description: two class counts (the third follows) and the means of three
# measured quantities. Second: how often the sample holds each of the three bottles.

described = ["alcohol", "flavanoids", "proline"]
columns = [data.feature_names.index(name) for name in described]
summary = [
    [
        *np.bincount(grape[rows], minlength=3)[:2],
        *features[rows][:, columns].mean(axis=0),
    ]
    for rows in samples
]
copies = [[np.sum(rows == bottle) for bottle in bottles] for rows in samples]
descriptions = {
    "summary": pd.DataFrame(summary, columns=["count 0", "count 1", *described]),
    "copies": pd.DataFrame(copies, columns=[f"copies of {b}" for b in bottles]),
}

# %%
# One step per bottle. The verdict refits the surrogate in every fold, and tests each
# input.

y = probabilities[:, bottles].reshape(n_members, -1)
names = [f"bottle {bottle}" for bottle in bottles]
surrogates, verdicts = {}, {}
for name, X in descriptions.items():
    surrogate = CompositionalPCESurrogate(
        1, steps=dict.fromkeys(names, 3), solver="ridge", distribution="normal"
    ).fit(X, y)
    surrogates[name] = surrogate
    verdicts[name] = verdict(surrogate, X, y)
    print(f"--- {name}\n{verdicts[name]}\n")

# %%
# Grey is what the description does not predict. Copies are counts and not normally
# distributed, so that the shares in the picture are approximate.

figure, axes = plt.subplots(2, 1, figsize=(8, 5), layout="constrained")
for ax, (name, surrogate) in zip(axes, surrogates.items(), strict=True):
    SobolDisplay.from_estimator(surrogate, verdict=verdicts[name], ax=ax)
    ax.set_title(f"described by: {name}", loc="left")
axes[0].set_xlabel("")
