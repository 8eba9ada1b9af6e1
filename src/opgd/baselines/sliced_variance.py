"""Quadratic discriminant analysis on the components of sliced average variance estimation."""

from typing import Any

from opgd._base.projection import ProjectionMixin
from opgd._fit.problem import pose
from opgd.baselines._base import Baseline, Solution, Task, count_components
from opgd.core.starts import fix_signs, normalize_rows, save_axes


class SlicedAverageVariance(ProjectionMixin, Baseline):
    r"""Quadratic discriminant analysis on the components of SAVE.

    Sliced average variance estimation (SAVE) spheres the samples by their total covariance. The
    components are the leading eigenvectors of

    .. math::

        M = \sum_k \pi_k (I - \Sigma_k)^2,

    whose span contains the differences between class means and between class covariances. With all
    components the classifier is QDA.

    Parameters
    ----------
    n_components : int, default=None
        Number of components, from 1 to n_features. None means all, which is QDA.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class prior probabilities. None means the class frequencies. A dict or a pandas Series is
        indexed by class label.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The components, with pooled within-class variance 1, by descending eigenvalue.
    classes_, priors_, means_, covariances_, gaussian_classes_
        As in `OPGDClassifier`.
    projected_means_, projected_variances_, n_components_
        As in `OPGDClassifier`.
    n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Cook & Weisberg, "Discussion of Sliced Inverse Regression for Dimension Reduction", JASA 1991;
    Cook & Yin, "Dimension Reduction and Visualization in Discriminant Analysis", 2001; Hofmeyr,
    Kamper & Melonas, Section 2.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from opgd.baselines import SlicedAverageVariance
    >>> X, y = load_wine(return_X_y=True)
    >>> SlicedAverageVariance(n_components=3).fit(X, y).transform(X).shape
    (178, 3)
    """

    def __init__(self, n_components: int | None = None, *, priors: Any = None) -> None:
        self.n_components = n_components
        self.priors = priors

    def _solve(self, task: Task) -> Solution:
        problem = pose(task.prepared, task.priors, covariance_type="full")
        rank = problem.coordinates.rank
        n_components, notes = count_components(self.n_components, problem.frame, rank)
        axes = normalize_rows(save_axes(problem.classes, n_components))
        return Solution(problem, fix_signs(problem.coordinates, axes), notes=notes)
