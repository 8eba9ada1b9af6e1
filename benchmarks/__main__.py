"""The command ``python -m benchmarks``."""

import argparse
import sys
import warnings
from pathlib import Path

from benchmarks import (
    calibration,
    clusters,
    dask,
    few_labels,
    growth,
    kernel,
    missing,
    public,
    selection,
    speed,
)
from benchmarks.data import DataMissingError
from benchmarks.harness import ScaledSection, Section, make_console, print_machine

SECTIONS: dict[str, Section] = {
    "kernel": kernel.run,
    "speed": speed.show_speed,
    "selection": selection.show_selection,
    "other-selection": selection.show_other_selection,
    "public-benchmark": public.show_public_benchmark,
    "calibration": calibration.show_calibration,
    "missing": missing.show_missing,
    "missing-clusters": missing.show_missing_clusters,
    "numbers": clusters.show_numbers,
    "clusters": clusters.show_sets,
    "other-clusters": clusters.show_other_sets,
    "few-labels": few_labels.show_few_labels,
}
SCALED_SECTIONS: dict[str, ScaledSection] = {"growth": growth.run, "dask": dask.run}
"""Sections whose numbers of rows are multiplied by ``--scale``."""


def main() -> int:
    """Run the sections; return 1 if a bound is not kept. Missing data are only reported."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Speed and accuracy of opgd, with bounds."
    )
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="section",
        help=f"of {', '.join([*SECTIONS, *SCALED_SECTIONS])}; default: kernel",
    )
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help=f"rows of {' and '.join(SCALED_SECTIONS)} times this (default: 1)",
    )
    parser.add_argument(
        "--save", type=Path, metavar="folder", help="keep what is printed, a file for each section"
    )
    given = parser.parse_args()
    chosen = given.sections or ["kernel"]
    known = [*SECTIONS, *SCALED_SECTIONS]
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"there is no section {unknown[0]!r}; choose from {', '.join(known)}")
    console = make_console()
    all_kept = True
    for number, name in enumerate(chosen):
        if number == 0 or given.save:
            print_machine(console)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if name in SECTIONS:
                    all_kept &= SECTIONS[name](console)
                else:
                    all_kept &= SCALED_SECTIONS[name](console, given.scale)
        except DataMissingError as missing_data:
            console.print(f"\n{missing_data}", style="yellow")
        printed = console.export_text()
        if given.save:
            given.save.mkdir(parents=True, exist_ok=True)
            lines = [line.rstrip() for line in printed.splitlines()]
            (given.save / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if all_kept else 1


if __name__ == "__main__":
    sys.exit(main())
