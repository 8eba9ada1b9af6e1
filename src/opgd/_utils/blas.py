"""Limit BLAS to one thread during a fit or a prediction, and restore the setting afterwards."""

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

_PINNED = threading.Lock()
"""Held by the call that limits BLAS to one thread."""


@functools.cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, which is faster for small blocks and leaves cores to our threads.

    The limit applies to the whole process, so only one call at a time sets and restores it, in the
    same thread (threadpoolctl 3.8 and later ignores a restore from another thread). Nested calls,
    and concurrent calls in other threads, change nothing; a concurrent call that lasts longer goes
    on without a limit, which affects only its speed.
    """
    if not _PINNED.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        _PINNED.release()
