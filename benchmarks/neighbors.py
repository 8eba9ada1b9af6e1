"""Neighboring methods: bandwidths of kernels, centers of informative components, alternation."""

import time
import tracemalloc
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks.data import load
from benchmarks.harness import make_table, one_blas_thread, show
from benchmarks.ks_kernels import show_ks
from opgd import OPGDClassifier
from opgd.baselines import (
    AlternatingComponents,
    InformativeComponents,
    KernelDiscriminantAnalysis,
    KernelNaiveBayes,
)
from opgd.baselines._bandwidths import FACTORS, reference_bandwidth
from opgd.baselines._posterior import feature_moments
from opgd.baselines.kernel import class_variances
from opgd.core.types import AnyArray, FloatArray

KERNEL_SETS = [
    "wine",
    "iris",
    "vowel",
    "satellite",
    "image_seg",
    "texture",
    "libras",
    "forest",
    "yeast",
    "glass",
    "dermatology",
    "seeds",
]
CENTER_SETS = ["wine", "iris", "glass", "seeds", "vowel", "image_seg"]
ALTERNATION_SETS = ["vowel", "wine", "glass", "image_seg"]
MOST_ROWS = 1200
SMALLEST_CLASS = 6
Split = tuple[FloatArray, AnyArray, FloatArray, AnyArray]


def split_rows(name: str, n_splits: int, seed: int = 0) -> Iterator[Split]:
    """Training and test rows of some splits, two thirds and one third of at most MOST_ROWS."""
    data = load(name)
    rows = np.random.default_rng(seed).permutation(len(data.y))[:MOST_ROWS]
    X, y = data.X[rows], data.y[rows]
    classes, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, classes[counts >= SMALLEST_CLASS])
    X, y = X[kept], y[kept]
    for train, test in StratifiedShuffleSplit(n_splits, test_size=1 / 3, random_state=seed).split(
        X, y
    ):
        yield X[train], y[train], X[test], y[test]


def error_and_loss(model: Any, X: FloatArray, y: AnyArray) -> tuple[float, float]:
    """Error rate and log-loss of a fitted classifier."""
    probabilities = model.predict_proba(X)
    codes = np.searchsorted(model.classes_, y)
    own = np.maximum(probabilities[np.arange(len(y)), codes], 1e-15)
    return float(np.mean(probabilities.argmax(axis=1) != codes)), float(-np.log(own).mean())


def naive_factors(model: KernelNaiveBayes, X: FloatArray, y: AnyArray) -> FloatArray:
    """Bandwidths over their reference, without features that are constant in a class."""
    factors = []
    for k, label in enumerate(model.classes_):
        own = X[y == label]
        varies = np.ptp(own, axis=0) > 0
        widths = feature_moments(own[:, varies], np.ones(len(own)))[1]
        reference = reference_bandwidth(len(own), 1) * widths
        factors.append(model.bandwidths_[k, varies] / reference)
    return np.concatenate(factors)


def kernel_factors(model: KernelDiscriminantAnalysis) -> FloatArray:
    """Bandwidths over their reference, (n_classes,)."""
    factors = []
    for k, bandwidth in enumerate(model.bandwidths_):
        own = model._rows[model._codes == k]
        deviation = float(np.sqrt(np.mean(class_variances(own, np.ones(len(own)), 1.0))))
        factors.append(bandwidth / reference_bandwidth(len(own), own.shape[1], deviation))
    return np.array(factors)


def count_ends(factors: FloatArray) -> str:
    """Numbers of bandwidths at the narrow and at the wide end of the grid, and of all."""
    narrow, wide = np.sum(factors < 1.01 * FACTORS[0]), np.sum(factors > 0.99 * FACTORS[-1])
    return f"{narrow}, {wide} of {len(factors)}"


def show_kernels(console: Console) -> bool:
    """Kernel methods on twelve sets: errors, log-losses, and bandwidths at the ends of the grid."""
    table = make_table(["data"], ["KDA error", "log-loss", "ends", "KNB error", "log-loss", "ends"])
    for name in KERNEL_SETS:
        X, y, X_test, y_test = next(split_rows(name, 1))
        kernel, naive = KernelDiscriminantAnalysis().fit(X, y), KernelNaiveBayes().fit(X, y)
        cells = []
        for model, factors in (
            (kernel, kernel_factors(kernel)),
            (naive, naive_factors(naive, X, y)),
        ):
            cells += [f"{value:.3f}" for value in error_and_loss(model, X_test, y_test)]
            cells.append(count_ends(factors))
        table.add_row(name, *cells, "")
    show(
        console,
        "Kernel discriminant analysis and kernel naive Bayes",
        table,
        f"One split of at most {MOST_ROWS} rows. Ends: bandwidths at the narrow and at the wide "
        "end of the grid.",
    )
    return True


