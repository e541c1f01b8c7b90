"""Indices of an expansion whose inputs are dependent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._checks import BoolArray, FloatArray, check_integer, check_real, make_generator
from .._dependence.maps import IsoprobabilisticTransformer, NatafTransformer
from ._column_groups import column_groups
from ._dependent_inputs_result import DependentSobolIndices
from ._last_expansion import LastStep
from ._pipeline_expansion import PipelineExpansion, pipeline_expansion
from ._subset_redraws import BATCHES, Estimates, Redraws
from ._visible_dependence import independence_words, law_cautions

# Variance over the square of the mean that is rounding.
_ROUNDING = 1e-24

# Draws that are enough to say how many leave the laws of the expansion.
_OUTSIDE_DRAWS = 1000


def dependent_sobol_indices(
    estimator: Any,
    X: Any,
    *,
    law: Any = None,
    groups: Mapping[str, Any] | None = None,
    n_samples: int = 16384,
    n_permutations: int | None = None,
    n_resamples: int = 0,
    min_q2: float = 0.25,
    random_state: Any = None,
) -> DependentSobolIndices:
    r"""Decompose the variance of a fitted expansion under dependent inputs.

    Parameters
    ----------
    estimator : fitted estimator
        :class:`skpce.PolynomialChaosRegressor` or
        :class:`skpce.CompositionalPCESurrogate` (whose steps are the targets, in
        Aitchison geometry), alone, at the end of a Pipeline of any transformers, or
        as the best estimator of a search. Not changed.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows before the Pipeline, usually those of ``fit``. The joint law is learned
        from them.
    law : NatafTransformer, RosenblattTransformer or None, default=None
        The joint law of the columns, cloned and fitted on X. None is
        ``NatafTransformer()``: the data's marginals and a Gaussian copula.
    groups : mapping of str to columns, or None, default=None
        Columns, by position or by name, that count as one input. Groups do not
        overlap; columns in none stand alone.
    n_samples : int, default=16384
        Points, rounded up to 16 times a power of two; each redraw takes as many.
    n_permutations : int or None, default=None
        Random orders of the inputs in each of 16 batches, for the Shapley effects.
        None visits every set of up to 8 inputs, and 4 orders a batch beyond.
    n_resamples : int, default=0
        Bootstrap resamples of the rows of X, for the error that the law brings.
    min_q2 : float, default=0.25
        Smallest leave-one-out Q² of the expansion.
    random_state : int, RandomState instance or None, default=None
        Randomness of the points.

    Returns
    -------
    indices : DependentSobolIndices
        ``print`` says what is supported, and how far the closed form is off;
        ``to_frame`` gives a table.

    Raises
    ------
    ValueError
        For bad arguments, an estimator that does not end in an expansion, or a law
        that cannot be learned from X.
    NotFittedError
        If the estimator is not fitted.

    See Also
    --------
    shapley_effects : Of any model, for jointly normal columns.
    original_space_indices : Behind an affine embedding, in closed form.
    input_tests : Whether the inputs are dependent.

    Notes
    -----
    Kucherenko's indices [1]_ of an input, or a group, are

    .. math:: S_i = \frac{\mathrm{Var}\,E[f \mid x_i]}{\mathrm{Var} f}, \qquad
        T_i = \frac{E\,\mathrm{Var}(f \mid x_{-i})}{\mathrm{Var} f},

    with the conditional laws of the joint law. For independent inputs they are the
    Sobol indices. :math:`T_i` says what an input holds that no other input tells; it
    may be smaller than :math:`S_i`, and is 0 where the others determine it. Shapley
    effects [2]_ [3]_ share the variance: they are not negative and add up to one.

    Each conditional law is drawn from exactly, in the space of the normal scores: a
    normal law for Nataf's map, a mixture of normals for Rosenblatt's. With :math:`x'`
    drawn again in :math:`w` given the rest,
    :math:`E\,\mathrm{Var}(f \mid x_{-w}) = \tfrac12 E\{f(x) - f(x')\}^2`. The points
    are 16 scrambled Sobol' sequences; the standard errors are the jackknife over
    them. They do not hold the error of the expansion (see ``reasons``), nor, without
    ``n_resamples``, that of the law, which for some tens of rows is the larger one:
    a correlation has the standard error :math:`(1 - \rho^2) / \sqrt{n}`.

    References
    ----------
    .. [1] S. Kucherenko, S. Tarantola and P. Annoni, "Estimation of global sensitivity
       indices for models with dependent variables", Computer Physics Communications
       183 (2012).
    .. [2] A. B. Owen and C. Prieur, "On Shapley value for measuring importance of
       dependent inputs", SIAM/ASA Journal on Uncertainty Quantification 5 (2017).
    .. [3] E. Song, B. L. Nelson and J. Staum, "Shapley effects for global sensitivity
       analysis: theory and computation", SIAM/ASA Journal on Uncertainty
       Quantification 4 (2016).

    Examples
    --------
    The second input is a noisy copy of the first, and the model uses only that.

    >>> import numpy as np
    >>> from skpce import PolynomialChaosRegressor
    >>> from skpce.inspection import dependent_sobol_indices
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=2000)
    >>> pce = PolynomialChaosRegressor(1).fit(X, X[:, 0])
    >>> found = dependent_sobol_indices(pce, X, random_state=0)
    >>> found.first_order.round(2), found.total_order.round(2) + 0.0
    (array([[1.  , 0.64]]), array([[0.36, 0.  ]]))
    >>> found.shapley.round(2)
    array([[0.68, 0.32]])
    >>> print(found.independence)
    x0 and x1 are dependent (correlation 0.81, p = ...), and the closed form assumes
    that they are not; it differs most for x0 in y: total index 1.00 in closed form,
    0.36 under the joint law, Shapley effect 0.68
    """
    owner = "dependent_sobol_indices"
    check_integer(owner, "n_samples", n_samples, low=BATCHES * 64)
    check_integer(owner, "n_permutations", n_permutations, low=1, none_allowed=True)
    check_integer(owner, "n_resamples", n_resamples, low=0)
    check_real(owner, "min_q2", min_q2, high=1, closed="right")
    if law is not None and not isinstance(law, IsoprobabilisticTransformer):
        raise ValueError(
            f"The 'law' parameter of {owner} must be a NatafTransformer, a "
            f"RosenblattTransformer or None. Got {law!r} instead."
        )
    expansion = pipeline_expansion(estimator, X)
    players = column_groups(groups, expansion.inputs.names)
    generator = make_generator(random_state)
    fitted = clone(NatafTransformer() if law is None else law)
    fitted.fit(expansion.inputs.values)
    redraws = Redraws(
        expansion,
        fitted,
        list(players.values()),
        expansion.last.group,
        2 ** int(np.ceil(np.log2(int(n_samples) / BATCHES))),
        None if n_permutations is None else int(n_permutations),
        generator.integers(2**31, size=BATCHES).tolist(),
    )
    shares, errors = redraws.estimate()
    law_errors = _law_errors(redraws, expansion, int(n_resamples), generator)
    draws = fitted.sample(_OUTSIDE_DRAWS, random_state=int(generator.integers(2**31)))
    return _result(
        expansion,
        players,
        fitted,
        (shares, errors, law_errors),
        float(min_q2),
        law_cautions(expansion, fitted, draws),
    )


def _law_errors(
    redraws: Redraws,
    expansion: PipelineExpansion,
    n_resamples: int,
    generator: np.random.Generator,
) -> Estimates:
    """Return the spread of the shares over laws learned from resampled rows.

    The points are the same for all of them. The bandwidth of a kernel stays: copies
    of a row would make a smaller one look better.
    """
    whole = len(redraws.group), len(redraws.players)
    if n_resamples == 0:
        unknown = np.full(whole, np.nan)
        return Estimates(unknown, unknown, unknown, np.full((whole[0], 1), np.nan))
    rows = expansion.inputs.values
    law = clone(redraws.law)
    if hasattr(redraws.law, "bandwidth_"):
        law.set_params(bandwidth=redraws.law.bandwidth_)
    found = []
    for _ in range(n_resamples):
        chosen = generator.integers(len(rows), size=len(rows))
        counts = np.bincount(chosen, minlength=len(rows)).astype(float)
        again = clone(law).fit(rows, sample_weight=counts)
        found.append(replace(redraws, law=again).estimate()[0])
    spread = 1 if n_resamples > 1 else 0
    return Estimates(
        *(np.std([one[k] for one in found], axis=0, ddof=spread) for k in range(4))
    )


def _result(
    expansion: PipelineExpansion,
    players: dict[str, list[int]],
    law: IsoprobabilisticTransformer,
    estimates: tuple[Estimates, Estimates, Estimates],
    min_q2: float,
    cautions: tuple[str, ...],
) -> DependentSobolIndices:
    last = expansion.last
    varies = has_variance(last)
    shares, errors, law_errors = (
        Estimates(*(np.where(varies[:, np.newaxis], table, 0.0) for table in tables))
        for tables in estimates
    )
    first, total = closed_form(expansion, players)
    reasons = q2_reasons(last, min_q2)
    names = tuple(players)
    return DependentSobolIndices(
        feature_names=names,
        target_names=last.target_names,
        first_order=shares.first_order,
        total_order=shares.total_order,
        shapley=shares.shapley,
        first_order_standard_error=errors.first_order,
        total_order_standard_error=errors.total_order,
        shapley_standard_error=errors.shapley,
        first_order_law_error=law_errors.first_order,
        total_order_law_error=law_errors.total_order,
        shapley_law_error=law_errors.shapley,
        closed_form_first_order=first,
        closed_form_total_order=total,
        total_variance=shares.variance[:, 0],
        variance_standard_error=errors.variance[:, 0],
        closed_form_variance=last.variance,
        law=law,
        independence=independence_words(
            expansion, names, total, shares.total_order, shares.shapley
        ),
        supported=tuple(not reason for reason in reasons),
        reasons=reasons,
        cautions=cautions,
    )


def closed_form(
    expansion: PipelineExpansion, players: dict[str, list[int]]
) -> tuple[FloatArray, FloatArray]:
    """Return closed and total indices of groups of independent inputs.

    NaN behind transformers, where the columns are not the inputs of the expansion.
    """
    last = expansion.last
    if not expansion.is_direct:
        unknown = np.full((len(last.group), len(players)), np.nan)
        return unknown, unknown
    squared = np.square(last.coefficients)
    squared[:, 0] = 0.0
    used = last.multi_indices > 0
    touched = np.array([used[:, columns].any(axis=1) for columns in players.values()])
    others = np.array(
        [np.delete(used, columns, axis=1).any(axis=1) for columns in players.values()]
    )
    return last.share(squared @ ~others.T), last.share(squared @ touched.T)


def has_variance(last: LastStep) -> BoolArray:  # shape: (n_targets,)
    """Tell which targets vary; next to their constant term rounding is no variance."""
    constant = last.group @ np.square(last.coefficients[:, 0])
    return last.variance > _ROUNDING * constant


def q2_reasons(last: LastStep, min_q2: float) -> tuple[tuple[str, ...], ...]:
    """Say, target by target, why the expansion does not predict."""
    reasons: list[tuple[str, ...]] = []
    for q2, varies in zip(last.q2, has_variance(last), strict=True):
        if np.isnan(q2) or not varies:
            reasons.append(("the expansion has no variance",))
        elif q2 < min_q2:
            reasons.append(
                (
                    f"the expansion predicts {max(q2, 0.0):.0%} of the variance of y "
                    f"(leave-one-out), less than {min_q2:.0%}",
                )
            )
        else:
            reasons.append(())
    return tuple(reasons)
