"""What compare() promises: one table, the same splits for all, and no surprises on the way."""

import pickle
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from opgd import OPGDClassifierCV, compare
from opgd.baselines import (
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from opgd.comparison import default_estimators, further_estimators
from opgd.comparison._compare import _check_weights
from opgd.comparison.methods import all_estimators
from opgd.comparison.names import list_methods, match_name
from opgd.comparison.searches import CalibratedSearch, ComponentSearch, ParameterSearch
from opgd.comparison.splits import make_inner_splitter

COLUMNS = ["method", "split", "error", "log_loss", "seconds", "parameters"]
COLUMNS += ["balanced_accuracy", "n_train", "n_test", "status", "reason"]
PAPER = ["LDA", "RDA", "SAVE", "CPCDA", "MDA", "OPGD", "OPGD, all settings"]
USUAL = ["LDA", "QDA", "logistic regression", "RBF SVC", "random forest", "gradient boosting"]
USUAL += ["k-NN", "naive Bayes"]
QUICK = ["LDA", "SAVE"]


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def found(*args, **kwargs):
    """The table without the times."""
    return compare(*args, **{"verbose": 0, "random_state": 0, **kwargs}).drop(columns="seconds")


class Majority(ClassifierMixin, BaseEstimator):
    """Predicts the most frequent class, and remembers on which rows it was used."""

    seen = []

    def fit(self, X, y):
        type(self).seen.append(X[:, 0].tolist())
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        type(self).seen.append(X[:, 0].tolist())
        return np.full(len(X), self.most_)


class Failing(Majority):
    """Fits only where the first row is not among the rows."""

    def __init__(self, error=ValueError):
        self.error = error

    def fit(self, X, y):
        if 0.0 in X[:, 0]:
            raise self.error("the first row is here")
        return super().fit(X, y)


def numbered(y):
    """Rows that are their own number."""
    return np.column_stack([np.arange(len(y)), np.arange(len(y)) % 7]).astype(float)


# --- the table --------------------------------------------------------------------------------


def test_table_has_a_row_for_every_split_and_method_in_their_order(iris):
    table = compare(*iris, ["SAVE", "LDA"], cv=3, random_state=0, verbose=0)
    assert list(table.columns) == COLUMNS
    assert list(table.method) == ["SAVE", "LDA"] * 3
    assert list(table.split) == [0, 0, 1, 1, 2, 2]
    assert list(table.index) == list(range(6))
    assert [table[name].dtype.kind for name in COLUMNS[1:5]] == ["i", "f", "f", "f"]
    assert set(table.status) == {"ok"}
    assert (table.n_train + table.n_test == 150).all()
    assert all(set(own) == {"n_components"} for own in table.parameters)
    assert table.error.between(0, 0.2).all()
    assert (table.seconds > 0).all()


def compare_once(X, y, estimators):
    """Compare on one half of some rows of iris, with one validation set."""
    halves = [(np.arange(0, 75, 2), np.arange(1, 75, 2))]
    return found(X[::2, 1:], y[::2], estimators, cv=halves, inner_cv=0.3, random_state=0)


def test_the_default_is_ours_and_the_usual_choices(iris):
    table = compare_once(*iris, None)
    assert list(table.method) == ["OPGD, all settings", *USUAL]
    assert np.all(np.isfinite(table[["error", "log_loss", "balanced_accuracy"]]))
    assert table.error.max() < 0.3
    chosen = table.set_index("method").parameters
    assert set(chosen["RBF SVC"]) == {"svc__C", "svc__gamma"}
    assert set(chosen["random forest"]) == {"max_features"}


def test_the_papers_methods_are_those_of_the_default_of_0_1_0(iris):
    table = compare_once(*iris, "paper")
    assert list(table.method) == PAPER
    assert np.all(np.isfinite(table[["error", "log_loss"]]))
    chosen = table.set_index("method").parameters
    assert set(chosen["RDA"]) == {"alpha"}
    assert set(chosen["MDA"]) == {"n_subclasses"}
    assert chosen["OPGD"]["shrinkage"] == chosen["OPGD"]["ridge"] == 0


def test_all_has_every_method_once():
    names = list_methods("all")
    assert len(names) == len(set(names))
    assert {*PAPER, *USUAL, "NCA + k-NN", *further_estimators(2, 2)} == set(names)
    assert set(list_methods("usual")) - set(list_methods()) == {"NCA + k-NN"}


def test_errors_and_log_losses_are_scikit_learns(wine):
    X, y = wine
    splits = list(StratifiedKFold(3).split(X, y))
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)
    table = found(X, y, {"lda": model}, cv=splits)
    for (train, test), error, loss in zip(splits, table.error, table.log_loss, strict=True):
        model.fit(X[train], y[train])
        assert error == pytest.approx(1 - model.score(X[test], y[test]))
        assert loss == pytest.approx(log_loss(y[test], model.predict_proba(X[test])), rel=1e-10)
        balanced = balanced_accuracy_score(y[test], model.predict(X[test]))
        assert balanced in table.balanced_accuracy.to_numpy()


