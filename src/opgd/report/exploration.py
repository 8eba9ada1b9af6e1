"""The function `explore`: the interactive projection of a model in a notebook."""

from dataclasses import dataclass, field
from typing import Any

from opgd._utils.validation import check_integer
from opgd.inspection.estimators import has_classes
from opgd.inspection.pipelines import unwrap_with_axes
from opgd.report.page_data import make_page_data
from opgd.report.picture import check_in_memory, make_picture
from opgd.report.report_file import make_frame

MAX_ROWS = 10_000
HEIGHT = 780


@dataclass(frozen=True)
class Exploration:
    """An interactive projection, displayed by notebooks.

    Attributes
    ----------
    title : str
        Class name of the estimator.
    n_rows : int
        Number of samples that are drawn.
    height : int
        Height in pixels.
    html : str
        The page. Write it to a file to open it in a browser.
    """

    title: str
    n_rows: int
    height: int
    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        return make_frame(self.html, self.height)


@dataclass(frozen=True)
class _Context:
    """What the template shows."""

    title: str
    is_mixture: bool
    n_axes: int
    page: dict[str, Any]


def explore(
    estimator: Any, X: Any, y: Any = None, *, max_rows: int = MAX_ROWS, height: int = HEIGHT
) -> Exploration:
    """Show the samples on the components of a fitted model, interactively, in a notebook.

    The scatter plot is that of `write_report`: any two components, principal components or
    features, colored by class, prediction, uncertainty or a feature, with the Gaussians of the
    model. Samples can be selected and their indices downloaded. The page is contained in the
    notebook, in a frame of its own, and makes no requests.

    Parameters
    ----------
    estimator : fitted opgd estimator with components, or Pipeline that ends in one
    X : array-like of shape (n_samples, n_features)
        Samples; for a Pipeline, before its first step.
    y : array-like of shape (n_samples,), default=None
        Labels. Without labels, samples of a classifier are colored by the predicted class.
    max_rows : int, default=10000
        Maximum number of samples to draw, stratified by class.
    height : int, default=780
        Height of the frame in pixels.

    Returns
    -------
    exploration : Exploration
        Object that notebooks display; its attribute `html` is the page as text.

    See Also
    --------
    opgd.write_report : Write a report with this plot and many other results.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier, explore
    >>> X, y = load_iris(return_X_y=True)
    >>> explore(OPGDClassifier().fit(X, y), X, y)
    Exploration(title='OPGDClassifier', n_rows=150, height=780)
    """
    from opgd.report.html import render_projection

    check_integer("max_rows", max_rows, 1)
    check_integer("height", height, 100)
    check_in_memory(X=X, y=y)
    unwrapped = unwrap_with_axes(estimator)
    model = unwrapped.estimator
    picture = make_picture(unwrapped, X, unwrapped.encode(X), y)
    page = make_page_data(model, picture, max_rows)
    title = type(model).__name__
    context = _Context(title, not has_classes(model), len(model.components_), page)
    return Exploration(title, page["n_drawn"], height, render_projection(context))