def show_kernels_of_ks(console: Console) -> bool:
    """Kernel methods beside those of R's `ks`, on the same splits."""
    return show_ks(console, {name: next(split_rows(name, 1)) for name in KERNEL_SETS})


def show_centers(console: Console) -> bool:
    """Informative components with class means, k-means centers and samples as centers."""
    settings: dict[str, dict[str, Any]] = {
        "means": {},
        "3 centers": {"n_subclasses": 3},
        "samples": {"centers": "samples"},
    }
    table = make_table(["data"], [f"{name} {what}" for name in settings for what in ("err", "s")])
    for name in CENTER_SETS:
        cells = []
        for options in settings.values():
            errors, start = [], time.process_time()
            for X, y, X_test, y_test in split_rows(name, 3):
                model = InformativeComponents(**options).fit(X, y)
                errors.append(1 - model.score(X_test, y_test))
            cells += [f"{np.mean(errors):.3f}", f"{(time.process_time() - start) / 3:.2f}"]
        table.add_row(name, *cells, "")
    show(
        console,
        "Informative components by their centers",
        table,
        "Mean test errors and processor seconds of three splits, the default number of components.",
    )
    return True


def show_center_memory(console: Console) -> bool:
    """Peak memory of centers="samples" by the number of samples; bound: it grows linearly."""
    table = make_table(["rows x columns"], ["peak MB", "seconds", "evaluations"])
    rng, peaks = np.random.default_rng(0), []
    for n_rows in (1000, 2000, 4000):
        X, y = rng.normal(size=(n_rows, 36)), np.arange(n_rows) % 6
        X[:, :5] += np.eye(6)[y][:, :5] * 2
        tracemalloc.start()
        start = time.process_time()
        model = InformativeComponents(5, centers="samples", max_iter=20).fit(X, y)
        seconds, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        peaks.append(peak)
        table.add_row(
            f"{n_rows} x 36", f"{peak / 2**20:.0f}", f"{seconds:.1f}", f"{model.n_evaluations_}", ""
        )
    show(
        console,
        'Memory of centers="samples"',
        table,
        "Peak of tracemalloc in a fit with at most 20 iterations.",
    )
    return peaks[-1] < 4.4 * peaks[0]


def count_decreases(curve: list[float]) -> int:
    """Iterations at which the likelihood decreased."""
    return int(np.sum(np.diff(curve) > 0))


def show_alternation(console: Console) -> bool:
    """Decreases of the classification likelihood by the alternation, and final values of both."""
    table = make_table(
        ["data", "Gaussians, axes"],
        ["iterations", "decreases", "start", "best", "end", "OPGD", "decreases"],
    )
    for name in ALTERNATION_SETS:
        X, y, *_ = next(split_rows(name, 1))
        for n_subclasses, n_components in ((1, 2), (1, 5), (3, 2), (3, 5)):
            settings: dict[str, Any] = {
                "n_components": n_components,
                "n_subclasses": n_subclasses,
            }
            curve = AlternatingComponents(**settings).fit(X, y).loss_curve_
            reference = OPGDClassifier(**settings, ridge=0, init="lda").fit(X, y).loss_curve_
            values = [-curve[0], -min(curve), -curve[-1], -reference[-1]]
            table.add_row(
                name,
                f"{n_subclasses}, {n_components}",
                str(len(curve) - 1),
                str(count_decreases(curve)),
                *[f"{value:.3f}" for value in values],
                str(count_decreases(reference)),
                "",
            )
    show(
        console,
        "Alternating optimization",
        table,
        "Mean log posterior of the training rows. Both start from the LDA axes; with several "
        "Gaussians, only the alternation runs EM on the axes, OPGD keeps the k-means clusters.",
    )
    return True


def show_neighbors(console: Console) -> bool:
    """All tables about neighboring methods."""
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = (
            show_kernels,
            show_kernels_of_ks,
            show_centers,
            show_center_memory,
            show_alternation,
        )
        kept = [part(console) for part in parts]
    return all(kept)
