"""Models come back from files as they were, or not at all."""

import hashlib
import io
import json
import os
import pickle
import random
import re
import stat
import sys
import tracemalloc
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.metrics import make_scorer, matthews_corrcoef
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from opgd import (
    CostSensitiveClassifier,
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    OPGDSemiSupervised,
    TableEncoder,
    load_model,
    save_model,
)
from opgd.baselines import (
    CommonPrincipalComponents,
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from opgd.model_file import load_notes
from tests.fuzzing import damaged_bytes

pytest.importorskip("skops")
X, Y = load_iris(return_X_y=True)
SPECIES = np.array(["setosa", "versicolor", "virginica"])[Y]
FEW = np.where(np.arange(len(Y)) % 5 == 0, Y, -1)
TABLE = pd.DataFrame(X, columns=list("abcd")).assign(place=np.where(X[:, 1] > 3, "north", "south"))
QUICK = {"n_components": range(1, 3), "shrinkage": 0, "ridge": (0, 0.1)}
COLUMNS = make_column_transformer(
    (OneHotEncoder(sparse_output=False), make_column_selector(dtype_exclude="number")),
    (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
    remainder="passthrough",
)
MODELS = {
    "classifier": (OPGDClassifier(2, priors="uniform"), X, SPECIES),
    "bool": (OPGDClassifier(n_subclasses={False: 1, True: 2}, priors=[0.4, 0.6]), X, Y == 1),
    "objects": (OPGDClassifier(covariance_type="full", ridge=0.1), X, SPECIES.astype(object)),
    "names": (OPGDClassifier(1, random_state=np.random.RandomState(0)), TABLE[["a", "b"]], Y),
    "selected": (OPGDClassifierCV(**QUICK, cv=RepeatedStratifiedKFold(n_splits=2)), X, SPECIES),
    "subclasses": (OPGDClassifierCV(2, n_subclasses=[1, {True: 2}], cv=3), X, Y == 1),
    "mixture": (OPGDMixture(range(2, 4), init="kmeans", random_state=0), X, None),
    "partly": (OPGDSemiSupervised(random_state=0), X, FEW),
    "costs": (CostSensitiveClassifier(OPGDClassifier(), {(0, 1): 10, (1, 2): 2.5}), X, Y),
    "cpc": (CommonPrincipalComponents(2), X, SPECIES),
    "lda": (ReducedRankLDA(sparsity=2), X, SPECIES),
    "mda": (MixtureDiscriminantAnalysis({0: 1, 1: 2}), X, Y),
    "rda": (RegularizedDiscriminantAnalysis(0.3, gamma=0.1), X, SPECIES),
    "save": (SlicedAverageVariance(2), X, SPECIES),
    "scaled": (
        make_pipeline(FunctionTransformer(np.log1p), StandardScaler(), OPGDMixture(2)),
        X,
        Y,
    ),
    "columns": (make_pipeline(COLUMNS, OPGDClassifier()), TABLE, SPECIES),
    "table": (make_pipeline(TableEncoder(), OPGDClassifier()), TABLE, SPECIES),
    "before": (make_pipeline(OPGDClassifier(2), LinearDiscriminantAnalysis()), X, SPECIES),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Fitted models with their samples and files."""
    folder, fitted = tmp_path_factory.mktemp("models"), {}
    for name, (model, samples, y) in MODELS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted[name] = (model.fit(samples, y), samples, folder / name)
        save_model(model, folder / name)
    return fitted


@pytest.mark.parametrize("name", MODELS)
def test_loaded_models_give_the_same_bits(name, files, tmp_path):
    model, samples, path = files[name]
    same = load_model(path)
    for method in ("predict", "predict_proba", "transform", "typicality"):
        if hasattr(model, method):
            one, other = getattr(model, method)(samples), getattr(same, method)(samples)
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)
    save_model(same, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["selected", "subclasses", "mixture", "partly", "names", "bool"])
def test_attributes_and_parameters_keep_their_values_and_types(name, files):
    model, samples, path = files[name]
    same = load_model(path)
    assert list(vars(same)) == list(vars(model))
    for key, value in vars(model).items():
        if key.endswith("_") and key != "best_estimator_":
            assert type(value) is type(getattr(same, key))
            np.testing.assert_equal(getattr(same, key), value)
        elif key in ("n_subclasses", "priors", "unlabeled", "cv"):
            assert repr(getattr(same, key)) == repr(value)
    if name == "selected":
        assert np.array_equal(same.predict_set(samples), model.predict_set(samples))


def test_what_matters_only_in_fits_is_left_out(tmp_path):
    with config_context(enable_metadata_routing=True):
        model = OPGDClassifier().set_fit_request(sample_weight=True).fit(X, Y)
    model._skl_callbacks = [print]
    save_model(model, tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict(X), model.predict(X))


class Subclass(OPGDClassifier):
    """Code that a file cannot hold."""


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            LinearDiscriminantAnalysis(),
            "LinearDiscriminantAnalysis. Expected a fitted estimator of opgd",
        ),
        (make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()), "type Pipeline. Expected"),
        (Subclass(), "an object of type Subclass"),
        (make_pipeline(Subclass(), OPGDClassifier()), r"test_model_file\.Subclass, which"),
        (OPGDClassifier(priors=pd.Series([0.2, 0.3, 0.5])), "pandas.*set_params"),
        (OPGDClassifierCV(1, cv=2, scoring=make_scorer(matthews_corrcoef)), "matthews_corrcoef"),
        (make_pipeline(FunctionTransformer(lambda X: X), OPGDClassifier()), "test_model_file.<lam"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_files_cannot_hold_is_refused_by_name(model, words, tmp_path):
    with pytest.raises(TypeError, match=words):
        save_model(model.fit(X, Y), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_models_must_be_fitted(tmp_path):
    for model in (OPGDClassifier(), make_pipeline(StandardScaler(), OPGDClassifier())):
        with pytest.raises(NotFittedError):
            save_model(model, tmp_path / "model")
    with pytest.raises(TypeError, match="Cannot save an object of type list"):
        save_model([OPGDClassifier()], tmp_path / "model")


def test_notes_are_read_without_the_model(files, tmp_path):
    model, path = files["names"][0], tmp_path / "model"
    notes = {"source": "länge 幅 \udcff", "rows": [1, 2.5, None, {"x": True}]}
    save_model(model, path, notes=notes)
    assert load_notes(path) == notes
    assert load_notes(files["names"][2]) == {}
    facts = json.loads(zipfile.ZipFile(path).read("opgd.json"))
    assert facts["estimator"] == "OPGDClassifier"
    assert facts["feature_names"] == ["a", "b"]
    assert set(facts["versions"]) == {"opgd", "numpy", "scipy", "scikit-learn"}
    for wrong in (["x"], {1: "x"}, {"x": np.zeros(2)}, {"x": float("nan")}, {"x": (1, 2)}):
        with pytest.raises(TypeError, match="notes must be"):
            save_model(model, tmp_path / "wrong", notes=wrong)
    assert not (tmp_path / "wrong").exists()


def test_files_are_replaced_only_on_demand_and_as_a_whole(files, tmp_path, monkeypatch):
    model, path = files["classifier"][0], tmp_path / "model"
    path.write_bytes(b"before")
    path.chmod(0o640)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        save_model(model, path)

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space"):
            save_model(model, path, overwrite=True)
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
    save_model(model, path, overwrite=True)
    assert load_model(path).predict(X).tolist() == model.predict(X).tolist()
    assert sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o640


def test_paths_that_are_no_files(files, tmp_path):
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_notes(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        save_model(files["lda"][0], tmp_path / "none" / "model")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="not a regular file"):
            load_model(tmp_path / "pipe")


def test_missing_skops_names_the_extra(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match="the extra 'model' is missing; see Installation"):
        load_model(files["lda"][2])


# damaged and forged files


def unpacked(path):
    archive = zipfile.ZipFile(path)
    return {name: archive.read(name) for name in archive.namelist()}


def packed(members, signed=True, **options):
    """A file of these members, with a checksum that is right if it is signed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        archive.comment = b"0" * 64
        for name, content in members.items():
            archive.writestr(name, content)
    data = file.getvalue()
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode() if signed else data


def as_npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def places(tree):
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key
        if isinstance(value, dict | list):
            yield from places(value)


OTHERS = [None, 0, -1, 2**40, "", "x", [], {}, "builtins", "eval", "os", "system", "numpy", "void"]
OTHERS += ["list", "dict", "ListNode", "ObjectNode", "TypeNode", "MethodNode", "opgd.classifier"]
ARRAYS = [np.zeros(0), np.zeros((2, 3, 4)), np.array(["a", "b"]), np.full(3, np.nan), np.array(1j)]


def damaged_members(rng, members):
    """Members left out, swapped, or with other contents."""
    members, kind = dict(members), rng.randrange(5)
    one, other = rng.sample(list(members), 2)
    if kind == 0:
        del members[one]
    elif kind == 1:
        members[one], members[other] = members[other], members[one]
    elif kind == 2:
        members[one] = damaged_bytes(rng, members[one])
    elif kind == 3:
        members[rng.choice([name for name in members if "npy" in name])] = as_npy(
            rng.choice(ARRAYS)
        )
    else:
        schema = json.loads(members["schema.json"])
        for parent, key in rng.sample(list(places(schema)), rng.choice([1, 1, 3])):
            parent[key] = rng.choice(OTHERS)
        members["schema.json"] = json.dumps(schema).encode()
    return members


def test_damaged_files_are_refused(files, tmp_path):
    paths = [files[name][2] for name in ("classifier", "selected", "table")]
    for seed in range(300):
        rng = random.Random(seed)
        original = rng.choice(paths).read_bytes()
        if seed % 3 == 0:
            data = damaged_bytes(rng, original)
        elif seed % 3 == 1:
            data = original[: rng.randrange(len(original))]
        else:
            data = packed(damaged_members(rng, unpacked(io.BytesIO(original))), signed=False)
        (tmp_path / "damaged").write_bytes(data)
        for load in (load_model, load_notes):
            with pytest.raises(ValueError, match=r"not a model file.* or it is damaged"):
                load(tmp_path / "damaged")


def test_forged_files_are_refused_or_give_estimators(files, tmp_path):
    """With a checksum that is right, other contents can be another model, but nothing else."""
    members, counts = [unpacked(files[name][2]) for name in ("names", "costs", "lda")], [0, 0]
    for seed in range(150):
        rng = random.Random(seed)
        (tmp_path / "forged").write_bytes(packed(damaged_members(rng, rng.choice(members))))
        try:
            model = load_model(tmp_path / "forged")
        except ValueError as error:
            assert str(error).startswith("Cannot load ")  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
            counts[0] += 1
        else:
            assert type(model).__module__.startswith("opgd.")
            counts[1] += 1
    assert min(counts) > 20


def node(kind, name, **more):
    module, _, name = name.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": kind, **more}


def json_node(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def tuple_node(*content):
    return node("TupleNode", "builtins.tuple", content=list(content))


COMMAND = json_node("touch ran")
SYSTEM = node("FunctionNode", "os.system")
EMPTY = node("DictNode", "builtins.dict", content={}, key_types=tuple_node())
PARTIAL = {"func": SYSTEM, "args": tuple_node(COMMAND), "kwds": EMPTY, "namespace": EMPTY}
ATTACKS = [
    SYSTEM,
    node("ConstructorFromReduceNode", "os.system", content=tuple_node(COMMAND)),
    node("TypeNode", "subprocess.Popen"),
    node("ObjectNode", "subprocess.Popen", content=EMPTY),
    node("ListNode", "builtins.eval", content=[json_node("1")]),
    node("DictNode", "builtins.exec", content={"1": COMMAND}, key_types=tuple_node(SYSTEM)),
    node("ObjectNode", "opgd.cli.console.Terminal", content=EMPTY),
    node("ObjectNode", "sklearn.tree._tree.Tree", content=EMPTY),
    node("MethodNode", "pathlib.Path", content={"func": "unlink", "obj": EMPTY}),
    node("PartialNode", "functools.partial", content=PARTIAL),
    node("OperatorFuncNode", "operator.methodcaller", attrs=tuple_node(COMMAND)),
    node("RandomGeneratorNode", "numpy.random.Generator", content={}),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack["__loader__"])
def test_files_that_would_run_code_are_refused(attack, files, tmp_path, monkeypatch):
    members = unpacked(files["classifier"][2])
    schema = json.loads(members["schema.json"])
    schema["content"]["content"]["tol"] = attack
    (tmp_path / "forged").write_bytes(
        packed(members | {"schema.json": json.dumps(schema).encode()})
    )
    monkeypatch.chdir(tmp_path)
    name = re.escape(f"{attack['__module__']}.{attack['__class__']}")
    with pytest.raises(ValueError, match=f"Cannot load .* contains {name}.* must not contain"):
        load_model("forged")
    assert not (tmp_path / "ran").exists()


class Runs:
    """An object whose pickle runs code."""

    def __reduce__(self):
        return os.system, ("touch ran",)


HUGE = as_npy(np.zeros(2)).replace(b"(2,), }" + b" " * 9, b"(99999999999,), }")
WRONG_ARRAYS = {
    "pickled": (as_npy(np.array([Runs()])), "pickled objects"),
    "huge": (HUGE, "shape of an array does not match"),
    "empty words": (as_npy(np.zeros(2)).replace(b"<f8", b"<U0"), "shape of an array"),
    "archive": (packed({"a.npy": as_npy(np.zeros(2))}), "do not fit together"),
    "shape": (as_npy(np.ones((2, 5))), "do not fit together"),
    "words": (as_npy(np.full((2, 4), "a")), "do not fit together"),
    "nan": (as_npy(np.full((2, 4), np.nan)), "not finite"),
}


@pytest.mark.parametrize("wrong", WRONG_ARRAYS)
def test_wrong_arrays_are_refused(wrong, files, tmp_path, monkeypatch):
    content, words = WRONG_ARRAYS[wrong]
    model, _, path = files["classifier"]

    members, old = unpacked(path), as_npy(model.components_)
    assert old in members.values()
    members |= {name: content for name in members if members[name] == old}
    (tmp_path / "forged").write_bytes(packed(members))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        load_model("forged")
    assert not (tmp_path / "ran").exists()


def test_memory_is_bounded_by_the_size_of_the_file(files, tmp_path):
    members = unpacked(files["classifier"][2])
    bomb = packed(members | {"schema.json": b" " * 10**8}, compression=zipfile.ZIP_DEFLATED)
    schema = json.loads(members["schema.json"])
    laughs = node("ListNode", "builtins.list", content=[], __id__=1)
    for level in range(2, 40):
        again = {"__loader__": "ListNode", "__id__": level - 1}
        laughs = node("ListNode", "builtins.list", content=[laughs, again, again], __id__=level)
    schema["content"]["content"]["tol"] = laughs
    many = packed(members | {"schema.json": json.dumps(schema).encode()})
    deep = packed(members | {"schema.json": b"[" * 10**6})
    for data, words in ((bomb, "compressed"), (many, "more than once"), (deep, "do not fit")):
        (tmp_path / "bomb").write_bytes(data)
        tracemalloc.start()
        with pytest.raises(ValueError, match=words):
            load_model(tmp_path / "bomb")
        assert tracemalloc.get_traced_memory()[1] < 2**25
        tracemalloc.stop()


def test_other_files_and_formats_are_refused(files, tmp_path):
    skops = pytest.importorskip("skops.io")
    header = json.dumps({"__metadata__": {"opgd": json.dumps({"format": "opgd model"})}}).encode()
    members = unpacked(files["classifier"][2])
    facts = json.loads(members["opgd.json"]) | {"format": 6}
    model = skops.dumps(LinearDiscriminantAnalysis().fit(X, Y))
    other = members | unpacked(io.BytesIO(model))
    for data, words in (
        (len(header).to_bytes(8, "little") + header, "opgd 0.1 or 0.2 has written it"),
        (packed(members | {"opgd.json": json.dumps(facts).encode()}), "in format 6; this version"),
        (model, "not a model file"),
        (packed(other), "more than once"),
        (b"", "not a model file"),
        (pickle.dumps(files["classifier"][0]), "not a model file"),
    ):
        (tmp_path / "other").write_bytes(data)
        with pytest.raises(ValueError, match=words):
            load_model(tmp_path / "other")
