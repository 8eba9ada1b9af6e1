"""Rows and Gaussians projected on some axes of a model."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from opgd.core.gaussians import ProjectedGaussians
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.estimators import (
    check_rows,
    get_center,
    get_gaussian_groups,
    get_group_names,
    has_classes,
    predict_codes,
    select_gaussians,
)
from opgd.inspection.labels import encode_any, encode_classes, warn_if_unknown
from opgd.inspection.text import label_axes
from opgd.inspection.thinning import thin

MAX_PER_GROUP = 3
"""Number of Gaussians per class, on average, above which a single ellipse stands for a class."""


@dataclass(frozen=True)
class Outlines:
    """Gaussians whose ellipses are drawn: those of the model, or one for each class."""

    means: FloatArray  # (n_outlines, q)
    covariances: FloatArray  # (n_outlines, q, q)
    codes: IntArray  # (n_outlines,), indices of classes or clusters
    merged: bool


def make_outlines(gaussians: ProjectedGaussians, codes: IntArray) -> Outlines:
    """Return the Gaussians, or mean and covariance of each class if they are too many to draw."""
    means, covariances = gaussians.means, gaussians.variances
    n_groups = int(codes.max()) + 1
    if len(codes) <= MAX_PER_GROUP * n_groups:
        return Outlines(means, covariances, codes, merged=False)
    weights = np.exp(gaussians.log_priors - gaussians.log_priors.max())
    shares = weights * (codes == np.arange(n_groups)[:, None])  # (n_groups, C)
    shares /= shares.sum(axis=1, keepdims=True)
    centers = shares @ means
    steps = means - centers[codes]
    spread = covariances + steps[:, :, None] * steps[:, None, :]
    merged = np.tensordot(shares, spread, axes=1)
    return Outlines(centers, merged, np.arange(n_groups), merged=True)


@dataclass(frozen=True)
class ProjectedRows:
    """Projected rows and Gaussians; the fields are documented in `ProjectionDisplay`."""

    scores: FloatArray
    codes: IntArray
    names: list[str]
    kind: str
    rows: IntArray
    n_rows: int
    wrong: AnyArray | None
    n_wrong: int
    means: FloatArray
    covariances: FloatArray
    log_priors: FloatArray
    gaussian_codes: IntArray
    gaussian_names: list[str]
    axis_labels: list[str]
    center: FloatArray  # mean of the scores of X
    origin: FloatArray  # scores of the center of the training data
    all_scores: FloatArray  # of all rows
    all_codes: IntArray

    @property
    def same_groups(self) -> bool:
        """Whether the groups of the rows are the classes (or clusters) of the model."""
        return self.names == self.gaussian_names

    @property
    def gaussians(self) -> ProjectedGaussians:
        """The Gaussians on these axes."""
        return ProjectedGaussians(self.log_priors, self.means, self.covariances)

    @cached_property
    def outlines(self) -> Outlines:
        """The Gaussians whose ellipses are drawn."""
        return make_outlines(self.gaussians, self.gaussian_codes)


def project(estimator: Any, X: Any, y: Any, axes: list[int], max_rows: int | None) -> ProjectedRows:
    """Project X and the Gaussians on axes of a fitted model, with at most `max_rows` rows."""
    n_rows = len(check_rows(estimator, X, y))
    scores = np.asarray(estimator.transform(X), dtype=np.float64)[:, axes]
    names, codes, kind = _group_rows(estimator, X, y)
    wrong = None
    if kind == "class":
        wrong = (codes >= 0) & (codes != predict_codes(estimator, X))
    rows = thin(codes, max_rows)
    gaussians = select_gaussians(estimator, axes)
    return ProjectedRows(
        scores=scores[rows],
        codes=codes[rows],
        names=names,
        kind=kind,
        rows=rows,
        n_rows=n_rows,
        wrong=None if wrong is None else wrong[rows],
        n_wrong=0 if wrong is None else int(wrong.sum()),
        means=gaussians.means,
        covariances=gaussians.variances,
        log_priors=gaussians.log_priors,
        gaussian_codes=get_gaussian_groups(estimator),
        gaussian_names=get_group_names(estimator),
        axis_labels=label_axes(estimator, axes),
        center=scores.mean(axis=0),
        origin=estimator.components_[axes] @ get_center(estimator),
        all_scores=scores,
        all_codes=codes,
    )


def _group_rows(estimator: Any, X: Any, y: Any) -> tuple[list[str], IntArray, str]:
    """Return the names of the groups, the group of each row, and the kind of groups."""
    names = get_group_names(estimator)
    if has_classes(estimator):
        if y is None:
            return names, predict_codes(estimator, X), "predicted class"
        codes = encode_classes(estimator, y)
        warn_if_unknown(estimator, y, codes)
        return names, codes, "class"
    if y is None:
        return names, estimator.predict(X), "cluster"
    return *encode_any(y), "label"
