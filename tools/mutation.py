"""Small changes of the core's formulas, one at a time, and whether a few seconds of tests notice.

    python tools/mutation.py            all modules
    python tools/mutation.py kernels    some of them

Every change is tried in a child that is forked when the large libraries are imported already, so
that it costs no more than the tests. What survives is printed with its line.
"""

import argparse
import ast
import copy
import importlib.machinery
import importlib.util
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "src" / "opgd" / "core"
MODULES = ["kernels", "targets", "penalties", "moments", "objective", "products"]
MODULES += ["fitted", "scoring"]
TESTS = [
    f"tests/core/test_{name}.py" for name in ("kernels", "moments", "targets", "em", "density")
]
TESTS += [f"tests/core/test_{name}.py" for name in ("solvers", "ordering", "starts", "engines")]
TESTS += [f"tests/core/test_{name}.py" for name in ("products", "penalties", "fitted")]
PATIENCE = 60
"""Seconds of the processor after which a change counts as noticed: it has made a loop endless."""
OPERATORS: dict[type[ast.AST], list[type[ast.AST]]] = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div],
    ast.Div: [ast.Mult],
    ast.Pow: [ast.Mult],
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.And: [ast.Or],
    ast.Or: [ast.And],
}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "argmax": "argmin"}
NAMES |= {"zeros": "ones", "zeros_like": "ones_like", "lowest": "highest", "highest": "lowest"}


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    module: str
    line: int
    what: str
    tree: ast.Module


def mutants(module: str) -> Iterator[Mutant]:
    """All changes of a module."""
    original = ast.parse((CORE / f"{module}.py").read_text(encoding="utf-8"))
    for place, node in enumerate(_nodes(original)):
        for change in range(_n_changes(node)):
            tree = copy.deepcopy(original)
            own = list(_nodes(tree))[place]
            before = _shown(own)
            _change(own, change)
            ast.fix_missing_locations(tree)
            after = _shown(own)
            yield Mutant(module, getattr(node, "lineno", 0), f"{before}  ->  {after}", tree)


def _shown(node: ast.AST) -> str:
    """Of a condition what is asked, of others everything."""
    return ast.unparse(node.test if isinstance(node, ast.If) else node)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Everything that is computed: no annotations, decorators and documentation."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_text(child):
                yield child
                yield from _nodes(child)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _choices(node: ast.AST) -> list[Any]:
    """What can be put in the place of a node's operator, constant, name or statement."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        return OPERATORS.get(type(node.op), [])
    if isinstance(node, ast.Compare):
        return OPERATORS.get(type(node.ops[0]), [])
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            return [not node.value]
        if isinstance(node.value, int | float):
            return [node.value + 1, node.value - 1]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        return [ast.UAdd]
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        return [NAMES[node.attr]]
    if isinstance(node, ast.If | ast.IfExp):
        return [ast.Constant(True), ast.Constant(False)]
    return []


def _n_changes(node: ast.AST) -> int:
    removable = isinstance(node, ast.Expr | ast.AugAssign) or (
        isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple)
    )
    return len(_choices(node)) + removable


def _change(node: Any, number: int) -> None:
    choices = _choices(node)
    if number == len(choices):  # the statement is left out
        node.__class__, node._fields = ast.Pass, ()
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        node.op = choices[number]()
    elif isinstance(node, ast.Compare):
        node.ops[0] = choices[number]()
    elif isinstance(node, ast.Constant):
        node.value = choices[number]
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not):
            node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
        else:
            node.op = ast.UAdd()
    elif isinstance(node, ast.Attribute):
        node.attr = choices[number]
    else:
        node.test = choices[number]


class _Changed(importlib.machinery.SourceFileLoader):
    """Gives the changed module to whoever imports it."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        super().__init__(f"opgd.core.{mutant.module}", str(CORE / f"{mutant.module}.py"))

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        if name == self.name:
            return importlib.util.spec_from_file_location(name, self.path, loader=self)
        return None

    def get_code(self, fullname: str) -> Any:  # noqa: ARG002
        return compile(self.mutant.tree, self.path, "exec")


def is_noticed(mutant: Mutant | None) -> bool:
    """Whether the tests fail, in a child."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = _tested(mutant)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return status != 0


def _tested(mutant: Mutant | None) -> int:
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if mutant is not None:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.meta_path.insert(0, _Changed(mutant))
    # those that are about the module come first, as most changes end there
    tests = TESTS if mutant is None else sorted(TESTS, key=lambda own: mutant.module not in own)
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--from-line", type=int, default=0, help="leave out what is before")
    chosen = parser.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    for name in ("numpy", "pytest", "scipy.optimize", "scipy.linalg", "sklearn.mixture"):
        importlib.import_module(name)
    for name in ("sklearn.datasets", "sklearn.discriminant_analysis", "sklearn.cluster"):
        importlib.import_module(name)
    begin = time.monotonic()
    if is_noticed(None):
        sys.exit("The tests fail without any change.")
    print(f"The tests take {time.monotonic() - begin:.1f} seconds.", flush=True)
    killed, total = Counter[str](), Counter[str]()
    for module in chosen.modules:
        for mutant in mutants(module):
            if mutant.line < chosen.from_line:
                continue
            noticed = is_noticed(mutant)
            total[module] += 1
            killed[module] += noticed
            if not noticed:
                print(f"{module}.py:{mutant.line}: {mutant.what}", flush=True)
        print(f"{module}: {killed[module]} of {total[module]} noticed", flush=True)
    share = killed.total() / max(total.total(), 1)
    seconds = time.monotonic() - begin
    print(f"all: {killed.total()} of {total.total()} noticed, {share:.1%}; {seconds:.0f} seconds")


if __name__ == "__main__":
    main()
