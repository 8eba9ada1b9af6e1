"""The column of labels: whole numbers stay numbers, everything else stays the text it is."""

import re
from typing import Any

import numpy as np
import polars as pl

from opgd.cli.columns import is_missing
from opgd.cli.errors import BadInput
from opgd.cli.text import listed, quoted
from opgd.core.types import AnyArray

MISSING = ("", "na", "n/a", "#n/a", "<na>", "nan", "null", "?")
"""Words for a missing label, in lower case: "None" may well be a class."""
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
"""Whole numbers whose text is made again by writing the number; 007 and 1.0 are words."""
FEW_CLASSES = 20
"""So many different fractions may be names of classes (doses, say)."""


def read_labels(series: pl.Series) -> tuple[AnyArray, AnyArray]:
    """Labels, (n,), and which of them are missing."""
    if series.dtype.is_integer() or series.dtype == pl.Boolean:
        filled = series.fill_null(False if series.dtype == pl.Boolean else 0)
        return filled.to_numpy(), series.is_null().to_numpy()
    if series.dtype.is_float():
        whole = series.is_null() | series.is_nan() | (series == series.round())
        if whole.all():
            missing = series.is_null() | series.is_nan()
            return series.fill_null(0.0).to_numpy(), missing.to_numpy()
        series = series.fill_nan(None)
    words = series.cast(pl.String).str.strip_chars()
    missing = is_missing(words, MISSING)
    known = words.filter(~missing).to_list()
    if known and all(WHOLE.fullmatch(word) for word in known):
        numbers = words.zip_with(~missing, pl.Series(["0"]).new_from_index(0, len(words)))
        return numbers.cast(pl.Int64).to_numpy(), missing.to_numpy()
    return np.array(words.fill_null("").to_list(), dtype=object), missing.to_numpy()


def check_classes(name: str, labels: AnyArray) -> AnyArray:
    """Refuse what cannot be classes; words as an array of words."""
    different = set(labels.tolist())
    if len(different) == 1:
        raise BadInput(
            f"Column {quoted(name)} has one class only ({quoted(different.pop())}): "
            "there is nothing to tell apart."
        )
    fractions = [label for label in different if _is_fraction(label)]
    if len(fractions) > FEW_CLASSES or 2 * len(different) > len(labels):
        raise BadInput(
            f"Column {quoted(name)} has {len(different)} different values in {len(labels)} rows "
            f"({listed(sorted(different)[:3])}, ...): classes have several rows each. "
            "Is it the column of labels?"
        )
    return labels.astype(str) if labels.dtype == object else labels


def _is_fraction(label: Any) -> bool:
    try:
        return not float(label).is_integer()
    except (ValueError, OverflowError):
        return False


def known_labels(series: pl.Series, classes: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Labels of a table as the classes of a model, (n,), and which of them are missing."""
    labels, missing = read_labels(series)
    numeric = classes.dtype.kind in "iuf"
    exact = {label: place for place, label in enumerate(classes.tolist())}
    alike = {_key(label, numeric): place for label, place in exact.items()}
    places = [exact.get(own, alike.get(_key(own, numeric), -1)) for own in labels.tolist()]
    codes = np.array(places, dtype=np.intp)
    strange = (codes < 0) & ~missing
    if strange.any():
        names = dict.fromkeys(labels[strange].tolist())
        raise BadInput(
            f"Column {quoted(series.name)} has labels that the model does not know: "
            f"{listed(names)} ({int(strange.sum())} of {len(labels)} rows); "
            f"its classes are {listed(classes.tolist())}."
        )
    return classes[np.maximum(codes, 0)], missing


def _key(label: Any, numeric: bool) -> Any:
    """Labels that are the same in files of several types: 1 and "1.0", True and "true"."""
    if numeric:
        try:
            return float(label)
        except ValueError:
            return label
    return str(label).lower() if str(label).lower() in ("true", "false") else str(label)
