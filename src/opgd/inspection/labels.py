"""Encode labels as integers."""

from typing import Any

import numpy as np

from opgd._utils.labels import encode_among, is_missing, to_label_array
from opgd.core.types import IntArray


def encode_classes(classifier: Any, y: Any) -> IntArray:
    """Return the class index of each label, -1 if it is missing or not a class."""
    unlabeled = getattr(classifier, "unlabeled", np.nan)
    return encode_among(to_label_array(y), classifier.classes_, unlabeled)


def encode_any(y: Any) -> tuple[list[str], IntArray]:
    """Return the sorted distinct labels as text, and the index of each label, -1 if missing."""
    labels = to_label_array(y)
    missing = is_missing(labels, np.nan)
    known = list(dict.fromkeys(labels[~missing].tolist()))
    try:
        known.sort()
    except TypeError:  # labels of several types
        known.sort(key=str)
    return [str(label) for label in known], encode_among(labels, np.array(known, object), np.nan)
