"""Compare OPGD with LDA, QDA and NCA on handwritten digits; draw a figure and write a report.

Run by ``make demo``. Parameters are selected by cross-validation on the training samples; the test
samples are used only for the table, the figure and the numbers of the report.
"""

import argparse
import time
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from rich.console import Console
from rich.table import Table
from scipy.stats import chi2
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import DataWarning, OPGDClassifier, OPGDClassifierCV, write_report

Array = npt.NDArray[Any]
Grid = dict[str, list[float]]

QDA_GRID: Grid = {"reg_param": [0.01, 0.1, 0.3, 0.5, 0.7]}  # with 0, class covariances are singular
COVERAGE = 0.9
# Petroff's color-blind safe palette
COLORS = ["#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6"]
COLORS += ["#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"]


@dataclass(frozen=True)
class Split:
    """Training and test samples with their labels."""

    X: Array
    X_test: Array
    y: Array
    y_test: Array


@dataclass(frozen=True)
class Panel:
    """Test samples on two axes, and one Gaussian per class fitted to the training samples."""

    title: str
    axes: str
    scores: Array  # (n_test, 2)
    means: Array  # (n_classes, 2)
    covariances: Array  # (n_classes, 2, 2)
    error: float  # test error of the classifier with these Gaussians


def tune(estimator: Any, grid: Grid) -> Any:
    """Return a grid search by the log-loss in three folds of the training samples."""
    return GridSearchCV(estimator, grid, scoring="neg_log_loss", cv=3)


def make_opgd_search() -> OPGDClassifierCV:
    """Return a search for the number of axes and the regularization by the log-loss."""
    return OPGDClassifierCV(
        n_components=(9, 13, 20),
        cv=3,
        scoring="neg_log_loss",
        n_jobs=-1,
    )


def make_candidates() -> dict[str, tuple[str, Any]]:
    """Return the number of axes, as text, and the estimator of each candidate by name."""
    nca = NeighborhoodComponentsAnalysis(9, max_iter=50, random_state=0)
    return {
        "OPGD, default": ("9", OPGDClassifier()),
        "OPGD, tuned": ("9 to 20", make_opgd_search()),
        "LDA": ("9", LinearDiscriminantAnalysis()),
        "QDA, tuned": ("none", tune(QuadraticDiscriminantAnalysis(), QDA_GRID)),
        "NCA + 5-NN": ("9", make_pipeline(StandardScaler(), nca, KNeighborsClassifier(5))),
    }


def measure(estimator: Any, split: Split) -> tuple[float, float, float]:
    """Return the test error, the test log-loss and the seconds of the fit."""
    begin = time.perf_counter()
    estimator.fit(split.X, split.y)
    seconds = time.perf_counter() - begin
    probabilities = estimator.predict_proba(split.X_test)
    error = float(np.mean(estimator.predict(split.X_test) != split.y_test))
    return error, float(log_loss(split.y_test, probabilities)), seconds


def compare(splits: list[Split], console: Console) -> Table:
    """Fit every candidate on every split and return a table of the means."""
    results = defaultdict(list)
    for number, split in enumerate(splits, start=1):
        for label, (_, estimator) in make_candidates().items():
            with console.status(f"split {number} of {len(splits)}: {label}"):
                results[label].append(measure(estimator, split))
    table = Table(
        title=f"Digits, mean of {len(splits)} random splits "
        f"({len(splits[0].y)} training samples, {len(splits[0].y_test)} test samples)",
        caption="Tuned models: selected by log-loss in 3-fold cross-validation on the training "
        "samples. Times include tuning.",
    )
    table.add_column("classifier")
    for name in ("axes", "test error", "log-loss", "seconds"):
        table.add_column(name, justify="right")
    for label, (axes, _) in make_candidates().items():
        error, loss, seconds = np.mean(results[label], axis=0)
        duration = f"{seconds:.2f}" if seconds >= 0.01 else "<0.01"
        table.add_row(label, axes, f"{error:.3f}", f"{loss:.3f}", duration)
    return table


def make_panel(title: str, axes: str, projection: Any, split: Split) -> Panel:
    """Project onto two axes and fit one full Gaussian per class, the same for every method."""
    scores = projection.fit(split.X, split.y).transform(split.X)[:, :2]
    test_scores = projection.transform(split.X_test)[:, :2]
    qda = QuadraticDiscriminantAnalysis(store_covariance=True).fit(scores, split.y)
    error = 1 - qda.score(test_scores, split.y_test)
    return Panel(title, axes, test_scores, qda.means_, np.array(qda.covariance_), error)


