"""Record what every estimator computes, and compare two records.

    python tools/record_results.py record before.npz
    python tools/record_results.py compare before.npz after.npz

A refactoring should leave every recorded array as it was, bit by bit where the order of summation
is unchanged. The comparison prints how many arrays are identical and the largest difference of each
kind, and fails where log-likelihoods differ by more than 1e-8 (relative), components by more than
1e-3, or any predicted label.
"""

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from opgd import OPGDClassifier, OPGDClassifierCV, OPGDMixture, OPGDSemiSupervised, baselines

ATTRIBUTES = ("log_likelihood_", "components_", "projected_variances_", "means_", "labels_")
METHODS = ("transform", "predict", "predict_proba", "typicality", "decision_function")
LOG_LIKELIHOOD_TOLERANCE = 1e-8
COMPONENTS_TOLERANCE = 1e-3


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return five small tables: easy, correlated, singular, and classes of several Gaussians."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=360)
    centers = rng.normal(scale=3.0, size=(6, 6))
    parts = 2 * labels + rng.integers(2, size=360)
    simulated = centers[parts] + rng.normal(size=(360, 6)) @ rng.normal(size=(6, 6))
    digits = load_digits(return_X_y=True)
    return {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "digits": (digits[0][:500], digits[1][:500]),
        "simulated": (simulated, labels),
    }


def fits(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield a name and a function that fits a model, for every estimator and its main settings."""
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    few_labels = np.where(np.arange(len(y)) % 5, -1, y)
    n_clusters = len(np.unique(y))

    def fit(estimator: Any, labels: Any = y, **options: Any) -> Callable[[], Any]:
        return lambda: estimator.fit(X, labels, **options)

    yield "classifier", fit(OPGDClassifier())
    yield "classifier, weights", fit(OPGDClassifier(n_components=2), sample_weight=weights)
    yield "classifier, full", fit(OPGDClassifier(2, covariance_type="full", shrinkage=0.1))
    yield "classifier, subclasses", fit(OPGDClassifier(2, n_subclasses=2, ridge=0.05))
    yield "classifier, auto", fit(OPGDClassifier(2, n_subclasses="auto", shrinkage="auto"))
    yield "classifier, starts", fit(OPGDClassifier(2, n_init=3, random_state=0, n_jobs=2))
    for init in ("lda", "paper", "save", "pca"):
        yield f"classifier, {init}", fit(OPGDClassifier(2, init=init, max_iter=20))
    grid: dict[str, Any] = {"n_components": (1, 2, 3), "shrinkage": (0, 0.5), "cv": 3}
    yield "CV", fit(OPGDClassifierCV(**grid))
    yield "CV, weights", fit(OPGDClassifierCV(**grid, rule="one_se"), sample_weight=weights)
    yield "CV, F1", fit(OPGDClassifierCV(2, shrinkage=0, ridge=0.1, cv=3, scoring="f1_macro"))
    yield "semi-supervised", fit(OPGDSemiSupervised(ridge=0.1), few_labels)
    yield "semi-supervised, full", fit(OPGDSemiSupervised(2, covariance_type="full"), few_labels)
    yield "semi-supervised, all labels", fit(OPGDSemiSupervised(2), y)
    yield "mixture", fit(OPGDMixture(n_clusters, random_state=0))
    yield "mixture, full", fit(OPGDMixture(2, covariance_type="full", random_state=0))
    yield "mixture, range", fit(OPGDMixture(range(1, 4), n_rounds=2, random_state=0))
    yield "mixture, paper", fit(OPGDMixture(2, metric="identity", shrinkage=0, random_state=0))
    yield "mixture, labels", fit(OPGDMixture(n_clusters, init=y), None)
    for name in baselines.__all__:
        yield name, fit(getattr(baselines, name)())


def record(path: str) -> None:
    """Fit everything and store arrays under `data set/model/quantity`."""
    arrays: dict[str, np.ndarray] = {}
    for data_set, (X, y) in data_sets().items():
        for name, fit in fits(X, y):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    model = fit()
                except (ValueError, np.linalg.LinAlgError) as error:
                    arrays[f"{data_set}/{name}/error"] = np.array(str(error))
                    continue
            prefix = f"{data_set}/{name}"
            for attribute in ATTRIBUTES:
                if hasattr(model, attribute):
                    arrays[f"{prefix}/{attribute}"] = np.asarray(getattr(model, attribute))
            for method in METHODS:
                if hasattr(model, method):
                    arrays[f"{prefix}/{method}"] = np.asarray(getattr(model, method)(X))
        print(f"{data_set}: {len(arrays)} arrays so far", file=sys.stderr)
    np.savez_compressed(path, **arrays)


def compare(before: str, after: str) -> int:
    """Print how two records differ; return the number of failures."""
    old, new = np.load(before), np.load(after)
    failures = [f"only in one record: {key}" for key in set(old.files) ^ set(new.files)]
    identical: Counter[bool] = Counter()
    largest: dict[str, tuple[float, str]] = {}
    for key in sorted(set(old.files) & set(new.files)):
        first, second = old[key], new[key]
        same = first.shape == second.shape and first.tobytes() == second.tobytes()
        identical[same] += 1
        if same:
            continue
        kind = key.rpartition("/")[2]
        difference = measure_difference(first, second)
        largest[kind] = max(largest.get(kind, (0.0, "")), (difference, key))
        if difference > tolerance(kind):
            failures.append(f"{key}: differs by {difference:.3g}")
    print(f"{identical[True]} of {sum(identical.values())} arrays are identical to the bit")
    for kind, (difference, key) in sorted(largest.items()):
        print(f"  largest difference of {kind}: {difference:.3g} ({key})")
    print("\n".join(failures) or "no failures")
    return len(failures)


def measure_difference(first: np.ndarray, second: np.ndarray) -> float:
    """Return the largest difference relative to the largest entry; infinity for other shapes."""
    if first.shape != second.shape or first.dtype.kind not in "fiu":
        return 0.0 if np.array_equal(first, second) else np.inf
    scale = np.abs(first).max() if first.size else 1.0
    return float(np.abs(first - second).max() / (scale or 1.0)) if first.size else 0.0


def tolerance(kind: str) -> float:
    """Return the largest difference that a kind of array may have."""
    if kind in ("predict", "labels_", "error"):
        return 0.0
    return LOG_LIKELIHOOD_TOLERANCE if kind == "log_likelihood_" else COMPONENTS_TOLERANCE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("path")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before")
    comparing.add_argument("after")
    arguments = parser.parse_args()
    if arguments.command == "record":
        record(arguments.path)
        return 0
    return min(compare(arguments.before, arguments.after), 1)


if __name__ == "__main__":
    sys.exit(main())
