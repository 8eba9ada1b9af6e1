"""Tables in files that are larger than memory."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

from opgd import OPGDClassifier, OPGDMixture, files, open_table  # noqa: E402

NAMES = [f"x{j}" for j in range(4)]


@pytest.fixture
def table(rng):
    y = rng.integers(0, 3, 900)
    X = rng.normal(size=(3, 4))[y] * 2 + rng.normal(size=(900, 4))
    frame = pd.DataFrame(X, columns=NAMES)
    frame.loc[::50, "x1"] = np.nan
    frame["kind"] = np.array(["a", "bb", "c"], dtype=object)[y]
    frame["weight"] = rng.uniform(0.5, 2, 900)
    return frame


@pytest.fixture
def folder(tmp_path, table):
    path = tmp_path / "folder"
    (path / "more").mkdir(parents=True)
    for number, name in enumerate(["1.parquet", "2.parquet", "more/3.pq"]):
        part = table.iloc[300 * number : 300 * (number + 1)]
        part.to_parquet(path / name, index=False, row_group_size=70)
    (path / "_SUCCESS.parquet").write_bytes(b"")
    return path


def assert_fits_like_memory(X, y, weight, table):
    """Compare all that a fit to a table in files computes with a fit in memory, to the bit."""
    rows = pd.DataFrame(np.ascontiguousarray(table[NAMES]), columns=NAMES, copy=False)
    np.testing.assert_array_equal(X, rows)
    found = OPGDClassifier(2).fit(X, y, sample_weight=weight)
    expected = OPGDClassifier(2).fit(rows, table.kind, table.weight)
    np.testing.assert_array_equal(found.components_, expected.components_)
    assert found.log_likelihood_ == expected.log_likelihood_
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_array_equal(found.feature_names_in_, NAMES)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(rows))


def test_a_folder_gives_the_fit_of_its_rows_in_memory(folder, table, monkeypatch):
    monkeypatch.setattr(files, "MAX_BATCH_ROWS", 64)
    opened = open_table(folder)
    assert repr(opened) == "FileTable(3 files, 900 rows, 6 columns)"
    assert_fits_like_memory(*opened.split("kind", "weight"), table)
    batches = list(opened.batches())
    assert max(map(len, batches)) <= 64
    pd.testing.assert_frame_equal(pd.concat(batches), table, check_dtype=False)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv.bz2", ".txt.zst"])
def test_text_gives_the_fit_of_its_rows_in_memory(tmp_path, table, ending):
    table["kind"] = table.kind.map({"a": 10, "bb": 2, "c": -3})
    path = tmp_path / f"table{ending}"
    separator = {".tsv": "\t", ".txt": ";"}.get(ending[:4], ",")
    with pa.output_stream(str(path), compression="detect") as stream:
        stream.write(table.to_csv(index=False, sep=separator).encode())
    X, y, weight = open_table(path).split("kind", "weight")
    assert y.dtype == np.int64
    assert_fits_like_memory(X, y, weight, table)


def test_values_stay_in_a_file_without_a_name(folder, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    X = open_table(folder, columns=["x0", "x2"], cache=cache).features()
    assert not list(cache.iterdir())
    assert not X.to_numpy().flags.writeable
    assert np.shares_memory(X.to_numpy(), np.asarray(X))
    maps = Path("/proc/self/maps")
    assert not maps.exists() or str(cache) in maps.read_text(encoding="utf-8")
    OPGDMixture(2, random_state=0).fit(X)


def test_interrupted_and_failed_copies_leave_nothing_behind(folder, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir()

    def interrupt(*args, **kwargs):
        yield from [batch for _, batch in zip(range(2), scan(*args, **kwargs), strict=False)]
        raise KeyboardInterrupt

    scan = files.FileTable.scan
    opened = open_table(folder, cache=cache)
    monkeypatch.setattr(files.FileTable, "scan", interrupt)
    with pytest.raises(KeyboardInterrupt):
        opened.split("kind", "weight")
    monkeypatch.setattr(files.FileTable, "scan", scan)
    assert not list(cache.iterdir())
    path = folder / "2.parquet"
    data = path.read_bytes()
    path.write_bytes(data[:4] + bytes(200) + data[204:])  # the header of the first page
    with pytest.raises(ValueError, match=r"2\.parquet' cannot be read as Parquet"):
        opened.split("kind", "weight")
    assert not list(cache.iterdir())


def test_types_of_columns(tmp_path):
    columns = {
        "small": pa.array([1.5, None, 3], pa.float32()),
        "count": pa.array([1, 2, None], pa.int16()),
        "a.b": pa.array([0.5, 1, 2], pa.float32()),
        "a": pa.array([7, 8, 9], pa.int8()),
        "yes": [True, None, False],
        "exact": pa.array([1, 2, 3]).cast(pa.decimal128(21, 2)),
        "none": pa.nulls(3),
        "label": pa.array(["x", None, "y"]).dictionary_encode(),
        "day": pa.array([1, 2, 3], pa.int32()).cast(pa.date32()),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    names = [*columns][:-2]
    X, label, day = open_table(tmp_path / "t.parquet", columns=names).split("label", "day")
    nan = np.nan
    expected = [[1.5, 1, 0.5, 7, 1, 1, nan], [nan, 2, 1, 8, nan, 2, nan], [3, nan, 2, 9, 0, 3, nan]]
    np.testing.assert_array_equal(X.to_numpy(), expected)
    assert label.tolist() == ["x", None, "y"]
    assert day.astype(str).tolist() == ["1970-01-02", "1970-01-03", "1970-01-04"]
    X, a = open_table(tmp_path / "t.parquet", columns=["a.b", "small"]).split("a")
    assert X.to_numpy().dtype == np.float32
    assert X.columns.tolist() == ["a.b", "small"]
    assert a.tolist() == [7, 8, 9]


def test_numbers_and_missing_cells_in_text(tmp_path):
    (tmp_path / "1.csv").write_text("x.1,w,y\n1,1,a\nNA,2,None\n?,3,NA\n")
    (tmp_path / "2.csv").write_text('w,y,x.1\n0.5,"a,b",7\n')
    X, w, y = open_table(tmp_path, columns=["x.1"]).split("w", "y")
    np.testing.assert_array_equal(X.to_numpy().ravel(), [1, np.nan, np.nan, 7])
    assert w.tolist() == [1, 2, 3, 0.5]
    assert y.tolist() == ["a", "None", None, "a,b"]
    lines = "".join(f"{i},{1 + i % 2}\n" for i in range(600_000))  # more than one block
    (tmp_path / "1.csv").write_text(f"x,w\n{lines}5,2.5\n")
    X, w = open_table(tmp_path / "1.csv").split("w")
    np.testing.assert_array_equal(X["x"], [*range(600_000), 5])
    assert w[[0, 1, -1]].tolist() == [1, 2, 2.5]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["007", "10"], ["007", "10"]),
        (["9007199254740993", "9007199254740992"], [9007199254740993, 9007199254740992]),
        (["1", "2"], [1, 2]),
        (["1.5", "2"], [1.5, 2.0]),
    ],
)
def test_labels_in_text_are_exact(tmp_path, labels, expected):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i},{labels[i]}\n" for i in range(2)))
    y = open_table(tmp_path / "t.csv").split("y")[1]
    assert y.tolist() == expected


def assert_refused(error, words, call):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    for word in words:
        assert word in message
    assert "\n" not in message
    assert message.endswith(".")


def test_refusals_name_file_and_column(tmp_path, folder):
    def refuse(words, call=lambda: open_table(folder)):
        assert_refused(ValueError, words, call)

    for path, cache in [(tmp_path / "no.csv", None), (folder, tmp_path / "none")]:
        with pytest.raises(FileNotFoundError, match=r"no\.csv|none"):
            open_table(path, columns=NAMES, cache=cache).features()
    refuse(["'kind' (", "opgd.TableEncoder"], open_table(folder).features)
    refuse(["no column 'knd'. Its columns are 'x0'"], lambda: open_table(folder).split("knd"))
    refuse(["no column 'z'"], lambda: open_table(folder, columns=["z"]))
    refuse(["no column"], lambda: open_table(folder, columns=["kind"]).split("kind"))
    path = folder / "2.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refuse(["2.parquet' cannot be read as Parquet"])
    path.write_bytes(b"")
    refuse(["2.parquet' cannot be read as Parquet"])
    other = pq.read_table(folder / "1.parquet").drop_columns(["x1"])
    pq.write_table(other, path)
    refuse(["1.parquet' and", "2.parquet', only one has the column 'x1'"])
    pq.write_table(other.append_column("x1", pa.array(["1"] * 300)), path)
    refuse(["2.parquet' do not match", "x1", "double vs string"])
    (folder / "2.csv").write_text("x\n1\n")
    refuse(["folder' must be", "files of one of these formats"])
    (tmp_path / "empty").mkdir()
    refuse(["empty' must be a Parquet file"], lambda: open_table(tmp_path / "empty"))


def test_refusals_of_text(tmp_path):
    def refuse(name, data, *words):
        (tmp_path / name).write_bytes(data)
        assert_refused(ValueError, words, lambda: open_table(tmp_path / name).split("y"))

    rows = b"".join(b"%d,%d\n" % (i, i % 2) for i in range(60_000))
    refuse("a.csv", b"", "a.csv' cannot be read", "Empty CSV file")
    refuse("b.csv", b"x,y\n", "b.csv' has no rows")
    refuse("c.csv", b"x,y\n1,2\n3\n", "c.csv' cannot be read", "Expected 2 columns, got 1")
    refuse("d.csv", b"x,x,y\n1,2,3\n", "d.csv' cannot be read", "more than once in ['x', 'x', 'y']")
    refuse("e.csv.gz", gzip.compress(b"x,y\n" + rows)[:-20_000], "e.csv.gz' cannot be read as CSV")
    refuse("f.csv.gz", b"x,y\n1,2\n", "f.csv.gz' cannot be read as CSV")
    refuse(
        "g.csv",
        b"x,y\n1,2\n" + rows * 12 + b"ten,0\n",
        "g.csv' cannot be read",
        "column 'x'",
        "value 'ten'",
    )
    refuse("h.json", b"{}", "h.json' must be a Parquet file")


def test_missing_packages_are_named(folder, monkeypatch):
    monkeypatch.setattr(files, "_missing", "pyarrow")
    with pytest.raises(ImportError, match="needs pyarrow: the extra 'tables' is missing"):
        open_table(folder)
