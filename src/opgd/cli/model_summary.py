"""Summaries of models, as plain data and as text for the terminal."""

from typing import Any

from rich.console import Group
from rich.table import Table as Grid
from rich.text import Text

from opgd.cli.console import Terminal, list_names, make_console, sanitize

MAX_CLASSES = 12
MAX_USED = 50
"""Maximum number of columns that a model uses and that are listed."""
SETTINGS = ["shrinkage", "ridge", "n_subclasses", "covariance_type"]


def collect_facts(
    estimator: Any,
    training: dict[str, Any],
    fill_values: dict[str, float] | None,
    encoder: Any = None,
) -> dict[str, Any]:
    """Return plain data that describe the estimator, its encoder and its training."""
    from opgd.inspection.estimators import name_fitted_model
    from opgd.inspection.feature_selection import has_selected_features

    facts: dict[str, Any] = {"estimator": type(estimator).__name__}
    names = getattr(estimator, "feature_names_in_", None)
    facts["n_columns"] = int(estimator.n_features_in_)
    facts["columns"] = None if names is None else [str(name) for name in names]
    if encoder is not None:
        facts["features"] = facts["columns"]
        facts["table"] = list_columns(encoder)
        facts["columns"] = [column["column"] for column in facts["table"] if column["outputs"]]
        facts["n_columns"] = len(facts["columns"])
    if has_selected_features(estimator):
        facts |= _collect_used(estimator, encoder)
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
    settings = getattr(estimator, "best_estimator_", estimator).get_params(deep=False)
    facts["settings"] = {key: _to_plain(settings[key]) for key in SETTINGS if key in settings}
    facts["method"] = name_fitted_model(estimator)
    if hasattr(estimator, "summary_"):
        facts["selection"] = _collect_selection(estimator.summary_)
    if hasattr(estimator, "converged_"):
        facts["converged"] = bool(estimator.converged_)
    return facts | {"training": training, "imputation": fill_values}


def list_columns(encoder: Any) -> list[dict[str, Any]]:
    """Return what an encoder did with each column, as plain data."""
    keys = ("column", "kind", "encoding", "lost", "missing", "outputs")
    return [{key: column[key] for key in keys} for column in encoder.columns_]


def format_encoding(columns: list[dict[str, Any]], width: int) -> str:
    """Return the encoding of columns as lines of at most `width` characters, from 60 on."""
    rows = [("column", "kind", "encoding", "missing")] + [
        (
            sanitize(c["column"], 30),
            c["kind"],
            sanitize(c["encoding"], 200),
            str(c["missing"] or ""),
        )
        for c in columns
    ]
    widths = [max(len(row[j]) for row in rows) for j in range(4)]
    widths[2] = max(20, min(widths[2], width - sum(widths[:2]) - widths[3] - 6))
    return "\n".join(
        f"{name:{widths[0]}}  {kind:{widths[1]}}  {shorten(encoding, widths[2]):{widths[2]}}  "
        f"{missing:>{widths[3]}}".rstrip()
        for name, kind, encoding, missing in rows
    )


