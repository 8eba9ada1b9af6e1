"""Draw docs/images/digits.png: handwritten digits on two axes of PCA, LDA and OPGD."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from scipy.stats import chi2
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from opgd import OPGDClassifier

Array = npt.NDArray[Any]

COVERAGE = 0.9
# the colors of the first ten classes in opgd.plotting
COLORS = ["#3f90da", "#f09b00", "#bd1f01", "#94a4a2", "#832db6"]
COLORS += ["#a96b59", "#e76300", "#b9ac70", "#717581", "#08584d"]


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
    plural = "s" * (n_outside != 1)
    outside = f" ({n_outside} test sample{plural} outside the plot)" if n_outside else ""
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
    axes.set_title(f"{panel.title}: test error {panel.error:.0%}", fontsize=14)
    axes.set_xlabel(f"{panel.axes} 1{outside}", color="#555555")
    axes.set_ylabel(f"{panel.axes} 2", color="#555555")
    axes.spines[:].set_color("#cccccc")


def draw(split: Split, path: Path) -> None:
    """Draw two axes of PCA, LDA and OPGD side by side."""
    model = OPGDClassifier(2, covariance_type="full", ridge=0.05)
    panels = [
        make_panel("PCA", "component", PCA(2), split),
        make_panel("LDA", "discriminant", LinearDiscriminantAnalysis(), split),
        make_panel("OPGD", "component", model, split),
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


def main(arguments: list[str] | None = None) -> None:
    """Draw the figure."""
    parser = argparse.ArgumentParser(description="Handwritten digits on two axes.")
    parser.add_argument("--out", type=Path, default=Path("digits.png"), help="file to write")
    options = parser.parse_args(arguments)
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 0.1]  # without border pixels that are (almost) constant
    draw(Split(*train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)), options.out)
    print(f"Figure: {options.out}")


if __name__ == "__main__":
    main()
