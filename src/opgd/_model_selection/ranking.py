"""Comparison of models by their held-out results."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgd._model_selection.folds import Outcome
from opgd._model_selection.path import Setting
from opgd.core.calibration import compare_at
from opgd.core.types import AnyArray, FloatArray

TIE = 0.5
"""Standard errors within which a model with fewer Gaussians, or features, is preferred."""
CLEAR = 1.5
"""Standard deviations by which a model is clearly better, of errors and log-losses together."""
MIN_SPLITS = 3
"""Number of splits from which the standard error of a log-loss is known well enough."""


@dataclass(frozen=True, eq=False)
class Model:
    """A model and its outcome on each split."""

    outcomes: list[Outcome]

    @property
    def setting(self) -> Setting:
        """Return the hyperparameters other than the number of components."""
        return self.outcomes[0].setting

    @property
    def count(self) -> int:
        """Return the number of components, or `ALL_COMPONENTS`."""
        return max(outcome.count for outcome in self.outcomes)

    @property
    def n_gaussians(self) -> int:
        """Return the number of Gaussians of all classes."""
        return max(outcome.n_gaussians for outcome in self.outcomes)

    @property
    def n_parameters(self) -> int:
        """Return the number of free parameters."""
        return max(outcome.n_parameters for outcome in self.outcomes)

    @property
    def weight(self) -> float:
        """Return the weight of the held-out samples of all splits."""
        return sum(outcome.weight for outcome in self.outcomes)

    @property
    def failures(self) -> list[str]:
        """Return the messages of the scorer, of the splits on which it failed."""
        return [outcome.failure for outcome in self.outcomes if outcome.failure]

    @property
    def n_times(self) -> float:
        """Return the mean number of splits in which a sample is held out."""
        return len(self.wrong) / sum(outcome.n_distinct for outcome in self.outcomes)

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of the held-out samples of all splits, (n,)."""
        return np.concatenate([outcome.weights for outcome in self.outcomes])

    @cached_property
    def wrong(self) -> AnyArray:
        """Whether each of these samples is misclassified, (n,)."""
        return np.concatenate([outcome.wrong for outcome in self.outcomes])

    @cached_property
    def brier(self) -> FloatArray:
        """Brier scores of these samples, (n,)."""
        return np.concatenate([outcome.brier for outcome in self.outcomes])

    @property
    def error(self) -> float:
        """Return the mean error over splits."""
        return float(self.split_errors.mean())

    @property
    def split_errors(self) -> FloatArray:
        """Return the error on each split, (n_splits,)."""
        return np.array([outcome.error for outcome in self.outcomes])

    def split_losses(self, *, calibrate: bool) -> FloatArray:
        """Return the mean log-loss on each split, calibrated or not, (n_splits,)."""
        outcomes = self.outcomes
        sums = [o.losses[self.calibration] if calibrate else o.raw_loss for o in outcomes]
        return np.array([total / o.weight for total, o in zip(sums, outcomes, strict=True)])

    @property
    def components(self) -> tuple[AnyArray | None, ...]:
        """Return the components by split."""
        return tuple(outcome.components for outcome in self.outcomes)

    @cached_property
    def calibration(self) -> tuple[int, int]:
        """Indices of the temperature and the share of the background with the smallest loss."""
        return compare_at(np.sum([outcome.losses for outcome in self.outcomes], axis=0))

    @cached_property
    def loss(self) -> float:
        """Calibrated mean log-loss."""
        return sum(float(o.losses[self.calibration]) for o in self.outcomes) / self.weight

    @cached_property
    def raw_loss(self) -> float:
        """Mean log-loss without calibration."""
        return sum(outcome.raw_loss for outcome in self.outcomes) / self.weight