def test_opgd_with_all_settings_is_opgd_classifier_cv_fitted_by_hand(wine):
    X, y = wine
    outer, inner = (StratifiedKFold(2, shuffle=True, random_state=seed) for seed in (0, 1))
    table = found(X, y, ["OPGD, all settings"], cv=outer, inner_cv=inner)
    for number, (train, test) in enumerate(outer.split(X, y)):
        model = OPGDClassifierCV(cv=inner).fit(X[train], y[train])
        assert table.error[number] == np.mean(model.predict(X[test]) != y[test])
        loss = log_loss(y[test], model.predict_proba(X[test]))
        assert table.log_loss[number] == pytest.approx(loss, rel=1e-10)
        assert table.parameters[number] == model.best_params_


def test_opgd_alone_tries_no_lda_and_no_rda(iris):
    X, y = iris[0][::3, 2:], iris[1][::3]
    models = default_estimators(2, 2)
    alone, all_settings = models["OPGD"].fit(X, y), models["OPGD, all settings"].fit(X, y)
    assert {0.0} == {own["shrinkage"] for own in alone.cv_results_["params"]}
    assert {0.0} == {own["ridge"] for own in alone.cv_results_["params"]}
    assert {"diag"} == {own["covariance_type"] for own in alone.cv_results_["params"]}
    assert "full" in {own["covariance_type"] for own in all_settings.cv_results_["params"]}


def test_alphas_of_rda_are_as_many_as_columns():
    grid = default_estimators(5, 5)["RDA"].param_grid["alpha"]
    np.testing.assert_allclose(grid, [0, 0.25, 0.5, 0.75, 1])
    assert set(default_estimators(1, 5)["RDA"].param_grid["alpha"]) == {0, 1}


# --- splits -----------------------------------------------------------------------------------


def test_all_methods_see_the_same_splits(iris):
    y = iris[1]
    Majority.seen = []
    table = found(numbered(y), y, {"a": Majority(), "b": Majority()}, cv=3, random_state=0)
    assert table.error.between(0.6, 0.7).all()
    by_task = [Majority.seen[i : i + 2] for i in range(0, 12, 2)]
    assert by_task[::2] == by_task[1::2]
    assert sorted(row for _, test in by_task[::2] for row in test) == list(range(150))
    for train, test in by_task:
        assert sorted(train + test) == list(range(150))


