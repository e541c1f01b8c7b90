r"""Thompson sampling with a surrogate of policies, and Kalman's update of a belief.

For an outcome :math:`h(x)` with noise of variance :math:`r`, let :math:`s` be the
variance of :math:`h` over the particles and :math:`c` its covariances with the inputs.
With the gain :math:`k = c / (s + r)` each particle moves by

.. math:: k\,\big(y - \bar h - \alpha\,(h(x) - \bar h)\big),
          \qquad \alpha = \Big(1 + \sqrt{r / (s + r)}\Big)^{-1},

so that the mean becomes :math:`m + k (y - \bar h)` and the covariance
:math:`C - c c^\top / (s + r)`: Kalman's formulas with the moments of the particles,
without drawn noise [1]_. Several outcomes are taken one after the other; the outcomes
that are still to come move with the inputs. Weights do not change, all moments are
weighted ones.

References
----------
.. [1] J. S. Whitaker and T. M. Hamill, "Ensemble data assimilation without perturbed
   observations", Monthly Weather Review 130 (2002).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    FloatArray,
    IndexArray,
    RandomState,
    check_boolean,
    check_draws,
    check_option,
    fail,
    listed,
    make_generator,
    position_of,
    refuse_other_names,
)
from .._expansion.predictive import Predictive
from .._version import DOC_LINK_TEMPLATE
from ..inspection._reading import compositions_of
from ._belief import (
    InputBelief,
    Observation,
    read_observation,
    reweighted,
)

RULES = ("draw", "vote", "mean")
METHODS = ("weights", "kalman")


class ThompsonPolicy(BaseEstimator):
    r"""Decide under uncertain inputs with a surrogate, and learn from outcomes.

    An ensemble of policies shows what *would* be done for each value of the inputs, of
    which one is the true one. The belief about it starts from the input distributions
    of the surrogate, each decision follows the policies of inputs drawn from the
    belief, and each observed outcome narrows the belief [1]_. A policy costs one
    polynomial.

    Parameters
    ----------
    surrogate : fitted estimator
        A :class:`skpce.CompositionalPCESurrogate`, or a Pipeline that ends in one. All
        inputs are those *of the surrogate*: behind a PCA, the components.
    rule : {"draw", "vote", "mean"}, default="draw"
        How the belief becomes a decision.

        - ``"draw"``: one draw of the inputs, and the policy there in all steps.
          Thompson sampling, where policies are good for their inputs.
        - ``"vote"``: ``n_draws`` draws; in each step each votes for its likeliest
          action, and the majority decides (always greedy). It does not explore.
        - ``"mean"``: the mean policy of the belief.
    greedy : bool, default=False
        Take the likeliest action of the policy; False draws one. In one step,
        ``"draw"`` and ``"mean"`` without it take actions with the same
        probabilities; they differ over several steps.
    inputs : distribution, list, dict, rows, InputBelief or None, default=None
        The first belief, as in ``sample`` of the surrogate. None means its
        input distributions. An :class:`InputBelief` has particles and weights already.
    n_particles : int, default=1000
        Draws that represent the belief.
    n_draws : int, default=100
        Voters.
    method : {"weights", "kalman"}, default="weights"
        How outcomes change the belief: importance weights with the resampling of Liu
        and West, or a square-root ensemble Kalman filter.
    random_state : int, RandomState instance or None, default=None
        Randomness of the first belief, of all choices and of resampling.

    Attributes
    ----------
    belief_ : InputBelief
        The current belief.
    n_updates_ : int
        Observations since ``fit``.
    effective_sample_size_ : float
        Of the belief.

    See Also
    --------
    skpce.CompositionalPCESurrogate.sample : Draws of policies, with residuals.
    InputBelief : The belief.

    Notes
    -----
    The policies are those of the expansion alone: no residual is drawn, because no
    outcome informs about it. Where the surrogate does not explain the policies (see
    :func:`skpce.inspection.verdict`) decisions are as poor as its predictions.

    For a normal belief and an outcome linear in the inputs both methods converge to the
    posterior as particles grow; updates by weights do so for any belief and outcome,
    until the first resampling (``belief_.n_resampled``). The effective sample size
    counts first particles that are left. See the user guide, "Decisions".

    References
    ----------
    .. [1] W. R. Thompson, "On the likelihood that one unknown probability exceeds
       another in view of the evidence of two samples", Biometrika 25 (1933).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> from skpce.decision import ThompsonPolicy
    >>> X = np.random.default_rng(0).normal(size=(60, 1))
    >>> y = softmax(np.c_[3 * X, 0 * X], axis=1)
    >>> surrogate = CompositionalPCESurrogate(1, steps={"valve": 2}).fit(X, y)
    >>> policy = ThompsonPolicy(surrogate, rule="mean", random_state=0).fit()
    >>> print(policy.choose())
    valve: 0 (0.54)
    >>> policy = policy.update(-1.1, outcome=lambda x: x[:, 0], noise_sd=0.1)
    >>> print(policy.choose())
    valve: 1 (0.96)
    """

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        surrogate: Any,
        *,
        rule: str = "draw",
        greedy: bool = False,
        inputs: Any = None,
        n_particles: int = 1000,
        n_draws: int = 100,
        method: str = "weights",
        random_state: RandomState = None,
    ) -> None:
        self.surrogate = surrogate
        self.rule = rule
        self.greedy = greedy
        self.inputs = inputs
        self.n_particles = n_particles
        self.n_draws = n_draws
        self.method = method
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None) -> ThompsonPolicy:
        """Start from the first belief again; X and y are not used."""
        owner = type(self).__name__
        check_option(owner, "rule", self.rule, RULES)
        check_option(owner, "method", self.method, METHODS)
        check_boolean(owner, "greedy", self.greedy)
        check_draws(owner, "n_particles", self.n_particles, low=2)
        check_draws(owner, "n_draws", self.n_draws)
        reading, fitted = compositions_of(self.surrogate)
        generator = make_generator(self.random_state)
        names = list(reading.expansion.input_names)
        laws, given = tuple(fitted.basis.laws), self.inputs
        if isinstance(given, InputBelief):
            n_given = given.particles.shape[1]
            if n_given != len(laws):
                raise ValueError(
                    f"The belief has {n_given} inputs; expected {len(laws)}, as the "
                    "surrogate has."
                )
            refuse_other_names("The belief", given.names, names)
            belief = replace(given, names=names, distributions=laws)
        else:
            draw = Predictive(fitted, names, owner).input_sampler(owner, given)
            particles = draw(self.n_particles, generator)
            belief = InputBelief(particles, names=names, distributions=laws)
        self._fitted, self._generator = fitted, generator
        self.belief_: InputBelief = belief
        self.n_updates_: int = 0
        return self

    @property
    def effective_sample_size_(self) -> float:
        """Number of equally weighted draws that would be as good."""
        return self.belief_.effective_sample_size

    def choose(self, steps: Any = None, *, inputs: ArrayLike | None = None) -> Decision:
        """Choose an action in each step.

        Parameters
        ----------
        steps : int, str, sequence of these, or None, default=None
            Steps by position or name. None means the whole trajectory. With
            ``rule="draw"`` all steps of one call share one draw of the inputs.
        inputs : array-like of shape (n_features,) or None, default=None
            Act for these inputs, for example ``inputs`` of an earlier decision, to
            continue with its draw. Only with ``rule="draw"``.

        Returns
        -------
        decision : Decision
            Actions, and the policy behind them.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import CompositionalPCESurrogate
        >>> from skpce.decision import ThompsonPolicy
        >>> X = np.arange(8.0)[:, np.newaxis]
        >>> y = np.tile([0.0, 1.0, 1.0], (8, 1))
        >>> surrogate = CompositionalPCESurrogate(1, steps={"halide": 2, "base": 1})
        >>> policy = ThompsonPolicy(surrogate.fit(X, y), random_state=0).fit()
        >>> first = policy.choose("halide")
        >>> first.labels, policy.choose("base", inputs=first.inputs).labels
        (('1',), ('0',))
        """
        check_is_fitted(self)
        owner = f"{type(self).__name__}.choose"
        layout = self._fitted.geometry.layout
        names = [str(name) for name in layout.step_names]
        expected = f"None, or some of {names} or of their positions, each once"
        is_one = isinstance(steps, (str, int, np.integer))
        given = range(len(names)) if steps is None else steps
        given = [given] if is_one else listed(given, "steps", expected)
        positions = [position_of(step, names) for step in given]
        chosen = [position for position in positions if position is not None]
        if not chosen or len(set(chosen)) < len(given):
            raise fail(owner, "steps", expected, steps)
        policy, used = self._policy(owner, inputs)
        generator = self._generator
        blocks = tuple(policy[layout.slices[step]] for step in chosen)
        actions = []
        for block in blocks:
            if self.greedy or self.rule == "vote":  # of several largest one at random
                largest = np.flatnonzero(block == block.max())
                one = largest[0] if len(largest) == 1 else generator.choice(largest)
            else:  # by its probability; never one of probability 0
                reached = np.cumsum(block)
                point = generator.uniform() * reached[-1]
                one = np.searchsorted(reached, point, side="right")
            actions.append(int(one))
        starts = [layout.slices[step].start for step in chosen]
        return Decision(
            tuple(names[step] for step in chosen),
            np.array(actions, dtype=np.int64),
            tuple(str(layout.part_names[part]) for part in np.add(starts, actions)),
            blocks,
            used,
        )

    def _policy(self, owner: str, inputs: Any) -> tuple[FloatArray, Any]:
        """Return the policy, (n_parts,), and the one draw of the inputs behind it."""
        belief, policies_at = self.belief_, self._fitted.policies_at
        if inputs is not None and self.rule != "draw":
            expected = f"None with rule={self.rule!r}, which uses many draws"
            raise fail(owner, "inputs", expected, inputs)
        if self.rule == "mean":
            return belief.weights @ policies_at(belief.particles), None
        if self.rule == "vote":
            # In each step each policy votes for its likeliest action; equal ones share.
            policies = policies_at(belief.sample(self.n_draws, self._generator))
            shares = np.empty(policies.shape[1])
            for columns in self._fitted.geometry.layout.slices:
                ballots = policies[:, columns]
                best = ballots == ballots.max(axis=1, keepdims=True)
                votes = best / best.sum(axis=1, keepdims=True)
                shares[columns] = votes.mean(axis=0)
            return shares, None
        if inputs is None:
            drawn = belief.sample(1, self._generator)[0]
        else:
            n_features = belief.particles.shape[1]
            drawn = np.asarray(inputs, dtype=np.float64)
            if drawn.shape != (n_features,) or not np.isfinite(drawn).all():
                raise fail(owner, "inputs", f"{n_features} finite numbers", inputs)
        return policies_at(drawn[np.newaxis])[0], drawn

    def update(
        self,
        observed: ArrayLike,
        *,
        outcome: Any,
        noise_sd: ArrayLike,
        which: Any = None,
    ) -> ThompsonPolicy:
        """Learn from an outcome.

        An outcome that is impossible under the belief is a ``ValueError``, and leaves
        the belief as it is.

        Parameters
        ----------
        observed : float or array-like of shape (n_outcomes,)
            Observed values.
        outcome : fitted regressor or callable
            From the inputs of the surrogate, (n, n_features), to the outcomes without
            noise, (n,) or (n, n_outcomes). A regressor with feature names must have
            those of the surrogate, in its order.
        noise_sd : float or array-like of shape (n_outcomes,)
            Standard deviation of the independent normal noise, including the error of
            a regressor.
        which : int, array-like of int, or None, default=None
            Columns of the outcome that were observed, where it has more.

        Returns
        -------
        self : ThompsonPolicy
            With a new ``belief_``.

        Warns
        -----
        DegenerateBeliefWarning
            When fewer than ten of the first particles are left in all of them: after a
            surprising or a sharp outcome, or many outcomes.
        """
        check_is_fitted(self)
        owner = f"{type(self).__name__}.update"
        names = self.belief_.names
        seen = read_observation(owner, observed, outcome, noise_sd, which, names)
        if self.method == "kalman":
            belief = kalman_updated(self.belief_, seen)
        else:
            seen_by = seen.log_likelihood
            belief = reweighted(self.belief_, seen_by, self._generator)
        self.belief_ = belief
        self.n_updates_ += 1
        return self


@dataclass(frozen=True, eq=False)
class Decision:
    """One action in each of the chosen steps.

    Parameters
    ----------
    steps : tuple of str
        Names of the steps.
    actions : ndarray of int of shape (n_steps,)
        Position of the action within its step.
    labels : tuple of str
        Names of the actions.
    policy : tuple of ndarray
        Per step, the probabilities behind the action, or the shares of votes.
    inputs : ndarray of shape (n_features,) or None
        The draw of the inputs behind all steps; None for the rules that use many.
    """

    steps: tuple[str, ...]
    actions: IndexArray
    labels: tuple[str, ...]
    policy: tuple[FloatArray, ...]
    inputs: FloatArray | None

    def __str__(self) -> str:
        rows = zip(self.steps, self.labels, self.policy, self.actions, strict=True)
        return ", ".join(
            f"{step}: {label} ({policy[action]:.2f})"
            for step, label, policy, action in rows
        )


def kalman_updated(belief: InputBelief, observation: Observation) -> InputBelief:
    """Move the particles to the mean and covariance of Kalman's formulas."""
    for i, law in enumerate(belief.distributions):
        low, high = np.min(belief.particles[:, i]), np.max(belief.particles[:, i])
        between = low + (high - low) * np.array([0.2718281828, 0.6180339887])
        between = np.clip(between, *law.support)
        if high > low and law.outside(between).any():
            raise ValueError(
                f"Input {belief.names[i]!r} takes single values; expected inputs "
                "that can move. Use method='weights'."
            )
    n_features, weights = belief.particles.shape[1], belief.weights
    # Inputs and outcomes move together.
    state = np.hstack([belief.particles, observation.outcome(belief.particles)])
    pairs = zip(observation.values, observation.noise_variance, strict=True)
    for column, (value, noise) in enumerate(pairs, start=n_features):
        deviations = state - weights @ state
        outcome = deviations[:, column]
        covariances = (weights * outcome) @ deviations
        total = covariances[column] + noise
        if total <= 0.0:  # known already, and measured without noise to speak of
            continue
        innovation = value - weights @ state[:, column]
        damping = 1.0 / (1.0 + np.sqrt(noise / total))
        state = state + np.outer(innovation - damping * outcome, covariances / total)
    particles = state[:, :n_features]
    # Values that would leave the support of a distribution are set to its nearest end.
    for i, law in enumerate(belief.distributions):
        particles[:, i] = np.clip(particles[:, i], *law.support)
    return replace(belief, particles=particles)
