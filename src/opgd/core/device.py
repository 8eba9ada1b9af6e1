"""Samples in arrays of other libraries, whose predictions are computed where they are.

The arrays follow the array API standard, such as those of PyTorch, CuPy and JAX. Only the arrays of
the model, which are small, are copied to the device of the samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.core.fitted import FittedProjection
from opgd.core.scoring import FARTHEST, log_joint_at_means
from opgd.core.standardization import Standardization
from opgd.core.types import AnyArray, FloatArray, IntArray

BLOCK_CELLS = 2**19
"""Number of standardized scores that are computed together."""


@dataclass(frozen=True)
class Place:
    """A library of arrays, one of its devices, and the type of floats with most digits there."""

    xp: Any
    device: Any
    float_dtype: Any

    def put(self, values: AnyArray) -> Any:
        """Return an array of this library on the device; floats have `float_dtype`."""
        dtype = self.float_dtype if values.dtype.kind == "f" else None
        return self.xp.asarray(values, dtype=dtype, device=self.device)

    def put_numbers(self, values: Any) -> Any:
        """Return a NumPy array of numbers on the device, and anything else unchanged."""
        is_numeric = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
        return self.put(values) if is_numeric else values


@dataclass(frozen=True)
class DeviceSamples:
    """Samples without missing values on a device."""

    X: Any  # (n, p), of floats
    place: Place

    @property
    def are_finite(self) -> bool:
        """Whether all values are finite."""
        xp = self.place.xp  # the sum needs no array of the size of X, but it may overflow
        return bool(xp.isfinite(xp.sum(self.X))) or bool(xp.all(xp.isfinite(self.X)))

    def scores(self, components: FloatArray) -> Any:
        """Return the scores on components (q, p), (n, q), in the type of X."""
        matrix = self.place.put(np.ascontiguousarray(components.T))
        blocks = self._map(lambda rows: self._to_float(rows) @ matrix, len(components))
        return self.place.xp.astype(blocks, self.X.dtype, copy=False)

    def class_log_joint(self, projection: FittedProjection) -> Any:
        """Return log joints of the classes, divided by the temperature, (n, K)."""
        constants = self.place.put(log_joint_at_means(projection.gaussians, projection.form))
        counts = np.bincount(projection.gaussian_classes)

        def log_joint(squared: Any) -> Any:
            joint = constants - 0.5 * squared
            if len(counts) < len(projection.gaussian_classes):
                joint = self._log_sum_by_class(joint, counts)
            return joint / projection.temperature

        return self._map_distances(projection, log_joint)

    def nearest_distances(self, projection: FittedProjection) -> Any:
        """Return squared distances to the nearest Gaussian, (n,)."""
        xp = self.place.xp
        return self._map_distances(projection, lambda squared: xp.min(squared, axis=1))

    def _map_distances(self, projection: FittedProjection, function: Callable[[Any], Any]) -> Any:
        """Apply a function to the squared distances of blocks of samples, (m, C)."""
        xp, standardization = self.place.xp, Standardization.make(projection)
        center, components, matrix, offsets = (
            self.place.put(np.ascontiguousarray(array))
            for array in (
                projection.center,
                standardization.components.T,
                standardization.matrix,
                standardization.offsets,
            )
        )
        n_gaussians, q = projection.gaussians.means.shape
        limit = min(FARTHEST, float(xp.finfo(self.place.float_dtype).max) ** 0.4)

        def distances(rows: Any) -> Any:
            scores = xp.clip((self._to_float(rows) - center) @ components, -limit, limit)
            standardized = xp.clip(scores @ matrix - offsets, -limit, limit)
            standardized = xp.reshape(standardized, (rows.shape[0], n_gaussians, q))
            return function(xp.sum(standardized * standardized, axis=2))

        return self._map(distances, n_gaussians * q)

    def _map(self, function: Callable[[Any], Any], width: int) -> Any:
        """Apply a function to blocks of samples with `width` numbers each, and join the results."""
        n_rows = self.X.shape[0]
        step = max(1, BLOCK_CELLS // max(width, self.X.shape[1]))
        return self.place.xp.concat(
            [
                function(self.X[first : min(first + step, n_rows), :])
                for first in range(0, n_rows, step)
            ]
        )

    def _to_float(self, rows: Any) -> Any:
        return self.place.xp.astype(rows, self.place.float_dtype, copy=False)

    def _log_sum_by_class(self, joint: Any, counts: IntArray) -> Any:
        """Compute log-sum-exp over the Gaussians of each class, (m, C) to (m, K)."""
        xp, ends = self.place.xp, np.cumsum(counts)
        sums = []
        for end, count in zip(ends.tolist(), counts.tolist(), strict=True):
            of_class = joint[:, end - count : end]
            peaks = xp.max(of_class, axis=1, keepdims=True)
            powers = xp.sum(xp.exp(of_class - peaks), axis=1, keepdims=True)
            sums.append(xp.log(powers) + peaks)
        return xp.concat(sums, axis=1)
