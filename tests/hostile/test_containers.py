"""One table of containers: each gives the result of an array, or an error that names the column."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

from opgd import OPGDClassifier, OPGDMixture
from opgd._utils.features import validate_features
from opgd.baselines import MixtureDiscriminantAnalysis, ReducedRankLDA

pl = pytest.importorskip("polars")  # not to be had for free-threaded Pythons
pa = pytest.importorskip("pyarrow", exc_type=ImportError)  # it may not support the oldest NumPy

X, y = load_iris(return_X_y=True)
X, y = X[::2], y[::2]
N, NAMES = len(X), list("abcd")
FRAME = pd.DataFrame(X, columns=NAMES)
MODELS = [OPGDClassifier(init="lda"), OPGDMixture(3, random_state=0), MixtureDiscriminantAnalysis()]
pytestmark = pytest.mark.filterwarnings("ignore::opgd.DataWarning")


def name_model(model):
    return type(model).__name__


def make_objects(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def make_nullable(frame):
    with np.errstate(invalid="ignore"):  # in old versions of pandas, for infinity
        return frame.convert_dtypes()


def contain(column, dtype=None):
    """Return tables whose column "b" has these values, in all containers that can hold them."""
    rows = X.astype(object)
    rows[:, 1] = make_objects(column)
    tables = {
        "list": rows.tolist(),
        "objects": rows,
        "pandas objects": FRAME.assign(b=pd.Series(rows[:, 1], dtype=object)),
    }
    if dtype is not None:
        arrow = pa.array(column, dtype)
        table = pa.table({name: arrow if name == "b" else FRAME[name].to_numpy() for name in NAMES})
        tables |= {
            "pandas": FRAME.assign(b=arrow.to_pandas()),
            "pandas, nullable": make_nullable(FRAME.assign(b=arrow.to_pandas())),
            "pandas, pyarrow": FRAME.assign(b=pd.Series(arrow, dtype=pd.ArrowDtype(arrow.type))),
            "polars": pl.DataFrame(
                {name: pl.Series(table[name].combine_chunks()) for name in NAMES}
            ),
            "pyarrow": table,
        }
    return tables


def put_missing(column):
    return [None if i == 3 else value for i, value in enumerate(column)]


NUMBERS = [i % 5 for i in range(N)]
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=i % 9) for i in range(N)]
TIMES = [dt.datetime(2020, 1, 1, 0, i % 60) for i in range(N)]
WORDS = ["low" if i % 2 else "high" for i in range(N)]
ACCEPTED = {
    "floats": (X[:, 1].tolist(), pa.float64()),
    "integers": (NUMBERS, pa.int64()),
    "booleans": ([i % 2 == 0 for i in range(N)], pa.bool_()),
    "decimals": ([Decimal(i) for i in NUMBERS], pa.decimal128(10, 2)),
    "a missing float": (put_missing(X[:, 1].tolist()), pa.float64()),
    "a missing integer": (put_missing(NUMBERS), pa.int64()),
    "a missing boolean": (put_missing([i % 2 == 0 for i in range(N)]), pa.bool_()),
    "pandas' NA": ([pd.NA if i == 3 else i % 5 for i in range(N)], None),
}
NAMED = r"Columns? ('b'|1) (is|are) not numeric \("
REFUSED = {
    "infinity": ([np.inf if i == 3 else i for i in NUMBERS], pa.float64(), "contains infinity"),
    "text": (WORDS, pa.string(), NAMED),
    "numbers as text": ([str(i) for i in NUMBERS], pa.string(), NAMED),
    "bytes": ([b"2.5"] * N, pa.binary(), NAMED),
    "one text among numbers": (["2.5" if i == 3 else i for i in NUMBERS], None, NAMED),
    "categories": (WORDS, pa.dictionary(pa.int32(), pa.string()), NAMED),
    "dates": (DAYS, pa.date32(), NAMED),
    "dates and times": (TIMES, pa.timestamp("us"), NAMED),
    "a missing date": (put_missing(TIMES), pa.timestamp("us"), NAMED),
    "time zones": ([t.replace(tzinfo=dt.UTC) for t in TIMES], pa.timestamp("us", "UTC"), NAMED),
    "times of day": ([time.time() for time in TIMES], pa.time64("us"), NAMED),
    "durations": ([time - TIMES[0] for time in TIMES], pa.duration("us"), NAMED),
    "lists": ([[1.0]] * N, pa.list_(pa.float64()), f"{NAMED}|setting an array element"),
    "complex numbers": ([1j] * N, None, "[Cc]omplex"),
    "an integer of 400 digits": ([10**399] * N, None, "too large to convert to float"),
    "dicts": ([{}] * N, None, "not 'dict'"),
}


@pytest.mark.parametrize("model", MODELS, ids=name_model)
@pytest.mark.parametrize("content", ACCEPTED)
def test_numbers_in_any_container_are_those_of_an_array(content, model):
    column, dtype = ACCEPTED[content]
    values = X.copy()
    values[:, 1] = [np.nan if value is None or value is pd.NA else value for value in column]
    if np.isnan(values).any() and isinstance(model, MixtureDiscriminantAnalysis):
        for given in contain(column, dtype).values():
            with pytest.raises(ValueError, match=r"Input X contains NaN\."):
                clone(model).fit(given, y)
        return
    expected = clone(model).fit(values, y).predict_proba(values)
    for container, given in contain(column, dtype).items():
        fitted = clone(model).fit(given, y)
        np.testing.assert_allclose(
            fitted.predict_proba(given), expected, 1e-9, 1e-9, err_msg=container
        )
        has_names = container not in ("list", "objects")
        assert getattr(fitted, "feature_names_in_", np.array([])).tolist() == NAMES * has_names


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("model", MODELS, ids=name_model)
@pytest.mark.parametrize("content", REFUSED)
def test_other_columns_are_refused_by_name(content, model):
    column, dtype, words = REFUSED[content]
    fitted = clone(model).fit(FRAME, y)
    for given in contain(column, dtype).values():
        before = vars(model).copy()
        with pytest.raises((ValueError, TypeError), match=words):
            model.fit(given, y)
        assert vars(model) == before
        with pytest.raises((ValueError, TypeError), match=words):
            fitted.predict(given)


def make_map(values, folder):
    mapped = np.lib.format.open_memmap(folder / "X.npy", "w+", values.dtype, values.shape)
    mapped[:] = values
    return mapped


ARRAYS = {
    "Fortran order": lambda _: np.asfortranarray(X),
    "reversed": lambda _: X[::-1, ::-1].copy()[::-1, ::-1],
    "big endian": lambda _: X.astype(">f8"),
    "long double": lambda _: X.astype(np.longdouble),
    "memory map": lambda folder: make_map(X, folder),
    "tuple of arrays": lambda _: tuple(X),
    "nothing masked": lambda _: np.ma.masked_array(X, np.zeros(X.shape, dtype=bool)),
    "shuffled index": lambda _: FRAME.set_axis(np.arange(N)[::-1]),
}


@pytest.mark.parametrize("container", ARRAYS)
def test_other_arrays_are_the_same_numbers(container, tmp_path):
    given, model = ARRAYS[container](tmp_path), OPGDClassifier(init="lda")
    expected = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.fit(given, y).predict_proba(given), expected, atol=1e-9)


def test_values_under_a_mask_are_missing():
    mask = np.zeros(X.shape, dtype=bool)
    mask[3, 1] = True
    for values in (X, np.round(X).astype(int), X.astype(object)):
        expected = ReducedRankLDA().fit(np.where(mask, np.nan, values.astype(float)), y).means_
        masked = np.ma.masked_array(values, mask)
        for given in (masked, list(masked)):
            np.testing.assert_allclose(ReducedRankLDA().fit(given, y).means_, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_single_precision_is_kept_and_nothing_is_copied(dtype, tmp_path):
    single = FRAME.astype(dtype)
    tables = [single, single.to_numpy(), single.convert_dtypes(dtype_backend="pyarrow")]
    tables += [pl.from_pandas(single), pa.Table.from_pandas(single)]
    for table in tables:
        assert ReducedRankLDA().fit(table, y).transform(table).dtype == dtype
    mapped = make_map(single.to_numpy(), tmp_path)
    for table in (single, single.to_numpy(), np.asfortranarray(single), mapped):
        assert np.shares_memory(validate_features(OPGDClassifier(), table), np.asarray(table))


class Relation:
    """The interface of DuckDB's relations, as an example of a container that nobody reads."""

    columns = NAMES

    def df(self):
        return FRAME


