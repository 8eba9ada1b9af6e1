"""Base classes of estimators with Gaussians in a projection."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import chdtrc
from sklearn.utils.validation import check_is_fitted

from opgd._base.estimator import BaseModel
from opgd._base.posterior import PosteriorMixin
from opgd._base.projection import ProjectionMixin
from opgd._base.shift import Drift, measure_drift
from opgd._dask.lazy import compute_eagerly, match_input_type
from opgd._utils.blas import one_blas_thread
from opgd.core.coordinates import Coordinates
from opgd.core.fitted import FittedProjection, mix_background
from opgd.core.marginal import make_completion
from opgd.core.types import AnyArray, FloatArray, IntArray

MAX_COVARIANCE_CELLS = 2**26


class GaussianModel(BaseModel):
    """Estimator with Gaussians in a fitted projection, or in the space of all features."""

    _projection: FittedProjection
    _coordinates: Coordinates
    _covariances: FloatArray

    def _store(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Set fitted attributes and those derived from the projection; return all of them."""
        if attributes["_projection"].completion is None:
            attributes = attributes | {"_projection": complete_projection(**attributes)}
        attributes = attributes | describe_projection(self, attributes["_projection"])
        self.__dict__.update(attributes)
        return attributes

    @property
    def covariances_(self) -> FloatArray:
        """Covariances of the Gaussians in the space of the features.

        An array of shape (n_gaussians, n_features, n_features). It is computed on access, since
        it needs far more memory than the model if there are many features. Directions in which the
        training samples do not vary have variance 0, whatever the ridge.
        """
        check_is_fitted(self)
        shape = (len(self._covariances), *[len(self._coordinates.center)] * 2)
        if np.prod(shape) > MAX_COVARIANCE_CELLS:
            raise AttributeError(f"covariances_ of shape {shape} would be too large to compute.")
        raw = [self._coordinates.raw_covariance(covariance) for covariance in self._covariances]
        return np.stack([0.5 * (covariance + covariance.T) for covariance in raw])

    @match_input_type
    def typicality(self, X: Any) -> FloatArray:
        r"""Compute how typical samples are of the Gaussian nearest to them.

        The typicality of a sample with scores :math:`z` is the probability that scores drawn from
        the nearest Gaussian lie at least as far from its mean as :math:`z`. Distances are
        Mahalanobis distances:

        .. math::

            \min_c (z - m_c)^\top S_c^{-1} (z - m_c) = d^2, \qquad
            \text{typicality} = P(\chi^2_q \ge d^2)

        where :math:`m_c` and :math:`S_c` are the mean and covariance of Gaussian :math:`c` on the
        :math:`q` components. At most a fraction :math:`t` of samples drawn from the model have a
        typicality below :math:`t` (fewer if the Gaussians overlap). A sample with a typicality of
        1e-6 is far from all training samples, so its predicted probabilities are an extrapolation.

        The formula assumes that the model describes new samples as well as training samples. It
        does not if the components overfit, as they do with fewer than about ten training samples
        per feature, or if classes are not Gaussian: many new samples then have a small typicality.
        `OPGDClassifierCV`, and classifiers after `conformalize`, rank the distance among those of
        held-out samples instead. With :math:`n` held-out samples at distances :math:`d_i`,

        .. math::

            \text{typicality} = \frac{1 + \#\{i : d_i \ge d\}}{n + 1},

        so that at most a fraction :math:`t` of new samples like these have a typicality of at most
        :math:`t`, whatever their distribution. Beyond the largest :math:`d_i` it decreases further
        like the tail of a scaled :math:`\chi^2_q`. The distances of `OPGDClassifierCV` come from
        models with fewer samples and are scaled down for this, so that its statement is
        approximate.

        Typicality depends only on the scores; deviations orthogonal to the components are not
        detected. For samples with missing values, the distance is that of the observed values, and
        :math:`q` is the number of dimensions in which they determine the scores; among held-out
        samples, the distance with the same :math:`\chi^2` tail probability on all components is
        ranked.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        typicality : ndarray of shape (n_samples,)
            Values from 0 to 1.
        """
        nearest = self._nearest_distances(X)
        held_out = getattr(self, "_held_out", None)
        if held_out is not None and held_out.distances is not None:
            return held_out.typicality(nearest, self._projection.n_components)
        probability: FloatArray = chdtrc(self._projection.n_components, nearest)
        return probability

    def _nearest_distances(self, X: Any) -> FloatArray:
        """Return squared Mahalanobis distances to the nearest Gaussian, (n,)."""
        X = self._check_rows(X)
        with one_blas_thread():
            return self._projection.nearest_distances(X)


class GaussianClassifier(PosteriorMixin, GaussianModel):
    """Classifier with one or more Gaussians per class."""

    gaussian_classes_: IntArray

    def _set_calibration(self, temperature: float, background: float) -> None:
        """Set the divisor of the log joints, and the share of the priors in the posteriors."""
        self._projection = replace(self._projection, temperature=temperature, background=background)

    def drift(self, X: Any) -> Drift:
        """Measure how new samples differ from the model.

        Class shares of the new samples are estimated first (see `estimate_priors`), so that a
        change of the shares alone does not count as a change of features or components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples; some hundreds, not one.

        Returns
        -------
        drift : Drift
            Tables of `features`, `components` and `classes` with the shifts of their means.
            `opgd.plotting.DriftDisplay` draws them.
        """
        check_is_fitted(self)
        return measure_drift(self, compute_eagerly(X))

    def _class_log_joint(self, X: Any, priors: Any = None) -> FloatArray:
        """Return log(pi_k phi_k) of the classes, divided by the temperature, (n, K).

        With a background, these are the log posteriors that contain it. Given priors replace those
        of the fit by Bayes' rule, also in the background.
        """
        by_class = self._density_log_joint(X)
        if self._projection.background > 0:
            by_class = mix_background(by_class, self._projection.background, self.priors_)
        by_class += self._log_prior_ratios(priors)
        return by_class

    def _density_log_joint(self, X: Any) -> FloatArray:
        X = self._check_rows(X)
        with one_blas_thread():
            return self._projection.class_log_joint(X)


def complete_projection(
    _projection: FittedProjection,
    _coordinates: Coordinates,
    _covariances: FloatArray,
    means_: FloatArray,
    priors_: FloatArray | None = None,
    weights_: FloatArray | None = None,
    **_: Any,
) -> FittedProjection:
    """Return the projection with what samples with missing values need, from other attributes."""
    shares = weights_ if priors_ is None else priors_
    assert shares is not None
    completion = make_completion(
        _coordinates,
        shares,
        _projection.gaussian_classes,
        _projection.gaussians.log_priors,
        means_,
        _covariances,
    )
    return replace(_projection, completion=completion)


def describe_projection(estimator: Any, projection: FittedProjection) -> dict[str, AnyArray | int]:
    """Return the public attributes of an estimator that are derived from its projection."""
    attributes: dict[str, AnyArray | int] = {}
    if isinstance(estimator, PosteriorMixin):
        attributes["gaussian_classes_"] = projection.gaussian_classes
    if isinstance(estimator, ProjectionMixin):
        attributes |= {
            "components_": projection.components,
            "n_components_": projection.n_components,
            "projected_means_": projection.projected_means,
            "projected_variances_": projection.gaussians.variances,
        }
    return attributes
