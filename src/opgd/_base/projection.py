"""Mixin for estimators that project samples on components."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from opgd._dask.lazy import match_input_type
from opgd._utils.blas import one_blas_thread
from opgd.core.fitted import FittedProjection
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

    @match_input_type
    def transform(self, X: Any) -> AnyArray:
        """Compute the scores of samples on the components, ``X @ components_.T``.

        Samples are not centered. For samples with missing values (nan), where the estimator
        supports them, scores are conditional means given the observed values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
        """
        X = self._check_rows(X)
        with one_blas_thread(), np.errstate(over="ignore"):  # scores may overflow in float32
            return self._scores(X).astype(X.dtype, copy=False)

    def _scores(self, X: AnyArray) -> FloatArray:
        """Return the scores of validated samples in float64."""
        projection: FittedProjection | None = getattr(self, "_projection", None)
        if projection is None:
            return project_samples(X, self.components_)
        return projection.scores(X)
