"""Print a report to PDF with a browser of the Chromium family, if there is one."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
TIMEOUT = 120
"""Seconds after which the browser is stopped."""


def find_browser() -> str:
    """Return the path of a browser; raise FileNotFoundError if there is none."""
    found = [shutil.which(name) for name in NAMES]
    found += [place for place in PLACES if Path(place).is_file()]
    for browser in found:
        if browser is not None:
            return browser
    raise FileNotFoundError(
        "Writing a PDF needs Chromium or Chrome, which was not found. Write a .html file instead, "
        "open it in any browser and print it."
    )


def print_to_pdf(page: bytes, browser: str) -> bytes:
    """Return the page as PDF; raise RuntimeError if the browser fails.

    The browser runs without a window, with a new profile, on a copy of the page, which makes no
    requests.
    """
    # on Windows, processes of the browser may use their files a little longer
    with tempfile.TemporaryDirectory(prefix="opgd-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        source, target = folder / "report.html", folder / "report.pdf"
        source.write_bytes(page)
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
            f"--user-data-dir={folder / 'profile'}",
            "--virtual-time-budget=20000",
            "--no-pdf-header-footer",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        if sys.platform != "win32" and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # Chromium has no sandbox for root
        try:
            # the command has no part that comes from the data
            done = subprocess.run(  # nosec B603
                command, capture_output=True, timeout=TIMEOUT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RuntimeError(f"{browser} could not print the report: {error}") from None
        if not target.is_file() or not target.read_bytes().startswith(b"%PDF"):
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise RuntimeError(f"{browser} did not write a PDF. {' '.join(last)}".strip())
        return target.read_bytes()
