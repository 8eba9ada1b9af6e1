"""One form of a data set whatever its source: the paper's rows, labels and order, or an error.

A class is known by a digest of its rows, so neither the order of the rows nor the names that a
source gives the classes matter. It is a digest of whole numbers, steps on a grid, which copies
written with more digits or fewer have in common.
"""

import hashlib

import numpy as np
import numpy.typing as npt

from opgd.datasets._catalogue import DatasetInfo
from opgd.datasets._digests import CLASS_DIGESTS, VOWEL_DIGEST
from opgd.datasets._errors import DatasetMismatchError
from opgd.datasets._tables import FloatArray, Strings, Table

# Steps to the unit, and a shift of the grid. Copies of image_seg have six or more digits: on its
# grid no number lies nearer to a step than three times the rounding to six digits.
GRIDS = {"image_seg": (18.0, 0.56)}
GRID = (1e6, 0.5)
LARGEST_NUMBER = 1e9  # on the grid it still fits an integer


def canonical(info: DatasetInfo, table: Table) -> tuple[FloatArray, Strings]:
    """Rows in the one order, with the one set of labels.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    target : ndarray of shape (n_samples,), strings

    Raises
    ------
    DatasetMismatchError
        With what differs from the paper's data.
    """
    X = fill_missing(info, table.numbers)
    check_size(info, X, table.labels)
    grid = on_grid(info, X)
    classes = match_classes(info, grid, table.labels)  # (n_samples,), positions among the labels
    order = row_order(info, X, grid, classes)
    return X[order], np.array(list(CLASS_DIGESTS[info.name]), dtype=str)[classes[order]]


def fill_missing(info: DatasetInfo, X: FloatArray) -> FloatArray:
    """The mean of the known ages for dermatology's unknown ones, as the paper's author does."""
    if info.name != "dermatology" or X.size == 0:
        return X
    unknown = np.isnan(X[:, -1])
    if unknown.all():
        return X
    filled = X.copy()
    filled[unknown, -1] = X[~unknown, -1].mean()
    return filled


def check_size(info: DatasetInfo, X: FloatArray, labels: Strings) -> None:
    """Number of rows, columns and classes, and that all are numbers."""
    found = (*X.shape, len(np.unique(labels)))
    wanted = (info.n_samples, info.n_features, info.n_classes)
    if found != wanted:
        raise DatasetMismatchError(
            f"it has {found[0]} rows, {found[1]} columns and {found[2]} classes, "
            f"the paper's {info.title} has {wanted[0]}, {wanted[1]} and {wanted[2]}"
        )
    n_missing = int(np.isnan(X).sum())
    if n_missing or np.abs(X).max() > LARGEST_NUMBER:
        what = f"{n_missing} numbers are missing" if n_missing else "some numbers are huge"
        raise DatasetMismatchError(f"{what}, the paper's {info.title} is complete")


def on_grid(info: DatasetInfo, X: FloatArray) -> npt.NDArray[np.int64]:
    """Whole numbers that copies of the data share, whatever digits they are written with."""
    steps, shift = GRIDS.get(info.name, GRID)
    return np.floor(X * steps + shift).astype("<i8")


def digest(rows: npt.NDArray[np.int64]) -> str:
    """Sixteen hexadecimal digits for rows in this order."""
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()[:16]


def class_digest(rows: npt.NDArray[np.int64]) -> str:
    """The same for any order of the rows."""
    return digest(rows[np.lexsort(rows.T[::-1])])


def match_classes(
    info: DatasetInfo, grid: npt.NDArray[np.int64], labels: Strings
) -> npt.NDArray[np.intp]:
    """Position of each row's class among the paper's, found by what is in the class."""
    known = {own: place for place, own in enumerate(CLASS_DIGESTS[info.name].values())}
    names, codes = np.unique(labels, return_inverse=True)
    places = [known.get(class_digest(grid[codes == code]), -1) for code in range(len(names))]
    strange = [str(name) for name, place in zip(names, places, strict=True) if place < 0]
    if strange:
        raise DatasetMismatchError(
            f"the rows of {len(strange)} of its {info.n_classes} classes ({', '.join(strange)}) "
            f"are not those of the paper's {info.title}"
        )
    if len(set(places)) < len(places):
        raise DatasetMismatchError("two of its classes have the same rows")
    return np.array(places)[codes]


def row_order(
    info: DatasetInfo,
    X: FloatArray,
    grid: npt.NDArray[np.int64],
    classes: npt.NDArray[np.intp],
) -> npt.NDArray[np.intp]:
    """Sorted by the columns, then shuffled, always alike; vowel's is its own.

    The grid comes before the numbers: copies with fewer digits are to be sorted alike. Sorted rows
    would be a trap: cross-validation without shuffling leaves out a range of the first column.
    """
    if info.name == "vowel":
        if digest(grid) != VOWEL_DIGEST:
            raise DatasetMismatchError(
                "its rows are those of the paper's Vowel in another order, and speakers and split "
                "are known by position only"
            )
        return np.arange(len(X))
    in_order = np.lexsort((classes, *X.T[::-1], *grid.T[::-1]))
    return in_order[np.random.RandomState(0).permutation(len(X))]
