"""What holds for any table: hypothesis draws small ones and looks for one for which it does not.

The ordinary suite tries a few examples of each property, always the same; `make test-slow` tries
ten thousand in all.
"""

import math
import pickle
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from opgd import (
    OPGDClassifier,
    OPGDMixture,
    OPGDSemiSupervised,
    load_model,
    save_model,
)
from opgd.baselines import (
    MixtureDiscriminantAnalysis,
    ReducedRankLDA,
    RegularizedDiscriminantAnalysis,
    SlicedAverageVariance,
)
from tests.core import literal
from tests.core.problems import KINDS, small_objective
from tests.properties.problems import problems

QUICK_EXAMPLES = 6
SLOW_EXAMPLES = 10_000
FEW_ITERATIONS = 3
"""Searches follow the same path in other coordinates, but rounding grows along it."""
SEPARATED = -1e-4
"""Log-likelihood above which samples are separated, up to rounding."""
PROPERTIES = {}
TRIED = Counter()

pytestmark = [
    pytest.mark.filterwarnings("ignore::opgd.DataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def holds_for(**strategies):
    """Register a property; the profiles below decide how many examples are tried."""

    def register(check):
        def counted(**drawn):
            check(**drawn)
            TRIED[check.__name__] += 1

        # a test takes one profile only, so that each profile gets a test of its own
        PROPERTIES[check.__name__] = lambda: given(**strategies)(counted)
        return check

    return register


def profile(n_examples):
    return settings(
        max_examples=n_examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


def classifier(problem, **options):
    options = {"init": "lda", "max_iter": FEW_ITERATIONS} | options
    return OPGDClassifier(problem.n_components, covariance_type=problem.covariance_type, **options)


def assert_same(actual, expected, atol=1e-6):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


# --- invariances ------------------------------------------------------------------------------


@holds_for(
    problem=problems(),
    exponents=st.lists(st.integers(-9, 9), min_size=5, max_size=5),
    offset=st.sampled_from([0.0, 1.0, -1e3, 1e6]),
    ridge=st.sampled_from([0.0, 0.2]),
)
def units_and_origins_do_not_matter(problem, exponents, offset, ridge):
    X, y = problem.table()
    scale = 10.0 ** np.array(exponents[: problem.n_features])
    moved = (X + offset * X.std(axis=0)) * scale
    model = classifier(problem, ridge=ridge, shrinkage=0.1)
    expected = clone(model).fit(X, y)
    other = clone(model).fit(moved, y)
    assert_same(other.predict_proba(moved), expected.predict_proba(X), 1e-5)
    assert other.log_likelihood_ == pytest.approx(expected.log_likelihood_, rel=1e-6, abs=1e-6)


@holds_for(problem=problems(), log_condition=st.floats(0, 2))
def mixing_of_columns_does_not_matter(problem, log_condition):
    X, y = problem.table()
    left, right = (np.linalg.qr(problem.rng.normal(size=2 * X.shape[1:]))[0] for _ in range(2))
    mixed = X @ (left * np.geomspace(1, 10**log_condition, X.shape[1])) @ right
    model = classifier(problem, ridge=0.0)
    expected = clone(model).fit(X, y).predict_proba(X)
    assert_same(clone(model).fit(mixed, y).predict_proba(mixed), expected, 1e-5)


@holds_for(problem=problems())
def order_of_rows_does_not_matter(problem):
    X, y = problem.table()
    order = problem.rng.permutation(len(X))
    expected = classifier(problem).fit(X, y).predict_proba(X)
    assert_same(classifier(problem).fit(X[order], y[order]).predict_proba(X), expected)


@holds_for(problem=problems())
def names_of_classes_do_not_matter(problem):
    X, y = problem.table()
    places = problem.rng.permutation(problem.n_classes)
    expected = classifier(problem).fit(X, y)
    renamed = classifier(problem).fit(X, places[y])
    assert_same(renamed.predict_proba(X)[:, places], expected.predict_proba(X))
    np.testing.assert_allclose(renamed.priors_[places], expected.priors_)


@holds_for(problem=problems(), scale=st.sampled_from([1.0, 0.5]))
def weights_are_repeats(problem, scale):
    X, y = problem.table()
    counts = problem.rng.integers(1, 4, len(X))
    counts[problem.rng.uniform(size=len(X)) < 0.1] = 0
    counts[np.unique(y, return_index=True)[1]] = 1  # no class may disappear
    # with fewer samples a larger ridge is estimated
    model = classifier(problem, ridge="auto" if scale == 1 else 0.0)
    weighted = clone(model).fit(X, y, sample_weight=scale * counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    value = repeated.log_likelihood_
    if value > SEPARATED:  # rounding decides whether a search near the maximum moves
        assert weighted.log_likelihood_ > scale * SEPARATED
    else:
        assert_same(weighted.predict_proba(X), repeated.predict_proba(X))
        assert weighted.log_likelihood_ == pytest.approx(scale * value, rel=1e-6, abs=1e-6)


@holds_for(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    form=st.sampled_from(["diag", "full"]),
    n_components=st.integers(1, 6),
    block_rows=st.integers(1, 100),
    n_threads=st.integers(1, 3),
)
def blocks_and_threads_do_not_matter(seed, kind, form, n_components, block_rows, n_threads):
    options = {"kind": kind, "form": form, "n_subclasses": 2, "weighted": True}
    whole, parts = (
        small_objective(np.random.default_rng(seed), **options, **engine)
        for engine in ({}, {"block_rows": block_rows, "n_threads": n_threads})
    )
    # axes that are nearly collinear would magnify the rounding that blocks do differently
    at = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0][:n_components]
    (value, gradient), (other, slope) = (own.value_and_gradient(at) for own in (whole, parts))
    assert other == pytest.approx(value, rel=1e-11)
    # on all axes a full model has nothing to choose, and a gradient of rounding errors
    np.testing.assert_allclose(
        slope, gradient, rtol=1e-9, atol=1e-12 + 1e-11 * np.abs(gradient).max()
    )


@holds_for(problem=problems())
def threads_of_an_estimator_do_not_matter(problem):
    X, y = problem.table()
    one, three = (classifier(problem, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
    assert_same(three.predict_proba(X), one.predict_proba(X))


@holds_for(problem=problems())
def units_and_order_do_not_matter_to_clusters(problem):
    X, y = problem.table()
    scale = np.geomspace(1e-6, 1e6, X.shape[1])
    order = problem.rng.permutation(len(X))
    options = {"covariance_type": problem.covariance_type, "max_iter": FEW_ITERATIONS}
    if (
        problem.distance <= 2
    ):  # EM of one cluster as two passes a saddle point; rounding decides how
        options["regularization"] = 0
    expected = OPGDMixture(problem.n_classes, init=y, **options).fit(X)
    moved = OPGDMixture(problem.n_classes, init=y[order], **options).fit((X * scale + 3)[order])
    assert_same(moved.predict_proba(X * scale + 3), expected.predict_proba(X), 1e-4)


# --- answers agree with each other ------------------------------------------------------------


@holds_for(problem=problems(), distance=st.sampled_from([0.0, 10.0, 1e8]))
def answers_agree_with_each_other(problem, distance):
    X, y = problem.table()
    labels = np.array(["d", "c", "b", "a"])[y]
    model = classifier(problem).fit(X, labels)
    rows = X + distance * problem.rng.normal(size=X.shape)
    posteriors, logs = model.predict_proba(rows), model.predict_log_proba(rows)
    decision = model.decision_function(rows)
    assert_same(posteriors.sum(axis=1), 1, 1e-12)
    assert_same(posteriors, np.exp(logs), 1e-12)
    if problem.n_classes == 2:
        assert np.array_equal(decision > 0, model.predict(rows) == model.classes_[1])
        with np.errstate(over="ignore"):
            assert_same(posteriors[:, 1], 1 / (1 + np.exp(-decision)), 1e-9)
    else:
        assert np.array_equal(model.classes_[decision.argmax(axis=1)], model.predict(rows))
        np.testing.assert_allclose(
            logs, decision - decision.max(axis=1, keepdims=True) + logs.max(axis=1, keepdims=True),
            rtol=1e-9, atol=1e-9,
        )  # fmt: skip
    assert np.array_equal(model.transform(rows).shape, (len(rows), model.n_components_))
    uniform = model.predict_proba(rows, priors="uniform")
    odds = np.exp(
        logs - np.log(model.priors_) - (logs - np.log(model.priors_)).max(axis=1)[:, None]
    )
    assert_same(uniform, odds / odds.sum(axis=1, keepdims=True), 1e-9)


@holds_for(problem=problems())
def the_log_likelihood_is_that_of_the_probabilities(problem):
    X, y = problem.table()
    weights = problem.rng.uniform(0.5, 2, len(X))
    model = classifier(problem).fit(X, y, sample_weight=weights)
    own = model.predict_log_proba(X)[np.arange(len(X)), y]
    assert model.log_likelihood_ == pytest.approx(weights @ own, rel=1e-8, abs=1e-8)
    assert model.log_likelihood_ <= 1e-9
    assert model.component_log_likelihoods_[-1] == pytest.approx(model.log_likelihood_, abs=1e-6)


KEPT = [
    OPGDClassifier(init="lda", max_iter=2),
    OPGDClassifier(n_subclasses=2, covariance_type="full", ridge=0.1, max_iter=2),
    OPGDMixture(2, random_state=0, max_iter=2),
    OPGDSemiSupervised(max_iter=2, n_rounds=1),
    ReducedRankLDA(),
    RegularizedDiscriminantAnalysis(0.3, 0.1),
    SlicedAverageVariance(),
    MixtureDiscriminantAnalysis(2, max_iter=3),
]


@holds_for(problem=problems(), which=st.sampled_from(range(len(KEPT))))
def kept_models_answer_the_same(problem, which):
    X, y = problem.table()
    model = clone(KEPT[which]).fit(X, np.array([7, -3, 5, 12])[y])
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder) / "own.opgd")
        loaded = load_model(Path(folder) / "own.opgd")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict_proba(X), model.predict_proba(X))
        assert np.array_equal(other.predict(X), model.predict(X))
        assert other.get_params() == model.get_params()
    again = clone(model)
    assert not hasattr(again, "n_features_in_")
    again.fit(X, np.array([7, -3, 5, 12])[y])
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


# --- the search -------------------------------------------------------------------------------


@holds_for(problem=problems(), first=st.integers(0, 8), more=st.integers(0, 8))
def going_on_never_lowers_the_value(problem, first, more):
    X, y = problem.table()
    model = classifier(problem, warm_start=True, max_iter=first).fit(X, y)
    before = model.log_likelihood_
    assert model.set_params(max_iter=more).fit(X, y).log_likelihood_ >= before - 1e-7
    assert np.all(np.diff(model.loss_curve_) <= 1e-9)


@holds_for(problem=problems())
def all_labels_make_partly_labeled_the_classifier(problem):
    X, y = problem.table()
    options = {"init": "lda", "max_iter": FEW_ITERATIONS}
    full = OPGDClassifier(problem.n_components, **options).fit(X, y)
    partly = OPGDSemiSupervised(problem.n_components, **options).fit(X, y)
    assert_same(partly.predict_proba(X), full.predict_proba(X))


# --- the paper's formulas, in three loops -----------------------------------------------------


def class_moments(X, y):
    own = [X[y == k] for k in np.unique(y)]
    priors = [len(rows) / len(X) for rows in own]
    covariances = [np.cov(rows.T, bias=True).reshape(2 * X.shape[1:]) for rows in own]
    return priors, [rows.mean(axis=0) for rows in own], covariances


@holds_for(problem=problems())
def fits_have_the_value_of_the_literal_formula(problem):
    X, y = problem.table()
    full = problem.covariance_type == "full"
    model = classifier(problem, ridge=0.0).fit(X, y)
    V = model.components_.T
    moments = class_moments(X, y)
    expected = literal.value(X, [[k] for k in y], V, *moments, full=full)
    assert model.log_likelihood_ == pytest.approx(expected, rel=1e-7, abs=1e-7)
    joint = np.array([[literal.log_joint(x, V, *g, full=full) for g in zip(*moments, strict=True)]
                      for x in X[:5]])  # fmt: skip
    expected = joint - [[literal.logsumexp(own)] for own in joint]
    np.testing.assert_allclose(model.predict_log_proba(X[:5]), expected, rtol=1e-6, atol=1e-6)


@holds_for(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    form=st.sampled_from(["diag", "full"]),
    n_subclasses=st.integers(1, 3),
    n_components=st.integers(1, 4),
)
def value_and_gradient_are_those_of_the_literal_formula(
    seed, kind, form, n_subclasses, n_components
):
    rng = np.random.default_rng(seed)
    objective = small_objective(rng, kind, form, n_subclasses, weighted=True, n_rows=15)
    engine, moments = objective.engine, objective.moments
    members = {k: range(k * n_subclasses, (k + 1) * n_subclasses) for k in range(3)}
    numerators = [
        None if kind == "strongest" or label < 0 else members[label] for label in engine.labels
    ]

    def plain(V):
        means = moments.means + engine.center
        arguments = (moments.priors, means, moments.covariances, engine.weights)
        return literal.value(engine.X, numerators, V, *arguments, full=form == "full")

    V, step = rng.normal(size=(2, 6, n_components))
    value, gradient = objective.value_and_gradient(V.T)
    assert value * engine.total_weight == pytest.approx(plain(V), rel=1e-10)
    slope = (plain(V + 1e-6 * step) - plain(V - 1e-6 * step)) / 2e-6
    size = np.linalg.norm(gradient) * np.linalg.norm(step) * engine.total_weight
    expected = np.sum(gradient * step.T) * engine.total_weight
    assert slope == pytest.approx(expected, abs=1e-5 * size + 1e-6)


# --- profiles ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROPERTIES)
def test_property(name):
    TRIED[name] = 0
    profile(QUICK_EXAMPLES)(PROPERTIES[name]())()
    assert TRIED[name] >= QUICK_EXAMPLES


@pytest.mark.slow
@pytest.mark.parametrize("name", PROPERTIES)
def test_property_with_many_examples(name):
    n_examples = math.ceil(SLOW_EXAMPLES / len(PROPERTIES))
    TRIED[name] = 0
    profile(n_examples)(PROPERTIES[name]())()
    assert TRIED[name] >= n_examples


def test_warnings_are_errors_here():
    """Or NumPy's would pass unseen through all of the above."""
    with pytest.raises(RuntimeWarning):
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)
