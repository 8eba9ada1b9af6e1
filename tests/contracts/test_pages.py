"""Results, output and dependencies in documents agree with files and code."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "results_tables.py"
INSTALLATION = ROOT / "docs" / "installation.md"

NEEDED = [TOOL, INSTALLATION, ROOT / "results" / "selection.jsonl"]

pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in NEEDED), reason="not in source distributions"
)


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(TOOL))


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/how_to_choose.md"])
def test_tables_are_those_of_the_raw_results(name, tool):
    text = (ROOT / name).read_text("utf-8")
    assert tool["PLACE"].search(text)
    assert tool["fill"](text) == text, "run python tools/results_tables.py --write"


def test_another_error_changes_the_table(tool, monkeypatch):
    before = tool["tabulate_methods"]()
    lines = tool["read"]("selection.jsonl")
    lines[0]["error"] += 10
    monkeypatch.setitem(tool["read_selection"].__globals__, "read", lambda _: lines)
    assert tool["tabulate_methods"]() != before


def test_methods_with_missing_splits_are_not_in_the_table(tool, monkeypatch):
    lines = tool["read"]("selection.jsonl")
    lines = [line for line in lines if (line["method"], line["seed"]) != ("svc", 3)]
    monkeypatch.setitem(tool["read_selection"].__globals__, "read", lambda _: lines)
    table = tool["tabulate_methods"]()
    assert "SVC" not in table
    assert "random forest" in table


def test_readme_shows_what_its_code_prints(capsys):
    text = (ROOT / "README.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", text, flags=re.S | re.M)
    (shown,) = re.findall(r"^```text\n(.*?)^```", text, flags=re.S | re.M)
    exec(compile(code, "README.md", "exec"), {"__name__": "page"})
    assert capsys.readouterr().out == shown


def read_project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_installation_page_has_every_extra_with_its_packages():
    rows = {}
    for line in INSTALLATION.read_text("utf-8").splitlines():
        names = re.findall(r"`(\w+)`", line.split("|")[1]) if line.startswith("| `") else []
        rows |= dict.fromkeys(names, line)
    extras = read_project()["optional-dependencies"]
    assert set(rows) == set(extras)
    for extra in ("plot", "data", "report", "model", "files", "cli", "dask", "onnx"):
        packages = [re.match(r"[\w-]+", requirement)[0] for requirement in extras[extra]]
        assert all(name in rows[extra] for name in packages if name != "opgd"), extra


def test_installation_page_has_the_oldest_versions():
    text = INSTALLATION.read_text("utf-8")
    project = read_project()
    assert f"| Python | {project['requires-python'].removeprefix('>=')} |" in text
    names = {"numpy": "NumPy", "scipy": "SciPy", "scikit-learn": "scikit-learn"}
    for name, version in re.findall(r"([\w-]+)>=([\d.]+)", " ".join(project["dependencies"])):
        assert f"| {names[name]} | {version} |" in text if name in names else f" {version}" in text
