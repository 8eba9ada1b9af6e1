"""Targets of a sample: the Gaussians of its class, or the Gaussian with the largest joint density.

The densities of the targets are summed in the numerator of the objective. Targets are returned as
one column of Gaussian indices per sample. Columns with fewer than `n_allowed` targets are padded
with the index n_gaussians, whose log joint is -inf.
"""

from typing import Protocol

import numpy as np

from opgd.core.types import FloatArray, IntArray


class Targets(Protocol):
    """A rule that selects the Gaussians in the numerator of the objective."""

    n_allowed: int
    """Maximum number of targets of a sample."""

    def allowed(self, labels: IntArray, log_joint: FloatArray) -> IntArray:
        """Return the targets, (n_allowed, n_rows), from labels and log joints (C, n_rows)."""
        ...


class Labeled:
    """Target the Gaussians of a sample's class (Section 3 of the paper).

    `gaussian_classes[c]` is the class of Gaussian c.
    """

    def __init__(self, gaussian_classes: IntArray) -> None:
        n_gaussians = len(gaussian_classes)
        members = [np.flatnonzero(gaussian_classes == k) for k in range(gaussian_classes.max() + 1)]
        self.n_allowed = max(map(len, members))
        self._table = np.full((self.n_allowed, len(members)), n_gaussians, dtype=np.intp)
        for k, indices in enumerate(members):
            self._table[: len(indices), k] = indices

    def allowed(self, labels: IntArray, log_joint: FloatArray) -> IntArray:  # noqa: ARG002
        return self._table.take(labels, axis=1)


class Strongest:
    """Target the Gaussian with the largest joint density (Section 5 of the paper)."""

    n_allowed = 1

    def allowed(self, labels: IntArray, log_joint: FloatArray) -> IntArray:  # noqa: ARG002
        return np.argmax(log_joint, axis=0)[None]


class Mixed:
    """Target the class of labeled samples, and the largest joint density if the label is -1."""

    def __init__(self, gaussian_classes: IntArray) -> None:
        self._labeled = Labeled(gaussian_classes)
        self._strongest = Strongest()
        self.n_allowed = self._labeled.n_allowed

    def allowed(self, labels: IntArray, log_joint: FloatArray) -> IntArray:
        targets = self._labeled.allowed(labels, log_joint)
        unlabeled = labels < 0
        if unlabeled.any():
            targets[:, unlabeled] = len(log_joint)
            targets[0, unlabeled] = self._strongest.allowed(labels, log_joint[:, unlabeled])[0]
        return targets
