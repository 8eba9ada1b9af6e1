"""TableEncoder: kinds of columns, their encodings, and new tables."""

import pickle
import re
import warnings
from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from opgd import DataWarning, OPGDClassifier, OPGDMixture, TableEncoder
from tests.messy.write import FOLDER

TABLE = pd.read_csv(FOLDER / "customers.csv")
NEW = pd.read_csv(FOLDER / "new_customers.csv")
KINDS = {
    "customer_id": "identifier",
    "churn": "category",
    "age": "number",
    "tenure_months": "number",
    "monthly_fee": "number",
    "usage": "number",
    "visits": "number",
    "plan": "category",
    "city": "category",
    "paperless": "category",
    "signup": "date",
    "satisfaction": "number",
    "currency": "constant",
    "comment": "text",
}


def encode(column, **options):
    """Return the encoder and the features of a table with a single column."""
    encoder = TableEncoder(**options)
    table = pd.DataFrame({"x": column})
    return encoder, encoder.fit_transform(table)


def kind_of(column, **options):
    return encode(column, **options)[0].summary_["x"].kind


@pytest.fixture(scope="module")
def fitted():
    return TableEncoder().fit(TABLE)


def test_kinds_of_a_messy_table(fitted):
    assert {entry.column: entry.kind for entry in fitted.summary_} == KINDS


@pytest.mark.parametrize(
    "convert",
    [
        pl.from_pandas,
        pa.Table.from_pandas,
        lambda table: table.convert_dtypes(),
        lambda table: table.convert_dtypes(dtype_backend="pyarrow"),
        lambda table: table.astype(object),
        lambda table: pl.read_csv(FOLDER / "customers.csv", infer_schema=False),
        lambda table: table.astype({"signup": "datetime64[us]", "plan": "category"}),
        lambda table: pl.from_pandas(table.assign(signup=pd.to_datetime(table.signup).dt.date)),
    ],
    ids=["polars", "pyarrow", "nullable", "arrow dtypes", "objects", "text", "typed", "dates"],
)  # fmt: skip
def test_containers_and_types_of_a_table_do_not_matter(convert, fitted):
    other = convert(TABLE)
    expected = fitted.transform(TABLE)
    np.testing.assert_array_equal(TableEncoder().fit_transform(other), expected)
    np.testing.assert_array_equal(fitted.transform(other), expected)


def test_missing_numbers_stay_missing_or_become_medians(fitted):
    age = fitted.get_feature_names_out().tolist().index("age")
    kept = fitted.transform(TABLE)[:, age]
    np.testing.assert_array_equal(np.isnan(kept), TABLE["age"].isna())
    filled = TableEncoder(missing="median").fit_transform(TABLE)
    assert np.all(np.isfinite(filled))
    np.testing.assert_array_equal(filled[np.isnan(kept), age], TABLE["age"].median())


def test_indicators_agree_with_scikit_learn(rng):
    words = rng.choice(["a", "b", "c", "rare", "scarce"], 200, p=[0.4, 0.3, 0.16, 0.07, 0.07])
    theirs = OneHotEncoder(min_frequency=20, drop=["a"], sparse_output=False)
    theirs = theirs.fit_transform(words[:, None])
    encoder, ours = encode(words, min_frequency=20)
    assert encoder.get_feature_names_out().tolist() == ["x=b", "x=c", "x=other"]
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("column", "name"),
    [
        (["no", "yes"] * 20, "x=yes"),
        ([True, False] * 20, "x=True"),
        (["TRUE", "false"] * 20, "x=True"),
        (["1", "-"] * 20, "x=1"),
        (["yes", None] * 20, "x=yes"),
        (pd.Categorical([3, 4] * 20), "x=4"),
    ],
)
def test_two_values_need_one_column(column, name):
    encoder, features = encode(column)
    assert encoder.get_feature_names_out().tolist() == [name]
    assert set(features[:, 0]) == {0.0, 1.0}


def test_a_rare_value_of_two_is_kept():
    encoder, features = encode(["no"] * 99 + ["yes"])
    assert encoder.get_feature_names_out().tolist() == ["x=yes"]
    assert features.sum() == 1


def test_missing_categories_are_a_category_unless_they_are_rare():
    column = ["a", "b", "c"] * 20 + [None] * 20
    assert "x=missing" in encode(column)[0].get_feature_names_out()
    encoder, features = encode([*column[:60], None])
    assert "x=missing" not in encoder.get_feature_names_out()
    assert np.all(np.isnan(features[-1]))


