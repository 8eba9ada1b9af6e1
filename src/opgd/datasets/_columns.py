"""Names of the columns, the same whatever a source calls them."""


def numbered(letter: str, n: int, start: int = 1) -> list[str]:
    """Names such as x1, x2, ..."""
    return [f"{letter}{number}" for number in range(start, start + n)]


def points(n: int) -> list[str]:
    """Names of the coordinates of n points: x1, y1, x2, ..."""
    return [f"{axis}{number}" for number in range(1, n + 1) for axis in "xy"]


BANDS = numbered("b", 9)
FEATURE_NAMES = {
    "wine": [
        "alcohol",
        "malic_acid",
        "ash",
        "alcalinity_of_ash",
        "magnesium",
        "total_phenols",
        "flavanoids",
        "nonflavanoid_phenols",
        "proanthocyanins",
        "color_intensity",
        "hue",
        "od280_od315_of_diluted_wines",
        "proline",
    ],
    "iris": ["sepal_length", "sepal_width", "petal_length", "petal_width"],
    "vowel": numbered("x", 10),
    "satellite": numbered("x", 36),
    "image_seg": [
        "region_centroid_col",
        "region_centroid_row",
        "region_pixel_count",
        "short_line_density_5",
        "short_line_density_2",
        "vedge_mean",
        "vedge_sd",
        "hedge_mean",
        "hedge_sd",
        "intensity_mean",
        "rawred_mean",
        "rawblue_mean",
        "rawgreen_mean",
        "exred_mean",
        "exblue_mean",
        "exgreen_mean",
        "value_mean",
        "saturation_mean",
        "hue_mean",
    ],
    "opt_digits": numbered("p", 64, start=0),
    "pen_digits": points(8),
    "texture": numbered("a", 40),
    "libras": points(45),
    "forest": [*BANDS, *(f"pred_minus_obs_{tree}_{band}" for tree in "HS" for band in BANDS)],
    "yeast": numbered("V", 72),
    "glass": ["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"],
    "dermatology": [*numbered("f", 33), "age"],
    "seeds": [
        "area",
        "perimeter",
        "compactness",
        "kernel_length",
        "kernel_width",
        "asymmetry",
        "groove_length",
    ],
    "mf_digits": numbered("fac", 216),
}
