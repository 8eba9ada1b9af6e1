"""Local Dask cluster, for data that do not fit into one process.

Estimators accept Dask arrays and data frames with any active client or none; see the guide on large
data.
"""

from typing import Any

__all__ = ["local_client"]


def local_client(
    n_workers: int = 2, *, memory_limit: str | int | None = "auto", **options: Any
) -> Any:
    """Start a Dask cluster on this machine and return its client.

    The scheduler listens on 127.0.0.1 only, so other machines cannot connect to it.

    Parameters
    ----------
    n_workers : int, default=2
        Number of worker processes. Each uses one thread, because matrix products within a block are
        computed by a single thread.
    memory_limit : str or int, default="auto"
        Memory limit of each worker, as in `distributed.LocalCluster`.
    **options
        Further arguments of `distributed.LocalCluster`.

    Returns
    -------
    client : distributed.Client
        Close it, or use it in a ``with`` statement; this also stops the workers.

    Examples
    --------
    >>> from opgd.dask import local_client
    >>> with local_client(2) as client:  # doctest: +SKIP
    ...     OPGDClassifier().fit(X, y)
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            'local_client needs the package distributed: pip install "opgd[dask]".'
        ) from error
    settings = {"host": "127.0.0.1", "threads_per_worker": 1, "dashboard_address": None}
    return Client(n_workers=n_workers, memory_limit=memory_limit, **(settings | options))
