"""Names and labels of users as words of a message: short, on one line, nothing a terminal obeys."""

from collections.abc import Iterable
from typing import Any

LONGEST = 60
MOST_NAMES = 8


def shown(value: Any, longest: int = LONGEST) -> str:
    """Text without control characters, in the middle of which may be an ellipsis."""
    text = str(value)
    if len(text) > longest:
        tail = (longest - 1) // 2
        text = f"{text[: longest - 1 - tail]}…{text[-tail:]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quoted(value: Any) -> str:
    """The same in quotes."""
    return f"'{shown(value)}'"


def listed(values: Iterable[Any], most: int = MOST_NAMES) -> str:
    """Names in quotes; of many the first few."""
    names = list(values)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(quoted(name) for name in names[:most]) + more


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def rows_listed(numbers: Iterable[int], most: int = 3) -> str:
    """A few row numbers."""
    own = [int(number) for number in numbers]
    more = ", ..." if len(own) > most else ""
    word = "row" if len(own) == 1 else "rows"
    return f"{word} {', '.join(map(str, own[:most]))}{more}"
