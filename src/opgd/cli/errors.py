"""Errors and signals that end the command, with a sentence and an exit code.

Nothing outside the standard library is imported: a missing package is one of the errors.
"""

import errno
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

REQUIRED_PACKAGES = ("typer", "rich", "polars", "pandas", "safetensors")
INPUT_ERRORS = (
    ValueError,
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
"""Errors that are about the input; a matrix that could not be factored is a ValueError too."""
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Numbers of errors of disks that cannot be written to."""
OPTIONS = {
    "n_components": "--axes",
    "n_subclasses": "--subclasses",
    "covariance_type": "--covariance",
    "n_clusters": "-k",
    "sample_weight": "the column of --weights",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "n_splits": "--cv",
    "overwrite=True": "--force",
}
"""Options of the command by the names of the library's arguments."""


class BadInput(ValueError):  # noqa: N818
    """Something that the user can put right; the message is all that is shown."""


@contextmanager
def exit_on_errors() -> Iterator[None]:
    """Turn exceptions into a message on the standard error and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    except ImportError as error:
        _exit(_explain_import_error(error), 2)
    except MemoryError:
        _exit("there is not enough memory for this.", 1)
    except Exception as error:
        if "OPGD_TRACEBACK" in os.environ:
            raise
        _exit_on_failure(error)


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Raise SystemExit on SIGTERM, so that partly written files are removed on the way out."""

    def leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        sys.exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous_handler = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous_handler or signal.SIG_DFL)


def discard_output() -> None:
    """Redirect the standard output to the null device, and with it what is still buffered.

    Otherwise the interpreter tries to write the buffer again when it ends. A stream without a
    file descriptor needs nothing.
    """
    try:
        descriptor = sys.stdout.fileno()
    except OSError:
        return
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, descriptor)
    os.close(null_device)


def _exit_on_failure(error: Exception) -> NoReturn:
    if isinstance(error, OSError) and error.errno in DISK_ERRORS:
        discard_output()
        _exit(f"cannot write: {error.strerror}.", 1)
    if isinstance(error, INPUT_ERRORS) and type(error).__name__ != "LinAlgError":
        _exit(_explain_input_error(error), 2)
    reason = f"{type(error).__name__}: {error}"
    _exit(f"unexpected failure: {reason} (OPGD_TRACEBACK=1 shows where)", 1)


def _exit(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"opgd: {message}\n")
    sys.exit(code)


def _explain_import_error(error: ImportError) -> str:
    """Name the extra that installs a missing package."""
    if error.name is not None and error.name.split(".")[0] in REQUIRED_PACKAGES:
        package = error.name.split(".")[0]
        return f'The command needs the package {package}: pip install "opgd[cli]".'
    return str(error)


def _explain_input_error(error: Exception) -> str:
    """Replace the library's argument names in a message by the command's options."""
    text = str(error)
    if isinstance(error, BadInput):
        return text
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.strerror}: '{error.filename}'."
    for name, option in OPTIONS.items():
        text = re.sub(rf"(?<![\w'\"]){re.escape(name)}(?![\w'\"])", option, text)
    return text
