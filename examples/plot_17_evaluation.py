"""
How many items and prompts an evaluation needs
==============================================

Two models are scored on 120 items, each shown in six ways, by trainings of five seeds.
Items, ways and seeds are draws: others would have given another score. Here images of
digits take the place of questions, and shifts and noise that of prompts, so that the
page runs in seconds; rows of an evaluation of language models are read in the same way.
"""

# %%
# One row for each answer: right or wrong.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

import skpce

images, labels = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(images))
items, pool = order[:120], order[120:]


def shown(images, way):
    pictures = images.reshape(-1, 8, 8)
    if way == "as they are":
        return images
    if way.startswith("noise"):
        return images + float(way.split()[1]) * noise
    axis, step = {"left": (2, -1), "right": (2, 1), "up": (1, -1)}[way]
    return np.roll(pictures, step, axis=axis).reshape(len(images), -1)


noise = rng.normal(size=(120, 64))
ways = ["as they are", "left", "right", "up", "noise 3", "noise 6"]
table = {name: [] for name in ("item", "prompt", "seed", "model", "right")}
for seed in range(5):
    train = np.random.default_rng(seed).choice(pool, size=300, replace=False)
    for model in (
        LogisticRegression(max_iter=2000),
        ExtraTreesClassifier(100, random_state=seed),
    ):
        model.fit(images[train], labels[train])
        for way in ways:
            right = model.predict(shown(images[items], way)) == labels[items]
            table["item"] += [f"image {k}" for k in items]
            table["prompt"] += [way] * 120
            table["seed"] += [seed] * 120
            table["model"] += [type(model).__name__] * 120
            table["right"] += right.tolist()

# %%
# Models are all that there are: a fixed factor. Items may be hard in one way of showing
# them, or for one of the models: these are components too.

found = skpce.variance_components(
    table,
    "right",
    fixed=["model"],
    random=["item", "prompt", "seed", "item:prompt", "item:model"],
)
print(found)

# %%
# Most of the error is that of six ways of showing the images. Five times as many images
# hardly help; twice as many ways do.

for sizes in ({"item": 600}, {"prompt": 12}, {"seed": 20}):
    print(sizes, round(found.standard_error(sizes), 3))

# %%
# The bars are the components, with their intervals.

found.plot()
plt.show()