def test_other_and_missing_can_be_categories_of_the_table():
    column = ["other", "missing", "a"] * 20 + [None] * 20 + ["rare"]
    encoder, features = encode(column)
    assert encoder.get_feature_names_out().tolist() == ["x=a", "x=other"]
    assert features.sum(axis=0).tolist() == [20, 21]


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        (["21%", "5 %", "-3.5%"], [21, 5, -3.5]),
        (["1,234", "999", "1,234,567.5"], [1234, 999, 1234567.5]),
        (["$5", "-$1,200", "$0.50"], [5, -1200, 0.5]),
        (["5 €", "€7", "€ 8"], [5, 7, 8]),
        (["1,5", "-2,75", "3"], [1.5, -2.75, 3]),
        (["1.234,5", "2.000,0", "7,25"], [1234.5, 2000, 7.25]),
        (["1e-3", ".5", "+2."], [0.001, 0.5, 2]),
        ([1.5, "2.5", "n/a"], [1.5, 2.5, np.nan]),
        (["1.5", "2.5", "-", "\N{EN DASH}", "\N{EM DASH}"], [1.5, 2.5] + [np.nan] * 3),
        (["12.50", "(12.50)", "(1,200)"], [12.5, -12.5, -1200]),
        (["$5", "($6)", "$(7.50)", "\N{MINUS SIGN}$8"], [5, -6, -7.5, -8]),
    ],
)
def test_numbers_in_text(column, numbers):
    encoder, features = encode(column * 4)
    assert encoder.summary_["x"].kind == "number"
    np.testing.assert_array_equal(features[:, 0], numbers * 4)


AMOUNTS = [1228.02, -950.5, 12.0, 1234567.25, 0.75]
SEPARATORS = {
    " ": "spaces",
    "\N{NO-BREAK SPACE}": "spaces",
    "\N{NARROW NO-BREAK SPACE}": "spaces",
    "\N{THIN SPACE}": "spaces",
    "'": "apostrophes",
    "\N{RIGHT SINGLE QUOTATION MARK}": "apostrophes",
}


@pytest.mark.parametrize("kinds", [None, {"x": "number"}], ids=["inferred", "requested"])
@pytest.mark.parametrize(
    "template", ["{}", "{} EUR", "USD {}", "{}CHF", "€ {}", "{}\N{NO-BREAK SPACE}€"]
)
@pytest.mark.parametrize("mark", [".", ","])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_amounts_with_separators_and_codes(separator, mark, template, kinds):
    marks = str.maketrans({",": separator, ".": mark})
    column = [template.format(f"{value:,.2f}".translate(marks)) for value in AMOUNTS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder, features = encode(column * 4, kinds=kinds)
        again = encoder.transform(pd.DataFrame({"x": column}))
    assert features[:, 0].tolist() == AMOUNTS * 4
    assert again[:, 0].tolist() == AMOUNTS
    assert f"{SEPARATORS[separator]} between thousands" in encoder.summary_["x"].action
    assert ("decimal commas" in encoder.summary_["x"].action) == (mark == ",")


@pytest.mark.parametrize(
    ("column", "numbers"),
    [
        (["1,228.02 EUR", "950.50 EUR", "(12.00 EUR)"], [1228.02, 950.5, -12]),
        (["1.228,02 EUR", "950,50 EUR", "-12,00 EUR"], [1228.02, 950.5, -12]),
        (["USD 12.50", "USD -3.25", "-USD 7", "USD (8.5)"], [12.5, -3.25, -7, -8.5]),
        (["12 EUR", "7 EUR", "-"], [12, 7, np.nan]),
        (["1 228", "950", "\N{MINUS SIGN}12 000"], [1228, 950, -12000]),
        (["1 228,5", "1\N{NO-BREAK SPACE}229,5", "1230,5"], [1228.5, 1229.5, 1230.5]),
        (["12.50 EUR", "€ 3.25", "-€7", "EUR 8.5"], [12.5, 3.25, -7, 8.5]),
        (["950 €", "1.421 €", "12.345 €", "-320 €"], [950, 1421, 12345, -320]),
        (["950 €", "1.421 €", "1.212.345 €"], [950, 1421, 1212345]),
        (["EUR 950", "1.421,50 EUR"], [950, 1421.5]),
        (["1.5 €", "1.421 €", "2 €"], [1.5, 1.421, 2]),
        (["0.459 €", "1.459 €", "2 €"], [0.459, 1.459, 2]),
        (["950", "1.421"], [950, 1.421]),
    ],
)
def test_other_amounts(column, numbers):
    encoder, features = encode(column * 4)
    np.testing.assert_array_equal(features[:, 0], numbers * 4)
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"x": column}))[:, 0], numbers)


