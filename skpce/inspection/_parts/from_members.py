"""Effects of named parts where nothing can be solved again: from a fit to members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

from ..._checks import (
    FloatArray,
    IndexArray,
    Mask,
    OutputGroups,
    Steps,
    check_integer,
    refuse_extremes,
    take,
)
from ..._compositions.log_ratio import LogRatioTransformer
from ..._compositions.outputs import Outputs, read_outputs
from ..._expansion.expansion import closed_index, total_index
from ..._regressor import PolynomialChaosRegressor
from ..._result import Result
from ..._surrogate import CompositionalPCESurrogate
from ...drivers import Answer, Design
from ...drivers._cautions import cautions_in_words
from ...drivers._design import deal_folds, sorted_units
from .._ensembles.training_noise import jackknife_error, refuse_failed
from .._ensembles.verdict import verdict
from .._input_tests import smallest_p_value
from .._reading import expansion_of
from .effects import most_dependent, table_of_dependence
from .recombination import leading_parts, read_parts

OWNER = "part_effects_from_members"

_N_GROUPS = 10  # of members that are left out for the standard errors
# Two parts with such a distance correlation cannot be told apart by a fit to members.
_DEPENDENT = 0.8
_NORMAL_QUANTILE = 1.6448536269514722  # of 0.95: intervals of Q² hold 90 %


def part_effects_from_members(
    parts: Mapping[str, Any],
    y: ArrayLike,
    *,
    n_components: int = 2,
    degree: int = 1,
    steps: Steps = None,
    outputs: OutputGroups = None,
    mask: Mask = "infer",
    zero_replacement: float = 1e-12,
    standardize: bool = False,
    cv: Any = 5,
) -> Result:
    r"""Say which named part of an input drives which output, from the members alone.

    For policies or outputs that cannot be computed again for another input, such as
    trained ones. A polynomial chaos expansion is fitted to the leading principal
    components of each part, and its indices are added up by part. Where the model can
    be solved again, :func:`part_effects` needs no such fit.

    Parameters
    ----------
    parts : dict of str to array-like of shape (n_members, ...)
        The parts of each member's input, as :func:`part_effects` takes them.
    y : array-like of shape (n_members,) or (n_members, n_columns), or data frame
        Real outputs, or policies with their steps side by side.
    n_components : int, default=2
        Largest number of principal components of each part.
    degree : int, default=1
        Largest total degree of the expansion. From 2 on it has interactions, and so
        many terms that it needs several times more members than parts times components
        squared.
    steps, outputs, mask, zero_replacement, standardize
        What the columns of y are, as in :func:`verdict`.
    cv : int or cross-validation splitter, default=5
        Folds of the cross-fitted Q², as in :func:`verdict`.

    Returns
    -------
    effects : Result
        One row per output (or step) and part, with the columns ``first``, ``total`` and
        ``interaction`` of :func:`part_effects`, as shares of the variance of the
        members, and their standard errors ``..._error``. Of each output ``q2``, the
        cross-fitted Q², and ``unexplained``, the share ``1 - q2`` (at most one) that
        the expansion does not explain: beside it and the interactions the first-order
        effects add up to one. ``p_value`` of a part is the smallest of its components,
        adjusted over all components and outputs; NaN where it does not vary. Of the
        whole: ``verdict``, the answer of :func:`verdict` that
        decides what is supported; ``dependence``, the distance correlation of
        every two parts and its p-value; ``n_members``, ``n_components`` (of each part)
        and ``n_terms``. Nothing is supported where two parts have a distance
        correlation of 0.8 or more: a fit cannot separate what they explain.

    Raises
    ------
    ValueError
        For fewer than two parts or eight members, parts of different lengths or with
        NaN, parts that do not vary at all, or y that has other members, NaN, or
        compositions beside real outputs.

    See Also
    --------
    part_effects : The same by solving again, without a fit.
    verdict : The conditions of what is supported.

    Notes
    -----
    The inputs are the scores :math:`z_{pj}` of the part :math:`p` on its own principal
    components; every fold fits them again. With the expansion
    :math:`\sum_\alpha c_\alpha \psi_\alpha(z)`, the first-order effect of a part is its
    closed index :math:`\sum c_\alpha^2 / V` over terms of its inputs alone, the total
    effect that over all terms with one of them [1]_, both times the cross-fitted Q².
    They assume independent inputs, as all indices of an expansion do: the notes have
    the tests.

    *Standard errors* leave out one of ten groups of members after the other (delete-
    a-group jackknife; the groups are dealt by the outputs, so that no seed and no order
    of the members matters), and contain the uncertainty of Q² from the bootstrap
    interval of the verdict, as if both were independent. They do not contain that
    components beyond ``n_components`` and terms beyond ``degree`` are missing; these
    are ``unexplained``.

    References
    ----------
    .. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos expansions",
       Reliability Engineering & System Safety 93 (2008), pp. 964-979.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import part_effects_from_members
    >>> rng = np.random.default_rng(0)
    >>> parts = {"level": rng.normal(size=200), "trend": rng.normal(size=(200, 3))}
    >>> y = 2 * parts["level"] + parts["trend"][:, 0] + rng.normal(size=200)
    >>> found = part_effects_from_members(parts, y, n_components=3)
    >>> found.first.round(1), found.unexplained.round(1)  # 4/6, 1/6 and 1/6
    (array([[0.7, 0.2]]), array([0.1]))
    """
    check_integer(OWNER, "n_components", n_components, low=1)
    check_integer(OWNER, "degree", degree, low=1)
    named = read_parts(OWNER, parts)
    columns: dict[str, Any] = {
        "steps": steps,
        "outputs": outputs,
        "mask": mask,
        "zero_replacement": zero_replacement,
        "standardize": standardize,
    }
    read = read_outputs(y, OWNER, **columns)
    n_members = len(next(iter(named.values())))
    _check_outputs(y, read, n_members)
    table, sizes = _rotated(named)
    n_inputs = np.minimum(sizes, min(n_components, n_members // 2))
    pipeline = _pipeline(sizes, n_inputs, degree, read, steps)
    judged = verdict(
        *(pipeline, table, y),
        steps=steps,
        outputs=outputs,
        standardize=standardize,
        cv=cv,
    )
    fitted = clone(pipeline).fit(table, y)
    found = _indices(fitted, n_inputs, read)
    errors = _jackknife_errors(pipeline, table, y, n_inputs, read, judged.design)
    dependence = table_of_dependence(named)
    n_terms = len(expansion_of(fitted).expansion.multi_indices)
    return _table(
        tuple(named), read, judged, found, errors, n_inputs, dependence, n_terms
    )


def _check_outputs(y: Any, outputs: Outputs, n_members: int) -> None:
    """Raise ``ValueError`` for y of other members, with NaN, or of two kinds."""
    if len(y) != n_members:
        raise ValueError(
            f"y has {len(y)} members; expected {n_members}, as the parts have."
        )
    if outputs.n_steps and not outputs.are_compositions:
        raise ValueError(
            "y has compositions and real outputs; expected one of them. Call "
            f"{OWNER} for each."
        )
    values = np.asarray(y, dtype=np.float64).reshape(n_members, -1)
    refuse_failed(values, "y")
    refuse_extremes(values, "y")


def _rotated(parts: Mapping[str, NDArray[Any]]) -> tuple[FloatArray, IndexArray]:
    """Return each part in as few columns as hold all of it, and their numbers.

    A rotation of a part changes no principal component of any of its rows.
    """
    tables, sizes = [], []
    for values in parts.values():
        flat = values.reshape(len(values), -1).astype(np.float64)
        centred = flat - flat.mean(axis=0)
        left, singular, _ = np.linalg.svd(centred, full_matrices=False)
        smallest = 1e-10 * max(singular.max(initial=0.0), np.abs(flat).max(initial=0.0))
        rank = int((singular > smallest).sum())
        tables.append(left[:, :rank] * singular[:rank])
        sizes.append(rank)
    if not any(sizes):
        raise ValueError(
            "None of the parts varies between the members; expected one or more that "
            "do."
        )
    return np.hstack(tables), np.array(sizes)


def _pipeline(
    sizes: IndexArray, n_inputs: IndexArray, degree: int, outputs: Outputs, steps: Steps
) -> Any:
    """Return principal components of each part, then an expansion."""
    ends = np.cumsum(sizes)
    places = zip(ends - sizes, ends, n_inputs, strict=True)
    embedding = ColumnTransformer(
        [
            (f"part{i}", PCA(int(size)), slice(int(start), int(end)))
            for i, (start, end, size) in enumerate(places)
            if size
        ]
    )
    if not outputs.are_compositions:
        return make_pipeline(
            embedding,
            PolynomialChaosRegressor(degree, solver="ridge", distribution="normal"),
        )
    assert outputs.geometry is not None
    surrogate = CompositionalPCESurrogate(
        degree,
        steps=steps,
        mask=outputs.geometry.mask,
        solver="ridge",
        distribution="normal",
        log_ratio=LogRatioTransformer(zero_replacement=outputs.zero_replacement),
    )
    return make_pipeline(embedding, surrogate)


def _indices(
    pipeline: Any, n_inputs: IndexArray, outputs: Outputs
) -> FloatArray:  # shape: (2, n_groups, n_parts)
    """Return closed and total indices of the inputs of each part."""
    reading = expansion_of(pipeline)
    squares = np.square(reading.expansion.coefficients)
    if outputs.real is not None:  # measured as the outputs are
        squares = squares / np.square(outputs.scales)[:, np.newaxis]
    norms = np.sqrt(outputs.sum_by_group(squares.T).T)
    indices = reading.expansion.multi_indices
    ends = np.cumsum(n_inputs)
    found = []
    for start, end in zip(ends - n_inputs, ends, strict=True):
        own = range(int(start), int(end))
        one_part = [closed_index(norms, indices, own), total_index(norms, indices, own)]
        found.append(one_part)
    return np.moveaxis(np.array(found), 0, 2)


def _jackknife_errors(
    pipeline: Any,
    table: FloatArray,
    y: Any,
    n_inputs: IndexArray,
    outputs: Outputs,
    design: Design,
) -> FloatArray:  # shape: (3, n_groups, n_parts), of closed, total and their difference
    """Leave out one group of members after the other."""
    order = sorted_units(outputs.coordinates(y), design.units)
    groups = deal_folds(order, design.units, _N_GROUPS)
    found = []
    for group in range(groups.max() + 1):
        rows = np.flatnonzero(groups != group)
        fitted = clone(pipeline).fit(table[rows], take(y, rows))
        closed, total = _indices(fitted, n_inputs, outputs)
        found.append([closed, total, total - closed])
    return jackknife_error(np.array(found))


def _table(
    names: tuple[str, ...],
    outputs: Outputs,
    judged: Answer,
    indices: FloatArray,
    errors: FloatArray,
    n_inputs: IndexArray,
    dependence: Result,
    n_terms: int,
) -> Result:
    """Scale the indices by Q², and put them into words."""
    known = np.where(np.isnan(judged.q2), np.nan, np.clip(judged.q2, 0.0, 1.0))
    of_q2 = (judged.q2_high - judged.q2_low) / (2.0 * _NORMAL_QUANTILE)
    of_q2 = np.where(judged.q2 > 0, of_q2, 0.0)
    closed, total = indices
    columns: dict[str, FloatArray] = {}
    values = zip((closed, total, total - closed), errors, strict=True)
    names_of = ("first", "total", "interaction")
    for name, (share, error) in zip(names_of, values, strict=True):
        columns[name] = known[:, np.newaxis] * share
        columns[f"{name}_error"] = np.hypot(
            known[:, np.newaxis] * error, of_q2[:, np.newaxis] * share
        )
    columns |= {"p_value": _p_values(judged, n_inputs)}
    columns |= {"q2": judged.q2, "unexplained": 1.0 - known}
    figures = {
        "n_members": judged.n_members,
        "n_components": dict(zip(names, n_inputs.tolist(), strict=True)),
        "n_terms": n_terms,
        "verdict": judged,
        "dependence": dependence,
    }
    too_dependent = _too_dependent(dependence)
    reasons = tuple((*given, *too_dependent) for given in judged.reasons)
    return Result(
        {outputs.noun: outputs.names, "part": names},
        columns,
        supported=tuple(not reason for reason in reasons),
        reasons=reasons,
        facts=tuple(
            _in_words(names, columns, group) for group in range(outputs.n_groups)
        ),
        notes=(
            f"From a fit to {judged.n_members} members, with {n_inputs.sum()} "
            "principal components of the parts; nothing was solved again. ± is a "
            "standard error.",
            f"Independence: {most_dependent(dependence)}smallest p-value of two parts "
            f"{smallest_p_value(dependence.p_value):.2g} over all pairs.",
            *cautions_in_words(judged.cautions),
        ),
        figures=figures,
        printed=("total", "first"),
    )


def _p_values(
    judged: Answer, n_inputs: IndexArray
) -> FloatArray:  # shape: (n_groups, n_parts)
    """Return the smallest p-value of the components of each part."""
    ends = np.cumsum(n_inputs)
    found = np.full((len(judged.q2), len(n_inputs)), np.nan)
    for part, (start, end) in enumerate(zip(ends - n_inputs, ends, strict=True)):
        if start < end:
            found[:, part] = judged.drivers.p_value[:, start:end].min(axis=1)
    found[np.isnan(judged.q2)] = np.nan
    return found


def _too_dependent(dependence: Result) -> tuple[str, ...]:
    """Name two parts that a fit to members cannot separate, or nothing."""
    values = np.nan_to_num(dependence.distance_correlation)
    largest = int(np.argmax(values))
    if values[largest] < _DEPENDENT:
        return ()
    return (
        f"{dependence.keys['pair'][largest]} have a distance correlation of "
        f"{values[largest]:.2f}: a fit cannot separate what they explain",
    )


def _in_words(
    names: tuple[str, ...], columns: Mapping[str, FloatArray], group: int
) -> str:
    """Name the parts that explain most, alone, and what is not explained."""
    if np.isnan(columns["q2"][group]):
        return ""
    first, unexplained = columns["first"][group], columns["unexplained"][group]
    together = max(1.0 - unexplained - first.sum(), 0.0)
    return (
        f"alone {leading_parts(names, first, columns['first_error'][group])}; "
        f"interactions {together:z.0%}; unexplained {unexplained:z.0%}"
    )
