"""The limit on BLAS threads is never left behind, in any generation of threadpoolctl."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from opgd._utils.blas import one_blas_thread


def count_blas_threads():
    libraries = threadpool_info()
    return [library["num_threads"] for library in libraries if library["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_blas_threads():
    with threadpool_limits(2, user_api="blas"):
        if set(count_blas_threads()) != {2}:
            pytest.skip("BLAS cannot use two threads here")
    # a limit that is not held by this thread, so that others may change it
    original = threadpool_limits(2, user_api="blas")
    yield
    original.restore_original_limits()


def test_blas_is_limited_inside_and_restored_outside():
    with one_blas_thread():
        assert set(count_blas_threads()) == {1}
        with one_blas_thread():
            assert set(count_blas_threads()) == {1}
        assert set(count_blas_threads()) == {1}
    assert set(count_blas_threads()) == {2}


@pytest.mark.parametrize("first_to_leave", [0, 1])
def test_limits_that_overlap_in_two_threads_are_lifted(first_to_leave):
    entered = [threading.Event(), threading.Event()]
    leave = [threading.Event(), threading.Event()]

    def hold(number):
        with one_blas_thread():
            entered[number].set()
            assert leave[number].wait(timeout=60)

    threads = [threading.Thread(target=hold, args=(number,)) for number in (0, 1)]
    for number, thread in enumerate(threads):
        thread.start()
        assert entered[number].wait(timeout=60)
    for number in (first_to_leave, 1 - first_to_leave):
        leave[number].set()
        threads[number].join()
    assert set(count_blas_threads()) == {2}
    test_blas_is_limited_inside_and_restored_outside()


def test_an_error_inside_lifts_the_limit():
    with pytest.raises(KeyboardInterrupt), one_blas_thread():
        raise KeyboardInterrupt
    assert set(count_blas_threads()) == {2}
