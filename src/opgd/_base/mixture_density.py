"""Density of a mixture in all features: log densities of samples, criteria, and new samples."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from opgd._base.gaussian import GaussianModel
from opgd._dask.lazy import compute_eagerly, match_input_type
from opgd._fit.noise import Noise, add_noise
from opgd._utils.blas import one_blas_thread
from opgd._utils.validation import check_integer, check_sample_weight, check_seed
from opgd.core.density import SampleDensity, information_criteria, make_sample_density
from opgd.core.tails import Tails
from opgd.core.types import FloatArray, IntArray


class MixtureDensityMixin(GaussianModel):
    """Methods of a mixture that need its density, with noise if there is any."""

    random_state: Any
    noise_share_: float
    noise_log_density_: float
    noise_scales_: FloatArray
    noise_degrees_: FloatArray

    @property
    def _noise(self) -> Noise | None:
        """Return the noise component, if there is one."""
        if not hasattr(self, "noise_share_"):
            return None
        tails = Tails(self.noise_scales_, self.noise_degrees_)
        return Noise(self.noise_share_, self.noise_log_density_, tails)

    def _density(self) -> SampleDensity:
        check_is_fitted(self)
        return make_sample_density(self._coordinates, self._projection)

    @match_input_type
    def score_samples(self, X: Any) -> FloatArray:
        """Compute the log density of each sample in all features.

        Densities of scores cannot be compared between projections of different dimensions.
        Therefore the projected mixture is combined with a Gaussian, fitted to the training samples,
        for the remaining dimensions given the scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
        """
        X = self._check_rows(X)
        with one_blas_thread():
            log_densities = self._density().log_density(X)
        if self._noise is None:
            return log_densities
        return add_noise(log_densities, self.noise_share_, self.noise_log_density_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Compute the mean log density of the samples; see `score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        mean_log_density : float
        """
        log_density = compute_eagerly(self.score_samples(X))
        weights = check_sample_weight(compute_eagerly(sample_weight), log_density)
        return float(np.average(log_density, weights=weights))

    def aic(self, X: Any) -> float:
        r"""Compute the Akaike information criterion; lower is better.

        .. math::

            -2 \sum_i \log f(x_i) + 2 d,

        where :math:`f` is the density of `score_samples` and :math:`d` its number of parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        aic : float
        """
        return self._criterion("aic", X)

    def bic(self, X: Any) -> float:
        r"""Compute the Bayesian information criterion; lower is better.

        .. math::

            -2 \sum_i \log f(x_i) + d \log n,

        where :math:`f` is the density of `score_samples` and :math:`d` its number of parameters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        bic : float
        """
        return self._criterion("bic", X)

    def icl(self, X: Any) -> float:
        r"""Compute the integrated completed likelihood criterion; lower is better.

        It is `bic` plus a penalty for samples whose cluster is uncertain,

        .. math::

            -2 \sum_i \log \max_k p_{ik},

        where :math:`p_{ik}` are the probabilities of the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        icl : float
        """
        return self._criterion("icl", X)

    def _criterion(self, name: str, X: Any) -> float:
        log_density = compute_eagerly(self.score_samples(X))
        certainty = 0.0
        if name == "icl":
            certainty = np.log(compute_eagerly(self.predict_proba(X)).max(axis=1)).sum()
        n_parameters = self._density().n_parameters + (self._noise is not None)
        sizes = n_parameters, len(log_density)
        criteria = information_criteria(log_density.sum(), *sizes, certainty)
        return float(criteria[name])

    def sample(self, n_samples: int = 1) -> tuple[FloatArray, IntArray]:
        """Draw samples of the clusters, without noise, from the density of `score_samples`.

        Parameters
        ----------
        n_samples : int, default=1
            Number of samples to draw.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
            Cluster from which each sample was drawn.
        """
        density = self._density()
        rng, weights = check_seed(self.random_state), np.exp(density.gaussians.log_priors)
        counts = rng.multinomial(check_integer("n_samples", n_samples, 1), weights / weights.sum())
        return density.draw(counts, rng), np.repeat(self.gaussian_classes_, counts)
