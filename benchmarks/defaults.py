"""Test error and log-loss of OPGDClassifier with default arguments, now and in 0.1.0."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks.data import NAMES, DataSet, load
from benchmarks.harness import make_table, one_blas_thread, show, verdict
from opgd import OPGDClassifier
from opgd.core.types import FloatArray

N_SPLITS, N_OTHER_SPLITS = 20, 10
LEAST_GAIN = 0.25
"""Bound on the share of the mean log-loss that is saved."""
TOLERATED, TOLERATED_DEVIATIONS = 0.005, 3.0
"""Error that a data set may lose: this much, or this many standard errors of the difference."""
OLD: dict[str, Any] = {"ridge": 0.0, "init": ("lda", "pca")}
"""The default arguments of 0.1.0."""
DEFAULTS: dict[str, Any] = {}
OTHERS = [
    "breast_tissue",
    "cardiotocography",
    "dry_bean",
    "frogs",
    "htru2",
    "messidor",
    "parkinsons",
    "raisin",
    "rice",
    "robot_navigation",
    "steel_plates",
    "wifi",
    "wine_quality_red",
]
"""Data sets on which nothing was tuned."""


@dataclass(frozen=True)
class Comparison:
    """Errors and log-losses of 0.1.0 and of now, (n_splits, 2, 2)."""

    results: FloatArray

    @property
    def means(self) -> FloatArray:
        """Return mean errors and log-losses, (2, 2): first 0.1.0, then now."""
        means: FloatArray = self.results.mean(axis=0)
        return means

    @property
    def tolerable(self) -> bool:
        """Return whether the error is not worse than chance would explain."""
        steps = self.results[:, 1, 0] - self.results[:, 0, 0]
        deviation = steps.std(ddof=1) / np.sqrt(len(steps))
        return bool(steps.mean() <= max(TOLERATED, TOLERATED_DEVIATIONS * deviation))


def compare_defaults(data: DataSet, n_components: int, n_splits: int) -> Comparison:
    """Fit both to random halves of the samples, and evaluate them on the other halves."""
    splits = StratifiedShuffleSplit(n_splits, train_size=0.5, random_state=0)
    results = []
    for train, test in splits.split(data.X, data.y):
        both = []
        for arguments in (OLD, DEFAULTS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = OPGDClassifier(n_components, **arguments).fit(data.X[train], data.y[train])
            posteriors = model.predict_proba(data.X[test])
            error = np.mean(model.classes_[posteriors.argmax(axis=1)] != data.y[test])
            both.append([error, log_loss(data.y[test], posteriors, labels=model.classes_)])
        results.append(both)
    return Comparison(np.array(results))


def show_defaults(console: Console) -> bool:
    """The paper's data sets, on which the defaults were chosen."""
    return _show(console, NAMES, N_SPLITS)


def show_other_defaults(console: Console) -> bool:
    """Data sets on which the defaults were not chosen, from the folder `more`."""
    return _show(console, [f"more/{name}" for name in OTHERS], N_OTHER_SPLITS)


def _show(console: Console, names: list[str], n_splits: int) -> bool:
    headings = ["error, 0.1.0", "now", "log-loss, 0.1.0", "now"]
    table = make_table(["data set", "components"], headings)
    all_kept = True
    totals: dict[str, list[FloatArray]] = {"2": [], "K-1": []}
    with one_blas_thread():
        for name in names:
            data = load(name)
            n_classes, n_features = len(np.unique(data.y)), data.X.shape[1]
            for label, q in {"2": 2, "K-1": max(1, n_classes - 1)}.items():
                comparison = compare_defaults(data, min(q, n_features), n_splits)
                (error, loss), (new_error, new_loss) = comparison.means
                totals[label].append(comparison.means)
                all_kept &= comparison.tolerable
                table.add_row(
                    name,
                    label,
                    *[f"{number:.4f}" for number in (error, new_error)],
                    *[f"{number:.3f}" for number in (loss, new_loss)],
                    "" if comparison.tolerable else verdict(False),
                )
    for label, means in totals.items():
        (error, loss), (new_error, new_loss) = np.mean(means, axis=0)
        kept = bool(new_error < error and new_loss <= (1 - LEAST_GAIN) * loss)
        all_kept &= kept
        numbers = [f"{error:.4f}", f"{new_error:.4f}", f"{loss:.3f}", f"{new_loss:.3f}"]
        table.add_row("mean", label, *numbers, verdict(kept))
    show(
        console,
        "OPGDClassifier with default arguments",
        table,
        f"Means of {n_splits} random halves. Bounds: mean log-loss {LEAST_GAIN:.0%} lower, mean "
        f"error lower, no data set worse in error by more than {TOLERATED} or "
        f"{TOLERATED_DEVIATIONS:g} standard errors of the paired difference.",
    )
    return all_kept
