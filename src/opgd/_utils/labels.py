"""Validation of y: labels of any container as exact arrays, classes and codes.

Classifiers reject missing labels (`encode_labels`); for partly labeled data, these labels or those
equal to another marker are unlabeled (`encode_partly_labeled`).
"""

from datetime import date
from enum import Enum
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from opgd._utils.features import fill_masked, to_memory
from opgd.core.types import AnyArray, IntArray

MAX_JOINTS = 2**22
"""Number of joint densities (samples times classes) up to which classes may have single samples."""
MIN_PER_CLASS = 5
"""Minimum number of samples per class, on average, beyond `MAX_JOINTS`."""


def to_label_array(y: Any, name: str = "y") -> AnyArray:
    """Convert labels to an array, (n,), that represents every label exactly.

    Missing labels are None in arrays of objects and nan in arrays of floats; members of enums are
    replaced by their values.
    """
    if y is None:
        raise ValueError(
            f"This estimator requires y to be passed, but the target {name} is None. Use "
            "OPGDMixture if no labels are available."
        )
    y = to_memory(y, name)
    is_list = isinstance(y, list | tuple)
    if isinstance(y, np.ma.MaskedArray):
        y = fill_masked(y)
    elif is_list and not any(isinstance(label, list | tuple | np.ndarray) for label in y):
        y = _make_objects(y)  # NumPy makes text of numbers beside text
    elif not isinstance(y, list | tuple | np.ndarray):
        if hasattr(y, "isna") and not isinstance(getattr(y, "dtype", None), np.dtype):
            y = y.astype(object)  # extension types of pandas
        is_column = hasattr(y, "null_count") and not hasattr(y, "columns")  # polars, pyarrow
        if is_column and np.asarray(y).dtype.kind in "fU":  # floats if integers are missing
            y = _make_objects(y.to_pylist() if hasattr(y, "to_pylist") else y.to_list())
        y = np.asarray(y)
    labels: AnyArray = column_or_1d(y, warn=True)
    if labels.dtype != object:
        return labels
    labels = _narrow(labels)
    if is_list and labels.dtype == object and all(isinstance(label, str) for label in labels):
        return np.array(labels.tolist())
    return labels


def _make_objects(values: Any) -> AnyArray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _narrow(labels: AnyArray) -> AnyArray:
    """Return objects with None for missing labels; of one type if it represents all exactly."""
    if set(map(type, labels)) == {str}:
        return labels
    labels = _make_objects([_simplify_label(label) for label in labels])
    types = set(map(type, labels))
    if types and (types == {bool} or types <= {int, float}):
        numbers = np.array(labels.tolist())
        return numbers if numbers.tolist() == labels.tolist() else labels
    dates = [label for label in labels if label is not None]
    if dates and all(isinstance(day, date) and not getattr(day, "tzinfo", 0) for day in dates):
        return labels.astype("datetime64[us]")  # None becomes NaT
    return labels


def _simplify_label(label: Any) -> Any:
    """Return a label of a built-in type, None if it is missing."""
    if is_missing_label(label):
        return None
    label = label.value if isinstance(label, Enum) else label
    return label.item() if isinstance(label, np.number | np.bool_ | np.str_) else label


def is_missing_label(label: Any) -> bool:
    """Return whether a label is None, NaN, NaT, masked, or pandas' NA."""
    if type(label).__name__ in ("NoneType", "NAType", "NaTType", "MaskedConstant"):
        return True
    return not isinstance(label, str) and np.ndim(label) == 0 and bool(label != label)


def find_missing(labels: AnyArray) -> AnyArray:
    """Return a mask of labels that are None, NaN or NaT, (n,)."""
    if labels.dtype == object:
        return np.array([is_missing_label(label) for label in labels], dtype=bool)
    return np.not_equal(labels, labels)


def check_no_missing(labels: AnyArray, present: AnyArray | None = None, name: str = "y") -> None:
    """Raise ValueError if labels are missing, with the position of the first."""
    missing = find_missing(labels)
    if present is not None:
        missing = missing & present
    if missing.any():
        advice = ", or use OPGDSemiSupervised for partly labeled data" if name == "y" else ""
        raise ValueError(
            f"Input {name} contains NaN, None or other missing labels, first at position "
            f"{np.argmax(missing)} ({missing.sum()} of {len(labels)} labels). "
            f"Drop those samples{advice}."
        )


def check_label_types(labels: AnyArray, name: str = "y") -> None:
    """Raise ValueError unless labels can be classes, all of one type; none may be missing."""
    types = set(map(type, labels)) if labels.dtype == object else set()
    if len(types) > 1:
        names = ", ".join(sorted(found.__name__ for found in types))
        raise ValueError(f"{name} has labels of several types ({names}); convert them to one type.")
    if not types or not types <= {str, bool, int}:
        with np.errstate(invalid="ignore"):  # of infinity, which is refused
            check_classification_targets(labels)


def encode_labels(labels: AnyArray, present: AnyArray | None = None) -> tuple[AnyArray, IntArray]:
    """Return sorted classes and the code of every label, of those where `present` is true."""
    check_no_missing(labels, present)
    labels = labels if present is None else labels[present]
    check_label_types(labels)
    return _find_classes(labels)


def encode_classes(labels: AnyArray, present: AnyArray | None = None) -> tuple[AnyArray, IntArray]:
    """Return the same as `encode_labels`; raise ValueError for too many classes."""
    classes, codes = encode_labels(labels, present)
    check_n_classes(len(classes), len(codes))
    return classes, codes


