"""Validation of y: all containers are converted to exact labels by the same rules.

`to_label_array` accepts any container and keeps the types of the labels; missing labels become None
or nan. Classifiers reject missing labels (`encode_labels`); for partly labeled data, these labels
or those equal to another marker are unlabeled (`encode_partly_labeled`).
"""

from datetime import date
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from opgd._utils.columns import classify_dtype, compute_lazy, fill_masked, is_missing_type
from opgd.core.types import AnyArray, IntArray

MAX_JOINTS = 2**22
"""Number of joint densities (samples times classes) up to which classes may have single samples."""
MIN_PER_CLASS = 5
"""Minimum number of samples per class, on average, beyond `MAX_JOINTS`."""
MAX_EXACT = 2**53
"""Integers up to this number are exact in float64."""


def to_label_array(y: Any, name: str = "y") -> AnyArray:
    """Convert labels to an array, (n,), that represents every label exactly.

    Missing labels are None in arrays of objects and nan in arrays of floats. Members of enums of
    strings or integers become these strings or integers.
    """
    if y is None:
        raise ValueError(
            f"This estimator requires y to be passed, but the target {name} is None. Use "
            "OPGDMixture if no labels are available."
        )
    y = compute_lazy(y)
    if isinstance(y, np.ma.MaskedArray):
        y = fill_masked(y)
    elif isinstance(y, list | tuple):
        y = _convert_list(y)
    elif not isinstance(y, np.ndarray):
        y = _convert_column(y)
    labels: AnyArray = column_or_1d(y, warn=True)
    if labels.dtype.kind == "U":
        _check_not_converted(labels, name)
    return _simplify(labels) if labels.dtype == object else labels


def _convert_list(y: Any) -> Any:
    """Return an array of one type if NumPy converts nothing, otherwise of objects."""
    types = {type(label) for label in y}
    if any(issubclass(found, list | tuple | np.ndarray) for found in types):
        return np.asarray(y)  # two dimensions, or ragged
    if len(types) == 1 and types <= {str, bool, float, np.bool_, np.str_}:
        return np.asarray(y)
    labels = _simplify(_make_objects(y))
    if labels.dtype == object and all(isinstance(label, str) for label in labels):
        return np.asarray(labels.tolist())
    return labels


def _convert_column(y: Any) -> Any:
    """Return a column of pandas, polars or pyarrow as an array that keeps its values exactly."""
    if hasattr(y, "columns") or hasattr(y, "column_names"):  # a data frame
        y = _select_only_column(y)
        if isinstance(y, np.ndarray):
            return y
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, np.dtype):
        return np.asarray(y)
    if hasattr(y, "astype") and hasattr(y, "isna"):  # extension types of pandas
        return np.asarray(y.astype(object))
    if hasattr(y, "null_count") and hasattr(y, "to_numpy"):  # polars and pyarrow
        dtype = getattr(y, "type", dtype)
        if classify_dtype(dtype) == "dates or times":
            return np.asarray(y)
        return _make_objects(y.to_pylist() if hasattr(y, "to_pylist") else y.to_list())
    return np.asarray(y)


def _select_only_column(y: Any) -> Any:
    """Return the column of a data frame with a single one, otherwise an array of its shape."""
    if y.shape[1] != 1:
        return np.empty(y.shape, dtype=object)  # the caller rejects this shape
    if hasattr(y, "column_names"):
        return y.column(0)
    return y if hasattr(y, "iloc") else y.to_series(0)  # scikit-learn warns about pandas frames


def _make_objects(values: Any) -> AnyArray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _simplify(labels: AnyArray) -> AnyArray:
    """Return objects with None for missing labels; of one type if they are numbers."""
    types = {type(label) for label in labels}
    if types != {str}:
        labels = _make_objects([_simplify_label(label) for label in labels])
        types = {type(label) for label in labels}
    if types == {bool}:
        return labels.astype(bool)
    if types == {int}:
        return _convert_integers(labels)
    if types == {float} or (types == {int, float} and _are_exact_floats(labels)):
        return labels.astype(np.float64)
    known = types - {type(None)}
    if known and all(issubclass(found, date) for found in known) and not _have_zones(labels):
        return labels.astype("datetime64[us]")  # None becomes NaT
    return labels


