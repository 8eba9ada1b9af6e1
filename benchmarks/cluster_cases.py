"""Simulated tables with a known number of clusters, to judge how the number is selected.

Thirty cases, fixed before the selection was tuned. The clusters of a case are Gaussian in a few
informative dimensions, with means scaled until the Bayes error has the given value. Features
without clusters are appended, all features may be mixed by a linear map, informative features may
be rounded, and some samples may be replaced by uniform outliers. `TUNING_SEEDS` are for work on the
method, `JUDGING_SEEDS` for the figures that are reported.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from opgd.core.types import FloatArray, IntArray

TUNING_SEEDS = (0, 1)
JUDGING_SEEDS = (100, 101, 102, 103)
N_ERROR_ROWS = 20_000
"""Number of samples from which the Bayes error is computed."""
N_LAYOUTS = 50
"""Number of random positions of the means, of which the most even is kept."""
OUTLIER = -1
"""Label of uniform outliers."""


@dataclass(frozen=True)
class Case:
    """One kind of table; a seed makes a table of it."""

    n_clusters: int
    n_samples: int
    n_informative: int  # dimensions in which clusters differ
    bayes_error: float
    n_noise: int = 0  # Gaussian features without clusters
    n_discrete: int = 0  # binary and count features without clusters
    covariances: str = "own"  # "spherical", "shared" or "own"
    unequal: bool = False  # whether cluster sizes decrease from 4 to 1
    correlated: bool = False  # whether continuous features are mixed by a linear map
    rounded: bool = False  # whether informative features are rounded to whole deviations
    outliers: float = 0.0  # share of uniform outliers

    @property
    def n_features(self) -> int:
        return self.n_informative + self.n_noise + self.n_discrete

    @property
    def name(self) -> str:
        flags = [
            "unequal" * self.unequal,
            "correlated" * self.correlated,
            f"{self.n_noise} noise" if self.n_noise else "",
            f"{self.n_discrete} discrete" if self.n_discrete else "",
            "rounded" * self.rounded,
            f"{self.outliers:.0%} outliers" if self.outliers else "",
        ]
        sizes = f"K={self.n_clusters} n={self.n_samples} p={self.n_features}"
        about = f"{sizes} {self.bayes_error:.0%} {self.covariances}"
        return ", ".join([about, *filter(None, flags)])


@dataclass(frozen=True)
class Mixture:
    """A mixture in the informative dimensions."""

    shares: FloatArray  # (K,)
    means: FloatArray  # (K, d)
    covariances: FloatArray  # (K, d, d)

    def draw(self, n_samples: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Draw samples with exact shares; return them and their clusters."""
        ends = np.round(n_samples * np.cumsum(self.shares)).astype(int)
        labels = np.searchsorted(ends, np.arange(n_samples), side="right")
        roots = np.linalg.cholesky(self.covariances)
        noise = rng.normal(size=(n_samples, self.means.shape[1]))
        return self.means[labels] + np.einsum("nij,nj->ni", roots[labels], noise), labels

    def bayes_error(self, seed: int = 0) -> float:
        """Return the mean probability that the most probable cluster is not the right one."""
        X, _ = self.draw(N_ERROR_ROWS, np.random.default_rng(seed))
        joint = np.empty((len(self.shares), len(X)))
        for k, covariance in enumerate(self.covariances):
            steps = np.linalg.solve(np.linalg.cholesky(covariance), (X - self.means[k]).T)
            joint[k] = np.log(self.shares[k]) - 0.5 * np.linalg.slogdet(covariance)[1]
            joint[k] -= 0.5 * np.sum(steps**2, axis=0)
        return float(np.mean(1 - np.exp(joint.max(axis=0) - special.logsumexp(joint, axis=0))))


def make_case(case: Case, seed: int) -> tuple[FloatArray, IntArray]:
    """Make a table; return samples (n, p) and clusters (n,), with `OUTLIER` for outliers."""
    rng = np.random.default_rng([CASES.index(case), seed])
    X, labels = _make_mixture(case, rng).draw(case.n_samples, rng)
    if case.rounded:
        X = np.round(X)
    X = np.hstack([X, rng.normal(size=(len(X), case.n_noise))])
    if case.correlated:
        X = X @ _mixing_map(X.shape[1], rng)
    if case.outliers:
        outlying = rng.choice(len(X), round(case.outliers * len(X)), replace=False)
        low, high = X.min(axis=0), X.max(axis=0)
        margin = 0.25 * (high - low)
        X[outlying] = rng.uniform(low - margin, high + margin, (len(outlying), X.shape[1]))
        labels[outlying] = OUTLIER
    X = np.hstack([X, _draw_discrete(case, rng)])
    order = rng.permutation(len(X))
    return X[order], labels[order]


