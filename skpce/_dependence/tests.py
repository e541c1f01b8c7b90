"""Tests of the inputs: are they independent, do they have the stated distributions?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_array

from .._basis.basis import PolynomialBasis
from .._checks import BoolArray, FloatArray, import_pandas
from .._input_laws import NormalLaw

# Distances in memory at a time.
_LARGEST_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class InputTests:
    """Dependence and distributions of the inputs; from :func:`input_tests`.

    Attributes
    ----------
    pearson, spearman : ndarray of shape (n_features, n_features)
        Correlations of values and of ranks; NaN for a constant input.
    distance : ndarray of shape (n_features, n_features)
        Bias-corrected distance correlation, at least 0.
    dependence_p_values : ndarray of shape (n_features, n_features)
        Smallest p-value of the three tests of a pair, times three (at most 1); not
        adjusted over the pairs.
    normality_p_values : ndarray of shape (n_features,)
        Shapiro-Wilk; D'Agostino-Pearson above 5000 members. NaN for a constant input
        or fewer than 8 members.
    law_p_values : ndarray of shape (n_features,)
        Goodness of fit to the stated distributions; NaN where there is none.
    """

    pearson: FloatArray
    spearman: FloatArray
    distance: FloatArray
    dependence_p_values: FloatArray
    normality_p_values: FloatArray
    law_p_values: FloatArray

    def largest(self, kind: str) -> float:
        """Return the value of ``kind`` that is largest in size; NaN for no pair."""
        if kind not in ("pearson", "spearman", "distance"):
            raise ValueError(
                f"kind must be 'pearson', 'spearman' or 'distance'. Got {kind!r}."
            )
        pairs = _pairs(getattr(self, kind))
        pairs = pairs[~np.isnan(pairs)]
        return float(pairs[np.argmax(np.abs(pairs))]) if pairs.size else float("nan")

    @property
    def smallest_dependence_p_value(self) -> float:
        """Smallest of ``dependence_p_values``, times the number of pairs."""
        return _bonferroni(_pairs(self.dependence_p_values))

    @property
    def smallest_law_p_value(self) -> float:
        """Smallest of ``law_p_values``, times their number."""
        return _bonferroni(self.law_p_values)

    def __str__(self) -> str:
        facts = []
        if np.isfinite(self.largest("pearson")):
            facts.append(
                "largest correlation of two inputs "
                f"{self.largest('pearson'):.2f} (Pearson), "
                f"{self.largest('spearman'):.2f} (Spearman), "
                f"{self.largest('distance'):.2f} (distance), "
                f"p = {self.smallest_dependence_p_value:.2g} over all pairs"
            )
        normality = _bonferroni(self.normality_p_values)
        if np.isfinite(normality):
            facts.append(f"normality p = {normality:.2g} over all inputs")
        if np.isfinite(self.smallest_law_p_value):
            facts.append(
                f"stated laws p = {self.smallest_law_p_value:.2g} over all inputs"
            )
        return "; ".join(facts) if facts else "one input, too few members to test it"

    def to_frame(self) -> Any:
        """Return one row per pair of inputs.

        Returns
        -------
        frame : pandas.DataFrame
            Columns ``first``, ``second``, ``pearson``, ``spearman``, ``distance`` and
            ``p_value``. Needs pandas.
        """
        first, second = np.triu_indices(len(self.pearson), k=1)
        return import_pandas().DataFrame(
            {
                "first": first,
                "second": second,
                "pearson": _pairs(self.pearson),
                "spearman": _pairs(self.spearman),
                "distance": _pairs(self.distance),
                "p_value": _pairs(self.dependence_p_values),
            }
        )


def input_tests(X: ArrayLike, law_p_values: ArrayLike | None = None) -> InputTests:
    r"""Test pairs of inputs for dependence, and each input for normality.

    Closed-form Sobol indices assume independent inputs of the stated distributions.

    Parameters
    ----------
    X : array-like of shape (n_members, n_features)
        Inputs of the surrogate, after any embedding.
    law_p_values : array-like of shape (n_features,) or None, default=None
        P-values of tests of the distributions that a surrogate assumes
        (``surrogate.diagnostics_.law_p_values``); reported beside the others.

    Returns
    -------
    tests : InputTests
        Matrices of the three correlations and p-values; ``print`` gives the largest.

    Raises
    ------
    ValueError
        If X is not 2-D or has NaN, or ``law_p_values`` has another length.

    See Also
    --------
    verdict : Has these tests in ``inputs``.

    Notes
    -----
    With distances :math:`a_{ij} = |x_i - x_j|`, centred as

    .. math::

        A_{ij} = a_{ij} - \frac{a_{i\cdot} + a_{\cdot j}}{n - 2}
        + \frac{a_{\cdot\cdot}}{(n-1)(n-2)} \quad (i \ne j), \qquad A_{ii} = 0,

    and :math:`B` likewise of the other input, the bias-corrected squared distance
    correlation is :math:`R = \langle A, B \rangle / (\lVert A \rVert \lVert B
    \rVert)` [1]_; ``distance`` is :math:`\sqrt{\max(R, 0)}`. In the population it is
    0 for independent inputs only, so it detects dependence without correlation. Its
    p-value is the (slightly conservative) :math:`P(\chi^2_1 - 1 \ge n R)` [2]_. The
    others are Student's tests of a correlation. Cost: :math:`O(n^2)` per pair.

    References
    ----------
    .. [1] G. J. Székely and M. L. Rizzo, "Partial distance correlation with methods
       for dissimilarities", Annals of Statistics 42 (2014), section 2.
    .. [2] C. Shen, S. Panda and J. T. Vogelstein, "The chi-square test of distance
       correlation", Journal of Computational and Graphical Statistics 31 (2022).

    Examples
    --------
    >>> import numpy as np
    >>> from skpce.inspection import input_tests
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> found = input_tests(np.stack([x, x**2], axis=1))
    >>> found.pearson[0, 1].round(2), found.distance[0, 1].round(2)
    (np.float64(0.16), np.float64(0.56))
    """
    inputs = check_array(X, dtype=np.float64)
    n_members, n_features = inputs.shape
    laws = np.full(n_features, np.nan)
    if law_p_values is not None:
        laws = np.asarray(law_p_values, dtype=np.float64)
        if laws.shape != (n_features,):
            raise ValueError(
                f"law_p_values has shape {laws.shape}; expected ({n_features},), one "
                "per input."
            )
    varying = np.ptp(inputs, axis=0) > 0
    pearson = _correlation(inputs, varying)
    spearman = _correlation(stats.rankdata(inputs, axis=0), varying)
    squared = _squared_distance_correlation(inputs)
    p_values = np.fmin(
        np.fmin(_student_p(pearson, n_members), _student_p(spearman, n_members)),
        stats.chi2.sf(np.maximum(n_members * squared + 1.0, 0.0), 1),
    )
    normal = NormalLaw(0.0, 1.0)  # learned: tested for its shape alone
    return InputTests(
        pearson=pearson,
        spearman=spearman,
        distance=np.sqrt(np.maximum(squared, 0.0)),
        dependence_p_values=np.minimum(3.0 * p_values, 1.0),
        normality_p_values=np.array([normal.p_value(column) for column in inputs.T]),
        law_p_values=laws,
    )


def _pairs(matrix: FloatArray) -> FloatArray:
    return matrix[np.triu_indices(len(matrix), k=1)]


def _bonferroni(p_values: FloatArray) -> float:
    known = p_values[~np.isnan(p_values)]
    return float(min(known.min() * known.size, 1.0)) if known.size else float("nan")


def _correlation(values: FloatArray, varying: BoolArray) -> FloatArray:
    found = np.full((len(varying), len(varying)), np.nan)
    if len(values) > 2 and varying.any():
        some = np.atleast_2d(np.corrcoef(values[:, varying], rowvar=False))
        found[np.ix_(varying, varying)] = some
    return found


def _student_p(correlation: FloatArray, n_members: int) -> FloatArray:
    if n_members < 4:
        return np.full_like(correlation, np.nan)
    rest = np.maximum(1.0 - np.square(correlation), 1e-15)
    statistic = np.abs(correlation) * np.sqrt((n_members - 2) / rest)
    return 2.0 * stats.t.sf(statistic, n_members - 2)


def _squared_distance_correlation(X: FloatArray) -> FloatArray:
    """Return the bias-corrected squares; NaN for a constant input or under 4 rows."""
    n_members, n_features = X.shape
    if n_members < 4:
        return np.full((n_features, n_features), np.nan)
    width = np.ptp(X, axis=0)
    columns = (X / np.where(width > 0, width, 1.0)).T
    sums = np.zeros((n_features, n_members))
    inner = np.zeros((n_features, n_features))
    step = max(1, _LARGEST_BLOCK // (n_members * n_features))
    blocks = [slice(start, start + step) for start in range(0, n_members, step)]
    for rows in blocks:
        sums[:, rows] = _distances(columns, rows).sum(axis=2)
    total = sums.sum(axis=1) / ((n_members - 1) * (n_members - 2))
    means = sums / (n_members - 2)
    for rows in blocks:
        centred = _distances(columns, rows)
        centred -= means[:, rows, np.newaxis] + means[:, np.newaxis]
        centred += total[:, np.newaxis, np.newaxis]
        inside = np.arange(n_members)[rows]
        centred[:, np.arange(len(inside)), inside] = 0.0
        flat = centred.reshape(n_features, -1)
        inner += flat @ flat.T
    norm = np.sqrt(np.diagonal(inner))
    norm = np.where((width > 0) & (norm > 0), norm, np.nan)
    return inner / np.outer(norm, norm)


def _distances(columns: FloatArray, rows: slice) -> FloatArray:
    """Return distances within each column; shape (n_features, n_rows, n_members)."""
    return np.abs(columns[:, rows, np.newaxis] - columns[:, np.newaxis])


# Level below which a correlation is not explained by chance.
_CHANCE_LEVEL = 0.01

# Rows of the data that suffice for the distances of neighbours.
_LARGEST_REFERENCE = 5000

# Share of the data that counts as usual.
_USUAL_SHARE = 0.95


def correlation_reason(
    X: FloatArray, max_correlation: float, names: Sequence[str]
) -> tuple[str, ...]:
    """Name two columns that are correlated beyond the limit and beyond chance."""
    n_samples, n_features = X.shape
    largest = largest_correlation(X)
    if not largest > max_correlation:
        return ()
    if n_samples > 3:
        ratio = np.sqrt((n_samples - 2) / max(1 - largest**2, 1e-12))
        p_value = 2 * stats.t.sf(largest * ratio, n_samples - 2)
        if p_value * n_features * (n_features - 1) / 2 > _CHANCE_LEVEL:
            return ()
    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    absolute = np.triu(np.abs(np.corrcoef(X[:, varying], rowvar=False)), k=1)
    first, second = varying[list(np.unravel_index(absolute.argmax(), absolute.shape))]
    return (
        f"{names[first]} and {names[second]} are correlated ({largest:.2f}, more than "
        f"{max_correlation:g}): the indices assume independent inputs",
    )


def outside_share(X: FloatArray, design: FloatArray) -> float:
    """Return the share of design points that lie farther from the data than usual.

    Usual are the distances of 95 % of the rows of X to their nearest other row, in
    units of the standard deviation of each column. A design like the data has a share
    near 0.05. NaN for fewer than three different rows.
    """
    scale = X.std(axis=0)
    varying = scale > 0
    rows = np.unique(X[:, varying] / scale[varying], axis=0)
    if len(rows) < 3:
        return float("nan")
    rows = rows[:: -(-len(rows) // _LARGEST_REFERENCE)]
    neighbors = NearestNeighbors(n_neighbors=2).fit(rows)
    usual = np.quantile(neighbors.kneighbors(rows)[0][:, 1], _USUAL_SHARE)
    points = design[:, varying] / scale[varying]
    nearest = neighbors.kneighbors(points, n_neighbors=1)[0][:, 0]
    return float(np.mean(nearest > usual))


def outside_reason(share: float, max_outside: float) -> tuple[str, ...]:
    """Report that the model is evaluated where there are no data."""
    if not share > max_outside:
        return ()
    return (
        f"{share:.0%} of the design points lie farther from the rows of X than these "
        f"lie from each other, more than {max_outside:.0%}: there the model "
        "extrapolates",
    )


def fidelity_reason(fidelity: float, min_fidelity: float) -> tuple[str, ...]:
    """Report that the expansion does not reproduce the model."""
    if np.isnan(fidelity):
        return ("the predictions do not vary",)
    if fidelity >= min_fidelity:
        return ()
    return (
        f"the expansion reproduces {max(fidelity, 0.0):.1%} of the variance of the "
        f"model on held-out design points, less than {min_fidelity:.0%}",
    )


@dataclass(frozen=True)
class SurrogateDiagnostics:
    """Diagnostics of a fit, conditional on X as given.

    A transformation of X that was fitted before (PCA, PLS) has used every member, so
    these figures are optimistic for the pipeline. ``skpce.inspection.verdict`` refits
    the whole pipeline and is the figure to report.

    Parameters
    ----------
    loo_q2 : ndarray of shape (n_steps,)
        Leave-one-out Q² in Aitchison geometry; NaN for a step without choice,
        ``-inf`` where it is not defined.
    n_members, n_terms : int
        Size of the ensemble and of the basis; more terms than members are no fault in
        themselves.
    permutation_p_values : ndarray of shape (n_steps,) or None
        Share of permutations of the members whose leave-one-out Q² is at least as
        large; None without permutations.
    inputs : ndarray of shape (n_members, n_features)
        Inputs of the surrogate.
    basis : PolynomialBasis
        Their distributions and the index set.
    """

    loo_q2: FloatArray
    n_members: int
    n_terms: int
    permutation_p_values: FloatArray | None
    inputs: FloatArray = field(repr=False)
    basis: PolynomialBasis = field(repr=False)

    @cached_property
    def largest_correlation(self) -> float:
        """Largest absolute Pearson correlation of two inputs; NaN for one input."""
        return largest_correlation(self.inputs)

    @cached_property
    def condition_number(self) -> float:
        """Of the centred design matrix without the constant; inf below full rank."""
        return condition_number(self.basis.evaluate(self.inputs))

    @cached_property
    def law_p_values(self) -> FloatArray:
        """Goodness of fit of each input to its distribution; shape (n_features,).

        NaN for constant inputs or fewer than 8 members. A learned normal distribution
        is tested for its shape alone, a frozen one with its parameters.
        """
        columns = zip(self.basis.laws, self.inputs.T, strict=True)
        return np.array([law.p_value(column) for law, column in columns])


def largest_correlation(X: FloatArray) -> float:
    """Return the largest absolute Pearson correlation between two columns."""
    varying = X[:, np.ptp(X, axis=0) > 0] if len(X) else X
    if varying.shape[1] < 2 or len(varying) < 3:
        return float("nan")
    correlation: Any = np.corrcoef(varying, rowvar=False)
    return float(np.abs(correlation[np.triu_indices_from(correlation, k=1)]).max())


def condition_number(design: FloatArray) -> float:
    """Return the condition number of the centred, non-constant columns."""
    n_terms = design.shape[1]
    if n_terms == 1:
        return 1.0
    values = np.linalg.svd(design[:, 1:] - design[:, 1:].mean(axis=0), compute_uv=False)
    rounding = max(design.shape) * np.finfo(np.float64).eps * values.max(initial=0.0)
    if np.sum(values > rounding) < n_terms - 1:
        return float("inf")
    return float(values[0] / values[-1])
