"""Fetching all sets but the couplings, and simulated networks."""

import csv
import io
import json
import tarfile
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gflownet_envs.datasets import (
    SIX_EDGE_NETWORK,
    _learning_curves,
    _molecules,
    _sachs,
    _shakespeare,
    fetch_fragments,
    fetch_learning_curves,
    fetch_sachs,
    fetch_seh,
    fetch_shakespeare,
    make_linear_gaussian_data,
)
from tests.gflownet_envs.datasets.serving import real_file, serve, sha256
from tests.shared import cases, refuses

SACHS_HEADER = "raf\tmek\tplc\tpip2\tpip3\terk\takt\tpka\tpkc\tp38\tjnk\n"
SACHS_CELLS = (
    "26.4000 13.2000 8.8200 18.3000 58.8000 6.6100 17.0000 414.0000 17.0000 44.9000 "
    "40.0000"
)
SACHS_ROW = SACHS_CELLS.replace(" ", "\t") + "\n"
SACHS_RAW = SACHS_HEADER + SACHS_ROW * 852 + SACHS_ROW.replace("26.4", "1234.0")
SACHS_RAW += SACHS_ROW.replace("26.4", "9.9")  # another condition, left out
SACHS_TIDY_ROW = "26.4,13.2,8.82,18.3,58.8,6.61,17,414,17,44.9,40\n"
SACHS_TIDY = "Raf,Mek,Plcg,PIP2,PIP3,Erk,Akt,PKA,PKC,P38,Jnk\n" + SACHS_TIDY_ROW * 852
SACHS_TIDY += SACHS_TIDY_ROW.replace("26.4", "1234")

FRAGMENTS = '[["Br", [0]], ["C=C", [0, 1]], ["c1ccccc1", [0, 1, 2, 3, 4, 5]]]'

SEH_HEADER = (
    '"Molecule ChEMBL ID";"Smiles";"Standard Type";"Standard Relation";'
    '"Standard Units";"pChEMBL Value";"Data Validity Comment"\n'
)
SEH_RAW = SEH_HEADER + (
    '"CHEMBL22";"CC";"IC50";"\'=\'";"nM";"8.80";""\n'
    '"CHEMBL3";"CO";"IC50";"\'=\'";"nM";"6.00";""\n'
    '"CHEMBL22";"CC";"IC50";"\'=\'";"nM";"7.05";""\n'
    '"CHEMBL3";"CO";"IC50";"\'>\'";"nM";"9.00";""\n'
    '"CHEMBL3";"CO";"Ki";"\'=\'";"nM";"9.00";""\n'
    '"CHEMBL3";"CO";"IC50";"\'=\'";"uM";"9.00";""\n'
    '"CHEMBL3";"CO";"IC50";"\'=\'";"nM";"9.00";"Outside typical range"\n'
    '"CHEMBL4";"CN";"IC50";"\'=\'";"nM";"";""\n'
)
SEH_TIDY = (
    "chembl_id,smiles,pIC50_median,n,pIC50_min,pIC50_max\n"
    "CHEMBL3,CO,6,1,6,6\n"
    "CHEMBL22,CC,7.925,2,7.05,8.8\n"
)

RUNS_TIDY = (
    "openmlid,dataset,learner,size_train,outer_seed,inner_seed,traintime,"
    "score_train,score_valid,score_test\n"
    "6,letter,GaussianNB,64,0,0,0.1,0.9,0.5,0.51\n"
    "6,letter,GaussianNB,128,1,2,0.1,0.9,0.6,0.61\n"
    "12,mfeat-factors,SVC_poly,1024,4,4,2.5,1.0,0.9,0.91\n"
)
RUNS_CSV = (
    "openmlid,learner,size_train,size_test,outer_seed,inner_seed,traintime,"
    "score_train,score_valid,score_test\n"
    "12,SVC_poly,1024,200,4,4,2.5,1.0,0.9,0.91\n"
    "6,sklearn.naive_bayes.GaussianNB,128,2000,1,2,0.1,0.9,0.6,0.61\n"
    "6,sklearn.naive_bayes.GaussianNB,64,2000,0,0,0.1,0.9,0.5,0.51\n"
    "6,SVC_poly,90,2000,0,0,0.1,0.9,0.5,0.51\n"  # another size
    "6,SVC_poly,64,2000,5,0,0.1,0.9,0.5,0.51\n"  # another split
    "6,SVC_poly,64,2000,0,5,0.1,0.9,0.5,0.51\n"
    "7,SVC_poly,64,2000,0,0,0.1,0.9,0.5,0.51\n"  # another data set
)