def draw_panel(axes: Any, panel: Panel, y_test: Array) -> None:
    """Draw the test samples as digits, with a badge and an ellipse for each class."""
    radius = np.sqrt(chi2.ppf(COVERAGE, df=2))
    for digit, color in enumerate(COLORS):
        x, y = panel.scores[y_test == digit].T
        axes.scatter(x, y, s=20, marker=f"${digit}$", color=color, linewidths=0.3)
        variances, vectors = np.linalg.eigh(panel.covariances[digit])
        size = 2 * radius * np.sqrt(variances)
        angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
        ellipse = {"xy": panel.means[digit], "width": size[0], "height": size[1], "angle": angle}
        axes.add_patch(Ellipse(**ellipse, facecolor=color, alpha=0.13))
        axes.add_patch(Ellipse(**ellipse, facecolor="none", edgecolor=color, linewidth=1.5))
        badge = {"boxstyle": "circle,pad=0.18", "fc": "white", "ec": color, "lw": 1.8}
        center = {"ha": "center", "va": "center", "weight": "bold", "fontsize": 9, "zorder": 5}
        axes.text(*panel.means[digit], str(digit), color="#222222", bbox=badge, **center)

    # the limits include all ellipses, but not outliers, which would shrink everything else
    extent = radius * np.sqrt(np.diagonal(panel.covariances, axis1=1, axis2=2))
    low, high = (panel.means - extent).min(axis=0), (panel.means + extent).max(axis=0)
    low, high = low - 0.08 * (high - low), high + 0.08 * (high - low)
    n_outside = int(np.any((panel.scores < low) | (panel.scores > high), axis=1).sum())
    outside = f" ({n_outside} test samples outside the plot)" if n_outside else ""
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
    axes.set_title(f"{panel.title}: test error {panel.error:.0%}", fontsize=14)
    axes.set_xlabel(f"{panel.axes} 1{outside}", color="#555555")
    axes.set_ylabel(f"{panel.axes} 2", color="#555555")
    axes.spines[:].set_color("#cccccc")


def draw(split: Split, path: Path) -> None:
    """Draw two axes of PCA, LDA and OPGD side by side."""
    panels = [
        make_panel("PCA", "component", PCA(2), split),
        make_panel("LDA", "discriminant", LinearDiscriminantAnalysis(), split),
        make_panel("OPGD", "component", OPGDClassifier(2, covariance_type="full"), split),
    ]
    figure = Figure(figsize=(13.5, 5.2), layout="constrained")
    for axes, panel in zip(figure.subplots(1, 3), panels, strict=True):
        draw_panel(axes, panel, split.y_test)
    caption = (
        f"Small digits are test samples. Ellipses contain {COVERAGE:.0%} of the Gaussian of a "
        "class, fitted to its training samples on the two axes and used for classification."
    )
    figure.supxlabel(caption, fontsize=10, color="#555555")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100, pil_kwargs={"optimize": True})


def report(split: Split, names: list[str], path: Path) -> None:
    """Write the HTML report of the tuned model."""
    X, X_test = (pd.DataFrame(data, columns=names) for data in (split.X, split.X_test))
    write_report(
        make_opgd_search().fit(X, split.y),
        X,
        split.y,
        X_test=X_test,
        y_test=split.y_test,
        path=path,
        title="Handwritten digits",
        overwrite=True,
    )


def main(arguments: list[str] | None = None) -> None:
    """Print the table, save figure and report, and print a summary of the warnings."""
    parser = argparse.ArgumentParser(description="OPGD on handwritten digits.")
    parser.add_argument(
        "--out", type=Path, default=Path("demo"), help="folder of figure and report"
    )
    parser.add_argument("--splits", type=int, default=5, help="random splits to average over")
    options = parser.parse_args(arguments)
    console, path = Console(), options.out / "projection.png"
    page = options.out / "digits.html"
    digits = load_digits()
    X, y = digits.data, digits.target
    splits = [
        Split(*train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed))
        for seed in range(options.splits)
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        table = compare(splits, console)
        draw(splits[0], path)
        with console.status("report"):
            report(splits[0], digits.feature_names, page)
    console.print(table)
    for category in dict.fromkeys(warning.category for warning in caught):
        messages = [str(warning.message) for warning in caught if warning.category is category]
        n_similar = len(messages) - 1
        more = f" ({n_similar} similar warnings in other folds and splits)" if n_similar else ""
        console.print(f"{category.__name__}: {messages[0]}{more}", style="dim")
    console.print(f"Figure: {path}")
    console.print(f"Report (open in a browser): {page}")


if __name__ == "__main__":
    main()
