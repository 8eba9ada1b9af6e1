"""compare(): one table, the same splits for all methods, and a row for each failure."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import OPGDClassifierCV, compare
from opgd.baselines import ReducedRankLDA, SlicedAverageVariance

COLUMNS = ["method", "split", "error", "log_loss", "seconds", "parameters"]
COLUMNS += ["balanced_accuracy", "n_train", "n_test", "status", "reason"]
DEFAULT = ["OPGD, all settings", "LDA", "QDA", "logistic regression", "RBF SVC", "random forest"]
DEFAULT += ["gradient boosting", "k-NN", "naive Bayes"]
FURTHER = ["OPGD", "RDA", "SAVE", "CPCDA", "MDA"]
QUICK = ["LDA", "SAVE"]
HALVES = [
    (np.arange(0, 150, 2), np.arange(1, 150, 2)),
    (np.arange(1, 150, 2), np.arange(0, 150, 2)),
]


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def compare_quietly(*args, **kwargs):
    """Return the table without the times."""
    table = compare(*args, **{"verbose": 0, "random_state": 0, "cv": HALVES, **kwargs})
    return table.drop(columns="seconds")


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts the first class, records its samples, and fails on sample 0 if told to."""

    seen = []

    def __init__(self, fails=False):
        self.fails = fails

    def fit(self, X, y):
        if self.fails and 0.0 in X[:, 0]:
            raise np.linalg.LinAlgError("the first sample is here")
        self.seen.append(X[:, 0].tolist())
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        self.seen.append(X[:, 0].tolist())
        return np.full(len(X), self.classes_[0])


def test_the_table_has_a_row_for_every_split_and_method(iris):
    table = compare(*iris, ["SAVE", "LDA"], cv=3, random_state=0, verbose=0)
    assert list(table.columns) == COLUMNS
    assert list(table.method) == ["SAVE", "LDA"] * 3
    assert list(table.split) == [0, 0, 1, 1, 2, 2]
    assert set(table.status) == {"ok"}
    assert (table.n_train + table.n_test == 150).all()
    assert all(set(parameters) == {"n_components"} for parameters in table.parameters)
    assert table.error.between(0, 0.2).all()
    assert (table.seconds > 0).all()


@pytest.mark.parametrize(("which", "names"), [(None, DEFAULT), ("all", DEFAULT + FURTHER)])
def test_sets_of_methods_have_results(which, names, iris):
    X, y = iris[0][::2, 1:], iris[1][::2]
    halves = [(np.arange(0, 75, 2), np.arange(1, 75, 2))]
    table = compare_quietly(X, y, which, cv=halves, inner_cv=0.3).set_index("method")
    assert list(table.index) == names
    assert np.all(np.isfinite(table[["error", "balanced_accuracy"]]))
    assert list(table.index[table.log_loss.isna()]) == ["RBF SVC"]
    assert table.error.max() < 0.3
    assert set(table.parameters["RBF SVC"]) == {"svc__C", "svc__gamma"}


def test_scores_are_those_of_scikit_learn(wine):
    X, y = wine
    splits = list(StratifiedKFold(3).split(X, y))
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)
    table = compare_quietly(X, y, {"lda": model}, cv=splits)
    for i, (train, test) in enumerate(splits):
        model.fit(X[train], y[train])
        assert table.error[i] == pytest.approx(1 - model.score(X[test], y[test]))
        loss = log_loss(y[test], model.predict_proba(X[test]))
        assert table.log_loss[i] == pytest.approx(loss, rel=1e-10)
        balanced = balanced_accuracy_score(y[test], model.predict(X[test]))
        assert table.balanced_accuracy[i] == pytest.approx(balanced)


def test_a_method_selects_as_a_grid_search(wine):
    X, y = wine
    inner = StratifiedKFold(3)
    table = compare_quietly(X, y, ["k-NN"], cv=[(np.arange(178), np.arange(178))], inner_cv=inner)
    grid = {"kneighborsclassifier__n_neighbors": [1, 3, 5, 9, 15, 25]}
    model = make_pipeline(StandardScaler(), KNeighborsClassifier())
    search = GridSearchCV(model, grid, cv=inner).fit(X, y)
    scores = dict(zip(grid.popitem()[1], search.cv_results_["mean_test_score"], strict=True))
    assert scores[next(iter(table.parameters[0].values()))] == search.best_score_


