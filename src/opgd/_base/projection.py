"""Scores on the components of an estimator."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from opgd._dask.lazy import rowwise
from opgd._utils.blas import one_blas_thread
from opgd.core.scoring import project_samples
from opgd.core.types import AnyArray, FloatArray


class AxesMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Scores on the components of a model that has some."""

    components_: FloatArray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    @rowwise
    def transform(self, X: Any) -> AnyArray:
        """Scores on the components, ``X @ components_.T``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
        """
        X = self._check_rows(X)
        with one_blas_thread(), np.errstate(over="ignore"):  # a score may be beyond float32
            return project_samples(X, self.components_).astype(X.dtype, copy=False)