def _have_zones(labels: AnyArray) -> bool:
    """Return whether some dates have a time zone, which NumPy's datetime64 does not support."""
    return any(getattr(label, "tzinfo", None) is not None for label in labels)


def _simplify_label(label: Any) -> Any:
    """Return a label of a built-in type, None if it is missing."""
    if is_missing_label(label):
        return None
    if isinstance(label, str):
        return str.__str__(label)  # not the name of the member of an enum
    if isinstance(label, bool | np.bool_):
        return bool(label)
    if isinstance(label, Integral):
        return int(label)
    return float(label) if isinstance(label, float | np.floating) else label


def _convert_integers(labels: AnyArray) -> AnyArray:
    """Return integers in the first dtype that can represent all of them, otherwise as objects."""
    lowest, highest = min(labels, default=0), max(labels, default=0)
    for dtype in (np.int64, np.uint64):
        limits = np.iinfo(dtype)
        if limits.min <= lowest and highest <= limits.max:
            return labels.astype(dtype)
    return labels


def _are_exact_floats(labels: AnyArray) -> bool:
    return all(isinstance(label, float) or abs(label) <= MAX_EXACT for label in labels)


def _check_not_converted(labels: AnyArray, name: str) -> None:
    """Raise ValueError for "nan" in an array whose type shows that NumPy converted floats."""
    width = np.array([0.5, ""]).dtype.itemsize
    if labels.dtype.itemsize >= width and np.any(labels == "nan"):
        longest = max((len(label) for label in labels.tolist()), default=0)
        if 4 * longest < width:
            place = int(np.flatnonzero(labels == "nan")[0])
            raise ValueError(
                f"{name} has the label 'nan' at position {place}, which seems to be a missing "
                f"label that NumPy converted to a string. Pass {name} as an array of objects."
            )


# classifiers: every sample must be labeled


def encode_labels(labels: AnyArray, present: AnyArray | None = None) -> tuple[AnyArray, IntArray]:
    """Return sorted classes and the code of every label, of those where `present` is true."""
    check_no_missing(labels, present)
    labels = check_label_types(labels if present is None else labels[present])
    if labels.dtype != object:
        check_classification_targets(labels)
    return _find_classes(labels)


def encode_classes(labels: AnyArray, present: AnyArray | None = None) -> tuple[AnyArray, IntArray]:
    """Return the same as `encode_labels`; raise ValueError for too many classes.

    Work and results grow with samples times classes, that is with the square of the table if every
    sample has a class of its own, from which nothing can be estimated.
    """
    classes, codes = encode_labels(labels, present)
    check_n_classes(len(classes), len(codes))
    return classes, codes


def check_n_classes(n_classes: int, n_samples: int) -> None:
    """Raise ValueError if there are too many classes for the number of labeled samples."""
    if n_classes * n_samples > MAX_JOINTS and n_samples < MIN_PER_CLASS * n_classes:
        raise ValueError(
            f"y has {n_classes} classes in {n_samples} labeled samples, "
            f"{n_samples / n_classes:.1f} per class; so many classes need at least "
            f"{MIN_PER_CLASS} samples per class on average. Check that y contains class labels."
        )


def encode_groups(groups: Any, name: str) -> tuple[AnyArray, IntArray]:
    """Return sorted groups, such as initial clusters, and the code of every sample's group."""
    labels = to_label_array(groups, name)
    check_no_missing(labels, name=name)
    return _find_classes(check_label_types(labels, name))


def _find_classes(labels: AnyArray) -> tuple[AnyArray, IntArray]:
    if labels.dtype == object and isinstance(labels[0], str):  # sorting all would take long
        places = {label: place for place, label in enumerate(sorted(set(labels)))}
        codes = np.fromiter(map(places.__getitem__, labels), np.intp, len(labels))
        return _make_objects(list(places)), codes
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes.astype(np.intp, copy=False)


