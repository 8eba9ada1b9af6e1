"""BLAS on one thread during a fit or a prediction, without lasting effects on the process."""

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

_PINNED = threading.Lock()
"""Held by the call that has pinned BLAS."""


@functools.cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def _count_threads() -> list[int]:
    return [library.num_threads for library in _blas().lib_controllers]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: its threads fight over small blocks, and ours share the samples.

    The limit belongs to the process, so one call at a time sets it and restores it, in the same
    thread (threadpoolctl ignores a restore from another one since 3.8). Calls inside it, or in
    other threads at the same time, change nothing; those that outlast it go on without a limit,
    which costs them time only.
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
            # an interrupt may have come after the limit was set and before it was entered
            for library, number in zip(_blas().lib_controllers, before, strict=False):
                if library.num_threads != number:
                    _blas().limit(limits={library.prefix: number})
        finally:
            _PINNED.release()
