"""Fitted attributes of a mixture."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from opgd._dask.lazy import apply_to_samples, take_values
from opgd._fit.mixture_fit import MixtureFit
from opgd._fit.noise import Noise, add_noise
from opgd._fit.numbering import Numbering, number_by_weight
from opgd._fit.problem import Problem
from opgd._fit.refinement import make_unprojected_mixture
from opgd._utils.features import to_feature_array
from opgd.core.coordinates import sphered_coordinates
from opgd.core.density import make_sample_density
from opgd.core.fitted import FittedProjection
from opgd.core.gaussians import ProjectedGaussians
from opgd.core.marginal import make_completion
from opgd.core.scoring import normalize_log_joints
from opgd.core.types import AnyArray, FloatArray, IntArray


def describe_mixture(
    problem: Problem,
    directions: FloatArray,
    gaussians: ProjectedGaussians | None = None,
    numbering: Numbering | None = None,
) -> dict[str, Any]:
    """Return the attributes that predictions need; by default clusters are numbered by weight."""
    gaussians = problem.objective.gaussians(directions) if gaussians is None else gaussians
    numbering = number_by_weight(gaussians) if numbering is None else numbering
    gaussians, clusters = gaussians.take(numbering.order), numbering.clusters
    projection = replace(
        problem.project(directions), gaussians=gaussians, gaussian_classes=clusters
    )
    coordinates = sphered_coordinates(problem.frame)
    moments, covariances = make_sample_density(coordinates, projection).sphered_moments()
    means = coordinates.raw_means(moments)
    weights: FloatArray = np.bincount(clusters, np.exp(gaussians.log_priors)).astype(np.float64)
    weights /= weights.sum()
    completion = make_completion(
        coordinates,
        weights,
        projection.gaussian_classes,
        gaussians.log_priors,
        means,
        covariances,
    )
    return {
        "n_clusters_": len(weights),
        "weights_": weights,
        "means_": means,
        "_projection": replace(projection, completion=completion),
        "_coordinates": coordinates,
        "_covariances": covariances,
    }


def describe_fit(X: AnyArray, fit: MixtureFit, numbering: Numbering) -> dict[str, Any]:
    """Return the fitted attributes of a fit, except for what was selected."""
    refined, frame = fit.refined, fit.refined.problem.frame
    attributes = describe_mixture(
        refined.problem, refined.directions, refined.mixture.gaussians, numbering
    )
    clustered = apply_to_samples(partial(_cluster, attributes["_projection"]), X)
    first_labels = apply_to_samples(
        partial(_predict_clusters, make_unprojected_mixture(frame, fit.first.moments)), X
    )
    return (
        refined.summary
        | attributes
        | {
            "labels_": clustered[:, 0].astype(np.intp),
            "initial_labels_": take_values(numbering.labels, first_labels),
            "uncertainty_": clustered[:, 1],
            "log_likelihood_": frame.engine.total_weight * refined.log_likelihood,
            "eigenvalues_": frame.spread**-2.0,
            "n_rounds_": fit.n_rounds,
        }
    )


def describe_noise(
    X: AnyArray, weights: FloatArray | None, noise: Noise, attributes: dict[str, Any]
) -> dict[str, Any]:
    """Return the attributes that noise changes."""
    density = make_sample_density(attributes["_coordinates"], attributes["_projection"])
    probabilities = expit(noise.log_odds(X, density))
    is_noise = probabilities > 0.5
    certainty = (1 - attributes["uncertainty_"]) * (1 - probabilities)
    total = add_noise(density.log_density(X), noise.share, noise.log_density)
    return {
        "labels_": np.where(is_noise, -1, attributes["labels_"]),
        "uncertainty_": 1 - np.where(is_noise, probabilities, certainty),
        "log_likelihood_": float(total.sum() if weights is None else weights @ total),
        "noise_share_": noise.share,
        "noise_log_density_": noise.log_density,
        "noise_scales_": noise.tails.scales,
        "noise_degrees_": noise.tails.degrees,
    }


def _cluster(projection: FittedProjection, X: AnyArray) -> FloatArray:
    """Return the most probable cluster, and one minus its probability, (n, 2)."""
    log_posteriors = normalize_log_joints(projection.class_log_joint(_to_array(X)))
    uncertainties = -np.expm1(log_posteriors.max(axis=1))
    return np.column_stack([np.argmax(log_posteriors, axis=1), uncertainties])


def _predict_clusters(projection: FittedProjection, X: AnyArray) -> IntArray:
    """Return the most probable cluster, (n,)."""
    return np.argmax(projection.log_joint(_to_array(X)), axis=1)


def _to_array(X: Any) -> AnyArray:
    """Return samples, or a partition of a Dask data frame, as an array."""
    if isinstance(X, np.ndarray):
        return X
    return to_feature_array(X, finite=False, min_samples=0)
