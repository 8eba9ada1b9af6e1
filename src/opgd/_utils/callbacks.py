"""Support for scikit-learn's callbacks (1.9 and later); without effect in older versions.

The callback API is new and may change, so that all uses of it are in this module.
"""

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

__all__ = ["CallbackSupportMixin", "FitProgress", "TaskProgress", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Placeholder for scikit-learn versions without callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap the method, so that the call stack has the same depth as with callbacks."""

        @functools.wraps(method)
        def call_method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return method(self, *args, **kwargs)

        return call_method


class FitProgress:
    """Report the iterations of a fit to the callbacks of an estimator.

    The solver reports ends of iterations only, and each end is also reported as the begin of the
    next iteration. The last iteration begun therefore never runs; `finish` ends it.

    Parameters
    ----------
    estimator : the estimator being fitted
    data : keyword arguments that are passed to callbacks: X, y, metadata
    describe : function from directions to the fitted attributes of an estimator with them
    max_iterations : maximum number of iterations of the fit
    """

    def __init__(
        self,
        estimator: Any,
        data: dict[str, Any],
        describe: Callable[[Any], dict[str, Any]],
        max_iterations: int,
    ) -> None:
        self.estimator, self.data, self.describe = estimator, data, describe
        self.root: Any = None
        self.iteration: Any = None
        self.stopped = False
        if hasattr(estimator, "_init_callback_context"):
            self.root = estimator._init_callback_context(max_subtasks=max_iterations + 1)
            self.root.call_on_fit_task_begin(estimator=estimator, **data)

    @property
    def wanted(self) -> bool:
        """Return whether the estimator has callbacks."""
        return self.root is not None and bool(getattr(self.estimator, "_skl_callbacks", []))

    def begin(self, directions: Any) -> None:
        """Report that the next iteration begins at `directions`."""
        self.iteration = self.root.subcontext(task_name="iteration")
        self.iteration.call_on_fit_task_begin(**self._state(directions))

    def step(self, directions: Any) -> None:
        """Report that an iteration ended at `directions`.

        Raise StopIteration if a callback requests it.
        """
        if not self.wanted:
            return
        if self.stopped:  # a callback has stopped an earlier search; skip the remaining ones
            raise StopIteration
        if self.iteration is None:
            self.begin(directions)
        stop = self.iteration.call_on_fit_task_end(**self._state(directions))
        self.begin(directions)
        if stop:
            self.stopped = True
            raise StopIteration

    def reporter(self, verbose: int, total_weight: float, what: str) -> Callable[..., None]:
        """Return a function that reports iterations to callbacks, and prints every `verbose`-th."""
        counts: Counter[str] = Counter()

        def report(search: str, directions: Any, value: float) -> None:
            counts[search] += 1
            count = counts[search]
            if verbose and count % verbose == 0:
                print(f"{search}, iteration {count}: {what} {value * total_weight:.6g}")
            self.step(directions)

        return report

    def finish(self, attributes: dict[str, Any]) -> None:
        """Report that the fit ended with these fitted attributes."""
        if self.root is None:
            return
        state = {"estimator": self.estimator, **self.data, "reconstruction_attributes": attributes}
        if self.iteration is not None:
            self.iteration.call_on_fit_task_end(**state)
        self.root.call_on_fit_task_end(**state)

    def _state(self, directions: Any) -> dict[str, Any]:
        return {
            "estimator": self.estimator,
            **self.data,
            "reconstruction_attributes": lambda: self.describe(directions),
        }


class TaskProgress:
    """Report completed independent tasks to the callbacks of an estimator."""

    def __init__(self, estimator: Any, data: dict[str, Any], n_tasks: int | None) -> None:
        self.state = {"estimator": estimator, **data}
        self.root: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self.root = estimator._init_callback_context(max_subtasks=n_tasks)
            self.root.call_on_fit_task_begin(**self.state)

    def step(self) -> None:
        """Report a completed task."""
        if self.root is not None:
            task = self.root.subcontext(task_name="path")
            task.call_on_fit_task_begin(**self.state)
            task.call_on_fit_task_end(**self.state)

    def finish(self, attributes: dict[str, Any]) -> None:
        """Report the last task, and the end of the fit with these fitted attributes."""
        self.step()
        if self.root is not None:
            self.root.call_on_fit_task_end(**self.state, reconstruction_attributes=attributes)
