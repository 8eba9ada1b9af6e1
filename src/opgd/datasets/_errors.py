"""What can go wrong with data that come from elsewhere."""


class DatasetUnavailableError(OSError):
    """A data set is not on this machine and cannot be fetched; says what to put where."""


class DatasetMismatchError(ValueError):
    """A table was found, and it is not the paper's; says what differs."""
