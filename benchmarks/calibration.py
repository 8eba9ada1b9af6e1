"""Probabilities of OPGDClassifierCV with and without calibration."""

import warnings

import numpy as np
from rich.console import Console
from sklearn.metrics import log_loss
from sklearn.model_selection import LeaveOneGroupOut

from benchmarks.data import load
from benchmarks.harness import make_table, one_blas_thread, show
from benchmarks.selection import METHODS
from opgd import OPGDClassifierCV
from opgd.core.types import AnyArray, FloatArray


def calibration_error(y: AnyArray, posteriors: FloatArray, classes: AnyArray) -> float:
    """Return the expected calibration error of the predicted classes, in ten bins."""
    confidence, correct = posteriors.max(axis=1), classes[posteriors.argmax(axis=1)] == y
    bins = np.minimum((10 * confidence).astype(int), 9)
    gaps = np.bincount(bins, confidence - correct, minlength=10)
    return float(np.abs(gaps).sum() / len(y))


def show_calibration(console: Console) -> bool:
    """Log-loss and calibration error of Vowel by speaker, and log-losses with tiny classes."""
    data = load("vowel")
    train, test = data.part("train"), data.part("test")
    table = make_table(["Vowel, other speakers"], ["error", "log-loss", "calibration error"])
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        model = OPGDClassifierCV(cv=LeaveOneGroupOut()).fit(train.X, train.y, groups=train.speaker)
        found = f"temperature {model.temperature_:.2f}, background {model.background_:.3f}"
        for name in (f"calibrated ({found})", "without calibration"):
            posteriors = model.predict_proba(test.X)
            table.add_row(
                name,
                f"{1 - model.score(test.X, test.y):.3f}",
                f"{log_loss(test.y, posteriors, labels=model.classes_):.3f}",
                f"{calibration_error(test.y, posteriors, model.classes_):.3f}",
            )
            model.best_estimator_._set_calibration(1.0, 0.0)
        show(
            console, "Calibration, folds by speaker", table, "Expected calibration error: ten bins."
        )
        return _show_tiny_classes(console)


def _show_tiny_classes(console: Console) -> bool:
    """Reduce a third of the classes to a few samples, and compare with logistic regression."""
    table = make_table(["data set"], ["members", "opgd", "without\ncalibration", "logistic"])
    results = []
    for name in ("wine", "iris", "seeds", "vowel", "forest", "dermatology"):
        data = load(name)
        for members in (2, 3, 5):
            rng = np.random.RandomState(members)
            shuffled = rng.permutation(len(data.y))
            classes = np.unique(data.y)
            tiny = classes[: max(1, len(classes) // 3)]
            train: list[int] = []
            for label in classes:
                rows = shuffled[data.y[shuffled] == label]
                train.extend(rows[: members if label in tiny else len(rows) // 2])
            test = np.setdiff1d(np.arange(len(data.y)), train)
            test = test[~np.isin(data.y[test], tiny) | (rng.random(len(test)) < 0.1)]
            X, y = data.X[train], data.y[train]
            ours = OPGDClassifierCV().fit(X, y)
            theirs = METHODS["logistic"]().fit(X, y)
            losses = [
                log_loss(data.y[test], fitted.predict_proba(data.X[test]), labels=classes)
                for fitted in (ours, theirs)
            ]
            ours.best_estimator_._set_calibration(1.0, 0.0)
            raw = log_loss(data.y[test], ours.predict_proba(data.X[test]), labels=classes)
            results.append((losses[0], raw, losses[1]))
            table.add_row(name, str(members), *[f"{loss:.3f}" for loss in results[-1]])
    table.add_row("mean", "", *[f"{loss:.3f}" for loss in np.mean(results, axis=0)])
    show(
        console,
        "Log-loss where a third of the classes has few members",
        table,
        "The others have half of their rows to train on. Rows of the small classes are a tenth of "
        "those left in the test part, so that they are rare there too.",
    )
    return True
