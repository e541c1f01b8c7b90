"""The 4,599 measured Buchwald–Hartwig couplings of Ahneman et al. (2018)."""

from __future__ import annotations

import os
import tomllib
from importlib.resources import files
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from gflownet_envs.datasets._fetch import (
    bunch_of,
    fetch_tidy,
    rows_of,
    source_of,
    table_bytes,
)
from gflownet_envs.extras import import_extra

FEATURE_NAMES = ("catalyst", "base", "aryl_halide", "additive")
NO_ARYL_HALIDE = "(no aryl halide)"
NO_ADDITIVE = "(no additive)"

LEVELS: dict[str, tuple[str, ...]] = {
    component: tuple(names)
    for component, names in tomllib.loads(
        files(__package__)
        .joinpath("buchwald_hartwig_levels.toml")
        .read_text(encoding="utf-8")
    ).items()
}
_ABSENT = {"aryl_halide": NO_ARYL_HALIDE, "additive": NO_ADDITIVE}
_RAW_COLUMNS = {"catalyst": "ligand"}  # the others have the same name
_WELL_COLUMNS = ("plate", "row", "col")
_CAS_NUMBERED = ("catalyst", "base")  # halides and additives have none in the source


def convert_raw(raw: bytes) -> bytes:
    """Turn the authors' table into the tidy one.

    The tidy table has one row a measured well, in the authors' order: the four
    component names, the yield with the digits of the source, and the well. Blank
    halides and additives become the names of the absent levels; rows with a blank
    yield are dropped.
    """
    rows = [
        [
            *(_level_name(row, component) for component in FEATURE_NAMES),
            *(row[column].strip() for column in ("yield", *_WELL_COLUMNS)),
        ]
        for row in rows_of(raw)
        if row["yield"].strip()
    ]
    return table_bytes([*FEATURE_NAMES, "yield", *_WELL_COLUMNS], *rows)


def convert_components(raw: bytes) -> bytes:
    """Turn the authors' table into a table of the 47 levels and their molecules.

    Columns are the component, the authors' number, the name, SMILES and, of catalysts
    and bases, the CAS number. The absent levels have neither.
    """
    molecules = _molecules(raw)
    rows: list[list[Any]] = [["factor", "number", "name", "smiles", "cas"]]
    for component, names in LEVELS.items():
        first = 0 if component in _ABSENT else 1
        for number, name in enumerate(names, first):
            rows.append([component, number, name, *molecules[component, name]])
    return table_bytes(*rows)


