r"""The graph of the typicality: tails of chi-squared distributions, and ranks.

With q degrees of freedom and t half of a squared distance, integration by parts gives

    P(chi^2_q >= 2t) = Q(q / 2, t),   Q(a + 1, t) = Q(a, t) + t^a e^-t / Gamma(a + 1),
    Q(1, t) = e^-t,   Q(1/2, t) = erfc(sqrt(t)) = e^-t erfcx(sqrt(t)).

All terms are computed as logarithms, so that small probabilities have small relative errors.
"""

from functools import cache

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import chdtrc, erfcx, gammaln

from opgd._onnx.graph import Graph
from opgd.core.held_out import HeldOut
from opgd.core.types import FloatArray

DEGREE = 40
"""Degree of the polynomial from which smaller ones are cut off."""
TIES = {"float32": 1e-5, "float64": 1e-12}
"""Relative difference of distances below which they are considered equal."""


def add_typicality(
    graph: Graph, distances: str, n_components: int, held_out: HeldOut | None
) -> str:
    """Add the typicality of samples from squared distances to the nearest Gaussian, (n,)."""
    if held_out is None:
        return graph.add("Exp", add_log_tail(graph, distances, n_components))
    assert held_out.distances is not None
    order = np.argsort(held_out.distances, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(held_out.weights[order])])
    total, largest = float(sums[-1]), float(held_out.distances.max())
    ranks = add_ranks(graph, distances, held_out.distances[order])
    shares = graph.add("Gather", (total - sums + 1.0) / (total + 1.0), ranks)
    scale = float(np.average(held_out.distances, weights=held_out.weights)) / n_components
    if scale <= 0:
        return shares
    # beyond all held-out samples, the share decreases like the tail of a scaled distribution
    start = max(float(chdtrc(n_components, largest / scale)), np.finfo(float).tiny)
    log_tail = add_log_tail(graph, graph.add("Div", distances, scale), n_components)
    change = graph.add("Min", graph.add("Sub", log_tail, np.log(start)), 0.0)
    reduced = graph.add("Mul", shares, graph.add("Exp", change))
    return graph.add("Where", graph.add("Greater", distances, largest), reduced, shares)


def add_log_tail(graph: Graph, distances: str, degrees: int) -> str:
    """Add the log probabilities of larger values of a chi-squared distribution, (n,)."""
    half = graph.add("Mul", distances, 0.5)
    first = graph.add("Neg", half)
    if degrees % 2:
        first = graph.add("Add", first, add_log_erfcx(graph, graph.add("Sqrt", half)))
    powers = np.arange(degrees / 2 - 1, 0, -1)
    if len(powers):
        columns = graph.add("Unsqueeze", half, np.array([1]))
        first = graph.add("Unsqueeze", first, np.array([1]))
        terms = graph.add("Concat", _add_log_terms(graph, columns, powers), first, axis=1)
        first = graph.log_sum_exp(terms)
    return graph.add("Min", first, 0.0)


def _add_log_terms(graph: Graph, half: str, powers: FloatArray) -> str:
    """Add log(t^a e^-t / Gamma(a + 1)) = a (log r - (r - 1)) + constant, r = t / a, (n, m)."""
    ratios = graph.add("Div", half, powers)
    logs = graph.add("Log", graph.add("Max", ratios, np.finfo(graph.dtype).tiny))
    steps = graph.add("Mul", graph.add("Sub", logs, graph.add("Sub", ratios, 1.0)), powers)
    return graph.add("Add", steps, powers * np.log(powers) - powers - gammaln(powers + 1.0))


@cache
def _fit_log_erfcx() -> FloatArray:
    """Return Chebyshev coefficients of log(erfcx(x) / v) in 2v - 1, where v = 2 / (2 + x)."""
    u = chebyshev.chebpts1(DEGREE + 1)
    v = 0.5 * (u + 1.0)
    coefficients = chebyshev.chebfit(u, np.log(erfcx(2.0 / v - 2.0) / v), DEGREE)
    return np.asarray(coefficients, dtype=np.float64)


def add_log_erfcx(graph: Graph, x: str) -> str:
    """Add log(exp(x^2) erfc(x)) of numbers from 0, by a polynomial."""
    coefficients = _fit_log_erfcx()
    needed = np.flatnonzero(np.abs(coefficients) > 0.1 * np.finfo(graph.dtype).eps)
    polynomial = chebyshev.cheb2poly(coefficients[: needed[-1] + 1])
    v = graph.add("Div", 2.0, graph.add("Add", x, 2.0))
    u = graph.add("Sub", graph.add("Mul", v, 2.0), 1.0)
    value = graph.add("Mul", u, polynomial[-1])
    for coefficient in polynomial[-2:0:-1]:
        value = graph.add("Mul", graph.add("Add", value, coefficient), u)
    return graph.add("Add", graph.add("Add", value, polynomial[0]), graph.add("Log", v))


def add_ranks(graph: Graph, values: str, ordered: FloatArray) -> str:
    """Add the number of ascending numbers that are smaller than each value, by bisection, (n,)."""
    n_steps = len(ordered).bit_length()
    padded = np.append(ordered, np.full(2**n_steps - 1 - len(ordered), np.inf))
    table = graph.constant(padded)
    # not a product with 1 - tolerance, which onnxruntime removes as a product with 1
    values = graph.add("Sub", values, graph.add("Mul", values, TIES[graph.dtype.name]))
    first, *steps = (2**k for k in reversed(range(n_steps)))
    is_larger = graph.add("Less", padded[first - 1], values)
    ranks = graph.add("Where", is_larger, np.int64(first), np.int64(0))
    for step in steps:
        places = graph.add("Add", ranks, np.int64(step - 1))
        is_larger = graph.add("Less", graph.add("Gather", table, places), values)
        ranks = graph.add("Where", is_larger, graph.add("Add", ranks, np.int64(step)), ranks)
    return ranks
