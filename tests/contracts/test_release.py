"""What a release consists of agrees: version, authors, license, dependencies, targets of make."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
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


TABLE = """\
Python 3.11.7

Kernel: a title
shape                  bare ms  opgd ms  ratio  bound
─────────────────────────────────────────────────────────
1000 x 50, 10 classes    188.3    166.3   {}    1.3  ok
1000 x 20, 4 classes      57.2     49.2   0.80    1.3  ok
Least of 7 runs.

Threads
          one ms  two ms  gain
────────────────────────────────
two        163.5    97.9  {}  ok
"""


def save_ratios(folder, ratio, gain):
    folder.mkdir()
    (folder / "kernel.txt").write_text(TABLE.format(ratio, gain), encoding="utf-8")


@pytest.mark.parametrize(
    ("ratio", "gain", "code"),
    [("0.90", 1.6, 0), ("0.70", 1.9, 0), ("1.10", 1.6, 1), ("0.80", 1, 1)],
)
def test_ratios_are_compared_with_the_base(ratio, gain, code, tmp_path, capsys):
    compare = load_tool("compare_benchmarks").compare
    base, fresh = tmp_path / "base", tmp_path / "fresh"
    save_ratios(base, "0.80", 1.6)
    save_ratios(fresh, ratio, gain)
    assert compare(["kernel"], fresh, base, 1.3) == code
    assert f"3 ratios compared with the base, {code} failed" in capsys.readouterr().out


def test_ratios_that_are_no_longer_measured_fail(tmp_path, capsys):
    compare = load_tool("compare_benchmarks").compare
    base, fresh = tmp_path / "base", tmp_path / "fresh"
    save_ratios(base, "0.80", 1.6)
    save_ratios(fresh, "0.80", "?")
    assert compare(["kernel"], fresh, base, 1.3) == 1
    assert "two, gain: measured with the base only" in capsys.readouterr().out
    assert compare(["kernel", "memory"], base, base, 1.3) == 1
    assert "memory: no ratios were measured here" in capsys.readouterr().out
    assert compare(["kernel"], base, fresh, 1.3) == 0  # a new ratio has nothing to be compared with
    assert compare(["kernel"], fresh, tmp_path, 1.3) == 2


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_commit_is_measured_with_its_own_files(tmp_path, monkeypatch, capfd):
    tool = load_tool("compare_benchmarks")
    for package in ("benchmarks", "src/opgd"):
        (tmp_path / package).mkdir(parents=True)
    script = (
        "import pathlib, sys, opgd; pathlib.Path(sys.argv[-1]).mkdir(parents=True, exist_ok=True)"
    )
    script += "; path = pathlib.Path(sys.argv[-1], sys.argv[1] + '.txt')"
    script += "; path.write_text(opgd.table, encoding='utf-8')"
    (tmp_path / "benchmarks/__main__.py").write_text(script, encoding="utf-8")
    module = tmp_path / "src/opgd/__init__.py"
    module.write_text(f"table = {TABLE.format('0.80', 1.6)!r}", encoding="utf-8")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)  # hooks and rebases name another repository
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Base"]):
        subprocess.run([*git, *command], check=True)
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # files of one second look unchanged
    monkeypatch.setattr(sys, "argv", ["compare_benchmarks.py", "kernel"])
    assert tool.main() == 0
    module.write_text(f"table = {TABLE.format('1.10', 1.6)!r}", encoding="utf-8")
    assert tool.main() == 1
    assert "1000 x 50, 10 classes, ratio:     1.10 (base 0.80" in capfd.readouterr().out
    monkeypatch.setattr(sys, "argv", ["compare_benchmarks.py", "kernel", "--base", "nowhere"])
    assert tool.main() == 2
    assert "cannot read the commit 'nowhere'" in capfd.readouterr().err
    monkeypatch.setattr(sys, "argv", ["compare_benchmarks.py", "kernel", "--base=--list"])
    assert tool.main() == 2


@pytest.mark.parametrize(("base", "here", "code"), [(0, 0, 0), (0, 1, 1), (1, 1, 0), (1, 0, 0)])
def test_bounds_that_only_this_folder_exceeds_fail(base, here, code, tmp_path, monkeypatch):
    tool = load_tool("compare_benchmarks")
    codes = {tmp_path: base, ROOT: here}

    def run(command, cwd, **_):
        Path(command[-1]).mkdir(exist_ok=True)
        (Path(command[-1]) / "kernel.txt").write_text(TABLE.format("0.80", 1.6), "utf-8")
        return subprocess.CompletedProcess(command, codes[cwd])

    monkeypatch.setattr(tool.subprocess, "run", run)
    folders = tmp_path / "base", tmp_path / "fresh"
    assert tool.measure_and_compare("kernel", tmp_path, *folders, 1.2) == code


def test_committed_benchmarks_have_ratios():
    tool = load_tool("compare_benchmarks")
    for name, column in [("kernel", "ratio"), ("memory", "growth MB")]:
        found = tool.read_ratios((tool.COMMITTED / f"{name}.txt").read_text("utf-8"))
        assert {key[1] for key in found} == {column}
        assert len(found) >= 3