def test_a_seed_repeats_the_table_and_another_changes_it(wine):
    first, second = (found(*wine, QUICK, inner_cv=0.3, random_state=3) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    other = found(*wine, QUICK, inner_cv=0.3, random_state=4)
    assert not np.array_equal(first.log_loss, other.log_loss)


def test_processes_give_the_same_table(iris):
    alone, shared = (found(*iris, QUICK, cv=HALVES, n_jobs=n) for n in (None, 2))
    pd.testing.assert_frame_equal(alone, shared)


HALVES = [
    (np.arange(0, 150, 2), np.arange(1, 150, 2)),
    (np.arange(1, 150, 2), np.arange(0, 150, 2)),
]


@pytest.mark.parametrize(
    ("cv", "n_splits"),
    [
        (4, 4),
        (np.int64(3), 3),
        (KFold(3, shuffle=True, random_state=0), 3),
        (StratifiedShuffleSplit(2, random_state=0), 2),
        (HALVES, 2),
        (iter(HALVES), 2),
        ([(np.arange(150) % 3 > 0, np.arange(150) % 3 == 0)], 1),
    ],
    ids=lambda own: type(own).__name__,
)
def test_every_kind_of_cv(cv, n_splits, iris):
    table = found(*iris, ["LDA"], cv=cv, random_state=0)
    assert list(table.split) == list(range(n_splits))
    assert table.error.max() < 0.1


INNER = (np.arange(0, 75, 2), np.arange(1, 75, 2))


@pytest.mark.parametrize(
    "inner_cv", [3, 0.3, KFold(3, shuffle=True, random_state=0), [INNER]], ids=str
)
@pytest.mark.parametrize("method", ["LDA", "RDA", "OPGD"])
def test_every_kind_of_inner_cv(method, inner_cv, iris):
    table = found(*iris, [method], cv=HALVES, inner_cv=inner_cv, random_state=0)
    assert table.error.max() < 0.1


def test_groups_are_kept_together_outside_and_inside(load):
    X, y, others = load("vowel")
    speaker = others["speaker"]
    table = found(X, y, ["LDA"], cv=GroupKFold(3), inner_cv=LeaveOneGroupOut(), groups=speaker)
    train, test = next(GroupKFold(3).split(X, y, speaker))
    model = ComponentSearch(ReducedRankLDA(), LeaveOneGroupOut())
    model.fit(X[train], y[train], groups=speaker[train])
    assert table.error[0] == pytest.approx(1 - model.score(X[test], y[test]))
    assert table.parameters[0] == model.best_params_
    assert table.error.mean() > found(X, y, ["LDA"], cv=3, random_state=0).error.mean() + 0.03


def test_groups_do_not_stop_estimators_that_have_no_use_for_them(iris):
    groups = np.arange(150) % 5
    table = found(*iris, {"qda": QuadraticDiscriminantAnalysis()}, cv=GroupKFold(3), groups=groups)
    assert table.error.max() < 0.1


@pytest.mark.parametrize("method", [*PAPER, *USUAL])
def test_groups_reach_the_choice_of_settings_of_every_method(method, iris):
    X, y = iris[0][::2, 2:], iris[1][::2]
    groups = np.arange(75) % 2
    halves = [(np.arange(75) % 3 > 0, np.arange(75) % 3 == 0)]
    table = found(X, y, [method], cv=halves, inner_cv=LeaveOneGroupOut(), groups=groups)
    assert table.error[0] < 0.2


def test_classes_missing_from_the_training_rows_cost_as_much_as_a_loss_can(iris):
    X, y = iris
    train, test = np.flatnonzero(y < 2)[::2], np.arange(1, 150, 2)
    table = found(X, y, ["LDA"], cv=[(train, test)])
    assert table.error[0] == pytest.approx(1 / 3)
    model = ReducedRankLDA(1).fit(X[train], y[train])
    seen = test[y[test] < 2]
    loss = log_loss(y[seen], model.predict_proba(X[seen])) * len(seen)
    loss -= np.log(1e-15) * (len(test) - len(seen))
    assert table.log_loss[0] == pytest.approx(loss / len(test), rel=1e-6)


# --- estimators -------------------------------------------------------------------------------


def test_own_estimators_are_used_as_they_are_and_stay_unfitted(iris):
    own = {"three axes": SlicedAverageVariance(3), "ridge": RidgeClassifier()}
    table = found(*iris, own, cv=HALVES).set_index(["method", "split"])
    train, test = HALVES[0]
    model = SlicedAverageVariance(3).fit(iris[0][train], iris[1][train])
    expected = 1 - model.score(iris[0][test], iris[1][test])
    assert table.error["three axes", 0] == pytest.approx(expected)
    assert table.parameters["three axes", 0] == {}
    assert not any(hasattr(model, "classes_") for model in own.values())


def test_without_probabilities_there_is_no_log_loss(iris):
    table = found(*iris, {"ridge": RidgeClassifier()}, cv=HALVES)
    assert table.log_loss.isna().all()
    assert table.error.notna().all()


@pytest.mark.parametrize("error", [ValueError, np.linalg.LinAlgError, RuntimeError, TypeError])
def test_a_fit_that_fails_gives_nan_and_a_warning(error, iris):
    y = iris[1]
    models = {"bad": Failing(error), "good": Majority()}
    with pytest.warns(UserWarning, match=r"bad failed on split 0: .*first row") as caught:
        table = compare(numbered(y), y, models, cv=HALVES, verbose=0)
    assert list(table.columns) == COLUMNS
    assert list(table.method) == ["bad", "good"] * 2
    assert list(table.error.isna()) == [True, False, False, False]
    assert table.log_loss.isna()[0]
    assert table.parameters[0] == {}
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        (["LDA", "boosting"], "Unknown method 'boosting'. Did you mean 'gradient boosting'"),
        (["LDA", "randm forest"], "Did you mean 'random forest'"),
        (["LDA", 3], "must be classifiers"),
        ([RidgeClassifier(), RidgeClassifier(2.0)], "pass a dict"),
        ("LDA", "a list of names and classifiers"),
        (3, "a list of names and classifiers"),
        ({}, "empty"),
        ([], "empty"),
    ],
)
def test_estimators_that_cannot_be(estimators, message, iris):
    with pytest.raises((ValueError, TypeError), match=message):
        compare(*iris, estimators, verbose=0)


