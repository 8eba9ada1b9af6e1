"""Uniform outliers among the samples of a data set: how many are found, and how many others."""

import warnings
from collections.abc import Iterator

import numpy as np
from rich.console import Console
from sklearn.datasets import load_breast_cancer

from benchmarks.cluster_methods import R_TABLES, has_mclust, load_r_table
from benchmarks.data import DataSet, load
from benchmarks.harness import make_table, one_blas_thread, show, verdict
from opgd import OPGDMixture
from opgd.core.types import AnyArray, FloatArray

NAMES = ["seeds", "image_seg", "satellite", "iris", "vowel", "forest", "wine", "glass"]
SHARE = 0.05
"""Number of outliers, as a share of the number of samples."""
N_DRAWS = 5
LEAST_FOUND, MOST_FALSE = 0.9, 0.02
"""Bounds on the shares of outliers and of other samples that are labeled as noise."""
LEAST_SETS = 3
"""Number of data sets on which both bounds must be kept."""


def load_tables() -> Iterator[tuple[str, DataSet]]:
    """Yield the names and samples of the data sets; those of R packages only with R."""
    for name in NAMES:
        yield name, load(name)
    yield "breast cancer", DataSet(*load_breast_cancer(return_X_y=True))
    if has_mclust():
        for name in R_TABLES:
            yield name, load_r_table(name)


def add_outliers(X: FloatArray, seed: int) -> tuple[FloatArray, AnyArray]:
    """Add uniform outliers in the ranges of the features; return samples and which are outliers."""
    rng, n_outliers = np.random.default_rng(seed), max(1, round(SHARE * len(X)))
    outliers = rng.uniform(X.min(axis=0), X.max(axis=0), (n_outliers, X.shape[1]))
    return np.vstack([X, outliers]), np.arange(len(X) + n_outliers) >= len(X)


def measure(data: DataSet, seed: int) -> tuple[float, float, float, float]:
    """Return the shares found and falsely found, that of the noise, and the fewest degrees."""
    X, outlying = add_outliers(data.X, seed)
    model = OPGDMixture(len(np.unique(data.y)), noise=True, random_state=0).fit(X)
    found = model.labels_ == -1
    shares = float(np.mean(found[outlying])), float(np.mean(found[~outlying]))
    return *shares, model.noise_share_, float(model.noise_degrees_.min())


def show_noise(console: Console) -> bool:
    """Outliers found with the number of clusters given; False if too few sets keep the bounds."""
    table = make_table(
        ["data set"], ["samples", "features", "found", "false", "share", "fewest degrees"]
    )
    n_kept = 0
    for name, data in load_tables():
        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            means = np.mean([measure(data, seed) for seed in range(N_DRAWS)], axis=0)
        kept = bool(means[0] >= LEAST_FOUND and means[1] <= MOST_FALSE)
        n_kept += kept
        cells = [f"{mean:.3f}" for mean in means[:3]]
        sizes = [str(size) for size in data.X.shape]
        table.add_row(name, *sizes, *cells, f"{means[3]:.1f}", verdict(kept, "not kept"))
    how = (
        f"OPGDMixture(noise=True), number of classes given; {SHARE:.0%} uniform outliers are added "
        f"in the ranges of the features, {N_DRAWS} draws. Found: share of the outliers with label "
        f"-1, bound {LEAST_FOUND}; false: share of the samples of the data set, bound {MOST_FALSE};"
        f" on {LEAST_SETS} sets. Share: estimated share of noise, {SHARE / (1 + SHARE):.3f} in "
        "truth. Fewest degrees of freedom of a cluster."
    )
    show(console, "Outliers as noise", table, how)
    return n_kept >= LEAST_SETS
