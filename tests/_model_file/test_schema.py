"""The declarations of fields, and what they refuse."""

import numpy as np
import pytest

pytest.importorskip("safetensors")
from sklearn.datasets import load_iris

from opgd import OPGDClassifier, OPGDMixture, load_model, save_model
from opgd._model_file import fields
from opgd._model_file.encoding import MAX_CONTAINERS, InvalidContent, Reader, count_containers
from opgd._model_file.probe import check_results, make_samples
from opgd._model_file.schema import ESTIMATORS
from opgd._utils.warnings import DataWarning
from opgd.model_file import ModelFileError
from tests._model_file.forging import GOLDEN, read_golden, write

X, Y = load_iris(return_X_y=True)
FILES = sorted(GOLDEN.glob("*.opgd"))


@pytest.mark.parametrize(
    ("field", "valid", "invalid"),
    [
        (
            fields.Array("C q", low=0.0),
            [np.ones((2, 3)), np.zeros((1, 1))],
            [np.ones(3), -np.ones((2, 3)), np.full((1, 1), np.nan), np.ones((0, 3)), [[1.0]]],
        ),
        (fields.Array("q", finite=False), [np.array([np.nan])], [np.array([1]), np.ones(0)]),
        (fields.Array("m p"), [np.ones((0, 2))], [np.ones((2, 0))]),
        (fields.Number(0.5, 2.0), [0.5, 2.0], [0.4, np.nan, np.inf, 1, True, None]),
        (fields.Count(1), [1, np.int64(3)], [0, 1.0, True, 2**63, -1, "1"]),
        (fields.Flag(), [True, np.bool_(False)], [0, 1, None]),
        (fields.Choice(("a",)), ["a"], ["b", ["a"], None]),
        (
            fields.Labels(),
            [
                np.array([1, 2]),
                np.array(["a", "b"]),
                np.array([-1, 10**30], dtype=object),
                np.array([False, True]),
                np.array(["2020", "2021"], dtype="M8[D]"),
            ],
            [
                np.array([2, 1]),
                np.array([1, 1]),
                np.array([0.0, np.nan]),
                np.array([0.0, np.inf]),
                np.array([1, "a"], dtype=object),
                np.array([None], dtype=object),
                np.array(["2020", "NaT"], dtype="M8[D]"),
                np.array(["x" * 20_000], dtype=object),
                np.array([]),
            ],
        ),
        (
            fields.Names(),
            [np.array(["a", "b"], dtype=object)],
            [np.array(["a", "a"], dtype=object), np.array([1], dtype=object)],
        ),
        (fields.Seed(), [None, 0, np.int64(3)], [-1, 2**32, True, 1.0, np.ones(3)]),
        (fields.Scalar(), [None, "?", -1, np.str_("a")], [[], np.ones(1), {}]),
        (fields.Output(), [{}, {"transform": "pandas"}], [{"transform": []}, {"fit": None}, []]),
    ],
    ids=lambda field: type(field).__name__,
)
def test_fields_accept_what_they_declare(field, valid, invalid):
    for value in valid:
        assert field.accepts(value, {})
    for value in invalid:
        assert not field.accepts(value, {})
    assert len(str(field)) < 100


def test_sizes_must_agree():
    sizes = {}
    assert fields.Array("C q").accepts(np.ones((3, 2)), sizes)
    assert sizes == {"C": 3, "q": 2}
    assert not fields.Array("q").accepts(np.ones(3), sizes)
    assert fields.Size("C").accepts(3, sizes)
    assert not fields.Size("C").accepts(True, sizes | {"C": 1})


def test_errors_state_what_is_expected(tmp_path):
    contents = read_golden("OPGDMixture.v2")
    contents.put("weights_", -contents.array("weights_"))
    (tmp_path / "model").write_bytes(write(contents))
    expected = r"its weights_ must be finite numbers from 0 to 1 of shape \(K,\)\.$"
    with pytest.raises(ModelFileError, match=expected):
        load_model(tmp_path / "model")


