"""Fewer features: which are found, what they cost in error, and how long the search takes."""

import json
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from sklearn.feature_selection import RFE, SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.data import DataSet, load
from benchmarks.harness import (
    in_fresh_process,
    make_table,
    one_blas_thread,
    show,
    verdict,
)
from benchmarks.memory import PeakMemory
from opgd import OPGDClassifier, OPGDClassifierCV
from opgd._model_selection.sparsity import thin_sizes
from opgd.core.types import AnyArray, FloatArray, IntArray

RAW = Path(__file__).parent.parent / "results" / "sparse.jsonl"
CASES = ("means", "variances", "correlated noise")
DRAWS = range(100, 120)
N_INFORMATIVE, N_TRAIN, N_TEST, N_FEATURES = 10, 300, 3000, 200
SHIFT, RATIO, NOISE_CORRELATION, NOISE_BLOCK = 0.8, 3.0, 0.7, 10
LEAST_F1 = 0.9
SIMULATED = ("sparse", "default", "dense", "L1 logistic")
"""Methods that are fitted to simulated tables."""
NAMES = ("dermatology", "forest", "libras", "image_seg", "mf_digits", "wide")
N_SPLITS = 10
LEAST_HALVED = 4
"""Number of the six data sets on which half of the features or fewer suffice."""
MAX_FITS = 10.0
WIDE_SHAPE = 100, 20_000
MAX_MEMORY = 1000.0
"""Bound of the memory of a fit to a table of `WIDE_SHAPE` (16 MB), in MB."""


