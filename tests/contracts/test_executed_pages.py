"""What the documentation does with its code blocks and links."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from docs._ext.pages import find_blocks, find_commands, run_page

ROOT = Path(__file__).resolve().parents[2]
PAGE = """\
Text.

```python
x = 2
print(x)
x + 1
```

    indented

```console
$ echo one
one
$ echo two && echo three
```
"""


def write_page(folder, code):
    page = folder / "page.md"
    page.write_text(f"# Title\n\n```python\n{textwrap.dedent(code)}```\n", "utf-8")
    return page


def run(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return run_page(page, folder, "page")


def test_blocks_have_their_lines():
    blocks = find_blocks(PAGE)
    assert [(block.language, block.line) for block in blocks] == [("python", 4), ("console", 12)]
    assert find_commands(blocks[1]) == [("echo one", ["one"]), ("echo two && echo three", [])]


def test_page_has_printed_text_values_and_complete_output_of_commands(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(PAGE, "utf-8")
    python, console = run(page, tmp_path, monkeypatch)["outputs"]
    assert [output["content"] for output in python] == ["2", "3"]
    assert console[0]["content"] == "$ echo one\none\n$ echo two && echo three\ntwo\nthree"


def test_tables_are_html_and_estimators_are_not_shown(tmp_path, monkeypatch):
    table = write_page(tmp_path, "import pandas as pd\npd.DataFrame({'a': [1]})\n")
    (outputs,) = run(table, tmp_path, monkeypatch)["outputs"]
    assert outputs[0]["kind"] == "html"
    estimator = write_page(tmp_path, "from opgd import OPGDClassifier\nOPGDClassifier()\n")
    assert run(estimator, tmp_path, monkeypatch)["outputs"] == [[]]


def test_figures_are_saved_and_closed(tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    page = write_page(tmp_path, "import matplotlib.pyplot as plt\nplt.subplots()\nplt.subplots()\n")
    (outputs,) = run(page, tmp_path, monkeypatch)["outputs"]
    pictures = [output["content"] for output in outputs if output["kind"] == "figure"]
    assert len(pictures) == 2
    assert all((tmp_path / picture).stat().st_size > 1000 for picture in pictures)
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    ("code", "line", "message"),
    [
        ("x = 1\n\nx / 0\n", 6, "ZeroDivisionError"),
        ("def f():\n    raise ValueError('no')\n\n\nf()\n", 5, "ValueError: no"),
    ],
)
def test_failure_has_the_line_of_the_page(code, line, message, tmp_path, monkeypatch):
    failure = run(write_page(tmp_path, code), tmp_path, monkeypatch)["failure"]
    assert failure["line"] == line
    assert message in failure["message"]


def test_command_that_fails_is_a_failure(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ false\n```\n", "utf-8")
    assert "false" in run(page, tmp_path, monkeypatch)["failure"]["message"]


def test_page_without_its_data_set_ends_there(tmp_path, monkeypatch):
    code = """\
        from opgd.datasets import DatasetUnavailableError
        print("before")
    """
    page = write_page(tmp_path, code)
    with page.open("a", encoding="utf-8") as file:
        file.write('\n```python\nraise DatasetUnavailableError("no forest")\n```\n')
    result = run(page, tmp_path, monkeypatch)
    assert len(result["outputs"]) == 1
    assert "no forest" in result["missing"]["message"]


def test_links_to_missing_files_and_anchors_are_found(tmp_path):
    pytest.importorskip("sphinx")
    from docs._ext.check_links import find_broken_links

    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#x">1</a><a href="b.html#y">2</a><a href="c.html">3</a>'
        '<a href="#top">4</a><a href="#no">5</a><a href="https://example.org/#z">6</a>'
    )
    (tmp_path / "b.html").write_text('<p id="x"></p>')
    assert find_broken_links(tmp_path) == [("a", "#no"), ("a", "b.html#y"), ("a", "c.html")]


def show_below_a_block(outputs, missing=None):
    """Return the children of a section with one block after its outputs were inserted."""
    nodes = pytest.importorskip("docutils.nodes")
    pytest.importorskip("sphinx")
    from docs._ext.executed import show

    section = nodes.section("", nodes.literal_block("x", "x"), nodes.paragraph(text="after"))
    show(section[0], outputs, missing)
    return section.children


def test_outputs_are_inserted_between_block_and_text():
    outputs = [
        {"kind": "text", "content": "printed"},
        {"kind": "figure", "content": "page-0-1.png", "width": "600px"},
    ]
    block, shown, after = show_below_a_block(outputs)
    assert (block.astext(), after.astext()) == ("x", "after")
    assert [child.tagname for child in shown] == ["literal_block", "image"]


def test_commands_show_their_complete_output():
    block, after = show_below_a_block([{"kind": "console", "content": "$ x\n1\n2"}])
    assert block.astext() == "$ x\n1\n2"
    assert after.astext() == "after"


def test_block_without_its_data_set_has_a_sentence_instead_of_results():
    _, note, _ = show_below_a_block(None, {"message": "DatasetUnavailableError: no forest"})
    assert "Not executed" in note.astext()
    assert "no forest" in note.astext()


def build(folder, **pages):
    """Build a small site; return the process and its pages by name."""
    pytest.importorskip("myst_parser")
    (folder / "conf.py").write_text('extensions = ["myst_parser", "docs._ext.executed"]\n')
    for name, code in pages.items():
        text = f"# {name}\n\n```python\n{code}\n```\n"
        (folder / f"{name}.md").write_text(text, "utf-8")
    command = [sys.executable, "-m", "sphinx", "-qW", "--keep-going", str(folder), "html"]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    return done, {name: (folder / "html" / f"{name}.html").read_text("utf-8") for name in pages}


def test_site_shows_results_and_says_which_are_missing(tmp_path):
    unavailable = (
        "from opgd.datasets import DatasetUnavailableError\n"
        "raise DatasetUnavailableError('no forest')"
    )
    done, html = build(tmp_path, index="print('six' + 'teen')", other=unavailable)
    assert "document isn't included in any toctree" in done.stderr
    assert done.stderr.count("WARNING") == 1
    assert "sixteen" in html["index"]
    assert "no forest" in html["other"]


def test_build_fails_with_page_and_line(tmp_path):
    done, _ = build(tmp_path, index="x = 1\nx / 0")
    assert done.returncode == 1
    assert "index.md:5: WARNING: ZeroDivisionError" in done.stderr
