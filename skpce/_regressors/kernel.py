"""Ridge on all terms of an expansion in hundreds to many thousands of inputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from .._basis.basis import BasisParameters
from .._basis.representers import RepresenterBasis
from .._checks import (
    FloatArray,
    IndexArray,
    Samples,
    attribute_of,
    check_alphas,
    check_boolean,
    check_integer,
    check_real,
    fail,
    finite_floats,
    input_names,
    method_of,
    unchanged_on_failure,
)
from .._checks.frames import remember_frames
from .._checks.memory import refuse_memory
from .._expansion.expansion import Expansion
from .._expansion.problem import FittedProblem, linear_problem
from .._expansion.targets import columns_of_outputs, names_of_columns, warn_of_targets
from .._regressor import PolynomialChaosRegressor
from .._solvers.dual_ridge import DualRidgeSolver
from .._solvers.problem import weighted_spread
from .._version import DOC_LINK_TEMPLATE

#: What ``input_weights`` may be, beside numbers.
INPUT_WEIGHTS = ("learned", "equal")

_LARGEST_WEIGHT = 1e20  # of an input, so that products over terms are numbers


class PolynomialChaosKernelRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Polynomial chaos in very many inputs: ridge on all terms, through a kernel.

    The terms of degree 3 in 20,000 inputs are :math:`10^{12}`. Their weighted sum of
    products is a kernel that follows from power sums, and so are the first-order,
    total, Shapley and closed indices of the expansion: no term is ever listed. The
    cost grows linearly with the inputs and like that of a Gaussian process with the
    samples. The expansion is the one that a ridge on the listed terms has.

    The prior variance of a term is a weight of its order (number of inputs), times a
    decay by its degree, times a weight for each of its inputs. Learned weights of the
    inputs find the few inputs that matter, also where these only act in products.

    Parameters
    ----------
    degree : int, default=2
        Largest total degree of a term.
    distribution : str, frozen distribution, bounds, list or dict, default="normal"
        Of each input, as in :class:`PolynomialChaosRegressor`.
    interaction_order : int or None, default=None
        Largest number of inputs in one term.
    input_weights : {"learned", "equal"} or array-like, default="learned"
        Weight of each input, of shape (n_features,). ``"learned"`` steps towards the
        weights of largest evidence and stops where the error on held-out samples is
        smallest, after no step at all where equal weights predict best. ``"equal"``
        takes none of this time.
    input_groups : array-like of shape (n_features,) or None, default=None
        Label of the group of each input; a group learns one weight.
    order_weights : array-like of shape (n_orders,) or None, default=None
        Weight of a term of one input, of two inputs, and so on; None chooses them.
    degree_decay : float or None, default=None
        Factor of the weight for each degree beyond the number of inputs; None chooses
        it.
    alphas : array-like of shape (n_alphas,) or None, default=None
        Penalties: a term of weight w is penalised by ``alpha / w``, in units of the
        sum-of-squares loss. None means 21 values from 1e-7 to 1e3 times the mean
        eigenvalue of the kernel matrix. Where ``order_weights`` or ``degree_decay``
        is chosen, weights are such that the prior variances of all terms add up to 1.
    n_folds : int, default=5
        Number of folds in which weights of the inputs are learned anew.
    shared_weights : bool, default=False
        Whether all targets have the same weights, which takes the time of one. By
        default each target, and each step of a surrogate, has its own.

    Attributes
    ----------
    expansion_ : Expansion
        The expansion, in a basis that lists no terms; ``expansion_.explicit()`` lists
        them where they are few, ``expansion_.marginal(inputs).explicit()`` those of
        some inputs.
    dual_coefficients_ : ndarray of shape (n_targets, n_kernels * n_distinct_samples)
        Coefficients of the kernel functions of the distinct samples. A target has
        coefficients for its own kernel alone.
    n_terms_ : int
        Number of terms, with the constant.
    input_weights_ : ndarray of shape (n_targets, n_features)
        Weights of the inputs; 0 for an input that was left out. With shared weights
        there is one row, here and in the next two.
    order_weights_ : ndarray of shape (n_targets, n_orders)
        Weight of a term of one, two, ... inputs, all of degree one, over that of the
        first.
    degree_decay_ : ndarray of shape (n_targets,)
        Weight of a term of degree two in one input over that of degree one.
    alpha_ : ndarray of shape (n_targets,)
        Chosen penalty.
    sobol_indices_, total_sobol_indices_ : ndarray of shape (n_targets, n_features)
        First-order and total Sobol indices: shares of the variance *of the
        expansion*. 0 for a target without variance, of which ``fit`` warns.
    total_variance_ : ndarray of shape (n_targets,)
        Variance of the expansion, in squared units of y.
    loo_error_ : ndarray of shape (n_targets,)
        Mean squared residual of samples that were held out: in folds that learned
        weights of their own, or, where weights of the inputs are not learned, one by
        one (leave-one-out).
    q2_ : ndarray of shape (n_targets,)
        The same as a coefficient of prediction: one minus the sum of squared residuals
        over that about the mean. NaN for a constant target.
    unexplained_share_ : ndarray of shape (n_targets,)
        ``1 - q2_`` clipped to [0, 1].
    feature_importances_ : ndarray of shape (n_features,)
        Total indices aggregated over the targets, weighted by their variance.
    n_features_in_, feature_names_in_
        As in :class:`PolynomialChaosRegressor`.

    See Also
    --------
    PolynomialChaosRegressor : Lists the terms; sparse solvers, intervals of indices.

    Notes
    -----
    Leave-one-out after weights were learned is far too small, as the sample that is
    left out has shaped the weights: .02 was printed where the error was .42. The folds
    here learn again. What remains is the choice of penalty, weights of orders and
    number of steps by the same folds.

    Intervals of indices and noise-corrected indices are not available.

    References
    ----------
    .. [1] X. Lu, A. Boukouvalas and J. Hensman, "Additive Gaussian processes
       revisited", ICML (2022).

    Examples
    --------
    A product of two among a thousand inputs, that is one term of 501,501:

    >>> import numpy as np
    >>> from skpce import PolynomialChaosKernelRegressor
    >>> X = np.random.default_rng(0).normal(size=(150, 1000))
    >>> y = X[:, 3] * X[:, 5]
    >>> pce = PolynomialChaosKernelRegressor(2).fit(X, y)
    >>> pce.total_sobol_indices_[0, [3, 5, 7]].round(1) + 0.0
    array([1., 1., 0.])
    >>> pce.q2_.round(2)
    array([1.])
    """

    _labels_of_y = PolynomialChaosRegressor._labels_of_y
    _is_scalar: bool

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        degree: int = 2,
        *,
        distribution: Any = "normal",
        interaction_order: int | None = None,
        input_weights: Any = "learned",
        input_groups: ArrayLike | None = None,
        order_weights: ArrayLike | None = None,
        degree_decay: float | None = None,
        alphas: ArrayLike | None = None,
        n_folds: int = 5,
        shared_weights: bool = False,
    ) -> None:
        self.degree = degree
        self.distribution = distribution
        self.interaction_order = interaction_order
        self.input_weights = input_weights
        self.input_groups = input_groups
        self.order_weights = order_weights
        self.degree_decay = degree_decay
        self.alphas = alphas
        self.n_folds = n_folds
        self.shared_weights = shared_weights

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> PolynomialChaosKernelRegressor:
        """Fit the expansion.

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
        self : PolynomialChaosKernelRegressor
            The fitted estimator.

        Raises
        ------
        ValueError
            For a bad parameter, bad data, or more samples than fit in memory.

        Warns
        -----
        ConstantTargetWarning
            When a target does not vary. Its indices are 0.
        """
        with unchanged_on_failure(self):
            samples = self._validated(X, y, sample_weight, reset=True)
            samples = samples.at_least_one_copy().copy()
            solver = dual_solver(self, samples, input_names(self))
            n_targets = samples.targets.shape[1]
            groups = np.arange(n_targets)
            self._store(solve_dual(solver, samples, groups))
            remember_frames(self.expansion_, X, y)
        warn_of_targets(self.expansion_, self._problem)
        return self

    _validated = PolynomialChaosRegressor._validated

    def _store(self, problem: FittedProblem) -> None:
        """Set what a fit has found."""
        self._problem = problem
        self.alpha_: FloatArray = problem.fit.alpha
        expansion = Expansion(
            problem.basis,
            problem.coefficients,
            input_names(self),
            names_of_columns(self._labels_of_y),
            q2=problem.q2,
            scalar=self._is_scalar,
            target_variance=problem.target_variance,
            loo_error=problem.loo_error,
        )
        self.expansion_ = expansion.grouped(columns_of_outputs(self._labels_of_y))

    predict = PolynomialChaosRegressor.predict

    # What the expansion and the data of the fit give, when it is read or called.
    _of_targets = PolynomialChaosRegressor._of_targets
    basis_ = PolynomialChaosRegressor.basis_
    dual_coefficients_ = attribute_of("expansion_", lambda e: e.coefficients[:, 1:])
    n_terms_ = attribute_of("basis_", lambda b: b.n_terms)
    input_weights_ = attribute_of("basis_", lambda b: b.input_weights)
    order_weights_ = attribute_of("basis_", lambda b: b.order_weights)
    degree_decay_ = attribute_of("basis_", lambda b: b.degree_decay)
    sobol_indices_ = PolynomialChaosRegressor.sobol_indices_
    total_sobol_indices_ = PolynomialChaosRegressor.total_sobol_indices_
    total_variance_ = PolynomialChaosRegressor.total_variance_
    q2_ = PolynomialChaosRegressor.q2_
    unexplained_share_ = PolynomialChaosRegressor.unexplained_share_
    feature_importances_ = PolynomialChaosRegressor.feature_importances_
    loo_error_ = PolynomialChaosRegressor.loo_error_

    conditional_expectation = PolynomialChaosRegressor.conditional_expectation
    main_effects = PolynomialChaosRegressor.main_effects
    marginal = PolynomialChaosRegressor.marginal
    sobol_index = PolynomialChaosRegressor.sobol_index
    closed_sobol_index = PolynomialChaosRegressor.closed_sobol_index
    total_sobol_index = PolynomialChaosRegressor.total_sobol_index
    shapley_effects = PolynomialChaosRegressor.shapley_effects
    aggregated_sobol_indices = PolynomialChaosRegressor.aggregated_sobol_indices
    sobol_frame = method_of("_of_targets", Expansion.sobol_frame)
    _predictive = PolynomialChaosRegressor._predictive
    sample = PolynomialChaosRegressor.sample
    predict_interval = PolynomialChaosRegressor.predict_interval


