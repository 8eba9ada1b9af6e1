"""TableEncoder: what becomes of each kind of cells, and of new tables."""

import warnings
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from opgd import DataWarning, OPGDClassifier, TableEncoder, load_model, save_model
from tests.messy.write import FOLDER

N = 200
rng = np.random.default_rng(0)
NUMBERS = rng.integers(1000, 10_000, N)
HALF = NUMBERS + 0.5
DAYS = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, N), "D")
DAY_FIRST, MONTH_FIRST = DAYS.strftime("%d/%m/%Y"), DAYS.strftime("%m/%d/%Y")
WORDS = ["quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "every", "single", "day"]
UNITS = np.where(np.arange(N) % 3, [f"{v} kg" for v in NUMBERS], [f"{v} g" for v in NUMBERS])
STAMPS = pd.date_range("2024-03-30", periods=N, freq="7h", tz="Europe/Paris")
CATEGORY = rng.choice(["gold", "basic", "free"], N, p=[0.5, 0.3, 0.2])


def every(step, value, others):
    return [value if i % step == 0 else other for i, other in enumerate(others)]


def grouped(comma, point):
    return [f"{v:,.2f}".translate({44: comma, 46: point}) for v in HALF]


MESSY = {
    # cells: (kind, values of the first feature or None, words of the warning or "")
    "plain numbers as text": ([str(v) for v in HALF], "number", HALF, ""),
    "integers with decimals": ([1.5, *NUMBERS[1:]], "number", [1.5, *NUMBERS[1:]], ""),
    "R 5,488.50": ([f"R {text}" for text in grouped(",", ".")], "number in text", HALF, ""),
    "€5.488,50": ([f"€{text}" for text in grouped(".", ",")], "number in text", HALF, ""),
    "USD 5 488.50": ([f"USD {text}" for text in grouped(" ", ".")], "number in text", HALF, ""),
    "5'488.50": (grouped("'", "."), "number in text", HALF, ""),
    "5.488 €": ([f"{v:,} €".replace(",", ".") for v in NUMBERS], "number in text", NUMBERS, ""),
    "1,234": ([f"{v:,}" for v in NUMBERS], "number in text", NUMBERS, ""),
    "0,5": ([f"{v // 10},{v % 10}" for v in NUMBERS], "number in text", NUMBERS / 10, ""),
    "5489 m2": ([f"{v} m2" for v in NUMBERS], "number in text", NUMBERS, ""),
    "12 %": ([f"{v / 100} %" for v in NUMBERS], "number in text", NUMBERS / 100, ""),
    "(1.234,50)": ([f"({t})" for t in grouped(".", ",")], "number in text", -HALF, ""),
    "1.5e-3": ([f"{v}e-3" for v in HALF], "number", HALF * 1e-3, ""),
    "<5489": (
        every(9, "<5489", NUMBERS.astype(str)), "number in text", every(9, 5489, NUMBERS),
        "23 limits are read as numbers, such as '<5489'",
    ),
    "unknown": (
        every(33, "unknown", NUMBERS.astype(str)), "number in text", every(33, np.nan, NUMBERS),
        "3.5% of the cells are not numbers and become missing, for example 'unknown'",
    ),
    "null words": (
        every(9, "NA", every(7, "-", every(5, "?", HALF.astype(str)))), "number",
        every(9, np.nan, every(7, np.nan, every(5, np.nan, HALF))), "",
    ),
    "-999": (every(20, -999, HALF), "number", every(20, -999, HALF),
             "-999 (10 cells) is unlike the other values"),
    "half numbers": (every(3, "high", NUMBERS.astype(str)), "text", None,
                     "66% of the cells are numbers, others are such as 'high'; kinds="),
    "kg and g": (UNITS, "text", None, "others are such as"),
    "Yes/yes/YES ": (np.array(["Yes", "yes", "YES ", "no"])[NUMBERS % 4], "category",
                     NUMBERS % 4 != 3, ""),
    "true/FALSE": (np.where(NUMBERS % 2, "true", "FALSE"), "category", NUMBERS % 2, ""),
    "booleans": (NUMBERS % 2 == 0, "category", NUMBERS % 2 == 0, ""),
    "few words": (CATEGORY, "category", CATEGORY == "basic", ""),
    "rare levels": (every(4, "x", [f"level {v % 3}" for v in NUMBERS])[:-40] +
                    [f"rare {i}" for i in range(40)], "category", None, ""),
    "ISO dates": (DAYS.strftime("%Y-%m-%d"), "date", None, ""),
    "datetimes": (DAYS, "date", None, ""),
    "with a zone": (STAMPS, "date", None, ""),
    "with a zone, as text": (STAMPS.astype(str), "date", None, ""),
    "5 Mar 2024": (DAYS.strftime("%d %b %Y"), "date", None, ""),
    "13/02/2024": (DAY_FIRST, "date", None, ""),
    "mixed orders": (np.where(np.arange(N) % 4, DAY_FIRST, MONTH_FIRST),
                     "date", None, "of the cells are not dates with the day first"),
    "01/02/2024": ([f"0{1 + v % 9}/0{1 + v % 7}/2024" for v in NUMBERS], "date", None,
                   "the month is taken to be first"),
    "free text": ([" ".join(rng.choice(WORDS, 6)) for _ in range(N)], "text", None, ""),
    "ids": ([f"C-{4000 + 7 * i}" for i in range(N)], "identifier", None, "200 different values"),
    "row numbers": (np.arange(N) + 5, "identifier", None, "a different integer in every row"),
    "customer_id": (rng.permutation(N) * 3, "identifier", None, "a different integer"),
    "Kunden-ID": (rng.permutation(N) * 3, "identifier", None, "a different integer"),
    "rows of a fold": (np.delete(np.arange(N * 5 // 4), np.arange(N // 4) * 5), "identifier", None,
                       "a different integer"),
    "% and none": (np.where(NUMBERS % 2, "30%", "40"), "number in text",
                   np.where(NUMBERS % 2, 30, 40), "of the cells have no unit and are read as '%'"),
    "zip codes": ([f"0{v % 50:04d}" for v in NUMBERS], "text", None, ""),
    "constant": (["EUR"] * N, "constant", None, "constant, left out: always 'EUR'"),
    "empty": ([None] * N, "empty", None, "empty, left out: no values"),
    "lists": ([[1, 2]] * N, "unsupported", None, "left out: values of type list"),
    "durations": (pd.to_timedelta(NUMBERS, "h"), "number", NUMBERS / 24, ""),
}  # fmt: skip


def encode(column, name="x", **options):
    """Return the encoder of a table with this column and another one, features, and warnings."""
    table = pd.DataFrame({name: column, "other": np.arange(len(column)) % 7})
    encoder = TableEncoder(**options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        features = encoder.fit_transform(table)
    return encoder, features, [str(entry.message) for entry in caught]


@pytest.mark.parametrize("name", MESSY)
def test_what_becomes_of_cells(name):
    column, kind, values, words = MESSY[name]
    encoder, features, messages = encode(column, name)
    entry = encoder.summary_.iloc[0]
    assert entry["kind"] == kind
    assert (entry["features"] == 0) == entry["encoding"].startswith("left out: ")
    if values is not None:
        np.testing.assert_allclose(features[:, 0], np.asarray(values, dtype=float), rtol=1e-12)
    assert len(messages) == bool(words)  # one warning for everything, or none
    if words:
        assert words in messages[0]
        assert f"{name!r}: " in messages[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        table = pd.DataFrame({name: column, "other": np.arange(N) % 7})
        np.testing.assert_array_equal(encoder.transform(table), features)
        np.testing.assert_array_equal(TableEncoder().fit(table).transform(table), features)


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
@pytest.mark.parametrize("name", [name for name in MESSY if MESSY[name][1] != "text"])
def test_a_row_is_encoded_the_same_whatever_its_batch(name):
    table = pd.DataFrame({name: MESSY[name][0], "other": np.arange(N) % 7})
    encoder = TableEncoder().fit(table)
    rows = list(range(0, N, 23))
    features = encoder.transform(table)
    for row in rows:
        if np.isfinite(features[row]).all():  # lost cells alone are refused
            np.testing.assert_array_equal(encoder.transform(table[row : row + 1])[0], features[row])


def test_decimal_commas_hold_for_cells_that_could_have_points():
    encoder = TableEncoder().fit(pd.DataFrame({"a": ["1.234,50", "3,75"] * 5, "b": NUMBERS[:10]}))
    new = pd.DataFrame({"a": ["1.234"], "b": [0]})
    assert encoder.transform(new)[0, 0] == 1234


def test_text_where_dates_were_warns_if_its_order_is_not_certain():
    table = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=90), "b": NUMBERS[:90]})
    encoder = TableEncoder().fit(table)
    with pytest.warns(DataWarning, match="the month is taken to be first"):
        assert encoder.transform(table[:1].assign(day="03.04.2020"))[0, 0] == 63
    assert encoder.transform(table[:1].assign(day="2020-04-03"))[0, 0] == 93


def test_masked_cells_are_missing(rng):
    X = np.ma.array(rng.normal(size=(20, 2)), mask=np.arange(40).reshape(20, 2) % 5 == 0)
    np.testing.assert_array_equal(TableEncoder().fit_transform(X), X.filled(np.nan))


def test_one_warning_lists_all_columns():
    table = pd.DataFrame({name: cells[0] for name, cells in MESSY.items()})
    with pytest.warns(DataWarning) as caught:
        encoder = TableEncoder().fit(table)
    (message,) = [str(entry.message) for entry in caught]
    summary = encoder.summary_.set_index("column")
    quiet = summary[(summary["features"] > 0) & (summary["lost"] <= 0.01)].index
    assert all(f"{name!r}: " in message for name in MESSY if name not in quiet)
    assert summary.loc["13/02/2024", "kind"] == "duplicate"  # of another column of dates
    assert summary["features"].sum() == len(encoder.get_feature_names_out())


def test_mixed_orders_of_dates_are_lost_by_a_known_share():
    column = every(4, "02/13/2024", ["13/02/2024", "14/02/2024"] * 20)
    encoder, features, messages = encode(column)
    assert "25.0% of the cells are not dates with the day first" in messages[0]
    assert encoder.summary_["lost"][0] == 0.25
    assert np.isnan(features[::4, 0]).all()


def test_dates_are_days_and_cycles():
    encoder, features, _ = encode(DAYS)
    names = ["x:days", "x:weekday_sin", "x:weekday_cos", "x:month_sin", "x:month_cos", "other"]
    assert encoder.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(features[:, 0], (DAYS - DAYS.min()).days)
    np.testing.assert_allclose(features[:, 1], np.sin(2 * np.pi * DAYS.day_of_week / 7), atol=1e-12)
    np.testing.assert_allclose(features[:, 4], np.cos(np.pi * (DAYS.month - 1) / 6), atol=1e-12)
    hours = encode(STAMPS)[1]
    np.testing.assert_allclose(hours[:, 1], np.sin(2 * np.pi * STAMPS.hour / 24), atol=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        [date(2024, 1, 1) + timedelta(days=k) for k in range(30)],
        [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=k) for k in range(30)],
        pd.Series(pd.date_range("2024-01-01", periods=30)).astype("datetime64[s]"),
    ],
)
def test_dates_of_any_type_are_the_same(values):
    np.testing.assert_array_equal(encode(values)[1][:, 0], np.arange(30))


