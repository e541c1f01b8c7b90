"""Polynomial chaos of probabilities, over one or many steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._basis.basis import (
    BasisParameters,
    checked_inputs,
    warn_of_terms,
)
from ._checks import (
    BoolArray,
    Fitted,
    FloatArray,
    IndexArray,
    ItemTable,
    Mask,
    RandomState,
    Samples,
    Steps,
    check_option,
    checked_sample_weight,
    chosen_names,
    input_names,
    make_frame,
    make_generator,
    method_of,
    one_table,
    refuse_class_labels,
    refuse_nan,
    refuse_other_rows,
    refuse_swapped,
    unchanged_on_failure,
    validated,
)
from ._compositions import indices
from ._compositions.amalgamation import (
    Amalgamation,
    amalgamate_parts,
    learn_amalgamation,
    members_of_rest,
)
from ._compositions.fitted import (
    FittedCompositions,
    InputModelSolver,
    adds_members,
    isometric,
)
from ._compositions.log_ratio import (
    LogRatioGeometry,
    LogRatioTransformer,
    column_labels,
    get_feature_names_out,
    inverse_transform,
    log_ratios_of,
    read_geometry,
    replace_zeros,
    transformer_of,
)
from ._compositions.outputs import warn_of_zeros
from ._compositions.scoring import checked_policies, d2_kl_deviance
from ._expansion.expansion import Expansion, warn_of_failed
from ._expansion.predictive import Predictive, predict_interval, sample
from ._expansion.problem import (
    FittedProblem,
    read_samples,
    solve_samples,
    solve_sums,
    warn_of_samples,
)
from ._input_laws.scores import SurrogateDiagnostics
from ._learned.ridge import Basis, learn_from
from ._result import Result
from ._solvers import make_solver
from ._solvers.problem import LeastSquaresSolver
from ._version import DOC_LINK_TEMPLATE


class CompositionalPCESurrogate(
    MultiOutputMixin, TransformerMixin, RegressorMixin, BaseEstimator
):
    r"""Polynomial chaos surrogate of probabilities, with Sobol indices per step.

    Each member of an ensemble has inputs :math:`x` (what differs between members)
    and, at one or several *steps*, a probability vector (what the member would do).
    The surrogate expands the log-ratios of the probabilities in orthonormal
    polynomials of the inputs and maps back by the softmax, so that predictions stay
    on the simplices [1]_. The coefficients give, in closed form, the share of the
    variance of each step that each input drives.

    Parameters
    ----------
    degree : int or None, default=None
        Largest degree of a term, as in :class:`PolynomialChaosRegressor`: learned
        without a degree and a solver, 2 with a solver alone.
    steps : sequence, dict, or None, default=None
        Width of each step, or its columns (positions, or names in a data frame):
        blocks of columns of y, side by side, that each sum to one. A dict gives
        names too. None reads two-level columns or names such as ``step__action`` of
        a data frame, else all columns are one step. In y of shape (n_members,
        n_items, n_classes) each item is a step, of the width n_classes.
    log_ratio : {"alr", "clr", "ilr"} or LogRatioTransformer, default="ilr"
        Coordinates in which coefficients and indices are reported. The fit does not
        depend on it. A :class:`LogRatioTransformer` has the reference of alr, what
        zeros are replaced by, and what is done with rows that do not add up to 1.
    mask : "infer" or array-like of bool of shape (n_parts,), default="infer"
        Possible parts, as in :class:`LogRatioTransformer`. In cross-validation give the
        mask itself: a rare action may vanish in a fold.
    amalgamate : float or None, default=None
        Threshold below which parts are rare: those that no member of the fit gives
        this probability are added up, step by step, to one part named ``"rest"``, the
        last of its step. For vocabularies, of which most words have no chance. None
        leaves all parts as they are. See Notes.
    distribution, truncation, q, interaction_order
        The basis, as in :class:`PolynomialChaosRegressor`.
    solver : str or None, default=None
        None learns the prior variances of all terms, once for each step and in
        Aitchison norm. ``"ridge"`` chooses one penalty per step by leave-one-out
        pooled in Aitchison norm. ``"subspace_pursuit"`` chooses its terms once per
        step too. So these fits are the same whatever the order of actions.
        ``"ols"``: least squares. ``"lars"`` treats each coordinate alone: its fit
        depends on the order of actions. ``"paper"``: the paper's estimator whole
        (intercept penalised, one penalty of 1e-8 ... 1 per target by generalised
        cross-validation, alr to the last action); for comparison.
    regressor : estimator or None, default=None
        A regressor in place of ``solver``. A linear one (with ``coef_`` after
        ``fit``) is fitted to the basis functions, one coordinate at a time. Any
        other one, such as a forest or a Gaussian process, is fitted to X itself;
        predictions are then its own, and coefficients and indices those of an
        expansion of its predictions at draws of the input distributions: see
        ``indices_from_`` and ``fidelity_``. Residuals are those of five-fold
        cross-validation, here and in ``diagnostics_``.
    random_state : int, RandomState instance or None, default=None
        Randomness of ``sample``, ``predict_interval``, resamples, and the draws of
        inputs at which a ``regressor`` without coefficients is expanded.

    Attributes
    ----------
    coefficients_ : ndarray of shape (n_coordinates, n_terms)
        Coefficients of the coordinates of ``log_ratio``.
    alpha_ : ndarray of shape (n_steps,) or (n_fitted_coordinates,)
        Penalty of each step; of each fitted coordinate with ``solver="paper"``. NaN
        for a step without choice.
    sobol_indices_, total_sobol_indices_ : ndarray of shape (n_coordinates, n_features)
        First-order and total indices (``S1``, ``ST``) of each coordinate: shares of
        the variance *of the expansion*.
    total_variance_ : ndarray of shape (n_coordinates,)
        Variance of each coordinate of the expansion.
    step_sobol_indices_, step_total_sobol_indices_ : ndarray (n_steps, n_features)
        First-order and total indices (``S1``, ``ST``) aggregated over the coordinates
        of a step in Aitchison geometry: free of any reference. 0 for a step without
        variance or choice.
    step_total_variance_ : ndarray of shape (n_steps,)
        Aitchison (total) variance of the expansion of each step.
    step_unexplained_share_ : ndarray of shape (n_steps,)
        One minus the leave-one-out Q² of the step, clipped to [0, 1]: the share of
        the variance of y about which the indices say nothing. NaN without choice.
    diagnostics_ : SurrogateDiagnostics
        Leave-one-out Q² per step and checks of the inputs, conditional on X as
        given. Use :func:`skpce.inspection.verdict` for the whole pipeline.
    feature_importances_ : ndarray of shape (n_features,)
        Total indices of the whole trajectory (all steps together).
    indices_from_ : {"coefficients", "sampling"}
        Whether indices are those of the fit in closed form, or of an expansion of a
        ``regressor`` at draws of its inputs.
    fidelity_ : ndarray of shape (n_steps,)
        Share of the variance of the predictions that this expansion has, on fresh
        draws (Q²); 1 for ``"coefficients"``, NaN for a step without variance.
    steps_, step_names_, part_names_, mask_
        The layout of y.
    coordinate_steps_ : ndarray of int of shape (n_coordinates,)
        Step of each coordinate.
    rest_ : dict of str to tuple of str
        Names of the parts in the rest of each step that has one.
    multi_indices_, basis_, n_features_in_, feature_names_in_
        As in :class:`PolynomialChaosRegressor`.

    See Also
    --------
    skpce.inspection.verdict : Is the attribution supported?
    PolynomialChaosRegressor : The same for unconstrained targets.

    Notes
    -----
    Indices decompose variance under *independent* inputs with the stated distributions.
    The expansion is of :math:`g(x) = \mathrm{clr}(p(x))` (the paper's eq. 2, which uses
    alr): :math:`\hat p(x) = \mathrm{softmax}(\sum_j c_j \psi_j(x))`.

    What is learned without a solver is said under :class:`PolynomialChaosRegressor`.
    The coordinates of a step share it; where there are more than eight steps, all do.

    That the total variance of a step is the same in every isometric basis is checked in
    ``lean/Core`` (``ilr_total``), and how far the probabilities of a step of an
    expansion move with inputs where its functions have Lipschitz constants
    (``policy_lipschitz``).

    With ``amalgamate`` everything is of the amalgamated compositions: ``predict``,
    draws, intervals, log-ratios, indices and Q². A sum of parts is no linear function
    of log-ratios, so these indices are not sums or parts of those of all columns; only
    the ratio of two parts outside the rest is the same quantity with and without it.
    Rare parts, whose logarithms vary most, weigh less. Methods and inspections that
    compare with y take it in the columns of ``fit`` or in those of ``predict``;
    ``amalgamate_parts`` maps one to the other. A refit in a fold learns the rest anew;
    :func:`skpce.inspection.verdict` learns it once, from all members.

    References
    ----------
    .. [1] J. Aitchison, "The Statistical Analysis of Compositional Data", Journal
       of the Royal Statistical Society B 44 (1982).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skpce import CompositionalPCESurrogate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> first = softmax(np.c_[2 * X[:, 0], 0 * X[:, 0], -X[:, 0]], axis=1)
    >>> second = softmax(np.c_[X[:, 1], 0 * X[:, 1]], axis=1)
    >>> surrogate = CompositionalPCESurrogate(steps=(3, 2))
    >>> surrogate = surrogate.fit(X, np.hstack([first, second]))
    >>> surrogate.step_total_sobol_indices_.round(2) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    _amalgamation: Amalgamation | None = None  # which columns of y are added up

    _doc_link_module = "skpce"
    _doc_link_template = DOC_LINK_TEMPLATE

    def __init__(
        self,
        degree: int | None = None,
        *,
        steps: Steps = None,
        log_ratio: str | LogRatioTransformer = "ilr",
        mask: Mask = "infer",
        amalgamate: float | None = None,
        distribution: Any = "auto",
        truncation: str = "total_degree",
        q: float = 1.0,
        interaction_order: int | None = None,
        solver: str | None = None,
        regressor: Any = None,
        random_state: RandomState = None,
    ) -> None:
        self.degree = degree
        self.steps = steps
        self.log_ratio = log_ratio
        self.mask = mask
        self.amalgamate = amalgamate
        self.distribution = distribution
        self.truncation = truncation
        self.q = q
        self.interaction_order = interaction_order
        self.solver = solver
        self.regressor = regressor
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        tags.regressor_tags.poor_score = True
        return tags

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> CompositionalPCESurrogate:
        """Fit the expansion of the log-ratios.

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs of each member.
        y : array-like of shape (n_members, n_parts) or data frame
            Probabilities, the steps side by side. A member that failed in a step has
            NaN in all parts of it, and counts in the others.
        sample_weight : array-like of shape (n_members,) or None, default=None
            Frequency of each member.

        Returns
        -------
        self : CompositionalPCESurrogate
            The fitted estimator.

        Raises
        ------
        ValueError
            For a bad parameter, rows of y that are no compositions, a step that is NaN
            in some of its parts or for all members but one, or a basis too large for
            memory.

        Warns
        -----
        FailedSamplesWarning
            When members lack a step.
        """
        owner = type(self).__name__
        learns = self.solver is None and self.regressor is None
        name = "ridge" if self.solver is None else self.solver
        solver = make_solver(owner, name, None, regressor=self.regressor)
        how = transformer_of(self)
        how._check_parameters(owner)
        refuse_swapped(X, y)
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
        y = one_table(y)
        members, n_dimensions = read_samples(self, X, y, sample_weight)
        refuse_class_labels(members.targets)
        inputs, values, weights = members.inputs, members.targets, members.weights
        parameters, names = BasisParameters.of(self), input_names(self)
        parameters.check(names)
        self._amalgamation, given = None, values.shape[1]
        if self.amalgamate is None:
            known = self.steps, self.mask, owner
            geometry = read_geometry(y, values, *known, "y", how)
        else:
            learned = learn_amalgamation(self, y, values)
            self._amalgamation, values, geometry = learned
        clr = log_ratios_of(values, geometry, how, "y")
        coordinates = isometric(geometry)
        groups = coordinates.step_of_coordinate
        if self.solver == "paper" and self.regressor is None:
            coordinates = replace(geometry, log_ratio="alr", reference=-1)
            groups = np.arange(len(coordinates.step_of_coordinate))
        samples = Samples(inputs, coordinates.to_coordinates(clr), weights)
        basis: Basis
        if learns:
            basis, solver = learn_from(parameters, names, samples, groups, None)
        else:
            basis = parameters.learn(inputs, weights, names)
            if self.regressor is not None and samples.targets.shape[1]:
                target = samples.targets[:, 0]
                has = ~np.isnan(target)
                trial = clone(self.regressor).fit(inputs[has], target[has])
                if not hasattr(trial, "coef_"):  # it sees the inputs themselves
                    if samples.lacks_targets:
                        raise ValueError(
                            f"y has NaN, and regressor={self.regressor!r} has no "
                            "coefficients: its models are of members that have every "
                            "step. Expected a solver or a linear regressor; or leave "
                            "the members that failed out."
                        )
                    generator = make_generator(self.random_state)
                    solver = InputModelSolver(self.regressor, basis, generator)
        unnamed = isinstance(y, ItemTable)
        self._labels_of_y = [] if unnamed else column_labels(y, given)
        has_choice = samples.targets.shape[1] > 0  # else there is nothing to search
        chosen = solver if has_choice else LeastSquaresSolver()
        problem = solve_samples(chosen, basis, samples, groups)
        self._store(problem, geometry, coordinates, n_dimensions == 1)
        self.diagnostics_: SurrogateDiagnostics = SurrogateDiagnostics(
            loo_q2=self.expansion_.q2,
            n_members=round(float(weights.sum())),
            n_terms=basis.n_terms,
            inputs=inputs,
            basis=basis,
        )._named(geometry.layout.step_names)
        warn_of_samples(self._fitted, names)
        if self.regressor is None:
            warn_of_terms(solver.chooses_terms, basis.n_terms, len(inputs))
        warn_of_zeros(values, geometry, how.zero_replacement)
        if self._fitted.lacks_targets:
            counts = self._fitted.step_weights, self._fitted.total_weight
            warn_of_failed(geometry.layout.step_names, *counts, "member", "step")
        return self

    @available_if(adds_members)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> CompositionalPCESurrogate:
        """Add members to the fit, of which only sums are retained.

        After the last call the fit is that of all members at once, in whatever order
        they came. The penalty of each step is chosen by generalised cross-validation,
        which needs no second pass; ``fit`` takes leave-one-out, so that the two may
        differ in it. The method exists only where this is exact: with frozen
        distributions, a mask that is given, and a solver that fits from sums
        (``"ridge"``, ``"ols"``).
        :func:`skpce.ensembles.member_blocks` goes through arrays on disk.

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs of each member.
        y : array-like of shape (n_members, n_parts) or data frame
            Probabilities, the steps side by side.
        sample_weight : array-like of shape (n_members,) or None, default=None
            Frequency of each member.

        Returns
        -------
        self : CompositionalPCESurrogate
            The fitted estimator. Predictions, indices, scores and the model file are
            those of any fit; draws, intervals and diagnostics need the members, and say
            so.

        Raises
        ------
        ValueError
            For a bad parameter, rows of y that are no compositions, or another basis,
            number of features or of parts than before.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.special import softmax
        >>> from scipy.stats import norm
        >>> from skpce import CompositionalPCESurrogate
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> y = softmax(np.c_[X[:, 0], 0 * X[:, 0], X[:, 1]], axis=1)
        >>> surrogate = CompositionalPCESurrogate(
        ...     1, distribution=norm(), mask=np.ones(3, dtype=bool), solver="ridge"
        ... )
        >>> for rows in np.split(np.arange(300), 3):
        ...     surrogate = surrogate.partial_fit(X[rows], y[rows])
        >>> surrogate.step_total_sobol_indices_.round(2)
        array([[0.5, 0.5]])
        """
        owner = type(self).__name__
        name = "ridge" if self.solver is None else self.solver
        solver = make_solver(owner, name, None, criterion="gcv")
        how = transformer_of(self)
        how._check_parameters(owner)
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
        y = one_table(y)
        refuse_nan(y)  # the sums of a fit are of the same members in every step
        before: FittedCompositions | None = getattr(self, "_fitted", None)
        if before is not None and before.sums is None:
            before = None  # after ``fit`` the members come anew
        with unchanged_on_failure(self):
            members, n_dimensions = read_samples(
                self, X, y, sample_weight, reset=before is None
            )
            values = members.targets
            refuse_class_labels(values)
            parameters, names = BasisParameters.of(self), input_names(self)
            basis: Any
            if before is None:
                known = members.inputs, members.weights, names
                basis = parameters.learn(*known, in_blocks=True)
                of_y = self.steps, self.mask, owner
                geometry = read_geometry(y, values, *of_y, "y", how)
                unnamed = isinstance(y, ItemTable)
                self._labels_of_y = [] if unnamed else column_labels(y, values.shape[1])
                self._amalgamation = None
            else:
                geometry, basis = before.geometry, before.basis
                parameters.refuse_another(basis, names)
                n_parts = geometry.layout.n_parts
                if values.shape[1] != n_parts:
                    raise ValueError(
                        f"y has {values.shape[1]} parts; expected {n_parts}, as in the "
                        "members before."
                    )
            clr = log_ratios_of(values, geometry, how, "y")
            coordinates = isometric(geometry)
            members = replace(members, targets=coordinates.to_coordinates(clr))
            groups = coordinates.step_of_coordinate
            sums = None if before is None else before.sums
            problem = solve_sums(owner, solver, basis, members, groups, sums)
            self._store(problem, geometry, coordinates, n_dimensions == 1)
            self.__dict__.pop("diagnostics_", None)  # of members before
        return self

    def _store(
        self,
        problem: FittedProblem,
        geometry: LogRatioGeometry,
        coordinates: LogRatioGeometry,
        scalar: bool,
    ) -> None:
        """Set what a fit has found."""
        known = geometry, coordinates, input_names(self)
        self._fitted: FittedCompositions = FittedCompositions.of(problem, *known)
        self.expansion_: Expansion = self._fitted.expansion
        self._is_scalar = scalar
        self._n_features_out = geometry.n_coordinates

    @property
    def _predictive(self) -> Predictive:
        """The predictive distribution, which can be fitted again."""
        owner = type(self).__name__

        def refit(fitted: FittedCompositions, rows: IndexArray) -> Predictive:
            # The layout and the mask are those of all members.
            geometry = fitted.geometry
            alone = clone(self).set_params(
                steps=geometry.layout.widths, mask=geometry.mask, amalgamate=None
            )
            samples = fitted.require_samples(owner).of(rows)
            values = geometry.compositions(fitted.clr[rows])
            found: Predictive = alone.fit(
                samples.inputs, values, samples.weights
            )._predictive
            return found

        def read(X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
            refuse_other_rows(X=X, y=y)
            inputs = validated(self, X, reset=False)
            closed = checked_policies(y, self, len(inputs), "y of calibration")
            zero_replacement = transformer_of(self).zero_replacement
            known = self.mask_, self.geometry_.layout, zero_replacement
            return inputs, replace_zeros(closed, *known)

        fitted = self._fitted
        known = fitted, fitted.input_names, owner
        return Predictive(*known, refit=refit, read=read)

    def predict(self, X: ArrayLike) -> FloatArray:
        """Predict the probabilities.

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs.

        Returns
        -------
        y : ndarray of shape (n_members, n_parts)
            Each step on its simplex; masked parts exactly 0. One-dimensional when y
            was.
        """
        values = checked_inputs(self, X)
        compositions = self._fitted.policies_at(values)
        return compositions[:, 0] if self._is_scalar else compositions

    def transform(self, X: ArrayLike) -> FloatArray:
        """Predict the log-ratio coordinates.

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs.

        Returns
        -------
        coordinates : ndarray of shape (n_members, n_coordinates)
            In the kind of ``log_ratio``, the steps side by side.
        """
        values = checked_inputs(self, X)
        return self.geometry_.to_coordinates(self._fitted.predicted(values))

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return D² of the Kullback-Leibler deviance.

        ``1 - sum KL(y || prediction) / sum KL(y || mean of y)``: 1 is perfect, 0 as
        good as the mean policy of ``y``, negative is worse.

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs.
        y : array-like of shape (n_members, n_parts) or data frame
            Probabilities; columns with names must be those of ``fit``. A step that is
            NaN is left out of the sums.
        sample_weight : array-like of shape (n_members,) or None, default=None
            Frequency of each member.

        Returns
        -------
        score : float
            At most 1.

        Raises
        ------
        ValueError
            If y has another shape or other columns than in ``fit``, is no
            composition, or is positive on a masked part.
        """
        refuse_other_rows(X=X, y=y, sample_weight=sample_weight)
        inputs = checked_inputs(self, X)
        closed = checked_policies(y, self, len(inputs), may_fail=True)
        weights = checked_sample_weight(sample_weight, closed)
        return d2_kl_deviance(closed, self._fitted.policies_at(inputs), weights)

    def predict_frame(self, X: ArrayLike) -> Any:
        """Predict the probabilities as a data frame with columns (step, part).

        Parameters
        ----------
        X : array-like of shape (n_members, n_features)
            Inputs.

        Returns
        -------
        frame : data frame of shape (n_members, n_parts)
            With the index of X, when X is a frame of pandas. Of polars, with
            columns ``step__part``, when X is.

        Examples
        --------
        >>> import numpy as np
        >>> from skpce import CompositionalPCESurrogate
        >>> X = np.arange(6.0)[:, np.newaxis]
        >>> y = np.full((6, 4), 0.5)
        >>> surrogate = CompositionalPCESurrogate(1, steps={"first": 2, "second": 2})
        >>> surrogate.fit(X, y).predict_frame(X[:1])
        step first      second
        part     0    1      0    1
        0      0.5  0.5    0.5  0.5
        """
        predicted = self._fitted.policies_at(checked_inputs(self, X))
        layout = self.geometry_.layout
        steps = [layout.step_names[step] for step in layout.step_of_part]
        names = zip(steps, layout.part_names, strict=True)
        return make_frame(names, predicted.T, like=X, levels=("step", "part"))

    def sobol_frame(
        self,
        level: str = "step",
        *,
        coordinates: str | None = None,
        reference: int | None = None,
        ci: float | None = None,
        input_features: Sequence[str] | None = None,
    ) -> Any:
        """Return the indices as a tidy table, with the unexplained share.

        Parameters
        ----------
        level : {"step", "action", "coordinate", "trajectory"}, default="step"
            One row per step and input, per coordinate and input, or per input. The
            coordinates of ``"action"`` are clr, one per possible action, those of
            ``"coordinate"`` the kind of ``log_ratio``.
        coordinates, reference : str and int, or None, default=None
            Another kind for these two levels, as in :meth:`sobol_indices`.
        ci : float or None, default=None
            Confidence level, such as 0.9, of bootstrap intervals from
            ``sobol_interval``. None gives none.
        input_features : sequence of str or None, default=None
            Names of the inputs, for example ``pipeline[:-1].get_feature_names_out()``.

        Returns
        -------
        frame : data frame of pandas or polars
            Columns ``step``, ``coordinate`` (for actions and coordinates), ``input``,
            ``first_order``, ``total_order``, ``shapley`` (shares of the variance of
            the expansion), ``first_order_share``, ``total_order_share`` (shares of
            the total variance: times the leave-one-out Q² of the step or of the
            trajectory, at least 0), ``unexplained_share``; with intervals ``low``
            and ``high`` of the total index, ``first_low`` and ``first_high``.

        Raises
        ------
        ValueError
            For an unknown level or coordinates, or coordinates at another level.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.special import softmax
        >>> from skpce import CompositionalPCESurrogate
        >>> X = np.random.default_rng(0).normal(size=(60, 2))
        >>> y = softmax(np.c_[X[:, 0], X[:, 1], 0 * X[:, 0]], axis=1)
        >>> surrogate = CompositionalPCESurrogate(1).fit(X, y)
        >>> frame = surrogate.sobol_frame("action", coordinates="alr")
        >>> frame[["coordinate", "input", "total_order"]].round(2)
          coordinate input  total_order
        0  step0:0/2    x0          1.0
        1  step0:0/2    x1          0.0
        2  step0:1/2    x0          0.0
        3  step0:1/2    x1          1.0
        """
        check_is_fitted(self)
        check_option("sobol_frame", "level", level, indices.FRAME_LEVELS)
        fitted = self._fitted
        names = chosen_names(input_features, fitted.input_names)
        if level == "action":
            coordinates = "clr" if coordinates is None else coordinates
            level = "coordinate"
        kind: Any = {"coordinates": coordinates, "reference": reference}
        rows = indices.index_level(fitted, "sobol_frame", level, **kind)
        found = rows.expansion(fitted).sobol_indices()
        unexplained = indices.unexplained_share(fitted, rows.steps)
        explained = 1.0 - unexplained[:, np.newaxis]
        columns = {
            "first_order": found.first_order,
            "total_order": found.total_order,
            "shapley": found.shapley,
            "first_order_share": found.first_order * explained,
            "total_order_share": found.total_order * explained,
            "unexplained_share": unexplained,
        }
        if ci is not None:
            interval = self.sobol_interval(level, ci, random_state=0, **kind)
            columns["low"], columns["high"] = interval.total_order
            columns["first_low"], columns["first_high"] = interval.first_order
        keys = {"step": rows.names, "input": names}
        framed = (*keys, *columns)
        if level == "coordinate":
            steps = np.array(fitted.geometry.layout.step_names, dtype=object)
            columns["step"] = steps[rows.steps]
            keys = {"coordinate": rows.names, "input": names}
            framed = ("step", "coordinate", *framed[1:])
        return Result(keys, columns, framed=framed).to_frame()

    # What the fit gives, when it is read or called.
    basis_: Fitted[Basis] = Fitted("_fitted", lambda f: f.basis)
    geometry_: Fitted[LogRatioGeometry] = Fitted("_fitted", lambda f: f.geometry)
    multi_indices_: Fitted[IndexArray] = Fitted(
        "_fitted", lambda f: f.basis.multi_indices
    )
    coefficients_: Fitted[FloatArray] = Fitted(
        "_fitted", indices.coordinate_coefficients
    )
    sobol_indices_: Fitted[FloatArray] = Fitted(
        "_fitted", lambda f: indices.sobol_indices(f).first_order
    )
    total_sobol_indices_: Fitted[FloatArray] = Fitted(
        "_fitted", lambda f: indices.sobol_indices(f).total_order
    )
    total_variance_: Fitted[FloatArray] = Fitted(
        "_fitted", lambda f: indices.sobol_indices(f).total_variance
    )
    step_sobol_indices_: Fitted[FloatArray] = Fitted(
        "expansion_", lambda e: e.sobol_indices().first_order
    )
    step_total_sobol_indices_: Fitted[FloatArray] = Fitted(
        "expansion_", lambda e: e.sobol_indices().total_order
    )
    step_total_variance_: Fitted[FloatArray] = Fitted(
        "expansion_", lambda e: e.total_variance
    )
    step_unexplained_share_: Fitted[FloatArray] = Fitted(
        "expansion_", lambda e: e.unexplained_share
    )
    feature_importances_: Fitted[FloatArray] = Fitted(
        "_fitted", lambda f: indices.sobol_indices(f, "trajectory").total_order[0]
    )
    alpha_: Fitted[FloatArray] = Fitted("_fitted", lambda f: f.alpha)
    indices_from_: Fitted[str] = Fitted(
        "_fitted", lambda f: "sampling" if f.from_models else "coefficients"
    )
    fidelity_: Fitted[FloatArray] = Fitted("_fitted", lambda f: f.fidelity)
    get_feature_names_out = get_feature_names_out
    inverse_transform = method_of("geometry_", inverse_transform, inputs=None)

    steps_: Fitted[tuple[int, ...]] = Fitted("geometry_", lambda g: g.layout.widths)
    step_names_: Fitted[tuple[str, ...]] = Fitted(
        "geometry_", lambda g: g.layout.step_names
    )
    part_names_: Fitted[tuple[str, ...]] = Fitted(
        "geometry_", lambda g: g.layout.part_names
    )
    mask_: Fitted[BoolArray] = Fitted("geometry_", lambda g: g.mask)
    coordinate_steps_: Fitted[IndexArray] = Fitted(
        "geometry_", lambda g: g.step_of_coordinate
    )
    _rest = property(members_of_rest)
    rest_: Fitted[dict[str, Any]] = Fitted("_rest", dict)
    amalgamate_parts = amalgamate_parts
    sobol_indices = method_of("_fitted", indices.sobol_indices)
    shapley_effects = method_of("_fitted", indices.shapley_effects)
    sobol_interval = method_of("_fitted", indices.sobol_interval)
    probability_sobol_indices = method_of("_fitted", indices.probability_sobol_indices)
    sample = method_of("_predictive", sample)
    predict_interval = method_of("_predictive", predict_interval)
