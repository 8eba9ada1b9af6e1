"""Plain data for the scripts of the page: packed rows, names, Gaussians and the tour."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.estimators import (
    get_center,
    get_column_names,
    get_gaussian_groups,
    get_group_names,
    select_gaussians,
    standardize_rows,
)
from opgd.inspection.loadings import compute_standardized_coefficients, order_columns
from opgd.inspection.palette import COLORS, SYMBOLS
from opgd.inspection.pipelines import OriginalColumns
from opgd.inspection.projected import make_outlines
from opgd.inspection.text import format_percentage
from opgd.inspection.thinning import thin
from opgd.inspection.tour import compute_principal_axes, make_tour, to_plain_data
from opgd.report.rows import (
    pack,
    pack_centered,
    pack_codes,
    pack_columns,
    pack_originals,
    select_fitting_columns,
)

MAX_AXES = 10
MAX_GAUSSIANS = 60
MAX_CONDITION = 1e10


@dataclass(frozen=True)
class Picture:
    """All rows with their labels, predictions and names."""

    rows: AnyArray  # without missing values
    cells: AnyArray  # nan where missing
    originals: OriginalColumns | None  # columns before the steps of a pipeline
    labels: IntArray | None  # class codes, -1 if unlabeled; None for a mixture
    predicted: IntArray
    uncertainty: FloatArray
    typicality: FloatArray
    known: IntArray | None  # codes of the classes that were passed with a mixture
    known_names: list[str]
    names: list[str] | None


def make_page_data(estimator: Any, picture: Picture, max_rows: int) -> dict[str, Any]:
    """Return plain data for the page, with at most `max_rows` rows."""
    groups = picture.predicted if picture.labels is None else picture.labels
    drawn = thin(groups, max_rows)
    standardized = standardize_rows(estimator, picture.rows[drawn])
    coefficients = compute_standardized_coefficients(estimator)[:MAX_AXES]
    centered_scores = standardized @ coefficients.T  # scores minus the score of the model's center
    center = estimator.components_[:MAX_AXES] @ get_center(estimator)
    pca_axes, tour = _make_tour_data(standardize_rows(estimator, picture.rows), coefficients)
    pca = standardized @ pca_axes.T
    columns = select_fitting_columns(order_columns(estimator), len(drawn))
    names = get_column_names(estimator)
    return {
        "n_drawn": len(drawn),
        "n_rows": len(picture.rows),
        "rows": pack(drawn, "int32"),
        "names": None if picture.names is None else [picture.names[i] for i in drawn],
        "axes": [
            pack_centered(scores, float(c)) | {"name": name, "center": float(c)}
            for scores, c, name in zip(
                centered_scores.T, center, _label_axes(estimator, len(center)), strict=True
            )
        ],
        "pca": [
            pack_centered(scores) | {"name": f"principal component {i + 1}"}
            for i, scores in enumerate(pca.T)
        ],
        "columns": [
            column | {"name": names[j]}
            for column, j in zip(pack_columns(picture.cells[drawn], columns), columns, strict=True)
        ],
        "n_columns": len(names),
        "originals": [] if picture.originals is None else pack_originals(picture.originals, drawn),
        "groupings": _make_groupings(estimator, picture, drawn),
        "values": [
            pack_centered(picture.uncertainty[drawn]) | {"name": "uncertainty"},
            pack_centered(picture.typicality[drawn]) | {"name": "typicality"},
        ],
        "tour": tour,
        "gaussians": _make_gaussians(estimator, len(coefficients)),
        "colors": COLORS,
        "symbols": SYMBOLS,
    }


def _label_axes(estimator: Any, n_axes: int) -> list[str]:
    """Return axis labels, counted from one, with the share of each in the gain if known."""
    shares = getattr(estimator, "component_shares_", None)
    names = [f"axis {i + 1}" for i in range(n_axes)]
    if shares is None:
        return names
    return [f"{name} ({format_percentage(shares[i])})" for i, name in enumerate(names)]


def _make_tour_data(
    standardized: FloatArray, coefficients: FloatArray
) -> tuple[FloatArray, dict[str, Any] | None]:
    """Return the principal axes and the tour from them to the first two axes.

    The tour is None if there are fewer than two axes, or if they are nearly parallel.
    """
    pca_axes = compute_principal_axes(standardized)
    plane = coefficients[:2]
    if min(len(plane), len(pca_axes)) < 2 or np.linalg.cond(plane) > MAX_CONDITION:
        return pca_axes, None
    tour, pca_axes = make_tour(pca_axes, plane)
    return pca_axes, to_plain_data(tour)


def _make_groupings(estimator: Any, picture: Picture, drawn: IntArray) -> list[dict[str, Any]]:
    """Return the groupings that rows can be colored by; the first is the default."""
    group_names = get_group_names(estimator)

    def make_grouping(name: str, names: list[str], codes: IntArray) -> dict[str, Any]:
        return {"name": name, "names": names, "codes": pack_codes(codes[drawn])}

    if picture.labels is not None:
        is_wrong = np.where(picture.labels < 0, -1, picture.labels != picture.predicted)
        return [
            make_grouping("class", group_names, picture.labels),
            make_grouping("predicted class", group_names, picture.predicted),
            make_grouping("correctness", ["correct", "misclassified"], is_wrong),
        ]
    groupings = [make_grouping("cluster", group_names, picture.predicted)]
    if len(estimator.initial_labels_) == len(picture.rows):
        groupings.append(
            make_grouping("cluster at the start", group_names, estimator.initial_labels_)
        )
    if picture.known is not None:
        groupings.append(make_grouping("known class", picture.known_names, picture.known))
    return groupings


def _make_gaussians(estimator: Any, n_axes: int) -> dict[str, Any] | None:
    """Return means and covariances on the drawn axes, or None if there are too many to draw."""
    gaussians = select_gaussians(estimator, list(range(n_axes)))
    outlines = make_outlines(gaussians, get_gaussian_groups(estimator))
    if len(outlines.means) > MAX_GAUSSIANS:
        return None
    return {
        "groups": outlines.codes.tolist(),
        "means": outlines.means.tolist(),
        "covariances": outlines.covariances.tolist(),
    }
