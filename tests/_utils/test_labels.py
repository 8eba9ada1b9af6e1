"""Labels of any container are exact, or refused."""

import enum

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from opgd import OPGDClassifier, OPGDMixture, OPGDSemiSupervised
from opgd.baselines import ReducedRankLDA

pl = pytest.importorskip("polars")  # not to be had for free-threaded Pythons
pa = pytest.importorskip("pyarrow", exc_type=ImportError)  # it may not support the oldest NumPy

X, y = load_iris(return_X_y=True)
X, y = X[::2], y[::2]
N = len(X)


def make_objects(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def put_missing(column):
    return [None if i == 3 else value for i, value in enumerate(column)]


class Level(enum.Enum):
    LOW, MIDDLE, UP = "low", "middle", "up"


def pick(labels):
    return [labels[code] for code in y]


def contain_labels(labels, dtype=None):
    vectors = [labels, make_objects(labels), pd.Series(labels, dtype=object)]
    if dtype is not None:
        arrow = pa.array(labels, dtype)
        vectors += [arrow, pl.Series(arrow), pd.Series(arrow, dtype=pd.ArrowDtype(arrow.type))]
        if dtype == pa.int64():
            vectors.append(pd.Series(labels, dtype="Int64"))
    return vectors


@pytest.mark.parametrize(
    ("labels", "dtype", "classes"),
    [
        ([2, 1, 0], pa.int64(), [0, 1, 2]),
        ([2**53 + 1, 2**53, -7], pa.int64(), [-7, 2**53, 2**53 + 1]),
        ([2**70, 2**70 + 1, -7], None, [-7, 2**70, 2**70 + 1]),
        (["low", "up", "nan"], pa.string(), ["low", "nan", "up"]),
        (["low", "up", "mid"], pa.dictionary(pa.int32(), pa.string()), ["low", "mid", "up"]),
        ([True, False, True], pa.bool_(), [False, True]),
        ([1.5, 2.0, 3.5], None, "Unknown label type"),
        ([0.0, np.inf, 1.0], None, "infinity"),
        (list(Level), None, ["low", "middle", "up"]),
        ([1, "a", "b"], None, r"several types \(int, str\)"),
        ([True, 2, 3], None, r"several types \(bool, int\)"),
    ],
)
def test_labels_of_any_container_are_exact_or_refused(labels, dtype, classes):
    for given in contain_labels(pick(labels), dtype):
        if isinstance(classes, str):
            with pytest.raises(ValueError, match=classes):
                ReducedRankLDA().fit(X, given)
            continue
        for model in (ReducedRankLDA(), OPGDClassifier(1)):
            assert model.fit(X, given).classes_.tolist() == classes
            assert set(model.predict(X).tolist()) <= set(classes)
            assert model.score(X, given) > 0.7


@pytest.mark.parametrize("labels", [["low", "middle", "up"], [2**53, 2**53 + 1, 7]])
def test_missing_labels_are_refused_with_their_position_or_unlabeled(labels):
    given = contain_labels(put_missing(pick(labels)), pa.array(labels).type)
    given += [make_objects([np.nan if v is None else v for v in given[0]])] * (labels[0] == "low")
    given += [np.ma.masked_array(pick(labels), np.arange(N) == 3)]
    for vector in given:
        with pytest.raises(ValueError, match=r"first at position 3 .*OPGDSemiSupervised"):
            OPGDClassifier(1).fit(X, vector)
        model = OPGDSemiSupervised(1, n_rounds=0, calibrate=False).fit(X, vector)
        assert model.classes_.tolist() == sorted(labels)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_labels_that_look_like_something_else_are_refused():
    with pytest.raises(ValueError, match="y has the label '-1', which may be a missing label"):
        OPGDSemiSupervised().fit(X, ["-1"] + ["a"] * (N - 1))
    with pytest.raises(ValueError, match="no labeled samples"):
        OPGDSemiSupervised(unlabeled="?").fit(X, ["?"] * N)
    with pytest.raises(ValueError, match="20000 classes in 20000 labeled samples"):
        OPGDClassifier().fit(np.zeros((20_000, 2)), np.arange(20_000))
    with pytest.raises(ValueError, match="y has labels of type str"):
        ReducedRankLDA().fit(X, y).score(X, y.astype(str))


def test_samples_of_weight_zero_need_no_label():
    weights = np.where(np.arange(N) == 3, 0.0, 1.0)
    model = OPGDClassifier(1).fit(X, put_missing(pick(["low", "mid", "up"])), weights)
    assert model.classes_.tolist() == ["low", "mid", "up"]


def test_initial_clusters_have_the_same_rules():
    with pytest.raises(ValueError, match="init contains NaN, None or other missing"):
        OPGDMixture(3, init=put_missing(pick(["a", "b", "c"]))).fit(X)
    with pytest.raises(ValueError, match=r"init has labels of several types \(int, str\)"):
        OPGDMixture(3, init=pick(["1", 1, 2])).fit(X)
