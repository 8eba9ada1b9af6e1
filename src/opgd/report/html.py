"""Render a summary as one self-contained HTML page with autoescaped templates."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from opgd._utils.versions import get_version
from opgd.inspection.text import format_percentage, shorten
from opgd.report.summary import Summary

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ["page.js", "rows.js", "scatter.js", "selection.js", "tour.js"]
MAX_CLASSES = 20
"""With more classes, the page lists the most frequent errors instead of a confusion matrix."""


def render(summary: Summary) -> str:
    """Return the page as HTML; equal summaries give equal text."""
    environment, plotly = packages()
    script = "\n".join((TEMPLATES / name).read_text("utf-8") for name in SCRIPTS)
    page: str = environment.get_template("report.html").render(
        s=summary,
        policy=make_content_policy(plotly, script),
        style=_inline((TEMPLATES / "style.css").read_text("utf-8")),
        plotly=_inline(plotly),
        script=_inline(script),
        data=_inline(dump_safe_json(summary.page)),
        max_classes=MAX_CLASSES,
        version=get_version(),
    )
    return page


def packages() -> tuple[Any, str]:
    """Return the jinja2 environment of the templates and the source of plotly.js."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(
            f'A report needs {error.name}; install it with: pip install "opgd[report]"'
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
    # browsers normalize \r\n to \n before they compute the hash of a script
    return environment, get_plotlyjs().replace("\r\n", "\n")


def make_content_policy(*scripts: str) -> str:
    """Return a content security policy that allows only these scripts, and no requests.

    Plotly compiles code for its WebGL scatter plots, which needs unsafe-eval, and sets inline
    styles.
    """
    digests = [hashlib.sha256(script.encode("utf-8")).digest() for script in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def dump_safe_json(data: Any) -> str:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":  # json.dumps has escaped the last two already
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _inline(text: str) -> Any:
    """Mark text of this package or of `dump_safe_json` as safe, so that it is not escaped."""
    from markupsafe import Markup

    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError("Text to be inlined contains a closing script or style tag.")
    return Markup(text)  # nosec B704 # see the lines above


def format_fixed(value: float | None, digits: int = 3) -> str:
    """Return a number with `digits` decimals, or a dash if it is None or nan."""
    if value is None or value != value:
        return "\u2013"
    return f"{value:.{digits}f}".replace("-", "\u2212")


def format_small(value: float) -> str:
    """Return a probability as text, in scientific notation below 0.001."""
    if value >= 0.001:
        return f"{value:.3f}"
    return "< 1e\u2212300" if value < 1e-300 else f"{value:.0e}".replace("-", "\u2212")


def shorten_name(text: str, max_length: int = 40) -> str:
    """Return text shortened for a table; the full text is in the title of its element."""
    return shorten(text, max_length)
