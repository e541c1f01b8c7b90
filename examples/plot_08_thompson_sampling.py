r"""
Decide, observe, learn: Thompson sampling
=========================================

An ensemble describes many plausible rewards; the true one is not known. Each round a
product is made and its reward measured, with noise.
:class:`skpce.decision.ThompsonPolicy` draws the inputs from what is believed of them,
acts by the surrogate's policy there, and updates the belief.

The rivals: the mean policy, and the raw ensemble with weights on its 30 members.
"""

# %%
# Six catalysts, five bases: 30 products. Their rewards are known functions of four
# hidden inputs, so that the policy of a member is exact: each product with probability
# proportional to the exponential of four times its reward. The choice of the base has
# one step for each catalyst.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import logsumexp, softmax

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce.decision import ThompsonPolicy

n_members, n_inputs, n_rounds, noise_sd = 30, 4, 30, 0.5
rng = np.random.default_rng(0)
mean = rng.normal(scale=0.5, size=30)
slopes, squares = rng.normal(scale=0.5, size=(2, n_inputs, 30))


def reward(X):
    return mean + np.sqrt(0.8) * X @ slopes + np.sqrt(0.1) * (X**2 - 1) @ squares


def policies(X):
    log_reward = 4 * reward(X).reshape(-1, 6, 5)
    catalyst = softmax(logsumexp(log_reward, axis=2), axis=1)
    return np.hstack([catalyst, softmax(log_reward, axis=2).reshape(-1, 30)])


X = rng.normal(size=(n_members, n_inputs))
steps = {"catalyst": 6, **{f"base after {c}": 5 for c in range(6)}}
surrogate = CompositionalPCESurrogate(
    2, steps=steps, solver="ridge", distribution="normal"
).fit(X, policies(X))
outcome = PolynomialChaosRegressor(2, solver="ridge", distribution="normal").fit(
    X, reward(X)
)
# The leave-one-out error of the regressor is added to the noise.
total_sd = np.sqrt(noise_sd**2 + outcome.loo_error_)

# %%
# One campaign. The whole decision comes from one draw of the inputs: the base is
# chosen for the rewards for which the catalyst was.

truth = reward(rng.normal(size=(1, n_inputs)))[0]
policy = ThompsonPolicy(surrogate, random_state=0).fit()
for _ in range(3):
    decision = policy.choose()
    catalyst = decision.actions[0]
    product = 5 * catalyst + decision.actions[1 + catalyst]
    measured = truth[product] + noise_sd * rng.normal()
    policy.update(measured, outcome=outcome, noise_sd=total_sd[product], which=product)
    print(f"product {product}: {measured:.2f} (best: {truth.max():.2f})")
print(policy.belief_)

# %%
# Forty campaigns, each with another true reward that no member has. All arms of a
# campaign have the same noise. *Sampled* takes actions by the probabilities of the
# policy, *greedy* the likeliest.


def follow(policy, greedy, rng):
    def take(p):
        return p.argmax() if greedy else rng.choice(len(p), p=p)

    catalyst = take(policy[:6])
    return 5 * catalyst + take(policy[6:].reshape(6, 5)[catalyst])


def with_surrogate(greedy, rng, rule, learns=True):
    policy = ThompsonPolicy(
        surrogate,
        rule=rule,
        greedy=greedy,
        n_particles=300,
        method="kalman",  # weights would leave few of 300 particles after 30 rounds
        random_state=rng,
    ).fit()

    def choose():
        actions = policy.choose().actions
        return 5 * actions[0] + actions[1 + actions[0]]

    def learn(product, measured):
        if learns:
            sd = total_sd[product]
            policy.update(measured, outcome=outcome, noise_sd=sd, which=product)

    return choose, learn


def with_members(greedy, rng):
    generator = np.random.default_rng(rng.randint(2**31))
    rewards, acts, logs = reward(X), policies(X), np.zeros(n_members)

    def choose():
        member = generator.choice(n_members, p=softmax(logs))
        return follow(acts[member], greedy, generator)

    def learn(product, measured):
        logs[:] -= 0.5 * ((measured - rewards[:, product]) / noise_sd) ** 2

    return choose, learn


arms = {
    "Thompson, surrogate": lambda *a: with_surrogate(*a, "draw"),
    "mean policy, learning": lambda *a: with_surrogate(*a, "mean"),
    "mean policy, fixed": lambda *a: with_surrogate(*a, "mean", learns=False),
    "Thompson, 30 members": with_members,
}


def cumulative_regret(make, greedy, seed):
    campaign = np.random.default_rng((1, seed))
    truth = reward(campaign.normal(size=(1, n_inputs)))[0]
    noise = noise_sd * campaign.normal(size=(n_rounds, 30))
    choose, learn = make(greedy, np.random.RandomState(seed))
    regret = np.empty(n_rounds)
    for t in range(n_rounds):
        product = choose()
        learn(product, truth[product] + noise[t, product])
        regret[t] = truth.max() - truth[product]
    return regret.cumsum()


found = {
    (name, greedy): np.array(
        [cumulative_regret(make, greedy, seed) for seed in range(40)]
    )
    for name, make in arms.items()
    for greedy in (False, True)
}

# %%
# Median and middle half of the campaigns (of the fixed policy only the median: its
# campaigns differ by more than the picture is high).

styles = {
    "Thompson, surrogate": ("C0", "-"),
    "mean policy, learning": ("C1", "--"),
    "mean policy, fixed": ("C2", ":"),
    "Thompson, 30 members": ("C7", "-."),
}
fig, axes = plt.subplots(
    1, 2, figsize=(9.5, 4), sharex=True, sharey=True, layout="constrained"
)
rounds = np.arange(1, n_rounds + 1)
for ax, greedy in zip(axes, (False, True), strict=True):
    for name, (color, line) in styles.items():
        low, middle, high = np.quantile(found[name, greedy], [0.25, 0.5, 0.75], axis=0)
        ax.plot(rounds, middle, line, color=color, label=name, linewidth=2)
        if name != "mean policy, fixed":
            ax.fill_between(rounds, low, high, color=color, alpha=0.15, linewidth=0)
    ax.set_title("greedy" if greedy else "sampled", fontsize=11)
    ax.set_xlabel("round")
axes[0].set_ylabel("cumulative regret")
axes[0].legend(frameon=False, loc="upper left")
plt.show()

# %%
# The means after the last round, and the paired difference from Thompson sampling with
# the surrogate (95 % interval).

for (name, greedy), regret in found.items():
    last = regret[:, -1]
    gap = last - found["Thompson, surrogate", greedy][:, -1]
    half = 1.96 * gap.std(ddof=1) / np.sqrt(len(gap))
    how = "greedy" if greedy else "sampled"
    print(f"{name:22} {how:8} {last.mean():5.1f}   {gap.mean():+5.1f} ± {half:.1f}")

# %%
# The arms that learn lose far less than the fixed mean policy. None of them is clearly
# the best here: thirty members with weights do as well as the surrogate, and
# the greedy mean, which never explores, is often right at once. The page on decisions
# in the user guide compares more arms, for 10 to 300 members.
