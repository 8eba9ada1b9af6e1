"""OPGDClassifierCV with default arguments beside the usual classifiers, on the same splits.

Results of single fits are kept in `RAW`, a line each, so that an interrupted run goes on where it
ended; delete lines to measure again.
"""

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneGroupOut,
    ParameterGrid,
    StratifiedKFold,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.data import NAMES, DataSet, load
from benchmarks.defaults import OTHERS
from benchmarks.harness import make_table, one_blas_thread, show, verdict
from opgd import OPGDClassifierCV
from opgd.core.types import AnyArray, FloatArray

RAW = Path(__file__).parent.parent / "results" / "selection.jsonl"
N_SPLITS = 10
MAX_GRID_ROWS = 2000
"""Training rows on which the parameters of the SVC are selected, where seconds do not matter."""
MAX_MEAN_ERROR = 0.066
MAX_ERROR = {
    "vowel": 0.045,
    "pen_digits": 0.010,
    "satellite": 0.105,
    "opt_digits": 0.018,
    "image_seg": 0.030,
}
OLD = "opgd 0.1.0"
"""Lines of this method were recorded with that version, on some of the splits."""
LEAST_LOWER_LOSSES, MAX_EXCESS_LOSS, LEAST_NEAR = 12, 0.05, 14
RIVALS = ["svc", "forest", "boosting"]
SPEED_TABLES = [
    "more/breast_tissue",
    "iris",
    "wine",
    "seeds",
    "glass",
    "forest",
    "breast cancer",
    "vowel",
    "image_seg",
    "opt_digits",
]
MAX_SECONDS, MAX_RATIO, MAX_LARGE_RATIO = 2.0, 1.0, 0.5
N_RUNS = 3


def make_svc_grid(n_columns: int) -> tuple[Any, dict[str, list[float]]]:
    """Return an RBF-SVC on standardized features, and a grid of 5 x 5 of its parameters."""
    grid = {
        "svc__C": [0.1, 1, 10, 100, 1000],
        "svc__gamma": [factor / n_columns for factor in (0.1, 0.3, 1, 3, 10)],
    }
    return make_pipeline(StandardScaler(), SVC(cache_size=500)), grid


class SearchedSVC:
    """RBF-SVC on standardized features, with C and gamma from a grid of 5 x 5 by 5 folds."""

    def __init__(self, max_rows: int | None = None) -> None:
        self.max_rows = max_rows

    def fit(self, X: FloatArray, y: AnyArray) -> "SearchedSVC":
        """Select the parameters, on a stratified sample if there are many rows, and fit."""
        pipeline, grid = make_svc_grid(X.shape[1])
        sample, labels = X, y
        if self.max_rows is not None and len(X) > self.max_rows:
            sample, _, labels, _ = train_test_split(
                X, y, train_size=self.max_rows, stratify=y, random_state=0
            )
        search = GridSearchCV(pipeline, grid, cv=5, refit=False).fit(sample, labels)
        self.model_ = pipeline.set_params(**search.best_params_).fit(X, y)
        return self

    def predict(self, X: FloatArray) -> AnyArray:
        """Predict the classes of rows."""
        labels: AnyArray = self.model_.predict(X)
        return labels


METHODS: dict[str, Callable[[], Any]] = {
    "opgd": OPGDClassifierCV,
    "lda": LinearDiscriminantAnalysis,
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000)),
    "forest": lambda: RandomForestClassifier(500, random_state=0),
    "svc": lambda: SearchedSVC(MAX_GRID_ROWS),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


def load_any(name: str) -> DataSet:
    """Return a data set of the folder, or the breast cancer data of scikit-learn."""
    if name == "breast cancer":
        return DataSet(*load_breast_cancer(return_X_y=True))
    return load(name)


