"""Inputs of a selection: labels, splits, and values of hyperparameters to try."""

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from sklearn.model_selection import (
    PredefinedSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)

from opgd._dask.lazy import compute_eagerly
from opgd._model_selection.folds import Sample
from opgd._utils.labels import (
    check_no_missing,
    encode_classes,
    make_split_labels,
    to_label_array,
)
from opgd._utils.validation import check_sample_weight, check_seed
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_FULL_GRID = 12
DENSE_COUNTS = 6
COUNT_RATIO = 1.5
MAX_DRAWN = 100_000
"""Number of samples of Dask input on which models are selected."""
MANY_VALUES, FEW_SAMPLES = 20, 10
"""More different numbers than this, with fewer samples each, look like a numeric target."""


def thin_counts(maximum: int) -> list[int]:
    """Return numbers of components to try, from 1 to `maximum`.

    These are all numbers if there are at most twelve; otherwise all up to six, then each about 1.5
    times the previous one.
    """
    dense = maximum if maximum <= MAX_FULL_GRID else DENSE_COUNTS
    counts = list(range(1, dense + 1))
    while counts[-1] < maximum:
        counts.append(min(maximum, max(counts[-1] + 1, round(COUNT_RATIO * counts[-1]))))
    return counts


def check_classes(classes: AnyArray, codes: IntArray) -> None:
    """Raise ValueError if there is one class; warn if y looks like a numeric target."""
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ({classes.tolist()[0]!r}); a classifier needs at least two. "
            "Check that y is the column of labels."
        )
    n_classes, n_samples = len(classes), len(codes)
    is_numeric = np.issubdtype(classes.dtype, np.number)
    if is_numeric and n_classes > MANY_VALUES and n_samples < FEW_SAMPLES * n_classes:
        warn_caller(
            f"y has {n_classes} different numbers in {n_samples} samples. If it is a numeric "
            "target, use a regressor, or bin it into a few classes.",
            DataWarning,
        )


def make_sample(
    X: AnyArray,
    y: AnyArray,
    weights: FloatArray | None,
    routed: dict[str, dict[str, Any]],
    *,
    drop_unweighted: bool,
) -> tuple[Sample, dict[str, Any]]:
    """Return samples with encoded labels, and the metadata for the splitter.

    Samples of weight 0 are in no fit. They can be dropped unless a splitter or splits passed by the
    user refer to all samples.
    """
    metadata = {use: _check_metadata(values, len(X)) for use, values in routed.items()}
    is_used = np.ones(len(y), dtype=bool) if weights is None else weights > 0
    check_no_missing(y, is_used)
    if weights is not None and drop_unweighted and not is_used.all():
        X, y, weights = X[is_used], y[is_used], weights[is_used]
        metadata = {
            use: {name: value[is_used] for name, value in values.items()}
            for use, values in metadata.items()
        }
        is_used = np.ones(len(y), dtype=bool)
    classes, used_codes = encode_classes(y, is_used)
    codes = np.zeros(len(y), dtype=np.intp)
    codes[is_used] = used_codes
    check_classes(classes, codes)
    return Sample(X, codes, weights, classes, metadata["score"]), metadata["split"]


def draw_samples(
    X: Any, y: Any, params: dict[str, Any], cv: Any, random_state: Any
) -> tuple[Any, AnyArray, dict[str, Any]]:
    """Load at most about `MAX_DRAWN` samples of Dask input, with their labels and metadata.

    They are drawn among samples of positive weight, equally likely in each class, so that every
    class has its share of them and at least one. Fewer samples are all loaded.
    """
    from opgd._dask.inputs import count_rows, load_rows

    labels, lengths = to_label_array(y), count_rows(X)
    n_samples = int(lengths.sum())
    if len(labels) != n_samples:
        raise ValueError(f"X has {n_samples} samples, but y has {len(labels)}.")
    weights = check_sample_weight(compute_eagerly(params["sample_weight"]), labels)
    metadata = _check_metadata(params | {"sample_weight": weights}, n_samples)
    positions = np.arange(n_samples)
    if n_samples > MAX_DRAWN:
        is_given = isinstance(cv, Iterable) and not hasattr(cv, "split")
        if is_given or isinstance(cv, PredefinedSplit):
            raise ValueError(
                f"With more than {MAX_DRAWN} samples of Dask input, cv must be a number or a "
                "splitter that needs no positions, since models are selected on some of the "
                "samples."
            )
        used = np.ones(n_samples, dtype=bool) if weights is None else weights > 0
        codes, present = encode_classes(labels, used)[1], np.flatnonzero(used)
        share = min(MAX_DRAWN / len(present), 1.0)
        seed = 0 if random_state is None else check_seed(random_state).randint(2**31 - 1)
        rng = np.random.default_rng(seed)
        members = [present[codes == k] for k in range(codes.max() + 1)]
        drawn = [rng.choice(m, math.ceil(share * len(m)), replace=False) for m in members]
        positions = np.sort(np.concatenate(drawn))
    params = params | {name: values[positions] for name, values in metadata.items()}
    return load_rows(X, lengths, positions), labels[positions], params


def _check_metadata(values: dict[str, Any], n_samples: int) -> dict[str, AnyArray]:
    """Return metadata as arrays with one entry for each sample, without those that are None."""
    return {
        name: check_length(name, compute_eagerly(value), n_samples)
        for name, value in values.items()
        if value is not None
    }


def make_splits(
    cv: Any, sample: Sample, params: dict[str, Any], random_state: Any
) -> list[tuple[IntArray, IntArray]]:
    """Return the training and test indices of each split; `params` go to the splitter."""
    if isinstance(cv, Real) and not isinstance(cv, int | np.integer):
        if not 0 < float(cv) < 1:
            raise ValueError(f"A float cv must be between 0 and 1 (exclusive), got {cv!r}.")
        cv = StratifiedShuffleSplit(1, test_size=float(cv), random_state=random_state)
    splitter = check_cv(cv, sample.codes, classifier=True)
    _check_folds(splitter, sample)
    labels = make_split_labels(sample.classes, sample.codes)
    splits = list(splitter.split(sample.X, labels, **params))
    if not splits:
        raise ValueError(
            "cv yielded no splits. If it is a generator, it may already be exhausted; "
            "pass a list of splits instead."
        )
    return splits


def _check_folds(splitter: Any, sample: Sample) -> None:
    """Raise ValueError if no class has a sample for each fold."""
    largest = int(np.bincount(sample.codes).max())
    if isinstance(splitter, StratifiedKFold) and largest < splitter.n_splits:
        raise ValueError(
            f"No class has as many samples as there are folds ({splitter.n_splits}): y has "
            f"{len(sample.classes)} classes in {len(sample.codes)} samples, at most {largest} in "
            "a class. If y is an identifier or a numeric target, pass the column of labels; "
            "otherwise pass a smaller cv or merge classes."
        )


def list_values(value: Any) -> list[Any]:
    """Return the values to try as a list."""
    if isinstance(value, str | dict) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def check_length(name: str, values: Any, n_samples: int) -> AnyArray:
    """Return metadata as an array with one entry for each sample."""
    array = np.asarray(values) if name != "groups" else to_label_array(values, name)
    if name == "groups":
        check_no_missing(array, name=name)
    if array.shape[:1] != (n_samples,):
        raise ValueError(f"{name} has {len(array)} entries, but X has {n_samples} samples.")
    return array
