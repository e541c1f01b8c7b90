r"""Does an input matter for an output? A test for each, without folds.

For an input j:

1. residuals of the outputs, left out one by one in closed form, under a fit of all
   *other* inputs, whose prior variances were learned without j;
2. two statistics: the squared scores of the terms of j, and, for the partner with the
   largest one, of the products of its leading terms with those of the partner;
3. j is given to other units (runs, settings, runs of a stratum), the residuals stay;
4. the smaller rank of the two statistics among all draws is ranked itself.

Where inputs were drawn independently the p-value is exact whatever the outputs depend
on: conditional randomisation [1]_ [2]_. Where an input depends on the others, what a
fit of its terms to the others leaves of them is exchanged in place of the terms
(Freedman and Lane). A second p-value keeps the places and changes the signs of the
contributions of the members [3]_: it holds where the spread of the noise follows the
input. The larger of both counts.

References
----------
.. [1] E. Candès, Y. Fan, L. Janson, J. Lv, "Panning for gold: model-X knockoffs",
   Journal of the Royal Statistical Society B 80 (2018).
.. [2] M. Liu, E. Katsevich, L. Janson, A. Ramdas, "Fast and powerful conditional
   randomization testing via distillation", Biometrika 109 (2022).
.. [3] E. Flachaire, "Bootstrapping heteroskedastic regression models: wild bootstrap
   vs. pairs bootstrap", Computational Statistics & Data Analysis 49 (2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.stats import rankdata

from .._checks import BoolArray, FloatArray, IndexArray
from ._design import Design, Exchange, first_of, memory_of
from ._terms import (
    Inputs,
    Terms,
    bounded,
    fit_others,
    is_correlated,
    joined,
    mean_of,
    without_means,
)

# Draws: of the first look, of signs, at most, and their entries (draws times units).
_FIRST, _SIGNS, _MOST, _MOST_ENTRIES = 199, 2000, 20_000, 40_000_000

# From such a p-value on a hypothesis is not looked at any closer.
_CLEAR = 0.3

# Entries of scores in memory at a time, and columns of products at most.
_BLOCK, _MOST_PRODUCTS = 4_000_000, 30_000

# Coordinates of an output that are looked at: directions of most variance.
_MOST_COORDINATES = 12

# An input with such a share of its terms known from the others cannot be told apart.
_TIED = 0.9

# Deviations from which a member is outlying: in the residuals, or in these less far
# and in an input; the largest share of such members, and how many of the first kind.
_OUTLYING, _FAR, _MOST_OUTLYING, _FEW = 6.0, 3.0, 0.1, 2

# Units from which changes of signs are asked beside an exchange within strata.
_EXACT = 30

# Exceedances from which a rank is a p-value; below, the tail is extrapolated.
_EXCEEDED = 10


@dataclass(frozen=True, eq=False)
class Tested:
    """P-values of one input, or group of inputs, for each output."""

    location: FloatArray  # shape: (n_outputs,)
    spread: FloatArray  # shape: (n_outputs,)
    exchange: Exchange
    tied_to: tuple[int, ...] = ()  # inputs that it cannot be told apart from
    resting: tuple[IndexArray, ...] = ()  # members that each answer rests on
    sees_pairs: bool = True

    @classmethod
    def nothing(cls) -> Tested:
        """Return what is known of an output without choice or variance."""
        one, none = np.ones(1), np.zeros(0, dtype=np.int64)
        return cls(one, one, Exchange("rows", none), resting=(none,))

    def of_output(self, place: int, order: IndexArray) -> Tested:
        """Return the part of an output; ``order`` says which members the rows are."""
        some = slice(place, place + 1)
        return replace(
            self,
            location=self.location[some],
            spread=self.spread[some],
            resting=(order[self.resting[place]],),
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """Inputs, outputs and the design of the members that have these outputs."""

    inputs: Inputs
    values: FloatArray  # shape: (n_rows, n_coordinates)
    groups: IndexArray  # shape: (n_coordinates,), numbers of the outputs
    design: Design
    members: tuple[tuple[int, ...], ...]  # inputs of each row of the answer
    n_hypotheses: int  # of the whole answer

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return int(self.groups.max()) + 1

    @cached_property
    def n_draws(self) -> int:
        """Draws that a p-value below the level of a corrected test needs."""
        enough = int(20 * self.n_hypotheses / 0.05)
        most = min(_MOST, max(_MOST_ENTRIES // len(self.values), _FIRST))
        return min(max(enough, 2000), most)

    def test(self, row: int) -> Tested:
        """Test an input, or a group of inputs, for each output."""
        return _tested(self, self.members[row])

    def pair_p_values(self, row: int, partners: Sequence[int]) -> FloatArray:
        """Test whether an input acts together with others; (n_partners, n_outputs)."""
        setting = _Setting.of(self, self.members[row])
        if setting is None:
            return np.ones((len(partners), self.n_outputs))
        return setting.pairs([self.members[k] for k in partners])


@dataclass(frozen=True, eq=False)
class _Setting:
    """Units with residuals of a fit of the others, and terms that are exchanged."""

    problem: Problem
    own: Terms
    residuals: FloatArray  # shape: (n_units, n_coordinates), few for each output
    groups: IndexArray  # shape: (n_coordinates,)
    partners: tuple[tuple[int, FloatArray], ...]  # with their leading terms, by units
    exchange: Exchange
    tied_to: tuple[int, ...]
    X: FloatArray  # shape: (n_units, n_own): values of the inputs that are tested
    far: FloatArray  # shape: (n_units, n_outputs): sizes of residuals in deviations

    @classmethod
    def of(cls, problem: Problem, members: tuple[int, ...]) -> _Setting | None:
        inputs, design = problem.inputs, problem.design
        others = inputs.without(members)
        own = joined([inputs.terms[k] for k in members])
        values, X = problem.values, inputs.X[:, list(members)]
        exchange = design.exchange(X, inputs.X[:, others])
        if design.order is not None and exchange.kind != "none":
            exchange = _of_series(design, values, own)
        if exchange.kind == "none":
            return None
        if design.blocks is not None and exchange.kind != "signs":
            first = design.blocks[first_of(exchange.unit)]
            if (np.bincount(first) > 1).any():
                values = without_means(values, design.blocks)
        unit = None
        if exchange.kind == "rows" or exchange.strata is not None:
            unit = exchange.unit if exchange.n_units < design.n_rows else None
        if unit is not None:
            values, X = mean_of(values, unit), X[first_of(unit)]
            own = own.of_units(first_of(unit))
        fit = fit_others(inputs, others, values, problem.groups, unit)
        residuals, groups = _few_coordinates(
            bounded(fit.residuals, problem.groups), problem.groups
        )
        tied: tuple[int, ...] = ()
        if exchange.strata is not None:
            own = own.centred(exchange.strata)
        elif is_correlated(
            inputs.dependence(
                members,
                own if unit is None else joined([inputs.terms[k] for k in members]),
            )
        ):
            own, tied = _left_of(inputs, members, others, own, unit)
        partners = []
        for k in others.tolist():
            leading = inputs.terms[k].leading
            partners.append((k, leading if unit is None else mean_of(leading, unit)))
        return cls(
            problem,
            own,
            residuals,
            groups,
            tuple(partners),
            exchange,
            tied,
            X,
            _in_deviations(fit.residuals, problem.groups),
        )

    @property
    def n_units(self) -> int:
        return len(self.residuals)

    @cached_property
    def products(self) -> FloatArray:  # shape: (n_units, n_coordinates, n_leading)
        """Residuals times the leading terms of all partners."""
        if not self.partners or self.too_many_products:
            return np.zeros((self.n_units, self.residuals.shape[1], 0))
        leading = np.hstack([table for _, table in self.partners])
        return np.asarray(self.residuals[:, :, None] * leading[:, None, :])

    @property
    def too_many_products(self) -> bool:
        """Whether there are too many partners and coordinates to look at pairs."""
        columns = sum(table.shape[1] for _, table in self.partners)
        return columns * self.residuals.shape[1] > _MOST_PRODUCTS

    @property
    def first_of_partner(self) -> IndexArray:
        widths = [table.shape[1] for _, table in self.partners]
        return np.cumsum([0, *widths[:-1]])

    def without(self, rows: IndexArray) -> _Setting:
        """Leave members out."""
        keep = np.setdiff1d(np.arange(self.n_units), rows)
        exchange = self.exchange
        if exchange.strata is not None:
            labels = np.unique(exchange.strata[keep], return_inverse=True)[1]
            exchange = Exchange(
                exchange.kind, np.arange(len(keep)), labels, exchange.scope
            )
        partners = tuple((k, table[keep]) for k, table in self.partners)
        own = self.own.of_units(keep)
        residuals = self.residuals[keep] - self.residuals[keep].mean(axis=0)
        return replace(
            self,
            own=own,
            residuals=residuals,
            partners=partners,
            exchange=exchange,
            X=self.X[keep],
            far=self.far[keep],
        )

    def draw(self, number: int, generator: np.random.Generator) -> IndexArray:
        """Draw orders of the units; shape (number, n_units)."""
        n_units, strata = self.n_units, self.exchange.strata
        keys = generator.random((number, n_units))
        if strata is None:
            return np.argsort(keys, axis=1)
        keys += strata
        found = np.empty((number, n_units), dtype=np.int64)
        found[:, np.argsort(strata, kind="stable")] = np.argsort(keys, axis=1)
        return found

    def statistics(
        self, own: FloatArray, chosen: IndexArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return both statistics for terms in other orders; (n_draws, n_chosen) each.

        ``own`` has the shape (n_draws, n_units, n_terms).
        """
        n_draws, n_units, n_terms = own.shape
        columns = np.isin(self.groups, chosen)
        moved = np.swapaxes(own, 1, 2)  # (n_draws, n_terms, n_units)
        scores = moved.reshape(-1, n_units) @ self.residuals[:, columns]
        scores = np.square(scores).reshape(n_draws, n_terms, -1)
        alone = np.einsum("bac,a->bc", scores, self.own.weights)
        first = _starts(self.groups[columns])
        alone = np.add.reduceat(alone, first, axis=1)
        table = self.products[:, columns]
        if not table.shape[2]:
            return alone, np.zeros_like(alone)
        n_leading = self.own.n_leading
        flat = table.reshape(n_units, -1)
        lead = np.ascontiguousarray(moved[:, :n_leading]).reshape(-1, n_units)
        scores = np.square(lead @ flat).reshape(n_draws, n_leading, *table.shape[1:])
        scores = np.einsum("back,a->bck", scores, self.own.weights[:n_leading])
        scores = np.add.reduceat(scores, first, axis=1)
        scores = np.add.reduceat(scores, self.first_of_partner, axis=2)
        expected = self.expected[:, columns]
        expected = np.add.reduceat(expected, first, axis=1).T
        return alone, (scores / np.maximum(expected, 1e-300)).max(axis=2)

    @cached_property
    def expected(self) -> FloatArray:  # shape: (n_partners, n_coordinates)
        """Mean of the scores of products where the input does nothing."""
        n_leading = self.own.n_leading
        size = np.square(self.own.values[:, :n_leading]).mean(axis=0)
        size = float(size @ self.own.weights[:n_leading])
        sums = np.square(self.products).sum(axis=0).T  # (n_leading, n_coordinates)
        return size * np.add.reduceat(sums, self.first_of_partner, axis=0)

    def drawn(
        self, number: int, chosen: IndexArray, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return both statistics of so many draws."""
        generator = np.random.default_rng(seed)
        each = self.own.values.size + self.own.n_leading * (
            self.products.size // max(self.n_units, 1)
        )
        block = max(_BLOCK // max(each, 1), 1)
        alone, pairs = [], []
        for start in range(0, number, block):
            size = min(block, number - start)
            if self.exchange.kind == "signs":
                own = self._signed(size, generator)
            else:
                own = self.own.values[self.draw(size, generator)]
            found = self.statistics(own, chosen)
            alone.append(found[0])
            pairs.append(found[1])
        return np.concatenate(alone), np.concatenate(pairs)

    def _signed(self, number: int, generator: np.random.Generator) -> FloatArray:
        unit = self.exchange.unit
        signs = generator.choice([-1.0, 1.0], size=(number, int(unit.max()) + 1))
        return np.asarray(signs[:, unit, np.newaxis] * self.own.values)

    def p_values(self, n_draws: int) -> FloatArray:  # shape: (n_outputs,)
        """Return p-values of the exchange, more draws for those that are small."""
        chosen = np.arange(self.problem.n_outputs)
        found = np.ones(len(chosen))
        observed = self.statistics(self.own.values[np.newaxis], chosen)
        for number in (_FIRST, n_draws):
            draws = self.drawn(number, chosen, number)
            both = [o[:, chosen] for o in observed]
            found[chosen] = _smaller_rank(both, draws)
            chosen = np.flatnonzero(found <= _CLEAR)
            if not len(chosen):
                break
        small = np.flatnonzero(found <= 0.1)
        if len(small) and self.exchange.kind != "signs":
            signs = self._p_values_of_signs(n_draws, small, observed)
            found[small] = np.maximum(found[small], signs)
        return found

    def _p_values_of_signs(
        self, n_draws: int, chosen: IndexArray, observed: tuple[FloatArray, FloatArray]
    ) -> FloatArray:  # shape: (n_chosen,)
        """Return p-values of changes of signs, of what the input leaves of residuals.

        What its terms, and those of the best partner, explain would be noise here.
        """
        found = np.zeros(len(chosen))
        if self.exchange.strata is not None and self.n_units < _EXACT:
            return found  # few runs, whose exchange within strata is exact
        for place, output in enumerate(chosen.tolist()):
            columns = self.groups == output
            design = [self.own.values]
            one = np.array([output])
            if self.products.shape[2]:
                best = self._best_partner(columns)
                lead = self.own.values[:, : self.own.n_leading]
                product = lead[:, :, None] * self.partners[best][1][:, None, :]
                design.append(product.reshape(self.n_units, -1))
            table = np.hstack(design)
            q = np.linalg.qr(table)[0] if table.shape[1] < 0.5 * len(table) else None
            left = self.residuals.copy()
            if q is not None:
                part = left[:, columns]
                leverage = np.minimum(np.square(q).sum(axis=1), 0.9)
                part = (part - q @ (q.T @ part)) / np.sqrt(1.0 - leverage)[:, None]
                left[:, columns] = part
            exchange = Exchange("signs", np.arange(self.n_units))
            other = replace(self, residuals=left, exchange=exchange)
            draws = other.drawn(min(n_draws, _SIGNS), one, n_draws + 1)
            both = [o[:, one] for o in observed]
            scale = self._ratio_of_expected(other, columns)
            found[place] = _smaller_rank(both, (draws[0], draws[1] * scale))[0]
        return found

    def _ratio_of_expected(self, other: _Setting, columns: BoolArray) -> float:
        if not self.products.shape[2]:
            return 1.0
        mine = self.expected[:, columns].sum(axis=1)
        theirs = other.expected[:, columns].sum(axis=1)
        return float(np.median(theirs / np.maximum(mine, 1e-300)))

    def _best_partner(self, columns: BoolArray) -> int:
        lead = self.own.values[:, : self.own.n_leading]
        table = self.products[:, columns]
        scores = np.square(np.einsum("ua,uck->ack", lead, table))
        scores = np.einsum("ack,a->k", scores, self.own.weights[: self.own.n_leading])
        scores = np.add.reduceat(scores, self.first_of_partner)
        expected = self.expected[:, columns].sum(axis=1)
        return int(np.argmax(scores / np.maximum(expected, 1e-300)))

    def spread_p_values(self, n_draws: int) -> FloatArray:  # shape: (n_outputs,)
        """Test whether the size of the residuals depends on the input."""
        size = _sizes(self.residuals, self.groups, self.problem.n_outputs)
        size = bounded(size, np.arange(size.shape[1]))
        generator = np.random.default_rng(3)
        n_leading = min(self.own.n_leading, 4)
        own = self.own.values[:, :n_leading]
        weights = self.own.weights[:n_leading]

        def scores(moved: FloatArray) -> FloatArray:  # (n_draws, n_outputs)
            flat = np.swapaxes(moved, 1, 2).reshape(-1, len(own)) @ size
            squares = np.square(flat).reshape(len(moved), n_leading, -1)
            return np.einsum("bao,a->bo", squares, weights)

        observed = scores(own[np.newaxis])
        found = np.ones(size.shape[1])
        for number in (_FIRST, n_draws):
            block = max(_BLOCK // own.size, 1)
            drawn = []
            for start in range(0, number, block):
                order = self.draw(min(block, number - start), generator)
                drawn.append(scores(own[order]))
            values = np.concatenate(drawn)
            found = _p_of(observed[0], values)
            if found.min() > _CLEAR:
                break
        return found

    def outlying(self, output: int) -> IndexArray:
        """Return units that lie far out, so that an answer may rest on them."""
        far = self.far[:, output] > _FAR
        middle = np.median(self.X, axis=0)
        spread = 1.4826 * np.median(np.abs(self.X - middle), axis=0)
        away = np.abs(self.X - middle) > _OUTLYING * spread
        wild = far & (away & (spread > 0)).any(axis=1)
        if wild.sum() > _MOST_OUTLYING * len(far):
            wild[:] = False
        order = np.argsort(-self.far[:, output], kind="stable")[:_FEW]
        few = order[self.far[order, output] > _OUTLYING]
        return np.union1d(np.flatnonzero(wild), few)

    def pairs(
        self, partners: Sequence[tuple[int, ...]]
    ) -> FloatArray:  # shape: (n_partners, n_outputs)
        """Test products with partners beside what the input does alone."""
        found = np.ones((len(partners), self.problem.n_outputs))
        if self.exchange.kind == "signs" or self.too_many_products:
            return found
        own = self.own.values
        q = np.linalg.qr(own)[0]
        left = self.residuals - q @ (q.T @ self.residuals)
        tables = dict(self.partners)
        generator = np.random.default_rng(5)
        lead = own[:, : self.own.n_leading]
        weights = self.own.weights[: self.own.n_leading]
        first = _starts(self.groups)
        number = min(self.problem.n_draws, 4000)
        for place, inputs in enumerate(partners):
            if any(k not in tables for k in inputs):
                continue
            table = np.hstack([tables[k] for k in inputs])
            product = (lead[:, :, None] * table[:, None, :]).reshape(len(own), -1)
            weight = np.repeat(weights, table.shape[1])
            product = product - product.mean(axis=0)
            both = np.hstack([own, table])
            basis = np.linalg.qr(both)[0]
            product = product - basis @ (basis.T @ product)

            def scores(
                moved: FloatArray, weight: FloatArray = weight
            ) -> FloatArray:  # shape: (n_draws, n_outputs)
                flat = np.swapaxes(moved, 1, 2).reshape(-1, len(own)) @ left
                squares = np.square(flat).reshape(len(moved), len(weight), -1)
                sums = np.einsum("bac,a->bc", squares, weight)
                return np.add.reduceat(sums, first, axis=1)

            observed = scores(product[np.newaxis])[0]
            block = max(_BLOCK // product.size, 1)
            drawn, signed = [], []
            for start in range(0, number, block):
                size = min(block, number - start)
                drawn.append(scores(product[self.draw(size, generator)]))
                signs = generator.choice([-1.0, 1.0], size=(size, len(own), 1))
                signed.append(scores(signs * product))
            found[place] = np.maximum(
                _p_of(observed, np.concatenate(drawn)),
                _p_of(observed, np.concatenate(signed)),
            )
        return found


def _tested(problem: Problem, members: tuple[int, ...]) -> Tested:
    setting = _Setting.of(problem, members)
    n_outputs = problem.n_outputs
    nothing = tuple(np.zeros(0, dtype=np.int64) for _ in range(n_outputs))
    if setting is None:
        others = problem.inputs.without(members)
        exchange = problem.design.exchange(
            problem.inputs.X[:, list(members)], problem.inputs.X[:, others]
        )
        if exchange.kind != "none":
            exchange = Exchange(
                "none",
                exchange.unit,
                why="the series remembers for too long to divide it into blocks",
            )
        ones = np.ones(n_outputs)
        return Tested(ones, ones, exchange, (), nothing)
    n_draws = problem.n_draws
    location = setting.p_values(n_draws)
    resting = list(nothing)
    for output in np.flatnonzero(location <= 0.05).tolist():
        few = setting.outlying(output)
        if not len(few) or setting.exchange.kind == "signs":
            continue
        again = setting.without(few).p_values(n_draws)[output]
        if again > location[output]:
            location[output] = again
            resting[output] = _rows_of(setting, few)
    spread = np.ones(n_outputs)
    if setting.exchange.kind != "signs":
        spread = setting.spread_p_values(n_draws)
    return Tested(
        location,
        spread,
        setting.exchange,
        setting.tied_to,
        tuple(resting),
        not setting.too_many_products,
    )


def _rows_of(setting: _Setting, units: IndexArray) -> IndexArray:
    """Return the members of units."""
    unit = setting.exchange.unit
    if setting.n_units == len(unit):
        return units
    return np.flatnonzero(np.isin(unit, units))


def _sizes(
    values: FloatArray, groups: IndexArray, n_outputs: int
) -> FloatArray:  # shape: (n_units, n_outputs)
    squares = np.add.reduceat(np.square(values), _starts(groups), axis=1)
    assert squares.shape[1] == n_outputs
    return np.sqrt(squares)


def _in_deviations(values: FloatArray, groups: IndexArray) -> FloatArray:
    """Return the sizes of rows for each output, in robust deviations."""
    size = _sizes(values - np.median(values, axis=0), groups, int(groups.max()) + 1)
    unit = 1.4826 * np.median(size, axis=0)
    return np.asarray(size / np.where(unit > 0, unit, np.inf))


def _starts(groups: IndexArray) -> IndexArray:
    """Return where each output begins among sorted coordinates."""
    return np.flatnonzero(np.diff(groups, prepend=-1))


def _few_coordinates(
    residuals: FloatArray, groups: IndexArray
) -> tuple[FloatArray, IndexArray]:
    """Rotate each output to its directions of most variance, and keep some of them."""
    found, labels = [], []
    for label in np.unique(groups):
        part = residuals[:, groups == label]
        if part.shape[1] > 1:
            left, values, _ = np.linalg.svd(part, full_matrices=False)
            part = (left * values)[:, :_MOST_COORDINATES]
        size = np.sqrt(np.square(part).sum())
        found.append(part / size if size > 0 else part)
        labels += [int(label)] * part.shape[1]
    return np.hstack(found), np.array(labels)


def _left_of(
    inputs: Inputs,
    members: tuple[int, ...],
    others: IndexArray,
    own: Terms,
    unit: IndexArray | None,
) -> tuple[Terms, tuple[int, ...]]:
    """Return what the others leave of the terms, and what they cannot be told from."""
    targets = own.values
    one = np.zeros(targets.shape[1], dtype=np.int64)
    fit = fit_others(inputs, others, targets, one, unit, smooth=True)
    if not fit.explains:
        return own, ()
    left = fit.residuals - fit.residuals.mean(axis=0)
    size = np.square(targets - targets.mean(axis=0)).sum(axis=0)
    shares = np.square(left).sum(axis=0)
    known = 1.0 - shares[0] / max(size[0], 1e-300)
    tied: tuple[int, ...] = ()
    if known > _TIED:
        weight = fit.weights / fit.weights.sum()
        chosen = np.flatnonzero(weight > 0.1)
        tied = tuple(int(others[k]) for k in chosen)
    return Terms(left, own.weights, own.n_leading), tied


def _of_series(design: Design, values: FloatArray, own: Terms) -> Exchange:
    """Return blocks of a series; none where it remembers for long."""
    centred = values - values.mean(axis=0)
    scale = np.sqrt(np.square(centred).mean(axis=0))
    memory = memory_of(centred / np.where(scale > 0, scale, 1.0), design.order)
    memory = max(memory, memory_of(own.values[:, :1], design.order))
    labels = design.series_blocks(3 * memory if memory > 1 else 1)
    kind = "signs" if labels.max() + 1 >= 12 else "none"
    return Exchange(kind, labels)


def _smaller_rank(
    observed: Sequence[FloatArray],  # two of shape (1, n_outputs)
    drawn: tuple[FloatArray, FloatArray],  # two of shape (n_draws, n_outputs)
) -> FloatArray:  # shape: (n_outputs,)
    """Rank the smaller rank of two statistics; extrapolate where few are as large."""
    number = len(drawn[0]) + 1
    found = np.ones(drawn[0].shape[1])
    for output in range(drawn[0].shape[1]):
        ranks = []
        for own, others in zip(observed, drawn, strict=True):
            values = _rounded(np.concatenate([own[:, output], others[:, output]]))
            ranks.append(number - rankdata(values, method="min") + 1)
        smaller = np.minimum(*ranks)
        found[output] = (smaller <= smaller[0]).mean()
        if found[output] * number < _EXCEEDED and number > 1000:
            tails = [
                _tail(float(own[0, output]), others[:, output])
                for own, others in zip(observed, drawn, strict=True)
            ]
            found[output] = min(found[output], 2.0 * min(tails))
    return found


def _p_of(
    observed: FloatArray,  # shape: (n_outputs,)
    drawn: FloatArray,  # shape: (n_draws, n_outputs)
) -> FloatArray:
    """Return ranks as p-values; extrapolated where few draws are as large."""
    reached = _rounded(drawn) >= _rounded(observed)
    found = (1.0 + reached.sum(axis=0)) / (len(drawn) + 1.0)
    for output in np.flatnonzero(found * (len(drawn) + 1) < _EXCEEDED).tolist():
        if len(drawn) >= 1000:
            tail = _tail(float(observed[output]), drawn[:, output])
            found[output] = min(found[output], tail)
    return np.asarray(found)


def _rounded(values: FloatArray) -> FloatArray:
    """Round to nine digits: equal arrangements have equal statistics."""
    with np.errstate(divide="ignore"):
        digits = 9 - np.ceil(np.log10(np.maximum(np.abs(values), 1e-300)))
    factor = np.power(10.0, np.clip(digits, -300, 300))
    return np.asarray(np.round(values * factor) / factor)


def _tail(observed: float, drawn: FloatArray) -> float:
    """Return the share of draws beyond a value, by an exponential tail.

    The statistics are quadratic forms, whose tails are exponential or lighter. The mean
    excess is taken two standard errors too large.
    """
    size = max(len(drawn) // 40, 25)
    largest = np.sort(drawn)[-size - 1 :]
    start, excess = largest[0], largest[1:] - largest[0]
    mean = excess.mean() * (1.0 + 2.0 / np.sqrt(size))
    distinct = len(np.unique(_rounded(largest)))
    if observed <= start or not mean > 0 or distinct < size // 2:
        return 1.0  # few arrangements: there is no tail
    return float(size / len(drawn) * np.exp(-(observed - start) / mean))
