"""Data sets from OpenML, through scikit-learn."""

import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from opgd.datasets._catalogue import DatasetInfo
from opgd.datasets._errors import DatasetUnavailableError
from opgd.datasets._tables import Table

PATIENCE = 30.0  # seconds without an answer


@contextmanager
def default_timeout(seconds: float) -> Iterator[None]:
    """scikit-learn sets none, and where a firewall drops packets one would wait for minutes."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def from_openml(info: DatasetInfo) -> Table:
    """Fetch a data set; the features are the last columns (vowel has others before them)."""
    from sklearn.datasets import fetch_openml  # slow to import, seldom needed

    try:
        with default_timeout(PATIENCE), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its retries; what becomes of them is told below
            # this parser needs no pandas; what is fetched is kept in our own cache
            found = fetch_openml(
                data_id=info.openml_id,
                as_frame=False,
                parser="liac-arff",
                cache=False,
                n_retries=1,
            )
    except Exception as problem:  # whatever a distant server makes of it, there is another source
        kind = type(problem).__name__
        raise DatasetUnavailableError(f"{kind}: {' '.join(str(problem).split())}") from problem
    return Table(
        numbers_of(found)[:, -info.n_features :], np.array([str(own) for own in found.target])
    )


def numbers_of(found: Any) -> Any:
    """The features as numbers: categories that are numbers come as positions in a list of them."""
    numbers = np.array(found.data, dtype=float)
    for column, name in enumerate(found.feature_names):
        try:
            values = np.array([float(value) for value in found.categories.get(name) or ()])
        except ValueError:
            continue  # names, such as vowel's speakers
        known = ~np.isnan(numbers[:, column])
        if len(values):
            numbers[known, column] = values[numbers[known, column].astype(int)]
    return numbers
