"""Output and dependencies in documents agree with code and settings."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALLATION = ROOT / "docs" / "installation.md"

pytestmark = pytest.mark.skipif(not INSTALLATION.exists(), reason="not in source distributions")


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
    for extra in set(extras) - {"all"}:
        packages = [re.match(r"[\w-]+", requirement)[0] for requirement in extras[extra]]
        assert all(name in rows[extra] for name in packages if name != "opgd"), extra


def test_installation_page_has_the_oldest_versions():
    text = INSTALLATION.read_text("utf-8")
    project = read_project()
    assert f"| Python | {project['requires-python'].removeprefix('>=')} |" in text
    names = {"numpy": "NumPy", "scipy": "SciPy", "scikit-learn": "scikit-learn"}
    for name, version in re.findall(r"([\w-]+)>=([\d.]+)", " ".join(project["dependencies"])):
        assert f"| {names[name]} | {version} |" in text if name in names else f" {version}" in text