def test_categories_have_a_reference_others_and_missing_cells():
    column = ["b"] * 40 + ["A"] * 30 + ["a"] * 20 + [f"rare {i}" for i in range(15)] + [None] * 12
    encoder, features, _ = encode(column)
    assert encoder.get_feature_names_out().tolist()[:3] == ["x=b", "x=other", "x=missing"]
    assert features[:, :3].sum(axis=0).tolist() == [40, 15, 12]
    few, features, _ = encode([*column[:90], None])  # a rare missing cell
    assert few.get_feature_names_out().tolist() == ["x=b", "other"]
    assert np.isnan(features[-1, 0])


def test_kinds_can_be_requested():
    numbers = NUMBERS % 4
    assert encode(numbers, kinds={"x": "category"})[0].summary_["kind"][0] == "category"
    assert encode(np.arange(N), kinds={"x": "number"})[0].summary_["kind"][0] == "number"
    assert encode(CATEGORY, kinds={"x": "text"})[0].summary_["kind"][0] == "text"
    np.testing.assert_array_equal(
        encode(["007", "012"] * 9, kinds={"x": "number"})[1][:2, 0], [7, 12]
    )
    ignored, _, messages = encode(["EUR"] * N, kinds={"x": "ignore"})
    assert (ignored.summary_["kind"][0], messages) == ("ignored", [])
    halves = MESSY["half numbers"][0]
    encoder, _, messages = encode(halves, kinds={"x": "number"})
    assert encoder.summary_["lost"][0] == pytest.approx(67 / 200)
    assert "33.5% of the cells are not numbers" in messages[0]
    for kinds, words in (
        ({"x": "number"}, "none of the cells can be read as a number, for example"),
        ({"x": "colour"}, "kinds must map columns"),
        ({"y": "number"}, "kinds names columns that X does not have: 'y'"),
    ):
        with pytest.raises(ValueError, match=words):
            encode(["p", "q"] * 20, kinds=kinds)


