"""Validation of parameters and weights; `opgd.core` relies on it and validates nothing.

X is validated in `opgd._utils.features`, y in `opgd._utils.labels`.
"""

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, check_random_state

from opgd._utils.features import to_number_vector
from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_WEIGHT = 1e150
"""Maximum sample weight, so that sums of squared weights stay finite."""
MIN_WEIGHT = 1e-150
"""Minimum positive sample weight, so that squared weights do not underflow."""
MAX_WEIGHT_RATIO = 1e30
"""Maximum ratio of positive weights; with larger ones, covariances of groups underflow."""


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer of Python or NumPy, neither boolean nor a duration."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def check_integer(name: str, value: Any, lowest: int = 0, highest: int | None = None) -> int:
    """Return an integer in a closed range, or raise TypeError or ValueError."""
    bound = f"of at least {lowest}" if highest is None else f"from {lowest} to {highest}"
    message = f"{name} must be an integer {bound}, got {value!r}."
    if not is_integer(value):
        raise TypeError(message)
    if value < lowest or (highest is not None and value > highest):
        raise ValueError(message)
    return int(value)


def check_n_components(n_components: Any, n_features: int | None = None) -> None:
    """Raise an error unless `n_components` is None or an integer from 1 to `n_features`."""
    if n_components is not None:
        check_integer("n_components", n_components, 1, n_features)


def check_n_jobs(n_jobs: Any) -> None:
    """Raise an error unless `n_jobs` is None or an integer other than 0."""
    if n_jobs is not None and check_integer("n_jobs", n_jobs, -(2**15)) == 0:
        raise ValueError("n_jobs must not be 0; use None or 1 for one worker, -1 for all cores.")


def check_share(name: str, value: Any, *, word: str = "") -> float:
    """Return a number from 0 to 1, or raise TypeError or ValueError.

    `word` is a string that is also allowed, for the message; the caller handles it.
    """
    allowed = f"{word!r} or " if word else ""
    return _check_number(name, value, f"{allowed}a number from 0 to 1", lambda x: 0 <= x <= 1)


def check_positive(name: str, value: Any, *, or_zero: bool = False) -> float:
    """Return a finite number above 0 (or 0, with `or_zero`), or raise an error."""
    what = f"a finite number {'of at least' if or_zero else 'above'} 0"
    return _check_number(name, value, what, lambda x: 0 < x < np.inf or (or_zero and x == 0))


def check_sparsity(value: Any, *, word: str = "") -> float | int:
    """Return a share of features to remove, from 0 to below 1, or a number of features to keep.

    `word` is a string that is also allowed, for the message; the caller handles it.
    """
    allowed = f"{word!r}, " if word else ""
    what = (
        f"{allowed}the share of features to remove (a float from 0 to below 1) or the number of "
        "features to keep (an int; 0 keeps all; OPGDClassifierCV selects it)"
    )
    limit = np.inf if is_integer(value) else 1
    share = _check_number("sparsity", value, what, lambda x: 0 <= x < limit)
    return int(value) if is_integer(value) else share


def _check_number(name: str, value: Any, what: str, is_valid: Callable[[float], bool]) -> float:
    message = f"{name} must be {what}, got {value!r}."
    if not is_integer(value) and not isinstance(value, float | np.floating):
        raise (ValueError if isinstance(value, str) else TypeError)(message)
    number = to_float(value)
    if not is_valid(number):
        raise ValueError(message)
    return number