@pytest.mark.parametrize(
    "words",
    [
        [f"{i} {i + 1}" for i in range(12, 52)],  # groups of two digits
        [f"1 {i:04}" for i in range(40)],
        [f"1'{i:02}" for i in range(40)],
        [f"1 234'{i:03}" for i in range(40)],  # two separators
        [f"{i / 7:.2f} {('EUR', 'USD')[i % 2]}" for i in range(40)],
        [f"{i / 7:.2f} {('USD', '$')[i % 2]}" for i in range(40)],  # not the only dollar
        [f"{i / 7:.2f} {('GBP', '£')[i % 2]}" for i in range(40)],  # nor the only pound
        [f"{i / 7:.2f} Eur" for i in range(40)],
        [f"{i / 7:.2f} EURO" for i in range(40)],
        [f"INV{i * i + 7}" for i in range(40)],
        [f"INV-{i * i + 7}" for i in range(40)],
        [f"INV {i + 1001}" for i in range(40)],
        [f"BMW {i * i + 118}" for i in range(40)],
        [f"6{i + 12} {i * i % 899 + 100} 678" for i in range(40)],  # telephone numbers
        [f"01 23 {i} 67 89" for i in range(10, 50)],
        [f"0{i} {i * 7 + 100}" for i in range(10, 50)],
    ],
)
@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_text_that_resembles_amounts_stays_text(words):
    table = pd.DataFrame({"x": words, "number": np.arange(40) ** 2.0})
    assert TableEncoder().fit(table).summary_["x"].kind in ("identifier", "text")


def test_amounts_of_a_thousand_are_read_although_the_training_table_has_none():
    encoder, _ = encode([f"{i},50 EUR" for i in range(1, 40)])
    new = pd.DataFrame({"x": ["950,50 EUR", "1 228,02 EUR"]})
    with pytest.warns(DataWarning, match="amounts in EUR with decimal commas and spaces"):
        assert encoder.transform(new)[:, 0].tolist() == [950.5, 1228.02]


@pytest.mark.parametrize("kinds", [None, {"x": "number"}])
@pytest.mark.parametrize("others", [[], ["1.5 €", "950 €"], ["2500 €"], ["2500 EUR", "7 €"]])
def test_points_that_may_separate_thousands_are_reported(others, kinds):
    with pytest.warns(DataWarning, match=r"amounts such as '\d\.\d+ €', whose point is read as a"):
        _, features = encode([*others, *(f"{i}.40{i} €" for i in range(1, 10))] * 3, kinds=kinds)
    assert features[-1, 0] == 9.409


def test_few_amounts_in_another_currency_are_missing():
    words = [f"{i}.50 EUR" for i in range(1, 40)]
    with pytest.warns(DataWarning, match="amounts in EUR, but also 1 other cell, .* '12 USD'"):
        _, features = encode([*words, "12 USD"])
    assert np.isnan(features[-1, 0])
    assert np.isfinite(features[:-1, 0]).all()


@pytest.mark.parametrize("word", ["{} kg", "{}k", "{} kr", "{} z\u0142", "US${}", "{} eur"])
@pytest.mark.parametrize("value", ["{:.2f}", "1 {:.0f},50"])
def test_numbers_with_other_text_are_reported(word, value):
    words = ["-"] * 20 + [word.format(value.format(100 + 7.1 * i)) for i in range(60)]
    table = pd.DataFrame({"x": words, "number": np.arange(80) ** 2.0})
    with pytest.warns(DataWarning, match=r"dropped .* numbers with '.*', such as .*\d.* Convert"):
        assert TableEncoder().fit(table).summary_["x"].outputs == []


