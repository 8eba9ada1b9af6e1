"""Model files that version 0.1.0 accepted, or that took it too much time or memory.

The files have format version 1, so that the module can also be run with 0.1.0: all tests fail.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("safetensors")
from tests._model_file.forging import read_golden, write

MEGABYTES, SECONDS = 2500, 60
OUTCOME = Path(__file__).with_name("outcome.py")
linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")


def load_with_limits(files, folder):
    """Return what processes with limited memory and time make of each of the files."""
    paths = [folder / str(number) for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    call = [sys.executable, str(OUTCOME), str(MEGABYTES), str(SECONDS), *map(str, paths)]
    done = subprocess.run(call, capture_output=True, text=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(files), done.stderr[-500:]
    return found


def dict_with_range():
    contents = read_golden("OPGDClassifier.v1")
    keys = {"is": "range", "items": [0, 10**12, 1]}
    contents.model["parameters"]["priors"] = {"is": "dict", "keys": keys, "values": []}
    return contents


def one_feature(kind, degree, n_knots):
    contents = read_golden("FlexibleDiscriminantAnalysis.v1")
    for name in ("_center", "_scale"):
        contents.put(name, contents.array(name)[:1])
    contents.put("_basis.knots", np.linspace(-1, 1, n_knots)[:, None])
    contents.put("_basis.kind", kind)
    contents.put("_basis.degree", degree)
    contents.put("n_features_in_", 1)
    del contents.fitted["feature_names_in_"]
    return contents


COLLIDING = [i * (2**61 - 1) for i in range(25_000)]


def colliding_set(kind):
    contents = read_golden("OPGDClassifier.v1")
    contents.model["parameters"]["priors"] = {"is": kind, "items": COLLIDING}
    return contents


def colliding_dict():
    contents = read_golden("OPGDClassifier.v1")
    node = {"is": "dict", "keys": COLLIDING, "values": [0] * len(COLLIDING)}
    contents.model["parameters"]["priors"] = node
    return contents


def wide_labels():
    contents = read_golden("OPGDClassifier.v1")
    values = ["x" * 100_000, *["y"] * 2_500]  # 1 GB in an array of strings
    contents.model["parameters"]["priors"] = {"is": "labels", "dtype": "<U9", "values": values}
    return contents


COSTLY = {
    "dict with a range as keys": dict_with_range,
    "polynomial of degree 10**9": lambda: one_feature("polynomial", 10**9, 2),
    "spline of degree 10**9": lambda: one_feature("spline", 10**9, 2),
    "set of colliding integers": lambda: colliding_set("set"),
    "frozenset of colliding integers": lambda: colliding_set("frozenset"),
    "dict of colliding integers": colliding_dict,
    "one long string among many": wide_labels,
}


@linux
def test_costly_files_are_refused_at_little_cost(tmp_path):
    files = [write(make()) for make in COSTLY.values()]
    outcomes = load_with_limits(files, tmp_path)
    for name, data, found in zip(COSTLY, files, outcomes, strict=True):
        summary = f"{name}, {len(data) / 2**10:.1f} KB: {found}"
        assert found["result"].startswith("refused: Cannot load"), summary
        assert found["seconds"] < 2, summary
        assert found["megabytes"] < 50 + 20 * len(data) / 2**20, summary


def set_values(file, name, change):
    contents = read_golden(file)
    contents.put(name, change(contents.array(name)))
    return contents


def set_temperature(value):
    contents = read_golden("OPGDClassifier.v1")
    contents.put("_temperature", value)
    return contents


def set_labels(dtype, values):
    contents = read_golden("OPGDClassifier.v1")
    contents.put("classes_", {"is": "labels", "dtype": dtype, "values": values})
    return contents


def without_components():
    contents = read_golden("OPGDClassifier.v1")
    for name in ("components_", "_gaussians.means", "_gaussians.variances"):
        cut = contents.array(name)
        contents.put(name, cut[:0] if name == "components_" else cut[:, :0])
    for name in ("projected_means_", "projected_variances_"):
        contents.put(name, contents.array(name)[:, :0])
    for name in ("component_log_likelihoods_", "component_shares_"):
        contents.put(name, np.zeros(0))
    contents.put("n_components_", 0)
    return contents


def without_samples(file):
    contents = read_golden(file)
    for name in ("_rows", "_codes", "_weights"):
        contents.put(name, contents.array(name)[:0])
    return contents


def without_samples_of_a_class():
    return set_values("KernelNaiveBayes.v1", "_codes", lambda codes: np.maximum(codes, 1))


def first(value):
    def change(array):
        array = array.copy()
        array.ravel()[0] = value
        return array

    return change


INVALID = {
    "temperature of 1e-320": lambda: set_temperature(1e-320),
    "temperature of 1e300": lambda: set_temperature(1e300),
    "NaN as label": lambda: set_labels("<f8", [0.0, 1.0, "nan"]),
    "infinity as label": lambda: set_labels("<f8", [0.0, 1.0, "inf"]),
    "NaT as label": lambda: set_labels("<M8[s]", [0, 1, -(2**63)]),
    "labels out of order": lambda: set_labels("<i8", [2, 1, 0]),
    "no components": without_components,
    "no samples": lambda: without_samples("KernelNaiveBayes.v1"),
    "no samples, all features": lambda: without_samples("KernelDiscriminantAnalysis.v1"),
    "no samples of a class": without_samples_of_a_class,
    "negative weights of a mixture": lambda: set_values(
        "OPGDMixture.v1", "weights_", lambda weights: -weights
    ),
    "negative weights of Gaussians": lambda: set_values(
        "GaussianMixturePursuit.v1", "_axis_weights", lambda weights: -weights
    ),
    "zero weights of Gaussians": lambda: set_values(
        "GaussianMixturePursuit.v1", "_axis_weights", lambda weights: 0 * weights
    ),
    "zero bandwidth": lambda: set_values("KernelNaiveBayes.v1", "bandwidths_", first(0.0)),
    "bandwidth of 1e-320": lambda: set_values(
        "KernelDiscriminantAnalysis.v1", "bandwidths_", first(1e-320)
    ),
    "negative scale": lambda: set_values("KernelNaiveBayes.v1", "_scale", lambda scale: -scale),
    "log prior of -inf": lambda: set_values(
        "OPGDClassifier.v1", "_gaussians.log_priors", first(-np.inf)
    ),
    "log priors of -inf in a class": lambda: set_values(
        "MixtureDiscriminantAnalysis.v1",
        "_gaussians.log_priors",
        lambda logs: np.where(np.arange(len(logs)) < 3, -np.inf, logs),
    ),
    "knots out of order": lambda: set_values(
        "FlexibleDiscriminantAnalysis.v1", "_basis.knots", lambda knots: knots[::-1].copy()
    ),
    "variance of 1e-320": lambda: set_values(
        "OPGDClassifier.v1", "_gaussians.variances", first(1e-320)
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_models_are_refused(name, tmp_path):
    from tests._model_file.outcome import describe_load

    (tmp_path / "model").write_bytes(write(INVALID[name]()))
    found = describe_load(tmp_path / "model")
    assert found["result"].startswith("refused: Cannot load"), found
    assert "checksum" not in found["result"]


def test_the_files_without_a_change_are_accepted(tmp_path):
    from tests._model_file.outcome import describe_load

    for name in ("OPGDClassifier.v1", "KernelNaiveBayes.v1", "FlexibleDiscriminantAnalysis.v1"):
        (tmp_path / "model").write_bytes(write(read_golden(name)))
        assert describe_load(tmp_path / "model")["result"] == "loaded; finite"
