"""Selection of the number of features.

Features are ordered on the training samples of each split by what the separation of the classes
loses without them (`opgd.core.feature_order`), so that a number of features determines which are
used. A few inexpensive models are tried for each of several numbers, then for numbers near the
best. The smallest number whose results are within half a standard error of the best ones is
selected.

The best of many numbers is partly the luckiest one, so results are averaged over neighboring
numbers first. This would blur a sharp minimum, as in a table where most features are noise, and is
omitted if the results with the largest number are clearly worse than the best ones.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd._model_selection.ranking import TIE, Model, Ranking, binomial_error, estimate_mean
from opgd.core.types import AnyArray, FloatArray, IntArray

RATIO = 0.7
"""Ratio of successive numbers of features."""
MAX_REFINED = 8
"""Maximum number of numbers between two successive ones that are tried near the best."""
TOLERANCES = {"best": TIE, "one_se": 1.0}
"""Standard errors within which fewer features are preferred, by rule."""
CLEARLY_WORSE = 2.0
"""Standard errors by which the results of the largest number are clearly worse than the best."""
BANDWIDTH = -np.log(RATIO)
"""Standard deviation of the weights of neighboring numbers, on a logarithmic scale."""
PATIENCE = 4
"""Number of larger numbers without a lower error or log-loss after which no more are tried."""


def thin_sizes(n_features: int) -> list[int]:
    """Return numbers of features to try, ascending, from 1 to `n_features`."""
    sizes = [n_features]
    while sizes[0] > 1:
        sizes.insert(0, max(1, min(sizes[0] - 1, round(RATIO * sizes[0]))))
    return sizes


def average_neighbors(sizes: IntArray, values: FloatArray) -> FloatArray:
    """Return values (m,), averaged over numbers of features that are close on a log scale.

    A value of minus infinity, for an undefined score, remains and does not affect its neighbors.
    """
    steps = np.subtract.outer(np.log(sizes), np.log(sizes)) / BANDWIDTH
    weights = np.exp(-0.5 * steps**2) * np.isfinite(values)
    means = weights @ np.where(np.isfinite(values), values, 0.0) / weights.sum(axis=1)
    return np.where(np.isfinite(values), means.round(12), values)


@dataclass
class SparsityPath:
    """Best models by number of features.

    Parameters
    ----------
    try_size : returns the models that were tried with a number of features
    ranking : order of models
    rule : with "one_se", results within a whole standard error are nearly as good, otherwise half
    """

    try_size: Callable[[int], list[Model]]
    ranking: Ranking
    rule: str = "best"

    def __post_init__(self) -> None:
        self.models: dict[int, list[Model]] = {}

    def explore(self, n_features: int) -> None:
        """Try numbers of features from 1 on, and all those between neighbors of the selected one.

        Larger numbers are not tried once several in a row did not improve the results, except for
        all features.
        """
        sizes = thin_sizes(n_features)
        for size in sizes[:-1]:
            self.visit([size])
            if self._has_stalled():
                break
        self.visit(sizes[-1:])
        while new := self._list_neighbors():
            self.visit(new)

    def visit(self, sizes: Iterable[int]) -> None:
        """Try numbers of features that were not tried yet."""
        for size in sizes:
            if size not in self.models:
                self.models[size] = self.try_size(size)

    def best(self, size: int) -> Model:
        """Return the best model with a number of features."""
        return self.ranking.preferred(self.models[size])

    def select(self) -> int:
        """Return the smallest number of features that is nearly as good as the best.

        Neither the score nor the Brier score, which has less variance than the error, may be worse
        than the best one of all numbers by more than a share of its standard error.
        """
        sizes = np.array(sorted(self.models))
        models = [self.best(size) for size in sizes]
        scores = np.array([self.ranking.score(model) for model in models])
        briers = np.array([estimate_mean(model.brier, model.weights) for model in models])
        error = self.ranking.standard_error(self.ranking.best(models))
        means, brier_error = briers[:, 0], briers[np.argmin(briers[:, 0]), 1]

        def is_near(tolerance: float) -> AnyArray:
            worst = scores.max() - tolerance * error
            return (scores >= worst) & (means <= means.min() + tolerance * brier_error)

        if error > 0 and is_near(CLEARLY_WORSE)[-1]:
            scores, means = (average_neighbors(sizes, values) for values in (scores, means))
        near = sizes[is_near(TOLERANCES[self.rule])]
        return int(near[0] if len(near) else sizes[np.argmax(scores)])

    def tabulate(self) -> dict[str, Any]:
        """Return the results by number of features, as arrays."""
        sizes = sorted(self.models)
        models = [self.best(size) for size in sizes]
        return {
            "n_features": np.array(sizes),
            "mean_test_error": np.array([model.error for model in models]),
            "se_test_error": np.array([binomial_error(m.error, m.weight) for m in models]),
            "mean_test_log_loss": np.array([model.loss for model in models]),
            "test_log_likelihood": np.array([-model.raw_loss * model.weight for model in models]),
            "n_components": np.array([_count_components(model) for model in models]),
            "selected": np.array(sizes) == self.select(),
        }

    def _list_neighbors(self) -> list[int]:
        """Return numbers between the selected one and its neighbors that were not tried yet."""
        visited = sorted(self.models)
        place = visited.index(self.select())
        low, high = visited[max(place - 1, 0)], visited[min(place + 1, len(visited) - 1)]
        between = np.linspace(low, high, min(high - low, MAX_REFINED) + 1).round().astype(int)
        return [size for size in between.tolist() if size not in self.models]

    def _has_stalled(self) -> bool:
        """Return whether the last numbers of features did not improve the results."""
        models = [self.best(size) for size in sorted(self.models)]
        if len(models) <= PATIENCE:
            return False
        before, after = models[:-PATIENCE], models[-PATIENCE:]
        lower_error = min(m.error for m in after) < min(m.error for m in before)
        return not lower_error and min(m.loss for m in after) >= min(m.loss for m in before)


def _count_components(model: Model) -> int:
    return max(outcome.n_components for outcome in model.outcomes)
