"""write_report: the only public name; plotly and jinja2 are imported when a report is made."""

from pathlib import Path
from typing import Any

from opgd._utils.files import free_path, write_whole

MOST_ROWS = 50_000


def write_report(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    path: Any,
    title: str | None = None,
    X_test: Any = None,
    y_test: Any = None,
    cv: int = 5,
    groups: Any = None,
    max_rows: int = MOST_ROWS,
    overwrite: bool = False,
) -> Path:
    """Write an interactive report on a fitted model: one HTML file that opens offline.

    It shows how well classes are told apart, rows on any two axes with their values, the way from
    the plane of principal components to that of the axes, what columns contribute, what each axis
    adds, rows that may be mislabeled and rows far from every class; for a mixture its clusters,
    how they differ from those of the start, and the criteria for their number. Rows can be
    selected, and their indices downloaded.

    The file holds the rows that it draws: whoever has the file has those rows.

    Parameters
    ----------
    estimator : fitted estimator of opgd that has axes
        A classifier, its search by cross-validation, a partly labeled one, a mixture, or a
        baseline with axes and Gaussians on them (the two pursuits have densities of other kinds).
    X : array-like of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,), default=None
        Their labels; a classifier needs them. For a mixture they are known classes, with which
        its clusters are compared.
    path : str or path-like
        Where to write, usually with the ending ``.html``. The folder must exist.
    title : str, default=None
        Title of the report; None means the estimator's name.
    X_test, y_test : array-likes of shape (n_test, n_features) and (n_test,), default=None
        Rows that the fit has not seen. Error, log-loss and calibration are then those on these
        rows; otherwise they come from `cv`.
    cv : int, default=5
        Number of folds. Without test rows, each of them is predicted by a copy that is fitted to
        the others (with the settings of `best_estimator_`, if the estimator has one). 0 takes the
        predictions for the training rows themselves, as is done for more than 20000 rows or a
        million values, and for classes of a single row.
    groups : array-like of shape (n_samples,), default=None
        Rows of one group (a person, a batch) are left out together.
    max_rows : int, default=50000
        Draw at most so many rows; more are thinned, each class by its share. Errors, tables and
        other numbers are of all rows.
    overwrite : bool, default=False
        Whether to replace a file that is there.

    Returns
    -------
    path : Path
        Of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from opgd import OPGDClassifier, write_report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = OPGDClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(model, X, y, path=Path(folder) / "iris.html")
    ...     print(path.name)
    iris.html
    """
    from opgd.report.html import render
    from opgd.report.summary import summarize

    target = free_path(path, overwrite)
    summary = summarize(
        estimator,
        X,
        y,
        title=title,
        X_test=X_test,
        y_test=y_test,
        cv=cv,
        groups=groups,
        max_rows=max_rows,
    )
    # a lone surrogate in a name cannot be encoded
    write_whole(target, render(summary).encode("utf-8", "replace"), overwrite)
    return target
