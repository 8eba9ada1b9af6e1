"""BLAS on one thread while ours share the rows."""

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


class _OneBlasThread:
    """The limit is one for the process, so fits that overlap in time share it.

    The first to come sets it and the last to go lifts it; had each its own, the first to go would
    lift it for the others, and the last put back what it found: one thread, for good.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._limit = _blas().limit(limits=1, user_api="blas")
                self._limit.__enter__()

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.__exit__(None, None, None)


@functools.cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


_ONE_BLAS_THREAD = _OneBlasThread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread: its threads fight over blocks this small, ours share the rows."""
    _ONE_BLAS_THREAD.enter()
    try:
        yield
    finally:
        _ONE_BLAS_THREAD.leave()
