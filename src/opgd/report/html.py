"""Rendering of a summary as one page: autoescaped templates, inlined scripts, nothing remote."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from opgd._utils.versions import our_version
from opgd.inspection.text import format_percentage, shorten
from opgd.report.summary import Summary

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ["page.js", "rows.js", "scatter.js", "selection.js", "tour.js"]
MOST_CLASSES = 20
"""Confusion matrices of more classes are lists of the most frequent mistakes."""


def render(summary: Summary) -> str:
    """Render the page. The same summary gives the same text."""
    environment, plotly = packages()
    script = "\n".join((TEMPLATES / name).read_text("utf-8") for name in SCRIPTS)
    page: str = environment.get_template("report.html").render(
        s=summary,
        policy=make_content_policy(plotly, script),
        style=_inline((TEMPLATES / "style.css").read_text("utf-8")),
        plotly=_inline(plotly),
        script=_inline(script),
        data=_inline(dump_safe_json(summary.page)),
        most_classes=MOST_CLASSES,
        version=our_version(),
    )
    return page


def packages() -> tuple[Any, str]:
    """Return the environment of the templates, and plotly's script."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(
            f'A report needs {error.name}: pip install "opgd[report]" brings it.'
        ) from error
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = {
        "fixed": format_fixed,
        "percent": format_percentage,
        "short": shorten_name,
        "small": format_small,
    }
    environment.filters.update(filters)
    # a script's hash is taken of what a browser reads: it makes \n of \r\n
    return environment, get_plotlyjs().replace("\r\n", "\n")


def make_content_policy(*scripts: str) -> str:
    """Return a policy by which only these scripts run, and nothing is fetched or sent.

    Plotly compiles the drawing of its WebGL scatter (hence unsafe-eval, for these scripts only),
    and sets styles of elements.
    """
    digests = [hashlib.sha256(script.encode("utf-8")).digest() for script in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def dump_safe_json(data: Any) -> str:
    """Serialize to JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":  # the last two are ASCII escapes already
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _inline(text: str) -> Any:
    """Mark text of ours, or of `dump_safe_json`, as safe from autoescape."""
    from markupsafe import Markup

    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError("A script that is to be inlined contains the end of a script.")
    return Markup(text)  # nosec B704 # see the lines above


def format_fixed(value: float | None, digits: int = 3) -> str:
    """Format a number with so many decimals, a missing one as a dash."""
    if value is None or value != value:
        return "\u2013"
    return f"{value:.{digits}f}".replace("-", "\u2212")


def format_small(value: float) -> str:
    """Format a probability that may be tiny."""
    if value >= 0.001:
        return f"{value:.3f}"
    return "< 1e\u2212300" if value < 1e-300 else f"{value:.0e}".replace("-", "\u2212")


def shorten_name(text: str, longest: int = 40) -> str:
    """Shorten text for a table; the whole of it is in the title of its element."""
    return shorten(text, longest)
