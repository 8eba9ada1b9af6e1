"""What is written about the package is true: code runs, links lead somewhere, names exist."""

import importlib
import inspect
import operator
import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest
from sklearn import datasets

import opgd
from docs._ext.pages import find_blocks, run_python
from opgd import baselines

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("paper/**/*.md"), *ROOT.glob("docs/**/*.md")])
DOCUMENTS = [page for page in DOCUMENTS if "_build" not in page.parts]
PAGES = [
    page
    for page in DOCUMENTS
    if {block.language for block in find_blocks(page.read_text("utf-8"))} == {"python"}
]  # tests/cli follows pages with commands
EXAMPLES = [
    path
    for path in sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
    if "opgd_paper" not in path.read_text("utf-8")  # those are run by paper/tests
]


def shown(page):
    return str(page.relative_to(ROOT))


QUICKER = {
    "docs/how_to_choose.md": {
        "make_case(400)": "make_case(100)",
        "make_case(2000)": "make_case(500)",
        "(cv=3)": "(cv=2)",
        "(100, random": "(10, random",
    },
    "docs/theory.md": {
        "X = X[:, X.std": "X, y = X[::5], y[::5]\n    X = X[:, X.std",
    },
    "docs/user_guide/partly_labeled.md": {
        "D[::2, D.std(axis=0) > 0], digits[::2]": "D[::6, D[::6].std(axis=0) > 0], digits[::6]",
        "for seed in range(3):": "for seed in range(1):",
        "OPGDSemiSupervised().fit(X, labels)": "OPGDSemiSupervised(calibrate=False).fit(X, labels)",
        'unlabeled="")': 'unlabeled="", calibrate=False)',
        "unlabeled=0)": "unlabeled=0, calibrate=False)",
        'OPGDSemiSupervised(shrinkage="auto")': (
            'OPGDSemiSupervised(shrinkage="auto", calibrate=False)'
        ),
    },
    "docs/user_guide/clustering.md": {
        "wine.data, wine.target\n": "wine.data.iloc[::2, 6:], wine.target[::2]\n",
        "for seed in range(10):": "for seed in range(1):",
        "range(1, 7), criterion": "(2, 3), criterion",
        'OPGDMixture("auto", random_state=0)': "OPGDMixture((2, 3), random_state=0)",
        'OPGDMixture("auto", merge=2': "OPGDMixture(6, merge=2",
        "cancer, _ = load_breast_cancer(return_X_y=True)": (
            "cancer = load_breast_cancer().data[::4, :10]"
        ),
        "flowers, _ = load_iris(return_X_y=True)": "flowers = load_iris().data[::2]",
        "(13, 13)": "(7, 7)",
        "1e3, 13)": "1e3, 7)",
    },
    "docs/user_guide/imbalanced.md": {
        "cancer.data.iloc[:, :10]": "cancer.data.iloc[:, :5]",
        "scoring=scorer, cv=5": "scoring=scorer, cv=2, thresholds=20",
    },
    "docs/user_guide/large_data.md": {
        "120_000": "12_000",
        "60_000": "6_000",
        "20_000": "2_000",
    },
    "docs/user_guide/neighbors.md": {
        "n_repeats=3": "n_repeats=1",
        "cv=5, inner_cv=3": "cv=3, inner_cv=3",
        "others, cv=3, inner_cv=3": "others, cv=2, inner_cv=2",
        "scaled_cpc, axes, cv=3": "scaled_cpc, axes, cv=2",
        "n_draws = 5": "n_draws = 1",
        "n_samples=600": "n_samples=100",
        "[*models, OPGDClassifier(2)]": "models[:3]",
        "(2, 4, 8, 13)": "(2, 4)",
    },
    "docs/user_guide/choosing.md": {
        "X, y = load_breast_cancer(return_X_y=True)": (
            "X, y = (rows[::2] for rows in load_breast_cancer(return_X_y=True))"
        ),
        "make_moons(400": "make_moons(200",
        "OPGDClassifierCV(n_subclasses=1)": "OPGDClassifierCV(n_subclasses=1, cv=3)",
        "OPGDClassifierCV()": "OPGDClassifierCV(cv=3)",
    },
    "docs/user_guide/report.md": {
        "load_digits(return_X_y=True, as_frame=True)": (
            "(rows[::4] for rows in load_digits(return_X_y=True, as_frame=True))"
        ),
        "n_components=6, cv=3": "n_components=6, cv=3, n_subclasses=1",
        "OPGDMixture(range(1, 6)": "OPGDMixture((3, 4)",
        '"QDA"], cv=5': '"QDA"], cv=2',
    },
    "docs/user_guide/sparse.md": {
        'sparsity="auto", cv=3': "sparsity=(3, 8), cv=3",
        "(80, 2000)": "(80, 500)",
    },
    "docs/user_guide/plots.md": {
        "n_bootstrap=20": "n_bootstrap=2",
        "OPGDMixture(range(1, 6)": "OPGDMixture((3, 4)",
        '"naive Bayes"], cv=5': '"naive Bayes"], cv=2',
    },
    "docs/user_guide/classification.md": {"    cancer.data, ": "    cancer.data.iloc[:, :10], "},
}
"""Replacements that make long pages quick; `make test-slow` also runs them as they are written."""


