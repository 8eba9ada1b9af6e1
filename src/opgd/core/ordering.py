"""Which component comes first: the paper's greedy rule (Section 3.3)."""

from collections.abc import Callable, Iterator

import numpy as np

from opgd.core.engines import RowBlock
from opgd.core.gaussians import FORMS
from opgd.core.kernels import block_scores, log_ratios
from opgd.core.objective import Objective
from opgd.core.scoring import log_density
from opgd.core.types import FloatArray, IntArray

AxisDensity = Callable[[int], FloatArray]


def order_components(objective: Objective, directions: FloatArray) -> tuple[IntArray, FloatArray]:
    """Order directions by what each adds to the likelihood of those before it.

    With full covariances a projection is its span: the basis is turned to the LDA axes and the
    SAVE axes before (see `opgd.core.starts`), and they stay in that order.

    Returns
    -------
    order : ndarray of shape (q,), indices into the rows of `directions`
    values : ndarray of shape (q,), mean objective with the first 1..q of them
    """
    if objective.form is FORMS["full"]:
        return np.arange(len(directions)), values_of_first(objective, directions)
    chosen: list[int] = []
    values: list[float] = []
    while len(chosen) < len(directions):
        candidates = [j for j in range(len(directions)) if j not in chosen]
        found = values_with_each(objective, directions, chosen, candidates)
        best = int(np.argmax(found))
        chosen.append(candidates[best])
        values.append(float(found[best]))
    return np.array(chosen, dtype=np.intp), np.array(values)


def values_of_first(objective: Objective, directions: FloatArray) -> FloatArray:
    """Mean objective of the first 1..q directions, (q,)."""

    def joints(density: AxisDensity, joint: FloatArray) -> Iterator[FloatArray]:
        for j in range(len(directions)):
            joint = joint + density(j)
            yield joint

    return _mean_values(objective, directions, joints)


def values_with_each(
    objective: Objective, directions: FloatArray, chosen: list[int], candidates: list[int]
) -> FloatArray:
    """Mean objective of the chosen directions with each candidate; for diagonal covariances."""

    def joints(density: AxisDensity, joint: FloatArray) -> Iterator[FloatArray]:
        joint = joint + sum(map(density, chosen))
        for j in candidates:
            yield joint + density(j)

    return _mean_values(objective, directions, joints)


def _mean_values(
    objective: Objective,
    directions: FloatArray,
    joints: Callable[[AxisDensity, FloatArray], Iterator[FloatArray]],
) -> FloatArray:
    """Mean objective for each of the log joints, (C, n), that `joints` makes of axis densities."""
    gaussians, form, targets = objective.gaussians(directions), objective.form, objective.targets
    factors = form.factors(gaussians)
    components = directions @ objective.whitener.T
    padding = np.full((int(targets.n_allowed > 1), 1), -np.inf)

    def block_values(block: RowBlock) -> FloatArray:
        scores = block.workspace.array("scores", len(components), block.n_rows)
        block_scores(block, components, scores)
        priors = np.repeat(gaussians.log_priors[:, None], block.n_rows, axis=1)
        values = []
        for joint in joints(
            lambda j: log_density(j, scores, gaussians.means, factors, form), priors
        ):
            padded = np.vstack([joint, np.repeat(padding, block.n_rows, axis=1)])
            log_ratio, _, _ = log_ratios(block, padded, len(joint), targets)
            values.append(log_ratio.sum() if block.weights is None else block.weights @ log_ratio)
        return np.array(values)

    means: FloatArray = objective.engine.sum(block_values) / objective.engine.total_weight
    return means
