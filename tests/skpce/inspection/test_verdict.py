"""The verdict: honest refits, known truths, replicates, words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpce import CompositionalPCESurrogate, PolynomialChaosRegressor
from skpce._compositions.outputs import read_outputs
from skpce.ensembles import from_frame
from skpce.inspection import input_tests, verdict
from skpce.inspection._ensembles.conditions import holm
from skpce.inspection._ensembles.cross_fit import bootstrap_q2
from tests.skpce.verdicts import verdict_by_hand

WIDTHS = (3, 2, 4)


def surrogate(degree=1, **parameters):
    fixed = {"solver": "ridge", "distribution": "normal"} | parameters
    return CompositionalPCESurrogate(degree, steps=WIDTHS, **fixed)


@pytest.fixture(scope="module")
def known(simulate):
    X, y = simulate(n_members=40, noise=0.2)
    return verdict(surrogate(2), X, y, n_permutations=99, random_state=0)


class Spy(TransformerMixin, BaseEstimator):
    """The identity, which remembers the rows of every fit and transform."""

    fits: list[set[float]] = []  # noqa: RUF012
    transforms: list[set[float]] = []  # noqa: RUF012

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        Spy.fits.append(set(X[:, 0]))
        return self

    def transform(self, X):
        Spy.transforms.append(set(X[:, 0]))
        return X


def test_the_whole_pipeline_is_refitted_and_never_sees_what_is_held_out(ensemble):
    X, y = ensemble
    Spy.fits, Spy.transforms = [], []
    n_folds, n_permutations = 4, 19
    verdict(
        make_pipeline(Spy(), surrogate()),
        X,
        y,
        cv=n_folds,
        n_permutations=n_permutations,
        closed_form=False,
        random_state=0,
    )
    # The cross-fit, each permutation and the degree-1 baseline, then one for cautions.
    assert len(Spy.fits) == n_folds * (1 + n_permutations + 1) + 1
    folds = n_folds * (1 + n_permutations + 1)
    held_out = [rows for rows in Spy.transforms if len(rows) == len(X) // n_folds]
    assert len(held_out) == folds
    of_folds = [rows for rows in Spy.fits if len(rows) < len(X)]
    for seen, unseen in zip(of_folds, held_out, strict=True):
        assert not seen & unseen
        assert len(seen | unseen) == len(X)


def test_the_given_pipeline_is_left_alone(ensemble):
    X, y = ensemble
    pipeline = make_pipeline(PCA(2), surrogate(n_resamples=3))
    before = repr(pipeline.get_params())
    verdict(pipeline, X, y, n_permutations=19, random_state=0)
    assert repr(pipeline.get_params()) == before
    assert not hasattr(pipeline[-1], "coefficients_")


def test_cross_fitted_q2_by_hand(ensemble):
    X, y = ensemble
    cv = KFold(3)
    found = verdict(surrogate(), X, y, cv=cv, n_permutations=19, random_state=0)

    def clr(values):
        blocks = [np.log(block) for block in np.split(values, [3, 5], axis=1)]
        return [block - block.mean(axis=1, keepdims=True) for block in blocks]

    press, naive = np.zeros(3), np.zeros(3)
    for train, test in cv.split(X):
        predicted = clr(surrogate().fit(X[train], y[train]).predict(X[test]))
        for step, (block, guess) in enumerate(zip(clr(y), predicted, strict=True)):
            press[step] += np.sum((block[test] - guess) ** 2)
            naive[step] += np.sum((block[test] - block[train].mean(axis=0)) ** 2)
    spread = [np.sum((block - block.mean(axis=0)) ** 2) for block in clr(y)]
    for step, result in enumerate(found.steps):
        assert result.q2 == pytest.approx(1 - press[step] / spread[step])
        assert result.mean_only_q2 == pytest.approx(1 - naive[step] / spread[step])
        assert result.degree_one_q2 == pytest.approx(result.q2)
        assert result.q2_low <= result.q2 <= result.q2_high


def test_a_known_softmax_is_attributable(known):
    assert known.attributable == (True, True, True)
    for step in known.steps:
        assert step.q2 > 0.5
        assert step.p_value == pytest.approx(3 / 100)  # Holm over three steps
        assert step.reasons == ()
        assert step.degree_one_q2 < step.q2
        assert step.mean_only_q2 <= 0
        assert np.isnan(step.noise_share)
    assert any("training noise is not known" in text for text in known.cautions)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_noise_is_not_attributable(simulate, seed):
    X, _ = simulate(seed=seed)
    _, y = simulate(seed=seed + 100)
    found = verdict(surrogate(2), X, y, n_permutations=99, random_state=seed)
    assert found.attributable == (False, False, False)
    for step in found.steps:
        assert step.q2 < 0.1
        assert step.reasons[0].startswith("the inputs predict ")


class PLSScores(PLSRegression):
    """PLS whose ``fit_transform`` gives the scores of X alone, as pipelines need."""

    def fit_transform(self, X, y=None):
        return self.fit(X, np.log(y)).transform(X)


def test_a_supervised_embedding_does_not_mislead_the_verdict():
    """PLS has seen the member that leave-one-out leaves out; the verdict refits it."""
    fooled, honest = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 60))
        y = softmax(rng.normal(size=(40, 3)), axis=1)
        pipeline = make_pipeline(
            PLSScores(2),
            CompositionalPCESurrogate(1, solver="ridge", distribution="normal"),
        )
        fooled.append(pipeline.fit(X, y)[-1].diagnostics_.loo_q2[0])
        found = verdict(pipeline, X, y, n_permutations=19, random_state=seed)
        honest.append(found.steps[0].q2)
        assert found.attributable == (False,)
    assert min(fooled) > 0.25, fooled
    assert max(honest) <= 0.05, honest


def test_replicates_stay_in_one_fold(replicated):
    X, y, reward = replicated(noise=0.1)
    Spy.fits, Spy.transforms = [], []
    found = verdict(
        make_pipeline(Spy(), surrogate()),
        X,
        y,
        reward,
        n_permutations=19,
        closed_form=False,
        random_state=0,
    )
    folds = [rows for rows in Spy.transforms if len(rows) == 4]  # 20 rewards, 5 folds
    assert len(folds) == 5 * 21
    held_out = iter(folds)
    for seen in (rows for rows in Spy.fits if len(rows) < 20):
        assert not seen & next(held_out)
    assert all(0 < step.noise_share < 0.2 for step in found.steps)
    assert not any("not known" in text for text in found.cautions)


def test_a_step_without_choice_or_variance(simulate):
    X, y = simulate(widths=(3,))
    rng = np.random.default_rng(0)
    same = softmax(np.array([0.3, 0.1]) + rng.normal(size=(len(X), 1)), axis=1)
    y = np.hstack([y, np.tile([0.0, 1.0], (len(X), 1)), same])
    found = verdict(
        CompositionalPCESurrogate(
            2, steps=(3, 2, 2), solver="ridge", distribution="normal"
        ),
        X,
        y,
        n_permutations=99,
        random_state=0,
    )
    assert found.attributable == (True, False, False)
    for step in found.steps[1:]:
        assert np.isnan([step.q2, step.p_value, step.q2_low, step.q2_high]).all()
        assert step.reasons == ("no choice, or no variance between members",)
    assert found.steps[0].p_value == pytest.approx(1 / 100), "Holm skips the others"
    assert "step1: no choice, or no variance between members." in str(found)


def test_a_rare_action_does_not_change_the_mask_of_a_fold(simulate):
    X, y = simulate(n_members=20, widths=(3,))
    y = y.copy()
    y[1:, 2] = 0.0  # positive in one member only
    y /= y.sum(axis=1, keepdims=True)
    found = verdict(
        CompositionalPCESurrogate(
            1, zero_replacement=1e-4, solver="ridge", distribution="normal"
        ),
        X,
        y,
        zero_replacement=1e-4,
        n_permutations=19,
        random_state=0,
    )
    assert np.isfinite(found.steps[0].q2)


def test_other_regressors(ensemble):
    X, y = ensemble
    forest = RandomForestRegressor(5, random_state=0)
    found = verdict(forest, X, y, steps=WIDTHS, cv=3, n_permutations=19, random_state=0)
    assert all(np.isfinite(step.q2) for step in found.steps)
    assert all(np.isnan(step.degree_one_q2) for step in found.steps)


def test_steps_reach_a_surrogate_that_has_none(ensemble):
    X, y = ensemble
    options = {"n_permutations": 19, "random_state": 0}
    given = verdict(
        CompositionalPCESurrogate(1, solver="ridge", distribution="normal"),
        X,
        y,
        steps=WIDTHS,
        **options,
    )
    assert repr(given) == repr(verdict(surrogate(), X, y, **options))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(ensemble, library):
    module = pytest.importorskip(library)
    X, y = ensemble
    names = [f"s{t}__{k}" for t, w in enumerate(WIDTHS) for k in range(w)]
    if library == "pandas":
        table = module.DataFrame(y, columns=names)
        inputs = module.DataFrame(X, columns=["a", "b", "c"])
    else:
        table, inputs = module.DataFrame(y, schema=names), X
    options = {"n_permutations": 19, "random_state": 0}
    found = verdict(
        CompositionalPCESurrogate(1, solver="ridge", distribution="normal"),
        inputs,
        table,
        **options,
    )
    plain = verdict(surrogate(), X, y, **options)
    assert [step.step for step in found.steps] == ["s0", "s1", "s2"]
    np.testing.assert_allclose(
        [step.q2 for step in found.steps], [step.q2 for step in plain.steps]
    )


def test_seed_and_progress(ensemble):
    X, y = ensemble
    calls = []
    options = {"n_permutations": 20, "random_state": 0}
    first = verdict(
        surrogate(), X, y, progress=lambda *pair: calls.append(pair), **options
    )
    assert calls[-1] == (20, 20)
    assert repr(first) == repr(verdict(surrogate(), X, y, **options))


def test_cautions(simulate):
    X, y = simulate()
    X = X.copy()
    X[:, 1] = np.exp(2 * X[:, 1])
    X[:, 2] = X[:, 0] + 0.1 * X[:, 2]
    found = verdict(surrogate(5), X, y, n_permutations=19, random_state=0)
    text = " ".join(found.cautions)
    assert "two inputs are correlated (1.00)" in text
    assert " does not have its stated distribution (p-value " in text
    assert "the basis has 56 terms for 60 members" not in text
    assert "smallest possible p-value is 0.15: no decision can be attributable" in text
    few = verdict(surrogate(5), X[:30], y[:30], n_permutations=19, random_state=0)
    assert any("the basis has 56 terms for 30 members" in c for c in few.cautions)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"n_permutations": 5}, r"'n_permutations' .* \[19, 200000\]. Got 5"),
        ({"min_q2": 1.5}, "'min_q2' .* Got 1.5"),
        ({"min_q2": float("nan")}, "'min_q2' .* Got nan"),
        ({"significance_level": 0}, r"'significance_level' .* \(0, 1\). Got 0"),
        ({"confidence_level": 1}, "'confidence_level'"),
        ({"max_noise_share": -1}, "'max_noise_share'"),
        ({"noise_share": [0.1]}, r"noise_share has shape \(1,\); expected \(3,\)"),
        ({"reward": np.arange(60)}, "no replicates"),
        ({"reward": np.zeros(3)}, r"reward has shape \(3,\)"),
        ({"reward": np.repeat(np.arange(20), 3)}, "Members 0 and 1 are of the group 0"),
        ({"steps": (4, 4)}, "sums to 8 columns .*; expected 9"),
        ({"mask": [True] * 3}, "has 3 entries; expected 9, one for each column"),
        ({"cv": 100}, r"cv must be an int in the range \[2, 60\].* Got 100"),
    ],
)
def test_bad_arguments_before_any_fit(ensemble, monkeypatch, kwargs, message):
    def fail(*_, **__):
        raise AssertionError("fitted before the check")

    monkeypatch.setattr(CompositionalPCESurrogate, "fit", fail)
    with pytest.raises(ValueError, match=message):
        verdict(surrogate(), *ensemble, **kwargs)


def test_bad_data_before_any_fit(ensemble):
    X, y = ensemble
    with pytest.raises(ValueError, match="X has 59 members and y has 60; expected"):
        verdict(surrogate(), X[:-1], y)
    with pytest.raises(ValueError, match=r"X has 7 members, too few .* at least 8"):
        verdict(surrogate(), X[:7], y[:7])
    with pytest.raises(ValueError, match=r"'pipeline' .* must be an estimator"):
        verdict(X, y, surrogate())
    with pytest.raises(ValueError, match="pack_steps"):
        verdict(surrogate(), X, np.split(y, [3, 5], axis=1))
    with pytest.raises(ValueError, match="contains NaN"):
        verdict(surrogate(), X, np.where(y == y.max(), np.nan, y))


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.01, 0.02, 0.03, 0.04], [0.04, 0.06, 0.06, 0.06]),
        ([0.5, 0.6], [1.0, 1.0]),
        ([0.2, np.nan, 0.01], [0.2, np.nan, 0.02]),
        ([np.nan], [np.nan]),
        ([0.05], [0.05]),
    ],
)
def test_holm(p_values, expected):
    np.testing.assert_allclose(holm(np.array(p_values)), expected)


def make_verdict(name="<b>step</b>"):
    figures = {"interval": (0.0, 0.2), "p_value": 0.2}
    words = {"reason": "a<b", "cautions": ("x & y",)}
    return verdict_by_hand((name,), (False,), 0.1, **figures, **words)


def test_html_escapes_what_users_name():
    html = make_verdict()._repr_html_()
    assert "&lt;b&gt;step&lt;/b&gt;" in html
    assert "<b>" not in html
    assert "a&lt;b" in html
    assert "x &amp; y" in html
    assert "–" in html, "NaN is a dash"


def test_words(known):
    text = str(known)
    assert "Attribution is supported for 3 of 3 decisions" in text
    assert "- step0: ATTRIBUTABLE (Q² = 0." in text
    assert "Caution: the share of training noise is not known" in text
    text = str(make_verdict("s"))
    assert "not supported for the decision (s), with 60 members" in text
    assert "s: NOT ATTRIBUTABLE (Q² = 0.10 [0.00, 0.20], p = 0.2), because a<b." in text


def test_frame(known):
    pytest.importorskip("pandas")
    table = known.to_frame()
    assert len(table) == 3
    assert table["q2"].tolist() == [step.q2 for step in known.steps]
    assert make_verdict().to_frame()["reasons"].tolist() == ["a<b"]


def test_p_values_are_uniform_under_the_null():
    rng = np.random.default_rng(0)
    model = CompositionalPCESurrogate(
        1, alphas=[1.0], solver="ridge", distribution="normal"
    )
    p_values = []
    for seed in range(60):
        X = rng.normal(size=(15, 2))
        y = softmax(rng.standard_t(2, size=(15, 3)), axis=1)  # heavy tails
        found = verdict(model, X, y, cv=3, n_permutations=19, random_state=seed)
        p_values.append(found.steps[0].p_value)
    ranks = np.round(np.array(p_values) * 20).astype(int)
    assert ranks.min() >= 1
    assert ranks.max() <= 20
    assert stats.kstest(ranks / 20 - 0.025, "uniform").pvalue > 0.01
    assert np.mean(ranks <= 4) < 0.35  # nominal 0.2, three standard errors


def test_the_interval_draws_replicates_together():
    rng = np.random.default_rng(0)
    outputs = read_outputs(np.full((12, 3), 1 / 3), "test", steps=[3])
    errors, deviations = rng.chisquare(2, size=(2, 12, 3))
    once = bootstrap_q2(errors, deviations, outputs, 0.9, np.random.default_rng(1))
    copies = bootstrap_q2(
        np.repeat(errors, 7, axis=0),
        np.repeat(deviations, 7, axis=0),
        outputs,
        0.9,
        np.random.default_rng(1),
        np.repeat(np.arange(12), 7),
    )
    np.testing.assert_allclose(copies, once)


def test_the_interval_covers_the_spread_of_q2_over_ensembles():
    rng = np.random.default_rng(0)
    outputs = read_outputs(np.full((12, 2), 1 / 2), "test", steps=[2])
    population = 1.0 - 0.5  # errors have half the variance of the deviations
    hits = 0
    for _ in range(200):
        deviations = np.square(rng.normal(size=(60, 2)))
        errors = 0.5 * np.square(rng.normal(size=(60, 2)))
        _, low, high = bootstrap_q2(errors, deviations, outputs, 0.9, rng, None, 500)
        hits += low[0] <= population <= high[0]
    assert hits / 200 == pytest.approx(0.9, abs=0.07)


def test_a_meta_estimator_retains_steps_and_mask(ensemble):
    X, y = ensemble
    search = GridSearchCV(surrogate(), {"degree": [1]}, cv=3)
    options = {"n_permutations": 19, "random_state": 0}
    found = verdict(search, X, y, **options)
    assert repr(found.steps) == repr(verdict(surrogate(), X, y, **options).steps)


def test_the_inputs_of_a_search_are_those_of_its_best_estimator(ensemble):
    X, y = ensemble
    search = GridSearchCV(
        make_pipeline(PCA(whiten=True), surrogate()),
        {"pca__n_components": [2], "compositionalpcesurrogate__degree": [2]},
        cv=2,
    )
    for model in (search, make_pipeline(StandardScaler(), search)):
        found = verdict(model, X, y, cv=2, n_permutations=19, random_state=0)
        whole = make_pipeline(
            *([] if model is search else [StandardScaler()]), PCA(2, whiten=True)
        )
        expected = input_tests(whole.fit_transform(X))
        np.testing.assert_allclose(found.inputs.spearman, expected.spearman)
        assert found.inputs.distribution_p_values.shape == (2,)
        assert not np.isnan(found.inputs.distribution_p_values).any()
        assert found.n_terms == 6


def test_the_steps_of_a_surrogate_on_another_regressor_are_its_own():
    """Not those of the regressor inside, which knows none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    logits = np.c_[X[:, :1], np.zeros((40, 2)), X[:, 1:], np.zeros((40, 1))]
    y = np.c_[softmax(logits[:, :3], axis=1), softmax(logits[:, 3:], axis=1)]
    surrogate = CompositionalPCESurrogate(
        1, steps=(3, 2), regressor=Lasso(1e-3), distribution="normal"
    )
    found = verdict(surrogate, X, y, n_permutations=19, random_state=0)
    assert len(found.steps) == 2
    assert all(step.q2 > 0.8 for step in found.steps)


