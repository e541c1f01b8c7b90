"""The 72 molecular fragments of Bengio et al. (2021)."""

from __future__ import annotations

import json
import os

from sklearn.utils import Bunch

from gflownet_envs.datasets._fetch import Source, fetch_tidy

DESCR = """\
Fragments of molecules with attachment points
---------------------------------------------

72 fragments as SMILES, each with the numbers of the atoms where a bond to another
fragment may be made. They were cut from ligands of the Protein Data Bank for the
first GFlowNet. 30 have two or more attachment atoms, 29 of these are neutral.

Source: repository recursionpharma/gflownet, commit
c6b50183fb7bb49540f7c9d0da92240d44592391, file src/gflownet/envs/frags_72.json, MIT
licence (copyright 2020 Recursion Pharmaceuticals).

Reference: E. Bengio, M. Jain, M. Korablyov, D. Precup, Y. Bengio, Flow network based
generative models for non-iterative diverse candidate generation, NeurIPS 2021.
"""

SOURCE = Source(
    tidy_name="fragments_72.json",
    tidy_sha256="84c1bd5c240d319f6a625be50757b1dc29570e51ff9d388d52836f56a0148f69",
    raw_name="frags_72.json",
    raw_sha256="84c1bd5c240d319f6a625be50757b1dc29570e51ff9d388d52836f56a0148f69",
    raw_url=(
        "https://raw.githubusercontent.com/recursionpharma/gflownet/"
        "c6b50183fb7bb49540f7c9d0da92240d44592391/src/gflownet/envs/frags_72.json"
    ),
    convert=bytes,  # the raw file is the tidy one
)


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
        If a file's checksum is not the expected one, or `min_attachments` is not a
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
    path, tidy = fetch_tidy(
        SOURCE,
        data_home=data_home,
        download_if_missing=download_if_missing,
        n_retries=n_retries,
    )
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
        DESCR=DESCR,
        filename=str(path),
    )
