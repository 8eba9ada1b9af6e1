"""What OPGDSemiSupervised promises: its ends, labels of every kind, invariances, manners."""

import functools
import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opgd import DataWarning, OPGDClassifier, OPGDSemiSupervised

IGNORE_DATA = pytest.mark.filterwarnings("ignore::opgd.DataWarning")
BOTH_FORMS = pytest.mark.parametrize("covariance_type", ["diag", "full"])


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def some_of(y, step=6):
    """Every so many labels, -1 for the others."""
    few = np.full(len(y), -1)
    few[::step] = y[::step]
    return few


@functools.cache
def fit_wine(**settings):
    """A model of wine with some labels, which tests only read."""
    X, y = load_wine(return_X_y=True)
    return OPGDSemiSupervised(**settings).fit(X, some_of(y))


def five_of_each(y, rng):
    """Five labels of every class, None for the others."""
    few = np.full(len(y), None, dtype=object)
    for k in np.unique(y):
        chosen = rng.choice(np.flatnonzero(y == k), 5, replace=False)
        few[chosen] = k
    return few


def noisy_problem(rng, n_labeled=24):
    """Classes that overlap, so that rounds may end early."""
    y = rng.integers(0, 3, 120)
    X = rng.normal(size=(120, 3)) + 1.2 * np.eye(3)[y]
    return X, np.where(np.arange(120) < n_labeled, y, -1)


