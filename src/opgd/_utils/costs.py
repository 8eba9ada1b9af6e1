"""Costs of decisions, permission to reject, and the decision rule that follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opgd._utils.labels import is_missing_label
from opgd._utils.validation import check_positive, check_share, to_float
from opgd._utils.warnings import DataWarning, warn_caller
from opgd.core.types import AnyArray, FloatArray


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
        expected = posteriors @ self.costs
        codes = np.argmin(expected, axis=1)
        if self.reject_label is None:
            labels: AnyArray = self.classes[codes]
            return labels
        rows, rejected = np.arange(len(codes)), np.zeros(len(codes), dtype=bool)
        if self.reject_cost is not None:
            rejected |= expected[rows, codes] > self.reject_cost
        if self.reject_below is not None:
            rejected |= posteriors[rows, codes] < self.reject_below
        classes, extra = self.classes, np.asarray(self.reject_label)
        if extra.dtype.kind != classes.dtype.kind:
            classes, extra = classes.astype(object), np.asarray(self.reject_label, dtype=object)
        decided: AnyArray = np.append(classes, extra)[np.where(rejected, len(classes), codes)]
        return decided


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
    labels, values = classes.tolist(), 1.0 - np.eye(len(classes))
    if costs is None:
        return values
    if hasattr(costs, "to_dict"):
        columns = costs.to_dict()
        rows = {label for column in columns.values() for label in column}
        if missing := [label for label in labels if label not in columns or label not in rows]:
            raise ValueError(
                f"costs must have a row and a column for each class, named by its label; missing: "
                f"{missing}."
            )
        costs = {(true, label): cost for label in columns for true, cost in columns[label].items()}
    if isinstance(costs, Mapping):
        for pair, cost in costs.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(
                    f"Keys of costs must be pairs (true label, predicted label), got {pair!r}."
                )
            if unknown := [label for label in pair if label not in labels]:
                raise ValueError(
                    f"costs has labels that are not classes: {unknown}; classes: {labels}."
                )
            try:
                values[labels.index(pair[0]), labels.index(pair[1])] = to_float(cost)
            except (TypeError, ValueError):
                raise ValueError(
                    f"The cost of {pair!r} must be a finite number, got {cost!r}."
                ) from None
    else:
        try:
            values = np.array(costs, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise TypeError(
                "costs must be a matrix of numbers or a dict with pairs (true label, predicted "
                f"label) as keys, got {costs!r}."
            ) from None
    if values.shape != (len(classes), len(classes)):
        raise ValueError(
            f"costs must have shape {(len(classes), len(classes))}, a row for each true class and "
            f"a column for each predicted class, got {values.shape}."
        )
    if not np.all(np.isfinite(values)):
        raise ValueError(f"costs must be finite, got {values.tolist()}.")
    return values


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
