"""Atomic writing of files."""

import os
import secrets
from pathlib import Path
from typing import Any


def check_writable_path(path: Any, overwrite: bool) -> Path:
    """Return the path if a file can be created there; raise OSError otherwise."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"Cannot save to {str(path)!r}: it is a folder.")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"Cannot save to {str(path)!r}: the folder {str(path.parent)!r} does not exist."
        )
    if os.path.lexists(path) and not overwrite:
        raise _make_exists_error(path)
    return path


def write_atomically(path: Path, data: bytes, overwrite: bool) -> None:
    """Write a temporary file in the same folder, then rename it to `path`."""
    temporary = path.with_name(f".opgd-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        _rename(temporary, path, overwrite)
    finally:
        temporary.unlink(missing_ok=True)


def _make_exists_error(path: Path) -> FileExistsError:
    return FileExistsError(
        f"Cannot save to {str(path)!r}: the file exists already. Pass overwrite=True to replace it."
    )


def _rename(temporary: Path, path: Path, overwrite: bool) -> None:
    if not overwrite:
        try:
            os.link(temporary, path)  # unlike os.replace, fails if the file exists
            return
        except FileExistsError:
            raise _make_exists_error(path) from None
        except OSError:  # not every file system supports links
            if os.path.lexists(path):
                raise _make_exists_error(path) from None
    os.replace(temporary, path)