def check_no_missing(labels: AnyArray, present: AnyArray | None = None, name: str = "y") -> None:
    """Raise ValueError if labels are missing, with the position of the first."""
    missing = find_missing(labels)
    if present is not None:
        missing = missing & present
    if missing.any():
        place, number = int(np.flatnonzero(missing)[0]), int(missing.sum())
        advice = ", or use OPGDSemiSupervised for partly labeled data" if name == "y" else ""
        raise ValueError(
            f"Input {name} contains NaN, None or other missing labels, first at position {place} "
            f"({number} of {len(labels)} labels). Drop those samples{advice}."
        )


def check_label_types(labels: AnyArray, name: str = "y") -> AnyArray:
    """Return labels if they can be classes, all of one type; missing labels are not allowed."""
    if labels.dtype.kind == "f" and np.any(np.isinf(labels)):
        raise ValueError(f"Input {name} contains infinity; labels must be finite.")
    if labels.dtype != object:
        return labels
    types = {type(label) for label in labels}
    if types <= {int, float}:
        if not all(float(label).is_integer() for label in labels if isinstance(label, float)):
            raise ValueError(
                f"{name} has both fractions and integers beyond 2**53; convert all labels to one "
                "type."
            )
        return _simplify(labels)
    if len(types) > 1:
        names = sorted(found.__name__ for found in types)
        raise ValueError(
            f"{name} has labels of several types ({', '.join(names)}); convert them to one type."
        )
    if issubclass(next(iter(types), str), Enum):
        found = next(iter(types)).__name__
        raise ValueError(
            f"{name} has labels that are members of the enum {found}; pass their values or names."
        )
    if not types <= {str, bool}:
        check_classification_targets(labels)
    return labels


def encode_known_labels(y: AnyArray, classes: AnyArray) -> IntArray:
    """Return the codes of labels, all of which must be among the classes."""
    if y.dtype.kind != classes.dtype.kind:  # NumPy's common dtype may round labels
        y, classes = y.astype(object), classes.astype(object)
    codes: IntArray = np.searchsorted(classes, y).astype(np.intp, copy=False)
    return codes


def encode_true_labels(y: Any, classes: AnyArray) -> IntArray:
    """Return the codes of true labels for a score, -1 for labels that are not in `classes`."""
    labels = to_label_array(y)
    check_no_missing(labels)
    labels = check_label_types(labels)
    if labels.dtype != object:
        check_classification_targets(labels)
    check_same_type(labels, classes)
    if labels.dtype.kind != classes.dtype.kind or labels.dtype == object:
        return encode_among(labels, classes, np.nan)
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1).astype(np.intp)
    return np.where(classes[codes] == labels, codes, -1)


def check_same_type(labels: AnyArray, classes: AnyArray) -> None:
    """Raise ValueError if labels are text and the classes are not, or the reverse."""
    if len(labels) == 0:
        return
    label, known = labels.tolist()[0], classes.tolist()[0]
    if isinstance(label, str) != isinstance(known, str):
        raise ValueError(
            f"y has labels of type {type(label).__name__}, but the classes of the estimator are of "
            f"type {type(known).__name__}; convert y to that type."
        )


def make_split_labels(classes: AnyArray, codes: IntArray) -> AnyArray:
    """Return labels for scikit-learn's splitters: codes if it does not support the classes."""
    if classes.dtype == object and not isinstance(classes[0], str):
        return codes
    labels: AnyArray = classes[codes]
    return labels


# partly labeled data


def encode_partly_labeled(labels: AnyArray, unlabeled: Any) -> tuple[AnyArray, IntArray]:
    """Return sorted classes and the code of every label, -1 for missing ones.

    Labels equal to `unlabeled` are missing; if that is None, labels that are -1, None or NaN.
    """
    missing = is_missing(labels, unlabeled)
    if missing.all():
        raise ValueError("y has no labeled samples. Use OPGDMixture if no labels are available.")
    known = labels[~missing]
    if known.dtype == object:
        known = _simplify(known)
        if all(isinstance(label, str) for label in known):
            known = np.array(known.tolist())
    codes = np.full(len(labels), -1, dtype=np.intp)
    check_no_missing(labels, ~missing)
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
    if _are_large_integers(labels[~missing]) and _are_large_integers(classes):
        return _search_integers(labels, classes, missing)
    places = {label: code for code, label in enumerate(classes.tolist())}
    if labels.dtype.kind == classes.dtype.kind == "M":
        labels = labels.astype(classes.dtype)
    return np.array(
        [
            -1 if label_missing else places.get(label, -1)
            for label, label_missing in zip(labels.tolist(), missing, strict=True)
        ],
        dtype=np.intp,
    )


