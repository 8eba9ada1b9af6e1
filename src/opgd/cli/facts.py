"""What there is to say of a model, as plain data and as a page."""

from typing import Any

from rich.table import Table as Grid
from rich.text import Text

from opgd.cli.text import listed, shown

MOST_CLASSES = 12
SETTINGS = ["shrinkage", "ridge", "n_subclasses", "covariance_type"]


def model_facts(
    estimator: Any, training: dict[str, Any], imputation: dict[str, float] | None
) -> dict[str, Any]:
    """Plain data: of the estimator itself, and of its training if that was noted."""
    facts: dict[str, Any] = {"estimator": type(estimator).__name__}
    names = getattr(estimator, "feature_names_in_", None)
    facts["n_columns"] = int(estimator.n_features_in_)
    facts["columns"] = None if names is None else [str(name) for name in names]
    if hasattr(estimator, "n_components_"):
        facts["axes"] = int(estimator.n_components_)
    if hasattr(estimator, "component_shares_"):
        facts["axis_shares"] = estimator.component_shares_.tolist()
    if hasattr(estimator, "classes_"):
        facts["classes"] = estimator.classes_.tolist()
        facts["priors"] = estimator.priors_.tolist()
    if hasattr(estimator, "n_clusters_"):
        facts["clusters"] = int(estimator.n_clusters_)
        facts["weights"] = estimator.weights_.tolist()
    chosen = getattr(estimator, "best_estimator_", estimator)
    settings = chosen.get_params(deep=False)
    facts["settings"] = {key: _plain(settings[key]) for key in SETTINGS if key in settings}
    if hasattr(estimator, "best_params_"):
        facts["method"] = method(estimator.best_params_)
    if hasattr(estimator, "converged_"):
        facts["converged"] = bool(estimator.converged_)
    return facts | {"training": training, "imputation": imputation}


def method(params: dict[str, Any]) -> str:
    """Which of its neighbours a search has chosen."""
    if "max_iter" not in params:
        return "OPGD"
    return "RDA" if params.get("covariance_type") == "full" else "LDA"


def page(facts: dict[str, Any], heading: str) -> Grid:
    """The same for a reader."""
    grid = Grid.grid(padding=(0, 2))
    grid.title, grid.title_justify = Text(heading, style="bold"), "left"
    for key, value in _lines(facts):
        grid.add_row(Text(key, style="cyan"), Text(value))
    return grid


def _lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    training = facts["training"]
    lines = [("estimator", facts["estimator"] + _chosen(facts))]
    if isinstance(rows := training.get("rows"), int):
        out = training.get("rows_left_out")
        left = f", {out} left out" if isinstance(out, int) and out else ""
        lines.append(("rows", f"{rows}{left}"))
    names = facts["columns"]
    lines.append(("columns", f"{facts['n_columns']}" + (f": {listed(names)}" if names else "")))
    if "classes" in facts:
        target = f" of {shown(training['target'])}" if "target" in training else ""
        lines.append(("classes" + target, _groups(facts["classes"], training.get("class_counts"))))
    if "clusters" in facts:
        numbers = list(range(facts["clusters"]))
        lines.append(("clusters", _groups(numbers, training.get("cluster_sizes"))))
    if "axes" in facts:
        lines.append(("axes", f"{facts['axes']}{_shares(facts)}"))
    settings = [f"{key} {value}" for key, value in facts["settings"].items()]
    if settings:
        lines.append(("settings", shown(", ".join(settings), 200)))
    lines += _errors(training)
    if facts["imputation"] is not None:
        lines.append(("missing cells", "filled by the values of the training rows"))
    if facts.get("converged") is False:
        lines.append(("search", "not converged"))
    return lines


def _chosen(facts: dict[str, Any]) -> str:
    return f", which chose {facts['method']}" if "method" in facts else ""


def _groups(labels: list[Any], counts: Any) -> str:
    """Labels with their numbers of rows, if those are known."""
    if isinstance(counts, list) and len(counts) == len(labels):
        words = [f"{shown(own, 30)} ({count})" for own, count in zip(labels, counts, strict=True)]
    else:
        words = [shown(label, 30) for label in labels]
    more = f" and {len(words) - MOST_CLASSES} more" if len(words) > MOST_CLASSES else ""
    return f"{len(words)}: {', '.join(words[:MOST_CLASSES])}{more}"


def _shares(facts: dict[str, Any]) -> str:
    shares = facts.get("axis_shares")
    if not shares:
        return ""
    what = "objective" if "clusters" in facts else "likelihood"
    shown_shares = ", ".join(f"{100 * own:.0f} %" for own in shares[:6])
    return f" ({shown_shares}{', ...' if len(shares) > 6 else ''} of the {what} gained)"


def _errors(training: dict[str, Any]) -> list[tuple[str, str]]:
    lines = []
    if isinstance(error := training.get("error"), float):
        guess = training.get("largest_class_error")
        beside = f" (always the largest class: {guess:.3f})" if isinstance(guess, float) else ""
        lines.append(("error", f"{error:.3f}{beside}"))
    if isinstance(loss := training.get("log_loss"), float):
        lines.append(("log-loss", f"{loss:.3f}"))
    if lines and "estimated_by" in training:
        lines.append(("estimated by", shown(training["estimated_by"], 200)))
    return lines


def _plain(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    return value if isinstance(value, int | float | str | None) else str(value)
