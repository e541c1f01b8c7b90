"""Chains of real fragments against hand-written molecules and RDKit's own numbers."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs.chemistry import (
    PROPERTIES,
    assemble_chains,
    drug_likeness,
    drug_likeness_properties,
    molecular_descriptors,
    morgan_fingerprints,
    nearest_similarities,
    neutral_links,
)
from gflownet_envs.datasets import fetch_fragments
from tests.gflownet_envs.datasets.serving import real_file
from tests.shared import cases, refuses

FRAGMENTS = [
    ("CO", (0, 1)),
    ("c1ccccc1", (0, 3)),
    ("O=c1cc[nH]c(=O)[nH]1", (2, 4)),  # a written hydrogen at atom 4
    ("CNC=O", (0, 2)),
]


def real_fragments():
    real_file("fragments_72.json")
    bunch = fetch_fragments()
    return neutral_links(bunch.smiles, bunch.attachments)


@pytest.fixture
def chem():
    return pytest.importorskip("rdkit.Chem")


@cases(
    ("chain", "expected"),
    ([0], "CO"),
    ([0, 1], "COc1ccccc1"),  # the last atom, O, is bound to the ring
    ([1, 0], "OCc1ccccc1"),  # the first atom, C, is
    ([2, 1], "O=c1ccn(-c2ccccc2)c(=O)[nH]1"),
    ([0, 3, 1], "COCNC(=O)c1ccccc1"),
    ([1, 1, 0], "OCc1ccc(-c2ccccc2)cc1"),  # para: atoms 0 and 3
)
def test_chains_by_hand(chem, chain, expected):
    (found,) = assemble_chains(FRAGMENTS, [chain])
    assert found == chem.CanonSmiles(expected)


def test_real_chains_are_valid_molecules(chem):
    fragments = real_fragments()
    assert len(fragments) == 29
    assert "c1cc[nH+]cc1" not in dict(fragments)
    chains = np.random.default_rng(0).integers(29, size=(300, 5))
    chains[:29] = np.arange(29)[:, None]  # each with itself
    smiles = assemble_chains(fragments, chains)
    for name in smiles:
        molecule = chem.MolFromSmiles(name)
        assert molecule is not None
        assert len(chem.GetMolFrags(molecule)) == 1
        assert chem.MolToSmiles(molecule) == name
    quality = drug_likeness(smiles)
    assert ((quality > 0) & (quality < 1)).all()


def test_a_fragment_with_one_attachment_or_a_charge_makes_no_chain(chem):
    smiles = ["C=C", "CC", "c1cc[nH+]cc1", "c1ccccc1"]
    atoms = [(0, 1), (1,), (1, 3), (0, 1, 2, 3)]
    assert neutral_links(smiles, atoms) == (("C=C", (0, 1)), ("c1ccccc1", (0, 3)))


def test_drug_likeness_and_its_properties(chem):
    smiles = ["CC(=O)Oc1ccccc1C(=O)O", "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "C1CNCCN1"]
    quality, values = drug_likeness_properties(smiles)
    # of aspirin and ibuprofen, as RDKit's documentation and papers print
    assert quality[:2] == pytest.approx([0.55, 0.82], abs=0.005)
    assert_array_equal(quality, drug_likeness(smiles))
    names = ["MolWt", "MolLogP", "NumHDonors", "NumAromaticRings", "TPSA"]
    expected, _ = molecular_descriptors(smiles, names)
    places = ("molecular weight", "logP", "donors", "aromatic rings")
    columns = [PROPERTIES.index(name) for name in (*places, "polar surface area")]
    assert_allclose(values[:, columns], expected, rtol=1e-6)
    assert values.shape == (3, len(PROPERTIES))


def test_fingerprints_do_not_depend_on_how_a_molecule_is_written(chem):
    prints = morgan_fingerprints(["OCC", "CCO", "CCN"], n_bits=512)
    assert prints.shape == (3, 512)
    assert set(np.unique(prints)) == {0, 1}
    assert np.array_equal(prints[0], prints[1])
    assert not np.array_equal(prints[0], prints[2])


def test_similarities_are_rdkit_s(chem):
    structs = pytest.importorskip("rdkit.DataStructs")
    generators = pytest.importorskip("rdkit.Chem.rdFingerprintGenerator")
    smiles = ["CCO", "c1ccccc1O", "CC(=O)Nc1ccccc1", "C1CCNCC1"]
    generator = generators.GetMorganGenerator(radius=2, fpSize=256)
    bits = [generator.GetFingerprint(chem.MolFromSmiles(s)) for s in smiles]
    similar = structs.TanimotoSimilarity
    expected = [max(similar(bits[i], b) for b in bits[2:]) for i in range(2)]
    prints = morgan_fingerprints(smiles, n_bits=256)
    assert nearest_similarities(prints[:2], prints[2:]) == pytest.approx(expected)
    assert nearest_similarities(prints, prints) == pytest.approx(1.0)


def test_without_rdkit_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    for call in (drug_likeness, morgan_fingerprints):
        with pytest.raises(ImportError, match=r'pip install "\.\[chem\]"'):
            call(["CC"])


@cases(
    ("call", "message"),
    (lambda: assemble_chains(FRAGMENTS, [0, 1]), r"chains must be a two-dim"),
    (lambda: assemble_chains(FRAGMENTS, [[0.0]]), "type float64"),
    (lambda: assemble_chains(FRAGMENTS, [[0, 4]]), "from 0 to 3, got 0 to 4"),
    (lambda: assemble_chains([("CC", (1,))], [[0]]), r"two distinct .*got \(1,\)"),
    (lambda: nearest_similarities(np.eye(2), np.eye(3)), "as many bits"),
    (lambda: nearest_similarities(np.eye(2), np.eye(2)[:0]), "must not be empty"),
)
def test_bad_input(chem, call, message):
    refuses(message, call)


def test_what_rdkit_cannot_read_or_bind_is_named(chem):
    logger = pytest.importorskip("rdkit.RDLogger")
    logger.DisableLog("rdApp.*")
    try:
        refuses("readable by RDKit, got 'no'", drug_likeness, ["no"])
        four = ("CC(C)(C)C", (1, 0))
        refuses(r"chain \[0, 0\] gives no molecule", assemble_chains, [four], [[0, 0]])
    finally:
        logger.EnableLog("rdApp.*")
