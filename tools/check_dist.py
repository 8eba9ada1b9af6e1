"""Install the wheel with each extra, and test the source distribution, in new environments.

    python tools/check_dist.py dist [extra ...] [--tests path ...]

Environments are made one after the other in a temporary folder, and deleted.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FIT = """
from sklearn.datasets import load_iris
from opgd import OPGDClassifier
X, y = load_iris(return_X_y=True)
model = OPGDClassifier(2).fit(X, y)
assert model.score(X, y) > 0.9
"""
CALLS = {
    "": "",
    "plot": """
import matplotlib; matplotlib.use("Agg")
from opgd.plotting import ProjectionDisplay
assert ProjectionDisplay.from_estimator(model, X, y).ax_ is not None
""",
    "tables": """
from opgd import open_table
from opgd.plotting import loadings_table
assert not loadings_table(model).empty
load_iris(as_frame=True).frame.to_csv("iris.csv", index=False)
rows, labels = open_table("iris.csv").split("target")
assert OPGDClassifier(2).fit(rows, labels).score(rows, labels) > 0.9
""",
    "model": """
from opgd import load_model, save_model
save_model(model, "iris.opgd")
assert (load_model("iris.opgd").predict(X) == model.predict(X)).all()
""",
    "dask": """
import dask.array as da
lazy = OPGDClassifier(2).fit(da.from_array(X, chunks=(50, 4)), y)
assert abs(lazy.log_likelihood_ - model.log_likelihood_) < 1e-6
""",
    "report": """
from opgd import write_report
write_report(model, X, y, path="report.html", cv=0)
assert open("report.html", encoding="utf-8").read().startswith("<!")
""",
    "onnx": """
from opgd import to_onnx
assert to_onnx(model).graph.node
""",
    "cli": """
from opgd.cli import main
load_iris(as_frame=True).frame.to_csv("iris.csv", index=False)
try:
    main(["fit", "iris.csv", "--target", "target", "-o", "cli.opgd"])
except SystemExit as end:
    assert not end.code
assert open("cli.opgd", "rb").read(8)
""",
}
"""What each extra is for, tried once."""


@contextmanager
def make_environment() -> Iterator[tuple[Path, Path]]:
    """Yield the folder of a new environment, and its Python."""
    with tempfile.TemporaryDirectory(prefix="opgd-dist-") as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        scripts = "Scripts" if sys.platform == "win32" else "bin"
        yield folder, folder / "env" / scripts / "python"


def call(python: Path, *arguments: str, folder: Path) -> None:
    """Run Python in a folder, without what the caller has set for its own packages."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment.pop("OPGD_DATA", None)
    subprocess.run([str(python), *arguments], cwd=folder, env=environment, check=True)


def install(python: Path, *requirement: str, folder: Path) -> None:
    options = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    call(python, "-m", "pip", "install", *options, *requirement, folder=folder)


def list_extras() -> list[str]:
    """Return the extras for users; each must have a call here."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"].keys()
    missing = extras - CALLS.keys() - {"all"}
    assert not missing, f"no call for the extras {missing}"
    return ["", *sorted(extras)]


def check_extra(wheel: Path, extra: str) -> None:
    """Install the wheel with an extra, and use it."""
    start = time.monotonic()
    with make_environment() as (folder, python):
        install(python, f"{wheel}[{extra}]" if extra else str(wheel), folder=folder)
        code = FIT + ("".join(CALLS.values()) if extra == "all" else CALLS[extra])
        call(python, "-W", "error::DeprecationWarning:opgd", "-c", code, folder=folder)
        call(python, "-m", "pip", "check", folder=folder)
    print(f"wheel[{extra}]: ok in {time.monotonic() - start:.0f} s", flush=True)


def check_source(archive: Path, tests: list[str]) -> None:
    """Unpack the source distribution, install it with what its tests need, and run them."""
    start = time.monotonic()
    with make_environment() as (folder, python), tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
        source = folder / archive.name.removesuffix(".tar.gz")
        # editable, since doctests are those of src
        install(python, "--upgrade", "pip", folder=folder)  # one that has dependency groups
        group = f"{source / 'pyproject.toml'}:test"
        install(python, "--editable", f"{source}[all]", "--group", group, folder=folder)
        options = ["-p", "no:cacheprovider", "-n", "auto", "--dist", "worksteal"]
        call(python, "-m", "pytest", *options, *tests, folder=source)
    print(f"{archive.name}: tests ok in {time.monotonic() - start:.0f} s", flush=True)


def main() -> None:
    """Check the wheel and the source distribution of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("extras", nargs="*", help="default: the wheel alone, and each extra")
    parser.add_argument("--tests", nargs="*", default=[], help="of the source; default: all")
    given = parser.parse_args()
    wheel, archive = (next(given.folder.resolve().glob(kind)) for kind in ("*.whl", "*.tar.gz"))
    for extra in given.extras or list_extras():
        check_extra(wheel, extra)
    if not given.extras:
        check_source(archive, given.tests)


if __name__ == "__main__":
    main()
