"""What a change of the reward does to one choice of a policy."""

import numpy as np
from scipy.special import logsumexp

from gflownet_envs.policy_relevant_features.pilot import ChoiceLaws

# Orders of the change of a log-policy in that of log R; None is all of them.
ORDERS = (1, 2, None)


def log_policy_change(
    law: ChoiceLaws,
    change: np.ndarray,  # shape: (n, n_objects)
    order: int | None,
) -> np.ndarray:  # shape: (n, K)
    r"""Return the change of the log-policy of one choice.

    Parameters
    ----------
    law : ChoiceLaws
        Under the policy before the change.
    change : ndarray of shape (n, n_objects)
        Of log R.
    order : {1, 2, None}
        None is all.

    Notes
    -----
    With a fixed backward policy :math:`F(s) = \sum_x R(x) P_B(s \mid x)`, and
    :math:`P_F(x \mid s) = R(x) P_B(s \mid x) / F(s)`. So where log R changes by
    :math:`\delta`, the flow changes by a cumulant generating function,

    .. math:: \log \frac{F'(s)}{F(s)}
        = \log \sum_x P_F(x \mid s) \, e^{\delta(x)}
        = E[\delta \mid s] + \tfrac{1}{2} \mathrm{Var}[\delta \mid s] + \dots,

    and the log-policy by that of the state after the action less that of the state.

    Examples
    --------
    The chance of the first of two objects rises from 1/2 to e/(1 + e).

    >>> import torch
    >>> law = ChoiceLaws(0, torch.arange(2), torch.full((2,), 0.5), torch.eye(2))
    >>> log_policy_change(law, np.array([[1.0, 0.0]]), None).round(3)
    array([[ 0.38, -0.62]])
    >>> [log_policy_change(law, np.array([[1.0, 0.0]]), order)[0] for order in (1, 2)]
    [array([ 0.5, -0.5]), array([ 0.375, -0.625])]
    """
    policy = law.policy.numpy()
    outcomes = law.outcomes.numpy()
    if order is None:
        flow = np.column_stack([_log_mean_exp(change, row) for row in outcomes])
        return flow - logsumexp(flow, axis=1, b=policy, keepdims=True)
    mean = change @ outcomes.T
    mean_of_state = mean @ policy[:, np.newaxis]
    if order == 1:
        return mean - mean_of_state
    variance = np.column_stack(
        [_variance(change, *pair) for pair in zip(outcomes, mean.T, strict=True)]
    )
    spread = (variance + np.square(mean - mean_of_state)) @ policy
    return mean + variance / 2 - mean_of_state - spread[:, np.newaxis] / 2


def _log_mean_exp(
    change: np.ndarray,  # shape: (n, n_objects)
    weights: np.ndarray,  # shape: (n_objects,)
) -> np.ndarray:  # shape: (n,)
    made = weights > 0
    return logsumexp(change[:, made], axis=1, b=weights[made])


def _variance(
    change: np.ndarray,  # shape: (n, n_objects)
    weights: np.ndarray,  # shape: (n_objects,)
    mean: np.ndarray,  # shape: (n,)
) -> np.ndarray:  # shape: (n,)
    made = weights > 0
    return np.square(change[:, made] - mean[:, np.newaxis]) @ weights[made]
