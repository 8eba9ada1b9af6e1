"""Sphinx extension: examples in the docstrings of displays are followed by their figures."""

import doctest
import functools
import inspect
from typing import Any

from sphinx.application import Sphinx

from docs._ext import executed
from opgd import plotting

NAME = "displays"


@functools.cache
def find_examples() -> dict[str, str]:
    """Return the examples of all displays; those of docstrings compute without drawing."""
    parser, sources = doctest.DocTestParser(), {}
    for name in plotting.__all__:
        if name.endswith("Display"):
            examples = parser.get_examples(inspect.getdoc(getattr(plotting, name)) or "")
            code = "".join(example.source for example in examples)
            sources[f"opgd.plotting.{name}"] = code.replace(", draw=False", "")
    return sources


def start_examples(app: Sphinx) -> None:
    """Execute the examples as a page of their own."""
    page = executed.get_folder(app) / f"{NAME}.md"
    page.write_text("\n".join(f"```python\n{code}```\n" for code in find_examples().values()))
    executed.submit(app, NAME, page)


def append_figures(
    _app: Any, _what: str, name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """Append the figures to the docstring of a display."""
    outputs = dict(zip(find_examples(), executed.results[NAME]["outputs"], strict=False))
    if name in outputs:
        lines[:] = [line.replace(", draw=False", "") for line in lines]
    for output in outputs.get(name, []):
        if output["kind"] == "figure":
            lines += ["", f".. image:: /_build/executed/{output['content']}"]
            lines += [f"   :width: {output['width']}", f"   :alt: The figure of this {name}", ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.setup_extension("docs._ext.executed")
    app.connect("builder-inited", start_examples, priority=110)
    app.connect("autodoc-process-docstring", append_figures, priority=900)  # after numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