@pytest.mark.parametrize("form", ["{:02d}:{:02d}", "{}:{:02d}:00", "{}:{:02d} AM"])
def test_times_without_dates_are_reported(form):
    words = [form.format(i // 60, i % 60) for i in range(0, 720, 7)]
    table = pd.DataFrame({"x": words, "number": np.arange(len(words)) ** 2.0})
    with pytest.warns(DataWarning, match=f"dropped .* times such as {words[0]!r}. Convert them"):
        assert TableEncoder().fit(table).summary_["x"].outputs == []


@pytest.mark.parametrize("word", ["INV-{}", "BMW {}", "{}-A{}", "{}/{}"])
def test_identifiers_with_numbers_are_not_reported(word):
    words = [word.format(i * i + 118, i) for i in range(60)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder().fit(pd.DataFrame({"x": words, "number": np.arange(60) ** 2.0}))


def test_amounts_in_another_currency_are_refused():
    encoder, _ = encode([f"{i}.50 EUR" for i in range(1, 40)])
    with pytest.raises(ValueError, match=r"amounts in EUR in the .* text such as '12\.50 USD'"):
        encoder.transform(pd.DataFrame({"x": ["12.50 USD"]}))


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["007", "012", "113", "250"] * 10, "category"),  # codes
        (["21%", "22"] * 20, "category"),  # percentages and numbers
        ([f"{i}-{i}" for i in range(40)], "identifier"),
        (range(100, 140), "identifier"),
        ([f"note {i} on the order" for i in range(40)], "text"),
        ([5.0] * 40, "constant"),
        (["a"] * 40, "constant"),
        ([date(2024, 1, 1)] * 40, "constant"),
        ([None, np.nan] * 20, "empty"),
        ([[1], [2]] * 20, "unsupported"),
        ([object()] * 40, "unsupported"),
        ([timedelta(days=1), timedelta(hours=1)] * 20, "number"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value[0])[:12].partition(" at ")[0],
)
def test_kinds_of_columns(column, kind):
    table = pd.DataFrame({"x": pd.Series(column), "number": np.arange(40) ** 2.0})
    assert TableEncoder().fit(table).summary_["x"].kind == kind


def test_distinct_integers_identify_rows_only_by_name_or_order(rng):
    values = rng.choice(10**6, 50, replace=False)
    table = pd.DataFrame({"customer_id": values, "income": values[::-1] // 2, "paid": values % 99})
    kinds = {entry.column: entry.kind for entry in TableEncoder().fit(table).summary_}
    assert kinds == {"customer_id": "identifier", "income": "number", "paid": "number"}


def test_repeated_columns_are_dropped(rng):
    celsius, plan = rng.normal(10, 5, 60), rng.choice(["a", "b", "c"], 60)
    table = pd.DataFrame({
        "celsius": celsius,
        "fahrenheit": np.round(1.8 * celsius + 32, 4),
        "noisy": celsius + rng.normal(0, 0.1, 60),
        "plan": plan,
        "code": np.select([plan == "a", plan == "b"], ["Z", "Y"], "X"),
    })  # fmt: skip
    encoder = TableEncoder().fit(table)
    assert [column.name for column in encoder.columns_] == ["celsius", "noisy", "plan"]
    assert "repeats 'celsius'" in encoder.summary_["fahrenheit"].action
    requested = TableEncoder(kinds={"fahrenheit": "number"}).fit(table)
    assert "fahrenheit" in requested.get_feature_names_out()


@pytest.mark.parametrize(
    "pattern",
    ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d %b %Y", "%Y-%m-%dT%H:%M:%SZ"],
)
def test_dates_in_text(pattern):
    dates = [date(2023, 1, 20) + timedelta(days=7 * i + i % 5) for i in range(120)]
    text, typed = [encode(column) for column in ([d.strftime(pattern) for d in dates], dates)]
    np.testing.assert_allclose(text[1], typed[1], atol=1e-12)
    names = text[0].get_feature_names_out().tolist()
    waves = [f"x:{cycle}_{wave}" for cycle in ("weekday", "month") for wave in ("sin", "cos")]
    assert names == ["x:days", *waves]
    assert text[1][:2, 0].tolist() == [0, 8]


def write_slashes(n_days, pattern="%d/%m/%Y"):
    """Return 40 dates as text; with 11 days, all of them are ambiguous."""
    days = [date(2024, 1 + i % 12, 1 + i % n_days) for i in range(40)]
    return [day.strftime(pattern) for day in days]


def test_ambiguous_dates_have_the_order_of_the_other_dates():
    table = pd.DataFrame({"end": write_slashes(11), "start": write_slashes(28)})
    encoder = TableEncoder().fit(table)
    assert [column.format for column in encoder.columns_] == ["day/month/year"] * 2
    assert encoder.columns_[0].origin == date(2024, 1, 1).toordinal() - date(1970, 1, 1).toordinal()


def test_ambiguous_dates_are_reported():
    others = {"a": write_slashes(28), "b": write_slashes(28, "%m/%d/%Y"), "c": write_slashes(11)}
    for names in (["c"], ["a", "b", "c"]):
        with pytest.warns(DataWarning, match=r"'c' has dates.*month/day/year is assumed") as caught:
            TableEncoder().fit(pd.DataFrame({name: others[name] for name in names}))
        assert len(caught) == 1
    encoder, _ = encode(pd.date_range("2024-01-01", periods=40))
    with pytest.warns(DataWarning, match="'x' has dates that can be read in two ways"):
        encoder.transform(pd.DataFrame({"x": others["c"]}))


def test_cycles_of_dates_are_right():
    moments = [datetime(2023, 1, 1) + timedelta(hours=41 * i) for i in range(400)]
    _, features = encode(moments)
    hours = [2 * np.pi * m.hour / 24 for m in moments]
    weekdays = [2 * np.pi * m.weekday() / 7 for m in moments]
    months = [2 * np.pi * (m.month - 1) / 12 for m in moments]
    for j, angle in enumerate((hours, weekdays, months)):
        np.testing.assert_allclose(features[:, 1 + 2 * j], np.sin(angle), atol=1e-9)
        np.testing.assert_allclose(features[:, 2 + 2 * j], np.cos(angle), atol=1e-9)


def test_cycles_that_do_not_vary_are_left_out():
    mondays = [date(2024, 1, 1) + timedelta(days=7 * i) for i in range(20)]
    assert encode(mondays)[0].get_feature_names_out().tolist() == ["x:days"]


def test_dates_with_a_time_zone_are_local_times():
    zone = timezone(timedelta(hours=2))
    moments = [datetime(2024, 1, i + 1, 1, 30, tzinfo=zone) for i in range(20)]
    expected = encode([moment.replace(tzinfo=None) for moment in moments])[1]
    for column in (moments, [moment.isoformat() for moment in moments]):
        np.testing.assert_allclose(encode(column)[1], expected)


@pytest.mark.parametrize(
    "convert",
    [
        lambda table: table,
        pl.from_pandas,
        pa.Table.from_pandas,
        lambda table: table.convert_dtypes(dtype_backend="pyarrow"),
        lambda table: table.astype({"x": "timestamp[us, tz=Europe/Berlin][pyarrow]"}),
        lambda table: table.astype(object),
        lambda table: table.assign(x=[moment.isoformat() for moment in table["x"]]),
    ],
    ids=["pandas", "polars", "pyarrow", "arrow dtypes", "arrow timestamps", "objects", "text"],
)
def test_weekdays_are_those_of_the_time_zone(convert):
    local = pd.DataFrame({"x": pd.date_range("2024-01-01", periods=120)})
    zoned = convert(local.apply(lambda column: column.dt.tz_localize("Europe/Berlin")))
    encoder = TableEncoder().fit(zoned)
    expected = TableEncoder().fit_transform(local)
    np.testing.assert_allclose(encoder.transform(zoned), expected)
    np.testing.assert_allclose(encoder.transform(local), expected)
    assert expected[0].tolist() == [0, 0, 1]  # a Monday


def test_a_few_cells_that_are_not_numbers_are_missing_with_a_warning():
    with pytest.warns(DataWarning, match=r"'x' has numbers, but also 1 other cell.*: 'abc'\.$"):
        _, features = encode([*map(str, np.arange(30) / 7), "abc"])
    assert np.isnan(features[-1, 0])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([f"{i / 7:.3f}" for i in range(88)], "number"),
        ([f"$ {i**2}.50" for i in range(88)], "number"),
        ([f"{1900 + i}-01-20" for i in range(88)], "date"),
    ],
)
def test_dropped_text_with_many_numbers_is_reported(values, kind):
    table = pd.DataFrame({"v": [*values, *["b.d."] * 4, *["n.d."] * 8, *["-"] * 5]})
    table["number"] = np.arange(len(table)) ** 2.0
    message = (
        f"Column 'v' was dropped as text, although 88% of its cells are {kind}s; others are such "
        f"as 'b.d.'. Pass kinds={{'v': '{kind}'}} to use it"
    )
    with pytest.warns(DataWarning, match=re.escape(message)):
        assert not TableEncoder().fit(table).summary_["v"].outputs
    with pytest.warns(DataWarning, match="12 other cells, treated as missing"):
        assert TableEncoder(kinds={"v": kind}).fit(table).summary_["v"].kind == kind


def test_cells_that_are_not_numbers_are_counted_as_missing_and_reported_once():
    column = [*map(str, np.arange(100) / 7), *["<0.5"] * 10, None, "-"]
    with pytest.warns(DataWarning, match="10 other cells, treated as missing") as caught:
        encoder, features = encode(column)
    assert len(caught) == 1
    assert encoder.summary_["x"].n_missing == np.isnan(features).sum() == 12
    with pytest.warns(DataWarning, match="10 other cells"):
        encoder.transform(pd.DataFrame({"x": column}))


def test_kinds_can_be_requested():
    assert kind_of(["1", "2", "3"] * 20, kinds={"x": "category"}) == "category"
    assert kind_of([1, 2, 3] * 20, kinds={"x": "category"}) == "category"
    assert kind_of(range(40), kinds={"x": "number"}) == "number"
    assert kind_of([True, False] * 20, kinds={"x": "number"}) == "number"
    encoder = TableEncoder(kinds={"age": "ignore"}).fit(TABLE)
    assert encoder.summary_["age"].kind == "ignored"
    encoder = TableEncoder(kinds={"customer_id": "category"}).fit(TABLE.head(8))
    assert "customer_id=C-4007" in encoder.get_feature_names_out()


@pytest.mark.parametrize(
    ("column", "kind", "reason"),
    [
        ([f"K{i}" for i in range(80)], "category", "every value is rare"),
        (range(80), "category", "every value is rare"),
        (["EUR"] * 80, "category", "it is always 'EUR'"),
        ([5.0] * 80, "number", "it is always 5"),
        (["a"] * 78 + ["b", "c"], "category", "no two categories with at least 4 rows"),
    ],
)
def test_requests_that_give_no_features_are_reported(column, kind, reason):
    table = pd.DataFrame({"x": column, "number": np.arange(80) ** 2.0})
    encoder = TableEncoder(kinds={"x": kind})
    with pytest.warns(DataWarning, match=f"'x' was requested as {kind}, but {reason}"):
        encoder.fit(table)
    assert encoder.summary_["x"].action == f"dropped: requested as {kind}, but {reason}"


@pytest.mark.parametrize(
    ("column", "kind", "reason"),
    [
        (["1.2k", "3.4k"], "number", "none of the cells can be read as a number, .* '1.2k'"),
        (["-", "1.2k", "n/a"], "number", "none of the cells can be read as a number, .* '1.2k'"),
        (["5 EUR", "6 USD"], "number", "none of the cells can be read as a number, .* '5 EUR'"),
        (["soon", "later"], "date", "none of the cells can be read as a date, .* 'soon'"),
        ([date(2024, 1, 1), date(2024, 1, 2)], "number", "the column has dates"),
        ([1.5, 2.5], "date", "the column has numbers"),
    ],
)
def test_requests_that_no_cell_fulfills_are_refused(column, kind, reason):
    message = rf"^kinds\['x'\] is '{kind}', but {reason}; convert the column, or pass another kind"
    with pytest.raises(ValueError, match=message):
        encode(column * 5, kinds={"x": kind})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": {"x": "colour"}}, "kinds"),
        ({"kinds": {"z": "number"}}, "'z'"),
        ({"kinds": ["x"]}, "kinds must be a dict"),
        ({"kinds": {"x": "date"}}, r"kinds\['x'\] is 'date'"),
        ({"max_categories": 1}, "max_categories"),
        ({"min_frequency": 0}, "min_frequency"),
        ({"min_frequency": 1.5}, "min_frequency"),
        ({"missing": "drop"}, "missing"),
    ],
)
def test_bad_parameters_are_refused_by_name(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        encode(["a", "b"] * 10, **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda new: new.drop(columns=["age"]), r"X has no column 'age', which the encoder"),
        (lambda new: new.drop(columns=["age", "plan"]), r"X has no columns 'age', 'plan'"),
        (lambda new: new.assign(age="old"), r"'age' has numbers .* now has text such as 'old'"),
        (lambda new: new.assign(age=date(2024, 1, 1)), "'age' has numbers .* now has dates"),
        (lambda new: new.assign(signup=3.0), "'signup' has dates .* now has numbers"),
        (lambda new: new.assign(signup="soon"), r"'signup' has dates \(year-month-day\) .* 'soon'"),
        (lambda new: new.assign(usage=0.3), "'usage' has percentages .* without a unit"),
        (lambda new: new.assign(plan=1.5), "'plan' has categories such as 'basic' .* such as 1.5"),
        (lambda new: new.assign(age=np.inf), "infinity in 'age', first in row 0"),
        (lambda new: new.head(0), "0 sample"),
    ],
)  # fmt: skip
def test_changed_columns_get_one_clear_sentence(change, message):
    encoder = TableEncoder(kinds={"churn": "ignore"}).fit(TABLE)
    with pytest.raises(ValueError, match=message):
        encoder.transform(change(NEW))


