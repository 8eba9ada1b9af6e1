"""Calls of R, for methods that Python does not have. Sections run without R, and leave them out."""

import resource
import shutil
import subprocess
from functools import cache, partial


class TooSlowError(Exception):
    """A call of R needed more processor time than it was allowed."""


def run_r(script: str, max_seconds: int | None = None) -> str:
    """Return what a script prints; raise `TooSlowError` after so much processor time."""
    command = shutil.which("Rscript")
    assert command is not None
    limit = None if max_seconds is None else partial(_limit_time, max_seconds)
    done = subprocess.run(
        [command, "-e", script],
        capture_output=True,
        check=False,
        text=True,
        preexec_fn=limit,
    )
    if max_seconds is not None and done.returncode < 0:
        raise TooSlowError(f"R needed more than {max_seconds} s.")
    if done.returncode != 0:
        raise RuntimeError(f"R failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _limit_time(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


@cache
def has_r_package(name: str) -> bool:
    """Return whether Rscript can load a package."""
    if shutil.which("Rscript") is None:
        return False
    return run_r(f'cat(requireNamespace("{name}", quietly = TRUE))') == "TRUE"
