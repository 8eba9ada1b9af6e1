"""All rows with what the model predicts for them, from which pages are made."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opgd.core.types import AnyArray, FloatArray, IntArray
from opgd.inspection.estimators import check_rows, complete_rows, has_classes
from opgd.inspection.labels import encode_any, encode_classes
from opgd.inspection.pipelines import (
    OriginalColumns,
    Unwrapped,
    append_columns,
    read_original_columns,
)
from opgd.report.rows import get_row_names


@dataclass(frozen=True)
class Picture:
    """All rows with their labels, predictions and names."""

    rows: AnyArray  # without missing values
    cells: AnyArray  # nan where missing
    originals: OriginalColumns | None  # columns before the steps of a pipeline
    labels: IntArray | None  # class codes, -1 if unlabeled; None for a mixture
    predicted: IntArray  # class or cluster, -1 for noise
    probabilities: FloatArray  # (n, K)
    typicality: FloatArray
    known: IntArray | None  # codes of the classes that were passed with a mixture
    known_names: list[str]
    names: list[str] | None
    n_train: int  # the rows after these are test rows

    @property
    def groups(self) -> IntArray:
        """Class or cluster of each row."""
        return self.predicted if self.labels is None else self.labels

    @property
    def uncertainty(self) -> FloatArray:
        """One minus the probability of the most probable class or cluster."""
        uncertainty: FloatArray = 1 - self.probabilities.max(axis=1)
        return uncertainty

    def predict_from(self, held_out: FloatArray | None) -> "Picture":
        """Return the picture with held-out predictions, where rows have them (not nan)."""
        if held_out is None:
            return self
        probabilities = np.where(np.isnan(held_out), self.probabilities, held_out)
        return replace(self, probabilities=probabilities, predicted=probabilities.argmax(axis=1))

    def append_test(self, test: "Picture") -> "Picture":
        """Return the picture of the rows of both; those of `test` come last."""
        names = None
        if self.names is not None or test.names is not None:  # positions where there are none
            parts = [self, test]
            names = [name for part in parts for name in part.names or map(str, range(part.n_train))]
        joined: dict[str, Any] = {
            key: np.concatenate([getattr(self, key), getattr(test, key)])
            for key in ("rows", "cells", "labels", "predicted", "probabilities", "typicality")
        }
        return replace(
            self, **joined, names=names, originals=append_columns(self.originals, test.originals)
        )


def check_in_memory(**arguments: Any) -> None:
    """Raise TypeError for Dask input."""
    for name, value in arguments.items():
        if hasattr(value, "__dask_graph__"):
            raise TypeError(
                f"A report needs data in memory, got {name} of Dask. Pass {name}.compute(), or a "
                "sample of the rows."
            )


def make_picture(unwrapped: Unwrapped, table: Any, features: Any, y: Any) -> Picture:
    """Predict all rows of a table; `features` are its rows after the steps of a pipeline.

    Without y, the labels of a classifier are its predictions.
    """
    estimator = unwrapped.estimator
    rows = check_rows(estimator, features, y)
    probabilities = estimator.predict_proba(features)
    labels, known, known_names = None, None, list[str]()
    if has_classes(estimator):
        predicted = np.argmax(probabilities, axis=1)
        labels = predicted if y is None else encode_classes(estimator, y)
    else:
        predicted = np.asarray(estimator.predict(features), dtype=np.intp)
        if y is not None:
            known_names, known = encode_any(y)
    return Picture(
        rows=complete_rows(estimator, rows),
        cells=rows,
        originals=read_original_columns(unwrapped, table),
        labels=labels,
        predicted=predicted,
        probabilities=probabilities,
        typicality=estimator.typicality(features),
        known=known,
        known_names=known_names,
        names=get_row_names(table, np.arange(len(rows))),
        n_train=len(rows),
    )
