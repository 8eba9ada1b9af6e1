"""Words for messages."""

from collections.abc import Sequence

MAX_LISTED = 8
"""Names that a message lists before it counts the others."""


def list_names(names: Sequence[str], *, n_all: int | None = None) -> str:
    """Join names with commas, and count those beyond the first few.

    Where these are all of `n_all` names, and many, the message says so instead.
    """
    if len(names) == n_all and len(names) > MAX_LISTED:
        return f"all {len(names)}"
    n_more = len(names) - MAX_LISTED
    return ", ".join(names[:MAX_LISTED]) + (f" and {n_more} more" if n_more > 0 else "")
