"""Read tables that are too large for memory in batches of rows."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from opgd._utils.memory import get_memory
from opgd.cli.console import Terminal, sanitize
from opgd.cli.errors import BadInput
from opgd.cli.tables.read import STANDARD_INPUT, Table, make_table, parse_header
from opgd.files import COMPRESSED, list_files, open_table

SMALL_BYTES = 1e7
"""Size of files up to which tables are never large, so that pyarrow is not imported."""
MEMORY_SHARE = 1 / 8
"""Share of the memory from which tables are large: several copies are needed for a fit."""
MAX_BATCH_CELLS = 2**20
MAX_BATCH_ROWS = 2**15
COMPRESSION_RATIO = 5
MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS = 1000, 10_000
SAMPLE_CELLS = 500_000
QUIET = Terminal(quiet=True)


def is_large(path: str) -> bool:
    """Return whether a table is read in batches: if it needs a large share of the memory.

    The size of Parquet files is that of 8 bytes per cell. The size of text is that of the files,
    times five if they are compressed.
    """
    if path == STANDARD_INPUT or not Path(path).exists():
        return False
    try:
        files = list_files(Path(path))
    except ValueError:  # Arrow files, and what is not a table
        return False
    n_bytes = sum(file.stat().st_size for file in files)
    return n_bytes > SMALL_BYTES and estimate_size(path) > MEMORY_SHARE * get_memory()


def estimate_size(path: str) -> float:
    """Return the approximate size of a table in memory, in bytes."""
    table = open_table(path)
    if table.n_rows is not None:
        return 8.0 * table.n_rows * len(table.columns)
    return sum(
        file.stat().st_size * (COMPRESSION_RATIO if file.suffix.lower() in COMPRESSED else 1.0)
        for file in table.files
    )


def iterate_tables(path: str, terminal: Terminal) -> Iterator[Table]:
    """Yield tables of consecutive rows; row numbers count all of them."""
    opened, n_before = open_table(path), 0
    names, source = opened.columns, sanitize(path, 200)
    if opened.separator is not None:
        names = parse_header(opened.read_header(), opened.separator, source)
    n_rows = max(1, min(MAX_BATCH_ROWS, MAX_BATCH_CELLS // max(1, len(names))))
    for batch in opened.scan(opened.columns, n_rows, as_text=True):
        frame = pl.from_arrow(batch)
        assert isinstance(frame, pl.DataFrame)
        if all(column.null_count() == len(column) for column in frame):
            n_before += len(frame)
            continue
        frame.columns = names
        shown = QUIET if n_before else terminal
        table = make_table(source, frame, shown, opened.separator == ";")
        table.row_numbers += n_before
        n_before += batch.num_rows
        yield table
    if not n_before:
        raise BadInput(f"{sanitize(path, 200)} has no rows.")


def read_sample(path: str, terminal: Terminal) -> Table:
    """Return evenly spaced rows of a large table, or all if there are few."""
    n_columns = len(next(iterate_tables(path, QUIET)).frame.columns)
    size = int(np.clip(SAMPLE_CELLS // n_columns, MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS))
    sample = _select_evenly(iterate_tables(path, terminal), size)
    terminal.note(
        f"{sample.source} is large: it is read in batches, and {len(sample.row_numbers)} of its "
        "rows decide how columns are encoded."
    )
    return sample


def _select_evenly(tables: Iterator[Table], size: int) -> Table:
    """Return between `size` and `2 * size` evenly spaced rows, or all if there are fewer."""
    step, parts, n_kept = 1, [], 0
    for table in tables:
        part = _take_every(table, step)
        parts.append(part)
        n_kept += len(part.row_numbers)
        while n_kept >= 2 * size:
            step *= 2
            parts = [_take_every(part, step) for part in parts]
            n_kept = sum(len(part.row_numbers) for part in parts)
    frame = pl.concat([part.frame for part in parts], how="vertical_relaxed")
    numbers = np.concatenate([part.row_numbers for part in parts])
    return Table(parts[0].source, frame, numbers, parts[0].decimal_commas)


def _take_every(table: Table, step: int) -> Table:
    return table if step == 1 else table.select_rows((table.row_numbers - 1) % step == 0)
