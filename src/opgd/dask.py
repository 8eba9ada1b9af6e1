"""A cluster of one's own machine, for rows that are too many for one process.

Estimators take Dask arrays and data frames with any client that is active, or none; see the guide
on large data.
"""

from typing import Any

__all__ = ["local_client"]


def local_client(
    n_workers: int = 2, *, memory_limit: str | int | None = "auto", **options: Any
) -> Any:
    """Start workers on this machine, which only this machine can reach, and use them.

    Parameters
    ----------
    n_workers : int, default=2
        Processes, of one thread each: the products of a pass run on one thread.
    memory_limit : str or int, default="auto"
        Of each worker, as in `distributed.LocalCluster`.
    **options
        For `distributed.LocalCluster`.

    Returns
    -------
    client : distributed.Client
        To be closed, or used in a ``with`` statement; the workers end with it.

    Examples
    --------
    >>> from opgd.dask import local_client
    >>> with local_client(2) as client:  # doctest: +SKIP
    ...     OPGDClassifier().fit(X, y)
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError('A cluster needs distributed: pip install "opgd[dask]".') from error
    settings = {"host": "127.0.0.1", "threads_per_worker": 1, "dashboard_address": None}
    return Client(n_workers=n_workers, memory_limit=memory_limit, **(settings | options))