def _make_mixture(case: Case, rng: np.random.Generator) -> Mixture:
    """Return a mixture whose means are so far apart that it has the Bayes error of the case."""
    K, d = case.n_clusters, case.n_informative
    sizes = np.linspace(4.0, 1.0, K) if case.unequal else np.ones(K)
    layouts = rng.normal(size=(N_LAYOUTS, K, d))
    directions = layouts[np.argmax([_evenness(means) for means in layouts])]
    covariances = np.stack([_make_covariance(d, case.covariances, rng) for _ in range(K)])
    if case.covariances == "shared":
        covariances[:] = covariances[0]

    def make(scale: float) -> Mixture:
        return Mixture(sizes / sizes.sum(), scale * directions, covariances)

    scale = optimize.brentq(lambda s: make(s).bayes_error() - case.bayes_error, 0.05, 60, xtol=1e-3)
    return make(float(scale))


def _evenness(means: FloatArray) -> float:
    """Return the smallest distance between means, as a fraction of the average one."""
    first, second = np.triu_indices(len(means), 1)
    distances = np.linalg.norm(means[first] - means[second], axis=1)
    return float(distances.min() / distances.mean())


def _make_covariance(d: int, kind: str, rng: np.random.Generator) -> FloatArray:
    if kind == "spherical":
        return np.eye(d)
    vectors = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (vectors * np.exp(rng.uniform(-1.0, 1.0, d))) @ vectors.T


def _mixing_map(p: int, rng: np.random.Generator) -> FloatArray:
    """Return an invertible map with a condition number of 30."""
    left, right = (np.linalg.qr(rng.normal(size=(p, p)))[0] for _ in range(2))
    return (left * np.geomspace(1.0, 30.0, p)) @ right


def _draw_discrete(case: Case, rng: np.random.Generator) -> FloatArray:
    """Draw features without clusters: binary ones and counts in turn."""
    columns = [
        rng.poisson(1.5, case.n_samples) if j % 2 else rng.uniform(size=case.n_samples) < 0.3
        for j in range(case.n_discrete)
    ]
    return np.array(columns, dtype=np.float64).reshape(case.n_discrete, case.n_samples).T


CASES = [
    Case(2, 300, 2, 0.01),
    Case(2, 400, 2, 0.05, covariances="spherical"),
    Case(3, 400, 2, 0.01, covariances="shared"),
    Case(3, 600, 2, 0.05),
    Case(4, 600, 3, 0.01, unequal=True),
    Case(5, 1000, 4, 0.05),
    Case(6, 900, 5, 0.01, covariances="spherical"),
    Case(8, 1600, 6, 0.05, covariances="shared"),
    Case(8, 1200, 4, 0.01, unequal=True),
    Case(2, 500, 3, 0.01, n_noise=7),
    Case(2, 500, 2, 0.05, n_noise=8, covariances="shared"),
    Case(3, 600, 3, 0.01, n_noise=12, correlated=True),
    Case(3, 900, 4, 0.05, n_noise=16, correlated=True, covariances="spherical"),
    Case(4, 800, 5, 0.01, n_noise=15, unequal=True),
    Case(5, 1500, 6, 0.05, n_noise=14, correlated=True),
    Case(6, 1500, 6, 0.01, n_noise=34, covariances="shared"),
    Case(4, 1200, 8, 0.01, n_noise=32, correlated=True),
    Case(8, 2000, 10, 0.01, n_noise=10, unequal=True),
    Case(3, 500, 5, 0.01, correlated=True, unequal=True),
    Case(5, 1000, 8, 0.01, correlated=True),
    Case(7, 1400, 6, 0.05, correlated=True, covariances="spherical"),
    Case(2, 400, 2, 0.01, n_discrete=2),
    Case(3, 600, 3, 0.01, n_discrete=3),
    Case(4, 1000, 4, 0.05, n_discrete=4, n_noise=2),
    Case(3, 600, 3, 0.01, rounded=True),
    Case(5, 1000, 4, 0.01, rounded=True, unequal=True),
    Case(2, 400, 3, 0.01, outliers=0.05),
    Case(3, 600, 3, 0.01, outliers=0.05, unequal=True),
    Case(4, 800, 4, 0.05, outliers=0.05, correlated=True),
    Case(5, 1000, 5, 0.01, outliers=0.05, n_noise=3),
]
