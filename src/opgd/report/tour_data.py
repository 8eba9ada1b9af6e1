"""Plain data of the tour: planes, and the columns that it projects."""

from typing import Any

import numpy as np

from opgd.core.types import FloatArray, IntArray
from opgd.inspection.tour import Plane
from opgd.report.rows import pack, pack_steps

MAX_COLUMNS = 2000
"""With more columns there is no tour."""
MATRIX_VALUES = 800_000
"""Maximum number of values of the tour if the page does not contain all columns."""


def make_tour_data(
    planes: list[Plane],
    standardized: FloatArray,
    drawn: IntArray,
    order: IntArray,
    n_packed: int,
    columns: tuple[list[str], FloatArray, FloatArray],
) -> dict[str, Any] | None:
    """Return the tour, None if there are fewer than two planes or too many columns.

    Coefficients are in the order `order` of the columns. The page projects its own columns,
    standardized by their centers and scales; if it has only `n_packed` of them, the tour has all
    columns of some of the drawn rows instead.
    """
    names, center, scale = columns
    if len(planes) < 2 or len(order) > MAX_COLUMNS:
        return None
    tour = {
        "names": [names[j] for j in order],
        "planes": [
            {"name": plane.name, "coefficients": pack(plane.coefficients[:, order], "float32")}
            for plane in planes
        ],
        "start": next((k for k, plane in enumerate(planes) if plane.name[:4] == "prin"), 1),
        "end": 0,
        "center": center[order].tolist(),
        "scale": scale[order].tolist(),
        "rows": None,
        "columns": None,
    }
    if n_packed == len(order):
        return tour
    step = max(1, int(np.ceil(len(drawn) * len(order) / MATRIX_VALUES)))
    rows = np.arange(0, len(drawn), step)
    return tour | {
        "center": [0.0] * len(order),
        "scale": [1.0] * len(order),
        "rows": pack(rows, "int32"),
        "columns": [pack_steps(standardized[drawn[rows], j]) for j in order],
    }
