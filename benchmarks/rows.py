"""Rows of Gaussian classes from a recipe: the same in memory, on disk and on workers."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray

FEW_ROWS = 4096


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
