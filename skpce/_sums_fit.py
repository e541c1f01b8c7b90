"""Fits from sums over blocks of samples, and samples that come later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from ._basis import PolynomialBasis
from ._checks import (
    FloatArray,
    Samples,
    input_names,
    one_thread_if_small,
    unchanged_on_failure,
)
from ._goodness import q2_from_sums
from ._input_laws import learn_input_laws
from ._memory import basis_advice, check_sums_fit
from ._solvers import (
    FROM_MOMENTS,
    CoefficientSolver,
    DesignMoments,
    LinearFit,
    sum_moments,
)

#: Entries of a design matrix that is fitted whole under ``criterion="auto"``.
LARGEST_WHOLE_DESIGN = 4_000_000


def _require_exact_addition(estimator: SumsFitMixin) -> bool:
    """Raise ``AttributeError`` with the reason where ``partial_fit`` is not exact."""
    if not _can_add_samples(estimator):
        raise AttributeError(
            "partial_fit is exact, and exists, only with frozen laws, criterion='gcv' "
            f"and a solver among {', '.join(map(repr, sorted(FROM_MOMENTS)))}."
        )
    return True


def _can_add_samples(estimator: SumsFitMixin) -> bool:
    """Whether a fit can be continued with other samples, exactly."""
    laws = estimator.distribution
    listed = isinstance(laws, (Sequence, np.ndarray)) and not isinstance(laws, str)
    laws = laws if listed else [laws]
    return (
        estimator.criterion == "gcv"
        and estimator.regressor is None
        and estimator.solver in FROM_MOMENTS
        and not any(isinstance(law, str) for law in laws)
    )


class SumsFitMixin:
    """``partial_fit``, and fits of designs that are too large to be held whole."""

    distribution: Any
    solver: Any
    regressor: Any
    criterion: Any
    basis_: PolynomialBasis
    multi_indices_: NDArray[np.int64]
    n_features_in_: int
    loo_error_: FloatArray
    q2_: FloatArray
    _n_targets: int
    _sums: DesignMoments | None
    _samples: Samples | None
    _target_variance: FloatArray
    _make_solver: Callable[[], CoefficientSolver]
    _validated: Callable[..., Samples]
    _store_fit: Callable[[LinearFit, FloatArray], None]
    _set_unexplained: Callable[[], None]
    _fit_basis: Callable[..., None]
    _check_basis: Callable[[int], list[Any]]
    _make_multi_indices: Callable[..., NDArray[np.int64]]

    @available_if(_require_exact_addition)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add samples to the fit.

        Exact: after the last call the fit is that of all samples at once, in whatever
        order they came. That needs laws that learn nothing and a criterion that needs
        no second pass, so the method exists only with frozen laws,
        ``criterion="gcv"`` and a solver that fits from sums (the ridge solvers and
        ``"ols"``).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Frequency of each row.

        Returns
        -------
        self : PolynomialChaosRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            For a bad parameter, bad data, weights that add up to less than the number
            of samples, or another basis, number of features or of targets than
            before.
        """
        solver = self._make_solver()
        first = getattr(self, "_sums", None) is None
        with unchanged_on_failure(self):
            values = self._validated(X, y, sample_weight, reset=first)
            if values.at_least_one_copy() is not values:
                raise ValueError(
                    "sample_weight of partial_fit must add up to at least the number "
                    f"of samples, {len(values.weights)}: weights are frequencies. Got "
                    f"a sum of {values.weights.sum():.3g}."
                )
            if first:
                self._learn_basis(values)
                self._sums = self._sum_blocks(values)
            else:
                self._refuse_another_basis()
                assert self._sums is not None  # not the first samples
                self._sums = self._sums + self._sum_blocks(values)
            self._store_sums(solver)
        return self

    def _refuse_another_basis(self) -> None:
        """Raise ``ValueError`` when the parameters no longer give the basis so far."""
        laws = self._check_basis(self.n_features_in_)
        wanted = self._make_multi_indices(self.basis_.laws, input_names(self), 1)
        learned = learn_input_laws(laws, np.zeros((1, len(laws))), np.ones(1))
        same = np.array_equal(wanted, self.multi_indices_)
        if not same or list(learned) != list(self.basis_.laws):
            raise ValueError(
                "partial_fit cannot change the basis: degree, truncation or "
                "distribution differ from those of the samples before. Call fit."
            )

    def _learn_basis(self, samples: Samples) -> None:
        from_sums = self._may_fit_from_sums()
        self._fit_basis(samples.inputs, samples.weights, in_blocks=from_sums)
        if _can_add_samples(self):
            check_sums_fit(
                type(self).__name__,
                len(self.multi_indices_),
                basis_advice(anisotropy=True),
            )

    def _may_fit_from_sums(self) -> bool:
        return (
            self.regressor is None
            and self.solver in FROM_MOMENTS
            and self.criterion != "loo"
        )

    def _fits_from_sums(self, n_samples: int) -> bool:
        if not self._may_fit_from_sums():
            return False
        n_terms = len(self.multi_indices_)
        # Sums are matrices of n_terms by n_terms: no saving with fewer samples.
        large = n_samples * n_terms > LARGEST_WHOLE_DESIGN and n_samples > n_terms
        return large or _can_add_samples(self)

    def _sum_blocks(self, samples: Samples) -> DesignMoments:
        """Add up the moments of the design, block by block."""
        with one_thread_if_small(samples.targets.size + len(self.multi_indices_) ** 2):
            return sum_moments(
                DesignMoments.of_block(
                    design, samples.targets[rows], samples.weights[rows]
                )
                for rows, design in self.basis_.blocks(
                    samples.inputs, max_entries=self._entries_of_block()
                )
            )

    def _entries_of_block(self) -> int:
        """Return a size at which adding up the sums costs little beside them."""
        n_terms = len(self.multi_indices_)
        return min(max(2**19, 4 * n_terms**2), 2**23)

    def _store_sums(self, solver: Any) -> None:
        sums, n_targets = self._sums, self._n_targets
        assert sums is not None
        with one_thread_if_small(len(self.multi_indices_) ** 2):
            fit = solver.fit_moments(sums, np.arange(n_targets), self.basis_.exponents)
        self._samples = None
        self._store_fit(fit, sums.target_spread)
        self._target_variance = sums.target_spread / sums.total_weight
        self.loo_error_ = np.where(sums.target_spread > 0, fit.criterion, 0.0)
        self.q2_ = q2_from_sums(fit.criterion * sums.total_weight, sums.target_spread)
        self._set_unexplained()
