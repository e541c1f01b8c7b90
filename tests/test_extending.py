"""The recipes of the page "Extending", followed as the page shows them."""

import doctest
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.shared import cases, printed_by

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "user_guide"

# What a user does with the solvers and the distribution of the page.
IN_THE_COPY = """
import pathlib, pytest, tempfile, warnings
import numpy as np
from scipy import stats
from skpce import MoreTermsThanRowsWarning, PolynomialChaosRegressor
from skpce import load_model, save_model
from skpce._input_laws.pieces import means_of_pieces

assert pathlib.Path.cwd() in pathlib.Path(means_of_pieces.__code__.co_filename).parents
warnings.simplefilter("error")
rng = np.random.default_rng(0)
X = np.cos(np.pi * rng.random(size=(30, 4)))  # arcsine
y = X[:, 0] + X[:, 0] * X[:, 1]
laws = {"distribution": "arcsine"}


def unchanged_by_a_file(model):
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, pathlib.Path(folder) / "model.skpce")
        read = load_model(pathlib.Path(folder) / "model.skpce")
    assert np.array_equal(read.predict(X), model.predict(X))


wide = PolynomialChaosRegressor(3, solver="screening", **laws).fit(X, y)
assert wide.basis_.n_terms > len(X)  # and no warning
unchanged_by_a_file(wide)
with pytest.raises(ValueError, match="chooses no penalty from a list"):
    PolynomialChaosRegressor(1, solver="screening", alphas=[1.0]).fit(X, y)
assert not hasattr(PolynomialChaosRegressor(solver="screening"), "partial_fit")
with pytest.warns(MoreTermsThanRowsWarning):
    PolynomialChaosRegressor(3, solver="fixed_ridge", **laws).fit(X, y)
narrow = PolynomialChaosRegressor(2, solver="fixed_ridge", **laws).fit(X, y)
unchanged_by_a_file(narrow)

low, high = narrow.basis_.laws[0].support
frozen = [
    stats.beta(0.5, 0.5, low, high - low)
    for low, high in (law.support for law in narrow.basis_.laws)
]
as_beta = PolynomialChaosRegressor(2, solver="fixed_ridge", distribution=frozen)
as_beta.fit(X, y)
np.testing.assert_allclose(narrow.predict(X), as_beta.predict(X), rtol=0, atol=1e-10)
edges = low + (high - low) * np.array([0.1, 0.5, 0.8])
ours, others = (
    means_of_pieces(model.basis_.laws[0], edges, 5) for model in (narrow, as_beta)
)
np.testing.assert_allclose(ours, others, rtol=0, atol=1e-12)
"""


def section_of(heading):
    page = (GUIDE / "extending.md").read_text(encoding="utf-8")
    return page.split(f"\n## {heading}\n")[1].split("\n## ")[0]


@pytest.fixture
def copy(tmp_path):
    """Return a folder with a copy of the package, to be changed."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "skpce", tmp_path / "skpce", ignore=ignored)
    return tmp_path


def run_in(folder, code):
    environment = os.environ | {"PYTHONPATH": str(folder)}
    printed_by("-c", code, cwd=folder, env=environment)


def examples_of(heading):
    """Return the classes and imports, and the rows of a table, under a heading."""
    section = section_of(heading)
    sources = [e.source for e in doctest.DocTestParser().get_examples(section)]
    classes = [s for s in sources if s.startswith(("class ", "from ", "import "))]
    rows = re.findall(r'^"\w+": .+,$', section, flags=re.MULTILINE)
    names = [s.split("(")[0].removeprefix("class ") for s in classes if s[0] == "c"]
    return "".join(["import numpy as np\n", *classes]), rows, ", ".join(names)


@pytest.mark.slow
def test_solvers_and_a_distribution_are_added_as_the_page_says(copy):
    for heading, package, first_row in (
        ("An input distribution", "_input_laws", '        "beta": BetaLaw,\n'),
        ("A solver", "_solvers", '            "ridge": RidgePathSolver,\n'),
    ):
        classes, rows, names = examples_of(heading)
        assert rows, heading
        folder = copy / "skpce" / package
        (folder / "own.py").write_text(classes, encoding="utf-8")
        code = (folder / "__init__.py").read_text(encoding="utf-8")
        assert code.count(first_row) == 1
        after = re.findall(r"^from \.[^(]*?(?:\([^)]*\))?\n", code, re.M)[-1]
        code = code.replace(after, f"{after}from .own import {names}\n", 1)
        code = code.replace(first_row, "".join(f"{r}\n" for r in rows) + first_row)
        (folder / "__init__.py").write_text(code, encoding="utf-8")
    run_in(copy, IN_THE_COPY)


CAUTIONED = """
import numpy as np
import skpce

