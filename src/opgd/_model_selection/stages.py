"""Selection in stages: which models are tried, given the results of those before.

Hyperparameters with given values are tried in all combinations. The others are selected in stages,
each of which varies the best models of the stages before it:

1. an increasing number of components with the baseline settings; LDA, and RDA with all components;
2. shrinkage and ridge of the best model, one after the other;
3. more Gaussians per class, doubled as long as held-out samples gain from it: for RDA, for the best
   number of components and for few components; then full covariances;
4. shrinkage, ridge and number of components of the best model so far.

Fewer features are tried after these stages (`opgd._model_selection.selection`).

Models after the first stage start from the components of the model that they vary. They are first
evaluated on a few splits, and abandoned if they are clearly worse there than this model.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from opgd._model_selection.folds import ALL_COMPONENTS, ROWS_PER_GAUSSIAN, Outcome
from opgd._model_selection.path import Setting
from opgd._model_selection.ranking import Model, Ranking, compare_errors
from opgd.core.types import AnyArray

BASELINE: dict[str, Any] = {
    "covariance_type": "diag",
    "n_subclasses": 1,
    "shrinkage": 0.1,
    "ridge": "auto",
}
"""Values of the first stage."""
SHRINKAGES = (0.0, 0.1, 0.3, 0.6)
RIDGES: tuple[float | str, ...] = ("auto", 0.05, 0.2)
RDA_SHRINKAGES = (0.0, 0.1, 0.3, 0.6, 0.9)
MAX_GAUSSIANS = 32
"""Maximum number of Gaussians per class."""
FULL_COMPONENTS = 16
"""Maximum number of components of models with full covariances that are optimized."""
N_SCREENING, RACE_DEVIATIONS = 2, 0.5
"""Number of splits on which variants are screened, and how much worse than its rival one may be."""
GROWTH_PATIENCE = 3
"""Number of doublings without a gain after which no more Gaussians are tried."""


@dataclass(frozen=True)
class Request:
    """Models to try on all splits: those of a setting with the given numbers of components."""

    setting: Setting
    counts: tuple[int, ...]
    initial: tuple[AnyArray | None, ...] | None = None  # components to start from, by split

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        """Return what identifies the models, wherever they start from."""
        return repr(self.setting), self.counts

    def start(self, split: int) -> AnyArray | None:
        """Return the components to start from on a split, or None for the default start."""
        return None if self.initial is None else self.initial[split]


Runner = Callable[[list[Request], Sequence[int]], list[list[list[Outcome]]]]
"""Evaluate requests on some splits; return the path of outcomes for each request and split."""


def align_paths(paths: list[list[Outcome]]) -> list[Model]:
    """Return the models of a setting, each with one outcome per split, from the splits' paths.

    A path ends early if more components do not improve the results on its split. Its last outcome
    is then used for the larger numbers of components that other splits have.
    """
    models = []
    for count in sorted({outcome.count for path in paths for outcome in path}):
        reached = [[outcome for outcome in path if outcome.count <= count] for path in paths]
        if all(reached):
            models.append(Model([path[-1] for path in reached]))
    return models


@dataclass(frozen=True)
class Stage:
    """A stage of the search: its share of the time, and about how many requests it makes."""

    run: Callable[[], object]
    share: float
    n_requests: int


@dataclass
class StageClock:
    """Estimate of the work done in a stage, which covers `share` of the work from `begin` on."""

    begin: float
    share: float
    n_requests: int
    n_done: float = 0.0

    def advance(self, n_requests: float) -> float:
        """Count requests as done; return the fraction of all work that is done."""
        self.n_done += n_requests
        return self.begin + self.share * min(1.0, self.n_done / max(self.n_requests, 1))


@dataclass
class StagedSearch:
    """Search for the best model; `models` are all that were tried, in their order.

    Parameters
    ----------
    run : evaluates requests
    given : values of the hyperparameters to try in all combinations; those of the others are
        selected in stages
    counts : numbers of components to try, ascending
    rank : number of dimensions that the samples span
    largest_class : number of samples of the largest class
    n_splits : number of splits
    n_few : number of components with which Gaussians are grown beside the best number
    ranking : order of models
    n_features : number of features that the models use, None for all
    on_progress : called with the fraction of the work that is done, by an estimate
    """

    run: Runner
    given: dict[str, list[Any]]
    counts: list[int]
    rank: int
    largest_class: float
    n_splits: int
    n_few: int
    ranking: Ranking
    n_features: int | None = None
    on_progress: Callable[[float], None] = lambda _: None
    clock: StageClock = field(default_factory=lambda: StageClock(0.0, 1.0, 1))
    models: dict[tuple[str, int], Model] = field(default_factory=dict)
    abandoned: set[tuple[str, tuple[int, ...]]] = field(default_factory=set)

    def select(self, *, ends: bool = True) -> list[Model]:
        """Try models in stages; return all of them. LDA and RDA are among them if `ends`."""
        stages = [stage for stage in self._plan() if ends or stage.run != self._try_ends]
        total = sum(stage.share for stage in stages)
        done = 0.0
        for stage in stages:
            self.clock = StageClock(done / total, stage.share / total, stage.n_requests)
            stage.run()
            done += stage.share
            self.on_progress(done / total)
        return list(self.models.values())

    def screen(self, like: Model, *, ends: bool = True) -> list[Model]:
        """Try the models of the first stage, and one with the hyperparameters of `like`.

        The latter was selected with other features. It starts from the components of the model of
        the first stage with the same number of components, or the largest. `ends` as in `select`.
        """
        self.clock = StageClock(0.0, 1.0, sum(stage.n_requests for stage in self._plan()[:2]) + 1)
        models = self._try_paths()
        base = max(models, key=lambda model: (model.count <= like.count, model.count))
        if ends:
            models += self._try_ends()
        setting = replace(like.setting, n_features=self.n_features)
        return models + self._try([self._vary(base, setting)])

    def follow(self, model: Model, rival: Model) -> Model | None:
        """Try models like one with more features, from its components; return the preferred one.

        Models that are clearly worse than the rival are abandoned; None if all are. RDA needs less
        shrinkage the fewer features it has, and no search, so smaller values are tried as well.
        """
        setting = replace(model.setting, n_features=self.n_features)
        settings = [setting]
        if is_rda(model):
            settings += [
                replace(setting, shrinkage=value)
                for value in RDA_SHRINKAGES
                if value < float(setting.shrinkage)
            ]
        self.clock = StageClock(0.0, 1.0, len(settings))
        count = min(model.count, self.rank)
        tried = self._try([self._vary(model, setting, count) for setting in settings], rival)
        return self.ranking.preferred(tried) if tried else None

    def improve(self) -> None:
        """Grow the Gaussians of the best model, then vary the regularization of the best one."""
        self.clock = StageClock(0.0, 1.0, 7)
        if "n_subclasses" not in self.given and self._best().setting.end != "lda":
            self._grow(self._best())
        if self._best().setting.end != "lda":
            self._vary_regularization(self._best())

    def count_done(self, n_requests: float) -> None:
        """Report that requests are done; a request on some of the splits is a part of one."""
        self.on_progress(self.clock.advance(n_requests))

    def _plan(self) -> list[Stage]:
        """Return the stages with their shares of the time, measured on the paper's data sets."""
        n_free = sum(name not in self.given for name in ("shrinkage", "ridge"))
        n_settings = int(np.prod([len(values) for values in self.given.values()], dtype=int))
        grows = "n_subclasses" not in self.given
        return [
            Stage(self._try_paths, 0.27 * n_settings, n_settings),
            Stage(self._try_ends, 0.09, 2 * len(RIDGES) - 1 + len(RDA_SHRINKAGES)),
            Stage(self._vary_searched, 0.06 * n_free, 2 * n_free),
            Stage(self._grow_gaussians, 0.43 if grows else 0.02, 10 if grows else 1),
            Stage(self._refine, 0.03 + 0.03 * n_free, 2 + n_free),
        ]

    # --- stages

    def _try_paths(self) -> list[Model]:
        names = list(BASELINE)
        values = [self.given.get(name, [BASELINE[name]]) for name in names]
        points = [dict(zip(names, point, strict=True)) for point in product(*values)]
        settings = {repr(point): self._setting(**point) for point in points}
        return self._try([Request(setting, tuple(self.counts)) for setting in settings.values()])

    def _try_ends(self) -> list[Model]:
        """Try LDA, and RDA if a model may have all components."""
        ridges = self.given.get("ridge", list(RIDGES))
        counts = tuple(self.counts)
        models = self._try(
            [Request(self._setting("diag", 1, 1.0, ridge, "lda"), counts) for ridge in ridges]
        )
        if not self._allows_rda():
            return models
        explicit = [float(s) for s in self.given.get("shrinkage", []) if s != "auto"]
        shrinkages = sorted({*RDA_SHRINKAGES, *explicit})
        numbers = self.given.get("n_subclasses", [1])
        models += self._try(
            [
                Request(self._setting("full", number, shrinkage, ridges[0], "rda"), counts)
                for number in numbers
                for shrinkage in shrinkages
            ]
        )
        best = self.ranking.preferred(filter(is_rda, models)).setting
        return models + self._try([Request(replace(best, ridge=ridge), counts) for ridge in ridges])

    def _vary_searched(self) -> None:
        self._vary_regularization(self._best(_is_searched))

    def _vary_regularization(self, model: Model) -> None:
        """Try other values of shrinkage, then of ridge, for a model and those that follow it."""
        for name, values in {"shrinkage": SHRINKAGES, "ridge": RIDGES}.items():
            if name in self.given:
                continue
            requests = [
                self._vary(model, _with_value(model.setting, name, value)) for value in values
            ]
            model = self.ranking.best([model, *self._try(requests, model)])

    def _grow_gaussians(self) -> None:
        """Double the number of Gaussians as long as held-out samples gain from it."""
        if "n_subclasses" in self.given:
            return
        if any(is_rda(model) for model in self.models.values()):
            self._grow(self._best(is_rda))
        best = self._best(_is_searched)
        self._grow(best)
        most = min(self.n_few, best.count - 1)
        few = [model for model in self.models.values() if _is_searched(model)]
        few = [model for model in few if model.count <= most]
        if few:
            largest = max(model.count for model in few)
            self._grow(self.ranking.best([model for model in few if model.count == largest]))
        if "covariance_type" not in self.given:
            self._try_full(self._best(_is_searched))

    def _try_full(self, model: Model) -> None:
        """Try full covariances for a model; with all components these are RDA."""
        if 1 < model.count <= min(FULL_COMPONENTS, self.rank - 1):
            full = replace(model.setting, covariance_type="full")
            self._try([self._vary(model, full)], model)

    def _grow(self, model: Model) -> None:
        """Double the number of Gaussians of a model until several doublings did not help."""
        line, n_stalled, number = [model], 0, 2 * model.setting.n_subclasses
        while number <= min(MAX_GAUSSIANS, self.largest_class / ROWS_PER_GAUSSIAN):
            setting = replace(line[-1].setting, n_subclasses=number, limited=True)
            tried = self._try([self._vary(line[-1], setting)], line[-1])
            n_stalled = 0 if tried and gains(line, tried[0]) else n_stalled + 1
            if n_stalled == GROWTH_PATIENCE:
                break
            line.extend(tried)
            number *= 2

    def _refine(self) -> None:
        """Vary regularization and number of components of the best model so far."""
        best = self._best()
        if best.setting.end != "lda":
            self._vary_regularization(best)
        best = self._best()
        if best.setting.end is None:
            larger = [count for count in self.counts if count > best.count][:2]
            self._try([self._vary(best, best.setting, count) for count in larger], best)

    # --- helpers

    def _setting(self, *args: Any, **kwargs: Any) -> Setting:
        return replace(Setting(*args, **kwargs), n_features=self.n_features)

    def _allows_rda(self) -> bool:
        return self.counts[-1] >= self.rank

    def _vary(self, model: Model, setting: Setting, count: int | None = None) -> Request:
        """Return the request for a variant of a model, starting from the model's components."""
        if setting.end is not None:
            return Request(setting, tuple(self.counts))
        return Request(setting, (count or model.count,), model.components)

    def _best(self, accept: Callable[[Model], bool] = lambda _: True) -> Model:
        """Return the model that would be selected among those tried."""
        return self.ranking.preferred(filter(accept, self.models.values()))

    def _try(self, requests: Iterable[Request], rival: Model | None = None) -> list[Model]:
        """Evaluate requests that were not evaluated yet; return the models of all of them.

        Variants of a rival are first evaluated on a few splits, and abandoned if they are clearly
        worse there. Without a rival, all requests are evaluated, even if abandoned before.
        """
        requests = list(requests)
        abandoned = set() if rival is None else self.abandoned
        new = [
            request
            for request in requests
            if not self._known(request) and request.key not in abandoned
        ]
        first = range(self.n_splits if rival is None else min(N_SCREENING, self.n_splits))
        paths = self.run(new, first)
        if rival is not None and len(first) < self.n_splits:
            promising = [i for i, path in enumerate(paths) if not _is_worse(path, rival.outcomes)]
            self.abandoned |= {new[i].key for i in set(range(len(new))) - set(promising)}
            new, paths = [new[i] for i in promising], [paths[i] for i in promising]
            rest = self.run(new, range(len(first), self.n_splits))
            paths = [few + others for few, others in zip(paths, rest, strict=True)]
        for path in paths:
            for model in align_paths(path):
                self.models.setdefault((repr(model.setting), model.count), model)
        return [model for request in requests for model in self._known(request)]

    def _known(self, request: Request) -> list[Model]:
        counts = request.counts if request.setting.end != "rda" else (ALL_COMPONENTS,)
        keys = [(repr(request.setting), count) for count in counts]
        return [self.models[key] for key in keys if key in self.models]


def _is_worse(paths: list[list[Outcome]], rivals: list[Outcome]) -> bool:
    """Return whether a model is clearly worse than a rival on the first splits.

    Its log-loss must be higher, and the number of samples that only the model misclassifies must
    exceed the number that only the rival misclassifies by `RACE_DEVIATIONS` standard deviations.
    """
    if not all(paths):
        return True
    new = Model([path[-1] for path in paths])
    old = Model(rivals[: len(paths)])
    return compare_errors(new, old) > RACE_DEVIATIONS and new.loss > old.loss


def _with_value(setting: Setting, name: str, value: Any) -> Setting:
    """Return a setting with another value of one hyperparameter."""
    changes: dict[str, Any] = {name: value}
    return replace(setting, **changes)


def is_rda(model: Model) -> bool:
    return model.setting.end == "rda"


def _is_searched(model: Model) -> bool:
    return model.setting.end is None


def gains(line: list[Model], new: Model) -> bool:
    """Return whether a model has a lower error or a lower log-loss than all before it."""
    return new.error < min(m.error for m in line) or new.loss < min(m.loss for m in line)