def test_all_methods_get_the_same_splits(iris):
    y = iris[1]
    X = np.arange(300.0).reshape(2, 150).T
    Recorder.seen.clear()
    compare_quietly(X, y, {"a": Recorder(), "b": Recorder()}, cv=3)
    tasks = [Recorder.seen[i : i + 2] for i in range(0, 12, 2)]
    assert tasks[::2] == tasks[1::2]
    assert sorted(row for _, test in tasks[::2] for row in test) == list(range(150))
    assert all(sorted(train + test) == list(range(150)) for train, test in tasks)


def test_a_seed_repeats_the_table_with_any_number_of_processes(wine):
    one, two = (compare_quietly(*wine, QUICK, cv=2, inner_cv=0.3, n_jobs=n) for n in (None, 2))
    pd.testing.assert_frame_equal(one, two)
    other = compare_quietly(*wine, QUICK, cv=2, inner_cv=0.3, random_state=4)
    assert not np.array_equal(one.log_loss, other.log_loss)


@pytest.mark.parametrize("inner_cv", [3, 0.3, LeaveOneGroupOut()], ids=str)
def test_groups_are_kept_together(inner_cv, iris):
    X, y = iris
    groups = np.arange(150) % 10
    X = np.column_stack([np.arange(150), X])
    Recorder.seen.clear()
    search = GridSearchCV(Recorder(), {"fails": [False]}, cv=GroupKFold(3))
    models = {"a": Recorder(), "searched": search, "OPGD": OPGDClassifierCV(cv=GroupKFold(3))}
    table = compare_quietly(X, y, models, cv=3, groups=groups)
    assert set(table.status) == {"ok"}
    for train, test in zip(Recorder.seen[::2], Recorder.seen[1::2], strict=True):
        assert not {int(row) % 10 for row in train} & {int(row) % 10 for row in test}
    table = compare_quietly(X[:, 1:], y, ["LDA", "QDA"], inner_cv=inner_cv, groups=groups)
    assert set(table.status) == {"ok"}


@pytest.mark.parametrize(
    "method", ["OPGD, all settings", "LDA", "RDA", "logistic regression", "RBF SVC", "naive Bayes"]
)
def test_whole_weights_are_copies_of_samples(method, iris):
    X, y = iris[0][::2], iris[1][::2]
    times = 1 + np.arange(75) % 2
    copies = np.repeat(np.arange(75), times)
    train, test = np.arange(75) % 3 > 0, np.arange(75) % 3 == 0
    folds = np.arange(50) % 2
    weighted = compare_quietly(
        X, y, [method], cv=[(train, test)], inner_cv=PredefinedSplit(folds), sample_weight=times
    )
    copied = compare_quietly(
        X[copies],
        y[copies],
        [method],
        cv=[(train[copies], test[copies])],
        inner_cv=PredefinedSplit(np.repeat(folds, times[train])),
    )
    assert weighted.error[0] == pytest.approx(copied.error[0])
    assert weighted.balanced_accuracy[0] == pytest.approx(copied.balanced_accuracy[0])
    assert weighted.log_loss[0] == pytest.approx(copied.log_loss[0], rel=2e-2, nan_ok=True)
    assert weighted.parameters[0] == copied.parameters[0]


def test_methods_without_weights_are_named_and_their_results_weighted(iris):
    X, y = iris
    weights = 1.0 + np.arange(150) % 4
    with pytest.warns(UserWarning, match=r"Fitted without sample_weight.*: QDA, k-NN\."):
        table = compare_quietly(X, y, ["QDA", "k-NN", "LDA"], sample_weight=weights)
    train, test = HALVES[0]
    n_neighbors = table.parameters[1]["kneighborsclassifier__n_neighbors"]
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors))
    wrong = model.fit(X[train], y[train]).predict(X[test]) != y[test]
    assert table.error[1] == pytest.approx(np.average(wrong, weights=weights[test]))


def test_weights_reach_given_searches_with_any_scoring(iris):
    grid, weights = {"var_smoothing": [1e-9, 1e-3]}, 1.0 + np.arange(150) % 4
    searches = {str(s): GridSearchCV(GaussianNB(), grid, scoring=s) for s in (None, "roc_auc_ovr")}
    table = compare_quietly(*iris, searches, sample_weight=weights)
    assert set(table.status) == {"ok"}


def test_given_estimators_are_used_as_they_are(iris):
    models = {"three": SlicedAverageVariance(3), "ridge": RidgeClassifier()}
    before = pickle.dumps((iris, models))
    table = compare_quietly(*iris, models)
    assert pickle.dumps((iris, models)) == before
    train, test = HALVES[0]
    model = SlicedAverageVariance(3).fit(iris[0][train], iris[1][train])
    assert table.error[0] == pytest.approx(1 - model.score(iris[0][test], iris[1][test]))
    assert table.parameters[0] == {}
    assert list(table.log_loss.isna()) == [False, True] * 2


