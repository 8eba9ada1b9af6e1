"""Evaluation of hyperparameters on one split, with an increasing number of components.

A path is a sequence of models with more and more components. Its first model is initialized like
any fit. For each further model, the components found so far and new ones, from the best of a few
inexpensive initial values, are optimized together. Two limiting cases need no search and are often
best for small samples: reduced-rank LDA (pooled covariance, LDA components) and regularized
discriminant analysis (full covariances, all components).
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
from opgd._model_selection.calibration import compute_loss_curve
from opgd._utils.blas import one_blas_thread
from opgd.classifier import OPGDClassifier
from opgd.core import starts
from opgd.core.engines import RowEngine
from opgd.core.moments import scale_to_counts
from opgd.core.solvers import maximize, select_best_run
from opgd.core.types import AnyArray, FloatArray, IntArray

PATH_TOL = 1e-4
PATH_ITERATIONS = 60
SEPARATED = -1e-5
"""Mean log posterior above which the training samples are considered separated."""
ALL_COMPONENTS = -1
PATIENCE = 4
"""Number of steps without a lower held-out error or log-loss after which a path ends."""
RDA_SHRINKAGES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Setting:
    """One point of the grid, for any number of components; names as in OPGDClassifier."""

    covariance_type: str
    n_subclasses: Any
    shrinkage: float | str
    ridge: float | str
    end: str | None = None  # "lda" or "rda" for the limiting cases, which need no search

    def parameters(self, n_components: int) -> dict[str, Any]:
        """Return the arguments of the OPGDClassifier with this setting."""
        arguments = {
            "n_components": n_components,
            "n_subclasses": self.n_subclasses,
            "covariance_type": self.covariance_type,
            "shrinkage": self.shrinkage,
            "ridge": self.ridge,
        }
        return arguments if self.end is None else arguments | {"init": "lda", "max_iter": 0}


@dataclass(frozen=True)
class Outcome:
    """Results of one model on the held-out samples of one split."""

    setting: Setting
    n_components: int
    n_parameters: int
    score: float
    error: float
    curve: FloatArray  # sums of log-losses by temperature
    weight: float  # of the held-out samples
    components: AnyArray | None  # (n_components, n_features), None for LDA and RDA

    @property
    def count(self) -> int:
        """Number of components by which models of different splits are matched.

        RDA always has all components, whose number may differ between splits.
        """
        return ALL_COMPONENTS if self.setting.end == "rda" else self.n_components


def end_settings(shrinkages: list[Any], ridges: list[Any], all_components: bool) -> list[Setting]:
    """Return the settings of LDA, and of RDA if a model may have all components."""
    numbers = sorted({*RDA_SHRINKAGES, *[float(s) for s in shrinkages if s != "auto"]})
    ends = [Setting("diag", 1, 1.0, ridge, "lda") for ridge in ridges]
    if all_components:
        ends += [Setting("full", 1, s, ridge, "rda") for s in numbers for ridge in ridges]
    return ends


def grow_path(problem: Problem, counts: list[int]) -> Iterator[FloatArray]:
    """Yield the directions of models with an increasing number of components.

    Each model is initialized by the previous one. The iteration ends early once the training
    samples are separated.
    """
    rng = np.random.RandomState(0)
    objective = problem.objective
    directions = np.empty((0, problem.coordinates.rank))
    for count in counts:
        if len(directions) == 0:
            runs = [
                maximize(objective, start.directions, max_iter=10, tol=PATH_TOL)
                for start in make_starts(problem, ("lda", "pca"), count, rng)
            ]
            start = select_best_run(runs).directions
        else:
            additions = next_directions(problem, directions, count - len(directions))
            candidates = [np.vstack([directions, addition]) for addition in additions]
            start = max(candidates, key=objective.value)
        result = maximize(
            objective, starts.normalize_rows(start), max_iter=PATH_ITERATIONS, tol=PATH_TOL
        )
        directions = starts.normalize_rows(result.directions)
        yield directions
        if result.value > SEPARATED:
            return


def next_directions(problem: Problem, directions: FloatArray, number: int) -> list[FloatArray]:
    """Return initial values of further directions, (number, R) each, orthogonal to the given ones.

    They are LDA directions, SAVE directions and principal components in the orthogonal complement.
    """
    complement = np.linalg.qr(directions.T, mode="complete")[0][:, len(directions) :]  # (R, R - q)
    classes = problem.classes.mapped(complement)
    principal = starts.pca_axes(problem.coordinates, problem.coordinates.rank) @ complement
    longest = np.linalg.svd(principal, full_matrices=False)[2]
    candidates = [starts.lda_axes(classes, number), starts.save_axes(classes, number), longest]
    return [starts.normalize_rows(rows[:number]) @ complement.T for rows in candidates]


def model_directions(problem: Problem, setting: Setting, counts: list[int]) -> Iterator[FloatArray]:
    """Yield the directions of each model of a setting."""
    rank = problem.coordinates.rank
    if setting.end == "rda":
        yield np.eye(rank)
    elif setting.end == "lda":
        maximum = min(rank, max(1, problem.classes.n_groups - 1))
        directions = starts.lda_axes(problem.classes, maximum)
        yield from (directions[:q] for q in counts if q <= maximum)
    else:
        yield from grow_path(problem, [q for q in counts if q <= rank])


def count_parameters(problem: Problem, setting: Setting, n_components: int) -> int:
    """Count the free parameters of a model: components, projected means and variances."""
    rank, n_gaussians = problem.coordinates.rank, len(problem.gaussian_classes)
    q = n_components
    if setting.end == "lda":  # the span of the components, and the projected means
        return q * (rank - q) + n_gaussians * q
    if setting.covariance_type == "full":
        return q * (rank - q) + n_gaussians * (q + q * (q + 1) // 2)
    return q * (rank - 1) + n_gaussians * 2 * q


@dataclass(frozen=True)
class Sample:
    """Labeled samples from which the splits are selected."""

    X: AnyArray  # (n, p)
    codes: IntArray  # (n,), indices into classes
    weights: FloatArray | None  # (n,)
    classes: AnyArray  # (K,)
    metadata: dict[str, AnyArray] = field(default_factory=dict)  # for the scorer, (n,) each

    def select(self, which: Any) -> "Sample":
        """Return the samples given by indices or a mask, without those of weight zero."""
        which = np.arange(len(self.X))[which]
        weights = None
        if self.weights is not None:
            which = which[self.weights[which] > 0]
            weights = self.weights[which]
        if len(which) == 0:
            raise ValueError(
                "A split of cv has no training or no test samples with positive weight."
            )
        metadata = {name: np.asarray(values)[which] for name, values in self.metadata.items()}
        return Sample(self.X[which], self.codes[which], weights, self.classes, metadata)

    def rank(self) -> int:
        """Return the rank of the centered samples with positive weight."""
        weighted = self.select(slice(None))
        engine = RowEngine(weighted.X, weighted.codes, weighted.weights)
        with one_blas_thread():
            return int(frame_samples(engine).basis.shape[1])


def try_settings(
    sample: Sample,
    split: tuple[IntArray, IntArray],
    settings: list[Setting],
    counts: list[int],
    scorer: Callable[..., float] | None,
) -> list[Outcome]:
    """Fit all models of some settings to the training samples of a split, and evaluate them.

    `scorer` is a scikit-learn scorer, or None for accuracy.
    """
    train, test = map(sample.select, split)
    # a rare class may be absent from the training samples; its density is then zero
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
    """Evaluate the models of a setting until more components bring no improvement."""
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
    for directions in model_directions(problem, setting, counts):
        path.append(evaluate(problem, directions, setting))
        if _has_stalled(path):
            break
    return path


def _has_stalled(path: list[Outcome]) -> bool:
    """Return whether the last steps of a path did not improve the held-out results."""
    if len(path) <= PATIENCE:
        return False
    before, after = path[:-PATIENCE], path[-PATIENCE:]
    lower_error = min(o.error for o in after) < min(o.error for o in before)
    lower_loss = min(o.curve.min() for o in after) < min(o.curve.min() for o in before)
    return not lower_error and not lower_loss


@dataclass(frozen=True)
class _Evaluation:
    """Evaluation of models on the held-out samples of one split."""

    test: Sample
    present: IntArray  # codes of the classes among the training samples
    scorer: Callable[..., float] | None

    def __call__(self, problem: Problem, directions: FloatArray, setting: Setting) -> Outcome:
        """Return the results of the model of a setting with these directions."""
        test, projection = self.test, problem.project(directions)
        log_joint = np.full((len(test.X), len(test.classes)), -np.inf)
        log_joint[:, self.present] = projection.class_log_joint(test.X)
        weights = np.ones(len(test.X)) if test.weights is None else test.weights
        weights = scale_to_counts(weights)
        error = float(np.average(np.argmax(log_joint, axis=1) != test.codes, weights=weights))
        score = 1.0 - error
        if self.scorer is not None:
            score = self._score_with(
                self.scorer, self._build_classifier(problem, directions, setting)
            )
        return Outcome(
            setting,
            projection.n_components,
            count_parameters(problem, setting, projection.n_components),
            score,
            error,
            compute_loss_curve(log_joint, test.codes, weights),
            float(weights.sum()),
            None if setting.end else projection.components,
        )

    def _build_classifier(
        self, problem: Problem, directions: FloatArray, setting: Setting
    ) -> OPGDClassifier:
        """Return the model as a fitted classifier, which scorers expect."""
        model = OPGDClassifier(**setting.parameters(len(directions)))
        attributes = {
            "classes_": self.test.classes[self.present],
            "priors_": problem.priors,
            "n_features_in_": self.test.X.shape[1],
        }
        model._store(describe_gaussians(problem, directions) | attributes)
        return model

    def _score_with(self, scorer: Callable[..., float], model: OPGDClassifier) -> float:
        """Return the score of a model, or nan with a warning if the scorer fails."""
        test = self.test
        try:
            return float(scorer(model, test.X, test.classes[test.codes], **test.metadata))
        except (TypeError, ValueError) as error:
            warnings.warn(
                f"The scorer failed, so the score is nan: {error}", UserWarning, stacklevel=2
            )
            return float("nan")