def shorten(text: str, width: int) -> str:
    """Return text of limited length."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def print_facts(facts: dict[str, Any], terminal: Terminal, *, with_table: bool = False) -> None:
    """Print the facts about a model as JSON or as a two-column table."""
    grid = Grid.grid(padding=(0, 2))
    grid.title, grid.title_justify = Text(f"Model {facts['model']}", style="bold"), "left"
    for key, value in _format_lines(facts):
        grid.add_row(Text(key, style="cyan"), Text(value))
    page: Any = grid
    if with_table and "table" in facts:
        table = format_encoding(facts["table"], make_console().width)
        page = Group(grid, Text(f"\n{table}"))
    terminal.print_result(facts, page)


def _collect_used(estimator: Any, encoder: Any) -> dict[str, Any]:
    """Return the columns that the axes use, in the order in which they were selected.

    With an encoder these are encoded columns, and columns of the table are listed separately.
    """
    from opgd.inspection.estimators import get_column_names
    from opgd.inspection.feature_selection import list_used_features

    names = get_column_names(estimator)
    used = [names[j] for j in list_used_features(estimator)]
    if encoder is None:
        return {"columns_used": used}
    origins = {name: c["column"] for c in encoder.columns_ for name in c["outputs"]}
    columns = dict.fromkeys(origins[name] for name in used if name in origins)
    return {"columns_used": list(columns), "features_used": used}


def _collect_selection(summary: Any) -> dict[str, Any]:
    """Return the errors of the selected model, and what simpler models would cost."""
    best, simplest = summary.selected, summary.one_se
    return {
        "error": best.error,
        "error_standard_error": best.standard_error,
        "corrected_error": summary.corrected_error,
        "log_loss": best.log_loss,
        "log_loss_standard_error": best.log_loss_standard_error,
        "trade_off": summary.trade_off,
        "one_se": None if simplest is None else simplest.model,
        "one_se_error": None if simplest is None else simplest.error,
        "n_models": summary.n_models,
        "n_splits": summary.n_splits,
    }


def _format_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    training = facts["training"]
    lines = [("estimator", facts["estimator"])]
    if facts["method"] != facts["estimator"]:
        lines.append(("model", facts["method"]))
    if isinstance(rows := training.get("rows"), int):
        n_dropped = training.get("rows_left_out")
        dropped = f", {n_dropped} dropped" if isinstance(n_dropped, int) and n_dropped else ""
        lines.append(("rows", f"{rows}{dropped}"))
    names = facts["columns"]
    features = f", encoded as {len(facts['features'])} features" if facts.get("features") else ""
    listed = f": {list_names(names)}" if names else ""
    lines.append(("columns", f"{facts['n_columns']}{features}{listed}"))
    lines += _format_used(facts)
    if "classes" in facts:
        target = f" (column {sanitize(training['target'])})" if "target" in training else ""
        lines.append(
            ("classes" + target, _format_counts(facts["classes"], training.get("class_counts")))
        )
    if "clusters" in facts:
        numbers = list(range(facts["clusters"]))
        lines.append(("clusters", _format_counts(numbers, training.get("cluster_sizes"))))
        lines += _format_clusters(training)
    if "axes" in facts:
        lines.append(("axes", f"{facts['axes']}{_format_shares(facts)}"))
    settings = [f"{key} {value}" for key, value in facts["settings"].items()]
    if settings and "selection" not in facts:  # the name of a selected model has them
        lines.append(("settings", sanitize(", ".join(settings), 200)))
    lines += _format_errors(facts) + _format_selection(facts)
    if facts["imputation"] is not None:
        lines.append(("missing cells", "filled with values from the training rows"))
    if facts.get("converged") is False:
        lines.append(("optimization", "not converged"))
    return lines


def _format_used(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the columns that the axes use, if columns were selected."""
    lines = []
    for key, total in (
        ("columns", facts["n_columns"]),
        ("features", len(facts.get("features") or ())),
    ):
        if used := facts.get(f"{key}_used"):
            lines.append((f"{key} used", f"{len(used)} of {total}: {list_names(used, MAX_USED)}"))
    return lines


def _format_clusters(training: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the numbers of clusters that were tried, and a line for each cluster."""
    lines = []
    if (n_noise := training.get("noise_rows")) and isinstance(n_noise, int):
        lines.append(("noise", f"{n_noise} rows belong to no cluster"))
    for key, title in (("numbers_of_clusters", "numbers tried"), ("cluster_profiles", "profiles")):
        texts = training.get(key)
        if isinstance(texts, list):
            lines += [
                (title if number == 0 else "", sanitize(text, 200))
                for number, text in enumerate(texts)
            ]
    return lines


def _format_counts(labels: list[Any], counts: Any) -> str:
    """Return the labels, each with its number of rows if known."""
    if isinstance(counts, list) and len(counts) == len(labels):
        words = [
            f"{sanitize(label, 30)} ({count})" for label, count in zip(labels, counts, strict=True)
        ]
    else:
        words = [sanitize(label, 30) for label in labels]
    more = f" and {len(words) - MAX_CLASSES} more" if len(words) > MAX_CLASSES else ""
    return f"{len(words)}: {', '.join(words[:MAX_CLASSES])}{more}"


def _format_shares(facts: dict[str, Any]) -> str:
    shares = facts.get("axis_shares")
    if not shares:
        return ""
    from opgd.inspection.text import format_percentage

    what = "objective" if "clusters" in facts else "likelihood"
    percentages = ", ".join(format_percentage(share) for share in shares[:6])
    return f" ({percentages}{', ...' if len(shares) > 6 else ''} of the {what} gain)"


def _format_errors(facts: dict[str, Any]) -> list[tuple[str, str]]:
    lines = []
    training, selection = facts["training"], facts.get("selection", {})
    if isinstance(error := training.get("error"), float):
        baseline = training.get("largest_class_error")
        hint = f" (largest class only: {baseline:.3f})" if isinstance(baseline, float) else ""
        text = f"{error:.3f}"
        if error == selection.get("corrected_error"):
            held_out = f"{selection['error']:.3f} on held-out rows"
            text = f"{held_out}, {text} corrected for the selection"
        text += ", weighted" if training.get("weighted") is True else ""
        lines.append(("error", text + hint))
    if isinstance(loss := training.get("log_loss"), float):
        lines.append(("log-loss", f"{loss:.3f}"))
    if lines and "estimated_by" in training:
        lines.append(("estimated by", sanitize(training["estimated_by"], 200)))
    return lines


def _format_selection(facts: dict[str, Any]) -> list[tuple[str, str]]:
    if "selection" not in facts:
        return []
    selection = facts["selection"]
    lines = [("fewer components", selection["trade_off"])]
    if selection["one_se"] not in (None, facts["method"]):
        error = f"held-out error {selection['one_se_error']:.3f}"
        lines.append(("--rule one-se", f"would select {selection['one_se']}: {error}"))
    return lines


def _to_plain(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    return value if isinstance(value, int | float | str | None) else str(value)
