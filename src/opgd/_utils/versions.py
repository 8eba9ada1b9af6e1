"""The installed version of this package."""

from importlib.metadata import PackageNotFoundError, version


def our_version() -> str:
    """Return the installed version of this package, for files that record it."""
    try:
        return version("opgd")
    except PackageNotFoundError:
        return "unknown"
