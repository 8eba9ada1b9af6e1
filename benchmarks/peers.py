"""What others take for the same: PyTorch for an evaluation, scikit-learn and R for whole fits."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks import peer_fits
from benchmarks.harness import (
    OtherWork,
    fastest,
    in_fresh_process,
    make_table,
    one_blas_thread,
    scaled,
    show,
    verdict,
)
from benchmarks.kernel import SHAPES, Shape, make_rows, pose
from benchmarks.memory import PeakMemory
from opgd.core.engines import RowEngine
from opgd.core.types import FloatArray, IntArray

N_RUNS = 9
N_THREADS = 1
AGREEMENT = 1e-9
MOST_CELLS = 30_000_000
"""Of the broadcast (rows, classes, axes); autograd keeps several arrays of that size."""

Evaluation = Callable[[FloatArray], tuple[float, FloatArray]]
"""From directions to value and gradient."""


def find_torch() -> Any | None:
    """PyTorch on one thread, if it is installed."""
    try:
        torch = import_module("torch")
    except ImportError:
        return None
    torch.set_num_threads(N_THREADS)
    return torch


def broadcast_loss(torch: Any, z: Any, y: Any, log_priors: Any, m: Any, s: Any) -> Any:
    """The formula as it stands in the paper, over arrays (rows, classes, axes)."""
    deviations = z[:, None, :] - m
    log_joint = log_priors - 0.5 * (deviations**2 / s + torch.log(s)).sum(dim=2)
    return torch.nn.functional.cross_entropy(log_joint, y)


def expanded_loss(torch: Any, z: Any, y: Any, log_priors: Any, m: Any, s: Any) -> Any:
    """Squares expanded, so that matrix products do the work and nothing has three sides."""
    constant = log_priors - 0.5 * (torch.log(s) + m * m / s).sum(dim=1)
    log_joint = torch.addmm(constant, z, (m / s).T).addmm(z * z, (-0.5 / s).T)
    own = log_joint.gather(1, y[:, None])[:, 0]
    return (torch.logsumexp(log_joint, dim=1) - own).mean()


@dataclass(frozen=True)
class Peer:
    """A way to evaluate the objective with PyTorch, and how much slower it should be."""

    loss: Callable[..., Any]
    least_ratio: float
    most_cells: float = np.inf

    def rows(self, shape: Shape) -> int:
        """As many as fit into memory."""
        return int(min(shape.n_rows, self.most_cells // (shape.n_classes * shape.n_axes)))


PEERS = {
    "broadcast": Peer(broadcast_loss, 8.0, MOST_CELLS),
    "expanded": Peer(expanded_loss, 1.8),
}


def torch_evaluation(
    loss: Callable[..., Any], X: FloatArray, y: IntArray, means: FloatArray, log_priors: FloatArray
) -> Evaluation:
    """Value and gradient by autograd, of centered rows; class covariances are the identity."""
    torch = import_module("torch")
    X, y, means, log_priors = map(torch.from_numpy, (X, y, means, log_priors))
    covariances = torch.eye(X.shape[1], dtype=X.dtype).repeat(len(means), 1, 1)

    def evaluate(directions: FloatArray) -> tuple[float, FloatArray]:
        V = torch.tensor(directions, requires_grad=True)
        variances = ((V @ covariances) * V).sum(dim=2)  # (n_classes, n_axes)
        lost = loss(torch, X @ V.T, y, log_priors, means @ V.T, variances)
        lost.backward()
        return -lost.item(), -V.grad.numpy()

    return evaluate


def evaluations(shape: Shape, names: list[str]) -> tuple[dict[str, Evaluation], FloatArray]:
    """Ours and theirs for the same rows, and directions to evaluate at."""
    rng = np.random.default_rng(0)
    X, labels, means = make_rows(shape, rng)
    center = X.mean(axis=0)
    X -= center
    means -= center
    directions = rng.normal(size=(shape.n_axes, shape.n_columns))
    objective = pose(RowEngine(X, labels, n_threads=N_THREADS), labels, means)
    own: dict[str, Evaluation] = {"opgd": objective.value_and_gradient}
    for name in names:
        loss = PEERS[name].loss
        own[name] = torch_evaluation(loss, X, labels, means, objective.log_priors)
    return own, directions


def measure_times(shape: Shape, name: str) -> dict[str, float]:
    """Seconds of an evaluation, ours and the peer's; they must agree on the result."""
    calls, directions = evaluations(shape, [name])
    value, gradient = calls["opgd"](directions)
    their_value, their_gradient = calls[name](directions)
    np.testing.assert_allclose(their_value, value, rtol=AGREEMENT)
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(their_gradient, gradient, atol=AGREEMENT * scale, rtol=0)
    ready = {key: lambda call=call: call(directions) for key, call in calls.items()}
    return fastest(ready, N_RUNS)


def measure_growth(shape: Shape, name: str) -> float:
    """Megabytes that an evaluation adds to a fresh process with the rows in it."""
    find_torch() if name != "opgd" else None
    names = [] if name == "opgd" else [name]
    few, few_directions = evaluations(replace(shape, n_rows=1000), names)
    few[name](few_directions)  # libraries load what they need
    calls, directions = evaluations(shape, names)
    with one_blas_thread(), PeakMemory() as memory:
        calls[name](directions)
    return memory.growth


def show_evaluations(console: Console, scale: float) -> bool:
    """Times and memory of one value and gradient; False if a bound is not kept."""
    torch = find_torch()
    if torch is None:
        console.print(
            "\nPyTorch: skipped, not installed (pip install torch==2.13.0 to have it compared).",
            style="yellow",
        )
        return True
    columns = ["rows", "opgd ms", "torch ms", "ratio", "at\nleast", "opgd MB", "torch MB"]
    table = make_table(["shape", "PyTorch"], columns)
    all_kept = True
    with one_blas_thread(), OtherWork() as others:
        for shape in SHAPES:
            for name, peer in PEERS.items():
                n_rows = scaled(peer.rows(shape), scale)
                own = replace(shape, n_rows=n_rows)
                seconds = measure_times(own, name)
                growth = [in_fresh_process(measure_growth, own, key) for key in ("opgd", name)]
                ratio = seconds[name] / seconds["opgd"]
                kept = ratio >= peer.least_ratio and growth[0] < growth[1]
                all_kept &= kept
                numbers = [str(n_rows), *[f"{1e3 * own:.1f}" for own in seconds.values()]]
                numbers += [f"{ratio:.2f}", f"{peer.least_ratio:.1f}"]
                numbers += [f"{own:.0f}" for own in growth]
                words = f"p={shape.n_columns} q={shape.n_axes} K={shape.n_classes}"
                table.add_row(words, name, *numbers, verdict(kept, "short"))
    show(
        console,
        f"PyTorch {torch.__version__}: one value and gradient by autograd, float64",
        table,
        f"Least of {N_RUNS} runs, taken in turns on {N_THREADS} thread; both had the same result. "
        f"Memory: what an evaluation adds at its peak, in a fresh process. Broadcast: no more than "
        f"{MOST_CELLS:g} cells (rows, classes, axes). {others}",
    )
    return all_kept


def run(console: Console, scale: float) -> bool:
    """Evaluations, then whole fits."""
    kept = show_evaluations(console, scale)
    return peer_fits.run(console, scale) and kept
