"""Raw results, a line for each finished cell: runs can be killed and go on where they were.

A cell is what is computed at once: one data set, replication and method of an experiment. Its line
is written when it is done, whole or not at all: a line that was cut off by a kill is dropped, and
its cell computed again.
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

from opgd._utils.files import write_whole

PACKAGES = ["opgd", "numpy", "scipy", "scikit-learn"]


@dataclass(frozen=True, order=True)
class Key:
    """What a line of results is about."""

    experiment: str
    data: str
    replication: int
    method: str


class Store:
    """The file of results in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "raw.jsonl"

    def rows(self) -> list[dict[str, Any]]:
        """All results, in the order of their keys."""
        return sorted(self._lines(), key=lambda row: _key(row))

    def finished(self) -> set[Key]:
        """Cells that need not be computed again."""
        return {_key(row) for row in self._lines()}

    def _lines(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield json.loads(line)

    def drop_cut_line(self) -> None:
        """Remove what a killed run may have left of its last line."""
        if not self.path.exists():
            return
        text = self.path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            with self.path.open("r+b") as file:
                file.truncate(whole)

    def add(self, key: Key, values: dict[str, Any]) -> None:
        """Write the results of a cell, through to the disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        line = json.dumps({**vars(key), **values}, default=_plain) + "\n"
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def note_settings(self, settings: dict[str, Any]) -> None:
        """Keep with the results what they depend on; refuse to mix them with others."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "settings.json"
        new = json.loads(json.dumps(settings, default=_plain))
        if path.exists():
            old = json.loads(path.read_text(encoding="utf-8"))
            different = [name for name in new if name in old and old[name] != new[name]]
            if different:
                raise ValueError(
                    f"{self.folder} has results of other {', '.join(different)}; choose another "
                    "folder for these, or remove that one."
                )
            new = old | new
        text = json.dumps(new, indent=2, sort_keys=True) + "\n"
        write_whole(path, text.encode("utf-8"), overwrite=True)


def versions() -> dict[str, str]:
    """What computed the results."""
    own = {name: version(name) for name in PACKAGES}
    return own | {"python": platform.python_version(), "machine": platform.machine()}


def _key(row: dict[str, Any]) -> Key:
    return Key(row["experiment"], row["data"], row["replication"], row["method"])


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as those of JSON."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be kept with the results.")
