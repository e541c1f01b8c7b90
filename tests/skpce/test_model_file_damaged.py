"""A model file that is damaged, edited or foreign is a ValueError that names it."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import pickle
import zipfile

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from skpce import (
    CompositionalPCESurrogate,
    NatafTransformer,
    PolynomialChaosRegressor,
    load_model,
    save_model,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A small model file, of many kinds of records."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = softmax(X @ rng.normal(size=(2, 3)), axis=1)
    pipeline = make_pipeline(
        PCA(2),
        NatafTransformer(["normal", stats.logistic(scale=2)]),
        CompositionalPCESurrogate(
            1,
            distribution=[stats.logistic(scale=0.5), "empirical"],
            regressor=Ridge(),
            random_state=np.random.RandomState(0),
        ),
    )
    path = tmp_path_factory.mktemp("models") / "model.npz"
    save_model(pipeline.fit(X, y), path)
    return path


@pytest.fixture
def content(path):
    return path.read_bytes()


@pytest.fixture
def refused(tmp_path):
    """Write bytes to a file and return what is said of them."""

    def write_and_load(content):
        path = tmp_path / "other.npz"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"other\.npz") as caught:
            load_model(path)
        assert str(caught.value).startswith(str(path))
        return str(caught.value)

    return write_and_load


def parts_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(parts, compression=zipfile.ZIP_STORED):
    """Write an archive with the right digest, as somebody who edits a file could."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
        archive.comment = b"0" * 64
    body = buffer.getvalue()[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


def with_description(content, description):
    text = description if isinstance(description, str) else json.dumps(description)
    return archive_of(parts_of(content) | {"model.json": text.encode()})


def description_of(content):
    return json.loads(parts_of(content)["model.json"])


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


# Damage


def test_the_tools_of_these_tests_write_files_that_load(content, tmp_path):
    (tmp_path / "again.npz").write_bytes(
        with_description(content, description_of(content))
    )
    assert load_model(tmp_path / "again.npz")[-1].degree == 1


def test_a_file_that_was_cut_off(content, refused):
    lengths = [*range(0, len(content), len(content) // 60), len(content) - 1]
    assert "was cut off" in {
        refused(content[:n])[-200:] and "was cut off" for n in lengths
    }
    for n in lengths:
        message = refused(content[:n])
        assert "cut off" in message or "its beginning is missing" in message


def test_a_file_whose_beginning_is_missing(content, refused):
    assert "its beginning is missing" in refused(content[1:])


def test_a_byte_that_was_changed(content, tmp_path):
    path = tmp_path / "other.npz"
    places = {*range(0, len(content), 37), *range(len(content) - 120, len(content))}
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=r"other\.npz cannot be read"):
            load_model(path)


@pytest.mark.parametrize("more", [b"\0", b"a" * 100])
def test_a_file_that_became_longer(content, refused, more):
    assert "edited" in refused(content + more)


def test_a_file_that_was_edited_with_a_zip_tool(content, refused):
    parts = parts_of(content)
    text = parts["model.json"].replace(b'"degree": 1', b'"degree": 2')
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in (parts | {"model.json": text}).items():
            archive.writestr(name, part)
        archive.comment = content[-64:]
    assert "edited" in refused(buffer.getvalue())


# Files of others


def npz(tmp_path):
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    return (tmp_path / "arrays.npz").read_bytes()


FOREIGN = {
    "arrays of numpy": npz,
    "text": lambda _: b"coefficients: 1, 2, 3",
    "nothing": lambda _: b"",
    "zeros": lambda _: b"\0" * 1000,
    "a pickle": lambda _: pickle.dumps(
        PolynomialChaosRegressor(solver="ridge", distribution="normal")
    ),
    "an array": lambda _: npy(np.zeros(3)),
    "an empty archive": lambda _: archive_of({}),
    "another archive": lambda _: archive_of({"a.txt": b"text"}),
    "other JSON": lambda _: archive_of({"model.json": b'{"a": 1}'}),
    "a list": lambda _: archive_of({"model.json": b"[]"}),
    "no JSON": lambda _: archive_of({"model.json": b"<xml/>"}),
    "no text": lambda _: archive_of({"model.json": b"\xff\xfe\x00"}),
    "depth": lambda _: archive_of({"model.json": b"[" * 100_000}),
    "a long number": lambda _: archive_of({"model.json": b"1" * 10_000}),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_something_else(name, tmp_path, refused):
    refused(FOREIGN[name](tmp_path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.npz"):
        load_model(tmp_path / "none.npz")


def test_a_file_that_must_not_be_read(path, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(PermissionError, match=r"model\.npz"):
        load_model(path)


def test_a_folder(tmp_path):
    with pytest.raises(ValueError, match="is a folder; expected a model file"):
        load_model(tmp_path)


# Versions


@pytest.mark.parametrize("version", [0, -1, "1", None, [1], 2])
def test_another_version(version, refused):
    """Even one whose records are others altogether."""
    other = {"format": "skpce model", "version": version, "anything": []}
    message = refused(archive_of({"model.json": json.dumps(other).encode()}))
    assert f"its format has version {version!r}" in message
    assert "reads version 1. Install the skpce that wrote it" in message


# What does not fit together, under the right digest


def find(description, kind):
    return next(one for one in description["objects"] if one["kind"].endswith(kind))


def edit(kind, /, **fields):
    def change(description):
        find(description, kind).update(fields)

    return change


def edit_in(kind, place, /, **fields):
    def change(description):
        find(description, kind)[place].update(fields)

    return change


def replace(**entries):
    return lambda description: description.update(entries)


def remove(kind, name):
    return lambda description: find(description, kind).pop(name)


def deep(levels):
    plain = []
    for _ in range(levels):
        plain = [plain]
    return plain


PCA_KIND, NATAF, SURROGATE = "PCA", "NatafTransformer", "CompositionalPCESurrogate"

EDITS = {
    "no format": (replace(format="other"), "does not say that the format is"),
    "no objects": (replace(objects={}), "must be a list of records"),
    "no records": (replace(objects=[1]), "expected a record with a kind"),
    "no kind": (replace(objects=[{"kind": 3}]), "expected a record with a kind"),
    "no model": (replace(model=None), "expected an earlier object"),
    "a model out of range": (replace(model=10**30), "expected an earlier object"),
    "a negative model": (replace(model=-1), "expected an earlier object"),
    "a model that is none": (replace(model=1), "is no estimator"),
    "an unknown kind": (edit("basis", kind="bases"), "'bases', which this version"),
    "a class of Python": (edit(PCA_KIND, kind="os.system"), "'os.system', which this"),
    "a private class": (
        edit("basis", kind="skpce._basis.basis.PolynomialBasis"),
        "which this version of skpce does not know",
    ),
    "an unknown field": (edit("basis", colour="red"), "has an unknown field 'colour'"),
    "a missing field": (
        remove("basis", "distributions"),
        "lacks the field 'distributions'",
    ),
    "a later object": (
        edit("basis", distributions=[{"object": 500}]),
        "earlier object",
    ),
    "itself": (edit("basis", distributions=[{"object": True}]), "earlier object"),
    "no array": (edit("basis", multi_indices={"array": "none"}), "lacks the array"),
    "an unnamed array": (edit("basis", multi_indices={"array": []}), "lacks the array"),
    "no marker": (edit("basis", distributions={"a": 1}), "expected a marker"),
    "an empty marker": (edit("basis", distributions={}), "expected a marker"),
    "another object": (edit("basis", distributions=[{"object": 0}] * 2), "must be '"),
    "fewer distributions": (edit("basis", distributions=[]), "inputs, others"),
    "text for a number": (edit("normal column", scale="1"), "must be a finite float"),
    "NaN as it is no JSON": (
        lambda d: json.dumps(d).replace('"degree": 1', '"degree": NaN'),
        "holds the number NaN",
    ),
    "infinity as it is no JSON": (
        lambda d: json.dumps(d).replace('"degree": 1', '"degree": -Infinity'),
        "holds the number -Infinity",
    ),
    "NaN for an int": (
        edit("steps", widths=[{"float": "nan"}]),
        "'widths' of a 'steps' must be an int",
    ),
    "a huge width": (edit("steps", widths=[10**15]), "widths of 'steps' are not those"),
    "a negative width": (edit("steps", widths=[-3]), "widths of 'steps' are not those"),
    "another float": (edit("normal column", scale={"float": "x"}), "nan, inf or -inf"),
    "a strange number": (
        edit("normal column", scale={"number": "object", "value": 1}),
        "expected a number of numpy",
    ),
    "no pairs": (
        edit_in(NATAF, "parameters", root={"mapping": [[1]]}),
        "expected pairs",
    ),
    "a key that cannot be": (
        edit_in(NATAF, "parameters", root={"mapping": [[[], 1]]}),
        "unhashable",
    ),
    "entries of another shape": (
        edit_in(NATAF, "parameters", root={"entries": [1], "shape": [10**12]}),
        "expected 1 entries",
    ),
    "a range of no ints": (
        edit_in(NATAF, "parameters", root={"range": ["a"]}),
        "does not fit together (TypeError",
    ),
    "an unknown parameter": (
        edit_in(NATAF, "parameters", speed=1),
        "has no parameter 'speed' in this version",
    ),
    "parameters in a list": (edit(NATAF, parameters=[]), "expected named values"),
    "an unknown attribute": (
        edit_in(NATAF, "fitted", _map=1),
        "has an unknown field '_map'",
    ),
    "a private attribute": (
        edit_in(PCA_KIND, "fitted", __class__=1),
        "has an unknown field '__class__'",
    ),
    "a method": (edit_in(PCA_KIND, "fitted", transform=1), "unknown field 'transform'"),
    "half a fit": (
        lambda d: find(d, NATAF)["fitted"].pop("map"),
        "lacks the field 'map'",
    ),
    "another number of features": (
        edit_in(SURROGATE, "fitted", n_features_in_=5),
        "inputs, others",
    ),
    "an output of another kind": (
        edit(PCA_KIND, output="latex"),
        "must be one of ('default'",
    ),
    "one entry more": (edit(PCA_KIND, more=1), "has the entries"),
    "a step that is none": (
        edit_in("Pipeline", "parameters", steps=[["pca", 3]]),
        "must be an estimator",
    ),
    "steps that are none": (
        edit_in("Pipeline", "parameters", steps=[{"tuple": ["pca"]}]),
        "expected a name and an estimator",
    ),
    "a cache": (
        edit_in("Pipeline", "parameters", memory="cache"),
        "memory of a Pipeline must be None",
    ),
    "a distribution that is none": (
        edit("scipy distribution", family="kstest"),
        "scipy.stats has no distribution 'kstest'",
    ),
    "a distribution of a path": (
        edit("scipy distribution", family="__builtins__"),
        "scipy.stats has no distribution",
    ),
    "parameters of a distribution": (
        edit("scipy distribution", arguments={"tuple": ["a"]}),
        "a parameter of logistic is 'a'",
    ),
    "too many parameters": (
        edit("scipy distribution", arguments={"tuple": [1.0] * 9}),
        "TypeError",
    ),
    "a recurrence of another length": (
        edit("continuous distribution", recurrences={"tuple": [[7, [], [], 0.0]]}),
        "a recurrence of degree 7 has shapes",
    ),
    "a recurrence of text": (
        edit("continuous distribution", recurrences={"tuple": ["abcd"]}),
        "must be a sequence",
    ),
    "a random state beyond its end": (
        edit("random state", position=10**9),
        "'position' of a 'random state' must be one of",
    ),
    "depth within the stack": (edit_in(NATAF, "parameters", root=deep(300)), None),
    "text for a regressor": (
        edit_in(SURROGATE, "parameters", regressor="Ridge"),
        "must be an estimator. Got 'Ridge'",
    ),
    "text for the regressor of a fit": (
        edit("regressor of the basis", regressor="Ridge"),
        "'regressor' of a 'regressor of the basis' must be an estimator",
    ),
    "text for the step of a pipeline": (
        edit_in("Pipeline", "parameters", steps=[{"tuple": ["pca", "PCA"]}]),
        "must be an estimator. Got 'PCA'",
    ),
    "an infinite place": (
        edit("normal column", location={"float": "inf"}),
        "'location' of a 'normal column' must be a finite float",
    ),
    "too deep": (
        lambda d: json.dumps(d).replace('"cholesky"', "[" * 3000 + "]" * 3000),
        "recursion",
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_does_not_fit_together(name, content, refused, tmp_path):
    change, message = EDITS[name]
    description = description_of(content)
    text = change(description)
    edited = with_description(content, text if isinstance(text, str) else description)
    if message is None:
        (tmp_path / "edited.npz").write_bytes(edited)
        assert load_model(tmp_path / "edited.npz").steps
    else:
        assert message in refused(edited)


def leaves(plain, place=()):
    """Iterate over the places of all values in JSON."""
    yield place
    if isinstance(plain, dict):
        for name in plain:
            yield from leaves(plain[name], (*place, name))
    elif isinstance(plain, list):
        for number in range(len(plain)):
            yield from leaves(plain[number], (*place, number))


STRANGE = [None, True, -1, 10**40, 0.5, "x", [], {}, {"float": "nan"}, [[1]]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shift", range(2))
def test_any_value_may_be_strange(shift, content, tmp_path):
    """It is refused, or it is a parameter or a name, which may be that."""
    path = tmp_path / "other.npz"
    parts, description = parts_of(content), description_of(content)
    places = list(leaves(description))[1:]
    loaded = 0
    for number, place in enumerate(places):
        *above, last = place
        holder = description
        for step in above:
            holder = holder[step]
        strange = STRANGE[(7 * number + shift) % len(STRANGE)]
        before, holder[last] = holder[last], strange
        path.write_bytes(archive_of(parts | {"model.json": json.dumps(description)}))
        try:
            load_model(path)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017
        else:
            loaded += 1
        holder[last] = before
    assert loaded < len(places) / 2


def test_an_array_may_be_any_other(content, tmp_path):
    path = tmp_path / "other.npz"
    parts = parts_of(content)
    others = [
        np.zeros(0),
        np.zeros((3, 4)),
        np.array(["a"]),
        np.array(1),
        np.ones(3, "i"),
    ]
    for name in parts:
        if name == "model.json":
            continue
        for other in others:
            path.write_bytes(archive_of(parts | {name: npy(other)}))
            try:
                load_model(path)
            except ValueError as error:
                assert str(path) in str(error)  # noqa: PT017
            else:  # one that says nothing to the rest, or of the same shape
                assert name.startswith("PCA.") or other.ndim == 1, (name, other)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "name", ["expansion.coefficients", "linear_fit.alpha", "PCA.mean_"]
)
def test_numbers_that_are_not_finite(name, value, content, refused):
    parts = parts_of(content)
    array = np.load(io.BytesIO(parts[f"{name}.npy"]))
    array.flat[0] = value
    message = refused(archive_of(parts | {f"{name}.npy": npy(array)}))
    assert "must be finite" in message or "must be a finite" in message


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_weights_that_are_none(value, content, refused):
    parts = parts_of(content)
    weights = np.load(io.BytesIO(parts["samples.weights.npy"])).copy()
    weights[3] = value
    message = refused(archive_of(parts | {"samples.weights.npy": npy(weights)}))
    assert "'weights' of a 'samples' must be positive and finite" in message


def test_arrays_that_were_swapped(content, refused):
    parts = parts_of(content)
    names = "expansion.coefficients.npy", "basis.multi_indices.npy"
    first, second = (parts[name] for name in names)
    swapped = parts | dict(zip(names, (second, first), strict=True))
    assert "must be an array of kind" in refused(archive_of(swapped))


HEADER = "{{'descr': {}, 'fortran_order': False, 'shape': {}, }}"


def with_header(descr, shape, data=b""):
    text = HEADER.format(descr, shape).encode()
    text += b" " * (63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (with_header("'<f8'", (10**15,)), "has 0 bytes for shape"),
        (with_header("'<f8'", (2**62, 2**62)), "has 0 bytes for shape"),
        (with_header("'<f8'", (-1, -1), b"12345678"), "bytes for shape"),
        (with_header("'<U0'", (10**15,)), "is an array of"),
        (with_header("'|O'", (1,), pickle.dumps(os.system)), "is an array of object"),
        (with_header("[('a', '<f8')]", (1,), b"12345678"), "is an array of"),
        (with_header("'<f8'", "'a'"), "cannot be read"),
        (with_header("__import__('os')", (1,)), "cannot be read"),
        (npy(np.array([os.system], dtype=object)), "is an array of object"),
        (b"\x93NUMPY\x03\x00\xff\xff\xff\xff", "is no array"),
        (b"\x93NUMPY\x01\x00", "cannot be read"),
        (b"", "cannot be read"),
        (b"no array", "cannot be read"),
    ],
)
def test_an_array_that_is_none(part, message, content, refused):
    edited = parts_of(content) | {"expansion.coefficients.npy": part}
    assert message in refused(archive_of(edited))


def test_an_archive_with_more_or_less(content, refused):
    parts = parts_of(content)
    assert "nothing refers to" in refused(
        archive_of(parts | {"more.npy": npy(np.eye(2))})
    )
    assert "is no array" in refused(archive_of(parts | {"../a.txt": b"text, and more"}))
    del parts["expansion.coefficients.npy"]
    assert "lacks the array 'expansion.coeff" in refused(archive_of(parts))


def test_an_archive_that_would_grow(content, refused):
    assert "are compressed" in refused(
        archive_of(parts_of(content), zipfile.ZIP_DEFLATED)
    )


def test_an_archive_whose_parts_overlap(content, refused):
    """A part that is said to be longer than it is, as where many share their bytes."""
    place = content.index(b"PK\x01\x02")  # sizes of the first part in the directory
    sizes = (len(content) + 1).to_bytes(4, "little") * 2
    body = content[: place + 20] + sizes + content[place + 28 : -64]
    digest = hashlib.sha256(body).hexdigest().encode()
    assert "its parts are larger than the file" in refused(body + digest)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_a_part_twice(content, refused):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for _ in range(2):
            archive.writestr("model.json", b"{}")
        archive.comment = b"0" * 64
    body = buffer.getvalue()[:-64]
    assert "there twice" in refused(body + hashlib.sha256(body).hexdigest().encode())


def test_headers_that_are_written_are_as_expected():
    data = np.arange(3.0)
    assert math.prod(data.shape) * 8 == len(data.tobytes())
    part = with_header("'<f8'", data.shape, data.tobytes())
    np.testing.assert_array_equal(np.load(io.BytesIO(part)), data)
