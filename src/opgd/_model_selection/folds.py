"""Models on the splits of a cross-validation: fits to training samples, and held-out results."""

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
from opgd.core.engines import RowEngine, spread_positions
from opgd.core.fitted import FittedProjection
from opgd.core.moments import scale_to_counts
from opgd.core.types import AnyArray, FloatArray, IntArray

ALL_COMPONENTS = -1
PATIENCE = 3
"""Number of steps without a lower held-out error or log-loss after which a path ends."""
MAX_PREPARED_CELLS = 2**25
"""Number of entries of X up to which copies of the training samples of all splits are kept."""
ROWS_PER_GAUSSIAN = 4
"""Number of training samples that each of several Gaussians of a class has on average, or more."""
MAX_COLLECTED = 1_000_000
"""Number of held-out or training samples of a split whose predictions are collected."""


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
    brier: FloatArray  # (n,), squared distances of posteriors from the true classes; or none
    losses: FloatArray  # sums of log-losses by temperature and share of the background
    raw_loss: float  # sum of log-losses without calibration
    weights: FloatArray  # (n,), of the held-out samples
    n_distinct: float
    """Number of held-out samples, each divided by how often it is held out."""
    components: AnyArray | None  # (n_components, n_features), None for all components
    failure: str = ""
    """Message of the error that the scorer raised, if it did; the score is then nan."""

    @property
    def weight(self) -> float:
        """Return the total weight of the held-out samples."""
        return float(self.weights.sum())


@dataclass(frozen=True)
class Predictions:
    """What a model predicts for held-out samples of one split: all, or `MAX_COLLECTED` of them."""

    log_joint: FloatArray  # (n, K), of all classes
    distances: FloatArray  # (n,), squared, to the nearest Gaussian
    codes: IntArray  # (n,), true classes
    weights: FloatArray  # (n,)
    unfactored_weights: FloatArray  # (n,), without the factors of the classes
    true_priors: FloatArray  # (n,), priors of the true classes
    n_held_out: int
    train_distances: FloatArray  # those of training samples, at most `MAX_COLLECTED`
    n_train: int


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
        """Return the indices, ascending, of the samples given by indices or a mask with weight."""
        which = np.sort(np.arange(len(self.X))[which])
        return which if self.weights is None else which[self.weights[which] > 0]

    @property
    def counts(self) -> FloatArray:
        """Return the total weight of each class, (K,)."""
        return np.bincount(self.codes, self.weights, len(self.classes)).astype(np.float64)

    @property
    def class_sizes(self) -> FloatArray:
        """Return the number of samples of each class, (K,), whatever the unit of the weights.

        Factors of the classes do not count: they do not make a class larger.
        """
        if self.weights is None:
            return self.counts
        factors = 1.0 if self.class_factors is None else self.class_factors[self.codes]
        weights = scale_to_counts(self.weights / factors)
        return np.bincount(self.codes, weights, len(self.classes)).astype(np.float64)

    def count_dimensions(self) -> tuple[int, int]:
        """Return the rank of the samples with positive weight, and how many features vary."""
        weighted = self.select(slice(None))
        with one_blas_thread():
            frame = frame_samples(RowEngine(weighted.X, weighted.codes, weighted.weights))
        return int(frame.basis.shape[1]), frame.n_active

    def thin(self, most: int) -> tuple["Sample", IntArray]:
        """Return at most `most` samples, spread over all of them, and their positions."""
        positions = spread_positions(len(self.X), most)
        if len(positions) == len(self.X):
            return self, positions
        return replace(self, metadata={}).select(positions), positions


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
    if fold.is_large:
        fold = replace(fold)
    return fold.try_models(setting, counts, initial)


