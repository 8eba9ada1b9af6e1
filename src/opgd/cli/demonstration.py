"""opgd demo."""

from pathlib import Path
from typing import Annotated, Any

import typer

from opgd.cli.errors import BadInput
from opgd.cli.options import AsJson, Force, Quiet
from opgd.cli.text import quoted
from opgd.cli.voice import Voice

AXES = {"digits": (9, 13, 20), "wine": (2, 3)}
"""Numbers of axes to try, few enough for seconds."""
ENDS = {"train": ".csv", "test": "-test.csv", "model": ".opgd", "report": ".html"}


def demo(
    table: Annotated[str, typer.Argument(metavar="digits|wine", help="What to fit.")] = "digits",
    out: Annotated[Path, typer.Option(help="Folder of the files; made if need be.")] = Path(
        "opgd-demo"
    ),
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit a table that comes with scikit-learn: two tables, a model and a report in a folder."""
    if table not in AXES:
        raise BadInput(f"There is no demonstration {quoted(table)}; there are {', '.join(AXES)}.")

    import polars as pl
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    from opgd import OPGDClassifierCV, write_report
    from opgd.cli.estimates import chosen_error, training_notes
    from opgd.cli.output import TableOutput, new_file
    from opgd.model_file import save_model
    from opgd.report.html import packages

    packages()  # what the report needs is asked for before anything is written
    voice = Voice(quiet, as_json)
    out.mkdir(parents=True, exist_ok=True)
    paths = {key: out / f"{table}{end}" for key, end in ENDS.items()}
    for path in paths.values():
        new_file(path, force=force, inputs=[])
    (X, y), (X_test, y_test) = _split(table)
    for key, (own, labels) in {"train": (X, y), "test": (X_test, y_test)}.items():
        frame = pl.DataFrame({name: own[name].to_numpy() for name in own.columns})
        frame = frame.with_columns(pl.Series("label", labels))
        TableOutput(str(paths[key]), force=force, inputs=[], raw=True).write(frame, voice)
    model = OPGDClassifierCV(AXES[table], shrinkage=(0, 0.5), ridge=(0.05, 0.3), cv=3)
    model.set_params(scoring="neg_log_loss")
    with voice.watching(f"fitting {table}", model):
        model.fit(X, y)
    models = {"OPGD": model, "LDA": LinearDiscriminantAnalysis().fit(X, y)}
    rows = [_judged(name, own, X_test, y_test) for name, own in models.items()]
    notes = training_notes(model, "label", y) | chosen_error(model)
    save_model(model, paths["model"], notes={"training": notes}, overwrite=force)
    with voice.watching("writing the report"):
        write_report(
            model,
            X,
            y,
            path=paths["report"],
            title=f"The {table} of scikit-learn",
            X_test=X_test,
            y_test=y_test,
            overwrite=force,
        )
    files = {key: str(path) for key, path in paths.items()}
    voice.result({"methods": rows, "files": files}, _page(rows, files, len(X), len(X_test)))


def _split(table: str) -> Any:
    from sklearn.datasets import load_digits, load_wine
    from sklearn.model_selection import train_test_split

    own = {"digits": load_digits, "wine": load_wine}[table](as_frame=True)
    y = own.target_names[own.target]
    X, X_test, y, y_test = train_test_split(own.data, y, stratify=y, random_state=0)
    return (X.reset_index(drop=True), y), (X_test.reset_index(drop=True), y_test)


def _judged(name: str, model: Any, X: Any, y: Any) -> dict[str, Any]:
    from sklearn.metrics import log_loss

    error = float((model.predict(X) != y).mean())
    return {
        "method": name,
        "axes": int(model.transform(X).shape[1]),
        "error": error,
        "log_loss": float(log_loss(y, model.predict_proba(X))),
    }


def _page(rows: list[dict[str, Any]], files: dict[str, str], n_rows: int, n_test: int) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    page = Table(title=f"{n_rows} training rows, {n_test} test rows", title_justify="left")
    page.add_column("method")
    for name in ("axes", "test error", "test log-loss"):
        page.add_column(name, justify="right")
    for own in rows:
        page.add_row(
            own["method"], str(own["axes"]), f"{own['error']:.3f}", f"{own['log_loss']:.3f}"
        )
    next_step = f"Try: opgd predict {files['model']} {files['test']}"
    return Group(page, Text(f"Open {files['report']} in a browser.\n{next_step}"))