def calibration_error(y: AnyArray, posteriors: FloatArray, classes: AnyArray) -> float:
    """Return the expected calibration error of the predicted classes, in ten bins."""
    confidence, correct = posteriors.max(axis=1), classes[posteriors.argmax(axis=1)] == y
    bins = np.minimum((10 * confidence).astype(int), 9)
    gaps = np.bincount(bins, confidence - correct, minlength=10)
    return float(np.abs(gaps).sum() / len(y))


def measure(data: DataSet, method: str, seed: int) -> dict[str, Any]:
    """Fit a method to three quarters of the rows, and evaluate it on the others."""
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, test_size=0.25, random_state=seed, stratify=data.y
    )
    begin = time.process_time()
    model = METHODS[method]().fit(X, y)
    result = {"cpu": time.process_time() - begin}
    result["error"] = float(np.mean(model.predict(X_test) != y_test))
    if hasattr(model, "predict_proba"):
        posteriors = model.predict_proba(X_test)
        result["loss"] = float(log_loss(y_test, posteriors, labels=model.classes_))
    if method == "opgd":
        best = model.best_index_
        result |= {
            "cv_error": float(model.cv_results_["mean_test_error"][best]),
            "corrected_error": model.corrected_error_,
            "gaussians": int(model.cv_results_["n_gaussians"][best]),
            "components": model.n_components_,
        }
        model.best_estimator_._set_calibration(1.0, 0.0)
        raw = model.predict_proba(X_test)
        changed = model.classes_[raw.argmax(axis=1)] != model.classes_[posteriors.argmax(axis=1)]
        result["changed"] = float(changed.mean())
        result["raw_error"] = float(np.mean(model.predict(X_test) != y_test))
        result["raw_loss"] = float(log_loss(y_test, raw, labels=model.classes_))
    return result


def read_raw() -> pd.DataFrame:
    """Return the results so far."""
    if not RAW.exists():
        return pd.DataFrame({"table": [], "seed": [], "method": []})
    return pd.read_json(RAW, lines=True)


def record(names: list[str], console: Console) -> pd.DataFrame:
    """Measure what is missing; return the results of these data sets."""
    raw = read_raw()
    done = set(zip(raw["table"], raw["seed"], raw["method"], strict=True))
    for seed in range(N_SPLITS):
        for name in names:
            data = load(name)
            for method in METHODS:
                if (name, seed, method) in done:
                    continue
                with warnings.catch_warnings(), one_blas_thread():
                    warnings.simplefilter("ignore")
                    result = measure(data, method, seed)
                line = {"table": name, "seed": seed, "method": method, **result}
                with RAW.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                console.print(f"{name} {seed} {method} {result['error']:.4f}", style="dim")
    raw = read_raw()
    return raw[raw["table"].isin(names)]


@dataclass(frozen=True)
class Summary:
    """Mean errors and log-losses by data set and method."""

    raw: pd.DataFrame

    def mean(self, value: str) -> pd.DataFrame:
        """Return means of a column, with a row for each data set and a column for each method."""
        return self.raw.pivot_table(index="table", columns="method", values=value)

    def old_losses(self) -> tuple[pd.Series, pd.Series]:
        """Return our mean log-losses and those of 0.1.0, on the splits that both have."""
        wide = self.raw.pivot_table(index=["table", "seed"], columns="method", values="loss")
        both = (
            wide.dropna(subset=[OLD, "opgd"]) if OLD in wide else wide.iloc[:0].assign(**{OLD: 0})
        )
        means = both.groupby("table")[["opgd", OLD]].mean()
        return means["opgd"], means[OLD]

    def excess(self) -> tuple[str, float, float]:
        """Return the best rival, and our mean error above it with its paired standard error."""
        errors = self.mean("error")
        rival = str(errors[RIVALS].mean().idxmin())
        wide = self.raw.pivot_table(index=["table", "seed"], columns="method", values="error")
        steps = (wide["opgd"] - wide[rival]).unstack("seed")
        # variance of a mean over tables of means over splits
        variance = float(np.mean(steps.var(axis=1, ddof=1) / steps.count(axis=1))) / len(steps)
        return rival, float(steps.mean(axis=1).mean()), float(np.sqrt(variance))


