"""Finished pieces of the page: small JSON files that a later call goes on from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gflownet_envs.storage import canonical_json, plain_json, write_bytes

#: Rises when what a piece holds changes: pieces of another number are made again.
FORMAT = 4


@dataclass(frozen=True)
class Pieces:
    """Pieces in a folder, and in folders that are only read.

    Attributes
    ----------
    folder : Path
        New pieces are written here.
    others : tuple of Path
        Folders whose finished pieces are taken as they are.
    key : mapping
        What a piece must have been made with: preset and seed.
    """

    folder: Path
    others: tuple[Path, ...]
    key: Mapping[str, Any]

    def get(
        self, name: str, make: Callable[[], dict[str, Any]], settings: str = ""
    ) -> dict[str, Any]:
        """Return a piece: a finished one, or a new one, which is written.

        ``settings`` is a checksum of what the piece depends on beside the key.
        """
        found = self.find(name, settings)
        if found is not None:
            return found
        piece = make()
        self.folder.mkdir(parents=True, exist_ok=True)
        payload = {"key": self.key_of(settings), "piece": piece}
        write_bytes(self.folder / f"{name}.json", _compact(payload))
        return piece

    def key_of(self, settings: str) -> dict[str, Any]:
        """Return the key that a piece of these settings has."""
        return {**self.key, "format": FORMAT, "settings": settings}

    def find(self, name: str, settings: str = "") -> dict[str, Any] | None:
        """Return a finished piece; None where there is none of this key."""
        for folder in _places(self.folder, self.others):
            record = _read(folder / f"{name}.json")
            if record is not None and record["key"] == self.key_of(settings):
                piece: dict[str, Any] = record["piece"]
                if folder != self.folder:
                    self.folder.mkdir(parents=True, exist_ok=True)
                    write_bytes(self.folder / f"{name}.json", _compact(record))
                return piece
        return None


def keys_of_pieces(folder: Path, others: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the keys of all pieces that are there, folder by folder."""
    places = _places(folder, others)
    found = [_read(path) for place in places for path in sorted(place.glob("*.json"))]
    return [record["key"] for record in found if record is not None]


def _read(path: Path) -> dict[str, Any] | None:
    """Return a piece with its key; None where there is none, or half of one."""
    if not path.is_file():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return None  # of something else, or cut off: made again
    if not isinstance(record, dict):
        return None
    is_piece = all(isinstance(record.get(name), dict) for name in ("key", "piece"))
    return record if is_piece else None


def _compact(payload: dict[str, Any]) -> bytes:
    """Return JSON in one line: pieces are many, and are read by machines."""
    plain = plain_json(payload, "piece", nan_as_null=True)
    return f"{canonical_json(plain)}\n".encode()


def _places(folder: Path, others: Iterable[Path]) -> list[Path]:
    """Return the folders in which a piece may lie."""
    return [folder, *others, *(other / "pieces" for other in others)]