def _molecules(raw: bytes) -> dict[tuple[str, str], tuple[str, str]]:
    """Read SMILES and CAS number of each component and level."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for row in rows_of(raw):
        for component in FEATURE_NAMES:
            column = _RAW_COLUMNS.get(component, component)
            numbered = component in _CAS_NUMBERED
            cas = row[f"{column}_cas_number"].strip() if numbered else ""
            level = component, _level_name(row, component)
            found[level] = row[f"{column}_smiles"].strip(), cas
    return found


def _level_name(row: dict[str, str], component: str) -> str:
    name = row[_RAW_COLUMNS.get(component, component)].strip()
    return name or _ABSENT[component]


SOURCE = source_of("buchwald_hartwig", convert_raw)
COMPONENTS = source_of("buchwald_hartwig_components", convert_components)


def fetch_buchwald_hartwig(
    *,
    controls: bool = True,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    n_retries: int = 3,
    return_X_y: bool = False,
    as_frame: bool = False,
    smiles: bool = False,
) -> Bunch | tuple[Any, Any]:
    """Fetch the Buchwald–Hartwig yields of Ahneman et al. (2018).

    The data are looked for in the folder ``$SKPCE_DATA``, then in the cache, then
    at the public address; what is found is checked by its SHA-256.

    Parameters
    ----------
    controls : bool, default=True
        Whether to keep the wells without an aryl halide or without an additive.
        False drops them and those two levels, and numbers the others from 0.
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
    smiles : bool, default=False
        Whether to fetch the molecules too. They are a second tidy file, made from the
        same public one. With ``return_X_y`` there is no place for them.

    Returns
    -------
    data : sklearn.utils.Bunch
        With the attributes

        - ``data``: ndarray of shape (n, 4), level numbers from 0, or a DataFrame
          of names (categorical, in the order of ``levels``) with ``as_frame``;
        - ``target``: ndarray or Series of shape (n,), yields in percent;
        - ``feature_names``, ``target_names``: lists of str;
        - ``levels``: dict of component to tuple of level names, 4 catalysts, 3
          bases, 16 aryl halides, 24 additives (15 and 23 without controls);
        - ``smiles``: dict of component to tuple of SMILES, level by level, None for
          an absent level; None without ``smiles``;
        - ``frame``: DataFrame of data and target, or None without ``as_frame``;
        - ``DESCR``: what the rows are, and why other counts are seen elsewhere;
        - ``filename``: the file that was read.
    (data, target) : tuple
        With ``return_X_y``.

    Raises
    ------
    ValueError
        If a file's checksum is not the expected one, or for ``smiles`` with
        ``return_X_y``.
    OSError
        If the data are not found and cannot be downloaded.
    ImportError
        If pandas (``as_frame``) or pooch (cache, download) is needed and missing.

    Notes
    -----
    n = 4,599 of 4,608 wells; 4,132 with ``controls=False``. With controls, level 0
    of aryl halide and additive is the absent one and the level number is the
    authors' number. Rows are in the order of the plates.

    References
    ----------
    D. T. Ahneman, J. G. Estrada, S. Lin, S. D. Dreher, A. G. Doyle. Predicting
    reaction performance in C–N cross-coupling using machine learning. Science
    360 (2018) 186–190.

    Examples
    --------
    >>> from gflownet_envs.datasets import fetch_buchwald_hartwig
    >>> bunch = fetch_buchwald_hartwig(controls=False)  # doctest: +SKIP
    >>> bunch.data.shape, [len(names) for names in bunch.levels.values()]
    ... # doctest: +SKIP
    ((4132, 4), [4, 3, 15, 23])
    """
    if smiles and return_X_y:
        raise ValueError("smiles=True needs return_X_y=False: they are no part of X, y")
    pandas = import_extra("pandas", "as_frame=True") if as_frame else None
    where = (data_home, download_if_missing, n_retries)
    path, tidy = fetch_tidy(SOURCE, *where)
    numbers = {c: {n: i for i, n in enumerate(LEVELS[c])} for c in FEATURE_NAMES}
    wells = list(rows_of(tidy))
    data: Any = np.array([[numbers[c][row[c]] for c in FEATURE_NAMES] for row in wells])
    target: Any = np.array([row["yield"] for row in wells], dtype=np.float64)
    levels = dict(LEVELS)
    if not controls:
        # the absent levels are the first ones: drop them and their rows
        absent = np.array([component in _ABSENT for component in FEATURE_NAMES])
        retained = (data[:, absent] > 0).all(axis=1)
        levels = {name: its[name in _ABSENT :] for name, its in LEVELS.items()}
        data, target = data[retained] - absent, target[retained]
    frame = None
    if pandas is not None:
        factors = {
            component: pandas.Categorical.from_codes(data[:, column], levels[component])
            for column, component in enumerate(FEATURE_NAMES)
        }
        data = pandas.DataFrame(factors)
        target = pandas.Series(target, name="yield")
        frame = data.assign(**{"yield": target})
    molecules: dict[str, tuple[str | None, ...]] | None = None
    if smiles:
        rows = rows_of(fetch_tidy(COMPONENTS, *where)[1])
        known = {(row["factor"], row["name"]): row["smiles"] or None for row in rows}
        molecules = {
            component: tuple(known[component, name] for name in names)
            for component, names in levels.items()
        }
    return bunch_of(
        "buchwald_hartwig",
        path,
        data,
        target,
        return_X_y,
        feature_names=list(FEATURE_NAMES),
        target_names=["yield"],
        levels=levels,
        smiles=molecules,
        frame=frame,
    )