def show_selection(console: Console) -> bool:
    """The paper's data sets, with all bounds."""
    summary = Summary(record(NAMES, console))
    _show_table(console, summary, NAMES, "Default selection, the paper's data sets")
    errors, losses = summary.mean("error"), summary.mean("loss")
    rival, excess, deviation = summary.excess()
    ours, old = summary.old_losses()
    near = losses["opgd"] - losses[["lda", "logistic"]].min(axis=1) <= MAX_EXCESS_LOSS
    bounds = {
        f"mean error at most {MAX_MEAN_ERROR}": (
            f"{errors['opgd'].mean():.4f}",
            errors["opgd"].mean() <= MAX_MEAN_ERROR,
        ),
        **{
            f"{name} at most {most}": (f"{errors['opgd'][name]:.4f}", errors["opgd"][name] <= most)
            for name, most in MAX_ERROR.items()
        },
        f"above {rival}, at most 2 standard errors": (
            f"{excess:+.4f}, standard error {deviation:.4f}",
            excess <= 2 * deviation,
        ),
        f"log-loss below that of 0.1.0 on {LEAST_LOWER_LOSSES}": (
            f"{int((ours < old).sum())} of {len(ours)}",
            (ours < old).sum() >= LEAST_LOWER_LOSSES,
        ),
        f"log-loss at most {MAX_EXCESS_LOSS} above LDA or logistic on {LEAST_NEAR}": (
            f"{int(near.sum())} of {len(near)}",
            near.sum() >= LEAST_NEAR,
        ),
    }
    table = make_table(["bound"], ["result"])
    for name, (text, kept) in bounds.items():
        table.add_row(name, text, verdict(bool(kept)))
    show(console, "Bounds", table, "")
    _show_corrections(console, summary)
    return all(bool(kept) for _, kept in bounds.values())


def show_other_selection(console: Console) -> bool:
    """Data sets on which nothing was chosen, from the folder `more`."""
    names = [f"more/{name}" for name in OTHERS]
    summary = Summary(record(names, console))
    _show_table(console, summary, names, "Default selection, data sets not used for tuning")
    rival, excess, deviation = summary.excess()
    console.print(f"Above {rival}: {excess:+.4f}, paired standard error {deviation:.4f}.")
    _show_corrections(console, summary)
    return True


def _show_table(console: Console, summary: Summary, names: list[str], title: str) -> None:
    how = (
        f"Means of {N_SPLITS} random splits (75 / 25). opgd: OPGDClassifierCV(); svc: RBF kernel, "
        f"5 x 5 grid by 5 folds on at most {MAX_GRID_ROWS} training rows; forest: 500 trees; "
        "boosting: histogram gradient boosting."
    )
    methods = ["opgd", *RIVALS, "logistic", "lda"]
    for value, name in {"error": "test errors", "loss": "log-losses"}.items():
        means = summary.mean(value)
        shown = [method for method in methods if method in means]
        table = make_table(["data set"], shown)
        for row in names:
            numbers = [f"{means[method][row]:.4f}" for method in shown]
            table.add_row(row.removeprefix("more/"), *numbers)
        table.add_row("mean", *[f"{means[method].mean():.4f}" for method in shown])
        show(console, f"{title}: {name}", table, how)


def _show_corrections(console: Console, summary: Summary) -> None:
    ours = summary.raw[summary.raw["method"] == "opgd"]
    for label, column in {"selected": "cv_error", "corrected": "corrected_error"}.items():
        difference = (ours[column] - ours["error"]).groupby(ours["table"]).mean()
        console.print(
            f"{label} error minus test error: mean {difference.mean():+.4f}, standard deviation "
            f"over data sets {difference.std():.4f}"
        )
    console.print(
        f"Without calibration: log-loss {ours.groupby('table')['raw_loss'].mean().mean():.3f}, "
        f"error {ours.groupby('table')['raw_error'].mean().mean():.4f} (with: "
        f"{ours.groupby('table')['loss'].mean().mean():.3f}, "
        f"{ours.groupby('table')['error'].mean().mean():.4f}); "
        f"{ours['changed'].mean():.3%} of the predictions change."
    )


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


