"""Polynomial chaos regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._basis.basis import (
    BasisParameters,
    PolynomialBasis,
    checked_inputs,
    get_feature_names_out,
    transform,
    warn_of_terms,
)
from ._checks import (
    Fitted,
    FloatArray,
    IndexArray,
    Samples,
    at_least_one_copy,
    check_integer,
    check_option,
    input_names,
    method_of,
    one_table,
    refuse_no_numbers,
    refuse_other_rows,
    refuse_swapped,
    unchanged_on_failure,
)
from ._expansion.expansion import (
    Expansion,
    coefficients_of_terms,
    output_labels,
    outputs_of_columns,
    sensitivity_frame,
    warn_of_targets,
)
from ._expansion.intervals import sobol_interval
from ._expansion.predictive import predict_interval, predictive_of, sample
from ._expansion.problem import (
    FittedProblem,
    are_stated,
    read_samples,
    solve_samples,
    solve_sums,
    warn_of_samples,
)
from ._learned.ridge import Basis, learn_from
from ._solvers import FROM_MOMENTS, make_solver
from ._solvers.problem import CRITERIA, CoefficientSolver
from ._version import DOC_LINK_TEMPLATE

#: Entries of a design matrix that is fitted whole under ``criterion="auto"``.
LARGEST_WHOLE_DESIGN = 4_000_000


def _require_exact_addition(estimator: PolynomialChaosRegressor) -> bool:
    """Raise ``AttributeError`` with the reason where ``partial_fit`` is not exact."""
    if not estimator._can_add_samples():
        raise AttributeError(
            "partial_fit is exact, and exists, only with frozen distributions, "
            f"criterion='gcv' and one of {', '.join(map(repr, sorted(FROM_MOMENTS)))}."
        )
    return True


class PolynomialChaosRegressor(
    MultiOutputMixin, TransformerMixin, RegressorMixin, BaseEstimator
):
    r"""Polynomial chaos expansion with Sobol indices in closed form.

    Fits :math:`y \approx \sum_j c_j \psi_j(x)` in an orthonormal polynomial basis. The
    coefficients give mean, variance and Sobol indices without further sampling [1]_.

    Parameters
    ----------
    degree : int or None, default=None
        Largest total degree of a term. None with ``solver=None``: all terms of up to
        three inputs, whose degrees are learned; None with a solver: 2. A degree alone
        cuts the terms there and still learns their prior variances.
    distribution : str, frozen distribution, bounds, list or dict, default="auto"
        Of each input, or the name of a family, as in :class:`PolynomialChaosFeatures`;
        ``"auto"`` chooses one for each input. Sobol indices are exact only for frozen
        ones; learned ones carry the error of what was learned, which
        ``sobol_interval`` contains. ``basis_.laws`` say what they are.
    truncation : {"total_degree", "hyperbolic"}, default="total_degree"
        How the index set is cut; ``"hyperbolic"`` uses the q-norm and needs a degree
        or a solver.
    q : float, default=1.0
        Exponent of the q-norm, in (0, 1]; only with ``truncation="hyperbolic"``.
    interaction_order : int or None, default=None
        Largest number of inputs in one term.
    solver : str or None, default=None
        How the coefficients are estimated. None: a ridge whose penalties are learned;
        see Notes. The others are for a fixed basis.

        - ``"ridge"``: the intercept is free and the penalty of each target is chosen
          by closed-form leave-one-out.
        - ``"ols"``: least squares, of least norm when there are more terms than
          samples.
        - ``"lars"``, ``"subspace_pursuit"``: least squares on a few terms, searched for
          by least-angle regression or subspace pursuit; their number is chosen by
          leave-one-out, corrected for the search. For functions with a few large
          coefficients.
        - ``"paper"``: the intercept is penalised too, penalties 1e-8 ... 1 by
          generalised cross-validation (the paper's eq. 4); for comparison only.
    regressor : estimator or None, default=None
        A linear regressor of scikit-learn in place of ``solver``. It sees the basis
        without the constant.
    alphas : array-like of shape (n_alphas,) or None, default=None
        Penalties for ``solver="ridge"``, in units of the sum-of-squares loss; None
        means 25 values from 1e-8 to 1e4.
    criterion : {"auto", "loo", "gcv"}, default="auto"
        What chooses the penalty of a solver: leave-one-out, or generalised
        cross-validation. ``"auto"`` is leave-one-out up to four million entries of the
        design matrix. Beyond, with more samples than terms, None, ``"ridge"`` and
        ``"ols"`` add up sums over blocks of samples in bounded memory, which leaves
        generalised cross-validation. ``"gcv"`` with frozen distributions always does
        so, and allows ``partial_fit``.

    Attributes
    ----------
    coefficients_ : ndarray of shape (n_targets, n_terms)
        Coefficients; column 0 is the mean of the expansion. Where more than 5,000
        terms matter they are not listed: ``coefficients_``, ``multi_indices_`` and
        ``transform`` raise an error that says so.
    multi_indices_ : ndarray of shape (n_terms, n_features)
        Exponent of each input in each term; row 0 is the constant.
    alpha_ : ndarray of shape (n_targets,)
        Penalty that was chosen, or learned; 0 for a fit without one.
    solver_ : ndarray of str of shape (n_targets,)
        Name of the solver of each target: ``"learned"`` without one, its class for a
        ``regressor``.
    sobol_indices_, total_sobol_indices_ : ndarray of shape (n_targets, n_features)
        First-order and total Sobol indices, ``S1`` and ``ST`` of SALib: shares of the
        variance *of the expansion*. 0 for a target without variance, of which ``fit``
        warns.
    total_variance_ : ndarray of shape (n_targets,)
        Variance of the expansion, in squared units of y.
    loo_error_ : ndarray of shape (n_targets,)
        Mean squared leave-one-out residual; ``inf`` where it is not defined. For
        sparse solvers it is that of least squares on the chosen terms, which flatters
        the search for them. From sums (see ``criterion``) it is the generalised
        cross-validation score; for a ``regressor`` the error of five-fold
        cross-validation.
    q2_ : ndarray of shape (n_targets,)
        Leave-one-out coefficient of prediction, 1 - PRESS / (sum of squares about
        the mean); ``-inf`` where it is not defined, NaN for a constant target.
    unexplained_share_ : ndarray of shape (n_targets,)
        ``1 - q2_`` clipped to [0, 1]: the share of the variance of y that the
        expansion does not predict. Sobol indices say nothing about this share.
    feature_importances_ : ndarray of shape (n_features,)
        Total indices aggregated over the targets, weighted by their variance.
    basis_ : PolynomialBasis or KernelBasis
        Input distributions and index set; kernels where terms are not listed.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when X has string names.

    See Also
    --------
    PolynomialChaosFeatures : The basis alone.
    CompositionalPCESurrogate : The same for targets that are probabilities.

    Notes
    -----
    Without a solver the prior variance of a coefficient is a product: a weight for each
    input of the term, a decay with the degree in it, and a weight for the number of
    inputs. Weights, decays and the variance of the noise maximise the marginal
    likelihood; they are shared by the columns of one output, and by all outputs where
    there are more than eight. Where the likelihood does not speak for any input the fit
    is the mean, and all indices are 0. See "Mathematics" in the documentation.

    Indices decompose the variance under *independent* inputs with the stated
    distributions. For dependent inputs they are not shares of the variance.

    Zero weights drop a row. A weight of 2 means two copies; leave-one-out leaves out
    one of them. Weights that add up to less than the number of rows are normalised
    ones: they are scaled up to it.

    Small fits run on one BLAS thread: a second one costs more than it gains.

    Checked in ``lean/Core``, for exact numbers and measures of finitely many points:
    ``variance_expansion``, ``shapley_sum_one``, ``truncation_error`` (what a degree
    leaves out), ``indices_of_functions`` and ``partial_fit_exact``.

    References
    ----------
    .. [1] B. Sudret, "Global sensitivity analysis using polynomial chaos
       expansions", Reliability Engineering and System Safety 93 (2008).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import uniform
    >>> from skpce import PolynomialChaosRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-np.pi, np.pi, size=(1000, 3))
    >>> y = np.sin(X[:, 0]) + 7 * np.sin(X[:, 1]) ** 2
    >>> y += 0.1 * X[:, 2] ** 4 * np.sin(X[:, 0])
    >>> pce = PolynomialChaosRegressor(distribution=uniform(-np.pi, 2 * np.pi))
    >>> pce.fit(X[:300], y[:300]).sobol_indices_.round(2) + 0.0
    array([[0.31, 0.44, 0.  ]])
    >>> pce.total_sobol_indices_.round(2)
    array([[0.56, 0.44, 0.24]])

    A basis of degree 12 and least squares:

    >>> fixed = PolynomialChaosRegressor(
    ...     12, distribution=uniform(-np.pi, 2 * np.pi), solver="ols"
    ... )
    >>> fixed.fit(X, y).total_sobol_indices_.round(3)
    array([[0.558, 0.442, 0.244]])
    """

    _labels_of_y: Sequence[tuple[str, str]] = ()  # output and column of each target

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        degree: int | None = None,
        *,
        distribution: Any = "auto",
        truncation: str = "total_degree",
        q: float = 1.0,
        interaction_order: int | None = None,
        solver: str | None = None,
        regressor: Any = None,
        alphas: ArrayLike | None = None,
        criterion: str = "auto",
    ) -> None:
        self.degree = degree
        self.distribution = distribution
        self.truncation = truncation
        self.q = q
        self.interaction_order = interaction_order
        self.solver = solver
        self.regressor = regressor
        self.alphas = alphas
        self.criterion = criterion

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PolynomialChaosRegressor:
        """Fit the expansion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; all of them share one factorisation. A sample with NaN counts in
            the targets that it has. ``expansion_`` has the names of a data frame's
            columns or of a series, and one group for the columns of one output: two
            levels of names, or ``logits__0``, ``logits__1``, ...
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Frequency of each row.

        Returns
        -------
        self : PolynomialChaosRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            For a bad parameter, bad data, or a basis too large for memory.

        Warns
        -----
        ConstantTargetWarning
            When a target does not vary. Its indices are 0.
        FailedSamplesWarning
            When y has NaN; says how many samples each target has.
        EdgeOfFamilyWarning
            Without a solver, when the largest degree or number of inputs in a term
            matters as much as low ones: what lies beyond is missed.
        DependentInputsWarning
            When an input with a stated distribution has one value in all samples.
            Without a solver, when a linear combination of inputs is constant, or the
            samples cannot tell two terms apart (an alias) of which one matters.
        MoreTermsThanRowsWarning
            When terms outnumber rows and the solver does not choose few of them, or
            when rows repeat few settings: left-out errors are not those of new ones.
        """
        solver = self._make_solver()
        with unchanged_on_failure(self):
            samples = self._validated(X, y, sample_weight, reset=True)
            samples = replace(samples, weights=at_least_one_copy(samples.weights))
            parameters, names = BasisParameters.of(self), input_names(self)
            groups = None
            basis: Basis
            if solver is None:
                _, groups, _ = outputs_of_columns(self._labels_of_y)
                if groups is None:
                    groups = np.arange(samples.targets.shape[1])
                penalty = self.alphas, self.criterion
                basis, solver = learn_from(parameters, names, samples, groups, *penalty)
            else:
                known = samples.inputs, samples.weights, names
                basis = parameters.learn(*known, in_blocks=self._may_fit_from_sums())
            # Sums are matrices of n_terms by n_terms: no saving with fewer samples.
            n_samples, n_terms = len(samples.inputs), basis.n_terms
            large = n_samples > max(n_terms, LARGEST_WHOLE_DESIGN / n_terms)
            in_sums = self._can_add_samples() or (large and self._may_fit_from_sums())
            in_sums = in_sums and not samples.lacks_targets
            if in_sums and isinstance(basis, PolynomialBasis):
                owner = type(self).__name__
                problem = solve_sums(owner, solver, basis, samples, groups)
            else:
                problem = solve_samples(solver, basis, samples, groups)
            self._store(problem)
        warn_of_targets(self.expansion_, problem)
        warn_of_samples(problem, names)
        if self.regressor is None:
            if problem.samples is None:  # whose copies are counted
                n_samples = int(problem.total_weight)
            warn_of_terms(solver.chooses_terms, n_terms, n_samples)
        return self

    @available_if(_require_exact_addition)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add samples to the fit.

        Exact: after the last call the fit is that of all samples at once, in whatever
        order they came. That needs distributions that learn nothing and a criterion
        that needs no second pass, so the method exists only with frozen distributions,
        ``criterion="gcv"`` and a solver that fits from sums (``"ridge"``, ``"ols"``).

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
        assert solver is not None  # see ``_can_add_samples``
        first = getattr(self, "_problem", None) is None or self._problem.sums is None
        if hasattr(self, "_problem") and self._problem.lacks_targets:
            raise ValueError(
                "partial_fit cannot go on from a fit whose y has NaN; expected a fit "
                "of samples that have each target."
            )
        with unchanged_on_failure(self):
            samples = self._validated(X, y, sample_weight, reset=first)
            if samples.lacks_targets:
                message = "Input y contains NaN; partial_fit needs every target."
                raise ValueError(message)
            if at_least_one_copy(samples.weights) is not samples.weights:
                raise ValueError(
                    "sample_weight of partial_fit must add up to at least the number "
                    f"of samples, {len(samples.weights)}: weights are frequencies. Got "
                    f"a sum of {samples.weights.sum():.3g}."
                )
            basis: Any
            parameters, names, before = (
                BasisParameters.of(self),
                input_names(self),
                None,
            )
            if first:
                known = samples.inputs, samples.weights, names
                basis = parameters.learn(*known, in_blocks=True)
            else:
                basis, before = self.basis_.with_terms, self._problem.sums
                parameters.refuse_another(basis, names)
            owner = type(self).__name__
            self._store(solve_sums(owner, solver, basis, samples, before=before))
        return self

    def _store(self, problem: FittedProblem) -> None:
        """Set what a fit has found."""
        self._problem = problem
        self.alpha_: FloatArray = problem.fit.alpha
        name = "learned" if self.solver is None else self.solver
        name = name if self.regressor is None else type(self.regressor).__name__
        self.solver_: NDArray[np.str_] = np.array([name] * len(problem.spread))
        names, groups, group_names = outputs_of_columns(self._labels_of_y)
        self.expansion_: Expansion = Expansion(
            problem.basis,
            problem.coefficients,
            input_names(self),
            names,
            groups=groups,
            group_names=group_names,
            scalar=self._is_scalar,
            target_variance=problem.target_variance,
            loo_error=problem.loo_error,
        )

    def _make_solver(self) -> CoefficientSolver | None:
        """Return the solver; None for one that is learned."""
        owner = type(self).__name__
        check_option(owner, "criterion", self.criterion, ("auto", *CRITERIA))
        if self.solver is None and self.regressor is None:
            return None
        if self.solver is not None and self.regressor is not None:
            raise ValueError(
                f"The 'regressor' parameter of {owner} takes the place of 'solver'; "
                f"expected solver=None with it. Got {self.solver!r}."
            )
        return make_solver(
            owner,
            "ridge" if self.solver is None else self.solver,
            self.alphas,
            criterion="gcv" if self.criterion == "gcv" else "loo",
            regressor=self.regressor,
        )

    def _validated(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        reset: bool,
    ) -> Samples:
        """Return the samples of positive weight."""
        refuse_swapped(X, y)
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
        y = one_table(y) if getattr(y, "ndim", 0) == 3 else y
        refuse_no_numbers(y, "y")
        how: Any = {"reset": reset, "varying": "y"}
        samples, n_dimensions = read_samples(self, X, y, sample_weight, **how)
        n_targets = samples.targets.shape[1]
        if np.isinf(samples.targets).any():
            raise ValueError("Input y contains infinity; expected finite numbers.")
        if samples.lacks_targets:
            count = (~np.isnan(samples.targets)).sum(axis=0)
            if count.min() < 2:
                raise ValueError(
                    f"y has {count.min()} values that are no NaN in column "
                    f"{count.argmin()}, in rows of positive weight; expected two or "
                    "more."
                )
        if reset:
            self._is_scalar = n_dimensions == 1
            self._labels_of_y = tuple(output_labels(y, n_targets))
        elif n_targets != self.expansion_.n_outputs:
            raise ValueError(
                f"y has {n_targets} targets; expected "
                f"{self.expansion_.n_outputs}, as in the samples before."
            )
        return samples

    def _may_fit_from_sums(self) -> bool:
        return (
            self.regressor is None
            and (self.solver is None or self.solver in FROM_MOMENTS)
            and self.criterion != "loo"
        )

    def _can_add_samples(self) -> bool:
        """Whether a fit can be continued with other samples, exactly."""
        if self.solver is None or self.criterion != "gcv":
            return False
        return self._may_fit_from_sums() and are_stated(self.distribution)

    def predict(
        self, X: ArrayLike, return_std: bool = False
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Evaluate the expansion.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Also return the standard deviation of a new value of y.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            In the shape of the y seen in ``fit``.
        std : ndarray of the shape of y
            Only with ``return_std=True``: the scale of the leave-one-out residuals
            times :math:`\\sqrt{1 + h(x)}` with the leverage :math:`h`. It contains
            noise, truncation error and the error of the coefficients, as if the
            first two were alike everywhere. A fit that learned its prior has the scale
            of five refits without a fold, where that is larger.

        Raises
        ------
        ValueError
            For inputs at which the polynomials overflow, and with ``return_std=True``
            where least squares passes through all samples: no residual is left.
        """
        inputs = checked_inputs(self, X)
        expansion = self.expansion_
        if not return_std:
            values = expansion.basis.combine(inputs, expansion.coefficients)
            return values[:, 0] if expansion.scalar else values
        problem = self._problem
        if np.isnan(problem.fit.residual_variance).any():
            raise ValueError(
                "predict(return_std=True) has no residuals to measure: with as many "
                "terms as samples a least-squares fit passes through all of them. "
                "Expected fewer terms (a lower degree) or solver='ridge'."
            )
        design = expansion.basis.evaluate(inputs)
        scale = np.sqrt(1.0 + problem.fit.leverage.at(design))
        values = problem.predicted(inputs, design)
        deviation = scale * problem.score_deviation()
        if expansion.scalar:
            return values[:, 0], deviation[:, 0]
        return values, deviation

    transform = transform
    get_feature_names_out = get_feature_names_out

    def sobol_frame(self, order: int = 1, ci: float | None = None) -> Any:
        """Return the indices as a tidy table.

        Parameters
        ----------
        order : int, default=1
            Largest number of inputs in a set; 2 adds one row per pair and target.
        ci : float or None, default=None
            Confidence level, such as 0.9, of intervals from ``sobol_interval``.

        Returns
        -------
        frame : data frame of pandas or polars
            One row per target and set of inputs. Columns ``target`` (its name in y,
            or its number), ``input`` (names joined with ``*``), ``order`` (inputs in
            the set), ``first_order`` (share of exactly this set), ``total_order``
            (share of all sets that contain it), ``shapley`` and ``loo_unexplained``
            (the target's ``unexplained_share_``). With ``ci`` also ``low`` and
            ``high`` of the total index and ``first_low`` and ``first_high``. Shapley
            effects and intervals of pairs are NaN.

        Raises
        ------
        ValueError
            If ``order`` is not a positive integer.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.stats import norm
        >>> from skpce import PolynomialChaosRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> y = X[:, 0] + X[:, 0] * X[:, 1]
        >>> pce = PolynomialChaosRegressor(2, distribution=norm(0, 1), solver="ols")
        >>> frame = pce.fit(X, y).sobol_frame(order=2).round(3)
        >>> frame["input"].tolist(), frame["total_order"].tolist()
        (['x0', 'x1', 'x0*x1'], [1.0, 0.5, 0.5])
        """
        check_is_fitted(self)
        check_integer("sobol_frame", "order", order, low=1)
        interval = None if ci is None else self.sobol_interval(ci, random_state=0)
        expansion = self._of_targets
        return sensitivity_frame(
            expansion.interaction_indices(order),
            expansion.shapley_effects(),
            expansion.output_names if self._labels_of_y else range(expansion.n_outputs),
            expansion.input_names,
            expansion.unexplained_share,
            interval,
        )

    # What the expansion and the data of the fit give, when it is read or called.
    basis_: Fitted[Basis] = Fitted("expansion_", lambda e: e.basis)
    coefficients_: Fitted[FloatArray] = Fitted("expansion_", coefficients_of_terms)
    multi_indices_: Fitted[IndexArray] = Fitted("expansion_", lambda e: e.multi_indices)
    # Figures of a target are those of its column, also where y has groups of columns.
    _of_targets: Fitted[Expansion] = Fitted("expansion_", lambda e: e.grouped(None))
    sobol_indices_: Fitted[FloatArray] = Fitted(
        "_of_targets", lambda e: e.sobol_indices().first_order
    )
    total_sobol_indices_: Fitted[FloatArray] = Fitted(
        "_of_targets", lambda e: e.sobol_indices().total_order
    )
    total_variance_: Fitted[FloatArray] = Fitted(
        "_of_targets", lambda e: e.total_variance
    )
    q2_: Fitted[FloatArray] = Fitted("_of_targets", lambda e: e.q2)
    unexplained_share_: Fitted[FloatArray] = Fitted(
        "_of_targets", lambda e: e.unexplained_share
    )
    feature_importances_: Fitted[FloatArray] = Fitted(
        "expansion_", lambda e: e.aggregated_sobol_indices().total_order
    )
    loo_error_: Fitted[FloatArray] = Fitted("_of_targets", lambda e: e.loo_error)

    moments = method_of("expansion_", Expansion.moments)
    conditional_expectation = method_of("expansion_", Expansion.conditional_expectation)
    main_effects = method_of("expansion_", Expansion.main_effects)
    marginal = method_of("expansion_", Expansion.marginal)
    gradient = method_of("expansion_", Expansion.gradient)
    sobol_index = method_of("_of_targets", Expansion.sobol_index)
    closed_sobol_index = method_of("_of_targets", Expansion.closed_sobol_index)
    total_sobol_index = method_of("_of_targets", Expansion.total_sobol_index)
    interaction_indices = method_of("_of_targets", Expansion.interaction_indices)
    shapley_effects = method_of("_of_targets", Expansion.shapley_effects)
    aggregated_sobol_indices = method_of(
        "_of_targets", Expansion.aggregated_sobol_indices
    )
    sobol_interval = method_of("_problem", sobol_interval)
    _predictive = property(predictive_of)
    sample = method_of("_predictive", sample)
    predict_interval = method_of("_predictive", predict_interval)
