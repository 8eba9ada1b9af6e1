"""What every estimator shares: validated samples, and fits that leave nothing half done."""

import functools
from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from opgd._utils.validation import validate_rows
from opgd.core.types import AnyArray


def restore_on_failure(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a fit so that a failure or an interrupt leaves the estimator as it was."""

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.__dict__.copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return guarded


class RowModel(BaseEstimator):
    """An estimator that is fitted to a table and applied to tables with the same features."""

    def _column_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"column {j}" for j in range(self.n_features_in_)]
        return [repr(name) for name in names]

    def _check_rows(self, X: Any) -> AnyArray:
        check_is_fitted(self)
        rows: AnyArray = validate_rows(self, X, reset=False)
        return rows