def check_n_classes(n_classes: int, n_samples: int) -> None:
    """Raise ValueError if work and memory grow with the square of the number of samples."""
    if n_classes * n_samples > MAX_JOINTS and n_samples < MIN_PER_CLASS * n_classes:
        raise ValueError(
            f"y has {n_classes} classes in {n_samples} labeled samples; so many classes need at "
            f"least {MIN_PER_CLASS} samples per class on average. Check that y contains labels."
        )


def encode_groups(groups: Any, name: str) -> tuple[AnyArray, IntArray]:
    """Return sorted groups, such as initial clusters, and the code of every sample's group."""
    labels = to_label_array(groups, name)
    check_no_missing(labels, name=name)
    if labels.dtype == object:
        check_label_types(labels, name)
    return _find_classes(labels)


def _find_classes(labels: AnyArray) -> tuple[AnyArray, IntArray]:
    if labels.dtype == object:  # sorting all would take long
        places = {label: place for place, label in enumerate(sorted(set(labels)))}
        return _make_objects(list(places)), np.array([places[label] for label in labels], np.intp)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.intp, copy=False)


def encode_known_labels(y: AnyArray, classes: AnyArray) -> IntArray:
    """Return the codes of labels, all of which must be among the classes."""
    if y.dtype.kind != classes.dtype.kind:  # NumPy's common dtype may round labels
        y, classes = y.astype(object), classes.astype(object)
    return np.searchsorted(classes, y).astype(np.intp, copy=False)


def encode_true_labels(y: Any, classes: AnyArray) -> IntArray:
    """Return the codes of true labels for a score, -1 for labels that are not in `classes`."""
    labels = to_label_array(y)
    check_no_missing(labels)
    check_label_types(labels)
    check_same_type(labels, classes)
    return encode_among(labels, classes, np.nan)


def check_same_type(labels: AnyArray, classes: AnyArray) -> None:
    """Raise ValueError if labels are text and the classes are not, or the reverse."""
    label, known = next(iter(labels[:1].tolist()), None), classes.tolist()[0]
    if label is not None and isinstance(label, str) != isinstance(known, str):
        raise ValueError(
            f"y has labels of type {type(label).__name__}, but the classes of the estimator are of "
            f"type {type(known).__name__}; convert y to that type."
        )


def make_split_labels(classes: AnyArray, codes: IntArray) -> AnyArray:
    """Return labels for scikit-learn's splitters: codes if it does not support the classes."""
    is_known = classes.dtype != object or isinstance(classes[0], str)
    return np.take(classes, codes) if is_known else codes


def encode_partly_labeled(labels: AnyArray, unlabeled: Any) -> tuple[AnyArray, IntArray]:
    """Return sorted classes and the code of every label, -1 for missing ones.

    Labels equal to `unlabeled` are missing; if that is None, labels that are -1, None or NaN.
    """
    missing = is_missing(labels, unlabeled)
    if missing.all():
        raise ValueError("y has no labeled samples. Use OPGDMixture if no labels are available.")
    check_no_missing(labels, ~missing)
    known = labels[~missing]
    known = to_label_array(known.tolist()) if known.dtype == object else known
    codes = np.full(len(labels), -1, dtype=np.intp)
    classes, codes[~missing] = encode_classes(known)
    if len(classes) == 1 and missing.any():
        raise ValueError(
            f"Only one class ({classes.tolist()[0]!r}) is labeled. If -1 is a class, pass another "
            "marker as `unlabeled`."
        )
    return classes, codes


def encode_among(labels: AnyArray, classes: AnyArray, unlabeled: Any) -> IntArray:
    """Return the codes of labels among the classes, -1 for missing labels and other classes."""
    missing = is_missing(labels, unlabeled)
    if labels.dtype.kind == classes.dtype.kind == "M":
        labels = labels.astype(classes.dtype)
    places = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.full(len(labels), -1, dtype=np.intp)
    codes[~missing] = [places.get(label, -1) for label in labels[~missing].tolist()]
    return codes


def is_missing(labels: AnyArray, unlabeled: Any) -> AnyArray:
    """Return a mask of labels that are equal to `unlabeled`; if None, also -1 and missing ones."""
    missing = find_missing(labels)
    if unlabeled is not None and is_missing_label(unlabeled):
        return missing
    marker = -1 if unlabeled is None else unlabeled
    kinds = bool | np.bool_  # True does not equal 1
    equal = [
        isinstance(label, kinds) == isinstance(marker, kinds) and bool(label == marker)
        for label in labels.tolist()
    ]
    if unlabeled is not None:
        return np.array(equal, dtype=bool)
    words = {"-1", "nan", "None", "<NA>"} & {own for own in labels.tolist() if isinstance(own, str)}
    if words and not any(equal) and not missing.any():
        word = min(words)
        raise ValueError(
            f"y has the label {word!r}, which may be a missing label that NumPy converted to a "
            f"string. If it is, pass unlabeled={word!r}. If it is a real class, set "
            "`unlabeled` to a value that does not occur in y."
        )
    return missing | np.array(equal, dtype=bool)


def join_labels(parts: list[AnyArray]) -> AnyArray:
    """Concatenate labels; those of parts with different types keep their types."""
    if len({part.dtype.kind for part in parts}) == 1:
        return np.concatenate(parts)
    return _narrow(_make_objects([label for part in parts for label in part.tolist()]))
