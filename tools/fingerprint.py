"""What a version of opgd computes, to compare another version with.

    python tools/fingerprint.py values OUT.npz [PART ...]    fits with the opgd that is imported
    python tools/fingerprint.py compare OLD.npz NEW.npz      exits with 1 if any difference is over

Every parameter of the estimators occurs at least once. Signs and order of components do not count:
probabilities, log-likelihoods, densities and absolute scores are compared. The fits named "default"
depend on rules that are replaced from version to version; they are listed, not counted.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

SCALARS = (
    "log_likelihood_", "ridge_", "temperature_", "background_", "best_score_", "corrected_error_",
    "objective_", "noise_share_", "n_clusters_",
)  # fmt: skip
ARRAYS = (
    "classes_", "priors_", "weights_", "means_", "covariances_", "component_log_likelihoods_",
    "support_", "labels_",
)  # fmt: skip
CALLS = ("predict_proba", "predict", "score_samples", "typicality", "predict_set")

Fit = tuple[str, Callable[[], Any], tuple[Any, ...], dict[str, Any]]


def list_fits() -> Iterator[Fit]:
    """Yield a name, a function that makes an estimator, and the arguments of its `fit`."""
    import dask.array as da
    from sklearn.mixture import GaussianMixture
    from sklearn.model_selection import GroupKFold, KFold

    from opgd import CostSensitiveClassifier, baselines
    from opgd import OPGDClassifier as C
    from opgd import OPGDClassifierCV as V
    from opgd import OPGDMixture as M
    from opgd import OPGDSemiSupervised as S

    rng = np.random.default_rng(0)
    wine, iris, cancer = (
        load(return_X_y=True) for load in (load_wine, load_iris, load_breast_cancer)
    )
    digits = tuple(part[:600] for part in load_digits(return_X_y=True))
    X, y = wine
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    w = rng.random(len(y)) + 0.1
    names = np.array(["a", "b", "c"])[y]
    few = np.where(np.arange(len(y)) % 5, -1, y)

    fixed = {"init": "lda", "ridge": 0.1}
    q2 = lambda **more: lambda: C(2, **(fixed | more))  # noqa: E731
    yield "classifier default", lambda: C(), wine, {}
    yield "classifier default, digits", lambda: C(3), digits, {}
    for start in ("lda", "paper", "save", "pca"):
        yield f"start {start}", lambda start=start: C(2, init=start, ridge=0.1), wine, {}
    yield "start random", lambda: C(2, init="random", ridge=0.1, random_state=0), wine, {}
    yield "starts", lambda: C(2, init=("lda", "pca"), ridge=0.1), wine, {}
    yield "start array", lambda: C(init=np.eye(3, X.shape[1]), ridge=0.1), wine, {}
    yield "n_init", lambda: C(2, init="lda", n_init=3, random_state=1, ridge=0.1), wine, {}
    yield "no iteration", q2(max_iter=0), wine, {}
    yield "tol", q2(tol=1e-3), wine, {}
    yield "warm start", lambda: C(2, warm_start=True, ridge=0.1, init="lda").fit(*wine), wine, {}
    yield "the paper", lambda: C(3, init="paper", ridge=0, shrinkage=0), iris, {}
    for ridge in (0.0, 0.05, "auto"):
        yield f"ridge {ridge}", lambda ridge=ridge: C(2, init="lda", ridge=ridge), cancer, {}
    for shrinkage in (0.3, 1.0, "auto"):
        yield f"shrinkage {shrinkage}", q2(shrinkage=shrinkage), wine, {}
    yield "full", q2(covariance_type="full"), wine, {}
    for subclasses in (2, "auto", {0: 1, 1: 3}):
        yield f"subclasses {subclasses}", q2(n_subclasses=subclasses), wine, {}
    yield "full subclasses", q2(n_subclasses=2, covariance_type="full"), wine, {}
    yield "weights", q2(), wine, {"sample_weight": w}
    yield "balanced", q2(class_weight="balanced"), wine, {}
    yield "class weights", q2(class_weight={0: 2.0}), wine, {}
    yield "priors", q2(priors="uniform"), wine, {}
    yield "priors, names", q2(priors={"a": 0.2, "b": 0.3, "c": 0.5}), (X, names), {}
    yield "gaps", q2(), (gaps, y), {}
    yield "gaps, full", q2(covariance_type="full"), (gaps, y), {}
    yield "gaps, subclasses", q2(n_subclasses=2), (gaps, y), {}
    yield "few rows", q2(), (X[::9], y[::9]), {}
    yield "float32", q2(), (X.astype("f4"), y), {}
    yield "threads", lambda: C(4, n_jobs=2, **fixed), digits, {}
    yield "kept features", q2(sparsity=5), wine, {}
    yield "removed features", q2(sparsity=0.4), wine, {}
    yield "dask", q2(), (da.from_array(X, chunks=(50, 13)), y), {}

    quick = {"shrinkage": 0.1, "ridge": 0.1, "n_subclasses": 1, "covariance_type": "diag", "cv": 3}
    given = lambda **more: lambda: V(**(quick | {"sparsity": 0} | more))  # noqa: E731
    yield "selection default", lambda: V(), wine, {}
    yield "selection default, cancer", lambda: V(cv=3), cancer, {}
    yield "numbers", given(n_components=(1, 2, 3)), wine, {}
    yield "grid", given(n_components=2, shrinkage=(0, 0.3), ridge=(0.01, 0.1)), wine, {}
    yield (
        "types",
        given(n_components=2, covariance_type=("diag", "full"), n_subclasses=(1, 2)),
        wine,
        {},
    )
    yield "one_se", given(rule="one_se"), wine, {}
    yield "log-loss", given(scoring="neg_log_loss"), wine, {}
    yield "not calibrated", given(calibrate=False, n_components=2), wine, {}
    yield "validation set", given(cv=0.3, random_state=0, n_components=(1, 2)), wine, {}
    yield "groups", given(cv=GroupKFold(3), n_components=2), wine, {"groups": np.arange(len(y)) % 9}
    yield (
        "selection, weights",
        given(cv=KFold(3, shuffle=True, random_state=0)),
        wine,
        {"sample_weight": w},
    )
    yield "selection, balanced", given(class_weight="balanced", n_components=2), wine, {}
    yield "selection, gaps", given(n_components=2), (gaps, y), {}
    yield "selected features", lambda: V(2, **(quick | {"sparsity": "auto"})), wine, {}
    yield "processes", given(n_components=2, n_jobs=2), wine, {}

    centers = rng.normal(size=(3, 5)) * 4
    shapes = rng.normal(size=(3, 5, 5)) / 2 + np.eye(5)
    blobs = np.vstack([rng.normal(size=(150, 5)) @ shapes[k] + centers[k] for k in range(3)])
    holes = np.where(rng.random(blobs.shape) < 0.1, np.nan, blobs)
    noisy = np.vstack([blobs, rng.uniform(-15, 15, (30, 5))])
    truth = np.repeat(np.arange(3), 150)
    means = {"init": "kmeans", "random_state": 0}
    mix = lambda k=3, **more: lambda: M(k, **(means | more))  # noqa: E731
    yield "clusters", mix(), (blobs,), {}
    yield "clusters, full", mix(covariance_type="full"), (blobs,), {}
    yield "clusters, components", mix(n_components=3, n_init=2), (blobs,), {}
    yield "clusters, identity", mix(metric="identity", orthogonality=2.0), (blobs,), {}
    yield "clusters, the paper", mix(regularization=0, shrinkage=0, metric="identity"), (blobs,), {}
    yield "clusters, gaps", mix(), (holes,), {}
    yield "clusters, weights", mix(), (blobs,), {"sample_weight": rng.random(450) + 0.1}
    yield "clusters, labels", mix(init=truth), (blobs,), {}
    yield "clusters, responsibilities", mix(init=np.eye(3)[truth] * 0.8 + 0.2 / 3), (blobs,), {}
    yield "clusters, mixture", mix(init=GaussianMixture(3, random_state=0).fit(blobs)), (blobs,), {}
    yield "clusters, start", mix(components_init=np.eye(2, 5)), (blobs,), {}
    yield "numbers of clusters", mix((2, 3, 4), criterion="icl"), (blobs,), {}
    yield "clusters, auto", mix("auto"), (blobs,), {}
    yield "rounds", mix(n_rounds=3, max_iter=50, tol=1e-4), (blobs,), {}
    yield "merged", mix(4, merge=3), (blobs,), {}
    yield "noise", mix(noise=True), (noisy,), {}
    yield "clusters, features", mix(sparsity=3), (blobs,), {}
    yield "clusters, threads", mix(n_jobs=2), (blobs,), {}
    yield "clusters, dask", mix(), (da.from_array(blobs, chunks=(100, 5)),), {}
    yield "clusters default", lambda: M(3, random_state=0), (X,), {}
    yield "clusters default, iris", lambda: M("auto", random_state=0), (iris[0],), {}
    yield "clusters default, blobs", lambda: M(3, random_state=0), (blobs,), {}

    yield "few labels default", lambda: S(), (X, few), {}
    yield (
        "few labels",
        lambda: S(2, calibrate=False, n_rounds=2, shrinkage=0.2, **fixed),
        (X, few),
        {},
    )
    yield (
        "few labels, full",
        lambda: S(2, covariance_type="full", priors="uniform", **fixed),
        (X, few),
        {},
    )
    yield "few labels, gaps", lambda: S(2, **fixed), (gaps, few), {}
    yield (
        "all labels",
        lambda: S(2, unlabeled="none", n_init=2, random_state=0, **fixed),
        (X, names),
        {},
    )

    costs = [[0, 1, 5], [1, 0, 2], [1, 1, 0]]
    yield (
        "costs",
        lambda: CostSensitiveClassifier(C(2, **fixed), costs, reject_cost=0.3, reject_label=-1),
        wine,
        {},
    )
    for name, given_ in {
        "ReducedRankLDA": {"n_components": 1, "priors": "uniform"},
        "RegularizedDiscriminantAnalysis": {"alpha": 0.3, "gamma": 0.1},
        "SlicedAverageVariance": {"n_components": 2},
        "CommonPrincipalComponents": {"n_components": 2, "n_init": 2},
        "MixtureDiscriminantAnalysis": {"n_subclasses": 2},
    }.items():
        method = getattr(baselines, name)
        yield name, method, wine, {}
        yield f"{name}, parameters", lambda method=method, given_=given_: method(**given_), iris, {}
    yield "ReducedRankLDA, features", lambda: baselines.ReducedRankLDA(sparsity=5), wine, {}
    yield (
        "MixtureDiscriminantAnalysis, full",
        lambda: baselines.MixtureDiscriminantAnalysis(2, covariance_type="full"),
        wine,
        {},
    )


def describe(model: Any, X: Any) -> dict[str, Any]:
    """Return what a fitted estimator computes for its training samples, by name."""
    X = X.compute() if hasattr(X, "compute") else X
    out = {name: getattr(model, name) for name in SCALARS + ARRAYS if hasattr(model, name)}
    for name in CALLS:
        if hasattr(model, name):
            try:
                out[name] = getattr(model, name)(X)
            except ValueError as error:  # for example sets without held-out samples
                out[name] = type(error).__name__
    if hasattr(model, "transform"):
        out["scores"] = np.sort(np.abs(model.transform(X)), axis=1)
    if hasattr(model, "bic"):
        out["bic"] = [model.bic(X), model.aic(X), model.icl(X)]
    if hasattr(model, "selection_"):
        out |= {
            f"selection {k}": v
            for k, v in model.selection_.items()
            if np.asarray(v).dtype.kind == "f"
        }
    return {name: np.asarray(value) for name, value in out.items()}


def write_values(path: str, parts: list[str]) -> None:
    """Fit everything, and store what was computed."""
    warnings.simplefilter("ignore")
    values: dict[str, Any] = {}
    for name, make, arguments, options in list_fits():
        if parts and not any(name.startswith(part) for part in parts):
            continue
        try:
            found = describe(make().fit(*arguments, **options), arguments[0])
        except Exception as error:  # a parameter that one version lacks is no difference
            print(f"{name}: {type(error).__name__}: {str(error)[:90]}")
            continue
        values |= {f"{name}/{key}": value for key, value in found.items()}
    np.savez_compressed(path, **values)
    print(f"{len(values)} values of {len({key.split('/')[0] for key in values})} fits")


def compute_difference(a: Any, b: Any) -> float:
    """Return the largest difference relative to the size of the array."""
    if a.shape != b.shape or a.dtype.kind not in "biuf" or b.dtype.kind not in "biuf":
        return 0.0 if np.array_equal(a, b) else np.inf
    a, b = a.astype(float), b.astype(float)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return np.inf
    a, b = (np.where(np.isfinite(v), v, 0.0) for v in (a, b))
    return float(
        np.max(np.abs(a - b), initial=0.0) / max(float(np.max(np.abs(a), initial=0.0)), 1e-300)
    )


def compare(old_path: str, new_path: str, rtol: float) -> bool:
    """Print differences, and return whether a value that is not of a default differs by more."""
    old, new = np.load(old_path), np.load(new_path)
    over, counted, worst = 0, 0, 0.0
    for name in old.files:
        if name not in new.files:
            print(f"only in the first: {name}")
            continue
        difference = compute_difference(old[name], new[name])
        is_default = "default" in name
        over += difference > rtol and not is_default
        if not is_default:
            counted += 1
            worst = max(worst, difference)
        if difference > rtol:
            print(f"{name}: {difference:.1e}{' (a default)' if is_default else ''}")
    fits = {name.split("/")[0] for name in old.files if name in new.files}
    print(
        f"{counted} values compared, of {len(fits)} fits with the defaults; "
        f"largest difference {worst:.1e}, {over} over {rtol:g}"
    )
    return bool(over)


def main() -> None:
    """Write or compare values."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    values = commands.add_parser("values")
    values.add_argument("out")
    values.add_argument("parts", nargs="*", help="beginnings of names of fits; default: all")
    both = commands.add_parser("compare")
    both.add_argument("old")
    both.add_argument("new")
    both.add_argument("--rtol", type=float, default=1e-12)
    given = parser.parse_args()
    if given.command == "values":
        write_values(given.out, given.parts)
    else:
        sys.exit(compare(given.old, given.new, given.rtol))


if __name__ == "__main__":
    main()
