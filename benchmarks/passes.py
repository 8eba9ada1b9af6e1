"""Passes over the rows until a fit is as good as converged, with samples first and without."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import make_table, one_blas_thread, scaled, show, verdict
from opgd import DataWarning, OPGDClassifier
from opgd.core.engines import RowEngine
from opgd.core.kernels import KernelSums
from opgd.core.types import AnyArray, FloatArray
from opgd.datasets import load_dataset

DATA_SETS = ["satellite", "pen_digits", "opt_digits", "texture"]
N_ROWS = 200_000
LEAST_ROWS = 100_000
"""Fits of fewer rows do not begin on samples."""
NOISE = 0.05
"""Standard deviations of a column that are added to resampled rows."""
MOST_AXES = 9
WITHIN = 1e-5
MOST_RATIO = 0.45
VALUE_TOLERANCE = 1e-6
"""How far the end value may be below that of plain L-BFGS: the last digit that is printed."""


@dataclass
class Reading:
    """What engines have read, in passes over all rows, and the values they found."""

    n_rows: int
    passes: float = 0.0
    sample_passes: float = 0.0
    """Those of them on samples."""
    values: list[tuple[float, float]] = field(default_factory=list)
    """Passes so far and mean objective, after every evaluation on all rows."""

    def passes_to(self, value: float) -> float:
        """Passes until an evaluation on all rows was that good."""
        return next((passes for passes, own in self.values if own >= value), np.inf)


@contextmanager
def watched(n_rows: int) -> Iterator[Reading]:
    """Watch every pass over rows in memory while a block of code runs."""
    reading, plain = Reading(n_rows), RowEngine.sum

    def counted(self: RowEngine, function: Callable[..., Any], width: int = 0) -> Any:
        sums = plain(self, function, width)
        reading.passes += self.n_samples / n_rows
        if self.n_samples != n_rows:
            reading.sample_passes += self.n_samples / n_rows
        elif isinstance(sums, KernelSums):
            reading.values.append((reading.passes, sums.value / n_rows))
        return sums

    with mock.patch.object(RowEngine, "sum", counted):
        yield reading


@dataclass(frozen=True)
class Fit:
    """Passes of a fit until nearly its end, of all of it, and where it ended."""

    passes: float
    all_passes: float
    sample_passes: float
    value: float
    converged: bool

    @property
    def numbers(self) -> list[str]:
        unfinished = "" if self.converged else "*"
        return [f"{self.passes:.1f}", f"{self.all_passes:.1f}", f"{self.value:.6f}{unfinished}"]


def enlarged(name: str, n_rows: int) -> tuple[FloatArray, AnyArray]:
    """Rows of a data set drawn again and again, each with a little noise of its own."""
    data = load_dataset(name)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(data.data), n_rows)
    noise = rng.normal(size=(n_rows, data.data.shape[1]))
    return data.data[drawn] + NOISE * data.data.std(axis=0) * noise, data.target[drawn]


def measure(X: FloatArray, y: AnyArray, *, subsample: bool) -> Fit:
    """A default fit, or without `subsample` plain L-BFGS from the better of two starts.

    Passes end where the value is within `WITHIN` of where the fit ends.
    """
    init = "auto" if subsample else ("lda", "pca")
    model = OPGDClassifier(min(len(np.unique(y)) - 1, MOST_AXES), init=init, subsample=subsample)
    with watched(len(X)) as reading, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said with a star
        warnings.simplefilter("ignore", DataWarning)  # constant columns
        model.fit(X, y)
    end = model.log_likelihood_ / len(X)
    return Fit(
        reading.passes_to(end - WITHIN),
        reading.passes,
        reading.sample_passes,
        end,
        model.converged_,
    )


def run(console: Console, scale: float) -> bool:
    """Print passes of both for every data set; False if a bound is not kept.

    Bounds: the mean ratio, and for every data set an end value no lower than plain's.
    """
    columns = ["plain", "all", "end value", "samples\nfirst", "all", "end value"]
    columns += ["on\nsamples", "ratio", "bound"]
    table = make_table(["data set"], columns)
    ratios, all_kept = [], True
    n_rows = scaled(N_ROWS, scale, LEAST_ROWS)
    with one_blas_thread():
        for name in DATA_SETS:
            X, y = enlarged(name, n_rows)
            plain, sampled = (measure(X, y, subsample=own) for own in (False, True))
            ratios.append(sampled.passes / plain.passes)
            numbers = [*plain.numbers, *sampled.numbers]
            numbers += [f"{sampled.sample_passes:.1f}", f"{ratios[-1]:.2f}"]
            as_high = sampled.value >= plain.value - VALUE_TOLERANCE
            all_kept &= as_high
            remark = verdict(as_high, "lower")
            table.add_row(f"{name}, {X.shape[1]} columns", *numbers, "", remark)
    mean = float(np.exp(np.mean(np.log(ratios))))
    kept = mean <= MOST_RATIO
    blank = [""] * 7
    table.add_row("geometric mean", *blank, f"{mean:.2f}", f"{MOST_RATIO:.2f}", verdict(kept))
    show(
        console,
        f"Passes to within {WITHIN:g} of the end, {n_rows} rows of each set",
        table,
        "Rows read / all rows, moments and samples included. OPGDClassifier("
        f"min(K - 1, {MOST_AXES})), samples first; plain: init=('lda', 'pca'), subsample=False. "
        "Each is measured against its own end, and these may be different optima; "
        f'"lower": the end with samples first is more than {VALUE_TOLERANCE:g} below that of '
        "plain. "
        '"all": passes of the whole fit, ordering of the axes included. '
        f"Rows: resampled, with noise of {NOISE} standard deviations. "
        "*: not converged after max_iter.",
    )
    return kept and all_kept
