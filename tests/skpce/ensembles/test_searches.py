"""Studies of Optuna and searches of scikit-learn as ensembles."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import skpce
from skpce.ensembles import from_cv_results, from_study
from tests.shared import cases, refuses

of_optuna = pytest.importorskip("optuna.distributions")
FloatDistribution = of_optuna.FloatDistribution
IntDistribution = of_optuna.IntDistribution
CategoricalDistribution = of_optuna.CategoricalDistribution


def a_trial(params, values, space):
    """Return what a trial of Optuna looks like, to be changed."""
    state = SimpleNamespace(name="COMPLETE")
    known = {"params": params, "distributions": space, "values": values}
    return SimpleNamespace(**known, state=state)


SPACE = {
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "share": FloatDistribution(0.0, 1.0, step=0.25),
    "depth": IntDistribution(1, 9, step=2),
    "width": IntDistribution(1, 512, log=True),
    "units": IntDistribution(1, 1000),
    "kind": CategoricalDistribution(("a", "b", None)),
}


def draw(rng):
    return {
        "rate": 10.0 ** rng.uniform(-4, 0),
        "share": 0.25 * rng.integers(5),
        "depth": int(1 + 2 * rng.integers(5)),
        "width": int(2.0 ** rng.integers(10)),
        "units": int(rng.integers(1, 1001)),
        "kind": ("a", "b", None)[rng.integers(3)],
    }


@pytest.fixture
def study():
    rng = np.random.default_rng(0)
    drawn = [draw(rng) for _ in range(30)]
    values = [[params["depth"] + rng.normal()] for params in drawn]
    trials = [a_trial(*pair, SPACE) for pair in zip(drawn, values, strict=True)]
    return SimpleNamespace(trials=trials, metric_names=None)


def test_search_spaces_give_the_distributions(study):
    runs = from_study(study)
    laws = dict(zip(runs.X.columns, runs.distribution, strict=True))
    assert laws["rate"].support() == pytest.approx((-4, 0))
    assert laws["share"].pmf([0, 0.25, 0.3, 1]) == pytest.approx([0.2, 0.2, 0, 0.2])
    assert laws["depth"].pmf([1, 2, 9]) == pytest.approx([0.2, 0, 0.2])
    low, high = laws["width"].support()
    assert low == pytest.approx(np.log10(0.5))
    assert high == pytest.approx(np.log10(512.5))
    assert laws["units"].support() == pytest.approx((0.5, 1000.5))
    assert laws["kind"] == "categorical"
    assert runs.levels["kind"] == ("None", "a", "b")
    rates = [trial.params["rate"] for trial in study.trials]
    assert_allclose(runs.X["rate"], np.log10(rates))
    assert runs.y.columns.tolist() == ["objective"]


def test_tried_values_can_give_the_distributions(study):
    runs = from_study(study, distribution="tried")
    assert set(runs.distribution) == {"empirical", "categorical"}


def test_trials_without_a_finite_value_are_left_out(study):
    study.trials[3].values, study.trials[8].values = [np.inf], [-np.inf]
    for place, name in ((0, "PRUNED"), (5, "FAIL"), (6, "FAIL")):
        study.trials[place].state = SimpleNamespace(name=name)
        study.trials[place].values = None
    runs = from_study(study)
    assert len(runs) == 25
    assert set(runs.notes) == {
        "1 of 30 trials were pruned and are left out.",
        "2 of 30 trials failed and are left out.",
        "2 of 27 complete trials have an infinite objective, which counts as failed.",
        "2 of 27 trials have no output and are left out.",
    }


def test_several_objectives_keep_their_names(study):
    for trial in study.trials:
        trial.values = [trial.values[0], -trial.params["rate"]]
    assert from_study(study).y.columns.tolist() == ["objective0", "objective1"]
    study.metric_names = ["accuracy", "time"]
    assert from_study(study).y.columns.tolist() == ["accuracy", "time"]


def test_values_that_a_conditional_parameter_had_stand_in_for_it(study):
    for trial in study.trials[:10]:
        del trial.params["units"]
    runs = from_study(study)
    had = [trial.params["units"] for trial in study.trials[10:]]
    assert runs.X["units"][10:].tolist() == had
    # one of each two neighbours in the order of the twenty that there were
    stands_in = np.sort(runs.X["units"][:10])
    pairs = np.sort(had).reshape(10, 2)
    assert all(value in pair for value, pair in zip(stands_in, pairs, strict=True))
    assert runs.notes == (
        "The parameter units is one of 20 of 30 complete trials. It counts as doing "
        "nothing in the others, where values that it had stand in for it.",
    )
    again = from_study(SimpleNamespace(trials=study.trials[::-1], metric_names=None))
    assert again.X["units"][:20].tolist() == had[::-1]


def test_a_part_of_the_parameters_is_one_branch(study):
    for trial in study.trials[:10]:
        del trial.params["units"]
    others = [name for name in SPACE if name != "units"]
    assert len(from_study(study, others)) == 30
    branch = from_study(study, ["units", "rate"])
    assert len(branch) == 20
    assert branch.notes == ("10 of 30 trials lack a parameter and are left out.",)


def test_a_range_that_changed_is_that_of_the_values_tried(study):
    wider = FloatDistribution(1e-9, 1.0, log=True)
    study.trials[3].distributions = SPACE | {"rate": wider}
    runs = from_study(study)
    laws = dict(zip(runs.X.columns, runs.distribution, strict=True))
    assert laws["rate"] == "empirical"
    assert runs.logarithms == ("rate", "width")
    (note,) = runs.notes
    assert note.startswith("The search space of the parameter rate changed between")
    study.trials[3].distributions = SPACE | {"kind": CategoricalDistribution(("a",))}
    assert "categorical" in from_study(study).distribution


def test_bad_studies_are_refused(study):
    with pytest.raises(ValueError, match=r"study must be .* at least one trial"):
        from_study(SimpleNamespace(trials=[]))
    with pytest.raises(ValueError, match="1 of 1 trials have an output; expected"):
        from_study(SimpleNamespace(trials=study.trials[:1]))
    study.trials[3].distributions = SPACE | {"rate": FloatDistribution(1e-9, 1)}
    refuses(r"'rate' changed .* expected one kind", from_study, study)
    for trial in study.trials:
        trial.distributions = SPACE | {"rate": SimpleNamespace()}
    refuses("'rate' has a search space of the kind Simple", from_study, study)
    for trial in study.trials:
        trial.distributions, trial.values = SPACE, [1.5]
    refuses(r"'objective' is 1\.5 in all trials", from_study, study)


GRID = {"max_depth": [1, 2, None], "ccp_alpha": [0.0, 0.01, 0.1]}


@pytest.fixture(scope="module")
def search():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(random_state=0)
    return GridSearchCV(tree, GRID, cv=4).fit(X, y)


@pytest.mark.parametrize("given", ["search", "dict", "pandas", "polars"])
def test_candidates_are_members(search, given):
    of = {"search": search, "dict": search.cv_results_}
    of["pandas"] = pd.DataFrame(search.cv_results_)
    plain = {name: list(v) for name, v in search.cv_results_.items()}
    del plain["params"]
    plain["param_max_depth"] = [str(v) for v in plain["param_max_depth"]]
    of["polars"] = pl.DataFrame(plain)
    runs = from_cv_results(of[given])
    assert runs.X.columns.tolist() == ["ccp_alpha", "max_depth"]
    assert runs.levels["max_depth"] == ("1", "2", "None")
    assert_allclose(runs.y["score"], search.cv_results_["mean_test_score"])
    assert runs.setting is None
    assert runs.order is False


def test_of_successive_halving_the_first_round_is_read(search):
    # Later rounds have candidates that scores have chosen, with other resources.
    results = {name: np.r_[v, v[:3]] for name, v in search.cv_results_.items()}
    results["mean_test_score"][9:] += 1.0
    found = from_cv_results(results | {"iter": np.repeat([0, 1], [9, 3])})
    given = from_cv_results(search.cv_results_)
    assert_array_equal(found.X, given.X)
    assert_array_equal(found.y, given.y)
    assert "first round of successive halving" in str(found)


@cases(("sampler", "order"), ("RandomSampler", False), ("TPESampler", None))
def test_the_order_of_a_study_is_that_of_its_sampler(sampler, order):
    values = np.random.default_rng(0).uniform(size=8)
    space = {"share": FloatDistribution(0.0, 1.0)}
    trials = [a_trial({"share": value}, [value], space) for value in values]
    study = SimpleNamespace(trials=trials, sampler=type(sampler, (), {})())
    assert from_study(study).order is order


def test_splits_are_replicates(search):
    runs = from_cv_results(search.cv_results_, splits="replicates")
    assert len(runs) == 36
    means = runs.y.groupby(runs.setting)["score"].mean()
    wanted = np.sort(search.cv_results_["mean_test_score"])
    assert_allclose(np.sort(means), wanted)


def test_bad_results_are_refused(search):
    scores = {"mean_test_score": [1, 2, 3, 4]}
    words = r"no parameters; expected columns param_\.\.\. among 'mean"
    refuses(words, from_cv_results, scores)
    unfitted = GridSearchCV(DecisionTreeClassifier(), GRID)
    refuses(r"'cv_results' .* must be a fitted search", from_cv_results, unfitted)
    masked = {"param_a": np.ma.masked_equal(range(8), 1), "mean_test_score": range(8)}
    refuses("'a' is missing in 1 of 8 candidates", from_cv_results, masked)


def test_a_list_of_grids_has_the_parameters_of_all():
    X, y = load_iris(return_X_y=True)
    grids = [
        {"kernel": ["linear"], "C": [0.01, 0.1, 1, 10]},
        {"kernel": ["rbf"], "C": [0.01, 0.1, 1, 10], "gamma": [0.001, 0.1]},
    ]
    search = GridSearchCV(SVC(), grids, cv=3).fit(X, y)
    refuses("'gamma' is missing in 4 of 12 candidates", from_cv_results, search)
    answer = skpce.explain(search, inputs=["C", "kernel"], outputs="mean_test_score")
    assert answer.input_names == ("C", "kernel")
    assert answer.design.n_rows == 12
    assert "Note: 'gamma' is no input and differs between runs" in str(answer)
    words = "'gamma' is missing in 4 of 12 candidates"
    refuses(words, skpce.explain, search, inputs=["C", "gamma"])