rng = np.random.default_rng(0)
X = np.c_[rng.integers(0, 3, 60), rng.normal(size=60)].astype(float)
answer = skpce.explain(X, X[:, 1] + rng.normal(size=60))
assert [caution.code for caution in answer.cautions] == ["few levels"]
assert "Caution: x0 has 3 levels only." in str(answer)
"""

INSPECTION_AND_DISPLAY = [("inspection", 3, "order_shares")]
INSPECTION_AND_DISPLAY += [("plotting", 2, "OrderDisplay")]
INSPECTED = """
import warnings

import matplotlib
import numpy as np
from scipy.stats import uniform
from skpce import PolynomialChaosRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from skpce.inspection import order_shares
from skpce.plotting import OrderDisplay

matplotlib.use("Agg")
X = np.random.default_rng(0).uniform(size=(100, 3))
z = 2 * X - 1
y = 2 * z[:, 0] + 3 * z[:, 1] * z[:, 2]  # variances 4/3 and 9/9
model = PolynomialChaosRegressor(2, solver="ols", distribution=[uniform()] * 3)
model = make_pipeline(FunctionTransformer(), model)
shares = order_shares(model.fit(X, y))
np.testing.assert_allclose(shares.share, [[4 / 7, 3 / 7]], rtol=0, atol=1e-10)
assert "<table" in shares._repr_html_()
assert len(shares.plot().patches) == 2
(line,) = OrderDisplay.from_estimator(model).ax_.lines
np.testing.assert_allclose(line.get_ydata(), [4 / 7, 1], rtol=0, atol=1e-10)
with warnings.catch_warnings(action="ignore"):  # a constant target
    both = order_shares(model.fit(X, np.c_[y, np.ones(100)])).share
np.testing.assert_allclose(both, [[4 / 7, 3 / 7], [np.nan] * 2], rtol=0, atol=1e-10)
"""


@pytest.mark.slow
@cases(
    ("heading", "files", "in_the_copy"),
    ("A caution of an answer", [("drivers", 2, None)], CAUTIONED),
    ("An inspection and its display", INSPECTION_AND_DISPLAY, INSPECTED),
)
def test_one_file_and_one_line_are_enough(copy, heading, files, in_the_copy):
    examples = iter(doctest.DocTestParser().get_examples(section_of(heading)))
    for package, n_examples, name in files:
        source = "import numpy as np\n"
        if package == "plotting":
            source += "from skpce.inspection import order_shares\n"
        source += "".join(next(examples).source for _ in range(n_examples))
        folder = copy / "skpce" / package
        (folder / "own.py").write_text(source, encoding="utf-8")
        line = f"from .own import {name}\n" if name else "from . import own\n"
        with (folder / "__init__.py").open("a", encoding="utf-8") as init:
            init.write(line)
    run_in(copy, in_the_copy)


@pytest.fixture
def environments(monkeypatch):
    monkeypatch.syspath_prepend(GUIDE)
    yield pytest.importorskip("subset_environment")
    sys.modules.pop("subset_environment", None)


def test_the_environments_of_the_page_pass_the_contract_and_train(environments):
    import torch

    from gflownet_envs import (
        TrainingSpec,
        check_environment,
        solve_exact,
        train_ensemble,
    )

    items, log_z = ("a", "b", "c", "d", "e"), []
    for name in ("SubsetEnvironment", "OrderedSubsetEnvironment"):
        environment = getattr(environments, name)(items, size=3)
        check_environment(environment)
        log_reward = torch.zeros(1, environment.n_objects)
        log_z.append(solve_exact(environment, log_reward).log_z.exp().item())
    assert log_z == pytest.approx([10.0, 10.0])
    spec = TrainingSpec(policy="gru", hidden=(8,), n_iterations=2)
    train_ensemble(environment, log_reward, spec)  # a tree
