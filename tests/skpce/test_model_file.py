"""A model file holds all of an estimator, and nothing but arrays and plain JSON."""

from __future__ import annotations

import errno
import json
import os
import pickle
import re
import warnings
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import ARDRegression, BayesianRidge, Lasso, LassoCV, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import skpce
from skpce import (
    CompositionalPCESurrogate,
    LogRatioTransformer,
    NatafTransformer,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
    RosenblattTransformer,
    load_model,
    save_model,
)
from skpce._input_laws import NAMES
from skpce._model_file import (
    CLASSES,
    KINDS,
    OF_SCIKIT_LEARN,
    OURS,
    VERSION,
    attributes,
    spec_of,
)
from skpce._solvers import FROM_MOMENTS, SOLVERS
from skpce.embedding import BetaVAE, PLSTransformer

N_SAMPLES = 60
WIDTHS = (3, 2, 4)

HISTOGRAM = stats.rv_histogram(
    (np.array([1.0, 3.0, 2.0]), np.array([-1.0, 1.0, 2.5, 5.0])), density=False
)
FROZEN = [
    stats.norm(1, 2),
    stats.uniform(-0.5, scale=5),
    stats.gamma(a=2.0, loc=-0.1),
    stats.beta(2, 3, -0.5, 5),
    stats.expon(loc=-0.1),
    stats.weibull_min(1.5, loc=-0.1, scale=2),
    stats.t(df=20, loc=1),
    HISTOGRAM(),
    stats.truncnorm(-3, 3, loc=1, scale=2),
    stats.poisson(1.5),
    stats.binom(n=5, p=0.4),
    stats.rv_discrete(values=([0, 1, 2, 3], [0.1, 0.2, 0.3, 0.4]))(),
    stats.randint(0, 5),
]

STANDARD = stats.norm()

