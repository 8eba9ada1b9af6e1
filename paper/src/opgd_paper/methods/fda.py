"""Flexible discriminant analysis: LDA on basis functions, by optimal scoring."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from opgd_paper.methods._base import DensityClassifier, FloatArray, IntArray
from opgd_paper.methods._support import leading_vectors, one_hot

MAX_EXPLAINED = 1 - 1e-6
"""Upper bound of explained shares; fully explained scores have no variance within classes."""
MIN_EXPLAINED = 1e-12


class FlexibleDiscriminantAnalysis(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, DensityClassifier
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
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        Class prior probabilities. None means the class frequencies.

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
    >>> from opgd_paper.methods import FlexibleDiscriminantAnalysis
    >>> X, y = load_wine(return_X_y=True)
    >>> FlexibleDiscriminantAnalysis(n_components=2).fit(X, y).transform(X).shape
    (178, 2)
    """

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

    def transform(self, X: Any) -> FloatArray:
        """Compute the scores of samples on the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        return self._scores(validate_data(self, X, dtype=np.float64, reset=False))

    @property
    def _n_features_out(self) -> int:
        return len(self.coefficients_)

    def _fit_densities(self, X: FloatArray, codes: IntArray) -> None:
        n, maximum = len(X), len(self.classes_) - 1
        if maximum == 0:
            raise ValueError("y has only one class; flexible discriminants need at least two.")
        n_components = maximum if self.n_components is None else self.n_components
        if not 1 <= n_components <= maximum:
            raise ValueError(f"n_components must be from 1 to {maximum}, got {n_components}.")
        Z = StandardScaler().fit_transform(X)
        self._functions = make_pipeline(StandardScaler(), self._make_basis(Z), StandardScaler())
        functions = self._functions.fit_transform(X)

        # the regression of any scores follows from that of the class indicators
        shares = np.bincount(codes) / n
        indicators, roots = one_hot(codes, maximum + 1) - shares, np.sqrt(shares)
        model = (
            Ridge(n * self.ridge, fit_intercept=False, solver="svd")
            if self.ridge
            else LinearRegression(fit_intercept=False)
        )
        model.fit(functions, indicators)
        explained = indicators.T @ (functions @ model.coef_.T) / n / np.outer(roots, roots)
        values, vectors = leading_vectors(0.5 * (explained + explained.T))
        scores = vectors[:-1].T / roots[:, None]  # (K, K - 1), without the constant scores
        largest = scores[np.argmax(np.abs(scores), axis=0), np.arange(maximum)]
        scores *= np.sign(largest)

        self.n_components_ = min(n_components, max(1, int(np.sum(values[:-1] > MIN_EXPLAINED))))
        scores = scores[:, : self.n_components_]
        self.explained_ = np.clip(values[: self.n_components_], MIN_EXPLAINED, MAX_EXPLAINED)
        deviations = np.sqrt(self.explained_ * (1 - self.explained_))  # of eta within classes
        self.coefficients_ = scores.T @ model.coef_ / deviations[:, None]
        self.projected_means_ = scores * self.explained_ / deviations

    def _make_basis(self, Z: FloatArray) -> Any:
        """Return the transformer of standardized samples to basis functions, fitted to these."""
        if self.basis == "linear":
            return "passthrough"
        if self.basis == "polynomial":
            return PolynomialFeatures(self.degree, include_bias=False)
        if self.basis != "spline":
            raise ValueError(
                f"basis must be 'linear', 'polynomial' or 'spline', got {self.basis!r}."
            )
        levels = np.linspace(0.0, 1.0, self.n_knots)
        knots = np.empty((self.n_knots, Z.shape[1]))
        for j, column in enumerate(Z.T):
            # quantiles of all values could coincide if many values are equal
            values = np.unique(column)
            knots[:, j] = np.quantile(values, levels) if len(values) > 1 else values[0] + levels
        return SplineTransformer(
            degree=self.degree, knots=knots, include_bias=False, extrapolation="linear"
        )

    def _scores(self, X: FloatArray) -> FloatArray:
        return np.asarray(self._functions.transform(X) @ self.coefficients_.T)

    def _log_densities(self, X: FloatArray) -> FloatArray:
        steps = self._scores(X)[:, None, :] - self.projected_means_  # (n, K, q)
        return np.asarray(-0.5 * np.sum(steps**2, axis=2))
