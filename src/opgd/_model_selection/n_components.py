"""Predictions with fewer components, for models whose components are nested."""

from functools import partial
from typing import Any

import numpy as np

from opgd._dask.lazy import apply_to_samples, compute_eagerly
from opgd.core.fitted import FittedProjection
from opgd.core.types import AnyArray, IntArray


def predict_by_first_components(model: Any, X: Any) -> list[IntArray]:
    """Predict class codes (n,) with the first 1, 2, ... components of a fitted model.

    Codes of Dask input are predicted on its workers.
    """
    predict = partial(_predict_codes, model._projection)
    return list(compute_eagerly(apply_to_samples(predict, X)).T)


def _predict_codes(projection: FittedProjection, X: AnyArray) -> IntArray:
    """Return the codes with each number of components, (n, n_components)."""
    nested = [projection.first(q) for q in range(1, projection.n_components + 1)]
    return np.stack([np.argmax(smaller.class_log_joint(X), axis=1) for smaller in nested], axis=1)
