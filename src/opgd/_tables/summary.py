"""What a table encoder did with each column, as a table to print."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

MAX_NAME, MAX_ENCODING, MIN_ENCODING = 30, 60, 8
"""Limits of the widths of columns, in characters."""
MIN_LIST = 20
"""Minimum number of characters of a list of categories, before what follows it is cut."""


@dataclass(frozen=True)
class ColumnSummary:
    """What the encoder did with one column.

    Attributes
    ----------
    column : str
        Name of the column.
    kind : str
        ``"number"``, ``"category"`` or ``"date"``; for dropped columns also ``"identifier"``,
        ``"constant"``, ``"empty"``, ``"text"``, ``"duplicate"``, ``"unsupported"`` or
        ``"ignored"``.
    action : str
        How the column is encoded, or why it was dropped.
    n_missing : int
        Number of missing cells; in columns of numbers or dates also other cells.
    outputs : list of str
        Names of the encoded columns; empty if the column was dropped.
    """

    column: str
    kind: str
    action: str
    n_missing: int
    outputs: list[str]


@dataclass(frozen=True)
class TableSummary:
    """What the encoder did with each column; printed as a table, also in notebooks."""

    n_rows: int
    columns: list[ColumnSummary]

    def __iter__(self) -> Iterator[ColumnSummary]:
        """Iterate over the columns."""
        return iter(self.columns)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def __getitem__(self, name: str) -> ColumnSummary:
        """Return the entry of a column by its name."""
        for entry in self.columns:
            if entry.column == name:
                return entry
        raise KeyError(name)

    @property
    def n_missing(self) -> int:
        """Number of missing cells in all columns that are used."""
        return sum(entry.n_missing for entry in self.columns if entry.outputs)

    def list_cells(
        self, max_name: int = MAX_NAME, max_encoding: int = MAX_ENCODING
    ) -> list[tuple[str, str, str, str]]:
        """Return the cells of the printed table, without its header."""
        return [
            (
                _shorten(entry.column, max_name),
                entry.kind,
                _shorten_action(entry.action, max_encoding),
                str(entry.n_missing) if entry.n_missing else "",
            )
            for entry in self.columns
        ]

    def to_text(self, width: int) -> str:
        """Return the table as text whose lines have at most `width` characters, from 50 on."""
        max_name = min(MAX_NAME, width // 3)
        rows = [HEADER, *self.list_cells(max_name)]
        others = sum(max(len(row[j]) for row in rows) + 2 for j in (0, 1, 3))
        max_encoding = max(MIN_ENCODING, width - others)
        return _join([HEADER, *self.list_cells(max_name, max_encoding)])

    def __str__(self) -> str:
        """Return the table as text."""
        return _join([HEADER, *self.list_cells()])

    def __repr__(self) -> str:
        """Return the table as text."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        head = "".join(f"<th>{name}</th>" for name in HEADER)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.list_cells()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


HEADER = ("column", "kind", "encoding", "missing")


def _join(rows: list[tuple[str, str, str, str]]) -> str:
    """Return lines of aligned cells."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(HEADER))]
    lines = [
        "  ".join(
            cell.rjust(width) if j == len(HEADER) - 1 else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


def _shorten_action(text: str, width: int) -> str:
    """Return an action of limited length; a list of categories is cut before its reference."""
    categories, mark, tail = text.partition(" (reference ")
    if not mark or len(text) <= width:
        return _shorten(text, width)
    reference, separator, _ = tail.partition("); ")
    if separator and width - len(mark + tail) < MIN_LIST:
        tail = f"{reference}{separator}…"
    n_left = max(width - len(mark + tail), 1)
    return _shorten(_shorten(categories, n_left) + mark + tail, width)


def _shorten(text: str, width: int) -> str:
    """Return printable text of limited length."""
    printable = "".join(c if c.isprintable() else "�" for c in text)
    return printable if len(printable) <= width else printable[: width - 1] + "…"
