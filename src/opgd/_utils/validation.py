"""Validation of parameters and input; `opgd.core` relies on it and validates nothing."""

from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from opgd._utils.text import list_names
from opgd.core.types import AnyArray, FloatArray, IntArray

FLOAT_DTYPES = [np.float64, np.float32]
MAX_WEIGHT = 1e150
"""Maximum sample weight, so that sums of squared weights stay finite."""


def validate_rows(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """Validate X (and y) as scikit-learn does, with errors that name the columns."""
    _check_unique_names(X)
    try:
        # scikit-learn checks for finite values by their sum, which may overflow
        with np.errstate(over="ignore", invalid="ignore"):
            return validate_data(estimator, X, *y, dtype=FLOAT_DTYPES, **options)
    except (TypeError, ValueError) as error:
        not_finite = _find_non_finite(X) if "Input X contains" in str(error) else None
        not_numeric = [] if not_finite else _find_non_numeric(X)
        if not_numeric:
            raise ValueError(_describe_non_numeric(not_numeric, error)) from None
        if not_finite is None:
            raise  # the error has another cause
    columns, row = not_finite
    raise ValueError(
        f"Input X contains NaN or infinity in {columns}, first in row {row}. "
        f"{type(estimator).__name__} requires finite values: impute them or drop those samples."
    )


def _check_unique_names(X: Any) -> None:
    """Raise ValueError for a data frame with duplicate column names."""
    names = list(getattr(X, "columns", []))
    duplicates = [name for name, number in Counter(names).items() if number > 1]
    if duplicates:
        raise ValueError(
            f"X has more than one column named {duplicates[0]!r}; column names must be unique."
        )


def _describe_non_numeric(columns: list[str], error: Exception) -> str:
    """Return the message for columns that are not numeric, with the value that failed if known."""
    subject, verb, pronoun = (
        ("Column", "is", "it") if len(columns) == 1 else ("Columns", "are", "them")
    )
    reason = f" ({error})" if "could not convert" in str(error) else ""
    return (
        f"{subject} {list_names(columns)} {verb} not numeric{reason}. "
        f"Encode {pronoun} (for example with OneHotEncoder) or drop {pronoun}."
    )


def _find_non_numeric(X: Any) -> list[str]:
    """Return the names of the columns of a data frame that cannot be converted to numbers."""
    if not hasattr(X, "columns") or _is_numeric(X):
        return []  # the error has another cause
    names = list(X.columns)
    # a data frame of dates only would be converted to nanoseconds
    dates = [name for name in names if np.asarray(X[name]).dtype.kind in "mM"]
    return [repr(name) for name in names if name in dates or not _is_numeric(X[[name]])]


def _is_numeric(frame: Any) -> bool:
    try:
        check_array(frame, dtype=FLOAT_DTYPES, ensure_all_finite=False, ensure_min_samples=0)
    except (TypeError, ValueError):
        return False
    return True


def _find_non_finite(X: Any) -> tuple[str, int] | None:
    """Return the names of columns with values that are not finite, and the first such row."""
    try:
        bad = ~np.isfinite(check_array(X, dtype=FLOAT_DTYPES, ensure_all_finite=False))
    except (TypeError, ValueError):
        return None  # the error has another cause
    if not bad.any():
        return None
    names = getattr(X, "columns", None)
    places = np.flatnonzero(bad.any(axis=0)).tolist()
    columns = [f"column {j}" if names is None else repr(names[j]) for j in places]
    return list_names(columns), int(np.flatnonzero(bad.any(axis=1))[0])


def check_integer(name: str, value: Any, lowest: int = 0, highest: int | None = None) -> int:
    """Return an integer in a closed range, or raise TypeError or ValueError."""
    bound = f"of at least {lowest}" if highest is None else f"from {lowest} to {highest}"
    message = f"{name} must be an integer {bound}, got {value!r}."
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(message)
    number = int(value)
    if number < lowest or (highest is not None and number > highest):
        raise ValueError(message)
    return number


def check_n_components(n_components: Any, n_features: int | None = None) -> None:
    """Raise an error unless `n_components` is None or an integer from 1 to `n_features`."""
    if n_components is None:
        return
    n_requested = check_integer("n_components", n_components, 1)
    if n_features is not None and n_requested > n_features:
        raise ValueError(
            f"n_components must be at most the number of features ({n_features}), "
            f"got {n_requested}."
        )


def check_n_jobs(n_jobs: Any) -> None:
    """Raise an error unless `n_jobs` is None or an integer other than 0."""
    if n_jobs is not None and check_integer("n_jobs", n_jobs, -(2**15)) == 0:
        raise ValueError("n_jobs must not be 0; use None or 1 for one worker, -1 for all cores.")


def check_share(name: str, value: Any, *, word: str = "") -> float:
    """Return a number from 0 to 1, or raise TypeError or ValueError.

    `word` is a string that is also allowed, for the message; the caller handles it.
    """
    instead = f"{word!r} or " if word else ""
    message = f"{name} must be {instead}a number from 0 to 1, got {value!r}."
    if word and isinstance(value, str):
        raise ValueError(message)
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(message)
    share = float(value)
    if not 0 <= share <= 1:
        raise ValueError(message)
    return share


def check_positive(name: str, value: Any, *, or_zero: bool = False) -> float:
    """Return a finite number above 0 (or 0, with `or_zero`), or raise an error."""
    bound = "of at least 0" if or_zero else "above 0"
    message = f"{name} must be a finite number {bound}, got {value!r}."
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(message)
    number = float(value)
    if not (0 < number < np.inf or (or_zero and number == 0)):
        raise ValueError(message)
    return number


def check_seed(random_state: Any) -> np.random.RandomState:
    """Return a random generator from None, an integer or a generator."""
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"random_state={random_state!r}: {error}.") from None
    return generator


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return a string that is one of `choices`, or raise TypeError or ValueError."""
    choices = list(choices)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {choices}, got {value!r}.")
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}, got {value!r}.")
    return value


def check_flag(name: str, value: Any) -> bool:
    """Return a boolean, or raise TypeError."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def encode_labels(y: AnyArray) -> tuple[AnyArray, IntArray]:
    """Return sorted classes and the code of every label."""
    if y.dtype == object and any(label is None for label in y):
        raise ValueError(
            "y has missing labels (None). Drop those samples, or use OPGDSemiSupervised."
        )
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError("Input y contains NaN or infinity; drop those samples.")
    kinds = {type(label) for label in y} if y.dtype == object else set()
    if all(issubclass(kind, str) for kind in kinds):
        kinds = set()  # np.str_ and str are compatible
    if len(kinds) > 1 and not all(issubclass(kind, Real) for kind in kinds):
        names = sorted(kind.__name__ for kind in kinds)
        raise ValueError(
            f"y has labels of several types ({', '.join(names)}); convert them to one type."
        )
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.intp, copy=False)


