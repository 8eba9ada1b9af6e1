"""ONNX graphs: differences from the predictions of the estimators, and throughput."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import onnxruntime
from rich.console import Console
from rich.table import Table

from benchmarks.data import DataSet, load
from benchmarks.harness import OtherWork, fastest, make_table, one_blas_thread, show, verdict
from benchmarks.missing import fit_quietly, sample_rows
from opgd import OPGDClassifier, OPGDClassifierCV, OPGDMixture, OPGDSemiSupervised, to_onnx
from opgd.baselines import (
    AlternatingComponents,
    CommonPrincipalComponents,
    GaussianMixturePursuit,
    InformativeComponents,
    LikelihoodRatioPursuit,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from opgd.core.types import AnyArray, FloatArray

NAMES = ["iris", "wine", "vowel", "satellite", "image_seg"]
MODELS: dict[str, Callable[[int], Any]] = {
    "OPGDClassifier": lambda _: OPGDClassifier(),
    "  full, 4 Gaussians": lambda _: OPGDClassifier(covariance_type="full", n_subclasses=4),
    "  half of the features": lambda _: OPGDClassifier(sparsity=0.5),
    "OPGDClassifierCV": lambda _: OPGDClassifierCV(cv=0.3, n_subclasses=(1, 2), random_state=0),
    "OPGDSemiSupervised": lambda _: OPGDSemiSupervised(),
    "OPGDMixture": lambda k: OPGDMixture(k, random_state=0),
    "  with noise": lambda k: OPGDMixture(k, noise=0.05, random_state=0),
    "ReducedRankLDA": lambda _: ReducedRankLDA(),
    "RegularizedDiscriminantAnalysis": lambda _: RegularizedDiscriminantAnalysis(0.9),
    "MixtureDiscriminantAnalysis": lambda _: MixtureDiscriminantAnalysis(),
    "CommonPrincipalComponents": lambda _: CommonPrincipalComponents(n_init=1),
    "SlicedAverageVariance": lambda _: SlicedAverageVariance(),
    "AlternatingComponents": lambda _: AlternatingComponents(max_iter=10),
    "InformativeComponents": lambda _: InformativeComponents(max_iter=50),
    "  kernels": lambda _: InformativeComponents(centers="samples", variance=0.3, max_iter=10),
    "LikelihoodRatioPursuit": lambda _: LikelihoodRatioPursuit(max_iter=10),
    "GaussianMixturePursuit": lambda _: GaussianMixturePursuit(max_iter=5),
}
TYPES = {"float32": ("float32", "float64"), "float64": ("float64", "float64")}
SINGLE = "single"
VARIANTS = TYPES | {SINGLE: ("float32", "float32")}
"""Types of inputs and outputs, and of the arithmetic."""
BOUNDS = {"float32": 1e-5, "float64": 1e-9}
METHODS = {"probabilities": "predict_proba", "scores": "transform", "typicality": "typicality"}
CLEAR = 1e-4
"""Difference of the two largest probabilities above which labels must be equal."""
UNLABELED = 5
"""One in this many samples is labeled for OPGDSemiSupervised."""
N_ROWS, N_RUNS = 100_000, 5
TIMED = [
    "OPGDClassifier",
    "  full, 4 Gaussians",
    "ReducedRankLDA",
    "RegularizedDiscriminantAnalysis",
]


@dataclass(frozen=True)
class Difference:
    """Largest differences of the outputs, and numbers of clear labels, all and different ones."""

    outputs: dict[str, float]
    n_clear: int
    n_wrong: int

    def __add__(self, other: "Difference") -> "Difference":
        outputs = {name: max(value, other.outputs[name]) for name, value in self.outputs.items()}
        return Difference(outputs, self.n_clear + other.n_clear, self.n_wrong + other.n_wrong)


def fit_model(name: str, data: DataSet) -> Any:
    """An estimator, fitted to some of the rows, with labels as text."""
    part = sample_rows(data)
    labels = np.array([f"class {label}" for label in part.y], dtype=object)
    model = MODELS[name](len(np.unique(part.y)))
    if isinstance(model, OPGDSemiSupervised):
        labels[np.arange(len(labels)) % UNLABELED > 0] = None
    return fit_quietly(model, part.X, labels)[0]


def open_graph(model: Any, variant: str, outputs: Any = None) -> Any:
    """The graph of a model, evaluated by one thread."""
    dtype, compute_dtype = VARIANTS[variant]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = to_onnx(model, dtype=dtype, compute_dtype=compute_dtype, outputs=outputs)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def compare_outputs(model: Any, X: FloatArray, variant: str) -> Difference:
    """Differences between a graph and its model; samples are rounded to the type of the inputs."""
    samples = X.astype(VARIANTS[variant][0])
    session = open_graph(model, variant)
    names = [output.name for output in session.get_outputs()]
    results = dict(zip(names, session.run(names, {"X": samples}), strict=True))
    samples = samples.astype(np.float64)
    outputs = {}
    for name, method in METHODS.items():
        if name in results:
            expected = getattr(model, method)(samples)
            scale = np.abs(expected).max() if name == "scores" else 1.0
            outputs[name] = float(np.abs(results[name] - expected).max() / scale)
    clear = find_clear(model.predict_proba(samples))
    wrong = results["label"] != model.predict(samples)
    return Difference(outputs, int(clear.sum()), int((wrong & clear).sum()))


def find_clear(probabilities: FloatArray) -> AnyArray:
    """Whether the two largest probabilities differ clearly."""
    ordered = np.sort(probabilities, axis=1)
    clear: AnyArray = ordered[:, -1] - ordered[:, -2] > CLEAR
    return clear


def show_graphs(console: Console) -> bool:
    """Differences of all outputs of all estimators, then throughput."""
    with one_blas_thread():
        return _show_differences(console) & _show_throughput(console)


def measure_differences() -> dict[str, dict[str, Difference]]:
    """Differences over all data sets, by estimator and variant."""
    data = {name: load(name) for name in NAMES}
    totals: dict[str, dict[str, Difference]] = {}
    for name in MODELS:
        for rows in data.values():
            model = fit_model(name, rows)
            found = {variant: compare_outputs(model, rows.X, variant) for variant in VARIANTS}
            before = totals.get(name)
            totals[name] = found if before is None else {v: before[v] + found[v] for v in VARIANTS}
    return totals


def _show_differences(console: Console) -> bool:
    totals = measure_differences()
    labels = make_table(["labels and probabilities"], [*VARIANTS, "wrong labels", "of"])
    kept = [
        _add_row(labels, name, found, ["probabilities"], count_labels=True)
        for name, found in totals.items()
    ]
    how = (
        f"Over {', '.join(NAMES)}: fitted to at most 1500 rows, compared on all. Columns float32 "
        f"and float64: type of inputs and outputs, computed in double; {SINGLE}: all in float32, "
        "without a bound. References are predictions for samples rounded to the type of the "
        "inputs. Wrong labels of the three graphs: among samples whose two largest probabilities "
        f"differ by more than {CLEAR:g}. Bounds: "
        + ", ".join(f"{bound:g} ({variant})" for variant, bound in BOUNDS.items())
        + ", no wrong label."
    )
    show(console, "Largest differences between ONNX graphs and estimators", labels, how)
    outputs = ["scores", "typicality"]
    others = make_table(
        ["other outputs"],
        [f"{output} {variant.removeprefix('float')}" for output in outputs for variant in VARIANTS],
    )
    kept += [_add_row(others, name, found, outputs) for name, found in totals.items()]
    how = (
        "Scores relative to the largest one; an empty cell is an output that the estimator does "
        f"not have. Same bounds. In graphs that compute in float32 ({SINGLE}), the rank among "
        "held-out samples (OPGDClassifierCV) may differ by some samples."
    )
    show(console, "Scores and typicality", others, how)
    return all(kept)


def _add_row(
    table: Table,
    name: str,
    found: dict[str, Difference],
    outputs: list[str],
    *,
    count_labels: bool = False,
) -> bool:
    """Add the differences of an estimator to a table; return whether its bounds are kept."""
    cells = [
        f"{found[variant].outputs[output]:.0e}" if output in found[variant].outputs else ""
        for output in outputs
        for variant in VARIANTS
    ]
    kept = all(
        found[variant].outputs.get(output, 0.0) <= bound
        for variant, bound in BOUNDS.items()
        for output in outputs
    )
    if count_labels:
        wrong = [found[variant].n_wrong for variant in VARIANTS]
        cells += ["/".join(map(str, wrong)), str(found["float64"].n_clear)]
        kept &= not any(wrong[: len(BOUNDS)])
    table.add_row(name, *cells, verdict(kept))
    return kept


def _show_throughput(console: Console) -> bool:
    rng, data = np.random.default_rng(0), load("satellite")
    rows = data.X[rng.integers(0, len(data.X), N_ROWS)]
    X = rows + rng.normal(size=rows.shape)
    table = make_table(["estimator"], ["predict_proba, s", *VARIANTS])
    with OtherWork() as others:
        for name in TIMED:
            model = fit_model(name, data)
            calls: dict[str, Callable[[], object]] = {"model": partial(model.predict_proba, X)}
            for variant, (dtype, _) in VARIANTS.items():
                session = open_graph(model, variant, "probabilities")
                calls[variant] = partial(session.run, None, {"X": X.astype(dtype)})
            seconds = fastest(calls, N_RUNS)
            ratios = [f"{seconds['model'] / seconds[variant]:.2f}" for variant in VARIANTS]
            table.add_row(name.strip(), f"{seconds['model']:.3f}", *ratios)
    show(
        console,
        f"Throughput of ONNX graphs, probabilities of {N_ROWS:,} samples of satellite",
        table,
        "Seconds of predict_proba, and how many times faster the graphs are (onnxruntime, one "
        f"thread each). Fastest of {N_RUNS} runs. {others}",
    )
    return True
