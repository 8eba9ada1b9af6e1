"""Validation of X."""

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

import opgd
from opgd import OPGDClassifier
from opgd.baselines import MixtureDiscriminantAnalysis, ReducedRankLDA

pl = pytest.importorskip("polars")  # not to be had for free-threaded Pythons

IRIS = load_iris(as_frame=True)
X, y = IRIS.data.set_axis(list("abcd"), axis=1), IRIS.target.to_numpy()
WEEKDAYS = [i % 7 for i in range(len(y))]
DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(len(y))]


def assert_refused(given, *words, error=ValueError, labels=y, **options):
    """`fit` and `predict` raise this error, with these words."""
    model = ReducedRankLDA().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for action in (lambda: OPGDClassifier(1).fit(given, labels), lambda: model.predict(given)):
            with pytest.raises(error) as caught:
                np.asarray(action())
            assert caught.type is error
            for word in words:
                assert word in str(caught.value)


def test_nat_in_an_array_of_dates_is_refused():
    days = np.tile(np.array(DAYS, dtype="M8[ns]")[:, None], 4)
    days[3, 1] = "NaT"
    assert_refused(days, "Columns 0, 1, 2, 3 are not numeric (dates or times)")
    assert_refused(days - days[0, 0], "not numeric (dates or times)")


@pytest.mark.parametrize(
    "values",
    [
        DAYS,
        [dt.time(1, i % 60) for i in range(len(y))],
        [dt.timedelta(seconds=i) for i in range(len(y))],
        [dt.datetime(2020, 1, 1, 0, i % 60) for i in range(len(y))],
    ],
    ids=["dates", "times", "durations", "datetimes"],
)
def test_dates_and_times_of_polars_are_refused(values):
    table = pl.DataFrame({name: X[name].to_numpy() for name in X}).with_columns(b=pl.Series(values))
    assert_refused(table, "Column 'b' is not numeric (dates or times). Convert it to numbers")


def test_dates_with_a_time_zone_are_refused_by_name():
    zoned = X.assign(b=pd.date_range("2020", periods=len(y), tz="UTC"))
    assert_refused(zoned, "Column 'b' is not numeric (dates or times)")


def test_values_under_a_mask_are_missing():
    mask = np.zeros(X.shape, dtype=bool)
    mask[3, 1] = True
    for values in (X.to_numpy(), X.to_numpy().astype(int)):
        masked = np.ma.masked_array(values, mask)
        expected = ReducedRankLDA().fit(np.where(mask, np.nan, values), y).means_
        for given in (masked, list(masked)):
            means = ReducedRankLDA().fit(given, y).means_
            np.testing.assert_allclose(means, expected, rtol=1e-13)
            with pytest.raises(ValueError, match="NaN or infinity in column 1, first in row 3"):
                MixtureDiscriminantAnalysis().fit(given, y)
    whole = np.ma.masked_array(X.to_numpy(), np.zeros(X.shape, dtype=bool))
    np.testing.assert_allclose(ReducedRankLDA().fit(whole, y).means_, _means())


def test_sparse_frames_are_refused_like_sparse_arrays():
    frame = X.astype(pd.SparseDtype(float, 0.0))
    for given in (frame, sparse.csr_array(X.to_numpy())):
        assert_refused(given, "Sparse data was passed", "dense data is required", error=TypeError)


def test_integers_too_large_for_a_float_are_refused_by_name():
    huge = X.astype(object)
    huge.loc[3, "b"] = 10**400
    assert_refused(huge, "Column 'b' has a value too large for a float, first in row 3")
    assert_refused(huge.to_numpy().tolist(), "Column 1 has a value too large for a float")


@pytest.mark.parametrize("kind", ["text", "dates"])
def test_dask_frames_are_refused_by_the_name_of_the_column(kind):
    dd = pytest.importorskip("dask.dataframe")
    column = "x" if kind == "text" else pd.Timestamp("2020-01-01")
    frame = dd.from_pandas(X.assign(b=column), npartitions=2)
    assert_refused(frame, "Column 'b' is not numeric")


def test_lists_that_mix_numbers_and_text_are_refused():
    rows = X.to_numpy().tolist()
    rows[3][1] = "2.5"
    assert_refused(rows, "Column 1 is not numeric (text such as '2.5')")


def test_tables_of_pyarrow_are_data_frames():
    pa = import_pyarrow()
    table = pa.table({name: X[name].to_numpy() for name in X})
    model = OPGDClassifier(1).fit(table, y)
    assert model.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(model.predict(table), OPGDClassifier(1).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table.rename_columns(list("bacd")))
    twice = table.rename_columns(list("aacd"))
    with pytest.raises(ValueError, match="more than one column named 'a'"):
        OPGDClassifier(1).fit(twice, y)


def test_columns_of_several_kinds_are_listed_with_their_kinds():
    frame = X.assign(b="x", c=pd.Timestamp("2020-01-01"))
    assert_refused(frame, "Columns 'b', 'c' are not numeric (text, dates or times)")


def test_lazy_frames_of_polars_are_refused_with_advice():
    lazy = pl.DataFrame({name: X[name].to_numpy() for name in X}).lazy()
    assert_refused(lazy, "X.collect()", error=TypeError)


