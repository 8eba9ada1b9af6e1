"""Calibration of OPGDSemiSupervised, and its fallback where unlabeled samples do not help."""

import time
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.data import load
from benchmarks.harness import make_table, one_blas_thread, show, verdict
from opgd import OPGDClassifier, OPGDSemiSupervised
from opgd.core.types import AnyArray, FloatArray

DATA_SETS = ["wine", "seeds", "vowel", "satellite", "image_seg", "dermatology"]
NUMBERS_OF_LABELS = (5, 10)
N_DRAWS = 30
MAX_ROWS = 1000
N_BINS = 15
"""Of the confidence, for the expected calibration error."""


@dataclass(frozen=True)
class Draw:
    """Rows, codes of their classes, and labels: codes, or -1 for rows without a label."""

    X: FloatArray  # (n, p)
    codes: AnyArray  # (n,)
    labels: AnyArray  # (n,)


def draw_labels(name: str, n_labels: int, seed: int) -> Draw:
    """Draw rows of a data set, and labels of as many rows of each class."""
    data = load(name)
    rng = np.random.RandomState(seed)
    rows = rng.permutation(len(data.X))[:MAX_ROWS]
    X, codes = data.X[rows], np.unique(data.y, return_inverse=True)[1][rows]
    labels = np.full(len(codes), -1)
    for code in np.unique(codes):
        drawn = rng.choice(np.flatnonzero(codes == code), n_labels, replace=False)
        labels[drawn] = code
    return Draw(X, codes, labels)


def expected_calibration_error(probabilities: FloatArray, codes: AnyArray) -> float:
    """Mean difference of confidence and accuracy, in bins of equal width."""
    confidence = probabilities.max(axis=1)
    correct = probabilities.argmax(axis=1) == codes
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    sums = np.bincount(bins, confidence - correct, N_BINS)
    return float(np.abs(sums).sum() / len(codes))


def evaluate(model: object, draw: Draw) -> dict[str, float]:
    """Error, log-loss and calibration error on the unlabeled rows."""
    hidden = draw.labels < 0
    codes = draw.codes[hidden]
    probabilities = model.predict_proba(draw.X[hidden])  # type: ignore[attr-defined]
    true = np.maximum(probabilities[np.arange(len(codes)), codes], np.finfo(float).eps)
    return {
        "error": float(np.mean(probabilities.argmax(axis=1) != codes)),
        "log_loss": float(-np.log(true).mean()),
        "calibration": expected_calibration_error(probabilities, codes),
    }


def compare(draw: Draw) -> dict[str, float]:
    """Results of LDA on the labeled rows, twice, and of OPGDSemiSupervised before and after."""
    known = draw.labels >= 0
    X, labels = draw.X[known], draw.labels[known]
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, labels)
    ridged = OPGDClassifier(shrinkage=1.0, init="lda", max_iter=0).fit(X, labels)
    results = {"lda": evaluate(lda, draw)["error"], "ridged": evaluate(ridged, draw)["error"]}
    for name, calibrate in (("before", False), ("after", True)):
        start = time.perf_counter()
        model = OPGDSemiSupervised(calibrate=calibrate).fit(draw.X, draw.labels)
        results[f"{name} seconds"] = time.perf_counter() - start
        results |= {f"{name} {key}": value for key, value in evaluate(model, draw).items()}
    return results | {"unlabeled": float(model.uses_unlabeled_)}


def measure(name: str, n_labels: int) -> dict[str, FloatArray]:
    """Results of all draws, by name."""
    draws = [compare(draw_labels(name, n_labels, seed)) for seed in range(N_DRAWS)]
    return {key: np.array([draw[key] for draw in draws]) for key in draws[0]}


def show_few_labels(console: Console) -> bool:
    """The tables, and whether errors are at most those of LDA and log-losses decrease."""
    settings = [(name, n_labels) for name in DATA_SETS for n_labels in NUMBERS_OF_LABELS]
    with one_blas_thread():
        results = {setting: measure(*setting) for setting in settings}
    return _show_errors(console, results) and _show_calibration(console, results)


Results = dict[tuple[str, int], dict[str, FloatArray]]
"""Results of all draws, by data set and number of labels."""
ERRORS = ("lda", "ridged", "before error", "after error")


def _show_errors(console: Console, results: Results) -> bool:
    table = make_table(
        ["data set", "labels"],
        ["LDA", "ridged LDA", "before", "after", "less LDA", "(s.e.)", "unlabeled used"],
    )
    all_kept = True
    for (name, n_labels), columns in results.items():
        bound = min((columns["lda"], columns["ridged"]), key=np.mean)
        excess = columns["after error"] - bound
        standard_error = float(excess.std(ddof=1) / np.sqrt(len(excess)))
        kept = bool(excess.mean() <= 2 * standard_error)
        all_kept &= kept
        table.add_row(
            name,
            str(n_labels),
            *[f"{columns[key].mean():.4f}" for key in ERRORS],
            f"{excess.mean():+.4f}",
            f"{standard_error:.4f}",
            f"{columns['unlabeled'].mean():.0%}",
            verdict(kept),
        )
    means = _average(results)
    difference = means["after error"] - min(means["lda"], means["ridged"])
    cells = [f"{means[key]:.4f}" for key in ERRORS]
    used = f"{means['unlabeled']:.0%}"
    table.add_row("mean", "", *cells, f"{difference:+.4f}", "", used, verdict(difference <= 0))
    show(
        console,
        "Few labels per class: error on the unlabeled rows",
        table,
        f"Means of {N_DRAWS} draws of the labels among at most {MAX_ROWS} rows. LDA is that of "
        "scikit-learn with automatic shrinkage; ridged LDA is ours; both are fitted to the labels "
        "alone. Before and after: OPGDSemiSupervised with calibrate=False and calibrate=True. "
        "Bounds: the LDA with the lower mean, in each row plus two standard errors of the "
        "difference.",
    )
    return all_kept and difference <= 0


def _show_calibration(console: Console, results: Results) -> bool:
    table = make_table(
        ["data set", "labels"],
        ["log-loss before", "after", "cal. error before", "after", "seconds before", "after"],
    )
    for (name, n_labels), columns in results.items():
        means = {key: float(values.mean()) for key, values in columns.items()}
        table.add_row(name, str(n_labels), *_format_calibration(means))
    means = _average(results)
    lower = means["after log_loss"] < means["before log_loss"]
    lower &= means["after calibration"] < means["before calibration"]
    table.add_row("mean", "", *_format_calibration(means), verdict(lower))
    show(
        console,
        "Few labels per class: probabilities of the unlabeled rows",
        table,
        f"Expected calibration error with {N_BINS} bins. Bounds: both means are lower after.",
    )
    return lower


def _average(results: Results) -> dict[str, float]:
    keys = next(iter(results.values()))
    return {key: float(np.mean([columns[key] for columns in results.values()])) for key in keys}


def _format_calibration(mean: dict[str, float]) -> list[str]:
    keys = ("log_loss", "calibration", "seconds")
    return [
        f"{mean[f'{when} {key}']:.2f}" if key == "seconds" else f"{mean[f'{when} {key}']:.3f}"
        for key in keys
        for when in ("before", "after")
    ]
