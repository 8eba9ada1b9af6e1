"""The search over models of all numbers of features, and the processes that evaluate them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from opgd._model_selection.folds import Fold, Outcome, Sample, order_features, try_models
from opgd._model_selection.ranking import Model, Ranking
from opgd._model_selection.sparsity import MAX_REFINED, SparsityPath, thin_sizes
from opgd._model_selection.stages import Request, StagedSearch, gains, is_rda
from opgd._utils.progress import Progress

DENSE_SHARE, SCREENING_SHARE = 0.2, 0.6
"""Shares of the time of a selection of features: models with all of them, numbers of features."""
DEFAULT_DENSE_SHARE, REMOVAL_SHARE, IMPROVEMENT_SHARE = 0.85, 0.1, 0.05
"""The same where fewer features are tried only for the best models."""


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
    n_jobs : number of processes
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
    on_step: Callable[[], object]
    bar: Progress
    searches: dict[int | None, StagedSearch] = field(default_factory=dict)
    path: SparsityPath | None = None
    """Results by number of features, if numbers were requested."""
    span: tuple[float, float] = (0.0, 1.0)
    """Range of the fraction of the work to which the current search belongs."""

    @property
    def models(self) -> list[Model]:
        """Return all models that were tried, by number of features."""
        return [m for search in self.searches.values() for m in search.models.values()]

    def try_all(self, n_features: int | None = None) -> list[Model]:
        """Try models in all stages with a number of features, None for all."""
        return self._search(n_features).select(ends=self.tries_ends)

    def explore_sizes(self) -> int:
        """Try numbers of features with few models each, and all models with the one to return.

        All models are also tried with all features. One like that selected among them is tried
        with every number of features: a model with several Gaussians per class may need fewer
        features than the simplest one.
        """
        self._order_features()
        self.span = (0.0, DENSE_SHARE)
        dense = self.ranking.preferred(self.try_all(self.n_features), self.rule)
        n_sizes = len(thin_sizes(self.n_features)) + MAX_REFINED - 1
        spans = divide_span(DENSE_SHARE, SCREENING_SHARE, n_sizes)

        def screen(size: int) -> list[Model]:
            self.span = next(spans)
            return self._search(size).screen(dense, ends=self.tries_ends)

        self.path = SparsityPath(screen, self.ranking, self.rule)
        self.path.explore(self.n_features)
        self.span = (DENSE_SHARE + SCREENING_SHARE, 1.0)
        self.try_all(self.path.select())
        return self.path.select()

    def try_fewer_features(self, n_least: int) -> int | None:
        """Try all models with all features, and the best ones with fewer; return the number to use.

        It is None, for all features, unless the best model with fewer is clearly better. At least
        `n_least` features are tried.
        """
        sizes = [size for size in thin_sizes(self.n_features)[-2::-1] if size >= n_least]
        if not sizes:
            self.try_all()
            return None
        self.span = (0.0, DEFAULT_DENSE_SHARE)
        dense = self.try_all()
        best = self.ranking.preferred(dense)
        n_selected = self._select_fewer(best, dense, sizes)
        self.span = (0.0, 1.0)
        self._show(1.0)
        return n_selected

    def _select_fewer(self, best: Model, dense: list[Model], sizes: Sequence[int]) -> int | None:
        """Return the number of features of a clearly better model than the best dense one.

        Models with fewer features are like the best dense one, like the best RDA, or like the best
        RDA with one Gaussian per class: noise may hide how many Gaussians are useful. Those with
        the number of features of the best of them are improved. If this is accepted, the models of
        the first stage are tried as well.
        """
        self._order_features()
        rda = list(filter(is_rda, dense))
        simple_rda = [model for model in rda if model.setting.n_subclasses == 1]
        lines = [best, *(self.ranking.preferred(models) for models in (rda, simple_rda) if models)]
        lines = list(dict.fromkeys(lines))
        spans = divide_span(DEFAULT_DENSE_SHARE, REMOVAL_SHARE, len(lines) * len(sizes))
        fewer = [m for line in lines for m in self._remove_features(line, best, sizes, spans)]
        if not fewer or not gains([best], first := self.ranking.preferred(fewer)):
            return None
        spans = divide_span(DEFAULT_DENSE_SHARE + REMOVAL_SHARE, IMPROVEMENT_SHARE, 2)
        self.span = next(spans)
        search = self._search(first.setting.n_features)
        search.improve()
        improved = self.ranking.preferred(search.models.values())
        if not self.ranking.is_clearly_better(improved, best):
            return None
        self.span = next(spans)
        search.screen(improved, ends=self.tries_ends)
        return first.setting.n_features

    def _remove_features(
        self,
        model: Model,
        rival: Model,
        sizes: Sequence[int],
        spans: Iterator[tuple[float, float]],
    ) -> list[Model]:
        """Return models like a given one with fewer and fewer features, unless abandoned."""
        line = [model]
        for size in sizes:
            self.span = next(spans)
            if (follower := self._search(size).follow(line[-1], rival)) is not None:
                line.append(follower)
        return line[1:]

    def compare_sizes(self, sizes: Sequence[int]) -> int:
        """Try all models with each of several numbers of features; return the number to use."""
        self._order_features()

        def try_size(size: int) -> list[Model]:
            place = sizes.index(size)
            self.span = (place / len(sizes), (place + 1) / len(sizes))
            return self.try_all(size)

        self.path = SparsityPath(try_size, self.ranking, self.rule)
        self.path.visit(sizes)
        return self.path.select()

    def _order_features(self) -> None:
        """Order features once per fold where folds are prepared again for each model.

        These are folds that are sent to other processes, and those with many samples.
        """
        n_jobs = effective_n_jobs(self.n_jobs)
        if n_jobs > 1 or self.folds[0].is_large:
            orders = Parallel(n_jobs)(delayed(order_features)(fold) for fold in self.folds)
            pairs = zip(self.folds, orders, strict=True)
            self.folds = [replace(fold, feature_order=order) for fold, order in pairs]

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
        paths = Parallel(n_jobs=self.n_jobs, return_as="generator")(
            delayed(try_models)(self.folds[i], request.setting, request.counts, request.start(i))
            for request, i in tasks
        )
        outcomes = []
        for path in paths:
            outcomes.append(path)
            self.on_step()
            self.current.count_done(1 / len(self.folds))
        self._check_scorer(outcomes)
        n = len(which)
        return [outcomes[k * n : (k + 1) * n] for k in range(len(requests))]

    def _check_scorer(self, paths: list[list[Outcome]]) -> None:
        """Raise ValueError if the scorer failed for all of the first models, for one reason."""
        failures = {outcome.failure for path in paths for outcome in path}
        if not self.models and len(failures) == 1 and (failure := failures.pop()):
            raise ValueError(
                f"The scorer failed on every split: {failure.rstrip('.')}. Pass a `scoring` that "
                "suits the classes."
            )

    def _show(self, fraction: float) -> None:
        begin, end = self.span
        self.bar.update(begin + (end - begin) * fraction, self._describe_best)

    def _describe_best(self) -> str:
        """Return the error of the best model so far, or nothing before the first one."""
        models = self.models
        return f"error {self.ranking.preferred(models).error:.3f}" if models else ""


def divide_span(begin: float, share: float, n_steps: int) -> Iterator[tuple[float, float]]:
    """Return the ranges of the work of several steps, and that of the last one for further ones."""
    ends = np.linspace(begin, begin + share, n_steps + 1).tolist()
    spans = list(pairwise(ends))
    return chain(spans, repeat(spans[-1]))
