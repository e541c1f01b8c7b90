"""Say whether inputs are visibly dependent, and what that does to the closed form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._isoprobabilistic_base import IsoprobabilisticTransformer
from ._input_tests import InputTests, input_tests
from ._pipeline_expansion import PipelineExpansion

FloatArray = NDArray[np.float64]

# Level below which dependence is not put down to chance.
_LEVEL = 0.01

# Rows and columns of the tests, whose cost is their square.
_MOST_ROWS = 1000
_MOST_COLUMNS = 30

# Share of the draws beyond the support of a law that is worth a caution.
_OUTSIDE_SHARE = 0.01


def dependence_seen(X: FloatArray, names: Sequence[str]) -> str | None:
    """Describe the clearest dependence of two columns; None when none is visible.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection._visible_dependence import dependence_seen
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> dependence_seen(np.c_[x, x], ["a", "b"])
    'a and b are dependent (correlation 1.00, p = 0)'
    """
    tests = _tests(X)
    if not tests.smallest_dependence_p_value < _LEVEL:
        return None
    p_values = np.where(np.tri(len(tests.pearson)) > 0, np.nan, 1.0)
    p_values *= tests.dependence_p_values
    strength = np.nan_to_num(tests.distance) + np.abs(np.nan_to_num(tests.pearson))
    clearest = np.where(p_values <= np.nanmin(p_values), strength, -1.0)
    first, second = np.unravel_index(np.argmax(clearest), clearest.shape)
    pearson = tests.pearson[first, second]
    distance = tests.distance[first, second]
    how = f"correlation {pearson:.2f}"
    if abs(pearson) < 0.5 * distance:
        how += f", distance correlation {distance:.2f}"
    p_value = tests.smallest_dependence_p_value
    return (
        f"{names[first]} and {names[second]} are dependent ({how}, p = {p_value:.2g})"
    )


def _tests(X: FloatArray) -> InputTests:
    stride = -(-len(X) // _MOST_ROWS)
    return input_tests(X[::stride, :_MOST_COLUMNS])


def independence_words(
    expansion: PipelineExpansion,
    players: Sequence[str],
    closed_total: FloatArray,  # shape: (n_targets, n_players), NaN if unknown
    total: FloatArray,  # shape: (n_targets, n_players)
    shapley: FloatArray,  # shape: (n_targets, n_players)
) -> str:
    """Say what X shows, and where the closed form is farthest off."""
    inputs = expansion.inputs
    seen = dependence_seen(inputs.values, inputs.names)
    head = (
        "no dependence of two columns is visible in X"
        if seen is None
        else f"{seen}, and the closed form assumes that they are not"
    )
    if np.isnan(closed_total).any():
        return f"{head}; there is none for the columns before an embedding"
    difference = np.abs(closed_total - total)
    target, player = np.unravel_index(np.argmax(difference), difference.shape)
    return (
        f"{head}; it differs most for {players[player]} in "
        f"{expansion.last.target_names[target]}: total index "
        f"{closed_total[target, player]:.2f} in closed form, "
        f"{total[target, player]:.2f} under the joint law, Shapley effect "
        f"{shapley[target, player]:.2f}"
    )


def law_cautions(
    expansion: PipelineExpansion,
    law: IsoprobabilisticTransformer,
    draws: FloatArray,  # shape: (n_draws, n_features)
) -> tuple[str, ...]:
    """Say where the joint law does not fit X, or leaves the laws of the expansion."""
    found = []
    inputs = expansion.inputs
    names = [str(name) for name in law.get_feature_names_out(inputs.names)]
    left = dependence_seen(law.transform(inputs.values), names)
    if left is not None:
        found.append(
            f"the joint law leaves dependence in X that it should take out: {left}; "
            "law=RosenblattTransformer() knows other copulas than the Gaussian one"
        )
    last = expansion.last
    Z = expansion.latent(draws)
    outside = np.any(
        [one.outside(z) for one, z in zip(last.laws, Z.T, strict=True)], axis=0
    )
    share = float(np.mean(outside))
    if share > _OUTSIDE_SHARE:
        found.append(
            f"{share:.0%} of the draws lie outside the supports of the laws of the "
            "expansion, which extrapolates there"
        )
    return tuple(found)
