"""The function `write_report`; jinja2 is imported when it is called."""

from pathlib import Path
from typing import Any

from opgd._utils.files import check_writable_path, write_atomically
from opgd.report.report_file import ReportFile

MAX_ROWS = 50_000
PAGES = (".html", ".htm", "")


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
    max_rows: int = MAX_ROWS,
    comparison: Any = "usual",
    overwrite: bool = False,
) -> Path:
    """Write an interactive report on a fitted model as a self-contained HTML file.

    The report begins with the results in words, next to those of usual classifiers on the same
    held-out samples. It shows an interactive scatter plot of the samples on any two components
    (axes), classification performance and calibration, a table with the same selection, the
    loadings and the contribution of each component, misclassified samples and outliers. For a
    mixture it shows the profiles of the clusters and the criteria for their number. Samples can be
    selected and their indices downloaded.

    The file contains the data of the samples that it draws; consider this before sharing it.

    Parameters
    ----------
    estimator : fitted opgd estimator with components, or Pipeline that ends in one
        An `OPGDClassifier`, `OPGDClassifierCV`, `OPGDSemiSupervised` or `OPGDMixture`, or a
        baseline with components. For a Pipeline, the report shows the columns of `X` for single
        samples and the encoded features as loadings, and lists what a `TableEncoder` did with each
        column.
    X : array-like of shape (n_samples, n_features)
        The training samples; for a Pipeline, before its first step.
    y : array-like of shape (n_samples,), default=None
        Labels of `X`, required for a classifier. For a mixture, known classes to compare the
        clusters with.
    path : str or path-like
        File to write, with the extension ``.html``. Its directory must exist.
    title : str, default=None
        Title of the report, such as the name of the data; by default it is made of the name of `y`
        (if it is a pandas Series) or of the classes.
    X_test, y_test : array-likes of shape (n_test, n_features) and (n_test,), default=None
        Test set, not used to fit the estimator. If passed, error, log-loss and calibration are
        computed on it instead of by cross-validation, and its samples are drawn too.
    cv : int, default=5
        Number of cross-validation folds, used without a test set. A clone of the estimator (of
        `best_estimator_`, if it has one), and of the steps of a Pipeline, is fitted for each fold.
        With 0, performance is computed on the training samples; this is also the case with more
        than 20,000 samples or a million values, or if a class has a single sample.
    groups : array-like of shape (n_samples,), default=None
        Group of each sample, such as a person or a batch. Samples of a group are held out
        together in cross-validation.
    max_rows : int, default=50000
        Maximum number of samples to draw. Larger data are subsampled, stratified by class, for
        the scatter plots only.
    comparison : "usual", pandas.DataFrame or None, default="usual"
        Other methods to compare the classifier with. With "usual", LDA, logistic regression and
        gradient boosting are fitted with fixed settings and evaluated on the same test set or
        folds. Methods that are expected to take long (from the numbers of samples, features and
        classes) are omitted, all of them where no samples are held out, or with more than 20,000
        samples or a million values. A DataFrame is a result of
        `opgd.compare`, for example of ``compare(X, y, [estimator, "LDA", "QDA", "random
        forest"])``. None omits the comparison.
    overwrite : bool, default=False
        Whether to replace an existing file.

    Returns
    -------
    path : pathlib.Path
        Path of the file. Notebooks display it as a link and the page.

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

    target = check_writable_path(path, overwrite)
    if target.suffix.lower() not in PAGES:
        raise ValueError(f"A report is a .html file, got path={str(path)!r}.")
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
        comparison=comparison,
    )
    # names may contain lone surrogates, which UTF-8 cannot encode
    content = render(summary).encode("utf-8", "replace")
    write_atomically(target, content, overwrite)
    return ReportFile(target)
