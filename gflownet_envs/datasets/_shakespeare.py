"""Plays of Shakespeare, to train models of language on."""

from __future__ import annotations

import os

from gflownet_envs.datasets._fetch import fetch_tidy, source_of

SOURCE = source_of("shakespeare", bytes)  # the raw file is the tidy one


def fetch_shakespeare(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    n_retries: int = 3,
) -> str:
    """Fetch 40,000 lines of plays by Shakespeare, the text known as tiny Shakespeare.

    The text is looked for in the folder ``$SKPCE_DATA``, then in the cache, then
    at the public address; what is found is checked by its SHA-256.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache. None is the user's cache folder (`pooch.os_cache`).
    download_if_missing : bool, default=True
        Whether to download what is not found. False raises an OSError instead.
    n_retries : int, default=3
        How often a failed download is tried again.

    Returns
    -------
    text : str
        1.1 million characters in the public domain. Each speech begins with the name
        of who speaks, in capitals or as ``First Citizen``, and a colon; an empty line
        stands between speeches.

    Raises
    ------
    ValueError
        If a file's checksum is not the expected one.
    OSError
        If the text is not found and cannot be downloaded.
    ImportError
        If pooch (cache, download) is needed and missing.

    Notes
    -----
    The file is ``data/tinyshakespeare/input.txt`` of the repository karpathy/char-rnn,
    commit 6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e.

    Examples
    --------
    >>> from gflownet_envs.datasets import fetch_shakespeare
    >>> text = fetch_shakespeare()  # doctest: +SKIP
    >>> text.splitlines()[:2]  # doctest: +SKIP
    ['First Citizen:', 'Before we proceed any further, hear me speak.']
    """
    _, text = fetch_tidy(SOURCE, data_home, download_if_missing, n_retries)
    return text.decode("utf-8")