REGRESSORS = [
    *(PolynomialChaosRegressor(solver=name, distribution="normal") for name in SOLVERS),
    *(PolynomialChaosRegressor(distribution=name, solver="ridge") for name in NAMES),
    *(PolynomialChaosRegressor(distribution=law, solver="ridge") for law in FROZEN),
    *(
        PolynomialChaosRegressor(
            distribution=stats.norm(1, 1), criterion="gcv", solver=s
        )
        for s in sorted(FROM_MOMENTS)
    ),
    PolynomialChaosRegressor(
        3,
        distribution=[stats.norm(1, 1), "empirical", stats.weibull_min(2)],
        solver="ridge",
    ),
    PolynomialChaosRegressor(
        distribution=np.array(["normal", "uniform", stats.norm(1, 1)], dtype=object),
        solver="ridge",
    ),
    PolynomialChaosRegressor(
        4,
        truncation="hyperbolic",
        q=0.5,
        interaction_order=2,
        solver="ridge",
        distribution="normal",
    ),
    PolynomialChaosRegressor(
        anisotropy=[1, 2.5, 1.0], solver="ridge", distribution="normal"
    ),
    PolynomialChaosRegressor(
        anisotropy=np.array([1.0, 2.0, 1.0]), solver="ridge", distribution="normal"
    ),
    PolynomialChaosRegressor(
        multi_indices=[[3, 0, 0], [1, 1, 0]], solver="ridge", distribution="normal"
    ),
    PolynomialChaosRegressor(
        alphas=(1e-3, 1.0, np.float64(10.0)), solver="ridge", distribution="normal"
    ),
    PolynomialChaosRegressor(regressor=Ridge(alpha=0.1 + 0.2), distribution="normal"),
    PolynomialChaosRegressor(
        regressor=Lasso(0.01, warm_start=True), distribution="normal"
    ),
    PolynomialChaosRegressor(1, regressor=LassoCV(cv=2), distribution="normal"),
    PolynomialChaosRegressor(regressor=BayesianRidge(), distribution="normal"),
    PolynomialChaosRegressor(),
    PolynomialChaosRegressor(2),
]
SURROGATES = [
    CompositionalPCESurrogate(steps=WIDTHS, solver="ridge", distribution="normal"),
    CompositionalPCESurrogate(
        steps={"first": 3, "second": 2, "third": 4},
        solver="ridge",
        distribution="normal",
    ),
    CompositionalPCESurrogate(
        steps=list(WIDTHS),
        log_ratio="alr",
        reference=0,
        solver="ridge",
        distribution="normal",
    ),
    CompositionalPCESurrogate(
        1,
        steps=np.array(WIDTHS),
        log_ratio="clr",
        solver="ridge",
        distribution="normal",
    ),
    CompositionalPCESurrogate(
        steps=WIDTHS, distribution=stats.norm(1, 2), solver="ridge"
    ),
    CompositionalPCESurrogate(steps=WIDTHS),
    CompositionalPCESurrogate(steps=WIDTHS, solver="paper", distribution="normal"),
    CompositionalPCESurrogate(
        1, steps=WIDTHS, solver="lars", log_ratio="alr", distribution="normal"
    ),
    CompositionalPCESurrogate(
        steps=WIDTHS, alpha_per_target=True, solver="ridge", distribution="normal"
    ),
    CompositionalPCESurrogate(
        1,
        steps=WIDTHS,
        n_resamples=5,
        n_permutations=3,
        solver="ridge",
        distribution="normal",
    ),
    CompositionalPCESurrogate(
        1,
        steps=WIDTHS,
        random_state=np.random.RandomState(3),
        n_resamples=5,
        solver="ridge",
        distribution="normal",
    ),
    CompositionalPCESurrogate(
        1, steps=WIDTHS, regressor=Lasso(1e-3), distribution="normal"
    ),
    CompositionalPCESurrogate(
        1,
        steps=WIDTHS,
        mask=[True] * 9,
        random_state=5,
        solver="ridge",
        distribution="normal",
    ),
]
SURROGATE_PIPELINES = [
    make_pipeline(StandardScaler(), PCA(2, whiten=True), SURROGATES[0]),
    make_pipeline(
        VarianceThreshold(),
        PCA(2, svd_solver="randomized", random_state=0),
        SURROGATES[0],
    ),
    make_pipeline(PLSTransformer(2), SURROGATES[1]),
    make_pipeline(
        PLSTransformer(2, target_transformer=LogRatioTransformer(steps=WIDTHS)),
        SURROGATES[0],
    ),
]
REGRESSOR_PIPELINES = [
    make_pipeline(
        MinMaxScaler(), PolynomialChaosRegressor(distribution="uniform", solver="ridge")
    ),
    make_pipeline(
        MaxAbsScaler(),
        RobustScaler(),
        PolynomialChaosRegressor(solver="ridge", distribution="normal"),
    ),
    make_pipeline(
        QuantileTransformer(n_quantiles=20, output_distribution="normal"),
        PolynomialChaosRegressor(distribution=stats.norm(), solver="ridge"),
    ),
    make_pipeline(
        NatafTransformer(["normal", "empirical", "normal"]),
        PolynomialChaosRegressor(distribution=stats.norm(), solver="ridge"),
    ),
    make_pipeline(
        TruncatedSVD(2, random_state=0),
        "passthrough",
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
    ),
    make_pipeline(PolynomialChaosFeatures(2, distribution="normal"), ARDRegression()),
]
TRANSFORMERS = [
    PolynomialChaosFeatures(3, distribution="empirical"),
    PolynomialChaosFeatures(2, distribution="normal").set_output(transform="pandas"),
    NatafTransformer(),
    NatafTransformer("normal", root="symmetric", shrinkage=0.1),
    NatafTransformer([stats.norm(1, 2), "uniform", "gamma"], correlation=np.eye(3)),
    NatafTransformer(["beta", "exponential", stats.t(df=5)]),
    RosenblattTransformer("normal", bandwidth=0.5),
    RosenblattTransformer(bandwidth=1.0),
]
COMPOSITION_TRANSFORMERS = [
    LogRatioTransformer(kind, steps=WIDTHS) for kind in ("alr", "clr", "ilr")
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(N_SAMPLES, 3)).astype(float)
    y = np.column_stack([np.exp(X[:, 0] / 4), X[:, 1] * X[:, 2]])
    return X, y + 0.1 * rng.normal(size=y.shape)


