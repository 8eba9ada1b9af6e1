"""Models come back from files as they were, or not at all."""

import io
import json
import os
import pickle
import stat
import sys
import warnings
import zipfile
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, matthews_corrcoef
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import (
    DataWarning,
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    OPGDSemiSupervised,
    load_model,
    save_model,
)
from opgd._model_file import container
from opgd._model_file.encoding import InvalidContent, NotStorable, Reader, Writer
from opgd._model_file.pipelines import decode_model, encode_model
from opgd.baselines import (
    CommonPrincipalComponents,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)

pytest.importorskip("safetensors")
X, Y = load_iris(return_X_y=True)
WINE, WINES = load_wine(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[Y]
FEW = np.where(np.arange(len(Y)) % 5 == 0, Y, -1)
WEIGHTS = np.arange(len(Y)) % 4 * 1.0
METHODS = [
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
    "typicality",
    "score_samples",
]
QUICK = {"n_components": [1, 2], "shrinkage": 0, "ridge": (0, 0.1), "cv": 3}

MODELS = {
    "classifier": (OPGDClassifier(), Y),
    "one axis": (OPGDClassifier(1, priors="uniform", shrinkage="auto", n_init=2), SPECIES),
    "full": (OPGDClassifier(3, covariance_type="full", ridge=0.1), SPECIES.astype(object)),
    "subclasses": (OPGDClassifier(n_subclasses={"setosa": 2, "virginica": 3}), SPECIES),
    "auto subclasses": (OPGDClassifier(n_subclasses="auto", init="save"), Y.astype(np.uint8)),
    "two classes": (OPGDClassifier(warm_start=True, n_jobs=2), Y == 1),
    "chosen": (OPGDClassifierCV(**QUICK), SPECIES),
    "chosen subclasses": (
        OPGDClassifierCV(2, n_subclasses=[1, {0: 2}], cv=0.3, random_state=3, rule="best"),
        Y,
    ),
    "uncalibrated": (OPGDClassifierCV(**QUICK, calibrate=False, covariance_type="full"), Y * 2.0),
    "mixture": (OPGDMixture(3, random_state=0), None),
    "mixtures": (
        OPGDMixture(range(1, 4), covariance_type="full", criterion="icl", random_state=0),
        None,
    ),
    "mixture from labels": (OPGDMixture(3, init=Y, n_rounds=2, metric="identity"), None),
    "partly": (OPGDSemiSupervised(random_state=np.int64(3)), FEW),
    "partly words": (
        OPGDSemiSupervised(covariance_type="full", unlabeled="?"),
        np.where(FEW < 0, "?", SPECIES),
    ),
    "cpc": (CommonPrincipalComponents(2), SPECIES),
    "mda": (MixtureDiscriminantAnalysis(2, covariance_type="full", max_iter=500), SPECIES),
    "mda tied": (MixtureDiscriminantAnalysis({0: 1, 1: 2}, priors=[0.2, 0.3, 0.5]), Y),
    "lda": (ReducedRankLDA(1), SPECIES),
    "sparse lda": (ReducedRankLDA(sparsity=2), SPECIES),
    "rda": (RegularizedDiscriminantAnalysis(0.3, gamma=0.1), SPECIES),
    "save": (SlicedAverageVariance(2, priors={0.0: 0.2, 1.0: 0.3, 2.0: 0.5}), Y * 1.0),
}


def fitted(name, rows=X, **more):
    model, y = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(rows, y, **more)


def there_and_back(model, tmp_path):
    save_model(model, tmp_path / "model", overwrite=True)
    return load_model(tmp_path / "model")


def assert_same(one, other):
    """Equal in type and in every bit."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.flags.f_contiguous == other.flags.f_contiguous or one.ndim == 1
        for a, b in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True):
            assert_same(a, b)
    elif isinstance(one, dict):
        assert_same(list(one), list(other))
        assert_same(list(one.values()), list(other.values()))
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    elif is_dataclass(one):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, BaseEstimator):
        assert_same_model(one, other)
    else:
        assert one == other or (one != one and other != other)


def assert_same_model(one, other):
    assert set(vars(one)) == set(vars(other))
    for name, value in vars(one).items():
        assert_same(value, vars(other)[name])
    assert_same(one.covariances_, other.covariances_)


def assert_same_answers(one, other, rows):
    for method in METHODS:
        assert hasattr(one, method) == hasattr(other, method)
        if hasattr(one, method):
            assert_same(getattr(one, method)(rows), getattr(other, method)(rows))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model, and the bytes of its file."""
    path = tmp_path_factory.mktemp("models") / "model"
    model = OPGDClassifier(1, n_subclasses=2).fit(X[:, 1:], SPECIES)
    save_model(model, path)
    return model, path.read_bytes()


def split(data):
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


MEANS = "_projection.gaussians.means"


def inner(model):
    return model["estimators"]["best_estimator_"]


def joined(header, rest):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + rest


def read(data, tmp_path):
    (tmp_path / "hostile").write_bytes(data)
    return load_model(tmp_path / "hostile")


def forged(data, change):
    """The file with another description or other tensors, and a checksum that is right."""
    model, tensors = container.unpack(io.BytesIO(data), len(data))
    change(model, tensors)
    return container.pack(model, tensors)


@pytest.mark.parametrize("name", MODELS)
def test_loaded_models_are_the_same(name, tmp_path):
    model = fitted(name)
    same = there_and_back(model, tmp_path)
    assert_same_model(model, same)
    assert_same_answers(model, same, X)
    far = np.vstack([X[::7] * 1e3, X[::7] + 1e8])
    assert_same_answers(model, same, far)


@pytest.mark.parametrize("name", ["classifier", "subclasses", "chosen", "mixture", "partly", "mda"])
def test_weights_and_single_precision_come_back(name, tmp_path):
    model = fitted(name, X.astype(np.float32), sample_weight=WEIGHTS)
    same = there_and_back(model, tmp_path)
    assert_same_model(model, same)
    assert_same_answers(model, same, X.astype(np.float32))


@pytest.mark.parametrize(
    "model",
    [OPGDClassifier(), OPGDMixture(2, random_state=0), RegularizedDiscriminantAnalysis()],
    ids=lambda model: type(model).__name__,
)
def test_more_columns_than_rows_and_collinear_columns(model, tmp_path, rng):
    rows, y = rng.normal(size=(24, 40)), np.arange(24) % 3
    rows[:, 7], rows[:, 8] = 3.0, rows[:, 9]
    with pytest.warns(DataWarning):
        model.fit(rows, y)
    same = there_and_back(model, tmp_path)
    assert_same_model(model, same)
    assert_same_answers(model, same, rng.normal(size=(50, 40)))


def test_other_priors_scores_and_draws_are_the_same(tmp_path):
    model = fitted("subclasses")
    same = there_and_back(model, tmp_path)
    assert_same(model.predict_proba(X, [0.1, 0.1, 0.8]), same.predict_proba(X, [0.1, 0.1, 0.8]))
    mixture = fitted("mixture")
    again = there_and_back(mixture, tmp_path)
    assert_same(mixture.sample(20), again.sample(20))
    assert_same([mixture.bic(X), mixture.icl(X)], [again.bic(X), again.icl(X)])
    partly = fitted("partly words")
    assert partly.score(X, SPECIES) == there_and_back(partly, tmp_path).score(X, SPECIES)


def test_loaded_models_can_be_fitted_cloned_and_saved_again(tmp_path):
    model = fitted("classifier")
    same = there_and_back(model, tmp_path)
    assert_same_model(clone(same).fit(X, Y), model)
    assert_same_model(same.fit(X, Y), model)
    first = (tmp_path / "model").read_bytes()
    save_model(same, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == first
    same.components_[:] = 0.0  # arrays can be written to


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "b", "ccc"]),
        np.array(["a", "b", "c"], dtype="U9"),
        np.array(["ä", "", "</script>\u2028\U0001f600"], dtype=object),
        np.array(["a\x00b", "\udcff", "NaN"], dtype=object),
        np.array([np.str_("a"), np.str_("b"), np.str_("c")], dtype=object),
        np.array([-1, 0, 127], dtype=np.int8),
        np.array([0, 1, 2**64 - 1], dtype=np.uint64),
        np.array([1, 2, 3], dtype=">i4"),
        np.array([-1.0, 0.0, 2.0]),
        np.array([1, 2, 3], dtype=np.float16),
        np.array([True, False, True]),
        np.array(["2020-01-01", "2021-01-01", "2022-05-05"], dtype="M8[D]"),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_keep_their_type(labels, tmp_path):
    model = OPGDClassifier(1).fit(X, labels[Y])
    same = there_and_back(model, tmp_path)
    assert_same(model.classes_, same.classes_)
    assert_same(model.predict(X), same.predict(X))


