"""Files are whole, checked, and never unpickled."""

import errno
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import safetensors.numpy
from numpy.testing import assert_array_equal

from gflownet_envs import storage
from gflownet_envs.storage import (
    read_arrays,
    write_arrays,
    write_bytes,
    write_json,
    write_together,
)
from tests.shared import cases, names_in, refuses


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return {
        "y": rng.random((5, 3)),
        "transposed": rng.random((4, 2)).T,
        "big_endian": np.arange(3, dtype=">i4"),
        "mask": np.array([True, False]),
        "scalar": np.array(np.float32(2.5)),
        "empty": np.zeros((0, 7), dtype=np.int16),
    }


NO_SPACE = OSError(errno.ENOSPC, "No space left on device")
NO_PERMISSION = PermissionError(errno.EACCES, "Permission denied")


def failing(error):
    """A call of the system that raises an error."""

    def fail(*given):
        raise error

    return fail


# Arrays.


def test_arrays_come_back_as_they_were(tmp_path, arrays):
    path = tmp_path / "a.safetensors"
    given = {"nested": {"n": [1, 2.5, None]}, "q2": float("nan"), "t": (1,)}
    write_arrays(path, arrays, given | {"n": np.int64(3), "x": np.arange(2)})
    found, metadata = read_arrays(path)
    assert metadata == given | {"q2": None, "n": 3, "x": [0, 1], "t": [1]}
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].shape == array.shape
    found["y"][0, 0] = 7.0  # the caller's own, not a view of the file
    by_another_program = safetensors.numpy.load_file(path)
    assert_array_equal(by_another_program["transposed"], arrays["transposed"])


def test_equal_contents_give_equal_bytes(tmp_path, arrays):
    write_arrays(tmp_path / "a", arrays, {"b": 1, "a": 2})
    backwards = dict(reversed(arrays.items()))
    write_arrays(tmp_path / "b", backwards, {"a": 2, "b": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@cases(
    ("arrays", "metadata", "message"),
    ([np.ones(2)], {}, "arrays is of type list; expected a dict"),
    ({"": np.ones(2)}, {}, "named ''; expected a non-empty string"),
    ({"y": np.array(["a"])}, {}, "array 'y' has dtype <U1; expected one of bool"),
    ({}, [1], r"metadata is \[1\]; expected a dict"),
    ({}, {1: 2}, "metadata has the key 1; expected a string"),
    ({}, {"a": [{"b": np.inf}]}, r"metadata\['a'\]\[0\]\['b'\] is inf; expected a"),
)
def test_what_cannot_be_stored_is_refused(tmp_path, arrays, metadata, message):
    refuses(message, write_arrays, tmp_path / "a", arrays, metadata)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("bit", [1, 128])
def test_any_changed_byte_and_a_cut_file_are_noticed(tmp_path, arrays, bit):
    path = tmp_path / "a"
    write_arrays(path, arrays, {"task": "grid"})
    whole = path.read_bytes()
    for position in range(len(whole)):
        payload = bytearray(whole)
        payload[position] ^= bit
        path.write_bytes(payload)
        refuses(r"/a is (damaged|a foreign)|/a has form", read_arrays, path)
    for length in (0, 5, 100, len(whole) - 1):
        path.write_bytes(whole[:length])
        refuses("/a is damaged or not a safetensors", read_arrays, path)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "a"
    safetensors.numpy.save_file({"y": np.ones(2)}, path)
    refuses(r"/a is a foreign .*header \[\] has no record", read_arrays, path)
    head = b'{"x":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(4))
    refuses("not a safetensors file of numpy types", read_arrays, path)


def test_a_pickle_is_refused_and_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "boom"),))

    (tmp_path / "a").write_bytes(pickle.dumps(Bomb()))
    refuses("not a safetensors file", read_arrays, tmp_path / "a")
    assert names_in(tmp_path) == ["a"]


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist or is not a file"):
        read_arrays(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"could not write .*/no/a: No such"):
        write_bytes(tmp_path / "no" / "a", b"new")


# Atomic writing.


@cases(
    ("call", "error", "words"),
    ("fsync", NO_SPACE, "could not write .*/a: No space left"),
    ("replace", NO_PERMISSION, "could not write .*/a: Permission"),
    ("fsync", KeyboardInterrupt("stop"), "stop"),
)
def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch, call, error, words):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    monkeypatch.setattr(storage.os, call, failing(error))
    with pytest.raises(type(error), match=words) as info:
        write_bytes(path, b"new")
    assert getattr(info.value, "errno", None) == getattr(error, "errno", None)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["a"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for path in (tmp_path / "pipe", tmp_path / "link"):
        refuses(f"{path.name} is a device or a pipe", write_bytes, path, b"1")
    refuses("device or a pipe", write_together, {path: b"1"}, last=tmp_path / "pipe")
    assert names_in(tmp_path) == ["link", "pipe"]
    assert path.is_fifo()


def test_a_link_stays_and_the_file_behind_it_is_written(tmp_path):
    link, target = tmp_path / "link", tmp_path / "folder" / "a"
    target.parent.mkdir()
    link.symlink_to(target)
    for content in (b"1", b"2"):  # a new file, then an old one
        write_together({tmp_path / "b": content, link: content}, last=link)
        assert link.is_symlink()
        assert target.read_bytes() == content
    assert names_in(tmp_path) == ["b", "folder", "link"]
    assert names_in(target.parent) == ["a"]


# Folders and JSON.


def test_many_may_try_a_folder_at_once(tmp_path):
    def try_often(_):
        for _ in range(200):
            storage.check_writable(tmp_path)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(try_often, range(4))) == [None] * 4
    assert list(tmp_path.iterdir()) == []