@pytest.mark.parametrize("name", ["nca+knn", "NCA + K-NN", "nca  k-nn"])
def test_case_spaces_and_punctuation_of_names_do_not_matter(name):
    assert match_name(name, list_methods("all")) == "NCA + k-NN"


def test_classifiers_and_names_may_be_mixed(iris):
    table = found(*iris, [RidgeClassifier(), "lda"], cv=HALVES)
    assert list(table.method) == ["RidgeClassifier", "LDA"] * 2


def test_names_may_come_from_a_generator(iris):
    table = found(*iris, (name for name in QUICK), cv=HALVES)
    assert list(table.method) == QUICK * 2


# --- weights and budget -----------------------------------------------------------------------


@pytest.mark.parametrize("method", ["LDA", "RDA", "logistic regression", "RBF SVC", "naive Bayes"])
def test_whole_weights_are_copies_of_samples(method, iris):
    X, y = iris[0][::2], iris[1][::2]
    times = 1 + np.arange(75) % 2
    numbers = np.repeat(np.arange(75), times)
    train, test = np.arange(75) % 3 > 0, np.arange(75) % 3 == 0
    inner = PredefinedSplit(np.arange(train.sum()) % 2)
    inner_copies = PredefinedSplit(
        (np.arange(train.sum()) % 2)[np.repeat(np.arange(50), times[train])]
    )
    weighted = found(X, y, [method], cv=[(train, test)], inner_cv=inner, sample_weight=times)
    copied = found(
        X[numbers],
        y[numbers],
        [method],
        cv=[(train[numbers], test[numbers])],
        inner_cv=inner_copies,
    )
    for column in ("error", "balanced_accuracy"):
        assert weighted[column][0] == pytest.approx(copied[column][0])
    assert weighted.log_loss[0] == pytest.approx(copied.log_loss[0], rel=2e-2)
    assert weighted.parameters[0] == copied.parameters[0]


