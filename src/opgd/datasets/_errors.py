"""Exceptions of `load_dataset`."""


class DatasetUnavailableError(OSError):
    """Raised if a data set is neither available locally nor can be fetched."""


class DatasetMismatchError(ValueError):
    """Raised if a table differs from the data of the paper."""
