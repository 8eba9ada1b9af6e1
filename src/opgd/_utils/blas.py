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


def _count_threads() -> list[int]:
    return [library.num_threads for library in _blas().lib_controllers]


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
    before: list[int] = []
    try:
        before = _count_threads()
        with _blas().limit(limits=1):
            yield
    finally:
        try:
            # an interrupt between setting the limit and entering its context leaves it set
            for library, number in zip(_blas().lib_controllers, before, strict=False):
                if library.num_threads != number:
                    _blas().limit(limits={library.prefix: number})
        finally:
            _PINNED.release()
