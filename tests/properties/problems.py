"""Small random problems that hypothesis draws and shrinks."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Drawn:
    """Rows of a few Gaussian classes; hypothesis shrinks the numbers, the seed makes the rest."""

    seed: int
    n_classes: int
    n_features: int
    n_components: int
    rows_per_feature: int
    distance: float
    covariance_type: str

    @property
    def rng(self):
        """For what a property draws besides the table."""
        return np.random.default_rng([self.seed, 1])

    def table(self):
        """X, (n, p), and labels, in no order; classes differ in size, shape and place."""
        rng = np.random.default_rng(self.seed)
        least = self.rows_per_feature * self.n_features + 4
        sizes = least + rng.integers(0, least, self.n_classes)
        y = rng.permutation(np.repeat(np.arange(self.n_classes), sizes))
        shapes = rng.normal(size=(self.n_classes, self.n_features, self.n_features))
        shapes += 2 * np.eye(self.n_features)
        means = self.distance * rng.normal(size=(self.n_classes, self.n_features))
        rows = rng.normal(size=(len(y), self.n_features))
        return np.einsum("ij,ijk->ik", rows, shapes[y]) + means[y], y


@st.composite
def problems(draw):
    n_features = draw(st.integers(1, 5))
    return Drawn(
        seed=draw(st.integers(0, 2**32 - 1)),
        n_classes=draw(st.integers(2, 4)),
        n_features=n_features,
        n_components=draw(st.integers(1, n_features)),
        rows_per_feature=draw(st.integers(2, 4)),
        distance=draw(st.sampled_from([0.0, 0.5, 2.0, 5.0])),
        covariance_type=draw(st.sampled_from(["diag", "full"])),
    )
