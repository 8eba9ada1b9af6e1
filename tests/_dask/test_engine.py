"""Dask input gives the same results as arrays in memory."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_classification

from opgd import (
    DataWarning,
    OPGDClassifier,
    OPGDMixture,
    OPGDSemiSupervised,
    load_model,
    save_model,
)
from opgd._fit.problem import prepare
from opgd.core.engines import RowEngine
from opgd.core.gaussians import FORMS
from opgd.core.objective import Objective
from opgd.core.targets import Labeled

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

from opgd._dask.inputs import validate_dask_input  # noqa: E402
from opgd._utils.labels import encode_known_labels, encode_labels  # noqa: E402


@pytest.fixture
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture
def cut(wine):
    """Wine as rows in memory and as Dask arrays, cut differently."""
    X, y = wine
    return X, y, da.from_array(X, chunks=(50, 5)), da.from_array(y, chunks=60)


def engines(X, y, n_chunk):
    """Return samples in memory and in partitions."""
    lazy = validate_dask_input(
        OPGDClassifier(),
        da.from_array(X, chunks=(n_chunk, -1)),
        y,
        None,
        encode_labels,
        encode_known_labels,
    ).engine
    return RowEngine(X, y), lazy


def test_value_and_gradient_are_those_in_memory(rng):
    X, y = make_classification(
        5000, 12, n_informative=8, n_redundant=0, n_classes=4, random_state=0
    )
    here, there = engines(X + 3, y.astype(np.intp), 700)
    prepared = [prepare(engine, 4) for engine in (here, there)]
    np.testing.assert_allclose(prepared[1].frame.center, prepared[0].frame.center, rtol=1e-13)
    moments = prepared[0].classes
    for covariance_type in ("diag", "full"):
        at = rng.normal(size=(3, 12))
        found = [
            Objective(
                engine.centered_at(X.mean(axis=0), subtract=False),
                np.eye(12),
                moments,
                np.log(moments.priors),
                FORMS[covariance_type],
                Labeled(np.arange(4)),
            ).value_and_gradient(at)
            for engine in (here, there)
        ]
        assert found[1][0] == pytest.approx(found[0][0], rel=1e-12)
        scale = np.abs(found[0][1]).max()
        np.testing.assert_allclose(found[1][1], found[0][1], rtol=0, atol=1e-12 * scale)


def test_positions_choice_and_sample_are_those_in_memory(rng):
    X, y = rng.normal(size=(1003, 3)), rng.integers(0, 3, 1003)
    here, there = engines(X, y.astype(np.intp), 97)
    for most in (None, 1, 50, 5000):
        own = [engine.find_rows(lambda labels: labels == 1, most) for engine in (here, there)]
        np.testing.assert_array_equal(own[1], own[0])
        np.testing.assert_array_equal(there.select_rows(own[0]).X, here.select_rows(own[0]).X)
    np.testing.assert_array_equal(there.sample(100).X, here.sample(100).X)
    assert len(np.unique(here.sample(1003).X, axis=0)) == 1003


def test_classifier_agrees_with_memory(cut):
    X, y, lazy_X, lazy_y = cut
    here = OPGDClassifier(2).fit(X, y)
    there = OPGDClassifier(2).fit(lazy_X, lazy_y)
    assert there.log_likelihood_ == pytest.approx(here.log_likelihood_, abs=1e-6)
    np.testing.assert_allclose(there.components_, here.components_, atol=5e-3)
    for method in ("predict", "predict_proba", "decision_function", "transform", "typicality"):
        answer = getattr(there, method)(lazy_X)
        assert isinstance(answer, da.Array)
        computed = getattr(there, method)(X)
        assert answer.dtype == computed.dtype
        assert answer.shape == computed.shape
        np.testing.assert_allclose(answer.compute(), computed, rtol=1e-10, atol=1e-12)
    assert there.score(lazy_X, lazy_y) == there.score(X, y)


def test_data_frames_keep_names_and_labels(wine):
    X, y = wine
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    names = np.array(["a", "b", "c"])[y]
    lazy = dd.from_pandas(frame.assign(label=names), npartitions=4)
    model = OPGDClassifier(2, n_subclasses=2).fit(lazy.drop(columns="label"), lazy["label"])
    here = OPGDClassifier(2, n_subclasses=2).fit(frame, names)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.log_likelihood_ == pytest.approx(here.log_likelihood_, abs=1e-6)
    lazy_X = lazy.drop(columns="label")
    assert (model.predict(lazy_X).compute() == model.predict(frame)).all()
    assert model.score(lazy_X, lazy["label"]) == model.score(frame, names)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(lazy_X.rename(columns={"c0": "other"})).compute()


def test_weights_zero_rows_and_empty_parts(cut, rng):
    X, y, lazy_X, lazy_y = cut
    X, lazy_X = X[:, 1:5], lazy_X[:, 1:5]  # all columns separate the classes: any end is as good
    weights = rng.integers(0, 3, len(X)).astype(float)
    weights[:60] = 0.0  # all rows of a part
    here = OPGDClassifier(2).fit(X, y, sample_weight=weights)
    there = OPGDClassifier(2).fit(lazy_X, lazy_y, sample_weight=da.from_array(weights, chunks=50))
    assert there.log_likelihood_ == pytest.approx(here.log_likelihood_, rel=1e-7)
    assert there.score(lazy_X, y, weights) == here.score(X, y, weights)


def test_mixture_agrees_with_memory(cut):
    X, _, lazy_X, _ = cut
    here = OPGDMixture(3, random_state=0).fit(X)
    there = OPGDMixture(3, random_state=0).fit(lazy_X)
    for name in ("labels_", "initial_labels_"):
        np.testing.assert_array_equal(getattr(there, name).compute(), getattr(here, name))
    np.testing.assert_allclose(there.uncertainty_.compute(), here.uncertainty_, atol=1e-4)
    assert there.selection_["bic"] == pytest.approx(here.selection_["bic"], rel=1e-6)
    assert there.bic(lazy_X) == pytest.approx(there.bic(X), rel=1e-12)
    assert there.score(lazy_X) == pytest.approx(there.score(X), rel=1e-12)
    with pytest.raises(TypeError, match="init must be one of"):
        OPGDMixture(3, init=here.labels_).fit(lazy_X)


def test_partly_labeled_dask_input_is_loaded(cut):
    X, y, lazy_X, _ = cut
    some = np.where(np.arange(len(y)) % 5 == 0, y, -1)
    here = OPGDSemiSupervised().fit(X, some)
    there = OPGDSemiSupervised().fit(lazy_X, da.from_array(some, chunks=50))
    np.testing.assert_array_equal(there.label_distributions_, here.label_distributions_)
    assert there.score(lazy_X, y) == here.score(X, y)


def test_mixtures_of_lazy_rows_can_be_kept(cut, tmp_path):
    X, _, lazy_X, _ = cut
    model = OPGDMixture(3, init="kmeans", random_state=0).fit(lazy_X)
    own = model.labels_.compute()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels_.compute(), own)
    path = tmp_path / "model.opgd"
    save_model(model, path)
    np.testing.assert_array_equal(load_model(path).labels_, own)
    np.testing.assert_array_equal(load_model(path).predict(X), model.predict(X))


def test_float32_stays_float32(cut):
    _, y, lazy_X, _ = cut
    model = OPGDClassifier(2).fit(lazy_X.astype(np.float32), y)
    assert model.transform(lazy_X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y, w: (da.where(X > 1600, np.inf, X), y, w), "infinity in column 12"),
        (lambda X, y, w: (X, y[:-1], w), "same partitions|samples, but y"),
        (lambda X, y, w: (X[:, 0], y, w), "Expected 2D array"),
        (lambda X, y, w: (X, y, -1 * w), "negative"),
        (lambda X, y, w: (X, y, 0 * w), "zero for all samples"),
        (lambda X, y, w: (X[:1], y[:1], w[:1]), "minimum of 2"),
        (lambda X, y, w: (X, y + 0.5, w), "continuous|Unknown label type"),
        (lambda X, y, w: (X, None, w), "target y is None"),
    ],
)
def test_bad_rows_are_refused(cut, change, message):
    _, _, lazy_X, lazy_y = cut
    weights = da.ones(len(lazy_X), chunks=50)
    X, y, w = change(lazy_X, lazy_y, weights)
    model = OPGDClassifier(2)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=w)
    assert not hasattr(model, "components_")


def test_columns_of_words_are_refused():
    frame = dd.from_pandas(pd.DataFrame({"a": ["x", "y"] * 5, "b": range(10)}), npartitions=2)
    with pytest.raises(ValueError, match=r"Column 'a' is not numeric"):
        OPGDClassifier().fit(frame, np.arange(10) % 2)


def quick():
    """A fit of few passes: a small cluster takes a while for each."""
    return OPGDClassifier(2, init="lda", tol=1e-3)


def born_there(n_parts=4, n_rows=500, n_columns=6):
    """Rows that workers make themselves, so that lost ones can be made again."""

    def make(block_id):
        rng = np.random.default_rng(block_id[0])
        labels = np.arange(n_rows) % 3
        return rng.normal(size=(n_rows, n_columns)) + 1.5 * np.eye(3, n_columns)[labels]

    chunks = ((n_rows,) * n_parts, (n_columns,))
    X = da.map_blocks(lambda block_id=None: make(block_id), chunks=chunks, dtype=float)
    return X, np.tile(np.arange(n_rows) % 3, n_parts)


def test_rows_beyond_the_memory_of_workers_are_made_anew(monkeypatch):
    monkeypatch.setattr("opgd._dask.engine._get_memory", lambda: 1000.0)
    X, y = born_there()
    streamed = quick().fit(X, y)
    monkeypatch.undo()
    assert streamed.log_likelihood_ == quick().fit(X, y).log_likelihood_


def test_constant_columns_are_named(cut):
    X, y, _, _ = cut
    constant = np.column_stack([X, np.ones(len(X))])
    with pytest.warns(DataWarning, match="column 13"):
        OPGDClassifier(2).fit(da.from_array(constant, chunks=(50, -1)), y)


def test_missing_labels_of_a_partition_are_refused(rng):
    X, y = rng.normal(size=(75, 3)), np.arange(75) % 3.0
    y[60] = np.nan
    with pytest.raises(ValueError, match="missing labels, first in partition 2"):
        OPGDClassifier(1).fit(da.from_array(X, chunks=(25, 3)), da.from_array(y, chunks=25))
