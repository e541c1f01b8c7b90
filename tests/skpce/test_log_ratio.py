"""Log-ratio contracts, over every kind and against composition-stats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from skpce import ClosureWarning, LogRatioTransformer
from tests.shared import cases, refuses

KINDS = ("alr", "clr", "ilr")
WIDTHS = (4, 2, 1, 5)


@pytest.fixture
def y():
    rng = np.random.default_rng(0)
    blocks = [softmax(3 * rng.normal(size=(30, width)), axis=1) for width in WIDTHS]
    return np.hstack(blocks)


@pytest.fixture
def masked():
    """Steps (4, 3, 3): one, two and three possible parts; references masked."""
    rng = np.random.default_rng(0)
    y = np.zeros((20, 10))
    y[:, 1] = 1.0
    y[:, [4, 5]] = softmax(rng.normal(size=(20, 2)), axis=1)
    y[:, 7:] = softmax(rng.normal(size=(20, 3)), axis=1)
    return y


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reference", [0, -1])
def test_round_trip_with_masks(kind, reference, masked):
    transformer = LogRatioTransformer(kind, steps=(4, 3, 3), reference=reference)
    coordinates = transformer.fit_transform(masked)
    assert not np.any(transformer.coordinate_steps_ == 0), "one part: no choice"
    names = transformer.get_feature_names_out()
    assert len(names) == coordinates.shape[1] == len(transformer.coordinate_steps_)
    assert len(set(names)) == len(names)
    back = transformer.inverse_transform(coordinates)
    assert_allclose(back, masked, rtol=1e-9)
    assert np.all(back[:, ~transformer.mask_] == 0.0)
    assert np.all(back[:, 1] == 1.0)
    message = f"expected .* {kind} coordinates"
    refuses(message, transformer.inverse_transform, np.zeros((2, 9)))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(arrays(np.float64, (3, 4), elements=st.floats(1e-3, 1e3)))
def test_closure_invariance(kind, values):
    closed = values / values.sum(axis=1, keepdims=True)
    transformer = LogRatioTransformer(kind).fit(closed)
    with pytest.warns(ClosureWarning, match="not to 1"):
        scaled = transformer.transform(7.0 * closed)
    assert_allclose(scaled, transformer.transform(closed), atol=1e-9)


def test_agrees_with_composition_stats(y):
    composition = pytest.importorskip("composition_stats")
    part = y[:, :4]
    clr = LogRatioTransformer("clr").fit_transform(part)
    assert_allclose(clr, composition.clr(part), atol=1e-12)
    for reference in range(4):
        alr = LogRatioTransformer("alr", reference=reference).fit_transform(part)
        expected = composition.alr(part, denominator_idx=reference)
        assert_allclose(alr, expected, atol=1e-12)
    # Bases of ilr differ by a rotation: distances agree.
    ilr = LogRatioTransformer("ilr").fit_transform(part)
    theirs = composition.ilr(part)
    assert_allclose(ilr @ ilr.T, theirs @ theirs.T, atol=1e-10)


def test_zero_replacement_is_that_of_composition_stats():
    composition = pytest.importorskip("composition_stats")
    y = np.array([[0.0, 0.3, 0.7], [0.2, 0.0, 0.8], [0.0, 0.0, 1.0], [0.5, 0.3, 0.2]])
    clr = LogRatioTransformer("clr", zero_replacement=1e-3).fit_transform(y)
    replaced = composition.multiplicative_replacement(y, delta=1e-3)
    assert_allclose(clr, composition.clr(replaced), atol=1e-12)


@pytest.mark.parametrize(("reference", "expected"), [(-1, 2), (3, 2), (0, 0), (1, 1)])
def test_a_masked_reference_gives_way_to_the_last_possible_part(reference, expected):
    rng = np.random.default_rng(0)
    y = np.zeros((9, 4))
    y[:, :3] = softmax(rng.normal(size=(9, 3)), axis=1)  # the last part is masked
    alr = LogRatioTransformer("alr", reference=reference).fit(y)
    others = [k for k in range(3) if k != expected]
    logs = np.log(y[:, others] / y[:, [expected]])
    assert_allclose(alr.transform(y), logs, atol=1e-12)
    names = alr.get_feature_names_out()
    assert [name.split("/")[1] for name in names] == [str(expected)] * 2


def test_an_explicit_mask_distinguishes_underflow_from_impossible():
    y = np.array([[0.0, 0.5, 0.5], [0.0, 0.1, 0.9]])
    inferred = LogRatioTransformer().fit(y)
    assert inferred.mask_.tolist() == [False, True, True]
    given_mask = LogRatioTransformer(mask=[True, True, True]).fit(y)
    assert given_mask.transform(y).shape == (2, 2)
    assert np.isfinite(given_mask.transform(y)).all()
    per_member = LogRatioTransformer(mask=np.array([[False, True, True]] * 2)).fit(y)
    assert per_member.mask_.tolist() == [False, True, True]


def test_names():
    pandas = pytest.importorskip("pandas")
    columns = ["catalyst__L1", "catalyst__L2", "base__B1", "base__B2"]
    frame = pandas.DataFrame(np.full((3, 4), 0.5), columns=columns)
    expected = {
        "alr": ["catalyst:L1/L2", "base:B1/B2"],
        "clr": ["catalyst:L1", "catalyst:L2", "base:B1", "base:B2"],
        "ilr": ["catalyst:ilr0", "base:ilr0"],
    }
    for kind in KINDS:
        names = LogRatioTransformer(kind).fit(frame).get_feature_names_out()
        assert names.tolist() == expected[kind]


@cases(
    ("parameters", "message"),
    ({"log_ratio": "logit"}, "one of 'alr', 'clr', 'ilr'. Got 'logit'"),
    ({"reference": 1.5}, "must be an int.*Got 1.5"),
    ({"reference": 3}, r"must be in \[-3, 3\).*Got 3"),
    ({"zero_replacement": 0.0}, "zero_replacement.*Got 0.0"),
    ({"zero_replacement": 0.5}, "must be below 1/3"),
    ({"steps": (2, 2)}, "sums to 4 columns .2 . 2.; expected 3"),
    ({"mask": [True, True]}, "has 2 entries; expected 3, one for each column"),
    ({"mask": [False] * 3}, "No part of step 'step0' is possible"),
    ({"mask": [True, False, True]}, "part '1' of step 'step0', which is masked"),
    ({"mask": np.array([[True] * 3, [True, True, False]])}, "differs between members"),
)
def test_bad_parameters(parameters, message):
    y = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    refuses(message, LogRatioTransformer(**parameters).fit, y)


def test_a_row_of_zeros_becomes_uniform_under_renormalize():
    with pytest.warns(ClosureWarning, match=r"Row 0 .* sums to 0"):
        fitted = LogRatioTransformer("clr").fit([[0.0, 0.0], [0.5, 0.5]])
    with pytest.warns(ClosureWarning, match="sums to 0"):
        assert_array_equal(fitted.transform([[0.0, 0.0]]), [[0.0, 0.0]])
