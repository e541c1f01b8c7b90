"""A model file holds all of an estimator, and nothing but arrays and plain JSON."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import re
import warnings
import zipfile
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import ARDRegression, BayesianRidge, Lasso, LassoCV, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from skpce import (
    CompositionalPCESurrogate,
    LogRatioTransformer,
    NatafTransformer,
    PolynomialChaosFeatures,
    PolynomialChaosRegressor,
    load_model,
    save_model,
)
from skpce._input_laws import NAMES
from skpce._model_file import VERSION
from skpce._solvers import FROM_MOMENTS, SOLVERS
from skpce.embedding import BetaVAE, PLSTransformer
from tests.shared import cases, refuses, ridge_pce, ridge_surrogate

N_SAMPLES = 60
WIDTHS = (3, 2, 4)

COUNTS = np.array([1.0, 3.0, 2.0]), np.array([-1.0, 1.0, 2.5, 5.0])
HISTOGRAM = stats.rv_histogram(COUNTS, density=False)
FOUR_VALUES = stats.rv_discrete(values=([0, 1, 2, 3], [0.1, 0.2, 0.3, 0.4]))
FROZEN = [
    *(stats.norm(1, 2), stats.uniform(-0.5, scale=5), stats.gamma(a=2.0, loc=-0.1)),
    *(stats.beta(2, 3, -0.5, 5), stats.expon(loc=-0.1), stats.t(df=20, loc=1)),
    *(stats.weibull_min(1.5, loc=-0.1, scale=2), HISTOGRAM()),
    *(stats.truncnorm(-3, 3, loc=1, scale=2), stats.randint(0, 5)),
    *(stats.poisson(1.5), stats.binom(n=5, p=0.4), FOUR_VALUES()),
]

STANDARD = stats.norm()

NORMAL = {"distribution": "normal"}
SPLIT = {"steps": WIDTHS}
NAMED = {"first": 3, "second": 2, "third": 4}
GENERATOR = np.random.RandomState(3)
MIXED = [stats.norm(1, 1), "empirical", stats.weibull_min(2)]

REGRESSORS = [
    *(PolynomialChaosRegressor(solver=name, **NORMAL) for name in SOLVERS),
    *(ridge_pce(distribution=law) for law in (*NAMES, *FROZEN, MIXED)),
    *(
        ridge_pce(solver=name, distribution=stats.norm(1, 1), criterion="gcv")
        for name in sorted(FROM_MOMENTS)
    ),
    ridge_pce(distribution=np.array(["normal", "uniform", STANDARD], dtype=object)),
    ridge_pce(4, truncation="hyperbolic", q=0.5, interaction_order=2),
    ridge_pce(alphas=(1e-3, 1.0, np.float64(10.0))),
    *(
        PolynomialChaosRegressor(1, regressor=model, **NORMAL)
        for model in (Ridge(0.1 + 0.2), Lasso(0.01, warm_start=True), LassoCV(cv=2))
    ),
    PolynomialChaosRegressor(regressor=BayesianRidge(), **NORMAL),
    PolynomialChaosRegressor(),
    PolynomialChaosRegressor(2),
]
SURROGATES = [
    ridge_surrogate(**SPLIT),
    ridge_surrogate(steps=NAMED),
    ridge_surrogate(**SPLIT, log_ratio=LogRatioTransformer("alr", reference=0)),
    ridge_surrogate(1, steps=np.array(WIDTHS), log_ratio="clr"),
    CompositionalPCESurrogate(**SPLIT),
    CompositionalPCESurrogate(**SPLIT, solver="paper", **NORMAL),
    CompositionalPCESurrogate(1, **SPLIT, solver="lars", log_ratio="alr", **NORMAL),
    ridge_surrogate(1, **SPLIT, random_state=GENERATOR),
    CompositionalPCESurrogate(1, **SPLIT, regressor=Lasso(1e-3), **NORMAL),
    ridge_surrogate(1, **SPLIT, mask=[True] * 9, random_state=5),
]
ROTATION = PCA(2, svd_solver="randomized", random_state=0)
OF_POLICIES = PLSTransformer(2, target_transformer=LogRatioTransformer(**SPLIT))
SURROGATE_PIPELINES = [
    make_pipeline(StandardScaler(), PCA(2, whiten=True), SURROGATES[0]),
    make_pipeline(VarianceThreshold(), ROTATION, SURROGATES[0]),
    make_pipeline(PLSTransformer(2), SURROGATES[1]),
    make_pipeline(OF_POLICIES, SURROGATES[0]),
]
QUANTILES = QuantileTransformer(n_quantiles=20, output_distribution="normal")
NATAF = NatafTransformer(["normal", "empirical", "normal"])
REGRESSOR_PIPELINES = [
    make_pipeline(MinMaxScaler(), ridge_pce(distribution="uniform")),
    make_pipeline(MaxAbsScaler(), RobustScaler(), ridge_pce()),
    make_pipeline(QUANTILES, ridge_pce(distribution=STANDARD)),
    make_pipeline(NATAF, ridge_pce(distribution=STANDARD)),
    make_pipeline(TruncatedSVD(2, random_state=0), "passthrough", ridge_pce(1)),
    make_pipeline(PolynomialChaosFeatures(2, distribution="normal"), ARDRegression()),
]
TRANSFORMERS = [
    PolynomialChaosFeatures(3, distribution="empirical"),
    PolynomialChaosFeatures(2, distribution="normal").set_output(transform="pandas"),
    NatafTransformer(),
    NatafTransformer("normal", root="symmetric", shrinkage=0.1),
    NatafTransformer(["beta", "gamma", stats.t(df=5)], correlation=np.eye(3)),
    *(LogRatioTransformer(kind, **SPLIT) for kind in ("alr", "clr", "ilr")),
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


@pytest.fixture
def through(through_a_file):
    """Through a file; a pickle of what was read is the same too."""
    return lambda estimator: through_a_pickle(through_a_file(estimator))


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
            assert_array_equal(one, other)
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


def fitted(estimator, X, y):
    with warnings.catch_warnings(action="ignore"):
        if str(getattr(estimator, "distribution", None)).startswith("log"):
            X = 1.0 + np.abs(X)
        return clone(estimator).fit(X, y)


# Round trips


@pytest.fixture
def check(through):
    """Fit, and compare with what a file gives, to the bit."""

    def check_round_trip(estimator, X, y):
        one = fitted(estimator, X, y)
        other = through(one)
        assert_same(one, other)
        read = "predict" if hasattr(one, "predict") else "transform"
        with warnings.catch_warnings(action="ignore"):
            found, again = (getattr(model, read)(X) for model in (one, other))
        assert_same(found, again)

    return check_round_trip


@pytest.mark.slow
@cases("estimator", *REGRESSORS, ids=range(len(REGRESSORS)))
def test_regressors(estimator, data, check):
    check(estimator, *data)


@cases("pipeline", *REGRESSOR_PIPELINES, ids=range(len(REGRESSOR_PIPELINES)))
def test_pipelines_of_regressors(pipeline, data, check):
    check(pipeline, data[0], data[1][:, 0])


@pytest.mark.slow
@cases("estimator", *SURROGATES, ids=range(len(SURROGATES)))
def test_surrogates(estimator, policies, check):
    check(estimator, *policies)


@cases("pipeline", *SURROGATE_PIPELINES, ids=range(len(SURROGATE_PIPELINES)))
def test_pipelines_of_surrogates(pipeline, policies, check):
    check(pipeline, *policies)


@cases("estimator", *TRANSFORMERS, ids=range(len(TRANSFORMERS)))
def test_transformers(estimator, data, policies, check):
    is_of_policies = isinstance(estimator, LogRatioTransformer)
    check(estimator, policies[1] if is_of_policies else data[0], data[1])


@cases("estimator", *REGRESSORS, SURROGATES[7], SURROGATE_PIPELINES[0])
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
    one = ridge_surrogate(1).fit(X, y, sample_weight=weights)
    other = through(one)
    assert_same(one, other)
    assert other.expansion_.input_names == ("a", "b", "c")
    assert one.score(X, y) == other.score(X, y)
    refuses("feature names should match", other.predict, X[["b", "a", "c"]])


@pytest.mark.parametrize(
    "law", [stats.norm(1, 1), stats.weibull_min(2, loc=-1, scale=2)]
)
def test_a_fit_from_sums_goes_on(X, y, law, through):
    model = ridge_pce(2, distribution=law, criterion="gcv")
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
    one = ridge_surrogate(1, steps=WIDTHS, random_state=state).fit(X, y)
    other = through_a_file(one)
    assert_array_equal(one.sample(2), other.sample(2))
    assert_array_equal(one.sample(2), other.sample(2))


def test_what_was_one_object_is_one_again(data, through):
    """An expansion and the problem behind it share their basis, laws their object."""
    law = stats.weibull_min(2, loc=-1, scale=2)
    model = ridge_pce(2, distribution=[law] * 3).fit(*data)
    again = through(model)
    assert again._problem.basis is again.expansion_.basis
    assert len({id(one) for one in again.distribution}) == 1
    assert again.basis_.laws[0].frozen is again.distribution[0]


# What it is


def test_numpy_and_json_read_it(tmp_path, data):
    pce = ridge_pce(2).fit(*data)
    save_model(pce, tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as arrays:
        description = json.loads(arrays["model.json"])
        assert_array_equal(
            arrays["expansion.coefficients"], pce.coefficients_, strict=True
        )
        assert_array_equal(
            arrays["basis.multi_indices"], pce.multi_indices_, strict=True
        )
        assert all(arrays[name].dtype != object for name in arrays if "." in name[:-5])
    assert description["format"] == "skpce model"
    assert description["version"] == VERSION
    expansion = next(o for o in description["objects"] if o["kind"] == "expansion")
    assert expansion["input_names"] == {"tuple": ["x0", "x1", "x2"]}


def test_the_same_model_makes_the_same_file(tmp_path, data):
    model = ridge_pce(2).fit(*data)
    for name in ("a", "b"):
        save_model(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    save_model(load_model(tmp_path / "a"), tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


def test_a_file_that_is_there_is_replaced_as_a_whole(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    save_model(ridge_pce(4), path)
    before = path.read_bytes()

    def interrupt(*args):
        raise KeyboardInterrupt

    for place in ("os.replace", "pathlib.Path.write_bytes"):
        with monkeypatch.context() as patch:
            patch.setattr(place, interrupt)
            with pytest.raises(KeyboardInterrupt):
                save_model(ridge_pce(5), path)
    refuses("RandomForest", save_model, RandomForestRegressor(), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.npz"]


def test_paths(tmp_path):
    path = os.path.join(tmp_path, "model.skpce")
    save_model(ridge_pce(4), path)
    assert load_model(path).degree == 4
    with pytest.raises(FileNotFoundError):
        save_model(ridge_pce(), tmp_path / "none" / "model.npz")
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        load_model(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    refuses(r"pipe is a device or a pipe", save_model, ridge_pce(), path)
    assert path.is_fifo()


def test_a_link_stays_and_the_file_behind_it_is_written(tmp_path):
    link, target = tmp_path / "link", tmp_path / "folder" / "model.npz"
    target.parent.mkdir()
    link.symlink_to(target)
    for _ in range(2):  # a new file, then an old one
        save_model(ridge_pce(), link)
        assert link.is_symlink()
        assert load_model(target)
        assert list(target.parent.iterdir()) == [target]
        target.write_bytes(b"old")


# What is refused


class Doubled(stats.norm.__class__):
    """A normal distribution of another class."""


OTHER_CLASS = Doubled(name="norm")(0, 1)
OTHER_GENERATOR = np.random.RandomState(np.random.PCG64())
FOREST = PolynomialChaosRegressor(regressor=RandomForestRegressor(), **NORMAL)
HELD = r"which a model file does not hold\. It holds PolynomialChaosRegressor, .* PCA"


@cases(
    ("estimator", "message"),
    (FOREST, rf"ChaosRegressor\.regressor is a RandomForestRegressor, {HELD}"),
    (make_pipeline(FunctionTransformer(), REGRESSORS[0]), "a FunctionTransformer"),
    (BetaVAE(), "estimator is BetaVAE"),
    (PolynomialChaosRegressor, "estimator is <class"),
    (ridge_pce(distribution=OTHER_CLASS), "is Doubled 'norm', no distribution of"),
    (ridge_surrogate(random_state=OTHER_GENERATOR), "random_state is RandomState"),
    (ridge_pce(alphas=len), "alphas is <built-in function"),
)
def test_what_a_model_file_does_not_hold_is_named(estimator, message, tmp_path):
    refuses(message, save_model, estimator, tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


# Damaged, edited and foreign files


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """The bytes of a small model file, of many kinds of objects."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = softmax(X @ rng.normal(size=(2, 3)), axis=1)
    surrogate = CompositionalPCESurrogate(
        1,
        distribution=[stats.logistic(scale=0.5), "empirical"],
        regressor=Ridge(),
        random_state=np.random.RandomState(0),
    )
    laws = ["normal", stats.logistic(scale=2)]
    path = tmp_path_factory.mktemp("models") / "model.npz"
    save_model(make_pipeline(PCA(2), NatafTransformer(laws), surrogate).fit(X, y), path)
    return path.read_bytes()


