"""Predictions with fewer components, for models whose components are nested."""

from typing import Any

import numpy as np

from opgd.core.types import AnyArray, IntArray


def predict_by_first_components(model: Any, X: AnyArray) -> list[IntArray]:
    """Predict class codes (n,) with the first 1, 2, ... components of a fitted model."""
    projection = model._projection
    nested = [projection.first(q) for q in range(1, projection.n_components + 1)]
    return [np.argmax(smaller.class_log_joint(X), axis=1) for smaller in nested]
