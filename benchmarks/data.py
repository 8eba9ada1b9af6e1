"""Data sets from the folder that OPGD_DATA names, and two that scikit-learn ships."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits

from opgd.core.types import AnyArray, FloatArray

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
