"""Missing values in a comparison: used by classifiers that accept them, filled for the others."""

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.utils import get_tags

from opgd._dask.lazy import is_lazy
from opgd.core.types import AnyArray


def accepts_missing(estimator: Any) -> bool:
    """Return whether a classifier accepts NaN; a Pipeline, if its steps do up to an imputer."""
    for _, step in getattr(estimator, "steps", [("", estimator)]):
        if step in (None, "passthrough"):
            continue
        if not get_tags(step).input_tags.allow_nan:
            return False
        if type(step).__module__.startswith("sklearn.impute"):
            return True
    return True


def fill_medians(train: AnyArray, test: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Replace NaN by medians of the training samples; by 0 in features without values."""
    imputer = make_imputer().fit(train)
    return imputer.transform(train), imputer.transform(test)


def make_imputer() -> SimpleImputer:
    """Return a transformer that replaces NaN by medians; by 0 in features without values."""
    return SimpleImputer(strategy="median", keep_empty_features=True)


def has_missing(X: Any) -> bool:
    """Return whether an array has NaN; False for data frames in memory."""
    if is_lazy(X):
        return bool(np.isnan(X).any().compute())
    return isinstance(X, np.ndarray) and X.dtype.kind == "f" and bool(np.isnan(X).any())
