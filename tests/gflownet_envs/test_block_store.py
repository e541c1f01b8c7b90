"""Blocks come back under their key alone, and a damaged one never does."""

import errno
import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from gflownet_envs import storage
from gflownet_envs.storage import BlockStore, DamagedBlockWarning, write_arrays
from tests.shared import names_in, refuses

KEY = {"task": "grid", "seed": 0, "alphas": (1e-8, 1.0)}


def test_a_block_comes_back_under_its_key_alone(tmp_path):
    store = BlockStore(tmp_path / "blocks")
    assert store.load_block(KEY) is None
    assert names_in(tmp_path) == []  # looking makes no folder
    store.save_block(KEY, {"y": np.arange(3)})
    reordered = {"alphas": [1e-8, np.float64(1.0)], "seed": np.int64(0), "task": "grid"}
    assert_array_equal(store.load_block(reordered)["y"], np.arange(3))
    assert store.load_block(KEY | {"seed": 1}) is None
    assert store.load_block(KEY | {"seed": False}) is None
    store.save_block(KEY, {"y": np.arange(4)})
    assert store.load_block(KEY)["y"].shape == (4,)


def test_a_damaged_block_is_set_aside(tmp_path):
    store = BlockStore(tmp_path)
    store.save_block(KEY, {"y": np.arange(3)})
    path = store.block_path(KEY)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(DamagedBlockWarning, match=f"{path.name}.* set aside as") as seen:
        assert store.load_block(KEY) is None
    assert seen[0].filename == __file__
    assert names_in(tmp_path) == [path.name + ".damaged"]
    store.save_block(KEY, {"y": np.arange(3)})
    assert store.load_block(KEY)["y"].shape == (3,)


def test_what_is_no_block_of_the_key_is_set_aside(tmp_path):
    store = BlockStore(tmp_path)
    keys = [KEY | {"seed": seed} for seed in range(4)]
    paths = [store.block_path(key) for key in keys]
    store.save_block(keys[3], {"y": np.arange(3)})
    os.rename(paths[3], paths[0])
    write_arrays(paths[1], {"y": np.ones(1)}, {"task": "grid"})
    paths[2].mkdir()
    said = ['its key is .*"seed":3.*, not', "no block: .* `key_json`", "is not a file"]
    for key, words in zip(keys, said, strict=False):
        with pytest.warns(DamagedBlockWarning, match=words):
            assert store.load_block(key) is None
    assert names_in(tmp_path) == sorted(f"{path.name}.damaged" for path in paths[:3])


def test_an_unreadable_block_is_not_called_damaged(tmp_path, monkeypatch):
    def no_permission(source, target):
        raise PermissionError(errno.EACCES, "Permission denied", str(target))

    monkeypatch.setattr(storage.os, "replace", no_permission)
    store = BlockStore(tmp_path)
    store.block_path(KEY).write_bytes(b"junk")
    with pytest.raises(PermissionError, match=r"could not write .*\.damaged"):
        store.load_block(KEY)


def test_two_runs_may_set_one_block_aside(tmp_path, monkeypatch):
    store = BlockStore(tmp_path)
    path = store.block_path(KEY)
    path.write_bytes(b"junk")

    def read_while_another_is_faster(path):
        path.rename(path.with_name(path.name + ".damaged"))
        raise ValueError("it is junk")

    monkeypatch.setattr(storage, "read_arrays", read_while_another_is_faster)
    with pytest.warns(DamagedBlockWarning, match="it is junk"):
        assert store.load_block(KEY) is None
    assert names_in(tmp_path) == [path.name + ".damaged"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match=r"could not write .*/file/blocks"):
        BlockStore(tmp_path / "file" / "blocks").save_block(KEY, {})
    refuses("be that of a store, got the file", BlockStore, tmp_path / "file")


def test_a_key_that_is_no_key_is_refused(tmp_path):
    store, words = (
        BlockStore(tmp_path),
        r"key\['tau'\] is nan; expected a finite number",
    )
    refuses(words, store.save_block, {"tau": np.nan}, {})
    refuses(words, store.load_block, {"tau": np.nan})
    refuses("key is 'grid'; expected a dict", store.load_block, "grid")
