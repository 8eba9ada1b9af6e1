"""Text for plots and reports: shortened names, percentages, axis labels."""

from typing import Any

from opgd.inspection.estimators import has_classes

MAX_LENGTH = 28


def shorten(text: str, max_length: int = MAX_LENGTH) -> str:
    """Return text with the middle replaced by an ellipsis if it is too long."""
    if len(text) <= max_length:
        return text
    tail = (max_length - 1) // 2
    return f"{text[: max_length - 1 - tail]}…{text[len(text) - tail :]}"


def format_percentage(share: float) -> str:
    """Return a share as a whole percentage; one that is not quite all does not become 100%."""
    if 0 < share < 0.005:
        return "< 1%"
    if 0.995 <= share < 1:
        return f"{100 * share:.1f}%" if share < 0.9995 else "> 99.9%"
    return f"{100 * share:.0f}%".replace("-0%", "0%")


def label_axes(estimator: Any, axes: list[int]) -> list[str]:
    """Return axis labels, counted from one, with the share of each in the gain if known."""
    shares = getattr(estimator, "component_shares_", None)
    if shares is None:
        return [f"axis {axis + 1}" for axis in axes]
    what = "likelihood" if has_classes(estimator) else "objective"
    return [f"axis {a + 1} ({format_percentage(shares[a])} of the {what} gain)" for a in axes]
