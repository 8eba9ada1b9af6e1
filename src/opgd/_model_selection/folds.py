"""Models on the splits of a cross-validation: fits to training samples, and held-out results."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from opgd._fit.initialization import convert_components
from opgd._fit.normal_form import describe_gaussians
from opgd._fit.problem import Prepared, Problem, frame_samples, pose, prepare
from opgd._fit.subclasses import check_n_subclasses
from opgd._model_selection.path import Setting, count_parameters, model_directions
from opgd._model_selection.scores import FACTORED, METRICS
from opgd._utils.blas import one_blas_thread
from opgd._utils.validation import weigh_by_class
from opgd.classifier import OPGDClassifier
from opgd.core.calibration import brier_scores, compute_losses, raw_loss
from opgd.core.engines import RowEngine
from opgd.core.moments import scale_to_counts
from opgd.core.types import AnyArray, FloatArray, IntArray

ALL_COMPONENTS = -1
PATIENCE = 3
"""Number of steps without a lower held-out error or log-loss after which a path ends."""
MAX_PREPARED_CELLS = 2**25
"""Number of entries of X up to which copies of the training samples of all splits are kept."""
ROWS_PER_GAUSSIAN = 4
"""Number of training samples that each of several Gaussians of a class has on average, or more."""


@dataclass(frozen=True)
class Outcome:
    """Results of one model on the held-out samples of one split."""

    setting: Setting
    count: int
    """Requested number of components, or `ALL_COMPONENTS` for RDA."""
    n_components: int
    """Number of components; the training samples of a split may span fewer dimensions."""
    n_gaussians: int
    n_parameters: int
    score: float
    error: float
    wrong: AnyArray  # (n,), whether each held-out sample is misclassified
    brier: FloatArray  # (n,), squared distances of posteriors from the true classes
    losses: FloatArray  # sums of log-losses by temperature and share of the background
    raw_loss: float  # sum of log-losses without calibration
    weights: FloatArray  # (n,), of the held-out samples
    components: AnyArray | None  # (n_components, n_features), None for all components

    @property
    def weight(self) -> float:
        """Return the total weight of the held-out samples."""
        return float(self.weights.sum())


@dataclass(frozen=True)
class Predictions:
    """What a model predicts for the held-out samples of one split."""

    log_joint: FloatArray  # (n, K), of all classes
    distances: FloatArray  # (n,), squared, to the nearest Gaussian
    train_distances: FloatArray  # (n_train,), those of the training samples


@dataclass(frozen=True)
class Sample:
    """Labeled samples from which the splits are selected."""

    X: AnyArray  # (n, p)
    codes: IntArray  # (n,), indices into classes
    weights: FloatArray | None  # (n,)
    classes: AnyArray  # (K,)
    metadata: dict[str, AnyArray] = field(default_factory=dict)  # for the scorer, (n,) each
    class_factors: FloatArray | None = None  # (K,), contained in the weights

    def select(self, which: Any) -> "Sample":
        """Return the samples given by indices or a mask, without those of weight zero."""
        which = self.positions(which)
        weights = None if self.weights is None else self.weights[which]
        if len(which) == 0:
            raise ValueError(
                "A split of cv has no training or no test samples with positive weight."
            )
        metadata = {name: np.asarray(values)[which] for name, values in self.metadata.items()}
        return replace(
            self, X=self.X[which], codes=self.codes[which], weights=weights, metadata=metadata
        )

    def weighted_by_class(self, factors: FloatArray | None) -> "Sample":
        """Return the samples with weights multiplied by the factors of their classes."""
        if factors is None:
            return self
        weights = weigh_by_class(factors, self.codes, self.weights)
        return replace(self, weights=weights, class_factors=factors)

    def positions(self, which: Any) -> IntArray:
        """Return the indices of the samples given by indices or a mask that have weight."""
        which = np.arange(len(self.X))[which]
        return which if self.weights is None else which[self.weights[which] > 0]

    @property
    def counts(self) -> FloatArray:
        """Return the total weight of each class, (K,)."""
        return np.bincount(self.codes, self.weights, len(self.classes)).astype(np.float64)

    def rank(self) -> int:
        """Return the rank of the centered samples with positive weight."""
        weighted = self.select(slice(None))
        engine = RowEngine(weighted.X, weighted.codes, weighted.weights)
        with one_blas_thread():
            return int(frame_samples(engine).basis.shape[1])


def make_folds(
    sample: Sample,
    splits: Sequence[tuple[IntArray, IntArray]],
    scorer: Callable[..., float] | None = None,
    metric: str = "accuracy",
) -> list["Fold"]:
    """Return the folds of a cross-validation; weights are scaled to counts."""
    if sample.weights is not None:
        sample = replace(sample, weights=scale_to_counts(sample.weights))
    held_out = [sample.positions(test) for _, test in splits]
    n_times = np.bincount(np.concatenate(held_out), minlength=len(sample.X))
    weights = np.ones(len(sample.X)) if sample.weights is None else sample.weights
    n_total = float(weights[n_times > 0].sum())
    return [Fold(sample, train, test, scorer, n_times, n_total, metric) for train, test in splits]


def try_models(
    fold: "Fold", setting: Setting, counts: Sequence[int], initial: AnyArray | None
) -> list[Outcome]:
    """Evaluate models on a fold, which is prepared again each time if its samples are many."""
    if fold.sample.X.size > MAX_PREPARED_CELLS:
        fold = replace(fold)
    return fold.try_models(setting, counts, initial)


def limit_numbers(setting: Setting, classes: AnyArray, counts: FloatArray) -> IntArray:
    """Return the number of Gaussians of each class, (K,), limited by its number of samples."""
    numbers = check_n_subclasses(setting.n_subclasses, classes)
    if not setting.limited:
        return numbers
    return np.minimum(numbers, np.maximum(1, counts // ROWS_PER_GAUSSIAN)).astype(np.intp)


@dataclass(frozen=True)
class Fold:
    """One split: training samples, prepared once for any number of models, and held-out samples.

    `scorer` is a scikit-learn scorer; if it is None, `metric` is a name in `scores.METRICS`.
    `n_times` (n,) is the number of splits in which each sample is held out, and `n_total` the total
    weight of the held-out samples, each counted once.
    """

    sample: Sample
    train_indices: IntArray
    test_indices: IntArray
    scorer: Callable[..., float] | None
    n_times: IntArray
    n_total: float
    metric: str = "accuracy"

    @cached_property
    def train(self) -> Sample:
        """Training samples."""
        return self.sample.select(self.train_indices)

    @cached_property
    def test(self) -> Sample:
        """Held-out samples."""
        return self.sample.select(self.test_indices)

    @cached_property
    def present(self) -> IntArray:
        """Codes of the classes among the training samples.

        A rare class may be absent from them; its density is then zero.
        """
        return np.unique(self.train.codes)

    @cached_property
    def prepared(self) -> Prepared:
        """Moments of the training samples."""
        codes = np.searchsorted(self.present, self.train.codes).astype(np.intp)
        engine = RowEngine(self.train.X, codes, self.train.weights)
        return prepare(engine, len(self.present))

    @cached_property
    def test_weights(self) -> FloatArray:
        """Weights of the held-out samples, divided by how often they are held out."""
        weights = np.ones(len(self.test.X)) if self.test.weights is None else self.test.weights
        return weights / self.n_times[self.sample.positions(self.test_indices)]

    @property
    def unfactored_weights(self) -> FloatArray:
        """Weights of the held-out samples without the factors of their classes."""
        factors = self.sample.class_factors
        return self.test_weights / (1.0 if factors is None else factors[self.test.codes])

    @cached_property
    def priors(self) -> FloatArray:
        """Shares of the classes among the training samples, (K,), by Laplace's rule."""
        counts = self.train.counts + 1.0
        return counts / counts.sum()

    @property
    def true_priors(self) -> FloatArray:
        """Priors of the classes of the held-out samples, (n,)."""
        return self.priors[self.test.codes]

    def try_models(
        self, setting: Setting, counts: Sequence[int], initial: AnyArray | None = None
    ) -> list[Outcome]:
        """Evaluate the models of a setting until more components bring no improvement.

        `initial` are the components from which the first model starts.
        """
        with one_blas_thread():
            problem = self.pose(setting)
            directions = None
            if initial is not None:
                with suppress(ValueError):  # components may be dependent where only spans matter
                    directions = convert_components(problem, initial)
            path: list[Outcome] = []
            for step in model_directions(problem, setting, counts, directions):
                requested = min((q for q in counts if q >= len(step)), default=len(step))
                count = ALL_COMPONENTS if setting.end == "rda" else requested
                path.append(self._evaluate(problem, step, setting, count))
                if _has_stalled(path):
                    break
        return path

    def predict(self, outcome: Outcome) -> "Predictions":
        """Return what a model predicts for the held-out samples."""
        with one_blas_thread():
            problem = self.pose(outcome.setting)
            directions = (
                np.eye(problem.coordinates.rank)
                if outcome.components is None
                else problem.coordinates.directions(outcome.components)
            )
            projection = problem.project(directions)
            return Predictions(
                self._log_joint(problem, directions),
                projection.nearest_distances(self.test.X),
                projection.nearest_distances(self.train.X),
            )

    def pose(self, setting: Setting) -> Problem:
        """Return the problem of a setting on the training samples."""
        counts = self.train.counts
        numbers = limit_numbers(setting, self.test.classes, counts)
        prepared = self.prepared
        if setting.n_features is not None:
            prepared = prepared.restrict(setting.n_features)
        return pose(
            prepared,
            prepared.classes.priors,
            n_subclasses=numbers[self.present],
            covariance_type=setting.covariance_type,
            shrinkage=setting.shrinkage,
            ridge=setting.ridge,
        )

    def _log_joint(self, problem: Problem, directions: FloatArray) -> FloatArray:
        log_joint = np.full((len(self.test.X), len(self.test.classes)), -np.inf)
        log_joint[:, self.present] = problem.project(directions).class_log_joint(self.test.X)
        return log_joint

    def _evaluate(
        self, problem: Problem, directions: FloatArray, setting: Setting, count: int
    ) -> Outcome:
        """Return the results of the model of a setting with these directions."""
        test, weights = self.test, self.test_weights
        log_joint = self._log_joint(problem, directions)
        wrong = np.argmax(log_joint, axis=1) != test.codes
        error = float(np.average(wrong, weights=weights))
        if self.scorer is None:
            counts = weights if self.metric in FACTORED else self.unfactored_weights
            score = METRICS[self.metric](log_joint, test.codes, counts)
        else:
            score = self._score_with(
                self.scorer, self._build_classifier(problem, directions, setting)
            )
        components = problem.coordinates.components(directions)
        return Outcome(
            setting,
            count,
            len(directions),
            len(problem.gaussian_classes),
            count_parameters(problem, setting, len(directions)),
            score,
            error,
            wrong,
            brier_scores(log_joint, test.codes),
            compute_losses(log_joint, test.codes, weights, self.true_priors, self.n_total),
            raw_loss(log_joint, test.codes, weights),
            weights,
            None if setting.end == "rda" else components,
        )

    def _build_classifier(
        self, problem: Problem, directions: FloatArray, setting: Setting
    ) -> OPGDClassifier:
        """Return the model as a fitted classifier, which scorers expect."""
        model = OPGDClassifier(
            len(directions),
            n_subclasses=setting.n_subclasses,
            covariance_type=setting.covariance_type,
            shrinkage=setting.shrinkage,
            ridge=setting.ridge,
        )
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


def _has_stalled(path: list[Outcome]) -> bool:
    """Return whether the last steps of a path did not improve the held-out results."""
    if len(path) <= PATIENCE:
        return False
    before, after = path[:-PATIENCE], path[-PATIENCE:]
    lower_error = min(o.error for o in after) < min(o.error for o in before)
    lower_loss = min(o.losses.min() for o in after) < min(o.losses.min() for o in before)
    return not lower_error and not lower_loss
