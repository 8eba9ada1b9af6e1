"""Which Gaussians a row should favor: its class's, the strongest, or a mix of the two.

A rule answers, for a block, with the Gaussians whose densities are summed in the numerator of the
objective, one column of indices per row. Rows with fewer than the most are padded with the index
n_gaussians, whose log joint is -inf.
"""

from typing import Protocol

import numpy as np

from opgd.core.types import FloatArray, IntArray


class Targets(Protocol):
    """A choice of the numerator of the objective."""

    n_allowed: int
    """The most Gaussians a row may favor at once."""

    def allowed(self, labels: IntArray, log_joint: FloatArray) -> IntArray:
        """Indices of Gaussians, (n_allowed, n_rows), from labels and log joints (C, n_rows)."""
        ...


class Labeled:
    """A row aims at the Gaussians of its class: the paper's Section 3.

    `gaussian_classes[c]` is the class of Gaussian c.
    """

    def __init__(self, gaussian_classes: IntArray) -> None:
        n_gaussians = len(gaussian_classes)
        members = [np.flatnonzero(gaussian_classes == k) for k in range(gaussian_classes.max() + 1)]
        self.n_allowed = max(map(len, members))
        self._table = np.full((self.n_allowed, len(members)), n_gaussians, dtype=np.intp)
        for k, own in enumerate(members):
            self._table[: len(own), k] = own

    def allowed(self, labels: IntArray, log_joint: FloatArray) -> IntArray:  # noqa: ARG002
        return self._table.take(labels, axis=1)


class Strongest:
    """A row aims at the Gaussian that is strongest at this moment: the paper's Section 5."""

    n_allowed = 1

    def allowed(self, labels: IntArray, log_joint: FloatArray) -> IntArray:  # noqa: ARG002
        return np.argmax(log_joint, axis=0)[None]


class Mixed:
    """Rows with a label (0 and up) aim at their class, the others (-1) at the strongest."""

    def __init__(self, gaussian_classes: IntArray) -> None:
        self._labeled = Labeled(gaussian_classes)
        self._strongest = Strongest()
        self.n_allowed = self._labeled.n_allowed

    def allowed(self, labels: IntArray, log_joint: FloatArray) -> IntArray:
        own = self._labeled.allowed(labels, log_joint)
        free = labels < 0
        if free.any():
            own[:, free] = len(log_joint)
            own[0, free] = self._strongest.allowed(labels, log_joint[:, free])[0]
        return own
