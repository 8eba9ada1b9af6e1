"""Atomic writing of files."""

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

KEEPS_PERMISSIONS = sys.platform != "win32"
"""Whether a file passes its permissions on; the only one on Windows, read-only, forbids to replace
it, and would forbid to delete the temporary file."""


def check_writable_path(path: Any, overwrite: bool) -> Path:
    """Return the path if a file can be created there; raise OSError otherwise."""
    path = Path(path)
    message = f"Cannot save to {str(path)!r}: "
    if path.is_dir():
        raise IsADirectoryError(message + "it is a folder.")
    if not path.parent.is_dir():
        raise FileNotFoundError(message + f"the folder {str(path.parent)!r} does not exist.")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        kind = "symbolic link" if path.is_symlink() else "pipe, socket or device"
        raise FileExistsError(message + f"it is a {kind}.")
    if path.exists() and not overwrite:
        message += "the file exists already. Pass overwrite=True to replace it."
        raise FileExistsError(message)
    return path


def write_atomically(path: Path, data: bytes, overwrite: bool) -> None:
    """Write a file that is either complete or absent; see `open_atomically`."""
    with open_atomically(path, overwrite) as stream:
        stream.write(data)


@contextmanager
def open_atomically(path: Path, overwrite: bool) -> Iterator[BinaryIO]:
    """Open a temporary file in the same folder, and rename it to `path` when all is written.

    A file that is replaced passes on its permissions. Other kinds of files, such as devices and
    symbolic links, are not replaced.
    """
    temporary = path.with_name(f".opgd-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as stream:
            if path.exists() and KEEPS_PERMISSIONS:
                shutil.copymode(path, temporary)  # before anything is written
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        check_writable_path(path, overwrite)  # again, since writing may have taken long
        if not overwrite:
            with suppress(OSError):  # not every file system supports links
                os.link(temporary, path)  # unlike os.replace, fails if the file exists
                return
            check_writable_path(path, overwrite)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
