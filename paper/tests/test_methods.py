"""The seven methods: what each is by its formula, and what the paper says of it."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from scipy.stats import norm
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import parametrize_with_checks

from opgd import OPGDClassifier
from opgd.baselines import ReducedRankLDA
from opgd_paper.datasets import load_dataset
from opgd_paper.methods import (
    AlternatingComponents,
    FlexibleDiscriminantAnalysis,
    GaussianMixturePursuit,
    InformativeComponents,
    KernelDiscriminantAnalysis,
    KernelNaiveBayes,
    LikelihoodRatioPursuit,
)
from opgd_paper.methods._support import AxisGaussians, maximize
from opgd_paper.methods.alternating import HeldObjective
from opgd_paper.methods.densities import CommonVariance, GaussianDensities, KernelDensities
from opgd_paper.methods.informative import (
    CenterLikelihood,
    KernelLikelihood,
    KernelSamples,
    SpanLikelihood,
)
from opgd_paper.methods.kernel import FACTORS, leave_one_out_likelihoods, reference_bandwidth
from opgd_paper.methods.mixture_densities import (
    MixtureDensities,
    MixturePoint,
    slopes_through_parameters,
)
from opgd_paper.methods.pursuit import LikelihoodRatio

FAMILY = [
    FlexibleDiscriminantAnalysis(),
    KernelDiscriminantAnalysis(),
    KernelNaiveBayes(),
    LikelihoodRatioPursuit(max_iter=5),
    GaussianMixturePursuit(1, max_iter=1),
    InformativeComponents(),
    InformativeComponents(centers="samples"),
    AlternatingComponents(max_iter=5),
]
CHECKED = [
    FlexibleDiscriminantAnalysis(),
    FlexibleDiscriminantAnalysis(basis="polynomial", degree=2),
    KernelDiscriminantAnalysis(),
    KernelNaiveBayes(0.5),
    LikelihoodRatioPursuit(density="gaussian"),
    GaussianMixturePursuit(2, n_subclasses=1, max_iter=1),
    InformativeComponents(),
    AlternatingComponents(max_iter=5),
]
EVERY = pytest.mark.parametrize("method", FAMILY, ids=lambda method: type(method).__name__)
pytestmark = [
    pytest.mark.filterwarnings("ignore::opgd.DataWarning"),
    pytest.mark.filterwarnings("ignore:The pooled covariance of the classes is singular"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def cosine(one, other):
    return abs(one @ other) / np.linalg.norm(one) / np.linalg.norm(other)


def falls(model):
    """Iterations at which the classification likelihood fell."""
    return int(np.sum(np.diff(model.loss_curve_) > 0))


def slope_and_difference(function, at, step, size=1e-6):
    """Slope along a step by the gradient, and by central differences."""
    difference = function(at + size * step)[0] - function(at - size * step)[0]
    return np.sum(function(at)[1] * step), difference / (2 * size)


def test_pursuit_with_one_variance_finds_the_axis_of_lda(wine):
    X, y = wine
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    pursuit = LikelihoodRatioPursuit(2, density="common").fit(X, y)
    for axis, scaling in zip(pursuit.components_, lda.scalings_.T, strict=False):
        assert cosine(axis * X.std(axis=0), scaling * X.std(axis=0)) > 0.999


def test_search_with_one_variance_finds_the_axis_of_lda_from_anywhere(wine, rng):
    X, y = wine
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(Z, y).scalings_[:, 0]
    ratio = LikelihoodRatio([Z[y == k] for k in range(3)], CommonVariance())
    for start in rng.normal(size=(3, 1, 13)):
        assert cosine(start[0], lda) < 0.9
        found = maximize(ratio.value_and_gradient, start, max_iter=500, tol=1e-6).directions[0]
        assert cosine(found, lda) > 0.999


def test_pursuit_with_one_variance_has_the_value_of_the_anova_statistic(iris):
    X, y = iris
    pursuit = LikelihoodRatioPursuit(1, density="common").fit(X, y)
    scores = pursuit.transform(X)[:, 0]
    within = np.mean([scores[y == k].var() for k in range(3)])
    assert pursuit.log_ratios_[0] == pytest.approx((scores.var() / within - 1) / 2, rel=1e-6)


def test_flexible_discriminant_with_a_linear_basis_is_lda(wine):
    X, y = wine
    flexible = FlexibleDiscriminantAnalysis(basis="linear", ridge=0).fit(X, y)
    lda = ReducedRankLDA().fit(X, y)
    assert flexible.predict_proba(X) == pytest.approx(lda.predict_proba(X), abs=1e-9)
    assert np.array_equal(flexible.predict(X), LinearDiscriminantAnalysis().fit(X, y).predict(X))
    centered = [own - own.mean(axis=0) for own in (flexible.transform(X), lda.transform(X))]
    assert np.max(subspace_angles(*centered)) < 1e-6


def test_flexible_discriminant_with_a_ridge_is_penalized_lda(wine):
    X, y = wine
    model = FlexibleDiscriminantAnalysis(basis="linear", ridge=0.3).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    means = np.array([Z[y == k].mean(axis=0) for k in range(3)])
    penalized = np.cov((Z - means[y]).T, ddof=0) + 0.3 * np.eye(13)
    steps = Z[:, None] - means
    logs = -0.5 * np.einsum("nki,ij,nkj->nk", steps, np.linalg.inv(penalized), steps)
    expected = model.priors_ * np.exp(logs - logs.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    assert model.predict_proba(X) == pytest.approx(expected, abs=1e-9)
    scores = model.transform(X) - model.projected_means_[y]
    penalty = 0.3 * model.coefficients_ @ model.coefficients_.T
    assert np.cov(scores.T, ddof=0) + penalty == pytest.approx(np.eye(2), abs=1e-9)


def test_kernel_naive_bayes_beats_gaussian_naive_bayes_on_two_modes(rng):
    stripes = rng.integers(4, size=800)  # two modes of either class, in turn
    y = stripes % 2
    X = np.column_stack([stripes, np.zeros(800)]) + 0.25 * rng.normal(size=(800, 2))
    kernels, gaussians = (
        1 - own.fit(X[:300], y[:300]).score(X[300:], y[300:])
        for own in (KernelNaiveBayes(), GaussianNB())
    )
    assert kernels < 0.1
    assert gaussians > 0.25


@pytest.mark.parametrize("n_components", [2, 3, 5])
def test_alternation_lowers_the_likelihood_on_vowel_and_opgd_never_does(data, n_components):
    vowel = load_dataset("vowel")
    X, y = vowel.data, vowel.target
    alternating = AlternatingComponents(n_components).fit(X, y)
    own = OPGDClassifier(n_components).fit(X, y)
    assert falls(alternating) >= 30
    assert falls(own) == 0
    assert min(alternating.loss_curve_) > own.loss_curve_[-1]
    assert alternating.loss_curve_[-1] > min(alternating.loss_curve_)


def test_curve_of_the_alternation_is_the_objective_of_the_paper(iris):
    X, y = iris
    model = AlternatingComponents(2, max_iter=3, tol=1e-12).fit(X, y)
    same = OPGDClassifier(2, init=model.components_, ridge=0.0, max_iter=0).fit(X, y)
    assert same.log_likelihood_ == pytest.approx(model.log_likelihood_)
    assert -model.loss_curve_[-1] * len(X) == pytest.approx(model.log_likelihood_)


@pytest.mark.parametrize("unlabeled", [None, -1])
def test_alternation_ends_with_the_mixtures_of_its_curve(iris, unlabeled, rng):
    X, y = iris
    if unlabeled is not None:
        y = np.where(rng.random(150) < 0.5, unlabeled, y)
    settings = {"n_subclasses": 2, "max_iter": 4, "unlabeled": unlabeled}
    model = AlternatingComponents(2, **settings).fit(X, y)
    assert -model.loss_curve_[-1] * len(X) == pytest.approx(model.log_likelihood_)
    assert np.array_equal(model.classes_, [0, 1, 2])
    known = y >= 0
    log_posteriors = np.log(model.predict_proba(X))
    if unlabeled is None:
        assert log_posteriors[np.arange(150), y].sum() == pytest.approx(model.log_likelihood_)
    assert model.score(X[known], y[known]) > 0.9


def test_em_of_the_alternation_increases_the_likelihood_of_the_scores(iris):
    X, y = iris
    model = AlternatingComponents(2, n_subclasses=3, max_iter=2).fit(X, y)
    start = AlternatingComponents(2, n_subclasses=3, max_iter=2, n_em_steps=1).fit(X, y)

    def likelihood(fitted):
        scores, logs = fitted.transform(X), 0.0
        weights = np.exp(fitted._gaussians.log_weights)
        for k in range(3):
            own = [
                weight * norm.pdf(scores[y == k], mean, np.sqrt(variance)).prod(axis=1)
                for weight, mean, variance, code in zip(
                    weights,
                    fitted.projected_means_,
                    fitted.projected_variances_,
                    fitted.gaussian_classes_,
                    strict=True,
                )
                if code == k
            ]
            logs += np.log(np.sum(own, axis=0)).sum()
        return logs

    assert likelihood(model) > likelihood(start)


def test_unlabeled_samples_help_where_labels_are_few(rng):
    X, y = rng.normal(size=(300, 4)), np.arange(300) % 3
    X[:, :2] += 4 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    partly = np.where(np.arange(300) < 15, y, -1)
    without = AlternatingComponents(2, max_iter=5).fit(X[:15], y[:15])
    with_unlabeled = AlternatingComponents(2, max_iter=5, unlabeled=-1).fit(X, partly)
    assert with_unlabeled.score(X, y) > max(0.93, without.score(X, y))


def ratios(X, y, components):
    """The two sides of eq. 5, as means over rows; Gaussians, independent on the axes."""
    codes, scores = np.unique(y, return_inverse=True)[1], X @ components.T
    own = np.eye(codes.max() + 1, dtype=bool)[codes]
    logs = np.stack(
        [
            norm.logpdf(scores, scores[codes == k].mean(axis=0), scores[codes == k].std(axis=0))
            for k in range(codes.max() + 1)
        ],
        axis=1,
    )  # (n, K, q)
    log_priors = np.log(own.mean(axis=0))
    by_axis = logs[own] - np.logaddexp.reduce(log_priors[:, None] + logs, axis=1)
    product = np.mean(log_priors[codes] + by_axis.sum(axis=1))
    joint = log_priors + logs.sum(axis=2)
    return product, np.mean(joint[own] - np.logaddexp.reduce(joint, axis=1))


@pytest.mark.parametrize("n_components", [2, 3])
def test_product_of_ratios_is_not_the_joint_ratio(wine, n_components):
    X, y = wine
    pursuit = LikelihoodRatioPursuit(n_components, density="gaussian").fit(X, y)
    product, joint = ratios(X, y, pursuit.components_)
    assert product > 0 > joint  # the product is more than certain
    assert ratios(X, y, pursuit.components_[:1])[0] == pytest.approx(
        ratios(X, y, pursuit.components_[:1])[1]
    )


@pytest.mark.parametrize("name", ["wine", "vowel"])
@pytest.mark.parametrize("n_components", [2, 3])
def test_forward_pursuit_loses_to_opgd_with_as_many_axes(data, name, n_components):
    table = load_dataset(name)
    X, y = table.data, table.target
    pursuit = LikelihoodRatioPursuit(n_components, density="gaussian").fit(X, y)
    own = OPGDClassifier(n_components, ridge=0.0).fit(X, y)
    joint = ratios(X, y, pursuit.components_)[1]
    assert joint < own.log_likelihood_ / len(X) - 0.01
    settings = {"init": pursuit.components_, "ridge": 0.0, "max_iter": 0}
    likelihood = OPGDClassifier(n_components, **settings).fit(X, y)
    assert joint == pytest.approx(likelihood.log_likelihood_ / len(X))


def classes_of(rng):
    sizes, n_features = (30, 25, 40), 4
    return [rng.normal(k, 1 + k, (n, n_features)) for k, n in enumerate(sizes)]


@pytest.mark.parametrize(
    ("kind", "tolerance"),
    [
        (CommonVariance(), 1e-6),
        (GaussianDensities(np.zeros(3)), 1e-6),
        (GaussianDensities(np.array([0, 0.3, 1.0])), 1e-6),
        (KernelDensities(np.zeros(3)), 1e-6),
        (KernelDensities(np.array([0, 0.3, 1.0]), 0.5), 1e-6),
        (MixtureDensities(1, np.zeros(3)), 1e-4),
        (MixtureDensities(1, np.zeros(3), "pooled"), 1e-4),
    ],
    ids=str,
)
def test_gradient_of_the_ratio_agrees_with_differences(kind, tolerance, rng):
    function = LikelihoodRatio(classes_of(rng), kind)
    at, step = rng.normal(size=(2, 1, 4))
    slope, difference = slope_and_difference(function.value_and_gradient, at, step)
    assert slope == pytest.approx(difference, rel=tolerance, abs=1e-7)
    assert function.value_and_gradient(3 * at)[0] == pytest.approx(
        function.value_and_gradient(at)[0]
    )


def test_ratio_of_kernels_leaves_every_row_out(rng):
    groups = [np.append(rng.normal(size=30), 40.0), rng.normal(2, 2, size=50)]
    everything = np.concatenate(groups)

    def left_out(z):
        width = 1.0592 * z.std() * len(z) ** -0.2
        others = [norm.pdf(z[i], np.delete(z, i), width).mean() for i in range(len(z))]
        return np.log(others).sum()

    expected = sum(map(left_out, groups)) - left_out(everything)
    ratio = KernelDensities(np.zeros(2)).log_ratio(groups)[0]
    assert ratio == pytest.approx(expected, rel=1e-3)


def test_kernels_find_no_difference_between_equal_classes(rng):
    groups = [rng.normal(size=60) for _ in range(8)]
    ratio = KernelDensities(np.zeros(8), 0.3).log_ratio(groups)[0] / 480
    assert ratio < 0.0  # the densities of classes have fewer samples


def test_moved_rows_are_alike_along_the_axis_and_the_same_across_it(rng):
    before = LikelihoodRatio(classes_of(rng), KernelDensities(np.zeros(3), 0.2))
    axis = np.array([0.6, 0.8, 0, 0])
    after = before.without(axis)
    for old, new in zip(before.classes, after.classes, strict=True):
        scores = new @ axis
        assert abs(scores.mean()) < 0.1
        assert abs(scores.std() - 1) < 0.15
        across = np.eye(4) - np.outer(axis, axis)
        assert new @ across == pytest.approx(old @ across)
    assert after.value_and_gradient(axis[None])[0] < 0.2 * before.value_and_gradient(axis[None])[0]


def test_mixtures_see_two_modes(rng):
    scores = np.concatenate([rng.normal(-3, 1, 200), rng.normal(3, 1, 200)])
    other = rng.normal(0, 3, 400)
    first, _ = MixtureDensities(2, np.zeros(2)).densities([scores, other])
    assert np.sort(first.means) == pytest.approx([-3, 3], abs=0.3)
    assert first.deviations == pytest.approx([1, 1], abs=0.2)
    assert first.weights == pytest.approx([0.5, 0.5], abs=0.02)


def test_mixture_of_classes_is_a_better_null_than_one_mixture(rng):
    groups = [rng.normal(4 * k, 1, 60) for k in range(6)]  # six classes, two Gaussians each
    value, _ = MixtureDensities(2, np.zeros(6)).log_ratio(groups)
    pooled, _ = MixtureDensities(2, np.zeros(6), "pooled").log_ratio(groups)
    assert value / 360 < np.log(6) < pooled / 360 + 0.2  # log 6: certain of all classes
    same = [rng.normal(size=60) for _ in range(6)]
    assert 0 < MixtureDensities(1, np.zeros(6)).log_ratio(same)[0] / 360 < 0.05


def test_gradient_of_the_ratio_of_two_modes_agrees_with_differences(rng):
    modes = 8 * (np.arange(80) % 2)[:, None] * [1, 1, 0]
    classes = [rng.normal(k, 1, (80, 3)) + modes for k in (0, 2)]
    function = LikelihoodRatio(classes, MixtureDensities(2, np.zeros(2)))
    at, step = np.array([[1.0, 0.8, 0.1]]), rng.normal(size=(1, 3))
    slope, difference = slope_and_difference(function.value_and_gradient, at, step, 1e-4)
    assert slope == pytest.approx(difference, rel=0.02)


def test_slopes_of_parameters_agree_with_refitting(rng):
    scores = np.concatenate([rng.normal(-3, 1, 100), rng.normal(3, 1, 80)])
    step = rng.normal(size=180)
    mixtures = MixtureDensities(2, np.zeros(1))
    size, target = 1e-3, rng.normal(size=6)

    def parameters(z):
        fitted = mixtures.densities([z])[0]
        return np.concatenate([np.log(fitted.weights), fitted.means, fitted.deviations**2])

    ends = [parameters(scores + sign * size * step) for sign in (1, -1)]
    difference = (ends[0] - ends[1]) / (2 * size)
    target[:2] -= target[:2].mean()  # logits are known up to a constant
    point = MixturePoint(mixtures.densities([scores])[0], scores)
    slopes = slopes_through_parameters(point, target, np.arange(6))
    assert slopes @ step == pytest.approx(target @ difference, rel=0.02)


def test_mixture_pursuit_finds_the_axis_with_two_modes(rng):
    X, y = rng.normal(size=(400, 4)), np.arange(400) % 2
    X[y == 1, 2] += 3 * rng.choice([-1, 1], size=200)
    X[y == 0, 2] *= np.sqrt(10)  # the same variance: Gaussians see nothing
    axis = GaussianMixturePursuit(1).fit(X, y).components_[0]
    assert cosine(axis, np.eye(4)[2]) > 0.97


def test_bandwidth_leaves_every_row_out(rng):
    rows = np.vstack([rng.normal(size=(40, 2)), [[30, 30]]])  # one far from all others
    widths = np.array([0.1, 0.4])

    def left_out(i, width):
        density = KernelDensity(bandwidth=width).fit(np.delete(rows, i, axis=0))
        return density.score_samples(rows[[i]])[0]

    expected = [np.mean([left_out(i, width) for i in range(41)]) for width in widths]
    logs = leave_one_out_likelihoods(rows, widths, 0.2) - np.log(2 * np.pi)
    assert logs == pytest.approx(expected)


def test_bandwidths_in_many_dimensions_are_not_the_smallest(rng):
    X, y = rng.normal(size=(400, 30)), np.arange(400) % 2
    X[y == 1, :5] += 1.2
    model = KernelDiscriminantAnalysis().fit(X[:200], y[:200])
    assert model.bandwidths_.min() > 0.6
    best = KernelDiscriminantAnalysis(0.8).fit(X[:200], y[:200]).score(X[200:], y[200:])
    assert model.score(X[200:], y[200:]) > best - 0.03


def test_bandwidths_of_rounded_features_are_not_the_smallest(iris):
    X, y = iris
    model = KernelNaiveBayes().fit(X, y)
    references = reference_bandwidth(50, 1) * np.array([X[y == k].std(axis=0) for k in range(3)])
    factors = model.bandwidths_ / references
    assert factors.min() > FACTORS[3]
    assert factors.max() < FACTORS[-2]


def test_kernel_discriminant_follows_its_formula(iris):
    X, y = iris
    model = KernelDiscriminantAnalysis(0.5).fit(X, y)
    within = np.mean([np.cov(X[y == k].T, ddof=0) for k in range(3)], axis=0)
    precision = np.linalg.inv(within) / 0.5**2
    steps = X[:, None] - X
    kernels = np.exp(-0.5 * np.einsum("ijp,pq,ijq->ij", steps, precision, steps))
    joint = np.stack([kernels[:, y == k].sum(axis=1) for k in range(3)], axis=1)
    expected = joint / joint.sum(axis=1, keepdims=True)
    assert model.predict_proba(X) == pytest.approx(expected, abs=1e-9)


def test_wide_kernels_of_naive_bayes_follow_their_formula(iris):
    X, y = iris
    model = KernelNaiveBayes(0.5).fit(X, y)
    joint = np.ones((len(X), 3))
    for k in range(3):
        for j in range(4):
            own = norm.pdf(X[:, [j]], X[y == k, j], model.bandwidths_[k, j])
            joint[:, k] *= own.mean(axis=1)
    assert model.predict_proba(X) == pytest.approx(joint / joint.sum(axis=1, keepdims=True))


def test_splines_bend_where_lda_cannot(rng):
    X, y = rng.normal(size=(400, 2)), np.zeros(400, dtype=int)
    y[np.abs(X[:, 0]) > 0.7] = 1  # on both sides
    assert FlexibleDiscriminantAnalysis().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.93
    assert ReducedRankLDA().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) < 0.65


def test_isotropic_gaussians_on_all_axes_are_lda(wine):
    X, y = wine
    informative = InformativeComponents(13).fit(X, y)
    assert informative.predict_proba(X) == pytest.approx(
        ReducedRankLDA().fit(X, y).predict_proba(X), abs=1e-8
    )


def test_informative_axes_beat_those_of_lda_in_their_own_objective(data):
    vowel = load_dataset("vowel")
    X, y = vowel.data, vowel.target
    model = InformativeComponents(2).fit(X, y)
    start = InformativeComponents(2, max_iter=0).fit(X, y)
    assert model.log_likelihood_ > start.log_likelihood_ + 1
    assert np.diff(model.loss_curve_).max() <= 0
    logs = np.log(model.predict_proba(X)[y[:, None] == model.classes_]).sum()
    assert logs == pytest.approx(model.log_likelihood_)


def test_probabilities_are_those_of_the_kernels(iris):
    X, y = iris
    model = InformativeComponents(2, centers="samples", variance=0.5, priors="uniform")
    model.fit(X[:120], y[:120])
    scores = model.transform(X)
    squares = np.sum((scores[:, None] - scores[:120]) ** 2, axis=2)
    kernels = np.exp(-0.5 * squares / 0.5)
    joint = np.stack([kernels[:, y[:120] == k].mean(axis=1) for k in range(3)], axis=1)
    expected = joint / joint.sum(axis=1, keepdims=True)
    assert model.predict_proba(X) == pytest.approx(expected, abs=1e-9)


def test_samples_find_a_component_that_means_do_not(rng):
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 4))
    # stripes of both classes in turn
    X[:, 2] = 0.25 * X[:, 2] + rng.integers(2, size=400) * 4 + 2 * y - 3
    means = InformativeComponents(1).fit(X[:200], y[:200])
    samples = InformativeComponents(1, centers="samples").fit(X[:200], y[:200])
    assert samples.score(X[200:], y[200:]) > 0.95
    assert means.score(X[200:], y[200:]) < 0.85
    assert samples.variance_ < 0.2


def test_subclasses_are_refused_with_samples(iris):
    with pytest.raises(ValueError, match="n_subclasses must be 1"):
        InformativeComponents(centers="samples", n_subclasses=2).fit(*iris)


@pytest.mark.parametrize("kind", ["means", "samples", "held"])
def test_gradients_of_the_likelihoods_agree_with_differences(kind, rng):
    codes = np.repeat(np.arange(3), (20, 15, 1))
    Z = rng.normal(size=(36, 4)) + codes[:, None]
    classes, log_weights = np.array([0, 0, 1, 2]), np.log([0.2, 0.3, 0.3, 0.2])
    if kind == "means":
        means = rng.normal(size=(4, 4))
        function = SpanLikelihood(CenterLikelihood(Z, codes, means, log_weights, classes, 0.7))
    elif kind == "samples":
        samples = KernelSamples(Z, codes, rng.normal(size=3))
        function = SpanLikelihood(KernelLikelihood(samples, samples.batch(20), 0.3))
    else:
        means, variances = rng.normal(size=(4, 2)), rng.uniform(0.5, 2, size=(4, 2))
        gaussians = AxisGaussians(log_weights, means, variances, classes)
        function = HeldObjective(Z, np.where(np.arange(36) % 2, codes, -1), gaussians)
    slope, difference = slope_and_difference(function, *rng.normal(size=(2, 2, 4)))
    assert slope == pytest.approx(difference, rel=1e-6)


def test_value_of_kernels_is_that_of_the_formula(rng):
    codes = np.repeat(np.arange(3), (20, 15, 1))
    samples = KernelSamples(rng.normal(size=(36, 4)), codes, rng.normal(size=3))
    axes = np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    scores, logs = samples.Z @ axes.T, 0.0
    for i in range(35):  # the only sample of the last class has no other kernel
        kernels = np.exp(samples.log_ratios)[codes] * (np.arange(36) != i)
        kernels *= norm.pdf(scores, scores[i], np.sqrt(0.3)).prod(axis=1)
        logs += np.log(kernels[codes == codes[i]].sum() / kernels.sum())
    value = KernelLikelihood(samples, np.arange(36), 0.3).value_and_gradient(axes)[0]
    assert value == pytest.approx(logs / 36)


# what every classifier does


@parametrize_with_checks(CHECKED)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@EVERY
def test_units_and_origins_of_features_do_not_matter(method, iris):
    X, y = iris
    expected = clone(method).fit(X, y).predict_proba(X)
    moved = X * [1e-3, 1, 10, 1e4] + [5, -100, 0, 1e5]
    assert clone(method).fit(moved, y).predict_proba(moved) == pytest.approx(expected, abs=1e-4)


@EVERY
def test_priors_change_posteriors(method, iris):
    X, y = iris
    words = np.array(["a", "b", "c"])[y]
    model = clone(method).set_params(priors=[0.01, 0.01, 0.98]).fit(X[:, [2]], words)
    usual = clone(method).fit(X[:, [2]], words)
    assert model.predict_proba(X[:, [2]])[:, 2].mean() > usual.predict_proba(X[:, [2]])[:, 2].mean()
    with pytest.raises(ValueError, match="priors must be 3 positive numbers"):
        clone(method).set_params(priors=[0.5, 0.5]).fit(X, words)


@EVERY
def test_constant_features_single_samples_and_few_samples(method, iris):
    X, y = iris
    few = np.r_[0:20, 50:53, 100]  # 20, 3 and 1 samples
    hostile = np.column_stack([X[few], np.ones(len(few)), X[few, 0]])
    model = clone(method).fit(hostile, y[few])
    assert np.all(np.isfinite(model.predict_proba(hostile)))
    assert model.score(hostile, y[few]) > 0.7