def run_page(text, name):
    namespace = {"__name__": "page"}
    for block in find_blocks(text):
        list(run_python(block, namespace, name))
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_code_in_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    for written, quick in QUICKER.get(shown(page), {}).items():
        assert written in text
        text = text.replace(written, quick)
    run_page(text, str(page))


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICKER)
def test_code_in_long_page_runs_as_written(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page((ROOT / name).read_text("utf-8"), name)


def anchors(page):
    """What headings are called in links, as GitHub and the built pages have it."""
    text = re.sub(r"^(```|~~~).*?^\1", "", page.read_text("utf-8"), flags=re.S | re.M)
    headings = re.findall(r"^#+ +(.+?)\s*$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", DOCUMENTS, ids=shown)
def test_page_links_to_what_exists(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text("utf-8")):
        if "://" in target or target.startswith("mailto:"):
            continue
        linked = page.parent / target if target else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(linked), f"{page.name} links to {target}#{anchor}"


@pytest.mark.slow  # `make docs` runs them all
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, load):
    pytest.importorskip("matplotlib").use("Agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    runpy.run_path(str(path), run_name="__main__")
    assert pyplot.get_fignums()
    pyplot.close("all")


@pytest.mark.parametrize("heading", ["Sources and departures", "Simulated cases"])
def test_guide_has_a_source_and_a_case_for_every_baseline(heading):
    text = (ROOT / "docs" / "user_guide" / "neighbors.md").read_text("utf-8")
    section = re.search(rf"^## {heading}\n(.*?)^## ", text, flags=re.S | re.M)[1]
    assert [name for name in baselines.__all__ if name not in section] == []


def test_picture_of_the_architecture_shows_the_layers():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    picture = re.search(r"^```text\n(.*?)^```", text, flags=re.S | re.M)[1]
    lines = [line for line in picture.splitlines() if line[0] == "│"]
    shown = [name for line in lines for name in line[2:37].split()]
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    heights = {
        name: height
        for height, layer in enumerate(contract["layers"])
        for name in layer.split(" | ")
    }
    assert sorted(shown) == sorted(heights)
    assert shown == sorted(shown, key=heights.get), "the picture has another order than the layers"


def test_the_map_of_the_paper_names_what_exists():
    page = (ROOT / "docs" / "the_paper_and_the_code.md").read_text("utf-8")
    source = ROOT / "src" / "opgd"
    folders = ["_base", "_fit", "_model_selection", "_utils", "_dask", "comparison"]
    homes = {
        path.stem: f"opgd.{'.'.join(path.relative_to(source).parts)[:-3]}"
        for folder in ("", "core")
        for path in (source / folder).glob("*.py")
    }
    homes |= {
        f"{folder}.{path.stem}": f"opgd.{folder}.{path.stem}"
        for folder in folders
        for path in (source / folder).glob("*.py")
    }
    homes |= {"baselines": "opgd.baselines", "cpc": "opgd.baselines.cpc"}
    checked = 0
    for name in set(re.findall(r"`(?:core\.)?(\w+(?:\.\w+)+)(?:\(\w*\))?`", page)):
        n_parts = 2 if name.split(".")[0] in folders else 1
        home, rest = ".".join(name.split(".")[:n_parts]), name.split(".")[n_parts:]
        assert n_parts == 1 or home in homes, f"{name}: there is no such module"
        if home in homes and rest != ["py"]:
            operator.attrgetter(".".join(rest))(importlib.import_module(homes[home]))
            checked += 1
    assert checked


@pytest.mark.parametrize("module", ["", ".baselines", ".decisions", ".model_file", ".plotting"])
def test_api_page_has_every_public_name(module):
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    assert f".. currentmodule:: opgd{module}\n" in page
    for name in set(importlib.import_module(f"opgd{module}").__all__) - {"__version__"}:
        assert re.search(rf"^   {name}$", page, flags=re.M), name


@pytest.mark.parametrize(
    "name",
    ["OPGDClassifier", "OPGDClassifierCV", "OPGDMixture", "OPGDSemiSupervised", "TableEncoder"],
)
def test_every_parameter_says_when_to_change_it(name):
    estimator = getattr(opgd, name)
    documented = inspect.getdoc(estimator).split("\nAttributes\n")[0]
    for parameter in inspect.signature(estimator).parameters:
        text = re.search(rf"^{parameter} : .*\n((?: .*\n|\n)*)", documented, flags=re.M)[1]
        advice = r"\b(Set|Use|Pass|Increase|Decrease|Change)\b"
        assert re.search(advice, text), f"{parameter} does not say when to change it"


def test_demo_prints_a_table_and_saves_picture_and_report(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    pytest.importorskip("rich")
    monkeypatch.setattr(sys, "argv", ["demo", "--out", str(tmp_path), "--splits", "1"])
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # starting processes takes longer than the fits
    X, y = datasets.load_digits(return_X_y=True, as_frame=True)
    X, y = X.loc[y < 3].iloc[::3, 1::4], y[y < 3].iloc[::3]
    monkeypatch.setattr(datasets, "load_digits", lambda **_: (X, y))
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "OPGD, 6 components" in printed
    assert "gradient boosting" in printed
    assert "Warning" not in printed
    assert next(tmp_path.glob("*.png")).stat().st_size > 10_000
    page = tmp_path / "digits.html"
    assert str(page) in printed.replace("\n", "")
    assert 'id="comparison"' in page.read_text("utf-8")


def test_figure_of_the_digits_can_be_drawn(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sys, "argv", ["digits", "--out", str(tmp_path / "digits.png")])
    runpy.run_path(str(ROOT / "examples" / "digits.py"), run_name="__main__")
    assert (tmp_path / "digits.png").stat().st_size > 10_000