TABLE = pd.DataFrame({"age": NUMBERS, "fee": MESSY["€5.488,50"][0], "plan": CATEGORY,
                      "since": DAYS, "note": MESSY["free text"][0]})  # fmt: skip


def test_new_tables():
    encoder = TableEncoder().fit(TABLE)
    expected = encoder.transform(TABLE)
    shuffled = TABLE[["note", "plan", "fee", "since", "age"]].assign(further=1)
    np.testing.assert_array_equal(encoder.transform(shuffled), expected)
    np.testing.assert_array_equal(encoder.transform(pl.from_pandas(TABLE)), expected)
    arrow = TABLE.convert_dtypes(dtype_backend="pyarrow")
    np.testing.assert_array_equal(encoder.transform(arrow), expected)
    text = TABLE.astype({"age": str, "since": str})
    np.testing.assert_array_equal(encoder.transform(text), expected)
    unseen = TABLE[:4].assign(plan=["platinum", "gold", "free", None], fee=["€5", "x", "€1,5", ""])
    with pytest.warns(
        DataWarning, match="'plan': 25.0% .* count as 'gold', for example 'platinum'"
    ):
        features = encoder.transform(unseen)
    names = encoder.get_feature_names_out().tolist()
    plans = features[:, [names.index("plan=basic"), names.index("plan=free")]]
    np.testing.assert_array_equal(plans, [[0, 0], [0, 0], [0, 1], [np.nan, np.nan]])
    np.testing.assert_array_equal(features[:, names.index("fee")], [5, np.nan, 1.5, np.nan])
    with pytest.raises(ValueError, match="X has no column 'plan', which the encoder was fitted to"):
        encoder.transform(TABLE.drop(columns="plan"))
    with pytest.raises(ValueError, match=r"Column 'age' was a number .*, for example 'old'"):
        encoder.transform(TABLE.assign(age="old"))


