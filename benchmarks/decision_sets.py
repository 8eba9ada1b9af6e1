"""Prediction sets and typicality on held-out rows."""

from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.decision_fits import N_SPLITS, N_TRAIN, WIDE, Fit, encode, fits
from benchmarks.harness import make_table, show, verdict
from opgd import OPGDClassifier
from opgd.core.types import AnyArray, FloatArray

COVERAGES = (0.8, 0.9, 0.95)
MAX_DEVIATION, MAX_SHORTFALL, LEAST_POOLED = 0.02, 0.05, 150
LARGE = ["image_seg", "satellite", "pen_digits"]
"""Data sets with enough test rows to hold half of them out for `conformalize`."""
FAR, FAR_BOUNDS = 0.05, (0.03, 0.07)
N_PLAIN = 5
"""Splits on which OPGDClassifier is fitted for comparison."""


def size_of_softmax_sets(posteriors: FloatArray, codes: AnyArray, coverage: float) -> float:
    """Return the mean size of {k : p_k >= t} with the threshold t that has this coverage.

    It is selected on the test rows themselves: no calibration could find a better one.
    """
    true = np.sort(posteriors[np.arange(len(codes)), codes])[::-1]
    threshold = true[max(0, round(coverage * len(codes)) - 1)]
    return float((posteriors >= threshold).sum(axis=1).mean())


def show_sets(console: Console) -> bool:
    """Coverage and sizes of cross-conformal sets."""
    headings = ["nominal", "determ.", "random.", "least by class", "labels", "softmax", "empty"]
    table = make_table(["data set"], headings)
    kept, overall = True, []
    for name in N_TRAIN:
        rows = [measure_sets(fit, split) for split, fit in enumerate(fits(name))]
        for i, coverage in enumerate(COVERAGES):
            numbers = np.mean([row["numbers"][i] for row in rows], axis=0)
            hits = np.sum([row["hits"][i] for row in rows], axis=0)  # (2, K)
            counts = np.sum([row["counts"] for row in rows], axis=0)
            large = counts >= LEAST_POOLED
            least = float((hits / counts)[:, large].min()) if large.any() else np.nan
            holds = not least < coverage - MAX_SHORTFALL
            kept &= holds
            overall.append([coverage, *numbers[:2]])
            near = bool(np.all(np.abs(numbers[:2] - coverage) <= MAX_DEVIATION))
            remark = "" if near else f"off by {np.abs(numbers[:2] - coverage).max():.3f}"
            cells = [coverage, *numbers[:2], least, *numbers[2:]]
            text = [f"{cell:.3f}" for cell in cells]
            table.add_row(name, *text, remark if holds else verdict(False, "class below"))
    for coverage in COVERAGES:
        means = np.mean([row[1:] for row in overall if row[0] == coverage], axis=0)
        near = bool(np.all(np.abs(means - coverage) <= MAX_DEVIATION))
        kept &= near
        table.add_row(
            "mean",
            f"{coverage:.3f}",
            *[f"{number:.3f}" for number in means],
            *[""] * 4,
            verdict(near),
        )
    show(
        console,
        "Prediction sets of OPGDClassifierCV from its cross-validation",
        table,
        f"Means of {N_SPLITS} splits. Determ., random.: coverage of deterministic and randomized "
        f"sets; least by class: of both and of classes with {LEAST_POOLED} pooled test rows; "
        "labels: mean size of deterministic sets; softmax: of classes above the threshold that "
        "has the same coverage on the test rows; empty: share of empty sets. Bounds: means "
        f"within {MAX_DEVIATION}, no class more than {MAX_SHORTFALL} below.",
    )
    return kept