@dataclass(frozen=True)
class Ranking:
    """Order of models by score, then by log-loss, then by number of parameters.

    Parameters
    ----------
    by_log_loss : whether the score is the negative log-loss
    calibrate : whether log-losses are those of calibrated probabilities
    by_accuracy : whether the score is the accuracy
    """

    by_log_loss: bool = False
    calibrate: bool = True
    by_accuracy: bool = True

    def split_scores(self, model: Model) -> FloatArray:
        """Return the score on each split, (n_splits,)."""
        if not self.by_log_loss:
            return np.array([outcome.score for outcome in model.outcomes])
        return -model.split_losses(calibrate=self.calibrate)

    def score(self, model: Model) -> float:
        """Return the mean score over splits, or minus infinity if it is undefined."""
        score = float(self.split_scores(model).mean())
        return round(score, 12) if np.isfinite(score) else -np.inf

    def loss(self, model: Model) -> float:
        """Return the mean log-loss over held-out samples."""
        return model.loss if self.calibrate else model.raw_loss

    def key(self, model: Model) -> tuple[float, float, int]:
        """Return the key by which models are sorted, the best first."""
        return -self.score(model), self.loss(model), model.n_parameters

    def best(self, models: Iterable[Model]) -> Model:
        """Return the model with the best score."""
        return min(models, key=self.key)

    def preferred(self, models: Iterable[Model], rule: str = "best") -> Model:
        """Return the model that a rule selects.

        With ``rule="best"``, this is the best of the models with the fewest Gaussians among those
        within half a standard error of the best score, and of the lowest log-loss of these; with
        ``rule="one_se"``, the one with the fewest parameters within one standard error of the best
        score.
        """
        models = list(models)
        best = self.best(models)
        if rule == "one_se":
            near = self._near(models, best, self._split_error(best))
            return min(near, key=lambda model: (model.n_parameters, self.key(model)))
        near = self._without_high_losses(self._near(models, best, TIE * self.standard_error(best)))
        return min(near, key=lambda model: (model.n_gaussians, self.key(model)))

    def is_clearly_better(self, model: Model, other: Model) -> bool:
        """Return whether a model is clearly better than another one, by errors and log-losses.

        Neither its score nor its log-loss may be worse. The decrease in the number of errors, in
        standard deviations, is added to that in log-loss, in standard errors over the splits; the
        sum is divided by the root of two, as if both were independent. The standard error has a
        lower bound, that of a share near zero. It is not estimated from fewer than three splits:
        the number of errors then decides alone. Splits that hold out samples several times count as
        the number of splits that would hold them out once.
        """
        gain = self.loss(other) - self.loss(model)
        if self.score(model) < self.score(other) or not gain > 0:
            return False
        evidence = [compare_errors(other, model)]
        losses, others = (m.split_losses(calibrate=self.calibrate) for m in (model, other))
        n_splits = len(losses) / model.n_times
        if n_splits >= MIN_SPLITS:
            error = float((losses - others).std() / np.sqrt(n_splits - 1))
            evidence.append(gain / max(error, binomial_error(0.0, model.weight)))
        return bool(sum(evidence) > CLEAR * np.sqrt(len(evidence)))

    def standard_error(self, model: Model) -> float:
        """Return the standard error of the score, of accuracies no less than a binomial one."""
        error = self._split_error(model)
        if self.by_accuracy:  # few splits may agree by chance
            error = max(error, binomial_error(model.error, model.weight))
        return error

    def _split_error(self, model: Model) -> float:
        """Return the standard error of the mean score over splits."""
        return _standard_error(self.split_scores(model))

    def _near(self, models: list[Model], best: Model, tolerance: float) -> list[Model]:
        near = [model for model in models if self.score(model) >= self.score(best) - tolerance]
        return near or [best]

    def _without_high_losses(self, models: list[Model]) -> list[Model]:
        """Return the models within half a standard error of the lowest log-loss.

        The standard error is no less than that of a share near zero: where classes are separated,
        all losses are close to those of the background. With a single split all models are
        returned, since a standard error is not known.
        """
        lowest = min(models, key=self.loss)
        losses = lowest.split_losses(calibrate=self.calibrate)
        if len(losses) < 2:
            return models
        error = max(_standard_error(losses), binomial_error(0.0, lowest.weight))
        return [model for model in models if self.loss(model) <= self.loss(lowest) + TIE * error]


def compare_errors(model: Model, other: Model) -> float:
    """Return how many more samples a model misclassifies than another one, in standard deviations.

    Samples that both misclassify do not count, as in McNemar's test.
    """
    only_model = float(model.weights @ (model.wrong & ~other.wrong))
    only_other = float(model.weights @ (other.wrong & ~model.wrong))
    return (only_model - only_other) / float(np.sqrt(max(only_model + only_other, 1)))


def _standard_error(values: FloatArray) -> float:
    """Return the standard error of the mean of values, zero for a single one."""
    return float(values.std() / np.sqrt(len(values) - 1)) if len(values) > 1 else 0.0


def estimate_mean(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the weighted mean of values (n,) and its standard error."""
    shares = weights / weights.sum()
    mean = float(shares @ values)
    return mean, float(np.sqrt(np.sum((shares * (values - mean)) ** 2)))


def binomial_error(share: float, n_samples: float) -> float:
    """Return the standard error of a share, by Laplace's rule so that it is positive."""
    share = (share * n_samples + 1) / (n_samples + 2)
    return float(np.sqrt(share * (1 - share) / n_samples))