LAZY = {
    "collect": lambda: pl.from_pandas(FRAME).lazy(),
    "to_pandas": lambda: pa.RecordBatch.from_pandas(FRAME),
    "df": Relation,
}


@pytest.mark.parametrize("call", LAZY)
def test_tables_that_are_not_in_memory_are_refused_with_the_call_that_loads_them(call):
    with pytest.raises(TypeError, match=rf"Pass X\.{call}\(\) instead"):
        validate_features(OPGDClassifier(), LAZY[call]())


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (sparse.csr_array(X), TypeError, "dense data is required"),
        (FRAME.astype(pd.SparseDtype(float, 0.0)), TypeError, "dense data is required"),
        (FRAME.astype(pd.SparseDtype(float, np.nan)), TypeError, r"X\.sparse\.to_dense\(\)"),
        (X[0], ValueError, "Expected 2D array"),
        (X[:, :, None], ValueError, "dim 3"),
        (X[:0], ValueError, r"0 sample\(s\)"),
        (FRAME[[]], ValueError, r"0 feature\(s\)"),
        (X * 1j, ValueError, "Complex data"),
        (np.full(X.shape, np.datetime64("2020-01-01")), ValueError, "dtype datetime64"),
        (X.astype(str), ValueError, "X is not numeric"),
        (np.zeros(N, dtype=[("a", float), ("b", float)]), ValueError, "X is not numeric"),
        (
            FRAME.set_axis(["a", "b", "b", "c"], axis=1),
            ValueError,
            "more than one column named 'b'",
        ),
        (FRAME.set_axis(["a", "b", "c", 3], axis=1), TypeError, "string names"),
        (FRAME.assign(b="x", c=TIMES), ValueError, r"Columns 'b', 'c' are not numeric"),
    ],
)
def test_arrays_that_cannot_be_samples_are_refused(given, error, words):
    for model in MODELS:
        with pytest.raises(error, match=words):
            clone(model).fit(given, y)


