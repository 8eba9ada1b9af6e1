"""From the argument `estimators` of compare() to classifiers by name."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from sklearn.base import is_classifier

from opgd.comparison.methods import (
    NOT_BY_DEFAULT,
    OURS,
    all_estimators,
    paper_estimators,
    usual_estimators,
)

SETS = ("usual", "paper", "all")
EXPECTED = "None, 'usual', 'paper', 'all', a list of names and classifiers, or a dict"


def select_estimators(estimators: Any, n_features: int, inner_cv: Any) -> dict[str, Any]:
    """Return classifiers by name; `compare` documents the argument."""
    if isinstance(estimators, Mapping):
        return _check_classifiers(dict(estimators))
    available = all_estimators(n_features, inner_cv)
    if estimators is None or (isinstance(estimators, str) and estimators in SETS):
        return {name: available[name] for name in list_methods(estimators)}
    if isinstance(estimators, str) or not isinstance(estimators, Iterable):
        raise TypeError(f"estimators must be {EXPECTED}, got {estimators!r}.")
    selected: dict[str, Any] = {}
    for entry in estimators:
        if isinstance(entry, str):
            name = match_name(entry, available)
            selected[name] = available[name]
        else:
            name = type(entry).__name__
            if name in selected:
                raise ValueError(
                    f"estimators has several classifiers of type {name}; pass a dict with names."
                )
            selected[name] = entry
    return _check_classifiers(selected)


def list_methods(which: str | None = None) -> list[str]:
    """Return the names of a set of methods: None for the default, "usual", "paper" or "all"."""
    usual = [OURS, *usual_estimators(2, 2)]
    if which is None:
        return [name for name in usual if name not in NOT_BY_DEFAULT]
    others = {"paper": paper_estimators, "all": all_estimators}
    return usual if which == "usual" else list(others[which](2, 2))


def match_name(text: str, known: Iterable[str]) -> str:
    """Return the known name that equals the text up to case, spaces and punctuation."""
    names = {_simplify(name): name for name in known}
    simple = _simplify(text)
    if simple in names:
        return names[simple]
    similar = get_close_matches(simple, names, n=1, cutoff=0.6)
    similar += [key for key in names if simple and (simple in key or key in simple)]
    hint = f" Did you mean {names[similar[0]]!r}?" if similar else ""
    raise ValueError(
        f"Unknown method {text!r}.{hint} Known methods are: {'; '.join(names.values())}."
    )


def _simplify(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def _check_classifiers(estimators: dict[str, Any]) -> dict[str, Any]:
    if not estimators:
        raise ValueError("estimators is empty; pass at least one estimator.")
    others = [
        name
        for name, model in estimators.items()
        if not hasattr(model, "fit") or not is_classifier(model)
    ]
    if others:
        raise TypeError(f"All estimators must be classifiers, but these are not: {others}.")
    return estimators
