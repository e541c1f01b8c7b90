"""Learning curves: 12,455 trainings of 20 classifiers from scikit-learn."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from gflownet_envs.datasets._fetch import (
    fetch_table,
    rows_of,
    source_of,
    table_bytes,
)

FEATURE_NAMES = ("dataset", "learner", "size_train", "outer_seed", "inner_seed")

_DATASETS = {
    "6": "letter",
    "12": "mfeat-factors",
    "14": "mfeat-fourier",
    "18": "mfeat-morphological",
    "22": "mfeat-zernike",
}
_SIZES = ("64", "128", "256", "512", "1024")
_SEEDS = ("0", "1", "2", "3", "4")
_RUN = ("openmlid", "learner", "size_train", "outer_seed", "inner_seed")
_RESULTS = ("traintime", "score_train", "score_valid", "score_test")
_MEMBER = "lcdb-0.1.0/lcdb/database-accuracy.csv"


def convert_raw(raw: bytes) -> bytes:
    """Turn the source archive into the table of the retained trainings, sorted."""
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        file = archive.extractfile(_MEMBER)
        assert file is not None  # the member is a file
        rows = _retained(io.TextIOWrapper(file, "utf-8", newline=""))
    rows.sort(key=_place)
    return table_bytes(["openmlid", *FEATURE_NAMES, *_RESULTS], *rows)


def _retained(table: io.TextIOWrapper) -> list[tuple[str, ...]]:
    return [
        (
            row["openmlid"],
            _DATASETS[row["openmlid"]],
            row["learner"].rpartition(".")[2],  # without its module
            *(row[name] for name in (*_RUN[2:], *_RESULTS)),
        )
        for row in rows_of(table)
        if row["openmlid"] in _DATASETS
        and row["size_train"] in _SIZES
        and row["outer_seed"] in _SEEDS
        and row["inner_seed"] in _SEEDS
    ]


def _place(row: Sequence[str]) -> tuple[Any, ...]:
    number, _, learner, *run = row[:6]
    return int(number), learner, *map(int, run)


SOURCE = source_of("learning_curves", convert_raw)


def fetch_learning_curves(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    n_retries: int = 3,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Bunch | tuple[Any, Any]:
    """Fetch 12,455 trainings of 20 classifiers of the Learning Curve Database.

    The data are looked for in the folder ``$SKPCE_DATA``, then in the cache; what is
    found is checked by its SHA-256. They are made from the source archive of the
    package lcdb 0.1.0 (68 MB), which is not downloaded here:
    ``pip download --no-deps --no-binary lcdb lcdb==0.1.0`` gets it, and a copy of it in
    the folder of the cache is converted.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache. None is the user's cache folder (`pooch.os_cache`).
    download_if_missing : bool, default=True
        As in the other fetchers; nothing is downloaded here, so it has no effect.
    n_retries : int, default=3
        Likewise.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether data, target and frame are pandas objects.

    Returns
    -------
    data : sklearn.utils.Bunch
        With the attributes

        - ``data``: ndarray (object) or DataFrame of shape (12455, 5): data set,
          learner, number of training rows, and the seeds of the two splits;
        - ``target``: ndarray or Series of shape (12455,), accuracy on the test rows;
        - ``feature_names``, ``target_names``: lists of str;
        - ``frame``: DataFrame of all columns of the file, with the accuracies on
          training and validation rows and the time; None without ``as_frame``;
        - ``DESCR``: what the rows are;
        - ``filename``: the file that was read.
    (data, target) : tuple
        With ``return_X_y``.

    Raises
    ------
    ValueError
        If a file's checksum is not the expected one.
    OSError
        If the data are not found; the message says how to get them.
    ImportError
        If pandas (``as_frame``) or pooch (cache) is needed and missing.

    References
    ----------
    F. Mohr, T. J. Viering, M. Loog, J. N. van Rijn. LCDB 1.0: An extensive learning
    curves database for classification tasks. ECML-PKDD 2022.

    Examples
    --------
    >>> from gflownet_envs.datasets import fetch_learning_curves
    >>> runs = fetch_learning_curves(as_frame=True).frame  # doctest: +SKIP
    >>> len(runs), runs["learner"].nunique()  # doctest: +SKIP
    (12455, 20)
    """
    return fetch_table(
        "learning_curves",
        SOURCE,
        (data_home, download_if_missing, n_retries),
        FEATURE_NAMES,
        "score_test",
        _read,
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def _read(rows: list[dict[str, str]]) -> dict[str, Any]:
    runs = [
        (row["dataset"], row["learner"], *(int(row[name]) for name in _RUN[2:]))
        for row in rows
    ]
    return {"data": np.array(runs, dtype=object)}
