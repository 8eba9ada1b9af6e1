"""Estimators with Gaussians on the scores of a projection."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import chdtrc
from sklearn.utils.validation import check_is_fitted

from opgd._base.estimator import RowModel
from opgd._base.posterior import PosteriorMixin
from opgd._base.projection import AxesMixin
from opgd._dask.lazy import rowwise
from opgd._utils.blas import one_blas_thread
from opgd._utils.validation import check_priors
from opgd.core.coordinates import Coordinates
from opgd.core.fitted import FittedProjection
from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_COVARIANCE_CELLS = 2**26


class GaussianModel(RowModel):
    """Gaussians inside a fitted projection (or of whole samples): covariances and distances."""

    _projection: FittedProjection
    _coordinates: Coordinates
    _covariances: FloatArray

    def _store(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Set fitted attributes, those that follow from the projection too; return all of them."""
        attributes = attributes | describe_projection(self, attributes["_projection"])
        self.__dict__.update(attributes)
        return attributes

    @property
    def covariances_(self) -> FloatArray:
        """Covariances of the Gaussians in the space of the columns, (C, p, p).

        Made when asked for: with many columns they are far larger than the model. Directions in
        which the training rows do not differ at all have no variance here, ridge or not.
        """
        check_is_fitted(self)
        shape = (len(self._covariances), *[len(self._coordinates.center)] * 2)
        if np.prod(shape) > MAX_COVARIANCE_CELLS:
            raise AttributeError(f"covariances_ of shape {shape} would be too large to make.")
        raw = [self._coordinates.raw_covariance(covariance) for covariance in self._covariances]
        return np.stack([0.5 * (covariance + covariance.T) for covariance in raw])

    @rowwise
    def typicality(self, X: Any) -> FloatArray:
        """How usual rows are for the Gaussian nearest to them.

        The probability, under that Gaussian, of scores at least as far from its mean
        (Mahalanobis distance inside the projection). Of rows that come from the model, at most a
        share t has a typicality below t (fewer where Gaussians overlap); a row of 1e-6 is far from
        all training data, and its class probabilities are an extrapolation however confident they
        look. Only the components are looked at: what a row does across them is not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        typicality : ndarray of shape (n_samples,)
        """
        X = self._check_rows(X)
        with one_blas_thread():
            nearest = self._projection.squared_distances(X).min(axis=1)
        probability: FloatArray = chdtrc(self._projection.n_components, nearest)
        return probability


class GaussianClassifier(PosteriorMixin, GaussianModel):
    """Gaussians that stand for classes."""

    gaussian_classes_: IntArray

    def _set_temperature(self, temperature: float) -> None:
        """Divide log joints by a temperature in what follows."""
        self._projection = replace(self._projection, temperature=temperature)

    def _class_log_joint(self, X: Any, priors: Any = None) -> FloatArray:
        """Return log(pi_k phi_k) by class, divided by the temperature, (n, K)."""
        X = self._check_rows(X)
        with one_blas_thread():
            by_class = self._projection.class_log_joint(X)
        if priors is not None:
            new = check_priors(priors, self.classes_, self.priors_)
            by_class += np.log(new) - np.log(self.priors_)
        return by_class


def describe_projection(estimator: Any, projection: FittedProjection) -> dict[str, AnyArray | int]:
    """Return the public attributes of an estimator that follow from its projection."""
    attributes: dict[str, AnyArray | int] = {}
    if isinstance(estimator, PosteriorMixin):
        attributes["gaussian_classes_"] = projection.gaussian_classes
    if isinstance(estimator, AxesMixin):
        attributes |= {
            "components_": projection.components,
            "n_components_": projection.n_components,
            "projected_means_": projection.projected_means,
            "projected_variances_": projection.gaussians.variances,
        }
    return attributes
