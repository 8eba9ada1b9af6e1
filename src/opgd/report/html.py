"""Render a summary as one self-contained HTML page with autoescaped templates."""

import base64
import functools
import hashlib
import json
import math
from pathlib import Path
from typing import Any

from opgd._utils.versions import get_version
from opgd.inspection.text import format_percentage, shorten
from opgd.report.summary import Summary
from opgd.report.words import (
    count,
    describe_pairs,
    describe_reason,
    describe_row_names,
    judge,
    name_classes,
)

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = [
    "page.js", "draw.js", "chart.js", "rows.js", "legend.js", "scatter.js", "selection.js",
    "table.js", "save.js",
]  # fmt: skip
INLINE_SCRIPTS = [
    "page.js", "draw.js", "chart.js", "rows.js", "legend.js", "scatter.js", "selection.js",
    "save.js",
]  # fmt: skip
"""Scripts of the projection alone, which notebooks show."""
MAX_CLASSES = 40
"""With more classes, the page lists the most frequent errors instead of a confusion matrix."""


def render(summary: Summary) -> str:
    """Return the page as HTML; equal summaries give equal text."""
    return _render("report.html", SCRIPTS, summary.page, s=summary, max_classes=MAX_CLASSES)


def render_projection(context: Any) -> str:
    """Return a page with the projection alone; `context` has the fields that it shows."""
    return _render("projection.html", INLINE_SCRIPTS, context.page, s=context)


def _render(template: str, scripts: list[str], data: dict[str, Any], **context: Any) -> str:
    environment = make_environment()
    script = "\n".join((TEMPLATES / name).read_text("utf-8") for name in scripts)
    page: str = environment.get_template(template).render(
        policy=make_content_policy(script),
        style=_inline((TEMPLATES / "style.css").read_text("utf-8")),
        script=_inline(script),
        data=_inline(dump_safe_json(data)),
        version=get_version(),
        **context,
    )
    return page


def make_environment() -> Any:
    """Return the jinja2 environment of the templates."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"A report needs {error.name}: the extra 'report' is missing; see Installation."
        ) from error
    return _load_environment()


@functools.cache
def _load_environment() -> Any:
    """Return the environment, which keeps the compiled templates for further reports."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = {
        "breakable": make_breakable,
        "classes": name_classes,
        "count": count,
        "fixed": format_fixed,
        "judge": judge,
        "pairs": describe_pairs,
        "percent": format_percentage,
        "rate": format_rate,
        "reason": describe_reason,
        "row_names": describe_row_names,
        "short": shorten_name,
        "small": format_small,
        "ticks": choose_ticks,
    }
    environment.filters.update(filters)
    return environment


def make_content_policy(*scripts: str) -> str:
    """Return a content security policy that allows only these scripts, and no requests."""
    digests = [hashlib.sha256(script.encode("utf-8")).digest() for script in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
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
    return f"{value:z.{digits}f}".replace("-", "\u2212")


def format_rate(share: float) -> str:
    """Return a share as a percentage with one decimal, small ones with two."""
    return f"{share:.2%}" if 0 < share < 0.001 else f"{share:.1%}"


def choose_ticks(low: float, high: float, max_ticks: int = 6) -> list[tuple[float, str]]:
    """Return multiples of 1, 2 or 5 times a power of ten between two numbers, with labels.

    Large numbers are in thousands (k) or millions (M).
    """
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / max_ticks))
    step = next(power * k for k in (1, 2, 5, 10, 20) if span / (power * k) <= max_ticks - 1)
    size = max(abs(low), abs(high))
    unit, suffix = (1e6, "M") if size >= 1e8 else (1e3, "k") if size >= 1e5 else (1.0, "")
    digits = max(0, -math.floor(math.log10(step / unit) + 1e-9))
    values = [
        k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]
    labels = [f"{value / unit:z,.{digits}f}{suffix}".replace("-", "\u2212") for value in values]
    return list(zip(values, labels, strict=True))


def format_small(value: float) -> str:
    """Return a probability as text, in scientific notation below 0.001."""
    if value >= 0.001:
        return f"{value:.3f}"
    return "< 1e\u2212300" if value < 1e-300 else f"{value:.0e}".replace("-", "\u2212")


def make_breakable(text: str) -> Any:
    """Return escaped text that can be broken after underscores."""
    from markupsafe import Markup, escape

    return escape(text).replace("_", Markup("_<wbr>"))


def shorten_name(text: str, max_length: int = 40) -> str:
    """Return text shortened for a table; the full text is in the title of its element."""
    return shorten(text, max_length)