def test_arrays_of_numbers_are_passed_on():
    X = np.column_stack([rng.normal(size=(30, 2)), np.ones(30), np.arange(30)])
    X[3, 0] = np.nan
    np.testing.assert_array_equal(TableEncoder().fit_transform(X), X)
    with pytest.raises(ValueError, match=r"infinity in column 'x', first in row 2"):
        encode(["1", "2", "-inf"])
    with pytest.raises(ValueError, match=r"No column of X can be used: 'a' \(constant\)"):
        TableEncoder().fit(pd.DataFrame({"a": [1, 1]}))


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_stored_encoders_are_small_and_give_the_same_bits():
    encoder = TableEncoder().fit(TABLE)
    stored = skops.io.dumps(encoder)
    assert skops.io.get_untrusted_types(data=stored) == ["opgd.table_encoder.TableEncoder"]
    loaded = skops.io.loads(stored, trusted=["opgd.table_encoder.TableEncoder"])
    np.testing.assert_array_equal(loaded.transform(TABLE), encoder.transform(TABLE))
    pd.testing.assert_frame_equal(loaded.summary_, encoder.summary_)
    assert len(stored) < 200_000
    ids = [f"{v:08x}" for v in rng.integers(0, 2**31, 20_000)]
    ids[0] = ids[1]
    large, _, _ = encode(ids)
    assert len(skops.io.dumps(large)) < 20_000
    assert len(skops.io.dumps(encode(ids, kinds={"x": "text"})[0])) < 200_000


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_pipelines_are_validated_cloned_and_stored(tmp_path):
    table = pd.read_csv(FOLDER / "customers.csv").dropna(subset="churn")
    X, y = table.drop(columns="churn"), table["churn"]
    model = make_pipeline(clone(TableEncoder(max_categories=9)), OPGDClassifier(1, ridge=0.1))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9
    save_model(model.fit(X, y), tmp_path / "model.opgd")
    loaded = load_model(tmp_path / "model.opgd")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    frame = TableEncoder().set_output(transform="pandas").fit_transform(X)
    assert frame.index.equals(X.index)
    assert frame.columns.tolist() == TableEncoder().fit(X).get_feature_names_out().tolist()
    complete = X[["tenure_months", "monthly_fee", "plan"]]
    plain = make_pipeline(TableEncoder(), LogisticRegression(max_iter=10_000)).fit(complete, y)
    assert plain.score(complete, y) > 0.8
