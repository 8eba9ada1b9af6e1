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

from opgd import OPGDMixture
from opgd_paper.classification import METHODS
from opgd_paper.clustering import load_standardized
from opgd_paper.runner import write_atomically

MAX_ROWS = 2000
COLORS = plt.get_cmap("tab20")(np.arange(20))


def draw_boxplots(results: pd.DataFrame) -> Figure:
    """Draw boxplots of the test errors of the methods, one panel per data set."""
    names = list(dict.fromkeys(results["data"]))
    figure, axes = plt.subplots(1, len(names), figsize=(4 * len(names), 3.6), squeeze=False)
    for ax, name in zip(axes[0], names, strict=True):
        rows = results[results["data"] == name]
        methods = [method for method in METHODS if method in set(rows["method"])]
        ax.boxplot([rows.loc[rows["method"] == method, "error"] for method in methods], widths=0.6)
        ax.set_xticks(np.arange(1, len(methods) + 1), methods)
        ax.set(title=name, ylabel="test error", ylim=(0, None))
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
        scatter(ax, principal, model.initial_labels_[shown], pair, "principal component")
    for ax, pair in zip(axes[:, 1], [(0, 1), second], strict=True):
        scatter(ax, scores, model.labels_[shown], pair, "OPGD axis")
    axes[0, 0].set_title(f"{name}: PCA, initial mixture")
    axes[0, 1].set_title(f"{name}: OPGD, final solution")
    figure.tight_layout(rect=(0, 0, 0.9, 1))
    figure.legend(*axes[1, 1].get_legend_handles_labels(), title="cluster", loc="center right")
    return figure


def draw_seeds() -> Figure:
    """Draw the Seeds data, on which V'V = I fails (Section 5.2), with two remedies."""
    X, y = load_standardized("seeds")
    n_clusters = len(np.unique(y))
    figure, axes = plt.subplots(1, 4, figsize=(18, 4.2))
    fits = [
        (axes[0], X, "identity", "V'V = I (the paper)"),
        (axes[2], PCA(4).fit_transform(X), "identity", "V'V = I, four principal components"),
        (axes[3], X, "covariance", "uncorrelated axes (opgd's default)"),
    ]
    for ax, rows, metric, title in fits:
        model = OPGDMixture(n_clusters, metric=metric, init="kmeans", random_state=0).fit(rows)
        scatter(ax, model.transform(rows), model.labels_, (0, 1), "OPGD axis")
        ax.set_title(title)
    values = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    axes[1].semilogy(np.arange(1, len(values) + 1), values, "o-")
    axes[1].set(
        xlabel="component", ylabel="eigenvalue of the covariance", title="eigenvalues (scree plot)"
    )
    figure.tight_layout()
    return figure


def scatter(ax: Axes, scores: Any, labels: Any, pair: tuple[int, int], name: str) -> None:
    """Draw points on two axes, colored by cluster."""
    for k in np.unique(labels):
        points = scores[labels == k][:, pair]
        ax.scatter(points[:, 0], points[:, 1], s=6, color=COLORS[k % len(COLORS)], label=str(k))
    ax.set(xlabel=f"{name} {pair[0] + 1}", ylabel=f"{name} {pair[1] + 1}")


def save(figure: Figure, folder: Path, name: str) -> None:
    """Save a figure as PNG."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=100)
    write_atomically(folder / f"{name}.png", picture.getvalue())
    plt.close(figure)