def test_a_fit_that_fails_is_a_row_with_the_reason(iris):
    X = np.column_stack([np.arange(150.0), iris[0]])
    models = {"bad": Recorder(fails=True), "good": GaussianNB()}
    with pytest.warns(UserWarning, match=r"bad failed on split 0: .*first sample") as caught:
        table = compare(X, iris[1], models, cv=HALVES, verbose=0)
    assert caught[0].filename == __file__
    assert list(table.columns) == COLUMNS
    assert list(table.status) == ["failed", "ok", "ok", "ok"]
    assert table.reason[0] == "LinAlgError: the first sample is here"
    assert list(table.error.isna()) == [True, False, False, False]
    with pytest.warns(UserWarning, match="QDA failed"):
        table = compare(X[::10], iris[1][::10], ["QDA"], cv=2, inner_cv=2, verbose=0)
    assert table.reason[0].startswith("ValueError: y has only 1 sample in class")


def test_a_class_without_training_samples_has_the_largest_loss(iris):
    X, y = iris
    train, test = np.flatnonzero(y < 2)[::2], np.arange(1, 150, 2)
    table = compare_quietly(X, y, {"LDA": ReducedRankLDA(1)}, cv=[(train, test)])
    model = ReducedRankLDA(1).fit(X[train], y[train])
    seen = test[y[test] < 2]
    loss = log_loss(y[seen], model.predict_proba(X[seen])) * len(seen)
    loss -= np.log(1e-15) * (len(test) - len(seen))
    assert table.log_loss[0] == pytest.approx(loss / len(test), rel=1e-6)
    assert table.error[0] == pytest.approx(1 / 3)


def test_missing_values_are_filled_only_where_they_are_not_accepted(iris):
    X, y = iris[0].copy(), iris[1]
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.1] = np.nan
    zeros = make_pipeline(SimpleImputer(strategy="constant", fill_value=0), LogisticRegression())
    medians = SimpleImputer(strategy="median")
    models = {"naive Bayes": make_pipeline(medians, GaussianNB()), "Pipeline": zeros}
    with pytest.warns(UserWarning, match=r"for: naive Bayes, k-NN\.$"):
        table = compare_quietly(X, y, ["naive Bayes", zeros, "LDA", "k-NN"])
    assert set(table.status) == {"ok"}
    expected = compare_quietly(X, y, models)
    assert list(table.error[[0, 1, 4, 5]]) == list(expected.error)


@pytest.mark.parametrize("kind", [object, bool, "category"])
def test_frames_and_labels_of_every_kind_give_the_same_table(kind, iris):
    X, codes = iris[0], (iris[1] == 1).astype(int)
    labels = codes.astype(bool) if kind is bool else np.array(["n", "y"])[codes]
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(150)[::-1])
    table = compare_quietly(frame, pd.Series(labels, index=frame.index).astype(kind), QUICK)
    pd.testing.assert_frame_equal(table, compare_quietly(X, codes, QUICK))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.full((150, 4), np.inf)}, "infinity"),
        ({"y": np.arange(149) % 3}, "inconsistent"),
        ({"y": np.linspace(0, 1, 150)}, "continuous"),
        ({"cv": 1}, "n_splits=2 or more"),
        ({"cv": []}, "cv yielded no splits"),
        ({"inner_cv": 1.5}, "inner_cv"),
        ({"inner_cv": "five"}, "Got five"),
        ({"sample_weight": -np.ones(150)}, "negative"),
        ({"estimators": ["LDA", "randm forest"]}, "Did you mean 'random forest'"),
        ({"estimators": ["LDA", 3]}, "must be classifiers"),
        ({"estimators": [RidgeClassifier(), RidgeClassifier(2.0)]}, "pass a dict"),
        ({"estimators": {}}, "empty"),
    ],
    ids=str,
)
def test_invalid_arguments_are_named(arguments, message, iris):
    given = {"X": iris[0], "y": iris[1], "estimators": ["LDA"], "verbose": 0, **arguments}
    with pytest.raises((ValueError, TypeError), match=message):
        compare(**given)


def test_dask_input_is_refused(iris):
    array = pytest.importorskip("dask.array")
    for name, arguments in {
        "X": (array.from_array(iris[0]), iris[1]),
        "y": (iris[0], array.from_array(iris[1])),
    }.items():
        with pytest.raises(TypeError, match=rf"pass {name}\.compute\(\)"):
            compare(*arguments, ["LDA"], verbose=0)


def test_without_pandas_the_message_names_it(iris, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="'tables' is missing"):
        compare(*iris, QUICK, verbose=0)
