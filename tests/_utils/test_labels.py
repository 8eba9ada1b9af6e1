"""Validation of y."""

import enum

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import opgd
from opgd import OPGDClassifier, OPGDClassifierCV, OPGDMixture, OPGDSemiSupervised, compare
from opgd._utils.labels import check_n_classes, encode_among
from opgd.baselines import ReducedRankLDA

pl = pytest.importorskip("polars")  # not to be had for free-threaded Pythons

X, CODES = load_iris(return_X_y=True)
WORDS = [["low", "middle", "up"][code] for code in CODES]
BIG = [2**53, 2**53 + 1, 7]
QUICK = {"n_rounds": 0, "calibrate": False}
POSITION = "missing labels, first at position 3"


class Level(str, enum.Enum):  # noqa: UP042
    LOW = "low"
    MIDDLE = "middle"
    UP = "up"


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2
    THREE = 3


def pick(labels):
    return [labels[code] for code in CODES]


def with_missing(labels, missing):
    return [missing if i == 3 else label for i, label in enumerate(labels)]


@pytest.mark.parametrize(
    "y",
    [
        np.array(with_missing(pick(["2020-01-01", "2020-01-02", "2020-01-03"]), "NaT"), "M8[D]"),
        pd.Series(with_missing(WORDS, pd.NaT), dtype=object),
        with_missing(WORDS, float("nan")),
        with_missing(WORDS, None),
        pd.Series(with_missing(WORDS, None), dtype="string"),
        pd.Series(with_missing(WORDS, None), dtype="category"),
        pd.Series(with_missing(CODES.tolist(), None), dtype="Int64"),
        pl.Series(with_missing(WORDS, None)),
        np.ma.masked_array(CODES, np.arange(len(CODES)) == 3),
    ],
    ids=["NaT", "objects", "nan", "None", "string", "category", "Int64", "polars", "masked"],
)
def test_missing_labels_are_refused_with_their_position(y):
    for model in (OPGDClassifier(1), ReducedRankLDA(), OPGDClassifierCV(1)):
        with pytest.raises(ValueError, match=f"{POSITION} .*OPGDSemiSupervised"):
            model.fit(X, y)
    with pytest.raises(ValueError, match=POSITION):
        ReducedRankLDA().fit(X, CODES).score(X, y)
    model = OPGDSemiSupervised(1, **QUICK).fit(X, y)
    assert len(model.classes_) == 3


def test_nan_that_numpy_converted_to_text_is_refused():
    with pytest.raises(ValueError, match=r"'nan' at position 3.*NumPy converted"):
        OPGDClassifier(1).fit(X, np.array(with_missing(WORDS, float("nan"))))
    words = np.array(pick(["a", "b", "nan"]))
    assert OPGDClassifier(1).fit(X, words).classes_.tolist() == ["a", "b", "nan"]


@pytest.mark.parametrize(
    ("labels", "types"), [(["1", 1, 2], "int, str"), ([True, 2, 3], "bool, int")]
)
def test_lists_of_several_types_are_refused(labels, types):
    for model in (OPGDClassifier(1), OPGDSemiSupervised(1)):
        with pytest.raises(ValueError, match=rf"several types \({types}\)"):
            model.fit(X, pick(labels))


@pytest.mark.parametrize(
    "y",
    [
        pick(BIG),
        pick([2**53, 2**53 + 1, 1.0]),
        pick([2**63, 2**63 + 1, -5]),
        pick([2**70, 2**70 + 1, -5]),
        pd.Series(pick(BIG), dtype="Int64"),
        pl.Series(pick(BIG)),
    ],
    ids=["list", "floats", "unsigned", "bigger", "Int64", "polars"],
)
def test_integers_beyond_2_53_stay_distinct(y):
    values = list(y)
    search = OPGDClassifierCV(1, shrinkage=0, ridge=0, n_subclasses=1, cv=2)
    for model in (OPGDClassifier(1), search, OPGDSemiSupervised(1, **QUICK)):
        model.fit(X, y)
        assert model.classes_.tolist() == sorted(set(values))
        assert model.score(X, y) > 0.9
        assert set(model.predict(X).tolist()) == set(values)


def test_integers_of_pyarrow_stay_distinct():
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    for y in (pa.array(pick(BIG)), pd.Series(pick(BIG), dtype="int64[pyarrow]")):
        assert OPGDClassifier(1).fit(X, y).classes_.tolist() == sorted(BIG)


def test_frames_of_one_column_are_labels():
    frame = pl.DataFrame({"a": WORDS, "b": WORDS})
    assert ReducedRankLDA().fit(X, frame[["a"]]).classes_.tolist() == ["low", "middle", "up"]
    with pytest.raises(ValueError, match="should be a 1d array"):
        ReducedRankLDA().fit(X, frame)