def dual_solver(
    estimator: PolynomialChaosKernelRegressor,
    samples: Samples,
    names: list[str],
    parameters: BasisParameters | None = None,  # None: those of the estimator
) -> DualRidgeSolver:
    """Check the parameters, learn the distributions, and return the solver."""
    parameters = BasisParameters.of(estimator) if parameters is None else parameters
    n_features = samples.inputs.shape[1]
    parameters.check(names)
    degree = int(parameters.degree)
    given = parameters.interaction_order
    order = degree if given is None else min(int(given), degree)
    options = _checked_options(estimator, n_features, order)
    template = RepresenterBasis(
        (),
        samples.inputs[:0],
        np.ones((1, n_features)),
        np.zeros((1, 1)),
        degree,
        order,
    )
    n_cells = len(template.cells.pairs)
    needed = 8.0 * len(samples.inputs) ** 2 * (n_cells + 8)
    refuse_memory(parameters.owner, needed, f"{len(samples.inputs)} samples")
    laws = parameters.learn_laws(samples.inputs, samples.weights, names)
    for law, name in zip(laws, names, strict=True):
        law.check_degree(parameters.owner, name, degree)
    template = replace(template, laws=tuple(laws), cell_weights=np.zeros((1, n_cells)))
    return DualRidgeSolver(template, **options)


