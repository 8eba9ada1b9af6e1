"""Convert data sets from any source to the samples, labels and order used here, or fail.

A class is recognized by a digest of its samples, so that neither their order nor the class names of
a source matter. The digest is computed from values rounded to a grid, which are equal for copies
written with more or fewer digits.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from opgd.datasets._catalogue import DatasetInfo
from opgd.datasets._digests import CLASS_DIGESTS, VOWEL_DIGEST
from opgd.datasets._errors import DatasetMismatchError
from opgd.datasets._tables import FloatArray, Strings, Table

GRID = (1e6, 0.5)  # grid points per unit, and the offset of the grid
# Copies of image_seg have six or more digits: on the grids of its columns, every value is at least
# 2.5 rounding errors (six digits) away from a boundary. A change of 0.031 changes a digest.
_SEGMENT_STEPS = [252, 252, 1e4, 1e4, 1e4, 720, 180, 720, 33, 90, 252, 252, 252, 720, 720, 720]
_SEGMENT_SHIFTS = {3: 0.33, 4: 0.38, 6: 0.34, 8: 0.64, 17: 0.24, 18: 0.2}
GRIDS = {
    "image_seg": (
        np.array([*_SEGMENT_STEPS, 252, 720, 152]),
        np.array([_SEGMENT_SHIFTS.get(column, 0.5) for column in range(19)]),
    )
}
ORDER_GRIDS = {"image_seg": (18.0, 0.56)}  # coarse, for the order of the rows
MAX_VALUE = 1e9  # larger values would overflow int64 on the grid


def to_canonical(info: DatasetInfo, table: Table) -> tuple[FloatArray, Strings]:
    """Return the samples in canonical order, with canonical labels.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    target : ndarray of shape (n_samples,), strings

    Raises
    ------
    DatasetMismatchError
        If the data differ from those of the paper.
    """
    X = fill_missing(info, table.numbers)
    check_size(info, X, table.labels)
    grid = round_to_grid(info, X)
    classes = match_classes(info, grid, table.labels)  # (n_samples,), indices of labels
    order = order_rows(info, X, round_to_grid(info, X, ORDER_GRIDS), classes)
    return X[order], np.array(list(CLASS_DIGESTS[info.name]), dtype=str)[classes[order]]


def fill_missing(info: DatasetInfo, X: FloatArray) -> FloatArray:
    """Return X with missing ages in dermatology set to the mean, as the paper's author does."""
    if info.name != "dermatology" or X.size == 0:
        return X
    unknown = np.isnan(X[:, -1])
    if unknown.all():
        return X
    filled = X.copy()
    filled[unknown, -1] = X[~unknown, -1].mean()
    return filled


def check_size(info: DatasetInfo, X: FloatArray, labels: Strings) -> None:
    """Raise DatasetMismatchError if shape or number of classes differ, or values are missing."""
    actual = (*X.shape, len(np.unique(labels)))
    expected = (info.n_samples, info.n_features, info.n_classes)
    if actual != expected:
        raise DatasetMismatchError(
            f"it has {actual[0]} rows, {actual[1]} columns and {actual[2]} classes, "
            f"but {info.title} in the paper has {expected[0]}, {expected[1]} and {expected[2]}"
        )
    n_missing = int(np.isnan(X).sum())
    if n_missing or np.abs(X).max() > MAX_VALUE:
        if n_missing:
            raise DatasetMismatchError(f"{n_missing} values are missing")
        raise DatasetMismatchError(f"it has values larger than {MAX_VALUE:g}")


def round_to_grid(
    info: DatasetInfo, X: FloatArray, grids: Mapping[str, tuple[Any, Any]] = GRIDS
) -> npt.NDArray[np.int64]:
    """Return integers that are equal for copies of the data with different rounding."""
    steps, shift = grids.get(info.name, GRID)
    return np.floor(X * steps + shift).astype("<i8")


def compute_digest(rows: npt.NDArray[np.int64]) -> str:
    """Return a digest of 16 hexadecimal digits that depends on the order of the rows."""
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()[:16]


def compute_class_digest(rows: npt.NDArray[np.int64]) -> str:
    """Return a digest that does not depend on the order of the rows."""
    return compute_digest(rows[np.lexsort(rows.T[::-1])])


def match_classes(
    info: DatasetInfo, grid: npt.NDArray[np.int64], labels: Strings
) -> npt.NDArray[np.intp]:
    """Return the class index of each row, with classes recognized by the digests of their rows."""
    known = {digest: place for place, digest in enumerate(CLASS_DIGESTS[info.name].values())}
    names, codes = np.unique(labels, return_inverse=True)
    places = [
        known.get(compute_class_digest(grid[codes == code]), -1) for code in range(len(names))
    ]
    unknown = [str(name) for name, place in zip(names, places, strict=True) if place < 0]
    if unknown:
        raise DatasetMismatchError(
            f"the rows of {len(unknown)} of its {info.n_classes} classes ({', '.join(unknown)}) "
            "differ from the data used in the paper"
        )
    if len(set(places)) < len(places):
        raise DatasetMismatchError("two of its classes have the same rows")
    return np.array(places)[codes]


def order_rows(
    info: DatasetInfo,
    X: FloatArray,
    grid: npt.NDArray[np.int64],
    classes: npt.NDArray[np.intp],
) -> npt.NDArray[np.intp]:
    """Return the canonical order: sorted, then shuffled with a fixed seed; vowel is unchanged.

    Rows are sorted by grid values first, so that copies with fewer digits have the same order.
    They are shuffled because cross-validation without shuffling would otherwise hold out ranges
    of the first feature.
    """
    if info.name == "vowel":
        if compute_digest(grid) != VOWEL_DIGEST:
            raise DatasetMismatchError(
                "it has the rows of Vowel in another order, but speakers and split are identified "
                "by position only"
            )
        return np.arange(len(X))
    in_order = np.lexsort((classes, *X.T[::-1], *grid.T[::-1]))
    return in_order[np.random.RandomState(0).permutation(len(X))]