def test_methods_without_weights_are_named_and_their_results_weighted(iris):
    X, y = iris
    weights = 1.0 + np.arange(150) % 4
    with pytest.warns(UserWarning, match="k-NN, NCA \\+ k-NN, LR pursuit") as caught:
        _check_weights(weights, HALVES, all_estimators(4, 3))
    assert "QDA" in str(caught[0].message)
    assert "LDA, " not in str(caught[0].message)
    with pytest.warns(UserWarning, match="without sample_weight"):
        table = found(X, y, ["k-NN"], cv=HALVES, sample_weight=weights)
    train, test = HALVES[0]
    n_neighbors = table.parameters[0]["kneighborsclassifier__n_neighbors"]
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors))
    wrong = model.fit(X[train], y[train]).predict(X[test]) != y[test]
    assert table.error[0] == pytest.approx(np.average(wrong, weights=weights[test]))


def test_zero_weights_are_refused_where_they_leave_a_split_empty(iris):
    weights = np.zeros(150)
    weights[::2] = 1
    with pytest.raises(ValueError, match="zero for all held-out samples of split 0"):
        compare(*iris, ["LDA"], cv=HALVES, sample_weight=weights, verbose=0)


class Slow(Majority):
    """Takes a tenth of a second."""

    def fit(self, X, y):
        time.sleep(0.1)
        return super().fit(X, y)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_method_over_its_budget_is_not_run_on_further_splits(n_jobs, iris):
    models = {"slow": Slow(), "quick": Majority()}
    table = compare(*iris, models, cv=4, budget=0.15, random_state=0, n_jobs=n_jobs, verbose=0)
    status = table.pivot(index="split", columns="method", values="status")
    reasons = table[table["status"] == "skipped"]["reason"]
    assert all(reasons.str.contains("of 4 splits took"))
    assert list(status["slow"]) == ["ok", "skipped", "skipped", "skipped"]
    assert set(status["quick"]) == {"ok"}
    assert table.error.isna().sum() == table.seconds.isna().sum() == 3
    assert list(table.columns) == COLUMNS


class Quadratic(Majority):
    """Takes a tenth of a second for fourteen samples."""

    def fit(self, X, y):
        time.sleep(0.1 * (len(X) / 14) ** 2)
        return super().fit(X, y)


def test_a_method_too_slow_for_its_budget_is_not_run_at_all(iris, monkeypatch):
    monkeypatch.setattr("opgd.comparison._compare.MIN_SAMPLES_TO_TRY", 50)
    models = {"quadratic": Quadratic(), "constant": Slow(), "quick": Majority()}
    table = compare(*iris, models, cv=[HALVES[0]], budget=0.8, random_state=0, verbose=0)
    assert list(table["status"]) == ["skipped", "ok", "ok"]
    assert table["reason"][0].startswith("a fit to 10 of 75 samples took 0.0")
    assert table["reason"][0].endswith("s, the budget is 0.8 s")
    assert list(table["reason"][1:]) == ["", ""]


def test_folds_given_as_numbers_keep_groups_together(iris):
    y, groups = iris[1], np.arange(150) % 10
    Majority.seen = []
    found(numbered(y), y, {"a": Majority()}, cv=3, groups=groups)
    for train, test in zip(Majority.seen[::2], Majority.seen[1::2], strict=True):
        assert not {int(row) % 10 for row in train} & {int(row) % 10 for row in test}


def test_inner_folds_given_as_numbers_keep_groups_together(iris):
    X, y = iris
    groups = np.arange(150) % 10
    for inner_cv in (3, 0.3):
        splitter = make_inner_splitter(inner_cv, y, groups, np.random.RandomState(0))
        for train, test in splitter.split(X, y, groups):
            assert not set(groups[train]) & set(groups[test])


# --- selection of parameters --------------------------------------------------------------------


def test_parameter_search_selects_as_grid_search(wine):
    X, y = wine
    grid, folds = {"alpha": [0.0, 0.3, 0.6, 1.0]}, StratifiedKFold(3)
    search = ParameterSearch(RegularizedDiscriminantAnalysis(), grid, folds, ties="first")
    expected = GridSearchCV(RegularizedDiscriminantAnalysis(), grid, cv=folds).fit(X, y)
    assert search.fit(X, y).best_params_ == expected.best_params_
    np.testing.assert_allclose(1 - search.cv_errors_, expected.cv_results_["mean_test_score"])


