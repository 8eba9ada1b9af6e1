"""Mixins for estimators whose components may use some of the features only."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from opgd._dask.lazy import compute_eagerly
from opgd._fit.stable_features import SelectionFrequencies, count_selections
from opgd._utils.blas import one_blas_thread
from opgd._utils.labels import encode_labels, to_label_array
from opgd._utils.validation import check_integer, check_sample_weight, check_seed
from opgd._utils.warnings import DataWarning, warn_caller
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


class StableSupportMixin(SupportMixin):
    """Mixin for classifiers that select features."""

    def selection_frequencies(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        n_resamples: int = 100,
        random_state: Any = None,
    ) -> SelectionFrequencies:
        """Count how often each feature is selected in random halves of the samples.

        As many features as the model uses are selected in stratified halves, drawn without
        replacement (Meinshausen & Buehlmann, 2010). A feature that is selected in nearly all of
        them does not owe its place to a few samples. Of correlated features, one or another is
        selected, so that each has a small frequency even if one of them is always needed:
        features with an absolute within-class correlation above 0.8 form groups, and the frequency
        of a group is that of any of its features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, usually those of the fit.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. Samples of weight 0 are ignored; the others are drawn with equal
            probability, and have their weights in the halves.
        n_resamples : int, default=100
            Number of halves.
        random_state : int, RandomState instance or None, default=None
            Seed of the halves.

        Returns
        -------
        frequencies : SelectionFrequencies
            Its `table` has the most frequent features first.
        """
        check_is_fitted(self)
        check_integer("n_resamples", n_resamples, 1)
        rng = check_seed(random_state)
        estimator: Any = self
        X = estimator._check_rows(compute_eagerly(X))
        y = to_label_array(compute_eagerly(y))
        check_consistent_length(X, y)
        weights = check_sample_weight(compute_eagerly(sample_weight), X)
        classes, codes = encode_labels(y, np.ones(len(X), dtype=bool))
        if weights is not None:
            present = weights > 0
            X, weights = X[present], weights[present]
            kept, codes = np.unique(codes[present], return_inverse=True)
            classes = classes[kept]
        if len(classes) < 2:
            raise ValueError(f"y has only one class ({classes.tolist()[0]!r}).")
        if self.support_.all():
            warn_caller(
                "The model uses all features, so that all of them are selected in all halves; set "
                "sparsity to select fewer.",
                DataWarning,
            )
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])])
        with one_blas_thread():
            return count_selections(
                X,
                codes,
                weights,
                int(self.support_.sum()),
                int(n_resamples),
                rng,
                [str(name) for name in names],
            )
