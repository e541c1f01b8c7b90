"""The fit without settings: prior variances of all terms, learned from the samples."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, pro_ang1, softmax
from scipy.stats import kurtosis, multivariate_normal, norm, skew, uniform

import skpce._regressor as regressor_module
from skpce import (
    CompositionalPCESurrogate,
    DependentInputsWarning,
    EdgeOfFamilyWarning,
    InputOutsideSupportWarning,
    PolynomialChaosRegressor,
    load_model,
    save_model,
)
from skpce._basis.basis import PolynomialBasis, evaluate_within, tables_of
from skpce._input_laws import families
from skpce._input_laws.families import UniformLaw
from skpce._learned import prior as learned
from skpce._learned import ridge
from skpce._learned.ridge import KernelBasis
from skpce.decision import value_of_information
from tests.shared import agree, cases, inside, refuses

LAW = UniformLaw(0.0, 1.0)
INPUTS = uniform(-1, 2)


def friedman(X):
    unit = (X + 1.0) / 2.0
    first = 10.0 * np.sin(np.pi * unit[:, 0] * unit[:, 1])
    return first + 20.0 * (unit[:, 2] - 0.5) ** 2 + 10.0 * unit[:, 3] + 5.0 * unit[:, 4]


def samples_of_friedman(n_samples, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, 8))
    return X, friedman(X) + noise * rng.normal(size=n_samples)


def all_terms(n_inputs, degree):
    rows = itertools.product(range(degree + 1), repeat=n_inputs)
    rows = [row for row in rows if 0 < np.count_nonzero(row) <= learned.LARGEST_ORDER]
    return np.array([(0,) * n_inputs, *rows])


@pytest.fixture
def small():
    """Two targets of four inputs, one value missing, one row twice."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(20, 4))
    y = np.column_stack([X[:, 0] * X[:, 1] + X[:, 2], np.exp(X[:, 3])])
    y -= y.mean(axis=0)
    y[3, 1] = np.nan
    return X, y, np.where(np.arange(20) == 5, 2.0, 1.0)


def prior_of(n_inputs, degree, seed=0):
    rng = np.random.default_rng(seed)
    return learned.TermPrior(
        rng.uniform(0.1, 1.0, n_inputs),
        rng.uniform(0.2, 0.7, n_inputs),
        1.3,
        np.array([1.0, 0.5, 0.3])[: min(n_inputs, 3)],
        np.full(n_inputs, degree),
        0.1,
    )


# The evidence


def test_evidence_is_that_of_a_normal_distribution(small):
    X, y, _ = small
    prior, n = prior_of(4, 3), len(X)
    kernel = prior.kernel(*[tables_of([LAW] * 4, X, prior.n_functions)] * 2)
    (known,) = learned.observations_of(y[:, :1], np.ones(n))
    unit = y[:, 0] / y[:, 0].std()
    covariance = kernel + prior.noise * np.eye(n) + 100.0
    expected = -multivariate_normal(cov=covariance).logpdf(unit)
    found = known.evidence(kernel, prior.noise)[0] + 0.5 * n * np.log(2 * np.pi)
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("listed", [False, True])
def test_gradient_of_the_evidence(small, listed):
    X, y, weights = small
    n_functions = np.full(4, 3)
    terms = learned.AllTerms(tables_of([LAW] * 4, X, n_functions))
    if listed:
        rows = all_terms(4, 3)
        design = PolynomialBasis([LAW] * 4, rows).evaluate(X)
        terms = learned.ListedTerms(design[:, 1:], rows[1:])
    known = learned.observations_of(y, weights)
    search = learned.Search(terms, n_functions, np.zeros(4, dtype=bool), known)
    at = search.vector(prior_of(4, 3))
    _, slopes = search.objective(at)
    steps = 1e-5 * np.eye(len(at))
    rises = [search.objective(at + h)[0] - search.objective(at - h)[0] for h in steps]
    assert_allclose(slopes, np.divide(rises, 2e-5), atol=1e-6)


# The estimator


@pytest.fixture(scope="module")
def fitted():
    return PolynomialChaosRegressor(distribution=INPUTS).fit(*samples_of_friedman(100))