def test_labels_of_all_training_rows_keep_their_type(tmp_path):
    for labels in (SPECIES, SPECIES.astype(object), Y.astype(np.int16)):
        model = OPGDSemiSupervised().fit(X, labels)
        assert_same(model.transduction_, there_and_back(model, tmp_path).transduction_)


def test_labels_that_cannot_be_stored_are_refused(tmp_path):
    model = OPGDClassifier(1).fit(X, Y)
    model.classes_ = np.array([1 + 1j, 2, 3])
    with pytest.raises(TypeError, match=r"cannot represent its classes_ .*complex128"):
        save_model(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_labels_and_names_can_be_read_without_this_package(tmp_path):
    from safetensors import safe_open

    names = ["länge", "幅", "</script>", "a\nb"]
    save_model(OPGDClassifier(1).fit(pd.DataFrame(X, columns=names), SPECIES), tmp_path / "model")
    with safe_open(tmp_path / "model", framework="numpy") as stored:
        model = json.loads(stored.metadata()["opgd"])
        assert stored.get_tensor("_projection.components").shape == (1, 4)
    assert (model["format"], model["version"]) == ("opgd model", container.VERSION)
    assert model["estimator"] == "OPGDClassifier"
    classes = {"is": "words", "dtype": "<U10", "values": ["setosa", "versicolor", "virginica"]}
    assert model["fitted"]["classes_"] == classes
    assert model["fitted"]["feature_names_in_"]["values"] == names
    assert model["parameters"]["n_components"] == 1
    assert model["fitted"]["converged_"] is True
    save_model(OPGDClassifier(1).fit(X, Y.astype(np.int8)), tmp_path / "numbers")
    model = json.loads(split((tmp_path / "numbers").read_bytes())[0]["__metadata__"]["opgd"])
    classes = {"is": "labels", "dtype": "|i1", "values": [0, 1, 2]}
    assert model["fitted"]["classes_"] == classes


def table_with(columns):
    """A table whose names pandas does not hand to pyarrow, which has no lone surrogates."""
    return pd.DataFrame(X, columns=pd.Index(columns, dtype=object))


def test_names_of_columns_are_kept_and_still_checked(tmp_path):
    table = table_with(["länge", "幅", "\udcff", " "])
    for model in (OPGDClassifier(1), OPGDClassifierCV(**QUICK)):
        same = there_and_back(model.fit(table, Y), tmp_path)
        assert_same(model.feature_names_in_, same.feature_names_in_)
        assert_same(model.predict(table), same.predict(table))
        with pytest.raises(ValueError, match="feature names"):
            same.predict(table_with(["länge", "breite", "\udcff", " "]))


def test_the_wish_for_data_frames_is_kept(tmp_path):
    for model in (OPGDClassifier(2), OPGDClassifierCV(**QUICK)):
        model.fit(X, Y).set_output(transform="pandas")
        same = there_and_back(model, tmp_path)
        assert model.transform(X).equals(same.transform(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {"init": np.eye(4)[:2]},
        {"init": np.asfortranarray(np.eye(4)[:2], dtype=np.float32)},
        {"init": [[1, 0, 0, 0], [0.5, 1.0, 0, 0]]},
        {"priors": {0: 0.2, 1: 0.3, 2: np.float32(0.5)}},
        {"priors": {np.int64(0): 0.25, np.int64(1): 0.25, np.int64(2): 0.5}},
        {"priors": (0.2, 0.3, 0.5)},
        {"n_components": np.int64(2), "shrinkage": np.float64(0.5), "tol": np.float32(1e-4)},
        {"random_state": 2**31, "n_jobs": -1, "verbose": np.int8(0)},
        {"max_iter": 10**3, "ridge": 1, "warm_start": np.bool_(True)},
    ],
    ids=lambda parameters: ", ".join(parameters),
)
def test_parameters_come_back(parameters, tmp_path):
    model = OPGDClassifier(**parameters).fit(X, Y)
    assert_same_model(model, there_and_back(model, tmp_path))


def test_values_of_any_plain_kind_come_back():
    values = [
        *[None, True, 0, -(10**30), 0.1, -0.0, 1e-320, float("nan"), float("inf"), "\ud800", ""],
        *[(), [], {}, [[]], range(3, 9, 2), {1: [2], "a": (3,), None: 4, 1.5: {}}],
        *[np.float64("nan"), np.float16(0.1), np.bool_(False), np.str_("ä"), np.uint64(2**64 - 1)],
        *[np.zeros((0, 3)), np.array(5.0), np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)],
        *[np.array([["a", "bb"], ["bb", ""]]), np.array([1, "a", None, True, 1.0], dtype=object)],
        *[np.array([[1, 2], {"a": 1}, [1, 2]], dtype=object), [0.1 * i for i in range(40)]],
        *[np.array([True, False]), np.arange(5, dtype=">u2"), np.array([], dtype="U3")],
        *[
            np.float16([0.1, np.inf]),
            np.arange(10.0)[::-2],
            np.array(["NaT", "2020"], dtype="M8[s]"),
        ],
    ]
    for value in values:
        writer = Writer()
        text = json.loads(json.dumps(writer.encode(value, "value"), allow_nan=False))
        reader = Reader(writer.tensors)
        if isinstance(value, np.ndarray) and value.dtype.kind == "M":
            np.testing.assert_array_equal(reader.decode(text), value)
        else:
            assert_same(reader.decode(text), value)
        assert not reader.tensors
    for one in ({3, 1}, frozenset("ab")):
        assert Reader({}).decode(Writer().encode(one, "set")) == one
    loop = []
    loop.append(loop)
    cell = np.empty(1, dtype=object)
    cell[0] = np.eye(2)
    for bad in (object(), 1j, b"", np.complex64(1), np.array([b""]), loop, len, cell, iter([])):
        with pytest.raises(NotStorable):
            Writer().encode(bad, "value")


