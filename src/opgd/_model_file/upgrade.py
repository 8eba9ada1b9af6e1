"""Conversion of the contents of older model files to the current format."""

from typing import Any

import numpy as np

DERIVED = ("components_", "n_components_", "projected_means_", "projected_variances_")
"""Attributes that version 1 stored although they follow from others."""


def upgrade_estimators(content: dict[str, Any], version: int) -> dict[str, Any]:
    """Return the encoded estimators that are attributes of an estimator, by name."""
    if version > 1:
        inner: dict[str, Any] = content["estimators"]
        return inner
    return {"best_estimator_": content["best_estimator"]} if "best_estimator" in content else {}


def upgrade_fitted(
    fitted: dict[str, Any], estimators: dict[str, Any], version: int
) -> dict[str, Any]:
    """Return the fitted attributes in the current format, with one entry for each record field.

    Version 1 stored the fields of a projection under other names, and the feature names of an
    OPGDClassifierCV only with its best estimator. Projections had no background before version 3.
    Version 4 added held-out samples, which older files lack.
    """
    if version > 2:
        return fitted
    if version == 2:
        has_projection = "_projection.temperature" in fitted
        return fitted | ({"_projection.background": 0.0} if has_projection else {})
    if "best_estimator_" in estimators:
        best = vars(estimators["best_estimator_"])
        names = ("n_features_in_", "feature_names_in_")
        return {name: best[name] for name in names if name in best} | fitted
    if "_covariance_type" not in fitted:
        return fitted
    attributes = dict(fitted)
    components = (
        attributes.pop("_whole_space")
        if "_whole_space" in attributes
        else attributes["components_"]
    )
    gaussians = {
        name: attributes.pop(f"_gaussians.{name}") for name in ("log_priors", "means", "variances")
    }
    each = np.arange(len(gaussians["means"]))
    projection = {
        "center": attributes["_coordinates.center"],
        "components": components,
        **{f"gaussians.{name}": value for name, value in gaussians.items()},
        "form": attributes.pop("_covariance_type"),
        "gaussian_classes": attributes.pop("gaussian_classes_", each),
        "temperature": attributes.pop("_temperature", 1.0),
        "background": 0.0,
    }
    for name in DERIVED:
        attributes.pop(name, None)
    return attributes | {f"_projection.{name}": value for name, value in projection.items()}
