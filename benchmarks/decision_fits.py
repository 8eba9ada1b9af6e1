"""Fits of OPGDClassifierCV with default arguments, on which decisions are measured.

A fit is kept as a model file in `CACHE`, so that an interrupted run goes on where it ended and all
figures come from the same fits; delete the folder to fit again.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from benchmarks.data import load
from benchmarks.harness import one_blas_thread
from opgd import OPGDClassifierCV, load_model, save_model
from opgd.core.types import AnyArray, FloatArray

CACHE = Path(__file__).parent.parent / ".cache" / "decisions"
N_SPLITS = 20
MAX_TEST = 1000
N_TRAIN = {
    "breast cancer": 380,
    "wine": 118,
    "seeds": 140,
    "forest": 350,
    "vowel": 660,
    "image_seg": 600,
    "satellite": 600,
    "pen_digits": 600,
}
"""Training rows of the eight data sets; up to `MAX_TEST` others are test rows."""
WIDE = {"yeast": 104, "libras": 150}
"""Training rows of data sets with 72 and 90 columns: hardly more rows than columns."""
RARE = {"glass": 143, "dermatology": 244, "rare cancer": 256}
"""Training rows of data sets with rare classes; the last is breast cancer without most tumors."""
RARE_STEP = 8
"""Of the malignant tumors, one of so many is kept in "rare cancer"."""


@dataclass(frozen=True)
class Fit:
    """A fitted model, and the rows of its split."""

    model: Any
    X: FloatArray
    y: AnyArray
    X_test: FloatArray
    y_test: AnyArray


def read(name: str) -> tuple[FloatArray, AnyArray]:
    """Return the rows and labels of a data set."""
    if name == "breast cancer":
        cancer = load_breast_cancer()
        return cancer.data, cancer.target_names[cancer.target]
    if name == "rare cancer":
        X, y = read("breast cancer")
        keep = np.sort(
            np.append(np.flatnonzero(y == "benign"), np.flatnonzero(y == "malignant")[::RARE_STEP])
        )
        return X[keep], y[keep]
    data = load(name)
    return data.X, data.y


def split_rows(name: str, split: int) -> tuple[FloatArray, FloatArray, AnyArray, AnyArray]:
    """Return training and test rows, training and test labels."""
    X, y = read(name)
    n_train = (N_TRAIN | WIDE | RARE)[name]
    n_test = min(MAX_TEST, len(X) - n_train)
    parts: tuple[FloatArray, FloatArray, AnyArray, AnyArray] = train_test_split(
        X, y, train_size=n_train, test_size=n_test, stratify=y, random_state=split
    )
    return parts


def fits(name: str, n_splits: int = N_SPLITS, class_weight: str | None = None) -> Iterator[Fit]:
    """Yield the fits to all splits of a data set."""
    for split in range(n_splits):
        X, X_test, y, y_test = split_rows(name, split)
        words = [name.replace(" ", "_"), *([] if class_weight is None else [class_weight])]
        path = CACHE / f"{'_'.join(words)}_{split}.opgd"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with one_blas_thread(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                save_model(OPGDClassifierCV(class_weight=class_weight).fit(X, y), path)
        yield Fit(load_model(path), X, np.asarray(y), X_test, np.asarray(y_test))


def encode(fit: Fit) -> AnyArray:
    """Return the codes of the test labels."""
    return np.searchsorted(fit.model.classes_, fit.y_test)
