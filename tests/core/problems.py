"""Small problems for the core, with every ingredient under the test's control."""

from dataclasses import replace

import numpy as np

from opgd.core.engines import RowEngine
from opgd.core.gaussians import FORMS
from opgd.core.moments import Moments
from opgd.core.objective import Objective
from opgd.core.targets import Labeled, Mixed, Strongest

KINDS = ["labeled", "strongest", "mixed"]


def random_moments(rng, n_gaussians, n_features):
    factors = rng.normal(size=(n_gaussians, n_features, 2 * n_features))
    weights = rng.uniform(1, 3, size=n_gaussians)
    return Moments(
        weights,
        weights,
        rng.normal(size=(n_gaussians, n_features)),
        factors @ factors.transpose(0, 2, 1) / (2 * n_features),
    )


def small_objective(
    rng,
    kind="labeled",
    form="diag",
    n_subclasses=1,
    weighted=False,
    penalty=None,
    n_rows=83,
    n_features=6,
    n_classes=3,
    **engine,
):
    """Moments are drawn apart from the rows: the gradient must not need them to be estimates."""
    X = rng.normal(size=(n_rows, n_features))
    labels = rng.integers(0, n_classes, n_rows)
    if kind == "mixed":
        labels = np.where(rng.uniform(size=n_rows) < 0.5, labels, -1)
    weights = rng.uniform(0.1, 3, n_rows) if weighted else None
    gaussian_classes = np.repeat(np.arange(n_classes), n_subclasses)
    moments = random_moments(rng, len(gaussian_classes), n_features)
    targets = {
        "labeled": Labeled(gaussian_classes),
        "strongest": Strongest(),
        "mixed": Mixed(gaussian_classes),
    }[kind]
    return Objective(
        RowEngine(X, labels, weights, center=np.full(n_features, 0.1), **engine),
        np.eye(n_features),
        replace(moments, means=moments.means - 0.1),
        np.log(moments.priors),
        FORMS[form],
        targets,
        penalty,
    )
