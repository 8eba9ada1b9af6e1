"""Run the experiments of the paper: `python -m opgd_paper [experiment ...] --out DIR`."""

import argparse
import sys
from pathlib import Path

from opgd_paper import classification, clustering
from opgd_paper.page import write_results
from opgd_paper.runner import Compute, Key, run_cells

EXPERIMENTS: dict[str, tuple[Compute, list[str], list[str]]] = {
    "vowel": (classification.run_vowel, ["vowel"], classification.METHODS),
    "splits": (classification.run_splits, classification.SPLIT_DATA, classification.METHODS),
    "starts": (
        classification.run_starts,
        ["vowel", *classification.SPLIT_DATA],
        classification.STARTS,
    ),
    "clustering": (clustering.run_clustering, clustering.DATA, clustering.METHODS),
}
"""Function, data sets and methods of each experiment."""
STEPS = [*EXPERIMENTS, "figures", "tables"]


def list_keys(
    experiment: str, replications: int, data: list[str] | None, methods: list[str] | None
) -> list[Key]:
    """Return the keys of the cells of an experiment, for some or all data sets and methods."""
    _, all_data, all_methods = EXPERIMENTS[experiment]

    def count(method: str) -> int:
        """Return the number of replications; without randomness there is one."""
        is_random = experiment != "vowel" and (experiment != "starts" or method == "random")
        return replications if is_random else 1

    return [
        (experiment, name, replication, method)
        for name in all_data
        for method in all_methods
        for replication in range(count(method))
        if (data is None or name in data) and (methods is None or method in methods)
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run unfinished cells of the experiments, then write tables, figures and RESULTS.md."""
    parser = argparse.ArgumentParser(
        prog="python -m opgd_paper",
        description="Run the experiments of the paper. Results are written as soon as they are "
        "computed: after an interrupt, run the same command again.",
    )
    parser.add_argument(
        "steps",
        nargs="*",
        metavar="experiment",
        help=f"one or more of {', '.join(STEPS)}; all by default. 'tables' writes the page of the "
        "results that are there",
    )
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of the results")
    parser.add_argument("--replications", type=int, default=20, help="random splits or seeds")
    parser.add_argument("--data", nargs="+", help="data sets to run")
    parser.add_argument("--methods", nargs="+", help="methods to run")
    parser.add_argument("--jobs", type=int, default=-1, help="processes; all cores by default")
    options = parser.parse_args(arguments)
    steps = options.steps or STEPS
    unknown = [step for step in steps if step not in STEPS]
    if unknown:
        parser.error(f"unknown experiment {unknown[0]!r}; choose from {', '.join(STEPS)}")
    for experiment in [step for step in steps if step in EXPERIMENTS]:
        keys = list_keys(experiment, options.replications, options.data, options.methods)
        if keys:
            try:
                run_cells(EXPERIMENTS[experiment][0], keys, options.out, options.jobs)
            except (OSError, ValueError) as problem:
                print(f"{experiment}: {problem}", file=sys.stderr)
                return 1
    print(f"see {write_results(options.out, with_figures='figures' in steps)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
