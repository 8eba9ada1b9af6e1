"""Compare the ratios of the benchmarks with those of another commit, on this machine.

    python tools/compare_benchmarks.py --base HEAD kernel memory

Ratios within one run depend less on the machine than seconds do, but still depend on it: a
processor with fast memory needs less time for the products of large matrices, with which the kernel
is compared. So the sections are measured here twice, with the package and the benchmarks of the
base and with those of this folder. A ratio that is a given factor worse than that of the base is a
regression if a second measurement of both confirms it; so is a bound of the section that only this
folder exceeds. The committed ratios, measured on another machine, are printed beside them.

The output is saved in build/benchmarks and build/base-benchmarks.
"""

import argparse
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
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
    """Return the ratios of a section, empty if it was not saved in the folder."""
    path = folder / f"{section}.txt"
    return read_ratios(path.read_text("utf-8")) if path.exists() else {}


def compare(sections: Sequence[str], fresh: Path, base: Path, factor: float) -> int:
    """Print all ratios; return 1 if one is worse or only the base has it, 2 if none is compared."""
    n_compared = n_failed = 0
    for section in sections:
        new, old, committed = (read_section(path, section) for path in (fresh, base, COMMITTED))
        for key in sorted(new.keys() | old.keys()):
            name = f"{section}: {key[0]}, {key[1]}"
            if key not in new or key not in old:
                print(f"{name}: measured {'here' if key in new else 'with the base'} only")
                n_failed += key in old
                continue
            worse = is_worse(key[1], new[key], old[key], factor)
            n_compared, n_failed = n_compared + 1, n_failed + worse
            beside = [f"base {old[key]:.2f}"]
            beside += [f"committed {committed[key]:.2f}"] if key in committed else []
            print(f"{name}: {new[key]:8.2f} ({', '.join(beside)}){' WORSE' if worse else ''}")
        if not new:
            print(f"{section}: no ratios were measured here")
            n_failed += 1
    print(f"{n_compared} ratios compared with the base, {n_failed} failed (factor {factor:g})")
    return int(n_failed > 0) if n_compared else 2


def measure(tree: Path, section: str, folder: Path) -> bool:
    """Run a section with the package and the benchmarks of a tree; save its output in a folder.

    Return whether it is within its own bounds.
    """
    (folder / f"{section}.txt").unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks", section, "--save", str(folder)]
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}  # before the installed package
    return subprocess.run(command, cwd=tree, env=environment, check=False).returncode == 0


def measure_and_compare(section: str, tree: Path, base: Path, fresh: Path, factor: float) -> int:
    """Measure a section with the base and with this folder; return the code of `compare`.

    It is 1 as well if only this folder exceeds a bound of the section.
    """
    is_base_within = measure(tree, section, base)
    is_within = measure(ROOT, section, fresh)
    code = compare([section], fresh, base, factor)
    if is_base_within and not is_within:
        print(f"{section}: over its bounds, which the base is not")
        return code or 1
    return code


def extract(commit: str, folder: Path) -> None:
    """Write the files of a commit into a folder; raise ValueError if that is not possible."""
    if not (ROOT / ".git").exists():
        raise ValueError(f"{ROOT} is not a git repository.")
    git = ["git", "-C", str(ROOT)]
    resolve = [*git, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}"]
    try:
        found = subprocess.run(resolve, capture_output=True, check=True).stdout.decode().strip()
        command = [*git, "archive", "--format=tar", found]
        archive = subprocess.run(command, capture_output=True, check=True).stdout
    except FileNotFoundError:
        raise ValueError("git is not installed.") from None
    except subprocess.CalledProcessError as error:
        raise ValueError(error.stderr.decode(errors="replace").strip()) from None
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")


def main() -> int:
    """Measure the base and this folder, and compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="+", help="sections of python -m benchmarks")
    parser.add_argument("--base", default="HEAD", help="commit to compare with (default: HEAD)")
    parser.add_argument("--factor", type=float, default=1.2, help="default: 1.2")
    given = parser.parse_args()
    fresh, base = ROOT / "build" / "benchmarks", ROOT / "build" / "base-benchmarks"
    with tempfile.TemporaryDirectory() as folder:
        try:
            extract(given.base, Path(folder))
        except ValueError as error:
            print(f"cannot read the commit {given.base!r}: {error}", file=sys.stderr)
            return 2
        codes = []
        for section in given.sections:
            arguments = section, Path(folder), base, fresh, given.factor
            code = measure_and_compare(*arguments)
            if code:
                print(f"{section}: measured again")
                code = measure_and_compare(*arguments)
            codes.append(code)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