def archive(table, member="lcdb-0.1.0/lcdb/database-accuracy.csv"):
    """Return a source archive with one table in it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as file:
        entry = tarfile.TarInfo(member)
        entry.size = len(table)
        file.addfile(entry, io.BytesIO(table.encode("utf-8")))
    return out.getvalue()


PLAYS = "First Citizen:\nSpeak, ’tis late.\n\nAll:\nSpeak.\n"

RUNS = archive(RUNS_CSV)
SETS = {
    "sachs": (_sachs, "SOURCE", fetch_sachs, SACHS_RAW, SACHS_TIDY),
    "fragments": (_molecules, "FRAGMENTS_SOURCE", fetch_fragments, *2 * [FRAGMENTS]),
    "seh": (_molecules, "SEH_SOURCE", fetch_seh, SEH_RAW, SEH_TIDY),
    "runs": (_learning_curves, "SOURCE", fetch_learning_curves, RUNS, RUNS_TIDY),
    "shakespeare": (_shakespeare, "SOURCE", fetch_shakespeare, PLAYS, PLAYS),
}
BUNCHES = [name for name in SETS if name != "shakespeare"]


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Put the small tidy file of a set in ``$SKPCE_DATA``."""

    def install(name):
        module, where, fetch, _, tidy = SETS[name]
        source = replace(getattr(module, where), tidy_sha256=sha256(tidy))
        monkeypatch.setattr(module, where, source)
        (tmp_path / source.tidy_name).write_text(tidy, encoding="utf-8")
        monkeypatch.setenv("SKPCE_DATA", str(tmp_path))
        return fetch

    return install


@pytest.mark.parametrize("name", SETS)
def test_a_raw_file_is_downloaded_once_converted_and_cached(
    tmp_path, monkeypatch, name
):
    pytest.importorskip("pooch")
    module, where, fetch, raw, tidy = SETS[name]
    monkeypatch.delenv("SKPCE_DATA", raising=False)
    with serve([raw]) as (url, requests):
        source = getattr(module, where)
        hashes = {"raw_sha256": sha256(raw), "tidy_sha256": sha256(tidy)}
        source = replace(source, raw_url=f"{url}/{source.raw_name}", **hashes)
        monkeypatch.setattr(module, where, source)
        fetch(data_home=tmp_path)
        found = fetch(data_home=tmp_path, download_if_missing=False)
    assert requests == [f"/{source.raw_name}"]
    path = tmp_path / source.tidy_name
    assert path.read_text(encoding="utf-8") == tidy
    assert found == PLAYS if name == "shakespeare" else found.filename == str(path)


@pytest.mark.parametrize("name", BUNCHES)
def test_a_bunch_has_what_it_promises(given, name):
    bunch = given(name)()
    for key in bunch:
        assert f"``{key}``" in SETS[name][2].__doc__


# Sachs.


def test_the_cells_are_the_first_853(given):
    fetch = given("sachs")
    bunch = fetch()
    assert bunch.data.shape == (853, 11)
    assert bunch.target is None
    assert bunch.data[0].tolist() == [float(v) for v in SACHS_TIDY_ROW.split(",")]
    assert bunch.data[852, 0] == 1234
    data, _ = fetch(return_X_y=True)
    assert_array_equal(data, bunch.data)
    pytest.importorskip("pandas")
    framed = fetch(as_frame=True)
    assert_array_equal(framed.data.to_numpy(), bunch.data)


