"""scikit-learn's callback protocol (1.9 and later); older versions go without.

The protocol is young, so everything that touches it is in this module.
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
        """Nothing to support."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """The method, one call deep as with callbacks: warnings count calls."""

        @functools.wraps(method)
        def unwatched(self: Any, *args: Any, **kwargs: Any) -> Any:
            return method(self, *args, **kwargs)

        return unwatched


class FitProgress:
    """Tells an estimator's callbacks of the iterations of its fit.

    Iterations are reported where they end; the next one begins there, so the last to begin is one
    that never ran, and `finish` ends it.

    Parameters
    ----------
    estimator : the estimator being fitted
    data : what callbacks may ask for: X, y, metadata
    describe : from directions to the fitted attributes of an estimator that stopped there
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
        """Whether anybody listens."""
        return self.root is not None and bool(getattr(self.estimator, "_skl_callbacks", []))

    def begin(self, directions: Any) -> None:
        """The next iteration begins at `directions`."""
        self.iteration = self.root.subcontext(task_name="iteration")
        self.iteration.call_on_fit_task_begin(**self._state(directions))

    def step(self, directions: Any) -> None:
        """An iteration ended at `directions`; raises StopIteration when a callback asks for it."""
        if not self.wanted:
            return
        if self.stopped:  # what follows the search that was stopped is not to be done either
            raise StopIteration
        if self.iteration is None:
            self.begin(directions)
        stop = self.iteration.call_on_fit_task_end(**self._state(directions))
        self.begin(directions)
        if stop:
            self.stopped = True
            raise StopIteration

    def reporter(self, verbose: int, total_weight: float, what: str) -> Callable[..., None]:
        """A function that prints every so often how a search goes, and tells the callbacks."""
        counts: Counter[str] = Counter()

        def report(search: str, directions: Any, value: float) -> None:
            counts[search] += 1
            count = counts[search]
            if verbose and count % verbose == 0:
                print(f"{search}, iteration {count}: {what} {value * total_weight:.6g}")
            self.step(directions)

        return report

    def finish(self, attributes: dict[str, Any]) -> None:
        """The fit ended with these fitted attributes."""
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
    """Tells an estimator's callbacks of independent tasks as they are done."""

    def __init__(self, estimator: Any, data: dict[str, Any], n_tasks: int) -> None:
        self.state = {"estimator": estimator, **data}
        self.root: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self.root = estimator._init_callback_context(max_subtasks=n_tasks)
            self.root.call_on_fit_task_begin(**self.state)

    def step(self) -> None:
        """One more task is done."""
        if self.root is not None:
            task = self.root.subcontext(task_name="path")
            task.call_on_fit_task_begin(**self.state)
            task.call_on_fit_task_end(**self.state)

    def finish(self, attributes: dict[str, Any]) -> None:
        """The last task is done, and the fit ended with these fitted attributes."""
        self.step()
        if self.root is not None:
            self.root.call_on_fit_task_end(**self.state, reconstruction_attributes=attributes)
