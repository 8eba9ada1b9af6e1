"""Every block of Python in the README and the guide runs, from top to bottom, as it stands."""

import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])
PAGES = [page for page in PAGES if "_build" not in page.parts and "```python" in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_in_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.S | re.M)
    namespace = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)


def test_pages_link_to_files_that_exist():
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
            if "://" not in target and not target.startswith("mailto:"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.filterwarnings("default")
def test_demo_prints_a_table_and_saves_picture_and_report(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("plotly")
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "argv", ["demo", "--out", str(tmp_path), "--splits", "1"])
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "OPGD" in printed
    assert "NCA" in printed
    assert next(tmp_path.glob("*.png")).stat().st_size > 10_000
    page = tmp_path / "digits.html"
    assert str(page) in printed.replace("\n", "")
    assert "pixel_" in page.read_text("utf-8")
