"""Mixin for estimators that project samples on components."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from opgd._dask.lazy import support_dask
from opgd._utils.blas import one_blas_thread
from opgd.core.scoring import project_samples
from opgd.core.types import AnyArray, FloatArray


class ProjectionMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin for estimators with components, whose `transform` returns scores."""

    components_: FloatArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @support_dask
    def transform(self, X: Any) -> AnyArray:
        """Compute the scores of samples on the components, ``X @ components_.T``.

        Samples are not centered.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
        """
        X = self._check_rows(X)
        with one_blas_thread(), np.errstate(over="ignore"):  # scores may overflow in float32
            return project_samples(X, self.components_).astype(X.dtype, copy=False)