def to_float(value: Any) -> float:
    """Return a number as float; infinity if it is an integer that is too large."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def count_kept(sparsity: float | int, n_features: int) -> int:
    """Return the number of features that a sparsity keeps, all of them if it is 0."""
    if is_integer(sparsity):
        return min(int(sparsity), n_features) if sparsity else n_features
    return max(1, round((1 - sparsity) * n_features))


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
    if isinstance(value, str) and value in choices:
        return value
    kind = ValueError if isinstance(value, str) else TypeError
    raise kind(f"{name} must be one of {choices}, got {value!r}.")


def check_flag(name: str, value: Any) -> bool:
    """Return a boolean, or raise TypeError."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_sample_weight(sample_weight: Any, X: AnyArray) -> FloatArray | None:
    """Return one finite, non-negative weight per sample, not all zero; None for equal weights."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(len(X), to_float(sample_weight))
    weights = to_number_vector("sample_weight", sample_weight)
    assert_all_finite(weights, input_name="sample_weight")
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must have one dimension, got shape {weights.shape}.")
    check_consistent_length(X, weights)
    if fault := find_weight_fault(weights):
        raise ValueError(f"sample_weight {fault}.")
    if not np.any(weights > 0):
        raise ValueError("sample_weight is zero for all samples; at least one must be positive.")
    return weights


def find_weight_fault(weights: FloatArray) -> str:
    """Return what is wrong with weights, and what to do, or an empty string."""
    if not np.all(np.isfinite(weights)):
        return "contains NaN or infinity"
    if np.any(weights < 0):
        return "has negative entries"
    positive = weights[weights > 0]
    if not len(positive) or (
        positive.min() >= MIN_WEIGHT
        and positive.max() <= MAX_WEIGHT
        and positive.max() / positive.min() <= MAX_WEIGHT_RATIO
    ):
        return ""
    return (
        f"has positive entries from {positive.min():.3g} to {positive.max():.3g}, too small or too "
        f"large to compute with. Rescale them to {MIN_WEIGHT:g} to {MAX_WEIGHT:g}, and set those "
        f"below {1 / MAX_WEIGHT_RATIO:g} of the largest to 0"
    )


def weigh_by_class(factors: FloatArray, codes: IntArray, weights: FloatArray | None) -> FloatArray:
    """Return weights (n,) multiplied by the factors (K,) of the classes, within the bounds."""
    before = np.ones(len(codes)) if weights is None else weights
    with np.errstate(over="ignore", under="ignore"):
        weighted: FloatArray = factors[codes] * before
    limits = np.finfo(np.float64)
    bounded = np.where(before > 0, np.clip(weighted, limits.tiny, limits.max), 0.0)
    if fault := find_weight_fault(bounded):
        raise ValueError(f"sample_weight multiplied by class_weight {fault}.")
    return weighted


def check_priors(priors: Any, classes: AnyArray, shares: FloatArray) -> FloatArray:
    """Return prior probabilities in the order of `classes`; None selects `shares`."""
    if priors is None:
        return shares
    if isinstance(priors, str) and priors == "uniform":
        return np.full(len(classes), 1.0 / len(classes))
    if hasattr(priors, "to_dict"):  # a pandas Series, indexed by class label
        priors = priors.to_dict()
    labels = classes.tolist()
    if isinstance(priors, Mapping):
        unknown = [label for label in priors if label not in labels]
        missing = [label for label in labels if label not in priors]
        if unknown or missing:
            fault = f"unknown: {unknown}" if unknown else f"missing: {missing}"
            raise ValueError(f"priors must have one entry for each class; {fault}.")
        priors = [priors[label] for label in labels]
    what = "None, 'uniform', a number above 0 for each class or a dict with labels as keys"
    try:
        values = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"priors must be {what}, got {priors!r}.") from None
    if values.shape != (len(labels),):
        raise ValueError(
            f"priors must have one entry for each of the {len(labels)} classes, "
            f"got shape {values.shape}."
        )
    if not np.all(np.isfinite(values) & (values > 0)) or abs(values.sum() - 1) > 1e-6:
        raise ValueError(f"priors must be finite, above 0 and sum to 1, got {values.tolist()}.")
    return values / values.sum()


def check_class_weight(
    class_weight: Any, classes: AnyArray, counts: FloatArray
) -> FloatArray | None:
    """Return the factor of the sample weights of each class, (K,); None for equal factors.

    `counts` are the total sample weights of the classes.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        balanced: FloatArray = counts.sum() / (len(classes) * counts)
        return balanced
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}.")
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(f"class_weight has labels that are not in y: {unknown}.")
    return np.array(
        [check_positive(f"class_weight[{label!r}]", class_weight.get(label, 1)) for label in labels]
    )


def check_components_init(
    init: Any, n_components: int | None, n_features: int, name: str = "init"
) -> FloatArray:
    """Return initial components, (n_components, n_features), or raise ValueError.

    With `n_components=None`, any number of components is allowed.
    """
    shape = ("n_components" if n_components is None else n_components, n_features)
    message = (
        f"{name} must be an array of finite numbers of shape (n_components, n_features) = {shape}, "
        "without components of zeros"
    )
    try:
        components = np.array(init, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{message}, got {init!r}.") from None
    if components.ndim != 2 or components.shape != (n_components or len(components), n_features):
        raise ValueError(f"{message}, got an array of shape {components.shape}.")
    if not np.all(np.isfinite(components)) or not np.all(np.any(components != 0, axis=1)):
        raise ValueError(f"{message}, got {components.tolist()!r:.200}.")
    return components
