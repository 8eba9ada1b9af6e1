"""Select columns of tables by name.

polars expands some strings to several columns (`*`, and regular expressions from `^` to `$`), so
that names from users must not be passed to `select`, `drop` or `pl.col`. Here they are compared
with the names of the columns. Many methods of a series also select it by its name, so that columns
are returned without their names.
"""

from collections.abc import Collection, Mapping, Sequence

import polars as pl


def select_columns(frame: pl.DataFrame, names: Sequence[str]) -> list[pl.Series]:
    """Return the columns with exactly these names, in this order; they have no name."""
    places = {name: place for place, name in enumerate(frame.columns)}
    return [frame.to_series(places[name]).alias("") for name in names]


def drop_columns(frame: pl.DataFrame, names: Collection[str]) -> pl.DataFrame:
    """Return the table without the columns that have exactly these names."""
    dropped = set(names)
    remaining = [name for name in frame.columns if name not in dropped]
    return pl.DataFrame(dict(zip(remaining, select_columns(frame, remaining), strict=True)))


def replace_columns(frame: pl.DataFrame, columns: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Return the table with other columns in place of those with the same names."""
    present = dict(zip(frame.columns, select_columns(frame, frame.columns), strict=True))
    return pl.DataFrame({name: columns.get(name, series) for name, series in present.items()})
