"""What a ridge does in one fold with products of members, in two forms."""

from __future__ import annotations

from typing import Any

from ..._checks import IndexArray
from ..._solvers.problem import DesignDecomposition
from .low_rank import LowRankFold
from .pairs import PairFold

GramFold = LowRankFold | PairFold


def gram_fold(
    rows: tuple[IndexArray, IndexArray],  # of training and of testing
    decomposition: DesignDecomposition,  # with a free intercept, members count once
    *design: Any,
) -> GramFold:
    """Return the fold in the form that is less work."""
    kind = LowRankFold if LowRankFold.serves(decomposition) else PairFold
    return kind.of_design(rows, decomposition, *design)
