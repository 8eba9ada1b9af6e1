"""Imports point one way: who may import whom, read from the import statements."""

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "opgd"
LAYERS = [
    {"opgd.core"},
    {f"opgd.datasets.{name}" for name in ["_catalogue", "_columns", "_digests", "_errors"]},
    {"opgd.datasets._tables"},
    {f"opgd.datasets.{name}" for name in ["_canonical", "_openml", "_pypi"]},
    {"opgd.datasets._load"},
    {"opgd.datasets"},
    {"opgd._warnings", "opgd._callbacks", "opgd._blas", "opgd._lazy"},
    {"opgd._validation"},
    {"opgd._subclasses", "opgd._estimator", "opgd._calibration", "opgd._mixture_starts"},
    {"opgd._labels", "opgd._soft_classes", "opgd._dask_engine"},
    {"opgd._dask_rows"},
    {"opgd._problem"},
    {"opgd._refinement", "opgd._fitting"},
    {"opgd.classifier", "opgd.mixture", "opgd.semi_supervised"},
    {f"opgd.baselines.{name}" for name in ["_base", "_bandwidths", "_bases", "_posterior"]},
    {"opgd.baselines._axis_densities", "opgd.baselines._optimal_scores"},
    {"opgd.baselines._mixture_densities", "opgd.baselines._pursuit"},
    {f"opgd.baselines.{name}" for name in ["cpc", "lda", "mda", "rda", "save"]}
    | {f"opgd.baselines.{name}" for name in ["fda", "informative", "kernel"]}
    | {f"opgd.baselines.{name}" for name in ["mixture_pursuit", "pursuit"]},
    {"opgd.baselines.alternating", "opgd.baselines.kernel_nb"},
    {"opgd.baselines"},
    {"opgd._path"},
    {"opgd._selection"},
    {"opgd.classifier_cv", "opgd._axes_search"},
    {"opgd._files", "opgd._model_values", "opgd._model_checks"},
    {"opgd._model_bytes", "opgd._model_parts"},
    {"opgd._model_state"},
    {"opgd.comparison", "opgd.model_file"},
    {"opgd.plotting._text", "opgd.plotting._styles", "opgd.plotting._fitted"},
    {"opgd.plotting._drawing", "opgd.plotting._projected", "opgd.plotting._scatter"},
    {"opgd.plotting._strip", "opgd.plotting._arrows"},
    {"opgd.plotting.projection"},
    {f"opgd.plotting.{name}" for name in ["comparison", "components", "convergence"]}
    | {f"opgd.plotting.{name}" for name in ["loadings", "pairs", "table"]},
    {"opgd.plotting"},
    {f"opgd.report.{name}" for name in ["evaluation", "rows", "tables", "tour"]},
    {"opgd.report.page_data"},
    {"opgd.report.summary"},
    {"opgd.report.html"},
    {"opgd.report.writer"},
    {"opgd.report"},
    {"opgd", "opgd.dask"},
    {f"opgd.experiments.{name}" for name in ["paper", "store"]},
    {f"opgd.experiments.{name}" for name in ["classification", "clustering", "runner"]},
    {f"opgd.experiments.{name}" for name in ["figures", "tables"]},
    {"opgd.experiments.page"},
    {"opgd.experiments.reproduce"},
    {"opgd.experiments"},
    {"opgd.cli.errors", "opgd.cli.streams", "opgd.cli.text"},
    {f"opgd.cli.{name}" for name in ["delimited", "estimates", "facts", "options", "voice"]},
    {"opgd.cli.reading", "opgd.cli.output", "opgd.cli.settings"},
    {"opgd.cli.columns", "opgd.cli.selection"},
    {"opgd.cli.labels"},
    {"opgd.cli.training", "opgd.cli.models"},
    {"opgd.cli.answers"},
    {f"opgd.cli.{name}" for name in ["applying", "clustering", "comparing", "demonstration"]}
    | {f"opgd.cli.{name}" for name in ["describing", "fitting", "reporting", "reproducing"]},
    {"opgd.cli.app"},
    {"opgd.cli"},
    {"opgd.cli.__main__"},
]
CORE_MAY_IMPORT = {"numpy", "scipy", "opgd"}


def module_name(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def layer(name):
    name = "opgd.core" if name.startswith("opgd.core.") else name
    for height, members in enumerate(LAYERS):
        if name in members:
            return height
    raise AssertionError(f"{name} is in no layer: add it to LAYERS")


def test_imports_point_downwards():
    for path in SOURCE.rglob("*.py"):
        name = module_name(path)
        for imported in imports(path):
            if imported.split(".")[0] == "opgd":
                inside_core = name.startswith("opgd.core") and imported.startswith("opgd.core")
                assert inside_core or layer(imported) < layer(name), f"{name} imports {imported}"


def test_core_knows_numpy_and_scipy_only():
    standard = {"collections", "concurrent", "dataclasses", "functools", "itertools", "operator"}
    standard |= {"abc", "contextlib", "math", "sys", "threading", "typing"}
    for path in (SOURCE / "core").rglob("*.py"):
        packages = {imported.split(".")[0] for imported in imports(path)}
        assert packages <= CORE_MAY_IMPORT | standard, path


def test_datasets_know_nothing_of_ours():
    for path in (SOURCE / "datasets").rglob("*.py"):
        ours = [name for name in imports(path) if name.split(".")[0] == "opgd"]
        assert all(name.startswith("opgd.datasets.") for name in ours), path


def test_only_one_module_calls_the_optimiser():
    callers = {
        path.name
        for path in SOURCE.rglob("*.py")
        if re.search(r"scipy(\.| import )optimize", path.read_text())
    }
    assert callers == {"solvers.py"}
