"""What a fit says about its samples, and about the terms that it learned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._basis.basis import MoreTermsThanRowsWarning, PolynomialBasis
from .._checks import FloatArray, IndexArray, warn_outside_folds
from .._expansion.problem import FittedProblem
from .._input_laws.families import InputLaw
from .kernel_basis import Basis
from .prior import LARGEST_ORDER, TermPrior
from .ridge import LARGEST_DEGREE, LearnedRidgeSolver

# Degrees that are high, and the share of the variance in them from which an input may
# need higher ones; a share of it in terms of the most inputs.
_HIGH_DEGREE, _LARGE_SHARE, _LARGEST_ORDER_SHARE = 30, 0.1, 0.7

# Columns in which a direction is shorter than this do not vary along it.
_NO_LENGTH = 1e-8
_MOST_INPUTS = 200

# Two terms are aliases whose correlation is as near to one; at least one of them has
# such a share of the variance. More inputs than the last number have too many pairs.
_ALIKE, _ALIAS_SHARE, _MOST_ALIASED = 1.0 - 1e-9, 0.05, 26

_MOST_NAMED = 6

# So many settings a term, or such a part of all that levels make, tell of the others.
_FEW, _PART = 3, 0.25


class EdgeOfFamilyWarning(UserWarning):
    """The learned prior leans on the largest degree or order that there is."""


class DependentInputsWarning(UserWarning):
    """The samples cannot tell what an input, or a term, does from what others do."""


def warn_of_samples(problem: FittedProblem, names: Sequence[str]) -> None:
    """Warn of stated inputs that do not vary, and of all else of a learned fit."""
    if problem.samples is not None:
        _warn_of_held(problem.basis.laws, problem.samples.inputs, names)
        _warn_of_repeats(problem.basis, problem.samples.inputs)
    solver = problem.solver
    if not isinstance(solver, LearnedRidgeSolver):
        return
    basis, coefficients = problem.basis, problem.coefficients
    _warn_of_edges(basis, coefficients, names)
    if problem.samples is not None:
        X = problem.samples.inputs
        if not _warn_of_ties(X, names):
            _warn_of_aliases(solver.priors, basis, coefficients, X, names)


def _warn_of_held(
    laws: Sequence[InputLaw], X: FloatArray, names: Sequence[str]
) -> None:
    """Warn of inputs with a stated distribution that have one value."""
    is_held = (X[0] == X).all(axis=0) & (len(X) > 1)
    if not is_held.any():
        return
    held = [i for i in np.flatnonzero(is_held).tolist() if not laws[i].learned]
    if held:
        said = _listed([f"{names[i]} = {X[0, i]:g}" for i in held])
        warn_outside_folds(
            f"In all samples {said}, where a distribution is stated: what it does "
            "cannot be learned, so the indices, those of other inputs too, are not "
            "those of this distribution. Vary it, or leave it out.",
            DependentInputsWarning,
        )


def _warn_of_repeats(basis: Basis, X: FloatArray) -> None:
    """Warn of repeats of few settings beside the terms, and of all there may be."""
    levels = 1.0 + np.count_nonzero(np.diff(np.sort(X, axis=0), axis=0), axis=0)
    if 2 * levels.max() > len(X):
        return
    n_terms = len(basis.multi_indices) if isinstance(basis, PolynomialBasis) else np.inf
    n_settings = len(np.unique(X, axis=0))
    few = min(_FEW * n_terms, _PART * np.prod(levels))
    if n_settings < few and 2 * n_settings <= len(X):
        warn_outside_folds(
            f"The {len(X)} samples are of {n_settings} settings, few beside "
            f"{n_terms:g} terms. Samples that are left out one by one, as in q2_ and "
            "in intervals, have repeats in the fit: nothing is known of others. "
            "Leave settings out, as GroupKFold and skpce.explain(replicate=...) do.",
            MoreTermsThanRowsWarning,
        )


def _warn_of_edges(
    basis: Basis,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    names: Sequence[str],
) -> None:
    """Warn of inputs that may need more degrees, and of terms of more inputs."""
    steep, crowded = [], False
    if isinstance(basis, PolynomialBasis):
        high = basis.exponents[1:] >= _HIGH_DEGREE
        squares = np.square(coefficients[:, 1:])
        large = squares @ high > _LARGE_SHARE * squares.sum(axis=1, keepdims=True)
        found = np.flatnonzero(large.any(axis=0))
        steep = [names[i] for i in found.tolist()]
        last = np.count_nonzero(basis.exponents[1:], axis=1) == LARGEST_ORDER
        most = squares @ last > _LARGEST_ORDER_SHARE * squares.sum(axis=1)
        crowded = bool(most.any()) and len(names) > LARGEST_ORDER
    if steep:
        warn_outside_folds(
            f"The output varies fast along {_listed(steep)}: polynomials of "
            f"degree {LARGEST_DEGREE}, the largest there are, matter as much as low "
            "ones. What varies faster still is missed; a step is better met by a "
            "forest, or by an input that says on which side a sample is.",
            EdgeOfFamilyWarning,
        )
    if crowded:
        warn_outside_folds(
            f"Most of the variance is sought in terms of {LARGEST_ORDER} inputs, the "
            "most there are: what more inputs do together is missed. Compare Q² with "
            "that of a Gaussian process.",
            EdgeOfFamilyWarning,
        )


def _warn_of_ties(X: FloatArray, names: Sequence[str]) -> bool:
    """Warn of an exact linear constraint on the inputs; return whether there is one."""
    n_rows, n_inputs = X.shape
    if not 1 < n_inputs <= min(_MOST_INPUTS, n_rows - 1):
        return False
    centred = X - X.mean(axis=0)
    length = np.sqrt(np.square(centred).sum(axis=0))
    varies = np.flatnonzero(length > 0)
    if len(varies) < 2:
        return False
    unit = centred[:, varies] / length[varies]
    _, values, right = np.linalg.svd(unit, full_matrices=False)
    if values[-1] > _NO_LENGTH:
        return False
    tied = varies[np.abs(right[-1]) > 1e-6]
    warn_outside_folds(
        f"A linear combination of {_listed([names[i] for i in tied])} is constant in "
        "the samples, as the parts of a mixture are: what one of them does cannot be "
        "told from what the others do. Leave one out, or take their ratios.",
        DependentInputsWarning,
    )
    return True


def _warn_of_aliases(
    priors: Sequence[TermPrior],
    basis: Basis,
    coefficients: FloatArray,  # shape: (n_targets, n_terms)
    X: FloatArray,
    names: Sequence[str],
) -> None:
    """Warn of terms of other inputs, of degree one or two, alike in the samples."""
    if not isinstance(basis, PolynomialBasis) or X.shape[1] > _MOST_ALIASED:
        return
    terms = _low_terms(priors[0])
    values = PolynomialBasis(basis.laws, terms).evaluate(X)
    values = values - values.mean(axis=0)
    length = np.sqrt(np.square(values).sum(axis=0))
    values = values / np.where(length > _NO_LENGTH, length, np.inf)
    alike = np.triu(np.abs(values.T @ values) > _ALIKE, 1)
    squares = np.square(coefficients)
    whole = squares[:, 1:].sum(axis=1, keepdims=True)
    large = (squares > _ALIAS_SHARE * whole).any(axis=0)
    large[0] = False
    matters = (
        (terms[:, np.newaxis] == basis.multi_indices[large]).all(axis=2).any(axis=1)
    )
    one, other = np.nonzero(alike & (matters[:, np.newaxis] | matters))
    apart = ((terms[one] > 0) != (terms[other] > 0)).any(axis=1)
    one, other = one[apart], other[apart]
    if not len(one):
        return
    pairs = zip(terms[one], terms[other], strict=True)
    said = [f"{_term(a, names)} and {_term(b, names)}" for a, b in pairs]
    warn_outside_folds(
        f"The samples cannot tell apart {_listed(said)}: in all rows they are the "
        "same, but for a factor and a constant. What they do is divided among them by "
        "the prior. Add rows in which they differ, such as centre points; products are "
        "left out by interaction_order=1.",
        DependentInputsWarning,
    )


def _low_terms(prior: TermPrior) -> IndexArray:  # shape: (n_terms, n_inputs)
    """List the constant, two functions an input, and products of the first ones."""
    unit = np.eye(len(prior.n_functions), dtype=np.int64)
    first = unit[prior.n_functions > 0]
    found = [0 * unit[:1], first, 2 * unit[prior.n_functions > 1]]
    if len(prior.order_weights) > 1:
        one, other = np.triu_indices(len(first), 1)
        found.append(first[one] + first[other])
    return np.vstack(found)


def _term(exponents: IndexArray, names: Sequence[str]) -> str:
    """Return the name of a term of degree one or two."""
    inputs = np.flatnonzero(exponents)
    if exponents.max() > 1:
        return f"{names[inputs[0]]}²"
    return "·".join(names[i] for i in inputs.tolist())


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown}, ..."
