"""Text for messages."""

from collections.abc import Sequence

MAX_LISTED = 8
"""Maximum number of names that a message lists."""


def list_names(names: Sequence[str], *, n_all: int | None = None) -> str:
    """Join names with commas, and count those beyond the first few.

    If these are all of many names (`n_all`), return "all" and their number instead.
    """
    if len(names) == n_all and len(names) > MAX_LISTED:
        return f"all {len(names)}"
    n_more = len(names) - MAX_LISTED
    return ", ".join(names[:MAX_LISTED]) + (f" and {n_more} more" if n_more > 0 else "")
