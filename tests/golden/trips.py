"""The trips whose numbers are recorded: each returns its results by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from tests.golden import trips_of_fits, trips_of_inspections, trips_to_pages
from tests.golden.ensembles import Results

#: Every function of a module of trips that takes nothing, by its name.
TRIPS: dict[str, Callable[[], Results]] = {
    name: function
    for module in (trips_of_fits, trips_of_inspections, trips_to_pages)
    for name, function in vars(module).items()
    if inspect.isfunction(function)
    and function.__module__ == module.__name__
    and not inspect.signature(function).parameters
}