def measure_sets(fit: Fit, split: int) -> dict[str, Any]:
    """Return coverages, sizes, hits and counts by class of one fit."""
    model, codes, n_classes = fit.model, encode(fit), len(fit.model.classes_)
    posteriors, rows = model.predict_proba(fit.X_test), np.arange(len(fit.y_test))
    numbers, hits = [], []
    for coverage in COVERAGES:
        plain = model.predict_set(fit.X_test, coverage)
        random = model.predict_set(fit.X_test, coverage, randomized=True, random_state=split)
        covered = [sets[rows, codes] for sets in (plain, random)]
        shares = [hit.mean() for hit in covered]
        sizes = plain.sum(axis=1)
        softmax = size_of_softmax_sets(posteriors, codes, shares[0])
        numbers.append([*shares, sizes.mean(), softmax, np.mean(sizes == 0)])
        hits.append([np.bincount(codes, hit, n_classes) for hit in covered])
    return {"numbers": numbers, "hits": hits, "counts": np.bincount(codes, minlength=n_classes)}


def show_conformalized(console: Console) -> bool:
    """Coverage of sets from rows that no fit has seen."""
    table = make_table(["data set"], ["nominal", "determ.", "random.", "labels"])
    kept = True
    for name in LARGE:
        rows = []
        for split, fit in enumerate(fits(name)):
            X, y = fit.X_test, fit.y_test
            model = fit.model.conformalize(X[::2], y[::2])
            half = Fit(model, fit.X, fit.y, X[1::2], y[1::2])
            rows.append([row[:3] for row in measure_sets(half, split)["numbers"]])
        for coverage, numbers in zip(COVERAGES, np.mean(rows, axis=0), strict=True):
            near = bool(np.all(np.abs(numbers[:2] - coverage) <= MAX_DEVIATION))
            kept &= near
            text = [f"{number:.3f}" for number in (coverage, *numbers)]
            table.add_row(name, *text, verdict(near))
    how = f"The same fits, half of the test rows conformalized. Bound: within {MAX_DEVIATION}."
    show(console, "Prediction sets from held-out rows", table, how)
    return kept


def show_typicality(console: Console) -> bool:
    """Share of fresh rows with a typicality below 0.05."""
    headings = ["rows", "columns", "held-out ranks", "se", "chi-squared", "OPGDClassifier"]
    table = make_table(["data set"], headings)
    kept = True
    for name, n_train in (N_TRAIN | WIDE).items():
        rows = np.array([measure_typicality(fit) for fit in fits(name)])
        mean = rows.mean(axis=0)
        plain = np.mean([measure_plain_typicality(fit) for fit in fits(name, N_PLAIN)])
        holds = bool(FAR_BOUNDS[0] <= mean[0] <= FAR_BOUNDS[1])
        kept &= holds
        error = rows[:, 0].std(ddof=1) / np.sqrt(len(rows))
        n_columns = next(iter(fits(name, 1))).X.shape[1]
        text = [f"{number:.3f}" for number in (mean[0], error, mean[1], plain)]
        table.add_row(name, str(n_train), str(n_columns), *text, verdict(holds, "outside"))
    how = (
        f"Share of test rows with a typicality below {FAR}, {N_SPLITS} splits. Held-out ranks: "
        "OPGDClassifierCV. Chi-squared: the formula for the same models. OPGDClassifier: the "
        f"formula, {N_PLAIN} splits. Bound for held-out ranks: from {FAR_BOUNDS[0]} to "
        f"{FAR_BOUNDS[1]}."
    )
    show(console, "Typicality of fresh rows", table, how)
    return kept


def measure_typicality(fit: Fit) -> list[float]:
    """Return shares of far rows by held-out ranks and by the formula."""
    ranks = fit.model.typicality(fit.X_test)
    formula = fit.model.best_estimator_
    formula.__dict__.pop("_held_out")
    return [float(np.mean(values < FAR)) for values in (ranks, formula.typicality(fit.X_test))]


def measure_plain_typicality(fit: Fit) -> float:
    """Return the share of far rows of an OPGDClassifier, by the formula."""
    return float(np.mean(OPGDClassifier().fit(fit.X, fit.y).typicality(fit.X_test) < FAR))
