"""Compare OPGD on six components with usual classifiers; draw a figure and write a report.

Run by ``make demo``. The data are handwritten digits, ten classes with 64 pixels. The number of
components was chosen by looking at these data; all other parameters are selected within the
training samples of each split, and the held-out samples are used for the results only.
"""

import argparse
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split

from opgd import OPGDClassifierCV, compare, write_report
from opgd.comparison import summarize
from opgd.plotting import ComparisonDisplay, ProjectionDisplay

N_COMPONENTS = 6
OPGD = f"OPGD, {N_COMPONENTS} components"
FREE = "OPGD, all settings"
OTHERS = ["LDA", "QDA", "logistic regression", "RBF SVC", "random forest", "gradient boosting"]
TEST_SHARE = VALIDATION_SHARE = 0.25


def make_model() -> OPGDClassifierCV:
    """Return OPGD with a fixed number of components; its other parameters are selected."""
    return OPGDClassifierCV(N_COMPONENTS, cv=3)


def compare_methods(X: pd.DataFrame, y: Any, n_splits: int) -> pd.DataFrame:
    """Return the results of all methods on random splits."""
    splits = StratifiedShuffleSplit(n_splits, test_size=TEST_SHARE, random_state=0)
    methods = [make_model(), FREE, *OTHERS]
    results = compare(
        X, y, methods, cv=splits, inner_cv=VALIDATION_SHARE, n_jobs=-1, random_state=0
    )
    results["method"] = results["method"].replace(OPGDClassifierCV.__name__, OPGD)
    return results


def make_table(results: pd.DataFrame) -> Table:
    """Return the means by method, the lowest log-loss first."""
    sizes = results.iloc[0]
    title = f"Handwritten digits: means of {results['split'].nunique()} random splits "
    table = Table(
        title=title + f"({sizes.n_train} training samples, {sizes.n_test} held-out samples)",
        caption="* lowest, or not significantly higher (95% interval of the paired difference). "
        "Seconds are those of a fit, including the selection of parameters.",
    )
    table.add_column("method")
    for name in ("error", "± s.e.", "log-loss", "± s.e.", "seconds"):
        table.add_column(name, justify="right")
    errors, losses = summarize(results), summarize(results, "log_loss")
    for name, row in losses.iterrows():
        marks = ["*" if winner else " " for winner in (errors.winner[name], row.winner)]
        cells = [
            f"{row.error:.3f}{marks[0]}",
            f"{row.error_se:.3f}",
            f"{row.log_loss:.3f}{marks[1]}",
            f"{row.log_loss_se:.3f}",
        ]
        if pd.isna(row.log_loss):  # without probabilities
            cells[2:] = ["none ", ""]
        table.add_row(name, *cells, f"{row.seconds:.2f}")
    return table


def describe(results: pd.DataFrame, n_features: int) -> str:
    """Return a sentence on OPGD and the best of the other methods."""
    means = summarize(results)
    ours, others = means.loc[OPGD], means.drop(index=[OPGD, FREE])
    parts = [
        f"{word} {ours[key]:.3f} (best of the others: {others[key].min():.3f}, "
        f"{others[key].idxmin()})"
        for key, word in (("error", "error"), ("log_loss", "log-loss"))
    ]
    return f"OPGD uses {N_COMPONENTS} components of {n_features} pixels: {', '.join(parts)}."


def draw(results: pd.DataFrame, model: Any, X_test: pd.DataFrame, y_test: Any, path: Path) -> None:
    """Draw errors, log-losses, and held-out samples of one split on two of the components."""
    figure = Figure(figsize=(15, 4.6), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1, 1.1])
    ComparisonDisplay.from_table(results, ax=left)
    ComparisonDisplay.from_table(results, "log_loss", ax=middle)
    ProjectionDisplay.from_estimator(model, X_test, y_test, ax=right)
    right.set_title("held-out samples on the first two components", fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def main(arguments: list[str] | None = None) -> None:
    """Print the table, and save figure and report."""
    parser = argparse.ArgumentParser(description="OPGD beside usual classifiers.")
    parser.add_argument(
        "--out", type=Path, default=Path("demo"), help="folder of figure and report"
    )
    parser.add_argument("--splits", type=int, default=3, help="random splits to average over")
    options = parser.parse_args(arguments)
    console = Console()
    picture, page = options.out / "comparison.png", options.out / "digits.html"
    X, y = load_digits(return_X_y=True, as_frame=True)
    X = X.loc[:, X.std() > 0.1]  # without border pixels that are (almost) constant
    results = compare_methods(X, y, options.splits)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, stratify=y, random_state=0
    )
    model = make_model().fit(X_train, y_train)
    draw(results, model, X_test, y_test, picture)
    write_report(
        model,
        X_train,
        y_train,
        X_test=X_test,
        y_test=y_test,
        path=page,
        title="Handwritten digits",
        comparison=results,
        overwrite=True,
    )
    console.print(make_table(results))
    console.print(describe(results, X.shape[1]), highlight=False)
    console.print(f"Figure: {picture}")
    console.print(f"Report (open in a browser): {page}")


if __name__ == "__main__":
    main()
