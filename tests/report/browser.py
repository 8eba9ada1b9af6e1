"""A browser, and pages of reports in it."""

import os
import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def require_browser():
    """Skip the tests of a module without a browser or playwright."""
    if CHROMIUM is None:
        pytest.skip("no chromium: the report is not tried in a browser", allow_module_level=True)
    return pytest.importorskip("playwright.sync_api", reason="no playwright to drive chromium")


def launch(driver):
    """Start the browser."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    arguments = ["--no-sandbox"] if root else []  # chromium has no sandbox for root
    return driver.chromium.launch(executable_path=CHROMIUM, args=arguments)


class Tab:
    """A page of a report, and all that went wrong on it."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(  # without smooth scrolling, which takes time
            offline=True, accept_downloads=True, reduced_motion="reduce", **options
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(30_000)
        self.troubles = []
        self.page.on("console", lambda message: self.troubles.append(message.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", self.refuse)
        self.page.on("request", self.look_at)
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")

    def refuse(self, dialog):
        self.troubles.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def look_at(self, request):
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.troubles.append(f"asks for {request.url}")

    def ask(self, script, *arguments):
        return self.page.evaluate(script, *arguments)

    def settle(self):
        """Wait until pictures are drawn: a frame, and the one after it."""
        self.ask("() => new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))")

    def show(self, selector):
        """Scroll an element to the top of the window, and return its box."""
        self.ask(
            "s => document.querySelector(s).scrollIntoView({behavior: 'instant', block: 'center'})",
            selector,
        )
        self.settle()
        return self.page.locator(selector).bounding_box()

    def drag(self, start, end, steps=4):
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=steps)
        self.page.mouse.up()
        self.settle()