def test_series_of_priors_come_back_as_a_dict(tmp_path):
    priors = pd.Series([0.5, 0.2, 0.3], index=["virginica", "setosa", "versicolor"])
    same = there_and_back(OPGDClassifier(1, priors=priors).fit(X, SPECIES), tmp_path)
    assert_same(same.priors, priors.to_dict())
    assert_same(clone(same).fit(X, SPECIES).priors_, same.priors_)


def test_tables_as_parameters_come_back_as_arrays(tmp_path):
    model = OPGDMixture(3, init=pd.Series(Y), components_init=pd.DataFrame(np.eye(4)[:2])).fit(X)
    same = there_and_back(model, tmp_path)
    assert_same(same.init, Y)
    np.testing.assert_array_equal(same.components_init, np.eye(4)[:2])


@pytest.mark.parametrize(
    ("model", "name", "words"),
    [
        (OPGDClassifierCV(**QUICK | {"cv": StratifiedKFold(3)}), "cv", "StratifiedKFold"),
        (
            OPGDClassifierCV(**QUICK, scoring=make_scorer(matthews_corrcoef)),
            "scoring",
            "make_scorer",
        ),
        (OPGDClassifier(random_state=np.random.RandomState(0)), "random_state", "RandomState"),
        (OPGDMixture(3, init=GaussianMixture(3, random_state=0).fit(X)), "init", "GaussianMixture"),
        (OPGDMixture(iter([3])), "n_clusters", "iterator"),
    ],
    ids=["cv", "scoring", "random_state", "init", "n_clusters"],
)
def test_parameters_that_are_no_data_come_back_as_defaults(model, name, words, tmp_path):
    model.fit(X) if isinstance(model, OPGDMixture) else model.fit(X, Y)
    with pytest.warns(DataWarning, match=f"not saved: {name}=.*{words}") as caught:
        save_model(model, tmp_path / "model")
    assert caught[0].filename == __file__
    same = load_model(tmp_path / "model")
    assert_same(getattr(same, name), getattr(type(model)(), name))
    assert_same_answers(model, same, X)
    same.fit(X, Y)


