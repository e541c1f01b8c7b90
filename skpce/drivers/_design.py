"""What may be exchanged with what: the design of the members of an ensemble."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.special import gammaln

from .._checks import BoolArray, FloatArray, IndexArray

# Share of the rows that have others with equal settings of all other inputs, from which
# an input is exchanged among these.
_CROSSED = 0.5

# Share of the rows whose settings are in several blocks, from which on settings are
# exchanged and not what is in a block.
RECURS = 0.1

# Settings of a crossed design, and their arrangements, from which settings are
# exchanged and not their runs.
_CROSSED_SETTINGS, _ARRANGEMENTS = 15, 10_000

# Share of the rows with settings of their own, from which on a series is asked.
_MOSTLY_DIFFERENT = 0.5

#: Fewest units that are exchanged, and groups that change signs: of fewer, no order is
#: rare enough.
FEWEST_UNITS, FEWEST_SIGNS = 6, 8

#: Fewest blocks of a series that change signs: of fewer it remembers for too long.
FEWEST_OF_SERIES = 10

# Members before one that it is compared with, for the memory of a series; runs of a
# block from which on its mean may be taken out of one.
_LAGS, MANY_RUNS = 3, 10

# Runs with the same label in the mean, from which on what an input does is compared
# between labels.
OF_A_LABEL = 4

# Waves along a series, of half a period and more, that are trends.
_SLOWEST = 2

# Product of two correlations with members before, times members, that is none.
_BY_CHANCE = 3.0

# A sum of inputs, each of deviation one, varies by less than this where it is constant,
# and where it is so but for rounding; then an input has a part in it from so much on.
_TIED, _ROUNDED, _PART = 1e-7, 0.02, 0.1


@dataclass(frozen=True)
class Exchange:
    """How an input is redrawn under the hypothesis that it does nothing.

    ``"rows"``: its values are given to other units. ``"strata"``: to other units of the
    same stratum, or to all where few orders are left in it and what strata do is taken
    off (``pooled``; so are few settings of which no products are known). ``"signs"``:
    the contributions of whole units change their signs. ``"none"``: nothing can be
    exchanged, for the reason in ``why``.
    """

    kind: str
    unit: IndexArray  # shape: (n_rows,), numbers of what is exchanged as a whole
    strata: IndexArray | None = None  # shape: (n_units,)
    scope: str = "beyond"  # the settings that were tried, or only at these: "tried"
    why: str = ""
    pooled: bool = False

    @property
    def within(self) -> IndexArray | None:  # shape: (n_units,)
        """Strata in which units are exchanged; None where all of them are."""
        return None if self.pooled else self.strata


@dataclass(frozen=True, eq=False)
class Design:
    """Units, strata and order of the members of an ensemble.

    Made once from the arguments of :func:`skpce.explain` and from the table; used by
    tests and intervals. ``print`` gives it in one line.

    Parameters
    ----------
    n_rows : int
        Number of members.
    setting : ndarray of int of shape (n_rows,)
        Number of the setting of each member; members with equal inputs repeat it.
    blocks, groups : ndarray of int of shape (n_rows,) or None
        Nuisance strata, and members that belong together.
    order : ndarray of shape (n_rows,) or None
        Position of each member in a series.
    counter : str, default=""
        Column that counts repeats, and was taken for no input.
    order_told : bool, default=False
        Whether somebody has said what the order of the rows means, or that it means
        nothing.
    series : str, default=""
        What was found where members depend on those before them, and nobody has said
        what their order is.
    adaptive : bool, default=False
        Whether members were chosen by the results of those before them.
    repeat : ndarray of int of shape (n_rows,) or None
        Label of each repeat, such as its seed.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.drivers import Design
    >>> X = np.repeat(np.linspace(0, 1, 20)[:, np.newaxis], 3, axis=0)
    >>> print(Design.of(X))
    20 settings, 3 runs each; settings are exchanged.
    """

    n_rows: int
    setting: IndexArray
    blocks: IndexArray | None = None
    groups: IndexArray | None = None
    order: FloatArray | None = None
    counter: str = ""
    order_told: bool = False
    series: str = ""
    adaptive: bool = False
    repeat: IndexArray | None = None

    @classmethod
    def of(
        cls,
        X: FloatArray,
        *,
        replicate: Any = None,
        blocks: Any = None,
        groups: Any = None,
        order: Any = None,
        counter: str = "",
    ) -> Design:
        """Make a design of inputs, and of labels of their rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_inputs)
            Inputs as numbers.
        replicate, blocks, groups : array-like of shape (n_rows,) or None
            Labels of settings, of nuisance strata, and of members that belong together.
        order : array-like of shape (n_rows,), False or None, default=None
            Positions in a series; False where the order of the rows means nothing.
            Blocks that have the same positions are series of their own. Groups, which
            are exchanged as a whole, have no need of it.
        counter : str, default=""
            Name of a column that counts repeats.

        Returns
        -------
        design : Design
            With numbers in place of labels.

        Raises
        ------
        ValueError
            Where several rows have each of the positions and nothing says which of
            them are one series.
        """
        rows = np.asarray(X, dtype=np.float64)
        labels = numbers_of(rows) if replicate is None else numbers_of(replicate)
        blocks = None if blocks is None else numbers_of(blocks)
        if blocks is not None and not blocks.any():  # one label says nothing
            blocks = None
        places = None
        if groups is None and order is not None and order is not False:
            places = _positions(order, blocks)
        groups = None if groups is None else numbers_of(groups)
        return cls(
            len(rows), labels, blocks, groups, places, counter, order is not None
        )

    @property
    def n_settings(self) -> int:
        """Number of different settings."""
        return len(np.unique(self.setting))

    @property
    def has_repeats(self) -> bool:
        """Whether some setting was run more than once."""
        return self.n_settings < self.n_rows

    def of_rows(self, rows: IndexArray) -> Design:
        """Return the design of some of the members."""
        kept: dict[str, Any] = {}
        for name in ("setting", "blocks", "groups", "repeat"):
            labels = getattr(self, name)
            if labels is not None:  # numbered by the rows in which they come first
                number = numbers_of(labels[rows])
                labels = np.argsort(np.argsort(first_of(number)))[number]
            kept[name] = labels
        order = self.order
        if order is not None:
            # Of one time by chance: rows are sorted by outputs, which would remember
            # one another.
            chance = np.random.default_rng(3).permutation(len(rows))
            order = np.argsort(np.lexsort((chance, order[rows]))).astype(np.float64)
        return replace(self, n_rows=len(rows), order=order, **kept)

    @property
    def repeats_few(self) -> bool:
        """Whether most settings were run once, and nothing says what belongs together.

        As in response surfaces, where the centre is run several times.
        """
        told = self.blocks is not None or self.groups is not None
        return not told and self.n_rows < 2 * self.n_settings < 2 * self.n_rows

    @property
    def recurring(self) -> IndexArray | None:  # shape: (n_rows,)
        """Labels that many runs share: seeds, else blocks, else groups."""
        for labels in (self.repeat, self.blocks, self.groups):
            if labels is not None and 0 < labels.max() < self.n_rows // OF_A_LABEL:
                return labels
        return None

    @property
    def within_blocks(self) -> str:
        """Of what variance shares are, where means of blocks are taken out first."""
        some = self.blocks is not None and np.bincount(self.blocks).max() > 1
        return " within blocks" if some else ""

    def inputs_of_blocks(
        self, X: FloatArray, members: Sequence[tuple[int, ...]]
    ) -> list[int]:
        """Return the places of inputs that means of blocks, taken out, take along."""
        if not self.within_blocks or self.blocks is None:
            return []
        labels = [numbers_of(X[:, own]) for own in members]
        varies = [varies_within(one, self.blocks).any() for one in labels]
        return np.flatnonzero(np.logical_not(varies)).tolist()

    @property
    def blocks_of_series(self) -> IndexArray | None:
        """Blocks whose means are taken out of a series: these have many runs."""
        if self.order is None or self.blocks is None:
            return None
        has_many = np.bincount(self.blocks).min() >= MANY_RUNS
        return self.blocks if has_many else None

    def blocks_cross(self, unit: IndexArray) -> bool:
        """Whether some unit has members in several blocks."""
        return self.blocks is not None and bool(varies_within(self.blocks, unit).any())

    def without_shifts(self, values: FloatArray, exchange: Exchange) -> FloatArray:
        """Take means off of blocks, and of groups in which whole units recur."""
        unit = exchange.unit
        if exchange.kind == "signs":
            return values
        if self.blocks is not None:
            units_of = np.bincount(self.blocks[first_of(unit)])
            if self.blocks_cross(unit) or (units_of > 1).any():
                return without_means(values, self.blocks)
        if self.groups is not None and varies_within(self.groups, unit).any():
            return without_means(values, self.groups)
        return values

    def series_blocks(self, memory: int) -> IndexArray:
        """Return blocks of so many members that follow one another, or a few more.

        Where means of given blocks are taken out, they are parts of these.
        """
        assert self.order is not None
        position = np.argsort(self.order, kind="stable")
        whole = self.blocks_of_series
        whole = np.zeros(self.n_rows, dtype=np.int64) if whole is None else whole
        parts: list[IndexArray] = []
        for label in range(int(whole.max()) + 1):
            own = position[whole[position] == label]
            parts += np.array_split(own, max(len(own) // max(memory, 1), 1))
        found = np.empty(self.n_rows, dtype=np.int64)
        for number, part in enumerate(parts):
            found[part] = number
        return found

    def exchange(
        self,
        own: FloatArray,  # shape: (n_rows, n_own), the input, or a group of inputs
        others: FloatArray,  # shape: (n_rows, n_others)
    ) -> Exchange:
        """Return how an input is exchanged, given the others.

        Within given strata and of given units, the p-value over all arrangements, or
        over some that are drawn, is valid where these are equally likely:
        ``restricted_exchange_valid`` and ``drawn_exchange_valid``, checked in
        ``lean/Core``.
        """
        mine, alone = numbers_of(own), numbers_of(others)
        each = np.arange(self.n_rows)
        if self.groups is not None:
            return self._of_groups(mine, others)
        if self._is_ablation(mine, alone):
            few = _log_orders(mine, alone) < np.log(_ARRANGEMENTS)
            return Exchange("strata", each, alone, "tried", pooled=few)
        blocks = np.zeros(self.n_rows) if self.blocks is None else self.blocks
        given = numbers_of(np.column_stack([blocks, others]))
        if share_crossed(mine, given) >= _CROSSED and _has_curves(own, others):
            complete = is_complete(np.column_stack([own, others]))
            return self._of_crossed(given, complete)
        if self.blocks is None:
            if self._is_fraction(own, others):
                return Exchange("rows", each, None, "tried", pooled=True)
            return self._enough("rows", self.setting)
        if share_crossed(mine, self.blocks) < _CROSSED:
            return self._enough("rows", self.blocks)
        if self._recur_in(self.blocks):
            return self._enough("rows", self.setting)
        return self._enough("strata", self.setting_units(), self.blocks)

    def _is_fraction(self, own: FloatArray, others: FloatArray) -> bool:
        """Whether an input is as a product of others, in few settings with repeats.

        As in an orthogonal array of resolution III: settings are too few to be
        exchanged, and nothing is known of products.
        """
        columns = np.column_stack([own, others])
        few = 2 * levels_of(columns).max() <= self.n_settings < _CROSSED_SETTINGS
        if not few or np.bincount(self.setting).min() < 2 or others.shape[1] < 2:
            return False
        table = standardized(columns[first_of(self.setting)])
        mine, other = table[:, : own.shape[1]], table[:, own.shape[1] :]
        pairs = [i * j for i, j in combinations(other.T, 2)]
        products = np.column_stack([np.ones(len(table)), *pairs])
        left = mine - products @ np.linalg.lstsq(products, mine, rcond=None)[0]
        return bool(np.square(left).sum() < 1e-9 * len(table))

    def _recur_in(self, labels: IndexArray) -> bool:
        """Whether settings recur with several labels, and are enough to be exchanged.

        Then what others do in them recurs too. Of the few of a crossover trial it is
        taken off by the fit to the others.
        """
        recurs = share_crossed(labels, self.setting) >= RECURS
        return recurs and self.n_settings >= FEWEST_UNITS

    def _is_ablation(self, mine: IndexArray, given: IndexArray) -> bool:
        """Whether an input differs in few settings, which have repeats, from others.

        Orders of the settings would be too few: as of a list of flags, of which each is
        turned off alone. Blocks have one run of each setting.
        """
        one_each = self.blocks is None or self.setting_units().max() + 1 == self.n_rows
        if not one_each or np.bincount(given).min() < 2:
            return False
        settings = mine[first_of(self.setting)]
        few = _log_orders(settings, np.zeros(len(settings), dtype=np.int64))
        is_few = few < np.log(_ARRANGEMENTS)
        return bool(0.0 < share_crossed(mine, given) < 1.0 and is_few)

    def _of_crossed(self, given: IndexArray, complete: bool) -> Exchange:
        """Exchange settings within strata of the others; runs where settings are few.

        Runs of few settings say nothing beyond these. Of a small complete factorial
        without repeats too few orders are left in strata.
        """
        unit = self.setting_units()
        strata = given[first_of(unit)]
        arrangements = gammaln(np.bincount(strata) + 1.0).sum()
        few, each = arrangements < np.log(_ARRANGEMENTS), np.arange(self.n_rows)
        if int(unit.max()) + 1 < self.n_rows:
            if few or len(strata) < _CROSSED_SETTINGS:
                return Exchange("strata", each, given, "tried")
            return Exchange("strata", unit, strata)
        if few and complete and self.blocks is None:
            return self._enough("rows", unit)
        return Exchange("strata", each, given)

    @property
    def may_be_series(self) -> bool:
        """Whether it is to be asked if rows depend on those before them."""
        mostly_different = self.n_settings > _MOSTLY_DIFFERENT * self.n_rows
        declared = self.groups is not None or self.blocks is not None
        return not self.order_told and not declared and mostly_different

    @property
    def units(self) -> IndexArray:  # shape: (n_rows,)
        """What is left out of a fit as a whole: groups, else settings."""
        return self.setting if self.groups is None else self.groups

    def setting_units(self) -> IndexArray:
        """Return settings as units, in each block apart."""
        if self.blocks is None:
            return self.setting
        return numbers_of(np.column_stack([self.blocks, self.setting]))

    def _of_groups(self, mine: IndexArray, others: FloatArray) -> Exchange:
        assert self.groups is not None
        varies = varies_within(mine, self.groups)
        if not varies.any():
            blocks = None if self.blocks_cross(self.groups) else self.blocks
            if blocks is not None and not varies_within(mine, blocks).any():
                blocks = None
            return self._enough("rows", self.groups, blocks)
        if same_in_all(mine, self.groups):
            given = numbers_of(np.column_stack([self.groups, others]))
            crossed = share_crossed(mine, given) >= _CROSSED
            if not crossed and self._recur_in(self.groups):
                return self._enough("rows", self.setting)
            return Exchange("strata", np.arange(self.n_rows), self.groups)
        if (n_groups := int(self.groups.max()) + 1) < FEWEST_SIGNS:
            why = (
                f"there are {n_groups} groups, within which inputs vary, and "
                f"{FEWEST_SIGNS} are needed; where groups only shift the output, name "
                "them by blocks="
            )
            return Exchange("none", self.groups, why=why)
        return self._enough("signs", self.groups)

    def _enough(
        self, kind: str, unit: IndexArray, strata: IndexArray | None = None
    ) -> Exchange:
        n_units = int(unit.max()) + 1
        if n_units == len(unit):  # each row is a unit, with the number of the row
            unit = np.arange(n_units)
        if strata is not None:
            strata = strata[first_of(unit)]
        if n_units < FEWEST_UNITS:
            why = f"{n_units} units of the design are too few to exchange it"
            return Exchange("none", unit, None, why=why)
        return Exchange(kind, unit, strata)

    def __str__(self) -> str:
        head = f"{self.n_rows} runs"
        if self.has_repeats:
            counts = np.bincount(self.setting)
            each = " to ".join(map(str, np.unique([counts.min(), counts.max()])))
            head = f"{self.n_settings} settings, {each} runs each"
        if self.counter:
            head += f" ({self.counter!r} counts the repeats)"
        what = f"{'settings' if self.has_repeats else 'runs'} are exchanged"
        if self.groups is not None:
            what = f"{self.groups.max() + 1} groups are exchanged as a whole, or what "
            what += "they have in common within them"
        elif self.order is not None:
            what = "blocks of the series change their signs"
            if (blocks := self.blocks_of_series) is not None:
                what = f"means of {blocks.max() + 1} blocks are taken out, {what}"
        elif self.blocks is not None:
            number = f"{self.blocks.max() + 1} blocks"
            recur = self._recur_in(self.blocks)
            what = f"means of {number} are taken out"
            what = what if recur else f"exchanged within {number}"
        return f"{head}; {what}."

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>"


def _has_curves(own: FloatArray, others: FloatArray) -> bool:
    """Whether squares of an input have enough arrangements beside the others.

    In central composite designs they have not: there settings are exchanged. Of
    complete factorials, and of two levels, it is not asked.
    """
    middle = (own.max(axis=0) + own.min(axis=0)) / 2.0
    squares, strata = numbers_of(np.square(own - middle).round(9)), numbers_of(others)
    if not squares.any() or is_complete(np.column_stack([own, others])):
        return True
    return bool(_log_orders(squares, strata) >= np.log(_ARRANGEMENTS))


def levels_of(X: NDArray[Any]) -> IndexArray:  # shape: (n_columns,)
    """Return the number of different values of each column."""
    return np.asarray(1 + (np.diff(np.sort(X, axis=0), axis=0) > 0).sum(axis=0))


def is_complete(X: NDArray[Any]) -> bool:
    """Whether all combinations of the levels of the columns were tried."""
    return len(np.unique(X, axis=0)) == math.prod(levels_of(X).tolist())


def _log_orders(labels: IndexArray, strata: IndexArray) -> float:
    """Return the logarithm of how many orders labels have in their strata."""
    both = np.bincount(numbers_of(np.column_stack([strata, labels])))
    return float(gammaln(np.bincount(strata) + 1.0).sum() - gammaln(both + 1.0).sum())


def _positions(order: Any, blocks: IndexArray | None) -> FloatArray:
    """Return places in a series, of numbers or dates; in one block after another."""
    place = np.unique(np.asarray(order), return_inverse=True)[1]
    counts = np.bincount(place)
    if blocks is not None and varies_within(blocks, place).any():
        place = numbers_of(np.column_stack([blocks, place]))
    elif blocks is None and counts.min() == counts.max() > 1 and len(counts) > 2:
        raise ValueError(
            f"order has {counts[0]} runs at each of {len(counts)} places, which are "
            "several series; expected groups= or blocks= that name them, or a place "
            "of its own for each run."
        )
    return place.astype(np.float64)


def numbers_of(labels: Any) -> IndexArray:
    """Number labels, or rows of a table, from 0 on."""
    values = np.asarray(labels)
    axis = 0 if values.ndim > 1 else None
    if values.ndim > 1 and not values.shape[1]:
        return np.zeros(len(values), dtype=np.int64)
    return np.unique(values, axis=axis, return_inverse=True)[1].reshape(-1)


def first_of(unit: IndexArray) -> IndexArray:  # shape: (n_units,)
    """Return the first row of each unit."""
    return np.unique(unit, return_index=True)[1]


def varies_within(labels: IndexArray, strata: IndexArray) -> BoolArray:  # (n_strata,)
    """Return in which strata there is more than one label."""
    pairs = np.unique(np.column_stack([strata, labels]), axis=0)
    return np.asarray(np.bincount(pairs[:, 0], minlength=strata.max() + 1) > 1)


def share_crossed(labels: IndexArray, strata: IndexArray) -> float:
    """Return the share of the rows in whose stratum there is another label."""
    return float(varies_within(labels, strata)[strata].mean())


def same_in_all(labels: IndexArray, unit: IndexArray) -> bool:
    """Whether each unit has the same labels, each as often."""
    counts = np.bincount(unit)
    if counts.min() < counts.max():
        return False
    in_order = labels[np.lexsort((labels, unit))].reshape(len(counts), -1)
    return bool((in_order == in_order[0]).all())


def find_constraint(
    X: FloatArray,  # shape: (n_rows, n_inputs), numbers
) -> IndexArray:  # shape: (n_tied,)
    """Return inputs of which a linear combination is constant; none in most tables."""
    table = standardized(X)
    used = np.flatnonzero(table.any(axis=0))
    if len(used) < 2 or len(X) < len(used):
        return used[:0]
    _, values, vectors = np.linalg.svd(table[:, used], full_matrices=False)
    least = values / np.sqrt(len(table))
    exact = bool((least < _TIED).any()) or 2 * len(used) > len(table)
    flat = least < (_TIED if exact else _ROUNDED)
    weight = np.sqrt(np.square(vectors[flat]).sum(axis=0))
    return np.asarray(used[weight > (1e-6 if exact else _PART)])


def waves_along(
    order: FloatArray,  # shape: (n_rows,)
    values: FloatArray,  # shape: (n_rows, n_columns)
) -> FloatArray:  # shape: (n_waves, n_columns)
    """Return the amplitudes of cosines along a series, all but the slowest."""
    in_order = values[np.argsort(order, kind="stable")]
    return np.asarray(dct(in_order, axis=0, norm="ortho")[_SLOWEST + 1 :])


def memory_of(*series: FloatArray, order: FloatArray) -> int:
    """Return after how many members products of series have forgotten; 1 for none.

    Without memory a product of two correlations is up to some parts in n by chance.
    """
    position = np.argsort(order, kind="stable")
    both = np.ones(_LAGS)
    for values in series:
        moved = values[position] - values.mean(axis=0)
        size = max(float(np.square(moved).sum()), 1e-300)
        lags = range(1, _LAGS + 1)
        both *= [float((moved[k:] * moved[:-k]).sum()) / size for k in lags]
    largest = min(max(float(both.max()), 0.0), 0.99)
    if largest <= _BY_CHANCE / len(position):
        return 1
    return max(int(np.ceil((1.0 + largest) / (1.0 - largest))), 1)


# Folds that depend on no random state and no order of rows, and their Q².


# Folds, and draws of the bootstrap of Q².
_FOLDS, _RESAMPLES = 5, 200


def deal_folds(
    order: IndexArray,  # shape: (n_units,), units as they are dealt
    unit: IndexArray,  # shape: (n_rows,), rows that stay together
    n_folds: int = _FOLDS,
    seed: int = 0,
) -> IndexArray:  # shape: (n_rows,)
    """Return the fold of each row.

    Units are sorted before they are dealt, so that each fold has some from all over,
    whatever the order of the rows.
    """
    n_units = len(order)
    folds = min(n_folds, n_units)
    generator = np.random.default_rng(seed + 1)
    dealt = [generator.permutation(folds) for _ in range(-(-n_units // folds))]
    fold = np.empty(n_units, dtype=np.int64)
    fold[order] = np.concatenate(dealt)[:n_units]
    return fold[unit]


def units_by_inputs(
    X: FloatArray,  # shape: (n_rows, n_inputs)
    values: FloatArray,  # shape: (n_rows, n_coordinates)
    unit: IndexArray,  # shape: (n_rows,)
) -> IndexArray:  # shape: (n_units,)
    """Return units by how far their inputs lie from the middle.

    No output has a say in the folds of another one, but where inputs tie. Neither the
    unit nor the sign of an input matters, but where outputs tie as well.
    """
    along = _along(values, unit)
    if not X.shape[1]:
        return np.argsort(along, kind="stable")
    standard = standardized(mean_of(X, unit))
    squares = np.square(standard)
    keys = (
        standard @ np.sqrt(np.arange(1.0, 1.0 + X.shape[1])),
        (squares * standard).sum(axis=1),
        along,
        np.square(squares).sum(axis=1),
        squares.sum(axis=1),
    )
    return np.lexsort(np.round(keys, 9))


def sorted_units(values: FloatArray, unit: IndexArray) -> IndexArray:  # (n_units,)
    """Return units in the order of their outputs, along the direction of most variance.

    Each output counts alike, whatever its unit.
    """
    return np.argsort(_along(values, unit), kind="stable")


def _along(values: FloatArray, unit: IndexArray) -> FloatArray:  # shape: (n_units,)
    """Return coordinates along the direction of most variance; equal outputs tie."""
    if not values.shape[1]:  # steps of one class
        return np.zeros(int(unit.max()) + 1)
    means = mean_of(standardized(values), unit)
    means = means - means.mean(axis=0)
    along = directions_of(means)[:, 0]
    skewness = (along**3).sum()  # no order of the columns changes it
    if abs(skewness) <= 1e-9 * (np.abs(along) ** 3).sum():
        loadings = along @ means
        skewness = loadings[np.abs(loadings).round(9).argmax()]
    return np.asarray((along * np.sign(skewness)).round(9))


def directions_of(values: FloatArray) -> FloatArray:  # shape: (n_rows, n_directions)
    """Return coordinates along directions of variance, those of most of it first."""
    if values.shape[1] > len(values):
        found = root_of(values @ values.T)
        sizes = np.square(found).sum(axis=0)
    else:
        sizes, vectors = np.linalg.eigh(values.T @ values)
        found = values @ vectors
    kept = sizes > 1e-12 * sizes[-1]
    kept[-1] = True
    return np.asarray(found[:, kept][:, ::-1])


def root_of(matrix: FloatArray) -> FloatArray:
    """Return a matrix whose product with its transpose is the given one."""
    sizes, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(sizes, 0.0)))


def q2_with_interval(
    errors: FloatArray,  # shape: (n_rows, n_outputs), squared; NaN: never left out
    deviations: FloatArray,  # shape: (n_rows, n_outputs), squared, from the mean
    order: IndexArray,  # shape: (n_units,), as they were dealt
    unit: IndexArray,  # shape: (n_rows,)
) -> FloatArray:  # shape: (3, n_outputs)
    """Return Q² and the ends of its 90 % interval, by weights of the units.

    NaN for an output without variance.
    """
    known = ~np.isnan(errors).any(axis=1)
    n_units = len(order)
    sums = np.zeros((2 * errors.shape[1], n_units))
    np.add.at(sums.T, unit[known], np.hstack([errors, deviations])[known])
    error, deviation = np.split(sums, 2)  # shape: (n_outputs, n_units)
    draws = np.random.default_rng(0).dirichlet(np.ones(n_units), size=_RESAMPLES)
    weights = np.vstack([np.full(n_units, 1.0 / n_units), draws[:, np.argsort(order)]])
    whole = deviation @ weights.T
    q2 = 1.0 - (error @ weights.T) / np.where(whole > 0, whole, np.nan)
    low, high = np.quantile(q2[:, 1:], [0.05, 0.95], axis=1)
    middle = q2[:, 0]
    return np.stack([middle, np.minimum(low, middle), np.maximum(high, middle)])


def standardized(values: FloatArray) -> FloatArray:
    """Return columns of mean 0 and variance 1; those that do not vary are 0."""
    centred = values - values.mean(axis=0)
    size = np.sqrt(np.square(centred).mean(axis=0))
    return np.asarray(centred / np.where(size > 0, size, 1.0))


def sum_of(values: FloatArray, labels: IndexArray) -> FloatArray:
    """Return the sum of the rows of each label."""
    sums = np.zeros((labels.max() + 1, *values.shape[1:]))
    np.add.at(sums, labels, values)
    return sums


def mean_of(values: FloatArray, labels: IndexArray) -> FloatArray:
    """Return the mean of the rows of each label."""
    counts = np.bincount(labels).reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(sum_of(values, labels) / counts)


def without_means(values: FloatArray, strata: IndexArray) -> FloatArray:
    """Take the means of strata off."""
    return np.asarray(values - mean_of(values, strata)[strata])