@pytest.fixture(scope="module")
def policies():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N_SAMPLES, 3))
    parts = [softmax(X @ rng.normal(size=(3, width)), axis=1) for width in WIDTHS]
    return X, np.hstack(parts)


@pytest.fixture
def through_a_file(tmp_path):
    def load(estimator):
        save_model(estimator, tmp_path / "model.npz")
        return load_model(tmp_path / "model.npz")

    return load


def through_a_pickle(estimator):
    return pickle.loads(pickle.dumps(estimator))


# What is the same


def assert_same(one, other):
    """Assert that two values, and all that they hold, are equal to the bit."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if one.dtype == object:
            assert_same(one.tolist(), other.tolist())
        else:
            np.testing.assert_array_equal(one, other)
    elif is_dataclass(one):
        for entry in fields(one):
            assert_same(getattr(one, entry.name), getattr(other, entry.name))
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for name in one:
            assert_same(one[name], other[name])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for mine, its in zip(one, other, strict=True):
            assert_same(mine, its)
    elif hasattr(one, "dist"):
        assert one.dist.name == other.dist.name
        assert_same((one.args, one.kwds), (other.args, other.kwds))
    elif isinstance(one, np.random.RandomState):
        assert_same(one.get_state(), other.get_state())
    elif hasattr(one, "to_numpy"):
        assert list(one.columns) == list(other.columns)
        assert_same(one.to_numpy(), other.to_numpy())
    elif isinstance(one, BaseEstimator):
        assert_same_estimator(one, other)
    elif type(one).__module__.startswith("skpce"):
        assert_same(vars(one), vars(other))
    else:
        assert one == other or (one != one and other != other), (one, other)


def assert_same_estimator(one, other):
    """Parameters, everything learned, and every fitted attribute that is computed."""
    known = one.get_params(deep=False)
    assert_same(known, other.get_params(deep=False))
    if type(one).__module__.startswith("sklearn"):
        return
    assert_same(
        {k: vars(one)[k] for k in sorted(vars(one))},
        {k: vars(other)[k] for k in sorted(vars(other))},
    )
    for name in dir(type(one)):
        if name.endswith("_") and not name.startswith("_") and hasattr(one, name):
            assert_same(getattr(one, name), getattr(other, name))


def outcome(call, *args):
    """Return what a call returns, or says where it refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(*args)
    except ValueError as error:
        return f"ValueError: {error}"


OF_REGRESSORS = {
    "predict": lambda e, X: e.predict(X, return_std=True),
    "transform": lambda e, X: e.transform(X),
    "names": lambda e, X: e.get_feature_names_out(),
    "moments": lambda e, X: e.moments(),
    "shapley": lambda e, X: e.shapley_effects(),
    "main effects": lambda e, X: e.main_effects(X),
    "gradient": lambda e, X: e.gradient(X),
    "frame": lambda e, X: e.sobol_frame(),
    "residual interval": lambda e, X: e.sobol_interval(n_resamples=4, random_state=0),
    "bootstrap": lambda e, X: e.sobol_interval(
        method="bootstrap", n_resamples=4, random_state=0
    ),
    "noise": lambda e, X: e.noise_corrected_sobol_indices(random_state=0),
}
OF_SURROGATES = {
    "predict": lambda e, X: e.predict(X),
    "transform": lambda e, X: e.transform(X),
    "inverse": lambda e, X: e.inverse_transform(e.transform(X)),
    "names": lambda e, X: e.get_feature_names_out(),
    "interval": lambda e, X: e.sobol_interval(n_resamples=4),
    "noise": lambda e, X: e.noise_corrected_sobol_indices(),
    "frame": lambda e, X: e.sobol_frame(),
    "shapley": lambda e, X: e.shapley_effects(),
    "sample": lambda e, X: e.sample(4, X[:3]),
    "intervals": lambda e, X: e.predict_interval(X[:3], n_samples=20),
    "diagnostics": lambda e, X: [
        e.diagnostics_.distribution_p_values,
        e.diagnostics_.condition_number,
        str(e.diagnostics_.loo_q2),
    ],
    "indices": lambda e, X: e.probability_sobol_indices(n_samples=32),
}
OF_TRANSFORMERS = {
    "transform": lambda e, X: e.transform(X),
    "names": lambda e, X: e.get_feature_names_out(),
}
OF_MAPS = {
    "inverse": lambda e, X: e.inverse_transform(e.transform(X)),
    "draws": lambda e, X: e.sample(5, random_state=0),
}


