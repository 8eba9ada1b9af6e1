"""Sphinx settings. Nothing here needs a network."""

import re
from typing import Any

import opgd

project = "opgd"
author = "The opgd developers"
copyright = f"2026, {author}"
version = release = opgd.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say it better
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # api.md names those worth reading

html_theme = "pydata_sphinx_theme"
html_title = "opgd"
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
alone = ["index", "changelog", "contributing", "api", "the_paper_and_the_code"]
html_sidebars = {page: [] for page in alone}  # pages that have no neighbours to list


def escape_shapes(
    _app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """In a shape such as (n_components_, 2) the underscore belongs to a name and makes no link."""
    lines[:] = [re.sub(r"\b(n_\w+)_(?=[,)])", r"\1\\_", line) for line in lines]


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", escape_shapes, priority=400)  # before numpydoc
