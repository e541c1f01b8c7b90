"""Columns of levels against RDKit's own numbers and distances by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs.rewards.gaussian_process import (
    level_descriptors,
    level_features,
    one_hot_levels,
)
from tests.shared import cases, refuses

PYRIDINES = ["Clc1ccccn1", "Brc1ccccn1", "Ic1ccccn1", "Clc1cccnc1", "Brc1cccnc1"]


@pytest.fixture
def chem():
    return pytest.importorskip("rdkit.Chem")


def test_one_descriptor_by_hand(chem):
    from rdkit.Chem import Descriptors

    weights = [Descriptors.MolWt(chem.MolFromSmiles(s)) for s in PYRIDINES]
    table = level_descriptors(PYRIDINES, names=["MolWt", "RingCount"])
    expected = (weights - np.mean(weights)) / np.std(weights)
    assert_allclose(table, expected[:, None], rtol=1e-12)


@pytest.mark.parametrize("absent", [[], [None], [""]])
def test_distances_are_near_those_of_one_hot_vectors_on_average(chem, absent):
    table = level_descriptors([*absent, *PYRIDINES])
    assert len(table) == len(PYRIDINES) + len(absent)
    squared = np.square(table[:, None] - table[None]).sum(axis=2)
    molecules = squared[len(absent) :, len(absent) :]
    different = molecules[~np.eye(5, dtype=bool)]
    assert different.mean() == pytest.approx(2 * 5 / 4)
    assert (different > 0.1).all()
    for row in squared[: len(absent), len(absent) :]:
        assert row.mean() == pytest.approx(2)


def test_absent_levels_and_descriptors(chem):
    table = level_descriptors(["CCO", None, "CCN", None])
    assert_array_equal(table[:, -1], [0, 1, 0, 1])
    assert_array_equal(table[[1, 3], :-1], 0)
    assert np.abs(table[[0, 2], :-1]).min() > 0
    # what a level does not have is left out
    with_salt = level_descriptors(["CCO", "[Na+].[Cl-]"], names=["BCUT2D_MWHI", "TPSA"])
    assert_allclose(with_salt, [[1], [-1]])
    without = level_descriptors(["CCO", "CCN"], names=["BCUT2D_MWHI", "TPSA"])
    assert without.shape == (2, 2)


def test_rows_stand_side_by_side(rng):
    tables = [rng.normal(size=shape) for shape in [(3, 2), (4, 5)]]
    levels = np.indices((3, 4)).reshape(2, -1).T
    expected = [np.concatenate([tables[0][a], tables[1][b]]) for a, b in levels]
    assert_array_equal(level_features(levels, tables), expected)
    found = level_features(levels, [np.eye(3), np.eye(4)])
    assert_array_equal(found, one_hot_levels(levels, (3, 4)))
    words = r"tables\[1\] must be .* got shape \(2,\)"
    refuses(words, level_features, [[0, 0]], [np.eye(2), [1.0, 2.0]])
    refuses(r"tables\[0\] must be finite", level_features, [[0]], [[[np.nan]]])


@cases(
    ("smiles", "names", "message"),
    (["CCO"], None, r"some descriptor, got \['CCO'\]"),
    (["CCO", "no molecule"], None, "readable by RDKit, got 'no molecule'"),
    (["CCO", "CCN"], ["Weight", "TPSA"], r"descriptors of RDKit, got \['Weight'\]"),
)
def test_bad_molecules(chem, smiles, names, message):
    refuses(message, level_descriptors, smiles, names=names)
