"""Set up the optimization problem from samples and settings."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opgd._fit.subclasses import split_classes
from opgd.core.coordinates import Coordinates, Frame, make_frame
from opgd.core.engines import Engine
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import FORMS
from opgd.core.moments import Moments
from opgd.core.objective import Objective
from opgd.core.regularization import shrink_to_classes, whiten_classes
from opgd.core.ridge import estimate_ridge
from opgd.core.targets import Labeled, Mixed
from opgd.core.types import FloatArray, IntArray


@dataclass(frozen=True)
class Prepared:
    """Standardized samples and moments of the classes, computed once for any number of settings."""

    frame: Frame
    classes: Moments  # of sphered samples

    @cached_property
    def estimated_ridge(self) -> float:
        """Return the ridge that "auto" selects."""
        return estimate_ridge(self.frame, self.classes)


@dataclass(frozen=True)
class Problem:
    """Objective, coordinates and moments that stay fixed during the search for a projection."""

    frame: Frame
    coordinates: Coordinates
    classes: Moments  # by class, whitened: initial components are computed from them
    objective: Objective
    gaussian_classes: IntArray  # (C,)
    priors: FloatArray  # (K,)
    borrowed: FloatArray  # (C,), shares of the pooled covariance in singular covariances
    within_borrowed: float  # share of the identity in a singular pooled covariance
    ridge: float = 0.0

    def project(self, directions: FloatArray) -> FittedProjection:
        """Return the projection on directions (q, R) with the Gaussians of the problem."""
        return FittedProjection(
            self.coordinates.center,
            self.coordinates.components(directions),
            self.objective.gaussians(directions),
            FORMS[self.objective.form.name],
            self.gaussian_classes,
        )


def frame_samples(engine: Engine) -> Frame:
    """Standardize and sphere samples; raise ValueError if they overflow or do not vary."""
    try:
        frame = make_frame(engine)
    except OverflowError as error:
        raise ValueError(
            f"X contains values too large for the computation ({error}); rescale X."
        ) from None
    if frame.basis.shape[1] == 0:
        raise ValueError("All columns of X are constant; at least one must vary.")
    return frame


def prepare(engine: Engine, n_classes: int) -> Prepared:
    """Compute everything that does not depend on settings, in a few passes over the samples."""
    frame = frame_samples(engine)
    return Prepared(frame, frame.moments(n_classes))


def pose(
    prepared: Prepared,
    priors: FloatArray,
    *,
    n_subclasses: IntArray | None = None,
    covariance_type: str,
    shrinkage: float | str = 0.0,
    ridge: float | str = 0.0,
) -> Problem:
    """Set up the problem of labeled samples; samples labeled -1 target the largest joint density.

    Parameters
    ----------
    priors : ndarray of shape (K,)
    n_subclasses : ndarray of shape (K,) or None
        Number of Gaussians of each class; None for one each.
    shrinkage, ridge : numbers from 0 to 1, or "auto"
    """
    frame, classes = prepared.frame, prepared.classes
    ridge = prepared.estimated_ridge if isinstance(ridge, str) else ridge
    whitening = whiten_classes(frame, classes, ridge)
    coordinates = whitening.coordinates
    gaussians, gaussian_classes = classes, np.arange(classes.n_groups)
    if n_subclasses is not None and np.any(n_subclasses != 1):
        groups, gaussian_classes = split_classes(frame, coordinates, n_subclasses)
        gaussians = frame.moments(len(gaussian_classes), groups)
    by_class, borrowed = moments, _ = whitening.regularize(classes)
    if gaussians is not classes or shrinkage != 0:
        moments, borrowed = whitening.regularize(gaussians, shrinkage)
    shares = gaussians.weights / classes.weights[gaussian_classes]
    targets = Mixed if frame.engine.partly_labeled else Labeled
    objective = Objective(
        frame.engine,
        frame.engine_matrix(coordinates),
        shrink_to_classes(moments, gaussian_classes),
        np.log(priors[gaussian_classes]) + np.log(shares),
        FORMS[covariance_type],
        targets(gaussian_classes),
    )
    return Problem(
        frame,
        coordinates,
        by_class,
        objective,
        gaussian_classes,
        priors,
        borrowed,
        whitening.borrowed,
        ridge,
    )


def default_n_components(rank: int, n_groups: int) -> int:
    """Return the default number of components, at least two if possible, for a scatter plot."""
    return min(rank, max(2, n_groups - 1))


def limit_n_components(n_requested: int, rank: int) -> tuple[int, list[str]]:
    """Limit the number of components by the rank; return it with notes about the limit."""
    if n_requested <= rank:
        return n_requested, []
    return rank, [
        f"Samples vary in {rank} dimensions only: {rank} components are used instead of "
        f"{n_requested}"
    ]
