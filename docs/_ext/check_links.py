"""Sphinx extension: every link within the built site leads to a page and an anchor that exist."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note the links and the identifier of an element."""
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and tag in ("a", "img", "iframe", "script", "link"):
                self.links.add(value or "")


def find_broken_links(folder: Path) -> list[tuple[str, str]]:
    """Return pages of a site, and their links to files or anchors that do not exist."""
    pages = {path: Page(path) for path in folder.rglob("*.html") if "_static" not in path.parts}
    broken = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            anchor = unquote(parts.fragment)
            if not target.exists() or (known and anchor and anchor not in known.anchors):
                broken.append((path.relative_to(folder).with_suffix("").as_posix(), link))
    return broken


def check_site(app: Sphinx, error: Exception | None) -> None:
    """Warn of broken links."""
    if error is None and app.builder.format == "html":
        for docname, link in find_broken_links(Path(app.outdir).resolve()):
            if docname in app.env.all_docs:  # not of an earlier build
                logger.warning("broken link: %s", link, location=docname)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("build-finished", check_site, priority=900)  # when all files are in place
    return {"parallel_read_safe": True, "parallel_write_safe": True}
