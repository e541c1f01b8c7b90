"""Losses of predicted policies, and scorers for model selection.

scikit-learn's own scorers do not fit: its log loss and its Poisson deviance refuse
several targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import kl_div
from sklearn.metrics import make_scorer, mean_absolute_error

from .._checks import FloatArray, check_real, checked_sample_weight
from .._compositions.steps import refuse_nan, refuse_ragged
from ._distances import squared_aitchison


def _read_predictions(y_true: Any, y_pred: Any) -> tuple[FloatArray, FloatArray]:
    """Return two finite tables of one shape; a single column may be flat."""
    tables = []
    for values, name in ((y_true, "y_true"), (y_pred, "y_pred")):
        refuse_ragged(values, name)
        refuse_nan(values, name)
        table = np.asarray(values, dtype=np.float64)
        if not np.isfinite(table).all():
            raise ValueError(f"{name} has infinite entries.")
        tables.append(table[:, np.newaxis] if table.ndim == 1 else table)
    truth, predicted = tables
    if truth.shape != predicted.shape or truth.ndim != 2 or not truth.size:
        raise ValueError(
            f"y_true has shape {truth.shape} and y_pred {predicted.shape}; expected "
            "the same shape (n_members, n_parts), not empty."
        )
    return truth, predicted


def kl_divergence_loss(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    floor: float = 1e-300,
) -> float:
    r"""Return the mean Kullback-Leibler divergence of predicted policies, in nats.

    .. math:: \mathrm{KL}(y \| \hat y) = \sum_k y_k \log(y_k / \hat y_k)
              - \sum_k y_k + \sum_k \hat y_k,

    averaged over members [1]_. The last two sums cancel when both sides are
    compositions. Without them a prediction that adds up to more than its truth
    would score too well, since the steps are not known here: columns are summed
    over all steps. The expected loss is least for the mean policy, so the loss is
    proper.

    Parameters
    ----------
    y_true : array-like of shape (n_members, n_parts)
        Probabilities, the steps side by side. Zeros are welcome: they contribute
        :math:`\hat y_k`.
    y_pred : array-like of shape (n_members, n_parts)
        Predicted probabilities.
    sample_weight : array-like of shape (n_members,) or None, default=None
        Frequency of each member.
    floor : float, default=1e-300
        Predictions below it, negative ones too, count as this value; the loss stays
        finite.

    Returns
    -------
    loss : float
        0 for a perfect prediction, else positive.

    Raises
    ------
    ValueError
        If the shapes differ, ``y_true`` has negative entries, or there are NaN.

    See Also
    --------
    neg_kl_divergence_scorer : The scorer.

    References
    ----------
    .. [1] I. Csiszár, "Why least squares and maximum entropy? An axiomatic approach
       to inference for linear inverse problems", The Annals of Statistics 19 (1991).

    Examples
    --------
    >>> from skpce.metrics import kl_divergence_loss
    >>> round(kl_divergence_loss([[1.0, 0.0]], [[0.5, 0.5]]), 4)
    0.6931
    """
    check_real("kl_divergence_loss", "floor", floor, low=0, high=1)
    truth, predicted = _read_predictions(y_true, y_pred)
    if truth.min() < 0:
        raise ValueError(
            f"y_true has {float(truth.min())!r}; probabilities must be non-negative."
        )
    weights = checked_sample_weight(sample_weight, truth)
    terms = kl_div(truth, np.maximum(predicted, floor))
    return float(np.average(terms.sum(axis=1), weights=weights))


def policy_mean_absolute_error(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the mean absolute error of predicted probabilities.

    :math:`(n K)^{-1} \sum_{ik} |y_{ik} - \hat y_{ik}|` over members and columns: the
    "policy MAE" of the paper's table 1, which is
    :func:`sklearn.metrics.mean_absolute_error`. Masked columns count as 0 and
    flatter the figure; it is small for steps with many actions whatever the model,
    and it is least at the median, not the mean policy.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_members, n_parts)
        Probabilities and their predictions, the steps side by side.
    sample_weight : array-like of shape (n_members,) or None, default=None
        Frequency of each member.

    Returns
    -------
    error : float
        0 for a perfect prediction.

    Raises
    ------
    ValueError
        If the shapes differ or there are NaN.

    See Also
    --------
    neg_policy_mae_scorer : The scorer.

    Examples
    --------
    >>> from skpce.metrics import policy_mean_absolute_error
    >>> policy_mean_absolute_error([[1.0, 0.0]], [[0.5, 0.5]])
    0.5
    """
    truth, predicted = _read_predictions(y_true, y_pred)
    weights = checked_sample_weight(sample_weight, truth)
    return float(mean_absolute_error(truth, predicted, sample_weight=weights))


