"""Large reports, printing and notebooks in a real browser."""

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time

import pytest
from sklearn.datasets import load_iris

from opgd import OPGDClassifier, write_report
from tests.report.browser import Tab, require_browser

require_browser()
pytestmark = pytest.mark.slow


def test_fifty_thousand_rows_are_drawn_and_selected(browser, rng, tmp_path):
    y = rng.integers(10, size=50_000)
    X = rng.normal(size=(50_000, 30)) + 3 * rng.normal(size=(10, 30))[y]
    model = OPGDClassifier(max_iter=2, tol=10.0).fit(X, y)
    path = write_report(model, X, y, path=tmp_path / "r.html")
    own = Tab(browser, path, viewport={"width": 1280, "height": 900})
    for chart in ("scatter", "tour", "parallel"):
        own.ask(f"() => opgdReport.{chart}.chart.redraw()")
    assert own.ask("() => opgdReport.rows.positions.length") == 50_000
    own.ask("() => opgdReport.selection.select(Array.from({length: 25000}, (_, i) => i))")
    assert own.ask("() => opgdReport.rows.state.selected.size") == 25_000
    assert "25,000 rows selected" in own.page.locator("#selected").inner_text()
    assert own.troubles == []
    own.context.close()


def test_a_pdf_has_the_words_of_the_report(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = OPGDClassifier().fit(X, y)
    path = write_report(model, X, y, path=tmp_path / "r.pdf", cv=0)
    content = path.read_bytes()
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) >= 3
    assert [own.name for own in tmp_path.iterdir()] == ["r.pdf"]


CODE = """
from sklearn.datasets import load_iris
from opgd import OPGDClassifier, explore, write_report
X, y = load_iris(return_X_y=True)
model = OPGDClassifier().fit(X, y)
"""
CELLS = [CODE, "explore(model, X, y)", 'write_report(model, X, y, path="iris.html", cv=0)']


def make_notebook(path):
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"cell{i}",
            "metadata": {},
            "outputs": [],
            "source": source,
        }
        for i, source in enumerate(CELLS)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4}
    path.write_text(json.dumps(notebook | {"nbformat_minor": 5}))
    return path


def test_nbconvert_keeps_the_frames(browser, tmp_path):
    pytest.importorskip("nbconvert")
    pytest.importorskip("ipykernel")
    path = make_notebook(tmp_path / "n.ipynb")
    command = [sys.executable, "-m", "nbconvert", "--execute", "--to", "html", str(path)]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, timeout=300)
    page = browser.new_context().new_page()  # nbconvert's own page loads scripts from elsewhere
    page.goto((tmp_path / "n.html").as_uri(), wait_until="domcontentloaded")
    frames = page.locator("iframe")
    assert frames.count() == 2
    first = page.frame_locator("iframe").nth(0)
    frames.nth(0).scroll_into_view_if_needed()
    first.locator("#legend button").nth(1).click()
    assert first.locator("#legend button[aria-pressed=false]").count() == 2


def find_port():
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        return own.getsockname()[1]


@pytest.fixture
def lab(tmp_path):
    """JupyterLab on a notebook; yields its address."""
    pytest.importorskip("jupyterlab")
    make_notebook(tmp_path / "n.ipynb")
    port, token = find_port(), secrets.token_hex(8)
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}",
        "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}", "--allow-root",
        f"--ServerApp.root_dir={tmp_path}",
    ]  # fmt: skip
    environment = os.environ | {"JUPYTER_CONFIG_DIR": str(tmp_path / "config")}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        for _ in range(240):
            with socket.socket() as own:
                if own.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/lab/tree/n.ipynb?token={token}"
        server.terminate()


def test_the_projection_works_in_jupyterlab(browser, lab):
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(lab)
    page.locator(".jp-Notebook-cell").first.wait_for()
    frames = page.locator(".jp-OutputArea iframe")
    for _ in range(8):  # until the kernel runs, JupyterLab may ask which one to use
        if page.locator(".jp-Dialog button.jp-mod-accept").is_visible():
            page.locator(".jp-Dialog button.jp-mod-accept").click()
        page.locator(".jp-Notebook-cell").first.click()
        page.keyboard.press("Escape")
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        page.wait_for_timeout(15_000)
        if frames.count() == 2:
            break
    frames.nth(0).scroll_into_view_if_needed()
    frame = page.frame_locator(".jp-OutputArea iframe").nth(0)
    frame.locator("#legend button").nth(1).click()
    assert frame.locator("#legend button[aria-pressed=false]").count() == 2
    frame.locator("#select-shown").click()
    assert "50 rows selected" in frame.locator("#selected").inner_text()
    box = frame.locator("#plot canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    report = page.frame_locator(".jp-OutputArea iframe").nth(1)
    report.locator("#summary").wait_for(state="attached")
    if folder := os.environ.get("OPGD_SCREENS"):
        page.locator(".jp-OutputArea iframe").nth(0).scroll_into_view_if_needed()
        page.screenshot(path=os.path.join(folder, "notebook.png"))
    context.close()