def _are_large_integers(labels: AnyArray) -> bool:
    """Return whether labels are integers of any size, whose hashes can be made to collide."""
    return labels.dtype == object and all(type(label) is int for label in labels)


def _search_integers(labels: AnyArray, classes: AnyArray, missing: AnyArray) -> IntArray:
    """Return the codes of integers by bisection, which hashes cannot slow down."""
    codes = np.full(len(labels), -1, dtype=np.intp)
    known = np.flatnonzero(~missing)
    found = np.minimum(np.searchsorted(classes, labels[known]), len(classes) - 1)
    equal = classes[found] == labels[known]
    codes[known] = np.where(equal, found, -1)
    return codes


def is_missing(labels: AnyArray, unlabeled: Any) -> AnyArray:
    """Return a mask of missing labels, (n,)."""
    if unlabeled is not None:
        return np.array([_equals_marker(label, unlabeled) for label in labels.tolist()], dtype=bool)
    if labels.dtype.kind == "f":
        if np.any(np.isinf(labels)):
            raise ValueError("Input y contains infinity; labels must be finite.")
        return np.isnan(labels) | (labels == -1)
    if labels.dtype.kind == "i":
        return labels == -1
    if labels.dtype.kind == "O":
        if all(isinstance(label, str) for label in labels):
            _check_words(labels)
        return np.array(
            [is_missing_label(label) or _equals_marker(label, -1) for label in labels], dtype=bool
        )
    if labels.dtype.kind in "US":
        _check_words(labels)
    return find_missing(labels)


def find_missing(labels: AnyArray) -> AnyArray:
    """Return a mask of labels that are None, NaN or NaT, (n,)."""
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    if labels.dtype.kind in "mM":
        return np.isnat(labels)
    if labels.dtype == object:
        return np.array([is_missing_label(label) for label in labels], dtype=bool)
    return np.zeros(len(labels), dtype=bool)


def _check_words(labels: AnyArray) -> None:
    """Raise ValueError for strings that look like missing labels converted by NumPy."""
    words = [word for word in ("-1", "nan", "None", "<NA>") if np.any(labels == word)]
    if words:
        raise ValueError(
            f"y has the label {words[0]!r}, which may be a missing label that NumPy converted to a "
            f"string. If it is, pass unlabeled={words[0]!r}. If it is a real class, set "
            "`unlabeled` to a value that does not occur in y."
        )


def is_missing_label(label: Any) -> bool:
    """Return whether a label is None, NaN, NaT, masked, or pandas' NA."""
    if type(label) is str:  # the most frequent type, and checks against abstract types are slow
        return False
    if is_missing_type(type(label)) or type(label).__name__ == "NaTType":
        return True
    return isinstance(label, Real | Decimal | np.datetime64) and bool(label != label)


def _equals_marker(label: Any, unlabeled: Any) -> bool:
    """Return whether a label equals the marker of missing labels; True does not equal 1."""
    if is_missing_label(unlabeled):
        return is_missing_label(label)
    is_bool = isinstance(label, bool | np.bool_), isinstance(unlabeled, bool | np.bool_)
    return not is_missing_label(label) and is_bool[0] == is_bool[1] and bool(label == unlabeled)


def join_labels(parts: list[AnyArray]) -> AnyArray:
    """Concatenate labels; those of parts with different types keep their types."""
    if len({part.dtype.kind for part in parts}) == 1:
        return np.concatenate(parts)
    return _simplify(_make_objects([label for part in parts for label in part.tolist()]))
