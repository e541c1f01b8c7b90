"""
Displays and a report
=====================

One surrogate, every picture. Each display reads a fitted estimator or a Pipeline that
ends in one, takes the names of the inputs from it, and keeps the numbers it draws.
"""

# %%
# An ensemble: what differs between the members are twelve measurements of five hidden
# quantities. Three decisions depend on them; the second decision is mostly noise.

import numpy as np
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from skpce import CompositionalPCESurrogate
from skpce.inspection import verdict
from skpce.plotting import (
    ConvergenceDisplay,
    EmbeddingDisplay,
    InteractionDisplay,
    MainEffectsDisplay,
    SobolDisplay,
    StepVarianceDisplay,
)

rng = np.random.default_rng(0)
n_members = 160
hidden = rng.normal(size=(n_members, 5))
X = hidden * [3, 2, 1.5, 1, 0.7] @ rng.normal(size=(5, 12))
X += 0.3 * rng.normal(size=X.shape)


def decision(n_actions, weights, noise):
    slopes = rng.normal(size=(5, n_actions)) * np.array(weights)[:, None]
    product = np.outer(hidden[:, 0] * hidden[:, 1], rng.normal(size=n_actions))
    logits = hidden @ slopes + 0.4 * product
    return softmax(logits + noise * rng.normal(size=logits.shape), axis=1)


y = np.hstack(
    [
        decision(4, (1, 0.3, 0, 0, 0.1), noise=0.3),
        decision(6, (0.2, 0.2, 0.2, 0, 0), noise=2.0),
        decision(3, (0, 1, 0.5, 0, 0), noise=0.3),
    ]
)
pipeline = make_pipeline(
    PCA(4, whiten=True),
    CompositionalPCESurrogate(
        2,
        steps={"catalyst": 4, "halide": 6, "base": 3},
        solver="ridge",
        distribution="normal",
    ),
)
pipeline.fit(X[:120], y[:120])

# %%
# The verdict first. Displays with ``verdict=`` show its shares, with their intervals,
# and mark the steps that nothing is shown to drive.

found = verdict(pipeline, X[:120], y[:120])
print(found)
SobolDisplay.from_estimator(pipeline, verdict=found)

# %%
# The same shares as a table in colours, with names of our own for the inputs.

names = ["level", "contrast", "region", "tail"]
SobolDisplay.from_estimator(
    pipeline, verdict=found, input_features=names, kind="heatmap"
)

# %%
# How fragile is each step? Variances of log-ratios and distances of probabilities need
# not agree.

StepVarianceDisplay.from_estimator(pipeline, y[:120], verdict=found)

# %%
# Effects of single inputs, and of pairs.

MainEffectsDisplay.from_estimator(
    pipeline, targets=["catalyst:0", "halide:0", "base:0"], verdict=found
)

# %%

InteractionDisplay.from_estimator(pipeline, step=0, verdict=found)

# %%
# The inputs compared with the assumed distributions, and the number of members.

EmbeddingDisplay.from_estimator(pipeline)

# %%

ConvergenceDisplay.from_estimator(pipeline, X, y, sizes=(20, 40, 80, 120), n_repeats=3)

# %%
# All of it in one file, for someone who does not run Python:
# ``skpce.report(pipeline, X[120:], y[120:], verdict=found, path="report.html")``.
