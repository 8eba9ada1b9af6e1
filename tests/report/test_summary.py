"""The numbers of a report."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.metrics import average_precision_score, confusion_matrix, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from opgd import OPGDClassifier, OPGDMixture, TableEncoder, write_report
from opgd.report.summary import summarize
from opgd.report.words import WEIGHTED_CLASSES
from tests.report.helpers import unpack


def test_numbers_on_test_rows_are_scikit_learns(model, wine):
    X, y = wine.data[::3], wine.target[::3].to_numpy()
    found = summarize(model, wine.data, wine.target, X_test=X, y_test=y).evaluation
    assert found.source == "test"
    assert found.n_rows == len(y)
    assert np.array_equal(found.confusion, confusion_matrix(y, model.predict(X)))
    assert found.error == pytest.approx(1 - model.score(X, y))
    assert found.log_loss == pytest.approx(log_loss(y, model.predict_proba(X)))


def test_without_test_rows_each_row_is_left_out_once(summary):
    found = summary.evaluation
    assert found.source == "cv"
    assert found.confusion.sum() == found.n_rows == 178
    assert found.error == pytest.approx(1 - np.trace(found.confusion) / 178)
    assert 0 < found.error < 0.1  # the training rows themselves have no error
    assert summary.performance.held_out is not None
    assert summary.checks.n_doubtful >= 1


def test_training_rows_are_used_where_asked_or_needed(model, wine):
    found = summarize(model, wine.data, wine.target, cv=0).evaluation
    assert found.source == "training"
    assert found.error == 0
    X, y = wine.data.to_numpy(), wine.target.to_numpy().copy()
    y[0] = 7
    lonely = OPGDClassifier(n_components=2, shrinkage=0.5).fit(X, y)
    assert "fewer than two" in summarize(lonely, X, y).evaluation.note


def test_far_rows_are_farther_than_chance(summary, model, wine):
    typicality = model.typicality(wine.data)
    assert [own.row for own in summary.far] == sorted(
        np.flatnonzero(typicality * 178 < 1).tolist(), key=lambda row: typicality[row]
    )


def test_a_wrong_label_is_the_first_to_look_at(wine):
    y = wine.target.to_numpy().copy()
    y[5] = 2
    model = OPGDClassifier(n_components=2, shrinkage=0.1).fit(wine.data, y)
    first = summarize(model, wine.data, y).checks.doubtful[0]
    assert first.row == 5
    assert (first.label, first.predicted) == (2, 0)


def test_loadings_are_standardized_coefficients(summary, model, wine):
    own = summary.fit.loadings[0]
    spread = wine.data.to_numpy().std(axis=0)
    expected = model.components_[0] * spread
    assert np.allclose(own.coefficients, expected[own.columns])
    assert np.all(np.diff(np.abs(own.coefficients)) <= 0)


def test_report_on_a_mixture(wine):
    mixture = OPGDMixture((2, 3, 4), random_state=0).fit(wine.data)
    found = summarize(mixture, wine.data, wine.target_names[wine.target])
    own = found.clustering.clusters
    assert found.evaluation is None
    assert own.sizes == np.bincount(mixture.labels_).tolist()
    assert own.n_moved == np.sum(mixture.labels_ != mixture.initial_labels_)
    assert np.array_equal(own.from_start.sum(axis=0), own.sizes)
    assert own.known.sum() == 178
    assert own.rand_index > 0.9
    assert [entry["n_clusters"] for entry in own.selection] == [2, 3, 4]
    assert own.selection[own.chosen]["n_clusters"] == mixture.n_clusters_
    assert own.selection[0]["smallest"] == mixture.selection_["smallest"][0]
    other = summarize(mixture, wine.data[:50]).clustering.clusters
    assert other.from_start is None
    assert other.known is None


def test_groups_are_left_out_together_and_must_be_known(tmp_path, rng):
    X, y = np.tile(rng.normal(size=(40, 3)), (3, 1)), np.tile(np.arange(40) % 2, 3)
    model, groups = OPGDClassifier(2).fit(X, y), np.tile(np.arange(40), 3)
    alone, together = (
        summarize(model, X, y, groups=own).evaluation.log_loss for own in (None, groups)
    )
    assert together > alone + 0.1  # a copy of a row gives its label away
    path = tmp_path / "r.html"
    with pytest.raises(ValueError, match="missing values"):
        write_report(model, X, y, path=path, groups=np.where(groups == 3, np.nan, groups))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        write_report(model, X, y, path=path, groups=groups[1:])
    with pytest.raises(ValueError, match="groups applies to classifiers"):
        write_report(OPGDMixture(2).fit(X), X, path=path, groups=groups)
    assert not path.exists()


@pytest.fixture(scope="module")
def results():
    """A comparison with a method that failed once, and a hostile name."""
    rows = {"a <b>": [0.1, 0.2, 0.1], "other": [0.4, 0.5, np.nan]}
    return pd.DataFrame(
        [
            {"method": name, "split": k, "error": error, "seconds": 1.0}
            for name, errors in rows.items()
            for k, error in enumerate(errors)
        ]
    ).assign(n_train=119, n_test=59)


def test_a_comparison_is_summarized_and_shown(model, wine, results, tmp_path):
    found = summarize(model, wine.data, wine.target, cv=0, comparison=results).performance.methods
    assert [method.name for method in found] == ["a <b>", "other"]
    assert found[0].winner
    arguments = {"cv": 0, "comparison": results}
    path = write_report(model, wine.data, wine.target, path=tmp_path / "r.html", **arguments)
    page = path.read_text("utf-8")
    section = page[page.index('id="comparison"') : page.index('id="rows"')]
    assert "a &lt;b&gt;" in section
    assert "(1 failed)" in section
    assert section.count('class="chosen"') == 1


def test_without_a_comparison_there_is_no_section(summary, model, wine, results):
    assert summary.performance.methods is None
    with pytest.raises(ValueError, match="no column 'error'"):
        summarize(model, wine.data, wine.target, comparison=results.drop(columns="error"))
    with pytest.raises(ValueError, match="comparison applies to classifiers"):
        summarize(OPGDMixture(2).fit(wine.data), wine.data, comparison=results)


def test_usual_methods_are_tested_on_the_folds_of_the_model(model, wine):
    y = wine.target.to_numpy()
    found = summarize(model, wine.data, y, cv=4, comparison="usual")
    methods = {method.name: method for method in found.performance.methods}
    assert set(methods) == {"this model", "LDA", "logistic regression", "gradient boosting"}
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    lda = cross_val_score(LinearDiscriminantAnalysis(), wine.data, y, cv=folds)
    assert np.allclose(methods["LDA"].values, 1 - lda)
    ours = methods["this model"]
    assert np.average(ours.values, weights=[45, 45, 44, 44]) == pytest.approx(
        found.evaluation.error
    )
    assert ours.difference == 0
    sentence = next(text for text in found.findings if "the lowest error" in text)
    assert all(name.lower() in sentence.lower() for name in set(methods) - {"this model"})
    assert WEIGHTED_CLASSES not in found.findings
    weighted = clone(model).set_params(class_weight="balanced").fit(wine.data, y)
    found = summarize(weighted, wine.data, y, cv=4, comparison="usual")
    assert WEIGHTED_CLASSES in found.findings


def test_usual_methods_take_tables_and_missing_values():
    table = pd.read_csv(Path(__file__).parents[1] / "messy" / "customers.csv")
    table = table[table["churn"].notna()]
    table = table.drop(columns=["customer_id", "currency"])
    y = table.pop("churn")
    pipeline = make_pipeline(TableEncoder(), OPGDClassifier(n_components=1)).fit(table, y)
    found = summarize(pipeline, table, y, cv=2, comparison="usual")
    assert all(method.n_splits == 2 for method in found.performance.methods)
    assert found.title == "Prediction of churn"
    assert found.performance.imbalanced
    (curves,) = found.performance.curves
    scores = found.performance.held_out[:, 1]
    assert curves.roc_area == pytest.approx(roc_auc_score(y == "yes", scores))
    expected = average_precision_score(y == "yes", scores)
    assert curves.average_precision == pytest.approx(expected)
    columns = {column.name: column for column in found.table.listed}
    assert len(columns["plan"].features) == 2
    assert len(columns["comment"].features) == 8
    assert found.table.n_missing == sum(
        column.n_missing for column in columns.values() if column.features
    )


def test_wrong_rows_of_a_test_set_are_listed(wine):
    X, y = wine.data, wine.target.to_numpy()
    train, test = np.arange(0, 178, 2), np.arange(1, 178, 2)
    model = OPGDClassifier(n_components=1).fit(X.iloc[train], y[train])
    labels = y[test].copy()
    labels[[4, 9]] = (labels[[4, 9]] + 1) % 3
    found = summarize(
        model, X.iloc[train], y[train], X_test=X.iloc[test], y_test=labels, comparison="usual"
    )
    wrong = np.flatnonzero(model.predict(X.iloc[test]) != labels)
    assert sorted(row.row for row in found.performance.wrong) == wrong.tolist()
    assert {4, 9} <= set(wrong)


@pytest.fixture(scope="module")
def rare():
    """A table in which 3 % of the rows are "yes", of which a model finds few."""
    rng = np.random.default_rng(0)
    is_rare = rng.random(2000) < 0.03
    X = rng.normal(size=(2000, 5))
    X[is_rare, 0] += 1.8
    X[:2, 0] = 6  # labeled "no", far among those labeled "yes"
    is_rare[:2] = False
    y = np.where(is_rare, "yes", "no")
    return X, y, OPGDClassifier(n_components=1).fit(X[:1400], y[:1400])


def test_rows_of_a_missed_class_are_no_label_errors(rare):
    X, y, model = rare
    found = summarize(model, X[:1400], y[:1400], X_test=X[1400:], y_test=y[1400:])
    of_label = model.predict_proba(X[:1400])[np.arange(1400), 1 * (y[:1400] == "yes")]
    doubtful = np.flatnonzero(of_label < 0.5)
    assert np.sum(y[doubtful] == "yes") > 20  # these were listed
    assert 0 < found.evaluation.recalls[1] < 0.5
    assert {row.row for row in found.checks.doubtful} == set(doubtful[y[doubtful] == "no"])
    wrong = model.predict(X[1400:]) != y[1400:]
    assert {row.row for row in found.performance.wrong} == set(np.flatnonzero(wrong))
    assert found.performance.n_to_check == np.sum(wrong & (y[1400:] == "no"))


def test_noise_belongs_to_no_cluster(rng):
    centers = np.repeat([[0.0, 0, 0], [12, 0, 0]], 60, axis=0)
    X = np.vstack([centers + rng.normal(size=(120, 3)), rng.uniform(-60, 60, size=(6, 3))])
    mixture = OPGDMixture(2, noise=True, random_state=0).fit(X)
    found = summarize(mixture, X)
    assert found.clustering.n_noise == np.sum(mixture.labels_ < 0) > 0
    assert sum(found.clustering.clusters.sizes) == len(X) - found.clustering.n_noise
    assert [
        line.size for line in found.clustering.profiles.lines
    ] == found.clustering.clusters.sizes
    assert f"{found.clustering.n_noise} rows are noise." in found.findings
    assert unpack(found.page["groupings"][0]["codes"]).min() == -1


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_profiles_show_words_of_the_table():
    table = pd.read_csv(Path(__file__).parents[1] / "messy" / "customers.csv").drop(columns="churn")
    table = table.drop(columns=["customer_id", "currency", "comment"])
    pipeline = make_pipeline(TableEncoder(), OPGDMixture(3, random_state=0))
    found = summarize(pipeline.fit(table), table)
    profiles = {column.name: column for column in found.clustering.profiles.columns}
    labels = pipeline.predict(table)
    shares = table["plan"][labels == 0].value_counts(normalize=True)
    assert profiles["plan"].cells[0] == f"{shares.index[0]} ({shares.iloc[0]:.0%})"
    assert float(profiles["tenure_months"].cells[1]) == pytest.approx(
        table["tenure_months"][labels == 1].mean(), rel=5e-3
    )
    assert not any(name.startswith("plan=") for name in profiles)
    assert found.clustering.followed.name == "plan"
    assert "follow the column plan" in found.findings[0]
    assert any("k-means" in sentence for sentence in found.findings)


def test_cells_that_a_pipeline_filled_are_counted(wine):
    X = wine.data.copy()
    X.iloc[[3, 9], 2] = np.nan
    pipeline = make_pipeline(SimpleImputer(), OPGDClassifier(2)).fit(X, wine.target)
    table = summarize(pipeline, X, wine.target, cv=0).table
    assert [(column.name, column.n_missing) for column in table.listed] == [("ash", 2)]
    assert table.treatment == "Missing cells were filled before the fit."


def test_merged_clusters_are_counted_once(rng):
    long = rng.normal(size=(300, 2)) * [6, 0.5]
    long[:, 1] += 0.1 * long[:, 0] ** 2  # a bow, which takes several Gaussians
    X = np.vstack([long, rng.normal(size=(100, 2)) - [0, 12]])
    mixture = OPGDMixture(4, merge=2, random_state=0).fit(X)
    found = summarize(mixture, X)
    assert len(mixture.projected_means_) == 4
    assert found.groups == ["cluster 0", "cluster 1"]
    assert found.clustering.clusters.sizes == np.bincount(mixture.labels_).tolist()
    assert found.clustering.clusters.selection[found.clustering.clusters.chosen]["n_clusters"] == 4
    assert len(found.page["gaussians"]["groups"]) == 4
    assert len(found.clustering.profiles.lines) == 2
