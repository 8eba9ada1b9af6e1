"""Compare the ratios of a run of the benchmarks with the committed ones.

    python -m benchmarks kernel memory --save build/benchmarks
    python tools/compare_benchmarks.py build/benchmarks

Seconds depend on the machine; ratios within one run hardly do. The bounds that the benchmarks check
themselves are wide: this fails earlier, if a ratio is a given factor worse than the committed one.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

COMMITTED = Path(__file__).parents[1] / "results" / "benchmarks"
RATIOS = {"ratio": 1, "growth MB": 1, "x LDA": 1, "dense fits": 1, "gain": -1}
"""Columns that are compared: 1 if larger is worse, -1 if smaller is."""
Ratios = dict[tuple[str, str], float]
"""Values by the label of their row and the name of their column."""


def read_ratios(text: str) -> Ratios:
    """Return the values of the tables in the output of a section."""
    found: Ratios = {}
    for header, rows in _find_tables(text.splitlines()):
        for row in rows:
            cells = dict(zip(header, row, strict=False))
            for column in RATIOS.keys() & cells.keys():
                if re.fullmatch(r"\d+(\.\d+)?", cells[column]):
                    found[row[0], column] = float(cells[column])
    return found


def _find_tables(lines: list[str]) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield the headings and the rows of each table; a rule of dashes is between them."""
    for number, line in enumerate(lines):
        if line and set(line) == {"─"}:
            rows = []
            for row in lines[number + 1 :]:
                if not row:
                    break
                rows.append(_split(row))
            yield _split(lines[number - 1]), rows


def _split(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.rstrip())  # the first heading may be empty


def is_worse(column: str, new: float, old: float, factor: float) -> bool:
    """Return whether a value is worse than another by more than the factor."""
    return new > factor * old if RATIOS[column] > 0 else new * factor < old


def compare(fresh: Path, committed: Path, factor: float) -> int:
    """Print all ratios; return 1 if one is worse, 2 if there was nothing to compare."""
    n_compared = n_worse = 0
    for path in sorted(fresh.glob("*.txt")):
        if not (committed / path.name).exists():
            continue
        old, new = (read_ratios(file.read_text("utf-8")) for file in (committed / path.name, path))
        for key in old.keys() & new.keys():
            worse = is_worse(key[1], new[key], old[key], factor)
            n_compared, n_worse = n_compared + 1, n_worse + worse
            values = f"{new[key]:8.2f} (committed {old[key]:.2f})"
            print(f"{path.stem}: {key[0]}, {key[1]}: {values}{' WORSE' if worse else ''}")
    print(f"{n_compared} ratios, {n_worse} worse than {factor:g} times the committed ones")
    return 2 if not n_compared else int(n_worse > 0)


def main() -> int:
    """Compare the files of two folders."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fresh", type=Path, help="folder of python -m benchmarks --save")
    parser.add_argument("--committed", type=Path, default=COMMITTED)
    parser.add_argument("--factor", type=float, default=1.3, help="default: 1.3")
    given = parser.parse_args()
    return compare(given.fresh, given.committed, given.factor)


if __name__ == "__main__":
    sys.exit(main())
