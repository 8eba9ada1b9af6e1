"""Costs, other class shares and rare classes on held-out rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, balanced_accuracy_score, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.decision_fits import N_SPLITS, N_TRAIN, Fit, encode, fits
from benchmarks.harness import make_table, show, verdict
from opgd.core.types import AnyArray, FloatArray
from opgd.decisions import mean_cost

N_RANDOM_COSTS = 10
SHIFTED = ["satellite", "forest", "vowel"]
N_SHIFTED, SHIFT_RATIO, MAX_EXCESS = 1000, 0.5, 0.01
RARE: dict[str, list[Any]] = {
    "glass": [3, 5, 6],
    "dermatology": [6],
    "rare cancer": ["malignant"],
}
"""Classes with less than 8 % of the rows."""


def cost_of_tumors(labels: AnyArray) -> FloatArray:
    """A missed malignant tumor costs ten times as much as a false alarm."""
    return np.where(labels[:, None] == "malignant", 10.0, 1.0) * (labels[:, None] != labels)


def cost_of_digits(labels: AnyArray) -> FloatArray:
    """A misread digit of an amount costs the squared difference."""
    return (labels[:, None].astype(float) - labels) ** 2


def cost_of_soils(labels: AnyArray) -> FloatArray:
    """A crop taken for soil costs 5, a wrong moisture of grey soil the number of grades."""
    grades = {3: 0, 4: 1, 7: 2}
    costs = 1.0 - np.eye(len(labels))
    for i, true in enumerate(labels):
        for j, predicted in enumerate(labels):
            if true in grades and predicted in grades:
                costs[i, j] = abs(grades[true] - grades[predicted])
            elif true in (2, 5) and predicted not in (2, 5):
                costs[i, j] = 5.0
    return costs


COSTS: dict[str, Callable[[AnyArray], FloatArray]] = {
    "breast cancer": cost_of_tumors,
    "pen_digits": cost_of_digits,
    "satellite": cost_of_soils,
}


def show_costs(console: Console) -> bool:
    """Mean costs of the most probable class and of the class of least expected cost."""
    headings = ["most probable", "least cost", "difference", "standard error"]
    table = make_table(["data set", "costs"], headings)
    kept = True
    for name in N_TRAIN:
        kinds = {"random": draw_costs} | ({"of the use": COSTS[name]} if name in COSTS else {})
        for kind, make in kinds.items():
            pairs = np.array(
                [compare_costs(fit, make, split) for split, fit in enumerate(fits(name))]
            )
            steps = pairs[:, 1] - pairs[:, 0]
            error = steps.std(ddof=1) / np.sqrt(len(steps))
            holds = bool(steps.mean() <= (error if kind == "random" else -2 * error))
            kept &= holds
            numbers = [*pairs.mean(axis=0), steps.mean(), error]
            table.add_row(name, kind, *[f"{number:.4f}" for number in numbers], verdict(holds))
    how = (
        f"Mean costs of test rows in {N_SPLITS} splits. Random: {N_RANDOM_COSTS} matrices per "
        "split, entries from 1 to 10, uniform in the logarithm. Of the use: a missed malignant "
        "tumor costs 10; a misread digit the squared difference; a crop taken for soil 5, wrong "
        "moisture by grade. Bounds: at most one standard error above; two below for costs of "
        "the use."
    )
    show(console, "Costs", table, how)
    return kept


def draw_costs(labels: AnyArray, seed: int = 0) -> FloatArray:
    """Return a random matrix of costs."""
    rng = np.random.default_rng(seed)
    return 10.0 ** rng.random((len(labels), len(labels))) * (1 - np.eye(len(labels)))


def compare_costs(fit: Fit, make: Callable[..., FloatArray], split: int) -> list[float]:
    """Return the mean costs without and with knowledge of the costs."""
    labels = fit.model.classes_
    if make is draw_costs:
        seeds = range(N_RANDOM_COSTS * split, N_RANDOM_COSTS * (split + 1))
        matrices = [draw_costs(labels, seed) for seed in seeds]
    else:
        matrices = [make(labels)]
    plain = fit.model.predict(fit.X_test)
    both = [
        [
            mean_cost(fit.y_test, predicted, costs=costs, labels=labels)
            for predicted in (plain, fit.model.predict(fit.X_test, costs=costs))
        ]
        for costs in matrices
    ]
    means: list[float] = np.mean(both, axis=0).tolist()
    return means


def show_shift(console: Console) -> bool:
    """Errors with training, estimated and true priors on resampled test rows."""
    headings = [
        "training priors",
        "estimated",
        "true",
        "se (est. - training)",
        "largest error of a share",
    ]
    table = make_table(["data set"], headings)
    kept = True
    for name in SHIFTED:
        rows = np.array([measure_shift(fit, split) for split, fit in enumerate(fits(name))])
        means, gain = rows.mean(axis=0), rows[:, 1] - rows[:, 0]
        holds = bool(means[1] < means[0] and means[1] - means[2] <= MAX_EXCESS)
        kept &= holds
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        text = [f"{number:.4f}" for number in (*means[:3], error, means[3])]
        table.add_row(name, *text, verdict(holds))
    how = (
        f"Error on {N_SHIFTED} test rows, drawn with class shares proportional to {SHIFT_RATIO} "
        f"to the power of a random rank of the class, {N_SPLITS} splits. Bounds: estimated "
        f"priors better than those of training, and at most {MAX_EXCESS} worse than the true "
        "ones."
    )
    show(console, "Other class shares", table, how)
    return kept


def measure_shift(fit: Fit, split: int) -> list[float]:
    """Return three errors, and the largest error of an estimated share."""
    rng, codes = np.random.default_rng(split), encode(fit)
    n_classes = len(fit.model.classes_)
    shares = SHIFT_RATIO ** rng.permutation(n_classes)
    shares /= shares.sum()
    counts = np.maximum(1, np.round(shares * N_SHIFTED).astype(int))
    drawn = np.concatenate(
        [rng.choice(np.flatnonzero(codes == k), counts[k]) for k in range(n_classes)]
    )
    X, y, true = fit.X_test[drawn], fit.y_test[drawn], counts / counts.sum()
    estimate = fit.model.estimate_priors(X)
    errors = [np.mean(fit.model.predict(X, priors) != y) for priors in (None, estimate, true)]
    return [*errors, float(np.abs(estimate.priors - true).max())]


def show_rare(console: Console) -> bool:
    """Recall, balanced accuracy and average precision where classes are rare."""
    headings = ["recall", "balanced accuracy", "average precision", "error"]
    table = make_table(["data set", "method"], headings)
    for name, rare in RARE.items():
        plain = list(fits(name))
        weighted = list(fits(name, class_weight="balanced"))
        results: dict[str, list[list[float]]] = {}
        for one, other in zip(plain, weighted, strict=True):
            costs = (1.0 - np.eye(len(one.model.classes_))) / one.model.priors_[:, None]
            labels = {
                "default": one.model.predict(one.X_test),
                "class_weight": other.model.predict(other.X_test),
                "threshold by cost": one.model.predict(one.X_test, costs=costs),
            }
            for method, predicted in labels.items():
                model = (other if method == "class_weight" else one).model
                row = measure_rare(one, predicted, model.predict_proba(one.X_test), rare)
                results.setdefault(method, []).append(row)
            for method, weight in {"logistic": None, "logistic, weights": "balanced"}.items():
                logistic = make_pipeline(
                    StandardScaler(), LogisticRegression(class_weight=weight, max_iter=5000)
                ).fit(one.X, one.y)
                posteriors = logistic.predict_proba(one.X_test)
                row = measure_rare(one, logistic.predict(one.X_test), posteriors, rare)
                results.setdefault(method, []).append(row)
        for method, rows in results.items():
            means, errors = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
            cells = [f"{mean:.3f} ({error:.3f})" for mean, error in zip(means, errors, strict=True)]
            table.add_row(name, method, *cells)
    how = (
        f"Means of {N_SPLITS} splits into two thirds and one third, with standard errors. Recall "
        "and average precision: of classes with less than 8 % of the rows (3, 5 and 6 of Glass, 6 "
        "of Dermatology, and malignant tumors where one of eight was kept). Threshold by cost: the "
        "default model with costs inversely proportional to the class shares. Weights: "
        "class_weight='balanced'."
    )
    show(console, "Rare classes", table, how)
    return True


def measure_rare(
    fit: Fit, predicted: AnyArray, posteriors: FloatArray, rare: list[Any]
) -> list[float]:
    """Return recall of rare classes, balanced accuracy, average precision of rare, and error."""
    true, classes = fit.y_test, fit.model.classes_.tolist()
    recall = recall_score(true, predicted, labels=rare, average="micro", zero_division=0)
    precision = [average_precision_score(true == k, posteriors[:, classes.index(k)]) for k in rare]
    return [
        float(recall),
        float(balanced_accuracy_score(true, predicted)),
        float(np.mean(precision)),
        float(np.mean(predicted != true)),
    ]
