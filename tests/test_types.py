"""What a type checker sees of fits and answers: arrays, results and states."""

from pathlib import Path

import pytest

from tests.shared import printed_by

SEEN = """
import numpy as np
from numpy.typing import NDArray
from typing import assert_type

from skpce import CompositionalPCESurrogate, Expansion, PolynomialChaosRegressor
from skpce import explain
from skpce.drivers import Answer
from skpce.inspection import Result, variance_decomposition, verdict

Array = NDArray[np.float64]
table, y = np.zeros((9, 2)), np.zeros(9)
model = PolynomialChaosRegressor()
assert_type(model.sobol_indices_, Array)
assert_type(model.coefficients_, Array)
assert_type(model.q2_, Array)
assert_type(model.expansion_, Expansion)
surrogate = CompositionalPCESurrogate()
assert_type(surrogate.sobol_indices_, Array)
assert_type(surrogate.step_names_, tuple[str, ...])
assert_type(surrogate.predict(table), Array)
answer = explain(table, y)
assert_type(answer, Answer)
assert_type(answer.drivers, Result)
assert_type(answer.drivers.total, Array)
assert_type(answer.drivers.state, NDArray[np.object_])
assert_type(answer.sentences, tuple[str, ...])
judged = verdict(model, table, y)
assert_type(judged.attributable, tuple[bool, ...])
assert_type(judged.q2, Array)
assert_type(variance_decomposition(table, [0] * 9).noise_share, Array)
"""


@pytest.mark.slow
def test_a_type_checker_sees_arrays_results_and_states(tmp_path):
    pytest.importorskip("mypy")
    file = tmp_path / "seen.py"
    file.write_text(SEEN, encoding="utf-8")
    printed_by("-m", "mypy", "--strict", str(file), cwd=Path(__file__).parents[1])
