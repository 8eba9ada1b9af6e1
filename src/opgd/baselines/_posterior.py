"""What classifiers with densities of other kinds share: from log joints to labels."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from opgd._base.estimator import RowModel, restore_on_failure
from opgd._base.posterior import PosteriorMixin
from opgd._fit.problem import Prepared, prepare
from opgd._utils.blas import one_blas_thread
from opgd._utils.validation import check_priors
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core.engines import RowEngine
from opgd.core.regularization import Whitening, whiten_classes
from opgd.core.types import AnyArray, FloatArray, IntArray

FARTHEST = 1e100
"""Scores beyond this are cut: their squares would overflow."""


@dataclass(frozen=True)
class LabeledSamples:
    """Rows with labels, as every method gets them."""

    X: AnyArray  # (n, p)
    codes: IntArray  # (n,), from 0 to K - 1
    n_classes: int
    weights: FloatArray  # (n,)

    @property
    def shares(self) -> FloatArray:
        """Shares of the classes, (K,)."""
        sums = np.bincount(self.codes, self.weights, self.n_classes)
        shares: FloatArray = sums / self.weights.sum()
        return shares


class PosteriorClassifier(PosteriorMixin, RowModel):
    """Classes with densities of any kind.

    A method makes fitted attributes of labeled rows in `_densities`, and of rows the log
    densities of the classes in `_log_densities`. From there on all classifiers are alike.
    """

    priors: Any

    @restore_on_failure
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the densities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels of any one type.
        sample_weight : array-like of shape (n_samples,), default=None
            A row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self : object
        """
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        self._check_parameters()
        X, classes, codes, weights = self._check_labeled(X, y, sample_weight)
        weights = np.ones(len(X)) if weights is None else weights
        rows = LabeledSamples(X, codes, len(classes), weights)
        priors = check_priors(self.priors, classes, rows.shares)
        with one_blas_thread():
            attributes = self._densities(rows)
        self.__dict__.update(attributes | {"classes_": classes, "priors_": priors})

    def _class_log_joint(self, X: Any, priors: Any = None) -> FloatArray:
        """log(pi_k f_k) of rows and classes, (n, K)."""
        X = self._check_rows(X)
        known = self.priors_
        if priors is not None:
            known = check_priors(priors, self.classes_, self.priors_)
        with one_blas_thread():
            return self._log_densities(X) + np.log(known)

    def _check_parameters(self) -> None:
        """Refuse bad parameters by name."""

    def _densities(self, rows: LabeledSamples) -> dict[str, Any]:
        """Fitted attributes."""
        raise NotImplementedError

    def _log_densities(self, X: AnyArray) -> FloatArray:
        """Log densities of rows in the classes, (n, K)."""
        raise NotImplementedError


def cut(scores: FloatArray) -> FloatArray:
    """Scores, those at the end of the world a little nearer."""
    return np.clip(np.nan_to_num(scores, nan=FARTHEST), -FARTHEST, FARTHEST)


def centered_scores(X: AnyArray, center: FloatArray, components: FloatArray) -> FloatArray:
    """(X - center) @ components.T in float64, (n, q)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return cut((np.asarray(X, dtype=np.float64) - center) @ components.T)


def standardized(X: AnyArray, center: FloatArray, scale: FloatArray) -> FloatArray:
    """(X - center) / scale in float64, (n, p)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return cut((np.asarray(X, dtype=np.float64) - center) / scale)


def column_moments(X: AnyArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations of columns, (p,); a constant column has its size instead.

    So constant columns are zero once standardized, to rounding.
    """
    rows, shares = np.asarray(X, dtype=np.float64), weights / weights.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        center = shares @ rows
        differences = rows - center
        largest = np.abs(differences).max(axis=0)
        # in units of the largest, no square overflows or vanishes
        units = np.where(largest > 0, largest, 1.0)
        deviations = units * np.sqrt(shares @ (differences / units) ** 2)
    if not np.all(np.isfinite(deviations)):
        raise ValueError("X has values too large to compute with; rescale X.")
    constant = deviations <= 8 * np.finfo(X.dtype).eps * np.abs(center)
    if np.all(constant):
        raise ValueError("All columns of X are constant: rows cannot be told apart.")
    sizes = np.maximum(np.abs(center), 1.0)
    return center, np.where(constant, sizes, deviations)


def whitened(rows: LabeledSamples) -> tuple[Prepared, Whitening, FloatArray]:
    """Rows in coordinates in which the pooled covariance of the classes is one, (n, R)."""
    prepared = prepare(RowEngine(rows.X, rows.codes, rows.weights), rows.n_classes)
    whitening = whiten_classes(prepared.frame, prepared.classes)
    coordinates = whitening.coordinates
    if whitening.borrowed > 0:
        warn_caller(
            "the pooled covariance of the classes is singular: "
            f"{whitening.borrowed:.0%} of it is the identity on standardized columns.",
            DataWarning,
        )
    return prepared, whitening, centered_scores(rows.X, coordinates.center, coordinates.matrix.T)
