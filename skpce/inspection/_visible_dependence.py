"""Say whether inputs are visibly dependent, and what that does to the closed form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from .._checks import FloatArray
from .._dependence.maps import IsoprobabilisticTransformer, RosenblattTransformer
from .._dependence.scores import EmpiricalMap
from .._dependence.tests import InputTests, input_tests
from ._fitted_model import Inputs
from ._pipeline_expansion import PipelineExpansion

# Level below which dependence is not put down to chance.
_LEVEL = 0.01

# Rows and columns of the tests, whose cost is their square.
_MOST_ROWS = 1000
_MOST_COLUMNS = 30

# Quantiles of a marginal law, and excess of its standard deviation worth a caution.
_GRID = 2000
_TIED_EXCESS = 0.1

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
    first, second = map(int, np.unravel_index(np.argmax(clearest), clearest.shape))
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
    if seen is None:
        n_columns = len(inputs.names)
        tested = f"the first {_MOST_COLUMNS} of {n_columns} columns of "
        head = (
            "no dependence of two columns is visible in "
            f"{tested if n_columns > _MOST_COLUMNS else ''}X"
        )
    else:
        head = f"{seen}, and the closed form assumes that they are not"
    if np.isnan(closed_total).any():
        return f"{head}; there is none for the columns before an embedding"
    difference = np.abs(closed_total - total)
    place = np.unravel_index(np.argmax(difference), difference.shape)
    target, player = map(int, place)
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
            f"{_remedy(law)}"
        )
    found += _tied_columns(inputs, law)
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


def _remedy(law: IsoprobabilisticTransformer) -> str:
    if isinstance(law, RosenblattTransformer):
        return "a column that is a function of others has no density, so leave it out"
    return "law=RosenblattTransformer() knows other copulas than the Gaussian one"


def _tied_columns(inputs: Inputs, law: IsoprobabilisticTransformer) -> list[str]:
    """Name columns whose few values the law spreads, so that it varies too much."""
    scores = ndtri((np.arange(_GRID) + 0.5) / _GRID)
    found = []
    for name, column, one in zip(inputs.names, inputs.values.T, law.maps_, strict=True):
        if not isinstance(one, EmpiricalMap) or 2 * len(one.values) > len(column):
            continue
        excess = one.from_normal(scores).std() / column.std() - 1.0
        if abs(excess) > _TIED_EXCESS:
            found.append(
                f"the joint law draws between the {len(one.values)} distinct values of "
                f"{name}, whose standard deviation becomes {1 + excess:.2f} times that "
                "of X; the share of what it drives is too large"
            )
    return found
