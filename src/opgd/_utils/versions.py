"""The installed version of this package."""

from importlib.metadata import PackageNotFoundError, version


def get_version() -> str:
    """Return the installed version of this package, or "unknown"."""
    try:
        return version("opgd")
    except PackageNotFoundError:
        return "unknown"
