"""Words for pictures and pages: shortened names, percentages, labels of axes."""

from typing import Any

from opgd.inspection.estimators import has_classes

LONGEST = 28


def shorten(text: str, longest: int = LONGEST) -> str:
    """Replace the middle of a long text by an ellipsis."""
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}…{text[len(text) - tail :]}"


def format_percentage(share: float) -> str:
    """Format a share as a percentage of at most two figures."""
    if 0 < share < 0.005:
        return "< 1 %"
    return f"{100 * share:.0f} %".replace("-0 %", "0 %")


def label_axes(estimator: Any, axes: list[int]) -> list[str]:
    """Return labels of axes, counted from one, with their shares of the gain if there are any."""
    shares = getattr(estimator, "component_shares_", None)
    if shares is None:
        return [f"axis {axis + 1}" for axis in axes]
    what = "likelihood" if has_classes(estimator) else "objective"
    return [f"axis {a + 1} ({format_percentage(shares[a])} of the {what} gain)" for a in axes]
