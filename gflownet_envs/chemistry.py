"""Molecules made of fragments, through RDKit, an extra."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gflownet_envs.environments.base import require_at_least
from gflownet_envs.extras import import_extra

Fragment = tuple[str, tuple[int, ...]]


def _rdkit() -> Any:
    """Import RDKit only where a molecule is built."""
    for part in ("Descriptors", "QED", "rdFingerprintGenerator"):
        import_extra(f"rdkit.Chem.{part}", "building molecules")
    return import_extra("rdkit.Chem", "building molecules")


def _molecule(chem: Any, smiles: str) -> Any:
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None or not smiles:
        raise ValueError(f"smiles must be readable by RDKit, got {smiles!r}")
    return molecule


def neutral_links(
    smiles: Sequence[str], attachments: Sequence[Sequence[int]]
) -> tuple[Fragment, ...]:
    """Return the fragments that chains can be made of.

    They have at least two attachment atoms and no charge: 29 of the 72 of
    `fetch_fragments`. The first attachment atom is bound to the fragment before, the
    last to the fragment after.

    Parameters
    ----------
    smiles : sequence of str
    attachments : sequence of sequences of int
        The atoms of each fragment where a bond may be made.

    Returns
    -------
    fragments : tuple of (str, (int, int))

    Examples
    --------
    >>> smiles, atoms = ["C=C", "CC", "c1cc[nH+]cc1"], [(0, 1), (1,), (1, 3)]
    >>> neutral_links(smiles, atoms)  # doctest: +SKIP
    (('C=C', (0, 1)),)
    """
    chem = _rdkit()
    return tuple(
        (name, (atoms[0], atoms[-1]))
        for name, atoms in zip(smiles, attachments, strict=True)
        if len(atoms) >= 2 and chem.GetFormalCharge(_molecule(chem, name)) == 0
    )


def numbers_of_chains(
    chains: ArrayLike,  # shape: (n, n_positions), int
    n_fragments: int,
) -> np.ndarray:  # shape: (n, n_positions)
    """Return chains as an array of the numbers of their fragments, or refuse them."""
    rows = np.asarray(chains)
    if rows.ndim != 2 or not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(
            "chains must be a two-dimensional array of integers, got shape "
            f"{rows.shape} and type {rows.dtype}"
        )
    if rows.size and not 0 <= rows.min() <= rows.max() < n_fragments:
        raise ValueError(
            f"chains must hold numbers from 0 to {n_fragments - 1}, got "
            f"{rows.min()} to {rows.max()}"
        )
    return rows


def assemble_chains(
    fragments: Sequence[Fragment],
    chains: ArrayLike,  # shape: (n, n_positions), int
) -> tuple[str, ...]:
    """Join fragments by single bonds, one chain a row, and return canonical SMILES.

    Each fragment's last attachment atom is bound to the next one's first. RDKit
    sanitises every molecule, so that what is returned has valid valences. Different
    chains may give the same molecule.

    Parameters
    ----------
    fragments : sequence of (str, sequence of int)
        SMILES and attachment atoms, at least two.
    chains : array of int of shape (n, n_positions)
        Numbers of fragments.

    Examples
    --------
    >>> fragments = [("CO", (0, 1)), ("c1ccccc1", (0, 3))]
    >>> assemble_chains(fragments, [[0, 1], [1, 1]])  # doctest: +SKIP
    ('COc1ccccc1', 'c1ccc(-c2ccccc2)cc1')
    """
    rows = numbers_of_chains(chains, len(fragments))
    chem = _rdkit()
    molecules = [_molecule(chem, name) for name, _ in fragments]
    for (name, atoms), molecule in zip(fragments, molecules, strict=True):
        n_atoms = molecule.GetNumAtoms()
        inside = all(0 <= atom < n_atoms for atom in atoms)
        if len(set(atoms)) < max(2, len(atoms)) or not inside:
            raise ValueError(
                f"fragment {name!r} must have two distinct attachment atoms or more, "
                f"below {n_atoms}, got {tuple(atoms)}"
            )
    ends = [(atoms[0], atoms[-1]) for _, atoms in fragments]
    return tuple(_join(chem, molecules, ends, row) for row in rows.tolist())


def _join(
    chem: Any,
    molecules: Sequence[Any],
    ends: Sequence[tuple[int, int]],
    chain: Sequence[int],
) -> str:
    joined, placed = chem.RWMol(), []
    for number in chain:
        placed.append((joined.GetNumAtoms(), ends[number]))
        joined.InsertMol(molecules[number])
    for (start, (_, last)), (following, (first, _)) in pairwise(placed):
        pair = (start + last, following + first)
        joined.AddBond(*pair, chem.BondType.SINGLE)
        for atom in map(joined.GetAtomWithIdx, pair):
            # a written hydrogen, as in [nH], gives way to the bond
            atom.SetNumExplicitHs(max(0, atom.GetNumExplicitHs() - 1))
    try:
        chem.SanitizeMol(joined)
    except ValueError as error:  # RDKit's exceptions are ValueErrors
        raise ValueError(f"chain {list(chain)} gives no molecule: {error}") from error
    return chem.MolToSmiles(joined)


def drug_likeness(smiles: Sequence[str]) -> np.ndarray:  # shape: (n,), float64
    """Return RDKit's QED (Bickerton et al., Nature Chemistry 2012), in (0, 1).

    Examples
    --------
    >>> drug_likeness(["CC(=O)Oc1ccccc1C(=O)O"]).round(2)  # doctest: +SKIP
    array([0.55])
    """
    return drug_likeness_properties(smiles)[0]


#: Of `drug_likeness_properties`, in the order in which they are shown.
PROPERTIES = (
    "molecular weight",
    "logP",
    "donors",
    "acceptors",
    "aromatic rings",
    "polar surface area",
    "rotatable bonds",
)


def drug_likeness_properties(
    smiles: Sequence[str],
) -> tuple[np.ndarray, np.ndarray]:  # shapes: (n,), (n, 7); float64
    """Return RDKit's QED and the properties that it is computed from, `PROPERTIES`.

    Bickerton et al. (Nature Chemistry 2012) count an eighth, structural alerts.

    Examples
    --------
    >>> quality, values = drug_likeness_properties(["CCO"])  # doctest: +SKIP
    >>> quality.round(2), values[0, 2:5]  # doctest: +SKIP
    (array([0.41]), array([1., 1., 0.]))
    """
    chem = _rdkit()
    quality, values = [], []
    for name in smiles:
        molecule = _molecule(chem, name)
        p = chem.QED.properties(molecule)
        quality.append(chem.QED.qed(molecule, qedProperties=p))
        values.append((p.MW, p.ALOGP, p.HBD, p.HBA, p.AROM, p.PSA, p.ROTB))
    shape = len(values), len(PROPERTIES)
    return np.array(quality), np.array(values, dtype=np.float64).reshape(shape)


def morgan_fingerprints(
    smiles: Sequence[str], *, radius: int = 2, n_bits: int = 1024
) -> np.ndarray:  # shape: (n, n_bits), uint8
    """Return Morgan fingerprints as 0 and 1: which surroundings of atoms occur.

    Examples
    --------
    >>> morgan_fingerprints(["CCO", "CCN"], n_bits=64).sum(axis=1)  # doctest: +SKIP
    array([6, 6], dtype=uint64)
    """
    require_at_least("radius", radius, 0)
    require_at_least("n_bits", n_bits, 1)
    chem = _rdkit()
    generator = chem.rdFingerprintGenerator.GetMorganGenerator(
        radius=radius, fpSize=n_bits
    )
    prints = [generator.GetFingerprintAsNumPy(_molecule(chem, name)) for name in smiles]
    return np.array(prints, dtype=np.uint8).reshape(len(prints), n_bits)


def molecular_descriptors(
    smiles: Sequence[str], names: Sequence[str] | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:  # (n, n_descriptors), float64; names
    """Return RDKit's descriptors of molecules, and their names.

    Parameters
    ----------
    smiles : sequence of str
    names : sequence of str, optional
        Of descriptors, in RDKit's spelling; default: all (217 in RDKit 2026.9).

    Returns
    -------
    values : ndarray of shape (n, n_descriptors)
        NaN where RDKit has none.
    names : tuple of str

    Raises
    ------
    ValueError
        If RDKit reads no molecule, or has no such descriptor.

    Examples
    --------
    >>> molecular_descriptors(["CCO"], ["HeavyAtomCount", "TPSA"])  # doctest: +SKIP
    (array([[ 3.  , 20.23]]), ('HeavyAtomCount', 'TPSA'))
    """
    chem = _rdkit()
    functions = dict(chem.Descriptors.descList)
    chosen = tuple(functions if names is None else names)
    unknown = [name for name in chosen if name not in functions]
    if unknown:
        raise ValueError(f"names must be descriptors of RDKit, got {unknown}")
    molecules = [_molecule(chem, name) for name in smiles]
    values = [[functions[name](molecule) for name in chosen] for molecule in molecules]
    shape = len(molecules), len(chosen)
    return np.array(values, dtype=np.float64).reshape(shape), chosen


def nearest_similarities(
    fingerprints: ArrayLike,  # shape: (n, n_bits)
    reference: ArrayLike,  # shape: (m, n_bits)
) -> np.ndarray:  # shape: (n,), float64
    """Return each fingerprint's largest Tanimoto similarity to a reference set.

    That is shared over occupied bits. Low values say that a proxy which was trained on
    the reference extrapolates.

    Examples
    --------
    >>> nearest_similarities([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [1, 1, 0]]).tolist()
    [1.0, 0.0]
    """
    prints = np.asarray(fingerprints, dtype=np.float32)
    known = np.asarray(reference, dtype=np.float32)
    if prints.ndim != 2 or known.ndim != 2 or prints.shape[1] != known.shape[1]:
        raise ValueError(
            "fingerprints and reference must have as many bits, got shapes "
            f"{prints.shape} and {known.shape}"
        )
    if len(known) == 0:
        raise ValueError("reference must not be empty")
    nearest = np.empty(len(prints))
    for start in range(0, len(prints), 1024):
        part = prints[start : start + 1024]
        shared = part @ known.T
        occupied = part.sum(axis=1)[:, None] + known.sum(axis=1) - shared
        nearest[start : start + 1024] = (shared / np.maximum(occupied, 1)).max(axis=1)
    return nearest
