"""Sphinx extension: a report that a page has written, as a page of the site, and its picture.

The picture takes the place of ``images/report.png``, which is shown if there is no browser.
"""

import os
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from docs._ext import executed

PAGE, FILE = "user_guide/report", "digits.html"
TARGET = Path("_static") / "report" / FILE
SIZE = {"width": 1200, "height": 1000}
TIMEOUT = 120_000  # milliseconds
logger = logging.getLogger(__name__)


def take_picture(report: Path, picture: Path) -> bool:
    """Take a picture of a report; return False if playwright or Chromium is missing or fails."""
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        return False
    if browser_path is None:
        return False
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    arguments = ["--no-sandbox"] if root else []  # chromium has no sandbox for root
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=browser_path, args=arguments)
            page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
            page.set_default_timeout(TIMEOUT)
            page.goto(f"{report.as_uri()}#projection")
            page.wait_for_selector("html[data-ready]")
            page.screenshot(path=picture)
            browser.close()
    except Error as error:
        logger.info("no picture of the report: %s", error.message)
        return False
    return True


class ReplacePicture(SphinxTransform):
    """Show the picture of the report of this build."""

    default_priority = 310

    def apply(self, **_: Any) -> None:
        kept = executed.results.get(PAGE, {}).get("kept", {})
        if FILE not in kept:
            return
        report = executed.get_folder(self.app) / kept[FILE]
        picture = report.with_suffix(".png")
        images = [
            image
            for image in self.document.findall(nodes.image)
            if image["uri"].endswith("images/report.png")
        ]
        if images and (picture.exists() or take_picture(report, picture)):
            for image in images:
                image["uri"] = f"/_build/executed/{picture.name}"


def copy_report(app: Sphinx, error: Exception | None) -> None:
    """Copy the report into the built site."""
    kept = executed.results.get(PAGE, {}).get("kept", {})
    if error is None and app.builder.format == "html" and FILE in kept:
        target = app.outdir / TARGET
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(executed.get_folder(app) / kept[FILE], target)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.setup_extension("docs._ext.executed")
    app.add_transform(ReplacePicture)
    app.connect("build-finished", copy_report)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
