"""Summary of a selection: the selected model, its errors, and what simpler models would cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

LEFT = " style='text-align: left'"
RULE = 'rule="one_se"'
MAX_ROWS = 12
"""Maximum number of rows in the table of numbers of components."""


@dataclass(frozen=True)
class Candidate:
    """A model with its results on held-out samples; `standard_error` is that of the error."""

    model: str
    n_components: int
    error: float
    standard_error: float
    log_loss: float
    log_loss_standard_error: float


@dataclass(frozen=True)
class SelectionSummary:
    """Result of a selection; print it for a table. Notebooks show it as HTML.

    Attributes
    ----------
    model : str
        Name of the selected model, such as "reduced-rank LDA, 2 components" or "OPGD, 6 components,
        4 Gaussians per class".
    selected : Candidate
        The selected model.
    corrected_error : float
        Error rate corrected for the selection; see `OPGDClassifierCV`.
    by_components : tuple of Candidate
        The model with the lowest error for each number of components.
    simpler : Candidate or None
        The model with the fewest components within one standard error of the error of the selected
        model, if it has fewer components.
    one_se : Candidate or None
        The model that ``rule="one_se"`` selects; None with a single split, or if `sparsity` has
        several numbers of features.
    with_all_features : Candidate or None
        The model with the lowest error among those that use all features, if the selected one uses
        fewer and such models were compared.
    n_used, n_features : int
        Number of features that the selected model uses, and of all features.
    n_models, n_splits : int
        Number of models that were compared on all splits, and of splits.
    temperature, background : float
        Calibration of the probabilities.
    class_weighted : bool
        Whether errors and log-losses are weighted by `class_weight`.
    """

    selected: Candidate
    corrected_error: float
    by_components: tuple[Candidate, ...]
    simpler: Candidate | None
    one_se: Candidate | None
    with_all_features: Candidate | None
    n_used: int
    n_features: int
    n_models: int
    n_splits: int
    temperature: float
    background: float
    class_weighted: bool = False

    @property
    def model(self) -> str:
        """Return the name of the selected model."""
        return self.selected.model

    @property
    def trade_off(self) -> str:
        """Return what fewer components would cost, in one sentence."""
        best = self.selected
        if best.n_components == 1:
            return "The selected model has one component."
        count = f"{best.n_components} components"
        known = np.isfinite(best.standard_error)  # from several splits
        if self.simpler is not None:
            return (
                f"{self.simpler.n_components} of {count}: held-out error {self.simpler.error:.3f} "
                f"instead of {best.error:.3f}{', within one standard error' if known else ''}."
            )
        fewer = [row for row in self.by_components if row.n_components < best.n_components]
        if not fewer:
            return f"No model with fewer than {count} was compared."
        cost = min(fewer, key=lambda row: (row.error, row.n_components))
        return (
            f"{cost.n_components} of {count}: held-out error {cost.error:.3f} instead of "
            f"{best.error:.3f}{', more than one standard error higher' if known else ''}."
        )

    def _facts(self) -> list[tuple[str, str]]:
        best = self.selected
        calibration = f"temperature {self.temperature:.3g}, background {self.background:.2g}"
        error = f"{_format_number(best.error, best.standard_error)} on held-out samples"
        corrected = f"{self.corrected_error:.3f} corrected for the selection"
        corrected += ", weighted by class" if self.class_weighted else ""
        splits = f"{self.n_splits} split{'s' if self.n_splits != 1 else ''}"
        return [
            ("model", self.model),
            ("error", f"{error}, {corrected}"),
            ("log-loss", _format_number(best.log_loss, best.log_loss_standard_error)),
            *([("features", self._describe_features())] if self.n_used < self.n_features else []),
            ("calibration", calibration),
            ("fewer components", self.trade_off),
            *([] if self.one_se is None else [(RULE, self._describe_one_se(self.one_se))]),
            ("compared", f"{self.n_models} model{'s' if self.n_models != 1 else ''} on {splits}"),
        ]

    def _describe_features(self) -> str:
        used, dense = f"{self.n_used} of {self.n_features}", self.with_all_features
        if dense is None:
            return used
        return f"{used}; with all: held-out error {dense.error:.3f}, log-loss {dense.log_loss:.3f}"

    def _describe_one_se(self, simplest: Candidate) -> str:
        if simplest is self.selected:
            return "selects the same model"
        return f"would select {simplest.model}: held-out error {simplest.error:.3f}"

    def _rows(self) -> list[list[str]]:
        rows = _thin(self.by_components, self.selected.n_components)
        return [
            [
                f"{row.n_components}",
                _format_number(row.error, row.standard_error),
                f"{row.log_loss:.3f}",
                row.model + (" (selected)" if row is self.selected else ""),
            ]
            for row in rows
        ]

    def __str__(self) -> str:
        facts = self._facts()
        width = max(len(key) for key, _ in facts)
        lines = [f"{key:<{width}}  {value}" for key, value in facts]
        header = ["components", "error", "log-loss", "best model"]
        table = [header, *self._rows()]
        widths = [max(len(row[j]) for row in table) for j in range(3)]
        lines += ["", *("  ".join(_align(row, widths)) for row in table)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        facts = "".join(
            f"<tr><th{LEFT}>{escape(key)}</th><td{LEFT}>{escape(value)}</td></tr>"
            for key, value in self._facts()
        )
        header = "".join(
            f"<th{LEFT}>{name}</th>" for name in ("components", "error", "log-loss", "best model")
        )
        rows = "".join(
            "<tr>" + "".join(f"<td{LEFT}>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._rows()
        )
        return (
            f"<table><tbody>{facts}</tbody></table>"
            f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"
        )


def _with_same_features(table: Mapping[str, Any], best: int) -> tuple[Mapping[str, Any], int]:
    """Return the models with as many features as the best one, and its index among them."""
    numbers = [params.get("sparsity") for params in table["params"]]
    same = [i for i, number in enumerate(numbers) if number == numbers[best]]
    rows = {
        name: [column[i] for i in same] if name == "params" else np.asarray(column)[same]
        for name, column in table.items()
    }
    return rows, same.index(best)


def summarize_selection(
    table: Mapping[str, Any],
    best: int,
    *,
    n_features: int,
    n_varying: int,
    n_splits: int,
    corrected_error: float,
    temperature: float,
    background: float,
    calibrated: bool,
    compares_sizes: bool,
    class_weighted: bool = False,
) -> SelectionSummary:
    """Return the summary of a selection from its `cv_results_`.

    Only models with the selected number of features are in the table by number of components. If
    requested numbers of features are compared (`compares_sizes`), ``rule="one_se"`` may select
    another number, and its model is not known.
    """
    n_models = len(table["params"])
    numbers = [params.get("sparsity") or n_features for params in table["params"]]
    n_used = min(numbers[best], n_features)
    candidates = _list_candidates(table, calibrated)
    dense = [row for row, n in zip(candidates, numbers, strict=True) if n >= n_varying > n_used]
    table, best = _with_same_features(table, best)
    candidates = _list_candidates(table, calibrated)
    selected = candidates[best]
    lowest: dict[int, Candidate] = {}
    for row in candidates:
        if not np.isfinite(row.error):
            continue
        known = lowest.get(row.n_components)
        if known is None or (row.error, row.log_loss) < (known.error, known.log_loss):
            lowest[row.n_components] = row
    if selected.n_components in lowest:
        lowest[selected.n_components] = selected
    by_components = tuple(lowest[count] for count in sorted(lowest))
    limit = selected.error + np.nan_to_num(selected.standard_error)
    near = [
        row
        for row in by_components
        if row.n_components < selected.n_components and row.error <= limit
    ]
    return SelectionSummary(
        selected,
        corrected_error,
        by_components,
        near[0] if near else None,
        _select_one_se(table, candidates, n_splits) if not compares_sizes else None,
        min(
            (row for row in dense if np.isfinite(row.error)),
            key=lambda row: (row.error, row.log_loss),
            default=None,
        ),
        n_used,
        n_features,
        n_models,
        n_splits,
        temperature,
        background,
        class_weighted,
    )


def _select_one_se(
    table: Mapping[str, Any], candidates: list[Candidate], n_splits: int
) -> Candidate | None:
    """Return the model with the fewest parameters within one standard error of the best score."""
    if n_splits < 2:
        return None
    scores = np.where(np.isfinite(table["mean_test_score"]), table["mean_test_score"], -np.inf)
    losses = np.array([row.log_loss for row in candidates])
    order = np.lexsort((table["n_parameters"], losses, -scores.round(12)))
    best = order[0]
    limit = scores[best] - table["std_test_score"][best] / np.sqrt(n_splits - 1)
    near = [i for i in order if scores[i].round(12) >= limit.round(12)]
    return candidates[min(near, key=lambda i: int(table["n_parameters"][i]))]


def _list_candidates(table: Mapping[str, Any], calibrated: bool) -> list[Candidate]:
    columns = zip(
        table["model"],
        table["params"],
        table["mean_test_error"],
        table["se_test_error"],
        table[f"mean_test_{'calibrated_' if calibrated else ''}log_loss"],
        table["se_test_log_loss"],
        strict=True,
    )
    return [
        Candidate(
            str(name),
            int(values["n_components"]),
            float(error),
            float(deviation),
            float(loss),
            float(loss_deviation),
        )
        for name, values, error, deviation, loss, loss_deviation in columns
    ]


def _thin(rows: tuple[Candidate, ...], selected: int) -> list[Candidate]:
    """Return at most `MAX_ROWS` rows, the selected one included."""
    if len(rows) <= MAX_ROWS:
        return list(rows)
    spaced = np.linspace(0, len(rows) - 1, MAX_ROWS - 1).round().astype(int)
    kept = {*spaced.tolist(), *(i for i, row in enumerate(rows) if row.n_components == selected)}
    return [rows[i] for i in sorted(kept)]


def _format_number(value: float, standard_error: float) -> str:
    return f"{value:.3f}" + (f" ± {standard_error:.3f}" if np.isfinite(standard_error) else "")


def _align(row: list[str], widths: list[int]) -> list[str]:
    return [cell.rjust(width) for cell, width in zip(row, widths, strict=False)] + row[
        len(widths) :
    ]
