"""The paper's claims as checks, on results made by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from gflownet_envs.experiments.paper import (
    alr_sum_claim,
    coverage_claim,
    order_claim,
    shift_claim,
)


@pytest.fixture
def source():
    return SimpleNamespace(
        dataset=SimpleNamespace(step_names=("first", "last")),
        fragility=SimpleNamespace(
            alr_sum=np.array([60.0, 200.0]), aitchison_variance=np.array([1.0, 3.0])
        ),
        main=SimpleNamespace(
            expansion_alr_sum=np.array([70.0, 10.0]),
            calibration={
                "push-forward alone": SimpleNamespace(
                    coverage=np.array([[0.1, 0.2], [0.5, 0.93]])
                )
            },
            surrogate=SimpleNamespace(
                step_total_sobol_indices_=np.array([[0.9, 0.2], [0.3, 0.8]])
            ),
        ),
    )


@pytest.mark.parametrize(
    ("claim", "figure", "agrees"),
    [
        (alr_sum_claim("first", 71.3), "70.0 (members 60.0)", True),
        (alr_sum_claim("first", 100.0), "70.0 (members 60.0)", False),
        (coverage_claim("last", 0.97), "0.93", True),
        (coverage_claim("first", 0.97), "0.50", False),
        (order_claim("x", "last", "first"), "last 3.00, first 1.00", True),
        (order_claim("x", "first", "last"), "first 1.00, last 3.00", False),
        (
            shift_claim("x", "first", "last"),
            "first 0.90 and 0.20, last 0.30 and 0.80",
            True,
        ),
        (
            shift_claim("x", "last", "first"),
            "last 0.30 and 0.80, first 0.90 and 0.20",
            False,
        ),
    ],
)
def test_our_figure_stands_beside_the_papers(source, claim, figure, agrees):
    assert claim.measure(source) == (figure, agrees)
