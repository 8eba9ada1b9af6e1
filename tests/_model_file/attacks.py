"""Files of about a megabyte that repeat one thing many times: the worst of time and memory."""

import numpy as np

from tests._model_file.forging import read_golden, write

PRIME = 2**61 - 1


def parameter(value, name="priors"):
    contents = read_golden("OPGDClassifier.v2")
    contents.model["parameters"][name] = value
    return contents


def description(key, value):
    contents = read_golden("OPGDClassifier.v2")
    contents.model[key] = value
    return contents


def many_tensors(n):
    contents = read_golden("OPGDClassifier.v2")
    contents.tensors |= {f"t{i}": np.zeros(1) for i in range(n)}
    return contents


def many_names(n):
    contents = read_golden("OPGDClassifier.v2")
    names = [f"\u0101{i}" for i in range(n)]
    contents.put("feature_names_in_", {"is": "words", "dtype": "|O", "values": names})
    return contents


def wide_transduction(n):
    contents = read_golden("OPGDSemiSupervised.v2")
    width = min(9000, 2**25 // (4 * n) + 15)
    contents.fitted["transduction_"]["dtype"] = f"<U{width}"
    codes = contents.fitted["transduction_"]["codes"]
    contents.tensors[codes] = np.resize(contents.tensors[codes], n)
    contents.put("label_distributions_", np.resize(contents.array("label_distributions_"), (n, 3)))
    return contents


def repeated_string(n):
    """An array of strings, each of which has one code."""
    width = 2**25 // (4 * n) + 31
    node = {"is": "words", "dtype": f"<U{width}", "values": ["a"], "codes": "codes"}
    contents = parameter(node)
    contents.tensors["codes"] = np.zeros(n, dtype=np.int64)
    return contents


def many_classes(n):
    """A kernel classifier with one sample per class."""
    contents = read_golden("KernelNaiveBayes.v2")
    rows = np.resize(contents.array("_rows"), (n, 4))
    contents.put("classes_", {"is": "labels", "dtype": "<i8", "values": list(range(n))})
    contents.put("priors_", np.full(n, 1 / n))
    contents.put("_codes", np.arange(n))
    contents.put("_weights", np.ones(n))
    contents.put("_rows", rows)
    contents.put("bandwidths_", np.resize(contents.array("bandwidths_"), (n, 4)))
    return contents


def many_gaussians(n, form):
    contents = read_golden("OPGDClassifier.v2")
    for name in ("means_", "_covariances", "_projection.gaussians.means"):
        array = contents.array(name)
        contents.put(name, np.resize(array, (n, *array.shape[1:])))
    variances = np.ones((n, 2)) if form == "diag" else np.tile(np.eye(2), (n, 1, 1))
    contents.put("_projection.gaussians.variances", variances)
    contents.put("_projection.form", form)
    contents.put("_projection.gaussian_classes", np.arange(n) * 3 // n)
    priors = contents.array("priors_")
    codes = np.arange(n) * 3 // n
    logs = np.log(priors[codes] / np.bincount(codes)[codes])
    contents.put("_projection.gaussians.log_priors", logs)
    return contents


def high_degree(n, kind):
    contents = read_golden("FlexibleDiscriminantAnalysis.v2")
    for name in ("_center", "_scale"):
        contents.put(name, contents.array(name)[:1])
    knots = np.linspace(-1, 1, 2)[:, None] if kind == "spline" else np.empty((0, 1))
    contents.put("_basis.knots", knots)
    contents.put("_basis.kind", kind)
    contents.put("_basis.degree", n)
    contents.put("n_features_in_", 1)
    contents.put("coefficients_", np.ones((2, n)))
    contents.put("_function_center", np.zeros(n))
    contents.put("_function_scale", np.ones(n))
    del contents.fitted["feature_names_in_"]
    return contents


def pairs_of_collisions(n):
    items = [[i * PRIME + j for i in range(8)] for j in range(n)]
    return {"is": "set", "items": [item for group in items for item in group]}


def deep_list(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


ATTACKS = {
    "empty lists": lambda n: parameter([[] for _ in range(n)]),
    "lists in the notes": lambda n: description("notes", {"a": [[] for _ in range(n)]}),
    "dicts in the notes": lambda n: description("notes", {"a": [{"": 1} for _ in range(n)]}),
    "integers": lambda n: parameter(list(range(1000, 1000 + n))),
    "floats": lambda n: parameter([i + 0.5 for i in range(n)] + ["a"]),
    "short strings": lambda n: parameter([f"\u0101{i % 10}" for i in range(n)]),
    "emoji": lambda n: parameter(["\U0001f600" * n]),
    "large integers": lambda n: parameter([10**4000 + i for i in range(n // 400)]),
    "tuples": lambda n: parameter([{"is": "tuple", "items": []} for _ in range(n)]),
    "scalars": lambda n: parameter(
        [{"is": "scalar", "dtype": "<f8", "value": 1.5} for _ in range(n // 10)]
    ),
    "labels": lambda n: parameter(
        [{"is": "labels", "dtype": "<f8", "values": []} for _ in range(n // 10)]
    ),
    "words": lambda n: parameter({"is": "words", "dtype": "|O", "values": list(range(n))}),
    "sets": lambda n: parameter([{"is": "set", "items": [i]} for i in range(n // 8)]),
    "colliding set": lambda n: parameter(
        {"is": "set", "items": [i * PRIME for i in range(n // 8)]}
    ),
    "colliding in eights": lambda n: parameter(pairs_of_collisions(n // 64)),
    "colliding tuples": lambda n: parameter(
        {"is": "set", "items": [{"is": "tuple", "items": [i * PRIME]} for i in range(n // 16)]}
    ),
    "small dicts": lambda n: parameter(
        [{"is": "dict", "keys": [1], "values": [2]} for _ in range(n // 16)]
    ),
    "colliding dates": lambda n: parameter(
        {
            "is": "set",
            "items": [
                {"is": "scalar", "dtype": "<M8[s]", "value": i * 2**40} for i in range(n // 32)
            ],
        }
    ),
    "deep lists": lambda n: parameter([deep_list(25) for _ in range(n // 25)]),
    "tensors": lambda n: many_tensors(n // 16),
    "names": many_names,
    "wide strings": lambda n: wide_transduction(n // 4),
    "repeated string": repeated_string,
    "classes": lambda n: many_classes(n // 256),
    "diagonal Gaussians": lambda n: many_gaussians(n // 16, "diag"),
    "full Gaussians": lambda n: many_gaussians(n // 16, "full"),
    "splines": lambda n: high_degree(n // 4, "spline"),
    "moderate splines": lambda n: high_degree(1400, "spline"),
    "powers": lambda n: high_degree(n // 16, "polynomial"),
}


def attack(name, n):
    """Return the bytes of a file with about n repetitions of something."""
    return write(ATTACKS[name](n))
