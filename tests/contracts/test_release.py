"""What a release consists of agrees: version, authors, license, dependencies, targets of make."""

import re
import tomllib
from pathlib import Path

import pytest

import opgd

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read_yaml(path):
    return pytest.importorskip("yaml").safe_load((ROOT / path).read_text("utf-8"))


def test_the_version_is_one():
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\n## {opgd.__version__} - " in changes or "\n## Unreleased\n" in changes
    assert read_yaml("CITATION.cff")["version"] == opgd.__version__
    assert read_yaml("conda/recipe.yaml")["context"]["version"] == opgd.__version__


def test_dependencies_are_the_same():
    recipe = read_yaml("conda/recipe.yaml")["requirements"]["run"]
    needed = [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert [each.replace(" ", "") for each in recipe] == needed


def test_tested_versions_of_python_are_those_of_the_classifiers():
    found = [re.fullmatch(r".*Python :: (3\.\d+)", each) for each in PROJECT["classifiers"]]
    jobs = read_yaml(".github/workflows/tests.yml")["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert matrix["python"] == [version[1] for version in found if version]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    systems = [each.split(" :: ")[-1] for each in PROJECT["classifiers"] if "Operating" in each]
    names = {"Linux": "ubuntu", "MacOS": "macos", "Windows": "windows"}
    assert sorted(f"{names[system]}-latest" for system in systems) == sorted(matrix["os"])


@pytest.mark.parametrize("path", [ROOT / ".ci" / "run", *WORKFLOWS], ids=lambda path: path.name)
def test_targets_of_make_exist(path):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.M))
    called = set(re.findall(r"^ *(?:- run: |run: |)make ([a-z-]+)", path.read_text("utf-8"), re.M))
    assert called <= targets
    assert called or path.name == "publish.yml"


def test_tests_without_extras_exist():
    for name in (ROOT / "tests" / "core.txt").read_text("utf-8").split():
        assert (ROOT / name).exists(), name
