"""Refusals that name the argument and say what is expected; found by the fuzz suite."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import norm, uniform
from sklearn.decomposition import PCA
from sklearn.linear_model import LassoCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from skpce import (
    LogRatioTransformer,
    NatafTransformer,
    PolynomialChaosRegressor,
    inspection,
    save_model,
)
from skpce.decision import InputBelief
from skpce.embedding import BetaVAE, PLSTransformer
from skpce.ensembles import member_blocks
from skpce.inspection import (
    Result,
    input_tests,
    modes_test,
    original_space_indices,
    part_effects,
    shapley_effects,
    sobol_indices,
    verdict,
)
from skpce.metrics import (
    coverage_interval,
    crps_score,
    policy_fragility,
    total_variation_distance,
)
from skpce.plotting import EmbeddingDisplay, MainEffectsDisplay
from tests.shared import cases, refuses, ridge_pce, ridge_surrogate

N = 30


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, X @ [1.0, 2.0, 3.0]


@pytest.fixture
def fitted(data):
    return ridge_pce(2).fit(*data)


@pytest.fixture
def policies(data):
    logits = np.outer(data[0][:, 0], [1.0, -1.0, 0.5])
    parts = np.exp(logits)
    return parts / parts.sum(axis=1, keepdims=True)


class TestLabels:
    """What a verdict is given beside X and y: labels of rewards, and an order."""

    @pytest.fixture
    def repeated(self):
        rng = np.random.default_rng(0)
        X = np.repeat(rng.normal(size=(N // 2, 2)), 2, axis=0)
        return (ridge_pce(1), X, X[:, 0] + rng.normal(size=N))

    @cases(
        "reward",
        np.repeat(np.arange(N // 2), 2) + 1j,
        [{"a": 1}] * N,
        np.full(N, "NaT", dtype="datetime64[D]"),
        np.ma.array(np.arange(N) // 2, mask=np.arange(N) == 0),
        [None] * N,
        [None, "a"] * (N // 2),
    )
    def test_labels_that_are_none(self, repeated, reward):
        refuses(r"^replicate .*expected", verdict, *repeated, replicate=reward)

    @pytest.mark.parametrize("kind", [date.fromordinal, str, float])
    def test_labels(self, repeated, kind):
        labels = [kind(i // 2 + 1) for i in range(N)]
        found = verdict(*repeated, replicate=labels)
        assert len(found.attributable) == 1
        with pytest.raises(ValueError, match=r"have one label .* the same"):
            verdict(*repeated, replicate=labels[1:] + labels[:1])

    @cases(
        "order",
        np.full(N, "NaT", dtype="datetime64[D]"),
        np.full(N, np.inf),
        np.full(N, np.nan),
        np.ma.array(np.arange(N), mask=np.arange(N) == 0),
        np.arange(N) + 1j,
        ["a"] * N,
    )
    def test_orders_that_are_none(self, repeated, order):
        refuses(r"^order .*expected", verdict, *repeated, order=order)

    def test_an_order_of_dates_as_text(self, repeated):
        days = [date.fromordinal(i + 1).isoformat() for i in range(N)]
        assert_array_equal(verdict(*repeated, order=days).design.order, np.arange(N))


class TestSubsets:
    METHODS = ("sobol_index", "closed_sobol_index", "total_sobol_index", "marginal")

    @pytest.mark.parametrize("method", METHODS)
    def test_an_array_without_axes_is_no_subset(self, fitted, method):
        with pytest.raises(
            ValueError, match=r"features must be one or more inputs, by"
        ):
            getattr(fitted, method)(np.array(1))

    @pytest.mark.parametrize("method", METHODS[:3])
    def test_a_number_of_numpy_is_one(self, fitted, method):
        found = getattr(fitted, method)
        assert_array_equal(found(np.int64(1)), found([1]))


class TestNoChoice:
    """A surrogate of steps with one part each has nothing that varies."""

    @pytest.fixture(params=["normal", "uniform"])
    def surrogate(self, request, data):
        model = ridge_surrogate(2, steps=(1, 1), distribution=request.param)
        return model.fit(data[0], np.ones((N, 2)))

    def test_original_space_indices(self, surrogate, data):
        found = original_space_indices(
            surrogate, data[0], n_samples=4096, random_state=0
        )
        assert found.supported == (False, False)
        for name in ("first_order", "activity_share", "total_variance"):
            assert not np.any(getattr(found, name))

    def test_main_effects_are_refused(self, surrogate, data):
        pytest.importorskip("matplotlib")
        from skpce.plotting import MainEffectsDisplay

        with pytest.raises(ValueError, match="no step with a choice; expected"):
            MainEffectsDisplay.from_estimator(surrogate, data[0])


@pytest.mark.parametrize("function", [sobol_indices, shapley_effects])
@pytest.mark.parametrize("kind", [int, PolynomialChaosRegressor])
def test_classes_are_no_models(function, kind, data):
    refuses(f"estimator of .* is the class {kind.__name__}", function, kind, data[0])


@pytest.mark.parametrize("model", [norm(0, 1), norm, 3.0, int, None, "abc"])
def test_what_a_model_file_holds_is_said(model, tmp_path):
    path = tmp_path / "model.npz"
    expected = "estimator is .*; expected one that a model file holds: Polynomial"
    refuses(expected, save_model, model, path)
    assert not path.exists()


class TestMagnitudesInMetrics:
    """Metrics have the limit of the fits: beyond it squares overflow."""

    LARGE = 1e158

    def test_crps(self):
        draws = np.zeros((4, 5, 2))
        with pytest.raises(ValueError, match=r"y_true has .*e\+158 in row 0"):
            crps_score(np.full((5, 2), self.LARGE), draws)
        with pytest.raises(ValueError, match=r"draws has .*expected numbers up to"):
            crps_score(np.zeros((5, 2)), draws + self.LARGE)

    def test_intervals(self, policies):
        with pytest.raises(ValueError, match=r"upper has .*expected numbers up to"):
            coverage_interval(policies, policies, policies + self.LARGE)

    def test_intervals_without_an_end_are_intervals(self, policies):
        infinite = np.full_like(policies, np.inf)
        found = coverage_interval(policies, -infinite, infinite)
        assert found.coverage == [1.0]

    def test_distances(self, policies):
        with pytest.raises(ValueError, match=r"p has .*expected numbers up to"):
            total_variation_distance(policies * self.LARGE, policies)


class TestNamed:
    """The message names the argument that is wrong, not another one."""

    def test_steps_of_another_table_than_y(self, policies):
        with pytest.raises(ValueError, match=r"expected 3, the number of columns of X"):
            LogRatioTransformer(steps=(2, 2)).fit(policies)
        with pytest.raises(ValueError, match="number of columns of y_true"):
            coverage_interval(policies, policies, policies, steps=(2, 2))

    @pytest.mark.parametrize("weights", [np.nan, lambda x: x, "abc", np.ones(2)])
    def test_sample_weight(self, policies, weights):
        weights = np.full(N, weights) if isinstance(weights, float) else weights
        with pytest.raises(
            ValueError, match=r"sample_weight.* expected|must be an array"
        ):
            policy_fragility(policies, sample_weight=weights)

    def test_mask_of_rows_of_different_length(self, policies, data):
        model = ridge_surrogate(1, steps=(3,), mask=[[True], [True, False]])
        refuses(r"'mask' parameter .* must be 'infer' or", model.fit, data[0], policies)

    def test_rows_of_different_length(self, data):
        with pytest.raises(
            ValueError, match="X has rows of different length; expected"
        ):
            ridge_pce().fit([[1.0], [1.0, 2.0]], [1.0, 2.0])

    def test_regressors_that_refuse(self, data):
        weights = np.eye(N)[0]
        model = PolynomialChaosRegressor(
            1, regressor=LassoCV(cv=2), distribution="normal"
        )
        with pytest.raises(
            ValueError, match=r"'regressor' parameter is LassoCV.*expected"
        ):
            model.fit(*data, sample_weight=weights)
        model = PolynomialChaosRegressor(
            1, regressor=KNeighborsRegressor(), distribution="normal"
        )
        with pytest.raises(ValueError, match="expected a 'regressor' that does"):
            model.fit(*data, sample_weight=np.arange(N) + 1.0)

    def test_sets_of_parts(self, data):
        with pytest.raises(ValueError, match="'b' of sets must be a sequence of some"):
            part_effects(np.sum, dict.fromkeys("ac", data[0]), sets={"b": 1})

    def test_columns_of_results(self):
        found = Result({"step": ("a",)}, {"q2": np.ones(1)})
        refuses("column must be one of 'q2'", found.largest, [1])

    @pytest.mark.parametrize("value", [True, 1.5])
    def test_components(self, value, data):
        with pytest.raises(
            ValueError, match="'n_components' parameter of PLSTransformer"
        ):
            PLSTransformer(value).fit(*data)

    def test_scores(self, data):
        model = NatafTransformer().fit(data[0])
        for scores in (None, np.zeros((2, 5)), data[0] + 1j):
            with pytest.raises((ValueError, TypeError), match="scores"):
                model.from_scores(scores)

    def test_nothing_goes_with_y(self):
        """Matching pursuit may stop before its first column."""
        X = np.array([[1.0], [1.0 + 1e-12]])
        model = PolynomialChaosRegressor(2, solver="lars", distribution=norm(0, 1))
        assert np.isfinite(model.fit(X, [0.0, 1.0]).coefficients_).all()

    def test_combinations_of_outputs(self, fitted):
        for matrix in (3.0, [[np.nan]], np.ones((1, 2)), [[1e200]]):
            with pytest.raises(
                ValueError, match=r"'matrix' parameter of mapped|matrix has"
            ):
                fitted.expansion_.mapped(matrix)

    def test_particles(self):
        with pytest.raises(ValueError, match=r"particles has .*expected numbers up to"):
            InputBelief(np.full((3, 1), 1e160))


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_modes_do_not_depend_on_the_unit(scale, data):
    """Trees read inputs in single precision, where 1e60 is infinite."""
    X = data[0]
    logits = np.outer(np.sign(X[:, 0]) * 3.0 + 0.1 * X[:, 1], [1.0, -1.0])
    y = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    rules = []
    for unit in (1.0, scale):
        model = ridge_surrogate(3, distribution="empirical", random_state=0)
        found = modes_test(model.fit(X * unit, y))
        assert found.bimodal == (True, True)
        rules.append((found.dip[0], found.expansion_dip[0], found.rule_accuracy[0]))
    assert_allclose(rules[0], rules[1], rtol=1e-6)


def test_embeddings_with_other_laws(X, y):
    law = uniform(-9.0, 18.0)
    pipeline = make_pipeline(PCA(2), ridge_pce(2, distribution=law))
    found = original_space_indices(
        pipeline.fit(X, y), X, n_samples=4096, random_state=0
    )
    assert found.shapley is None
    assert np.isfinite(found.first_order).all()


@pytest.mark.parametrize("kind", ["normal", "uniform", "exponential", "gamma", "beta"])
@pytest.mark.parametrize("value", [5e19, -3.0, 0.0])
def test_moments_beside_a_constant_column(kind, value, rng):
    """Excess kurtosis is at least skewness squared minus 2, whatever the constant."""
    X = np.c_[rng.normal(size=30), np.full(30, value)]
    law = ["normal", kind]
    fitted = ridge_pce(2, distribution=law).fit(X, X[:, 0] ** 2)
    found = fitted.moments()
    assert found.kurtosis >= found.skewness**2 - 2.0
    expected = ridge_pce(2).fit(X[:, :1], X[:, 0] ** 2).moments()
    assert_allclose(found.kurtosis, expected.kurtosis, rtol=0.05)


@pytest.mark.parametrize("kind", ["normal", "uniform", "exponential", "gamma", "beta"])
def test_resamples_of_one_value(kind):
    """A resample of one member alone says nothing of the scale of an input."""
    X = np.array([[0.4, -3.5e-51], [-0.1, -1.9e-51]]) ** 2
    y = [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]
    model = ridge_surrogate(6, distribution=kind, interaction_order=2)
    found = model.fit(np.abs(X) ** 0.5, y).sobol_interval(n_resamples=9, random_state=1)
    assert np.isfinite(found.total_order).all()


class TestMemory:
    """Counts of draws are compared with the memory before anything is drawn."""

    MANY = 10**12

    @cases(
        ("method", "name"),
        ("sobol_interval", "n_resamples"),
        ("sample", "n_samples"),
        ("predict_interval", "n_samples"),
    )
    def test_methods(self, fitted, method, name):
        given = {"X": None} if method == "predict_interval" else {}
        with pytest.raises(ValueError, match=f"GiB for {name}=.*; expected less"):
            getattr(fitted, method)(**given, **{name: self.MANY})

    def test_models(self, fitted, data):
        with pytest.raises(ValueError, match="GiB for n_samples="):
            sobol_indices(fitted, data[0], n_samples=self.MANY)

    def test_inspections(self, fitted, data):
        with pytest.raises(ValueError, match="GiB for n_samples="):
            original_space_indices(fitted, data[0], n_samples=self.MANY)
        parts = {"a": data[0], "b": data[0]}
        with pytest.raises(ValueError, match="GiB for n_draws="):
            part_effects(lambda z: z.sum(axis=1), parts, n_draws=self.MANY)

    def test_maps(self, data):
        refuses("GiB for n_samples=", NatafTransformer().fit(data[0]).sample, self.MANY)


class TestUnits:
    """Correlations and standard scores do not depend on the unit of X."""

    # Powers of two, since Shapiro's test rounds to single precision before scipy 1.12.
    @pytest.mark.parametrize("unit", [2.0**-830, 2.0**-200, 2.0**200])
    def test_input_tests(self, unit, data):
        X = data[0]
        first, second = (input_tests(table) for table in (X, X * unit))
        for name in ("pearson", "dependence_p_values", "normality_p_values"):
            pair = getattr(first, name), getattr(second, name)
            assert_allclose(*pair, rtol=1e-7)

    def test_scores_that_hardly_vary(self, data):
        """With a frozen law 1e-250 is the middle of the distribution."""
        found = NatafTransformer(norm(0, 1)).fit(data[0] * 1e-60)
        assert np.isfinite(found.transform(data[0] * 1e-60)).all()


def test_parts_of_other_shapes(data):
    X = data[0]
    model = np.sum
    with pytest.raises(ValueError, match=r"parts have the shapes .*; expected"):
        part_effects(model, {"a": X, "b": X[:, :2]}, n_draws=16)
    with pytest.raises(ValueError, match=r"part .b. of parts has .*expected"):
        part_effects(model, {"a": X, "b": X * 1e200}, n_draws=16)


class TestLater:
    """What later runs of the fuzz suite and other readers found."""

    def test_displays_of_tables_that_are_none(self):
        X = np.random.default_rng(0).normal(size=(20, 1))
        model = ridge_pce(1).fit(X, X[:, 0])
        with pytest.raises(ValueError, match="X holds text"):
            EmbeddingDisplay.from_estimator(model, np.array([["a"]], dtype=object))
        refuses("0 sample", MainEffectsDisplay.from_estimator, model, X[:0])

    @pytest.mark.parametrize("pipeline", ["", [], ()])
    def test_verdict_of_what_is_no_estimator(self, pipeline):
        X = np.random.default_rng(0).normal(size=(20, 1))
        with pytest.raises((TypeError, ValueError), match="pipeline"):
            inspection.verdict(pipeline, X, X[:, 0])

    def test_layers_that_need_more_than_the_memory(self):
        X = np.random.default_rng(0).normal(size=(20, 3))
        refuses("n_components=1000000", BetaVAE(10**6).fit, X)

    @pytest.mark.parametrize("factors", [["mean", "b"], ["a", "a × b"]])
    def test_parts_of_one_name(self, factors):
        table = np.zeros((2, 3, 4))
        if factors[0] == "a":
            table, factors = np.zeros((2, 3, 4, 2)), ["a", "b", "a × b"]
        with pytest.raises(ValueError, match="Two parts would have the name"):
            inspection.parts_of_table(table, factors)

    def test_a_rest_of_another_name(self):
        with pytest.raises(ValueError, match="Two parts would have the name 'a'"):
            inspection.parts_of_table(
                np.zeros((2, 3, 4)), ["a", "b"], order=1, rest="a"
            )

    def test_an_order_of_rows_that_differ(self):
        X = np.random.default_rng(0).normal(size=(20, 1))
        with pytest.raises(ValueError, match=r"order has shape .* a number or a date"):
            inspection.verdict(ridge_pce(1), X, X[:, 0], order=[[1, 2], [3]])


def test_ragged_outputs_and_no_members_are_refused_in_words():
    """Found by the fuzz suite in what had been added that day."""
    X = np.random.default_rng(0).normal(size=(4, 2))
    refuses(r"\by\b", ridge_pce(1).fit, X, [[1.0], [2.0], [3.0], [1.0, 2.0]])
    draws = np.full((3, 4, 2), 0.5)
    refuses("y_true", crps_score, np.empty((0, 2)), draws, steps=(2,))


def test_labels_under_a_distribution_of_numbers_name_the_column_of_x():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": ["u", "v", "u", "v", "u"]})
    with pytest.raises(ValueError, match=r"for a, whose column of X holds labels"):
        ridge_pce(1, distribution=[norm(0, 1)]).fit(X, np.arange(5.0))


def test_blocks_of_sparse_members_are_refused():
    refuses(r"'X' .* a dense array", member_blocks, csr_array(np.eye(3)), np.zeros(3))


def test_a_cv_of_no_dimension_sums_beyond_numbers_and_draws_beyond_them(data, policies):
    with pytest.raises(
        ValueError, match="cv must be an int, a splitter that needs no labels, or pairs"
    ):
        verdict(ridge_pce(1), *data, cv=np.array(3.0))
    beyond = np.full(policies.shape, 1e308)
    model = ridge_surrogate(1, steps=(3,))
    refuses(r"expected numbers up to 1e\+70", verdict, model, data[0], beyond)
