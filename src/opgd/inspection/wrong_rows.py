"""Rows that are predicted as another class than their label."""

from collections.abc import Sequence

import numpy as np

from opgd.inspection.tables import ListedRow, PredictedRows

MAX_WRONG = 200


def list_wrong_rows(
    predicted: PredictedRows, omitted: Sequence[int] = ()
) -> tuple[list[ListedRow], int]:
    """Return misclassified rows, the least probable label first, and their total number.

    Rows whose label is no class of the model come first. Rows of the classes in `omitted` are
    counted, but not listed.
    """
    labels, probabilities = predicted.labels, predicted.probabilities
    known = ~np.isnan(probabilities[:, 0])
    wrong = np.flatnonzero(known & (np.argmax(probabilities, axis=1) != labels))
    n_wrong = len(wrong)
    wrong = wrong[~np.isin(labels[wrong], omitted)]
    of_label = np.where(labels[wrong] >= 0, probabilities[wrong, labels[wrong]], -1.0)
    order = np.argsort(of_label, kind="stable")[:MAX_WRONG]
    return [predicted.describe(int(row)) for row in wrong[order]], n_wrong