def test_json_is_the_same_for_equal_payloads_and_finite(tmp_path):
    write_json(tmp_path / "a", {"b": [np.float64(0.1), True], "a": "β"})
    write_json(tmp_path / "b", {"a": "β", "b": (0.1, np.bool_(True))})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    text = (tmp_path / "a").read_text(encoding="utf-8")
    assert json.loads(text) == {"a": "β", "b": [0.1, True]}
    words = r"payload\['q2'\] is -inf; expected a finite"
    refuses(words, write_json, tmp_path / "a", {"q2": -np.inf})


# Versions and hostile headers.


OURS = '"format": "gflownet_envs.arrays"'


@cases(
    ("text", "message"),
    ("[" * 100_000, "it is nested too deeply|Expected `object`"),
    ('{"format": Infinity}', "JSON is malformed"),
    ("{", "/a is damaged: its header is no record"),
    (f'{{{OURS}, "format_version": 99}}', "format version 99; this version"),
    (
        f'{{{OURS}, "format_version": 1, "sha256": "", "metadata": []}}',
        r"Expected `object`, got `array` - at `\$.metadata`",
    ),
)
def test_hostile_headers_are_refused(tmp_path, text, message):
    safetensors.numpy.save_file({"y": np.ones(2)}, tmp_path / "a", {"record": text})
    refuses(message, read_arrays, tmp_path / "a")


def test_deep_metadata_come_back_or_are_refused(tmp_path):
    nested = {}
    for _ in range(200):
        nested = {"a": nested}
    write_arrays(tmp_path / "a", {}, nested)
    assert read_arrays(tmp_path / "a")[1] == nested
    for _ in range(2_800):
        nested = {"a": nested}
    refuses("nested too deeply to be stored", write_arrays, tmp_path / "b", {}, nested)
    assert names_in(tmp_path) == ["a"]


# Writers that were killed, and files that belong together.


def write_and_die(folder):
    """Be killed in the middle of writing."""
    code = (
        "import os, signal, sys; from gflownet_envs import storage\n"
        "storage.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "storage.write_bytes(sys.argv[1], b'new')"
    )
    assert subprocess.run([sys.executable, "-c", code, str(folder / "a")]).returncode


def test_what_a_killed_writer_left_goes_after_an_hour(tmp_path):
    write_and_die(tmp_path)
    (left,) = names_in(tmp_path)
    assert left.endswith(".tmp")
    (tmp_path / ".mine.tmp").write_bytes(b"not ours")
    write_bytes(tmp_path / "b", b"other")  # it may be another writer's, at work
    assert names_in(tmp_path) == sorted([left, ".mine.tmp", "b"])
    for name in (left, ".mine.tmp"):
        os.utime(tmp_path / name, (0, 0))
    write_bytes(tmp_path / "b", b"other")
    assert names_in(tmp_path) == [".mine.tmp", "b"]


def test_files_that_belong_together_are_all_there_or_as_they_were(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(storage.os, "fsync", failing(NO_SPACE))
    old = {"a": b"1", "last": b"1"}
    for name, payload in old.items():
        (tmp_path / name).write_bytes(payload)
    new = {tmp_path / name: b"2" for name in ("a", "b", "last")}
    with pytest.raises(OSError, match="No space left"):
        write_together(new, last=tmp_path / "last")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == old


def test_the_last_file_is_away_while_the_others_change(tmp_path, monkeypatch):
    for name in ("a", "last", "stale"):
        (tmp_path / name).write_bytes(b"1")
    seen = []
    replace = os.replace

    def look(source, target):
        replace(source, target)
        seen.append([n for n in names_in(tmp_path) if not n.startswith(".")])

    monkeypatch.setattr(storage.os, "replace", look)
    new = {tmp_path / name: b"2" for name in ("last", "a", "b")}
    write_together(new, last=tmp_path / "last", stale=[tmp_path / "stale"])
    assert seen == [["a"], ["a", "b"], ["a", "b", "last"]]
    assert {p.read_bytes() for p in tmp_path.iterdir()} == {b"2"}


def test_a_lone_surrogate_is_written_as_its_number(tmp_path):
    write_json(tmp_path / "a", {"\udcff": ["a\ud800"]})
    text = (tmp_path / "a").read_text(encoding="utf-8")
    assert json.loads(text) == {"\\udcff": ["a\\ud800"]}
    write_arrays(tmp_path / "b", {}, {"name": "a\ud800"})
    assert read_arrays(tmp_path / "b")[1] == {"name": "a\\ud800"}
