"""Plain data for the scripts of the page: packed rows, names, Gaussians."""

from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.estimators import (
    get_center,
    get_column_names,
    get_gaussian_groups,
    get_group_names,
    get_initial_labels,
    select_gaussians,
    standardize_rows,
)
from opgd.inspection.frames import choose_frame
from opgd.inspection.loadings import compute_standardized_coefficients, order_columns
from opgd.inspection.palette import STYLES
from opgd.inspection.projected import make_outlines
from opgd.inspection.regions import compute_region_radius
from opgd.inspection.text import format_percentage
from opgd.inspection.thinning import thin
from opgd.report.picture import Picture
from opgd.report.rows import (
    pack,
    pack_centered,
    pack_codes,
    pack_columns,
    pack_originals,
    pack_plain,
    select_fitting_columns,
)

MAX_AXES = 10
MAX_GAUSSIANS = 120
LEVEL = 0.9
"""Probability inside of the ellipses."""
STRIP_REACH = 3.2
"""Ends of the densities of a model with one axis, in standard deviations."""


def make_page_data(estimator: Any, picture: Picture, max_rows: int) -> dict[str, Any]:
    """Return plain data for the page, with at most `max_rows` rows."""
    drawn = thin(picture.groups, max_rows)
    standardized = standardize_rows(estimator, picture.rows)
    coefficients = compute_standardized_coefficients(estimator)[:MAX_AXES]
    scores = standardized @ coefficients.T  # minus the score of the model's center
    train = standardized[: picture.n_train]
    with np.errstate(invalid="ignore"):  # of the variance of a single row, which is not used
        pca_axes = PCA(min(2, *train.shape), random_state=0).fit(train).components_
    pca = standardized[drawn] @ pca_axes.T
    columns = select_fitting_columns(order_columns(estimator), len(drawn))
    names = get_column_names(estimator)
    axis_names = _label_axes(estimator, len(coefficients))
    missing = np.isnan(picture.cells[drawn])
    packed = pack_columns(picture.rows[drawn], columns, missing)
    gaussians = _make_gaussians(estimator, len(coefficients))
    groups = picture.groups[drawn]
    return {
        "n_drawn": len(drawn),
        "n_rows": len(picture.rows),
        "n_train": picture.n_train,
        "rows": pack(drawn, "int32"),
        "names": None if picture.names is None else [picture.names[i] for i in drawn],
        "axes": [
            pack_centered(values)
            | {"name": name, "frame": _frame(values, groups, _find_ends(gaussians, i))}
            for i, (values, name) in enumerate(zip(scores[drawn].T, axis_names, strict=True))
        ],
        "pca": [
            pack_centered(values)
            | {"name": f"principal component {i + 1}", "frame": _frame(values, groups)}
            for i, values in enumerate(pca.T)
        ],
        "columns": [
            column | {"name": names[j], "frame": _frame(picture.rows[drawn, j], groups)}
            for column, j in zip(packed, columns, strict=True)
        ],
        "n_columns": len(names),
        "originals": [] if picture.originals is None else pack_originals(picture.originals, drawn),
        "groupings": _make_groupings(estimator, picture, drawn),
        "values": [
            pack_plain(picture.uncertainty[drawn]) | {"name": "uncertainty"},
            pack_plain(picture.typicality[drawn]) | {"name": "typicality"},
        ],
        "gaussians": gaussians,
        "styles": [
            {"color": style.color, "dark": style.dark_color, "symbol": style.symbol}
            for style in STYLES
        ],
    }


def _frame(values: AnyArray, groups: IntArray, ends: FloatArray | None = None) -> list[float]:
    """Return limits of an axis that extreme values do not determine."""
    points = np.asarray(values, dtype=np.float64)[:, None]
    limits: list[float] = choose_frame(points, groups, ends).limits[:, 0].tolist()
    return limits


def _find_ends(gaussians: dict[str, Any] | None, axis: int) -> FloatArray | None:
    """Return the ends of the ellipses or densities on an axis, (2 * n_outlines, 1)."""
    if gaussians is None:
        return None
    means = np.array(gaussians["means"])[:, axis]
    deviations = np.sqrt(np.array(gaussians["covariances"])[:, axis, axis])
    is_strip = np.array(gaussians["means"]).shape[1] == 1
    reach = gaussians["reach" if is_strip else "radius"] * deviations
    return np.concatenate([means - reach, means + reach])[:, None]


def _label_axes(estimator: Any, n_axes: int) -> list[str]:
    """Return axis labels, counted from one, with the share of each in the gain if known."""
    shares = getattr(estimator, "component_shares_", None)
    names = [f"axis {i + 1}" for i in range(n_axes)]
    if shares is None:
        return names
    return [f"{name} ({format_percentage(shares[i])})" for i, name in enumerate(names)]


def _make_groupings(estimator: Any, picture: Picture, drawn: IntArray) -> list[dict[str, Any]]:
    """Return the groupings that rows can be colored by; the first is the default."""
    group_names = get_group_names(estimator)

    def make_grouping(name: str, names: list[str], codes: IntArray) -> dict[str, Any]:
        return {"name": name, "names": names, "codes": pack_codes(codes[drawn])}

    if picture.labels is not None:
        is_wrong = np.where(picture.labels < 0, -1, picture.labels != picture.predicted)
        groupings = [
            make_grouping("class", group_names, picture.labels),
            make_grouping("predicted class", group_names, picture.predicted),
            make_grouping("correctness", ["correct", "misclassified"], is_wrong),
        ]
        if picture.n_train < len(picture.rows):
            is_test = np.arange(len(picture.rows)) >= picture.n_train
            groupings.append(make_grouping("set", ["training row", "test row"], 1 * is_test))
        return groupings
    groupings = [make_grouping("cluster", group_names, picture.predicted)]
    initial = get_initial_labels(estimator, len(picture.rows))
    if initial is not None:
        groupings.append(make_grouping("initial cluster", group_names, initial))
    if picture.known is not None:
        groupings.append(make_grouping("known class", picture.known_names, picture.known))
    return groupings


def _make_gaussians(estimator: Any, n_axes: int) -> dict[str, Any] | None:
    """Return means and covariances on the drawn axes, or None if there are too many to draw.

    Means are those of centered scores.
    """
    gaussians = select_gaussians(estimator, list(range(n_axes)))
    outlines = make_outlines(gaussians, get_gaussian_groups(estimator))
    if len(outlines.means) > MAX_GAUSSIANS:
        return None
    center = estimator.components_[:n_axes] @ get_center(estimator)
    return {
        "groups": outlines.codes.tolist(),
        "means": (outlines.means - center).tolist(),
        "covariances": outlines.covariances.tolist(),
        "radius": compute_region_radius(LEVEL, 2),  # of ellipses
        "reach": STRIP_REACH,
    }
