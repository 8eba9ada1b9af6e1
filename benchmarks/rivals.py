"""SQFA (arXiv 2502.00168), the closest method with an implementation in Python, beside OPGD.

Its features maximize the Fisher-Rao distances between Gaussian classes, and QDA classifies on them.
The package `sqfa` needs PyTorch and is optional: without it, only OPGD is fitted.
"""

import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.data import NAMES
from benchmarks.harness import make_table, one_blas_thread, show
from benchmarks.neighbors import error_and_loss, split_rows
from opgd import OPGDClassifier
from opgd.baselines import RegularizedDiscriminantAnalysis
from opgd.core.types import AnyArray, FloatArray

N_SPLITS = 2
MOST_COMPONENTS = 6
FEATURE_NOISE = 0.01
"""Variance that SQFA adds to its features, which are linear in standardized columns."""
MISSING = (
    "The package sqfa is not installed, so that its columns are empty: "
    "pip install torch sqfa (in an environment of its own)."
)


def find_sqfa() -> tuple[Any, Any] | None:
    """Return the packages sqfa and torch, or None if they are not installed."""
    try:
        sqfa, torch = import_module("sqfa"), import_module("torch")
    except ImportError:
        return None
    torch.set_num_threads(1)
    return sqfa, torch


class SQFAClassifier:
    """QDA on the features of SQFA, from standardized columns."""

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def fit(self, X: FloatArray, y: AnyArray) -> "SQFAClassifier":
        """Fit the features from their principal components on, and QDA."""
        packages = find_sqfa()
        assert packages is not None
        sqfa, torch = packages
        self.varies = X.std(axis=0) > 0
        self.center, self.scale = X[:, self.varies].mean(axis=0), X[:, self.varies].std(axis=0)
        Z = torch.as_tensor(self._standardize(X), dtype=torch.float32)
        codes = torch.as_tensor(np.unique(y, return_inverse=True)[1])
        model = sqfa.model.SQFA(Z.shape[1], FEATURE_NOISE, n_filters=self.n_components)
        with redirect_stdout(StringIO()):  # the package prints why it stops
            model.fit_pca(X=Z)
            model.fit(X=Z, y=codes, estimator="oas", show_progress=False)
        self.filters = model.filters.detach().numpy().astype(np.float64)
        self.qda = RegularizedDiscriminantAnalysis(alpha=1.0).fit(self._transform(X), y)
        self.classes_ = self.qda.classes_
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Predict class probabilities."""
        return np.asarray(self.qda.predict_proba(self._transform(X)))

    def _standardize(self, X: FloatArray) -> FloatArray:
        return np.asarray((X[:, self.varies] - self.center) / self.scale)

    def _transform(self, X: FloatArray) -> FloatArray:
        return self._standardize(X) @ self.filters.T


Maker = Callable[[int], Any]
METHODS: dict[str, Maker] = {
    "OPGD": lambda n_components: OPGDClassifier(n_components),
    "OPGD full": lambda n_components: OPGDClassifier(n_components, covariance_type="full"),
    "SQFA": SQFAClassifier,
}


@dataclass(frozen=True)
class Outcome:
    """Means over the splits of a set."""

    error: float
    log_loss: float
    seconds: float  # of the processor


def measure(make: Maker, name: str, n_components: int) -> Outcome:
    """Fit a method to the splits of a set."""
    results = []
    for X, y, X_test, y_test in split_rows(name, N_SPLITS):
        start = time.process_time()
        model = make(n_components).fit(X, y)
        seconds = time.process_time() - start
        results.append((*error_and_loss(model, X_test, y_test), seconds))
    return Outcome(*np.mean(results, axis=0))


def count_components(name: str) -> int:
    """Return the number of components of all methods, that of OPGD up to a bound."""
    X, y, *_ = next(split_rows(name, 1))
    return min(X.shape[1], max(2, len(np.unique(y)) - 1), MOST_COMPONENTS)


def show_rivals(console: Console) -> bool:
    """Error, log-loss and seconds of SQFA with QDA and of OPGD on the fifteen sets."""
    available = find_sqfa() is not None
    methods = {name: make for name, make in METHODS.items() if available or name != "SQFA"}
    headings = [heading for name in METHODS for heading in (name, "loss", "s")]
    table = make_table(["data", "axes"], headings)
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in NAMES:
            n_components, cells = count_components(name), []
            for method in METHODS:
                if method not in methods:
                    cells += ["", "", ""]
                    continue
                outcome = measure(methods[method], name, n_components)
                cells += [f"{outcome.error:.3f}", f"{outcome.log_loss:.2f}"]
                cells.append(f"{outcome.seconds:.2f}")
            table.add_row(name, str(n_components), *cells, "")
    show(
        console,
        "OPGD and SQFA with as many components",
        table,
        f"Errors, log-losses and seconds of the processor in fit: means of {N_SPLITS} splits of at "
        "most 1200 rows. OPGD full: correlated scores, which QDA on the features also has. SQFA: "
        "standardized columns, PCA start, OAS covariances, QDA on its features. "
        + ("" if available else MISSING),
    )
    return True
