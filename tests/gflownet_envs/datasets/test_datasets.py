"""Fetching the Buchwald–Hartwig yields: conversion, checksums, and no network."""

import csv
import hashlib
import io
import socket
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gflownet_envs.datasets import _buchwald_hartwig as module
from gflownet_envs.datasets import fetch_buchwald_hartwig
from tests.gflownet_envs.datasets.serving import real_file, serve, sha256
from tests.shared import names_in, refuses

RAW_HEADER = (
    "plate,row,col,base,base_smiles,ligand,aryl_halide_number,aryl_halide,"
    "additive,additive_smiles,product_smiles,yield\n"
)
RAW = RAW_HEADER + (
    '1,1,1,P2Et,S,XPhos,10.0,2-chloropyridine,"3,5-dimethylisoxazole",S,S,17.98\n'
    "1,1,2,MTBD,S,AdBrettPhos,,,5-phenylisoxazole,S,,0.0\n"
    "1,1,3,BTMG,S,t-BuXPhos,1.0,1-chloro-4-(trifluoromethyl)benzene,,,S,26.880\n"
    "1,1,4,BTMG,S,t-BuXPhos,1.0,1-chloro-4-(trifluoromethyl)benzene,,,S,\n"
    "3,32,48,BTMG,S,XPhos,,,,,,0.5\n"
)
TIDY = (
    "catalyst,base,aryl_halide,additive,yield,plate,row,col\n"
    'XPhos,P2Et,2-chloropyridine,"3,5-dimethylisoxazole",17.98,1,1,1\n'
    "AdBrettPhos,MTBD,(no aryl halide),5-phenylisoxazole,0.0,1,1,2\n"
    "t-BuXPhos,BTMG,1-chloro-4-(trifluoromethyl)benzene,(no additive),26.880,1,1,3\n"
    "XPhos,BTMG,(no aryl halide),(no additive),0.5,3,32,48\n"
)
DATA = [[0, 0, 10, 12], [3, 2, 0, 2], [1, 1, 1, 0], [0, 1, 0, 0]]
TARGET = [17.98, 0.0, 26.88, 0.5]
TIDY_NAME, RAW_NAME = "buchwald_hartwig.csv", "data_table.csv"
COMPONENTS_NAME = "buchwald_hartwig_components.csv"
COMPONENTS = ("catalyst", "base", "aryl_halide", "additive")
RAW_COMPONENTS = dict(zip(COMPONENTS, ("ligand", *COMPONENTS[1:]), strict=True))


@pytest.fixture
def synthetic(monkeypatch):
    """Let the fetcher expect the small files above, at a given address."""
    monkeypatch.delenv("SKPCE_DATA", raising=False)

    def install(url):
        hashes = {"raw_sha256": sha256(RAW), "tidy_sha256": sha256(TIDY)}
        source = replace(module.SOURCE, raw_url=url, **hashes)
        monkeypatch.setattr(module, "SOURCE", source)

    return install