def test_new_tables_need_only_the_columns_that_are_used(fitted):
    expected = fitted.transform(TABLE)
    others = TABLE.drop(columns=["comment", "currency", "customer_id"]).assign(more="text")
    np.testing.assert_array_equal(fitted.transform(others[others.columns[::-1]]), expected)


def test_unknown_categories_are_other_or_favor_no_category():
    encoder = TableEncoder(kinds={"churn": "ignore"}).set_output(transform="pandas").fit(TABLE)
    with pytest.warns(DataWarning) as caught:
        features = encoder.transform(NEW)
    messages = [str(entry.message) for entry in caught]
    assert messages == [
        "Column 'plan' has an unknown category, ignored: 'platinum'.",
        "Column 'city' has an unknown category, treated as other: 'Oslo'.",
    ]
    assert features["city=other"].iloc[0] == 1
    plans = [name for name in features if name.startswith("plan=")]
    shares = [float(np.mean(TABLE["plan"] == name.partition("=")[2])) for name in plans]
    np.testing.assert_allclose(features.loc[1, plans].astype(float), shares)


def test_numbers_written_in_another_way_are_read_with_a_warning():
    encoder, _ = encode(["1.5", "2.5", "3.25"] * 10)
    with pytest.warns(DataWarning, match="decimal commas, unlike the training table"):
        features = encoder.transform(pd.DataFrame({"x": ["1,5", "2,75"]}))
    assert features.ravel().tolist() == [1.5, 2.75]


