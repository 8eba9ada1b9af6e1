"""Options of `opgd predict` that decide: costs, rejection, prediction sets, class shares."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd.cli.console import Terminal, list_names, list_rows, quote, sanitize
from opgd.cli.errors import BadInput
from opgd.cli.tables.encode import encode_known_labels, encode_numbers
from opgd.cli.tables.read import read_table
from opgd.core.types import AnyArray

COST_COLUMNS = ("true", "predicted", "cost")
SET_SEPARATOR = "|"


@dataclass(frozen=True)
class Decision:
    """The options, as given."""

    costs: str | None = None  # path of a table
    reject_cost: float | None = None
    reject_below: float | None = None
    reject_label: str | None = None
    coverage: float | None = None
    estimate_priors: bool = False

    @property
    def names(self) -> list[str]:
        """Return the options that were passed."""
        given = {f"--{name.replace('_', '-')}": value for name, value in vars(self).items()}
        return [name for name, value in given.items() if value is not None and value is not False]

    def check(self, estimator: Any) -> None:
        """Raise BadInput if the model cannot decide in this way."""
        if self.names and not hasattr(estimator, "classes_"):
            raise BadInput(f"{self.names[0]} needs a model with classes, not clusters.")
        rejects = self.reject_cost is not None or self.reject_below is not None
        if rejects != (self.reject_label is not None):
            raise BadInput("Rejection needs --reject-cost or --reject-below, and --reject-label.")
        if self.coverage is not None and not 0 < self.coverage < 1:
            raise BadInput(f"--coverage must be between 0 and 1, got {self.coverage:g}.")
        if self.coverage is not None and getattr(estimator, "_held_out", None) is None:
            raise BadInput(
                "--coverage needs held-out rows, which this model does not have. Fit it by "
                "cross-validation (opgd fit with --axes auto or several values)."
            )

    def estimate(self, estimator: Any, X: Any, terminal: Terminal) -> AnyArray | None:
        """Return the estimated class shares of the rows and print them, or None."""
        if not self.estimate_priors:
            return None
        found = estimator.estimate_priors(X)
        shares = [
            f"{sanitize(label)} {share:.3f} (standard error {error:.3f})"
            for label, share, error in zip(
                found.classes.tolist(), found.priors, found.standard_errors, strict=True
            )
        ]
        terminal.note(f"Estimated class shares: {', '.join(shares)}.")
        priors: AnyArray = found.priors
        return priors

    def predict(self, estimator: Any, X: Any, priors: Any, terminal: Terminal) -> AnyArray:
        """Return the predicted labels."""
        options: dict[str, Any] = {}
        if self.costs is not None:
            options["costs"] = read_costs(self.costs, estimator.classes_, terminal)
        if self.reject_label is not None:
            options |= {
                "reject_cost": self.reject_cost,
                "reject_below": self.reject_below,
                "reject_label": self._convert_label(estimator.classes_),
            }
        labels: AnyArray = estimator.predict(X, priors, **options)
        return labels

    def predict_sets(self, estimator: Any, X: Any, priors: Any) -> dict[str, Any]:
        """Return the labels of the prediction sets and their numbers, by column."""
        if self.coverage is None:
            return {}
        sets = estimator.predict_set(X, self.coverage, priors=priors)
        labels = np.array([str(label) for label in estimator.classes_.tolist()], dtype=object)
        joined = [SET_SEPARATOR.join(labels[row]) for row in sets]
        return {"set": np.array(joined, dtype=object), "set_size": sets.sum(axis=1)}

    def _convert_label(self, classes: AnyArray) -> Any:
        """Return the label of rejected rows, as a number if the classes are numbers."""
        label: Any = self.reject_label
        if classes.dtype.kind in "iu":
            try:
                label = int(label)
            except ValueError:
                raise BadInput(
                    f"--reject-label must be an integer like the classes, got {quote(label)}."
                ) from None
        if label in classes.tolist():
            raise BadInput(f"--reject-label {quote(label)} is a class; pass another label.")
        return label


def read_costs(path: str, classes: AnyArray, terminal: Terminal) -> dict[tuple[Any, Any], float]:
    """Return costs by pair of labels from a table with columns true, predicted and cost."""
    table = read_table(path, terminal)
    true, predicted = (
        _encode(table.column(name, "--costs"), name, classes) for name in COST_COLUMNS[:2]
    )
    costs = encode_numbers(table, "cost", "--costs")
    if np.isnan(costs).any():
        rows = list_rows(table.row_numbers[np.isnan(costs)])
        raise BadInput(f"Column 'cost' of {table.source} is empty in {rows}; give a cost there.")
    pairs = list(zip(true.tolist(), predicted.tolist(), strict=True))
    repeated = [pair for pair in pairs if pairs.count(pair) > 1]
    if repeated:
        raise BadInput(f"{table.source} has the pair {list_names(repeated[0])} more than once.")
    return dict(zip(pairs, costs.tolist(), strict=True))


def _encode(series: Any, name: str, classes: AnyArray) -> AnyArray:
    labels, missing = encode_known_labels(name, series, classes)
    if missing.any():
        raise BadInput(f"Column {quote(name)} of the costs has empty cells.")
    return labels
