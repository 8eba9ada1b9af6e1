"""What a release consists of agrees: version, authors, license, dependencies, targets of make."""

import importlib.util
import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

import opgd

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CODEMETA = json.loads((ROOT / "codemeta.json").read_text("utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load_tool(name):
    """A script of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_yaml(path):
    return pytest.importorskip("yaml").safe_load((ROOT / path).read_text("utf-8"))


def test_the_version_is_one():
    assert read_yaml("CITATION.cff")["version"] == opgd.__version__  # the changelog: see documents
    assert CODEMETA["version"] == opgd.__version__
    assert read_yaml("conda/recipe.yaml")["context"]["version"] == opgd.__version__


def test_authors_and_license_are_the_same():
    citation, recipe = read_yaml("CITATION.cff"), read_yaml("conda/recipe.yaml")
    names = [author["name"] for author in PROJECT["authors"]]
    assert [author["name"] for author in citation["authors"]] == names
    assert [author["name"] for author in CODEMETA["author"]] == names
    licenses = [citation["license"], CODEMETA["license"].split("/")[-1], recipe["about"]["license"]]
    assert licenses == [PROJECT["license"]] * 3
    assert "BSD 3-Clause" in (ROOT / "LICENSE").read_text("utf-8")


def test_dependencies_are_the_same():
    recipe = read_yaml("conda/recipe.yaml")["requirements"]["run"]
    needed = [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert [each.replace(" ", "") for each in recipe] == needed
    listed = [each["identifier"] + each["version"] for each in CODEMETA["softwareRequirements"]]
    assert listed == PROJECT["dependencies"]
    assert CODEMETA["runtimePlatform"] == f"Python {PROJECT['requires-python']}"


def test_tested_versions_of_python_are_those_of_the_classifiers():
    found = [re.fullmatch(r".*Python :: (3\.\d+)", each) for each in PROJECT["classifiers"]]
    jobs = read_yaml(".github/workflows/tests.yml")["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert matrix["python"] == [version[1] for version in found if version]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    systems = [each.split(" :: ")[-1] for each in PROJECT["classifiers"] if "Operating" in each]
    names = {"Linux": "ubuntu", "MacOS": "macos", "Windows": "windows"}
    assert sorted(f"{names[system]}-latest" for system in systems) == sorted(matrix["os"])


@pytest.fixture
def copied(tmp_path):
    """What tools/metadata.py reads and writes, in a folder."""
    for name in ("pyproject.toml", "CITATION.cff", "src/opgd/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def change(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_metadata_are_copied_and_the_files_are_what_the_tool_writes(copied):
    tool = load_tool("metadata")
    for path, text in tool.make_files(ROOT).items():
        assert path.read_text("utf-8") == text, f"run python tools/metadata.py: {path.name}"
    change(copied / "src/opgd/__init__.py", f'"{opgd.__version__}"', '"9.8.7"')
    urls = '[project.urls]\nSource = "https://example.org/source"\n\n[project.scripts]'
    change(copied / "pyproject.toml", "[project.scripts]", urls)
    change(copied / "pyproject.toml", "numpy>=1.26", "numpy>=3.1")
    texts = {path.name: text for path, text in tool.make_files(copied, "2030-01-02").items()}
    for text in texts.values():
        assert "9.8.7" in text
        assert text.count("https://example.org/source") == 1
    assert "\ndate-released: 2030-01-02\n" in texts["CITATION.cff"]
    assert "- numpy >=3.1\n" in texts["recipe.yaml"]
    (copied / "CITATION.cff").write_text(texts["CITATION.cff"], encoding="utf-8")
    assert tool.make_files(copied)[copied / "CITATION.cff"] == texts["CITATION.cff"]


def test_a_tag_is_the_version(monkeypatch, capsys):
    tool = load_tool("metadata")
    for tag, code in [(f"v{opgd.__version__}", 0), ("v0.0.1", 1), (opgd.__version__, 1)]:
        monkeypatch.setattr("sys.argv", ["metadata.py", "--check", "--tag", tag])
        assert tool.main() == code
    assert "the tag is v0.0.1" in capsys.readouterr().out


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