@pytest.fixture
def closed_port(synthetic):
    """An address at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/{RAW_NAME}"
    synthetic(url)
    return url


# Conversion.


def raw_components(molecules):
    """A raw table that has every level, one a row, with molecules by its name."""
    out = io.StringIO(newline="")
    columns = [f"{c}{end}" for c in RAW_COMPONENTS.values() for end in ("", "_smiles")]
    columns += ["ligand_cas_number", "base_cas_number"]
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    for i in range(24):
        row = {}
        for component, column in RAW_COMPONENTS.items():
            name = module.LEVELS[component][i % len(module.LEVELS[component])]
            smiles, cas = molecules.get(name, (f"{component} {name}", "0-0"))
            row[column] = "" if name.startswith("(no ") else name
            row[f"{column}_smiles"] = "" if name.startswith("(no ") else smiles
            if column in ("ligand", "base"):
                row[f"{column}_cas_number"] = cas
        writer.writerow(row)
    return out.getvalue()


def test_the_raw_table_becomes_the_table_of_components():
    raw = raw_components({"MTBD": ("C", "1-1"), "2-chloropyridine": ("N", "2-2")})
    table = module.convert_components(raw.encode()).decode()
    rows = list(csv.reader(io.StringIO(table)))
    counts = {component: len(names) for component, names in module.LEVELS.items()}
    assert Counter(row[0] for row in rows[1:]) == counts
    assert rows[7] == ["base", "3", "MTBD", "C", "1-1"]
    assert rows[8] == ["aryl_halide", "0", "(no aryl halide)", "", ""]
    assert rows[18] == ["aryl_halide", "10", "2-chloropyridine", "N", ""]


# Downloads.


def test_a_download_is_converted_and_cached(tmp_path, synthetic):
    cache = tmp_path / "new" / "cache"
    with serve([RAW]) as (url, requests):
        synthetic(f"{url}/{RAW_NAME}")
        bunch = fetch_buchwald_hartwig(data_home=cache)
        again = fetch_buchwald_hartwig(data_home=str(cache), download_if_missing=False)
    assert requests == [f"/{RAW_NAME}"]
    assert_array_equal(bunch.data, DATA)
    assert_array_equal(bunch.target, TARGET)
    assert bunch.filename == again.filename == str(cache / TIDY_NAME)
    assert module.convert_raw(RAW.replace("\n", "\r\n").encode()).decode() == TIDY
    assert (cache / TIDY_NAME).read_text(encoding="utf-8") == TIDY
    assert names_in(cache) == [TIDY_NAME]


@pytest.mark.slow
def test_a_failed_download_is_tried_again(tmp_path, synthetic):
    with serve([None, None, RAW]) as (url, requests):
        synthetic(f"{url}/{RAW_NAME}")
        with pytest.raises(OSError, match=r"could not download .*500 Server Error"):
            fetch_buchwald_hartwig(data_home=tmp_path, n_retries=0)
        assert names_in(tmp_path) == []
        bunch = fetch_buchwald_hartwig(data_home=tmp_path, n_retries=1)
    assert len(requests) == 3
    assert len(bunch.target) == 4


def test_a_damaged_download_is_refused(tmp_path, synthetic):
    damaged = RAW.replace("17.98", "71.98")
    words = rf"data_table.csv came damaged.*{sha256(RAW)}.*{sha256(damaged)}"
    with serve([damaged]) as (url, _):
        synthetic(f"{url}/{RAW_NAME}")
        refuses(words, fetch_buchwald_hartwig, data_home=tmp_path, n_retries=0)
    assert names_in(tmp_path) == []


def test_without_network_the_message_says_what_to_do(tmp_path, closed_port):
    with pytest.raises(OSError, match="could not download") as info:
        fetch_buchwald_hartwig(data_home=tmp_path, n_retries=0)
    message = str(info.value)
    assert "Without network: set SKPCE_DATA (which is not set)" in message
    assert f"put the file {RAW_NAME} from {closed_port} in the folder" in message
    assert str(tmp_path) in message
    with pytest.raises(OSError, match="download_if_missing is False"):
        fetch_buchwald_hartwig(data_home=tmp_path, download_if_missing=False)
    assert names_in(tmp_path) == []
    words = "n_retries is 1.5; expected an integer ≥ 0"
    refuses(words, fetch_buchwald_hartwig, data_home=tmp_path, n_retries=1.5)


def test_a_raw_file_put_in_the_cache_is_used_if_it_is_whole(
    tmp_path, closed_port, monkeypatch
):
    words = "data_table.csv is damaged .*Delete the fil"
    (tmp_path / RAW_NAME).write_text(RAW[:-1], encoding="utf-8")
    refuses(words, fetch_buchwald_hartwig, data_home=tmp_path)
    (tmp_path / RAW_NAME).write_text(RAW, encoding="utf-8")
    with monkeypatch.context() as patch:
        drifted = replace(module.SOURCE, tidy_sha256="0" * 64)
        patch.setattr(module, "SOURCE", drifted)
        words = "what data_table.csv was converted to is dam"
        refuses(words, fetch_buchwald_hartwig, data_home=tmp_path)
    assert names_in(tmp_path) == [RAW_NAME]
    bunch = fetch_buchwald_hartwig(data_home=tmp_path)
    assert_array_equal(bunch.data, DATA)
    assert names_in(tmp_path) == [TIDY_NAME, RAW_NAME]


def test_the_default_cache_is_the_user_s(tmp_path, closed_port, monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / name)
    (tmp_path / "skpce").mkdir()
    (tmp_path / "skpce" / TIDY_NAME).write_text(TIDY, encoding="utf-8")
    assert fetch_buchwald_hartwig().filename == str(tmp_path / "skpce" / TIDY_NAME)


# Look-up order and what is found.


@pytest.fixture
def tidy_folder(tmp_path, closed_port, monkeypatch):
    """``$SKPCE_DATA`` with the small tidy file."""
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / TIDY_NAME).write_text(TIDY, encoding="utf-8")
    monkeypatch.setenv("SKPCE_DATA", str(folder))
    return folder


def test_a_damaged_file_is_refused_and_the_given_folder_comes_first(
    tmp_path, tidy_folder, monkeypatch
):
    (tmp_path / TIDY_NAME).write_text(TIDY[:-1], encoding="utf-8")
    bunch = fetch_buchwald_hartwig(data_home=tmp_path)
    assert bunch.filename == str(tidy_folder / TIDY_NAME)
    (tidy_folder / TIDY_NAME).write_text(TIDY + " ", encoding="utf-8")
    with pytest.raises(ValueError, match=r"given/buchwald_hartwig.csv is dam") as info:
        fetch_buchwald_hartwig()
    hashes = f"SHA-256 is {sha256(TIDY + ' ')}; expected {sha256(TIDY)}"
    assert hashes in str(info.value)
    assert "Replace the file or unset SKPCE_DATA." in str(info.value)
    monkeypatch.delenv("SKPCE_DATA")
    words = "hartwig.csv is damaged .*Delete the file an"
    refuses(words, fetch_buchwald_hartwig, data_home=tmp_path)


def test_arrays_need_no_extra(tidy_folder, monkeypatch):
    for name in ("pandas", "pooch", "torch", "safetensors"):
        monkeypatch.setitem(sys.modules, name, None)
    data, target = fetch_buchwald_hartwig(return_X_y=True)
    assert (data.dtype, target.dtype) == (np.int64, np.float64)
    with pytest.raises(ImportError, match="as_frame=True needs pandas: pip install"):
        fetch_buchwald_hartwig(as_frame=True)
    monkeypatch.delenv("SKPCE_DATA")
    needs = r'SKPCE_DATA.* needs pooch: pip install "\.\[data\]"'
    with pytest.raises(ImportError, match=needs):
        fetch_buchwald_hartwig()


def test_the_bunch_has_what_it_promises(tidy_folder):
    bunch = fetch_buchwald_hartwig()
    assert bunch.feature_names == ["catalyst", "base", "aryl_halide", "additive"]
    assert bunch.target_names == ["yield"]
    assert [len(names) for names in bunch.levels.values()] == [4, 3, 16, 24]
    for count in ("4,608", "4,599", "4,132", "3,955", "3,960"):
        assert count in bunch.DESCR
    for name in bunch:
        assert f"``{name}``" in fetch_buchwald_hartwig.__doc__


def test_frames_have_the_names(tidy_folder):
    pandas = pytest.importorskip("pandas")
    bunch = fetch_buchwald_hartwig(as_frame=True)
    assert bunch.frame.columns.tolist() == [*bunch.feature_names, "yield"]
    expected = list(csv.reader(io.StringIO(TIDY)))[1:]
    assert bunch.data.to_numpy().tolist() == [row[:4] for row in expected]
    codes = bunch.data.apply(lambda column: column.cat.codes).to_numpy()
    assert_array_equal(codes, DATA)
    X, y = fetch_buchwald_hartwig(as_frame=True, return_X_y=True)
    pandas.testing.assert_frame_equal(X.assign(**{"yield": y}), bunch.frame)


def test_without_controls_levels_are_numbered_afresh(tidy_folder):
    bunch = fetch_buchwald_hartwig(controls=False)
    assert_array_equal(bunch.data, [[0, 0, 9, 11]])
    assert bunch.levels["aryl_halide"][9] == "2-chloropyridine"
    pytest.importorskip("pandas")
    frame = fetch_buchwald_hartwig(controls=False, as_frame=True).frame
    assert frame.iloc[0].tolist()[3:] == ["3,5-dimethylisoxazole", 17.98]


def test_molecules_come_with_the_levels(tidy_folder, monkeypatch):
    raw = raw_components({}).encode()
    table = module.convert_components(raw).decode()
    (tidy_folder / COMPONENTS_NAME).write_text(table, encoding="utf-8")
    source = replace(module.COMPONENTS, tidy_sha256=sha256(table))
    monkeypatch.setattr(module, "COMPONENTS", source)
    assert fetch_buchwald_hartwig().smiles is None
    smiles = fetch_buchwald_hartwig(smiles=True).smiles
    assert list(smiles) == list(module.LEVELS)
    assert smiles["base"] == ("base P2Et", "base BTMG", "base MTBD")
    assert smiles["additive"][:2] == (None, "additive 4-phenylisoxazole")
    fewer = fetch_buchwald_hartwig(smiles=True, controls=False).smiles
    assert fewer == {**smiles, **{c: smiles[c][1:] for c in list(smiles)[2:]}}
    words = "smiles=True needs return_X_y=False"
    refuses(words, fetch_buchwald_hartwig, smiles=True, return_X_y=True)


# Real data.


def test_a_raw_table_of_the_real_molecules_becomes_the_real_file(monkeypatch):
    """The checksum of the components is met byte for byte."""
    path = real_file(COMPONENTS_NAME)
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    raw = raw_components({row["name"]: (row["smiles"], row["cas"]) for row in rows})
    tidy = module.convert_components(raw.encode())
    assert hashlib.sha256(tidy).hexdigest() == module.COMPONENTS.tidy_sha256
    smiles = fetch_buchwald_hartwig(smiles=True).smiles
    found = [s or "" for part in smiles.values() for s in part]
    assert found == [row["smiles"] for row in rows]


def test_the_real_rows():
    real_file(TIDY_NAME)
    bunch = fetch_buchwald_hartwig()
    assert bunch.data.shape == (4599, 4)
    assert bunch.data.max(axis=0).tolist() == [3, 2, 15, 23]
    assert round(float(bunch.target.mean()), 2) == 30.87
    bunch = fetch_buchwald_hartwig(controls=False)
    assert bunch.data.shape == (4132, 4)
    assert round(float(bunch.target.mean()), 2) == 32.24
    oxadiazole = bunch.levels["additive"].index("5-Phenyl-1,2,4-oxadiazole")
    assert int((bunch.data[:, 3] != oxadiazole).sum()) == 3955
