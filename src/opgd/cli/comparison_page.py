"""The table of a comparison, as `opgd compare` prints it."""

from typing import Any

import numpy as np

from opgd.cli.console import make_grid

NOTE = (
    "* the best, or not significantly worse: the 95% interval of the difference from the best on "
    "the same splits (corrected resampled t) contains 0. balanced: balanced accuracy."
)

NOTE_ON_SPLITS = (
    "failed: means are over fewer splits, so that they cannot be compared with the other "
    "means; differences are on the splits that the method and the best have in common."
)


def make_comparison_page(summaries: list[Any], title: str) -> Any:
    """Return a printable table of methods, the best first, with the best ones marked by a star."""
    from rich.console import Group
    from rich.text import Text

    columns = ["method", "error ± s.e.", "difference [95%]", "log-loss", "balanced", "seconds"]
    rows = [_make_cells(summary) for summary in summaries]
    grid = make_grid(title, columns, rows)
    notes = [NOTE, NOTE_ON_SPLITS] if any(_is_partial(s) for s in summaries) else [NOTE]
    return Group(grid, *(Text(note, style="dim") for note in notes))


def _is_partial(summary: Any) -> bool:
    """Return whether a method has results on some splits only."""
    return 0 < summary.n_splits < len(summary.values)


def _make_cells(summary: Any) -> list[str]:
    name = f"{'*' if summary.winner else ' '} {summary.name}"
    if summary.remark:
        name += f" ({summary.remark})"
    losses = [_format(summary.means.get(key, np.nan)) for key in ("log_loss", "balanced_accuracy")]
    seconds = summary.means.get("seconds", np.nan)
    return [
        name,
        f"{_format(summary.mean)} ± {_format(summary.standard_error)}",
        _format_difference(summary),
        *losses,
        "-" if np.isnan(seconds) else f"{seconds:.2f}" if seconds < 10 else f"{seconds:.0f}",
    ]


def _format(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def _format_difference(summary: Any) -> str:
    if summary.difference == summary.low == summary.high == 0:
        return "best" if summary.winner else "0"
    if np.isnan(summary.low):
        return "-" if np.isnan(summary.difference) else f"{summary.difference:+.3f}"
    return f"{summary.difference:+.3f} [{summary.low:+.3f}, {summary.high:+.3f}]"
