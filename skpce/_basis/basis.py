"""The orthonormal polynomial basis, alone and as a transformer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import (
    BoolArray,
    FloatArray,
    IndexArray,
    check_option,
    check_positive_weights,
    checked_sample_weight,
    input_names,
)
from .._input_laws import InputLaw, check_distribution, learn_input_laws
from .._model_file.state import plain_state, restore_state
from .._version import DOC_LINK_TEMPLATE
from .index_sets import (
    basis_advice,
    build_multi_indices,
    check_design_fits,
    check_multi_indices,
    check_truncation,
    count_terms,
    rows_held_in_blocks,
    sort_graded,
    terms_that_fit,
)

TRUNCATIONS = ("total_degree", "hyperbolic")

# Entries of a block of the design matrix: 4 MiB, which stay in the cache for a matrix
# product. Four times more or less was slower.
_BLOCK_ENTRIES = 2**19

# Below this many rows the calls cost more than the arithmetic.
_SMALLEST_BLOCK = 64


class _Run(NamedTuple):
    """Consecutive columns that are one function times consecutive columns."""

    start: int
    stop: int
    parent: int  # first of the other columns; 0, the constant, for a single one
    feature: int
    exponent: int


@dataclass(frozen=True)
class PolynomialBasis:
    """Products of univariate orthonormal functions.

    Row 0 of the multi-indices is zero. They are evaluated fastest in graded order; no
    row needs its divisors to be rows too.
    """

    laws: Sequence[InputLaw]  # one per feature
    multi_indices: IndexArray  # shape: (n_terms, n_features)

    @cached_property
    def exponents(self) -> IndexArray:
        """Degree in each input, shape (n_terms, n_features); a contrast counts one."""
        categorical = categorical_inputs(self.laws)
        return np.where(categorical, self.multi_indices > 0, self.multi_indices)

    @cached_property
    def degrees(self) -> IndexArray:
        """Total degree of each term, shape (n_terms,); a contrast counts one."""
        return self.exponents.sum(axis=1)

    def terms_within(self, features: Collection[int]) -> IndexArray:
        """Return the positions of the constant and the terms of these inputs alone."""
        others = np.setdiff1d(np.arange(len(self.laws)), list(features))
        return np.flatnonzero(~self.multi_indices[:, others].any(axis=1))

    @cached_property
    def _plan(self) -> tuple[int, list[_Run]]:
        """The number of columns, and the products that fill them, in order.

        A term is its first univariate function times its tail. In graded order the
        terms that begin with one function have consecutive tails, so that few
        products of whole blocks make all columns. Tails that are no terms get
        columns after those of the terms.
        """
        keys = self._sparse_rows()
        position = {key: column for column, key in enumerate(keys)}
        for key in keys[: len(self.multi_indices)]:
            tail = key[1:]
            while tail not in position:
                position[tail] = len(keys)
                keys.append(tail)
                tail = tail[1:]
        polynomial = ~categorical_inputs(self.laws)
        degrees = [sum(k if polynomial[i] else 1 for i, k in key) for key in keys]
        runs: list[_Run] = []
        for column in np.argsort(degrees, kind="stable").tolist():
            if keys[column]:
                head, tail = keys[column][0], keys[column][1:]
                _append_run(runs, _Run(column, column + 1, position[tail], *head))
        return len(keys), runs

    def _sparse_rows(self) -> list[tuple[tuple[int, int], ...]]:
        """Return, for each term, its (feature, exponent) pairs."""
        terms, features = np.nonzero(self.multi_indices)
        exponents = self.multi_indices[terms, features]
        pairs = list(zip(features.tolist(), exponents.tolist(), strict=True))
        ends = np.searchsorted(terms, np.arange(len(self.multi_indices)), "right")
        starts = [0, *ends[:-1].tolist()]
        return [tuple(pairs[a:b]) for a, b in zip(starts, ends.tolist(), strict=True)]

    def _fill(
        self,
        X: FloatArray,  # shape: (n_samples, n_features)
        columns: FloatArray,  # shape: (n_columns, n_samples), filled
        slope_of: int | None = None,
    ) -> None:
        """Fill every column, with derivatives of the functions of ``slope_of``."""
        largest = self.multi_indices.max(axis=0, initial=0).tolist()
        tables = {}
        for i in np.flatnonzero(largest).tolist():
            evaluate = self.laws[i].evaluate
            if i == slope_of:
                evaluate = self.laws[i].differentiate
            tables[i] = evaluate(X[:, i], largest[i])
        columns[0] = 1.0
        for start, stop, parent, feature, exponent in self._plan[1]:
            factor = tables[feature][exponent]
            if parent == 0:
                columns[start] = factor
            else:
                parents = columns[parent : parent + stop - start]
                np.multiply(parents, factor, out=columns[start:stop])

    def differentiate(
        self, X: FloatArray, feature: int
    ) -> FloatArray:  # shape: (n_samples, n_terms), per unit of the input
        """Return the derivative of every term with respect to one input."""
        slopes = self.evaluate(X, slope_of=feature)
        slopes[:, self.multi_indices[:, feature] == 0] = 0.0
        return slopes

    def evaluate(self, X: FloatArray, slope_of: int | None = None) -> FloatArray:
        """Return the design matrix of shape (n_samples, n_terms)."""
        columns = np.empty((len(self.multi_indices), len(X)))
        if self._plan[0] == len(columns):
            self._fill(X, columns, slope_of)
        else:  # by blocks, so that columns that are no terms stay small
            for rows, design in self.blocks(X, slope_of=slope_of):
                columns[:, rows] = design.T
        return columns.T

    def blocks(
        self,
        X: FloatArray,
        *,
        max_entries: int = _BLOCK_ENTRIES,
        slope_of: int | None = None,
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Iterate over blocks of at least 64 rows of the design matrix.

        The columns of a block are contiguous. The next block overwrites it.
        """
        n_columns, n_terms = self._plan[0], len(self.multi_indices)
        size = max(max_entries // n_columns, _SMALLEST_BLOCK)
        buffer = np.empty(n_columns * min(size, len(X)))
        for start in range(0, len(X), size):
            rows = slice(start, min(start + size, len(X)))
            n_rows = rows.stop - start
            columns = buffer[: n_columns * n_rows].reshape(n_columns, n_rows)
            self._fill(X[rows], columns, slope_of)
            yield rows, columns[:n_terms].T

    def combine(
        self,
        X: FloatArray,  # shape: (n_samples, n_features)
        coefficients: FloatArray,  # shape: (n_targets, n_terms)
    ) -> FloatArray:  # shape: (n_samples, n_targets)
        """Evaluate expansions, without the whole design matrix."""
        values = np.empty((len(X), len(coefficients)))
        for rows, design in self.blocks(X):
            np.matmul(design, coefficients.T, out=values[rows])
        return values

    def warn_outside(self, X: FloatArray, names: Sequence[str]) -> None:
        """Warn about values outside the support of their distribution."""
        for i, law in enumerate(self.laws):
            law.warn_outside(X[:, i], names[i])

    def p_values(self, X: FloatArray) -> FloatArray:  # shape: (n_features,)
        """Return the goodness of fit of each input to its law."""
        columns = zip(self.laws, X.T, strict=True)
        return np.array([law.p_value(column) for law, column in columns])

    def sample(self, size: int, generator: np.random.Generator) -> FloatArray:
        """Draw independent inputs; shape (size, n_features)."""
        return np.column_stack([law.sample(size, generator) for law in self.laws])

    def names(self, input_names: Sequence[str]) -> list[str]:
        """Return one name per term, such as ``He2(x0)*He1(x1)``."""
        return [
            "*".join(f"{self.laws[i].polynomial}{k}({input_names[i]})" for i, k in row)
            or "1"
            for row in self._sparse_rows()
        ]


def _append_run(runs: list[_Run], new: _Run) -> None:
    """Append one column, or extend the last run by it."""
    if runs and new.parent:
        last = runs[-1]
        follows = (last.stop, last.parent + last.stop - last.start)
        same_factor = last[3:] == new[3:]
        if last.parent and same_factor and follows == (new.start, new.parent):
            runs[-1] = last._replace(stop=new.stop)
            return
    runs.append(new)


@dataclass(frozen=True)
class BasisParameters:
    """The parameters of an estimator that determine its basis together with data."""

    owner: str
    degree: Any
    distribution: Any
    truncation: Any
    q: Any
    interaction_order: Any
    anisotropy: Any = None
    multi_indices: Any = None
    has_anisotropy: bool = False

    @classmethod
    def of(cls, estimator: Any) -> BasisParameters:
        """Read the parameters of an estimator, which need not have them all."""
        given = estimator.get_params(deep=False)
        known = {entry.name for entry in fields(cls)} & set(given)
        return cls(
            type(estimator).__name__,
            has_anisotropy="anisotropy" in given,
            **{name: given[name] for name in known},
        )

    def check(self, n_features: int) -> list[Any]:
        """Check the parameters; return one specification of a law per feature."""
        owner = self.owner
        self._check_truncation()
        check_positive_weights(owner, "anisotropy", self.anisotropy, n_features)
        check_multi_indices(owner, self.multi_indices, n_features)
        return check_distribution(owner, self.distribution, n_features)

    def _check_truncation(self) -> None:
        """Raise ``ValueError`` for a truncation whose parameters do not agree."""
        owner = self.owner
        check_truncation(owner, self.degree, self.q, self.interaction_order)
        check_option(owner, "truncation", self.truncation, TRUNCATIONS)
        if self.truncation == "total_degree" and self.q != 1.0:
            raise ValueError(
                f"The 'q' parameter of {owner} is {self.q!r} but has an effect only "
                "with truncation='hyperbolic'; 'total_degree' means q=1.0."
            )

    def learn(
        self,
        X: FloatArray,  # shape: (n_samples, n_features)
        weights: FloatArray,  # shape: (n_samples,)
        names: Sequence[str],
        *,
        in_blocks: bool = False,  # True when the design matrix is never whole in memory
    ) -> PolynomialBasis:
        """Learn the input laws and build the index set that they can carry."""
        laws = learn_input_laws(self.check(X.shape[1]), X, weights)
        n_rows = rows_held_in_blocks(len(X)) if in_blocks else len(X)
        multi_indices = self._index_set(laws, names, n_rows)
        needed = multi_indices.max(axis=0).tolist()
        for law, name, degree in zip(laws, names, needed, strict=True):
            law.check_degree(self.owner, name, degree)
        return PolynomialBasis(laws, multi_indices)

    def refuse_another(self, basis: PolynomialBasis, names: Sequence[str]) -> None:
        """Raise ``ValueError`` when the parameters no longer give this basis."""
        laws = self.check(len(names))
        wanted = self._index_set(basis.laws, names, 1)
        learned = learn_input_laws(laws, np.zeros((1, len(laws))), np.ones(1))
        same = np.array_equal(wanted, basis.multi_indices)
        if not same or list(learned) != list(basis.laws):
            raise ValueError(
                "partial_fit cannot change the basis: degree, truncation or "
                "distribution differ from those of the samples before. Call fit."
            )

    def _index_set(
        self, laws: Sequence[InputLaw], names: Sequence[str], n_samples: int
    ) -> IndexArray:
        """Return the terms that were given, or those of the truncation."""
        rows = check_multi_indices(self.owner, self.multi_indices, len(laws))
        if rows is not None:
            return explicit_multi_indices(self.owner, rows, laws, names, n_samples)
        return truncated_multi_indices(
            self.owner,
            laws,
            n_samples,
            degree=int(self.degree),
            q=float(self.q),
            interaction_order=self.interaction_order,
            anisotropy=self.anisotropy,
            advice=basis_advice(anisotropy=self.has_anisotropy),
        )


def explicit_multi_indices(
    owner: str,
    rows: IndexArray,  # shape: (n_terms, n_features), checked
    laws: Sequence[InputLaw],
    names: Sequence[str],
    n_samples: int,
) -> IndexArray:  # shape: (n_terms, n_features)
    """Add the constant where it is missing, and sort as the built sets are sorted."""
    for law, needed, name in zip(laws, rows.max(axis=0).tolist(), names, strict=True):
        if needed > law.largest_degree:
            raise ValueError(
                f"The 'multi_indices' parameter of {owner} has the entry {needed} "
                f"for {name}, whose distribution has functions up to "
                f"{law.largest_degree:g} only."
            )
    if rows.any(axis=1).all():
        rows = np.vstack([np.zeros((1, rows.shape[1]), dtype=np.int64), rows])
    check_design_fits(owner, n_samples, len(rows), "Give fewer 'multi_indices'.")
    return sort_graded(rows, categorical_inputs(laws))


def truncated_multi_indices(
    owner: str,
    laws: Sequence[InputLaw],
    n_samples: int,
    *,
    degree: int,
    q: float,
    interaction_order: int | None,
    anisotropy: Any,
    advice: str | None = None,
) -> IndexArray:  # shape: (n_terms, n_features)
    """Build the set, or raise ``ValueError`` for one that exceeds the memory."""
    n_features = len(laws)
    truncation = {
        "q": q,
        "interaction_order": interaction_order,
        "anisotropy": anisotropy,
        "largest": [law.largest_degree for law in laws],
        "categorical": categorical_inputs(laws),
    }
    n_rows = max(n_samples, n_features)
    n_terms = count_terms(
        n_features, degree, **truncation, stop_above=terms_that_fit(n_rows)
    )
    advice = basis_advice(anisotropy=True) if advice is None else advice
    check_design_fits(owner, n_rows, n_terms, advice)
    return build_multi_indices(n_features, degree, **truncation)


def categorical_inputs(laws: Sequence[InputLaw]) -> BoolArray:
    """Return which inputs have functions that all count as of degree one."""
    return np.array([not law.is_polynomial for law in laws], dtype=bool)


# Methods of every estimator with a basis.


def transform(self: Any, X: ArrayLike) -> FloatArray:
    """Return the orthonormal basis at X.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs.

    Returns
    -------
    design : ndarray of shape (n_samples, n_terms)
        Values of the basis functions; column 0 is one.
    """
    check_is_fitted(self)
    values = validate_data(self, X, dtype=np.float64, reset=False)
    # Not by ``checked_inputs``, for the warning is to name the line of the caller.
    self.basis_.warn_outside(values, input_names(self))
    return self.basis_.evaluate(values)


def checked_inputs(estimator: Any, X: ArrayLike) -> FloatArray:
    """Return inputs as an array; warn of those outside their distributions."""
    check_is_fitted(estimator)
    values = validate_data(estimator, X, dtype=np.float64, reset=False)
    estimator.basis_.warn_outside(values, input_names(estimator))
    return values


def get_feature_names_out(
    self: Any, input_features: ArrayLike | None = None
) -> NDArray[np.object_]:
    """Return the names of the basis functions.

    Parameters
    ----------
    input_features : array-like of str or None, default=None
        Names of the inputs; by default those seen in ``fit``, else ``x0, x1, ...``.

    Returns
    -------
    names : ndarray of str of shape (n_terms,)
        Such as ``He2(x0)*He1(x1)``; the constant is ``1``.
    """
    check_is_fitted(self)
    names = input_names(self, input_features)
    return np.asarray(self.basis_.names(names), dtype=object)


class PolynomialChaosFeatures(TransformerMixin, BaseEstimator):
    r"""Orthonormal polynomials of the inputs, as features.

    In the manner of :class:`sklearn.preprocessing.PolynomialFeatures`, but the
    columns are orthonormal under the law of the inputs: Hermite polynomials for
    normal inputs, Legendre polynomials for uniform ones [1]_.

    Parameters
    ----------
    degree : int, default=2
        Largest degree of a term.
    distribution : str, frozen law, or list, default="normal"
        The law of each input. A name learns its parameters in ``fit``: ``"normal"``
        (weighted mean and standard deviation with ``ddof=0``), ``"uniform"``
        (smallest and largest value of positive weight), ``"exponential"``,
        ``"gamma"``, ``"beta"``, ``"empirical"`` (the data themselves) or
        ``"categorical"`` (numeric codes of categories). A frozen law of
        ``scipy.stats``, continuous or discrete, learns nothing. A list gives one law
        per feature. See the user guide on input laws.
    truncation, q, interaction_order
        As in :class:`PolynomialChaosRegressor`.
    anisotropy : array-like of shape (n_features,) or None, default=None
        Positive weights :math:`w_i`: the terms :math:`j` with
        :math:`(\sum_i (w_i j_i)^q)^{1/q}` up to ``degree`` are retained. A weight of
        2 gives an input half the degree.
    multi_indices : array-like of shape (n_terms, n_features) or None, default=None
        The terms themselves, as non-negative ints; the constant is added where it
        is missing. ``degree``, ``truncation``, ``q``, ``interaction_order`` and
        ``anisotropy`` then have no effect.

    Attributes
    ----------
    multi_indices_ : ndarray of shape (n_terms, n_features)
        Exponent of each input in each term, in graded order; row 0 is the constant.
        For a categorical input the number of the contrast.
    basis_, n_features_in_, feature_names_in_
        As in :class:`PolynomialChaosRegressor`.

    See Also
    --------
    PolynomialChaosRegressor : Least squares or ridge on this basis.

    Notes
    -----
    The columns are orthonormal when the inputs are independent and have the stated
    laws. The sample mean of their products approaches the identity at the rate
    :math:`n^{-1/2}`.

    An input of finitely many values has fewer functions than values, which bounds its
    exponents. Each contrast of a categorical input counts as of degree one.

    References
    ----------
    .. [1] D. Xiu and G. E. Karniadakis, "The Wiener-Askey polynomial chaos for
       stochastic differential equations", SIAM Journal on Scientific Computing 24
       (2002), table 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosFeatures
    >>> X = np.array([[0.0, 1.0], [2.0, 0.0]])
    >>> features = PolynomialChaosFeatures(degree=2, distribution=norm(0, 1)).fit(X)
    >>> features.get_feature_names_out().tolist()
    ['1', 'He1(x0)', 'He1(x1)', 'He2(x0)', 'He1(x0)*He1(x1)', 'He2(x1)']
    >>> features.transform(X).round(3).tolist()
    [[1.0, 0.0, 1.0, -0.707, 0.0, 0.0], [1.0, 2.0, 0.0, 2.121, 0.0, -0.707]]

    Half the degree for the second input, and chosen terms alone:

    >>> features.set_params(anisotropy=[1, 2]).fit(X).get_feature_names_out().tolist()
    ['1', 'He1(x0)', 'He1(x1)', 'He2(x0)']
    >>> features.set_params(multi_indices=[[3, 0], [1, 1]]).fit(X).multi_indices_
    array([[0, 0],
           [1, 1],
           [3, 0]])
    """

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        degree: int = 2,
        *,
        distribution: Any = "normal",
        truncation: str = "total_degree",
        q: float = 1.0,
        interaction_order: int | None = None,
        anisotropy: ArrayLike | None = None,
        multi_indices: ArrayLike | None = None,
    ) -> None:
        self.degree = degree
        self.distribution = distribution
        self.truncation = truncation
        self.q = q
        self.interaction_order = interaction_order
        self.anisotropy = anisotropy
        self.multi_indices = multi_indices

    __getstate__, __setstate__ = plain_state, restore_state

    def fit(
        self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> PolynomialChaosFeatures:
        """Learn the input laws and build the index set.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Frequency of each row.

        Returns
        -------
        self : PolynomialChaosFeatures
            The fitted transformer.

        Raises
        ------
        ValueError
            For a bad parameter, a law that cannot carry the degree, or a basis too
            large for memory.
        """
        values = validate_data(self, X, dtype=np.float64)
        weights = checked_sample_weight(sample_weight, values)
        names = input_names(self)
        self.basis_ = BasisParameters.of(self).learn(values, weights, names)
        return self

    @property
    def multi_indices_(self) -> IndexArray:
        """Exponents of the terms; shape (n_terms, n_features)."""
        return self.basis_.multi_indices

    transform = transform
    get_feature_names_out = get_feature_names_out