def test_ties_are_resolved_by_the_log_loss(iris):
    X, y = iris[0][:100], iris[1][:100]  # two classes without errors
    grid = {"C": [0.1, 1.0, 1e3]}
    folds = StratifiedKFold(3)
    first, loss = (
        ParameterSearch(LogisticRegression(max_iter=5000), grid, folds, ties=ties).fit(X, y)
        for ties in ("first", "log_loss")
    )
    assert np.all(first.cv_errors_ == 0)
    assert first.best_params_ == {"C": 0.1}
    assert loss.best_params_ == {"C": 1e3}


def test_candidates_that_fail_are_not_selected(iris):
    grid = {"n_neighbors": [200, 5]}
    search = ParameterSearch(KNeighborsClassifier(), grid, StratifiedKFold(3)).fit(*iris)
    assert search.best_params_ == {"n_neighbors": 5}
    assert np.isnan(search.cv_errors_[0])


@pytest.mark.parametrize("inner", [StratifiedKFold(3), StratifiedShuffleSplit(1, random_state=0)])
def test_a_calibrated_search_predicts_as_its_classifier(inner, wine):
    X, y = StandardScaler().fit_transform(wine[0]), wine[1]
    search = CalibratedSearch(SVC(), {"C": [1.0]}, inner).fit(X, y)
    assert np.array_equal(search.predict(X), SVC(C=1.0).fit(X, y).predict(X))
    posteriors = search.predict_proba(X)
    np.testing.assert_allclose(posteriors.sum(axis=1), 1)
    assert log_loss(y, posteriors) < 0.3


# --- rows and labels --------------------------------------------------------------------------


def test_frames_give_the_same_table(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(150)[::-1])
    series = pd.Series(y, index=frame.index)
    from_frame = found(frame, series, QUICK, cv=HALVES)
    pd.testing.assert_frame_equal(from_frame, found(X, y, QUICK, cv=HALVES))


@pytest.mark.parametrize("kind", [str, object, bool, "string", "category"])
def test_labels_of_every_kind_give_the_same_table(kind, iris):
    X, y = iris
    codes = (y == 1).astype(int)
    labels = codes.astype(bool) if kind is bool else pd.Series(np.array(["n", "y"])[codes])
    labels = labels if kind in (bool, str) else labels.astype(kind)
    expected = found(X, codes, QUICK, cv=HALVES)
    pd.testing.assert_frame_equal(found(X, labels, QUICK, cv=HALVES), expected)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("model", [RidgeClassifier(), SlicedAverageVariance()], ids=str)
