"""Turn exceptions and signals into a message and an exit code.

Only the standard library is imported, since a missing package is one of the errors.
"""

import errno
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import NoReturn

REQUIRED_PACKAGES = ("typer", "rich", "pandas", "pyarrow", "skops")
INPUT_ERRORS = (
    ValueError,
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
"""Exceptions caused by the input; LinAlgError, a ValueError, is excluded below."""
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""errno values of failed writes, such as a full disk."""
SIGNALS = ("SIGTERM", "SIGHUP", "SIGBREAK")
"""Names of signals that end the command; each system has some of them."""
MAX_PATH = 100
"""Maximum length of a path in a message."""
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
    "kinds": "--as",
    "features": "columns",
    "samples": "rows",
    "of X": "of the table",
}
"""Words of the command line by those of the library: options for arguments, and a table's parts."""


class BadInput(ValueError):  # noqa: N818
    """Invalid input or options; only the message is shown to the user."""


@contextmanager
def exit_on_errors() -> Iterator[None]:
    """Turn exceptions into a message on standard error and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    except ImportError as error:
        _exit(_explain_import_error(error), 2)
    except MemoryError:
        _exit("not enough memory.", 1)
    except Exception as error:
        if "OPGD_TRACEBACK" in os.environ:
            raise
        _exit_on_failure(error)


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Raise SystemExit on SIGTERM and the like, so that temporary files are removed."""

    def exit_by_signal(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        sys.exit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in SIGNALS if hasattr(signal, name)]
    previous = {
        number: signal.getsignal(number) for number in map(signal.Signals.__getitem__, names)
    }
    try:
        for number, handler in previous.items():
            if handler != signal.SIG_IGN:  # as under nohup
                signal.signal(number, exit_by_signal)
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler or signal.SIG_DFL)


@contextmanager
def use_safe_streams() -> Iterator[None]:
    """Replace closed standard streams by the null device, and escape what cannot be encoded.

    Otherwise the next file that is opened would get the descriptor of a closed stream, and receive
    what is printed.
    """
    previous = sys.stdin, sys.stdout, sys.stderr
    handlers = {stream: stream.errors for stream in previous[1:] if hasattr(stream, "reconfigure")}
    with ExitStack() as opened:
        if sys.stdin is None:
            sys.stdin = opened.enter_context(open(os.devnull, encoding="utf-8"))
        if sys.stdout is None:
            null_device = opened.enter_context(open(os.devnull, "wb"))
            sys.stdout = opened.enter_context(ClosedOutput(null_device, "utf-8"))
        if sys.stderr is None:
            sys.stderr = opened.enter_context(open(os.devnull, "w", encoding="utf-8"))
        try:
            for stream in handlers:
                stream.reconfigure(errors="backslashreplace")
            yield
        finally:
            for stream, handler in handlers.items():
                stream.reconfigure(errors=handler)
            sys.stdin, sys.stdout, sys.stderr = previous


class ClosedOutput(io.TextIOWrapper):
    """The null device in place of a closed standard output."""


def discard_output() -> None:
    """Redirect standard output, including buffered text, to the null device.

    Otherwise the interpreter would try to write the buffer again at exit. Streams without a
    file descriptor are left unchanged.
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
    if _is_closed_pipe(error):
        discard_output()
        sys.exit(1)
    with_path = isinstance(error, OSError) and error.filename is not None
    if with_path or (isinstance(error, INPUT_ERRORS) and type(error).__name__ != "LinAlgError"):
        _exit(_explain_input_error(error), 2)
    reason = f"{type(error).__name__}: {error}"
    _exit(f"unexpected failure: {reason} (set OPGD_TRACEBACK=1 for a traceback)", 1)


def _is_closed_pipe(error: Exception) -> bool:
    """Return whether the reader of standard output has gone; Windows has EINVAL for it."""
    if isinstance(error, BrokenPipeError):
        return True
    on_windows = sys.platform == "win32"
    return on_windows and isinstance(error, OSError) and error.errno == errno.EINVAL


def _exit(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"opgd: {escape_controls(message)}\n")
    sys.exit(code)


def escape_controls(text: str) -> str:
    """Return text with control and formatting characters escaped, except for line ends.

    All text for the terminal passes through this function, since labels, column names and the
    notes of model files may contain sequences that move the cursor or change the title.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def _explain_import_error(error: ImportError) -> str:
    """Return a message that names the extra with the missing package."""
    if error.name is not None and error.name.split(".")[0] in REQUIRED_PACKAGES:
        package = error.name.split(".")[0]
        return f"The command line needs {package}: the extra 'cli' is missing; see Installation."
    return str(error)


def _explain_input_error(error: Exception) -> str:
    """Return the message with library argument names replaced by command-line options."""
    text = str(error)
    if isinstance(error, BadInput):
        return text
    if isinstance(error, OSError) and error.filename is not None:
        path = str(error.filename)
        short = (
            path if len(path) <= MAX_PATH else f"{path[: MAX_PATH // 2]}…{path[-MAX_PATH // 2 :]}"
        )
        return f"{error.strerror}: '{short}'."
    for name, option in OPTIONS.items():
        text = re.sub(rf"(?<![\w'\"]){re.escape(name)}(?![\w'\"])", option, text)
    return text
