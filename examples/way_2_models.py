"""
From raw arrays of models to a verdict
======================================

The second of three ways in: classifiers, and bigram models of a language. Each needs
the inputs of its members and one array of shape (members, items, classes).
"""

from itertools import pairwise

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression

from skpce import CompositionalPCESurrogate
from skpce.inspection import verdict

# %%
# Sixty classifiers
# -----------------
# They differ in two hyper-parameters.

wine, grape = load_wine(return_X_y=True)
wine = (wine - wine.mean(axis=0)) / wine.std(axis=0)
settings = np.random.default_rng(0).normal(size=(60, 2))
predicted = [
    LogisticRegression(C=10**c, class_weight={1: 10**w})
    .fit(wine, grape)
    .predict_proba(wine[[68, 83]])
    for c, w in settings
]

# %%
# From here it takes four lines.

X = pd.DataFrame(settings, columns=["log C", "log weight"])
bottles = {"bottle 69": 3, "bottle 84": 3}
surrogate = CompositionalPCESurrogate(
    3, steps=bottles, solver="ridge", distribution="normal"
)
print(verdict(surrogate, X, np.stack(predicted)))

# %%
# Eighty bigram models
# --------------------
# Each was trained on half of the sentences, with its own smoothing, and is read at its
# own temperature. Of each we keep what follows two letters.

language = (
    "the cat sat on the mat. a dog ate the hat. the rat hid at the tea. an ant had "
    "the tea. he hated that hat. the heat at the date. add the data to the deed."
)
text = language.split(".")
letters = sorted(set("".join(text)))
place = {letter: number for number, letter in enumerate(letters)}
rng = np.random.default_rng(0)
settings = rng.uniform([-1, 0.5], [1, 1.5], size=(80, 2))
models = []
for log_smoothing, temperature in settings:
    counts = np.full((len(letters), len(letters)), 10**log_smoothing)
    for sentence in rng.permutation(text)[: len(text) // 2]:
        for first, second in pairwise(sentence):
            counts[place[first], place[second]] += 1
    powers = counts ** (1 / temperature)
    models.append(powers / powers.sum(axis=1, keepdims=True))

# %%
# Again four lines.

X = pd.DataFrame(settings, columns=["log smoothing", "temperature"])
after = {f"after {letter}": len(letters) for letter in "ta"}
surrogate = CompositionalPCESurrogate(
    2, steps=after, distribution="uniform", solver="ridge"
)
y = np.stack(models)[:, [place["t"], place["a"]]]
print(verdict(surrogate, X, y))