def contrary_problem():
    """Rows lie in two clusters, labels tell apart the halves of both."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 2)) * [1.0, 0.3]
    X[:, 1] += 6 * (rng.uniform(size=2000) < 0.5)
    return X, np.where(np.arange(2000) < 40, (X[:, 0] > 0).astype(int), -1)


def assert_usable(model, X):
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)
    for values in (model.components_, model.means_, model.covariances_, model.log_likelihood_):
        assert np.all(np.isfinite(values))
    assert model.transduction_.shape == (len(X),)


# --- its ends: all labels, no labels ----------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"covariance_type": "full"},
        {"shrinkage": 0.3},
        {"shrinkage": "auto"},
        {"ridge": 0.1},
        {"priors": "uniform"},
        {"priors": [0.2, 0.5, 0.3]},
        {"n_components": 4, "init": "pca"},
        {"n_init": 3, "random_state": 0},
    ],
    ids=str,
)
def test_with_all_rows_labeled_it_is_the_classifier(settings, weighted, wine, rng):
    X, y = wine
    weights = rng.integers(0, 4, len(X)) if weighted else None
    model = OPGDSemiSupervised(**settings).fit(X, y, sample_weight=weights)
    expected = OPGDClassifier(**settings).fit(X, y, sample_weight=weights)
    assert np.array_equal(model.components_, expected.components_)
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert model.log_likelihood_ == expected.log_likelihood_
    assert model.n_rounds_ == 0


@pytest.mark.parametrize(
    "nothing", [np.full(178, -1), np.full(178, np.nan), [None] * 178, np.full(178, None)]
)
def test_without_labels_the_mixture_is_named(nothing, wine):
    with pytest.raises(ValueError, match=r"no labeled samples.*OPGDMixture"):
        OPGDSemiSupervised().fit(wine[0], nothing)


def test_without_y_the_mixture_is_named(wine):
    with pytest.raises(ValueError, match=r"y is None.*OPGDMixture"):
        OPGDSemiSupervised().fit(wine[0], None)


def test_labels_of_weight_zero_only_are_no_labels(wine):
    X, y = wine
    few = some_of(y)
    with pytest.raises(ValueError, match=r"no labeled samples.*OPGDMixture"):
        OPGDSemiSupervised().fit(X, few, sample_weight=(few < 0).astype(float))


# --- what is learnt ---------------------------------------------------------------------------


@IGNORE_DATA
@pytest.mark.parametrize(
    ("name", "draw", "step"),
    [
        ("texture", 0, 5),
        pytest.param("texture", 1, 1, marks=pytest.mark.slow),
        pytest.param("opt_digits", 0, 1, marks=pytest.mark.slow),
    ],
)
def test_unlabeled_rows_bring_more_than_shrinking(name, draw, step, load):
    X, y, _ = load(name)
    X, y = X[::step], y[::step]
    few = five_of_each(y, np.random.default_rng(draw))
    free = few == None  # noqa: E711
    model = OPGDSemiSupervised(max_iter=100, tol=1e-4).fit(X, few)
    lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    lda = make_pipeline(StandardScaler(), lda).fit(X[~free], y[~free])
    error = np.mean(model.transduction_[free] != y[free])
    assert error <= np.mean(lda.predict(X[free]) != y[free]) - 0.02


@BOTH_FORMS
def test_rounds_and_unlabeled_rows_help_on_wine(covariance_type, wine):
    X, y = wine
    few = some_of(y, 12)
    model = OPGDSemiSupervised(covariance_type=covariance_type).fit(X, few)
    known = few >= 0
    alone = OPGDClassifier(covariance_type=covariance_type, shrinkage="auto", ridge=0.1)
    alone.fit(X[known], y[known])
    wrong = np.mean(model.transduction_ != y)
    assert wrong < np.mean(alone.predict(X) != y)
    assert wrong < 0.05


def test_log_likelihood_is_that_of_the_classes_that_rows_aim_at(wine):
    X, y = wine
    few = some_of(y)
    for settings in ({}, {"covariance_type": "full", "shrinkage": 0.3}, {"priors": "uniform"}):
        model = OPGDSemiSupervised(calibrate=False, **settings).fit(X, few)
        log_posteriors = model.predict_log_proba(X)
        aims = np.where(few >= 0, few, log_posteriors.argmax(axis=1))
        own = log_posteriors[np.arange(len(X)), aims].sum()
        assert model.log_likelihood_ == pytest.approx(own, rel=1e-8)


def test_priors_are_shares_of_all_rows(rng):
    y = np.repeat([0, 1], [300, 100])
    X = rng.normal(size=(400, 3)) + 12 * np.eye(3)[y]
    few = np.full(400, -1)
    few[:10], few[300:310] = 0, 1
    np.testing.assert_allclose(OPGDSemiSupervised().fit(X, few).priors_, [0.75, 0.25], atol=1e-6)
    model = OPGDSemiSupervised(priors={1: 0.4, 0: 0.6}).fit(X, few)
    np.testing.assert_allclose(model.priors_, [0.6, 0.4])


# --- trials with hidden labels ----------------------------------------------------------------


def overconfident_problem(seed, n_labels=6, n_classes=4):
    """Classes that overlap, many columns, few labels; and the true classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, 400)
    X = rng.normal(size=(400, 12)) + 1.5 * np.eye(n_classes, 12)[y]
    few = np.full(400, -1)
    for k in range(n_classes):
        few[np.flatnonzero(y == k)[:n_labels]] = k
    return X, y, few


def log_loss_and_confidence(model, X, y, few):
    free = few < 0
    posteriors = model.predict_proba(X[free])
    confidence = posteriors.max(axis=1).mean()
    return log_loss(y[free], posteriors), confidence


@pytest.mark.parametrize("seed", range(3))
def test_calibration_lowers_log_loss_and_overconfidence(seed):
    X, y, few = overconfident_problem(seed)
    raw = OPGDSemiSupervised(calibrate=False).fit(X, few)
    model = OPGDSemiSupervised().fit(X, few)
    assert (raw.temperature_, raw.background_) == (1, 0)
    assert model.temperature_ > 1
    assert 0 < model.background_ < 1
    before, after = (log_loss_and_confidence(own, X, y, few) for own in (raw, model))
    assert after[0] < before[0] - 0.1
    error = np.mean(model.predict(X[few < 0]) != y[few < 0])
    assert abs(1 - error - after[1]) < abs(1 - error - before[1])