def solve_dual(
    solver: DualRidgeSolver, samples: Samples, groups: IndexArray
) -> FittedProblem:
    """Fit all targets; the basis of the fit has the weights that were chosen."""
    fit = solver.fit(linear_problem(solver.template, samples, groups, True))
    spread = weighted_spread(samples.targets, samples.weights)
    return FittedProblem(
        fit.basis, solver, fit, spread, groups, samples, on_inputs=True
    )


def _checked_options(
    estimator: PolynomialChaosKernelRegressor, n_features: int, order: int
) -> dict[str, Any]:
    """Check the parameters that are not those of the basis."""
    owner = type(estimator).__name__
    check_alphas(owner, estimator.alphas)
    check_integer(owner, "n_folds", estimator.n_folds, low=2)
    check_boolean(owner, "shared_weights", estimator.shared_weights)
    decay = estimator.degree_decay
    if decay is not None:
        check_real(owner, "degree_decay", decay, low=0)
    alphas = estimator.alphas
    return {
        "input_weights": _checked_weights(owner, estimator.input_weights, n_features),
        "input_groups": _checked_groups(owner, estimator.input_groups, n_features),
        "order_weights": _checked_orders(owner, estimator.order_weights, order),
        "degree_decay": None if decay is None else float(decay),
        "alphas": None if alphas is None else np.sort(np.asarray(alphas, dtype=float)),
        "n_folds": int(estimator.n_folds),
        "shared": bool(estimator.shared_weights),
    }


