"""Which entries of a part of the input matter most, verified by solving again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._checks import (
    FloatArray,
    IndexArray,
    Mask,
    OutputGroups,
    Steps,
    check_integer,
    fail,
)
from ..._result import Result
from .effects import Solver

OWNER = "part_entries"
# What solving again says of an entry.
_VERIFIED = ("alone", "alone_error", "left", "left_error")


def part_entries(
    model: Callable[[Any], Any],
    parts: Mapping[str, Any],
    part: str | Mapping[str, str],
    *,
    labels: Any = None,
    n_best: int = 10,
    n_verifying: int | None = None,
    combine: Callable[[Mapping[str, NDArray[Any]]], Any] | None = None,
    steps: Steps = None,
    outputs: OutputGroups = None,
    mask: Mask = "infer",
    batch_size: int = 1024,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    r"""Say which entries of a part matter most, and verify it by solving again.

    An entry is what a reader can point at within a part: a reaction, an edge, a
    fragment. All entries are screened, each by one solution; for the leading ones of
    each output the model is solved again for all members.

    Parameters
    ----------
    model : callable
        Maps inputs of several members, as ``combine`` returns them, to y.
    parts : dict of str to array-like of shape (n_members, ...)
        The parts of each member's input, as :func:`part_effects` takes them.
    part : str or dict of str to str
        Name of the part whose entries are compared. A dict names a part for each
        output (or step) that is of interest; the others are left out.
    labels : array-like of str, of the shape of a part, or None, default=None
        The name of the entry to which each element belongs, and ``""`` for none. None
        makes each element an entry. For several parts a dict by their names.
    n_best : int, default=10
        Number of leading entries of each output that are verified.
    n_verifying : int or None, default=None
        Members that are solved, in even steps through all; None means all. Fewer
        members cost less and have larger standard errors; means and deviations of the
        entries are those of all members.
    combine : callable or None, default=None
        Maps parts of several members, by name, to their inputs; None adds them up.
    steps, outputs, mask
        What the columns of y are, as in :func:`verdict`.
    batch_size : int, default=1024
        Largest number of inputs that the model is given at once.
    progress : callable or None, default=None
        Called with (solutions done, all solutions).

    Returns
    -------
    entries : Result
        One row per output (or step) and ``rank``, of shape (n_outputs, n_ranks), in
        the order of ``alone``; ``print`` gives the leading ones in words. The columns
        are

        entry, part : ndarray of str
            Name of the entry and of its part; empty where an output has fewer.
        screened : ndarray of float
            Share of the members' variance that the entry has by the screening.
        alone : ndarray of float
            Variance when only this entry varies between the members, all else at its
            mean, over the variance of the members as they are.
        left : ndarray of float
            Variance when this entry is fixed at its mean in every member and all else
            is as it is, over the variance of the members: the variance falls by
            ``1 - left``, or grows where that is negative.
        alone_error, left_error : ndarray of float
            Standard errors of both, which are ratios of variances of the same members.

        Of the whole: ``n_members``, ``n_verifying`` and ``n_solutions``.

    Raises
    ------
    ValueError
        For a part, an output, a label or a candidate that is not there, names that do
        not name every entry, or what :func:`part_effects` refuses.

    See Also
    --------
    part_effects : Effects of whole parts, of which the leading ones are looked into.

    Notes
    -----
    *Screening.* At the mean of all parts the entry is moved by one standard deviation
    between the members, and the squared change of the output, in its coordinates, is
    put over the variance of the members. Where an entry has several elements
    :math:`x`, of covariance :math:`\Sigma`, it is moved along its first principal
    direction, by :math:`\sqrt{\lambda_1} u_1`, with :math:`u_1` such that most of it
    rises; for equal elements that is one standard deviation of their common value. To
    first order in the entry the variance is
    :math:`\sum_k \lambda_k \lVert J u_k \rVert^2`, with :math:`J` the derivative of
    the output: the leading term is exact for an entry of one value.

    *Verification* has no such approximation and needs no independence. ``alone`` and
    ``1 - left`` differ where entries interact or depend on one another. With squared
    deviations :math:`a_i` of the members as they are, and :math:`b_i` of the same
    members with one entry fixed or varying, the ratio :math:`r = \bar b / \bar a` has
    the standard error of the mean of :math:`(b_i - r a_i) / \bar a`.

    *Cost*: a solution of each verifying member, one of the mean, one for each
    candidate, and two of each verifying member for every entry that is among the
    leading ones of any output.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import part_entries
    >>> rng = np.random.default_rng(0)
    >>> parts = {
    ...     "yields": rng.normal(size=(50, 3)) * [1.0, 3.0, 0.1],
    ...     "costs": rng.normal(size=(50, 3)),
    ... }
    >>> found = part_entries(
    ...     lambda z: z.sum(axis=1), parts, "yields", labels=["A", "B", "C"], n_best=2
    ... )
    >>> found.entry[0].tolist()
    ['B', 'A']
    >>> found.n_solutions
    254
    """
    check_integer(OWNER, "n_best", n_best, low=1)
    if n_verifying is not None:
        check_integer(OWNER, "n_verifying", n_verifying, low=3)
    solver = Solver(OWNER, model, parts, combine, batch_size, progress)
    looked_into = list(part.values()) if isinstance(part, Mapping) else [part]
    is_text = all(isinstance(name, str) for name in looked_into)
    if not looked_into or not is_text or not set(looked_into) <= set(solver.names):
        known = ", ".join(map(repr, solver.names))
        expected = f"one of {known}, or a dict of outputs to these"
        raise fail(OWNER, "part", expected, part)
    entries = {}
    for name in dict.fromkeys(looked_into):
        own = labels.get(name) if isinstance(labels, Mapping) else labels
        entries[name] = _Entries.read(name, solver.parts[name], own)
    size = min(n_verifying or solver.n_members, solver.n_members)
    rows = np.arange(size) * solver.n_members // size  # in even steps
    n_candidates = sum(len(one.names) for one in entries.values())
    n_screened = len(rows) + 1 + n_candidates
    solver.n_solutions = n_screened + 2 * len(rows) * n_candidates  # at most
    solver.read_members(rows, steps=steps, outputs=outputs, mask=mask)
    known_outputs = solver.outputs.names
    part_of: dict[int, Any] = dict.fromkeys(range(len(known_outputs)), part)
    if isinstance(part, Mapping):
        unknown = [name for name in part if name not in known_outputs]
        if unknown:
            known = ", ".join(map(repr, known_outputs))
            raise ValueError(
                f"part has the outputs {unknown}; expected some of {known}."
            )
        pairs = enumerate(known_outputs)
        part_of = {i: part[name] for i, name in pairs if name in part}
    screened = _screened(solver, entries)
    leading = []
    for group, name in part_of.items():
        shares = screened[name][:, group]
        best = np.argsort(-shares, kind="stable")[:n_best]
        leading.append([(name, i) for i in best if not np.isnan(shares[i])])
    verified = list(dict.fromkeys(pair for row in leading for pair in row))
    solver.n_solutions = n_screened + 2 * len(rows) * len(verified)
    figures = {}
    own = {key: values[rows] for key, values in solver.parts.items()}
    at_mean = {key: values[rows] for key, values in solver.means.items()}
    for name, i in verified:  # with one entry varying, and with it fixed at its mean
        one, columns = entries[name], entries[name].elements[i]
        varying = np.array(at_mean[name]).reshape(len(rows), -1)
        fixed = one.values[rows]
        fixed[:, columns] = varying[:, columns]
        varying[:, columns] = one.values[np.ix_(rows, columns)]
        shape = own[name].shape
        alone = solver.shares_of({**at_mean, name: varying.reshape(shape)})
        left = solver.shares_of({**own, name: fixed.reshape(shape)})
        found = dict(zip(_VERIFIED, (*alone, *left), strict=True))
        figures[name, i] = {"screened": screened[name][i]} | found
    ranked = [
        sorted(pairs, key=lambda pair: -figures[pair]["alone"][group])
        for group, pairs in zip(part_of, leading, strict=True)
    ]
    return _table(solver, entries, part_of, ranked, figures)


@dataclass(frozen=True)
class _Entries:
    """The entries of a part that vary, which are compared."""

    part: str
    names: tuple[str, ...]
    elements: tuple[IndexArray, ...]  # of each entry, within the raveled part
    values: FloatArray  # shape: (n_members, n_elements)

    @classmethod
    def read(cls, part: str, values: NDArray[Any], labels: Any) -> _Entries:
        """Check the labels and names of a part."""
        shape, size = values.shape[1:], int(np.prod(values.shape[1:]))
        flat = values.reshape(len(values), -1).astype(np.float64)
        label = np.arange(size)  # the entry of each element, -1 for none
        found = list(map(str, np.ndindex(*shape) if len(shape) > 1 else range(size)))
        if labels is not None:
            given = np.asarray(labels)
            if given.shape != shape or given.dtype.kind not in "UO":
                raise ValueError(
                    f"labels of the part {part!r} have shape {given.shape} and type "
                    f"{given.dtype}; expected names of shape {shape}, one for each "
                    "element."
                )
            texts = list(map(str, given.ravel()))
            found = [name for name in dict.fromkeys(texts) if name]
            number = {name: i for i, name in enumerate(found)} | {"": -1}
            label = np.array([number[text] for text in texts], dtype=np.int64)
        order = np.argsort(label, kind="stable")
        n_entries = int(label.max()) + 1
        bounds = np.searchsorted(label[order], np.arange(n_entries + 1))
        elements = [order[start:end] for start, end in pairwise(bounds)]
        varies = np.ptp(flat, axis=0) > 0
        varying = [i for i, own in enumerate(elements) if varies[own].any()]
        if not varying:
            raise ValueError(
                f"The part {part!r} has no entry that varies; expected one or more."
            )
        names = tuple(found[i] for i in varying)
        return cls(part, names, tuple(elements[i] for i in varying), flat)

    def move(self, entry: int) -> FloatArray:  # shape: (n_elements of the entry,)
        """Return one standard deviation along the first principal direction."""
        own = self.values[:, self.elements[entry]]
        centred = own - own.mean(axis=0)
        scale = 1.0 / np.sqrt(len(own) - 1)
        _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
        sign = 1.0 if directions[0].sum() >= 0 else -1.0
        found: FloatArray = sign * scale * sizes[0] * directions[0]
        return found


def _screened(
    solver: Solver, entries: Mapping[str, _Entries]
) -> dict[str, FloatArray]:  # each of shape (n_candidates, n_groups)
    """Move each candidate once from the mean of all parts."""
    means = {name: values[:1] for name, values in solver.means.items()}
    at_mean = solver.coordinates(1, lambda _: means)
    found = {}
    for name, one in entries.items():

        def moved(some: slice, one: _Entries = one) -> dict[str, NDArray[Any]]:
            chosen = range(len(one.names))[some]
            own = np.tile(means[one.part].reshape(1, -1), (len(chosen), 1))
            for row, entry in zip(own, chosen, strict=True):
                row[one.elements[entry]] += one.move(entry)
            rows = {
                other: np.broadcast_to(mean, (len(chosen), *mean.shape[1:]))
                for other, mean in means.items()
            }
            return {**rows, one.part: own.reshape(rows[one.part].shape)}

        change = solver.coordinates(len(one.names), moved) - at_mean
        found[name] = solver.outputs.sum_by_group(np.square(change)) / solver.variance
    return found


def _table(
    solver: Solver,
    entries: Mapping[str, _Entries],
    part_of: Mapping[int, str],
    ranked: Sequence[Sequence[tuple[str, int]]],
    figures: Mapping[tuple[str, int], Mapping[str, FloatArray]],
) -> Result:
    """Put the leading entries into words."""
    outputs, n_members = solver.outputs, solver.n_members
    n_verifying = len(solver.squares)
    names = tuple(outputs.names[group] for group in part_of)
    shape = (len(names), max(map(len, ranked)))
    columns: dict[str, NDArray[Any]] = {
        **{key: np.full(shape, "", dtype=object) for key in ("entry", "part")},
        **{key: np.full(shape, np.nan) for key in ("screened", *_VERIFIED)},
    }
    for row, (group, found) in enumerate(zip(part_of, ranked, strict=True)):
        for rank, (name, i) in enumerate(found):
            columns["entry"][row, rank] = entries[name].names[i]
            columns["part"][row, rank] = name
            for key, values in figures[name, i].items():
                columns[key][row, rank] = values[group]
    few = f", {n_verifying} of them verifying" if n_verifying < n_members else ""
    nothing = ("no choice, or no variance between members",)
    facts = []
    for leading in zip(
        *(columns[n][:, :3] for n in ("entry", *_VERIFIED)), strict=True
    ):
        own = [
            f"{entry}: alone {alone:z.1%} ± {alone_error:.1%}, without {1 - left:z.1%} "
            f"± {left_error:.1%}"
            for entry, alone, alone_error, left, left_error in zip(
                *leading, strict=True
            )
            if entry
        ]
        facts.append("; ".join(own))
    return Result(
        {outputs.noun: names, "rank": tuple(range(1, shape[1] + 1))},
        columns,
        supported=tuple(len(found) > 0 for found in ranked),
        reasons=tuple(() if found else nothing for found in ranked),
        facts=tuple(facts),
        notes=(
            f"Of {n_members} members{few}, {solver.n_done} solutions. Alone: only the "
            "entry varies; without: fall of the variance with the entry fixed at its "
            "mean. ±: standard error.",
        ),
        figures={
            "n_members": n_members,
            "n_verifying": n_verifying,
            "n_solutions": solver.n_done,
        },
        framed=(outputs.noun, "rank", *columns),
    )
