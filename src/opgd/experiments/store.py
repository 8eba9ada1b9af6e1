"""Storage of raw results, one line per finished cell, so that interrupted runs can be resumed.

A cell is one data set, replication and method of an experiment. Its line is written when it is
finished; an incomplete last line of an interrupted run is dropped, and its cell computed again.
"""

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from opgd._utils.files import write_atomically

PACKAGES = ["opgd", "numpy", "scipy", "scikit-learn"]


@dataclass(frozen=True, order=True)
class Key:
    """Identification of a cell."""

    experiment: str
    data: str
    replication: int
    method: str


class Store:
    """The file of raw results in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "raw.jsonl"

    def rows(self) -> list[dict[str, Any]]:
        """Return all results, sorted by key."""
        return sorted(self._lines(), key=_get_key)

    def finished(self) -> set[Key]:
        """Return the keys of finished cells."""
        return {_get_key(row) for row in self._lines()}

    def _lines(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield json.loads(line)

    def drop_cut_line(self) -> None:
        """Remove an incomplete last line of an interrupted run."""
        if not self.path.exists():
            return
        text = self.path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            with self.path.open("r+b") as file:
                file.truncate(whole)

    def add(self, key: Key, values: dict[str, Any]) -> None:
        """Append the results of a cell and sync the file to disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        line = json.dumps({**vars(key), **values}, default=_to_plain) + "\n"
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def note_settings(self, settings: dict[str, Any]) -> None:
        """Store the settings; raise ValueError if the folder has results with other settings."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "settings.json"
        new = json.loads(json.dumps(settings, default=_to_plain))
        if path.exists():
            old = json.loads(path.read_text(encoding="utf-8"))
            different = [name for name in new if name in old and old[name] != new[name]]
            if different:
                raise ValueError(
                    f"{self.folder} contains results computed with different settings "
                    f"({', '.join(different)}); choose another folder or delete this one."
                )
            new = old | new
        text = json.dumps(new, indent=2, sort_keys=True) + "\n"
        write_atomically(path, text.encode("utf-8"), overwrite=True)


def collect_versions() -> dict[str, str]:
    """Return the versions of the packages and of Python, and the machine."""
    versions = {name: version(name) for name in PACKAGES}
    return versions | {"python": platform.python_version(), "machine": platform.machine()}


def _get_key(row: dict[str, Any]) -> Key:
    return Key(row["experiment"], row["data"], row["replication"], row["method"])


def _to_plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be stored as JSON.")