def test_trials_do_not_change_the_components_where_unlabeled_rows_are_used(wine):
    X, few = wine[0], some_of(wine[1])
    for settings in ({}, {"init": "random", "n_init": 2, "random_state": 0}):
        model = OPGDSemiSupervised(**settings).fit(X, few)
        raw = OPGDSemiSupervised(calibrate=False, **settings).fit(X, few)
        assert model.uses_unlabeled_
        assert model.n_rounds_ == raw.n_rounds_
        assert np.array_equal(model.components_, raw.components_)
        assert np.array_equal(model.priors_, raw.priors_)


def test_unlabeled_rows_that_mislead_are_not_used():
    X, few = contrary_problem()
    y = (X[:, 0] > 0).astype(int)
    raw = OPGDSemiSupervised(1, n_rounds=6, calibrate=False).fit(X, few)
    model = OPGDSemiSupervised(1).fit(X, few)
    assert not model.uses_unlabeled_
    assert model.n_rounds_ == 0
    wrong, raw_wrong = (np.mean(own.transduction_ != y) for own in (model, raw))
    assert wrong <= raw_wrong
    chosen = np.argmin(model.trials_["missed_probability"])
    assert "labeled samples" in model.trials_["model"][chosen]
    assert_usable(model, X)


@pytest.mark.parametrize("labels", [[0, 70, 150], [0, 1, 70, 71, 150, 151]])
def test_with_few_labels_unlabeled_rows_are_used(labels, wine):
    X, y = wine
    few = np.full(len(X), -1)
    few[labels] = y[labels]
    model = OPGDSemiSupervised().fit(X, few)
    assert model.uses_unlabeled_
    assert hasattr(model, "trials_") == (len(labels) > 3)
    assert (model.temperature_ == 1) == (len(labels) == 3)


def test_all_rows_labeled_are_not_hidden(wine):
    model = OPGDSemiSupervised(max_iter=20, tol=0.1).fit(wine[0], some_of(wine[1]))
    assert hasattr(model, "trials_")
    model.fit(*wine)
    assert not hasattr(model, "trials_")
    assert (model.temperature_, model.background_) == (1, 0)


@IGNORE_DATA
def test_weights_are_repeats_with_trials(wine, rng):
    X, few = wine[0], some_of(wine[1], 3)
    counts = rng.integers(1, 3, len(X))
    model = OPGDSemiSupervised(init="lda")
    weighted = clone(model).fit(X, few, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(few, counts))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-3)
    for column in ("error", "log_loss", "missed_probability"):
        np.testing.assert_allclose(weighted.trials_[column], repeated.trials_[column], atol=1e-3)


# --- labels of training rows ------------------------------------------------------------------


@BOTH_FORMS
def test_labeled_rows_keep_their_class_even_if_it_is_wrong(covariance_type, wine):
    X, y = wine
    few = some_of(y)
    few[[0, 60, 150]] = [2, 0, 1]
    known = few >= 0
    model = OPGDSemiSupervised(covariance_type=covariance_type).fit(X, few)
    assert np.array_equal(model.transduction_[known], few[known])
    assert np.array_equal(model.label_distributions_[known], np.eye(3)[few[known]])
    assert model.predict(X[:1])[0] == 0


def test_unlabeled_rows_get_what_would_be_predicted(iris):
    X, y = iris
    few = some_of(y)
    model = OPGDSemiSupervised(covariance_type="full", shrinkage=0.1).fit(X, few)
    free = few < 0
    assert np.array_equal(model.transduction_[free], model.predict(X)[free])
    np.testing.assert_allclose(model.label_distributions_[free], model.predict_proba(X)[free])
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)


# --- ways to say "unlabeled" -----------------------------------------------------------------


def quick(**parameters):
    """Without trials and with one start: what is asked is which rows have labels."""
    return OPGDSemiSupervised(init="lda", calibrate=False, **parameters)


