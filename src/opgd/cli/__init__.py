"""The command `opgd`: parse, call the library, print."""

import errno
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from opgd.cli.streams import forget_output

__all__ = ["main"]

NEEDED = ("typer", "rich", "polars", "pandas", "safetensors")
USERS = (
    ValueError,
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
"""Errors that are about the input; a matrix that could not be factored is a ValueError too."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Numbers of errors of disks that take no more."""
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
"""What the library calls arguments, and the command options."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command; bad input ends in a sentence and exit code 2, Ctrl-C in 130."""
    try:
        with _ended_by_sigterm():
            _run(arguments)
    except KeyboardInterrupt:
        sys.exit(130)
    except ImportError as error:
        _end(_install(error), 2)
    except MemoryError:
        _end("there is not enough memory for this.", 1)
    except Exception as error:
        if "OPGD_TRACEBACK" in os.environ:
            raise
        if isinstance(error, OSError) and error.errno in FULL:
            forget_output()
            _end(f"cannot write: {error.strerror}.", 1)
        if isinstance(error, USERS) and type(error).__name__ != "LinAlgError":
            _end(_in_options(error), 2)
        reason = f"{type(error).__name__}: {error}"
        _end(f"unexpected failure: {reason} (OPGD_TRACEBACK=1 shows where)", 1)


def _run(arguments: list[str] | None) -> None:
    from opgd.cli.app import app
    from opgd.cli.voice import warnings_as_lines

    try:
        with warnings_as_lines():
            app(arguments, prog_name="opgd")  # ends in SystemExit
    finally:
        sys.stdout.flush()  # what cannot be written is known now, not after the last word


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM as an exception, so that files half written are removed on the way out."""

    def leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        sys.exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _end(sentence: str, code: int) -> None:
    sys.stderr.write(f"opgd: {sentence}\n")
    sys.exit(code)


def _install(error: ImportError) -> str:
    """Which extra brings a package that is not there."""
    if error.name is not None and error.name.split(".")[0] in NEEDED:
        package = error.name.split(".")[0]
        return f'The command needs the package {package}: pip install "opgd[cli]".'
    return str(error)


def _in_options(error: Exception) -> str:
    """The library's sentence in the words of the command."""
    from opgd.cli.errors import BadInput

    text = str(error)
    if isinstance(error, BadInput):
        return text
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.strerror}: '{error.filename}'."
    for name, option in OPTIONS.items():
        text = re.sub(rf"(?<![\w'\"]){re.escape(name)}(?![\w'\"])", option, text)
    return text
