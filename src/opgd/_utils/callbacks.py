"""Support for scikit-learn's callbacks (1.9 and later); without effect in older versions."""

from collections import Counter
from collections.abc import Callable
from typing import Any

__all__ = ["CallbackSupportMixin", "FitProgress", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Placeholder for scikit-learn versions without callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method."""
        return method


class FitProgress:
    """Report the iterations of a fit to the callbacks of an estimator.

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
        describe: Callable[[Any], Any] = dict,
        max_iterations: int | None = None,
    ) -> None:
        self.data, self.describe = {"estimator": estimator, **data}, describe
        self.root: Any = None
        self.stopped = False
        if hasattr(estimator, "_init_callback_context"):
            self.root = estimator._init_callback_context(max_subtasks=max_iterations)
            self.root.call_on_fit_task_begin(**self.data)

    def step(self, directions: Any) -> None:
        """Report an iteration that ended at `directions`.

        Raise StopIteration if a callback requests it, and in later searches of the same fit.
        """
        self.stopped = self.stopped or self.report(
            "iteration", reconstruction_attributes=lambda: self.describe(directions)
        )
        if self.stopped:
            raise StopIteration

    def report(self, name: str, **attributes: Any) -> bool:
        """Report a completed task; return whether a callback requests to stop."""
        if self.root is None or not getattr(self.data["estimator"], "_skl_callbacks", None):
            return False
        task = self.root.subcontext(task_name=name)
        task.call_on_fit_task_begin(**self.data)
        return bool(task.call_on_fit_task_end(**self.data, **attributes))

    def reporter(self, verbose: int, total_weight: float, what: str) -> Callable[..., None]:
        """Return a function that reports iterations to callbacks, and prints every `verbose`-th."""
        counts: Counter[str] = Counter()

        def report(search: str, directions: Any, value: float) -> None:
            counts[search] += 1
            if verbose and counts[search] % verbose == 0:
                print(f"{search}, iteration {counts[search]}: {what} {value * total_weight:.6g}")
            self.step(directions)

        return report

    def finish(self, attributes: dict[str, Any]) -> None:
        """Report that the fit ended with these fitted attributes."""
        if self.root is not None:
            self.root.call_on_fit_task_end(**self.data, reconstruction_attributes=attributes)
