"""
What the verdict catches
========================

Three ensembles have the same size. In the first, the policies depend on the inputs. In
the second they do not. In the third they do, but most of the variance between the
members is noise of their training. All three have closed-form Sobol indices, and those
of the second would name an input that does nothing; the verdict tells them apart.
"""

# %%
# A policy over four actions depends on the first two of three inputs. The noise is
# added to the log-probabilities of the members.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax

from skpce import CompositionalPCESurrogate
from skpce.inspection import variance_decomposition, verdict
from skpce.plotting import SobolDisplay

rng = np.random.default_rng(0)
n_members = 150
X = rng.normal(size=(n_members, 3))
pattern = rng.normal(size=(2, 4))
logits = np.stack([X[:, 0], X[:, 1]], axis=1) @ pattern
exact = softmax(logits, axis=1)


def trained(size):
    """Policies whose training left noise of this size."""
    return softmax(logits + size * rng.normal(size=logits.shape), axis=1)


ensembles = {
    "signal": (X, trained(0.3), exact),
    "noise inputs": (rng.normal(size=X.shape), trained(0.3), exact),
    "training noise": (X, trained(1.3), exact),
}

# %%
# The surrogate alone: indices, and the Q² of leaving out one member that ``fit``
# computes.

fitted, verdicts = {}, {}
for name, (inputs, y, _) in ensembles.items():
    model = CompositionalPCESurrogate(
        2, steps={name: 4}, solver="ridge", distribution="normal"
    ).fit(inputs, y)
    fitted[name] = model
    total, q2 = model.step_total_sobol_indices_[0], model.expansion_.q2[0]
    print(f"{name:15} total indices {total.round(2)}, Q² = {q2:z.2f}")

# %%
# The verdict. Exact policies are known here, so the share of training noise in the
# variance is too.

for name, (inputs, y, target) in ensembles.items():
    share = variance_decomposition(y, exact=target, steps=(4,)).noise_share
    verdicts[name] = verdict(fitted[name], inputs, y, noise_share=share)
    print(verdicts[name].steps[0])
    print(f"{share[0]:.0%} of the variance is training noise.", end="\n\n")

# %%
# The Sobol indices of the three ensembles. Grey is the unexplained share.

figure, axes = plt.subplots(3, 1, figsize=(8, 4.2), layout="constrained")
for ax, name in zip(axes, ensembles, strict=True):
    SobolDisplay.from_estimator(fitted[name], verdict=verdicts[name], ax=ax)
    if ax is not axes[0]:
        ax.get_legend().remove()
    if ax is not axes[-1]:
        ax.set_xlabel("")
