"""The command `opgd demo`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from opgd.cli.console import Terminal, make_grid, quote
from opgd.cli.error_estimates import get_search_error, summarize_training
from opgd.cli.errors import BadInput
from opgd.cli.options import AsJson, Force, Quiet

AXES = {"digits": (9, 13, 20), "wine": (2, 3)}
"""Numbers of axes to try; few, so that the demo takes seconds."""
ENDINGS = {"train": ".csv", "test": "-test.csv", "model": ".opgd", "report": ".html"}


def demo(
    table: Annotated[str, typer.Argument(metavar="digits|wine", help="Data set.")] = "digits",
    out: Annotated[Path, typer.Option(help="Output folder; created if needed.")] = Path(
        "opgd-demo"
    ),
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model to a data set of scikit-learn and write the tables, the model and a report."""
    if table not in AXES:
        raise BadInput(f"Unknown demo {quote(table)}; choose one of {', '.join(AXES)}.")

    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    from opgd import OPGDClassifierCV, write_report
    from opgd.cli.tables.write import check_new_file
    from opgd.model_file import save_model
    from opgd.report.html import make_environment

    make_environment()  # raises if the report's packages are missing, before anything is written
    terminal = Terminal(quiet, as_json)
    out.mkdir(parents=True, exist_ok=True)
    paths = {key: out / f"{table}{ending}" for key, ending in ENDINGS.items()}
    for path in paths.values():
        check_new_file(path, force=force, inputs=[])
    (X, y), (X_test, y_test) = _load_and_split(table)
    _write_table(paths["train"], X, y, force, terminal)
    _write_table(paths["test"], X_test, y_test, force, terminal)
    model = OPGDClassifierCV(AXES[table], cv=3)
    model.set_params(scoring="neg_log_loss")
    with terminal.show_progress(f"fitting {table}", model):
        model.fit(X, y)
    models = {"OPGD": model, "LDA": LinearDiscriminantAnalysis().fit(X, y)}
    evaluations = [_evaluate(name, fitted, X_test, y_test) for name, fitted in models.items()]
    notes = summarize_training(model, "label", y) | get_search_error(model, y)
    save_model(model, paths["model"], notes={"training": notes}, overwrite=force)
    with terminal.show_progress("writing the report"):
        write_report(
            model,
            X,
            y,
            path=paths["report"],
            title=f"scikit-learn {table} data",
            X_test=X_test,
            y_test=y_test,
            overwrite=force,
        )
    files = {key: str(path) for key, path in paths.items()}
    page = _make_page(evaluations, files, len(X), len(X_test))
    terminal.print_result({"methods": evaluations, "files": files}, page)


def _load_and_split(table: str) -> Any:
    """Return the training set and the test set, each as rows and labels."""
    from sklearn.datasets import load_digits, load_wine
    from sklearn.model_selection import train_test_split

    dataset = {"digits": load_digits, "wine": load_wine}[table](as_frame=True)
    y = dataset.target_names[dataset.target]
    X, X_test, y, y_test = train_test_split(dataset.data, y, stratify=y, random_state=0)
    return (X.reset_index(drop=True), y), (X_test.reset_index(drop=True), y_test)


def _write_table(path: Path, X: Any, y: Any, force: bool, terminal: Terminal) -> None:
    import polars as pl

    from opgd.cli.tables.write import TableOutput

    frame = pl.DataFrame({name: X[name].to_numpy() for name in X.columns})
    frame = frame.with_columns(pl.Series("label", y))
    TableOutput(str(path), force=force, inputs=[], raw=True).write(frame, terminal)


def _evaluate(name: str, model: Any, X: Any, y: Any) -> dict[str, Any]:
    from sklearn.metrics import log_loss

    error = float((model.predict(X) != y).mean())
    return {
        "method": name,
        "axes": int(model.transform(X).shape[1]),
        "error": error,
        "log_loss": float(log_loss(y, model.predict_proba(X))),
    }


def _make_page(
    evaluations: list[dict[str, Any]], files: dict[str, str], n_rows: int, n_test: int
) -> Any:
    from rich.console import Group
    from rich.text import Text

    rows = [
        [row["method"], str(row["axes"]), f"{row['error']:.3f}", f"{row['log_loss']:.3f}"]
        for row in evaluations
    ]
    columns = ["method", "axes", "test error", "test log-loss"]
    grid = make_grid(f"{n_rows} training rows, {n_test} test rows", columns, rows)
    next_step = f"Next: opgd predict {files['model']} {files['test']}"
    return Group(grid, Text(f"Open {files['report']} in a browser.\n{next_step}"))
