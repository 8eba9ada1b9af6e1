"""The public benchmark: its page, ranks and classifiers."""

import html

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

pytest.importorskip("psutil")
pytest.importorskip("benchmarks")  # not in source distributions

from benchmarks import data, public, public_page, selection
from benchmarks.classifiers import METHODS, draw_rows
from benchmarks.public_data import MORE, RANKED, SOURCES, Results, list_complete
from benchmarks.public_tables import LABELS
from benchmarks.ranks import Ranking, compute_critical_difference, draw_ranking

COMMAND = "run python -m benchmarks public-benchmark"


@pytest.fixture(scope="module")
def raw():
    return selection.read_raw()


def test_page_is_what_the_results_give(raw):
    page = public.PAGE.read_text("utf-8")
    assert public_page.fill_page(page, raw) == page, COMMAND


@pytest.mark.parametrize("group", RANKED, ids=lambda group: group.name)
def test_diagrams_are_those_of_the_results(group, raw):
    ranking = Results.select(raw, group).rank("error")
    drawn = (public.DOCS / "images" / public_page.picture_name(group)).read_text("utf-8")
    assert html.escape(public_page.describe_ranking(group, ranking)) in drawn, COMMAND


def test_results_of_other_numbers_change_the_page(raw):
    page = public.PAGE.read_text("utf-8")
    ours = (raw["method"] == "opgd") & (raw["table"] == "more/rice")
    assert public_page.fill_page(page, raw.assign(error=raw["error"] + 0.2 * ours)) != page


def test_incomplete_methods_are_left_out_and_named(raw):
    gone = (raw["table"] == "glass") & (raw["seed"] == 3)
    assert "lda" in list_complete(raw)
    without = raw[~gone | (raw["method"] != "lda")]
    assert "lda" not in Results.select(without, MORE).errors
    assert "not all splits are recorded: LDA" in public_page.write_blocks(without)["methods"]
    with pytest.raises(ValueError, match="Results of OPGD are not complete"):
        list_complete(raw[~gone])


def test_page_without_a_block_is_refused(raw):
    with pytest.raises(ValueError, match="must have one block 'summary'"):
        public_page.fill_page("# Nothing", raw)


def test_critical_differences_are_those_of_demsar():
    assert compute_critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    quantile = compute_critical_difference(10, 110) / np.sqrt(110 / 660)
    assert quantile == pytest.approx(3.164, abs=0.0005)


def test_methods_within_the_critical_difference_are_joined():
    ranks = pd.Series([1.0, 1.5, 2.8, 4.0, 4.1], index=list("abcde"))
    assert Ranking(ranks, 10, 0.01, 1.4).find_groups() == [(0, 1), (1, 2), (2, 4)]
    assert Ranking(ranks, 10, 0.01, 4.0).find_groups() == [(0, 4)]
    assert Ranking(ranks, 10, 0.01, 0.05).find_groups() == []


def test_ties_share_their_ranks():
    values = pd.DataFrame({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.3, 0.2], "c": [0.4, 0.4, 0.4]})
    assert Ranking.from_values(values).ranks.to_dict() == {"a": 1.5, "b": 1.5, "c": 3.0}


def test_diagram_names_all_methods(tmp_path):
    pytest.importorskip("matplotlib")
    ranking = Ranking(pd.Series({"opgd": 1.25, "lda": 1.75, "qda": 3.0}), 4, 0.1, 1.66)
    path = tmp_path / "ranks.svg"
    draw_ranking(ranking, LABELS, "three methods", path)
    first = path.read_text("utf-8")
    for text in ("OPGD  1.25", "LDA  1.75", "QDA  3.00", "difference 1.66", "three methods"):
        assert text in first
    draw_ranking(ranking, LABELS, "three methods", path)
    assert path.read_text("utf-8") == first


def test_better_methods_are_listed_with_corrected_standard_errors(rng):
    seeds, steps = np.arange(10), rng.normal(scale=0.01, size=10)
    rows = [
        ("a", "opgd", 0.5 + steps),
        ("a", "lda", 0.3 + 0 * steps),
        ("a", "qda", 0.4 + 0 * steps),
    ]
    rows += [("b", "opgd", 0 * steps), ("b", "lda", 0.1 + 0 * steps), ("b", "qda", 0.2 + 0 * steps)]
    raw = pd.concat(
        pd.DataFrame({"table": table, "method": method, "seed": seeds, "error": errors})
        for table, method, errors in rows
    )
    better = Results(raw).find_better("error")
    assert better.index.tolist() == ["a"]
    found = better.loc["a"]
    assert (found["method"], found["best"]) == ("lda", 0.3)
    assert found["difference"] == pytest.approx(0.2 + steps.mean())
    # test sets have a third of the samples of training sets
    assert found["standard_error"] == pytest.approx(steps.std(ddof=1) * np.sqrt(1 / 10 + 1 / 3))


@pytest.mark.parametrize("method", ["qda", "rda", "knn", "nca_knn"])
def test_classifiers_have_probabilities_and_few_errors(method):
    X, y = load_wine(return_X_y=True)
    model = METHODS[method]().fit(X[::2], y[::2])
    assert np.mean(model.predict(X[1::2]) != y[1::2]) < 0.1
    np.testing.assert_allclose(model.predict_proba(X[1::2]).sum(axis=1), 1.0)


def test_qda_is_fitted_to_classes_with_fewer_samples_than_features(rng):
    X, y = rng.normal(size=(40, 30)), np.repeat([0, 1], 20)
    X[y == 1] *= 3
    model = METHODS["qda"]().fit(X, y)
    assert model.best_params_["quadraticdiscriminantanalysis__shrinkage"] > 0
    assert np.mean(model.predict(X) == y) > 0.9


def test_samples_of_rows_are_stratified(rng):
    X, y = rng.normal(size=(400, 2)), np.repeat([0, 1], [300, 100])
    sample, labels = draw_rows(X, y, 100)
    assert sample.shape == (100, 2)
    assert labels.sum() == 25
    assert draw_rows(X, y, 400)[0] is X
    assert draw_rows(X, y, None)[0] is X


@pytest.mark.parametrize("table", SOURCES)
def test_sizes_in_the_page_are_those_of_the_data(table):
    try:
        loaded = data.load(table)
    except data.DataMissingError as missing:
        pytest.skip(str(missing))
    source = SOURCES[table]
    assert loaded.X.shape == (source.n_samples, source.n_features)
    assert len(np.unique(loaded.y)) == source.n_classes