def spelled(few, names, missing):
    """Names instead of codes, and something else instead of -1."""
    return [missing if k < 0 else names[k] for k in few]


def in_words(missing, dtype=None):
    def make(few):
        given = spelled(few, ["a", "b", "c"], missing)
        return given if dtype is None else np.array(given, dtype=dtype)

    return make


def in_a_series(dtype):
    def make(few):
        index = np.arange(len(few))[::-1]
        return pd.Series(spelled(few, ["a", "b", "c"], None), dtype=dtype, index=index)

    return make


SPELLINGS = {
    "list with -1": in_words(-1),
    "list with None": in_words(None),
    "list with NaN": in_words(float("nan")),
    "list with pandas.NA": in_words(pd.NA),
    "tuple with None": lambda few: tuple(in_words(None)(few)),
    "objects with -1": in_words(-1, object),
    "objects with None": in_words(None, object),
    "objects with NaN": in_words(np.nan, object),
    "objects with pandas.NA": in_words(pd.NA, object),
    "series of objects": in_a_series(object),
    "series of strings": in_a_series("string"),
    "series of categories": in_a_series("category"),
    "categories": lambda few: pd.Categorical(in_words(None)(few)),
    "index": lambda few: pd.Index(in_words(None)(few)),
}


@pytest.mark.parametrize("how", SPELLINGS)
def test_every_way_to_leave_out_a_word_gives_the_same_fit(how, iris):
    X, y = iris
    few = some_of(y)
    expected = quick().fit(X, few)
    model = quick().fit(X, SPELLINGS[how](few))
    assert model.classes_.dtype.kind == "U"
    assert list(model.classes_) == ["a", "b", "c"]
    assert np.array_equal(model.components_, expected.components_)
    assert np.array_equal(model.label_distributions_, expected.label_distributions_)
    assert np.array_equal(model.transduction_, model.classes_[expected.transduction_])


NUMBERS = {
    "int8": (lambda few: few.astype(np.int8), np.int8),
    "floats with -1": (lambda few: few.astype(float), float),
    "floats with NaN": (lambda few: np.where(few < 0, np.nan, few), float),
    "float32 with NaN": (lambda few: np.where(few < 0, np.nan, few).astype("f4"), np.float32),
    "series with missing": (lambda few: pd.Series(few).where(few >= 0), float),
    "list of ints with -1": (lambda few: few.tolist(), int),
    "list of ints with None": (lambda few: spelled(few, [0, 1, 2], None), int),
    "list of ints with NaN": (lambda few: spelled(few, [0, 1, 2], float("nan")), int),
    "list of floats with None": (lambda few: spelled(few, [0.0, 1.0, 2.0], None), float),
    "objects with None": (lambda few: np.array(spelled(few, [0, 1, 2], None)), int),
    "nullable ints": (lambda few: pd.Series(spelled(few, [0, 1, 2], None), dtype="Int64"), int),
}


@pytest.mark.parametrize("how", NUMBERS)
def test_every_way_to_leave_out_a_number_gives_the_same_fit(how, iris):
    X, y = iris
    few = some_of(y)
    make, dtype = NUMBERS[how]
    expected = quick().fit(X, few)
    model = quick().fit(X, make(few))
    assert np.array_equal(model.components_, expected.components_)
    assert np.array_equal(model.transduction_, expected.transduction_)
    assert model.classes_.dtype == model.predict(X).dtype == dtype


@pytest.mark.parametrize(
    ("unlabeled", "make"),
    [
        ("?", in_words("?")),
        ("?", in_words("?", str)),
        ("?", in_words("?", object)),
        (-1, lambda few: few),
        (0, lambda few: few + 1),
        (np.nan, lambda few: np.where(few < 0, np.nan, few)),
        (np.nan, in_words(np.nan, object)),
        (pd.NA, in_words(pd.NA, object)),
    ],
)
def test_what_stands_for_a_missing_label_can_be_said(unlabeled, make, iris):
    X, y = iris
    few = some_of(y)
    model = quick(unlabeled=unlabeled).fit(X, make(few))
    assert np.array_equal(model.components_, quick().fit(X, few).components_)
    assert len(model.classes_) == 3