def test_parameters_of_later_versions_are_named(tmp_path):
    contents = read_golden("OPGDClassifier.v4")
    contents.model["parameters"]["smoothness"] = 0.0
    (tmp_path / "model").write_bytes(write(contents))
    with pytest.raises(ModelFileError, match=r"no parameter 'smoothness' .*; a later"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_models_of_all_estimators_come_back_the_same(path, tmp_path):
    model = load_model(path)
    save_model(model, tmp_path / "one")
    save_model(load_model(tmp_path / "one"), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_there_are_files_of_all_estimators():
    assert {path.name.partition(".")[0] for path in FILES} == set(ESTIMATORS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_samples_for_the_check_of_results_are_near_the_data(path):
    model = load_model(path)
    model = getattr(model, "best_estimator_", model)
    samples = make_samples(model)
    assert samples.shape[1] == 4
    assert np.all(np.isfinite(samples))
    np.testing.assert_allclose(samples[0], X.mean(axis=0), atol=0.2)
    assert np.ptp(samples, axis=0).min() > 0.1


def test_probabilities_that_underflow_are_finite(tmp_path):
    apart = X + 100.0 * Y[:, None]
    model = OPGDClassifier(2).fit(apart, Y)
    assert np.any(model.predict_proba(apart) == 0)
    save_model(model, tmp_path / "model")
    same = load_model(tmp_path / "model")
    np.testing.assert_array_equal(same.predict_proba(apart), model.predict_proba(apart))


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_models_of_extreme_units_come_back(scale, tmp_path):
    for model in (
        OPGDClassifier(2).fit(X * scale, Y),
        OPGDMixture(3, random_state=0).fit(X * scale),
    ):
        save_model(model, tmp_path / "model", overwrite=True)
        same = load_model(tmp_path / "model")
        np.testing.assert_array_equal(same.predict(X * scale), model.predict(X * scale))


def test_results_that_are_not_finite_are_refused():
    model = OPGDClassifier(2).fit(X, Y)
    model._projection.gaussians.variances[0, 0] = np.inf
    with np.errstate(all="ignore"), pytest.raises(InvalidContent, match="is not finite"):
        check_results(model)


def test_integer_labels_beyond_64_bits_come_back(tmp_path):
    labels = np.array([10**30, 10**30 + 1, 2**64], dtype=object)
    model = OPGDClassifier(2).fit(X, Y)
    model.classes_ = np.unique(labels)
    save_model(model, tmp_path / "model")
    same = load_model(tmp_path / "model")
    assert same.classes_.tolist() == sorted(labels)
    assert same.predict(X[:1])[0] == 2**64


def test_priors_by_integer_labels_come_back(tmp_path):
    labels = np.array([-1, -2, 2**61])[Y]  # hash(-1) == hash(-2)
    priors = {-1: 0.2, -2: 0.3, 2**61: 0.5}
    save_model(OPGDClassifier(2, priors=priors).fit(X, labels), tmp_path / "model")
    assert load_model(tmp_path / "model").priors == priors


def test_parameters_that_are_too_large_are_left_out(tmp_path):
    model = OPGDClassifier(2).fit(X, Y)
    for value in (range(10**9), [[0]] * MAX_CONTAINERS):
        model.priors = value
        with pytest.warns(DataWarning, match="not saved: priors="):
            save_model(model, tmp_path / "model", overwrite=True)
        assert load_model(tmp_path / "model").priors is None


def test_brackets_in_names_are_not_counted():
    text = '"' + "[" * (MAX_CONTAINERS + 1) + '\\"[", [{}]'
    assert count_containers(text) == 2
    assert count_containers("[" * (MAX_CONTAINERS + 1)) == MAX_CONTAINERS + 1


@pytest.mark.parametrize(
    "node",
    [
        {"is": "dict", "keys": {"is": "range", "items": [0, 3, 1]}, "values": [1, 2, 3]},
        {"is": "set", "items": [i * (2**61 - 1) for i in range(9)]},
        {"is": "range", "items": [0, 2**20 + 1, 1]},
        {"is": "range", "items": [0, 10**30, 1]},
        {"is": "labels", "dtype": "<U1", "values": ["x" * 10**5] + ["y"] * 10**3},
        {"is": "scalar", "dtype": "<i8", "value": 2**63},
    ],
    ids=["keys", "hashes", "range", "long range", "wide strings", "integer"],
)
def test_values_that_cost_too_much_are_refused(node):
    with pytest.raises(InvalidContent):
        Reader({}).decode(node)


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_directions_left_out_are_stored(tmp_path, rng):
    rounded = np.column_stack([X, np.round(X.mean(axis=1), 1), rng.uniform(size=150) < 0.1])
    model = OPGDMixture(3, random_state=0).fit(rounded)
    assert model._coordinates.rest is not None
    save_model(model, tmp_path / "model")
    incomplete = np.where(rng.uniform(size=rounded.shape) < 0.2, np.nan, rounded)
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(incomplete), model.predict(incomplete))
    model._coordinates.rest[:] = 1.0
    with pytest.raises(ValueError, match="directions left out are not orthogonal"):
        save_model(model, tmp_path / "other")
