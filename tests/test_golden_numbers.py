"""Numbers stay: fits, intervals, verdicts, inspections, a report and a run.

The recording is ``tests/golden/numbers.json``, which
``python -m tests.golden.record numbers`` rewrites. Results are read by attribute and
by column, so that their types may change; new names of columns are in
``tests.golden.numbers.RENAMED``. Last digits depend on the versions of the libraries
and on the kernels of BLAS: where these are not those of the recording, there is nothing
to compare with. Training in float32 depends on the processor as well, whose kernels
PyTorch does not name: with others, trained policies agree to six digits.
"""

from __future__ import annotations

import json

import pytest

from tests.golden.numbers import difference, read
from tests.golden.record import NUMBERS, environment, training_digits
from tests.golden.trips import TRIPS

TOLERANCE = 1e-12
TRAINED, OTHER_PROCESSOR = {"run_of_the_grid"}, 1e-5

RECORDED = json.loads(NUMBERS.read_text(encoding="utf-8"))


def value_at(results, path):
    """What a recorded path leads to now, or why it leads nowhere."""
    name, _, steps = path.partition(" -> ")
    try:
        return read(results[name], steps)
    except (AttributeError, LookupError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.skipif(
    RECORDED["environment"] != environment(),
    reason=f"recorded with {RECORDED['environment']}; here is {environment()}",
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TRIPS)
def test_numbers_are_those_recorded(name):
    results = TRIPS[name]()
    recorded = RECORDED[name]
    same = name not in TRAINED or RECORDED["training"] == training_digits()
    tolerance = TOLERANCE if same else OTHER_PROCESSOR
    different = {}
    for path, value in recorded.items():
        said = difference(value, value_at(results, path), tolerance)
        if said is not None:
            different[path] = said
    shown = "\n".join(f"{path}: {said}" for path, said in list(different.items())[:20])
    assert not different, f"{len(different)} of {len(recorded)} numbers:\n{shown}"


def test_every_trip_is_recorded():
    assert set(RECORDED) == {"environment", "training", *TRIPS}
    assert set(TRIPS) >= TRAINED


def test_a_path_leads_back_to_its_value():
    from tests.golden.numbers import flatten

    results = TRIPS["sizes"]()
    for name, result in results.items():
        for path, value in flatten(result, ""):
            assert difference(value, read(result, path), 0.0) is None, (name, path)


def test_differences_are_seen():
    assert difference([1.0, 2.0], [1.0, 2.0 + 1e-9], TOLERANCE) is not None
    assert difference([1.0, 2.0], [1.0], TOLERANCE) is not None
    assert difference("x0", "x1", TOLERANCE) is not None
    assert difference(float("nan"), float("nan"), TOLERANCE) is None
    assert difference(True, 1.0, TOLERANCE) is None
