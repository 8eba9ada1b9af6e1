"""Tables in files that are larger than memory."""

import errno
import gzip
import shutil
from collections import namedtuple
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


def fit_in_memory(table, **parameters):
    return OPGDClassifier(2, **parameters).fit(table[NAMES], table.kind, table.weight)


def test_a_folder_gives_the_fit_of_its_rows_in_memory(folder, table, monkeypatch):
    monkeypatch.setattr(files, "MAX_BATCH_ROWS", 64)
    opened = open_table(folder)
    assert opened.n_rows == 900
    assert repr(opened) == "FileTable(3 files, 900 rows, 6 columns)"
    X, y, weight = opened.split("kind", "weight")
    expected = fit_in_memory(table)
    model = OPGDClassifier(2).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.components_, expected.components_)
    np.testing.assert_array_equal(model.classes_, ["a", "bb", "c"])
    np.testing.assert_array_equal(model.feature_names_in_, NAMES)
    np.testing.assert_array_equal(model.predict(X), expected.predict(table[NAMES]))
    batches = [model.predict_proba(batch[NAMES]) for batch in opened.batches(100)]
    np.testing.assert_allclose(np.vstack(batches), expected.predict_proba(table[NAMES]), rtol=1e-9)


def test_values_stay_in_a_file_without_a_name(folder, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    X = open_table(folder, columns=NAMES, cache=cache).features()
    assert not list(cache.iterdir())
    assert not X.to_numpy().flags.writeable
    assert np.shares_memory(X.to_numpy(), np.asarray(X))
    maps = Path("/proc/self/maps")
    assert not maps.exists() or str(cache) in maps.read_text(encoding="utf-8")
    OPGDMixture(2, random_state=0).fit(X)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv.bz2", ".txt.zst"])
def test_compressed_text_gives_the_fit_of_its_rows(tmp_path, table, ending):
    table["kind"] = table.kind.map({"a": 10, "bb": 2, "c": -3})
    path = tmp_path / f"table{ending}"
    separator = {".tsv": "\t", ".txt": ";"}.get(ending[:4], ",")
    text = table.to_csv(index=False, sep=separator).encode()
    with pa.output_stream(str(path), compression="detect") as stream:
        stream.write(text)
    X, y, weight = open_table(path).split("kind", "weight")
    assert y.dtype == np.int64
    model = OPGDClassifier(2).fit(X, y, sample_weight=weight)
    expected = fit_in_memory(table)
    np.testing.assert_allclose(model.components_, expected.components_, rtol=1e-6)
    np.testing.assert_array_equal(model.classes_, [-3, 2, 10])


def test_types_of_columns(tmp_path):
    columns = {
        "small": pa.array([1.5, None, 3], pa.float32()),
        "count": pa.array([1, 2, None], pa.int16()),
        "a.b": pa.array([0.5, 1, 2], pa.float32()),
        "a": pa.array([7, 8, 9], pa.int8()),
        "label": pa.array(["x", None, "y"]).dictionary_encode(),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    X, label = open_table(tmp_path / "t.parquet").split("label")
    assert X.to_numpy().dtype == np.float32
    expected = [[1.5, 1, 0.5, 7], [np.nan, 2, 1, 8], [3, np.nan, 2, 9]]
    np.testing.assert_array_equal(X.to_numpy(), expected)
    assert label.tolist() == ["x", None, "y"]
    X, a = open_table(tmp_path / "t.parquet", columns=["a.b"]).split("a")
    assert X.columns.tolist() == ["a.b"]
    assert a.tolist() == [7, 8, 9]
    pq.write_table(
        pa.table({"yes": [True, None], "exact": pa.array([1, 2]).cast(pa.decimal128(21, 2))}),
        tmp_path / "u.parquet",
    )
    np.testing.assert_array_equal(
        open_table(tmp_path / "u.parquet").features().to_numpy(), [[1, 1], [np.nan, 2]]
    )


def test_missing_labels_in_text(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,5\nNA,\n3,7\n")
    X, y = open_table(tmp_path / "t.csv").split("y")
    np.testing.assert_array_equal(X.to_numpy(), [[1], [np.nan], [3]])
    np.testing.assert_array_equal(y, [5, np.nan, 7])


def test_numbers_in_text_may_begin_with_whole_ones(tmp_path):
    (tmp_path / "1.csv").write_text("x,w\n1,1\n2,2\n")
    (tmp_path / "2.csv").write_text("x,w\n3,0.5\n4,2\n")
    _, w = open_table(tmp_path).split("w")
    assert w.tolist() == [1, 2, 0.5, 2]
    lines = "".join(f"{i},{1 + i % 2}\n" for i in range(600_000))  # more than one block
    (tmp_path / "3.csv").write_text(f"x,w\n{lines}5,2.5\n")
    _, w = open_table(tmp_path / "3.csv").split("w")
    assert w.dtype == np.float64
    assert w[[0, 1, -1]].tolist() == [1, 2, 2.5]
    (tmp_path / "3.csv").write_text(f"x,w\n{lines}5,007\n")
    assert set(open_table(tmp_path / "3.csv").split("w")[1]) == {"1", "2", "007"}


def assert_refused(error, words, call):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert words in message
    assert "\n" not in message
    assert message.endswith(".")


def test_refusals_name_file_and_column(tmp_path, folder):
    assert_refused(FileNotFoundError, "does not exist", lambda: open_table(tmp_path / "no.csv"))
    assert_refused(ValueError, "Column 'kind' (", open_table(folder).features)
    assert_refused(ValueError, "opgd.TableEncoder", open_table(folder).features)
    assert_refused(
        ValueError, "no column 'knd' (`target`)", lambda: open_table(folder).split("knd")
    )
    assert_refused(ValueError, "(`columns`)", lambda: open_table(folder, columns=["z"]))
    path = folder / "2.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert_refused(ValueError, "2.parquet' cannot be read as Parquet", lambda: open_table(folder))
    path.write_bytes(b"")
    assert_refused(ValueError, "2.parquet' cannot be read as Parquet", lambda: open_table(folder))
    path.write_bytes(whole[:4] + bytes(200) + whole[204:])  # the header of the first page
    assert_refused(
        ValueError, "2.parquet' cannot be read", lambda: open_table(folder).split("kind", "weight")
    )
    other = pq.read_table(folder / "1.parquet").drop_columns(["x1"])
    pq.write_table(other, path)
    assert_refused(ValueError, "2.parquet' has no column 'x1', which", lambda: open_table(folder))
    pq.write_table(other.append_column("x1", pa.array(["1"] * 300)), path)
    assert_refused(ValueError, "Column 'x1' is double in", lambda: open_table(folder))
    pq.write_table(other.append_column("x1", pa.array([np.inf] * 300)), path)
    assert_refused(
        ValueError,
        "infinite values in 'x1', first in row 0",
        lambda: open_table(folder).split("kind"),
    )
    (folder / "year=2024").mkdir()
    shutil.move(path, folder / "year=2024")
    assert_refused(ValueError, "'year=2024'", lambda: open_table(folder))


def test_refusals_of_text(tmp_path):
    def refuse(name, data, words, *arguments):
        (tmp_path / name).write_bytes(data)
        assert_refused(ValueError, words, lambda: open_table(tmp_path / name).split("y"))

    rows = b"".join(b"%d,%d\n" % (i, i % 2) for i in range(60_000))
    refuse("a.csv", b"", "is empty")
    refuse("b.csv", b"x,y\n", "has no rows")
    refuse("c.csv", b"x,y\n1,2\n3\n", "Expected 2 columns, got 1")
    refuse("d.csv", b"x,x,y\n1,2,3\n", "more than one column named 'x'")
    refuse("e.csv.gz", gzip.compress(b"x,y\n" + rows)[:-20_000], "cannot be read as CSV")
    refuse("f.csv.gz", b"x,y\n1,2\n", "cannot be read as CSV")
    refuse("g.csv", b"x,y\n1,2\n3,4\n" + rows * 12 + b"ten,0\n", "Column 'x' of")
    refuse("i.csv", b"x,y\n" + b"1" * 2**23, "a line is longer than 4 MB")
    refuse("h.json", b"{}", "unsupported extension")


def test_a_full_disk_is_noticed_before_the_copy(folder, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")(10, 10, 1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(OSError, match="GB; free some space or set TMPDIR") as caught:
        open_table(folder, cache=tmp_path).split("kind")
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(FileNotFoundError, match="`cache`"):
        open_table(folder, cache=tmp_path / "none").split("kind")