def test_minus_one_is_a_class_where_something_else_is_missing(iris):
    X, y = iris
    labels = np.where(some_of(y) < 0, 99, y - 1)
    model = quick(unlabeled=99).fit(X, labels)
    assert list(model.classes_) == [-1, 0, 1]
    flags = quick(unlabeled="?").fit(X, np.where(y == 0, -1, 1))
    assert list(flags.classes_) == [-1, 1]


def test_classes_are_sorted_whatever_comes_first(iris):
    X, y = iris
    few = some_of(y)
    words = quick().fit(X, spelled(few, ["pear", "apple", "fig"], None))
    assert list(words.classes_) == ["apple", "fig", "pear"]
    numbers = quick().fit(X, np.array([7, -5, 1000, -1])[few])
    assert list(numbers.classes_) == [-5, 7, 1000]
    assert np.mean(words.transduction_ == np.array(["pear", "apple", "fig"])[y]) > 0.9
    assert np.mean(numbers.transduction_ == np.array([7, -5, 1000])[y]) > 0.9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda few: spelled(few, ["a", 1, "c"], None), r"types \(int, str\)"),
        (lambda few: np.array(spelled(few, ["a", 1, "c"], -1), object), r"types \(int, str\)"),
        (lambda few: spelled(few, ["a", b"b", "c"], None), r"types \(bytes, str\)"),
        (lambda few: np.where(few == 1, np.inf, few), "infinity"),
        (lambda few: spelled(few, [0.0, np.inf, 2.0], None), "infinity"),
        (lambda few: few + 0.5 * (few >= 0), "Unknown label type"),
        (lambda few: few[:-1], "inconsistent numbers of samples"),
        (lambda few: [], "inconsistent numbers of samples"),
        (lambda few: np.column_stack([few, few]), "1d array"),
        (lambda few: 3, "1d array"),
    ],
)
def test_labels_that_cannot_be(make, message, iris):
    X, y = iris
    with pytest.raises(ValueError, match=message):
        quick().fit(X, make(some_of(y)))


# --- rounds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_rounds", [0, 1, 3])
def test_no_more_rounds_are_made_than_asked_for(n_rounds, wine):
    X, y = wine
    model = OPGDSemiSupervised(n_rounds=n_rounds, calibrate=False).fit(X, some_of(y))
    assert model.n_rounds_ == n_rounds
    assert np.mean(model.transduction_ == y) > 0.9


def test_rounds_end_when_labeled_rows_get_other_classes(monkeypatch):
    X, few = contrary_problem()
    known = few >= 0
    model = OPGDSemiSupervised(n_rounds=50, calibrate=False).fit(X, few)
    monkeypatch.setattr("opgd._fit.self_training._compute_error", lambda *_: 0.0)
    longer = OPGDSemiSupervised(n_rounds=50, calibrate=False).fit(X, few)
    assert model.n_rounds_ < 50 == longer.n_rounds_
    assert model.score(X[known], few[known]) > longer.score(X[known], few[known]) + 0.1


def test_a_failed_round_is_not_kept(monkeypatch, wine):
    X, few = wine[0], some_of(wine[1])
    errors = iter([0.1, 0.1, 0.9])
    with monkeypatch.context() as patch:
        patch.setattr("opgd._fit.self_training._compute_error", lambda *_: next(errors))
        stopped = OPGDSemiSupervised(n_rounds=9, calibrate=False).fit(X, few)
    two = OPGDSemiSupervised(n_rounds=2, calibrate=False).fit(X, few)
    assert stopped.n_rounds_ == 2
    assert np.array_equal(stopped.components_, two.components_)
    three = OPGDSemiSupervised(n_rounds=3, calibrate=False).fit(X, few)
    assert not np.array_equal(stopped.components_, three.components_)


