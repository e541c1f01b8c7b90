r"""A lower bound of a value that holds whatever the fit.

The rule :math:`\delta(x_u)`, the action that is best by a fit to the other folds, is
valued by the utilities of the members that are held out. For every fixed action
:math:`k` and every rule

.. math:: E[u_{\delta(x_u)}] - \max_k E[u_k]
          \le E \max_k E[u_k \mid x_u] - \max_k E[u_k],

so that the smallest over :math:`k` of lower confidence limits of
:math:`E[u_\delta - u_k]` is one of the value: no correction is needed, since only the
limit of the best fixed action has to hold (an intersection-union test [1]_). A soft
decision has a policy :math:`\pi` in place of an action, and
:math:`\sum_k \pi_k u_k + \tau H(\pi)` in place of its utility, of which
:math:`\tau \log \sum_k e^{u_k / \tau}` is the largest value.

Where the distributions of the inputs are given, not learned, the expansion of the other
folds is a control variate [2]_: its mean under the rule is known, and only what it
misses has to be averaged over members. It is left out where fewer than ten members
would check it, such as for a rule that leaves the best fixed action far out alone.

References
----------
.. [1] R. L. Berger, "Multiparameter hypothesis testing and acceptance sampling",
   Technometrics 24 (1982).
.. [2] P. Glasserman, "Monte Carlo Methods in Financial Engineering", Springer, 2003,
   section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone

from ..._checks import FloatArray, IndexArray
from ..._expansion.expansion import Expansion
from ..._input_laws.pieces import means_of_pieces
from ...drivers._design import deal_folds, numbers_of, sorted_units
from ...inspection._ensembles.cross_fit import Split, quiet, splits_of_folds
from .decision_problem import Members, quiet_fit
from .envelope import upper_envelope
from .expected_value import by_degree, rule_of

# With fewer members for whom a rule leaves an action, they check too little of what the
# expansion says of it.
_FEWEST_CHECKS = 10

# Of the lower bound, one-sided.
_CONFIDENCE = 0.95
# Logarithm of a probability that is 0.
_NEVER = 1e4
# Points at which a rule of several inputs is valued under given distributions.
_RULE_POINTS = 2**13


class Bound(NamedTuple):
    """What held-out members say about a value."""

    estimate: float  # gain of the rules over the best fixed action
    standard_error: float
    lower: float  # one-sided confidence limit of the value, not negative


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Folds that serve all inputs."""

    members: Members
    splits: Sequence[Split]
    setting: IndexArray  # shape: (n_members,); members of equal inputs stay together
    temperature: float | None

    @classmethod
    def deal(cls, members: Members, temperature: float | None) -> HeldOut:
        """Deal the members into folds, whatever their order."""
        setting = numbers_of(members.inputs)
        fold = deal_folds(sorted_units(members.contrasts, setting), setting)
        return cls(members, splits_of_folds(fold), setting, temperature)

    def bound(self, features: list[int]) -> Bound:
        """Value the rules of some inputs on held-out members.

        A bound for a choice of actions if the limits are: ``held_out_bound``, checked
        in ``lean/Core``. Not of soft decisions, and each member counts once.
        """
        rules, predicted = self._whole_fits
        if len(features) < self.members.inputs.shape[1]:
            regressor = self.members.regressor_of(features)
            rules, predicted = self._fits(regressor, self.members.inputs[:, features])
        gained = self._gains(predicted)
        learned = any(law.learned for law in self.members.problem.basis.laws)
        if not learned and self.temperature is None:
            elsewhere = _best(predicted) != np.arange(predicted.shape[1])
            checked = elsewhere.sum(axis=0) >= _FEWEST_CHECKS
            controls = self._controls(features, rules, predicted)
            gained = gained - np.where(checked, controls, 0)
        return self._limits(gained)

    def _gains(self, predicted: FloatArray) -> FloatArray:  # shape: (n, n_references)
        """Return what each member gains by the rule over fixed decisions."""
        y = self.members.contrasts
        if self.temperature is None:
            return _taken_less_fixed(y, predicted)
        mean = self._soft(y, y.mean(axis=0))
        return (self._soft(y, predicted) - mean)[:, np.newaxis]

    def _soft(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the utility of the soft policy of some scores, and its entropy.

        Of the entropy that of equal probabilities is left out, which is the same for
        all policies and much larger than differences where the temperature is high.
        """
        assert self.temperature is not None
        with np.errstate(over="ignore"):
            below = (scores - scores.max(axis=-1, keepdims=True)) / self.temperature
        mean = np.expm1(below).mean(axis=-1, keepdims=True)
        logs = np.maximum(below, -_NEVER) - np.log1p(mean)  # of K times the policy
        policy = np.exp(logs) / scores.shape[-1]
        entropy = -(policy * logs).sum(axis=-1)
        return np.asarray((policy * y).sum(axis=-1) + self.temperature * entropy)

    def _limits(self, gained: FloatArray) -> Bound:
        """Return the smallest mean, its standard error, and the smallest limit."""
        n_settings = int(self.setting.max()) + 1
        means = gained.mean(axis=0)
        sums = np.zeros((n_settings, gained.shape[1]))
        np.add.at(sums, self.setting, gained - means)
        scale = n_settings / max(n_settings - 1, 1)
        errors = np.sqrt(scale * np.square(sums).sum(axis=0)) / len(gained)
        quantile = student.ppf(_CONFIDENCE, max(n_settings - 1, 1))
        worst = int(np.argmin(means))
        lower = float(np.min(means - quantile * errors))
        return Bound(float(means[worst]), float(errors[worst]), max(lower, 0.0))

    # Control variate

    def _controls(
        self, features: list[int], rules: Sequence[Expansion], predicted: FloatArray
    ) -> FloatArray:
        """Return what the expansion of the other folds says, less its known mean."""
        controls = _taken_less_fixed(self._whole_fits[1], predicted)
        folds = zip(self.splits, self._whole_fits[0], rules, strict=True)
        for (_, test), whole, rule in folds:
            controls[test] -= _mean_under_rule(whole.marginal(features), rule)
        return controls

    @cached_property
    def _whole_fits(self) -> tuple[list[Expansion], FloatArray]:
        return self._fits(clone(self.members.regressor), self.members.inputs)

    def _fits(
        self, regressor: Any, X: FloatArray
    ) -> tuple[list[Expansion], FloatArray]:
        """Return the expansion of each fold, and what it says of held-out members."""
        y, found = self.members.contrasts, []
        predicted = np.empty_like(y)
        for train, test in self.splits:
            with quiet():  # a learned distribution is that of a fold
                fitted = quiet_fit(regressor, X[train], y[train])
                predicted[test] = fitted.predict(X[test]).reshape(len(test), -1)
            found.append(fitted.expansion_)
        return found, predicted


def _best(scores: FloatArray) -> IndexArray:
    """Return the best action, the first of equal ones, and keep the axis."""
    return np.asarray(scores.argmax(axis=-1)[..., np.newaxis])


def _taken_less_fixed(values: FloatArray, scores: FloatArray) -> FloatArray:
    """Return values of the action that the scores choose, less those of each."""
    return np.take_along_axis(values, _best(scores), axis=-1) - values


def _mean_under_rule(
    utilities: Expansion, scores: Expansion
) -> FloatArray:  # shape: (n_actions,)
    """Return the mean utility of the action of the best score, less that of each."""
    basis, rule = utilities.basis, scores.basis
    law = basis.laws[0]
    if len(basis.laws) > 1 or law.atoms(1) is not None:
        points, masses = rule_of(basis.with_terms, range(len(basis.laws)), _RULE_POINTS)
        known = basis.combine(points, utilities.coefficients)
        said = rule.combine(points, scores.coefficients)
        return np.asarray(masses @ _taken_less_fixed(known, said))
    found = upper_envelope(
        law, by_degree(rule.multi_indices[:, 0], scores.coefficients)
    )
    edges = law.in_units(found.edges)
    table = by_degree(basis.multi_indices[:, 0], utilities.coefficients)
    means = means_of_pieces(law, edges, table.shape[1] - 1)
    return np.asarray(np.sum(table[found.owners] * means) - table[:, 0])
