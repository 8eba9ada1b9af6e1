"""write_report: models, files, arguments, optional packages."""

import html
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from opgd import (
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    OPGDSemiSupervised,
    explore,
    write_report,
)
from opgd.baselines import ReducedRankLDA
from tests.report.helpers import read_page_data


def make_models():
    X, y = load_iris(return_X_y=True)
    some = np.where(np.arange(150) % 3 == 0, y, -1)
    return {
        "search": (OPGDClassifierCV((1, 2), shrinkage=0, ridge=0.1, cv=3).fit(X, y), X, y),
        "one axis": (OPGDClassifier(n_components=1).fit(X, y), X, y),
        "one column": (OPGDClassifier().fit(X[:, :1], y), X[:, :1], y),
        "partly labeled": (OPGDSemiSupervised().fit(X, some), X, some),
        "two words": (OPGDClassifier().fit(X[:100], np.where(y, "b", "a")[:100]), X[:100], None),
        "full": (OPGDClassifier(covariance_type="full", n_subclasses=2).fit(X, y), X, y),
        "baseline": (ReducedRankLDA(2).fit(X, y), X, y),
        "mixture": (OPGDMixture(3, random_state=0).fit(X), X, None),
    }


@pytest.mark.filterwarnings("ignore")
def test_reports_on_all_kinds_of_models(tmp_path):
    for name, (model, X, y) in make_models().items():
        if name == "two words":
            y = np.repeat(["a", "b"], 50)
        path = write_report(model, X, y, path=tmp_path / f"{name}.html", comparison=None)
        assert len(read_page_data(path)["axes"]) == len(model.components_), name


def test_files_are_replaced_only_when_asked(model, wine, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_report(model, wine.data, wine.target, path=path)
    assert path.read_text() == "mine"
    write_report(model, wine.data, wine.target, path=path, overwrite=True, cv=0)
    assert path.stat().st_size > 1e5
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_report(model, wine.data, wine.target, path=tmp_path / "none" / "r.html")
    assert sorted(own.name for own in tmp_path.iterdir()) == ["report.html"]


def test_wrong_arguments_are_named(model, wine, tmp_path):
    path = tmp_path / "r.html"
    with pytest.raises(ValueError, match="needs y"):
        write_report(model, wine.data, path=path)
    with pytest.raises(ValueError, match="X_test and y_test"):
        write_report(model, wine.data, wine.target, X_test=wine.data, path=path)
    with pytest.raises(ValueError, match="inconsistent"):
        write_report(model, wine.data, wine.target[:5], path=path)
    with pytest.raises(TypeError, match="LogisticRegression"):
        write_report(LogisticRegression(), wine.data, wine.target, path=path)
    with pytest.raises(NotFittedError):
        write_report(OPGDClassifier(), wine.data, wine.target, path=path)
    mixture = OPGDMixture(2, random_state=0).fit(wine.data)
    with pytest.raises(ValueError, match="only for classifiers"):
        write_report(mixture, wine.data, X_test=wine.data, y_test=wine.target, path=path)
    assert not path.exists()


def test_dask_input_is_refused(model, wine, tmp_path):
    lazy = pytest.importorskip("dask.array").from_array(wine.data.to_numpy())
    with pytest.raises(TypeError, match=r"got X_test of Dask\. Pass X_test\.compute\(\)"):
        write_report(
            model, wine.data, wine.target, X_test=lazy, y_test=wine.target, path=tmp_path / "r.html"
        )
    with pytest.raises(TypeError, match=r"X\.compute\(\)"):
        explore(model, lazy)


def test_importing_the_package_does_not_need_jinja2():
    code = "import sys, opgd; print(*{'jinja2', 'opgd.plotting'} & set(sys.modules))"
    own = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert own.stdout.strip() == ""


def test_without_jinja2_the_extra_is_named(model, wine, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match="the extra 'report' is missing"):
        write_report(model, wine.data, wine.target, path=tmp_path / "r.html", cv=0)


def test_other_extensions_are_refused(model, wine, tmp_path):
    with pytest.raises(ValueError, match=r"is a \.html file, got path='.*r\.pdf'"):
        write_report(model, wine.data, wine.target, path=tmp_path / "r.pdf")


def test_the_result_is_a_path_that_notebooks_display(model, wine, tmp_path):
    target = tmp_path / "a<b>.html"
    path = write_report(model, wine.data, wine.target, path=target, cv=0)
    assert path == target
    assert hash(path) == hash(target)
    assert os.fspath(path) == str(target)
    shown = path._repr_html_()
    assert "a&lt;b&gt;.html</a>" in shown
    frame = re.search(r'<iframe srcdoc="(.*?)" sandbox="(.*?)"', shown, flags=re.S)
    assert html.unescape(frame.group(1)) == target.read_text("utf-8")
    assert frame.group(2) == "allow-scripts allow-downloads"
    target.unlink()
    assert path._repr_html_() is None


def test_fifty_thousand_rows_fit_into_fifteen_megabytes(rng, tmp_path):
    y = rng.integers(10, size=50_000)
    X = rng.normal(size=(50_000, 30)) + 3 * rng.normal(size=(10, 30))[y]
    model = OPGDClassifier(max_iter=2, tol=10.0).fit(X, y)
    path = write_report(model, X, y, path=tmp_path / "r.html")
    assert path.stat().st_size < 15e6
    assert len(read_page_data(path)["columns"]) == 30


@pytest.mark.parametrize("value", [1e155, -1e300])
@pytest.mark.parametrize("model", [OPGDClassifier(), OPGDMixture(3, random_state=0)])
def test_values_whose_squares_overflow_are_reported(model, value, tmp_path):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    X[5, 1] = value
    labels = None if isinstance(model, OPGDMixture) else y
    path = write_report(model, X, labels, path=tmp_path / "r.html", cv=0, comparison=None)
    assert len(read_page_data(path)["columns"]) == 4
