r"""An ensemble in all states of a space, and its distributions over the objects.

Let :math:`d_i(s)` be the probability that a walk of member i of M passes state s, and
:math:`p_i(\cdot \mid s)` its policy there. The policy

.. math::
    q(a \mid s) = \sum_i d_i(s) \, p_i(a \mid s) \Big/ \sum_i d_i(s)

samples objects from the mean :math:`\bar P` of the members' distributions
:math:`P_i`: its flow through each edge is the mean of theirs. The fragility of a state
is the mean distance of its visitors' policies to q, and its contribution is that times
the mean number of visits,

.. math::
    f(s) = \frac{\sum_i d_i(s) \, \mathrm{TV}(p_i(\cdot \mid s), q(\cdot \mid s))}
                {\sum_i d_i(s)}, \qquad
    c(s) = \frac{1}{M} \sum_i d_i(s) \, \mathrm{TV}(p_i(\cdot \mid s), q(\cdot \mid s)).

To exchange p_i for q in one state after another changes the distribution over objects
by at most :math:`d_i(s) \, \mathrm{TV}(p_i, q)` each time, hence

.. math::
    \frac{1}{M} \sum_i \mathrm{TV}(P_i, \bar P) \le \sum_s c(s).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.environments.state_graph import StateGraph
from gflownet_envs.exact.solve import visits as visits_of
from gflownet_envs.exact.trajectories import PolicySource

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class WholeSpace:
    """Visits and fragility of every state, and the distributions over the objects.

    Attributes
    ----------
    graph : StateGraph
    visits : ndarray of shape (n_members, n_states)
        Probability that a walk of the member passes the state.
    fragility : ndarray of shape (n_states,)
        Mean total variation of a visitor's policy to the policy of all visitors
        together, in [0, 1]; 0 where there is no choice. Visitors count by their visits.
    law : ndarray of shape (n_members, n_objects)
        Probability of each object, in the order of the reward table.

    See Also
    --------
    policies_everywhere : The policies themselves, for drivers of each state.

    Notes
    -----
    The formulas are those of the module ``gflownet_envs.exact.whole_space``: the
    policy of all visitors gives the mean of the members' distributions, and
    ``contribution`` adds up to no less than their mean distance to it.

    Examples
    --------
    Two members agree in the first choice and differ in what follows ``x``, which few
    walks pass.

    >>> import numpy as np
    >>> from gflownet_envs import SequentialSelectionEnvironment, solve_exact
    >>> env = SequentialSelectionEnvironment({"a": ["x", "y"], "b": ["p", "q"]})
    >>> reward = np.array([[0.1, 0.1, 0.4, 0.4], [0.2, 0.0001, 0.4, 0.4]])
    >>> solution = solve_exact(env, np.log(reward))
    >>> space = WholeSpace.from_policies(solution.graph, solution)
    >>> space
    WholeSpace(StateGraph(selection-2x2, n_states=3, n_layers=2), \
n_members=2, n_objects=4)
    >>> space.fragility.round(2)
    array([0.  , 0.25, 0.  ])
    >>> space.contribution.round(3)
    array([0.  , 0.05, 0.  ])
    >>> statistics = space.statistics(n_leading=1, classes={"x": [0, 1]})
    >>> {name: column.round(2).tolist() for name, column in statistics.items()}
    {'probability of y | p': [0.4, 0.4], 'probability of x': [0.2, 0.2], 'entropy': \
[1.19, 1.06]}
    """

    graph: StateGraph
    visits: Floats
    fragility: Floats
    law: Floats

    def __repr__(self) -> str:
        members, objects = self.law.shape
        return f"WholeSpace({self.graph}, n_members={members}, n_objects={objects})"

    @classmethod
    def from_policies(cls, graph: StateGraph, policies: PolicySource) -> Self:
        """Follow the policies of an ensemble through all states.

        Parameters
        ----------
        graph : StateGraph
            Of a space whose states and objects can be listed.
        policies : ExactSolution, TrainedEnsemble, or anything with ``log_policy``
            The members; they are held in all states at once.

        Raises
        ------
        ValueError
            If the policies are of another space, have another shape, or do not sum to
            one.
        """
        if not isinstance(graph, StateGraph):
            raise ValueError(
                f"graph must be a StateGraph, got {graph!r}; "
                "StateGraph.from_environment(environment) makes one"
            )
        name = graph.environment.name
        made_for = getattr(policies, "environment", graph.environment).name
        if made_for != name:
            raise ValueError(f"policies are of {made_for}, expected those of {name}")
        log_policy = policies.log_policy(graph.states)
        visits, law = np.split(
            visits_of(graph, log_policy).numpy(), [graph.n_states], axis=1
        )
        policy = log_policy.double().exp().masked_fill(~graph.mask, 0.0).numpy()
        total = visits.sum(axis=0)
        share = visits / np.where(total > 0, total, 1.0)  # (E, N)
        fragility = np.zeros(graph.n_states)
        choice = (graph.mask.sum(dim=1) > 1).numpy()
        common = np.einsum("en,ena->na", share, policy)
        for row, own in zip(share, policy, strict=True):
            fragility += row * 0.5 * np.abs(own - common).sum(axis=1)
        return cls(graph, visits, np.where(choice, fragility, 0.0), law)

    @property
    def contribution(self) -> Floats:  # shape: (n_states,)
        """Mean visits times fragility: what a state adds to that of the objects."""
        return self.visits.mean(axis=0) * self.fragility

    @property
    def object_fragility(self) -> float:
        """Mean total variation of a member's distribution over objects to the mean."""
        return float(0.5 * np.abs(self.law - self.law.mean(axis=0)).sum(axis=1).mean())

    def statistics(
        self,
        *,
        n_leading: int = 5,
        names: Sequence[str] | None = None,
        classes: Mapping[str, ArrayLike] | None = None,
        values: Mapping[str, ArrayLike] | None = None,
        neighbours: ArrayLike | None = None,
    ) -> dict[str, Floats]:
        """Return statistics of each member's distribution over objects, by name.

        They are columns of real outputs, one row a member:
        ``skpce.explain({**inputs, **statistics}, outputs=list(statistics))``.

        Parameters
        ----------
        n_leading : int, default=5
            So many objects, the likeliest of all members together, have a column.
        names : sequence of str of length n_objects, optional
            What to call the objects; None asks the environment.
        classes : mapping of str to array-like of int, optional
            Object numbers of each class; a class has the sum of their probabilities.
        values : mapping of str to array-like of shape (n_objects,) or \
(n_members, n_objects), optional
            What objects are worth, or their rewards under each member: the mean under
            the member's distribution is ``expected ...``.
        neighbours : array-like of int of shape (n_pairs, 2), optional
            Objects next to one another. With it the number of modes is counted: objects
            that are likelier than all their neighbours, and than 1 / n_objects. Of
            equally likely neighbours that of the smaller number counts.

        Returns
        -------
        statistics : dict of str to ndarray of shape (n_members,)
            ``probability of ...``, ``entropy`` (natural logarithm), ``expected ...``,
            ``number of modes``.

        Raises
        ------
        ValueError
            For numbers that no object has, values of another shape, or a name twice.
        """
        n_objects = self.law.shape[1]
        require_at_least("n_leading", n_leading, 0)
        leading = np.argsort(-self.law.mean(axis=0), kind="stable")[:n_leading]
        if names is not None and len(names) != n_objects:
            raise ValueError(f"names must be {n_objects} names, got {len(names)}")
        found: dict[str, Floats] = {}
        name_of = self.graph.environment.object_name if names is None else None
        for number in leading:
            name = name_of(int(number)) if name_of else names[number]  # type: ignore[index]
            _add(found, f"probability of {name}", self.law[:, number])
        for name, objects in (classes or {}).items():
            its = np.unique(_object_numbers(f"classes[{name!r}]", objects, n_objects))
            _add(found, f"probability of {name}", self.law[:, its].sum(axis=1))
        log_law = np.log(np.where(self.law > 0, self.law, 1.0))
        _add(found, "entropy", -(self.law * log_law).sum(axis=1))
        for name, value in (values or {}).items():
            own = _values(name, value, self.law.shape)
            _add(found, f"expected {name}", (self.law * own).sum(axis=1))
        if neighbours is not None:
            pairs = _object_numbers("neighbours", neighbours, n_objects)
            if pairs.ndim != 2 or pairs.shape[1] != 2:
                raise ValueError(
                    f"neighbours must have shape (n_pairs, 2), got {pairs.shape}"
                )
            _add(found, "number of modes", _n_modes(self.law, pairs))
        return found


