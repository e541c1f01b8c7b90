"""What scikit-learn requires of transformers beside ``check_estimator``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.utils import estimator_checks


@pytest.fixture(
    params=[
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_set_output_transform_polars",
        "check_global_output_transform_pandas",
        "check_global_set_output_transform_polars",
        "check_dataframe_column_names_consistency",
    ]
)
def output_check(request: pytest.FixtureRequest) -> Callable[..., None]:
    """One check of names and containers: takes the name of a class and an estimator."""
    return getattr(estimator_checks, request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers of seed 0."""
    return np.random.default_rng(0)
