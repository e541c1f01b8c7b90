"""Draws and intervals of y at new inputs, of real targets and for any output space."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._checks import (
    FloatArray,
    IndexArray,
    check_draws,
    check_option,
    check_real,
    fail,
    refuse_other_rows,
    validated,
    validated_array,
)
from .conformal import cross_bounds, split_bounds
from .expansion import refuse_other_outputs
from .predictive import (
    CHUNK_ENTRIES,
    Predictive,
    RealSpace,
    simultaneous_bands,
)
from .problem import FittedProblem
from .residuals import NOISES, RESIDUAL_LAWS

#: How an interval follows from the members.
METHODS = ("residual", "conformal")


class PredictionInterval(NamedTuple):
    """Lower and upper bounds of y.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_members,) or (n_members, n_targets or n_parts)
        Bounds of each target, or of the probability of each part: marginal ones, or
        joint over several.
    """

    lower: FloatArray
    upper: FloatArray


def check_predictive(
    owner: str,
    n_samples: Any,
    residual: Any,
    X: Any = None,
    inputs: Any = None,
    noise: Any = "constant",
) -> None:
    """Raise ``ValueError`` for bad arguments of draws."""
    check_draws(owner, "n_samples", n_samples)
    check_option(owner, "noise", noise, NOISES)
    known = residual is None or (
        isinstance(residual, str) and residual in RESIDUAL_LAWS
    )
    if not known:
        listed = ", ".join(repr(name) for name in RESIDUAL_LAWS)
        raise fail(owner, "residual", f"one of {listed} or None", residual)
    if X is not None and inputs is not None:
        raise ValueError(
            f"{owner} expects X, inputs of members that are known, or inputs=, a "
            "distribution of unknown ones. Got both."
        )


def draw(
    predictive: Predictive,
    n_samples: int,
    X: ArrayLike | None,
    inputs: Any,
    residual: str | None,
    noise: str,
    random_state: Any,
) -> FloatArray:  # shape: (n_samples, n_values) or (n_samples, n_inputs, n_values)
    """Draw values of y, each with inputs of its own or all at those that are given."""
    owner = f"{predictive.owner}.sample"
    check_predictive(owner, n_samples, residual, X, inputs, noise)
    if predictive.parts:
        raise ValueError(
            f"{owner} has no joint residuals of {predictive.space.columns} that "
            f"different samples have (NaN in y). Fit these {predictive.space.columns} "
            "apart, or leave the failed samples out."
        )
    sampler = predictive.input_sampler(owner, inputs)
    scale = predictive.noise_scale(noise, owner)
    generator = predictive.generator(random_state)
    rows = predictive.residual_law(scale, owner).draw(n_samples, residual, generator)
    if X is None:
        image = predictive.draw_around(rows, sampler(n_samples, generator), scale)
    else:
        image = predictive.draw_around(
            rows[:, np.newaxis], predictive.checked(X), scale
        )
    return predictive.space.values(image)


def interval(
    predictive: Predictive, X: ArrayLike | None, **arguments: Any
) -> PredictionInterval:  # each of shape (n_inputs, n_values)
    """Return bounds, of targets that the same samples have part by part."""
    if not predictive.parts:
        return _interval(predictive, X, **arguments)
    columns, joint = predictive.space.columns, arguments["joint"]
    if joint not in (None, "step"):
        raise ValueError(
            f"{predictive.owner}.predict_interval has no joint residuals of {columns} "
            "that different samples have (NaN in y); expected joint=None. Got "
            f"joint={joint!r}."
        )
    some = [(_interval(part, X, **arguments), at) for part, at in predictive.parts]
    order = np.argsort(np.concatenate([targets for _, targets in some]))
    lower, upper = (
        np.hstack([getattr(bounds, name) for bounds, _ in some])[:, order]
        for name in ("lower", "upper")
    )
    return PredictionInterval(lower, upper)


def _interval(
    predictive: Predictive,
    X: ArrayLike | None,
    *,
    inputs: Any,
    confidence_level: float,
    joint: str | None,
    residual: str | None,
    method: str,
    noise: str,
    calibration: Any,
    cv: Any,
    n_samples: int,
    random_state: Any,
) -> PredictionInterval:  # each of shape (n_inputs, n_values)
    """Return bounds by one of the methods."""
    owner = f"{predictive.owner}.predict_interval"
    check_predictive(owner, n_samples, residual, X, inputs, noise)
    check_real(owner, "confidence_level", confidence_level, low=0, high=1)
    check_option(owner, "method", method, METHODS)
    known = predictive.space.joint
    if joint is not None and joint not in known:
        first = ", ".join(["None", *map(repr, known[:-1])])
        raise fail(owner, "joint", f"{first} or {known[-1]!r}", joint)
    generator = predictive.generator(random_state)
    if method == "conformal":
        if X is None:
            raise ValueError(f"{owner} needs X with method='conformal'.")
        values = predictive.checked(X)
        if calibration is not None:
            bounds = split_bounds(
                predictive, values, calibration, confidence_level, joint, noise, owner
            )
        else:
            bounds = cross_bounds(
                predictive, values, cv, confidence_level, joint, noise, owner, generator
            )
        return PredictionInterval(*bounds)
    if calibration is not None:
        raise ValueError(
            f"{owner} expects calibration=None unless method='conformal'; the "
            "residuals "
            "of method='residual' are those of the fit."
        )
    sampler = predictive.input_sampler(owner, inputs)
    scale = predictive.noise_scale(noise, owner)
    law = predictive.residual_law(scale, owner)
    if X is None and joint is None:
        drawn = law.drawn(n_samples, residual, generator)
        unknown = sampler(n_samples, generator)
        found = predictive.space.quantiles_of_draws(
            predictive, *drawn, unknown, scale, _tails(confidence_level)
        )
        return PredictionInterval(*found[:, np.newaxis])
    if X is None:
        assert joint is not None
        rows = law.draw(n_samples, residual, generator)
        image = predictive.draw_around(rows, sampler(n_samples, generator), scale)
        draws = image[:, np.newaxis]
        return PredictionInterval(*_bands(predictive, draws, confidence_level, joint))
    values = predictive.checked(X)
    every = joint is None and predictive.space.keeps_order
    rows = law.atoms(n_samples, residual, generator, every=every)
    bounds = np.empty((2, len(values), predictive.space.n_values))
    draws_at_once = 1 if joint is None else len(rows)
    chunk = max(1, CHUNK_ENTRIES // (draws_at_once * bounds.shape[2]))
    for start in range(0, len(values), chunk):
        at = slice(start, start + chunk)
        if joint is None:
            bounds[:, at] = predictive.space.quantiles(
                rows,
                predictive.scale_at(values[at], scale),
                predictive.centre(values[at]),
                _tails(confidence_level),
            )
        else:
            image = predictive.draw_around(rows[:, np.newaxis], values[at], scale)
            bounds[:, at] = _bands(predictive, image, confidence_level, joint)
    return PredictionInterval(bounds[0], bounds[1])


def _tails(confidence_level: float) -> tuple[float, float]:
    """Return the levels of the lower and of the upper quantile."""
    return (1.0 - confidence_level) / 2.0, (1.0 + confidence_level) / 2.0


def _bands(
    predictive: Predictive,
    image: FloatArray,  # shape: (n_draws, n_members, n_image)
    confidence_level: float,
    joint: str,
) -> FloatArray:  # shape: (2, n_members, n_values)
    """Return joint bands of the draws of each member."""
    space = predictive.space
    values = space.values(image)
    bands = simultaneous_bands(
        space.scores(values), space.groups(joint), confidence_level
    )
    return space.bounds(*bands, values[0])


# The same for real targets: what the regressors have.


def predictive_of(estimator: Any) -> Predictive:
    """Return the predictive distribution of a fitted regressor."""
    parts = tuple(
        (_predictive_of_part(estimator, part, targets), targets)
        for part, targets in estimator._problem.parts
    )
    if len(parts[0][1]) == estimator.expansion_.n_outputs:
        return parts[0][0]
    return replace(
        parts[0][0],
        problem=estimator._problem,
        space=RealSpace(estimator.expansion_.n_outputs),
        parts=parts,
    )


def _predictive_of_part(
    estimator: Any, problem: FittedProblem, chosen: IndexArray
) -> Predictive:
    """Return that of targets which the same samples have."""
    expansion = estimator.expansion_
    owner, scalar = type(estimator).__name__, expansion.scalar

    def centre(X: FloatArray, columns: slice = slice(None)) -> FloatArray:
        coefficients = expansion.coefficients[chosen[columns]]
        return np.asarray(expansion.basis.combine(X, coefficients))

    def refit(rows: IndexArray) -> Predictive:
        samples = problem.require_samples(f"{owner}.predict_interval")
        targets = samples.targets[rows]
        with warnings.catch_warnings():  # the fit to all members has warned
            warnings.simplefilter("ignore")
            fitted = clone(estimator).fit(
                samples.inputs[rows],
                targets[:, 0] if scalar else targets,
                sample_weight=samples.weights[rows],
            )
        return predictive_of(fitted)

    def read(X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        refuse_other_rows(X=X, y=y)
        inputs = validated(estimator, X, reset=False)
        values = validated_array(y, "y", ensure_2d=False)
        refuse_other_outputs(y, expansion.output_names, "y of calibration")
        if values.ndim == 1:
            values = values[:, np.newaxis]
        expected = len(inputs), expansion.n_outputs
        if values.shape != expected:
            raise ValueError(
                f"y of calibration has shape {values.shape}; expected {expected}: the "
                "members of X and the targets seen in fit."
            )
        return inputs, values[:, chosen]

    space = RealSpace(len(chosen))
    return Predictive(
        problem,
        expansion.input_names,
        space,
        centre,
        owner,
        scalar=scalar,
        refit=refit,
        read=read,
    )


def sample(
    predictive: Predictive,
    n_samples: int = 1,
    X: ArrayLike | None = None,
    *,
    inputs: Any = None,
    residual: str | None = "resampled",
    noise: str = "constant",
    random_state: Any = None,
) -> FloatArray:
    """Draw values of y from the predictive distribution.

    Parameters
    ----------
    n_samples : int, default=1
        Number of draws.
    X : array-like of shape (n_members, n_features) or None, default=None
        Draw conditional on these inputs. None draws the inputs from their
        distributions.
    inputs : distribution, list, dict, rows, InputBelief or None, default=None
        Draw the inputs from other distributions, without refitting: what if the
        uncertainty were another one? Distributions as in ``distribution=`` (named ones
        are learned from the members of the fit), or rows of inputs, drawn with
        replacement, which preserves their dependence; rows of a
        :class:`skpce.decision.InputBelief` by their weights. None means the
        distributions of the fit.
    residual : {"resampled", "gaussian"} or None, default="resampled"
        Distribution of what the expansion does not explain: whole rows of scaled
        leave-one-out residuals drawn with replacement, which preserves the dependence
        between targets, or a normal distribution with their second moments. None is
        the expansion alone.
    noise : {"constant", "inputs"}, default="constant"
        Whether the spread of the residuals depends on the inputs, as in
        :meth:`predict_interval`.
    random_state : int, RandomState instance or None, default=None
        Randomness of the draws.

    Returns
    -------
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        With X one more axis, of length n_members, after the first.

    Raises
    ------
    ValueError
        For a bad argument, or when the residual distribution is not defined.

    Warns
    -----
    InputOutsideSupportWarning
        When inputs lie outside the distributions of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from skpce import PolynomialChaosRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 1))
    >>> y = 2 * X[:, 0] + rng.normal(size=80)
    >>> model = PolynomialChaosRegressor(1, distribution=norm(0, 1)).fit(X, y)
    >>> draws = model.sample(2000, random_state=0)
    >>> alone = model.sample(2000, residual=None, random_state=0)
    >>> np.array([draws.std(), alone.std()]).round(1)
    array([2.1, 1.9])
    """
    drawn = draw(predictive, n_samples, X, inputs, residual, noise, random_state)
    return drawn[..., 0] if predictive.scalar else drawn


def predict_interval(
    predictive: Predictive,
    X: ArrayLike | None = None,
    *,
    inputs: Any = None,
    confidence_level: float = 0.95,
    joint: str | None = None,
    residual: str | None = "resampled",
    method: str = "residual",
    noise: str = "constant",
    calibration: Any = None,
    cv: Any = 5,
    n_samples: int = 2000,
    random_state: Any = None,
) -> PredictionInterval:
    r"""Return prediction intervals of y.

    Parameters
    ----------
    X : array-like of shape (n_members, n_features) or None, default=None
        Intervals conditional on these inputs. None gives one interval per target for a
        member of unknown inputs.
    inputs : distribution, list, dict, rows, InputBelief or None, default=None
        Distribution of the unknown inputs, as in :meth:`sample`.
    confidence_level : float, default=0.95
        Probability that a target of a new member lies inside, target by target; with
        ``joint`` that all of them do.
    joint : {"targets"} or None, default=None
        ``"targets"`` gives bands within which all targets lie together. None gives
        marginal intervals.
    residual : {"resampled", "gaussian"} or None, default="resampled"
        As in :meth:`sample`; only with ``method="residual"``.
    method : {"residual", "conformal"}, default="residual"
        ``"residual"`` takes quantiles of the leave-one-out residuals, scaled by the
        leverage of the new inputs: it needs one fit. ``"conformal"`` has a guarantee
        in finite samples, see Notes.
    noise : {"constant", "inputs"}, default="constant"
        ``"inputs"`` learns how the spread of the residuals changes with the inputs and
        scales the interval by it. :func:`skpce.inspection.noise_test` says whether it
        is needed.
    calibration : tuple (X, y) or None, default=None
        Members that are not in the fit, for split conformal intervals. None refits in
        folds (CV+).
    cv : int, splitter or iterable, default=5
        Folds of CV+: an int shuffles the members into as many; the test sets of
        others must hold out each member once.
    n_samples : int, default=2000
        Draws from which quantiles are taken, where they are not those of the residuals
        themselves; most residuals from which a joint band is made.
    random_state : int, RandomState instance or None, default=None
        Randomness of draws and of folds.

    Returns
    -------
    interval : PredictionInterval
        ``lower`` and ``upper`` in the shape of y; one member when X is None.

    Raises
    ------
    ValueError
        For a bad argument, when the residual distribution is not defined, or for a fit
        from sums over the samples, whose residuals are not known.

    Warns
    -----
    UserWarning
        When there are too few members for a conformal interval of this level. Its
        bounds are then infinite.

    See Also
    --------
    skpce.inspection.noise_test : Does the spread of the residuals depend on the inputs?

    Notes
    -----
    ``method="residual"``: with the scaled leave-one-out residuals :math:`r_i` (of equal
    variance whatever their leverage [1]_) the interval holds the central share of

    .. math:: \hat y(x) + \sqrt{1 + h(x)}\; \frac{s(x)}{s(x_i)}\; r_i ,

    where :math:`s = 1` with constant noise. It is approximate: exact for no
    distribution in finite samples, and close to its level where the expansion leaves
    out little. A band scales the distances of all targets from their medians by one
    number, the quantile of the largest distance in units of the spread of each (sup-t
    [2]_).

    ``noise="inputs"``: :math:`s(x)^{2/3}` is a ridge expansion of
    :math:`|r_i|^{2/3}`, additive in the inputs and of degree 2. Its penalty is chosen
    by leave-one-out, so that :math:`s` is nearly constant where the inputs have no
    effect on the spread.

    ``method="conformal"``: the distances :math:`|y - \hat y(x)| / (\sqrt{1+h(x)} s(x))`
    of :math:`n` members from fits that have not seen them. With ``calibration`` the
    interval contains a new member with a probability of at least :math:`1 - \alpha`,
    and at most :math:`1 - \alpha + 1/(n + 1)` where no two distances are equal
    [3]_, if the calibration members and the new one are exchangeable; no
    distribution is assumed, and the model may be wrong. Without it the bounds are
    those of CV+ [4]_: at least :math:`1 - 2\alpha - \sqrt{2/n}` in the worst case,
    about :math:`1 - \alpha` typically. Both are averages over members, calibration and
    new: neither holds for every :math:`x`, and with ``noise="constant"`` members in the
    tails may be covered less often. Behind an embedding that saw all members
    (a PCA before this estimator) the guarantee is conditional on the inputs as given
    here: refit the whole pipeline to carry it over. Members that share inputs or a
    seed are not exchangeable: give ``cv`` as splits that hold them out together.

    References
    ----------
    .. [1] R. D. Cook and S. Weisberg, "Residuals and Influence in Regression", Chapman
       and Hall, 1982, section 2.1.
    .. [2] J. L. Montiel Olea and M. Plagborg-Moller, "Simultaneous confidence bands:
       theory, implementation, and an application to SVARs", Journal of Applied
       Econometrics 34 (2019), section 2.
    .. [3] J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani and L. Wasserman,
       "Distribution-free predictive inference for regression", Journal of the American
       Statistical Association 113 (2018), theorem 2.
    .. [4] R. F. Barber, E. J. Candes, A. Ramdas and R. J. Tibshirani, "Predictive
       inference with the jackknife+", Annals of Statistics 49 (2021), theorem 4.

    Examples
    --------
    >>> import numpy as np
    >>> from skpce import PolynomialChaosRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> y = X[:, 0] + np.abs(X[:, 0]) * rng.normal(size=100)
    >>> model = PolynomialChaosRegressor(1, solver="ridge", distribution="normal")
    >>> model = model.fit(X, y)
    >>> for noise in ("constant", "inputs"):
    ...     lower, upper = model.predict_interval([[0.0], [2.0]], noise=noise)
    ...     print(noise, (upper - lower).round(1))
    constant [3.9 3.9]
    inputs [2.2 9. ]
    >>> lower, upper = model.predict_interval(X, method="conformal", random_state=0)
    >>> lower.shape
    (100,)
    """
    found = interval(
        predictive,
        X,
        inputs=inputs,
        confidence_level=confidence_level,
        joint=joint,
        residual=residual,
        method=method,
        noise=noise,
        calibration=calibration,
        cv=cv,
        n_samples=n_samples,
        random_state=random_state,
    )
    if predictive.scalar:
        return PredictionInterval(found.lower[:, 0], found.upper[:, 0])
    return found
