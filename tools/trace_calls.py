"""List the functions of opgd that an operation runs through, as (module, function).

python tools/trace_calls.py                 the number of modules of every operation
python tools/trace_calls.py OPGDMixture.fit the calls of one, indented by depth
python tools/trace_calls.py --markdown      where every operation enters a module, as in the docs
"""

import argparse
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from sklearn.datasets import load_iris

from opgd import (
    OPGDClassifier,
    OPGDClassifierCV,
    OPGDMixture,
    OPGDSemiSupervised,
    save_model,
    write_report,
)

SKIPPED = ("<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<module>")


class Tracer:
    """Records the first call of every function of the package, with its depth and caller."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, str, str, str]] = []
        self._seen: set[tuple[str, str]] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        module, function = describe(frame)
        if not module.startswith("opgd") or function.rpartition(".")[2] in SKIPPED:
            return
        if (module, function) in self._seen:
            return
        self._seen.add((module, function))
        depth, caller, outer = 0, "", frame.f_back
        while outer is not None:
            name = outer.f_globals.get("__name__", "")
            if name.startswith("opgd"):
                depth += 1
                caller = caller or name
            outer = outer.f_back
        self.calls.append((depth, module, function, caller))

    @property
    def modules(self) -> list[str]:
        """Modules in the order in which they are entered."""
        return list(dict.fromkeys(module for _, module, _, _ in self.calls))

    @property
    def entries(self) -> list[str]:
        """Functions by which a module is entered from another; the core's from outside it."""
        return [
            f"{module.removeprefix('opgd.')}.{function}"
            for _, module, function, caller in self.calls
            if module != caller
            and not (module.startswith("opgd.core") and caller.startswith("opgd.core"))
            and "<locals>" not in function
            and not function.startswith(("check_", "__init__"))
        ]

    @property
    def ping_pong(self) -> list[tuple[str, str]]:
        """Pairs of modules that call each other."""
        edges = {(caller, module) for _, module, _, caller in self.calls if caller != module}
        return sorted(edge for edge in edges if edge[::-1] in edges and edge[0] < edge[1])


def describe(frame: FrameType) -> tuple[str, str]:
    """Return the module and the qualified name of a frame's function."""
    return frame.f_globals.get("__name__", ""), frame.f_code.co_qualname


def operations() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Return by name functions that prepare an operation and return it."""
    X, y = load_iris(return_X_y=True)
    few = np.where(np.arange(len(y)) % 5, -1, y)
    folder = Path(tempfile.mkdtemp())

    def fit_command() -> Callable[[], Any]:
        from opgd.cli import main

        names = ["a", "b", "c", "d", "species"]
        rows = [",".join(map(str, [*row, f"s{label}"])) for row, label in zip(X, y, strict=True)]
        (folder / "iris.csv").write_text("\n".join([",".join(names), *rows]))
        paths = [str(folder / "iris.csv"), "--target", "species", "-o", str(folder / "iris.opgd")]

        def call() -> None:
            sys.argv = ["opgd", "fit", *paths, "--axes", "2", "--quiet", "--force"]
            try:
                main()
            except SystemExit:
                return

        return call

    def prepared(make: Callable[[Any], Any]) -> Callable[[], Callable[[], Any]]:
        def prepare() -> Callable[[], Any]:
            model = OPGDClassifier(n_components=2).fit(X, y)
            return lambda: make(model)

        return prepare

    return {
        "OPGDClassifier.fit": lambda: lambda: OPGDClassifier().fit(X, y),
        "OPGDClassifierCV.fit": lambda: lambda: OPGDClassifierCV(cv=2).fit(X, y),
        "OPGDMixture.fit": lambda: lambda: OPGDMixture(3, random_state=0).fit(X),
        "OPGDSemiSupervised.fit": lambda: lambda: OPGDSemiSupervised().fit(X, few),
        "predict": prepared(lambda model: model.predict(X)),
        "write_report": prepared(
            lambda model: write_report(model, X, y, path=folder / "report.html", overwrite=True)
        ),
        "save_model": prepared(
            lambda model: save_model(model, folder / "model.opgd", overwrite=True)
        ),
        "opgd fit": fit_command,
    }


def trace(prepare: Callable[[], Callable[[], Any]]) -> Tracer:
    """Run an operation twice, the second time with a tracer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepare()
        operation, tracer = prepare(), Tracer()
        threading.setprofile(tracer)
        sys.setprofile(tracer)
        try:
            operation()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return tracer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    wanted = arguments.name
    fit_entries: list[str] = []
    for name, prepare in operations().items():
        if wanted not in (None, name):
            continue
        tracer = trace(prepare)
        if arguments.markdown:
            entries = [entry for entry in tracer.entries if entry not in fit_entries]
            fit_entries = fit_entries or [e for e in entries if not e.endswith("Classifier.fit")]
            functions = ", ".join(f"`{entry}`" for entry in entries)
            print(f"**{name}** ({len(tracer.modules)} modules): {functions}.\n")
            continue
        print(f"{name}: {len(tracer.modules)} modules, pairs that call each other: ", end="")
        print(", ".join(f"{a} <-> {b}" for a, b in tracer.ping_pong) or "none")
        for depth, module, function, _ in tracer.calls if wanted else []:
            print(f"{'  ' * depth}{module}.{function}")


if __name__ == "__main__":
    main()