def test_an_error_within_one_standard_error_goes_on(monkeypatch, wine):
    X, few = wine[0], some_of(wine[1])  # 30 labeled rows: of 0.2 the standard error is 0.07
    errors = iter([0.14, 0.2, 0.2, 0.2])
    monkeypatch.setattr("opgd._fit.self_training._compute_error", lambda *_: next(errors))
    assert OPGDSemiSupervised(n_rounds=4, calibrate=False).fit(X, few).n_rounds_ == 4


# --- weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"covariance_type": "full", "calibrate": False},
        {"shrinkage": "auto", "calibrate": False},
        {"n_rounds": 0},
        {"ridge": 0.1, "calibrate": False},
    ],
    ids=str,
)
def test_weight_two_is_the_row_twice_and_weight_zero_no_row(settings, wine, rng):
    X, y = wine
    few, counts = some_of(y), rng.integers(0, 4, len(X))
    model = OPGDSemiSupervised(tol=1e-9, **settings)
    weighted = clone(model).fit(X, few, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(few, counts))
    # trial fits end at a tolerance of their own, which the calibration passes on
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-3)
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, rel=1e-5)
    assert weighted.n_rounds_ == repeated.n_rounds_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weight_three_is_the_row_thrice_for_the_end_of_the_rounds():
    model = OPGDSemiSupervised(n_rounds=20, max_iter=0)
    for seed in range(150, 154):
        rng = np.random.default_rng(seed)
        (X, few), counts = noisy_problem(rng), rng.integers(1, 6, 120)
        weighted = clone(model).fit(X, few, sample_weight=counts)
        repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(few, counts))
        assert weighted.n_rounds_ == repeated.n_rounds_


@pytest.mark.parametrize("size", [1e-9, 1 / 178, 0.5])
def test_weights_may_have_any_small_sum(size, wine):
    X, y = wine
    plain = fit_wine(tol=1e-9)
    model = OPGDSemiSupervised(tol=1e-9).fit(X, some_of(y), sample_weight=size)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-6)
    assert model.log_likelihood_ == pytest.approx(size * plain.log_likelihood_, rel=1e-6)


def test_rows_without_weight_get_labels_and_do_not_count(wine, rng):
    X, y = wine
    few = some_of(y)
    weights = (rng.uniform(size=len(X)) < 0.7).astype(float)
    present, free = weights > 0, few < 0
    model = OPGDSemiSupervised().fit(X, few, sample_weight=weights)
    without = OPGDSemiSupervised().fit(X[present], few[present])
    # weights of one are multiplied with, and not every NumPy rounds the same then
    np.testing.assert_allclose(model.components_, without.components_, rtol=1e-9, atol=1e-11)
    assert np.array_equal(model.transduction_[present], without.transduction_)
    assert np.array_equal(model.transduction_[~present & free], without.predict(X[~present & free]))
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)


def test_labeled_rows_of_weight_zero_keep_their_class(wine):
    X, y = wine
    few, weights = some_of(y), np.ones(len(X))
    few[0], weights[0] = 2, 0  # it looks like class 0
    model = OPGDSemiSupervised(calibrate=False).fit(X, few, sample_weight=weights)
    assert model.transduction_[0] == 2
    assert list(model.label_distributions_[0]) == [0, 0, 1]


def test_a_class_whose_labels_have_no_weight_is_no_class(wine):
    X, y = wine
    few = some_of(y)
    model = OPGDSemiSupervised(calibrate=False)
    model.fit(X, few, sample_weight=(few != 1).astype(float))
    assert list(model.classes_) == [0, 2]
    assert set(model.transduction_) == {0, 2}
    assert model.label_distributions_.shape == (178, 2)


# --- invariances ------------------------------------------------------------------------------


WITH_AND_WITHOUT_TRIALS = pytest.mark.parametrize(
    ("calibrate", "atol"),
    [(False, 1e-5), (True, 1e-3)],  # searches of trials end at a larger tolerance
)


