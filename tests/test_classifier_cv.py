"""OPGDClassifierCV: what it tries, what it chooses, and that probabilities become honest."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    PredefinedSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    train_test_split,
)

from opgd import DataWarning, OPGDClassifier, OPGDClassifierCV
from opgd._fit.problem import pose, prepare
from opgd._model_selection.path import grow_path
from opgd.core.engines import RowEngine

ONE_DIAGONAL = {"n_subclasses": 1, "covariance_type": "diag"}
SMALL = {"shrinkage": (0.0, 0.5), "ridge": 0.0, "n_components": (1, 2), "cv": 3, **ONE_DIAGONAL}
PAPER = {"shrinkage": 0, "ridge": 0, **ONE_DIAGONAL}


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


# --- what is tried ----------------------------------------------------------------------------


def test_the_estimated_ridge_is_one_of_the_candidates(wine):
    X, y = wine
    grid = {"shrinkage": 0, "cv": 3, **ONE_DIAGONAL}
    model = OPGDClassifierCV(2, ridge=("auto", 0.0, 0.5), **grid).fit(X, y)
    assert {own["ridge"] for own in model.cv_results_["params"]} == {"auto", 0.0, 0.5}
    only = OPGDClassifierCV(2, ridge="auto", **grid).fit(X, y)
    assert only.best_params_["ridge"] == "auto"
    alone = OPGDClassifier(**only.best_params_).fit(X, y)
    assert only.best_estimator_.ridge_ == alone.ridge_
    for ridge in ("aut", ("auto", "x")):
        with pytest.raises(ValueError, match="ridge must be 'auto' or a number from 0 to 1"):
            OPGDClassifierCV(2, ridge=ridge, cv=3).fit(X, y)


def test_every_setting_and_both_ends_are_tried(wine):
    grid = {"n_subclasses": (1, 2), "covariance_type": ("diag", "full")}
    model = OPGDClassifierCV(**SMALL | grid)
    model.fit(*wine)
    params = model.cv_results_["params"]
    for covariance_type in ("diag", "full"):
        for n_subclasses in (1, 2):
            for shrinkage in (0.0, 0.5):
                wanted = {
                    "covariance_type": covariance_type,
                    "n_subclasses": n_subclasses,
                    "shrinkage": shrinkage,
                }
                assert any(wanted.items() <= own.items() for own in params), wanted
    ends = [own for own in params if own.get("max_iter") == 0]
    assert any(own["shrinkage"] == 1 and own["n_components"] == 2 for own in ends)


def test_rda_is_tried_where_all_axes_are_allowed(wine):
    every = OPGDClassifierCV(**SMALL | {"n_components": (1, 13)}).fit(*wine)
    few = OPGDClassifierCV(**SMALL).fit(*wine)
    full = [
        [own for own in model.cv_results_["params"] if own["covariance_type"] == "full"]
        for model in (every, few)
    ]
    assert len(full[0]) > 3
    assert full[1] == []
    assert few.n_components_ in (1, 2)


def test_results_have_one_entry_a_model_in_every_array(wine):
    results = OPGDClassifierCV(**SMALL).fit(*wine).cv_results_
    n_models = len(results["params"])
    assert all(len(own) == n_models for own in results.values())
    scores = np.column_stack([results[f"split{i}_test_score"] for i in range(3)])
    np.testing.assert_allclose(scores.mean(axis=1), results["mean_test_score"])
    np.testing.assert_allclose(1 - results["mean_test_score"], results["mean_test_error"])
    assert results["rank_test_score"].min() == 1
    # the background costs at most -log(1 - e) where the probabilities were perfect
    cost = -np.log1p(-results["background"])
    assert np.all(
        results["mean_test_calibrated_log_loss"] <= results["mean_test_log_loss"] + cost + 1e-9
    )


def test_a_path_never_loses_likelihood_as_it_grows(cancer):
    X, y = cancer
    prepared = prepare(RowEngine(X, y.astype(np.intp)), 2)
    problem = pose(prepared, prepared.classes.priors, covariance_type="diag")
    path = list(grow_path(problem, [1, 2, 3, 5, 8]))
    values = [problem.objective.value(directions) for directions in path]
    assert [len(directions) for directions in path] == [1, 2, 3, 5, 8][: len(path)]
    assert np.all(np.diff(values) > -1e-3)


def test_defaults_grow_gaussians_where_classes_have_several_modes(rng):
    cells = rng.integers(0, 3, size=(800, 2))  # of a chessboard
    X, y = 5.0 * cells + rng.normal(size=(800, 2)), cells.sum(axis=1) % 2
    model = OPGDClassifierCV(cv=3).fit(X, y)
    assert 4 <= len(model.gaussian_classes_) / 2 <= 8
    one = OPGDClassifierCV(cv=3, n_subclasses=1).fit(X, y)
    assert model.best_score_ > one.best_score_ + 0.05


@pytest.mark.filterwarnings("ignore:Loadings are")
def test_fewer_components_than_requested_are_reported(cancer):
    X, y = cancer
    with pytest.warns(DataWarning, match=r"selected features vary in 2 dimensions only: 2 comp"):
        model = OPGDClassifierCV(n_components=3, sparsity=2, n_subclasses=1, cv=3).fit(X, y)
    assert model.n_components_ == 2
    with pytest.warns(DataWarning, match=r"Samples vary in 1 dimension only: 1 component is used"):
        OPGDClassifierCV(n_components=2, cv=3).fit(X[:, :1] * [1.0, 2.0], y)
    with pytest.warns(DataWarning, match="Samples vary in 1 dimension"):  # nothing was selected
        OPGDClassifierCV(n_components=2, cv=3).fit(X[:, :1] * [1.0, 0.0], y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OPGDClassifierCV(n_components=[1, 3], sparsity=2, n_subclasses=1, cv=3).fit(X, y)


def test_small_classes_get_fewer_gaussians(rng):
    centers = rng.normal(size=(8, 3)) * 6
    X = np.vstack([centers[rng.integers(0, 8, 400)], np.full((12, 3), 9.0)])
    X += rng.normal(size=X.shape)
    y = np.repeat(["large", "small"], [400, 12])
    model = OPGDClassifierCV(cv=3, shrinkage=0.1, ridge=0.05).fit(X, y)
    for params in model.cv_results_["params"]:
        number = params["n_subclasses"]
        assert number == 1 or number == 2 or number["small"] <= 3


def test_one_gaussian_per_class_is_preferred_where_classes_have_one(rng):
    y = np.arange(300) % 3
    X = rng.normal(size=(300, 4)) + 2 * np.eye(3, 4)[y]
    model = OPGDClassifierCV(cv=3).fit(X, y)
    assert len(model.gaussian_classes_) == 3


@pytest.mark.parametrize("n_jobs", [2])
def test_result_does_not_depend_on_the_number_of_processes(n_jobs, wine):
    one, several = (OPGDClassifierCV((1, 2), cv=3, n_jobs=n).fit(*wine) for n in (1, n_jobs))
    assert one.best_params_ == several.best_params_
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], several.cv_results_["mean_test_score"]
    )
    np.testing.assert_allclose(
        one.predict_proba(wine[0]), several.predict_proba(wine[0]), atol=1e-8
    )
    np.testing.assert_array_equal(one.predict_proba(wine[0]), several.predict_proba(wine[0]))


# --- what is chosen ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_subclasses", [1, (1, 2)])
def test_choice_is_the_best_of_the_smallest_near_the_best(n_subclasses, wine):
    model = OPGDClassifierCV(**SMALL | {"n_subclasses": n_subclasses}, sparsity=0).fit(*wine)
    table, n = model.cv_results_, len(wine[1])
    scores, losses = table["mean_test_score"], table["mean_test_calibrated_log_loss"]
    highest = np.lexsort((losses, -scores))[0]
    share = ((1 - scores[highest]) * n + 1) / (n + 2)
    least = np.sqrt(share * (1 - share) / n)  # standard errors over splits are at least binomial
    near = scores >= scores[highest] - 0.5 * max(table["se_test_error"][highest], least)
    lowest = np.flatnonzero(near)[np.argmin(losses[near])]
    near &= losses <= losses[lowest] + 0.5 * table["se_test_log_loss"][lowest]
    candidates = np.flatnonzero(near)
    order = np.lexsort((losses[near], -scores[near], table["n_gaussians"][near]))
    assert model.best_index_ == candidates[order[0]]
    assert model.best_score_ == scores[model.best_index_]
    assert model.best_params_ == table["params"][model.best_index_]


def test_one_standard_error_takes_a_smaller_model(cancer):
    X, y = cancer
    best = OPGDClassifierCV((1, 2, 4, 8), shrinkage=0.1, ridge=0.1, **ONE_DIAGONAL).fit(X, y)
    small = clone(best).set_params(rule="one_se").fit(X, y)
    sizes = [own.cv_results_["n_parameters"][own.best_index_] for own in (best, small)]
    assert sizes[1] <= sizes[0]
    table = small.cv_results_
    spread = np.std([table[f"split{i}_test_score"][best.best_index_] for i in range(5)], ddof=1)
    assert small.best_score_ >= best.best_score_ - spread / np.sqrt(5) - 1e-12


def test_attributes_are_those_of_the_chosen_model(wine):
    X, y = wine
    model = OPGDClassifierCV(**SMALL).fit(X, y)
    inner = model.best_estimator_
    assert isinstance(inner, OPGDClassifier)
    np.testing.assert_array_equal(model.transform(X), inner.transform(X))
    np.testing.assert_array_equal(model.predict(X), inner.predict(X))
    np.testing.assert_array_equal(model.covariances_, inner.covariances_)
    np.testing.assert_array_equal(model.predict_proba(X), inner.predict_proba(X))
    assert inner.init in ("auto", "lda")
    assert clone(inner).fit(X, y)._projection.temperature == 1
    assert model.log_likelihood_ == inner.log_likelihood_
    document = inspect.getdoc(OPGDClassifierCV)
    for name in vars(model):
        if name.endswith("_") and not name.startswith("_"):
            assert name in document, name


def test_final_model_starts_from_the_components_of_a_split(cancer):
    X, y = cancer
    model = OPGDClassifierCV(3, shrinkage=0.1, ridge=0.05, cv=3, **ONE_DIAGONAL).fit(X, y)
    assert "max_iter" not in model.best_params_
    start = OPGDClassifier(**model.best_params_, max_iter=0).fit(X, y)
    assert model.log_likelihood_ > start.log_likelihood_
    assert model.converged_
    assert model.best_estimator_.init == "auto"


def test_vowel_with_the_papers_protocol(load):
    X, y, others = load("vowel")
    train = others["split"] == "train"
    model = OPGDClassifierCV(**PAPER, cv=LeaveOneGroupOut())
    model.fit(X[train], y[train], groups=others["speaker"][train])
    assert model.n_splits_ == 8
    assert model.score(X[~train], y[~train]) > 0.45


# --- probabilities ----------------------------------------------------------------------------


def test_calibration_changes_probabilities_and_only_ties(load):
    X, y, _ = load("satellite")
    X, X_test, y, y_test = train_test_split(X[:3000], y[:3000], random_state=0, stratify=y[:3000])
    settings = {"n_components": 10, "cv": 3, **PAPER}
    calibrated, raw = (
        OPGDClassifierCV(**settings, calibrate=own).fit(X, y) for own in (True, False)
    )
    assert calibrated.temperature_ > 1.1
    assert raw.temperature_ == 1
    assert (raw.background_, raw.best_estimator_._projection.background) == (0, 0)
    assert calibrated.best_params_ == raw.best_params_
    changed = calibrated.predict(X_test) != raw.predict(X_test)
    top = np.sort(calibrated.predict_proba(X_test), axis=1)[:, ::-1]
    assert np.all(top[changed, 0] - top[changed, 1] < calibrated.background_)
    assert changed.mean() < 0.005
    losses = [log_loss(y_test, own.predict_proba(X_test)) for own in (calibrated, raw)]
    assert losses[0] < losses[1]
    np.testing.assert_array_equal(
        calibrated.predict(X_test), calibrated.best_estimator_.predict(X_test)
    )


def test_prediction_is_the_most_probable_class(cancer):
    X, y = cancer
    model = OPGDClassifierCV((1, 2), cv=3, **PAPER).fit(X, y)
    assert model.background_ >= 1 / (len(y) + 2) - 1e-12
    for priors in (None, [0.9, 0.1]):
        probabilities = model.predict_proba(X, priors=priors)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        predicted = model.classes_[probabilities.argmax(axis=1)]
        np.testing.assert_array_equal(model.predict(X, priors=priors), predicted)
    odds = model.decision_function(X)
    np.testing.assert_array_equal(odds > 0, model.predict(X) == 1)


def test_given_priors_replace_the_background(cancer):
    X, y = cancer
    model = OPGDClassifierCV(2, cv=3, **PAPER).fit(X, y)
    new = np.array([0.9, 0.1])
    expected = model.predict_proba(X) * new / model.priors_  # Bayes' rule
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X, priors=new), expected, atol=1e-12)


def test_corrected_error_is_no_lower_than_the_selected_one(cancer):
    model = OPGDClassifierCV((1, 2, 4), cv=3).fit(*cancer)
    error = model.cv_results_["mean_test_error"][model.best_index_]
    assert error <= model.corrected_error_ < 0.2
    alone = OPGDClassifierCV(30, cv=3, shrinkage=0.5, ridge=0.1, n_subclasses=1)
    assert alone.fit(*cancer).corrected_error_ < 0.2


# --- splits, scores, weights, groups ----------------------------------------------------------


def test_cv_may_be_a_share_a_splitter_or_splits(wine):
    X, y = wine
    share = OPGDClassifierCV(**SMALL | {"cv": 0.3}, random_state=0).fit(X, y)
    assert share.n_splits_ == 1
    again = OPGDClassifierCV(**SMALL | {"cv": 0.3}, random_state=0).fit(X, y)
    assert again.best_params_ == share.best_params_
    splitter = StratifiedKFold(3)
    by_splitter = OPGDClassifierCV(**SMALL | {"cv": splitter}).fit(X, y)
    by_splits = OPGDClassifierCV(**SMALL | {"cv": list(splitter.split(X, y))}).fit(X, y)
    by_number = OPGDClassifierCV(**SMALL).fit(X, y)
    for own in (by_splits, by_number):
        np.testing.assert_array_equal(
            own.cv_results_["mean_test_score"], by_splitter.cv_results_["mean_test_score"]
        )


@pytest.mark.parametrize("scoring", ["neg_log_loss", "balanced_accuracy", "roc_auc_ovr"])
def test_any_scorer_can_choose(scoring, wine):
    model = OPGDClassifierCV(**SMALL, scoring=scoring).fit(*wine)
    assert np.isfinite(model.best_score_)
    assert model.score(*wine) > 0.9


def test_groups_stay_together(rng):
    X, y = rng.normal(size=(120, 3)), np.arange(120) % 2
    groups = np.arange(120) // 10
    model = OPGDClassifierCV(**SMALL | {"cv": GroupKFold(4)}).fit(X, y, groups=groups)
    assert model.n_splits_ == 4
    with pytest.raises(ValueError, match="groups"):
        OPGDClassifierCV(**SMALL | {"cv": GroupKFold(4)}).fit(X, y)
    with pytest.raises(ValueError, match="groups has 3 entries"):
        OPGDClassifierCV(**SMALL).fit(X, y, groups=[1, 2, 3])


def test_works_inside_other_estimators(wine):
    X, y = wine
    model = OPGDClassifierCV(**SMALL)
    search = GridSearchCV(model, {"rule": ["best", "one_se"]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    calibrated = CalibratedClassifierCV(model, cv=2).fit(X, y)
    assert calibrated.score(X, y) > 0.9
    frame = pd.DataFrame(X, columns=load_wine().feature_names)
    scores = clone(model).set_output(transform="pandas").fit(frame, y).transform(frame)
    assert scores.columns[0] == "opgdclassifiercv0"


def test_rows_of_weight_zero_are_no_rows(wine):
    X, y = wine
    keep = np.arange(len(y)) % 5 != 0
    weights = keep.astype(float)
    weighted = OPGDClassifierCV(**SMALL).fit(X, y, sample_weight=weights)
    without = OPGDClassifierCV(**SMALL).fit(X[keep], y[keep])
    assert weighted.best_params_ == without.best_params_
    np.testing.assert_allclose(weighted.predict_proba(X), without.predict_proba(X), atol=1e-8)
    splits = [(np.arange(0, 120), np.arange(120, 178)), (np.arange(60, 178), np.arange(0, 60))]
    model = OPGDClassifierCV(**SMALL | {"cv": splits}).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.best_score_)


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_more_columns_than_rows_can_be_chosen_for(rng):
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 100)) + np.repeat(rng.normal(size=(3, 100)), 20, axis=0)[y * 20]
    model = OPGDClassifierCV(**SMALL | {"ridge": (0.0, 0.3), "n_components": (1, 100)}).fit(X, y)
    ranks = {
        own["n_components"]
        for own in model.cv_results_["params"]
        if own["covariance_type"] == "full"
    }
    assert ranks == {59}
    assert model.score(X, y) > 0.9


def test_a_split_that_ends_early_does_not_end_the_others(rng):
    X, y = make_classification(
        200, 20, n_informative=6, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=3
    )
    model = OPGDClassifierCV(shrinkage=0.1, ridge=0.0, cv=TimeSeriesSplit(5), **ONE_DIAGONAL)
    model.fit(X, y)
    searched = [own for own in model.cv_results_["params"] if "max_iter" not in own]
    assert max(own["n_components"] for own in searched) >= 4


def test_lda_is_tried_with_all_its_axes(rng):
    y = np.repeat(np.arange(10), 20)
    X = rng.normal(size=(200, 12)) + 2 * rng.normal(size=(10, 12))[y]
    model = OPGDClassifierCV(shrinkage=0.1, ridge=0.1, cv=2).fit(X, y)
    lda = [own for own in model.cv_results_["params"] if own.get("max_iter") == 0]
    assert any(own["n_components"] == 9 and own["shrinkage"] == 1 for own in lda)
    assert any(own["covariance_type"] == "full" and own["shrinkage"] < 1 for own in lda)


@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_more_axes_than_dimensions_are_cut(wine):
    X, y = np.hstack([wine[0], np.ones((178, 2))]), wine[1]
    model = OPGDClassifierCV(14, shrinkage=0, ridge=0, cv=3).fit(X, y)
    assert model.n_components_ == 13
    assert any(own["covariance_type"] == "full" for own in model.cv_results_["params"])


def test_given_splits_may_be_lists_masks_or_fixed_with_weights(wine):
    X, y = wine
    weights = np.ones(len(y))
    weights[:10] = 0
    pairs = list(StratifiedKFold(3).split(X, y))
    lists = [(a.tolist(), b.tolist()) for a, b in pairs]
    masks = [tuple(np.isin(np.arange(178), part) for part in pair) for pair in pairs]
    fixed = PredefinedSplit(np.arange(178) % 3)
    for cv in (lists, masks, fixed):
        model = OPGDClassifierCV(**SMALL | {"cv": cv}).fit(X, y, sample_weight=weights)
        assert model.n_splits_ == 3
    empty = [(np.arange(10, 178), np.arange(10))]
    with pytest.raises(ValueError, match="no training or no test samples"):
        OPGDClassifierCV(**SMALL | {"cv": empty}).fit(X, y, sample_weight=weights)


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.filterwarnings("ignore::opgd.DataWarning")
def test_subclasses_by_label_where_a_fold_lacks_the_label():
    X, y = load_iris(return_X_y=True)
    y = y.copy()
    y[0] = 3
    model = OPGDClassifierCV(2, n_subclasses=({3: 1, 1: 2},), cv=3).fit(X, y)
    assert np.isfinite(model.best_score_)


def test_scorers_take_weights_if_they_can_and_may_fail(wine):
    X, y = wine
    weights = np.linspace(1, 2, len(y))

    def plain(estimator, X, y):
        assert estimator.n_components == len(estimator.components_)
        return estimator.score(X, y)

    model = OPGDClassifierCV(**SMALL, scoring=plain).fit(X, y, sample_weight=weights)
    assert model.best_score_ > 0.9

    def broken(estimator, X, y):
        if estimator.shrinkage == 0:
            raise ValueError("no opinion")
        return estimator.score(X, y)

    with pytest.warns(UserWarning, match="no opinion") as caught:
        model = OPGDClassifierCV(**SMALL, scoring=broken).fit(X, y)
    assert len(caught) == 1
    with pytest.raises(ValueError, match="on every split: multi_class must be in"):
        OPGDClassifierCV(**SMALL, scoring="roc_auc").fit(X, y)
    table = model.cv_results_
    nan = np.isnan(table["mean_test_score"])
    assert nan.any()
    assert table["rank_test_score"][nan].min() > table["rank_test_score"][~nan].max()
    assert model.best_params_["shrinkage"] > 0


def test_a_class_too_rare_for_every_fold(rng):
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1, 2], [19, 19, 2])
    X[y == 2] += 8
    with pytest.warns(UserWarning, match="least populated|singular"):
        model = OPGDClassifierCV(**SMALL).fit(X, y)
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert list(model.classes_) == [0, 1, 2]


def test_callbacks_count_the_paths(wine):
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    model = OPGDClassifierCV(**SMALL).set_callbacks(callback.ProgressBar())
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model.set_callbacks(callback.ProgressBar(), monitor)
    assert model.fit(*wine).score(*wine) > 0.9
    assert monitor.get_logs() is not None  # raises where nothing was scored


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_components", 0), ("n_components", (1, 99)), ("n_components", "some"),
        ("shrinkage", (0, 2)), ("shrinkage", "none"), ("ridge", -1), ("n_subclasses", (0,)),
        ("covariance_type", "tied"), ("cv", 1.5), ("cv", 1), ("cv", "five"), ("scoring", "fastest"),
        ("calibrate", "yes"), ("rule", "worst"), ("n_jobs", 0), ("verbose", -1),
        ("random_state", "seed"),
    ],
)  # fmt: skip
def test_bad_parameter_is_refused(name, value, wine):
    arguments = {name: value} if name != "random_state" else {name: value, "cv": 0.3}
    estimator = OPGDClassifierCV(**arguments)
    with pytest.raises((ValueError, TypeError)):
        estimator.fit(*wine)
    assert not hasattr(estimator, "n_features_in_")


def test_one_standard_error_needs_several_splits(wine):
    with pytest.raises(ValueError, match="at least two splits"):
        OPGDClassifierCV(**SMALL | {"cv": 0.3}, rule="one_se").fit(*wine)


def test_metadata_are_routed_to_splitter_and_scorer(wine):
    X, y = wine
    seen = []

    def score(y_true, y_pred, *, costs):
        seen.append(len(costs))
        return -np.average(y_true != y_pred, weights=costs)

    groups = np.arange(len(y)) % 6
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(score).set_score_request(costs=True)
        model = OPGDClassifierCV(**SMALL | {"cv": GroupKFold(3)}, scoring=scorer)
        model.fit(X, y, groups=groups, costs=np.linspace(1, 2, len(y)))
        assert model.n_splits_ == 3
        assert set(seen) == {np.sum(groups % 3 == part) for part in range(3)}
        with pytest.raises(TypeError, match="unexpected argument"):
            model.fit(X, y, groups=groups, prices=np.ones(len(y)))
    with pytest.raises(TypeError, match="enable_metadata_routing=True"):
        OPGDClassifierCV(**SMALL).fit(X, y, costs=np.ones(len(y)))


def test_order_of_the_splits_does_not_matter(cancer):
    X, y = cancer
    splits = list(GroupKFold(3).split(X, y, np.arange(len(y)) // 100))
    arguments = {"n_components": (1, 2), **PAPER}
    first, second = (
        OPGDClassifierCV(cv=cv, **arguments).fit(X, y) for cv in (splits, splits[::-1])
    )
    assert first.best_params_ == second.best_params_
    assert first.temperature_ == pytest.approx(second.temperature_, rel=1e-3)
    assert first.background_ == pytest.approx(second.background_, rel=1e-2)


def test_a_class_without_weight_is_no_class_in_given_splits(rng):
    cells = rng.integers(0, 3, size=(320, 2))
    X, y = 5.0 * cells + rng.normal(size=(320, 2)), cells.sum(axis=1) % 2
    y[:20] = 2
    weights = np.where(y == 2, 0.0, 1.0)
    model = OPGDClassifierCV(cv=StratifiedKFold(3)).fit(X, y, sample_weight=weights)
    assert list(model.classes_) == [0, 1]
    assert len(model.gaussian_classes_) > 2


def test_no_scorer_means_accuracy(wine):
    assert OPGDClassifierCV(**SMALL, scoring=None).fit(*wine).best_score_ > 0.9


def test_the_selected_model_is_refitted_to_other_samples(wine):
    X, y = wine
    model = OPGDClassifierCV(**SMALL).fit(X[::2], y[::2])
    table, temperature, half = model.cv_results_, model.temperature_, model.components_
    assert model.refit(X, y) is model
    expected = OPGDClassifier(**model.best_params_, init=half).fit(X, y)
    np.testing.assert_allclose(model.components_, expected.components_, rtol=1e-9)
    assert model.cv_results_ is table
    assert model.temperature_ == temperature != 1
    assert model.predict_set(X, coverage=0.9).shape == (178, 3)
    np.testing.assert_allclose(model.priors_, np.bincount(y) / 178)
    with pytest.raises(ValueError, match="both need the same classes"):
        model.refit(X[y > 0], y[y > 0])
    np.testing.assert_allclose(model.components_, expected.components_, rtol=1e-9)
