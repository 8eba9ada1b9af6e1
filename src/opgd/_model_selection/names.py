"""Names of models by which users know them: LDA, QDA, RDA, or OPGD with its settings."""

from collections.abc import Mapping
from typing import Any


def name_model(params: Mapping[str, Any], rank: int, n_classes: int) -> str:
    """Return the name of an OPGDClassifier with these parameters.

    Full covariances on all components do not depend on the projection: such a model is regularized
    discriminant analysis (RDA), or quadratic (QDA) without regularization.

    Parameters
    ----------
    params : parameters of OPGDClassifier; `sparsity` is a number of features, or 0 for all
    rank : number of dimensions that the samples span
    n_classes : number of classes
    """
    params = {**params, "n_subclasses": _summarize_numbers(params["n_subclasses"], n_classes)}
    count = int(params["n_components"])
    rank = min(rank, params.get("sparsity") or rank)
    is_searched = params.get("max_iter") != 0
    is_pooled = params["shrinkage"] == 1
    settings = _name_settings(params)
    if params["covariance_type"] == "full" and count >= rank and not is_pooled:
        is_quadratic = params["shrinkage"] == params["ridge"] == 0 and params["n_subclasses"] == 1
        return _join(["QDA" if is_quadratic else "RDA", *_name_gaussians(params), *settings])
    components = f"{count} component" + ("s" if count != 1 else "")
    if not is_searched and is_pooled and params["n_subclasses"] == 1:
        if count >= min(rank, n_classes - 1):
            return _join(["LDA", *settings])
        return _join(["reduced-rank LDA", components, *settings])
    full = ["full covariances"] if params["covariance_type"] == "full" else []
    pooled = ["pooled covariance"] if is_pooled else full
    return _join(["OPGD", components, *_name_gaussians(params), *pooled, *settings])


def _summarize_numbers(n_subclasses: Any, n_classes: int) -> Any:
    """Return one number of Gaussians for all classes, or a range; classes not in a dict have 1."""
    if not isinstance(n_subclasses, Mapping):
        return n_subclasses
    numbers = {int(value) for value in n_subclasses.values()}
    if len(n_subclasses) < n_classes:
        numbers.add(1)
    least, most = min(numbers), max(numbers)
    return most if least == most else f"{least} to {most}"


def _name_gaussians(params: Mapping[str, Any]) -> list[str]:
    number = params["n_subclasses"]
    if number == "auto":
        return ["estimated number of Gaussians per class"]
    return [] if number == 1 else [f"{number} Gaussians per class"]


def _name_settings(params: Mapping[str, Any]) -> list[str]:
    """Return shrinkage and ridge if they are to be named, and a limited number of features."""
    shrinkage, ridge = params["shrinkage"], params["ridge"]
    names = [] if shrinkage in (0, 1) else [f"shrinkage {_format(shrinkage)}"]
    names += [] if ridge == 0 else [f"ridge {_format(ridge)}"]
    return [*names, *_name_features(params)]


def _name_features(params: Mapping[str, Any]) -> list[str]:
    number = params.get("sparsity")
    if not number:
        return []
    return [f"{number} feature{'s' if number != 1 else ''}"]


def _format(value: Any) -> str:
    return value if isinstance(value, str) else f"{float(value):g}"


def _join(parts: list[str]) -> str:
    return ", ".join(parts)