def test_enums_of_text_and_integers_are_their_values():
    for make in (list, lambda labels: np.array(labels, dtype=object), pd.Series):
        model = OPGDClassifier(1).fit(X, make(pick(list(Level))))
        assert model.classes_.tolist() == ["low", "middle", "up"]
        assert {type(label) for label in model.predict(X).tolist()} == {str}
        assert model.score(X, pick(list(Level))) == model.score(X, WORDS) > 0.9
    assert OPGDClassifier(1).fit(X, pick(list(Number))).classes_.tolist() == [1, 2, 3]


def test_other_enums_are_refused():
    plain = enum.Enum("Plain", ["LOW", "MIDDLE", "UP"])
    with pytest.raises(ValueError, match="members of the enum Plain; pass their values"):
        OPGDClassifier(1).fit(X, pick(list(plain)))


def test_integer_and_text_labels_of_dask_partitions_are_refused():
    da = pytest.importorskip("dask.array")
    dask = pytest.importorskip("dask")
    parts = [CODES[::2], CODES[1::2].astype(str)]
    labels = da.concatenate(
        [da.from_delayed(dask.delayed(part), (len(part),), object) for part in parts]
    )
    lazy = da.from_array(np.concatenate([X[::2], X[1::2]]), chunks=(75, 4))
    for model in (OPGDClassifier(1), OPGDSemiSupervised(1)):
        with pytest.raises(ValueError, match=r"several types \(int, str\)"):
            model.fit(lazy, labels)


def test_missing_labels_of_dask_partitions_are_refused():
    da = pytest.importorskip("dask.array")
    y = da.from_array(np.where(np.arange(150) == 140, np.nan, CODES), chunks=75)
    with pytest.raises(ValueError, match="missing labels, first in partition 1"):
        OPGDClassifier(1).fit(da.from_array(X, chunks=(75, 4)), y)


def test_samples_of_weight_zero_need_no_label():
    weights = np.where(np.arange(len(X)) == 3, 0.0, 1.0)
    model = OPGDClassifier(1).fit(X, with_missing(WORDS, None), weights)
    assert model.classes_.tolist() == ["low", "middle", "up"]


def test_labels_of_a_score_have_the_type_of_the_classes():
    model = OPGDClassifier(1).fit(X, CODES)
    with pytest.raises(ValueError, match=r"of type str, but the classes .* are of type int"):
        model.score(X, CODES.astype(str))


def test_groups_and_initial_clusters_have_the_same_rules():
    groups = with_missing(pick(["a", "b", "c"]), None)
    with pytest.raises(ValueError, match="groups contains NaN, None or other missing"):
        OPGDClassifierCV(1).fit(X, CODES, groups=groups)
    with pytest.raises(ValueError, match="groups contains NaN, None or other missing"):
        compare(X, CODES, ["LDA"], groups=groups, verbose=0)
    with pytest.raises(ValueError, match="init contains NaN, None or other missing"):
        OPGDMixture(3, init=groups).fit(X)
    with pytest.raises(ValueError, match=r"init has labels of several types \(int, str\)"):
        OPGDMixture(3, init=pick(["1", 1, 2])).fit(X)


def test_codes_of_integers_do_not_depend_on_hashes():
    """Multiples of 2^61 - 1 have the same hash; a dict would compare each with all."""
    classes = np.array([(2**61 - 1) * k for k in range(10, 4000)], dtype=object)
    labels = np.concatenate([classes[::-1], np.array([7, 2**61 - 1, None], dtype=object)])
    codes = encode_among(labels, classes, None)
    expected = [*range(len(classes) - 1, -1, -1), -1, -1, -1]
    assert codes.tolist() == expected


@pytest.mark.filterwarnings("ignore:The number of unique classes is greater")
@pytest.mark.parametrize("name", ["OPGDClassifier", "OPGDClassifierCV", "OPGDSemiSupervised"])
def test_a_class_of_each_sample_is_refused_beyond_what_can_be_estimated(name):
    X, y = np.random.default_rng(0).normal(size=(20_000, 3)), np.arange(20_000)
    message = r"20000 classes in 20000 labeled samples, 1\.0 per class.*at least 5"
    with pytest.raises(ValueError, match=message):
        getattr(opgd, name)().fit(X, y)


def test_many_classes_with_enough_samples_are_classes():
    check_n_classes(4000, 20_000)
    check_n_classes(2000, 2000)
    with pytest.raises(ValueError, match="4001 classes"):
        check_n_classes(4001, 20_000)
