"""The function summarize(): a table of compare() by method."""

from typing import Any

from opgd.inspection.comparison import METRICS, MethodSummary, summarize_methods


def summarize(
    table: Any, metric: str = "error", *, reference: str = "best", level: float = 0.95
) -> Any:
    r"""Summarize a comparison: means, paired differences with intervals, and the best methods.

    Every method has the same splits, so methods are compared split by split. With differences
    :math:`d_j` of a method from the reference on :math:`J` splits, their mean :math:`\bar d` and
    standard deviation :math:`s`, the interval is

    .. math::

        \bar d \pm t_{J - 1} \, s \sqrt{\frac{1}{J} + \frac{n_\text{test}}{n_\text{train}}},

    the corrected resampled t interval of Nadeau and Bengio. The second term under the root accounts
    for the overlap of the training sets of different splits; without it, intervals are too short.
    Standard errors of means have the same correction. Intervals are not adjusted for the number of
    methods.

    Parameters
    ----------
    table : pandas.DataFrame
        Result of `compare`.
    metric : str, default="error"
        Column by which methods are ranked: "error", "log_loss", "balanced_accuracy" (where larger
        is better) or "seconds".
    reference : str, default="best"
        Method from which differences are computed. "best" is the method with the best mean among
        those with results on all splits.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    summary : pandas.DataFrame
        One row per method, the best first and methods without results on some splits last, with
        columns

        - `error`, `error_se`, `log_loss`, `log_loss_se`, `balanced_accuracy`,
          `balanced_accuracy_se`: means over the splits, and their standard errors;
        - `seconds`: mean time of a fit;
        - `difference`, `low`, `high`: mean difference of `metric` from the reference, and its
          interval;
        - `winner`: whether the method has results on all splits and is the best or not
          significantly worse, that is, the interval of its difference from the best contains 0;
        - `n_splits`, `n_failed`, `n_skipped`: numbers of splits with results, of failed fits, and
          of splits that were skipped because of the budget.

    References
    ----------
    Nadeau & Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from opgd import compare
    >>> from opgd.comparison import summarize
    >>> X, y = load_iris(return_X_y=True)
    >>> table = compare(X, y, ["QDA", "naive Bayes"], cv=5, random_state=0, verbose=0)
    >>> summary = summarize(table, reference="naive Bayes")
    >>> summary["winner"].to_dict()
    {'QDA': True, 'naive Bayes': True}
    """
    import pandas as pd

    rows = [_make_row(method) for method in summarize_methods(table, metric, reference, level)]
    return pd.DataFrame(rows).set_index("method")


def _make_row(method: MethodSummary) -> dict[str, Any]:
    row: dict[str, Any] = {"method": method.name}
    for metric in METRICS:
        if metric in method.means:
            row[metric] = method.means[metric]
            if metric != "seconds":
                row[f"{metric}_se"] = method.standard_errors[metric]
    return row | {
        "difference": method.difference,
        "low": method.low,
        "high": method.high,
        "winner": method.winner,
        "n_splits": method.n_splits,
        "n_failed": method.n_failed,
        "n_skipped": method.n_skipped,
    }
