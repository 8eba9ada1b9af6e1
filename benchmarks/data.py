"""Data sets of the folder OPGD_DATA, two that scikit-learn ships, and simulated rows."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits

from opgd.core.types import AnyArray, FloatArray, IntArray

VARIABLE = "OPGD_DATA"
NOT_FEATURES = ["target", "speaker", "split"]
NAMES = [
    "wine",
    "iris",
    "vowel",
    "satellite",
    "image_seg",
    "opt_digits",
    "pen_digits",
    "texture",
    "libras",
    "forest",
    "yeast",
    "glass",
    "dermatology",
    "seeds",
    "mf_digits",
]
"""The fifteen data sets, in the order of the paper's table."""
MORE = [
    "more/breast_tissue",
    "more/cardiotocography",
    "more/dry_bean",
    "more/frogs",
    "more/htru2",
    "more/messidor",
    "more/parkinsons",
    "more/raisin",
    "more/rice",
    "more/robot_navigation",
    "more/steel_plates",
    "more/wifi",
    "more/wine_quality_red",
]
"""Data sets of the folder `more`, on which nothing was tuned."""
FEW_ROWS = 4096
BUNDLED = {"breast cancer": load_breast_cancer, "digits": load_digits}
"""Data sets that scikit-learn ships, without those of the paper."""


class DataMissingError(Exception):
    """The sentence that tells what to set."""


@dataclass(frozen=True)
class DataSet:
    """Rows and labels; `split` says "train" or "test" of each row where its source does."""

    X: FloatArray  # (n_samples, n_features)
    y: AnyArray  # (n_samples,)
    split: AnyArray | None = None  # (n_samples,)
    speaker: AnyArray | None = None  # (n_samples,), of Vowel

    def part(self, split: str) -> "DataSet":
        """The rows of one part."""
        if self.split is None:
            raise ValueError("These data have no parts.")
        own = self.split == split
        speaker = None if self.speaker is None else self.speaker[own]
        return DataSet(self.X[own], self.y[own], speaker=speaker)


def load(name: str) -> DataSet:
    """Return a data set of scikit-learn, or read ``<name>.csv.gz`` or ``<name>.csv``.

    Files have a header, numeric columns, and ``target``.
    """
    if name in BUNDLED:
        return DataSet(*BUNDLED[name](return_X_y=True))
    table = pd.read_csv(_find(name))
    X = table.drop(columns=NOT_FEATURES, errors="ignore").to_numpy(np.float64)
    split = table["split"].to_numpy() if "split" in table else None
    speaker = table["speaker"].to_numpy() if "speaker" in table else None
    return DataSet(X, table["target"].to_numpy(), split, speaker)


def load_standardized(name: str) -> DataSet:
    """Columns of mean zero and variance one (divisor n); constant ones are zero."""
    data = load(name)
    centered = data.X - data.X.mean(axis=0)
    spread = centered.std(axis=0)
    constant = np.ptp(data.X, axis=0) == 0
    return DataSet(np.where(constant, 0.0, centered / np.where(constant, 1.0, spread)), data.y)


def _find(name: str) -> Path:
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise DataMissingError(
            f"Set {VARIABLE} to the folder that holds the paper's data sets "
            f"(files like {name}.csv.gz) to fit them."
        )
    for path in (Path(folder) / f"{name}{ending}" for ending in (".csv.gz", ".csv")):
        if path.is_file():
            return path
    raise DataMissingError(
        f"Set {VARIABLE} to a folder that holds all of the paper's data sets: "
        f"there is no {name}.csv.gz in {folder}."
    )


@dataclass(frozen=True)
class Recipe:
    """Classes with means and spreads of their own; a block of rows is a function of its number."""

    n_columns: int
    n_classes: int
    dtype: Any = np.float64
    distance: float = 0.5
    """Standard deviation of a column's means."""

    @property
    def means(self) -> FloatArray:
        """Of the classes, (n_classes, n_columns)."""
        rng = np.random.default_rng(0)
        return self.distance * rng.normal(size=(self.n_classes, self.n_columns))

    @property
    def spreads(self) -> FloatArray:
        """Standard deviations of columns in the classes, (n_classes, n_columns)."""
        return np.random.default_rng(1).uniform(0.7, 1.4, (self.n_classes, self.n_columns))

    def labels(self, number: int, n_rows: int) -> IntArray:
        """Labels of one block, (n_rows,)."""
        return np.random.default_rng([2, number]).integers(0, self.n_classes, n_rows)

    def rows(self, number: int, n_rows: int) -> AnyArray:
        """One block, (n_rows, n_columns)."""
        labels = self.labels(number, n_rows)
        rng = np.random.default_rng([3, number])
        X = rng.standard_normal((n_rows, self.n_columns), dtype=self.dtype)
        means, spreads = self.means.astype(self.dtype), self.spreads.astype(self.dtype)
        for first in range(0, n_rows, FEW_ROWS):  # so that no other array of this size is made
            few = slice(first, first + FEW_ROWS)
            X[few] *= spreads[labels[few]]
            X[few] += means[labels[few]]
        return X

    def fill(self, X: AnyArray, labels: AnyArray, block_rows: int, number: int = 0) -> None:
        """Write blocks of `block_rows` rows into arrays or memory maps, from `number` on."""
        for first in range(0, len(X), block_rows):
            n_rows = min(block_rows, len(X) - first)
            X[first : first + n_rows] = self.rows(number, n_rows)
            labels[first : first + n_rows] = self.labels(number, n_rows)
            number += 1

    def made(self, n_rows: int, block_rows: int, number: int = 0) -> tuple[AnyArray, IntArray]:
        """So many rows and labels in memory."""
        X, labels = np.empty((n_rows, self.n_columns), self.dtype), np.empty(n_rows, np.intp)
        self.fill(X, labels, block_rows, number)
        return X, labels

    def made_labels(self, n_rows: int, block_rows: int, number: int = 0) -> IntArray:
        """The labels alone."""
        lengths = [min(block_rows, n_rows - first) for first in range(0, n_rows, block_rows)]
        return np.concatenate([self.labels(number + i, own) for i, own in enumerate(lengths)])
