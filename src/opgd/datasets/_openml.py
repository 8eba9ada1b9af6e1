"""Fetch data sets from OpenML with scikit-learn."""

import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from opgd.datasets._answers import bound_answers
from opgd.datasets._catalogue import DatasetInfo
from opgd.datasets._errors import DatasetUnavailableError
from opgd.datasets._tables import Table

TIMEOUT = 30.0  # seconds without a response
MAX_REASON = 200  # characters of a message that quotes the answer


@contextmanager
def default_timeout(seconds: float) -> Iterator[None]:
    """Set the default socket timeout, since fetch_openml has no parameter for it."""
    previous = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(previous)


def fetch_from_openml(info: DatasetInfo) -> Table:
    """Fetch a data set; the features are the last columns, since vowel has other columns first."""
    from sklearn.datasets import fetch_openml  # slow to import and seldom needed

    try:
        with bound_answers(), default_timeout(TIMEOUT), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on retries; a final failure is raised below
            # this parser does not need pandas; the data are cached by load_dataset
            bunch = fetch_openml(
                data_id=info.openml_id,
                as_frame=False,
                parser="liac-arff",
                cache=False,
                n_retries=1,
            )
    except Exception as problem:  # after any failure, the next source is tried
        kind, reason = type(problem).__name__, " ".join(str(problem).split())
        raise DatasetUnavailableError(f"{kind}: {reason[:MAX_REASON]}") from problem
    labels = np.array([str(label) for label in bunch.target])
    return Table(decode_numbers(bunch)[:, -info.n_features :], labels)


def decode_numbers(bunch: Any) -> Any:
    """Return the features as numbers; numeric categories are decoded from their indices."""
    numbers = np.array(bunch.data, dtype=float)
    for column, name in enumerate(bunch.feature_names):
        try:
            values = np.array([float(value) for value in bunch.categories.get(name) or ()])
        except ValueError:
            continue  # text, such as the speakers of vowel
        known = ~np.isnan(numbers[:, column])
        if len(values):
            numbers[known, column] = values[numbers[known, column].astype(int)]
    return numbers