def test_labels_in_a_column_are_labels_or_refused(model, iris):
    X, y = iris
    try:
        table = found(X, y[:, None], {"own": model}, cv=HALVES)
    except ValueError as refused:
        assert "y" in str(refused)  # noqa: PT017
    else:
        pd.testing.assert_frame_equal(table, found(X, y, {"own": model}, cv=HALVES))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.full((150, 4), np.inf)}, "infinity"),
        ({"y": np.where(np.arange(150) == 3, None, "a")}, "None"),
        ({"y": np.arange(149) % 3}, "inconsistent"),
        ({"y": np.linspace(0, 1, 150)}, "continuous"),
        ({"groups": np.arange(149)}, "inconsistent"),
        ({"cv": 1}, "n_splits=2 or more"),
        ({"cv": 0.3}, "cv"),
        ({"cv": []}, "cv yielded no splits"),
        ({"inner_cv": 1.5}, "inner_cv"),
        ({"inner_cv": 0.0}, "inner_cv"),
        ({"inner_cv": "five"}, "cv"),
        ({"inner_cv": 1}, "cv|n_splits"),
        ({"budget": 0}, "budget"),
        ({"sample_weight": np.ones(149)}, "inconsistent"),
        ({"sample_weight": -np.ones(150)}, "negative"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": "all"}, "n_jobs"),
        ({"random_state": "seed"}, "random_state"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.* failed on split")
def test_arguments_that_cannot_be_are_refused_by_name(arguments, message, iris):
    given = {"X": iris[0], "y": iris[1], **arguments}
    with pytest.raises((ValueError, TypeError), match=message):
        compare(estimators=["LDA"], verbose=0, **given)


def test_inputs_are_left_as_they_were(iris):
    estimators = {"lda": ReducedRankLDA()}
    given = *iris, estimators
    before = pickle.dumps(given)
    compare(*given, cv=HALVES, verbose=0)
    assert pickle.dumps(given) == before


def test_missing_values_are_filled_only_where_they_are_not_accepted(iris):
    X, y = iris[0].copy(), iris[1]
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.1] = np.nan
    zeros = make_pipeline(SimpleImputer(strategy="constant", fill_value=0), LogisticRegression())
    message = r"do not accept them: naive Bayes, KNeighborsClassifier\.$"
    with pytest.warns(UserWarning, match=message):
        table = found(X, y, ["LDA", "naive Bayes", KNeighborsClassifier(), zeros], cv=HALVES)
    assert set(table["status"]) == {"ok"}
    medians = SimpleImputer(strategy="median")
    own = {
        "naive Bayes": make_pipeline(medians, GaussianNB()),
        "KNeighborsClassifier": make_pipeline(medians, KNeighborsClassifier()),
        "Pipeline": zeros,
    }
    expected = found(X, y, own, cv=HALVES).set_index(["method", "split"])["error"]
    errors = table.set_index(["method", "split"])["error"]
    pd.testing.assert_series_equal(errors[expected.index], expected)


# --- what is shown, and what is missing -------------------------------------------------------


def test_progress_counts_methods_and_splits(iris, capsys, monkeypatch):
    monkeypatch.setattr("opgd._utils.progress.LogDisplay.least_seconds", 0.0)
    table = compare(*iris, QUICK, cv=HALVES, random_state=0, verbose=1)
    assert "Comparing: 100%, 4 of 4 fits" in capsys.readouterr().err
    pd.testing.assert_frame_equal(
        table.drop(columns="seconds"), found(*iris, QUICK, cv=HALVES, verbose=0)
    )
    assert capsys.readouterr().err == ""


def test_without_rich_there_is_no_progress_and_the_same_table(iris, capsys, monkeypatch):
    expected = found(*iris, QUICK, cv=HALVES)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setitem(sys.modules, "rich", None)
    pd.testing.assert_frame_equal(found(*iris, QUICK, cv=HALVES, verbose=1), expected)
    assert capsys.readouterr().out == ""


def test_without_pandas_the_extra_is_named(iris, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pandas.*opgd\[data\]"):
        compare(*iris, QUICK, verbose=0)


# --- the choice of a number of axes -----------------------------------------------------------


def test_axes_search_chooses_the_least_error_of_models_fitted_one_by_one(wine):
    X, y = wine
    folds = list(StratifiedKFold(3).split(X, y))
    search = ComponentSearch(SlicedAverageVariance(), folds).fit(X, y)
    errors = [
        [1 - SlicedAverageVariance(q).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]
        for q in range(1, 14)
    ]
    np.testing.assert_allclose(search.cv_errors_, np.mean(errors, axis=1))
    assert search.best_params_["n_components"] == np.argmin(np.mean(errors, axis=1)) + 1
    expected = SlicedAverageVariance(**search.best_params_).fit(X, y)
    assert np.array_equal(search.predict_proba(X), expected.predict_proba(X))


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_a_fold_with_fewer_axes_counts_with_its_last_model(iris):
    X, y = iris[0].copy(), iris[1]
    X[:75, 3] = X[0, 3]
    folds = [(np.arange(0, 75), np.arange(75, 150)), (np.arange(75, 150), np.arange(0, 75))]
    search = ComponentSearch(SlicedAverageVariance(), folds).fit(X, y)
    assert len(search.cv_errors_) == 4
    last = [1 - SlicedAverageVariance().fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]
    assert search.cv_errors_[3] == pytest.approx(np.mean(last))
