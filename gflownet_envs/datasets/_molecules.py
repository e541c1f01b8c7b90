"""Molecules measured against soluble epoxide hydrolase, and fragments to build."""

from __future__ import annotations

import json
import os
from statistics import median
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from gflownet_envs.datasets._fetch import (
    description,
    fetch_table,
    fetch_tidy,
    rows_of,
    source_of,
    table_bytes,
)

_COLUMNS = ("chembl_id", "smiles", "pIC50_median", "n", "pIC50_min", "pIC50_max")
_RETAINED = {
    "Standard Type": "IC50",
    "Standard Relation": "'='",
    "Standard Units": "nM",
    "Data Validity Comment": "",
}
_ID, _SMILES, _VALUE = "Molecule ChEMBL ID", "Smiles", "pChEMBL Value"


def convert_raw(raw: bytes) -> bytes:
    """Turn the ChEMBL export into one row a molecule, in the order of its numbers."""
    values: dict[str, list[float]] = {}
    smiles: dict[str, str] = {}
    for row in rows_of(raw, ";"):
        if row[_VALUE] and all(row[c] == value for c, value in _RETAINED.items()):
            values.setdefault(row[_ID], []).append(float(row[_VALUE]))
            smiles.setdefault(row[_ID], row[_SMILES])
    rows: list[tuple[Any, ...]] = [_COLUMNS]
    for name in sorted(values, key=lambda name: int(name.removeprefix("CHEMBL"))):
        its = values[name]
        numbers = (f"{median(its):g}", len(its), f"{min(its):g}", f"{max(its):g}")
        rows.append((name, smiles[name], *numbers))
    return table_bytes(*rows)


SEH_SOURCE = source_of("seh", convert_raw)


def fetch_seh(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    n_retries: int = 3,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Bunch | tuple[Any, Any]:
    """Fetch 1,786 measured inhibitors of human soluble epoxide hydrolase.

    The data are looked for in the folder ``$SKPCE_DATA``, then in the cache, then
    at the public address; what is found is checked by its SHA-256.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache. None is the user's cache folder (`pooch.os_cache`).
    download_if_missing : bool, default=True
        Whether to download what is not found. False raises an OSError instead.
    n_retries : int, default=3
        How often a failed download is tried again.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether data, target and frame are pandas objects.

    Returns
    -------
    data : sklearn.utils.Bunch
        With the attributes

        - ``data``: ndarray of shape (1786,) of SMILES (object), or a DataFrame with
          the column ``smiles`` with ``as_frame``;
        - ``target``: ndarray or Series of shape (1786,), pIC50;
        - ``feature_names``, ``target_names``: lists of str;
        - ``n_measurements``: ndarray of shape (1786,);
        - ``frame``: DataFrame of all columns of the file, or None without ``as_frame``;
        - ``DESCR``: what the rows are, and which records were left out;
        - ``filename``: the file that was read.
    (data, target) : tuple
        With ``return_X_y``.

    Raises
    ------
    ValueError
        If a file's checksum is not the expected one.
    OSError
        If the data are not found and cannot be downloaded.
    ImportError
        If pandas (``as_frame``) or pooch (cache, download) is needed and missing.

    References
    ----------
    E. Bengio, M. Jain, M. Korablyov, D. Precup, Y. Bengio. Flow network based
    generative models for non-iterative diverse candidate generation. NeurIPS 2021.

    Examples
    --------
    >>> from gflownet_envs.datasets import fetch_seh
    >>> smiles, activity = fetch_seh(return_X_y=True)  # doctest: +SKIP
    >>> smiles[0], activity[0]  # doctest: +SKIP
    ('O=c1c(O)c(-c2ccc(O)c(O)c2)oc2cc(O)cc(O)c12', 4.47)
    """
    return fetch_table(
        "seh",
        SEH_SOURCE,
        (data_home, download_if_missing, n_retries),
        ["smiles"],
        "pIC50_median",
        _read,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def _read(rows: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "data": np.array([row["smiles"] for row in rows], dtype=object),
        "n_measurements": np.array([row["n"] for row in rows], dtype=np.int64),
    }


FRAGMENTS_SOURCE = source_of("fragments", bytes)  # the raw file is the tidy one


def fetch_fragments(
    *,
    min_attachments: int = 1,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    n_retries: int = 3,
) -> Bunch:
    """Fetch the 72 molecular fragments of Bengio et al. (2021).

    The data are looked for in the folder ``$SKPCE_DATA``, then in the cache, then
    at the public address; what is found is checked by its SHA-256.

    Parameters
    ----------
    min_attachments : int, default=1
        Fragments with fewer attachment atoms are left out; 2 leaves the 30 of which
        chains can be made.
    data_home : path-like, default=None
        Folder of the cache. None is the user's cache folder (`pooch.os_cache`).
    download_if_missing : bool, default=True
        Whether to download what is not found. False raises an OSError instead.
    n_retries : int, default=3
        How often a failed download is tried again.

    Returns
    -------
    data : sklearn.utils.Bunch
        With the attributes

        - ``smiles``: tuple of str;
        - ``attachments``: tuple of tuples of int, the attachment atoms of each;
        - ``DESCR``: what the fragments are;
        - ``filename``: the file that was read.

    Raises
    ------
    ValueError
        If a file's checksum is not the expected one, or ``min_attachments`` is not a
        positive int that some fragment reaches.
    OSError
        If the data are not found and cannot be downloaded.
    ImportError
        If pooch (cache, download) is needed and missing.

    References
    ----------
    E. Bengio, M. Jain, M. Korablyov, D. Precup, Y. Bengio. Flow network based
    generative models for non-iterative diverse candidate generation. NeurIPS 2021.

    Examples
    --------
    >>> from gflownet_envs.datasets import fetch_fragments
    >>> bunch = fetch_fragments(min_attachments=2)  # doctest: +SKIP
    >>> len(bunch.smiles), bunch.smiles[8], bunch.attachments[8]  # doctest: +SKIP
    (30, 'C=C', (0, 1))
    """
    is_count = isinstance(min_attachments, int) and not isinstance(
        min_attachments, bool
    )
    if not is_count or min_attachments < 1:
        raise ValueError(f"min_attachments must be an int ≥ 1, got {min_attachments!r}")
    path, tidy = fetch_tidy(FRAGMENTS_SOURCE, data_home, download_if_missing, n_retries)
    fragments = [
        (smiles, tuple(atoms))
        for smiles, atoms in json.loads(tidy)
        if len(atoms) >= min_attachments
    ]
    if not fragments:
        raise ValueError(f"no fragment has min_attachments={min_attachments} atoms")
    return Bunch(
        smiles=tuple(smiles for smiles, _ in fragments),
        attachments=tuple(atoms for _, atoms in fragments),
        DESCR=description("fragments"),
        filename=str(path),
    )
