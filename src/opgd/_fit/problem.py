"""Set up the optimization problem from samples and settings."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from opgd._fit.subclasses import split_classes
from opgd.core.coordinates import Coordinates, Frame, make_frame
from opgd.core.engines import Engine
from opgd.core.feature_order import MAX_CANDIDATES, MAX_CELLS, order_features, screen_features
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import FORMS
from opgd.core.marginal import Completion, make_completion
from opgd.core.moments import Moments
from opgd.core.objective import Objective
from opgd.core.regularization import Whitening, shrink_to_classes, whiten_classes
from opgd.core.ridge import estimate_ridge
from opgd.core.targets import Labeled, Mixed
from opgd.core.types import FloatArray, IntArray

Result = TypeVar("Result")

MAX_REMEMBERED = 9
"""Number of intermediate results that are kept for further settings."""


@dataclass(frozen=True)
class Prepared:
    """Standardized samples and moments of the classes, computed once for any number of settings.

    Results that several settings share are kept: coordinates depend on the ridge only, and the
    division of classes into Gaussians on the coordinates and the number of Gaussians.
    """

    frame: Frame
    classes: Moments  # of sphered samples
    order: IntArray | None = None  # of the features, if it is known
    remembered: dict[Hashable, object] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def estimated_ridge(self) -> float:
        """Return the ridge that "auto" selects."""
        return estimate_ridge(self.frame, self.classes)

    @cached_property
    def feature_order(self) -> IntArray:
        """Indices of the features that vary, the most useful one for separating classes first."""
        if self.order is not None:
            return self.order
        roots, classes = self.frame.roots, self.classes
        variances = np.stack([np.sum(roots @ c * roots, axis=1) for c in classes.covariances])
        features = screen_features(classes.priors, classes.means @ roots.T, variances)
        candidates, rest = features[:MAX_CANDIDATES], features[MAX_CANDIDATES:]
        n_rows = max(MAX_CELLS // (len(candidates) * classes.n_groups), 1)
        order = order_features(
            classes.mapped(roots[candidates].T), self.frame.sample_features(candidates, n_rows)
        )
        return np.concatenate([candidates[order], rest])

    def restrict(self, n_features: int) -> "Prepared":
        """Return the same for the first features of their order."""
        if n_features >= len(self.feature_order):
            return self

        def compute() -> Prepared:
            features = np.sort(self.feature_order[:n_features])
            frame = self.frame.restricted(features)
            if frame.engine.incomplete:  # estimate missing entries from these features alone
                return Prepared(frame, frame.moments(self.classes.n_groups))
            return Prepared(frame, self.classes.mapped(self.frame.change_to(frame)))

        return self._remember(("restrict", n_features), compute)

    def whiten(self, ridge: float) -> tuple[Whitening, Moments]:
        """Return the coordinates for a ridge, and the moments of the classes there."""

        def compute() -> tuple[Whitening, Moments]:
            whitening = whiten_classes(self.frame, self.classes, ridge)
            return whitening, whitening.whiten(self.classes)

        return self._remember(("whiten", ridge), compute)

    def regularize(self, ridge: float) -> tuple[Moments, FloatArray]:
        """Return the regularized moments of the classes without shrinkage, and what they borrow."""
        whitening, classes = self.whiten(ridge)
        return self._remember(("regularize", ridge), lambda: whitening.regularize_whitened(classes))

    def split(self, ridge: float, numbers: IntArray) -> tuple[Moments, IntArray]:
        """Return the whitened moments of the Gaussians, and the class of each Gaussian."""
        whitening = self.whiten(ridge)[0]

        def compute() -> tuple[Moments, IntArray]:
            groups, classes = split_classes(self.frame, whitening.coordinates, numbers)
            moments = self.frame.moments(len(classes), groups)
            # rounding may resolve ties between centers in another way than k-means did
            if not np.all(occupied := moments.weights > 0):
                moments, classes = moments.select(occupied), classes[occupied]
            return whitening.whiten(moments), classes

        return self._remember(("split", ridge, tuple(numbers)), compute)

    def _remember(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the result of an earlier call with the same key, or compute it."""
        if key not in self.remembered:
            if len(self.remembered) >= MAX_REMEMBERED:
                del self.remembered[next(iter(self.remembered))]
            self.remembered[key] = compute()
        result: Result = self.remembered[key]  # type: ignore[assignment]
        return result


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
            completion=self.completion,
        )

    @property
    def completion(self) -> Completion:
        """Return the Gaussians of whole samples, for samples with missing entries."""
        moments = self.objective.moments
        return make_completion(
            self.coordinates,
            self.priors,
            self.gaussian_classes,
            self.objective.log_priors,
            self.coordinates.raw_means(moments.means),
            moments.covariances,
        )


def frame_samples(engine: Engine, *, keep_relations: bool = False) -> Frame:
    """Standardize and sphere samples; raise ValueError for extreme values or if none vary.

    `keep_relations` is that of `make_frame`.
    """
    try:
        frame = make_frame(engine, keep_relations=keep_relations)
    except (OverflowError, FloatingPointError) as error:
        word = "large" if isinstance(error, OverflowError) else "small"
        raise ValueError(
            f"X contains values too {word} for the computation ({error}); rescale X."
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
    whitening, gaussians = prepared.whiten(ridge)
    by_class, borrowed = moments, _ = prepared.regularize(ridge)
    coordinates, gaussian_classes = whitening.coordinates, np.arange(classes.n_groups)
    if n_subclasses is not None and np.any(n_subclasses != 1):
        gaussians, gaussian_classes = prepared.split(ridge, n_subclasses)
    if len(gaussian_classes) > classes.n_groups or shrinkage != 0:
        moments, borrowed = whitening.regularize_whitened(gaussians, shrinkage)
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


def limit_n_components(
    n_requested: int, rank: int, what: str = "Samples vary"
) -> tuple[int, list[str]]:
    """Limit the number of components by the rank; return it with notes about the limit."""
    if n_requested <= rank:
        return n_requested, []
    limit = f"{rank} dimensions only: {rank} components are"
    if rank == 1:
        limit = "1 dimension only: 1 component is"
    return rank, [f"{what} in {limit} used instead of {n_requested}"]