def test_arrays_of_numbers_are_passed_on(rng):
    X = rng.normal(size=(30, 3))
    X[0, 0], X[:, 1] = np.nan, 1.0
    encoder = TableEncoder().fit(X)
    np.testing.assert_array_equal(encoder.transform(X), X)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    assert encoder.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]


def test_arrays_of_objects_are_encoded_like_data_frames(fitted):
    names = [f"x{j}" for j in range(TABLE.shape[1])]
    encoder = TableEncoder().fit(TABLE.to_numpy())
    renamed = TableEncoder().fit(TABLE.set_axis(names, axis=1))
    np.testing.assert_array_equal(encoder.transform(TABLE.to_numpy()), fitted.transform(TABLE))
    assert encoder.get_feature_names_out().tolist() == renamed.get_feature_names_out().tolist()


def test_encoded_names_are_distinct():
    table = pd.DataFrame({"a": ["x", "y", "z", "z"] * 8, "a=x": np.arange(32) ** 2.0})
    names = TableEncoder().fit(table[::-1]).get_feature_names_out()
    assert names.tolist() == ["a=x", "a=y", "a=x (2)"]


def test_tables_without_a_usable_column_are_refused():
    with pytest.raises(ValueError, match=r"No column of X can be used: 'x' \(constant\)"):
        encode([1.0] * 20)


