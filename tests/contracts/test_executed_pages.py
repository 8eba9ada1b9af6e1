"""What the documentation does with its code blocks and links."""

import textwrap

import pytest

from docs._ext.pages import find_blocks, find_commands, run_page

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


def test_links_to_missing_files_and_anchors_are_found(tmp_path):
    pytest.importorskip("sphinx")
    from docs._ext.check_links import find_broken_links

    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#x">1</a><a href="b.html#y">2</a><a href="c.html">3</a>'
        '<a href="#top">4</a><a href="#no">5</a><a href="https://example.org/#z">6</a>'
    )
    (tmp_path / "b.html").write_text('<p id="x"></p>')
    assert find_broken_links(tmp_path) == [("a", "#no"), ("a", "b.html#y"), ("a", "c.html")]
