"""Losses and scores of predicted policies and of draws, and scorers made of them.

scikit-learn's own scorers do not fit: its log loss and its Poisson deviance refuse
several targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import kl_div
from sklearn.metrics import make_scorer

from .._checks import FloatArray, Mask, Steps, checked_sample_weight
from .._compositions.log_ratio import LogRatioGeometry, clr_of, resolve_mask
from ._fragility import check_zero_replacement, finite_table, read_pair


def _read_predictions(y_true: Any, y_pred: Any) -> tuple[FloatArray, FloatArray]:
    """Return two finite tables of one shape; a single column may be flat."""
    tables = []
    for values, name in ((y_true, "y_true"), (y_pred, "y_pred")):
        table = finite_table(values, name)
        tables.append(table[:, np.newaxis] if table.ndim == 1 else table)
    truth, predicted = tables
    if truth.shape != predicted.shape or truth.ndim != 2 or not truth.size:
        raise ValueError(
            f"y_true has shape {truth.shape} and y_pred {predicted.shape}; expected "
            "the same shape (n_members, n_parts), not empty."
        )
    return truth, predicted


# Its docstring is that of the scorer.
def _kl_divergence(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, floor: float = 1e-300
) -> float:
    r"""Minus the Kullback-Leibler divergence, a scorer.

    ``neg_kl_divergence_scorer(estimator, X, y, sample_weight=None)`` is minus the mean
    over members of

    .. math:: \mathrm{KL}(y \| \hat y) = \sum_k y_k \log(y_k / \hat y_k)
              - \sum_k y_k + \sum_k \hat y_k

    in nats [1]_: at most 0, larger is better. The first choice for a search over
    models of policies: it is proper, needs no step structure, and stays finite, as
    predictions below 1e-300 count as this value. The last two sums cancel when both
    sides are compositions; without them a prediction that adds up to more than its
    truth would score too well.

    References
    ----------
    .. [1] I. Csiszár, "Why least squares and maximum entropy? An axiomatic approach to
       inference for linear inverse problems", The Annals of Statistics 19 (1991).

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
    truth, predicted = _read_predictions(y_true, y_pred)
    if truth.min() < 0:
        raise ValueError(
            f"y_true has {float(truth.min())!r}; probabilities must be non-negative."
        )
    weights = checked_sample_weight(sample_weight, truth)
    terms = kl_div(truth, np.maximum(predicted, floor))
    return float(np.average(terms.sum(axis=1), weights=weights))


def _squared_aitchison(
    y_true: Any,
    y_pred: Any,
    *,
    steps: Steps,
    mask: Mask,
    zero_replacement: Any,
    sample_weight: Any = None,
) -> float:
    """Return the mean squared Aitchison distance, summed over the steps."""
    owner, names = "aitchison_scorer", ("y_true", "y_pred")
    truth, predicted = _read_predictions(y_true, y_pred)
    weights = checked_sample_weight(sample_weight, truth)
    given = y_true if hasattr(y_true, "columns") else truth
    layout, *closed = read_pair(given, predicted, names, steps, owner)
    check_zero_replacement(owner, zero_replacement, layout)
    possible = resolve_mask(mask, np.vstack(closed), layout, owner)
    geometry = LogRatioGeometry(layout, possible, "clr", -1)
    first, second = (
        clr_of(table, geometry, zero_replacement, name)
        for table, name in zip(closed, names, strict=True)
    )
    return float(np.average(np.square(first - second).sum(axis=1), weights=weights))


def aitchison_scorer(
    steps: Steps = None, *, mask: Mask = "infer", zero_replacement: float = 1e-12
) -> Any:
    r"""Make a scorer: minus the mean squared Aitchison distance.

    :math:`-n^{-1} \sum_i \sum_t \lVert \mathrm{clr}\,y_{it} - \mathrm{clr}\,
    \hat y_{it} \rVert^2` over members :math:`i` and steps :math:`t`: the squared error
    that the ridge fit of the surrogate minimises. Tiny probabilities dominate it.

    Parameters
    ----------
    steps : sequence of int, dict of str to int, or None, default=None
        Width of each step.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        True where a part is possible. Give it in cross-validation: a rare action may
        vanish in a fold. Positive entries on a masked part are a ``ValueError``.
    zero_replacement : float, default=1e-12
        Probability put in place of a zero of a possible part.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y, sample_weight=None)``, a scorer of scikit-learn:
        at most 0, larger is better. It raises ``ValueError`` for an estimator that
        leaves the simplex.

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
        _squared_aitchison,
        greater_is_better=False,
        steps=steps,
        mask=mask,
        zero_replacement=zero_replacement,
    )


neg_kl_divergence_scorer: Any = make_scorer(_kl_divergence, greater_is_better=False)
neg_kl_divergence_scorer.__doc__ = _kl_divergence.__doc__
