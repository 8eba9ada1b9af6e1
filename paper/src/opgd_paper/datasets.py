"""The fifteen data sets of the paper, from a folder or from OpenML, equal for both.

A class is recognized by a digest of its samples, so that neither their order nor the class names of
a source matter. The digest is computed from values rounded to a grid, which are equal for copies
written with more or fewer digits.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.datasets import fetch_openml
from sklearn.utils import Bunch

from opgd_paper._digests import CLASS_DIGESTS, VOWEL_DIGEST

FOLDER_VARIABLE = "OPGD_DATA"
ROWS_PER_SPEAKER = 66
TRAINING_SPEAKERS = 8
OTHER_COLUMNS = ["speaker", "split", "target"]
CC_BY = "CC BY 4.0"

FloatArray = npt.NDArray[np.float64]
Grid = tuple[Any, Any]
"""Grid points per unit and the offset of the grid, for all columns or for each."""
DEFAULT_GRID: Grid = (1e6, 0.5)
# Copies of image_seg have six or more digits: on the grids of its columns, every value is at least
# 2.5 rounding errors (six digits) away from a boundary. A change of 0.031 changes a digest.
_SEGMENT_STEPS = [252, 252, 1e4, 1e4, 1e4, 720, 180, 720, 33, 90, 252, 252, 252, 720, 720, 720]
_SEGMENT_SHIFTS = {3: 0.33, 4: 0.38, 6: 0.34, 8: 0.64, 17: 0.24, 18: 0.2}
GRIDS: dict[str, Grid] = {
    "image_seg": (
        np.array([*_SEGMENT_STEPS, 252, 720, 152]),
        np.array([_SEGMENT_SHIFTS.get(column, 0.5) for column in range(19)]),
    )
}
ORDER_GRIDS: dict[str, Grid] = {"image_seg": (18.0, 0.56)}  # coarse, for the order of the rows


class DatasetUnavailableError(OSError):
    """Raised if a data set is neither in the folder nor can be fetched."""


class DatasetMismatchError(ValueError):
    """Raised if a table differs from the data of the paper."""


@dataclass(frozen=True)
class DatasetInfo:
    """Description of a data set.

    Attributes
    ----------
    name : str
        Name to pass to `load_dataset`.
    title : str
        Name in the paper.
    n_samples, n_features, n_classes : int
        Sizes as in the paper.
    origin : str
        Original publication of the data.
    openml_id : int or None
        OpenML data set ID.
    license : str
        License of the data.
    note : str
        Particularities of the data set.
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    n_classes: int
    origin: str
    openml_id: int | None
    license: str = CC_BY
    note: str = field(default="", repr=False)


INFOS = [
    DatasetInfo("wine", "Wine", 178, 13, 3, "UCI 109", 187),
    DatasetInfo(
        "iris",
        "Iris",
        150,
        4,
        3,
        "UCI 53",
        61,
        note="UCI's edition: rows 35 and 38 differ from those of scikit-learn's load_iris.",
    ),
    DatasetInfo(
        "vowel",
        "Vowel",
        990,
        10,
        11,
        "UCI 152",
        307,
        note="In the original order: 66 rows a speaker, the first 8 speakers are for training.",
    ),
    DatasetInfo("satellite", "Satellite", 6435, 36, 6, "UCI 146", 294),
    DatasetInfo(
        "image_seg",
        "Image Segmentation",
        2310,
        19,
        7,
        "UCI 50",
        36,
        note="region_pixel_count is constant; OpenML's copy has six significant digits.",
    ),
    DatasetInfo(
        "opt_digits", "Optical Digits", 5620, 64, 10, "UCI 80", 28, note="Two pixels are constant."
    ),
    DatasetInfo("pen_digits", "Pen Digits", 10992, 16, 10, "UCI 81", 32),
    DatasetInfo("texture", "Texture", 5500, 40, 11, "ELENA, KEEL", 40499, "not stated"),
    DatasetInfo("libras", "Libras Movement", 360, 90, 15, "UCI 181", 299),
    DatasetInfo(
        "forest",
        "Forest Types",
        523,
        27,
        4,
        "UCI 333",
        None,
        note="The rows of UCI's training.csv and those of its testing.csv in one table.",
    ),
    DatasetInfo(
        "yeast",
        "Yeast",
        698,
        72,
        5,
        "Spellman 1998",
        None,
        "GPL-3 (SCPP); Spellman's data are for non-commercial use",
        "698 of the 800 cell-cycle regulated genes of Spellman, standardized, as in the data "
        "folder of the R package SCPP; not UCI's Yeast.",
    ),
    DatasetInfo("glass", "Glass", 214, 9, 6, "UCI 42", 41),
    DatasetInfo(
        "dermatology",
        "Dermatology",
        366,
        34,
        6,
        "UCI 33",
        35,
        note="Age is unknown in 8 rows, where it is the mean of the others.",
    ),
    DatasetInfo("seeds", "Seeds", 210, 7, 3, "UCI 236", 1499),
    DatasetInfo("mf_digits", "Multiple Features Digits", 2000, 216, 10, "UCI 72", 12),
]
CATALOGUE = {info.name: info for info in INFOS}


