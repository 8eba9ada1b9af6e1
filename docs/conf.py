"""Sphinx settings. Nothing here needs a network, but for data sets that are not on this machine."""

import re
import sys
from pathlib import Path
from typing import Any

from sphinx_gallery.sorting import ExplicitOrder

import opgd
from opgd_paper.datasets import DatasetUnavailableError, load_dataset

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # for docs._ext

project = "opgd"
author = "The opgd developers"
copyright = f"2026, {author}"
version = release = opgd.__version__

extensions = [
    "docs._ext.api_pages",
    "docs._ext.check_links",
    "docs._ext.display_figures",
    "docs._ext.executed",
    "docs._ext.live_report",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx-mathjax-offline",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst", "sg_execution_times.rst"]

executed_files = {
    "user_guide/real_tables": ["tests/messy/customers.csv", "tests/messy/new_customers.csv"]
}

executed_keep = {"user_guide/report": ["digits.html"]}

templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

default_role = "py:obj"  # names in docstrings are code, and links if there is a page
nitpicky = True
nitpick_ignore_regex = [("py:obj", ".*")]  # arguments and names of other packages
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # the docstrings say it better
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # they follow, in full

html_theme = "pydata_sphinx_theme"
html_title = "opgd"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["opgd.css"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
DOCS = ROOT / "docs"
guide = (DOCS / "user_guide" / "index.md").read_text("utf-8")
# pages that have no neighbors to list; those that the guide lists have its sidebar
alone = {path.stem for path in DOCS.glob("*.md")} - {
    "api",
    *re.findall(r"^\.\./(\w+)$", guide, re.M),
}
html_sidebars = {page: [] for page in [*sorted(alone), "gallery/index"]}

EXAMPLES = ROOT / "examples" / "gallery"
ORDER = ["digits", "vowel", "satellite", "two_classes", "subclasses", "loadings"]
ORDER += [
    "features",
    "calibration",
    "decisions",
    "pipeline",
    "texture",
    "seeds",
    "how_many_clusters",
    "few_labels",
]
ORDER += ["many_rows"]


def missing_data() -> dict[str, str]:
    """Examples whose data set is neither on this machine nor to be fetched, and its name."""
    needs = {
        path.stem: set(re.findall(r'load_dataset\("(\w+)"\)', path.read_text("utf-8")))
        for path in EXAMPLES.glob("plot_*.py")
    }
    unavailable = set()
    for name in set().union(*needs.values()):
        try:
            load_dataset(name)
        except DatasetUnavailableError:
            unavailable.add(name)
    return {
        stem: " ".join(names & unavailable) for stem, names in needs.items() if names & unavailable
    }


MISSING = missing_data()
sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "gallery",
    # those without their data are shown and not run
    "filename_pattern": rf"plot_(?!(?:{'|'.join(name[5:] for name in MISSING) or '-'})\.py)",
    "within_subsection_order": ExplicitOrder([*(f"plot_{name}.py" for name in ORDER), "*"]),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("opgd",),
    "download_all_examples": False,
    "capture_repr": (),
    "image_srcset": ["2x"],
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
    "plot_gallery": True,
}


def say_what_is_missing(_app: Any, docname: str, source: list[str]) -> None:
    """One sentence in place of the pictures of an example that could not be run."""
    name = MISSING.get(docname.removeprefix("gallery/"))
    if name:
        said = f"The data set {name} could not be had when this page was built: no pictures here."
        title, line, rest = re.split(r"\n(=+)\n", source[0], maxsplit=1)
        source[0] = f"{title}\n{line}\n\n.. note:: {said}\n{rest}"


def setup(app: Any) -> None:
    app.connect("source-read", say_what_is_missing)
