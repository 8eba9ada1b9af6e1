"""Base class of baselines whose class densities are not Gaussian, and their helpers."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from opgd._base.estimator import BaseModel, restore_on_failure
from opgd._base.posterior import PosteriorMixin
from opgd._fit.problem import Prepared, prepare
from opgd._utils.blas import one_blas_thread
from opgd._utils.validation import check_priors
from opgd._utils.warnings import DataWarning, keep_filters, warn_caller
from opgd.core.engines import RowEngine
from opgd.core.moments import MIN_SIZE
from opgd.core.regularization import Whitening, whiten_classes
from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_SCORE = 1e100
"""Bound of absolute scores, so that their squares are finite."""


@dataclass(frozen=True)
class LabeledSamples:
    """Training samples with class codes and weights."""

    X: AnyArray  # (n, p)
    codes: IntArray  # (n,), from 0 to K - 1
    n_classes: int
    weights: FloatArray  # (n,)

    @property
    def shares(self) -> FloatArray:
        """Weighted class frequencies, (K,)."""
        sums = np.bincount(self.codes, self.weights, self.n_classes)
        shares: FloatArray = sums / self.weights.sum()
        return shares


class PosteriorClassifier(PosteriorMixin, BaseModel):
    """Base class of classifiers with arbitrary class densities.

    A subclass implements `_fit_densities`, which returns the fitted attributes, and
    `_log_densities`, which returns the log densities of the classes.
    """

    priors: Any

    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the class densities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels, all of one type.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A weight of 2 is equivalent to repeating the sample; samples of weight 0
            are ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        self._check_parameters()
        X, classes, codes, weights = self._check_labeled(X, y, sample_weight)
        weights = np.ones(len(X)) if weights is None else weights
        samples = LabeledSamples(X, codes, len(classes), weights)
        priors = check_priors(self.priors, classes, samples.shares)
        with one_blas_thread():
            attributes = self._fit_densities(samples)
        self.__dict__.update(attributes | {"classes_": classes, "priors_": priors})

    def _class_log_joint(self, X: Any, priors: Any = None) -> FloatArray:
        """Return log(pi_k f_k) of each sample and class, (n, K)."""
        X = self._check_rows(X)
        log_priors = np.log(self.priors_) + self._log_prior_ratios(priors)
        with one_blas_thread(), keep_filters():
            return self._log_densities(X) + log_priors

    def _check_parameters(self) -> None:
        """Raise an error that names the parameter if one is invalid."""

    def _fit_densities(self, samples: LabeledSamples) -> dict[str, Any]:
        """Return the fitted attributes."""
        raise NotImplementedError

    def _log_densities(self, X: AnyArray) -> FloatArray:
        """Return the log density of each sample in each class, (n, K)."""
        raise NotImplementedError


def clip_scores(scores: FloatArray) -> FloatArray:
    """Clip scores to +-MAX_SCORE, and replace nan by MAX_SCORE."""
    return np.clip(np.nan_to_num(scores, nan=MAX_SCORE), -MAX_SCORE, MAX_SCORE)


def center_and_project(X: AnyArray, center: FloatArray, components: FloatArray) -> FloatArray:
    """Return (X - center) @ components.T in float64, clipped, (n, q)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return clip_scores((np.asarray(X, dtype=np.float64) - center) @ components.T)


def standardize(X: AnyArray, center: FloatArray, scale: FloatArray) -> FloatArray:
    """Return (X - center) / scale in float64, clipped, (n, p)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return clip_scores((np.asarray(X, dtype=np.float64) - center) / scale)


def feature_moments(X: AnyArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the means and standard deviations of the features, (p,).

    For constant features the standard deviation is replaced by the magnitude of the value, at least
    1, so that they are zero up to rounding once standardized.
    """
    samples, shares = np.asarray(X, dtype=np.float64), weights / weights.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        center = shares @ samples
        differences = samples - center
        largest = np.abs(differences).max(axis=0)
        # scaled by the largest difference, squares neither overflow nor underflow
        units = np.where(largest > 0, largest, 1.0)
        deviations = units * np.sqrt(shares @ (differences / units) ** 2)
    if not np.all(np.isfinite(deviations)):
        raise ValueError("X contains values too large for the computation; rescale X.")
    if np.any((largest > 0) & (largest < MIN_SIZE)):
        raise ValueError("X contains values too small for the computation; rescale X.")
    constant = deviations <= 8 * np.finfo(X.dtype).eps * np.abs(center)
    if np.all(constant):
        raise ValueError("All features of X are constant; at least one must vary.")
    sizes = np.maximum(np.abs(center), 1.0)
    return center, np.where(constant, sizes, deviations)


def whiten_samples(samples: LabeledSamples) -> tuple[Prepared, Whitening, FloatArray]:
    """Return prepared moments, the whitening, and the whitened samples (n, R).

    The pooled within-class covariance of whitened samples is the identity.
    """
    engine = RowEngine(samples.X, samples.codes, samples.weights)
    prepared = prepare(engine, samples.n_classes)
    whitening = whiten_classes(prepared.frame, prepared.classes)
    coordinates = whitening.coordinates
    if whitening.borrowed > 0:
        warn_caller(
            "The pooled covariance of the classes is singular, so the identity on standardized "
            f"features was added with a weight of {whitening.borrowed:.0%}.",
            DataWarning,
        )
    Z = center_and_project(samples.X, coordinates.center, coordinates.matrix.T)
    return prepared, whitening, Z
