"""Finished pieces: kept, taken from elsewhere, and made again where they must be."""

from __future__ import annotations

import json

import pytest

from gflownet_envs.experiments.paper.make import FORMAT, Pieces
from tests.gflownet_envs.experiments.conftest import never
from tests.shared import cases

KEY = {"preset": "quick", "seed": 0}
WHOLE_KEY = {**KEY, "format": FORMAT, "settings": ""}


def test_a_finished_piece_is_read_and_one_of_another_call_is_made_again(tmp_path):
    pieces = Pieces(tmp_path, (), KEY)
    assert pieces.get("one", lambda: {"value": 1.5}, "some") == {"value": 1.5}
    assert pieces.get("one", never, "some") == {"value": 1.5}
    assert pieces.find("one", "others") is None
    assert pieces.get("one", lambda: {"value": 2}, "others") == {"value": 2}
    assert pieces.find("one", "some") is None
    other = Pieces(tmp_path, (), {"preset": "full", "seed": 0})
    assert other.get("one", lambda: {"value": 3}, "others") == {"value": 3}


@cases(
    "content",
    b"\xff\xfe",
    b"[]",
    b'{"key": {"pre',
    b"[" * 100_000,
    json.dumps({"key": WHOLE_KEY}).encode(),
    json.dumps({"key": WHOLE_KEY, "piece": [1]}).encode(),
)
def test_a_piece_that_is_something_else_is_made_again(content, tmp_path):
    pieces = Pieces(tmp_path, (), KEY)
    (tmp_path / "one.json").write_bytes(content)
    assert pieces.get("one", lambda: {"value": 1}) == {"value": 1}
    assert pieces.get("one", never) == {"value": 1}


def test_pieces_of_another_folder_are_copied(tmp_path):
    Pieces(tmp_path / "page" / "pieces", (), KEY).get("one", lambda: {"value": 1})
    new = Pieces(tmp_path / "new", (tmp_path / "page",), KEY)
    assert new.get("one", never) == {"value": 1}
    assert Pieces(tmp_path / "new", (), KEY).get("one", never) == {"value": 1}


def test_an_interrupted_piece_leaves_nothing(tmp_path):
    def interrupted():
        raise KeyboardInterrupt

    pieces = Pieces(tmp_path / "pieces", (), KEY)
    with pytest.raises(KeyboardInterrupt):
        pieces.get("one", interrupted)
    assert not (tmp_path / "pieces").exists()