def aitchison_loss(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    steps: Any = None,
    mask: Any = "infer",
    zero_replacement: float = 1e-12,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the mean squared Aitchison distance of predicted policies.

    :math:`n^{-1} \sum_i \sum_t \lVert \mathrm{clr}\,y_{it} - \mathrm{clr}\,
    \hat y_{it} \rVert^2` over members :math:`i` and steps :math:`t`: the squared error
    that the ridge fit of the surrogate minimises. Tiny probabilities dominate it.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_members, n_parts)
        Probabilities and their predictions, the steps side by side.
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. ``"infer"`` masks the columns that are 0 in
        both tables: in cross-validation give the mask itself.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part.
    sample_weight : array-like of shape (n_members,) or None, default=None
        Frequency of each member.

    Returns
    -------
    loss : float
        0 for a perfect prediction.

    Raises
    ------
    ValueError
        If the shapes differ, or a table has negative entries, NaN, or positive
        entries on a masked part.

    See Also
    --------
    aitchison_scorer : Makes the scorer.
    aitchison_distance : Per member and step, not squared.

    Examples
    --------
    >>> from skpce.metrics import aitchison_loss
    >>> round(aitchison_loss([[0.5, 0.5]], [[0.8, 0.2]]), 4)
    0.9609
    """
    truth, predicted = _read_predictions(y_true, y_pred)
    weights = checked_sample_weight(sample_weight, truth)
    squared = squared_aitchison(
        y_true if hasattr(y_true, "columns") else truth,
        predicted,
        names=("y_true", "y_pred"),
        steps=steps,
        mask=mask,
        zero_replacement=zero_replacement,
        owner="aitchison_loss",
    )
    return float(np.average(squared.sum(axis=1), weights=weights))


def aitchison_scorer(
    steps: Any = None, *, mask: Any = "infer", zero_replacement: float = 1e-12
) -> Any:
    """Make a scorer: minus the mean squared Aitchison distance.

    Parameters
    ----------
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. Give it in cross-validation: a rare action may
        vanish in a fold.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y, sample_weight=None)``, a scorer of scikit-learn:
        at most 0, larger is better. It raises ``ValueError`` for an estimator that
        leaves the simplex.

    See Also
    --------
    aitchison_loss : The function behind it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyRegressor
    >>> from skpce.metrics import aitchison_scorer
    >>> X, y = np.zeros((2, 1)), np.array([[0.5, 0.5, 0.5, 0.5], [0.8, 0.2, 0.5, 0.5]])
    >>> scorer = aitchison_scorer(steps=(2, 2))
    >>> round(scorer(DummyRegressor().fit(X, y), X, y), 3)
    -0.243
    """
    return make_scorer(
        aitchison_loss,
        greater_is_better=False,
        steps=steps,
        mask=mask,
        zero_replacement=zero_replacement,
    )


neg_kl_divergence_scorer: Any = make_scorer(kl_divergence_loss, greater_is_better=False)
neg_kl_divergence_scorer.__doc__ = """Minus the Kullback-Leibler divergence, a scorer.

``neg_kl_divergence_scorer(estimator, X, y, sample_weight=None)`` is minus
:func:`kl_divergence_loss`: at most 0, larger is better. The first choice for a search
over models of policies: it is proper, needs no step structure, and stays finite.

Examples
--------
>>> import numpy as np
>>> from sklearn.model_selection import GridSearchCV
>>> from skpce import CompositionalPCESurrogate
>>> from skpce.metrics import neg_kl_divergence_scorer
>>> X = np.random.default_rng(0).normal(size=(30, 1))
>>> y = np.c_[1 / (1 + np.exp(-2 * X)), 1 / (1 + np.exp(2 * X))]
>>> search = GridSearchCV(
...     CompositionalPCESurrogate(),
...     {"degree": [0, 1]},
...     scoring=neg_kl_divergence_scorer,
... )
>>> search.fit(X, y).best_params_
{'degree': 1}
"""

neg_policy_mae_scorer: Any = make_scorer(
    policy_mean_absolute_error, greater_is_better=False
)
neg_policy_mae_scorer.__doc__ = """Minus the mean absolute error of probabilities.

``neg_policy_mae_scorer(estimator, X, y, sample_weight=None)`` is minus
:func:`policy_mean_absolute_error`, the figure of the paper's table 1. scikit-learn's
``"neg_mean_absolute_error"`` gives the same.

Examples
--------
>>> import numpy as np
>>> from sklearn.dummy import DummyRegressor
>>> from skpce.metrics import neg_policy_mae_scorer
>>> X, y = np.zeros((2, 1)), np.array([[0.5, 0.5], [0.75, 0.25]])
>>> neg_policy_mae_scorer(DummyRegressor().fit(X, y), X, y)
-0.125
"""