def test_output_as_data_frames(fitted):
    for container, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        features = clone(TableEncoder()).set_output(transform=container).fit_transform(TABLE)
        assert isinstance(features, kind)
        assert list(features.columns) == fitted.get_feature_names_out().tolist()
    index = np.arange(len(TABLE))[::-1]
    framed = clone(TableEncoder()).set_output(transform="pandas").fit(TABLE)
    assert framed.transform(TABLE.set_index(index)).index.tolist() == index.tolist()


def test_single_precision_is_kept(rng):
    X = pd.DataFrame(rng.normal(size=(30, 2)).astype(np.float32), columns=["a", "b"])
    assert TableEncoder().fit_transform(X).dtype == np.float32


def test_encoders_are_cloned_pickled_and_stored_by_skops(fitted):
    skops = pytest.importorskip("skops.io")
    expected = fitted.transform(TABLE)
    stored = skops.dumps(fitted)
    types = skops.get_untrusted_types(data=stored)
    assert all(name.startswith("opgd.") for name in types)
    for same in (pickle.loads(pickle.dumps(fitted)), skops.loads(stored, trusted=types)):
        np.testing.assert_array_equal(same.transform(TABLE), expected)
        assert str(same.summary_) == str(fitted.summary_)
    np.testing.assert_array_equal(clone(fitted).fit_transform(TABLE), expected)


