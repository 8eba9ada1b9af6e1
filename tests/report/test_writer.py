"""write_report: models, files, arguments, optional packages."""

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
    write_report,
)
from opgd.baselines import LikelihoodRatioPursuit, ReducedRankLDA
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
        path = write_report(model, X, y, path=tmp_path / f"{name}.html")
        assert len(read_page_data(path)["axes"]) == len(model.components_), name


def test_files_are_replaced_only_when_asked(model, wine, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_report(model, wine.data, wine.target, path=path)
    assert path.read_text() == "mine"
    write_report(model, wine.data, wine.target, path=path, overwrite=True)
    assert path.stat().st_size > 1e6
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
    pursuit = LikelihoodRatioPursuit().fit(wine.data, wine.target)
    with pytest.raises(TypeError, match="fit Gaussians to the projected data"):
        write_report(pursuit, wine.data, wine.target, path=path)
    with pytest.raises(NotFittedError):
        write_report(OPGDClassifier(), wine.data, wine.target, path=path)
    mixture = OPGDMixture(2, random_state=0).fit(wine.data)
    with pytest.raises(ValueError, match="only for classifiers"):
        write_report(mixture, wine.data, X_test=wine.data, y_test=wine.target, path=path)
    assert not path.exists()


def test_importing_the_package_needs_neither_plotly_nor_jinja2():
    code = "import sys, opgd; print(*{'plotly', 'jinja2', 'opgd.plotting'} & set(sys.modules))"
    own = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert own.stdout.strip() == ""


def test_without_plotly_the_extra_is_named(model, wine, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r"opgd\[report\]"):
        write_report(model, wine.data, wine.target, path=tmp_path / "r.html")


def test_fifty_thousand_rows_fit_into_fifteen_megabytes(rng, tmp_path):
    y = rng.integers(10, size=50_000)
    X = rng.normal(size=(50_000, 30)) + 3 * rng.normal(size=(10, 30))[y]
    model = OPGDClassifier(max_iter=2, tol=10.0).fit(X, y)
    path = write_report(model, X, y, path=tmp_path / "r.html")
    assert path.stat().st_size < 15e6
    assert len(read_page_data(path)["columns"]) == 30
