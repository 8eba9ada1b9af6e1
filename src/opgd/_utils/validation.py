"""Checks of what users pass in, and the sentences they get. Core trusts what comes from here."""

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
"""Squares of weights are added up."""


def validate_rows(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """scikit-learn's checks of X (and y); columns that are refused are named."""
    _refuse_equal_names(X)
    try:
        # to see whether all values are finite scikit-learn adds them up, of both signs
        with np.errstate(over="ignore", invalid="ignore"):
            return validate_data(estimator, X, *y, dtype=FLOAT_DTYPES, **options)
    except (TypeError, ValueError) as error:
        found = _not_finite(X) if "Input X contains" in str(error) else None
        words = [] if found else _not_numbers(X)
        if words:
            which = f" ({error})" if "could not convert" in str(error) else ""
            raise ValueError(
                f"X has columns that are no real numbers: {list_names(words)}{which}; "
                "leave them out or encode them as numbers."
            ) from None
        if found is None:
            raise  # something else is wrong
    columns, row = found
    raise ValueError(
        f"Input X contains NaN or infinity in {columns}, first in row {row}; "
        f"{type(estimator).__name__} needs finite numbers: fill them in or leave out those rows."
    )


def _refuse_equal_names(X: Any) -> None:
    """Refuse a frame with two columns of one name: names could not tell them apart later."""
    names = list(getattr(X, "columns", []))
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise ValueError(f"X has more than one column of the name {twice[0]!r}; rename them.")


def _not_numbers(X: Any) -> list[str]:
    """Names of the columns of a frame that cannot be read as numbers."""
    if not hasattr(X, "columns") or _is_numeric(X):
        return []  # something else is wrong
    names = list(X.columns)
    # dates count as nanoseconds when they are alone
    dates = [name for name in names if np.asarray(X[name]).dtype.kind in "mM"]
    return [repr(name) for name in names if name in dates or not _is_numeric(X[[name]])]


def _is_numeric(frame: Any) -> bool:
    try:
        check_array(frame, dtype=FLOAT_DTYPES, ensure_all_finite=False, ensure_min_samples=0)
    except (TypeError, ValueError):
        return False
    return True


def _not_finite(X: Any) -> tuple[str, int] | None:
    """Names of columns with values that are not finite, and the first such row."""
    try:
        bad = ~np.isfinite(check_array(X, dtype=FLOAT_DTYPES, ensure_all_finite=False))
    except (TypeError, ValueError):
        return None  # something else is wrong, and has been said
    if not bad.any():
        return None
    names = getattr(X, "columns", None)
    places = np.flatnonzero(bad.any(axis=0)).tolist()
    columns = [f"column {j}" if names is None else repr(names[j]) for j in places]
    return list_names(columns), int(np.flatnonzero(bad.any(axis=1))[0])


def check_integer(name: str, value: Any, lowest: int = 0, highest: int | None = None) -> int:
    """An integer in a closed range."""
    bound = f"of at least {lowest}" if highest is None else f"from {lowest} to {highest}"
    message = f"{name} must be an integer {bound}, got {value!r}."
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(message)
    number = int(value)
    if number < lowest or (highest is not None and number > highest):
        raise ValueError(message)
    return number


def check_n_components(n_components: Any, n_features: int | None = None) -> None:
    """None or a number of components, of which there are no more than features."""
    if n_components is None:
        return
    wanted = check_integer("n_components", n_components, 1)
    if n_features is not None and wanted > n_features:
        raise ValueError(f"n_components={wanted} is more than the {n_features} columns of X.")


def check_n_jobs(n_jobs: Any) -> None:
    """None or an integer that scikit-learn understands as a number of workers."""
    if n_jobs is not None and check_integer("n_jobs", n_jobs, -(2**15)) == 0:
        raise ValueError("n_jobs must not be 0; None or 1 means one worker, -1 all cores.")


def check_share(name: str, value: Any, *, word: str = "") -> float:
    """A number from 0 to 1; the caller has looked for the word that is allowed instead."""
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
    """A finite number above 0, or 0 itself if that is allowed."""
    bound = "of at least 0" if or_zero else "above 0"
    message = f"{name} must be a finite number {bound}, got {value!r}."
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(message)
    number = float(value)
    if not (0 < number < np.inf or (or_zero and number == 0)):
        raise ValueError(message)
    return number


def check_seed(random_state: Any) -> np.random.RandomState:
    """A generator from None, an integer, or a generator."""
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(f"random_state={random_state!r}: {error}.") from None
    return generator


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """One of a few words."""
    choices = list(choices)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {choices}, got {value!r}.")
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}, got {value!r}.")
    return value


def check_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def encode_labels(y: AnyArray) -> tuple[AnyArray, IntArray]:
    """Classes in sorted order and the code of every row."""
    if y.dtype == object and any(label is None for label in y):
        raise ValueError("y has rows without a label (None); leave those rows out.")
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError("Input y contains NaN or infinity; leave those rows out.")
    kinds = {type(label) for label in y} if y.dtype == object else set()
    if all(issubclass(kind, str) for kind in kinds):
        kinds = set()  # NumPy's own strings are strings
    if len(kinds) > 1 and not all(issubclass(kind, Real) for kind in kinds):
        names = sorted(kind.__name__ for kind in kinds)
        raise ValueError(
            f"y mixes labels of the types {', '.join(names)}; make them all of one type."
        )
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.intp, copy=False)


def known_codes(y: AnyArray, classes: AnyArray) -> IntArray:
    """Codes of labels that are all among the classes."""
    codes: IntArray = np.searchsorted(classes, y).astype(np.intp, copy=False)
    return codes


def check_sample_weight(sample_weight: Any, X: AnyArray) -> FloatArray | None:
    """One finite, non-negative weight per row, not all of them zero; None for equal weights."""
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
        raise ValueError("sample_weight has negative entries.")
    if not np.any(weights > 0):
        raise ValueError("sample_weight is zero for all rows; at least one must be positive.")
    if weights.max() > MAX_WEIGHT:
        raise ValueError("sample_weight has entries too large to be added up; rescale them.")
    return weights


def check_priors(priors: Any, classes: AnyArray, shares: FloatArray) -> FloatArray:
    """Prior probabilities in the order of `classes`; None stands for the classes' shares."""
    if priors is None:
        return shares
    if isinstance(priors, str):
        if priors != "uniform":
            raise ValueError(
                f"priors must be None, 'uniform', one number per class or a dict by label, "
                f"got {priors!r}."
            )
        return np.full(len(classes), 1.0 / len(classes))
    if hasattr(priors, "to_dict"):  # a pandas Series knows the classes by its index
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
        raise ValueError("priors must be finite and above 0.")
    if abs(values.sum() - 1) > 1e-6:
        raise ValueError(f"priors must sum to 1, got {values.sum():.6g}.")
    return values / values.sum()


def check_components_init(
    init: Any, n_components: int | None, n_features: int, name: str = "init"
) -> FloatArray:
    """A first guess given as components, (n_components, n_features); None means any number."""
    shape = ("n_components" if n_components is None else n_components, n_features)
    message = f"{name} must be numbers of shape (n_components, n_features) = {shape}"
    try:
        guess = np.array(init, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{message}, got {init!r}.") from None
    if guess.ndim != 2 or guess.shape != (n_components or len(guess), n_features):
        raise ValueError(f"{message}, got an array of shape {guess.shape}.")
    if not np.all(np.isfinite(guess)):
        raise ValueError(f"{name} has values that are not finite.")
    if not np.all(np.any(guess != 0, axis=1)):
        raise ValueError(f"{name} has a component that is zero everywhere.")
    return guess
