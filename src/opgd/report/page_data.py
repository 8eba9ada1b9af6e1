"""What the page's pictures are made of: packed rows, names, Gaussians and the tour."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.plotting._fitted import (
    column_names,
    gaussian_groups,
    group_names,
    percentage,
    plane_gaussians,
    standardised_coefficients,
)
from opgd.plotting._projected import thinned
from opgd.plotting._styles import COLOURS
from opgd.report.rows import (
    fitting_columns,
    packed,
    packed_centred,
    packed_codes,
    packed_columns,
)
from opgd.report.tables import column_order
from opgd.report.tour import make_tour, principal_axes, standardised_rows, tour_data

MOST_AXES = 10
MOST_GAUSSIANS = 60
WORST_CONDITION = 1e10
SYMBOLS = [
    "circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star",
    "triangle-left", "triangle-right", "pentagon",
]  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """All rows, and what is known of each."""

    rows: AnyArray
    labels: IntArray | None  # codes among the classes, -1 for none; None for a mixture
    predicted: IntArray
    uncertainty: FloatArray
    typicality: FloatArray
    known: IntArray | None  # codes of classes that a mixture does not know
    known_names: list[str]
    names: list[str] | None


def page_data(estimator: Any, picture: Picture, max_rows: int) -> dict[str, Any]:
    """Plain data for the page, of at most so many rows."""
    own = picture.predicted if picture.labels is None else picture.labels
    drawn = thinned(own, max_rows)
    standardised = standardised_rows(estimator, picture.rows[drawn])
    coefficients = standardised_coefficients(estimator)[:MOST_AXES]
    centred = standardised @ coefficients.T  # scores less those of the model's centre
    centre = estimator.components_[:MOST_AXES] @ estimator._coordinates.center
    pca_axes, tour = _tour(standardised_rows(estimator, picture.rows), coefficients)
    pca = standardised @ pca_axes.T
    columns = fitting_columns(column_order(estimator), len(drawn))
    names = column_names(estimator)
    return {
        "n_drawn": len(drawn),
        "n_rows": len(picture.rows),
        "rows": packed(drawn, "int32"),
        "names": None if picture.names is None else [picture.names[i] for i in drawn],
        "axes": [
            packed_centred(scores, float(c)) | {"name": name, "centre": float(c)}
            for scores, c, name in zip(
                centred.T, centre, _axis_names(estimator, len(centre)), strict=True
            )
        ],
        "pca": [
            packed_centred(scores) | {"name": f"principal component {i + 1}"}
            for i, scores in enumerate(pca.T)
        ],
        "columns": [
            own | {"name": names[j]}
            for own, j in zip(packed_columns(picture.rows[drawn], columns), columns, strict=True)
        ],
        "n_columns": len(names),
        "groupings": _groupings(estimator, picture, drawn),
        "values": [
            packed_centred(picture.uncertainty[drawn]) | {"name": "uncertainty"},
            packed_centred(picture.typicality[drawn]) | {"name": "typicality"},
        ],
        "tour": tour,
        "gaussians": _gaussians(estimator, len(coefficients)),
        "colours": COLOURS,
        "symbols": SYMBOLS,
    }


def _axis_names(estimator: Any, n_axes: int) -> list[str]:
    """Counted from one, with the share of the gain where the model knows it."""
    shares = getattr(estimator, "component_shares_", None)
    names = [f"axis {i + 1}" for i in range(n_axes)]
    if shares is None:
        return names
    return [f"{name} ({percentage(shares[i])})" for i, name in enumerate(names)]


def _tour(
    standardised: FloatArray, coefficients: FloatArray
) -> tuple[FloatArray, dict[str, Any] | None]:
    """Principal axes, and the way from them to the first two axes, where there are two."""
    pca_axes = principal_axes(standardised)
    plane = coefficients[:2]
    if min(len(plane), len(pca_axes)) < 2 or np.linalg.cond(plane) > WORST_CONDITION:
        return pca_axes, None
    tour, pca_axes = make_tour(pca_axes, plane)
    return pca_axes, tour_data(tour)


def _groupings(estimator: Any, picture: Picture, drawn: IntArray) -> list[dict[str, Any]]:
    """Ways to colour rows by group; the first is shown."""
    own = group_names(estimator)

    def grouping(name: str, names: list[str], codes: IntArray) -> dict[str, Any]:
        return {"name": name, "names": names, "codes": packed_codes(codes[drawn])}

    if picture.labels is not None:
        right = np.where(picture.labels < 0, -1, picture.labels != picture.predicted)
        return [
            grouping("class", own, picture.labels),
            grouping("predicted class", own, picture.predicted),
            grouping("right or wrong", ["right", "wrong"], right),
        ]
    found = [grouping("cluster", own, picture.predicted)]
    if len(estimator.initial_labels_) == len(picture.rows):
        found.append(grouping("cluster at the start", own, estimator.initial_labels_))
    if picture.known is not None:
        found.append(grouping("known class", picture.known_names, picture.known))
    return found


def _gaussians(estimator: Any, n_axes: int) -> dict[str, Any] | None:
    """Means and covariances on the axes that are drawn; None for more than can be seen."""
    own = plane_gaussians(estimator, list(range(n_axes)))
    if len(own.means) > MOST_GAUSSIANS:
        return None
    return {
        "groups": gaussian_groups(estimator).tolist(),
        "means": own.means.tolist(),
        "covariances": own.variances.tolist(),
    }
