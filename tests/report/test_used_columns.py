"""The section on the columns of a sparse model."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from opgd import OPGDClassifier, OPGDClassifierCV, TableEncoder, write_report
from opgd.inspection.pipelines import unwrap
from opgd.report.used_columns import describe_used_columns

SETTINGS = {"n_subclasses": 1, "ridge": 0.1, "shrinkage": 0.1, "covariance_type": "diag", "cv": 3}


@pytest.fixture(scope="module")
def search(wine):
    return OPGDClassifierCV(2, sparsity=(1, 3, 13), **SETTINGS).fit(wine.data, wine.target)


def test_path_and_order_are_those_of_the_model(search, wine):
    found = describe_used_columns(unwrap(search))
    path = search.sparsity_path_
    assert [point.number for point in found.path] == path["n_features"].tolist() == [1, 3, 13]
    assert [point.error for point in found.path] == path["mean_test_error"].tolist()
    assert [point.selected for point in found.path] == path["selected"].tolist()
    assert [point.position for point in found.path] == pytest.approx([0, np.log(3) / np.log(13), 1])
    order = wine.data.columns[search.feature_order_[: found.n_used]]
    assert [column.name for column in found.listed] == order.tolist()
    assert found.listed[0].error == path["mean_test_error"][0]
    assert found.listed[1].error is None  # two columns were not tried


def test_page_has_the_section_only_for_sparse_models(search, model, wine, tmp_path):
    pages = []
    for number, fitted in enumerate([search, model]):
        path = tmp_path / f"{number}.html"
        write_report(fitted, wine.data, wine.target, path=path, comparison=None, cv=0)
        pages.append(path.read_text("utf-8"))
    assert 'id="columns-curve"' in pages[0]
    assert "The model was fitted to 13 columns." in pages[0]
    assert 'id="used-columns"' not in pages[1]
    assert "The model uses 13 columns." in pages[1]


def test_a_given_number_has_no_path_and_encoded_columns_are_named(wine):
    table = wine.data.assign(kind=np.where(np.arange(178) % 3, "<a>", "b"))
    pipeline = make_pipeline(TableEncoder(), OPGDClassifier(1, sparsity=2, init="lda"))
    found = describe_used_columns(unwrap(pipeline.fit(table, wine.target)))
    assert found.encoded
    assert found.path == []
    assert found.sentences == [
        f"The model uses 2 of {found.n_columns} columns; predictions do not depend on the others."
    ]
    assert describe_used_columns(unwrap(OPGDClassifier(1).fit(wine.data, wine.target))) is None