def test_a_randomised_decomposition_is_the_same_in_every_fit():
    """PCA of many columns draws numbers; seeded, permutations have a closed form."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12)) @ rng.normal(size=(12, 600))
    y = X[:, :1] / X[:, 0].std() + 0.3 * rng.normal(size=(40, 1))
    model = make_pipeline(
        PCA(3, whiten=True, svd_solver="randomized"),
        PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
    )
    first, second = (
        verdict(model, X, y, n_permutations=39, random_state=3) for _ in range(2)
    )
    assert first.closed_form
    np.testing.assert_array_equal(first.q2, second.q2)
    assert model.named_steps["pca"].random_state is None  # the caller's is as it was


def test_an_output_that_few_members_have(ensemble):
    X, _ = ensemble
    y = np.c_[X[:, 0], X[:, 1]]
    y[5:, 1] = np.nan
    with pytest.raises(ValueError, match=r"5 of 60 members have y1 .* at least 8"):
        verdict(
            PolynomialChaosRegressor(1, solver="ridge", distribution="normal"), X, y
        )


@pytest.mark.parametrize("replicate", [None, "seed"])
def test_an_ensemble_gives_inputs_outputs_and_replicates(replicate):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"rate": np.repeat(rng.uniform(size=20), 2)})
    table["seed"] = [0, 1] * 20
    table["loss"] = table["rate"] ** 2 + 0.05 * rng.normal(size=40)
    runs = from_frame(table, ["rate"], "loss", replicate=replicate)
    model = PolynomialChaosRegressor(2, distribution=runs.distribution, solver="ridge")
    given = {"n_permutations": 19, "random_state": 0}
    found = verdict(model, runs, **given)
    wanted = verdict(model, runs.X, runs.y, groups=runs.setting, **given)
    assert str(found) == str(wanted)
    for wrong in ((runs, runs.y), (runs.X, runs)):
        with pytest.raises(ValueError, match="is an Ensemble, which holds X and y"):
            verdict(model, *wrong)
        with pytest.raises(ValueError, match="is an Ensemble, which holds X and y"):
            model.fit(*wrong)


def test_permutations_of_labelled_rows_are_no_rows_in_another_order():
    """A fold of four of eight members can hold the same labels of X and y."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(8, 1)), columns=["x"], index=list("abcdefgh"))
    y = pd.DataFrame({"y": X["x"] + rng.normal(size=8)})
    given = {"n_permutations": 199, "random_state": 1, "cv": 2, "closed_form": False}
    found, wanted = (
        verdict(
            PolynomialChaosRegressor(1, solver="ridge", distribution="normal"),
            *data,
            **given,
        )
        for data in ((X, y), (X.to_numpy(), y.to_numpy()))
    )
    np.testing.assert_array_equal(found.p_value, wanted.p_value)
