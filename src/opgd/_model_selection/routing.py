"""Metadata for the splitter and the scorer of a selection."""

from inspect import signature
from typing import Any

from sklearn import get_config
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing


def make_router(estimator: Any, cv: Any, scorer: Any) -> MetadataRouter:
    """Return the routing of an estimator, its splitter, and its scorer unless that is None."""
    router = MetadataRouter(owner=type(estimator).__name__).add_self_request(estimator)
    splitter = cv if hasattr(cv, "split") else StratifiedKFold()
    splitting = MethodMapping().add(caller="fit", callee="split")
    router.add(splitter=splitter, method_mapping=splitting)
    if scorer is not None:
        scoring = MethodMapping().add(caller="fit", callee="score")
        router.add(scorer=scorer, method_mapping=scoring)
    return router


def route_metadata(
    estimator: Any, scorer: Any, params: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the metadata for the splitter ("split") and for the scorer ("score")."""
    metadata = {name: value for name, value in params.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(estimator, "fit", **metadata)
        for_scorer = routed.scorer.score if "scorer" in routed else {}
        return {"split": dict(routed.splitter.split), "score": dict(for_scorer)}
    unknown = set(metadata) - {"sample_weight", "groups"}
    if unknown:
        raise TypeError(
            f"fit got unexpected arguments {sorted(unknown)}. To pass them to the splitter or "
            "the scorer, call sklearn.set_config(enable_metadata_routing=True)."
        )
    weights = metadata.get("sample_weight")
    takes_weights = scorer is not None and "sample_weight" in signature(scorer).parameters
    return {
        "split": {"groups": metadata.get("groups")},
        "score": {"sample_weight": weights} if takes_weights and weights is not None else {},
    }
