"""Load mutated model files for a given time, and print findings and the worst figures.

    python -m tests._model_file --minutes 60 [--seed 0] [--keep folder]

A finding is anything but a ModelFileError of one sentence or a model with finite results, or more
time or memory than fuzz.py allows.
"""

import argparse
import collections
import random
import sys
import tempfile
import time
from pathlib import Path

from tests._model_file.attacks import ATTACKS, attack
from tests._model_file.fuzz import judge
from tests._model_file.mutations import mutant

REPORT_SECONDS = 30


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Totals:
    def __init__(self, folder):
        self.folder = folder
        self.counts, self.accepted = collections.Counter(), collections.Counter()
        self.findings = collections.Counter()
        self.slowest = self.slowest_per_mb = self.largest = self.largest_per_mb = (0.0, "")

    def add(self, kind, name, verdict, data):
        self.counts[kind] += 1
        self.accepted[kind] += verdict.accepted
        about = f"{kind} of {name}"
        self.slowest = max(self.slowest, (verdict.seconds, about))
        self.largest = max(self.largest, (verdict.megabytes, about))
        if verdict.size > 0.25:  # small files have a constant cost
            per_mb = verdict.seconds / verdict.size
            self.slowest_per_mb = max(self.slowest_per_mb, (per_mb, about))
            per_mb = verdict.megabytes / verdict.size
            self.largest_per_mb = max(self.largest_per_mb, (per_mb, about))
        if verdict.finding:
            self.findings[f"{kind}: {name.partition('.')[0]}: {verdict.finding}"] += 1
            if sum(self.findings.values()) <= 100:
                path = self.folder / f"finding{sum(self.findings.values())}.opgd"
                path.write_bytes(data)
                say(f"FINDING {about}: {verdict.finding} ({path})")

    def summary(self, minutes):
        counts = ", ".join(f"{self.counts[k]} {k} ({self.accepted[k]})" for k in self.counts)
        return (
            f"{minutes:.1f} min, {sum(self.counts.values())} files, "
            f"{sum(self.findings.values())} findings; with accepted ones: {counts}\n"
            f"  slowest {self.slowest[0]:.3f} s ({self.slowest[1]}), "
            f"{self.slowest_per_mb[0]:.2f} s/MB ({self.slowest_per_mb[1]})\n"
            f"  largest {self.largest[0]:.1f} MB ({self.largest[1]}), "
            f"{self.largest_per_mb[0]:.1f} MB/MB ({self.largest_per_mb[1]})"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--keep", type=Path, help="folder for the files of findings")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="opgd-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    totals, start, number = Totals(folder), time.monotonic(), 0
    reported = start
    for name in ATTACKS:
        data = attack(name, 2**17)
        totals.add("attack", name, judge(data, folder / "current", memory=True), data)
    while time.monotonic() < start + 60 * options.minutes:
        rng = random.Random(f"{options.seed} {number}")
        found = mutant(rng)
        if found:
            kind, name, data = found
            verdict = judge(data, folder / "current", memory=number % 10 == 0)
            totals.add(kind, name, verdict, data)
        if number % 5000 == 4999:  # of any size
            name = rng.choice(list(ATTACKS))
            data = attack(name, rng.choice([2**14, 2**16, 2**17, 2**19]))
            totals.add("attack", name, judge(data, folder / "current", memory=True), data)
        number += 1
        if time.monotonic() > reported + REPORT_SECONDS:
            reported = time.monotonic()
            say(totals.summary((reported - start) / 60))
    say(totals.summary((time.monotonic() - start) / 60))
    for finding, count in totals.findings.most_common():
        say(f"  {count} times {finding}")
    return int(bool(totals.findings))


if __name__ == "__main__":
    sys.exit(main())
