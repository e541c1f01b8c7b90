"""The comparison of fits: its truths, its additive kernel, its record and page."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.pce import comparison
from benchmarks.pce.functions import G_WEIGHTS, HERE, KEPT_BACK, NOTHING, SUITE

OAKLEY = [0.00156, 0.000186, 0.001307, 0.003045, 0.002905, 0.023035, 0.024151, 0.026517]
OAKLEY += [0.046036, 0.014945, 0.101823, 0.135708, 0.101989, 0.105169, 0.122818]
SPREADS = np.log([1.15, 1.5, 1.5, 1.4, 1.3, 1.2, 1.4, 1.1, 1.2]) ** 2


def test_indices_are_those_of_closed_forms():
    s1, s2, s3 = (1 + 0.1 * np.pi**4 / 5) ** 2 / 2, 7**2 / 8, np.pi**8 * 0.01 * 8 / 225
    ishigami, whole = SUITE["Ishigami"].indices, s1 + s2 + s3
    assert_allclose(ishigami.first, np.array([s1, s2, 0]) / whole, atol=1e-4)
    assert_allclose(ishigami.total, np.array([s1 + s3, s2, s3]) / whole, atol=1e-4)
    parts = 1 / (3 * (1 + G_WEIGHTS) ** 2)
    product = np.prod(1 + parts)
    totals = parts * product / (1 + parts) / (product - 1)
    assert_allclose(SUITE["Sobol g"].indices.total, totals, atol=1e-4)
    exact = json.loads((HERE / "exact_indices.json").read_text(encoding="utf-8"))
    for name, (first, total) in exact.items():
        assert_allclose(SUITE[name].indices.first, first, atol=1e-4)
        assert_allclose(SUITE[name].indices.total, total, atol=1e-4)


def test_first_orders_are_those_published():
    assert_allclose(SUITE["Oakley-O'Hagan"].indices.first, OAKLEY, atol=1e-3)
    assert_allclose(
        SUITE["Sulfur"].indices.first,
        np.expm1(SPREADS) / np.expm1(SPREADS.sum()),
        atol=2e-3,
    )
    waves = SUITE["high frequency"].indices
    assert_allclose(waves.first[:2], np.array([0.5, 0.03]) / 0.53, atol=1e-5)
    assert waves.variance == pytest.approx(0.53, rel=1e-5)


def test_a_function_of_every_name_is_in_the_table():
    assert len(SUITE) == 31
    assert {function.name for function in KEPT_BACK} < set(SUITE)
    for function in SUITE.values():
        indices = function.indices
        assert len(indices.first) == len(indices.total) == len(function.laws)
        assert np.all(indices.first <= indices.total + 2e-3)
        X, y = function.data(4000, seed=0)
        assert X.shape == (4000, len(function.laws))
        if function is NOTHING:
            assert indices.variance == y.var() == 0
        else:
            assert 0.6 < y.var() / indices.variance < 1.6


def test_a_record_is_completed_and_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(comparison.METHODS, "broken", lambda *_: 1 / 0)
    monkeypatch.setattr(comparison, "RECORD", tmp_path / "kept.csv.gz")
    record, page = tmp_path / "fits.csv", tmp_path / "page.md"

    def call(*words):
        monkeypatch.setattr("sys.argv", ["comparison", "--out", str(record), *words])
        comparison.main()

    functions = ["--functions", "damped", "nothing", "--n", "40", "--noise", "0.05"]
    call("--methods", "skpce", "--seeds", "2", *functions)
    call("--methods", "skpce", "additive kernel", "broken", "--seeds", "2", *functions)
    rows = comparison.read(record)
    assert len(rows) == 3 * 2 * 2
    assert {row["failed"][:17] for row in rows} == {"", "ZeroDivisionError"}
    assert "broken damped" in capsys.readouterr().out
    call("--write", str(page))
    text = page.read_text(encoding="utf-8")
    scores = [
        min(max(float(row["q2"]), 0), 1)
        for row in rows
        if row["method"] == "skpce" and row["function"] == "damped"
    ]
    cell = f"| 40 | 0.05 | 2 | {np.mean(scores):.3f} | "
    found = [line for line in text.splitlines() if line.startswith(cell)]
    assert len(found) == 2  # the first eight, and all
    assert all("| 0.000 |" in line for line in found)
    assert "worse than broken by more than 0.02 in 0 of 1 cells" in text
    assert "## Noise alone" in text
    record.unlink()
    assert comparison.read(record) == rows  # what was kept is gone on from
