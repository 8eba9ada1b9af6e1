"""The command ``python -m benchmarks``."""

import argparse
import sys
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks import (
    calibration,
    choosing,
    cluster,
    cluster_selection,
    clustering,
    clusters,
    decisions,
    defaults,
    few_labels,
    growth,
    kernel,
    labels,
    larger,
    memory,
    missing,
    neighbors,
    noise,
    paper,
    passes,
    peers,
    public,
    rivals,
    selection,
    selection_speed,
    sparse,
    starts,
    threads,
)
from benchmarks.data import DataMissingError
from benchmarks.harness import ScaledSection, Section, make_console, print_machine
from opgd.datasets import DatasetUnavailableError

SECTIONS: dict[str, Section] = {
    "kernel": kernel.run,
    "memory": memory.run,
    "fits": paper.run,
    "vowel": choosing.quietly(choosing.show_vowel),
    "selection": selection.show_selection,
    "other-selection": selection.show_other_selection,
    "public-benchmark": public.show_public_benchmark,
    "speed": selection_speed.show_speed,
    "calibration": calibration.show_calibration,
    "decisions": decisions.show_decisions,
    "refinement": choosing.quietly(clustering.show_refinement),
    "clustering": clustering.show_table,
    "orthogonality": clustering.show_orthogonality,
    "numbers": clusters.show_numbers,
    "clusters": clusters.show_sets,
    "other-clusters": clusters.show_other_sets,
    "given-clusters": clusters.show_given,
    "noise": noise.show_noise,
    "labels": choosing.quietly(labels.show_labels),
    "few-labels": choosing.quietly(few_labels.show_few_labels),
    "starts": starts.show_starts,
    "best": starts.find_best_known,
    "defaults": defaults.show_defaults,
    "others": defaults.show_other_defaults,
    "neighbors": neighbors.show_neighbors,
    "rivals": rivals.show_rivals,
    "simulated-features": sparse.show_simulated,
    "features": sparse.show_sparse,
    "feature-cost": sparse.show_path_cost,
    "missing": missing.show_missing,
    "missing-clusters": missing.show_missing_clusters,
}
SCALED_SECTIONS: dict[str, ScaledSection] = {
    "threads": threads.run,
    "peers": peers.run,
    "growth": growth.run,
    "larger": larger.run,
    "passes": passes.run,
    "dask": cluster.run,
    "dask-selection": cluster_selection.run,
    "missing-size": missing.show_missing_size,
}
LONG = [
    "selection",
    "other-selection",
    "public-benchmark",
    "speed",
    "calibration",
    "decisions",
    "clustering",
    "orthogonality",
    "numbers",
    "clusters",
    "other-clusters",
    "given-clusters",
    "noise",
    "labels",
    "few-labels",
    "best",
    "defaults",
    "others",
    "neighbors",
    "rivals",
    "simulated-features",
    "features",
    "missing",
    "missing-clusters",
    *SCALED_SECTIONS,
]
"""Sections that take many minutes or the better part of an hour, run when asked for."""


def find_section(name: str, scale: float) -> Section | None:
    """A section by its name, at a scale if it has one."""
    if name in SCALED_SECTIONS:
        return partial(_at_scale, SCALED_SECTIONS[name], scale)
    return SECTIONS.get(name)


def _at_scale(section: ScaledSection, scale: float, console: Console) -> bool:
    return section(console, scale)


def parse() -> tuple[dict[str, Section], argparse.Namespace]:
    """What to run, and how."""
    names = ", ".join([*SECTIONS, *SCALED_SECTIONS])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Speed, memory and whole fits of opgd."
    )
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="section",
        help=f"of {names}; default: all but {', '.join(LONG)}",
    )
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help=f"rows of {', '.join(SCALED_SECTIONS)} times this, to work on them (default: 1)",
    )
    parser.add_argument(
        "--save", type=Path, metavar="folder", help="keep what is printed, a file for each section"
    )
    given = parser.parse_args()
    chosen = given.sections or [name for name in SECTIONS if name not in LONG]
    sections = {}
    for name in chosen:
        section = find_section(name, given.scale)
        if section is None:
            parser.error(f"there is no section {name!r}; choose from {names}")
        sections[name] = section
    return sections, given


def main() -> int:
    """Run the sections; return 1 if a bound is not kept. Missing data are only reported."""
    sections, given = parse()
    console = make_console()
    all_kept = True
    for number, (name, section) in enumerate(sections.items()):
        if number == 0 or given.save:
            print_machine(console)
            if given.scale != 1:
                scaled = f"Rows times {given.scale:g}: bounds are meant for all of them."
                console.print(scaled, style="yellow")
        try:
            all_kept &= section(console)
        except (DataMissingError, DatasetUnavailableError) as missing:
            console.print(f"\n{missing}", style="yellow")
        printed = console.export_text()
        if given.save:
            given.save.mkdir(parents=True, exist_ok=True)
            lines = [line.rstrip() for line in printed.splitlines()]
            (given.save / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if all_kept else 1


if __name__ == "__main__":
    sys.exit(main())
