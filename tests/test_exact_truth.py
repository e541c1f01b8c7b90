"""Exact shares of complete grids, and the studies drawn from them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.exact_truth.__main__ import RECORD, lines, means
from benchmarks.exact_truth.grids import GRIDS, N_SEEDS
from benchmarks.exact_truth.studies import DESIGNS, DUMMIES, draw
from benchmarks.exact_truth.truth import exact, read, table_of


def synthetic(n_seeds: int, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Return a + 2 b + 3 a b + noise, and an input that does nothing."""
    a = np.array([-1.0, 1.0])[:, None, None, None]
    b = np.array([-1.0, 1.0])[None, :, None, None]
    values = a + 2 * b + 3 * a * b + np.zeros((2, 2, 5, n_seeds))
    return values + noise * rng.normal(size=values.shape)


def test_shares_of_a_function_are_exact() -> None:
    found = exact(synthetic(1, 0.0, np.random.default_rng(0)))
    assert_allclose(found.first, [1 / 14, 4 / 14, 0], atol=1e-12)
    assert_allclose(found.total, [10 / 14, 13 / 14, 0], atol=1e-12)
    assert_allclose(found.pairs[0, 1], 9 / 14, atol=1e-12)
    assert found.seed == pytest.approx(0, abs=1e-12)


def test_seeds_bias_nothing(rng) -> None:
    """Over many tables of three seeds the mean of each share's part is the truth."""
    found = [exact(synthetic(3, 4.0, rng)) for _ in range(400)]
    # The variance is 14 + 16; shares are ratios, so their mean is only nearly right.
    first, total = (
        np.mean([getattr(f, k) for f in found], axis=0) for k in ("first", "total")
    )
    assert_allclose(first, [1 / 30, 4 / 30, 0], atol=0.02)
    assert_allclose(total, [10 / 30, 13 / 30, 0], atol=0.02)
    assert np.mean([f.seed for f in found]) == pytest.approx(16 / 30, abs=0.02)


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_is_complete(name: str) -> None:
    grid = GRIDS[name]
    assert table_of(grid).exists()
    assert 1000 <= np.prod(grid.shape) <= 8000
    assert len(grid.inputs) >= 4
    for values in read(grid).values():
        assert values.shape == (*grid.shape, N_SEEDS)
        assert np.isfinite(values).all()
        truth = exact(values)
        assert (truth.first <= truth.total + 0.02).all()


@pytest.mark.parametrize("design", [d for d in DESIGNS if d != "TPE"])
def test_a_study_has_runs_of_the_grid(design: str) -> None:
    grid = GRIDS["elastic net"]
    values = read(grid)
    study = draw(grid, values, "error", design, 60, 0)
    assert 30 <= len(study.y) <= 60
    assert list(study.levels)[-3:] == list(DUMMIES)
    assert len(study.truth.total) == len(study.levels) - 3
    assert np.isfinite(study.y).all() == (design != "failed runs")
    assert np.isin(study.y[np.isfinite(study.y)], values["error"]).all()
    again = draw(grid, values, "error", design, 60, 0)
    assert_array_equal(again.places, study.places)


def test_the_record_has_all_tools() -> None:
    record = json.loads(RECORD.read_text())
    wanted = {"error_first", "error_total", "missed", "dummies", "cpu_seconds"}
    for tool, sizes in record.items():
        assert set(sizes) == {"30", "60", "100", "200"}, tool
        assert all(wanted <= set(row) for row in sizes.values())
    assert record == json.loads(json.dumps(means(lines())))
