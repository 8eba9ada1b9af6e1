"""The public benchmark: OPGD beside the usual classifiers, written into the documentation."""

from pathlib import Path

import pandas as pd
from rich.console import Console

from benchmarks.classifiers import METHODS
from benchmarks.public_data import ALL, RANKED, Results
from benchmarks.public_page import describe_ranking, fill_page, picture_name
from benchmarks.public_tables import LABELS
from benchmarks.ranks import draw_ranking
from benchmarks.selection import record

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "public_benchmark.md"


def show_public_benchmark(console: Console) -> bool:
    """Measure what is missing, write tables and sentences into the page, draw the diagrams."""
    write_page(record(ALL.tables, list(METHODS), console))
    console.print(f"Written: {PAGE.name} and its diagrams.")
    return True


def write_page(raw: pd.DataFrame) -> None:
    """Write tables, sentences and diagrams from the results of single fits."""
    page = fill_page(PAGE.read_text("utf-8"), raw)
    PAGE.write_text(page, encoding="utf-8")
    for group in RANKED:
        ranking = Results.select(raw, group).rank("error")
        path = DOCS / "images" / picture_name(group)
        draw_ranking(ranking, LABELS, describe_ranking(group, ranking), path)
