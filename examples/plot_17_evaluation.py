"""
How many items and prompts an evaluation needs
==============================================

Two language models, of word counts and a recurrent network, are asked how passages of
Shakespeare's plays go on: which of four continuations is the true one? Each of 120
passages is shown in six ways, by trainings of four seeds, and the answer is read off in
two ways. Passages, ways and seeds are draws: others would have given another score.
"""

# %%
# The models
# ----------
# Words of plays in the public domain. Blocks of twenty lines are for training or for
# questions.

import re
import sys
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

import skpce
from gflownet_envs.datasets import fetch_shakespeare

try:
    import torch

    text = fetch_shakespeare(n_retries=0)
except (OSError, ImportError) as error:
    sys.exit(f"This page needs torch and the plays, which are not there: {error}")

rng = np.random.default_rng(0)
lines = [line.lower() for line in text.splitlines() if not line.endswith(":")]
pattern = re.compile(r"[a-z]+(?:'[a-z]+)*|[.,:;!?]")
blocks = [pattern.findall(" ".join(lines[k : k + 20])) for k in range(0, 20_000, 20)]
common = [word for word, _ in Counter(w for b in blocks for w in b).most_common(1499)]
number = {word: k + 1 for k, word in enumerate(common)}  # 0: all other words
coded = [np.array([number.get(word, 0) for word in block]) for block in blocks]
is_mark = np.array([False] + [not word[0].isalpha() for word in common])
asked = set(rng.choice(len(blocks), 100, replace=False).tolist())
pool = [block for k, block in enumerate(coded) if k not in asked]


class Counts:
    """Shares of words after two, one and no words, one after the other."""

    def __init__(self, train, seed):
        self.after = [Counter(), Counter(), Counter()]
        self.seen = [Counter(), Counter(), Counter()]
        for block in train:
            for k in range(2, len(block)):
                for n in range(3):
                    context = tuple(block[k - n : k])
                    self.after[n][(*context, block[k])] += 1
                    self.seen[n][context] += 1

    def log_probabilities(self, rows, n_last):
        """Return those of the last words of rows, each given the words before it."""
        found = np.empty((len(rows), n_last))
        for i, row in enumerate(rows):
            for j, k in enumerate(range(len(row) - n_last, len(row))):
                p = 1.0 / 1500
                for n in range(min(k, 2) + 1):
                    context = tuple(row[k - n : k])
                    weight = self.seen[n][context] / (self.seen[n][context] + 5.0)
                    share = self.after[n][(*context, row[k])] + 5.0 * p
                    p = share / (self.seen[n][context] + 5.0) if weight else p
                found[i, j] = np.log(p)
        return found


class Network(torch.nn.Module):
    """A recurrent network of 64 units."""

    def __init__(self, train, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.embed = torch.nn.Embedding(1500, 32)
        self.cells = torch.nn.GRU(32, 64, batch_first=True)
        self.head = torch.nn.Linear(64, 1500)
        stream = torch.tensor(np.concatenate(train))
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        for _ in range(250):
            starts = torch.randint(len(stream) - 13, (64,))
            rows = stream[starts[:, None] + torch.arange(13)]
            optimizer.zero_grad()
            logits = self(rows[:, :-1]).flatten(0, 1)
            torch.nn.functional.cross_entropy(logits, rows[:, 1:].flatten()).backward()
            optimizer.step()

    def forward(self, rows):
        return self.head(self.cells(self.embed(rows))[0])

    @torch.no_grad()
    def log_probabilities(self, rows, n_last):
        rows = torch.tensor(rows)
        found = self(rows[:, :-1]).log_softmax(-1)
        return found.gather(2, rows[:, 1:, None])[:, -n_last:, 0].numpy()


# %%
# The questions
# -------------
# A passage of eight words, the three words that follow, and those that follow three
# other passages.

places = [
    (block[:at], block[at : at + 3])
    for block in (coded[k] for k in sorted(asked))
    for at in range(16, len(block) - 3, 12)
    if (block[at - 8 : at + 3] > 0).all()
]
places = [places[k] for k in rng.choice(len(places), 120, replace=False)]
every = np.arange(120)
others = [rng.choice(np.delete(every, k), 3, replace=False) for k in every]
choices = np.array(
    [[places[k][1], *(places[o][1] for o in others[k])] for k in range(120)]
)

ways = {
    "eight words": lambda before: before[-8:],
    "four words": lambda before: before[-4:],
    "two words": lambda before: before[-2:],
    "no marks": lambda before: before[~is_mark[before]][-6:],
    "words turned": lambda before: before[-4:][::-1],
    "a word left out": lambda before: np.r_[before[-5:-2], before[-1:]],
}
table = {name: [] for name in ("item", "prompt", "seed", "model", "scorer", "right")}
for seed in range(4):
    chosen = np.random.default_rng(seed).permutation(len(pool))[:500]
    for kind in (Counts, Network):
        model = kind([pool[k] for k in chosen], seed)
        for way, show in ways.items():
            shown = np.array([show(before) for before, _ in places])
            rows = np.concatenate([np.repeat(shown[:, None], 4, axis=1), choices], 2)
            logs = model.log_probabilities(rows.reshape(480, -1), 3).reshape(120, 4, 3)
            for scorer, n_words in (("first word", 1), ("three words", 3)):
                right = logs[:, :, :n_words].sum(axis=2).argmax(axis=1) == 0
                table["item"] += [f"passage {k}" for k in range(120)]
                table["prompt"] += [way] * 120
                table["seed"] += [seed] * 120
                table["model"] += [kind.__name__] * 120
                table["scorer"] += [scorer] * 120
                table["right"] += right.tolist()

right, model, scorer = (np.array(table[k]) for k in ("right", "model", "scorer"))
for kind in ("Counts", "Network"):
    for name in ("first word", "three words"):
        print(kind, name, right[(model == kind) & (scorer == name)].mean().round(3))

# %%
# What the score hangs on
# -----------------------
# Models and scorers are all that there are: fixed factors. Items may be hard in one way
# of showing them, or for one of the models: these are components too.

found = skpce.variance_components(
    table,
    "right",
    fixed=["model", "scorer"],
    random=["item", "prompt", "seed", "item:prompt", "item:model", "item:scorer"],
)
print(found)

# %%
# The mean is over both models and both scorers. The score of one model under one scorer
# has a larger error, now and with other sizes; more trainings hardly help.

for sizes in ({"seed": 4}, {"seed": 20}, {"item": 600}, {"prompt": 12}):
    print(sizes, round(found.standard_error(sizes), 3))

# %%
# The bars are the components, with their intervals.

found.plot()
plt.show()
