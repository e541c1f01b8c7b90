"""The trips whose numbers are recorded: each returns its results by name."""

from __future__ import annotations

from collections.abc import Callable

from tests.golden import trips_of_fits, trips_of_inspections, trips_to_pages
from tests.golden.ensembles import Results

TRIPS: dict[str, Callable[[], Results]] = {
    trip.__name__: trip
    for trip in (
        trips_of_fits.solvers_of_the_regressor,
        trips_of_fits.kinds_of_regressor,
        trips_of_fits.what_an_expansion_says,
        trips_of_fits.intervals_of_the_regressor,
        trips_of_fits.kinds_of_surrogate,
        trips_of_fits.what_a_surrogate_says,
        trips_of_fits.draws_of_the_surrogate,
        trips_of_fits.maps_of_inputs,
        trips_of_fits.learned_regressors,
        trips_of_fits.learned_surrogates,
        trips_of_fits.kernels_of_many_inputs,
        trips_of_inspections.verdicts,
        trips_of_inspections.noise_of_training,
        trips_of_inspections.inspections,
        trips_of_inspections.models,
        trips_of_inspections.embeddings_compared,
        trips_of_inspections.sizes,
        trips_of_inspections.metrics_of_predictions,
        trips_of_inspections.decisions,
        trips_to_pages.report_page,
        trips_to_pages.run_of_the_grid,
    )
}
"""Every trip by its name."""
