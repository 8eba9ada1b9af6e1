"""Settings tried on one split: axes grown step by step, each model scored on the rows left out.

A path begins as a fit begins, and goes on from its own solution: the axes found so far, and the
next ones from the best of a few cheap guesses, are optimized together. The family contains its
neighbors, which cost nothing to try and win where rows are few: reduced-rank LDA (all covariances
pooled, LDA axes as they are) and regularized discriminant analysis (full covariances on all axes,
where no projection is left to choose).
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opgd._fit.initialization import make_starts
from opgd._fit.normal_form import describe_gaussians
from opgd._fit.problem import Prepared, Problem, frame_samples, pose, prepare
from opgd._fit.subclasses import check_n_subclasses
from opgd._model_selection.calibration import loss_curve
from opgd._utils.blas import one_blas_thread
from opgd.classifier import OPGDClassifier
from opgd.core import starts
from opgd.core.engines import RowEngine
from opgd.core.moments import row_counts
from opgd.core.solvers import best_of, maximize
from opgd.core.types import AnyArray, FloatArray, IntArray

PATH_TOL = 1e-4
PATH_ITERATIONS = 60
SEPARATED = -1e-5
"""Mean log posterior above which training rows are told apart: further axes have nothing to do."""
ALL_AXES = -1
PATIENCE = 4
"""Steps of a path without less error or log-loss on the rows left out, after which it ends."""
RDA_SHRINKAGES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Setting:
    """One point of the grid, for every number of axes, in the words of the classifier."""

    covariance_type: str
    n_subclasses: Any
    shrinkage: float | str
    ridge: float
    end: str | None = None  # "lda" or "rda": the two ends that need no search

    def parameters(self, n_components: int) -> dict[str, Any]:
        """Arguments of the OPGDClassifier that this setting stands for."""
        chosen = {
            "n_components": n_components,
            "n_subclasses": self.n_subclasses,
            "covariance_type": self.covariance_type,
            "shrinkage": self.shrinkage,
            "ridge": self.ridge,
        }
        return chosen if self.end is None else chosen | {"init": "lda", "max_iter": 0}


@dataclass(frozen=True)
class Outcome:
    """How one model did on the rows left out of one split."""

    setting: Setting
    n_components: int
    n_parameters: int
    score: float
    error: float
    curve: FloatArray  # sums of log-losses by temperature
    weight: float  # of the rows left out
    components: AnyArray | None  # (n_components, n_features), None for the ends

    @property
    def count(self) -> int:
        """The number of axes that names the model on other splits; RDA has all there are."""
        return ALL_AXES if self.setting.end == "rda" else self.n_components


def end_settings(shrinkages: list[Any], ridges: list[float], all_axes: bool) -> list[Setting]:
    """The LDA and RDA ends of the grid; RDA only where a model may have all axes."""
    numbers = sorted({*RDA_SHRINKAGES, *[float(s) for s in shrinkages if s != "auto"]})
    ends = [Setting("diag", 1, 1.0, ridge, "lda") for ridge in ridges]
    if all_axes:
        ends += [Setting("full", 1, s, ridge, "rda") for s in numbers for ridge in ridges]
    return ends


def grow(problem: Problem, counts: list[int]) -> Iterator[FloatArray]:
    """Directions for each of the ascending numbers of axes, each begun from the one before.

    Ends early where the training rows are told apart.
    """
    rng = np.random.RandomState(0)
    objective = problem.objective
    directions = np.empty((0, problem.coordinates.rank))
    for count in counts:
        if len(directions) == 0:
            guesses = make_starts(problem, "auto", count, rng)
            runs = [maximize(objective, own, max_iter=10, tol=PATH_TOL) for own in guesses]
            start = best_of(runs).directions
        else:
            guesses = next_axes(problem, directions, count - len(directions))
            grown = [np.vstack([directions, guess]) for guess in guesses]
            start = max(grown, key=objective.value)
        result = maximize(
            objective, starts.unit_rows(start), max_iter=PATH_ITERATIONS, tol=PATH_TOL
        )
        directions = starts.unit_rows(result.directions)
        yield directions
        if result.value > SEPARATED:
            return


def next_axes(problem: Problem, directions: FloatArray, number: int) -> list[FloatArray]:
    """Cheap guesses of further axes, (number, R) each, across those there are."""
    across = np.linalg.qr(directions.T, mode="complete")[0][:, len(directions) :]  # (R, R - q)
    classes = problem.classes.mapped(across)
    principal = starts.pca_axes(problem.coordinates, problem.coordinates.rank) @ across
    longest = np.linalg.svd(principal, full_matrices=False)[2]
    guesses = [starts.lda_axes(classes, number), starts.save_axes(classes, number), longest]
    return [starts.unit_rows(guess[:number]) @ across.T for guess in guesses]


def directions_of(problem: Problem, setting: Setting, counts: list[int]) -> Iterator[FloatArray]:
    """Directions of every model of a setting."""
    rank = problem.coordinates.rank
    if setting.end == "rda":
        yield np.eye(rank)
    elif setting.end == "lda":
        n_axes = min(rank, max(1, problem.classes.n_groups - 1))
        axes = starts.lda_axes(problem.classes, n_axes)
        yield from (axes[:q] for q in counts if q <= n_axes)
    else:
        yield from grow(problem, [q for q in counts if q <= rank])


def n_parameters(problem: Problem, setting: Setting, n_components: int) -> int:
    """Free numbers of a model: those of the axes, then means and variances on them."""
    rank, n_gaussians = problem.coordinates.rank, len(problem.gaussian_classes)
    q = n_components
    if setting.end == "lda":  # the span of the axes, and means on them
        return q * (rank - q) + n_gaussians * q
    if setting.covariance_type == "full":
        return q * (rank - q) + n_gaussians * (q + q * (q + 1) // 2)
    return q * (rank - 1) + n_gaussians * 2 * q


@dataclass(frozen=True)
class Sample:
    """Labeled rows, as they go to every split."""

    X: AnyArray  # (n, p)
    codes: IntArray  # (n,), indices into classes
    weights: FloatArray | None  # (n,)
    classes: AnyArray  # (K,)
    metadata: dict[str, AnyArray] = field(default_factory=dict)  # for the scorer, (n,) each

    def rows(self, which: Any) -> "Sample":
        """Some of the rows, by indices or a mask, without those of weight zero."""
        which = np.arange(len(self.X))[which]
        weights = None
        if self.weights is not None:
            which = which[self.weights[which] > 0]
            weights = self.weights[which]
        if len(which) == 0:
            raise ValueError("A split of cv has a part without rows (of positive weight).")
        metadata = {name: np.asarray(values)[which] for name, values in self.metadata.items()}
        return Sample(self.X[which], self.codes[which], weights, self.classes, metadata)

    def rank(self) -> int:
        """Number of dimensions in which the rows differ."""
        own = self.rows(slice(None))
        with one_blas_thread():
            return int(frame_samples(RowEngine(own.X, own.codes, own.weights)).basis.shape[1])


def try_settings(
    sample: Sample,
    split: tuple[IntArray, IntArray],
    settings: list[Setting],
    counts: list[int],
    scorer: Callable[..., float] | None,
) -> list[Outcome]:
    """Fit on the first rows of a split, score on the second: all models of some settings.

    `scorer` is one of scikit-learn's, or None for accuracy.
    """
    train, test = map(sample.rows, split)
    # a rare class may be absent from the training samples: it has no density there
    present, codes = np.unique(train.codes, return_inverse=True)
    evaluate = _Evaluation(test, present, scorer)
    with one_blas_thread():
        engine = RowEngine(train.X, codes.astype(np.intp), train.weights)
        prepared = prepare(engine, len(present))
        paths = [_follow_path(prepared, setting, counts, evaluate) for setting in settings]
    return [outcome for path in paths for outcome in path]


def _follow_path(
    prepared: Prepared, setting: Setting, counts: list[int], evaluate: "_Evaluation"
) -> list[Outcome]:
    """Evaluate the models of a setting, until further components bring nothing."""
    n_subclasses = check_n_subclasses(setting.n_subclasses, evaluate.test.classes)
    problem = pose(
        prepared,
        prepared.classes.priors,
        n_subclasses=n_subclasses[evaluate.present],
        covariance_type=setting.covariance_type,
        shrinkage=setting.shrinkage,
        ridge=setting.ridge,
    )
    path: list[Outcome] = []
    for directions in directions_of(problem, setting, counts):
        path.append(evaluate(problem, directions, setting))
        if _declines(path):
            break
    return path


def _declines(path: list[Outcome]) -> bool:
    """Whether the last steps of a path brought nothing on the rows left out."""
    if len(path) <= PATIENCE:
        return False
    before, after = path[:-PATIENCE], path[-PATIENCE:]
    less_error = min(own.error for own in after) < min(own.error for own in before)
    less_loss = min(own.curve.min() for own in after) < min(own.curve.min() for own in before)
    return not less_error and not less_loss


@dataclass(frozen=True)
class _Evaluation:
    """How models do on the held-out samples of one split."""

    test: Sample
    present: IntArray  # codes of the classes that the training samples have
    scorer: Callable[..., float] | None

    def __call__(self, problem: Problem, directions: FloatArray, setting: Setting) -> Outcome:
        """Score the model of a setting with these directions; its classes are the present ones."""
        test, projection = self.test, problem.project(directions)
        log_joint = np.full((len(test.X), len(test.classes)), -np.inf)
        log_joint[:, self.present] = projection.class_log_joint(test.X)
        weights = np.ones(len(test.X)) if test.weights is None else test.weights
        weights = row_counts(weights)
        error = float(np.average(np.argmax(log_joint, axis=1) != test.codes, weights=weights))
        score = 1.0 - error
        if self.scorer is not None:
            score = self._score_with(self.scorer, self._fitted(problem, directions, setting))
        return Outcome(
            setting,
            projection.n_components,
            n_parameters(problem, setting, projection.n_components),
            score,
            error,
            loss_curve(log_joint, test.codes, weights),
            float(weights.sum()),
            None if setting.end else projection.components,
        )

    def _fitted(self, problem: Problem, directions: FloatArray, setting: Setting) -> OPGDClassifier:
        """Return the classifier that a scorer expects."""
        model = OPGDClassifier(**setting.parameters(len(directions)))
        named = {
            "classes_": self.test.classes[self.present],
            "priors_": problem.priors,
            "n_features_in_": self.test.X.shape[1],
        }
        model._store(describe_gaussians(problem, directions) | named)
        return model

    def _score_with(self, scorer: Callable[..., float], model: OPGDClassifier) -> float:
        """Return the score of a model; nan, with a warning, where the scorer fails."""
        test = self.test
        try:
            return float(scorer(model, test.X, test.classes[test.codes], **test.metadata))
        except (TypeError, ValueError) as error:
            warnings.warn(f"scoring failed and counts as nan: {error}", UserWarning, stacklevel=2)
            return float("nan")
