"""Compare the ratios of the benchmarks with those of another commit, on this machine.

    python tools/compare_benchmarks.py --base HEAD kernel memory

Ratios within one run depend less on the machine than seconds do, but they depend on it: a processor
with fast memory needs less time for the products of large matrices, with which the kernel is
compared. So the sections are measured here twice, with the package and the benchmarks of the base
and with those of this folder. A ratio that is a given factor worse than that of the base is a
regression. The committed ratios, of another machine, are printed beside them.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMITTED = ROOT / "results" / "benchmarks"
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


def read_section(folder: Path, section: str) -> Ratios:
    """Return the ratios of a section, none if it was not saved in the folder."""
    path = folder / f"{section}.txt"
    return read_ratios(path.read_text("utf-8")) if path.exists() else {}


def compare(sections: Sequence[str], fresh: Path, base: Path, factor: float) -> int:
    """Print all ratios; return 1 if one is worse than that of the base or missing, else 0."""
    n_compared = n_failed = 0
    for section in sections:
        new, old, committed = (read_section(path, section) for path in (fresh, base, COMMITTED))
        if not new:
            print(f"{section}: no ratios were measured")
            n_failed += 1
        for key in sorted(new.keys() & old.keys()):
            worse = is_worse(key[1], new[key], old[key], factor)
            n_compared, n_failed = n_compared + 1, n_failed + worse
            beside = [f"base {old[key]:.2f}"]
            beside += [f"committed {committed[key]:.2f}"] if key in committed else []
            values = f"{new[key]:8.2f} ({', '.join(beside)})"
            print(f"{section}: {key[0]}, {key[1]}: {values}{' WORSE' if worse else ''}")
        for key in sorted(old.keys() - new.keys()):
            print(f"{section}: {key[0]}, {key[1]}: measured with the base only")
    print(f"{n_compared} ratios compared with the base, {n_failed} failed (factor {factor:g})")
    return int(n_failed > 0)


def measure(tree: Path, sections: Sequence[str], folder: Path) -> None:
    """Run sections with the package and the benchmarks of a tree; save their output in a folder.

    A section that is over its own bound is not an error here: `make bench` checks bounds.
    """
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "benchmarks", *sections, "--save", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}  # before the installed package
    subprocess.run(command, cwd=tree, env=environment, check=False)


@contextmanager
def checked_out(base: str, tree: Path) -> Iterator[None]:
    """Check out a commit into a folder, and remove it at the end."""
    git = ["git", "-C", str(ROOT), "worktree"]
    shutil.rmtree(tree, ignore_errors=True)
    subprocess.run([*git, "prune"], check=True)
    subprocess.run([*git, "add", "--quiet", "--detach", str(tree), base], check=True)
    try:
        yield
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def main() -> int:
    """Measure this folder and the base, and compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="+", help="sections of python -m benchmarks")
    parser.add_argument("--base", default="HEAD", help="commit to compare with (default: HEAD)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build", help="default: build")
    parser.add_argument("--factor", type=float, default=1.2, help="default: 1.2")
    given = parser.parse_args()
    folder = given.folder.absolute()
    fresh, base = folder / "benchmarks", folder / "base-benchmarks"
    try:
        with checked_out(given.base, folder / "base"):
            measure(folder / "base", given.sections, base)
    except subprocess.CalledProcessError as error:
        print(f"cannot check out {given.base!r}: git ended with code {error.returncode}")
        return 2
    measure(ROOT, given.sections, fresh)
    return compare(given.sections, fresh, base, given.factor)


if __name__ == "__main__":
    sys.exit(main())
