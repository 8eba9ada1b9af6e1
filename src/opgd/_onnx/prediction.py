"""What a fitted estimator computes for complete samples, as arrays for a graph."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from opgd._base.projection import ProjectionMixin
from opgd._fit.noise import Noise
from opgd.baselines import (
    AlternatingComponents,
    CommonPrincipalComponents,
    GaussianMixturePursuit,
    InformativeComponents,
    LikelihoodRatioPursuit,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from opgd.classifier import OPGDClassifier
from opgd.classifier_cv import OPGDClassifierCV
from opgd.core.density import SampleDensity
from opgd.core.fitted import FittedProjection
from opgd.core.held_out import HeldOut
from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.mixture import OPGDMixture
from opgd.semi_supervised import OPGDSemiSupervised

ESTIMATORS: tuple[type[Any], ...] = (
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDSemiSupervised,
    OPGDMixture,
    AlternatingComponents,
    CommonPrincipalComponents,
    GaussianMixturePursuit,
    InformativeComponents,
    LikelihoodRatioPursuit,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
"""Estimators that can be converted: their classes are Gaussians, or mixtures of them."""
OUTPUTS = ("label", "probabilities", "scores", "typicality")
NO_CLUSTER = -1
"""Label of noise."""


@dataclass(frozen=True)
class NoiseRule:
    """Samples are noise if the density of t distributions in all features is below a threshold.

    With d^2 the squared distance from a Gaussian within the projection and r^2 the squared length
    of (x - center) @ matrix + shift, the log joint of its t distribution is

        constant - factor log(1 + (d^2 + r^2) / scale)
    """

    matrix: FloatArray  # (p, R - q)
    shift: FloatArray  # (R - q,)
    constants: FloatArray  # (C,)
    factors: FloatArray  # (C,)
    scales: FloatArray  # (C,)
    log_threshold: float


@dataclass(frozen=True)
class Prediction:
    """Everything that predictions for complete samples need.

    The log joint density of a class is the sum over `projections`, usually one, of the log of the
    sum over its Gaussians.
    """

    projections: list[FittedProjection]  # with the same center
    labels: AnyArray  # (K,), of int64 or str
    priors: FloatArray  # (K,), of the background
    components: FloatArray | None  # (q, p), of the scores
    has_typicality: bool
    held_out: HeldOut | None = None
    noise: NoiseRule | None = None

    @property
    def center(self) -> FloatArray:
        """The point that is subtracted from samples, (p,)."""
        return self.projections[0].center

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs that the estimator has."""
        present = (True, True, self.components is not None, self.has_typicality)
        return [name for name, is_present in zip(OUTPUTS, present, strict=True) if is_present]

    @property
    def used(self) -> IntArray:
        """Indices of the features on which predictions depend."""
        matrices = [projection.components for projection in self.projections]
        if self.noise is not None:
            matrices.append(self.noise.matrix.T)
        return np.flatnonzero(np.any(np.vstack(matrices) != 0, axis=0))

    @property
    def label_table(self) -> AnyArray:
        """The labels by code, followed by those of incomplete samples and of noise."""
        if self.labels.dtype.kind == "O":
            return np.array([*self.labels, ""], dtype=object)
        reserved = NO_CLUSTER if self.noise is not None else 0
        unknown = min(reserved, int(self.labels.min())) - 1
        return np.array([*self.labels, unknown, NO_CLUSTER])


def describe(estimator: Any) -> Prediction:
    """Return what a fitted estimator, one of `ESTIMATORS`, computes."""
    is_mixture = isinstance(estimator, OPGDMixture)
    labels = np.arange(estimator.n_clusters_) if is_mixture else estimator.classes_
    held_out = getattr(estimator, "_held_out", None)
    if held_out is not None and held_out.distances is None:
        held_out = None
    return Prediction(
        projections=estimator._density_projections,
        labels=check_labels(labels),
        priors=estimator.weights_ if is_mixture else estimator.priors_,
        components=estimator.components_ if isinstance(estimator, ProjectionMixin) else None,
        has_typicality=hasattr(estimator, "typicality"),
        held_out=held_out,
        noise=_describe_noise(estimator._noise, estimator) if is_mixture else None,
    )


def check_labels(labels: AnyArray) -> AnyArray:
    """Return labels as int64 or as an array of str; raise an error if they are neither."""
    if labels.dtype.kind in "biuf":
        with np.errstate(invalid="ignore"):  # huge numbers
            numbers = labels.astype(np.int64)
        if np.all(numbers == labels):
            return numbers
        raise ValueError(
            f"Class labels must be integers or strings to be converted, got {labels.tolist()[0]!r}."
        )
    texts = np.array(labels.tolist(), dtype=object)
    for label in texts:
        if not isinstance(label, str):
            raise TypeError(
                f"Class labels must be integers or strings to be converted, got {label!r}."
            )
        check_text("Class label", label)
    return texts


def check_text(what: str, text: str) -> None:
    """Raise ValueError unless the text can be stored in a graph."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} {text!r} cannot be encoded as UTF-8; rename it.") from None


def _describe_noise(noise: Noise | None, mixture: OPGDMixture) -> NoiseRule | None:
    if noise is None:
        return None
    density: SampleDensity = mixture._density()
    rank, tails = density.coordinates.rank, noise.tails
    matrix = density.coordinates.matrix @ linalg.null_space(density.span)
    at_means = density.log_joint_at_means
    if noise.share in (0, 1):
        threshold = -np.inf if noise.share == 0 else np.inf
    else:
        threshold = float(noise.compare(np.zeros(1))[0])
    return NoiseRule(
        matrix=matrix,
        shift=(mixture._projection.center - density.coordinates.center) @ matrix,
        constants=tails.log_joint(np.zeros((1, len(at_means))), at_means, rank)[0],
        factors=0.5 * (tails.degrees + rank),
        scales=tails.degrees * tails.scales,
        log_threshold=threshold,
    )