def test_types_of_polars_alone():
    table = pl.DataFrame({name: X[name].to_numpy() for name in X})
    structs = table.with_columns(b=pl.Series([{"x": 1}] * len(y)))
    assert_refused(structs, "Column 'b' is not numeric (nested values)")
    wide = getattr(pl, "Int128", pl.Int64)  # older polars has no 128 bits
    large = table.with_columns(b=pl.Series(WEEKDAYS, dtype=wide))
    expected = ReducedRankLDA().fit(X.assign(b=WEEKDAYS), y)
    np.testing.assert_allclose(ReducedRankLDA().fit(large, y).means_, expected.means_)


def test_frames_without_columns_are_refused_by_their_shape():
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        OPGDClassifier(1).fit(X[[]], y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_data_frames_keep_single_precision(dtype):
    single = X.astype(dtype)
    tables = [single, pl.DataFrame({name: single[name].to_numpy() for name in X})]
    for table in tables:
        assert ReducedRankLDA().fit(table, y).transform(table).dtype == dtype
    pa = import_pyarrow()
    for table in (single.convert_dtypes(dtype_backend="pyarrow"), pa.Table.from_pandas(single)):
        assert ReducedRankLDA().fit(table, y).transform(table).dtype == dtype


def test_arrays_of_floats_are_not_copied():
    from opgd._utils.features import validate_features

    for values in (X.to_numpy(), X.to_numpy(dtype=np.float32), np.asfortranarray(X.to_numpy())):
        assert np.shares_memory(validate_features(OPGDClassifier(), values), values)
    assert np.shares_memory(validate_features(OPGDClassifier(), X), X.to_numpy())


def test_missing_values_are_a_policy_of_the_gate():
    from opgd._utils.features import validate_features

    holes = X.astype("Float64")
    holes.loc[3, "b"] = pd.NA
    values = validate_features(OPGDClassifier(), holes, allow_nan=True)
    assert np.argwhere(np.isnan(values)).tolist() == [[3, 1]]
    holes = X.copy()
    holes.loc[3, "b"] = np.inf
    with pytest.raises(ValueError, match=r"contains infinity in 'b', first in row 3"):
        validate_features(OPGDClassifier(), holes, allow_nan=True)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (["1"] * len(y), "sample_weight is not numeric"),
        (np.full(len(y), np.datetime64("2020-01-01")), "sample_weight is not numeric"),
        (np.ma.masked_array(np.ones(len(y)), np.arange(len(y)) == 3), "contains NaN"),
        (pd.Series([None] + [1] * (len(y) - 1), dtype="Int64"), "contains NaN"),
        (pl.Series([None] + [1] * (len(y) - 1)), "contains NaN"),
    ],
    ids=["text", "dates", "masked", "nullable", "polars"],
)
def test_weights_follow_the_rules_of_columns(weights, words):
    with pytest.raises(ValueError, match=words):
        OPGDClassifier(1).fit(X, y, sample_weight=weights)
    model = OPGDClassifier(1).fit(X, y)
    with pytest.raises(ValueError, match=words):
        model.score(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    "weights",
    [
        pd.Series([2] * len(y), dtype="Int64"),
        pl.Series([2] * len(y)),
        [Decimal(2)] * len(y),
    ],
    ids=["nullable", "polars", "decimals"],
)
def test_weights_in_any_container_are_numbers(weights):
    model = ReducedRankLDA().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.means_, _means())


def test_weights_of_pyarrow_are_numbers():
    weights = import_pyarrow().array([2] * len(y))
    np.testing.assert_allclose(ReducedRankLDA().fit(X, y, weights).means_, _means())


def test_comparisons_and_reports_have_the_same_rules():
    dated = X.assign(b=DAYS)
    with pytest.raises(ValueError, match="Column 'b' is not numeric"):
        opgd.compare(dated, y, ["LDA"], verbose=0)
    with pytest.raises(ValueError, match="Column 'b' is not numeric"):
        opgd.write_report(OPGDClassifier(1).fit(X, y), dated, y, path="never.html")


def test_comparisons_of_given_estimators_keep_the_container():
    given = {"LDA": ReducedRankLDA(), "OPGD": OPGDClassifier(1)}
    tables = [X, X.to_numpy().tolist(), pl.DataFrame({name: X[name].to_numpy() for name in X})]
    errors = [opgd.compare(t, y, given, cv=2, random_state=0, verbose=0)["error"] for t in tables]
    assert errors[0].max() < 0.1
    np.testing.assert_allclose(errors[1:], [errors[0]] * 2)
    table = import_pyarrow().table({name: X[name].to_numpy() for name in X})
    again = opgd.compare(table, y, given, cv=2, random_state=0, verbose=0)["error"]
    np.testing.assert_allclose(again, errors[0])
    masked = np.ma.masked_array(X.to_numpy(), X.to_numpy() > 6)
    assert opgd.compare(masked, y, given, cv=2, random_state=0, verbose=0)["error"].max() < 0.2
    with pytest.warns(UserWarning, match="failed on split"):
        opgd.compare(masked, y, {"MDA": MixtureDiscriminantAnalysis()}, cv=2, verbose=0)


def import_pyarrow():
    """The package, which may not support the oldest NumPy."""
    return pytest.importorskip("pyarrow", exc_type=ImportError)


def _means():
    return X.groupby(y).mean().to_numpy()
