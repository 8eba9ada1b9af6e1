"""One value and gradient, against its matrix products and exp over all rows at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from rich.console import Console

from benchmarks.harness import fastest, make_table, one_blas_thread, show, verdict
from opgd.core.engines import Engine, RowEngine
from opgd.core.gaussians import FORMS
from opgd.core.moments import Moments
from opgd.core.objective import Objective
from opgd.core.targets import Labeled
from opgd.core.types import FloatArray, IntArray

N_RUNS = 7
MAX_RATIO = 1.3

Order = Literal["C", "F"]
ORDERS: dict[str, Order] = {"row-major": "C", "class-major": "F"}


@dataclass(frozen=True)
class Shape:
    """Size of a labeled problem."""

    n_rows: int
    n_columns: int
    n_axes: int
    n_classes: int

    def __str__(self) -> str:
        return f"{self.n_rows} x {self.n_columns}, {self.n_axes} axes, {self.n_classes} classes"


SHAPES = [
    Shape(1_000_000, 50, 9, 10),
    Shape(200_000, 200, 20, 10),
    Shape(1_000_000, 20, 3, 4),
    Shape(1_000_000, 10, 2, 2),
]


def make_rows(shape: Shape, rng: np.random.Generator) -> tuple[FloatArray, IntArray, FloatArray]:
    """Rows of Gaussian classes that overlap, their labels, and the means of the classes."""
    labels = rng.integers(0, shape.n_classes, shape.n_rows)
    means = rng.normal(size=(shape.n_classes, shape.n_columns))
    X = rng.normal(size=(shape.n_rows, shape.n_columns))
    X += means[labels]
    return X, labels, means


def pose(engine: Engine, labels: IntArray, means: FloatArray) -> Objective:
    """The paper's objective for rows of Gaussian classes with these means and variances of one."""
    n_classes, n_columns = means.shape
    weights = np.bincount(labels, minlength=n_classes).astype(np.float64)
    covariances = np.tile(np.eye(n_columns), (n_classes, 1, 1))
    moments = Moments(weights, weights, means - engine.center, covariances)
    return Objective(
        engine,
        np.eye(n_columns),
        moments,
        np.log(moments.priors),
        FORMS["diag"],
        Labeled(np.arange(n_classes)),
    )


def make_objective(shape: Shape, rng: np.random.Generator) -> Objective:
    """The objective of made rows, on one thread."""
    X, labels, means = make_rows(shape, rng)
    return pose(RowEngine(X, labels, center=X.mean(axis=0)), labels, means)


def make_bare_products(
    shape: Shape, X: FloatArray, order: Order, rng: np.random.Generator
) -> Callable[[], None]:
    """The five products and the exp of an evaluation, over all rows at once and nothing else.

    Nothing is allocated while they run. X'G is written G'X, which is up to twice as fast, and no
    column of ones is added to the features.
    """
    n, p, q, C = shape.n_rows, shape.n_columns, shape.n_axes, shape.n_classes
    n_features = 2 * q
    components = np.asarray(rng.normal(size=(p, q)), order=order)
    theta = np.asarray(rng.normal(scale=0.01, size=(C, n_features)), order=order)
    features = np.asarray(rng.normal(size=(n, n_features)), order=order)
    scores = np.zeros((n, q), order=order)
    log_joint = np.zeros((n, C), order=order)
    weights = np.zeros((n, C), order=order)
    slopes = np.zeros((n, n_features), order=order)
    row_slopes, statistics = np.zeros((q, p)), np.zeros((C, n_features))

    def run() -> None:
        np.matmul(X, components, out=scores)
        np.matmul(features, theta.T, out=log_joint)
        np.exp(log_joint, out=weights)
        np.matmul(weights, theta, out=slopes)
        np.matmul(scores.T, X, out=row_slopes)
        np.matmul(weights.T, features, out=statistics)

    return run


def measure(shape: Shape) -> tuple[float, float]:
    """Seconds of the bare products, in the faster of two layouts, and of one evaluation."""
    rng = np.random.default_rng(0)
    objective = make_objective(shape, rng)
    engine = objective.engine
    assert isinstance(engine, RowEngine)
    X = engine.X
    bare = {name: make_bare_products(shape, X, order, rng) for name, order in ORDERS.items()}
    directions = rng.normal(size=(shape.n_axes, shape.n_columns))
    ours = {"opgd": lambda: objective.value_and_gradient(directions)}
    seconds = fastest({**bare, **ours}, N_RUNS)
    return min(seconds[name] for name in ORDERS), seconds["opgd"]


def run(console: Console) -> bool:
    """Print the ratio for every shape; False if one is over its bound."""
    table = make_table(["shape"], ["bare ms", "opgd ms", "ratio", "bound"])
    all_kept = True
    with one_blas_thread():
        for shape in SHAPES:
            bare, ours = measure(shape)
            kept = ours <= MAX_RATIO * bare
            all_kept &= kept
            numbers = [f"{1e3 * bare:.1f}", f"{1e3 * ours:.1f}", f"{ours / bare:.2f}"]
            table.add_row(str(shape), *numbers, f"{MAX_RATIO:.1f}", verdict(kept))
    show(
        console,
        "Kernel: one value and gradient, against its bare matrix products and exp",
        table,
        f"Least of {N_RUNS} runs, taken in turns. Bare: all rows at once, outputs preallocated, "
        "the faster of row-major and class-major.",
    )
    return all_kept
