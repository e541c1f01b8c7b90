"""The basis as a transformer: parameters, names and output containers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skpce import PolynomialChaosFeatures

X = np.random.default_rng(0).normal(size=(40, 2))


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_frames_carry_the_names_of_the_terms(container):
    pytest.importorskip(container)
    features = PolynomialChaosFeatures(2, interaction_order=1, distribution="normal")
    frame = features.set_output(transform=container).fit_transform(X)
    assert list(frame.columns) == ["1", "He1(x0)", "He1(x1)", "He2(x0)", "He2(x1)"]
    assert list(frame.columns) == features.get_feature_names_out().tolist()
    assert_array_equal(
        frame.to_numpy(),
        PolynomialChaosFeatures(
            2, interaction_order=1, distribution="normal"
        ).fit_transform(X),
    )