def test_fit_without_settings(fitted):
    X, _ = samples_of_friedman(2000, seed=1)
    error = np.mean((fitted.predict(X) - friedman(X)) ** 2) / friedman(X).var()
    assert error < 0.03
    assert abs(fitted.q2_[0] - (1.0 - error - 1.0 / 24.0)) < 0.05  # noise is 1 of 24
    totals = fitted.total_sobol_indices_[0]
    assert_allclose(totals[:5], [0.27, 0.27, 0.09, 0.35, 0.09], atol=0.05)
    assert totals[5:].max() < 0.02
    assert fitted.solver_.tolist() == ["learned"]


@pytest.mark.parametrize("seed", range(4))
def test_noise_is_fitted_by_nothing(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(size=(60, 5)), rng.normal(size=60)
    model = PolynomialChaosRegressor().fit(X, y)
    assert_allclose(model.predict(X), y.mean())
    assert not model.total_sobol_indices_.any()
    low, high = model.sobol_interval(random_state=0).total_order[:, 0]
    assert not low.any()
    assert (high == 1.0).all()


def test_learned_distributions_widen_the_intervals():
    """Of 2 x1 + x2 the coefficients are known: all that is uncertain are variances."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    widths = []
    frozen = [norm(*column) for column in zip(X.mean(0), X.std(0), strict=True)]
    for law in ("auto", frozen):
        model = PolynomialChaosRegressor(distribution=law).fit(X, 2 * X[:, 0] + X[:, 1])
        low, high = model.sobol_interval(random_state=0).total_order[:, 0]
        widths.append(high - low)
    # The share T moves by T (1 - T) times sqrt(4 / n) in one standard error.
    expected = 2 * 1.645 * 1.3 * 0.16 * np.sqrt(4 / 60)
    assert_allclose(widths[0], expected, rtol=0.25)
    assert (widths[1] < 0.01).all()


def test_standard_deviations_of_predictions_are_not_too_small():
    """Half of the terms are learned from 30 samples, whose residuals know of it."""
    squares = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, new = rng.uniform(-1, 1, size=(30, 30)), rng.uniform(-1, 1, size=(200, 30))
        y, expected = (Z[:, :3] @ [3.0, 2.0, 1.0] for Z in (X, new))
        y, expected = y + rng.normal(size=30), expected + rng.normal(size=200)
        model = PolynomialChaosRegressor(distribution=INPUTS).fit(X, y)
        found, deviation = model.predict(new, return_std=True)
        squares.append(np.mean(np.square(found - expected)) / np.mean(deviation**2))
    assert np.mean(squares) < 1.3


def test_degree_alone_cuts_the_terms_and_a_solver_means_degree_two(fitted):
    X, y = samples_of_friedman(100)
    model = PolynomialChaosRegressor(2, distribution=INPUTS).fit(X, y)
    assert model.multi_indices_.shape == (45, 8)
    assert model.solver_.tolist() == ["learned"]
    assert 0.8 < model.q2_[0] < fitted.q2_[0]
    one, two = (PolynomialChaosRegressor(d, solver="ridge") for d in (None, 2))
    assert_array_equal(one.fit(X, y).coefficients_, two.fit(X, y).coefficients_)


@cases(
    ("options", "message"),
    ({"alphas": [1.0]}, "choose the penalty of a solver"),
    ({"truncation": "hyperbolic", "q": 0.5}, "expected 'degree' with them"),
)
def test_settings_of_a_solver_are_refused(options, message):
    refuses(message, PolynomialChaosRegressor(**options).fit, *samples_of_friedman(30))


def test_copies_do_not_say_that_there_is_no_noise():
    X, y = samples_of_friedman(130, noise=2.0)
    rows = np.random.default_rng(0).integers(130, size=130)
    whole = PolynomialChaosRegressor(distribution=INPUTS).fit(X, y)
    drawn = PolynomialChaosRegressor(distribution=INPUTS).fit(X[rows], y[rows])
    assert drawn.alpha_[0] > 0.5 * whole.alpha_[0]


def test_many_levels_of_two_categories_shrink_together(rng):
    X = np.column_stack([rng.integers(24, size=150), rng.integers(6, size=150)])
    effects = rng.normal(size=24), rng.normal(size=6)
    y = effects[0][X[:, 0]] + effects[1][X[:, 1]] + 0.3 * rng.normal(size=150)
    model = PolynomialChaosRegressor(distribution="categorical").fit(X, y)
    assert model.q2_[0] > 0.9


def test_outputs_have_priors_of_their_own_or_share_one(rng):
    X = rng.uniform(-1.0, 1.0, size=(60, 3))
    Y = np.column_stack([X[:, k % 3] ** (1 + k // 3) for k in range(12)])
    Y += 0.05 * rng.normal(size=Y.shape)
    few, many = (PolynomialChaosRegressor().fit(X, Y[:, :n]) for n in (3, 12))
    assert len(few._problem.solver.priors) == 3
    assert len(many._problem.solver.priors) == 1
    leading = many.total_sobol_indices_.argmax(axis=1)
    assert_array_equal(leading, np.arange(12) % 3)
    assert (few.q2_ > many.q2_[:3] - 0.01).all()
    assert (many.q2_ > 0.9).all()


def test_a_group_of_columns_shares_a_prior():
    pd = pytest.importorskip("pandas")
    X, y = samples_of_friedman(60)
    columns = {"a__0": y, "a__1": 2.0 * y - X[:, 0], "b": X[:, 7]}
    model = PolynomialChaosRegressor().fit(X, pd.DataFrame(columns))
    assert len(model._problem.solver.priors) == 2
    assert model.alpha_[0] == model.alpha_[1] != model.alpha_[2]


@pytest.mark.slow
def test_many_samples_are_added_up(monkeypatch):
    X, y = samples_of_friedman(1500)
    whole = PolynomialChaosRegressor(distribution=INPUTS).fit(X, y)
    monkeypatch.setattr(regressor_module, "LARGEST_WHOLE_DESIGN", 1000)
    sums = PolynomialChaosRegressor(distribution=INPUTS).fit(X, y)
    assert sums._problem.samples is None
    assert_allclose(sums.predict(X), whole.predict(X), atol=0.4)
    assert_allclose(sums.q2_, whole.q2_, atol=0.01)


# Two forms of one fit


def test_terms_and_kernels_are_one_fit(monkeypatch, rng):
    """The same fit with its terms listed, all of them, and as kernels."""
    X = rng.integers(0, 5, size=(40, 4)) / 4.0
    y = X[:, 0] * X[:, 1] + np.exp(X[:, 2]) + 0.2 * rng.normal(size=40)
    Y = np.column_stack([y, X[:, 3] + 0.2 * rng.normal(size=40)])
    monkeypatch.setattr(ridge, "_DROPPED", 1e-13)
    terms = PolynomialChaosRegressor().fit(X, Y)
    monkeypatch.setattr(learned.TermPrior, "listed", lambda *given: None)
    kernels = PolynomialChaosRegressor().fit(X, Y)
    monkeypatch.undo()
    assert isinstance(kernels.basis_, KernelBasis)
    assert isinstance(terms.basis_, PolynomialBasis)
    new, close = rng.choice(np.unique(X), size=(30, 4)), {"rtol": 1e-7, "atol": 1e-9}
    names = "q2_", "total_variance_", "sobol_indices_", "total_sobol_indices_"
    agree(terms, kernels, *names, **close)
    drawn, exact = kernels.moments(), terms.moments()
    agree(drawn, exact, "mean", "variance", **close)
    agree(drawn, exact, "skewness", "kurtosis", atol=0.03)
    for name, *given in (
        *(("main_effects", new), ("conditional_expectation", new, [0, 1])),
        *(("closed_sobol_index", [0, 2]), ("total_sobol_index", [0, 2])),
        *(("sobol_index", [0, 1]), ("shapley_effects",)),
    ):
        found, expected = (getattr(model, name)(*given) for model in (kernels, terms))
        assert_allclose(found, expected, err_msg=name, **close)
    for read in (
        lambda model: model.predict(new, return_std=True),
        lambda model: model.predict_interval(new, random_state=0),
        lambda model: model.sobol_interval(random_state=0).total_order,
        lambda model: model.marginal([0, 1]).explicit()(new[:, :2]),
    ):
        assert_allclose(read(kernels), read(terms), **close)


@cases(
    "read",
    lambda model: model.coefficients_,
    lambda model: model.multi_indices_,
    lambda model: model.transform(np.zeros((60, 30))),
)
def test_what_is_not_listed_names_the_remedy(read, rng):
    X = rng.uniform(-1, 1, size=(60, 30))
    square = X.sum(axis=1) ** 2
    model = PolynomialChaosRegressor(distribution=(-1, 1)).fit(X, square)
    refuses(r"not listed.*give 'degree'", read, model)
    assert len(model.sobol_frame()) == 30
    assert read(model.set_params(degree=2).fit(X, square)).shape[1] > 30 - 1
    share = 1 / (1 + np.exp(-square / 10))
    surrogate = CompositionalPCESurrogate(distribution=(-1, 1))
    surrogate.fit(X, np.column_stack([share, 1 - share]))
    refuses(r"not listed.*give 'degree'", getattr, surrogate, "coefficients_")


def test_intervals_of_a_fit_without_inputs():
    y = np.random.default_rng(0).normal(size=20)
    model = PolynomialChaosRegressor().fit(np.ones((20, 2)), y)
    assert not model.sobol_interval(random_state=0).total_order.any()


@pytest.fixture(params=["terms", "kernels"])
def form(request, monkeypatch):
    """Terms that are listed, or kernels in place of them."""
    if request.param == "kernels":
        monkeypatch.setattr(learned.TermPrior, "listed", lambda *given: None)


# Intervals


def test_intervals_contain_the_indices(fitted):
    interval = fitted.sobol_interval(random_state=0)
    assert interval.method == "posterior"
    first, total = interval.first_order[:, 0], interval.total_order[:, 0]
    true_total = np.array([0.275, 0.275, 0.093, 0.35, 0.087, 0.0, 0.0, 0.0])
    assert inside(total, true_total).sum() >= 7
    assert not total[0, 5:].any()
    assert (first[0, [0, 1, 3]] > 0.05).all()
    assert (first <= total + 1e-12).all()
    model = PolynomialChaosRegressor(2, solver="ols").fit(*samples_of_friedman(60))
    refuses("without a solver", model.sobol_interval, method="posterior")


@pytest.mark.slow
def test_intervals_of_predictions_hold_new_values():
    held = []
    for seed in range(12):
        X, y = samples_of_friedman(60, seed=seed, noise=2.0)
        new, values = samples_of_friedman(200, seed=100 + seed, noise=2.0)
        model = PolynomialChaosRegressor(distribution=INPUTS).fit(X, y)
        band = model.predict_interval(new, confidence_level=0.9, random_state=0)
        held.append(inside(band, values).mean())
    assert 0.86 < np.mean(held) < 0.95


# Compositions


def in_two_steps(scores, logit):
    return np.column_stack([softmax(scores, axis=1), expit(logit), expit(-logit)])


def test_steps_of_a_surrogate_learn_their_priors(rng):
    X = rng.uniform(-1.0, 1.0, size=(60, 3))
    scores = np.column_stack([2.0 * np.sin(2.0 * X[:, 0]), 0.0 * X[:, 0], X[:, 1]])
    scores += 0.1 * rng.normal(size=scores.shape)
    y = in_two_steps(scores, 3.0 * X[:, 2])
    model = CompositionalPCESurrogate(steps=(3, 2)).fit(X, y)
    assert model.step_total_sobol_indices_.argmax(axis=1).tolist() == [0, 2]
    assert (model.step_unexplained_share_ < 0.1).all()
    for kind in ("alr", "clr"):
        other = CompositionalPCESurrogate(steps=(3, 2), log_ratio=kind).fit(X, y)
        assert_allclose(other.predict(X), model.predict(X), atol=1e-8)
    interval = model.sobol_interval(random_state=0)
    assert interval.method == "posterior"
    low = interval.total_order[0]
    assert (low <= model.step_total_sobol_indices_ + 0.02).all()


def test_steps_with_failed_members_keep_their_priors(rng):
    X = rng.uniform(-1.0, 1.0, size=(80, 4))
    scores = np.column_stack([2.0 * X[:, 0], np.zeros(80), X[:, 0] ** 2])
    scores += 0.1 * rng.normal(size=scores.shape)
    y = in_two_steps(scores, 3.0 * X[:, 1] - 0.1 * rng.normal(size=80))
    y[5:12, 3:] = np.nan
    with pytest.warns(UserWarning, match="73"):
        model = CompositionalPCESurrogate(steps=(3, 2)).fit(X, y)
    low, high = model.sobol_interval("step", random_state=0).total_order[:, 1]
    assert low[1] > 0.8
    assert high[[0, 2, 3]].max() < 0.2


# What a fit says about itself


def test_functions_at_the_edge_of_the_family_are_named(rng):
    X = rng.uniform(-1.0, 1.0, size=(200, 4))
    model = PolynomialChaosRegressor(distribution=INPUTS)
    assert model.fit(X[:, :2], np.sin(6.0 * np.pi * X[:, 0])).q2_[0] > 0.99
    with pytest.warns(EdgeOfFamilyWarning, match="fast along x0"):
        model.fit(X[:, :2], np.sin(12.0 * np.pi * X[:, 0]))
    with pytest.warns(EdgeOfFamilyWarning, match="in terms of 3 inputs, the most"):
        model.fit(X[:80], X[:80, :3].prod(axis=1))
    with warnings.catch_warnings(action="error"):  # of an ordinary fit
        model.fit(*samples_of_friedman(60))


@pytest.mark.parametrize("solver", [None, "ols"])
def test_a_stated_input_of_one_value_is_named(solver, rng):
    X = rng.normal(size=(60, 3))
    y, X[:, 2] = X[:, 0] ** 2 + X[:, 1], 2.0
    model = PolynomialChaosRegressor(solver=solver, distribution=norm())
    with pytest.warns(DependentInputsWarning, match="x2 = 2, .* cannot be learned"):
        model.fit(X, y)
    with warnings.catch_warnings(action="error"):
        learned = PolynomialChaosRegressor().fit(X, y)
    assert learned.total_sobol_indices_[0, 2] == 0.0


@pytest.mark.filterwarnings("ignore:The 24 samples are of 8 settings")
def test_aliases_of_a_fraction_are_named():
    half = np.array(list(itertools.product([-1.0, 1.0], repeat=3)) * 3)
    X = np.column_stack([half, half.prod(axis=1)])
    y = X[:, 0] + 0.8 * X[:, 0] * X[:, 1]
    y += 0.2 * np.random.default_rng(0).normal(size=len(y))
    with pytest.warns(DependentInputsWarning, match="apart x0·x1 and x2·x3: in all"):
        PolynomialChaosRegressor().fit(X, y)
    with warnings.catch_warnings(action="error"):
        PolynomialChaosRegressor(interaction_order=1).fit(X, y)


@pytest.mark.parametrize(
    ("evaluate", "sizes", "seed"),
    [
        (lambda X: X[:, 0] + X[:, 1] ** 2 / 2 + X[:, 2] * X[:, 3] / 2, (300, 20), 5),
        (lambda X: X[:, 0] + X[:, 1] * X[:, 2] * X[:, 3], (100, 8), 3),
    ],
)
def test_what_has_no_slope_is_found_by_its_score(evaluate, sizes, seed):
    draw = np.random.default_rng(seed)
    X, new = draw.normal(size=sizes), draw.normal(size=(2000, sizes[1]))
    y = evaluate(X)
    y += 0.35 * y.std() * draw.normal(size=len(y))
    model = PolynomialChaosRegressor(distribution="normal").fit(X, y)
    assert model.score(new, evaluate(new)) > 0.9


def test_aliases_of_a_design_without_centre_are_named():
    axis = np.sqrt(2.0) * np.vstack([np.eye(2), -np.eye(2)])
    corners = np.array(list(itertools.product([-1.0, 1.0], repeat=2)))
    X = np.vstack([corners, axis])
    y = X[:, 0] + X[:, 1] ** 2
    with pytest.warns(DependentInputsWarning, match="x0² and x1²"):
        PolynomialChaosRegressor().fit(X, y)
    centre = np.vstack([X, np.zeros((3, 2))])
    model = PolynomialChaosRegressor().fit(centre, centre[:, 0] + centre[:, 1] ** 2)
    assert model.q2_[0] > 0.9


def test_samples_far_outside_of_a_distribution_have_few_degrees():
    X, y = samples_of_friedman(40)
    X[0, 0] = 1e6
    with pytest.warns(InputOutsideSupportWarning, match="1 of 40 values of x0"):
        model = PolynomialChaosRegressor(distribution=INPUTS).fit(X, y)
    assert model.multi_indices_[:, 0].max() <= 1
    assert np.isfinite(model.predict(X[1:])).all()


@pytest.mark.usefixtures("form")
def test_high_degrees_keep_their_values_beyond_the_samples(rng):
    X, far = rng.normal(size=(100, 2)), np.array([[4.0, 0.0], [4.5, 0.0]])
    y = np.tanh(3.0 * X[:, 0]) + np.sin(2.0 * X[:, 1])
    model = PolynomialChaosRegressor(distribution=norm(0, 1))
    with warnings.catch_warnings(action="ignore", category=EdgeOfFamilyWarning):
        model.fit(X, y)
    assert np.abs(model.predict(far)).max() < 10.0
    effects = model.main_effects(far).sum(axis=1) + model.expansion_.mean
    assert_allclose(effects, model.predict(far), atol=0.5)
    one = model.conditional_expectation(far, [0])
    assert_allclose(one, model.main_effects(far)[:, 0] + model.expansion_.mean)
    whole = PolynomialChaosRegressor(12, solver="ols", distribution=norm(0, 1))
    assert np.abs(whole.fit(X, y).predict(far)).max() > 100.0


@pytest.mark.parametrize("distribution", ["auto", norm(0, 1)])
def test_a_parabola_goes_on_beyond_the_samples(distribution):
    X = np.random.default_rng(2).normal(size=(60, 2))
    model = PolynomialChaosRegressor(distribution=distribution)
    model.fit(X, 1.0 + X[:, 0] - X[:, 1] ** 2)
    assert model.predict([[6.0, 5.0]])[0] == pytest.approx(1 + 6 - 25, rel=0.03)


def test_steps_and_noise_keep_the_values_of_the_outermost_samples(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0.5) + 0.3 * (X[:, 1] + 2.0 * rng.normal(size=60))
    model = PolynomialChaosRegressor().fit(X, y)
    steps, noise = model.basis_.reach.T
    ends = np.array([X.min(axis=0), X.max(axis=0)]).T
    assert np.abs(steps - ends[0]).max() < 0.1 * np.ptp(ends[0])
    assert np.abs(noise - ends[1]).max() < 0.1 * np.ptp(ends[1])
    far = np.array([[9.0, 9.0], [steps[1], noise[1]]])
    with pytest.warns(InputOutsideSupportWarning, match="x0 lie far outside .-2.*ends"):
        predicted = model.predict(far)
    assert np.ptp(predicted) == 0.0
    with pytest.warns(InputOutsideSupportWarning, match="x0 lie far outside .-2.*ends"):
        slopes = model.expansion_.gradient(far[:1])
    assert np.abs(slopes).max() == 0.0


def test_a_step_may_have_nothing_in_a_basis_of_kernels(tmp_path, rng):
    X = rng.uniform(size=(80, 100))
    halves = X[:, :25].sum(axis=1), X[:, 25:50].sum(axis=1)
    y = np.column_stack([rng.normal(size=80), halves[0] ** 2 + halves[1] ** 2])
    model = PolynomialChaosRegressor().fit(X, y)
    assert isinstance(model.basis_, KernelBasis)
    assert not model.basis_.priors[0].weights.any()
    save_model(model, tmp_path / "model.skpce")
    found = load_model(tmp_path / "model.skpce").predict(X)
    assert_allclose(found, model.predict(X))


def test_a_high_frequency_is_found_from_a_second_start():
    X = np.random.default_rng(1).uniform(-1.0, 1.0, size=(60, 4))
    model = PolynomialChaosRegressor(distribution=INPUTS)
    with warnings.catch_warnings(action="ignore", category=EdgeOfFamilyWarning):
        model.fit(X, np.sin(8.0 * X[:, 0]) + 0.3 * X[:, 1])
    assert model.q2_[0] > 0.8


def test_intervals_of_several_outputs_do_not_depend_on_their_units(rng):
    X = rng.normal(size=(60, 3))
    y = np.column_stack([2.0 * X[:, 0] + X[:, 1], *[X[:, 2] + X[:, 1]] * 40])
    found = []
    for unit in (1.0, 1e6):
        model = PolynomialChaosRegressor().fit(X, np.c_[unit * y[:, :1], y[:, 1:]])
        found.append(model.sobol_interval(random_state=0).total_order)
    assert_allclose(found[1], found[0], atol=1e-3)
    assert (found[1][1] - found[1][0]).max(axis=1).min() > 0.05


# Waves


def of_an_arm(n_samples, seed, noise):
    """Two angles over their whole circle act together, and a length."""
    rng = np.random.default_rng(seed)
    X = rng.uniform([0.0, 0.0, -1.0], [2 * np.pi, 2 * np.pi, 1.0], (n_samples, 3))
    y = np.sin(X[:, 0]) * np.cos(X[:, 1]) + 0.3 * X[:, 2]
    return X, y + noise * rng.normal(size=n_samples)


def test_waves_are_prolate_spheroidal_functions():
    law = UniformLaw(0.0, 1.0, waves=40)
    at = np.linspace(-0.95, 0.95, 8)
    waves = evaluate_within(law, at, 6, None)
    mixing = law.mixing()
    assert_allclose(mixing @ mixing.T, np.eye(40), atol=1e-12)
    for n in (1, 3, 5):  # the even ones are those orthogonal to the constant
        known = pro_ang1(0, n, families.BANDWIDTH, at)[0]
        assert_allclose(waves[n] / known, waves[n, 0] / known[0], rtol=1e-8)


def test_sums_of_waves_are_polynomials():
    laws = [UniformLaw(0.0, 1.0, waves=40), UniformLaw(0.0, 1.0)]
    basis = PolynomialBasis(laws, np.array([[0, 0], [1, 0], [5, 2], [40, 1]]))
    coefficients = np.array([[1.0, -2.0, 0.5, 3.0], [0.0, 1.0, 0.0, -1.0]])
    plain, found = basis.without_waves(coefficients)
    assert not any(law.waves for law in plain.laws)
    at = np.random.default_rng(0).uniform(size=(50, 2))
    assert_allclose(
        plain.evaluate(at) @ found.T, basis.evaluate(at) @ coefficients.T, atol=1e-9
    )


def test_waves_are_chosen_where_inputs_oscillate():
    X, y = of_an_arm(150, 0, 0.2)
    given = np.random.default_rng(1).uniform(X.min(axis=0), X.max(axis=0), (2000, 3))
    truth = np.sin(given[:, 0]) * np.cos(given[:, 1]) + 0.3 * given[:, 2]
    found = PolynomialChaosRegressor().fit(X, y)
    assert [law.waves for law in found.basis_.laws] == [40, 40, 0]
    assert found.get_feature_names_out()[1] == "Wave1(x0)"
    assert "waves" in str(found.basis_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ridge, "_FAST", 1.0)
        other = PolynomialChaosRegressor().fit(X, y)
    wrong = [np.mean((fit.predict(given) - truth) ** 2) for fit in (found, other)]
    assert wrong[0] < 0.9 * wrong[1]
    friedman_fit = PolynomialChaosRegressor().fit(*samples_of_friedman(100))
    assert not any(law.waves for law in friedman_fit.basis_.laws)


@pytest.mark.slow
def test_waves_know_all_that_polynomials_do(tmp_path):
    X, y = of_an_arm(150, 0, 0.2)
    model = PolynomialChaosRegressor().fit(X, y)
    expansion = model.expansion_
    drawn = expansion.basis.sample(100_000, np.random.default_rng(2))
    values, slopes = expansion(drawn), model.gradient(drawn)
    moments = expansion.moments()
    assert_allclose(moments.variance, values.var(axis=0), rtol=0.02)
    assert_allclose(moments.skewness, skew(values), atol=0.02)
    assert_allclose(moments.kurtosis, kurtosis(values), atol=0.05)
    near = drawn[:50].copy()
    near[:, 0] += 1e-6
    steps = model.predict(near) - model.predict(drawn[:50])
    assert_allclose(steps / 1e-6, slopes[:50, 0], atol=1e-3)
    utility = np.column_stack([y, -y])
    both = PolynomialChaosRegressor().fit(X, utility)
    assert both.basis_.laws[0].waves
    worth = value_of_information(both, X, utility, groups={"angles": [0, 1]})
    assert not np.isnan(worth.value[3])
    sets = [0], [1], [2], [0, 1], [0, 1, 2]
    for features, value in zip(sets, worth.value, strict=True):
        known = both.expansion_.conditional_expectation(drawn, features)
        gained = known.max(axis=1).mean() - known.mean(axis=0).max()
        if not np.isnan(value):  # not said where it is not supported
            assert_allclose(value, gained, atol=0.005)
    save_model(model, tmp_path / "model.skpce")
    again = load_model(tmp_path / "model.skpce")
    assert_array_equal(again.predict(X), model.predict(X))
    for method in ("posterior", "bootstrap", "residual"):
        bounds = model.sobol_interval(method=method, random_state=0).first_order
        assert inside(bounds, model.sobol_indices_).all()
