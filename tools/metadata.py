"""Copy what pyproject.toml says to CITATION.cff, codemeta.json and conda/recipe.yaml.

    python tools/metadata.py                         after pyproject.toml or the version changed
    python tools/metadata.py --released 2026-11-20   for a release: also its date
    python tools/metadata.py --check --tag v0.2.0    change nothing, fail if something differs

The version is that of src/opgd/__init__.py.
"""

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CITATION_KEYS = {"Source": "repository-code", "Documentation": "url"}
CODEMETA_KEYS = {
    "Source": "codeRepository",
    "Documentation": "softwareHelp",
    "Issues": "issueTracker",
    "Changelog": "releaseNotes",
}
RECIPE_KEYS = {"Source": "repository", "Documentation": "documentation"}
"""Names of addresses in each file by those in [project.urls]."""


def read_project(root: Path) -> dict[str, Any]:
    """Return the table [project], with the version."""
    text = (root / "pyproject.toml").read_text("utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    package = (root / "src" / "opgd" / "__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "(.+)"$', package, flags=re.M)
    assert found, "src/opgd/__init__.py has no line with the version"
    return project | {"version": found[1]}


def get_urls(project: dict[str, Any], keys: dict[str, str]) -> dict[str, str]:
    """Return the addresses that are set, by their names in another file."""
    urls = project.get("urls", {})
    return {key: urls[name] for name, key in keys.items() if name in urls}


def make_codemeta(project: dict[str, Any]) -> str:
    names = [re.fullmatch(r"([\w-]+)>=([\d.]+)", each) for each in project["dependencies"]]
    assert all(names), "every dependency must be of the form name>=version"
    needed = [
        {"@type": "SoftwareApplication", "identifier": name[1], "version": f">={name[2]}"}
        for name in names
        if name
    ]
    contents = {
        "@context": "https://doi.org/10.5063/schema/codemeta-2.0",
        "@type": "SoftwareSourceCode",
        "name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "license": f"https://spdx.org/licenses/{project['license']}",
        "author": [{"@type": "Organization", "name": each["name"]} for each in project["authors"]],
        "keywords": project["keywords"],
        "programmingLanguage": "Python",
        "runtimePlatform": f"Python {project['requires-python']}",
        "operatingSystem": ["Linux", "macOS", "Windows"],
        "softwareRequirements": needed,
        "referencePublication": {
            "@type": "ScholarlyArticle",
            "@id": "https://doi.org/10.1007/s11634-021-00486-z",
        },
    } | get_urls(project, CODEMETA_KEYS)
    return json.dumps(contents, indent=2) + "\n"


def make_recipe(project: dict[str, Any]) -> str:
    def listed(requirements: list[str]) -> str:
        return "".join(f"    - {each.replace('>=', ' >=')}\n" for each in requirements)

    python = f"python{project['requires-python']}"
    urls = get_urls(project, RECIPE_KEYS)
    return f"""\
# Written by tools/metadata.py from pyproject.toml. A feedstock has the address and the sha256 of
# the released archive as its source.
schema_version: 1
context:
  version: "{project["version"]}"
package:
  name: {project["name"]}
  version: ${{{{ version }}}}
source:
  path: ..
build:
  number: 0
  noarch: python
  script: python -m pip install . -vv --no-deps --no-build-isolation
  python:
    entry_points:
      - opgd = {project["scripts"]["opgd"]}
requirements:
  host:
{listed([python, "pip", "hatchling>=1.27"])}\
  run:
{listed([python, *project["dependencies"]])}\
tests:
  - python:
      imports: [opgd, opgd.baselines, opgd.core]
      pip_check: true
about:
  summary: "{project["description"]}"
  license: {project["license"]}
  license_file: LICENSE
{"".join(f"  {key}: {url}{chr(10)}" for key, url in urls.items())}"""


def update_citation(text: str, project: dict[str, Any], released: str | None) -> str:
    """Return CITATION.cff with the version, license and authors, and a date if there is one."""
    urls = get_urls(project, CITATION_KEYS)
    for key in CITATION_KEYS.values():
        text = re.sub(rf"^{key}: .*\n", "", text, flags=re.M)
    lines = [f"version: {project['version']}", *(f"{key}: {url}" for key, url in urls.items())]
    text = re.sub(r"^version: .*$", "\n".join(lines), text, count=1, flags=re.M)
    text = re.sub(r"^license: .*$", f"license: {project['license']}", text, flags=re.M)
    authors = "".join(f"  - name: {each['name']}\n" for each in project["authors"])
    text = re.sub(r"^authors:\n(  - .*\n)+", f"authors:\n{authors}", text, count=1, flags=re.M)
    if released:
        text = re.sub(r"^date-released: .*$", f"date-released: {released}", text, flags=re.M)
    return text


def make_files(root: Path, released: str | None = None) -> dict[Path, str]:
    """Return the contents that the files should have."""
    project = read_project(root)
    citation = (root / "CITATION.cff").read_text("utf-8")
    return {
        root / "CITATION.cff": update_citation(citation, project, released),
        root / "codemeta.json": make_codemeta(project),
        root / "conda" / "recipe.yaml": make_recipe(project),
    }


def main() -> int:
    """Write or check the files; return 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("--tag", help="the version after a v")
    parser.add_argument("--released", metavar="date", help="of the release, as year-month-day")
    given = parser.parse_args()
    version = read_project(ROOT)["version"]
    if given.tag is not None and given.tag != f"v{version}":
        print(f"the tag is {given.tag}, the version {version}")
        return 1
    differing = 0
    for path, text in make_files(ROOT, given.released).items():
        if path.exists() and path.read_text("utf-8") == text:
            continue
        differing += 1
        print(f"{path.relative_to(ROOT)} {'differs' if given.check else 'written'}")
        if not given.check:
            path.write_text(text, "utf-8", newline="\n")
    return int(given.check and differing > 0)


if __name__ == "__main__":
    sys.exit(main())
