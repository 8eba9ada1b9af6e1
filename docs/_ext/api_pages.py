"""Sphinx extension: a page for each public class and function, with links to guide and paper."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

GUIDE = {
    "opgd": ["index"],
    "opgd.OPGDClassifier": ["classification", "choosing", "reading_axes", "sparse"],
    "opgd.OPGDClassifierCV": ["choosing", "classification", "imbalanced"],
    "opgd.OPGDMixture": ["clustering", "missing_values"],
    "opgd.OPGDSemiSupervised": ["partly_labeled"],
    "opgd.TableEncoder": ["real_tables"],
    "opgd.DataWarning": ["invalid_input"],
    "opgd.compare": ["neighbors"],
    "opgd.comparison": ["neighbors"],
    "opgd.decisions": ["decisions", "imbalanced"],
    "opgd.decisions.Drift": ["decisions", "deployment"],
    "opgd.baselines": ["neighbors"],
    "opgd.plotting": ["plots"],
    "opgd.plotting.LoadingsDisplay": ["reading_axes", "plots"],
    "opgd.plotting.loadings_table": ["reading_axes", "plots"],
    "opgd.plotting.FeatureSelectionDisplay": ["sparse", "plots"],
    "opgd.plotting.CostDisplay": ["decisions", "plots"],
    "opgd.plotting.PredictionSetDisplay": ["decisions", "plots"],
    "opgd.plotting.SelectionDisplay": ["clustering", "plots"],
    "opgd.write_report": ["report"],
    "opgd.explore": ["report"],
    "opgd.report": ["report"],
    "opgd.save_model": ["model_files", "deployment"],
    "opgd.load_model": ["model_files", "deployment"],
    "opgd.model_file": ["model_files"],
    "opgd.to_onnx": ["deployment"],
    "opgd.open_table": ["large_data"],
    "opgd.files": ["large_data"],
}
"""Pages of the guide by name, or by module for names that are not listed."""

OTHERS = "sections-2-and-4-the-other-discriminants"
PAPER = {
    "opgd.OPGDClassifier": ("Section 3", "implementation-of-each-section"),
    "opgd.OPGDClassifierCV": ("Section 4", "differences-from-the-paper"),
    "opgd.OPGDMixture": ("Section 5", "section-5-clustering"),
    "opgd.OPGDSemiSupervised": ("Sections 3 and 5", "semi-supervised-learning"),
    "opgd.compare": ("Section 4", OTHERS),
    "opgd.baselines": ("Section 2", OTHERS),
    "opgd.baselines.RegularizedDiscriminantAnalysis": ("Section 4", OTHERS),
    "opgd.baselines.CommonPrincipalComponents": ("Section 4", OTHERS),
}
"""Sections of the paper, and where the page on the paper describes their implementation."""


def look_up(links: dict[str, Any], name: str) -> Any:
    """Return the entry of a public name, or that of the nearest module around it."""
    while name and name not in links:
        name = name.rpartition(".")[0]
    return links.get(name)


class WhereNext(SphinxDirective):
    """Links from a public name to the guide, the paper, and examples of the gallery."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the links as a list, and thumbnails of the examples."""
        name = self.arguments[0]
        pages = ", ".join(f":doc:`/user_guide/{page}`" for page in look_up(GUIDE, name))
        lines = [".. rubric:: Where to go next", "", f"- User guide: {pages}"]
        paper = look_up(PAPER, name)
        if paper is not None:
            target = f"../the_paper_and_the_code.html#{paper[1]}"
            lines.append(f"- Paper: {paper[0]}, and `how it is implemented <{target}>`__")
        lines += ["- :doc:`All classes and functions </api>`", "", f".. minigallery:: {name}"]
        return self.parse_text_to_nodes("\n".join(lines))


def skip_foreign(_app: Any, _what: str, name: str, member: Any, _skip: bool, _options: Any) -> Any:
    """Leave out members that are inherited from scikit-learn and Python."""
    module = getattr(member, "__module__", None) or ""
    return True if module.startswith("sklearn") or re.match(r"set_\w+_request$", name) else None


def escape_shapes(
    _app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """In a shape such as (n_components_, 2) the underscore belongs to a name and makes no link."""
    lines[:] = [re.sub(r"\b(n_\w+)_(?=[,)])", r"\1\\_", line) for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.setup_extension("sphinx.ext.autosummary")
    app.add_directive("where-next", WhereNext)
    app.connect("autodoc-process-docstring", escape_shapes, priority=400)  # before numpydoc
    app.connect("autodoc-skip-member", skip_foreign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