def list_datasets() -> list[DatasetInfo]:
    """Return descriptions of the fifteen data sets of the paper.

    Returns
    -------
    infos : list of DatasetInfo
        In the order of the paper; use `pandas.DataFrame(infos)` for a table.

    Examples
    --------
    >>> from opgd_paper.datasets import list_datasets
    >>> [info.name for info in list_datasets()][:3]
    ['wine', 'iris', 'vowel']
    """
    return list(INFOS)


def load_dataset(name: str) -> Bunch:
    """Load a data set of the paper from the folder OPGD_DATA, or else from OpenML.

    A file `<name>.csv.gz` or `<name>.csv` in the folder given by the environment variable OPGD_DATA
    comes first; it has a header, numeric columns and a column named target. What
    `sklearn.datasets.fetch_openml` fetches is kept in scikit-learn's cache. The data are verified
    against digests of the paper's data, and have the same labels and order for both sources.

    Parameters
    ----------
    name : str
        Name of a data set, see `list_datasets`.

    Returns
    -------
    data : Bunch
        Dictionary-like object with the attributes `data`, of shape (n_samples, n_features), in
        original units (yeast: standardized) and in a fixed random order (vowel: original order);
        `target`, of shape (n_samples,), strings; `feature_names` and `target_names`, lists; and
        `frame`, a DataFrame of data and target. Vowel also has `speaker` (0 to 14) and `split`
        ("train" or "test"), of shape (n_samples,).

    Raises
    ------
    ValueError
        If there is no data set of that name.
    DatasetUnavailableError
        If the data are not available; a subclass of OSError.
    DatasetMismatchError
        If the data differ from those of the paper; a subclass of ValueError.
    """
    if name not in CATALOGUE:  # before it becomes part of a path
        raise ValueError(f"Unknown data set {name!r}; choose from {', '.join(CATALOGUE)}.")
    info = CATALOGUE[name]
    folder = Path(os.environ.get(FOLDER_VARIABLE) or ".").expanduser()
    paths = [folder / f"{name}{ending}" for ending in (".csv.gz", ".csv")]
    found = [path for path in paths if os.environ.get(FOLDER_VARIABLE) and path.is_file()]
    if found:
        source = str(found[0])
        frame, labels = read_file(found[0])
    else:
        source = f"OpenML {info.openml_id}"
        frame, labels = fetch(info)
    try:
        X, target = to_canonical(info, frame.to_numpy(dtype=np.float64), labels)
    except ValueError as problem:
        raise DatasetMismatchError(
            f"{source} does not contain the {info.title} data of the paper: {problem}. {info.note}"
        ) from problem
    extra: dict[str, Any] = {}
    if name == "vowel":  # its order has been verified
        extra["speaker"] = np.arange(len(X)) // ROWS_PER_SPEAKER
        extra["split"] = np.where(extra["speaker"] < TRAINING_SPEAKERS, "train", "test")
    names = [str(column) for column in frame.columns]
    return Bunch(
        data=X,
        target=target,
        **extra,
        feature_names=names,
        target_names=list(CLASS_DIGESTS[name]),
        frame=pd.DataFrame(X, columns=names).assign(**extra, target=target),
    )


