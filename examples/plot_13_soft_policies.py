r"""
Reinforcement learning with exact answers: what a policy depends on
===================================================================

An agent crosses a frozen lake. Nobody knows how slippery the ice is, what the goal is
worth, how bad it is to fall into a hole, or how impatient the agent should be. For
each guess the soft-optimal policy is computed exactly, so that the ensemble has no
training noise and the answer can be checked: Sobol indices of the policy by brute
force, from 7,000 more solutions of the dynamic programme.

One input is irrelevant by construction: the reward in a cell that cannot be reached.
"""

# %%
# The lake is a grid of four by four cells. ``S`` is the start, ``H`` a hole, ``G`` the
# goal and ``X`` a cell behind walls. A move goes in the intended direction, or, with
# the probability of slipping, to either side. The soft-optimal policy solves
# :math:`Q = r + \gamma P V`, :math:`V(s) = \tau \log \sum_a e^{Q(s, a) / \tau}` and is
# :math:`\pi(a \mid s) \propto e^{Q(s, a) / \tau}`; all members are solved together.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import logsumexp, softmax
from scipy.stats import norm, uniform

from skpce import CompositionalPCESurrogate
from skpce.ensembles import sample_inputs
from skpce.inspection import verdict
from skpce.plotting import SobolDisplay

LAKE = ["SFFF", "FHFH", "FFFH", "HFGX"]
MOVES = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
TEMPERATURE = 0.1
cells = np.array([list(row) for row in LAKE])
kind = cells.ravel()


def neighbour(cell, move):
    """Return the cell after a move; walls and the closed cell stop it."""
    row, column = np.clip(np.add(divmod(cell, 4), move), 0, 3)
    target = 4 * row + column
    return cell if kind[target] == "X" else target


after = np.array([[neighbour(s, move) for move in MOVES.values()] for s in range(16)])
ends = np.isin(kind, ["H", "G"])


def solve(inputs):
    """Return soft-optimal policies; shape (n_members, 16 cells, 4 moves)."""
    slip, goal, hole, discount, nowhere = np.asarray(inputs, dtype=float).T[..., None]
    reward = np.where(kind == "G", goal, np.where(kind == "H", hole, 0.0))
    reward = reward + np.where(kind == "X", nowhere, 0.0)
    value = np.zeros_like(reward)
    for _ in range(200):
        gain = (reward + discount * np.where(ends, 0.0, value))[:, after]
        sides = (np.roll(gain, 1, axis=2) + np.roll(gain, -1, axis=2)) / 2
        q = (1 - slip[..., None]) * gain + slip[..., None] * sides
        value = TEMPERATURE * logsumexp(q / TEMPERATURE, axis=2)
    return softmax(q / TEMPERATURE, axis=2)


# %%
# The ensemble: 120 guesses, spread evenly, and the policy in four cells on the way.
# Each cell is one step with four possible moves.

distributions = {
    "slip": uniform(0.0, 0.4),
    "goal": norm(1.0, 0.2),
    "hole": norm(-0.5, 0.2),
    "discount": uniform(0.85, 0.14),
    "nowhere": norm(0.0, 1.0),
}
places = {"start": 0, "beside the hole": 4, "the narrow way": 8, "the last cell": 13}


def decisions(inputs):
    chosen = solve(inputs)[:, list(places.values())]
    columns = pd.MultiIndex.from_product([places, MOVES])
    return pd.DataFrame(chosen.reshape(len(chosen), -1), columns=columns)


X = sample_inputs(distributions, 120, random_state=0)
y = decisions(X)
model = CompositionalPCESurrogate(
    3, distribution=list(distributions.values()), solver="ridge"
)
exact_members = np.zeros(len(places))  # shares of training noise: there is none
found = verdict(model, X, y, noise_share=exact_members)
print(found)

# %%
# All four decisions are attributable. The indices beside those of brute force: two
# independent samples of 1,000 guesses each, one input exchanged at a time, and the
# variance of the log-ratios that the exchange causes (Jansen's estimator).


def exact_indices(n=1000):
    one, two = (
        sample_inputs(distributions, n, "random", random_state=seed).to_numpy()
        for seed in (1, 2)
    )

    def clr(inputs):
        logs = np.log(decisions(inputs).to_numpy()).reshape(n, len(places), 4)
        return logs - logs.mean(axis=2, keepdims=True)

    of_one, of_two = clr(one), clr(two)
    variance = np.concatenate([of_one, of_two]).var(axis=0).sum(axis=1)
    total = []
    for i in range(len(distributions)):
        exchanged = one.copy()
        exchanged[:, i] = two[:, i]
        change = np.square(of_one - clr(exchanged)).mean(axis=0) / 2
        total.append(change.sum(axis=1) / variance)
    return np.array(total).T


model.fit(X, y)
exact = exact_indices()
names = list(distributions)
print(pd.DataFrame(model.step_total_sobol_indices_, places, names).round(2))
print(pd.DataFrame(exact, places, names).round(2))
error = np.abs(model.step_total_sobol_indices_ - exact)
print(f"mean error {error.mean():.3f}, largest {error.max():.3f}")

# %%
# The input that cannot matter has the total index 0 in truth; the fit gives it what its
# noise amounts to.

largest = model.step_total_sobol_indices_[:, names.index("nowhere")].max()
print(f"largest total index of the irrelevant input: {largest:.3f}")

# %%
# How slippery the ice is and how impatient the agent is decide nearly everything; what
# the goal and the holes are worth decides little within these ranges.

display = SobolDisplay.from_estimator(model, verdict=found)
display.figure_.set_size_inches(8, 4)
plt.show()
