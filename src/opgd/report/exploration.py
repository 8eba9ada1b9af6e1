"""The function `explore`: the interactive projection of a model in a notebook."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from opgd._utils.validation import check_integer
from opgd.inspection.estimators import check_rows, complete_rows, has_classes
from opgd.inspection.labels import encode_any, encode_classes
from opgd.inspection.pipelines import read_original_columns, unwrap_with_axes
from opgd.report.page_data import Picture, make_page_data
from opgd.report.report_file import make_frame
from opgd.report.rows import get_row_names

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
    unwrapped = unwrap_with_axes(estimator)
    model, features = unwrapped.estimator, unwrapped.encode(X)
    rows = check_rows(model, features, y)
    is_mixture = not has_classes(model)
    probabilities = model.predict_proba(features)
    known, known_names = None, list[str]()
    labels = None
    predicted = np.argmax(probabilities, axis=1)
    if is_mixture:
        predicted = np.asarray(model.predict(features), dtype=np.intp)
        if y is not None:
            check_consistent_length(rows, y)
            known_names, known = encode_any(y)
    else:
        labels = predicted if y is None else encode_classes(model, y)
    picture = Picture(
        rows=complete_rows(model, rows),
        cells=rows,
        originals=read_original_columns(unwrapped, X),
        labels=labels,
        predicted=predicted,
        uncertainty=1 - probabilities.max(axis=1),
        typicality=model.typicality(features),
        known=known,
        known_names=known_names,
        names=get_row_names(X, np.arange(len(rows))),
    )
    page = make_page_data(model, picture, max_rows, with_tour=False)
    title = type(model).__name__
    context = _Context(title, is_mixture, len(model.components_), page | {"profile": None})
    return Exploration(title, page["n_drawn"], height, render_projection(context))
