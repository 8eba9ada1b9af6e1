"""Flexible discriminant analysis: LDA on basis functions, by optimal scoring."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from opgd._dask.lazy import match_input_type
from opgd._utils.blas import one_blas_thread
from opgd._utils.validation import check_choice, check_integer, check_positive
from opgd.baselines._basis_functions import BASES, Basis, distinct_quantiles
from opgd.baselines._optimal_scores import compute_optimal_scores
from opgd.baselines._posterior import (
    LabeledSamples,
    PosteriorClassifier,
    clip_scores,
    feature_moments,
    standardize,
)
from opgd.core.types import AnyArray, FloatArray

MAX_EXPLAINED = 1 - 1e-6
"""Upper bound of explained shares; fully explained scores have no variance within classes."""
MIN_EXPLAINED = 1e-12


class FlexibleDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, PosteriorClassifier
):
    r"""Flexible discriminant analysis: LDA on basis functions, by optimal scoring.

    Each class is assigned a score :math:`\theta_{lk}` on component :math:`l`, such that a ridge
    regression :math:`\eta_l` on basis functions of the features explains the scores best:

    .. math::

        \min_{\theta_l, \eta_l} \frac{1}{n} \sum_i (\theta_{l y_i} - \eta_l(x_i))^2
        + \rho \lVert \beta_l \rVert^2
        \quad \text{subject to} \quad
        \frac{1}{n} \sum_i \theta_{l y_i} = 0, \quad
        \frac{1}{n} \sum_i \theta_{l y_i} \theta_{m y_i} = \delta_{lm},

    where :math:`\beta_l` are the coefficients of :math:`\eta_l` and :math:`\rho` is `ridge`. With
    :math:`r_l^2` the explained share, the components are

    .. math::

        u_l(x) = \frac{\eta_l(x)}{\sqrt{r_l^2 (1 - r_l^2)}},

    on which the pooled within-class variance plus the penalty,
    :math:`\rho \lVert \beta_l \rVert^2` of the scaled coefficients, is 1: without a ridge the
    variance is 1, with one it is smaller. Samples are assigned to the nearest class mean, adjusted
    for the priors. With ``basis="linear"`` and ``ridge=0`` this is LDA, and with a ridge it is LDA
    of the basis functions with :math:`\Sigma_W + \rho I` as covariance. The references allow any
    regression method, in particular adaptive ones that select their basis functions; here the basis
    is fixed and penalized by a ridge.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, at most ``n_classes - 1``. None means all.
    basis : {"spline", "polynomial", "linear"}, default="spline"
        Basis functions: splines of each feature, products of features up to `degree`, or the
        features themselves. Use "polynomial" if interactions matter and features are few.
    degree : int, default=3
        Degree of the splines or polynomials.
    n_knots : int, default=5
        Number of knots of each spline, at quantiles of the distinct values of the feature.
    ridge : float, default=0.1
        Penalty on the coefficients of standardized basis functions, per sample. Increase it when
        basis functions are many compared with the samples.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.

    Attributes
    ----------
    n_components_ : int
        Number of components.
    explained_ : ndarray of shape (n_components_,)
        Explained shares :math:`r_l^2`, in descending order.
    coefficients_ : ndarray of shape (n_components_, n_functions)
        Coefficients of the components on the standardized basis functions.
    projected_means_ : ndarray of shape (n_classes, n_components_)
        Class means on the components.
    classes_, priors_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Hastie, Tibshirani & Buja, "Flexible Discriminant Analysis by Optimal Scoring", JASA 1994;
    Hastie, Tibshirani & Friedman, "The Elements of Statistical Learning", Sections 12.5 and 12.6.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd.baselines import FlexibleDiscriminantAnalysis
    >>> X, y = load_wine(return_X_y=True)
    >>> FlexibleDiscriminantAnalysis(n_components=2).fit(X, y).transform(X).shape
    (178, 2)
    """

    _center: FloatArray
    _scale: FloatArray
    _basis: Basis
    _function_center: FloatArray
    _function_scale: FloatArray
    coefficients_: FloatArray
    projected_means_: FloatArray

    def __init__(
        self,
        n_components: int | None = None,
        *,
        basis: str = "spline",
        degree: int = 3,
        n_knots: int = 5,
        ridge: float = 0.1,
        priors: Any = None,
    ) -> None:
        self.n_components = n_components
        self.basis = basis
        self.degree = degree
        self.n_knots = n_knots
        self.ridge = ridge
        self.priors = priors

    @match_input_type
    def transform(self, X: Any) -> FloatArray:
        """Project samples on the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
        """
        check: Any = self._check_rows
        X = check(X)
        with one_blas_thread():
            return self._scores(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.coefficients_)

    def _check_parameters(self) -> None:
        check_choice("basis", self.basis, BASES)
        check_integer("degree", self.degree, 1)
        check_integer("n_knots", self.n_knots, 2)
        check_positive("ridge", self.ridge, or_zero=True)
        if self.n_components is not None:
            check_integer("n_components", self.n_components, 1)

    def _fit_densities(self, samples: LabeledSamples) -> dict[str, Any]:
        maximum = samples.n_classes - 1
        if maximum == 0:
            raise ValueError("y has only one class; flexible discriminants need at least two.")
        if self.n_components is not None and self.n_components > maximum:
            raise ValueError(
                f"n_components={self.n_components} is larger than n_classes - 1 = {maximum}."
            )
        center, scale = feature_moments(samples.X, samples.weights)
        Z = standardize(samples.X, center, scale)
        splines = self.basis == "spline"
        knots = distinct_quantiles(Z, self.n_knots) if splines else np.empty((0, Z.shape[1]))
        basis = Basis(self.basis, int(self.degree), knots)
        functions = basis.expand(Z)
        function_center, function_scale = feature_moments(functions, samples.weights)
        functions = (functions - function_center) / function_scale
        explained, scores, coefficients = compute_optimal_scores(functions, samples, self.ridge)
        n_components = min(
            maximum if self.n_components is None else self.n_components,
            max(1, int(np.sum(explained > MIN_EXPLAINED))),
        )
        explained = np.clip(explained[:n_components], MIN_EXPLAINED, MAX_EXPLAINED)
        deviations = np.sqrt(explained * (1 - explained))  # of eta within classes
        return {
            "explained_": explained,
            "n_components_": n_components,
            "coefficients_": coefficients[:n_components] / deviations[:, None],
            "projected_means_": scores[:, :n_components] * explained / deviations,
            "_center": center,
            "_scale": scale,
            "_basis": basis,
            "_function_center": function_center,
            "_function_scale": function_scale,
        }

    def _scores(self, X: AnyArray) -> FloatArray:
        Z = standardize(X, self._center, self._scale)
        functions = clip_scores(self._basis.expand(Z))
        standard = (functions - self._function_center) / self._function_scale
        return clip_scores(standard @ self.coefficients_.T)

    def _log_densities(self, X: AnyArray) -> FloatArray:
        scores = self._scores(X)
        steps = scores[:, None, :] - self.projected_means_  # (n, K, q)
        logs: FloatArray = -0.5 * np.einsum("nkq,nkq->nk", steps, steps)
        return logs
