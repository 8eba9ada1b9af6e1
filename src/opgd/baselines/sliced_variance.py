"""Sliced average variance estimation, and QDA on its axes."""

from typing import Any

from opgd._base.projection import AxesMixin
from opgd._fit.normal_form import fix_signs
from opgd._fit.problem import pose
from opgd.baselines._base import Baseline, Solution, Task, count_components
from opgd.core.starts import save_axes, unit_rows


class SlicedAverageVariance(AxesMixin, Baseline):
    """Quadratic discriminant analysis on the leading axes of SAVE.

    Rows are sphered by the covariance of all rows; the axes are the leading eigenvectors of

        M = sum_k pi_k (I - Sigma_k)^2,

    whose span holds the class means and the differences of class covariances.

    Parameters
    ----------
    n_components : int, default=None
        Number of axes; None means all, which is QDA.
    priors : None, "uniform", array-like of shape (n_classes,), dict or Series, default=None
        Class probabilities; None takes the classes' shares of the rows.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        The axes, of pooled within-class variance one, the leading one first.
    classes_, priors_, means_, covariances_, projected_means_, projected_variances_, \
gaussian_classes_, n_components_, n_features_in_, feature_names_in_
        As in `OPGDClassifier`.

    References
    ----------
    Cook & Weisberg, "Discussion of Sliced Inverse Regression for Dimension Reduction", JASA 1991;
    Cook & Yin, "Dimension Reduction and Visualization in Discriminant Analysis", 2001.

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
        axes = unit_rows(save_axes(problem.classes, n_components))
        return Solution(problem, fix_signs(problem.coordinates, axes), notes=notes)
