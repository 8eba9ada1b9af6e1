"""The command ``python -m benchmarks``."""

import argparse
import sys

from benchmarks import choosing, clustering, kernel, labels, memory, paper
from benchmarks.data import DataMissingError
from benchmarks.harness import Section, make_console, print_machine

SECTIONS: dict[str, Section] = {
    "kernel": kernel.run,
    "memory": memory.run,
    "fits": paper.run,
    "cost": choosing.quietly(choosing.show_cost),
    "vowel": choosing.quietly(choosing.show_vowel),
    "subclasses": choosing.quietly(choosing.show_subclasses),
    "neighbours": choosing.quietly(choosing.show_neighbours),
    "refinement": choosing.quietly(clustering.show_refinement),
    "clustering": clustering.show_table,
    "orthogonality": clustering.show_orthogonality,
    "labels": choosing.quietly(labels.show_labels),
}
LONG = ["subclasses", "neighbours", "clustering", "orthogonality", "labels"]
"""Sections that take many minutes or the better part of an hour, run when asked for."""


def main() -> int:
    """Run the sections; 1 if a bound is not kept. Missing data are no failure, only said."""
    names = ", ".join(SECTIONS)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Speed, memory and whole fits of opgd."
    )
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="section",
        help=f"of {names}; default: all but {', '.join(LONG)}",
    )
    chosen = parser.parse_args().sections or [name for name in SECTIONS if name not in LONG]
    unknown = [name for name in chosen if name not in SECTIONS]
    if unknown:
        parser.error(f"there is no section {unknown[0]!r}; choose from {names}")
    console = make_console()
    print_machine(console)
    all_kept = True
    for name in chosen:
        try:
            all_kept &= SECTIONS[name](console)
        except DataMissingError as missing:
            console.print(f"\n{missing}", style="yellow")
    return 0 if all_kept else 1


if __name__ == "__main__":
    sys.exit(main())