def _add(found: dict[str, Floats], name: str, column: Floats) -> None:
    if name in found:
        raise ValueError(
            f"{name!r} would be there twice; expected names of objects, classes and "
            "values that differ"
        )
    found[name] = column


def _object_numbers(what: str, given: ArrayLike, n_objects: int) -> NDArray[np.int64]:
    numbers = np.asarray(given)
    if numbers.dtype.kind not in "iu":
        raise ValueError(
            f"{what} must be object numbers, whole numbers below {n_objects}, got "
            f"{numbers.dtype}"
        )
    wrong = numbers[(numbers < 0) | (numbers >= n_objects)]
    if wrong.size:
        raise ValueError(
            f"{what} has {int(wrong[0])}, which is no object: expected numbers from 0 "
            f"to {n_objects - 1}"
        )
    return numbers.astype(np.int64)


def _values(name: str, given: ArrayLike, shape: tuple[int, int]) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.shape not in (shape, shape[1:]):
        raise ValueError(
            f"values[{name!r}] must have shape {shape[1:]} or {shape}, got "
            f"{values.shape}"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"values[{name!r}] must be finite; leave such objects at 0")
    return values


def _n_modes(law: Floats, pairs: NDArray[np.int64]) -> Floats:
    """Count local maxima that are likelier than with equal probabilities."""
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    first, second = pairs.T
    is_mode = law > 1.0 / law.shape[1]
    for row, own in zip(is_mode, law, strict=True):
        upwards = own[second] > own[first]
        row[first[upwards]] = False
        row[second[~upwards]] = False
    return is_mode.sum(axis=1).astype(np.float64)
