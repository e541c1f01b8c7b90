"""Parts of a table of factors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from ..._checks import (
    FloatArray,
    check_integer,
    finite_floats,
    listed,
    refuse_extremes,
)

_REST = "the rest"  # name of what is left


def parts_of_table(
    table: ArrayLike, factors: Sequence[str], *, order: int = 2
) -> dict[str, FloatArray]:
    r"""Split a table of factors into main effects, pairs and the rest.

    Parameters
    ----------
    table : array-like of shape (n_members, n_levels_1, ..., n_levels_d)
        A value of each member for every combination of levels, such as the logarithm
        of a reward.
    factors : sequence of str
        Name of each of the d axes.
    order : int, default=2
        Largest number of factors in a part of its own.

    Returns
    -------
    parts : dict of str to ndarray of the shape of ``table``
        ``"mean"``, one part for each factor, ``"a × b"`` for each pair, and so on, and
        ``"the rest"``, unless ``order`` is the number of factors; they add up to the
        table. They are orthogonal under uniform weights of the levels (functional
        analysis of variance).

    Raises
    ------
    ValueError
        If ``factors`` does not name every axis once, two parts would have one name, or
        the table has NaN or numbers beyond 1e70.

    See Also
    --------
    part_effects : Takes the parts.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import parts_of_table
    >>> table = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    >>> parts = parts_of_table(table, ["base", "ligand"])
    >>> list(parts)
    ['mean', 'base', 'ligand', 'base × ligand']
    >>> parts["base"][0]
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    values = finite_floats("parts_of_table", "table", table, "finite numbers")
    refuse_extremes(values, "table")
    names = [str(name) for name in listed(factors, "factors")]
    n_factors = values.ndim - 1
    if len(names) != n_factors or len(set(names)) < n_factors or n_factors < 1:
        raise ValueError(
            f"factors must name each of the {n_factors} axes of table behind the "
            f"members once. Got {names}."
        )
    check_integer("parts_of_table", "order", order, low=1)
    sizes = range(min(order, n_factors) + 1)
    sets = [one for size in sizes for one in combinations(range(n_factors), size)]
    taken = [" × ".join(names[i] for i in one) or "mean" for one in sets]
    taken += [_REST] if order < n_factors else []
    twice = [name for name in taken if taken.count(name) > 1]
    if twice:
        raise ValueError(
            f"Two parts would have the name {twice[0]!r}; expected factors whose names "
            f"are not 'mean', {_REST!r} or a product of others."
        )
    parts: dict[str, FloatArray] = {}
    effects: dict[tuple[int, ...], FloatArray] = {}
    for name, chosen in zip(taken, sets, strict=False):
        others = tuple(i + 1 for i in range(n_factors) if i not in chosen)
        effect = values.mean(axis=others, keepdims=True) if others else values
        for smaller, known in effects.items():
            if set(smaller) < set(chosen):
                effect = effect - known
        effects[chosen] = effect
        parts[name] = np.broadcast_to(effect, values.shape)
    if order < n_factors:
        parts[_REST] = values - np.sum(list(parts.values()), axis=0)
    return parts