def assert_same_figures(one, other, calls, X):
    for name, call in calls.items():
        found, again = outcome(call, one, X), outcome(call, other, X)
        assert_same(found, again)
        assert not isinstance(found, str) or found.startswith("ValueError"), name


def with_a_seed(*surrogates):
    """Let surrogates without a random state draw the same numbers."""
    for surrogate in surrogates:
        if surrogate.random_state is None:
            surrogate.set_params(random_state=0)


def fitted(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if str(getattr(estimator, "distribution", None)).startswith("log"):
            X = 1.0 + np.abs(X)
        return clone(estimator).fit(X, y)


THROUGH = ["file", "pickle"]


@pytest.fixture(params=THROUGH)
def through(request, through_a_file):
    return through_a_file if request.param == "file" else through_a_pickle


# Round trips


@pytest.mark.parametrize("estimator", REGRESSORS, ids=range(len(REGRESSORS)))
def test_regressors(estimator, data, through):
    one = fitted(estimator, *data)
    other = through(one)
    assert_same(one, other)
    assert_same_figures(one, other, OF_REGRESSORS, data[0])


@pytest.mark.parametrize("estimator", SURROGATES, ids=range(len(SURROGATES)))
def test_surrogates(estimator, policies, through):
    one = fitted(estimator, *policies)
    other = through(one)
    assert_same(one, other)
    with_a_seed(one, other)
    assert_same_figures(one, other, OF_SURROGATES, policies[0])


@pytest.mark.parametrize(
    "pipeline", SURROGATE_PIPELINES, ids=range(len(SURROGATE_PIPELINES))
)
def test_pipelines_of_surrogates(pipeline, policies, through):
    one = fitted(pipeline, *policies)
    other = through(one)
    np.testing.assert_array_equal(one.predict(policies[0]), other.predict(policies[0]))
    assert_same(one[-1], other[-1])
    Z = one[:-1].transform(policies[0])
    np.testing.assert_array_equal(Z, other[:-1].transform(policies[0]))
    with_a_seed(one[-1], other[-1])
    assert_same_figures(one[-1], other[-1], OF_SURROGATES, Z)


@pytest.mark.parametrize(
    "pipeline", REGRESSOR_PIPELINES, ids=range(len(REGRESSOR_PIPELINES))
)
def test_pipelines_of_regressors(pipeline, data, through):
    X, y = data[0], data[1][:, 0]
    one = fitted(pipeline, X, y)
    other = through(one)
    np.testing.assert_array_equal(
        outcome(one.predict, X), outcome(other.predict, X), strict=True
    )
    assert_same(one, other)
    np.testing.assert_array_equal(
        one[:-1].get_feature_names_out(), other[:-1].get_feature_names_out()
    )


@pytest.mark.parametrize("estimator", TRANSFORMERS, ids=range(len(TRANSFORMERS)))
def test_transformers(estimator, data, through):
    one = fitted(estimator, *data)
    other = through(one)
    assert_same(one, other)
    maps = (NatafTransformer, RosenblattTransformer)
    calls = OF_TRANSFORMERS | (OF_MAPS if isinstance(one, maps) else {})
    assert_same_figures(one, other, calls, data[0])


@pytest.mark.parametrize(
    "estimator", COMPOSITION_TRANSFORMERS, ids=["alr", "clr", "ilr"]
)
def test_log_ratios(estimator, policies, through):
    one = fitted(estimator, policies[1], None)
    other = through(one)
    assert_same(one, other)
    calls = {"inverse": lambda e, X: e.inverse_transform(e.transform(X))}
    assert_same_figures(one, other, OF_TRANSFORMERS | calls, policies[1])


@pytest.mark.parametrize(
    "estimator",
    [*REGRESSORS, *SURROGATES, *SURROGATE_PIPELINES, *REGRESSOR_PIPELINES],
)
def test_an_estimator_that_is_not_fitted_stays_so(estimator, through):
    again = through(clone(estimator))
    assert_same(clone(estimator), again)
    assert not hasattr(again, "n_features_in_")
    clone(again)


def test_names_of_columns_and_weights_are_held(policies, through):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(policies[0], columns=["a", "b", "c"])
    columns = [f"{step}__{part}" for step in ("left", "right") for part in "xyz"]
    parts = policies[1][:, :3]
    y = pandas.DataFrame(np.hstack([parts, parts]), columns=columns)
    weights = np.arange(len(X)) % 3
    one = CompositionalPCESurrogate(1, solver="ridge", distribution="normal").fit(
        X, y, sample_weight=weights
    )
    other = through(one)
    assert_same(one, other)
    assert other.expansion_.input_names == ("a", "b", "c")
    assert one.score(X, y) == other.score(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        other.predict(X[["b", "a", "c"]])


def test_masked_parts_and_steps_without_choice(policies, through):
    y = np.hstack(
        [policies[1][:, :3], np.zeros((N_SAMPLES, 1)), np.ones((N_SAMPLES, 2))]
    )
    y[:, -1] = 0.0
    one = CompositionalPCESurrogate(
        1, steps=(4, 2), solver="ridge", distribution="normal"
    ).fit(policies[0], y)
    other = through(one)
    assert_same(one, other)
    with_a_seed(one, other)
    assert_same_figures(one, other, OF_SURROGATES, policies[0])


def test_one_target_stays_one_dimensional(data, through):
    one = PolynomialChaosRegressor(2, solver="ridge", distribution="normal").fit(
        data[0], data[1][:, 0]
    )
    assert through(one).predict(data[0]).shape == (N_SAMPLES,)


@pytest.mark.parametrize("law", [stats.norm(1, 1), stats.weibull_min(2, loc=-1)])
def test_a_fit_from_sums_goes_on(law, data, through):
    X, y = data
    model = PolynomialChaosRegressor(
        2, distribution=law, criterion="gcv", solver="ridge"
    )
    begun = clone(model).partial_fit(X[:30], y[:30])
    again = through(begun)
    assert_same(
        begun.partial_fit(X[30:], y[30:]).coefficients_,
        again.partial_fit(X[30:], y[30:]).coefficients_,
    )


def test_draws_go_on_where_a_random_state_was(policies, through_a_file):
    X, y = policies
    state = np.random.RandomState(0)
    state.normal(size=3)
    one = CompositionalPCESurrogate(
        1, steps=WIDTHS, random_state=state, solver="ridge", distribution="normal"
    ).fit(X, y)
    other = through_a_file(one)
    np.testing.assert_array_equal(one.sample(2), other.sample(2))
    np.testing.assert_array_equal(one.sample(2), other.sample(2))


def test_what_was_one_object_is_one_again(data, through):
    """An expansion and the problem behind it share their basis, laws their object."""
    law = stats.weibull_min(2, loc=-1)
    model = PolynomialChaosRegressor(2, distribution=[law] * 3, solver="ridge").fit(
        *data
    )
    again = through(model)
    assert again._problem.basis is again.expansion_.basis
    assert len({id(one) for one in again.distribution}) == 1
    assert again.basis_.laws[0].frozen is again.distribution[0]


def test_the_memory_of_a_pipeline_is_left_out(tmp_path, data, through_a_file):
    pipeline = make_pipeline(
        StandardScaler(),
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
        memory=str(tmp_path / "cache"),
    )
    assert through_a_file(pipeline.fit(*data)).memory is None


# What it is


def test_numpy_and_json_read_it(tmp_path, data):
    pce = PolynomialChaosRegressor(2, solver="ridge", distribution="normal").fit(*data)
    save_model(pce, tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as arrays:
        description = json.loads(arrays["model.json"])
        np.testing.assert_array_equal(
            arrays["expansion.coefficients"], pce.coefficients_, strict=True
        )
        np.testing.assert_array_equal(
            arrays["basis.multi_indices"], pce.multi_indices_, strict=True
        )
        assert all(arrays[name].dtype != object for name in arrays if "." in name[:-5])
    assert description["format"] == "skpce model"
    assert description["version"] == VERSION
    expansion = next(o for o in description["objects"] if o["kind"] == "expansion")
    assert expansion["input_names"] == {"tuple": ["x0", "x1", "x2"]}


@pytest.mark.parametrize(
    "estimator", [REGRESSORS[0], SURROGATES[9], SURROGATE_PIPELINES[3]]
)
def test_it_names_nothing_private(estimator, data, policies, tmp_path):
    X, y = data if estimator is REGRESSORS[0] else policies
    save_model(fitted(estimator, X, y), tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as arrays:
        text = arrays["model.json"].decode()
    assert not re.search(r"skpce\._|Law\b|Fit\b|Solver\b|Map\b", text)
    paths = set(re.findall(r'"(?:skpce|sklearn)\.[\w.]+"', text))
    assert paths <= {f'"{path}"' for path in (*OURS, *OF_SCIKIT_LEARN)}


@pytest.mark.parametrize("noun", CLASSES, ids=lambda noun: noun.__name__)
def test_every_field_of_a_noun_is_held(noun):
    """A field that a noun gains, with a default even, would be lost otherwise."""
    held = set(attributes(CLASSES[noun].holds).values())
    assert (
        {entry.name for entry in fields(noun)} <= held if is_dataclass(noun) else held
    )


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.tag)
def test_every_array_of_a_noun_has_axes(kind):
    """Arrays of other shapes could be loaded otherwise."""
    texts = [one for one in kind.holds.values() if isinstance(one, str)]
    words = ("floats", "reals", "positives", "ints", "bools", "texts", "labels")
    assert all(spec_of(one).axes for one in texts if spec_of(one).holds in words)


def test_what_a_field_holds_is_read():
    spec = spec_of("laws: (a | b c)[inputs]?")
    assert (spec.attribute, spec.holds, spec.axes) == ("laws", "(a | b c)", ("inputs",))
    assert spec.may_be_none
    assert spec_of("floats[terms inputs]").axes == ("terms", "inputs")


def test_the_same_model_makes_the_same_file(tmp_path, data):
    model = PolynomialChaosRegressor(2, solver="ridge", distribution="normal").fit(
        *data
    )
    for name in ("a", "b"):
        save_model(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    save_model(load_model(tmp_path / "a"), tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


def test_a_path_may_be_text_and_have_any_ending(tmp_path):
    path = os.path.join(tmp_path, "model.skpce")
    save_model(PolynomialChaosRegressor(4, solver="ridge", distribution="normal"), path)
    assert load_model(path).degree == 4


def test_a_file_that_is_there_is_replaced_as_a_whole(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    save_model(PolynomialChaosRegressor(4, solver="ridge", distribution="normal"), path)
    before = path.read_bytes()

    def interrupt(*args):
        raise KeyboardInterrupt

    for place in ("os.replace", "pathlib.Path.write_bytes"):
        with monkeypatch.context() as patch:
            patch.setattr(place, interrupt)
            with pytest.raises(KeyboardInterrupt):
                save_model(
                    PolynomialChaosRegressor(5, solver="ridge", distribution="normal"),
                    path,
                )
    with pytest.raises(ValueError, match="RandomForest"):
        save_model(RandomForestRegressor(), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        save_model(
            PolynomialChaosRegressor(solver="ridge", distribution="normal"),
            tmp_path / "none" / "model.npz",
        )
    assert caught.value.filename == str(tmp_path / "none")


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, monkeypatch):
    def fill(path, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pathlib.Path.write_bytes", fill)
    path = tmp_path / "model.npz"
    with pytest.raises(OSError, match=r"No space left on device.*model\.npz"):
        save_model(
            PolynomialChaosRegressor(solver="ridge", distribution="normal"), path
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ValueError, match=r"pipe is a device or a pipe"):
        save_model(
            PolynomialChaosRegressor(solver="ridge", distribution="normal"), path
        )
    assert path.is_fifo()


# What is refused


class Doubled(stats.norm.__class__):
    """A normal distribution of another class."""


class Ours(PolynomialChaosRegressor):
    """A class that inherits from ours."""


WITH_A_NOTE = PolynomialChaosRegressor(solver="ridge", distribution="normal")
WITH_A_NOTE.note = "mine"

REFUSED = {
    "a forest": (
        PolynomialChaosRegressor(
            regressor=RandomForestRegressor(), distribution="normal"
        ),
        r"PolynomialChaosRegressor\.regressor is a RandomForestRegressor, which a "
        r"model file does not hold\. It holds PolynomialChaosFeatures, .* PCA",
    ),
    "a search": (
        GridSearchCV(
            PolynomialChaosRegressor(solver="ridge", distribution="normal"),
            {"degree": [1]},
        ),
        "estimator is GridSearchCV",
    ),
    "a step": (make_pipeline(FunctionTransformer(), REGRESSORS[0]), "a FunctionTrans"),
    "torch": (BetaVAE(), "estimator is BetaVAE"),
    "a subclass": (Ours(), "estimator is Ours"),
    "another class of distribution": (
        PolynomialChaosRegressor(
            distribution=Doubled(name="norm")(0, 1), solver="ridge"
        ),
        r"PolynomialChaosRegressor\.distribution is Doubled 'norm', no distribution of",
    ),
    "another support": (
        PolynomialChaosRegressor(
            distribution=type(stats.norm)(a=-1, name="norm")(), solver="ridge"
        ),
        "no distribution of scipy.stats by its name",
    ),
    "another generator": (
        CompositionalPCESurrogate(
            random_state=np.random.RandomState(np.random.PCG64()),
            solver="ridge",
            distribution="normal",
        ),
        "CompositionalPCESurrogate.random_state is RandomState",
    ),
    "a function": (
        PolynomialChaosRegressor(alphas=len, solver="ridge", distribution="normal"),
        "alphas is <built-in function",
    ),
    "an attribute": (WITH_A_NOTE, "the attribute 'note' of PolynomialChaosRegressor"),
    "an expansion": (
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal")
        .fit(np.eye(3), np.arange(3.0))
        .expansion_,
        "estimator is Expansion",
    ),
    "a class": (PolynomialChaosRegressor, "estimator is <class"),
    "dates": (
        PolynomialChaosRegressor(
            alphas=np.array(["2020-01-01"], dtype="datetime64[D]"),
            solver="ridge",
            distribution="normal",
        ),
        r"alphas is an array of datetime64\[D\]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_model_file_does_not_hold_is_named(name, tmp_path):
    estimator, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        save_model(estimator, tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["a forest", "a subclass", "another support", "another generator"]
)
def test_a_pickle_holds_them(name):
    again = through_a_pickle(REFUSED[name][0])
    assert repr(again).split("(")[0] == repr(REFUSED[name][0]).split("(")[0]


def test_a_surrogate_of_a_forest_is_pickled_as_before(policies):
    X, y = policies
    forest = RandomForestRegressor(5, random_state=0)
    one = CompositionalPCESurrogate(
        1, steps=WIDTHS, regressor=forest, random_state=0, distribution="normal"
    ).fit(X, y)
    other = through_a_pickle(one)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.fidelity_, other.fidelity_)
    with pytest.raises(ValueError, match="RandomForestRegressor, which a model file"):
        save_model(one, "model.npz")


def test_requests_of_metadata_are_refused(tmp_path):
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        model = PolynomialChaosRegressor(
            solver="ridge", distribution="normal"
        ).set_fit_request(sample_weight=True)
    with pytest.raises(ValueError, match="_metadata_request"):
        save_model(model, tmp_path / "model.npz")


def test_everything_is_public():
    assert {"save_model", "load_model"} <= set(skpce.__all__)
