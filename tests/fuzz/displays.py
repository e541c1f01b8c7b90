"""Calls of the displays, which are drawn and closed again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from skpce import inspection, plotting
from skpce.decision import value_of_information
from tests.fuzz import invariants as true
from tests.fuzz.models import Drawn, Generator, fitted_model, policies
from tests.shared import ridge_pce, ridge_surrogate


def _display(name: str) -> Any:
    """Return a display without a window; matplotlib is read when one is drawn."""
    import matplotlib

    matplotlib.use("Agg")
    return getattr(plotting, name)


def _closed(found: Any) -> true.Faults:
    """Draw nothing that cannot be drawn, and close it."""
    from matplotlib import pyplot

    for axes in np.ravel(np.asarray(found.axes_ if hasattr(found, "axes_") else [])):
        limits = np.array([axes.get_xlim(), axes.get_ylim()])
        yield from true.finite("limits", limits)
    pyplot.close("all")


def _of_estimator(name: str) -> Callable[[Generator], Drawn]:
    """Draw what ``from_estimator`` takes: a fit, and those of X and y that it names."""

    def make(rng: Generator) -> Drawn:
        fitted, X, y = fitted_model(rng)
        from_estimator, known = _display(name).from_estimator, {"X": X, "y": y}
        parameters = list(inspect.signature(from_estimator).parameters)
        given = {parameters[0]: fitted}
        given |= {table: known[table] for table in parameters if table in known}
        return from_estimator, given, _closed

    return make


def _convergence(rng: Generator) -> Drawn:
    X, y, steps = policies(rng)
    given = {"pipeline": ridge_surrogate(1, steps=steps), "X": X, "y": y}
    given |= {"n_repeats": 2, "random_state": 0}
    return _display("ConvergenceDisplay").from_estimator, given, _closed


def _parts(rng: Generator) -> Drawn:
    parts = {name: rng.normal(size=(8, 2)) for name in "abc"}
    effects = inspection.part_effects(
        lambda z: np.tanh(z).reshape(len(z), -1), parts, n_draws=16, random_state=0
    )
    given = {"effects": effects, "noise_share": None, "max_parts": 2}
    return _display("PartEffectsDisplay"), given, _closed


def _values(rng: Generator) -> Drawn:
    X = rng.normal(size=(20, 3))
    utility = X @ rng.normal(size=(3, 2)) + rng.normal(size=(20, 2))
    few = {"n_resamples": 3, "n_samples": 128, "random_state": 0}
    values = value_of_information(ridge_pce(1), X, utility, **few)
    display = _display("ValueOfInformationDisplay")
    return display.from_values, {"values": values}, _closed


#: The displays by name, with what draws their arguments.
DISPLAYS: Mapping[str, Callable[[Generator], Drawn]] = {
    **{
        f"skpce.plotting.{name}": _of_estimator(name)
        for name in plotting.__all__
        if hasattr(getattr(plotting, name), "from_estimator")
    },
    "skpce.plotting.ConvergenceDisplay": _convergence,
    "skpce.plotting.PartEffectsDisplay": _parts,
    "skpce.plotting.ValueOfInformationDisplay": _values,
}
