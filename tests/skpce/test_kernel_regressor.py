"""Ridge on all terms through their kernel, against the same terms listed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binom, expon, norm, t, uniform
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpce import (
    CompositionalPCESurrogate,
    PolynomialChaosKernelRegressor,
    PolynomialChaosRegressor,
    load_model,
    report,
    save_model,
)
from skpce._basis.representers import NoTermsError, RepresenterBasis
from skpce._basis.symmetric_sums import Cells, SymmetricSums
from skpce._expansion.indices import (
    closed_index,
    interaction_index,
    partial_variances,
    total_index,
)
from skpce._input_laws import NAMED_LAWS
from skpce.inspection import verdict

# The listed terms are more than the rows: that is the point.
pytestmark = pytest.mark.filterwarnings("ignore::skpce.MoreTermsThanRowsWarning")

SEED = 0
ALPHAS = np.logspace(-6, 4, 21)
KERNEL = PolynomialChaosKernelRegressor


def inputs_of(law: str, n_samples: int, n_inputs: int) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    if law == "categorical":
        return rng.integers(0, 4, size=(n_samples, n_inputs)).astype(float)
    return rng.gamma(2.0, size=(n_samples, n_inputs))


MIXED = ["normal", binom(3, 0.4), "categorical", t(12), uniform(0, 9), expon(), "beta"]


def mixed_inputs(n_samples: int) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    X = rng.uniform(0.5, 8.5, size=(n_samples, 7))
    X[:, 1] = rng.integers(0, 4, n_samples)
    X[:, 2] = rng.integers(0, 5, n_samples)
    return X


# The same as with the terms listed


@pytest.mark.parametrize("law", [*sorted(NAMED_LAWS), "mixed"])
@pytest.mark.parametrize("orders", [(3, None), (2, 1)])
def test_the_fit_is_that_of_a_ridge_on_the_terms(law, orders):
    degree, order = orders
    X = mixed_inputs(40) if law == "mixed" else inputs_of(law, 40, 8)
    rng = np.random.default_rng(SEED)
    y = np.column_stack([X[:, 0] * X[:, 1], X[:, 2]]) + rng.normal(size=(40, 2))
    weights = rng.integers(1, 4, size=40).astype(float)
    known = {
        "distribution": MIXED if law == "mixed" else law,
        "interaction_order": order,
        "alphas": ALPHAS,
    }
    listed = PolynomialChaosRegressor(degree, **known).fit(X, y, weights)
    given = {
        "input_weights": "equal",
        "order_weights": np.ones(order or degree),
        "degree_decay": 1.0,
    }
    pce = KERNEL(degree, **known, **given).fit(X, y, weights)
    np.testing.assert_allclose(pce.alpha_, listed.alpha_)
    np.testing.assert_allclose(pce.loo_error_, listed.loo_error_, rtol=1e-10)
    np.testing.assert_allclose(pce.q2_, listed.q2_, rtol=1e-9)
    np.testing.assert_allclose(pce.predict(X), listed.predict(X), atol=1e-10)
    for name in ("sobol_indices_", "total_sobol_indices_", "total_variance_"):
        found, expected = getattr(pce, name), getattr(listed, name)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    explicit = pce.expansion_.explicit()
    scale = np.abs(listed.coefficients_).max()
    difference = np.abs(explicit.coefficients - listed.coefficients_).max()
    assert difference < 1e-10 * max(scale, 1.0)
    assert pce.n_terms_ == len(listed.multi_indices_)


def basis_and_coefficients(n_inputs, degree, order, n_kernels=2):
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(25, n_inputs))
    laws = tuple(NAMED_LAWS["normal"].learn(column, np.ones(25)) for column in X.T)
    cells = Cells(degree, order)
    cell_weights = rng.uniform(0.1, 1, size=(n_kernels, len(cells.pairs)))
    cell_weights[:, 0] = 0.0
    input_weights = rng.uniform(size=(n_kernels, n_inputs)) ** 4
    basis = RepresenterBasis(laws, X, input_weights, cell_weights, degree, order)
    return basis, rng.normal(size=(3, basis.n_functions))


@pytest.mark.parametrize(
    ("n_inputs", "degree", "order"), [(8, 3, 3), (20, 3, 2), (30, 2, 2), (5, 5, 4)]
)
def test_indices_are_those_of_the_listed_terms(n_inputs, degree, order):
    basis, coefficients = basis_and_coefficients(n_inputs, degree, order)
    listed, of_terms = basis.listed(coefficients)
    groups = np.array([0, 1, 1])
    squares = np.square(of_terms)
    norms = np.sqrt([squares[0], squares[1] + squares[2]])
    expected = partial_variances(norms, listed.multi_indices)
    found = basis.partial_variances(coefficients, groups, 2)
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-13 * two.max())
    of_sets = {"exact": interaction_index, "closed": closed_index, "total": total_index}
    for chosen in ([1], [0, 3], [0, 2, 4]):
        for kind, index in of_sets.items():
            part = basis.variance_of_set(kind, chosen, coefficients, groups, 2)
            np.testing.assert_allclose(
                part / found[3], index(norms, listed.multi_indices, chosen), atol=1e-12
            )
    X = np.random.default_rng(1).normal(size=(6, n_inputs))
    np.testing.assert_allclose(
        basis.combine(X, coefficients), listed.combine(X, of_terms), rtol=1e-9
    )


def test_figures_of_an_expansion_without_its_terms():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(40, 6))
    y = np.column_stack([X[:, 0] * X[:, 1] + X[:, 2], X[:, 3] ** 2])
    pce = KERNEL(3).fit(X, y)
    listed = pce.expansion_.explicit()
    for name in ("sobol_index", "closed_sobol_index", "total_sobol_index"):
        found = getattr(pce, name)([0, 1])
        np.testing.assert_allclose(found, getattr(listed, name)([0, 1]), atol=1e-10)
    np.testing.assert_allclose(pce.main_effects(X), listed.main_effects(X), atol=1e-9)
    np.testing.assert_allclose(
        pce.conditional_expectation(X, [0, 1]),
        listed.conditional_expectation(X, [0, 1]),
        atol=1e-9,
    )
    np.testing.assert_allclose(
        pce.shapley_effects(), listed.shapley_effects(), atol=1e-10
    )
    aggregated = pce.aggregated_sobol_indices()
    expected = listed.aggregated_sobol_indices()
    np.testing.assert_allclose(aggregated.total_order, expected.total_order, atol=1e-10)
    part = pce.marginal([0, 1])
    np.testing.assert_allclose(
        part.total_variance / pce.total_variance_,
        pce.closed_sobol_index([0, 1]),
        atol=1e-10,
    )
    assert pce.sobol_frame().shape[0] == 12
    assert "84 terms of degree up to 3" in str(pce.expansion_)
    assert listed.explicit() is listed


# Stability


@pytest.mark.parametrize("small", [1e-4, 1e-8])
def test_indices_of_inputs_of_small_weight_keep_their_digits(small):
    basis, coefficients = basis_and_coefficients(40, 3, 3, n_kernels=1)
    weights = np.full((1, 40), small)
    weights[0, :2] = 1.0
    basis = RepresenterBasis(
        basis.laws, basis.inputs, weights, basis.cell_weights, 3, 3
    )
    groups = np.arange(3)
    found = basis.partial_variances(coefficients, groups, 3)
    listed, of_terms = basis.listed(coefficients)
    expected = partial_variances(of_terms, listed.multi_indices)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-8)


def test_sums_do_not_depend_on_which_inputs_are_multiplied_in_one_by_one(monkeypatch):
    rng = np.random.default_rng(SEED)
    values = rng.normal(size=(3, 15, 50))
    weights = rng.uniform(size=50)
    matrix = rng.normal(size=(1, 15, 15))
    matrix = matrix + matrix.transpose(0, 2, 1)
    cells = Cells(3, 3)
    cell_weights = np.ones((1, len(cells.pairs)))
    found = []
    for n_direct in (0, 12, 50):
        monkeypatch.setattr("skpce._basis.symmetric_sums.N_DIRECT", n_direct)
        sums = SymmetricSums(cells, weights, lambda: [(np.arange(50), values)])
        found.append((sums.every, sums.holding_each(cell_weights, matrix)))
    for every, holding in found[1:]:
        np.testing.assert_allclose(every, found[0][0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(holding, found[0][1], rtol=1e-8, atol=1e-6)


def test_counts_of_many_terms():
    cells = Cells(3, 3)
    counts = cells.counts(np.ones((20_000, 3), dtype=int))
    assert round(float(counts.sum())) == 1_333_733_370_001
    pce = KERNEL(3, input_weights="equal").fit(np.eye(4), np.arange(4.0))
    assert pce.n_terms_ == 35


# Closed-form truths


def test_a_product_is_found_among_many_inputs():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(150, 400))
    pce = KERNEL(2, distribution=norm(0, 1)).fit(X, X[:, 3] * X[:, 5])
    assert pce.q2_[0] > 0.99
    np.testing.assert_allclose(pce.total_sobol_indices_[0, [3, 5]], 1.0, atol=0.01)
    np.testing.assert_allclose(pce.sobol_index([3, 5]), 1.0, atol=0.01)
    assert pce.total_sobol_indices_[0].sum() < 2.02


def test_indices_of_a_sparse_linear_function():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(120, 300))
    slopes = np.array([2.0, -1.0, 1.0])
    y = X[:, [7, 8, 9]] @ slopes + 0.2 * rng.normal(size=120)
    pce = KERNEL(2, distribution=norm(0, 1)).fit(X, y)
    expected = slopes**2 / 6
    np.testing.assert_allclose(pce.sobol_indices_[0, [7, 8, 9]], expected, atol=0.05)
    new = rng.normal(size=(500, 300))
    truth = new[:, [7, 8, 9]] @ slopes
    assert np.mean((pce.predict(new) - truth) ** 2) < 0.02 * truth.var()


def test_equal_weights_stay_where_all_inputs_count():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(100, 30))
    y = X @ rng.choice([-1.0, 1.0], size=30)
    learned, equal = (KERNEL(1, input_weights=kind).fit(X, y) for kind in INPUTS)
    new = rng.normal(size=(300, 30))
    gap = learned.predict(new) - equal.predict(new)
    assert np.mean(gap**2) < 0.05 * y.var()


INPUTS = ("learned", "equal")


@pytest.mark.parametrize("input_weights", INPUTS)
def test_nothing_is_found_in_noise(input_weights):
    rng = np.random.default_rng(SEED)
    scores = []
    for _ in range(8):
        X, y = rng.normal(size=(40, 100)), rng.normal(size=40)
        scores.append(KERNEL(2, input_weights=input_weights).fit(X, y).q2_[0])
    assert np.mean(scores) < 0.15


def test_the_printed_error_is_that_on_new_samples():
    rng = np.random.default_rng(SEED)
    printed, true = [], []
    for _ in range(4):
        X = rng.normal(size=(80, 150))
        new = rng.normal(size=(400, 150))
        slopes = np.zeros(150)
        slopes[:8] = 1.0
        noise = rng.normal(size=80)
        pce = KERNEL(2).fit(X, X @ slopes + noise)
        printed.append(pce.loo_error_[0])
        true.append(np.mean((pce.predict(new) - new @ slopes) ** 2) + 1.0)
    assert np.mean(printed) > 0.8 * np.mean(true)


# Weights of inputs, groups and targets


def test_a_group_learns_one_weight():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(60, 30))
    groups = np.repeat(np.arange(10), 3)
    y = X[:, :3] @ np.array([1.0, 1.0, 1.0])
    pce = KERNEL(1, input_groups=groups).fit(X, y)
    weights = pce.input_weights_.reshape(10, 3)
    np.testing.assert_allclose(weights, weights[:, :1] * np.ones(3))
    assert weights[0, 0] == 1.0
    assert weights[1:].max() < 0.1


def test_targets_have_weights_of_their_own_or_share_them():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(60, 20))
    y = X[:, :2]
    own = KERNEL(1).fit(X, y)
    assert own.input_weights_.shape == (2, 20)
    assert own.input_weights_.argmax(axis=1).tolist() == [0, 1]
    shared = KERNEL(1, shared_weights=True).fit(X, y)
    assert shared.input_weights_.shape == (1, 20)
    assert set(np.argsort(-shared.input_weights_[0])[:2].tolist()) == {0, 1}
    alone = KERNEL(1).fit(X, y[:, 1])
    np.testing.assert_allclose(alone.predict(X), own.predict(X)[:, 1], atol=1e-8)


def test_a_constant_input_and_a_constant_target():
    rng = np.random.default_rng(SEED)
    X = np.column_stack([rng.normal(size=(30, 3)), np.ones(30)])
    pce = KERNEL(2).fit(X, X[:, 0])
    assert pce.q2_[0] > 0.9
    with pytest.warns(UserWarning, match="no variance"):
        flat = KERNEL(2).fit(X, np.ones(30))
    assert flat.total_variance_[0] == 0.0
    assert not flat.total_sobol_indices_.any()
    np.testing.assert_allclose(flat.predict(X), 1.0)


def test_weights_count_copies():
    rng = np.random.default_rng(SEED)
    X, copies = rng.normal(size=(25, 5)), rng.integers(1, 4, size=25)
    y = X[:, 0] * X[:, 1]
    weighted = KERNEL(2).fit(X, y, copies)
    repeated = KERNEL(2).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-9)
    np.testing.assert_allclose(weighted.q2_, repeated.q2_, rtol=1e-9)
    np.testing.assert_allclose(
        weighted.sobol_indices_, repeated.sobol_indices_, atol=1e-9
    )


# Within others


def members(n_members=40, n_inputs=12):
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n_members, n_inputs))
    first = softmax(np.column_stack([2 * X[:, 0], X[:, 1], 0 * X[:, 0]]), axis=1)
    second = softmax(np.column_stack([X[:, 2] * X[:, 3], 0 * X[:, 0]]), axis=1)
    return X, np.hstack([first, second])


@pytest.fixture(scope="module")
def surrogate():
    X, y = members()
    return CompositionalPCESurrogate(2, steps=(3, 2), regressor=KERNEL()).fit(X, y)


def test_a_surrogate_has_the_kernel_of_each_step(surrogate):
    X, y = members()
    assert surrogate.indices_from_ == "coefficients"
    np.testing.assert_allclose(surrogate.fidelity_, 1.0)
    assert surrogate.basis_.n_kernels == 2
    assert surrogate.diagnostics_.n_terms == 91
    total = surrogate.step_total_sobol_indices_
    assert total[0, :2].sum() > 0.95
    assert total[1, 2:4].min() > 0.8
    np.testing.assert_allclose(surrogate.predict(X), y, atol=0.02)
    assert surrogate.sobol_indices_.shape == (3, 12)
    listed = surrogate.expansion_.explicit().sobol_indices()
    np.testing.assert_allclose(total, listed.total_order, atol=1e-9)
    trajectory = surrogate.sobol_indices("trajectory").total_order
    variance = surrogate.step_total_variance_
    np.testing.assert_allclose(trajectory[0], variance @ total / variance.sum())


@pytest.mark.parametrize("log_ratio", ["alr", "clr"])
def test_a_surrogate_does_not_depend_on_the_log_ratio(surrogate, log_ratio):
    X, y = members()
    other = clone(surrogate).set_params(log_ratio=log_ratio).fit(X, y)
    np.testing.assert_allclose(other.predict(X), surrogate.predict(X), atol=1e-9)


def test_the_degree_is_that_of_the_surrogate(surrogate):
    X, y = members()
    linear = clone(surrogate).set_params(degree=1).fit(X, y)
    assert linear.basis_.n_terms == 13


def test_verdict_report_and_file(tmp_path):
    X, y = members(30, 5)
    model = CompositionalPCESurrogate(
        1, steps=(3, 2), regressor=KERNEL(input_weights="equal")
    )
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    judged = verdict(pipeline, X, y, n_permutations=19, cv=3, random_state=0)
    assert "step0" in str(judged)
    assert "terms of the expansion" in report(pipeline, X, y)
    path = tmp_path / "model.skpce"
    save_model(pipeline, path)
    np.testing.assert_array_equal(load_model(path).predict(X), pipeline.predict(X))
    real = KERNEL(2).fit(X, X[:, :2])
    save_model(real, path)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict(X), real.predict(X))
    np.testing.assert_array_equal(
        loaded.total_sobol_indices_, real.total_sobol_indices_
    )


def test_a_search_and_intervals():
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(40, 6))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=40)
    search = GridSearchCV(KERNEL(), {"degree": [1, 2]}, cv=3).fit(X, y)
    assert search.best_params_ == {"degree": 2}
    pce = search.best_estimator_
    interval = pce.predict_interval(X, confidence_level=0.9)
    inside = (interval.lower <= y) & (y <= interval.upper)
    assert inside.mean() > 0.8
    assert pce.predict(X, return_std=True)[1].shape == (40,)
    assert pce.sample(5, random_state=0).shape == (5,)


# Refusals


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"degree": -1}, "'degree' parameter"),
        ({"input_weights": "ard"}, "'input_weights' parameter.*'learned'.*'ard'"),
        ({"input_weights": [1.0, -1.0, 1.0]}, "'input_weights' parameter"),
        ({"input_weights": [0.0, 0.0, 0.0]}, "not all of them 0"),
        ({"input_weights": [1.0]}, "3 finite numbers"),
        ({"input_weights": [1e-300] * 3}, "1e-300 as its largest weight"),
        ({"input_weights": [1e300, 1.0, 1.0]}, "1e\\+300 as its largest weight"),
        ({"input_groups": [0, 1]}, "3 labels"),
        ({"input_groups": [0, [1, 2], 0]}, "3 labels"),
        ({"input_groups": [0, None, "a"]}, "3 labels"),
        ({"order_weights": [1.0]}, "2 positive finite numbers"),
        ({"order_weights": [1.0, 0.0]}, "2 positive finite numbers"),
        ({"degree_decay": 0.0}, "'degree_decay' parameter"),
        ({"alphas": [-1.0]}, "'alphas' parameter"),
        ({"n_folds": 1}, "'n_folds' parameter"),
        ({"shared_weights": "no"}, "'shared_weights' parameter"),
        ({"interaction_order": 0}, "'interaction_order' parameter"),
        ({"distribution": "cauchy"}, "'distribution' parameter"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X = np.random.default_rng(SEED).normal(size=(20, 3))
    with pytest.raises(ValueError, match=message):
        KERNEL(**parameters).fit(X, X[:, 0])


def test_terms_that_are_not_listed_are_refused():
    X = np.random.default_rng(SEED).normal(size=(30, 700))
    pce = KERNEL(2, input_weights="equal").fit(X, X[:, 0])
    with pytest.raises(NoTermsError, match=r"sum over 246051 terms.*marginal"):
        pce.expansion_.gradient(X)
    with pytest.raises(NoTermsError, match="at most 200000"):
        pce.expansion_.explicit()
    assert pce.marginal([0, 1]).explicit().multi_indices.shape == (6, 2)
    assert not hasattr(pce, "sobol_interval")


def test_values_that_overflow_are_refused():
    X = np.random.default_rng(SEED).normal(size=(20, 3))
    pce = KERNEL(2, input_weights="equal").fit(X, X[:, 0])
    far = X.copy()
    far[1, 2] = 1e30
    with pytest.raises(ValueError, match=r"1e\+30 in column 2, where polynomials"):
        pce.predict(far)


def test_a_surrogate_has_no_resamples(surrogate):
    with pytest.raises(ValueError, match="not listed"):
        surrogate.sobol_interval()
    with pytest.raises(ValueError, match="no resamples"):
        surrogate.noise_corrected_sobol_indices()


@pytest.mark.parametrize("value", [1.0, np.float32(0.6628243)])
@pytest.mark.parametrize("distribution", ["normal", "categorical"])
def test_inputs_that_do_not_vary_explain_nothing(value, distribution):
    y = 1e-9 * np.random.default_rng(0).normal(size=15)
    X = np.full((15, 1), value)
    model = PolynomialChaosKernelRegressor(
        interaction_order=1, distribution=distribution
    ).fit(X, y)
    np.testing.assert_array_equal(model.sobol_indices_, [[0.0]])
    np.testing.assert_allclose(model.predict(X), y.mean())


def far_outside(offset, degree):
    rng = np.random.default_rng(8585)
    X = rng.normal(size=(15, 3))
    y = np.column_stack([X[:, 0] + rng.normal(size=15) for _ in range(5)])
    X[:, 2] += offset
    model = PolynomialChaosKernelRegressor(
        degree, input_weights="equal", distribution=norm(0.0, 1.0)
    )
    return model.fit(X, y)


@pytest.mark.parametrize(("offset", "degree"), [(10, 1), (10, 2), (1000, 1)])
def test_an_input_outside_its_distribution(offset, degree):
    """Rounding of its kernel is in no share: they add up."""
    model = far_outside(offset, degree)
    first, total = model.sobol_indices_, model.total_sobol_indices_
    assert (first.sum(axis=1) <= 1.0 + 1e-12).all()
    assert ((first <= total) & (total <= 1.0)).all()
    both = model.closed_sobol_index([2]) + model.total_sobol_index([0, 1])
    np.testing.assert_allclose(both, 1.0, atol=1e-7)


@pytest.mark.parametrize(("offset", "degree"), [(1e4, 2), (1e6, 1), (1e6, 2)])
def test_an_input_whose_kernel_would_be_rounding_is_refused(offset, degree):
    with pytest.raises(ValueError, match=r"Column 2 of X is on average 1e\+0[46] "):
        far_outside(offset, degree)
