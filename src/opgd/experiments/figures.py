"""Figures of the paper: boxplots of the splits, Texture, Forest and Seeds."""

import io
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.decomposition import PCA

from opgd._utils.files import write_atomically
from opgd.core.types import AnyArray, FloatArray
from opgd.experiments.classification import METHODS
from opgd.experiments.clustering import load_standardized
from opgd.inspection.frames import choose_frame
from opgd.inspection.palette import COLORS, make_class_styles
from opgd.mixture import OPGDMixture
from opgd.plotting._scatter import draw_rows, draw_rows_outside, make_row_handles
from opgd.plotting._styles import get_theme

MAX_ROWS = 2000


def draw_boxplots(results: pd.DataFrame) -> Figure:
    """Draw boxplots of the test errors of the paper's methods, one panel per data set."""
    names = list(dict.fromkeys(results["data"]))
    figure, axes = plt.subplots(1, len(names), figsize=(4 * len(names), 3.6), squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        rows = results[results["data"] == name]
        methods = [method for method in METHODS if method in set(rows["method"])]
        errors = [rows.loc[rows["method"] == method, "error"] for method in methods]
        ax.boxplot(errors, widths=0.6, medianprops={"color": COLORS[2]})
        ax.set_xticks(np.arange(1, len(methods) + 1), methods)
        ax.set_title(name)
        ax.set_ylabel("test error")
        ax.set_ylim(bottom=0)
    figure.tight_layout()
    return figure


def draw_clusters(name: str) -> Figure:
    """Draw initial clusters on principal components beside final clusters on OPGD axes."""
    X, y = load_standardized(name)
    model = OPGDMixture(len(np.unique(y)), random_state=0).fit(X)
    shown = np.random.RandomState(0).permutation(len(X))[:MAX_ROWS]
    principal, scores = PCA(4).fit_transform(X)[shown], model.transform(X)[shown]
    figure, axes = plt.subplots(2, 2, figsize=(11, 9))
    second = (2, 3) if scores.shape[1] >= 4 else (0, 2)
    for ax, pair in zip(axes[:, 0], [(0, 1), (2, 3)], strict=True):
        _scatter(ax, principal, model.initial_labels_[shown], pair, "principal component")
    for ax, pair in zip(axes[:, 1], [(0, 1), second], strict=True):
        _scatter(ax, scores, model.labels_[shown], pair, "OPGD axis")
    axes[0, 0].set_title(f"{name}: PCA, initial mixture")
    axes[0, 1].set_title(f"{name}: OPGD, final solution")
    names = [str(k) for k in range(model.n_clusters_)]
    styles = make_class_styles(len(names))
    handles, names = make_row_handles(names, styles, model.labels_, get_theme(axes[0, 0]))
    figure.tight_layout(rect=(0, 0, 0.9, 1))
    figure.legend(handles, names, title="cluster", loc="center right")
    return figure


def draw_seeds() -> Figure:
    """Draw the Seeds data, on which V'V = I fails (Section 5.2), with two remedies."""
    X, y = load_standardized("seeds")
    n_clusters = len(np.unique(y))
    reduced = PCA(4).fit_transform(X)
    figure, axes = plt.subplots(1, 4, figsize=(18, 4.2))
    fits: list[tuple[Axes, FloatArray, str, str]] = [
        (axes[0], X, "identity", "V'V = I (the paper)"),
        (axes[2], reduced, "identity", "V'V = I, four principal components"),
        (axes[3], X, "covariance", "uncorrelated axes (opgd default)"),
    ]
    for ax, rows, metric, title in fits:
        model = OPGDMixture(n_clusters, metric=metric, init="kmeans", random_state=0).fit(rows)
        _scatter(ax, model.transform(rows), model.labels_, (0, 1), "OPGD axis")
        ax.set_title(title)
    values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    axes[1].semilogy(np.arange(1, len(values) + 1), values, "o-", color=COLORS[0])
    axes[1].set_xlabel("component")
    axes[1].set_ylabel("eigenvalue of the covariance")
    axes[1].set_title("scree plot")
    figure.tight_layout()
    return figure


def _scatter(
    ax: Axes, scores: FloatArray, labels: AnyArray, pair: tuple[int, int], label: str
) -> None:
    """Draw points on two axes by cluster; extreme points are triangles at the border."""
    points, styles = scores[:, pair], make_class_styles(int(labels.max()) + 1)
    frame = choose_frame(points, labels)
    inside = ~frame.is_outside
    draw_rows(ax, points[inside], labels[inside], styles)
    draw_rows_outside(ax, points, labels, styles, frame)
    ax.set(xlim=frame.limits[:, 0], ylim=frame.limits[:, 1])
    ax.set_xlabel(f"{label} {pair[0] + 1}")
    ax.set_ylabel(f"{label} {pair[1] + 1}")


def save(figure: Figure, folder: Path, name: str) -> None:
    """Save a figure as PNG and SVG, written atomically."""
    for ending in ("png", "svg"):
        metadata: dict[str, Any] = {"Date": None} if ending == "svg" else {}
        picture = io.BytesIO()
        figure.savefig(picture, format=ending, dpi=150, metadata=metadata)
        write_atomically(folder / f"{name}.{ending}", picture.getvalue(), overwrite=True)
    plt.close(figure)