def test_the_consensus_edges_are_the_real_file():
    text = real_file("sachs_edges.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(io.StringIO(text))
    found = {(row["source"], row["target"]) for row in rows}
    assert found == set(_sachs.CONSENSUS_EDGES)
    assert len(_sachs.CONSENSUS_EDGES) == 17


# Fragments and inhibitors.


def test_fragments_with_enough_attachments(given):
    fetch = given("fragments")
    assert fetch().smiles == ("Br", "C=C", "c1ccccc1")
    two = fetch(min_attachments=2)
    assert two.smiles == ("C=C", "c1ccccc1")
    assert two.attachments == ((0, 1), (0, 1, 2, 3, 4, 5))
    refuses("no fragment has min_attachments=7 atoms", fetch, min_attachments=7)
    refuses("min_attachments must be an int ≥ 1", fetch, min_attachments=True)


def test_the_real_fragments():
    content = json.loads(real_file("fragments_72.json").read_text(encoding="utf-8"))
    bunch = fetch_fragments()
    assert len(set(bunch.smiles)) == 72
    assert len(fetch_fragments(min_attachments=2).smiles) == 30
    found = zip(bunch.smiles, map(list, bunch.attachments), strict=True)
    assert [list(pair) for pair in found] == content


def test_inhibitors_are_medians_of_the_retained_records(given):
    pytest.importorskip("pandas")
    assert _molecules.convert_raw(SEH_RAW.encode()).decode() == SEH_TIDY
    bunch = given("seh")(as_frame=True)
    assert bunch.data["smiles"].tolist() == ["CO", "CC"]
    assert bunch.target.tolist() == [6.0, 7.925]
    assert bunch.n_measurements.tolist() == [1, 2]
    assert bunch.frame["pIC50_min"].tolist() == [6.0, 7.05]


# Learning curves.


def test_runs_of_other_sizes_splits_and_sets_are_left_out(given):
    pytest.importorskip("pandas")
    bunch = given("runs")(as_frame=True)
    assert bunch.frame["dataset"].tolist() == ["letter", "letter", "mfeat-factors"]
    assert bunch.target.tolist() == [0.51, 0.61, 0.91]
    assert bunch.data.columns.tolist() == bunch.feature_names


def test_learning_curves_are_not_downloaded_but_converted(tmp_path, monkeypatch):
    pytest.importorskip("pooch")
    monkeypatch.delenv("SKPCE_DATA", raising=False)
    real = _learning_curves.SOURCE
    ours = replace(real, raw_sha256=sha256(RUNS), tidy_sha256=sha256(RUNS_TIDY))
    monkeypatch.setattr(_learning_curves, "SOURCE", ours)
    with pytest.raises(FileNotFoundError, match=r"no address.*pip download"):
        fetch_learning_curves(data_home=tmp_path)
    (tmp_path / real.raw_name).write_bytes(RUNS)
    assert len(fetch_learning_curves(data_home=tmp_path).data) > 0
    assert (tmp_path / real.tidy_name).read_text("utf-8") == RUNS_TIDY


# Real data, whose checksums are compared where they are read.


@cases(
    ("name", "fetch", "n_rows"),
    ("sachs_observational.csv", fetch_sachs, 853),
    ("seh_ic50.csv", fetch_seh, 1786),
    ("learning_curves.csv", fetch_learning_curves, 12_455),
)
def test_the_real_tables(name, fetch, n_rows):
    real_file(name)
    assert len(fetch().data) == n_rows


def test_the_real_plays():
    real_file("shakespeare.txt")
    assert len(fetch_shakespeare()) == 1_115_394


# Simulated networks.


def test_simulated_rows_have_the_law_they_promise():
    bunch = make_linear_gaussian_data(n_samples=200_000, seed=3)
    noise = bunch.data - bunch.data @ bunch.weights
    assert_allclose(np.cov(noise.T), 0.5 * np.eye(5), atol=0.01)
    assert_allclose(np.cov(bunch.data.T), bunch.covariance, atol=0.03)
    assert_allclose(bunch.data.mean(axis=0), 0, atol=0.02)


def test_the_five_node_network_is_part_of_the_sachs_network():
    bunch = make_linear_gaussian_data()
    nodes = set(SIX_EDGE_NETWORK)
    inside = {e for e in _sachs.CONSENSUS_EDGES if nodes.issuperset(e)}
    assert set(bunch.edges) == inside
    assert len(inside) == 6
    assert np.count_nonzero(bunch.weights) == 6


@cases(
    ("arguments", "message"),
    ({"network": {"a": ("b",)}}, r"parents of 'a' must be distinct nodes"),
    ({"network": {"a": ("b",), "b": ("a",)}}, "must be acyclic"),
    ({"n_samples": 0}, "n_samples must be an int ≥ 1, got 0"),
    ({"noise_variance": 0.0}, "noise_variance must be positive, got 0.0"),
)
def test_bad_networks(arguments, message):
    refuses(message, make_linear_gaussian_data, **arguments)
