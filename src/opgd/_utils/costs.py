"""Costs of decisions, permission to reject, and the decision rule that follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd._utils.labels import is_missing_label
from opgd._utils.validation import check_positive, check_share, to_float
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True)
class DecisionRule:
    """Least expected cost, with permission to reject."""

    classes: AnyArray  # (K,)
    costs: FloatArray  # (K, K), of true class (rows) and predicted class (columns)
    reject_cost: float | None
    reject_below: float | None
    reject_label: Any

    def decide(self, posteriors: FloatArray) -> AnyArray:
        """Return the labels (n,) that posteriors (n, K) lead to."""
        codes = self._choose(posteriors)
        labels: AnyArray = self.classes[codes]
        if self.reject_label is None:
            return labels
        known = _append_label(self.classes, self.reject_label)
        decided: AnyArray = known[np.where(self._rejects(posteriors, codes), len(known) - 1, codes)]
        return decided

    def _choose(self, posteriors: FloatArray) -> IntArray:
        return np.argmin(posteriors @ self.costs, axis=1)

    def _rejects(self, posteriors: FloatArray, codes: IntArray) -> AnyArray:
        rows = np.arange(len(codes))
        rejected = np.zeros(len(codes), dtype=bool)
        if self.reject_cost is not None:
            rejected |= (posteriors @ self.costs)[rows, codes] > self.reject_cost
        if self.reject_below is not None:
            rejected |= posteriors[rows, codes] < self.reject_below
        return rejected


def make_rule(
    classes: AnyArray,
    costs: Any = None,
    reject_cost: Any = None,
    reject_below: Any = None,
    reject_label: Any = None,
) -> DecisionRule:
    """Validate the arguments of a decision and return the rule."""
    if reject_cost is not None:
        reject_cost = check_positive("reject_cost", reject_cost, or_zero=True)
    if reject_below is not None:
        reject_below = check_share("reject_below", reject_below)
    is_asked = reject_cost is not None or reject_below is not None
    if is_asked and reject_label is None:
        raise ValueError(
            "Pass reject_label, the label of rejected samples; it must not be a class."
        )
    if reject_label is not None and not is_asked:
        raise ValueError("reject_label needs reject_cost or reject_below.")
    if reject_label is not None:
        check_reject_label(reject_label, classes)
    return DecisionRule(
        classes, check_costs(costs, classes), reject_cost, reject_below, reject_label
    )


def check_reject_label(label: Any, classes: AnyArray) -> None:
    """Raise ValueError if the label of rejected samples is a class or no label."""
    if np.ndim(label) != 0 or is_missing_label(label):
        raise ValueError(f"reject_label must be a single label, got {label!r}.")
    if label in classes.tolist():
        raise ValueError(f"reject_label={label!r} is a class; pass a label that is not.")


def _append_label(classes: AnyArray, label: Any) -> AnyArray:
    """Return the classes and one more label; of type object if the types differ."""
    extra = np.asarray(label)
    if extra.dtype.kind != classes.dtype.kind:
        classes, extra = classes.astype(object), np.asarray(label, dtype=object)
    return np.append(classes, extra)


def check_costs(costs: Any, classes: AnyArray) -> FloatArray:
    """Return the costs of predicting one class where another is true, (K, K).

    None means 1 for each error. A dict has pairs of labels (true, predicted) as keys; pairs that
    are missing cost 1, and correct predictions 0. A data frame has true labels as its index and
    predicted labels as its columns. Warn if an error costs less than the correct prediction.
    """
    values = _read_costs(costs, classes)
    gains = values < np.diag(values)[:, None]
    if np.any(gains):
        i, j = np.argwhere(gains)[0]
        true, predicted = classes.tolist()[i], classes.tolist()[j]
        warn_caller(
            f"Predicting {predicted!r} where {true!r} is true costs {values[i, j]:g}, less than "
            f"the correct prediction ({values[i, i]:g}). Costs of errors are usually positive.",
            DataWarning,
        )
    return values


def _read_costs(costs: Any, classes: AnyArray) -> FloatArray:
    """Return the costs as a matrix, (K, K)."""
    n_classes = len(classes)
    values = 1.0 - np.eye(n_classes)
    if costs is None:
        return values
    if hasattr(costs, "to_dict"):
        costs = _pair_labels(costs, classes)
    if isinstance(costs, Mapping):
        labels = classes.tolist()
        for pair, cost in costs.items():
            i, j = _find_pair(pair, labels)
            values[i, j] = _to_cost(cost, pair)
        return values
    try:
        values = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            "costs must be a matrix of numbers or a dict with pairs (true label, predicted label) "
            f"as keys, got {costs!r}."
        ) from None
    if values.shape != (n_classes, n_classes):
        raise ValueError(
            f"costs must have shape ({n_classes}, {n_classes}), a row for each true class and a "
            f"column for each predicted class, got {values.shape}."
        )
    if not np.all(np.isfinite(values)):
        raise ValueError("costs must be finite.")
    return values


def _pair_labels(frame: Any, classes: AnyArray) -> dict[Any, Any]:
    """Return the cells of a data frame by pair of labels; all classes must be there."""
    columns = frame.to_dict()
    rows = {label for column in columns.values() for label in column}
    missing = [label for label in classes.tolist() if label not in columns or label not in rows]
    if missing:
        raise ValueError(
            f"costs must have a row and a column for each class, named by its label; missing: "
            f"{missing}."
        )
    return {
        (true, label): cost for label, column in columns.items() for true, cost in column.items()
    }


def _find_pair(pair: Any, labels: list[Any]) -> tuple[int, int]:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ValueError(
            f"Keys of costs must be pairs (true label, predicted label), got {pair!r}."
        )
    unknown = [label for label in pair if label not in labels]
    if unknown:
        raise ValueError(f"costs has labels that are not classes: {unknown}; classes: {labels}.")
    return labels.index(pair[0]), labels.index(pair[1])


def _to_cost(cost: Any, pair: Any) -> float:
    try:
        value = to_float(cost)
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(f"The cost of {pair!r} must be a finite number, got {cost!r}.")
    return value


def has_class_weight(estimator: Any) -> bool:
    """Return whether a class_weight is set, also that of a step of a Pipeline."""
    parameters = estimator.get_params(deep=True)
    return any(
        value is not None
        for name, value in parameters.items()
        if name.rpartition("__")[2] == "class_weight"
    )


def warn_about_class_weight() -> None:
    """Warn that probabilities of a classifier with class_weight count costs twice."""
    warn_caller(
        "costs are combined with class_weight: the probabilities refer to reweighted classes, so "
        "rare classes are favored twice. Use one of the two, or pass the class shares of new "
        "samples as priors.",
        DataWarning,
    )
