"""The fifteen data sets of the paper, identical for all sources."""

from opgd.datasets._catalogue import DatasetInfo, list_datasets
from opgd.datasets._errors import DatasetMismatchError, DatasetUnavailableError
from opgd.datasets._load import load_dataset

__all__ = [
    "DatasetInfo",
    "DatasetMismatchError",
    "DatasetUnavailableError",
    "list_datasets",
    "load_dataset",
]