def _checked_weights(owner: str, given: Any, n_features: int) -> FloatArray | None:
    """Return the weights of the inputs; None where they are to be learned."""
    expected = (
        f"one of {', '.join(map(repr, INPUT_WEIGHTS))}, or {n_features} finite numbers "
        "of 0 or more, one for each column of X, not all of them 0"
    )
    if isinstance(given, str):
        if given not in INPUT_WEIGHTS:
            raise fail(owner, "input_weights", expected, given)
        return None if given == "learned" else np.ones(n_features)
    weights = finite_floats(owner, "input_weights", given, expected)
    if weights.shape != (n_features,) or weights.min() < 0 or weights.max() <= 0:
        raise fail(owner, "input_weights", expected, given)
    if not 1.0 / _LARGEST_WEIGHT <= weights.max() <= _LARGEST_WEIGHT:
        raise ValueError(
            f"The 'input_weights' parameter of {owner} has {weights.max():.3g} as its "
            f"largest weight; expected it between {1.0 / _LARGEST_WEIGHT:g} and "
            f"{_LARGEST_WEIGHT:g}, so that products of weights are numbers too."
        )
    return weights


def _checked_groups(owner: str, given: Any, n_features: int) -> IndexArray | None:
    """Return the number of the group of each input."""
    if given is None:
        return None
    expected = f"None or {n_features} labels, one for each column of X"
    try:
        labels = np.asarray(given)
        numbers = np.unique(labels, return_inverse=True)[1]
    except (TypeError, ValueError):  # ragged, or labels that have no order
        raise fail(owner, "input_groups", expected, given) from None
    if labels.shape != (n_features,):
        raise fail(owner, "input_groups", expected, given)
    return np.asarray(numbers, dtype=np.int64)


def _checked_orders(owner: str, given: Any, order: int) -> FloatArray | None:
    """Return the weights of terms of one, two, ... inputs."""
    if given is None:
        return None
    expected = f"None or {order} positive finite numbers, one for each order"
    weights = finite_floats(owner, "order_weights", given, expected)
    if weights.shape != (order,) or not (weights > 0).all():
        raise fail(owner, "order_weights", expected, given)
    return weights