def order_features(fold: "Fold") -> IntArray:
    """Return the order of the features on the training samples of a fold."""
    with one_blas_thread():
        return (replace(fold) if fold.is_large else fold).prepared.feature_order


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
    feature_order: IntArray | None = None  # of the training samples, computed if it is needed

    @cached_property
    def train(self) -> Sample:
        """Training samples."""
        return self.sample.select(self.train_indices)

    @cached_property
    def test(self) -> Sample:
        """Held-out samples."""
        return self.sample.select(self.test_indices)

    @property
    def is_large(self) -> bool:
        """Return whether the samples are too many to be kept prepared, for all folds."""
        return self.sample.X.size > MAX_PREPARED_CELLS

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
        prepared = prepare(engine, len(self.present))
        return replace(prepared, order=self.feature_order)

    @cached_property
    def test_weights(self) -> FloatArray:
        """Weights of the held-out samples, divided by how often they are held out."""
        weights = np.ones(len(self.test.X)) if self.test.weights is None else self.test.weights
        return weights / self.test_times

    @cached_property
    def test_times(self) -> IntArray:
        """Numbers of splits in which the held-out samples are held out."""
        return self.n_times[self.sample.positions(self.test_indices)]

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
            test, which = self.test.thin(MAX_COLLECTED)
            train, _ = self.train.thin(MAX_COLLECTED)
            factor = len(self.test.X) / len(which)
            return Predictions(
                self._log_joint(projection, test),
                projection.nearest_distances(test.X),
                test.codes,
                factor * self.test_weights[which],
                factor * self.unfactored_weights[which],
                self.priors[test.codes],
                len(self.test.X),
                projection.nearest_distances(train.X),
                len(self.train.X),
            )

    def pose(self, setting: Setting) -> Problem:
        """Return the problem of a setting on the training samples."""
        numbers = limit_numbers(setting, self.test.classes, self.train.class_sizes)
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

    def _log_joint(self, projection: FittedProjection, sample: Sample) -> FloatArray:
        """Return the log joints of all classes, (n, K); the density of absent ones is zero."""
        log_joint = np.full((len(sample.X), len(self.sample.classes)), -np.inf)
        log_joint[:, self.present] = projection.class_log_joint(sample.X)
        return log_joint

    def _evaluate(
        self, problem: Problem, directions: FloatArray, setting: Setting, count: int
    ) -> Outcome:
        """Return the results of the model of a setting with these directions."""
        log_joint = self._log_joint(problem.project(directions), self.test)
        codes, weights = self.test.codes, self.test_weights
        wrong = np.argmax(log_joint, axis=1) != codes
        failure = ""
        if self.scorer is None:
            counts = weights if self.metric in FACTORED else self.unfactored_weights
            score = METRICS[self.metric](log_joint, codes, counts)
        else:
            model = self._build_classifier(problem, directions, setting)
            score, failure = self._score_with(self.scorer, model)
        components = problem.coordinates.components(directions)
        return Outcome(
            setting,
            count,
            len(directions),
            len(problem.gaussian_classes),
            count_parameters(problem, setting, len(directions)),
            score,
            float(np.average(wrong, weights=weights)),
            wrong,
            brier_scores(log_joint, codes) if setting.n_features is not None else np.empty(0),
            compute_losses(log_joint, codes, weights, self.priors[codes], self.n_total),
            raw_loss(log_joint, codes, weights),
            weights,
            float(np.sum(1 / self.test_times)),
            None if setting.end == "rda" else components,
            failure,
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

    def _score_with(self, scorer: Callable[..., float], model: OPGDClassifier) -> tuple[float, str]:
        """Return the score of a model, nan if the scorer fails, and the message of the error."""
        test = self.test
        try:
            return float(scorer(model, test.X, test.classes[test.codes], **test.metadata)), ""
        except (TypeError, ValueError) as error:
            return float("nan"), str(error) or type(error).__name__


def _has_stalled(path: list[Outcome]) -> bool:
    """Return whether the last steps of a path did not improve the held-out results."""
    if len(path) <= PATIENCE:
        return False
    before, after = path[:-PATIENCE], path[-PATIENCE:]
    lower_error = min(o.error for o in after) < min(o.error for o in before)
    lower_loss = min(o.losses.min() for o in after) < min(o.losses.min() for o in before)
    return not lower_error and not lower_loss
