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
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.data import MORE, NAMES, DataSet, load
from benchmarks.harness import make_table, one_blas_thread, show, verdict
from opgd import OPGDClassifierCV
from opgd.baselines import RegularizedDiscriminantAnalysis
from opgd.core.types import AnyArray, FloatArray

MAX_GRID_ROWS = 2000
"""Training rows on which the parameters of the SVC are selected, where seconds do not matter."""
MAX_NCA_ROWS = 500
"""Training rows to which components are fitted in time quadratic in the rows."""
N_FOLDS = 5
SHRINKAGES = (0.0, 0.01, 0.1, 0.3, 0.6)
"""Shrinkage of QDA; those with which the covariance of a class is singular are left out."""
RANK_TOLERANCE = 1e-10
MAX_ALPHAS = 25
NEIGHBORS = (25, 15, 9, 5, 3, 1)


def draw_rows(X: FloatArray, y: AnyArray, most: int | None) -> tuple[FloatArray, AnyArray]:
    """Return a stratified sample of at most so many rows, or all rows if `most` is None."""
    if most is None or len(X) <= most:
        return X, y
    sample, _, labels, _ = train_test_split(X, y, train_size=most, stratify=y, random_state=0)
    return sample, labels


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
        sample, labels = draw_rows(X, y, self.max_rows)
        search = GridSearchCV(pipeline, grid, cv=5, refit=False).fit(sample, labels)
        self.model_ = pipeline.set_params(**search.best_params_).fit(X, y)
        return self

    def predict(self, X: FloatArray) -> AnyArray:
        """Predict the classes of rows."""
        labels: AnyArray = self.model_.predict(X)
        return labels


class SearchedRDA:
    """RDA with alpha by 5 folds: as many values from 0 to 1 as features, at most 25."""

    def fit(self, X: FloatArray, y: AnyArray) -> Any:
        """Return the classifier with the selected parameter, fitted to all rows."""
        n_alphas = min(X.shape[1], MAX_ALPHAS)
        grid = {"alpha": np.linspace(0, 1, max(n_alphas, 2))}
        return GridSearchCV(RegularizedDiscriminantAnalysis(), grid, cv=N_FOLDS).fit(X, y)


class NearestInComponents:
    """k-NN in the space of NCA on standardized features, with k by 5 folds.

    NCA is fitted once, to a stratified sample if there are many rows; the folds share its space.
    """

    def fit(self, X: FloatArray, y: AnyArray) -> Any:
        """Return a pipeline of the fitted steps."""
        scaler = StandardScaler().fit(X)
        nca = NeighborhoodComponentsAnalysis(random_state=0)
        nca.fit(*draw_rows(scaler.transform(X), y, MAX_NCA_ROWS))
        neighbors = fit_neighbors(nca.transform(scaler.transform(X)), y)
        return make_pipeline(scaler, nca, neighbors)


class Nearest:
    """k-NN on standardized features, with k by 5 folds."""

    def fit(self, X: FloatArray, y: AnyArray) -> Any:
        """Return a pipeline of the fitted steps."""
        scaler = StandardScaler().fit(X)
        return make_pipeline(scaler, fit_neighbors(scaler.transform(X), y))


def fit_neighbors(X: FloatArray, y: AnyArray) -> KNeighborsClassifier:
    """Return k-NN with the k of the lowest error in 5 folds, the largest of equals.

    Neighbors are searched for once in each fold, for all k.
    """
    classes, codes = np.unique(y, return_inverse=True)
    errors = np.zeros(len(NEIGHBORS))
    for train, test in StratifiedKFold(N_FOLDS).split(X, y):
        model = KNeighborsClassifier(max(NEIGHBORS)).fit(X[train], y[train])
        nearest = codes[train][model.kneighbors(X[test], return_distance=False)]
        votes = nearest[:, :, None] == np.arange(len(classes))
        for i, number in enumerate(NEIGHBORS):
            predicted = votes[:, :number].sum(axis=1).argmax(axis=1)
            errors[i] += np.sum(predicted != codes[test])
    return KNeighborsClassifier(NEIGHBORS[int(errors.argmin())]).fit(X, y)


def make_qda() -> Any:
    """Return QDA on standardized features, shrunk toward a multiple of the identity by 5 folds."""
    qda = QuadraticDiscriminantAnalysis(solver="eigen", tol=RANK_TOLERANCE)
    grid = {"quadraticdiscriminantanalysis__shrinkage": SHRINKAGES}
    return GridSearchCV(make_pipeline(StandardScaler(), qda), grid, cv=N_FOLDS)


METHODS: dict[str, Callable[[], Any]] = {
    "opgd": OPGDClassifierCV,
    "lda": LinearDiscriminantAnalysis,
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=3000)),
    "forest": lambda: RandomForestClassifier(500, random_state=0),
    "svc": lambda: SearchedSVC(MAX_GRID_ROWS),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "qda": make_qda,
    "rda": SearchedRDA,
    "knn": Nearest,
    "nca_knn": NearestInComponents,
}


RAW = Path(__file__).parent.parent / "results" / "selection.jsonl"
N_SPLITS, TEST_SHARE = 10, 0.25
MAX_MEAN_ERROR = 0.066
RIVALS = ["svc", "forest", "boosting"]
SHOWN = ["opgd", *RIVALS, "logistic", "lda"]
"""Methods of the sections below; `public-benchmark` has more."""


def measure(data: DataSet, method: str, seed: int) -> dict[str, Any]:
    """Fit a method to three quarters of the rows, and evaluate it on the others."""
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, test_size=TEST_SHARE, random_state=seed, stratify=data.y
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


def record(names: list[str], methods: list[str], console: Console) -> pd.DataFrame:
    """Measure what is missing; return the results of these data sets."""
    raw = read_raw()
    done = set(zip(raw["table"], raw["seed"], raw["method"], strict=True))
    for seed in range(N_SPLITS):
        for name in names:
            missing = [method for method in methods if (name, seed, method) not in done]
            if not missing:
                continue
            data = load(name)
            for method in missing:
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
    summary = Summary(record(NAMES, SHOWN, console))
    _show_table(console, summary, NAMES, "Default selection, the paper's data sets")
    error = summary.mean("error")["opgd"].mean()
    rival, excess, deviation = summary.excess()
    bounds = {
        f"mean error at most {MAX_MEAN_ERROR}": (f"{error:.4f}", error <= MAX_MEAN_ERROR),
        f"above {rival}, at most 2 standard errors": (
            f"{excess:+.4f}, standard error {deviation:.4f}",
            excess <= 2 * deviation,
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
    summary = Summary(record(MORE, SHOWN, console))
    _show_table(console, summary, MORE, "Default selection, data sets not used for tuning")
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
    for value, name in {"error": "test errors", "loss": "log-losses"}.items():
        means = summary.mean(value)
        shown = [method for method in SHOWN if method in means]
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