@pytest.fixture
def refused(tmp_path):
    """Write bytes to a file and return what is said of them."""

    def write_and_load(content):
        path = tmp_path / "other.npz"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"other\.npz cannot be read as") as caught:
            load_model(path)
        return str(caught.value)

    return write_and_load


def parts_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(parts):
    """Write an archive with the right digest, as somebody who edits a file could."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
        archive.comment = b"0" * 64
    body = buffer.getvalue()[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


def description_of(content):
    return json.loads(parts_of(content)["model.json"])


def with_description(content, description):
    text = json.dumps(description).encode()
    return archive_of(parts_of(content) | {"model.json": text})


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def test_a_file_that_was_cut_off_changed_or_made_longer(content, refused):
    for length in range(0, len(content), len(content) // 20):
        message = refused(content[:length])
        assert "cut off" in message or "its beginning is missing" in message
    assert "its beginning is missing" in refused(content[1:])
    for place in range(0, len(content), 531):
        changed = bytearray(content)
        changed[place] ^= 1 << (place % 8)
        refused(bytes(changed))
    assert "edited" in refused(content + b"a" * 100)


@cases(
    "content",
    b"coefficients: 1, 2, 3",
    b"",
    pickle.dumps(PolynomialChaosRegressor()),
    npy(np.zeros(3)),
    archive_of({}),
    archive_of({"model.json": b"<xml/>"}),
    archive_of({"model.json": b"[" * 100_000}),
    ids=str.split("text nothing pickle array empty no-json depth"),
)
def test_a_file_of_something_else(content, refused):
    refused(content)


@pytest.mark.parametrize("version", [0, "1", None, 2])
def test_another_version(version, refused):
    other = {"format": "skpce model", "version": version, "anything": []}
    message = refused(archive_of({"model.json": json.dumps(other).encode()}))
    assert f"its format has version {version!r}" in message
    assert "reads version 1. Install the skpce that wrote it" in message


def find(description, kind):
    return next(one for one in description["objects"] if one["kind"].endswith(kind))


def edit(of, /, **changes):
    """Change the first object of a kind."""
    return lambda description: find(description, of).update(changes)


@cases(
    ("change", "message"),
    (lambda d: d.update(model=1), "is no estimator"),
    (edit("PCA", kind="os.system"), "holds a 'os.system', which this version"),
    (edit("basis", colour=1), "colour"),
    (lambda d: find(d, "basis").pop("laws"), "has the fields"),
    (edit("basis", laws=[{"object": 500}]), "stands for"),
    (lambda d: find(d, "PCA")["state"].update(transform=1), "attribute 'transform'"),
    (edit("scipy distribution", family="kstest"), "has no distribution 'kstest'"),
)
def test_what_does_not_fit_together(change, message, content, refused):
    description = description_of(content)
    change(description)
    assert message in refused(with_description(content, description))


def test_no_folder_is_made_that_a_file_names(content, tmp_path):
    description = description_of(content)
    find(description, "Pipeline")["state"]["memory"] = str(tmp_path / "cache")
    (tmp_path / "edited.npz").write_bytes(with_description(content, description))
    assert load_model(tmp_path / "edited.npz").memory is None


HEADER = "{{'descr': {}, 'fortran_order': False, 'shape': {}, }}"


def with_header(descr, shape, data=b""):
    text = HEADER.format(descr, shape).encode()
    text += b" " * (63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@cases(
    ("part", "message"),
    (with_header("'<f8'", (10**15,)), "does not fit together"),
    (with_header("'<f8'", (-1, -1), b"12345678"), "cannot be read"),
    (with_header("'|O'", (1,), pickle.dumps(os.system)), "Object arrays cannot"),
    (with_header("[('a', '<f8')]", (1,), b"12345678"), "is an array of"),
    (with_header("__import__('os')", (1,)), "cannot be read"),
    (b"no array", "is no array"),
)
def test_an_array_that_is_none(part, message, content, refused):
    edited = parts_of(content) | {"expansion.coefficients.npy": part}
    assert message in refused(archive_of(edited))