def test_indicators_are_not_collinear(fitted):
    features = TableEncoder(missing="median").fit_transform(TABLE)
    assert np.linalg.matrix_rank(features - features.mean(axis=0)) == features.shape[1]


def test_summary_is_printed_as_text_and_html(fitted):
    lines = str(fitted.summary_).splitlines()
    assert len(lines) == 1 + TABLE.shape[1] == 1 + len(fitted.summary_)
    assert max(map(len, lines)) <= 110
    nasty = TableEncoder().fit(TABLE.rename(columns={"age": "<b>\x1b[31m"}))
    assert "\x1b" not in str(nasty.summary_)
    assert "<b>" not in nasty.summary_._repr_html_()
    assert nasty.summary_.n_missing == int(TABLE[TABLE.columns[1:12]].isna().sum().sum())
    with pytest.raises(KeyError):
        fitted.summary_["no such column"]


def test_fits_do_not_depend_on_y_and_leave_the_table_alone(fitted):
    before = TABLE.copy()
    again = TableEncoder().fit(TABLE, np.arange(len(TABLE)))
    assert again.columns_ == fitted.columns_
    pd.testing.assert_frame_equal(TABLE, before)


def test_pipelines_are_cross_validated_and_searched():
    labeled = TABLE[TABLE["churn"].notna()]
    X, y = labeled.drop(columns="churn"), labeled["churn"]
    pipeline = make_pipeline(TableEncoder(missing="median"), OPGDClassifier(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # folds have constant and unknown categories
        scores = cross_val_score(pipeline, X, y, cv=3)
        search = GridSearchCV(pipeline, {"tableencoder__max_categories": [4, 30]}, cv=2).fit(X, y)
    assert scores.mean() > np.mean(y == "no") + 0.05
    assert search.predict(NEW.drop(index=[0, 1])).shape == (10,)


def test_clustering_names_the_columns_of_the_table(rng):
    table = pd.DataFrame({
        "size": rng.normal(size=280),
        "visits": rng.poisson(2, 280),
        "when": pd.date_range("2024-01-01", periods=280),
        "plan": rng.choice(["free", "gold"], 280),
    })  # fmt: skip
    features = TableEncoder().set_output(transform="pandas").fit_transform(table)
    message = (
        r"'visits', 'when:weekday_sin', 'when:weekday_cos', 'plan=gold'.*Source columns in the "
        r"table: 'when', 'plan'.*kinds=\{'when': 'ignore'\}"
    )
    with pytest.warns(DataWarning, match=message):
        OPGDMixture(2, init="ward").fit(features)
    numbers = features[["size", "visits"]]
    with pytest.warns(DataWarning, match="categories or codes\\.$"):
        OPGDMixture(2, init="ward").fit(numbers)


def test_a_failed_fit_leaves_the_encoder_unchanged():
    table = pd.DataFrame({"a": ["x", "y", "z"] * 5, "b": np.arange(15) ** 2.0})
    bad = pd.DataFrame({"c": [1.0, np.inf, 2.0] * 5})
    encoder = TableEncoder()
    for fitted in ({}, dict(vars(encoder.fit(table)))):
        encoder = TableEncoder()
        vars(encoder).update(fitted)
        before = dict(vars(encoder))
        with pytest.raises(ValueError, match="infinity"):
            encoder.fit(bad)
        assert vars(encoder) == before
