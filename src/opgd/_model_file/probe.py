"""Check that a loaded model gives finite results for samples near its center.

The schema bounds every attribute, but not all of their combinations: numbers that are valid alone
can overflow together.
"""

from typing import Any

import numpy as np

from opgd._base.gaussian import GaussianModel
from opgd._model_file.encoding import InvalidContent
from opgd.core.types import FloatArray

METHODS = ("predict_proba", "transform", "typicality", "score_samples")
DEVIATIONS = 3.0
MAX_MEANS = 3
MAX_DENSITIES = 2**4
"""Maximum number of kernel densities to evaluate, which takes almost 1 ms each.

The bounds of their samples and bandwidths suffice for finite results.
"""
FAILURES = (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError)


def check_results(estimator: Any) -> None:
    """Raise InvalidContent unless all results for a few samples are finite."""
    if getattr(estimator, "bandwidths_", np.empty(0)).size > MAX_DENSITIES:
        return
    samples = make_samples(estimator)
    for name in METHODS:
        if hasattr(estimator, name):
            _check_method(estimator, name, samples)


def _check_method(estimator: Any, name: str, samples: FloatArray) -> None:
    try:
        finite = bool(np.all(np.isfinite(getattr(estimator, name)(samples))))
    except FAILURES as error:
        reason = f"{name} raises {type(error).__name__} for samples near its center"
        raise InvalidContent(f"the model is invalid: {reason}") from None
    if not finite:
        raise InvalidContent(
            f"the model is invalid: {name} is not finite for samples near its center"
        )


def make_samples(estimator: Any) -> FloatArray:
    """Return the center, samples some deviations from it, and means of Gaussians, (m, p)."""
    if isinstance(estimator, GaussianModel):
        center, deviations = estimator._projection.center, estimator._coordinates.scale
        means = estimator.means_[:MAX_MEANS]
    else:
        center, means = estimator._center, estimator._center[None]
        if hasattr(estimator, "_scale"):
            deviations = estimator._scale
        else:  # one unit of a score
            sizes = np.abs(estimator.components_).max(axis=0)
            deviations = 1.0 / np.where(sizes > 0, sizes, 1.0)
    steps = DEVIATIONS * deviations
    signs = np.where(np.arange(len(center)) % 2 == 0, 1.0, -1.0)
    samples = np.vstack([center, center + steps, center - steps, center + signs * steps, means])
    finite: FloatArray = samples[np.all(np.isfinite(samples), axis=1)]
    return finite
