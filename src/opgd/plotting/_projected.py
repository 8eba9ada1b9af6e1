"""Rows and Gaussians on some axes of a model: the arrays of the projection displays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri

from opgd._base.gaussian import GaussianClassifier
from opgd._utils.validation import check_integer
from opgd.core.gaussians import FORMS, ProjectedGaussians
from opgd.core.scoring import log_sum_by_group, scores_log_joint
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.plotting._fitted import (
    axis_names,
    checked_rows,
    class_codes,
    encode_any,
    gaussian_groups,
    group_names,
    plane_gaussians,
)

GRID = 300
MARGIN = 0.04


@dataclass(frozen=True)
class ProjectedRows:
    """Rows and Gaussians on some axes, see `ProjectionDisplay` for what the fields are."""

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
    center: FloatArray

    @property
    def same_groups(self) -> bool:
        """Whether rows are grouped by the classes (or clusters) of the Gaussians."""
        return self.names == self.gaussian_names

    @property
    def gaussians(self) -> ProjectedGaussians:
        """The Gaussians on these axes."""
        return ProjectedGaussians(self.log_priors, self.means, self.covariances)


def project(estimator: Any, X: Any, y: Any, axes: list[int], max_rows: int | None) -> ProjectedRows:
    """Rows of X on axes of a fitted model, thinned, with their groups."""
    n_rows = len(checked_rows(estimator, X, y))
    scores = np.asarray(estimator.transform(X), dtype=np.float64)[:, axes]
    names = known = group_names(estimator)
    wrong, n_wrong = None, 0
    if not isinstance(estimator, GaussianClassifier):
        kind = "cluster" if y is None else "label"
        names, codes = (known, estimator.predict(X)) if y is None else encode_any(y)
    elif y is None:
        kind, codes = "predicted class", np.argmax(estimator._class_log_joint(X), axis=1)
    else:
        kind, codes = "class", class_codes(estimator, y)
        strongest = np.argmax(estimator._class_log_joint(X), axis=1)
        wrong = (codes >= 0) & (codes != strongest)
        n_wrong = int(wrong.sum())
    rows = thinned(codes, max_rows)
    gaussians = plane_gaussians(estimator, axes)
    return ProjectedRows(
        scores=scores[rows],
        codes=codes[rows],
        names=names,
        kind=kind,
        rows=rows,
        n_rows=n_rows,
        wrong=None if wrong is None else wrong[rows],
        n_wrong=n_wrong,
        means=gaussians.means,
        covariances=gaussians.variances,
        log_priors=gaussians.log_priors,
        gaussian_codes=gaussian_groups(estimator),
        gaussian_names=known,
        axis_labels=axis_names(estimator, axes),
        center=scores.mean(axis=0),
    )


def thinned(codes: IntArray, max_rows: int | None) -> IntArray:
    """Indices of at most so many rows, in order: each group by its share, none without a row.

    Rows are drawn at random with a seed of our own, so that the same picture comes out again.
    """
    n_rows = len(codes)
    if max_rows is None or n_rows <= check_integer("max_rows", max_rows, 1):
        return np.arange(n_rows)
    groups, members, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(groups) > max_rows:
        raise ValueError(f"max_rows={max_rows} is less than the {len(groups)} groups of rows.")
    quotas = np.maximum(1, counts * max_rows // n_rows)
    for _ in range(max(0, int(quotas.sum()) - max_rows)):  # what rare groups got too much
        quotas[np.argmax(quotas)] -= 1
    order = np.lexsort((np.random.RandomState(0).random_sample(n_rows), members))
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = np.arange(n_rows) - np.repeat(first, counts)  # within the group, at random
    return np.sort(order[place < np.repeat(quotas, counts)])


def region_scale(level: float, n_axes: int) -> float:
    """Mahalanobis distance within which a Gaussian has the share `level` of its rows."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
    return float(np.sqrt(chdtri(n_axes, 1 - level)))


def ellipses(covariances: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Semi-axes (C, 2), the longer first, and angles of the longer in degrees (C,)."""
    values, vectors = np.linalg.eigh(covariances)
    lengths = region_scale(level, 2) * np.sqrt(values[:, ::-1])
    longer = vectors[:, :, -1]
    return lengths, np.degrees(np.arctan2(longer[:, 1], longer[:, 0])) % 180


def limits(scores: FloatArray, gaussians: ProjectedGaussians, scale: float) -> FloatArray:
    """Least and greatest of what is drawn on each axis, with a margin, (2, n_axes)."""
    extent = scale * np.sqrt(np.diagonal(gaussians.variances, axis1=1, axis2=2))
    corners = np.vstack([scores, gaussians.means - extent, gaussians.means + extent])
    low, high = corners.min(axis=0), corners.max(axis=0)
    return np.stack([low - MARGIN * (high - low), high + MARGIN * (high - low)])


def regions(
    gaussians: ProjectedGaussians, groups: IntArray, frame: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Coordinates (2, GRID) and the strongest class at each point, (GRID, GRID), rows upwards."""
    grid = np.linspace(frame[0], frame[1], GRID).T
    points = np.stack([axis.ravel() for axis in np.meshgrid(*grid)])  # (2, GRID * GRID)
    form = FORMS["full"]
    joint = scores_log_joint(points, gaussians, form.factors(gaussians), form)
    strongest = np.argmax(log_sum_by_group(joint, groups), axis=0)
    return grid, strongest.reshape(GRID, GRID)
