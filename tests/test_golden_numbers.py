"""Numbers stay: fits, intervals, verdicts, inspections, a report and a run.

The recording is ``tests/golden/numbers.json``, which
``python -m tests.golden.record numbers`` rewrites. Results are read by attribute and
by column, so that their types may change; new names of columns are in
``tests.golden.numbers.RENAMED``. The last digits depend on the processor and on the
versions of the libraries: here numbers are compared as far as they do not. Whoever only
moves code compares all digits with the commit before, by ``make golden``.
"""

from __future__ import annotations

import json

import pytest

from tests.golden.numbers import ANY_MACHINE, SAME_MACHINE, difference, flatten, read
from tests.golden.record import NUMBERS, differences, main
from tests.golden.trips import TRIPS

#: Training in float32, of which kernels change the seventh.
TRAINED = {"run_of_the_grid": 1e-5}
#: A search for prior variances ends where the likelihood is flat to seven digits; what
#: it finds has fewer, and kernels of other processors change them.
LEARNED = dict.fromkeys(
    (
        *("learned_regressors", "learned_surrogates", "kernels_of_many_inputs"),
        *("models", "verdicts", "report_page", "run_of_the_grid"),
    ),
    1e-2,
)

RECORDED = json.loads(NUMBERS.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIPS)
def test_numbers_are_those_recorded(name):
    tolerance = (TRAINED | LEARNED).get(name, ANY_MACHINE)
    different = differences(name, RECORDED[name], tolerance)
    shown = "\n".join(f"{path}: {said}" for path, said in list(different.items())[:20])
    n_recorded = len(RECORDED[name])
    assert not different, f"{len(different)} of {n_recorded} numbers:\n{shown}"


def test_every_trip_is_recorded():
    assert set(RECORDED) == set(TRIPS)
    assert set(TRIPS) >= set(TRAINED) | set(LEARNED)


def test_a_path_leads_back_to_its_value():
    results = TRIPS["sizes"]()
    for name, result in results.items():
        for path, value in flatten(result, ""):
            assert difference(value, read(result, path), 0.0) is None, (name, path)


@pytest.mark.slow
def test_another_commit_is_compared_in_all_digits(tmp_path, monkeypatch, capsys):
    place = "surrogate -> .tolerance"
    before = {"sizes": RECORDED["sizes"] | {place: 0.1 + 1e-11}}
    (tmp_path / "tests" / "golden").mkdir(parents=True)
    (tmp_path / "tests" / "golden" / NUMBERS.name).write_text(json.dumps(before))
    monkeypatch.setattr("tests.golden.record.subprocess.run", lambda *a, **o: None)
    assert main(["against", str(tmp_path)]) == 1
    assert f"  {place}: 0.1, recorded 0.10000000001\n" in capsys.readouterr().out


def test_differences_are_seen():
    for tolerance in (SAME_MACHINE, ANY_MACHINE):
        beyond = 2.0 * (1.0 + 4.0 * tolerance)
        assert difference([1.0, 2.0], [1.0, beyond], tolerance) is not None
    assert difference([1.0, 2.0], [1.0, 2.0 + 1e-9], SAME_MACHINE) is not None
    assert difference([1.0, 2.0], [1.0], ANY_MACHINE) is not None
    assert difference("x0", "x1", ANY_MACHINE) is not None
    assert difference(float("nan"), float("nan"), ANY_MACHINE) is None
    assert difference(True, 1.0, ANY_MACHINE) is None


def test_written_numbers_may_be_rounded_to_the_other_side():
    assert difference(["0.35", "7"], ["0.36", "7"], ANY_MACHINE) is None
    assert difference("0.35", "0.36", SAME_MACHINE) is not None
    assert difference("0.35", "0.37", ANY_MACHINE) is not None
    assert difference("0.35", "x0", ANY_MACHINE) is not None
    assert difference("Q² = 1.000 ± 0.1", "Q² = 0.999 ± 0.1", ANY_MACHINE) is None
    assert difference("Q² = 1.000 of a", "Q² = 0.999 of b", ANY_MACHINE) is not None
