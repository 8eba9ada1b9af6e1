"""The path of a report, which notebooks display as a link and the page."""

from html import escape
from pathlib import Path
from typing import Any

MAX_INLINE = 8_000_000
"""Size in bytes above which notebooks show the link only."""
HEIGHT = 720

_ConcretePath: Any = type(Path())  # before Python 3.12, Path itself cannot be extended


class ReportFile(_ConcretePath):
    """Path of a written report; equal to the `pathlib.Path` of the same file.

    In a notebook it is displayed as a link and the page itself.
    """

    def with_segments(self, *segments: Any) -> Path:
        """Return a plain path, for `parent`, ``/`` and other derived paths."""
        return Path(*segments)

    def __reduce__(self) -> Any:
        """Pickle the path as a plain one."""
        return Path, (str(self),)

    def _repr_html_(self) -> str | None:
        path = Path(self)
        if not path.is_file():
            return None
        link = f'<a href="{escape(path.as_posix())}" target="_blank">{escape(path.name)}</a>'
        size = path.stat().st_size
        text = f"<p>Report: {link} ({size / 1e6:.1f} MB)</p>"
        if size > MAX_INLINE:
            return text
        return text + make_frame(path.read_text("utf-8"), HEIGHT)


def make_frame(page: str, height: int) -> str:
    """Return an iframe with the page inside, separated from the page around it.

    The sandbox allows scripts and downloads, and gives the page an origin of its own.
    """
    return (
        f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {height}px; border: 0"></iframe>'
    )
