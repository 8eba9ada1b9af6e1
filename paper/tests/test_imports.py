"""The companion uses what users of the package use."""

import ast

from conftest import ROOT


def find_imports(path):
    """Yield the modules and names that a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_private_part_of_the_package_is_imported():
    files = [*ROOT.glob("paper/**/*.py")]
    names = {(path.name, name) for path in files for name in find_imports(path)}
    used = [(file, name) for file, name in names if name.split(".")[0] == "opgd"]
    assert used
    assert [
        (file, name)
        for file, name in used
        if any(part.startswith("_") for part in name.split(".")) or name.startswith("opgd.core")
    ] == []


def test_the_package_does_not_import_its_companion():
    files = [*ROOT.glob("src/opgd/**/*.py"), *ROOT.glob("tests/**/*.py")]
    assert [
        path.name
        for path in files
        if any(name.split(".")[0] == "opgd_paper" for name in find_imports(path))
    ] == []