@BOTH_FORMS
@WITH_AND_WITHOUT_TRIALS
@pytest.mark.parametrize(
    "name",
    [
        "iris",
        pytest.param("wine", marks=pytest.mark.slow),
        pytest.param("seeds", marks=pytest.mark.slow),
    ],
)
def test_nothing_depends_on_units_origin_order_or_basis(
    name, calibrate, atol, covariance_type, load, rng
):
    X, names, _ = load(name)
    few = some_of(np.unique(names, return_inverse=True)[1])
    n_features, order = X.shape[1], rng.permutation(len(X))
    model = OPGDSemiSupervised(covariance_type=covariance_type, init="lda", tol=1e-9, max_iter=5000)
    model.set_params(calibrate=calibrate)
    expected = clone(model).fit(X, few)
    units = np.geomspace(1e-6, 1e6, n_features)
    changed = {
        "rescaled": (X * units, slice(None)),
        "rescaled the other way": (X * units[::-1] - 1, slice(None)),
        "shifted": (X + 1e6, slice(None)),
        "shuffled": (X[order], order),
    }
    for what, (rows, which) in changed.items():
        other = clone(model).fit(rows, few[which])
        assert other.n_rounds_ == expected.n_rounds_
        np.testing.assert_allclose(
            other.label_distributions_,
            expected.label_distributions_[which],
            atol=atol,
            err_msg=what,
        )


def test_single_precision_stays_close_and_is_kept(wine):
    X, y = wine
    single = OPGDSemiSupervised().fit(X.astype(np.float32), some_of(y))
    double = fit_wine()
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=1e-3)


def test_default_fit_is_deterministic_and_a_seed_repeats_random_starts(load):
    X, y = (rows[::3] for rows in load("vowel")[:2])
    few = five_of_each(y, np.random.default_rng(1))
    random = {"init": "random", "n_init": 2, "calibrate": False}
    for settings in ({}, random | {"random_state": 3}):
        first, second = (OPGDSemiSupervised(3, **settings).fit(X, few) for _ in range(2))
        assert np.array_equal(first.components_, second.components_)
        assert np.array_equal(first.label_distributions_, second.label_distributions_)
    other = OPGDSemiSupervised(3, **random, random_state=4).fit(X, few)
    assert not np.array_equal(first.components_, other.components_)


# --- awkward data -----------------------------------------------------------------------------


@BOTH_FORMS
def test_one_label_of_each_class_is_enough_on_wine(covariance_type, wine):
    X, y = wine
    few = np.full(len(X), -1)
    few[[0, 70, 150]] = y[[0, 70, 150]]
    model = OPGDSemiSupervised(covariance_type=covariance_type).fit(X, few)
    assert np.mean(model.transduction_ == y) > 0.9
    assert_usable(model, X)


def test_a_class_with_a_single_labeled_row(wine):
    X, y = wine
    few = some_of(y)
    few[few == 2] = -1
    few[150] = 2
    model = OPGDSemiSupervised().fit(X, few)
    assert np.mean(model.transduction_ == y) > 0.9
    assert_usable(model, X)


def test_one_class_is_refused_where_rows_are_unlabeled(wine):
    X, y = wine
    with pytest.raises(ValueError, match=r"Only one class \('only'\).*unlabeled"):
        OPGDSemiSupervised().fit(X, np.where(some_of(y) == 0, "only", None))
    model = OPGDSemiSupervised().fit(X, np.full(len(X), "only"))
    assert set(model.transduction_) == {"only"}
    assert np.array_equal(model.label_distributions_, np.ones((178, 1)))


