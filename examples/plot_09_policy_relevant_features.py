r"""
Policy-relevant features: embeddings of a reward
================================================

A reward has one entry per product, an ensemble has a hundred members. An embedding
maps the entries to a few inputs. Principal components retain what varies most. The
policy may depend on something else: the *policy-relevant features* are the expected
log R behind each choice.
"""

# %%
# 180 products: five catalysts, three bases, twelve additives. Members disagree
#
# - most about the yield of *all* products at once, which affects no choice;
# - much about the additives where the catalyst is not the best one: choices that are
#   not on the trajectory below;
# - a little about each catalyst and each base, on which the first two choices depend.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from gflownet_envs import (
    SequentialSelectionEnvironment,
    policies_along,
    solve_exact,
    trajectory_of_actions,
)
from gflownet_envs.policy_relevant_features import PolicyRelevantFeatures
from skpce import CompositionalPCESurrogate
from skpce.inspection import verdict
from skpce.plotting import RewardEffectsDisplay

environment = SequentialSelectionEnvironment(
    {
        "catalyst": [f"catalyst {i}" for i in range(5)],
        "base": [f"base {i}" for i in range(3)],
        "additive": [f"additive {i}" for i in range(12)],
    }
)
catalyst, base, additive = environment.object_levels().numpy().T
rng = np.random.default_rng(0)


def draw(n_members):
    everything = 3.0 * rng.normal(size=(n_members, 1))
    per_additive = rng.normal(size=(n_members, 12))
    elsewhere = np.where(catalyst > 0, per_additive[:, additive], 0.0)
    per_catalyst = 0.4 * rng.normal(size=(n_members, 5))
    per_base = 0.4 * rng.normal(size=(n_members, 3))
    relevant = per_catalyst[:, catalyst] + per_base[:, base]
    noise = 0.3 * rng.normal(size=(n_members, environment.n_objects))
    return everything + elsewhere + relevant + noise


log_reward = draw(100)
trajectory = trajectory_of_actions(environment, [0, 5, 8])
policies = policies_along(environment, solve_exact(environment, log_reward), trajectory)

# %%
# Shares of the variance of the rewards that each embedding with six inputs holds, and
# what the verdict says. Every fold fits its own embedding. The features of the additive
# are left out: at the last step they are the logits themselves, and no evidence.

features = PolicyRelevantFeatures(
    environment, trajectory=trajectory, relative=True, exclude_steps=["additive"]
)
steps = policies.steps
surrogate = CompositionalPCESurrogate(
    1, steps=steps, mask=policies.mask, solver="ridge", distribution="normal"
)
verdicts = {}
for name, embedding in {
    "PCA": PCA(6),
    "policy-relevant": make_pipeline(features, PCA(6)),
}.items():
    pipeline = make_pipeline(embedding, surrogate).fit(log_reward, policies.y)
    held = pipeline[0].inverse_transform(pipeline[0].transform(log_reward))
    r2 = 1 - np.square(log_reward - held).sum() / (len(held) * log_reward.var(0).sum())
    verdicts[name] = verdict(pipeline, log_reward, policies.y)
    print(f"{name}: holds {r2:.0%} of the variance of the reward")
    states = verdicts[name].drivers.state
    for step, of_step in zip(verdicts[name].steps, states, strict=True):
        n_drivers = (of_step == "drives").sum()
        print(f"  {step.step}: Q² = {step.q2:.2f}, {n_drivers} of 6 inputs drive it")

# %%
# The second embedding retains next to nothing of the reward, and nearly all on which
# two choices depend. The variance that an embedding retains does not measure its value
# for attribution.
#
# The last figure shows on which products each choice depends. All products of one
# catalyst form a group. Shares add up to one, and are negative where the other products
# compensate a group: an effect on all products cancels. The base is chosen after
# catalyst 0, so it depends on the products of this catalyst. The bars of the additive
# are hatched: these inputs do not explain that choice. Two thousand draws of the reward
# give shorter error bars than a hundred members would; they need no policies.

groups = {f"catalyst {i}": np.flatnonzero(catalyst == i) for i in range(5)}
RewardEffectsDisplay.from_estimator(
    pipeline, draw(2000), groups=groups, verdict=verdicts["policy-relevant"]
)
plt.show()