def test_splits_as_indices_come_back(tmp_path):
    splits = list(StratifiedKFold(3).split(X, Y))
    model = OPGDClassifierCV(**QUICK | {"cv": splits}).fit(X, Y)
    assert_same_model(model, there_and_back(model, tmp_path))


def test_the_choice_shares_its_attributes_with_the_best(tmp_path):
    same = there_and_back(fitted("chosen"), tmp_path)
    assert same.components_ is same.best_estimator_.components_
    assert same.best_params_ is same.cv_results_["params"][same.best_index_]


def test_attributes_of_others_are_left_out_with_a_warning(tmp_path):
    model = fitted("classifier")
    model.note_ = "mine"
    with pytest.warns(DataWarning, match="not saved: note_"):
        save_model(model, tmp_path / "model")
    assert not hasattr(load_model(tmp_path / "model"), "note_")


def test_callbacks_and_requests_are_left_out_with_a_warning(tmp_path):
    from sklearn import config_context

    model = fitted("classifier")
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
    with pytest.warns(DataWarning, match="not saved: _metadata_request"):
        save_model(model, tmp_path / "model")
    assert_same_answers(model, load_model(tmp_path / "model"), X)


class Own(OPGDClassifier):
    pass


@pytest.mark.parametrize(
    "other",
    [
        LogisticRegression().fit(WINE[:, :2], WINES > 0),
        make_pipeline(StandardScaler(), Own(1)).fit(X, Y),
        Own(1).fit(X, Y),
        OPGDClassifier,
        None,
        "model",
    ],
    ids=lambda other: type(other).__name__,
)
def test_other_objects_are_refused(other, tmp_path):
    with pytest.raises(
        TypeError, match=r"supported types are OPGDClassifier, .*SlicedAverageVariance"
    ):
        save_model(other, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", MODELS)
def test_only_fitted_models_can_be_saved(name, tmp_path):
    with pytest.raises(NotFittedError):
        save_model(MODELS[name][0], tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_models_that_could_not_be_loaded_are_not_saved(tmp_path):
    model = fitted("classifier")
    model._projection.gaussians.means[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"Cannot save this OPGDClassifier: its .*gaussians.means"):
        save_model(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_paths_and_their_errors(tmp_path, small):
    model = small[0]
    save_model(model, str(tmp_path / "model.safetensors"))
    assert_same_model(model, load_model(str(tmp_path / "model.safetensors")))
    for path in (tmp_path, str(tmp_path)):
        with pytest.raises(IsADirectoryError, match="it is a folder"):
            save_model(model, path, overwrite=True)
        with pytest.raises(IsADirectoryError, match="it is a folder"):
            load_model(path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        save_model(model, tmp_path / "missing" / "model")
    with pytest.raises(FileNotFoundError, match="no such file"):
        load_model(tmp_path / "missing")
    with pytest.raises(TypeError):
        load_model(3)


def test_files_are_replaced_only_when_told(tmp_path, small, monkeypatch):
    path = tmp_path / "model"
    path.write_text("precious")
    for _ in range(2):
        with pytest.raises(FileExistsError, match="overwrite=True"):
            save_model(small[0], path)
        # one that appears at the last moment
        monkeypatch.setattr("opgd.model_file.check_writable_path", lambda path, overwrite: path)
    assert path.read_text() == "precious"
    save_model(small[0], path, overwrite=True)
    assert path.read_bytes() == small[1]
    assert [own.name for own in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_links_that_lead_nowhere_count_as_files(tmp_path, small):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        save_model(small[0], tmp_path / "link")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    ("step", "overwrite"),
    [("os.fsync", False), ("os.fsync", True), ("os.link", False), ("os.replace", True)],
)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("disk full")], ids=["^C", "full"])
def test_interrupted_writing_leaves_what_was_there(
    step, overwrite, error, tmp_path, small, monkeypatch
):
    path = tmp_path / "model"
    if overwrite:
        path.write_text("precious")

    def fail(*args):
        raise error

    monkeypatch.setattr(step, fail)
    if step == "os.link" and isinstance(error, OSError):  # a file system without links
        save_model(small[0], path)
        assert path.read_bytes() == small[1]
    else:
        with pytest.raises((KeyboardInterrupt, OSError)):
            save_model(small[0], path, overwrite=overwrite)
        assert not path.exists() or path.read_text() == "precious"
    assert all(own == path for own in tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_files_have_the_usual_permissions(tmp_path, small):
    (tmp_path / "usual").write_text("")
    save_model(small[0], tmp_path / "model")
    modes = [stat.S_IMODE((tmp_path / own).stat().st_mode) for own in ("usual", "model")]
    assert modes[0] == modes[1]


def test_same_model_gives_the_same_bytes(tmp_path):
    for name in ("chosen", "mixture"):
        files = []
        for i in range(3):
            save_model(fitted(name), tmp_path / f"{name}{i}")
            files.append((tmp_path / f"{name}{i}").read_bytes())
        assert len(set(files)) == 1


@pytest.mark.parametrize("module", ["safetensors", "safetensors.numpy"])
def test_missing_safetensors_names_the_extra(module, tmp_path, small, monkeypatch):
    (tmp_path / "model").write_bytes(small[1])
    monkeypatch.delattr("safetensors.numpy", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"opgd\[model\]"):
        save_model(small[0], tmp_path / "other")
    with pytest.raises(ImportError, match=r"opgd\[model\]"):
        load_model(tmp_path / "model")


def test_truncated_and_longer_files_are_refused(small, tmp_path):
    _, data = small
    for length in [*range(0, len(data), 97), *range(12), len(data) - 1]:
        with pytest.raises(ValueError, match=r"^Cannot load .*: .*[.]$"):
            read(data[:length], tmp_path)
    for more in (b"\0", data):
        with pytest.raises(ValueError, match="does not match its tensors"):
            read(data + more, tmp_path)


def test_changed_bytes_are_noticed_or_change_nothing(small, tmp_path):
    model, data = small
    expected = model.predict_proba(X[:, 1:])
    places = [*range(64), *range(64, len(data), 23)]
    same = 0
    for place in places:
        for change in (1, 0x20, 0x80):
            flipped = bytearray(data)
            flipped[place] ^= change
            try:
                other = read(bytes(flipped), tmp_path)
            except ValueError as error:
                assert str(error).startswith("Cannot load")  # noqa: PT017
            else:
                same += 1
                assert_same_model(model, other)
                assert_same(expected, other.predict_proba(X[:, 1:]))
    assert same < 5  # white space at most


def test_files_of_other_kinds_are_refused(tmp_path, small):
    from safetensors.numpy import save

    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("model", small[1])
    stored = io.BytesIO()
    np.savez(stored, a=np.eye(3))
    kinds = {
        "empty": b"",
        "zeros": bytes(1000),
        "text": b"n_components,2\n" * 100,
        "pickle": pickle.dumps(small[0]),
        "zip": zipped.getvalue(),
        "npz": stored.getvalue(),
        "json": json.dumps({"opgd": 1}).encode(),
        "tensors": save({"a": np.eye(3)}),
        "tensors with metadata": save({"a": np.eye(3)}, metadata={"format": "pt"}),
        "huge header": (2**40).to_bytes(8, "little") + bytes(100),
        "largest header": b"\xff" * 8 + b"{}",
        "header of another size": (200).to_bytes(8, "little") + b"{}" + b" " * 50,
        "deep": (10**5).to_bytes(8, "little") + b"[" * 10**5,
    }
    for data in kinds.values():
        with pytest.raises(ValueError, match=r"^Cannot load"):
            read(data, tmp_path)


def test_huge_headers_are_not_read(tmp_path):
    path = tmp_path / "huge"
    with path.open("wb") as stream:  # sparse: a terabyte that takes no room
        stream.write((2**39).to_bytes(8, "little"))
        stream.truncate(2**40)
    with pytest.raises(ValueError, match="not a model file"):
        load_model(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_and_devices_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ValueError, match="not a regular file"):
            load_model(path)


def named(cases):
    return [pytest.param(case, id=name) for name, case in cases]


def header_changes():
    def name_twice(text):
        return text.replace('"means_": {', '"components_": {', 1)

    def change(function):
        def changed(text):
            header = json.loads(text)
            function(header)
            return json.dumps(header)

        return changed

    yield "duplicate keys", name_twice
    yield "negative shape", change(lambda h: h["_projection.components"].update(shape=[-1, -3]))
    yield "large shape", change(lambda h: h["_projection.components"].update(shape=[2**40, 2**40]))
    yield "odd shape", change(lambda h: h["_projection.components"].update(shape=[1.0, 3]))
    yield "true shape", change(lambda h: h["_projection.components"].update(shape=[True, 3]))
    yield "many axes", change(lambda h: h["_projection.components"].update(shape=[1] * 99 + [3]))
    yield "turned shape", change(lambda h: h["_projection.components"].update(shape=[3, 1]))
    yield "other type", change(lambda h: h["_projection.components"].update(dtype="I64"))
    yield "unknown type", change(lambda h: h["_projection.components"].update(dtype="F8_E4M3"))
    yield "list as type", change(lambda h: h["_projection.components"].update(dtype=["F64"]))
    yield (
        "overlap",
        change(
            lambda h: h["means_"].update(
                data_offsets=h["_projection.gaussians.means"]["data_offsets"]
            )
        ),
    )
    yield (
        "swapped",
        change(
            lambda h: h.update(
                {
                    "means_": h["_projection.gaussians.means"],
                    "_projection.gaussians.means": h["means_"],
                }
            )
        ),
    )
    yield "offsets backwards", change(lambda h: h["means_"]["data_offsets"].reverse())
    yield "no offsets", change(lambda h: h["means_"].pop("data_offsets"))
    yield "extra field", change(lambda h: h["means_"].update(code="os.system"))
    yield "missing tensor", change(lambda h: h.pop("means_"))
    yield (
        "empty tensor",
        change(lambda h: h.update(more={"dtype": "F64", "shape": [0], "data_offsets": [0, 0]})),
    )
    yield "tensor is a number", change(lambda h: h.update(means_=3))
    yield "no metadata", change(lambda h: h.pop("__metadata__"))
    yield "metadata is a list", change(lambda h: h.update(__metadata__=[]))
    yield "metadata of others", change(lambda h: h["__metadata__"].update(format="pt"))
    yield "description is not text", change(lambda h: h["__metadata__"].update(opgd=3))
    yield "description is not JSON", change(lambda h: h["__metadata__"].update(opgd="{"))
    yield "deep description", change(lambda h: h["__metadata__"].update(opgd="[" * 10**5))
    yield "description is a list", change(lambda h: h["__metadata__"].update(opgd="[]"))
    yield "header is a list", lambda text: "[]"
    yield "constants", lambda text: text.replace('"shape": [1', '"shape": [NaN', 1)


@pytest.mark.parametrize("change", named(header_changes()))
def test_headers_that_lie_are_refused(change, small, tmp_path):
    header, rest = split(small[1])
    text = change(json.dumps(header)).encode()
    with pytest.raises(ValueError, match=r"^Cannot load .*[.]$"):
        read(len(text).to_bytes(8, "little") + text + rest, tmp_path)


def forgeries():
    def put(*path):
        *path, value = path

        def change(model, tensors):
            at = model
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value

        return change

    def tensor(name, function):
        def change(model, tensors):
            tensors[name] = np.ascontiguousarray(function(tensors[name]))

        return change

    yield "code as estimator", put("estimator", "os.system")
    yield "base class", put("estimator", "BaseEstimator")
    yield "other estimator", put("estimator", "OPGDMixture")
    yield "chosen without best", put("estimator", "OPGDClassifierCV")
    yield "estimator is a list", put("estimator", ["OPGDClassifier"])
    yield "unknown parameter", put("parameters", "__class__", "x")
    yield "unknown attribute", put("fitted", "predict", 3)
    yield "class attribute", put("fitted", "__class__", 3)
    yield "attribute of others", put("fitted", "labels_", [])
    yield "kind", put("fitted", "n_iter_", {"is": "pickle", "value": "gASV"})
    yield "no kind", put("fitted", "n_iter_", {})
    yield "kind is a list", put("fitted", "n_iter_", {"is": []})
    yield "type of words", put("fitted", "classes_", "dtype", "U999999999")
    yield "wide words", put("fitted", "classes_", "dtype", "<U99999999")
    yield "short words", put("fitted", "classes_", "dtype", "<U2")
    yield "objects", put("fitted", "classes_", {"is": "labels", "dtype": "|O", "values": [1, 2, 3]})
    yield "structured", put("fitted", "_projection.components", "dtype", "f8,f8")
    yield "code as type", put("fitted", "_projection.components", "dtype", "os.system")
    yield "same labels", put("fitted", "classes_", "values", ["a", "b", "a"])
    yield "few labels", put("fitted", "classes_", "values", ["a", "b"])
    yield "no labels", put("fitted", "classes_", "values", [])
    yield "labels are a word", put("fitted", "classes_", "values", "abc")
    yield "numbers as words", put("fitted", "classes_", "values", [1, 2, 3])
    yield (
        "lists as labels",
        put("fitted", "classes_", {"is": "words", "dtype": "|O", "values": [[1], [2], [3]]}),
    )
    yield "axes", put("fitted", "_projection.components", "axes", [0, 0])
    yield "missing tensor", put("fitted", "_projection.components", "tensor", "missing")
    yield (
        "tensor twice",
        put("fitted", "_projection.components", "tensor", MEANS),
    )
    yield "tensor is a list", put("fitted", "_projection.components", "tensor", [])
    yield "number of axes", put("fitted", "n_components_", 2)
    yield "number of columns", put("fitted", "n_features_in_", 4)
    yield "truth as a number", put("fitted", "n_components_", True)
    yield "form", put("fitted", "_projection.form", "full")
    yield "unknown form", put("fitted", "_projection.form", "tied")
    yield "cold", put("fitted", "_projection.temperature", 0.0)
    yield (
        "temperature is NaN",
        put("fitted", "_projection.temperature", {"is": "float", "value": "nan"}),
    )
    yield "log-likelihood", put("fitted", "log_likelihood_", "low")
    yield "ridge above one", put("fitted", "ridge_", 1.5)
    yield "ridge is a word", put("fitted", "ridge_", "auto")
    yield "search is a list", put("fitted", "search_", [])
    yield "search without a start", put("fitted", "search_", "keys", 0, "begin")
    yield "search with fewer names", put("fitted", "search_", "values", 0, "values", ["lda"] * 99)
    yield "shorter search", tensor("search_.n_iter", lambda own: own[1:])
    yield "curve", put("fitted", "loss_curve_", ["a"])
    yield "names", put("fitted", "feature_names_in_", {"is": "words", "dtype": "|O", "values": []})
    yield (
        "output",
        put("fitted", "_sklearn_output_config", {"is": "dict", "keys": [1], "values": [1]}),
    )
    yield "deep", put("parameters", "priors", json.loads("[" * 50 + "]" * 50))
    yield (
        "unhashable keys",
        put("parameters", "priors", {"is": "dict", "keys": [[]], "values": [1]}),
    )
    yield "key twice", put("parameters", "priors", {"is": "dict", "keys": [1, 1], "values": [1, 2]})
    yield "long dict", put("parameters", "priors", {"is": "dict", "keys": [1], "values": [1, 2]})
    yield "range", put("parameters", "priors", {"is": "range", "items": [0, 1, 0]})
    yield "range of words", put("parameters", "priors", {"is": "range", "items": ["a"]})
    yield "scalar", put("parameters", "tol", {"is": "scalar", "dtype": "|i1", "value": 300})
    yield "parameters", put("parameters", [])
    yield "fitted", put("fitted", None)
    yield "newer", put("version", container.VERSION + 1)
    yield "older than the first", put("version", 0)
    yield "version is a word", put("version", "1")
    yield "other format", put("format", "torch")
    yield "unused tensor", lambda model, tensors: tensors.update(more=np.eye(2))
    yield "NaN", tensor("_projection.components", lambda own: own * np.nan)
    yield "infinite", tensor("means_", lambda own: own / 0.0)
    yield "no variance", tensor("_projection.gaussians.variances", lambda own: own * 0)
    yield "negative scale", tensor("_coordinates.scale", lambda own: -own)
    yield "shape", tensor("_projection.components", lambda own: own[:, :-1])
    yield "turned", tensor("_projection.components", lambda own: own.T)
    yield "one axis more", tensor("_projection.components", lambda own: own[None])
    yield "fewer Gaussians", tensor("means_", lambda own: own[1:])
    yield "single precision", tensor("_projection.components", lambda own: own.astype(np.float32))
    yield "whole numbers", tensor("_projection.components", lambda own: own.astype(np.int64))
    yield "class of none", tensor("_projection.gaussian_classes", lambda own: own + 1)
    yield "classes in no order", tensor("_projection.gaussian_classes", lambda own: own[::-1])
    yield "class left out", tensor("_projection.gaussian_classes", lambda own: own * 0)
    yield "basis", tensor("_coordinates.basis", lambda own: own[:-1])
    yield "priors", tensor("priors_", lambda own: -own)
    yield "log priors", tensor("_projection.gaussians.log_priors", lambda own: own * np.nan)


@pytest.mark.parametrize("change", named(forgeries()))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_forged_models_are_refused(change, small, tmp_path):
    data = small[1]
    model, tensors = container.unpack(io.BytesIO(data), len(data))
    change(model, tensors)
    assert_refused(model, tensors, tmp_path)


def assert_refused(model, tensors, tmp_path):
    """Refused although the checksum is right."""
    data = container.pack(model, tensors)
    with pytest.raises(ValueError, match=r"^Cannot load .*[.]$") as caught:
        read(data, tmp_path)
    assert "checksum" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_the_same_without_a_change_is_accepted(small, tmp_path):
    data = forged(small[1], lambda model, tensors: None)
    assert data == small[1]


def test_files_without_ridge_and_search_are_accepted(small, tmp_path):
    """As version 0.1.0 wrote them."""

    def remove(model, tensors):
        for name in ("ridge_", "search_"):
            del model["fitted"][name]
        for name in [name for name in tensors if name.startswith("search_.")]:
            del tensors[name]

    loaded = read(forged(small[1], remove), tmp_path)
    assert not hasattr(loaded, "ridge_")
    assert not hasattr(loaded, "search_")
    assert np.array_equal(loaded.predict_proba(X[:, 1:]), small[0].predict_proba(X[:, 1:]))


def test_later_formats_ask_for_an_upgrade(small, tmp_path):
    data = forged(small[1], lambda model, tensors: model.update(version=5))
    with pytest.raises(ValueError, match=r"version 5 .* upgrade opgd"):
        read(data, tmp_path)


@pytest.mark.parametrize("name", ["chosen", "mixture", "partly words", "full"])
def test_forged_parts_of_other_models_are_refused(name, tmp_path):
    changes = {
        "chosen": [
            lambda model, tensors: model["fitted"].update(best_index_=10**6),
            lambda model, tensors: model["fitted"].update(cv_results_={}),
            lambda model, tensors: model["fitted"]["cv_results_"]["values"].__setitem__(0, [1]),
            lambda model, tensors: model["estimators"]["best_estimator_"].update(
                estimator="OPGDClassifierCV"
            ),
            lambda model, tensors: model["estimators"]["best_estimator_"].update(
                estimator="OPGDMixture"
            ),
        ],
        "mixture": [
            lambda model, tensors: tensors.update(labels_=tensors["labels_"] + 1),
            lambda model, tensors: tensors.update(labels_=tensors["labels_"][1:]),
            lambda model, tensors: tensors.update(eigenvalues_=np.ones(9)),
            lambda model, tensors: model["fitted"].update(n_clusters_=4),
            lambda model, tensors: model["fitted"].update(selection_=[]),
        ],
        "partly words": [
            lambda model, tensors: tensors.update(transduction_=tensors["transduction_"] + 1),
            lambda model, tensors: tensors.update(transduction_=tensors["transduction_"][1:]),
            lambda model, tensors: model["fitted"]["transduction_"].update(dtype="<U9999999"),
        ],
        "full": [
            lambda model, tensors: tensors.update(
                {"_projection.gaussians.variances": -tensors["_projection.gaussians.variances"]}
            ),
            lambda model, tensors: model["fitted"].update({"_projection.form": "diag"}),
        ],
    }
    save_model(fitted(name), tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    for change in changes[name]:
        model, tensors = container.unpack(io.BytesIO(data), len(data))
        change(model, tensors)
        assert_refused(model, tensors, tmp_path)


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil",)


def test_loading_runs_no_code(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    payload = pickle.dumps(Evil())
    header = split(small[1])[0]
    texts = ["os.system", "__import__('os').mkdir('evil')", "opgd.cli.main", payload.hex()]

    def put(text):
        return lambda model, tensors: model.update(estimator=text)

    files = [payload, len(payload).to_bytes(8, "little") + payload]
    files += [joined(header, payload), small[1] + payload]
    files += [forged(small[1], put(text)) for text in texts]
    before = set(sys.modules)
    for data in files:
        with pytest.raises(ValueError, match="Cannot load"):
            read(data, tmp_path)
    assert not (tmp_path / "evil").exists()
    assert set(sys.modules) == before


def test_long_descriptions_are_refused_when_saved(small, tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MAX_HEADER", 1000)
    with pytest.raises(ValueError, match="labels, names and parameters take more than"):
        save_model(small[0], tmp_path / "model")


def test_the_pieces_agree_without_a_file():
    model, writer, left_out = fitted("classifier"), Writer(), {}
    text = {"version": container.VERSION, **encode_model(model, writer, left_out)}
    assert not left_out
    assert_same_model(model, decode_model(text, writer.tensors))
    with pytest.raises(InvalidContent, match="unused tensors"):
        decode_model(text, writer.tensors | {"more": np.eye(2)})
