"""Shares of lines and branches that the tests took, by part of the package; fails below the least.

Reads .coverage, which `make coverage` writes.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ESTIMATORS = ["classifier", "classifier_cv", "mixture", "semi_supervised"]
ESTIMATORS += ["_base", "_fit", "_model_selection", "_utils"]
LEAST = {"core": 95.0, "estimators": 95.0}
LEAST_ELSEWHERE = 85.0


def part_of(path: str) -> str:
    """core, estimators, the name of a folder, or other."""
    inside = Path(path).parts[Path(path).parts.index("opgd") + 1 :]
    if Path(inside[0]).stem in ESTIMATORS:
        return "estimators"
    return inside[0] if len(inside) > 1 else "other"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        command = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", str(report)]
        subprocess.run(command, check=True)
        files = json.loads(report.read_text(encoding="utf-8"))["files"]
    taken, there = Counter[str](), Counter[str]()
    branches, all_branches = Counter[str](), Counter[str]()
    for path, own in files.items():
        part, summary = part_of(path), own["summary"]
        taken[part] += summary["covered_lines"] + summary["covered_branches"]
        there[part] += summary["num_statements"] + summary["num_branches"]
        branches[part] += summary["covered_branches"]
        all_branches[part] += summary["num_branches"]
    low = []
    for part in sorted(there):
        share = 100 * taken[part] / max(there[part], 1)
        only = 100 * branches[part] / max(all_branches[part], 1)
        print(f"{part:12} {share:5.1f} % of lines and branches, {only:5.1f} % of branches")
        if min(share, only) < LEAST.get(part, LEAST_ELSEWHERE):
            low.append(part)
    if low:
        sys.exit(f"Below the least: {', '.join(low)}.")


if __name__ == "__main__":
    main()
