r"""An expansion in orthonormal polynomials: what every fit ends in.

Functions of indices are pure. The formulas are in the page "Mathematics" of the
documentation and in the methods of :class:`~skpce.Expansion`. A target without variance
has no attribution: its indices are 0.

The mean square of the derivative in one input has a closed form,

.. math:: \nu_i = E\left[\left(\frac{\partial f}{\partial x_i}\right)^2\right]
          = \sum_{j, k :\, j_{-i} = k_{-i}} c_j c_k\, E[\psi'_{j_i} \psi'_{k_i}],

with the means from Gauss quadrature. The derivative of an orthonormal polynomial is
also a combination of those of lower degree,
:math:`\psi_k' = \sum_{l < k} D_{kl}\,\psi_l` with :math:`D_{kl} = E[\psi_k' \psi_l]`.
So every partial derivative is an expansion in the same basis, and
:math:`E[\partial_a f\, \partial_b f]` is the product of their coefficients [1]_.

References
----------
.. [1] P. G. Constantine, "Active Subspaces: Emerging Ideas for Dimension Reduction in
   Parameter Studies", SIAM, 2015, section 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from html import escape
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._basis.basis import (
    terms_of_inputs,
    terms_of_set,
)
from .._checks import (
    LARGEST_NUMBER,
    BoolArray,
    FloatArray,
    IndexArray,
    OutputGroups,
    as_floats,
    check_boolean,
    check_integer,
    codes_by_level,
    fail,
    finite_floats,
    group_and_column,
    listed,
    make_frame,
    one_table,
    position_of,
    refuse_extremes,
    refuse_not_finite,
    refuse_other_names,
    state_of_fields,
    warn_outside_folds,
)
from .._input_laws.families import warn_outside
from .._input_laws.tabulated import CategoricalLaw
from .._learned.ridge import Basis, KernelBasis
from .._result import Result, Shown, with_number
from .._solvers.problem import q2_from_sums, sum_rows
from .moments import ExpansionMoments, expansion_moments

# Targets of an expansion: their names and groups, constant ones and missing ones.


class ConstantTargetWarning(UserWarning):
    """A target does not vary: it has no variance to attribute to the inputs."""


class FailedSamplesWarning(UserWarning):
    """Some samples lack a target (NaN) and count in the others only."""


def warn_of_targets(expansion: Any, problem: Any) -> None:
    """Warn of constant targets and of missing ones."""
    constant = np.flatnonzero(problem.spread == 0.0).tolist()
    if constant:
        named = [expansion.output_names[i] for i in constant]
        shown = constant if named == [f"y{i}" for i in constant] else named
        which = "y has" if expansion.scalar else f"The targets {shown} of y have"
        warn_outside_folds(
            f"{which} no variance: the Sobol indices are 0 and q2_ is NaN.",
            ConstantTargetWarning,
        )
    if problem.lacks_targets:
        counts = problem.weight_of_targets, problem.total_weight
        warn_of_failed(expansion.output_names, *counts, "sample", "target")


def warn_of_failed(
    names: Sequence[str],
    weights: FloatArray,  # shape: (n_targets,), of the samples that have each
    total: float,
    sample: str,
    target: str,
) -> None:
    """Warn of targets that some samples lack."""
    lacking = [
        f"{name} has {weight:g}"
        for name, weight in zip(names, weights, strict=True)
        if weight < total
    ]
    listed = ", ".join(lacking[:5]) + (", ..." if len(lacking) > 5 else "")
    warn_outside_folds(
        f"y has NaN: of {total:g} {sample}s {listed}. A {sample} that lacks a "
        f"{target} counts in the others.",
        FailedSamplesWarning,
    )


def output_labels(y: Any, n_columns: int) -> list[tuple[str, str]]:
    """Return (output, column) of each column of y; empty where it has no names.

    A column of no group is an output of its own, with its name twice.
    """
    columns = getattr(y, "columns", None)
    if columns is None:  # a series has one name
        name = getattr(y, "name", None) if hasattr(y, "dtype") else None
        columns = [name] if n_columns == 1 and isinstance(name, str) else []
    columns = list(columns)
    if len(columns) != n_columns:
        return []
    if not all(isinstance(column, (str, tuple)) for column in columns):
        return []
    labels = []
    for position, name in enumerate(columns):
        group, column = group_and_column(name)
        column = column if column.strip() else f"y{position}"
        labels.append((group or column, column))
    return labels


def outputs_of_columns(
    labels: Sequence[tuple[str, str]],  # output and column, of each column of y
) -> tuple[list[str] | None, IndexArray | None, list[str] | None]:
    """Return names of columns, the outputs they belong to, and names of these.

    A column of an output of several is named such as ``logits:3``. None of all where
    columns have no names, and of the last two where each is an output of its own.
    """
    if not labels:
        return None, None, None
    names, numbers, groups = [], dict[str, int](), []
    for output, column in labels:
        names.append(output if output == column else f"{output}:{column}")
        groups.append(numbers.setdefault(output, len(numbers)))
    if [column for _, column in labels] == names:
        return names, None, None
    return names, np.array(groups), list(numbers)


def numbered_outputs(n_columns: int) -> tuple[str, ...]:
    """Return names of outputs that have none."""
    return ("y",) if n_columns == 1 else tuple(f"y{i}" for i in range(n_columns))


def read_numbers(y: Any, name: str = "y") -> FloatArray:
    """Return a table, or one column, as floats; NaN stands for a failed member."""
    given = np.asarray(one_table(y, name))
    if given.dtype.kind not in "biufO":
        raise ValueError(
            f"{name} has values of the type {given.dtype}; expected real numbers, NaN "
            "where a member failed."
        )
    try:
        values = given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} has entries that are no numbers; expected real numbers, NaN where "
            "a member failed."
        ) from None
    if values.ndim not in (1, 2):
        raise ValueError(f"{name} must be 1-D or 2-D, got shape {values.shape}.")
    if not values.size:
        raise ValueError(f"{name} is empty; expected a value for each member.")
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise ValueError(
            f"{name} has {infinite} infinite values; expected finite ones, NaN where a "
            "member failed."
        )
    return values


def checked_outputs(
    y: Any, names: Sequence[str], n_members: int | None = None, what: str = "y"
) -> FloatArray:  # shape: (n_members, n_columns); NaN where a member failed
    """Check real outputs of members: numbers, in the columns that were fitted."""
    values = read_numbers(y, what)
    n_columns = 1 if values.ndim == 1 else values.shape[-1]
    if n_columns != len(names):
        raise ValueError(
            f"{what} has shape {values.shape}; expected (n_members, {len(names)}), the "
            "outputs that were fitted."
        )
    if n_members is not None and len(values) != n_members:
        raise ValueError(
            f"{what} has {len(values)} members; expected {n_members}, those of X."
        )
    found, _, _ = outputs_of_columns(output_labels(y, n_columns))
    expected = list(names)
    are_named = expected != list(numbered_outputs(n_columns))
    if are_named and found not in (None, expected):
        raise ValueError(
            f"{what} has the outputs {found}; expected {expected}, in this order."
        )
    refuse_extremes(values, what)
    return values.reshape(len(values), -1)


_EXPECTED = (
    "a dict of names to numbers of columns, or to columns (names or positions), such "
    "as {'accuracy': 1, 'logits': 10}, or a sequence of these"
)


def checked_names(
    name: str, given: Sequence[str] | None, prefix: str, size: int
) -> tuple[str, ...]:
    """Return names as a tuple; numbered ones for None."""
    if given is None:
        if prefix == "y":
            return numbered_outputs(size)
        return tuple([f"{prefix}{i}" for i in range(size)])
    names = () if isinstance(given, str) else tuple(map(str, listed(given, name)))
    if len(names) != size:
        raise ValueError(f"{name} must be {size} names. Got {given!r}.")
    return names


def one_for_each(
    name: str, given: ArrayLike | None, size: int, noun: str = "output"
) -> FloatArray | None:
    """Return one number for each output or group, or None."""
    if given is None:
        return None
    values = as_floats(given, name)
    if values.shape != (size,):
        raise ValueError(
            f"{name} has shape {values.shape}; expected ({size},), one per {noun}."
        )
    return values


# Of larger coefficients the variance, a sum of squares, is infinite.
_LARGEST_COEFFICIENT = 1e140


def checked_coefficients(
    coefficients: Any, n_terms: int
) -> FloatArray:  # shape: (n_outputs, n_terms)
    """Return finite coefficients, one for each output and term."""
    values = as_floats(coefficients, "coefficients")
    if values.ndim != 2 or values.shape[1] != n_terms:
        raise ValueError(
            f"coefficients has shape {values.shape}; expected (n_outputs, {n_terms}), "
            "one column for each term of the basis."
        )
    if not np.abs(values).max(initial=0.0) <= _LARGEST_COEFFICIENT:  # or NaN
        refuse_not_finite(values, "coefficients")
        raise ValueError(
            f"coefficients has {np.abs(values).max():g}; expected numbers up to "
            f"{_LARGEST_COEFFICIENT:g}, whose squares add up. Rescale y."
        )
    return values


def checked_groups(
    groups: Any, names: Sequence[str] | None, n_outputs: int
) -> IndexArray:
    """Return the group of each output; refuse another number of them."""
    try:
        values = np.asarray(groups)
    except ValueError:  # rows of different length
        values = np.zeros(0)  # refused with the others
    whole = values.dtype.kind in "iu" and values.shape == (n_outputs,)
    n_groups = np.inf if names is None else len(names)
    if not whole or (values < 0).any() or (values >= n_groups).any():
        raise ValueError(
            f"groups must be {n_outputs} ints, the group of each output, from 0 to "
            f"{n_groups - 1}. Got {groups!r}."
        )
    return values.astype(np.int64)


def q2_of_groups(
    loo_error: FloatArray | None,  # shape: (n_outputs,)
    target_variance: FloatArray | None,  # shape: (n_outputs,)
    groups: IndexArray | None,
    n_groups: int,
) -> FloatArray:  # shape: (n_groups,); NaN where it is not known
    """Return Q² of groups, whose errors and variances are added up."""
    if loo_error is None or target_variance is None:
        return np.full(n_groups, np.nan)
    error = np.where(target_variance > 0, loo_error, 0.0)
    places = np.arange(n_groups) if groups is None else groups
    press: Any = np.bincount(places, error, n_groups)
    spread: Any = np.bincount(places, target_variance, n_groups)
    return q2_from_sums(press, spread)


def groups_of_outputs(
    outputs: OutputGroups,
    names: Sequence[str],
    name: str = "outputs",  # of the argument
) -> tuple[IndexArray, list[str]]:
    """Return the group of each column, and the names of the groups."""
    if isinstance(outputs, Mapping):
        labels, entries = [str(name) for name in outputs], list(outputs.values())
    elif isinstance(outputs, (list, tuple, np.ndarray)):
        entries = listed(outputs, name, _EXPECTED)
        labels = [f"output{i}" for i in range(len(entries))]
    else:
        raise ValueError(f"{name} must be {_EXPECTED}. Got {outputs!r}.")
    groups = np.full(len(names), -1, dtype=np.int64)
    start = 0
    for group, entry in enumerate(entries):
        columns = _columns_of(entry, start, names, name)
        start += len(columns)
        if not columns or (groups[columns] >= 0).any():
            raise ValueError(
                f"{name}={outputs!r}: {labels[group]!r} must have one or more columns "
                "that no other output has."
            )
        groups[columns] = group
    if (groups < 0).any():
        left = [names[i] for i in np.flatnonzero(groups < 0)[:5]]
        raise ValueError(
            f"{name}={outputs!r} has {start} of {len(names)} columns; expected each "
            f"of them once, also {', '.join(left)}."
        )
    return groups, labels


def _columns_of(entry: Any, start: int, names: Sequence[str], name: str) -> list[int]:
    """Return the positions of the columns of one output; a number takes the next."""
    known = list(names)
    if isinstance(entry, Integral) and not isinstance(entry, bool):
        if not 0 < int(entry) <= len(known) - start:
            raise ValueError(
                f"{name} has an output of {entry} columns after the first {start} of "
                f"{len(known)}; expected at least one, and no more than there are."
            )
        return list(range(start, start + int(entry)))
    if isinstance(entry, str) or not isinstance(entry, (Sequence, range, np.ndarray)):
        raise ValueError(f"{name} must be {_EXPECTED}. Got {entry!r} in it.")
    columns = [_checked_position(column, known, name) for column in entry]
    if len(set(columns)) < len(columns):
        raise ValueError(f"{name} has a column twice: {entry!r}; expected each once.")
    return columns


# Sensitivity indices from the coefficients: Sobol and Shapley.


def checked_features(features: Any, names: Sequence[str]) -> list[int]:
    """Return the positions of chosen inputs, in the order of the inputs."""
    if isinstance(features, (str, Integral)):
        features = [features]
    features = listed(features, "features", "one or more inputs, by position or name")
    chosen = [_checked_position(feature, names, "features") for feature in features]
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"features must be one or more inputs, each of them once. Got {features!r}."
        )
    return sorted(chosen)


def _checked_position(value: Any, names: Sequence[str], what: str) -> int:
    """Return the position that a name or an int stands for."""
    position = position_of(value, names)
    if position is None:
        shown = ", ".join(map(str, names[:5])) + (", ..." if len(names) > 5 else "")
        raise ValueError(
            f"{what} has {value!r}; expected one of {shown} or a position from 0 to "
            f"{len(names) - 1}."
        )
    return position


@dataclass(frozen=True)
class SobolIndices(Shown):
    """Sobol indices of several targets.

    Parameters
    ----------
    first_order : ndarray of shape (n_targets, n_features)
        Share of the variance that an input explains alone; ``S1`` of SALib.
    total_order : ndarray of shape (n_targets, n_features)
        The same with every interaction in which the input takes part; ``ST`` of SALib.
    total_variance : ndarray of shape (n_targets,)
        Variance of the expansion, in squared units of the target.
    shapley : ndarray of shape (n_targets, n_features) or None, default=None
        Shapley effects, which share each interaction equally between its inputs.

    For all targets together the arrays have no axis of targets.
    """

    first_order: FloatArray
    total_order: FloatArray
    total_variance: Any
    shapley: Any = None

    def _table(self) -> Result:
        columns = {"first_order": self.first_order, "total_order": self.total_order}
        if self.shapley is not None:
            columns["shapley"] = self.shapley
        shape = np.shape(self.first_order)
        outputs, inputs = self._labels(shape[0] if len(shape) > 1 else 1, shape[-1])
        keys = {"target": outputs, "input": inputs}
        if len(shape) == 1:
            del keys["target"]
        shown = tuple(columns)[:2]
        return Result(keys, columns, printed=shown)


def partial_variances(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:  # (..., n_features)
    """Return first-order, total and Shapley partial variances and the variance.

    ``lean/Core`` checks that the squares sum to the variance of the expansion
    (``variance_expansion``), and how far indices of two expansions in one basis can be
    apart (``indices_of_functions``).
    """
    squares = np.square(coefficients[..., 1:])
    alone, active, share = terms_of_inputs(multi_indices[1:])
    return squares @ alone, squares @ active, squares @ share, squares.sum(axis=-1)


def shares(
    first: FloatArray,  # shape: (..., n_features), like the next two
    total: FloatArray,
    shapley: FloatArray,
    variance: FloatArray,  # shape: (...,)
) -> SobolIndices:
    """Return partial variances as shares of the variance; 0 without variance."""
    safe = np.where(variance > 0, variance, 1.0)[..., np.newaxis]
    return SobolIndices(first / safe, total / safe, variance, shapley / safe)


@dataclass(frozen=True)
class InteractionIndices(Shown):
    """Sobol indices of sets of inputs.

    Parameters
    ----------
    subsets : tuple of tuple of int
        Sets of inputs, by size and then in the order of the inputs. Sets that share
        no term of the expansion are left out: their indices are 0.
    values : ndarray of shape (n_targets, n_subsets)
        Share of the variance that belongs to exactly this set. Over all sets of the
        expansion the shares add up to 1.
    superset_values : ndarray of shape (n_targets, n_subsets)
        Share of all sets that contain this one [1]_. For a single input this is its
        total index; for a pair what is counted twice in the sum of both total indices
        (``total_of_pair``, checked in ``lean/Core``).

    References
    ----------
    .. [1] R. Liu and A. B. Owen, "Estimating mean dimensionality of analysis of
       variance decompositions", Journal of the American Statistical Association 101
       (2006), section 2.3.
    """

    subsets: tuple[tuple[int, ...], ...]
    values: FloatArray
    superset_values: FloatArray

    def _table(self) -> Result:
        n_inputs = 1 + max((i for subset in self.subsets for i in subset), default=-1)
        known = len(vars(self).get("_names", ((), ()))[1])
        outputs, names = self._labels(len(self.values), max(n_inputs, known))
        sets = [" × ".join(names[i] for i in subset) for subset in self.subsets]
        columns = {"share": self.values, "superset_share": self.superset_values}
        return Result({"target": outputs, "inputs": sets}, columns)


def _share_of_terms(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    chosen: BoolArray,  # shape: (n_terms, n_sets)
) -> FloatArray:  # shape: (..., n_targets, n_sets)
    """Return the share of the variance of the chosen terms; 0 without variance."""
    squares = np.square(coefficients[..., 1:])
    variance = squares.sum(axis=-1, keepdims=True)
    part = squares @ chosen[1:].astype(np.float64)
    return part / np.where(variance > 0, variance, 1.0)


def index_of_set(
    kind: str,
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    features: Sequence[int],
) -> FloatArray:  # shape: (..., n_targets)
    """Return the share of the terms that a set of inputs has, see ``terms_of_set``.

    Checked in ``lean/Core``: ``total_eq_one_sub_closed``, and ``total_of_pair``.
    """
    chosen = terms_of_set(kind, multi_indices, features)
    return _share_of_terms(coefficients, chosen[:, np.newaxis])[..., 0]


def interaction_indices(
    coefficients: FloatArray,  # shape: (..., n_targets, n_terms)
    multi_indices: IndexArray,  # shape: (n_terms, n_features)
    max_order: int,
) -> InteractionIndices:
    """Return the indices of all sets of at most ``max_order`` inputs.

    Those of all orders sum to one: ``shares_sum_one``, checked in ``lean/Core``.
    """
    active = multi_indices > 0
    size = active.sum(axis=1)
    sets = np.unique(active[(size > 0) & (size <= max_order)], axis=0)
    subsets = sorted(
        (tuple(np.flatnonzero(row).tolist()) for row in sets),
        key=lambda subset: (len(subset), subset),
    )
    exact = np.zeros((len(active), len(subsets)), dtype=bool)
    superset = np.zeros_like(exact)
    for column, subset in enumerate(subsets):
        superset[:, column] = active[:, subset].all(axis=1)
        exact[:, column] = superset[:, column] & (size == len(subset))
    return InteractionIndices(
        tuple(subsets),
        _share_of_terms(coefficients, exact),
        _share_of_terms(coefficients, superset),
    )


def sensitivity_frame(
    indices: InteractionIndices,
    shapley: FloatArray,  # shape: (n_targets, n_features)
    targets: Sequence[Any],
    names: Sequence[str],
    unexplained: FloatArray,  # shape: (n_targets,)
    interval: Any = None,  # first_order, total_order: (2, n_targets, n_features)
) -> Any:
    """Return one row per target and set of inputs; NaN where a number is not defined.

    Every input has a row, also one that no term of the expansion holds.
    """
    n_targets, n_features = shapley.shape
    pairs_and_more = [subset for subset in indices.subsets if len(subset) > 1]
    subsets = [(i,) for i in range(n_features)] + pairs_and_more
    column = {subset: i for i, subset in enumerate(indices.subsets)}
    places = np.array([column.get(subset, -1) for subset in subsets])
    missing = (0, 0), (0, 1)  # at the position -1: 0
    labels = ["*".join(str(names[i]) for i in subset) for subset in subsets]
    columns: dict[str, Any] = {
        "target": [target for target in targets for _ in subsets],
        "input": np.tile(np.array(labels, dtype=object), n_targets),
        "order": np.tile([len(subset) for subset in subsets], n_targets),
        "first_order": np.pad(indices.values, missing)[:, places].ravel(),
        "total_order": np.pad(indices.superset_values, missing)[:, places].ravel(),
        "shapley": _padded(shapley, len(subsets)).ravel(),
        "loo_unexplained": np.repeat(unexplained, len(subsets)),
    }
    if interval is not None:
        pairs = (("", interval.total_order), ("first_", interval.first_order))
        for prefix, bounds in pairs:
            for name, bound in zip(("low", "high"), bounds, strict=True):
                columns[prefix + name] = _padded(bound, len(subsets)).ravel()
    return make_frame(columns, columns.values())


def _padded(values: FloatArray, width: int) -> FloatArray:
    """Widen with NaN to one column per set; single inputs come first."""
    missing = width - values.shape[1]
    return np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan)


def refuse_categories(expansion: Expansion) -> None:
    """Raise ``ValueError`` for an input that is no number."""
    names, laws = expansion.input_names, expansion.basis.laws
    for name, law in zip(names, laws, strict=True):
        if not law.is_polynomial:
            raise ValueError(
                f"The input {name!r} of the expansion is a category; expected a "
                "distribution of numbers: categories have no linear embedding and no "
                "derivatives. Fit without it, or read main_effects and "
                "skpce.inspection.sobol_indices, which take labels."
            )


# Rows of the printed text.
_PRINTED_GROUPS, _PRINTED_INPUTS = 12, 5


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Expansion:
    r"""Outputs expanded in orthonormal polynomials of independent inputs.

    :math:`f_k(x) = \sum_j c_{kj} \psi_j(x)`: a basis, one row of coefficients for each
    output, and which outputs belong together. Every fitted estimator has one as
    ``expansion_``; it is to the estimator what
    :class:`numpy.polynomial.Polynomial` is to a fit. Everything here follows from the
    coefficients and assumes independent inputs with the distributions of the basis
    [1]_.

    Variances and indices are those of *groups* of outputs, whose partial variances are
    added [2]_. Without ``groups`` each output stands alone. The expansion of a
    surrogate of compositions has one output for each possible action, its centred
    log-ratio, and one group for each step, so that its indices are those of the
    Aitchison variance of the step.

    Parameters
    ----------
    basis : PolynomialBasis
        Distributions of the inputs and index set, such as ``basis_`` of an estimator.
    coefficients : ndarray of shape (n_outputs, n_terms)
        Column 0 is the mean.
    input_names : sequence of str or None, default=None
        One name per input; None means ``x0, x1, ...``.
    output_names : sequence of str or None, default=None
        One name per output; None means ``y`` or ``y0, y1, ...``.
    groups : array-like of int of shape (n_outputs,) or None, default=None
        Group of each output, numbered from 0; None puts each into its own.
    group_names : sequence of str or None, default=None
        One name per group; None means the names of the outputs, or ``group0, ...``.
    q2 : array-like of shape (n_groups,) or None, default=None
        Leave-one-out Q² of each group, where it is known: the share of the variance
        of what was expanded that the expansion predicts. None takes it from the two
        arrays below; NaN where it is not known.
    scalar : bool, default=False
        Whether the only output was one-dimensional; its values have no second axis.
    target_variance, loo_error : array-like of shape (n_outputs,) or None, default=None
        Variance of what was expanded, and mean squared leave-one-out residual. Both
        are added up over the outputs of a group.

    Attributes
    ----------
    multi_indices : ndarray of shape (n_terms, n_inputs)
        Exponent of each input in each term; row 0 is the constant.

    Raises
    ------
    ValueError
        If shapes or numbers of names do not agree.

    See Also
    --------
    PolynomialChaosRegressor : Fits an expansion to data.
    CompositionalPCESurrogate : Fits one to the log-ratios of probabilities.

    References
    ----------
    .. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos
       expansions", Reliability Engineering and System Safety 93 (2008).
    .. [2] F. Gamboa, A. Janon, T. Klein and A. Lagnoux, "Sensitivity analysis for
       multidimensional and functional outputs", Electronic Journal of Statistics 8
       (2014), section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosRegressor
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> y = 1 + X[:, 0] + X[:, 0] * X[:, 1]
    >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
    >>> expansion = pce.fit(X, y).expansion_
    >>> print(expansion)
    Expansion of 1 output in 2 inputs: 6 terms of degree up to 2.
    - y: variance 2, x0 1.00, x1 0.50 (total indices), unexplained 0%
    >>> expansion([[3.0, 2.0]]).round(6)
    array([10.])
    >>> expansion.sobol_indices().first_order.round(3) + 0.0
    array([[0.5, 0. ]])
    """

    basis: Basis
    coefficients: FloatArray
    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    groups: IndexArray | None
    group_names: tuple[str, ...]
    q2: FloatArray
    scalar: bool
    target_variance: FloatArray | None = None
    loo_error: FloatArray | None = None

    __getstate__ = state_of_fields

    def __init__(
        self,
        basis: Basis,
        coefficients: ArrayLike,
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
        *,
        groups: ArrayLike | None = None,
        group_names: Sequence[str] | None = None,
        q2: ArrayLike | None = None,
        scalar: bool = False,
        target_variance: ArrayLike | None = None,
        loo_error: ArrayLike | None = None,
    ) -> None:
        if not isinstance(basis, Basis):
            raise TypeError(
                "basis must be the basis_ of a fitted estimator. Got "
                f"{type(basis).__name__} instead."
            )
        check_boolean("Expansion", "scalar", scalar)
        n_inputs = len(basis.laws)
        values = checked_coefficients(coefficients, basis.n_functions)
        outputs = checked_names("output_names", output_names, "y", len(values))
        positions = None
        if groups is None:
            group_names = outputs if group_names is None else group_names
            n_groups = len(values)
        else:
            positions = checked_groups(groups, group_names, len(values))
            n_groups = int(positions.max(initial=-1)) + 1
            n_groups = n_groups if group_names is None else len(group_names)
        variance = one_for_each("target_variance", target_variance, len(values))
        error = one_for_each("loo_error", loo_error, len(values))
        if q2 is None:
            q2 = q2_of_groups(error, variance, positions, n_groups)
        vars(self).update(
            basis=basis,
            coefficients=values,
            input_names=checked_names("input_names", input_names, "x", n_inputs),
            output_names=outputs,
            groups=positions,
            group_names=checked_names("group_names", group_names, "group", n_groups),
            q2=one_for_each("q2", q2, n_groups, "group"),
            scalar=bool(scalar),
            target_variance=variance,
            loo_error=error,
        )

    @property
    def multi_indices(self) -> IndexArray:
        """Exponents of the terms; shape (n_terms, n_inputs)."""
        return self.basis.multi_indices

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return len(self.basis.laws)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.coefficients)

    @property
    def n_groups(self) -> int:
        """Number of groups of outputs."""
        return len(self.group_names)

    @property
    def mean(self) -> FloatArray:
        """Mean of each output; shape (n_outputs,)."""
        return self.coefficients[:, 0]

    @property
    def total_variance(self) -> FloatArray:
        """Variance of each group; shape (n_groups,)."""
        return self._indices.total_variance

    @property
    def unexplained_share(self) -> FloatArray:
        """``1 - q2`` within [0, 1]; shape (n_groups,).

        The share of the variance of what was expanded about which the indices say
        nothing; NaN where it is not known.
        """
        return np.clip(1.0 - self.q2, 0.0, 1.0)

    @property
    def term_names(self) -> list[str]:
        """Names of the terms, such as ``He2(x0)*He1(x1)``."""
        return self.basis.names(self.input_names)

    def __call__(self, X: ArrayLike) -> FloatArray:
        """Evaluate the expansion.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_inputs)
            Inputs, with labels where the fit had them.

        Returns
        -------
        values : ndarray of shape (n_samples, n_outputs) or (n_samples,)
            The second shape when the expansion is ``scalar``.

        Raises
        ------
        ValueError
            If X has another number of columns, other names, or is not finite.

        Warns
        -----
        InputOutsideSupportWarning
            For values outside the support of their distribution.
        """
        inputs = self.checked_inputs(X)
        values = self.basis.combine(inputs, self.coefficients)
        return values[:, 0] if self.scalar else values

    # Groups and linear images

    def grouped(
        self, groups: Any, group_names: Sequence[str] | None = None
    ) -> Expansion:
        """Return the same expansion with other groups of outputs.

        Parameters
        ----------
        groups : dict, array-like of int of shape (n_outputs,) or None
            Names of the groups with the number of outputs of each, or with their
            outputs, such as ``{"accuracy": 1, "logits": 10}``; or the group of each
            output. None puts each into its own.
        group_names : sequence of str or None, default=None
            One name per group; a dict has them.

        Returns
        -------
        expansion : Expansion
            Variances, and where they are known leave-one-out errors, of the outputs of
            a group are added up, so that its indices are means weighted by variance.
            ``q2`` is not known without ``target_variance`` and ``loo_error``.

        Raises
        ------
        ValueError
            If an output is in no group, or in two.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> expansion = PolynomialChaosRegressor(1).fit(X, X * [3.0, 1.0]).expansion_
        >>> expansion.grouped({"both": 2}).sobol_indices().first_order.round(1)
        array([[0.9, 0.1]])
        """
        if isinstance(groups, Mapping):
            groups, group_names = groups_of_outputs(groups, self.output_names, "groups")
        same_groups = groups is None and self.groups is None
        return self._with(
            groups=groups,
            group_names=group_names,
            q2=self.q2 if same_groups else None,
            target_variance=self.target_variance,
            loo_error=self.loo_error,
        )

    def marginal(self, features: Any) -> Expansion:
        """Return the expansion in some of the inputs alone.

        It is the conditional expectation given these inputs: the other inputs are
        averaged out, not fixed. The inputs stay in their order.

        Parameters
        ----------
        features : int, str or sequence of these
            The inputs to retain, by position or by name.

        Returns
        -------
        expansion : Expansion
            With ``n_inputs = len(features)``. Its ``q2`` is not known: it belongs to
            the whole expansion.

        Raises
        ------
        ValueError
            If an input is unknown or comes twice, or there is none.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).marginal([0])([[3.0]]).round(6)
        array([4.])
        """
        chosen = checked_features(features, self.input_names)
        basis, rows = self.basis.of_inputs(chosen)
        names = self.input_names
        return self._with(
            basis=basis,
            coefficients=self.coefficients[:, rows],
            input_names=[names[i] for i in chosen],
        )

    # Values

    def gradient(self, X: ArrayLike) -> FloatArray:
        r"""Return the gradient of the expansion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        gradient : ndarray (n_samples, n_features) or (n_samples, n_targets, n_features)
            :math:`\partial \hat y / \partial x_i`, in units of y per unit of x; three
            dimensions when y had two.

        Raises
        ------
        ValueError
            If an input is categorical: it has no derivative.

        Notes
        -----
        The three-term recurrence of each family is differentiated term by term.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).gradient([[3.0, 2.0]]).round(6)
        array([[1., 4.]])
        """
        refuse_categories(self)
        inputs = self.checked_inputs(X)
        slopes = np.empty((len(inputs), self.n_outputs, self.n_inputs))
        for i in range(self.n_inputs):
            design = self.basis.differentiate(inputs, i)
            slopes[:, :, i] = design @ self.coefficients.T
        return slopes[:, 0] if self.scalar else slopes

    # Moments and indices

    def sobol_indices(self) -> SobolIndices:
        r"""Return first-order and total indices and Shapley effects of each group.

        Returns
        -------
        indices : SobolIndices
            ``first_order``, ``total_order`` and ``shapley`` of shape
            (n_groups, n_inputs), and ``total_variance`` of shape (n_groups,). 0 for a
            group without variance.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 0] * X[:, 1]
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).expansion_.sobol_indices().total_order.round(3)
        array([[1. , 0.5]])
        """
        return self._indices

    def conditional_expectation(self, X: ArrayLike, features: Any) -> FloatArray:
        r"""Return the mean of the outputs given some of the inputs.

        :math:`E[y \mid x_u]` has the terms without other inputs (Sudret, 2008, as cited
        in :class:`Expansion`).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. Only the chosen columns are used; the others may hold anything,
            NaN included.
        features : int, str or sequence of these
            The inputs that are known, by position or by name.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            In the shape of the y seen in ``fit``.

        Raises
        ------
        ValueError
            If an input is unknown or comes twice, if there is none, or if a chosen
            column is not finite.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, y).conditional_expectation([[3.0, np.nan]], 0).round(6)
        array([4.])
        """
        chosen = checked_features(features, self.input_names)
        inputs = self.checked_inputs(X, chosen)
        basis, rows = self.basis.of_inputs(chosen)
        values = basis.combine(inputs, self.coefficients[:, rows])
        return values[..., 0] if self.scalar else values

    def main_effects(self, X: ArrayLike) -> FloatArray:
        r"""Return what each input changes on its own.

        :math:`E[y \mid x_i] - E[y]` for every input. The mean plus the main effects is
        the additive part of the expansion; the variance of a main effect is the
        first-order index times ``total_variance_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        effects : ndarray (n_samples, n_features) or (n_samples, n_features, n_targets)
            In units of y; three dimensions when y had two.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> pce = PolynomialChaosRegressor(1, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, 2 * X[:, 0] + X[:, 1]).main_effects([[3.0, 2.0]]).round(6)
        array([[6., 2.]])
        """
        inputs = self.checked_inputs(X)
        each = range(self.n_inputs)
        values = np.stack([self._effect_of(i, inputs[:, [i]]) for i in each], axis=1)
        return values[..., 0] if self.scalar else values

    def _effect_of(
        self,
        feature: int,
        column: FloatArray,  # shape: (n_samples, 1)
    ) -> FloatArray:  # shape: (n_samples, n_outputs)
        """Evaluate the effect of one input alone, checked before."""
        basis, rows = self.basis.of_inputs([feature])
        return basis.combine(column, self.coefficients[:, rows]) - self.mean

    def moments(self) -> ExpansionMoments:
        r"""Return mean, variance, skewness and kurtosis of the expansion.

        With the squared centred expansion
        :math:`g^2 = \sum_m b_m \psi_m`, whose coefficients come from products of the
        univariate functions, :math:`E g^3 = \sum_m b_m c_m` and
        :math:`E g^4 = \sum_m b_m^2` [1]_. The result is exact.

        A fit may be no sum of few polynomials: it has waves, or terms that are not
        listed, or polynomials of a degree above three, which it holds where the samples
        of an input end before its support does. Its skewness and kurtosis are those of
        65,536 draws of what ``predict`` returns.

        Returns
        -------
        moments : ExpansionMoments
            ``mean``, ``variance``, ``skewness`` and ``kurtosis``, each of shape
            (n_targets,). The kurtosis is the excess over a normal distribution, as in
            :func:`scipy.stats.kurtosis`. NaN for a target without variance, and for
            all targets if the distribution of an input, with its heavy tails, does not
            carry twice the degree.

        References
        ----------
        .. [1] B. J. Debusschere et al., "Numerical challenges in the use of
           polynomial chaos representations for stochastic processes", SIAM Journal
           on Scientific Computing 26 (2004), section 2.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 1))
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> moments = pce.fit(X, X[:, 0] ** 2).moments()  # chi-squared
        >>> moments.variance.round(6), moments.kurtosis.round(6)
        (array([2.]), array([12.]))
        """
        variance = self.grouped(None).total_variance
        found = expansion_moments(self.basis, self.coefficients, variance)
        return found._named(self.output_names)

    def sobol_index(self, features: Any) -> FloatArray:
        r"""Return the Sobol index of exactly one set of inputs.

        The share :math:`S_u = D^{-1} \sum_{j_i > 0 \iff i \in u} c_j^2` of what the
        inputs of the set explain together and no smaller set does (Sudret, 2008, eq.
        38, as cited in :class:`Expansion`). For one input this is the first-order
        index, for several it is their interaction.

        Parameters
        ----------
        features : int, str or sequence of these
            Inputs, by position or by name.

        Returns
        -------
        index : ndarray of shape (n_targets,)
            Share of the variance of the expansion.

        Raises
        ------
        ValueError
            If an input is unknown or comes twice, or there is none.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] * (1 + X[:, 1])
        >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, y)
        >>> pce.sobol_index([0, 1]).round(1)
        array([0.4])
        """
        return self._share_of_set("exact", features)

    def closed_sobol_index(self, features: Any) -> FloatArray:
        r"""Return what a group of inputs explains without the others.

        :math:`\mathrm{Var}(E[y \mid x_u]) / D`, the indices of all subsets of the group
        added up ([1]_, eq. 2). The closed index of all inputs is 1.

        Parameters
        ----------
        features : int, str or sequence of these
            Inputs, by position or by name, as in :meth:`sobol_index`.

        Returns
        -------
        index : ndarray of shape (n_targets,)
            Share of the variance of the expansion.

        References
        ----------
        .. [1] A. B. Owen, "Better estimation of small Sobol' sensitivity indices", ACM
           Transactions on Modeling and Computer Simulation 23 (2013).

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> y = X[:, 0] + X[:, 0] * X[:, 1] + X[:, 2]
        >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, y)
        >>> pce.closed_sobol_index([0, 1]).round(1)
        array([0.8])
        """
        return self._share_of_set("closed", features)

    def total_sobol_index(self, features: Any) -> FloatArray:
        r"""Return what a group of inputs explains alone or with others.

        :math:`E[\mathrm{Var}(y \mid x_{-u})] / D`, the sum over every term that holds
        an input of the group: 1 minus the closed index of the other inputs (eq. 3 of
        the source of :meth:`closed_sobol_index`).

        Parameters
        ----------
        features : int, str or sequence of these
            Inputs, by position or by name, as in :meth:`sobol_index`.

        Returns
        -------
        index : ndarray of shape (n_targets,)
            Share of the variance of the expansion.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] * (1 + X[:, 1])
        >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, y)
        >>> pce.total_sobol_index([0]).round(1)
        array([1.])
        """
        return self._share_of_set("total", features)

    def _share_of_set(self, kind: str, features: Any) -> FloatArray:
        """Return the share of the terms that a set of inputs has; (n_groups,)."""
        chosen, basis = checked_features(features, self.input_names), self.basis
        if not isinstance(basis, KernelBasis):
            return index_of_set(kind, self.term_norms, self.multi_indices, chosen)
        groups = np.arange(self.n_outputs) if self.groups is None else self.groups
        known = self.coefficients, groups, self.n_groups
        part = basis.variance_of_set(kind, chosen, *known)
        return np.asarray(
            part / np.where(self.total_variance > 0, self.total_variance, 1)
        )

    def interaction_indices(self, max_order: int = 2) -> InteractionIndices:
        r"""Return the Sobol indices of all small sets of inputs.

        Parameters
        ----------
        max_order : int, default=2
            Largest number of inputs in a set, at least 1.

        Returns
        -------
        indices : InteractionIndices
            ``subsets``, the sets by position; ``values``, the share of exactly this
            set, and ``superset_values``, that of all sets that contain it, both of
            shape (n_targets, n_subsets). A set without a term of its own is left out:
            its index is 0.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] * (1 + X[:, 1])
        >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, y)
        >>> found = pce.interaction_indices()
        >>> found.subsets, found.values.round(1) + 0.0
        (((0,), (1,), (0, 1)), array([[0.6, 0. , 0.4]]))
        """
        check_integer("interaction_indices", "max_order", max_order, low=1)
        if max_order == 1 and isinstance(self.basis, KernelBasis):
            of_inputs = self.sobol_indices()
            every = tuple((i,) for i in range(len(self.input_names)))
            found = InteractionIndices(
                every, of_inputs.first_order, of_inputs.total_order
            )
        else:
            found = interaction_indices(self.term_norms, self.multi_indices, max_order)
        return found._named(self.group_names, self.input_names)

    def shapley_effects(self) -> FloatArray:
        r"""Return the Shapley effects, which add up to 1.

        :math:`\mathrm{Sh}_i = D^{-1} \sum_{u \ni i} D_u / |u|`: each interaction is
        shared equally between its inputs ([1]_, section 3). The effect lies between the
        first-order and the total index. The formula holds for independent inputs.

        Returns
        -------
        effects : ndarray of shape (n_targets, n_features)
            Shares of the variance of the expansion.

        References
        ----------
        .. [1] A. B. Owen, "Sobol' indices and Shapley value", SIAM/ASA Journal on
           Uncertainty Quantification 2 (2014).

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] * (1 + X[:, 1])
        >>> pce = PolynomialChaosRegressor(2, solver="ols").fit(X, y)
        >>> pce.shapley_effects().round(1)
        array([[0.8, 0.2]])
        """
        return self.sobol_indices().shapley

    def aggregated_sobol_indices(
        self, weights: ArrayLike | None = None
    ) -> SobolIndices:
        r"""Return the indices of all groups together.

        The partial variances of the targets are added, each with its weight, and
        divided by the sum of the variances (Gamboa et al., 2014, as cited in
        :class:`Expansion`). Targets of large variance count more; weights
        ``1 / total_variance_`` make them equal.

        Parameters
        ----------
        weights : array-like of shape (n_targets,) or None, default=None
            Weights that are not negative; None means 1 for each target.

        Returns
        -------
        indices : SobolIndices
            ``first_order``, ``total_order`` and ``shapley`` of shape (n_features,),
            and ``total_variance``, a number.

        Raises
        ------
        ValueError
            If the weights have another shape, are negative or not finite.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> pce = PolynomialChaosRegressor(1, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, X * [3.0, 1.0]).aggregated_sobol_indices().total_order.round(6)
        array([0.9, 0.1])
        """
        n_groups = len(self.group_names)
        given = np.ones(n_groups)
        if weights is not None:
            expected = f"{n_groups} finite numbers of 0 or more, one per target"
            owner = "aggregated_sobol_indices"
            given = finite_floats(owner, "weights", weights, expected)
            in_range = given.min() >= 0 and given.max() <= LARGEST_NUMBER
            if given.shape != (n_groups,) or not in_range:
                raise fail(owner, "weights", expected, weights)
        first, total, shapley, variance = (given @ part for part in self._variances)
        found = shares(first, total, shapley, variance)
        return found._named(inputs=self.input_names)

    # Tables and text

    def sobol_frame(self, order: int = 1) -> Any:
        """Return the indices as a tidy table.

        Parameters
        ----------
        order : int, default=1
            Largest number of inputs in a set; 2 adds one row per pair and group.

        Returns
        -------
        frame : data frame of pandas or polars
            One row per group and set of inputs, with the columns of
            :meth:`PolynomialChaosRegressor.sobol_frame` and the name of the group in
            place of its number.

        Raises
        ------
        ValueError
            If ``order`` is not a positive integer.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> frame = PolynomialChaosRegressor(1).fit(X, X).expansion_.sobol_frame()
        >>> frame["target"].tolist()
        ['y0', 'y0', 'y1', 'y1']
        """
        check_integer("sobol_frame", "order", order, low=1)
        return sensitivity_frame(
            self.interaction_indices(order),
            self.sobol_indices().shapley,
            self.group_names,
            self.input_names,
            self.unexplained_share,
        )

    def explicit(self) -> Any:
        """Return the same expansion with its terms listed.

        An expansion of a fit without settings is a sum over terms that are not listed,
        where more than 5,000 of them matter. What needs the terms (gradients,
        interactions of pairs, ``to_frame``) is to be asked of this one.

        Returns
        -------
        expansion : Expansion
            The expansion itself, where its terms are listed already.

        Raises
        ------
        ValueError
            If there are more than 200,000 terms; take :meth:`marginal` of fewer inputs.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 30))
        >>> pce = PolynomialChaosRegressor(distribution=(-1, 1))
        >>> pce = pce.fit(X, X.sum(axis=1) ** 2)
        >>> pce.coefficients_
        Traceback (most recent call last):
        ...
        skpce._learned.ridge.NoTermsError: This expansion is a sum over ...
        >>> alone = pce.marginal([0, 1])
        >>> bool(np.allclose(alone.explicit().total_variance, alone.total_variance))
        True
        """
        if not isinstance(self.basis, KernelBasis):
            return self
        basis, coefficients = self.basis.listed(self.coefficients)
        listed: Any = self
        return replace(listed, basis=basis, coefficients=coefficients)

    def to_frame(self) -> Any:
        """Return the coefficients as a table.

        Returns
        -------
        frame : data frame of pandas or polars
            One row per term and one column per output; the index, or the first
            column in polars, holds the names of the terms.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 1))
        >>> pce = PolynomialChaosRegressor(1, distribution=norm(0, 1), solver="ols")
        >>> pce.fit(X, 3 + 2 * X[:, 0]).expansion_.to_frame().round(6)
                   y
        1        3.0
        He1(x0)  2.0
        """
        terms = ("", self.term_names)
        return make_frame(self.output_names, self.coefficients, index=terms)

    def plot(self, ax: Any = None) -> Any:
        """Draw the total indices of the inputs, and what each explains alone, as bars.

        Parameters
        ----------
        ax : matplotlib axes, sequence of axes, or None, default=None
            Where to draw, one for each group of outputs; None makes a figure.

        Returns
        -------
        axes : matplotlib axes, or list of axes
            As :meth:`skpce.inspection.Result.plot`.
        """
        return self.sobol_indices().plot(ax)

    def __repr__(self) -> str:
        return (
            f"Expansion(n_outputs={self.n_outputs}, n_inputs={self.n_inputs}, "
            f"n_terms={self.basis.n_terms}, n_groups={self.n_groups})"
        )

    def __str__(self) -> str:
        lines = [
            f"Expansion of {with_number(self.n_outputs, 'output')} in "
            f"{with_number(self.n_inputs, 'input')}: "
            f"{with_number(self.basis.n_terms, 'term')} of degree up to "
            f"{self.basis.total_degree}."
        ]
        shown = min(self.n_groups, _PRINTED_GROUPS)
        indices, names = self._indices, self.input_names
        for group, total in enumerate(indices.total_order[:shown]):
            leading = np.argsort(-total, kind="stable")[:_PRINTED_INPUTS]
            shares = ", ".join(f"{names[i]} {total[i]:z.2f}" for i in leading)
            more = ", ..." if len(total) > len(leading) else ""
            text = f"- {self.group_names[group]}: variance "
            text += f"{indices.total_variance[group]:.3g}, {shares}{more} "
            text += "(total indices)"
            if np.isfinite(self.q2[group]):
                text += f", unexplained {self.unexplained_share[group]:z.0%}"
            lines.append(text)
        if shown < self.n_groups:
            lines.append(f"- ({self.n_groups - shown} more)")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *lines = str(self).split("\n- ")
        rows = "".join(f"<li>{escape(line)}</li>" for line in lines)
        return f"<p>{escape(head)}</p><ul>{rows}</ul>"

    # What the methods share

    @property
    def _variances(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """First-order, total and Shapley partial variances of groups, and the whole."""
        basis, groups = self.basis, self.groups
        if not isinstance(basis, KernelBasis):
            return partial_variances(self.term_norms, self.multi_indices)
        own = np.arange(self.n_outputs) if groups is None else groups
        return basis.partial_variances(self.coefficients, own, self.n_groups)

    @cached_property
    def _indices(self) -> SobolIndices:
        found = shares(*self._variances)
        return found._named(self.group_names, self.input_names)

    @cached_property
    def term_norms(self) -> FloatArray:
        """Length of the coefficients of each term in each group.

        Of shape (n_groups, n_terms). Its squares are the partial variances of a group,
        term by term, so that the formulas for one output hold for a group.
        """
        _ = self.multi_indices  # an expansion without a list of terms has none
        if self.groups is None:
            return self.coefficients
        squares = np.square(self.coefficients)
        return np.sqrt(sum_rows(squares, self.groups, self.n_groups))

    def _with(self, **changes: Any) -> Expansion:
        """Return another expansion, whose Q² is not known."""
        same = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        unknown = dict.fromkeys(("q2", "target_variance", "loo_error"))
        return Expansion(**(same | unknown | changes))

    def checked_inputs(
        self, X: ArrayLike, features: Sequence[int] | None = None
    ) -> FloatArray:
        """Return the chosen columns of X, all of them for None, checked.

        Raises ``ValueError`` for another number of columns, other names, or values that
        are not finite; warns of values outside the support of their distribution.
        """
        refuse_other_names("X", getattr(X, "columns", None), self.input_names)
        laws = self.basis.laws
        levels = [law.levels if isinstance(law, CategoricalLaw) else () for law in laws]
        values = as_floats(codes_by_level(X, levels), "X")
        if values.ndim != 2 or values.shape[1] != self.n_inputs:
            raise ValueError(
                f"X has shape {values.shape}; expected {self.n_inputs} features, those "
                f"of the expansion: {', '.join(self.input_names[:5])}."
            )
        own = list(range(self.n_inputs) if features is None else features)
        refuse_not_finite(chosen := values[:, own], "X")
        names = [self.input_names[i] for i in own]
        reach = self.basis.reach
        reach = None if reach is None else reach[:, own]
        warn_outside([laws[i] for i in own], chosen, names, reach)
        return chosen


def coefficients_of_terms(expansion: Expansion) -> FloatArray:
    """Return the coefficients; refuse those of terms that are not listed."""
    n_terms = expansion.basis.with_terms.n_terms
    return expansion.coefficients[:, :n_terms]
