"""Kernel discriminant analysis and kernel naive Bayes beside those of R's `ks`.

`ks` selects its bandwidths by plug-in: a matrix for each class in up to six dimensions (`Hkda`, as
in `kda`, which returns no densities of new samples), and a number for each class and feature
(`hpi`).
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from scipy.special import logsumexp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import make_table, show
from benchmarks.r import TooSlowError, has_r_package, run_r
from opgd.baselines import KernelDiscriminantAnalysis, KernelNaiveBayes
from opgd.core.types import AnyArray, FloatArray

MAX_DIMENSIONS = 6
"""Number of dimensions up to which `ks` selects bandwidths."""
MAX_SECONDS = 120
"""Processor time that R may use for one data set."""
LEAST = 1e-15
"""Smallest probability that counts in a log-loss."""
READ = """
suppressMessages(library(ks))
d <- as.matrix(read.csv("{train}", header = FALSE))
z <- as.matrix(read.csv("{test}", header = FALSE))
y <- d[, 1]; x <- d[, -1, drop = FALSE]
"""
JOINT = """
H <- Hkda(x, y); d <- ncol(x)
out <- sapply(seq_along(unique(y)), function(k) {
  one <- x[y == sort(unique(y))[k], , drop = FALSE]
  h <- H[(k - 1) * d + 1:d, ]
  log(nrow(one) / nrow(x)) + log(kde(one, H = h, eval.points = z, binned = FALSE)$estimate)
})
"""
NAIVE = """
out <- sapply(sort(unique(y)), function(k) {
  one <- x[y == k, , drop = FALSE]
  log(nrow(one) / nrow(x)) + rowSums(sapply(seq_len(ncol(x)), function(j)
    log(pmax(kde(one[, j], h = hpi(one[, j]), eval.points = z[, j], binned = FALSE)$estimate, 0))))
})
"""
WRITE = 'write.table(out, sep = ",", row.names = FALSE, col.names = FALSE)'

Split = tuple[FloatArray, AnyArray, FloatArray, AnyArray]


def run_ks(script: str, X: FloatArray, codes: AnyArray, X_test: FloatArray) -> FloatArray:
    """Return the log joints that a script computes for test samples, (n, K)."""
    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder) / "train.csv", Path(folder) / "test.csv"
        np.savetxt(train, np.column_stack([codes, X]), delimiter=",")
        np.savetxt(test, X_test, delimiter=",")
        printed = run_r(READ.format(train=train, test=test) + script + WRITE, MAX_SECONDS)
    lines = [line.split(",") for line in printed.split()]
    return np.array(lines, dtype=np.float64)


def measure_joints(joints: FloatArray, codes: AnyArray, priors: FloatArray) -> list[float]:
    """Return error rate and log-loss; samples without a density have the priors."""
    known = np.isfinite(joints).any(axis=1, keepdims=True)
    joints = np.where(known, joints, np.log(priors))
    posteriors = np.exp(joints - logsumexp(joints, axis=1, keepdims=True))
    correct = np.maximum(posteriors[np.arange(len(codes)), codes], LEAST)
    return [float(np.mean(posteriors.argmax(axis=1) != codes)), float(-np.log(correct).mean())]


def reduce_samples(X: FloatArray, X_test: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the first principal components of standardized features, at most six."""
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    pca = PCA(min(MAX_DIMENSIONS, X.shape[1])).fit(X)
    return pca.transform(X), pca.transform(X_test)


def select_varying(
    X: FloatArray, codes: AnyArray, X_test: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Leave out features for which the plug-in bandwidth of a class can be zero.

    These are features in which half of the samples of a class have the same value.
    """
    varying = [
        all(_is_spread(X[codes == k, j]) for k in np.unique(codes)) for j in range(X.shape[1])
    ]
    return X[:, varying], X_test[:, varying]


def _is_spread(values: FloatArray) -> bool:
    counts = np.unique(values, return_counts=True)[1]
    return bool(2 * counts.max() < len(values))


def compare_split(split: Split) -> list[str]:
    """Return numbers of dimensions, errors and log-losses of both methods and of those of `ks`."""
    X, y, X_test, y_test = split
    classes, codes = np.unique(y, return_inverse=True)
    test_codes, priors = np.searchsorted(classes, y_test), np.bincount(codes) / len(codes)
    methods: list[tuple[Callable[[], object], str, tuple[FloatArray, FloatArray]]] = [
        (KernelDiscriminantAnalysis, JOINT, reduce_samples(X, X_test)),
        (KernelNaiveBayes, NAIVE, select_varying(X, codes, X_test)),
    ]
    cells = []
    for make_model, script, (train, test) in methods:
        cells.append(str(train.shape[1]))
        if not train.shape[1]:
            cells += ["-"] * 4
            continue
        model = make_model().fit(train, codes)  # type: ignore[attr-defined]
        joints = np.log(np.maximum(model.predict_proba(test), LEAST))
        cells += _format(measure_joints(joints, test_codes, priors))
        try:
            joints = run_ks(script, train, codes, test)
            cells += _format(measure_joints(joints, test_codes, priors))
        except TooSlowError:
            cells += ["slow", "slow"]
        except RuntimeError:
            cells += ["fails", "fails"]
    return cells


def _format(values: list[float]) -> list[str]:
    return [f"{value:.3f}" for value in values]


def show_ks(console: Console, splits: dict[str, Split]) -> bool:
    """Both kernel methods beside `ks`, on a training and a test part of each data set."""
    title = "Kernel methods beside R's ks"
    if not has_r_package("ks"):
        console.print(f"\n{title}: skipped, since Rscript or its package ks is not installed.")
        return True
    columns = ["error", "log-loss", "ks error", "log-loss"]
    table = make_table(["data"], ["KDA dim.", *columns, "KNB dim.", *columns])
    for name, split in splits.items():
        table.add_row(name, *compare_split(split), "")
    how = (
        f"KDA and that of ks (Hkda) on the first {MAX_DIMENSIONS} principal components of "
        "standardized features (all, if there are fewer); KNB and that of ks (hpi) on the features "
        "in which no value is that of half of a class. ks uses its own plug-in bandwidths, and "
        f"at most {MAX_SECONDS} s for each (slow). It fails where classes have too few samples."
    )
    show(console, title, table, how)
    return True
