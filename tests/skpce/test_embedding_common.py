"""scikit-learn's own contract, and what all embeddings have in common."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from skpce.embedding import BetaVAE, NormalizingFlow, PLSTransformer
from tests.shared import STRICT, printed_by, refuses

torch = pytest.importorskip("torch")
pytest.importorskip("zuko")

# The contract needs no good fit, so few epochs suffice.
SHORT = {"max_epochs": 5, "random_state": 0}
ESTIMATORS = [
    BetaVAE(**SHORT),
    BetaVAE(validation_fraction=None, batch_size=8, hidden_layer_sizes=(), **SHORT),
    NormalizingFlow(hidden_layer_sizes=(8,), **SHORT),
    PLSTransformer(),
]
SEEDED = ESTIMATORS[:3]

# The checks pass arrays to estimators fitted on data frames, and draw y without noise.
pytestmark = [
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:X has feature names"),
    pytest.mark.filterwarnings("ignore:y residual is constant"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@parametrize_with_checks(ESTIMATORS, **STRICT)
def test_common_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_output_contract(estimator, output_check):
    output_check(type(estimator).__name__, estimator)


@pytest.fixture(name="X")
def skewed_rows():
    rng = np.random.default_rng(0)
    return rng.exponential(size=(40, 3)) @ rng.normal(size=(3, 12))


@pytest.mark.parametrize("estimator", SEEDED, ids=repr)
def test_same_seed_same_numbers_whatever_torch_has_drawn(estimator, X):
    torch.manual_seed(1)
    one = clone(estimator).fit(X).transform(X)
    torch.manual_seed(2)
    torch.rand(3)
    state = torch.get_rng_state()
    again = clone(estimator).fit(X).transform(X)
    assert_array_equal(one, again)
    assert torch.equal(torch.get_rng_state(), state)
    # without held-out rows, as the flow of a few epochs may be that of none
    estimators = [
        clone(estimator).set_params(validation_fraction=None, random_state=seed)
        for seed in (0, 1)
    ]
    first, second = (each.fit_transform(X) for each in estimators)
    assert np.abs(first - second).max() > 1e-6


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_fitted_embeddings_are_pickled_and_inverted(estimator, X):
    fitted = clone(estimator).fit(X, X[:, 0])
    Z = fitted.transform(X)
    loaded = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(loaded.transform(X), Z)
    assert loaded.inverse_transform(Z).shape == X.shape
    with pytest.raises(ValueError, match=r"Z has 3 columns, but .* expecting 2"):
        fitted.inverse_transform(np.zeros((4, 3)))


@pytest.mark.parametrize("kind", [BetaVAE, NormalizingFlow])
def test_a_training_that_diverges_is_reported(kind, X):
    refuses("diverged: its loss is", kind(learning_rate=1e150, random_state=0).fit, X)
    five = kind(hidden_layer_sizes=5)
    refuses("must be a tuple of positive ints. Got 5", five.fit, X)


@pytest.mark.slow
def test_the_import_needs_no_torch_and_the_fit_names_what_it_needs():
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('torch', 'zuko'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "import numpy as np\n"
        "from skpce.embedding import BetaVAE, NormalizingFlow\n"
        "for kind in (BetaVAE, NormalizingFlow):\n"
        "    try: kind().fit(np.eye(9))\n"
        "    except ImportError as error: print(error)\n"
    )
    shown = printed_by("-c", code)
    said = 'needs torch: pip install torch==2.13.0 ".[%s]", in a copy of the repository'
    names = {"BetaVAE": "torch", "NormalizingFlow": "flow"}
    assert shown.splitlines() == [f"{n} {said % extra}" for n, extra in names.items()]


def test_pls_scores_are_those_of_pls_regression(X):
    y = X[:, :3] + 1
    fitted = PLSTransformer(2, scale=False)
    scores = fitted.fit_transform(X, y)
    reference = PLSRegression(2, scale=False).fit(X, y)
    assert_array_equal(scores, reference.transform(X))
    back = reference.inverse_transform(scores)
    assert_array_equal(fitted.inverse_transform(scores), back)


def test_pls_of_a_constant_explains_nothing(X):
    """A step of which all training members of a fold have the same policy."""
    fitted = PLSTransformer(2).fit(X, np.ones((len(X), 2)))
    assert_array_equal(fitted.transform(X), 0)
    assert fitted.n_iter_ == 0


def test_columns_whose_mean_is_not_their_value_to_the_last_bit():
    """Of constant columns rounding is left, whose loadings are no numbers."""
    X = np.full((30, 2), -8.734366563199176e-56)
    y = np.random.default_rng(0).normal(size=30)
    refuses("X has no direction that goes with y", PLSTransformer(2).fit, X, y)
