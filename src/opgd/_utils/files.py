"""Files that are complete under their name, or not there at all."""

import os
import secrets
from pathlib import Path
from typing import Any


def free_path(path: Any, overwrite: bool) -> Path:
    """A path that may be written, or an error that says why not, before the work begins."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"Cannot save to {str(path)!r}: it is a folder.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"Cannot save to {str(path)!r}: there is no such folder.")
    if os.path.lexists(path) and not overwrite:
        raise _exists(path)
    return path


def write_whole(path: Path, data: bytes, overwrite: bool) -> None:
    """Write under another name in the same folder, then give the complete file its name."""
    temporary = path.with_name(f".opgd-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        _give_name(temporary, path, overwrite)
    finally:
        temporary.unlink(missing_ok=True)


def _exists(path: Path) -> FileExistsError:
    return FileExistsError(
        f"Cannot save to {str(path)!r}: there is such a file; overwrite=True replaces it."
    )


def _give_name(temporary: Path, path: Path, overwrite: bool) -> None:
    if not overwrite:
        try:
            os.link(temporary, path)  # unlike a replacement, this fails if there is a file by now
            return
        except FileExistsError:
            raise _exists(path) from None
        except OSError:  # not every file system has links
            if os.path.lexists(path):
                raise _exists(path) from None
    os.replace(temporary, path)