def simulate(case: str, seed: int) -> tuple[DataSet, DataSet, IntArray]:
    """Training and test samples of three classes, and the features in which they differ."""
    rng = np.random.default_rng(seed)
    n_samples = N_TRAIN + N_TEST
    informative = np.sort(rng.choice(N_FEATURES, N_INFORMATIVE, replace=False))
    y = np.arange(n_samples) % 3
    X = rng.standard_normal((n_samples, N_FEATURES))
    if case == "correlated noise":
        shared = rng.standard_normal((n_samples, N_FEATURES // NOISE_BLOCK))
        shared = np.repeat(shared, NOISE_BLOCK, axis=1)
        X = np.sqrt(NOISE_CORRELATION) * shared + np.sqrt(1 - NOISE_CORRELATION) * X
        X[:, informative] = rng.standard_normal((n_samples, N_INFORMATIVE))
    for j in informative:
        place = rng.permutation(3)[y]
        if case == "variances":
            X[:, j] *= np.where(place == 0, np.sqrt(RATIO), 1.0)
        else:
            X[:, j] += SHIFT * (place - 1)
    return DataSet(X[:N_TRAIN], y[:N_TRAIN]), DataSet(X[N_TRAIN:], y[N_TRAIN:]), informative


def make_wide() -> DataSet:
    """A table with nearly as many features as samples, in blocks of correlated features."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 4
    shared = np.repeat(rng.standard_normal((240, 40)), 5, axis=1)
    X = 0.7 * shared + 0.7 * rng.standard_normal((240, 200))
    for j in range(12):
        X[:, 7 * j] += 1.2 * rng.permutation(4)[y]
    return DataSet(X, y)


def find_data(name: str) -> DataSet:
    """A data set by its name."""
    return make_wide() if name == "wide" else load(name)


def make_l1() -> Any:
    """Logistic regression with an L1 penalty selected by cross-validation, one class at a time."""
    binary = LogisticRegressionCV(
        Cs=np.logspace(-2, 1, 7),
        l1_ratios=(1.0,),
        solver="liblinear",
        cv=5,
        use_legacy_attributes=False,
    )
    return make_pipeline(StandardScaler(), OneVsRestClassifier(binary))


def count_l1(model: Any) -> int:
    """Number of features with a coefficient in any of the regressions."""
    coefficients = np.vstack([m.coef_ for m in model[-1].estimators_])
    return int(np.any(coefficients != 0, axis=0).sum())


def evaluate_split(train: DataSet, test: DataSet) -> dict[str, tuple[int, float, float]]:
    """Number of features, test error and CPU seconds of each method."""
    rows = {}

    def record(name: str, model: Any, count: Callable[[Any], int]) -> None:
        begin = time.process_time()
        model.fit(train.X, train.y)
        seconds = time.process_time() - begin
        rows[name] = (count(model), 1 - float(model.score(test.X, test.y)), seconds)

    record("dense", OPGDClassifierCV(sparsity=0), lambda model: int(model.support_.sum()))
    record("sparse", OPGDClassifierCV(sparsity="auto"), lambda model: int(model.support_.sum()))
    n_kept = rows["sparse"][0]
    dense = OPGDClassifierCV(sparsity=0)
    anova = make_pipeline(SelectKBest(f_classif, k=n_kept), dense)
    record("ANOVA", anova, lambda _: n_kept)
    eliminate = RFE(LogisticRegression(max_iter=300), n_features_to_select=n_kept, step=0.1)
    record("RFE", make_pipeline(StandardScaler(), eliminate, dense), lambda _: n_kept)
    record("L1 logistic", make_l1(), count_l1)
    return rows


def _read() -> pd.DataFrame:
    if not RAW.exists():
        return pd.DataFrame(columns=["data", "seed"])
    return pd.DataFrame([json.loads(line) for line in RAW.read_text().splitlines()])


def _append(rows: list[dict[str, Any]]) -> None:
    with RAW.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def _run_missing(
    cells: list[tuple[str, int]], run: Callable[[str, int], list[dict[str, Any]]]
) -> None:
    """Run cells without results; an interrupted run continues where it stopped."""
    known = {(data, int(seed)) for data, seed in _read()[["data", "seed"]].itertuples(index=False)}
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in cells:
            if cell not in known:
                _append(run(*cell))


def _run_case(case: str, seed: int) -> list[dict[str, Any]]:
    train, test, informative = simulate(case, seed)
    dense = OPGDClassifierCV(sparsity=0).fit(train.X, train.y)
    default = OPGDClassifierCV().fit(train.X, train.y)
    sparse = OPGDClassifierCV(sparsity="auto").fit(train.X, train.y)
    l1 = make_l1().fit(train.X, train.y)
    found = sparse.get_support(indices=True)
    n_right = len(np.intersect1d(found, informative))
    models = {"dense": dense, "default": default, "sparse": sparse, "L1 logistic": l1}
    numbers = {
        "dense": N_FEATURES,
        "default": int(default.support_.sum()),
        "sparse": len(found),
        "L1 logistic": count_l1(l1),
    }
    return [
        {
            "data": case,
            "seed": seed,
            "method": name,
            "n_features": numbers[name],
            "error": 1 - float(model.score(test.X, test.y)),
            "f1": 2 * n_right / (len(found) + N_INFORMATIVE) if name == "sparse" else None,
        }
        for name, model in models.items()
    ]


def _run_split(name: str, seed: int) -> list[dict[str, Any]]:
    data = find_data(name)
    splitter = StratifiedShuffleSplit(1, test_size=0.25, random_state=seed)
    train, test = next(splitter.split(data.X, data.y))
    parts = [DataSet(data.X[rows], data.y[rows]) for rows in (train, test)]
    return [
        {"data": name, "seed": seed, "method": method, "n_features": n, "error": e, "seconds": s}
        for method, (n, e, s) in evaluate_split(*parts).items()
    ]


def show_simulated(console: Console) -> bool:
    """Features found in simulated tables with ten of 200 features that matter."""
    _run_missing(list(product(CASES, DRAWS)), _run_case)
    rows = _read()
    table = make_table(["case"], ["features", "F1", "lowest F1", *SIMULATED])
    kept = True
    for case in CASES:
        of_case = rows[rows.data == case]
        errors = of_case.groupby("method").error.mean()
        sparse = of_case[of_case.method == "sparse"]
        good = sparse.f1.mean() >= LEAST_F1 or case == "correlated noise"
        if case == "variances":
            good &= errors["sparse"] < min(errors["dense"], errors["L1 logistic"])
        kept &= good
        table.add_row(
            case,
            f"{sparse.n_features.mean():.1f}",
            f"{sparse.f1.mean():.3f}",
            f"{sparse.f1.min():.2f}",
            *[f"{errors[name]:.3f}" for name in SIMULATED],
            verdict(good),
        )
    show(
        console,
        "Features that matter",
        table,
        f"Three classes, {N_TRAIN} training samples, {N_INFORMATIVE} of {N_FEATURES} features "
        f"matter, {len(DRAWS)} draws: F1 of the selected features (bound {LEAST_F1:g} for means "
        "and variances), and errors on 3000 test samples. sparse: sparsity='auto'; default: "
        "without arguments, features removed only if this is clearly better; dense: sparsity=0.",
    )
    return kept


def show_sparse(console: Console) -> bool:
    """Errors of models with fewer features beside those of dense models and other selections."""
    _run_missing(list(product(NAMES, range(N_SPLITS))), _run_split)
    rows = _read()
    methods = ("sparse", "dense", "ANOVA", "RFE", "L1 logistic")
    table = make_table(["data set"], ["features", "kept", *methods, "L1 features"])
    n_halved = 0
    for name in NAMES:
        of_data = rows[rows.data == name]
        errors = of_data.pivot(index="seed", columns="method", values="error")
        numbers = of_data.pivot(index="seed", columns="method", values="n_features")
        excess = errors["sparse"] - errors["dense"]
        p = find_data(name).X.shape[1]
        small = numbers["sparse"].mean() <= p / 2
        as_good = excess.mean() <= excess.std() / np.sqrt(len(excess))
        n_halved += small and as_good
        table.add_row(
            name,
            str(p),
            f"{numbers['sparse'].mean():.1f}",
            *[f"{errors[method].mean():.4f}" for method in methods],
            f"{numbers['L1 logistic'].mean():.1f}",
            verdict(bool(small and as_good)),
        )
    show(
        console,
        "Fewer features on data sets",
        table,
        f"Mean test errors over {N_SPLITS} splits of 75 and 25 %. Bound: at most half of the "
        "features, and an error at most one standard error of the difference above that of the "
        f"dense model, on {LEAST_HALVED} of {len(NAMES)}. ANOVA and RFE (of a logistic "
        "regression) keep as many features as the sparse model and are followed by the dense one.",
    )
    return n_halved >= LEAST_HALVED


def show_path_cost(console: Console) -> bool:
    """CPU seconds of all numbers of features on one training set, in dense fits."""
    data = load("satellite")
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dense = _cpu_seconds(OPGDClassifier(), data.X, data.y)
        sizes = thin_sizes(data.X.shape[1])
        path = [_cpu_seconds(OPGDClassifier(sparsity=n, init="lda"), data.X, data.y) for n in sizes]
        within = _cpu_seconds(OPGDClassifierCV(sparsity="auto", cv=0.2), data.X, data.y)
        without = _cpu_seconds(OPGDClassifierCV(sparsity=0, cv=0.2), data.X, data.y)
    memory = in_fresh_process(_measure_wide)
    ratio = sum(path) / dense
    table = make_table([""], ["seconds", "dense fits"])
    table.add_row("dense fit", f"{dense:.1f}", "1", "")
    table.add_row(
        f"{len(sizes)} sizes", f"{sum(path):.1f}", f"{ratio:.1f}", verdict(ratio <= MAX_FITS)
    )
    added = (within - without) / dense
    table.add_row(
        "sizes of a selection, one split",
        f"{within - without:.1f}",
        f"{added:.1f}",
        verdict(added <= MAX_FITS),
    )
    table.add_row(
        f"{WIDE_SHAPE[0]} x {WIDE_SHAPE[1]}: {memory['mb']:.0f} MB",
        f"{memory['seconds']:.1f}",
        "",
        verdict(memory["mb"] <= MAX_MEMORY),
    )
    show(
        console, "Cost of the numbers of features (Satellite)", table, f"Bound: {MAX_FITS:g} fits."
    )
    return ratio <= MAX_FITS and added <= MAX_FITS and memory["mb"] <= MAX_MEMORY


def _cpu_seconds(model: Any, X: FloatArray, y: AnyArray) -> float:
    begin = time.process_time()
    model.fit(X, y)
    return time.process_time() - begin


def _measure_wide() -> dict[str, float]:
    """Peak memory beyond the table, and seconds, of a sparse fit to a wide table."""
    rng = np.random.default_rng(0)
    y = np.arange(WIDE_SHAPE[0]) % 3
    X = rng.standard_normal(WIDE_SHAPE)
    X[:, :5] += 2.0 * y[:, None]
    OPGDClassifier(sparsity=3).fit(X[:, :20], y)
    with PeakMemory() as peak:
        seconds = _cpu_seconds(OPGDClassifier(sparsity=10), X, y)
    return {"mb": peak.growth, "seconds": seconds}
