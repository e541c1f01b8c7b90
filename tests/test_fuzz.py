"""A slice of the fuzz suite; ``make fuzz`` plays the whole of it."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest
from scipy.stats import norm

from tests.fuzz.estimators import CLASSES, METHODS, PARAMETERS, Fit
from tests.fuzz.functions import EXEMPT, FUNCTIONS
from tests.fuzz.judge import ACCEPTED, REFUSED, UNEXPLAINED, Case, judge
from tests.fuzz.scenes import play
from tests.golden.surface import PUBLIC_PACKAGES
from tests.shared import cases

#: Scenes of the slice: some ten seconds.
SCENES = 800


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_slice_has_nothing_unexplained():
    ended = [(number, found) for number in range(SCENES) for found in play(18, number)]
    kinds = [found.kind for _, found in ended]
    unexplained = [
        f"scene {number}: {found.name}: {found.reason}\n{found.described}"
        for number, found in ended
        if found.kind == UNEXPLAINED
    ]
    assert not unexplained, "\n".join(unexplained)
    assert kinds.count(ACCEPTED) > 20
    assert kinds.count(REFUSED) > 10


def test_everything_public_is_played():
    """What no scene draws gets a line in ``FUNCTIONS``, or says why in ``EXEMPT``."""
    public = set()
    for package in (name for name in PUBLIC_PACKAGES if name.startswith("skpce")):
        module = importlib.import_module(package)
        for name in set(module.__all__) - set(PARAMETERS):
            value = getattr(module, name)
            is_warning = isinstance(value, type) and issubclass(value, Warning)
            if callable(value) and not is_warning:
                public.add(f"{package}.{name}")
    # but what makes an object in another way, such as SobolDisplay.from_fit
    assert public == {n for n in {*FUNCTIONS, *EXEMPT} if n.count(".") < 3}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PARAMETERS)
def test_every_method_is_played(name, rng):
    """But those of scikit-learn, and names of columns."""
    X, y = rng.normal(size=(20, 2)), rng.dirichlet([1.0, 1.0, 1.0], 20)
    kind = CLASSES[name]
    steps = (3,) if "steps" in inspect.signature(kind).parameters else ()
    given = {"steps": steps} if steps else {}
    if name == "PolynomialChaosRegressor":
        given = {"distribution": norm(0, 1), "criterion": "gcv"}
        given |= {"solver": "ridge"}  # it has partial_fit
    if name == "LogRatioTransformer":
        X = y
    y = y if steps else X[:, 0]
    fitted = kind(**given).fit(X, y)
    played = {method for method, _ in METHODS[name](Fit(fitted, rng, X, y))}
    public = {
        method
        for method in dir(fitted)
        if not method.startswith(("_", "set_", "get_"))
        and callable(getattr(fitted, method, None))
        and not method.endswith("_")
    }
    assert public - played <= {"fit", "fit_transform"} | set(given)


@pytest.mark.filterwarnings("ignore")
def test_a_scene_is_the_same_again():
    first, second = ([found.kind for found in play(0, 7)] for _ in range(2))
    assert first == second


def raising(error):
    def call():
        raise error

    return call


@cases(
    ("call", "kind"),
    (lambda: 1, ACCEPTED),
    (raising(ValueError("q must be in (0, 1]. Got 2.")), REFUSED),
    (raising(TypeError("q must be a float")), REFUSED),
    (raising(ValueError("must be positive")), UNEXPLAINED),
    (raising(ValueError("q is 2")), UNEXPLAINED),
    (raising(KeyError("q must be a float")), UNEXPLAINED),
    (raising(np.linalg.LinAlgError("q must be a float")), UNEXPLAINED),
    (lambda: np.float64(1e300) * np.float64(1e300), UNEXPLAINED),
)
def test_the_judge(call, kind):
    found = judge(Case("f", call, lambda found: (), frozenset({"q"}), "f(q=2)"))
    assert found.kind == kind


def test_broken_invariants_are_seen():
    case = Case("f", lambda: 1, lambda found: ["S above T"], frozenset(), "f()")
    assert judge(case).reason == "S above T"
