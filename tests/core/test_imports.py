"""What the core imports, beyond what the import contracts in pyproject.toml can say."""

import ast
import re
from pathlib import Path

import opgd.core

CORE = Path(opgd.core.__file__).parent
MAY_IMPORT = {"numpy", "scipy", "opgd"}
MAY_IMPORT |= {
    "collections",
    "concurrent",
    "dataclasses",
    "functools",
    "itertools",
    "operator",
}
MAY_IMPORT |= {"abc", "contextlib", "math", "sys", "threading", "typing"}


def imported_packages(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]


def test_core_imports_numpy_scipy_and_little_of_the_standard_library():
    for path in CORE.rglob("*.py"):
        assert set(imported_packages(path)) <= MAY_IMPORT, path


def test_only_one_module_calls_the_optimizer():
    callers = {
        path.name
        for path in CORE.parent.rglob("*.py")
        if re.search(r"scipy(\.| import )optimize(?! import linear_sum)", path.read_text("utf-8"))
    }
    assert callers == {"solvers.py"}
