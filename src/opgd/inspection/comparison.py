"""Means, intervals of paired differences and best methods of a comparison on the same splits."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from opgd._utils.validation import check_positive
from opgd.core.types import FloatArray

METRICS = ("error", "log_loss", "balanced_accuracy", "seconds")
LARGER_IS_BETTER = ("balanced_accuracy",)


@dataclass(frozen=True)
class MethodSummary:
    """Results of one method, and their difference from a reference on the same splits."""

    name: str
    values: FloatArray  # (n_splits,) of the metric, NaN where there is no result
    mean: float  # of the values
    standard_error: float  # of the mean, corrected for overlapping training sets
    difference: float  # of the method from the reference, on the splits that both have
    low: float  # confidence interval of the difference
    high: float
    winner: bool  # whether no method is significantly better
    n_failed: int
    n_skipped: int
    means: dict[str, float]  # of all metrics in the table
    standard_errors: dict[str, float]

    @property
    def n_splits(self) -> int:
        """Number of splits with results."""
        return int(np.sum(np.isfinite(self.values)))

    @property
    def remark(self) -> str:
        """Text on splits without results, such as "2 failed", or ""."""
        counts = {"failed": self.n_failed, "skipped": self.n_skipped}
        return ", ".join(f"{number} {word}" for word, number in counts.items() if number)


def summarize_methods(
    table: Any, metric: str = "error", reference: str = "best", level: float = 0.95
) -> list[MethodSummary]:
    """Return a summary of each method, the best first; `comparison.summarize` has the formulas.

    Methods without results on some splits come after the others.
    """
    check_positive("level", level)
    if level >= 1:
        raise ValueError(f"level must be below 1, got {level!r}.")
    results = _read_table(table, metric)
    sign = -1.0 if metric in LARGER_IS_BETTER else 1.0
    best = results.find_best(sign)
    reference = best if reference == "best" else reference
    if reference not in results.names:
        raise ValueError(f"reference={reference!r} is not a method; methods are {results.names}.")
    summaries = [results.summarize(name, reference, best, sign, level) for name in results.names]
    n_splits = max(summary.n_splits for summary in summaries)
    return sorted(summaries, key=lambda s: (s.n_splits == 0, s.n_splits < n_splits, sign * s.mean))


def compute_paired_interval(
    differences: FloatArray, ratios: FloatArray, level: float
) -> tuple[float, float, float]:
    """Return the mean of differences over splits, and the ends of its confidence interval."""
    mean, deviation = float(np.mean(differences)), compute_standard_error(differences, ratios)
    if len(differences) < 2:
        return mean, np.nan, np.nan
    half = float(stats.t.ppf((1 + level) / 2, len(differences) - 1)) * deviation
    return mean, mean - half, mean + half


def compute_standard_error(values: FloatArray, ratios: FloatArray) -> float:
    """Return the standard error of a mean over splits, by the formula of Nadeau and Bengio.

    `ratios` are the numbers of held-out samples divided by those of training samples.
    """
    if len(values) < 2:
        return np.nan
    return float(np.std(values, ddof=1) * np.sqrt(1 / len(values) + np.mean(ratios)))


@dataclass(frozen=True)
class _Results:
    """Results by method and split."""

    names: list[str]
    metric: str
    values: dict[str, FloatArray]  # (n_methods, n_splits) by metric
    ratios: FloatArray  # (n_splits,) held-out to training samples
    skipped: FloatArray  # (n_methods, n_splits)

    def get_row(self, name: str, metric: str | None = None) -> FloatArray:
        row: FloatArray = self.values[metric or self.metric][self.names.index(name)]
        return row

    def find_best(self, sign: float) -> str:
        """Return the method with the best mean among those with the most splits."""
        values = self.values[self.metric]
        counts = np.isfinite(values).sum(axis=1)
        if not counts.any():
            return self.names[0]
        means = np.full(len(values), np.inf)
        complete = counts == counts.max()
        means[complete] = sign * np.nanmean(values[complete], axis=1)
        return self.names[int(np.argmin(means))]

    def summarize(
        self, name: str, reference: str, best: str, sign: float, level: float
    ) -> MethodSummary:
        row = self.get_row(name)
        mean, _, error = self._describe(name, self.metric)
        difference, low, high = self._compare(name, reference, level)
        means = {metric: self._describe(name, metric)[0] for metric in self.values}
        errors = {metric: self._describe(name, metric)[2] for metric in self.values}
        missing, skipped = ~np.isfinite(row), self.skipped[self.names.index(name)]
        return MethodSummary(
            name=name,
            values=row,
            mean=mean,
            standard_error=error,
            difference=difference,
            low=low,
            high=high,
            winner=self._is_winner(name, best, sign, level),
            n_failed=int(np.sum(missing & (skipped == 0))),
            n_skipped=int(np.sum(skipped)),
            means=means,
            standard_errors=errors,
        )

    def _describe(self, name: str, metric: str) -> tuple[float, int, float]:
        row = self.get_row(name, metric)
        known = np.isfinite(row)
        if not known.any():
            return np.nan, 0, np.nan
        error = compute_standard_error(row[known], self.ratios[known])
        return float(row[known].mean()), int(known.sum()), error

    def _compare(self, name: str, reference: str, level: float) -> tuple[float, float, float]:
        if name == reference:
            return 0.0, 0.0, 0.0
        differences = self.get_row(name) - self.get_row(reference)
        known = np.isfinite(differences)
        if not known.any():
            return np.nan, np.nan, np.nan
        return compute_paired_interval(differences[known], self.ratios[known], level)

    def _is_winner(self, name: str, best: str, sign: float, level: float) -> bool:
        n_splits = [int(np.isfinite(self.get_row(method)).sum()) for method in (name, best)]
        if n_splits[0] < max(n_splits[1], 1):
            return False
        difference, low, high = self._compare(name, best, level)
        nearest = low if sign > 0 else -high
        return sign * difference <= 0 or bool(nearest <= 0)


def _read_table(table: Any, metric: str) -> _Results:
    """Return the results of a table as arrays."""
    missing = [column for column in ("method", metric) if column not in table]
    if missing:
        raise ValueError(
            f"table must be a result of opgd.compare: it has no column {missing[0]!r}."
        )
    methods = [str(name) for name in table["method"]]
    if not methods:
        raise ValueError("table has no rows.")
    names = list(dict.fromkeys(methods))
    rows = np.array([names.index(name) for name in methods])
    places = _find_places(table, rows)
    shape = (len(names), int(places.max()) + 1)

    def arrange(column: str, fill: float) -> FloatArray:
        array = np.full(shape, fill)
        array[rows, places] = _to_numbers(table, column)
        return array

    metrics = dict.fromkeys([metric, *(name for name in METRICS if name in table)])
    skipped = np.zeros(shape)
    if "status" in table:
        skipped[rows, places] = [status == "skipped" for status in table["status"]]
    ratios = np.full(shape[1], 1 / max(shape[1] - 1, 1))  # of cross-validation
    if "n_train" in table and "n_test" in table:
        n_test, n_train = _to_numbers(table, "n_test"), _to_numbers(table, "n_train")
        ratios[:] = np.inf  # some methods may be fitted to a part of the training samples
        np.minimum.at(ratios, places, n_test / n_train)
    values = {name: arrange(name, np.nan) for name in metrics}
    return _Results(names, metric, values, ratios, skipped)


def _find_places(table: Any, rows: Any) -> Any:
    """Return the split of each row, as a code; without a column `split`, rows are counted."""
    if "split" not in table:
        return np.array([np.sum(rows[:i] == row) for i, row in enumerate(rows)])
    splits, places = np.unique(np.asarray(table["split"]), return_inverse=True)
    pairs = rows * len(splits) + places
    if len(np.unique(pairs)) < len(pairs):
        raise ValueError(
            "table has several rows for a method and a split; summarize the results of one "
            "comparison at a time."
        )
    return places


def _to_numbers(table: Any, column: str) -> FloatArray:
    cells = [np.nan if cell is None or cell == "" else cell for cell in table[column]]
    try:
        return np.array(cells, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"Column {column!r} of the table must contain numbers.") from None