WEIGHTS = {
    "text": (["1"] * N, "sample_weight is not numeric"),
    "dates": (np.full(N, np.datetime64("2020-01-01")), "sample_weight is not numeric"),
    "masked": (np.ma.masked_array(np.ones(N), np.arange(N) == 3), "contains NaN"),
    "missing in pandas": (pd.Series([None] + [1] * (N - 1), dtype="Int64"), "contains NaN"),
    "missing in polars": (pl.Series([None] + [1] * (N - 1)), "contains NaN"),
    "negative": (np.where(y, 1.0, -1.0), "negative"),
    "infinite": (np.where(y, 1.0, np.inf), "infinity"),
    "all zero": (np.zeros(N), "zero for all samples"),
    "too long": (np.ones(N + 1), "inconsistent"),
    "two columns": (np.ones((N, 2)), "one dimension"),
    "two columns of objects": (np.array([[1, "2"]] * N, dtype=object), "not numeric"),
    "400 digits": ([10**399] * N, "too large"),
    "1e300": (np.full(N, 1e300), "too large"),
}


@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights_that_cannot_be_are_refused(weights):
    values, words = WEIGHTS[weights]
    for model in (OPGDClassifier(), OPGDMixture(3), ReducedRankLDA()):
        with pytest.raises(ValueError, match=words):
            model.fit(X, y, sample_weight=values)


def test_weights_in_any_container_are_numbers():
    weights, plain = [Decimal(2), Decimal(1), Decimal(0)] * (N // 3), ReducedRankLDA()
    expected = plain.fit(X, y, np.array(weights, dtype=float)).means_
    whole = [int(weight) for weight in weights]
    for given in (weights, pd.Series(whole, dtype="Int64"), pl.Series(whole), pa.array(whole)):
        np.testing.assert_allclose(plain.fit(X, y, given).means_, expected, rtol=1e-12)
