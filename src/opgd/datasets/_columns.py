"""Feature names of the data sets, independent of the source."""


def number_names(letter: str, n: int, start: int = 1) -> list[str]:
    """Return names such as x1, x2, ..."""
    return [f"{letter}{number}" for number in range(start, start + n)]


def name_points(n: int) -> list[str]:
    """Return names of the coordinates of n points: x1, y1, x2, ..."""
    return [f"{axis}{number}" for number in range(1, n + 1) for axis in "xy"]


BANDS = number_names("b", 9)
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
    "vowel": number_names("x", 10),
    "satellite": number_names("x", 36),
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
    "opt_digits": number_names("p", 64, start=0),
    "pen_digits": name_points(8),
    "texture": number_names("a", 40),
    "libras": name_points(45),
    "forest": [*BANDS, *(f"pred_minus_obs_{tree}_{band}" for tree in "HS" for band in BANDS)],
    "yeast": number_names("V", 72),
    "glass": ["RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"],
    "dermatology": [*number_names("f", 33), "age"],
    "seeds": [
        "area",
        "perimeter",
        "compactness",
        "kernel_length",
        "kernel_width",
        "asymmetry",
        "groove_length",
    ],
    "mf_digits": number_names("fac", 216),
}
