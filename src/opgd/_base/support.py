"""Mixin for estimators whose components may use some of the features only."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from opgd.core.types import AnyArray, FloatArray


class SupportMixin:
    """Mixin for estimators with components, which tells the features that these use."""

    components_: FloatArray

    @property
    def support_(self) -> AnyArray:
        """Whether each feature is used by a component, an array of shape (n_features,)."""
        check_is_fitted(self)
        return np.any(self.components_ != 0, axis=0)

    def get_support(self, indices: bool = False) -> AnyArray:
        """Return the features that the components use, as the selectors of scikit-learn do.

        Parameters
        ----------
        indices : bool, default=False
            Whether to return indices instead of a mask.

        Returns
        -------
        support : ndarray of shape (n_features,) or (n_used,)
            Mask, or indices if `indices` is true.
        """
        return np.flatnonzero(self.support_) if indices else self.support_