@BOTH_FORMS
@pytest.mark.parametrize(("n_rows", "n_columns"), [(40, 200), (12, 50), (30, 30)])
def test_fewer_rows_than_columns(covariance_type, n_rows, n_columns, rng):
    X, y = rng.normal(size=(n_rows, n_columns)), np.arange(n_rows) % 2
    X[:, :10] += 8 * y[:, None]
    model = OPGDSemiSupervised(covariance_type=covariance_type, ridge=0.0)
    few = np.where(np.arange(n_rows) < 6, y, -1)
    with pytest.warns(DataWarning, match="no more rows than columns"):
        model.fit(X, few)
    assert np.mean(model.transduction_ == y) >= 0.95
    assert_usable(model, X)
    ridged = OPGDSemiSupervised(covariance_type=covariance_type).fit(X, few)
    assert np.mean(ridged.transduction_ == y) >= 0.95
    assert_usable(ridged, X)


def test_a_constant_column_is_named_and_changes_nothing(iris):
    X, few = iris[0], some_of(iris[1])
    model = OPGDSemiSupervised(init="lda", tol=1e-9)
    plain = clone(model).fit(X, few)
    with pytest.warns(DataWarning, match=r"constant columns: column 2"):
        model.fit(np.insert(X, 2, 7.0, axis=1), few)
    assert not np.any(model.components_[:, 2])
    np.testing.assert_allclose(model.label_distributions_, plain.label_distributions_, atol=1e-6)


# --- parameters -------------------------------------------------------------------------------

BAD_VALUES = {
    "n_components": [0, -1, 1.5, "two", True, 5],
    "covariance_type": ["tied", None, 3],
    "shrinkage": [-0.1, 1.1, "some", None, True, np.nan],
    "ridge": [-0.1, 1.1, "some", None, True, np.nan],
    "priors": ["equal", [0.5, 0.6, -0.1], [0.5, 0.5], [0.2, 0.2, 0.2], {0: 1.0}, 3],
    "unlabeled": [np.array([-1, 0]), [-1], {-1: 0}],
    "n_rounds": [-1, 1.5, "some", None, True],
    "calibrate": [1, "yes", None],
    "init": ["svd", None, 3, [[1.0, 2.0]], [[0.0] * 4, [1.0] * 4]],
    "n_init": [0, 1.5, "some", None],
    "max_iter": [-1, 1.5, "some", None],
    "tol": [0, -1e-3, "some", None, np.inf, np.nan],
    "random_state": ["seed", -1],
    "n_jobs": [0, 1.5, "all"],
    "verbose": [-1, "loud", None],
}


def test_every_parameter_has_bad_values_here():
    assert set(BAD_VALUES) == set(inspect.signature(OPGDSemiSupervised).parameters)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_VALUES.items() for value in values]
)
def test_bad_parameter_is_refused_by_name(name, value, rng):
    X, few = rng.normal(size=(30, 4)), np.repeat([0, 1, 2, -1, -1], 6)
    estimator = OPGDSemiSupervised(**{name: value})
    with pytest.raises((ValueError, TypeError), match=name):
        estimator.fit(X, few)
    assert not hasattr(estimator, "n_features_in_")


# --- manners ----------------------------------------------------------------------------------


def test_searches_choose_by_labeled_rows_that_are_held_out(wine):
    X, y = wine
    few = some_of(y, 3)
    known = np.flatnonzero(few >= 0)
    folds = [(np.setdiff1d(np.arange(len(X)), own), own) for own in (known[::2], known[1::2])]
    model = OPGDSemiSupervised(calibrate=False)
    search = GridSearchCV(model, {"n_components": [1, 2]}, cv=folds).fit(X, few)
    assert search.best_score_ > 0.9
    assert np.mean(search.best_estimator_.transduction_ == y) > 0.9


def test_scores_need_a_labeled_row_that_counts(iris):
    X, y = iris
    few = some_of(y)
    model = OPGDSemiSupervised(n_components=1).fit(X, few)
    weights = np.where(few < 0, 1.0, 0.0)
    with pytest.raises(ValueError, match="no labeled samples with positive weight"):
        model.score(X, few, sample_weight=weights)
    weights[0] = 2.0
    assert model.score(X, few, sample_weight=weights) == model.score(X[:1], few[:1])