def read_file(path: Path) -> tuple[pd.DataFrame, pd.Series]:
    """Return the features and the labels of a table."""
    try:
        frame = pd.read_csv(path, dtype={"target": str})
        labels = frame.pop("target")
    except (KeyError, ValueError, EOFError) as problem:
        raise DatasetMismatchError(f"{path} cannot be read: {problem}") from problem
    return frame.drop(columns=OTHER_COLUMNS, errors="ignore"), labels


def fetch(info: DatasetInfo) -> tuple[pd.DataFrame, pd.Series]:
    """Return the features, which are the last columns, and the labels of OpenML's copy."""
    advice = (
        f"Save it as {info.name}.csv.gz in the folder given by {FOLDER_VARIABLE}: a table with a "
        f"header, {info.n_samples} rows, {info.n_features} numeric columns and a column named "
        f"target. Source: {info.origin}. {info.note}"
    )
    if info.openml_id is None:
        raise DatasetUnavailableError(f"The data set {info.name} is not on OpenML. {advice}")
    try:
        bunch = fetch_openml(data_id=info.openml_id, as_frame=True)
    except OSError as problem:
        raise DatasetUnavailableError(
            f"The data set {info.name} is not in a folder and could not be fetched from OpenML "
            f"({problem}). {advice}"
        ) from problem
    return bunch.data.iloc[:, -info.n_features :], bunch.target.astype(str)


def to_canonical(info: DatasetInfo, X: FloatArray, labels: Any) -> tuple[FloatArray, Any]:
    """Return the samples in canonical order, with canonical labels, or raise ValueError."""
    if info.name == "dermatology" and X.size:  # unknown ages, as the paper's author does
        unknown = np.isnan(X[:, -1])
        X = X.copy()
        X[unknown, -1] = X[~unknown, -1].mean()
    names, codes = np.unique(np.asarray(labels, dtype=str), return_inverse=True)
    sizes, expected = (*X.shape, len(names)), (info.n_samples, info.n_features, info.n_classes)
    if sizes != expected:
        raise ValueError(f"rows, columns and classes are {sizes} instead of {expected}")
    if not np.all(np.abs(X) < 1e9):  # larger values would overflow on the grid
        raise ValueError("values are missing or too large")
    grid = round_to_grid(X, info.name, GRIDS)
    known = {digest: place for place, digest in enumerate(CLASS_DIGESTS[info.name].values())}
    places = np.array(
        [known.get(compute_class_digest(grid[codes == k]), -1) for k in range(len(names))]
    )
    if np.any(places < 0) or len(set(places)) < len(places):
        different = ", ".join(names[places < 0])
        raise ValueError(f"the samples of some classes differ ({different})")
    if info.name == "vowel":
        if compute_digest(grid) != VOWEL_DIGEST:
            raise ValueError("speakers and split are known by position, and the order differs")
        order = np.arange(len(X))
    else:
        # sorted by grid values first, so that copies with fewer digits have the same order; then
        # shuffled, since folds would otherwise hold out ranges of the first feature
        coarse = round_to_grid(X, info.name, ORDER_GRIDS)
        in_order = np.lexsort((places[codes], *X.T[::-1], *coarse.T[::-1]))
        order = in_order[np.random.RandomState(0).permutation(len(X))]
    targets = np.array(list(CLASS_DIGESTS[info.name]))[places[codes]]
    return X[order], targets[order]


def round_to_grid(X: FloatArray, name: str, grids: Mapping[str, Grid]) -> npt.NDArray[np.int64]:
    """Return integers that are equal for copies of the data with different rounding."""
    steps, shift = grids.get(name, DEFAULT_GRID)
    return np.floor(X * steps + shift).astype("<i8")


def compute_digest(rows: npt.NDArray[np.int64]) -> str:
    """Return a digest of 16 hexadecimal digits that depends on the order of the rows."""
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()[:16]


def compute_class_digest(rows: npt.NDArray[np.int64]) -> str:
    """Return a digest that does not depend on the order of the rows."""
    return compute_digest(rows[np.lexsort(rows.T[::-1])])