def encode_known_labels(y: AnyArray, classes: AnyArray) -> IntArray:
    """Return the codes of labels, all of which must be among the classes."""
    codes: IntArray = np.searchsorted(classes, y).astype(np.intp, copy=False)
    return codes


def check_sample_weight(sample_weight: Any, X: AnyArray) -> FloatArray | None:
    """Return one finite, non-negative weight per sample, not all zero; None for equal weights."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(len(X), float(sample_weight))
    weights: FloatArray = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must have one dimension, got shape {weights.shape}.")
    check_consistent_length(X, weights)
    if np.any(weights < 0):
        raise ValueError("sample_weight has negative entries; weights must be 0 or more.")
    if not np.any(weights > 0):
        raise ValueError("sample_weight is zero for all samples; at least one must be positive.")
    if weights.max() > MAX_WEIGHT:
        raise ValueError(
            f"sample_weight has entries above {MAX_WEIGHT:g}, too large to sum; rescale them."
        )
    return weights


def check_priors(priors: Any, classes: AnyArray, shares: FloatArray) -> FloatArray:
    """Return prior probabilities in the order of `classes`; None selects `shares`."""
    if priors is None:
        return shares
    if isinstance(priors, str):
        if priors != "uniform":
            raise ValueError(
                f"priors must be None, 'uniform', one number per class or a dict by label, "
                f"got {priors!r}."
            )
        return np.full(len(classes), 1.0 / len(classes))
    if hasattr(priors, "to_dict"):  # the index of a pandas Series has the classes
        priors = priors.to_dict()
    if isinstance(priors, Mapping):
        unknown = [label for label in priors if label not in classes.tolist()]
        missing = [label for label in classes.tolist() if label not in priors]
        if unknown or missing:
            raise ValueError(
                f"priors must have one entry for each class; unknown: {unknown}, "
                f"missing: {missing}."
            )
        priors = [priors[label] for label in classes.tolist()]
    values = np.asarray(priors, dtype=np.float64)
    if values.shape != (len(classes),):
        raise ValueError(
            f"priors must have one entry for each of the {len(classes)} classes, "
            f"got shape {values.shape}."
        )
    if not np.all(np.isfinite(values)) or np.any(values <= 0):
        raise ValueError(f"priors must be finite and above 0, got {values.tolist()}.")
    if abs(values.sum() - 1) > 1e-6:
        raise ValueError(f"priors must sum to 1, got {values.sum():.6g}.")
    return values / values.sum()


def check_components_init(
    init: Any, n_components: int | None, n_features: int, name: str = "init"
) -> FloatArray:
    """Return initial components, (n_components, n_features), or raise ValueError.

    With `n_components=None`, any number of components is allowed.
    """
    shape = ("n_components" if n_components is None else n_components, n_features)
    message = f"{name} must be numbers of shape (n_components, n_features) = {shape}"
    try:
        components = np.array(init, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{message}, got {init!r}.") from None
    if components.ndim != 2 or components.shape != (n_components or len(components), n_features):
        raise ValueError(f"{message}, got an array of shape {components.shape}.")
    if not np.all(np.isfinite(components)):
        raise ValueError(f"{name} has values that are not finite; use finite numbers.")
    if not np.all(np.any(components != 0, axis=1)):
        raise ValueError(
            f"{name} has a component of zeros; every component must have a nonzero entry."
        )
    return components