def cpu_seconds(model: Any, X: FloatArray, y: AnyArray) -> float:
    """Return the CPU seconds of a fit."""
    begin = time.process_time()
    model.fit(X, y)
    return time.process_time() - begin


def make_large_table(n_rows: int = 20_000, true_number: int = 4) -> tuple[FloatArray, AnyArray]:
    """Draw 26 classes of several Gaussians each, in 16 dimensions."""
    rng = np.random.default_rng(0)
    centers = 3.0 * rng.normal(size=(26, true_number, 16))
    y = rng.integers(0, 26, n_rows)
    mixing = rng.normal(size=(16, 16))
    X = centers[y, rng.integers(0, true_number, n_rows)] + 1.5 * rng.normal(size=(n_rows, 16))
    return X @ mixing, y


def show_speed(console: Console) -> bool:
    """CPU seconds of the default selection beside the grid of an SVC on the same rows."""
    table = make_table(["data set"], ["rows", "opgd, s", "SVC grid, s", "ratio"])
    kept = True
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in SPEED_TABLES:
            data = load_any(name)
            seconds: dict[str, list[float]] = {"opgd": [], "svc": []}
            for _ in range(N_RUNS):
                seconds["opgd"].append(cpu_seconds(OPGDClassifierCV(), data.X, data.y))
                seconds["svc"].append(cpu_seconds(SearchedSVC(), data.X, data.y))
            ours, theirs = min(seconds["opgd"]), min(seconds["svc"])
            fast = ours <= max(MAX_SECONDS, MAX_RATIO * theirs)
            kept &= fast
            numbers = [f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}"]
            table.add_row(name, str(len(data.X)), *numbers, verdict(fast))
        kept &= _show_large(table)
    show(
        console,
        "CPU seconds of a selection",
        table,
        f"Minimum of {N_RUNS} interleaved runs, one thread. Bound: {MAX_SECONDS:g} s or the grid "
        f"of 5 x 5 with 5 folds, refit included; simulated: {MAX_LARGE_RATIO:g} of the grid, and "
        "the number of Gaussians within a factor of two of the truth (one run; the grid is stopped "
        "when the bound is reached).",
    )
    return kept


def seconds_of_grid(X: FloatArray, y: AnyArray, most: float) -> float:
    """Return the CPU seconds of the SVC's grid, which is stopped after `most` seconds."""
    begin = time.process_time()
    pipeline, grid = make_svc_grid(X.shape[1])
    for train, test in StratifiedKFold(5).split(X, y):
        for parameters in ParameterGrid(grid):
            pipeline.set_params(**parameters).fit(X[train], y[train]).score(X[test], y[test])
            if time.process_time() - begin > most:
                return time.process_time() - begin
    return time.process_time() - begin


def _show_large(table: Any) -> bool:
    X, y = make_large_table()
    model = OPGDClassifierCV()
    ours = cpu_seconds(model, X, y)
    theirs = seconds_of_grid(X, y, ours / MAX_LARGE_RATIO)
    number = len(model.gaussian_classes_) / 26
    kept = ours <= MAX_LARGE_RATIO * theirs and 2 <= number <= 8
    table.add_row(
        f"simulated, 26 classes of 4 Gaussians ({number:.1f} found)",
        str(len(X)),
        f"{ours:.1f}",
        f"> {theirs:.1f}",
        f"< {ours / theirs:.2f}",
        verdict(bool(kept)),
    )
    return bool(kept)
