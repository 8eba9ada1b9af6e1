"""The search over models of all numbers of features, and the processes that evaluate them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.utils.parallel import Parallel, delayed

from opgd._model_selection.folds import Fold, Outcome, Sample, try_models
from opgd._model_selection.ranking import Model, Ranking
from opgd._model_selection.sparsity import MAX_REFINED, SparsityPath, thin_sizes
from opgd._model_selection.stages import Request, StagedSearch
from opgd._utils.progress import Progress

DENSE_SHARE, SCREENING_SHARE = 0.2, 0.6
"""Shares of the time of a selection of features: models with all of them, numbers of features."""


@dataclass
class Selection:
    """Models tried on the folds of a cross-validation.

    Parameters
    ----------
    sample, folds : all samples, and the splits of them
    rank : number of dimensions that the samples span
    n_features : number of features that vary
    ranking : order of models
    rule : how to select among them, see `OPGDClassifierCV`
    given : values of hyperparameters to try in all combinations
    list_counts : returns the numbers of components to try, from the number of dimensions
    tries_ends : whether LDA and RDA are candidates
    n_jobs : number of processes; evaluations on a cluster follow one another
    on_step : called after every evaluation of a path of models on a split
    bar : shows the progress
    """

    sample: Sample
    folds: list[Fold]
    rank: int
    n_features: int
    ranking: Ranking
    rule: str
    given: dict[str, list[Any]]
    list_counts: Callable[[int], list[int]]
    tries_ends: bool
    n_jobs: int | None
    on_step: Callable[[], None]
    bar: Progress
    searches: dict[int | None, StagedSearch] = field(default_factory=dict)
    span: tuple[float, float] = (0.0, 1.0)
    """Range of the fraction of the work to which the current search belongs."""

    @property
    def models(self) -> list[Model]:
        """Return all models that were tried, by number of features."""
        return [m for search in self.searches.values() for m in search.models.values()]

    def try_all(self, n_features: int | None = None) -> list[Model]:
        """Try models in all stages with a number of features, None for all."""
        return self._search(n_features).select(ends=self.tries_ends)

    def explore_sizes(self) -> SparsityPath:
        """Try numbers of features with few models each, and all models with the selected one.

        All models are also tried with all features. One like that selected among them is tried
        with every number of features: a model with several Gaussians per class may need fewer
        features than the simplest one.
        """
        n_visited, n_sizes = 0, len(thin_sizes(self.n_features)) + MAX_REFINED - 1
        self.span = (0.0, DENSE_SHARE)
        dense = self.ranking.preferred(self.try_all(self.n_features), self.rule)

        def screen(size: int) -> list[Model]:
            nonlocal n_visited
            share = SCREENING_SHARE / n_sizes
            begin = DENSE_SHARE + min(n_visited * share, SCREENING_SHARE - share)
            self.span, n_visited = (begin, begin + share), n_visited + 1
            return self._search(size).screen(dense, ends=self.tries_ends)

        path = SparsityPath(screen, self.ranking, self.rule)
        path.explore(self.n_features)
        self.span = (DENSE_SHARE + SCREENING_SHARE, 1.0)
        self.try_all(path.select())
        return path

    def compare_sizes(self, sizes: Sequence[int]) -> SparsityPath:
        """Try all models with each of several numbers of features."""

        def try_size(size: int) -> list[Model]:
            place = sizes.index(size)
            self.span = (place / len(sizes), (place + 1) / len(sizes))
            return self.try_all(size)

        path = SparsityPath(try_size, self.ranking, self.rule)
        path.visit(sizes)
        return path

    def _search(self, n_features: int | None) -> StagedSearch:
        """Return the search among models with a number of features."""
        if n_features not in self.searches:
            rank = min(self.rank, n_features or self.rank)
            self.searches[n_features] = StagedSearch(
                self._run,
                self.given,
                self.list_counts(rank),
                rank,
                largest_class=float(self.sample.class_sizes.max()),
                n_splits=len(self.folds),
                n_few=max(2, len(self.sample.classes) - 1),
                ranking=self.ranking,
                n_features=n_features,
            )
        self.current = self.searches[n_features]
        self.current.on_progress = self._show
        return self.current

    def _run(self, requests: list[Request], which: Sequence[int]) -> list[list[list[Outcome]]]:
        tasks = [(request, i) for request in requests for i in which]
        n_jobs = self.n_jobs if self.sample.in_memory else None
        paths = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(try_models)(self.folds[i], request.setting, request.counts, request.start(i))
            for request, i in tasks
        )
        outcomes = []
        for path in paths:
            outcomes.append(path)
            self.on_step()
            self.current.count_done(1 / len(self.folds))
        n = len(which)
        return [outcomes[k * n : (k + 1) * n] for k in range(len(requests))]

    def _show(self, fraction: float) -> None:
        begin, end = self.span
        self.bar.update(begin + (end - begin) * fraction, self.current.describe_best)
