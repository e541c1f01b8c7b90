"""Losses and scores of predicted policies and of draws, and scorers made of them.

scikit-learn's own scorers do not fit: its log loss and its Poisson deviance refuse
several targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import kl_div
from scipy.stats import ks_2samp
from sklearn.metrics import make_scorer

from .._checks import (
    FloatArray,
    Mask,
    Steps,
    as_floats,
    check_real,
    checked_sample_weight,
    refuse_extremes,
)
from .._compositions.log_ratio import composition_geometry
from .._compositions.steps import refuse_masked, refuse_negative
from .._result import Result
from ._coverage import _mean_by_step, inferred_mask, scatter
from ._fragility import finite_table, squared_aitchison


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


def _kl_divergence(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, floor: float = 1e-300
) -> float:
    """Return the mean Kullback-Leibler divergence; predictions have a floor."""
    truth, predicted = _read_predictions(y_true, y_pred)
    if truth.min() < 0:
        raise ValueError(
            f"y_true has {float(truth.min())!r}; probabilities must be non-negative."
        )
    weights = checked_sample_weight(sample_weight, truth)
    terms = kl_div(truth, np.maximum(predicted, floor))
    return float(np.average(terms.sum(axis=1), weights=weights))


def _squared_aitchison(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, **layout: Any
) -> float:
    """Return the mean squared Aitchison distance, summed over the steps."""
    truth, predicted = _read_predictions(y_true, y_pred)
    weights = checked_sample_weight(sample_weight, truth)
    squared = squared_aitchison(
        (y_true if hasattr(y_true, "columns") else truth, predicted),
        ("y_true", "y_pred"),
        owner="aitchison_scorer",
        **layout,
    )
    return float(np.average(squared.sum(axis=1), weights=weights))


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
neg_kl_divergence_scorer.__doc__ = r"""Minus the Kullback-Leibler divergence, a scorer.

``neg_kl_divergence_scorer(estimator, X, y, sample_weight=None)`` is minus the mean
over members of

.. math:: \mathrm{KL}(y \| \hat y) = \sum_k y_k \log(y_k / \hat y_k)
          - \sum_k y_k + \sum_k \hat y_k

in nats [1]_: at most 0, larger is better. The first choice for a search over models of
policies: it is proper, needs no step structure, and stays finite, as predictions below
1e-300 count as this value. The last two sums cancel when both sides are compositions;
without them a prediction that adds up to more than its truth would score too well.

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

# The exact distribution of the statistic takes n_members x n_draws operations.
_EXACT_PRODUCT = 10_000_000


def ks_indistinguishable_fraction(
    y_true: ArrayLike,
    y_samples: ArrayLike,
    *,
    steps: Steps = None,
    mask: Mask = "infer",
    alpha: float = 0.05,
) -> Result:
    r"""Test, action by action, whether members and draws have the same distribution.

    For each of the :math:`m` action-step pairs the two-sample Kolmogorov-Smirnov test
    compares the probabilities of held-out members with those of draws; a pair is
    indistinguishable when :math:`p > \alpha / m` (Bonferroni). When the distributions
    are equal, the probability that any pair is rejected is at most :math:`\alpha`,
    whatever the dependence between pairs. The fraction is the paper's (supplementary
    tables). Not rejected is not the same as equal: with few members every model
    passes.

    Parameters
    ----------
    y_true, steps, mask
        As in :func:`coverage_interval`.
    y_samples : array-like of shape (n_draws, n_parts)
        Policies drawn with the inputs drawn too:
        ``CompositionalPCESurrogate.sample(n)`` without X.
    alpha : float, default=0.05
        Level of all tests together.

    Returns
    -------
    comparison : Result
        A row for each part, with the columns ``p_values`` (not adjusted; NaN where
        nothing is tested), ``statistics`` (largest distance of the two empirical
        distribution functions) and ``indistinguishable``, and the figures

        fraction : float
            Share of the action-step pairs that are not rejected; NaN without any pair.
        step_fractions : ndarray of shape (n_steps,)
            The same per step; NaN for a step without choice.
        n_pairs : int
            Number of tests.

    Notes
    -----
    p-values are :func:`scipy.stats.ks_2samp`'s: exact [1]_ for samples of usual size,
    asymptotic for large ones.

    References
    ----------
    .. [1] J. L. Hodges, "The significance probability of the Smirnov two-sample
       test", Arkiv för Matematik 3 (1958).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.metrics import ks_indistinguishable_fraction
    >>> rng = np.random.default_rng(0)
    >>> y, draws = rng.dirichlet([2, 3, 4], 100), rng.dirichlet([2, 3, 4], 2000)
    >>> ks_indistinguishable_fraction(y, draws).fraction
    1.0
    >>> narrow = (draws + draws.mean(axis=0)) / 2
    >>> ks_indistinguishable_fraction(y, narrow).fraction
    0.0
    """
    owner = "ks_indistinguishable_fraction"
    check_real(owner, "alpha", alpha, low=0, high=1)
    drawn = as_floats(y_samples, "y_samples")
    shape = as_floats(y_true, "y_true").shape
    width = shape[-1:]
    if drawn.ndim != 2 or drawn.shape[1:] != width or not drawn.size:
        raise ValueError(
            f"y_samples has shape {drawn.shape}; expected (n_draws, n_parts) with the "
            f"parts of y_true, of shape {shape}. Draws at given inputs "
            "have another axis: draw without X."
        )
    if not np.isfinite(drawn).all():
        raise ValueError("y_samples has NaN or infinite entries; expected numbers.")
    refuse_extremes(drawn, "y_samples")
    mask = inferred_mask(mask, {"y_true": y_true, "y_samples": drawn})
    geometry = composition_geometry(y_true, steps, mask, owner, "y_true")
    observed = as_floats(y_true, "y_true")
    if np.isinf(observed).any():
        raise ValueError("y_true has infinite entries; expected finite ones.")
    for table, name in ((observed, "y_true"), (drawn, "y_samples")):
        refuse_negative(table, geometry.layout, name)
        refuse_masked(table, geometry.mask, geometry.layout, name)
    if not len(observed):
        raise ValueError("y_true has no members; expected at least one.")
    parts = geometry.active_parts
    tests = [_test(observed[:, part], drawn[:, part]) for part in parts]
    statistics, p_values = np.array(tests, dtype=np.float64).reshape(-1, 2).T
    same = p_values > alpha / max(1, len(parts))
    indistinguishable = np.zeros(geometry.layout.n_parts, dtype=bool)
    indistinguishable[parts] = same
    return Result(
        {"part": geometry.layout.part_names},
        {
            "p_values": scatter(p_values, geometry),
            "statistics": scatter(statistics, geometry),
            "indistinguishable": indistinguishable,
        },
        figures={
            "fraction": float(same.mean()) if len(parts) else np.nan,
            "step_fractions": _mean_by_step(same.astype(np.float64), geometry),
            "n_pairs": len(parts),
        },
    )


def _test(members: FloatArray, draws: FloatArray) -> tuple[float, float]:
    exact = len(members) * len(draws) <= _EXACT_PRODUCT
    test = ks_2samp(members, draws, method="exact" if exact else "asymp")
    return float(test.statistic), float(test.pvalue)
