"""What compare() promises: one table, the same splits for all, and no surprises on the way."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from opgd import OPGDClassifierCV, compare
from opgd._model_selection.n_components import ComponentSearch
from opgd.baselines import ReducedRankLDA, SlicedAverageVariance
from opgd.comparison import default_estimators

COLUMNS = ["method", "split", "error", "log_loss", "seconds", "parameters"]
NAMES = ["LDA", "RDA", "SAVE", "CPCDA", "MDA", "OPGD", "OPGD, all settings"]
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
    assert all(set(own) == {"n_components"} for own in table.parameters)
    assert table.error.between(0, 0.2).all()
    assert (table.seconds > 0).all()


def test_all_methods_are_compared_unless_said_otherwise(iris):
    X, y = iris[0][::2, 1:], iris[1][::2]
    halves = [(np.arange(0, 75, 2), np.arange(1, 75, 2))]
    table = found(X, y, cv=halves, inner_cv=0.3, random_state=0)
    assert list(table.method) == NAMES
    assert np.all(np.isfinite(table[["error", "log_loss"]]))
    chosen = table.set_index("method").parameters
    assert set(chosen["RDA"]) == {"alpha"}
    assert set(chosen["MDA"]) == {"n_subclasses"}
    assert chosen["OPGD"]["shrinkage"] == chosen["OPGD"]["ridge"] == 0


def test_errors_and_log_losses_are_scikit_learns(wine):
    X, y = wine
    splits = list(StratifiedKFold(3).split(X, y))
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5)
    table = found(X, y, {"lda": model}, cv=splits)
    for (train, test), error, loss in zip(splits, table.error, table.log_loss, strict=True):
        model.fit(X[train], y[train])
        assert error == pytest.approx(1 - model.score(X[test], y[test]))
        assert loss == pytest.approx(log_loss(y[test], model.predict_proba(X[test])), rel=1e-10)


def test_opgd_with_all_settings_is_opgd_classifier_cv(iris):
    X, y = iris[0][:, 2:], iris[1]
    train, test = np.arange(0, 150, 3), np.arange(1, 150, 3)
    folds = StratifiedKFold(2)
    table = found(X, y, ["OPGD, all settings"], cv=[(train, test)], inner_cv=folds)
    model = OPGDClassifierCV(cv=folds).fit(X[train], y[train])
    assert table.error[0] == pytest.approx(1 - model.score(X[test], y[test]))
    assert table.parameters[0] == model.best_params_


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


@pytest.mark.parametrize("method", NAMES)
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
        (["LDA", "SVM"], r"unknown names \['SVM'\]; known names are \['LDA'"),
        ("LDA", "a list of names or a dict"),
        (3, "a list of names or a dict"),
        ({}, "empty"),
        ([], "empty"),
    ],
)
def test_estimators_that_cannot_be(estimators, message, iris):
    with pytest.raises((ValueError, TypeError), match=message):
        compare(*iris, estimators, verbose=0)


def test_names_may_come_from_a_generator(iris):
    table = found(*iris, (name for name in QUICK), cv=HALVES)
    assert list(table.method) == QUICK * 2


# --- rows and labels --------------------------------------------------------------------------


def test_frames_give_the_same_table(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(150)[::-1])
    series = pd.Series(y, index=frame.index)
    from_frame = found(frame, series, QUICK, cv=HALVES, groups=series % 2)
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
        ({"X": np.full((150, 4), np.nan)}, "NaN"),
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


# --- what is shown, and what is missing -------------------------------------------------------


def test_progress_counts_methods_and_splits(iris, capsys, monkeypatch):
    for name, value in {
        "FORCE_COLOR": "1",
        "TTY_COMPATIBLE": "1",
        "TTY_INTERACTIVE": "1",
        "TERM": "xterm",
        "COLUMNS": "120",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("rich._console", None)  # made before, for whatever terminal there was
    table = compare(*iris, QUICK, cv=HALVES, random_state=0, verbose=1)
    assert "4/4" in capsys.readouterr().out
    pd.testing.assert_frame_equal(
        table.drop(columns="seconds"), found(*iris, QUICK, cv=HALVES, verbose=0)
    )
    assert capsys.readouterr().out == ""


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
